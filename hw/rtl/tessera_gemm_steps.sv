// What enters the array in an engine cycle: a step of the stream, and weight-stationary a row of the weight tile of the
// fold to come. Plain or out of the transposer, at the same time (hw/models/gemm/README.md, "Blocks").
`timescale 1ns/1ps
module tessera_gemm_steps (
  input  tessera_gemm_pkg::position_t at_i,
  input  tessera_gemm_pkg::position_t load_at_i,
  input  tessera_gemm_pkg::gemm_t     gemm_i,
  input  tessera_gemm_pkg::derived_t  derived_i,
  output tessera_gemm_pkg::step_op_t  step_o,
  output tessera_gemm_pkg::load_op_t  load_o
);

  import tessera_gemm_pkg::*;

  cycle_t step, steps;
  assign step = at_i.block + cycle_t'(at_i.row);
  assign steps = cycle_t'(steps_of(at_i.fold, gemm_i, derived_i));

  always_comb begin
    step_o.valid = at_i.valid && at_i.ends_slot && step < steps;
    step_o.begins = at_i.valid && at_i.begins;
    step_o.first = step == '0;
    step_o.last = step == steps - cycle_t'(1);
    step_o.first_k = at_i.fold.k == '0;
    step_o.half = at_i.fold.half;
    step_o.acc = AccWidth'(step);
    step_o.depth = gemm_i.stationary_b ? depth_of(at_i.fold, gemm_i) : 16'(Rows);
    step_o.turn = at_i.turn;
    step_o.column = at_i.row;
    load_o.valid = load_at_i.valid && gemm_i.stationary_b && load_at_i.ends_slot && load_at_i.block == '0;
    load_o.turn = load_at_i.turn;
    load_o.row = load_at_i.row;
  end

endmodule
