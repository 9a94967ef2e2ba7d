"""The loop as one picture: two lanes (the model, the program), the same seven stages always in the same place.

Below a cell it is an image: GitHub, and JupyterLab before the cell was run here, take SVG out of a page but leave
images. An image knows nothing of the page around it, so it brings a ground of its own, light or dark as the page asks.
In a widget it is SVG in the page, in the page's own colour. Left out: who lights which stage (widgets/stepper.py).
"""

import base64
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from ..client.endpoint import who_answers
from ..client.faults import printable
from . import page
from .page import Page, drawable, escape

# name -> (its lane, the column it stands in, what happens there)
STAGES = {
    "built": ("program", 0, "the program puts the request together"),
    "normalised": ("program", 1, "it repairs its list of messages"),
    "sent": ("model", 2, "the model reads the request"),
    "reply": ("model", 3, "the model answers, and may ask for tools"),
    "handler": ("program", 4, "the program looks up the function for a call"),
    "result": ("program", 5, "what the function gave becomes a tool_result"),
    "appended": ("program", 6, "the results go into the list, as one message"),
}
TURN, END = "turn", "end"  # the arrow that leads back, and where the loop ends: they can be lit too
LANES = ("model", "program")
ENDS = "no tool_use: the loop ends"
NAME = 26  # characters of a line that says who answers
SLOTS = 3  # calls that are drawn; more are counted

_WIDE, _HIGH, _BOX, _TALL = 724, 196, 94, 30  # of the picture, and of a box in it
_EDGE = 9
_STEP = (_WIDE - _BOX - 2 * _EDGE) / 6  # from one column to the next
_MIDDLE = {"model": 38, "program": 148}  # the height at which the boxes of a lane stand
_RESULTS = 106  # and the tool_results


@dataclass(frozen=True)
class Call:
    """A tool_use of the turn that is drawn. `ends`: its tool_result in a word, "" as long as it waits."""

    label: str = "A"
    name: str = ""
    ends: str = "done"


def show_loop(lit: str | Iterable[str] = (), client: Any = None, model: str | None = None) -> Page:
    """Draw the loop, with one or more of its stages lit: what a notebook changes, or where a run is.

    lit: names of STAGES, "turn" for the way back, "end" for the way out. With a client and a model, the picture says
    who answers. Raises ValueError for a name that is not in it.
    """
    answers = who_answers(client, model) if client is not None else ""
    return draw_loop(lit, who=answers, calls=[Call(name="your tool", ends="an answer")])


def draw_loop(
    lit: str | Iterable[str] = (),
    *,
    who: str = "",
    turn: int | None = None,
    calls: Sequence[Call] = (),
    ends: str = ENDS,
    colour: str = page.COLOURS[0],
    caption: bool = True,
) -> Page:
    """The picture of one moment. `calls` are those of this turn.

    With `caption` it is an image, with its words below it. Without, SVG and nothing below: for a widget, which draws it
    again and again.
    """
    names = [lit] if isinstance(lit, str) else list(lit)
    names = ["normalised" if name == "normalized" else name for name in names]
    unknown = [name for name in names if name not in (*STAGES, TURN, END)]
    if unknown:
        raise ValueError(f"The loop has no {unknown[0]!r}. It has: {', '.join((*STAGES, TURN, END))}.")
    calls, left_out = list(calls)[:SLOTS], len(calls) - SLOTS
    said = printable(who)
    text = _text(names, said, turn, calls, left_out, ends)
    parts = _parts(names, said, turn, calls, left_out, ends, colour)
    words = escape(text)
    if caption:
        about, below = words.split("\n", 1)[0], f"<details><summary>In words</summary><pre>{words}</pre></details>"
        drawn = f'<img alt="{about}" src="data:image/svg+xml;base64,{_image(parts)}" width="100%">'
    else:
        about, _, more = words.partition("\n")
        drawn, below = _svg('role="img"', [f"<title>{about}</title><desc>{more}</desc>", *parts]), ""
    return Page(text, f'<div style="max-width:820px">{drawn}</div>{below}')


# The text twin


