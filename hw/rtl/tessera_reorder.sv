// REORDER, plain copy: runs of whole lines under six loops, one line read and one written a cycle (hw/models/reorder and
// hw/models/unit README.md; class RigidUnit on a ReorderPlan). A step is one pair of source and destination line. Step i
// is read in engine cycle i and written in engine cycle i + Latency; refused, the whole engine freezes. Read data come
// back in real time into a small FIFO, whether the engine is frozen or not.
`timescale 1ns/1ps
module tessera_reorder (
  input  logic                        clk_i,
  input  logic                        rst_ni,
  output logic                        ready_o,
  output logic                        busy_o,
  input  logic                        start_i,
  input  tessera_core_pkg::reorder_t  copy_i,
  input  logic                        start_nop_i,
  input  logic [31:0]                 nop_cycles_i,
  output logic                        done_o,
  // SRAM
  output tessera_core_pkg::sram_req_t read_o,
  output tessera_core_pkg::sram_req_t write_o,
  input  logic                        sram_gnt_i,
  input  logic [tessera_core_pkg::LineBits-1:0] sram_data_i,
  output logic                        conflict_o
);

  import tessera_core_pkg::*;

  localparam int unsigned ReadLatency = tessera_chip_pkg::SramReadLatency;
  // Engine cycles from the read to the write of a step.
  localparam int unsigned Latency = ReadLatency + tessera_chip_pkg::ReorderPipelineCycles;

  // A step between its read and its write.
  typedef struct packed {
    logic                         valid;
    logic                         fresh;  // its source line was read (else it is the one before)
    logic                         last;
    logic [SramLineAddrWidth-1:0] dst;
  } step_t;

  // ---- the walk: run_lines lines from each loop index
  logic [RunWidth-1:0]          run_lines_q, pos_q;
  logic [SramLineAddrWidth-1:0] src_run, dst_run, src, dst, last_src_q;
  logic                         stepping_q, first_q, last_run, unused_last, ends_run, advance, engine_moves;
  step_t [Latency-1:0]          pipe_q;  // pipe_q[k]: the step read k + 1 engine cycles ago
  step_t                        now, writing;

  tessera_loops #(
    .Width(SramLineAddrWidth),
    .Levels(6),
    .CountWidth(LoopWidth)
  ) u_src (
    .clk_i,
    .rst_ni,
    .load_i(start_i),
    .base_i(copy_i.src_line),
    .count_i(copy_i.count),
    .stride_i(copy_i.src_stride),
    .next_i(advance && ends_run),
    .addr_o(src_run),
    .last_o(last_run)
  );

  tessera_loops #(
    .Width(SramLineAddrWidth),
    .Levels(6),
    .CountWidth(LoopWidth)
  ) u_dst (
    .clk_i,
    .rst_ni,
    .load_i(start_i),
    .base_i(copy_i.dst_line),
    .count_i(copy_i.count),
    .stride_i(copy_i.dst_stride),
    .next_i(advance && ends_run),
    .addr_o(dst_run),
    .last_o(unused_last)
  );

  assign src = src_run + SramLineAddrWidth'(pos_q);
  assign dst = dst_run + SramLineAddrWidth'(pos_q);
  assign ends_run = pos_q == run_lines_q - RunWidth'(1);
  assign advance = engine_moves && stepping_q;

  assign now.valid = stepping_q;
  assign now.fresh = stepping_q && (first_q || src != last_src_q);
  assign now.last = ends_run && last_run;
  assign now.dst = dst;

  // ---- accesses of this engine cycle: a read, and a write unless the next step has the same destination line
  logic read_needed, write_needed, same_bank, sub_q, second, active, granted;
  logic [BankWidth-1:0] read_bank, write_bank;
  logic [SramLineAddrWidth-1:0] following_dst;

  assign writing = pipe_q[Latency-1];
  assign following_dst = pipe_q[Latency-2].dst;  // Latency is at least 2
  assign read_needed = now.fresh;
  assign write_needed = writing.valid && (writing.last || following_dst != writing.dst);
  assign read_bank = src[SramLineAddrWidth-1-:BankWidth];
  assign write_bank = writing.dst[SramLineAddrWidth-1-:BankWidth];
  // Both in one bank: two sub-cycles, the read first.
  assign same_bank = read_needed && write_needed && read_bank == write_bank;
  assign second = same_bank && sub_q;

  assign read_o.valid = read_needed && !second;
  assign read_o.write = 1'b0;
  assign read_o.bank = read_bank;
  assign read_o.line = src[LineWidth-1:0];
  assign read_o.data = '0;
  assign read_o.strb = '0;

  logic [LineBits-1:0] fifo_data, held_q, write_data;
  logic                fifo_valid, read_done;

  assign write_data = writing.fresh ? fifo_data : held_q;
  assign write_o.valid = write_needed && (!same_bank || sub_q);
  assign write_o.write = 1'b1;
  assign write_o.bank = write_bank;
  assign write_o.line = writing.dst[LineWidth-1:0];
  assign write_o.data = write_data;
  assign write_o.strb = '1;

  assign granted = sram_gnt_i || !(read_o.valid || write_o.valid);
  assign engine_moves = active && granted && (!same_bank || sub_q);
  assign conflict_o = active && !engine_moves;
  assign read_done = read_o.valid && sram_gnt_i;

  // Length: steps + Latency engine cycles, the last of them the write of the last step.
  logic in_pipe;
  always_comb begin
    in_pipe = 1'b0;
    for (int unsigned k = 0; k < Latency; k++) in_pipe |= pipe_q[k].valid;
  end
  assign active = stepping_q || in_pipe;

  logic finishes, done_q, nop_busy, nop_done;
  assign finishes = engine_moves && writing.valid && writing.last;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      run_lines_q <= '0;
      pos_q <= '0;
      stepping_q <= 1'b0;
      first_q <= 1'b0;
      last_src_q <= '0;
      sub_q <= 1'b0;
      pipe_q <= '0;
      held_q <= '0;
      done_q <= 1'b0;
    end else begin
      done_q <= finishes;
      if (start_i) begin
        run_lines_q <= copy_i.run_lines;
        pos_q <= '0;
        stepping_q <= 1'b1;
        first_q <= 1'b1;
        sub_q <= 1'b0;
      end else if (active) begin
        sub_q <= same_bank && granted && !sub_q || (sub_q && !engine_moves);
        if (engine_moves) begin
          pipe_q[0] <= now;
          for (int unsigned k = 1; k < Latency; k++) pipe_q[k] <= pipe_q[k-1];
          if (writing.valid && writing.fresh) held_q <= fifo_data;
        end
        if (advance) begin
          first_q <= 1'b0;
          last_src_q <= src;
          pos_q <= ends_run ? '0 : pos_q + RunWidth'(1);
          if (now.last) stepping_q <= 1'b0;
        end
      end
    end
  end

  // ---- read data in flight: stage ReadLatency - 1 is on sram_data_i
  logic [ReadLatency-1:0] reading_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      reading_q <= '0;
    end else begin
      reading_q[0] <= read_done;
      for (int unsigned i = 1; i < ReadLatency; i++) reading_q[i] <= reading_q[i-1];
    end
  end

  tessera_fifo #(
    .Width(LineBits),
    .Depth(Latency + 1)
  ) u_lines (
    .clk_i,
    .rst_ni,
    .clear_i(1'b0),
    .push_i(reading_q[ReadLatency-1]),
    .data_i(sram_data_i),
    .pop_i(engine_moves && writing.valid && writing.fresh),
    .valid_o(fifo_valid),
    .data_o(fifo_data)
  );

  // ---- popping
  tessera_nop u_nop (
    .clk_i,
    .rst_ni,
    .start_i(start_nop_i),
    .cycles_i(nop_cycles_i),
    .busy_o(nop_busy),
    .done_o(nop_done)
  );

  assign busy_o = active || nop_busy;
  assign ready_o = !busy_o;
  assign done_o = done_q || nop_done;

  ReorderDataInTime: assert property (@(posedge clk_i) disable iff (!rst_ni)
      write_o.valid && writing.fresh |-> fifo_valid)
  else $error("a line is written before its data came");

  ReorderPlainCopy: assert property (@(posedge clk_i) disable iff (!rst_ni)
      stepping_q && !first_q |-> (src != last_src_q || dst != pipe_q[0].dst))
  else $error("two runs share a step: outside the plain copy");

  ReorderStartReady: assert property (@(posedge clk_i) disable iff (!rst_ni)
      (start_i || start_nop_i) |-> ready_o)
  else $error("popped an instruction while busy");

endmodule
