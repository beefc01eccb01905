# SPDX-License-Identifier: Apache-2.0
"""Many requests at once, and their answers in one form."""
import concurrent.futures


def all_at_once(function, arguments, concurrency=None):
    """[function(argument) for each], side by side; the first exception is raised."""
    arguments = list(arguments)
    with concurrent.futures.ThreadPoolExecutor(concurrency or len(arguments)) as pool:
        return list(pool.map(function, arguments))


def answer_of(http, path, body):
    """What a request was answered, streamed or not, in one form: dict of text, token_ids, logprobs, finish_reason,
    usage. Asks for the usage of a stream, and checks that all its events carry one id."""
    if not body.get("stream"):
        answer = http.post(path, body)
        assert answer.status == 200, (answer.status, answer.body[:500])
        choice = answer.json["choices"][0]
        return {"text": choice["message"]["content"] if "message" in choice else choice["text"],
                "logprobs": choice.get("logprobs"), "finish_reason": choice["finish_reason"],
                "usage": answer.json["usage"]}
    result = {"text": "", "logprobs": None, "finish_reason": None, "usage": None}
    ids = set()
    for event in http.stream(path, {**body, "stream_options": {"include_usage": True}}):
        if event is None:
            break
        assert "error" not in event, event
        ids.add(event["id"])
        for choice in event["choices"]:
            result["text"] += (choice["delta"].get("content") or "") if "delta" in choice else choice["text"]
            result["finish_reason"] = choice["finish_reason"] or result["finish_reason"]
            result["logprobs"] = joined(result["logprobs"], choice.get("logprobs"))
        result["usage"] = event.get("usage") or result["usage"]
    assert len(ids) == 1, ids
    return result


def joined(before, more):
    """Log-probability objects of a stream's chunks as the one of a whole answer."""
    if more is None or before is None:
        return before if more is None else more
    return {key: before[key] + more[key] if isinstance(more[key], list) else more[key] for key in more}
