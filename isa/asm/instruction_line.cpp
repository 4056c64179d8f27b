#include "isa/asm/instruction_line.hpp"

#include <algorithm>
#include <set>

#include "hw/common/error.hpp"
#include "isa/bits.hpp"

namespace tessera::isa::assembly {
namespace {

using tessera::detail::concat;

std::string choices_text(const EnumInfo& info) {
  std::string out;
  for (std::size_t i = 0; i < info.count; ++i) {
    out += (i == 0 ? "" : ", ") + std::string(info.values[i].name);
  }
  return out;
}

class Line {
 public:
  Line(const InstructionDescription& about, std::vector<std::string>& errors)
      : about_(about), errors_(errors), words_(about.words, Word{}) {
    for (std::size_t i = 0; i < about.field_count; ++i) {
      put(about.fields[i], std::clamp<std::int64_t>(0, about.fields[i].min, about.fields[i].max));
    }
    put(*find("opcode"), static_cast<std::int64_t>(about.opcode));
    put(*find("words"), about.words - 1);
  }

  void argument(const Argument& argument) {
    if (argument.key.empty()) {
      fail("found '", argument.value, "': expected FIELD=VALUE, wait=SEMAPHORE:COUNT or signal=SEMAPHORE:AMOUNT");
    } else if (argument.key == "wait") {
      slot(argument, waits_, "waits", "count");
    } else if (argument.key == "signal") {
      slot(argument, signals_, "signals", "amount");
    } else {
      field(argument.key, argument.value);
    }
  }

  std::vector<Word> words() { return std::move(words_); }

 private:
  template <typename... Parts>
  void fail(const Parts&... parts) {
    errors_.push_back(concat(about_.name, ": ", parts...));
  }

  [[nodiscard]] const FieldInfo* find(const std::string& path) const {
    const FieldInfo* end = about_.fields + about_.field_count;
    const FieldInfo* found = std::find_if(about_.fields, end, [&](const FieldInfo& f) { return path == f.path; });
    return found == end ? nullptr : found;
  }

  void put(const FieldInfo& f, std::int64_t value) {
    set_bits(words_.front().data(), f.lsb, f.width, static_cast<std::uint64_t>(value));
  }

  void field(const std::string& path, const std::string& text) {
    const FieldInfo* f = find(path);
    if (f == nullptr || path == "opcode" || path == "words") {
      std::string legal;
      for (std::size_t i = about_.header_fields; i < about_.field_count; ++i) {
        legal += std::string(about_.fields[i].path) + ", ";
      }
      fail("has no field '", path, "': expected one of ", legal, "layer, overlap, wait, signal");
      return;
    }
    if (!seen_.insert(path).second) {
      fail(path, " is given twice: expected once");
      return;
    }
    if (f->choices != nullptr) {
      const EnumValueInfo* end = f->choices->values + f->choices->count;
      const EnumValueInfo* value =
          std::find_if(f->choices->values, end, [&](const EnumValueInfo& v) { return text == v.name; });
      if (value == end) {
        fail(path, " = ", text, ": expected one of ", choices_text(*f->choices));
        return;
      }
      put(*f, value->value);
      return;
    }
    const std::optional<std::int64_t> value = parse_integer(text);
    if (!value || *value < f->min || *value > f->max) {
      fail(path, " = ", text, ": expected a value in [", f->min, ", ", f->max, "]");
      return;
    }
    put(*f, *value);
  }

  void slot(const Argument& argument, std::size_t& used, const char* array, const char* second) {
    const std::size_t colon = argument.value.find(':');
    if (colon == std::string::npos) {
      fail(argument.key, " = ", argument.value, ": expected SEMAPHORE:", second, ", e.g. ", argument.key, "=3:1");
      return;
    }
    const std::string prefix = concat(array, "[", used, "].");
    if (find(prefix + "semaphore") == nullptr) {
      fail("more than ", used, " ", argument.key, "s: expected at most ", used);
      return;
    }
    ++used;
    field(prefix + "semaphore", argument.value.substr(0, colon));
    field(prefix + second, argument.value.substr(colon + 1));
  }

  const InstructionDescription& about_;
  std::vector<std::string>& errors_;
  std::vector<Word> words_;
  std::set<std::string> seen_;
  std::size_t waits_ = 0;
  std::size_t signals_ = 0;
};

}  // namespace

std::vector<Word> assemble_instruction(const Statement& statement, std::vector<std::string>& errors) {
  std::string legal;
  for (const InstructionDescription* about : all_instructions()) {
    if (statement.name == about->name) {
      const std::size_t before = errors.size();
      Line line(*about, errors);
      for (const Argument& argument : statement.arguments) {
        line.argument(argument);
      }
      return errors.size() == before ? line.words() : std::vector<Word>{};
    }
    legal += (legal.empty() ? "" : ", ") + std::string(about->name);
  }
  errors.push_back("unknown instruction '" + statement.name + "': expected one of " + legal);
  return {};
}

}  // namespace tessera::isa::assembly
