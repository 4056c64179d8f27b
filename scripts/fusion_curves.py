#!/usr/bin/python3
"""Runs behind docs/fusion.md; see fusion_curves.sh. Each run is one `tessera` process whose JSON is kept in the work folder."""
import argparse
import concurrent.futures
import hashlib
import json
import os
import re
import subprocess
import sys

import network_tables

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PAGE = os.path.join(ROOT, "docs", "fusion.md")
PLOT = os.path.join(ROOT, "docs", "fusion.svg")
BEGIN, END = "<!-- measured: begin -->", "<!-- measured: end -->"
CURVES = ["resnet50", "mobilenet_v2", "vgg16", "resnet18_720p_op17"]
PREDICTED = CURVES + ["squeezenet", "pointpillars_rpn_kitti_496x432_op11"]
SIZES = [256, 512, 1024, 2048, 4096, 8192, 16384]  # KiB of SRAM
BANKS = 64
CHANNELS = [1, 4, 16]
SCHEDULES = ["naive", "layer", "fused"]
# Targets: network, KiB, most moved / compulsory.
TARGETS = [("resnet50", 8192, 1.02), ("resnet50", 1024, 1.10), ("resnet50", 512, 1.30),
           ("resnet18_720p_op17", 4096, 1.03), ("resnet18_720p_op17", 2048, 1.30),
           ("vgg16", 8192, None), ("pointpillars_rpn_kitti_496x432_op11", 8192, None)]
CANDIDATES = [("resnet50", 512), ("mobilenet_v2", 1024), ("resnet18_720p_op17", 2048)]
COVERED, GROUP_ERROR = 0.95, 0.15
DEPTHWISE = "mobilenet_v2"
# Where fused is held against layer: every network of the models folder, in small and large SRAM.
EVERYWHERE = [("tiny", None), ("micro", None), ("a1000", 256), ("a1000", 1024), ("a1000", 8192), ("j5", None)]
NVDLA_KIB = 69871  # ResNet-50, layer by layer, published


class Runner:
    def __init__(self, options):
        self.tessera, self.work, self.models, self.page_only = options.tessera, options.work, options.models, options.page
        self.wanted = None  # a dictionary: runs that are missing are noted there instead of made
        os.makedirs(self.work, exist_ok=True)

    def model(self, name):
        for given in (f"structure/{name}.onnx", f"light/{name}.onnx", f"models/{name}/model.onnx"):
            if os.path.exists(os.path.join(self.models, given)):
                return os.path.join(self.models, given)
        path = os.path.join(self.work, name + ".onnx")
        if not os.path.exists(path) and not self.page_only:
            subprocess.run([self.tessera, "zoo", "build", name, "-o", path], check=True)
        return path

    def run(self, command, name, arguments):
        """The report of `tessera COMMAND name ...`, or {"refused": message}; None if it was not run (--page).
        On a1000 unless the arguments name another chip."""
        key = hashlib.sha256(repr((command, name, arguments)).encode()).hexdigest()[:16]
        path = os.path.join(self.work, f"{name}-{command}-{key}.json")
        if not os.path.exists(path):
            if self.wanted is not None:
                self.model(name)  # here, so that no two runs make the same file
                self.wanted[key] = (command, name, arguments)
            if self.page_only or self.wanted is not None:
                return None
            out = path + ".new"
            line = [self.tessera, command, self.model(name), "--report", out] + arguments
            line += [] if "--chip" in arguments else ["--chip", "a1000"]
            line += ["--timing-only"] if command == "simulate" else []
            done = subprocess.run(line, capture_output=True, text=True, check=False)
            if done.returncode != 0:
                with open(out, "w", encoding="utf-8") as file:
                    json.dump({"refused": done.stderr.strip().splitlines()[-1]}, file)
            os.replace(out, path)
            print(f"{name} {command} {' '.join(arguments)}", file=sys.stderr, flush=True)
        with open(path, encoding="utf-8") as file:
            return json.load(file)

    def run_all(self, parts, jobs):
        """Makes what the parts will ask for and is not there yet, `jobs` at a time."""
        self.wanted = {}
        for part in parts:
            part(self)
        runs, self.wanted = list(self.wanted.values()), None
        with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
            list(pool.map(lambda arguments: self.run(*arguments), runs))

    def simulate(self, name, schedule, kib=None, channels=None, extra=()):
        return self.run("simulate", name, settings(schedule, kib, channels) + list(extra))

    def bounds(self, name, kib=None, channels=None, extra=()):
        report = self.run("estimate", name, settings("layer", kib, channels) + ["--bounds"] + list(extra))
        return report.get("bounds") if report else None


