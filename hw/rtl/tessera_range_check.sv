// Do the heads keep the rules of their fields, and stay inside DRAM limits and scratchpad? (hw/models/cp/README.md rule 9;
// find_fault of isa/semantics/legal.hpp, in its order: fields, DRAM, SRAM.) A NOP touches nothing.
`timescale 1ns/1ps
module tessera_range_check (
  input  tessera_isa_pkg::load_body_t    load_i,
  input  tessera_isa_pkg::store_body_t   store_i,
  input  tessera_isa_pkg::gemm_body_t    gemm_i,
  input  tessera_isa_pkg::edp_body_t     edp_i,
  input  tessera_isa_pkg::reorder_body_t reorder_i,
  input  logic [7:0][63:0]               limit_i,
  output tessera_isa_pkg::fault_cause_e [tessera_core_pkg::Units-1:0] cause_o  // of an instruction that is no NOP
);

  import tessera_isa_pkg::*;
  import tessera_core_pkg::*;

  localparam logic signed [63:0] SramBytes =
      64'(tessera_chip_pkg::SramBanks) * 64'(tessera_chip_pkg::SramSizeBytes);

  function automatic fault_cause_e cause_of(input logic illegal, input logic dram_outside, input logic sram_outside);
    if (illegal) return FaultCauseIllegalWord;
    if (dram_outside) return FaultCauseDramLimit;
    if (sram_outside) return FaultCauseSramRange;
    return FaultCauseNone;
  endfunction

  // ---- LOAD and STORE (read as a LOAD, tessera_slice_pkg::dma_of)
  load_body_t [1:0]          dma;
  logic signed [1:0][63:0]   dram_begin, dram_end, dma_begin, dma_end, copy_begin, copy_end;
  logic signed [1:0][63:0]   row_extent, first_row;
  logic [1:0]                dma_illegal;
  logic [1:0][2:0][16:0]     dram_count, sram_count;
  logic [1:0][2:0][39:0]     dram_stride;
  logic [1:0][2:0][31:0]     sram_stride;

  assign dma = {load_body_t'(store_i), load_i};

  always_comb begin
    logic [16:0] run_rows;
    logic [24:0] groups, last_group;
    logic [23:0] rest;
    logic        circular, wraps;
    for (int unsigned k = 0; k < 2; k++) begin
      run_rows = 17'(dma[k].f_fill_rows_before) + 17'(dma[k].f_dims[2].f_count) + 17'(dma[k].f_fill_rows_after);
      rest = dma[k].f_row_bytes % dma[k].f_group_bytes;
      groups = 25'(dma[k].f_row_bytes) / 25'(dma[k].f_group_bytes) + 25'(rest != 24'd0)
               + 25'(dma[k].f_fill_groups_before) + 25'(dma[k].f_fill_groups_after);
      circular = dma[k].f_wrap_rows != 16'd0;
      dma_illegal[k] = (groups != 25'd1 && dma[k].f_group_stride < dma[k].f_group_bytes)
          || (circular && (17'(dma[k].f_wrap_rows) < run_rows || dma[k].f_first_row >= dma[k].f_wrap_rows));
      // A row ends with its last group, which is short if it is the last one of the data.
      last_group = (rest != 24'd0 && dma[k].f_fill_groups_after == 8'd0) ? 25'(rest) : 25'(dma[k].f_group_bytes);
      row_extent[k] = (64'(groups) - 64'd1) * 64'(dma[k].f_group_stride) + 64'(last_group);
      // Rows of the buffer that a run meets: all of them if it goes round the end.
      wraps = circular && 17'(dma[k].f_first_row) + run_rows > 17'(dma[k].f_wrap_rows);
      first_row[k] = (circular && !wraps) ? 64'(dma[k].f_first_row) : 64'd0;
      for (int unsigned d = 0; d < 3; d++) begin
        dram_count[k][d] = 17'(dma[k].f_dims[d].f_count);
        sram_count[k][d] = 17'(dma[k].f_dims[d].f_count);
        dram_stride[k][d] = dma[k].f_dims[d].f_dram_stride;
        sram_stride[k][d] = dma[k].f_dims[d].f_sram_stride;
      end
      sram_count[k][2] = wraps ? 17'(dma[k].f_wrap_rows) : run_rows;
    end
  end

  // ---- REORDER: source and destination
  logic [5:0][16:0]      copy_count;
  logic [1:0][31:0]      copy_base;
  logic [1:0][5:0][31:0] copy_stride;

  always_comb begin
    copy_base = {reorder_i.f_dst_base, reorder_i.f_src_base};
    for (int unsigned d = 0; d < 6; d++) begin
      copy_count[d] = 17'(reorder_i.f_dims[d].f_count);
      copy_stride[0][d] = reorder_i.f_dims[d].f_src_stride;
      copy_stride[1][d] = reorder_i.f_dims[d].f_dst_stride;
    end
  end

  for (genvar k = 0; k < 2; k++) begin : g_hull
    tessera_hull #(
      .Levels(3),
      .StrideWidth(40)
    ) u_dram (
      .base_i(64'(dma[k].f_dram_offset)),
      .bytes_i(64'(dma[k].f_row_bytes)),
      .count_i(dram_count[k]),
      .stride_i(dram_stride[k]),
      .begin_o(dram_begin[k]),
      .end_o(dram_end[k])
    );

    tessera_hull #(
      .Levels(3),
      .StrideWidth(32)
    ) u_dma (
      .base_i(64'(dma[k].f_sram_base) + first_row[k] * 64'(signed'(sram_stride[k][2]))),
      .bytes_i(row_extent[k]),
      .count_i(sram_count[k]),
      .stride_i(sram_stride[k]),
      .begin_o(dma_begin[k]),
      .end_o(dma_end[k])
    );

    tessera_hull #(
      .Levels(6),
      .StrideWidth(32)
    ) u_copy (
      .base_i(64'(copy_base[k])),
      .bytes_i(64'(reorder_i.f_run_bytes)),
      .count_i(copy_count),
      .stride_i(copy_stride[k]),
      .begin_o(copy_begin[k]),
      .end_o(copy_end[k])
    );
  end

  logic gemm_illegal, gemm_outside, edp_illegal, edp_outside;

  tessera_gemm_check u_gemm (
    .gemm_i,
    .illegal_o(gemm_illegal),
    .outside_o(gemm_outside)
  );

  tessera_edp_check u_edp (
    .edp_i,
    .illegal_o(edp_illegal),
    .outside_o(edp_outside)
  );

  always_comb begin
    logic copy_outside;
    copy_outside = 1'b0;
    cause_o[UnitLoad] = FaultCauseNone;
    cause_o[UnitStore] = FaultCauseNone;
    for (int unsigned k = 0; k < 2; k++) begin
      cause_o[UnitLoad + k] = cause_of(
          dma_illegal[k], signed'(dram_begin[k]) < 64'sd0 || dram_end[k] > limit_i[dma[k].f_base_register],
          signed'(dma_begin[k]) < 64'sd0 || signed'(dma_end[k]) > SramBytes);
      // A fill has no source.
      if (k == 1 || !reorder_i.f_fill) copy_outside |= signed'(copy_begin[k]) < 64'sd0 || signed'(copy_end[k]) > SramBytes;
    end
    // hw/cosim refuses convolutions that leave the scratchpad
    for (int unsigned e = 0; e < MostConvEngines; e++) cause_o[UnitConv + e] = FaultCauseNone;
    cause_o[UnitGemm] = cause_of(gemm_illegal, 1'b0, gemm_outside);
    cause_o[UnitEdp] = cause_of(edp_illegal, 1'b0, edp_outside);
    cause_o[UnitReorder] = cause_of(1'b0, 1'b0, copy_outside);
  end

endmodule
