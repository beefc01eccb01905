# SPDX-License-Identifier: Apache-2.0
"""GET /metrics against what clients saw; loading; the log."""
import re
import socket
import subprocess
import time

from http_client import HttpClient
from metrics import settled
from server_process import BINARY, MODEL

COMPLETIONS = "/v1/completions"


def test_counts_are_those_of_the_answers(start_server):
    server = start_server("--max-model-len", 512)
    prompt = {"prompt": "1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12,", "temperature": 0, "max_tokens": 8}
    usages = [server.http.post(COMPLETIONS, prompt).json["usage"] for _ in range(2)]
    server.http.post(COMPLETIONS, {**prompt, "max_tokens": -1})
    values = settled(server.http)

    def value(name):
        return values["vllm:" + name]

    num_prompt = sum(usage["prompt_tokens"] for usage in usages)
    num_output = sum(usage["completion_tokens"] for usage in usages)
    assert value("prompt_tokens_total") == value("prefix_cache_queries_total") == num_prompt
    assert value("generation_tokens_total") == value("request_generation_tokens_sum") == num_output
    num_cached = value("prefix_cache_hits_total")
    assert num_cached == value("prompt_tokens_cached_total") == 32  # two of the prompt's blocks of 16
    assert value("request_prefill_kv_computed_tokens_sum") == num_prompt - num_cached
    assert value('request_success_total{finished_reason="length"}') == 2
    assert value("inter_token_latency_seconds_count") == num_output - 2
    assert value("num_requests_running") == value("num_requests_waiting") == value("kv_cache_usage_perc") == 0
    # Intervals of one request lie within each other.
    inference_s = value("request_prefill_time_seconds_sum") + value("request_decode_time_seconds_sum")
    assert abs(value("request_inference_time_seconds_sum") - inference_s) < 1e-6
    assert inference_s + value("request_queue_time_seconds_sum") <= value("e2e_request_latency_seconds_sum")
    assert value("time_to_first_token_seconds_sum") <= value("e2e_request_latency_seconds_sum")
    # Steps computed every token but the cached ones and each request's last.
    assert value("iteration_tokens_total_sum") == num_prompt - num_cached + num_output - 2
    for status, count in (("2xx", 2), ("4xx", 1)):
        assert values[f'http_requests_total{{handler="/v1/completions",method="POST",status="{status}"}}'] == count
    assert abs(values["process_resident_memory_bytes"] - server.memory_bytes()) < 64 << 20
    assert abs(values["process_start_time_seconds"] - time.time()) < 300
    assert sum(value for key, value in values.items() if key.startswith("tiny_vllm:step_phase_seconds_total{")) > 0


def test_requests_are_logged_where_asked_without_their_text(start_server):
    server = start_server("--enable-log-requests", "--enable-request-id-headers", "--max-model-len", 256)
    answer = server.http.post(COMPLETIONS, {"prompt": "swordfish", "max_tokens": 1}, {"X-Request-Id": "a-1"})
    assert answer.headers["x-request-id"] == "a-1" and answer.json["id"] == "cmpl-a-1"
    server.stop()
    log = "\n".join(server.stderr_lines)
    assert "received request cmpl-a-1" in log and "swordfish" not in log


def test_a_busy_server_says_how_busy_it_is_unless_told_not_to(start_server):
    talking, silent = start_server("--max-model-len", 256), start_server("--disable-log-stats", "--max-model-len", 256)
    line = re.compile(r"Avg prompt throughput: \d+\.\d tokens/s, Avg generation throughput: \d+\.\d tokens/s, "
                      r"Running: \d+ reqs, Waiting: \d+ reqs, KV cache usage: \d+\.\d%, Prefix cache hit rate: \d+\.\d%")
    for server in (talking, silent):
        server.http.post(COMPLETIONS, {"prompt": "Hi", "max_tokens": 8, "ignore_eos": True})
    deadline = time.monotonic() + 20
    while not any(line.search(said) for said in talking.stderr_lines):
        assert time.monotonic() < deadline, talking.stderr_lines
        time.sleep(0.1)
    assert not any(line.search(said) for said in silent.stderr_lines)


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


def test_health_says_loading_and_then_ready():
    port = free_port()
    process = subprocess.Popen([str(BINARY), "serve", str(MODEL), "--port", str(port)], stderr=subprocess.DEVNULL)
    statuses = []
    try:
        deadline = time.monotonic() + 60
        while not statuses or statuses[-1] != 200:
            assert time.monotonic() < deadline, statuses
            try:
                statuses.append(HttpClient("127.0.0.1", port).get("/health").status)
            except ConnectionRefusedError:
                pass  # not bound yet
    finally:
        process.terminate()
        assert process.wait(60) == 0
    assert set(statuses) == {503, 200}
    assert statuses.index(200) == len(statuses) - 1


def test_a_port_that_is_taken_is_told_before_the_model_is_loaded():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        done = subprocess.run([str(BINARY), "serve", str(MODEL), "--port", str(taken.getsockname()[1])],
                              stderr=subprocess.PIPE, text=True, timeout=60, check=False)
    assert done.returncode == 1
    assert "engine ready" not in done.stderr
