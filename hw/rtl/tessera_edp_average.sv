// The second step of the vector unit: a sum becomes an average through the multiplier and shift of its element count
// (requantize of isa/semantics). Keeps the entries as the lines that hold them. Maxima pass.
`timescale 1ns/1ps
module tessera_edp_average (
  input  logic                      clk_i,
  input  logic                      write_i,  // a line of entries
  input  logic [tessera_edp_pkg::ConstantWidth-1:0] index_i,
  input  logic [tessera_core_pkg::LineBits-1:0] line_i,
  input  tessera_edp_pkg::edp_t     edp_i,
  input  logic [tessera_edp_pkg::SliceWidth-1:0] slice_i,
  input  logic [tessera_core_pkg::LinePixels-1:0][tessera_edp_pkg::EntryWidth-1:0] entry_i,  // of each pixel
  input  logic [tessera_edp_pkg::Lanes-1:0][31:0] sum_i,
  output logic [tessera_edp_pkg::Lanes-1:0][15:0] value_o
);

  import tessera_core_pkg::*;
  import tessera_edp_pkg::*;
  import tessera_requantize_pkg::*;

  localparam int unsigned IndexWidth = (EntryLines > 1) ? $clog2(EntryLines) : 1;

  logic [LineBits-1:0] lines_q [EntryLines];

  always_ff @(posedge clk_i) begin
    if (write_i) lines_q[IndexWidth'(index_i)] <= line_i;
  end

  logic [LinePixels-1:0][8*EntryBytes-1:0] scale;  // multiplier, shift

  always_comb begin
    logic [ConstantWidth-1:0] at;  // of a byte, from the beginning of the first line
    for (int unsigned x = 0; x < LinePixels; x++) begin
      for (int unsigned i = 0; i < EntryBytes; i++) begin
        at = ConstantWidth'(edp_i.p_base[LineOffsetWidth-1:0])
             + ConstantWidth'(entry_i[x]) * ConstantWidth'(EntryBytes) + ConstantWidth'(i);
        scale[x][8*i+:8] = lines_q[IndexWidth'(at >> LineOffsetWidth)][8*32'(at[LineOffsetWidth-1:0])+:8];
      end
    end
  end

  always_comb begin
    int unsigned at;
    logic [8*EntryBytes-1:0] own;
    scaled_t product;
    for (int unsigned j = 0; j < Lanes; j++) begin
      at = 32'(slice_i) * Lanes + j;
      own = scale[(at < tessera_chip_pkg::SramLineBytes) ? at / Block : 0];
      product = scaled_t'(signed'(sum_i[j])) * scaled_t'(signed'({1'b0, own[31:0]}));
      value_o[j] = edp_i.average
          ? unsigned'(clamp(round_half_even(product, own[37:32]) + scaled_t'(edp_i.out_zp), edp_i.lo, edp_i.hi))
          : sum_i[j][15:0];
    end
  end

endmodule
