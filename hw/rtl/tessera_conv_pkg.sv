// Types inside the convolution engine: the instruction as the engine keeps it, what is derived from it once, positions,
// and the micro-operations that travel down the rigid pipeline (hw/models/conv/README.md).
`timescale 1ns/1ps
package tessera_conv_pkg;

  import tessera_chip_pkg::*;
  import tessera_core_pkg::*;

  localparam int unsigned Lanes = ConvPixelLanes;  // pixels, PX x PY of them
  localparam int unsigned LaneWidth = (Lanes > 1) ? $clog2(Lanes) : 1;
  localparam int unsigned Cin = ConvCinLanes;
  localparam int unsigned Cout = ConvCoutLanes;
  localparam int unsigned LinePixelWidth = (LinePixels > 1) ? $clog2(LinePixels) : 1;
  localparam int unsigned Block = LayoutChannelBlock;
  localparam int unsigned CinBlocks = Cin / Block;
  localparam int unsigned CoutBlocks = Cout / Block;
  localparam int unsigned BlockWidth = (CoutBlocks > 1) ? $clog2(CoutBlocks) : 1;  // block of a cout tile
  localparam int unsigned WindowAddrWidth = $clog2(ConvWindowBytes / Lanes);  // byte of a window bank
  localparam int unsigned AccWidth = (ConvAccumulators > 1) ? $clog2(ConvAccumulators) : 1;
  localparam int unsigned WeightLines = (Cin * Cout + SramLineBytes - 1) / SramLineBytes;  // of a weight tile
  localparam int unsigned ParamBytes = 12;  // of a channel
  localparam int unsigned ParamLines = (ParamBytes * Cout + 2 * SramLineBytes - 2) / SramLineBytes;  // at most, of a cout tile
  localparam int unsigned Taps = ConvDepthwiseTaps;  // of a kernel row in one depthwise step
  localparam int unsigned Columns = Cin;  // that a step reads for a pixel: one, the taps of depthwise, those of a patch
  localparam int unsigned ColumnWidth = (Columns > 1) ? $clog2(Columns) : 1;
  // Lines of weights that a step looks at: a weight tile, or the taps of a depthwise step at any place in their first line.
  localparam int unsigned TapLines = (Taps * Cout + 2 * SramLineBytes - 2) / SramLineBytes;
  localparam int unsigned StepLines = (WeightLines > TapLines) ? WeightLines : TapLines;
  localparam int unsigned Ring = 2 * StepLines;  // lines of weights that are held
  localparam int unsigned RingWidth = $clog2(Ring);
  localparam int unsigned LineIndexWidth = 8;  // of a weight or parameter line in its buffer
  localparam int unsigned CoordWidth = 26;  // padded coordinates: 16 bits x 8 bits of stride, and a kernel
  // A read of engine cycle e is used in engine cycle e + Skew.
  localparam int unsigned Skew = SramReadLatency + 1;
  // A drain of nominal cycle n is written in n + WriteStage.
  localparam int unsigned WriteStage = SramReadLatency + ConvPipelineCycles;

  typedef logic [CoordWidth-1:0] coord_t;
  typedef logic [1:0] shape_t;  // index into conv.pixel_shapes

  typedef struct packed {
    logic               depthwise;
    logic               fold;
    shape_t             shape;
    logic [7:0]         folds;  // fold: kernel columns on the input lanes
    logic               channels_outer;
    logic               shift_only;
    logic               has_residual;
    map_t               in;
    map_t               residual;
    map_t               out;
    line_addr_t         w_line;
    logic [SramAddrWidth-1:0] p_base;
    logic [15:0]        in_h, in_w, cin, out_h, out_w, cout, groups;
    logic [7:0]         kh, kw, sy, sx, dy, dx, pad_top, pad_left;
    logic signed [8:0]  in_zp, w_zp;
    logic signed [15:0] out_zp, lo, hi;
    logic [7:0]         gx, gy, t;
    logic signed [31:0] res_ma, res_mb;
    logic [5:0]         res_shift;
    logic signed [8:0]  res_zb, res_zo;
  } conv_t;

  // Derived once an instruction. Used columns: those with xp mod sx < used_x. dx_q, dx_r: quotient and remainder by sx.
  typedef struct packed {
    logic [7:0]  used_x, used_y;
    logic [7:0]  dx_q, dx_r, dy_q, dy_r;
    logic [7:0]  left_q, left_r, top_q, top_r;
    logic [15:0] row_entries;  // of a window row in the fullest bank
    logic        depthwise;
    logic [15:0] cin_group, cout_group;  // channels of a group; depthwise: all
    line_addr_t  c_tile_lines;           // depthwise: weights of a c tile
    logic [15:0] tile_w, tile_h;
    logic [15:0] entry_bytes;            // of a window entry: one pixel, its lanes (fold: its channels)
    logic [7:0]  passes;                 // weight tiles of a kernel row
    // Input lane: which column of the step, which byte of its entry. Dense: lane i of column 0.
    logic [Cin-1:0][ColumnWidth-1:0] lane_column;
    logic [Cin-1:0][7:0]             lane_byte;
  } derived_t;

  // A phase: first output pixel and first cout tile (in its group) of its tile, cin tile; first channels and first weight
  // tile of its group.
  typedef struct packed {
    logic [15:0] x, y, c, cin;
    logic [15:0] in_first, out_first;
    line_addr_t  weight_tile;
  } phase_t;

  // What a tile really has.
  typedef struct packed {
    logic [15:0] columns, rows, groups_x, groups_y, couts;
  } extent_t;

  // One padded coordinate that a tap can meet: position, residue by the stride, outputs behind the tile's first.
  typedef struct packed {
    coord_t      pos;
    logic [7:0]  residue;
    logic [15:0] out;
  } used_t;

  // Window write of one fill cycle.
  typedef struct packed {
    logic                                       valid;
    logic                                       buffer;
    logic                                       ends_line;  // the line has been written
    logic [15:0]                                bytes;      // of a pixel
    logic [LinePixels-1:0]                      write;      // this pixel, now
    logic [LinePixels-1:0][LaneWidth-1:0]       bank;
    logic [LinePixels-1:0][WindowAddrWidth-1:0] addr;
  } fill_op_t;

  // One step of the array.
  typedef struct packed {
    logic                             valid;
    logic                             window;   // buffers
    logic                             depthwise;
    logic [RingWidth-1:0]             weights;  // first line in the ring
    logic [LineOffsetWidth-1:0]       offset;   // depthwise: of the first tap in it
    logic                             half;
    logic                             first;    // of the accumulator entry
    logic [AccWidth-1:0]              acc;
    logic [Cin-1:0]                   cin_real;
    logic [Columns-1:0][Lanes-1:0]                      exists;  // else padding, or behind the kernel
    logic [Columns-1:0][Lanes-1:0][LaneWidth-1:0]       bank;
    logic [Columns-1:0][Lanes-1:0][WindowAddrWidth-1:0] addr;    // of the entry
  } step_op_t;

  // A line that port W brings.
  typedef struct packed {
    logic                      valid;
    logic                      param;   // else weights
    logic                      half;    // of the parameters
    logic [AccWidth-1:0]       cout_tile;
    logic [LineIndexWidth-1:0] index;
  } weight_op_t;

  // One output line.
  typedef struct packed {
    logic                                   valid;
    logic                                   last;  // of the instruction
    logic                                   half;
    logic [AccWidth-1:0]                    cout_tile;
    logic [LineOffsetWidth-1:0]             param_offset;  // of the first real channel's parameters in their first line
    logic [15:0]                            param_lane;    // lane of that channel
    logic [BlockWidth-1:0]                  block;         // of the cout tile
    logic [LinePixels-1:0]                  pixel_real;
    logic [LinePixels-1:0][AccWidth-1:0]    acc;
    logic [LinePixels-1:0][LaneWidth-1:0]   lane;
    logic [Block-1:0]                       cout_real;
    line_addr_t                             out;
    line_addr_t                             residual;
  } drain_op_t;

  // Pixel lanes are PX x PY, chosen by the instruction: divisions by the constants of each shape.
  function automatic logic [15:0] shape_px(input shape_t shape);
    logic [15:0] px;
    px = 16'(ConvPixelShapesPx[0]);
    for (int unsigned s = 1; s < ConvPixelShapes; s++) if (shape == shape_t'(s)) px = 16'(ConvPixelShapesPx[s]);
    return px;
  endfunction

  function automatic logic [15:0] shape_py(input shape_t shape);
    logic [15:0] py;
    py = 16'(ConvPixelShapesPy[0]);
    for (int unsigned s = 1; s < ConvPixelShapes; s++) if (shape == shape_t'(s)) py = 16'(ConvPixelShapesPy[s]);
    return py;
  endfunction

  function automatic logic [15:0] div_px(input logic [15:0] value, input shape_t shape);
    logic [15:0] quotient;
    quotient = value / 16'(ConvPixelShapesPx[0]);
    for (int unsigned s = 1; s < ConvPixelShapes; s++) begin
      if (shape == shape_t'(s)) quotient = value / 16'(ConvPixelShapesPx[s]);
    end
    return quotient;
  endfunction

  function automatic logic [15:0] div_py(input logic [15:0] value, input shape_t shape);
    logic [15:0] quotient;
    quotient = value / 16'(ConvPixelShapesPy[0]);
    for (int unsigned s = 1; s < ConvPixelShapes; s++) begin
      if (shape == shape_t'(s)) quotient = value / 16'(ConvPixelShapesPy[s]);
    end
    return quotient;
  endfunction

  // Lane, and so window bank, of the pixel at (x, y).
  function automatic logic [LaneWidth-1:0] lane_of(input logic [15:0] x, input logic [15:0] y, input shape_t shape);
    return LaneWidth'((x - div_px(x, shape) * shape_px(shape))
                      + (y - div_py(y, shape) * shape_py(shape)) * shape_px(shape));
  endfunction

  // Tiles of the group of a phase: lanes of a tile are whole channel blocks, and a group may begin within one.
  function automatic logic [15:0] cin_tiles_of(input phase_t phase, input conv_t conv, input derived_t derived);
    if (conv.depthwise || conv.fold) return 16'd1;
    return (phase.in_first % 16'(Block) + derived.cin_group + 16'(Cin - 1)) / 16'(Cin);
  endfunction

  function automatic logic [15:0] cout_tiles_of(input phase_t phase, input derived_t derived);
    return (phase.out_first % 16'(Block) + derived.cout_group + 16'(Cout - 1)) / 16'(Cout);
  endfunction

  // First channel block of the phase's window, and how many.
  function automatic logic [15:0] in_block_of(input phase_t phase, input derived_t derived);
    return phase.in_first / 16'(Block)
           + (derived.depthwise ? phase.c * 16'(CoutBlocks) : phase.cin * 16'(CinBlocks));
  endfunction

  function automatic logic [15:0] in_blocks_of(input phase_t phase, input derived_t derived);
    logic [15:0] most, left;
    most = derived.depthwise ? 16'(CoutBlocks) : 16'(CinBlocks);
    left = (phase.in_first + derived.cin_group - 16'd1) / 16'(Block) + 16'd1 - in_block_of(phase, derived);
    return (left < most) ? left : most;
  endfunction

  // Channel of lane 0 of a cout tile of the phase's group.
  function automatic logic [16:0] cout_tile_channel(input phase_t phase, input logic [15:0] tile);
    return 17'(phase.out_first) / 17'(Block) * 17'(Block) + 17'(tile) * 17'(Cout);
  endfunction

  // First byte of the window entry of a used column (outputs, residue) and a used row.
  function automatic logic [WindowAddrWidth-1:0] entry_addr(
      input logic [15:0] x_out, input logic [7:0] x_residue, input logic [15:0] y_out, input logic [7:0] y_residue,
      input shape_t shape, input derived_t derived);
    logic [15:0] row;
    row = div_py(y_out, shape) * 16'(derived.used_y) + 16'(y_residue);
    return WindowAddrWidth'((row * derived.row_entries + div_px(x_out, shape) * 16'(derived.used_x) + 16'(x_residue))
                            * derived.entry_bytes);
  endfunction

  function automatic used_t next_used(input used_t at, input logic [7:0] stride, input logic [7:0] used);
    used_t next;
    next = at;
    if (at.residue + 8'd1 < used) begin
      next.pos = at.pos + coord_t'(1);
      next.residue = at.residue + 8'd1;
    end else begin
      next.pos = at.pos + coord_t'(stride) - coord_t'(at.residue);
      next.residue = 8'd0;
      next.out = at.out + 16'd1;
    end
    return next;
  endfunction

  // The first used coordinate of a tile that begins at output `first`; pad = pad_q x stride + pad_r.
  function automatic used_t first_used(input logic [15:0] first, input logic [7:0] stride, input logic [7:0] used,
                                       input logic [7:0] pad, input logic [7:0] pad_q, input logic [7:0] pad_r);
    used_t at;
    at.pos = coord_t'(first) * coord_t'(stride);
    at.residue = 8'd0;
    at.out = 16'd0;
    if (at.pos < coord_t'(pad)) begin
      at.pos = coord_t'(pad);
      at.residue = pad_r;
      at.out = 16'(pad_q) - first;
      // A residue that no tap meets: the next multiple of the stride.
      if (at.residue >= used) at = next_used(at, stride, used);
    end
    return at;
  endfunction

  // Behind the last coordinate that a tile of `count` outputs reads and that exists.
  function automatic coord_t end_used(input logic [15:0] first, input logic [15:0] count, input logic [7:0] stride,
                                      input logic [7:0] kernel, input logic [7:0] dilation, input logic [7:0] pad,
                                      input logic [15:0] extent);
    coord_t reach, exists;
    reach = (coord_t'(first) + coord_t'(count) - coord_t'(1)) * coord_t'(stride)
            + (coord_t'(kernel) - coord_t'(1)) * coord_t'(dilation) + coord_t'(1);
    exists = coord_t'(pad) + coord_t'(extent);
    return (reach < exists) ? reach : exists;
  endfunction

  function automatic extent_t extent_of(input phase_t phase, input conv_t conv, input derived_t derived);
    extent_t extent;
    logic [15:0] columns, rows, couts;
    columns = conv.out_w - phase.x;
    rows = conv.out_h - phase.y;
    couts = cout_tiles_of(phase, derived) - phase.c;
    extent.columns = (columns < derived.tile_w) ? columns : derived.tile_w;
    extent.rows = (rows < derived.tile_h) ? rows : derived.tile_h;
    extent.couts = (couts < 16'(conv.t)) ? couts : 16'(conv.t);
    extent.groups_x = div_px(extent.columns + shape_px(conv.shape) - 16'd1, conv.shape);
    extent.groups_y = div_py(extent.rows + shape_py(conv.shape) - 16'd1, conv.shape);
    return extent;
  endfunction

endpackage
