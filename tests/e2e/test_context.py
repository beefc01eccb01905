# SPDX-License-Identifier: Apache-2.0
"""The edges of the context (case VAL-04)."""
import pytest

from load import all_at_once

CHAT, COMPLETIONS = "/v1/chat/completions", "/v1/completions"


@pytest.fixture(params=[512, pytest.param(8192, marks=pytest.mark.slow)])
def context(request):
    return request.param


@pytest.fixture
def server(start_server, context):
    return start_server("--max-model-len", context)


def complete(server, num_prompt_tokens, **fields):
    return server.http.post(COMPLETIONS, {"prompt": [504] * num_prompt_tokens, "temperature": 0, "ignore_eos": True, **fields})


def refused(answer, *numbers):
    error = answer.error(400)
    assert error["code"] == "context_length_exceeded"
    assert "-" not in error["message"].replace("max-model-len", ""), error
    for number in numbers:
        assert str(number) in error["message"], error


@pytest.mark.parametrize("stream", [False, True])
def test_a_prompt_that_leaves_no_room_is_refused_with_both_numbers(server, context, stream):
    refused(complete(server, context, max_tokens=1, stream=stream), context)
    refused(complete(server, context + 1, max_tokens=1, stream=stream), context, context + 1)
    message = {"role": "user", "content": "test " * (4 * context)}
    answer = server.http.post(CHAT, {"messages": [message], "stream": stream})
    assert server.http.post("/tokenize", {"messages": [message]}).json["count"] > 4 * context
    refused(answer, context)


def test_the_last_token_of_the_context_is_given_and_none_behind_it(server, context):
    answer = complete(server, context - 1, max_tokens=1)
    assert (answer.status, answer.json["usage"]["completion_tokens"]) == (200, 1)
    refused(complete(server, context - 1, max_tokens=5), context)


@pytest.mark.parametrize("fields", [{}, {"max_tokens": None}], ids=["absent", "null"])
def test_chat_without_a_limit_ends_with_the_context(server, context, fields):
    body = {"messages": [{"role": "user", "content": "test " * (context - 60)}], "ignore_eos": True, **fields}
    answer = server.http.post(CHAT, body)
    assert answer.status == 200, answer.body
    assert answer.json["usage"]["total_tokens"] == context
    assert answer.json["choices"][0]["finish_reason"] == "length"


@pytest.mark.parametrize("max_tokens", [0, -1, -5, 2**31, 2**63 - 1, 2**63])
def test_a_max_tokens_that_cannot_be_is_refused_and_takes_no_memory(server, max_tokens):
    before = server.memory_bytes()
    for path, body in ((COMPLETIONS, {"prompt": "Hi"}), (CHAT, {"messages": [{"role": "user", "content": "Hi"}]})):
        error = server.http.post(path, {**body, "max_tokens": max_tokens}).error(400)
        assert max_tokens < 0 or "-" not in error["message"].replace("max-model-len", ""), error
    assert server.memory_bytes() < before + (8 << 20)


def test_refusals_are_the_same_under_load(server, context):
    def send(i):
        return complete(server, context + i if i % 2 else 20, max_tokens=8)

    for i, answer in enumerate(all_at_once(send, range(24))):
        if i % 2:
            refused(answer, context)
        else:
            assert answer.status == 200, answer.body
