"""The room's key: by real requests, with the offline API or a strange endpoint behind the proxy."""

import concurrent.futures
import contextlib
import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path

import anthropic
import httpx2
import pytest
from fake_endpoint import endpoint
from waiting import PATIENCE_SECONDS, wait_until

from s02_tool_use import agent_loop
from s02_tool_use.lab.api import wire
from s02_tool_use.lab.api.server import Response, Server
from s02_tool_use.lab.client import recording
from s02_tool_use.lab.client.endpoint import connect, departures
from s02_tool_use.lab.client.faults import explain
from s02_tool_use.lab.client.settings import SettingsError
from s02_tool_use.lab.room import door, key
from s02_tool_use.lab.understudy import Scripted, Understudy

KEY = "sk-room-0123456789abcdefghij"
MODEL = "the-model"
HELLO = [{"role": "user", "content": "Hello"}]
ASKED = {"model": MODEL, "max_tokens": 50, "messages": HELLO}
LONG = "word " * 400  # 500 tokens
STREAM = {"content-type": "text/event-stream"}


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


class Seats(key.Seats):
    """Knows which requests run: they are charged with what they may cost, and not yet with what they did."""

    def __init__(self, *given):
        super().__init__(*given)
        self.running = set()

    @contextlib.contextmanager
    def paying(self, *given):
        self.running.add(one := object())
        try:
            with super().paying(*given) as meter:
                yield meter
        finally:
            self.running.discard(one)


@pytest.fixture
def opened():
    """Starts a proxy before an answerer, or before the endpoint at a URL. `proxy.upstream` is the server behind it."""
    with contextlib.ExitStack() as ends:

        def start(behind=None, *, each=0, count=2, file=None, **more):
            upstream = None
            if not isinstance(behind, str):
                upstream = ends.enter_context((Told if isinstance(behind, Says) else Server)(behind or Understudy()))
            options = {"base_url": upstream.url if upstream else behind, "model": MODEL, "api_key": KEY}
            proxy = ends.enter_context(key.Proxy(options, Seats(count, each, file), **more))
            proxy.upstream, proxy.ends = upstream, ends
            return proxy

        yield start


def word_of(proxy, number=1):
    return [*proxy.seats.spent][number - 1]


def client_of(proxy, number=1, **more):
    more = {"max_retries": 0, **more}
    http_client = proxy.ends.enter_context(anthropic.DefaultHttpxClient(trust_env=False))
    seat = word_of(proxy, number) if number <= len(proxy.seats.spent) else "wrong-seat-1"
    return anthropic.Anthropic(base_url=proxy.url, api_key=seat, http_client=http_client, **more)


def spent(proxy, number=1):
    """What a seat has spent, when nothing runs any more."""
    wait_until(lambda: not proxy.seats.running)
    return [*proxy.seats.spent.values()][number - 1]


def raw(proxy, body=None, *, method="POST", path="/v1/messages", headers=None, seat=1):
    """(status, headers, body) of one request as it comes over the wire."""
    connection = http.client.HTTPConnection(*proxy.server_address, timeout=PATIENCE_SECONDS)
    known = {"x-api-key": word_of(proxy, seat), "anthropic-version": "2023-06-01"}
    data = json.dumps(body) if isinstance(body, dict) else body
    connection.request(method, path, data, known if headers is None else headers)
    answer = connection.getresponse()
    said = answer.status, dict(answer.getheaders()), answer.read().decode()
    connection.close()
    return said


def error_of(said):
    status, _, body = said
    told = json.loads(body)
    assert told["type"] == "error"
    return status, told["error"]["type"], told["error"]["message"]


def used(message):
    return message.usage.input_tokens + message.usage.output_tokens


def answers(*lines):
    return Scripted(lines * 100)


class Says:
    """An endpoint that sends these pieces of a stream, whatever it is asked. `wait` is called before the last one."""

    name = MODEL

    def __init__(self, *events, whole=True, wait=None, status=200, headers=STREAM):
        self.events, self.whole, self.wait, self.status, self.headers = events, whole, wait, status, headers

    def respond(self, method, path, request, judge):
        if path.endswith("count_tokens"):
            return Response(404, {"content-length": 0}, [b""])
        return Response(self.status, dict(self.headers), self.pieces(), self.whole, slow=0)

    def pieces(self):
        for event in self.events:
            if self.wait and event is self.events[-1]:
                self.wait()
            yield event if isinstance(event, bytes) else wire.sse(event["type"], event)


class Told(Server):
    """A server whose pieces leave one by one: nothing is kept of them."""

    class handler(Server.handler):
        def _record(self, *_):
            pass


def start_event(**usage):
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": MODEL, "content": []}
    message |= {"stop_reason": None, "stop_sequence": None, "usage": {"input_tokens": 9, "output_tokens": 1, **usage}}
    return {"type": "message_start", "message": message}


