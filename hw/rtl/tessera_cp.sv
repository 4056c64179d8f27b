// The command processor of the slice: FETCH, the queues, semaphores, starts, faults, end and stuck detection
// (hw/models/cp/README.md; class CpCore). Reads nothing but registered state of the units, but for their done strobes.
`timescale 1ns/1ps
module tessera_cp (
  input  logic        clk_i,
  input  logic        rst_ni,
  // Registers
  input  logic        doorbell_i,
  input  logic        soft_reset_i,  // a strobe; nothing starts from its cycle on
  output logic        reset_done_o,  // nothing is in flight any more: all state is cleared at the end of this cycle
  input  logic [tessera_core_pkg::Units-1:0][tessera_core_pkg::AddrWidth-1:0] ring_base_i,
  input  logic [tessera_core_pkg::Units-1:0][31:0] ring_words_i,
  input  logic [tessera_core_pkg::Units-1:0][31:0] write_pointer_i,
  output logic [tessera_core_pkg::Units-1:0][31:0] read_pointer_o,
  output logic [63:0][7:0] semaphores_o,
  output logic        running_o,
  output logic        quiet_o,
  output logic        stuck_o,
  output logic        fault_o,
  output logic [3:0]  fault_queue_o,
  output logic [31:0] fault_index_o,
  output tessera_isa_pkg::fault_cause_e fault_cause_o,
  // FETCH: AXI read manager; RREADY is always 1.
  output logic        ar_valid_o,
  input  logic        ar_ready_i,
  output tessera_core_pkg::axi_ax_t ar_o,
  input  logic        r_valid_i,
  input  logic        r_last_i,
  input  logic [tessera_core_pkg::BeatBits-1:0] r_data_i,
  input  logic        r_error_i,  // of the queue whose burst it is
  input  logic [tessera_core_pkg::Units-1:0] bus_error_i,  // of the units' own managers
  // Units
  input  logic [tessera_core_pkg::Units-1:0] ready_i,
  input  logic [tessera_core_pkg::Units-1:0] ready_nop_i,
  input  logic [tessera_core_pkg::Units-1:0] busy_i,
  input  logic [tessera_core_pkg::Units-1:0] done_i,
  output logic [tessera_core_pkg::Units-1:0] start_o,
  output logic [tessera_core_pkg::Units-1:0] start_nop_o,
  output logic [tessera_core_pkg::Units-1:0][tessera_core_pkg::HeadBits-1:0] head_o,
  output logic [tessera_core_pkg::Units-1:0] head_valid_o,
  output logic [tessera_core_pkg::Units-1:0] queue_full_o,
  // Counters: who owns this cycle of a unit at work, and of each queue; the register expected_signals.
  input  tessera_core_pkg::owner_e [tessera_core_pkg::Units-1:0] unit_owner_i,
  output tessera_core_pkg::owner_e [tessera_core_pkg::Units-1:0] owner_o,
  input  logic        expected_write_i,
  input  logic [10:0] expected_index_i,
  input  logic [15:0] expected_data_i,
  input  tessera_isa_pkg::fault_cause_e [tessera_core_pkg::Units-1:0] range_i  // of the heads, unless a NOP
);

  import tessera_isa_pkg::*;
  import tessera_core_pkg::*;

  // Instructions popped and not finished, a unit: as many signal sets wait for their finish.
  function automatic int unsigned in_flight_of(input int unsigned unit);
    unique case (unit)
      UnitLoad: return tessera_chip_pkg::LoadInFlight;
      UnitStore: return tessera_chip_pkg::StoreInFlight;
      default: return 1;
    endcase
  endfunction

  // ---- soft reset: what is in flight ends, as do its signals; then the core is as after a section without instructions
  logic resetting, resetting_q, clear;

  assign resetting = soft_reset_i || resetting_q;
  assign clear = doorbell_i || reset_done_o;

  // ---- FETCH: one AR a cycle, the first queue that may, in rotating order
  logic [Units-1:0]    may_fetch, raise, beat_valid, bus_error, halted, exhausted, head_valid, head_illegal, head_nop;
  axi_ax_t [Units-1:0] burst;
  axi_ax_t             held_burst_q, chosen_burst;
  logic                ar_held_q, any_raise;
  logic [UnitWidth-1:0] fetch_first_q, chosen, chosen_next, beat_unit, error_unit;
  localparam int unsigned FetchesWidth = $clog2(Units + 1);
  logic [FetchesWidth-1:0] fetches_q;  // bursts raised whose last beat has not come: at most one a queue

  always_comb begin
    logic [UnitWidth-1:0] unit;
    any_raise = 1'b0;
    chosen = fetch_first_q;
    unit = fetch_first_q;
    for (int unsigned i = 0; i < Units; i++) begin
      if (!any_raise && may_fetch[unit] && !ar_held_q && !resetting) begin
        any_raise = 1'b1;
        chosen = unit;
      end
      unit = (unit == UnitWidth'(Units - 1)) ? '0 : unit + UnitWidth'(1);
    end
    raise = '0;
    raise[chosen] = any_raise;
  end

  assign chosen_next = (chosen == UnitWidth'(Units - 1)) ? '0 : chosen + UnitWidth'(1);
  assign chosen_burst = burst[chosen];
  assign ar_valid_o = any_raise || ar_held_q;
  assign ar_o = ar_held_q ? held_burst_q : chosen_burst;

  // Reads return in request order: whose beat this is.
  logic burst_known;
  tessera_fifo #(
    .Width(UnitWidth),
    .Depth(Units)
  ) u_owners (
    .clk_i,
    .rst_ni,
    .clear_i(clear),
    .push_i(any_raise),
    .data_i(chosen),
    .pop_i(r_valid_i && r_last_i),
    .valid_o(burst_known),
    .data_o(beat_unit)
  );

  always_comb begin
    beat_valid = '0;
    beat_valid[beat_unit] = r_valid_i;
    bus_error = bus_error_i;
    if (r_error_i) bus_error[beat_unit] = 1'b1;
  end

  // ---- queues
  logic [Units-1:0][31:0] read_pointer_next;
  logic [Units-1:0]       halt;

  for (genvar u = 0; u < Units; u++) begin : g_queue
    if (has_unit(u)) begin : g_present
      tessera_cp_queue #(
        .Queue(QueueOf[u])
      ) u_queue (
        .clk_i,
        .rst_ni,
        .running_i(running_o),
        .clear_i(clear),
        .ring_base_i(ring_base_i[u]),
        .ring_words_i(ring_words_i[u]),
        .write_pointer_i(write_pointer_i[u]),
        .read_pointer_o(read_pointer_o[u]),
        .read_pointer_next_o(read_pointer_next[u]),
        .fetch_valid_o(may_fetch[u]),
        .full_o(queue_full_o[u]),
        .fetch_o(burst[u]),
        .fetch_raise_i(raise[u]),
        .beat_valid_i(beat_valid[u]),
        .beat_last_i(r_last_i),
        .beat_data_i(r_data_i),
        .start_i(start_o[u]),
        .halt_i(halt[u]),
        .halted_o(halted[u]),
        .exhausted_o(exhausted[u]),
        .head_valid_o(head_valid[u]),
        .head_illegal_o(head_illegal[u]),
        .head_nop_o(head_nop[u]),
        .head_o(head_o[u])
      );
    end else begin : g_absent
      logic unused;
      assign unused = ^{ring_base_i[u], ring_words_i[u], write_pointer_i[u], raise[u], beat_valid[u]};
      assign read_pointer_o[u] = '0;
      assign read_pointer_next[u] = '0;
      assign may_fetch[u] = 1'b0;
      assign queue_full_o[u] = 1'b0;
      assign burst[u] = '0;
      assign halted[u] = 1'b0;
      assign exhausted[u] = 1'b1;
      assign head_valid[u] = 1'b0;
      assign head_illegal[u] = 1'b0;
      assign head_nop[u] = 1'b0;
      assign head_o[u] = '0;
    end
  end

  assign head_valid_o = head_valid;

  // ---- starts and signals
  logic [Units-1:0]           met, overflow, may_start, would_start, out_of_range;
  wait_t [Units-1:0][3:0]     waits;
  signal_t [Units-1:0][3:0]   signals;
  logic                       arriving;

  for (genvar u = 0; u < Units; u++) begin : g_signals
    signal_t [3:0] head_signals;
    logic          unused_valid;
    assign waits[u] = head_o[u][HeaderWaits0SemaphoreLsb+:$bits(waits[u])];
    assign head_signals = head_o[u][HeaderSignals0SemaphoreLsb+:$bits(head_signals)];

    tessera_fifo #(
      .Width($bits(signal_t) * 4),
      .Depth(in_flight_of(u))
    ) u_in_flight (
      .clk_i,
      .rst_ni,
      .clear_i(1'b0),
      .push_i(start_o[u]),
      .data_i(head_signals),
      .pop_i(done_i[u]),
      .valid_o(unused_valid),
      .data_o(signals[u])
    );

    assign may_start[u] = running_o && !resetting && !halted[u] && !exhausted[u] && head_valid[u];
    // A range fault is raised in the cycle in which the instruction would have started.
    assign would_start[u] = may_start[u] && !head_illegal[u] && met[u]
                            && (head_nop[u] ? ready_nop_i[u] : ready_i[u]);
    assign out_of_range[u] = would_start[u] && !head_nop[u] && range_i[u] != FaultCauseNone;
    assign start_o[u] = would_start[u] && !out_of_range[u];
    assign start_nop_o[u] = start_o[u] && head_nop[u];
    assign halt[u] = (may_start[u] && head_illegal[u]) || out_of_range[u] || bus_error[u] || overflow[u];
  end

  logic [Units-1:0][5:0] unmet;
  owner_e [Units-1:0]    semaphore_owner;

  tessera_attribution u_attribution (
    .clk_i,
    .rst_ni,
    .clear_i(reset_done_o),
    .write_i(expected_write_i),
    .index_i(expected_index_i),
    .wdata_i(expected_data_i),
    .done_i,
    .signals_i(signals),
    .unmet_i(unmet),
    .owner_o(semaphore_owner)
  );

  tessera_semaphores u_semaphores (
    .clk_i,
    .rst_ni,
    .clear_i(reset_done_o),
    .waits_i(waits),
    .met_o(met),
    .unmet_o(unmet),
    .start_i(start_o),
    .done_i,
    .signals_i(signals),
    .overflow_o(overflow),
    .arriving_o(arriving),
    .values_o(semaphores_o)
  );

  // ---- end and stuck: nothing moves
  logic in_flight, moving, waiting;

  always_comb begin
    in_flight = busy_i != '0 || done_i != '0 || arriving || fetches_q != '0 || ar_held_q || bus_error != '0;
    moving = in_flight;
    waiting = 1'b0;
    for (int unsigned u = 0; u < Units; u++) begin
      if (!halted[u] && !exhausted[u]) begin
        if (!head_valid[u] || head_illegal[u] || met[u]) moving = 1'b1;
        else waiting = 1'b1;
      end
    end
  end

  assign reset_done_o = resetting && !in_flight;
  assign quiet_o = running_o && !resetting && !moving && !waiting && halted == '0;
  assign stuck_o = running_o && !resetting && !moving && (waiting || halted != '0);

  // ---- who owns this cycle of each queue (rule 8 of the page; MACHINE.md section 9)
  always_comb begin
    for (int unsigned u = 0; u < Units; u++) begin
      owner_o[u] = OwnerNone;
      if (running_o) begin
        if (busy_i[u]) owner_o[u] = unit_owner_i[u];
        else if (resetting) owner_o[u] = OwnerNone;
        else if (start_o[u]) owner_o[u] = OwnerBusy;
        else if (halted[u] || halt[u]) owner_o[u] = OwnerFault;
        else if (!exhausted[u] && !head_valid[u]) owner_o[u] = OwnerFetch;
        else if (!exhausted[u]) owner_o[u] = semaphore_owner[u];
      end
    end
  end

  // ---- faults: heads and bus errors before overflows, the lowest queue first
  logic         fault_found;
  fault_cause_e cause;
  logic [UnitWidth-1:0] fault_unit;

  always_comb begin
    fault_found = 1'b0;
    cause = FaultCauseNone;
    fault_unit = '0;
    for (int unsigned u = 0; u < Units; u++) begin
      if (!fault_found && may_start[u] && head_illegal[u]) begin
        fault_found = 1'b1;
        cause = FaultCauseIllegalWord;
        fault_unit = UnitWidth'(u);
      end
      if (!fault_found && out_of_range[u]) begin
        fault_found = 1'b1;
        cause = range_i[u];
        fault_unit = UnitWidth'(u);
      end
      if (!fault_found && bus_error[u]) begin
        fault_found = 1'b1;
        cause = FaultCauseBusError;
        fault_unit = UnitWidth'(u);
      end
    end
    for (int unsigned u = 0; u < Units; u++) begin
      if (!fault_found && overflow[u]) begin
        fault_found = 1'b1;
        cause = FaultCauseSemaphoreOverflow;
        fault_unit = UnitWidth'(u);
      end
    end
  end

  assign error_unit = fault_unit;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      running_o <= 1'b0;
      resetting_q <= 1'b0;
      fetch_first_q <= '0;
      fetches_q <= '0;
      ar_held_q <= 1'b0;
      held_burst_q <= '0;
      fault_o <= 1'b0;
      fault_queue_o <= 4'd0;
      fault_index_o <= 32'd0;
      fault_cause_o <= FaultCauseNone;
    end else if (doorbell_i) begin
      running_o <= 1'b1;
      fetch_first_q <= '0;
      fault_o <= 1'b0;
      fault_cause_o <= FaultCauseNone;
    end else begin
      if (quiet_o || reset_done_o) running_o <= 1'b0;
      resetting_q <= resetting && !reset_done_o;
      if (any_raise) begin
        fetch_first_q <= chosen_next;
        held_burst_q <= chosen_burst;
      end
      fetches_q <= fetches_q + FetchesWidth'(any_raise) - FetchesWidth'(r_valid_i && r_last_i);
      ar_held_q <= ar_valid_o && !ar_ready_i;
      if (reset_done_o) begin
        fault_o <= 1'b0;
        fault_cause_o <= FaultCauseNone;
      end else if (fault_found && !fault_o) begin
        fault_o <= 1'b1;
        fault_queue_o <= QueueOf[error_unit];
        fault_index_o <= read_pointer_next[error_unit];
        fault_cause_o <= cause;
      end
    end
  end

  CpDoorbellIdle: assert property (@(posedge clk_i) disable iff (!rst_ni)
      doorbell_i |-> (fetches_q == '0 && !ar_held_q))
  else $error("doorbell while fetching");

  CpBeatOwned: assert property (@(posedge clk_i) disable iff (!rst_ni) r_valid_i |-> burst_known)
  else $error("a fetch beat without a burst");

  CpArStable: assert property (@(posedge clk_i) disable iff (!rst_ni)
      (ar_valid_o && !ar_ready_i) |=> (ar_valid_o && $stable(ar_o)))
  else $error("a refused AR is held unchanged");

endmodule
