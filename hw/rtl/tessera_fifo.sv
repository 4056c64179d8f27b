// A small register FIFO. Its head is visible in the cycle after the push; push and pop may meet, also when it is full.
`timescale 1ns/1ps
module tessera_fifo #(
  parameter int unsigned Width = 8,
  parameter int unsigned Depth = 2,
  localparam int unsigned CountWidth = $clog2(Depth + 1),
  localparam int unsigned IndexWidth = (Depth > 1) ? $clog2(Depth) : 1
) (
  input  logic             clk_i,
  input  logic             rst_ni,
  input  logic             clear_i,
  input  logic             push_i,
  input  logic [Width-1:0] data_i,
  input  logic             pop_i,
  output logic             valid_o,
  output logic [Width-1:0] data_o
);

  logic [Width-1:0]      mem_q [Depth];
  logic [IndexWidth-1:0] head_q, tail_q;
  logic [CountWidth-1:0] count_q;

  function automatic logic [IndexWidth-1:0] next_index(input logic [IndexWidth-1:0] index);
    return (index == IndexWidth'(Depth - 1)) ? '0 : index + IndexWidth'(1);
  endfunction

  assign valid_o = count_q != '0;
  assign data_o = mem_q[head_q];

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      head_q <= '0;
      tail_q <= '0;
      count_q <= '0;
    end else if (clear_i) begin
      head_q <= '0;
      tail_q <= '0;
      count_q <= '0;
    end else begin
      if (push_i) tail_q <= next_index(tail_q);
      if (pop_i) head_q <= next_index(head_q);
      count_q <= count_q + CountWidth'(push_i) - CountWidth'(pop_i);
    end
  end

  always_ff @(posedge clk_i) begin
    if (push_i) mem_q[tail_q] <= data_i;
  end

  FifoOverflow: assert property (@(posedge clk_i) disable iff (!rst_ni)
      !(push_i && !pop_i && !clear_i && count_q == CountWidth'(Depth)))
  else $error("pushed while full");

  FifoUnderflow: assert property (@(posedge clk_i) disable iff (!rst_ni)
      !(pop_i && count_q == '0))
  else $error("popped while empty");

endmodule
