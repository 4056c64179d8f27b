#include "isa/program/container.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>

#include "hw/common/error.hpp"
#include "hw/common/hash.hpp"
#include "isa/isa.hpp"

namespace tessera::isa {
namespace {

constexpr char kMagic[] = "TESSERA1";
constexpr std::size_t kHeaderChecksumAt = 88;
constexpr std::uint32_t kMaxText = 1U << 16;
constexpr std::uint32_t kMaxRank = 16;

std::uint64_t checksum(const std::uint8_t* bytes, std::size_t count) {
  Fnv64 hash;
  hash.add(bytes, count);
  return hash.value();
}

class Writer {
 public:
  void number(std::uint64_t value, std::size_t width) {
    for (std::size_t i = 0; i < width; ++i) {
      bytes.push_back(static_cast<std::uint8_t>(value >> (8 * i)));
    }
  }
  void u8(std::uint8_t value) { number(value, 1); }
  void u16(std::uint16_t value) { number(value, 2); }
  void u32(std::uint32_t value) { number(value, 4); }
  void u64(std::uint64_t value) { number(value, 8); }
  void count(std::size_t value) {
    TESSERA_CHECK(value <= UINT32_MAX, value, " entries do not fit the container");
    u32(static_cast<std::uint32_t>(value));
  }
  void real(double value) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof bits);
    u64(bits);
  }
  void text(const std::string& value) {
    TESSERA_CHECK(value.size() <= kMaxText, "a text of ", value.size(), " bytes: at most ", kMaxText);
    count(value.size());
    bytes.insert(bytes.end(), value.begin(), value.end());
  }
  void tensor(const TensorRef& t) {
    text(t.name);
    u32(t.buffer);
    u64(t.offset);
    count(t.shape.size());
    for (const std::int64_t extent : t.shape) {
      u64(static_cast<std::uint64_t>(extent));
    }
    text(t.dtype);
    real(t.scale);
    u32(static_cast<std::uint32_t>(t.zero_point));
    text(t.layout);
    text(t.model_type);
  }

  std::vector<std::uint8_t> bytes;
};

class Reader {
 public:
  Reader(const std::vector<std::uint8_t>& bytes, const std::string& file, std::size_t at)
      : bytes_(bytes), file_(file), at_(at) {}

  [[nodiscard]] std::size_t left() const { return bytes_.size() - at_; }

  template <typename... Parts>
  [[noreturn]] void fail(std::size_t offset, const Parts&... parts) const {
    user_error(file_, ": offset ", offset, ": ", parts...);
  }

  std::uint64_t number(std::size_t width, const char* what) {
    need(width, what);
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < width; ++i) {
      value |= static_cast<std::uint64_t>(bytes_[at_ + i]) << (8 * i);
    }
    at_ += width;
    return value;
  }
  std::uint8_t u8(const char* what) { return static_cast<std::uint8_t>(number(1, what)); }
  std::uint16_t u16(const char* what) { return static_cast<std::uint16_t>(number(2, what)); }
  std::uint32_t u32(const char* what) { return static_cast<std::uint32_t>(number(4, what)); }
  std::uint64_t u64(const char* what) { return number(8, what); }
  double real(const char* what) {
    const std::size_t start = at_;
    const std::uint64_t bits = u64(what);
    double value = 0.0;
    std::memcpy(&value, &bits, sizeof value);
    if (!std::isfinite(value)) {
      fail(start, what, " is not a finite number");
    }
    return value;
  }
  /// A number below `end`; `legal` says what those are.
  std::uint64_t below(std::size_t width, std::uint64_t end, const char* what) {
    const std::size_t start = at_;
    const std::uint64_t value = number(width, what);
    if (value >= end) {
      fail(start, what, " = ", value, ": expected a value below ", end);
    }
    return value;
  }
  /// How many records of at least `record_bytes` follow: they must fit the rest of the file.
  std::uint32_t count(const char* what, std::size_t record_bytes) {
    const std::size_t start = at_;
    const std::uint32_t value = u32(what);
    if (value > left() / record_bytes) {
      fail(start, what, " = ", value, ": expected at most ", left() / record_bytes, ", what the other ", left(),
           " bytes of the file can hold");
    }
    return value;
  }
  std::string text(const char* what) {
    const std::size_t start = at_;
    const std::uint32_t length = u32(what);
    if (length > kMaxText) {
      fail(start, "length of ", what, " = ", length, ": expected at most ", kMaxText);
    }
    need(length, what);
    std::string value(bytes_.begin() + static_cast<std::ptrdiff_t>(at_),
                      bytes_.begin() + static_cast<std::ptrdiff_t>(at_ + length));
    at_ += length;
    return value;
  }
  void copy(std::uint8_t* to, std::size_t count, const char* what) {
    need(count, what);
    std::copy_n(bytes_.begin() + static_cast<std::ptrdiff_t>(at_), count, to);
    at_ += count;
  }
  [[nodiscard]] std::size_t at() const { return at_; }

 private:
  void need(std::size_t count, const char* what) const {
    if (count > left()) {
      fail(at_, "expected ", count, " bytes of ", what, ", found ", left(), ": the file is cut off");
    }
  }
  const std::vector<std::uint8_t>& bytes_;
  const std::string& file_;
  std::size_t at_;
};

