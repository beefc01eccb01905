#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Vector registers are used by the units of an instruction set alone.

Looks at the objects under BUILD/src. The units of src/backend/cpu/avx2 may use ymm registers and, like
those of the wider sets, must define no weak symbol: of two copies of an inline function the linker keeps
one for everybody, and it might be the one that not every machine can run. All other objects use neither
ymm nor zmm registers. Exits 77, a skip, where there is nothing to look at.
"""
import argparse
import concurrent.futures
import pathlib
import re
import shutil
import subprocess
import sys

# Folder of src/backend/cpu -> the registers that its units may use beside xmm.
INSTRUCTION_SETS = {"avx2": {"ymm"}, "avx_vnni": {"ymm"}, "avx512": {"ymm", "zmm"},
                    "avx512_vnni": {"ymm", "zmm"}, "amx": {"ymm", "zmm"}}

SKIP = 77


def instruction_set_of(path):
    """'avx2' for .../backend_cpu.dir/avx2/table.cc.o, None for what every machine runs."""
    return next((part for part in pathlib.PurePath(path).parts if part in INSTRUCTION_SETS), None)


def wide_registers(disassembly):
    return set(re.findall(r"%([yz]mm)\d", disassembly))


def weak_symbols(listing):
    """Names of what `nm` lists as weak or unique, and defined."""
    return [line.split()[-1] for line in listing.splitlines() if re.match(r"[0-9a-f]+ [VWu] ", line)]


def output_of(*command):
    return subprocess.run(command, capture_output=True, check=True).stdout.decode(errors="replace")


def problems_of(path):
    instruction_set = instruction_set_of(path)
    allowed = INSTRUCTION_SETS.get(instruction_set, set())
    found = wide_registers(output_of("objdump", "--disassemble", "--no-show-raw-insn", str(path)))
    problems = [f"{path}: uses {name} registers" for name in sorted(found - allowed)]
    if instruction_set:
        problems += [f"{path}: defines the weak symbol {name}" for name in weak_symbols(output_of("nm", str(path)))]
    return problems


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("build", type=pathlib.Path, metavar="BUILD", help="build folder")
    objects = sorted((parser.parse_args().build / "src").rglob("*.o"))
    if not objects or not shutil.which("objdump") or not shutil.which("nm"):
        print("no objects, or no binutils to look into them")
        sys.exit(SKIP)
    with concurrent.futures.ThreadPoolExecutor(max_workers=2) as pool:
        problems = [problem for found in pool.map(problems_of, objects) for problem in found]
    for problem in problems:
        print(problem)
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
