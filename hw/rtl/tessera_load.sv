// LOAD: AR generator, landing buffer, line register (hw/models/load/README.md; class LoadCore).
`timescale 1ns/1ps
module tessera_load (
  input  logic                        clk_i,
  input  logic                        rst_ni,
  // From the command processor: start_i pops dma_i, start_nop_i a NOP.
  output logic                        ready_o,
  output logic                        ready_nop_o,
  output logic                        busy_o,
  input  logic                        start_i,
  input  tessera_core_pkg::dma_t      dma_i,
  input  logic                        start_nop_i,
  input  logic [31:0]                 nop_cycles_i,
  output logic                        done_o,
  // AXI read manager; RREADY is always 1.
  output logic                        ar_valid_o,
  input  logic                        ar_ready_i,
  output tessera_core_pkg::axi_ax_t   ar_o,
  input  logic                        r_valid_i,
  input  logic                        r_last_i,
  input  logic [tessera_core_pkg::BeatBits-1:0] r_data_i,
  // SRAM
  output tessera_core_pkg::sram_req_t sram_req_o,
  input  logic                        sram_gnt_i,
  output logic                        conflict_o
);

  import tessera_core_pkg::*;

  localparam int unsigned DataBytes = tessera_chip_pkg::AxiDataBytes;
  localparam int unsigned LineBytes = tessera_chip_pkg::SramLineBytes;
  localparam int unsigned Outstanding = tessera_chip_pkg::AxiReadOutstanding;
  localparam int unsigned InFlight = tessera_chip_pkg::LoadInFlight;
  localparam int unsigned BufferBeats = tessera_chip_pkg::LoadLandingBytes / DataBytes;
  localparam int unsigned MaxBurst = tessera_chip_pkg::AxiMaxBurstBeats;
  localparam int unsigned BurstLimit = (MaxBurst < BufferBeats) ? MaxBurst : BufferBeats;
  localparam int unsigned OutWidth = $clog2(Outstanding + 1);
  localparam int unsigned FlightWidth = $clog2(InFlight + 1);
  localparam int unsigned BeatCountWidth = $clog2(BufferBeats + 1);
  localparam int unsigned BeatIndexWidth = $clog2(BufferBeats);

  // ---- AR side
  logic                      generating_q, ar_held_q, held_last_q;
  axi_ax_t                   ar_held_burst_q, burst;
  logic [OutWidth-1:0]       outstanding_q, outstanding_now;
  logic [BeatCountWidth-1:0] free_q;
  logic                      burst_last, raise, ar_accepted;
  logic [BeatOffsetWidth-1:0] unused_skip;
  logic [RowWidth-1:0]       unused_payload;
  logic                      beat_leaves;

  tessera_burst_walk #(
    .BurstLimit(BurstLimit)
  ) u_bursts (
    .clk_i,
    .rst_ni,
    .load_i(start_i),
    .dma_i,
    .advance_i(raise),
    .burst_o(burst),
    .skip_o(unused_skip),
    .payload_o(unused_payload),
    .last_o(burst_last)
  );

  // A last beat of this very cycle gives its credit back at once.
  assign outstanding_now = outstanding_q - OutWidth'(r_valid_i && r_last_i);
  assign raise = generating_q && !ar_held_q && outstanding_now < OutWidth'(Outstanding)
                 && LenWidth'(free_q) >= burst.beats;
  assign ar_valid_o = raise || ar_held_q;
  assign ar_o = ar_held_q ? ar_held_burst_q : burst;
  assign ar_accepted = ar_valid_o && ar_ready_i;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      generating_q <= 1'b0;
      ar_held_q <= 1'b0;
      held_last_q <= 1'b0;
      ar_held_burst_q <= '0;
      outstanding_q <= '0;
      free_q <= BeatCountWidth'(BufferBeats);
    end else begin
      if (raise) begin
        held_last_q <= burst_last;
        ar_held_burst_q <= burst;
      end
      ar_held_q <= ar_valid_o && !ar_ready_i;
      if (start_i) generating_q <= 1'b1;
      else if (ar_accepted && (ar_held_q ? held_last_q : burst_last)) generating_q <= 1'b0;
      outstanding_q <= outstanding_now + OutWidth'(raise);
      free_q <= free_q - (raise ? BeatCountWidth'(burst.beats) : '0) + BeatCountWidth'(beat_leaves);
    end
  end

  // ---- landing buffer
  logic [BeatBits-1:0]       landing_q [BufferBeats];
  logic [BeatIndexWidth-1:0] land_head_q, land_tail_q;
  logic [BeatCountWidth-1:0] landed_q;
  logic [BeatBits-1:0]       head_beat;

  function automatic logic [BeatIndexWidth-1:0] next_beat(input logic [BeatIndexWidth-1:0] index);
    return (index == BeatIndexWidth'(BufferBeats - 1)) ? '0 : index + BeatIndexWidth'(1);
  endfunction

  assign head_beat = landing_q[land_head_q];

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      land_head_q <= '0;
      land_tail_q <= '0;
      landed_q <= '0;
    end else begin
      if (r_valid_i) land_tail_q <= next_beat(land_tail_q);
      if (beat_leaves) land_head_q <= next_beat(land_head_q);
      landed_q <= landed_q + BeatCountWidth'(r_valid_i) - BeatCountWidth'(beat_leaves);
    end
  end

  always_ff @(posedge clk_i) begin
    if (r_valid_i) landing_q[land_tail_q] <= r_data_i;
  end

  // ---- SRAM side: the oldest instruction
  logic                         walking_q, walk_load, waiting_valid;
  dma_t                         waiting, walk_dma;
  logic [SramAddrWidth-1:0]     addr;
  logic [RowWidth-1:0]          left, to_line_end, to_beat_end, limit, bytes;
  logic [BeatOffsetWidth-1:0]   beat_offset;
  logic [LineOffsetWidth-1:0]   line_offset;
  logic                         last_row, segment, closes, moves, finishes;
  logic [LineBits-1:0]          line_q, line_d;
  logic [LineBytes-1:0]         strb_q, strb_d;

  // Popped and not yet walked.
  tessera_fifo #(
    .Width($bits(dma_t)),
    .Depth(InFlight)
  ) u_waiting (
    .clk_i,
    .rst_ni,
    .clear_i(1'b0),
    .push_i(start_i && !(walk_load && !waiting_valid)),
    .data_i(dma_i),
    .pop_i(walk_load && waiting_valid),
    .valid_o(waiting_valid),
    .data_o(waiting)
  );

  assign walk_load = (!walking_q || finishes) && (waiting_valid || start_i);
  assign walk_dma = waiting_valid ? waiting : dma_i;

  tessera_row_walk u_rows (
    .clk_i,
    .rst_ni,
    .load_i(walk_load),
    .dma_i(walk_dma),
    .take_i(moves),
    .bytes_i(bytes),
    .addr_o(addr),
    .left_o(left),
    .beat_offset_o(beat_offset),
    .last_row_o(last_row)
  );

  // A segment: to the end of the line, of the beat or of the row, whichever comes first.
  assign line_offset = addr[LineOffsetWidth-1:0];
  assign to_line_end = RowWidth'(LineBytes) - RowWidth'(line_offset);
  assign to_beat_end = RowWidth'(DataBytes) - RowWidth'(beat_offset);
  assign limit = (left < to_beat_end) ? left : to_beat_end;
  assign bytes = (to_line_end < limit) ? to_line_end : limit;
  assign segment = walking_q && landed_q != '0;
  assign closes = bytes == left || bytes == to_line_end;
  assign moves = segment && (!closes || sram_gnt_i);
  assign beat_leaves = moves && bytes == limit;
  assign finishes = moves && bytes == left && last_row;

  // The segment's bytes, turned from their place in the beat to their place in the line.
  always_comb begin
    line_d = line_q;
    strb_d = strb_q;
    for (int unsigned i = 0; i < LineBytes; i++) begin
      if (i >= 32'(line_offset) && i < 32'(line_offset) + 32'(bytes)) begin
        strb_d[i] = 1'b1;
        line_d[8*i+:8] = head_beat[8*(32'(beat_offset) + i - 32'(line_offset))+:8];
      end
    end
  end

  assign sram_req_o.valid = segment && closes;
  assign sram_req_o.write = 1'b1;
  assign sram_req_o.bank = addr[SramAddrWidth-1-:BankWidth];
  assign sram_req_o.line = addr[LineOffsetWidth+:LineWidth];
  assign sram_req_o.data = line_d;
  assign sram_req_o.strb = strb_d;
  assign conflict_o = sram_req_o.valid && !sram_gnt_i;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      walking_q <= 1'b0;
      line_q <= '0;
      strb_q <= '0;
    end else begin
      if (walk_load) walking_q <= 1'b1;
      else if (finishes) walking_q <= 1'b0;
      if (moves) begin
        line_q <= line_d;
        strb_q <= closes ? '0 : strb_d;
      end
    end
  end

  // ---- popping and finishing
  logic [FlightWidth-1:0] in_flight_q;
  logic                   nop_busy, nop_done, done_q;

  tessera_nop u_nop (
    .clk_i,
    .rst_ni,
    .start_i(start_nop_i),
    .cycles_i(nop_cycles_i),
    .busy_o(nop_busy),
    .done_o(nop_done)
  );

  assign ready_o = !generating_q && in_flight_q < FlightWidth'(InFlight) && !nop_busy;
  assign ready_nop_o = in_flight_q == '0 && !nop_busy;
  assign busy_o = in_flight_q != '0 || nop_busy;
  assign done_o = done_q || nop_done;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      in_flight_q <= '0;
      done_q <= 1'b0;
    end else begin
      in_flight_q <= in_flight_q + FlightWidth'(start_i) - FlightWidth'(finishes);
      done_q <= finishes;
    end
  end

  LoadArStable: assert property (@(posedge clk_i) disable iff (!rst_ni)
      (ar_valid_o && !ar_ready_i) |=> (ar_valid_o && $stable(ar_o)))
  else $error("a refused AR is held unchanged");

  LoadStartReady: assert property (@(posedge clk_i) disable iff (!rst_ni)
      (!start_i || ready_o) && (!start_nop_i || ready_nop_o))
  else $error("popped an instruction without room");

  LoadReserved: assert property (@(posedge clk_i) disable iff (!rst_ni)
      r_valid_i |-> (outstanding_q != '0 && landed_q < BeatCountWidth'(BufferBeats)))
  else $error("an R beat came that nobody asked for or that has no place");

endmodule
