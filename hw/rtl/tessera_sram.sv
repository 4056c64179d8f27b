// The banked scratchpad: arbiter, banks, and the way from banks back to the ports (hw/models/sram/README.md). A unit has
// one to four access ports and is granted all of them or none. A read port's data come ReadLatency cycles after the
// grant: one in the bank, the rest in registers here.
`timescale 1ns/1ps
module tessera_sram #(
  parameter int unsigned Banks = tessera_chip_pkg::SramBanks,
  parameter int unsigned ReadLatency = tessera_chip_pkg::SramReadLatency
) (
  input  logic                        clk_i,
  input  logic                        rst_ni,
  input  tessera_core_pkg::sram_req_t load_write_i,
  input  tessera_core_pkg::sram_req_t store_read_i,
  input  tessera_core_pkg::sram_req_t [tessera_core_pkg::MostConvEngines-1:0][3:0] conv_i,  // A, W, R, O
  input  tessera_core_pkg::sram_req_t [3:0] gemm_i,  // A, B, P, O
  input  tessera_core_pkg::sram_req_t [2:0] edp_i,   // A, B, O
  input  tessera_core_pkg::sram_req_t reorder_read_i,
  input  tessera_core_pkg::sram_req_t reorder_write_i,
  output logic [tessera_core_pkg::Units-1:0] gnt_o,
  output logic [tessera_core_pkg::LineBits-1:0] store_data_o,
  output logic [tessera_core_pkg::MostConvEngines-1:0][2:0][tessera_core_pkg::LineBits-1:0] conv_data_o,
  output logic [2:0][tessera_core_pkg::LineBits-1:0] gemm_data_o,
  output logic [1:0][tessera_core_pkg::LineBits-1:0] edp_data_o,
  output logic [tessera_core_pkg::LineBits-1:0] reorder_data_o,
  output logic [tessera_core_pkg::Units-1:0][Banks-1:0] req_banks_o  // for observers
);

  import tessera_core_pkg::*;

  localparam int unsigned Ports = 19;
  localparam int unsigned PortWidth = $clog2(Ports);

  function automatic logic [Banks-1:0] banks_of(input logic valid, input logic [BankWidth-1:0] bank);
    return valid ? Banks'(1) << bank : '0;
  endfunction

  sram_req_t [Ports-1:0] req;
  logic [Ports-1:0]      port_gnt;

  assign req[0] = load_write_i;
  assign req[1] = store_read_i;
  assign req[9:2] = conv_i;
  assign req[13:10] = gemm_i;
  assign req[16:14] = edp_i;
  assign req[17] = reorder_read_i;
  assign req[18] = reorder_write_i;

  assign req_banks_o[UnitLoad] = banks_of(req[0].valid, req[0].bank);
  assign req_banks_o[UnitStore] = banks_of(req[1].valid, req[1].bank);
  assign req_banks_o[UnitConv] = banks_of(req[2].valid, req[2].bank) | banks_of(req[3].valid, req[3].bank)
                                 | banks_of(req[4].valid, req[4].bank) | banks_of(req[5].valid, req[5].bank);
  assign req_banks_o[UnitConv+1] = banks_of(req[6].valid, req[6].bank) | banks_of(req[7].valid, req[7].bank)
                                   | banks_of(req[8].valid, req[8].bank) | banks_of(req[9].valid, req[9].bank);
  assign req_banks_o[UnitGemm] = banks_of(req[10].valid, req[10].bank) | banks_of(req[11].valid, req[11].bank)
                                 | banks_of(req[12].valid, req[12].bank) | banks_of(req[13].valid, req[13].bank);
  assign req_banks_o[UnitEdp] = banks_of(req[14].valid, req[14].bank) | banks_of(req[15].valid, req[15].bank)
                                | banks_of(req[16].valid, req[16].bank);
  assign req_banks_o[UnitReorder] = banks_of(req[17].valid, req[17].bank) | banks_of(req[18].valid, req[18].bank);

  tessera_sram_arbiter #(
    .Ports(Units),
    .Banks(Banks)
  ) u_arbiter (
    .clk_i,
    .rst_ni,
    .req_banks_i(req_banks_o),
    .gnt_o
  );

  assign port_gnt = {{2{gnt_o[UnitReorder]}}, {3{gnt_o[UnitEdp]}}, {4{gnt_o[UnitGemm]}}, {4{gnt_o[UnitConv+1]}},
                     {4{gnt_o[UnitConv]}}, gnt_o[UnitStore], gnt_o[UnitLoad]};

  logic [Banks-1:0][LineBits-1:0] bank_data;

  for (genvar b = 0; b < Banks; b++) begin : g_bank
    logic [Ports-1:0]     hit;
    logic [PortWidth-1:0] port;

    for (genvar p = 0; p < Ports; p++) begin : g_hit
      assign hit[p] = req[p].valid && port_gnt[p] && req[p].bank == BankWidth'(b);
    end

    always_comb begin
      port = '0;
      for (int unsigned p = 0; p < Ports; p++) begin
        if (hit[p]) port = PortWidth'(p);
      end
    end

    tessera_sram_bank #(
      .Lines(LinesPerBank),
      .LineBytes(tessera_chip_pkg::SramLineBytes)
    ) u_bank (
      .clk_i,
      .valid_i(hit != '0),
      .write_i(req[port].write),
      .line_i(req[port].line),
      .strb_i(req[port].strb),
      .data_i(req[port].data),
      .data_o(bank_data[b])
    );

    SramBankOnce: assert property (@(posedge clk_i) disable iff (!rst_ni) $onehot0(hit))
    else $error("two accesses of one bank in one cycle");
  end

  // Read ports: stage 0 selects the bank that was read, the others wait for the rest of the latency.
  localparam int unsigned ReadPorts = 13;
  // Of store, conv0 A, W, R, conv1 A, W, R, gemm A, B, P, edp A, B, reorder.
  localparam int unsigned PortOf [ReadPorts] = '{1, 2, 3, 4, 6, 7, 8, 10, 11, 12, 14, 15, 17};
  logic [ReadPorts-1:0][LineBits-1:0] read_data;

  for (genvar r = 0; r < ReadPorts; r++) begin : g_read
    logic [BankWidth-1:0] bank_q;
    logic [LineBits-1:0]  selected;

    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) bank_q <= '0;
      else bank_q <= req[PortOf[r]].bank;
    end
    assign selected = bank_data[bank_q];

    if (ReadLatency == 1) begin : g_direct
      assign read_data[r] = selected;
    end else begin : g_delayed
      logic [ReadLatency-2:0][LineBits-1:0] stage_q;
      always_ff @(posedge clk_i or negedge rst_ni) begin
        if (!rst_ni) begin
          stage_q <= '0;
        end else begin
          stage_q[0] <= selected;
          for (int unsigned s = 1; s < ReadLatency - 1; s++) stage_q[s] <= stage_q[s-1];
        end
      end
      assign read_data[r] = stage_q[ReadLatency-2];
    end
  end

  assign store_data_o = read_data[0];
  assign conv_data_o = read_data[6:1];
  assign gemm_data_o = read_data[9:7];
  assign edp_data_o = read_data[11:10];
  assign reorder_data_o = read_data[12];

endmodule
