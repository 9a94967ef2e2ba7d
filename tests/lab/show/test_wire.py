"""show_wire(client): what went over the wire, as it came, without what differs from one machine to the next."""

import json
import re
import socket
import threading
import warnings

import anthropic
import httpx2
import pytest
from fake_endpoint import endpoint
from systems import over_both

from s02_tool_use.lab import show_wire
from s02_tool_use.lab.api.server import Server
from s02_tool_use.lab.client import tap
from s02_tool_use.lab.client.endpoint import connect
from s02_tool_use.lab.client.tap import Tap
from s02_tool_use.lab.show.wire import Wire
from s02_tool_use.lab.understudy import Scripted

HELLO = [{"role": "user", "content": "Hello"}]
KEY = "sk-canary-0123456789-AbCdEfGh"


def say(client, model, **more):
    return client.messages.create(model=model, max_tokens=300, messages=HELLO, **more)


def text_of(page):
    """What a reader of the HTML sees, unfolded: its tags aside."""
    import html

    return html.unescape(re.sub("<[^>]*>", "", page._repr_html_()))


@pytest.fixture
def given():
    """A function that connects to an endpoint of this machine as to a live one; it says these lines."""
    servers, clients = [], []

    def make(*lines, **more):
        servers.append(Server(Scripted(lines)).start())
        clients.append(connect(base_url=servers[-1].url, model="m", **more))
        return clients[-1]

    yield make
    for client, _ in clients:
        client.close()
    for server in servers:
        server.close()


@over_both
def test_a_request_and_its_response_are_shown_as_they_went(scripted):
    client, model = scripted(["Hi."])
    say(client, model)
    text = show_wire(client).text
    assert re.sub("anthropic-version: .*", "anthropic-version: V", text).splitlines()[:8] == [
        "> POST /v1/messages",
        "> content-type: application/json",
        "> authorization: [key removed]" if "> authorization" in text else "> x-api-key: [key removed]",
        "> anthropic-version: V",
        '    {"max_tokens": 300, "messages": [{"role": "user", "content": "Hello"}], "model": "scripted"}',
        "< 200 OK",
        "< content-type: application/json",
        "< request-id: req_01",
    ]
    assert '"text": "Hi."' in text


def test_each_look_shows_what_is_new(scripted):
    client, model = scripted(["One.", "Two."])
    say(client, model)
    assert '"One."' in show_wire(client).text
    assert show_wire(client).text == "Nothing went over the wire since the last look."
    say(client.with_options(timeout=30), model)
    text = show_wire(client).text
    assert '"Two."' in text
    assert '"One."' not in text


def test_several_requests_of_one_cell_are_shown_in_their_order(scripted):
    client, model = scripted(["One.", "Two."])
    say(client, model)
    say(client, model)
    client.models.list()
    heads = [line for line in show_wire(client).text.splitlines() if re.match("> [A-Z]+ /", line)]
    assert heads[:2] == ["> POST /v1/messages"] * 2
    assert heads[2].startswith("> GET /v1/models")


@over_both
def test_each_event_of_a_stream_is_shown_as_it_came(scripted):
    client, model = scripted(["Hi."])
    with client.messages.stream(model=model, max_tokens=300, messages=HELLO) as stream:
        names = [event.type for event in stream]
    assert "text" in names  # the SDK's own addition: not on the wire
    page = show_wire(client)
    events = re.findall(r"(?m)^    event: (\w+)\n    data: (.*)$", page.text)
    assert [name for name, _ in events] == [
        *("message_start", "content_block_start", "ping", "content_block_delta", "content_block_stop"),
        *("message_delta", "message_stop"),
    ]
    assert [json.loads(data)["type"] for _, data in events] == [name for name, _ in events]
    assert "not read" not in page.text
    for name, data in events:
        assert f"event: {name}\ndata: {data}" in text_of(page)


