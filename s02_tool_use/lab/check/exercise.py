"""How a check judges: an exercise is a table of properties, each with its sentence, cases, right answer and reading.

    @exercise("my_double(number), a function that returns twice the number")
    def double():
        yield holds("small numbers double", (2, "Twice is"))([(0,), (1,)], lambda number: 2 * number)

makes `check.double(yours)`; `holds` (exercises/parts.py) makes a Property of a row.

Left out: the exercises (exercises/) and the running of a learner's code (trial.py).
"""

import ast
import contextlib
import copy
import dis
import functools
import inspect
import re
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import KW_ONLY, dataclass, field, replace
from types import SimpleNamespace
from typing import Any

import s02_tool_use

from ...bash.program import MISSING, which_bash
from ..client.missing import HAS, wanted
from ..sessions.job import Stopped
from ..show import page
from . import board, record, trial


class Given(SimpleNamespace):
    """Something that the SDK gives: it has attributes, no `given["id"]`, and can be dumped."""

    def __repr__(self):
        inside = ", ".join(f"{key}={shown(value)}" for key, value in vars(self).items() if key != "type")
        return f"{type(self).__name__}({inside})"

    def model_dump(self, **_):
        return {k: v.model_dump() if isinstance(v, Given) else copy.deepcopy(v) for k, v in vars(self).items()}

    to_dict = model_dump


class Block(Given):
    """A content block: a ToolUseBlock or a TextBlock."""

    def __new__(cls, **fields):
        name = fields.get("type", "").title().replace("_", "") + "Block"
        return super().__new__(type(name, (cls,), {}) if fields else cls)  # without fields: a copy is being made


class Named:
    """Anything that a verdict shows as `text`, whatever else it holds."""

    def __init__(self, text: str, **fields: Any) -> None:
        vars(self).update(text=text, **fields)

    def __repr__(self):
        return self.text


class Such(Named):
    """A right answer that is not one value: `text` says what it is like, `holds(value)` tells whether a value is.

    `kind`, if given, is the type that each right value has.
    """

    def __init__(self, text: str, holds: Callable[[Any], object], kind: type | None = None) -> None:
        super().__init__(text)
        self.holds, self.kind = holds, kind

    def __eq__(self, value: object) -> bool:
        return bool(self.holds(value))

    __hash__ = None  # type: ignore[assignment]  # equal to many values, so in no set


def text_with(*parts: str) -> Such:
    """A right answer: any string that holds all these parts."""
    said = " and ".join(map(repr, parts))
    return Such(
        f"a string with {said} in it", lambda text: isinstance(text, str) and all(part in text for part in parts), str
    )


@dataclass(frozen=True)
class Property:
    """One line of a verdict: what must hold, how it is tried, where it is explained.

    sentence: what must hold, in the words of the notebook.
    read:     where the notebook says so: the number of the section, and the first words of the sentence to read again.
    cases:    tuples of arguments, the smallest first; the first one that fails is shown. [()] for a plain value.
    right:    the right value, or a Such, or a function that takes a case's arguments and returns one of them.
    see:      see(result, *arguments) picks what is compared; the whole result when left out.
    run:      run(yours, *arguments) when one plain call does not show it. What it returns may be `attempted`: then
              yours is no stub, even if it returned nothing.
    kept:     True for cases that take long, such as a whole conversation: several properties look at the same run.
    needs:    one of NEEDS, without which it cannot be judged.
    """

    sentence: str
    read: tuple[int, str]
    cases: list[tuple]
    right: Any
    see: Callable[..., object] | None = None
    run: Callable[..., object] | None = None
    kept: bool = False
    needs: str = ""

    def right_for(self, case: tuple) -> object:
        return self.right(*copy.deepcopy(case)) if callable(self.right) else self.right


# What a property may need that is not everywhere, and the reason why it is left out in a browser page.
NEEDS = {needs: f"a browser page has {has}" for needs, has in HAS.items()}
NEEDS |= {"bash": NEEDS["processes"], "time": "nothing stops a call in a browser page"}


