"""A conversation as it grows: what is new stands open, what is older takes one line each.

Calls are written as names and values, not as JSON: somebody reads them from the back of a room. Left out: everything
that show_messages has, such as ids and what the API would refuse.
"""

from typing import Any

from ..client.faults import printable, shorten
from ..conversation import blocks, waiting
from . import page, rows
from .page import Page, badge, bar, code, escape

OLDER = 3  # blocks that have a line of their own; those before them share one
MOST_OPEN = 4  # blocks that stand open at once
OPEN_LINES = 3  # of a new block; a longer one opens on a click
SHORT = 70  # characters that stand beside their head


def show_newest(messages: list, before: list, about: dict[str, Any] | None = None) -> Page:
    """Draw `messages`. New is what `before` did not hold yet; or `about`, a block that is in the list or will be."""
    labels, waits = rows.labels_of(messages), waiting(messages)
    older: list[tuple[str, rows.Row, str]] = []
    new: list[tuple[str, rows.Row, str]] = []
    found = False
    for index, message in enumerate(messages):
        was = before[index] if index < len(before) else None
        known = blocks(was) if isinstance(was, dict) else []
        drawn = rows.rows(message, labels, waits)
        for place, (row, block) in enumerate(zip(drawn, [*blocks(message), *[None] * len(drawn)], strict=False)):
            if about is not None:
                is_new = block == about
                found = found or is_new
            else:
                is_new = was is None or place >= len(known) or known[place] != block
            speaker = str(message.get("role", "")) if isinstance(message, dict) else ""
            (new if is_new else older).append((speaker, row, _body(row, block)))
    if about is not None and not found:
        row = rows.rows({"content": [about]}, labels, waits)[0]
        new = [("", row, _body(row, about))]
    older, new = older + new[:-MOST_OPEN], new[-MOST_OPEN:]
    hidden, older = len(older) - OLDER, older[-OLDER:]
    lines = [f"{rows.many(hidden, 'older block')}"] if hidden > 0 else []
    texts = [*lines, *(_text(*one) for one in older), *(_text(*one, is_open=True) for one in new)]
    html = "".join(f'<div style="opacity:.8">{line}</div>' for line in lines)
    html += "".join(_older(*one) for one in older) + "".join(_open(*one) for one in new)
    return Page("\n".join(texts), html)


def _body(row, block):
    """The text of a block; a call's arguments as `name: value`."""
    given = block.get("input") if isinstance(block, dict) and block.get("type") == "tool_use" else None
    if not isinstance(given, dict):
        return printable(row.body)  # before it is shortened: a piece of a key is not found any more
    parts = [f"{key}: {value if isinstance(value, str) else rows.to_text(value)}" for key, value in given.items()]
    line = ", ".join(parts)
    return printable(line if "\n" not in line and len(line) <= SHORT else "\n".join(parts))


def _head(speaker, row):
    return " ".join(filter(None, (speaker, row.label, row.kind, row.name, row.note and f"[{row.note}]")))


def _text(speaker, row, body, is_open=False):
    head = printable(_head(speaker, row))
    if not body:
        return head
    if is_open and "\n" in body:
        return f"{head}:\n    " + page.first_lines(body, OPEN_LINES).replace("\n", "\n    ")
    return f"{head}: {shorten(body.split(chr(10), 1)[0], 100)}"


def _older(speaker, row, body):
    line = escape(shorten(f"{_head(speaker, row)}: {' '.join(body[:400].split())}", 200))
    style = "white-space:nowrap;overflow:hidden;text-overflow:ellipsis;opacity:.8"
    return f'<div style="{style}">{line}</div>'


def _open(speaker, row, body):
    colour = page.colour_of(row.label)
    note = row.note and badge(row.note, page.RED if row.note == "is_error" else page.GREY)
    name = row.name and f"<b>{escape(row.name)}</b>"
    head = " ".join(filter(None, (escape(speaker), row.label and badge(row.label, colour), escape(row.kind), name)))
    if body and "\n" not in body and len(body) <= SHORT:
        body = f"<code>{escape(body)}</code>" if row.kind.startswith("tool_") else escape(body)
        return bar(" ".join(filter(None, (head, body, note))), colour)
    body = body and code(body, fold=OPEN_LINES, prose=row.kind in ("text", "thinking"))
    return bar(" ".join(filter(None, (head, note))) + body, colour)
