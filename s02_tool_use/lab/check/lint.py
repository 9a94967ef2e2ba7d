"""check.my_tool(tool): a lint for any tool, as pytest is for any function. It reads the tool, then calls it many times.

reading.py judges what can be read, inputs.py thinks of calls, calling.py makes one and says what was wrong with it.
Left out: whether the tool does what it is meant to do.
"""

import inspect
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from ... import dispatch
from ...calls.results import MAX_RESULT_CHARACTERS, ToolError
from ...calls.tool import Tool, tool_of
from ..client.missing import wanted
from ..sessions.job import Stopped
from . import reading, trial
from .calling import Caller, Room, key_of, size_of, text_of
from .exercise import NOT_TRIED, NOT_YET, RIGHT, WRONG, Line, Verdict, clean, does_something, is_unfilled, shown
from .exercises.tables import problem_with
from .inputs import Inputs, explore, properties_of

SECONDS = 5.0  # that all calls of the tool may take; one that takes a second gets a few, small and large
SHRINK_SECONDS = 3.0  # to find a smaller call that fails
PATIENCE = 6  # times as long by the clock: what is ours around a call takes its time on a slow machine
MADE_UP_CALLS, SHRINK_CALLS = 60, 300
UNKNOWN = "no_such_argument"

# kind -> (a line of the verdict, what is right where that is always the same), in the order in which they are shown.
LINES = {
    "api": ("the API accepts its name, its description and its schema", ""),
    "same": ("its schema and its function have the same arguments", ""),
    "arguments": ("each argument has a type and a description", ""),
    "does": ("its description says what it does", "a sentence that says more than the name"),
    "use": (
        "its description says when to use it, or what its limits are",
        "a sentence such as “Use it when ...”, “Only for ...”",
    ),
    "back": ("its description says what comes back", "a sentence such as “Returns the number of lines.”"),
    "missing": ("a call without a required argument is an error that names it", ""),
    "type": ("a value of a wrong type is an error that names its argument", ""),
    "unknown": ("an argument that it does not have is an error that names it", ""),
    "taken": (
        "a call that fits the schema reaches the function",
        "the schema allows what the function takes, and nothing else",
    ),
    "late": ("every call ends in time", "an answer, or a ToolError that says what to do"),
    "raised": (
        "nothing is raised but a ToolError that says what to do",
        "an answer, or a ToolError that says what to do",
    ),
    "unsendable": ("what it returns can be sent", "a string, JSON data, or a list of content blocks"),
    "empty": ("what it returns is never empty", "a word, such as “No matches” or “Saved”"),
    # About 25,000 tokens: an eighth of what many models read. Above it run_tool leaves out the middle.
    "long": (
        f"what it returns has at most {MAX_RESULT_CHARACTERS:,} characters",
        "the first part, and a last line that says how to get the rest; run_tool would cut out the middle",
    ),
    "intact": (
        "it leaves its arguments as they were",
        "only a copy is changed: what a model sent is a part of the history",
    ),
}
CALLED = [*LINES][[*LINES].index("missing") :]  # what shows when it is called
WAYS = "a function with annotations and a docstring, a tool made by @beta_tool, or a dict and the function that does it"


def my_tool(tool: Any, handler: Callable | None = None, *, deadline: float = trial.DEADLINE_SECONDS) -> Verdict:
    """Judge a tool: what it says of itself, what it does with wrong arguments, and with many that fit its schema.

    tool: a typed function or bound method, a tool made by @beta_tool or @beta_async_tool, or a dict like those in
    TOOLS; then `handler` does it, or the function that TOOL_HANDLERS has under its name. deadline: seconds a call.

    The calls run in a temporary copy of the workspace (no hidden files, no links; the first 5 MB), with some files that
    are long, empty or not text. What is not confined: the network, commands, other programs, and files that the tool
    names by an absolute path. Made-up values are harmless: no path that leads out, nothing that a shell would read as
    more than words, and for an argument that is a command only `echo hello`, `exit 3`, `cat no_such_file.txt`. If a
    call costs money or sends something, give a handler that only pretends to.
    """
    if is_unfilled(tool) or handler is ...:
        return Verdict("my_tool", _all(NOT_YET))
    try:
        made, function = tool_and_function(tool, handler)
    except ToolError as error:
        return Verdict("my_tool", [Line("it can be a tool", WRONG, [("yours", clean(str(error))), ("right", WAYS)])])
    try:
        return Verdict(made.name or "my_tool", _Lint(made, function, deadline).lines())
    except KeyboardInterrupt as error:
        raise Stopped(f"{made.name}: {str(error) or 'stopped'}. Nothing was judged.") from None


def _all(verdict):
    return [Line(sentence, verdict) for sentence, _ in LINES.values()]