OPEN = {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}
CLOSE = {"type": "content_block_stop", "index": 0}
STOP = {"type": "message_stop"}


def piece(text):
    return {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}}


def end_event(**usage):
    return {"type": "message_delta", "delta": {"stop_reason": "end_turn", "stop_sequence": None}, "usage": usage}


# ---- it works as the endpoint itself


def test_a_learner_needs_an_address_and_a_seat_and_the_loop_runs(opened, workspace, capsys):
    (workspace / "a.txt").write_text("one\n")
    proxy = opened()
    Path(".env").write_text(f"BASE_URL={proxy.url}\nAPI_KEY={word_of(proxy)}\nMODEL_ID={MODEL}\n")
    client, model = connect()
    history = [{"role": "user", "content": "Read a.txt"}]
    agent_loop(client, model, history)
    assert "one" in str(history)
    with client.messages.stream(model=model, max_tokens=100, messages=HELLO) as stream:
        assert stream.get_final_text()
    assert capsys.readouterr().out.startswith(f"Live: {MODEL} at 127.0.0.1:")
    said = "".join(one["response"] for one in proxy.upstream.exchanges)
    last = re.findall(r'"message_delta".*?"input_tokens": (\d+).*?"output_tokens": (\d+)', said)
    assert spent(proxy) == sum(int(count) for counts in last for count in counts) > 0
    assert client.messages.count_tokens(model=model, messages=HELLO).input_tokens > 0


@pytest.mark.parametrize("stream", [False, True])
def test_a_seat_pays_what_the_endpoint_says(opened, stream):
    proxy = opened(answers("Good morning."), each=1000)
    with contextlib.ExitStack() as ends:
        if stream:
            message = ends.enter_context(client_of(proxy).messages.stream(**ASKED)).get_final_message()
        else:
            message = client_of(proxy).messages.create(**ASKED)
    assert message.content[0].text == "Good morning."
    assert (spent(proxy), spent(proxy, 2)) == (used(message), 0)


def test_a_stream_arrives_piece_by_piece(opened):
    go_on = threading.Event()
    says = Says(
        start_event(), OPEN, piece("Hel"), piece("lo"), CLOSE, end_event(output_tokens=2), STOP, wait=go_on.wait
    )
    with client_of(opened(says)).messages.stream(**ASKED) as stream:
        texts = stream.text_stream
        assert next(texts) + next(texts) == "Hello"  # the endpoint has not said the end yet
        go_on.set()
        assert [*texts] == []


def test_the_endpoint_gets_the_key_and_what_the_api_knows_and_nothing_else_of_the_learner(opened):
    heard = []
    body = json.dumps(start_event()["message"] | {"content": [{"type": "text", "text": "Hi"}]}).encode()

    def answer(handler):
        heard.append((handler.path, {name.lower(): value for name, value in handler.headers.items()}, handler.sent))
        return body

    with endpoint(body=answer) as url:
        proxy = opened(url)
        sent = {"authorization": f"Bearer {word_of(proxy)}", "anthropic-version": "v", "anthropic-beta": "b"}
        sent |= {
            "cookie": "c",
            "x-forwarded-for": "me",
            "connection": "keep-alive, x-hop",
            "x-hop": "1",
            "te": "trailers",
        }
        for path, status in (("/v1/messages?beta=true", 200), ("/v1/messages?to=http://evil", 404)):
            assert raw(proxy, ASKED, path=path, headers=sent)[0] == status
    assert [path for path, _, _ in heard] == ["/v1/messages?beta=true"]
    _, headers, said = heard[0]
    assert (headers["x-api-key"], headers["anthropic-version"], headers["anthropic-beta"]) == (KEY, "v", "b")
    assert json.loads(said) == ASKED
    others = {"host", "accept", "connection", "content-length", "content-type", "accept-encoding", "user-agent"}
    assert headers.keys() - others == {"x-api-key", "anthropic-version", "anthropic-beta"}
    assert word_of(proxy) not in str(heard)


# ---- the key stays


def everything_of(proxy, capfd, folder):
    """All that a process and its folder show."""
    said = capfd.readouterr()
    files = [path.read_text(errors="replace") for path in folder.rglob("*") if path.is_file() and path.name != ".env"]
    return said.out + said.err + "".join(files)


@pytest.mark.parametrize("cuts", [(), (1,), (5,), (9,), (len(KEY) - 1,), tuple(range(1, len(KEY)))])
def test_the_key_is_in_no_stream_however_it_is_cut(opened, capfd, folder, cuts):
    text = f"Your key is {KEY}, they say: s"
    at = [0, *(cut + text.index(KEY) for cut in cuts), len(text)]
    pieces = [piece(text[start:end]) for start, end in zip(at, at[1:], strict=False)]
    says = Says(start_event(note=KEY), OPEN, *pieces, CLOSE, end_event(output_tokens=20, note=KEY), STOP)
    proxy = opened(says, record=folder, file=folder / "state.json")
    _, headers, body = raw(proxy, {**ASKED, "stream": True})
    texts = re.findall(r'"text_delta", "text": "(.*?)"', body)
    assert "".join(texts) == "Your key is [key removed], they say: s"
    assert KEY not in f"{headers}{body}{everything_of(proxy, capfd, folder)}"


