"""Line, branch and toggle coverage of the RTL by random programs in lock-step.

usage: coverage_rtl.py --tessera COMMAND [--kind line|toggle] [--programs 200] [--first 1] [--chip tiny] [--jobs N]
                       [--work FOLDER] [--all] [--page]

A copy of the sources is Verilated with --coverage-line or --coverage-toggle; each program writes its counts, which are
added up over programs and instances. line: of the lines and branches (then, else, case item) of each file those that
were run, then the others with their text. toggle: of the bits of each file's signals those that rose and fell, then the
signals without any; --all lists those with some missing too. A line or branch that was not run and is not
explained in docs/rtl_coverage.md ends the script with 1. --page writes the figures into that page. Code that the
chip's shape does not elaborate has no counts.
"""
import argparse
import collections
import concurrent.futures
import os
import pathlib
import re
import sys
import tempfile

from rtl_copy import ROOT, Lockstep, copy_sources, patch, rtl_files, write_part

EXPLAINED = ROOT / "docs" / "rtl_coverage.md"
PROGRAMS_OF_A_RUN = 10
WIDEST = 64  # bits; the toggles of wider signals (lines, words, registers of an array) are not counted
WRITE = """top_->final();
    static int number = 0;
    const std::string file = std::string(std::getenv("TESSERA_RTL_COVERAGE")) + "/" + std::to_string(++number) + ".dat";
    context_.coveragep()->write(file.c_str());"""


def write_tree(tree, kind):
    copy_sources(tree)
    builder = ["hw/cosim/build_core.py"]
    # Verilator 5.006 splits a process and puts the counters of an unrolled loop behind it, where conditions are others.
    # -O3 would turn that on again: it comes first.
    flags = f'"-O3", "-Wno-fatal", "-Wno-lint", "-fno-reorder", "-fno-split", "--coverage-{kind}", '
    flags += f'"--coverage-max-width", "{WIDEST}"'
    patch(tree, builder, '"-Wall", "-O3"', flags)
    patch(tree, builder, '"-DVM_COVERAGE=0"', '"-DVM_COVERAGE=1"')
    wrapper = ["hw/cosim/core_library.cpp", "hw/cosim/verilated_pins.hpp"]
    patch(tree, wrapper, "top_->final();", WRITE)
    patch(tree, wrapper, "#include <verilated.h>",
          "#include <cstdlib>\n#include <verilated.h>\n#include <verilated_cov.h>")


def add_counts(counts, folder):
    for file in folder.glob("*.dat"):
        for line in file.read_text(encoding="latin-1").splitlines():
            if line.startswith("C '"):
                key, count = line[3:].rsplit("' ", 1)
                counts[key] += int(count)
        file.unlink()  # some 100 kB


def measure(options, tree):
    """Counts of every point over all programs, PROGRAMS_OF_A_RUN in a process."""
    lockstep = Lockstep(options.tessera, options.chip, tree)

    def part(done):
        folder = tree.parent / f"counts{done}"
        folder.mkdir(exist_ok=True)
        many = min(PROGRAMS_OF_A_RUN, options.programs - done)
        return folder, lockstep.run(options.first + done, many, TESSERA_RTL_COVERAGE=str(folder))

    counts = collections.Counter()
    starts = list(range(0, options.programs, PROGRAMS_OF_A_RUN))
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        first = part(starts[0])  # builds the library
        for folder, (code, output) in [first, *pool.map(part, starts[1:])]:
            if code != 0:
                sys.exit(f"coverage_rtl: {output}")
            add_counts(counts, folder)
    return counts


def points(counts):
    """(file, line, column, comment, lines) -> count, over the instances."""
    found = collections.Counter()
    names = {file.name for file in rtl_files()}
    for key, count in counts.items():
        fields = dict(part.split("\2", 1) for part in key.split("\1") if "\2" in part)
        file = pathlib.Path(fields["f"]).name
        if file in names:
            found[(file, int(fields["l"]), int(fields["n"]), fields["o"], fields.get("S", ""))] += count
    return found


def numbers_of(lines):
    """'2,4-6' -> 2, 4, 5, 6"""
    for part in filter(None, lines.split(",")):
        first, _, last = part.partition("-")
        yield from range(int(first), int(last or first) + 1)


def totals(rows):
    total = collections.defaultdict(lambda: [0, 0])
    for _, columns in rows:
        for name, (covered, all_of_it) in columns.items():
            total[name][0] += covered
            total[name][1] += all_of_it
    return total


