#!/usr/bin/env python3
"""Writes docs/networks.md: what today's networks cost on two chips, and what int8 costs them in accuracy.

usage: scripts/network_tables.py [MODELS]      (default ../shared/models; needs build/tessera)

Part 1 runs every network through `tessera simulate` (with values and both oracles where it has real weights, timing only
where it has none) and takes MACs, cycles and the host's share of time and bytes from the report. Part 2 quantises the
torch_* networks with their calibration samples, evaluates them on the test samples, and prints the cosine to the float
outputs, beside a control whose input pixels are permuted: a cosine means something only where the control is low.
"""
import array
import ast
import json
import math
import os
import random
import struct
import subprocess
import sys
import tempfile
import zipfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TESSERA = os.path.join(ROOT, "build", "tessera")
VALUED = ["light/light_shufflenet.onnx"] + [f"models/{name}/model.onnx" for name in (
    "torch_mnv2_w025_96_op11", "torch_shufflenet_64_op9", "torch_mnv3_96_op14", "torch_lraspp_64_op13",
    "torch_convnext_64_op13", "torch_pointpillars_rpn_small_op11", "torch_swin_56_op13", "torch_vit_64_op14",
    "emmtrix_micro_kws_m_static_fp32", "emmtrix_micro_kws_m_static_qdq", "espdl_model", "nemo_NAS_Frontnet",
    "yunet_s_320_320", "ultraface_version-slim-320_simplified", "zoo_mnist_cntk", "qonnx_residual_block_clean")]
STRUCTURE = ["efficientnet_b0_224_op13", "mobilenet_v3_large_dyn_op14", "resnet18_720p_op17",
             "pointpillars_rpn_kitti_496x432_op11", "swin_t_224_op13", "vit_b_16_224_op14"]
SHAPES = {"mobilenet_v3_large_dyn_op14": "1x3x224x224", "emmtrix_micro_kws_m_static_qdq": "1x1960"}
TYPES = {"<f4": "f", "<i8": "q", "<i4": "i", "|i1": "b", "|u1": "B"}


def name_of(path):
    return os.path.basename(os.path.dirname(path)) if path.endswith("/model.onnx") else os.path.basename(path)[:-5]


def simulate(model, chip, folder, arguments):
    report = os.path.join(folder, "report.json")
    shape = SHAPES.get(name_of(model))
    command = [TESSERA, "simulate", model, "--chip", chip, "--report", report] + arguments
    command += ["--shape", shape] if shape else []
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        return None, done.stderr.strip().splitlines()[-1]
    with open(report, encoding="utf-8") as file:
        return json.load(file), ""


def row(model, chip, folder, arguments, macs):
    report, refusal = simulate(model, chip, folder, arguments)
    if report is None:
        return f"| {name_of(model)} | {chip} | refused: {refusal} | | | | |"
    compare = report.get("compare", {})
    equal = "equal" if compare and all(c["equal"] for c in compare.values()) else ("DIFFERENT" if compare else "timing")
    wanted = macs.get(name_of(model))
    useful = report["macs"]["useful"]
    check = "" if wanted in (None, useful) else f" (index: {wanted:,})"
    dram = report["dram"]
    moved = dram["read_bytes"] + dram["write_bytes"]
    host = sum(unit["busy"] for name, unit in report["units"].items() if name == "host")
    return (f"| {name_of(model)} | {chip} | {equal} | {useful:,}{check} | {report['cycles']:,} | "
            f"{100 * host / report['cycles']:.1f} % | {100 * dram['by_kind']['host'] / moved:.1f} % |")


def read_npy(data):
    """Shape and flat values of a C-ordered .npy."""
    (length,) = struct.unpack_from("<H", data, 8)
    header = ast.literal_eval(data[10:10 + length].decode("latin1"))
    values = array.array(TYPES[header["descr"]])
    values.frombytes(data[10 + length:])
    return header["shape"], values


def write_npy(path, shape, values):
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {tuple(shape)}, }}"
    header += " " * (63 - (10 + len(header)) % 64) + "\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode("latin1"))
        file.write(array.array("f", values).tobytes())


def cosine(a, b):
    dot = sum(x * y for x, y in zip(a, b))
    norm = math.sqrt(sum(x * x for x in a) * sum(y * y for y in b))
    return dot / norm if norm else 0.0


