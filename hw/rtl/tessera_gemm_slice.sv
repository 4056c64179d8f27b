// The bytes of a slot, out of the one or two lines that port A or B brings, and the transposer they pass in blocks: two
// buffers of Rows x Rows bytes, one written row by row while the other is read column by column.
`timescale 1ns/1ps
module tessera_gemm_slice #(
  parameter int unsigned Bytes = 8
) (
  input  logic                          clk_i,
  input  logic                          move_i,
  input  tessera_gemm_pkg::operand_op_t op_i,
  input  logic [tessera_core_pkg::LineBits-1:0] line_i,
  input  logic                          blocked_i,
  input  logic                          turn_i,    // of the block that is used
  input  logic [tessera_gemm_pkg::ArrayRowWidth-1:0] column_i,
  output logic [Bytes-1:0][7:0]         bytes_o    // plain: of the slot that ends; blocked: the column
);

  import tessera_core_pkg::*;
  import tessera_gemm_pkg::*;

  logic [LineBits-1:0]                  held_q, low;
  logic [2*LineBits-1:0]                shifted;
  logic [Rows-1:0][Rows-1:0][7:0]       block_q [2];
  logic [Rows-1:0][Rows-1:0][7:0]       block;
  logic [Bytes-1:0][7:0]                plain, turned;

  assign low = (op_i.read && !op_i.high) ? line_i : held_q;
  assign shifted = {line_i, low} >> {op_i.offset, 3'b000};
  assign plain = shifted[8*Bytes-1:0];

  always_ff @(posedge clk_i) begin
    if (move_i && op_i.read && !op_i.high) held_q <= line_i;
  end

  // A row of the transposer has Rows bytes; trans_b needs a square array (gemm_check).
  always_ff @(posedge clk_i) begin
    if (move_i && op_i.ends) block_q[op_i.turn][op_i.row] <= shifted[8*Rows-1:0];
  end

  assign block = block_q[turn_i];
  always_comb begin
    turned = '0;
    for (int unsigned i = 0; i < Bytes; i++) begin
      if (i < Rows) turned[i] = block[ArrayRowWidth'(i)][column_i];
    end
  end

  assign bytes_o = blocked_i ? turned : plain;

endmodule
