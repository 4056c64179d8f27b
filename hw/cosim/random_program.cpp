#include "hw/cosim/random_program.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <utility>
#include <vector>

#include "hw/common/error.hpp"
#include "hw/common/random.hpp"
#include "hw/cosim/random_conv.hpp"
#include "hw/cosim/random_edp.hpp"
#include "hw/cosim/random_gemm.hpp"
#include "hw/cosim/random_operands.hpp"
#include "hw/cosim/slice.hpp"
#include "hw/models/load/dma_walk.hpp"
#include "isa/isa.hpp"
#include "isa/semantics/dma.hpp"
#include "isa/semantics/footprint.hpp"
#include "isa/semantics/layout.hpp"

namespace tessera::cosim {
namespace {

using isa::BufferKind;
using isa::QueueId;

constexpr std::array<QueueId, 7> kQueues = {QueueId::load, QueueId::store,   QueueId::conv0, QueueId::gemm,
                                            QueueId::edp,  QueueId::reorder, QueueId::conv1};
constexpr std::size_t kLoad = 0, kStore = 1, kConv = 2, kGemm = 3, kEdp = 4, kConv1 = 6;  // indices of kQueues
constexpr std::int64_t kBufferBytes = 1 << 16;
constexpr std::size_t kSemaphores = 62;  // the last two are left to random faults

class Generator {
 public:
  Generator(const isa::ChipConfig& chip, std::uint64_t seed)
      : chip_(chip), random_(seed), queues_(chip.conv.engines > 1 ? kQueues.size() : kQueues.size() - 1) {
    const std::int64_t bank = chip.sram.size_bytes;
    // A window of the scratchpad that begins in one bank and ends in the same or one of the next: streams meet.
    begin_ = bank * random_.between(0, std::max<std::int64_t>(chip.sram.banks - 2, 0)) + bank / 2;
    const std::int64_t room = std::max(kParamRoom, most_edp_constants(chip));
    size_ = std::min({random_.between(bank / 4, 2 * bank), chip.sram.banks * bank - begin_ - room, kBufferBytes - 64});
  }

  isa::Program make(int instructions) {
    isa::Program program;
    for (const BufferKind kind : {BufferKind::input, BufferKind::output, BufferKind::scratch}) {
      program.buffers.push_back(
          {"buffer" + std::to_string(static_cast<int>(kind)), kind, 0, static_cast<std::uint64_t>(kBufferBytes), 64});
    }
    program.buffers.push_back({"params", BufferKind::weights, 0, 0, 64});
    const int sections = random_.chance(1, 6) ? 2 : 1;
    for (int s = 0; s < sections; ++s) {
      items_.clear();
      if (s == 0) fill_window();
      for (int i = 0; i < instructions / sections; ++i) add_random();
      isa::Section section;
      section.name = "section" + std::to_string(s);
      emit(program.sections.emplace_back(std::move(section)));
    }
    program.buffers.back().size = params_.size();
    program.weights = std::move(params_);
    return program;
  }

 private:
  // Behind the window: the constants of the present compute instruction, which nothing but their LOAD may write.
  static constexpr std::int64_t kParamRoom = semantics::kParamBytes * std::max(kMostChannels, kMostColumns) + 8;

  static constexpr std::size_t kMostSyncs = 4;  // waits, and signals, of one instruction

  struct Item {
    std::size_t queue = 0;  // of kQueues
    isa::Instruction instruction;
    std::vector<semantics::Range> touches;
    int waits = 0, signals = 0;
  };

  // ---- single instructions

  /// The window holds data before anything is copied out of it.
  void fill_window() {
    isa::Load load;
    load.base_register = isa::base_register_of(BufferKind::input);
    load.dram_offset = random_.below(64);
    load.row_bytes = load.group_bytes = static_cast<std::uint32_t>(size_);
    load.sram_base = static_cast<std::uint32_t>(begin_);
    for (auto& dim : load.dims) dim.count = 1;
    add(kLoad, load);
  }

  void add_random() {
    const std::size_t queue = random_.below(queues_);
    if (random_.chance(1, 8)) {
      isa::Nop nop;
      nop.cycles = static_cast<std::uint32_t>(random_.chance(1, 3) ? random_.between(1, 3) : random_.between(1, 80));
      add(queue, nop);
    } else if (queue == kLoad) {
      add(queue, dma<isa::Load>(random_.chance(1, 4) ? BufferKind::scratch : BufferKind::input));
    } else if (queue == kStore) {
      add(queue, dma<isa::Store>(random_.chance(1, 4) ? BufferKind::scratch : BufferKind::output));
    } else if (queue == kConv || queue == kConv1) {
      add_convolution(queue);
    } else if (queue == kGemm) {
      add_product();
    } else if (queue == kEdp) {
      add_vector_operation();
    } else {
      add(queue, reorder());
    }
  }

