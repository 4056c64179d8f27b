#include "isa/semantics/layout.hpp"

#include <algorithm>

#include "hw/common/error.hpp"
#include "hw/common/units.hpp"

namespace tessera::semantics {

std::int64_t output_extent(std::int64_t in, std::int64_t kernel, std::int64_t stride, std::int64_t dilation,
                           std::int64_t pad_before, std::int64_t pad_after) {
  const std::int64_t room = in + pad_before + pad_after - dilation * (kernel - 1) - 1;
  return room < 0 ? 0 : room / stride + 1;
}

MapLayout map_layout(std::int64_t channels, std::int64_t rows, std::int64_t columns, const ChipConfig& chip) {
  MapLayout m;
  m.channels = channels;
  m.rows = rows;
  m.columns = columns;
  m.blocks = ceil_div(channels, chip.layout.channel_block);
  m.row_lines = ceil_div(columns, pixels_per_line(chip));
  m.bytes = m.blocks * m.rows * m.row_lines * chip.sram.line_bytes;
  return m;
}

isa::SramTensor dense_tensor(std::int64_t base, const MapLayout& map, std::int64_t wrap_rows) {
  const std::int64_t block_rows = wrap_rows > 0 ? wrap_rows : map.rows;
  TESSERA_CHECK(map.row_lines < 65536 && block_rows * map.row_lines < (1 << 24) && wrap_rows < 65536, "map of ",
                map.rows, " x ", map.columns, " exceeds the fields of an SRAM operand");
  isa::SramTensor t{};
  t.base = static_cast<decltype(t.base)>(base);
  t.row_pitch = static_cast<decltype(t.row_pitch)>(map.row_lines);
  t.block_pitch = static_cast<decltype(t.block_pitch)>(block_rows * map.row_lines);
  t.wrap_rows = static_cast<decltype(t.wrap_rows)>(wrap_rows);
  t.first_row = 0;
  return t;
}

ConvShape conv_shape(const isa::Conv& conv) {
  ConvShape s;
  s.cin = conv.cin;
  s.cout = conv.cout;
  s.groups = conv.groups;
  s.kh = conv.kh;
  s.kw = conv.kw;
  s.fold = conv.mode == isa::ConvMode::fold ? conv.fold : 1;
  s.mode = conv.mode;
  return s;
}

std::int64_t max_fold(std::int64_t cin, std::int64_t kw, const ChipConfig& chip) {
  return std::min(kw, chip.conv.cin_lanes / cin);
}

WeightLayout::WeightLayout(const ConvShape& shape, const ChipConfig& chip)
    : shape_(shape),
      cb_(chip.layout.channel_block),
      ci_(chip.conv.cin_lanes),
      co_(chip.conv.cout_lanes),
      line_(chip.sram.line_bytes),
      cin_g_(shape.groups > 0 ? shape.cin / shape.groups : 0),
      cout_g_(shape.groups > 0 ? shape.cout / shape.groups : 0) {
  TESSERA_CHECK(shape.groups >= 1 && cin_g_ * shape.groups == shape.cin && cout_g_ * shape.groups == shape.cout &&
                    cin_g_ >= 1 && cout_g_ >= 1 && shape.kh >= 1 && shape.kw >= 1,
                "convolution ", shape.cin, " -> ", shape.cout, " in ", shape.groups, " groups, kernel ", shape.kh, "x",
                shape.kw);
  switch (shape.mode) {
    case isa::ConvMode::dense: {
      passes_ = shape.kw;
      tile_bytes_ = round_up(ci_ * co_, line_);
      valid_bytes_ = tile_bytes_;
      first_tile_.resize(static_cast<std::size_t>(shape.groups) + 1);
      for (std::int64_t g = 0; g < shape.groups; ++g) {
        first_tile_[static_cast<std::size_t>(g) + 1] =
            first_tile_[static_cast<std::size_t>(g)] + cout_tiles(g) * cin_tiles(g) * shape.kh * shape.kw;
      }
      tiles_ = first_tile_.back();
      break;
    }
    case isa::ConvMode::depthwise: {
      TESSERA_CHECK(cin_g_ == 1 && cout_g_ == 1, "depthwise with ", cin_g_, " -> ", cout_g_, " channels a group");
      passes_ = shape.kw;
      tile_bytes_ = round_up(shape.kh * shape.kw * co_, line_);
      valid_bytes_ = tile_bytes_;
      tiles_ = ceil_div(shape.cout, co_);
      break;
    }
    case isa::ConvMode::fold: {
      TESSERA_CHECK(shape.groups == 1 && shape.fold >= 1 && shape.cin * shape.fold <= ci_, "fold ", shape.fold, " of ",
                    shape.cin, " channels on ", ci_, " lanes, ", shape.groups, " groups");
      passes_ = ceil_div(shape.kw, shape.fold);
      tile_bytes_ = round_up(ci_ * co_, line_);
      valid_bytes_ = shape.cin * shape.fold * co_;
      packed_ = valid_bytes_ < tile_bytes_;
      tiles_ = ceil_div(shape.cout, co_) * shape.kh * passes_;
      break;
    }
  }
}

std::int64_t WeightLayout::cin_tiles(std::int64_t g) const {
  return shape_.mode == isa::ConvMode::dense ? ceil_div(cin_lane(g) + cin_g_, ci_) : 1;
}

std::int64_t WeightLayout::cout_tiles(std::int64_t g) const {
  return shape_.mode == isa::ConvMode::dense ? ceil_div(cout_lane(g) + cout_g_, co_) : ceil_div(shape_.cout, co_);
}

std::int64_t WeightLayout::tile_offset(std::int64_t g, std::int64_t cout_tile, std::int64_t cin_tile, std::int64_t ky,
                                       std::int64_t kx) const {
  switch (shape_.mode) {
    case isa::ConvMode::dense:
      return (first_tile_[static_cast<std::size_t>(g)] +
              ((cout_tile * cin_tiles(g) + cin_tile) * shape_.kh + ky) * shape_.kw + kx) *
             tile_bytes_;
    case isa::ConvMode::depthwise:
      return cout_tile * tile_bytes_;
    case isa::ConvMode::fold:
      return ((cout_tile * shape_.kh + ky) * passes_ + cin_tile) * tile_bytes_;
  }
  return 0;
}

std::int64_t WeightLayout::offset(std::int64_t g, std::int64_t o, std::int64_t i, std::int64_t ky,
                                  std::int64_t kx) const {
  switch (shape_.mode) {
    case isa::ConvMode::dense: {
      const std::int64_t in = cin_lane(g) + i;
      const std::int64_t out = cout_lane(g) + o;
      return tile_offset(g, out / co_, in / ci_, ky, kx) + (in % ci_) * co_ + out % co_;
    }
    case isa::ConvMode::depthwise:
      return tile_offset(0, g / co_, 0, 0, 0) + (ky * shape_.kw + kx) * co_ + g % co_;
    case isa::ConvMode::fold:
      return tile_offset(0, o / co_, kx / shape_.fold, ky, 0) + ((kx % shape_.fold) * shape_.cin + i) * co_ + o % co_;
  }
  return 0;
}

std::vector<std::uint8_t> pack_weights(const std::vector<std::int8_t>& oihw, const ConvShape& shape, std::int32_t w_zp,
                                       const ChipConfig& chip) {
  const WeightLayout layout(shape, chip);
  const std::int64_t cin_g = shape.cin / shape.groups;
  const std::int64_t cout_g = shape.cout / shape.groups;
  TESSERA_CHECK(static_cast<std::int64_t>(oihw.size()) == shape.cout * cin_g * shape.kh * shape.kw, oihw.size(),
                " weights for ", shape.cout, "x", cin_g, "x", shape.kh, "x", shape.kw);
  std::vector<std::uint8_t> packed(static_cast<std::size_t>(layout.sram_bytes()), static_cast<std::uint8_t>(w_zp));
  std::size_t at = 0;
  for (std::int64_t g = 0; g < shape.groups; ++g) {
    for (std::int64_t o = 0; o < cout_g; ++o) {
      for (std::int64_t i = 0; i < cin_g; ++i) {
        for (std::int64_t ky = 0; ky < shape.kh; ++ky) {
          for (std::int64_t kx = 0; kx < shape.kw; ++kx) {
            packed[static_cast<std::size_t>(layout.offset(g, o, i, ky, kx))] = static_cast<std::uint8_t>(oihw[at++]);
          }
        }
      }
    }
  }
  return packed;
}

std::vector<std::uint8_t> pack_weights_dram(const std::vector<std::int8_t>& oihw, const ConvShape& shape,
                                            std::int32_t w_zp, const ChipConfig& chip) {
  std::vector<std::uint8_t> bytes = pack_weights(oihw, shape, w_zp, chip);
  const WeightLayout layout(shape, chip);
  if (!layout.packed()) return bytes;
  for (std::int64_t t = 1; t < layout.tiles(); ++t) {
    const auto from = bytes.begin() + static_cast<std::ptrdiff_t>(t * layout.tile_bytes());
    std::copy(from, from + static_cast<std::ptrdiff_t>(layout.valid_bytes()),
              bytes.begin() + static_cast<std::ptrdiff_t>(t * layout.valid_bytes()));
  }
  bytes.resize(static_cast<std::size_t>(layout.dram_bytes()));
  return bytes;
}

namespace {
void append_u32(std::vector<std::uint8_t>& out, std::uint32_t v) {
  for (int i = 0; i < 4; ++i) out.push_back(static_cast<std::uint8_t>(v >> (8 * i)));
}
}  // namespace

std::vector<std::uint8_t> pack_params(const std::vector<std::int32_t>& bias,
                                      const std::vector<QuantizedScale>& scales) {
  TESSERA_CHECK(bias.size() == scales.size(), bias.size(), " biases, ", scales.size(), " scales");
  std::vector<std::uint8_t> out;
  out.reserve(bias.size() * static_cast<std::size_t>(kParamBytes));
  for (std::size_t c = 0; c < bias.size(); ++c) {
    append_u32(out, static_cast<std::uint32_t>(bias[c]));
    append_u32(out, scales[c].multiplier);
    append_u32(out, scales[c].shift);
  }
  return out;
}

std::vector<std::uint8_t> pack_average_scales(const std::vector<QuantizedScale>& scales) {
  std::vector<std::uint8_t> out;
  out.reserve(scales.size() * static_cast<std::size_t>(kAverageEntryBytes));
  for (const QuantizedScale& s : scales) {
    append_u32(out, s.multiplier);
    append_u32(out, s.shift);
  }
  return out;
}

}  // namespace tessera::semantics
