// The lines that one read port of a rigid unit brings. They come in real time, whether the unit is frozen or not, and
// wait here for the engine cycle that uses them; a line may be used in the cycle in which it comes.
`timescale 1ns/1ps
module tessera_read_port #(
  parameter int unsigned Depth = 4  // reads granted and not yet used, at most
) (
  input  logic clk_i,
  input  logic rst_ni,
  input  logic read_i,  // granted in this cycle
  input  logic [tessera_core_pkg::LineBits-1:0] sram_data_i,
  input  logic use_i,
  output logic valid_o,
  output logic [tessera_core_pkg::LineBits-1:0] data_o
);

  localparam int unsigned Latency = tessera_chip_pkg::SramReadLatency;

  logic [Latency-1:0] reading_q;
  logic               waiting, comes;
  logic [tessera_core_pkg::LineBits-1:0] waiting_data;

  assign comes = reading_q[Latency-1];

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      reading_q <= '0;
    end else begin
      reading_q[0] <= read_i;
      for (int unsigned i = 1; i < Latency; i++) reading_q[i] <= reading_q[i-1];
    end
  end

  tessera_fifo #(
    .Width(tessera_core_pkg::LineBits),
    .Depth(Depth)
  ) u_lines (
    .clk_i,
    .rst_ni,
    .clear_i(1'b0),
    .push_i(comes && (waiting || !use_i)),
    .data_i(sram_data_i),
    .pop_i(use_i && waiting),
    .valid_o(waiting),
    .data_o(waiting_data)
  );

  assign valid_o = waiting || comes;
  assign data_o = waiting ? waiting_data : sram_data_i;

  ReadPortInTime: assert property (@(posedge clk_i) disable iff (!rst_ni) use_i |-> valid_o)
  else $error("a line is used before it came");

endmodule
