// Does a GEMM head keep the rules of its fields, and stay inside the scratchpad? (Fields, then ranges, of
// isa/semantics/legal.hpp; the limits of single fields are the decoder's.) Matrices count in whole lines, parameters
// in bytes.
`timescale 1ns/1ps
module tessera_gemm_check (
  input  tessera_isa_pkg::gemm_body_t gemm_i,
  output logic                        illegal_o,
  output logic                        outside_o
);

  import tessera_core_pkg::*;

  localparam logic signed [63:0] SramBytes =
      64'(tessera_chip_pkg::SramBanks) * 64'(tessera_chip_pkg::SramSizeBytes);
  localparam int unsigned LineBytes = tessera_chip_pkg::SramLineBytes;
  localparam int unsigned Matrices = 3;  // A, B, result

  logic [Matrices-1:0][31:0] base;
  logic [Matrices-1:0][15:0] rows, bytes, pitch, lines;
  logic [Matrices-1:0][23:0] batch_pitch;
  logic [Matrices-1:0]       illegal, outside;

  assign base = {gemm_i.f_o_base, gemm_i.f_b_base, gemm_i.f_a_base};
  assign pitch = {gemm_i.f_o_pitch, gemm_i.f_b_pitch, gemm_i.f_a_pitch};
  assign batch_pitch = {gemm_i.f_o_batch_pitch, gemm_i.f_b_batch_pitch, gemm_i.f_a_batch_pitch};
  assign rows = {gemm_i.f_m, gemm_i.f_trans_b ? gemm_i.f_n : gemm_i.f_k, gemm_i.f_trans_a ? gemm_i.f_k : gemm_i.f_m};
  assign bytes = {gemm_i.f_n, gemm_i.f_trans_b ? gemm_i.f_k : gemm_i.f_n, gemm_i.f_trans_a ? gemm_i.f_m : gemm_i.f_k};

  for (genvar i = 0; i < Matrices; i++) begin : g_matrix
    logic signed [63:0] begin_byte, end_byte;

    assign lines[i] = 16'((32'(bytes[i]) + 32'(LineBytes - 1)) >> LineOffsetWidth);
    assign illegal[i] = base[i][LineOffsetWidth-1:0] != '0 || (rows[i] > 16'd1 && pitch[i] < lines[i]);

    tessera_hull #(
      .Levels(2),
      .StrideWidth(40)
    ) u_hull (
      .base_i(64'(base[i])),
      .bytes_i(64'(lines[i]) << LineOffsetWidth),
      .count_i({17'(rows[i]), 17'(gemm_i.f_batch)}),
      .stride_i({40'(pitch[i]) << LineOffsetWidth, 40'(batch_pitch[i]) << LineOffsetWidth}),
      .begin_o(begin_byte),
      .end_o(end_byte)
    );

    assign outside[i] = begin_byte < 64'sd0 || end_byte > SramBytes;
  end

  localparam logic signed [15:0] Least = -16'sd128;
  localparam logic signed [15:0] Most = 16'sd127;
  logic clamp_illegal, params_outside;
  assign clamp_illegal = gemm_i.f_lo < Least || gemm_i.f_lo > Most || gemm_i.f_hi < gemm_i.f_lo || gemm_i.f_hi > Most;
  assign params_outside = gemm_i.f_per_column
      && 64'(gemm_i.f_p_base) + 64'(gemm_i.f_n) * 64'(tessera_gemm_pkg::ParamBytes) > unsigned'(SramBytes);

  assign illegal_o = clamp_illegal || illegal != '0;
  assign outside_o = params_outside || outside != '0;

endmodule
