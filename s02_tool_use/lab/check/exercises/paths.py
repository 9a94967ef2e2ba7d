"""The exercises of 04: where does a path lead, a path function that lets nothing out, a glob that stays inside.

Each case runs in an escape room like the notebook's, with a few files more.
"""

import os
from functools import partial
from pathlib import Path

from ....workspace import workdir
from ...rooms import build_room
from ..exercise import Named, Such, exercise
from .parts import A_REFUSAL, gives, quiz, refusing, row, rows_of

FOLLOW = (2, "Follow everything, dots and links, to the real place")
ABSOLUTE = (1, "When the right side of `/` is absolute")
AFTER_A_LINK = (2, "A `..` after a link goes up from where")
NAMES = (2, "And nothing else is special")
ALIAS_TOO = (2, "The workspace itself may be a link")

# ---- inside

_PLACES = [  # (path, where it leads, where to read)
    ("sub/../notes.txt", "inside", FOLLOW),
    ("sub/../../secret.txt", "outside", FOLLOW),
    ("../work/notes.txt", "inside", FOLLOW),  # it leaves, and comes back
    ("/secret.txt", "outside", ABSOLUTE),
    ("~/secret.txt", "inside", NAMES),  # only a shell knows what a tilde is
    ("%2e%2e/secret.txt", "inside", NAMES),  # and only a web server decodes
    ("door/work/notes.txt", "inside", FOLLOW),
    ("door/../notes.txt", "outside", AFTER_A_LINK),
]
PATHS = [path for path, *_ in _PLACES]


@quiz("a list of eight guesses, 'inside' or 'outside', one for each of check.PATHS")
def inside():
    for number, (path, right, read) in enumerate(_PLACES):
        yield f"path {number}: {path!r}", right, read


# ---- the room of the other two

MORE = ("assam.txt", "ceylon.txt", "oolong.txt", "v1..v2.diff", "sub/keemun.txt", "sub/deep/yunnan.md")  # in `work`
LINKS = os.name != "nt"  # Windows makes links for the few who may: there the properties about them are left out


# They stand in a case for a place in the room, until that is built.
ROOT, ALIAS = Named("root", folder="base/work"), Named("link_to_root", folder="alias")
OUTSIDE = Named("'/.../base/*.txt'", folder="base/*.txt")


def _in_the_room(yours, root, what):
    """Call yours with the folder that `root` stands for; the room is built in the workspace when first needed."""
    folder = workdir()
    base = folder / "base"
    if not base.exists():
        build_room(base)
        for name in MORE:
            (base / "work" / name).parent.mkdir(exist_ok=True)
            (base / "work" / name).write_text("tea\n", encoding="utf-8")
        if LINKS:
            # Not inside base: a second way back into the workspace would give ** 2 ** 40 ways to go.
            (folder / "alias").symlink_to("base/work")
            (base / "work/todo").symlink_to("sub/keemun.txt")
    return yours(folder / root.folder, str(folder / what.folder) if isinstance(what, Named) else what)


