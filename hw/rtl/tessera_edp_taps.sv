// Which pixels of an input line each pixel of an output line takes, and how many elements its window has
// (hw/models/edp/README.md; window_count of isa/semantics). Combinational.
`timescale 1ns/1ps
module tessera_edp_taps (
  input  tessera_edp_pkg::edp_t      edp_i,
  input  tessera_edp_pkg::position_t position_i,
  input  logic [15:0]                line_i,  // of the input row
  output logic [tessera_core_pkg::LinePixels-1:0][tessera_core_pkg::LinePixels-1:0] taken_o,
  output logic [tessera_core_pkg::LinePixels-1:0][tessera_edp_pkg::EntryWidth-1:0] entry_o
);

  import tessera_core_pkg::*;
  import tessera_edp_pkg::*;

  // Elements of a window that begins at `origin` along one axis.
  function automatic logic [15:0] elements(input coord_t origin, input logic [15:0] kernel, input logic [15:0] extent,
                                           input logic [7:0] pad_after, input logic count_pad);
    coord_t first, behind, limit;
    first = (origin < 0 && !count_pad) ? coord_t'(0) : origin;
    behind = origin + coord_t'(kernel);
    limit = coord_t'(extent) + (count_pad ? coord_t'(pad_after) : coord_t'(0));
    if (behind > limit) behind = limit;
    return (behind > first) ? 16'(behind - first) : 16'd0;
  endfunction

  logic [15:0] rows;
  coord_t      reach;  // from the first tap of a window to the last

  assign rows = elements(coord_t'(position_i.row) * coord_t'(edp_i.sy) - coord_t'(edp_i.pad_top), edp_i.kh, edp_i.in_h,
                         edp_i.pad_bottom, edp_i.count_pad);
  assign reach = (coord_t'(edp_i.kw) - coord_t'(1)) * coord_t'(edp_i.dx);

  always_comb begin
    coord_t origin, at, offset;
    for (int unsigned x = 0; x < LinePixels; x++) begin
      origin = (coord_t'(position_i.line) * coord_t'(LinePixels) + coord_t'(x)) * coord_t'(edp_i.sx)
               - coord_t'(edp_i.pad_left);
      entry_o[x] = edp_i.whole ? '0
          : EntryWidth'(rows * elements(origin, edp_i.kw, edp_i.in_w, edp_i.pad_right, edp_i.count_pad) - 16'd1);
      for (int unsigned q = 0; q < LinePixels; q++) begin
        at = coord_t'(line_i) * coord_t'(LinePixels) + coord_t'(q);
        offset = at - origin;
        taken_o[x][q] = at < coord_t'(edp_i.in_w) && offset >= 0 && offset <= reach
                        && 16'(offset) % 16'(edp_i.dx) == 16'd0;
      end
    end
  end

endmodule
