"""How a check judges: an exercise is a table of properties, each with its sentence, cases, right answer and reading.

    @exercise("my_double(number), a function that returns twice the number")
    def double():
        yield holds("small numbers double", (2, "Twice is"))([(0,), (1,)], lambda number: 2 * number)

makes `check.double(yours)`; `holds` (exercises/parts.py) makes a Property of a row.

Left out: the exercises (exercises/) and the running of a learner's code (trial.py).
"""

import contextlib
import copy
import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import KW_ONLY, dataclass, field
from types import SimpleNamespace
from typing import Any

from ..sessions.job import Stopped
from ..show import page
from . import record, trial


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
    """A right answer that is not one value: `text` says what it is like, `holds(value)` tells whether a value is."""

    def __init__(self, text: str, holds: Callable[[Any], object]) -> None:
        super().__init__(text)
        self.holds = holds

    def __eq__(self, value: object) -> bool:
        return bool(self.holds(value))

    __hash__ = None  # type: ignore[assignment]  # equal to many values, so in no set


def text_with(*parts: str) -> Such:
    """A right answer: any string that holds all these parts."""
    said = " and ".join(map(repr, parts))
    return Such(f"a text with {said} in it", lambda text: isinstance(text, str) and all(part in text for part in parts))


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
    """

    sentence: str
    read: tuple[int, str]
    cases: list[tuple]
    right: Any
    see: Callable[..., object] | None = None
    run: Callable[..., object] | None = None

    def right_for(self, case: tuple) -> object:
        return self.right(*copy.deepcopy(case)) if callable(self.right) else self.right


@dataclass
class Line:
    """The verdict on one property: RIGHT, WRONG, NOT_YET or NOT_TRIED, and for a wrong one the details, as pairs."""

    sentence: str
    verdict: str
    details: list[tuple[str, str]] = field(default_factory=list)


RIGHT, WRONG, NOT_YET, NOT_TRIED = "right", "wrong", "not yet", "not tried"


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

    def __post_init__(self) -> None:
        self.__doc__ = f"check.{self.name}: {self.takes}"

    def __repr__(self) -> str:
        return f"check.{self.name} takes {self.takes}"

    def __call__(self, *yours: Any) -> "Verdict":
        """A function is called with each case; any other values are looked at as they are."""
        values = [value for value in yours if self.as_value or not callable(value)]
        function = yours[0] if not values and len(yours) == 1 else None
        if not yours or any(map(is_unfilled, values)) or (self.untouched and self.untouched(*yours)):
            lines = [Line(prop.sentence, NOT_YET) for prop in self.properties]
        elif function is None and any(case != () for prop in self.properties for case in prop.cases):
            details = [("yours", shown(yours[0])), ("right", self.takes)]
            lines = [Line("the check is given a function", WRONG, details)]
        else:
            given = function or (lambda: yours if len(yours) > 1 else yours[0])
            try:
                lines = _Trial(self, given, bool(function)).lines()
            except KeyboardInterrupt as error:
                raise Stopped(f"{self.name}: {str(error) or 'stopped'}. Nothing was judged.") from None
        verdict = Verdict(self.name, lines)
        record.kept.pop(self.name, None)  # the last verdict counts
        if verdict.passed:
            record.record(self.name)
            record.kept[self.name] = yours if len(yours) > 1 else yours[0]
        return verdict


def exercise(takes: str, **options: Any) -> Callable[[Callable[[], Iterable[Property]]], Exercise]:
    """Makes an Exercise of a function that yields its properties. It has the function's name."""
    return lambda table: Exercise(table.__name__, takes, list(table()), **options)


