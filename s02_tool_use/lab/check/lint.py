"""check.my_tool(tool): a lint for any tool, as pytest is for any function. It reads the tool, then calls it many times.

Every call goes through run_tool, as in the loop, and the next request is shown to the offline API. inputs.py makes the
calls, wording.py judges the description, trial.py runs them. Left out: whether the tool does what it is meant to do.
"""

import contextlib
import copy
import dis
import functools
import inspect
import json
import os
import shutil
import time
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ... import dispatch, workspace
from ...calls.results import MAX_RESULT_CHARACTERS, ToolError
from ...calls.tool import Tool, tool_of
from ..api.rules import validate
from ..sessions.job import Stopped
from . import trial, wording
from .exercise import (
    NOT_TRIED,
    NOT_YET,
    RIGHT,
    WRONG,
    Line,
    Verdict,
    clean,
    does_something,
    is_unfilled,
    shown,
)
from .inputs import Inputs, explore, properties_of

SECONDS = 5.0  # for all calls; a tool that takes one second each gets a few, spread over small and large
SHRINK_SECONDS = 3.0  # to find a smaller call that fails
MADE_UP_CALLS, SHRINK_CALLS = 60, 300
MOST_FILES, MOST_BYTES, MOST_LOOKED_AT = 200, 5_000_000, 5_000  # of the workspace, in the copy
LONG_AGO = 946_684_800  # a time for files, so that a call that writes one is seen

# A line of the verdict each, in the order in which they are shown.
SENTENCES = {
    "api": "the API accepts its name, its description and its schema",
    "same": "its schema and its function have the same arguments",
    "arguments": "each argument has a type and a description",
    "does": "its description says what it does",
    "use": "its description says when to use it, or where it ends",
    "back": "its description says what comes back",
    "missing": "a call without a required argument is an error that names it",
    "type": "a value of a wrong type is an error that names its argument",
    "unknown": "an argument that it does not have is an error that names it",
    "taken": "a call that fits the schema reaches the function",
    "late": "every call ends in time",
    "raised": "nothing is raised but a ToolError that says what to do",
    "unsendable": "what it returns can be sent",
    "empty": "what it returns is never empty",
    # About 25,000 tokens: an eighth of what many models read. Above it run_tool leaves out the middle.
    "long": f"what it returns has at most {MAX_RESULT_CHARACTERS:,} characters",
    "intact": "it leaves its arguments as they were",
}
CALLED = [*SENTENCES][[*SENTENCES].index("missing") :]  # what shows when it is called
WAYS = "a function with annotations and a docstring, a tool made by @beta_tool, or a dict and the function that does it"
RIGHTS = {  # what is right, where it is always the same
    "does": "a sentence that says more than the name",
    "use": "a sentence such as “Use it when ...”, “Only for ...”",
    "back": "a sentence such as “Returns the number of lines.”",
    "late": "an answer, or a ToolError that says what to do",
    "raised": "an answer, or a ToolError that says what to do",
    "unsendable": "a string, JSON data, or a list of content blocks",
    "empty": "a word, such as “No matches” or “Saved”",
    "long": "the first part, and a last line that says how to get the rest; run_tool would cut out the middle",
    "intact": "only a copy is changed: what a model sent is a part of the history",
    "taken": "the schema allows what the function takes, and nothing else",
}


def my_tool(
    tool: Any, handler: Callable[..., Any] | None = None, *, deadline: float = trial.DEADLINE_SECONDS
) -> Verdict:
    """Judge a tool: what it says of itself, what it does with wrong arguments, and with many that fit its schema.

    tool: a typed function or bound method, a tool made by @beta_tool or @beta_async_tool, or a dict like those in
    TOOLS; then `handler` does it, or the function that TOOL_HANDLERS has under its name. deadline: seconds a call.

    The calls run in a temporary copy of the workspace (no hidden files, no links; the first 5 MB), with some files that
    are long, empty or not text. What is not confined: the network, commands, other programs, and files that the tool
    names by an absolute path. Made-up values are harmless: no path that leads out, nothing that a shell would read as
    more than words, and for an argument that is a command only `echo hello`, `exit 3`, `cat no_such_file.txt`. If a
    call costs money or sends something, give a handler that only pretends to.
    """
    if any(is_unfilled(given) for given in (tool, *([] if handler is None else [handler]))):
        return Verdict("my_tool", _all(NOT_YET))
    try:
        made, function = _tool_and_function(tool, handler)
    except ToolError as error:
        return Verdict("my_tool", [Line("it can be a tool", WRONG, [("yours", clean(str(error))), ("right", WAYS)])])
    try:
        return Verdict(made.name, _Lint(made, function, deadline).lines())
    except KeyboardInterrupt as error:
        raise Stopped(f"{made.name}: {str(error) or 'stopped'}. Nothing was judged.") from None


