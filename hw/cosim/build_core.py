"""Verilates the core, or one unit of it, for one chip shape into a shared library behind hw/cosim/core_api.hpp or
unit_api.hpp.

usage: build_core.py SHAPE OUT.so [QUEUE] [KEY=VALUE]...
       build_core.py --name SHAPE [KEY=VALUE]...

SHAPE is a chip file (.json) or a text of key=value lines with the keys that the RTL sees (generate_chip_package.py);
KEY=VALUE overrides one of them; QUEUE the queue id of the one unit. --name prints the file name that the build tree uses for the shape. Needs verilator and g++ (or $CXX); ccache is used
when it is there. The library is written beside OUT.so and renamed, so that it appears whole or not at all.
"""
import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "hw" / "rtl"))
import generate_chip_package as chip_package  # noqa: E402  (the path comes first)

VERILATOR = ["--cc", "-Wall", "-O3", "--x-assign", "fast", "--x-initial", "fast"]
# Classes that run once (constructors, initial blocks) are not worth an optimiser's time.
OPTIMISE = {"FAST": os.environ.get("TESSERA_RTL_OPTIMISE", "-O1"), "SLOW": "-O0"}


def need(program):
    path = shutil.which(program)
    if path is None:
        sys.exit(f"{program}: not found; it is needed to build the RTL of this chip (scripts/setup.sh installs it)")
    return path


def run(command, folder=None):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, cwd=folder)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command[:2]))} ... failed:\n{done.stdout}")


def fnv64(text):
    """As hw/common/hash.hpp."""
    state = 0xcbf29ce484222325
    for byte in text.encode():
        state = (state ^ byte) * 0x100000001b3 % 2**64
    return state


def classes(makefile):
    """Names that Verilator wants compiled, by FAST and SLOW."""
    found = {"FAST": [], "SLOW": []}
    text = makefile.read_text(encoding="utf-8").replace("\\\n", " ")
    for kind, speed, names in re.findall(r"^VM_(CLASSES|SUPPORT|GLOBAL)_(FAST|SLOW) \+= *(.*)$", text, re.MULTILINE):
        folder = pathlib.Path(verilator_root(), "include") if kind == "GLOBAL" else pathlib.Path(makefile.parent.name)
        found[speed] += [folder / f"{name}.cpp" for name in names.split()]
    return found


def verilator_root():
    done = subprocess.run([need("verilator"), "--getenv", "VERILATOR_ROOT"], stdout=subprocess.PIPE, text=True,
                          check=True)
    return done.stdout.strip()


def build(values, out, queue):
    cosim = ROOT / "hw" / "cosim"
    if queue is None:
        top, exported = "tessera_core", "tessera_core_api"
        sources, wrapper = ["--assert", cosim / "observe.vlt"], cosim / "core_library.cpp"
    else:
        top, exported = "tessera_unit_bench", "tessera_unit_api"
        # The packages hold constants of the whole core. No assertions, which the whole core checks: Verilator 5.006 does
        # not declare the counter with which it would sample a pin as wide as head_i.
        sources = ["-Wno-UNUSEDPARAM", f"-GQueue={queue}", cosim / "tessera_unit_bench.sv"]
        wrapper = cosim / "unit_library.cpp"
    verilator, compiler = need("verilator"), need(os.environ.get("CXX", "g++"))
    launcher = [shutil.which("ccache")] if shutil.which("ccache") else []
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f"{out.name}.", dir=out.parent) as name:
        work = pathlib.Path(name)
        run([sys.executable, ROOT / "isa" / "generate.py", "--out", work])
        chip_package.write(values, work)
        rtl = [ROOT / line for line in (ROOT / "hw" / "rtl" / "files.f").read_text(encoding="utf-8").split()]
        run([verilator, *VERILATOR, "--prefix", f"V{top}", "--top-module", top, "--Mdir", work / "obj",
             ROOT / "hw" / "rtl" / "lint_waivers.vlt", work / "tessera_isa_pkg.sv", work / "tessera_chip_pkg.sv", *rtl,
             *sources])
        include = pathlib.Path(verilator_root(), "include")
        # Hidden and not unique: two shapes in one process must not share Verilator's classes. Paths are relative, so
        # that ccache knows the same RTL again.
        flags = ["-std=c++17", "-fPIC", "-fvisibility=hidden", "-fno-gnu-unique", "-w", "-DVL_USER_STOP",
                 "-DVM_COVERAGE=0", "-DVM_SC=0", "-DVM_TRACE=0", "-DVM_TRACE_FST=0", "-DVM_TRACE_VCD=0",
                 f"-I{include}", f"-I{include}/vltstd", "-Iobj", "-I.", f"-I{ROOT}"]
        jobs = [(wrapper, "FAST")]
        for speed, files in classes(work / "obj" / f"V{top}_classes.mk").items():
            jobs += [(file, speed) for file in files]
        objects = [f"{index}.o" for index in range(len(jobs))]

        def compile_one(index):
            source, speed = jobs[index]
            run([*launcher, compiler, *flags, OPTIMISE[speed], "-c", source, "-o", objects[index]], work)

        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            list(pool.map(compile_one, range(len(jobs))))
        (work / "exports").write_text(f"{{ global: {exported}; local: *; }};\n", encoding="utf-8")
        run([compiler, "-shared", "-o", "library.so", "-Wl,--version-script=exports", *objects, "-lpthread"], work)
        os.replace(work / "library.so", out)


def main(arguments):
    overrides = [argument for argument in arguments if "=" in argument]
    arguments = [argument for argument in arguments if "=" not in argument]
    if len(arguments) not in (2, 3):
        sys.exit(__doc__)
    only_name = arguments[0] == "--name"
    values = chip_package.read_values(arguments[1 if only_name else 0], overrides)
    if only_name:
        print(f"core-{fnv64(chip_package.shape_text(values)):016x}.so")
    else:
        build(values, pathlib.Path(arguments[1]).absolute(), int(arguments[2]) if len(arguments) == 3 else None)


if __name__ == "__main__":
    main(sys.argv[1:])
