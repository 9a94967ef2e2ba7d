"""The wire format: one reply as a body and as events. Pure functions, no network."""

import json

import pytest

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


@pytest.mark.parametrize("kind", ["tool_use", "server_tool_use"])
def test_a_tool_input_comes_in_pieces_cut_inside_words(kind):
    body, _ = message([{**CALL, "type": kind, "id": "srvtoolu_01"}])
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


# The keys of a reply, as recorded replies hold them


MESSAGE = {"id", "type", "role", "model", "content", "stop_reason", "stop_sequence", "stop_details", "usage"}
MESSAGE |= {"container", "diagnostics"}
USAGE = {"input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "cache_creation", "output_tokens"}
USAGE |= {"service_tier", "inference_geo"}


@pytest.mark.parametrize(
    ("asked", "in_message", "in_usage"),
    [
        ({}, set(), set()),
        ({"thinking": {"type": "adaptive"}}, set(), {"output_tokens_details"}),
        ({"thinking": {"type": "disabled"}}, set(), set()),
        ({"tools": [{"type": "web_search_20250305", "name": "web_search"}]}, set(), {"server_tool_use"}),
        ({"tools": [{"type": "mcp_toolset", "mcp_server_name": "docs"}]}, set(), {"server_tool_use"}),
        ({"tools": [{"type": "bash_20250124", "name": "bash"}]}, set(), set()),
        ({"context_management": {"edits": []}}, {"context_management"}, set()),
    ],
)
def test_a_reply_has_the_keys_of_real_ones(asked, in_message, in_usage):
    body, _ = message([{"type": "text", "text": "Hi"}], **asked)
    assert body.keys() == MESSAGE | in_message
    assert body["usage"].keys() == USAGE | in_usage
    assert body["usage"]["cache_creation"].keys() == {"ephemeral_5m_input_tokens", "ephemeral_1h_input_tokens"}


def test_thinking_is_counted_by_itself_too():
    body, _ = message([{"type": "thinking", "thinking": "abcdefgh"}, {"type": "text", "text": "abcd"}])
    assert (body["usage"]["output_tokens"], body["usage"]["output_tokens_details"]) == (3, {"thinking_tokens": 2})


def test_a_call_says_who_made_it_and_a_text_has_no_citations():
    body, _ = message([{"type": "text", "text": "Hi"}, CALL])
    assert body["content"][0] == {"type": "text", "text": "Hi"}
    assert body["content"][1].keys() == {"type", "id", "name", "input", "caller"}


def test_the_stream_counts_at_its_end_what_the_body_counts():
    body, _ = message([{"type": "text", "text": "Hi"}], thinking={"type": "adaptive"}, context_management={"edits": []})
    events = list(wire.stream_events(body))
    (_, start), (name, data) = events[0], events[-2]
    assert start["message"].keys() == MESSAGE
    assert start["message"]["usage"].keys() == USAGE
    assert (name, data["context_management"]) == ("message_delta", body["context_management"])
    assert data["delta"].keys() == {"stop_reason", "stop_sequence", "stop_details", "container"}
    counted = USAGE - {"cache_creation", "service_tier", "inference_geo"} | {"output_tokens_details"}
    assert data["usage"] == {key: body["usage"][key] for key in counted}


# The cache


MARKER = {"type": "ephemeral"}
LONG, MORE = ({"type": "text", "text": words * 1500} for words in ("tea ", "milk "))


def cached(request, known):
    """(read, written for 5 minutes, written for an hour, the rest) of a request."""
    usage = wire.cache_usage(ASKED | request, known)
    created = usage["cache_creation"]
    written = [created["ephemeral_5m_input_tokens"], created["ephemeral_1h_input_tokens"]]
    assert usage["cache_creation_input_tokens"] == sum(written)
    assert wire.input_tokens(ASKED | request) == usage["cache_read_input_tokens"] + sum(written) + usage["input_tokens"]
    return usage["cache_read_input_tokens"], *written


def asks(*blocks, **more):
    return {"messages": [{"role": "user", "content": list(blocks)}], **more}


def test_without_a_marker_nothing_is_cached():
    known = set()
    assert cached(asks(LONG), known) == cached(asks(LONG), known) == (0, 0, 0)
    assert known == set()


def test_what_is_marked_is_written_once_and_then_read():
    known, marked = set(), {**LONG, "cache_control": MARKER}
    read, written, _ = cached(asks(marked), known)
    assert read == 0
    assert written > 1500
    assert cached(asks(marked), known) == (written, 0, 0)
    assert cached(asks(marked, MORE), known) == (written, 0, 0)
    assert cached(asks(MORE, marked), known)[0] == 0


def test_the_marker_may_move_on_and_what_comes_after_what_was_read_is_written():
    known = set()
    _, first, _ = cached(asks({**LONG, "cache_control": MARKER}), known)
    read, written, _ = cached(asks(LONG, {**MORE, "cache_control": MARKER}), known)
    assert read == first
    assert written > 500
    history = [{"role": "user", "content": [LONG, MORE]}, {"role": "assistant", "content": "Hm."}, *ASKED["messages"]]
    assert cached({"messages": history, "cache_control": MARKER}, known)[0] == first + written


def test_tools_come_before_system_and_system_before_messages():
    known, tool = set(), {"name": "bash", "description": "x" * 4000, "input_schema": {"type": "object"}}
    system = [{**LONG, "cache_control": {**MARKER, "ttl": "1h"}}]
    read, short, hour = cached(asks(LONG, tools=[tool], system=system), known)
    assert (read, short) == (0, 0)
    assert hour > 1400
    assert cached(asks(MORE, tools=[tool], system=system), known) == (hour, 0, 0)
    assert cached(asks(MORE, tools=[{**tool, "name": "sh"}], system=system), known)[0] == 0


def test_each_marker_is_written_with_its_own_ttl():
    blocks = [{**LONG, "cache_control": {**MARKER, "ttl": "1h"}}, {**MORE, "cache_control": MARKER}]
    read, short, hour = cached(asks(*blocks), set())
    assert (read, short > 500, hour > 400) == (0, True, True)


def test_another_model_has_another_cache_and_a_string_is_a_block():
    known, system = set(), [{**LONG, "cache_control": MARKER}]
    assert cached({"system": system}, known)[0] == cached({"system": system, "model": "other"}, known)[0] == 0
    assert cached({"system": LONG["text"], "cache_control": MARKER}, known)[0] > 0


@pytest.mark.parametrize("short", [4 * 900, 4 * 1100])
def test_a_prefix_of_less_than_1024_tokens_is_not_cached_and_nobody_says_so(short):
    known, system = set(), [{"type": "text", "text": "t" * short, "cache_control": MARKER}]
    both = [cached({"system": system}, known), cached({"system": system}, known)]
    assert (both == [(0, 0, 0)] * 2) == (short < 4 * 1000)


@pytest.mark.parametrize(("between", "found"), [(19, True), (20, False)])
def test_an_older_entry_is_looked_for_in_the_20_blocks_up_to_a_marker(between, found):
    known, small = set(), {"type": "text", "text": "a"}
    _, written, _ = cached(asks({**LONG, "cache_control": MARKER}), known)
    blocks = [LONG, *[small] * (between - 1), {**small, "cache_control": MARKER}]
    assert cached(asks(*blocks), known)[0] == (written if found else 0)


TOOL = {"name": "bash", "description": "x" * 6000, "input_schema": {"type": "object"}}
PICTURE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}}
FORM = {"type": "json_schema", "schema": {"type": "object", "additionalProperties": False}}
CHANGES = {
    "nothing": ({}, "messages"),
    "what is the default anyway": ({"tool_choice": {"type": "auto"}, "thinking": {"type": "disabled"}}, "messages"),
    "tool_choice": ({"tool_choice": {"type": "any"}}, "system"),
    "parallel calls": ({"tool_choice": {"type": "auto", "disable_parallel_tool_use": True}}, "system"),
    "thinking": ({"thinking": {"type": "adaptive"}}, "system"),
    "an image": (asks(LONG, PICTURE, {**MORE, "cache_control": MARKER}), "system"),
    "the first message": (asks(MORE, {**MORE, "cache_control": MARKER}), "system"),
    "the form of the reply": ({"output_config": {"format": FORM}}, "tools"),
    "system": ({"system": [{"type": "text", "text": "new", "cache_control": MARKER}]}, "tools"),
    "a tool": ({"tools": [{**TOOL, "name": "sh", "cache_control": MARKER}]}, ""),
    "one tool more, first": ({"tools": [{**TOOL, "name": "sh"}, {**TOOL, "cache_control": MARKER}]}, ""),
    "one tool more, last": ({"tools": [TOOL, {**TOOL, "name": "sh", "cache_control": MARKER}]}, "tools"),
    "a tool that waits": (
        {"tools": [{**TOOL, "name": "sh", "defer_loading": True}, {**TOOL, "cache_control": MARKER}]},
        "messages",
    ),
}


