# SPDX-License-Identifier: Apache-2.0
"""POST /v1/chat/completions through the openai client, and its stream byte by byte."""
import concurrent.futures
import math

import openai
import pytest

QUESTION = [{"role": "user", "content": "What is 2+2?"}]
ANSWER = "The answer to this classic math problem is 4."  # greedy, fp32 reference; smallest gap 0.54 nats
PROMPT_TOKENS = 37
COMPLETION_TOKENS = 12  # eleven of text and the end token


def ask(client, model, **fields):
    return client.chat.completions.create(**{"model": model, "messages": QUESTION, "temperature": 0, "max_tokens": 30,
                                             **fields})


def test_a_question_is_answered_with_usage_and_reason(client, model):
    answer = ask(client, model)
    assert answer.object == "chat.completion"
    assert answer.id.startswith("chatcmpl-")
    assert answer.model == model
    (choice,) = answer.choices
    assert choice.message.role == "assistant"
    assert choice.message.content == ANSWER
    assert (choice.index, choice.finish_reason, choice.logprobs) == (0, "stop", None)
    assert answer.usage.prompt_tokens == PROMPT_TOKENS
    assert answer.usage.completion_tokens == COMPLETION_TOKENS
    assert answer.usage.total_tokens == PROMPT_TOKENS + COMPLETION_TOKENS


def test_the_stream_says_the_same_in_pieces(client, model):
    chunks = list(ask(client, model, stream=True))
    assert {chunk.object for chunk in chunks} == {"chat.completion.chunk"}
    assert len({(chunk.id, chunk.created, chunk.model) for chunk in chunks}) == 1
    assert chunks[0].choices[0].delta.role == "assistant"
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks) == ANSWER
    assert [chunk.choices[0].finish_reason for chunk in chunks if chunk.choices[0].finish_reason] == ["stop"]
    assert all(chunk.usage is None for chunk in chunks)


def test_include_usage_adds_one_last_chunk_without_choices(client, model):
    *chunks, last = ask(client, model, stream=True, stream_options={"include_usage": True})
    assert last.choices == []
    assert (last.usage.prompt_tokens, last.usage.completion_tokens) == (PROMPT_TOKENS, COMPLETION_TOKENS)
    assert all(chunk.choices and chunk.usage is None for chunk in chunks)


@pytest.mark.parametrize("options", [None, {"include_usage": False}])
def test_no_usage_chunk_unless_asked(http, model, options):
    events = list(http.stream("/v1/chat/completions", {"model": model, "messages": QUESTION, "temperature": 0,
                                                       "max_tokens": 3, "stream": True, "stream_options": options}))
    assert events.pop() is None
    assert all(len(event["choices"]) == 1 for event in events)
    assert [event["choices"][0]["finish_reason"] for event in events][-1] == "length"


def test_no_event_of_a_stream_is_empty(http, model):
    events = list(http.stream("/v1/chat/completions", {"model": model, "messages": QUESTION, "temperature": 0,
                                                       "max_tokens": 30, "stream": True}))
    for event in events[1:-1]:
        (choice,) = event["choices"]
        assert choice["delta"].get("content") or choice["finish_reason"], event


def test_logprobs_come_sorted_and_belong_to_the_tokens(client, model):
    choice = ask(client, model, logprobs=True, top_logprobs=5).choices[0]
    entries = choice.logprobs.content
    # The end token has no text and is counted in usage.
    assert len(entries) in (COMPLETION_TOKENS, COMPLETION_TOKENS - 1)
    assert b"".join(bytes(entry.bytes) for entry in entries[:COMPLETION_TOKENS - 1]).decode() == ANSWER
    for entry in entries:
        assert len(entry.top_logprobs) == 5
        values = [top.logprob for top in entry.top_logprobs]
        assert values == sorted(values, reverse=True)
        assert all(value <= 0 for value in values)
        assert sum(math.exp(value) for value in values) <= 1.0001
        assert (entry.token, entry.logprob) == (entry.top_logprobs[0].token, entry.top_logprobs[0].logprob)


def test_top_logprobs_zero_gives_the_chosen_token_alone(client, model):
    entries = ask(client, model, max_tokens=2, logprobs=True, top_logprobs=0).choices[0].logprobs.content
    assert [entry.top_logprobs for entry in entries] == [[], []]


def test_logprobs_do_not_change_with_the_temperature(client, model):
    greedy = ask(client, model, max_tokens=4, logprobs=True, top_logprobs=3)
    warm = ask(client, model, max_tokens=4, logprobs=True, top_logprobs=3, temperature=1, extra_body={"top_k": 1})
    assert warm.choices[0].message.content == greedy.choices[0].message.content
    assert warm.choices[0].logprobs == greedy.choices[0].logprobs


def test_logprobs_in_a_stream_are_those_of_the_whole_answer(client, model):
    whole = ask(client, model, logprobs=True, top_logprobs=2).choices[0].logprobs.content
    streamed = []
    for chunk in ask(client, model, logprobs=True, top_logprobs=2, stream=True):
        if chunk.choices[0].logprobs:
            streamed += chunk.choices[0].logprobs.content
    assert streamed == whole


def test_n_choices_differ_and_each_has_its_index(client, model):
    answer = ask(client, model, messages=[{"role": "user", "content": "Say a word."}], n=2, seed=5, temperature=1,
                 max_tokens=8)
    assert sorted(choice.index for choice in answer.choices) == [0, 1]
    assert answer.choices[0].message.content != answer.choices[1].message.content
    assert 2 <= answer.usage.completion_tokens <= 16


def test_n_choices_of_a_stream_each_end_once(client, model):
    fields = dict(messages=[{"role": "user", "content": "Say a word."}], n=2, seed=5, temperature=1, max_tokens=8)
    whole = {choice.index: choice.message.content for choice in ask(client, model, **fields).choices}
    texts, reasons = {0: "", 1: ""}, []
    for chunk in ask(client, model, stream=True, **fields):
        for choice in chunk.choices:
            texts[choice.index] += choice.delta.content or ""
            if choice.finish_reason:
                reasons.append(choice.index)
    assert texts == whole
    assert sorted(reasons) == [0, 1]


def test_developer_and_text_parts_are_understood(client, model):
    joined = [{"role": "system", "content": [{"type": "text", "text": "A"}]},
              {"role": "user", "content": [{"type": "text", "text": "Hi"}, {"type": "text", "text": " there"}]}]
    assert ask(client, model, messages=joined, max_tokens=1).usage.prompt_tokens == 17
    developer = [{"role": "developer", "content": "x"}, {"role": "user", "content": "Hi"}]
    assert ask(client, model, messages=developer, max_tokens=1).choices


def test_an_image_is_refused_by_name(client, model):
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    with pytest.raises(openai.BadRequestError, match="(?i)image"):
        ask(client, model, messages=[{"role": "user", "content": [image]}])


def test_max_completion_tokens_limits_the_answer(client, model):
    answer = client.chat.completions.create(model=model, messages=QUESTION, temperature=0, max_completion_tokens=3)
    assert (answer.usage.completion_tokens, answer.choices[0].finish_reason) == (3, "length")


def test_eight_streams_at_once_each_get_the_answer_of_one_alone(server, model):
    def one(_):
        events = list(server.http.stream("/v1/chat/completions", {
            "model": model, "messages": QUESTION, "temperature": 0, "max_tokens": 30, "stream": True}))
        return "".join(event["choices"][0]["delta"].get("content") or "" for event in events[:-1])

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        assert list(pool.map(one, range(8))) == [ANSWER] * 8
