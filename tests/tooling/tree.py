# SPDX-License-Identifier: Apache-2.0
"""A small tree of files in a temporary folder, and a check of tools/ run on it."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

TOOLS = pathlib.Path(__file__).resolve().parents[2] / "tools"


class TreeTest(unittest.TestCase):
    check = ""  # the script under test

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)

    def write(self, name, text=""):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def run_check(self, *options):
        """(exit status, lines of output)"""
        done = subprocess.run([sys.executable, str(TOOLS / self.check), "--root", str(self.root), *options],
                              capture_output=True, text=True, check=False, timeout=60)
        self.assertEqual(done.stderr, "")
        return done.returncode, done.stdout.splitlines()

    def assert_clean(self):
        self.assertEqual(self.run_check(), (0, []))

    def assert_problems(self, *expected):
        status, lines = self.run_check()
        self.assertEqual(lines, list(expected))
        self.assertEqual(status, 1)
