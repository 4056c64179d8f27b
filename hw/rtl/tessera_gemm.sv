// GEMM: a systolic array with ports A, B, P (parameters) and O as one rigid pipeline, weight-stationary and output-
// stationary (hw/models/gemm and hw/models/unit README.md; class RigidUnit on a GemmPlan). Cursors walk the folds in
// nominal engine cycles, one for each port, one for the steps of the array and one for the rows of a weight tile. What
// they ask for in engine cycle e is carried out when its data have come, in e + Skew; a result line of nominal cycle n
// is written in n + WriteStage. Refused, all of it freezes.
`timescale 1ns/1ps
module tessera_gemm (
  input  logic                    clk_i,
  input  logic                    rst_ni,
  output logic                    ready_o,
  output logic                    busy_o,
  input  logic                    start_i,
  input  tessera_gemm_pkg::gemm_t gemm_i,
  input  logic                    start_nop_i,
  input  logic [31:0]             nop_cycles_i,
  output logic                    done_o,
  // SRAM: A, B, P read, O writes
  output tessera_core_pkg::sram_req_t [3:0] sram_req_o,
  input  logic                    sram_gnt_i,
  input  logic [2:0][tessera_core_pkg::LineBits-1:0] sram_data_i,
  output logic                    conflict_o
);

  import tessera_core_pkg::*;
  import tessera_gemm_pkg::*;

  if (Rows > LineBytes || Cols > LineBytes) begin : g_bad_array
    $error("gemm.rows and gemm.cols are at most sram.line_bytes");
  end
  if (tessera_chip_pkg::ConvPipelineCycles < 3) begin : g_bad_pipeline
    $error("requantisation has at least three stages: conv.pipeline_cycles");
  end

  // ---- the instruction
  gemm_t    gemm_q;
  derived_t derived_d, derived_q;
  logic     active_q, engine_moves, finishes;

  tessera_gemm_derive u_derive (
    .gemm_i,
    .derived_o(derived_d)
  );

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      gemm_q <= '0;
      derived_q <= '0;
      active_q <= 1'b0;
    end else if (start_i) begin
      gemm_q <= gemm_i;
      derived_q <= derived_d;
      active_q <= 1'b1;
    end else if (finishes) begin
      active_q <= 1'b0;
    end
  end

  // ---- cursors: A, B, steps, weight rows, P, O
  localparam int unsigned Cursors = 6;
  localparam int unsigned CursorA = 0;
  localparam int unsigned CursorB = 1;
  localparam int unsigned CursorStep = 2;
  localparam int unsigned CursorLoad = 3;
  localparam int unsigned CursorP = 4;
  localparam int unsigned CursorO = 5;

  cycle_t [Cursors-1:0]    delay;
  logic [Cursors-1:0][1:0] slot;
  position_t [Cursors-1:0] at;

  assign delay = {derived_d.delay_o, derived_d.delay_p, derived_d.delay_load, derived_d.delay_step, derived_d.delay_b,
                  derived_d.delay_a};
  assign slot = {derived_q.o_slot, 2'd1, derived_q.b_slot, derived_q.step_slot, derived_q.b_slot, derived_q.step_slot};

  for (genvar i = 0; i < Cursors; i++) begin : g_cursor
    tessera_gemm_cursor u_cursor (
      .clk_i,
      .rst_ni,
      .move_i(engine_moves),
      .start_i,
      .delay_i(delay[i]),
      .slot_i(slot[i]),
      .loads_i((i == CursorB || i == CursorLoad) && gemm_q.stationary_b),
      .gemm_i(gemm_q),
      .derived_i(derived_q),
      .at_o(at[i])
    );
  end

  // ---- micro-operations of this engine cycle
  operand_op_t a_op, b_op;
  step_op_t    step_op;
  load_op_t    load_op;
  param_op_t   param_op;
  drain_op_t   drain_op;
  line_addr_t [3:0] line;

  tessera_gemm_operand #(
    .IsB(1'b0)
  ) u_a (
    .at_i(at[CursorA]),
    .gemm_i(gemm_q),
    .derived_i(derived_q),
    .line_o(line[0]),
    .op_o(a_op)
  );

  tessera_gemm_operand #(
    .IsB(1'b1)
  ) u_b (
    .at_i(at[CursorB]),
    .gemm_i(gemm_q),
    .derived_i(derived_q),
    .line_o(line[1]),
    .op_o(b_op)
  );

  tessera_gemm_steps u_steps (
    .at_i(at[CursorStep]),
    .load_at_i(at[CursorLoad]),
    .gemm_i(gemm_q),
    .derived_i(derived_q),
    .step_o(step_op),
    .load_o(load_op)
  );

  tessera_gemm_drain u_drain (
    .at_i(at[CursorO]),
    .gemm_i(gemm_q),
    .derived_i(derived_q),
    .op_o(drain_op)
  );

  // ---- the pipeline: [k] was asked for k + 1 engine cycles ago
  operand_op_t [Skew-1:0]     a_pipe_q, b_pipe_q;
  step_op_t [Skew-1:0]        step_pipe_q;
  load_op_t [Skew-1:0]        load_pipe_q;
  param_op_t [Skew-1:0]       param_pipe_q;
  drain_op_t [WriteStage-1:0] drain_pipe_q;
  operand_op_t a_now, b_now;
  step_op_t    stepping;
  load_op_t    loading;
  param_op_t   param_now;
  drain_op_t   draining, writing;

  assign a_now = a_pipe_q[Skew-1];
  assign b_now = b_pipe_q[Skew-1];
  assign stepping = step_pipe_q[Skew-1];
  assign loading = load_pipe_q[Skew-1];
  assign param_now = param_pipe_q[Skew-1];
  assign draining = drain_pipe_q[DrainStage-1];
  assign writing = drain_pipe_q[WriteStage-1];
  assign finishes = engine_moves && writing.valid && writing.last;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      a_pipe_q <= '0;
      b_pipe_q <= '0;
      step_pipe_q <= '0;
      load_pipe_q <= '0;
      param_pipe_q <= '0;
      drain_pipe_q <= '0;
    end else if (engine_moves) begin
      a_pipe_q[0] <= a_op;
      b_pipe_q[0] <= b_op;
      step_pipe_q[0] <= step_op;
      load_pipe_q[0] <= load_op;
      param_pipe_q[0] <= param_op;
      drain_pipe_q[0] <= drain_op;
      for (int unsigned k = 1; k < Skew; k++) begin
        a_pipe_q[k] <= a_pipe_q[k-1];
        b_pipe_q[k] <= b_pipe_q[k-1];
        step_pipe_q[k] <= step_pipe_q[k-1];
        load_pipe_q[k] <= load_pipe_q[k-1];
        param_pipe_q[k] <= param_pipe_q[k-1];
      end
      for (int unsigned k = 1; k < WriteStage; k++) drain_pipe_q[k] <= drain_pipe_q[k-1];
    end
  end

  // ---- accesses of this engine cycle
  logic [3:0] needed, now, granted;

  assign needed = {writing.valid, param_op.valid, b_op.read, a_op.read} & {4{active_q}};
  assign line[3] = writing.line;

  tessera_rigid_ports #(
    .Ports(4)
  ) u_ports (
    .clk_i,
    .rst_ni,
    .start_i,
    .active_i(active_q),
    .needed_i(needed),
    .line_i(line),
    .sram_gnt_i,
    .now_o(now),
    .granted_o(granted),
    .moves_o(engine_moves),
    .conflict_o
  );

  // ---- data
  logic [2:0]               use_line;
  logic [2:0][LineBits-1:0] data;

  assign use_line = {3{engine_moves}} & {param_now.valid, b_now.read, a_now.read};

  for (genvar r = 0; r < 3; r++) begin : g_read
    logic unused_valid;
    tessera_read_port #(
      .Depth(Skew + 1)
    ) u_port (
      .clk_i,
      .rst_ni,
      .read_i(granted[r]),
      .sram_data_i(sram_data_i[r]),
      .use_i(use_line[r]),
      .valid_o(unused_valid),
      .data_o(data[r])
    );
  end

  logic [Rows-1:0][7:0]  a_bytes;
  logic [Cols-1:0][7:0]  b_bytes;
  logic [Cols-1:0][31:0] sums, bias, multiplier;
  logic [Cols-1:0][5:0]  shift;
  logic [Cols-1:0][7:0]  value, result;

  tessera_gemm_slice #(
    .Bytes(Rows)
  ) u_a_slice (
    .clk_i,
    .move_i(engine_moves),
    .op_i(a_now),
    .line_i(data[0]),
    .blocked_i(derived_q.block_a),
    .turn_i(stepping.turn),
    .column_i(stepping.column),
    .bytes_o(a_bytes)
  );

  tessera_gemm_slice #(
    .Bytes(Cols)
  ) u_b_slice (
    .clk_i,
    .move_i(engine_moves),
    .op_i(b_now),
    .line_i(data[1]),
    .blocked_i(derived_q.block_b),
    .turn_i(gemm_q.stationary_b ? loading.turn : stepping.turn),
    .column_i(gemm_q.stationary_b ? loading.row : stepping.column),
    .bytes_o(b_bytes)
  );

  tessera_gemm_params u_params (
    .clk_i,
    .move_i(engine_moves),
    .at_i(at[CursorP]),
    .gemm_i(gemm_q),
    .line_o(line[2]),
    .op_o(param_op),
    .op_i(param_now),
    .line_i(data[2]),
    .drain_i(draining),
    .bias_o(bias),
    .multiplier_o(multiplier),
    .shift_o(shift)
  );

  tessera_gemm_array u_array (
    .clk_i,
    .rst_ni,
    .move_i(engine_moves),
    .gemm_i(gemm_q),
    .step_i(stepping),
    .load_i(loading),
    .a_i(a_bytes),
    .b_i(b_bytes),
    .drain_i(draining),
    .sums_o(sums)
  );

  for (genvar c = 0; c < Cols; c++) begin : g_column
    logic signed [15:0] full;
    tessera_requantize u_requantize (
      .clk_i,
      .move_i(engine_moves),
      .sum_i(sums[c]),
      .bias_i(bias[c]),
      .multiplier_i(multiplier[c]),
      .shift_i(shift[c]),
      .zp_i(gemm_q.out_zp),
      .lo_i(gemm_q.lo),
      .hi_i(gemm_q.hi),
      .value_o(full)
    );
    assign value[c] = full[7:0];
  end

  tessera_delay #(
    .Width(8 * Cols),
    .Cycles(tessera_chip_pkg::ConvPipelineCycles - 3)
  ) u_result (
    .clk_i,
    .move_i(engine_moves),
    .data_i(value),
    .data_o(result)
  );

  // ---- a result row lies across two lines at most
  logic [1:0][LineBits-1:0]  result_lines;
  logic [1:0][LineBytes-1:0] result_strb;
  assign result_lines = (2*LineBits)'(result) << {writing.offset, 3'b000};
  assign result_strb = (2*LineBytes)'(writing.real_cols) << writing.offset;

  always_comb begin
    for (int unsigned i = 0; i < 4; i++) begin
      sram_req_o[i].valid = now[i];
      sram_req_o[i].write = i == 3;
      sram_req_o[i].bank = bank_of(line[i]);
      sram_req_o[i].line = line[i][LineWidth-1:0];
      sram_req_o[i].data = '0;
      sram_req_o[i].strb = '0;
    end
    sram_req_o[3].data = result_lines[writing.high];
    sram_req_o[3].strb = result_strb[writing.high];
  end

  // ---- popping
  tessera_popping u_popping (
    .clk_i,
    .rst_ni,
    .start_i,
    .start_nop_i,
    .nop_cycles_i,
    .active_i(active_q),
    .finishes_i(finishes),
    .ready_o,
    .busy_o,
    .done_o
  );

endmodule
