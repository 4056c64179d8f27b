// A compiled program (FORMAT.md section 3): what compiler/ emits, firmware and every backend run. program.bin is the
// binary form (write_program / read_program, versioned, checksummed); meta.json the view for people and tools.
// All DRAM addresses are base register + offset, so a program can be loaded anywhere.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "hw/common/units.hpp"
#include "isa/program/word.hpp"

namespace tessera::isa {

enum class BufferKind : std::uint8_t { weights, input, output, scratch, instructions };
inline constexpr const char* kBufferKindNames[] = {"weights", "input", "output", "scratch", "instructions"};

/// Which base register the runtime points at the buffers of a kind.
[[nodiscard]] constexpr std::uint8_t base_register_of(BufferKind kind) { return static_cast<std::uint8_t>(kind); }

/// A DRAM range at base register base_register_of(kind) + offset.
struct Buffer {
  std::string name;
  BufferKind kind = BufferKind::scratch;
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
  std::uint32_t alignment = 64;
};

/// What DRAM bytes are for (report: dram.by_kind). `padding` is never stored: it is moved minus useful.
enum class Traffic : std::uint8_t { weights, params, input, output, spill, halo, instructions, host, padding };
inline constexpr std::size_t kTrafficKinds = 9;
[[nodiscard]] const char* traffic_name(Traffic kind);

/// Per instruction, for attribution; not part of program.bin.
struct InstructionInfo {
  std::uint16_t layer = 0;
  Traffic kind = Traffic::spill;  // LOAD, STORE
  Bytes useful_bytes = 0;         // LOAD, STORE: bytes of `kind` that carry values, the rest moved is padding
  std::string tile;               // for the timeline, e.g. "rows 0..27"
};

/// The instructions of one queue of one core in one section.
struct QueueStream {
  std::uint8_t core = 0;
  std::uint8_t queue = 0;  // QueueId
  std::vector<Word> words;
  std::vector<InstructionInfo> info;  // one an instruction; may be empty (assembled programs)
};

/// A DRAM tensor as host steps and the runtime see it: quantised, NCHW (or the rank of `shape`), unpadded.
struct TensorRef {
  std::string name;
  std::uint32_t buffer = 0;  // index into Program::buffers
  std::uint64_t offset = 0;  // inside the buffer
  std::vector<std::int64_t> shape;
  std::string dtype = "int8";  // ONNX's name: int8, uint8, int16, int32, int64, float32, bool, ...
  double scale = 1.0;
  std::int32_t zero_point = 0;
  std::string layout = "NCHW";
  /// The model's own type of this value: float32 where it stands quantised here, uint8 where int8 here is 128 less.
  std::string model_type = "float32";
};

/// A node that the host runs between two NPU sections. `attributes` as in ONNX (ints and floats as doubles).
struct HostStep {
  std::string name;
  std::string op;
  std::uint16_t layer = 0;
  std::vector<TensorRef> inputs;
  std::vector<TensorRef> outputs;
  std::vector<std::pair<std::string, std::vector<double>>> attributes;
};

/// Either NPU streams or one host step.
struct Section {
  std::string name;
  std::int32_t host_step = -1;  // index into Program::host_steps, or -1
  std::vector<QueueStream> streams;
  // For people, in meta.json alone: why the section begins, and the bytes that cross through DRAM at its beginning.
  std::string why;
  Bytes crossing_bytes = 0;
};

struct LayerInfo {
  std::string name;  // ONNX node name (of the node that does the MACs when several are fused)
  std::string op;    // ONNX operator
  std::string unit;
  std::uint16_t group = 0;
  std::int64_t macs_useful = 0;
  std::vector<std::string> fused;  // nodes folded into it
};
struct GroupInfo {
  std::string name;
  Cycles predicted_end = 0;  // of the group's last instruction; 0: not predicted
};

struct Prediction {
  Cycles cycles = 0;
  Bytes dram_bytes = 0;
};

struct Program {
  std::uint64_t arch_hash = 0;    // must match the chip
  std::uint64_t timing_hash = 0;  // may differ, reported
  std::vector<Buffer> buffers;
  std::vector<Section> sections;
  std::vector<HostStep> host_steps;
  std::vector<std::uint8_t> dsp_code;
  std::vector<TensorRef> inputs;  // of the network
  std::vector<TensorRef> outputs;
  std::vector<std::uint8_t> weights;  // weights.bin: image of the weights buffers; empty with --timing-only

  // meta.json only
  std::string chip_name;
  std::string chip_json;  // resolved chip file the schedule was tuned for
  std::string model_name, model_sha256, schedule;
  std::uint64_t seed = 0;
  std::int32_t batch = 1;
  std::int64_t macs_useful = 0, macs_host = 0;
  Bytes compulsory_read = 0, compulsory_write = 0;
  Bytes sram_peak_bytes = 0;
  Prediction predicted;
  std::vector<LayerInfo> layers;
  std::vector<GroupInfo> groups;
};

/// Writes DIR/program.bin, weights.bin (unless empty) and meta.json beside their names, then renames them.
void write_program(const Program& program, const std::filesystem::path& dir);
/// Reads all three. `need_weights`: a missing weights.bin is a UserError. Every error names file, offset or key.
enum class Weights : std::uint8_t { required, optional };
[[nodiscard]] Program read_program(const std::filesystem::path& dir, Weights weights);

}  // namespace tessera::isa