def table(rows):
    print(f"{'file':32} " + " ".join(f"{name:>16}" for name in rows[0][1]))
    for file, columns in rows:
        print(f"{file:32} " + " ".join(f"{c:>8}/{t:<7}" for c, t in columns.values()))
    print(f"{'all':32} " + " ".join(f"{c:>8}/{t:<7}" for c, t in totals(rows).values()))
    for name, (covered, all_of_it) in totals(rows).items():
        print(f"{name}: {covered} of {all_of_it} ({100 * covered / max(1, all_of_it):.2f} %)")


def figures_part(options, rows, rest):
    """What the page says of a run: totals, the files that are not whole, what else there is to say."""
    whole = ", ".join(f"{c} of {t} {name} ({100 * c / max(1, t):.1f} %)" for name, (c, t) in totals(rows).items())
    text = f"`{options.chip}`, {options.programs} programs from seed {options.first}: {whole}; {rest}.\n\n"
    names = list(rows[0][1])
    text += f"| file | {' | '.join(names)} |\n|{'---|' * (len(names) + 1)}\n"
    for file, columns in rows:
        if any(covered < all_of_it for covered, all_of_it in columns.values()):
            text += f"| {file} | {' | '.join(f'{c} of {t}' for c, t in columns.values())} |\n"
    return text


def explained():
    """(file, text of the line) of the page's table."""
    if not EXPLAINED.exists():
        return set()
    rows = re.findall(r"^\| `(\w+\.sv)` \| `(.*?)` \|", EXPLAINED.read_text(encoding="utf-8"), re.MULTILINE)
    return {(file, text.replace("\\|", "|")) for file, text in rows}


def report_lines(options, found):
    rows, missing = [], []
    for file in rtl_files():
        mine = {key: count for key, count in found.items() if key[0] == file.name}
        source = file.read_text(encoding="utf-8").splitlines()
        lines, bare = set(), set()
        for (_, line, _, _, covers), count in mine.items():
            for number in numbers_of(covers):
                lines.add(number)
                if count == 0:
                    bare.add(number)
        rows.append((file.name, {"lines": (len(lines) - len(bare), len(lines)),
                                 "branches": (sum(count > 0 for count in mine.values()), len(mine))}))
        for (_, line, _, comment, covers), count in sorted(mine.items()):
            if count == 0:
                missing.append((file.name, line, comment, re.sub(r"\s+", " ", source[line - 1]).strip(), covers))
    table(rows)
    known = explained()
    unexplained = 0
    for file, line, comment, text, covers in missing:
        why = "explained" if (file, text) in known else "NOT EXPLAINED"
        unexplained += why != "explained"
        print(f"{why}: {file}:{line} {comment}{' lines ' + covers if covers else ''}: {text}")
    if options.page:
        rest = f"{len(missing)} points were not run, {unexplained} of them without an explanation below"
        write_part(EXPLAINED, "lines", figures_part(options, rows, rest))
    return 1 if unexplained else 0


def report_toggles(options, found):
    rows, signals = [], collections.defaultdict(lambda: [0, 0])
    for file in rtl_files():
        mine = {key: count for key, count in found.items() if key[0] == file.name}
        rows.append((file.name, {"bits": (sum(count > 0 for count in mine.values()), len(mine))}))
        for (_, line, _, comment, _), count in mine.items():
            signal = signals[(file.name, line, re.sub(r"\[\d+\]", "", comment))]
            signal[0] += count > 0
            signal[1] += 1
    table(rows)
    for (file, line, name), (covered, bits) in sorted(signals.items()):
        if covered == 0 or (options.all and covered < bits):
            print(f"{covered}/{bits} bits toggled: {file}:{line} {name}")
    if options.page:
        still = sum(covered == 0 for covered, _ in signals.values())
        rest = f"{still} of {len(signals)} signals did not toggle at all"
        write_part(EXPLAINED, "toggles", figures_part(options, rows, rest))
    return 0


def run(options, work):
    write_tree(work / "tree", options.kind)
    found = points(measure(options, work / "tree"))
    print(f"{options.kind} coverage of {options.programs} random programs on {options.chip}, seed {options.first}")
    return report_lines(options, found) if options.kind == "line" else report_toggles(options, found)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tessera", required=True)
    parser.add_argument("--kind", choices=("line", "toggle"), default="line")
    parser.add_argument("--chip", default="tiny")
    parser.add_argument("--programs", type=int, default=200)
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--work", type=pathlib.Path)
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--page", action="store_true")
    options = parser.parse_args()
    if options.work:
        sys.exit(run(options, options.work.absolute()))
    with tempfile.TemporaryDirectory(prefix="tessera-coverage.") as work:
        sys.exit(run(options, pathlib.Path(work)))


if __name__ == "__main__":
    main()
