"""Draws what went over the wire of a client: each request, and its response as it came."""

import contextlib
import json
import re
import sys
from http import HTTPStatus
from typing import Any

from ...calls.secrets import cut
from ..client.endpoint import connection_of
from ..client.faults import shorten
from ..client.recording import LAST_EVENTS, WHOLE, parsed, without_keys
from ..client.tap import OPEN, Exchange, Tap
from . import page, rows
from .page import Page, badge, bar, code, escape

EVENTS = 12, 4  # the first and the last of a stream are shown at once
LINE_CHARACTERS = 600


def show_wire(client: Any) -> "Wire":
    """Show the HTTP that went over the wire since the last look: `show_wire(client)` at the end of a cell.

    Or that of some lines, however they end: `with show_wire(client): ...`. A request is its method, path, headers and
    body; a response its status, the headers that matter, and its body, or each event of a stream as it came. JSON is
    set out in lines, what is long is folded, a key is cut out. Not shown: headers that say which machine and SDK sends.
    Raises TypeError for a client that connect() did not make.
    """
    connection = connection_of(client)
    if connection is None:
        raise TypeError("show_wire takes a client that connect() made: client, model = connect().")
    return Wire(connection.tap)


class Wire(Page):
    """What was heard since the last look; as a context manager, what is heard until it ends."""

    def __init__(self, tap: Tap) -> None:
        self._tap = tap
        super().__init__(*_drawn(*tap.take()))

    def __enter__(self) -> "Wire":
        self._tap.take()
        return self

    def __exit__(self, *exc: object) -> None:
        super().__init__(*_drawn(*self._tap.take()))
        if "IPython" in sys.modules and sys.modules["IPython"].get_ipython():
            from IPython.display import display

            display(self)
        else:
            print(self)


def _drawn(heard, forgotten):
    """(text, HTML) of these exchanges."""
    if not heard:
        return ("Nothing went over the wire since the last look.",) * 2
    drawn = [_exchange(one) for one in heard]
    if forgotten:
        drawn.insert(0, (f"({rows.many(forgotten, 'earlier request')} not kept)",) * 2)
    return "\n\n".join(text for text, _ in drawn), "".join(html for _, html in drawn)


def _exchange(one: Exchange):
    sent = _part(">", one.line, one.headers, _body(one.sent.text), page.COLOURS[0])
    state, got = one.state, one.got.text
    if state != OPEN and re.findall(r"(?m)^event: ?(\w+)", got)[-1:] in ([name] for name in LAST_EVENTS):
        state = WHOLE  # who has read the last event reads no further
    if one.status is None:
        what = "no answer yet" if state == OPEN else f"no answer: {state}"
        answer = _part("<", what, {}, ("", ""), page.RED)
    else:
        failed = one.status >= 400 or state not in (OPEN, WHOLE)
        is_stream = "text/event-stream" in one.got_headers.get("content-type", "")
        body = _events(got) if is_stream else _body(got)
        answer = _part(
            "<",
            f"{one.status} {_phrase(one.status)}".strip(),
            one.got_headers,
            body,
            page.RED if failed else page.GREEN,
        )
        if state != WHOLE:
            note = f"({state})"
            answer = (f"{answer[0]}\n{note}", answer[1] + bar(f"<i>{escape(note)}</i>", page.RED))
    return f"{sent[0]}\n{answer[0]}", f'<div style="margin-bottom:10px">{sent[1]}{answer[1]}</div>'


def _phrase(status):
    return HTTPStatus(status).phrase if status in set(HTTPStatus) else ""


def _part(mark, head, headers, body, colour):
    """A request or a response: its first line, its headers, its body, as (text, HTML)."""
    lines = [f"{name}: {value}" for name, value in headers.items()]
    text = "\n".join(f"{mark} {line}" for line in [head, *lines])
    about = page.pre("\n".join(map(escape, lines)))
    html = bar(f"{badge(mark, colour)} <b>{escape(head)}</b>{about if lines else ''}{body[1]}", colour)
    return (f"{text}\n{_indent(body[0])}" if body[0] else text), html


def _indent(text):
    return re.sub("(?m)^(?=.)", "    ", text)


def _body(body):
    """A body as (text, HTML). JSON that does not fit in a line is set out in lines."""
    value = parsed(body)
    lines = body.split("\n")
    if isinstance(value, (dict, list)):
        with contextlib.suppress(RecursionError):
            lines = list(_set_out(value))
    return _folded(lines, "\n", "line", page.FOLD_LINES, 0) if body else ("", "")


def _set_out(value, start="", indent=""):
    """The lines of a JSON value: what fits in a line stands in one."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    text = json.dumps(value, ensure_ascii=False)
    if not items or len(indent + start + text) <= page.WIDTH_CHARACTERS:
        yield indent + start + text
        return
    yield indent + start + text[0]
    for number, (key, item) in enumerate(items, 1):
        name = f"{json.dumps(key, ensure_ascii=False)}: " if isinstance(value, dict) else ""
        *lines, last = _set_out(item, name, indent + "  ")
        yield from lines
        yield last + "," * (number < len(value))
    yield indent + text[-1]


def _events(body):
    """The events of a stream as (text, HTML)."""
    events = _without_keys(re.split(r"(?:\r?\n){2,}", body.strip("\r\n")))
    return _folded([event.replace("\r", "") for event in events], "\n\n", "event", *EVENTS) if body else ("", "")


def _folded(parts, between, kind, first, last):
    """Parts of a body as (text, HTML): the first and the last at once, those in between folded."""
    parts = ["\n".join(shorten(line, LINE_CHARACTERS) for line in part.split("\n")) for part in parts]
    more = len(parts) - first - last
    if more <= 1:
        return between.join(parts), _code(between.join(parts))
    begin, middle, end = parts[:first], parts[first : first + more], parts[first + more :]
    note = f"... {rows.many(more, f'more {kind}')}"
    folded = f"<details><summary>{note}</summary>{_code(between.join(middle))}</details>"
    html = _code(between.join(begin)) + folded + (_code(between.join(end)) if end else "")
    return between.join([*begin, note, *end]), html


def _code(text):
    return code(text, fold=sys.maxsize)


def _without_keys(events):
    """The events, as they came but for a key that was cut in pieces by them."""
    found = [re.search(r"(?m)^data: ?(.*)$", event) for event in events]
    values = [parsed(data[1]) if data else None for data in found]
    told = [value for value in values if isinstance(value, dict)]
    clean = iter(without_keys({"events": json.loads(json.dumps(told))})["events"])
    for event, data, value in zip(events, found, values, strict=True):
        new = next(clean) if isinstance(value, dict) else value
        if data and new != value:
            event = event.replace(data[1], json.dumps(new, ensure_ascii=False))
        yield cut(event)
