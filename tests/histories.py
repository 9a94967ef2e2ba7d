"""Histories for the tests of the repair: of any kind, right ones, and blocks with anything in their fields."""

from anthropic.types import TextBlock, ThinkingBlock, ToolUseBlock
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from s02_tool_use.history.answers import CANCELLED
from s02_tool_use.history.fields import FIELDS

many = settings(derandomize=True, suppress_health_check=list(HealthCheck))

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
    thing(type="tool_result", tool_use_id=ids, is_error=True, content=st.one_of(st.just(""), inside)),
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
    thing(type="mcp_tool_use", id=server_ids, name="find", server_name="docs", input={}),
    thing(type="mcp_tool_result", tool_use_id=server_ids, content="found"),
)
odd = st.one_of(
    thing(type="document", source=thing(type="text", media_type="text/plain", data="d")),
    thing(type="image", source=thing(type="url", url="https://a.b/c.png")),
    thing(type="unknown"),
    thing(type="reasoning", text="thought"),
    thing(type="compaction", content="summary"),
    thing(type="tool_addition", tool=thing(type="tool_reference", name="bash")),
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
messages = st.one_of(messages, messages, thing(role="system", content="word"))


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


# ---- histories that are right already


@st.composite
def right_histories(draw):
    """A conversation as the API likes it, in as many messages as one likes: turns may be cut into several messages."""
    history, count, name = [], 0, 0
    thinking = {"type": "thinking", "thinking": "hm", "signature": "sig"}
    for _ in range(draw(st.integers(0, 4))):
        turn = []
        if draw(st.booleans()):
            turn.append(thinking)
        for _ in range(draw(st.integers(0, 2))):
            count += 1
            turn.append(
                {"type": "text", "text": f"{count}:word", **draw(st.sampled_from([{}, {}, {"citations": None}]))}
            )
        asked = []
        for _ in range(draw(st.integers(0 if turn and turn[-1]["type"] == "text" else 1, 3))):
            name += 1
            between = draw(st.sampled_from([None, None, "thinking", "pair", "text"])) if asked else None
            if between == "thinking":
                turn.append(thinking)
            elif between == "pair":
                turn += pair(f"srvtoolu_{name}")
            elif between == "text":
                count += 1
                turn.append({"type": "text", "text": f"{count}:word"})
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
        if draw(st.integers(0, 4)) == 0:
            turn[:0] = draw(
                st.sampled_from([[{"type": "compaction", "content": "summary"}], pair(f"srvtoolu_t{len(history)}")])
            )
        history += draw(cut("assistant", turn)) + draw(cut("user", answers))
        for _ in range(draw(st.sampled_from([0, 0, 0, 1, 2]))):
            count += 1
            history.append({"role": "system", "content": f"{count}:word"})
    if draw(st.booleans()) or not history:
        history.insert(0, {"role": "user", "content": "0:word"})
    return history


def pair(id):
    """A call at the API's side and its result."""
    call = {"type": "server_tool_use", "id": id, "name": "web_search", "input": {}}
    return [call, {"type": "web_search_tool_result", "tool_use_id": id, "content": []}]


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


# ---- anything at all

anything = st.recursive(
    st.sampled_from([None, True, 0, 1.5, "", "a", "text", "base64", "direct", "ephemeral"]),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(
            st.sampled_from(["type", "text", "content", "source", "data", "image_url"]), inner, max_size=3
        )
    ),
    max_leaves=6,
)
any_blocks = st.sampled_from(sorted(FIELDS)).flatmap(
    lambda kind: st.fixed_dictionaries(
        {"type": st.just(kind), **dict.fromkeys(sorted(FIELDS[kind] - {"type"}), anything)}
    )
)
blocks_of_anything = st.lists(
    st.builds(
        lambda role, *content: {"role": role, "content": list(content)},
        st.sampled_from(["user", "assistant"]),
        any_blocks,
        any_blocks,
    ),
    max_size=3,
)
