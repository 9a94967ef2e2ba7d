"""The exercises' checks: `check.tool_result(my_tool_result)` under a stub tells what is right and what is wrong.

Each check is a table of properties for `verdict.judge`; nothing here knows how a verdict is reached or drawn.
"""

import sys

from . import page, progress as _progress
from .verdict import Block, Line, Property, Such, Verdict, judge, not_yet, unfilled

# ---- 01: one round trip by hand ----

REPLIES = [
    {
        "content": [
            {"type": "text", "text": "I will look at the folder first."},
            {"type": "tool_use", "id": "toolu_01", "name": "bash", "input": {"command": "ls"}},
        ],
        "usage": {"output_tokens": 48},  # of max_tokens=200
    },
    {
        "content": [{"type": "text", "text": "There are five files. The tests are in test_orders.py."}],
        "usage": {"output_tokens": 17},
    },
    {
        "content": [{"type": "text", "text": "The folder holds a small project. Its first file, README.md, expl"}],
        "usage": {"output_tokens": 200},
    },
]
_REASONS = [
    ("a reply that asks for a tool stops with tool_use", "tool_use"),
    ("a reply that says all it has to say stops with end_turn", "end_turn"),
    ("a reply that is cut off at the limit stops with max_tokens", "max_tokens"),
]


def stop_reason(answers):
    """`answers`: for each of REPLIES the stop_reason that you expect, as a list of three strings or a dict of them."""
    given = list(answers.values() if isinstance(answers, dict) else answers or [])
    given += [None] * (len(_REASONS) - len(given))
    lines = []
    for number, ((sentence, right), yours) in enumerate(zip(_REASONS, given), 1):
        if unfilled(yours) or yours == "":
            lines.append(Line(f"reply {number}", "not yet"))
        elif yours == right:
            lines.append(Line(f"reply {number}: {sentence}", "right"))
        else:
            reply = REPLIES[number - 1]
            last, tokens = reply["content"][-1], reply["usage"]["output_tokens"]
            details = [("input", f"last block {last['type']}, {tokens} of 200 tokens"), ("yours", repr(yours))]
            lines.append(Line(f"reply {number}: {sentence}", "wrong", [*details, ("read again", "01, stop_reason")]))
    return Verdict("stop_reason", lines)


_LS = Block(type="tool_use", id="toolu_01", name="bash", input={"command": "ls"})
_CAT = Block(type="tool_use", id="toolu_02", name="bash", input={"command": "cat README.md"})
_TEXT = Block(type="text", text="I will look at both.")
_ANSWER = "01, answer the call"

TOOL_RESULT = [
    Property(
        "the block's type is tool_result",
        [(_LS, "README.md")],
        lambda block, output: "tool_result",
        _ANSWER,
        see=lambda result, *_: result["type"],
    ),
    Property(
        "tool_use_id is the id of the call that it answers",
        [(_LS, "README.md"), (_CAT, "A tea shop")],
        lambda block, output: block.id,
        _ANSWER,
        see=lambda result, *_: result["tool_use_id"],
    ),
    Property(
        "content is the output, as it came",
        [(_LS, "README.md"), (_LS, ""), (_LS, "  two\nlines\n")],
        lambda block, output: output,
        _ANSWER,
        see=lambda result, *_: result["content"],
    ),
    Property(
        "there are no other keys: the API refuses them",
        [(_LS, "README.md")],
        lambda block, output: Such("only type, tool_use_id, content (and is_error)", lambda keys: not keys),
        _ANSWER,
        see=lambda result, *_: sorted(set(result) - {"type", "tool_use_id", "content", "is_error"}),
    ),
]


def tool_result(my_tool_result):
    """`my_tool_result(block, output)` returns the tool_result dict that answers a tool_use block."""
    return judge("tool_result", my_tool_result, TOOL_RESULT)


def _said(block):
    return "output of " + block.input["command"]


def _ids(message, *_):
    return [block["tool_use_id"] for block in message["content"] if block["type"] == "tool_result"]


_ONE, _TWO = ([_LS], _said), ([_TEXT, _LS, _CAT], _said)
_ALL = "01, all results in one message"

