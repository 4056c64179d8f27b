"""Draws mutations of the RTL, runs each in lock-step with the models, and says which random program catches it.

usage: mutate_rtl.py --tessera COMMAND [--count 50] [--seed 1] [--programs 200] [--first 1] [--chip tiny] [--jobs N]
                     [--only NUMBER,...] [--work FOLDER] [--draw] [--page]

All drawn mutations are in one copy of the sources (rtl_mutants.py), which is Verilated once; TESSERA_RTL_MUTANT selects
one in a process. The kinds are drawn in equal numbers, and each from the files that have had the fewest. What
docs/lockstep_mutants.md proves to be equivalent is replaced by another. Ends with 1 if under 95 % are caught, or if the
unmutated copy differs from the models. --draw ends behind the list; --page writes the result into the page. The chip
is a named one.
"""
import argparse
import concurrent.futures
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import time

import rtl_mutants
from rtl_copy import ROOT, Lockstep, copy_sources, patch, rtl_files, write_part

EXPLAINED = ROOT / "docs" / "lockstep_mutants.md"
LEAST_CAUGHT = 0.95
# The number comes from the environment when the model is made: the co-simulation knows nothing of it.
PACKAGE = """`timescale 1ns/1ps
package tessera_mutant_pkg;
  int unsigned selected = $c32("std::atoi(std::getenv(\\"TESSERA_RTL_MUTANT\\"))");
endpackage
"""


def equivalents():
    """(file, original, changed) of the page's table."""
    if not EXPLAINED.exists():
        return set()
    rows = re.findall(r"^\| `(\w+\.sv)` \| `(.*?)` \| `(.*?)` \|", EXPLAINED.read_text(encoding="utf-8"), re.MULTILINE)
    return {(file, a.replace("\\|", "|"), b.replace("\\|", "|")) for file, a, b in rows}