def _text(names, who, turn, calls, left_out, ends):
    """First the loop on a line, what is lit in brackets; then the lanes."""

    def mark(name, label=""):
        return f"[{label or name}]" if name in names else label or name

    stages = " -> ".join(mark(name, f"{at} {name}") for at, name in enumerate(STAGES, 1))
    back = mark(TURN, f"turn {turn}" if turn else "the next turn")
    lines = [f"The loop: {stages} -> {back}"]
    for lane in LANES:
        lines.append(f"{lane} ({who})" if lane == "model" and who else lane)
        for at, (name, (place, _, says)) in enumerate(STAGES.items(), 1):
            if place == lane:
                lines.append(f"  {at} {name}: {says}")
    lines += [_told(call) for call in calls]
    if left_out > 0:
        lines.append(f"and {left_out} more")
    return "\n".join([*lines, mark(END, ends)])


def _told(call):
    name = f" {printable(call.name)}" if call.name else ""
    return f"{call.label} tool_use{name} -> {call.label} tool_result: {call.ends or 'waits'}"


# The picture


# Ink and ground of an image, by day and by night.
LIGHT, DARK = ("#1f2328", "#fff"), ("#e6edf3", "#14171a")


def _image(parts):
    """The picture as a file of its own, in base64. The attributes hold where its style is taken away."""
    style = "svg{{color:{}}}.ground{{fill:{}}}".format
    both = f"<style>{style(*LIGHT)}@media(prefers-color-scheme:dark){{{style(*DARK)}}}</style>"
    ground = f'<rect class="ground" fill="{LIGHT[1]}" width="{_WIDE}" height="{_HIGH}" rx="8"/>'
    svg = _svg(f'color="{LIGHT[0]}" font-family="system-ui,sans-serif"', [both, ground, *parts])
    return base64.b64encode(drawable(svg).encode()).decode()


def _svg(looks, parts):
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDE} {_HIGH}" width="100%" {looks}'
    return "\n".join([f'{head} font-size="13" fill="currentColor" text-anchor="middle">', *parts, "</svg>"])


def _parts(names, who, turn, calls, left_out, ends, colour):
    """The elements of the picture."""
    parts = []
    for lane, top, height in (("model", 2, 74), ("program", 82, 112)):
        parts.append(_rect(1, top, _WIDE - 2, height, 'fill-opacity=".06"', round=8))
        parts.append(_words(12, top + 17, lane, 'text-anchor="start" font-weight="bold"'))
    if who:
        parts.append(_words(12, 40, "who answers:", 'text-anchor="start" font-size="12"'))
        first = next(iter(textwrap.wrap(who, NAME)), "")  # the name of a model may be long
        lines = [first, _cut(who.strip()[len(first) :].strip(), NAME)]
        size = ' font-size="12"' * (len(who) > NAME - 3)
        parts += [_words(12, 57 + 14 * at, line, f'text-anchor="start"{size}') for at, line in enumerate(lines) if line]
    parts += _arrows()
    for at, (name, (lane, column, _)) in enumerate(STAGES.items(), 1):
        parts.append(_box(column, _MIDDLE[lane], [f"{at} {name}"], colour if name in names else ""))
    parts += _end_of_loop(ends, END in names, colour)
    if calls:
        parts.append(_line((_middle(3) + _BOX / 2, _MIDDLE["model"]), (_middle(4) - _BOX / 2, _MIDDLE["model"])))
    for slot, call in enumerate(calls, 7 - SLOTS):
        parts += _call(slot, call)
    if left_out > 0:
        parts.append(_words((_middle(5) + _middle(6)) / 2, 70, f"and {left_out} more", 'font-size="11"'))
    return [*parts, *_way_back(turn, TURN in names, colour)]


def _middle(column):
    return round(_EDGE + _BOX / 2 + column * _STEP, 1)


def _rect(x, y, wide, high, looks, round=5):
    return f'<rect x="{x:g}" y="{y:g}" width="{wide:g}" height="{high:g}" rx="{round}" {looks}/>'


def _words(x, y, words, looks=""):
    return f'<text x="{x:g}" y="{y:g}"{" " * bool(looks)}{looks}>{escape(words)}</text>'


def _box(column, y, lines, colour="", dashed=False, small=False):
    """A box with its words. A lit one is filled and has a heavy edge: it stands out without colours too."""
    x = _middle(column)
    edge = f'fill="{colour}" stroke="currentColor" stroke-width="3"' if colour else 'fill="none" stroke="currentColor"'
    drawn = _rect(x - _BOX / 2, y - _TALL / 2, _BOX, _TALL, edge + ' stroke-dasharray="4 3"' * dashed)
    looks = 'font-size="11"' if small else 'font-size="11.5" fill="#fff" font-weight="bold"' if colour else ""
    top = y + 4.5 - (len(lines) - 1) * 6.5
    return "\n".join([drawn, *(_words(x, top + 13 * at, line, looks) for at, line in enumerate(lines))])


