# SPDX-License-Identifier: Apache-2.0
"""GET /metrics, read strictly."""
import re
import time

SAMPLE = re.compile(r'^([a-zA-Z_:][\w:]*)(?:\{((?:\w+="[^"]*",?)*)\})? (\S+)$')


def metrics(http):
    """{name or name{label="value",...}: number}, the labels sorted, without model_name and engine, which all have.
    Every line is a comment or a sample, and no sample comes twice."""
    answer = http.get("/metrics")
    assert answer.status == 200
    values = {}
    for line in answer.body.decode("utf-8").splitlines():
        if line.startswith(("# HELP ", "# TYPE ")):
            continue
        match = SAMPLE.match(line)
        assert match, line
        name, labels, value = match.groups()
        own = sorted(label for label in re.findall(r'\w+="[^"]*"', labels or "")
                     if not label.startswith(("model_name=", "engine=")))
        key = name + ("{" + ",".join(own) + "}" if own else "")
        assert key not in values, line
        values[key] = float(value)
    return values


def open_requests(http):
    values = metrics(http)
    return values["vllm:num_requests_running"] + values["vllm:num_requests_waiting"]


def num_steps(http):
    return metrics(http)["vllm:iteration_tokens_total_count"]


def settled(http):
    """The metrics when the engine has counted its last step."""
    before = None
    while before != (now := num_steps(http)):
        before = now
        time.sleep(0.05)
    return metrics(http)


def num_ended(http):
    return sum(value for key, value in metrics(http).items() if key.startswith("vllm:request_success_total{"))


def blocks(http):
    """(used, cached, free) blocks of the KV cache."""
    values = metrics(http)
    return tuple(int(values[f'tiny_vllm:kv_cache_blocks{{state="{state}"}}']) for state in ("used", "cached", "free"))


def wait_until(condition, limit_s, what):
    deadline = time.monotonic() + limit_s
    while not condition():
        assert time.monotonic() < deadline, f"{what}: not within {limit_s} s"
        time.sleep(0.01)


def wait_idle(http, limit_s=10):
    """Until no request runs or waits, and no block is in use."""
    wait_until(lambda: open_requests(http) == 0 and blocks(http)[0] == 0, limit_s, "no request and no block in use")