def _all(verdict):
    return [Line(sentence, verdict) for sentence in SENTENCES.values()]


def _tool_and_function(tool, handler):
    """(the Tool with its handler, the function whose signature counts or None), or a ToolError in one sentence."""
    if isinstance(tool, (list, tuple)):
        raise ToolError("this is a list: check one tool at a time, such as check.my_tool(tools[0])")
    if handler is not None and not callable(handler):
        raise ToolError(f"the handler must be a function, not {_a(handler)}; give the one that does this tool")
    if isinstance(tool, Mapping) and not tool.keys() & {"name", "input_schema"}:
        raise ToolError("this dict has no name and no input_schema: give one of those in TOOLS, and its function")
    made = tool_of(tool)
    if not isinstance(tool, Mapping):
        if handler is not None and made.handler is not None:
            raise ToolError("it brings its own function along: leave out the handler")
        return made, getattr(tool, "func", None) or (
            tool if callable(tool) and not hasattr(tool, "to_dict") else made.handler
        )
    if "input_schema" not in tool and tool.get("type", "custom") != "custom":
        raise ToolError(f"{tool['type']} is a tool of the API's own: its schema is not yours to check")
    handler = handler or dispatch.TOOL_HANDLERS.get(made.name)
    if handler is None:
        raise ToolError("a dict does not say which function does it: check.my_tool(tool, handler)")
    if hasattr(handler, "to_dict") and hasattr(handler, "call"):
        raise ToolError("the handler is a whole tool: check.my_tool(handler)")
    return replace(made, handler=handler), handler


def _a(value):
    return f"a {type(value).__name__}"


@dataclass
class _Tried:
    """One call, and what was wrong with it: kind -> what came back, in words."""

    call: dict[str, Any]
    faults: dict[str, str] = field(default_factory=dict)
    result: Any = None
    printed: str = ""
    reached: bool = False
    raised: BaseException | None = None
    value: Any = None

    @property
    def answered(self) -> bool:
        return self.reached and self.raised is None and not self.faults


