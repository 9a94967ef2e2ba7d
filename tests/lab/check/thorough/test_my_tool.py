"""check.my_tool: right tools of every style pass, wrong ones fail with their own sentence and the smallest call.

What is said must not depend on the machine, and nothing of the reader's may be touched.
"""

import asyncio
import contextlib
import dataclasses
import datetime
import enum
import functools
import itertools
import json
import os
import re
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Annotated, Literal

import hypothesis
import pytest
from anthropic import beta_async_tool, beta_tool
from pydantic import BaseModel, Field

from s02_tool_use import TOOL_HANDLERS, TOOLS, ToolError, run_glob, run_read, workdir
from s02_tool_use.lab import check
from s02_tool_use.lab.check import inputs, reading
from s02_tool_use.lab.check.exercise import NOT_TRIED, NOT_YET, RIGHT, WRONG
from s02_tool_use.lab.check.lint import LINES
from s02_tool_use.lab.sessions.job import Stopped


@pytest.fixture(autouse=True)
def shop(workspace):
    """The workspace of the reader, with a small database."""
    (workspace / "notes.txt").write_text("green tea\nblack tea\nwater\n", encoding="utf-8")
    with sqlite3.connect(workspace / "orders.db") as database:
        database.execute("create table orders (tea text, price real)")
        database.executemany("insert into orders values (?, ?)", [("green", 4.5), ("black", 3.0)])
    database.close()
    return workspace


def dict_of(name, description, required, **properties):
    schema = {"type": "object", "properties": properties, "required": required}
    return {"name": name, "description": description, "input_schema": schema}


def text(description):
    return {"type": "string", "description": description}


# ---- right tools, each in a style of its own


def count_lines(path: str, word: str = "") -> str:
    """Count the lines of a text file that contain a word. Use it instead of reading a long file. Returns the number.

    Args:
        path: The file, relative to the workspace.
        word: Count the lines with this word alone; all lines if it is left out.
    """
    try:
        lines = Path(path).read_text(encoding="utf-8").split("\n")
    except (OSError, ValueError) as error:
        raise ToolError(f"{path!r} cannot be read as text ({type(error).__name__}); name a text file") from None
    return str(sum(word in line for line in lines))


COUNT_LINES = dict_of(
    "count_lines",
    "Count the lines of a text file that contain a word. Use it instead of reading a long file. Returns the number.",
    ["path"],
    path=text("The file, relative to the workspace."),
    word=text("Count the lines with this word alone."),
)


class Shop:
    def __init__(self, prices):
        self.prices = prices

    def price_of(self, tea: Annotated[str, Field(description="The tea, in small letters: green, black.")]) -> dict:
        """Look up what one hundred grams of a tea cost. Use it before you tell a price. Returns the price in euros."""
        if tea not in self.prices:
            raise ToolError(f"There is no tea {tea!r}; the teas are: {', '.join(self.prices)}")
        return {"tea": tea, "price": self.prices[tea]}


class Size(enum.Enum):
    SMALL = "small"
    LARGE = "large"


class Line(BaseModel):
    tea: str = Field(description="Which tea")
    grams: int = Field(ge=50, le=1000, description="How much of it")


class Order(BaseModel):
    """What is ordered, and by whom."""

    customer: str
    lines: list[Line] = Field(min_length=1)


def total_weight(order: Order, size: Size = Size.SMALL) -> int:
    """Add up what an order weighs, in grams. Use it when somebody asks for postage. Returns the weight as a number.

    Args:
        order: The order.
        size: The size of the box, which weighs something too.
    """
    return sum(line.grams for line in order.lines) + (100 if size is Size.LARGE else 20)


async def later(day: datetime.date) -> str:
    """Say on which weekday a date falls. Use it for questions about opening hours. Returns the name of the weekday.

    Args:
        day: The date.
    """
    await asyncio.sleep(0)
    return day.strftime("%A")


@beta_tool
def find_files(pattern: str) -> str:
    """Find files whose names match a pattern. Use it when you do not know a path. Returns the names, one a line.

    Args:
        pattern: Such as `*.txt`.
    """
    return run_glob(pattern)


@beta_async_tool
async def read_start(path: str, lines: int = 10) -> str:
    """Read the first lines of a text file. Only for files in the workspace. Returns these lines.

    Args:
        path: The file to read.
        lines: How many lines.
    """
    return run_read(path, limit=lines)


@beta_tool(name="repeat", description="Say something several times. Only for short words. Returns what was said.")
def by_arguments(
    word: Annotated[str, Field(description="What to say", max_length=50)],
    times: Annotated[int, Field(ge=1, le=20, description="How often")] = 2,
) -> str:
    return f"[{' '.join([word] * times)}]"


