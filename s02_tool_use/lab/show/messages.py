"""Draws what the course is about: a conversation, and what changed in it. What moves is in widgets/."""

import difflib
import functools
from itertools import groupby
from typing import Any

from .. import conversation
from . import page, rows
from .page import Page, badge, bar, code, escape
from .source import code_of

CONTEXT = 3  # lines around a change
MOST_MESSAGES, FIRST_MESSAGES, LAST_MESSAGES = 60, 10, 30  # of more than the most, the first and the last are shown
ALIKE = 0.6  # of two lines of code: then they stand beside each other; 1 is the same


def show_messages(messages: Any) -> Page:
    """Draw a conversation: its turns and blocks, which result answers which call, and what the API would refuse.

    messages: a list of messages, or a whole request (a dict that has them under "messages"). SDK objects or dicts,
    broken ones too. Of a long one the middle is folded. What follows an assistant's turn may be still to come.
    Raises TypeError for anything else.
    """
    request = conversation.request_of(messages)
    messages = request["messages"]
    if not messages:
        return Page("No messages yet.", "No messages yet.")
    labels, waits = rows.labels_of(messages), conversation.waiting(messages)
    problem = conversation.judge(request)
    drawn = []  # (text, HTML) of each message
    for index, message in enumerate(messages):
        head = f"{index} {_role(message)}"
        found = [(_row_text(row), _row_html(row)) for row in rows.rows(message, labels, waits)]
        if problem is not None and problem.message_index == index:  # below its block, or at the end of its message
            block = problem.block_index
            found.insert(block + 1 if block is not None and block < len(found) else len(found), _refusal(problem))
        inside = "".join(html for _, html in found)
        html = f'<div style="margin-bottom:8px"><b>{escape(head)}</b>{inside}</div>'
        drawn.append(("\n".join([head, *(text for text, _ in found)]), html))
    drawn = _folded(drawn, problem.message_index if problem is not None else None)
    if problem is not None and problem.message_index not in range(len(messages)):
        drawn.append(_refusal(problem))
    last = rows.counts(messages)
    texts, pieces = zip(*drawn, (last, f"<i>{last}</i>"), strict=True)
    return Page("\n".join(texts), "".join(pieces))


def _folded(drawn, refused):
    """Of a long conversation the middle folded, but for the message that the API refuses."""
    if len(drawn) <= MOST_MESSAGES:
        return drawn
    last, found = len(drawn) - LAST_MESSAGES, []
    for is_shown, group in groupby(
        enumerate(drawn), lambda one: not FIRST_MESSAGES <= one[0] < last or one[0] == refused
    ):
        part = [one for _, one in group]
        if not is_shown:
            note, inside = f"... {rows.many(len(part), 'message')} in between", "".join(html for _, html in part)
            part = [(note, f'<details style="margin-bottom:8px"><summary>{note}</summary>{inside}</details>')]
        found += part
    return found


def _role(message):
    return str(message.get("role", "(no role)")) if isinstance(message, dict) else ""


def _row_text(row):
    """`A tool_use bash (toolu_01): {"command": "ls"}`"""
    parts = (row.label, row.kind, row.name, row.id and f"({row.id})", row.note and f"[{row.note}]")
    head, body = " ".join(filter(None, parts)), page.first_lines(row.body)
    return _indent(head + (":\n" if "\n" in body else ": ") + body if body else head)


def _indent(text):
    return "    " + text.replace("\n", "\n        ")


def _row_html(row):
    colour = page.colour_of(row.label)
    parts = (
        row.label and badge(row.label, colour),
        escape(row.kind),
        row.name and f"<b>{escape(row.name)}</b>",
        row.id and f'<span style="opacity:.75">{escape(row.id)}</span>',
        page.note(row.note),
    )
    body = code(row.body, prose=row.kind in ("text", "thinking")) if row.body else ""
    return bar(" ".join(filter(None, parts)) + body, colour)


def _refusal(problem):
    """(text, HTML) of what the API says no to."""
    head, said = f"{problem.status} {problem.type}", str(problem.message)
    head = f"the API refuses this, {head}:"
    return _indent(f"!! {head} {said}"), bar(f"{badge(head, page.RED)} {escape(said)}", page.RED)


def show_diff(before: object, after: object) -> Page:
    """Draw what changed from one string, function or history to another, and what the API says to each history.

    Of functions the code is compared, and lines that are alike stand beside each other; docstrings are left out.
    """
    code = callable(before) and callable(after)
    if code:
        before, after = code_of(before), code_of(after)
    if isinstance(before, str) and isinstance(after, str):
        old, new, verdicts = before.splitlines(), after.splitlines(), []
    else:
        one, two = conversation.request_of(before), conversation.request_of(after)
        labels = rows.labels_of(one["messages"], two["messages"])
        old, new = ([line for m in side["messages"] for line in _lines(m, labels)] for side in (one, two))
        verdicts = [("before", conversation.judge(one)), ("after", conversation.judge(two))]
    text = [f"{mark} {line}".rstrip() for mark, line in _changes(old, new, code)] or ["No difference."]
    drawn = page.pre("\n".join(map(_changed_line, text)))
    for name, problem in verdicts:
        said = "the API accepts it" if problem is None else f"{problem.status} {problem.message}"
        text.append(f"{name}: {said}")
        drawn += bar(escape(text[-1]), page.GREEN if problem is None else page.RED)
    return Page("\n".join(text), drawn)


def _changes(old, new, code):
    """(mark, line) for each line that changed, with CONTEXT lines around it; marks are "-", "+" and " "."""
    groups = list(difflib.SequenceMatcher(None, old, new, autojunk=False).get_grouped_opcodes(CONTEXT))
    if groups:
        groups.append(
            [("equal", len(old), len(old), len(new), len(new))]
        )  # what follows the last change is left out too
    seen = 0
    for group in groups:
        if same := group[0][1] - seen:
            yield " ", f"... {rows.many(same, 'line')} as before"
        for tag, start, end, new_start, new_end in group:
            if tag == "equal":
                yield from [(" ", line) for line in old[start:end]]
            else:
                yield from _change(old[start:end], new[new_start:new_end], code)
        seen = group[-1][2]


def _change(old, new, code):
    """One change: what went, then what came. Of code in steps, around the two lines that are most alike."""
    pairs = [(_ratio(one, other), i, j) for i, one in enumerate(old) for j, other in enumerate(new)] if code else []
    alike, i, j = max(pairs, key=lambda pair: pair[0], default=(0, 0, 0))
    if alike < ALIKE:
        yield from [("-", line) for line in old]
        yield from [("+", line) for line in new]
    else:
        yield from _change(old[:i], new[:j], code)
        yield from [("-", old[i]), ("+", new[j])]
        yield from _change(old[i + 1 :], new[j + 1 :], code)


@functools.lru_cache(10_000)
def _ratio(one, other):
    return difflib.SequenceMatcher(None, one.strip(), other.strip(), autojunk=False).ratio()


def _changed_line(line):
    colour = {"+": page.GREEN, "-": page.RED}.get(line[0], "transparent")
    style = "display:inline-block;width:calc(100% - 12px);padding-left:8px"  # a box of its own, in a line of its own
    return f'<span style="{style};border-left:4px solid {colour}">{escape(line)}</span>'


def _lines(message, labels):
    """A message as lines that can be compared: no numbers, which would change with every message put in before."""
    return [_role(message), *"\n".join(_row_text(row) for row in rows.rows(message, labels)).split("\n")]
