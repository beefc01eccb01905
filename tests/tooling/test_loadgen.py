# SPDX-License-Identifier: Apache-2.0
"""bench/serving/loadgen.py against a small server whose behaviour is known."""
import http.server
import json
import pathlib
import subprocess
import sys
import tempfile
import threading
import time
import unittest

LOADGEN = pathlib.Path(__file__).resolve().parents[2] / "bench/serving/loadgen.py"
FIRST_TOKEN_S, LATER_TOKEN_S = 0.05, 0.01


class Handler(http.server.BaseHTTPRequestHandler):
    """Streams max_tokens pieces of text; a prompt's tokens are its words."""
    protocol_version = "HTTP/1.1"

    def do_GET(self):  # pylint: disable=invalid-name
        self.answer(200, json.dumps({"data": [{"id": "fake"}]}).encode())

    def do_POST(self):  # pylint: disable=invalid-name
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with self.server.lock:
            self.server.bodies.append(body)
            number = len(self.server.bodies)
        if number in self.server.failing:
            self.answer(503, b"no")
            return
        if self.server.barrier:  # nobody is answered before all have asked
            self.server.barrier.wait(timeout=30)
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for i in range(body["max_tokens"]):
            time.sleep(FIRST_TOKEN_S if i == 0 else LATER_TOKEN_S)
            self.event({"choices": [{"text": "x"}]})
        usage = {"prompt_tokens": len(body["prompt"].split()), "completion_tokens": body["max_tokens"]}
        self.event({"choices": [], "usage": usage})
        if number not in self.server.unfinished:
            self.chunk(b"data: [DONE]\n\n")
        self.wfile.write(b"0\r\n\r\n")

    def event(self, value):
        self.chunk(f"data: {json.dumps(value)}\n\n".encode())

    def chunk(self, data):
        self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")

    def answer(self, status, body):
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class LoadgenTest(unittest.TestCase):
    def setUp(self):
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.lock, self.server.bodies = threading.Lock(), []
        self.server.failing, self.server.unfinished = set(), set()
        self.server.barrier = None
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.addCleanup(self.server.server_close)
        self.addCleanup(self.server.shutdown)

    def load(self, *options):
        url = f"http://127.0.0.1:{self.server.server_port}"
        done = subprocess.run([sys.executable, str(LOADGEN), "--url", url, *map(str, options)], capture_output=True,
                              text=True, check=False, timeout=60)
        self.assertEqual(done.stderr, "")
        return done.returncode, json.loads(done.stdout)

    def test_counts_and_times_are_those_of_the_server(self):
        status, report = self.load("--concurrency", 4, "--requests", 8, "--prompt-words", 10, "--output-tokens", 5)
        self.assertEqual(status, 0)
        self.assertEqual((report["completed"], report["failed"]), (8, 0))
        self.assertEqual((report["prompt_tokens"], report["output_tokens"]), (80, 40))
        self.assertGreaterEqual(report["ttft_ms"]["p50"], 1e3 * FIRST_TOKEN_S)
        self.assertLess(report["ttft_ms"]["p50"], report["e2e_ms"]["p50"])
        self.assertGreaterEqual(report["itl_ms"]["p50"], 1e3 * LATER_TOKEN_S - 1)
        self.assertGreaterEqual(report["e2e_ms"]["p50"], 1e3 * (FIRST_TOKEN_S + 4 * LATER_TOKEN_S))
        # wall_s is rounded to hundredths.
        self.assertGreaterEqual(report["output_tokens_per_s"] + 0.1, 40 / (report["wall_s"] + 0.005))
        self.assertLessEqual(report["output_tokens_per_s"] - 0.1, 40 / (report["wall_s"] - 0.005))

    def test_prompts_differ_and_repeat_with_the_seed(self):
        options = ("--concurrency", 1, "--requests", 3, "--output-tokens", 1, "--prompt-words", 20,
                   "--shared-prefix-words", 5)
        self.load(*options)
        self.load(*options)
        prompts = [body["prompt"] for body in self.server.bodies]
        self.assertEqual(prompts[:3], prompts[3:])
        self.assertEqual(len(set(prompts)), 3)
        self.assertEqual(len({tuple(prompt.split()[:5]) for prompt in prompts}), 1)
        self.assertEqual(len(prompts[0].split()), 25)

    def test_failures_are_counted_and_shown(self):
        self.server.failing, self.server.unfinished = {2}, {3}
        status, report = self.load("--concurrency", 1, "--requests", 4, "--output-tokens", 2)
        self.assertEqual(status, 1)
        self.assertEqual((report["completed"], report["failed"]), (2, 2))
        self.assertIn("HTTP 503", report["first_errors"][0])
        self.assertIn("without [DONE]", report["first_errors"][1])

    def test_a_recorded_trace_is_replayed_at_its_times(self):
        with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as trace:
            for at_s, words in ((0.0, 3), (0.3, 7)):
                trace.write(json.dumps({"at_s": at_s, "prompt_words": words, "output_tokens": 1}) + "\n")
            trace.flush()
            _, report = self.load("--trace", trace.name)
        self.assertEqual(report["prompt_tokens"], 10)
        self.assertGreaterEqual(report["wall_s"], 0.3 + FIRST_TOKEN_S - 0.01)

    def test_a_rate_does_not_wait_for_answers(self):
        self.server.barrier = threading.Barrier(20)
        _, report = self.load("--request-rate", 1000, "--requests", 20, "--output-tokens", 1)
        self.assertEqual(report["completed"], 20)

    def test_long_prompts_beside_the_load_are_reported_apart(self):
        _, report = self.load("--concurrency", 1, "--requests", 1, "--output-tokens", 30, "--prompt-words", 5,
                              "--interfere-words", 100, "--interfere-every", 0.1)
        self.assertEqual(report["prompt_tokens"], 5)
        self.assertGreaterEqual(report["interfering"]["completed"], 1)
        self.assertEqual(report["interfering"]["prompt_tokens"], 100 * report["interfering"]["completed"])


if __name__ == "__main__":
    unittest.main()