def evaluate(model, inputs, folder):
    out = os.path.join(folder, "out")
    command = [TESSERA, "eval", model, "-o", out]
    for name, path in inputs.items():
        command += ["--input", f"{name}={path}"]
    subprocess.run(command, check=True, capture_output=True)
    outputs = {}
    for file in os.listdir(out):
        with open(os.path.join(out, file), "rb") as opened:
            outputs[file[:-4]] = read_npy(opened.read())[1]
    return outputs


def output_of(expected, names, outputs):
    """The output that `expect_<i>` or `expect_<i>_<name>` means; `names` in the model's order."""
    return outputs[names[int(expected.split("_")[1])].replace("/", "~")]


def accuracy_row(directory, names, folder):
    quantised = os.path.join(folder, "q.onnx")
    golden = os.path.join(directory, "golden.npz")
    subprocess.run([TESSERA, "quantize", os.path.join(directory, "model.onnx"), "-o", quantised, "--calib", golden],
                   check=True, capture_output=True)
    with zipfile.ZipFile(golden) as archive:
        arrays = {name[:-4]: read_npy(archive.read(name)) for name in archive.namelist()}
    tests = {name[5:]: value for name, value in arrays.items() if name.startswith("test_")}
    samples = min(shape[0] for shape, _ in tests.values())
    straight, control = [], []
    for i in range(samples):
        for permuted, into in ((False, straight), (True, control)):
            inputs = {}
            for name, (shape, values) in tests.items():
                size = len(values) // shape[0]
                part = list(values[i * size:(i + 1) * size])
                if permuted:
                    random.Random(i).shuffle(part)
                inputs[name.replace("~", "/")] = os.path.join(folder, "in.npy")
                write_npy(os.path.join(folder, "in.npy"), shape[1:], part)
            outputs = evaluate(quantised, inputs, folder)
            for name, (shape, values) in arrays.items():
                if name.startswith("expect_"):
                    size = len(values) // shape[0]
                    into.append(cosine(values[i * size:(i + 1) * size], output_of(name, names, outputs)))
    mean = lambda values: sum(values) / len(values)
    return (f"| {os.path.basename(directory)} | {samples} | {mean(straight):.4f} | {min(straight):.4f} | "
            f"{mean(control):.4f} |")


def main():
    models = sys.argv[1] if len(sys.argv) > 1 else os.path.join(ROOT, "..", "shared", "models")
    if not os.path.isdir(models):
        sys.exit(f"network_tables: SKIPPED: {models} is absent")
    with open(os.path.join(models, "index.json"), encoding="utf-8") as file:
        index = {m["name"]: m for m in json.load(file)}
    macs = {name: m["macs"] for name, m in index.items() if "macs" in m}
    lines = ["# Networks of today", "",
             "Written by `scripts/network_tables.py`. *equal*: graph == reference == tlm, bit for bit; *timing*: the",
             "model's weights are constants, cycles only. Host: nodes without an NPU form, named and charged.", "",
             "| network | chip | values | useful MACs | cycles | host time | host bytes |", "|---|---|---|---|---|---|---|"]
    with tempfile.TemporaryDirectory() as folder:
        for model in VALUED:
            arguments = ["--compare", "graph,reference"] + (["--randomize-weights", "1"] if "light" in model else [])
            for chip in ("tiny", "a1000"):
                lines.append(row(os.path.join(models, model), chip, folder, arguments, macs))
        for name in STRUCTURE:
            lines.append(row(os.path.join(models, "structure", name + ".onnx"), "a1000", folder, ["--timing-only"], macs))
        lines += ["", "# Accuracy of int8", "",
                  "Cosine between the float outputs (golden) and the int8 network's, min-max calibration on the given",
                  "samples; control: the same with the pixels of the input permuted.", "",
                  "| network | samples | mean cosine | worst | control |", "|---|---|---|---|---|"]
        for name in sorted(os.listdir(os.path.join(models, "models"))):
            if name.startswith("torch_"):
                outputs = [text.split("[")[0] for text in index[name]["outputs"]]
                lines.append(accuracy_row(os.path.join(models, "models", name), outputs, folder))
    with open(os.path.join(ROOT, "docs", "networks.md"), "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
