"""The wire format: one reply as a body and as events. Pure functions, no network."""

import json

from s02_tool_use.lab.api import wire

ASKED = {"model": "m", "max_tokens": 500, "messages": [{"role": "user", "content": "Hi"}]}
CALL = {"type": "tool_use", "name": "bash", "input": {"command": "echo 你好 && ls -la"}}


def message(content, **request):
    return wire.message_body(ASKED | request, {"content": content})


def joined(events):
    """The content that a client puts together from the events, and the stop reason."""
    content, stop_reason = [], None
    for name, data in events:
        if name == "content_block_start":
            content.append(dict(data["content_block"]))
            pieces = ""
        elif name == "content_block_delta":
            delta = data["delta"]
            if delta["type"] == "input_json_delta":
                pieces += delta["partial_json"]
            elif delta["type"] == "signature_delta":
                content[-1]["signature"] = delta["signature"]
            else:
                kind = delta["type"].removesuffix("_delta")
                content[-1][kind] += delta[kind]
        elif name == "content_block_stop" and content[-1]["type"] == "tool_use":
            content[-1]["input"] = json.loads(pieces or "{}")
        elif name == "message_delta":
            stop_reason = data["delta"]["stop_reason"]
    return content, stop_reason


def test_the_stream_tells_the_same_as_the_body():
    content = [
        {"type": "thinking", "thinking": "Let me look. " * 20},
        {"type": "text", "text": "I'll look. 我看看。" * 30},
    ]
    body, rest = message([*content, CALL, {**CALL, "input": {}}])
    assert rest is None
    assert joined(wire.stream_events(body)) == (body["content"], body["stop_reason"]) == (body["content"], "tool_use")


def test_events_come_in_the_order_of_the_api():
    body, _ = message([{"type": "text", "text": "Hi"}, {"type": "tool_use", "name": "bash", "input": {}}])
    assert [name for name, _ in wire.stream_events(body)] == [
        "message_start",
        "content_block_start",
        "ping",
        "content_block_delta",
        "content_block_stop",
        "content_block_start",
        "content_block_delta",  # the first piece of an input is empty, and here the only one
        "content_block_stop",
        "message_delta",
        "message_stop",
    ]


def test_a_tool_input_comes_in_pieces_cut_inside_words():
    body, _ = message([CALL])
    deltas = [data["delta"] for name, data in wire.stream_events(body) if name == "content_block_delta"]
    pieces = [delta["partial_json"] for delta in deltas]
    assert len(pieces) > 3
    assert pieces[:2] == ["", '{"comman']


def test_message_start_has_no_content_yet():
    body, _ = message([CALL])
    name, data = next(iter(wire.stream_events(body)))
    start = data["message"]
    assert (name, start["content"], start["stop_reason"], start["usage"]["output_tokens"]) == (
        "message_start",
        [],
        None,
        1,
    )
    assert body["content"] != []  # the body itself is untouched


def test_a_long_text_comes_in_larger_pieces_not_in_thousands():
    body, _ = message([{"type": "text", "text": "x" * 40_000}], max_tokens=100_000)
    assert sum(name == "content_block_delta" for name, _ in wire.stream_events(body)) <= 64


def test_an_event_ends_with_an_empty_line():
    assert wire.sse("ping", {"type": "ping"}) == b'event: ping\ndata: {"type": "ping"}\n\n'


# Ids


def test_ids_are_counted_on_from_the_history():
    call = {**CALL, "id": "toolu_01"}
    history = [
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": [call]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_01", "content": "ok"}]},
    ]
    body, _ = message([CALL, CALL], messages=history)
    assert [block["id"] for block in body["content"]] == ["toolu_02", "toolu_03"]
    assert body["id"] == "msg_02"


def test_an_id_that_stands_in_the_history_is_not_given_again():
    history = [*ASKED["messages"], {"role": "assistant", "content": [{**CALL, "id": "toolu_02"}]}]
    body, _ = message([CALL, {**CALL, "id": "toolu_03"}, CALL], messages=history)
    assert [block["id"] for block in body["content"]] == ["toolu_04", "toolu_03", "toolu_05"]


def test_the_answerers_own_blocks_stay_as_they_are():
    before = json.dumps(CALL)
    message([CALL])
    assert json.dumps(CALL) == before


