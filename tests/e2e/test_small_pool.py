# SPDX-License-Identifier: Apache-2.0
"""A KV cache that is too small for what comes (cases KV-03, KV-05)."""
import collections
import json
import random
import socket
import threading
import time

import pytest

from http_client import HttpClient
from load import all_at_once
from metrics import blocks, metrics, wait_idle

COMPLETIONS = "/v1/completions"
NUM_BLOCKS, BLOCK_SIZE = 64, 16


@pytest.fixture
def small(start_server):
    return start_server("--num-gpu-blocks-override", NUM_BLOCKS, "--block-size", BLOCK_SIZE)


@pytest.fixture
def small_model(small):
    return small.http.get("/v1/models").json["data"][0]


class Watchdog(threading.Thread):
    """Polls /metrics while a test runs: nobody may wait while nothing runs for longer than a second."""

    def __init__(self, server):
        super().__init__(daemon=True)
        self.http, self.done, self.problem = HttpClient("127.0.0.1", server.port), threading.Event(), None

    def run(self):
        idle_since = None
        while not self.done.wait(0.1):
            values = metrics(self.http)
            stuck = values["vllm:num_requests_running"] == 0 and values["vllm:num_requests_waiting"] > 0
            idle_since = (idle_since or time.monotonic()) if stuck else None
            if idle_since and time.monotonic() - idle_since > 1:
                self.problem = f"requests wait and none runs: {values}"

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.done.set()
        self.join()
        assert self.problem is None, self.problem


def post(server, model, num_prompt_tokens, seed=0, **fields):
    prompt = [random.Random(seed * 1000 + i).randrange(1000, 40000) for i in range(num_prompt_tokens)]
    return server.http.post(COMPLETIONS, {"model": model["id"], "prompt": prompt, "temperature": 0, "ignore_eos": True,
                                          **fields})


# The context is lowered at start to what the pool holds, and said so.
def test_what_can_never_fit_is_refused_at_once(small, small_model):
    assert small_model["max_model_len"] == NUM_BLOCKS * BLOCK_SIZE
    begin = time.monotonic()
    for num_prompt_tokens, max_tokens in ((1500, 10), (1024, 1), (900, 4000)):
        error = post(small, small_model, num_prompt_tokens, max_tokens=max_tokens).error(400)
        assert "1024" in error["message"], error
    assert time.monotonic() - begin < 1.5


def test_a_prompt_that_nearly_fills_the_pool_runs_with_several_choices(small, small_model):
    answer = post(small, small_model, 1000, max_tokens=8, n=4, temperature=1)
    assert answer.status == 200, answer.body
    assert len(answer.json["choices"]) == 4
    wait_idle(small.http)


def test_one_that_never_fits_blocks_nobody(small, small_model):
    def send(i):
        return post(small, small_model, 1500 if i == 20 else 200, seed=i, max_tokens=20)

    with Watchdog(small):
        answers = all_at_once(send, range(40))
    for i, answer in enumerate(answers):
        if i == 20:
            answer.error(400)
        else:
            assert (answer.status, answer.json["usage"]["completion_tokens"]) == (200, 20)
    wait_idle(small.http)


# --- no block leaks (KV-05, without constrained answers) ---

def abort_early(server, body, delay_s):
    """Sends a request and resets the connection after a while."""
    payload = json.dumps({**body, "stream": True, "max_tokens": 200}).encode()
    with socket.create_connection(("127.0.0.1", server.port)) as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        connection.sendall(b"POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
                           b"Content-Length: %d\r\n\r\n" % len(payload) + payload)
        time.sleep(delay_s)


