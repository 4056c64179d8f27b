// What port W brings: a ring of weight lines (two tiles, or the taps of depthwise slots), and the parameters of the cout tiles of two tiles (one is being drained).
`timescale 1ns/1ps
module tessera_conv_weights (
  input  logic                         clk_i,
  input  logic                         write_i,  // as op_i says
  input  tessera_conv_pkg::weight_op_t op_i,
  input  logic [tessera_core_pkg::LineBits-1:0] line_i,
  input  tessera_conv_pkg::step_op_t   step_i,
  output logic [tessera_conv_pkg::Cin-1:0][tessera_conv_pkg::Cout-1:0][7:0] weights_o,  // depthwise: [tap][channel]
  input  tessera_conv_pkg::drain_op_t  drain_i,
  output logic [tessera_conv_pkg::Block-1:0][8*tessera_conv_pkg::ParamBytes-1:0] params_o  // of the drained block
);

  import tessera_conv_pkg::*;
  import tessera_core_pkg::*;

  localparam int unsigned Tiles = 1 << AccWidth;
  localparam int unsigned ParamIndexWidth = $clog2(ParamLines);

  logic [Ring-1:0][LineBits-1:0]             weights_q;
  logic [ParamLines-1:0][LineBits-1:0]       params_q [2 * Tiles];
  logic [ParamLines*LineBits-1:0]            params;

  always_ff @(posedge clk_i) begin
    if (write_i && op_i.valid && !op_i.param) begin
      for (int unsigned i = 0; i < Ring; i++) begin
        if (op_i.index == LineIndexWidth'(i)) weights_q[i] <= line_i;
      end
    end
    if (write_i && op_i.valid && op_i.param) begin
      params_q[{op_i.half, op_i.cout_tile}][ParamIndexWidth'(op_i.index)] <= line_i;
    end
  end

  logic [StepLines*LineBits-1:0] tile;
  for (genvar i = 0; i < StepLines; i++) begin : g_line
    logic [RingWidth-1:0] at;
    assign at = RingWidth'((32'(step_i.weights) + i) % Ring);
    assign tile[LineBits*i+:LineBits] = weights_q[at];
  end
  logic [StepLines*LineBits-1:0] shifted;
  assign shifted = step_i.depthwise ? tile >> {step_i.offset, 3'b000} : tile;
  assign weights_o = shifted[8*Cin*Cout-1:0];
  assign params = params_q[{drain_i.half, drain_i.cout_tile}];

  for (genvar c = 0; c < Block; c++) begin : g_channel
    logic [31:0] lane, ahead;  // real channels of the cout tile before this one
    assign lane = 32'(drain_i.block) * Block + c;
    assign ahead = (lane >= 32'(drain_i.param_lane)) ? lane - 32'(drain_i.param_lane) : 32'd0;
    assign params_o[c] = params[8*(32'(drain_i.param_offset)+ParamBytes*ahead)+:8*ParamBytes];
  end

endmodule