ORDERS = dict_of(
    "query_orders",
    "Ask the orders of the shop with one SELECT of SQLite. Use it for questions about what was sold. Returns at most "
    "50 rows as JSON.",
    ["sql"],
    sql=text("One SELECT statement. The table is orders(tea, price)."),
)


def query_orders(sql: str):
    if not Path("orders.db").exists():
        raise ToolError("there is no database")
    database = sqlite3.connect("file:orders.db?mode=ro", uri=True)
    try:
        return database.execute(sql).fetchmany(50)
    except (sqlite3.Error, sqlite3.Warning) as error:
        raise ToolError(f"SQLite says: {error}. Send one SELECT.") from None
    finally:
        database.close()


def chart(values: Annotated[list[float], Field(min_length=1, max_length=20, description="The bars")]) -> list[dict]:
    """Draw numbers as bars. Use it when numbers are easier to see than to read. Returns one line for each bar."""
    return [{"type": "text", "text": f"{value:8.2f} {'#' * min(20, int(abs(value)))}"} for value in values]


字数 = dict_of(
    "count_characters",
    "统计一段文字有多少个字符。需要知道长度时使用，不要自己数。返回字符的个数。",
    ["text"],
    text={"type": "string", "description": "要统计的文字"},
)
GERMAN = dict_of(
    "zeilen",
    "Zählt, wie viele Zeilen ein Text hat. Das Werkzeug hilft, wenn jemand nach der Länge eines Textes fragt; es "
    "liefert die Anzahl der Zeilen als Zahl zurück, auch für einen leeren Text.",
    ["inhalt"],
    inhalt={"type": "string", "description": "Der Text, um den es geht"},
)


def reverse_words(text: str, separator: Literal[" ", ","] = " ") -> str:
    """Turn the order of words round. Useful for lists that are the wrong way round. Answers with the new text.

    Args:
        text: The words.
        separator: What stands between the words.
    """
    if len(text) > 10_000:
        raise ValueError("text is too long: send at most 10,000 characters")
    return separator.join(reversed(text.split(separator))) or "(nothing)"


def no_arguments() -> str:
    """Say which teas are sold today. Use it before an order is taken. Returns the names of the teas."""
    return "green, black"


@dataclasses.dataclass
class Answer:
    words: int
    lines: int


def measure(text: str, /) -> Answer:
    return Answer(len(text.split()), len(text.splitlines()))


def describe(**given):
    return f"[{given['text'].upper()}]"


class Bell:
    """Ring a bell. Only when somebody asks for it. Returns how often it rang.

    Args:
        times: How often, at most 9.
    """

    __name__ = "bell"

    def __call__(self, times: Annotated[int, Field(ge=1, le=9)]) -> str:
        return "ding " * times


def postage(code: Annotated[str, Field(pattern=r"^\d{2}$", description="The first two digits of the postcode")]) -> str:
    """Tell what a parcel costs to a place. Use it before an order is confirmed. Returns the price in euros."""
    return f"{int(code) / 10 + 4}"


def keeps(note: str) -> None:
    """Keep a note in a file. Use it when something is to be remembered. Returns nothing.

    Args:
        note: What to keep.
    """
    Path("kept.txt").write_text(note, encoding="utf-8")


CITY = dict_of(
    "temperature",
    "Tell how warm it is in a city. Use it when somebody asks about the weather. Returns degrees Celsius.",
    ["city"],
    city=text("The city, such as Oslo or São Paulo."),
)


def temperature(city):
    degrees = {"Oslo": 8, "São Paulo": 21}
    if city not in degrees:
        raise ToolError(f"There is nothing about {city!r}. The cities are: {', '.join(degrees)}")
    return degrees[city]


RIGHT_TOOLS = {
    "a function": (count_lines,),
    "a dict and a function": (COUNT_LINES, count_lines),
    "a bound method": (Shop({"green": 4.5}).price_of,),
    "nested models, an enum": (total_weight,),
    "an async function": (later,),
    "beta_tool": (find_files,),
    "beta_async_tool": (read_start,),
    "beta_tool by its arguments": (by_arguments,),
    "a read-only database": (ORDERS, query_orders),
    "content blocks": (chart,),
    "Chinese": (字数, lambda text: str(len(text))),
    "German": (GERMAN, lambda inhalt: str(inhalt.count("\n") + 1)),
    "a ValueError on purpose": (reverse_words,),
    "no arguments": (no_arguments,),
    "a handler that takes anything": (
        dict_of("upper", "Write a text in capitals. Use it for headings. Returns it.", ["text"], text=text("The text")),
        describe,
    ),
    "an object that can be called": (Bell(),),
    "nothing, as it says": (keeps,),
    "a pattern that Python and JSON Schema read differently": (postage,),
    "a few cities alone": (CITY, temperature),
    "a partial": (
        dict_of("lines_of", "Count the lines of a file. Use it for notes. Returns the number.", [], word=text("Which")),
        functools.partial(count_lines, "notes.txt"),
    ),
}


