"""The exercises of 02: a table of tools, a run_tool that never raises, and a tool of one's own that tells the truth."""

import re
import tempfile
from pathlib import Path

from ....workspace import workdir
from ..exercise import Block, Such, exercise, text_with
from .bash import api_says
from .parts import at, call, each, fact, gives, holds, is_a_sentence, string_that, type_of, user
from .tables import api_says_of, are_the_packages, calling, holds_one_more, leaves_the_package_alone

NOTES = "green tea\nblack tea\nwater\n"
SUM = "python sum.py"  # every shell knows it


@exercise(
    "my_output(call), a function that runs one call of bash or read_file and returns its output",
    files={"notes.txt": NOTES, "menu.txt": "mint\n", "sum.py": "print(6 * 7)\n"},
    deadline=5.0,
)
def handlers():
    def asks(name, **arguments):
        return (Block(**call(1, name) | {"input": arguments}),)

    def without(part, *parts):
        right = text_with(*parts)
        return Such(f"{right}, and no {part!r}", lambda text: text == right and part not in text)

    table, names = (1, "A dict from a tool's name"), (1, "`**` hands")
    yield gives("bash runs its command", table)((*asks("bash", command=SUM), text_with("42")))
    yield gives("read_file reads its file", table)(
        (*asks("read_file", path="notes.txt"), text_with("black tea")), (*asks("read_file", path="menu.txt"), "mint\n")
    )
    yield gives("each argument arrives under its own name, a limit too", names)(
        (*asks("read_file", path="notes.txt", limit=1), without("black", "green tea")),
        (*asks("read_file", limit=2, path="notes.txt"), without("water", "black tea")),
        (*asks("bash", timeout=60, command=SUM), text_with("42")),
    )


# The handlers of run_tool, out here because a TypeError names where a function was defined.
def shout(text):
    return text.upper()


def label(text, colour):
    return f"{text} in {colour}"


def price(tea):
    return str({"green": 5}[tea])  # a KeyError of the handler's own


@exercise("my_run_tool(block, handlers), a function that always returns a tool_result")
def run_tool():
    def asks(name, **arguments):
        return Block(**call(7, name) | {"input": arguments}), {"shout": shout, "label": label, "price": price}

    def error(named):
        return Such(
            f"'is_error': True, and a content with {named!r} in it",
            lambda result: result.get("is_error") is True and named in str(result.get("content")),
        )

    def with_and_without(yours, block, handlers):
        """What is said of the call, and of one of an unknown tool; their names and the tea's are left out."""
        said = [str(yours(asked, handlers)["content"]) for asked in (block, asks("whisper", **block.input)[0])]
        return [re.sub("|".join([block.name, "whisper", block.input["tea"]]), "...", text) for text in said]

    def words(result, *_):
        """The content, as a string or in text blocks."""
        content = result["content"]
        return "".join(block["text"] for block in content) if isinstance(content, list) else content

    def api(result, block, _):
        return api_says([block], user([result]))

    fine, swapped = asks("shout", text="tea"), asks("label", colour="green", text="tea")
    of_errors = asks("shout", text="an error, in a log")
    unknown, fails = asks("whisper", text="tea"), asks("price", tea="oolong")
    missing, extra = asks("shout"), asks("shout", text="tea", size="big")
    under_its_name = (1, "`**` hands")
    names_it, goes_on = (2, "`is_error: true` is the API's own way"), (3, "four inputs, one cure")
    order = (3, "Look up first, then call")
    unmarked = Such("no is_error, or 'is_error': False", lambda mark: mark is False)
    different = Such(
        "two different strings: for this call, and for one of an unknown tool", lambda said: said[0] != said[1]
    )
    call_seven = ("tool_result", fine[0].id)
    yield holds("the handler of that name gets the input, each argument under its own name", under_its_name)(
        [fine, swapped], lambda block, handlers: handlers[block.name](**block.input), words
    )
    yield holds("a normal result is not marked as an error", names_it)(
        [fine, of_errors], unmarked, lambda result, *_: result.get("is_error", False)
    )
    yield holds("an unknown tool is an error that names the tool", names_it)([unknown], error("whisper"))
    yield holds("a missing argument is an error that names it", goes_on)([missing], error("text"))
    yield holds("an extra argument is an error that names it", goes_on)([extra], error("size"))
    yield holds("a handler that fails is an error that says why", goes_on)([fails], error("oolong"))
    yield holds("a KeyError inside a handler is not reported as an unknown tool", order)(
        [fails], different, run=with_and_without
    )
    every = [fine, unknown, missing, extra, fails]
    yield holds("whatever happens, it returns a tool_result with the id of the call", goes_on)(
        every, call_seven, lambda result, *_: (result["type"], result["tool_use_id"])
    )
    yield holds("and the API accepts it: content that can be sent, and no unknown keys", goes_on)(
        every, "accepted", api
    )


