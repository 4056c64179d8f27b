// What the slice takes of each instruction (README.md of this folder): anything else is an illegal_word of its queue.
`timescale 1ns/1ps
package tessera_slice_pkg;

  import tessera_isa_pkg::*;
  import tessera_core_pkg::*;
  import tessera_conv_pkg::*;
  import tessera_edp_pkg::*;

  // Local semaphores only.
  function automatic logic header_in_slice(input header_t header);
    logic in_slice;
    in_slice = 1'b1;
    for (int unsigned i = 0; i < 4; i++) begin
      if (header.f_waits[i].f_count != 8'd0 && header.f_waits[i].f_semaphore[6]) in_slice = 1'b0;
      if (header.f_signals[i].f_amount != 8'd0 && header.f_signals[i].f_semaphore[6]) in_slice = 1'b0;
    end
    return in_slice;
  endfunction

  function automatic map_t map_of(input sram_tensor_t tensor);
    map_t map;
    map.base = tensor.f_base[LineOffsetWidth+:SramLineAddrWidth];
    map.wrap_rows = tensor.f_wrap_rows;
    map.first_row = tensor.f_first_row;
    map.row_pitch = SramLineAddrWidth'(tensor.f_row_pitch);
    map.block_pitch = SramLineAddrWidth'(tensor.f_block_pitch);
    return map;
  endfunction

  function automatic conv_t conv_of(input conv_body_t b);
    conv_t c;
    c.depthwise = b.f_mode == ConvModeDepthwise;
    c.fold = b.f_mode == ConvModeFold;
    c.shape = b.f_pixel_shape;
    c.folds = b.f_fold;
    c.channels_outer = b.f_order == ConvOrderChannelsOuter;
    c.shift_only = b.f_shift_only;
    c.has_residual = b.f_has_residual;
    c.in = map_of(b.f_in);
    c.residual = map_of(b.f_residual);
    c.out = map_of(b.f_out);
    c.w_line = b.f_w_base[LineOffsetWidth+:SramLineAddrWidth];
    c.p_base = SramAddrWidth'(b.f_p_base);
    c.in_h = b.f_in_h;
    c.in_w = b.f_in_w;
    c.cin = b.f_cin;
    c.out_h = b.f_out_h;
    c.out_w = b.f_out_w;
    c.cout = b.f_cout;
    c.groups = b.f_groups;
    c.kh = b.f_kh;
    c.kw = b.f_kw;
    c.sy = b.f_sy;
    c.sx = b.f_sx;
    c.dy = b.f_dy;
    c.dx = b.f_dx;
    c.pad_top = b.f_pad_top;
    c.pad_left = b.f_pad_left;
    c.in_zp = b.f_in_zp;
    c.w_zp = b.f_w_zp;
    c.out_zp = b.f_out_zp;
    c.lo = b.f_lo;
    c.hi = b.f_hi;
    c.gx = b.f_gx;
    c.gy = b.f_gy;
    c.t = b.f_t;
    c.res_ma = b.f_res_ma;
    c.res_mb = b.f_res_mb;
    c.res_shift = b.f_res_shift;
    c.res_zb = b.f_res_zb;
    c.res_zo = b.f_res_zo;
    return c;
  endfunction

  function automatic tessera_gemm_pkg::gemm_t gemm_of(input gemm_body_t b);
    tessera_gemm_pkg::gemm_t g;
    g.stationary_b = b.f_dataflow == GemmDataflowWeightStationary;
    g.trans_a = b.f_trans_a;
    g.trans_b = b.f_trans_b;
    g.per_column = b.f_per_column;
    g.a = '{batch_pitch: SramLineAddrWidth'(b.f_a_batch_pitch), pitch: SramLineAddrWidth'(b.f_a_pitch),
            line: b.f_a_base[LineOffsetWidth+:SramLineAddrWidth]};
    g.b = '{batch_pitch: SramLineAddrWidth'(b.f_b_batch_pitch), pitch: SramLineAddrWidth'(b.f_b_pitch),
            line: b.f_b_base[LineOffsetWidth+:SramLineAddrWidth]};
    g.o = '{batch_pitch: SramLineAddrWidth'(b.f_o_batch_pitch), pitch: SramLineAddrWidth'(b.f_o_pitch),
            line: b.f_o_base[LineOffsetWidth+:SramLineAddrWidth]};
    g.p_base = SramAddrWidth'(b.f_p_base);
    g.m = b.f_m;
    g.n = b.f_n;
    g.k = b.f_k;
    g.batch = b.f_batch;
    g.a_zp = b.f_a_zp;
    g.b_zp = b.f_b_zp;
    g.out_zp = b.f_out_zp;
    g.lo = b.f_lo;
    g.hi = b.f_hi;
    g.multiplier = b.f_multiplier;
    g.shift = b.f_shift;
    return g;
  endfunction

  // All modes as pooling: elementwise has windows of one pixel, global average one window as large as the map.
  function automatic edp_t edp_of(input edp_body_t b);
    edp_t e;
    logic elementwise;
    elementwise = b.f_mode == EdpModeElementwise;
    e.whole = b.f_mode == EdpModeGlobalAverage;
    e.average = e.whole || b.f_mode == EdpModeAveragePool;
    e.count_pad = b.f_mode == EdpModeAveragePool && b.f_count_include_pad;
    e.has_b = b.f_has_b;
    e.b_broadcast = b.f_b_broadcast[0];
    e.a = map_of(b.f_a);
    e.b = map_of(b.f_b);
    e.out = map_of(b.f_out);
    e.h = b.f_h;
    e.w = b.f_w;
    e.c = b.f_c;
    e.in_h = elementwise ? b.f_h : b.f_in_h;
    e.in_w = elementwise ? b.f_w : b.f_in_w;
    e.kh = e.whole ? b.f_in_h : elementwise ? 16'd1 : 16'(b.f_kh);
    e.kw = e.whole ? b.f_in_w : elementwise ? 16'd1 : 16'(b.f_kw);
    e.sy = (e.whole || elementwise) ? 8'd1 : b.f_sy;
    e.sx = (e.whole || elementwise) ? 8'd1 : b.f_sx;
    e.dy = (b.f_mode == EdpModeMaxPool) ? b.f_dy : 8'd1;
    e.dx = (b.f_mode == EdpModeMaxPool) ? b.f_dx : 8'd1;
    e.pad_top = (e.whole || elementwise) ? 8'd0 : b.f_pad_top;
    e.pad_left = (e.whole || elementwise) ? 8'd0 : b.f_pad_left;
    e.pad_bottom = b.f_pad_bottom;
    e.pad_right = b.f_pad_right;
    e.a_zp = b.f_a_zp;
    e.out_zp = b.f_out_zp;
    e.lo = b.f_lo;
    e.hi = b.f_hi;
    e.p_base = SramAddrWidth'(b.f_p_base);
    for (int unsigned s = 0; s < tessera_edp_pkg::Stages; s++) begin
      e.stages[s].op = edp_op_e'(b.f_stages[s].f_op);
      e.stages[s].shift = b.f_stages[s].f_shift;
      e.stages[s].za = b.f_stages[s].f_za;
      e.stages[s].zb = b.f_stages[s].f_zb;
      e.stages[s].zo = b.f_stages[s].f_zo;
      e.stages[s].lo = b.f_stages[s].f_lo;
      e.stages[s].hi = b.f_stages[s].f_hi;
      e.stages[s].ma = b.f_stages[s].f_ma;
      e.stages[s].mb = b.f_stages[s].f_mb;
      e.stages[s].table_line = b.f_stages[s].f_table_base[LineOffsetWidth+:SramLineAddrWidth];
    end
    return e;
  endfunction

  // The engines work modulo the scratchpad: a legal program stays inside.
  // A STORE is read as a LOAD: its reserved bits, which are zero, lie where LOAD has padding.
  function automatic dma_t dma_of(input load_body_t b, input logic [AddrWidth-1:0] base);
    dma_t dma;
    dma.row_bytes = b.f_row_bytes;
    dma.group_bytes = b.f_group_bytes;
    dma.group_stride = SramAddrWidth'(b.f_group_stride);
    dma.wrap_rows = b.f_wrap_rows;
    dma.first_row = (b.f_wrap_rows == 16'd0) ? 16'd0 : b.f_first_row;
    dma.fill_value = b.f_fill_value;
    dma.groups_before = b.f_fill_groups_before;
    dma.groups_after = b.f_fill_groups_after;
    dma.rows_before = b.f_fill_rows_before;
    dma.rows_after = b.f_fill_rows_after;
    dma.dram_addr = base + AddrWidth'(b.f_dram_offset);
    dma.sram_addr = SramAddrWidth'(b.f_sram_base);
    for (int unsigned d = 0; d < 3; d++) begin
      dma.count[d] = b.f_dims[d].f_count;
      dma.dram_stride[d] = AddrWidth'(b.f_dims[d].f_dram_stride);
      dma.sram_stride[d] = SramAddrWidth'(b.f_dims[d].f_sram_stride);
    end
    return dma;
  endfunction

  function automatic reorder_t reorder_of(input reorder_body_t b);
    reorder_t copy;
    copy.fill = b.f_fill;
    copy.fill_value = b.f_fill_value;
    copy.run_bytes = b.f_run_bytes;
    copy.src_addr = SramAddrWidth'(b.f_src_base);
    copy.dst_addr = SramAddrWidth'(b.f_dst_base);
    for (int unsigned d = 0; d < 6; d++) begin
      copy.count[d] = b.f_dims[d].f_count;
      copy.src_stride[d] = SramAddrWidth'(b.f_dims[d].f_src_stride);
      copy.dst_stride[d] = SramAddrWidth'(b.f_dims[d].f_dst_stride);
    end
    return copy;
  endfunction

endpackage
