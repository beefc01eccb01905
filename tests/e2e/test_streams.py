# SPDX-License-Identifier: Apache-2.0
"""Streams event by event: framing, usage, and stop strings that span tokens (cases STR-05, STR-01)."""
import pytest

CHAT, COMPLETIONS = "/v1/chat/completions", "/v1/completions"
QUESTION = {"messages": [{"role": "user", "content": "What is 2+2?"}], "temperature": 0, "max_tokens": 30}
SEQUENCE = {"prompt": "1, 2, 3, 4, 5, 6,", "temperature": 0, "max_tokens": 8}


def text_of(path, choice):
    return (choice["delta"].get("content") or "") if path == CHAT else choice["text"]


def stream(http, path, body, **options):
    """The events of a stream, without [DONE]. http.stream refuses any other form than `data: JSON` and an empty line."""
    *events, done = http.stream(path, {**body, "stream": True, **options})
    assert done is None
    return events


@pytest.mark.parametrize("options", [{}, {"stream_options": None}, {"stream_options": {"include_usage": False}},
                                     {"stream_options": {"include_usage": True}}])
@pytest.mark.parametrize("path, body, kind", [(CHAT, QUESTION, "chat.completion.chunk"),
                                              (COMPLETIONS, SEQUENCE, "text_completion")])
def test_chunks_belong_together_and_usage_comes_only_where_asked(http, path, body, kind, options):
    whole = http.post(path, body).json
    events = stream(http, path, body, **options)
    wants_usage = (options.get("stream_options") or {}).get("include_usage", False)
    if wants_usage:
        last = events.pop()
        assert last["choices"] == []
        assert last["usage"] == whole["usage"]
    assert all(event.get("usage") is None and len(event["choices"]) == 1 for event in events)
    assert len({(event["id"], event["created"], event["model"], event["object"]) for event in events}) == 1
    assert events[0]["object"] == kind
    choices = [event["choices"][0] for event in events]
    if path == CHAT:
        assert choices[0]["delta"]["role"] == "assistant"
    reasons = [choice["finish_reason"] for choice in choices if choice["finish_reason"] is not None]
    assert reasons == [whole["choices"][0]["finish_reason"]]
    expected = whole["choices"][0]["message"]["content"] if path == CHAT else whole["choices"][0]["text"]
    assert "".join(text_of(path, choice) for choice in choices) == expected


def test_the_usage_of_the_question_is_that_of_the_reference(http):
    usage = stream(http, CHAT, QUESTION, stream_options={"include_usage": True})[-1]["usage"]
    assert (usage["prompt_tokens"], usage["completion_tokens"]) == (37, 12)  # eleven of text and the end


def test_stream_options_without_a_stream_are_refused_or_ignored(http):
    answer = http.post(CHAT, {**QUESTION, "stream": False, "stream_options": {"include_usage": True}})
    assert answer.status == 200 or answer.error(400, "stream_options")


def test_usage_can_be_forced_by_the_server(start_server):
    server = start_server("--enable-force-include-usage", "--enable-prompt-tokens-details", "--max-model-len", 512)
    for num_cached in (0, 32):  # two blocks of the prompt's 37 tokens
        usage = stream(server.http, CHAT, QUESTION)[-1]["usage"]
        assert usage["prompt_tokens_details"] == {"cached_tokens": num_cached}


def test_a_stop_string_over_tokens_cuts_as_the_text_without_it_is_cut(http):
    body = {**SEQUENCE, "max_tokens": 40}
    full = http.post(COMPLETIONS, body).json["choices"][0]["text"]
    expected = full[:full.index("9, 1")]
    assert expected == " 7, 8, "
    whole = http.post(COMPLETIONS, {**body, "stop": ["9, 1"]}).json
    events = stream(http, COMPLETIONS, {**body, "stop": ["9, 1"]}, stream_options={"include_usage": True})
    assert events.pop()["usage"] == whole["usage"]
    shown = ""
    for event in events:
        shown += event["choices"][0]["text"]
        assert expected.startswith(shown)
    assert shown == whole["choices"][0]["text"] == expected
    for choice in (whole["choices"][0], events[-1]["choices"][0]):
        assert (choice["finish_reason"], choice["stop_reason"]) == ("stop", "9, 1")
