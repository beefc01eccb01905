# SPDX-License-Identifier: Apache-2.0
"""What a server must refuse, and how: never a 500, always a sentence and the field at fault."""
import concurrent.futures
import socket
import time

import openai
import pytest

from conftest import openai_client
from http_client import HttpClient

CHAT, COMPLETIONS = "/v1/chat/completions", "/v1/completions"
HELLO = [{"role": "user", "content": "Hi"}]


@pytest.fixture(autouse=True)
def still_well(http, model):
    """After whatever a test sent, a plain request is answered."""
    yield
    assert http.post(COMPLETIONS, {"model": model, "prompt": "Hi", "max_tokens": 1}).status == 200


# --- prompts without content ---

# Control characters that have no token in this vocabulary make an empty prompt, too.
EMPTY_PROMPTS = ["", [], [""], [[]], ["a", ""], "\x04", "\x16\x1d"]


@pytest.mark.parametrize("prompt", EMPTY_PROMPTS, ids=repr)
def test_a_prompt_without_tokens_is_refused_each_time(http, model, prompt):
    for _ in range(2):
        http.post(COMPLETIONS, {"model": model, "prompt": prompt, "max_tokens": 1}).error(400, "prompt")


def test_a_missing_prompt_is_refused(http, model):
    http.post(COMPLETIONS, {"model": model}).error(400, "prompt")


@pytest.mark.parametrize("fields", [{"messages": []}, {}])
def test_no_messages_are_refused(http, model, fields):
    http.post(CHAT, {"model": model, **fields}).error(400, "messages")


@pytest.mark.parametrize("role, prompt_tokens", [("user", 30), ("system", None)])
def test_empty_content_is_a_message_all_the_same(http, model, role, prompt_tokens):
    answer = http.post(CHAT, {"model": model, "messages": [{"role": role, "content": ""}], "max_tokens": 1})
    assert answer.status == 200
    if prompt_tokens:
        assert answer.json["usage"]["prompt_tokens"] == prompt_tokens


# --- lengths ---

@pytest.mark.parametrize("stream", [False, True])
def test_a_prompt_beyond_the_context_is_refused_with_both_numbers(http, model, stream):
    body = {"model": model, "prompt": [504] * 8192, "max_tokens": 1, "stream": stream}
    error = http.post(COMPLETIONS, body).error(400)
    assert error["code"] == "context_length_exceeded"
    assert "8192" in error["message"]


def test_more_max_tokens_than_room_is_refused(http, model):
    http.post(COMPLETIONS, {"model": model, "prompt": [504] * 8191, "max_tokens": 5}).error(400)


@pytest.mark.parametrize("max_tokens", [2**31, 2**63 - 1])
def test_a_huge_max_tokens_makes_no_negative_number(http, model, max_tokens):
    error = http.post(COMPLETIONS, {"model": model, "prompt": "Hi", "max_tokens": max_tokens}).error(400)
    assert "-" not in "".join(word for word in error["message"].split() if word.strip("-.,()").isdigit())


# --- shapes ---

@pytest.mark.parametrize("messages", [
    "Hi", [1], [{"content": "Hi"}], [{"role": "user"}], [{"role": 1, "content": "x"}],
    [{"role": "user", "content": [{"type": "text"}]}]], ids=str)
def test_malformed_messages_are_refused(http, model, messages):
    assert http.post(CHAT, {"model": model, "messages": messages}).error(400)["param"].startswith("messages")


@pytest.mark.parametrize("field, value", [("temperature", "hot"), ("max_tokens", 1.5), ("stream", "yes"), ("stop", [1]),
                                          ("seed", "x"), ("n", "2"), ("logprobs", "yes"), ("stop", {"a": 1})], ids=str)
def test_a_wrong_type_is_refused_by_name(http, model, field, value):
    http.post(CHAT, {"model": model, "messages": HELLO, field: value}).error(400, field)


@pytest.mark.parametrize("prompt", [[504, -1], [49152], [2**40], [504, 1.5], {"a": 1}, 5, [True]], ids=str)
def test_impossible_token_ids_are_refused(http, model, prompt):
    http.post(COMPLETIONS, {"model": model, "prompt": prompt, "max_tokens": 1}).error(400, "prompt")


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"null", b'{"model": "\xff"}', b'{"a": NaN}', b"[" * 100000],
                         ids=lambda body: repr(body[:12]))
def test_a_body_that_is_no_json_object_is_refused(http, body):
    http.request("POST", CHAT, body, {"Content-Type": "application/json"}).error(400)


