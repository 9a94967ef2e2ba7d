"""A piece of output in two forms: HTML for the notebook, text for everything else. Both repeat exactly.

No script, no style sheet, no ground and no text colour of its own: readable on a light page and on a dark one. GitHub
takes all styles away. So what they show is in the elements and words too: lines of code stand in a `pre`, a badge is
bold, and nothing is told by a colour alone.
"""

import html

from ..client.faults import as_number, printable, shorten

# White on each of these is readable (at least 4.5 to 1), and each stands out as a line on white and on black.
COLOURS = ("#1f6feb", "#8250df", "#0a7d6c", "#b5367e", "#96600b", "#4b6a88")
RED, GREEN, GREY = "#cf222e", "#1a7f37", "#656d76"

HUE = 60  # percent of a colour for text, the rest is that of the page's text: 4.5 to 1 on a white page and a dark one

FOLD_LINES, WIDTH_CHARACTERS = 12, 100  # lines that are shown before the rest folds, and what makes a long one
MOST_CHARACTERS = 20_000  # of one text that go into a notebook at all: it has to stay small


class Page:
    """What a cell shows: `_repr_html_` in a notebook, `repr` in a terminal and in the tests."""

    def __init__(self, text: str, html: str) -> None:
        self.text, self.html = printable(text), drawable(html)

    def __repr__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        return self.html


def escape(text: object) -> str:
    """Text that stays text inside HTML, a `<script>` included, with all that `printable` draws."""
    return html.escape(printable(str(text)))


def drawable(html: str) -> str:
    """`printable` for HTML in which all text has been escaped."""
    return printable(html, mark=lambda character: f"&lt;{as_number(character)[1:-1]}&gt;")


def colour_of(label: str) -> str:
    """The same for a call and its result; grey for what belongs to no call."""
    return GREY if label in ("", "?") else COLOURS[(ord(label[-1]) - ord("A")) % len(COLOURS)]


def readable(colour: str) -> str:
    """`colour` for text: mixed with that of the text around it, so darker on a light page and lighter on a dark one."""
    return f"color-mix(in srgb,{colour} {HUE}%,currentColor)"


def badge(text: str, colour: str, in_columns: bool = False) -> str:
    """A small filled label: it brings its own ground, so it is readable on any page. In columns it has no more room."""
    style = f"background:{colour};color:#fff;border-radius:3px;padding:0 5px" + ";margin:0 -5px" * in_columns
    return f'<b style="{style}">{escape(text)}</b>'


def bar(inside: str, colour: str) -> str:
    """A box with a coloured line at its left."""
    return f'<div style="border-left:4px solid {colour};padding-left:8px;margin:4px 0">{inside}</div>'


def pre(html: str, wraps: bool = True) -> str:
    """Escaped lines as they are, in the font of code. Long ones break between words; a picture does not."""
    breaks = "pre-wrap;word-break:normal;overflow-wrap:anywhere" if wraps else "pre"
    style = f"margin:2px 0;padding:0;border:0;white-space:{breaks};background:none;color:inherit"
    first = "\n" * html.startswith("\n")  # a browser passes over one
    return f'<pre style="{style}">{first}{html}</pre>'


def broken(html: str) -> str:
    """Escaped prose with its line breaks, for a place that keeps spaces by its style."""
    return html.replace("\n", "<br>")


def note(text: str) -> str:
    """`[is_error]`: what a reader should not miss about a block."""
    return badge(f"[{text}]", RED if text == "is_error" else GREY) if text else ""


def code(text: str, fold: int = FOLD_LINES, prose: bool = False) -> str:
    """A string with its line breaks, in the font of code or of prose; longer than `fold` lines, it opens on a click."""
    text = printable(text)  # before it is shortened: a piece of a key is not found any more
    size = f"{text.count(chr(10)) + 1} lines" if "\n" in text else f"{len(text):,} characters"
    lines = escape(shorten(text, MOST_CHARACTERS))
    block = f'<div style="white-space:pre-wrap">{broken(lines)}</div>' if prose else pre(lines)
    if is_short(text, fold):
        return block
    first = escape(text.split("\n", 1)[0][:80])
    return f"<details><summary><code>{first}</code> ... {size}</summary>{block}</details>"


def is_short(text: str, fold: int = FOLD_LINES) -> bool:
    """True for what is shown unfolded: at most `fold` lines, and no more characters than so many lines hold."""
    return text.count("\n") < fold and len(text) <= fold * WIDTH_CHARACTERS


def first_lines(text: str, fold: int = FOLD_LINES) -> str:
    """What the text twin shows of a long text: its beginning, and how much more there is."""
    if is_short(text, fold):
        return text
    lines = text.split("\n")
    more = f"... {len(lines) - fold} more lines" if len(lines) > fold else ""
    return "\n".join([*(shorten(line, fold * WIDTH_CHARACTERS // 2) for line in lines[:fold]), more]).rstrip("\n")
