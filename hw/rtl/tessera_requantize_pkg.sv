// Rounding and clamping of scaled values, exact: the one home for every engine (isa/semantics/requantize.hpp).
`timescale 1ns/1ps
package tessera_requantize_pkg;

  // A 33-bit value x 33 bits of multiplier (or two differences of 17 bits x 32 bits), a sum of two such, and a zero point.
  localparam int unsigned ScaledBits = 68;
  typedef logic signed [ScaledBits-1:0] scaled_t;

  // value / 2^shift to nearest, ties to even; shift in 0 .. 62.
  function automatic scaled_t round_half_even(input scaled_t value, input logic [5:0] shift);
    scaled_t floor;
    logic [ScaledBits-1:0] rest, half;
    floor = value >>> shift;
    rest = unsigned'(value) & ~({ScaledBits{1'b1}} << shift);
    half = (shift == 6'd0) ? {ScaledBits{1'b1}} : ScaledBits'(1) << (shift - 6'd1);
    return floor + ((rest > half || (rest == half && floor[0])) ? ScaledBits'(1) : ScaledBits'(0));
  endfunction

  function automatic logic signed [15:0] clamp(input scaled_t value, input logic signed [15:0] lo,
                                               input logic signed [15:0] hi);
    if (value < ScaledBits'(lo)) return lo;
    if (value > ScaledBits'(hi)) return hi;
    return 16'(value);
  endfunction

endpackage