  /// A LOAD of parameters, now and then one of weights, and the convolution: maps and weights anywhere in the window.
  void add_convolution(std::size_t queue) {
    const isa::Conv conv = convolution(chip_, random_, begin_, size_);
    load_params(conv.cout, conv.shift_only, conv.p_base);
    if (random_.chance(1, 3)) {
      isa::Load load;
      for (auto& dim : load.dims) dim.count = 1;
      load.base_register = isa::base_register_of(BufferKind::input);
      load.dram_offset = random_.below(1024);
      load.row_bytes = load.group_bytes =
          static_cast<std::uint32_t>(semantics::WeightLayout(semantics::conv_shape(conv), chip_).sram_bytes());
      load.sram_base = conv.w_base;
      add(kLoad, load);
    }
    add(queue, conv);
  }

  /// A product, and a LOAD of parameters if it has some.
  void add_product() {
    const isa::Gemm gemm = matrix_product(chip_, random_, begin_, size_);
    if (gemm.per_column) load_params(gemm.n, false, gemm.p_base);
    add(kGemm, gemm);
  }

  void add_vector_operation() {
    const isa::Edp edp = vector_operation(chip_, random_, begin_, size_, begin_ + size_);
    load_constants(edp_constants(edp, chip_, random_, begin_ + size_), begin_ + size_);
    add(kEdp, edp);
  }

  void load_params(std::int64_t count, bool small, std::uint32_t at) {
    std::vector<std::uint8_t> params;
    append_params(count, small, random_, params);
    load_constants(params, at);
  }

  /// Lie behind those of other instructions in DRAM.
  void load_constants(const std::vector<std::uint8_t>& constants, std::int64_t at) {
    if (constants.empty()) return;
    isa::Load load;
    load.base_register = isa::base_register_of(BufferKind::weights);
    load.dram_offset = params_.size();
    load.row_bytes = load.group_bytes = static_cast<std::uint32_t>(constants.size());
    load.sram_base = static_cast<std::uint32_t>(at);
    for (auto& dim : load.dims) dim.count = 1;
    params_.insert(params_.end(), constants.begin(), constants.end());
    add(kLoad, load);
  }

  /// Rows of any length and alignment, whole or in groups, padded or not, circular or not; strides of any sign, within
  /// the window and the buffer.
  template <typename Dma>
  Dma dma(BufferKind kind) {
    for (;;) {
      Dma d;
      d.base_register = isa::base_register_of(kind);
      const std::int64_t most = random_.chance(1, 3) ? 16 : random_.chance(1, 2) ? 90 : 400;
      const std::int64_t row = random_.between(1, most);
      d.row_bytes = static_cast<std::uint32_t>(row);
      group(d);
      if constexpr (std::is_same_v<Dma, isa::Load>) pad(d);
      const std::array<std::int64_t, 3> counts = {random_.chance(1, 4) ? 2 : 1, random_.between(1, 2),
                                                  random_.between(1, 6)};
      const semantics::DmaShape one = semantics::dma_shape(d);
      const std::int64_t extent = (one.row_groups() - 1) * one.group_stride + one.group_bytes;
      // Rows beside one another, with gaps, or between one another.
      std::int64_t pitch = random_.chance(1, 4) ? random_.between(1, extent)
                                                : extent + (random_.chance(1, 2) ? 0 : random_.between(0, 24));
      std::int64_t dram_pitch = row + (random_.chance(1, 2) ? 0 : random_.between(0, 300));
      for (std::size_t k = 3; k-- > 0;) {
        d.dims[k].count = static_cast<std::uint16_t>(counts[k]);
        d.dims[k].sram_stride = static_cast<std::int32_t>(sign() * pitch);
        d.dims[k].dram_stride = sign() * dram_pitch;
        if (k == 2) wrap(d, counts[k] + one.rows_before + one.rows_after);
        pitch *= k == 2 ? std::max<std::int64_t>(counts[k] + one.rows_before + one.rows_after, d.wrap_rows) : counts[k];
        dram_pitch *= counts[k];
      }
      // Sources may be read again and again.
      if (random_.chance(1, 8)) {
        if constexpr (std::is_same_v<Dma, isa::Load>) {
          d.dims[2].dram_stride = 0;
        } else {
          d.dims[2].sram_stride = 0;
        }
      }
      const hw::DmaHull hull = hw::dma_hull(semantics::dma_shape(d));  // of bases 0
      if (hull.sram_end - hull.sram_begin > size_ || hull.dram_end - hull.dram_begin > kBufferBytes) continue;
      d.sram_base =
          static_cast<std::uint32_t>(random_.between(begin_ - hull.sram_begin, begin_ + size_ - hull.sram_end));
      d.dram_offset = static_cast<std::uint64_t>(random_.between(-hull.dram_begin, kBufferBytes - hull.dram_end));
      return d;
    }
  }

