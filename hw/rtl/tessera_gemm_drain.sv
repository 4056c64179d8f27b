// Port O: which result row leaves in an engine cycle, and which of its lines (hw/models/gemm/README.md, "Writes").
`timescale 1ns/1ps
module tessera_gemm_drain (
  input  tessera_gemm_pkg::position_t at_i,
  input  tessera_gemm_pkg::gemm_t     gemm_i,
  input  tessera_gemm_pkg::derived_t  derived_i,
  output tessera_gemm_pkg::drain_op_t op_o
);

  import tessera_core_pkg::*;
  import tessera_gemm_pkg::*;

  logic [15:0] rows, cols;
  cycle_t      row;
  logic [16:0] line_of_row, last_line;

  assign rows = rows_of(at_i.fold, gemm_i, derived_i);
  assign cols = cols_of(at_i.fold, gemm_i);
  assign row = at_i.block + cycle_t'(at_i.row);
  assign line_of_row = (17'(at_i.fold.n) >> LineOffsetWidth) + 17'(at_i.sub);
  assign last_line = (17'(at_i.fold.n) + 17'(cols) - 17'd1) >> LineOffsetWidth;

  always_comb begin
    op_o.valid = at_i.valid && at_i.fold.last_k && row < cycle_t'(rows) && line_of_row <= last_line;
    op_o.last = at_i.fold.last && row == cycle_t'(rows) - cycle_t'(1) && line_of_row == last_line;
    op_o.half = at_i.fold.half;
    op_o.acc = AccWidth'(row);
    op_o.params = at_i.fold.params;
    op_o.param_offset = gemm_i.p_base[LineOffsetWidth-1:0] + LineOffsetWidth'(16'(ParamBytes) * at_i.fold.n);
    op_o.high = at_i.sub != '0;
    op_o.offset = at_i.fold.n[LineOffsetWidth-1:0];
    for (int unsigned c = 0; c < Cols; c++) op_o.real_cols[c] = 16'(c) < cols;
    op_o.line = matrix_line(gemm_i.o, at_i.fold.batch, line_addr_t'(at_i.fold.m) + line_addr_t'(row))
                + line_addr_t'(line_of_row);
  end

endmodule
