"""A table as a Page: HTML for the notebook, aligned columns for everything else."""

from collections.abc import Iterable, Sequence

from .page import Page, escape

# Each cell says its own ground and lines: the themes of Jupyter and of other pages have tables of their own.
_STYLE = "border-bottom:1px solid rgba(128,128,128,.35);padding:3px 10px 3px 0;vertical-align:top;background:none;"


def show_table(head: Sequence[object], rows: Iterable[Sequence[object]]) -> Page:
    """Draw a table. head: the names of the columns. rows: lists of values; a Page as a value keeps its own drawing."""
    cells = [[_cell(value) for value in row] for row in rows]
    for row in cells:
        if len(row) != len(head):
            values = [page.text for page, _ in row]
            raise ValueError(f"The table has {len(head)} columns, and a row has {len(row)} values: {values}")
    texts = [list(map(str, head)), *([page.text.replace("\n", ", ") for page, _ in row] for row in cells)]
    widths = [max(map(len, column)) for column in zip(*texts, strict=True)]
    texts.insert(1, ["-" * width for width in widths])
    sides = [["left"] * len(head)] * 2 + [[side for _, side in row] for row in cells]
    names = _row("th", [(escape(name), "left") for name in head])
    body = "".join(_row("td", [(page.html, side) for page, side in row]) for row in cells)
    html = f'<table style="border-collapse:collapse;margin:4px 0">{names}{body}</table>'
    return Page("\n".join(map(_line, texts, sides, [widths] * len(texts))), html)


def _cell(value):
    """(Page, side) of a value: numbers stand at the right."""
    if isinstance(value, Page):
        return value, "left"
    text = "" if value is None else str(value)
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return Page(text, f'<span style="white-space:pre-wrap">{escape(text)}</span>'), "right" if is_number else "left"


def _line(texts, sides, widths):
    aligned = (str.rjust if side == "right" else str.ljust for side in sides)
    return "  ".join(align(text, width) for align, text, width in zip(aligned, texts, widths, strict=True)).rstrip()


def _row(tag, cells):
    drawn = (f'<{tag} style="{_STYLE}text-align:{side}">{html}</{tag}>' for html, side in cells)
    return f"<tr>{''.join(drawn)}</tr>"
