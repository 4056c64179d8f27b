#include "hw/models/interconnect/dram_path.hpp"

#include "hw/common/error.hpp"
#include "hw/models/dram/energy.hpp"

namespace tessera::hw {

namespace {

constexpr auto kRequestBytes = static_cast<std::uint64_t>(dram::kRequestBytes);

}  // namespace

DramPath::DramPath(MemoryCore& core)
    : core_(core),
      crossing_(core.config_.clock_hz, core.config_.tck_fs, core.config_.sync_clocks),
      dram_(core.config_.dram(), *this),
      ports_(static_cast<std::size_t>(core.config_.cores * kPortsPerCore)),
      channels_(static_cast<std::size_t>(core.config_.channels)),
      sources_(background_sources(core.config_)) {
  if (core.config_.cache.size_bytes > 0) {
    cache_ = std::make_unique<CacheCore>(core.config_.cache);
    cache_banks_.resize(static_cast<std::size_t>(core.config_.cache.banks));
    for (const char* name : {"fetch", "load", "store"}) stream_stats_.push_back({name, 0, 0, 0, 0});
  }
  for (ChannelState& channel : channels_)
    channel.credits = {core.config_.dram_queue_depth, core.config_.dram_queue_depth};
}

void DramPath::catch_up(Cycles now) {
  // A request dispatched in this cycle or later arrives after this clock.
  dram_.run_until(crossing_.request_arrival(now + core_.config_.latency_cycles) - 1);
  dram_.settle_idle(crossing_.clock_in(now));
}

void DramPath::look_at_head(MemoryCore::Port& port) const {
  const Burst& burst = core_.fifo_head(port);
  port.head_channel = dram_.channel_of(burst.address + static_cast<std::uint64_t>(burst.sent));
  port.head_ready = burst.handshake + 1;
  if (burst.write) {
    const Bytes end = burst.sent + head_part_bytes(burst);
    const Cycles last_beat = ceil_div(end, core_.config_.data_bytes) - 1;
    port.head_ready = std::max(port.head_ready, burst.w_end - burst.beats + 1 + last_beat + 1);
  }
}

Bytes DramPath::head_part_bytes(const Burst& burst) const {
  const std::uint64_t address = burst.address + static_cast<std::uint64_t>(burst.sent);
  return std::min<Bytes>(dram::kRequestBytes - static_cast<Bytes>(address % kRequestBytes), burst.bytes - burst.sent);
}

// `index` offers a request to the channel: round robin over ports, then background sources.
void DramPath::offer(ChannelState& channel, int index, bool write) const {
  if (channel.credits[write ? 1 : 0] == 0) return;
  const int count = static_cast<int>(ports_.size() + sources_.size());
  const auto distance = [&](int i) { return i - channel.first + (i < channel.first ? count : 0); };
  if (channel.candidate == kNobody || distance(index) < distance(channel.candidate)) channel.candidate = index;
}

void DramPath::take_credits(Cycles now) {
  next_return_ = kNever;
  for (ChannelState& channel : channels_) {
    for (std::size_t w = 0; w < 2; ++w) {
      std::deque<Cycles>& returns = channel.returns[w];
      for (; !returns.empty() && returns.front() <= now; returns.pop_front()) ++channel.credits[w];
      if (!returns.empty()) next_return_ = std::min(next_return_, returns.front());
    }
  }
}

void DramPath::advance(Cycles now) {
  now_ = now;
  catch_up(now);
  if (next_return_ <= now) take_credits(now);
  // Every port (or the cache on their behalf) and source offers its head request; every channel takes one a cycle.
  const int count = static_cast<int>(ports_.size());
  if (cache_) {
    release_fetches(now);
    for (ChannelState& channel : channels_) {
      if (channel.outgoing.empty() || channel.outgoing.front().ready > now) continue;
      offer(channel, 0, channel.outgoing.front().fetch == nullptr);
    }
  } else {
    for (int i = 0; i < count; ++i) {
      const MemoryCore::Port& port = core_.ports_[static_cast<std::size_t>(i)];
      if (port.fifo_count == 0 || port.head_ready > now) continue;
      offer(channels_[static_cast<std::size_t>(port.head_channel)], i, core_.fifo_head(port).write);
    }
  }
  for (std::size_t s = 0; s < sources_.size(); ++s) {
    const BackgroundSource::Access& access = sources_[s].head();
    if (access.due > now) continue;
    offer(channels_[static_cast<std::size_t>(dram_.channel_of(access.address))], count + static_cast<int>(s),
          access.write);
  }
  for (ChannelState& channel : channels_) {
    if (channel.candidate == kNobody) continue;
    if (channel.candidate >= count) {
      dispatch_background(now, sources_[static_cast<std::size_t>(channel.candidate - count)], channel.candidate,
                          channel);
    } else if (cache_) {
      dispatch_outgoing(now, channel);
    } else {
      dispatch(now, channel.candidate, channel);
    }
    channel.first = channel.candidate + 1 == count + static_cast<int>(sources_.size()) ? 0 : channel.candidate + 1;
    channel.candidate = kNobody;
  }
  if (cache_) offer_to_banks(now);
}

void DramPath::begin_part(Cycles now, MemoryCore::Port& port, int port_index) {
  const Burst& burst = core_.fifo_head(port);
  if (burst.write && &burst == &port.bursts.front()) {  // until now it waited for the channel of this request
    core_.attribute(port_index, now, port.totals);
    port.attributed = std::max(port.attributed, now);
  }
}

void DramPath::end_part(Cycles now, MemoryCore::Port& port, PortState& state, int channel, Bytes bytes) {
  Burst& burst = core_.fifo_head(port);
  burst.sent += bytes;
  if (burst.sent == burst.bytes) {
    burst.granted = now;
    burst.last = state.response;
    burst.channel = channel;
    core_.pop(now, port);
    if (port.fifo_count == 0) return;
  }
  look_at_head(port);
}

dram::Request* DramPath::take_write() {
  if (free_writes_.empty()) {
    writes_.push_back(std::make_unique<dram::Request>());
    free_writes_.push_back(writes_.back().get());
  }
  dram::Request* request = free_writes_.back();
  free_writes_.pop_back();
  return request;
}

void DramPath::dispatch(Cycles now, int port_index, ChannelState& channel) {
  MemoryCore::Port& port = core_.ports_[static_cast<std::size_t>(port_index)];
  PortState& state = ports_[static_cast<std::size_t>(port_index)];
  begin_part(now, port, port_index);
  const Burst& burst = core_.fifo_head(port);
  const Bytes bytes = head_part_bytes(burst);
  const DramClocks arrival = crossing_.request_arrival(now + core_.config_.latency_cycles);
  dram::Request* request = nullptr;
  if (burst.write) {
    request = take_write();
    if (burst.sent == 0) state.response = 0;
    state.response = std::max(state.response, crossing_.response_arrival(arrival));
  } else {
    Part& part = state.parts.push();
    part = Part{};
    const Bytes width = core_.config_.data_bytes;
    part.dispatched = part.sent = now;
    part.beats = static_cast<int>((burst.sent + bytes) / width - burst.sent / width);
    request = &part.request;
    request->user = &part;
  }
  request->address = (burst.address + static_cast<std::uint64_t>(burst.sent)) / kRequestBytes * kRequestBytes;
  request->write = burst.write;
  request->source = static_cast<std::int16_t>(port_index);
  dram_.push(*request, arrival);
  --channel.credits[burst.write ? 1 : 0];
  end_part(now, port, state, request->channel, bytes);
}

// Posted, reads as well: nobody waits for them here.
void DramPath::dispatch_background(Cycles now, BackgroundSource& source, int index, ChannelState& channel) {
  dram::Request* request = take_write();
  request->address = source.head().address;
  request->write = source.head().write;
  request->source = static_cast<std::int16_t>(index);
  --channel.credits[request->write ? 1 : 0];
  dram_.push(*request, crossing_.request_arrival(now + core_.config_.latency_cycles));
  source.take(now);
}

StallCause DramPath::contention(int port, int by) const {
  const int count = static_cast<int>(ports_.size());
  if (by < count) return core_.contention(port, by);
  const bool camera = sources_[static_cast<std::size_t>(by - count)].kind() == BackgroundSource::Kind::camera;
  return camera ? StallCause::dram_contention_camera : StallCause::dram_contention_cpu;
}

Cycles DramPath::next_event() const {
  const DramClocks clock = dram_.next_event();
  Cycles next = clock < kNever ? crossing_.response_arrival(clock) : kNever;
  next = std::max(next, now_ + 1);
  const auto offered = [&](const ChannelState& channel, Cycles ready, bool write) {
    const std::size_t w = write ? 1 : 0;
    Cycles at = std::max(now_ + 1, ready);
    if (channel.credits[w] == 0) at = channel.returns[w].empty() ? kNever : std::max(at, channel.returns[w].front());
    next = std::min(next, at);
  };
  for (std::size_t i = 0; i < ports_.size(); ++i) {
    const MemoryCore::Port& port = core_.ports_[i];
    if (port.fifo_count == 0) continue;
    if (!cache_) {
      offered(channels_[static_cast<std::size_t>(port.head_channel)], port.head_ready, core_.fifo_head(port).write);
    } else if (!ports_[i].blocked) {  // blocked: only one of the events below frees it
      next = std::min(next, std::max(now_ + 1, port.head_ready));
    }
  }
  for (const ChannelState& channel : channels_) {
    if (channel.outgoing.empty()) continue;
    offered(channel, channel.outgoing.front().ready, channel.outgoing.front().fetch == nullptr);
  }
  if (!releases_.empty()) next = std::min(next, std::max(now_ + 1, releases_.begin()->first));
  for (const BackgroundSource& source : sources_) {
    const BackgroundSource::Access& access = source.head();
    offered(channels_[static_cast<std::size_t>(dram_.channel_of(access.address))], access.due, access.write);
  }
  return next;
}

Cycles DramPath::next_delivery(int port_index) const {
  const MemoryCore::Port& port = core_.ports_[static_cast<std::size_t>(port_index)];
  const PortState& state = ports_[static_cast<std::size_t>(port_index)];
  const Burst& burst = port.bursts.front();
  if (burst.write) {
    const bool whole = static_cast<std::size_t>(port.fifo_count) < port.bursts.size();
    return whole ? std::max(burst.last, port.last_delivery + 1) : kNever;
  }
  if (state.parts.empty() || state.parts.front().visible == kNever) return kNever;
  return std::max({state.parts.front().visible, state.carry, port.last_delivery + 1});
}

void DramPath::delivered(Cycles now, int port_index) {
  PortState& state = ports_[static_cast<std::size_t>(port_index)];
  Part& part = state.parts.front();
  if (++part.beats_done < part.beats) return;
  MemoryCore::Port& port = core_.ports_[static_cast<std::size_t>(port_index)];
  core_.attribute(port_index, now, port.totals);
  port.attributed = now;
  state.parts.pop();
  state.carry = 0;
  settle(state);
  forget();
}

// A request that completes no beat hands its time on to the next one.
void DramPath::settle(PortState& state) {
  while (!state.parts.empty() && state.parts.front().beats == 0 && state.parts.front().visible != kNever) {
    state.carry = std::max(state.carry, state.parts.front().visible);
    state.parts.pop();
  }
}

// Nobody will ask about the past of the oldest waiting burst.
void DramPath::forget() {
  constexpr std::size_t kKeep = 64;
  bool long_history = false;
  for (const ChannelState& channel : channels_) long_history = long_history || channel.history.size() > kKeep;
  if (!long_history) return;
  Cycles oldest = now_;
  for (const MemoryCore::Port& port : core_.ports_) {
    if (!port.bursts.empty()) oldest = std::min(oldest, std::max(port.attributed, port.bursts.front().handshake));
  }
  for (ChannelState& channel : channels_) channel.history.forget_before(crossing_.clock_in(oldest));
}

void DramPath::on_issued(dram::Request& request) {
  ChannelState& channel = channels_[static_cast<std::size_t>(request.channel)];
  const Cycles back = crossing_.response_arrival(request.issued);
  channel.returns[request.write ? 1 : 0].push_back(back);
  next_return_ = std::min(next_return_, back);
  if (request.write || request.source >= static_cast<int>(ports_.size())) {
    free_writes_.push_back(&request);
    return;
  }
  if (cache_) return fetch_issued(*static_cast<Fetch*>(request.user));
  static_cast<Part*>(request.user)->visible = crossing_.response_arrival(request.last_beat);
  settle(ports_[static_cast<std::size_t>(request.source)]);
}

void DramPath::on_column(int channel, int source, DramClocks clock) {
  ChannelState& state = channels_[static_cast<std::size_t>(channel)];
  state.server = source;
  state.history.change(clock, source);
}

void DramPath::on_refresh_begin(int channel, DramClocks begin) {
  channels_[static_cast<std::size_t>(channel)].history.change(begin, kRefreshing);
}

void DramPath::on_refresh_end(int channel, DramClocks end) {
  ChannelState& state = channels_[static_cast<std::size_t>(channel)];
  state.history.change(end, state.server);
}

void DramPath::results(Cycles end, MemoryResult& result) {
  for (const dram::ChannelStatistics& s : dram_.finish(crossing_.clocks_at(end))) {
    DramChannelResult channel;
    channel.clocks = s.clocks;
    channel.data = s.data;
    channel.activate = s.activate;
    channel.turnaround = s.turnaround;
    channel.refresh = s.refresh;
    channel.idle = s.idle;
    channel.row_hits = s.row_hits;
    channel.row_misses = s.row_misses;
    channel.row_conflicts = s.row_conflicts;
    channel.refreshes = s.refreshes;
    const dram::ChannelConfig& device = dram_.config().channel;
    const dram::Energy energy =
        dram::energy(device.device, s, device.ranks, device.refresh == dram::RefreshPolicy::per_bank);
    channel.activate_pj = energy.activate;
    channel.read_pj = energy.read;
    channel.write_pj = energy.write;
    channel.refresh_pj = energy.refresh;
    channel.background_pj = energy.background;
    TESSERA_CHECK(s.data + s.activate + s.turnaround + s.refresh + s.idle == s.clocks, "clocks of a channel: data ",
                  s.data, ", activate ", s.activate, ", turnaround ", s.turnaround, ", refresh ", s.refresh, ", idle ",
                  s.idle, " of ", s.clocks);
    result.channels.push_back(channel);
    result.dram_bursts += s.read_bursts + s.write_bursts;
  }
  if (cache_) cache_results(result);
  for (const BackgroundSource& source : sources_) {
    result.traffic.push_back({source.kind() == BackgroundSource::Kind::camera ? "camera" : "cpu", source.bytes_taken(),
                              source.requests(), source.longest_wait()});
  }
}

}  // namespace tessera::hw
