"""The exercises of 04: where does a path lead, two path functions that let nothing out, a glob that stays inside.

Each case runs in an escape room like the notebook's, with a few files more.
"""

import inspect
import os
from functools import partial
from pathlib import Path

from ....workspace import within, workdir
from ...rooms import build_room
from ..exercise import Named, Such, exercise
from ..trial import off_the_clock
from .parts import A_REFUSAL, Raised, gives, quiz, refusing, row, rows_of

OUT_AND_BACK = (1, "What counts is where a path leads in the end")
ABSOLUTE = (1, "When the right side of `/` is absolute")
AFTER_A_LINK = (1, "A `..` after a link goes up from where")
NAMES = (1, "And nothing else is special")
FOLLOW = (2, "Follow everything, dots and links, to the real place")
CIRCLES = (3, "A path that goes in circles leads nowhere")

# ---- inside

_PLACES = [  # (path, where it leads, where to read)
    ("sub/../notes.txt", "inside", OUT_AND_BACK),
    ("sub/../../secret.txt", "outside", OUT_AND_BACK),
    ("../work/notes.txt", "inside", OUT_AND_BACK),  # it leaves, and comes back
    ("/secret.txt", "outside", ABSOLUTE),
    ("~/secret.txt", "inside", NAMES),  # only a shell knows what a tilde is
    ("%2e%2e/secret.txt", "inside", NAMES),  # and only a web server decodes
    ("door/work/notes.txt", "inside", OUT_AND_BACK),
    ("door/../notes.txt", "outside", AFTER_A_LINK),
]
PATHS = [path for path, *_ in _PLACES]


@quiz("a list of eight guesses, 'inside' or 'outside', one for each of check.PATHS")
def inside():
    for number, (path, right, read) in enumerate(_PLACES):
        yield f"path {number}: {path!r}", right, read


# ---- the room of the others

MORE = ("assam.txt", "ceylon.txt", "oolong.txt", "v1..v2.diff", "sub/keemun.txt", "sub/deep/yunnan.md")  # in `work`
LINKS = os.name != "nt"  # Windows makes links for the few who may: there the properties about them are left out
TOO_MANY = 41  # links on one way: Linux follows 40

# They stand in a case for a place in the room, until that is built.
ROOT, ALIAS = Named("the workspace", folder="base/work"), Named("the workspace, by a link to it", folder="alias")
OUTSIDE = Named("'/.../base/*.txt'", folder="base/*.txt")
OUTSIDE_FILE = Named("'/.../base/secret.txt'", folder="base/secret.txt")
ITSELF = Named("'/.../base/work'", folder="base/work")
INSIDE_FILE = Named("'/.../base/work/sub/keemun.txt'", folder="base/work/sub/keemun.txt")
INSIDE_PATTERN = Named("'/.../base/work/sub/k*.txt'", folder="base/work/sub/k*.txt")


def _in_the_room(yours, what, root=ROOT):
    """Call yours with the folder that `root` stands for as workspace; the room is built when first needed.

    A function of two parameters gets that folder as its first: then it need not ask for the workspace.
    """
    folder = workdir()
    base = folder / "base"
    if not base.exists():
        with off_the_clock():
            _build(folder, base)
    said = str(folder / what.folder) if isinstance(what, Named) else what
    with within(folder / root.folder):
        return yours(folder / root.folder, said) if _takes_the_root(yours) else yours(said)


def _build(folder, base):
    build_room(base)
    for name in MORE:
        (base / "work" / name).parent.mkdir(exist_ok=True)
        (base / "work" / name).write_text("tea\n", encoding="utf-8", newline="\n")
    if LINKS:
        # Not inside base: a second way back into the workspace would give ** 2 ** 40 ways to go.
        (folder / "alias").symlink_to("base/work")
        (base / "work/todo").symlink_to("sub/keemun.txt")
        (folder / "links").mkdir()
        for number in range(TOO_MANY):  # l0 is a file, l1 a link to it, l2 a link to that
            (folder / f"links/l{number + 1}").symlink_to(f"l{number}")
        (folder / "links/l0").write_text("tea\n", encoding="utf-8", newline="\n")


def _takes_the_root(function):
    """Whether it is written as my_safe_path(root, p)."""
    function = getattr(getattr(function, "__self__", None), "yours", function)  # what the trial records the calls of
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return False
    return sum(p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) for p in parameters) > 1


def _place(result, *_):
    """The path that came out, as seen from the folder that holds the room."""
    path, folder = Path(result), workdir()
    return path.relative_to(folder).as_posix() if path.is_relative_to(folder) else path


@row
def leads(sentence, read, *cases, root=ROOT):
    """cases: (path, where it leads in the room)."""
    rows = [(p, f"base/{out}") for p, out in cases]
    return gives(sentence, read)(*rows, see=_place, run=partial(_in_the_room, root=root))


@row
def stopped(sentence, read, *paths, root=ROOT):
    return rows_of(A_REFUSAL, run=partial(refusing, partial(_in_the_room, root=root)))(sentence, read)(*paths)


