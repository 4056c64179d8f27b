#!/usr/bin/python3
"""Rows behind docs/lockstep.md; see lockstep_table.sh. Each row is the output of one `tessera lockstep`."""
import argparse
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PAGE = os.path.join(ROOT, "docs", "lockstep.md")
UNITS = ["load", "store", "conv0", "gemm", "edp", "reorder"]


def sets(**values):
    """"sram__banks=1" is --set sram.banks=1."""
    return [text for key, value in values.items() for text in ("--set", f"{key.replace('__', '.')}={value}")]


# Random programs: name, what is special about the machine, arguments, share of --programs.
SHAPES = [
    ("tiny", "the chip as it is", ["--chip", "tiny"]),
    ("micro", "the smallest chip: two lanes, 4-byte lines, short buffers", ["--chip", "micro"]),
    ("odd lanes", "12 x 8 x 6 lanes, two pixel shapes, three taps", ["--chip", "tiny"] + sets(
        conv__cin_lanes=12, conv__cout_lanes=8, conv__pixel_lanes=6, conv__pixel_shapes='["6x1","2x3"]',
        conv__window_bytes=1152, conv__depthwise_taps=3, conv__accumulators=7)),
    ("one bank", "every port on one bank", ["--chip", "tiny"] + sets(sram__banks=1, sram__size_bytes=65536)),
    ("slow DRAM", "four outstanding bursts, 150 cycles away, two bytes a cycle", ["--chip", "tiny"] + sets(
        dram__device='"fixed"', dram__fixed_latency_cycles=150, dram__fixed_bytes_per_cycle=2)),
]

# 1024 multipliers, with memory to feed them.
WIDE = sets(layout__channel_block=16, conv__cin_lanes=16, conv__cout_lanes=16, conv__pixel_lanes=4,
            conv__pixel_shapes='["4x1","2x2"]', conv__window_bytes=2304, conv__accumulators=16, gemm__rows=4,
            gemm__cols=4, sram__line_bytes=32, sram__size_bytes=65536, axi__data_bytes=16, load__landing_bytes=1024,
            store__buffer_bytes=1024, dram__channels=2)
STAGE = "resnet50_stage1"
# Networks: name, machine, arguments of compile; a name that is no folder of --models comes from the zoo.
NETWORKS = [(name, "tiny", ["--chip", "tiny"]) for name in (
    "zoo_mnist_cntk", "emmtrix_micro_kws_m_static_fp32", "torch_shufflenet_64_op9", "torch_mnv2_w025_96_op11")]
NETWORKS.append((STAGE, "16 x 16 x 4", ["--chip", "tiny"] + WIDE))
TARGETS = {"model": 50, "timing_only": 200}  # times the speed of the RTL, on STAGE

# Row -> why it may differ. A difference of any other row fails the script.
EXPLAINED = {}


class Runner:
    def __init__(self, options):
        self.options = options
        os.makedirs(options.work, exist_ok=True)

    def wanted(self, row):
        if self.options.page or (self.options.speeds and row not in [name for name, _, _ in NETWORKS]):
            return False
        return not self.options.only or row in self.options.only

    def lockstep(self, row, arguments):
        """The output of the row's run, now or kept; None if there is none."""
        path = os.path.join(self.options.work, row.replace(" ", "_") + ".txt")
        if self.wanted(row):
            done = subprocess.run([self.options.tessera, "lockstep"] + arguments, capture_output=True, text=True,
                                  check=False)
            if done.returncode not in (0, 1):
                sys.exit(f"{row}: {done.stderr}")
            with open(path, "w", encoding="utf-8") as file:
                file.write(done.stdout)
            print(f"{row}: {done.stdout.strip().splitlines()[-1]}", file=sys.stderr, flush=True)
        if not os.path.exists(path):
            return None
        with open(path, encoding="utf-8") as file:
            return Row(row, file.read())

    def network(self, name, arguments):
        folder = os.path.join(self.options.work, name)
        if self.wanted(name):
            model = os.path.join(self.options.models, "models", name, "model.onnx")
            if not os.path.exists(model):
                model = folder + ".onnx"
                subprocess.run([self.options.tessera, "zoo", "build", name, "-o", model, "--seed", "1"], check=True)
            subprocess.run([self.options.tessera, "compile", model, "-o", folder, "--seed", "1"] + arguments,
                           check=True, stdout=subprocess.DEVNULL)
        return self.lockstep(name, [folder, "--speeds"])