def test_a_stream_that_ends_inside_the_key_shows_none_of_it(opened):
    says = Says(start_event(), OPEN, piece(f"It is {KEY[:20]}"), CLOSE, end_event(output_tokens=9), STOP)
    assert KEY[:8] not in raw(opened(says), {**ASKED, "stream": True})[2]


@pytest.mark.parametrize("status", [200, 400, 401, 403, 404, 429, 500])
@pytest.mark.parametrize("body", [f'{{"type": "error", "error": {{"message": "{KEY}"}}}}', f"<p>{KEY}", f'["{KEY}"]'])
def test_the_key_is_in_no_body_and_no_header_that_comes_back(opened, capfd, folder, status, body):
    echoed = {"request-id": KEY, "retry-after": KEY, "x-api-key": KEY, "set-cookie": KEY, "content-type": f"a/b; {KEY}"}
    with endpoint(status, echoed, body.encode()) as url:
        proxy = opened(url, record=folder)
        said = raw(proxy, ASKED)
    assert KEY not in f"{said}{everything_of(proxy, capfd, folder)}"
    assert word_of(proxy) not in everything_of(proxy, capfd, folder)


def test_the_key_is_in_no_error_of_the_proxy_itself(opened, monkeypatch, capfd):
    proxy = opened()
    monkeypatch.setattr(proxy.client, "build_request", lambda *_, **__: int(KEY))
    status, kind, said = error_of(raw(proxy, ASKED))
    assert (status, kind) == (500, "api_error")
    assert said.startswith("The room's proxy failed with ValueError: ")
    assert "[key removed]" in said
    assert KEY not in capfd.readouterr().err


def test_a_learner_that_sends_the_key_by_chance_does_not_get_it_written_down(opened, capfd, folder):
    proxy = opened(answers("Hello"), record=folder)
    raw(proxy, {**ASKED, "messages": [{"role": "user", "content": KEY}]})
    assert KEY not in everything_of(proxy, capfd, folder)


def test_a_key_that_the_endpoint_refuses_is_the_teachers_business_and_is_not_repeated(opened):
    body = b'{"type": "error", "error": {"type": "authentication_error", "message": "invalid x-api-key"}}'
    with endpoint(401, body=body) as url, pytest.raises(anthropic.APIStatusError) as error:
        client_of(opened(url), max_retries=2).messages.create(**ASKED)
    assert "the endpoint does not accept the room's key (401): tell your teacher" in explain(error.value)
    assert "Check API_KEY" not in explain(error.value)


# ---- seats


@pytest.mark.parametrize("headers", [{}, {"x-api-key": "wrong"}, {"x-api-key": ""}, {"authorization": "Basic eDp5"}])
@pytest.mark.parametrize("path", ["/v1/messages", "/v1/messages/count_tokens", "/v1/models", "/"])
def test_without_a_seat_nothing_is_said_but_that_there_is_none(opened, headers, path):
    proxy = opened()
    status, kind, said = error_of(raw(proxy, ASKED, path=path, headers=headers))
    assert (status, kind) == (401, "authentication_error")
    no_seat = "this is no seat of the room: copy yours again from the teacher's list"
    assert said == (no_seat if headers.get("x-api-key") else "x-api-key header is required")
    assert not proxy.upstream.exchanges


def test_a_wrong_seat_is_one_plain_sentence_for_the_learner(opened):
    with pytest.raises(anthropic.AuthenticationError) as error:
        client_of(opened(), number=7, max_retries=2).messages.create(**ASKED)
    said = "this is no seat of the room: copy yours again from the teacher's list (401). Check API_KEY in .env."
    assert explain(error.value) == f"The endpoint does not accept the key: {said}"


def test_a_wrong_seat_with_a_large_body_gets_its_answer_and_the_body_is_not_kept(opened):
    said = raw(opened(), b"x" * 3_000_000, headers={"x-api-key": "wrong"})
    assert error_of(said)[0] == 401


def test_thirty_seats_at_once_are_all_answered_and_each_pays_for_itself(opened):
    proxy = opened(answers("Hello to all"), each=1000, count=30)

    def ask(number):
        client = client_of(proxy, number)
        return sum(used(client.messages.create(**ASKED)) for _ in range(number % 3 + 1))

    with concurrent.futures.ThreadPoolExecutor(30) as pool:
        paid = [*pool.map(ask, range(1, 31))]
    assert [spent(proxy, number) for number in range(1, 31)] == paid


# ---- the budget


