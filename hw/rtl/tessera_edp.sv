// EDP: element-wise chains and pooling as one rigid pipeline with ports A, B, O (hw/models/edp and hw/models/unit
// README.md; class RigidUnit on an EdpPlan). The walker runs in nominal engine cycles; what it asks for in engine cycle
// e is used in e + Skew and written in e + WriteStage, behind pool, average and four operations. Refused, all freezes.
`timescale 1ns/1ps
module tessera_edp (
  input  logic                  clk_i,
  input  logic                  rst_ni,
  output logic                  ready_o,
  output logic                  busy_o,
  input  logic                  start_i,
  input  tessera_edp_pkg::edp_t edp_i,
  input  logic                  start_nop_i,
  input  logic [31:0]           nop_cycles_i,
  output logic                  done_o,
  // SRAM: A, B read, O writes
  output tessera_core_pkg::sram_req_t [2:0] sram_req_o,
  input  logic                  sram_gnt_i,
  input  logic [1:0][tessera_core_pkg::LineBits-1:0] sram_data_i,
  output logic                  conflict_o
);

  import tessera_core_pkg::*;
  import tessera_edp_pkg::*;

  if (Lanes > tessera_chip_pkg::SramLineBytes) begin : g_bad_lanes
    $error("edp.lanes is at most sram.line_bytes: ports are one line wide");
  end
  if (tessera_chip_pkg::EdpPipelineCycles < 1) begin : g_bad_pipeline
    $error("the chain ends in a register: edp.pipeline_cycles");
  end

  // ---- the instruction and its walker
  edp_t       edp_q;
  logic       engine_moves, active, walk_active, a_read, b_read;
  line_addr_t a_line, b_line;
  line_op_t   walk_op;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) edp_q <= '0;
    else if (start_i) edp_q <= edp_i;
  end

  tessera_edp_walk u_walk (
    .clk_i,
    .rst_ni,
    .move_i(engine_moves),
    .load_i(start_i),
    .edp_i(start_i ? edp_i : edp_q),
    .active_o(walk_active),
    .a_read_o(a_read),
    .a_line_o(a_line),
    .b_read_o(b_read),
    .b_line_o(b_line),
    .op_o(walk_op)
  );

  // ---- the pipeline: [k] was asked for k + 1 engine cycles ago
  line_op_t [WriteStage-1:0] op_q;
  line_op_t  pooling, averaging;
  write_op_t writing;
  logic      in_pipe;

  assign pooling = op_q[Skew-1];
  assign averaging = op_q[Skew-1+registers_of(0)];
  assign writing = op_q[WriteStage-1].write;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      op_q <= '0;
    end else if (engine_moves) begin
      op_q[0] <= walk_active ? walk_op : '0;
      for (int unsigned k = 1; k < WriteStage; k++) op_q[k] <= op_q[k-1];
    end
  end

  always_comb begin
    in_pipe = 1'b0;
    for (int unsigned k = 0; k < WriteStage; k++) in_pipe |= op_q[k].write.valid;
  end
  assign active = walk_active || in_pipe;

  // ---- ports
  logic [2:0]       needed, now, granted;
  line_addr_t [2:0] line;

  assign needed = {writing.valid && writing.writes, b_read, a_read};
  assign line = {writing.line, b_line, a_line};

  tessera_rigid_ports #(
    .Ports(3)
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
  logic [1:0]               use_line;
  logic [1:0][LineBits-1:0] data;

  assign use_line = {2{engine_moves}} & {pooling.uses_b, pooling.uses_a};

  for (genvar r = 0; r < 2; r++) begin : g_read
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

  logic [Lanes-1:0][31:0]             pooled, sum;
  logic [Lanes-1:0][15:0]             average;
  logic [Stages:0][Lanes-1:0][15:0]   value;   // before the chain and behind each stage
  logic [Stages+1:0][Lanes-1:0][7:0]  b;       // of pool, average, each stage
  logic [Lanes-1:0][15:0]             result;

  tessera_edp_pool u_pool (
    .clk_i,
    .move_i(engine_moves),
    .edp_i(edp_q),
    .op_i(pooling),
    .a_i(data[0]),
    .b_i(data[1]),
    .sum_o(pooled),
    .b_o(b[0])
  );

  tessera_delay #(
    .Width(32 * Lanes),
    .Cycles(registers_of(0))
  ) u_pooled (
    .clk_i,
    .move_i(engine_moves),
    .data_i(pooled),
    .data_o(sum)
  );

  tessera_edp_average u_average (
    .clk_i,
    .write_i(engine_moves && pooling.constant && pooling.part == '0),
    .index_i(pooling.index),
    .line_i(data[0]),
    .edp_i(edp_q),
    .slice_i(averaging.slice),
    .entry_i(averaging.entry),
    .sum_i(sum),
    .value_o(average)
  );

  tessera_delay #(
    .Width(16 * Lanes),
    .Cycles(registers_of(1))
  ) u_averaged (
    .clk_i,
    .move_i(engine_moves),
    .data_i(average),
    .data_o(value[0])
  );

  for (genvar s = 0; s < Stages + 1; s++) begin : g_b
    tessera_delay #(
      .Width(8 * Lanes),
      .Cycles(registers_of(s))
    ) u_b (
      .clk_i,
      .move_i(engine_moves),
      .data_i(b[s]),
      .data_o(b[s+1])
    );
  end

  for (genvar s = 0; s < Stages; s++) begin : g_stage
    logic [Lanes-1:0][15:0] applied;
    tessera_edp_stage u_stage (
      .clk_i,
      .write_i(engine_moves && pooling.constant && pooling.part == PartWidth'(s + 1)),
      .index_i(pooling.index),
      .line_i(data[0]),
      .stage_i(edp_q.stages[s]),
      .value_i(value[s]),
      .b_i(b[s+2]),
      .value_o(applied)
    );
    tessera_delay #(
      .Width(16 * Lanes),
      .Cycles(registers_of(s + 2))
    ) u_applied (
      .clk_i,
      .move_i(engine_moves),
      .data_i(applied),
      .data_o(value[s+1])
    );
  end

  tessera_delay #(
    .Width(16 * Lanes),
    .Cycles(Waits)
  ) u_waits (
    .clk_i,
    .move_i(engine_moves),
    .data_i(value[Stages]),
    .data_o(result)
  );

  // ---- the line that is written: slices wait for the last
  logic [Slices-1:0][Lanes-1:0][7:0] slices_q, slices;

  always_comb begin
    slices = slices_q;
    for (int unsigned j = 0; j < Lanes; j++) slices[writing.slice][j] = result[j][7:0];
  end

  always_ff @(posedge clk_i) begin
    if (engine_moves) slices_q <= slices;
  end

  always_comb begin
    for (int unsigned i = 0; i < 3; i++) begin
      sram_req_o[i].valid = now[i];
      sram_req_o[i].write = i == 2;
      sram_req_o[i].bank = bank_of(line[i]);
      sram_req_o[i].line = line[i][LineWidth-1:0];
      sram_req_o[i].data = '0;
      sram_req_o[i].strb = '0;
    end
    sram_req_o[2].data = LineBits'(slices);
    for (int unsigned x = 0; x < LinePixels; x++) begin
      sram_req_o[2].strb[Block*x+:Block] = writing.pixel_real[x] ? writing.lane_real : '0;
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

  always_ff @(posedge clk_i) begin
    if (rst_ni && pooling.constant && pooling.part == '0) begin
      EdpInsideEntries: assert (32'(pooling.index) < EntryLines)
      else $error("more average entries than a window or the scratchpad has");
    end
  end

endmodule
