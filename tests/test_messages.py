"""normalize_messages: what holds for every history, and each repair by itself."""

import copy
import json
import re
from collections import Counter

import pytest
from anthropic.types import Message, TextBlock, ThinkingBlock, ToolUseBlock
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from s02_tool_use.lab.rules import FIRST_PARTY, STRICT, validate
from s02_tool_use.messages import CANCELLED, CONTINUE, normalize_messages

many = settings(max_examples=300, derandomize=True, deadline=None, suppress_health_check=list(HealthCheck))

# ---- histories of any kind


def thing(**parts):
    return st.fixed_dictionaries(
        {key: part if hasattr(part, "example") else st.just(part) for key, part in parts.items()}
    )


ids = st.sampled_from(["a", "b", "c", "d", "x:y", "", "é"])
texts = st.sampled_from(["", " ", "\n\n", "word", "word ", "two words"])
arguments = st.sampled_from(
    [{}, {"command": "ls"}, {"n": 1, "x": [None, {"y": 2.5}]}, None, '{"command": "ls"}', "{", "[1]", 5]
)
extras = st.sampled_from(
    [{}, {}, {}, {"_internal": 1}, {"index": 0}, {"cache_control": {"type": "ephemeral"}}, {"text": ""}]
)
inside = st.lists(
    st.one_of(thing(type="text", text=texts), thing(type="image_url", image_url="https://a.b/c.png")), max_size=2
)

text_blocks = thing(type="text", text=texts)
calls = thing(type="tool_use", id=ids, name=st.sampled_from(["bash", "glob", ""]), input=arguments)
good_calls = thing(type="tool_use", id=ids, name="bash", input=st.sampled_from([{}, {"command": "ls"}]))
results = st.one_of(
    thing(type="tool_result", tool_use_id=ids, content="RESULT"),
    thing(type="tool_result", tool_use_id=ids, content="RESULT", is_error=True),
    thing(type="tool_result", tool_use_id=ids, content=CANCELLED, is_error=True),
    thing(type="tool_result", tool_use_id=ids, content=st.one_of(st.sampled_from(["", None, 7, {"a": 1}]), inside)),
    thing(type="tool_result", tool_use_id=ids, is_error=True, content=st.sampled_from(["", []])),
)
thinkings = st.one_of(
    thing(type="thinking", thinking="hm", signature="sig"),
    thing(type="thinking", signature="sig"),
    thing(type="thinking", thinking="hm"),
    thing(type="redacted_thinking", data="x"),
)
server_ids = st.sampled_from(["srvtoolu_1", "srvtoolu_2", "call_9"])
server = st.one_of(
    thing(type="server_tool_use", id=server_ids, name="web_search", input={}),
    thing(type="web_search_tool_result", tool_use_id=server_ids, content=st.just([])),
)
odd = st.one_of(
    thing(type="document", source=thing(type="text", media_type="text/plain", data="d")),
    thing(type="image", source=thing(type="url", url="https://a.b/c.png")),
    thing(type="unknown"),
    thing(type="output_text", text="word"),
    thing(text="word"),
    st.just("word"),
    thing(type="text", text=st.sampled_from([None, 5])),
    thing(type="text", text="word", citations=st.just([{"type": "char_location"}])),
)


def sdk(block):
    """The block as an SDK object, where the SDK has one for it."""
    kinds = {"text": TextBlock, "tool_use": ToolUseBlock, "thinking": ThinkingBlock}
    if block.get("type") in kinds:
        return kinds[block["type"]].model_construct(**block)
    return block


blocks = st.one_of(text_blocks, good_calls, good_calls, calls, results, results, thinkings, server, odd)
blocks = st.builds(lambda block, more: {**block, **more} if isinstance(block, dict) else block, blocks, extras)
blocks = st.one_of(blocks, blocks, blocks, text_blocks.map(sdk), good_calls.map(sdk), thinkings.map(sdk))
contents = st.one_of(
    texts, st.none(), st.lists(blocks, max_size=4), st.lists(st.one_of(good_calls, results), max_size=4)
)
messages = st.builds(
    lambda role, content, more: {"role": role, "content": content, **more},
    st.sampled_from(["user", "user", "assistant", "assistant", "system"]),
    contents,
    st.sampled_from([{}, {}, {}, {"id": "msg_1"}]),
)


def number(history):
    """Make every text, result and thinking its own, so that one can follow where it goes."""
    count = 0

    def numbered(value):
        nonlocal count
        if isinstance(value, str) and ("word" in value or value in ("RESULT", "hm")):
            count += 1
            return f"{count}:{value}"
        if isinstance(value, list):
            return [numbered(item) for item in value]
        if isinstance(value, dict):
            return {
                key: numbered(item) if key in ("text", "content", "thinking") else item for key, item in value.items()
            }
        if hasattr(value, "model_construct"):
            return type(value).model_construct(**numbered(dict(value.__dict__)))
        return value

    return numbered(history)


histories = st.lists(messages, max_size=8).map(number)


def request(history):
    return {
        "model": "any",
        "max_tokens": 10,
        "messages": history,
        "tools": [{"name": "bash", "input_schema": {"type": "object"}}],
    }


def flat(history, kind=None):
    """All blocks of a list, in order, also those of SDK objects."""
    found = []
    for message in history:
        content = message["content"]
        for block in [content] if isinstance(content, str) else content or []:
            if isinstance(block, str):
                block = {"type": "text", "text": block}
            block = block if isinstance(block, dict) else dict(block.__dict__)
            if kind in (None, block.get("type")):
                found.append(block)
    return found


@many
@given(histories)
def test_any_history_becomes_one_that_the_api_and_strict_endpoints_accept(history):
    mended = normalize_messages(history)
    assert validate(request(mended), FIRST_PARTY) is None
    assert validate(request(mended), STRICT) is None