def test_a_budget_that_is_used_up_is_said_in_one_sentence_and_asked_for_once(opened):
    proxy = opened(answers(LONG), each=60)
    client = client_of(proxy, max_retries=3)
    client.messages.create(**ASKED)
    before = len(proxy.upstream.exchanges)
    with pytest.raises(anthropic.APIStatusError) as error:
        client.messages.create(**ASKED)
    assert error.value.status_code == 402
    assert re.fullmatch(
        r"The account has no credit: This seat has \d+ of its 60 tokens free, and this needs more: "
        r"let its other requests end, or ask your teacher \(402\)\. Nothing was answered\.",
        explain(error.value),
    )
    messages = [one for one in [*proxy.upstream.exchanges][before:] if one["path"] == "/v1/messages"]
    assert messages == []  # nothing was sent, nothing repeated
    client_of(proxy, 2).messages.create(**ASKED)  # the other seats go on


@pytest.mark.parametrize("stream", [False, True])
def test_a_budget_that_ends_within_a_reply_ends_the_reply_as_max_tokens_does(opened, stream):
    proxy = opened(answers(LONG), each=100)
    client, asked = client_of(proxy), {**ASKED, "max_tokens": 1000}
    with contextlib.ExitStack() as ends:
        if stream:
            message = ends.enter_context(client.messages.stream(**asked)).get_final_message()
        else:
            message = client.messages.create(**asked)
    assert message.stop_reason == "max_tokens"
    assert 0 < len(message.content[0].text) < len(LONG)
    assert 80 < spent(proxy) == used(message) <= 100
    with pytest.raises(anthropic.APIStatusError, match="of its 100 tokens free, and this needs more: let"):
        client.messages.create(**asked)


def test_an_endpoint_that_does_not_end_where_the_budget_does_is_cut_off_in_plain_words(opened):
    says = Says(start_event(), OPEN, *[piece("word " * 10)] * 100, CLOSE, end_event(output_tokens=1300), STOP)
    proxy = opened(says, each=100)
    texts = []
    with pytest.raises(anthropic.APIError) as error, client_of(proxy).messages.stream(**ASKED) as stream:
        texts.extend(stream.text_stream)
    assert explain(error.value) == "The answer broke off: This seat has used its 100 tokens: ask your teacher."
    assert 0 < len("".join(texts)) < 1000
    assert 100 <= spent(proxy) < 300
    assert error_of(raw(proxy, ASKED))[0] == 402


def test_requests_at_once_cannot_pass_a_budget_together(opened):
    proxy = opened(answers({"content": LONG, "slow": 0.001}), each=300)

    def ask(number):
        status, _, body = raw(proxy, {**ASKED, "max_tokens": 90, "stream": True})
        assert status in (200, 402)
        said = re.findall(r'"(?:in|out)put_tokens": (\d+)', body.rpartition("message_delta")[2])
        return sum(map(int, said))

    with concurrent.futures.ThreadPoolExecutor(12) as pool:
        paid = sum(pool.map(ask, range(12)))
    assert 90 < paid == spent(proxy) <= 300


def test_what_a_request_may_cost_is_not_there_for_others_until_it_is_given_back(opened):
    go_on = threading.Event()
    says = Says(start_event(), OPEN, piece("Hello"), CLOSE, end_event(output_tokens=2), STOP, wait=go_on.wait)
    proxy = opened(says, each=150)
    with client_of(proxy).messages.stream(**{**ASKED, "max_tokens": 1000}) as stream:
        next(stream.text_stream)
        status, kind, said = error_of(raw(proxy, {**ASKED, "max_tokens": 100}))
        assert (status, kind) == (402, "billing_error")
        more = "and this needs more: let its other requests end, or ask your teacher"
        assert said == f"This seat has 0 of its 150 tokens free, {more}"
        go_on.set()
        stream.until_done()
    assert spent(proxy) == 11
    assert raw(proxy, {**ASKED, "stream": True, "max_tokens": 100})[0] == 200  # the rest was given back


def test_a_rest_that_is_too_small_to_think_is_not_spent_on_a_refusal(opened):
    proxy = opened(answers("Hello"), each=2000)
    asked = {**ASKED, "max_tokens": 4000, "thinking": {"type": "enabled", "budget_tokens": 3000}}
    assert error_of(raw(proxy, asked))[:2] == (402, "billing_error")
    assert spent(proxy) == 0


def test_where_the_endpoint_counts_no_tokens_they_are_estimated(opened):
    says = Says(start_event(input_tokens=9), OPEN, piece("Hello"), CLOSE, end_event(output_tokens=2), STOP)
    proxy = opened(says, each=100)
    assert raw(proxy, {**ASKED, "stream": True, "max_tokens": 5000})[0] == 200
    assert spent(proxy) == 11


IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0K" * 50_000}}


def test_an_image_costs_what_the_endpoint_says_and_not_its_letters(opened):
    said = json.dumps({"input_tokens": 1500, "usage": {"input_tokens": 1500, "output_tokens": 2}}).encode()
    with endpoint(body=said) as url:
        proxy = opened(url, each=5000)
        assert raw(proxy, {**ASKED, "messages": [{"role": "user", "content": [IMAGE]}]})[0] == 200
    assert spent(proxy) == 1502


