# SPDX-License-Identifier: Apache-2.0
"""Requests side by side get what they get alone (cases KV-01, SMP-01)."""
import itertools
import random
import time

import pytest

from load import all_at_once, answer_of
from metrics import blocks, metrics, wait_idle

CHAT, COMPLETIONS = "/v1/chat/completions", "/v1/completions"
WORDS = "river stone window lantern market copper winter garden signal paper".split()
# Greedy continuations by the fp32 reference.
ANCHORS = {"1, 2, 3, 4, 5, 6,": [216, 39, 28, 216, 40, 28, 216, 41],
           "The opposite of hot is": [4011, 30, 198, 198, 504, 2988, 314, 42]}


def words(count, seed):
    return " ".join(random.Random(seed).choice(WORDS) for _ in range(count))


def marker(idx):
    return f"QX{idx:02d}ZVK"


def prompts(model, num_completions, num_chats, max_words):
    """(path, body): sums, and chats around a word of their own, from 5 to about `max_words` tokens."""
    fields = {"model": model, "temperature": 0, "max_tokens": 24}
    for i in range(num_completions):
        start = words(i * max_words // num_completions, i) + " " if i % 4 == 3 else ""
        yield COMPLETIONS, {**fields, "prompt": f"{start}The number {i} plus {i + 1} is", "logprobs": 2,
                            "stream": i % 2 == 0}
    for i in range(num_chats):
        content = f"Repeat this word: {marker(i)}. {words(i * max_words // num_chats, i)}"
        yield CHAT, {**fields, "messages": [{"role": "user", "content": content}], "logprobs": True,
                     "top_logprobs": 2, "stream": i % 2 == 0}


def check_together_equals_alone(http, requests, window_s, rounds):
    requests = list(requests)
    alone = [answer_of(http, *request) for request in requests]

    def later(numbered):
        idx, delay_s = numbered
        time.sleep(delay_s)
        return answer_of(http, *requests[idx])

    for round_idx in range(rounds):
        order = random.Random(round_idx)
        delays = [(idx, order.uniform(0, window_s)) for idx in range(len(requests))]
        for idx, answer in enumerate(all_at_once(later, delays)):
            assert answer == alone[idx], f"round {round_idx}, request {idx}"
    return alone


@pytest.mark.parametrize("options", [(), ("--no-enable-prefix-caching",), ("--max-num-batched-tokens", 16, "--max-num-seqs", 16)],
                         ids=["cached", "uncached", "chunks-of-16"])
def test_together_equals_alone(start_server, options):
    server = start_server(*options)
    model = server.http.get("/v1/models").json["data"][0]["id"]
    answers = check_together_equals_alone(server.http, prompts(model, 24, 8, 200), 0.5, 1)
    for idx, answer in enumerate(answers[24:]):
        for other in set(range(8)) - {idx}:
            assert marker(other) not in answer["text"]
    for prompt, token_ids in ANCHORS.items():
        answer = answer_of(server.http, COMPLETIONS,
                           {"model": model, "prompt": prompt, "temperature": 0, "max_tokens": len(token_ids),
                            "logprobs": 0, "return_tokens_as_token_ids": True})
        assert answer["logprobs"]["tokens"] == [f"token_id:{token_id}" for token_id in token_ids]
    wait_idle(server.http)


@pytest.mark.slow
@pytest.mark.parametrize("options", [(), ("--no-enable-prefix-caching",)], ids=["cached", "uncached"])
def test_eighty_together_equal_each_alone_in_three_rounds(start_server, options):
    server = start_server(*options)
    model = server.http.get("/v1/models").json["data"][0]["id"]
    check_together_equals_alone(server.http, prompts(model, 64, 16, 900), 2, 3)
    used, cached, free = blocks(server.http)
    assert used == 0 and cached + free > 0


def test_preempted_requests_end_as_they_would_have_alone(start_server):
    roomy, tight = start_server(), start_server("--num-gpu-blocks-override", 24)
    model = roomy.http.get("/v1/models").json["data"][0]["id"]
    requests = [(COMPLETIONS, {"model": model, "prompt": f"{words(20, i)} {i}", "temperature": 0, "max_tokens": 64,
                               "ignore_eos": True, "logprobs": 1}) for i in range(12)]
    alone = [answer_of(roomy.http, *request) for request in requests]
    together = all_at_once(lambda request: answer_of(tight.http, *request), requests)
    assert together == alone
    assert metrics(tight.http)["vllm:num_preemptions_total"] > 0


# --- seeds (SMP-01) ---

def sampled(http, model, **fields):
    return answer_of(http, COMPLETIONS, {"model": model, "prompt": "Once upon a time", "max_tokens": 24,
                                         "temperature": 1.0, **fields})["text"]


def test_a_seed_gives_its_text_alone_and_in_company(http, model):
    alone = {seed: sampled(http, model, seed=seed) for seed in (11, *range(1, 9))}
    assert sampled(http, model, seed=11) == alone[11]
    assert len({alone[seed] for seed in range(1, 9)}) >= 6
    together = all_at_once(lambda seed: sampled(http, model, seed=seed, stream=seed % 2 == 0), alone)
    assert together == list(alone.values())


def test_without_a_seed_texts_differ(http, model):
    assert len({sampled(http, model) for _ in range(5)}) >= 2


def test_zero_is_a_seed(http, model):
    assert sampled(http, model, seed=0) == sampled(http, model, seed=0)


@pytest.mark.parametrize("seed", [-5, 2**63])
def test_a_seed_past_the_range_is_taken_or_refused(http, model, seed):
    answer = http.post(COMPLETIONS, {"model": model, "prompt": "Hi", "max_tokens": 1, "seed": seed})
    assert answer.status == 200 or answer.error(400, "seed")


# The same seed samples other texts for the choices of one request, and the same ones each time.
def test_choices_have_seeds_of_their_own(http, model):
    body = {"model": model, "prompt": "Once upon a time", "max_tokens": 16, "temperature": 1.0, "seed": 3, "n": 4}
    first, second = ([choice["text"] for choice in http.post(COMPLETIONS, body).json["choices"]] for _ in range(2))
    assert first == second
    assert all(a != b for a, b in itertools.combinations(first, 2))
