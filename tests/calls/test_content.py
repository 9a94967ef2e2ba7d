"""What a handler returns is sent: strings, blocks, data as JSON; what cannot be sent is named by its type."""

import array
import base64
import collections
import dataclasses
import datetime
import decimal
import enum
import io
import json
import pathlib
import types
import uuid

import pytest
from anthropic.types import TextBlock
from anthropic.types.beta import BetaTextBlock
from pydantic import BaseModel

from s02_tool_use import run_tool
from s02_tool_use.calls.blocks import MOST_BLOCKS
from s02_tool_use.calls.results import MAX_RESULT_CHARACTERS
from s02_tool_use.calls.secrets import keep
from s02_tool_use.lab.api.rules import validate

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
KEY = "sk-ant-canary-0123456789-AbCdEfGh_xyz"


def base64_of(data):
    return base64.b64encode(data).decode()


def image(data=PNG, media_type="image/png", **more):
    return {"type": "image", "source": {"type": "base64", "media_type": media_type, "data": base64_of(data)}, **more}


def text(said="hello", **more):
    return {"type": "text", "text": said, **more}


def document(data="hello", **more):
    return {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": data}, **more}


FOUND = {"type": "search_result", "source": "https://example.org", "title": "A page", "content": [text()]}


def returned(value):
    result = run_tool({"type": "tool_use", "id": "toolu_01", "name": "f", "input": {}}, {"f": lambda: value})
    call = {"type": "tool_use", "id": "toolu_01", "name": "f", "input": {}}
    messages = [{"role": "user", "content": "Go."}, {"role": "assistant", "content": [call]}]
    request = {"model": "any", "max_tokens": 1, "messages": [*messages, {"role": "user", "content": [result]}]}
    json.dumps(request, allow_nan=False, ensure_ascii=False).encode()
    assert validate(request) is None
    return result


def content(value):
    result = returned(value)
    assert "is_error" not in result, result["content"]
    return result["content"]


def fault(value):
    result = returned(value)
    assert result["is_error"] is True
    return result["content"]


# ---- strings and data


class Colour(enum.Enum):
    RED = "red"


class Level(enum.IntEnum):
    HIGH = 3


class Name(str):
    def __str__(self):
        return "not this"


class Point(BaseModel):
    x: float
    at: datetime.date = datetime.date(2026, 1, 2)


@dataclasses.dataclass
class Box:
    width: int
    colour: Colour = Colour.RED


Pair = collections.namedtuple("Pair", "a b")


class Numpy:
    """A number or an array of numpy, as far as it matters here."""

    def __init__(self, value):
        self.value = value

    def tolist(self):
        return self.value


@pytest.mark.parametrize(
    ("value", "sent"),
    [
        ("", "(no output)"),
        (" ", " "),
        (Name("this"), "this"),
        (None, "(done, no output)"),
        (True, "true"),
        (3, "3"),
        (2.5, "2.5"),
        (float("nan"), "NaN"),
        ([float("inf"), -float("inf")], '["Infinity", "-Infinity"]'),
        ({"é": ["a", None, 1.5, False]}, '{"é": ["a", null, 1.5, false]}'),
        ([], "[]"),
        ({}, "{}"),
        ((1, (2,)), "[1, [2]]"),
        ({3}, "[3]"),
        (frozenset("a"), '["a"]'),
        (range(3), "[0, 1, 2]"),
        ({"a": 1}.keys(), '["a"]'),
        (collections.deque([1]), "[1]"),
        (collections.Counter("aa"), '{"a": 2}'),
        (types.MappingProxyType({"a": 1}), '{"a": 1}'),
        (Pair(1, [2]), '{"a": 1, "b": [2]}'),
        (Colour.RED, "red"),
        (Level.HIGH, "3"),
        ([Colour.RED, Level.HIGH], '["red", 3]'),
        (Point(x=1), '{"x": 1.0, "at": "2026-01-02"}'),
        ([Point(x=float("nan"))], '[{"x": "NaN", "at": "2026-01-02"}]'),
        (Box(2), '{"width": 2, "colour": "red"}'),
        ({"boxes": [Box(1)]}, '{"boxes": [{"width": 1, "colour": "red"}]}'),
        (pathlib.PurePosixPath("a/b.txt"), "a/b.txt"),
        ([pathlib.PurePosixPath("a")], '["a"]'),
        (datetime.datetime(2026, 1, 2, 3, 4), "2026-01-02T03:04:00"),
        ({datetime.date(2026, 1, 2): datetime.time(3)}, '{"2026-01-02": "03:00:00"}'),
        (datetime.timedelta(seconds=90), "0:01:30"),
        (decimal.Decimal("1.10"), "1.10"),
        (uuid.UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        ({1: "a", None: "b", Level.HIGH: "c", (1, 2): "d", Colour.RED: "e"},
         '{"1": "a", "null": "b", "3": "c", "(1, 2)": "d", "red": "e"}'),
        ({"\ud800": "\ud800"}, '{"\\ud800": "\\ud800"}'),
        ("half \ud83d", "half \\ud83d"),
        (array.array("i", [1, 2]), "[1, 2]"),
        (Numpy(3), "3"),
        ({"mean": Numpy(2.5), "rows": Numpy([[1], [2]])}, '{"mean": 2.5, "rows": [[1], [2]]}'),
    ],
)  # fmt: skip
def test_data_becomes_json_and_a_string_stays_one(value, sent):
    assert content(value) == sent


class Plain:
    pass


def circle():
    ring = []
    ring.append(ring)
    return ring


def deep():
    nested = []
    for _ in range(100_000):
        nested = [nested]
    return nested


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (
            b"abc",
            r"returned bytes, which JSON does not have: return a string (data.decode()), or for a picture an image",
        ),
        (bytearray(b"a"), "returned bytearray"),
        ({"a": [1, b"x"]}, "returned bytes at ['a'][1]"),
        (Plain(), "Plain, which cannot be sent: return a string, content blocks, or data"),
        ({"a": Plain()}, "Plain at ['a'], which cannot be sent"),
        (Plain, "of type type"),
        (len, "of type builtin_function_or_method"),
        (1j, "of type complex"),
        (ValueError("no"), "of type ValueError"),
        (io.StringIO("a"), "_io.StringIO"),
        (types, "of type module"),
        ({Plain(): 1}, "a dict with a key of type"),
        (10**5000, "a number that is too long to be written"),
        (range(10**9), "more than 1,000,000 values: return fewer"),
        (circle(), "nested too deeply"),
        (deep(), "nested too deeply"),
    ],
    ids=lambda value: value[:20] if isinstance(value, str) else "",
)
def test_what_cannot_be_sent_is_an_error_that_names_the_type(value, said):
    assert said in fault(value)
    while isinstance(value, list) and value:  # else taking it apart would recurse
        value = value.pop()


