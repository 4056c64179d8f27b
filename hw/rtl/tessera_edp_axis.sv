// The windows of a pooling along one axis: does each hold an element, which elements do they touch, how many does the
// fullest one count? (check_window, window_rows and window_count of isa/semantics; hw/models/edp/README.md.) Windows move
// monotonically, so that the first and the last of them answer for all; but a dilated one steps over elements, and each
// that begins or ends outside the map does so with another remainder: at most as many as the dilation.
`timescale 1ns/1ps
module tessera_edp_axis (
  input  logic [15:0] in_i,         // elements of the map, at least 1
  input  logic [15:0] out_i,        // windows, at least 1
  input  logic [7:0]  kernel_i,     // at least 1
  input  logic [7:0]  stride_i,     // at least 1
  input  logic [7:0]  dilation_i,   // at least 1
  input  logic [7:0]  pad_i,        // in front of element 0
  input  logic        padded_i,     // padding counts (not with a dilation)
  input  logic [7:0]  pad_after_i,  // of that, behind the last element
  output logic        empty_o,      // a window holds no element
  output logic        any_o,        // some element of the map is touched
  output logic [15:0] first_o,
  output logic [15:0] last_o,
  output logic [7:0]  most_o        // elements of the fullest window; meaningful without a dilation
);

  typedef logic signed [31:0] at_t;  // a position; element 0 of the map is at 0
  localparam int unsigned MostRemainders = 255;

  at_t in, kernel, stride, dilation, pad, low, high, reach, last_origin, last_window;

  assign in = at_t'(in_i);
  assign kernel = at_t'(kernel_i);
  assign stride = at_t'(stride_i);
  assign dilation = at_t'(dilation_i);
  assign pad = at_t'(pad_i);
  // What counts.
  assign low = padded_i ? -pad : '0;
  assign high = in + (padded_i ? at_t'(pad_after_i) : '0);
  assign reach = (kernel - 1) * dilation;
  assign last_window = at_t'(out_i) - 1;
  assign last_origin = last_window * stride - pad;

  // ---- without a dilation
  at_t  begins, ends, begins_at, ends_at, first_inside, before_inside, inside_count, before_count;
  logic plain_empty, plain_any;

  always_comb begin
    plain_empty = kernel - pad <= low || last_origin >= high;
    // The first window that ends behind 0, the last that begins in front of the end.
    begins = (pad < kernel) ? '0 : (pad - kernel) / stride + 1;
    begins_at = begins * stride - pad;
    ends = (in - 1 + pad) / stride;
    if (ends > last_window) ends = last_window;
    ends_at = ends * stride - pad + kernel - 1;
    plain_any = begins <= last_window && begins_at < in;
    // The first window that begins where elements count, and the one before it.
    first_inside = padded_i ? '0 : (pad + stride - 1) / stride;
    before_inside = (first_inside > last_window) ? last_window : first_inside - 1;
    inside_count = high - (first_inside * stride - pad);
    if (inside_count > kernel) inside_count = kernel;
    if (first_inside > last_window) inside_count = '0;
    before_count = before_inside * stride - pad + kernel - low;
    if (before_count > high - low) before_count = high - low;
    if (before_inside < 0) before_count = '0;
    most_o = (inside_count > before_count) ? 8'(inside_count) : (before_count > 0) ? 8'(before_count) : 8'd0;
  end

  // ---- with one
  at_t  step, front, least_front, most_front, front_at, back, least_back, back_at, whole, whole_at, inside_at;
  logic fronts, backs, dilated_empty;

  // Windows that begin in front of the map: the first element of each, the one after the other.
  always_comb begin
    step = stride % dilation;
    front_at = -pad;
    front = (dilation - pad % dilation) % dilation;
    least_front = dilation;
    most_front = '0;
    fronts = 1'b0;
    if (dilation_i > 8'd1) begin
      for (int unsigned o = 0; o < MostRemainders; o++) begin
        if (at_t'(o) <= last_window && front_at < 0) begin
          fronts = 1'b1;
          if (front < least_front) least_front = front;
          if (front > most_front) most_front = front;
          front_at = front_at + stride;
          front = (front + step >= dilation) ? front + step - dilation : front + step;
        end
      end
    end
  end

  // Windows that end behind the map, the last one first: from the last element of each to the end of the map.
  always_comb begin
    back_at = last_origin + reach;
    back = (last_origin < in) ? (in - 1 - last_origin) % dilation : '0;
    least_back = dilation;
    backs = 1'b0;
    if (dilation_i > 8'd1) begin
      for (int unsigned o = 0; o < MostRemainders; o++) begin
        if (at_t'(o) <= last_window && back_at >= in) begin
          backs = 1'b1;
          if (back < least_back) least_back = back;
          back_at = back_at - stride;
          back = (back + step >= dilation) ? back + step - dilation : back + step;
        end
      end
    end
  end

  always_comb begin
    dilated_empty = pad > reach || last_origin >= in || (fronts && most_front >= in);
    // The first window that begins in the map, the last that ends in it.
    inside_at = (pad + stride - 1) / stride * stride - pad;
    whole = (in - 1 - reach + pad) / stride;
    if (whole > last_window) whole = last_window;
    whole_at = whole * stride - pad + reach;
    if (in - 1 - reach + pad < 0) whole_at = '0;
  end

  at_t first, last;
  always_comb begin
    if (dilation_i > 8'd1) begin
      first = (inside_at <= last_origin && inside_at < least_front) ? inside_at : least_front;
      last = (backs && in - 1 - least_back > whole_at) ? in - 1 - least_back : whole_at;
    end else begin
      first = (begins_at > 0) ? begins_at : '0;
      last = (ends_at < in) ? ends_at : in - 1;
    end
  end

  assign empty_o = (dilation_i > 8'd1) ? dilated_empty : plain_empty;
  assign any_o = dilation_i > 8'd1 || plain_any;
  assign first_o = 16'(first);
  assign last_o = 16'(last);

endmodule
