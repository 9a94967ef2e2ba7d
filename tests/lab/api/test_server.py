"""The offline API over real HTTP: what a client gets, whatever it sends, and that the server lives on.

Most of it is tried twice: over sockets, and through the transport that a browser page has in their place.
"""

import asyncio
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import types

import anthropic
import httpx2
import pytest
from systems import over_sockets
from waiting import PATIENCE_SECONDS

from s02_tool_use.__main__ import COMMANDS
from s02_tool_use.lab.api import STRICT
from s02_tool_use.lab.api import server as module
from s02_tool_use.lab.api.server import Server
from s02_tool_use.lab.client.transport import Transport
from s02_tool_use.lab.understudy import Scripted, Understudy

pytestmark = pytest.mark.usefixtures("network")

HELLO = [{"role": "user", "content": "Hello"}]
ASKED = {"model": "m", "max_tokens": 500, "messages": HELLO}
HEADERS = {"x-api-key": "any", "anthropic-version": "2026-10-21", "content-type": "application/json"}
CALL = {"type": "tool_use", "name": "read_file", "input": {"path": "README.md"}}
TOOL = {
    "name": "read_file",
    "description": "Read a file.",
    "input_schema": {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
}


class Echo:
    """Answers each request with the text of its last message."""

    def reply(self, request):
        return {"content": [{"type": "text", "text": request["messages"][-1]["content"]}]}


@pytest.fixture
def server():
    with Server(Echo()) as running:
        yield running


def scripted(*lines):
    return Server(Scripted(list(lines)))


def ask(server, method="POST", path="/v1/messages", body=ASKED, headers=HEADERS):
    """(status, headers, body) of one request; a body that is not JSON comes as text."""
    data = body if isinstance(body, (bytes, str, type(None))) else json.dumps(body)
    if server.url in module.in_this_page:
        with httpx2.Client(transport=Transport()) as client:
            response = client.request(method, f"{server.url}{path}", content=data, headers=headers)
        status, text = response.status_code, response.text
    else:
        connection = http.client.HTTPConnection(server.url.removeprefix("http://"), timeout=PATIENCE_SECONDS)
        connection.request(method, path, data, headers)
        response = connection.getresponse()
        status, text = response.status, response.read().decode()
        connection.close()
    return status, response.headers, json.loads(text) if text.startswith("{") else text


def refusal(*answer):
    status, _, body = answer
    return status, body["error"]["type"], body["error"]["message"]


@pytest.fixture
def sdk():
    """sdk(server) is the official client of that server. Closed after the test, with its connections."""
    made = []

    def make(server):
        http_client = anthropic.DefaultHttpxClient(
            trust_env=False, **({"transport": Transport()} if server.url in module.in_this_page else {})
        )
        made.append(anthropic.Anthropic(base_url=server.url, api_key="any", http_client=http_client, max_retries=0))
        return made[-1]

    yield make
    for client in made:
        client.close()


def lives(server):
    return ask(server)[0] == 200


# The endpoints


def test_a_message_is_answered_as_json(server):
    status, headers, body = ask(server)
    assert (status, body["content"], body["stop_reason"]) == (200, [{"type": "text", "text": "Hello"}], "end_turn")
    assert headers["content-type"] == "application/json"
    assert headers["request-id"] == "req_01"


def test_a_message_is_streamed_event_by_event(server):
    status, headers, text = ask(server, body=ASKED | {"stream": True})
    assert (status, headers["content-type"]) == (200, "text/event-stream; charset=utf-8")
    events = text.strip().split("\n\n")
    assert [event.split("\n")[0] for event in events] == [
        "event: message_start",
        "event: content_block_start",
        "event: ping",
        "event: content_block_delta",
        "event: content_block_stop",
        "event: message_delta",
        "event: message_stop",
    ]
    for event in events:
        name, data = event.split("\n")
        assert json.loads(data.removeprefix("data: "))["type"] == name.removeprefix("event: ")


def test_beta_calls_use_the_same_path(server):
    assert ask(server, path="/v1/messages?beta=true")[0] == 200


def test_count_tokens_needs_no_max_tokens_and_counts_as_usage_does(server):
    counted = ask(server, path="/v1/messages/count_tokens", body={"model": "m", "messages": HELLO})[2]
    assert counted == {"input_tokens": ask(server)[2]["usage"]["input_tokens"]}


@pytest.mark.parametrize(("kind", "status"), [("adaptive", 200), ("enabled", 400)])
@pytest.mark.parametrize("path", ["/v1/messages", "/v1/messages/count_tokens"])
def test_a_tool_may_be_forced_with_adaptive_thinking_alone(kind, status, path):
    thinking = {"type": kind} | ({"budget_tokens": 1024} if kind == "enabled" else {})
    request = ASKED | {"max_tokens": 2000, "tools": [TOOL], "tool_choice": {"type": "any"}, "thinking": thinking}
    with scripted(CALL) as server:
        assert ask(server, path=path, body=request | {"model": "claude-opus-4-6"})[0] == status


def test_count_tokens_refuses_what_messages_refuses(server):
    request = {"model": "m", "messages": [{"role": "user", "content": ""}]}
    assert ask(server, path="/v1/messages/count_tokens", body=request)[0] == 400


def test_the_models_are_listed_and_found_by_name():
    with Server(Understudy()) as server:
        listed = ask(server, "GET", "/v1/models", None)[2]
        assert [model["id"] for model in listed["data"]] == ["understudy"]
        assert ask(server, "GET", "/v1/models/understudy", None)[2] == listed["data"][0]
        answer = ask(server, "GET", "/v1/models/gone", None)
        assert refusal(*answer) == (404, "not_found_error", "model: gone")


# What is refused


def test_a_server_may_have_the_rules_of_a_stricter_endpoint(server):
    with Server(Echo(), profile=STRICT) as strict:
        twice = {**ASKED, "messages": HELLO * 2}
        assert (ask(server, body=twice)[0], ask(strict, body=twice)[0], ask(strict)[0]) == (200, 400, 200)


def test_without_a_key_it_is_401(server):
    answer = ask(server, headers={"anthropic-version": "2026-10-21"})
    assert refusal(*answer) == (401, "authentication_error", "x-api-key header is required")


@pytest.mark.parametrize("headers", [{"x-api-key": "k"}, {"Authorization": "Bearer k"}, {"authorization": "bearer k"}])
def test_any_key_in_either_header_will_do(server, headers):
    assert ask(server, headers={"anthropic-version": "2026-10-21"} | headers)[0] == 200


def test_an_unknown_path_is_404_with_the_api_s_error_body(server):
    assert refusal(*ask(server, path="/v1/complete")) == (404, "not_found_error", "Not Found")


def test_the_key_is_asked_for_before_the_path(server):
    assert ask(server, path="/v1/complete", headers={})[0] == 401


def test_a_wrong_method_is_405(server):
    assert refusal(*ask(server, "GET", body=None)) == (405, "invalid_request_error", "Method Not Allowed")
    assert ask(server, "BREW", body=None)[0] == 501
    assert lives(server)


def test_the_version_header_is_required(server):
    answer = ask(server, headers={"x-api-key": "k"})
    assert refusal(*answer) == (400, "invalid_request_error", "anthropic-version: header is required")


@pytest.mark.parametrize("path", ["/v1/messages", "/v1/messages/count_tokens"])
def test_the_version_and_the_betas_of_the_headers_are_looked_at(server, path):
    answer = ask(server, path=path, headers=HEADERS | {"anthropic-version": "banana"})
    assert refusal(*answer) == (400, "invalid_request_error", 'anthropic-version: "banana" is not a valid version')
    answer = ask(server, path=path, headers=HEADERS | {"anthropic-beta": "context-1m-2025-08-07, nothing-2020-01-01"})
    assert refusal(*answer)[2].startswith("Unexpected value(s) `nothing-2020-01-01` for the `anthropic-beta` header. ")


@pytest.mark.parametrize("path", ["/v1/messages", "/v1/messages/count_tokens"])
def test_a_field_of_a_beta_comes_with_its_header(server, path):
    body = ASKED | {"context_management": {"edits": []}}
    refused = (400, "invalid_request_error", "context_management: Extra inputs are not permitted")
    assert refusal(*ask(server, path=path, body=body)) == refused
    assert refusal(*ask(server, path=path, body=body, headers=HEADERS | {"anthropic-beta": ""})) == refused
    with_beta = HEADERS | {"anthropic-beta": "context-1m-2025-08-07,context-management-2025-06-27"}
    assert ask(server, path=path, body=body, headers=with_beta)[0] == 200
    assert ask(server, path=f"{path}?beta=true", body=body)[0] == 200  # a recorded call without its headers


def test_a_server_with_a_list_of_models_knows_no_other():
    with Server(Echo(), models=["tea-1", "tea-2"]) as server:
        assert ask(server, body=ASKED | {"model": "tea-2"})[0] == 200
        for path in ("/v1/messages", "/v1/messages/count_tokens"):
            answer = ask(server, path=path, body=ASKED | {"model": "tee-1"})
            assert refusal(*answer) == (404, "not_found_error", "model: tee-1")
            assert answer[2]["request_id"] == answer[1]["request-id"]
        listed = ask(server, "GET", "/v1/models", None)[2]
        assert [model["id"] for model in listed["data"]] == ["tea-1", "tea-2"]
        assert (listed["first_id"], listed["last_id"]) == ("tea-1", "tea-2")
        assert ask(server, "GET", "/v1/models/tea-2", None)[2] == listed["data"][1]


@pytest.mark.parametrize("stream", [False, True])
def test_a_reply_says_how_much_may_still_be_asked_for(server, stream):
    headers = ask(server, body=ASKED | {"stream": stream})[1]
    for of in ("requests", "tokens", "input-tokens", "output-tokens"):
        limit, left = (int(headers[f"anthropic-ratelimit-{of}-{name}"]) for name in ("limit", "remaining"))
        assert 0 < left <= limit
        assert time.strptime(headers[f"anthropic-ratelimit-{of}-reset"], "%Y-%m-%dT%H:%M:%SZ")


@pytest.mark.parametrize("stream", [False, True])
def test_a_marked_prefix_is_written_to_the_cache_and_read_by_the_same_client_alone(server, stream):
    system = [{"type": "text", "text": "Be brief. " * 500, "cache_control": {"type": "ephemeral"}}]
    body = ASKED | {"system": system, "stream": stream}

    def usage(key="any"):
        answer = ask(server, body=body, headers=HEADERS | {"x-api-key": key})[2]
        message = json.loads(answer.split("\n")[1].removeprefix("data: "))["message"] if stream else answer
        return message["usage"]["cache_creation_input_tokens"], message["usage"]["cache_read_input_tokens"]

    written, read = usage()
    assert (written > 1000, read) == (True, 0)
    assert usage() == (0, written)
    assert usage(server.add(Echo())) == (written, 0)


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"[1,", b"\xff\xfe", b'{"a": NaN}', b'{"a": "\\ud800"}', b"[" * 100_000],
    ids=["empty", "half an object", "half a list", "not UTF-8", "NaN", "half a surrogate pair", "nested too deep"],
)
def test_a_body_that_is_not_json_is_400(server, body):
    status, kind, message = refusal(*ask(server, body=body))
    assert (status, kind) == (400, "invalid_request_error")
    assert message.startswith("The request body is not valid JSON: ")
    assert lives(server)