def settings(schedule, kib, channels):
    out = ["--schedule", schedule]
    out += ["--set", f"sram.size_bytes={kib * 1024 // BANKS}"] if kib else []
    out += ["--set", f"dram.channels={channels}"] if channels else []
    return out


def good(report):
    return report is not None and "refused" not in report


def moved(report):
    return report["dram"]["read_bytes"] + report["dram"]["write_bytes"]


def cycles_cell(report):
    return f"{report['cycles']:,}" if good(report) else ("refused" if report else "not run")


def bytes_cell(report):
    return f"{moved(report):,}" if good(report) else ("refused" if report else "not run")


def ratio(a, b, digits=2):
    return f"{a / b:.{digits}f}" if a is not None and b else "-"


def table(head, rows):
    return ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)] + ["| " + " | ".join(r) + " |" for r in rows] + [""]


def curves(run):
    lines, data = ["## Curves against SRAM", ""], {}
    for name in CURVES:
        rows, points = [], []
        for kib in SIZES:
            layer, fused = run.simulate(name, "layer", kib), run.simulate(name, "fused", kib)
            bounds = run.bounds(name, kib)
            floor = bounds["compulsory_bytes"]["total"] if bounds else None
            ahead = bounds["lookahead"]["cycles"] if bounds else None
            points.append((kib, layer, fused, floor, ahead))
            rows.append([f"{kib:,}", bytes_cell(layer), bytes_cell(fused),
                         ratio(moved(layer) if good(layer) else None, floor),
                         ratio(moved(fused) if good(fused) else None, floor),
                         cycles_cell(layer), cycles_cell(fused), f"{ahead:,}" if ahead else "-",
                         ratio(fused["cycles"] if good(fused) else None, ahead)])
        data[name] = points
        floor = next((p[3] for p in points if p[3]), None)
        lines += [f"**{name}**, compulsory {floor:,} bytes. {monotonic(points)}" if floor else f"**{name}**", ""]
        lines += table(["KiB", "bytes, layer", "bytes, fused", "x, layer", "x, fused", "cycles, layer", "cycles, fused",
                        "lookahead bound", "fused / bound"], rows)
    draw(data)
    return lines + ["![bytes and cycles against SRAM](fusion.svg)", ""]


def monotonic(points):
    """Where the fused curves rise, if anywhere."""
    rises = []
    for what, value in (("bytes", moved), ("cycles", lambda r: r["cycles"])):
        known = [(kib, value(fused)) for kib, _, fused, _, _ in points if good(fused)]
        rises += [f"{what} {b[0]:,} KiB: {b[1]:,} above {a[1]:,}" for a, b in zip(known, known[1:]) if b[1] > a[1]]
    if len(known) < len(points):
        return "Not all sizes were run." if not rises else "The fused curves rise at " + "; ".join(rises) + "."
    return "The fused curves never rise." if not rises else "The fused curves rise at " + "; ".join(rises) + "."


def targets(run):
    rows = []
    for name, kib, target in TARGETS:
        fused, layer, bounds = run.simulate(name, "fused", kib), run.simulate(name, "layer", kib), run.bounds(name, kib)
        floor = bounds["compulsory_bytes"]["total"] if bounds else None
        found = moved(fused) / floor if good(fused) and floor else None
        verdict = "-" if target is None or found is None else ("met" if found <= target else "missed")
        rows.append([name, f"{kib:,}", f"{floor:,}" if floor else "-", bytes_cell(layer), bytes_cell(fused),
                     ratio(moved(layer) if good(layer) else None, floor, 3), ratio(found, 1, 3) if found else "-",
                     f"{target:.2f}" if target else "reported", verdict])
    small = run.simulate("resnet50", "fused", 512)
    note = []
    if good(small):
        note = [f"ResNet-50 at 512 KiB moves {moved(small) / 1024:,.0f} KiB (target 34,900); NVDLA's published layer-by-layer "
                f"figure is {NVDLA_KIB:,} KiB.", ""]
    return ["## Bytes against their targets", ""] + table(
        ["network", "KiB", "compulsory", "layer", "fused", "x, layer", "x, fused", "target", ""], rows) + note


def schedules(run):
    rows = []
    for name in PREDICTED:
        reports = [run.simulate(name, s) for s in SCHEDULES]
        fused = reports[2]["cycles"] if good(reports[2]) else None
        rows.append([name] + [cycles_cell(r) for r in reports] +
                    [" : ".join(ratio(r["cycles"] if good(r) else None, fused) for r in reports)])
    return ["## Naive, layer, fused", "", "a1000 as its file has it (8 MiB, four channels), cycles.", ""] + table(
        ["network", "naive", "layer", "fused", "naive : layer : fused"], rows)


