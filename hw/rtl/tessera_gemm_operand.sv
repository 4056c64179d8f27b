// Port A or B: which line of its matrix is read in an engine cycle, and what becomes of it (hw/models/gemm/README.md,
// "Blocks" and "Reads"). A plain slot reads the next row; with blocks, a slot reads one row of R columns.
`timescale 1ns/1ps
module tessera_gemm_operand #(
  parameter bit IsB = 1'b0
) (
  input  tessera_gemm_pkg::position_t    at_i,
  input  tessera_gemm_pkg::gemm_t        gemm_i,
  input  tessera_gemm_pkg::derived_t     derived_i,
  output tessera_core_pkg::line_addr_t   line_o,
  output tessera_gemm_pkg::operand_op_t  op_o
);

  import tessera_core_pkg::*;
  import tessera_gemm_pkg::*;

  span_t       span;
  matrix_t     matrix;
  logic        blocked, exists;
  cycle_t      row, byte_offset;  // in the span
  logic [15:0] bytes;             // of the slice
  logic [16:0] first, line_of_row, last_line;

  assign span = IsB ? span_of_b(at_i.fold, gemm_i) : span_of_a(at_i.fold, gemm_i, derived_i);
  assign matrix = IsB ? gemm_i.b : gemm_i.a;
  assign blocked = IsB ? derived_i.block_b : derived_i.block_a;
  assign row = blocked ? cycle_t'(at_i.row) : at_i.block + cycle_t'(at_i.row);
  assign byte_offset = blocked ? at_i.block : '0;
  assign exists = row < cycle_t'(span.rows) && byte_offset < cycle_t'(span.bytes);
  assign bytes = blocked ? least(16'(Rows), span.bytes - 16'(byte_offset)) : span.bytes;
  assign first = 17'(span.byte_first) + 17'(byte_offset);
  assign line_of_row = (first >> LineOffsetWidth) + 17'(at_i.sub);
  assign last_line = (first + 17'(bytes) - 17'd1) >> LineOffsetWidth;

  assign line_o = matrix_line(matrix, at_i.fold.batch, line_addr_t'(span.row_first) + line_addr_t'(row))
                  + line_addr_t'(line_of_row);

  always_comb begin
    op_o.read = at_i.valid && exists && line_of_row <= last_line;
    op_o.high = at_i.sub != '0;
    op_o.ends = at_i.valid && at_i.ends_slot;
    op_o.offset = first[LineOffsetWidth-1:0];
    op_o.turn = at_i.turn;
    op_o.row = at_i.row;
  end

endmodule
