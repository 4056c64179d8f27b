// A second, slow statement of hw/models/conv/README.md, pixel by pixel and phase by phase, for the tests only.
#pragma once

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "hw/common/units.hpp"
#include "isa/chip.hpp"
#include "isa/isa.hpp"

namespace tessera::hw::oracle {

struct Window {
  int x0, x1, y0, y1, first_block, blocks, group;  // output rectangle [x0, x1) x [y0, y1)
  bool operator==(const Window& o) const {
    return x0 == o.x0 && x1 == o.x1 && y0 == o.y0 && y1 == o.y1 && first_block == o.first_block && blocks == o.blocks &&
           group == o.group;
  }
};

struct Phase {
  Window window;
  int tile = 0;
  bool first = false, last = false;       // of its tile
  std::vector<std::vector<int>> weights;  // lines of each slot, relative to w_base
  std::vector<int> params;                // parameter lines of each cout tile
  int steps = 0;                          // MAC cycles of a slot
  int drain = 0;
};

inline bool used(int coordinate, int kernel, int stride, int dilation) {
  if (kernel > 1 && dilation > 1) return true;
  for (int k = 0; k < kernel; ++k) {
    if (coordinate % stride == k % stride) return true;
  }
  return false;
}

class Oracle {
 public:
  Oracle(const isa::Conv& conv, const isa::ChipConfig& chip) : c(conv), chip_(chip) {
    L = int(chip.sram.line_bytes);
    Cb = int(chip.layout.channel_block);
    CI = int(chip.conv.cin_lanes);
    CO = int(chip.conv.cout_lanes);
    px = L / Cb;
    PX = int(chip.conv.pixel_shapes[conv.pixel_shape].px);
    PY = int(chip.conv.pixel_shapes[conv.pixel_shape].py);
    build();
  }

  /// Cycles to fill a window; the lines that are read (block, row, line), each once.
  Cycles fill(const Window& w, std::vector<std::array<int, 3>>* lines = nullptr) const {
    Cycles sum = 0;
    for (int yp = w.y0 * c.sy; yp <= (w.y1 - 1) * c.sy + (c.kh - 1) * c.dy; ++yp) {
      if (yp < c.pad_top || yp >= c.pad_top + c.in_h || !used(yp, c.kh, c.sy, c.dy)) continue;
      std::map<int, std::map<int, int>> bank;  // line -> window bank -> pixels
      for (int xp = w.x0 * c.sx; xp <= (w.x1 - 1) * c.sx + (c.kw - 1) * c.dx; ++xp) {
        if (xp < c.pad_left || xp >= c.pad_left + c.in_w) continue;
        if (c.mode != isa::ConvMode::fold && !used(xp, c.kw, c.sx, c.dx)) continue;
        bank[(xp - c.pad_left) / px][xp / c.sx % PX]++;
      }
      Cycles row = 0;
      for (const auto& [line, banks] : bank) {
        int most = 0;
        for (const auto& [b, n] : banks) most = std::max(most, n);
        row += c.mode == isa::ConvMode::fold ? 1 : most;
        for (int b = 0; lines && b < w.blocks; ++b) lines->push_back({w.first_block + b, yp - c.pad_top, line});
      }
      row *= w.blocks;
      if (c.mode == isa::ConvMode::fold && row > 0) {
        const int passes = (c.kw + c.fold - 1) / c.fold;
        row = std::max<Cycles>(row, Cycles(passes) * ((w.x1 - w.x0 + PX - 1) / PX));
      }
      sum += row;
    }
    return sum;
  }

  [[nodiscard]] Cycles cycles() const {
    Cycles total = std::max<Cycles>(fill(phases[0].window), Cycles(phases[0].weights[0].size()));
    Cycles in_tile = 0, previous_drain = 0;
    for (std::size_t p = 0; p < phases.size(); ++p) {
      const Phase& phase = phases[p];
      const Phase* next = p + 1 < phases.size() ? &phases[p + 1] : nullptr;
      Cycles compute = 0;
      for (std::size_t s = 0; s < phase.weights.size(); ++s) {
        std::size_t lines = s + 1 < phase.weights.size() ? phase.weights[s + 1].size()
                            : next                       ? next->weights[0].size()
                                                         : 0;
        if (phase.first && s < phase.params.size()) lines += std::size_t(phase.params[s]);
        compute += std::max<Cycles>(phase.steps, Cycles(lines));
      }
      Cycles length = compute;
      if (next && !(next->window == phase.window)) length = std::max(length, fill(next->window));
      if (phase.first) in_tile = 0;
      if (phase.last) {
        length = std::max(length, previous_drain - in_tile);
        previous_drain = phase.drain;
      }
      in_tile += length;
      total += length;
    }
    return total + previous_drain + chip_.sram.read_latency + chip_.conv.pipeline_cycles;
  }

  std::vector<Phase> phases;
  std::map<std::array<int, 3>, int> writes;  // (block, row, line) -> tiles that write it

