"""A conversation as it grows: what is new stands open, what is older takes one line each.

Calls are written as names and values, not as JSON: somebody reads them from the back of a room. Left out: everything
that show_messages has, such as ids and what the API would refuse.
"""

from typing import Any

from ..client.faults import printable, shorten
from ..conversation import blocks, waiting
from . import page, rows
from .page import Page, badge, bar, code, escape

OLDER = 2  # blocks that have a line of their own; those before them share one
MOST_OPEN = 4  # blocks that stand open at once
OPEN_LINES = 3  # of a new block; a longer one opens on a click, and so does each of several that have two
SHORT = 70  # characters that stand beside their head
LINE = 80  # of an older block: a line on a projector


def show_newest(messages: list, before: list, about: dict[str, Any] | None = None) -> Page:
    """Draw `messages`. New is what `before` did not hold yet; or `about`, a block that is in the list or will be."""
    labels, waits = rows.labels_of(messages), set(waiting(messages)) - {str((about or {}).get("tool_use_id"))}
    lines: list[tuple[bool, str, rows.Row, str]] = []  # (is it new, who speaks, the block, its text)
    for index, message in enumerate(messages):
        was = before[index] if index < len(before) else None
        known = blocks(was) if isinstance(was, dict) else []
        speaker = str(message.get("role", "")) if isinstance(message, dict) else ""
        drawn = rows.rows(message, labels, waits)
        for place, (row, block) in enumerate(zip(drawn, [*blocks(message), *[None] * len(drawn)], strict=False)):
            is_new = was is None or place >= len(known) or known[place] != block
            lines.append((is_new if about is None else block == about, speaker, row, _body(row, block)))
    if about is not None and not any(is_new for is_new, *_ in lines):
        row = rows.rows({"content": [about]}, labels, waits)[0]
        lines.append((True, "", row, _body(row, about)))
    new = [at for at, (is_new, *_) in enumerate(lines) if is_new][-MOST_OPEN:]
    older = [at for at in range(len(lines)) if at not in new]
    hidden, shown = len(older[:-OLDER]), sorted(older[-OLDER:] + new)
    fold = OPEN_LINES if len(new) < 2 else 1
    texts = [f"{rows.many(hidden, 'more block')}"] if hidden else []
    html = "".join(f'<div style="opacity:.8">{line}</div>' for line in texts)
    for at in shown:
        _, speaker, row, body = lines[at]
        texts.append(_text(speaker, row, body, at in new))
        html += _open(speaker, row, body, fold) if at in new else _older(speaker, row, body)
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


def _text(speaker, row, body, is_open):
    head = printable(_head(speaker, row))
    if not body:
        return head
    if is_open and "\n" in body:
        return f"{head}:\n    " + page.first_lines(body, OPEN_LINES).replace("\n", "\n    ")
    return f"{head}: {shorten(body.split(chr(10), 1)[0], 100)}"


def _older(speaker, row, body):
    head, words = printable(_head(speaker, row)), " ".join(body[: 8 * LINE].split())
    line = f"{head}: {words}" if words else head
    line = line if len(line) <= LINE else f"{line[:LINE]} …"
    return f'<div style="opacity:.8">{escape(line)}</div>'


def _open(speaker, row, body, fold):
    colour = page.colour_of(row.label)
    note = page.note(row.note)
    name = row.name and f"<b>{escape(row.name)}</b>"
    head = " ".join(filter(None, (escape(speaker), row.label and badge(row.label, colour), escape(row.kind), name)))
    if body and "\n" not in body and len(body) <= SHORT:
        body = f"<code>{escape(body)}</code>" if row.kind.startswith("tool_") else escape(body)
        return bar(" ".join(filter(None, (head, body, note))), colour)
    body = body and code(body, fold=fold, prose=row.kind in ("text", "thinking"))
    return bar(" ".join(filter(None, (head, note))) + body, colour)
