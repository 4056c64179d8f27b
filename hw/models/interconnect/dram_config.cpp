// From the resolved keys to the DRAM's own configuration.
#include "hw/common/error.hpp"
#include "hw/models/interconnect/memory_config.hpp"

namespace tessera::hw {

dram::DramConfig MemoryConfig::dram() const {
  dram::DramConfig c;
  c.channel.device = dram::find_device(device);
  if (channel_bits != 0) c.channel.device = dram::with_channel_bits(c.channel.device, channel_bits);
  for (const auto& [name, clocks] : timings) dram::set_timing(c.channel.device, name, clocks);
  dram::check_timings(c.channel.device);
  c.channel.address_map = address_map;
  c.channel.queue_depth = dram_queue_depth;
  c.channel.ranks = ranks;
  c.channel.refresh_debt = refresh_debt;
  c.channel.ecc = ecc == "in_band";
  c.channels = channels;
  c.interleave_bytes = interleave_bytes;
  if (refresh == "none") {
    c.channel.refresh = dram::RefreshPolicy::none;
  } else if (refresh == "all_bank") {
    c.channel.refresh = dram::RefreshPolicy::all_bank;
  } else if (refresh == "per_bank") {
    c.channel.refresh = dram::RefreshPolicy::per_bank;
  } else {
    user_error("dram.refresh = \"", refresh, "\": expected none, all_bank or per_bank");
  }
  if (page_policy == "open") {
    c.channel.page = dram::PagePolicy::open;
  } else if (page_policy == "closed") {
    c.channel.page = dram::PagePolicy::closed;
  } else if (page_policy == "adaptive") {
    c.channel.page = dram::PagePolicy::adaptive;
  } else {
    user_error("dram.page_policy = \"", page_policy, "\": expected open, closed or adaptive");
  }
  if (interleave_bytes % dram::kRequestBytes != 0) {
    user_error("dram.interleave_bytes = ", interleave_bytes, ": expected a multiple of 64");
  }
  return c;
}

}  // namespace tessera::hw
