"""What is drawn: every block, each result joined with its call, refusals where they arise; escaped and repeatable."""

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from systems import needs_sources

from s02_tool_use import TOOL_HANDLERS, ToolError, normalize_messages, safe_path
from s02_tool_use.lab import connect, conversation, show
from s02_tool_use.lab.check.exercise import Block
from s02_tool_use.lab.show import page, rows

ROOT = Path(__file__).resolve().parents[3]
CASES = ROOT / "s02_tool_use" / "lab" / "data" / "histories.json"

USER = {"role": "user", "content": "List the files."}
ASKS = {
    "role": "assistant",
    "content": [
        Block(type="text", text="I will look\nat both."),
        Block(type="tool_use", id="toolu_01", name="bash", input={"command": "ls"}),
        Block(type="tool_use", id="toolu_02", name="read_file", input={"path": "a.txt"}),
    ],
}
ANSWERS = {
    "role": "user",
    "content": [
        {"type": "tool_result", "tool_use_id": "toolu_02", "content": "no such file", "is_error": True},
        {"type": "tool_result", "tool_use_id": "toolu_01", "content": "b.txt\nc.txt\n"},
    ],
}


class Tags(HTMLParser):
    """Reads HTML strictly: every tag closed in order. Collects tags, attributes and the text."""

    def __init__(self, html):
        super().__init__()
        self.open, self.tags, self.attributes, self.text = [], [], [], ""
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        if tag == "br":
            self.text += "\n"
        else:
            self.open.append(tag)
        self.tags.append(tag)
        self.attributes += attributes

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


def text_of(html):
    return " ".join(Tags(html).text.split())


def long_talk(turns):
    return [{"role": ("user", "assistant")[n % 2], "content": f"Word {n}."} for n in range(2 * turns)]


def test_of_a_long_conversation_the_middle_is_folded_and_its_length_is_said():
    shown = show.show_messages(long_talk(1000))
    assert [int(n) for n in re.findall(r"Word (\d+)", repr(shown))] == [*range(10), *range(1970, 2000)]
    assert "\n... 1,960 messages in between\n1970 user\n" in repr(shown)
    open_parts = re.sub(r"(?s)<details.*?</details>", "", shown.html)
    assert re.findall(r"Word (\d+)", open_parts) == re.findall(r"Word (\d+)", repr(shown))
    assert len(re.findall("Word", shown.html)) == 2000, "a click shows the rest"
    assert "2,000 messages" in Tags(shown.html).text


def test_a_refusal_in_the_middle_of_a_long_conversation_is_not_folded():
    talk = long_talk(100)
    talk[101]["content"] = ""
    shown = show.show_messages(talk)
    assert re.findall(r"\.\.\. (\d+) messages in between", repr(shown)) == ["91", "68"]
    assert repr(shown).index("101 assistant") < repr(shown).index("!! the API refuses") < repr(shown).index("170 user")


def test_a_conversation_of_sixty_messages_is_drawn_whole():
    assert "in between" not in repr(show.show_messages(long_talk(30)))


def test_a_conversation_as_text():
    assert repr(show.show_messages([USER, ASKS, ANSWERS])) == (
        "0 user\n"
        "    text: List the files.\n"
        "1 assistant\n"
        "    text:\n"
        "        I will look\n"
        "        at both.\n"
        '    A tool_use bash (toolu_01): {"command": "ls"}\n'
        '    B tool_use read_file (toolu_02): {"path": "a.txt"}\n'
        "2 user\n"
        "    B tool_result (toolu_02) [is_error]: no such file\n"
        "    A tool_result (toolu_01):\n"
        "        b.txt\n"
        "        c.txt\n"
        "3 messages, 6 blocks, about 130 tokens"
    )


def test_html_and_text_say_the_same():
    shown = show.show_messages([USER, ASKS, ANSWERS])
    said = text_of(shown._repr_html_())
    for word in re.findall(r"[\w.]+", repr(shown)):
        assert word in said


