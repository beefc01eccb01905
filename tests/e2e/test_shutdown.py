# SPDX-License-Identifier: Apache-2.0
"""SIGTERM: what is inside is finished, nothing new comes in, the exit status is 0."""
import signal
import time

from http_client import HttpClient
from server_process import MODEL, run_verb

COMPLETIONS = "/v1/completions"
LONG = {"prompt": "Once upon a time", "max_tokens": 48, "ignore_eos": True, "temperature": 0, "stream": True}


def begin_stream(server, **fields):
    """A stream whose first event has arrived, and that event."""
    model = server.http.get("/v1/models").json["data"][0]["id"]
    events = server.http.stream(COMPLETIONS, {"model": model, **LONG, **fields})
    return events, next(events)


def new_request_status(server):
    """Status of a request sent now, or None if the connection is refused or dropped."""
    try:
        return HttpClient("127.0.0.1", server.port).post(COMPLETIONS, {"prompt": "Hi", "max_tokens": 1}).status
    except OSError:
        return None


def test_a_stream_is_finished_while_new_requests_are_turned_away(start_server):
    server = start_server("--max-model-len", 256)
    events, first = begin_stream(server)
    server.send_sigterm()
    time.sleep(0.1)
    assert new_request_status(server) in (503, None)
    rest = list(events)
    assert rest.pop() is None  # [DONE]
    assert rest[-1]["choices"][0]["finish_reason"] == "length"
    assert len(first["choices"][0]["text"]) + sum(len(event["choices"][0]["text"]) for event in rest) > 48
    assert server.wait() == 0


def test_after_the_time_limit_a_stream_is_ended_properly(start_server):
    server = start_server("--max-model-len", 8192, "--shutdown-timeout", 1)
    events, _ = begin_stream(server, max_tokens=8000)
    started = time.monotonic()
    server.send_sigterm()
    rest = list(events)  # strict: ends with [DONE]
    assert rest[-2]["choices"][0]["finish_reason"] in ("abort", "length")
    assert server.wait(20) == 0
    assert time.monotonic() - started < 15


def test_an_idle_server_stops_at_once_also_on_ctrl_c(start_server):
    server = start_server("--max-model-len", 256)
    started = time.monotonic()
    server.process.send_signal(signal.SIGINT)
    assert server.wait(20) == 0
    assert time.monotonic() - started < 5


def test_the_port_in_use_is_a_sentence_not_a_crash(start_server):
    server = start_server("--max-model-len", 256)
    second = run_verb("serve", MODEL, "--port", server.port, "--max-model-len", 256)
    assert second.returncode == 1
    assert str(server.port) in second.stderr.splitlines()[-1]