def test_a_tool_that_takes_a_source_is_no_picture(opened):
    proxy = opened(Says(start_event(), OPEN, piece("Hello"), CLOSE, end_event(output_tokens=2), STOP), each=5000)
    tool = {"name": "read", "input_schema": {"type": "object", "properties": {"source": {"type": "string"}}}}
    said = [{"type": "text", "text": json.dumps({"type": "image", "source": 1})}]
    asked = {**ASKED, "stream": True, "tools": [tool], "messages": [{"role": "user", "content": said}]}
    assert raw(proxy, asked)[0] == 200


def test_a_document_behind_an_address_passes_a_budget_once_and_no_more(opened):
    document = {"type": "document", "source": {"type": "url", "url": "https://example.org/long.pdf"}}
    asked = {**ASKED, "messages": [{"role": "user", "content": [document]}]}
    with endpoint(body=b'{"usage": {"input_tokens": 80000, "output_tokens": 2}}') as url:
        proxy = opened(url, each=10_000)
        assert raw(proxy, asked)[0] == 200
        assert spent(proxy) == 80_002
        status, _, said = error_of(raw(proxy, asked))
        assert (status, said.partition(",")[0]) == (402, "This seat has 0 of its 10")


# ---- endpoints and learners that go away, are slow, or lie


def test_a_learner_that_goes_away_in_the_middle_pays_what_was_said_until_then(opened):
    gone = threading.Event()
    says = Says(start_event(), OPEN, piece("word " * 40), *[piece("word ")] * 400, wait=gone.wait)
    proxy = opened(says, each=1000)
    with socket.create_connection(proxy.server_address) as learner:
        body = json.dumps({**ASKED, "stream": True}).encode()
        head = f"POST /v1/messages HTTP/1.1\r\nx-api-key: {word_of(proxy)}\r\nanthropic-version: v\r\n"
        head += f"content-length: {len(body)}\r\n\r\n"
        learner.sendall(head.encode() + body)
        heard = b""
        while b"text_delta" not in heard:
            heard += learner.recv(1000)
        learner.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")  # a reset, as of a killed kernel
    gone.set()
    assert 9 + 50 <= spent(proxy) < 1000


def test_an_endpoint_that_is_killed_in_the_middle_is_one_sentence_and_is_counted(opened):
    says = Says(start_event(), OPEN, piece("word " * 40), whole=False)
    proxy = opened(says, each=1000)
    with pytest.raises(anthropic.APIError) as error, client_of(proxy).messages.stream(**ASKED) as stream:
        stream.until_done()
    said = "The answer broke off: the endpoint behind the room's key broke off. Wait a moment, then send it again."
    assert explain(error.value) == said
    assert spent(proxy) == 9 + 50
    assert raw(proxy, ASKED)[0] == 200  # the proxy goes on


def test_a_json_body_that_breaks_off_is_an_error(opened):
    proxy = opened(answers({"content": LONG, "hang_up": True}))
    said = "the room's endpoint does not answer: RemoteProtocolError"
    assert error_of(raw(proxy, ASKED)) == (502, "api_error", said)


def test_an_endpoint_that_is_not_there_is_one_sentence(opened):
    proxy = opened()
    proxy.upstream.close()
    with pytest.raises(anthropic.APIStatusError) as error:
        client_of(proxy).messages.create(**ASKED)
    said = "The endpoint failed: the room's endpoint does not answer: ConnectError (502). "
    assert explain(error.value) == f"{said}Wait a moment, then send it again."
    assert spent(proxy) == 0


def test_an_endpoint_that_is_silent_is_given_up(opened, monkeypatch):
    monkeypatch.setattr(key, "SILENCE_SECONDS", 0.1)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        proxy = opened(f"http://127.0.0.1:{silent.getsockname()[1]}", each=1000)
        assert error_of(raw(proxy, ASKED))[0] == 502
    assert spent(proxy) == 0


@pytest.mark.parametrize("value", [0, -5, None, "7", True, 1e9, [], {}])
def test_where_an_endpoint_says_no_usage_it_is_estimated(opened, value):
    text = "word " * 100
    says = Says(start_event(input_tokens=value), OPEN, piece(text), CLOSE, end_event(output_tokens=value), STOP)
    proxy = opened(says, each=10_000)
    asked = {**ASKED, "stream": True, "messages": [{"role": "user", "content": text}]}
    assert raw(proxy, asked)[0] == 200
    assert 250 <= spent(proxy) <= 300  # 125 tokens each, and the request around them
    says.events = [
        wire.sse("x", {})[:0] + json.dumps({"type": "message", "usage": value, "content": [{"text": text}]}).encode()
    ]
    says.headers = {"content-type": "application/json"}
    assert raw(proxy, asked)[0] == 200
    assert 500 <= spent(proxy) <= 600


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"null", b"<html>", b'{"usage": 7}', b"\xff\xfe", b"[" * 5000])
@pytest.mark.parametrize("kind", ["application/json", "text/event-stream", "text/html"])
def test_an_endpoint_that_speaks_another_protocol_breaks_nothing(opened, kind, body):
    with endpoint(200, {"content-type": kind}, body) as url:
        proxy = opened(url, each=1000)
        assert raw(proxy, {**ASKED, "stream": True})[0] == 200
    assert spent(proxy) < 1000


