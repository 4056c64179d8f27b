// What stands between the queue and a rigid engine: an instruction is popped when the engine and its NOP are idle
// (ready_o), and done in the cycle after the engine's last write moved, or when the NOP has passed.
`timescale 1ns/1ps
module tessera_popping (
  input  logic        clk_i,
  input  logic        rst_ni,
  input  logic        start_i,
  input  logic        start_nop_i,
  input  logic [31:0] nop_cycles_i,
  input  logic        active_i,    // the engine holds an instruction
  input  logic        finishes_i,  // and moves its last write in this cycle
  output logic        ready_o,
  output logic        busy_o,
  output logic        done_o
);

  logic done_q, nop_busy, nop_done;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) done_q <= 1'b0;
    else done_q <= finishes_i;
  end

  tessera_nop u_nop (
    .clk_i,
    .rst_ni,
    .start_i(start_nop_i),
    .cycles_i(nop_cycles_i),
    .busy_o(nop_busy),
    .done_o(nop_done)
  );

  assign busy_o = active_i || nop_busy;
  assign ready_o = !busy_o;
  assign done_o = done_q || nop_done;

  PoppedWhenReady: assert property (@(posedge clk_i) disable iff (!rst_ni)
      (start_i || start_nop_i) |-> ready_o)
  else $error("popped an instruction while busy");

endmodule
