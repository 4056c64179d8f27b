// Three nested loops as an address generator: base + i0 stride0 + i1 stride1 + i2 stride2, index 2 innermost. An
// adder a level, no multiplier: each level keeps the address at which its current iteration began.
`timescale 1ns/1ps
module tessera_loops #(
  parameter int unsigned Width = 40,
  parameter int unsigned Levels = 3,
  parameter int unsigned CountWidth = 16
) (
  input  logic                              clk_i,
  input  logic                              rst_ni,
  input  logic                              load_i,
  input  logic [Width-1:0]                  base_i,
  input  logic [Levels-1:0][CountWidth-1:0] count_i,
  input  logic [Levels-1:0][Width-1:0]      stride_i,
  input  logic                              next_i,
  output logic [Width-1:0]                  addr_o,
  output logic                              last_o
);

  logic [Levels-1:0][CountWidth-1:0] count_q, left_q, left_d;  // left: iterations behind the current one
  logic [Levels-1:0][Width-1:0]      stride_q, addr_q, addr_d;

  assign addr_o = addr_q[Levels-1];
  assign last_o = left_q == '0;

  // The innermost level that has an iteration left moves on; all levels inside it begin again there.
  always_comb begin
    logic found;
    logic [Width-1:0] moved;
    left_d = left_q;
    addr_d = addr_q;
    found = 1'b0;
    moved = '0;
    for (int unsigned i = 0; i < Levels; i++) begin
      if (!found && left_q[Levels-1-i] != '0) begin
        found = 1'b1;
        moved = addr_q[Levels-1-i] + stride_q[Levels-1-i];
        left_d[Levels-1-i] = left_q[Levels-1-i] - CountWidth'(1);
        addr_d[Levels-1-i] = moved;
        for (int unsigned k = 0; k < Levels; k++) begin
          if (k > Levels - 1 - i) begin
            left_d[k] = count_q[k] - CountWidth'(1);
            addr_d[k] = moved;
          end
        end
      end
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      count_q <= '0;
      stride_q <= '0;
      left_q <= '0;
      addr_q <= '0;
    end else if (load_i) begin
      count_q <= count_i;
      stride_q <= stride_i;
      for (int unsigned k = 0; k < Levels; k++) begin
        left_q[k] <= count_i[k] - CountWidth'(1);
        addr_q[k] <= base_i;
      end
    end else if (next_i) begin
      left_q <= left_d;
      addr_q <= addr_d;
    end
  end

endmodule