TensorRef read_tensor(Reader& in, const std::vector<Buffer>& buffers) {
  TensorRef t;
  t.name = in.text("a tensor's name");
  t.buffer = static_cast<std::uint32_t>(in.below(4, buffers.size(), "a tensor's buffer"));
  const std::size_t at = in.at();
  t.offset = in.u64("a tensor's offset");
  const std::uint32_t rank = static_cast<std::uint32_t>(in.below(4, kMaxRank + 1, "a tensor's rank"));
  for (std::uint32_t i = 0; i < rank; ++i) {
    t.shape.push_back(static_cast<std::int64_t>(in.below(8, std::uint64_t{1} << 40, "a tensor's extent")));
  }
  if (t.offset > buffers[t.buffer].size) {
    in.fail(at, "offset ", t.offset, " of tensor ", t.name, ": expected at most the ", buffers[t.buffer].size,
            " bytes of its buffer ", buffers[t.buffer].name);
  }
  const auto read_type = [&](const char* what) {
    const std::size_t type_at = in.at();
    std::string type = in.text(what);
    if (!is_tensor_type(type)) {
      in.fail(type_at, "type '", type, "' of tensor ", t.name, ": expected an integer, float or bool type");
    }
    return type;
  };
  t.dtype = read_type("a tensor's type");
  t.scale = in.real("a tensor's scale");
  t.zero_point = static_cast<std::int32_t>(in.u32("a tensor's zero point"));
  t.layout = in.text("a tensor's layout");
  t.model_type = read_type("a tensor's type in the model");
  return t;
}
constexpr std::size_t kTensorBytes = 44;  // of a nameless scalar: the least a record takes

void write_host_step(Writer& out, const HostStep& step) {
  out.text(step.name);
  out.text(step.op);
  out.u16(step.layer);
  out.count(step.inputs.size());
  for (const TensorRef& t : step.inputs) {
    out.tensor(t);
  }
  out.count(step.outputs.size());
  for (const TensorRef& t : step.outputs) {
    out.tensor(t);
  }
  out.count(step.attributes.size());
  for (const auto& [name, values] : step.attributes) {
    out.text(name);
    out.count(values.size());
    for (const double value : values) {
      out.real(value);
    }
  }
}

HostStep read_host_step(Reader& in, const std::vector<Buffer>& buffers) {
  HostStep step;
  step.name = in.text("a host step's name");
  step.op = in.text("a host step's operator");
  step.layer = in.u16("a host step's layer");
  for (std::uint32_t i = in.count("inputs of a host step", kTensorBytes); i > 0; --i) {
    step.inputs.push_back(read_tensor(in, buffers));
  }
  for (std::uint32_t i = in.count("outputs of a host step", kTensorBytes); i > 0; --i) {
    step.outputs.push_back(read_tensor(in, buffers));
  }
  for (std::uint32_t i = in.count("attributes of a host step", 8); i > 0; --i) {
    std::pair<std::string, std::vector<double>> attribute;
    attribute.first = in.text("an attribute's name");
    for (std::uint32_t k = in.count("values of an attribute", 8); k > 0; --k) {
      attribute.second.push_back(in.real("an attribute's value"));
    }
    step.attributes.push_back(std::move(attribute));
  }
  return step;
}

void write_section(Writer& out, const Section& section) {
  out.text(section.name);
  out.u32(static_cast<std::uint32_t>(section.host_step));
  out.count(section.streams.size());
  for (const QueueStream& stream : section.streams) {
    out.u8(stream.core);
    out.u8(stream.queue);
    out.count(stream.words.size());
    for (const Word& word : stream.words) {
      out.bytes.insert(out.bytes.end(), word.begin(), word.end());
    }
  }
}

