"""Endpoints that are slow, small or strange: what the client makes of them, and what it says."""

import json
import threading
import warnings

import anthropic
import IPython.display
import pytest
from fake_endpoint import endpoint
from waiting import PATIENCE_SECONDS, wait_until

from s02_tool_use import agent_loop
from s02_tool_use.calls.waiting import interrupt
from s02_tool_use.lab.api import wire
from s02_tool_use.lab.api.server import Server
from s02_tool_use.lab.api.wire import stream_events
from s02_tool_use.lab.client import live as module
from s02_tool_use.lab.client.endpoint import connect, departures
from s02_tool_use.lab.client.faults import explain
from s02_tool_use.lab.client.live import LiveWarning, Stopped
from s02_tool_use.lab.client.settings import SettingsError
from s02_tool_use.lab.understudy import Scripted

HELLO = [{"role": "user", "content": "Hello"}]
MESSAGE = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "m",
    "content": [{"type": "text", "text": "Good morning."}],
    "stop_reason": "end_turn",
    "stop_sequence": None,
    "usage": {"input_tokens": 3, "output_tokens": 4},
}
STREAM = {"content-type": "text/event-stream"}
ODD = json.dumps({**MESSAGE, "content": ["Hi"]}).encode()
HTML = {"content-type": "text/html"}
PAGE = b"<!doctype html>\n<html><head><title>404 Not\nFound</title></head><body>nginx</body></html>"


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def live(folder):
    """A function that gives (client, model) for the endpoint at a URL."""

    def connected(url, *lines):
        (folder / ".env").write_text("\n".join([f"BASE_URL={url}", "MODEL_ID=the-model", *lines]))
        client, model = connect()
        client.max_retries = 0
        return client, model

    return connected


def say(client, model, **more):
    return client.messages.create(**{"model": model, "max_tokens": 300, "messages": HELLO, **more})


def say_in_pieces(client, model):
    with client.messages.stream(model=model, max_tokens=9, messages=HELLO) as events:
        return events.get_final_message()


def sse(events):
    return b"".join(f"data: {json.dumps(event)}\n\n".encode() for event in events)


def events_of(message):
    return [event for _, event in stream_events(message)]


# What is strange is said in a sentence


@pytest.mark.parametrize(
    ("status", "headers", "body", "said"),
    [
        (200, HTML, PAGE, "does not answer in the form of the Messages API ('<!doctype html> <html>"),
        (200, {}, b"", "does not answer in the form of the Messages API (nothing)"),
        (200, {}, b'{"choices": []}', "does not answer in the form of the Messages API ('{\"choices\": []}')"),
        (200, {}, ODD, 'does not answer in the form of the Messages API (\'{"id"'),
        (200, {}, b'{"content": [], "usage": [1]}', 'does not answer in the form of the Messages API (\'{"content"'),
        (200, {}, b"[1]", "does not answer in the form of the Messages API ('[1]')"),
        (200, STREAM, sse([{"choices": []}]), "in the form of the Messages API (a stream without its events)"),
        (200, STREAM, sse(events_of(MESSAGE)[1:]), "in the form of the Messages API (a stream without its events)"),
        (404, HTML, PAGE, "The endpoint does not know this: it sends a web page, 404 Not Found (404)"),
        (404, HTML, b"<p>no</p>", "The endpoint does not know this: it sends a web page (404)"),
        (404, {}, b'{"error": "model \'m\' not found"}', "The endpoint does not know this: model 'm' not found (404)"),
        (404, {}, b'{"detail": "Not Found"}', "The endpoint does not know this: Not Found (404)"),
        (400, {}, b'{"error": {"code": 400, "message": "too long"}}', "refuses the request: too long (400)."),
        (500, {}, b"", "The endpoint failed: "),
    ],
)
@pytest.mark.parametrize("say", [say, say_in_pieces])
def test_what_is_no_reply_is_said_in_one_sentence(live, status, headers, body, said, say):
    asked = []

    def answer(handler):
        asked.append(handler.path)
        return body

    with endpoint(status, headers, answer) as url:
        client, model = live(url)
        client.max_retries = 2 * (status < 500)
        with pytest.raises(anthropic.APIError) as caught:
            say(client, model)
        assert said in explain(caught.value, client)
        assert "\n" not in explain(caught.value, client)
        assert len(asked) == 1  # what would be the same again is not asked again
        (shown,) = caught.value._render_traceback_()
        assert said.partition(" (")[0] in shown


