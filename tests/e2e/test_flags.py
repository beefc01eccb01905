# SPDX-License-Identifier: Apache-2.0
"""An impossible setting is refused before anything is served, with the reason and the range."""
import asyncio

import pytest

from metrics import wait_until
from server_process import MODEL, run_verb

REFUSED = [
    ("--port", 99999, "0 to 65535"),
    ("--port", "http", "--port"),
    ("--threads", 0, "range 1 to "),
    ("--threads", 65536, "range 1 to "),
    ("--cpu-isa", "sse9", "expected one of auto"),
    ("--kv-cache-dtype", "int3", "{auto,f32,f16,bf16}"),
    ("--block-size", 24, "{4,8,16,32,64,128}"),
    ("--max-model-len", 9000, "[2, 8192]"),
    ("--max-model-len", 1, "--max-model-len"),
    ("--max-num-batched-tokens", 0, "1 to 1048576"),
    ("--max-num-seqs", 0, "1 to 65536"),
    ("--max-queued-requests", -1, "0 to 16777216"),
    ("--scheduling-policy", "random", "{fcfs,priority}"),
    ("--target-step-ms", "soon", "auto"),
    ("--num-gpu-blocks-override", 0, "at least 1|1 to"),
    ("--kv-cache-memory-bytes", "much", "--kv-cache-memory-bytes"),
    ("--trace-buffer-bytes", 5, "[4194304, 1073741824]"),
    ("--trace-buffer-bytes", "4X", "--trace-buffer-bytes"),
    ("--max-connections", -1, "--max-connections"),
    ("--shutdown-timeout", -1, "0 to 86400"),
    ("--no-such-option", 1, "--no-such-option"),
]


@pytest.mark.parametrize("option, value, said", REFUSED, ids=lambda part: str(part))
def test_what_cannot_be_is_refused_with_the_range(option, value, said):
    done = run_verb("serve", MODEL, "--port", 0, option, value)
    assert done.returncode == 2, done.stderr
    assert done.stdout == ""
    reason = [line for line in done.stderr.splitlines() if " info " not in line]
    assert any(part in reason[0] for part in said.split("|")), done.stderr
    assert reason[1:] in ([], ["Run with --help for more information."]), done.stderr


def test_nothing_is_traced_where_the_ring_has_no_memory(start_server):
    server = start_server("--trace-buffer-bytes", 0, "--max-model-len", 256)
    assert "--trace-buffer-bytes" in server.http.get("/trace/events").error(404)["message"]


def test_past_max_connections_the_answer_is_503_and_places_come_free(start_server):
    server = start_server("--max-connections", 8, "--max-model-len", 256)

    async def status():
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n")
        return (await reader.read(12))[-3:], writer

    async def crowd():
        answers = [await status() for _ in range(12)]
        for _, writer in answers:
            writer.close()
        return [code for code, _ in answers]

    codes = asyncio.run(crowd())
    assert codes[:8] == [b"200"] * 8
    assert set(codes[8:]) == {b"503"}
    wait_until(lambda: server.http.get("/health").status == 200, 5, "a place is free")


# Whatever a client calls its requests, each gets its own answer.
def test_an_id_used_twice_mixes_nothing_up(http):
    body = {"prompt": "1, 2, 3, 4, 5, 6,", "max_tokens": 4, "temperature": 0, "request_id": "same"}
    first, second = (http.post("/v1/completions", body).json for _ in range(2))
    assert first["id"] == second["id"] == "cmpl-same"
    assert first["choices"] == second["choices"]
