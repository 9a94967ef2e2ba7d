"""A folder as a tree, with an arrow from each link and from each path in question to where it really leads.

Made of characters, so it is the same on every page; the arrows are for the eyes only, the words beside them say the
same. Names are shown from the folder on: nothing of this machine. Left out: what may be opened (workspace.py).
"""

import errno
import os
from collections.abc import Iterable
from pathlib import Path

from ..client.faults import printable
from . import page, rows
from .page import Page, badge, escape

INSIDE, OUTSIDE, NOWHERE = "inside", "outside", "nowhere"
COLOURS = {INSIDE: page.GREEN, OUTSIDE: page.RED, NOWHERE: page.GREY}
MOST_ROWS = 60  # of the tree; the others are counted
LONGEST_NAME = 40
LANE, MOST_LANES = 2, 12  # characters from one upright line to the next, and how many there are: not all have an arrow
# What a place in a picture looks like, by where lines go from it: left, up, right, down.
STROKES = {"lr": "─", "du": "│", "lu": "┘", "dl": "┐", "dlr": "┬", "lru": "┴", "dlru": "┼", "dlu": "┤"}


def show_tree(
    folder: str | os.PathLike[str],
    workspace: str | os.PathLike[str] | None = None,
    paths: str | Iterable[str] = (),
    name: str = "the room",
) -> Page:
    """Draw what lies in a folder, and where links and paths lead.

    workspace: a folder in it, which paths are seen from and judged by: inside or outside; the folder itself if it is
    left out. name: what the folder is called. Raises ValueError if one of the two is no folder, or not in the other.
    """
    base = Path(os.path.realpath(folder))
    root = Path(os.path.realpath(base if workspace is None else workspace))
    if not base.is_dir() or not root.is_dir() or not root.is_relative_to(base):
        raise ValueError("show_tree takes a folder, and a workspace that is a folder in it.")
    names, place_of, arrows = [(f"{name}/", root == base)], {base: 0}, []
    links = []  # (row, real place)
    for start, path, last in _tree(base):
        place_of[path] = len(names)
        end = ""
        if path.is_symlink():
            end = f" -> {_short(os.readlink(path).replace(os.sep, '/').replace(base.as_posix(), name))}"
            links.append((len(names), _leads(path)))
        elif os.path.isdir(path):
            end = "/"
        names.append((f"{start}{'└─' if last else '├─'} {_short(path.name)}{end}", path == root))
        if len(names) > MOST_ROWS:
            break
    hidden = sum(1 for _ in _tree(base)) + 1 - len(names)
    tree = [(text, "  the workspace" * is_root, "") for text, is_root in names]
    if hidden > 0:
        tree.append((f"... {rows.many(hidden, 'more name')}", "", ""))
    paths = [paths] if isinstance(paths, (str, os.PathLike)) else paths
    asked = [_asked(str(path), base, root, name) for path in paths]
    if asked:
        wide = max(len(said) for said, *_ in asked)
        far = max(len(target) for *_, target, _ in asked)
        tree.append((f"Paths, as seen from {_from(base, root, name)}:", "", ""))
        for said, verdict, target, leads in asked:
            if verdict != NOWHERE:
                links.append((len(tree), leads))
            tree.append((f"  {said:{wide}}  ", f"[{verdict}]", f"{'':{len(OUTSIDE) - len(verdict)}}  {target:{far}}"))
    for at, leads in links:
        to = next((place_of[one] for one in (leads, *(leads or base).parents) if one in place_of), None)
        if leads is not None and to not in (None, at) and leads.is_relative_to(base):
            arrows.append((at, to))
    return _page(tree, _gutter(len(tree), arrows))


def _tree(folder, start=""):
    """(what stands before it, path, is it the last one) of all that lies in a folder. No link is followed."""
    try:
        found = sorted(folder.iterdir(), key=lambda path: path.name)
    except OSError:
        return
    for path in found:
        last = path == found[-1]
        yield start, path, last
        if os.path.isdir(path) and not path.is_symlink():
            yield from _tree(path, start + ("   " if last else "│  "))


def _leads(path):
    """The real place of a path; None if it leads nowhere, as in a circle of links. What is missing has a place too."""
    try:
        return Path(os.path.realpath(path, strict=True))
    except ValueError:  # a NUL in it
        return None
    except OSError as error:
        return None if error.errno == errno.ELOOP else Path(os.path.realpath(path))


def _asked(said, base, root, name):
    """(the path as it is shown, the verdict, its real place in words, that place)."""
    leads = _leads(os.path.join(root, said))
    shown = _short(said.replace(os.sep, "/").replace(base.as_posix(), name))
    if leads is None:
        return shown, NOWHERE, "no place" if "\0" in said else "a circle of links", leads
    verdict = INSIDE if leads.is_relative_to(root) else OUTSIDE
    if not leads.is_relative_to(base):
        return shown, verdict, f"outside of {name} too", leads
    return shown, verdict, _from(base, leads, name) + ("" if os.path.exists(leads) else ", not there yet"), leads


def _from(base, path, name):
    """A path seen from the folder."""
    return name if path == base else _short(path.relative_to(base).as_posix())


def _short(text):
    text = printable(text.replace("\n", "\\n"))
    return text if len(text) <= LONGEST_NAME else text[: LONGEST_NAME - 1] + "…"


def _gutter(height: int, arrows: list[tuple[int, int]]) -> list[tuple[str, str]]:
    """For each row how its arrow begins, with a line or a head, and the strokes at its right. Short ones are inside."""
    lanes: list[list[tuple[int, int]]] = []
    strokes: dict[tuple[int, int], set[str]] = {}
    heads = [""] * height
    for source, target in sorted(arrows, key=lambda arrow: (abs(arrow[0] - arrow[1]), arrow)):
        low, high = sorted((source, target))
        free = (at for at, taken in enumerate(lanes) if all(high < one or other < low for one, other in taken))
        lane = next(free, len(lanes))
        if lane == MOST_LANES:
            continue
        if lane == len(lanes):
            lanes.append([])
        lanes[lane].append((low, high))
        column = LANE * (lane + 1)
        heads[source], heads[target] = heads[source] or "─", "◄"
        for row in (source, target):
            for x in range(column):
                strokes.setdefault((row, x), set()).update("lr")
            strokes.setdefault((row, column), set()).update("l" + ("d" if row == low else "u"))
        for row in range(low + 1, high):
            strokes.setdefault((row, column), set()).update("ud")
    wide = LANE * len(lanes) + 1
    lines = [
        "".join(STROKES["".join(sorted(found))] if (found := strokes.get((row, x))) else " " for x in range(wide))
        for row in range(height)
    ]
    return list(zip(heads, map(str.rstrip, lines), strict=True))


def _page(tree, gutter):
    wide = max(sum(map(len, parts)) for parts in tree) + 2
    texts, drawn = [], []
    for (text, mark, end), (head, line) in zip(tree, gutter, strict=True):
        free = wide - len(text + mark + end) - 1
        arrow = (f" {head}{'─' * (free - 1)}" if head else " " * (free + 1)) + line
        texts.append(f"{text}{mark}{end}{arrow}".rstrip())
        if colour := COLOURS.get(mark.strip("[]")):
            mark = badge(mark, colour, in_columns=True)
        elif mark:
            mark = f"<b>{mark}</b>"
        drawn.append(f'{escape(text)}{mark}{escape(end)}<span aria-hidden="true">{arrow.rstrip()}</span>')
    return Page("\n".join(texts), page.pre("\n".join(drawn), wraps=False))