class Row:
    """What a run printed."""

    def __init__(self, name, text):
        self.name = name
        self.programs, self.instructions, self.values, self.cycle_differences = map(int, re.search(
            r"^lockstep: (\d+) programs, (\d+) instructions, (\d+) value and (\d+) cycle differences", text,
            re.MULTILINE).groups())
        self.of_unit = dict(re.findall(r"(\w+) (\d+)", re.search(r"^instructions: (.*)$", text, re.MULTILINE)[1]))
        self.filled, self.bins = re.search(r"^bins: (\d+) of (\d+) filled", text, re.MULTILINE).groups()
        self.unfilled = re.findall(r"^  unfilled: (.*)$", text, re.MULTILINE)
        self.not_applicable = re.findall(r"^  not applicable: (.*?): (.*)$", text, re.MULTILINE)
        first = re.search(r"^first divergence: (.*)$", text, re.MULTILINE)
        self.first = first[1] if first else ""
        seconds = re.search(r"^seconds: (.*)$", text, re.MULTILINE)
        self.seconds = {way: float(s) for way, s in re.findall(r"(\w+) ([\d.]+)", seconds[1])} if seconds else {}
        cycles = re.search(r"^cycles: (\d+)$", text, re.MULTILINE)
        self.cycles = int(cycles[1]) if cycles else 0

    def differs(self):
        return self.values + self.cycle_differences > 0

    def times(self, way):
        """How many times faster than the RTL."""
        return self.seconds["rtl"] / max(self.seconds[way], 1e-4)


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(map(str, row)) + " |" for row in rows]) + "\n"


def compared(row):
    return [f"{row.instructions:,}"] + [f"{int(row.of_unit[unit]):,}" for unit in UNITS] + [
        row.values, row.cycle_differences]


def random_table(rows):
    head = ["machine", "", "programs", "instructions"] + UNITS + ["value differences", "cycle differences",
                                                                  "bins filled"]
    return table(head, [[row.name, about, f"{row.programs:,}"] + compared(row) + [f"{row.filled} of {row.bins}"]
                        for row, about in rows])


def empty_bins(rows):
    lines = [f"- {row.name}, `{name}`: empty." for row, _ in rows for name in row.unfilled]
    lines += [f"- {row.name}, `{name}`: not applicable, {why}." for row, _ in rows for name, why in row.not_applicable]
    return "\n".join(lines) + "\n" if lines else "None.\n"


def network_table(rows):
    head = ["network", "machine", "cycles", "instructions"] + UNITS + ["value differences", "cycle differences"]
    return table(head, [[row.name, machine, f"{row.cycles:,}"] + compared(row) for row, machine in rows])


def rate(row, way):
    return f"{row.cycles / max(row.seconds[way], 1e-4) / 1e3:,.0f}"


def speed_table(rows):
    head = ["network", "machine", "RTL", "with values", "timing only", "no shortcuts", "with values / RTL",
            "timing only / RTL", "no shortcuts / RTL", "shortcuts buy", "values cost"]
    ways = ("rtl", "model", "timing_only", "no_shortcuts")
    return table(head, [[row.name, machine] + [rate(row, way) for way in ways]
                        + [f"{row.times(way):.0f} x" for way in ways[1:]]
                        + [f"{row.seconds['no_shortcuts'] / max(row.seconds['model'], 1e-4):.1f} x",
                           f"{row.seconds['model'] / max(row.seconds['timing_only'], 1e-4):.1f} x"]
                        for row, machine in rows])


def targets(rows):
    lines = []
    for row, _ in rows:
        if row.name != STAGE:
            continue
        for way, least in TARGETS.items():
            verdict = "met" if row.times(way) >= least else "missed"
            lines.append(f"- {way.replace('_', ' ')}: {row.times(way):.0f} x the RTL, goal {least} x: {verdict}.")
    return "\n".join(lines) + "\n"


