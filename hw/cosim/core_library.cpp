// The verilated core behind core_api.hpp. Compiled once a chip shape, by build_core.py, with that shape's
// rtl_parameters.hpp; the only file that sees Verilator's headers.
#include <cstring>
#include <string>

#include "Vtessera_core.h"
#include "hw/cosim/core_api.hpp"
#include "hw/cosim/verilated_pins.hpp"

namespace tessera::cosim {
namespace {

constexpr std::size_t kDataBytes = parameter("axi.data_bytes");
constexpr std::size_t kBanks = parameter("sram.banks");
constexpr std::size_t kLineBytes = parameter("sram.line_bytes");
constexpr std::size_t kLines = parameter("sram.size_bytes") / kLineBytes;
static_assert(kDataBytes <= kMostDataBytes);

// tessera_core_pkg::axi_ax_t: beats above 40 bits of address.
constexpr int kAddressBits = 40;
AddressPins request_of(CData valid, QData ax) {
  return {valid != 0, ax & ((QData{1} << kAddressBits) - 1), static_cast<int>(ax >> kAddressBits)};
}

class Core : public VerilatedModel<Vtessera_core> {
 public:
  void eval(const CoreInputs& in, CoreOutputs& out);
  void observe(WavePins& pins) const;
  void write_register(std::uint32_t offset, std::uint32_t value) {
    CoreInputs in;
    in.write = true;
    in.offset = offset;
    in.value = value;
    CoreOutputs ignored;
    eval(in, ignored);
    edge();
  }
  std::uint32_t read_register(std::uint32_t offset) {
    top_->reg_write_i = 0;
    top_->reg_addr_i = static_cast<SData>(offset);
    settle();
    return top_->reg_rdata_o;
  }
  void read_sram(std::uint8_t* bytes);
};

void Core::eval(const CoreInputs& in, CoreOutputs& out) {
  top_->fetch_ar_ready_i = in.ready[0];
  top_->load_ar_ready_i = in.ready[1];
  top_->store_aw_ready_i = in.ready[2];
  top_->fetch_r_valid_i = in.valid[0];
  top_->load_r_valid_i = in.valid[1];
  top_->store_b_valid_i = in.valid[2];
  top_->fetch_r_last_i = in.last[0];
  top_->load_r_last_i = in.last[1];
  top_->fetch_r_error_i = in.error[0];
  top_->load_r_error_i = in.error[1];
  top_->store_b_error_i = in.error[2];
  top_->reg_write_i = in.write;
  if (in.write) {
    top_->reg_addr_i = static_cast<SData>(in.offset);
    top_->reg_wdata_i = in.value;
  }
  top_->load_wait_i = in.load_wait;
  top_->store_wait_i = in.store_wait;
  std::memcpy(&top_->fetch_r_data_i, in.data[0].data(), kDataBytes);
  std::memcpy(&top_->load_r_data_i, in.data[1].data(), kDataBytes);
  settle();
  out.request = {request_of(top_->fetch_ar_valid_o, top_->fetch_ar_o),
                 request_of(top_->load_ar_valid_o, top_->load_ar_o),
                 request_of(top_->store_aw_valid_o, top_->store_aw_o)};
  out.w_valid = top_->store_w_valid_o != 0;
  if (out.w_valid) {  // tessera_core_pkg::axi_w_t: strobes, last, data
    const auto w = bytes_of(top_->store_w_o);
    std::memcpy(out.w_data.data(), w.data(), kDataBytes);
    out.w_last = bits(w, 8 * kDataBytes, 1) != 0;
    for (std::size_t i = 0; i < kDataBytes; i += 8) {
      const std::size_t count = kDataBytes - i < 8 ? kDataBytes - i : 8;
      out.w_strobes[i / 8] = static_cast<std::uint8_t>(bits(w, 8 * kDataBytes + 1 + i, count));
    }
  }
  out.start = top_->start_o;
  out.finish = top_->finish_o;
  out.queue_full = top_->queue_full_o;
  const auto banks = bytes_of(top_->req_banks_o);
  for (std::size_t u = 0; u < out.req_banks.size(); ++u) out.req_banks[u] = bits(banks, u * kBanks, kBanks);
  out.quiet = top_->quiet_o != 0;
  out.stuck = top_->stuck_o != 0;
  out.reset_done = top_->reset_done_o != 0;
  out.irq = top_->irq_o != 0;
}

void Core::observe(WavePins& pins) const {
  pins.busy = static_cast<std::uint32_t>(top_->busy_o) | top_->start_o;
  pins.conflict = top_->conflict_o;
  pins.head_valid = top_->head_valid_o;
  std::memcpy(pins.read_pointer.data(), &top_->read_pointer_o, sizeof(pins.read_pointer));
  std::memcpy(pins.semaphores.data(), &top_->semaphores_o, sizeof(pins.semaphores));
}

void Core::read_sram(std::uint8_t* bytes) {
  for (std::size_t b = 0; b < kBanks; ++b) {
    const std::string name = "top.tessera_core.u_sram.g_bank[" + std::to_string(b) + "].u_bank";
    const VerilatedScope* scope = context_.scopeFind(name.c_str());
    const VerilatedVar* memory = scope == nullptr ? nullptr : scope->varFind("mem_q");
    if (memory == nullptr) VL_FATAL_MT(__FILE__, __LINE__, "", ("no memory at " + name).c_str());
    const std::size_t pitch = memory->totalSize() / kLines;
    for (std::size_t l = 0; l < kLines; ++l) {
      std::memcpy(bytes + (b * kLines + l) * kLineBytes, static_cast<const std::uint8_t*>(memory->datap()) + l * pitch,
                  kLineBytes);
    }
  }
}

Core& core(void* instance) { return *static_cast<Core*>(instance); }

}  // namespace
}  // namespace tessera::cosim

extern "C" __attribute__((visibility("default"))) const tessera::cosim::CoreApi tessera_core_api = {
    tessera::cosim::kCoreApiSize,
    tessera::cosim::kRtlShape,
    []() -> void* { return new tessera::cosim::Core; },
    [](void* instance) { delete &tessera::cosim::core(instance); },
    [](void* instance, const tessera::cosim::CoreInputs& in, tessera::cosim::CoreOutputs& out) {
      tessera::cosim::core(instance).eval(in, out);
    },
    [](void* instance) { tessera::cosim::core(instance).edge(); },
    [](void* instance, tessera::cosim::WavePins& pins) { tessera::cosim::core(instance).observe(pins); },
    [](void* instance, std::uint32_t offset, std::uint32_t value) {
      tessera::cosim::core(instance).write_register(offset, value);
    },
    [](void* instance, std::uint32_t offset) { return tessera::cosim::core(instance).read_register(offset); },
    [](void* instance, std::uint8_t* bytes) { tessera::cosim::core(instance).read_sram(bytes); },
    [](void* instance) { return tessera::cosim::core(instance).failure(); },
};
