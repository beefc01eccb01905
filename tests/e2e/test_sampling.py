# SPDX-License-Identifier: Apache-2.0
"""Sampling parameters whose effect can be foretold exactly."""
import math

import pytest

QUESTION = [{"role": "user", "content": "What is 2+2?"}]
ANSWER = "The answer to this classic math problem is 4."
THE, END_OF_TEXT, END_OF_TURN, VOCABULARY = 504, 0, 2, 49152


@pytest.fixture
def chat(http, model):
    def send(content=None, **fields):
        messages = QUESTION if content is None else [{"role": "user", "content": content}]
        return http.post("/v1/chat/completions", {"model": model, "messages": messages, "temperature": 0, **fields})

    return send


def chosen_ids(answer):
    entries = answer.json["choices"][0]["logprobs"]["content"]
    return [int(entry["token"].removeprefix("token_id:")) for entry in entries]


def test_the_answer_ends_by_itself(chat):
    answer = chat(max_tokens=60).json
    assert answer["choices"][0]["message"]["content"] == ANSWER
    assert (answer["choices"][0]["finish_reason"], answer["usage"]["completion_tokens"]) == ("stop", 12)
    assert answer["choices"][0]["stop_reason"] is None


def test_ignore_eos_goes_on_to_the_limit(chat):
    answer = chat(max_tokens=60, ignore_eos=True).json
    assert answer["usage"]["completion_tokens"] == 60
    assert answer["choices"][0]["finish_reason"] == "length"
    assert answer["choices"][0]["message"]["content"].startswith(ANSWER)


def test_min_tokens_holds_the_end_back(chat):
    answer = chat(max_tokens=60, min_tokens=20, logprobs=True, return_tokens_as_token_ids=True)
    assert answer.json["usage"]["completion_tokens"] >= 20
    assert not {END_OF_TEXT, END_OF_TURN} & set(chosen_ids(answer)[:20])


def test_a_banned_end_token_never_appears(chat):
    answer = chat(max_tokens=40, logit_bias={str(END_OF_TURN): -100}, logprobs=True, return_tokens_as_token_ids=True)
    assert END_OF_TURN not in chosen_ids(answer)


def test_more_min_tokens_than_max_tokens_is_refused(chat):
    chat(max_tokens=10, min_tokens=20).error(400, "min_tokens")


def test_a_stop_string_before_min_tokens_does_not_hang(chat):
    answer = chat(max_tokens=60, min_tokens=20, stop=["4."]).json
    assert answer["usage"]["completion_tokens"] >= 20  # as in vLLM: not looked at before


# --- logit_bias ---

@pytest.mark.parametrize("fields", [{}, {"temperature": 1, "top_k": 5, "seed": 1}])
def test_a_bias_of_100_forces_a_token_before_top_k(chat, fields):
    answer = chat("Hi", max_tokens=3, logit_bias={str(THE): 100}, **fields).json
    assert answer["choices"][0]["message"]["content"] == "TheTheThe"
    assert answer["usage"]["completion_tokens"] == 3


def test_a_bias_of_minus_100_bans_tokens(chat):
    answer = chat("Hi", max_tokens=3, logit_bias={"19556": -100, str(THE): -100}, logprobs=True,
                  return_tokens_as_token_ids=True)
    assert not {19556, THE} & set(chosen_ids(answer))


@pytest.mark.parametrize("bias", [{str(VOCABULARY - 1): -100}, {}, None])
def test_a_bias_that_changes_nothing_is_accepted(chat, bias):
    assert chat("Hi", max_tokens=3, logit_bias=bias).status == 200


@pytest.mark.parametrize("bias", [{str(VOCABULARY): -100}, {"191222": -100}, {"-1": 5}, {"Hello": 5}, {str(THE): "5"},
                                  {f" {THE}": 5}, {str(THE): None}, []])
def test_a_bias_with_a_bad_key_or_value_is_refused(chat, bias):
    chat("Hi", max_tokens=3, logit_bias=bias).error(400, "logit_bias")
    assert chat("Hi", max_tokens=1).status == 200


