"""The exercises of 09: a grep that is safe, bounded and honest, and the schema under which an agent gets it."""

import contextlib
import io
import json
import os
import re
import shutil
from pathlib import Path

from .... import workspace
from ....loop import agent_loop
from ...client.endpoint import connect
from ..exercise import Exercise, Property, Such
from .parts import (
    Raised,
    api_says_of,
    are_the_packages,
    has_number,
    holds_one_more,
    leaves_the_package_alone,
    of_both,
    refusing,
    tool_result,
)

# ---- the workspace of grep: `work` in the temporary folder, so that something lies outside of it ----

POSIX = os.name != "nt"  # Windows has no pipes in folders, and links for the few who may

_SHOP = """import csv

SHIPPING = 4.90


def total(subtotal):
    # What a customer pays.
    if subtotal >= 50.00:
        return subtotal
    return subtotal + SHIPPING


def report(totals):
    for name in totals:
        print(name)
"""
SHOP = {
    "shop.py": _SHOP,
    "README.md": "# Tea shop\n\nSencha and more.\n",
    "data/2025/teas.csv": "Oolong,9.00\n",
    "data/2026/teas.csv": "Sencha,12.50\nOolong,9.50\n",
}
MOST_MATCHES = 100  # matches, as the exercise says
MATCHES = 200_000  # so many that counting them anew for each one takes too long


class Link(str):
    """The target of a link, among the contents of files."""


PIPE = object()


@contextlib.contextmanager
def _shop(extra):
    """The shop as the workspace, with `extra` in it: name -> text, bytes, Link or PIPE. Afterwards it is gone again.

    So a file that only one property is about cannot spoil the others.
    """
    folder = workspace.workdir()
    (folder / "secret.txt").write_text("TOP SECRET\n", encoding="utf-8")
    work = folder / "work"
    work.mkdir()
    try:
        for name, content in (SHOP | extra).items():
            path = work / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if isinstance(content, Link):
                path.symlink_to(content)
            elif content is PIPE:
                os.mkfifo(path)
            else:
                path.write_bytes(content if isinstance(content, bytes) else content.encode())
        with workspace.within(work):
            yield
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _in_the_shop(**extra):
    """A `run` that calls yours in the shop."""

    def run(yours, *args):
        with _shop(extra.get("extra", {})):
            return yours(*args)

    return run


def _refusing_in_the_shop(**extra):
    return lambda yours, *args: refusing(_in_the_shop(**extra), yours, *args)


# ---- grep ----

_NEXT = (1, "It holds what the next step needs")
_ORDER = (1, "It has one order")
_LIMIT = (1, "It has a limit")
_NOTHING = (1, "It says in words when there is nothing")
_GUARDS = (2, "`run_glob` and `run_read` have the guards")
_OUTSIDE = (2, "`link.txt` leads out of the workspace")
_PASS = (2, "Each refusal is a `ToolError`")
_END = (2, "A search that stops there")
_ENCODING = (2, "And one file in an old encoding ended it")
_BINARY = (2, "A NUL byte is in no text")
_NEWLINE = (2, "And only a newline ends a line")
_CALL = (3, "A `ToolError` is written for the model")

_LINE = re.compile(r"(?P<file>[^:]+):(?P<line>\d+): ?(?P<text>.*)")


def _found(result):
    """The matches in a result: (file, line, text without the blanks around it)."""
    if not isinstance(result, str):
        raise TypeError("a text is asked for")
    lines = [_LINE.fullmatch(line) for line in result.split("\n")]
    return [(m["file"].removeprefix("./").replace("\\", "/"), int(m["line"]), m["text"].strip()) for m in lines if m]


def _lines(result, *args):
    return [f"{file}:{line}: {text}" for file, line, text in _found(result)]


def _places(result, *args):
    return [f"{file}:{line}" for file, line, _ in _found(result)]


def _whichever_order(result, *args):
    return sorted(_places(result), key=lambda place: (place.split(":")[0], int(place.split(":")[1])))


def _greps(sentence, read, *cases, see=_places, extra=None):
    """cases: (arguments of my_grep, what `see` makes of the right result)."""
    right = dict(cases)
    arguments, run = [args for args, _ in cases], _in_the_shop(extra=extra or {})
    return Property(sentence, read, arguments, lambda *args: right[args], see=see, run=run)


NO_MATCH = Such(
    "a text with 'no matches' in it",
    lambda text: isinstance(text, str) and "no match" in text.lower() and not _found(text),
)