def everywhere(run):
    """Every network, on several chips: is fused ever slower than layer?"""
    names = sorted({network_tables.name_of(m) for m in network_tables.VALUED} | set(network_tables.STRUCTURE) | set(CURVES) |
                   set(os.path.splitext(f)[0] for f in os.listdir(os.path.join(run.models, "light")) if f.endswith(".onnx")))
    rows, same, slower = [], 0, []
    for chip, kib in EVERYWHERE:
        for name in names:
            if chip in ("tiny", "micro") and name in CURVES + network_tables.STRUCTURE + ["light_resnet50", "light_vgg19"]:
                continue  # hours of simulated time say nothing more there
            shape = network_tables.SHAPES.get(name)
            extra = (["--chip", chip] if chip != "a1000" else []) + (["--shape", shape] if shape else [])
            layer, fused = (run.simulate(name, schedule, kib, extra=extra) for schedule in ("layer", "fused"))
            if not good(layer) or not good(fused):
                continue
            same += fused["cycles"] == layer["cycles"]
            place = f"{chip}, {kib:,} KiB" if kib else chip
            if fused["cycles"] > layer["cycles"]:
                slower.append(f"{name} on {place}: {fused['cycles']:,} for {layer['cycles']:,}")
            if fused["cycles"] != layer["cycles"]:
                rows.append([name, place, cycles_cell(layer), cycles_cell(fused), ratio(fused["cycles"], layer["cycles"], 3),
                             bytes_cell(layer), bytes_cell(fused)])
    return ["## Fused against layer on every network", "", f"Networks of the models folder and the built-in ones that both schedules take: "
            f"{same + len(rows)} runs of each; in {same} fused keeps the layer schedule, the others are below. " +
            ("**Fused is slower: " + "; ".join(slower) + ".**" if slower else "Fused is never slower."), ""] + table(
        ["network", "chip", "cycles, layer", "cycles, fused", "fused / layer", "bytes, layer", "bytes, fused"], rows)


def lookahead(run):
    rows = []
    for name in CURVES:
        for batch in (1, 8):
            extra = ["--batch", str(batch)] if batch > 1 else []
            bounds = run.bounds(name, extra=extra)
            if not bounds:
                rows.append([name, str(batch)] + ["not run"] + ["-"] * 5)
                continue
            report = run.simulate(name, "fused", extra=extra + ["--ideal", "dram"])
            ahead, ideal = bounds["lookahead"]["cycles"], bounds["lookahead"]["ideal_dram_cycles"]
            rows.append([name, str(batch), f"{ahead:,} ({bounds['lookahead']['limit']})", cycles_cell(report),
                         ratio(report["cycles"] if good(report) else None, ahead, 3), f"{ideal:,}",
                         f"{report['ideal']['dram']:,}" if good(report) else "-",
                         ratio(report["ideal"]["dram"] if good(report) else None, ideal, 3)])
    return ["## Cycles against the lookahead bound", "", "Targets: 1.15 with four channels, 1.25 with `--ideal dram`.", ""] + table(
        ["network", "batch", "bound", "fused", "ratio", "bound, ideal DRAM", "fused, ideal DRAM", "ratio"], rows)


def prediction(run):
    rows, worst = [], 0.0
    for name in PREDICTED:
        for channels in CHANNELS:
            cells = [name, str(channels)]
            for schedule in ("layer", "fused"):
                report = run.simulate(name, schedule, channels=channels)
                if not good(report):
                    cells += [cycles_cell(report), "-", "-"]
                    continue
                error = report["predicted"]["cycles"] / report["cycles"] - 1
                worst = max(worst, abs(error)) if schedule == "fused" else worst
                cells += [f"{report['cycles']:,}", f"{report['predicted']['cycles']:,}", f"{100 * error:+.1f} %"]
            rows.append(cells)
    return ["## Prediction", "", f"Predicted against simulated cycles; worst of fused: {100 * worst:.1f} % (target 10 %).", ""] + table(
        ["network", "channels", "layer", "predicted", "error", "fused", "predicted", "error"], rows)


