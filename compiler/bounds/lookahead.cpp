#include "compiler/bounds/lookahead.hpp"

#include <algorithm>
#include <cmath>
#include <deque>

namespace tessera::compiler {
namespace {

// Bytes are followed in steps; a step counts as used when its last byte is, and room is counted in whole steps, so that
// coarser steps only lower the bound.
constexpr double kStepBytes = 4096;
constexpr double kStepsOfSram = 256;

struct Used {
  double bytes = 0;  // of the stream up to here
  double when = 0;   // all of them are used
};

}  // namespace

const char* pool_name(Pool pool) {
  switch (pool) {
    case Pool::conv:
      return "conv";
    case Pool::gemm:
      return "gemm";
    case Pool::edp:
      return "edp";
  }
  return "";
}

double lookahead_cycles(const std::vector<StreamedLayer>& layers, const hw::StreamRate& rate, double sram_bytes,
                        Pool pool) {
  const double step = std::min(kStepBytes, std::max(1.0, sram_bytes / kStepsOfSram));
  double streamed = 0;      // bytes
  double arrived = 0;       // cycle of the last of them
  double done = 0;          // cycle in which the work so far is done
  std::deque<Used> window;  // not yet a whole SRAM behind the stream
  double room_at = 0;       // when the newest step that is a whole SRAM behind was used
  for (const StreamedLayer& layer : layers) {
    done += layer.host;
    const double work = layer.cycles[static_cast<std::size_t>(pool)];
    if (layer.bytes <= 0) {
      done += work;
      continue;
    }
    const double steps = std::ceil(layer.bytes / step);
    const double bytes = layer.bytes / steps;
    for (double i = 0; i < steps; ++i) {
      streamed += bytes;
      while (!window.empty() && window.front().bytes <= streamed - sram_bytes) {
        room_at = window.front().when;
        window.pop_front();
      }
      arrived = std::max(rate.finish(arrived, bytes), room_at);
      done = std::max(done + work / steps, arrived);
      window.push_back({streamed, done});
    }
  }
  return std::max(arrived, done);
}

}  // namespace tessera::compiler
