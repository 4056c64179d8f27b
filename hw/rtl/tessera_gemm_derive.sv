// What a GEMM instruction derives from its fields once: tiles, slots, when each port begins, and how long a fold takes
// (hw/models/gemm/README.md, the table; class GemmSchedule). Combinational.
`timescale 1ns/1ps
module tessera_gemm_derive (
  input  tessera_gemm_pkg::gemm_t    gemm_i,
  output tessera_gemm_pkg::derived_t derived_o
);

  import tessera_gemm_pkg::*;

  localparam bit Overlap = tessera_chip_pkg::GemmFoldOverlap != 0;

  function automatic cycle_t greatest(input cycle_t a, input cycle_t b);
    return (a > b) ? a : b;
  endfunction

  logic        block_a, block_b;
  logic [15:0] m_tile, steps_last;
  cycle_t      b_lines, step, load, param_lines, param_lead, block, lead, stream, first_sum;

  assign block_a = gemm_i.trans_a == gemm_i.stationary_b;
  assign block_b = gemm_i.trans_b;
  assign b_lines = block_b ? cycle_t'(LinesOfRows) : cycle_t'(LinesOfCols);
  assign step = greatest(cycle_t'(LinesOfRows), gemm_i.stationary_b ? cycle_t'(LinesOfCols) : b_lines);
  assign load = gemm_i.stationary_b ? cycle_t'(Rows) * b_lines : '0;
  assign m_tile = gemm_i.stationary_b ? 16'(tessera_chip_pkg::GemmAccumulatorRows) : 16'(Rows);
  assign steps_last = gemm_i.stationary_b ? (gemm_i.m - 16'd1) % m_tile + 16'd1 : gemm_i.k;

  always_comb begin
    param_lines = '0;
    if (gemm_i.per_column) begin
      param_lines = (gemm_i.p_base[tessera_core_pkg::LineOffsetWidth-1:0] == '0)
          ? cycle_t'(slice_lines(ParamBytes * Cols)) : cycle_t'(ParamLines);
    end
    first_sum = cycle_t'(Fill) + (gemm_i.stationary_b ? load + step : cycle_t'(gemm_i.k) * step + cycle_t'(1));
    param_lead = (param_lines > first_sum) ? param_lines - first_sum : '0;
    // A transposed operand is read one block, R steps, before the array takes it.
    block = cycle_t'(Rows) * step;
    lead = param_lead;
    if (gemm_i.stationary_b) begin
      if (block_b) lead = greatest(lead, load);
      if (block_a && block > load) lead = greatest(lead, block - load);
    end else if (block_a || block_b) begin
      lead = greatest(lead, block);
    end
  end

  function automatic cycle_t interval_of(input logic [15:0] steps, input logic stationary_b, input logic blocks,
                                         input cycle_t step_cycles, input cycle_t load_cycles, input cycle_t params);
    cycle_t own, whole_blocks, interval;
    own = cycle_t'(steps) * step_cycles;
    whole_blocks = (cycle_t'(steps) + cycle_t'(Rows - 1)) / cycle_t'(Rows) * cycle_t'(Rows);
    interval = Overlap ? greatest(own, load_cycles) : load_cycles + own + cycle_t'(Fill);
    if (blocks) interval = greatest(interval, whole_blocks * step_cycles);
    if (!stationary_b) interval = greatest(interval, cycle_t'(Rows * LinesOfCols));
    return greatest(interval, params);
  endfunction

  logic blocks;
  assign blocks = block_a || (!gemm_i.stationary_b && block_b);
  assign stream = lead + load;  // of the first fold

  always_comb begin
    derived_o.block_a = block_a;
    derived_o.block_b = block_b;
    derived_o.m_tile = m_tile;
    derived_o.step_slot = 2'(step);
    derived_o.b_slot = gemm_i.stationary_b ? 2'(b_lines) : 2'(step);
    derived_o.o_slot = gemm_i.stationary_b ? 2'(step) : 2'(LinesOfCols);
    derived_o.delay_step = stream;
    derived_o.delay_load = lead;
    derived_o.delay_a = block_a ? stream - block : stream;
    derived_o.delay_b = gemm_i.stationary_b ? (block_b ? lead - load : lead) : (block_b ? stream - block : stream);
    derived_o.delay_p = lead - param_lead;
    derived_o.delay_o = stream + cycle_t'(Fill)
        + (gemm_i.stationary_b ? step - cycle_t'(1) : cycle_t'(gemm_i.k) * step);
    derived_o.interval = interval_of(gemm_i.stationary_b ? m_tile : gemm_i.k, gemm_i.stationary_b, blocks, step, load,
                                     param_lines);
    derived_o.interval_last = interval_of(steps_last, gemm_i.stationary_b, blocks, step, load, param_lines);
  end

endmodule
