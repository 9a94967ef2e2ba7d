"""How a check judges: a table of properties, each with a sentence, its cases, the right answer and where to read.

Leaves out the exercises themselves (check.py) and the running of a learner's code (calling.py).
"""

import contextlib
import copy
from dataclasses import dataclass, field
from types import SimpleNamespace

from . import calling, page, progress
from .calling import shown


class Block(SimpleNamespace):
    """A content block as the SDK gives it: attributes, no `block["id"]`."""

    def __repr__(self):
        inside = ", ".join(f"{key}={calling._plain(value)}" for key, value in vars(self).items() if key != "type")
        return "".join(word.title() for word in self.type.split("_")) + f"Block({inside})"

    def model_dump(self, **_):
        return copy.deepcopy(vars(self))

    to_dict = model_dump


@dataclass(frozen=True)
class Such:
    """A right answer that is not one value: `text` says what it is like, `holds(value)` knows."""

    text: str
    holds: object

    def __eq__(self, value):
        return bool(self.holds(value))

    def __repr__(self):
        return self.text


@dataclass(frozen=True)
class Property:
    """One line of a verdict.

    sentence: what must hold, in the words of the notebook.
    cases:    tuples of arguments, the smallest first; the first that fails is shown.
    right:    right(*arguments) gives the value, or a Such.
    read:     where in the course the sentence is explained.
    see:      see(result, *arguments) picks what is compared; the whole result when left out.
    run:      run(yours, *arguments) when a single call is not enough.
    """

    sentence: str
    cases: list
    right: object
    read: str
    see: object = None
    run: object = None


@dataclass
class Line:
    """The verdict on one property: "right", "wrong", "not yet" or "not tried"; for a wrong one the details as pairs."""

    sentence: str
    verdict: str
    details: list = field(default_factory=list)


def judge(name, yours, properties, *, files=(), silent_stdin=False):
    """Try `yours` (a function) on every property, in a temporary workspace that holds `files`; return the Verdict.

    Never raises. "Not yet" is a function whose every answer is None, `...` or NotImplementedError.
    """
    if not callable(yours):
        if unfilled(yours):
            return not_yet(name, properties)
        details = [("yours", shown(yours)), ("right", f"check.{name}(my_{name}): the name alone, nothing called")]
        return Verdict(name, [Line("the check is given a function", "wrong", details)])
    lines, outcomes = [], []
    with calling.temporary_workspace(files), calling.Silence() if silent_stdin else contextlib.nullcontext() as stdin:
        for prop in properties:
            if any(outcome.late for outcome in outcomes):  # one endless loop is enough to wait for
                lines.append(Line(prop.sentence, "not tried"))
            else:
                lines.append(_try(prop, yours, outcomes, stdin))
    if all(isinstance(o.error, NotImplementedError) or (o.error is None and unfilled(o.value)) for o in outcomes):
        if not any(outcome.late for outcome in outcomes):
            return not_yet(name, properties)
    return Verdict(name, lines)


def not_yet(name, properties):
    return Verdict(name, [Line(prop.sentence, "not yet") for prop in properties])


def unfilled(value):
    """True for what an unfilled stub holds or gives."""
    return value is None or value is ...


def _try(prop, yours, outcomes, stdin):
    """The line of one property. Appends the outcome of each call."""
    run = prop.run or (lambda function, *args: function(*args))
    for case in prop.cases:
        # Copies: a function that changes its input must not spoil the next property.
        outcome = calling.call(run, yours, *copy.deepcopy(case), code=yours, stdin=stdin)
        outcomes.append(outcome)
        details = _wrong(prop, case, outcome)
        if details:
            name = getattr(yours, "__name__", "yours")
            given = [("input", f"{name}({', '.join(shown(arg) for arg in case)})")] if case else []
            return Line(prop.sentence, "wrong", [*given, *details, ("read again", prop.read)])
    return Line(prop.sentence, "right")


def _wrong(prop, case, outcome):
    """None, or the pairs that tell what is wrong with this outcome."""
    right = prop.right(*copy.deepcopy(case))
    if outcome.late:
        yours = f"no answer after {calling.DEADLINE:.0f} seconds: stopped (an endless loop, or a wait for something that never comes)"
        return [("yours", yours), ("right", shown(right))]
    if outcome.error is not None:
        error = f"{type(outcome.error).__name__}: {calling.clean(str(outcome.error))}"
        where = [("your line", outcome.where)] if outcome.where else []
        return [("yours", error), *where, ("right", shown(right))]
    value = outcome.value
    if prop.see:
        try:
            value = prop.see(value, *copy.deepcopy(case))
        except Exception:  # the result has another shape: show all of it
            return [("yours", shown(outcome.value)), ("right", shown(right))]
    try:
        same = right == value
    except Exception:
        same = False
    return None if same else [("yours", shown(value)), ("right", shown(right))]


class Verdict(page.Page):
    """What a check shows. True when every property is right."""

    def __init__(self, name, lines):
        self.name, self.lines = name, lines
        done = sum(line.verdict == "right" for line in lines)
        self.passed = done == len(lines)
        if all(line.verdict == "not yet" for line in lines):
            head = f"{name}: not yet. Fill in the cell above, run it, then run this one again."
        elif self.passed:
            head = f"{name}: all {len(lines)} right."
            progress.record(name)
        else:
            head = f"{name}: {done} of {len(lines)} right."
        super().__init__(_text(head, lines), _html(head, lines))

    def __bool__(self):
        return self.passed


def _text(head, lines):
    out = [head]
    for line in lines:
        out.append(f"  {line.verdict:9} {line.sentence}")
        out += [f"            {key}: {value}" for key, value in line.details]
    return "\n".join(out)


MARK = {
    "right": ("✓", page.GREEN),
    "wrong": ("✗", page.RED),
    "not yet": ("○", page.GREY),
    "not tried": ("–", page.GREY),
}


def _html(head, lines):
    out = [f"<b>{page.escape(head)}</b>"]
    for line in lines:
        mark, colour = MARK[line.verdict]
        inside = f"{page.badge(f'{mark} {line.verdict}', colour)} {page.escape(line.sentence)}"
        for key, value in line.details:
            inside += f"<div style='margin-left:1.5em'>{key}: <code style='white-space:pre-wrap'>{page.escape(value)}</code></div>"
        out.append(page.bar(inside, colour))
    return "<div>" + "".join(out) + "</div>"