@pytest.mark.parametrize("body", [b"[]", b"5", b"null"])
def test_json_that_is_no_object_is_400(server, body):
    assert refusal(*ask(server, body=body)) == (400, "invalid_request_error", "Input should be an object")


def test_an_escaped_surrogate_pair_is_good_json(server):
    body = json.dumps(ASKED | {"messages": [{"role": "user", "content": "🍵"}]})
    assert "\\ud83c" in body
    assert ask(server, body=body)[2]["content"][0]["text"] == "🍵"


def test_a_broken_history_is_refused_by_the_rules_even_when_a_stream_was_asked_for(server):
    history = [*HELLO, {"role": "assistant", "content": [{**CALL, "id": "toolu_A"}]}, *HELLO]
    answer = ask(server, body=ASKED | {"messages": history, "tools": [TOOL], "stream": True})
    status, kind, message = refusal(*answer)
    assert (status, kind) == (400, "invalid_request_error")
    assert message.startswith(
        "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_A"
    )


def test_a_request_that_is_refused_costs_no_line_of_the_script():
    with scripted("first") as server:
        assert ask(server, body=ASKED | {"messages": [{"role": "user", "content": ""}]})[0] == 400
        assert ask(server)[2]["content"][0]["text"] == "first"


def test_every_error_body_carries_the_request_id_of_its_header(server):
    for path, headers in (("/v1/messages", {}), ("/nowhere", HEADERS), ("/v1/messages", {"x-api-key": "k"})):
        _, sent, body = ask(server, path=path, headers=headers)
        assert body["request_id"] == sent["request-id"]
        assert body["type"] == "error"


