#include "compiler/emit/dram_calendar.hpp"

#include <algorithm>
#include <cmath>

namespace tessera::compiler {

std::size_t DramCalendar::free_from(std::size_t bucket) {
  while (next_.size() <= bucket) {
    next_.push_back(next_.size());
    used_.push_back(0);
  }
  std::size_t found = bucket;
  while (next_[found] != found) {
    found = next_[found];
    while (next_.size() <= found) {
      next_.push_back(next_.size());
      used_.push_back(0);
    }
  }
  while (next_[bucket] != found && bucket != found) {  // the next search is shorter
    const std::size_t after = next_[bucket];
    next_[bucket] = found;
    bucket = after;
  }
  return found;
}

double DramCalendar::take(double start, double bytes) {
  const double capacity = kBucketCycles * rate_;
  double finish = start;
  std::size_t bucket = static_cast<std::size_t>(start / kBucketCycles);
  while (bytes > 0) {
    bucket = free_from(bucket);
    const double begin = static_cast<double>(bucket) * kBucketCycles;
    const double end = begin + kBucketCycles;
    // Of the bucket in which the transfer starts it can have no more than what lies behind its start.
    const double left = std::min(capacity - used_[bucket], (end - std::max(begin, start)) * rate_);
    const double taken = std::min(left, bytes);
    used_[bucket] += taken;
    bytes -= taken;
    finish = std::max({finish, begin + used_[bucket] / rate_, std::max(begin, start) + taken / rate_});
    if (capacity - used_[bucket] < 1e-6 * capacity) next_[bucket] = bucket + 1;
    ++bucket;
  }
  return finish;
}

}  // namespace tessera::compiler