def test_a_call_and_its_result_have_the_same_label_and_colour():
    html = show.show_messages([USER, ASKS, ANSWERS]).html
    for label, colour in zip("AB", page.COLOURS, strict=False):
        assert html.count(f"border-left:4px solid {colour}") == 2
        assert html.count(page.badge(label, colour)) == 2


def test_more_calls_than_letters_get_two():
    calls = [{"type": "tool_use", "id": f"toolu_{n}", "name": "bash", "input": {}} for n in range(30)]
    labels = list(rows.labels_of([{"role": "assistant", "content": calls}]).values())
    assert labels[25:28] == ["Z", "AA", "AB"]


def test_sdk_objects_and_dicts_are_drawn_alike():
    client, model = connect(script=[[{"type": "tool_use", "name": "bash", "input": {"command": "ls"}}]])
    reply = client.messages.create(model=model, max_tokens=100, messages=[USER])
    as_objects = [USER, {"role": "assistant", "content": reply.content}]
    as_dicts = [USER, {"role": "assistant", "content": [b.to_dict() for b in reply.content]}]
    assert repr(show.show_messages(as_objects)) == repr(show.show_messages(as_dicts))
    assert "bash (toolu_01)" in repr(show.show_messages([USER, reply]))


# ---- what the API refuses


def test_a_missing_result_is_marked_at_its_call_in_the_words_of_the_rule():
    shown = show.show_messages([USER, ASKS, {"role": "user", "content": "Go on."}])
    said = "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_01, toolu_02."
    lines = repr(shown).split("\n")
    assert any(line.startswith("    !! the API refuses this, 400 invalid_request_error: " + said) for line in lines)
    assert lines.index("2 user") > next(n for n, line in enumerate(lines) if "!!" in line)
    assert said in text_of(shown.html)
    assert page.RED in shown.html


def test_a_refusal_stands_right_below_its_block():
    first, second = ANSWERS["content"]
    content = [first, second, first, {"type": "text", "text": "x"}]
    lines = repr(show.show_messages([USER, ASKS, {"role": "user", "content": content}])).split("\n")
    refusal = next(n for n, line in enumerate(lines) if "!!" in line)
    assert "Found multiple `tool_result` blocks" in lines[refusal]
    assert lines[refusal - 1] == "    B tool_result (toolu_02) [is_error]: no such file"
    assert lines[refusal + 1] == "    text: x"


def test_calls_at_the_end_wait_for_their_results():
    assert repr(show.show_messages([USER, ASKS])).count("[waits for its result]") == 2
    assert "!!" not in repr(show.show_messages([USER, ASKS]))


def test_a_finished_conversation_is_no_refusal():
    assert "!!" not in repr(show.show_messages([USER, ASKS, ANSWERS, {"role": "assistant", "content": "Done."}]))


def test_a_whole_request_is_judged_as_it_is():
    request = {"model": "any", "max_tokens": -1, "messages": [USER]}
    assert repr(show.show_messages(request)).split("\n")[-2].startswith("    !! the API refuses this")
    assert "!!" not in repr(show.show_messages({**request, "max_tokens": 1}))


@pytest.mark.parametrize(
    "case", json.loads(CASES.read_text(encoding="utf-8")) if CASES.exists() else [], ids=lambda c: c["id"]
)
def test_every_public_broken_history_is_drawn(case):
    shown = show.show_messages(case["messages"])
    Tags(shown.html)
    for message in case["messages"]:
        for block in conversation.blocks(message):
            if isinstance(block, dict) and block.get("type") == "tool_use":
                assert str(block.get("id")) in repr(shown)


