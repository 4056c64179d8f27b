// Bias, multiplier, shift with round half to even, zero point, clamp (isa/semantics/requantize.hpp): of one sum, in two
// register stages that move with the engine.
`timescale 1ns/1ps
module tessera_requantize (
  input  logic               clk_i,
  input  logic               move_i,
  input  logic [31:0]        sum_i,
  input  logic [31:0]        bias_i,
  input  logic [31:0]        multiplier_i,
  input  logic [5:0]         shift_i,
  input  logic signed [15:0] zp_i,
  input  logic signed [15:0] lo_i,
  input  logic signed [15:0] hi_i,
  output logic signed [15:0] value_o
);

  import tessera_requantize_pkg::*;

  scaled_t            product_q;
  logic [5:0]         shift_q;
  logic signed [31:0] biased;

  assign biased = signed'(sum_i + bias_i);

  always_ff @(posedge clk_i) begin
    if (move_i) begin
      product_q <= ScaledBits'(biased) * signed'(ScaledBits'(multiplier_i));
      shift_q <= shift_i;
      value_o <= clamp(round_half_even(product_q, shift_q) + ScaledBits'(zp_i), lo_i, hi_i);
    end
  end

endmodule
