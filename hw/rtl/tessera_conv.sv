// CONV: window, weights, MAC array, accumulators and drain as one rigid pipeline with ports A, W, R, O
// (hw/models/conv and hw/models/unit README.md; class RigidUnit on a ConvPlan). Three walkers (fill, slots, drain) run
// in nominal engine cycles; a phase ends when they are done. What they ask for in engine cycle e is carried out when its
// data have come, in e + Skew; a line drained in nominal cycle n is written in n + WriteStage. Refused, all of it freezes.
`timescale 1ns/1ps
module tessera_conv (
  input  logic                    clk_i,
  input  logic                    rst_ni,
  output logic                    ready_o,
  output logic                    busy_o,
  input  logic                    start_i,
  input  tessera_conv_pkg::conv_t conv_i,
  input  logic                    start_nop_i,
  input  logic [31:0]             nop_cycles_i,
  output logic                    done_o,
  // SRAM: A, W, R read, O writes
  output tessera_core_pkg::sram_req_t [3:0] sram_req_o,
  input  logic                    sram_gnt_i,
  input  logic [2:0][tessera_core_pkg::LineBits-1:0] sram_data_i,
  output logic                    conflict_o
);

  import tessera_core_pkg::*;
  import tessera_conv_pkg::*;

  if (tessera_chip_pkg::ConvPipelineCycles < 4) begin : g_bad_pipeline
    $error("the drain of the slice has at least four stages: conv.pipeline_cycles");
  end

  if (Taps > Cin) begin : g_bad_taps
    $error("conv.depthwise_taps is at most conv.cin_lanes in the slice");
  end

  // ---- the instruction
  conv_t    conv_q, conv_now;
  derived_t derived_q, derived_d, derived_now;

  tessera_conv_derive u_derive (
    .conv_i,
    .derived_o(derived_d)
  );

  assign conv_now = start_i ? conv_i : conv_q;
  assign derived_now = start_i ? derived_d : derived_q;

  // ---- phases
  logic   active, engine_moves, phase_active_q, prologue_q, window_q, window_d, half_q, last_cin;
  logic   next_valid_q, next_same_q, following_valid, following_same, phase_ends, tile_ends, begins;
  logic   fill_done, slots_done, drain_done, drain_active;
  phase_t phase_q, next_q, following;

  tessera_conv_next u_next (
    .conv_i(conv_q),
    .derived_i(derived_q),
    .phase_i(next_q),
    .phase_o(following),
    .valid_o(following_valid),
    .same_window_o(following_same)
  );

  assign last_cin = !prologue_q && phase_q.cin + 16'd1 == cin_tiles_of(phase_q, conv_q, derived_q);
  // A tile's last phase lasts until the accumulator half that is needed next has been drained.
  assign phase_ends = phase_active_q && slots_done && fill_done && (!last_cin || drain_done);
  assign tile_ends = phase_ends && last_cin;
  assign begins = engine_moves && phase_ends && next_valid_q;
  assign window_d = next_same_q ? window_q : !window_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      conv_q <= '0;
      derived_q <= '0;
      phase_active_q <= 1'b0;
      prologue_q <= 1'b0;
      window_q <= 1'b0;
      half_q <= 1'b0;
      next_valid_q <= 1'b0;
      next_same_q <= 1'b0;
      phase_q <= '0;
      next_q <= '0;
    end else if (start_i) begin
      conv_q <= conv_i;
      derived_q <= derived_d;
      phase_active_q <= 1'b1;
      prologue_q <= 1'b1;
      next_valid_q <= 1'b1;
      next_same_q <= 1'b0;
      phase_q <= '0;
      next_q <= '0;
    end else if (engine_moves && phase_ends) begin
      phase_active_q <= next_valid_q;
      prologue_q <= 1'b0;
      window_q <= window_d;
      if (tile_ends) half_q <= !half_q;
      phase_q <= next_q;
      next_q <= following;
      next_valid_q <= following_valid;
      next_same_q <= following_same;
    end
  end

  // ---- walkers
  logic        fill_read, weight_read;
  line_addr_t  fill_line, weight_line;
  fill_op_t    fill_op;
  weight_op_t  weight_op;
  step_op_t    step_op;
  drain_op_t   drain_op;

  tessera_conv_fill u_fill (
    .clk_i,
    .rst_ni,
    .move_i(engine_moves),
    .load_i(start_i || begins),
    .needed_i(start_i || (following_valid && !following_same)),
    .buffer_i(start_i ? !window_q : !window_d),
    .phase_i(start_i ? '0 : following),
    .conv_i(conv_now),
    .derived_i(derived_now),
    .done_o(fill_done),
    .read_o(fill_read),
    .line_o(fill_line),
    .op_o(fill_op)
  );

  tessera_conv_slots u_slots (
    .clk_i,
    .rst_ni,
    .move_i(engine_moves),
    .start_i,
    .load_i(start_i || begins),
    .prologue_i(prologue_q),
    .phase_i(phase_q),
    .next_i(next_q),
    .next_valid_i(next_valid_q),
    .window_i(window_q),
    .half_i(half_q),
    .conv_i(conv_q),
    .derived_i(derived_q),
    .done_o(slots_done),
    .read_o(weight_read),
    .line_o(weight_line),
    .weight_op_o(weight_op),
    .step_op_o(step_op)
  );

  tessera_conv_drain u_drain (
    .clk_i,
    .rst_ni,
    .move_i(engine_moves),
    .load_i(engine_moves && tile_ends),
    .last_tile_i(!next_valid_q),
    .half_i(half_q),
    .phase_i(phase_q),
    .conv_i(conv_q),
    .derived_i(derived_q),
    .active_o(drain_active),
    .done_o(drain_done),
    .op_o(drain_op)
  );

  // ---- the pipeline: [k] was asked for k + 1 engine cycles ago
  fill_op_t   [Skew-1:0]       fill_pipe_q;
  weight_op_t [Skew-1:0]       weight_pipe_q;
  step_op_t   [Skew-1:0]       step_pipe_q;
  drain_op_t  [WriteStage-1:0] drain_pipe_q;
  fill_op_t   filling;
  weight_op_t weighing;
  step_op_t   stepping;
  drain_op_t  draining, writing;
  logic       in_pipe;

  assign filling = fill_pipe_q[Skew-1];
  assign weighing = weight_pipe_q[Skew-1];
  assign stepping = step_pipe_q[Skew-1];
  assign draining = drain_pipe_q[Skew-1];
  assign writing = drain_pipe_q[WriteStage-1];

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      fill_pipe_q <= '0;
      weight_pipe_q <= '0;
      step_pipe_q <= '0;
      drain_pipe_q <= '0;
    end else if (engine_moves) begin
      fill_pipe_q <= {fill_pipe_q[Skew-2:0], fill_op};
      weight_pipe_q <= {weight_pipe_q[Skew-2:0], weight_op};
      step_pipe_q <= {step_pipe_q[Skew-2:0], step_op};
      drain_pipe_q <= {drain_pipe_q[WriteStage-2:0], drain_op};
    end
  end

  always_comb begin
    in_pipe = 1'b0;
    for (int unsigned k = 0; k < WriteStage; k++) in_pipe |= drain_pipe_q[k].valid;
  end
  assign active = phase_active_q || drain_active || in_pipe;

  // ---- accesses of this engine cycle: port i goes to the first sub-cycle in which its bank is free
  logic [3:0]           needed, now, granted;
  line_addr_t [3:0]     line;
  drain_op_t            adding;  // its residual line is read

  assign adding = drain_pipe_q[tessera_chip_pkg::ConvPipelineCycles-1];
  assign needed = {writing.valid, adding.valid && conv_q.has_residual, weight_read, fill_read};
  assign line = {writing.out, adding.residual, weight_line, fill_line};

  tessera_rigid_ports #(
    .Ports(4)
  ) u_ports (
    .clk_i,
    .rst_ni,
    .start_i,
    .active_i(active),
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
  logic [LineBits-1:0]      result;

  assign use_line = {3{engine_moves}} & {writing.valid && conv_q.has_residual, weighing.valid,
                                         filling.valid && filling.ends_line};

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

  logic [Lanes-1:0][Cin-1:0][7:0]             pixels;
  logic [Taps-1:0][Lanes-1:0][Cout-1:0][7:0]  taps;
  logic [Cin-1:0][Cout-1:0][7:0]              weights;
  logic [Block-1:0][8*ParamBytes-1:0]         params;
  logic [LinePixels-1:0][Block-1:0][31:0]     sums;

  tessera_conv_window u_window (
    .clk_i,
    .write_i(engine_moves && filling.valid),
    .op_i(filling),
    .line_i(data[0]),
    .step_i(stepping),
    .derived_i(derived_q),
    .pixels_o(pixels),
    .taps_o(taps)
  );

  tessera_conv_weights u_weights (
    .clk_i,
    .write_i(engine_moves),
    .op_i(weighing),
    .line_i(data[1]),
    .step_i(stepping),
    .weights_o(weights),
    .drain_i(draining),
    .params_o(params)
  );

  tessera_conv_array u_array (
    .clk_i,
    .move_i(engine_moves),
    .step_i(stepping),
    .derived_i(derived_q),
    .pixels_i(pixels),
    .taps_i(taps),
    .weights_i(weights),
    .in_zp_i(conv_q.in_zp),
    .w_zp_i(conv_q.w_zp),
    .drain_i(draining),
    .sums_o(sums)
  );

  for (genvar k = 0; k < LinePixels; k++) begin : g_pixel
    for (genvar c = 0; c < Block; c++) begin : g_channel
      tessera_conv_requantize u_requantize (
        .clk_i,
        .move_i(engine_moves),
        .conv_i(conv_q),
        .sum_i(sums[k][c]),
        .params_i(params[c]),
        .residual_i(data[2][8*(k*Block+c)+:8]),
        .value_o(result[8*(k*Block+c)+:8])
      );
    end
  end

  always_comb begin
    for (int unsigned i = 0; i < 4; i++) begin
      sram_req_o[i].valid = now[i];
      sram_req_o[i].write = i == 3;
      sram_req_o[i].bank = bank_of(line[i]);
      sram_req_o[i].line = line[i][LineWidth-1:0];
      sram_req_o[i].data = '0;
      sram_req_o[i].strb = '0;
    end
    sram_req_o[3].data = result;
    for (int unsigned k = 0; k < LinePixels; k++) begin
      sram_req_o[3].strb[Block*k+:Block] = writing.pixel_real[k] ? writing.cout_real : '0;
    end
  end

  // ---- popping
  tessera_popping u_popping (
    .clk_i,
    .rst_ni,
    .start_i,
    .start_nop_i,
    .nop_cycles_i,
    .active_i(active),
    .finishes_i(engine_moves && writing.valid && writing.last),
    .ready_o,
    .busy_o,
    .done_o
  );

endmodule
