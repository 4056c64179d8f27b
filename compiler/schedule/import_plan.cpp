#include "compiler/schedule/import_plan.hpp"

#include <algorithm>
#include <numeric>

#include "hw/common/units.hpp"
#include "isa/semantics/layout.hpp"

namespace tessera::compiler {
namespace {

constexpr double kReorderGain = 1.5;  // of LOAD's cycles, from which REORDER takes an import over

/// Cycles of LOAD's SRAM side for a row of `width` bytes in pieces of `piece`: a cut at every piece and every beat.
std::int64_t segments(std::int64_t width, std::int64_t piece, std::int64_t beat) {
  return ceil_div(width, piece) + ceil_div(width, beat) - ceil_div(width, std::lcm(piece, beat));
}

}  // namespace

MapShape image_shape(const Root& root) {
  MapShape shape = root.shape;
  if (root.columns > 1) {
    shape.c /= root.columns;
    shape.w = root.image_width;
  }
  return shape;
}

ImportPlan import_plan(const Root& root, bool nchw, const isa::ChipConfig& chip, double dram_bytes_per_cycle) {
  const MapShape image = image_shape(root);
  const std::int64_t line = chip.sram.line_bytes;
  const std::int64_t pixels = semantics::pixels_per_line(chip);
  const std::int64_t block = chip.layout.channel_block / root.columns;  // channels of the image in a block
  const std::int64_t row_lines = ceil_div(root.shape.w, pixels);
  const auto channels = static_cast<double>(image.c);
  // Rows that follow each other on both sides are one; else each takes whole beats.
  const auto beats = [&](std::int64_t piece) {
    const std::int64_t beat = chip.axi.data_bytes;
    const bool together = image.w % piece == 0 || image.w % beat == 0;
    const std::int64_t bytes = together ? image.w : round_up(image.w, beat) + beat / 2;
    return channels * static_cast<double>(bytes) / dram_bytes_per_cycle;
  };
  ImportPlan best;
  best.load = std::max(beats(pixels * root.columns), channels * static_cast<double>(row_lines));
  if (!nchw || image.h * image.w == 1) return best;
  const ImportPlan by_load = best;
  const std::int64_t unit = pixels * root.columns;  // columns of a line of the map
  for (std::int64_t k = 1; k <= std::min(image.c, block); ++k) {
    if (std::min(image.c, block) % k != 0 || image.c % k != 0) continue;
    for (std::int64_t g = unit; g * k <= line; g += unit) {
      ImportPlan plan;
      plan.channels = k;
      plan.columns = g;
      plan.load = std::max(beats(g), channels * static_cast<double>(segments(image.w, g, chip.axi.data_bytes)));
      plan.reorder = channels / static_cast<double>(k) * static_cast<double>(row_lines);
      if (kReorderGain * plan.load > by_load.load || plan.cycles() >= by_load.load) continue;
      const bool cheaper = plan.cycles() < best.cycles() || (plan.cycles() == best.cycles() && plan.load < best.load);
      if (!best.by_reorder() || cheaper) best = plan;
    }
  }
  return best;
}

}  // namespace tessera::compiler