def test_an_endpoint_that_is_not_there_is_said_with_its_address(live):
    with endpoint() as url:
        pass
    client, model = live(url)
    with pytest.raises(anthropic.APIConnectionError) as caught:
        say(client, model)
    host = url.removeprefix("http://")
    (said,) = caught.value._render_traceback_()
    assert said == f"No connection to the endpoint at {host}. Start the server there, or check BASE_URL in .env."


def test_what_asks_for_no_message_goes_through_as_it_is_and_a_404_is_said(live):
    sent = []
    with endpoint(404, body=lambda handler: sent.append((handler.path, json.loads(handler.sent))) or b"{}") as url:
        client, model = live(url, "MAX_TOKENS=5")
        with pytest.raises(anthropic.NotFoundError) as caught:
            client.messages.count_tokens(model=model, messages=HELLO)
    assert sent == [("/v1/messages/count_tokens", {"model": model, "messages": HELLO})]
    assert explain(caught.value).startswith("The endpoint does not know this: ")


def test_a_stream_without_an_end_is_a_broken_answer(live):
    with endpoint(headers=STREAM, body=sse(events_of(MESSAGE)[:4])) as url:
        client, model = live(url)
        with pytest.raises(anthropic.APIConnectionError) as caught:
            say(client, model)
        assert explain(caught.value, client).startswith("The answer broke off")


# What is strange and does not matter


@pytest.mark.parametrize("usage", [{}, {"usage": None}, {"usage": {"input_tokens": None}}])
@pytest.mark.parametrize("form", ["one piece", "stream"])
def test_tokens_that_are_not_counted_can_be_added_up_and_are_told_once(live, usage, form):
    message = {key: value for key, value in MESSAGE.items() if key != "usage"}
    events = events_of(MESSAGE)
    events[0] = {**events[0], "message": {**message, "content": [], **usage}}
    events[-2] = {key: value for key, value in events[-2].items() if key != "usage"}
    one, many = json.dumps(message | usage).encode(), sse(events)
    with endpoint(headers=STREAM if form == "stream" else {}, body=many if form == "stream" else one) as url:
        client, model = live(url)
        with pytest.warns(LiveWarning, match="does not say how many tokens") as told:
            replies = [say(client, model) for _ in range(2)]
        assert len(told) == 1
        assert {reply.usage.input_tokens for reply in replies} == {0}
        assert {reply.usage.output_tokens for reply in replies} == {4 if form == "stream" else 0}
        assert replies[0].content[0].text == "Good morning."


@pytest.mark.parametrize("change", [{}, {"stop_reason": "weariness"}, {"content": []}, {"stop_reason": None}])
@pytest.mark.parametrize("form", ["one piece", "stream"])
def test_an_odd_message_comes_through_as_it_is(live, change, form):
    message = {**MESSAGE, **change}
    body = sse(events_of(message)) if form == "stream" else json.dumps(message).encode()
    with endpoint(headers=STREAM if form == "stream" else {}, body=body) as url:
        client, model = live(url)
        reply = say(client, model)
        streamed = say_in_pieces(client, model)
        messages = list(HELLO)
        agent_loop(client, model, messages)
    for got in (reply, streamed):
        assert got.stop_reason == message["stop_reason"]
        assert [block.to_dict() for block in got.content] == message["content"]
    assert len(messages) == 1 + bool(message["content"])


REPLIES = [
    "Hello.",
    [
        "I will look.",
        {"type": "tool_use", "name": "glob", "input": {"pattern": "**/*", "n": [1, None, "é\U0001f375"]}},
    ],
    [{"type": "thinking", "thinking": "Hm.", "signature": "s"}, "Well."],
    {"content": ["Tea, tea, and more tea."], "stop_reason": "max_tokens"},
]


