// Port P: the parameters of an n tile, read in front of its first sums (hw/models/gemm/README.md, "Reads"), and kept
// until its last result. Parameters of the instruction take their place without per_column.
`timescale 1ns/1ps
module tessera_gemm_params (
  input  logic                          clk_i,
  input  logic                          move_i,
  // Nominal cycle
  input  tessera_gemm_pkg::position_t   at_i,
  input  tessera_gemm_pkg::gemm_t       gemm_i,
  output tessera_core_pkg::line_addr_t  line_o,
  output tessera_gemm_pkg::param_op_t   op_o,
  // When the line has come
  input  tessera_gemm_pkg::param_op_t   op_i,
  input  logic [tessera_core_pkg::LineBits-1:0] line_i,
  // When a row leaves
  input  tessera_gemm_pkg::drain_op_t   drain_i,
  output logic [tessera_gemm_pkg::Cols-1:0][31:0] bias_o,
  output logic [tessera_gemm_pkg::Cols-1:0][31:0] multiplier_o,
  output logic [tessera_gemm_pkg::Cols-1:0][5:0]  shift_o
);

  import tessera_core_pkg::*;
  import tessera_gemm_pkg::*;

  typedef logic [SramAddrWidth-1:0] byte_addr_t;

  byte_addr_t begin_byte, last_byte;
  line_addr_t begin_line, lines_behind;
  cycle_t     index;

  assign begin_byte = gemm_i.p_base + byte_addr_t'(at_i.fold.n) * byte_addr_t'(ParamBytes);
  assign last_byte = begin_byte + byte_addr_t'(cols_of(at_i.fold, gemm_i)) * byte_addr_t'(ParamBytes) - byte_addr_t'(1);
  assign begin_line = line_addr_t'(begin_byte >> LineOffsetWidth);
  assign lines_behind = line_addr_t'(last_byte >> LineOffsetWidth) - begin_line;
  assign index = at_i.block + cycle_t'(at_i.row);
  assign line_o = begin_line + line_addr_t'(index);

  always_comb begin
    op_o.valid = at_i.valid && gemm_i.per_column && at_i.fold.k == '0
        && index <= cycle_t'(lines_behind);
    op_o.params = at_i.fold.params;
    op_o.index = ParamIndexWidth'(index);
  end

  logic [ParamLines-1:0][LineBits-1:0] sets_q [ParamSets];
  logic [ParamLines*LineBits-1:0]      shifted;

  always_ff @(posedge clk_i) begin
    if (move_i && op_i.valid) sets_q[op_i.params][op_i.index] <= line_i;
  end

  assign shifted = sets_q[drain_i.params] >> {drain_i.param_offset, 3'b000};

  for (genvar c = 0; c < Cols; c++) begin : g_column
    logic [8*ParamBytes-1:0] own;
    assign own = shifted[8*ParamBytes*c+:8*ParamBytes];
    assign bias_o[c] = gemm_i.per_column ? own[31:0] : '0;
    assign multiplier_o[c] = gemm_i.per_column ? own[63:32] : 32'(gemm_i.multiplier);
    assign shift_o[c] = gemm_i.per_column ? own[69:64] : gemm_i.shift;
  end

endmodule
