# SPDX-License-Identifier: Apache-2.0
"""A client that goes away frees its work, wherever it was (case STR-08)."""
import json
import socket
import time

import pytest

from metrics import num_ended, num_steps, open_requests, wait_idle, wait_until

COMPLETIONS = "/v1/completions"
ENDLESS = {"prompt": "Once upon a time", "max_tokens": 4000, "ignore_eos": True, "temperature": 0}
LIMIT_S = 2


def send(server, body):
    """A socket on which the request is out."""
    data = json.dumps(body).encode()
    connection = socket.create_connection(("127.0.0.1", server.port), timeout=120)
    connection.sendall(b"POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % len(data) + data)
    return connection


def read_to_end(connection):
    pieces = iter(lambda: connection.recv(65536), b"")
    return b"".join(pieces)


def check_all_is_free(server):
    """Within two seconds; and nothing is computed any more."""
    wait_idle(server.http, LIMIT_S)
    steps = num_steps(server.http)
    time.sleep(0.3)
    assert num_steps(server.http) == steps


def after_three_events(server):
    connection = send(server, {**ENDLESS, "stream": True})
    received = b""
    while received.count(b"data: ") < 3:
        received += connection.recv(65536)
    return [connection]


def right_after_sending(server):
    return [send(server, {**ENDLESS, "prompt": "word " * 1500, "stream": True})]


def before_a_whole_answer(server):
    connection = send(server, ENDLESS)
    wait_until(lambda: open_requests(server.http) > 0, 30, "the request is taken in")
    time.sleep(0.5)
    return [connection]


def thirty_two_at_once(server):
    connections = [send(server, {**ENDLESS, "stream": i % 2 == 0}) for i in range(32)]
    wait_until(lambda: open_requests(server.http) == 32, 30, "all requests are taken in")
    return connections


@pytest.mark.parametrize("begin", [after_three_events, right_after_sending, before_a_whole_answer, thirty_two_at_once])
@pytest.mark.parametrize("reset", [False, True], ids=["closed", "reset"])
def test_whatever_a_client_has_is_freed_when_it_leaves(server, begin, reset):
    aborted = num_ended(server.http)
    connections = begin(server)
    for connection in connections:
        if reset:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        connection.close()
    check_all_is_free(server)
    # One that left before its request was read was never one.
    assert num_ended(server.http) - aborted <= len(connections)


def test_a_request_right_after_is_as_fast_as_on_an_idle_server(server):
    def probe_s():
        start = time.monotonic()
        assert server.http.post(COMPLETIONS, {"prompt": "Hi", "max_tokens": 4, "ignore_eos": True}).status == 200
        return time.monotonic() - start

    idle_s = max(probe_s() for _ in range(5))
    for connection in thirty_two_at_once(server):
        connection.close()
    wait_idle(server.http)
    assert probe_s() < 3 * idle_s + 0.1


@pytest.mark.parametrize("stream", [False, True])
def test_a_client_that_only_ends_its_half_gets_its_whole_answer(server, stream):
    body = {**ENDLESS, "max_tokens": 40}
    text = server.http.post(COMPLETIONS, body).json["choices"][0]["text"]
    with send(server, {**body, "stream": stream}) as connection:
        connection.shutdown(socket.SHUT_WR)
        received = read_to_end(connection).decode()
    if not stream:
        assert json.loads(received.split("\r\n\r\n")[-1])["choices"][0]["text"] == text
        return
    events = [line.removeprefix("data: ") for line in received.splitlines() if line.startswith("data: ")]
    assert events.pop() == "[DONE]"
    assert "".join(json.loads(event)["choices"][0]["text"] for event in events) == text
