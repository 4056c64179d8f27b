// The access ports of a rigid unit (hw/models/unit/README.md; class RigidUnit): the accesses of one engine cycle are
// sorted into sub-cycles, port i into the first in which its bank is free; the engine moves on when the last of them is
// granted. Refused, it stands still.
`timescale 1ns/1ps
module tessera_rigid_ports #(
  parameter int unsigned Ports = 4,
  localparam int unsigned SubWidth = (Ports > 1) ? $clog2(Ports) : 1
) (
  input  logic             clk_i,
  input  logic             rst_ni,
  input  logic             start_i,   // the next cycle is engine cycle 0
  input  logic             active_i,  // in an engine cycle
  input  logic [Ports-1:0] needed_i,  // accesses of this engine cycle, in port order
  input  tessera_core_pkg::line_addr_t [Ports-1:0] line_i,
  input  logic             sram_gnt_i,
  output logic [Ports-1:0] now_o,     // requested in this sub-cycle
  output logic [Ports-1:0] granted_o,
  output logic             moves_o,   // the last cycle of this engine cycle
  output logic             conflict_o
);

  import tessera_core_pkg::*;

  logic [Ports-1:0][SubWidth-1:0] sub_of;
  logic [SubWidth-1:0]            sub_q, last_sub;
  logic                           passes;

  always_comb begin
    last_sub = '0;
    for (int unsigned i = 0; i < Ports; i++) begin
      sub_of[i] = '0;
      for (int unsigned j = 0; j < i; j++) begin
        if (needed_i[j] && bank_of(line_i[j]) == bank_of(line_i[i])) sub_of[i] = sub_of[i] + SubWidth'(1);
      end
      if (needed_i[i] && sub_of[i] > last_sub) last_sub = sub_of[i];
    end
    for (int unsigned i = 0; i < Ports; i++) now_o[i] = needed_i[i] && sub_of[i] == sub_q;
  end

  assign passes = sram_gnt_i || now_o == '0;
  assign granted_o = now_o & {Ports{sram_gnt_i}};
  assign moves_o = active_i && passes && sub_q == last_sub;
  assign conflict_o = active_i && !moves_o;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) sub_q <= '0;
    else if (moves_o || start_i) sub_q <= '0;
    else if (active_i && passes) sub_q <= sub_q + SubWidth'(1);
  end

endmodule
