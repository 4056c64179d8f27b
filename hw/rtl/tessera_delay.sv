// Registers that move with a rigid engine: what goes in comes out Cycles engine cycles later; 0: a wire.
`timescale 1ns/1ps
module tessera_delay #(
  parameter int unsigned Width = 8,
  parameter int unsigned Cycles = 1
) (
  input  logic             clk_i,
  input  logic             move_i,
  input  logic [Width-1:0] data_i,
  output logic [Width-1:0] data_o
);

  if (Cycles == 0) begin : g_wire
    logic unused_controls;
    assign unused_controls = clk_i ^ move_i;
    assign data_o = data_i;
  end else begin : g_registers
    logic [Cycles-1:0][Width-1:0] stage_q;
    always_ff @(posedge clk_i) begin
      if (move_i) begin
        stage_q[0] <= data_i;
        for (int unsigned i = 1; i < Cycles; i++) stage_q[i] <= stage_q[i-1];
      end
    end
    assign data_o = stage_q[Cycles-1];
  end

endmodule