ANSWER_ALL = [
    Property("it is one user message", [_ONE, _TWO], lambda *_: "user", _ALL, see=lambda message, *_: message["role"]),
    Property(
        "every call has its result, in the order of the calls",
        [_ONE, _TWO],
        lambda content, run: [block.id for block in content if block.type == "tool_use"],
        _ALL,
        see=_ids,
    ),
    Property(
        "each result holds what run gave for that call",
        [_ONE, _TWO],
        lambda content, run: [run(block) for block in content if block.type == "tool_use"],
        _ALL,
        see=lambda message, *_: [block["content"] for block in message["content"] if block["type"] == "tool_result"],
    ),
    Property(
        "a text block gets no answer, and nothing stands before the results",
        [_TWO, ([_LS, _CAT, _TEXT], _said)],
        lambda content, run: ["tool_result"] * sum(block.type == "tool_use" for block in content),
        _ALL,
        see=lambda message, *_: [block["type"] for block in message["content"]],
    ),
]


def answer_all(my_answers):
    """`my_answers(content, run)` runs every tool_use block of a reply and returns one user message with the results."""
    return judge("answer_all", my_answers, ANSWER_ALL)


# Both exist in sh and in cmd: a program that reads its input to the end.
_READER = "sort" if sys.platform == "win32" else "cat"
_BASH = "01, run the command"


def _holds(*parts):
    said = " and ".join(repr(part) for part in parts)
    return Such(f"a text with {said} in it", lambda text: isinstance(text, str) and all(part in text for part in parts))


BASH = [
    Property("the output comes back as text", [("echo hello",)], lambda command: _holds("hello"), _BASH),
    Property("what goes to stderr comes back too", [("echo oops 1>&2",)], lambda command: _holds("oops"), _BASH),
    Property("an exit status that is not 0 is said", [("exit 3",)], lambda command: _holds("3"), _BASH),
    Property(
        "a command that does not exist gives a text, not an exception",
        [("no_such_command",)],
        lambda command: Such("a text that says so", lambda text: isinstance(text, str) and text.strip()),
        _BASH,
    ),
    Property(
        "a command that reads its input does not hang",
        [(_READER,)],
        lambda command: Such("a text, at once", lambda text: isinstance(text, str)),
        _BASH,
    ),
]


def bash(my_bash):
    """`my_bash(command)` runs a command line and returns what it said, as text."""
    return judge("bash", my_bash, BASH, silent_stdin=True)


# ---- 02: the dispatch map ----


def _shout(text):
    return text.upper()


def _broken(text):
    return {"red": 1}[text]


def _call(name, **arguments):
    return Block(type="tool_use", id="toolu_07", name=name, input=arguments)


_HANDLERS = {"shout": _shout, "broken": _broken}
_shout.__name__, _broken.__name__ = "shout", "broken"
_FINE = (_call("shout", text="tea"), _HANDLERS)
_UNKNOWN = (_call("whisper", text="tea"), _HANDLERS)
_MISSING = (_call("shout"), _HANDLERS)
_EXTRA = (_call("shout", text="tea", colour="red"), _HANDLERS)
_FAILS = (_call("broken", text="blue"), _HANDLERS)
_EVERY = [_FINE, _UNKNOWN, _MISSING, _EXTRA, _FAILS]
_RUN = "02, unknown tools and bad arguments"


def _error_with(*parts):
    def holds(result):
        return result.get("is_error") is True and all(part in str(result.get("content")) for part in parts)

    return Such(f"is_error True, and a content that names {' and '.join(map(repr, parts))}", holds)


RUN_TOOL = [
    Property(
        "the handler with the block's name is called with the block's input",
        [_FINE],
        lambda *_: "TEA",
        _RUN,
        see=lambda result, *_: result["content"],
    ),
    Property(
        "a good result is not marked as an error",
        [_FINE],
        lambda *_: Such("no is_error, or is_error False", lambda value: value is False),
        _RUN,
        see=lambda result, *_: result.get("is_error", False),
    ),
    Property(
        "whatever happens, the answer is a tool_result with the id of the call",
        _EVERY,
        lambda block, handlers: ("tool_result", block.id),
        _RUN,
        see=lambda result, *_: (result["type"], result["tool_use_id"]),
    ),
    Property("an unknown tool is an error that names it", [_UNKNOWN], lambda *_: _error_with("whisper"), _RUN),
    Property("a missing argument is an error that names it", [_MISSING], lambda *_: _error_with("text"), _RUN),
    Property("an argument too many is an error that names it", [_EXTRA], lambda *_: _error_with("colour"), _RUN),
    Property("a handler that fails is an error that says why", [_FAILS], lambda *_: _error_with("blue"), _RUN),
    Property(
        "a KeyError inside a handler is not an unknown tool",
        [_FAILS],
        lambda *_: Such("another text than for an unknown tool", lambda texts: texts[0] != texts[1]),
        _RUN,
        run=lambda yours, block, handlers: [yours(block, handlers)["content"], yours(block, {})["content"]],
    ),
]