class _Lint:
    """One run over one tool."""

    def __init__(self, tool: Tool, function: Callable[..., Any] | None, deadline: float) -> None:
        self.tool, self.function, self.deadline = tool, function, deadline
        self.details: dict[str, list[tuple[str, str]]] = {}  # kind -> what is wrong
        self.notes: dict[str, list[tuple[str, str]]] = {}  # kind -> what is worth a word
        self.untried: set[str] = set()
        self.tried: dict[str, _Tried] = {}
        self.now: _Tried | None = None  # the call that is running
        self.late, self.calls = False, 0

    def lines(self) -> list[Line]:
        self._read()
        schema = self.tool.schema.get("input_schema")
        if "api" in self.details or not isinstance(schema, dict):
            self.untried |= set(CALLED)
        elif self._call(schema) == NOT_YET:
            return _all(NOT_YET)
        return [
            Line(sentence, WRONG, self.details[kind])
            if kind in self.details
            else Line(sentence, NOT_TRIED if kind in self.untried else RIGHT, self.notes.get(kind, []))
            for kind, sentence in SENTENCES.items()
        ]

    def _wrong(self, kind: str, *details: tuple[str, str]) -> None:
        right = [("right", RIGHTS[kind])] if kind in RIGHTS else []
        self.details[kind] = [(key, said) for key, said in [*details, *right] if said]

    # ---- what can be read

    def _read(self):
        offered = self.tool.schema
        request = {"model": "any", "max_tokens": 1, "messages": [_user("Hi")], "tools": [offered]}
        if problem := validate(request):
            self._wrong("api", ("the API says", clean(problem.message)))
        properties = properties_of(offered.get("input_schema"))
        if faults := list(_disagreements(offered.get("input_schema"), self.function)):
            self._wrong("same", *(("yours", fault) for fault in faults))
        said = offered.get("description")
        said = said if isinstance(said, str) else ""
        schema = offered.get("input_schema")
        inputs = Inputs(schema if isinstance(schema, dict) else {})
        untyped = [f"{name} has no type" for name, one in properties.items() if not inputs.has_type(one)]
        faults = [*untyped, *wording.faults_of_the_arguments(properties, inputs.resolved, said)]
        if faults:
            self._wrong("arguments", *(("yours", fault) for fault in faults))
        yours = ("yours", shown(said) if said.strip() else "no description")
        if not wording.says_more(said, self.tool.name, wording.FEW_WORDS):
            self._wrong("does", yours)
        if not wording.says(wording.USE, said):
            self._wrong("use", yours)
        if not wording.says(wording.BACK, said):
            hidden = "Returns:" in (inspect.getdoc(self.function) or "") if self.function else False
            why = "what stands below “Returns:” is not sent; say it above" if hidden else ""
            self._wrong("back", yours, ("but", why))

    # ---- what shows when it is called

    def _call(self, schema):
        """Try it. Gives NOT_YET for a stub."""
        self.room = _Room()
        about = f"{self.tool.name} {self.tool.schema.get('description', '')}"
        self.inputs = Inputs(schema, about, self.room.names)
        with self.room, trial.silence() as self.stdin:
            base = self._base()
            if base is None:
                self._wrong("taken", ("yours", "no call could be made that fits the schema"))
                self.untried |= set(CALLED)
                return None
            if type(base.raised) is NotImplementedError or (
                base.reached and base.raised is None and base.value is None and self._is_empty_body()
            ):
                return NOT_YET
            self._sweep(base.call)
            self._with_wrong_arguments(self._best(base.call))
            self._report()
        return None

    def _is_empty_body(self):
        return inspect.isfunction(self.function) and not does_something(self.function)

    def _base(self):
        """The first call: each required argument with the value that is likeliest. None if no call fits."""
        inputs = self.inputs
        properties = properties_of(inputs.schema)
        needed = [name for name in inputs.schema.get("required") or () if isinstance(name, str)]
        call = {}
        for name in needed:
            values = inputs.likely(name, properties.get(name, {}))
            if values:  # the old text is not the new one
                call[name] = next((value for value in values if value not in call.values()), values[0])
        if not inputs.fit(call):
            call = explore(inputs.calls(), lambda value: True, 1)
        return None if call is None else self._try(call)

    def _sweep(self, base):
        """Many calls that fit, the smaller first; of a slow tool a few of all sizes."""
        calls = {_key(call): call for call in self.inputs.one_by_one(base)}

        def keep(call):
            calls[_key(call)] = call

        explore(self.inputs.calls(), keep, MADE_UP_CALLS)
        ordered = sorted(calls.values(), key=_size)
        end, took, at = time.monotonic() + SECONDS, 0.0, 0
        while at < len(ordered) and not self.late:
            before = time.monotonic()
            if before > end:
                break
            self._try(ordered[at])
            took = max(took, time.monotonic() - before)
            at += max(1, int((len(ordered) - at) * took / SECONDS))
        if self.late:
            self.untried |= set(CALLED) - {"late"}

    def _best(self, base):
        """The smallest call that was answered, or `base`: of it arguments are left out and changed."""
        answered = [tried.call for tried in self.tried.values() if tried.answered]
        return min(answered, key=_size) if answered else base

    def _try(self, call: dict[str, Any]) -> _Tried:
        """What one call came to. Each is made once, so that nothing depends on how often it is asked for."""
        key = _key(call)
        if key not in self.tried:
            self.tried[key] = self._tried(call)
        return self.tried[key]

    def _tried(self, call):
        tried = self.now = _Tried(call)
        if self.late:
            return tried
        self.room.restore()
        self.calls += 1
        block = {"type": "tool_use", "id": "toolu_01", "name": self.tool.name, "input": copy.deepcopy(call)}
        tool = replace(self.tool, handler=self._watched(self.tool.handler))
        outcome = trial.call(lambda: dispatch.run_tool(block, {}, [tool]), deadline=self.deadline, stdin=self.stdin)
        tried.printed, tried.result = outcome.printed, outcome.value
        if outcome.late:
            self.late = True
            tried.faults["late"] = f"{outcome.late}. An endless loop, or a wait for what never comes?"
            return tried
        tried.faults |= self._judged(tried, outcome)
        return tried

    def _watched(self, handler):
        """The handler, with a note of what it was given, gave and raised. What it gives may come later."""

        @functools.wraps(handler)
        def watched(*args, **given):
            now, before = self.now, _key(given)
            now.reached = True
            try:
                with noting(now):
                    now.value = handler(*args, **given)
            finally:
                if _key(given) != before:
                    now.faults["intact"] = f"afterwards they were {clean(_key(given))}"
            if inspect.isawaitable(now.value):
                return awaited(now, now.value)
            if inspect.isgenerator(now.value):
                return yielded(now, now.value)
            if inspect.isasyncgen(now.value):
                return yielded_later(now, now.value)
            return now.value

        @contextlib.contextmanager
        def noting(now):
            try:
                yield
            except BaseException as error:
                now.raised = error
                raise

        async def awaited(now, value):
            with noting(now):
                now.value = await value
            return now.value

        def yielded(now, value):
            now.value = []
            with noting(now):
                for item in value:
                    now.value.append(item)
                    yield item

        async def yielded_later(now, value):
            now.value = []
            with noting(now):
                async for item in value:
                    now.value.append(item)
                    yield item

        return watched

    def _judged(self, tried: "_Tried", outcome: trial.Outcome) -> dict[str, str]:
        """What is wrong with a call that ended: (kind, what came back)."""
        result: Any = outcome.value
        if not tried.reached:
            said = outcome.error or result.get("content")
            return {"taken": clean(str(said))}
        if tried.raised is not None:
            return {} if _is_planned(tried.raised) else {"raised": self._error(tried.raised)}
        if outcome.error is not None:  # from run_tool itself
            return {"unsendable": f"{shown(tried.value)}: {type(outcome.error).__name__}"}
        if result.get("is_error"):
            return {"unsendable": f"{shown(tried.value)}. run_tool says: {clean(_text(result))}"}
        call = {"type": "tool_use", "id": "toolu_01", "name": self.tool.name, "input": tried.call}
        messages = [_user("Hi"), {"role": "assistant", "content": [call]}, _user([result])]
        problem = validate({"model": "any", "max_tokens": 1, "messages": messages, "tools": [self.tool.schema]})
        if problem:
            return {"unsendable": f"{shown(tried.value)}. The API says: {clean(problem.message)}"}
        value = tried.value
        if value is None:
            return {"empty": f"None ({'printed, and not returned?' if tried.printed else 'is a return missing?'})"}
        # Nothing may come of nothing: capitals of an empty text.
        if not (_text(result) if isinstance(value, list) and value else str(value)).strip() and not _has_empty(
            tried.call
        ):
            return {"empty": shown(value)}
        if (length := _length(value)) > MAX_RESULT_CHARACTERS:
            return {"long": f"{length:,} characters, beginning with {shown(value)[:60]}"}
        return {}

    def _error(self, error):
        line, said = trial.own_line(error, self.function or self.tool.handler), ""
        with contextlib.suppress(Exception):  # a class may have a broken __str__
            said = clean(str(error))
        if isinstance(error, ToolError):
            return "a ToolError without a word"
        return f"{type(error).__name__}: {said}".removesuffix(": ") + (f" ({line})" if line else "")

    def _with_wrong_arguments(self, base):
        """Arguments left out, of a wrong type, or unknown: each must be an error that names the argument."""
        properties = properties_of(self.inputs.schema)
        for name in self.inputs.schema.get("required") or ():
            self._must_refuse("missing", name, {key: value for key, value in base.items() if key != name})
        for name, schema in properties.items():
            for value in (5, "tea", ["tea"], {"tea": 1}):
                if not self.inputs.fit(value, schema):
                    self._must_refuse("type", name, {**base, name: value})
        name = "no_such_argument"
        if not self.inputs.fit({**base, name: 1}) or "additionalProperties" not in self.inputs.schema:
            self._must_refuse("unknown", name, {**base, name: 1})

    def _must_refuse(self, kind, name, call):
        if kind in self.details or self.late:
            return
        tried = self._tried(call)
        if self.late:
            self.untried |= set(CALLED) - {"late"}
            self.tried[_key(call)] = tried
            return
        came = clean(_text(tried.result)) if isinstance(tried.result, dict) else self._error(tried.raised)
        refused = isinstance(tried.result, dict) and tried.result.get("is_error") and name in _text(tried.result)
        if not refused:
            reached = f"the function got it, and {'raised' if tried.raised else 'gave'}: " if tried.reached else ""
            self._wrong(
                kind, ("call", self._shown(call)), ("yours", reached + came), ("right", f"an error with {name!r} in it")
            )

    def _report(self):
        """Make the failing calls smaller, and tell of the smallest of each kind."""
        end, kinds = time.monotonic() + SHRINK_SECONDS, [kind for kind in CALLED if self._failing(kind)]
        for kind in kinds:
            most = self.calls + SHRINK_CALLS

            def fails(call, kind=kind, most=most):
                known = _key(call) in self.tried
                enough = self.late or self.calls >= most or time.monotonic() > end
                return (known or not enough) and kind in self._try(call).faults

            found = None if self.late else explore(self.inputs.calls(), fails, MADE_UP_CALLS)
            smallest = self._failing(kind)[0]
            if found is not None and len(_key(found)) <= len(_key(smallest.call)):  # it is simpler as well
                smallest = self._try(found)
            again = ""
            if not self.late and kind not in self._tried(smallest.call).faults:
                again = (
                    "the same call did not fail again: it depends on more than its arguments (time, chance, a memory)"
                )
            self._wrong(
                kind,
                ("call", self._shown(smallest.call)),
                ("yours", smallest.faults[kind]),
                ("printed", clean(smallest.printed.strip())),
                ("but", again),
            )
        if self.late and "late" not in self.details:
            late = self._failing("late")[0]
            self._wrong("late", ("call", self._shown(late.call)), ("yours", late.faults["late"]))
        if not kinds and not self.late and not any(tried.answered for tried in self.tried.values()):
            said = "every call was refused, so no answer was seen. Name values that work in the schema: enum, examples"
            self.notes["unsendable"] = [("note", said)]
        printed = next((tried.printed.strip() for tried in self.tried.values() if tried.printed.strip()), "")
        if printed and "empty" not in self.details:
            self.notes["empty"] = [("note", f"it prints as well, which the model does not see: {clean(printed)!r}")]

    def _failing(self, kind):
        return sorted((tried for tried in self.tried.values() if kind in tried.faults), key=lambda one: _size(one.call))

    def _shown(self, call):
        return clean(f"{self.tool.name}({', '.join(f'{name}={shown(value)}' for name, value in call.items())})", 1000)


