// The input window: two buffers of a bank a pixel lane; an entry is one pixel of a cin tile. A bank takes one pixel a
// cycle and gives one a tap, so that the pixels of a step come together at any stride and dilation.
`timescale 1ns/1ps
module tessera_conv_window (
  input  logic                       clk_i,
  input  logic                       write_i,  // as op_i says
  input  tessera_conv_pkg::fill_op_t op_i,
  input  logic [tessera_core_pkg::LineBits-1:0] line_i,
  input  tessera_conv_pkg::step_op_t step_i,
  output logic [tessera_conv_pkg::Taps-1:0][tessera_conv_pkg::Lanes-1:0][tessera_conv_pkg::Cin-1:0][7:0] pixels_o  // of the step, padding not seen to
);

  import tessera_core_pkg::*;
  import tessera_conv_pkg::*;

  localparam int unsigned PixelBits = 8 * Cin;

  logic [Taps-1:0][Lanes-1:0][PixelBits-1:0] read;

  for (genvar b = 0; b < Lanes; b++) begin : g_bank
    logic [PixelBits-1:0]  mem_q [2 * Entries];
    logic                  write;
    logic [EntryWidth-1:0] write_entry;
    logic [Taps-1:0][EntryWidth-1:0] read_entry;
    logic [PixelBits-1:0]  data;

    always_comb begin
      write = 1'b0;
      write_entry = '0;
      data = '0;
      for (int unsigned k = 0; k < LinePixels; k++) begin
        if (op_i.write[k] && op_i.bank[k] == LaneWidth'(b)) begin
          write = write_i;
          write_entry = op_i.entry[k];
          data = line_i[PixelBits*k+:PixelBits];
        end
      end
      read_entry = '0;
      for (int unsigned k = 0; k < Taps; k++) begin
        for (int unsigned p = 0; p < Lanes; p++) begin
          if (step_i.bank[k][p] == LaneWidth'(b)) read_entry[k] = step_i.entry[k][p];
        end
      end
    end

    always_ff @(posedge clk_i) begin
      if (write) mem_q[{op_i.buffer, write_entry}] <= data;
    end
    for (genvar k = 0; k < Taps; k++) begin : g_tap
      assign read[k][b] = mem_q[{step_i.window, read_entry[k]}];
    end
  end

  for (genvar k = 0; k < Taps; k++) begin : g_tap
    for (genvar p = 0; p < Lanes; p++) begin : g_lane
      assign pixels_o[k][p] = read[k][step_i.bank[k][p]];
    end
  end

endmodule
