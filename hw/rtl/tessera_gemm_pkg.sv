// Types inside the systolic matrix unit: the instruction as the unit keeps it, what is derived from it once, folds, and
// the micro-operations that travel down the rigid pipeline (hw/models/gemm/README.md).
`timescale 1ns/1ps
package tessera_gemm_pkg;

  import tessera_chip_pkg::*;
  import tessera_core_pkg::*;

  localparam int unsigned Rows = GemmRows;
  localparam int unsigned Cols = GemmCols;
  localparam int unsigned Fill = Rows + Cols - 2;  // engine cycles from a step to its last sum
  localparam int unsigned ArrayRowWidth = (Rows > 1) ? $clog2(Rows) : 1;
  localparam int unsigned AccRows = (GemmAccumulatorRows > Rows) ? GemmAccumulatorRows : Rows;  // of a half
  localparam int unsigned AccWidth = (AccRows > 1) ? $clog2(AccRows) : 1;
  localparam int unsigned LineBytes = SramLineBytes;
  localparam int unsigned ParamBytes = 12;  // of a column
  localparam int unsigned ParamLines = (ParamBytes * Cols - 2) / LineBytes + 2;  // at most, of an n tile
  localparam int unsigned ParamIndexWidth = $clog2(ParamLines);
  // Parameters live from their first line to the last result of their n tile. Loads, streams and writes of a tile take
  // an interval at most each; what the fill adds is counted in intervals of the least length that reads parameters.
  localparam int unsigned ParamLinesAligned = (ParamBytes * Cols + LineBytes - 1) / LineBytes;
  localparam int unsigned LeastInterval = (ParamLinesAligned > Rows) ? ParamLinesAligned : Rows;
  localparam int unsigned ParamSets = 3 + (Rows + Cols + LeastInterval - 1) / LeastInterval;
  localparam int unsigned ParamSetWidth = $clog2(ParamSets);
  // A read of engine cycle e is used in engine cycle e + Skew.
  localparam int unsigned Skew = SramReadLatency;
  // A row that is drained in nominal cycle n is requantised from n + DrainStage on and written in n + WriteStage.
  localparam int unsigned DrainStage = SramReadLatency + 1;
  localparam int unsigned WriteStage = SramReadLatency + ConvPipelineCycles;

  typedef logic [19:0] cycle_t;  // engine cycles of a fold, or of a few

  // Most lines that `width` bytes beginning at a multiple of `width` touch.
  function automatic int unsigned slice_lines(input int unsigned width);
    if (LineBytes % width == 0) return 1;
    if (width % LineBytes == 0) return width / LineBytes;
    return (width - 2) / LineBytes + 2;
  endfunction

  localparam int unsigned LinesOfRows = slice_lines(Rows);
  localparam int unsigned LinesOfCols = slice_lines(Cols);

  // Rows that begin on lines.
  typedef struct packed {
    line_addr_t batch_pitch;
    line_addr_t pitch;
    line_addr_t line;
  } matrix_t;

  typedef struct packed {
    logic                     stationary_b;  // weight-stationary
    logic                     trans_a, trans_b, per_column;
    matrix_t                  a, b, o;
    logic [SramAddrWidth-1:0] p_base;
    logic [15:0]              m, n, k, batch;
    logic signed [8:0]        a_zp, b_zp;
    logic signed [15:0]       out_zp, lo, hi;
    logic [30:0]              multiplier;
    logic [5:0]               shift;
  } gemm_t;

  // Derived once an instruction. Slots: port cycles of a step, of a row of B, of a result row. Delays: engine cycles
  // before the first fold of each port. Intervals: from fold to fold, of a full M tile and of the last.
  typedef struct packed {
    logic        block_a, block_b;  // pass the transposer
    logic [15:0] m_tile;            // rows
    logic [1:0]  step_slot, b_slot, o_slot;
    cycle_t      delay_a, delay_b, delay_step, delay_load, delay_p, delay_o;
    cycle_t      interval, interval_last;
  } derived_t;

  // First row, column and reduction index of a fold; 0 where it has all of them.
  typedef struct packed {
    logic [15:0]              batch, m, n, k;
    logic                     last_k;  // its sums are complete
    logic                     last;    // of the instruction
    logic                     half;    // of the accumulator rows
    logic [ParamSetWidth-1:0] params;     // of parameters
  } fold_t;

  // Where a cursor is in its fold: slot block + row, cycle sub of the slot.
  typedef struct packed {
    fold_t                    fold;
    logic                     valid;
    logic                     begins;     // first cycle of the fold
    logic [1:0]               sub;
    logic                     ends_slot;
    logic                     turn;       // buffer of the transposer
    cycle_t                   block;      // multiple of Rows
    logic [ArrayRowWidth-1:0] row;
  } position_t;

  // What a fold needs of an operand: bytes [byte_first, byte_first + bytes) of rows [row_first, row_first + rows).
  typedef struct packed {
    logic [15:0] row_first, rows, byte_first, bytes;
  } span_t;

  // A cycle of port A or B.
  typedef struct packed {
    logic                       read;  // a line comes
    logic                       high;  // it is the second of its slice
    logic                       ends;  // the slice is complete
    logic [LineOffsetWidth-1:0] offset;
    logic                       turn;
    logic [ArrayRowWidth-1:0]   row;   // of the transposer
  } operand_op_t;

  // A cycle of the stream.
  typedef struct packed {
    logic                       valid;    // a step enters the array
    logic                       begins;   // first cycle of a fold: the weights that are loaded take over
    logic                       first, last;  // step of the fold
    logic                       first_k;  // the sums begin here
    logic                       half;
    logic [AccWidth-1:0]        acc;      // weight-stationary: accumulator row
    logic [15:0]                depth;    // rows of the array that take part
    logic                       turn;
    logic [ArrayRowWidth-1:0]   column;   // of the transposer
  } step_op_t;

  // A row of a weight tile enters the array.
  typedef struct packed {
    logic                       valid;
    logic                       turn;
    logic [ArrayRowWidth-1:0]   row;
  } load_op_t;

  // A line of parameters.
  typedef struct packed {
    logic                       valid;
    logic [ParamSetWidth-1:0]   params;
    logic [ParamIndexWidth-1:0] index;
  } param_op_t;

  // A line of a result row.
  typedef struct packed {
    logic                       valid;
    logic                       last;    // of the instruction
    logic                       half;
    logic [AccWidth-1:0]        acc;
    logic [ParamSetWidth-1:0]   params;
    logic [LineOffsetWidth-1:0] param_offset;  // of the first column's parameters in their first line
    logic                       high;    // second line
    logic [LineOffsetWidth-1:0] offset;  // of column 0 in the first line
    logic [Cols-1:0]            real_cols;
    line_addr_t                 line;
  } drain_op_t;

  function automatic logic [15:0] least(input logic [15:0] a, input logic [15:0] b);
    return (a < b) ? a : b;
  endfunction

  function automatic logic [15:0] rows_of(input fold_t fold, input gemm_t gemm, input derived_t derived);
    return least(derived.m_tile, gemm.m - fold.m);
  endfunction

  function automatic logic [15:0] cols_of(input fold_t fold, input gemm_t gemm);
    return least(16'(Cols), gemm.n - fold.n);
  endfunction

  // Reduction length of a fold, in the array's rows (weight-stationary) or in its steps.
  function automatic logic [15:0] depth_of(input fold_t fold, input gemm_t gemm);
    return gemm.stationary_b ? least(16'(Rows), gemm.k - fold.k) : gemm.k;
  endfunction

  function automatic logic [15:0] steps_of(input fold_t fold, input gemm_t gemm, input derived_t derived);
    return gemm.stationary_b ? rows_of(fold, gemm, derived) : gemm.k;
  endfunction

  // M lies along the rows of A, K along its bytes; transposed, the other way round.
  function automatic span_t span_of_a(input fold_t fold, input gemm_t gemm, input derived_t derived);
    span_t span;
    span.row_first = gemm.trans_a ? fold.k : fold.m;
    span.rows = gemm.trans_a ? depth_of(fold, gemm) : rows_of(fold, gemm, derived);
    span.byte_first = gemm.trans_a ? fold.m : fold.k;
    span.bytes = gemm.trans_a ? rows_of(fold, gemm, derived) : depth_of(fold, gemm);
    return span;
  endfunction

  function automatic span_t span_of_b(input fold_t fold, input gemm_t gemm);
    span_t span;
    span.row_first = gemm.trans_b ? fold.n : fold.k;
    span.rows = gemm.trans_b ? cols_of(fold, gemm) : depth_of(fold, gemm);
    span.byte_first = gemm.trans_b ? fold.k : fold.n;
    span.bytes = gemm.trans_b ? depth_of(fold, gemm) : cols_of(fold, gemm);
    return span;
  endfunction

  function automatic line_addr_t matrix_line(input matrix_t matrix, input logic [15:0] batch, input line_addr_t row);
    return matrix.line + line_addr_t'(batch) * matrix.batch_pitch + row * matrix.pitch;
  endfunction

endpackage
