// One single-ported macro: a line read or written a cycle, byte strobes, data one cycle after the read. A technology
// replaces this module by its own.
`timescale 1ns/1ps
module tessera_sram_bank #(
  parameter int unsigned Lines = 1024,
  parameter int unsigned LineBytes = 8,
  localparam int unsigned LineWidth = $clog2(Lines)
) (
  input  logic                   clk_i,
  input  logic                   valid_i,
  input  logic                   write_i,
  input  logic [LineWidth-1:0]   line_i,
  input  logic [LineBytes-1:0]   strb_i,
  input  logic [8*LineBytes-1:0] data_i,
  output logic [8*LineBytes-1:0] data_o
);

  logic [8*LineBytes-1:0] mem_q [Lines];

  always_ff @(posedge clk_i) begin
    if (valid_i && write_i) begin
      for (int unsigned i = 0; i < LineBytes; i++) begin
        if (strb_i[i]) mem_q[line_i][8*i+:8] <= data_i[8*i+:8];
      end
    end
    if (valid_i && !write_i) data_o <= mem_q[line_i];
  end

endmodule
