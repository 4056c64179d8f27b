// Which unit a wait is charged to: the lowest queue that still owes the semaphore a signal in this section (the driver
// writes a table of them, counted down as instructions finish); none left: the one that signalled it last, else the
// waiting queue itself (hw/models/cp/README.md, "Whose cycle"). For the counters only: nothing starts by it.
`timescale 1ns/1ps
module tessera_attribution (
  input  logic                                      clk_i,
  input  logic                                      rst_ni,
  input  logic                                      clear_i,
  // Register expected_signals: semaphore x 16 + queue.
  input  logic                                      write_i,
  input  logic [10:0]                               index_i,
  input  logic [15:0]                               wdata_i,
  // Instructions that finish
  input  logic [tessera_core_pkg::Units-1:0]                          done_i,
  input  tessera_isa_pkg::signal_t [tessera_core_pkg::Units-1:0][3:0] signals_i,
  // Heads
  input  logic [tessera_core_pkg::Units-1:0][5:0]                     unmet_i,  // semaphore each head waits for
  output tessera_core_pkg::owner_e [tessera_core_pkg::Units-1:0]      owner_o
);

  import tessera_isa_pkg::*;
  import tessera_core_pkg::*;

  localparam int unsigned Semaphores = 64;
  localparam int unsigned CountWidth = 16;

  logic [CountWidth-1:0]                owed_q [Semaphores][Units];
  logic [Semaphores-1:0][UnitWidth-1:0] last_q;
  logic [Semaphores-1:0]                signalled_q;

  // Signals of unit `from` to semaphore s in this cycle.
  function automatic logic [2:0] signals_of(input logic [5:0] s, input int unsigned from);
    logic [2:0] count;
    count = 3'd0;
    for (int unsigned i = 0; i < 4; i++) begin
      if (done_i[from] && signals_i[from][i].f_amount != 8'd0 && signals_i[from][i].f_semaphore == 7'(s)) begin
        count += 3'd1;
      end
    end
    return count;
  endfunction

  function automatic logic [CountWidth-1:0] owed_of(input logic [5:0] s, input int unsigned from);
    logic [CountWidth-1:0] count;
    count = CountWidth'(signals_of(s, from));
    return (owed_q[s][from] < count) ? '0 : owed_q[s][from] - count;
  endfunction

  always_comb begin
    for (int unsigned u = 0; u < Units; u++) begin
      logic                 found;
      logic [UnitWidth-1:0] who;
      found = 1'b0;
      who = UnitWidth'(u);
      if (signalled_q[unmet_i[u]]) who = last_q[unmet_i[u]];
      for (int unsigned v = 0; v < Units; v++) begin
        if (signals_of(unmet_i[u], v) != 3'd0) who = UnitWidth'(v);
      end
      for (int unsigned v = 0; v < Units; v++) begin
        if (!found && owed_of(unmet_i[u], v) != '0) begin
          found = 1'b1;
          who = UnitWidth'(v);
        end
      end
      owner_o[u] = owner_e'(OwnerSemaphore + OwnerWidth'(QueueOf[who]));
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      for (int unsigned s = 0; s < Semaphores; s++) begin
        for (int unsigned u = 0; u < Units; u++) owed_q[s][u] <= '0;
      end
      last_q <= '0;
      signalled_q <= '0;
    end else if (clear_i) begin
      for (int unsigned s = 0; s < Semaphores; s++) begin
        for (int unsigned u = 0; u < Units; u++) owed_q[s][u] <= '0;
      end
      last_q <= '0;
      signalled_q <= '0;
    end else begin
      for (int unsigned u = 0; u < Units; u++) begin
        for (int unsigned i = 0; i < 4; i++) begin
          if (done_i[u] && signals_i[u][i].f_amount != 8'd0 && !signals_i[u][i].f_semaphore[6]) begin
            owed_q[signals_i[u][i].f_semaphore[5:0]][u] <= owed_of(signals_i[u][i].f_semaphore[5:0], u);
            last_q[signals_i[u][i].f_semaphore[5:0]] <= UnitWidth'(u);
            signalled_q[signals_i[u][i].f_semaphore[5:0]] <= 1'b1;
          end
        end
        if (write_i && index_i[3:0] == QueueOf[u] && !index_i[10]) owed_q[index_i[9:4]][u] <= wdata_i;
      end
    end
  end

endmodule