@pytest.mark.parametrize("given", RIGHT_TOOLS.values(), ids=RIGHT_TOOLS)
def test_a_right_tool_passes(given):
    verdict = check.my_tool(*given)
    assert verdict.passed, repr(verdict)


@pytest.mark.parametrize("tool", TOOLS, ids=[tool["name"] for tool in TOOLS])
def test_the_packages_own_tools_pass(tool):
    verdict = check.my_tool(tool)
    assert verdict.passed, repr(verdict)


# ---- wrong ones


DOES = "Do something with a text that the user has given. Use it for texts. Returns what came out."


def given(name="do_it", description=DOES, required=("text",), **properties):
    return dict_of(name, description, list(required), **(properties or {"text": text("What to look at")}))


NUMBER = {"number": {"type": "integer", "description": "Which one"}}
numbers = functools.partial(given, required=["number"], **NUMBER)
items = functools.partial(
    given, required=["items"], items={"type": "array", "items": {"type": "string"}, "description": "All"}
)


def first_word(text):
    return text.split()[0]


def reads(path: str) -> str:
    """Read a text file. Use it for notes and lists. Returns the whole text.

    Args:
        path: The file to read.
    """
    return Path(path).read_text(encoding="utf-8") or "(empty)"


def reads_all(path: str) -> str:
    """Read a text file. Use it for notes and lists. Returns the whole text.

    Args:
        path: The file to read.
    """
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace") or "(empty)"
    except (OSError, ValueError):
        raise ToolError(f"{path!r} is no file; name one that is there") from None


def matches(pattern: str) -> str:
    """Find the teas whose names match. Use it to search. Returns the names.

    Args:
        pattern: A regular expression.
    """
    return ", ".join(tea for tea in ("green", "black") if re.search(pattern, tea)) or "none"


def in_days(days: int) -> str:
    """Say which date it is in so many days. Use it for deliveries. Returns the date.

    Args:
        days: How many days from the first of May 2026.
    """
    return str(datetime.date(2026, 5, 1) + datetime.timedelta(days=days))


def query_rows(sql):
    with contextlib.closing(sqlite3.connect("orders.db")) as orders:
        return orders.execute(sql).fetchall()


def counts(text: int) -> str:
    return f"[{text}]"


def sorts(items):
    items.sort()
    return ", ".join(items) or "none"


def prints(text):
    print(text.upper())


def over_five(number):
    if number > 5:
        raise KeyError(number)
    return "fine"


def hangs(number):
    while number > 5:
        pass
    return "fine"


def leaves(number):
    if number < 0:
        raise SystemExit(1)
    return "fine"


CALLS = []


def every_third(text):
    CALLS.append(text)
    return "fine"[len(CALLS) % 3 :] if len(CALLS) % 3 else 1 / 0


async def forgets(text):
    return await asyncio.sleep(0, text.split()[0])


@beta_tool
def with_hidden_words(city: str) -> str:
    """Look the weather of a city up. Use it when somebody asks.

    Args:
        city: The city, such as 'Paris'.

    Returns:
        The temperature.
    """
    return f"It is warm in {city}"


@beta_tool
def adds(a: int, b: int) -> str:
    """Add two whole numbers. Use it when somebody has a sum to work out. Returns the sum.

    Args:
        a: The first number.
        b: The second number.
    """
    return a + b if a != 7 else {1, 2}.difference