def test_strange_events_break_nothing(opened):
    strange = [b"data: 17\n\n", b"data: {\n\n", b"data: [DONE]\n\n", b": hello\n\n", b'data: {"type": 7}\n\n']
    strange += [
        b'data: {"type": "content_block_delta", "delta": 7}\n\n',
        b'data: {"type": "message_delta", "usage": []}\n\n',
    ]
    strange += [b'data: {"type": "content_block_delta", "delta": {"text": ["x"]}}\n\n']
    strange += [b'data: {"type": "content_block_delta", "index": {}, "delta": {"text": "\\ud800"}}\n\n']
    strange += [b'data: {"type": "message_delta", "delta": null, "usage": null}\n\n']
    proxy = opened(Says(start_event(), *strange, STOP))
    status, _, body = raw(proxy, {**ASKED, "stream": True})
    assert (status, body.count("message_stop")) == (200, 2)
    assert spent(proxy) > 0


def test_an_event_that_is_too_deep_ends_the_stream_in_a_sentence(opened):
    levels = 900 if sys.version_info < (3, 12) else 2000  # read as JSON, but not gone through
    deep = b'data: {"type": "x", "y": ' + b"[" * levels + b"]" * levels + b"}\n\n"
    proxy = opened(Says(start_event(), deep, STOP))
    assert raw(proxy, {**ASKED, "stream": True})[2].count("the endpoint behind the room's key broke off") == 1


def test_line_ends_of_unicode_within_a_string_end_no_line_of_the_stream(opened):
    text = "one\u2028two\u2029three\x85four"
    with client_of(opened(Says(start_event(), OPEN, piece(text), CLOSE, STOP))).messages.stream(**ASKED) as stream:
        assert "".join(stream.text_stream) == text


@pytest.mark.parametrize("status", [301, 302, 307])
def test_a_redirect_of_the_endpoint_is_not_followed(opened, status):
    followed = []
    hears = endpoint(body=lambda handler: followed.append(handler.path) or b"{}")
    with hears as elsewhere, endpoint(status, {"location": elsewhere}) as url:
        said = raw(opened(url), ASKED)
    assert (said[0], followed) == (status, [])
    assert elsewhere not in str(said)


# ---- bodies and requests that mean harm


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"", 400),
        (b"{", 400),
        (b"[]", 400),
        (b"\xff\xfe", 400),
        (b'{"max_tokens": NaN}', 400),
        (b"[" * 100_000, 400),
        (b"x" * (33 * 1024 * 1024), 413),
        ({**ASKED, "max_tokens": None}, 400),
        ({**ASKED, "max_tokens": True}, 400),
        ({**ASKED, "max_tokens": -1}, 400),
        ({**ASKED, "max_tokens": 1e3}, 400),
        ({"model": MODEL, "messages": HELLO}, 400),
        ({**ASKED, "model": "a-dearer-model"}, 404),
        ({**ASKED, "model": [MODEL]}, 404),
        ({**ASKED, "tools": [{"type": "web_search_20250305", "name": "web_search"}]}, 403),
        ({**ASKED, "tools": [17, {"type": "code_execution_20250825"}]}, 403),
    ],
)
def test_a_hostile_body_is_refused_in_the_form_of_the_api_and_reaches_nobody(opened, body, status):
    proxy = opened(each=1000)
    assert error_of(raw(proxy, body))[0] == status
    assert not proxy.upstream.exchanges
    assert spent(proxy) == 0


def test_of_two_values_under_one_name_the_endpoint_gets_the_one_that_was_counted(opened):
    proxy = opened(answers(LONG), each=100)
    raw(proxy, json.dumps(ASKED).replace('"max_tokens": 50', '"max_tokens": 99999, "max_tokens": 50').encode())
    assert proxy.upstream.exchanges[-1]["request"].count("max_tokens") == 1
    assert spent(proxy) < 100


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/v1/messages/batches", 404),
        ("/v1/messages/../files", 404),
        ("/v1/files", 404),
        ("/v1/models", 404),
        ("//evil/v1/messages", 404),
        ("/v1/messages/", 404),
        ("/v1/messages%2f..", 404),
        ("http://evil/v1/messages", 404),
        ("/", 404),
    ],
)
def test_it_is_no_open_proxy(opened, path, status):
    proxy = opened()
    assert error_of(raw(proxy, ASKED, path=path))[0] == status
    assert not proxy.upstream.exchanges


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "PATCH", "CONNECT", "OPTIONS", "TRACE", "FOO"])
def test_only_post_is_passed_on(opened, method):
    proxy = opened()
    assert raw(proxy, ASKED, method=method)[0] in (405, 501)
    assert not proxy.upstream.exchanges


