#include "isa/asm/assembler.hpp"

#include <algorithm>
#include <map>
#include <sstream>

#include "hw/common/error.hpp"
#include "hw/common/file.hpp"
#include "hw/common/hash.hpp"
#include "isa/asm/instruction_line.hpp"
#include "isa/asm/statement.hpp"
#include "isa/isa.hpp"
#include "isa/program/container.hpp"
#include "isa/program/instructions.hpp"
#include "isa/program/semaphores.hpp"

namespace tessera::isa {
namespace {

using assembly::Argument;
using assembly::Statement;
using tessera::detail::concat;

constexpr std::size_t kShownErrors = 20;

class Assembler {
 public:
  Assembler(std::string file, const ChipConfig& chip) : file_(std::move(file)), chip_(chip) {
    program_.arch_hash = arch_hash(chip);
    program_.timing_hash = timing_hash(chip);
    program_.chip_name = chip.name;
    program_.chip_json = chip_json(chip);
    program_.model_name = std::filesystem::path(file_).stem().string();
    program_.schedule = "assembled";
  }

  Program run(const std::string& text) {
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) {
      ++line_;
      Statement statement = assembly::split(line);
      if (!statement.error.empty()) {
        fail(statement.error);
      } else if (!statement.name.empty()) {
        execute(statement);
      }
    }
    finish();
    return std::move(program_);
  }

 private:
  template <typename... Parts>
  void fail(const Parts&... parts) {
    errors_.push_back(concat(file_, ":", line_, ": ", parts...));
  }

  // ---- arguments: each reader marks what it took; leftovers() names the rest ----
  std::string word(Statement& s, const char* what) {
    for (Argument& a : s.arguments) {
      if (a.key.empty() && !a.used) {
        a.used = true;
        return a.value;
      }
    }
    fail(s.name, ": expected ", what);
    return "";
  }
  Argument* keyed(Statement& s, const char* key) {
    for (Argument& a : s.arguments) {
      if (a.key == key && !a.used) {
        a.used = true;
        return &a;
      }
    }
    return nullptr;
  }
  std::string text(Statement& s, const char* key, const char* otherwise) {
    const Argument* a = keyed(s, key);
    return a == nullptr ? otherwise : a->value;
  }
  std::int64_t integer(Statement& s, const char* key, std::int64_t otherwise, std::int64_t low, std::int64_t high) {
    const Argument* a = keyed(s, key);
    if (a == nullptr) {
      return otherwise;
    }
    const std::optional<std::int64_t> value = assembly::parse_integer(a->value);
    if (!value || *value < low || *value > high) {
      fail(s.name, ": ", key, " = ", a->value, ": expected a value in [", low, ", ", high, "]");
      return otherwise;
    }
    return *value;
  }
  /// 64 bits, as hashes are written.
  std::uint64_t hash(Statement& s, const char* key, std::uint64_t otherwise) {
    const Argument* a = keyed(s, key);
    if (a == nullptr) {
      return otherwise;
    }
    std::string digits = a->value.substr(0, 2) == "0x" ? a->value.substr(2) : "";
    digits.insert(0, digits.size() % 2, '0');
    const auto bytes = assembly::parse_hex(digits);
    if (!bytes || bytes->empty() || bytes->size() > 8) {
      fail(s.name, ": ", key, " = ", a->value, ": expected 0x and up to 16 hexadecimal digits");
      return otherwise;
    }
    std::uint64_t value = 0;
    for (const std::uint8_t byte : *bytes) {
      value = (value << 8) | byte;
    }
    return value;
  }
  std::vector<std::uint8_t> rest_as_bytes(Statement& s) {
    std::vector<std::uint8_t> out;
    for (Argument& a : s.arguments) {
      if (a.used || !a.key.empty()) {
        continue;
      }
      a.used = true;
      const auto bytes = assembly::parse_hex(a.value);
      if (!bytes) {
        fail(s.name, ": '", a.value, "': expected bytes as pairs of hexadecimal digits");
        return {};
      }
      out.insert(out.end(), bytes->begin(), bytes->end());
    }
    return out;
  }
  void leftovers(const Statement& s, const char* legal) {
    for (const Argument& a : s.arguments) {
      if (!a.used) {
        fail(s.name, ": does not know '", a.key.empty() ? a.value : a.key, "': expected ", legal);
      }
    }
  }