  /// One piece, or groups: a channel, a pixel, a line, or any size.
  template <typename Dma>
  void group(Dma& d) {
    d.group_bytes = d.row_bytes + (random_.chance(1, 8) ? 5 : 0);
    if (random_.chance(1, 2)) {
      const std::int64_t sizes[] = {1, chip_.layout.channel_block, chip_.sram.line_bytes, random_.between(1, 20)};
      d.group_bytes = static_cast<std::uint32_t>(std::min<std::int64_t>(sizes[random_.below(4)], d.row_bytes));
    }
    d.group_stride = d.group_bytes + static_cast<std::uint32_t>(random_.chance(1, 2) ? 0 : random_.below(12));
  }

  void pad(isa::Load& d) {
    d.fill_value = static_cast<std::uint8_t>(random_.below(256));
    for (std::uint8_t* groups :
         {&d.fill_groups_before, &d.fill_groups_after, &d.fill_rows_before, &d.fill_rows_after}) {
      *groups = static_cast<std::uint8_t>(random_.chance(3, 4) ? 0 : random_.between(1, 3));
    }
  }

  template <typename Dma>
  void wrap(Dma& d, std::int64_t run_rows) {
    d.first_row = static_cast<std::uint16_t>(random_.below(4));  // without effect unless circular
    if (random_.chance(2, 3)) return;
    d.wrap_rows = static_cast<std::uint16_t>(run_rows + random_.between(0, 3));
    d.first_row = static_cast<std::uint16_t>(random_.below(d.wrap_rows));
  }

  isa::Reorder reorder() {
    for (;;) {
      isa::Reorder r = random_.chance(1, 4)   ? transposition()
                       : random_.chance(1, 3) ? copy_of_lines()
                                              : copy_of_bytes();
      std::int64_t src_low = 0, src_high = r.run_bytes, dst_low = 0, dst_high = r.run_bytes, bytes = r.run_bytes;
      for (const isa::ReorderDim& dim : r.dims) {
        widen((dim.count - 1) * std::int64_t{dim.src_stride}, src_low, src_high);
        widen((dim.count - 1) * std::int64_t{dim.dst_stride}, dst_low, dst_high);
        bytes *= dim.count;
      }
      if (bytes > 150 * chip_.sram.line_bytes || src_high - src_low > size_ || dst_high - dst_low > size_) continue;
      const std::int64_t unit = random_.chance(1, 2) ? chip_.sram.line_bytes : 1;
      const std::int64_t src = round_up(begin_ + random_.between(-src_low, size_ - src_high), unit);
      const std::int64_t dst = round_up(begin_ + random_.between(-dst_low, size_ - dst_high), unit);
      const bool inside = src + src_high <= begin_ + size_ && dst + dst_high <= begin_ + size_;
      const bool apart = src + src_high <= dst + dst_low || dst + dst_high <= src + src_low;
      r.src_base = static_cast<std::uint32_t>(src);
      r.dst_base = static_cast<std::uint32_t>(dst);
      r.fill = random_.chance(1, 6);
      r.fill_value = static_cast<std::uint8_t>(random_.below(256));
      if (inside && apart && reorder_in_slice(r, chip_)) return r;
    }
  }

  static isa::Reorder runs_of(std::int64_t bytes) {
    isa::Reorder r;
    for (auto& dim : r.dims) dim.count = 1;
    r.run_bytes = static_cast<std::uint16_t>(bytes);
    return r;
  }