STRANGE = [
    5,
    None,
    {},
    {"role": "user"},
    {"role": "user", "content": None},
    {"role": "user", "content": 7},
    {"role": "user", "content": []},
    {"role": "user", "content": [3, {}, None]},
    {"role": ["user"], "content": "x"},
    {"role": "assistant", "content": [{"type": "tool_use"}]},
    {"role": "assistant", "content": [{"type": "tool_use", "id": {"a": 1}, "name": 3, "input": "ls"}]},
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": None, "content": 3}]},
    {
        "role": "user",
        "content": [{"type": "tool_result", "tool_use_id": "x", "content": [{"type": "text", "text": 4}]}],
    },
    {"role": "user", "content": [{"type": ["list"], "text": "x"}]},
    {"role": "user", "content": "x", "_debug": {"at": 1}},
]


@pytest.mark.parametrize("message", STRANGE)
def test_no_message_is_too_broken_to_be_drawn(message):
    for messages in ([message], [USER, message], [message, USER]):
        shown = show.show_messages(messages)
        assert repr(shown).endswith("tokens") or repr(shown).endswith("token")
        Tags(shown.html)


def test_what_is_no_conversation_is_named():
    for wrong in ("Hello", 5, None, {"content": "x"}):
        with pytest.raises(TypeError, match="A conversation is a list of messages"):
            show.show_messages(wrong)
    assert repr(show.show_messages([])) == "No messages yet."


def test_keys_that_the_api_does_not_know_are_shown():
    assert '(other keys): {"_source": "cache"}' in repr(show.show_messages([{**USER, "_source": "cache"}]))


# ---- what comes from outside stays text


HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(1)>&amp;\x1b[31m\x00\r\ud800'\""


def test_everything_is_escaped_and_no_control_character_gets_through():
    messages = [
        {"role": HOSTILE, "content": HOSTILE},
        {
            "role": "assistant",
            "content": [{"type": "tool_use", "id": HOSTILE, "name": HOSTILE, "input": {HOSTILE: HOSTILE}}],
        },
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": HOSTILE, "content": [HOSTILE]}, HOSTILE]},
        {"role": "user", "content": [{"type": HOSTILE, HOSTILE: HOSTILE}], HOSTILE: HOSTILE},
    ]
    for shown in (show.show_messages(messages), show.show_diff(messages, [USER]), show.show_diff(HOSTILE, "x")):
        assert {"script", "img"}.isdisjoint(Tags(shown.html).tags)
        for text in (shown.html, repr(shown)):
            assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f]", text)
            text.encode("utf-8")


def test_only_plain_html_is_used():
    long = {"role": "user", "content": "x\n" * 100}
    pages = [
        show.show_messages([USER, ASKS, ANSWERS, long]),
        show.show_diff([USER], [USER, ASKS]),
        show.show_source(page),
    ]
    for shown in pages:
        found = Tags(shown.html)
        assert set(found.tags) <= {"div", "span", "b", "i", "br", "code", "pre", "details", "summary"}
        assert {name for name, _ in found.attributes} <= {"style"}
        assert "url(" not in shown.html


def test_colours_are_readable_as_ground_for_white_and_as_a_line_on_white_and_black():
    def light(colour):
        parts = [int(colour[n : n + 2], 16) / 255 for n in (1, 3, 5)]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    for colour in (*page.COLOURS, page.RED, page.GREEN, page.GREY):
        assert 1.05 / (light(colour) + 0.05) >= 4.5, colour  # WCAG: text
        assert (light(colour) + 0.05) / (light("#111111") + 0.05) >= 3, colour  # WCAG: graphics, on JupyterLab's dark


def test_it_repeats_exactly_and_changes_nothing():
    messages = [USER, ASKS, ANSWERS]
    before = repr(messages)
    first, second = show.show_messages(messages), show.show_messages(messages)
    assert (first.text, first.html) == (second.text, second.html)
    assert repr(messages) == before


# ---- long contents


def test_long_contents_fold_in_html_and_are_cut_in_text():
    shown = show.show_messages([{"role": "user", "content": "\n".join(f"line {n}" for n in range(100))}])
    assert "<details>" in shown.html
    assert "line 99" in shown.html
    assert "line 11\n        ... 88 more lines" in repr(shown)
    assert "line 12\n" not in repr(shown)


