# SPDX-License-Identifier: Apache-2.0
"""tiny-vllm as a child process: start it, learn its port, stop it, look at what it said."""
import pathlib
import re
import signal
import subprocess
import threading
import time

from http_client import HttpClient

ROOT = pathlib.Path(__file__).resolve().parents[2]
BINARY = ROOT / "build/release/bin/tiny-vllm"
MODEL = ROOT / "models/SmolLM2-135M-Instruct.Q4_1.gguf"
GEMMA = ROOT / "models/gemma-3-270m-q4_k_m.gguf"

START_LIMIT_S = 120  # repacking and page cache on a loaded machine; about 1 s otherwise
STOP_LIMIT_S = 60
LISTENING = re.compile(r"listening on http://127\.0\.0\.1:(\d+)")


def run_verb(*arguments, timeout=120):
    """One run of the program to its end; the CompletedProcess with text output."""
    return subprocess.run([str(BINARY), *map(str, arguments)], capture_output=True, text=True, timeout=timeout,
                          stdin=subprocess.DEVNULL, check=False)


class ServerProcess:
    """`tiny-vllm serve MODEL --port 0 OPTIONS`, ready to answer once it is constructed."""

    def __init__(self, *options, model=MODEL):
        self.stderr_lines = []
        self.process = subprocess.Popen([str(BINARY), "serve", str(model), "--port", "0", *map(str, options)],
                                        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL,
                                        text=True, errors="replace")
        self._port = None
        self._port_known = threading.Event()
        self._reader = threading.Thread(target=self._read_stderr, daemon=True)
        self._reader.start()
        try:
            self._wait_until_ready()
        except BaseException:
            self.kill()
            raise

    def _read_stderr(self):
        for line in self.process.stderr:
            self.stderr_lines.append(line.rstrip("\n"))
            match = LISTENING.search(line)
            if match:
                self._port = int(match.group(1))
                self._port_known.set()
        self._port_known.set()  # the end of its output: nothing more to wait for

    def _wait_until_ready(self):
        deadline = time.monotonic() + START_LIMIT_S
        self._port_known.wait(START_LIMIT_S)
        if self._port is None:
            raise AssertionError("the server did not say 'listening on http://127.0.0.1:PORT'; it said:\n"
                                 + "\n".join(self.stderr_lines))
        while self.http.get("/health").status != 200:
            if time.monotonic() > deadline:
                raise AssertionError(f"/health is not 200 after {START_LIMIT_S} s")
            time.sleep(0.05)

    @property
    def url(self):
        return f"http://127.0.0.1:{self._port}"

    @property
    def port(self):
        return self._port

    @property
    def http(self):
        return HttpClient("127.0.0.1", self._port)

    def is_running(self):
        return self.process.poll() is None

    def memory_bytes(self):
        """Resident memory now."""
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text(encoding="utf-8")
        return int(re.search(r"^VmRSS:\s+(\d+) kB", status, re.MULTILINE).group(1)) * 1024

    def send_sigterm(self):
        self.process.send_signal(signal.SIGTERM)

    def wait(self, timeout=STOP_LIMIT_S):
        """The exit status, once it has ended by itself."""
        status = self.process.wait(timeout)
        self._reader.join(5)
        return status

    def stop(self):
        """SIGTERM, and the exit status 0 that must follow. Harmless for one that has ended."""
        if self.is_running():
            self.send_sigterm()
            status = self.wait()
            assert status == 0, f"exit status {status} after SIGTERM; it said:\n" + "\n".join(self.stderr_lines[-20:])

    def kill(self):
        if self.is_running():
            self.process.kill()
            self.process.wait()
