# The load reads behind the limit of its base register.
.buffer x kind=input offset=0 size=64
.input x buffer=x shape=1x1x1x64 type=int8
.section main
.queue 0.load
  load base_register=1 dram_offset=0x10000000 row_bytes=64 group_bytes=64 sram_base=0 layer=0