class _Trial:
    """One run of all properties of an exercise."""

    def __init__(self, exercise, yours, is_function):
        self.exercise, self.yours, self.is_function = exercise, yours, is_function
        self.late, self.gave, self.raised, self.errors = False, [], None, []

    def lines(self):
        exercise, lines = self.exercise, []
        quiet = trial.silence() if exercise.silence else contextlib.nullcontext()
        with trial.temporary_workspace(exercise.files), quiet as self.stdin:
            for prop in exercise.properties:
                # Waiting for one endless loop is enough.
                lines.append(Line(prop.sentence, NOT_TRIED) if self.late else self._line(prop))
        if not self.late and all(map(is_unfilled, self.gave)):
            return [Line(prop.sentence, NOT_YET) for prop in exercise.properties]
        return lines

    def _recorded(self, *args, **named):
        """Call yours, and remember what it gave: a value, its exception, or None for a stub."""
        try:
            value = self.yours(*args, **named)
        except BaseException as error:
            self.gave.append(None if type(error) is NotImplementedError else error)
            self.raised = error
            raise
        if inspect.iscoroutine(value):
            value.close()  # nobody will wait for it
        self.gave.append(FORGOTTEN if value is None and does_something(self.yours) else value)
        return value

    def _line(self, prop):
        run = prop.run or (lambda function, *args: function(*args))
        for case in prop.cases:
            # Copies: a function that changes its input must not spoil the next property.
            args = copy.deepcopy(case)
            outcome = trial.call(run, self._recorded, *args, deadline=self.exercise.deadline, stdin=self.stdin)
            self.late = bool(outcome.late)
            if getattr(outcome.value, "attempted", False):
                self.gave.append(outcome.value)  # a `run` saw that something was done, even if nothing was returned
            value, same = _compared(prop, case, outcome)
            if not same and not self.is_function and (value is None or value is ...):
                return Line(prop.sentence, NOT_YET)  # one of several answers is still open
            if not same:
                return Line(prop.sentence, WRONG, self._details(prop, case, outcome, value))
        return Line(prop.sentence, RIGHT)

    def _details(self, prop, case, outcome, value):
        """The pairs that tell what is wrong with an outcome."""
        yours, error = shown(value), outcome.error
        if outcome.late:
            yours = f"{outcome.late}. An endless loop, or a wait for what never comes?"
        elif error not in (None, self.raised) and self.gave:
            yours = shown(self.gave[-1])  # it gave something from which ours could not go on
        elif error is not None:
            line, said = trial.own_line(error, self.yours), ""
            with contextlib.suppress(Exception):  # a learner's class may have a broken __str__
                said = clean(str(error))
            yours = f"{type(error).__name__}: {said}".removesuffix(": ") + (f" ({line})" if line else "")
            if yours in self.errors:
                return [("yours", f"the same {type(error).__name__}")]
            self.errors.append(yours)
        elif outcome.value is None:
            yours += " (printed, and not returned?)" if outcome.printed else " (is a return missing?)"
        right = shown(prop.right_for(case))
        if yours == right:  # such as the text alone, where a dict with it is asked for
            yours += f" (but what came back is a {type(outcome.value).__name__})"
        given = f"{getattr(self.yours, '__name__', 'yours')}({', '.join(map(shown, case))})" if case else ""
        pairs = [("input", given), ("yours", yours), ("printed", clean(outcome.printed.strip()))]
        pairs += [("right", right), ("read again", "section {}, “{} ...”".format(*prop.read))]
        return [(key, said) for key, said in pairs if said]


def _compared(prop, case, outcome):
    """(the value to show, True if it is right)."""
    if outcome.late or outcome.error is not None:
        return outcome.error, False
    value = outcome.value
    try:
        if prop.see:
            value = prop.see(value, *copy.deepcopy(case))
        return value, bool(prop.right_for(case) == value)
    except Exception:  # a result of another shape is shown whole; strange values that cannot be compared differ
        return value, False


FORGOTTEN = Named("None")  # what a function gave that does something, and returns nothing


def does_something(function):
    """False for a function with an empty body: it calls nothing, and has no names beside its parameters."""
    code = getattr(function, "__code__", None)
    if code is None:
        return False
    parameters = inspect.signature(function).parameters
    return bool(code.co_names or code.co_nlocals > len(parameters) or any(map(inspect.iscode, code.co_consts)))


def is_unfilled(value):
    """True for None and `...`, and for a list or dict in which a `...` still stands."""
    try:
        return value is None or _has_dots(value)
    except RecursionError:  # a list that holds itself
        return False


def _has_dots(value):
    if isinstance(value, dict):
        value = list(value.values())
    return any(map(_has_dots, value)) if isinstance(value, (list, tuple)) else value is ...


def shown(value):
    """`value` on one line, in a form that repeats exactly: functions by name, no addresses, no path of this machine."""
    try:
        return clean(repr(_plain(value)))
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
    return text if len(text) <= limit else f"{text[:limit]} ... ({len(text) - limit} more characters)"


MARKS = {RIGHT: ("✓", page.GREEN), WRONG: ("✗", page.RED), NOT_YET: ("○", page.GREY), NOT_TRIED: ("–", page.GREY)}


class Verdict(page.Page):
    """What a check shows. True when every property is right."""

    def __init__(self, name: str, lines: list[Line]) -> None:
        self.name, self.lines = name, lines
        done = sum(line.verdict == RIGHT for line in lines)
        self.passed = done == len(lines)
        head = f"{name}: all {done} right" if self.passed else f"{name}: {done} of {len(lines)} right"
        if all(line.verdict == NOT_YET for line in lines):
            head = f"{name}: not yet. Fill in your cell, run it, then run this one again. This will be checked:"
        text, html = [head], [f"<b>{page.escape(head)}</b>"]
        for line in lines:
            mark, colour = MARKS[line.verdict]
            text.append(f"  {line.verdict:9}  {line.sentence}")
            inside = f"{page.badge(f'{mark} {line.verdict}', colour)} {page.escape(line.sentence)}"
            for key, value in line.details:
                text.append(f"      {key}: {value}".replace("\n", "\n        "))
                code = f'<code style="white-space:pre-wrap;background:none;color:inherit">{page.escape(value)}</code>'
                inside += f'<div style="margin-left:2em">{key}: {code}</div>'
            html.append(page.bar(inside, colour))
        super().__init__("\n".join(text), "".join(html))

    def __bool__(self) -> bool:
        return self.passed
