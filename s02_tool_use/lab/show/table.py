"""A table as a Page: HTML for the notebook, aligned columns for everything else."""

import re
from collections.abc import Iterable, Sequence

from .page import Page, escape

# Each cell says its own ground and lines: the themes of Jupyter and of other pages have tables of their own.
LONGEST_WORD = 24  # characters of a word that is not broken
_STYLE = "border-bottom:1px solid rgba(128,128,128,.35);padding:3px 10px 3px 0;vertical-align:top;background:none;"


def show_table(head: Sequence[object], rows: Iterable[Sequence[object]]) -> Page:
    """Draw a table. head: the names of the columns. rows: lists of values; a Page as a value keeps its own drawing."""
    table = [
        [(Page(str(name), _broken(escape(name))), "left") for name in head],
        *(list(map(_cell, row)) for row in rows),
    ]
    texts = [[page.text.replace("\n", ", ") for page, _ in row] for row in table]
    for row in texts:
        if len(row) != len(head):
            raise ValueError(f"The table has {len(head)} columns, and a row has {len(row)} values: {row}")
    widths = [max(map(len, column)) for column in zip(*texts, strict=True)]
    lines = [_line(row, cells, widths) for row, cells in zip(texts, table, strict=True)]
    lines.insert(1, "  ".join("-" * width for width in widths))
    html = "".join(_row("td" if at else "th", row) for at, row in enumerate(table))
    return Page("\n".join(lines), f'<table style="border-collapse:collapse;margin:4px 0">{html}</table>')


def _cell(value):
    """(Page, side) of a value: numbers stand at the right."""
    if isinstance(value, Page):
        return value, "left"
    text = "" if value is None else str(value)
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return Page(
        text, f'<span style="white-space:pre-wrap">{_broken(escape(text))}</span>'
    ), "right" if is_number else "left"


def _broken(html):
    """Escaped text in which a long word may break: behind what separates its parts, or at the latest after so many."""
    part = rf"(?:&[#\w]+;|[^_/.\-&]){{1,{LONGEST_WORD}}}[_/.\-]*|[_/.\-]+"
    return re.sub(rf"\S{{{LONGEST_WORD + 1},}}", lambda word: "<wbr>".join(re.findall(part, word[0])), html)


def _line(texts, cells, widths):
    aligned = (str.rjust if side == "right" else str.ljust for _, side in cells)
    return "  ".join(align(text, width) for align, text, width in zip(aligned, texts, widths, strict=True)).rstrip()


def _row(tag, cells):
    drawn = (f'<{tag} style="{_STYLE}text-align:{side}">{page.html}</{tag}>' for page, side in cells)
    return f"<tr>{''.join(drawn)}</tr>"
