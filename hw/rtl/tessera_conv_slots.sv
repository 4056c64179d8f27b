// The slots of a phase: one weight tile against all pixel groups, a step a cycle; port W reads the weights of the next
// slot and, in a tile's first phase, the parameters of its cout tiles (hw/models/conv/README.md, "Slots"). The prologue
// is a phase without steps that reads the first weights.
`timescale 1ns/1ps
module tessera_conv_slots (
  input  logic                         clk_i,
  input  logic                         rst_ni,
  input  logic                         move_i,
  input  logic                         start_i, // of an instruction
  input  logic                         load_i,  // the next engine cycle is the first of a phase
  // The phase, stable while it lasts
  input  logic                         prologue_i,
  input  tessera_conv_pkg::phase_t     phase_i,
  input  tessera_conv_pkg::phase_t     next_i,
  input  logic                         next_valid_i,
  input  logic                         window_i,
  input  logic                         half_i,
  input  tessera_conv_pkg::conv_t      conv_i,
  input  tessera_conv_pkg::derived_t   derived_i,
  output logic                         done_o,  // after this engine cycle, or before
  output logic                         read_o,
  output tessera_core_pkg::line_addr_t line_o,
  output tessera_conv_pkg::weight_op_t weight_op_o,
  output tessera_conv_pkg::step_op_t   step_op_o
);

  import tessera_conv_pkg::*;
  import tessera_core_pkg::*;

  localparam int unsigned LineOffset = LineOffsetWidth;

  // A tap along one axis: kernel index, index x dilation = q x stride + r.
  typedef struct packed {
    logic [7:0]  index;
    logic [15:0] q;
    logic [7:0]  r;
    coord_t      offset;
  } tap_t;

  function automatic tap_t next_tap(input tap_t at, input logic [7:0] stride, input logic [7:0] dilation,
                                    input logic [7:0] dilation_q, input logic [7:0] dilation_r);
    tap_t next;
    logic [8:0] sum;
    sum = 9'(at.r) + 9'(dilation_r);
    next.index = at.index + 8'd1;
    next.offset = at.offset + coord_t'(dilation);
    next.q = at.q + 16'(dilation_q);
    next.r = 8'(sum);
    if (sum >= 9'(stride)) begin
      next.q = next.q + 16'd1;
      next.r = 8'(sum - 9'(stride));
    end
    return next;
  endfunction

  logic        active_q;
  logic [15:0] cycle_q, couts_q, group_x_q, group_y_q;
  logic [7:0]  part_q;  // depthwise: cycle of a step, which takes the stride
  logic [7:0]  pass_q;  // weight tile of the kernel row; dense: the kernel column
  // Ring of weight lines: of the steps' weights (depthwise: of the phase's first line), where the next are written.
  logic [RingWidth-1:0] weights_q, weights_next;
  tap_t        tap_x_q, tap_y_q;
  extent_t     extent;

  assign extent = extent_of(phase_i, conv_i, derived_i);

  // ---- lengths
  logic        last_x, last_y, last_cout, last_slot, slot_ends, reads_params, first_tap;
  logic [15:0] steps, weight_lines, param_lines, needed;
  logic [SramAddrWidth-1:0] param_first, param_last;
  logic [16:0] channel_tile, channel_first, channel_end, group_end;

  // Kernel columns of a slot.
  logic [ColumnWidth:0] columns;
  assign columns = conv_i.depthwise ? (ColumnWidth+1)'(Taps) : conv_i.fold ? (ColumnWidth+1)'(conv_i.folds)
                                                             : (ColumnWidth+1)'(1);

  assign last_x = 16'(tap_x_q.index) + 16'(columns) >= 16'(conv_i.kw);
  assign last_y = tap_y_q.index == conv_i.kh - 8'd1;
  assign last_cout = couts_q == extent.couts - 16'd1;
  assign last_slot = prologue_i || (last_x && last_y && last_cout);
  assign first_tap = tap_x_q.index == 8'd0 && tap_y_q.index == 8'd0;
  assign reads_params = !prologue_i && phase_i.cin == 16'd0 && first_tap;

  // Real channels of the cout tile.
  assign channel_tile = cout_tile_channel(phase_i, phase_i.c + couts_q);
  assign group_end = 17'(phase_i.out_first) + 17'(derived_i.cout_group);
  assign channel_first = (channel_tile > 17'(phase_i.out_first)) ? channel_tile : 17'(phase_i.out_first);
  assign channel_end = (channel_tile + 17'(Cout) < group_end) ? channel_tile + 17'(Cout) : group_end;
  assign param_first = conv_i.p_base + SramAddrWidth'(channel_first) * SramAddrWidth'(ParamBytes);
  assign param_last = conv_i.p_base + SramAddrWidth'(channel_end) * SramAddrWidth'(ParamBytes) - SramAddrWidth'(1);

  assign steps = prologue_i ? 16'd0 : extent.groups_x * extent.groups_y * (conv_i.depthwise ? 16'(conv_i.sx) : 16'd1);

  // Depthwise: lines of the c tile that the taps up to the end of a slot need.
  function automatic line_addr_t lines_to(input logic [7:0] ky, input logic [7:0] kx, input logic [7:0] kw);
    logic [31:0] end_x;
    end_x = (32'(kx) + Taps < 32'(kw)) ? 32'(kx) + Taps : 32'(kw);
    return line_addr_t'(((32'(ky) * 32'(kw) + end_x) * Cout + tessera_chip_pkg::SramLineBytes - 1)
                        / tessera_chip_pkg::SramLineBytes);
  endfunction

  line_addr_t lines_read, lines_following;  // of the phase: up to this slot, up to the next one
  assign lines_read = lines_to(tap_y_q.index, tap_x_q.index, conv_i.kw);
  assign lines_following = last_slot ? lines_to(8'd0, 8'd0, conv_i.kw)
                                     : lines_to(following_y.index, following_x.index, conv_i.kw);

  always_comb begin
    weight_lines = 16'(WeightLines);
    if (conv_i.depthwise) weight_lines = last_slot ? 16'(lines_following) : 16'(lines_following) - 16'(lines_read);
    if (last_slot && !next_valid_i) weight_lines = 16'd0;
  end
  assign param_lines = !reads_params ? 16'd0
      : 16'(32'(param_last) >> LineOffset) - 16'(32'(param_first) >> LineOffset) + 16'd1;
  assign needed = weight_lines + param_lines;
  assign slot_ends = cycle_q + 16'd1 >= ((steps > needed) ? steps : needed);
  assign done_o = !active_q || (last_slot && slot_ends);

  // ---- port W
  tap_t        following_x, following_y;
  phase_t      weight_phase;
  logic [15:0] weight_cout;
  logic [15:0] weight_tap;
  logic [7:0]  following_pass;
  line_addr_t  weight_tile;

  // taps[k]: k taps further in the kernel row
  tap_t [Columns:0] taps;
  always_comb begin
    tap_t at;
    at = tap_x_q;
    for (int unsigned k = 0; k <= Columns; k++) begin
      taps[k] = at;
      at = next_tap(at, conv_i.sx, conv_i.dx, derived_i.dx_q, derived_i.dx_r);
    end
  end
  assign following_x = !last_cout ? tap_x_q : last_x ? '0 : taps[columns];
  assign following_pass = !last_cout ? pass_q : last_x ? 8'd0 : pass_q + 8'd1;
  assign following_y = (last_cout && last_x) ? next_tap(tap_y_q, conv_i.sy, conv_i.dy, derived_i.dy_q, derived_i.dy_r)
                                             : tap_y_q;

  always_comb begin
    weight_phase = phase_i;
    weight_cout = last_cout ? 16'd0 : couts_q + 16'd1;
    weight_tap = 16'(following_y.index) * 16'(derived_i.passes) + 16'(following_pass);
    if (last_slot) begin
      weight_phase = next_i;
      weight_cout = 16'd0;
      weight_tap = 16'd0;
    end
  end

  // [group][cout tile][cin tile][ky][kx or pass]
  assign weight_tile = weight_phase.weight_tile
                       + (line_addr_t'(weight_phase.c + weight_cout) * line_addr_t'(cin_tiles_of(weight_phase, conv_i, derived_i))
                        + line_addr_t'(weight_phase.cin)) * line_addr_t'(conv_i.kh) * line_addr_t'(derived_i.passes)
                       + line_addr_t'(weight_tap);

  always_comb begin
    logic [RingWidth-1:0] ring;
    weight_op_o.valid = active_q && cycle_q < needed;
    weight_op_o.param = cycle_q >= weight_lines;
    ring = ring_add(weights_next, 32'(cycle_q));
    weight_op_o.half = half_i;
    weight_op_o.cout_tile = AccWidth'(couts_q);
    weight_op_o.index = weight_op_o.param ? LineIndexWidth'(cycle_q - weight_lines) : LineIndexWidth'(ring);
    line_o = conv_i.w_line + weight_tile * line_addr_t'(WeightLines) + line_addr_t'(cycle_q);
    if (conv_i.depthwise) begin
      line_o = conv_i.w_line + line_addr_t'(weight_phase.c) * derived_i.c_tile_lines
               + (last_slot ? '0 : lines_read) + line_addr_t'(cycle_q);
    end
    if (weight_op_o.param) begin
      line_o = line_addr_t'(param_first >> LineOffset) + line_addr_t'(cycle_q - weight_lines);
    end
  end
  assign read_o = weight_op_o.valid;

  function automatic logic [RingWidth-1:0] ring_add(input logic [RingWidth-1:0] at, input logic [31:0] lines);
    return RingWidth'((32'(at) + lines) % 32'(Ring));
  endfunction

  always_comb begin
    weights_next = weights_q;
    if (!conv_i.depthwise) weights_next = ring_add(weights_q, 32'(WeightLines));
    else if (!prologue_i) weights_next = ring_add(weights_q, last_slot ? 32'(derived_i.c_tile_lines) : 32'(lines_read));
  end

  // ---- steps: groups of a row of pixel groups, then the next row
  logic [31:0] tap_bytes;  // depthwise: of the weights before this slot's
  logic        ends_step;
  assign tap_bytes = (32'(tap_y_q.index) * 32'(conv_i.kw) + 32'(tap_x_q.index)) * Cout;
  assign ends_step = !conv_i.depthwise || part_q == conv_i.sx - 8'd1;

  always_comb begin
    logic [15:0] x, y, lane_x, lane_y;
    logic [16:0] channel;
    coord_t      column, row;
    column = '0;
    lane_x = '0;
    lane_y = '0;
    step_op_o.valid = active_q && cycle_q < steps && ends_step;
    step_op_o.window = window_i;
    step_op_o.depthwise = conv_i.depthwise;
    step_op_o.weights = weights_q;
    if (conv_i.depthwise) step_op_o.weights = ring_add(weights_q, tap_bytes >> LineOffset);
    step_op_o.offset = tap_bytes[LineOffset-1:0];
    step_op_o.half = half_i;
    step_op_o.first = phase_i.cin == 16'd0 && first_tap;
    step_op_o.acc = AccWidth'((group_y_q * extent.groups_x + group_x_q) * 16'(conv_i.t) + couts_q);
    for (int unsigned c = 0; c < Cin; c++) begin
      channel = 17'(in_block_of(phase_i, derived_i)) * 17'(Block) + 17'(c);
      step_op_o.cin_real[c] = conv_i.fold ? 8'(derived_i.lane_column[c]) < conv_i.folds
          : channel >= 17'(phase_i.in_first) && channel < 17'(phase_i.in_first) + 17'(derived_i.cin_group);
    end
    // Lane p is pixel (p mod PX, p / PX) of its group.
    for (int unsigned p = 0; p < Lanes; p++) begin
      lane_y = div_px(16'(p), conv_i.shape);
      lane_x = 16'(p) - lane_y * shape_px(conv_i.shape);
      x = group_x_q * shape_px(conv_i.shape) + lane_x;
      y = group_y_q * shape_py(conv_i.shape) + lane_y;
      row = (coord_t'(phase_i.y) + coord_t'(y)) * coord_t'(conv_i.sy) + tap_y_q.offset;
      for (int unsigned k = 0; k < Columns; k++) begin
        step_op_o.exists[k][p] = 1'b0;
        step_op_o.bank[k][p] = '0;
        step_op_o.addr[k][p] = '0;
        if (k < 32'(columns)) begin
          column = (coord_t'(phase_i.x) + coord_t'(x)) * coord_t'(conv_i.sx) + taps[k].offset;
          step_op_o.exists[k][p] = row >= coord_t'(conv_i.pad_top)
              && row < coord_t'(conv_i.pad_top) + coord_t'(conv_i.in_h) && column >= coord_t'(conv_i.pad_left)
              && column < coord_t'(conv_i.pad_left) + coord_t'(conv_i.in_w) && taps[k].index < conv_i.kw
              && taps[k].index >= tap_x_q.index;
          step_op_o.bank[k][p] = lane_of(x + taps[k].q, y + tap_y_q.q, conv_i.shape);
          step_op_o.addr[k][p] = entry_addr(x + taps[k].q, taps[k].r, y + tap_y_q.q, tap_y_q.r, conv_i.shape, derived_i);
        end
      end
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      active_q <= 1'b0;
      weights_q <= '0;
      part_q <= '0;
      pass_q <= '0;
      cycle_q <= '0;
      couts_q <= '0;
      group_x_q <= '0;
      group_y_q <= '0;
      tap_x_q <= '0;
      tap_y_q <= '0;
    end else begin
      if (move_i && active_q) begin
        cycle_q <= cycle_q + 16'd1;
        part_q <= ends_step ? '0 : part_q + 8'd1;
        if (ends_step) begin
          group_x_q <= (group_x_q == extent.groups_x - 16'd1) ? '0 : group_x_q + 16'd1;
          if (group_x_q == extent.groups_x - 16'd1) group_y_q <= group_y_q + 16'd1;
        end
        if (slot_ends) begin
          if (!conv_i.depthwise || last_slot) weights_q <= weights_next;
          part_q <= '0;
          cycle_q <= '0;
          group_x_q <= '0;
          group_y_q <= '0;
          couts_q <= last_cout ? '0 : couts_q + 16'd1;
          pass_q <= following_pass;
          tap_x_q <= following_x;
          tap_y_q <= following_y;
          if (last_slot) active_q <= 1'b0;
        end
      end
      if (start_i) weights_q <= '0;
      if (load_i) begin
        part_q <= '0;
        pass_q <= '0;
        active_q <= 1'b1;
        cycle_q <= '0;
        couts_q <= '0;
        group_x_q <= '0;
        group_y_q <= '0;
        tap_x_q <= '0;
        tap_y_q <= '0;
      end
    end
  end

endmodule
