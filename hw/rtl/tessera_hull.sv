// The bytes that nested loops reach: from the least address to behind the greatest. Exact, since every corner of the
// index space is an access. Combinational; 64 bits hold any product of the fields.
`timescale 1ns/1ps
module tessera_hull #(
  parameter int unsigned Levels = 3,
  parameter int unsigned StrideWidth = 40
) (
  input  logic signed [63:0]                       base_i,
  input  logic signed [63:0]                       bytes_i,  // of an innermost piece
  input  logic        [Levels-1:0][16:0]           count_i,
  input  logic        [Levels-1:0][StrideWidth-1:0] stride_i,  // signed
  output logic signed [63:0]                       begin_o,
  output logic signed [63:0]                       end_o
);

  always_comb begin
    begin_o = base_i;
    end_o = base_i + bytes_i;
    for (int unsigned d = 0; d < Levels; d++) begin
      logic signed [63:0] reach;
      logic [16:0] left;
      left = count_i[d] - 17'd1;
      reach = 64'(signed'(stride_i[d])) * 64'(left);
      if (reach < 64'sd0) begin_o += reach;
      else end_o += reach;
    end
  end

endmodule
