// The multipliers and accumulators: Lanes x Cout columns of Cin products each, summed into one entry of one of two
// accumulator halves a step (MACHINE.md section 7); depthwise, a column multiplies the taps of its own channel. 9 x 9 bit products, 32-bit sums with wrap-around.
`timescale 1ns/1ps
module tessera_conv_array (
  input  logic                        clk_i,
  input  logic                        move_i,
  input  tessera_conv_pkg::step_op_t  step_i,
  input  tessera_conv_pkg::derived_t  derived_i,
  input  logic [tessera_conv_pkg::Lanes-1:0][tessera_conv_pkg::Cin-1:0][7:0] pixels_i,
  input  logic [tessera_conv_pkg::Taps-1:0][tessera_conv_pkg::Lanes-1:0][tessera_conv_pkg::Cout-1:0][7:0] taps_i,
  input  logic [tessera_conv_pkg::Cin-1:0][tessera_conv_pkg::Cout-1:0][7:0]  weights_i,
  input  logic signed [8:0]           in_zp_i,
  input  logic signed [8:0]           w_zp_i,
  input  tessera_conv_pkg::drain_op_t drain_i,
  output logic [tessera_core_pkg::LinePixels-1:0][tessera_conv_pkg::Block-1:0][31:0] sums_o  // of the drained line
);

  import tessera_core_pkg::*;
  import tessera_conv_pkg::*;

  localparam int unsigned AccEntries = 1 << AccWidth;

  logic [Lanes-1:0][Cout-1:0][31:0] acc_q [2 * AccEntries];
  logic [Lanes-1:0][Cout-1:0][31:0] sum_before, sum_after;

  assign sum_before = acc_q[{step_i.half, step_i.acc}];

  always_comb begin
    logic signed [9:0]  x, w;
    logic signed [31:0] sum;
    for (int unsigned p = 0; p < Lanes; p++) begin
      for (int unsigned c = 0; c < Cout; c++) begin
        sum = step_i.first ? 32'sd0 : signed'(sum_before[p][c]);
        for (int unsigned i = 0; i < Cin; i++) begin
          // Padding is in_zp: it adds nothing; nor do channels that the map does not have.
          x = 10'sd0;
          if (!step_i.depthwise) begin
            if (step_i.exists[derived_i.lane_column[i]][p] && step_i.cin_real[i]) begin
              x = 10'(signed'(pixels_i[p][i])) - 10'(in_zp_i);
            end
          end else if (i < Taps) begin
            if (step_i.exists[i][p]) x = 10'(signed'(taps_i[i][p][c])) - 10'(in_zp_i);
          end
          w = 10'(signed'(weights_i[i][c])) - 10'(w_zp_i);
          sum = sum + 32'(x * w);
        end
        sum_after[p][c] = sum;
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (move_i && step_i.valid) acc_q[{step_i.half, step_i.acc}] <= sum_after;
  end

  for (genvar k = 0; k < LinePixels; k++) begin : g_pixel
    for (genvar c = 0; c < Block; c++) begin : g_channel
      assign sums_o[k][c] = acc_q[{drain_i.half, drain_i.acc[k]}][drain_i.lane[k]][32'(drain_i.block)*Block+c];
    end
  end

endmodule
