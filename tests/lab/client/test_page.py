"""connect() in a browser page: the offline API without a socket, and no endpoint.

What a client says and gets there is tried by the tests marked over_both, here and in tests/lab/api/test_server.py.
"""

import socket
import threading
import time
import types

import anthropic
import httpx2
import pytest

from s02_tool_use.lab import connect
from s02_tool_use.lab.api import STRICT, Server
from s02_tool_use.lab.client import endpoint, transport
from s02_tool_use.lab.client.settings import SettingsError
from s02_tool_use.lab.understudy import Scripted

pytestmark = pytest.mark.usefixtures("in_a_page")
ASKED = {"max_tokens": 300, "messages": [{"role": "user", "content": "Hello"}]}
KEY = "sk-ant-api03-abcdef"


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(autouse=True)
def nothing_that_a_page_lacks(monkeypatch):
    def missing(*_, **__):
        raise RuntimeError("a page has none")

    monkeypatch.setattr(socket, "socket", missing)
    monkeypatch.setattr(threading.Thread, "start", missing)


def refused(**options):
    with pytest.raises(SettingsError) as caught:
        connect(**options)
    return str(caught.value)


WHY = (
    "is for an endpoint, and a browser page uses none: whoever serves the page could read a key, "
    "and most endpoints take no calls from a page. Remove it here. For a real model install the course."
)


def test_the_offline_api_answers_without_socket_and_thread_and_the_banner_says_where(capsys):
    client, model = connect()
    assert capsys.readouterr().out == (
        "Offline: no language model answers here, rules do.\n"
        "They run in this page, in your browser. For a real model install the course: no key is safe in a page.\n"
    )
    assert client.messages.create(model=model, **ASKED).content[0].text.startswith("Hello. I am a set of rules")
    with client.messages.stream(model=model, **ASKED) as stream:
        assert "".join(stream.text_stream).startswith("Hello. I am a set of rules")


def test_who_answers_and_who_was_asked_are_known_as_ever():
    client, model = connect(script=["One."])
    assert isinstance(endpoint.answerer_of(client.with_options(timeout=5)), Scripted)
    assert endpoint.who_answers(client, model) == "a script"
    assert connect()[0].base_url == client.base_url


def test_a_piece_of_a_stream_is_made_when_the_one_before_it_has_been_read(monkeypatch):
    happened = []
    monkeypatch.setattr(time, "sleep", lambda seconds: happened.append("waited"))
    client, model = connect(script=[{"content": "word " * 20, "slow": 1}])
    with client.messages.stream(model=model, **ASKED) as stream:
        for event in stream:
            happened.append(event.type)
    read = [what for what in happened if what not in ("text", "ping")]
    assert read[:4] == ["message_start", "waited", "content_block_start", "waited"]


def test_a_piece_of_a_stream_that_comes_too_late_is_a_timeout(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(transport, "time", types.SimpleNamespace(monotonic=lambda: now[0]))
    monkeypatch.setattr(time, "sleep", lambda seconds: now.append(now.pop() + seconds))
    client, model = connect(script=[{"content": "word " * 20, "slow": 20}])
    with client.messages.stream(model=model, **ASKED, timeout=10) as stream:
        assert next(stream).type == "message_start"
        with pytest.raises(httpx2.ReadTimeout):
            list(stream)


def test_a_server_of_ones_own_is_another_endpoint_of_the_page(capsys):
    with Server(Scripted(["From the second."]), profile=STRICT) as server:
        second, name = connect(base_url=server.url, model="no-tools")
        assert second.messages.create(model=name, **ASKED).content[0].text == "From the second."
        first, model = connect(script=["From the first."])
        assert first.messages.create(model=model, **ASKED).content[0].text == "From the first."
    with pytest.raises(anthropic.APIConnectionError) as caught:
        second.with_options(max_retries=0).messages.create(model=name, **ASKED)
    assert isinstance(caught.value.__cause__, httpx2.ConnectError)


@pytest.mark.parametrize("port", [80, 8000])
def test_a_server_may_be_given_any_port(port):
    with Server(Scripted(["Here."]), port=port) as server:
        client, model = connect(base_url=server.url, model="m")
        assert client.messages.create(model=model, **ASKED).content[0].text == "Here."


def test_an_address_outside_of_the_page_is_not_asked():
    client, model = connect()
    with pytest.raises(anthropic.APIConnectionError) as caught:
        client.with_options(base_url="https://api.anthropic.com").messages.create(model=model, **ASKED)
    [said] = caught.value._render_traceback_()
    at, why = said.split(". ")
    assert at == "No connection to the endpoint at api.anthropic.com"
    assert why == "In a browser page only a client of connect() gets an answer."


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"api_key": KEY}, "api_key="),
        ({"model": "m"}, "model="),
        ({"base_url": "http://127.0.0.1:1234", "model": "m"}, "base_url="),
        ({"base_url": "https://api.anthropic.com", "model": "m", "api_key": KEY}, "base_url="),
    ],
)
def test_an_endpoint_that_is_named_is_refused_in_one_sentence_without_its_key(options, named):
    assert refused(**options) == f"{named} in connect() {WHY}"


@pytest.mark.parametrize("name", ["API_KEY", "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "BASE_URL"])
def test_an_endpoint_of_the_environment_or_of_dotenv_is_refused_too(name, folder, monkeypatch):
    value = "http://localhost:11434" if name == "BASE_URL" else KEY
    with monkeypatch.context() as patch:
        patch.setenv(name, value)
        assert refused() == f"{name} in the environment {WHY}"
    (folder / ".env").write_text(f"{name}={value}\n")
    assert refused() == f"{name} in .env {WHY}"
    client, model = connect(offline=True)
    assert client.messages.create(model=model, **ASKED).stop_reason == "end_turn"


def test_the_placeholder_of_env_example_is_no_reason_to_ask_for_a_key(folder, capsys):
    (folder / ".env").write_text("API_KEY=put-your-key-here\nMODEL_ID=some-model\n")
    connect()
    assert "put your key there" not in capsys.readouterr().out


@pytest.mark.parametrize("value", ["a\r\nx-injected: b", "a\nb", "a\0b"])
def test_a_header_that_would_be_two_is_refused_as_over_a_connection(value):
    client, model = connect(script=["One."])
    with pytest.raises(anthropic.APIConnectionError) as caught:
        client.messages.create(model=model, **ASKED, extra_headers={"x-note": value})
    assert isinstance(caught.value.__cause__, httpx2.LocalProtocolError)


def test_a_large_answer_arrives_whole():
    text = "word " * 1_000_000
    client, model = connect(script=[text])
    got = client.messages.create(model=model, **{**ASKED, "max_tokens": 10_000_000}, timeout=600).content[0].text
    assert got == text
