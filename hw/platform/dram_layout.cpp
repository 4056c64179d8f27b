#include "hw/platform/dram_layout.hpp"

#include <algorithm>

#include "hw/common/error.hpp"

namespace tessera::platform {
namespace {

constexpr std::uint64_t kKindAlignment = 1u << 20;
constexpr std::uint64_t kStreamAlignment = 4096;
constexpr std::size_t kInstructions = isa::base_register_of(isa::BufferKind::instructions);

}  // namespace

DramLayout place_program(const isa::Program& program, const isa::ChipConfig& chip) {
  DramLayout layout;
  for (const isa::Buffer& buffer : program.buffers) {
    std::uint64_t& limit = layout.limit[isa::base_register_of(buffer.kind)];
    limit = std::max(limit, buffer.offset + buffer.size);
  }
  std::uint64_t streams = 0;
  for (const isa::Section& section : program.sections) {
    std::vector<std::uint64_t>& offsets = layout.stream_offset.emplace_back();
    for (const isa::QueueStream& stream : section.streams) {
      offsets.push_back(streams);
      streams += round_up<std::uint64_t>(stream.words.size() * sizeof(isa::Word), kStreamAlignment);
    }
  }
  layout.limit[kInstructions] = std::max(layout.limit[kInstructions], streams);
  for (std::size_t i = 0; i < layout.base.size(); ++i) {
    layout.base[i] = layout.end;
    layout.end += round_up<std::uint64_t>(layout.limit[i], kKindAlignment);
  }
  if (layout.end > static_cast<std::uint64_t>(chip.dram.size_bytes)) {
    user_error(chip.name, ": the program needs ", layout.end, " bytes of DRAM, dram.size_bytes is ",
               chip.dram.size_bytes);
  }
  return layout;
}

void load_program(const isa::Program& program, const DramLayout& layout, hw::DramStorage& dram) {
  if (!program.weights.empty()) {
    // weights.bin is the image of the weights buffers, at their offsets.
    dram.write(layout.base[isa::base_register_of(isa::BufferKind::weights)], program.weights.data(),
               program.weights.size());
  }
  for (std::size_t s = 0; s < program.sections.size(); ++s) {
    const std::vector<isa::QueueStream>& streams = program.sections[s].streams;
    for (std::size_t i = 0; i < streams.size(); ++i) {
      if (streams[i].words.empty()) continue;
      dram.write(layout.base[kInstructions] + layout.stream_offset[s][i], streams[i].words.front().data(),
                 streams[i].words.size() * sizeof(isa::Word));
    }
  }
}

}  // namespace tessera::platform