# ---- one call


def _user(content):
    return {"role": "user", "content": content}


def _key(call):
    return json.dumps(call, sort_keys=True, default=repr)


def _size(call):
    key = _key(call)
    return len(key), key


def _text(result):
    """The words of a tool_result."""
    content = result.get("content", "")
    if isinstance(content, list):
        return "".join(block.get("text", "(no text)") for block in content if isinstance(block, dict))
    return content if isinstance(content, str) else str(content)


def _has_empty(value):
    """Whether an argument, or a part of one, is a string in which nothing is to be seen."""
    if isinstance(value, dict):
        value = list(value.values())
    return any(map(_has_empty, value)) if isinstance(value, list) else isinstance(value, str) and not value.strip()


def _length(value):
    """The characters of what a handler returned; the bytes of a picture are not text."""
    if isinstance(value, str):
        return len(value)
    if isinstance(value, list) and value and all(isinstance(one, dict) and "type" in one for one in value):
        return sum(len(one.get("text", "")) for one in value)
    return len(json.dumps(value, default=str))


def _is_planned(error):
    """Whether it is a tool's no: a ToolError, ours or the SDK's, or a ValueError that its code raises on purpose."""
    said = ""
    with contextlib.suppress(Exception):
        said = str(error).strip()
    if not said:
        return False
    if any(kind.__name__ == "ToolError" for kind in type(error).__mro__):
        return True
    return isinstance(error, ValueError) and _is_raised_by_its_own_code(error)