def test_a_long_stream_shows_its_beginning_and_its_end_and_folds_the_rest(scripted):
    client, model = scripted(["word " * 100])
    with client.messages.stream(model=model, max_tokens=300, messages=HELLO) as stream:
        stream.get_final_message()
    page = show_wire(client)
    assert re.search(r"\n    \.\.\. \d+ more events\n", page.text)
    assert page.text.count("event: ") == 16
    assert page.text.endswith('data: {"type": "message_stop"}')
    assert page.html.count("<details>") == 1
    assert len(re.findall(r"event: \w+", text_of(page))) > 30


@over_both
def test_a_stream_that_was_stopped_half_way_ends_where_it_was_left(scripted):
    client, model = scripted(["word " * 100])
    with client.messages.stream(model=model, max_tokens=300, messages=HELLO) as stream:
        for event in stream:
            if event.type == "text":
                break
    page = show_wire(client)
    assert page.text.endswith("(not read to its end)")
    assert "(not read to its end)" in text_of(page)
    assert "message_stop" not in page.text


@over_both
def test_a_stream_that_nobody_has_closed_is_shown_so_far_and_again_when_it_has_ended(scripted):
    client, model = scripted(["word " * 100])
    stream = say(client, model, stream=True)
    next(iter(stream))
    assert show_wire(client).text.endswith("(still open)")
    for _ in stream:
        pass
    assert show_wire(client).text.endswith('data: {"type": "message_stop"}')
    assert show_wire(client).text.startswith("Nothing")


@over_both
@pytest.mark.parametrize("stream", [False, True])
def test_an_error_shows_its_status_and_body(scripted, stream):
    client, model = scripted([{"status": 429, "message": "Slow down", "retry_after": 7}])
    with pytest.raises(anthropic.RateLimitError):
        say(client, model, stream=stream)
    text = show_wire(client).text
    assert "\n< 429 Too Many Requests\n" in text
    assert "\n< retry-after: 7\n" in text
    assert '"message": "Slow down"' in text
    assert "(" not in text.rsplit("}", 1)[1]


@over_both
def test_a_connection_that_breaks_in_a_stream_says_so(scripted):
    client, model = scripted([{"content": "word " * 50, "hang_up": True}])
    with (
        pytest.raises(httpx2.RemoteProtocolError),
        client.messages.stream(model=model, max_tokens=300, messages=HELLO) as stream,
    ):
        stream.get_final_message()
    assert show_wire(client).text.endswith("(broken off: RemoteProtocolError)")


def test_no_connection_says_so():
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        client, model = connect(base_url=f"http://127.0.0.1:{closed.getsockname()[1]}", model="m")
        with pytest.raises(anthropic.APIConnectionError):
            say(client.with_options(max_retries=0), model)
    assert show_wire(client).text.endswith("\n< no answer: ConnectError")


@over_both
def test_what_the_sdk_sends_again_by_itself_is_a_request_of_its_own(given, monkeypatch):
    monkeypatch.setattr("time.sleep", lambda seconds: None)
    client, model = given({"status": 529}, "At last.")
    assert say(client, model).content[0].text == "At last."
    text = show_wire(client).text
    assert text.count("> POST /v1/messages") == 2
    assert text.count("> x-stainless-retry-count: 1") == 1
    assert text.index("< 529") < text.index("> x-stainless-retry-count: 1") < text.index("< 200 OK")


@over_both
def test_a_live_endpoint_is_shown_as_it_was_really_asked(given):
    client, model = given("Hi.")
    assert say(client, model).content[0].text == "Hi."
    text = show_wire(client).text
    assert '"stream": true' in text  # live.py asks for each message as a stream
    assert "event: message_stop" in text


def test_a_recorded_and_a_replayed_client_show_the_same(tmp_path):
    client, model = connect(script=["Hi."], record=tmp_path / "run.jsonl")
    with client.messages.stream(model=model, max_tokens=300, messages=HELLO) as stream:
        stream.get_final_message()
    first = show_wire(client).text
    again, model = connect(replay=tmp_path / "run.jsonl")
    with again.messages.stream(model=model, max_tokens=300, messages=HELLO) as stream:
        stream.get_final_message()
    assert show_wire(again).text == first
    assert "event: message_stop" in first