@pytest.mark.parametrize(("change", "kept"), CHANGES.values(), ids=CHANGES)
def test_a_change_breaks_the_cache_from_its_place_on(change, kept):
    before = {
        "tools": [{**TOOL, "cache_control": MARKER}],
        "system": [{**MORE, "cache_control": MARKER}],
        **asks({**LONG, "cache_control": MARKER}, {**MORE, "cache_control": MARKER}),
    }
    known = set()
    sizes = {"": 0}
    for place in ("tools", "system", "messages"):
        part = {key: before[key] for key in ("tools", "system", "messages")[: list(before).index(place) + 1]}
        if place != "messages":
            part |= {"messages": ASKED["messages"]}
        sizes[place] = sum(cached(part, set())[:2])
    assert 0 < sizes["tools"] < sizes["system"] < sizes["messages"]
    cached(before, known)
    assert cached(before | change, known)[0] == sizes[kept]


FOUND = {
    "type": "tool_search_tool_result",
    "tool_use_id": "srvtoolu_01",
    "content": {
        "type": "tool_search_tool_search_result",
        "tool_references": [{"type": "tool_reference", "tool_name": "sh"}],
    },
}
FOUND_HERE = {"type": "tool_result", "tool_use_id": "toolu_01", "content": FOUND["content"]["tool_references"]}


