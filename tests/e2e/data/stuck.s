# Two queues that wait for each other: EDP for semaphore 1 (REORDER would signal), REORDER for 2 (EDP would signal).
.section main
.queue 0.edp
  nop cycles=4 wait=1:1 signal=2:1 layer=5
.queue 0.reorder
  nop cycles=4 wait=2:1 signal=1:1 layer=6
