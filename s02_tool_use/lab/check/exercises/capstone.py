"""The exercises of 10: a grep that is safe, bounded and honest, and the schema under which an agent gets it."""

import contextlib
import io
import json
import os
import re
import shutil

from .... import workspace
from ....calls.tool import schemas_of
from ....loop import agent_loop
from ...client.endpoint import connect
from ..exercise import Such, exercise
from ..trial import off_the_clock
from .parts import Raised, at, each, fact, gives, has_number, refusing, row, string_that, user
from .tables import api_says_of, are_the_packages, calling, holds_one_more, leaves_the_package_alone

# ---- the workspace of grep: `work` in the temporary folder, so that something lies outside of it

POSIX = os.name != "nt"  # Windows has links for the few who may
SHOP = {
    "shop.py": "import csv\n\nSHIPPING = 4.90\n\n\n"
    "def total(subtotal):\n    # What a customer pays.\n    if subtotal >= 50.00:\n        return subtotal\n"
    "    return subtotal + SHIPPING\n\n\n"
    "def report(totals):\n    for name in totals:\n        print(name)\n",
    "about.md": "# Tea shop\n\nSencha and more.\n",
    "data/2025/teas.csv": "Oolong,9.00\n",
    "data/2026/teas.csv": "Sencha,12.50\nOolong,9.50\n",
}
LINKS = {"link.txt": lambda path: path.symlink_to("../secret.txt"), "door": lambda path: path.symlink_to("..")}
MOST_MATCHES = 100  # matches, as the exercise says
MATCHES = 50_000  # so many that counting them anew for each one takes too long


def _in_the_shop(extra=None, how=lambda yours, *args: yours(*args)):
    """A `run` that calls yours in the shop, with `extra` in it: name -> text, bytes, or a function that makes it.

    Afterwards all is gone, so that a file that only one property is about cannot spoil the others.
    """

    def run(yours, *args):
        folder = workspace.workdir()
        work = folder / "work"
        try:
            with off_the_clock():
                build(folder, work)
            with workspace.within(work):
                return how(yours, *args)
        finally:
            with off_the_clock():
                shutil.rmtree(work, ignore_errors=True)

    def build(folder, work):
        (folder / "secret.txt").write_text("TOP SECRET\n", encoding="utf-8", newline="\n")
        files = {work / name: content for name, content in (SHOP | (extra or {})).items()}
        for parent in {path.parent for path in files}:
            parent.mkdir(parents=True, exist_ok=True)
        for path, content in files.items():
            if callable(content):
                content(path)
            else:
                path.write_bytes(content if isinstance(content, bytes) else content.encode())

    return run


_LINE = re.compile(r"(?P<file>[^:]+):(?P<line>\d+): ?(?P<text>.*)")


def _found(result):
    """The matches in a result: (file, line, text without the spaces around it)."""
    if not isinstance(result, str):
        raise TypeError("a string is expected")
    lines = [_LINE.fullmatch(line) for line in result.split("\n")]
    return [(m["file"].removeprefix("./").replace("\\", "/"), int(m["line"]), m["text"].strip()) for m in lines if m]


def _places(result, *_):
    return [f"{file}:{line}" for file, line, _ in _found(result)]


