#!/usr/bin/env python3
"""Feeds broken device files to generate_devices.py: each must be refused with file, key and what is legal."""
import copy
import json
import os
import subprocess
import sys
import tempfile
import unittest

GENERATOR, DEVICE = sys.argv[1], sys.argv[2]


class Devices(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        with open(DEVICE, encoding="utf-8") as file:
            self.device = json.load(file)

    def tearDown(self):
        self.folder.cleanup()

    def generate(self, text):
        path = os.path.join(self.folder.name, os.path.basename(DEVICE))
        out = os.path.join(self.folder.name, "out.cpp")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        done = subprocess.run([sys.executable, "-B", GENERATOR, out, path], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode == 0, os.path.exists(out), "a refused file must leave no output")
        return done.returncode, done.stderr.replace(path, "FILE")

    def refuse(self, change, message):
        device = copy.deepcopy(self.device)
        change(device)
        code, text = self.generate(json.dumps(device))
        self.assertNotEqual(code, 0)
        self.assertIn(message, text)

    def test_the_shipped_file_is_taken(self):
        self.assertEqual(self.generate(json.dumps(self.device)), (0, ""))

    def test_keys(self):
        self.refuse(lambda d: d.update(rowz=1), "FILE: /rowz: unknown; legal: ")
        self.refuse(lambda d: d.pop("rows"), "FILE: /rows: missing")
        self.refuse(lambda d: d["timings"].update(tRCD={"clocks": 1, "source": "x"}), "FILE: /timings/tRCD: unknown")
        self.refuse(lambda d: d["timings"].pop("FAW"), "FILE: /timings/FAW: missing")
        code, text = self.generate(json.dumps(self.device).replace('"tck_fs"', '"rows": 1, "tck_fs"', 1))
        self.assertNotEqual(code, 0)
        self.assertIn("FILE: rows: given twice", text)

    def test_values(self):
        for value in (0, -1, 1.5, "8", True):
            self.refuse(lambda d, v=value: d.update(rows=v), f"FILE: /rows = {value}: expected a positive integer")
        self.refuse(lambda d: d["timings"]["RCD"].update(clocks=2.5), "/timings/RCD/clocks = 2.5: expected a non-negative integer")
        self.refuse(lambda d: d["timings"]["RCD"].update(source=""), "FILE: /timings/RCD/source: empty")
        self.refuse(lambda d: d.update(name="other"), "FILE: /name = other: expected the name of the file")
        self.refuse(lambda d: d.update(schema="x"), "FILE: /schema = x: expected tessera.dram_device/1")

    def test_text_that_is_no_json(self):
        code, text = self.generate(json.dumps(self.device, indent=1)[:200])
        self.assertNotEqual(code, 0)
        self.assertRegex(text, r"FILE: line \d+: ")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
