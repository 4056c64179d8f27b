// The control port's registers (isa/isa.json): base registers, rings, write pointers, doorbell; status, semaphores and
// counters of each unit: who owned its cycles. One write or read a cycle, no wait states.
`timescale 1ns/1ps
module tessera_registers (
  input  logic        clk_i,
  input  logic        rst_ni,
  input  logic        write_i,
  input  logic [15:0] addr_i,
  input  logic [31:0] wdata_i,
  output logic [31:0] rdata_o,
  // To the command processor
  output logic        doorbell_o,
  output logic        soft_reset_o,
  output logic [7:0][tessera_core_pkg::AddrWidth-1:0] base_o,
  output logic [7:0][63:0] limit_o,
  output logic [tessera_core_pkg::Units-1:0][tessera_core_pkg::AddrWidth-1:0] ring_base_o,
  output logic [tessera_core_pkg::Units-1:0][31:0] ring_words_o,
  output logic [tessera_core_pkg::Units-1:0][31:0] write_pointer_o,
  // From it
  input  logic        running_i,
  input  logic        fault_i,
  input  logic        stuck_i,
  input  logic [3:0]  fault_queue_i,
  input  logic [31:0] fault_index_i,
  input  tessera_isa_pkg::fault_cause_e fault_cause_i,
  input  logic [tessera_core_pkg::Units-1:0][31:0] read_pointer_i,
  input  logic [63:0][7:0] semaphores_i,
  input  tessera_core_pkg::owner_e [tessera_core_pkg::Units-1:0] owner_i,
  // Register expected_signals
  output logic        expected_write_o,
  output logic [10:0] expected_index_o,
  output logic [15:0] expected_data_o
);

  import tessera_isa_pkg::*;
  import tessera_core_pkg::*;

  // Counter 0 is busy, counter 1 + c stall cause c of hw/common/stall.hpp (never the host); 64 bits each.
  localparam int unsigned Counters = Owners - 1;
  localparam int unsigned CounterIndexWidth = 5;

  logic [7:0][AddrWidth-1:0]       base_q;
  logic [7:0][63:0]                limit_q;
  logic [Units-1:0][AddrWidth-1:0] ring_base_q;
  logic [Units-1:0][31:0]          ring_words_q, write_pointer_q;
  logic [3:0]                      select_q;
  logic [63:0]                          counters_q [Units][Counters];
  logic [63:0]                          latched_q [Counters];  // of the selected unit
  logic [Units-1:0][CounterIndexWidth-1:0] counts;  // counter of each unit that this cycle belongs to

  assign base_o = base_q;
  assign limit_o = limit_q;
  assign ring_base_o = ring_base_q;
  assign ring_words_o = ring_words_q;
  assign write_pointer_o = write_pointer_q;
  assign doorbell_o = write_i && addr_i == RegControl && wdata_i[0];
  assign soft_reset_o = write_i && addr_i == RegControl && wdata_i[1];

  for (genvar u = 0; u < Units; u++) begin : g_counts
    assign counts[u] = CounterIndexWidth'(owner_i[u]) - CounterIndexWidth'(OwnerBusy);
  end

  assign expected_write_o = write_i && addr_i >= RegExpectedSignals
      && addr_i < RegExpectedSignals + 16'(RegExpectedSignalsCount * RegExpectedSignalsStride);
  assign expected_index_o = 11'((addr_i - RegExpectedSignals) >> 2);
  assign expected_data_o = wdata_i[15:0];

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      base_q <= '0;
      limit_q <= '0;
      ring_base_q <= '0;
      ring_words_q <= '0;
      write_pointer_q <= '0;
      select_q <= '0;
      for (int unsigned c = 0; c < Counters; c++) begin
        latched_q[c] <= 64'd0;
        for (int unsigned u = 0; u < Units; u++) counters_q[u][c] <= 64'd0;
      end
    end else begin
      for (int unsigned i = 0; i < RegBaseLowCount; i++) begin
        if (write_i && addr_i == RegBaseLow + 16'(i * RegBaseLowStride)) base_q[i][31:0] <= wdata_i;
        if (write_i && addr_i == RegBaseHigh + 16'(i * RegBaseHighStride)) begin
          base_q[i][AddrWidth-1:32] <= wdata_i[AddrWidth-33:0];
        end
        if (write_i && addr_i == RegLimitLow + 16'(i * RegLimitLowStride)) limit_q[i][31:0] <= wdata_i;
        if (write_i && addr_i == RegLimitHigh + 16'(i * RegLimitHighStride)) limit_q[i][63:32] <= wdata_i;
      end
      for (int unsigned u = 0; u < Units; u++) begin
        logic [15:0] at;
        at = 16'(QueueOf[u]) * 16'(RegRingBaseLowStride);
        if (write_i && addr_i == RegRingBaseLow + at) ring_base_q[u][31:0] <= wdata_i;
        if (write_i && addr_i == RegRingBaseHigh + at) begin
          ring_base_q[u][AddrWidth-1:32] <= wdata_i[AddrWidth-33:0];
        end
        if (write_i && addr_i == RegRingWords + at) ring_words_q[u] <= wdata_i;
        if (write_i && addr_i == RegWritePointer + at) write_pointer_q[u] <= wdata_i;
        if (owner_i[u] != OwnerNone) counters_q[u][counts[u]] <= counters_q[u][counts[u]] + 64'd1;
      end
      if (write_i && addr_i == RegCounterSelect) begin
        select_q <= wdata_i[3:0];
        for (int unsigned c = 0; c < Counters; c++) begin
          latched_q[c] <= 64'd0;
          for (int unsigned u = 0; u < Units; u++) begin
            if (wdata_i[3:0] == QueueOf[u]) latched_q[c] <= counters_q[u][c];
          end
        end
      end
    end
  end

  always_comb begin
    rdata_o = 32'd0;
    unique case (addr_i)
      RegId: rdata_o = RegIdReset;
      RegIsaVersion: rdata_o = RegIsaVersionReset;
      RegStatus: rdata_o = {28'd0, stuck_i && !fault_i, fault_i, !running_i, running_i};
      RegFaultQueue: rdata_o = 32'(fault_queue_i);
      RegFaultIndex: rdata_o = fault_index_i;
      RegFaultCause: rdata_o = 32'(fault_cause_i);
      RegCounterSelect: rdata_o = 32'(select_q);
      default: begin
        if (addr_i >= RegCounter && addr_i < RegCounter + 16'(2 * Counters * RegCounterStride)) begin
          rdata_o = latched_q[CounterIndexWidth'((addr_i - RegCounter) >> 3)][32*((addr_i >> 2) & 16'd1)+:32];
        end
        if (addr_i >= RegSemaphore && addr_i < RegSemaphore + 16'(RegSemaphoreCount * RegSemaphoreStride)) begin
          rdata_o = 32'(semaphores_i[6'((addr_i - RegSemaphore) >> 2)]);
        end
        for (int unsigned u = 0; u < Units; u++) begin
          if (addr_i == RegReadPointer + 16'(QueueOf[u]) * 16'(RegReadPointerStride)) begin
            rdata_o = read_pointer_i[u];
          end
        end
      end
    endcase
  end

endmodule
