// The SRAM side of a DMA instruction: where the next byte lies and how much of its row is left, with the place of that
// byte in its DRAM beat. The engine says how many bytes it moved (take_i, bytes_i).
`timescale 1ns/1ps
module tessera_row_walk (
  input  logic                                         clk_i,
  input  logic                                         rst_ni,
  input  logic                                         load_i,
  input  tessera_core_pkg::dma_t                       dma_i,
  input  logic                                         take_i,
  input  logic [tessera_core_pkg::RowWidth-1:0]        bytes_i,
  output logic [tessera_core_pkg::SramAddrWidth-1:0]   addr_o,
  output logic [tessera_core_pkg::RowWidth-1:0]        left_o,  // bytes of the row
  output logic [tessera_core_pkg::BeatOffsetWidth-1:0] beat_offset_o,
  output logic                                         last_row_o
);

  import tessera_core_pkg::*;

  logic [RowWidth-1:0]             row_bytes_q, pos_q;
  logic [SramAddrWidth-1:0]        row_addr;
  logic [BeatOffsetWidth-1:0]      row_offset;
  logic [2:0][BeatOffsetWidth-1:0] offset_stride;
  logic                            ends_row, unused_last;

  assign addr_o = row_addr + SramAddrWidth'(pos_q);
  assign left_o = row_bytes_q - pos_q;
  assign beat_offset_o = row_offset + BeatOffsetWidth'(pos_q);
  assign ends_row = bytes_i == left_o;

  for (genvar d = 0; d < 3; d++) begin : g_offset_stride
    assign offset_stride[d] = dma_i.dram_stride[d][BeatOffsetWidth-1:0];
  end

  tessera_loops #(
    .Width(SramAddrWidth),
    .Levels(3),
    .CountWidth(LoopWidth)
  ) u_rows (
    .clk_i,
    .rst_ni,
    .load_i,
    .base_i(dma_i.sram_addr),
    .count_i(dma_i.count),
    .stride_i(dma_i.sram_stride),
    .next_i(take_i && ends_row),
    .addr_o(row_addr),
    .last_o(last_row_o)
  );

  // The same rows in DRAM, modulo a beat.
  tessera_loops #(
    .Width(BeatOffsetWidth),
    .Levels(3),
    .CountWidth(LoopWidth)
  ) u_offsets (
    .clk_i,
    .rst_ni,
    .load_i,
    .base_i(dma_i.dram_addr[BeatOffsetWidth-1:0]),
    .count_i(dma_i.count),
    .stride_i(offset_stride),
    .next_i(take_i && ends_row),
    .addr_o(row_offset),
    .last_o(unused_last)
  );

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      row_bytes_q <= '0;
      pos_q <= '0;
    end else if (load_i) begin
      row_bytes_q <= dma_i.row_bytes;
      pos_q <= '0;
    end else if (take_i) begin
      pos_q <= ends_row ? '0 : pos_q + bytes_i;
    end
  end

  logic unused_dma;
  always_comb begin
    unused_dma = ^dma_i.dram_addr[AddrWidth-1:BeatOffsetWidth];
    for (int unsigned d = 0; d < 3; d++) begin
      unused_dma ^= ^dma_i.dram_stride[d][AddrWidth-1:BeatOffsetWidth];
    end
  end

  RowWithinBounds: assert property (@(posedge clk_i) disable iff (!rst_ni)
      take_i |-> (bytes_i != '0 && bytes_i <= left_o))
  else $error("a segment has at least one byte and ends with its row");

endmodule
