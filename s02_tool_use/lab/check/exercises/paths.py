"""The exercises of 04: where does a path lead, a path function that lets nothing out, a glob that stays inside.

Each case runs in an escape room like the notebook's, with a few files more.
"""

import os
from pathlib import Path

from ....workspace import workdir
from ...rooms import build_room
from ..exercise import Exercise, Property, Such
from .parts import quiz, refused, refusing

# ---- inside ----

PATHS = [
    "sub/../notes.txt",
    "sub/../../secret.txt",
    "../work/notes.txt",
    "/secret.txt",
    "~/secret.txt",
    "%2e%2e/secret.txt",
    "door/work/notes.txt",
    "door/../notes.txt",
]

_FOLLOW = (2, "Follow everything, dots and links, to the real place")
_ABSOLUTE = (1, "When the right side of `/` is absolute")
_NEIGHBOUR = (1, "The name `work-evil` begins with `work`")
_LINK = (1, "`link.txt` lies in the workspace, and its target does not")
_AFTER_A_LINK = (2, "A `..` after a link goes up from where")
_NAMES = (2, "And nothing else is special")
_MISSING = (2, "All four are closed, and a file that is not there yet")
_ALIAS = (2, "The workspace itself may be a link")


_RIGHT = [
    ("inside", _FOLLOW),
    ("outside", _FOLLOW),
    ("inside", _FOLLOW),  # it leaves, and comes back
    ("outside", _ABSOLUTE),
    ("inside", _NAMES),  # only a shell knows what a tilde is
    ("inside", _NAMES),  # and only a web server decodes
    ("inside", _FOLLOW),
    ("outside", _AFTER_A_LINK),
]

inside = quiz(
    "04",
    "inside",
    "a list of eight guesses, 'inside' or 'outside', one for each of check.PATHS",
    *((f"path {number}: {PATHS[number]!r}", *right) for number, right in enumerate(_RIGHT)),
)

# ---- the room of the other two ----

MORE = ("work/assam.txt", "work/ceylon.txt", "work/oolong.txt", "work/sub/keemun.txt", "work/sub/deep/yunnan.md")
LINKS = os.name != "nt"  # Windows makes links for the few who may: there the properties about them are left out


class _Spot:
    """Stands in a case for a place in the room, until that is built: its name is what a verdict shows."""

    def __init__(self, name, folder):
        self.name, self.folder = name, folder

    def __repr__(self):
        return self.name


ROOT, ALIAS = _Spot("root", "base/work"), _Spot("link_to_root", "alias")
OUTSIDE = _Spot("'/.../base/*.txt'", "base/*.txt")


def _in_the_room(yours, root, what):
    """Call yours with the folder that `root` stands for; the room is built in the workspace when first needed."""
    folder = workdir()
    base = folder / "base"
    if not base.exists():
        build_room(base)
        for name in MORE:
            (base / name).parent.mkdir(exist_ok=True)
            (base / name).write_text("tea\n", encoding="utf-8")
        if LINKS:
            # Not inside base: a second way back into the workspace would give ** 2 ** 40 ways to go.
            (folder / "alias").symlink_to("base/work")
            (base / "work/todo").symlink_to("sub/keemun.txt")
    return yours(folder / root.folder, str(folder / what.folder) if isinstance(what, _Spot) else what)


def _refused_in_the_room(*what):
    return refused(*what, run=lambda yours, *args: refusing(_in_the_room, yours, *args))


# ---- safe_path ----


def _place(result, root, p):
    """The path that came out, as seen from the folder that holds the room."""
    path, folder = Path(result), workdir()
    return path.relative_to(folder).as_posix() if path.is_relative_to(folder) else path


def _gives(sentence, read, *cases, see):
    """cases: (root, path or pattern, what comes out)."""
    right = {(root.name, repr(what)): out for root, what, out in cases}
    arguments = [(root, what) for root, what, _ in cases]
    return Property(
        sentence, read, arguments, lambda root, what: right[root.name, repr(what)], see=see, run=_in_the_room
    )


def _leads_to(sentence, read, *cases):
    return _gives(sentence, read, *((root, p, f"base/{place}") for root, p, place in cases), see=_place)