def test_with_shows_what_its_lines_sent_also_when_they_fail(scripted, capsys):
    client, model = scripted(["One.", "Two.", {"status": 401}])
    say(client, model)
    capsys.readouterr()
    with show_wire(client) as shown:
        say(client, model)
    out = capsys.readouterr().out
    assert '"Two."' in out
    assert '"One."' not in out
    assert isinstance(shown, Wire)
    assert out == shown.text + "\n"
    with pytest.raises(anthropic.AuthenticationError), show_wire(client):
        say(client, model)
    assert "< 401 Unauthorized" in capsys.readouterr().out
    assert show_wire(client).text.startswith("Nothing")


def test_two_clients_have_a_wire_each(given, scripted):
    one, two = given("One."), scripted(["Two."])
    say(*one)
    assert show_wire(two[0]).text.startswith("Nothing")
    assert "One." in show_wire(one[0]).text


@pytest.mark.parametrize("client", [None, 3, "client", anthropic.Anthropic(api_key="any"), connect])
def test_a_client_that_connect_did_not_make_is_refused(client):
    with pytest.raises(
        TypeError, match=r"show_wire takes a client that connect\(\) made: client, model = connect\(\)\."
    ):
        show_wire(client)


def test_the_same_cell_shows_the_same_again_and_nothing_of_this_machine():
    shown = []
    for _ in range(2):
        client, model = connect(script=["Hi.", "Bye.", {"status": 500}])
        say(client, model)
        with client.messages.stream(model=model, max_tokens=300, messages=HELLO) as stream:
            stream.get_final_message()
        with pytest.raises(anthropic.InternalServerError):
            say(client, model)
        page = show_wire(client)
        shown.append((page.text, page.html))
    assert shown[0] == shown[1]
    for text in shown[0]:
        for pattern in (
            r"127\.0\.0\.1",
            r"localhost",
            "[Uu]ser-[Aa]gent",
            "x-stainless",
            r"20\d\d-\d\d-\d\dT",
            "offline-",
        ):
            assert not re.search(pattern, text), pattern


def test_the_host_of_an_endpoint_elsewhere_is_shown():
    heard = Tap()
    client, model = connect(base_url="https://user:secret-word@example.com/api", model="m", api_key=KEY)
    request = client._client.build_request("POST", "https://example.com/api/v1/messages", json={"a": 1})
    heard.send(lambda request, **_: httpx2.Response(200, json={}, request=request), request)
    text = Wire(heard).text
    assert text.startswith("> POST /api/v1/messages\n> host: example.com\n")


# The key


def test_no_key_is_shown_wherever_it_stands(given):
    client, model = given(f"The key is {KEY}.", {"status": 400, "message": f"{KEY} is wrong"}, api_key=KEY)
    messages = [{"role": "user", "content": f"My key is {KEY}."}]
    client.messages.create(
        model=model, max_tokens=300, messages=messages, extra_headers={"x-other-token": "hush-hush-hush"}
    )
    with pytest.raises(anthropic.BadRequestError):
        say(client, model, extra_headers={"x-said": KEY}, extra_query={"key": KEY})
    page = show_wire(client)
    for shown in (page.text, text_of(page), page.html):
        for form in (KEY, KEY[:-4], KEY[4:], "hush-hush-hush"):
            assert form not in shown
    assert page.text.count("[key removed]") >= 6
    assert "> POST /v1/messages?key=[key removed]" in page.text


