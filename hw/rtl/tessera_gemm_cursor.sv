// One port's view of the folds (hw/models/gemm/README.md, "Folds"; class FoldCursor): waits for its first fold, then
// walks fold behind fold, each in slots of one or two cycles. Every port has its own: they lie apart by fixed delays.
`timescale 1ns/1ps
module tessera_gemm_cursor (
  input  logic                        clk_i,
  input  logic                        rst_ni,
  input  logic                        move_i,   // the engine moves on
  input  logic                        start_i,  // the next cycle is engine cycle 0
  input  tessera_gemm_pkg::cycle_t    delay_i,  // engine cycles in front of the first fold
  input  logic [1:0]                  slot_i,
  input  logic                        loads_i,  // its slots are rows of a weight tile, else steps of the fold
  input  tessera_gemm_pkg::gemm_t     gemm_i,
  input  tessera_gemm_pkg::derived_t  derived_i,
  output tessera_gemm_pkg::position_t at_o
);

  import tessera_gemm_pkg::*;

  logic                     active_q, turn_q, ends_fold, ends_slot, ends_block, last_k, last_n, last_m, last_batch;
  fold_t                    fold_q, fold_d;
  cycle_t                   wait_q, cycle_q, block_q, interval;
  logic [1:0]               sub_q;
  logic [ArrayRowWidth-1:0] row_q;

  // ---- the fold behind the fold
  assign last_k = !gemm_i.stationary_b || 17'(fold_q.k) + 17'(Rows) >= 17'(gemm_i.k);
  assign last_n = 17'(fold_q.n) + 17'(Cols) >= 17'(gemm_i.n);
  assign last_m = 17'(fold_q.m) + 17'(derived_i.m_tile) >= 17'(gemm_i.m);
  assign last_batch = fold_q.batch + 16'd1 == gemm_i.batch;

  always_comb begin
    fold_d = fold_q;
    fold_d.k = last_k ? '0 : fold_q.k + 16'(Rows);
    if (last_k) begin
      fold_d.half = !fold_q.half;
      fold_d.params = (fold_q.params == ParamSetWidth'(ParamSets - 1)) ? '0 : fold_q.params + ParamSetWidth'(1);
      fold_d.n = last_n ? '0 : fold_q.n + 16'(Cols);
    end
    if (last_k && last_n) fold_d.m = last_m ? '0 : fold_q.m + derived_i.m_tile;
    if (last_k && last_n && last_m) fold_d.batch = fold_q.batch + 16'd1;
  end

  // ---- in the fold
  assign interval = last_m ? derived_i.interval_last : derived_i.interval;
  assign ends_fold = cycle_q == interval - cycle_t'(1);
  assign ends_slot = sub_q == slot_i - 2'd1;
  assign ends_block = ends_slot && row_q == ArrayRowWidth'(Rows - 1);

  always_comb begin
    at_o.fold = fold_q;
    at_o.fold.last_k = last_k;
    at_o.fold.last = last_k && last_n && last_m && last_batch;
    at_o.valid = active_q && wait_q == '0;
    at_o.begins = cycle_q == '0;
    at_o.sub = sub_q;
    at_o.ends_slot = ends_slot;
    at_o.turn = turn_q;
    at_o.block = block_q;
    at_o.row = row_q;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      active_q <= 1'b0;
      fold_q <= '0;
      wait_q <= '0;
      cycle_q <= '0;
      block_q <= '0;
      sub_q <= '0;
      row_q <= '0;
      turn_q <= 1'b0;
    end else if (start_i) begin
      active_q <= 1'b1;
      fold_q <= '0;
      wait_q <= delay_i;
      cycle_q <= '0;
      block_q <= '0;
      sub_q <= '0;
      row_q <= '0;
      turn_q <= 1'b0;
    end else if (move_i && wait_q != '0) begin
      wait_q <= wait_q - cycle_t'(1);
    end else if (move_i && active_q) begin
      cycle_q <= cycle_q + cycle_t'(1);
      sub_q <= ends_slot ? '0 : sub_q + 2'd1;
      if (ends_slot) row_q <= ends_block ? '0 : row_q + ArrayRowWidth'(1);
      if (ends_block) begin
        block_q <= block_q + cycle_t'(Rows);
        // The transposer turns once a block that exists, so that its buffers alternate across folds.
        if (block_q < (loads_i ? cycle_t'(Rows) : cycle_t'(steps_of(fold_q, gemm_i, derived_i)))) turn_q <= !turn_q;
      end
      if (ends_fold) begin
        cycle_q <= '0;
        block_q <= '0;
        sub_q <= '0;
        row_q <= '0;
        fold_q <= fold_d;
        if (at_o.fold.last) active_q <= 1'b0;
      end
    end
  end

endmodule
