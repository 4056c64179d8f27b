#include <algorithm>
#include <cstdio>

#include "hw/common/error.hpp"
#include "hw/common/hash.hpp"
#include "isa/asm/assembler.hpp"
#include "isa/asm/statement.hpp"
#include "isa/isa.hpp"
#include "isa/program/container.hpp"

namespace tessera::isa {
namespace {

using assembly::hex_bytes;
using assembly::quote_text;
using tessera::detail::concat;

constexpr std::size_t kBytesPerLine = 32;

std::string real(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%.17g", value);  // 17 digits give every double back
  return text;
}

class Disassembler {
 public:
  explicit Disassembler(const Program& program) : program_(program) {}

  std::string run(DataText data) {
    out_ += concat(".chip ", quote_text(program_.chip_name), " arch=", hash_text(program_.arch_hash),
                   " timing=", hash_text(program_.timing_hash), "\n");
    for (const Buffer& b : program_.buffers) {
      out_ += concat(".buffer ", quote_text(b.name), " kind=", kBufferKindNames[static_cast<std::size_t>(b.kind)],
                     " offset=", b.offset, " size=", b.size, " align=", b.alignment, "\n");
    }
    for (const TensorRef& t : program_.inputs) {
      tensor(".input", t);
    }
    for (const TensorRef& t : program_.outputs) {
      tensor(".output", t);
    }
    host_steps();
    for (const Section& section : program_.sections) {
      out_ += concat("\n.section ", quote_text(section.name),
                     section.host_step >= 0 ? concat(" host=", section.host_step) : "", "\n");
      for (const QueueStream& stream : section.streams) {
        queue(stream);
      }
    }
    bytes(".dsp", "", program_.dsp_code, 0, program_.dsp_code.size());
    if (data == DataText::full && !program_.weights.empty()) {
      weights();
    }
    return std::move(out_);
  }

 private:
  [[nodiscard]] std::string buffer_name(std::size_t index) const {
    const std::string& name = program_.buffers.at(index).name;
    const auto same = std::count_if(program_.buffers.begin(), program_.buffers.end(),
                                    [&](const Buffer& b) { return b.name == name; });
    const bool is_plain = same == 1 && name != "@" && !name.empty() && name.front() != ':';
    return is_plain ? quote_text(name) : concat(":", index);
  }

  void tensor(const char* directive, const TensorRef& t) {
    std::string shape;
    for (const std::int64_t extent : t.shape) {
      shape += (shape.empty() ? "" : "x") + std::to_string(extent);
    }
    out_ += concat(directive, " ", quote_text(t.name), " buffer=", buffer_name(t.buffer), " offset=", t.offset,
                   shape.empty() ? "" : " shape=" + shape, " type=", quote_text(t.dtype), " scale=", real(t.scale),
                   " zero_point=", t.zero_point, " layout=", quote_text(t.layout),
                   " model_type=", quote_text(t.model_type), "\n");
  }

  void host_steps() {
    for (const HostStep& step : program_.host_steps) {
      out_ += concat(".host ", quote_text(step.name), " op=", quote_text(step.op), " layer=", step.layer, "\n");
      for (const TensorRef& t : step.inputs) {
        tensor(".host_input", t);
      }
      for (const TensorRef& t : step.outputs) {
        tensor(".host_output", t);
      }
      for (const auto& [name, values] : step.attributes) {
        out_ += ".attribute " + quote_text(name);
        for (const double value : values) {
          out_ += " " + real(value);
        }
        out_ += "\n";
      }
    }
  }

  void queue(const QueueStream& stream) {
    const auto id = static_cast<QueueId>(stream.queue);
    out_ += concat(".queue ", static_cast<int>(stream.core), ".", to_string(id), "\n");
    std::size_t index = 0;
    for (std::size_t at = 0; at < stream.words.size(); ++index) {
      const DecodeResult decoded = decode(&stream.words[at], stream.words.size() - at);
      if (!decoded.ok() || !queue_accepts(id, decoded.instruction.header.opcode)) {
        out_ += ".word " + hex_bytes(stream.words[at].data(), kWordBytes) + "\n";
        ++at;
        continue;
      }
      out_ += "  " + disassemble(decoded.instruction);
      if (index < stream.info.size() && !stream.info[index].tile.empty()) {
        std::string tile = stream.info[index].tile;
        std::replace(tile.begin(), tile.end(), '\n', ' ');
        out_ += "  # " + tile;
      }
      out_ += "\n";
      at += decoded.words;
    }
  }

  /// Lines of hexadecimal digits; offsets count from `start`, lines of zeros are left out of weights.
  void bytes(const char* directive, const std::string& name, const std::vector<std::uint8_t>& data, std::size_t start,
             std::size_t end) {
    for (std::size_t at = start; at < end; at += kBytesPerLine) {
      const std::size_t count = std::min(kBytesPerLine, end - at);
      if (name.empty()) {
        out_ += concat(directive, " ", hex_bytes(&data[at], count), "\n");
      } else if (std::any_of(&data[at], &data[at] + count, [](std::uint8_t b) { return b != 0; })) {
        out_ += concat(directive, " ", name, " ", at - start, " ", hex_bytes(&data[at], count), "\n");
      }
    }
  }

  void weights() {
    out_ += "\n.data @ 0\n";  // there is an image; bytes that no line gives are zero
    // What lies between buffers comes first: its lines may reach into buffers, whose own lines then put that right.
    std::vector<std::uint8_t> between = program_.weights;
    for (const Buffer& b : program_.buffers) {
      if (b.kind == BufferKind::weights) {
        std::fill_n(between.begin() + static_cast<std::ptrdiff_t>(b.offset), b.size, std::uint8_t{0});
      }
    }
    bytes(".data", "@", between, 0, between.size());
    for (std::size_t i = 0; i < program_.buffers.size(); ++i) {
      const Buffer& b = program_.buffers[i];
      if (b.kind == BufferKind::weights) {
        bytes(".data", buffer_name(i), program_.weights, b.offset, b.offset + b.size);
      }
    }
  }

  const Program& program_;
  std::string out_;
};

}  // namespace

std::string disassemble(const Program& program, DataText data) {
  TESSERA_CHECK(program.weights.empty() || program.weights.size() == weights_extent(program),
                "the weights image does not span the weights buffers");
  return Disassembler(program).run(data);
}

}  // namespace tessera::isa
