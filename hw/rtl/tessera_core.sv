// The RTL slice of a Tessera core: command processor, LOAD, STORE, CONV, GEMM, EDP, REORDER and the scratchpad with its
// arbiter, behind the boundary of MACHINE.md section 2: three AXI managers, a control port, an interrupt. README.md of
// this folder says what of each instruction it takes.
`timescale 1ns/1ps
module tessera_core (
  input  logic        clk_i,
  input  logic        rst_ni,
  // Control port
  input  logic        reg_write_i,
  input  logic [15:0] reg_addr_i,
  input  logic [31:0] reg_wdata_i,
  output logic [31:0] reg_rdata_o,
  output logic        irq_o,
  // FETCH, LOAD: AR, R. STORE: AW, W, B. RREADY, BREADY and WREADY are 1 at all times.
  output logic        fetch_ar_valid_o,
  input  logic        fetch_ar_ready_i,
  output tessera_core_pkg::axi_ax_t fetch_ar_o,
  input  logic        fetch_r_valid_i,
  input  logic        fetch_r_last_i,
  input  logic        fetch_r_error_i,
  input  logic [tessera_core_pkg::BeatBits-1:0] fetch_r_data_i,
  output logic        load_ar_valid_o,
  input  logic        load_ar_ready_i,
  output tessera_core_pkg::axi_ax_t load_ar_o,
  input  logic        load_r_valid_i,
  input  logic        load_r_last_i,
  input  logic        load_r_error_i,
  input  logic [tessera_core_pkg::BeatBits-1:0] load_r_data_i,
  output logic        store_aw_valid_o,
  input  logic        store_aw_ready_i,
  output tessera_core_pkg::axi_ax_t store_aw_o,
  output logic        store_w_valid_o,
  output tessera_core_pkg::axi_w_t store_w_o,
  input  logic        store_b_valid_i,
  input  logic        store_b_error_i,
  // For the counters, from the memory: what the oldest outstanding burst of LOAD, of STORE waits for in this cycle.
  input  tessera_core_pkg::owner_e load_wait_i,
  input  tessera_core_pkg::owner_e store_wait_i,
  // For observers (hw/cosim): what happens in this cycle, a bit a unit.
  output logic [tessera_core_pkg::Units-1:0] start_o,
  output logic [tessera_core_pkg::Units-1:0] finish_o,
  output logic [tessera_core_pkg::Units-1:0][tessera_chip_pkg::SramBanks-1:0] req_banks_o,
  output logic [tessera_core_pkg::Units-1:0] queue_full_o,
  output logic [tessera_core_pkg::Units-1:0] busy_o,
  output logic [tessera_core_pkg::Units-1:0] conflict_o,
  output logic [tessera_core_pkg::Units-1:0] head_valid_o,
  output logic [tessera_core_pkg::Units-1:0][31:0] read_pointer_o,
  output logic [63:0][7:0] semaphores_o,
  output logic        quiet_o,
  output logic        stuck_o,
  output logic        reset_done_o  // of a soft reset
);

  import tessera_isa_pkg::*;
  import tessera_core_pkg::*;
  import tessera_slice_pkg::*;

  if ((tessera_chip_pkg::AxiDataBytes & (tessera_chip_pkg::AxiDataBytes - 1)) != 0
      || (tessera_chip_pkg::SramLineBytes & (tessera_chip_pkg::SramLineBytes - 1)) != 0
      || (tessera_chip_pkg::SramBanks & (tessera_chip_pkg::SramBanks - 1)) != 0
      || (tessera_chip_pkg::SramSizeBytes & (tessera_chip_pkg::SramSizeBytes - 1)) != 0) begin : g_bad_sizes
    $error("axi.data_bytes, sram.line_bytes, sram.banks and sram.size_bytes are powers of two in the slice");
  end

  if (tessera_chip_pkg::ConvEngines > MostConvEngines) begin : g_bad_engines
    $error("conv.engines is 1 or 2 in the slice");
  end

  logic                            doorbell, soft_reset, running, fault;
  logic [7:0][AddrWidth-1:0]       base;
  logic [7:0][63:0]                limit;
  fault_cause_e [Units-1:0]        range;
  logic [Units-1:0][AddrWidth-1:0] ring_base;
  logic [Units-1:0][31:0]          ring_words, write_pointer;
  logic [3:0]                      fault_queue;
  logic [31:0]                     fault_index;
  fault_cause_e                    fault_cause;
  logic [Units-1:0]                ready, ready_nop, start_nop, bus_error;
  logic [Units-1:0][HeadBits-1:0]  head;
  owner_e [Units-1:0]              owner, unit_owner;
  logic                            load_waits, store_waits, store_drains, expected_write;
  logic [10:0]                     expected_index;
  logic [15:0]                     expected_data;

  tessera_registers u_registers (
    .clk_i,
    .rst_ni,
    .write_i(reg_write_i),
    .addr_i(reg_addr_i),
    .wdata_i(reg_wdata_i),
    .rdata_o(reg_rdata_o),
    .doorbell_o(doorbell),
    .soft_reset_o(soft_reset),
    .base_o(base),
    .limit_o(limit),
    .ring_base_o(ring_base),
    .ring_words_o(ring_words),
    .write_pointer_o(write_pointer),
    .running_i(running),
    .fault_i(fault),
    .stuck_i(stuck_o),
    .fault_queue_i(fault_queue),
    .fault_index_i(fault_index),
    .fault_cause_i(fault_cause),
    .read_pointer_i(read_pointer_o),
    .semaphores_i(semaphores_o),
    .owner_i(owner),
    .expected_write_o(expected_write),
    .expected_index_o(expected_index),
    .expected_data_o(expected_data)
  );

  always_comb begin
    for (int unsigned u = 0; u < Units; u++) unit_owner[u] = conflict_o[u] ? OwnerBankConflict : OwnerBusy;
    if (load_waits) unit_owner[UnitLoad] = load_wait_i;
    if (store_waits) unit_owner[UnitStore] = store_wait_i;
    else if (store_drains) unit_owner[UnitStore] = OwnerDrain;
  end

  // A fetch error is charged to the queue whose burst it is; LOAD and STORE own their managers.
  logic fetch_error;
  assign fetch_error = fetch_r_valid_i && fetch_r_last_i && fetch_r_error_i;
  always_comb begin
    bus_error = '0;
    bus_error[UnitLoad] = load_r_valid_i && load_r_last_i && load_r_error_i;
    bus_error[UnitStore] = store_b_valid_i && store_b_error_i;
  end

  tessera_cp u_cp (
    .clk_i,
    .rst_ni,
    .doorbell_i(doorbell),
    .soft_reset_i(soft_reset),
    .reset_done_o,
    .ring_base_i(ring_base),
    .ring_words_i(ring_words),
    .write_pointer_i(write_pointer),
    .read_pointer_o,
    .semaphores_o,
    .running_o(running),
    .quiet_o,
    .stuck_o,
    .fault_o(fault),
    .fault_queue_o(fault_queue),
    .fault_index_o(fault_index),
    .fault_cause_o(fault_cause),
    .ar_valid_o(fetch_ar_valid_o),
    .ar_ready_i(fetch_ar_ready_i),
    .ar_o(fetch_ar_o),
    .r_valid_i(fetch_r_valid_i),
    .r_last_i(fetch_r_last_i),
    .r_data_i(fetch_r_data_i),
    .r_error_i(fetch_error),
    .bus_error_i(bus_error),
    .ready_i(ready),
    .ready_nop_i(ready_nop),
    .busy_i(busy_o),
    .done_i(finish_o),
    .start_o,
    .start_nop_o(start_nop),
    .head_o(head),
    .head_valid_o,
    .queue_full_o,
    .unit_owner_i(unit_owner),
    .owner_o(owner),
    .expected_write_i(expected_write),
    .expected_index_i(expected_index),
    .expected_data_i(expected_data),
    .range_i(range)
  );

  // ---- units
  load_body_t    load_body;
  store_body_t   store_body;
  gemm_body_t    gemm_body;
  edp_body_t     edp_body;
  reorder_body_t reorder_body;
  nop_body_t [Units-1:0] nop_body;
  sram_req_t     load_write, store_read, reorder_read, reorder_write;
  logic [Units-1:0]    gnt;
  sram_req_t [MostConvEngines-1:0][3:0] conv_access;
  sram_req_t [3:0]     gemm_access;
  sram_req_t [2:0]     edp_access;
  logic [LineBits-1:0] store_data, reorder_data;
  logic [MostConvEngines-1:0][2:0][LineBits-1:0] conv_data;
  logic [2:0][LineBits-1:0] gemm_data;
  logic [1:0][LineBits-1:0] edp_data;

  assign load_body = head[UnitLoad][LoadBits-1:HeaderBits];
  assign store_body = head[UnitStore][StoreBits-1:HeaderBits];
  assign gemm_body = head[UnitGemm][GemmBits-1:HeaderBits];
  assign edp_body = head[UnitEdp][EdpBits-1:HeaderBits];
  assign reorder_body = head[UnitReorder][ReorderBits-1:HeaderBits];
  for (genvar u = 0; u < Units; u++) begin : g_nop
    assign nop_body[u] = head[u][NopBits-1:HeaderBits];
  end

  tessera_range_check u_range_check (
    .load_i(load_body),
    .store_i(store_body),
    .gemm_i(gemm_body),
    .edp_i(edp_body),
    .reorder_i(reorder_body),
    .limit_i(limit),
    .cause_o(range)
  );

  tessera_load u_load (
    .clk_i,
    .rst_ni,
    .ready_o(ready[UnitLoad]),
    .ready_nop_o(ready_nop[UnitLoad]),
    .busy_o(busy_o[UnitLoad]),
    .start_i(start_o[UnitLoad] && !start_nop[UnitLoad]),
    .dma_i(dma_of(load_body, base[load_body.f_base_register])),
    .start_nop_i(start_nop[UnitLoad]),
    .nop_cycles_i(nop_body[UnitLoad].f_cycles),
    .done_o(finish_o[UnitLoad]),
    .ar_valid_o(load_ar_valid_o),
    .ar_ready_i(load_ar_ready_i),
    .ar_o(load_ar_o),
    .r_valid_i(load_r_valid_i),
    .r_last_i(load_r_last_i),
    .r_data_i(load_r_data_i),
    .sram_req_o(load_write),
    .sram_gnt_i(gnt[UnitLoad]),
    .conflict_o(conflict_o[UnitLoad]),
    .waits_o(load_waits)
  );

  tessera_store u_store (
    .clk_i,
    .rst_ni,
    .ready_o(ready[UnitStore]),
    .ready_nop_o(ready_nop[UnitStore]),
    .busy_o(busy_o[UnitStore]),
    .start_i(start_o[UnitStore] && !start_nop[UnitStore]),
    .dma_i(dma_of(load_body_t'(store_body), base[store_body.f_base_register])),
    .start_nop_i(start_nop[UnitStore]),
    .nop_cycles_i(nop_body[UnitStore].f_cycles),
    .done_o(finish_o[UnitStore]),
    .aw_valid_o(store_aw_valid_o),
    .aw_ready_i(store_aw_ready_i),
    .aw_o(store_aw_o),
    .w_valid_o(store_w_valid_o),
    .w_o(store_w_o),
    .b_valid_i(store_b_valid_i),
    .sram_req_o(store_read),
    .sram_gnt_i(gnt[UnitStore]),
    .sram_data_i(store_data),
    .conflict_o(conflict_o[UnitStore]),
    .waits_o(store_waits),
    .drains_o(store_drains)
  );

  for (genvar e = 0; e < MostConvEngines; e++) begin : g_conv
    localparam int unsigned Unit = UnitConv + e;
    assign ready_nop[Unit] = ready[Unit];

    if (has_unit(Unit)) begin : g_present
      conv_body_t conv_body;
      assign conv_body = head[Unit][ConvBits-1:HeaderBits];

      tessera_conv u_conv (
        .clk_i,
        .rst_ni,
        .ready_o(ready[Unit]),
        .busy_o(busy_o[Unit]),
        .start_i(start_o[Unit] && !start_nop[Unit]),
        .conv_i(conv_of(conv_body)),
        .start_nop_i(start_nop[Unit]),
        .nop_cycles_i(nop_body[Unit].f_cycles),
        .done_o(finish_o[Unit]),
        .sram_req_o(conv_access[e]),
        .sram_gnt_i(gnt[Unit]),
        .sram_data_i(conv_data[e]),
        .conflict_o(conflict_o[Unit])
      );
    end else begin : g_absent
      logic unused;
      assign unused = ^conv_data[e];
      assign ready[Unit] = 1'b0;
      assign busy_o[Unit] = 1'b0;
      assign finish_o[Unit] = 1'b0;
      assign conv_access[e] = '0;
      assign conflict_o[Unit] = 1'b0;
    end
  end

  assign ready_nop[UnitGemm] = ready[UnitGemm];

  tessera_gemm u_gemm (
    .clk_i,
    .rst_ni,
    .ready_o(ready[UnitGemm]),
    .busy_o(busy_o[UnitGemm]),
    .start_i(start_o[UnitGemm] && !start_nop[UnitGemm]),
    .gemm_i(gemm_of(gemm_body)),
    .start_nop_i(start_nop[UnitGemm]),
    .nop_cycles_i(nop_body[UnitGemm].f_cycles),
    .done_o(finish_o[UnitGemm]),
    .sram_req_o(gemm_access),
    .sram_gnt_i(gnt[UnitGemm]),
    .sram_data_i(gemm_data),
    .conflict_o(conflict_o[UnitGemm])
  );

  assign ready_nop[UnitEdp] = ready[UnitEdp];

  tessera_edp u_edp (
    .clk_i,
    .rst_ni,
    .ready_o(ready[UnitEdp]),
    .busy_o(busy_o[UnitEdp]),
    .start_i(start_o[UnitEdp] && !start_nop[UnitEdp]),
    .edp_i(edp_of(edp_body)),
    .start_nop_i(start_nop[UnitEdp]),
    .nop_cycles_i(nop_body[UnitEdp].f_cycles),
    .done_o(finish_o[UnitEdp]),
    .sram_req_o(edp_access),
    .sram_gnt_i(gnt[UnitEdp]),
    .sram_data_i(edp_data),
    .conflict_o(conflict_o[UnitEdp])
  );

  assign ready_nop[UnitReorder] = ready[UnitReorder];

  tessera_reorder u_reorder (
    .clk_i,
    .rst_ni,
    .ready_o(ready[UnitReorder]),
    .busy_o(busy_o[UnitReorder]),
    .start_i(start_o[UnitReorder] && !start_nop[UnitReorder]),
    .copy_i(reorder_of(reorder_body)),
    .start_nop_i(start_nop[UnitReorder]),
    .nop_cycles_i(nop_body[UnitReorder].f_cycles),
    .done_o(finish_o[UnitReorder]),
    .read_o(reorder_read),
    .write_o(reorder_write),
    .sram_gnt_i(gnt[UnitReorder]),
    .sram_data_i(reorder_data),
    .conflict_o(conflict_o[UnitReorder])
  );

  tessera_sram u_sram (
    .clk_i,
    .rst_ni,
    .load_write_i(load_write),
    .store_read_i(store_read),
    .conv_i(conv_access),
    .gemm_i(gemm_access),
    .edp_i(edp_access),
    .reorder_read_i(reorder_read),
    .reorder_write_i(reorder_write),
    .gnt_o(gnt),
    .store_data_o(store_data),
    .conv_data_o(conv_data),
    .gemm_data_o(gemm_data),
    .edp_data_o(edp_data),
    .reorder_data_o(reorder_data),
    .req_banks_o
  );

  // The interrupt is up in the cycle after the section went quiet.
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) irq_o <= 1'b0;
    else if (doorbell) irq_o <= 1'b0;
    else if (quiet_o || stuck_o) irq_o <= 1'b1;
  end

endmodule
