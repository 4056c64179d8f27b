// One channel of one pixel in the drain: bias, multiplier, shift with round half to even, zero point, clamp; then the
// residual, added with the two-scale rule of isa/semantics/requantize.hpp. Three register stages that move with the
// engine; the residual enters behind the last.
`timescale 1ns/1ps
module tessera_conv_requantize (
  input  logic                    clk_i,
  input  logic                    move_i,
  input  tessera_conv_pkg::conv_t conv_i,
  input  logic [31:0]             sum_i,
  input  logic [95:0]             params_i,  // bias, multiplier, shift
  input  logic [7:0]              residual_i,
  output logic [7:0]              value_o
);

  import tessera_requantize_pkg::*;

  // Stages behind the clamp: one multiplies, the others wait for the rest of conv.pipeline_cycles.
  localparam int unsigned Waits = tessera_chip_pkg::ConvPipelineCycles - 3;

  logic signed [15:0]                      own;
  logic signed [Waits-1:0][ScaledBits-1:0] scaled_q;
  logic signed [Waits-1:0][15:0]           own_q2;

  tessera_requantize u_own (
    .clk_i,
    .move_i,
    .sum_i,
    .bias_i(params_i[31:0]),
    .multiplier_i(conv_i.shift_only ? 32'd1 : params_i[63:32]),
    .shift_i(params_i[69:64]),
    .zp_i(conv_i.out_zp),
    .lo_i(conv_i.has_residual ? -16'sd128 : conv_i.lo),
    .hi_i(conv_i.has_residual ? 16'sd127 : conv_i.hi),
    .value_o(own)
  );

  always_ff @(posedge clk_i) begin
    if (move_i) begin
      own_q2[0] <= own;
      scaled_q[0] <= (ScaledBits'(own) - ScaledBits'(conv_i.out_zp)) * ScaledBits'(conv_i.res_ma);
      for (int unsigned i = 1; i < Waits; i++) begin
        own_q2[i] <= own_q2[i-1];
        scaled_q[i] <= scaled_q[i-1];
      end
    end
  end

  scaled_t            sum;
  logic signed [15:0] value;
  assign sum = signed'(scaled_q[Waits-1]) + (ScaledBits'(signed'(residual_i)) - ScaledBits'(conv_i.res_zb)) * ScaledBits'(conv_i.res_mb);
  assign value = conv_i.has_residual
      ? clamp(round_half_even(sum, conv_i.res_shift) + ScaledBits'(conv_i.res_zo), conv_i.lo, conv_i.hi) : own_q2[Waits-1];
  assign value_o = value[7:0];

endmodule
