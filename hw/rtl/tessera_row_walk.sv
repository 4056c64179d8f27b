// The SRAM side of a DMA instruction: its rows, padding included, as segments (hw/models/load/README.md, SRAM side rule
// 2; SegmentWalk of dma_walk.hpp). The segment shown is the next one, of at most limit_i bytes if it is data; move_i
// moves past it.
`timescale 1ns/1ps
module tessera_row_walk (
  input  logic                                         clk_i,
  input  logic                                         rst_ni,
  input  logic                                         load_i,
  input  tessera_core_pkg::dma_t                       dma_i,
  // The next byte
  output logic                                         fill_o,  // is padding
  output logic [7:0]                                   fill_value_o,
  output logic [tessera_core_pkg::RowWidth-1:0]        left_o,  // bytes of the DRAM row
  output logic [tessera_core_pkg::BeatOffsetWidth-1:0] beat_offset_o,  // of the first of them
  // The segment
  input  logic [tessera_core_pkg::RowWidth-1:0]        limit_i,
  input  logic                                         move_i,
  output logic [tessera_core_pkg::SramLineAddrWidth-1:0] line_o,
  output logic [tessera_chip_pkg::SramLineBytes-1:0]   take_o,   // bytes of the line, in the order of the row
  output logic [tessera_core_pkg::RowWidth-1:0]        bytes_o,  // how many
  output logic                                         closes_o, // the row ends, or goes on in another line
  output logic                                         last_o    // of the instruction
);

  import tessera_core_pkg::*;

  localparam int unsigned LineBytes = tessera_chip_pkg::SramLineBytes;
  localparam int unsigned RunRowWidth = LoopWidth + 1;  // rows of a run, with padding

  typedef enum logic [1:0] {
    PartBefore,
    PartData,
    PartAfter,
    PartEnd
  } part_e;

  // Where a byte lies in its row.
  typedef struct packed {
    part_e                    part;
    logic [7:0]               groups;  // of padding, that are behind in this part
    logic [RowWidth-1:0]      pos;     // bytes of data that are behind
    logic [RowWidth-1:0]      offset;  // in the group
    logic [SramAddrWidth-1:0] group;   // the group's place, from the row's
  } place_t;

  function automatic place_t first_place(input dma_t dma);
    place_t place;
    place = '0;
    place.part = (dma.groups_before != 8'd0) ? PartBefore : PartData;
    return place;
  endfunction

  function automatic place_t next_place(input place_t at, input dma_t dma);
    place_t next;
    logic   row_taken;
    next = at;
    next.offset = at.offset + RowWidth'(1);
    if (at.part == PartData) next.pos = at.pos + RowWidth'(1);
    row_taken = at.part == PartData && next.pos == dma.row_bytes;  // the last group of data may be short
    if (next.offset == dma.group_bytes || row_taken) begin
      next.offset = '0;
      next.group = at.group + dma.group_stride;
      next.groups = at.groups + 8'd1;
      unique case (at.part)
        PartBefore: if (next.groups == dma.groups_before) next.part = PartData;
        PartData: begin
          next.groups = 8'd0;
          if (row_taken) next.part = (dma.groups_after != 8'd0) ? PartAfter : PartEnd;
        end
        PartAfter: if (next.groups == dma.groups_after) next.part = PartEnd;
        default: ;
      endcase
    end
    return next;
  endfunction

  // ---- rows
  dma_t                     dma_q;
  logic [RunRowWidth-1:0]      row_q, run_rows;
  logic [LoopWidth-1:0]     buffer_row_q;
  logic [SramAddrWidth-1:0] run_addr, row_addr_q, first_row_addr, row_addr;  // row_addr_q: from the run's
  logic                     fill_row, last_row, last_run, ends_row, next_row, next_run;

  assign run_rows = RunRowWidth'(dma_q.rows_before) + RunRowWidth'(dma_q.count[2]) + RunRowWidth'(dma_q.rows_after);
  assign fill_row = row_q < RunRowWidth'(dma_q.rows_before)
                    || row_q >= RunRowWidth'(dma_q.rows_before) + RunRowWidth'(dma_q.count[2]);
  assign last_row = row_q == run_rows - RunRowWidth'(1);
  assign next_row = move_i && ends_row;
  assign next_run = next_row && last_row;
  assign row_addr = run_addr + row_addr_q;
  assign first_row_addr = SramAddrWidth'(dma_q.first_row) * dma_q.sram_stride[2];

  tessera_loops #(
    .Width(SramAddrWidth),
    .Levels(2),
    .CountWidth(LoopWidth)
  ) u_runs (
    .clk_i,
    .rst_ni,
    .load_i,
    .base_i(dma_i.sram_addr),
    .count_i(dma_i.count[1:0]),
    .stride_i(dma_i.sram_stride[1:0]),
    .next_i(next_run),
    .addr_o(run_addr),
    .last_o(last_run)
  );

  // The data rows in DRAM, modulo a beat.
  logic [2:0][BeatOffsetWidth-1:0] offset_stride;
  logic [BeatOffsetWidth-1:0]      row_offset;
  logic                            unused_last;

  for (genvar d = 0; d < 3; d++) begin : g_offset_stride
    assign offset_stride[d] = dma_i.dram_stride[d][BeatOffsetWidth-1:0];
  end

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
    .next_i(next_row && !fill_row),
    .addr_o(row_offset),
    .last_o(unused_last)
  );

  // ---- the next byte and the segment that begins with it
  place_t                   place_q, place_d;
  logic [SramAddrWidth-1:0] first_addr;

  assign first_addr = row_addr + place_q.group + SramAddrWidth'(place_q.offset);
  assign fill_o = fill_row || place_q.part != PartData;
  assign fill_value_o = dma_q.fill_value;
  assign left_o = dma_q.row_bytes - place_q.pos;
  assign beat_offset_o = row_offset + BeatOffsetWidth'(place_q.pos);
  assign line_o = first_addr[SramAddrWidth-1:LineOffsetWidth];
  assign last_o = ends_row && last_row && last_run;

  // Groups of a row ascend: one pass over the bytes of the line meets those of the segment in their order.
  always_comb begin
    logic [SramAddrWidth-1:0] addr;
    logic                     going;
    place_d = place_q;
    addr = first_addr;
    going = 1'b1;
    take_o = '0;
    bytes_o = '0;
    closes_o = 1'b0;
    ends_row = 1'b0;
    for (int unsigned i = 0; i < LineBytes; i++) begin
      if (going && addr[LineOffsetWidth-1:0] == LineOffsetWidth'(i)) begin
        take_o[i] = 1'b1;
        bytes_o = bytes_o + RowWidth'(1);
        place_d = next_place(place_d, dma_q);
        addr = row_addr + place_d.group + SramAddrWidth'(place_d.offset);
        ends_row = place_d.part == PartEnd;
        closes_o = ends_row || addr[SramAddrWidth-1:LineOffsetWidth] != line_o;
        going = !closes_o && (fill_row || place_d.part != PartData) == fill_o && (fill_o || bytes_o != limit_i);
      end
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      dma_q <= '0;
      row_q <= '0;
      buffer_row_q <= '0;
      row_addr_q <= '0;
      place_q <= '0;
    end else if (load_i) begin
      dma_q <= dma_i;
      row_q <= '0;
      buffer_row_q <= dma_i.first_row;
      row_addr_q <= SramAddrWidth'(dma_i.first_row) * dma_i.sram_stride[2];
      place_q <= first_place(dma_i);
    end else if (move_i) begin
      place_q <= ends_row ? first_place(dma_q) : place_d;
      if (next_run) begin
        row_q <= '0;
        buffer_row_q <= dma_q.first_row;
        row_addr_q <= first_row_addr;
      end else if (next_row) begin
        row_q <= row_q + RunRowWidth'(1);
        buffer_row_q <= buffer_row_q + LoopWidth'(1);
        row_addr_q <= row_addr_q + dma_q.sram_stride[2];
        if (dma_q.wrap_rows != '0 && buffer_row_q == dma_q.wrap_rows - LoopWidth'(1)) begin
          buffer_row_q <= '0;
          row_addr_q <= '0;
        end
      end
    end
  end

  RowSegmentData: assert property (@(posedge clk_i) disable iff (!rst_ni)
      move_i |-> (bytes_o != '0 && (fill_o || (bytes_o <= limit_i && bytes_o <= left_o))))
  else $error("a segment has at least one byte and ends with its row");

endmodule