def soak(server, model, num_requests, seed):
    """A random mixture: normal ones (some with two choices), aborted, invalid, ended by a stop string; half of
    them begin alike."""
    def send(i):
        dice = random.Random(seed * 100_000 + i)
        kind = dice.choices(["normal", "aborted", "invalid", "stopped"], [60, 20, 10, 10])[0]
        shared = list(range(2000, 2000 + dice.choice([0, 40, 100])))
        prompt = shared + [dice.randrange(1000, 40000) for _ in range(dice.randrange(1, 60))]
        body = {"model": model, "prompt": prompt, "temperature": dice.choice([0, 1.0]), "seed": i,
                "max_tokens": dice.randrange(1, 24)}
        if kind == "aborted":
            abort_early(server, body, dice.uniform(0, 0.3))
        elif kind == "invalid":
            server.http.post(COMPLETIONS, {**body, "temperature": -1}).error(400, "temperature")
        elif kind == "stopped":
            assert server.http.post(COMPLETIONS, {**body, "stop": ["e", "\n"]}).status == 200
        else:
            num_choices = 1 if body["temperature"] == 0 else dice.choice([1, 2])
            assert server.http.post(COMPLETIONS, {**body, "n": num_choices}).status == 200

    all_at_once(send, range(num_requests), concurrency=24)


@pytest.mark.parametrize("caching", ["--enable-prefix-caching", "--no-enable-prefix-caching"])
@pytest.mark.parametrize("num_requests", [200, pytest.param(2000, marks=pytest.mark.slow)])
def test_no_block_is_lost_over_aborts_errors_and_ends(start_server, caching, num_requests):
    server = start_server("--num-gpu-blocks-override", NUM_BLOCKS, caching)
    model = server.http.get("/v1/models").json["data"][0]
    soak(server, model["id"], 200, 1)
    memory = server.memory_bytes()
    if num_requests > 200:
        with Watchdog(server):
            soak(server, model["id"], num_requests, 2)
    wait_idle(server.http)
    used, cached, free = blocks(server.http)
    assert used == 0 and used + cached + free == NUM_BLOCKS
    assert (cached > 0) == (caching == "--enable-prefix-caching")
    assert server.memory_bytes() < 1.05 * memory
    # What is cached can be had: this one needs the whole pool.
    answer = post(server, model, NUM_BLOCKS * BLOCK_SIZE - 8, max_tokens=8)
    assert answer.status == 200, answer.body


# Five minutes of the same with everything on: aborts, preemption, sharing, a reader of the trace.
@pytest.mark.slow
def test_a_soak_keeps_memory_and_blocks(start_server):
    server = start_server("--num-gpu-blocks-override", NUM_BLOCKS)
    model = server.http.get("/v1/models").json["data"][0]
    soak(server, model["id"], 400, 0)
    memory, end, rounds = server.memory_bytes(), time.monotonic() + 300, 0
    with Watchdog(server), socket.create_connection(("127.0.0.1", server.port)) as trace:
        trace.sendall(b"GET /trace/events HTTP/1.1\r\nHost: x\r\n\r\n")
        reader = threading.Thread(target=lambda: collections.deque(iter(lambda: trace.recv(65536), b""), maxlen=0))
        reader.start()
        while time.monotonic() < end:
            rounds += 1
            soak(server, model["id"], 200, rounds)
            wait_idle(server.http)
            used, cached, free = blocks(server.http)
            assert (used, cached + free) == (0, NUM_BLOCKS), rounds
            assert server.memory_bytes() < 1.05 * memory, rounds
        trace.shutdown(socket.SHUT_RDWR)
        reader.join()
    values = metrics(server.http)
    assert values["vllm:num_preemptions_total"] > 0 and values["vllm:prefix_cache_hits_total"] > 0


# The second time a request needs room for its answer beside the cached one; after that nothing is new.
def test_the_same_load_again_takes_no_more_memory(start_server):
    server = start_server()
    model = server.http.get("/v1/models").json["data"][0]
    memory = []
    for _ in range(4):
        all_at_once(lambda i: post(server, model, 200, seed=i, max_tokens=40), range(32))
        memory.append(server.memory_bytes())
    assert memory[3] < 1.01 * memory[1] < 1.2 * memory[0], memory