def test_bodies_of_a_wrong_length_or_that_come_slowly_end_and_the_others_are_served(opened, monkeypatch):
    monkeypatch.setattr(door.Handler, "timeout", 0.2)
    proxy = opened(each=1000)
    head = f"POST /v1/messages HTTP/1.1\r\nx-api-key: {word_of(proxy)}\r\n"
    rests = [
        "content-length: 100\r\n\r\n{",
        "content-length: 5\r\n\r\n",
        "transfer-encoding: chunked\r\n\r\nff\r\n{",
        "x",
    ]
    sockets = [socket.create_connection(proxy.server_address) for _ in rests]
    for one, rest in zip(sockets, rests, strict=True):
        one.settimeout(PATIENCE_SECONDS)
        one.sendall(f"{head}{rest}".encode())
    assert raw(proxy, ASKED)[0] == 200
    for one in sockets:
        assert one.recv(1) == b""
        one.close()
    for rest, status in (("content-length: x", 400), (f"content-length: {'9' * 30}", 413), ("content-length: -1", 400)):
        with socket.create_connection(proxy.server_address) as one:
            one.sendall(f"{head}{rest}\r\n\r\n{{}}".encode())
            assert f" {status} " in one.makefile("rb").readline().decode()


# ---- what is kept


def test_with_a_file_the_counts_and_the_seats_outlive_a_restart(opened, folder):
    file = folder / "state.json"
    first = opened(answers(LONG), each=100, file=file)
    assert raw(first, ASKED)[0] == 200
    paid = spent(first)
    first.close()
    second = opened(answers(LONG), each=100, file=file, count=3)
    assert [*second.seats.spent][:2] == [*first.seats.spent]
    assert spent(second) == paid > 0
    raw(second, {**ASKED, "max_tokens": 1000})
    assert 80 < spent(second) <= 100
    assert sorted(path.name for path in folder.iterdir()) == ["state.json"]
    if os.name == "posix":
        assert file.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("text", ["", "{", "[]", '{"seats": 7}', '{"seats": {"a": null}}', "\0"])
def test_a_file_that_is_none_of_ours_is_not_overwritten(folder, text):
    (folder / "state.json").write_text(text)
    with pytest.raises(SettingsError, match="name another file"):
        key.Seats(2, file=folder / "state.json")
    assert (folder / "state.json").read_text() == text


def test_what_is_recorded_can_be_replayed_seat_by_seat(opened, folder):
    proxy = opened(answers("Good morning."), record=folder)
    for number in (1, 2, 1):
        client_of(proxy, number).messages.create(**ASKED)
    with client_of(proxy, 2).messages.stream(**ASKED) as stream:
        stream.until_done()
    assert spent(proxy)
    assert spent(proxy, 2)
    assert sorted(path.name for path in folder.iterdir()) == ["seat-01.jsonl", "seat-02.jsonl"]
    client, model = connect(replay=folder / "seat-02.jsonl")
    for _ in range(2):
        assert client.messages.create(**ASKED).content[0].text == "Good morning."
    assert departures(client) == []
    _, _, lines, _ = recording.read(folder / "seat-01.jsonl")
    assert [line["status"] for line in lines] == [200, 200]


# ---- the command


CODE = "import sys; from s02_tool_use.lab.room import main; sys.exit(main(sys.argv[1:]))"


@contextlib.contextmanager
def command(*arguments):
    """(process, what it printed until it serves)."""
    line = [sys.executable, "-c", CODE, "key", "--port", "0", *arguments]
    with subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        try:
            said = []
            while not said or "Ctrl-C" not in said[-1]:
                assert (text := process.stdout.readline()), said
                said.append(text)
            yield process, "".join(said)
        finally:
            process.kill()


def learner_of(said, seat=None):
    (url,), (first, *_) = re.findall(r"BASE_URL=(\S+)", said), [*re.findall(r"(?m)^ +1  (\S+)$", said), None]
    return connect(base_url=url, model=MODEL, api_key=seat or first)[0].with_options(max_retries=0)


