// AR of LOAD, AW of STORE: raised while fewer than Outstanding bursts lack their response, held unchanged until it is
// accepted (hw/models/load/README.md, AR side rules 2 and 3; hw/models/store/README.md, AW rules 1 and 3).
`timescale 1ns/1ps
module tessera_dma_address #(
  parameter int unsigned Outstanding = 4
) (
  input  logic                         clk_i,
  input  logic                         rst_ni,
  input  logic                         start_i,     // an instruction is popped
  input  logic                         valid_i,     // burst_i may go as far as its buffer is concerned
  input  tessera_core_pkg::dma_burst_t burst_i,
  input  logic                         response_i,  // last R beat or B; its credit counts in this cycle
  output logic                         raise_o,     // burst_i goes
  output logic                         blocked_o,   // burst_i may go, but for the memory
  output logic                         accepted_o,  // the handshake, of burst_o
  output tessera_core_pkg::dma_burst_t burst_o,
  output logic                         generating_o, // bursts of the youngest instruction are still to be accepted
  output logic                         ax_valid_o,
  input  logic                         ax_ready_i,
  output tessera_core_pkg::axi_ax_t    ax_o
);

  import tessera_core_pkg::*;

  localparam int unsigned OutWidth = $clog2(Outstanding + 1);

  dma_burst_t          held_burst_q;
  logic                held_q, generating_q;
  logic [OutWidth-1:0] outstanding_q, outstanding_now;

  assign outstanding_now = outstanding_q - OutWidth'(response_i);
  assign raise_o = valid_i && !held_q && outstanding_now < OutWidth'(Outstanding);
  assign blocked_o = held_q || (valid_i && outstanding_now >= OutWidth'(Outstanding));
  assign burst_o = held_q ? held_burst_q : burst_i;
  assign ax_valid_o = raise_o || held_q;
  assign ax_o = burst_o.ax;
  assign accepted_o = ax_valid_o && ax_ready_i;
  assign generating_o = generating_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      held_burst_q <= '0;
      held_q <= 1'b0;
      generating_q <= 1'b0;
      outstanding_q <= '0;
    end else begin
      if (raise_o) held_burst_q <= burst_i;
      held_q <= ax_valid_o && !ax_ready_i;
      if (start_i) generating_q <= 1'b1;
      else if (accepted_o && burst_o.last) generating_q <= 1'b0;
      outstanding_q <= outstanding_now + OutWidth'(raise_o);
    end
  end

  DmaHeldUnchanged: assert property (@(posedge clk_i) disable iff (!rst_ni)
      (ax_valid_o && !ax_ready_i) |=> (ax_valid_o && $stable(ax_o)))
  else $error("a refused AR or AW is held unchanged");

  DmaResponseAwaited: assert property (@(posedge clk_i) disable iff (!rst_ni)
      response_i |-> outstanding_q != '0)
  else $error("a response came that nobody waits for");

endmodule
