# SPDX-License-Identifier: Apache-2.0
"""`tiny-vllm bench` as a user runs it: against the real server, and with the engine in its own process."""
import json
import re

import pytest

from metrics import settled
from server_process import MODEL, run_verb

SERVE = ("bench", "serve", "--random-input-len", 24, "--random-output-len", 6)


def bench_serve(server, tmp_path, *options, num_prompts=5):
    """(what it printed, what it saved) of a few requests."""
    done = run_verb(*SERVE, "--num-prompts", num_prompts, "--base-url", server.url, "--save-result", "--result-dir",
                    tmp_path / "results", "--result-filename", "run.json", *options)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout, json.loads((tmp_path / "results/run.json").read_text(encoding="utf-8"))


def row(report, label):
    return float(re.search(rf"^{re.escape(label)}:? +([\d.]+)", report, re.MULTILINE).group(1))


def test_a_server_is_measured_and_the_file_agrees_with_the_report(server, tmp_path):
    report, saved = bench_serve(server, tmp_path, "--tokenizer", MODEL, "--save-detailed", "--percentile-metrics",
                                "ttft,tpot,itl,e2el", "--metric-percentiles", "50,99", "--metadata", "machine=here")
    assert "============ Serving Benchmark Result ============" in report
    assert saved["completed"] == row(report, "Successful requests") == 5
    assert saved["failed"] == 0 and saved["errors"] == [""] * 5
    # With the model's own tokenizer the lengths are exact, by the server's count.
    assert saved["input_lens"] == [24] * 5
    assert saved["output_lens"] == [6] * 5
    assert saved["total_input_tokens"] == row(report, "Total input tokens") == 120
    assert saved["total_output_tokens"] == row(report, "Total generated tokens") == 30
    assert saved["output_throughput"] == pytest.approx(30 / saved["duration"])
    assert saved["machine"] == "here"
    assert saved["request_rate"] == "inf" and saved["max_concurrency"] is None
    for i in range(5):
        assert 0 < saved["ttfts"][i] <= saved["latencies"][i] <= saved["duration"]
        assert saved["ttfts"][i] + sum(saved["itls"][i]) == pytest.approx(saved["latencies"][i])
    for metric in ("ttft", "tpot", "itl", "e2el"):
        assert 0 < saved[f"median_{metric}_ms"] <= saved[f"p99_{metric}_ms"]
        assert row(report, f"P99 {metric.upper()} (ms)") == pytest.approx(saved[f"p99_{metric}_ms"], abs=0.01)


def test_chats_at_a_rate_and_no_more_than_some_at_once(server, tmp_path):
    _, saved = bench_serve(server, tmp_path, "--backend", "openai-chat", "--request-rate", 20, "--max-concurrency", 2,
                           "--burstiness", 0.5, "--goodput", "e2el:60000")
    assert saved["completed"] == 5
    assert saved["total_output_tokens"] == 30
    assert saved["max_concurrent_requests"] <= 2
    assert saved["request_goodput"] == saved["request_throughput"]
    assert "ttfts" not in saved and "p99_e2el_ms" not in saved


def test_the_same_seed_sends_the_same_prompts(server, tmp_path):
    texts = []
    for seed in (3, 3, 4):
        _, saved = bench_serve(server, tmp_path, "--seed", seed, "--temperature", 0, "--save-detailed")
        texts.append(saved["generated_texts"])
    assert texts[0] == texts[1] != texts[2]


def test_prefixes_that_repeat_are_shared(start_server, tmp_path):
    server = start_server("--max-model-len", 512)
    _, saved = bench_serve(server, tmp_path, "--dataset-name", "prefix_repetition",
                           "--prefix-repetition-num-prefixes", 2, "--prefix-repetition-prefix-len", 64,
                           "--prefix-repetition-suffix-len", 8, "--output-len", 3, "--max-concurrency", 1,
                           "--tokenizer", MODEL, num_prompts=6)
    assert saved["total_input_tokens"] == 6 * 72
    assert settled(server.http)["vllm:prefix_cache_hits_total"] == 4 * 64


def test_conversations_from_a_file(server, tmp_path):
    question, answer = "Name the rivers of Europe, please.", "The Danube, the Rhine, the Elbe."
    conversation = {"conversations": [{"from": "human", "value": question}, {"from": "gpt", "value": answer}]}
    path = tmp_path / "share_gpt.json"
    path.write_text(json.dumps([conversation, {"conversations": []}]), encoding="utf-8")
    _, saved = bench_serve(server, tmp_path, "--dataset-name", "sharegpt", "--dataset-path", path, "--tokenizer", MODEL,
                           "--ignore-eos", "--save-detailed", num_prompts=2)
    assert saved["completed"] == 2
    lens = [len(run_verb("tokenize", MODEL, text, "--ids").stdout.split()) for text in (question, answer)]
    assert (saved["input_lens"], saved["output_lens"]) == ([lens[0]] * 2, [lens[1]] * 2)


def test_requests_that_all_fail_are_a_failure(server):
    done = run_verb(*SERVE, "--num-prompts", 2, "--base-url", server.url, "--model", "absent")
    assert done.returncode == 1
    assert "Error 0: HTTP 404" in done.stdout
    done = run_verb(*SERVE, "--num-prompts", 2, "--port", 1)
    assert done.returncode == 1
    assert done.stderr == "tiny-vllm: cannot connect to 127.0.0.1:1: Connection refused\n"


