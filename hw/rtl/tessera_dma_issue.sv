// How LOAD and STORE are popped and finish (hw/models/load/README.md, "Popping"): up to InFlight instructions, the next
// one when the bursts of the one before have been requested; a NOP alone. finishes_i: the oldest is done in the next cycle.
`timescale 1ns/1ps
module tessera_dma_issue #(
  parameter int unsigned InFlight = 2
) (
  input  logic        clk_i,
  input  logic        rst_ni,
  input  logic        generating_i,  // bursts of the youngest are still to be requested
  input  logic        finishes_i,
  input  logic        start_i,
  input  logic        start_nop_i,
  input  logic [31:0] nop_cycles_i,
  output logic        ready_o,
  output logic        ready_nop_o,
  output logic        any_o,  // an instruction that is no NOP is in flight
  output logic        busy_o,
  output logic        done_o
);

  localparam int unsigned FlightWidth = $clog2(InFlight + 1);

  logic [FlightWidth-1:0] in_flight_q;
  logic                   nop_busy, nop_done, done_q;

  tessera_nop u_nop (
    .clk_i,
    .rst_ni,
    .start_i(start_nop_i),
    .cycles_i(nop_cycles_i),
    .busy_o(nop_busy),
    .done_o(nop_done)
  );

  assign any_o = in_flight_q != '0;
  assign ready_o = !generating_i && in_flight_q < FlightWidth'(InFlight) && !nop_busy;
  assign ready_nop_o = !any_o && !nop_busy;
  assign busy_o = any_o || nop_busy;
  assign done_o = done_q || nop_done;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      in_flight_q <= '0;
      done_q <= 1'b0;
    end else begin
      in_flight_q <= in_flight_q + FlightWidth'(start_i) - FlightWidth'(finishes_i);
      done_q <= finishes_i;
    end
  end

  DmaStartReady: assert property (@(posedge clk_i) disable iff (!rst_ni)
      (!start_i || ready_o) && (!start_nop_i || ready_nop_o))
  else $error("popped an instruction without room");

  DmaFinishInFlight: assert property (@(posedge clk_i) disable iff (!rst_ni)
      finishes_i |-> any_o)
  else $error("nothing is in flight that could finish");

endmodule