@pytest.mark.parametrize("reply", REPLIES)
def test_a_reply_in_one_piece_is_the_one_that_the_endpoint_would_have_given(live, reply):
    tools = [{"name": "glob", "input_schema": {"type": "object"}}]
    replies = []
    for through in (lambda url: anthropic.Anthropic(base_url=url, api_key="x"), lambda url: live(url)[0]):
        with Server(Scripted([reply])) as server:
            client = through(server.url)
            replies.append(say(client, "the-model", tools=tools).to_dict())
    assert replies[0] == replies[1]


# Small models


@pytest.mark.parametrize("form", [say, say_in_pieces])
def test_line_ends_of_unicode_within_a_string_end_no_line_of_the_stream(live, form):
    text = "one\u2028two\u2029three\x85four"
    told = {**MESSAGE, "content": [{"type": "text", "text": text}]}
    body = b"".join(wire.sse(name, event) for name, event in stream_events(told))  # as UTF-8, not escaped
    with endpoint(200, STREAM, body) as url:
        assert form(*live(url)).content[0].text == text


@pytest.mark.parametrize("form", [say, say_in_pieces])
@pytest.mark.parametrize("streams", [True, False])
def test_half_of_a_surrogate_pair_in_a_reply_stays_as_it_is(live, form, streams):
    told = {**MESSAGE, "content": [{"type": "text", "text": "cut \ud83d"}]}
    body = sse([event for _, event in stream_events(told)]) if streams else json.dumps(told).encode()
    with endpoint(200, STREAM if streams else {"content-type": "application/json"}, body) as url:
        assert form(*live(url)).content[0].text == "cut \ud83d"


def test_no_reply_is_longer_than_the_setting(live):
    sent = []

    def answer(handler):
        sent.append(json.loads(handler.sent))
        return json.dumps(MESSAGE).encode()

    with endpoint(body=answer) as url:
        client, model = live(url, "MAX_TOKENS=50")
        say(client, model)
        say(client, model, max_tokens=20)
        agent_loop(client, model, list(HELLO))
        client.beta.messages.create(model=model, max_tokens=100, messages=HELLO)
    assert [request["max_tokens"] for request in sent] == [50, 20, 50, 50]
    assert all(request["stream"] for request in sent)


def test_a_recording_with_a_limit_is_replayed_where_there_is_none(live):
    with endpoint(body=json.dumps(MESSAGE).encode()) as url:
        live(url, "MAX_TOKENS=50")
        recorded = connect(record="run.jsonl")
        agent_loop(*recorded, list(HELLO))
    replaying = connect(replay="run.jsonl")
    messages = list(HELLO)
    agent_loop(*replaying, messages)
    assert messages[1]["content"][0]["text"] == "Good morning."
    assert departures(replaying[0]) == []


@pytest.mark.parametrize("value", ["0", "-1", "many", "1.5"])
def test_a_limit_that_is_no_number_is_said(live, value):
    with pytest.raises(SettingsError, match=r"^MAX_TOKENS in \.env must be a whole number, 1 or more, or empty\.$"):
        live("http://localhost:1", f"MAX_TOKENS={value}")


def test_a_limit_in_dotenv_holds_for_an_endpoint_of_the_environment(folder, monkeypatch):
    (folder / ".env").write_text("MAX_TOKENS=7\n")
    sent = []
    with endpoint(body=lambda handler: sent.append(json.loads(handler.sent)) or json.dumps(MESSAGE).encode()) as url:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", url)
        monkeypatch.setenv("ANTHROPIC_MODEL", "m")
        say(*connect())
    assert sent[0]["max_tokens"] == 7


TOOLS = [{"name": "glob", "input_schema": {"type": "object"}}]
CALL = {**MESSAGE, "content": [{"type": "tool_use", "id": "toolu_1", "name": "glob", "input": {}}]}