@dataclass
class Line:
    """The verdict on one property: RIGHT, WRONG, NOT_YET, NOT_TRIED or NOT_HERE, and for a wrong one the details.

    details: pairs. needs: one of NEEDS. Where that is missing the verdict is NOT_HERE, whatever was given; with
    details it is the answer that needs it, and not the property.
    """

    sentence: str
    verdict: str
    details: list[tuple[str, str]] = field(default_factory=list)
    needs: str = ""

    def __post_init__(self) -> None:
        if missing(self.needs):
            self.verdict = NOT_HERE


def missing(needs: str) -> str:
    """Why what a property needs is not here, or ""."""
    if s02_tool_use.IN_A_PAGE:
        return NEEDS.get(needs, "")
    return MISSING if needs == "bash" and not which_bash() else ""


RIGHT, WRONG, NOT_YET, NOT_TRIED, NOT_HERE = "right", "wrong", "not yet", "not tried", "not here"


@dataclass(repr=False, eq=False)
class Exercise:
    """`check.NAME(yours)`: tries what the learner wrote and returns a Verdict. Raises nothing but Stopped."""

    name: str
    takes: str  # how the learner's function is called, such as "my_bash(command)"; the first line of the help
    properties: list[Property]
    _: KW_ONLY
    files: Mapping[str, str] = field(default_factory=dict)  # name -> content, what the temporary workspace holds
    deadline: float = trial.DEADLINE_SECONDS  # seconds for one call
    silence: bool = False  # True gives commands a standard input that never ends
    as_value: bool = False  # True looks at what could be called as well: a tool of the SDK is both
    untouched: Callable[..., object] | None = None  # true of values as the notebook ships them, beside None and `...`
    errors: bool = False  # True if each tool_result that a right answer gives here is an error
    answers: int = 0  # in a list of answers: how many there are, and no more
    own: str = ""  # the package's functions that solve it, if they are not called NAME or run_NAME: "agent_loop"
    needs: str = ""  # one of NEEDS, if each of its properties needs that

    def __post_init__(self) -> None:
        if self.needs:
            self.properties = [replace(prop, needs=self.needs) for prop in self.properties]
        self.__doc__ = f"check.{self.name}: {self.takes}"

    def __repr__(self) -> str:
        return f"check.{self.name} takes {self.takes}"

    @property
    def wants_function(self) -> bool:
        return not self.as_value and any(case != () for prop in self.properties for case in prop.cases)

    def __call__(self, *yours: Any, **named: Any) -> "Verdict":
        """A function is called with each case; any other values are looked at as they are."""
        record.kept.pop(self.name, None)  # the last verdict counts
        problem = strange_call(self, yours, named)
        if problem:
            mark = NOT_YET if all(value is None or value is ... for value in yours) else WRONG
            return Verdict(self.name, self.all(mark), said=problem)
        values = [value for value in yours if self.as_value or not callable(value)]
        function = yours[0] if not values else None
        remark = ""
        if any(map(is_unfilled, values)) or self._is_untouched(yours):
            lines = self.all(NOT_YET)
        else:
            given = function or (lambda: yours if len(yours) > 1 else yours[0])
            try:
                run = _Trial(self, given, bool(function))
                lines, remark, problem = run.lines(), run.remark(), run.misfit()
            except KeyboardInterrupt as error:
                raise Stopped(f"{self.name}: {str(error) or 'stopped'}. Nothing was judged.") from None
        verdict = Verdict(self.name, lines, remark, problem)
        if verdict.passed:
            record.kept[self.name] = yours if len(yours) > 1 else yours[0]
        if verdict.tried:
            record.record(self.name, verdict.passed)
            board.tell()
        return verdict

    def all(self, verdict: str) -> list[Line]:
        """The lines of all properties, with the same verdict."""
        return [Line(prop.sentence, verdict, needs=prop.needs) for prop in self.properties]

    def _is_untouched(self, yours):
        try:
            return self.untouched is not None and self.untouched(*yours)
        except Exception:  # a value of another shape
            return False


def exercise(takes: str, **options: Any) -> Callable[[Callable[[], Iterable[Property]]], Exercise]:
    """Makes an Exercise of a function that yields its properties. It has the function's name."""
    return lambda table: Exercise(table.__name__, takes, list(table()), **options)


