// encode, decode and queue_accepts of isa/isa.hpp: what is the same for every instruction. Positions come from the
// generated code.
#include <algorithm>

#include "hw/common/error.hpp"
#include "isa/bits.hpp"
#include "isa/isa.hpp"

namespace tessera::isa {
namespace {

std::string legal_values(const EnumInfo& info) {
  std::string out;
  for (std::size_t i = 0; i < info.count; ++i) {
    out += (i == 0 ? "" : ", ") + std::string(info.values[i].name) + " (" + std::to_string(info.values[i].value) + ")";
  }
  return out;
}

bool has_value(const EnumInfo& info, std::int64_t value) {
  return std::any_of(info.values, info.values + info.count,
                     [value](const EnumValueInfo& legal) { return legal.value == value; });
}

/// Empty text when every field is legal.
std::string check_fields(const InstructionDescription& about, const std::uint8_t* bytes) {
  for (std::size_t i = 0; i < about.field_count; ++i) {
    const FieldInfo& field = about.fields[i];
    const std::int64_t value = extend(get_bits(bytes, field.lsb, field.width), field.width, field.is_signed);
    if (field.choices != nullptr) {
      if (!has_value(*field.choices, value)) {
        return detail::concat(about.name, ": ", field.path, " = ", value, ": expected one of ",
                              legal_values(*field.choices));
      }
    } else if (value < field.min || value > field.max) {
      return detail::concat(about.name, ": ", field.path, " = ", value, ": expected a value in [", field.min, ", ",
                            field.max, "]");
    }
  }
  for (std::size_t i = 0; i < about.words * kWordBytes; ++i) {
    const unsigned reserved = bytes[i] & static_cast<unsigned>(static_cast<std::uint8_t>(~about.used[i]));
    for (unsigned bit = 0; bit < 8; ++bit) {
      if (((reserved >> bit) & 1U) != 0) {
        return detail::concat(about.name, ": reserved bit ", i * 8 + bit, " is set: expected 0");
      }
    }
  }
  return "";
}

DecodeResult illegal(std::string text) {
  DecodeResult result;
  result.cause = FaultCause::illegal_word;
  result.text = std::move(text);
  return result;
}

}  // namespace

bool queue_accepts(QueueId queue, Opcode opcode) {
  const InstructionDescription* about = describe(opcode);
  return about != nullptr && ((about->queues >> static_cast<unsigned>(queue)) & 1U) != 0;
}

std::vector<Word> encode(const Instruction& instruction) {
  const InstructionDescription& about = *describe(opcode_of(instruction));
  std::vector<Word> words(about.words, Word{});
  std::uint8_t* bytes = words.front().data();  // std::array has no padding: the words are contiguous bytes
  Header header = instruction.header;
  header.opcode = about.opcode;
  header.words = static_cast<std::uint8_t>(about.words - 1);
  codec::write_header(header, bytes);
  codec::write_body(instruction.body, bytes);
  return words;
}

DecodeResult decode(const Word* words, std::size_t available) {
  if (available == 0) {
    return illegal("no word: expected an instruction");
  }
  const std::uint8_t* bytes = words->data();
  const InstructionDescription* about = describe(bytes[0]);
  if (about == nullptr) {
    return illegal(detail::concat("opcode = ", static_cast<int>(bytes[0]), ": expected one of ",
                                  legal_values(*all_instructions().front()->fields[0].choices)));
  }
  DecodeResult result;
  codec::read_header(bytes, result.instruction.header);
  const std::size_t length = result.instruction.header.words + std::size_t{1};
  if (length != about->words) {
    return illegal(detail::concat(about->name, ": words = ", length, ": expected ", static_cast<int>(about->words)));
  }
  if (available < length) {
    return illegal(detail::concat(about->name, ": ", length, " words, but only ", available, " are there"));
  }
  std::string wrong = check_fields(*about, bytes);
  if (!wrong.empty()) {
    return illegal(std::move(wrong));
  }
  codec::read_body(bytes, about->opcode, result.instruction.body);
  result.words = length;
  return result;
}

}  // namespace tessera::isa
