#include "hw/cosim/random_program.hpp"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "hw/common/error.hpp"
#include "hw/common/random.hpp"
#include "hw/cosim/random_conv.hpp"
#include "hw/cosim/random_edp.hpp"
#include "hw/cosim/random_gemm.hpp"
#include "hw/cosim/random_move.hpp"
#include "isa/isa.hpp"
#include "isa/semantics/footprint.hpp"
#include "isa/semantics/layout.hpp"

namespace tessera::cosim {
namespace {

using isa::BufferKind;
using isa::QueueId;

constexpr std::array<QueueId, 7> kQueues = {QueueId::load, QueueId::store,   QueueId::conv0, QueueId::gemm,
                                            QueueId::edp,  QueueId::reorder, QueueId::conv1};
constexpr std::size_t kLoad = 0, kStore = 1, kConv = 2, kGemm = 3, kEdp = 4, kReorder = 5,
                      kConv1 = 6;  // indices of kQueues
constexpr std::int64_t kBufferBytes = 1 << 16;
constexpr std::int64_t kLeastWindow = 2048;  // of the largest windows of a chip
constexpr std::int64_t kLongestStream = 800;
constexpr std::size_t kSemaphores = 62;  // the last two are left to random faults

/// What a program puts under pressure. A few hundred programs of each kind fill every bin; ordinary ones alone leave
/// some stall causes below their share of cycles, and never touch the ends of the scratchpad.
enum class Pressure : std::uint8_t {
  none,
  queue,        // two of three instructions are for one queue: it fills, and the others wait for it
  memory,       // long rows in and out at once, on a slow memory
  round_trips,  // what STORE has written is read back, and written again
  ends          // the window or the constants lie at one end of the scratchpad
};

Pressure pressure_of(std::uint64_t seed) {
  constexpr std::array<Pressure, 16> kShares = {
      Pressure::none,  Pressure::none,  Pressure::none,        Pressure::queue,      Pressure::queue,  Pressure::queue,
      Pressure::queue, Pressure::queue, Pressure::memory,      Pressure::memory,     Pressure::memory, Pressure::ends,
      Pressure::ends,  Pressure::ends,  Pressure::round_trips, Pressure::round_trips};
  constexpr std::uint64_t kStream = 0x7072657373757265;  // apart from the draws of program and memory
  return kShares[Random(seed ^ kStream).below(kShares.size())];
}

class Generator {
 public:
  Generator(const isa::ChipConfig& chip, std::uint64_t seed)
      : chip_(chip),
        random_(seed),
        pressure_(pressure_of(seed)),
        queues_(chip.conv.engines > 1 ? kQueues.size() : kQueues.size() - 1),
        // REORDER's copies are short: waits for them need more programs.
        favourite_(random_.chance(1, 3) ? kReorder : random_.below(queues_)) {
    place_window();
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
  static constexpr std::size_t kMostSyncs = 4;  // waits, and signals, of one instruction

  struct Item {
    std::size_t queue = 0;  // of kQueues
    isa::Instruction instruction;
    std::vector<semantics::Range> touches;
    int waits = 0, signals = 0;
  };

  /// Begins in one bank and ends in the same or one of the next, so that streams meet. Behind it, or in front of it,
  /// the constants of the present compute instruction, which nothing but their LOAD may write.
  void place_window() {
    const std::int64_t bank = chip_.sram.size_bytes, all = chip_.sram.banks * bank;
    window_.room =
        std::max(semantics::kParamBytes * std::max(kMostChannels, kMostColumns) + 8, most_edp_constants(chip_));
    window_.begin = bank * random_.between(0, std::max<std::int64_t>(chip_.sram.banks - 2, 0)) + bank / 2;
    const std::int64_t most = std::min(all - window_.room, kBufferBytes - 64);
    // No larger than it has to be: everything waits until it is filled.
    window_.size = random_.between(std::min(bank / 4, all / 16), std::min(2 * bank, std::max(all / 4, kLeastWindow)));
    if (pressure_ == Pressure::memory) window_.size = 2 * kLongestStream;
    if (pressure_ != Pressure::ends) {
      window_.size = std::min(window_.size, std::min(all - window_.begin - window_.room, most));
    } else {
      window_.size = std::min(window_.size, most) / chip_.sram.line_bytes * chip_.sram.line_bytes;
      const std::uint64_t end = random_.below(3);
      if (end == 0) window_.begin = 0;
      if (end == 1) window_.begin = all - window_.size;
      if (end == 2) window_.begin = all - window_.room - window_.size;
    }
    const bool behind = window_.end() + window_.room <= all;
    window_.constants = behind ? window_.end() : window_.begin - window_.room;
  }

  // ---- single instructions

  template <typename Dma>
  static Dma one_row(BufferKind kind, std::uint64_t dram_offset, std::int64_t bytes, std::int64_t sram) {
    Dma dma;
    for (auto& dim : dma.dims) dim.count = 1;
    dma.base_register = isa::base_register_of(kind);
    dma.dram_offset = dram_offset;
    dma.row_bytes = dma.group_bytes = static_cast<std::uint32_t>(bytes);
    dma.sram_base = static_cast<std::uint32_t>(sram);
    return dma;
  }

  /// The window holds data before anything is copied out of it.
  void fill_window() {
    add(kLoad, one_row<isa::Load>(BufferKind::input, random_.below(64), window_.size, window_.begin));
  }

  void add_random() {
    if (pressure_ == Pressure::memory && random_.chance(5, 6)) return add_stream();
    if (pressure_ == Pressure::round_trips && random_.chance(5, 6)) return add_round_trip();
    const bool pressed = pressure_ == Pressure::queue && random_.chance(2, 3);
    const std::size_t queue = pressed ? favourite_ : random_.below(queues_);
    if (random_.chance(1, 8)) {
      isa::Nop nop;
      nop.cycles = static_cast<std::uint32_t>(random_.chance(1, 3) ? random_.between(1, 3) : random_.between(1, 80));
      add(queue, nop);
    } else if (queue == kLoad) {
      const BufferKind kind = random_.chance(1, 4) ? BufferKind::scratch : BufferKind::input;
      add(queue, random_load(chip_, random_, window_, kind, kBufferBytes));
    } else if (queue == kStore) {
      const BufferKind kind = random_.chance(1, 4) ? BufferKind::scratch : BufferKind::output;
      add(queue, random_store(chip_, random_, window_, kind, kBufferBytes));
    } else if (queue == kConv || queue == kConv1) {
      add_convolution(queue);
    } else if (queue == kGemm) {
      add_product();
    } else if (queue == kEdp) {
      add_vector_operation();
    } else {
      add(queue, random_reorder(chip_, random_, window_));
    }
  }

  /// Loads go to the first half of the window and stores come from the second: neither waits for the other.
  void add_stream() {
    const std::int64_t half = window_.size / 2, most = std::min(half, kLongestStream);
    const std::int64_t bytes = random_.between(most / 2, most);
    const std::int64_t at = random_.between(0, half - bytes);
    const auto dram = static_cast<std::uint64_t>(random_.between(0, kBufferBytes - bytes));
    if (random_.chance(1, 2)) {
      add(kLoad, one_row<isa::Load>(BufferKind::input, dram, bytes, window_.begin + at));
    } else {
      add(kStore, one_row<isa::Store>(BufferKind::output, dram, bytes, window_.begin + half + at));
    }
  }

  void add_round_trip() {
    const std::int64_t bytes = random_.between(1, std::min<std::int64_t>(64, window_.size));
    const std::int64_t at = random_.between(window_.begin, window_.end() - bytes);
    const auto dram = static_cast<std::uint64_t>(random_.between(0, 128));
    add(kStore, one_row<isa::Store>(BufferKind::scratch, dram, bytes, at));
    add(kLoad, one_row<isa::Load>(BufferKind::scratch, dram, bytes, at));
  }

  /// A LOAD of parameters, now and then one of weights, and the convolution: maps and weights anywhere in the window.
  void add_convolution(std::size_t queue) {
    const isa::Conv conv = convolution(chip_, random_, window_);
    load_params(conv.cout, conv.shift_only, conv.p_base);
    if (random_.chance(1, 3)) {
      const std::int64_t bytes = semantics::WeightLayout(semantics::conv_shape(conv), chip_).sram_bytes();
      add(kLoad, one_row<isa::Load>(BufferKind::input, random_.below(1024), bytes, conv.w_base));
    }
    add(queue, conv);
  }

  /// A product, and a LOAD of parameters if it has some.
  void add_product() {
    const isa::Gemm gemm = matrix_product(chip_, random_, window_);
    if (gemm.per_column) load_params(gemm.n, false, gemm.p_base);
    add(kGemm, gemm);
  }

  void add_vector_operation() {
    const isa::Edp edp = vector_operation(chip_, random_, window_);
    const EdpConstants constants = edp_constants(edp, random_, window_);
    load_constants(constants.bytes, constants.at);
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
    const auto bytes = static_cast<std::int64_t>(constants.size());
    const isa::Load load = one_row<isa::Load>(BufferKind::weights, params_.size(), bytes, at);
    params_.insert(params_.end(), constants.begin(), constants.end());
    add(kLoad, load);
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
  Pressure pressure_;
  std::size_t queues_;  // of kQueues, the first so many
  std::size_t favourite_;
  Window window_;
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
  const bool slow = pressure_of(seed) == Pressure::memory;
  if (random.chance(1, 2)) {
    sets.emplace_back("dram.device=\"fixed\"");
    sets.push_back("dram.fixed_latency_cycles=" + std::to_string(random.chance(1, 4) ? 1 : random.between(2, 80)));
    sets.push_back("dram.fixed_bytes_per_cycle=" + std::to_string(slow ? random.between(1, 4) : random.between(0, 8)));
  } else {  // said in full: the chip's own memory may be a fixed one
    sets.insert(sets.end(), {"dram.device=\"LPDDR4-3200\"", "dram.tck_fs=625000", "dram.refresh=\"all_bank\""});
    sets.push_back("dram.queue_depth=" + std::to_string(random.between(1, 32)));
    if (random.chance(1, 3)) sets.emplace_back("dram.page_policy=\"closed\"");
    if (random.chance(1, 3)) sets.emplace_back("dram.refresh=\"per_bank\"");
  }
  return sets;
}

}  // namespace tessera::cosim
