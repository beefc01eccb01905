#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every source, script and CMake file names the licence in its first three lines."""
import pathlib

from repo_files import is_script, read_lines, repository_files, run_check

LICENCE_LINE = "SPDX-License-Identifier: Apache-2.0"
SUFFIXES = {".c", ".cc", ".h", ".cu", ".cuh", ".inc", ".cmake", ".py", ".sh", ".js", ".mjs", ".css", ".html"}


def needs_licence(root, name):
    path = pathlib.PurePosixPath(name)
    if name.startswith(("tests/data/", "tests/fuzz/corpus/")):
        return False
    return path.suffix in SUFFIXES or path.name == "CMakeLists.txt" or is_script(root, name)


def find_problems(root):
    problems = []
    for name in repository_files(root):
        if not needs_licence(root, name):
            continue
        lines = read_lines(root, name)
        if lines and not any(LICENCE_LINE in line for line in lines[:3]):
            problems.append(f"{name}:1: no line '{LICENCE_LINE}' among the first three")
    return problems


if __name__ == "__main__":
    run_check(find_problems, __doc__)
