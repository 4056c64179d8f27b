// The 64 local semaphores (hw/models/cp/README.md rules 6 to 8). A head is compared with settled values; a signal of
// cycle f is in arriving_q in f + 1 and settled from f + 2 on.
`timescale 1ns/1ps
module tessera_semaphores #(
  parameter int unsigned Units = tessera_core_pkg::Units
) (
  input  logic                                         clk_i,
  input  logic                                         rst_ni,
  input  logic                                         clear_i,
  input  tessera_isa_pkg::wait_t [Units-1:0][3:0]      waits_i,  // of the heads
  output logic [Units-1:0]                             met_o,
  output logic [Units-1:0][5:0]                        unmet_o,  // semaphore of the first wait that is not met
  input  logic [Units-1:0]                             start_i,
  input  logic [Units-1:0]                             done_i,
  input  tessera_isa_pkg::signal_t [Units-1:0][3:0]    signals_i,  // of the instructions that finish
  output logic [Units-1:0]                             overflow_o,
  output logic                                         arriving_o,
  output logic [63:0][7:0]                             values_o
);

  localparam int unsigned Semaphores = 64;
  localparam int unsigned Max = 255;
  localparam int unsigned SumWidth = 10;  // four counts

  logic [Semaphores-1:0][7:0] settled_q, settled_d, arriving_q, arriving_d;
  logic                       any_arriving_q, any_arriving_d;

  assign arriving_o = any_arriving_q;
  for (genvar s = 0; s < Semaphores; s++) begin : g_values
    assign values_o[s] = settled_q[s] + arriving_q[s];
  end

  // All waits at once; two waits on one semaphore add up.
  always_comb begin
    met_o = '1;
    unmet_o = '0;
    for (int unsigned u = 0; u < Units; u++) begin
      for (int unsigned i = 0; i < 4; i++) begin
        logic [SumWidth-1:0] need;
        need = SumWidth'(waits_i[u][i].f_count);
        for (int unsigned k = 0; k < i; k++) begin
          if (waits_i[u][k].f_semaphore == waits_i[u][i].f_semaphore) begin
            need += SumWidth'(waits_i[u][k].f_count);
          end
        end
        if (waits_i[u][i].f_count != 8'd0 && SumWidth'(settled_q[waits_i[u][i].f_semaphore[5:0]]) < need) begin
          if (met_o[u]) unmet_o[u] = waits_i[u][i].f_semaphore[5:0];
          met_o[u] = 1'b0;
        end
      end
    end
  end

  always_comb begin
    settled_d = settled_q;
    arriving_d = '0;
    any_arriving_d = 1'b0;
    overflow_o = '0;
    if (any_arriving_q) begin
      for (int unsigned s = 0; s < Semaphores; s++) settled_d[s] = settled_q[s] + arriving_q[s];
    end
    for (int unsigned u = 0; u < Units; u++) begin
      for (int unsigned i = 0; i < 4; i++) begin
        if (start_i[u]) begin
          settled_d[waits_i[u][i].f_semaphore[5:0]] -= waits_i[u][i].f_count;
        end
      end
    end
    for (int unsigned u = 0; u < Units; u++) begin
      for (int unsigned i = 0; i < 4; i++) begin
        logic [5:0]          s;
        logic [SumWidth-1:0] sum;
        s = signals_i[u][i].f_semaphore[5:0];
        sum = SumWidth'(settled_d[s]) + SumWidth'(arriving_d[s]) + SumWidth'(signals_i[u][i].f_amount);
        if (done_i[u] && signals_i[u][i].f_amount != 8'd0) begin
          if (sum > SumWidth'(Max)) begin
            overflow_o[u] = 1'b1;
          end else begin
            arriving_d[s] += signals_i[u][i].f_amount;
            any_arriving_d = 1'b1;
          end
        end
      end
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      settled_q <= '0;
      arriving_q <= '0;
      any_arriving_q <= 1'b0;
    end else if (clear_i) begin
      settled_q <= '0;
      arriving_q <= '0;
      any_arriving_q <= 1'b0;
    end else begin
      settled_q <= settled_d;
      arriving_q <= arriving_d;
      any_arriving_q <= any_arriving_d;
    end
  end

  // Global semaphores and reserved bits never get here: the decoder of a queue refuses them.
  logic unused_bits;
  always_comb begin
    unused_bits = 1'b0;
    for (int unsigned u = 0; u < Units; u++) begin
      for (int unsigned i = 0; i < 4; i++) begin
        unused_bits ^= ^{waits_i[u][i].reserved0, waits_i[u][i].f_semaphore[6], signals_i[u][i].reserved0,
                         signals_i[u][i].f_semaphore[6]};
      end
    end
  end

  SemaphoreMet: assert property (@(posedge clk_i) disable iff (!rst_ni) (start_i & ~met_o) == '0)
  else $error("a start without its waits met");

endmodule
