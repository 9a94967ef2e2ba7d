"""A piece of output in two forms: HTML for the notebook, text for everything else. Both repeat exactly.

No script, no style sheet, no ground and no text colour of its own: readable on a light page and on a dark one.
"""

import html

# White on each of these is readable (at least 4.5 to 1), and each stands out as a line on white and on black.
COLOURS = ("#1f6feb", "#8250df", "#0a7d6c", "#b5367e", "#96600b", "#4b6a88")
RED, GREEN, GREY = "#cf222e", "#1a7f37", "#656d76"

FOLD, WIDTH = 12, 100  # lines that are shown before the rest folds, and how many characters make a line
MOST = 20_000  # characters of one text that go into a notebook at all: it has to stay small

# Control characters become their own pictures, so that they are seen and change nothing. A lone half of a pair of
# surrogates could not even be sent to the browser.
_PICTURES = {n: 0x2400 + n for n in range(32) if chr(n) not in "\n\t"} | {0x7F: 0x2421}


class Page:
    """What a cell shows: `_repr_html_` in a notebook, `repr` in a terminal and in the tests."""

    def __init__(self, text, html):
        self.text, self.html = printable(text), printable(html)

    def __repr__(self):
        return self.text

    def _repr_html_(self):
        return self.html


def printable(text):
    """`text` with nothing in it that a terminal obeys or that cannot be written as UTF-8."""
    text = text.replace("\r\n", "\n").translate(_PICTURES)
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def escape(text):
    """Text that stays text inside HTML, a `<script>` included."""
    return html.escape(str(text))


def badge(text, colour):
    """A small filled label: it brings its own ground, so it is readable on any page."""
    style = f"background:{colour};color:#fff;border-radius:3px;padding:0 5px"
    return f'<span style="{style}">{escape(text)}</span>'


def bar(inside, colour):
    """A box with a coloured line at its left."""
    return f'<div style="border-left:4px solid {colour};padding-left:8px;margin:4px 0">{inside}</div>'


def code(text, fold=FOLD, prose=False):
    """A text with its line breaks, in the font of code or of prose; longer than `fold` lines, it opens on a click."""
    size = f"{text.count(chr(10)) + 1} lines" if "\n" in text else f"{len(text):,} characters"
    font = "" if prose else "font-family:monospace;"
    block = f'<div style="{font}white-space:pre-wrap">{escape(shorten(text, MOST))}</div>'
    if is_short(text, fold):
        return block
    return (
        f"<details><summary><code>{escape(text.split(chr(10), 1)[0][:80])}</code> ... {size}</summary>{block}</details>"
    )


def is_short(text, fold=FOLD):
    """True for what is shown unfolded: at most `fold` lines, and no more characters than so many lines hold."""
    return text.count("\n") < fold and len(text) <= fold * WIDTH


def first_lines(text, fold=FOLD):
    """What the text twin shows of a long text: its beginning, and how much more there is."""
    if is_short(text, fold):
        return text
    lines = text.split("\n")
    more = f"... {len(lines) - fold} more lines" if len(lines) > fold else ""
    return "\n".join([*(shorten(line, fold * WIDTH // 2) for line in lines[:fold]), more]).rstrip("\n")


def shorten(text, most):
    """`text`, or its first `most` characters and how many more there are."""
    return text if len(text) <= most else f"{text[:most]} ... {len(text) - most:,} more characters"