def test_the_latency_of_a_batch_is_told_by_phase(tmp_path):
    path = tmp_path / "latency.json"
    done = run_verb("bench", "latency", MODEL, "--batch-size", 3, "--input-len", 16, "--output-len", 5,
                    "--num-iters-warmup", 1, "--num-iters", 4, "--max-model-len", 64, "--output-json", path)
    assert done.returncode == 0, done.stderr
    saved = json.loads(path.read_text(encoding="utf-8"))
    assert len(saved["latencies"]) == 4
    assert row(done.stdout, "Avg latency") == pytest.approx(saved["avg_latency"])
    prefill, decode = saved["steps"]["prefill"], saved["steps"]["decode"]
    # All prompts are in the first step: the engine waits until it has them.
    assert (prefill["num_steps"], prefill["num_prefill_tokens"]) == (4, 4 * 3 * 16)
    assert (decode["num_steps"], decode["num_decode_tokens"]) == (4 * 4, 4 * 3 * 4)
    in_steps = sum(sum(group["phase_seconds"].values()) for group in (prefill, decode))
    assert 0 < in_steps <= sum(saved["latencies"])


def test_the_throughput_of_many_prompts(tmp_path):
    path = tmp_path / "throughput.json"
    done = run_verb("bench", "throughput", MODEL, "--num-prompts", 6, "--input-len", 20, "--output-len", 5, "--n", 2,
                    "--max-model-len", 64, "--output-json", path)
    assert done.returncode == 0, done.stderr
    saved = json.loads(path.read_text(encoding="utf-8"))
    assert saved["num_requests"] == 12
    assert saved["total_num_tokens"] == 12 * 25
    assert row(done.stdout, "Total num prompt tokens") == 12 * 20
    assert row(done.stdout, "Total num output tokens") == 12 * 5
    assert saved["output_tokens_per_second"] == pytest.approx(60 / saved["elapsed_time"])
    rates = [float(word) for word in re.findall(r"([\d.]+) (?:requests|total tokens|output tokens)/s", done.stdout)]
    assert rates == pytest.approx([12 / saved["elapsed_time"], 300 / saved["elapsed_time"], 60 / saved["elapsed_time"]],
                                  abs=0.01)


REFUSED = [
    (("serve", "--base-url", "https://127.0.0.1:1"), "--base-url"),
    (("serve", "--base-url", "127.0.0.1:8000"), "--base-url"),
    (("serve", "--dataset-name", "sonnet"), "{random,sharegpt,prefix_repetition}"),
    (("serve", "--dataset-name", "sharegpt"), "--tokenizer"),
    (("serve", "--dataset-name", "sharegpt", "--tokenizer", MODEL), "--dataset-path"),
    (("serve", "--dataset-path", "absent.json"), "--dataset-path"),
    (("serve", "--tokenizer", "absent.gguf"), "absent.gguf"),
    (("serve", "--num-prompts", 0), "--num-prompts"),
    (("serve", "--random-range-ratio", 1), "--random-range-ratio"),
    (("serve", "--request-rate", 0), "above 0"),
    (("serve", "--request-rate", "often"), "above 0"),
    (("serve", "--burstiness", -1), "above 0"),
    (("serve", "--max-concurrency", 0), "--max-concurrency"),
    (("serve", "--percentile-metrics", "ttft,speed"), "--percentile-metrics"),
    (("serve", "--metric-percentiles", "101"), "[0, 100]"),
    (("serve", "--goodput", "ttft"), "METRIC:MILLISECONDS"),
    (("serve", "--goodput", "itl:5"), "--goodput"),
    (("serve", "--header", "nothing"), "KEY=VALUE"),
    (("serve", "--extra-body", "[]", "--model", "m"), "--extra-body"),
    (("serve", "--ramp-up-strategy", "linear"), "--ramp-up-start-rps"),
    (("latency",), "MODEL"),
    (("latency", "absent.gguf"), "absent.gguf"),
    (("latency", MODEL, "--batch-size", 0), "--batch-size"),
    (("latency", MODEL, "--num-iters", 0), "--num-iters"),
    (("latency", MODEL, "--input-len", 8000, "--output-len", 1000), "--input-len 8000 and --output-len 1000"),
    (("throughput",), "MODEL"),
    (("throughput", MODEL, "--input-len", 8000, "--output-len", 1000, "--num-prompts", 1), "8000 tokens"),
    (("throughput", MODEL, "--dataset-name", "sharegpt"), "--dataset-path"),
    (("throughput", MODEL, "--n", 0), "--n"),
    ((), "subcommand"),
    (("everything",), "subcommand"),
]


@pytest.mark.parametrize("arguments, said", REFUSED, ids=[" ".join(map(str, row[0])) for row in REFUSED])
def test_what_cannot_be_is_refused_in_one_line(arguments, said):
    done = run_verb("bench", *arguments)
    assert done.returncode == 2, done.stdout + done.stderr
    reason = [line for line in done.stderr.splitlines() if " info " not in line]
    assert said in reason[0], done.stderr
    assert reason[1:] in ([], ["Run with --help for more information."]), done.stderr
