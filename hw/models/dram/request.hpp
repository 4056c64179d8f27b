// One 64-byte request to a DRAM channel. The caller owns it and keeps it alive until its data have moved; the channel
// writes down when what happened to it.
#pragma once

#include <array>
#include <cstdint>

#include "hw/common/units.hpp"

namespace tessera::dram {

inline constexpr Bytes kRequestBytes = 64;

/// What a request waits for, as a step function of time.
enum class WaitState : std::uint8_t {
  queued,   // others are served, or a constraint of the rank holds it
  opening,  // a row is precharged or activated for it
  refresh,  // a per-bank refresh holds its bank
  flight    // all its column commands are out
};

struct Request {
  std::uint64_t address = 0;  // multiple of 64
  bool write = false;
  std::int16_t source = 0;  // who asks, for attribution
  bool own = false;         // of the channel itself (check lines of in-band ECC)
  void* user = nullptr;

  // Written by the channel.
  int channel = 0;
  DramClocks arrival = 0;
  DramClocks issued = -1;       // last column command; from here on the queue slot is free
  DramClocks first_burst = -1;  // clock of the last data beat of its first burst
  DramClocks last_beat = -1;    // clock of the last data beat
  int bursts_left = 0;
  struct Change {
    DramClocks clock;
    WaitState state;
  };
  /// Changes after arrival (state queued), in order of time; a change beyond the room is dropped.
  std::array<Change, 8> log{};
  int log_size = 0;

  [[nodiscard]] WaitState state() const {
    return log_size == 0 ? WaitState::queued : log[static_cast<std::size_t>(log_size - 1)].state;
  }
  /// Replaces changes that were foreseen for `clock` or later.
  void change(DramClocks clock, WaitState state) {
    while (log_size > 0 && log[static_cast<std::size_t>(log_size - 1)].clock >= clock) --log_size;
    if (this->state() == state) return;
    if (log_size == static_cast<int>(log.size())) return;
    log[static_cast<std::size_t>(log_size++)] = {clock, state};
  }
};

}  // namespace tessera::dram
