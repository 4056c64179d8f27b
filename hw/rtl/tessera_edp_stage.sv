// One operation of the chain on all lanes (isa/semantics/edp.cpp, requantize.hpp), with the table it may look values up
// in. Every operation ends in a clamp.
`timescale 1ns/1ps
module tessera_edp_stage (
  input  logic                    clk_i,
  input  logic                    write_i,  // a line of the table
  input  logic [tessera_edp_pkg::ConstantWidth-1:0] index_i,
  input  logic [tessera_core_pkg::LineBits-1:0] line_i,
  input  tessera_edp_pkg::stage_t stage_i,
  input  logic [tessera_edp_pkg::Lanes-1:0][15:0] value_i,
  input  logic [tessera_edp_pkg::Lanes-1:0][7:0]  b_i,
  output logic [tessera_edp_pkg::Lanes-1:0][15:0] value_o
);

  import tessera_isa_pkg::*;
  import tessera_core_pkg::*;
  import tessera_edp_pkg::*;
  import tessera_requantize_pkg::*;

  localparam int unsigned IndexWidth = (TableLines > 1) ? $clog2(TableLines) : 1;

  logic [LineBits-1:0]                           lines_q [TableLines];
  logic [TableLines-1:0][LineBits-1:0]           lines;
  logic [TableLines*tessera_chip_pkg::SramLineBytes-1:0][7:0] entries;

  always_ff @(posedge clk_i) begin
    if (write_i) lines_q[IndexWidth'(index_i)] <= line_i;
  end
  for (genvar i = 0; i < TableLines; i++) begin : g_line
    assign lines[i] = lines_q[i];
  end
  assign entries = lines;

  function automatic logic [7:0] entry_of(input logic signed [15:0] value);
    if (value < -16'sd128) return 8'd0;
    if (value > 16'sd127) return 8'd255;
    return 8'(value + 16'sd128);
  endfunction

  always_comb begin
    logic signed [15:0] value;
    logic signed [7:0]  b;
    scaled_t            own, other, product, result;
    for (int unsigned j = 0; j < Lanes; j++) begin
      value = signed'(value_i[j]);
      b = signed'(b_i[j]);
      own = scaled_t'(value) - scaled_t'(stage_i.za);
      other = scaled_t'(b) - scaled_t'(stage_i.zb);
      product = ((stage_i.op == EdpOpMul) ? own * other : own) * scaled_t'(stage_i.ma);
      if (stage_i.op == EdpOpAdd) product = product + other * scaled_t'(stage_i.mb);
      unique case (stage_i.op)
        EdpOpMin: result = (16'(b) < value) ? scaled_t'(b) : scaled_t'(value);
        EdpOpMax: result = (16'(b) > value) ? scaled_t'(b) : scaled_t'(value);
        EdpOpTable: result = scaled_t'(signed'(entries[entry_of(value)]));
        EdpOpAdd, EdpOpMul, EdpOpRequantize: begin
          result = round_half_even(product, stage_i.shift) + scaled_t'(stage_i.zo);
        end
        default: result = scaled_t'(value);
      endcase
      value_o[j] = (stage_i.op == EdpOpNone) ? value_i[j] : unsigned'(clamp(result, stage_i.lo, stage_i.hi));
    end
  end

endmodule
