// Types inside the vector unit: the instruction as the engine keeps it, and the micro-operations that travel down the
// rigid pipeline (hw/models/edp/README.md). Every mode is pooling here: elementwise has windows of one pixel, global
// average one window as large as the map.
`timescale 1ns/1ps
package tessera_edp_pkg;

  import tessera_chip_pkg::*;
  import tessera_core_pkg::*;

  localparam int unsigned Lanes = EdpLanes;
  localparam int unsigned Slices = (SramLineBytes + Lanes - 1) / Lanes;  // of a line: cycles the lanes take for it
  localparam int unsigned SliceWidth = (Slices > 1) ? $clog2(Slices) : 1;
  localparam int unsigned Block = LayoutChannelBlock;  // channels of a pixel
  localparam int unsigned Stages = 4;  // of the chain
  localparam int unsigned TableBytes = 256;
  localparam int unsigned TableLines = (TableBytes + SramLineBytes - 1) / SramLineBytes;
  // Average entries: as many as the largest window has elements, or as the scratchpad holds.
  localparam int unsigned EntryBytes = 8;
  localparam int unsigned MostEntries = 255 * 255;
  localparam int unsigned MostEntryLines = (EntryBytes * MostEntries + 2 * SramLineBytes - 2) / SramLineBytes;
  localparam int unsigned EntryLines = (MostEntryLines < SramBanks * LinesPerBank) ? MostEntryLines
                                                                                   : SramBanks * LinesPerBank;
  localparam int unsigned EntryWidth = 16;
  localparam int unsigned ConstantWidth = 20;  // of the index of a line in entries or a table
  localparam int unsigned PartWidth = $clog2(Stages + 1);  // constants: average entries, then the table of each stage

  // A read of engine cycle e is used in e + Skew; the line that it ends is written in e + WriteStage.
  localparam int unsigned Skew = SramReadLatency;
  localparam int unsigned WriteStage = SramReadLatency + EdpPipelineCycles;

  // Steps of the datapath: pool, average, the chain. The last ones end in a register; further cycles follow behind.
  localparam int unsigned Steps = 2 + Stages;
  localparam int unsigned Waits = (EdpPipelineCycles > Steps) ? EdpPipelineCycles - Steps : 0;

  function automatic int unsigned registers_of(input int unsigned step);
    return (step + EdpPipelineCycles >= Steps) ? 1 : 0;
  endfunction

  typedef logic signed [25:0] coord_t;  // of a, padding included: 16 bits x 8 bits of stride

  typedef struct packed {
    tessera_isa_pkg::edp_op_e op;
    logic [5:0]               shift;
    logic signed [15:0]       za, zb, zo, lo, hi;
    logic signed [31:0]       ma, mb;
    line_addr_t               table_line;
  } stage_t;

  typedef struct packed {
    logic               average;    // of the window's elements; else their maximum
    logic               whole;      // the window is all of a: entry 0
    logic               count_pad;  // padding counts as elements
    logic               has_b;
    logic               b_broadcast;
    map_t               a;
    map_t               b;
    map_t               out;
    logic [15:0]        h, w, c, in_h, in_w, kh, kw;
    logic [7:0]         sy, sx, dy, dx, pad_top, pad_left, pad_bottom, pad_right;
    logic signed [8:0]  a_zp;
    logic signed [15:0] out_zp, lo, hi;
    logic [SramAddrWidth-1:0] p_base;
    stage_t [Stages-1:0] stages;
  } edp_t;

  // An output line: channel block, row, line of the row.
  typedef struct packed {
    logic [15:0] block, row, line;
  } position_t;

  // The input rows of an output row: the first that exists and its tap; the input lines of an output line.
  typedef struct packed {
    logic        any;
    logic [15:0] first, tap;
  } rows_t;

  typedef struct packed {
    logic        any;
    logic [15:0] first, last;
  } lines_t;

  // A slice of an output line on its way to the write port.
  typedef struct packed {
    logic                  valid;
    logic                  writes;  // the last slice of the line
    logic                  last;    // of the instruction
    logic [SliceWidth-1:0] slice;
    logic [LinePixels-1:0] pixel_real;
    logic [Block-1:0]      lane_real;
    line_addr_t            line;
  } write_op_t;

  // One engine cycle.
  typedef struct packed {
    logic                     uses_a;    // port A brings a line for it
    logic                     uses_b;
    logic                     constant;  // a line of constants, else a slice of an input line
    logic [PartWidth-1:0]     part;
    logic [ConstantWidth-1:0] index;
    logic [SliceWidth-1:0]    slice;
    logic                     first;     // input line of its output line
    logic [LinePixels-1:0][LinePixels-1:0] taken;  // [output pixel][input pixel]
    logic [LinePixels-1:0][EntryWidth-1:0] entry;  // of each output pixel
    write_op_t                write;     // valid with the last input line
  } line_op_t;

endpackage
