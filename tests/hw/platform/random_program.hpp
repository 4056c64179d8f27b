// Random legal programs of small copies, products and chains whose streams meet in banks: for comparisons of timing
// (shortcuts, process order, RTL). Races are possible, so only times are compared.
#pragma once

#include <algorithm>
#include <cstdint>

#include "hw/common/random.hpp"
#include "isa/chip.hpp"
#include "tests/hw/platform/program_builder.hpp"

namespace tessera::platform::test {

class RandomProgram {
 public:
  RandomProgram(const isa::ChipConfig& chip, std::uint64_t seed) : chip_(chip), random_(seed) {
    builder_.buffer(isa::BufferKind::input, kDramBytes).buffer(isa::BufferKind::output, kDramBytes);
    // Few banks, so that streams meet.
    sram_bytes_ = static_cast<std::uint64_t>(chip.sram.size_bytes *
                                             random_.between(1, std::min<std::int64_t>(3, chip.sram.banks)));
    sram_bytes_ = std::max<std::uint64_t>(sram_bytes_, 2048);
    max_row_ = std::min<std::int64_t>(150, static_cast<std::int64_t>(sram_bytes_ / 24));
  }

  isa::Program make(int instructions_per_queue) {
    for (int i = 0; i < instructions_per_queue; ++i) {
      add(QueueId::load, load());
      if (random_.chance(2, 3)) add(QueueId::store, store());
      if (random_.chance(2, 3)) add(QueueId::reorder, reorder());
      if (random_.chance(1, 2)) add(QueueId::edp, edp());
      if (random_.chance(1, 2)) add(QueueId::gemm, gemm());
    }
    if (pending_ >= 0) {  // the last signal finds its waiter
      const QueueId other = pending_queue_ == QueueId::load ? QueueId::store : QueueId::load;
      builder_.nop(other, 1, {{{pending_, 1}}, {}});
    }
    return builder_.program();
  }

 private:
  static constexpr std::uint64_t kDramBytes = 1u << 16;

  /// Now and then a NOP instead; a semaphore from one queue to the next, always balanced.
  void add(QueueId queue, isa::Body body) {
    if (random_.chance(1, 6)) builder_.nop(queue, static_cast<std::uint32_t>(random_.between(1, 40)));
    Sync sync;
    if (pending_ >= 0 && pending_queue_ != queue) {
      sync.waits.emplace_back(pending_, 1);
      pending_ = -1;
    } else if (pending_ < 0 && next_semaphore_ < 64 && random_.chance(1, 3)) {
      pending_ = next_semaphore_++;
      pending_queue_ = queue;
      sync.signals.emplace_back(pending_, 1);
    }
    builder_.add(queue, std::move(body), sync);
  }
  std::uint32_t sram(std::uint64_t bytes) { return static_cast<std::uint32_t>(random_.below(sram_bytes_ - bytes)); }
  std::uint32_t line(std::uint64_t bytes) {
    const auto l = static_cast<std::uint32_t>(chip_.sram.line_bytes);
    return sram(bytes) / l * l;
  }
  template <typename Dma>
  Dma dma() {
    Dma d;
    const bool pieces = random_.chance(1, 3);
    d.row_bytes = static_cast<std::uint32_t>(random_.between(1, pieces ? max_row_ / 4 : max_row_));
    d.group_bytes = pieces ? static_cast<std::uint32_t>(random_.between(1, d.row_bytes)) : d.row_bytes;
    d.group_stride = d.group_bytes + (pieces ? static_cast<std::uint32_t>(random_.between(0, 2)) : 0);
    d.dims[0].count = 1;
    d.dims[1].count = static_cast<std::uint16_t>(random_.between(1, 2));
    d.dims[2].count = static_cast<std::uint16_t>(random_.between(1, 5));
    d.dims[1].dram_stride = random_.between(0, 2000);
    d.dims[2].dram_stride = random_.between(0, 300);
    const std::uint32_t row = d.group_stride * (d.row_bytes / d.group_bytes + 2);
    d.dims[2].sram_stride = static_cast<std::int32_t>(random_.between(row, row + 8));
    d.dims[1].sram_stride = static_cast<std::int32_t>(random_.between(0, 100));
    d.sram_base = sram(100 + 7 * (std::uint64_t{row} + 8));
    d.base_register =
        isa::base_register_of(std::is_same_v<Dma, isa::Load> ? isa::BufferKind::input : isa::BufferKind::output);
    d.dram_offset = random_.below(kDramBytes / 2);
    return d;
  }
  isa::Load load() {
    isa::Load d = dma<isa::Load>();
    if (random_.chance(1, 3)) {
      d.fill_groups_before = static_cast<std::uint8_t>(random_.between(0, 1));
      d.fill_rows_after = static_cast<std::uint8_t>(random_.between(0, 1));
    }
    return d;
  }
  isa::Store store() { return dma<isa::Store>(); }
  isa::Reorder reorder() {
    isa::Reorder r;
    r.run_bytes = static_cast<std::uint16_t>(random_.between(1, 24));
    std::int64_t size = 1;
    for (auto& dim : r.dims) dim.count = 1;
    for (std::size_t d = 4; d < 6; ++d) {
      r.dims[d].count = static_cast<std::uint16_t>(random_.between(1, 5));
      r.dims[d].src_stride = static_cast<std::int32_t>(random_.between(0, 40));
      r.dims[d].dst_stride = static_cast<std::int32_t>(24 * size);
      size *= r.dims[d].count;
    }
    r.dims[4].dst_stride = 24 * r.dims[5].count;
    r.dims[5].dst_stride = 24;
    // Source in the lower half, destination in the upper one.
    r.src_base = static_cast<std::uint32_t>(random_.below(sram_bytes_ / 2 - 400));
    r.dst_base = static_cast<std::uint32_t>(sram_bytes_ / 2 + random_.below(sram_bytes_ / 2 - 640));
    return r;
  }
  isa::Edp edp() {
    isa::Edp e;
    e.mode = isa::EdpMode::elementwise;
    e.h = static_cast<std::uint16_t>(random_.between(1, 4));
    e.w = static_cast<std::uint16_t>(random_.between(1, 9));
    e.c = static_cast<std::uint16_t>(random_.between(1, 9));
    e.has_b = random_.chance(1, 2);
    for (isa::SramTensor* t : {&e.a, &e.b, &e.out}) {
      t->base = line(700);
      t->row_pitch = 6;
      t->block_pitch = 24;
    }
    e.stages[0].op = e.has_b ? isa::EdpOp::max : isa::EdpOp::clip;
    e.stages[0].lo = -128;
    e.stages[0].hi = 127;
    return e;
  }
  isa::Gemm gemm() {
    isa::Gemm g;
    g.m = static_cast<std::uint16_t>(random_.between(1, 12));
    g.n = static_cast<std::uint16_t>(random_.between(1, 12));
    g.k = static_cast<std::uint16_t>(random_.between(1, 12));
    g.batch = 1;
    g.a_base = line(400);
    g.b_base = line(400);
    g.o_base = line(400);
    g.a_pitch = g.b_pitch = g.o_pitch = 3;
    g.multiplier = 1;
    g.lo = -128;
    g.hi = 127;
    return g;
  }

  const isa::ChipConfig& chip_;
  Random random_;
  ProgramBuilder builder_;
  std::uint64_t sram_bytes_ = 0;
  std::int64_t max_row_ = 0;
  int pending_ = -1;
  QueueId pending_queue_ = QueueId::load;
  int next_semaphore_ = 0;
};

}  // namespace tessera::platform::test
