/* GTKWave's writer and reader of FST files, which Verilator installs as sources: compiled from there. */
#define FST_CONFIG_INCLUDE "fst_config.h"
#include <gtkwave/fastlz.c>
#include <gtkwave/fstapi.c>
#include <gtkwave/lz4.c>