def tool_and_function(tool, handler):
    """(the Tool with its handler, the function whose parameters count), or a ToolError in one sentence."""
    if isinstance(tool, (list, tuple)):
        raise ToolError("this is a list: check one tool at a time, such as check.my_tool(tools[0])")
    if isinstance(tool, Mapping) and not tool.keys() & {"name", "input_schema"}:
        raise ToolError("this dict has no name and no input_schema: give one of those in TOOLS, and its function")
    if isinstance(tool, Mapping) and "input_schema" not in tool and tool.get("type", "custom") != "custom":
        raise ToolError(f"{tool['type']} is a tool of the API's own: its schema is not yours to check")
    if handler is not None and not callable(handler):
        raise ToolError(f"the handler must be a function, not a {type(handler).__name__}; give the one that does it")
    if hasattr(handler, "to_dict") and hasattr(handler, "call"):
        raise ToolError("the handler is a whole tool: check.my_tool(handler)")
    try:
        made = tool_of(tool)
    except ToolError:
        raise
    except Exception as error:  # an object that only looks like one of the SDK's
        raise ToolError(f"it does not say what it is: {type(error).__name__}: {error}") from None
    if made.handler is not None:
        if handler is not None:
            raise ToolError("it brings its own function along: leave out the handler")
        return made, getattr(tool, "func", None) or made.handler
    handler = handler or dispatch.TOOL_HANDLERS.get(made.name)
    if handler is None:
        raise ToolError("a dict does not say which function does it: check.my_tool(tool, handler)")
    return replace(made, handler=handler), handler


