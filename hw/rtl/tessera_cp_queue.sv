// One queue of the command processor: which burst of its ring comes next, the prefetched words, the head and its decoder
// (hw/models/cp/README.md rules 1, 2, 4, 5; struct CpQueueState).
`timescale 1ns/1ps
module tessera_cp_queue #(
  parameter logic [3:0] Queue = 4'd0  // tessera_isa_pkg::queue_id_e
) (
  input  logic        clk_i,
  input  logic        rst_ni,
  input  logic        running_i,
  input  logic        clear_i,  // doorbell, or the end of a soft reset
  // Registers of the control port
  input  logic [tessera_core_pkg::AddrWidth-1:0] ring_base_i,
  input  logic [31:0] ring_words_i,
  input  logic [31:0] write_pointer_i,
  output logic [31:0] read_pointer_o,
  output logic [31:0] read_pointer_next_o,
  // FETCH
  output logic        fetch_valid_o,
  output logic        full_o,  // words are left to fetch and have no room
  output tessera_core_pkg::axi_ax_t fetch_o,
  input  logic        fetch_raise_i,
  input  logic        beat_valid_i,
  input  logic        beat_last_i,
  input  logic [tessera_core_pkg::BeatBits-1:0] beat_data_i,
  // Head
  input  logic        start_i,
  input  logic        halt_i,
  output logic        halted_o,
  output logic        exhausted_o,
  output logic        head_valid_o,
  output logic        head_illegal_o,
  output logic        head_nop_o,
  output logic [tessera_core_pkg::HeadBits-1:0] head_o
);

  import tessera_isa_pkg::*;
  import tessera_core_pkg::*;
  import tessera_slice_pkg::*;

  localparam int unsigned PrefetchWords = tessera_chip_pkg::CpPrefetchWords;
  localparam int unsigned FetchWords = tessera_chip_pkg::CpFetchWords;
  localparam int unsigned DataBytes = tessera_chip_pkg::AxiDataBytes;
  localparam int unsigned BeatsPerWord = WordBytes / DataBytes;
  // Where a burst is shorter than a word, a word takes Parts bursts; else a burst has up to BurstWords words.
  localparam int unsigned MaxBeats = tessera_chip_pkg::AxiMaxBurstBeats;
  localparam int unsigned Parts = (MaxBeats < BeatsPerWord) ? BeatsPerWord / MaxBeats : 1;
  localparam int unsigned PartBytes = WordBytes / Parts;
  localparam int unsigned PartWidth = (Parts > 1) ? $clog2(Parts) : 1;
  localparam int unsigned BurstWords = (Parts > 1) ? 1 : MaxBeats / BeatsPerWord;
  localparam int unsigned BoundaryWords = 4096 / WordBytes;
  localparam int unsigned BoundaryWidth = $clog2(BoundaryWords);
  localparam int unsigned WordOffsetWidth = $clog2(WordBytes);
  localparam int unsigned IndexWidth = $clog2(PrefetchWords);
  localparam int unsigned CountWidth = $clog2(PrefetchWords + 1);
  localparam int unsigned BeatWidth = (BeatsPerWord > 1) ? $clog2(BeatsPerWord) : 1;

  if (BeatsPerWord == 0) begin : g_bad_parameters
    $error("a word of the slice has at least one beat: axi.data_bytes <= 64");
  end

  function automatic logic [31:0] min32(input logic [31:0] a, input logic [31:0] b);
    return (a < b) ? a : b;
  endfunction

  function automatic logic [IndexWidth-1:0] add_words(input logic [IndexWidth-1:0] index,
                                                      input logic [CountWidth-1:0] words);
    logic [CountWidth:0] sum;
    sum = (CountWidth+1)'(index) + (CountWidth+1)'(words);
    if (sum >= (CountWidth+1)'(PrefetchWords)) sum -= (CountWidth+1)'(PrefetchWords);
    return IndexWidth'(sum);
  endfunction

  // ---- fetch
  logic [31:0]           requested_q, slot_q, remaining, free, words, slot_next;
  logic [AddrWidth-1:0]  address;
  logic                  outstanding_q, halted_q, fetch_pending, word_ends;
  logic [PartWidth-1:0]  part_q;  // of the word at slot_q: bursts of it that were raised
  logic [CountWidth-1:0] count_q;

  assign remaining = write_pointer_i - requested_q;
  assign free = 32'(PrefetchWords) - 32'(count_q);
  assign address = ring_base_i + (AddrWidth'(slot_q) << WordOffsetWidth)
                   + AddrWidth'(part_q) * AddrWidth'(PartBytes);
  assign word_ends = part_q == PartWidth'(Parts - 1);
  assign fetch_pending = !halted_q && remaining != 32'd0;
  assign full_o = running_i && fetch_pending && !outstanding_q && part_q == '0
      && free < min32(min32(32'(FetchWords), remaining), 32'(PrefetchWords - 3));
  assign fetch_valid_o = running_i && fetch_pending && !outstanding_q && !full_o;
  // A word that was begun has its place in the buffer.
  assign words = (part_q != '0) ? 32'd1
               : min32(min32(min32(32'(FetchWords), remaining), min32(free, ring_words_i - slot_q)),
                       min32(32'(BurstWords),
                             32'(BoundaryWords) - 32'(address[WordOffsetWidth+:BoundaryWidth])));
  assign fetch_o.addr = address;
  assign fetch_o.beats = LenWidth'(words * (BeatsPerWord / Parts));
  assign slot_next = slot_q + words;

  // ---- prefetched words
  logic [WordBits-1:0]   buffer_q [PrefetchWords];
  logic [IndexWidth-1:0] first_q, last_q;  // oldest word; word that is arriving
  logic [BeatWidth-1:0]  beat_q;
  logic                  word_arrives;
  logic [CountWidth-1:0] consumed;

  assign word_arrives = beat_valid_i && beat_q == BeatWidth'(BeatsPerWord - 1);

  always_ff @(posedge clk_i) begin
    if (beat_valid_i) buffer_q[last_q][BeatBits*32'(beat_q)+:BeatBits] <= beat_data_i;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      part_q <= '0;
      requested_q <= 32'd0;
      slot_q <= 32'd0;
      outstanding_q <= 1'b0;
      count_q <= '0;
      first_q <= '0;
      last_q <= '0;
      beat_q <= '0;
    end else if (clear_i) begin
      part_q <= '0;
      requested_q <= 32'd0;
      slot_q <= 32'd0;
      outstanding_q <= 1'b0;
      count_q <= '0;
      first_q <= '0;
      last_q <= '0;
      beat_q <= '0;
    end else begin
      if (fetch_raise_i) begin
        if (word_ends) begin
          requested_q <= requested_q + words;
          slot_q <= (slot_next == ring_words_i) ? 32'd0 : slot_next;
        end
        part_q <= word_ends ? '0 : part_q + PartWidth'(1);
        outstanding_q <= 1'b1;
      end else if (beat_valid_i && beat_last_i) begin
        outstanding_q <= 1'b0;
      end
      if (beat_valid_i) beat_q <= word_arrives ? '0 : beat_q + BeatWidth'(1);
      if (word_arrives) last_q <= add_words(last_q, CountWidth'(1));
      first_q <= add_words(first_q, consumed);
      count_q <= count_q + CountWidth'(word_arrives) - consumed;
    end
  end

  // ---- head: loaded from the words that stood in the buffer in this cycle
  logic                  head_valid_q, head_illegal_q, head_free, whole, cut, load_head, front_legal, front_nop;
  logic [2:0]            head_words_q, front_words;
  logic [2*WordBits-1:0] head_q, front;  // the first two words
  header_t               front_header;
  logic [31:0]           read_pointer_q;

  assign front = {buffer_q[add_words(first_q, CountWidth'(1))], buffer_q[first_q]};
  assign front_header = front[HeaderBits-1:0];
  assign front_words = 3'(front_header.f_words) + 3'd1;
  assign front_nop = front_header.f_opcode == OpcodeNop;
  assign head_free = (!head_valid_q || start_i) && !halted_q && !halt_i;
  assign whole = count_q != '0 && count_q >= CountWidth'(front_words);
  // The write pointer ends inside the instruction: nothing more will come.
  assign cut = count_q != '0 && !whole && !fetch_pending && !outstanding_q;
  assign load_head = head_free && (whole || cut);
  assign consumed = !load_head ? '0 : whole ? CountWidth'(front_words) : count_q;

  logic body_legal;
  if (Queue == QueueIdLoad) begin : g_load
    assign body_legal = front_header.f_opcode == OpcodeLoad && load_legal(front);
  end else if (Queue == QueueIdStore) begin : g_store
    assign body_legal = front_header.f_opcode == OpcodeStore && store_legal(front);
  end else if (Queue == QueueIdConv0 || Queue == QueueIdConv1) begin : g_conv
    assign body_legal = front_header.f_opcode == OpcodeConv && conv_legal(front);
  end else if (Queue == QueueIdGemm) begin : g_gemm
    assign body_legal = front_header.f_opcode == OpcodeGemm && gemm_legal(front);
  end else if (Queue == QueueIdEdp) begin : g_edp
    assign body_legal = front_header.f_opcode == OpcodeEdp && edp_legal({g_rest.rest, front});
  end else if (Queue == QueueIdReorder) begin : g_reorder
    assign body_legal = front_header.f_opcode == OpcodeReorder && reorder_legal(front);
  end else begin : g_none
    assign body_legal = 1'b0;
    $error("no such queue in the slice");
  end
  assign front_legal = whole && header_in_slice(front_header)
                       && (front_nop ? nop_legal(front[NopBits-1:0]) : body_legal);

  assign read_pointer_next_o = read_pointer_q + (start_i ? 32'(head_words_q) : 32'd0);

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      head_valid_q <= 1'b0;
      head_illegal_q <= 1'b0;
      head_words_q <= 3'd0;
      head_q <= '0;
      read_pointer_q <= 32'd0;
      halted_q <= 1'b0;
    end else if (clear_i) begin
      head_valid_q <= 1'b0;
      head_illegal_q <= 1'b0;
      read_pointer_q <= 32'd0;
      halted_q <= 1'b0;
    end else begin
      if (halt_i) halted_q <= 1'b1;
      read_pointer_q <= read_pointer_next_o;
      if (load_head) begin
        head_valid_q <= 1'b1;
        head_illegal_q <= !front_legal;
        head_words_q <= 3'(consumed);
        head_q <= front;
      end else if (start_i) begin
        head_valid_q <= 1'b0;
      end
    end
  end

  assign halted_o = halted_q;
  assign exhausted_o = read_pointer_q == write_pointer_i;
  assign head_valid_o = head_valid_q;
  assign head_illegal_o = head_illegal_q;
  assign head_nop_o = head_q[HeaderOpcodeLsb+:HeaderOpcodeWidth] == OpcodeNop;
  // A register of its own for what lies behind two words: Verilator 5.006 does not sample more than 1024 bits for
  // the assertions that look at a head.
  if (Queue == QueueIdEdp) begin : g_rest
    logic [HeadBits-2*WordBits-1:0] rest, rest_q;
    for (genvar i = 0; i < EdpWords - 2; i++) begin : g_word
      assign rest[WordBits*i+:WordBits] = buffer_q[add_words(first_q, CountWidth'(i + 2))];
    end
    always_ff @(posedge clk_i) begin
      if (load_head) rest_q <= rest;
    end
    assign head_o = {rest_q, head_q};
  end else begin : g_no_rest
    assign head_o = HeadBits'(head_q);
  end
  assign read_pointer_o = read_pointer_q;

  QueueBufferRoom: assert property (@(posedge clk_i) disable iff (!rst_ni)
      word_arrives |-> count_q < CountWidth'(PrefetchWords))
  else $error("a fetched word has no place in the prefetch buffer");

  QueueStartLegal: assert property (@(posedge clk_i) disable iff (!rst_ni)
      start_i |-> (head_valid_q && !head_illegal_q && !halted_q))
  else $error("only a legal head of a running queue starts");

endmodule