def test_an_error_that_repeats_itself_is_not_to_be_retried(server):
    assert ask(server, path="/nowhere")[1]["x-should-retry"] == "false"


def test_request_ids_are_counted(server):
    assert [ask(server)[1]["request-id"] for _ in range(3)] == ["req_01", "req_02", "req_03"]


def test_a_thread_is_refused_in_the_way_that_the_sdk_understands(server):
    status, _, body = ask(server, body=ASKED | {"thread": {"type": "create"}})
    assert (status, body["error"]["details"]["error_code"]) == (400, "thread_unsupported_request")


def test_an_edited_thinking_block_of_ours_is_refused():
    with scripted([{"type": "thinking", "thinking": "Let me look."}, "Hello."], "Hm.") as server:
        thought = ask(server)[2]["content"][0]
        edited = [{**thought, "thinking": "Let me"}, {"type": "text", "text": "Hello."}]
        history = [*HELLO, {"role": "assistant", "content": edited}, *HELLO]
        message = refusal(*ask(server, body=ASKED | {"messages": history}))[2]
        assert message.startswith("messages.1.content.0: `thinking` or `redacted_thinking` blocks in the latest")


@pytest.mark.parametrize(("order", "status"), [((0, 1, 2, 3), 200), ((0, 2, 1, 3), 400), ((2, 1, 0, 3), 400)])
def test_interleaved_thinking_comes_back_in_its_own_order_alone(order, status):
    thoughts = [{"type": "thinking", "thinking": words} for words in ("First.", "Second.")]
    with scripted([thoughts[0], CALL, thoughts[1], CALL], "Done.") as server:
        said = ask(server, body=ASKED | {"tools": [TOOL]})[2]["content"]
        results = [{"type": "tool_result", "tool_use_id": said[place]["id"], "content": "tea"} for place in (1, 3)]
        turn = {"role": "assistant", "content": [said[place] for place in order]}
        body = ASKED | {"tools": [TOOL], "messages": [*HELLO, turn, {"role": "user", "content": results}]}
        answer = ask(server, body=body)
        assert answer[0] == status
        assert status == 200 or "`thinking` or `redacted_thinking` blocks in the latest" in refusal(*answer)[2]