# what is checked, the kind of the first wrong line, what it says
WRONG_TOOLS = {
    "a name with a space": ([given(name="do it"), str], "api", "String should match pattern"),
    "a schema that is none": ([given(text={"type": "text"}), str], "api", "input_schema"),
    "a schema without its type": ([{"name": "a", "description": DOES, "input_schema": {}}, str], "api", "type"),
    "a misspelled argument": (
        [given(required=[], txt=text("All")), lambda text: text],
        "same",
        "the schema offers txt",
    ),
    "a required name that is not there": ([given(required=["txt"]), lambda text: text], "same", "`required` has 'txt'"),
    "an argument not in the schema": ([given(), lambda text, size: text], "same", "needs size, which the schema"),
    "a default that is required": ([given(), lambda text="": f"[{text}]"], "same", "text has a default"),
    "no required": ([given(required=[]), lambda text: f"[{text}]"], "same", "needs text, so it must be in"),
    "by position": ([given(), measure], "same", "takes text by position only"),
    "a type that differs": ([given(), counts], "same", "text is of type string in the schema, and int in the"),
    "no type": ([given(text={"description": "All"}), lambda text: f"[{text}]"], "arguments", "text has no type"),
    "no description of an argument": (
        [given(words={"type": "string"}, required=[]), lambda words="": "x"],
        "arguments",
        "words has no description",
    ),
    "an argument described by its name": (
        [given(file_name=text("File name"), required=[]), lambda file_name="": "x"],
        "arguments",
        "no more than its name",
    ),
    "no description": ([given(description=""), lambda text: f"[{text}]"], "does", "no description"),
    "its name as description": ([given("count_words", "Counts words."), lambda text: f"[{text}]"], "does", "Counts"),
    "not when to use it": (
        [given(description="Gets the weather for a city. Returns the temperature."), lambda text: f"[{text}]"],
        "use",
        "Gets the weather",
    ),
    "not what comes back": (
        [given(description="Gets the weather for a city. Use it before trips."), lambda text: f"[{text}]"],
        "back",
        "Gets the weather",
    ),
    "Chinese that says one thing alone": (
        [given(description="统计一段文字有多少个字符"), lambda text: "5"],
        "use",
        "统计",
    ),
    "what comes back, where the model does not see it": ([with_hidden_words], "back", "is not sent"),
    "the first of nothing": ([given(), first_word], "raised", "do_it(text='')"),
    "a file that is not there": ([reads], "raised", "reads(path='')"),
    "a pattern that is none": ([matches], "raised", "matches(pattern='(')"),
    "a date too far": ([in_days], "raised", "OverflowError"),
    "SQL as it comes": ([ORDERS, query_rows], "raised", "orders.execute(sql)"),
    "from six on": ([numbers(), over_five], "raised", "do_it(number=6)"),
    "an await that fails": ([given(), forgets], "raised", "do_it(text='')"),
    "an exit": ([numbers(), leaves], "raised", "SystemExit: 1"),
    "a ToolError without a word": (
        [given(), lambda text: (_ for _ in ()).throw(ToolError(""))],
        "raised",
        "without a word",
    ),
    "a set of methods": ([adds], "unsendable", "a=7"),
    "an object": ([given(), lambda text: threading.Event()], "unsendable", "do_it(text='')"),
    "an empty answer": ([given(), lambda text: "" if "tea" in text else "x"], "empty", "do_it(text='tea')"),
    "a forgotten return": ([given(), lambda text: [text].clear()], "empty", "is a return missing?"),
    "printed": ([given(), prints], "empty", "printed, and not returned?"),
    "too long": ([reads_all], "long", "reads_all(path='long.txt')"),
    "its arguments changed": ([items(), sorts], "intact", "do_it(items=['a', ''])"),
    "no end": ([numbers(), hangs], "late", "do_it(number=7)"),
    "lines without end": ([given(), lambda text: itertools.repeat("x")], "long", "items, and there are more"),
    "lines that fail later": ([given(), lambda text: map(len, [text, None])], "raised", "TypeError: object of type"),
    "blocks without a word": ([given(), lambda text: [{"type": "text", "text": " "}]], "empty", "'text': ' '"),
    "no thing that it takes": (
        [items(items={"enum": [], "description": "All"}), str],
        "taken",
        "no call could be made",
    ),
    "not always": ([given(), every_third], "raised", "did not fail again"),
}


@pytest.mark.parametrize(("tool", "kind", "said"), WRONG_TOOLS.values(), ids=WRONG_TOOLS)
def test_a_wrong_tool_fails_with_its_own_sentence(tool, kind, said):
    CALLS.clear()
    verdict = check.my_tool(*tool, deadline=0.5)
    line = next(line for line in verdict.lines if line.verdict == WRONG)
    assert line.sentence == LINES[kind][0], repr(verdict)
    assert said in repr(verdict)
    assert tempfile.gettempdir() not in repr(verdict)


# ---- wrong use of the check, and what is not filled in yet

