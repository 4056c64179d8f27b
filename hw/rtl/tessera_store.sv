// STORE: line reader, store buffer, AW and W, responses (hw/models/store/README.md; class StoreCore).
`timescale 1ns/1ps
module tessera_store (
  input  logic                        clk_i,
  input  logic                        rst_ni,
  output logic                        ready_o,
  output logic                        ready_nop_o,
  output logic                        busy_o,
  input  logic                        start_i,
  input  tessera_core_pkg::dma_t      dma_i,
  input  logic                        start_nop_i,
  input  logic [31:0]                 nop_cycles_i,
  output logic                        done_o,
  // AXI write manager; BREADY is always 1, WREADY is 1 by the rules of the boundary.
  output logic                        aw_valid_o,
  input  logic                        aw_ready_i,
  output tessera_core_pkg::axi_ax_t   aw_o,
  output logic                        w_valid_o,
  output tessera_core_pkg::axi_w_t    w_o,
  input  logic                        b_valid_i,
  // SRAM: data come sram.read_latency cycles after the grant.
  output tessera_core_pkg::sram_req_t sram_req_o,
  input  logic                        sram_gnt_i,
  input  logic [tessera_core_pkg::LineBits-1:0] sram_data_i,
  output logic                        conflict_o,
  output logic                        waits_o,  // for the memory
  output logic                        drains_o  // for B alone
);

  import tessera_core_pkg::*;

  localparam int unsigned DataBytes = tessera_chip_pkg::AxiDataBytes;
  localparam int unsigned LineBytes = tessera_chip_pkg::SramLineBytes;
  localparam int unsigned Outstanding = tessera_chip_pkg::AxiWriteOutstanding;
  localparam int unsigned InFlight = tessera_chip_pkg::StoreInFlight;
  localparam int unsigned ReadLatency = tessera_chip_pkg::SramReadLatency;
  localparam int unsigned BufferBytes = tessera_chip_pkg::StoreBufferBytes;
  localparam int unsigned BufferBeats = BufferBytes / DataBytes;
  localparam int unsigned MaxBurst = tessera_chip_pkg::AxiMaxBurstBeats;
  localparam int unsigned BurstLimit = (MaxBurst < BufferBeats) ? MaxBurst : BufferBeats;
  localparam int unsigned FlightIndexWidth = (InFlight > 1) ? $clog2(InFlight) : 1;
  localparam int unsigned BeatCountWidth = $clog2(BufferBeats + 1);
  localparam int unsigned BeatIndexWidth = $clog2(BufferBeats);

  // A segment on its way through the SRAM.
  typedef struct packed {
    logic                       valid;
    logic                       ends_burst;
    logic [LineBytes-1:0]       take;  // bytes of the line
    logic [BeatOffsetWidth-1:0] beat_offset;
    logic [BeatIndexWidth-1:0]  beat;  // of the buffer
  } segment_t;

  function automatic logic [BeatIndexWidth-1:0] add_beats(input logic [BeatIndexWidth-1:0] index,
                                                          input logic [LenWidth-1:0] beats);
    logic [LenWidth:0] sum;
    sum = (LenWidth+1)'(index) + (LenWidth+1)'(beats);
    if (sum >= (LenWidth+1)'(BufferBeats)) sum -= (LenWidth+1)'(BufferBeats);
    return BeatIndexWidth'(sum);
  endfunction

  // ---- SRAM side: the youngest instruction
  logic                         reading_q, enters, segment, moves, last;
  logic [RowWidth-1:0]          left_in_burst_q, left_in_burst, bytes;
  logic [SramLineAddrWidth-1:0] line_addr;
  logic [BeatOffsetWidth-1:0]   beat_offset;
  logic [LineBytes-1:0]         take;
  logic [BeatCountWidth-1:0]    free_q;
  logic [BeatIndexWidth-1:0]    reserve_q, fill_q, fill;
  dma_burst_t                   new_burst;
  // A row of STORE has no padding, and its last burst ends with it.
  logic                         unused_fill, unused_closes;
  logic [7:0]                   unused_fill_value;
  logic [RowWidth-1:0]          unused_left;

  tessera_burst_walk #(
    .BurstLimit(BurstLimit)
  ) u_bursts (
    .clk_i,
    .rst_ni,
    .load_i(start_i),
    .dma_i,
    .advance_i(enters),
    .burst_o(new_burst)
  );

  tessera_row_walk u_rows (
    .clk_i,
    .rst_ni,
    .load_i(start_i),
    .dma_i,
    .fill_o(unused_fill),
    .fill_value_o(unused_fill_value),
    .left_o(unused_left),
    .beat_offset_o(beat_offset),
    .limit_i(left_in_burst),
    .move_i(moves),
    .line_o(line_addr),
    .take_o(take),
    .bytes_o(bytes),
    .closes_o(unused_closes),
    .last_o(last)
  );

  // A burst is entered, and its whole space taken, in the cycle of its first line request.
  assign enters = reading_q && left_in_burst_q == '0 && LenWidth'(free_q) >= new_burst.ax.beats;
  assign left_in_burst = enters ? new_burst.payload : left_in_burst_q;
  assign segment = reading_q && left_in_burst != '0;
  assign moves = segment && sram_gnt_i;
  assign conflict_o = segment && !sram_gnt_i;
  assign fill = enters ? reserve_q : fill_q;

  assign sram_req_o.valid = segment;
  assign sram_req_o.write = 1'b0;
  assign sram_req_o.bank = line_addr[SramLineAddrWidth-1-:BankWidth];
  assign sram_req_o.line = line_addr[LineWidth-1:0];
  assign sram_req_o.data = '0;
  assign sram_req_o.strb = '0;

  logic w_sent;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      reading_q <= 1'b0;
      left_in_burst_q <= '0;
      free_q <= BeatCountWidth'(BufferBeats);
      reserve_q <= '0;
      fill_q <= '0;
    end else begin
      if (start_i) reading_q <= 1'b1;
      else if (moves && last) reading_q <= 1'b0;
      left_in_burst_q <= left_in_burst - (moves ? bytes : '0);
      free_q <= free_q - (enters ? BeatCountWidth'(new_burst.ax.beats) : '0) + BeatCountWidth'(w_sent);
      if (enters) reserve_q <= add_beats(reserve_q, new_burst.ax.beats);
      fill_q <= moves ? add_beats(fill, LenWidth'((RowWidth'(beat_offset) + bytes) >> BeatOffsetWidth))
                      : fill;
    end
  end

  // ---- read latency: stage ReadLatency - 1 holds the segment whose line is on sram_data_i
  segment_t [ReadLatency-1:0] pipe_q;
  segment_t                   arrived;

  assign arrived = pipe_q[ReadLatency-1];

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      pipe_q <= '0;
    end else begin
      pipe_q[0] <= '{valid: moves, ends_burst: bytes == left_in_burst, take: take, beat_offset: beat_offset,
                     beat: fill};
      for (int unsigned i = 1; i < ReadLatency; i++) pipe_q[i] <= pipe_q[i-1];
    end
  end

  // ---- store buffer
  logic [7:0] buffer_q [BufferBytes];

  always_ff @(posedge clk_i) begin
    int unsigned to;
    to = 32'(arrived.beat) * DataBytes + 32'(arrived.beat_offset);
    for (int unsigned i = 0; i < LineBytes; i++) begin
      if (arrived.valid && arrived.take[i]) begin
        buffer_q[to % BufferBytes] <= sram_data_i[8*i+:8];
        to++;
      end
    end
  end

  // ---- AW
  dma_burst_t                head_burst, aw_burst;
  logic                      head_valid, raise, blocked, aw_accepted, generating;
  logic [BeatCountWidth-1:0] whole_q;  // bursts at the head of u_entered that are whole in the buffer

  tessera_fifo #(
    .Width($bits(dma_burst_t)),
    .Depth(BufferBeats)
  ) u_entered (
    .clk_i,
    .rst_ni,
    .clear_i(1'b0),
    .push_i(enters),
    .data_i(new_burst),
    .pop_i(raise),
    .valid_o(head_valid),
    .data_o(head_burst)
  );

  tessera_dma_address #(
    .Outstanding(Outstanding)
  ) u_aw (
    .clk_i,
    .rst_ni,
    .start_i,
    .valid_i(whole_q != '0),
    .burst_i(head_burst),
    .response_i(b_valid_i),
    .raise_o(raise),
    .blocked_o(blocked),
    .accepted_o(aw_accepted),
    .burst_o(aw_burst),
    .generating_o(generating),
    .ax_valid_o(aw_valid_o),
    .ax_ready_i(aw_ready_i),
    .ax_o(aw_o)
  );

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) whole_q <= '0;
    else whole_q <= whole_q + BeatCountWidth'(arrived.valid && arrived.ends_burst) - BeatCountWidth'(raise);
  end

  // ---- W: bursts in the order of their AW, a beat a cycle
  dma_burst_t                w_burst;
  logic                      w_pop;
  logic [LenWidth-1:0]       w_index_q;
  logic [BeatIndexWidth-1:0] w_beat_q;

  tessera_fifo #(
    .Width($bits(dma_burst_t)),
    .Depth(Outstanding)
  ) u_sending (
    .clk_i,
    .rst_ni,
    .clear_i(1'b0),
    .push_i(aw_accepted),
    .data_i(aw_burst),
    .pop_i(w_pop),
    .valid_o(w_sent),
    .data_o(w_burst)
  );

  logic unused_last;
  assign unused_last = w_burst.last;

  assign w_valid_o = w_sent;
  assign w_o.last = w_index_q == w_burst.ax.beats - LenWidth'(1);
  assign w_pop = w_sent && w_o.last;

  always_comb begin
    for (int unsigned i = 0; i < DataBytes; i++) begin
      logic [RowWidth:0] position;  // in the burst
      position = (RowWidth+1)'(w_index_q) * (RowWidth+1)'(DataBytes) + (RowWidth+1)'(i);
      w_o.strb[i] = position >= (RowWidth+1)'(w_burst.skip)
                    && position < (RowWidth+1)'(w_burst.skip) + (RowWidth+1)'(w_burst.payload);
      w_o.data[8*i+:8] = buffer_q[32'(w_beat_q) * DataBytes + i];
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      w_index_q <= '0;
      w_beat_q <= '0;
    end else if (w_sent) begin
      w_index_q <= w_o.last ? '0 : w_index_q + LenWidth'(1);
      w_beat_q <= add_beats(w_beat_q, LenWidth'(1));
    end
  end

  // ---- instructions in flight: responses still to come, oldest at flight_head_q
  localparam int unsigned ResponseWidth = $clog2(Outstanding + 1);  // never more than the outstanding bursts
  logic [InFlight-1:0][ResponseWidth-1:0] responses_q, responses_d;
  logic [InFlight-1:0]                    all_raised_q, all_raised_d;
  logic [FlightIndexWidth-1:0]            flight_head_q, flight_tail_q, youngest_q;
  logic                                   any, finishes;

  function automatic logic [FlightIndexWidth-1:0] next_flight(input logic [FlightIndexWidth-1:0] index);
    return (index == FlightIndexWidth'(InFlight - 1)) ? '0 : index + FlightIndexWidth'(1);
  endfunction

  // Only the youngest instruction has bursts without AW.
  always_comb begin
    responses_d = responses_q;
    all_raised_d = all_raised_q;
    if (raise) begin
      responses_d[youngest_q] += ResponseWidth'(1);
      if (head_burst.last) all_raised_d[youngest_q] = 1'b1;
    end
    if (b_valid_i) responses_d[flight_head_q] -= ResponseWidth'(1);
  end

  assign finishes = any && all_raised_d[flight_head_q]
                    && responses_d[flight_head_q] == '0;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      responses_q <= '0;
      all_raised_q <= '0;
      flight_head_q <= '0;
      flight_tail_q <= '0;
      youngest_q <= '0;
    end else begin
      responses_q <= responses_d;
      all_raised_q <= all_raised_d;
      if (start_i) begin
        youngest_q <= flight_tail_q;
        flight_tail_q <= next_flight(flight_tail_q);
        all_raised_q[flight_tail_q] <= 1'b0;
      end
      if (finishes) flight_head_q <= next_flight(flight_head_q);
    end
  end

  // ---- popping
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

  // Handed over is what was read, raised and sent.
  assign waits_o = any && !segment && !raise && blocked;
  assign drains_o = any && !segment && !raise && !blocked && !reading_q && !head_valid && !w_sent;

  StoreWholeEntered: assert property (@(posedge clk_i) disable iff (!rst_ni)
      whole_q != '0 |-> head_valid)
  else $error("a whole burst was entered before");

  StoreResponse: assert property (@(posedge clk_i) disable iff (!rst_ni)
      b_valid_i |-> responses_q[flight_head_q] != '0)
  else $error("a B came that the oldest instruction does not wait for");

endmodule