  /// Whole lines, as a map is cut or joined.
  isa::Reorder copy_of_lines() {
    const std::int64_t line = chip_.sram.line_bytes;
    const std::int64_t lines = random_.between(1, random_.chance(1, 2) ? 4 : 40);
    isa::Reorder r = runs_of(lines * line);
    std::int64_t src_pitch = lines + random_.between(0, 3), dst_pitch = lines + random_.between(0, 3);
    for (std::size_t k = 6; k-- > 0;) {
      if (random_.chance(2, 3)) continue;
      r.dims[k] = {static_cast<std::uint16_t>(random_.between(2, 4)),
                   static_cast<std::int32_t>(random_.chance(1, 6) ? 0 : sign() * src_pitch * line),
                   static_cast<std::int32_t>(sign() * dst_pitch * line)};
      src_pitch *= r.dims[k].count;
      dst_pitch *= r.dims[k].count;
    }
    return r;
  }

  /// Runs of any length, beside one another or not: several may share a step.
  isa::Reorder copy_of_bytes() {
    isa::Reorder r = runs_of(random_.between(1, random_.chance(1, 2) ? 4 : 60));
    std::int64_t src_pitch = r.run_bytes, dst_pitch = r.run_bytes;
    for (std::size_t k = 6; k-- > 0;) {
      if (random_.chance(1, 2)) continue;
      const auto stride = [&](std::int64_t pitch) {
        return static_cast<std::int32_t>(sign() * (random_.chance(1, 2) ? pitch : random_.between(0, 40)));
      };
      r.dims[k] = {static_cast<std::uint16_t>(random_.between(2, 5)), stride(src_pitch), stride(dst_pitch)};
      src_pitch = r.dims[k].count * src_pitch + random_.between(0, 5);
      dst_pitch = r.dims[k].count * dst_pitch + random_.between(0, 5);
    }
    return r;
  }

  isa::Reorder transposition() {
    isa::Reorder r = runs_of(random_.between(1, 3));
    const std::int64_t rows = random_.between(2, 16), columns = random_.between(2, 16);
    r.dims[4] = {static_cast<std::uint16_t>(rows), static_cast<std::int32_t>(columns * r.run_bytes),
                 static_cast<std::int32_t>(r.run_bytes)};
    r.dims[5] = {static_cast<std::uint16_t>(columns), static_cast<std::int32_t>(r.run_bytes),
                 static_cast<std::int32_t>(rows * r.run_bytes)};
    return r;
  }

  std::int64_t sign() { return random_.chance(1, 6) ? -1 : 1; }
  static void widen(std::int64_t reach, std::int64_t& low, std::int64_t& high) {
    low += std::min<std::int64_t>(reach, 0);
    high += std::max<std::int64_t>(reach, 0);
  }

  // ---- order

  /// Appends, and makes it wait for every earlier instruction of another queue that it conflicts with.
  void add(std::size_t queue, isa::Body body) {
    Item item;
    item.queue = queue;
    item.instruction.body = std::move(body);
    item.instruction.header.layer = static_cast<std::uint16_t>(items_.size());
    item.touches = semantics::footprint(item.instruction, chip_);
    std::array<std::int64_t, kQueues.size()> after{};  // latest item to wait for, by its queue
    after.fill(-1);
    for (std::size_t i = 0; i < items_.size(); ++i) {
      if (items_[i].queue != queue && (conflicts(items_[i], item) || random_.chance(1, 200))) {
        after[items_[i].queue] = static_cast<std::int64_t>(i);
      }
    }
    std::vector<std::size_t> from;  // queues to wait for
    for (std::size_t q = 0; q < kQueues.size(); ++q) {
      if (after[q] > synced(queue, q)) from.push_back(q);
    }
    while (from.size() > kMostSyncs) {  // more than an instruction can wait for: a NOP before it takes one
      Item nop = nop_item(queue);
      synchronise(signaller(after[from.back()]), nop, queue, from.back());
      items_.push_back(std::move(nop));
      from.pop_back();
    }
    const bool room = from.size() < kMostSyncs;
    for (const std::size_t q : from) synchronise(signaller(after[q]), item, queue, q, room);
    for (std::size_t q = 0; q < kQueues.size(); ++q) synced(queue, q) = std::max(synced(queue, q), after[q]);
    items_.push_back(std::move(item));
  }

  static Item nop_item(std::size_t queue) {
    Item item;
    item.queue = queue;
    item.instruction.body = isa::Nop{1};
    return item;
  }

  /// The item, or one behind it in its queue that has a signal left: a NOP if there is none.
  Item& signaller(std::int64_t index) {
    const std::size_t queue = items_[static_cast<std::size_t>(index)].queue;
    for (auto i = static_cast<std::size_t>(index); i < items_.size(); ++i) {
      if (items_[i].queue == queue && items_[i].signals < static_cast<int>(kMostSyncs)) return items_[i];
    }
    return items_.emplace_back(nop_item(queue));
  }