def _what_holds_of_a_path_function():
    neighbour = (1, "The name `work-evil` begins with `work`")
    link = (1, "`link.txt` lies in the workspace, and its target does not")
    missing, itself = (2, "A file that is not there yet"), (2, "The workspace itself is inside")
    alias = (2, "And compare with the real place of the workspace")
    notes, keemun, new = "work/notes.txt", "work/sub/keemun.txt", "work/new.txt"
    yield leads("a file of the workspace: its real path, absolute", FOLLOW)(
        ("notes.txt", notes), ("sub/keemun.txt", keemun)
    )
    yield leads("dots that stay inside are fine, and so are dots in a name", FOLLOW)(
        ("./notes.txt", notes), ("sub/../notes.txt", notes), ("v1..v2.diff", "work/v1..v2.diff")
    )
    yield leads("the workspace itself is inside", itself)((".", "work"), ("sub/..", "work"))
    yield leads("an absolute path that leads inside is fine", itself)((INSIDE_FILE, keemun), (ITSELF, "work"))
    yield leads("the file does not have to exist yet", missing)(
        ("new.txt", new), ("new/folder/new.txt", "work/new/folder/new.txt")
    )
    yield stopped("dot-dot does not get out", FOLLOW)("..", "../secret.txt", "sub/../../secret.txt")
    yield stopped("an absolute path does not get out", ABSOLUTE)(OUTSIDE_FILE, "/secret.txt")
    yield stopped("the neighbour is outside", neighbour)("../work-evil", "../work-evil/loot.txt")
    if LINKS:
        yield stopped("a link that leads out is outside", link)("link.txt", "door/secret.txt")
        yield stopped("dot-dot after a link goes up from where it leads", AFTER_A_LINK)("door/../notes.txt")
        yield leads("a link that stays inside: the real path of its target", FOLLOW)(
            ("todo", keemun), ("door/work/notes.txt", notes), ("door/work/todo", keemun)
        )
        yield leads("the workspace itself may be a link", alias)(("notes.txt", notes), ("new.txt", new), root=ALIAS)
        yield stopped("and nothing leaves it then either", alias)("../secret.txt", "link.txt", root=ALIAS)


@exercise("my_safe_path(p), a function that returns the real path of p, or raises ValueError")
def safe_path():
    yield from _what_holds_of_a_path_function()


@exercise(
    "my_walk(p), a function that returns the real path of p, or raises ValueError, and follows each link itself",
    own="safe_path",
)
def walk():
    yield from _what_holds_of_a_path_function()
    if LINKS:
        yield stopped("a path that goes in circles leads nowhere", CIRCLES)("loop", "loop/notes.txt")
        yield stopped("and nothing behind a circle leads out", CIRCLES)("loop/../link.txt", "loop/../../secret.txt")
        room = Named("a folder with links", folder="links")
        yield gives(f"{TOO_MANY} links on one path are too many", CIRCLES)(
            (f"l{TOO_MANY}", A_REFUSAL),
            (f"l{TOO_MANY - 1}", "links/l0"),  # and these are not
            see=lambda came, *_: came if isinstance(came, Raised) else _place(came),
            run=partial(refusing, partial(_in_the_room, root=room)),
        )


# ---- glob


@exercise(
    "my_glob(pattern), a function that returns the names that match inside of the workspace, sorted, as one string",
    deadline=10.0,  # 40 rounds through the door, each name resolved: half a second on a good day
)
def glob():
    def names(result, pattern):
        """The names that came out, of a string or a list; sentences are none.

        The name of a link is inside and its target is not, so it may be there or not.
        """
        if isinstance(result, Raised):
            return result
        if isinstance(result, str):
            if not result.strip():
                raise ValueError("a sentence is expected")
            result = [line for line in result.split("\n") if line and " " not in line]
        if not isinstance(result, (list, tuple)):
            raise TypeError("a string is expected")
        return [name for name in map(str, result) if name != "link.txt"]

    def called(yours, pattern, root=ROOT):
        return refusing(_in_the_room, yours, pattern, root)

    @row
    def finds(sentence, read, *cases, root=ROOT):
        """cases: (pattern, the names)."""
        return gives(sentence, read)(*cases, see=names, run=partial(called, root=root))

    wall, through = (4, "`root_dir` is where the search starts, and no wall"), (4, "The pattern climbs")
    again, still = (4, "Links do one more thing to `**`"), (4, "What it found inside the workspace")
    here, below = ["assam.txt", "ceylon.txt", "notes.txt", "oolong.txt"], ["sub/keemun.txt", "sub/secret.txt"]

    def nothing_or(*names):
        said = " or ".join(["no name", *map(repr, names)])
        return Such(f"{said}, or a ValueError", lambda found: isinstance(found, Raised) or found in ([], list(names)))

    nothing = nothing_or()
    yield finds("the names that match, sorted", still)(("*.txt", here), ("ceylon*", ["ceylon.txt"]))
    yield finds("folders in the pattern are in the names", still)(("sub/s*.txt", ["sub/secret.txt"]))
    yield finds("without a match, it returns a sentence that says so", still)(("*.rs", []))
    yield finds("dot-dot finds nothing outside", wall)(("../*.txt", nothing), ("../work-evil/*", nothing))
    yield finds("an absolute pattern finds nothing outside", through)((OUTSIDE, nothing))
    if LINKS:
        yield finds("no link leads to anything outside", through)(("door/*.txt", nothing), ("d*r/*.txt", nothing))
    yield finds("** goes through all folders, and gives each file once, under its name in the workspace", again)(
        ("**/*.md", ["sub/deep/yunnan.md"]), ("**/*.txt", sorted(here + below))
    )
    yield finds("a pattern that leaves and comes back finds nothing, or names in the workspace", again)(
        ("../work/n*.txt", nothing_or("notes.txt")), (INSIDE_PATTERN, nothing_or("sub/keemun.txt"))
    )
    if LINKS:
        yield finds("the workspace itself may be a link", through)(("*.txt", here), root=ALIAS)
