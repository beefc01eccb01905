#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Loads an OpenAI-compatible server with streamed completions and reports what its users felt.

Every request asks for exactly --output-tokens tokens (ignore_eos, temperature 0) after a prompt of
--prompt-words words. Prompts are drawn from --seed and differ from each other, so that no server can
answer from a cache; --shared-prefix-words puts the same words in front of all of them. Arrivals are one of:

  --concurrency 16         closed: that many requests in flight, a new one as soon as one ends (default)
  --request-rate 2.5       open: so many a second on average, Poisson, whether or not answers keep up
  --trace arrivals.jsonl   recorded: {"at_s": 0.8, "prompt_words": 128, "output_tokens": 64} a line

--interfere-words 1000 also sends, apart from the measured requests, a prompt of that many words for one
token every --interfere-every seconds: what a long prompt does to everybody else's gaps.

The report is one line of JSON. Times are in milliseconds: ttft to the first token, itl between two pieces
of text, tpot the mean time of a request's tokens after the first, e2e of the whole request. client_cpu is
the share of one core that this program itself took. Standard library only.
"""
import argparse
import asyncio
import json
import random
import resource
import sys
import time
import urllib.parse
from dataclasses import dataclass, field

# Common words of one or two tokens in most vocabularies.
WORDS = """about after again air all along also always animal another answer any around ask away back because
before began being below between big book both boy came carry change children city close come could country cut
day did different does down each earth eat end enough even every example eye face far father feet few find first
follow food form found four from full gave get give good great group grow had hand hard have head hear help here
high home house idea important into just keep kind know land large last later learn leave left letter life light
line list little live long made make man many mean men might mile more most mother mountain move much must name
near need never next night now number off often old once one only open other our out over own page paper part
people place plant play point put question quick read real right river run said same saw say school sea second
see seem sentence set she should show side small some sound spell stand start state still stop story study such
take talk tell than that their them then there these thing think this those thought three through time together
took tree try turn two under until use very walk want watch water way well went were what when where which while
white who why will with without word work world would write year you young""".split()

LINE_LIMIT = 1 << 20  # bytes of one header line or event


# --- what is asked ---------------------------------------------------------------------------------


@dataclass
class Ask:
    prompt: str
    output_tokens: int
    at_s: float = 0.0  # after the start; arrivals by concurrency take the next free place instead


def make_prompt(rng, num_words, num_shared_words):
    shared = [WORDS[i % len(WORDS)] for i in range(num_shared_words)]
    return " ".join(shared + rng.choices(WORDS, k=num_words))


def plan_asks(args):
    rng = random.Random(args.seed)
    if args.trace:
        with open(args.trace, encoding="utf-8") as file:
            rows = [json.loads(line) for line in file if line.strip()]
        return [Ask(make_prompt(rng, row["prompt_words"], args.shared_prefix_words), row["output_tokens"], row["at_s"])
                for row in rows]
    asks, at_s = [], 0.0
    for _ in range(args.requests):
        asks.append(Ask(make_prompt(rng, args.prompt_words, args.shared_prefix_words), args.output_tokens, at_s))
        if args.request_rate:
            at_s += rng.expovariate(args.request_rate)
    return asks


# --- one request -----------------------------------------------------------------------------------


@dataclass
class Outcome:
    started: float
    text_times: list = field(default_factory=list)  # when each piece of text came
    ended: float = 0.0
    prompt_tokens: int = 0
    output_tokens: int = 0
    error: str = ""


class Target:
    """The server: where it is and how a completion is asked of it."""

    def __init__(self, url, model, api_key, chat):
        self.parts = urllib.parse.urlsplit(url)
        if self.parts.scheme != "http" or not self.parts.hostname:
            sys.exit(f"loadgen: --url must be http://HOST:PORT, not {url!r}")
        self.model, self.api_key, self.chat = model, api_key, chat

    def _head(self, method, path, length):
        key = f"Authorization: Bearer {self.api_key}\r\n" if self.api_key else ""
        return (f"{method} {self.parts.path.rstrip('/')}{path} HTTP/1.1\r\nHost: {self.parts.netloc}\r\n{key}"
                f"Content-Type: application/json\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n").encode()

    async def exchange(self, method, path, body=b""):
        """Sends a request; (status, async iterator over the bytes of the answer's body)."""
        reader, writer = await asyncio.open_connection(self.parts.hostname, self.parts.port or 80, limit=LINE_LIMIT)
        try:
            writer.write(self._head(method, path, len(body)) + body)
            await writer.drain()
            status = int((await reader.readline()).split()[1])
            chunked = False
            while (line := (await reader.readline()).strip().lower()):
                chunked |= line.startswith(b"transfer-encoding:") and b"chunked" in line
        except BaseException:
            writer.close()
            raise
        return status, body_bytes(reader, writer, chunked)

    def body(self, ask):
        fields = {"model": self.model, "max_tokens": ask.output_tokens, "temperature": 0, "ignore_eos": True,
                  "stream": True, "stream_options": {"include_usage": True}}
        if self.chat:
            return "/v1/chat/completions", {**fields, "messages": [{"role": "user", "content": ask.prompt}]}
        return "/v1/completions", {**fields, "prompt": ask.prompt}

    async def first_model(self):
        status, pieces = await self.exchange("GET", "/v1/models")
        text = b"".join([piece async for piece in pieces])
        if status != 200:
            sys.exit(f"loadgen: /v1/models answers {status}: {text[:200]!r}")
        return json.loads(text)["data"][0]["id"]


async def body_bytes(reader, writer, chunked):
    try:
        while True:
            if not chunked:
                piece = await reader.read(1 << 16)
                if not piece:
                    return
            else:
                size = int((await reader.readline()).split(b";")[0], 16)
                piece = await reader.readexactly(size)
                await reader.readexactly(2)
                if size == 0:
                    return
            yield piece
    finally:
        writer.close()


async def events(pieces):
    """The data of each server-sent event."""
    pending = b""
    async for piece in pieces:
        pending += piece.replace(b"\r\n", b"\n")
        *whole, pending = pending.split(b"\n\n")
        for event in whole:
            if event.startswith(b"data:"):
                yield event[5:].strip()


def text_of(event):
    choices = event.get("choices")
    if not choices:
        return ""
    return choices[0].get("text") or (choices[0].get("delta") or {}).get("content") or ""


async def read_stream(target, ask, outcome):
    path, fields = target.body(ask)
    status, pieces = await target.exchange("POST", path, json.dumps(fields).encode())
    if status != 200:
        raise RuntimeError(f"HTTP {status}: {b''.join([piece async for piece in pieces])[:200]!r}")
    done = False
    async for data in events(pieces):
        if data == b"[DONE]":
            done = True  # and on to the end of the body, so that the connection closes in order
            continue
        event = json.loads(data)
        if "error" in event:
            raise RuntimeError(f"in the stream: {str(event['error'])[:200]}")
        if text_of(event):
            outcome.text_times.append(time.perf_counter())
        if event.get("usage"):
            outcome.prompt_tokens = event["usage"]["prompt_tokens"]
            outcome.output_tokens = event["usage"]["completion_tokens"]
    if not done:
        raise RuntimeError("the stream ended without [DONE]")
    outcome.output_tokens = outcome.output_tokens or len(outcome.text_times)


async def run_ask(target, ask, timeout):
    outcome = Outcome(time.perf_counter())
    try:
        await asyncio.wait_for(read_stream(target, ask, outcome), timeout)
    except Exception as error:  # pylint: disable=broad-except  # counted and shown, whatever it is
        outcome.error = f"{type(error).__name__}: {error}"
    outcome.ended = time.perf_counter()
    return outcome


# --- arrivals --------------------------------------------------------------------------------------


async def closed_loop(target, asks, concurrency, timeout):
    waiting, outcomes = iter(asks), []

    async def user():
        for ask in waiting:
            outcomes.append(await run_ask(target, ask, timeout))

    await asyncio.gather(*(user() for _ in range(concurrency)))
    return outcomes


async def open_loop(target, asks, timeout):
    start = time.perf_counter()

    async def arrival(ask):
        await asyncio.sleep(start + ask.at_s - time.perf_counter())
        return await run_ask(target, ask, timeout)

    return await asyncio.gather(*(arrival(ask) for ask in asks))


async def interfere(target, args, outcomes):
    """Long prompts at regular times until cancelled; those on their way then are still waited for."""
    rng, sent = random.Random(args.seed + 1), []

    async def one(ask):
        outcomes.append(await run_ask(target, ask, args.timeout))

    try:
        while True:
            await asyncio.sleep(args.interfere_every)
            sent.append(asyncio.create_task(one(Ask(make_prompt(rng, args.interfere_words, 0), 1))))
    except asyncio.CancelledError:
        await asyncio.gather(*sent)


# --- report ----------------------------------------------------------------------------------------


def percentile(ordered, share):
    """Linear between the two nearest ranks; `ordered` is sorted and not empty."""
    rank = share * (len(ordered) - 1)
    below = int(rank)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (rank - below)


def spread(seconds):
    ordered = sorted(1e3 * value for value in seconds)
    if not ordered:
        return None
    row = {f"p{share}": round(percentile(ordered, share / 100), 2) for share in (50, 90, 99)}
    return {"mean": round(sum(ordered) / len(ordered), 2), **row, "max": round(ordered[-1], 2)}


def summary(outcomes):
    good = [outcome for outcome in outcomes if not outcome.error]
    with_text = [outcome for outcome in good if outcome.text_times]
    return {
        "completed": len(good), "failed": len(outcomes) - len(good),
        "prompt_tokens": sum(outcome.prompt_tokens for outcome in good),
        "output_tokens": sum(outcome.output_tokens for outcome in good),
        "ttft_ms": spread(outcome.text_times[0] - outcome.started for outcome in with_text),
        "tpot_ms": spread((outcome.ended - outcome.text_times[0]) / (outcome.output_tokens - 1)
                          for outcome in with_text if outcome.output_tokens > 1),
        "itl_ms": spread(later - earlier for outcome in with_text
                         for earlier, later in zip(outcome.text_times, outcome.text_times[1:])),
        "e2e_ms": spread(outcome.ended - outcome.started for outcome in good),
        "first_errors": [outcome.error for outcome in outcomes if outcome.error][:3],
    }


def cpu_seconds():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


async def run(args):
    target = Target(args.url, args.model, args.api_key, args.chat)
    target.model = args.model or await target.first_model()
    asks = plan_asks(args)
    long_outcomes = []
    long_task = asyncio.create_task(interfere(target, args, long_outcomes)) if args.interfere_words else None
    start, cpu_start = time.perf_counter(), cpu_seconds()
    if args.trace or args.request_rate:
        outcomes = await open_loop(target, asks, args.timeout)
    else:
        outcomes = await closed_loop(target, asks, args.concurrency, args.timeout)
    wall, cpu = time.perf_counter() - start, cpu_seconds() - cpu_start
    report = summary(outcomes)
    report = {
        "arrivals": args.trace or (f"{args.request_rate}/s" if args.request_rate else f"{args.concurrency} in flight"),
        "wall_s": round(wall, 2),
        "output_tokens_per_s": round(report["output_tokens"] / wall, 1),
        "total_tokens_per_s": round((report["output_tokens"] + report["prompt_tokens"]) / wall, 1),
        "requests_per_s": round(report["completed"] / wall, 2),
        **report, "client_cpu": round(cpu / wall, 3)}
    if long_task:
        long_task.cancel()
        await asyncio.wait([long_task])
        report["interfering"] = summary(long_outcomes)
    return report


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--url", default="http://127.0.0.1:8000")
    parser.add_argument("--model", help="default: the first of /v1/models")
    parser.add_argument("--api-key", default="")
    parser.add_argument("--chat", action="store_true", help="use /v1/chat/completions")
    arrivals = parser.add_mutually_exclusive_group()
    arrivals.add_argument("--concurrency", type=int, default=16)
    arrivals.add_argument("--request-rate", type=float)
    arrivals.add_argument("--trace")
    parser.add_argument("--requests", type=int, default=64)
    parser.add_argument("--prompt-words", type=int, default=128)
    parser.add_argument("--shared-prefix-words", type=int, default=0)
    parser.add_argument("--output-tokens", type=int, default=64)
    parser.add_argument("--interfere-words", type=int, default=0)
    parser.add_argument("--interfere-every", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--timeout", type=float, default=600.0, help="seconds for one request")
    return parser.parse_args()


def main():
    report = asyncio.run(run(parse_arguments()))
    print(json.dumps(report))
    return 1 if report["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
