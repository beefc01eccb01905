# SPDX-License-Identifier: Apache-2.0
"""Log-probabilities are finite numbers of the raw distribution, whatever is masked (case SMP-05). HttpClient refuses
NaN and Infinity in any body."""
import math

import pytest

QUESTION = {"messages": [{"role": "user", "content": "What is 2+2?"}], "logprobs": True, "top_logprobs": 5, "max_tokens": 10}
GREEDY = {"temperature": 0}
# Each of them leaves the most probable token alone.
AS_GREEDY = [{"temperature": 1, "top_k": 1}, {"temperature": 1, "top_p": 0.0001}, {"temperature": 0.0001},
             {"temperature": 1, "min_p": 1.0}]
THE = 504


def entries(http, fields):
    answer = http.post("/v1/chat/completions", {**QUESTION, **fields})
    assert answer.status == 200, answer.body
    return answer.json["choices"][0]["logprobs"]["content"]


@pytest.mark.parametrize("fields", [GREEDY, *AS_GREEDY, {"temperature": 0, "logit_bias": {str(THE): -100}},
                                    {"temperature": 2, "top_p": 1, "seed": 5},
                                    {"temperature": 1, "seed": 5, "min_tokens": 10}], ids=str)
def test_they_are_finite_sorted_and_a_distribution(http, fields):
    for entry in entries(http, fields):
        values = [top["logprob"] for top in entry["top_logprobs"]]
        assert len(values) == 5
        assert all(math.isfinite(value) and value <= 0 for value in [*values, entry["logprob"]])
        assert values == sorted(values, reverse=True)
        assert sum(map(math.exp, values)) <= 1.0001


def test_the_greedy_token_is_the_first_of_the_list(http):
    for entry in entries(http, GREEDY):
        assert (entry["token"], entry["logprob"]) == (entry["top_logprobs"][0]["token"], entry["top_logprobs"][0]["logprob"])


@pytest.mark.parametrize("fields", AS_GREEDY, ids=str)
def test_what_leaves_one_token_changes_neither_text_nor_values(http, fields):
    assert entries(http, fields) == entries(http, GREEDY)


# The list is of what the model says, not of what may be sampled.
def test_a_banned_token_keeps_its_raw_value(http):
    banned = entries(http, {**GREEDY, "logit_bias": {str(THE): -100}})[0]
    greedy = entries(http, GREEDY)[0]
    assert banned["top_logprobs"] == greedy["top_logprobs"]
    assert banned["token"] == greedy["top_logprobs"][1]["token"]


def test_top_logprobs_may_be_none_at_all_but_not_too_many(http):
    assert all(entry["top_logprobs"] == [] for entry in entries(http, {**GREEDY, "top_logprobs": 0}))
    for fields in ({"top_logprobs": 21}, {"top_logprobs": -1}, {"logprobs": False, "top_logprobs": 3}):
        http.post("/v1/chat/completions", {**QUESTION, **fields}).error(400, "top_logprobs")
