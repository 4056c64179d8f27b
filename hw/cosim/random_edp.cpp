#include "hw/cosim/random_edp.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include "hw/common/units.hpp"
#include "hw/models/edp/cost.hpp"
#include "isa/semantics/layout.hpp"
#include "isa/semantics/legal.hpp"

namespace tessera::cosim {
namespace {

constexpr Cycles kMostCycles = 2500;
constexpr std::int64_t kMostKernel = 5;
constexpr std::int64_t kMostChannels = 12;
constexpr std::int64_t kTableBytes = 256;

/// Different tables of one instruction: fewer on a small scratchpad, where stages share them.
std::int64_t tables(const isa::ChipConfig& chip) {
  return std::clamp<std::int64_t>(chip.sram.banks * chip.sram.size_bytes / 16 / kTableBytes, 1,
                                  isa::Edp{}.stages.size());
}

/// In front of the tables.
std::int64_t entry_room(const isa::ChipConfig& chip) {
  const std::int64_t line = chip.sram.line_bytes;
  return round_up(semantics::kAverageEntryBytes * kMostKernel * kMostKernel + line, line);
}

std::int64_t table_room(const isa::ChipConfig& chip) { return round_up(kTableBytes, chip.sram.line_bytes); }

/// They end with the room for constants.
std::int64_t first_table(const isa::ChipConfig& chip, const Window& window) {
  const std::int64_t line = chip.sram.line_bytes;
  return window.constants_end() / line * line - tables(chip) * table_room(chip);
}

std::int64_t entries_of(const isa::Edp& e) {
  if (e.mode == isa::EdpMode::average_pool) return std::int64_t{e.kh} * e.kw;
  return e.mode == isa::EdpMode::global_average ? 1 : 0;
}

bool any_table(const isa::Edp& e) {
  return std::any_of(e.stages.begin(), e.stages.end(),
                     [](const isa::EdpStage& stage) { return stage.op == isa::EdpOp::table; });
}

/// Extents and window along one axis; false if there is no output.
bool axis(Random& random, std::uint16_t& in, std::uint16_t& out, std::uint8_t& kernel, std::uint8_t& stride,
          std::uint8_t& dilation, std::uint8_t& pad, std::uint8_t& pad_after) {
  set(in, random.between(1, random.chance(1, 3) ? 20 : 9));
  set(kernel, random.chance(1, 5) ? 1 : random.between(1, kMostKernel));
  set(stride, random.chance(1, 2) ? 1 : random.between(1, 4));
  set(dilation, random.chance(1, 2) ? 1 : random.between(2, 3));
  const std::int64_t reach = (kernel - 1) * dilation;
  set(pad, random.chance(1, 2) ? 0 : random.between(0, reach + 1));
  set(pad_after, random.chance(1, 2) ? 0 : random.between(0, reach + 1));
  const std::int64_t most = semantics::output_extent(in, kernel, stride, dilation, pad, pad_after);
  if (most < 1) return false;
  set(out, random.chance(1, 3) ? random.between(1, most) : most);
  return true;
}

bool random_shape(isa::Edp& e, Random& random) {
  set(e.c, random.between(1, kMostChannels));
  switch (e.mode) {
    case isa::EdpMode::elementwise:
      set(e.h, random.between(1, random.chance(1, 3) ? 20 : 6));
      set(e.w, random.between(1, random.chance(1, 3) ? 20 : 6));
      // Without effect.
      set(e.kh, random.below(9));
      set(e.dx, random.below(9));
      set(e.pad_top, random.below(9));
      return true;
    case isa::EdpMode::max_pool:
    case isa::EdpMode::average_pool:
      if (e.mode == isa::EdpMode::average_pool) e.count_include_pad = random.chance(1, 2);
      if (!axis(random, e.in_h, e.h, e.kh, e.sy, e.dy, e.pad_top, e.pad_bottom)) return false;
      return axis(random, e.in_w, e.w, e.kw, e.sx, e.dx, e.pad_left, e.pad_right);
    case isa::EdpMode::global_average:
      e.h = e.w = 1;
      set(e.in_h, random.between(1, 12));
      set(e.in_w, random.between(1, 12));
      set(e.pad_left, random.below(9));  // without effect
      set(e.sy, random.below(9));
      return true;
  }
  return false;
}

/// Mostly all of int8; narrower, and where the value stays in the unit wider.
template <typename T>
void random_clamp(Random& random, bool int8, T& lo, T& hi) {
  set(lo, random.chance(3, 4) ? -128 : random.between(-128, 20));
  set(hi, random.chance(3, 4) ? 127 : random.between(lo, 127));
  if (int8 || random.chance(1, 2)) return;
  set(lo, random.chance(1, 2) ? INT16_MIN : random.between(-1000, 0));
  set(hi, random.chance(1, 2) ? INT16_MAX : random.between(0, 1000));
}

/// Mostly small: a chain that saturates hides what happened in it.
std::int64_t any_zero_point(Random& random) {
  if (random.chance(1, 24)) return random.between(INT16_MIN, INT16_MAX);
  return random.chance(1, 4) ? any_int8(random) : random.between(-30, 30);
}

/// Ordinary ones of gain 1/4 to 1, such that halves are rounded, and extreme ones.
void random_factors(Random& random, isa::EdpStage& stage) {
  const int operand_bits = stage.op == isa::EdpOp::mul ? 6 : 0;  // a product is that much larger
  const auto sign = [&] { return random.chance(1, 4) ? -1 : 1; };
  if (random.chance(1, 4)) {
    set(stage.shift, operand_bits + random.between(1, 2));
    set(stage.ma, random.between(-3, 3));
    set(stage.mb, random.between(-3, 3));
  } else if (random.chance(1, 12)) {
    set(stage.shift, random.chance(1, 2) ? 62 : random.between(0, 62));
    set(stage.ma, random.chance(1, 2) ? INT32_MIN : INT32_MAX);
    set(stage.mb, random.chance(1, 2) ? INT32_MIN : INT32_MAX);
  } else {
    set(stage.shift, operand_bits + random.between(12, 31));
    const std::int64_t most = (std::int64_t{1} << (stage.shift - operand_bits)) - 1;
    set(stage.ma, sign() * random.between(most / 4, most));
    set(stage.mb, sign() * random.between(most / 4, most));
  }
}

void random_chain(const isa::ChipConfig& chip, Random& random, const Window& window, isa::Edp& e) {
  using isa::EdpOp;
  constexpr std::array<EdpOp, 7> kOps = {EdpOp::requantize, EdpOp::clip, EdpOp::table, EdpOp::add,
                                         EdpOp::mul,        EdpOp::min,  EdpOp::max};
  constexpr std::size_t kWithoutB = 3;
  const std::size_t stages = random.below(e.stages.size() + 1);
  for (std::size_t s = 0; s < stages; ++s) {
    isa::EdpStage& stage = e.stages[s];
    stage.op = kOps[random.below(e.has_b ? kOps.size() : kWithoutB)];
    set(stage.za, any_zero_point(random));
    set(stage.zb, any_zero_point(random));
    set(stage.zo, any_zero_point(random));
    random_factors(random, stage);
    random_clamp(random, s + 1 == stages, stage.lo, stage.hi);
    const std::int64_t slot = static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(tables(chip))));
    set(stage.table_base, first_table(chip, window) + slot * table_room(chip));
  }
  set(e.a_zp, any_int8(random));
  set(e.out_zp, any_zero_point(random));
  random_clamp(random, stages == 0, e.lo, e.hi);
}