@exercise("my_grep(pattern, path='.'), a function that returns the lines that match, as a string", deadline=10.0)
def grep():
    @row
    def finds(sentence, read, *rows, see=_places, extra=None):
        """rows: (argument of my_grep, ..., what `see` makes of the right result)."""
        return gives(sentence, read)(*rows, see=see, run=_in_the_shop(extra))

    @row
    def refuses(sentence, read, cases, *words, extra=None):
        """The ToolError has the argument that is wrong, the last one, or one of the other words in it."""
        run = _in_the_shop(extra, refusing)
        return gives(sentence, read)(*((*case, error(case[-1], *words)) for case in cases), run=run)

    def error(*words):
        return Such(
            f"a ToolError that says what is wrong, with {words[0]!r} in it",
            lambda value: isinstance(value, Raised) and any(word in value.text for word in words),
        )

    def lines(result, *_):
        return [f"{file}:{line}: {text}" for file, line, text in _found(result)]

    def in_any_order(result, *_):
        return [f"{file}:{line}" for file, line, _ in sorted(_found(result))]

    def number_and_end(result, *_):
        return len(_found(result)), result.rstrip("\n").split("\n")[-1]

    def is_bounded(seen):
        shown, last = seen[0], seen[1].replace(",", "")
        return 0 < shown <= MOST_MATCHES and any(has_number(last, number) for number in (MATCHES, MATCHES - shown))

    step, order = (1, "It holds what the next step needs"), (1, "It has one order")
    limit, outside = (1, "It has a limit"), (2, "`link.txt` leads out of the workspace")
    end, newline = (2, "A search that stops there"), (2, "And only a newline ends a line")
    guards, refusal = (2, "`run_glob` and `run_read` have the guards"), (2, "Each refusal is a `ToolError`")
    written, links = (3, "A `ToolError` is written for the model"), LINKS if POSIX else {}
    no_match = string_that(
        "a string with 'no matches' in it", lambda text: "no match" in text.lower() and not _found(text)
    )
    yield finds("a match is a line: file, line number, text", step)(
        ("import csv", ["shop.py:1: import csv"]), ("def report(.*):", ["shop.py:13: def report(totals):"]), see=lines
    )
    yield finds("the pattern is a regular expression, and may match anywhere in a line", step)(
        ("SHIPPING", ["shop.py:3", "shop.py:10"]),
        ("^def ", ["shop.py:6", "shop.py:13"]),
        (r"4\.[0-9]+$", ["shop.py:3"]),
        see=in_any_order,
    )
    yield finds("the lines of a file come in their order", order)(
        ("subtotal", ["shop.py:6", "shop.py:8", "shop.py:9", "shop.py:10"])
    )
    yield finds("folders are searched too: files by name, as seen from the workspace", order)(
        ("Oolong", ["data/2025/teas.csv:1", "data/2026/teas.csv:2"]),
        ("Sencha", "data", ["data/2026/teas.csv:1"]),
        ("Tea|Oolong", ["about.md:1", "data/2025/teas.csv:1", "data/2026/teas.csv:2"]),
    )
    yield finds("path may be a file", step)(("Sencha", "about.md", ["about.md:3"]))
    yield finds("no match is a string that says so", (1, "It says in words when there is nothing"))(
        ("Matcha", no_match), ("SENCHA", no_match), see=None
    )
    yield refuses("an invalid regular expression is a ToolError that says what is wrong", written)(
        each("total(", "[a-"), "missing", "unterminated", "position"
    )
    yield refuses("a path that does not exist is a ToolError, not 'no matches'", refusal)(
        [("Sencha", "no_such_folder"), ("Sencha", "data/no_such_file.csv")], "no_such", "exist", "not found", "no such"
    )
    yield refuses("a path outside is a ToolError", outside)(
        [("SECRET", path) for path in ("..", "../secret.txt", *links)], "outside", "workspace", extra=links
    )
    yield finds("nothing outside is searched", outside)(("SECRET", no_match), see=None, extra=links)
    yield finds("a file that is not UTF-8 is searched too", (2, "And one file in an old encoding ended it"))(
        ("Matcha", ["old.csv:1"]), extra={"old.csv": "Café,Matcha\n".encode("latin-1")}
    )
    yield finds("a binary file is skipped", (2, "A NUL byte is in no text"))(
        ("Matcha", []), extra={"logo.bin": b"Matcha\0\x01\xff\n"}
    )
    yield finds("a large file is searched to its end, where run_read has stopped at 50,000 bytes", end)(
        ("needle", ["large.txt:6001"]), extra={"large.txt": "nothing here\n" * 6000 + "needle\n"}
    )
    many = {f"wide/{number:03}.txt": "hay\n" if number % 101 else "needle\n" for number in range(506)}
    yield finds("and so is each of many files, where run_glob has stopped at 500 names", end)(
        ("needle", [f"{name}:1" for name, text in many.items() if text == "needle\n"]), extra=many
    )
    yield finds("only a newline ends a line, and the last newline starts no new line", newline)(
        ("the end", ["pages.txt:2"]),
        ("^$", "empty", ["empty/lines.txt:2"]),
        extra={"pages.txt": "page 1\x0cpage 2\nthe end\n", "empty/lines.txt": "one\n\nthree\n"},
    )
    one_line = Such(
        "a match in one.js:1, and no more than 1,000 characters",
        lambda text: _places(text) == ["one.js:1"] and len(text) < 1000,
    )
    yield finds("a line is cut after 200 characters", limit)(
        ("needle", one_line), see=None, extra={"one.js": "needle" + "var a;" * 2000 + "\n"}
    )
    yield finds(f"many matches: at most {MOST_MATCHES} are shown, and a last line says how many there are", limit)(
        ("sold", Such(f"at most {MOST_MATCHES} matches, and a last line with the number {MATCHES} in it", is_bounded)),
        see=number_and_end,
        extra={"sales.log": "Sencha sold\n" * MATCHES},
    )
    if hasattr(os, "mkfifo"):  # Windows and a browser page have none
        yield finds("a pipe is skipped, without waiting for somebody to write to it", guards)(
            ("Tea", ["about.md:1"]), extra={"pipe": os.mkfifo}
        )


