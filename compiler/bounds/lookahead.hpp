// The least time of a network whose constants come from DRAM: layers in the order of the graph; no part of a layer's
// work starts before its share of the constants has arrived; constants arrive at the stream rate, and never more than
// one SRAM ahead of use. Work and bytes are divisible, engines share perfectly, maps take no room, latencies are 0: no
// schedule that keeps the order of the layers is faster. (In a chain a layer needs all constants of the layers before
// it, so after b bytes no more work is possible than the layers before b hold, whatever is fused with what.)
#pragma once

#include <array>
#include <string>
#include <vector>

#include "hw/models/interconnect/stream_rate.hpp"

namespace tessera::compiler {

/// Kinds of units that work beside each other; the time of each alone bounds the network.
enum class Pool : std::uint8_t { conv, gemm, edp };
inline constexpr std::size_t kPools = 3;
[[nodiscard]] const char* pool_name(Pool pool);

struct StreamedLayer {
  double bytes = 0;                     // constants, and graph inputs that it is the first to read, as they lie in DRAM
  std::array<double, kPools> cycles{};  // of the pool's engines together
  double host = 0;                      // cycles of a host step, which runs alone
};

/// Cycles until the last layer is done on the units of `pool`.
[[nodiscard]] double lookahead_cycles(const std::vector<StreamedLayer>& layers, const hw::StreamRate& rate,
                                      double sram_bytes, Pool pool);

}  // namespace tessera::compiler
