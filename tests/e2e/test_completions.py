# SPDX-License-Identifier: Apache-2.0
"""POST /v1/completions through the openai client."""
import concurrent.futures

import pytest

COUNTING = "1, 2, 3, 4, 5, 6,"
FRANCE = [504, 3575, 282, 4649, 314]  # "The capital of France is"
GREEDY_FRANCE = [7042, 30, 198]  # fp32 reference; smallest gap 1.28 nats


def complete(client, model, prompt, **fields):
    extra = {"extra_body": fields.pop("extra")} if "extra" in fields else {}
    return client.completions.create(**{"model": model, "prompt": prompt, "temperature": 0, "max_tokens": 8, **fields,
                                        **extra})


def token_ids(choice):
    return [int(token.removeprefix("token_id:")) for token in choice.logprobs.tokens]


def test_a_text_is_continued(client, model):
    answer = complete(client, model, COUNTING)
    assert (answer.object, answer.model) == ("text_completion", model)
    assert answer.id.startswith("cmpl-")
    (choice,) = answer.choices
    assert choice.text.startswith(" 7, 8")
    assert (choice.finish_reason, choice.logprobs) == ("length", None)
    assert answer.usage.completion_tokens == 8


def test_the_stream_says_the_same(client, model):
    whole = complete(client, model, COUNTING)
    *chunks, last = complete(client, model, COUNTING, stream=True, stream_options={"include_usage": True})
    assert "".join(chunk.choices[0].text for chunk in chunks) == whole.choices[0].text
    assert (last.choices, last.usage) == ([], whole.usage)


def test_a_prompt_may_be_token_ids_or_a_list_of_either(client, model):
    ids = complete(client, model, FRANCE, max_tokens=3)
    text = complete(client, model, "The capital of France is", max_tokens=3)
    assert ids.choices[0].text == text.choices[0].text
    assert ids.usage.prompt_tokens == 5
    two = complete(client, model, ["The capital of France is", COUNTING], max_tokens=3)
    assert [choice.index for choice in two.choices] == [0, 1]
    assert two.choices[0].text == text.choices[0].text
    assert two.choices[1].text.startswith(" 7")
    lists = complete(client, model, [FRANCE, FRANCE], max_tokens=3)
    assert [choice.text for choice in lists.choices] == [ids.choices[0].text] * 2
    assert lists.usage.prompt_tokens == 10


def test_prompts_times_n_are_numbered_in_order(client, model):
    answer = complete(client, model, ["One", "Two"], n=2, temperature=1, seed=3, max_tokens=4)
    assert [choice.index for choice in answer.choices] == [0, 1, 2, 3]


def test_greedy_ids_are_those_of_the_reference(client, model):
    answer = complete(client, model, FRANCE, max_tokens=3, logprobs=0, extra={"return_tokens_as_token_ids": True})
    assert token_ids(answer.choices[0]) == GREEDY_FRANCE


def test_echo_gives_the_prompt_with_its_logprobs(client, model):
    choice = complete(client, model, FRANCE, max_tokens=2, echo=True, logprobs=3,
                      extra={"return_tokens_as_token_ids": True}).choices[0]
    assert choice.text.startswith("The capital of France is")
    assert token_ids(choice) == FRANCE + GREEDY_FRANCE[:2]
    assert choice.logprobs.token_logprobs[0] is None
    assert choice.logprobs.top_logprobs[0] is None
    # fp32 reference; quantized kernels are within 0.35 of it.
    expected = [-11.539297, -0.337616, -2.438663]
    assert choice.logprobs.token_logprobs[1:4] == pytest.approx(expected, abs=0.35)
    for value, top in list(zip(choice.logprobs.token_logprobs, choice.logprobs.top_logprobs))[1:]:
        assert 3 <= len(top) <= 4  # the actual token stands beside the best ones where it is none of them
        assert value in top.values()


def test_text_offsets_point_into_the_text(client, model):
    for echo in (False, True):
        choice = complete(client, model, COUNTING, max_tokens=3, echo=echo, logprobs=1).choices[0]
        pieces = choice.logprobs.tokens
        assert choice.logprobs.text_offset == [sum(map(len, pieces[:i])) for i in range(len(pieces))]
        assert "".join(pieces) == choice.text


def test_a_stop_string_cuts_exactly_and_says_which(client, model):
    free = complete(client, model, COUNTING, max_tokens=24)
    assert "9, 1" in free.choices[0].text
    cut = complete(client, model, COUNTING, max_tokens=24, stop=["zzz", "9, 1"])
    assert cut.choices[0].text == free.choices[0].text.split("9, 1")[0] == " 7, 8, "
    assert cut.choices[0].finish_reason == "stop"
    assert cut.choices[0].stop_reason == "9, 1"
    kept = complete(client, model, COUNTING, max_tokens=24, stop="9, 1", extra={"include_stop_str_in_output": True})
    assert kept.choices[0].text == " 7, 8, 9, 1"


def test_a_stream_never_shows_text_beyond_a_stop_string(client, model):
    text = ""
    for chunk in complete(client, model, COUNTING, max_tokens=24, stop=["9, 1"], stream=True):
        text += chunk.choices[0].text
        assert " 7, 8, ".startswith(text)
    assert text == " 7, 8, "


def test_a_stop_token_id_ends_the_text(client, model):
    answer = complete(client, model, FRANCE, extra={"stop_token_ids": [GREEDY_FRANCE[1]]})
    assert answer.usage.completion_tokens == 2
    assert (answer.choices[0].finish_reason, answer.choices[0].stop_reason) == ("stop", GREEDY_FRANCE[1])


@pytest.mark.parametrize("stop", [None, []])
def test_no_stop_strings_stop_nothing(client, model, stop):
    assert complete(client, model, COUNTING, stop=stop, max_tokens=5).choices[0].finish_reason == "length"


def test_a_seed_repeats_itself_alone_and_in_company(client, model):
    def text(seed):
        return complete(client, model, "Once upon a time", temperature=1, seed=seed, max_tokens=12).choices[0].text

    alone = {seed: text(seed) for seed in range(8)}
    assert len(set(alone.values())) >= 6
    assert text(0) == alone[0]  # 0 is a seed like any other
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        assert dict(zip(range(8), pool.map(text, range(8)))) == alone


def test_without_a_seed_texts_differ(client, model):
    texts = {complete(client, model, "Once upon a time", temperature=1, max_tokens=12).choices[0].text
             for _ in range(4)}
    assert len(texts) >= 2


def test_43000_times_one_letter_is_an_ordinary_prompt(http, model):
    answer = http.post("/tokenize", {"model": model, "prompt": "A" * 43000})
    assert answer.json["count"] == 5375
    assert set(answer.json["tokens"]) == {44843}


@pytest.mark.slow  # computes all 5375 tokens
def test_43000_times_one_letter_is_answered(client, model, http):
    assert complete(client, model, "A" * 43000, max_tokens=1).usage.prompt_tokens == 5375
    assert http.get("/health").status == 200


def test_with_less_context_it_is_refused(start_server):
    server = start_server("--max-model-len", 4096)
    error = server.http.post("/v1/completions", {"prompt": "A" * 43000, "max_tokens": 1}).error(400)
    assert error["code"] == "context_length_exceeded"
    assert "5375" in error["message"] and "4096" in error["message"]
    assert server.http.get("/health").status == 200


def test_models_lists_what_is_served(client, model):
    first, *others = client.models.list().data
    assert (first.id, first.object, first.max_model_len) == (model, "model", 8192)
    for name in [model] + [other.id for other in others]:  # other names of the same model
        assert client.models.retrieve(name).id == name
