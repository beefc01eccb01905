#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every C++ and CUDA source is as clang-format 14 writes it. `--fix` rewrites those that are not. Exits
77 (skipped, for ctest) where clang-format-14 is not installed: other versions format differently."""
import argparse
import os
import pathlib
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

from repo_files import is_generated, repository_files, repository_root

SUFFIXES = {".cc", ".h", ".cu", ".cuh"}
SKIPPED = 77
FILES_PER_RUN = 20  # one process start, ~30 ms, for many files


def sources(root):
    for name in repository_files(root):
        if pathlib.PurePosixPath(name).suffix not in SUFFIXES or name.startswith("tests/data/"):
            continue
        if not is_generated(root, name):
            yield name


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", type=pathlib.Path, default=repository_root())
    parser.add_argument("--fix", action="store_true", help="rewrite files in place")
    args = parser.parse_args()
    tool = shutil.which("clang-format-14")
    if tool is None:
        print("skipped: clang-format-14 is not installed (scripts/setup --tests installs it)")
        return SKIPPED
    names = list(sources(args.root))
    action = ["-i"] if args.fix else ["--dry-run", "-Werror"]
    batches = [names[i:i + FILES_PER_RUN] for i in range(0, len(names), FILES_PER_RUN)]

    def run(batch):
        return subprocess.run([tool, "--style=file", *action, *batch], cwd=args.root, check=False).returncode

    with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        failed = any([code != 0 for code in pool.map(run, batches)])
    if failed:
        print("mend with: tools/check_format.py --fix")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