@exercise(
    "a tool, as TOOLS holds them: a dict with name, description and input_schema", untouched=lambda tool: tool == {}
)
def schema():
    sees, apart = (4, "It sees the **schema**"), (4, "The two are written in two places")
    sentence = string_that("a sentence", is_a_sentence)
    yield fact("its name is count_lines", sees)("count_lines", at("name"))
    yield fact("its description tells the model what it does", sees)(sentence, at("description"))
    yield fact("its input is an object", sees)("object", at("input_schema", "type"))
    yield fact("the object's properties are the function's parameters", apart)(
        ["path", "pattern"], lambda tool: sorted(tool["input_schema"]["properties"])
    )
    for name in ("path", "pattern"):
        about = at("input_schema", "properties", name)
        yield fact(f"{name} is a string", sees)("string", lambda tool, about=about: type_of(about(tool)))
    yield fact("what has no default is required: only path", apart)(
        ["path"], lambda tool: list(tool["input_schema"]["required"])
    )
    yield fact("the API accepts it", sees)("accepted", lambda tool: api_says_of([tool]))


def number(wanted):
    def holds(said):
        found = re.search(r"\d+", re.sub(r"(?<=\d)[,_'](?=\d{3})", "", str(said)))
        return found is not None and int(found[0]) == wanted and not isinstance(said, bytes)

    return Such(f"{wanted}, as a number or in a string", holds)


LONG = "".join(f"order {number}\n" for number in range(20_000))


@exercise(
    "my_count_lines(path, pattern=''), a function that returns how many lines of a file hold the pattern",
    files={
        "notes.txt": NOTES,
        "log.txt": LONG,
        "menu.txt": "Green tea\fBlack tea\nWater\n",
        "odd.txt": "one\vtwo\x85three\u2028four\n",
        "last.txt": "first\nlast",
        "empty.txt": "",
        "odds.txt": "iced tea, hot tea\n\nTea for two\nwater\n",
    },
)
def count_lines():
    cuts, feeds, place = (5, "`run_read` is made for a model"), (5, "A form feed"), (5, "`safe_path` is the door")

    def counted(*rows):
        return [(*row[:-1], number(row[-1])) for row in rows]

    def attempt(yours, *args):
        try:
            return yours(*args)
        except (OSError, ValueError) as error:
            return f"{type(error).__name__} was raised"

    def outside(yours, _):
        with tempfile.TemporaryDirectory(dir=workdir().parent) as folder:
            secret = Path(folder) / "secret.txt"
            secret.write_text("one\ntwo\nthree\n", encoding="utf-8", newline="\n")
            return attempt(yours, f"../{secret.parent.name}/secret.txt")

    none = Such("no number: an exception, such as a ToolError", lambda said: not any(map(str.isdigit, str(said))))
    yield gives("it counts the lines of a file", cuts)(*counted(("notes.txt", 3), ("odds.txt", 4)))
    yield gives("with a pattern, it counts only the lines that hold it", cuts)(
        *counted(("notes.txt", "tea", 2), ("notes.txt", "coffee", 0), ("odds.txt", "tea", 1), ("odds.txt", "t.a", 0))
    )
    yield gives("of a long file it counts every line", cuts)(*counted(("log.txt", 20_000), ("log.txt", "999", 38)))
    yield gives("only a newline ends a line", feeds)(*counted(("menu.txt", 2), ("odd.txt", 1)))
    yield gives("a last line without a newline counts, and an empty file has no linesss", feeds)(
        *counted(("last.txt", 2), ("empty.txt", 0))
    )
    yield holds("a file that does not exist has no number of lines", place)(each("no_such_file.txt"), none, run=attempt)
    yield holds("a file outside of the workspace is refused", place)(each("../FOLDER/secret.txt"), none, run=outside)


@exercise(
    "your_tools, your_handlers: a list of tools, and a dict of handlers",
    files={"notes.txt": NOTES, "menu.txt": "mint\n", "sum.py": "print(6 * 7)\n"},
    untouched=are_the_packages,
)
def added_tool():
    copies, loop = (5, "A copy with one more entry"), (2, "The loop knows no tool by name")
    yield from holds_one_more("your", "count_lines", copies, (1, "A dict from a tool's name"))
    for sentence, wanted, given in [
        ("the new tool works: notes.txt has 2 lines with 'tea'", 2, {"path": "notes.txt", "pattern": "tea"}),
        ("and counts what it is asked for: menu.txt has 1 line", 1, {"path": "menu.txt"}),
    ]:
        yield fact(sentence, loop)(number(wanted), at("content"), calling("count_lines", **given))
    yield fact("the old ones still work: read_file reads notes.txt", loop)(
        text_with("black tea"), at("content"), calling("read_file", path="notes.txt")
    )
    yield leaves_the_package_alone(copies)
