// Who has the DRAM's bandwidth when, for the prediction: transfers come in program order, which is not the order of
// time, so that each takes what earlier ones left free from its own start on. Time in buckets; exact to a bucket.
#pragma once

#include <cstddef>
#include <vector>

namespace tessera::compiler {

class DramCalendar {
 public:
  explicit DramCalendar(double bytes_per_cycle) : rate_(bytes_per_cycle) {}

  /// Cycle in which the last of `bytes` is moved, none of them before `start`.
  double take(double start, double bytes);

 private:
  [[nodiscard]] std::size_t free_from(std::size_t bucket);

  static constexpr double kBucketCycles = 256;
  double rate_;
  std::vector<double> used_;       // bytes, by bucket
  std::vector<std::size_t> next_;  // of a full bucket: one behind it that may be free
};

}  // namespace tessera::compiler