  // ---- statements ----
  void execute(Statement& s) {
    using Handler = void (Assembler::*)(Statement&);
    static const std::map<std::string, Handler> handlers{{".chip", &Assembler::chip},
                                                         {".buffer", &Assembler::buffer},
                                                         {".data", &Assembler::data},
                                                         {".input", &Assembler::input},
                                                         {".output", &Assembler::output},
                                                         {".host", &Assembler::host},
                                                         {".host_input", &Assembler::host_input},
                                                         {".host_output", &Assembler::host_output},
                                                         {".attribute", &Assembler::attribute},
                                                         {".section", &Assembler::section},
                                                         {".queue", &Assembler::queue},
                                                         {".word", &Assembler::raw_word},
                                                         {".dsp", &Assembler::dsp}};
    const auto handler = handlers.find(s.name);
    if (handler != handlers.end()) {
      (this->*handler->second)(s);
    } else if (s.name.front() == '.') {
      std::string legal;
      for (const auto& [name, ignored] : handlers) {
        legal += (legal.empty() ? "" : ", ") + name;
      }
      fail("unknown directive '", s.name, "': expected one of ", legal);
    } else {
      instruction(s);
    }
  }

  void chip(Statement& s) {
    program_.chip_name = word(s, "the name of a chip");
    const std::uint64_t arch = hash(s, "arch", program_.arch_hash);
    if (arch != program_.arch_hash) {
      fail(".chip: arch = ", hash_text(arch), ": chip ", chip_.name, " is ", hash_text(program_.arch_hash),
           "; assemble for chip ", program_.chip_name, ", or leave the line out");
    }
    program_.timing_hash = hash(s, "timing", program_.timing_hash);
    leftovers(s, ".chip NAME [arch=0xHASH] [timing=0xHASH]");
  }

  void buffer(Statement& s) {
    constexpr std::int64_t kMax = std::int64_t{1} << 40;
    Buffer b;
    b.name = word(s, "the name of a buffer");
    const std::string kind = text(s, "kind", "scratch");
    const auto* found = std::find(std::begin(kBufferKindNames), std::end(kBufferKindNames), kind);
    if (found == std::end(kBufferKindNames)) {
      fail(".buffer: kind = ", kind, ": expected weights, input, output, scratch or instructions");
      return;
    }
    b.kind = static_cast<BufferKind>(found - std::begin(kBufferKindNames));
    b.offset = static_cast<std::uint64_t>(integer(s, "offset", 0, 0, kMax - 1));
    b.size = static_cast<std::uint64_t>(integer(s, "size", 0, 0, kMax));
    b.alignment = static_cast<std::uint32_t>(integer(s, "align", 64, 1, std::int64_t{1} << 31));
    if ((b.alignment & (b.alignment - 1)) != 0) {
      fail(".buffer: align = ", b.alignment, ": expected a power of two");
    }
    leftovers(s, ".buffer NAME kind=KIND offset=BYTES size=BYTES align=BYTES");
    program_.buffers.push_back(std::move(b));
  }

  /// A buffer by name, or ":3" by its number.
  std::optional<std::uint32_t> find_buffer(const Statement& s, const std::string& name) {
    if (!name.empty() && name.front() == ':') {
      const std::optional<std::int64_t> index = assembly::parse_integer(name.substr(1));
      if (index && *index >= 0 && *index < static_cast<std::int64_t>(program_.buffers.size())) {
        return static_cast<std::uint32_t>(*index);
      }
    }
    std::string legal;
    std::optional<std::uint32_t> found;
    std::size_t count = 0;
    for (std::size_t i = 0; i < program_.buffers.size(); ++i) {
      legal += (i == 0 ? "" : ", ") + program_.buffers[i].name;
      if (program_.buffers[i].name == name) {
        found = static_cast<std::uint32_t>(i);
        ++count;
      }
    }
    if (count == 1) {
      return found;
    }
    fail(s.name, ": ", count == 0 ? "no" : "more than one", " buffer '", name, "' above: expected one of ",
         legal.empty() ? "(none yet)" : legal);
    return std::nullopt;
  }

