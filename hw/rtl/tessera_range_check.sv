// Do the heads stay inside DRAM limits and scratchpad? (hw/models/cp/README.md rule 9; find_range_fault of
// isa/semantics/legal.hpp.) A NOP touches nothing. DRAM is looked at before SRAM.
`timescale 1ns/1ps
module tessera_range_check (
  input  tessera_isa_pkg::load_body_t    load_i,
  input  tessera_isa_pkg::store_body_t   store_i,
  input  tessera_isa_pkg::reorder_body_t reorder_i,
  input  logic [7:0][63:0]               limit_i,
  output tessera_isa_pkg::fault_cause_e [tessera_core_pkg::Units-1:0] cause_o  // of an instruction that is no NOP
);

  import tessera_isa_pkg::*;
  import tessera_core_pkg::*;

  localparam logic signed [63:0] SramBytes =
      64'(tessera_chip_pkg::SramBanks) * 64'(tessera_chip_pkg::SramSizeBytes);

  function automatic fault_cause_e cause_of(input logic dram_outside, input logic sram_outside);
    if (dram_outside) return FaultCauseDramLimit;
    if (sram_outside) return FaultCauseSramRange;
    return FaultCauseNone;
  endfunction

  logic signed [1:0][63:0]   dram_begin, dram_end, dma_begin, dma_end, copy_begin, copy_end;
  logic [1:0][2:0][15:0]     count;
  logic [1:0][2:0][39:0]     dram_stride;
  logic [1:0][2:0][31:0]     sram_stride;
  logic [1:0][39:0]          dram_offset;
  logic [1:0][31:0]          sram_base, copy_base;
  logic [1:0][23:0]          row_bytes;
  logic [1:0][2:0]           base_register;
  logic [5:0][15:0]          copy_count;
  logic [1:0][5:0][31:0]     copy_stride;

  always_comb begin
    dram_offset = {store_i.f_dram_offset, load_i.f_dram_offset};
    sram_base = {store_i.f_sram_base, load_i.f_sram_base};
    row_bytes = {store_i.f_row_bytes, load_i.f_row_bytes};
    base_register = {store_i.f_base_register, load_i.f_base_register};
    for (int unsigned d = 0; d < 3; d++) begin
      count[0][d] = load_i.f_dims[d].f_count;
      count[1][d] = store_i.f_dims[d].f_count;
      dram_stride[0][d] = load_i.f_dims[d].f_dram_stride;
      dram_stride[1][d] = store_i.f_dims[d].f_dram_stride;
      sram_stride[0][d] = load_i.f_dims[d].f_sram_stride;
      sram_stride[1][d] = store_i.f_dims[d].f_sram_stride;
    end
    copy_base = {reorder_i.f_dst_base, reorder_i.f_src_base};
    for (int unsigned d = 0; d < 6; d++) begin
      copy_count[d] = reorder_i.f_dims[d].f_count;
      copy_stride[0][d] = reorder_i.f_dims[d].f_src_stride;
      copy_stride[1][d] = reorder_i.f_dims[d].f_dst_stride;
    end
  end

  for (genvar k = 0; k < 2; k++) begin : g_hull
    tessera_hull #(
      .Levels(3),
      .StrideWidth(40)
    ) u_dram (
      .base_i(64'(dram_offset[k])),
      .bytes_i(row_bytes[k]),
      .count_i(count[k]),
      .stride_i(dram_stride[k]),
      .begin_o(dram_begin[k]),
      .end_o(dram_end[k])
    );

    tessera_hull #(
      .Levels(3),
      .StrideWidth(32)
    ) u_dma (
      .base_i(64'(sram_base[k])),
      .bytes_i(row_bytes[k]),
      .count_i(count[k]),
      .stride_i(sram_stride[k]),
      .begin_o(dma_begin[k]),
      .end_o(dma_end[k])
    );

    // Source and destination of REORDER.
    tessera_hull #(
      .Levels(6),
      .StrideWidth(32)
    ) u_copy (
      .base_i(64'(copy_base[k])),
      .bytes_i(24'(reorder_i.f_run_bytes)),
      .count_i(copy_count),
      .stride_i(copy_stride[k]),
      .begin_o(copy_begin[k]),
      .end_o(copy_end[k])
    );
  end

  always_comb begin
    logic copy_outside;
    copy_outside = 1'b0;
    cause_o[UnitLoad] = FaultCauseNone;
    cause_o[UnitStore] = FaultCauseNone;
    for (int unsigned k = 0; k < 2; k++) begin
      cause_o[UnitLoad + k] = cause_of(
          signed'(dram_begin[k]) < 64'sd0 || dram_end[k] > limit_i[base_register[k]],
          signed'(dma_begin[k]) < 64'sd0 || signed'(dma_end[k]) > SramBytes);
      copy_outside |= signed'(copy_begin[k]) < 64'sd0 || signed'(copy_end[k]) > SramBytes;
    end
    cause_o[UnitConv] = FaultCauseNone;  // hw/cosim refuses programs that leave the scratchpad here
    cause_o[UnitReorder] = cause_of(1'b0, copy_outside);
  end

endmodule
