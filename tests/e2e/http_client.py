# SPDX-License-Identifier: Apache-2.0
"""HTTP without a helpful library in between: what the server really sent, and strict readers for it."""
import http.client
import json
from dataclasses import dataclass

TIMEOUT_S = 300


@dataclass
class Answer:
    status: int
    headers: dict  # lower-case names
    body: bytes

    @property
    def json(self):
        assert self.headers.get("content-type", "").startswith("application/json"), self.headers

        def refuse(literal):
            raise AssertionError(f"{literal} is no JSON number")

        return json.loads(self.body.decode("utf-8"), parse_constant=refuse)

    def error(self, status, param=...):
        """The error object, after checking its form, the status and the field it blames."""
        assert self.status == status, (self.status, self.body[:500])
        assert list(self.json) == ["error"], self.json
        error = self.json["error"]
        assert isinstance(error["message"], str) and error["message"], error
        assert isinstance(error["type"], str), error
        assert isinstance(error["param"], (str, type(None))), error
        assert isinstance(error["code"], (str, int, type(None))), error
        if param is not ...:
            assert error["param"] == param, error
        return error


class HttpClient:
    def __init__(self, host, port, headers=None):
        self.host, self.port, self.headers = host, port, headers or {}

    def request(self, method, path, body=None, headers=None):
        connection = http.client.HTTPConnection(self.host, self.port, timeout=TIMEOUT_S)
        try:
            connection.request(method, path, body, {**self.headers, **(headers or {})})
            response = connection.getresponse()
            fields = {name.lower(): value for name, value in response.getheaders()}
            return Answer(response.status, fields, response.read())
        finally:
            connection.close()

    def get(self, path, headers=None):
        return self.request("GET", path, headers=headers)

    def post(self, path, body, headers=None):
        return self.request("POST", path, json.dumps(body).encode(),
                            {"Content-Type": "application/json", **(headers or {})})

    def stream(self, path, body):
        """Posts and yields the payload of each event as it arrives, [DONE] as None."""
        connection = http.client.HTTPConnection(self.host, self.port, timeout=TIMEOUT_S)
        try:
            connection.request("POST", path, json.dumps(body).encode(),
                               {"Content-Type": "application/json", **self.headers})
            response = connection.getresponse()
            assert response.status == 200, (response.status, response.read()[:500])
            assert response.getheader("Content-Type").startswith("text/event-stream")
            yield from strict_events(iter(lambda: response.read1(65536), b""))
        finally:
            connection.close()


def strict_events(pieces):
    """The JSON of each server-sent event: one `data: ...` line followed by one empty line, nothing else
    but comments; valid UTF-8, valid JSON; [DONE] (None) comes last, and must come."""
    pending, done = b"", False
    for piece in pieces:
        pending += piece
        while b"\n\n" in pending:
            event, pending = pending.split(b"\n\n", 1)
            text = event.decode("utf-8")
            if text.startswith(":"):
                assert "\n" not in text, text  # a comment alone
                continue
            assert not done, f"after [DONE]: {text}"
            assert text.startswith("data: ") and "\n" not in text, repr(text)
            done = text == "data: [DONE]"
            yield None if done else json.loads(text.removeprefix("data: "))
    assert pending == b"", f"the stream ends inside an event: {pending!r}"
    assert done, "the stream ended without [DONE]"