def test_something_to_await_inside_a_list_or_a_dict_is_told_with_its_place():
    async def gives():
        return 3

    assert fault([1, gives()]) == "The tool returned something to await at [1]: await it, and return what it gives."
    assert "to await at ['a']" in fault({"a": gives()})


def test_data_that_is_too_long_is_cut_in_the_middle_and_says_so():
    sent = content({"a": "x" * 300_000})
    assert len(sent) < MAX_RESULT_CHARACTERS + 100
    assert "truncated" in sent
    assert sent.endswith('xx"}')


# ---- blocks


@pytest.mark.parametrize(
    "block",
    [
        text(),
        text(cache_control={"type": "ephemeral", "ttl": "1h"}),
        image(),
        image(b"\xff\xd8\xff\xe0", "image/jpeg"),
        image(b"GIF89a\1\0\1\0", "image/gif"),
        image(b"RIFF....WEBP", "image/webp"),
        {"type": "image", "source": {"type": "url", "url": "https://example.org/a.png"}},
        {"type": "image", "source": {"type": "file", "file_id": "file_1"}},
        document(title="A", context="B", citations={"enabled": True}),
        {"type": "document", "source": {"type": "content", "content": [text(), image()]}},
        {"type": "document", "source": {"type": "content", "content": "hello"}},
        {
            "type": "document",
            "source": {"type": "base64", "media_type": "application/pdf", "data": base64_of(b"%PDF-1.7")},
        },
        FOUND,
        FOUND | {"citations": {"enabled": False}},
    ],
    ids=lambda block: block["type"],
)
def test_blocks_are_sent_as_they_are(block):
    assert content(block) == [block]
    assert content([block]) == [block]
    assert content((text("a"), block)) == [text("a"), block]
    assert content(iter([block, "b"])) == [block, text("b")]


def test_objects_of_the_sdk_are_blocks_and_strings_beside_a_block_become_text():
    assert content(TextBlock(type="text", text="a")) == [text("a")]
    assert content(["a", BetaTextBlock(type="text", text="b"), "c"]) == [text("a"), text("b"), text("c")]


@pytest.mark.parametrize(
    "rows",
    [
        [{"type": "text", "name": "title", "nullable": False}],
        [{"type": "image", "file": "a.png", "size": 3}, {"type": "text", "file": "a.txt", "size": 4}],
        {"type": "document", "title": "Report", "year": 2026},
        [{"type": "search_result", "title": "A", "url": "b"}],
        {"type": ["text"], "text": "a"},
        {"type": "tool_use", "text": "a"},
        {"type": "text"},
        ["a", "b"],
    ],
)
def test_rows_of_data_that_have_a_type_are_json(rows):
    assert json.loads(content(rows)) == rows


