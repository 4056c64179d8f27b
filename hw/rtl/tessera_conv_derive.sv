// What a convolution derives from its fields once: used columns and rows, quotients by the strides, channels of a group
// (hw/models/conv/README.md; class ConvGeometry). Combinational.
`timescale 1ns/1ps
module tessera_conv_derive (
  input  tessera_conv_pkg::conv_t    conv_i,
  output tessera_conv_pkg::derived_t derived_o
);

  import tessera_core_pkg::*;
  import tessera_conv_pkg::*;

  function automatic logic [7:0] used_residues(input logic [7:0] kernel, input logic [7:0] dilation,
                                               input logic [7:0] stride);
    if (kernel == 8'd1) return 8'd1;
    if (dilation != 8'd1) return stride;
    return (kernel < stride) ? kernel : stride;
  endfunction

  logic [15:0] tile_w, width;
  logic [7:0]  folds;
  coord_t      columns, period, rest;

  assign tile_w = 16'(conv_i.gx) * shape_px(conv_i.shape);
  assign folds = conv_i.fold ? conv_i.folds : 8'd1;
  assign width = (tile_w < conv_i.out_w) ? tile_w : conv_i.out_w;
  assign columns = (coord_t'(width) - coord_t'(1)) * coord_t'(conv_i.sx)
                   + (coord_t'(conv_i.kw) - coord_t'(1)) * coord_t'(conv_i.dx) + coord_t'(1);
  assign period = coord_t'(conv_i.sx) * coord_t'(shape_px(conv_i.shape));
  assign rest = columns % period;

  always_comb begin
    derived_o.used_x = used_residues(conv_i.kw, conv_i.dx, conv_i.sx);
    derived_o.used_y = used_residues(conv_i.kh, conv_i.dy, conv_i.sy);
    derived_o.dx_q = conv_i.dx / conv_i.sx;
    derived_o.dx_r = conv_i.dx % conv_i.sx;
    derived_o.dy_q = conv_i.dy / conv_i.sy;
    derived_o.dy_r = conv_i.dy % conv_i.sy;
    derived_o.left_q = conv_i.pad_left / conv_i.sx;
    derived_o.left_r = conv_i.pad_left % conv_i.sx;
    derived_o.top_q = conv_i.pad_top / conv_i.sy;
    derived_o.top_r = conv_i.pad_top % conv_i.sy;
    // Bank 0 holds the first sx columns of each period of PX x sx.
    derived_o.row_entries = 16'(columns / period * coord_t'(derived_o.used_x)
        + ((rest < coord_t'(derived_o.used_x)) ? rest : coord_t'(derived_o.used_x)));
    derived_o.depthwise = conv_i.depthwise;
    derived_o.cin_group = conv_i.depthwise ? conv_i.cin : conv_i.cin / conv_i.groups;
    derived_o.cout_group = conv_i.depthwise ? conv_i.cout : conv_i.cout / conv_i.groups;
    derived_o.c_tile_lines = line_addr_t'((32'(conv_i.kh) * 32'(conv_i.kw) * Cout + tessera_chip_pkg::SramLineBytes - 1)
                                          / tessera_chip_pkg::SramLineBytes);
    derived_o.tile_w = tile_w;
    derived_o.tile_h = 16'(conv_i.gy) * shape_py(conv_i.shape);
    derived_o.entry_bytes = conv_i.depthwise ? 16'(Cout) : conv_i.fold ? conv_i.cin : 16'(Cin);
    derived_o.passes = 8'((9'(conv_i.kw) + 9'(folds) - 9'd1) / 9'(folds));
  end

  // fold: lane = column x cin + channel.
  always_comb begin
    logic [ColumnWidth-1:0] column;
    logic [7:0]             channel;
    column = '0;
    channel = 8'd0;
    for (int unsigned i = 0; i < Cin; i++) begin
      derived_o.lane_column[i] = column;
      derived_o.lane_byte[i] = channel;
      channel = channel + 8'd1;
      if (conv_i.fold && 16'(channel) == conv_i.cin) begin
        channel = 8'd0;
        column = column + ColumnWidth'(1);
      end
    end
  end

endmodule