def group_prediction(run):
    """The dearest groups until they cover COVERED of the cycles, each with its error."""
    rows = []
    for name in PREDICTED:
        for channels in CHANNELS:
            report = run.simulate(name, "fused", channels=channels)
            if not good(report):
                rows.append([name, str(channels), cycles_cell(report)] + ["-"] * 4)
                continue
            spans = sorted(((g["end_cycle"] - g["start_cycle"], g.get("predicted_cycles", 0), g["name"])
                            for g in report["groups"] if g["layers"]), reverse=True)
            covered, dear = 0, []
            for span in spans:
                if covered >= COVERED * report["cycles"]:
                    break
                covered += span[0]
                dear.append((abs(span[1] / span[0] - 1), span))
            inside = sum(span[0] for error, span in dear if error <= GROUP_ERROR)
            worst = max(dear, default=(0, (0, 0, "-")))
            rows.append([name, str(channels), str(len(dear)), str(sum(error <= GROUP_ERROR for error, _ in dear)),
                         f"{100 * inside / max(1, covered):.0f} %", f"{100 * worst[0]:.0f} %",
                         f"{worst[1][2]}: {worst[1][1]:,} for {worst[1][0]:,}"])
    return ["## Prediction of groups", "", f"Groups of the fused schedule that cover {100 * COVERED:.0f} % of the cycles (target: each within "
            f"{100 * GROUP_ERROR:.0f} %). A group's time begins where the groups before it end, in the prediction as in the "
            "run; so a weight that comes later than expected is an error of two groups.", ""] + table(
        ["network", "channels", "groups", "within", "of their cycles", "worst", "which"], rows)


def depthwise(run):
    report, rows = run.simulate(DEPTHWISE, "fused"), []
    for layer in report["layers"] if good(report) else []:
        limit = layer.get("limit")
        if limit is None or layer["macs_useful"] == 0 or "depthwise" not in layer["name"]:
            continue
        busy = sum(cycles for unit, cycles in layer["busy"].items() if "conv" in unit)
        parts = {part: limit[part] for part in ("array", "window", "weights", "drain")}
        rows.append([layer["name"]] + [f"{cycles:,}" for cycles in parts.values()] +
                    [limit["by"], f"{limit['cycles']:,}", f"{busy:,}", ratio(busy, max(parts.values()))])
    return ["## Depthwise layers", "", f"{DEPTHWISE}, engine cycles (both engines together): what the layer's instructions would take if only "
            "one part of the engine took time (array: the mode's closed form; window: port A, pixels of a line that meet in a window "
            "bank one after the other; weights: port W; drain: port O), their closed form, and what the engines were busy. "
            "The report's `layers[].limit` has these for every convolution.", ""] + table(
        ["layer", "array", "window", "weights", "drain", "limit", "closed form", "busy", "busy / limit"], rows)


def byte_share():
    """What the choice of a schedule counts DRAM time beside its cycles (one image)."""
    with open(os.path.join(ROOT, "compiler", "driver", "choose_schedule.cpp"), encoding="utf-8") as file:
        return float(re.search(r"kByteShare = ([\d.]+)", file.read())[1])


def candidates(run):
    """What the search finds under other efforts and depths: the five best by what it looks for, simulated."""
    ways = [["--effort", str(e)] for e in (0, 2, 3)] + [["--fuse-depth", str(d)] for d in (1, 2, 3, 4, 6)]
    share, rows = byte_share(), []
    for name, kib in CANDIDATES:
        chosen, bounds = run.simulate(name, "fused", kib), run.bounds(name, kib)
        found = [("chosen", chosen)] + [(" ".join(w), run.simulate(name, "fused", kib, extra=w)) for w in ways]
        found = [f for f in found + [("--schedule layer", run.simulate(name, "layer", kib))] if good(f[1])]
        if not good(chosen) or not bounds:
            rows.append([name, f"{kib:,}", "-", cycles_cell(chosen)] + ["-"] * 4)
            continue
        weight = share / bounds["stream"]["sustained_bytes_per_cycle"]
        worth = lambda report: report["cycles"] + weight * moved(report)
        best = sorted(found, key=lambda f: f[1]["predicted"]["cycles"] + weight * f[1]["predicted"]["dram_bytes"])[:5]
        for way, report in best:
            rows.append([name, f"{kib:,}", way, f"{report['predicted']['cycles']:,}", f"{report['cycles']:,}", f"{moved(report):,}",
                         f"{worth(report):,.0f}", f"{100 * (worth(report) / worth(chosen) - 1):+.1f} %"])
        least = min(worth(report) for _, report in best)
        rows.append([name, f"{kib:,}", "**chosen against the best of these**", "", "", "", f"{worth(chosen):,.0f}",
                     f"{100 * (worth(chosen) / least - 1):+.1f} % (target 5 %)"])
    return ["## Candidates", "", "The five best by prediction of what the search finds with other efforts and depths. Best is what the search looks for: "
            f"cycles and, {share:g} times, the cycles that the bytes take on the DRAM (*weighed*), so that a little SRAM is not paid for in "
            "bandwidth. A candidate may therefore have fewer cycles and lose.", ""] + table(
        ["network", "KiB", "candidate", "predicted cycles", "simulated cycles", "bytes", "weighed, simulated", "against chosen"], rows)


