"""Calls on a line of time: which ran one after another, and which at the same time.

It has no seconds, which differ from run to run. A column is a moment: calls began, and nothing had ended yet. So what
stands in one column ran at the same time. Left out: how long a call took.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import accumulate
from typing import Any, NamedTuple

from ..client.faults import printable
from . import page, rows
from .page import Page, escape

BEGINS, ENDS = "begins", "ends"
COLUMN, BAR = 6, "▇"  # characters of a column, with the space at its end, and what it is filled with
MOST_COLUMNS, MOST_CALLS = 12, 30  # that are drawn; of the others it is said how many
LONGEST_NAME = 40


class Span(NamedTuple):
    """A call, from its first column to its last one; None if it did not end."""

    call: Any
    first: int
    last: int | None


def show_timeline(runs: Mapping[str, Iterable[tuple[str, Any]]]) -> Page:
    """Draw when calls began and ended, for one run or several below each other.

    runs: a name for each run, and its events in their order: ("begins", call) and ("ends", call). A call is a tool_use
    block, or a string. Raises ValueError for events that do not fit together.
    """
    if not isinstance(runs, Mapping):
        raise ValueError('show_timeline takes a name for each run and its events, as in {"together": events}.')
    drawn = {str(name): _spans(list(events)) for name, events in runs.items()}
    labels: dict[Any, str] = {}
    for spans in drawn.values():
        for span in sorted(spans, key=lambda span: (span.first, str(_key(span.call)))):
            labels.setdefault(_key(span.call), rows.letters(len(labels)))
    wide = max(len("call"), *(len(_title(span.call, labels)) for spans in drawn.values() for span in spans), 0)
    parts = [_run(name, spans, labels, wide) for name, spans in drawn.items()]
    return Page("\n".join(text for text, _ in parts), "".join(html for _, html in parts))


def _spans(events):
    """The spans of a run. The same calls in the same overlap give the same spans, whichever thread was first."""
    column, begun, spans, last = 0, {}, [], ENDS
    for event in events:
        if not isinstance(event, (tuple, list)) or len(event) != 2 or event[0] not in (BEGINS, ENDS):
            raise ValueError(f'An event is ("begins", call) or ("ends", call), and this is {str(event)[:60]!r}.')
        kind, call = event
        if (kind == BEGINS) == (_key(call) in begun):
            before = "begins twice before it ends" if kind == BEGINS else "ends and has not begun"
            raise ValueError(f"The call {_name(call)} {before}.")
        if kind == BEGINS:
            column += last == ENDS
            begun[_key(call)] = call, column
        else:
            spans.append(Span(*begun.pop(_key(call)), column))
        last = kind
    return spans + [Span(call, first, None) for call, first in begun.values()]


def _key(call):
    """What tells a call from the others: its id, or a string as it is."""
    if isinstance(call, str):
        return call
    id = call.get("id") if isinstance(call, dict) else getattr(call, "id", None)
    if not isinstance(id, str):
        raise ValueError(f"A call is a tool_use block with an id, or a string, and this is {type(call).__name__}.")
    return id


def _name(call):
    """`read_file report.py`: the tool and its first argument."""
    if isinstance(call, str):
        return _short(call)
    get = call.get if isinstance(call, dict) else lambda name: getattr(call, name, None)
    given = get("input")
    first = next(iter(given.values()), "") if isinstance(given, dict) else ""
    return _short(f"{get('name') or 'a call'} {first if isinstance(first, str) else rows.to_text(first)}")


def _short(text):
    text = printable(" ".join(text.split()))
    return text if len(text) <= LONGEST_NAME else text[: LONGEST_NAME - 1] + "…"


def _title(call, labels):
    return f"{labels[_key(call)]} {_name(call)}"


def _run(name, spans, labels, wide):
    """(text, HTML) of a run: how many calls ran at most at the same time, then a line for each span."""
    if not spans:
        return f"{name}: no calls", f"<div><b>{escape(name)}: no calls</b></div>"
    order = {key: at for at, key in enumerate(labels)}
    spans = sorted(spans, key=lambda span: (order[_key(span.call)], span.first))
    columns = max(span.last or span.first for span in spans)
    head = f"{name}: at most {rows.many(_most_at_once(spans, columns), 'call')} at a time"
    axis = "".join(f"{number:<{COLUMN}}" for number in range(1, min(columns, MOST_COLUMNS) + 1))
    lines = [(f"  {'call':{wide}}  moment  ", axis.rstrip(), "")]
    shown = [span for span in spans if span.first <= MOST_COLUMNS][:MOST_CALLS]
    for span in shown:
        end = span.last or columns
        moment = f"{span.first}" if span.last == span.first else f"{span.first}-{span.last or '?'}"
        bar = BAR * (COLUMN * (min(end, MOST_COLUMNS) - span.first + 1) - 1)
        more = " does not end" if span.last is None else " ..." if end > MOST_COLUMNS else ""
        start = f"  {_title(span.call, labels):{wide}}  {moment:6}  "
        lines.append((start, " " * (COLUMN * (span.first - 1)) + bar, more))
    hidden = [f"  and {rows.many(len(spans) - len(shown), 'more call')}"] if len(spans) > len(shown) else []
    text = [head, *("".join(line).rstrip() for line in lines), *hidden]
    drawn = [f'{escape(start)}<span aria-hidden="true">{bar}</span>{more}' for start, bar, more in lines]
    return "\n".join(text), f"<div><b>{escape(head)}</b>{page.pre(chr(10).join([*drawn, *hidden]))}</div>"


def _most_at_once(spans, columns):
    """How many spans at most stand in one column."""
    changes = Counter(span.first for span in spans)
    changes.subtract((span.last or columns) + 1 for span in spans)
    return max(accumulate(changes[at] for at in range(1, columns + 1)))
