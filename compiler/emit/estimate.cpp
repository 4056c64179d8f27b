#include "compiler/emit/estimate.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>

#include "compiler/host/host_step.hpp"
#include "compiler/schedule/unit_cost.hpp"
#include "hw/common/error.hpp"
#include "hw/common/units.hpp"
#include "hw/models/conv/cost.hpp"
#include "hw/models/edp/cost.hpp"
#include "hw/models/gemm/cost.hpp"
#include "hw/models/interconnect/stream_rate.hpp"
#include "hw/models/reorder/cost.hpp"
#include "isa/semantics/dma.hpp"

namespace tessera::compiler {
namespace {

constexpr int kQueues = 16;
// Issue: signal to start (MACHINE.md section 3), pop to first engine cycle.
constexpr Cycles kSignalToStart = 2;
constexpr Cycles kStartToEngine = 1;

template <typename Dma>
std::int64_t bytes_of(const Dma& dma) {
  std::int64_t rows = 1;
  for (const isa::DmaDim& d : dma.dims) rows *= d.count;
  return rows * static_cast<std::int64_t>(dma.row_bytes);
}

/// Lines that the SRAM side touches: each row's groups, neighbours in a line merged.
template <typename Dma>
std::int64_t lines_of(const Dma& dma, std::int64_t line) {
  std::int64_t rows = 1;
  for (const isa::DmaDim& d : dma.dims) rows *= d.count;
  const std::int64_t groups = ceil_div<std::int64_t>(dma.row_bytes, dma.group_bytes);
  const std::int64_t group_lines = ceil_div<std::int64_t>(dma.group_bytes, line);
  const std::int64_t stride = static_cast<std::int64_t>(dma.group_stride);
  const std::int64_t per_row = stride >= line ? groups * group_lines : ceil_div(groups * stride, line);
  return rows * std::max<std::int64_t>(1, per_row);
}

/// What a core's port takes of the DRAM's peak less refresh.
double sustained_rate(const isa::ChipConfig& chip) {
  return std::min(static_cast<double>(chip.axi.data_bytes), hw::StreamRate::from(chip, 1).sustained());
}

}  // namespace

std::int64_t dma_bytes(const isa::Load& load) { return bytes_of(load); }
std::int64_t dma_bytes(const isa::Store& store) { return bytes_of(store); }

Estimate::Estimate(const isa::ChipConfig& chip)
    : chip_(chip), bytes_per_cycle_(sustained_rate(chip)), dram_(bytes_per_cycle_) {
  latency_ = chip.dram.device == "fixed" ? chip.dram.fixed_latency_cycles : 2 * chip.interconnect.latency_cycles + 60;
}

Cycles Estimate::duration(const WorkItem& item) const {
  const auto dma = [&](const auto& i) {
    const auto moved = static_cast<Cycles>(std::ceil(static_cast<double>(bytes_of(i)) / bytes_per_cycle_));
    return std::max<Cycles>(moved, lines_of(i, chip_.sram.line_bytes));
  };
  if (const auto* load = std::get_if<isa::Load>(&item.body)) return dma(*load);
  if (const auto* store = std::get_if<isa::Store>(&item.body)) return dma(*store);
  if (const auto* conv = std::get_if<isa::Conv>(&item.body)) return hw::conv_cycles(*conv, chip_);
  if (const auto* edp = std::get_if<isa::Edp>(&item.body)) return hw::edp_cycles(*edp, chip_);
  if (const auto* gemm = std::get_if<isa::Gemm>(&item.body)) return hw::gemm_cycles(*gemm, chip_);
  if (const auto* reorder = std::get_if<isa::Reorder>(&item.body)) return hw::reorder_cycles(*reorder, chip_);
  TESSERA_CHECK(false, "no cost for an instruction of layer ", item.layer);
}

namespace {

/// Both read the map's lines, or a part of them.
bool same_map(const isa::Conv& a, const isa::Conv& b, const isa::ChipConfig& chip) {
  const std::int64_t blocks = ceil_div<std::int64_t>(a.cin, chip.layout.channel_block);
  const std::int64_t extent = blocks * a.in.block_pitch * chip.sram.line_bytes;
  return std::abs(static_cast<std::int64_t>(a.in.base) - static_cast<std::int64_t>(b.in.base)) < extent;
}

}  // namespace

/// Two engines that share a tile, or a layer by images, follow each other in program order and read lines of the same
/// banks, one a cycle: the cycles that this takes; 0 when the item shares nothing.
Cycles Estimate::meeting(const std::vector<WorkItem>& items, std::size_t i) const {
  const auto* conv = std::get_if<isa::Conv>(&items[i].body);
  if (conv == nullptr) return 0;
  Cycles longest = 0;
  for (const std::size_t k : {i - 1, i + 1}) {
    if (k >= items.size() || items[k].layer != items[i].layer || items[k].queue == items[i].queue) continue;
    if ((items[k].queue > items[i].queue) != (k > i)) continue;
    const auto* other = std::get_if<isa::Conv>(&items[k].body);
    if (other == nullptr) continue;
    const ConvPorts a = conv_ports(*conv, chip_), b = conv_ports(*other, chip_);
    const bool shared = same_map(*conv, *other, chip_);
    if (shared) longest = std::max<Cycles>(longest, static_cast<Cycles>(a.window_lines + b.window_lines));
    if (conv->w_base == other->w_base) {
      longest = std::max<Cycles>(longest, static_cast<Cycles>(a.weight_lines + b.weight_lines));
    }
  }
  return longest;
}

void Estimate::section(const std::vector<WorkItem>& items, const std::vector<std::vector<std::int32_t>>& producers,
                       bool one_at_a_time) {
  std::vector<Cycles> finish(items.size(), 0);
  std::array<Cycles, kQueues * 2> queue_free{}, queue_finish{};
  queue_free.fill(now_);
  queue_finish.fill(now_);
  Cycles end = now_;
  for (std::size_t i = 0; i < items.size(); ++i) {
    const WorkItem& item = items[i];
    const auto lane = static_cast<std::size_t>(item.core * kQueues + static_cast<int>(item.queue));
    Cycles start = queue_free[lane];
    for (const std::int32_t p : producers[i])
      start = std::max(start, finish[static_cast<std::size_t>(p)] + kSignalToStart);
    const Cycles cycles = std::max(duration(item), meeting(items, i));
    const bool dma = item.queue == isa::QueueId::load || item.queue == isa::QueueId::store;
    if (dma) {
      // Transfers share the DRAM; the next instruction starts while this one's data is under way.
      const auto* load = std::get_if<isa::Load>(&item.body);
      const auto bytes =
          static_cast<double>(load != nullptr ? bytes_of(*load) : bytes_of(std::get<isa::Store>(item.body)));
      const double through = dram_.take(static_cast<double>(start), bytes);
      const Cycles moved = std::max(static_cast<Cycles>(std::ceil(through)), start + cycles);
      finish[i] = std::max(moved + latency_, queue_finish[lane]);
      queue_free[lane] = one_at_a_time ? finish[i] : moved;
    } else {
      finish[i] = start + item.delay + kStartToEngine + cycles;
      queue_free[lane] = finish[i];
    }
    queue_finish[lane] = finish[i];
    ends(item.layer, finish[i]);
    end = std::max(end, finish[i]);
  }
  now_ = end;
}

void Estimate::host(std::size_t layer, std::int64_t elements, std::int64_t bytes) {
  now_ += host::host_step_cycles(chip_, elements, bytes);
  ends(layer, now_);
}

void Estimate::ends(std::size_t layer, Cycles end) {
  if (layer >= layer_ends_.size()) layer_ends_.resize(layer + 1, 0);
  layer_ends_[layer] = std::max(layer_ends_[layer], end);
}

}  // namespace tessera::compiler