Section read_section(Reader& in, std::size_t host_steps) {
  Section section;
  section.name = in.text("a section's name");
  const std::size_t at = in.at();
  section.host_step = static_cast<std::int32_t>(in.u32("a section's host step"));
  if (section.host_step < -1 || section.host_step >= static_cast<std::int64_t>(host_steps)) {
    in.fail(at, "host step of section ", section.name, " = ", section.host_step, ": expected -1 or a value below ",
            host_steps);
  }
  const std::size_t streams_at = in.at();
  const std::uint32_t streams = in.count("streams of a section", 6);
  if (section.host_step >= 0 && streams != 0) {
    in.fail(streams_at, "section ", section.name, " has a host step and ", streams,
            " streams: expected one or the other");
  }
  for (std::uint32_t i = 0; i < streams; ++i) {
    QueueStream stream;
    const std::size_t stream_at = in.at();
    stream.core = in.u8("a stream's core");
    stream.queue = static_cast<std::uint8_t>(in.below(1, kQueueIdValues, "a stream's queue"));
    for (const QueueStream& other : section.streams) {
      if (other.core == stream.core && other.queue == stream.queue) {
        in.fail(stream_at, "section ", section.name, " has two streams for core ", static_cast<int>(stream.core),
                " queue ", to_string(static_cast<QueueId>(stream.queue)), ": expected one");
      }
    }
    const std::uint32_t words = in.count("words of a stream", sizeof(Word));
    stream.words.resize(words);
    for (Word& word : stream.words) {
      in.copy(word.data(), word.size(), "an instruction word");
    }
    section.streams.push_back(std::move(stream));
  }
  return section;
}

void put_u64(std::vector<std::uint8_t>& bytes, std::size_t at, std::uint64_t value) {
  for (std::size_t i = 0; i < 8; ++i) {
    bytes[at + i] = static_cast<std::uint8_t>(value >> (8 * i));
  }
}

}  // namespace

bool is_tensor_type(const std::string& name) {
  static const std::set<std::string> types = {"int8",  "uint8",  "int16", "uint16",  "int32",   "uint32",
                                              "int64", "uint64", "bool",  "float16", "float32", "float64"};
  return types.count(name) != 0;
}

std::uint64_t weights_extent(const Program& program) {
  std::uint64_t extent = 0;
  for (const Buffer& buffer : program.buffers) {
    if (buffer.kind == BufferKind::weights) {
      extent = std::max(extent, buffer.offset + buffer.size);
    }
  }
  return extent;
}

std::uint64_t container_checksum(const std::vector<std::uint8_t>& bytes) {
  TESSERA_CHECK(bytes.size() >= kContainerHeaderBytes, "not a container");
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < 8; ++i) {
    value |= static_cast<std::uint64_t>(bytes[kHeaderChecksumAt + i]) << (8 * i);
  }
  return value;
}

std::vector<std::uint8_t> to_container(const Program& program) {
  Writer out;
  for (const char c : std::string(kMagic)) {
    out.u8(static_cast<std::uint8_t>(c));
  }
  out.u32(kContainerVersion);
  out.u32(kContainerHeaderBytes);
  out.u64(0);  // file bytes, below
  out.u64(program.arch_hash);
  out.u64(program.timing_hash);
  out.u64(program.weights.size());
  out.u64(checksum(program.weights.data(), program.weights.size()));
  out.count(program.buffers.size());
  out.count(program.inputs.size());
  out.count(program.outputs.size());
  out.count(program.host_steps.size());
  out.count(program.sections.size());
  out.count(program.dsp_code.size());
  out.u64(0);  // checksums, below
  out.u64(0);
  TESSERA_CHECK(out.bytes.size() == kContainerHeaderBytes, "the header has ", out.bytes.size(), " bytes");
  for (const Buffer& buffer : program.buffers) {
    out.text(buffer.name);
    out.u8(static_cast<std::uint8_t>(buffer.kind));
    out.u64(buffer.offset);
    out.u64(buffer.size);
    out.u32(buffer.alignment);
  }
  for (const TensorRef& t : program.inputs) {
    out.tensor(t);
  }
  for (const TensorRef& t : program.outputs) {
    out.tensor(t);
  }
  for (const HostStep& step : program.host_steps) {
    write_host_step(out, step);
  }
  for (const Section& section : program.sections) {
    write_section(out, section);
  }
  out.bytes.insert(out.bytes.end(), program.dsp_code.begin(), program.dsp_code.end());
  put_u64(out.bytes, 16, out.bytes.size());
  put_u64(out.bytes, 80, checksum(out.bytes.data() + kContainerHeaderBytes, out.bytes.size() - kContainerHeaderBytes));
  put_u64(out.bytes, kHeaderChecksumAt, checksum(out.bytes.data(), kHeaderChecksumAt));
  return std::move(out.bytes);
}

