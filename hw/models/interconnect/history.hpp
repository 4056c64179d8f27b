// A step function of time kept as its changes: who was served when. Times never decrease; old parts are dropped.
#pragma once

#include <cstdint>
#include <deque>

#include "hw/common/error.hpp"

namespace tessera::hw {

class StateHistory {
 public:
  explicit StateHistory(int initial) { changes_.push_back({INT64_MIN, initial}); }

  void change(std::int64_t time, int state) {
    if (changes_.back().state == state) return;
    TESSERA_CHECK(time >= changes_.back().time, "history runs backwards: ", time, " after ", changes_.back().time);
    if (changes_.back().time == time) {
      changes_.back().state = state;
    } else {
      changes_.push_back({time, state});
    }
  }

  /// Calls f(begin, end, state) for the pieces of [begin, end), in order.
  template <typename F>
  void for_pieces(std::int64_t begin, std::int64_t end, F&& f) const {
    if (begin >= end) return;
    std::size_t i = changes_.size();
    while (i > 1 && changes_[i - 1].time > begin) --i;
    for (--i; begin < end; ++i) {
      const std::int64_t piece_end = i + 1 < changes_.size() && changes_[i + 1].time < end ? changes_[i + 1].time : end;
      if (piece_end > begin) f(begin, piece_end, changes_[i].state);
      begin = piece_end > begin ? piece_end : begin;
    }
  }

  /// Nobody will ask about times before `time` again.
  void forget_before(std::int64_t time) {
    while (changes_.size() > 1 && changes_[1].time <= time) changes_.pop_front();
  }
  [[nodiscard]] int last() const { return changes_.back().state; }
  [[nodiscard]] std::size_t size() const { return changes_.size(); }

 private:
  struct Change {
    std::int64_t time;
    int state;
  };
  std::deque<Change> changes_;
};

}  // namespace tessera::hw
