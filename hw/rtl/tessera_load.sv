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
  output logic                        conflict_o,
  output logic                        waits_o  // for the memory
);

  import tessera_core_pkg::*;

  localparam int unsigned DataBytes = tessera_chip_pkg::AxiDataBytes;
  localparam int unsigned LineBytes = tessera_chip_pkg::SramLineBytes;
  localparam int unsigned Outstanding = tessera_chip_pkg::AxiReadOutstanding;
  localparam int unsigned InFlight = tessera_chip_pkg::LoadInFlight;
  localparam int unsigned BufferBeats = tessera_chip_pkg::LoadLandingBytes / DataBytes;
  localparam int unsigned MaxBurst = tessera_chip_pkg::AxiMaxBurstBeats;
  localparam int unsigned BurstLimit = (MaxBurst < BufferBeats) ? MaxBurst : BufferBeats;
  localparam int unsigned BeatCountWidth = $clog2(BufferBeats + 1);
  localparam int unsigned BeatIndexWidth = $clog2(BufferBeats);

  // ---- AR side
  logic                      generating, raise, beat_leaves, finishes;
  dma_burst_t                burst;
  logic [BeatCountWidth-1:0] free_q;
  logic                      unused_accepted, unused_blocked;
  dma_burst_t                unused_burst;

  tessera_burst_walk #(
    .BurstLimit(BurstLimit)
  ) u_bursts (
    .clk_i,
    .rst_ni,
    .load_i(start_i),
    .dma_i,
    .advance_i(raise),
    .burst_o(burst)
  );

  tessera_dma_address #(
    .Outstanding(Outstanding)
  ) u_ar (
    .clk_i,
    .rst_ni,
    .start_i,
    .valid_i(generating && LenWidth'(free_q) >= burst.ax.beats),
    .burst_i(burst),
    .response_i(r_valid_i && r_last_i),
    .raise_o(raise),
    .blocked_o(unused_blocked),
    .accepted_o(unused_accepted),
    .burst_o(unused_burst),
    .generating_o(generating),
    .ax_valid_o(ar_valid_o),
    .ax_ready_i(ar_ready_i),
    .ax_o(ar_o)
  );

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) free_q <= BeatCountWidth'(BufferBeats);
    else free_q <= free_q - (raise ? BeatCountWidth'(burst.ax.beats) : '0) + BeatCountWidth'(beat_leaves);
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
  logic [SramLineAddrWidth-1:0] line_addr;
  logic [RowWidth-1:0]          left, to_beat_end, limit, bytes;
  logic [BeatOffsetWidth-1:0]   beat_offset;
  logic [7:0]                   fill_value;
  logic                         fill, segment, closes, last, moves;
  logic [LineBytes-1:0]         take;
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
    .fill_o(fill),
    .fill_value_o(fill_value),
    .left_o(left),
    .beat_offset_o(beat_offset),
    .limit_i(limit),
    .move_i(moves),
    .line_o(line_addr),
    .take_o(take),
    .bytes_o(bytes),
    .closes_o(closes),
    .last_o(last)
  );

  // Data go no further than their beat. Padding needs no beat.
  assign to_beat_end = RowWidth'(DataBytes) - RowWidth'(beat_offset);
  assign limit = (left < to_beat_end) ? left : to_beat_end;
  assign segment = walking_q && (fill || landed_q != '0);
  assign moves = segment && (!closes || sram_gnt_i);
  assign beat_leaves = moves && !fill && bytes == limit;
  assign finishes = moves && last;

  // The segment's bytes, from their place in the beat to their place in the line.
  always_comb begin
    int unsigned from;
    line_d = line_q;
    strb_d = strb_q | take;
    from = 32'(beat_offset);
    for (int unsigned i = 0; i < LineBytes; i++) begin
      if (take[i]) begin
        line_d[8*i+:8] = fill ? fill_value : head_beat[8*BeatOffsetWidth'(from)+:8];
        from++;
      end
    end
  end

  assign sram_req_o.valid = segment && closes;
  assign sram_req_o.write = 1'b1;
  assign sram_req_o.bank = line_addr[SramLineAddrWidth-1-:BankWidth];
  assign sram_req_o.line = line_addr[LineWidth-1:0];
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
  logic any;
  assign waits_o = any && !segment;

  tessera_dma_issue #(
    .InFlight(InFlight)
  ) u_issue (
    .clk_i,
    .rst_ni,
    .generating_i(generating),
    .finishes_i(finishes),
    .start_i,
    .start_nop_i,
    .nop_cycles_i,
    .ready_o,
    .ready_nop_o,
    .any_o(any),
    .busy_o,
    .done_o
  );

  LoadReserved: assert property (@(posedge clk_i) disable iff (!rst_ni)
      r_valid_i |-> landed_q < BeatCountWidth'(BufferBeats))
  else $error("an R beat came that has no place");

endmodule
