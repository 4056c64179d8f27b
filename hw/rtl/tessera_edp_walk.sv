// What the vector unit asks for in each engine cycle: first the lines of its constants, then for every output line the
// input lines that its windows meet (hw/models/edp/README.md; classes EdpGeometry and EdpPlan). An input line takes a
// cycle a slice.
`timescale 1ns/1ps
module tessera_edp_walk (
  input  logic                         clk_i,
  input  logic                         rst_ni,
  input  logic                         move_i,
  input  logic                         load_i,  // the next engine cycle is the first of edp_i
  input  tessera_edp_pkg::edp_t        edp_i,
  output logic                         active_o,
  output logic                         a_read_o,
  output tessera_core_pkg::line_addr_t a_line_o,
  output logic                         b_read_o,
  output tessera_core_pkg::line_addr_t b_line_o,
  output tessera_edp_pkg::line_op_t    op_o
);

  import tessera_isa_pkg::*;
  import tessera_core_pkg::*;
  import tessera_edp_pkg::*;

  // ---- constants: part 0 are the average entries, part 1 + s is the table of stage s
  logic [Stages:0][ConstantWidth-1:0] part_lines;
  logic [ConstantWidth-1:0]           entries, index_q;
  logic [PartWidth-1:0]               part_q, first_part, next_part;
  logic                               any_part, another_part, constants_q, ends_part, ends_constants;

  assign entries = edp_i.whole ? ConstantWidth'(1) : ConstantWidth'(edp_i.kh) * ConstantWidth'(edp_i.kw);

  always_comb begin
    part_lines[0] = '0;
    if (edp_i.average) begin
      part_lines[0] = (ConstantWidth'(edp_i.p_base[LineOffsetWidth-1:0]) + ConstantWidth'(EntryBytes) * entries
                       + ConstantWidth'(tessera_chip_pkg::SramLineBytes - 1)) >> LineOffsetWidth;
    end
    for (int unsigned s = 0; s < Stages; s++) begin
      part_lines[s+1] = (edp_i.stages[s].op == EdpOpTable) ? ConstantWidth'(TableLines) : '0;
    end
    any_part = 1'b0;
    first_part = '0;
    another_part = 1'b0;
    next_part = '0;
    for (int unsigned p = Stages + 1; p > 0; p--) begin
      if (part_lines[p-1] != '0) begin
        any_part = 1'b1;
        first_part = PartWidth'(p - 1);
        if (PartWidth'(p - 1) > part_q) begin
          another_part = 1'b1;
          next_part = PartWidth'(p - 1);
        end
      end
    end
  end

  assign ends_part = index_q + ConstantWidth'(1) == part_lines[part_q];
  assign ends_constants = ends_part && !another_part;

  // ---- output lines
  function automatic rows_t rows_of(input edp_t edp, input logic [15:0] row);
    rows_t rows;
    coord_t origin, first;
    origin = coord_t'(row) * coord_t'(edp.sy) - coord_t'(edp.pad_top);
    rows.tap = 16'd0;
    // Taps above row 0: at most pad_top away.
    if (origin < 0) rows.tap = (16'(-origin) + 16'(edp.dy) - 16'd1) / 16'(edp.dy);
    first = origin + coord_t'(rows.tap) * coord_t'(edp.dy);
    rows.first = 16'(first);
    rows.any = rows.tap < edp.kh && first < coord_t'(edp.in_h);
    return rows;
  endfunction

  function automatic lines_t lines_of(input edp_t edp, input logic [15:0] line);
    lines_t lines;
    coord_t from, to, behind;
    behind = (coord_t'(line) + coord_t'(1)) * coord_t'(LinePixels);
    if (behind > coord_t'(edp.w)) behind = coord_t'(edp.w);
    from = coord_t'(line) * coord_t'(LinePixels) * coord_t'(edp.sx) - coord_t'(edp.pad_left);
    if (from < 0) from = '0;
    to = (behind - coord_t'(1)) * coord_t'(edp.sx) + (coord_t'(edp.kw) - coord_t'(1)) * coord_t'(edp.dx)
         - coord_t'(edp.pad_left);
    if (to >= coord_t'(edp.in_w)) to = coord_t'(edp.in_w) - coord_t'(1);
    lines.any = from <= to;
    lines.first = 16'(from / coord_t'(LinePixels));
    lines.last = 16'(to / coord_t'(LinePixels));
    return lines;
  endfunction

  logic                  lines_q, walks, any, ends_slices, ends_row, ends_window, ends_line, last_line, last_row, ends;
  position_t             position_q, position_d;
  rows_t                 rows_q, rows_d;
  lines_t                in_lines_q, in_lines_d;
  logic [15:0]           row_q, tap_q, line_q, out_lines, blocks;  // input row, its tap, its line
  logic [SliceWidth-1:0] slice_q;
  logic [16:0]           row_below;

  assign out_lines = 16'((17'(edp_i.w) + 17'(LinePixels - 1)) / 17'(LinePixels));
  assign blocks = 16'((17'(edp_i.c) + 17'(Block - 1)) / 17'(Block));
  assign active_o = constants_q || lines_q;
  assign walks = lines_q && !constants_q;
  assign any = rows_q.any && in_lines_q.any;
  assign row_below = 17'(row_q) + 17'(edp_i.dy);
  assign ends_slices = slice_q == SliceWidth'(Slices - 1);
  assign ends_row = !any || line_q == in_lines_q.last;
  assign ends_window = ends_row && (!any || tap_q + 16'd1 == edp_i.kh || row_below >= 17'(edp_i.in_h));
  assign ends_line = ends_slices && ends_window;
  assign last_line = position_q.line + 16'd1 == out_lines;
  assign last_row = last_line && position_q.row + 16'd1 == edp_i.h;
  assign ends = ends_line && last_row && position_q.block + 16'd1 == blocks;

  always_comb begin
    position_d = position_q;
    position_d.line = last_line ? '0 : position_q.line + 16'd1;
    if (last_line) position_d.row = last_row ? '0 : position_q.row + 16'd1;
    if (last_row) position_d.block = position_q.block + 16'd1;
    if (load_i) position_d = '0;
  end
  assign rows_d = rows_of(edp_i, position_d.row);
  assign in_lines_d = lines_of(edp_i, position_d.line);

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      constants_q <= 1'b0;
      part_q <= '0;
      index_q <= '0;
    end else if (load_i) begin
      constants_q <= any_part;
      part_q <= first_part;
      index_q <= '0;
    end else if (move_i && constants_q) begin
      constants_q <= !ends_constants;
      if (ends_part) part_q <= next_part;
      index_q <= ends_part ? '0 : index_q + ConstantWidth'(1);
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      lines_q <= 1'b0;
      position_q <= '0;
      rows_q <= '0;
      in_lines_q <= '0;
      row_q <= '0;
      tap_q <= '0;
      line_q <= '0;
      slice_q <= '0;
    end else if (load_i || (move_i && walks && ends_line)) begin
      lines_q <= load_i || !ends;
      position_q <= position_d;
      rows_q <= rows_d;
      in_lines_q <= in_lines_d;
      row_q <= rows_d.first;
      tap_q <= rows_d.tap;
      line_q <= in_lines_d.first;
      slice_q <= '0;
    end else if (move_i && walks) begin
      slice_q <= ends_slices ? '0 : slice_q + SliceWidth'(1);
      if (ends_slices) line_q <= ends_row ? in_lines_q.first : line_q + 16'd1;
      if (ends_slices && ends_row) begin
        row_q <= 16'(row_below);
        tap_q <= tap_q + 16'd1;
      end
    end
  end

  // ---- this engine cycle
  logic                                  opens;  // the first of its output line
  line_addr_t                            part_line;
  logic [LinePixels-1:0][LinePixels-1:0] taken;
  logic [LinePixels-1:0][EntryWidth-1:0] entry;

  tessera_edp_taps u_taps (
    .edp_i,
    .position_i(position_q),
    .line_i(line_q),
    .taken_o(taken),
    .entry_o(entry)
  );

  assign opens = walks && slice_q == '0 && (!any || (line_q == in_lines_q.first && tap_q == rows_q.tap));

  always_comb begin
    part_line = edp_i.p_base[LineOffsetWidth+:SramLineAddrWidth];
    for (int unsigned s = 0; s < Stages; s++) begin
      if (part_q == PartWidth'(s + 1)) part_line = edp_i.stages[s].table_line;
    end
  end

  assign a_read_o = constants_q || (walks && any && slice_q == '0);
  assign a_line_o = constants_q ? part_line + line_addr_t'(index_q)
                                : map_line(edp_i.a, line_addr_t'(position_q.block), row_q) + line_addr_t'(line_q);
  assign b_read_o = opens && edp_i.has_b && (!edp_i.b_broadcast || {position_q.row, position_q.line} == '0);
  assign b_line_o = map_line(edp_i.b, line_addr_t'(position_q.block), edp_i.b_broadcast ? '0 : position_q.row)
                    + (edp_i.b_broadcast ? '0 : line_addr_t'(position_q.line));

  always_comb begin
    op_o.uses_a = a_read_o;
    op_o.uses_b = b_read_o;
    op_o.constant = constants_q;
    op_o.part = part_q;
    op_o.index = index_q;
    op_o.slice = slice_q;
    op_o.first = !any || (line_q == in_lines_q.first && tap_q == rows_q.tap);
    op_o.taken = any ? taken : '0;
    op_o.entry = entry;
    op_o.write.valid = walks && ends_window;
    op_o.write.writes = ends_slices;
    op_o.write.last = ends;
    op_o.write.slice = slice_q;
    for (int unsigned x = 0; x < LinePixels; x++) begin
      op_o.write.pixel_real[x] = 20'(position_q.line) * 20'(LinePixels) + 20'(x) < 20'(edp_i.w);
    end
    for (int unsigned i = 0; i < Block; i++) begin
      op_o.write.lane_real[i] = 20'(position_q.block) * 20'(Block) + 20'(i) < 20'(edp_i.c);
    end
    op_o.write.line = map_line(edp_i.out, line_addr_t'(position_q.block), position_q.row)
                      + line_addr_t'(position_q.line);
  end

endmodule
