// The phase behind a phase: next cin tile, or first cin tile of the next tile in the instruction's order, groups outermost
// (hw/models/conv/README.md, "Tiles" and "Phases"). Combinational.
`timescale 1ns/1ps
module tessera_conv_next (
  input  tessera_conv_pkg::conv_t    conv_i,
  input  tessera_conv_pkg::derived_t derived_i,
  input  tessera_conv_pkg::phase_t   phase_i,
  output tessera_conv_pkg::phase_t   phase_o,
  output logic                       valid_o,       // there is one
  output logic                       same_window_o  // it needs nothing filled
);

  import tessera_core_pkg::*;
  import tessera_conv_pkg::*;

  logic [16:0] x_next, y_next, c_next;
  logic        x_ends, y_ends, c_ends, same_group;
  logic [15:0] cin_tiles, cout_tiles;

  assign x_next = 17'(phase_i.x) + 17'(derived_i.tile_w);
  assign y_next = 17'(phase_i.y) + 17'(derived_i.tile_h);
  assign c_next = 17'(phase_i.c) + 17'(conv_i.t);
  assign x_ends = x_next >= 17'(conv_i.out_w);
  assign y_ends = y_next >= 17'(conv_i.out_h);
  assign cin_tiles = cin_tiles_of(phase_i, conv_i, derived_i);
  assign cout_tiles = cout_tiles_of(phase_i, derived_i);
  assign c_ends = c_next >= 17'(cout_tiles);

  always_comb begin
    logic move_x, move_y, move_c;
    phase_o = phase_i;
    valid_o = 1'b1;
    same_group = 1'b1;
    move_x = 1'b0;
    move_y = 1'b0;
    move_c = 1'b0;
    if (phase_i.cin + 16'd1 < cin_tiles) begin
      phase_o.cin = phase_i.cin + 16'd1;
    end else begin
      phase_o.cin = 16'd0;
      move_x = conv_i.channels_outer || c_ends;
      move_y = move_x && x_ends;
      move_c = !conv_i.channels_outer || (x_ends && y_ends);
      if (move_x) phase_o.x = x_ends ? 16'd0 : 16'(x_next);
      if (move_y) phase_o.y = y_ends ? 16'd0 : 16'(y_next);
      if (move_c) phase_o.c = c_ends ? 16'd0 : 16'(c_next);
      if (x_ends && y_ends && c_ends) begin
        same_group = 1'b0;
        phase_o.in_first = phase_i.in_first + derived_i.cin_group;
        phase_o.out_first = phase_i.out_first + derived_i.cout_group;
        phase_o.weight_tile = phase_i.weight_tile
            + line_addr_t'(cout_tiles) * line_addr_t'(cin_tiles) * line_addr_t'(conv_i.kh) * line_addr_t'(conv_i.kw);
        valid_o = phase_o.out_first != conv_i.cout;
      end
    end
  end

  assign same_window_o = !conv_i.depthwise && same_group && cin_tiles == 16'd1 && phase_o.x == phase_i.x && phase_o.y == phase_i.y;

endmodule
