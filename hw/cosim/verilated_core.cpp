#include "hw/cosim/verilated_core.hpp"

#include <cstring>
#include <string_view>

#include <verilated.h>

#include "Vtessera_core.h"
#include "Vtessera_core___024root.h"
#include "rtl_parameters.hpp"

namespace tessera::cosim {
namespace {

constexpr std::int64_t parameter(std::string_view key) {
  for (const RtlParameter& p : kRtlParameters) {
    if (key == p.key) return p.value;
  }
  return -1;
}

constexpr std::size_t kBanks = 8;
constexpr std::size_t kLines = static_cast<std::size_t>(parameter("sram.size_bytes") / parameter("sram.line_bytes"));
static_assert(parameter("axi.data_bytes") == kDataBytes && parameter("sram.banks") == kBanks &&
                  parameter("sram.line_bytes") == sizeof(QData),
              "the widths of pins and macros below are those of `tiny`");

// tessera_core_pkg::axi_ax_t: beats above 40 bits of address.
constexpr int kAddressBits = 40;
AddressPins request_of(CData valid, QData ax) {
  return {valid != 0, ax & ((QData{1} << kAddressBits) - 1), static_cast<int>(ax >> kAddressBits)};
}

}  // namespace

VerilatedCore::VerilatedCore() : context_(std::make_unique<VerilatedContext>()) {
  context_->randReset(0);  // macros hold zero, as MACHINE.md section 3 says of the SRAM
  top_ = std::make_unique<Vtessera_core>(context_.get(), "tessera_core");
  top_->rst_ni = 0;
  top_->eval();  // edges are seen against the values of the first call
  edge();
  top_->rst_ni = 1;
  top_->eval();
}

VerilatedCore::~VerilatedCore() { top_->final(); }

CoreOutputs VerilatedCore::eval(const CoreInputs& in) {
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
  top_->fetch_r_data_i = in.data[0];
  top_->load_r_data_i = in.data[1];
  top_->eval();
  CoreOutputs out;
  out.request = {request_of(top_->fetch_ar_valid_o, top_->fetch_ar_o),
                 request_of(top_->load_ar_valid_o, top_->load_ar_o),
                 request_of(top_->store_aw_valid_o, top_->store_aw_o)};
  out.w_valid = top_->store_w_valid_o != 0;
  // tessera_core_pkg::axi_w_t: strobes, last, data
  std::memcpy(out.w_data.data(), &top_->store_w_o[0], out.w_data.size());
  out.w_last = (top_->store_w_o[2] & 1u) != 0;
  out.w_strobes = top_->store_w_o[2] >> 1;
  out.start = top_->start_o;
  out.finish = top_->finish_o;
  for (std::size_t u = 0; u < out.req_banks.size(); ++u) {
    out.req_banks[u] = top_->req_banks_o >> (u * kBanks) & ((1u << kBanks) - 1);
  }
  out.quiet = top_->quiet_o != 0;
  out.stuck = top_->stuck_o != 0;
  out.irq = top_->irq_o != 0;
  return out;
}

void VerilatedCore::edge() {
  top_->clk_i = 1;
  top_->eval();
  top_->clk_i = 0;
  top_->eval();
}

void VerilatedCore::write_register(std::uint32_t offset, std::uint32_t value) {
  (void)eval({});
  top_->reg_write_i = 1;
  top_->reg_addr_i = static_cast<SData>(offset);
  top_->reg_wdata_i = value;
  edge();
  top_->reg_write_i = 0;
}

std::uint32_t VerilatedCore::read_register(std::uint32_t offset) {
  top_->reg_addr_i = static_cast<SData>(offset);
  top_->eval();
  return top_->reg_rdata_o;
}

std::vector<std::uint8_t> VerilatedCore::sram() const {
  const Vtessera_core___024root& root = *top_->rootp;
  const std::array<const VlUnpacked<QData, kLines>*, kBanks> banks = {
      &root.tessera_core__DOT__u_sram__DOT__g_bank__BRA__0__KET____DOT__u_bank__DOT__mem_q,
      &root.tessera_core__DOT__u_sram__DOT__g_bank__BRA__1__KET____DOT__u_bank__DOT__mem_q,
      &root.tessera_core__DOT__u_sram__DOT__g_bank__BRA__2__KET____DOT__u_bank__DOT__mem_q,
      &root.tessera_core__DOT__u_sram__DOT__g_bank__BRA__3__KET____DOT__u_bank__DOT__mem_q,
      &root.tessera_core__DOT__u_sram__DOT__g_bank__BRA__4__KET____DOT__u_bank__DOT__mem_q,
      &root.tessera_core__DOT__u_sram__DOT__g_bank__BRA__5__KET____DOT__u_bank__DOT__mem_q,
      &root.tessera_core__DOT__u_sram__DOT__g_bank__BRA__6__KET____DOT__u_bank__DOT__mem_q,
      &root.tessera_core__DOT__u_sram__DOT__g_bank__BRA__7__KET____DOT__u_bank__DOT__mem_q};
  std::vector<std::uint8_t> bytes(kBanks * kLines * sizeof(QData));
  for (std::size_t b = 0; b < banks.size(); ++b) {
    for (std::size_t l = 0; l < kLines; ++l) {
      const QData line = (*banks[b])[l];
      std::memcpy(&bytes[(b * kLines + l) * sizeof line], &line, sizeof line);
    }
  }
  return bytes;
}

}  // namespace tessera::cosim