@pytest.mark.parametrize(
    ("block", "said"),
    [
        (text(3), "text must be a string, not of type int"),
        (
            text("a", colour="red"),
            "a block of type text has no field 'colour'; it has type, cache_control, text, citations",
        ),
        (text("a", citations=[{"type": "char_location"}]), "citations are for what the model says"),
        (text("a", cache_control={"type": "for ever"}), "cache_control must be"),
        (text("a", cache_control=[]), "cache_control must be"),
        ({"type": "image", "source": "a.png"}, "source: it must be an object whose type is one of base64, url, file"),
        ({"type": "image", "source": {"type": "path"}}, "type is one of"),
        ({"type": "image", "source": {"type": "base64", "data": "aaaa"}}, "source: media_type is missing"),
        ({"type": "image", "source": {"type": "base64", "media_type": "image/png"}}, "source: data is missing"),
        ({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}}, "bytes"),
        (
            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "a b"}},
            "data is not base64",
        ),
        (
            {
                "type": "image",
                "source": {"type": "base64", "media_type": "image/png", "data": base64.encodebytes(PNG).decode()},
            },
            "data is not base64 (without line breaks)",
        ),
        (image(media_type="image/svg+xml"), "media_type must be one of image/jpeg, image/png, image/gif, image/webp"),
        (image(media_type="image/jpeg"), "Image does not match the provided media type image/jpeg"),
        (image(b"hello"), "the bytes of data are no image/png"),
        (image(PNG[:16] + b"\0\1\0\0" + PNG[20:]), "image dimensions exceed max allowed size: 8000 pixels"),
        (image(PNG + bytes(4_000_000)), "exceeds 5 MB maximum"),
        (
            {"type": "image", "source": {"type": "url", "url": "data:image/png;base64,aaaa"}},
            "url must begin with https://",
        ),
        ({"type": "image", "source": {"type": "url", "href": "https://a"}}, "a source of type url has no field 'href'"),
        (document(data=""), "data must be a string, not empty"),
        (document(title=3), "title is of type int"),
        (document(citations={}), "citations must be"),
        (
            {"type": "document", "source": {"type": "text", "media_type": "text/html", "data": "a"}},
            "must be text/plain",
        ),
        ({"type": "document", "source": {"type": "content", "content": []}}, "content must be a string or a list"),
        (
            {"type": "document", "source": {"type": "content", "content": [3]}},
            "content[0]: it must be a text or an image",
        ),
        ({"type": "document", "source": {"type": "content", "content": [text(" ")]}}, "text must have something in it"),
        (
            {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": "aaaa"}},
            "the bytes of data are no application/pdf",
        ),
        ({"type": "search_result", "source": "a", "content": [text()]}, "title is missing"),
        (
            {"type": "image", "data": "aaaa", "mimeType": "image/png"},
            "a block of type image has no field 'data'; it has",
        ),
        (FOUND | {"content": ["a"]}, "content must be a list of text blocks"),
        (FOUND | {"content": []}, "content must be a list of text blocks, with at least one"),
        (FOUND | {"content": [text("")]}, "content[0]: text must be a string with something in it"),
        (FOUND | {"citations": {"enabled": 1}}, "citations must be"),
    ],
)
def test_a_block_that_is_wrong_is_an_error_that_says_which_field(block, said):
    assert said in fault(block)
    message = fault([text(), block])
    assert said in message
    assert "block 1" in message
    assert "json.dumps" in message


@pytest.mark.parametrize("other", [3, {"a": 1}, None, [text()], b"x", Plain()], ids=lambda value: type(value).__name__)
def test_what_is_no_block_beside_one_is_named_by_its_place(other):
    said = "a dict that is not a block" if isinstance(other, dict) else f"of type {type(other).__name__}"
    assert f"The tool returned blocks, but block 1 is {said}: return only blocks" in fault([text(), other])


def test_a_text_without_words_is_left_out_since_the_api_takes_none():
    assert content([text(" "), image(), ""]) == [image()]
    assert content(text("")) == [text("(no output)")]


def test_the_blocks_are_copies():
    block = text("a\ud800")
    sent = content([block])
    assert sent == [text("a\\ud800")]
    assert block == text("a\ud800")


def test_the_texts_of_all_blocks_together_are_not_longer_than_a_string_may_be():
    sent = content([text("a" * 90_000), document("b" * 90_000), text("short")])
    assert sum(len(json.dumps(block)) for block in sent) < MAX_RESULT_CHARACTERS + 1000
    assert "truncated" in sent[0]["text"]
    assert "truncated" in sent[1]["source"]["data"]
    assert sent[2] == text("short")


def test_too_many_blocks_and_too_much_in_them_are_errors():
    assert f"more than {MOST_BLOCKS} blocks" in fault([text()] * (MOST_BLOCKS + 1))
    large = image(PNG + bytes(3_500_000))
    assert "too large together" in fault([large] * 6)
    many = image(PNG[:16] + b"\0\0\x0b\xb8" + PNG[20:])  # 3000 pixels
    assert len(content([many] * 20)) == 20
    assert "many-image requests" in fault([many] * 21)


def test_a_key_is_cut_out_of_blocks_and_the_result_says_so():
    keep(texts=[KEY])
    sent = content([text(f"the key is {KEY}"), document(f"a {KEY}", title=KEY)])
    assert KEY not in json.dumps(sent)
    assert sent[0]["text"] == "the key is [key removed]"
    assert sent[-1]["text"].startswith("[A key was cut out of this result")
    assert KEY not in fault(text(KEY, **{KEY: 1}))
    hidden = image(PNG + KEY.encode())
    assert "data is not base64" in fault(hidden)
    assert base64_of(KEY.encode())[:20] not in json.dumps(returned(hidden))
