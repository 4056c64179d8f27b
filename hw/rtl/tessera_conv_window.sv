// The input window: two buffers of a bank a pixel lane, of bytes; an entry is one pixel of a cin tile (depthwise: of a c
// tile, fold: its channels). The pixels of a step lie in different banks at any stride and dilation.
`timescale 1ns/1ps
module tessera_conv_window (
  input  logic                       clk_i,
  input  logic                       write_i,  // as op_i says
  input  tessera_conv_pkg::fill_op_t op_i,
  input  logic [tessera_core_pkg::LineBits-1:0] line_i,
  input  tessera_conv_pkg::step_op_t step_i,
  input  tessera_conv_pkg::derived_t derived_i,
  // Of the step, padding not seen to: the input lanes of each pixel; depthwise: the channels of each tap.
  output logic [tessera_conv_pkg::Lanes-1:0][tessera_conv_pkg::Cin-1:0][7:0] pixels_o,
  output logic [tessera_conv_pkg::Taps-1:0][tessera_conv_pkg::Lanes-1:0][tessera_conv_pkg::Cout-1:0][7:0] taps_o
);

  import tessera_core_pkg::*;
  import tessera_conv_pkg::*;

  localparam int unsigned BankBytes = 2 << WindowAddrWidth;

  logic [7:0] mem_q [Lanes][BankBytes];

  always_ff @(posedge clk_i) begin
    for (int unsigned k = 0; k < LinePixels; k++) begin
      for (int unsigned i = 0; i < Block; i++) begin
        if (write_i && op_i.write[k] && i < 32'(op_i.bytes)) begin
          mem_q[op_i.bank[k]][{op_i.buffer, op_i.addr[k] + WindowAddrWidth'(i)}] <= line_i[8*(Block*k+i)+:8];
        end
      end
    end
  end

  always_comb begin
    pixels_o = '0;
    for (int unsigned p = 0; p < Lanes; p++) begin
      for (int unsigned i = 0; i < Cin; i++) begin
        if (step_i.valid && !step_i.depthwise) begin
          pixels_o[p][i] = mem_q[step_i.bank[derived_i.lane_column[i]][p]]
              [{step_i.window, step_i.addr[derived_i.lane_column[i]][p] + WindowAddrWidth'(derived_i.lane_byte[i])}];
        end
      end
    end
  end

  always_comb begin
    taps_o = '0;
    for (int unsigned k = 0; k < Taps; k++) begin
      for (int unsigned p = 0; p < Lanes; p++) begin
        for (int unsigned c = 0; c < Cout; c++) begin
          if (step_i.valid && step_i.depthwise) begin
            taps_o[k][p][c] = mem_q[step_i.bank[k][p]][{step_i.window, step_i.addr[k][p] + WindowAddrWidth'(c)}];
          end
        end
      end
    end
  end

endmodule
