# SPDX-License-Identifier: Apache-2.0
import openai
import pytest

from server_process import BINARY, MODEL, ServerProcess


def pytest_addoption(parser):
    parser.addoption("--slow", action="store_true", help="also run what takes minutes")


def pytest_collection_modifyitems(config, items):
    for needed, what in ((BINARY, "scripts/test builds it"), (MODEL, "scripts/setup fetches it")):
        if not needed.exists():
            for item in items:
                item.add_marker(pytest.mark.skip(reason=f"{needed.name} is not there: {what}"))
    if not config.getoption("--slow"):
        for item in items:
            if item.get_closest_marker("slow"):
                item.add_marker(pytest.mark.skip(reason="slow: runs with --slow"))


@pytest.fixture(scope="session")
def server():
    """A server with default options, for every test that does not end it."""
    process = ServerProcess()
    yield process
    assert process.is_running(), "the server died:\n" + "\n".join(process.stderr_lines[-20:])
    process.stop()


@pytest.fixture
def start_server():
    """start_server("--option", value, ...): servers of the test's own, stopped after it."""
    started = []

    def start(*options, **arguments):
        started.append(ServerProcess(*options, **arguments))
        return started[-1]

    yield start
    try:
        for process in started:
            process.stop()
    finally:
        for process in started:
            process.kill()


@pytest.fixture(scope="session")
def http(server):
    return server.http


@pytest.fixture(scope="session")
def client(server):
    return openai_client(server)


@pytest.fixture(scope="session")
def model(http):
    return http.get("/v1/models").json["data"][0]["id"]


def openai_client(server, api_key="none"):
    return openai.OpenAI(base_url=f"{server.url}/v1", api_key=api_key, max_retries=0, timeout=300)
