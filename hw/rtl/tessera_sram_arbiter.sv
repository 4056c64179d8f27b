// Which units get their banks in this cycle: rotating order from first_q, all or none (hw/models/sram/README.md; class
// SramArbiter). Combinational from request to grant; the only register is first_q.
`timescale 1ns/1ps
module tessera_sram_arbiter #(
  parameter int unsigned Ports = 3,
  parameter int unsigned Banks = 8,
  localparam int unsigned PortWidth = (Ports > 1) ? $clog2(Ports) : 1
) (
  input  logic                        clk_i,
  input  logic                        rst_ni,
  input  logic [Ports-1:0][Banks-1:0] req_banks_i,  // 0: no request
  output logic [Ports-1:0]            gnt_o
);

  logic [PortWidth-1:0] first_q, first_d;

  always_comb begin
    logic [Banks-1:0] taken;
    logic any_refused, any_request;
    logic [PortWidth-1:0] port, after_first_request;
    gnt_o = '0;
    taken = '0;
    any_refused = 1'b0;
    any_request = 1'b0;
    after_first_request = first_q;
    port = first_q;
    for (int unsigned i = 0; i < Ports; i++) begin
      logic [PortWidth-1:0] following;
      following = (port == PortWidth'(Ports - 1)) ? '0 : port + PortWidth'(1);
      if (req_banks_i[port] != '0) begin
        if (!any_request) after_first_request = following;
        any_request = 1'b1;
        if ((req_banks_i[port] & taken) == '0) begin
          gnt_o[port] = 1'b1;
          taken |= req_banks_i[port];
        end else begin
          any_refused = 1'b1;
        end
      end
      port = following;
    end
    first_d = any_refused ? after_first_request : first_q;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) first_q <= '0;
    else first_q <= first_d;
  end

  ArbiterSomeoneWins: assert property (@(posedge clk_i) disable iff (!rst_ni)
      req_banks_i != '0 |-> gnt_o != '0)
  else $error("the first requester is always granted");

  for (genvar b = 0; b < Banks; b++) begin : g_bank_once
    logic [Ports-1:0] users;
    for (genvar p = 0; p < Ports; p++) begin : g_user
      assign users[p] = gnt_o[p] && req_banks_i[p][b];
    end
    ArbiterBankOnce: assert property (@(posedge clk_i) disable iff (!rst_ni) $onehot0(users))
    else $error("a bank is granted to one unit only");
  end

endmodule