WRONG_USE = {
    "a number": ([4], "of type int"),
    "a name": (["count_lines"], "of type str"),
    "a list": ([TOOLS], "one tool at a time"),
    "a class": ([Shop], "the class Shop"),
    "a module": ([os], "of type module"),
    "a lambda": ([lambda text: text], "lambda"),
    "any arguments": ([describe], "**given"),
    "by position": ([measure], "positional-only"),
    "a dict alone": ([COUNT_LINES], "which function does it"),
    "the handlers": ([{"count_lines": count_lines}], "no name and no input_schema"),
    "a function and a handler": ([count_lines, count_lines], "leave out the handler"),
    "a handler that is none": ([COUNT_LINES, "count_lines"], "must be a function, not a str"),
    "handlers as the handler": ([COUNT_LINES, {"count_lines": count_lines}], "must be a function, not a dict"),
    "a tool as the handler": ([COUNT_LINES, find_files], "check.my_tool(handler)"),
    "a tool of the API's": ([{"type": "bash_20250124", "name": "bash"}], "a tool of the API's own"),
}


@pytest.mark.parametrize(("tool", "said"), WRONG_USE.values(), ids=WRONG_USE)
def test_what_cannot_be_a_tool_is_told_in_one_sentence(tool, said):
    (line,) = check.my_tool(*tool).lines
    assert line.verdict == WRONG
    assert said in dict(line.details)["yours"]


def unfilled(text: str) -> str:
    """Say a text backwards. Use it for fun. Returns the text.

    Args:
        text: What to turn round.
    """
    raise NotImplementedError


def empty(text: str) -> str:
    """Say a text backwards. Use it for fun. Returns the text.

    Args:
        text: What to turn round.
    """


@pytest.mark.parametrize("tool", [(None,), (...,), (unfilled,), (empty,), (COUNT_LINES, ...), ({"name": ...},)])
def test_what_is_not_filled_in_is_not_yet(tool):
    assert {line.verdict for line in check.my_tool(*tool).lines} == {NOT_YET}


def test_a_dict_alone_has_the_packages_function_of_its_name():
    assert check.my_tool(next(tool for tool in TOOLS if tool["name"] == "glob")).passed


def test_it_is_offered_among_the_checks_and_counts_as_no_exercise():
    before = repr(check.progress())
    assert "my_tool" in dir(check)
    assert check.my_tool(count_lines).passed
    assert repr(check.progress()) == before


# ---- what it leaves alone


def deletes(path: str) -> str:
    """Delete a file. Only for files that nobody needs. Returns what was deleted.

    Args:
        path: The file to delete.
    """
    try:
        Path(path).unlink()
    except (OSError, ValueError) as error:
        raise ToolError(f"{path!r} stays: {type(error).__name__}") from None
    return f"Deleted {path}"


def tree(folder):
    return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_the_readers_files_and_folder_stay_as_they_are(shop):
    before, here = tree(shop), Path.cwd()
    assert check.my_tool(deletes).passed
    assert check.my_tool(TOOLS[2], TOOL_HANDLERS["write_file"])
    assert tree(shop) == before, "hypothesis keeps nothing either"
    assert workdir() == shop
    assert Path.cwd() == here


def test_each_call_finds_the_same_files():
    seen = set()

    def look(number: int) -> str:
        """Look at all files and leave one more. Use it never. Returns how many there are.

        Args:
            number: Of the new file.
        """
        names = sorted(path.as_posix() for path in Path().rglob("*"))
        seen.add(tuple(names))
        Path("notes.txt").write_text("")
        Path(f"{number}.txt").touch()
        return str(len(names))

    assert check.my_tool(look).passed
    (names,) = seen
    assert {"notes.txt", "orders.db", "long.txt", "empty.txt", "binary.dat", "a folder/notes.txt"} <= set(names)


def test_hidden_files_and_links_are_not_copied_and_a_large_folder_not_whole(shop, tmp_path):
    (shop / ".env").write_text("KEY=1")
    (shop / ".git").mkdir()
    (shop / ".git" / "config").touch()
    (tmp_path / "secret.txt").touch()
    (shop / "link.txt").symlink_to(tmp_path / "secret.txt")
    for number in range(300):
        (shop / f"z{number:03}.txt").touch()
    seen = set()

    def look() -> str:
        """Look at all the files that there are here. Use it to see them. Returns how many there are."""
        seen.update(path.as_posix() for path in Path().rglob("*"))
        return str(len(seen))

    assert check.my_tool(look).passed
    assert {"notes.txt", "z100.txt"} <= seen
    assert not seen & {".env", ".git/config", "link.txt", "z299.txt"}


def test_the_settings_of_hypothesis_stay_as_they_are(tmp_path):
    from hypothesis import configuration

    configuration.set_hypothesis_home_dir(tmp_path / "mine")
    before = hypothesis.settings.default
    try:
        assert check.my_tool(count_lines).passed
        assert hypothesis.settings.default is before
        assert configuration.storage_directory("x").path == tmp_path / "mine" / "x"
        assert not (tmp_path / "mine").exists()
    finally:
        configuration.set_hypothesis_home_dir(None)