class Draw:
    """Seeded: kinds in turn, each from one of the files that have had the fewest mutations."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.pool = [m for file in rtl_files() for m in rtl_mutants.candidates(file)]
        self.candidates = len(self.pool)
        self.drawn = []
        self.last = 0  # number given

    def fill(self, count):
        while len(self.drawn) < count:
            mutation = self.one(self.wanted_kind())
            self.last += 1
            mutation.number = self.last
            self.pool.remove(mutation)
            self.drawn.append(mutation)

    def wanted_kind(self):
        had = [m.kind for m in self.drawn]
        return min(rtl_mutants.KINDS, key=lambda kind: (had.count(kind), rtl_mutants.KINDS.index(kind)))

    def one(self, kind):
        free = [m for m in self.pool if m.kind == kind and not any(rtl_mutants.overlap(m, d) for d in self.drawn)]
        if not free:
            sys.exit(f"mutate_rtl: no more candidates of kind '{kind}'")
        had = [m.file for m in self.drawn]
        fewest = min(had.count(m.file) for m in free)
        file = self.random.choice(sorted({m.file for m in free if had.count(m.file) == fewest}))
        return self.random.choice([m for m in free if m.file == file])

    def drop(self, mutations):
        self.drawn = [m for m in self.drawn if m not in mutations]


def write_tree(tree, drawn):
    copy_sources(tree)
    for file in rtl_files():
        mutations = [m for m in drawn if m.file == file.name]
        (tree / "hw/rtl" / file.name).write_text(rtl_mutants.mutated(file, mutations), encoding="utf-8")
    (tree / "hw/rtl/tessera_mutant_pkg.sv").write_text(PACKAGE, encoding="utf-8")
    files = (ROOT / "hw/rtl/files.f").read_text(encoding="utf-8")
    (tree / "hw/rtl/files.f").write_text("hw/rtl/tessera_mutant_pkg.sv\n" + files, encoding="utf-8")
    patch(tree, ["hw/cosim/build_core.py"], '"-Wall"', '"-Wno-fatal", "-Wno-lint"')


def unfit(tree, chip, drawn):
    """Mutations that Verilator refuses."""
    with tempfile.TemporaryDirectory() as packages:
        python = sys.executable
        subprocess.run([python, tree / "isa/generate.py", "--out", packages], check=True)
        subprocess.run([python, tree / "hw/rtl/generate_chip_package.py", ROOT / f"hw/configs/{chip}.json", packages],
                       check=True)
        done = subprocess.run(["verilator", "--lint-only", "-Wno-fatal", "-Wno-lint", "--assert", "--top-module",
                               "tessera_core", f"{packages}/tessera_isa_pkg.sv", f"{packages}/tessera_chip_pkg.sv",
                               "-f", "hw/rtl/files.f"],
                              cwd=tree, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    bad = set()
    # An error, a combinational loop, or the place in a function that has to be constant.
    for file, line in re.findall(r"^.*? hw/rtl/(\w+\.sv):(\d+):", done.stdout, re.MULTILINE):
        bad |= {m for m in drawn if m.file == file and int(line) in lines_of(m)}
    if not bad and done.returncode != 0:
        sys.exit(f"mutate_rtl: Verilator refuses the copy:\n{done.stdout}")
    return bad


def lines_of(mutation):
    text = (ROOT / "hw/rtl" / mutation.file).read_text(encoding="utf-8")
    begin, end = mutation.span()
    return range(text.count("\n", 0, begin) + 1, text.count("\n", 0, end) + 2)


class Runner:
    def __init__(self, options, tree):
        self.options = options
        self.lockstep = Lockstep(options.tessera, options.chip, tree)

    def run(self, number, first, count):
        return self.lockstep.run(first, count, TESSERA_RTL_MUTANT=str(number))

    def unmutated(self):
        """Number 0 does not differ: it is the design, and each run of the others begins with a good copy."""
        begin = time.monotonic()
        self.run(0, self.options.first, 1)  # the library is built once
        each = -(-self.options.programs // self.options.jobs)
        slices = [(self.options.first + i, min(each, self.options.programs - i))
                  for i in range(0, self.options.programs, each)]
        with concurrent.futures.ThreadPoolExecutor(self.options.jobs) as pool:
            results = list(pool.map(lambda part: self.run(0, *part), slices))
        for code, output in results:
            if code != 0:
                print(f"unmutated, the copy differs from the models:\n{output}")
                return False
        seconds = time.monotonic() - begin
        print(f"unmutated: no difference in {self.options.programs} programs ({seconds:.0f} s)", flush=True)
        return True

    def catch(self, mutation):
        """(program, divergence), or None. Few programs first: most mutations need no more."""
        done = 0
        for count in (2, 6, 24, self.options.programs):
            count = min(count, self.options.programs - done)
            if count == 0:
                break
            code, output = self.run(mutation.number, self.options.first + done, count)
            if code != 0:
                return self.verdict(code, output, done)
            done += count
        return None

    def verdict(self, code, output, done):
        found = re.search(r"^first divergence: (?:seed (\d+))?:? *(.*)$", output, re.MULTILINE)
        if not found:
            last = output.strip().splitlines()[-1:] or [""]
            return f"{done + 1}..", f"exit code {code}: {last[0][:80]}"
        program = int(found.group(1)) - self.options.first + 1 if found.group(1) else f"{done + 1}.."
        return program, found.group(2)[:90]


def excerpt(original, changed, around=36):
    """Both texts, cut to what differs."""
    first = next((i for i, (a, b) in enumerate(zip(original, changed)) if a != b), min(len(original), len(changed)))
    begin = max(0, first - around)
    same = 0  # characters at the end
    while same < min(len(original), len(changed)) - first and original[-1 - same] == changed[-1 - same]:
        same += 1

    def cut(text):
        end = min(len(text), len(text) - same + around // 2)
        return ("..." if begin else "") + text[begin:end] + ("..." if end < len(text) else "")
    return f"{cut(original)}  ->  {cut(changed)}"


def row(mutation, verdict):
    text = f"{mutation.number:3} {mutation.file}:{mutation.line:<4} {mutation.kind:18} "
    text += excerpt(mutation.original, mutation.changed)
    if verdict is None:
        return text
    return text + "\n      " + (f"program {verdict[0]}: {verdict[1]}" if verdict else "SURVIVES")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tessera", required=True)
    parser.add_argument("--chip", default="tiny")
    for name, default in (("count", 50), ("seed", 1), ("programs", 200), ("first", 1), ("jobs", os.cpu_count())):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--only", type=lambda text: {int(n) for n in text.split(",")})
    parser.add_argument("--work", type=pathlib.Path)
    parser.add_argument("--draw", action="store_true")
    parser.add_argument("--page", action="store_true")
    return parser.parse_args()


def prepare(options, tree):
    draw = Draw(options.seed)
    known = equivalents()
    refused = proved = 0
    # What is dropped is replaced behind the others, so that a new row of the page changes no other draw.
    while True:
        draw.fill(options.count)
        write_tree(tree, draw.drawn)
        bad = unfit(tree, options.chip, draw.drawn)
        refused += len(bad)
        if not bad:
            bad = {m for m in draw.drawn if (m.file, m.original, m.changed) in known}
            proved += len(bad)
        if not bad:
            break
        draw.drop(bad)
    files = len({m.file for m in draw.drawn})
    about = (f"{len(draw.drawn)} of {draw.candidates} candidates, drawn with seed {options.seed} from {files} of "
             f"{len(rtl_files())} files; drawn again: {refused} that Verilator refuses, {proved} proved equivalent")
    print(about, flush=True)
    return draw.drawn, about


def result_part(options, about, verdicts):
    """What the page says of a run: [(mutation, verdict)]."""
    programs = [verdict[0] for _, verdict in verdicts if verdict]
    first = sum(program == 1 for program in programs)
    late = sorted({int(program) for program in programs if str(program).isdigit() and program != 1})
    lost = sum(not str(program).isdigit() for program in programs)
    lines = [f"{about}.", "",
             f"Caught: {len(programs)} of {len(verdicts)} ({100 * len(programs) / len(verdicts):.0f} %) by "
             f"{options.programs} programs on `{options.chip}`; {first} by the first program, "
             f"{len(programs) - first - lost} by a later one (programs {', '.join(map(str, late)) or 'none'}), "
             f"{lost} by the end of the process. Survivors:", ""]
    rows = [f"- `{m.file}`: `{m.original}` to `{m.changed}`" for m, verdict in verdicts if not verdict]
    return "\n".join(lines + (rows or ["None."]))


def run(options, tree):
    drawn, about = prepare(options, tree)
    if options.draw:
        print("\n".join(row(m, None) for m in drawn))
        return 0
    runner = Runner(options, tree)
    if not runner.unmutated():
        return 1
    begin = time.monotonic()
    chosen = [m for m in drawn if not options.only or m.number in options.only]
    verdicts = []
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for mutation, verdict in zip(chosen, pool.map(runner.catch, chosen)):
            print(row(mutation, verdict or ()), flush=True)
            verdicts.append((mutation, verdict))
    if options.page:
        write_part(EXPLAINED, "result", result_part(options, about, verdicts))
    survivors = [mutation for mutation, verdict in verdicts if not verdict]
    caught = len(chosen) - len(survivors)
    print(f"caught: {caught} of {len(chosen)} ({100 * caught / len(chosen):.0f} %) by {options.programs} programs, in "
          f"{time.monotonic() - begin:.0f} s")
    for mutation in survivors:
        print(f"survivor, needs a proof in {EXPLAINED.relative_to(ROOT)} or a new bin:\n| `{mutation.file}` | "
              f"`{mutation.original}` | `{mutation.changed}` |")
    return 0 if caught >= LEAST_CAUGHT * len(chosen) else 1


def main():
    options = arguments()
    if options.work:
        sys.exit(run(options, options.work.absolute() / "tree"))
    with tempfile.TemporaryDirectory(prefix="tessera-mutants.") as work:
        sys.exit(run(options, pathlib.Path(work) / "tree"))


if __name__ == "__main__":
    main()
