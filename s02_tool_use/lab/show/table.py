"""A table as a Page: HTML for the notebook, aligned columns for everything else."""

from collections.abc import Iterable, Sequence

from . import page
from .page import Page


def show_table(head: Sequence[object], rows: Iterable[Sequence[object]]) -> Page:
    """Draw a table. head: the names of the columns. rows: lists of values; a Page as a value keeps its own drawing."""
    cells = [[_cell(value) for value in row] for row in rows]
    for row in cells:
        if len(row) != len(head):
            raise ValueError(
                f"The table has {len(head)} columns, and a row has {len(row)} values: {[c.text for c in row]}"
            )
    return Page(_text(head, cells), _html(head, cells))


def _cell(value):
    if isinstance(value, Page):
        return value
    text = "" if value is None else str(value)
    right = isinstance(value, (int, float)) and not isinstance(value, bool)
    cell = Page(text, f'<span style="white-space:pre-wrap">{page.escape(text)}</span>')
    cell.right = right
    return cell


def _text(head, cells):
    texts = [list(map(str, head)), *([cell.text.replace("\n", ", ") for cell in row] for row in cells)]
    widths = [max(len(row[i]) for row in texts) for i in range(len(head))]
    lines = []
    for number, row in enumerate(texts):
        aligned = []
        for i, text in enumerate(row):
            right = number and getattr(cells[number - 1][i], "right", False)
            aligned.append(text.rjust(widths[i]) if right else text.ljust(widths[i]))
        lines.append("  ".join(aligned).rstrip())
    lines.insert(1, "  ".join("-" * width for width in widths))
    return "\n".join(lines)


def _html(head, cells):
    # Each cell says its own side, ground and lines: the themes of Jupyter and of other pages have tables of their own.
    line = "border-bottom:1px solid rgba(128,128,128,.35);padding:3px 10px 3px 0;vertical-align:top;background:none;"
    names = "".join(f'<th style="{line}text-align:left">{page.escape(name)}</th>' for name in head)
    body = ""
    for row in cells:
        sides = ("right" if getattr(cell, "right", False) else "left" for cell in row)
        body += (
            "<tr>"
            + "".join(
                f'<td style="{line}text-align:{side}">{cell.html}</td>' for cell, side in zip(row, sides, strict=True)
            )
            + "</tr>"
        )
    return f'<table style="border-collapse:collapse;margin:4px 0"><tr>{names}</tr>{body}</table>'