# Large, slow, broken, many


def test_a_body_over_32_mb_is_413(server):
    body = b'{"model": "' + b"x" * module.MAX_BODY_BYTES + b'"}'
    assert refusal(*ask(server, body=body)) == (413, "request_too_large", "Request exceeds the maximum size")
    assert lives(server)


@over_sockets
def test_a_body_that_only_claims_to_be_large_is_refused_without_waiting_for_it(server):
    with socket.create_connection(
        ("127.0.0.1", int(server.url.rpartition(":")[2])), timeout=PATIENCE_SECONDS
    ) as client:
        client.sendall(b"POST /v1/messages HTTP/1.1\r\nx-api-key: k\r\ncontent-length: 99999999999\r\n\r\n")
        client.shutdown(socket.SHUT_WR)
        assert client.makefile("rb").readline().startswith(b"HTTP/1.1 413")
    assert lives(server)


@over_sockets
def test_a_chunked_body_is_read(server):
    pieces = json.dumps(ASKED).encode()
    assert ask_chunked(server, [pieces[:10], pieces[10:]])[0] == 200


@over_sockets
def test_a_chunked_body_over_32_mb_is_413(server):
    piece = b"x" * (1024 * 1024)
    assert ask_chunked(server, [piece] * 33)[0] == 413
    assert lives(server)