def _is_raised_by_its_own_code(error):
    """Whether a `raise` of the reader's raised it, and not a call that went wrong."""
    at = error.__traceback__
    while at is not None and at.tb_next is not None:
        at = at.tb_next
    if at is None or not trial.is_learners(at.tb_frame.f_code.co_filename):
        return False
    step = next((step for step in dis.get_instructions(at.tb_frame.f_code) if step.offset == at.tb_lasti), None)
    return step is not None and step.opname == "RAISE_VARARGS"


# ---- schema and signature

SIMPLE = {str: "string", int: "integer", float: "number", bool: "boolean", list: "array", dict: "object"}


def _disagreements(schema, function):
    """One sentence for each place where a schema and the parameters of its function say two things."""
    if not isinstance(schema, dict):
        return
    offered, required = properties_of(schema), schema.get("required") or []
    required = required if isinstance(required, list) else []
    yield from (f"`required` has {name!r}, which is not in `properties`" for name in required if name not in offered)
    try:
        parameters = inspect.signature(function).parameters.values() if function else []
        hints = typing.get_type_hints(inspect.unwrap(function)) if function else {}
    except Exception:  # written in C, or with a name in its annotations that nobody knows
        try:
            parameters, hints = inspect.signature(function).parameters.values(), {}
        except (TypeError, ValueError):
            return
    if not function:
        return
    named = {p.name: p for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)}
    for parameter in parameters:
        if parameter.kind is parameter.POSITIONAL_ONLY:
            yield f"the function takes {parameter.name} by its place alone, and a call names its arguments"
    if not any(p.kind is p.VAR_KEYWORD for p in parameters):
        places = {p.name for p in parameters if p.kind is p.POSITIONAL_ONLY}
        yield from (
            f"the schema offers {name}, which the function does not take"
            for name in offered
            if name not in named and name not in places
        )
    for name, parameter in named.items():
        optional = parameter.default is not parameter.empty
        if name not in offered and not optional:
            yield f"the function needs {name}, which the schema does not offer"
        elif name in offered and not optional and name not in required:
            yield f"the function needs {name}, so it must be in `required`"
        elif optional and name in required:
            yield f"{name} has a default, so it need not be in `required`"
        kind, wanted = SIMPLE.get(hints.get(name)) if _is_hashable(hints.get(name)) else None, None
        if isinstance(offered.get(name), dict):
            wanted = offered[name].get("type")
        if kind and isinstance(wanted, str) and wanted != kind and (wanted, kind) != ("integer", "number"):
            yield f"{name} is of type {wanted} in the schema, and {hints[name].__name__} in the function"


