// The system cache between the ports and the channels: banks, misses on their way, what is sent to the channels.
#include "hw/common/error.hpp"
#include "hw/models/interconnect/dram_path.hpp"

namespace tessera::hw {

namespace {
constexpr std::uint64_t kSector = 64;
constexpr std::size_t kOutgoing = 16;  // a bank takes nothing for a channel that has so many in front of it
}  // namespace

// Every port offers its head part to one bank; every bank takes one a cycle, round robin. A bank whose winner cannot be
// served keeps it as the winner: nothing passes it there until a miss returns or a request leaves for a channel.
void DramPath::offer_to_banks(Cycles now) {
  const int count = static_cast<int>(ports_.size());
  for (CacheBank& bank : cache_banks_) bank.candidate = kNobody;
  const auto bank_of = [&](const MemoryCore::Port& port) -> CacheBank& {
    const Burst& burst = core_.fifo_head(port);
    return cache_banks_[static_cast<std::size_t>(
        cache_->bank_of(burst.address + static_cast<std::uint64_t>(burst.sent)))];
  };
  for (int i = 0; i < count; ++i) {
    const MemoryCore::Port& port = core_.ports_[static_cast<std::size_t>(i)];
    ports_[static_cast<std::size_t>(i)].blocked = false;
    if (port.fifo_count == 0 || port.head_ready > now) continue;
    CacheBank& bank = bank_of(port);
    const auto distance = [&](int p) { return (p - bank.first + count) % count; };
    if (bank.candidate == kNobody || distance(i) < distance(bank.candidate)) bank.candidate = i;
  }
  std::vector<int> stuck;  // banks
  for (CacheBank& bank : cache_banks_) {
    if (bank.candidate == kNobody) continue;
    const int winner = bank.candidate;
    if (accept(now, winner)) {
      bank.first = (winner + 1) % count;
    } else {
      bank.first = winner;
      stuck.push_back(static_cast<int>(&bank - cache_banks_.data()));
    }
  }
  if (stuck.empty()) return;
  for (int i = 0; i < count; ++i) {
    const MemoryCore::Port& port = core_.ports_[static_cast<std::size_t>(i)];
    if (port.fifo_count == 0 || port.head_ready > now) continue;
    const int bank = static_cast<int>(&bank_of(port) - cache_banks_.data());
    for (const int s : stuck) {
      if (s == bank) ports_[static_cast<std::size_t>(i)].blocked = true;
    }
  }
}

// The head part of the port enters the cache in cycle `now`; false: it cannot.
bool DramPath::accept(Cycles now, int port_index) {
  MemoryCore::Port& port = core_.ports_[static_cast<std::size_t>(port_index)];
  PortState& state = ports_[static_cast<std::size_t>(port_index)];
  const Burst& burst = core_.fifo_head(port);
  const Bytes bytes = head_part_bytes(burst);
  const std::uint64_t address = (burst.address + static_cast<std::uint64_t>(burst.sent)) / kSector * kSector;
  const int channel = dram_.channel_of(address);
  if (channels_[static_cast<std::size_t>(channel)].outgoing.size() >= kOutgoing) return false;
  const auto manager = static_cast<std::size_t>(port_index % kPortsPerCore);
  const bool whole = bytes == static_cast<Bytes>(kSector);
  const CacheAccess access = cache_->access(address, burst.write, whole, core_.config_.cache_allocate[manager]);
  CacheStreamResult& stats = stream_stats_[manager];
  switch (access.outcome) {
    case CacheOutcome::hit:
      ++stats.hits;
      break;
    case CacheOutcome::merged:
      ++stats.merged;
      break;
    case CacheOutcome::miss:
      ++stats.misses;
      break;
    case CacheOutcome::bypass:
      ++stats.bypassed;
      break;
    case CacheOutcome::blocked:
      return false;
  }
  begin_part(now, port, port_index);
  for (const std::uint64_t changed : access.write_backs) send(now, changed, port_index, nullptr);
  Fetch* fetch = nullptr;  // the one that brings this part
  for (const std::uint64_t sector : access.fetches) {
    Fetch* fill = take_fetch(port_index, sector, true);
    if (fetch == nullptr) fetch = fill;
    filling_[sector] = fill;
    send(now, sector, port_index, fill);
  }
  const Cycles through = now + core_.config_.latency_cycles + core_.config_.cache_hit_cycles;
  if (burst.write) {
    if (access.outcome == CacheOutcome::bypass) send(now, address, port_index, nullptr);
    state.response = burst.sent == 0 ? through : std::max(state.response, through);
    end_part(now, port, state, channel, bytes);
    return true;
  }
  Part& part = state.parts.push();
  part = Part{};
  const Bytes width = core_.config_.data_bytes;
  part.dispatched = now;
  part.beats = static_cast<int>((burst.sent + bytes) / width - burst.sent / width);
  part.request.channel = channel;
  if (access.outcome == CacheOutcome::bypass) {
    fetch = take_fetch(port_index, address, false);
    send(now, address, port_index, fetch);
  }
  const auto filling = filling_.find(address);
  if (access.outcome == CacheOutcome::merged && filling != filling_.end()) fetch = filling->second;
  if (fetch == nullptr) {
    part.cached = true;
    part.visible = through;
  } else if (fetch->visible < kNever) {
    part.request = fetch->request;
    part.sent = fetch->sent;
    part.visible = std::max(fetch->visible, through);
  } else {
    part.fetch = fetch;
    part.earliest = through;
    fetch->waiting.push_back({port_index, &part});
  }
  settle(state);
  end_part(now, port, state, channel, bytes);
  return true;
}

DramPath::Fetch* DramPath::take_fetch(int port, std::uint64_t address, bool fills) {
  if (free_fetches_.empty()) {
    fetches_.push_back(std::make_unique<Fetch>());
    free_fetches_.push_back(fetches_.back().get());
  }
  Fetch* fetch = free_fetches_.back();
  free_fetches_.pop_back();
  *fetch = Fetch{};
  fetch->fills = fills;
  fetch->request.address = address;
  fetch->request.source = static_cast<std::int16_t>(port);
  fetch->request.user = fetch;
  fetch->request.channel = dram_.channel_of(address);
  return fetch;
}

void DramPath::send(Cycles now, std::uint64_t address, int port, Fetch* fetch) {
  channels_[static_cast<std::size_t>(dram_.channel_of(address))].outgoing.push_back({address, port, fetch, now + 1});
  (fetch == nullptr ? cache_written_ : cache_fetched_) += static_cast<Bytes>(kSector);
}

void DramPath::dispatch_outgoing(Cycles now, ChannelState& channel) {
  const Outgoing out = channel.outgoing.front();
  channel.outgoing.pop_front();
  const DramClocks arrival = crossing_.request_arrival(now + core_.config_.latency_cycles);
  if (out.fetch != nullptr) {
    out.fetch->sent = now;
    --channel.credits[0];
    dram_.push(out.fetch->request, arrival);
    return;
  }
  dram::Request* request = take_write();
  request->address = out.address;
  request->write = true;
  request->source = static_cast<std::int16_t>(out.port);
  --channel.credits[1];
  dram_.push(*request, arrival);
}

// Its data are known to come: the parts that wait for it learn when.
void DramPath::fetch_issued(Fetch& fetch) {
  fetch.visible = crossing_.response_arrival(fetch.request.last_beat);
  for (const auto& [port, part] : fetch.waiting) {
    part->request = fetch.request;
    part->sent = fetch.sent;
    part->visible = std::max(fetch.visible, part->earliest);
    part->fetch = nullptr;
    settle(ports_[static_cast<std::size_t>(port)]);
  }
  fetch.waiting.clear();
  releases_.emplace(fetch.visible, &fetch);
}

void DramPath::release_fetches(Cycles now) {
  while (!releases_.empty() && releases_.begin()->first <= now) {
    Fetch* fetch = releases_.begin()->second;
    releases_.erase(releases_.begin());
    if (fetch->fills) {
      cache_->fetched(fetch->request.address);
      filling_.erase(fetch->request.address);
    }
    free_fetches_.push_back(fetch);
  }
}

void DramPath::cache_results(MemoryResult& result) const {
  result.cache.streams = stream_stats_;
  result.cache.fetched_bytes = cache_fetched_;
  result.cache.written_bytes = cache_written_;
  result.cache.dirty_bytes_left = cache_->dirty_sectors() * static_cast<Bytes>(kSector);
}

}  // namespace tessera::hw
