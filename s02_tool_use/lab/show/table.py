"""A table as a Page: HTML for the notebook, aligned columns for everything else.

A column of numbers can be drawn as bars too. A bar is made of characters, so it is the same in a notebook, in a
terminal and where a page loses its styles. Left out: bars for what is below zero.
"""

import re
from collections.abc import Collection, Iterable, Sequence
from decimal import Decimal
from fractions import Fraction
from numbers import Rational, Real

from .page import Page, broken, escape

LONGEST_WORD = 24  # characters of a word that is not broken
BAR = 16  # characters of the longest bar
EIGHTHS = "▏▎▍▌▋▊▉█"  # one to eight eighths of a character
# Each cell says its own ground and lines: the themes of Jupyter and of other pages have tables of their own.
_SCOPE = ' scope="col"'
_SPAN = ' colspan="2"'
_STYLE = "border-bottom:1px solid rgba(128,128,128,.35);padding:3px 10px 3px 0;vertical-align:top;background:none;"


def show_table(head: Sequence[object], rows: Iterable[Sequence[object]], bars: str | Collection[str] = ()) -> Page:
    """Draw a table. head: the names of the columns. rows: lists of values; a Page as a value keeps its own drawing.

    bars: the name of a column, or several, whose numbers get a bar beside them, all on one scale. What is no number, or
    below zero, gets none. Raises ValueError for a name that is not in head, and for a row of another length.
    """
    names, rows = [str(name) for name in head], [list(row) for row in rows]
    for row in rows:
        if len(row) != len(head):
            raise ValueError(f"The table has {len(head)} columns, and a row has {len(row)} values: {row}")
    several = isinstance(bars, Iterable) and not isinstance(bars, str)
    wanted = [str(name) for name in (bars if several else [bars])]
    for name in wanted:
        if name not in names:
            raise ValueError(f"The table has no column {name!r} to draw as bars. It has: {', '.join(names)}.")
    drawn = [at for at, name in enumerate(names) if name in wanted]
    longest = max((_size(row[at]) for row in rows for at in drawn), default=Fraction())
    table = [[(Page(name, _broken(escape(name))), "left") for name in names], *(list(map(_cell, row)) for row in rows)]
    html = [_row("th", table[0], drawn)]
    for at in reversed(drawn):  # each bar stands in a cell of its own, behind its number
        table[0].insert(at + 1, (Page("", ""), "left"))
        for row, cells in zip(rows, table[1:], strict=True):
            cells.insert(at + 1, (_bar(row[at], longest), "left"))
    html += [_row("td", row) for row in table[1:]]
    texts = [[page.text.replace("\n", ", ") for page, _ in row] for row in table]
    widths = [max(map(len, column)) for column in zip(*texts, strict=True)]
    lines = [_line(row, cells, widths) for row, cells in zip(texts, table, strict=True)]
    lines.insert(1, "  ".join("-" * width for width in widths))
    return Page("\n".join(lines), f'<table style="border-collapse:collapse;margin:4px 0">{"".join(html)}</table>')


def _cell(value):
    """(Page, side) of a value: numbers stand at the right."""
    if isinstance(value, Page):
        return value, "left"
    text = "" if value is None else str(value)
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return Page(
        text, f'<span style="white-space:pre-wrap">{broken(_broken(escape(text)))}</span>'
    ), "right" if is_number else "left"


def _size(value):
    """What a bar shows of a value: exact, so that nothing is too large. 0 for what has no bar."""
    if isinstance(value, bool) or not isinstance(value, (Real, Decimal)):
        return Fraction()
    try:
        return max(Fraction(value if isinstance(value, (Rational, Decimal)) else float(value)), Fraction())
    except (ValueError, OverflowError):  # not a number, or without an end
        return Fraction()


def _bar(value, longest):
    """A bar as a Page. What is more than nothing has one, however short. Only for the eyes: the number says it too."""
    size = _size(value)
    eighths = max(round(size / longest * BAR * 8), 1) if size else 0
    text = EIGHTHS[-1] * (eighths // 8) + (EIGHTHS[eighths % 8 - 1] if eighths % 8 else "")
    style = "background:none;color:inherit;padding:0;white-space:pre"
    return Page(text, f'<code aria-hidden="true" style="{style}">{text}</code>' if text else "")


def _broken(html):
    """Escaped text in which a long word may break: behind what separates its parts, or at the latest after so many."""
    part = rf"(?:&[#\w]+;|[^_/.\-&]){{1,{LONGEST_WORD}}}[_/.\-]*|[_/.\-]+"
    return re.sub(rf"\S{{{LONGEST_WORD + 1},}}", lambda word: "<wbr>".join(re.findall(part, word[0])), html)


def _line(texts, cells, widths):
    aligned = (str.rjust if side == "right" else str.ljust for _, side in cells)
    return "  ".join(align(text, width) for align, text, width in zip(aligned, texts, widths, strict=True)).rstrip()


def _row(tag, cells, with_bar=()):
    """The cells of a row. The name of a column that has bars stands over both."""
    scope = _SCOPE * (tag == "th")
    drawn = (
        f'<{tag}{_SPAN * (at in with_bar)}{scope} style="{_STYLE}text-align:{side}">{page.html}</{tag}>'
        for at, (page, side) in enumerate(cells)
    )
    return f"<tr>{''.join(drawn)}</tr>"
