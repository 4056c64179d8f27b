// One compute unit alone behind pins that are the same for every unit: where the models have the rest of the core
// (rtl_unit.hpp). The unit's read data come from outside, sram.read_latency cycles after the grant.
`timescale 1ns/1ps
module tessera_unit_bench #(
  parameter int unsigned Queue = 2  // tessera_isa_pkg::queue_id_e
) (
  input  logic          clk_i,
  input  logic          rst_ni,
  input  logic          start_i,
  input  logic          start_nop_i,
  input  logic [tessera_core_pkg::HeadBits-1:0] head_i,
  output logic          ready_o,
  output logic          busy_o,
  output logic          done_o,
  output logic          conflict_o,
  // Accesses that this cycle needs: all granted, or none.
  output logic [3:0]       valid_o,
  output logic [3:0]       write_o,
  output logic [3:0][31:0] bank_o,
  output logic [3:0][31:0] line_o,
  output logic [3:0][tessera_core_pkg::LineBits-1:0] data_o,
  output logic [3:0][tessera_chip_pkg::SramLineBytes-1:0] strb_o,
  input  logic             gnt_i,
  input  logic [2:0][tessera_core_pkg::LineBits-1:0] data_i  // of accesses 0 to 2
);

  import tessera_isa_pkg::*;
  import tessera_core_pkg::*;
  import tessera_slice_pkg::*;

  sram_req_t [3:0] access;
  nop_body_t       nop_body;
  assign nop_body = head_i[NopBits-1:HeaderBits];

  for (genvar p = 0; p < 4; p++) begin : g_access
    assign valid_o[p] = access[p].valid;
    assign write_o[p] = access[p].write;
    assign bank_o[p] = 32'(access[p].bank);
    assign line_o[p] = 32'(access[p].line);
    assign data_o[p] = access[p].data;
    assign strb_o[p] = access[p].strb;
  end

  if (Queue == 32'(QueueIdConv0) || Queue == 32'(QueueIdConv1)) begin : g_conv
    conv_body_t body;
    assign body = head_i[ConvBits-1:HeaderBits];
    tessera_conv u_unit (
      .clk_i,
      .rst_ni,
      .ready_o,
      .busy_o,
      .start_i,
      .conv_i(conv_of(body)),
      .start_nop_i,
      .nop_cycles_i(nop_body.f_cycles),
      .done_o,
      .sram_req_o(access),
      .sram_gnt_i(gnt_i),
      .sram_data_i(data_i),
      .conflict_o
    );
  end else if (Queue == 32'(QueueIdGemm)) begin : g_gemm
    gemm_body_t body;
    assign body = head_i[GemmBits-1:HeaderBits];
    tessera_gemm u_unit (
      .clk_i,
      .rst_ni,
      .ready_o,
      .busy_o,
      .start_i,
      .gemm_i(gemm_of(body)),
      .start_nop_i,
      .nop_cycles_i(nop_body.f_cycles),
      .done_o,
      .sram_req_o(access),
      .sram_gnt_i(gnt_i),
      .sram_data_i(data_i),
      .conflict_o
    );
  end else if (Queue == 32'(QueueIdEdp)) begin : g_edp
    edp_body_t       body;
    sram_req_t [2:0] three;
    assign body = head_i[EdpBits-1:HeaderBits];
    assign access = {sram_req_t'(0), three};
    tessera_edp u_unit (
      .clk_i,
      .rst_ni,
      .ready_o,
      .busy_o,
      .start_i,
      .edp_i(edp_of(body)),
      .start_nop_i,
      .nop_cycles_i(nop_body.f_cycles),
      .done_o,
      .sram_req_o(three),
      .sram_gnt_i(gnt_i),
      .sram_data_i(data_i[1:0]),
      .conflict_o
    );
  end else if (Queue == 32'(QueueIdReorder)) begin : g_reorder
    reorder_body_t body;
    assign body = head_i[ReorderBits-1:HeaderBits];
    assign access[3:2] = '0;
    tessera_reorder u_unit (
      .clk_i,
      .rst_ni,
      .ready_o,
      .busy_o,
      .start_i,
      .copy_i(reorder_of(body)),
      .start_nop_i,
      .nop_cycles_i(nop_body.f_cycles),
      .done_o,
      .read_o(access[0]),
      .write_o(access[1]),
      .sram_gnt_i(gnt_i),
      .sram_data_i(data_i[0]),
      .conflict_o
    );
  end else begin : g_none
    $error("no such unit in RTL");
  end

endmodule