def _says(*words):
    """A right answer: a ValueError, and so a ToolError, with one of the words in it."""
    return Such(
        f"a ToolError that says what is wrong, with {words[0]!r} in it",
        lambda value: isinstance(value, Raised) and any(word in value.text for word in words),
    )


def _bounded(result, *args):
    """How many matches are shown, and the last line."""
    return len(_found(result)), result.rstrip("\n").split("\n")[-1]


_BOUNDED = Such(
    f"at most {MOST_MATCHES} matches, and a last line with the number {MATCHES} in it",
    lambda seen: (
        0 < seen[0] <= MOST_MATCHES
        and any(has_number(seen[1].replace(",", ""), n) for n in (MATCHES, MATCHES - seen[0]))
    ),
)
_OUT = {"link.txt": Link("../secret.txt"), "door": Link("..")} if POSIX else {}

grep = Exercise(
    "09",
    "grep",
    "my_grep(pattern, path='.'), a function that returns the lines that match, as text",
    [
        _greps(
            "a match is a line: file, line number, text",
            _NEXT,
            (("import csv",), ["shop.py:1: import csv"]),
            (("def report(.*):",), ["shop.py:13: def report(totals):"]),
            see=_lines,
        ),
        _greps(
            "the pattern is a regular expression, and may match anywhere in a line",
            _NEXT,
            (("SHIPPING",), ["shop.py:3", "shop.py:10"]),
            (("^def ",), ["shop.py:6", "shop.py:13"]),
            ((r"4\.[0-9]+$",), ["shop.py:3"]),
            see=_whichever_order,
        ),
        _greps(
            "the lines of a file come in their order",
            _ORDER,
            (("subtotal",), ["shop.py:6", "shop.py:8", "shop.py:9", "shop.py:10"]),
        ),
        _greps(
            "folders are searched too: files by name, as seen from the workspace",
            _ORDER,
            (("Oolong",), ["data/2025/teas.csv:1", "data/2026/teas.csv:2"]),
            (("Sencha", "data"), ["data/2026/teas.csv:1"]),
            (("Tea|Oolong",), ["README.md:1", "data/2025/teas.csv:1", "data/2026/teas.csv:2"]),
        ),
        _greps("path may be a file", _NEXT, (("Sencha", "README.md"), ["README.md:3"])),
        Property("no match is a text that says so", _NOTHING, [("Matcha",), ("SENCHA",)], NO_MATCH, run=_in_the_shop()),
        Property(
            "a pattern that is no regular expression is a ToolError that says what is wrong",
            _CALL,
            [("total(",), ("[a-",)],
            lambda pattern: _says(pattern, "missing", "unterminated", "position"),
            run=_refusing_in_the_shop(),
        ),
        Property(
            "a path that is not there is a ToolError, and not 'no matches'",
            _PASS,
            [("Sencha", "no_such_folder"), ("Sencha", "data/no_such_file.csv")],
            lambda pattern, path: _says(path, Path(path).name, "exist", "not found", "no such"),
            run=_refusing_in_the_shop(),
        ),
        Property(
            "a path outside is a ToolError",
            _OUTSIDE,
            [("SECRET", ".."), ("SECRET", "../secret.txt"), *[("SECRET", name) for name in _OUT]],
            lambda pattern, path: _says(path, "outside", "workspace"),
            run=_refusing_in_the_shop(extra=_OUT),
        ),
        Property("nothing outside is searched", _OUTSIDE, [("SECRET",)], NO_MATCH, run=_in_the_shop(extra=_OUT)),
        _greps(
            "a file that is not UTF-8 is searched all the same",
            _ENCODING,
            (("Matcha",), ["old.csv:1"]),
            extra={"old.csv": "Café,Matcha\n".encode("latin-1")},
        ),
        _greps(
            "a binary file is passed over",
            _BINARY,
            (("Matcha",), []),
            extra={"logo.bin": b"Matcha\0\x01\xff\n"},
        ),
        _greps(
            "a large file is searched to its end",
            _END,
            (("needle",), ["large.txt:6001"]),
            extra={"large.txt": "nothing here\n" * 6000 + "needle\n"},
        ),
        _greps(
            "and so is the last of many files",
            _END,
            (("needle",), ["wide/519.txt:1"]),
            extra={f"wide/{n}.txt": "needle\n" if n == 519 else "hay\n" for n in range(520)},
        ),
        _greps(
            "only a newline ends a line, and after the last one comes none",
            _NEWLINE,
            (("the end",), ["pages.txt:2"]),
            (("^$", "blank"), ["blank/lines.txt:2"]),
            extra={"pages.txt": "page 1\x0cpage 2\nthe end\n", "blank/lines.txt": "one\n\nthree\n"},
        ),
        Property(
            "a line is cut after 200 characters",
            _LIMIT,
            [("needle",)],
            Such(
                "a match in one.js:1, and no more than 1,000 characters",
                lambda text: _places(text) == ["one.js:1"] and len(text) < 1000,
            ),
            run=_in_the_shop(extra={"one.js": "needle" + "var a;" * 2000 + "\n"}),
        ),
        Property(
            f"many matches: at most {MOST_MATCHES} are shown, and a last line says how many there are",
            _LIMIT,
            [("sold",)],
            _BOUNDED,
            see=_bounded,
            run=_in_the_shop(extra={"sales.log": "Sencha sold\n" * MATCHES}),
        ),
        *(
            _greps(
                "a pipe is passed over, without waiting for somebody to write into it",
                _GUARDS,
                (("Tea",), ["README.md:1"]),
                extra={"pipe": PIPE},
            ),
        )
        * POSIX,
    ],
    deadline=5.0,
)