def draw(data):
    """Two panels a network, bytes and cycles, over the SRAM's logarithm; no plotting package needed."""
    width, height, left, top = 360, 220, 70, 30
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{2 * width}" height="{len(data) * height}" '
           'font-family="sans-serif" font-size="11">', '<rect width="100%" height="100%" fill="white"/>']
    series = [("layer", "#888888"), ("fused", "#0060c0"), ("bound", "#c04000")]
    for row, (name, points) in enumerate(data.items()):
        for column, what in enumerate(("bytes", "cycles")):
            value = moved if what == "bytes" else (lambda r: r["cycles"])
            curves_ = [[(i, value(p[1])) for i, p in enumerate(points) if good(p[1])],
                       [(i, value(p[2])) for i, p in enumerate(points) if good(p[2])],
                       [(i, p[3 if column == 0 else 4]) for i, p in enumerate(points) if p[3 if column == 0 else 4]]]
            most = max((v for c in curves_ for _, v in c), default=1)
            x0, y0 = column * width + left, row * height + top
            w, h = width - left - 20, height - top - 45
            out.append(f'<text x="{x0}" y="{y0 - 10}" font-weight="bold">{name}: {what}</text>')
            out.append(f'<path d="M{x0} {y0}V{y0 + h}H{x0 + w}" fill="none" stroke="black"/>')
            for part in (0, 0.5, 1):
                out.append(f'<text x="{x0 - 5}" y="{y0 + h - part * h + 4:.0f}" text-anchor="end">{part * most / 1e6:.2f} M</text>')
            for i, p in enumerate(points):
                x = x0 + w * i / (len(points) - 1)
                label = f"{p[0] // 1024} M" if p[0] >= 1024 else f"{p[0]} K"
                out.append(f'<text x="{x:.0f}" y="{y0 + h + 14}" text-anchor="middle">{label}</text>')
            for k, ((label, colour), curve) in enumerate(zip(series, curves_)):
                at = " ".join(f"{x0 + w * i / (len(points) - 1):.1f},{y0 + h - h * v / most:.1f}" for i, v in curve)
                out.append(f'<polyline points="{at}" fill="none" stroke="{colour}" stroke-width="2"/>')
                out.append(f'<text x="{x0 + 70 * k}" y="{y0 + h + 30}" fill="{colour}">{label}</text>')
    with open(PLOT, "w", encoding="utf-8") as file:
        file.write("\n".join(out + ["</svg>"]) + "\n")


PARTS = {"targets": targets, "schedules": schedules, "everywhere": everywhere, "lookahead": lookahead, "prediction": prediction,
         "groups": group_prediction, "depthwise": depthwise, "candidates": candidates, "curves": curves}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--models", default=os.path.join(ROOT, "..", "shared", "models"))
    parser.add_argument("--tessera", default=os.path.join(ROOT, "build", "tessera"))
    parser.add_argument("--work", default=os.path.join(ROOT, "build", "fusion_curves"))
    parser.add_argument("--only", default=",".join(PARTS))
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--page", action="store_true")
    options = parser.parse_args()
    unknown = set(options.only.split(",")) - set(PARTS)
    if unknown:
        sys.exit(f"fusion_curves: --only {','.join(sorted(unknown))}: expected parts of {', '.join(PARTS)}")
    run = Runner(options)
    asked = options.only.split(",")
    if not options.page:
        run.run_all([PARTS[name] for name in asked], options.jobs)
    parts = {name: PARTS[name](run) for name in asked}
    if set(parts) != set(PARTS):
        print("\n".join(line for lines in parts.values() for line in lines))
        return
    with open(PAGE, encoding="utf-8") as file:
        page = file.read()
    head, rest = page.split(BEGIN)
    tail = rest.split(END)[1]
    with open(PAGE, "w", encoding="utf-8") as file:
        file.write(head + BEGIN + "\n\n" + "\n".join(line for lines in parts.values() for line in lines) + END + tail)


if __name__ == "__main__":
    main()