TEXT = """# Model and RTL in lock-step

Written by `scripts/lockstep_table.sh`. Every row ran on the models and on the Verilated RTL, behind the same memory
system ([hw/cosim](../hw/cosim/README.md)). Compared are start and finish of each instruction, ends of sections, busy,
idle and every stall cause of each unit, MACs, AXI bytes (*cycle differences*), and every byte of SRAM and of the DRAM
buffers (*value differences*). The goal is zeros; the script ends with 1 on a difference that this page does not
explain, or if a bin of the random programs is empty.

## Random programs
Seeds 1, 2, ... Each has a memory of its own; one of eight ends with a fault or stuck, in the same cycle. The numbers
under the names of units are the instructions compared.

{random}
Bins that stayed empty, and those that the lock-step says no memory of these runs can fill:

{empty}
## Whole networks
Quantised, compiled, run on random inputs; `{stage}` is ResNet-50's stem and first residual stage with random weights,
on `tiny` with {wide}.

{networks}
## Speeds
Thousand cycles a second of processor time of one core, RTL and model on the same program and machine, Verilator with
-O1. *With values* is the model as `tessera run` runs it, *timing only* without values, *no shortcuts* with values and
every unit stepped in every cycle.

{speeds}
Goals, on `{stage}`:

{targets}
The shortcuts: a unit whose banks nobody else claims is refused no grant, so it jumps to the next event of its plan
instead of being stepped; where its own ports may meet, a copy of it walks ahead without arbiter and events; STORE reads
a whole burst in one step (hw/models/unit, hw/models/store). *Shortcuts buy* is what they are worth together on this
program. Values are computed at an instruction's finish, as a whole (isa/semantics); *values cost* is the model with
values over the model without.
"""


def write_page(random_rows, network_rows):
    wide = ", ".join(f"`{text}`" for text in WIDE if text != "--set")
    timed = [(row, machine) for row, machine in network_rows if row.seconds]
    with open(PAGE, "w", encoding="utf-8") as file:
        file.write(TEXT.format(random=random_table(random_rows), empty=empty_bins(random_rows), stage=STAGE, wide=wide,
                               networks=network_table(network_rows), speeds=speed_table(timed), targets=targets(timed)))
        for row, _ in random_rows + network_rows:
            if row.differs():
                why = EXPLAINED.get(row.name, "no explanation")
                file.write(f"\n**{row.name} differs**: {why}. First: {row.first}\n")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--programs", type=int, default=300, help="random programs of each machine")
    parser.add_argument("--models", default=os.path.join(ROOT, "..", "shared", "models"))
    parser.add_argument("--tessera", default=os.path.join(ROOT, "build", "tessera"))
    parser.add_argument("--work", default=os.path.join(ROOT, "build", "lockstep_table"))
    parser.add_argument("--only", type=lambda text: text.split(","), default=[])
    parser.add_argument("--page", action="store_true")
    parser.add_argument("--speeds", action="store_true", help="only the rows with speeds: networks")
    runner = Runner(parser.parse_args())
    programs = runner.options.programs
    random_rows = [(runner.lockstep(name, ["--random", str(programs), "--seed", "1"] + arguments), about)
                   for name, about, arguments in SHAPES]
    network_rows = [(runner.network(name, arguments), machine) for name, machine, arguments in NETWORKS]
    random_rows = [pair for pair in random_rows if pair[0]]
    network_rows = [pair for pair in network_rows if pair[0]]
    write_page(random_rows, network_rows)
    unexplained = [row.name for row, _ in random_rows + network_rows if row.differs() and row.name not in EXPLAINED]
    for name in unexplained:
        print(f"lockstep_table: {name} differs, and docs/lockstep.md does not say why", file=sys.stderr)
    empty = [f"{row.name}: {name}" for row, _ in random_rows for name in row.unfilled]
    for text in empty:
        print(f"lockstep_table: an empty bin of {text}", file=sys.stderr)
    return 1 if unexplained or empty else 0


if __name__ == "__main__":
    sys.exit(main())
