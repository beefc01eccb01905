#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Which room may include what, which library stands behind which door, how includes are written.

The tables below are the law; docs/architecture.md shows the first one. Output is one line a fault,
`path:line: kv_cache may not include server`.
"""
import pathlib
import posixpath
import re

from repo_files import read_lines, repository_files, run_check

# --- rooms -----------------------------------------------------------------------------------------

EVERYTHING = "everything"

# A room may include itself and these rooms. `loader/weight_source.h` grants that header alone.
ROOMS = {
    "base": [],
    "core": ["base"],
    "tensor": ["base"],
    "trace": ["base"],
    "loader": ["tensor", "core", "base", "trace"],
    "tokenizer": ["core", "base"],
    "chat_template": ["base", "trace"],
    "constraint": ["tokenizer", "core", "base", "trace"],
    "output": ["tokenizer", "core", "base", "trace"],
    "backend": ["tensor", "core", "base", "trace"],
    "backend/cpu": ["backend", "tensor", "core", "base", "trace"],
    "backend/cuda": ["backend", "tensor", "core", "base", "trace"],
    "sampling": ["backend", "tensor", "core", "base", "trace"],
    "kv_cache": ["core", "base", "trace"],
    "scheduler": ["kv_cache", "core", "base", "trace"],
    "model": ["backend", "loader/weight_source.h", "tensor", "core", "base"],
    "executor": ["model", "sampling", "backend", "core", "tensor", "base", "trace"],
    "engine": ["scheduler", "kv_cache", "executor", "core", "base", "trace"],
    "server": ["engine/engine_client.h", "output", "chat_template", "tokenizer", "core", "base", "trace"],
    # The composition library: assembles loader, backend, model, executor and engine. Front ends use it.
    "app": ["output", "chat_template", "tokenizer", "constraint", "engine", "executor", "scheduler",
            "kv_cache", "model", "sampling", "loader", "backend", "backend/cpu", "backend/cuda", "trace",
            "tensor", "core", "base"],
    # The benchmarks behind `tiny-vllm bench`: loads, clients and reports.
    "bench": ["engine/engine_client.h", "engine/event_queue.h", "output", "tokenizer", "trace", "core", "base"],
    "cli": EVERYTHING,  # the verbs and main.cc; no room includes it
}

# Outside src/. A folder that is not named here may include everything.
FOLDERS = {"examples": ["base", "trace", "tensor", "backend", "backend/cuda"]}

# --- libraries -------------------------------------------------------------------------------------

SOURCE = r"\.(cc|cu)$"


def sources_of(*rooms):
    return [rf"^src/{room}/.*{SOURCE}" for room in rooms]


# (what an #include <...> names, what it is called, paths under src/ that may)
DOORS = [
    (r"boost/(asio|beast)[/.]", "Boost.Asio and Beast",
     [r"^src/server/http/", *sources_of("server"), *sources_of("bench/http")]),
    (r"boost/json(?!/fwd\.hpp)", "Boost.JSON",  # forward declarations cost nothing in a header
     sources_of("server", "loader", "tokenizer", "chat_template", "constraint", "bench", "cli")),
    (r"boost/context/", "Boost.Context", [r"^src/backend/cuda/emulation/"]),
    (r"openssl/", "OpenSSL", [r"^src/server/http/", *sources_of("server"), r"^src/kv_cache/block_hash\.cc$"]),
    (r"(sys/socket|netdb|arpa/|netinet/|sys/epoll)", "sockets", [r"^src/server/http/"]),
    (r"prometheus/", "prometheus-cpp", [r"^src/server/metrics"]),
    (r"(spdlog|fmt)/", "spdlog and fmt", [r"^src/base/log\.cc$"]),
    (r"CLI/", "CLI11", [r"^src/cli/"]),
    (r"yaml-cpp/", "yaml-cpp", sources_of("cli")),
    (r"curl/", "libcurl", [r"^src/loader/hub"]),
    (r"pcre2\.h", "PCRE2", sources_of("tokenizer")),
    (r"unicode/", "ICU", sources_of("tokenizer")),
    (r"(oneapi/)?dnnl|cblas|openblas", "oneDNN and OpenBLAS", [r"^src/backend/cpu/"]),
    (r"mpi\.h", "MPI", [r"^src/backend/cpu/collective"]),
    (r"(cuda|cublas|nvtx|nvToolsExt|nccl|cub/|mma\.h|cooperative_groups)", "CUDA", [r"^src/backend/cuda/"]),
    (r"[a-z0-9]*(imm)?intrin\.h$|arm_neon", "intrinsics", [r"^src/backend/cpu/", r"^src/base/thread_pool\.cc$"]),
    (r"(regex|iostream)$", "<regex> and <iostream>", [r"^src/(cli|app)/.*\.cc$"]),
    (r"boost/(?!json/fwd)", "other parts of Boost", [r"^src/server/", *sources_of("bench/http")]),
]

# Only these may write to standard output; the library logs (base/log.h). Fatal checks write to stderr.
PRINTING = re.compile(r"\bstd::(cout|cerr|clog)\b|(?<![\w:])(std::)?(printf|puts|putchar|vprintf)\s*\(|\bstdout\b")
MAY_PRINT = ("src/cli/", "src/app/", "examples/", "tools/", "bench/", "tests/")

# --- the check -------------------------------------------------------------------------------------

CODE = {".h", ".cc", ".cu", ".cuh", ".inc"}
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


def room_of(path):
    """'backend/cpu' for src/backend/cpu/matmul.cc and for the include backend/cpu/matmul.h."""
    parts = pathlib.PurePosixPath(path.removeprefix("src/")).parts
    for length in (2, 1):
        if len(parts) > length and "/".join(parts[:length]) in ROOMS:
            return "/".join(parts[:length])
    return parts[0] if len(parts) > 1 else None


def may_include(room, allowed, included):
    """Whether `room`, which may include the rooms and headers `allowed`, may include a header."""
    target = room_of(included)
    return allowed == EVERYTHING or target == room or target in allowed or included in allowed


def uncommented(lines):
    """Lines with comments and the text of string literals taken out; an #include keeps its name."""
    in_block = False
    for line in lines:
        if in_block:
            _, end, line = line.partition("*/")
            in_block = not end
            if in_block:
                line = ""
        if not INCLUDE.match(line):
            line = re.sub(r'"(\\.|[^"\\])*"', '""', line)
        line = re.sub(r"/\*.*?\*/", " ", line)
        line = re.sub(r"//.*", "", line)
        line, start, _ = line.partition("/*")
        in_block = in_block or bool(start)
        yield line


