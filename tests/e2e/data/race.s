# LOAD writes the range that REORDER reads, and nothing orders them.
.buffer x kind=input offset=0 size=64
.input x buffer=x shape=1x1x1x64 type=int8
.section main
.queue 0.load
  load base_register=1 row_bytes=64 group_bytes=64 sram_base=0 layer=0
.queue 0.reorder
  reorder src_base=0x20 dst_base=0x1000 run_bytes=16 layer=1