def ask_chunked(server, pieces):
    connection = http.client.HTTPConnection(server.url.removeprefix("http://"), timeout=PATIENCE_SECONDS)
    connection.request("POST", "/v1/messages", iter(pieces), HEADERS, encode_chunked=True)
    response = connection.getresponse()
    answer = response.status, response.read()
    connection.close()
    return answer


@over_sockets
@pytest.mark.parametrize(
    "raw",
    [
        b"\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"GET\r\n\r\n",
        b"POST /v1/messages HTTP/1.1\r\ncontent-length: many\r\n\r\n",
        b"POST /v1/messages HTTP/1.1\r\ncontent-length: -5\r\n\r\n",
        b"POST /v1/messages HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n",
        b"POST /v1/messages HTTP/1.1\r\ncontent-length: 500\r\n\r\n{",
        b"POST /v1/messages HTTP/1.1\r\n" + b"a: b\r\n" * 300 + b"\r\n",
        b"G" * 70_000,
    ],
    ids=["empty lines", "TLS", "half a line", "length is a word", "length below zero", "bad chunk", "half a body",
         "too many headers", "one long line"],
)  # fmt: skip
def test_broken_http_is_answered_or_dropped_and_the_server_lives_on(server, raw, capfd):
    with socket.create_connection(
        ("127.0.0.1", int(server.url.rpartition(":")[2])), timeout=PATIENCE_SECONDS
    ) as client:
        client.sendall(raw)
        client.shutdown(socket.SHUT_WR)
        answer = client.makefile("rb").read()
    assert answer == b"" or b'"type": "error"' in answer
    assert lives(server)
    assert capfd.readouterr() == ("", "")


@over_sockets
def test_a_length_that_is_no_number_is_named(server):
    headers = {**HEADERS, "content-length": "many"}
    assert refusal(*ask(server, headers=headers)) == (
        400,
        "invalid_request_error",
        "content-length: not a number: many",
    )


@over_sockets
def test_http_1_0_gets_its_stream_without_chunks(server):
    body = json.dumps(ASKED | {"stream": True}).encode()
    head = b"POST /v1/messages HTTP/1.0\r\nx-api-key: k\r\nanthropic-version: 2026-10-21\r\ncontent-length: %d\r\n\r\n"
    with socket.create_connection(
        ("127.0.0.1", int(server.url.rpartition(":")[2])), timeout=PATIENCE_SECONDS
    ) as client:
        client.sendall(head % len(body) + body)
        answer = client.makefile("rb").read()
    assert b"chunked" not in answer
    assert answer.endswith(b'data: {"type": "message_stop"}\n\n')


