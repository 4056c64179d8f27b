// program.bin as bytes: a little-endian container, version 2. Header of 96 bytes, then records in this order: buffers,
// inputs, outputs, host steps, sections (each with its streams and their words), DSP code. Texts are a 32-bit length
// and bytes. Offsets of the header fields stand here, so that firmware and tests read the same page:
//    0 magic "TESSERA1"      8 u32 version        12 u32 header bytes   16 u64 file bytes
//   24 u64 arch hash        32 u64 timing hash    40 u64 weights bytes  48 u64 weights checksum
//   56 u32 buffers          60 u32 inputs         64 u32 outputs        68 u32 host steps
//   72 u32 sections         76 u32 DSP bytes      80 u64 checksum of all bytes behind the header
//   88 u64 checksum of the header's first 88 bytes          (checksums: FNV-1a)
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "isa/program/program.hpp"

namespace tessera::isa {

/// What a TensorRef may have as dtype and model_type: int8 of maps; the others pass between host steps and the
/// boundary.
[[nodiscard]] bool is_tensor_type(const std::string& name);

inline constexpr std::uint32_t kContainerVersion = 2;
inline constexpr std::size_t kContainerHeaderBytes = 96;

/// What program.bin says of weights.bin.
struct WeightsFile {
  std::uint64_t bytes = 0;
  std::uint64_t checksum = 0;
};

[[nodiscard]] std::vector<std::uint8_t> to_container(const Program& program);
/// Every length is checked before it is used. Throws UserError: file, offset, what was found, what is legal.
[[nodiscard]] Program from_container(const std::vector<std::uint8_t>& bytes, const std::string& file,
                                     WeightsFile& weights);
/// The checksum in the header of a container: names this very program.
[[nodiscard]] std::uint64_t container_checksum(const std::vector<std::uint8_t>& bytes);
/// Bytes from the start of the weights to the end of the last weights buffer.
[[nodiscard]] std::uint64_t weights_extent(const Program& program);

}  // namespace tessera::isa
