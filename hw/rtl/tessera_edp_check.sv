// Does an EDP head keep the rules of its fields, and stay inside the scratchpad? (Fields, then ranges, of
// isa/semantics/legal.hpp; the limits of single fields are the decoder's.) A circular map that goes round its end counts
// with all of its rows, also if windows step over the last one: hw/cosim refuses programs of which that decides.
`timescale 1ns/1ps
module tessera_edp_check (
  input  tessera_isa_pkg::edp_body_t edp_i,
  output logic                       illegal_o,
  output logic                       outside_o
);

  import tessera_isa_pkg::*;
  import tessera_core_pkg::*;

  localparam logic signed [63:0] SramBytes =
      64'(tessera_chip_pkg::SramBanks) * 64'(tessera_chip_pkg::SramSizeBytes);
  localparam int unsigned Maps = 3;  // a, b, out
  localparam logic signed [15:0] Least = -16'sd128;
  localparam logic signed [15:0] Most = 16'sd127;

  logic pooling, whole, average_pool;
  assign whole = edp_i.f_mode == EdpModeGlobalAverage;
  assign average_pool = edp_i.f_mode == EdpModeAveragePool;
  assign pooling = edp_i.f_mode == EdpModeMaxPool || average_pool;

  // ---- windows: rows, then columns
  typedef struct packed {
    logic        empty, any;
    logic [15:0] first, last;
    logic [7:0]  most;
  } axis_t;
  axis_t [1:0] axis;
  logic [1:0][15:0] axis_in, axis_out;
  logic [1:0][7:0]  axis_kernel, axis_stride, axis_dilation, axis_pad, axis_pad_after;
  logic [1:0]       axis_illegal;

  assign axis_in = {edp_i.f_in_w, edp_i.f_in_h};
  assign axis_out = {edp_i.f_w, edp_i.f_h};
  assign axis_kernel = {edp_i.f_kw, edp_i.f_kh};
  assign axis_stride = {edp_i.f_sx, edp_i.f_sy};
  assign axis_dilation = {edp_i.f_dx, edp_i.f_dy};
  assign axis_pad = {edp_i.f_pad_left, edp_i.f_pad_top};
  assign axis_pad_after = {edp_i.f_pad_right, edp_i.f_pad_bottom};

  for (genvar i = 0; i < 2; i++) begin : g_axis
    logic broken;
    assign broken = axis_in[i] == 16'd0 || axis_kernel[i] == 8'd0 || axis_stride[i] == 8'd0
        || (average_pool ? axis_dilation[i] > 8'd1 : axis_dilation[i] == 8'd0);

    tessera_edp_axis u_axis (
      .in_i(axis_in[i]),
      .out_i(axis_out[i]),
      .kernel_i(axis_kernel[i]),
      .stride_i((axis_stride[i] == 8'd0) ? 8'd1 : axis_stride[i]),
      .dilation_i((!pooling || average_pool || axis_dilation[i] == 8'd0) ? 8'd1 : axis_dilation[i]),
      .pad_i(axis_pad[i]),
      .padded_i(average_pool && edp_i.f_count_include_pad),
      .pad_after_i(axis_pad_after[i]),
      .empty_o(axis[i].empty),
      .any_o(axis[i].any),
      .first_o(axis[i].first),
      .last_o(axis[i].last),
      .most_o(axis[i].most)
    );
    assign axis_illegal[i] = broken || axis[i].empty;
  end

  // ---- maps: aligned, no row over the next one, circular buffers that hold all rows
  sram_tensor_t [Maps-1:0]   map;
  logic [Maps-1:0][15:0]     top, rows, columns, row_lines;  // rows from `top` on
  logic [15:0]               pooled_rows;
  logic [Maps-1:0]           used, map_illegal, map_outside;
  logic [15:0]               blocks;

  assign map = {edp_i.f_out, edp_i.f_b, edp_i.f_a};
  assign pooled_rows = axis[0].any ? axis[0].last - axis[0].first + 16'd1 : 16'd0;
  assign top = {16'd0, 16'd0, (pooling && axis[0].any) ? axis[0].first : 16'd0};
  assign rows = {edp_i.f_h, edp_i.f_b_broadcast[0] ? 16'd1 : edp_i.f_h,
                 pooling ? pooled_rows : whole ? edp_i.f_in_h : edp_i.f_h};
  assign columns = {edp_i.f_w, edp_i.f_b_broadcast[0] ? 16'd1 : edp_i.f_w,
                    (pooling || whole) ? edp_i.f_in_w : edp_i.f_w};
  assign used = {1'b1, edp_i.f_has_b, 1'b1};
  assign blocks = 16'((32'(edp_i.f_c) + 32'(tessera_chip_pkg::LayoutChannelBlock - 1))
                      / 32'(tessera_chip_pkg::LayoutChannelBlock));

  for (genvar i = 0; i < Maps; i++) begin : g_map
    logic signed [63:0] begin_byte, end_byte;
    logic               circular, wraps;
    logic [16:0]        first_row, row_count, met_row;

    assign row_lines[i] = 16'((32'(columns[i]) + 32'(LinePixels - 1)) / 32'(LinePixels));
    assign circular = map[i].f_wrap_rows != 16'd0;
    assign map_illegal[i] = map[i].f_base[LineOffsetWidth-1:0] != '0
        || (rows[i] > 16'd1 && map[i].f_row_pitch < row_lines[i])
        || (circular && (map[i].f_wrap_rows < rows[i] || map[i].f_first_row >= map[i].f_wrap_rows));
    // Rows of the buffer that are met: all of them if the map goes round the end.
    assign met_row = circular ? (17'(map[i].f_first_row) + 17'(top[i])) % 17'(map[i].f_wrap_rows) : 17'(top[i]);
    assign wraps = circular && met_row + 17'(rows[i]) > 17'(map[i].f_wrap_rows);
    assign first_row = wraps ? 17'd0 : met_row;
    assign row_count = wraps ? 17'(map[i].f_wrap_rows) : 17'(rows[i]);

    tessera_hull #(
      .Levels(2),
      .StrideWidth(40)
    ) u_hull (
      .base_i(64'(map[i].f_base) + ((64'(first_row) * 64'(map[i].f_row_pitch)) << LineOffsetWidth)),
      .bytes_i(64'(row_lines[i]) << LineOffsetWidth),
      .count_i({row_count, 17'(blocks)}),
      .stride_i({40'(map[i].f_row_pitch) << LineOffsetWidth, 40'(map[i].f_block_pitch) << LineOffsetWidth}),
      .begin_o(begin_byte),
      .end_o(end_byte)
    );
    assign map_outside[i] = rows[i] != 16'd0 && (begin_byte < 64'sd0 || end_byte > SramBytes);
  end

  // ---- the chain: no operation behind its end, b where two operands are needed, int8 behind the last one
  localparam int unsigned Stages = tessera_edp_pkg::Stages;
  logic [Stages-1:0] stage_used, stage_illegal, stage_outside;

  function automatic logic clamp_illegal(input logic signed [15:0] lo, input logic signed [15:0] hi, input logic last);
    return hi < lo || (last && (lo < Least || hi > Most));
  endfunction

  for (genvar s = 0; s < Stages; s++) begin : g_stage
    logic needs_b, table_op, last, broken;
    assign stage_used[s] = edp_i.f_stages[s].f_op != 4'(EdpOpNone);
    assign needs_b = edp_i.f_stages[s].f_op == 4'(EdpOpAdd) || edp_i.f_stages[s].f_op == 4'(EdpOpMul)
        || edp_i.f_stages[s].f_op == 4'(EdpOpMin) || edp_i.f_stages[s].f_op == 4'(EdpOpMax);
    assign table_op = edp_i.f_stages[s].f_op == 4'(EdpOpTable);
    if (s == Stages - 1) begin : g_last
      assign last = 1'b1;
    end else begin : g_inner
      assign last = !stage_used[s+1];
    end
    assign broken = (needs_b && !edp_i.f_has_b)
        || clamp_illegal(edp_i.f_stages[s].f_lo, edp_i.f_stages[s].f_hi, last)
        || (table_op && edp_i.f_stages[s].f_table_base[LineOffsetWidth-1:0] != '0);
    if (s == 0) begin : g_first
      assign stage_illegal[s] = stage_used[s] && broken;
    end else begin : g_later
      assign stage_illegal[s] = stage_used[s] && (broken || !stage_used[s-1]);
    end
    assign stage_outside[s] = table_op
        && 64'(edp_i.f_stages[s].f_table_base) + 64'(tessera_edp_pkg::TableBytes) > unsigned'(SramBytes);
  end

  // ---- averages: of the whole map, or of windows; the entry of the most elements lies last
  logic        whole_illegal, clamps_illegal, entry_outside;
  logic [15:0] entries;
  assign whole_illegal = whole
      && (edp_i.f_in_h == 16'd0 || edp_i.f_in_w == 16'd0 || edp_i.f_h != 16'd1 || edp_i.f_w != 16'd1);
  assign clamps_illegal = (whole || average_pool) && clamp_illegal(edp_i.f_lo, edp_i.f_hi, !stage_used[0]);
  assign entries = whole ? 16'd1 : 16'(axis[1].most) * 16'(axis[0].most);
  assign entry_outside = (whole || average_pool)
      && 64'(edp_i.f_p_base) + 64'(entries) * 64'(tessera_edp_pkg::EntryBytes) > unsigned'(SramBytes);

  assign illegal_o = edp_i.f_b_broadcast > 2'd1 || (pooling && axis_illegal != '0) || whole_illegal || clamps_illegal
      || (map_illegal & used) != '0 || stage_illegal != '0;
  assign outside_o = entry_outside || (map_outside & used) != '0 || stage_outside != '0;

endmodule