def _cut(text, most):
    return text if len(text) <= most else text[: most - 1] + "…"


def _line(*points):
    places = " ".join(f"{x:g},{y:g}" for x, y in points)
    return f'<polyline points="{places}" fill="none" stroke="currentColor" stroke-width="1.5"/>'


def _arrow(*points, heavy=False, dashed=False):
    """A line through these points with a head at its end. No marker: it would need an id."""
    (x0, y0), (x, y) = points[-2:]
    length = ((x - x0) ** 2 + (y - y0) ** 2) ** 0.5 or 1
    dx, dy = (x - x0) / length, (y - y0) / length
    base_x, base_y = x - 7 * dx, y - 7 * dy
    line = " ".join(f"{a:g},{b:g}" for a, b in [*points[:-1], (round(base_x, 1), round(base_y, 1))])
    head = " ".join(
        f"{a:g},{b:g}"
        for a, b in (
            (round(x, 1), round(y, 1)),
            (round(base_x - 4 * dy, 1), round(base_y + 4 * dx, 1)),
            (round(base_x + 4 * dy, 1), round(base_y - 4 * dx, 1)),
        )
    )
    looks = f'fill="none" stroke="currentColor" stroke-width="{3 if heavy else 1.5}"'
    return f'<polyline points="{line}" {looks}{DASHES * dashed}/><polygon points="{head}"/>'


DASHES = ' stroke-dasharray="4 3"'


def _arrows():
    """From each stage to the next one."""
    places = [(_middle(column), _MIDDLE[lane]) for lane, column, _ in STAGES.values()]
    for (x, y), (next_x, next_y) in zip(places, places[1:], strict=False):
        if y == next_y:
            yield _arrow((x + _BOX / 2, y), (next_x - _BOX / 2, y))
        elif y > next_y:  # up to the model
            yield _arrow((x + _BOX / 2, y), (next_x, y), (next_x, next_y + _TALL / 2))
        else:  # and down again
            yield _arrow((x, y + _TALL / 2), (x, next_y), (next_x - _BOX / 2, next_y))


def _call(slot, call):
    """A tool_use in the lane of the model, its tool_result in the lane of the program, and an arrow between them."""
    x, waits = _middle(slot), not call.ends
    name = [_cut(printable(call.name), 14)] if call.name else []
    yield _box(slot, _MIDDLE["model"], [f"{call.label} tool_use", *name], small=True)
    result = [f"{call.label} tool_result", call.ends or "waits"]
    yield _box(slot, _RESULTS, result, dashed=waits, small=True)
    yield _arrow((x, _MIDDLE["model"] + _TALL / 2), (x, _RESULTS - _TALL / 2), heavy=not waits, dashed=waits)


def _end_of_loop(ends, is_lit, colour):
    if is_lit:
        left = _middle(4) - _BOX / 2
        yield _rect(left, 4, _WIDE - _EDGE - left, 17, f'fill="{colour}" stroke="currentColor" stroke-width="2"')
    looks = 'font-size="12"' + ' fill="#fff" font-weight="bold"' * is_lit
    yield _words(_middle(5), 17, ends, looks)


def _way_back(turn, is_lit, colour):
    """The arrow from the last stage to the first, with the counter on it."""
    first, last, low, under = _middle(0), _middle(6), _HIGH - 12, _MIDDLE["program"] + _TALL / 2
    half = 46
    left, right = _WIDE / 2 - half, _WIDE / 2 + half
    line = f"{last:g},{under:g} {last:g},{low:g} {right:g},{low:g}"
    width = 3 if is_lit else 1.5
    yield f'<polyline points="{line}" fill="none" stroke="currentColor" stroke-width="{width}"/>'
    yield _arrow((left, low), (first, low), (first, under), heavy=is_lit)
    if is_lit:
        yield _rect(left, low - 11, 2 * half, 21, f'fill="{colour}" stroke="currentColor" stroke-width="3"')
    looks = 'fill="#fff" font-weight="bold"' if is_lit else 'font-weight="bold"'
    yield _words(_WIDE / 2, low + 4.5, f"turn {turn}" if turn else "next turn", looks)