def test_a_huge_bias_is_refused_or_clamped(chat):
    answer = chat("Hi", max_tokens=3, logit_bias={str(THE): 1e9})
    if answer.status == 200:
        assert answer.json["choices"][0]["message"]["content"] == "TheTheThe"
    else:
        answer.error(400, "logit_bias")


# --- values at and past their ranges ---

GREEDY_FIELDS = [{"temperature": 1e-6}, {"temperature": 1e-300}, {"temperature": 1, "top_k": 1},
                 {"temperature": 1, "top_p": 0.0001}, {"temperature": 1, "min_p": 1.0}]


@pytest.mark.parametrize("fields", GREEDY_FIELDS, ids=str)
def test_values_that_leave_one_token_give_the_greedy_text(chat, fields):
    answer = chat(max_tokens=12, logprobs=True, top_logprobs=5, **fields).json
    assert answer["choices"][0]["message"]["content"] == ANSWER
    for entry in answer["choices"][0]["logprobs"]["content"]:
        assert all(math.isfinite(top["logprob"]) and top["logprob"] <= 0 for top in entry["top_logprobs"])


@pytest.mark.parametrize("top_k", [-1, 0, 10**9])
def test_top_k_is_off_at_its_edges(chat, top_k):
    plain = chat(max_tokens=6, temperature=1, seed=7).json["choices"]
    assert chat(max_tokens=6, temperature=1, seed=7, top_k=top_k).json["choices"] == plain


REFUSED = [("temperature", -1), ("temperature", 2.5), ("temperature", 999999.0), ("top_p", 0), ("top_p", 1.5),
           ("top_p", -0.1), ("top_k", -2), ("min_p", -1), ("min_p", 2), ("presence_penalty", 1e308),
           ("presence_penalty", -2.1), ("frequency_penalty", 2.1), ("repetition_penalty", 0.0), ("n", 0), ("n", 10**9),
           ("max_tokens", 0), ("max_tokens", -1), ("min_tokens", 10**9), ("top_logprobs", 10**9)]


@pytest.mark.parametrize("field, value", REFUSED)
def test_a_value_out_of_range_is_refused_by_name(chat, field, value):
    extra = {"logprobs": True} if field == "top_logprobs" else {}
    chat(**{"max_tokens": 3, **extra, field: value}).error(400, field)


@pytest.mark.parametrize("field, value", [("temperature", 2.0), ("top_p", 1), ("min_p", 0), ("presence_penalty", -2),
                                          ("frequency_penalty", 2), ("repetition_penalty", 0.01)])
def test_a_value_at_its_edge_is_accepted(chat, field, value):
    assert chat(**{"max_tokens": 2, "seed": 1, field: value}).status == 200


def test_top_logprobs_is_limited_and_needs_logprobs(chat):
    assert chat(max_tokens=1, logprobs=True, top_logprobs=20).status == 200
    chat(max_tokens=1, logprobs=True, top_logprobs=21).error(400, "top_logprobs")
    chat(max_tokens=1, logprobs=True, top_logprobs=-1).error(400, "top_logprobs")
    chat(max_tokens=1, logprobs=False, top_logprobs=3).error(400, "top_logprobs")


@pytest.mark.parametrize("field, value", [("logprobs", -1), ("logprobs", 10**8), ("best_of", 10**6)])
def test_completions_refuse_what_costs_without_bound(http, model, field, value):
    http.post("/v1/completions", {"model": model, "prompt": "Hi", "max_tokens": 1, field: value}).error(400, field)


HEAPS = [{"stop": ["x"] * 100000}, {"stop": "x" * 1000000}, {"logit_bias": {str(key): 1 for key in range(100000)}}]


@pytest.mark.parametrize("fields", HEAPS, ids=lambda fields: next(iter(fields)))
def test_heaps_of_small_things_are_refused_and_forgotten(server, chat, fields):
    before = server.memory_bytes()
    chat(max_tokens=2, **fields).error(400, next(iter(fields)))
    assert server.memory_bytes() - before < 64 << 20
    assert chat(max_tokens=1).status == 200