def project_include_problem(name, included, existing):
    """What is wrong with #include "included" in the file `name`, or None."""
    if ".." in included.split("/"):
        return f'write "{included}" from src/, without ../'
    room = room_of(name) if name.startswith("src/") else None
    if f"src/{included}" not in existing:
        if room is None and included in existing:
            return None  # tests/support/x.h, examples/mnist/x.h: from the root
        return f'"{included}" is no header under src/'
    if room is None:
        folder = name.split("/")[0]
        allowed = FOLDERS.get(folder, EVERYTHING)
        return None if may_include(None, allowed, included) else f"{folder} may not include {room_of(included)}"
    if room not in ROOMS:
        return f"room {room} has no row in the table of tools/check_layers.py"
    if may_include(room, ROOMS[room], included):
        return None
    single = [grant for grant in ROOMS[room] if grant.startswith(room_of(included) + "/") and grant.endswith(".h")]
    only = f" (but {single[0]})" if single else ""
    return f"{room} may not include {room_of(included)}{only}"


def door_problem(name, included):
    for pattern, library, doors in DOORS:
        if re.match(pattern, included):
            if not name.startswith("src/") and library != "CUDA":
                return None  # tests, examples and benchmarks reach the device through backend/cuda alone
            if any(re.search(door, name) for door in doors):
                return None
            return f"{library} may not be included here (<{included}>)"
    return None


def own_header_problem(name, includes, existing):
    own = f"{posixpath.splitext(name)[0]}.h"
    if not name.startswith("src/") or not name.endswith(".cc") or own not in existing or not includes:
        return None
    number, quote, included = includes[0]
    if (quote, included) == ('"', own.removeprefix("src/")):
        return None
    return f'{name}:{number}: own header "{own.removeprefix("src/")}" comes first'