@pytest.mark.skipif(os.name == "nt", reason="ends the command by a signal, as only POSIX has it")
def test_the_command_shares_the_key_of_dotenv_and_a_killed_one_goes_on_where_it_was(opened, folder):
    waits = threading.Event()
    says = Says(start_event(), OPEN, piece("word " * 40), CLOSE, STOP, wait=waits.wait)
    with Told(says) as upstream:
        Path(".env").write_text(f"API_KEY={KEY}\nMODEL_ID={MODEL}\nBASE_URL={upstream.url}\n")
        arguments = ("--seats", "3", "--budget", "1000", "--state", "state.json", "--record", "records")
        with command(*arguments) as (process, said):
            assert re.search(
                rf"(?m)^{MODEL} at 127\.0\.0\.1:\d+ answers 3 seats, 1,000 tokens each\. The key stays", said
            )
            assert len(re.findall(r"(?m)^ +\d  \w{4}-\w{4}-\w{4}$", said)) == 3
            assert KEY not in said
            with learner_of(said).messages.stream(**ASKED) as stream:
                next(stream.text_stream)
                process.kill()
                with pytest.raises(httpx2.RemoteProtocolError) as error:
                    stream.until_done()
            assert "The answer broke off: the connection at 127.0.0.1:" in explain(error.value)
            process.wait(PATIENCE_SECONDS)
            with pytest.raises(anthropic.APIConnectionError) as error:
                learner_of(said).messages.create(**ASKED)
            assert explain(error.value).startswith("No connection to the endpoint at 127.0.0.1:")
        waits.set()
        seat = re.findall(r"(?m)^ +1  (\S+)$", said)[0]
        kept = json.loads(Path("state.json").read_text())["seats"][seat]
        assert 9 + 50 <= kept <= 150
        with command(*arguments) as (process, said):
            assert f"They are those of state.json: {kept:,} tokens are spent." in said
            assert re.findall(r"(?m)^ +1  (\S+)$", said) == [seat]
            with learner_of(said, seat).messages.stream(**ASKED) as stream:
                stream.until_done()
            process.send_signal(signal.SIGTERM)
            rest = process.stdout.read()
            assert process.wait(PATIENCE_SECONDS) == 0
    assert re.search(r"(?m)^seat +1 +\d+ tokens$", rest)
    assert int(re.search(r"all +(\d+) tokens", rest)[1]) > kept
    everything = (
        said + rest + "".join(path.read_text() for path in folder.rglob("*") if path.name != ".env" and path.is_file())
    )
    assert KEY not in everything


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
@pytest.mark.parametrize(("arguments", "addresses"), [((), ["0100007F"]), (("--ip", "0.0.0.0"), ["00000000"])])
def test_it_listens_on_loopback_unless_it_is_told_otherwise(arguments, addresses):
    Path(".env").write_text(f"API_KEY={KEY}\nMODEL_ID={MODEL}\n")
    with command(*arguments) as (process, said):
        links = [os.readlink(entry.path) for entry in os.scandir(f"/proc/{process.pid}/fd")]
        inodes = {found[1] for link in links if (found := re.match(r"socket:\[(\d+)\]", link))}
        rows = [line.split() for name in ("tcp", "tcp6") for line in Path(f"/proc/net/{name}").read_text().splitlines()]
        assert [row[1].partition(":")[0] for row in rows if row[3] == "0A" and row[9] in inodes] == addresses
        assert ("Only this machine can connect." in said) == (not arguments)


@pytest.mark.parametrize(
    ("env", "arguments", "said"),
    [
        ("", (), "There is no key to share: write API_KEY, MODEL_ID and perhaps BASE_URL into .env."),
        ("API_KEY=put-your-key-here\n", (), "There is no key to share: "),
        (f"API_KEY={KEY}\n", (), "MODEL_ID is missing: "),
        (f"API_KEY={KEY}\nMODEL_ID=m\n", ("--port", "99999"), "Cannot listen on 127.0.0.1, port 99999: "),
        (f"API_KEY={KEY}\nMODEL_ID=m\n", ("--ip", "nowhere.invalid"), "Cannot listen on nowhere.invalid, port 8124: "),
        (f"API_KEY={KEY}\nMODEL_ID=m\n", ("--record", ".env"), ".env cannot be used: "),
        (f"API_KEY={KEY}\nMODEL_ID=m\n", ("--state", "no/state"), f"{Path('no/state.new')} cannot be used: "),
        (
            f"API_KEY={KEY}\nMODEL_ID=m\nBASE_URL=http://127.0.0.1:18124\n",
            ("--port", "18124"),
            "BASE_URL in .env is the ",
        ),
        (f"API_KEY={KEY}\nMODEL_ID=m\n", ("--budget", "-5"), "--seats takes a whole number from 1 on, --budget one "),
        (f"API_KEY={KEY}\nMODEL_ID=m\n", ("--seats", "0"), "--seats takes a whole number from 1 on, --budget one "),
    ],
)
def test_what_stands_in_the_way_is_one_sentence(env, arguments, said):
    Path(".env").write_text(env)
    assert key.main([*arguments]).startswith(said)


def test_wrong_numbers_are_refused(capsys):
    for arguments in (["--seats", "many"], ["--budget", ""], ["--seats", "1.5"]):
        with pytest.raises(SystemExit):
            key.main(arguments)
        assert "invalid int value" in capsys.readouterr().err
