// The drain of a tile: one output line a cycle, for each channel block, each row, each line of the row
// (hw/models/conv/README.md, "Drain"). Begins in the first cycle behind the tile's last phase.
`timescale 1ns/1ps
module tessera_conv_drain (
  input  logic                        clk_i,
  input  logic                        rst_ni,
  input  logic                        move_i,
  input  logic                        load_i,  // the next engine cycle is the first of the drain of phase_i's tile
  input  logic                        last_tile_i,
  input  logic                        half_i,
  input  tessera_conv_pkg::phase_t    phase_i,
  input  tessera_conv_pkg::conv_t     conv_i,
  input  tessera_conv_pkg::derived_t  derived_i,
  output logic                        active_o,
  output logic                        done_o,  // after this engine cycle, or before
  output tessera_conv_pkg::drain_op_t op_o
);

  import tessera_conv_pkg::*;
  import tessera_core_pkg::*;

  logic        active_q, half_q, last_tile_q;
  phase_t      phase_q;
  logic [15:0] block_q, row_q, line_q, line_first, line_last, channel_block, block_in_tile, cout_tile;
  logic [16:0] lane_first, real_first, group_end, real_end, channel_tile, channel_first;
  extent_t     extent;
  logic        ends_row, ends_block, ends_drain;
  logic [15:0] row;

  assign extent = extent_of(phase_q, conv_i, derived_i);
  assign line_first = phase_q.x / 16'(LinePixels);
  assign line_last = (phase_q.x + extent.columns - 16'd1) / 16'(LinePixels);
  assign ends_row = line_first + line_q == line_last;
  assign ends_block = ends_row && row_q == extent.rows - 16'd1;
  assign ends_drain = ends_block && (17'(channel_block) + 17'd1) * 17'(Block) >= real_end;
  assign active_o = active_q;
  assign done_o = !active_q || ends_drain;
  // Channel blocks that hold a real channel of the tile.
  assign lane_first = cout_tile_channel(phase_q, phase_q.c);
  assign real_first = (lane_first > 17'(phase_q.out_first)) ? lane_first : 17'(phase_q.out_first);
  assign group_end = 17'(phase_q.out_first) + 17'(derived_i.cout_group);
  assign real_end = (lane_first + 17'(extent.couts) * 17'(Cout) < group_end)
      ? lane_first + 17'(extent.couts) * 17'(Cout) : group_end;
  assign channel_block = 16'(real_first / 17'(Block)) + block_q;
  assign block_in_tile = channel_block - 16'(lane_first / 17'(Block));
  assign cout_tile = block_in_tile / 16'(CoutBlocks);
  assign channel_tile = lane_first + 17'(cout_tile) * 17'(Cout);
  assign channel_first = (channel_tile > 17'(phase_q.out_first)) ? channel_tile : 17'(phase_q.out_first);
  assign row = phase_q.y + row_q;

  always_comb begin
    logic [16:0] column;
    logic [15:0] x;
    op_o.valid = active_q;
    op_o.last = last_tile_q && ends_drain;
    op_o.half = half_q;
    op_o.cout_tile = AccWidth'(cout_tile);
    op_o.block = BlockWidth'(block_in_tile % 16'(CoutBlocks));
    op_o.param_offset = conv_i.p_base[LineOffsetWidth-1:0]
        + LineOffsetWidth'(channel_first * 17'(ParamBytes));
    op_o.param_lane = 16'(channel_first - channel_tile);
    for (int unsigned k = 0; k < LinePixels; k++) begin
      column = 17'(line_first + line_q) * 17'(LinePixels) + 17'(k);
      x = 16'(column - 17'(phase_q.x));
      op_o.pixel_real[k] = column >= 17'(phase_q.x) && column < 17'(phase_q.x) + 17'(extent.columns);
      op_o.lane[k] = lane_of(x, row_q, conv_i.shape);
      op_o.acc[k] = AccWidth'((div_py(row_q, conv_i.shape) * extent.groups_x + div_px(x, conv_i.shape))
                              * 16'(conv_i.t) + cout_tile);
    end
    for (int unsigned c = 0; c < Block; c++) begin
      op_o.cout_real[c] = 17'(channel_block) * 17'(Block) + 17'(c) >= channel_first
          && 17'(channel_block) * 17'(Block) + 17'(c) < group_end;
    end
    op_o.out = map_line(conv_i.out, line_addr_t'(channel_block), row) + line_addr_t'(line_first + line_q);
    op_o.residual = map_line(conv_i.residual, line_addr_t'(channel_block), row) + line_addr_t'(line_first + line_q);
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      active_q <= 1'b0;
      half_q <= 1'b0;
      last_tile_q <= 1'b0;
      phase_q <= '0;
      block_q <= '0;
      row_q <= '0;
      line_q <= '0;
    end else if (load_i) begin
      active_q <= 1'b1;
      half_q <= half_i;
      last_tile_q <= last_tile_i;
      phase_q <= phase_i;
      block_q <= '0;
      row_q <= '0;
      line_q <= '0;
    end else if (move_i && active_q) begin
      line_q <= ends_row ? '0 : line_q + 16'd1;
      if (ends_row) row_q <= ends_block ? '0 : row_q + 16'd1;
      if (ends_block) block_q <= block_q + 16'd1;
      if (ends_drain) active_q <= 1'b0;
    end
  end

  ConvDrainAlone: assert property (@(posedge clk_i) disable iff (!rst_ni)
      load_i |-> done_o)
  else $error("a tile ends while the drain of the one before it goes on");

endmodule
