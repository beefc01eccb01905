# SPDX-License-Identifier: Apache-2.0
"""Objects that a compiler made for a wider instruction set than their folder says are found."""
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

from tree import TOOLS

WIDE = """
#include <immintrin.h>
void twice(float* x) { _mm256_storeu_ps(x, _mm256_add_ps(_mm256_loadu_ps(x), _mm256_loadu_ps(x))); }
"""
WIDEST = """
#include <immintrin.h>
void twice(float* x) { _mm512_storeu_ps(x, _mm512_add_ps(_mm512_loadu_ps(x), _mm512_loadu_ps(x))); }
"""
WEAK = "inline __attribute__((noinline)) int f() { return 1; }\nint g() { return f(); }\n"


@unittest.skipUnless(shutil.which("g++") and shutil.which("objdump"), "no g++ or no objdump")
class CheckInstructionSetsTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.build = pathlib.Path(self.folder.name)

    def compile(self, name, source, *flags):
        path = self.build / "src" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        made = subprocess.run(["g++", "-O2", *flags, "-x", "c++", "-c", "-", "-o", path],
                              input=source.encode(), capture_output=True, check=False)
        if made.returncode != 0:
            self.skipTest(made.stderr.decode())

    def problems(self):
        done = subprocess.run([sys.executable, TOOLS / "check_instruction_sets.py", self.build],
                              capture_output=True, check=False)
        lines = done.stdout.decode().replace(f"{self.build}/src/", "").splitlines()
        return done.returncode, lines

    def test_wide_registers_in_their_own_folder_pass(self):
        self.compile("cpu/avx2/a.o", WIDE, "-mavx2")
        self.compile("cpu/avx512/a.o", WIDEST, "-mavx512f")
        self.compile("cpu/plain.o", "int f() { return 1; }")
        self.assertEqual(self.problems(), (0, []))

    def test_wide_registers_elsewhere_are_named(self):
        self.compile("cpu/a.o", WIDE, "-mavx2")
        self.compile("cpu/avx2/a.o", WIDEST, "-mavx512f")
        self.assertEqual(self.problems(), (1, ["cpu/a.o: uses ymm registers",
                                               "cpu/avx2/a.o: uses zmm registers"]))

    def test_an_inline_function_of_an_instruction_set_is_named(self):
        self.compile("cpu/avx2/a.o", WEAK)
        self.compile("cpu/a.o", WEAK)
        self.assertEqual(self.problems(), (1, ["cpu/avx2/a.o: defines the weak symbol _Z1fv"]))

    def test_nothing_to_look_at_is_a_skip(self):
        self.assertEqual(self.problems()[0], 77)


if __name__ == "__main__":
    unittest.main()