def run_tool(my_run_tool):
    """`my_run_tool(block, handlers)` looks the tool up, calls it, and always returns a tool_result."""
    return judge("run_tool", my_run_tool, RUN_TOOL)


_SCHEMA = "02, schema and function"
_PROPERTIES = ("input_schema", "properties")


def _path(schema, *keys):
    for key in keys:
        schema = schema[key]
    return schema


def _schema_line(sentence, right, *keys):
    return Property(sentence, [()], lambda: right, _SCHEMA, see=lambda schema: _path(schema, *keys))


_WORDS = Such("a sentence for the model", lambda text: isinstance(text, str) and len(text.split()) > 1)

SCHEMA = [
    _schema_line("the name is the function's", "count_lines", "name"),
    _schema_line("the description says what the tool does", _WORDS, "description"),
    _schema_line("the input is an object", "object", "input_schema", "type"),
    Property(
        "its properties are the function's parameters",
        [()],
        lambda: ["path", "pattern"],
        _SCHEMA,
        see=lambda schema: sorted(_path(schema, *_PROPERTIES)),
    ),
    _schema_line("path is a string", "string", *_PROPERTIES, "path", "type"),
    _schema_line("pattern is a string", "string", *_PROPERTIES, "pattern", "type"),
    _schema_line("required is what has no default: path alone", ["path"], "input_schema", "required"),
]


def schema(my_schema):
    """`my_schema`: the schema, as TOOLS holds them, of `count_lines(path: str, pattern: str = "")`."""
    if unfilled(my_schema) or my_schema == {}:
        return not_yet("schema", SCHEMA)
    return judge("schema", lambda: my_schema, SCHEMA)


_NOTES = {"notes.txt": "green tea\nblack tea\nwater\n"}
_FIVE = ["bash", "edit_file", "glob", "read_file", "write_file"]
_ADD = "02, one line for a new tool"


def _names(tools):
    return sorted(tool["name"] for tool in tools)


def _run(handlers, name, **arguments):
    from s02_tool_use.dispatch import run_tool

    return run_tool({"type": "tool_use", "id": "toolu_01", "name": name, "input": arguments}, handlers)["content"]


def _own(pair):
    from s02_tool_use.dispatch import TOOL_HANDLERS, TOOLS

    return _names(TOOLS), sorted(TOOL_HANDLERS)


def _pair(sentence, right, run):
    return Property(sentence, [()], lambda: right, _ADD, run=lambda yours: run(yours()))


ADDED_TOOL = [
    _pair("the package's own TOOLS and TOOL_HANDLERS are unchanged (if not: restart the kernel)", (_FIVE, _FIVE), _own),
    _pair("my_tools holds the five and count_lines", sorted([*_FIVE, "count_lines"]), lambda pair: _names(pair[0])),
    _pair("every tool has a handler, every handler a tool", [], lambda pair: sorted({*_names(pair[0])} ^ {*pair[1]})),
    _pair(
        "the new tool works: notes.txt has 2 lines with 'tea'",
        _holds("2"),
        lambda pair: _run(pair[1], "count_lines", path="notes.txt", pattern="tea"),
    ),
    _pair(
        "the old ones still work: read_file gives notes.txt",
        _holds("black tea"),
        lambda pair: _run(pair[1], "read_file", path="notes.txt"),
    ),
]


def added_tool(my_tools, my_handlers):
    """`my_tools`, `my_handlers`: the package's own and count_lines, without a change to the package's own."""
    from s02_tool_use.dispatch import TOOL_HANDLERS, TOOLS

    if unfilled(my_tools) or unfilled(my_handlers) or (_names(my_tools) == _names(TOOLS) == _FIVE):
        return not_yet("added_tool", ADDED_TOOL)
    return judge("added_tool", lambda: (my_tools, my_handlers), ADDED_TOOL, files=_NOTES)


NAMES = ["stop_reason", "tool_result", "answer_all", "bash", "run_tool", "schema", "added_tool"]


def progress():
    """Which exercises are done so far."""
    return page.Page("\n".join(f"{'done' if name in _progress.done() else 'open':5} {name}" for name in NAMES), "")
