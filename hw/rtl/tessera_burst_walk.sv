// The DRAM side of a DMA instruction: cuts its rows into INCR bursts of whole beats (hw/models/load/README.md, AR side
// rule 1; BurstWalk of dma_walk.hpp). The burst shown is the next one; advance_i moves past it.
`timescale 1ns/1ps
module tessera_burst_walk #(
  parameter int unsigned BurstLimit = 8  // beats: axi.max_burst_beats, or the buffer if that is smaller
) (
  input  logic                                 clk_i,
  input  logic                                 rst_ni,
  input  logic                                 load_i,
  input  tessera_core_pkg::dma_t               dma_i,
  input  logic                                 advance_i,
  output tessera_core_pkg::dma_burst_t         burst_o
);

  import tessera_core_pkg::*;

  localparam int unsigned DataBytes = tessera_chip_pkg::AxiDataBytes;
  localparam int unsigned BoundaryWidth = 12;  // 4 KiB
  localparam int unsigned BeatsWidth = RowWidth + 2;
  localparam int unsigned BoundaryBeatsWidth = BoundaryWidth - BeatOffsetWidth + 1;

  logic [RowWidth-1:0]           row_bytes_q;
  logic [BeatsWidth-1:0]         pos_q;  // beats of the row that are behind
  logic [AddrWidth-1:0]          row_addr, burst_addr;
  logic [BeatOffsetWidth-1:0]    offset, skip;
  logic [BeatsWidth-1:0]         row_beats, to_row_end, beats;
  logic [BoundaryBeatsWidth-1:0] to_boundary;
  logic                          last_row, ends_row;

  assign offset = row_addr[BeatOffsetWidth-1:0];
  assign row_beats = (BeatsWidth'(row_bytes_q) + BeatsWidth'(offset) + BeatsWidth'(DataBytes - 1))
                     >> BeatOffsetWidth;
  assign burst_addr = {row_addr[AddrWidth-1:BeatOffsetWidth], {BeatOffsetWidth{1'b0}}}
                      + (AddrWidth'(pos_q) << BeatOffsetWidth);
  assign to_row_end = row_beats - pos_q;
  assign to_boundary = BoundaryBeatsWidth'(1 << (BoundaryWidth - BeatOffsetWidth))
                       - BoundaryBeatsWidth'(burst_addr[BoundaryWidth-1:BeatOffsetWidth]);

  always_comb begin
    beats = BeatsWidth'(BurstLimit);
    if (to_row_end < beats) beats = to_row_end;
    if (BeatsWidth'(to_boundary) < beats) beats = BeatsWidth'(to_boundary);
  end

  assign ends_row = beats == to_row_end;
  assign burst_o.ax.addr = burst_addr;
  assign burst_o.ax.beats = LenWidth'(beats);
  assign skip = (pos_q == '0) ? offset : '0;
  assign burst_o.skip = skip;
  // A burst that ends the row stops with the row's last byte, any other with its last beat.
  assign burst_o.payload = ends_row
      ? RowWidth'(BeatsWidth'(row_bytes_q) + BeatsWidth'(offset) - (pos_q << BeatOffsetWidth)
                  - BeatsWidth'(skip))
      : RowWidth'((beats << BeatOffsetWidth) - BeatsWidth'(skip));
  assign burst_o.last = ends_row && last_row;

  tessera_loops #(
    .Width(AddrWidth),
    .Levels(3),
    .CountWidth(LoopWidth)
  ) u_rows (
    .clk_i,
    .rst_ni,
    .load_i,
    .base_i(dma_i.dram_addr),
    .count_i(dma_i.count),
    .stride_i(dma_i.dram_stride),
    .next_i(advance_i && ends_row),
    .addr_o(row_addr),
    .last_o(last_row)
  );

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      row_bytes_q <= '0;
      pos_q <= '0;
    end else if (load_i) begin
      row_bytes_q <= dma_i.row_bytes;
      pos_q <= '0;
    end else if (advance_i) begin
      pos_q <= ends_row ? '0 : pos_q + beats;
    end
  end

  BurstOneBeat: assert property (@(posedge clk_i) disable iff (!rst_ni)
      advance_i |-> burst_o.ax.beats != '0)
  else $error("a burst has at least one beat");

endmodule