def test_a_long_line_folds_too():
    shown = show.show_messages([{"role": "user", "content": "x" * 5000}])
    assert "... 5,000 characters" in shown.html
    assert len(repr(shown)) < 1000
    assert "more characters" in repr(shown)


def test_a_huge_result_stays_small_on_the_page():
    shown = show.show_messages([{"role": "user", "content": "x\n" * 500_000}])
    assert len(shown.html) < 60_000
    assert "more characters" in shown.html


def test_a_picture_is_shown_by_its_size():
    source = {"type": "base64", "media_type": "image/png", "data": "A" * 4000}
    shown = show.show_messages([{"role": "user", "content": [{"type": "image", "source": source}]}])
    assert "image image/png, 4,000 characters of base64" in repr(shown)
    assert "AAAA" not in shown.html


def test_long_arguments_stand_one_on_a_line_with_their_line_breaks():
    body = "def f():\n    return 1\n" * 5
    assert rows.arguments({"path": "a.py", "content": body}) == f"path: a.py\ncontent:\n{body}"
    assert rows.arguments({"path": "a.py"}) == '{"path": "a.py"}'


# ---- show_diff


def test_a_diff_of_histories_shows_what_moved_and_what_the_api_says():
    before = [USER, ASKS, {"role": "user", "content": "Go on."}]
    after = [USER, ASKS, {"role": "user", "content": [*ANSWERS["content"], {"type": "text", "text": "Go on."}]}]
    lines = repr(show.show_diff(before, after)).split("\n")
    assert "+     B tool_result (toolu_02) [is_error]: no such file" in lines
    assert "      text: Go on." in lines
    assert lines[-2].startswith("before: 400 messages.1: `tool_use` ids were found")
    assert lines[-1] == "after: the API accepts it"


def test_a_diff_of_texts_leaves_out_what_is_the_same():
    old = [f"line {n}" for n in range(20)]
    new = [*old[:10], "new", *old[11:]]
    assert repr(show.show_diff("\n".join(old), "\n".join(new))).split("\n") == [
        "  ... 7 lines as before",
        *(f"  line {n}" for n in (7, 8, 9)),
        "- line 10",
        "+ new",
        *(f"  line {n}" for n in (11, 12, 13)),
        "  ... 6 lines as before",
    ]


def test_equal_things_have_no_difference():
    assert repr(show.show_diff("a", "a")) == "No difference."
    assert repr(show.show_diff([USER], [USER])).startswith("No difference.\n")


def plus_one(n):
    return n + 1


def plus_two(n):
    """Two more.

    Said in three lines.
    """

    def inner():
        """Nothing."""

    # a comment stays
    return n + 2


def test_a_difference_of_functions_is_one_of_their_code_without_docstrings():
    assert repr(show.show_diff(plus_one, plus_two)).split("\n") == [
        "- def plus_one(n):",
        "+ def plus_two(n):",
        "+",
        "+     def inner():",
        '+         """Nothing."""',
        "+",
        "+     # a comment stays",
        "-     return n + 1",
        "+     return n + 2",
    ]
    assert repr(show.show_diff(plus_one, plus_one)) == "No difference."


def half(number):
    result = number / 2
    return result + 0


def rounded_half(number: float) -> float:
    if number < 0:
        number = -number
    result = round(number / 2)
    return result + 0.0


def test_lines_of_code_that_are_alike_stand_beside_each_other():
    assert repr(show.show_diff(half, rounded_half)).split("\n") == [
        "- def half(number):",
        "+ def rounded_half(number: float) -> float:",
        "+     if number < 0:",
        "+         number = -number",
        "-     result = number / 2",
        "+     result = round(number / 2)",
        "-     return result + 0",
        "+     return result + 0.0",
    ]