@over_sockets
def test_a_client_that_hangs_up_in_mid_stream_harms_nobody(capfd):
    with scripted({"content": "word " * 2000, "slow": 0.01}, "still here") as server:
        with socket.create_connection(
            ("127.0.0.1", int(server.url.rpartition(":")[2])), timeout=PATIENCE_SECONDS
        ) as client:
            body = json.dumps(ASKED | {"stream": True, "max_tokens": 9999}).encode()
            head = "".join(f"{name}: {value}\r\n" for name, value in HEADERS.items()).encode()
            client.sendall(b"POST /v1/messages HTTP/1.1\r\n%bcontent-length: %d\r\n\r\n%b" % (head, len(body), body))
            assert client.recv(20).startswith(b"HTTP/1.1 200")
        assert ask(server)[2]["content"][0]["text"] == "still here"
    assert capfd.readouterr() == ("", "")


@over_sockets
def test_two_hundred_requests_at_once_are_all_answered(server):
    answers = []

    def one(number):
        request = ASKED | {"messages": [{"role": "user", "content": f"number {number}"}], "stream": number % 2 == 0}
        answers.append((number, ask(server, body=request)))

    threads = [threading.Thread(target=one, args=(number,)) for number in range(200)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE_SECONDS)
    assert len(answers) == 200
    for number, (status, _, body) in answers:
        assert status == 200
        assert f"number {number}" in (body if isinstance(body, str) else body["content"][0]["text"])
    assert len({headers["request-id"] for _, (_, headers, _) in answers}) == 200


def test_an_answerer_that_fails_is_a_500_that_says_so(capfd):
    def fails(request):
        return {"content": [1 / 0]}

    with scripted(fails, "still here") as server:
        status, kind, message = refusal(*ask(server))
        assert (status, kind, message) == (
            500,
            "api_error",
            "The answerer failed with ZeroDivisionError: division by zero",
        )
        assert ask(server)[2]["content"][0]["text"] == "still here"
    assert capfd.readouterr() == ("", "")


def test_a_reply_with_an_unknown_key_is_named():
    with scripted({"content": "Hi", "stop_raeson": "end_turn"}) as server:
        assert "a reply has no key 'stop_raeson'" in refusal(*ask(server))[2]


# Faults that a script can ask for


@pytest.mark.parametrize(("status", "kind"), [(429, anthropic.RateLimitError), (529, anthropic.APIStatusError)])
def test_a_script_can_ask_for_a_rate_limit_and_the_sdk_retries(status, kind, sdk):
    with scripted({"status": status, "retry_after": 0, "message": "Slow down"}, "Now.") as server:
        assert sdk(server).with_options(max_retries=1).messages.create(**ASKED).content[0].text == "Now."
    with scripted({"status": status, "retry_after": 7, "message": "Slow down"}) as server:
        with pytest.raises(kind) as caught:
            sdk(server).messages.create(**ASKED)
        assert caught.value.status_code == status
        assert caught.value.response.headers["retry-after"] == "7"
        assert "Slow down" in str(caught.value)


def test_a_stream_that_breaks_off_gives_a_message_without_stop_reason(sdk):
    with scripted({"content": "word " * 100, "break_off": True}) as server:
        with sdk(server).messages.stream(**ASKED) as stream:
            message = stream.get_final_message()
        assert message.stop_reason is None
        assert 0 < len(message.content[0].text) < 500


def test_a_connection_that_is_cut_raises_in_the_sdk(sdk):
    with scripted({"content": "word " * 100, "hang_up": True}, {"content": "word", "hang_up": True}) as server:
        with pytest.raises(Exception, match="peer closed connection"), sdk(server).messages.stream(**ASKED) as stream:
            stream.get_final_message()
        with pytest.raises(anthropic.APIConnectionError):
            sdk(server).messages.create(**ASKED)
        assert not lives(server)  # the script is used up: an error body
        assert ask(server)[0] == 400


def test_an_error_in_mid_stream_raises_with_status_200(sdk):
    with scripted(*[{"content": "word " * 100, "stream_error": "overloaded_error"}] * 2) as server:
        with pytest.raises(anthropic.APIStatusError) as caught, sdk(server).messages.stream(**ASKED) as stream:
            stream.get_final_message()
        assert (caught.value.status_code, caught.value.type) == (200, "overloaded_error")
        assert refusal(*ask(server))[:2] == (529, "overloaded_error")