def events_of(pieces):
    message = {"id": "m", "type": "message", "role": "assistant", "model": "m", "content": [], "stop_reason": None}
    start = {"type": "message_start", "message": message | {"usage": {"input_tokens": 1, "output_tokens": 1}}}
    yield f"event: message_start\ndata: {json.dumps(start)}\n\n".encode()
    yield b'event: content_block_start\ndata: {"type": "content_block_start", "index": 0, "content_block": '
    yield b'{"type": "text", "text": ""}}\n\n'
    for piece in pieces:
        delta = {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": piece}}
        yield f"event: content_block_delta\ndata: {json.dumps(delta)}\n\n".encode()


@pytest.mark.parametrize("whole", [True, False])
def test_a_key_that_a_stream_cuts_in_pieces_is_not_shown(whole):
    parts = [KEY[n : n + 6] for n in range(0, len(KEY) if whole else 18, 6)]

    def body(handler):
        yield from events_of(["It is ", *parts, *([" so."] if whole else [])])
        if whole:
            yield b'event: content_block_stop\ndata: {"type": "content_block_stop", "index": 0}\n\n'
            yield b'event: message_stop\ndata: {"type": "message_stop"}\n\n'

    with endpoint(headers={"content-type": "text/event-stream"}, body=body) as url:
        client, model = connect(base_url=url, model="m", api_key=KEY)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                say(client, model)
            except anthropic.APIError:
                assert not whole
        page = show_wire(client)
    assert "It is [key removed]" in page.text
    for part in parts:
        assert part not in page.text
        assert part not in page.html


# Size


def test_a_long_body_is_folded_in_the_page_and_bounded_in_the_text(scripted):
    client, model = scripted(["Hi."])
    client.messages.create(
        model=model, max_tokens=300, messages=[{"role": "user", "content": f"line {n}"} for n in range(200)]
    )
    page = show_wire(client)
    assert re.search(r"\.\.\. 19\d more lines", page.text)
    assert len(page.text.splitlines()) < 60
    assert "<details>" in page.html
    assert "line 199" in text_of(page)


def test_a_line_that_never_ends_is_shortened(scripted):
    client, model = scripted(["Hi."])
    client.messages.create(model=model, max_tokens=300, messages=[{"role": "user", "content": "x" * 150_000}])
    page = show_wire(client)
    assert "more characters" in page.text
    assert len(page.text) < 5_000
    assert len(page.html) < 10_000


def test_of_many_and_of_large_bodies_a_bounded_part_is_kept(scripted):
    client, model = scripted(["Hi."] * 53)
    for _ in range(53):
        say(client, model)
    (first, *_), forgotten = connection_tap(client).take()
    assert forgotten == 3
    assert first.line == "POST /v1/messages"
    client, model = scripted(["Hi."] * 52)
    for _ in range(52):
        say(client, model)
    assert show_wire(client).text.startswith("(2 earlier requests not kept)\n")
    client, model = scripted(["Hi."])
    client.messages.create(model=model, max_tokens=300, messages=[{"role": "user", "content": "x" * 900_000}])
    (one,), _ = connection_tap(client).take()
    assert len(one.sent.text) < tap.KEPT_BYTES + 100
    assert re.search(r" \.\.\. 700,\d\d\d more bytes$", one.sent.text)


def connection_tap(client):
    from s02_tool_use.lab.client.endpoint import connection_of

    return connection_of(client).tap


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"plain",
        b"<html>\x00\x1b[31m</html>",
        b"\xff\xfe",
        b"[" * 5000,
        b'{"a": 1}' * 3,
        "\u202e".encode(),
        b"null",
    ],
)
def test_any_body_of_an_endpoint_is_shown_as_far_as_it_can_be(body):
    for kind in ("application/json", "text/event-stream", "text/html"):
        with endpoint(headers={"content-type": kind}, body=body) as url:
            client, model = connect(base_url=url, model="m")
            with pytest.raises(anthropic.APIError):
                say(client, model)
            page = show_wire(client)
        assert page.text.startswith("> POST /v1/messages")
        assert f"< content-type: {kind}" in page.text
        assert not {"\x1b", "\u202e", "\x00"} & set(page.text + page.html)


def test_threads_that_send_at_once_are_all_heard():
    client, model = connect(script=["Hi."] * 20)
    threads = [threading.Thread(target=say, args=(client, model)) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert show_wire(client).text.count("> POST") == 20