class _Lint:
    """One run over one tool."""

    def __init__(self, tool: Tool, function: Callable, deadline: float) -> None:
        self.tool, self.function, self.deadline = tool, function, deadline
        self.schema = tool.schema.get("input_schema")
        said = tool.schema.get("description")
        self.description = said if isinstance(said, str) else ""
        self.wrong: dict[str, list[tuple[str, str]]] = {}  # kind -> what is wrong, as pairs
        self.notes: dict[str, list[tuple[str, str]]] = {}  # kind -> what is worth a word, though it is right
        self.untried: set[str] = set()
        self.needs = ""  # what the tool needs to be called at all, one of NEEDS

    def lines(self) -> list[Line]:
        self._read()
        if "api" in self.wrong or not isinstance(self.schema, dict):
            self.untried |= set(CALLED)
        else:
            room = Room()
            self.inputs = Inputs(self.schema, f"{self.tool.name} {self.description}", room.names)
            with room.opened(), trial.silence() as stdin:
                self.caller = Caller(self.tool, self.function, room, self.deadline, stdin)
                if not self._call():
                    return _all(NOT_YET)
        return [self._line(kind, sentence) for kind, (sentence, _) in LINES.items()]

    def _line(self, kind, sentence):
        needs = self.needs if kind in CALLED else ""
        if kind in self.wrong:
            return Line(sentence, WRONG, self.wrong[kind], needs=needs)
        mark = NOT_TRIED if kind in self.untried else RIGHT
        return Line(sentence, mark, self.notes.get(kind, []), needs="time" if kind == "late" else needs)

    def _is_wrong(self, kind: str, *details: tuple[str, str]) -> None:
        self.wrong[kind] = [(key, said) for key, said in (*details, ("right", LINES[kind][1])) if said]

    # ---- what can be read

    def _read(self):
        said, function = self.description, self.function
        if problem := problem_with([self.tool.schema]):
            self._is_wrong("api", ("the API says", clean(problem.message)))
        if faults := list(reading.disagreements(self.schema, function)):
            self._is_wrong("same", *(("yours", fault) for fault in faults))
        inputs, properties = Inputs(self.schema if isinstance(self.schema, dict) else {}), properties_of(self.schema)
        faults = [f"{name} has no type" for name, one in properties.items() if not inputs.has_type(one)]
        if faults := [*faults, *reading.undescribed(properties, inputs.resolved, said)]:
            self._is_wrong("arguments", *(("yours", fault) for fault in faults))
        yours = ("yours", shown(said) if said.strip() else "no description")
        if not reading.says_more(said, self.tool.name, reading.FEW_WORDS):
            self._is_wrong("does", yours)
        if not reading.says(reading.USE, said):
            self._is_wrong("use", yours)
        if not reading.says(reading.BACK, said):
            hidden = "Returns:" in (inspect.getdoc(function) or "") and "Returns:" not in said
            self._is_wrong("back", yours, ("but", "the text under “Returns:” is not sent; say it above" * hidden))

    # ---- what shows when it is called

    def _call(self) -> bool:
        """Try it. False for a stub."""
        base = self._base()
        if base is None:
            self._is_wrong("taken", ("yours", "no call could be made that fits the schema"))
            self.untried |= set(CALLED)
            return True
        first = self.caller.once(base)
        self.needs = wanted(first.raised)
        says_nothing = first.reached and first.raised is None and first.value is None
        if type(first.raised) is NotImplementedError or (
            says_nothing and inspect.isfunction(self.function) and not does_something(self.function)
        ):
            return False
        self._sweep(base)
        answered = [tried.call for tried in self.caller.tried.values() if tried.answered]
        self._spoil(min(answered, key=size_of) if answered else base)
        self._report()
        return True

    def _base(self):
        """The first call: each required argument with the value that is likeliest. None if no call fits."""
        properties, call = properties_of(self.schema), {}
        for name in self.schema.get("required") or ():
            if values := self.inputs.likely(name, properties.get(name, {})):
                # Another one than before, if there is one: the old text is not the new one.
                call[name] = next((value for value in values if value not in call.values()), values[0])
        return call if self.inputs.fit(call) else explore(self.inputs.calls(), lambda call: True, MADE_UP_CALLS)

    def _sweep(self, base):
        """Many calls that fit, the smaller first; of a slow tool a few of all sizes."""
        calls = {key_of(call): call for call in self.inputs.one_by_one(base)}
        explore(self.inputs.calls(), lambda call: calls.update({key_of(call): call}), MADE_UP_CALLS)
        ordered = sorted(calls.values(), key=size_of)
        left, longest, at = self._left(SECONDS), 0.0, 0
        while at < len(ordered) and not self.caller.late and left() >= 0:
            longest = max(longest, self.caller.once(ordered[at]).seconds)
            at += max(1, int((len(ordered) - at) * longest / SECONDS))

    def _left(self, seconds):
        """A function that says how many of these seconds the calls from now on have left."""
        most, end = self.caller.seconds + seconds, time.monotonic() + PATIENCE * seconds
        return lambda: min(most - self.caller.seconds, end - time.monotonic())

    def _spoil(self, base):
        """Arguments left out, of a wrong type, or unknown: each must be an error that names the argument."""
        for name in self.schema.get("required") or ():
            self._must_refuse("missing", name, {key: value for key, value in base.items() if key != name})
        for name, schema in properties_of(self.schema).items():
            for value in (5, "tea", ["tea"], {"tea": 1}):
                if not self.inputs.fit(value, schema):
                    self._must_refuse("type", name, {**base, name: value})
        if not self.inputs.fit({**base, UNKNOWN: 1}) or "additionalProperties" not in self.schema:
            self._must_refuse("unknown", UNKNOWN, {**base, UNKNOWN: 1})

    def _must_refuse(self, kind, name, call):
        if kind in self.wrong or self.caller.late:
            return
        tried = self.caller.again(call)
        came = text_of(tried.result)
        if self.caller.late or (tried.result.get("is_error") and name in came):
            return
        if tried.raised is not None:
            came = f"the function got it, and raised {self.caller.words_of(tried.raised)}"
        elif tried.reached:
            came = f"the function got it, and gave {shown(tried.value)}"
        right = ("right", f"an error with {name!r} in it")
        self._is_wrong(kind, ("call", self._shown(call)), ("yours", clean(came)), right)

    def _report(self):
        """Make the failing calls smaller, and tell of the smallest of each kind."""
        caller, left = self.caller, self._left(SHRINK_SECONDS)
        kinds = [kind for kind in CALLED if self._failing(kind)]
        longest = max(tried.seconds for tried in caller.tried.values())
        for kind in kinds:
            most = caller.count + SHRINK_CALLS

            def fails(call, kind=kind, most=most):
                may = not caller.late and caller.count < most and left() > longest
                return (may or key_of(call) in caller.tried) and kind in caller.once(call).faults

            found = None if caller.late else explore(self.inputs.calls(), fails, MADE_UP_CALLS)
            smallest, again = self._failing(kind)[0], ""
            if found is not None and len(key_of(found)) <= len(key_of(smallest.call)):  # it is simpler as well
                smallest = caller.once(found)
            is_quick = not caller.late and smallest.seconds < 1
            if is_quick and kind not in caller.again(smallest.call).faults:
                again = "the same call did not fail again: it depends on more than its arguments (time, chance, memory)"
            self._tell(kind, smallest, again)
        if caller.late:
            self._tell("late", caller.late)
            self.untried |= set(CALLED)
        elif not kinds and not any(tried.answered for tried in caller.tried.values()):
            note = "every call was refused, so no answer was seen. Name values that work in the schema: enum, examples"
            self.notes["unsendable"] = [("note", note)]
        if printed := next((tried.printed.strip() for tried in caller.tried.values() if tried.printed.strip()), ""):
            self.notes["empty"] = [("note", f"it prints as well, which the model does not see: {shown(printed)}")]

    def _tell(self, kind, tried, but=""):
        yours = tried.faults[kind] or self.caller.words_of(tried.raised)
        printed = clean(tried.printed.strip())
        self._is_wrong(kind, ("call", self._shown(tried.call)), ("yours", yours), ("printed", printed), ("but", but))

    def _failing(self, kind):
        failing = [tried for tried in self.caller.tried.values() if kind in tried.faults]
        return sorted(failing, key=lambda tried: size_of(tried.call))

    def _shown(self, call):
        return clean(f"{self.tool.name}({', '.join(f'{name}={shown(value)}' for name, value in call.items())})", 1000)