  /// Item up to which this queue follows queue q already, in items_ of the section (queues are in order).
  std::int64_t& synced(std::size_t queue, std::size_t q) {
    if (items_.empty()) synced_.fill(-1);
    return synced_[queue * kQueues.size() + q];
  }

  void synchronise(Item& producer, Item& consumer, std::size_t queue, std::size_t from, bool may_split = false) {
    // As many semaphores a pair of queues as there are, each with one waiter; amounts of 1 to 3, all of them waited
    // for.
    const std::size_t pair = queue * (queues_ - 1) + from - (from > queue ? 1 : 0);
    const std::size_t each = kSemaphores / (queues_ * (queues_ - 1));
    const auto semaphore = static_cast<std::uint8_t>(each * pair + random_.below(each));
    const auto amount = static_cast<std::uint8_t>(random_.chance(1, 4) ? random_.between(2, 3) : 1);
    const bool split = may_split && amount > 1 && consumer.waits == 0 && random_.chance(1, 2);  // two waits that add up
    TESSERA_CHECK(producer.signals < 4 && consumer.waits < 4, "more than four signals or waits");
    auto& signal = producer.instruction.header.signals[static_cast<std::size_t>(producer.signals++)];
    signal.semaphore = semaphore;
    signal.amount = amount;
    auto& wait = consumer.instruction.header.waits[static_cast<std::size_t>(consumer.waits++)];
    wait.semaphore = semaphore;
    wait.count = amount;
    if (!split) return;
    wait.count = 1;
    auto& rest = consumer.instruction.header.waits[static_cast<std::size_t>(consumer.waits++)];
    rest.semaphore = semaphore;
    rest.count = static_cast<std::uint8_t>(amount - 1);
  }

  static bool conflicts(const Item& a, const Item& b) {
    for (const semantics::Range& x : a.touches) {
      for (const semantics::Range& y : b.touches) {
        if (semantics::conflict(x, y)) return true;
      }
    }
    return false;
  }

  void emit(isa::Section& section) {
    for (std::size_t q = 0; q < kQueues.size(); ++q) {
      isa::QueueStream stream;
      stream.queue = static_cast<std::uint8_t>(kQueues[q]);
      for (const Item& item : items_) {
        if (item.queue != q) continue;
        for (const isa::Word& word : isa::encode(item.instruction)) stream.words.push_back(word);
      }
      if (!stream.words.empty()) section.streams.push_back(std::move(stream));
    }
  }

  const isa::ChipConfig& chip_;
  Random random_;
  std::size_t queues_;  // of kQueues, the first so many
  std::int64_t begin_ = 0, size_ = 0;
  std::vector<Item> items_;
  std::array<std::int64_t, kQueues.size() * kQueues.size()> synced_{};
  std::vector<std::uint8_t> params_;  // of all convolutions: the image of the buffer of weights
};

}  // namespace

isa::Program random_program(const isa::ChipConfig& chip, std::uint64_t seed, int instructions) {
  isa::Program program = Generator(chip, seed).make(instructions);
  program.arch_hash = isa::arch_hash(chip);
  program.timing_hash = isa::timing_hash(chip);
  program.chip_name = chip.name;
  program.seed = seed;
  return program;
}

std::vector<std::string> random_memory(std::uint64_t seed) {
  Random random(seed);
  std::vector<std::string> sets = {"interconnect.queue_depth=" + std::to_string(random.between(1, 4)),
                                   "interconnect.latency_cycles=" + std::to_string(random.between(0, 12))};
  if (random.chance(1, 2)) {
    sets.emplace_back("dram.device=\"fixed\"");
    sets.push_back("dram.fixed_latency_cycles=" + std::to_string(random.chance(1, 4) ? 1 : random.between(2, 80)));
    sets.push_back("dram.fixed_bytes_per_cycle=" + std::to_string(random.between(0, 8)));
  } else {  // said in full: the chip's own memory may be a fixed one
    sets.insert(sets.end(), {"dram.device=\"LPDDR4-3200\"", "dram.tck_fs=625000", "dram.refresh=\"all_bank\""});
    sets.push_back("dram.queue_depth=" + std::to_string(random.between(1, 32)));
    if (random.chance(1, 3)) sets.emplace_back("dram.page_policy=\"closed\"");
    if (random.chance(1, 3)) sets.emplace_back("dram.refresh=\"per_bank\"");
  }
  return sets;
}

}  // namespace tessera::cosim