def test_a_server_that_was_closed_is_not_alive_however_late_its_thread_ends():
    class EndsLate(Server):
        def serve_forever(self, *options):
            super().serve_forever(*options)
            time.sleep(0.2)

    server = EndsLate(Understudy()).start()
    server.close()
    assert not server.alive


def test_a_slow_stream_arrives_bit_by_bit(sdk, monkeypatch):
    arrived, waited = threading.Event(), []
    monkeypatch.setattr(time, "sleep", lambda seconds: waited.append(arrived.wait(PATIENCE_SECONDS)))
    with scripted({"content": "word " * 20, "slow": 1}) as server, sdk(server).messages.stream(**ASKED) as stream:
        for _ in stream:
            arrived.set()  # until the first event has arrived the server sends no other
    assert len(waited) > 3
    assert all(waited)


def test_a_reply_that_takes_longer_than_the_client_waits_is_a_timeout(sdk):
    with scripted({"content": "word", "slow": 0.5}) as server, pytest.raises(anthropic.APITimeoutError):
        sdk(server).messages.create(**ASKED, timeout=0.1)


def test_pause_turn_and_refusal_arrive_as_asked_for(sdk):
    with scripted({"content": "Hm.", "stop_reason": "pause_turn"}, {"content": [], "stop_reason": "refusal"}) as server:
        assert sdk(server).messages.create(**ASKED).stop_reason == "pause_turn"
        refused = sdk(server).messages.create(**ASKED)
        assert (refused.stop_reason, refused.content, refused.stop_details.type) == ("refusal", [], "refusal")


# The server itself


@over_sockets
def test_it_listens_on_loopback_only(server):
    assert server.url.startswith("http://127.0.0.1:")
    assert server.socket.getsockname()[0] == "127.0.0.1"


@over_sockets
def test_a_closed_server_leaves_nothing_behind(sdk):
    before = threading.active_count()
    with Server(Echo()) as server:
        client = sdk(server)
        client.messages.create(**ASKED)  # a connection that stays open
        port = int(server.url.rpartition(":")[2])
    with pytest.raises(anthropic.APIConnectionError):
        client.messages.create(**ASKED)
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_SECONDS)
    server.close()  # twice is fine
    deadline = time.monotonic() + 60
    while threading.active_count() > before and time.monotonic() < deadline:
        time.sleep(0.01)
    assert threading.active_count() <= before  # those of other tests may have ended


def test_exchanges_hold_the_last_bodies_as_sent_and_no_key(server):
    headers = HEADERS | {"x-api-key": "sk-secret", "Authorization": "Bearer sk-secret"}
    for _ in range(60):
        ask(server, headers=headers)
    assert len(server.exchanges) == 50
    last = server.exchanges[-1]
    assert (last["method"], last["path"], last["status"], last["request_id"]) == ("POST", "/v1/messages", 200, "req_60")
    assert json.loads(last["request"]) == ASKED
    assert json.loads(last["response"])["content"][0]["text"] == "Hello"
    ask(server, body=ASKED | {"stream": True})
    assert server.exchanges[-1]["response"].startswith("event: message_start\ndata: {")
    assert "sk-secret" not in repr(server.exchanges)


def test_each_client_of_one_server_has_its_own_answerer_ids_and_exchanges(server):
    key = server.add(Scripted(["from the script"]))
    assert ask(server, headers=HEADERS | {"x-api-key": key})[2]["content"][0]["text"] == "from the script"
    status, headers, body = ask(server)
    assert (body["content"][0]["text"], headers["request-id"]) == ("Hello", "req_01")
    assert len(server.exchanges) == len(server.callers[key].exchanges) == 1