class _Trial:
    """One run of all properties of an exercise."""

    def __init__(self, exercise, yours, is_function):
        self.exercise, self.yours, self.is_function = exercise, yours, is_function
        self.late, self.gave, self.now, self.errors, self.misfits = False, [], [], [], []
        self.results = []  # (case, what came out), where that is what yours returned
        self.played = {}  # (run, ids of a case) -> what came of it
        self.lines_left = MOST_PRINTED
        self.package = package_functions(exercise)

    def lines(self):
        exercise, lines = self.exercise, []
        quiet = trial.silence() if exercise.silence else contextlib.nullcontext()
        with trial.temporary_workspace(exercise.files), quiet as self.stdin:
            for prop in exercise.properties:
                # Waiting for one endless loop is enough.
                is_left_out = self.late or missing(prop.needs)
                lines.append(Line(prop.sentence, NOT_TRIED, needs=prop.needs) if is_left_out else self._line(prop))
        if not self.late and all(is_unfilled(value) or self._is_stub(value) for _, value in self.gave):
            return exercise.all(NOT_YET)
        if all(line.verdict in (RIGHT, NOT_HERE) for line in lines):
            lines += [Line(*problem) for problem in (self._constant(), self._refused(), self._marked()) if problem]
        return lines

    def misfit(self):
        """One sentence about a function that cannot be called with what it gets, or ""."""
        if not self.misfits or len(self.misfits) < sum(raised or given is not None for raised, given in self.gave):
            return ""
        form = re.match(r"\w+\([^()]*\)", self.exercise.takes)
        try:
            mine = f"{self.yours.__name__}{inspect.signature(self.yours)}"
        except (AttributeError, TypeError, ValueError):  # a built-in may not say
            mine = "your function"
        called = f"as {form[0]}" if form else "with what it is given"
        return f"{mine} cannot be called {called}: {clean(str(self.misfits[0]))}."

    def _is_stub(self, value):
        return type(value) is NotImplementedError and not unwritten(value, self.yours)

    def remark(self):
        """What is to be said about a pass, if the package has done the work."""
        names = trial.used(self.yours, self.package) if self.package else []
        if self.yours in self.package:
            return f"this is the package's {names[0]}, so it shows nothing about yours"
        return f"it calls the package's {names[0]}, which does the work" if names else ""

    def _recorded(self, *args, **named):
        """Call yours, and remember what it gave: a value, or its exception."""
        case = self.now  # a call that was left behind goes on with its own
        try:
            value = self.yours(*args, **named)
        except BaseException as error:
            case.append((True, error))
            if type(error) is TypeError and error.__traceback__.tb_next is None:  # none of its lines was run
                self.misfits.append(error)
            raise
        case.append((False, FORGOTTEN if value is None and does_something(self.yours) else value))
        return value

    def _played(self, prop, case):
        """What came of one case: the Outcome. self.now is what yours gave meanwhile."""
        key = (prop.run, *map(id, case))
        if prop.kept and key in self.played:
            outcome, self.now = self.played[key]
            return outcome
        run = prop.run or (lambda function, *args: function(*args))
        # Copies: a function that changes its input must not spoil the next property.
        args, self.now = copy.deepcopy(case), []
        outcome = trial.call(run, self._recorded, *args, deadline=self.exercise.deadline, stdin=self.stdin)
        self.late = bool(outcome.late)
        if getattr(outcome.value, "attempted", False):
            self.now.append((False, outcome.value))  # a `run` saw that something was done, if nothing was returned
        self.gave += self.now
        self.played[key] = outcome, self.now
        return outcome

    def _line(self, prop):
        for case in sorted(prop.cases, key=size):
            outcome = self._played(prop, case)
            # In time as well: what came back may be a list without an end.
            looked = trial.call(_compared, prop, case, outcome, deadline=self.exercise.deadline)
            value, same, seen = looked.value if looked.value else (outcome.value, False, False)
            if looked.late:
                self.late, outcome.late = True, looked.late
            if not same and not self.is_function and (value is None or value is ...):
                return Line(prop.sentence, NOT_YET)  # one of several answers is still open
            if not same:
                details = self._details(prop, case, outcome, value, seen)
                return Line(prop.sentence, WRONG, details, needs=wanted(outcome.error))
            if any(given is outcome.value for _, given in self.now):
                self.results.append((case, outcome.value))
        return Line(prop.sentence, RIGHT)

    def _details(self, prop, case, outcome, value, seen):
        """The pairs that tell what is wrong with an outcome."""
        raised, last = self.now[-1] if self.now else (False, None)
        error, right, printed = outcome.error, prop.right_for(case), outcome.printed
        yours, wanted = around(shown(value, limit=None), shown(right, limit=None))
        if outcome.late:
            yours = f"{outcome.late}. Is it an endless loop, or does it wait for something that never comes?"
        elif error is not None and self.now and not (raised and error is last):
            yours = shown(FORGOTTEN if last is None else last)  # it gave something from which ours could not go on
            if last is FORGOTTEN:
                yours += self._why_none(prop, case, printed)
        elif error is not None:
            yours = self._error(error)
            if yours in self.errors:
                return [
                    (
                        "yours",
                        "the same: " + yours if unwritten(error, self.yours) else f"the same {type(error).__name__}",
                    )
                ]
            self.errors.append(yours)
        elif outcome.value is None or (value is None and self._forgot()):
            yours += self._why_none(prop, case, printed)
        elif self._forgot():
            yours += (
                f", and {getattr(self.yours, '__name__', 'yours')} returned None{self._why_none(prop, case, printed)}"
            )
        elif yours == wanted:  # such as the text alone, where a dict with it is expected
            yours += f" (but what came back is {a(type(outcome.value))})"
        elif seen:
            yours += other_kind(value, right)
        given = f"{getattr(self.yours, '__name__', 'yours')}({', '.join(map(shown, case))})" if case else ""
        pairs = [("input", given), ("yours", yours), ("printed", self._printed(printed))]
        pairs += [("right", wanted), ("read again", f"section {prop.read[0]}, “{as_read(prop.read[1])} ...”")]
        return [(key, said) for key, said in pairs if said]

    def _forgot(self):
        return any(given is FORGOTTEN for _, given in self.now)

    def _error(self, error):
        """An exception in one line, with the learner's own line, and what may be behind it."""
        line, said, part = trial.own_line(error, self.yours), "", unwritten(error, self.yours)
        if part:
            return f"it calls {part}, which is still to be written: solve that exercise first"
        with contextlib.suppress(Exception):  # a learner's class may have a broken __str__
            said = clean(str(error))
        if isinstance(error, RecursionError):
            said = "it calls itself without end"
        yours = f"{type(error).__name__}: {said}".removesuffix(": ") + (f" ({line})" if line else "")
        if "NoneType" in said and changes_in_place(self.yours):
            yours += f". {IN_PLACE}"
        return yours

    def _why_none(self, prop, case, printed):
        """What may be behind a None: the right result was printed, something was, or no `return` was reached."""
        candidates = [printed.strip(), printed]
        with contextlib.suppress(Exception):
            candidates.append(ast.literal_eval(printed.strip()))
        outcomes = [trial.Outcome(value) for value in candidates if printed.strip()]
        if any(_compared(prop, case, outcome)[1] for outcome in outcomes):
            return " (it prints the right result: return it instead of printing it)"
        if printed:
            return " (printed, and not returned?)"
        return f" (is a return missing? {IN_PLACE})" if changes_in_place(self.yours) else " (is a return missing?)"

    def _printed(self, printed):
        """The first lines of what was printed, as many as the verdict still has room for."""
        every = clean(printed.strip(), limit=None).split("\n") if printed.strip() else []
        few = [line[:200] for line in every[: min(self.lines_left, MOST_PRINTED // 2)]]
        self.lines_left -= len(few)
        rest = len(every) - len(few)
        return "\n".join([*few, *[f"... ({rest} more line{'s' * (rest > 1)})"] * bool(rest)])

    def _constant(self):
        """The problem of a function that gives one and the same, whatever it gets."""
        if any(raised for raised, _ in self.gave):
            return None
        with contextlib.suppress(Exception):  # strange values cannot be compared
            (case, first), *others = self.results
            other = next(given for given, _ in others if repr(given) != repr(case))
            if all(type(value) is type(first) and value == first for _, value in others):
                name = getattr(self.yours, "__name__", "yours")
                inputs = " and ".join(f"{name}({', '.join(map(shown, given))})" for given in (case, other))
                details = [("input", inputs), ("yours", f"each time {shown(first)}")]
                return "the result depends on the input", WRONG, details
        return None

    def _refused(self):
        """The problem of a tool_result that the API would refuse for its keys, wherever it stands in a result."""
        for block in self._tool_results():
            more = sorted(set(block) - RESULT_KEYS, key=str)
            if more:
                details = [("yours", shown(block)), ("right", f"without {', '.join(map(repr, more))}")]
                return "a tool_result has no other keys: the API would refuse them", WRONG, details
        return None

    def _marked(self):
        """The problem of results that all say that they are errors."""
        blocks = self._tool_results()
        if len(blocks) > 1 and not self.exercise.errors and all(block.get("is_error") is True for block in blocks):
            return "a result that is not an error is not marked as one", WRONG, [("yours", shown(blocks[0]))]
        return None

    def _tool_results(self):
        return [block for raised, value in self.gave if not raised for block in results_in(value)]


RESULT_KEYS = {"type", "tool_use_id", "content", "is_error", "cache_control"}
MOST_PRINTED = 20  # lines of what was printed that one verdict shows
IN_PLACE = "A method such as append changes the list and returns None: do not assign what it returns."
CHANGE_IN_PLACE = {"append", "extend", "insert", "sort", "reverse", "remove", "clear", "update", "add", "discard"}


def results_in(value, depth=4):
    """The tool_result blocks in a value, down to the content of a message in a list."""
    if isinstance(value, dict):
        if value.get("type") == "tool_result":
            yield value
        value = value.get("content")
    if type(value) in (list, tuple) and depth:  # no class of the learner's: it may have no end
        for item in value:
            yield from results_in(item, depth - 1)


def size(value):
    """How much there is to read in a case: characters, and the things in a list. What stands for something is 1."""
    if isinstance(value, Given):
        value = vars(value)
    if isinstance(value, dict):
        return 1 + sum(map(size, value.values()))
    if isinstance(value, (list, tuple)):
        return 1 + sum(map(size, value))
    return len(value) if isinstance(value, (str, bytes)) else 1


def a(kind):
    """A type in the words of a sentence."""
    return {str: "a string", int: "an int", dict: "a dict", list: "a list", bytes: "bytes", bool: "a bool"}.get(
        kind, f"a {kind.__name__}"
    )


def other_kind(value, right):
    """Says of what kind a value is, where that alone makes it wrong."""
    wanted = right.kind if isinstance(right, Such) else None if isinstance(right, Named) else type(right)
    if wanted in (None, type(None), type(value)) or isinstance(value, (BaseException, Named)):
        return ""
    return f" ({a(type(value))}, and {a(wanted)} is expected)"


def package_functions(exercise):
    """The functions of the package that an exercise is about."""
    names = exercise.own.split() or [exercise.name, f"run_{exercise.name}"]
    return [getattr(s02_tool_use, name) for name in names if name in s02_tool_use.__all__]


def code_of(function):
    """The code of a function, of a method, or of what is called in an object; None for what has none."""
    while isinstance(function, functools.partial):
        function = function.func
    function = inspect.unwrap(function) if hasattr(function, "__wrapped__") else function
    return getattr(function, "__code__", None) or getattr(type(function).__call__, "__code__", None)


def strange_call(exercise, yours, named):
    """One sentence about what makes no sense as an answer, or ""."""
    want, call = exercise.takes, f"check.{exercise.name}"
    several = re.match(r"(?:\w+, )+\w+(?=:)", want)  # "my_tools, my_handlers: a list of ..."
    most = several[0].count(",") + 1 if several and not exercise.wants_function else 1
    name = re.match(r"\w+(?=\()|my_\w+", want)
    mine = several[0] if most > 1 else name[0] if name else "yours"
    if named:
        return f"{call} takes your answer without a name before it: {call}({mine})."
    if not yours:
        return f"{call} needs your answer: {call}({mine})."
    if len(yours) > most or (len(yours) < most and yours[0] is not None):
        number = "one answer" if most == 1 else f"{most} values"
        return f"{call} takes {number}, {call}({mine}), and was given {len(yours)}."
    value = yours[0]
    given = f"was given {shown(value, limit=80)}"
    if exercise.wants_function:
        return "" if value is None or value is ... else _strange_function(value, call, mine)
    if exercise.as_value:
        return ""
    if any(item is None for item in yours):
        return f"{call} {given}, which is what x = some_list.append(...), x = print(...) and a forgotten return give."
    if callable(value) and (isinstance(value, type) or not _binds(value, 0)):
        return f"{call} takes {want}, and {given}, {'a class' if isinstance(value, type) else 'a function'}."
    if isinstance(value, (int, float, complex, bytes, set, Iterator)):
        return f"{call} takes {want}, and {given}, {a(type(value))}."
    if exercise.answers and isinstance(value, (list, tuple, dict)) and len(value) > exercise.answers:
        return f"{call} takes {want}, and {given}, which are {len(value)}."
    return ""


def _strange_function(value, call, mine):
    name = getattr(value, "__name__", "your function")
    if isinstance(value, type) and "__call__" not in vars(value):  # else it may make a function, as a closure does
        return f"{call} takes a function, {call}({mine}), and {name} is a class."
    if not callable(value):
        given = f"{shown(value, limit=80)}, {a(type(value))}"
        return f"{call} takes the function itself, {call}({mine}), and was given {given}."
    called = value if inspect.isroutine(value) else inspect.unwrap(getattr(value, "func", value.__call__))
    if inspect.iscoroutinefunction(called) or inspect.isasyncgenfunction(called):
        return f"{name} is an async function, and nothing awaits it here: define it with plain def."
    if inspect.isgeneratorfunction(called):
        return f"{name} has a yield in it, so calling it runs none of its lines: collect the values, and return them."
    return ""


def _binds(function, number):
    try:
        inspect.signature(function).bind(*range(number))
    except TypeError:
        return False
    except ValueError:  # a built-in that does not say
        return True
    return True


def unwritten(error, yours):
    """The name of the learner's other function that is still a stub, if an exception comes from one."""
    if type(error) is not NotImplementedError:
        return ""
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    frame = frames[-1] if frames else None
    code = code_of(yours)
    if frame is None or code is None or frame.f_code is code or not trial.is_learners(frame.f_code.co_filename):
        return ""
    return "" if frame.f_code in code.co_consts else frame.f_code.co_name


def _compared(prop, case, outcome):
    """(the value to show, True if it is right, True if it is what was to be seen of the result)."""
    if outcome.late or outcome.error is not None:
        return outcome.error, False, False
    value, seen = outcome.value, prop.see is None
    try:
        if prop.see:
            value, seen = prop.see(value, *copy.deepcopy(case)), True
        return value, bool(prop.right_for(case) == value), seen
    except Exception:  # a result of another shape is shown whole; strange values that cannot be compared differ
        return value, False, seen


FORGOTTEN = Named("None")  # what a function gave that does something, and returns nothing


# What a function with an empty body is made of: it takes what it got or a constant, and returns it.
NOTHING = re.compile(
    r"RESUME|NOP|CACHE|COPY_FREE_VARS|MAKE_CELL|EXTENDED_ARG|NOT_TAKEN|LOAD_(CONST|SMALL_INT|FAST).*|RETURN_.*"
)


def does_something(function):
    """False for a function with an empty body: pass, `...`, or no more than its docstring."""
    code = code_of(function)
    return code is None or not all(NOTHING.fullmatch(step.opname) for step in dis.get_instructions(code))


def changes_in_place(function):
    """Whether a method is called in it that changes a list, a dict or a set, and returns None."""
    code = code_of(function)
    return code is not None and bool(CHANGE_IN_PLACE & set(code.co_names))


def is_unfilled(value):
    """True for None and `...`, and for a list or dict in which a `...` still stands."""
    try:
        return value is None or _has_dots(value)
    except RecursionError:  # a list that holds itself
        return False


def _has_dots(value):
    if type(value) is dict:
        value = list(value.values())
    # No class of the learner's: it may have no end.
    return any(map(_has_dots, value)) if type(value) in (list, tuple) else value is ...


def as_read(words):
    """Words of a page as the reader sees them: without the marks of Markdown."""
    return re.sub(r"`([^`]*)`|\*+", r"\1", words)


def shown(value, limit=400):
    """`value` on one line, in a form that repeats exactly: functions by name, no addresses, no path of this machine."""
    try:
        return clean(repr(_plain(value)), limit)
    except Exception:  # a learner's class may have a broken __repr__, and a list may hold itself
        return f"<{type(value).__name__}>"


def _plain(value):
    """The same with a name in the place of each function."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if type(value) in (list, tuple):
        return type(value)(map(_plain, value))
    return Named(value.__name__) if callable(value) and hasattr(value, "__name__") else value


def clean(text, limit=400):
    """`text` without the temporary folder and without addresses, and at most `limit` characters of it."""
    text = page.printable(text)
    # Before a cut could halve it; from the start of a word alone, else a long one takes the square of its length.
    text = re.sub(rf"(?<![^\s'\"])[^\s'\"]*{trial.PREFIX}[a-z0-9_]{{8}}", "WORKSPACE", text)
    text = re.sub(r" at 0x[0-9a-fA-F]+", "", text)
    return text if limit is None else cut(text, 0, limit)


def cut(text, start, limit=400):
    """At most `limit` characters of a text from `start` on, and how many there are before and after."""
    if len(text) <= limit:
        return text
    before = f"({start} characters) ... " if start else ""
    rest = len(text) - start - limit
    return f"{before}{text[start : start + limit]}" + (f" ... ({rest} more characters)" if rest > 0 else "")


def around(yours, right, limit=400):
    """Both texts, cut to the place where they differ first."""
    same = next((i for i, pair in enumerate(zip(yours, right, strict=False)) if len(set(pair)) > 1), 0)
    start = same - limit // 4 if same > limit * 3 // 4 else 0
    return cut(yours, start, limit), cut(right, start, limit)


MARKS = {RIGHT: ("✓", page.GREEN), WRONG: ("✗", page.RED), NOT_YET: ("○", page.GREY)}
MARKS |= dict.fromkeys((NOT_TRIED, NOT_HERE), ("–", page.GREY))


class Verdict(page.Page):
    """What a check shows. True when every property is right, but for those that cannot be judged here.

    `tried` is False while the reader has written nothing.
    """

    def __init__(self, name: str, lines: list[Line], remark: str = "", said: str = "") -> None:
        self.name, self.lines = name, lines
        done = sum(line.verdict == RIGHT for line in lines)
        left = [line for line in lines if line.verdict == NOT_HERE]
        judged = [line for line in lines if line not in left or line.details]  # an answer that cannot be tried is open
        why = " and ".join(sorted({missing(line.needs) for line in left}))
        self.passed = 0 < done == len(judged)
        self.tried = any(line.verdict != NOT_YET for line in judged)
        self.remark = remark if self.passed else ""
        head = f"{name}: all {done} right" if self.passed else f"{name}: {done} of {len(judged)} right"
        if why:
            head += f", {len(left)} not checked here, because {why}"
        if not judged:
            head = f"{name}: not checked here, because {why}. Elsewhere this is checked:"
        elif not self.tried:
            head = f"{name}: not yet. Fill in your cell, run it, then run this one again. This will be checked:"
        if self.remark:
            head += f". But {self.remark}"
        text, html = [said or head], [f"<b>{page.escape(said or head)}</b>"]
        for line in [] if said else lines:
            mark, colour = MARKS[line.verdict]
            text.append(f"  {line.verdict:9}  {line.sentence}")
            inside = f"{page.badge(f'{mark} {line.verdict}', colour)} {page.escape(line.sentence)}"
            for key, value in line.details:
                text.append(f"      {key}: {value}".replace("\n", "\n        "))
                style = "white-space:pre-wrap;background:none;color:inherit"
                code = f'<code style="{style}">{page.broken(page.escape(value))}</code>'
                inside += f'<div style="margin-left:2em">{key}: {code}</div>'
            html.append(page.bar(inside, colour))
        super().__init__("\n".join(text), "".join(html))

    def __bool__(self) -> bool:
        return self.passed
