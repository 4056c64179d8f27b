#include "hw/models/conv/geometry.hpp"

#include <algorithm>
#include <utility>

namespace tessera::hw {
namespace {

/// Padded coordinates n with n mod stride < used are the ones that a tap can meet (README.md, "Used rows and columns").
std::int64_t used_residues(std::int64_t kernel, std::int64_t dilation, std::int64_t stride) {
  if (kernel == 1) return 1;
  return dilation == 1 ? std::min(kernel, stride) : stride;
}

/// How many used coordinates lie below n.
std::int64_t used_below(std::int64_t n, std::int64_t used, std::int64_t stride) {
  return n / stride * used + std::min(n % stride, used);
}

/// The used coordinate with this index.
std::int64_t used_at(std::int64_t index, std::int64_t used, std::int64_t stride) {
  return index / used * stride + index % used;
}

/// Used padded coordinates that the fullest of `lanes` banks holds of a tile `count` outputs wide.
std::int64_t bank_entries(std::int64_t count, std::int64_t lanes, std::int64_t kernel, std::int64_t dilation,
                          std::int64_t stride) {
  const std::int64_t used = used_residues(kernel, dilation, stride);
  const std::int64_t last = (count - 1) * stride + (kernel - 1) * dilation;
  const std::int64_t period = lanes * stride;
  // Bank 0 holds the first `stride` coordinates of each period and is never less full than another.
  return (last + 1) / period * used + used_below(std::min((last + 1) % period, stride), used, stride);
}

}  // namespace

std::int64_t conv_bank_entries_x(const isa::Conv& conv, std::int64_t count, std::int64_t lanes) {
  return bank_entries(count, lanes, conv.kw, conv.dx, conv.sx);
}
std::int64_t conv_bank_entries_y(const isa::Conv& conv, std::int64_t count, std::int64_t lanes) {
  return bank_entries(count, lanes, conv.kh, conv.dy, conv.sy);
}

ConvGeometry::ConvGeometry(const isa::Conv& conv, const ChipConfig& chip, Detail detail)
    : mode_(conv.mode),
      order_(conv.order),
      line_bytes_(chip.sram.line_bytes),
      channel_block_(chip.layout.channel_block),
      cin_lanes_(chip.conv.cin_lanes),
      cout_lanes_(chip.conv.cout_lanes),
      line_pixels_(line_bytes_ / channel_block_),
      groups_x_(conv.gx),
      groups_y_(conv.gy),
      cout_tiles_of_tile_(conv.t),
      read_latency_(chip.sram.read_latency),
      pipeline_(chip.conv.pipeline_cycles),
      weights_(semantics::conv_shape(conv), chip),
      weight_tile_lines_(weights_.tile_lines()),
      passes_(weights_.passes()),
      taps_(conv.kh * weights_.passes()),
      stride_x_(conv.sx),
      stride_y_(conv.sy),
      pad_top_(conv.pad_top),
      param_offset_(conv.p_base % chip.sram.line_bytes) {
  const isa::PixelShape& shape = chip.conv.pixel_shapes.at(conv.pixel_shape);
  lanes_x_ = shape.px;
  lanes_y_ = shape.py;
  build_x(conv, detail);
  build_y(conv);
  if (mode_ == isa::ConvMode::depthwise) {
    build_slots(conv, chip);
    build_depthwise_channels(conv);
  } else {
    build_channels(conv);
  }
}

void ConvGeometry::build_x(const isa::Conv& conv, Detail detail) {
  const std::int64_t tile_width = groups_x_ * lanes_x_;
  x_tiles_.reserve(static_cast<std::size_t>(ceil_div<std::int64_t>(conv.out_w, tile_width)));
  for (std::int64_t out = 0; out < conv.out_w; out += tile_width) {
    ConvXTile tile;
    tile.out_first = out;
    tile.out_count = std::min<std::int64_t>(tile_width, conv.out_w - out);
    tile.groups = ceil_div(tile.out_count, lanes_x_);
    tile.drain_first = out / line_pixels_;
    tile.drain_lines = (out + tile.out_count - 1) / line_pixels_ - tile.drain_first + 1;
    // Columns that exist, in padded coordinates.
    const std::int64_t begin = std::max<std::int64_t>(out * conv.sx, conv.pad_left);
    const std::int64_t end = std::min<std::int64_t>((out + tile.out_count - 1) * conv.sx + (conv.kw - 1) * conv.dx + 1,
                                                    conv.pad_left + conv.in_w);
    if (begin < end) fill_x_lines(tile, conv, begin, end, detail);
    x_tiles_.push_back(std::move(tile));
  }
}

void ConvGeometry::fill_x_lines(ConvXTile& tile, const isa::Conv& conv, std::int64_t begin, std::int64_t end,
                                Detail detail) const {
  const std::int64_t first = (begin - conv.pad_left) / line_pixels_;
  const std::int64_t last = (end - 1 - conv.pad_left) / line_pixels_;
  tile.line_first = first;
  if (mode_ == isa::ConvMode::fold) {
    tile.row_lines = tile.row_cycles = last - first + 1;
    return;
  }
  // Pixels of one line that meet in one window bank are written one after the other.
  const std::int64_t used = used_residues(conv.kw, conv.dx, conv.sx);
  std::vector<std::int64_t> in_bank(static_cast<std::size_t>(lanes_x_));
  for (std::int64_t line = first; line <= last; ++line) {
    std::fill(in_bank.begin(), in_bank.end(), 0);
    const std::int64_t from = std::max(begin, line * line_pixels_ + conv.pad_left);
    const std::int64_t to = std::min(end, (line + 1) * line_pixels_ + conv.pad_left);
    std::int64_t most = 0;
    std::int64_t phase = from % stride_x_;
    std::int64_t bank = from / stride_x_ % lanes_x_;
    for (std::int64_t column = from; column < to; ++column) {
      if (phase < used) most = std::max(most, ++in_bank[static_cast<std::size_t>(bank)]);
      if (++phase == stride_x_) {
        phase = 0;
        if (++bank == lanes_x_) bank = 0;
      }
    }
    if (most == 0) continue;
    ++tile.row_lines;
    tile.row_cycles += most;
    if (detail == Detail::plan) {
      tile.line_of_cycle.push_back(static_cast<std::int32_t>(line));
      tile.line_of_cycle.resize(static_cast<std::size_t>(tile.row_cycles), -1);
    }
  }
}

void ConvGeometry::build_y(const isa::Conv& conv) {
  const std::int64_t tile_height = groups_y_ * lanes_y_;
  used_rows_ = used_residues(conv.kh, conv.dy, conv.sy);
  y_tiles_.reserve(static_cast<std::size_t>(ceil_div<std::int64_t>(conv.out_h, tile_height)));
  for (std::int64_t out = 0; out < conv.out_h; out += tile_height) {
    ConvYTile tile;
    tile.out_first = out;
    tile.out_count = std::min<std::int64_t>(tile_height, conv.out_h - out);
    tile.groups = ceil_div(tile.out_count, lanes_y_);
    const std::int64_t begin = std::max<std::int64_t>(out * conv.sy, conv.pad_top);
    const std::int64_t end = std::min<std::int64_t>((out + tile.out_count - 1) * conv.sy + (conv.kh - 1) * conv.dy + 1,
                                                    conv.pad_top + conv.in_h);
    if (begin < end) {
      tile.index_first = used_below(begin, used_rows_, stride_y_);
      tile.rows = used_below(end, used_rows_, stride_y_) - tile.index_first;
    }
    y_tiles_.push_back(tile);
  }
}

void ConvGeometry::build_slots(const isa::Conv& conv, const ChipConfig& chip) {
  const std::int64_t taps = chip.conv.depthwise_taps;
  std::int64_t read = 0;
  for (std::int64_t ky = 0; ky < conv.kh; ++ky) {
    for (std::int64_t kx = 0; kx < conv.kw; kx += taps) {
      const std::int64_t end = ky * conv.kw + std::min<std::int64_t>(kx + taps, conv.kw);
      const std::int64_t lines = ceil_div(end * cout_lanes_, line_bytes_);
      slot_line_before_.push_back(read);
      slot_lines_.push_back(lines - read);
      read = lines;
    }
  }
}

void ConvGeometry::build_depthwise_channels(const isa::Conv& conv) {
  const std::int64_t blocks = ceil_div<std::int64_t>(conv.cout, channel_block_);
  const std::int64_t tiles = weights_.cout_tiles(0);
  for (std::int64_t c = 0; c < tiles; ++c) {
    ConvChannels entry;
    entry.tiles = 1;
    entry.cout_tile = c;
    entry.cin_tiles = 1;
    entry.lane_first = c * cout_lanes_;
    entry.real_first = entry.lane_first;
    entry.real_end = std::min<std::int64_t>(entry.lane_first + cout_lanes_, conv.cout);
    entry.out_block = entry.in_block = entry.lane_first / channel_block_;
    entry.out_blocks = entry.in_blocks = std::min(cout_lanes_ / channel_block_, blocks - entry.in_block);
    channels_.push_back(entry);
  }
  group_end_.push_back(tiles);
}

void ConvGeometry::build_channels(const isa::Conv& conv) {
  const std::int64_t cin_group = conv.cin / conv.groups;
  const std::int64_t cout_group = conv.cout / conv.groups;
  for (std::int64_t group = 0; group < conv.groups; ++group) {
    const std::int64_t in_first = group * cin_group;
    const std::int64_t out_first = group * cout_group;
    const std::int64_t lane_base = out_first - weights_.cout_lane(group);
    const std::int64_t cout_tiles = weights_.cout_tiles(group);
    for (std::int64_t t = 0; t < cout_tiles; t += cout_tiles_of_tile_) {
      ConvChannels entry;
      entry.group = group;
      entry.tiles = std::min(cout_tiles_of_tile_, cout_tiles - t);
      entry.cout_tile = t;
      entry.cin_tiles = weights_.cin_tiles(group);
      entry.in_block = in_first / channel_block_;
      entry.in_blocks = (in_first + cin_group - 1) / channel_block_ - entry.in_block + 1;
      entry.lane_first = lane_base + t * cout_lanes_;
      entry.real_first = std::max(out_first, entry.lane_first);
      entry.real_end = std::min(out_first + cout_group, entry.lane_first + entry.tiles * cout_lanes_);
      entry.out_block = entry.real_first / channel_block_;
      entry.out_blocks = (entry.real_end - 1) / channel_block_ - entry.out_block + 1;
      channels_.push_back(entry);
    }
    group_end_.push_back(static_cast<std::int64_t>(channels_.size()));
  }
}

bool ConvGeometry::advance(ConvTile& tile) const {
  const std::int64_t nx = static_cast<std::int64_t>(x_tiles_.size());
  const std::int64_t ny = static_cast<std::int64_t>(y_tiles_.size());
  const std::int64_t group = channels(tile).group;
  const std::int64_t begin = group == 0 ? 0 : group_end_[static_cast<std::size_t>(group - 1)];
  const std::int64_t end = group_end_[static_cast<std::size_t>(group)];
  if (order_ == isa::ConvOrder::pixels_outer) {
    if (++tile.c < end) return true;
    tile.c = begin;
    if (++tile.x < nx) return true;
    tile.x = 0;
    if (++tile.y < ny) return true;
    tile.y = 0;
    tile.c = end;
  } else {
    if (++tile.x < nx) return true;
    tile.x = 0;
    if (++tile.y < ny) return true;
    tile.y = 0;
    ++tile.c;
  }
  return tile.c < static_cast<std::int64_t>(channels_.size());
}

std::int64_t ConvGeometry::tile_count() const {
  return static_cast<std::int64_t>(x_tiles_.size() * y_tiles_.size() * channels_.size());
}

std::int64_t ConvGeometry::input_block(const ConvTile& tile, std::int64_t cin_tile) const {
  return channels(tile).in_block + cin_tile * (cin_lanes_ / channel_block_);
}

std::int64_t ConvGeometry::input_blocks(const ConvTile& tile, std::int64_t cin_tile) const {
  if (mode_ != isa::ConvMode::dense) return channels(tile).in_blocks;
  const std::int64_t per_tile = cin_lanes_ / channel_block_;
  return std::min(per_tile, channels(tile).in_blocks - cin_tile * per_tile);
}

std::int64_t ConvGeometry::input_row(const ConvTile& tile, std::int64_t index) const {
  return used_at(y(tile).index_first + index, used_rows_, stride_y_) - pad_top_;
}

Cycles ConvGeometry::row_fill_cycles(const ConvTile& tile, std::int64_t cin_tile) const {
  const Cycles lines = input_blocks(tile, cin_tile) * x(tile).row_cycles;
  if (mode_ != isa::ConvMode::fold || lines == 0) return lines;
  return std::max(lines, x(tile).groups * passes_);
}

Cycles ConvGeometry::fill_cycles(const ConvTile& tile, std::int64_t cin_tile) const {
  return y(tile).rows * row_fill_cycles(tile, cin_tile);
}

Cycles ConvGeometry::next_fill_cycles(const ConvTile& tile, const ConvTile& next) const {
  const bool same_window = mode_ != isa::ConvMode::depthwise && tile.x == next.x && tile.y == next.y &&
                           channels(tile).group == channels(next).group && cin_tiles(tile) == 1;
  return same_window ? 0 : fill_cycles(next, 0);
}

std::int64_t ConvGeometry::slots(const ConvTile& tile) const {
  if (mode_ == isa::ConvMode::depthwise) return static_cast<std::int64_t>(slot_lines_.size());
  return channels(tile).tiles * taps_;
}

std::int64_t ConvGeometry::slot_weight_lines(std::int64_t slot) const {
  return mode_ == isa::ConvMode::depthwise ? slot_lines_[static_cast<std::size_t>(slot)] : weight_tile_lines_;
}

std::int64_t ConvGeometry::slot_weight_line(const ConvTile& tile, std::int64_t cin_tile, std::int64_t slot) const {
  const ConvChannels& entry = channels(tile);
  if (mode_ == isa::ConvMode::depthwise) {
    return entry.cout_tile * weight_tile_lines_ + slot_line_before_[static_cast<std::size_t>(slot)];
  }
  // Slots run (ky, kx or pass), then cout tile.
  const std::int64_t cout_tile = entry.cout_tile + slot % entry.tiles;
  const std::int64_t ky = slot / entry.tiles / passes_;
  const std::int64_t kx = slot / entry.tiles % passes_;
  const std::int64_t offset = mode_ == isa::ConvMode::fold
                                  ? weights_.tile_offset(0, cout_tile, kx, ky, 0)
                                  : weights_.tile_offset(entry.group, cout_tile, cin_tile, ky, kx);
  return offset / line_bytes_;
}

std::int64_t ConvGeometry::param_line(const ConvTile& tile, std::int64_t index) const {
  const ConvChannels& entry = channels(tile);
  return (param_offset_ + semantics::kParamBytes * std::max(entry.real_first, entry.lane_first + index * cout_lanes_)) /
         line_bytes_;
}

std::int64_t ConvGeometry::param_lines(const ConvTile& tile, std::int64_t index) const {
  const ConvChannels& entry = channels(tile);
  const std::int64_t end = std::min(entry.real_end, entry.lane_first + (index + 1) * cout_lanes_);
  return (param_offset_ + semantics::kParamBytes * end - 1) / line_bytes_ - param_line(tile, index) + 1;
}

Cycles ConvGeometry::slot_cycles(const ConvTile& tile, std::int64_t slot, bool first_phase, bool has_next) const {
  const std::int64_t groups = x(tile).groups * y(tile).groups;
  const std::int64_t steps = mode_ == isa::ConvMode::depthwise ? groups * stride_x_ : groups;
  const std::int64_t count = slots(tile);
  std::int64_t lines = 0;
  if (slot + 1 < count) {
    lines = slot_weight_lines(slot + 1);
  } else if (has_next) {
    lines = slot_weight_lines(0);
  }
  if (first_phase && slot < channels(tile).tiles) lines += param_lines(tile, slot);
  return std::max(steps, lines);
}

Cycles ConvGeometry::compute_cycles(const ConvTile& tile, bool first_phase, bool last_phase_of_instruction) const {
  const std::int64_t count = slots(tile);
  const std::int64_t groups = x(tile).groups * y(tile).groups;
  if (mode_ == isa::ConvMode::depthwise) {
    Cycles sum = 0;
    for (std::int64_t slot = 0; slot < count; ++slot) {
      sum += slot_cycles(tile, slot, first_phase, !last_phase_of_instruction);
    }
    return sum;
  }
  // All slots but the last and, in a first phase, the ones that read parameters cost the same.
  const Cycles plain = std::max(groups, weight_tile_lines_);
  const std::int64_t special = first_phase ? std::min(channels(tile).tiles, count) : 0;
  Cycles sum = 0;
  for (std::int64_t slot = 0; slot < special; ++slot) {
    sum += slot_cycles(tile, slot, true, !last_phase_of_instruction);
  }
  std::int64_t rest = count - special;
  if (last_phase_of_instruction && rest > 0) {
    sum += slot_cycles(tile, count - 1, first_phase, false);
    --rest;
  }
  return sum + rest * plain;
}

Cycles ConvGeometry::drain_cycles(const ConvTile& tile) const {
  return channels(tile).out_blocks * y(tile).out_count * x(tile).drain_lines;
}

Cycles ConvGeometry::tile_cycles(const ConvTile& tile, const ConvTile* next, Cycles previous_drain) const {
  const std::int64_t phases = cin_tiles(tile);
  Cycles sum = 0;
  if (phases == 1) {
    sum = std::max(compute_cycles(tile, true, next == nullptr), next == nullptr ? 0 : next_fill_cycles(tile, *next));
  } else {
    sum = std::max(compute_cycles(tile, true, false), fill_cycles(tile, 1));
    const Cycles compute = compute_cycles(tile, false, false);
    // Cin tiles 2 .. phases - 2 are full and alike; the last may hold fewer blocks.
    if (phases > 2) {
      sum += (phases - 3) * std::max(compute, fill_cycles(tile, 2 < phases - 1 ? 2 : phases - 1));
      sum += std::max(compute, fill_cycles(tile, phases - 1));
    }
    sum += next == nullptr ? compute_cycles(tile, false, true) : std::max(compute, next_fill_cycles(tile, *next));
  }
  return std::max(sum, previous_drain);
}

Cycles ConvGeometry::prologue_cycles() const { return std::max(fill_cycles(first(), 0), slot_weight_lines(0)); }

std::int64_t ConvGeometry::compute_steps() const {
  std::int64_t groups = 0;
  for (const ConvXTile& tile : x_tiles_) groups += tile.groups;
  std::int64_t rows = 0;
  for (const ConvYTile& tile : y_tiles_) rows += tile.groups;
  groups *= rows;
  std::int64_t slots_total = 0;
  for (std::size_t c = 0; c < channels_.size(); ++c) {
    slots_total += slots({0, 0, static_cast<std::int64_t>(c)}) * channels_[c].cin_tiles;
  }
  return groups * slots_total * (mode_ == isa::ConvMode::depthwise ? stride_x_ : 1);
}

std::int64_t ConvGeometry::weight_lines_total() const {
  if (mode_ == isa::ConvMode::depthwise) return tile_count() * weight_tile_lines_;
  std::int64_t tiles = 0;
  for (std::size_t c = 0; c < channels_.size(); ++c) {
    tiles += slots({0, 0, static_cast<std::int64_t>(c)}) * channels_[c].cin_tiles;
  }
  return tiles * weight_tile_lines_ * static_cast<std::int64_t>(x_tiles_.size() * y_tiles_.size());
}

}  // namespace tessera::hw
