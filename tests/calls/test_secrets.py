"""A key that is registered is cut out of every result, in each way in which a tool writes it by accident."""

import base64
import html
import json
import os
import textwrap
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st
from systems import needs_bash

from s02_tool_use import ToolError, run_tool
from s02_tool_use.calls import secrets
from s02_tool_use.calls.secrets import CUT, cut, held, is_kept, keep

KEY = "sk-ant-canary-0123456789-AbCdEfGh_xyz"
PASSWORD = "p\"ss/w'rd+&<%>é\\0123"  # every character that somebody escapes


def in_base64(text):
    return base64.b64encode(text.encode()).decode()


WAYS = {
    "as it is": str,
    "JSON": json.dumps,
    "JSON inside JSON": lambda text: (
        json.dumps({"line": json.dumps({"key": text})}) if text == KEY else json.dumps(text)
    ),
    "repr": lambda text: repr({"key": text}),
    "HTML": html.escape,
    "URL": quote,
    "URL, slashes too": lambda text: quote(text, safe=""),
    "form": quote_plus,
    "base64": in_base64,
    "base64 of its line": lambda text: in_base64(f"API_KEY={text}\n"),
    "base64 of its file": lambda text: in_base64(f"# a\nAPI_KEY={text}\nMODEL_ID=m\n"),
    "base64 for URLs": lambda text: base64.urlsafe_b64encode(f"ab{text}".encode()).decode(),
    "wrapped": lambda text: "\n".join(textwrap.wrap(text, 7, break_on_hyphens=False)),
    "wrapped as on Windows": lambda text: "\r\n".join([text[:9], text[9:]]),
    "wrapped base64": lambda text: "\n".join(textwrap.wrap(in_base64(f"x={text}"), 20)),
    "wrapped inside JSON": lambda text: json.dumps({"out": f"{text[:5]}\n{text[5:]}"}) if text == KEY else text,
}


@pytest.mark.parametrize("secret", [KEY, PASSWORD], ids=["key", "password"])
@pytest.mark.parametrize("way", WAYS)
def test_a_key_is_cut_in_each_way_in_which_a_tool_writes_it(way, secret):
    written = WAYS[way](secret)
    assert cut(f"before {written} after") == f"before {written} after"
    keep(texts=[secret])
    clean = cut(f"before {written} after")
    assert clean.startswith("before ")
    assert clean.endswith(" after")
    assert CUT in clean
    flat = clean.replace("\n", "").replace("\r", "").replace("\\n", "")
    assert secret not in flat
    for code in ("=\n", ""):  # what is left of base64 gives no run of the key
        left = base64.b64decode(flat.encode("ascii", "ignore").replace(CUT.encode(), b"") + code.encode() + b"====")
        assert secret[3:8].encode() not in left


@given(st.binary(max_size=8), st.binary(max_size=8), st.text("abcXYZ019-_", min_size=8, max_size=40))
def test_base64_is_cut_whatever_stands_around_the_key(before, after, secret):
    secrets._forms = ()
    keep(texts=[secret])
    clean = cut(base64.b64encode(before + secret.encode() + after).decode())
    assert CUT in clean
    assert len(clean.replace(CUT, "")) <= (len(before) + len(after) + 2) * 4 / 3 + 8


def test_of_two_keys_of_which_one_holds_the_other_nothing_is_left():
    keep(texts=[KEY[:20]])
    keep(texts=[KEY, KEY[5:]])
    assert cut(f"{KEY} {KEY[:20]} {KEY[5:]}") == f"{CUT} {CUT} {CUT}"


def test_a_text_that_is_too_short_to_be_told_from_a_word_is_not_cut():
    keep(texts=["", "abc", "ollama", "seven77"])
    assert cut("ollama answers abc seven77") == "ollama answers abc seven77"


def test_json_data_is_cut_at_any_depth_and_all_else_comes_back_as_it_is():
    keep(texts=[KEY])
    data = {"a": [KEY, 1, None, {KEY: 2.5}], "b": True}
    assert cut(data) == {"a": [CUT, 1, None, {CUT: 2.5}], "b": True}
    assert data["a"][0] == KEY, "the data of the caller stays"
    assert cut(3) == 3