# ---- grep_tool ----

_PARTS = (3, "A tool has three parts")
_SCHEMA = (3, "What it needs to know stands in the schema")
_COPY = (4, "Then the agent gets a copy of each table")
_LEARNS = (3, "It learns from errors, too")


def _grep_of(tools):
    return next(tool for tool in tools if tool["name"] == "grep")


def _agent_gets(tools, handlers):
    """The result that an agent sends back when a model calls grep."""
    script = [[{"type": "tool_use", "name": "grep", "input": {"pattern": "tea"}}], "Done."]
    with contextlib.redirect_stdout(io.StringIO()):
        client, model = connect(script=script)
    messages = [{"role": "user", "content": "Where is tea?"}]
    with client:
        agent_loop(client, model, messages, tools=tools, handlers=handlers)
    return messages[2]["content"][0]["content"]


_THE_MATCH = Such("a text with notes.txt:1 in it", lambda text: isinstance(text, str) and "notes.txt:1" in text)

grep_tool = Exercise(
    "09",
    "grep_tool",
    "my_tools, my_handlers: a list of tools, and a dict of handlers",
    [
        *holds_one_more("my", "grep", _COPY, _COPY),
        of_both(
            "the properties of its schema are the arguments: pattern and path",
            _SCHEMA,
            ["path", "pattern"],
            lambda both: sorted(_grep_of(both[0])["input_schema"]["properties"]),
        ),
        of_both(
            "both are strings",
            _SCHEMA,
            ["string", "string"],
            lambda both: [p["type"] for p in _grep_of(both[0])["input_schema"]["properties"].values()],
        ),
        of_both(
            "what has no default is required: pattern alone",
            _SCHEMA,
            ["pattern"],
            lambda both: _grep_of(both[0])["input_schema"]["required"],
        ),
        of_both(
            "the model is told that pattern is a regular expression",
            _SCHEMA,
            Such(
                "a description with 'regular expression' (or regex) in it",
                lambda tool: re.search("regular expression|regex|正则", _described(tool), re.I) is not None,
            ),
            lambda both: _grep_of(both[0]),
        ),
        Property("the API accepts the tools", _SCHEMA, [()], "accepted", see=lambda both: api_says_of(both[0])),
        Property(
            "run_tool runs it: 'tea' stands in line 1 of notes.txt",
            _PARTS,
            [()],
            _THE_MATCH,
            run=lambda yours: tool_result(yours()[1], "grep", pattern="tea", path=".")["content"],
        ),
        Property(
            "a pattern that is no regular expression comes back as is_error",
            _LEARNS,
            [()],
            Such("'is_error': True", lambda result: result.get("is_error") is True),
            run=lambda yours: tool_result(yours()[1], "grep", pattern="tea("),
        ),
        leaves_the_package_alone(_COPY),
        Property(
            "an agent calls it and gets the match",
            _COPY,
            [()],
            _THE_MATCH,
            run=lambda yours: _agent_gets(*yours()),
        ),
    ],
    files={"notes.txt": "green tea\nwater\n"},
    deadline=30.0,  # the first use of the SDK in a kernel takes its time
    untouched=are_the_packages,
)


def _described(tool):
    """All that the model reads about the tool, its name aside."""
    return json.dumps([tool.get("description"), tool["input_schema"]], ensure_ascii=False)