  void data(Statement& s) {
    const std::string name = word(s, "a weights buffer, or @ for the whole weights image");
    const std::string at = word(s, "an offset");
    const std::optional<std::int64_t> offset = assembly::parse_integer(at);
    const std::vector<std::uint8_t> bytes = rest_as_bytes(s);
    leftovers(s, ".data BUFFER OFFSET HEX...");
    std::uint64_t start = 0;
    std::uint64_t size = weights_extent(program_);
    if (name != "@") {
      const std::optional<std::uint32_t> index = find_buffer(s, name);
      if (!index) {
        return;
      }
      const Buffer& b = program_.buffers[*index];
      if (b.kind != BufferKind::weights) {
        fail(".data: buffer ", name, " is of kind ", kBufferKindNames[static_cast<std::size_t>(b.kind)],
             ": expected weights, the only ones with contents");
        return;
      }
      start = b.offset;
      size = b.size;
    }
    constexpr std::uint64_t kMaxImage = std::uint64_t{1} << 30;
    if (weights_extent(program_) > kMaxImage) {
      fail(".data: a weights image of ", weights_extent(program_), " bytes: expected at most ", kMaxImage);
      return;
    }
    if (!offset || *offset < 0 || static_cast<std::uint64_t>(*offset) > size ||
        bytes.size() > size - static_cast<std::uint64_t>(*offset)) {
      fail(".data: ", bytes.size(), " bytes at offset ", at, ": expected them inside the ", size, " bytes of ", name);
      return;
    }
    program_.weights.resize(weights_extent(program_));
    std::copy(bytes.begin(), bytes.end(),
              program_.weights.begin() + static_cast<std::ptrdiff_t>(start + static_cast<std::uint64_t>(*offset)));
    has_data_ = true;
  }

  TensorRef tensor(Statement& s) {
    TensorRef t;
    t.name = word(s, "the name of a tensor");
    const std::optional<std::uint32_t> index = find_buffer(s, text(s, "buffer", t.name.c_str()));
    t.buffer = index.value_or(0);
    t.offset = static_cast<std::uint64_t>(integer(s, "offset", 0, 0, (std::int64_t{1} << 40) - 1));
    if (index && t.offset > program_.buffers[*index].size) {
      fail(s.name, ": offset = ", t.offset, ": expected at most the ", program_.buffers[*index].size,
           " bytes of buffer ", program_.buffers[*index].name);
    }
    std::istringstream shape(text(s, "shape", ""));
    for (std::string extent; std::getline(shape, extent, 'x');) {
      const std::optional<std::int64_t> value = assembly::parse_integer(extent);
      if (!value || *value < 0 || *value >= std::int64_t{1} << 40 || t.shape.size() == 16) {
        fail(s.name, ": shape = ", shape.str(), ": expected up to 16 extents such as 1x3x224x224");
        break;
      }
      t.shape.push_back(*value);
    }
    t.dtype = type(s, "type", "int8");
    const std::string scale = text(s, "scale", "1");
    const std::optional<double> real = assembly::parse_real(scale);
    if (!real) {
      fail(s.name, ": scale = ", scale, ": expected a number");
    }
    t.scale = real.value_or(1.0);
    t.zero_point = static_cast<std::int32_t>(integer(s, "zero_point", 0, INT32_MIN, INT32_MAX));
    t.layout = text(s, "layout", "NCHW");
    t.model_type = type(s, "model_type", "float32");
    leftovers(s, "NAME buffer= offset= shape= type= scale= zero_point= layout= model_type=");
    return t;
  }
  std::string type(Statement& s, const char* key, const char* otherwise) {
    const std::string name = text(s, key, otherwise);
    if (!is_tensor_type(name)) {
      fail(s.name, ": ", key, " = ", name, ": expected an integer, float or bool type such as int8");
    }
    return name;
  }
  void input(Statement& s) { program_.inputs.push_back(tensor(s)); }
  void output(Statement& s) { program_.outputs.push_back(tensor(s)); }

  void host(Statement& s) {
    HostStep step;
    step.name = word(s, "the name of a host step");
    step.op = text(s, "op", "");
    step.layer = static_cast<std::uint16_t>(integer(s, "layer", 0, 0, 65535));
    leftovers(s, ".host NAME op=OPERATOR layer=N");
    program_.host_steps.push_back(std::move(step));
  }
  HostStep* last_host(const Statement& s) {
    if (program_.host_steps.empty()) {
      fail(s.name, ": expected after a .host");
      return nullptr;
    }
    return &program_.host_steps.back();
  }
  void host_input(Statement& s) {
    if (HostStep* step = last_host(s); step != nullptr) {
      step->inputs.push_back(tensor(s));
    }
  }
  void host_output(Statement& s) {
    if (HostStep* step = last_host(s); step != nullptr) {
      step->outputs.push_back(tensor(s));
    }
  }
  void attribute(Statement& s) {
    HostStep* step = last_host(s);
    if (step == nullptr) {
      return;
    }
    std::pair<std::string, std::vector<double>> one;
    one.first = word(s, "the name of an attribute");
    for (Argument& a : s.arguments) {
      if (!a.used && a.key.empty()) {
        a.used = true;
        const std::optional<double> value = assembly::parse_real(a.value);
        if (!value) {
          fail(".attribute: '", a.value, "': expected a number");
          return;
        }
        one.second.push_back(*value);
      }
    }
    leftovers(s, ".attribute NAME NUMBER...");
    step->attributes.push_back(std::move(one));
  }