def test_values_that_a_description_names_are_tried():
    said = "The city, such as Oslo, São Paulo or `Rio`; it is like 'Bergen' (not like Tromsø)."
    assert {"Oslo", "São Paulo", "Rio", "Bergen", "Tromsø"} <= set(inputs.named_in(said))
    verdict = check.my_tool(CITY, temperature)
    assert "every call was refused" not in repr(verdict)


def test_a_tool_that_refuses_every_call_is_told_so():
    def refuses(text):
        raise ToolError("send another one")

    verdict = check.my_tool(given(), refuses)
    assert verdict.passed
    assert "every call was refused" in repr(verdict)


def test_nothing_is_left_in_the_folder_of_a_process_that_begins_with_it(tmp_path):
    lines = ["from s02_tool_use.lab import check", f"schema = {SCHEMAS['a pattern']!r}"]
    lines.append("print(check.my_tool({'name': 'a', 'description': '', 'input_schema': schema}, lambda s='': 'fine'))")
    command = [sys.executable, "-c", "\n".join(lines)]
    (folder := tmp_path / "new").mkdir()
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=100)
    assert "right      every call ends in time" in done.stdout
    assert done.stderr == ""
    assert list(folder.iterdir()) == []


# ---- what is tried is harmless, and the same each time


def recorded(tool, seen):
    """The tool as a dict, and a function that only notes its arguments."""
    return tool, lambda **given: seen.append(given) or "fine"


RISKY = {
    "a command": given(command=text("The command, such as 'rm -rf build'"), required=["command"]),
    "a shell's line": given("terminal", required=["line"], line=text("The line, such as `reboot`")),
    "by its examples": given(cmd={"type": "string", "examples": ["git push"]}, required=["cmd"]),
    "code": given(code=text("Python"), required=["code"]),
}


@pytest.mark.parametrize("tool", RISKY.values(), ids=RISKY)
def test_a_command_is_never_made_up(tool):
    seen = []
    check.my_tool(*recorded(tool, seen))
    assert {value for call in seen for value in call.values() if isinstance(value, str)} == set(inputs.COMMANDS)


def test_no_process_that_there_is_is_named():
    seen = []
    tool = given("stop", required=["pid"], pid={"type": "integer", "description": "Which", "default": 1})
    check.my_tool(*recorded(tool, seen))
    assert {call["pid"] for call in seen} == {inputs.NO_PROCESS}


@pytest.mark.parametrize("name", ["path", "text", "url", "pattern", "to", "query", "file_name", "anything"])
def test_no_string_leads_out_or_means_something_to_a_shell(name):
    seen = []
    described = text("Such as `../../secret.txt`, '/etc/passwd', `$HOME` or \"rm -rf ~; reboot\"")
    check.my_tool(*recorded(given(required=[name], **{name: {**described, "default": "/etc/hosts"}}), seen))
    values = [call[name] for call in seen]
    assert len(set(values)) > 20
    for value in values:
        assert not value.startswith("/")
        assert ".." not in value
        assert not set(value) & set("\\~$`;&|<>!\0")
    hosts = {host for value in values for host in re.findall(r"//([^/:]*)", value)}
    assert hosts <= {"127.0.0.1"}


def test_two_runs_try_the_same_and_say_the_same():
    runs = []
    for _ in range(2):
        seen = []
        tool, note = recorded(given(required=["text"], text=text("All"), number=NUMBER["number"]), seen)
        verdict = check.my_tool(tool, lambda note=note, **given: note(**given) if given.get("number", 0) < 5 else None)
        runs.append((seen, repr(verdict)))
    assert runs[0] == runs[1]
    assert "number=5" in runs[0][1]