safe_path = Exercise(
    "04",
    "safe_path",
    "my_safe_path(root, p), a function that returns the real path of p, or raises ValueError",
    [
        _leads_to(
            "a file of the workspace: its real path, absolute",
            _FOLLOW,
            (ROOT, "notes.txt", "work/notes.txt"),
            (ROOT, "sub/keemun.txt", "work/sub/keemun.txt"),
        ),
        _leads_to(
            "dots that stay inside are fine, and so are dots in a name",
            _FOLLOW,
            (ROOT, "sub/../notes.txt", "work/notes.txt"),
            (ROOT, "./notes.txt", "work/notes.txt"),
            (ROOT, "v1..v2.diff", "work/v1..v2.diff"),
        ),
        _leads_to(
            "the file need not be there yet",
            _MISSING,
            (ROOT, "new.txt", "work/new.txt"),
            (ROOT, "new/folder/new.txt", "work/new/folder/new.txt"),
        ),
        _refused_in_the_room(
            "dot-dot does not get out", _FOLLOW, (ROOT, "../secret.txt"), (ROOT, "sub/../../secret.txt")
        ),
        _refused_in_the_room("an absolute path does not get out", _ABSOLUTE, (ROOT, "/secret.txt")),
        _refused_in_the_room(
            "the neighbour is outside", _NEIGHBOUR, (ROOT, "../work-evil/loot.txt"), (ROOT, "../work-evil")
        ),
        *(
            _refused_in_the_room(
                "a link that leads out is outside", _LINK, (ROOT, "link.txt"), (ROOT, "door/secret.txt")
            ),
            _refused_in_the_room(
                "dot-dot after a link goes up from where it leads", _AFTER_A_LINK, (ROOT, "door/../notes.txt")
            ),
            _leads_to(
                "a link that stays inside: the real path of its target",
                _FOLLOW,
                (ROOT, "todo", "work/sub/keemun.txt"),
                (ROOT, "door/work/notes.txt", "work/notes.txt"),
            ),
            _leads_to(
                "the workspace itself may be a link",
                _ALIAS,
                (ALIAS, "notes.txt", "work/notes.txt"),
                (ALIAS, "new.txt", "work/new.txt"),
            ),
            _refused_in_the_room(
                "and it is not left then either", _ALIAS, (ALIAS, "../secret.txt"), (ALIAS, "link.txt")
            ),
        )
        * LINKS,
    ],
)

# ---- glob ----

_WALL = (3, "`root_dir` is where the search starts, and no wall")
_THROUGH = (3, "The pattern climbs")
_AGAIN = (3, "Links do one more thing to `**`")

_HERE = ["assam.txt", "ceylon.txt", "notes.txt", "oolong.txt"]
_BELOW = ["sub/keemun.txt", "sub/secret.txt"]


def _names(result, root, pattern):
    """The names that came out. The name of a link is inside and its target is not, so it may be there or not."""
    if not isinstance(result, (list, tuple)):
        raise TypeError("a list is asked for")
    return [name for name in map(str, result) if name != "link.txt"]


def _finds(*what):
    return _gives(*what, see=_names)


glob = Exercise(
    "04",
    "glob",
    "my_glob(root, pattern), a function that returns the sorted list of the names that match inside of root",
    [
        _finds(
            "the names that match, sorted, in a list", _WALL, (ROOT, "*.txt", _HERE), (ROOT, "ceylon*", ["ceylon.txt"])
        ),
        _finds("folders in the pattern are in the names", _WALL, (ROOT, "sub/s*.txt", ["sub/secret.txt"])),
        _finds("no match is an empty list", _WALL, (ROOT, "*.rs", [])),
        _finds("dot-dot finds nothing outside", _WALL, (ROOT, "../*.txt", []), (ROOT, "../work-evil/*", [])),
        _finds("an absolute pattern finds nothing outside", _THROUGH, (ROOT, OUTSIDE, [])),
        *(_finds("a link leads to nothing outside", _THROUGH, (ROOT, "door/*.txt", []), (ROOT, "d*r/*.txt", [])),)
        * LINKS,
        _finds(
            "** goes through all folders, and gives each file once, under its name in root",
            _AGAIN,
            (ROOT, "**/*.md", ["sub/deep/yunnan.md"]),
            (ROOT, "**/*.txt", sorted(_HERE + _BELOW)),
        ),
        Property(
            "a pattern that leaves and comes back finds nothing, or names in root",
            _AGAIN,
            [(ROOT, "../work/n*.txt")],
            Such("['notes.txt'], or []", lambda names: names in ([], ["notes.txt"])),
            see=_names,
            run=_in_the_room,
        ),
        *(
            _finds(
                "the workspace itself may be a link", (2, "The workspace itself may be a link"), (ALIAS, "*.txt", _HERE)
            ),
        )
        * LINKS,
    ],
    deadline=10.0,  # 40 rounds through the door, each name resolved: half a second on a good day
)