  void section(Statement& s) {
    Section one;
    one.name = word(s, "the name of a section");
    one.host_step =
        static_cast<std::int32_t>(integer(s, "host", -1, 0, static_cast<std::int64_t>(program_.host_steps.size()) - 1));
    leftovers(s, ".section NAME [host=NUMBER OF A .host]");
    program_.sections.push_back(std::move(one));
    stream_ = kNoStream;
  }

  void queue(Statement& s) {
    const std::string name = word(s, "CORE.QUEUE, e.g. 0.load");
    leftovers(s, ".queue CORE.QUEUE");
    const std::size_t dot = name.find('.');
    const std::optional<std::int64_t> core = assembly::parse_integer(name.substr(0, dot));
    const std::string unit = dot == std::string::npos ? "" : name.substr(dot + 1);
    stream_ = kNoStream;
    std::string legal;
    for (std::size_t q = 0; q < kQueueIdValues; ++q) {
      if (!exists(static_cast<QueueId>(q))) {
        continue;
      }
      const std::string here = to_string(static_cast<QueueId>(q));
      legal += (legal.empty() ? "" : ", ") + here;
      if (here == unit && core && *core >= 0 && *core < chip_.cores) {
        open_stream(static_cast<std::uint8_t>(*core), static_cast<std::uint8_t>(q));
        return;
      }
    }
    fail(".queue ", name, ": expected CORE.QUEUE with a core below ", chip_.cores, " and one of ", legal);
  }
  [[nodiscard]] bool exists(QueueId queue) const {
    const bool is_conv = queue >= QueueId::conv0 && queue <= QueueId::conv3;
    return !is_conv ||
           static_cast<std::int64_t>(queue) - static_cast<std::int64_t>(QueueId::conv0) < chip_.conv.engines;
  }
  void open_stream(std::uint8_t core, std::uint8_t queue) {
    if (program_.sections.empty()) {
      fail(".queue: expected after a .section");
      return;
    }
    Section& section = program_.sections.back();
    if (section.host_step >= 0) {
      fail(".queue: section ", section.name, " is a host step: expected a .section without host=");
      return;
    }
    for (std::size_t i = 0; i < section.streams.size(); ++i) {
      if (section.streams[i].core == core && section.streams[i].queue == queue) {
        stream_ = i;
        return;
      }
    }
    QueueStream stream;
    stream.core = core;
    stream.queue = queue;
    section.streams.push_back(std::move(stream));
    stream_ = section.streams.size() - 1;
  }

  QueueStream* current(const Statement& s) {
    if (stream_ == kNoStream) {
      fail(s.name, ": expected after a .queue");
      return nullptr;
    }
    return &program_.sections.back().streams[stream_];
  }

  void raw_word(Statement& s) {
    QueueStream* stream = current(s);
    const std::vector<std::uint8_t> bytes = rest_as_bytes(s);
    leftovers(s, ".word HEX");
    if (stream == nullptr) {
      return;
    }
    if (bytes.size() != kWordBytes) {
      fail(".word: ", bytes.size(), " bytes: expected ", kWordBytes);
      return;
    }
    Word word{};
    std::copy(bytes.begin(), bytes.end(), word.begin());
    stream->words.push_back(word);
    check_ring(*stream);
  }

  void instruction(Statement& s) {
    QueueStream* stream = current(s);
    std::vector<std::string> errors;
    const std::vector<Word> words = assembly::assemble_instruction(s, errors);
    for (const std::string& error : errors) {
      fail(error);
    }
    if (stream == nullptr || words.empty()) {
      return;
    }
    const DecodeResult decoded = decode(words.data(), words.size());
    TESSERA_CHECK(decoded.ok(), decoded.text);
    const auto queue = static_cast<QueueId>(stream->queue);
    if (!queue_accepts(queue, decoded.instruction.header.opcode)) {
      std::string legal;
      for (const InstructionDescription* about : all_instructions()) {
        if (queue_accepts(queue, about->opcode)) {
          legal += (legal.empty() ? "" : ", ") + std::string(about->name);
        }
      }
      fail("queue ", to_string(queue), " does not take ", s.name, ": expected ", legal);
      return;
    }
    stream->words.insert(stream->words.end(), words.begin(), words.end());
    stream->info.push_back(describe_traffic(decoded.instruction));
    last_layer_ = std::max<std::int32_t>(last_layer_, decoded.instruction.header.layer);
    check_ring(*stream);
  }
  void check_ring(const QueueStream& stream) {
    if (stream.words.size() == static_cast<std::size_t>(chip_.cp.ring_words) + 1) {
      fail("queue ", to_string(static_cast<QueueId>(stream.queue)), " has more than ", chip_.cp.ring_words,
           " words in this section: expected at most cp.ring_words");
    }
  }

