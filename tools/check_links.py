#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Relative links in documents lead somewhere, anchors of headings included."""
import re

from repo_files import read_lines, repository_files, run_check

LINK = re.compile(r"\[[^\]\n]*\]\(\s*<?([^)>\s]+)>?(?:\s+\"[^\"]*\")?\s*\)")
ELSEWHERE = re.compile(r"^([a-z][a-z0-9+.-]*:|//)", re.IGNORECASE)


def lines_of_prose(root, name):
    """(line number, text) without fenced blocks and inline code."""
    fenced = False
    for number, line in enumerate(read_lines(root, name), 1):
        if line.lstrip().startswith(("```", "~~~")):
            fenced = not fenced
        elif not fenced:
            yield number, re.sub(r"`[^`]*`", "", line)


def anchors(root, name):
    """The anchors that GitHub makes of a document's headings."""
    found = set()
    fenced = False
    for line in read_lines(root, name):
        if line.lstrip().startswith(("```", "~~~")):
            fenced = not fenced
        heading = re.match(r"#{1,6}\s+(.*)", line)
        if heading and not fenced:
            text = re.sub(r"[^\w\- ]", "", heading.group(1).strip().lower())
            found.add(text.replace(" ", "-"))
    return found


def link_problem(root, name, target):
    path, _, anchor = target.partition("#")
    base = root if path.startswith("/") else (root / name).parent
    linked = (base / path.lstrip("/")).resolve() if path else root / name
    if not linked.is_relative_to(root):
        return f"link '{target}' leaves the repository"
    if not linked.exists():
        return f"link '{target}' leads nowhere"
    if anchor and linked.suffix == ".md" and anchor not in anchors(root, linked.relative_to(root)):
        return f"link '{target}': that document has no such heading"
    return None


def find_problems(root):
    problems = []
    for name in repository_files(root):
        if not name.endswith(".md"):
            continue
        for number, text in lines_of_prose(root, name):
            for target in LINK.findall(text):
                problem = None if ELSEWHERE.match(target) else link_problem(root, name, target)
                if problem:
                    problems.append(f"{name}:{number}: {problem}")
    return problems


if __name__ == "__main__":
    run_check(find_problems, __doc__)