def test_null_means_absent_and_unknown_fields_are_ignored(http, model):
    nothing = ["tools", "tool_choice", "response_format", "logit_bias", "stream_options", "seed", "n", "stop", "user"]
    body = {"model": model, "messages": HELLO, "max_tokens": 1, "temperature": 0, **dict.fromkeys(nothing)}
    assert http.post(CHAT, {**body, "foo_bar": 1, "store": True, "metadata": {"a": "b"}}).status == 200


def test_an_unknown_model_is_not_found(client):
    with pytest.raises(openai.NotFoundError) as caught:
        client.chat.completions.create(model="no-such-model", messages=HELLO)
    assert caught.value.code == "model_not_found"
    assert "no-such-model" in str(caught.value)


def test_an_unknown_path_and_a_wrong_method_are_told_apart(http):
    assert http.get("/v1/nothing").status == 404
    assert http.get(CHAT).status == 405


# --- HTTP itself ---

def test_a_header_without_end_is_cut_off(server):
    with socket.create_connection(("127.0.0.1", server.port), timeout=60) as connection:
        connection.sendall(b"GET /health HTTP/1.1\r\nHost: x\r\nX: ")
        try:
            for _ in range(64):
                connection.sendall(b"a" * (1 << 20))
            status = connection.recv(64)
        except (ConnectionResetError, BrokenPipeError):
            return  # closed in our face: as good
        assert status == b"" or status.split()[1] in (b"431", b"400"), status


def test_a_vanished_client_ends_its_work(server, model):
    def running():
        lines = server.http.get("/metrics").body.decode().splitlines()
        values = [float(line.rsplit(" ", 1)[1]) for line in lines
                  if line.startswith(("vllm:num_requests_running", "vllm:num_requests_waiting{"))]
        return sum(values)

    if server.http.get("/metrics").status != 200:
        pytest.skip("no /metrics yet")
    for _ in range(4):
        events = server.http.stream(COMPLETIONS, {"model": model, "prompt": "Hi", "max_tokens": 4000, "stream": True,
                                                  "ignore_eos": True})
        next(events)
        events.close()
    poll_until(lambda: running() == 0, 2)


def poll_until(condition, limit_s):
    deadline = time.monotonic() + limit_s
    while not condition():
        assert time.monotonic() < deadline, f"not within {limit_s} s"
        time.sleep(0.02)


# --- keys ---

def test_a_key_guards_everything_but_health(start_server):
    server = start_server("--api-key", "secret", "--max-model-len", 256)
    body = {"model": "x", "messages": HELLO}
    for headers in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": "Bearer secre"},
                    {"Authorization": "Bearer secret2"}, {"Authorization": "secret"}):
        assert server.http.post(CHAT, body, headers).error(401)["message"]
        assert server.http.get("/v1/models", headers).status == 401
    assert server.http.get("/health").status == 200
    client = openai_client(server, "secret")
    model = client.models.list().data[0].id
    assert client.chat.completions.create(model=model, messages=HELLO, max_tokens=1).choices
    with pytest.raises(openai.AuthenticationError):
        openai_client(server, "other").models.list()


# --- overload ---

def test_past_the_queue_limit_the_answer_is_429_at_once(start_server):
    server = start_server("--max-num-seqs", 1, "--max-queued-requests", 1, "--max-model-len", 512)
    model = server.http.get("/v1/models").json["data"][0]["id"]
    body = {"model": model, "prompt": "Hi", "max_tokens": 100, "ignore_eos": True}
    with concurrent.futures.ThreadPoolExecutor(6) as pool:
        answers = list(pool.map(lambda _: server.http.post(COMPLETIONS, body), range(6)))
    statuses = [answer.status for answer in answers]
    assert sorted(set(statuses)) == [200, 429], statuses
    assert statuses.count(200) == 2
    refused = next(answer for answer in answers if answer.status == 429)
    assert int(refused.headers["retry-after"]) >= 1
    assert refused.error(429)["message"]


def test_a_name_may_be_given_to_the_model(start_server):
    server = start_server("--served-model-name", "tiny", "--max-model-len", 256)
    assert server.http.get("/v1/models").json["data"][0]["id"] == "tiny"
    answer = server.http.post(CHAT, {"model": "tiny", "messages": HELLO, "max_tokens": 1})
    assert answer.json["model"] == "tiny"
    assert HttpClient("127.0.0.1", server.port).get("/v1/models/tiny").status == 200
