#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every test and fuzz source is named in a CMakeLists.txt: a test that is not built guards nothing."""
import pathlib
import re

from repo_files import repository_files, run_check

TEST_SOURCE = re.compile(r"(_test|_fuzz)\.(cc|cu)$|^tests/regression/.*\.cc$|^tests/fuzz/.*\.cc$")


def listed_sources(root, cmake_file):
    """The sources a CMakeLists.txt names, as paths from the root."""
    text = re.sub(r"#.*", "", (root / cmake_file).read_text(encoding="utf-8"))
    folder = pathlib.PurePosixPath(cmake_file).parent
    return {(folder / word).as_posix() for word in re.findall(r"[\w./-]+\.(?:cc|cu)\b", text)}


def is_reached(cmake_file, cmake_texts):
    """Whether the CMakeLists.txt of each parent folder up to tests/ adds this one."""
    folder = pathlib.PurePosixPath(cmake_file).parent
    below = folder
    while below.as_posix() != "tests":
        above = below.parent
        text = cmake_texts.get((above / "CMakeLists.txt").as_posix())
        if text is not None:
            relative = folder.relative_to(above).as_posix()
            if not re.search(rf"add_subdirectory\(\s*{re.escape(relative)}\s*\)", text):
                return False
            folder = above
        below = above
    return True


def find_problems(root):
    names = [name for name in repository_files(root) if name.startswith("tests/")]
    cmake_texts = {name: re.sub(r"#.*", "", (root / name).read_text(encoding="utf-8"))
                   for name in names if name.endswith("CMakeLists.txt")}
    listed, problems = set(), []
    for cmake_file in cmake_texts:
        listed |= listed_sources(root, cmake_file)
        if not is_reached(cmake_file, cmake_texts):
            problems.append(f"{cmake_file}:1: no CMakeLists.txt above adds this folder")
    for name in names:
        if TEST_SOURCE.search(name) and name not in listed:
            problems.append(f"{name}:1: no CMakeLists.txt names this test, so it is never built")
    return problems


if __name__ == "__main__":
    run_check(find_problems, __doc__)
