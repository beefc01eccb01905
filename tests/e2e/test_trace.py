# SPDX-License-Identifier: Apache-2.0
"""GET /trace/events: whoever replays the events knows what the engine holds."""
import collections
import http.client
import json
import threading

import pytest

from load import all_at_once
from metrics import blocks, settled, wait_idle

COMPLETIONS = "/v1/completions"


class Trace:
    """Reads events in a thread of its own, from the oldest one or behind `last_id`."""

    def __init__(self, port, last_id=None):
        self.connection = http.client.HTTPConnection("127.0.0.1", port)
        headers = {"Last-Event-ID": last_id} if last_id else {}
        self.connection.request("GET", "/trace/events?from=1", headers=headers)
        self.response = self.connection.getresponse()
        assert self.response.status == 200
        self.events, self.last_id = [], last_id
        self.info = self.read_one()

    def read_one(self):
        fields = {}
        while (line := self.response.readline().decode("utf-8").rstrip("\n")) or not fields:
            name, value = line.split(": ", 1) if line and not line.startswith(":") else ("", "")
            fields.update({name: value} if name else {})
        self.last_id = fields.get("id", self.last_id)
        return json.loads(fields["data"])

    def read_to_end_of(self, num_sequences):
        """Until that many have finished and given everything back, in a step that is complete."""
        held, finished = collections.Counter(), set()
        for event in self.events:
            count(event, held, finished)
        while (len(finished) < num_sequences or any(held[seq] for seq in finished)
               or self.events[-1]["kind"] != "step_timings"):
            self.events.append(self.read_one())
            count(self.events[-1], held, finished)

    def close(self):
        self.connection.close()


def count(event, held, finished):
    held[event.get("seq")] += {"block_taken": 1, "block_shared": 1, "block_freed": -1}.get(event["kind"], 0)
    if event["kind"] == "sequence_finished":
        finished.add(event["seq"])


def replay(events):
    """(blocks in use, cached blocks, tokens by sequence), with a check of each event against what came before."""
    references, cached, tables, tokens = collections.Counter(), set(), collections.defaultdict(list), collections.Counter()
    for event in events:
        kind, block, table = event["kind"], event.get("block"), tables[event.get("seq")]
        if kind in ("block_taken", "block_shared"):
            assert event["index"] == len(table), event
            assert kind == "block_shared" or (references[block] == 0 and block not in cached), event
            table.append(block)
            references[block] += 1
            cached.discard(block)
        elif kind == "block_freed":
            assert table.pop() == block, event
            references[block] -= 1
            assert references[block] == event["num_references"], event
            if event["is_cached"] and references[block] == 0:
                cached.add(block)
        elif kind == "block_evicted":
            cached.remove(block)
        elif kind == "token_produced":
            assert event["output_index"] == tokens[event["seq"]], event
            tokens[event["seq"]] += 1
    return sum(1 for value in references.values() if value), len(cached), tokens


@pytest.fixture
def traced(start_server):
    return start_server("--num-gpu-blocks-override", 40, "--block-size", 16)


def ask(server, i):
    words = "one two three four five six seven eight nine ten eleven twelve " * 2
    answer = server.http.post(COMPLETIONS, {"prompt": f"{words if i % 2 else ''} {i}", "max_tokens": 40, "ignore_eos": True})
    assert answer.status == 200, answer.body
    return answer.json["usage"]


def test_a_replay_ends_with_what_the_metrics_say(traced):
    trace = Trace(traced.port)
    assert (trace.info["kind"], trace.info["num_blocks"], trace.info["block_size"]) == ("engine_info", 40, 16)
    usages = all_at_once(lambda i: ask(traced, i), range(16)) + [ask(traced, 1)]
    trace.read_to_end_of(17)
    trace.close()
    wait_idle(traced.http)
    used, cached, tokens = replay(trace.events)
    assert (used, cached) == blocks(traced.http)[:2]
    assert sum(tokens.values()) == sum(usage["completion_tokens"] for usage in usages) == 17 * 40
    kinds = collections.Counter(event["kind"] for event in trace.events)
    values = settled(traced.http)
    assert kinds["sequence_preempted"] == values["vllm:num_preemptions_total"] > 0
    assert kinds["request_queued"] == kinds["sequence_finished"] == 17
    assert kinds["step_planned"] == kinds["step_timings"] == values["vllm:iteration_tokens_total_count"]
    first = [event for event in trace.events if event["kind"] == "sequence_admitted" and not event["is_resumed"]]
    assert sum(event["num_cached_tokens"] for event in first) == values["vllm:prefix_cache_hits_total"] > 0


def test_a_cut_connection_loses_nothing(traced):
    whole, first = Trace(traced.port), Trace(traced.port)
    asking = threading.Thread(target=lambda: [ask(traced, i) for i in range(3)])
    asking.start()
    first.events = [first.read_one() for _ in range(30)]
    first.close()
    asking.join()
    second = Trace(traced.port, first.last_id)
    whole.read_to_end_of(3)
    second.events = [second.read_one() for _ in range(len(whole.events) - 30)]
    assert first.events + second.events == whole.events
    whole.close()
    second.close()
