"""A copy of the RTL's sources that is Verilated in their place (TESSERA_RTL_ROOT), lock-step runs on it, and the part
of a page that a script writes."""
import os
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
SECONDS_OF_A_RUN = 3600


def rtl_files():
    return [ROOT / line for line in (ROOT / "hw/rtl/files.f").read_text(encoding="utf-8").split()]


def copy_sources(tree):
    for folder in ("hw/rtl", "hw/cosim", "isa"):
        shutil.copytree(ROOT / folder, tree / folder, dirs_exist_ok=True)


def patch(tree, names, old, new):
    """Replaces a text that has to stand in just one of the files."""
    files = [tree / name for name in names if (tree / name).exists()]
    holders = [file for file in files if old in file.read_text(encoding="utf-8")]
    if len(holders) != 1:
        sys.exit(f"'{old}' was expected in one of {', '.join(names)}")
    holders[0].write_text(holders[0].read_text(encoding="utf-8").replace(old, new), encoding="utf-8")


def write_part(page, name, text):
    """Replaces what stands between the page's two lines of that name."""
    begin, end = f"<!-- {name}: written by the script -->", f"<!-- end of {name} -->"
    old = page.read_text(encoding="utf-8")
    if old.count(begin) != 1 or old.count(end) != 1:
        sys.exit(f"'{begin}' and '{end}' were expected in {page}")
    pattern = re.escape(begin) + ".*?" + re.escape(end)
    new = re.sub(pattern, lambda _: f"{begin}\n{text.strip()}\n{end}", old, flags=re.DOTALL)
    page.write_text(new, encoding="utf-8")


class Lockstep:
    """Runs `tessera lockstep` with the RTL of the copy; libraries go beside it."""

    def __init__(self, tessera, chip, tree):
        self.tessera, self.chip = tessera, chip
        self.environment = {**os.environ, "TESSERA_RTL_ROOT": str(tree),
                            "TESSERA_RTL_CACHE": str(tree.parent / "cache")}

    def run(self, first, count, **variables):
        """(exit code, output) of `count` programs from seed `first` on."""
        command = [self.tessera, "lockstep", "--random", str(count), "--seed", str(first), "--chip", self.chip,
                   "--no-shrink"]
        try:
            done = subprocess.run(command, env={**self.environment, **variables}, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, text=True, check=False, timeout=SECONDS_OF_A_RUN)
        except subprocess.TimeoutExpired:
            return 1, f"no end within {SECONDS_OF_A_RUN} s"
        return done.returncode, done.stdout + done.stderr
