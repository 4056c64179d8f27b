/* Compiles the generated header as firmware would and uses each kind of thing in it; returns 0 when the accessors agree
 * with each other across byte and word borders. */
#include "tessera_isa.h"

static int put_get(uint32_t lsb, uint32_t width, uint64_t value) {
  uint8_t bytes[TESSERA_WORD_BYTES * TESSERA_MAX_WORDS] = {0};
  tessera_put(bytes, lsb, width, value);
  uint32_t ones = 0;
  for (uint32_t i = 0; i < sizeof bytes * 8u; ++i) {
    ones += (uint32_t)tessera_get(bytes, i, 1u);
  }
  uint32_t expected = 0;
  for (uint32_t i = 0; i < width; ++i) {
    expected += (uint32_t)((value >> i) & 1u);
  }
  return tessera_get(bytes, lsb, width) == value && ones == expected;
}

int main(void) {
  uint8_t word[TESSERA_WORD_BYTES] = {0};
  TESSERA_PUT(word, TESSERA_HEADER_OPCODE, TESSERA_OPCODE_NOP);
  TESSERA_PUT(word, TESSERA_HEADER_LAYER, 0xABCDu);
  TESSERA_PUT(word, TESSERA_NOP_CYCLES, 0x12345678u);
  if (word[0] != 1u || word[2] != 0xCDu || word[3] != 0xABu || word[20] != 0x78u || word[23] != 0x12u) {
    return 1;
  }
  if (TESSERA_GET(word, TESSERA_NOP_CYCLES) != 0x12345678u) {
    return 2;
  }
  if (!put_get(TESSERA_LOAD_DRAM_OFFSET_LSB, TESSERA_LOAD_DRAM_OFFSET_WIDTH, 0xA5A5A5A5A5u)) {
    return 3;
  }
  if (!put_get(TESSERA_EDP_STAGES_1_TABLE_BASE_LSB, TESSERA_EDP_STAGES_1_TABLE_BASE_WIDTH, 0x81234567u)) {
    return 4;
  }
  return TESSERA_REG_ID == 0u && TESSERA_REG_CYCLE_LOW == 0x400u ? 0 : 5;
}
