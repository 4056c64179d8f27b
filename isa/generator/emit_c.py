"""tessera_isa.h for firmware: constants, register offsets, explicit-shift accessors. C99, no libc beyond stdint.h."""
from .model import leaves_of
from .text import banner


def c_name(path):
    return path.replace("[", "_").replace("]", "").replace(".", "_").upper()


def header(isa):
    out = ["/* Generated from isa.json by isa/generate.py. Do not edit; build again to regenerate. */"]
    out.append("""#ifndef TESSERA_ISA_H
#define TESSERA_ISA_H

#include <stdint.h>
""")
    out.append(f"#define TESSERA_ISA_VERSION {isa.version}u")
    out.append(f"#define TESSERA_WORD_BYTES {isa.word_bytes}u")
    out.append(f"#define TESSERA_MAX_WORDS {isa.max_words}u\n")
    for e in isa.enums.values():
        out.append(f"/* {e.doc} */")
        prefix = "".join("_" + c if c.isupper() else c for c in e.name).lstrip("_").upper()
        out += [f"#define TESSERA_{prefix}_{n.upper()} {v}u /* {d} */" for n, v, d in e.values]
        out.append("")
    out.append("/* Control port: byte offsets. */")
    for r in isa.registers:
        name = f"TESSERA_REG_{r.name.upper()}"
        out.append(f"#define {name} 0x{r.offset:03x}u /* {r.access}: {r.doc} */")
        if r.count > 1:
            out.append(f"#define {name}_COUNT {r.count}u")
            out.append(f"#define {name}_STRIDE {r.stride}u")
        if r.reset:
            out.append(f"#define {name}_RESET 0x{r.reset:08x}u")
    out.append("""
/* Field `lsb`, `width` of an instruction at `bytes`, as unsigned bits; width is at most 40. */
static inline uint64_t tessera_get(const uint8_t* bytes, uint32_t lsb, uint32_t width) {
  uint64_t value = 0;
  for (uint32_t i = 0; i < width; ++i) {
    value |= (uint64_t)((bytes[(lsb + i) >> 3] >> ((lsb + i) & 7u)) & 1u) << i;
  }
  return value;
}
static inline void tessera_put(uint8_t* bytes, uint32_t lsb, uint32_t width, uint64_t value) {
  for (uint32_t i = 0; i < width; ++i) {
    const uint8_t bit = (uint8_t)(1u << ((lsb + i) & 7u));
    if ((value >> i) & 1u) {
      bytes[(lsb + i) >> 3] = (uint8_t)(bytes[(lsb + i) >> 3] | bit);
    } else {
      bytes[(lsb + i) >> 3] = (uint8_t)(bytes[(lsb + i) >> 3] & (uint8_t)~bit);
    }
  }
}
#define TESSERA_GET(bytes, field) tessera_get((bytes), field##_LSB, field##_WIDTH)
#define TESSERA_PUT(bytes, field, value) tessera_put((bytes), field##_LSB, field##_WIDTH, (value))

/* Header of every instruction. */""")
    for leaf in leaves_of(isa, isa.header):
        out += _field("TESSERA_HEADER", leaf)
    for i in isa.instructions:
        name = f"TESSERA_{i.name.upper()}"
        out.append(f"\n/* {i.name}: {i.doc} */")
        out.append(f"#define {name}_WORDS {i.words}u")
        for leaf in leaves_of(isa, i.fields):
            out += _field(name, leaf)
    out.append("\n#endif /* TESSERA_ISA_H */\n")
    return "\n".join(out)


def _field(prefix, leaf):
    name = f"{prefix}_{c_name(leaf.path)}"
    return [f"#define {name}_LSB {leaf.lsb}u", f"#define {name}_WIDTH {leaf.field.width}u"]