 private:
  void add_tile(int group, int t0, int t1, int tx, int ty) {
    const isa::PixelShape shape = chip_.conv.pixel_shapes[c.pixel_shape];
    const int wide = c.gx * int(shape.px), high = c.gy * int(shape.py);
    const int x0 = tx * wide, x1 = std::min<int>(x0 + wide, c.out_w);
    const int y0 = ty * high, y1 = std::min<int>(y0 + high, c.out_h);
    const int groups = ((x1 - x0 + PX - 1) / PX) * ((y1 - y0 + PY - 1) / PY);
    const bool dw = c.mode == isa::ConvMode::depthwise;
    const int cin_g = dw ? c.cin : c.cin / c.groups, cout_g = dw ? c.cout : c.cout / c.groups;
    const int in0 = group * cin_g, out0 = group * cout_g;
    const int base = out0 / Cb * Cb;
    const int cin_tiles = dw || c.mode == isa::ConvMode::fold ? 1 : (in0 % Cb + cin_g + CI - 1) / CI;
    std::set<std::array<int, 3>> drained;
    std::vector<int> params;
    for (int t = t0; t < t1; ++t) {
      std::set<int> lines;
      for (int ch = std::max(out0, base + t * CO); ch < std::min(out0 + cout_g, base + (t + 1) * CO); ++ch) {
        for (int byte = 12 * ch; byte < 12 * ch + 12; ++byte) lines.insert(byte / L);
        for (int y = y0; y < y1; ++y) {
          for (int x = x0; x < x1; ++x) drained.insert({ch / Cb, y, x / px});
        }
      }
      params.push_back(int(lines.size()));
    }
    for (const auto& line : drained) writes[line]++;
    for (int ci = 0; ci < cin_tiles; ++ci) {
      Phase phase;
      const int block0 = dw ? t0 * CO / Cb : in0 / Cb + ci * CI / Cb;
      const int limit = dw ? std::min<int>((t0 + 1) * CO, c.cin) : in0 + cin_g;
      const int blocks = std::min(c.mode == isa::ConvMode::dense ? CI / Cb : 1 << 20, (limit + Cb - 1) / Cb - block0);
      phase.window = {x0, x1, y0, y1, block0, blocks, dw ? -1 - t0 - int(phases.size()) : group};
      phase.first = ci == 0;
      phase.last = ci + 1 == cin_tiles;
      phase.params = params;
      phase.steps = dw ? groups * c.sx : groups;
      phase.drain = int(drained.size());
      if (dw) {
        const int taps = int(chip_.conv.depthwise_taps);
        const int tile_lines = (c.kh * c.kw * CO + L - 1) / L;
        int next = 0;
        for (int ky = 0; ky < c.kh; ++ky) {
          for (int kx = 0; kx < c.kw; kx += taps) {
            std::vector<int> lines;
            const int end = (ky * c.kw + std::min<int>(kx + taps, c.kw)) * CO;
            while (next * L < end) lines.push_back(t0 * tile_lines + next++);
            phase.weights.push_back(lines);
          }
        }
      } else {
        const bool fold = c.mode == isa::ConvMode::fold;
        const int passes = fold ? (c.kw + c.fold - 1) / c.fold : c.kw;
        const int tile_lines = (CI * CO + L - 1) / L;
        for (int tap = 0; tap < c.kh * passes; ++tap) {
          for (int t = t0; t < t1; ++t) {
            const int index = group_tiles_ + (t * cin_tiles + ci) * c.kh * passes + tap;
            std::vector<int> lines;
            for (int l = 0; l < tile_lines; ++l) lines.push_back(index * tile_lines + l);
            phase.weights.push_back(lines);
          }
        }
      }
      phases.push_back(phase);
    }
  }

  void build() {
    const bool dw = c.mode == isa::ConvMode::depthwise;
    const int nx = (c.out_w + c.gx * PX - 1) / (c.gx * PX), ny = (c.out_h + c.gy * PY - 1) / (c.gy * PY);
    for (int g = 0; g < (dw ? 1 : c.groups); ++g) {
      const int cout_g = dw ? c.cout : c.cout / c.groups, cin_g = dw ? c.cin : c.cin / c.groups;
      const int tiles = (g * cout_g % Cb + cout_g + CO - 1) / CO;
      const int cin_tiles = dw || c.mode == isa::ConvMode::fold ? 1 : (g * cin_g % Cb + cin_g + CI - 1) / CI;
      if (c.order == isa::ConvOrder::pixels_outer) {
        for (int ty = 0; ty < ny; ++ty) {
          for (int tx = 0; tx < nx; ++tx) {
            for (int t = 0; t < tiles; t += c.t) add_tile(g, t, std::min<int>(t + c.t, tiles), tx, ty);
          }
        }
      } else {
        for (int t = 0; t < tiles; t += c.t) {
          for (int ty = 0; ty < ny; ++ty) {
            for (int tx = 0; tx < nx; ++tx) add_tile(g, t, std::min<int>(t + c.t, tiles), tx, ty);
          }
        }
      }
      group_tiles_ += tiles * cin_tiles * c.kh * (c.mode == isa::ConvMode::fold ? (c.kw + c.fold - 1) / c.fold : c.kw);
    }
  }

  const isa::Conv& c;
  const isa::ChipConfig& chip_;
  int L, Cb, CI, CO, px, PX, PY;
  int group_tiles_ = 0;
};

}  // namespace tessera::hw::oracle
