// REORDER: runs of bytes, or of one value, under six loops; one line read and one written a cycle (hw/models/reorder and
// hw/models/unit README.md; class RigidUnit on a ReorderPlan). A step is the consecutive bytes with one pair of source and
// destination line, across runs. Step i is read in engine cycle i and written in engine cycle i + Latency, unless the next
// one goes on in its destination line; refused, the whole engine freezes.
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

  localparam int unsigned LineBytes = tessera_chip_pkg::SramLineBytes;

  // Where a byte lies: loop indices (iterations left), the addresses at which each loop's iteration began, place in the run.
  typedef struct packed {
    logic                          done;  // behind the last byte
    logic [RunWidth-1:0]           pos;
    logic [5:0][LoopWidth-1:0]     left;
    logic [5:0][SramAddrWidth-1:0] src;
    logic [5:0][SramAddrWidth-1:0] dst;
  } place_t;

  // A step between its read and its write.
  typedef struct packed {
    logic                                      valid;
    logic                                      fresh;  // its source line was read (else it is the one before)
    logic                                      last;
    line_addr_t                                dst;
    logic [LineBytes-1:0]                      take;   // bytes of the destination line
    logic [LineBytes-1:0][LineOffsetWidth-1:0] from;   // where each lies in the source line
  } step_t;

  function automatic place_t first_place(input reorder_t copy);
    place_t place;
    place.done = 1'b0;
    place.pos = '0;
    for (int unsigned k = 0; k < 6; k++) begin
      place.left[k] = copy.count[k] - LoopWidth'(1);
      place.src[k] = copy.src_addr;
      place.dst[k] = copy.dst_addr;
    end
    return place;
  endfunction

  // The innermost loop that has an iteration left moves on; all loops inside it begin again there.
  function automatic place_t next_place(input place_t at, input reorder_t copy);
    place_t next;
    logic   found;
    next = at;
    next.pos = at.pos + RunWidth'(1);
    if (next.pos == copy.run_bytes) begin
      next.pos = '0;
      found = 1'b0;
      for (int unsigned i = 0; i < 6; i++) begin
        if (!found && at.left[5-i] != '0) begin
          found = 1'b1;
          next.left[5-i] = at.left[5-i] - LoopWidth'(1);
          next.src[5-i] = at.src[5-i] + copy.src_stride[5-i];
          next.dst[5-i] = at.dst[5-i] + copy.dst_stride[5-i];
          for (int unsigned k = 0; k < 6; k++) begin
            if (k > 5 - i) begin
              next.left[k] = copy.count[k] - LoopWidth'(1);
              next.src[k] = next.src[5-i];
              next.dst[k] = next.dst[5-i];
            end
          end
        end
      end
      next.done = !found;
    end
    return next;
  endfunction

  // ---- the walk: the step that begins with the next byte
  reorder_t            copy_q;
  place_t              place_q, place_d;
  logic                stepping_q, first_q, step_ends, engine_moves;
  line_addr_t          src_line, last_src_q;
  step_t [Latency-1:0] pipe_q;  // pipe_q[k]: the step read k + 1 engine cycles ago
  step_t               now, writing;

  always_comb begin
    logic [SramAddrWidth-1:0] src, dst;
    logic                     going;
    place_d = place_q;
    src = place_q.src[5] + SramAddrWidth'(place_q.pos);
    dst = place_q.dst[5] + SramAddrWidth'(place_q.pos);
    src_line = src[SramAddrWidth-1:LineOffsetWidth];
    now.dst = dst[SramAddrWidth-1:LineOffsetWidth];
    now.take = '0;
    now.from = '0;
    going = stepping_q;
    for (int unsigned i = 0; i < LineBytes; i++) begin
      if (going) begin
        now.take[dst[LineOffsetWidth-1:0]] = 1'b1;
        now.from[dst[LineOffsetWidth-1:0]] = src[LineOffsetWidth-1:0];
        place_d = next_place(place_d, copy_q);
        src = place_d.src[5] + SramAddrWidth'(place_d.pos);
        dst = place_d.dst[5] + SramAddrWidth'(place_d.pos);
        going = !place_d.done && dst[SramAddrWidth-1:LineOffsetWidth] == now.dst
                && (copy_q.fill || src[SramAddrWidth-1:LineOffsetWidth] == src_line);
      end
    end
    step_ends = !going;
    now.valid = stepping_q;
    now.fresh = stepping_q && !copy_q.fill && (first_q || src_line != last_src_q);
    now.last = place_d.done;
  end

  // ---- accesses of this engine cycle: a read, and a write unless the next step has the same destination line
  logic       write_needed, active;
  logic [1:0] access, granted;

  assign writing = pipe_q[Latency-1];
  assign write_needed = writing.valid && (writing.last || pipe_q[Latency-2].dst != writing.dst);  // Latency is at least 2

  tessera_rigid_ports #(
    .Ports(2)
  ) u_ports (
    .clk_i,
    .rst_ni,
    .start_i,
    .active_i(active),
    .needed_i({write_needed, now.fresh}),
    .line_i({writing.dst, src_line}),
    .sram_gnt_i,
    .now_o(access),
    .granted_o(granted),
    .moves_o(engine_moves),
    .conflict_o
  );

  assign read_o.valid = access[0];
  assign read_o.write = 1'b0;
  assign read_o.bank = bank_of(src_line);
  assign read_o.line = src_line[LineWidth-1:0];
  assign read_o.data = '0;
  assign read_o.strb = '0;

  // ---- data: source line, destination register
  logic                 data_valid;
  logic [LineBits-1:0]  data, source_q, source, line_q, line_d;
  logic [LineBytes-1:0] strb_q, strb_d;

  tessera_read_port #(
    .Depth(Latency + 1)
  ) u_read (
    .clk_i,
    .rst_ni,
    .read_i(granted[0]),
    .sram_data_i,
    .use_i(engine_moves && writing.valid && writing.fresh),
    .valid_o(data_valid),
    .data_o(data)
  );

  assign source = writing.fresh ? data : source_q;

  always_comb begin
    line_d = line_q;
    strb_d = strb_q | writing.take;
    for (int unsigned i = 0; i < LineBytes; i++) begin
      if (writing.take[i]) line_d[8*i+:8] = copy_q.fill ? copy_q.fill_value : source[8*writing.from[i]+:8];
    end
  end

  assign write_o.valid = access[1];
  assign write_o.write = 1'b1;
  assign write_o.bank = bank_of(writing.dst);
  assign write_o.line = writing.dst[LineWidth-1:0];
  assign write_o.data = line_d;
  assign write_o.strb = strb_d;

  // Length: steps + Latency engine cycles, the last of them the write of the last step.
  always_comb begin
    active = stepping_q;
    for (int unsigned k = 0; k < Latency; k++) active |= pipe_q[k].valid;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      copy_q <= '0;
      place_q <= '0;
      stepping_q <= 1'b0;
      first_q <= 1'b0;
      last_src_q <= '0;
      pipe_q <= '0;
      source_q <= '0;
      line_q <= '0;
      strb_q <= '0;
    end else begin
      if (start_i) begin
        copy_q <= copy_i;
        place_q <= first_place(copy_i);
        stepping_q <= 1'b1;
        first_q <= 1'b1;
      end else if (engine_moves) begin
        pipe_q[0] <= now;
        for (int unsigned k = 1; k < Latency; k++) pipe_q[k] <= pipe_q[k-1];
        if (writing.valid) begin
          source_q <= source;
          line_q <= line_d;
          strb_q <= write_needed ? '0 : strb_d;
        end
        if (stepping_q) begin
          place_q <= place_d;
          first_q <= 1'b0;
          last_src_q <= src_line;
          stepping_q <= !place_d.done;
        end
      end
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

  ReorderDataInTime: assert property (@(posedge clk_i) disable iff (!rst_ni)
      write_o.valid && writing.fresh |-> data_valid)
  else $error("a line is written before its data came");

  ReorderStepFits: assert property (@(posedge clk_i) disable iff (!rst_ni)
      stepping_q |-> step_ends)
  else $error("a step has more bytes than a line: outside the slice");

endmodule
