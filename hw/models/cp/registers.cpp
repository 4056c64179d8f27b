// The control port of a core: registers of isa.json, 32 bits each.
#include <cstring>

#include "hw/common/error.hpp"
#include "hw/models/cp/cp.hpp"
#include "hw/tlm/clock.hpp"

namespace tessera::hw {
namespace {

namespace reg = isa::registers;

/// Index of `offset` in a register array, -1 if it is none of them.
int index_in(std::uint32_t offset, std::uint32_t first, std::uint32_t count, std::uint32_t stride) {
  if (offset < first || (offset - first) % stride != 0) return -1;
  const std::uint32_t index = (offset - first) / stride;
  return index < count ? static_cast<int>(index) : -1;
}

void set_low(std::uint64_t& value, std::uint32_t low) { value = (value & ~std::uint64_t{0xffffffff}) | low; }
void set_high(std::uint64_t& value, std::uint32_t high) {
  value = (value & 0xffffffff) | (static_cast<std::uint64_t>(high) << 32);
}
std::uint32_t low(std::uint64_t value) { return static_cast<std::uint32_t>(value); }
std::uint32_t high(std::uint64_t value) { return static_cast<std::uint32_t>(value >> 32); }

}  // namespace

bool Cp::read_register(std::uint32_t offset, std::uint32_t& value, bool side_effects) {
  const CpFault& fault = core_.fault();
  const auto cycles = static_cast<std::uint64_t>(tlm_base::now_cycle() - doorbell_);
  switch (offset) {
    case reg::kId:
      value = reg::kIdReset;
      return true;
    case reg::kIsaVersion:
      value = reg::kIsaVersionReset;
      return true;
    case reg::kStatus:
      value = (running_ ? 1u : 0u) | (state_ == CpState::quiet && !running_ ? 2u : 0u) | (fault.any ? 4u : 0u) |
              (state_ == CpState::stuck && !fault.any ? 8u : 0u);
      return true;
    case reg::kIrqStatus:
      value = irq_status_;
      return true;
    case reg::kIrqEnable:
      value = irq_enable_;
      return true;
    case reg::kFaultQueue:
      value = static_cast<std::uint32_t>(fault.queue);
      return true;
    case reg::kFaultIndex:
      value = fault.index;
      return true;
    case reg::kFaultCause:
      value = static_cast<std::uint32_t>(fault.cause);
      return true;
    case reg::kCycleLow:
      value = low(cycles);
      if (side_effects) cycle_latch_ = high(cycles);
      return true;
    case reg::kCycleHigh:
      value = cycle_latch_;
      return true;
    case reg::kCounterSelect:
      value = counter_select_;
      return true;
    default:
      break;
  }
  if (int i = index_in(offset, reg::kBaseLow, 8, 16); i >= 0)
    return value = low(bases_[static_cast<std::size_t>(i)]), true;
  if (int i = index_in(offset, reg::kBaseHigh, 8, 16); i >= 0)
    return value = high(bases_[static_cast<std::size_t>(i)]), true;
  if (int i = index_in(offset, reg::kLimitLow, 8, 16); i >= 0)
    return value = low(limits_[static_cast<std::size_t>(i)]), true;
  if (int i = index_in(offset, reg::kLimitHigh, 8, 16); i >= 0)
    return value = high(limits_[static_cast<std::size_t>(i)]), true;
  if (int i = index_in(offset, reg::kRingBaseLow, 16, 16); i >= 0)
    return value = low(ring_bases_[static_cast<std::size_t>(i)]), true;
  if (int i = index_in(offset, reg::kRingBaseHigh, 16, 16); i >= 0)
    return value = high(ring_bases_[static_cast<std::size_t>(i)]), true;
  if (int i = index_in(offset, reg::kRingWords, 16, 16); i >= 0)
    return value = ring_words_[static_cast<std::size_t>(i)], true;
  if (int i = index_in(offset, reg::kWritePointer, 16, 16); i >= 0) {
    value = i < kQueues ? core_.queue(i).write_pointer : 0;
    return true;
  }
  if (int i = index_in(offset, reg::kReadPointer, 16, 4); i >= 0) {
    value = i < kQueues ? core_.queue(i).read_pointer : 0;
    return true;
  }
  if (int i = index_in(offset, reg::kSemaphore, 64, 4); i >= 0) {
    value = static_cast<std::uint32_t>(core_.semaphore(i));
    return true;
  }
  if (int i = index_in(offset, reg::kCounter, reg::kCounterCount, 4); i >= 0) {
    const auto count = static_cast<std::uint64_t>(counters_[static_cast<std::size_t>(i) / 2]);
    value = i % 2 == 0 ? low(count) : high(count);
    return true;
  }
  if (int i = index_in(offset, reg::kExpectedSignals, reg::kExpectedSignalsCount, 4); i >= 0) {
    const auto queue = static_cast<std::size_t>(i % 16);
    const auto& pending = pending_signals_[static_cast<std::size_t>(i / 16)];
    value = queue < pending.size() ? static_cast<std::uint32_t>(pending[queue]) : 0;
    return true;
  }
  return false;
}

void Cp::latch_counters() {
  counters_.fill(0);
  if (counter_select_ >= static_cast<std::uint32_t>(kQueues) || units_[counter_select_] == nullptr) return;
  const UnitAccount& unit = units_[counter_select_]->account();
  const UnitAccount& waits = accounts_[counter_select_];
  counters_[0] = unit.busy + waits.busy;
  for (std::size_t c = 0; c < kStallCauses; ++c) counters_[1 + c] = unit.stall[c] + waits.stall[c];
}

bool Cp::write_register(std::uint32_t offset, std::uint32_t value) {
  switch (offset) {
    case reg::kControl:
      if ((value & 2) != 0) {
        core_.soft_reset();
        running_ = true;  // until what is in flight has ended
        evaluate_.notify(tlm_base::now_cycle());
        return true;
      }
      if ((value & 1) == 0) return true;
      core_.doorbell();
      next_index_.fill(0);
      running_ = true;
      state_ = CpState::running;
      doorbell_ = tlm_base::now_cycle();
      account_until(doorbell_);
      evaluate_.notify(doorbell_);
      return true;
    case reg::kIrqStatus:
      irq_status_ &= ~value;
      return true;
    case reg::kIrqEnable:
      irq_enable_ = value;
      return true;
    case reg::kCounterSelect:
      counter_select_ = value;
      latch_counters();
      return true;
    default:
      break;
  }
  if (int i = index_in(offset, reg::kBaseLow, 8, 16); i >= 0)
    return set_low(bases_[static_cast<std::size_t>(i)], value), true;
  if (int i = index_in(offset, reg::kBaseHigh, 8, 16); i >= 0)
    return set_high(bases_[static_cast<std::size_t>(i)], value), true;
  if (int i = index_in(offset, reg::kLimitLow, 8, 16); i >= 0)
    return set_low(limits_[static_cast<std::size_t>(i)], value), true;
  if (int i = index_in(offset, reg::kLimitHigh, 8, 16); i >= 0)
    return set_high(limits_[static_cast<std::size_t>(i)], value), true;
  int ring = index_in(offset, reg::kRingBaseLow, 16, 16);
  if (ring >= 0) set_low(ring_bases_[static_cast<std::size_t>(ring)], value);
  if (ring < 0 && (ring = index_in(offset, reg::kRingBaseHigh, 16, 16)) >= 0) {
    set_high(ring_bases_[static_cast<std::size_t>(ring)], value);
  }
  if (ring < 0 && (ring = index_in(offset, reg::kRingWords, 16, 16)) >= 0) {
    ring_words_[static_cast<std::size_t>(ring)] = value;
  }
  if (ring >= 0) {
    if (ring < kQueues) {
      core_.set_ring(ring, ring_bases_[static_cast<std::size_t>(ring)], ring_words_[static_cast<std::size_t>(ring)]);
    }
    return true;
  }
  if (int i = index_in(offset, reg::kExpectedSignals, reg::kExpectedSignalsCount, 4); i >= 0) {
    const auto queue = static_cast<std::size_t>(i % 16);
    auto& pending = pending_signals_[static_cast<std::size_t>(i / 16)];
    if (queue < pending.size()) pending[queue] = static_cast<int>(value);
    return true;
  }
  if (int i = index_in(offset, reg::kWritePointer, 16, 16); i >= 0) {
    if (i < kQueues) core_.set_write_pointer(i, value);
    wake(tlm_base::now_cycle());
    return true;
  }
  return false;
}

void Cp::b_transport(tlm::tlm_generic_payload& trans, sc_core::sc_time&) {
  if (trans.get_data_length() != 4 || trans.get_address() % 4 != 0 || trans.get_byte_enable_ptr() != nullptr) {
    trans.set_response_status(tlm::TLM_BURST_ERROR_RESPONSE);
    return;
  }
  const auto offset = static_cast<std::uint32_t>(trans.get_address());
  std::uint32_t value = 0;
  bool ok = false;
  if (trans.is_read()) {
    ok = read_register(offset, value, true);
    if (ok) std::memcpy(trans.get_data_ptr(), &value, 4);
  } else if (trans.is_write()) {
    std::memcpy(&value, trans.get_data_ptr(), 4);
    ok = write_register(offset, value);
  }
  trans.set_response_status(ok ? tlm::TLM_OK_RESPONSE : tlm::TLM_ADDRESS_ERROR_RESPONSE);
}

unsigned Cp::transport_dbg(tlm::tlm_generic_payload& trans) {
  std::uint32_t value = 0;
  if (!trans.is_read() || trans.get_data_length() != 4 ||
      !read_register(static_cast<std::uint32_t>(trans.get_address()), value, false)) {
    return 0;
  }
  std::memcpy(trans.get_data_ptr(), &value, 4);
  return 4;
}

}  // namespace tessera::hw
