// The systolic array and its accumulator rows (hw/models/gemm/README.md, "Theory"). Row r gets its A r cycles late,
// column c its B c cycles late, so that element (r, c) works r + c engine cycles behind element (0, 0). A column hands
// over one sum a cycle: weight-stationary from its last row, output-stationary from the element that has just finished.
// Rows of sums are made straight and added to (or put into) a row of one of two accumulator halves.
`timescale 1ns/1ps
module tessera_gemm_array (
  input  logic                        clk_i,
  input  logic                        rst_ni,
  input  logic                        move_i,
  input  tessera_gemm_pkg::gemm_t     gemm_i,
  input  tessera_gemm_pkg::step_op_t  step_i,
  input  tessera_gemm_pkg::load_op_t  load_i,
  input  logic [tessera_gemm_pkg::Rows-1:0][7:0] a_i,
  input  logic [tessera_gemm_pkg::Cols-1:0][7:0] b_i,  // of the step, or the row of weights that is loaded
  input  tessera_gemm_pkg::drain_op_t drain_i,
  output logic [tessera_gemm_pkg::Cols-1:0][31:0] sums_o  // of the drained row
);

  import tessera_gemm_pkg::*;

  localparam int unsigned Taps = (Fill > 0) ? Fill : 1;

  typedef struct packed {
    logic                valid, begins, first, last, first_k, half;
    logic [AccWidth-1:0] acc;
  } flags_t;

  // ---- what travels with the diagonals, and with the columns
  flags_t [Taps:0]   flags;
  flags_t [Taps-1:0] flags_q;
  load_op_t [Cols-1:0] load, load_q;

  assign flags[0] = '{valid: step_i.valid, begins: step_i.begins, first: step_i.first,
                      last: step_i.valid && step_i.last, first_k: step_i.first_k, half: step_i.half, acc: step_i.acc};
  assign flags[Taps:1] = flags_q;
  for (genvar c = 0; c < Cols; c++) begin : g_load
    if (c == 0) begin : g_first
      assign load[0] = load_i;
    end else begin : g_later
      assign load[c] = load_q[c-1];
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      flags_q <= '0;
      load_q <= '0;
    end else if (move_i) begin
      flags_q <= flags[Taps-1:0];
      load_q <= load;
    end
  end

  // ---- operands at the edges
  logic signed [9:0] a_edge [Rows];
  logic signed [9:0] b_edge [Cols];

  for (genvar r = 0; r < Rows; r++) begin : g_row
    logic signed [9:0] difference;
    // Rows of the array behind the reduction length add nothing.
    assign difference = (16'(r) < step_i.depth) ? 10'(signed'(a_i[r])) - 10'(gemm_i.a_zp) : 10'sd0;
    tessera_delay #(
      .Width(10),
      .Cycles(r)
    ) u_skew (
      .clk_i,
      .move_i,
      .data_i(difference),
      .data_o(a_edge[r])
    );
  end

  for (genvar c = 0; c < Cols; c++) begin : g_column
    logic signed [9:0] difference;
    assign difference = 10'(signed'(b_i[c])) - 10'(gemm_i.b_zp);
    tessera_delay #(
      .Width(10),
      .Cycles(c)
    ) u_skew (
      .clk_i,
      .move_i,
      .data_i(difference),
      .data_o(b_edge[c])
    );
  end

  // ---- the array
  logic signed [9:0] a_out [Rows][Cols];
  logic signed [9:0] b_out [Rows][Cols];
  logic [31:0]       sum_out [Rows][Cols];
  logic [31:0]       sum_now [Rows][Cols];

  for (genvar r = 0; r < Rows; r++) begin : g_pe_row
    for (genvar c = 0; c < Cols; c++) begin : g_pe
      logic signed [9:0] a_in, b_in;
      logic [31:0]       above;
      if (c == 0) begin : g_left
        assign a_in = a_edge[r];
      end else begin : g_inner_column
        assign a_in = a_out[r][c-1];
      end
      if (r == 0) begin : g_top
        assign b_in = b_edge[c];
        assign above = 32'd0;
      end else begin : g_inner_row
        assign b_in = b_out[r-1][c];
        assign above = sum_out[r-1][c];
      end
      tessera_gemm_pe u_pe (
        .clk_i,
        .move_i,
        .stationary_b_i(gemm_i.stationary_b),
        .valid_i(flags[r+c].valid),
        .first_i(flags[r+c].first),
        .begins_i(flags[r+c].begins),
        .load_i(load[c].valid && load[c].row == ArrayRowWidth'(r)),
        .weight_i(b_edge[c]),
        .a_i(a_in),
        .b_i(b_in),
        .above_i(above),
        .a_o(a_out[r][c]),
        .b_o(b_out[r][c]),
        .sum_o(sum_out[r][c]),
        .sum_now_o(sum_now[r][c])
      );
    end
  end

  // ---- sums, a row at a time
  logic [Cols-1:0][31:0] row_sums;

  for (genvar c = 0; c < Cols; c++) begin : g_sums
    logic [31:0] finished;
    always_comb begin
      finished = sum_now[Rows-1][c];
      if (!gemm_i.stationary_b) begin
        for (int unsigned r = 0; r < Rows; r++) begin
          if (flags[r+c].last) finished = sum_now[r][c];
        end
      end
    end
    tessera_delay #(
      .Width(32),
      .Cycles(Cols - 1 - c)
    ) u_straight (
      .clk_i,
      .move_i,
      .data_i(finished),
      .data_o(row_sums[c])
    );
  end

  logic                  acc_valid, acc_first, acc_half;
  logic [AccWidth-1:0]   acc_row;
  logic [Cols-1:0][31:0] acc_q [2 << AccWidth];
  logic [Cols-1:0][31:0] sum_before, sum_after;

  always_comb begin
    acc_valid = flags[Fill].valid;
    acc_row = flags[Fill].acc;
    acc_half = flags[Fill].half;
    acc_first = flags[Fill].first_k;
    if (!gemm_i.stationary_b) begin
      acc_valid = 1'b0;
      acc_first = 1'b1;
      for (int unsigned r = 0; r < Rows; r++) begin
        if (flags[Cols-1+r].last) begin
          acc_valid = 1'b1;
          acc_row = AccWidth'(r);
          acc_half = flags[Cols-1+r].half;
        end
      end
    end
  end

  assign sum_before = acc_q[{acc_half, acc_row}];
  always_comb begin
    for (int unsigned c = 0; c < Cols; c++) sum_after[c] = (acc_first ? 32'd0 : sum_before[c]) + row_sums[c];
  end

  always_ff @(posedge clk_i) begin
    if (move_i && acc_valid) acc_q[{acc_half, acc_row}] <= sum_after;
  end

  assign sums_o = acc_q[{drain_i.half, drain_i.acc}];

  logic [Rows-1:0] last_of_column;
  for (genvar r = 0; r < Rows; r++) begin : g_last
    assign last_of_column[r] = flags[Cols-1+r].last;
  end
  GemmColumnOnce: assert property (@(posedge clk_i) disable iff (!rst_ni)
      !gemm_i.stationary_b |-> $onehot0(last_of_column))
  else $error("two elements of a column finish in one cycle");

endmodule
