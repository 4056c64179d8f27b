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
  output logic [5:0]  semaphore_o,
  input  logic [7:0]  semaphore_value_i,
  input  tessera_core_pkg::owner_t [tessera_core_pkg::Units-1:0] owner_i,
  input  logic [tessera_core_pkg::Units-1:0] conflict_i
);

  import tessera_isa_pkg::*;
  import tessera_core_pkg::*;

  // Counter 0 is busy, counter 1 + c stall cause c of hw/common/stall.hpp; 64 bits each.
  // What the RTL does not tell apart: all semaphores count as the first of their causes, DRAM and drain as busy.
  localparam int unsigned Counters = 5;
  localparam logic [Counters-1:0][3:0] CounterOf = {4'd14, 4'd3, 4'd2, 4'd1, 4'd0};  // conflict, semaphore, fetch, fault, busy
  localparam logic [15:0] CounterBytes = 16'(2 * RegCounterStride);

  // The queue of each unit of the slice.
  function automatic logic [3:0] queue_of(input int unsigned unit);
    unique case (unit)
      UnitLoad: return QueueIdLoad;
      UnitStore: return QueueIdStore;
      UnitConv: return QueueIdConv0;
      UnitGemm: return QueueIdGemm;
      UnitEdp: return QueueIdEdp;
      default: return QueueIdReorder;
    endcase
  endfunction

  logic [7:0][AddrWidth-1:0]       base_q;
  logic [7:0][63:0]                limit_q;
  logic [Units-1:0][AddrWidth-1:0] ring_base_q;
  logic [Units-1:0][31:0]          ring_words_q, write_pointer_q;
  logic [3:0]                      select_q;
  logic [Units-1:0][Counters-1:0][63:0] counters_q;
  logic [Units-1:0][Counters-1:0]       counts;

  assign base_o = base_q;
  assign limit_o = limit_q;
  assign ring_base_o = ring_base_q;
  assign ring_words_o = ring_words_q;
  assign write_pointer_o = write_pointer_q;
  assign doorbell_o = write_i && addr_i == RegControl && wdata_i[0];
  assign semaphore_o = 6'((addr_i - RegSemaphore) >> 2);

  for (genvar u = 0; u < Units; u++) begin : g_counts
    assign counts[u] = {conflict_i[u], owner_i[u].waits, owner_i[u].fetch, owner_i[u].fault,
                        owner_i[u].unit && !conflict_i[u]};
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      base_q <= '0;
      limit_q <= '0;
      ring_base_q <= '0;
      ring_words_q <= '0;
      write_pointer_q <= '0;
      select_q <= '0;
      counters_q <= '0;
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
        at = 16'(queue_of(u)) * 16'(RegRingBaseLowStride);
        if (write_i && addr_i == RegRingBaseLow + at) ring_base_q[u][31:0] <= wdata_i;
        if (write_i && addr_i == RegRingBaseHigh + at) begin
          ring_base_q[u][AddrWidth-1:32] <= wdata_i[AddrWidth-33:0];
        end
        if (write_i && addr_i == RegRingWords + at) ring_words_q[u] <= wdata_i;
        if (write_i && addr_i == RegWritePointer + at) write_pointer_q[u] <= wdata_i;
        for (int unsigned c = 0; c < Counters; c++) begin
          if (counts[u][c]) counters_q[u][c] <= counters_q[u][c] + 64'd1;
        end
      end
      if (write_i && addr_i == RegCounterSelect) select_q <= wdata_i[3:0];
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
      default: begin
        if (addr_i >= RegSemaphore && addr_i < RegSemaphore + 16'(RegSemaphoreCount * RegSemaphoreStride)) begin
          rdata_o = 32'(semaphore_value_i);
        end
        for (int unsigned u = 0; u < Units; u++) begin
          if (addr_i == RegReadPointer + 16'(queue_of(u)) * 16'(RegReadPointerStride)) begin
            rdata_o = read_pointer_i[u];
          end
          for (int unsigned c = 0; c < Counters; c++) begin
            logic [15:0] at;
            at = RegCounter + CounterBytes * 16'(CounterOf[c]);
            if (addr_i == at && select_q == queue_of(u)) rdata_o = counters_q[u][c][31:0];
            if (addr_i == at + 16'(RegCounterStride) && select_q == queue_of(u)) rdata_o = counters_q[u][c][63:32];
          end
        end
      end
    endcase
  end

endmodule