# Tokens and cuts


def test_four_ascii_characters_or_one_other_are_a_token():
    assert [wire.count_tokens(text) for text in ("", "abcd", "abcde", "你好", "ab你")] == [0, 1, 2, 2, 2]


def test_usage_and_count_tokens_count_alike():
    request = ASKED | {"system": "Be brief.", "tools": [{"name": "bash", "input_schema": {"type": "object"}}]}
    body, _ = wire.message_body(request, {"content": []})
    assert body["usage"]["input_tokens"] == wire.input_tokens(request)
    assert wire.input_tokens(request) > wire.input_tokens(ASKED)


def test_a_small_max_tokens_cuts_the_text():
    body, rest = message([{"type": "text", "text": "abcdefghijkl"}, CALL], max_tokens=2)
    assert body["content"] == [{"type": "text", "text": "abcdefgh"}]
    assert (body["stop_reason"], body["usage"]["output_tokens"], rest) == ("max_tokens", 2, "abcdefgh")


def test_a_text_of_chinese_characters_is_cut_at_the_same_count():
    body, _ = message([{"type": "text", "text": "你" * 50_000}], max_tokens=20_000)
    assert len(body["content"][0]["text"]) == 20_000


def test_max_tokens_that_suffice_cut_nothing():
    body, rest = message([{"type": "text", "text": "abcdefgh"}], max_tokens=2)
    assert (body["stop_reason"], rest) == ("end_turn", None)


def test_a_call_that_is_cut_has_no_input_and_half_its_json_in_the_stream():
    body, rest = wire.message_body(ASKED, {"content": [CALL], "stop_reason": "max_tokens"})
    assert body["content"][0]["input"] == {}
    assert body["stop_reason"] == "max_tokens"
    events = wire.stream_events(body, rest)
    pieces = [data["delta"]["partial_json"] for name, data in events if name == "content_block_delta"]
    whole = json.dumps(CALL["input"], ensure_ascii=False)
    assert "".join(pieces) == rest
    assert whole.startswith(rest)
    assert 0 < len(rest) < len(whole)


def test_max_tokens_zero_gives_no_content():
    body, _ = message([{"type": "text", "text": "Hello"}], max_tokens=0)
    assert (body["content"], body["stop_reason"]) == ([], "max_tokens")


# Stop reasons


def test_the_stop_reason_follows_from_the_content_unless_it_is_given():
    assert message([{"type": "text", "text": "Hi"}])[0]["stop_reason"] == "end_turn"
    assert message([{"type": "text", "text": "Hi"}, CALL])[0]["stop_reason"] == "tool_use"
    assert wire.message_body(ASKED, {"content": [], "stop_reason": "pause_turn"})[0]["stop_reason"] == "pause_turn"


def test_a_refusal_has_stop_details():
    body, _ = wire.message_body(ASKED, {"content": [], "stop_reason": "refusal"})
    assert body["stop_details"]["type"] == "refusal"


def test_a_stop_sequence_ends_the_text_before_it():
    body, _ = message([{"type": "text", "text": "one, two; three"}, CALL], stop_sequences=["three", ";"])
    assert body["content"] == [{"type": "text", "text": "one, two"}]
    assert (body["stop_reason"], body["stop_sequence"]) == ("stop_sequence", ";")


# Signatures


def test_a_thinking_block_that_was_edited_is_found():
    body, _ = message([{"type": "thinking", "thinking": "Let me look."}, {"type": "text", "text": "Hi"}])
    block = body["content"][0]
    assert not wire.is_forged(block)
    assert wire.is_forged({**block, "thinking": "Let me"})


def test_a_signature_from_elsewhere_passes():
    assert not wire.is_forged({"type": "thinking", "thinking": "Let me look.", "signature": "EqQBsig"})


# Errors


def test_an_error_body_names_its_type_by_status():
    assert wire.error_body(529, "Overloaded", "req_01") == {
        "type": "error",
        "error": {"type": "overloaded_error", "message": "Overloaded"},
        "request_id": "req_01",
    }
    assert wire.error_body(418, "?", "r")["error"]["type"] == "invalid_request_error"
    assert wire.error_body(503, "?", "r")["error"]["type"] == "api_error"
