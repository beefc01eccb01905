# SPDX-License-Identifier: Apache-2.0
"""Files that lie: `inspect` and `serve` refuse them with status 2 and one sentence, quickly and in little
memory. And files that are unusual but sound."""
import os
import re
import shutil
import struct
import subprocess
import time

import pytest

from server_process import BINARY, MODEL, ROOT, run_verb

MEMORY_LIMIT = 64 << 20  # above what the program needs to say --version
TIME_LIMIT_S = 1.0


def listed_files(name):
    """{name: bytes} of a table in tests/data/loader: name, expected words, fault, hex."""
    files = {}
    for line in (ROOT / "tests/data/loader" / name).read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            label, _, _, code = line.split("\t")
            files[label] = bytes.fromhex(code)
    return files


def nested_arrays(depth):
    """One metadata entry "x.y": an array of one array of one array ... of one number."""
    head = b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + struct.pack("<Q", 3) + b"x.y" + struct.pack("<I", 9)
    return head + struct.pack("<IQ", 9, 1) * depth + struct.pack("<IQI", 4, 1, 7)


MALFORMED = {**listed_files("bad_headers.txt"), **listed_files("bad_alignments.txt"), "nested": nested_arrays(20000)}


def measured(*arguments):
    """(exit status, stderr, seconds, peak memory in bytes) of one run."""
    started = time.monotonic()
    with subprocess.Popen([str(BINARY), *map(str, arguments)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                          stdin=subprocess.DEVNULL, text=True) as process:
        stderr = process.stderr.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    return process.returncode, stderr, time.monotonic() - started, usage.ru_maxrss * 1024


@pytest.fixture(scope="module")
def idle_memory():
    return measured("--version")[3]


def error_line(path, stderr):
    """The one sentence of the error, which names the file. Before it only the log's lines of progress."""
    *progress, line = stderr.splitlines()
    assert all(re.match(r"\d{4}-\d\d-\d\d [\d:.]+ info ", earlier) for earlier in progress), stderr
    assert line.startswith("tiny-vllm: ") and path.name in line, line
    return line


@pytest.mark.parametrize("name", MALFORMED)
def test_a_malformed_file_is_refused(tmp_path, idle_memory, name):
    path = tmp_path / f"{name}.gguf"
    path.write_bytes(MALFORMED[name])
    for verb in ("inspect", "serve"):
        status, stderr, seconds, memory = measured(verb, path)
        assert status == 2, (status, stderr)
        error_line(path, stderr)
        assert seconds < TIME_LIMIT_S, seconds
        assert memory - idle_memory < MEMORY_LIMIT, memory


CUTS = [0, 1, 4, 23, 24, 100, 4096, 1000000, 1769095, 1785663, 1785664, 50000000, 98362431]


@pytest.mark.parametrize("size", CUTS)
def test_a_truncated_model_is_refused_as_truncated(tmp_path, size):
    path = tmp_path / "cut.gguf"
    shutil.copyfile(MODEL, path)
    os.truncate(path, size)
    for verb in ("inspect", "serve"):
        done = run_verb(verb, path)
        assert done.returncode == 2, done.stderr
        line = error_line(path, done.stderr)
        assert "truncated" in line or (size == 0 and "empty" in line), line
    path.unlink()


def test_what_is_no_model_is_refused(tmp_path):
    folder = tmp_path / "folder.gguf"
    folder.mkdir()
    text = tmp_path / "text.gguf"
    text.write_text("hello\n" * 100)
    for path in (tmp_path / "absent.gguf", folder, text):
        for verb in ("inspect", "serve"):
            done = run_verb(verb, path)
            assert done.returncode == 2, done.stderr
            error_line(path, done.stderr)


# --- sound files with another alignment ---

SCALARS = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}
STRING, ARRAY = 8, 9


def skip_string(data, at):
    return at + 8 + struct.unpack_from("<Q", data, at)[0]


def skip_value(data, at, kind):
    if kind == STRING:
        return skip_string(data, at)
    if kind != ARRAY:
        return at + SCALARS[kind]
    element, count = struct.unpack_from("<IQ", data, at)
    at += 12
    if element in SCALARS:
        return at + count * SCALARS[element]
    for _ in range(count):
        at = skip_value(data, at, element)
    return at


def realigned(data, alignment):
    """The same model with general.alignment set: tensors move so that each offset is a multiple of it."""
    num_tensors, num_entries = struct.unpack_from("<QQ", data, 8)
    at = 24
    for _ in range(num_entries):
        at = skip_string(data, at)
        at = skip_value(data, at + 4, struct.unpack_from("<I", data, at)[0])
    metadata, infos = data[24:at], []
    for _ in range(num_tensors):
        begin = at
        at = skip_string(data, at)
        at += 4 + 8 * struct.unpack_from("<I", data, at)[0] + 4
        infos.append((data[begin:at], struct.unpack_from("<Q", data, at)[0]))
        at += 8
    old_start = (at + 31) // 32 * 32
    ends = sorted(offset for _, offset in infos) + [len(data) - old_start]
    next_offset = {offset: ends[ends.index(offset) + 1] for _, offset in infos}

    table, tensors = b"", bytearray()
    for head, offset in infos:
        tensors += bytes(-len(tensors) % alignment)
        table += head + struct.pack("<Q", len(tensors))
        tensors += data[old_start + offset:old_start + next_offset[offset]]
    key = b"general.alignment"
    entry = struct.pack("<Q", len(key)) + key + struct.pack("<II", 4, alignment)
    header = data[:8] + struct.pack("<QQ", num_tensors, num_entries + 1) + entry + metadata + table
    return header + bytes(-len(header) % alignment) + bytes(tensors)


def greedy_text(path):
    done = run_verb("generate", path, "--prompt", "1, 2, 3, 4,", "--max-tokens", 8, "--temperature", 0,
                    "--max-model-len", 64)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("alignment", [8, 64, 4096])
def test_another_alignment_loads_and_answers_the_same(tmp_path, alignment):
    path = tmp_path / "realigned.gguf"
    path.write_bytes(realigned(MODEL.read_bytes(), alignment))
    assert greedy_text(path) == greedy_text(MODEL)
    path.unlink()
