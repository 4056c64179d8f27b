#include "hw/cosim/slice.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "hw/common/error.hpp"
#include "hw/models/conv/cost.hpp"
#include "hw/models/conv/geometry.hpp"
#include "hw/models/gemm/cost.hpp"
#include "isa/isa.hpp"
#include "isa/program/instructions.hpp"
#include "isa/semantics/layout.hpp"
#include "isa/semantics/legal.hpp"

namespace tessera::cosim {
namespace {

void check_rtl_chip(const isa::ChipConfig& chip) {
  if (chip.cores != 1) user_error("chip '", chip.name, "': cores = ", chip.cores, ": the RTL slice is one core");
  if (chip.conv.engines > 2) {
    user_error("chip '", chip.name, "': conv.engines = ", chip.conv.engines, ": the RTL slice has at most 2");
  }
}

/// Empty if the slice takes the instruction.
std::string missing(const isa::Nop&, const isa::ChipConfig&) { return ""; }

std::string missing(const isa::Load&, const isa::ChipConfig&) { return ""; }
std::string missing(const isa::Store&, const isa::ChipConfig&) { return ""; }

std::string missing(const isa::Reorder& r, const isa::ChipConfig& chip) {
  // Out of the scratchpad: a fault on both sides, with nothing to walk.
  isa::Instruction instruction;
  instruction.body = r;
  if (semantics::find_fault(instruction, chip, {})) return "";
  return reorder_in_slice(r, chip) ? "" : "a step of more bytes than a line";
}

std::string missing(const isa::Edp& e, const isa::ChipConfig& chip) {
  isa::Instruction instruction;
  instruction.body = e;
  if (semantics::find_fault(instruction, chip, {})) return "";  // on both sides
  // The prologue reads all entries, also those that no window needs.
  const std::int64_t sram_bytes = chip.sram.banks * chip.sram.size_bytes;
  const std::int64_t entries = e.mode == isa::EdpMode::average_pool ? std::int64_t{e.kh} * e.kw : 0;
  if (e.p_base + semantics::kAverageEntryBytes * entries > sram_bytes)
    return "average entries that leave the scratchpad";
  // The RTL counts all rows of a circular map that goes round, also if the windows step over the last one.
  const bool pools = e.mode == isa::EdpMode::max_pool || e.mode == isa::EdpMode::average_pool;
  const std::int64_t row_lines = ceil_div<std::int64_t>(e.in_w, semantics::pixels_per_line(chip));
  const std::int64_t blocks = ceil_div<std::int64_t>(e.c, chip.layout.channel_block);
  const std::int64_t lines =
      (e.a.wrap_rows - 1) * std::int64_t{e.a.row_pitch} + (blocks - 1) * std::int64_t{e.a.block_pitch} + row_lines;
  if (pools && e.a.wrap_rows != 0 && e.a.base + lines * chip.sram.line_bytes > sram_bytes) {
    return "a circular map with rows behind the scratchpad that no window reads";
  }
  return "";
}

std::string missing(const isa::Conv& c, const isa::ChipConfig& chip) {
  isa::Instruction instruction;
  instruction.body = c;
  if (const auto fault = semantics::find_fault(instruction, chip, {})) return fault->text;
  if (const auto problem = hw::conv_check(c, chip)) return *problem;
  return conv_in_slice(c, chip) ? "" : "fold whose columns exceed conv.window_bytes";
}

std::string missing(const isa::Gemm& g, const isa::ChipConfig& chip) {
  // Fields or ranges that are not legal: a fault on both sides.
  isa::Instruction instruction;
  instruction.body = g;
  if (semantics::find_fault(instruction, chip, {})) return "";
  return hw::gemm_check(g, chip).value_or("");
}

template <typename Body>
std::string missing(const Body&, const isa::ChipConfig&) {
  return "this instruction";
}

std::string missing(const isa::Instruction& instruction, const isa::ChipConfig& chip) {
  for (const isa::Wait& wait : instruction.header.waits) {
    if (wait.count != 0 && wait.semaphore >= 64) return "global semaphores";
  }
  for (const isa::Signal& signal : instruction.header.signals) {
    if (signal.amount != 0 && signal.semaphore >= 64) return "global semaphores";
  }
  return std::visit([&](const auto& body) { return missing(body, chip); }, instruction.body);
}

bool has_unit(isa::QueueId queue) {
  return queue == isa::QueueId::load || queue == isa::QueueId::store || queue == isa::QueueId::conv0 ||
         queue == isa::QueueId::conv1 || queue == isa::QueueId::gemm || queue == isa::QueueId::edp ||
         queue == isa::QueueId::reorder;
}

}  // namespace

bool conv_in_slice(const isa::Conv& c, const isa::ChipConfig& chip) {
  if (c.mode != isa::ConvMode::fold) return true;
  const isa::PixelShape& shape = chip.conv.pixel_shapes.at(c.pixel_shape);
  const std::int64_t entries = hw::conv_bank_entries_x(c, std::min<std::int64_t>(c.gx * shape.px, c.out_w), shape.px) *
                               hw::conv_bank_entries_y(c, std::min<std::int64_t>(c.gy * shape.py, c.out_h), shape.py);
  return entries * c.cin <= chip.conv.window_bytes / chip.conv.pixel_lanes;
}

bool reorder_in_slice(const isa::Reorder& r, const isa::ChipConfig& chip) {
  const std::int64_t line = chip.sram.line_bytes;
  std::array<std::int64_t, 6> index{};
  std::int64_t src = r.fill ? 0 : r.src_base, dst = r.dst_base;
  std::int64_t src_line = -1, dst_line = -1, step_bytes = 0;
  for (;;) {
    for (std::int64_t done = 0; done < r.run_bytes;) {
      const std::int64_t from = r.fill ? 0 : src + done, to = dst + done;
      const bool same_step = from / line == src_line && to / line == dst_line;
      src_line = from / line;
      dst_line = to / line;
      const std::int64_t bytes = std::min({line - from % line, line - to % line, r.run_bytes - done});
      step_bytes = (same_step ? step_bytes : 0) + bytes;
      if (step_bytes > line) return false;
      done += bytes;
    }
    std::size_t d = r.dims.size();
    for (; d > 0; --d) {
      const isa::ReorderDim& dim = r.dims[d - 1];
      if (!r.fill) src += dim.src_stride;
      dst += dim.dst_stride;
      if (++index[d - 1] < dim.count) break;
      if (!r.fill) src -= std::int64_t{dim.src_stride} * dim.count;
      dst -= std::int64_t{dim.dst_stride} * dim.count;
      index[d - 1] = 0;
    }
    if (d == 0) return true;
  }
}

void check_slice(const isa::Program& program, const isa::ChipConfig& chip,
                 const std::function<bool(int queue)>& in_rtl) {
  check_rtl_chip(chip);
  for (const isa::Section& section : program.sections) {
    const std::string place = "section '" + section.name + "'";
    for (const isa::QueueStream& stream : section.streams) {
      const auto queue = static_cast<isa::QueueId>(stream.queue);
      if (in_rtl && !in_rtl(stream.queue)) continue;
      if (!has_unit(queue)) {
        user_error(place, ": instructions for queue ", isa::to_string(queue),
                   ": the RTL slice has load, store, conv0, conv1, gemm, edp and reorder");
      }
      isa::for_each_instruction(stream, [&](const isa::Instruction& instruction, std::size_t index, std::size_t) {
        const std::string lack = missing(instruction, chip);
        if (!lack.empty()) {
          user_error(place, ", ", isa::to_string(queue), " instruction ", index, " (",
                     isa::to_string(instruction.header.opcode), "): ", lack, ": not in the RTL slice");
        }
      });
    }
  }
}

}  // namespace tessera::cosim