  /// What a transfer is for follows from its base register; the compiler knows better, a text does not say.
  static InstructionInfo describe_traffic(const Instruction& instruction) {
    static constexpr Traffic kByRegister[] = {Traffic::weights, Traffic::input, Traffic::output, Traffic::spill};
    const auto of = [](const auto& dma, InstructionInfo& info) {
      info.kind = dma.base_register < 4 ? kByRegister[dma.base_register] : Traffic::spill;
      info.useful_bytes = dma.row_bytes;
      for (const DmaDim& dim : dma.dims) {
        if (__builtin_mul_overflow(info.useful_bytes, Bytes{dim.count}, &info.useful_bytes)) {
          info.useful_bytes = kNever;  // larger than any DRAM: the access faults when it runs
        }
      }
    };
    InstructionInfo info;
    info.layer = instruction.header.layer;
    if (const auto* load = std::get_if<Load>(&instruction.body); load != nullptr) {
      of(*load, info);
    } else if (const auto* store = std::get_if<Store>(&instruction.body); store != nullptr) {
      of(*store, info);
    }
    return info;
  }

  void dsp(Statement& s) {
    const std::vector<std::uint8_t> bytes = rest_as_bytes(s);
    leftovers(s, ".dsp HEX...");
    program_.dsp_code.insert(program_.dsp_code.end(), bytes.begin(), bytes.end());
  }

  void finish() {
    if (has_data_) {
      program_.weights.resize(weights_extent(program_));
    }
    for (const Buffer& b : program_.buffers) {
      const auto size = static_cast<Bytes>(b.size);
      program_.compulsory_read += b.kind == BufferKind::weights || b.kind == BufferKind::input ? size : 0;
      program_.compulsory_write += b.kind == BufferKind::output ? size : 0;
    }
    for (const HostStep& step : program_.host_steps) {
      last_layer_ = std::max<std::int32_t>(last_layer_, step.layer);
    }
    for (std::int32_t i = 0; i <= last_layer_; ++i) {
      LayerInfo layer;
      layer.name = "layer" + std::to_string(i);
      program_.layers.push_back(std::move(layer));
    }
    program_.groups.push_back({"program", 0});
    for (Section& section : program_.sections) {
      for (QueueStream& stream : section.streams) {
        if (instructions_of(stream) != stream.info.size()) {
          stream.info.clear();  // raw words: nothing is known about them
        }
      }
    }
    if (errors_.empty()) {
      for (const std::string& problem : check_semaphores(program_)) {
        errors_.push_back(file_ + ": " + problem);
      }
    }
    if (!errors_.empty()) {
      std::string all;
      for (std::size_t i = 0; i < std::min(errors_.size(), kShownErrors); ++i) {
        all += (i == 0 ? "" : "\n") + errors_[i];
      }
      if (errors_.size() > kShownErrors) {
        all += concat("\n", file_, ": and ", errors_.size() - kShownErrors, " more");
      }
      throw UserError(all);
    }
  }
  static std::size_t instructions_of(const QueueStream& stream) {
    std::size_t count = 0;
    const std::size_t end =
        for_each_instruction(stream, [&](const Instruction&, std::size_t, std::size_t) { ++count; });
    return end == stream.words.size() ? count : SIZE_MAX;
  }

  static constexpr std::size_t kNoStream = SIZE_MAX;
  std::string file_;
  const ChipConfig& chip_;
  Program program_;
  std::vector<std::string> errors_;
  std::size_t line_ = 0;
  std::size_t stream_ = kNoStream;
  std::int32_t last_layer_ = 0;
  bool has_data_ = false;
};

}  // namespace

Program assemble_text(const std::string& text, const std::string& file, const ChipConfig& chip) {
  return Assembler(file, chip).run(text);
}

Program assemble(const std::filesystem::path& file, const ChipConfig& chip) {
  const std::string text = read_file(file);
  if (text.empty()) {
    user_error(file.string(), ": is empty: expected an assembly file with at least one line");
  }
  return assemble_text(text, file.string(), chip);
}

}  // namespace tessera::isa