def _agent_gets(tools, handlers):
    """The result that an agent sends back when a model calls grep."""
    script = [[{"type": "tool_use", "name": "grep", "input": {"pattern": "tea"}}], "Done."]
    with contextlib.redirect_stdout(io.StringIO()):
        client, model = connect(script=script)
    messages = [user("Where is tea?")]
    with client:
        agent_loop(client, model, messages, tools=tools, handlers=handlers)
    return messages[2]["content"][0]["content"]


@exercise(
    "my_tools, my_handlers: a list of tools, and a dict of handlers",
    files={"notes.txt": "green tea\nwater\n"},
    deadline=30.0,  # the first use of the SDK in a kernel takes its time
    untouched=are_the_packages,
)
def grep_tool():
    def tool(both):
        return next(tool for tool in schemas_of(both[0]) if tool["name"] == "grep")

    def inside(both):
        return tool(both)["input_schema"]

    def is_told(tool):
        """All that the model reads about the tool, its name aside."""
        said = json.dumps([tool.get("description"), tool["input_schema"]], ensure_ascii=False)
        return re.search("regular expression|regex|正则", said, re.I) is not None

    parts, schema = (3, "You can write the same dict by hand"), (3, "It knows a tool by its name")
    copy, learns = (4, "A function goes into the list of tools"), (3, "The model learns from errors, too")
    match = string_that("a string with notes.txt:1 in it", lambda text: "notes.txt:1" in text)
    regex = Such("a description with 'regular expression' (or regex) in it", is_told)
    error = Such("'is_error': True", lambda result: result.get("is_error") is True)
    yield from holds_one_more("my", "grep", copy, copy)
    yield fact("the properties of its schema are the arguments: pattern and path", schema)(
        ["path", "pattern"], lambda both: sorted(inside(both)["properties"])
    )
    yield fact("both are strings", schema)(
        ["string", "string"], lambda both: [field["type"] for field in inside(both)["properties"].values()]
    )
    yield fact("what has no default is required: only pattern", schema)(
        ["pattern"], lambda both: inside(both)["required"]
    )
    yield fact("the model is told that pattern is a regular expression", schema)(regex, tool)
    yield fact("the API accepts the tools", schema)("accepted", lambda both: api_says_of(schemas_of(both[0])))
    yield fact("run_tool runs it: 'tea' stands in line 1 of notes.txt", parts)(
        match, at("content"), calling("grep", pattern="tea", path=".")
    )
    yield fact("an invalid regular expression comes back as is_error", learns)(
        error, run=calling("grep", pattern="tea(")
    )
    yield leaves_the_package_alone(copy)
    yield fact("an agent calls it and gets the match", copy)(match, run=lambda yours: _agent_gets(*yours()))