@pytest.mark.parametrize(
    ("messages", "more", "times"),
    [
        ([MESSAGE, MESSAGE], {"tools": TOOLS}, 1),
        ([MESSAGE], {}, 0),
        ([MESSAGE], {"tools": TOOLS, "tool_choice": {"type": "none"}}, 0),
        ([CALL, MESSAGE], {"tools": TOOLS}, 0),
    ],
)
def test_a_cell_whose_model_calls_no_tool_is_told_once(live, monkeypatch, messages, more, times):
    monkeypatch.setattr(module, "in_a_cell", lambda: True)
    bodies = [json.dumps(message).encode() for message in messages]
    with endpoint(body=lambda handler: bodies.pop(0)) as url, warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        client, model = live(url)
        for _ in messages:
            say(client, model, **more)
    assert [str(one.message).partition(".")[0] for one in told] == [
        "It was offered tools and called none, as small models do"
    ] * times


# Slow ones


class Shown(list):
    """What a cell shows under one id, in place of IPython's display."""

    def display(self, data, *, raw, display_id):
        self.append(data["text/plain"])
        return self

    def update(self, data, *, raw):
        self.append(data["text/plain"])


@pytest.fixture
def shown(monkeypatch):
    said = Shown()
    monkeypatch.setattr(IPython.display, "display", said.display)
    monkeypatch.setattr(module, "in_a_cell", lambda: True)
    monkeypatch.setattr(module, "QUIET_SECONDS", 0.01)
    monkeypatch.setattr(module, "EVERY_SECONDS", 0.01)
    return said


def test_a_cell_that_waits_says_how_long_and_how_many_tokens_and_nothing_stays(live, shown):
    def slowly(handler):
        *first, last, end = map(sse, zip(events_of(MESSAGE)))
        wait_until(lambda: shown and shown[-1] == "the-model is at work: 0 s. The Stop button ends it.")
        yield b"".join(first)
        wait_until(lambda: "token" in shown[-1])
        yield last + end

    with endpoint(headers=STREAM, body=slowly) as url:
        reply = say(*live(url))
    assert reply.content[0].text == "Good morning."
    assert any(", 4 tokens. The Stop button ends it." in said for said in shown)
    assert shown[-1] == ""


def test_an_answer_that_comes_at_once_shows_nothing(live, shown, monkeypatch):
    monkeypatch.setattr(module, "QUIET_SECONDS", PATIENCE_SECONDS)
    with endpoint(body=json.dumps(MESSAGE).encode()) as url:
        say(*live(url))
    assert not shown


def test_outside_a_cell_nothing_is_shown(live, shown, monkeypatch):
    monkeypatch.undo()
    with endpoint(body=json.dumps(MESSAGE).encode()) as url:
        say(*live(url))
    assert not shown


@pytest.mark.parametrize("say", [say, say_in_pieces])
def test_stop_is_heard_while_a_reply_arrives_and_the_endpoint_hears_of_it(live, say):
    gone, begun, ended = threading.Event(), threading.Event(), []

    def for_ever(handler):
        try:
            yield sse(events_of(MESSAGE)[:2])
            while True:
                begun.set()
                yield sse([{"type": "ping"}])
                gone.wait(0.01)
        finally:
            gone.set()

    def cell(client, model):
        try:
            say(client, model)
        except KeyboardInterrupt as error:
            ended.append(error)

    with endpoint(headers=STREAM, body=for_ever) as url:
        thread = threading.Thread(target=cell, args=live(url))
        thread.start()
        assert begun.wait(PATIENCE_SECONDS)
        for _ in range(5):  # one that reaches a `__del__` is ignored there
            interrupt(thread)
            if gone.wait(PATIENCE_SECONDS / 5):
                break
        thread.join(PATIENCE_SECONDS)
        assert gone.is_set()
    assert ended
    if say is not say_in_pieces:  # else it may hit the SDK itself
        assert isinstance(ended[0], Stopped)
        assert ended[0]._render_traceback_() == ["Stopped. Nothing of this reply is kept."]
