#include "hw/cosim/random_fault.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "hw/common/error.hpp"
#include "isa/program/instructions.hpp"
#include "isa/semantics/legal.hpp"

namespace tessera::cosim {
namespace {

using Instructions = std::vector<isa::Instruction>;

void encode_stream(const Instructions& instructions, isa::QueueStream& stream) {
  stream.words.clear();
  for (const isa::Instruction& instruction : instructions) {
    for (const isa::Word& word : isa::encode(instruction)) stream.words.push_back(word);
  }
}

/// Moves a DMA operand out of its memory, by far, or to the scratch buffer; false if the instruction is no DMA, or one
/// of constants on a bus error, of which a unit would run all the same.
bool leave_memory(isa::Instruction& instruction, isa::FaultCause cause, Random& random) {
  const auto move = [&](auto& body) {
    if (cause == isa::FaultCause::bus_error) {
      body.base_register = isa::base_register_of(isa::BufferKind::scratch);
    } else if (cause == isa::FaultCause::dram_limit) {
      body.dram_offset += (std::uint64_t{1} << 17) + random.below(1000);
    } else {
      body.sram_base = 0xfffffff0u - static_cast<std::uint32_t>(random.below(1000));
    }
  };
  if (auto* load = std::get_if<isa::Load>(&instruction.body)) {
    const bool constants = load->base_register == isa::base_register_of(isa::BufferKind::weights);
    if (cause == isa::FaultCause::bus_error && constants) return false;
    return move(*load), true;
  }
  if (auto* store = std::get_if<isa::Store>(&instruction.body)) return move(*store), true;
  return false;
}

// ---- rules between fields

/// An address off its line, a pitch too small, a circular buffer too short.
void break_map(isa::SramTensor& map, Random& random) {
  switch (random.below(4)) {
    case 0:
      ++map.base;
      return;
    case 1:
      map.row_pitch = 0;
      return;
    case 2:
      map.wrap_rows = 1;
      return;
    default:
      map.first_row = map.wrap_rows = static_cast<std::uint16_t>(random.between(1, 20));
      return;
  }
}

template <typename Dma>
void break_dma(Dma& d, Random& random) {
  switch (random.below(3)) {
    case 0:
      d.group_stride = d.group_bytes - 1;
      return;
    case 1:
      d.wrap_rows = 1;
      return;
    default:
      d.first_row = d.wrap_rows = static_cast<std::uint16_t>(random.between(1, 20));
      return;
  }
}

void break_gemm(isa::Gemm& g, Random& random) {
  switch (random.below(4)) {
    case 0: {
      std::uint32_t* bases[] = {&g.a_base, &g.b_base, &g.o_base};
      ++*bases[random.below(3)];
      return;
    }
    case 1: {
      std::uint16_t* pitches[] = {&g.a_pitch, &g.b_pitch, &g.o_pitch};
      *pitches[random.below(3)] = 0;
      return;
    }
    case 2:
      g.lo = static_cast<std::int16_t>(random.chance(1, 2) ? -129 : 128);
      return;
    default:
      g.hi = static_cast<std::int16_t>(random.chance(1, 2) ? g.lo - 1 : 128);
      return;
  }
}

/// A window without an element, mostly: too much padding, too many results, a stride or kernel of nothing.
void break_window(isa::Edp& e, Random& random) {
  std::uint8_t* bytes[] = {&e.kh, &e.kw, &e.sy, &e.sx, &e.dy, &e.dx, &e.pad_top, &e.pad_left};
  std::uint16_t* extents[] = {&e.h, &e.w, &e.in_h, &e.in_w};
  switch (random.below(4)) {
    case 0:
      *bytes[random.below(8)] = static_cast<std::uint8_t>(random.below(3));
      return;
    case 1:
      *bytes[random.below(8)] = static_cast<std::uint8_t>(random.between(2, random.chance(1, 2) ? 8 : 255));
      return;
    case 2:
      *extents[random.below(2)] = static_cast<std::uint16_t>(random.between(1, random.chance(1, 2) ? 30 : 65535));
      return;
    default:
      *extents[2 + random.below(2)] = static_cast<std::uint16_t>(random.below(6));
      return;
  }
}

void break_edp(isa::Edp& e, Random& random) {
  isa::SramTensor* maps[] = {&e.a, &e.b, &e.out};
  isa::EdpStage& stage = e.stages[random.below(e.stages.size())];
  switch (random.below(random.chance(1, 2) ? 7 : 3)) {
    case 0:
    case 1:
      return break_window(e, random);
    case 2:
      return break_map(*maps[random.below(3)], random);
    case 3:
      e.b_broadcast = 2;
      return;
    case 4:
      stage.op = static_cast<isa::EdpOp>(random.below(isa::kEdpOpValues));
      return;
    case 5:
      stage.lo = static_cast<std::int16_t>(stage.hi + 1);
      return;
    default:
      e.lo = static_cast<std::int16_t>(random.chance(1, 2) ? -129 : e.hi + 1);
      return;
  }
}

// ---- ranges

/// An address in the scratchpad and what it is a multiple of.
struct Place {
  std::uint32_t* address = nullptr;
  std::int64_t unit = 1;
};

std::vector<Place> places_of(isa::Instruction& instruction, std::int64_t line) {
  if (auto* d = std::get_if<isa::Load>(&instruction.body)) return {{&d->sram_base, 1}};
  if (auto* d = std::get_if<isa::Store>(&instruction.body)) return {{&d->sram_base, 1}};
  if (auto* r = std::get_if<isa::Reorder>(&instruction.body)) return {{&r->src_base, 1}, {&r->dst_base, 1}};
  if (auto* g = std::get_if<isa::Gemm>(&instruction.body)) {
    return {{&g->a_base, line}, {&g->b_base, line}, {&g->o_base, line}, {&g->p_base, 1}};
  }
  if (auto* e = std::get_if<isa::Edp>(&instruction.body)) {
    std::vector<Place> places = {{&e->a.base, line}, {&e->b.base, line}, {&e->out.base, line}, {&e->p_base, 1}};
    for (isa::EdpStage& stage : e->stages) places.push_back({&stage.table_base, line});
    return places;
  }
  return {};
}

/// Sets the last bit of a word in which no field uses it: in others that may be another legal instruction.
void spoil_word(isa::QueueStream& stream, Random& random) {
  const std::size_t instructions = isa::decode_stream(stream).size();
  for (;;) {
    isa::QueueStream spoilt = stream;
    spoilt.words[random.below(spoilt.words.size())].back() |= 0x80;
    if (isa::decode_stream(spoilt).size() == instructions) continue;
    stream = std::move(spoilt);
    return;
  }
}

/// Its signals become two that a semaphore cannot hold, in two instructions that follow.
void overflow(Instructions& instructions, std::size_t at) {
  isa::Nop nop;
  nop.cycles = 1;
  isa::Instruction signaller;
  signaller.body = nop;
  signaller.header.opcode = isa::Opcode::nop;
  signaller.header.signals[0] = {63, 200};
  instructions.insert(instructions.begin() + static_cast<std::ptrdiff_t>(at), {signaller, signaller});
}

}  // namespace

bool break_field_rule(isa::Instruction& instruction, const isa::ChipConfig& chip, Random& random) {
  constexpr int kAttempts = 20;
  for (int i = 0; i < kAttempts; ++i) {
    isa::Instruction broken = instruction;
    if (auto* load = std::get_if<isa::Load>(&broken.body)) break_dma(*load, random);
    if (auto* store = std::get_if<isa::Store>(&broken.body)) break_dma(*store, random);
    if (auto* gemm = std::get_if<isa::Gemm>(&broken.body)) break_gemm(*gemm, random);
    if (auto* edp = std::get_if<isa::Edp>(&broken.body)) break_edp(*edp, random);
    if (!semantics::find_field_fault(broken, chip)) continue;
    instruction = broken;
    return true;
  }
  return false;
}

bool leave_scratchpad(isa::Instruction& instruction, const isa::ChipConfig& chip, Random& random) {
  const auto limits = [] {
    semantics::DramLimits all{};
    all.fill(std::numeric_limits<std::uint64_t>::max());
    return all;
  }();
  isa::Instruction moved = instruction;
  const std::vector<Place> places = places_of(moved, chip.sram.line_bytes);
  if (places.empty()) return false;
  const Place place = places[random.below(places.size())];
  const auto leaves = [&](std::int64_t unit) {
    *place.address = static_cast<std::uint32_t>(unit * place.unit);
    return semantics::find_fault(moved, chip, limits).has_value();
  };
  // In units: the last place known to be inside, the first known to be outside.
  std::int64_t inside = *place.address / place.unit;
  std::int64_t outside = chip.sram.banks * chip.sram.size_bytes / place.unit;
  if (leaves(inside) || !leaves(outside)) return false;
  while (outside - inside > 1) {
    const std::int64_t middle = (inside + outside) / 2;
    (leaves(middle) ? outside : inside) = middle;
  }
  (void)leaves(outside);
  instruction = moved;
  return true;
}

isa::Program with_fault(isa::Program program, const isa::ChipConfig& chip, isa::FaultCause cause, Random& random) {
  isa::Section& section = program.sections[random.below(program.sections.size())];
  TESSERA_CHECK(!section.streams.empty(), "a section without instructions");
  const bool just = random.chance(1, 2);  // outside: by a unit, else by far
  const bool dma = cause == isa::FaultCause::dram_limit || cause == isa::FaultCause::bus_error ||
                   (cause == isa::FaultCause::sram_range && !just);
  isa::QueueStream& stream = dma ? section.streams.front() : section.streams[random.below(section.streams.size())];
  Instructions instructions = isa::decode_stream(stream);
  const std::size_t at = random.below(instructions.size());
  switch (cause) {
    case isa::FaultCause::none:
      // The last free wait; what it waits for has no other waiter and no signal.
      instructions[at].header.waits.back() = {62, 1};
      break;
    case isa::FaultCause::illegal_word:
      if (just && break_field_rule(instructions[at], chip, random)) break;
      encode_stream(instructions, stream);
      spoil_word(stream, random);
      return program;
    case isa::FaultCause::dram_limit:
    case isa::FaultCause::bus_error:
    case isa::FaultCause::sram_range: {
      std::size_t victim = at;
      while (dma ? !leave_memory(instructions[victim], cause, random)
                 : !leave_scratchpad(instructions[victim], chip, random)) {
        victim = (victim + 1) % instructions.size();
        if (victim == at) return program;
      }
      break;
    }
    case isa::FaultCause::semaphore_overflow:
      overflow(instructions, at);
      break;
  }
  encode_stream(instructions, stream);
  return program;
}

}  // namespace tessera::cosim