@given(st.lists(st.text("sk-ant \n", max_size=5), max_size=6))
def test_a_stream_that_holds_back_what_may_begin_a_key_shows_all_else(pieces):
    secrets._forms = ()
    keep(texts=[KEY])
    shown, waiting = "", ""
    whole = "".join([*pieces, KEY, *pieces])
    for piece in [whole[i : i + 3] for i in range(0, len(whole), 3)]:
        waiting = cut(waiting + piece)
        ready = len(waiting) - held(waiting)
        shown, waiting = shown + waiting[:ready], waiting[ready:]
        assert KEY[:8] not in shown  # "sk-ant-c": the pieces have no c, so it can only be of the key
    assert shown + waiting == cut(whole)


def test_nothing_is_held_back_when_nothing_is_registered():
    assert held("s") == 0
    keep(texts=[KEY])
    assert held("the answer is s") == 1
    assert held("the answer is 7") == 0


def test_a_kept_file_is_known_under_any_name(tmp_path):
    file, link, hard, other = (tmp_path / name for name in (".env", "link", "hard", "other"))
    file.write_text("x")
    other.write_text("x")
    link.symlink_to(file)
    os.link(file, hard)
    keep(file)
    assert all(is_kept(os.stat(path)) for path in (file, link, hard))
    assert not is_kept(os.stat(other))
    file.unlink()
    assert not is_kept(os.stat(other)), "a kept file that is gone stands in nobody's way"
    assert secrets.files() == [file]


# ---- results


def fail(error):
    def handler():
        raise error

    return handler


@pytest.mark.parametrize(
    ("handler", "is_error"),
    [
        (lambda: f"the key is {KEY}.", False),
        (lambda: {"env": {"API_KEY": KEY}}, False),
        (lambda: [KEY], False),
        (lambda: {KEY: 1}, False),
        (lambda: "x" * 49_990 + KEY + "x" * 70_000, False),  # where the middle is left out
        (fail(ToolError(f"no such file: {KEY}")), True),
        (fail(ValueError(KEY)), True),
        (fail(KeyError(KEY)), True),
        (fail(OSError(2, "gone", f"/etc/{KEY}")), True),
        (fail(type(KEY.replace("-", "_"), (Exception,), {})(KEY)), True),
    ],
)
def test_a_result_that_holds_the_key_comes_back_without_it_and_says_so(handler, is_error):
    keep(texts=[KEY, KEY.replace("-", "_")])
    result = run_tool({"type": "tool_use", "id": "toolu_01", "name": "f", "input": {}}, {"f": handler})
    assert KEY not in json.dumps(result)
    assert KEY[:9] not in json.dumps(result)
    assert result["content"].endswith("[A key was cut out of this result: no tool may show it. Do not look for it; "
                                      "go on without it.]")  # fmt: skip
    assert result.get("is_error", False) is is_error


@pytest.mark.parametrize(
    ("name", "given"),
    [
        (KEY, {}),
        ("read_file", {"path": KEY}),
        ("read_file", {"path": f"../{KEY}"}),
        ("read_file", {KEY: 1}),
        ("read_file", {"path": "a.txt"}),
        ("edit_file", {"path": "a.txt", "old_text": f"{KEY} 2", "new_text": "x"}),
        ("write_file", {"path": f"{KEY}.txt", "content": "x"}),
        ("glob", {"pattern": f"*{KEY[5:]}"}),
        pytest.param(
            "bash",
            {"command": "cat a.txt; echo; base64 a.txt; cat */a*; cat no-such-file"},
            marks=needs_bash,
        ),
    ],
)
def test_our_own_tools_and_their_errors_do_not_repeat_the_key(workspace, name, given):
    (workspace / "a.txt").write_text(f"1\nKEY={KEY}\n2\n")
    (workspace / f"n-{KEY}").mkdir()
    keep(texts=[KEY])
    result = run_tool({"type": "tool_use", "id": "toolu_01", "name": name, "input": given})
    assert KEY not in result["content"]
    assert CUT in result["content"]


def test_a_result_without_the_key_is_as_it_was(workspace):
    keep(texts=[KEY])
    result = run_tool({"type": "tool_use", "id": "toolu_01", "name": "f", "input": {}}, {"f": lambda: "sk-ant-other"})
    assert result["content"] == "sk-ant-other"
