#include <algorithm>
#include <cstdio>
#include <cstring>

#include "isa/bits.hpp"
#include "isa/isa.hpp"

namespace tessera::isa {
namespace {

std::string value_text(const FieldInfo& field, std::int64_t value) {
  if (field.choices != nullptr) {
    for (std::size_t i = 0; i < field.choices->count; ++i) {
      if (field.choices->values[i].value == value) {
        return field.choices->values[i].name;
      }
    }
  }
  const std::string path = field.path;
  const bool is_address = path.find("base") != std::string::npos || path.find("offset") != std::string::npos;
  if (is_address && field.width >= 32) {
    char text[24];
    std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(value));
    return text;
  }
  return std::to_string(value);
}

/// Leading slots with a count become wait=semaphore:count; what that form cannot say stays with its path.
template <std::size_t N, typename Slot, typename Count>
std::size_t slots_text(const std::array<Slot, N>& slots, const char* word, Count count, std::string& out) {
  std::size_t i = 0;
  for (; i < N && count(slots[i]) != 0; ++i) {
    out += detail::concat(" ", word, "=", static_cast<int>(slots[i].semaphore), ":", static_cast<int>(count(slots[i])));
  }
  return i;
}

bool is_slot(const FieldInfo& field, const char* array, std::size_t below) {
  const std::size_t length = std::strlen(array);
  if (std::strncmp(field.path, array, length) != 0 || field.path[length] != '[') {
    return false;
  }
  return static_cast<std::size_t>(field.path[length + 1] - '0') < below;
}

}  // namespace

std::string disassemble(const Instruction& instruction) {
  const std::vector<Word> words = encode(instruction);
  const InstructionDescription& about = *describe(opcode_of(instruction));
  std::string slots;
  const Header& header = instruction.header;
  const std::size_t waits = slots_text(
      header.waits, "wait", [](const Wait& w) { return w.count; }, slots);
  const std::size_t signals = slots_text(
      header.signals, "signal", [](const Signal& s) { return s.amount; }, slots);
  std::string body;
  std::string rest;
  for (std::size_t i = 0; i < about.field_count; ++i) {
    const FieldInfo& field = about.fields[i];
    const std::string path = field.path;
    if (path == "opcode" || path == "words" || is_slot(field, "waits", waits) || is_slot(field, "signals", signals)) {
      continue;
    }
    const std::int64_t value =
        extend(get_bits(words.front().data(), field.lsb, field.width), field.width, field.is_signed);
    if (value != std::clamp<std::int64_t>(0, field.min, field.max)) {
      (i < about.header_fields ? rest : body) += " " + path + "=" + value_text(field, value);
    }
  }
  return about.name + body + slots + rest;
}

}  // namespace tessera::isa