def test_nothing_is_printed(capfd):
    def loud(number: int) -> str:
        """Shout a number. Use it never. Returns the number.

        Args:
            number: Which.
        """
        print("LOUD")
        return str(1 // number)

    verdict = check.my_tool(loud)
    assert not verdict.passed
    assert capfd.readouterr() == ("", "")
    assert ("printed", "LOUD") in next(line for line in verdict.lines if line.verdict == WRONG).details


# ---- time


def test_a_tool_has_more_time_where_the_disk_is_slow(monkeypatch):
    def count_lines(path: str) -> str:
        """Count the lines of a file."""
        time.sleep(0.4)  # as long as the slow disk takes
        return "3"

    def slow(path, data, write=Path.write_bytes):
        time.sleep(0.1)
        return write(path, data)

    monkeypatch.setattr(Path, "write_bytes", slow)
    lines = {line.sentence: line.verdict for line in check.my_tool(count_lines, deadline=0.2).lines}
    assert next(verdict for sentence, verdict in lines.items() if "ends in time" in sentence) == RIGHT


def test_after_a_call_without_end_nothing_more_is_called():
    started = []

    def waits(number: int) -> str:
        """Wait for what never comes. Use it never. Returns nothing good.

        Args:
            number: How long.
        """
        started.append(number)
        threading.Event().wait()

    verdict = check.my_tool(waits, deadline=0.1)
    assert len(started) == 1
    assert [line.verdict for line in verdict.lines[6:]].count(NOT_TRIED) == 9
    assert "every call ends in time" in next(line.sentence for line in verdict.lines if line.verdict == WRONG)


def test_a_slow_tool_is_called_a_few_times_with_small_and_large(monkeypatch):
    from s02_tool_use.lab.check import lint

    seen, clock = [], [0.0]
    monkeypatch.setattr(lint.time, "monotonic", lambda: clock[0])

    def slow(number: int) -> str:
        """Take a second for each call. Use it rarely. Returns the number.

        Args:
            number: Which.
        """
        seen.append(number)
        clock[0] += 1.0
        return str(number)

    assert check.my_tool(slow).passed
    fitting = [number for number in seen if isinstance(number, int)]
    assert 4 <= len(fitting) <= 8
    assert max(map(abs, fitting)) > 100


def test_where_all_around_a_call_is_slow_no_fewer_calls_are_made(monkeypatch):
    from s02_tool_use.lab.check import lint

    seen, clock, takes = [], [0.0], [0.0]
    monkeypatch.setattr(lint.time, "monotonic", lambda: clock[0])

    def restore(room, restored=lint.Room.restore):
        clock[0] += takes[0]
        restored(room)

    def count(word: str, times: int) -> str:
        """Count a word. Use it rarely. Returns the number.

        Args:
            word: Which.
            times: How often.
        """
        seen.append((word, times))
        return str(times)

    monkeypatch.setattr(lint.Room, "restore", restore)
    assert check.my_tool(count).passed
    quick, takes[0] = len(seen), 0.2
    assert check.my_tool(count).passed
    assert len(seen) == 2 * quick > 100


# ---- schemas of all kinds

SCHEMAS = {
    "a list of itself": (
        {"type": "object", "properties": {"node": {"$ref": "#/$defs/Node"}}, "required": ["node"]}
        | {
            "$defs": {
                "Node": {
                    "type": "object",
                    "properties": {"inner": {"type": "array", "items": {"$ref": "#/$defs/Node"}}},
                }
            }
        }
    ),
    "bounds": {
        "type": "object",
        "properties": {"n": {"type": "integer", "minimum": 5, "maximum": 6}},
        "required": ["n"],
    },
    "open bounds": {
        "type": "object",
        "properties": {"n": {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1}},
    },
    "steps": {"type": "object", "properties": {"n": {"type": "integer", "multipleOf": 250}}, "required": ["n"]},
    "a pattern": {
        "type": "object",
        "properties": {"s": {"type": "string", "pattern": "^[A-Z]{2}-\\d+$"}},
        "required": ["s"],
    },
    "a date": {"type": "object", "properties": {"s": {"type": "string", "format": "date"}}, "required": ["s"]},
    "lengths": {
        "type": "object",
        "properties": {"s": {"type": "string", "minLength": 30, "maxLength": 31}},
        "required": ["s"],
    },
    "an enum": {"type": "object", "properties": {"s": {"enum": ["/etc", 1, None]}}, "required": ["s"]},
    "one of two": {
        "type": "object",
        "properties": {"s": {"oneOf": [{"type": "integer"}, {"type": "null"}]}},
        "required": ["s"],
    },
    "types": {"type": "object", "properties": {"s": {"type": ["boolean", "array"], "maxItems": 1}}, "required": ["s"]},
    "all of": {
        "type": "object",
        "properties": {"n": {"allOf": [{"type": "integer"}, {"minimum": 9}]}},
        "required": ["n"],
    },
    "a tuple": {
        "type": "object",
        "properties": {"p": {"type": "array", "prefixItems": [{"type": "integer"}], "minItems": 2}},
    },
    "unique": {
        "type": "object",
        "properties": {"p": {"type": "array", "uniqueItems": True, "minItems": 2, "items": {"type": "integer"}}},
    },
    "any keys": {
        "type": "object",
        "properties": {"p": {"type": "object", "additionalProperties": {"type": "integer"}, "minProperties": 2}},
    },
    "anything": {"type": "object", "properties": {"p": {}}, "required": ["p"]},
    "nothing": {"type": "object", "properties": {}},
}


@pytest.mark.parametrize("schema", SCHEMAS.values(), ids=SCHEMAS)
def test_calls_are_made_from_any_schema_and_fit_it(schema):
    made = inputs.Inputs(schema)
    seen = []
    inputs.explore(made.calls(), seen.append, 30)
    assert seen
    assert all(map(made.fit, seen))
    for name in schema.get("required", ()):
        assert len({json.dumps(call[name]) for call in seen}) > 1, "values differ"


NEVER = {
    "bounds that exclude each other": {"type": "integer", "minimum": 3, "maximum": 2},
    "never right": {"not": {}},
    "a reference that leads nowhere": {"$ref": "#/$defs/Gone"},
    "a reference to elsewhere": {"$ref": "https://example.com/schema.json"},
    "itself without end": {"$ref": "#/properties/text"},
}


@pytest.mark.parametrize("schema", NEVER.values(), ids=NEVER)
def test_a_schema_that_no_call_fits_is_told(schema):
    verdict = check.my_tool(given(text={"description": "All", **schema}), lambda text: "fine")
    line = next(line for line in verdict.lines if line.sentence == LINES["taken"][0])
    assert ("yours", "no call could be made that fits the schema") in line.details


# ---- what a tool says of itself


def test_words_are_counted_in_any_script():
    assert len(reading.words("Count the lines")) == 3
    assert reading.words("file_name fileName") == ["file", "name", "file", "name"]
    assert len(reading.words("统计文件的行数")) == 4
    assert len(reading.words("Прочитать файл")) == 2
    assert not reading.says_more("Counts the lines", "count_lines", 2)


@pytest.mark.parametrize(
    "said",
    [
        "Считает строки в текстовом файле, если нужно узнать его длину, и возвращает найденное число строк как обычный "
        "текст без каких-либо пояснений, даже для самых больших файлов",
        "テキストファイルの行数を数えます。ファイルの長さを知りたいときに呼び出してください。行数を数字として戻します。",
    ],
)
def test_a_long_description_in_another_language_is_believed(said):
    assert check.my_tool(given(description=said), lambda text: f"[{text}]").passed


# ---- around it


@pytest.mark.skipif(sys.platform == "win32", reason="Windows sends Ctrl-C to a whole console")
def test_ctrl_c_ends_the_call_and_is_one_sentence(ctrl_c, shop):
    runs = threading.Event()

    def waits(number: int) -> str:
        """Wait for what never comes. Use it never. Returns nothing good.

        Args:
            number: How long.
        """
        runs.set()
        while True:
            pass

    ctrl_c(runs)
    with pytest.raises(Stopped) as stopped:
        check.my_tool(waits, deadline=20)
    assert stopped.value._render_traceback_() == ["waits: stopped. Nothing was judged."]
    assert workdir() == shop


def test_it_can_be_used_inside_a_test_of_hypothesis_and_inside_a_running_loop():
    verdicts = []

    @hypothesis.settings(max_examples=2, suppress_health_check=list(hypothesis.HealthCheck))
    @hypothesis.given(hypothesis.strategies.booleans())
    def inside(flag):
        verdicts.append(check.my_tool(no_arguments))

    async def beside():
        verdicts.append(check.my_tool(later))

    inside()
    asyncio.run(beside())
    assert len(verdicts) == 3
    assert all(verdicts)


class Odd:
    """What an SDK's tool may look like."""

    name = "odd"

    def to_dict(self):
        raise RuntimeError("not today")

    def call(self, given):
        return "fine"


class Unshown:
    def __repr__(self):
        raise RuntimeError


class Unsaid(Exception):
    def __str__(self):
        raise RuntimeError


def raising(error):
    def raises(text):
        raise error

    return raises


@pytest.mark.parametrize(
    ("tool", "said"),
    [
        ((Odd(),), "RuntimeError: not today"),
        ((given(), lambda text: Unshown()), "<Unshown>"),
        ((given(), raising(Unsaid())), "Unsaid: without a word"),
        ((given(), raising(KeyboardInterrupt())), "KeyboardInterrupt: without a word"),
        (({"name": 3, "input_schema": []}, str), "Input should be a valid string"),
        (({"name": "a", "input_schema": {"type": "object", "properties": []}}, str), "JSON schema is invalid"),
        (({"name": "a", "input_schema": {"type": "object", "required": "text"}}, str), "JSON schema is invalid"),
        ((given(text="string"), str), "JSON schema is invalid"),
    ],
)
def test_what_a_tool_is_made_of_cannot_break_the_check(tool, said):
    verdict = check.my_tool(*tool)
    assert not verdict.passed
    assert said in repr(verdict)
    assert said.replace("<", "&lt;").replace(">", "&gt;") in verdict._repr_html_()