@exercise("my_safe_path(root, p), a function that returns the real path of p, or raises ValueError")
def safe_path():
    def place(result, root, p):
        """The path that came out, as seen from the folder that holds the room."""
        path, folder = Path(result), workdir()
        return path.relative_to(folder).as_posix() if path.is_relative_to(folder) else path

    @row
    def leads(sentence, read, *cases, root=ROOT):
        """cases: (path, where it leads in the room)."""
        return gives(sentence, read)(*((root, p, f"base/{out}") for p, out in cases), see=place, run=_in_the_room)

    @row
    def stopped(sentence, read, *paths, root=ROOT):
        rows = rows_of(A_REFUSAL, run=partial(refusing, _in_the_room))
        return rows(sentence, read)(*((root, p) for p in paths))

    neighbour = (1, "The name `work-evil` begins with `work`")
    link = (1, "`link.txt` lies in the workspace, and its target does not")
    missing = (2, "All four are closed, and a file that is not there yet")
    notes, keemun, new = "work/notes.txt", "work/sub/keemun.txt", "work/new.txt"
    yield leads("a file of the workspace: its real path, absolute", FOLLOW)(
        ("notes.txt", notes), ("sub/keemun.txt", keemun)
    )
    yield leads("dots that stay inside are fine, and so are dots in a name", FOLLOW)(
        ("sub/../notes.txt", notes), ("./notes.txt", notes), ("v1..v2.diff", "work/v1..v2.diff")
    )
    yield leads("the file need not be there yet", missing)(
        ("new.txt", new), ("new/folder/new.txt", "work/new/folder/new.txt")
    )
    yield stopped("dot-dot does not get out", FOLLOW)("../secret.txt", "sub/../../secret.txt")
    yield stopped("an absolute path does not get out", ABSOLUTE)("/secret.txt")
    yield stopped("the neighbour is outside", neighbour)("../work-evil/loot.txt", "../work-evil")
    if LINKS:
        yield stopped("a link that leads out is outside", link)("link.txt", "door/secret.txt")
        yield stopped("dot-dot after a link goes up from where it leads", AFTER_A_LINK)("door/../notes.txt")
        yield leads("a link that stays inside: the real path of its target", FOLLOW)(
            ("todo", keemun), ("door/work/notes.txt", notes)
        )
        yield leads("the workspace itself may be a link", ALIAS_TOO)(("notes.txt", notes), ("new.txt", new), root=ALIAS)
        yield stopped("and it is not left then either", ALIAS_TOO)("../secret.txt", "link.txt", root=ALIAS)


@exercise(
    "my_glob(root, pattern), a function that returns the sorted list of the names that match inside of root",
    deadline=10.0,  # 40 rounds through the door, each name resolved: half a second on a good day
)
def glob():
    def names(result, root, pattern):
        """The names that came out. The name of a link is inside and its target is not, so it may be there or not."""
        if not isinstance(result, (list, tuple)):
            raise TypeError("a list is asked for")
        return [name for name in map(str, result) if name != "link.txt"]

    @row
    def finds(sentence, read, *cases, root=ROOT):
        """cases: (pattern, the names)."""
        return gives(sentence, read)(*((root, *case) for case in cases), see=names, run=_in_the_room)

    wall, through = (3, "`root_dir` is where the search starts, and no wall"), (3, "The pattern climbs")
    again = (3, "Links do one more thing to `**`")
    here, below = ["assam.txt", "ceylon.txt", "notes.txt", "oolong.txt"], ["sub/keemun.txt", "sub/secret.txt"]
    notes = Such("['notes.txt'], or []", lambda names: names in ([], ["notes.txt"]))
    yield finds("the names that match, sorted, in a list", wall)(("*.txt", here), ("ceylon*", ["ceylon.txt"]))
    yield finds("folders in the pattern are in the names", wall)(("sub/s*.txt", ["sub/secret.txt"]))
    yield finds("no match is an empty list", wall)(("*.rs", []))
    yield finds("dot-dot finds nothing outside", wall)(("../*.txt", []), ("../work-evil/*", []))
    yield finds("an absolute pattern finds nothing outside", through)((OUTSIDE, []))
    if LINKS:
        yield finds("a link leads to nothing outside", through)(("door/*.txt", []), ("d*r/*.txt", []))
    yield finds("** goes through all folders, and gives each file once, under its name in root", again)(
        ("**/*.md", ["sub/deep/yunnan.md"]), ("**/*.txt", sorted(here + below))
    )
    yield finds("a pattern that leaves and comes back finds nothing, or names in root", again)(
        ("../work/n*.txt", notes)
    )
    if LINKS:
        yield finds("the workspace itself may be a link", ALIAS_TOO)(("*.txt", here), root=ALIAS)
