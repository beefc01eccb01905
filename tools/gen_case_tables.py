#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes src/chat_template/unicode_tables.inc: what Python's str methods know about characters.

Chat templates are written for Python, so `upper`, `title`, `strip`, `repr` and friends must agree with
it. The tables are asked from the running interpreter; their Unicode version is written on top.

    python3 tools/gen_case_tables.py > src/chat_template/unicode_tables.inc
"""
import sys
import unicodedata

CODE_POINTS = [c for c in range(0x110000) if not 0xD800 <= c < 0xE000]


def ranges(predicate):
    found = []
    for c in range(0x110000):
        if not predicate(c):
            continue
        if found and found[-1][1] == c - 1:
            found[-1][1] = c
        else:
            found.append([c, c])
    return found


def case_runs(mapping):
    """[first, last, stride, delta]: every stride-th code point of first..last maps to itself + delta."""
    runs = []
    for c, target in sorted(mapping.items()):
        delta = target - c
        if runs and runs[-1][3] == delta:
            run = runs[-1]
            step = c - run[1]
            if step in (1, 2) and run[2] in (0, step):
                run[1], run[2] = c, step
                continue
        runs.append([c, c, 0, delta])
    return [[a, b, stride or 1, delta] for a, b, stride, delta in runs]


def rows(name, type_name, items):
    print(f"constexpr {type_name} {name}[] = {{")
    line = "   "
    for item in items:
        text = " {" + ", ".join(item) + "},"
        if len(line) + len(text) > 100:
            print(line)
            line = "   "
        line += text
    print(line)
    print("};\n")


def hexes(numbers):
    return [f"0x{n:X}" for n in numbers]


def write_case(name, convert):
    simple, special = {}, []
    for c in CODE_POINTS:
        target = convert(chr(c))
        if len(target) > 1:
            special.append(hexes([c] + [ord(t) for t in target] + [0] * (3 - len(target))))
        elif ord(target) != c:
            simple[c] = ord(target)
    runs = [hexes(run[:3]) + [str(run[3])] for run in case_runs(simple)]
    rows(f"k{name}Runs", "CaseRun", runs)
    rows(f"k{name}Special", "CaseSpecial", special)


def cased_ignorable(c):
    """Whether a sigma looks through `c` for the letter beside it, as str.lower() does."""
    text = "A" + chr(c) + "\u03a3"
    return text.lower()[-1] == "\u03c2" and ("\u03a3" + chr(c)).lower()[0] == "\u03c3" and \
        (chr(c) + "\u03a3").lower()[-1] == "\u03c3"


def main():
    print("// SPDX-License-Identifier: Apache-2.0")
    print("// Written by tools/gen_case_tables.py: Unicode "
          f"{unicodedata.unidata_version}, as Python {sys.version_info[0]}.{sys.version_info[1]} has it.")
    print("// clang-format off\n")
    write_case("Upper", str.upper)
    write_case("Lower", str.lower)
    write_case("Title", str.title)
    for name, predicate in [
        ("Uppercase", lambda c: chr(c).isupper()),
        ("Lowercase", lambda c: chr(c).islower()),
        ("Titlecase", lambda c: unicodedata.category(chr(c)) == "Lt"),
        ("CaseIgnorable", cased_ignorable),
        ("NotPrintable", lambda c: not chr(c).isprintable()),
        ("Alpha", lambda c: chr(c).isalpha()),
        ("Digit", lambda c: chr(c).isdigit()),
        ("Numeric", lambda c: chr(c).isalnum() and not chr(c).isalpha()),
    ]:
        rows(f"k{name}", "CodePointRange", [hexes(r) for r in ranges(predicate)])


if __name__ == "__main__":
    main()