@many
@given(histories)
def test_mending_twice_changes_nothing_more(history):
    once = normalize_messages(history)
    repairs = []
    assert normalize_messages(once, repairs=repairs) == once
    assert repairs == []


@many
@given(histories)
def test_the_input_stays_as_it_was_even_when_the_result_is_changed(history):
    before = copy.deepcopy(history)
    mended = normalize_messages(history)
    spoil(mended)
    assert history == before


def spoil(value):
    """Change everything that can be changed."""
    for item in list(value.values()) if isinstance(value, dict) else value:
        if isinstance(item, (dict, list)):
            spoil(item)
    value.clear()


@many
@given(histories)
def test_the_result_is_plain_json(history):
    mended = normalize_messages(history)
    assert json.loads(json.dumps(mended, allow_nan=False)) == mended


@many
@given(histories)
def test_no_text_is_lost_and_texts_keep_their_order(history):
    said = [block["text"] for block in flat(history) if isinstance(block.get("text"), str) and "word" in block["text"]]
    kept = [block["text"] for block in flat(normalize_messages(history), "text") if "word" in block["text"]]
    assert kept == said


@many
@given(histories)
def test_no_real_result_is_lost_or_replaced(history):
    """For each id: as many real results as there are calls for them, and a placeholder only when there are too few."""
    mended = normalize_messages(history)
    given_, kept, asked = Counter(), Counter(), Counter()
    texts_given = [said(block) for block in flat(history, "tool_result")]
    for block in flat(history, "tool_result"):
        given_[legal(block["tool_use_id"])] += block.get("content") != CANCELLED
    for block in flat(mended, "tool_use"):
        asked[base(block["id"])] += 1
    for block in flat(mended, "tool_result"):
        if block.get("content") != CANCELLED:
            kept[base(block["tool_use_id"])] += 1
            assert said(block) in texts_given
    for name, count in asked.items():
        assert kept[name] == min(count, given_[name]), name


def legal(name):
    return re.sub("[^a-z]", "_", name) or "toolu"


def base(name):
    return re.sub(r"_\d+$", "", name)


def said(block):
    """The numbers of the texts in a result: they follow it wherever it goes."""
    return tuple(re.findall(r"(\d+):(?:RESULT|word|two)", json.dumps(block.get("content"))))


# ---- histories that are right already


@st.composite
def right_histories(draw):
    """A conversation as the API likes it, in as many messages as one likes: turns may be cut into several messages."""
    history, count, name = [], 0, 0
    for _ in range(draw(st.integers(0, 4))):
        turn = []
        if draw(st.booleans()):
            turn.append({"type": "thinking", "thinking": "hm", "signature": "sig"})
        for _ in range(draw(st.integers(0, 2))):
            count += 1
            turn.append(
                {"type": "text", "text": f"{count}:word", **draw(st.sampled_from([{}, {}, {"citations": None}]))}
            )
        asked = []
        for _ in range(draw(st.integers(0 if turn and turn[-1]["type"] == "text" else 1, 3))):
            name += 1
            asked.append(f"toolu_{name}")
            more = draw(st.sampled_from([{}, {"caller": {"type": "direct"}}, {"caller": None}]))
            turn.append(
                {
                    "type": "tool_use",
                    "id": asked[-1],
                    "name": "bash",
                    "input": draw(st.sampled_from([{}, {"n": [1]}])),
                    **more,
                }
            )
        answers = []
        for call in draw(st.permutations(asked)):
            content = draw(
                st.sampled_from(
                    [{}, {"content": ""}, {"content": []}, {"content": "out"}, {"content": "no", "is_error": True}]
                )
            )
            answers.append({"type": "tool_result", "tool_use_id": call, **content})
        if not answers or draw(st.booleans()):
            count += 1
            answers.append({"type": "text", "text": f"{count}:word"})
        history += draw(cut("assistant", turn)) + draw(cut("user", answers))
    if draw(st.booleans()) or not history:
        history.insert(0, {"role": "user", "content": "0:word"})
    return history


@st.composite
def cut(draw, role, turn):
    """The blocks of one turn, in one message or more; a lone text may be a string."""
    pieces = [[]]
    for block in turn:
        if pieces[-1] and draw(st.integers(0, 3)) == 0:
            pieces.append([])
        pieces[-1].append(block)
    as_string = draw(st.booleans())
    return [
        {
            "role": role,
            "content": piece[0]["text"]
            if as_string and piece[0].keys() == {"type", "text"} and len(piece) == 1
            else piece,
        }
        for piece in pieces
    ]


def merged(history):
    """The list with neighbours of one role made one message."""
    result = []
    for message in (message for message in history if message["content"]):
        if result and result[-1]["role"] == message["role"]:
            result[-1] = {"role": message["role"], "content": listed(result[-1]) + listed(message)}
        else:
            result.append(message)
    return result


def listed(message):
    content = message["content"]
    return [{"type": "text", "text": content}] if isinstance(content, str) and content else list(content)


@many
@given(right_histories())
def test_a_right_history_comes_back_equal_apart_from_merging(history):
    assert validate(request(history)) is None
    repairs = []
    assert normalize_messages(history, repairs=repairs) == merged(history)
    assert all(line.startswith("joined messages ") for line in repairs)
    assert bool(repairs) == (len(merged(history)) < len(history))


@many
@given(histories)
def test_what_the_api_accepts_by_chance_comes_back_equal_too(history):
    plain = json.loads(json.dumps(history, default=lambda block: block.model_dump(exclude_none=True)))
    if validate(request(plain)) is None:
        assert normalize_messages(plain) == merged(plain)
