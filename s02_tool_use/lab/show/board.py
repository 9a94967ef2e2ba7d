"""The scoreboard of notebook 05: what the API says to each reported history after some passes have gone over it.

A square for each history. Left out: the passes of the package (history/), and how a pass is checked (check/).
"""

import contextlib
import copy
import io
from collections.abc import Callable
from itertools import groupby

from .. import conversation
from ..api.rules import STRICT
from ..client.faults import shorten
from . import page
from .page import Page, escape

# The rule that a history breaks first -> its row. No rule: the API accepts it as it is, and so it must stay.
KINDS: dict[str, list[str | None]] = {
    "right already": [None],
    "calls, results": ["P1", "P5", "P6", "P11"],
    "empty": ["C1", "C2", "C3", "C6", "C7"],
    "fields, types": ["C4", "C5", "R8"],
    "roles, ends": ["R2", "R6", "R7"],
    "ids": ["P7", "P8"],
    "arguments": ["P10"],
    "thinking": ["K1", "K4", "K5"],
    "other": ["C8", "P14", "U12"],
}
MOST_WORDS = 130  # characters of the line below the squares
ACCEPTED, LOST, REFUSED, RAISED = "■", "◪", "□", "×"
LEGEND = {
    ACCEPTED: "accepted",
    LOST: "accepted, but words or results are gone",
    REFUSED: "refused",
    RAISED: "an exception",
}
COLOURS = {ACCEPTED: page.GREEN, LOST: "#96600b", REFUSED: page.RED, RAISED: page.RED}


class Board(Page):
    """What `score` shows. `marks` has the square of each history, by its name; `accepted` counts the green ones."""

    def __init__(self, title: str, rows: dict[str, dict[str, str]], hint: str) -> None:
        self.marks = {name: mark for row in rows.values() for name, mark in row.items()}
        self.accepted = list(self.marks.values()).count(ACCEPTED)
        head = f"{title}: {self.accepted} of {len(self.marks)}"
        last = "   ".join(f"{mark} {said}" for mark, said in LEGEND.items() if mark in self.marks.values())
        last = f"{last}\n{hint}" if hint else last
        text = [f"  {kind:15} {''.join(row.values())}" for kind, row in rows.items()]
        html = "\n".join(f"  {kind:15} {_squares(row)}" for kind, row in rows.items())
        super().__init__(
            "\n".join([head, *text, last]),
            f'<b>{escape(head)}</b>{page.pre(html)}<div style="white-space:pre-wrap">{page.broken(escape(last))}</div>',
        )


def _squares(row):
    """The squares in their colours."""
    runs = ((mark, len(list(same))) for mark, same in groupby(row.values()))
    looks = {mark: f"color:{page.readable(colour)};letter-spacing:1px" for mark, colour in COLOURS.items()}
    return "".join(f'<span style="{looks[mark]}">{mark * count}</span>' for mark, count in runs)


def score(*passes: Callable[[list], list] | None, strict: bool = False) -> Board:
    """Run the passes, in this order, over each history that people reported, and draw what the API says to the result.

    A pass is a function from a list of messages to a list of messages; None is left out. Without any, the histories
    are judged as they are. strict=True asks a server that does not join neighbours. ValueError for what is no function.
    """
    for one in passes:
        if one is not None and not callable(one):
            raise ValueError(f"score takes functions, and {str(one)[:60]!r} is not one: score(my_pass), without ().")
    chosen = [one for one in passes if one is not None]
    rows: dict[str, dict[str, str]] = {kind: {} for kind in KINDS}
    first = raised = ""
    for name, case in conversation.histories().items():
        if not case["checkable"]:
            continue
        mark, said = _judged(chosen, case, strict)
        rows[kind_of(case)][name] = mark
        raised = raised or (f"{name}: {said}" if mark == RAISED else "")
        first = first or (f"{name}: {said}" if mark != ACCEPTED else "")
    title = ", ".join(getattr(one, "__name__", "a pass") for one in chosen) or "as they are"
    hint = f"× {raised}" if raised else f"The first that is not green is {first}" if first and chosen else ""
    return Board(title + (", strict server" if strict else ""), rows, shorten(hint, MOST_WORDS))


def _judged(passes, case, strict):
    """(the square, what is said) of one history after these passes."""
    messages = copy.deepcopy(case["messages"])
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            for one in passes:
                messages = one(messages)
    except NotImplementedError:
        return RAISED, "it is not written yet"
    except Exception as error:  # whatever a reader's function raises
        return RAISED, f"{type(error).__name__}: {error}"
    return verdict(messages, case, strict)


def verdict(messages: object, case: dict, strict: bool = False) -> tuple[str, str]:
    """(the square, what is said) of what became of a case's messages: "accepted", the API's words, or what is gone."""
    if not isinstance(messages, list):
        return REFUSED, f"what came back is {type(messages).__name__}, not a list of messages"
    try:
        said = conversation.api_says(messages, case, *([STRICT] if strict else []))
        gone = _said(case["messages"]) & _said(case["repaired"]) - _said(messages)
    except Exception as error:  # at what is no JSON, or holds itself
        return REFUSED, f"this is not a list of messages: {type(error).__name__}"
    if said != "accepted":
        return REFUSED, said
    return (LOST, f"{min(gone)!r} is gone") if gone else (ACCEPTED, said)


def kind_of(case: dict) -> str:
    """The row of a case: what is wrong with it first."""
    problem = conversation.problem_of(case["messages"], case)
    return next(kind for kind, rules in KINDS.items() if (problem.rule if problem else None) in rules)


def _said(messages):
    """All that texts and results say in these messages, but for the placeholder of a call that did not run."""
    found = set()
    for message in conversation.plain(messages):
        for block in conversation.blocks(message):
            if isinstance(block, dict) and block.get("type") in ("text", "tool_result"):
                said = block.get("text") if block["type"] == "text" else block.get("content")
                parts = said if isinstance(said, list) else [said]
                found |= {str(part.get("text", "") if isinstance(part, dict) else part or "").strip() for part in parts}
    return found - {"", "(cancelled)"}
