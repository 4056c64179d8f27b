// Port A: reads the input window of a phase, line by line, and says which pixels of a line go where. A line takes as many
// cycles as the most of its used pixels that meet in one window bank; fold: one, but a row as many as its patches
// (hw/models/conv/README.md, "Fill").
`timescale 1ns/1ps
module tessera_conv_fill (
  input  logic                         clk_i,
  input  logic                         rst_ni,
  input  logic                         move_i,   // the engine moves on
  input  logic                         load_i,   // the next engine cycle is the first of the fill of phase_i
  input  logic                         needed_i, // unless the window is there already
  input  logic                         buffer_i,
  input  tessera_conv_pkg::phase_t     phase_i,
  input  tessera_conv_pkg::conv_t      conv_i,
  input  tessera_conv_pkg::derived_t   derived_i,
  output logic                         done_o,   // after this engine cycle, or before
  output logic                         read_o,
  output tessera_core_pkg::line_addr_t line_o,
  output tessera_conv_pkg::fill_op_t   op_o
);

  import tessera_core_pkg::*;
  import tessera_conv_pkg::*;

  localparam int unsigned CountWidth = $clog2(LinePixels + 1);

  logic                  active_q, buffer_q;
  logic [15:0]           block_first_q, blocks_q, block_q;  // of the input; how many; which of them
  used_t                 column_q, row_q, row_start_q, first_column, first_row;
  coord_t                x_end_q, y_end_q, x_end, y_end;
  logic [CountWidth-1:0] sub_q;
  // fold: all lines from the first to the last, then until the row's patches are through
  coord_t                line_first_q, line_last_q, line_q, x_begin;
  logic [15:0]           patches_q, row_cycle_q;
  logic                  waiting_q;

  // ---- the tile to come
  extent_t extent;
  assign extent = extent_of(phase_i, conv_i, derived_i);
  assign first_column = first_used(phase_i.x, conv_i.sx, derived_i.used_x, conv_i.pad_left, derived_i.left_q,
                                   derived_i.left_r);
  assign first_row = first_used(phase_i.y, conv_i.sy, derived_i.used_y, conv_i.pad_top, derived_i.top_q,
                                derived_i.top_r);
  assign x_end = end_used(phase_i.x, extent.columns, conv_i.sx, conv_i.kw, conv_i.dx, conv_i.pad_left, conv_i.in_w);
  assign x_begin = (coord_t'(phase_i.x) * coord_t'(conv_i.sx) > coord_t'(conv_i.pad_left))
      ? coord_t'(phase_i.x) * coord_t'(conv_i.sx) : coord_t'(conv_i.pad_left);
  assign y_end = end_used(phase_i.y, extent.rows, conv_i.sy, conv_i.kh, conv_i.dy, conv_i.pad_top, conv_i.in_h);

  // ---- the present line: chain[k] is its k-th used column, if in_line[k]
  used_t [LinePixels-1:0]                chain;
  logic [LinePixels-1:0]                 in_line;
  logic [LinePixels-1:0][CountWidth-1:0] order;  // among those of its bank
  logic [CountWidth-1:0]                 most;
  used_t                                 behind, following, next_row;  // behind the chain, behind the line
  logic                                  ends_line, ends_block, ends_lines, ends_row, ends_fill;
  coord_t                                line_of_row, row_base;

  assign line_of_row = conv_i.fold ? line_q : (column_q.pos - coord_t'(conv_i.pad_left)) / coord_t'(LinePixels);

  always_comb begin
    used_t at;
    at = column_q;
    for (int unsigned k = 0; k < LinePixels; k++) begin
      chain[k] = at;
      in_line[k] = at.pos < x_end_q && (at.pos - coord_t'(conv_i.pad_left)) / coord_t'(LinePixels) == line_of_row;
      at = next_used(at, conv_i.sx, derived_i.used_x);
    end
    behind = at;
  end

  always_comb begin
    most = '0;
    following = behind;
    for (int unsigned k = LinePixels; k > 0; k--) begin
      if (!in_line[k-1]) following = chain[k-1];
    end
    for (int unsigned k = 0; k < LinePixels; k++) begin
      order[k] = '0;
      for (int unsigned j = 0; j < k; j++) begin
        if (!conv_i.fold && lane_of(chain[j].out, 16'd0, conv_i.shape) == lane_of(chain[k].out, 16'd0, conv_i.shape)) begin
          order[k] = order[k] + CountWidth'(1);
        end
      end
      if (in_line[k] && order[k] > most) most = order[k];
    end
  end

  assign next_row = next_used(row_q, conv_i.sy, derived_i.used_y);
  assign ends_line = sub_q == most;
  assign ends_block = ends_line && (conv_i.fold ? line_q == line_last_q : following.pos >= x_end_q);
  assign ends_lines = waiting_q || (ends_block && block_q == blocks_q - 16'd1);
  assign ends_row = ends_lines && (!conv_i.fold || row_cycle_q + 16'd1 >= patches_q);
  assign ends_fill = ends_row && next_row.pos >= y_end_q;
  assign done_o = !active_q || ends_fill;

  assign row_base = row_q.pos - coord_t'(conv_i.pad_top);
  assign read_o = active_q && !waiting_q && sub_q == '0;
  assign line_o = map_line(conv_i.in, line_addr_t'(block_first_q + block_q), 16'(row_base)) + line_addr_t'(line_of_row);

  logic [15:0] channels_left;  // fold: of the pixel, from this block on
  assign channels_left = conv_i.cin - block_q * 16'(Block);

  always_comb begin
    op_o.valid = active_q && !waiting_q;
    op_o.buffer = buffer_q;
    op_o.ends_line = ends_line;
    op_o.bytes = (conv_i.fold && channels_left < 16'(Block)) ? channels_left : 16'(Block);
    for (int unsigned p = 0; p < LinePixels; p++) begin
      op_o.write[p] = 1'b0;
      op_o.bank[p] = '0;
      op_o.addr[p] = '0;
      for (int unsigned k = 0; k < LinePixels; k++) begin
        if (in_line[k] && order[k] == sub_q
            && LinePixelWidth'(chain[k].pos - coord_t'(conv_i.pad_left)) == LinePixelWidth'(p)) begin
          op_o.write[p] = 1'b1;
          op_o.bank[p] = lane_of(chain[k].out, row_q.out, conv_i.shape);
          op_o.addr[p] = entry_addr(chain[k].out, chain[k].residue, row_q.out, row_q.residue, conv_i.shape, derived_i)
                         + WindowAddrWidth'(block_q * 16'(Block));
        end
      end
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      active_q <= 1'b0;
      buffer_q <= 1'b0;
      block_first_q <= '0;
      blocks_q <= '0;
      block_q <= '0;
      line_first_q <= '0;
      line_last_q <= '0;
      line_q <= '0;
      patches_q <= '0;
      row_cycle_q <= '0;
      waiting_q <= 1'b0;
      column_q <= '0;
      row_q <= '0;
      row_start_q <= '0;
      x_end_q <= '0;
      y_end_q <= '0;
      sub_q <= '0;
    end else if (load_i) begin
      active_q <= needed_i && (conv_i.fold ? x_begin : first_column.pos) < x_end && first_row.pos < y_end;
      buffer_q <= buffer_i;
      block_first_q <= in_block_of(phase_i, derived_i);
      blocks_q <= in_blocks_of(phase_i, derived_i);
      block_q <= '0;
      line_first_q <= (x_begin - coord_t'(conv_i.pad_left)) / coord_t'(LinePixels);
      line_last_q <= (x_end - coord_t'(conv_i.pad_left) - coord_t'(1)) / coord_t'(LinePixels);
      line_q <= (x_begin - coord_t'(conv_i.pad_left)) / coord_t'(LinePixels);
      patches_q <= extent.groups_x * 16'(derived_i.passes);
      row_cycle_q <= '0;
      waiting_q <= 1'b0;
      column_q <= first_column;
      row_start_q <= first_column;
      row_q <= first_row;
      x_end_q <= x_end;
      y_end_q <= y_end;
      sub_q <= '0;
    end else if (move_i && active_q) begin
      sub_q <= ends_line ? '0 : sub_q + CountWidth'(1);
      row_cycle_q <= ends_row ? '0 : row_cycle_q + 16'd1;
      waiting_q <= ends_lines && !ends_row;
      if (ends_line && !waiting_q) begin
        column_q <= ends_block ? row_start_q : following;
        line_q <= ends_block ? line_first_q : line_q + coord_t'(1);
      end
      if (ends_block && !waiting_q) block_q <= ends_lines ? '0 : block_q + 16'd1;
      if (ends_row) row_q <= next_row;
      if (ends_fill) active_q <= 1'b0;
    end
  end

endmodule
