# SPDX-License-Identifier: Apache-2.0
"""Which files belong to the repository: what the checks in tools/ walk over."""
import argparse
import os
import pathlib
import re
import subprocess
import sys

NOT_OURS = {".git", ".venv", ".cache", "__pycache__", "build", "models"}


def repository_root():
    return pathlib.Path(__file__).resolve().parent.parent


def repository_files(root):
    """Files under `root` as relative posix paths, sorted: tracked ones and new ones that git does not
    ignore; in a tree without git all but build outputs."""
    command = ["git", "-C", str(root), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    if (root / ".git").exists():
        listing = subprocess.run(command, capture_output=True, check=False)
        if listing.returncode == 0:
            names = {name for name in listing.stdout.decode().split("\0") if name}
            return sorted(name for name in names if (root / name).is_file())
    found = []
    for folder, subfolders, names in os.walk(root):
        subfolders[:] = [name for name in subfolders if name not in NOT_OURS]
        found += [(pathlib.Path(folder) / name).relative_to(root).as_posix() for name in names]
    return sorted(found)


def read_lines(root, name):
    return (root / name).read_text(encoding="utf-8", errors="replace").splitlines()


def is_generated(root, name):
    """A file that a script of ours wrote and says so among its first ten lines."""
    return any(re.search(r"(Generated|Written) by tools/", line) for line in read_lines(root, name)[:10])


def is_script(root, name):
    """A file without an extension that begins with #!, such as scripts/setup."""
    if pathlib.PurePosixPath(name).suffix:
        return False
    with open(root / name, "rb") as file:
        return file.read(2) == b"#!"


def run_check(find_problems, description):
    """The main function of a check: prints each problem as `path:line: sentence`, exits 1 if any."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--root", type=pathlib.Path, default=repository_root(),
                        help="tree to check (default: the repository of this script)")
    problems = find_problems(parser.parse_args().root.resolve())
    for problem in problems:
        print(problem)
    sys.exit(1 if problems else 0)
