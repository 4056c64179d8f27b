// Types at the block boundaries of the RTL slice. Sizes come from the chip file (tessera_chip_pkg, generated).
`timescale 1ns/1ps
package tessera_core_pkg;

  import tessera_chip_pkg::*;

  // Units of the slice. Absent units never request, so the rotating orders of FETCH and of the SRAM arbiter over these
  // slots equal those over all ten queue ids. The slot of the second convolution engine is tied off where the chip has
  // one.
  localparam int unsigned Units = 7;
  localparam int unsigned UnitLoad = 0;
  localparam int unsigned UnitStore = 1;
  localparam int unsigned UnitConv = 2;  // and the slots behind it: engine 0, 1
  localparam int unsigned MostConvEngines = 2;
  localparam int unsigned UnitGemm = 4;
  localparam int unsigned UnitEdp = 5;
  localparam int unsigned UnitReorder = 6;
  localparam int unsigned UnitWidth = $clog2(Units);

  // The queue of each unit.
  localparam logic [Units-1:0][3:0] QueueOf = {
      4'(tessera_isa_pkg::QueueIdReorder), 4'(tessera_isa_pkg::QueueIdEdp), 4'(tessera_isa_pkg::QueueIdGemm),
      4'(tessera_isa_pkg::QueueIdConv1), 4'(tessera_isa_pkg::QueueIdConv0), 4'(tessera_isa_pkg::QueueIdStore),
      4'(tessera_isa_pkg::QueueIdLoad)};

  // Does the chip have the unit?
  function automatic logic has_unit(input int unsigned unit);
    return unit < UnitConv + ConvEngines || unit >= UnitConv + MostConvEngines;
  endfunction

  localparam int unsigned HeadBits = tessera_isa_pkg::EdpBits;  // of the longest instruction

  localparam int unsigned AddrWidth = 40;  // DRAM byte address
  localparam int unsigned BeatBits = 8 * AxiDataBytes;
  localparam int unsigned BeatOffsetWidth = $clog2(AxiDataBytes);
  localparam int unsigned LenWidth = 9;  // beats of a burst, 1 .. 256

  localparam int unsigned LineBits = 8 * SramLineBytes;
  localparam int unsigned LinesPerBank = SramSizeBytes / SramLineBytes;
  localparam int unsigned LineOffsetWidth = $clog2(SramLineBytes);
  localparam int unsigned LineWidth = $clog2(LinesPerBank);
  localparam int unsigned BankWidth = (SramBanks > 1) ? $clog2(SramBanks) : 1;
  localparam int unsigned SramAddrWidth = BankWidth + LineWidth + LineOffsetWidth;
  localparam int unsigned SramLineAddrWidth = BankWidth + LineWidth;
  localparam int unsigned LinePixels = SramLineBytes / LayoutChannelBlock;  // of a blocked map

  localparam int unsigned RowWidth = 24;  // bytes of a DMA row
  localparam int unsigned LoopWidth = 16;  // iterations of a loop

  // AR or AW: an INCR burst of whole beats.
  typedef struct packed {
    logic [LenWidth-1:0]  beats;
    logic [AddrWidth-1:0] addr;
  } axi_ax_t;

  typedef struct packed {
    logic [AxiDataBytes-1:0] strb;
    logic                    last;
    logic [BeatBits-1:0]     data;
  } axi_w_t;

  // Who owns a cycle of a queue: nobody (it is idle, or no section runs), its unit at work, or 2 + a cause of
  // hw/common/stall.hpp. Those between are the queues of OwnerSemaphore and what the memory says of a burst.
  localparam int unsigned OwnerWidth = 5;
  localparam int unsigned Owners = 28;
  typedef enum logic [OwnerWidth-1:0] {
    OwnerNone = 5'd0,
    OwnerBusy = 5'd1,
    OwnerFault = 5'd2,
    OwnerFetch = 5'd3,
    OwnerSemaphore = 5'd4,  // + queue id
    OwnerBankConflict = 5'd15,
    OwnerDrain = 5'd26
  } owner_e;

  // Waits and signals of one head.
  typedef struct packed {
    tessera_isa_pkg::signal_t [3:0] signals;
    tessera_isa_pkg::wait_t   [3:0] waits;
  } sync_t;

  // LOAD and STORE (isa/semantics/dma.hpp): rows of groups under three loops; index 0 is outermost. Circular unless
  // wrap_rows is 0, then first_row is 0 too.
  typedef struct packed {
    logic [7:0]                    rows_after;
    logic [7:0]                    rows_before;
    logic [7:0]                    groups_after;
    logic [7:0]                    groups_before;
    logic [7:0]                    fill_value;
    logic [LoopWidth-1:0]          first_row;
    logic [LoopWidth-1:0]          wrap_rows;
    logic [SramAddrWidth-1:0]      group_stride;
    logic [RowWidth-1:0]           group_bytes;
    logic [RowWidth-1:0]           row_bytes;
    logic [2:0][LoopWidth-1:0]    count;
    logic [2:0][AddrWidth-1:0]     dram_stride;
    logic [2:0][SramAddrWidth-1:0] sram_stride;
    logic [AddrWidth-1:0]          dram_addr;  // base register added
    logic [SramAddrWidth-1:0]      sram_addr;
  } dma_t;

  // A burst of LOAD or STORE.
  typedef struct packed {
    logic                       last;     // of its instruction
    logic [RowWidth-1:0]        payload;  // bytes of the row in it
    logic [BeatOffsetWidth-1:0] skip;     // bytes of the first beat in front of them
    axi_ax_t                    ax;
  } dma_burst_t;

  // REORDER: runs of bytes under six loops; index 0 is outermost.
  localparam int unsigned RunWidth = 16;
  typedef struct packed {
    logic                          fill;  // with fill_value; nothing is read
    logic [7:0]                    fill_value;
    logic [RunWidth-1:0]           run_bytes;
    logic [5:0][LoopWidth-1:0]     count;
    logic [5:0][SramAddrWidth-1:0] src_stride;
    logic [5:0][SramAddrWidth-1:0] dst_stride;
    logic [SramAddrWidth-1:0]      src_addr;
    logic [SramAddrWidth-1:0]      dst_addr;
  } reorder_t;

  typedef logic [SramLineAddrWidth-1:0] line_addr_t;

  function automatic logic [BankWidth-1:0] bank_of(input line_addr_t address);
    return address[SramLineAddrWidth-1-:BankWidth];
  endfunction

  // A blocked map, in lines; circular if wrap_rows is not 0.
  typedef struct packed {
    logic [15:0] wrap_rows, first_row;
    line_addr_t block_pitch;
    line_addr_t row_pitch;
    line_addr_t base;
  } map_t;

  function automatic line_addr_t map_line(input map_t map, input line_addr_t block, input logic [15:0] row);
    logic [16:0] buffer_row;
    buffer_row = 17'(row);
    if (map.wrap_rows != 16'd0) buffer_row = (17'(map.first_row) + 17'(row)) % 17'(map.wrap_rows);
    return map.base + block * map.block_pitch + line_addr_t'(buffer_row) * map.row_pitch;
  endfunction

  // One access of one line.
  typedef struct packed {
    logic [SramLineBytes-1:0] strb;  // write only
    logic [LineBits-1:0]      data;
    logic [LineWidth-1:0]     line;
    logic [BankWidth-1:0]     bank;
    logic                     write;
    logic                     valid;
  } sram_req_t;

endpackage
