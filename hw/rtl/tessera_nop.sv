// A NOP: started in cycle n it is done in n + cycles (done_o); busy_o from n + 1 until the cycle before.
`timescale 1ns/1ps
module tessera_nop (
  input  logic        clk_i,
  input  logic        rst_ni,
  input  logic        start_i,
  input  logic [31:0] cycles_i,
  output logic        busy_o,
  output logic        done_o
);

  logic [31:0] left_q;
  logic        done_q;

  assign busy_o = left_q != 32'd0;
  assign done_o = done_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      left_q <= 32'd0;
      done_q <= 1'b0;
    end else begin
      if (start_i) left_q <= cycles_i - 32'd1;
      else if (left_q != 32'd0) left_q <= left_q - 32'd1;
      done_q <= start_i ? cycles_i == 32'd1 : left_q == 32'd1;
    end
  end

  NopAlone: assert property (@(posedge clk_i) disable iff (!rst_ni)
      start_i |-> (left_q == 32'd0 && cycles_i != 32'd0))
  else $error("a NOP has at least one cycle and starts alone");

endmodule