/// The maps; `out` often takes the place of an operand that is as large (isa/README.md allows it).
bool place_maps(const isa::ChipConfig& chip, Random& random, const Window& window, isa::Edp& e) {
  const bool pooled = e.mode != isa::EdpMode::elementwise;
  Map a = random_map(random, e.c, pooled ? e.in_h : e.h, pooled ? e.in_w : e.w, chip);
  if (pooled && a.tensor.wrap_rows == 0 && random.chance(1, 3)) {
    set(a.tensor.wrap_rows, e.in_h);
    set(a.tensor.first_row, random.between(0, e.in_h - 1));
  }
  const Map b = e.b_broadcast == 1 ? random_map(random, e.c, 1, 1, chip) : random_map(random, e.c, e.h, e.w, chip);
  const Map out = random_map(random, e.c, e.h, e.w, chip);
  const bool on_a = !pooled && random.chance(1, 4);
  const bool on_b = e.has_b && e.b_broadcast == 0 && !on_a && random.chance(1, 4);
  std::array<std::int64_t, 3> at{};
  const std::array<std::int64_t, 3> bytes = {a.bytes, e.has_b ? b.bytes : 0, on_a || on_b ? 0 : out.bytes};
  if (!place(random, chip.sram.line_bytes, window, bytes, at)) return false;
  e.a = a.tensor;
  set(e.a.base, at[0]);
  if (e.has_b) {
    e.b = b.tensor;
    set(e.b.base, at[1]);
  }
  e.out = out.tensor;
  set(e.out.base, at[2]);
  if (on_a) e.out = e.a;
  if (on_b) e.out = e.b;
  return true;
}