def check_source(root, name, existing):
    includes, problems = [], []
    for number, line in enumerate(uncommented(read_lines(root, name)), 1):
        match = INCLUDE.match(line)
        if match:
            quote, included = match.groups()
            includes.append((number, quote, included))
            problem = (door_problem(name, included) if quote == "<"
                       else project_include_problem(name, included, existing))
            if problem:
                problems.append(f"{name}:{number}: {problem}")
        elif PRINTING.search(line) and not name.startswith(MAY_PRINT):
            problems.append(f"{name}:{number}: only cli, app, examples, tools and bench print; "
                            "log with base/log.h")
    problems.append(own_header_problem(name, includes, existing))
    return [problem for problem in problems if problem], includes


# --- CMake -----------------------------------------------------------------------------------------

ROOM_CALL = re.compile(r"\btvllm_room\s*\(([^)]*)\)")
KEYWORDS = {"STRICT", "HEADERS", "SOURCES", "DEPS", "LIBS"}


def named_room(word):
    """The room that a CMake target's name stands for: backend_cpu and backend_cpu_avx2 are backend/cpu."""
    for room in ROOMS:
        target = room.replace("/", "_")
        if "/" in room and (word == target or word.startswith(target + "_")):
            return room
    return word


def cmake_rooms(root, names):
    """{room: [(file, line, room it depends on)]} of every tvllm_room(...)."""
    rooms = {}
    for name in names:
        if not (name.startswith("src/") and name.endswith("CMakeLists.txt")):
            continue
        text = re.sub(r"#.*", "", "\n".join(read_lines(root, name)))
        for call in ROOM_CALL.finditer(text):
            deps, keyword = rooms.setdefault(room_of(name), []), None
            for word in re.finditer(r"\S+", call.group(1)):
                if word.group() in KEYWORDS:
                    keyword = word.group()
                elif keyword == "DEPS":
                    line = text.count("\n", 0, call.start(1) + word.start()) + 1
                    deps.append((name, line, named_room(word.group())))
    return rooms


def reachable(room, rooms):
    found, todo = set(), [room]
    while todo:
        for _, _, dep in rooms.get(todo.pop(), []):
            if dep not in found:
                found.add(dep)
                todo.append(dep)
    return found


def cmake_problems(rooms, includes_by_room):
    """DEPS keep to the table, and a room links what it includes."""
    problems = []
    for room, deps in rooms.items():
        allowed = ROOMS.get(room, [])
        if allowed != EVERYTHING:
            # A grant of one header, loader/weight_source.h, still links the whole room.
            linked = {room, *(re.sub(r"/[^/]*\.h$", "", grant) for grant in allowed)}
            problems += [f"{name}:{line}: {room} may not include {dep}, so its DEPS may not name it"
                         for name, line, dep in deps if dep not in linked]
        for target, (source, number) in sorted(includes_by_room.get(room, {}).items()):
            if target != room and target in rooms and target not in reachable(room, rooms):
                problems.append(f"{source}:{number}: {room} includes {target}, which its DEPS do not reach")
    return problems


def find_problems(root):
    names = repository_files(root)
    existing = set(names)
    problems, includes_by_room = [], {}
    for name in names:
        folder = name.split("/")[0]
        if folder not in {"src", "tests", "examples", "bench"} or name.startswith("tests/data/"):
            continue
        if pathlib.PurePosixPath(name).suffix not in CODE:
            continue
        found, includes = check_source(root, name, existing)
        problems += found
        if folder == "src":
            for number, quote, included in includes:
                # A header that is granted alone is an interface: it needs no link.
                if quote == '"' and f"src/{included}" in existing and included not in ROOMS.get(room_of(name), []):
                    includes_by_room.setdefault(room_of(name), {}).setdefault(room_of(included), (name, number))
    return problems + cmake_problems(cmake_rooms(root, names), includes_by_room)


if __name__ == "__main__":
    run_check(find_problems, __doc__)