def test_a_new_form_breaks_the_cache_of_a_request_without_system_too():
    known, marked = set(), asks({**LONG, "cache_control": MARKER})
    _, written, _ = cached(marked, known)
    assert cached(marked | {"output_config": {"format": FORM}}, known) == (0, written, 0)


def test_a_tool_that_waits_for_a_search_is_not_read_and_not_counted():
    waiting = {**TOOL, "name": "sh", "defer_loading": True}
    assert wire.input_tokens(ASKED | {"tools": [TOOL, waiting]}) == wire.input_tokens(ASKED | {"tools": [TOOL]})


@pytest.mark.parametrize("block", [FOUND, FOUND_HERE], ids=["by the API", "by a tool of one's own"])
def test_a_tool_that_was_found_is_counted_where_it_was_found_behind_the_cached_prefix(block):
    waiting = {**TOOL, "name": "sh", "defer_loading": True}
    tools, known = {"tools": [{**TOOL, "cache_control": MARKER}, waiting]}, set()
    _, written, _ = cached(asks(MORE, **tools), known)
    found = asks(block, MORE, **tools)
    assert wire.input_tokens(ASKED | found) > wire.input_tokens(ASKED | asks(block, MORE, tools=[TOOL])) + 1000
    assert cached(found, known) == (written, 0, 0)
    _, all_of_it, _ = cached({**found, "cache_control": MARKER}, known)
    assert 0 <= wire.input_tokens(ASKED | found) - written - all_of_it < 30  # the braces around the parts


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
    body, _ = message([{"type": "thinking", "thinking": ""}], max_tokens=0)
    assert (body["content"], body["stop_reason"]) == ([], "max_tokens")


@pytest.mark.parametrize("most", range(28))
def test_the_stream_tells_the_same_as_the_body_wherever_it_is_cut(most):
    thinking, text = {"type": "thinking", "thinking": "I look. " * 9}, {"type": "text", "text": "All is there."}
    body, rest = message([thinking, text, text], max_tokens=most)
    assert joined(wire.stream_events(body, rest)) == (body["content"], body["stop_reason"])


def test_thinking_that_is_cut_is_signed_as_it_is():
    body, _ = message([CALL, {"type": "thinking", "thinking": "I look. " * 9}], max_tokens=17)
    call, thinking = body["content"]
    assert len(thinking["thinking"]) < 72
    assert not wire.is_forged(thinking, 1)


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


def test_a_thinking_block_that_was_moved_is_found():
    thinking = {"type": "thinking", "thinking": "Let me look."}
    first, _, second, _ = message([thinking, CALL, thinking, CALL])[0]["content"]
    assert (wire.is_forged(first, 0), wire.is_forged(second, 1)) == (False, False)
    assert (wire.is_forged(first, 1), wire.is_forged(second, 0)) == (True, True)
    assert not wire.is_forged(second)
    assert wire.is_forged({**second, "thinking": "Let me"})
    assert wire.is_forged({**second, "signature": first["signature"]}, 1)


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
