# SPDX-License-Identifier: Apache-2.0
"""Log-probabilities over HTTP against an fp32 forward pass (tests/data/reference). The bounds are the
project's accuracy figures, not what happens to be reached."""
import json
from dataclasses import dataclass, field

import pytest

from server_process import GEMMA, MODEL, ROOT


def read_reference(name):
    return json.loads((ROOT / "tests/data/reference" / name).read_text(encoding="utf-8"))


@dataclass(frozen=True)
class Case:
    """A model, its reference, and what llama.cpp reaches on the same file."""
    path: object
    reference: str
    mean: float
    top1: float
    nll: float


SMOLLM2 = Case(MODEL, "smollm2.json", mean=0.065, top1=0.985, nll=0.0034)
GEMMA3 = Case(GEMMA, "gemma3.json", mean=0.078, top1=0.976, nll=0.0074)
needs_gemma = pytest.mark.skipif(not GEMMA.exists(), reason=f"{GEMMA.name} is not there: scripts/setup --models fetches it")
CASES = [pytest.param(SMOLLM2, id="smollm2"), pytest.param(GEMMA3, id="gemma3", marks=needs_gemma)]

CLEAR_GAP = 0.1  # nats: closer choices say nothing about who is right
GREEDY_TIE = 0.5  # a greedy continuation may leave the reference's at a gap below this


@dataclass
class Deviation:
    """Sums over all positions of all texts."""
    differences: list = field(default_factory=list)  # ours - reference, of the actual next token
    clear: int = 0
    agreeing: int = 0
    strayed: list = field(default_factory=list)  # texts whose greedy continuation left at a clear choice

    @property
    def mean(self):
        return sum(map(abs, self.differences)) / len(self.differences)

    @property
    def largest(self):
        return max(map(abs, self.differences))

    @property
    def mean_nll(self):
        return -sum(self.differences) / len(self.differences)

    @property
    def top1(self):
        return self.agreeing / self.clear

    def __str__(self):
        return (f"{len(self.differences)} positions: mean |d| {self.mean:.5f}, max |d| {self.largest:.4f}, "
                f"mean NLL {self.mean_nll:+.5f}, top-1 {self.top1:.4f} of {self.clear}, strayed {self.strayed}")


def id_of(token):
    return int(token.removeprefix("token_id:"))


def complete(http, model, prompt, **fields):
    answer = http.post("/v1/completions", {"model": model, "prompt": prompt, "temperature": 0,
                                           "return_tokens_as_token_ids": True, **fields})
    assert answer.status == 200, answer.body[:500]
    return answer.json["choices"][0]["logprobs"]


def compare_prompt(http, model, text, deviation):
    ids = text["ids"]
    logprobs = complete(http, model, ids, max_tokens=1, echo=True, logprobs=2)
    assert [id_of(token) for token in logprobs["tokens"][:len(ids)]] == ids
    for position in range(1, len(ids)):
        deviation.differences.append(logprobs["token_logprobs"][position] - text["next_logprob"][position - 1])
        if text["gap"][position - 1] > CLEAR_GAP:
            top = logprobs["top_logprobs"][position]
            deviation.clear += 1
            deviation.agreeing += id_of(max(top, key=top.get)) == text["best"][position - 1]


def compare_greedy(http, model, name, text, deviation):
    logprobs = complete(http, model, text["ids"], max_tokens=len(text["greedy"]), ignore_eos=True, logprobs=0)
    ours = [id_of(token) for token in logprobs["tokens"]]
    assert len(ours) == len(text["greedy"])
    for mine, reference, margin in zip(ours, text["greedy"], text["greedy_margin"]):
        if mine != reference:
            if margin >= GREEDY_TIE:
                deviation.strayed.append(name)
            break


def measure(server, reference):
    http = server.http
    model = http.get("/v1/models").json["data"][0]["id"]
    deviation = Deviation()
    for name, text in read_reference(reference).items():
        compare_prompt(http, model, text, deviation)
        compare_greedy(http, model, name, text, deviation)
    return deviation


@pytest.fixture
def deviation_of(start_server):
    def measure_with(case, instruction_set):
        deviation = measure(start_server("--cpu-isa", instruction_set, model=case.path), case.reference)
        print(f"--cpu-isa {instruction_set}: {deviation}")
        return deviation

    return measure_with


@pytest.mark.parametrize("case", CASES)
def test_plain_fp32_is_the_reference_but_for_rounding(deviation_of, case):
    deviation = deviation_of(case, "reference")
    assert deviation.mean <= 0.0005
    assert deviation.largest <= 0.01
    assert deviation.top1 == 1.0
    assert deviation.strayed == []


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("instruction_set", ["scalar", "auto"])
def test_the_quantized_algorithm_is_closer_than_llama_cpp(deviation_of, case, instruction_set):
    deviation = deviation_of(case, instruction_set)
    assert deviation.mean < case.mean
    assert deviation.top1 > case.top1
    assert abs(deviation.mean_nll) <= case.nll
    assert deviation.strayed == []


@needs_gemma
@pytest.mark.parametrize("options", [(), ("--max-num-batched-tokens", "64", "--max-num-seqs", "8")], ids=["whole", "chunks"])
@pytest.mark.parametrize("instruction_set, tolerance", [("reference", 0.01), ("auto", 1.5)])
def test_positions_behind_the_sliding_window_are_forgotten(start_server, instruction_set, tolerance, options):
    server = start_server("--cpu-isa", instruction_set, *options, model=GEMMA)
    text = read_reference("gemma3_window.json")
    model = server.http.get("/v1/models").json["data"][0]["id"]
    logprobs = complete(server.http, model, text["ids"], max_tokens=1, echo=True, logprobs=0)
    ours = logprobs["token_logprobs"][text["first_position"] + 1:]
    differences = [abs(mine - reference) for mine, reference in zip(ours, text["next_logprob"])]
    assert len(text["next_logprob"]) > 250
    assert max(differences) <= tolerance
    assert sum(differences) / len(differences) <= tolerance / 10
