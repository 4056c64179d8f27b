#include "compiler/emit/dma_lane.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "compiler/emit/dma_stream.hpp"
#include "hw/models/dram/request.hpp"
#include "isa/semantics/dma.hpp"

namespace tessera::compiler {
namespace {

constexpr std::int64_t kRequestBytes = dram::kRequestBytes;  // the DRAM moves whole ones
constexpr int kAnswered = -1;                                // tag of bytes that nobody waits for

/// What an instruction asks of the machine.
struct DmaWork {
  double requests = 0;  // of the DRAM
  double beats = 0, bursts = 0;
  double segments = 0;  // cycles of the SRAM side
};

DmaWork work_of(const semantics::DmaShape& shape, const isa::ChipConfig& chip) {
  DmaWork out;
  const std::int64_t beat = chip.axi.data_bytes;
  const auto line = static_cast<std::int64_t>(chip.sram.line_bytes);
  const auto rows = static_cast<double>(shape.count[0] * shape.count[1] * shape.count[2]);
  // Units that a row touches; rows that begin in different places of a unit: the mean over these places.
  const auto covered = [&](std::int64_t unit) {
    std::int64_t grain = unit;
    for (int d = 0; d < 3; ++d) {
      if (shape.count[d] > 1) grain = std::gcd(grain, shape.dram_stride[d]);
    }
    const std::int64_t bytes = round_up(shape.dram_offset % grain + shape.row_bytes, grain);
    if (grain == unit) return static_cast<double>(ceil_div(shape.dram_offset % unit + shape.row_bytes, unit));
    return static_cast<double>(bytes + unit - grain) / static_cast<double>(unit);
  };
  out.requests = rows * covered(kRequestBytes);
  out.beats = rows * covered(beat);
  out.bursts = rows * std::max(1.0, std::ceil(covered(beat) / static_cast<double>(chip.axi.max_burst_beats)));
  const auto lines_of = [&](std::int64_t groups) { return lines_of_groups(shape, groups, line); };
  const auto runs = static_cast<double>(shape.count[0] * shape.count[1]);
  const double data_lines = static_cast<double>(lines_of(shape.data_groups()));
  const auto fill_groups = shape.groups_before + shape.groups_after;
  const double fill_lines = fill_groups > 0 ? static_cast<double>(lines_of(fill_groups)) : 0;
  const double row_lines = std::max(data_lines, covered(beat)) + fill_lines;
  const auto fill_rows = static_cast<double>(shape.rows_before + shape.rows_after);
  out.segments = rows * row_lines + runs * fill_rows * static_cast<double>(lines_of(shape.row_groups()));
  return out;
}

template <typename Dma>
std::int64_t bytes_of(const Dma& dma) {
  std::int64_t rows = 1;
  for (const isa::DmaDim& d : dma.dims) rows *= d.count;
  return rows * static_cast<std::int64_t>(dma.row_bytes);
}

}  // namespace

std::int64_t dma_bytes(const isa::Load& load) { return bytes_of(load); }
std::int64_t dma_bytes(const isa::Store& store) { return bytes_of(store); }

DmaLane::DmaLane(const isa::ChipConfig& chip, const MemoryTimes& times, bool load, int flow)
    : chip_(chip),
      times_(times),
      load_(load),
      flow_(flow),
      in_flight_(static_cast<std::size_t>(load ? chip.load.in_flight : chip.store.in_flight)) {}

bool DmaLane::ready(bool nop, Cycles n, const MemoryFlow& memory) const {
  if (flight_.empty()) return true;
  if (nop || flight_.back().nop || flight_.size() >= in_flight_) return false;
  return n >= addresses_ && memory.backlog(flow_) <= ahead_ + 1e-6;
}

Cycles DmaLane::next_ready(Cycles n, const MemoryFlow& memory) const {
  if (flight_.empty() || flight_.back().nop || flight_.size() >= in_flight_) return kNever;
  const double accepted = memory.falls_to(flow_, ahead_);
  if (accepted > static_cast<double>(kNever)) return kNever;
  return std::max({n + 1, addresses_, static_cast<Cycles>(std::ceil(accepted))});
}

void DmaLane::start(int tag, Cycles n, const isa::Body& work, MemoryFlow& memory) {
  const auto* load = std::get_if<isa::Load>(&work);
  const DmaWork w =
      work_of(load != nullptr ? semantics::dma_shape(*load) : semantics::dma_shape(std::get<isa::Store>(work)), chip_);
  const double bytes = w.requests * kRequestBytes;
  const Cycles latency = load_ ? times_.read : times_.write;
  const auto outstanding = static_cast<double>(load_ ? chip_.axi.read_outstanding : chip_.axi.write_outstanding);
  const auto segments = static_cast<Cycles>(std::ceil(w.segments));
  const double round_trips = w.bursts * static_cast<double>(latency + 2) / outstanding;
  const double alone = std::max({w.beats, w.bursts, w.segments, w.bursts > outstanding ? round_trips : 0.0, 1.0});
  Flight flight;
  flight.tag = tag;
  if (load_) {
    walked_ = std::max(walked_, n + 1 + latency) + segments;
    ahead_ = std::min(outstanding * bytes / w.bursts, static_cast<double>(chip_.load.landing_bytes));
    addresses_ = n + 1 + static_cast<Cycles>(w.bursts);
  } else {
    walked_ = std::max(walked_, n + 1) + segments;
    ahead_ = std::min(outstanding * bytes / w.bursts, times_.queue_bytes);
    addresses_ = walked_ + chip_.sram.read_latency + 1;
  }
  flight.least = walked_ + (load_ ? 0 : chip_.sram.read_latency + 1 + latency);
  // Writes are acknowledged where they are queued, so the last of them need not be served.
  const double queued = load_ ? 0 : std::min(bytes, times_.queue_bytes);
  memory.offer(flow_, bytes - queued, bytes / alone, tag);
  if (queued > 0) memory.offer(flow_, queued, bytes / alone, kAnswered);
  flight_.push_back(flight);
}

void DmaLane::start_nop(int tag, Cycles n, Cycles cycles) {
  Flight flight;
  flight.tag = tag;
  flight.nop = true;
  flight.finish = n + cycles;
  flight_.push_back(flight);
}

void DmaLane::served(int tag, double time, Cycles behind) {
  if (tag == kAnswered) return;
  const auto at = std::find_if(flight_.begin(), flight_.end(), [&](const Flight& f) { return f.tag == tag; });
  const Cycles latency = load_ ? times_.read : times_.write;
  const Cycles done = std::max(static_cast<Cycles>(std::ceil(time)) + latency, at->least) + behind + 1;
  at->finish = last_finish_ = std::max(done, last_finish_ + 1);
}

Cycles DmaLane::finish() const { return flight_.empty() ? kNever : flight_.front().finish; }

int DmaLane::take_finished() {
  const int tag = flight_.front().tag;
  flight_.pop_front();
  return tag;
}

}  // namespace tessera::compiler
