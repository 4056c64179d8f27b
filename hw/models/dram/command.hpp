// DRAM commands as they appear on a channel's command bus, and the hooks through which a channel reports.
#pragma once

#include <cstdint>

#include "hw/common/units.hpp"
#include "hw/models/dram/request.hpp"

namespace tessera::dram {

enum class CommandKind : std::uint8_t { act, act1, act2, cas, rd, wr, rda, wra, pre, pre_all, ref_all, ref_bank };
/// ACT, ACT1, ACT2, CAS, RD, WR, RDA, WRA, PRE, PREab, REFab, REFpb.
[[nodiscard]] const char* command_name(CommandKind kind);

struct Command {
  DramClocks clock = 0;  // first command-bus edge
  CommandKind kind = CommandKind::act;
  int channel = 0;
  int rank = 0;
  int bank_group = 0;
  int bank = 0;  // within its group
  std::int64_t row = 0;
  int column = 0;  // in bursts
};

class ChannelListener {
 public:
  virtual ~ChannelListener() = default;
  /// The last column command of a request is out: its queue slot is free from `request.issued`, its data have moved
  /// with `request.last_beat`.
  virtual void on_issued(Request& request) = 0;
  /// A column command for `source` in `clock`.
  virtual void on_column(int channel, int source, DramClocks clock) = 0;
  /// Refresh holds the channel from `begin`, and, once it is issued, to `end`.
  virtual void on_refresh_begin(int channel, DramClocks begin) = 0;
  virtual void on_refresh_end(int channel, DramClocks end) = 0;
};

class CommandObserver {
 public:
  virtual ~CommandObserver() = default;
  virtual void on_command(const Command& command) = 0;
};

}  // namespace tessera::dram