def test_a_decorated_function_is_shown_from_the_file_in_which_it_was_written():
    assert repr(show.show_source(normalize_messages)).startswith("# s02_tool_use/messages.py\n@quick.no_collector()\n")


def test_a_function_without_source_has_no_difference_to_show():
    with pytest.raises(ValueError, match="no Python source of len"):
        show.show_diff(plus_one, len)


# ---- show_source


def test_source_is_shown_with_the_file_as_seen_from_the_repository():
    shown = show.show_source(safe_path)
    assert repr(shown).startswith("# s02_tool_use/workspace.py\ndef safe_path(")
    assert "safe_path" in text_of(shown.html)
    assert str(Path(__file__).parents[3]) not in repr(shown) + shown.html


def test_classes_tables_and_several_things_can_be_shown():
    shown = repr(show.show_source(ToolError, TOOL_HANDLERS, page))
    assert "class ToolError(ValueError):" in shown
    assert "# s02_tool_use/dispatch.py\nTOOL_HANDLERS = {" in shown
    assert "# s02_tool_use/lab/show/page.py\n" in shown


@pytest.mark.parametrize(
    ("function", "file"),
    [(pytest.param, "_pytest/mark/__init__.py"), pytest.param(json.loads, "json/__init__.py", marks=needs_sources)],
)
def test_installed_code_is_named_without_the_path_of_this_machine(function, file):
    assert repr(show.show_source(function)).startswith(f"# {file}\n")


def luminance(colour):
    parts = [value / 12.92 if value <= 0.03928 else ((value + 0.055) / 1.055) ** 2.4 for value in colour]
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]


def rgb(colour):
    return [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]


@pytest.mark.parametrize(
    ("text", "ground"),
    [
        ("#212121", "#ffffff"),
        ("#000000", "#f6f8fa"),
        ("#ffffff", "#111111"),
        ("#cccccc", "#1f1f1f"),
        ("#e6edf3", "#0d1117"),
    ],
    ids=["JupyterLab", "light", "JupyterLab, dark", "VS Code, dark", "GitHub, dark"],
)
def test_the_colours_of_a_source_are_readable_on_a_light_page_and_on_a_dark_one(text, ground):
    drawn = show.show_source(show.show_messages, page.Page).html
    used = set(re.findall(r"color-mix\(in srgb,(#\w{6}) (\d+)%,currentColor\)", drawn))
    assert len(used) >= 4
    assert drawn.count("color:") == drawn.count("color:color-mix") + drawn.count("color:inherit")
    for colour, share in used:
        part = int(share) / 100
        mixed = [one * part + other * (1 - part) for one, other in zip(rgb(colour), rgb(text), strict=True)]
        dark, light = sorted((luminance(mixed), luminance(rgb(ground))))
        assert (light + 0.05) / (dark + 0.05) >= 4.5, colour


def test_a_source_is_broken_between_words_and_bold_where_styles_are_taken_away():
    drawn = show.show_source(safe_path).html
    assert "white-space:pre-wrap;word-break:normal;" in drawn
    assert re.search("<b [^>]*>def</b> ", drawn)


def test_the_drawing_of_a_source_is_the_source():
    import inspect

    for module in (show.messages, conversation, page):
        assert Tags(show.show_source(module).html).text.endswith(inspect.getsource(module).rstrip())


def test_the_readers_own_function_has_no_path(tmp_path, monkeypatch):
    (tmp_path / "ipykernel_cell.py").write_text("class Mine:\n    def mine(self):\n        return 1  # one\n")
    monkeypatch.syspath_prepend(tmp_path)
    import ipykernel_cell

    shown = show.show_source(ipykernel_cell.Mine.mine)
    assert repr(shown) == "# this notebook\ndef mine(self):\n    return 1  # one"
    assert str(tmp_path) not in shown.html


def test_what_has_no_source_is_named():
    for thing in (len, 5, "text", {}):
        with pytest.raises(ValueError, match="no (Python )?source"):
            show.show_source(thing)
