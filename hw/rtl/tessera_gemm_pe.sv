// A processing element. Weight-stationary, it keeps a weight (and takes over the one loaded behind it when a fold
// begins) and adds to the sum from above; output-stationary, it keeps the sum, and B passes downwards. A passes to the
// right. 10 x 10 bit products of differences from zero points, 32-bit sums with wrap-around.
`timescale 1ns/1ps
module tessera_gemm_pe (
  input  logic               clk_i,
  input  logic               move_i,
  input  logic               stationary_b_i,
  input  logic               valid_i,   // a step
  input  logic               first_i,   // output-stationary: the sum begins
  input  logic               begins_i,  // weight-stationary: the loaded weight takes over
  input  logic               load_i,
  input  logic signed [9:0]  weight_i,  // loaded
  input  logic signed [9:0]  a_i,
  input  logic signed [9:0]  b_i,
  input  logic [31:0]        above_i,
  output logic signed [9:0]  a_o,
  output logic signed [9:0]  b_o,
  output logic [31:0]        sum_o,
  output logic [31:0]        sum_now_o
);

  logic signed [9:0]  weight_q, loaded_q, weight, factor;
  logic signed [19:0] product;
  logic [31:0]        addend;

  assign weight = begins_i ? loaded_q : weight_q;
  assign factor = stationary_b_i ? weight : b_i;
  assign product = a_i * factor;
  assign addend = stationary_b_i ? above_i : (first_i ? 32'd0 : sum_o);
  assign sum_now_o = addend + 32'(product);

  always_ff @(posedge clk_i) begin
    if (move_i) begin
      a_o <= a_i;
      b_o <= b_i;
      weight_q <= weight;
      if (load_i) loaded_q <= weight_i;
      if (valid_i) sum_o <= sum_now_o;
    end
  end

endmodule