/// A circular map of pooling needs no more rows than the windows touch, fewer than it has.
void shorten_ring(const isa::ChipConfig& chip, isa::Edp& e) {
  isa::Instruction shorter;
  shorter.body = e;
  auto& map = std::get<isa::Edp>(shorter.body).a;
  while (map.wrap_rows > map.first_row + 1) {
    --map.wrap_rows;
    if (semantics::find_field_fault(shorter, chip)) return;
    e.a.wrap_rows = map.wrap_rows;
  }
}

std::optional<isa::Edp> attempt(const isa::ChipConfig& chip, Random& random, const Window& window) {
  isa::Edp e;
  constexpr std::array<isa::EdpMode, 5> kModes = {isa::EdpMode::elementwise, isa::EdpMode::elementwise,
                                                  isa::EdpMode::max_pool, isa::EdpMode::average_pool,
                                                  isa::EdpMode::global_average};
  e.mode = kModes[random.below(kModes.size())];
  if (!random_shape(e, random)) return std::nullopt;
  if (e.mode == isa::EdpMode::average_pool) e.dy = e.dx = static_cast<std::uint8_t>(random.below(2));
  e.has_b = random.chance(2, 3);
  set(e.b_broadcast, e.has_b && random.chance(1, 3) ? 1 : 0);
  random_chain(chip, random, window, e);
  set(e.p_base, any_table(e) ? window.constants + random.between(0, chip.sram.line_bytes)
                             : place_constants(random, window, semantics::kAverageEntryBytes * entries_of(e)));
  if (!place_maps(chip, random, window, e)) return std::nullopt;
  const bool pools = e.mode == isa::EdpMode::max_pool || e.mode == isa::EdpMode::average_pool;
  if (pools && e.a.wrap_rows != 0 && random.chance(2, 3)) shorten_ring(chip, e);
  isa::Instruction instruction;
  instruction.body = e;
  if (semantics::find_fault(instruction, chip, {})) return std::nullopt;
  if (hw::edp_cycles(e, chip) > kMostCycles) return std::nullopt;
  return e;
}

/// The factor 1 / elements or one of another size, halves that are rounded, or an extreme.
void append_entry(Random& random, std::int64_t elements, std::vector<std::uint8_t>& bytes) {
  std::int64_t shift = random.between(30, 40);
  std::int64_t multiplier = (std::int64_t{1} << shift) / elements;
  if (random.chance(1, 4)) multiplier = random.between(std::int64_t{1} << 30, INT32_MAX);
  if (random.chance(1, 4)) {
    multiplier = random.between(1, 3);
    shift = random.between(1, 6);
  }
  if (random.chance(1, 16)) shift = random.chance(1, 2) ? 0 : 62;
  append_word(bytes, static_cast<std::uint32_t>(std::min<std::int64_t>(multiplier, INT32_MAX)));
  append_word(bytes, static_cast<std::uint32_t>(shift));
}

}  // namespace

std::int64_t most_edp_constants(const isa::ChipConfig& chip) {
  return chip.sram.line_bytes + entry_room(chip) + tables(chip) * table_room(chip);
}

isa::Edp vector_operation(const isa::ChipConfig& chip, Random& random, const Window& window) {
  for (;;) {
    if (const std::optional<isa::Edp> edp = attempt(chip, random, window)) return *edp;
  }
}

EdpConstants edp_constants(const isa::Edp& edp, Random& random, const Window& window) {
  const std::int64_t entries = entries_of(edp);
  std::vector<std::uint8_t> entry_bytes;
  for (std::int64_t n = 1; n <= entries; ++n) {
    append_entry(random, edp.mode == isa::EdpMode::global_average ? edp.in_h * edp.in_w : n, entry_bytes);
  }
  if (!any_table(edp)) return {edp.p_base, entry_bytes};
  // Tables of any values in all of the room, with the entries among them.
  EdpConstants constants{window.constants, std::vector<std::uint8_t>(static_cast<std::size_t>(window.room))};
  for (std::uint8_t& byte : constants.bytes) byte = static_cast<std::uint8_t>(random.below(256));
  if (entries > 0) {
    std::copy(entry_bytes.begin(), entry_bytes.end(), constants.bytes.begin() + (edp.p_base - window.constants));
  }
  return constants;
}

}  // namespace tessera::cosim