Program from_container(const std::vector<std::uint8_t>& bytes, const std::string& file, WeightsFile& weights) {
  Reader in(bytes, file, 0);
  if (bytes.size() < kContainerHeaderBytes) {
    in.fail(0, "found ", bytes.size(), " bytes, expected a header of ", kContainerHeaderBytes,
            ": the file is cut off or no Tessera program");
  }
  std::uint8_t magic[8];
  in.copy(magic, sizeof magic, "magic");
  if (std::memcmp(magic, kMagic, sizeof magic) != 0) {
    in.fail(0, "does not begin with ", kMagic, ": this is no Tessera program");
  }
  const std::uint32_t version = in.u32("version");
  if (version != kContainerVersion) {
    in.fail(8, "container version ", version, ": expected ", kContainerVersion, "; compile the model again");
  }
  const std::uint32_t header_bytes = in.u32("header size");
  const std::uint64_t file_bytes = in.u64("file size");
  const std::uint64_t header_checksum = checksum(bytes.data(), kHeaderChecksumAt);
  if (header_checksum != container_checksum(bytes)) {
    in.fail(kHeaderChecksumAt, "header checksum is ", container_checksum(bytes), ", but the header's bytes give ",
            header_checksum, ": the file is damaged");
  }
  if (header_bytes != kContainerHeaderBytes) {
    in.fail(12, "header of ", header_bytes, " bytes: expected ", kContainerHeaderBytes);
  }
  if (file_bytes != bytes.size()) {
    in.fail(16, "the header says ", file_bytes, " bytes, the file has ", bytes.size(), ": it is cut off or damaged");
  }
  Program program;
  program.arch_hash = in.u64("arch hash");
  program.timing_hash = in.u64("timing hash");
  weights.bytes = in.u64("size of weights.bin");
  weights.checksum = in.u64("checksum of weights.bin");
  const std::uint32_t buffers = in.u32("buffers");
  const std::uint32_t inputs = in.u32("inputs");
  const std::uint32_t outputs = in.u32("outputs");
  const std::uint32_t host_steps = in.u32("host steps");
  const std::uint32_t sections = in.u32("sections");
  const std::uint32_t dsp_bytes = in.u32("DSP bytes");
  const std::uint64_t payload = in.u64("checksum");
  const std::uint64_t found = checksum(bytes.data() + kContainerHeaderBytes, bytes.size() - kContainerHeaderBytes);
  if (found != payload) {
    in.fail(80, "checksum is ", payload, ", but the file's bytes give ", found, ": the file is damaged");
  }
  static_cast<void>(in.u64("header checksum"));

  for (std::uint32_t i = 0; i < buffers; ++i) {
    Buffer buffer;
    buffer.name = in.text("a buffer's name");
    buffer.kind = static_cast<BufferKind>(in.below(1, 5, "a buffer's kind"));
    buffer.offset = in.below(8, std::uint64_t{1} << 40, "a buffer's offset");
    buffer.size = in.below(8, (std::uint64_t{1} << 40) + 1, "a buffer's size");
    const std::size_t at = in.at();
    buffer.alignment = in.u32("a buffer's alignment");
    if (buffer.alignment == 0 || (buffer.alignment & (buffer.alignment - 1)) != 0) {
      in.fail(at, "alignment of buffer ", buffer.name, " = ", buffer.alignment, ": expected a power of two");
    }
    program.buffers.push_back(std::move(buffer));
  }
  for (std::uint32_t i = 0; i < inputs; ++i) {
    program.inputs.push_back(read_tensor(in, program.buffers));
  }
  for (std::uint32_t i = 0; i < outputs; ++i) {
    program.outputs.push_back(read_tensor(in, program.buffers));
  }
  for (std::uint32_t i = 0; i < host_steps; ++i) {
    program.host_steps.push_back(read_host_step(in, program.buffers));
  }
  for (std::uint32_t i = 0; i < sections; ++i) {
    program.sections.push_back(read_section(in, program.host_steps.size()));
  }
  if (dsp_bytes != in.left()) {
    in.fail(in.at(), "found ", in.left(), " bytes, expected ", dsp_bytes, " bytes of DSP code at the end");
  }
  program.dsp_code.resize(dsp_bytes);
  in.copy(program.dsp_code.data(), dsp_bytes, "DSP code");
  return program;
}

}  // namespace tessera::isa