@over_sockets
def test_as_a_program_it_prints_its_url_first_and_ends_with_ctrl_c(sdk):
    command = [sys.executable, *COMMANDS["serve"], "--port", "0", "--model", "m"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        url = process.stdout.readline().strip()
        assert sdk(types.SimpleNamespace(url=url)).messages.create(**ASKED).stop_reason == "end_turn"
        with pytest.raises(anthropic.NotFoundError, match="model: n"):
            sdk(types.SimpleNamespace(url=url)).messages.create(**ASKED | {"model": "n"})
        if os.name == "nt":
            process.terminate()
        else:
            process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=PATIENCE_SECONDS)
        assert "Traceback" not in errors
    finally:
        process.kill()
        process.communicate()


@over_sockets
def test_a_port_that_is_taken_is_said_in_one_sentence(server):
    port = server.url.rpartition(":")[2]
    command = [sys.executable, *COMMANDS["serve"], "--port", port]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_SECONDS)
    assert done.returncode == 1
    assert done.stderr.startswith(f"Cannot listen on port {port}: ")
    assert "Traceback" not in done.stderr


# Through the Python SDK: a whole tool conversation each


def conversation():
    return scripted(["I'll read it.", CALL], "It says: tea.")


def test_the_sdk_has_a_tool_conversation_by_create(sdk):
    with conversation() as server:
        client = sdk(server)
        reply = client.messages.create(**ASKED, tools=[TOOL])
        call = reply.content[1]
        assert (reply.stop_reason, call.id, call.name, call.input) == (
            "tool_use",
            "toolu_01",
            "read_file",
            CALL["input"],
        )
        result = {"type": "tool_result", "tool_use_id": call.id, "content": "tea"}
        history = [*HELLO, {"role": "assistant", "content": reply.content}, {"role": "user", "content": [result]}]
        reply = client.messages.create(**ASKED | {"messages": history}, tools=[TOOL])
        assert (reply.stop_reason, reply.content[0].text) == ("end_turn", "It says: tea.")


def test_the_sdk_has_a_tool_conversation_by_stream(sdk):
    with conversation() as server:
        client = sdk(server)
        with client.messages.stream(**ASKED, tools=[TOOL]) as stream:
            pieces = [event.partial_json for event in stream if event.type == "input_json"]
            reply = stream.get_final_message()
        assert len(pieces) > 2
        assert reply.content[1].input == json.loads("".join(pieces)) == CALL["input"]
        result = {"type": "tool_result", "tool_use_id": reply.content[1].id, "content": "tea"}
        history = [*HELLO, {"role": "assistant", "content": reply.content}, {"role": "user", "content": [result]}]
        with client.messages.stream(**ASKED | {"messages": history}, tools=[TOOL]) as stream:
            assert "".join(stream.text_stream) == "It says: tea."


@pytest.mark.parametrize("stream", [False, True])
def test_the_sdk_s_tool_runner_has_a_tool_conversation(stream, sdk):
    paths = []

    @anthropic.beta_tool
    def read_file(path: str) -> str:
        """Read a file."""
        paths.append(path)
        return "tea"

    with conversation() as server:
        runner = sdk(server).beta.messages.tool_runner(**ASKED, tools=[read_file], stream=stream)
        last = runner.until_done()
        assert (paths, last.content[0].text) == (["README.md"], "It says: tea.")


@over_sockets
def test_the_async_sdk_has_a_tool_conversation():
    async def talk(url):
        http_client = anthropic.DefaultAsyncHttpxClient(trust_env=False)
        async with anthropic.AsyncAnthropic(base_url=url, api_key="any", http_client=http_client) as client:
            reply = await client.messages.create(**ASKED, tools=[TOOL])
            result = {"type": "tool_result", "tool_use_id": reply.content[1].id, "content": "tea"}
            history = [*HELLO, {"role": "assistant", "content": reply.content}, {"role": "user", "content": [result]}]
            async with client.messages.stream(**ASKED | {"messages": history}, tools=[TOOL]) as stream:
                return (await stream.get_final_message()).content[0].text

    with conversation() as server:
        assert asyncio.run(talk(server.url)) == "It says: tea."
