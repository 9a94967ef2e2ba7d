"""A piece of output in two forms: HTML for the notebook, text for everything else. Both repeat exactly.

No script, no style sheet and no colour of text or page: what is drawn is readable on a light and on a dark ground.
"""

import html

# White on each of these is readable (4.5 to 1), and each stands out as a line on white and on black.
COLOURS = ("#1f6feb", "#8250df", "#0a7d6c", "#b5367e", "#96600b", "#4b6a88")
RED = "#cf222e"
GREEN = "#1a7f37"
GREY = "#6e7781"


class Page:
    """What a cell shows: `_repr_html_` in a notebook, `repr` in a terminal and in the tests."""

    def __init__(self, text, html):
        self.text, self.html = text, html

    def __repr__(self):
        return self.text

    def _repr_html_(self):
        return self.html


def escape(text):
    """Text that stays text inside HTML, a `<script>` included."""
    return html.escape(str(text))


def badge(text, colour):
    """A small filled label: its own ground makes it readable on any page."""
    return f'<span style="background:{colour};color:#fff;border-radius:3px;padding:0 5px;font-size:85%">{escape(text)}</span>'


def bar(inside, colour, gap=4):
    """A box with a coloured line at its left."""
    return f'<div style="border-left:4px solid {colour};padding:1px 8px;margin:{gap}px 0">{inside}</div>'


def code(text, fold=12):
    """Preformatted text; what is longer than `fold` lines (or as many lines' worth of characters) opens on a click."""
    lines = text.split("\n")
    pre = '<pre style="margin:2px 0;white-space:pre-wrap;background:transparent;color:inherit">{}</pre>'
    if len(lines) <= fold and len(text) <= fold * 100:
        return pre.format(escape(text))
    first = escape(lines[0][:100])
    size = f"{len(lines)} lines" if len(lines) > 1 else f"{len(text):,} characters"
    return f"<details><summary><code>{first}</code> ... {size}</summary>{pre.format(escape(text))}</details>"
