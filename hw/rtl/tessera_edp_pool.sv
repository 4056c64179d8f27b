// The first step of the vector unit: each element of an output line folds in what its window finds in an input line, a
// slice of the line a cycle. The maximum starts at -128, so that windows of one pixel copy; sums are int32 and wrap.
// Also brings the elements of b.
`timescale 1ns/1ps
module tessera_edp_pool (
  input  logic                      clk_i,
  input  logic                      move_i,
  input  tessera_edp_pkg::edp_t     edp_i,
  input  tessera_edp_pkg::line_op_t op_i,
  input  logic [tessera_core_pkg::LineBits-1:0] a_i,
  input  logic [tessera_core_pkg::LineBits-1:0] b_i,
  output logic [tessera_edp_pkg::Lanes-1:0][31:0] sum_o,  // maximum or sum so far
  output logic [tessera_edp_pkg::Lanes-1:0][7:0]  b_o
);

  import tessera_core_pkg::*;
  import tessera_edp_pkg::*;

  logic [LineBits-1:0]                a, b, a_q, b_q;
  logic [Slices-1:0][Lanes-1:0][31:0] sum_q;

  // Of lines that serve several cycles.
  assign a = op_i.uses_a ? a_i : a_q;
  assign b = op_i.uses_b ? b_i : b_q;

  always_comb begin
    int unsigned at, pixel, channel;
    logic signed [31:0] sum, value;
    for (int unsigned j = 0; j < Lanes; j++) begin
      at = 32'(op_i.slice) * Lanes + j;
      if (at >= tessera_chip_pkg::SramLineBytes) at = 0;  // a lane without an element
      pixel = at / Block;
      channel = at % Block;
      sum = op_i.first ? (edp_i.average ? 32'sd0 : -32'sd128) : signed'(sum_q[op_i.slice][j]);
      for (int unsigned q = 0; q < LinePixels; q++) begin
        value = 32'(signed'(a[8*(q*Block+channel)+:8]));
        if (op_i.taken[pixel][q]) begin
          if (edp_i.average) sum = sum + value - 32'(edp_i.a_zp);
          else if (value > sum) sum = value;
        end
      end
      sum_o[j] = unsigned'(sum);
      b_o[j] = b[8*(edp_i.b_broadcast ? channel : at)+:8];
    end
  end

  always_ff @(posedge clk_i) begin
    if (move_i && !op_i.constant) begin
      a_q <= a;
      b_q <= b;
      sum_q[op_i.slice] <= sum_o;
    end
  end

endmodule
