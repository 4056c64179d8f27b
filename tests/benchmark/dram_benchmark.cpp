// Speed of the DRAM subsystem alone: 64-byte requests as fast as they are accepted, LPDDR4-4266, one channel. Wanted of
// one core: 3 million a second in order, 1.5 million at random. Counter: requests per second of CPU time.
#include <benchmark/benchmark.h>

#include "hw/common/random.hpp"
#include "hw/models/dram/replay.hpp"

namespace tessera::dram {
namespace {

constexpr std::int64_t kRequests = 1'000'000;

template <typename Address>
void drive(benchmark::State& state, Address&& address, bool write) {
  DramConfig config;
  config.channel.device = find_device("LPDDR4-4266");
  for (auto _ : state) {
    std::int64_t i = 0;
    benchmark::DoNotOptimize(replay(config, [&](TraceRequest& request) {
      if (i == kRequests) return false;
      request = {-1, write, address(i++)};
      return true;
    }));
  }
  state.SetItemsProcessed(state.iterations() * kRequests);
}

void SequentialReads(benchmark::State& state) {
  drive(
      state, [](std::int64_t i) { return static_cast<std::uint64_t>(i) * 64 % (1 << 30); }, false);
}
void SequentialWrites(benchmark::State& state) {
  drive(
      state, [](std::int64_t i) { return static_cast<std::uint64_t>(i) * 64 % (1 << 30); }, true);
}
void RandomReads(benchmark::State& state) {
  Random random(1);
  drive(
      state, [&](std::int64_t) { return random.below(1 << 24) * 64; }, false);
}

BENCHMARK(SequentialReads)->Unit(benchmark::kMillisecond);
BENCHMARK(SequentialWrites)->Unit(benchmark::kMillisecond);
BENCHMARK(RandomReads)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace tessera::dram

BENCHMARK_MAIN();