def _is_hashable(value):
    try:
        hash(value)
    except TypeError:
        return False
    return True


# ---- the folder that it works in


class _Room:
    """A temporary copy of the workspace, with files of several kinds. `names` are some of its paths."""

    def __init__(self) -> None:
        self.files = _files_of(workspace.workdir())
        own = sorted(self.files, key=lambda name: (name.count("/"), name))[:4]
        folders = [name.split("/")[0] for name in self.files if "/" in name][:1]
        for name, content in EXTRA.items():
            self.files.setdefault(name, content)
        self.names = tuple(dict.fromkeys(["tea list.txt", *own, *folders, *EXTRA, "a folder"]))

    def __enter__(self) -> "_Room":
        self._ends = contextlib.ExitStack()
        self.root = self._ends.enter_context(trial.temporary_workspace())
        self.seen: object = None
        self.restore()
        return self

    def __exit__(self, *_: object) -> None:
        self._ends.close()

    def restore(self) -> None:
        """Put everything back, if anything was changed: each call finds the same files."""
        if self.seen is not None and self._state() == self.seen:
            return
        for path in self.root.iterdir():
            with contextlib.suppress(OSError):
                shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
        for name, content in self.files.items():
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            with contextlib.suppress(OSError):
                path.write_bytes(content)
                os.utime(path, (LONG_AGO, LONG_AGO))
        self.seen = self._state()

    def _state(self):
        state = []
        for folder, folders, names in os.walk(self.root):
            state += [(folder, name, None) for name in folders]
            for name in names:
                with contextlib.suppress(OSError):
                    info = os.lstat(os.path.join(folder, name))
                    state.append((folder, name, (info.st_size, info.st_mtime_ns, info.st_mode)))
        return sorted(state, key=lambda one: one[:2])


EXTRA = {
    "tea list.txt": b"green tea\nblack tea\nwater\n",
    "long.txt": b"".join(b"line %d: green tea, black tea, water\n" % n for n in range(1, 4001)),
    "binary.dat": b"\x00\xff\xfe\x80" * 64,
    "empty.txt": b"",
    "a folder/notes.txt": "Grüße aus dem Teehaus\n".encode(),
}


def _files_of(root: Path) -> dict[str, bytes]:
    """The files beneath a folder, name -> bytes: none that is hidden or a link, and not more than fit."""
    files: dict[str, bytes] = {}
    left, looked = MOST_BYTES, 0
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name != "__pycache__")
        looked += len(folders) + len(names)
        for name in sorted(names):
            path = Path(folder, name)
            with contextlib.suppress(OSError):
                size = path.lstat().st_size
                if not name.startswith(".") and path.is_file() and not path.is_symlink() and size <= left:
                    files[path.relative_to(root).as_posix()] = path.read_bytes()
                    left -= size
            if len(files) >= MOST_FILES:
                return files
        if looked > MOST_LOOKED_AT:
            break
    return files
