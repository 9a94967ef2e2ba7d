"""The checks of 04: right answers pass, plausible wrong ones fail at the sentence that fits, a stub says "not yet"."""

import contextlib
import fnmatch
import glob
import inspect
import os
from pathlib import Path

import pytest
from answers import not_yet, right, wrong
from systems import needs_links

import s02_tool_use
from s02_tool_use import workdir
from s02_tool_use.lab import check, escape_room
from s02_tool_use.lab.check.exercise import NOT_YET, RIGHT

GUESSES = ["inside", "outside", "inside", "outside", "inside", "inside", "inside", "outside"]


def but(number, guess):
    return [*GUESSES[:number], guess, *GUESSES[number + 1 :]]


# ---- safe_path


def path_resolved(root, p):
    root = root.resolve()
    path = (root / p).resolve()
    if not path.is_relative_to(root):
        raise ValueError(f"{p} leads out of the workspace")
    return path


def path_as_text(root, p):
    root = os.path.realpath(root)
    path = os.path.realpath(os.path.join(root, p))
    if os.path.commonpath([root, path]) != root:
        raise ValueError(p)
    return path


def path_by_parents(root, p):
    place, top = Path(root, p).resolve(), Path(root).resolve()
    if top != place and top not in place.parents:
        raise s02_tool_use.ToolError("outside")
    return place


def path_relative_to(root, p):
    path = root.joinpath(p).resolve()
    path.relative_to(root.resolve())  # raises ValueError
    return path


def path_of_the_package(root, p):
    s02_tool_use.use_workdir(root)
    return s02_tool_use.safe_path(p)


def path_original(root, p):
    path = (root / p).resolve()
    if not path.is_relative_to(root):
        raise ValueError(f"Path escapes workspace: {p}")
    return path


def path_naive(root, p):
    return root / p


def path_no_dots(root, p):
    if ".." in p:
        raise ValueError(p)
    return (root / p).resolve()


def path_no_dots_and_not_absolute(root, p):
    if ".." in p or p.startswith("/"):
        raise ValueError(p)
    return root / p


def path_prefix(root, p):
    root = root.resolve()
    path = (root / p).resolve()
    if not str(path).startswith(str(root)):
        raise ValueError(p)
    return path


def path_normpath(root, p):
    path = Path(os.path.normpath(root / p))
    if not path.is_relative_to(root):
        raise ValueError(p)
    return path


def path_normpath_then_resolve(root, p):
    root = root.resolve()
    path = Path(os.path.normpath(root / p)).resolve()
    if not path.is_relative_to(root):
        raise ValueError(p)
    return path


def path_check_then_resolve(root, p):
    root = root.resolve()
    if not (root / p).is_relative_to(root):
        raise ValueError(p)
    return (root / p).resolve()


def path_strict(root, p):
    root = root.resolve()
    path = (root / p).resolve(strict=True)
    if not path.is_relative_to(root):
        raise ValueError(p)
    return path


def path_none(root, p):
    try:
        return path_resolved(root, p)
    except ValueError:
        return None


def path_asserts(root, p):
    path = (root / p).resolve()
    assert path.is_relative_to(root.resolve())
    return path


def path_relative(root, p):
    return path_resolved(root, p).relative_to(root.resolve())


def path_no_links(root, p):
    path = path_resolved(root, p)
    if path != root.resolve() / p and Path(os.path.normpath(root.resolve() / p)) != path:
        raise ValueError("a link")
    return path


def path_strips_the_slash(root, p):
    return path_resolved(root, p.lstrip("/"))


def path_unresolved(root, p):
    path_resolved(root, p)
    return root / p


def path_of_the_page(p):
    path = (workdir() / p).resolve()
    if not path.is_relative_to(workdir()):
        raise ValueError(f"{p!r} leads outside the workspace")
    return path


def path_with_a_default(p, root=None):
    return path_by_parents(root or workdir(), p)


def path_no_dot(p):
    if p == ".":
        raise ValueError("a file is expected")
    return path_of_the_page(p)


def path_below_only(p):
    path = path_of_the_page(p)
    if workdir() not in path.parents:
        raise ValueError("the workspace itself is no file")
    return path


def path_not_absolute(p):
    if os.path.isabs(p):
        raise ValueError("give a path relative to the workspace")
    return path_of_the_page(p)


def path_prints(p):
    print(path_of_the_page(p))


def path_constant(p):
    return workdir() / "notes.txt"


def path_refuses(p):
    raise ValueError("outside")


# ---- walk


def walk_of_the_page(p):
    here, links = workdir(), 0
    todo = list(reversed(Path(p).parts))
    while todo:
        part = todo.pop()
        here = here.parent if part == ".." else here / part
        if here.is_symlink():
            links += 1
            if links > 40:
                raise ValueError(f"{p!r} goes through links that lead nowhere")
            todo += reversed(Path(os.readlink(here)).parts)
            here = here.parent
    if not here.is_relative_to(workdir()):
        raise ValueError(f"{p!r} leads outside the workspace")
    return here


def walk_as_text(p):
    here, rest, left = str(workdir()), p.split("/"), 40
    if p.startswith("/"):
        here = "/"
    while rest:
        part, *rest = rest
        if part in ("", "."):
            continue
        here = os.path.dirname(here) if part == ".." else os.path.join(here, part)
        if os.path.islink(here):
            if not left:
                raise s02_tool_use.ToolError("too many links")
            left -= 1
            target = os.readlink(here)
            here = "/" if target.startswith("/") else os.path.dirname(here)
            rest = target.split("/") + rest
    if os.path.commonpath([here, workdir()]) != str(workdir()):
        raise s02_tool_use.ToolError("outside")
    return here


def walk_with_recursion(p):
    def go(here, parts, links):
        if links > 40:
            raise ValueError("a circle")
        for number, part in enumerate(parts):
            here = here.parent if part == ".." else here / part
            if here.is_symlink():
                return go(here.parent, (*Path(os.readlink(here)).parts, *parts[number + 1 :]), links + 1)
        return here

    place = go(workdir(), Path(p).parts, 0)
    place.relative_to(workdir())
    return place


def but_in_the_walk(before, after):
    """The walk of the page with one change in its source."""
    source = inspect.getsource(walk_of_the_page)
    assert before in source
    names = dict(globals())
    exec(source.replace(before, after), names)
    return names["walk_of_the_page"]


def walk_in_the_wrong_order(p):
    return but_in_the_walk("reversed(Path(os.readlink(here)).parts)", "Path(os.readlink(here)).parts")(p)


# ---- glob


def text_of(find):
    """As a tool: one string."""
    return lambda pattern: "\n".join(find(workdir(), pattern)) or f"No matches for {pattern}"


def glob_of_the_page(pattern):
    inside = set()
    for name in glob.glob(pattern, root_dir=workdir(), recursive=True):
        with contextlib.suppress(ValueError):
            inside.add(s02_tool_use.safe_path(name).relative_to(workdir()).as_posix())
    return "\n".join(sorted(inside)) or f"No matches for {pattern}"


def glob_refuses_what_leaves(pattern):
    parts = Path(pattern).parts
    if os.path.isabs(pattern) or ".." in parts:
        raise ValueError("give a pattern inside of the workspace")
    return glob_of_the_page(pattern)


def glob_says_nothing(pattern):
    return glob_of_the_page(pattern).replace(f"No matches for {pattern}", "")


def glob_with_commas(pattern):
    return glob_of_the_page(pattern).replace("\n", ", ")


def glob_filtered(root, pattern):
    inside = set()
    for name in glob.glob(pattern, root_dir=root, recursive=True):
        try:
            path = path_resolved(root, name)
        except ValueError:
            continue
        inside.add(path.relative_to(root.resolve()).as_posix())
    return sorted(inside)


def glob_walk(root, pattern):
    names = []
    for folder, _, files in os.walk(root):
        names += [(Path(folder) / file).relative_to(root).as_posix() for file in files]
    if "**/" in pattern:
        return sorted(name for name in names if fnmatch.fnmatch(name.rsplit("/", 1)[-1], pattern.replace("**/", "")))
    return sorted(n for n in names if fnmatch.fnmatch(n, pattern) and n.count("/") == pattern.count("/"))


def glob_of_the_package(root, pattern):
    s02_tool_use.use_workdir(root)
    try:
        names = s02_tool_use.run_glob(pattern)
    except ValueError:
        return []
    return [] if names.startswith("No matches") else names.splitlines()


def glob_tuple(root, pattern):
    real = root.resolve()
    paths = {(real / name).resolve() for name in glob.iglob(pattern, root_dir=real, recursive=True)}
    return tuple(sorted(path.relative_to(real).as_posix() for path in paths if real in path.parents))


def glob_original(root, pattern):
    return "\n".join(glob.glob(pattern, root_dir=root))


def glob_naive(root, pattern):
    return sorted(glob.glob(pattern, root_dir=root, recursive=True))


def glob_not_recursive(root, pattern):
    names = {(root / name).resolve() for name in glob.glob(pattern, root_dir=root)}
    return sorted(p.relative_to(root.resolve()).as_posix() for p in names if p.is_relative_to(root.resolve()))


def glob_no_dots(root, pattern):
    if ".." in pattern:
        return []
    return glob_naive(root, pattern)


def glob_no_dots_nor_absolute(root, pattern):
    if ".." in pattern or pattern.startswith("/"):
        return []
    return glob_naive(root, pattern)


def glob_raises(root, pattern):
    return sorted(
        path_resolved(root, name).relative_to(root.resolve()).as_posix() for name in glob_naive(root, pattern)
    )


def glob_keeps_names(root, pattern):
    names = []
    for name in glob_naive(root, pattern):
        try:
            path_resolved(root, name)
        except ValueError:
            continue
        names.append(name)
    return names


def glob_unsorted(root, pattern):
    return glob_filtered(root, pattern)[::-1]


def glob_paths(root, pattern):
    return [root.resolve() / name for name in glob_filtered(root, pattern)]


def glob_only_names(root, pattern):
    return sorted(name.rsplit("/", 1)[-1] for name in glob_filtered(root, pattern))


def glob_root_unresolved(root, pattern):
    names = {(root / name).resolve() for name in glob.glob(pattern, root_dir=root, recursive=True)}
    return sorted(path.relative_to(root).as_posix() for path in names if path.is_relative_to(root))


def glob_by_prefix(root, pattern):
    real = str(root.resolve())
    names = {os.path.realpath(root / name) for name in glob.glob(pattern, root_dir=root, recursive=True)}
    return sorted(os.path.relpath(name, real) for name in names if name.startswith(real))


def glob_none(root, pattern):
    return glob_filtered(root, pattern) or None


RIGHT_ANSWERS = {
    "inside": [GUESSES, tuple(GUESSES), [guess.title() + " " for guess in GUESSES], dict(enumerate(GUESSES))],
    "safe_path": [
        path_of_the_page,
        path_with_a_default,
        *(path_resolved, path_as_text, path_by_parents, path_relative_to, path_of_the_package),
        *(walk_of_the_page, walk_as_text, s02_tool_use.safe_path),
    ],
    "walk": [walk_of_the_page, walk_as_text, walk_with_recursion, s02_tool_use.safe_path, path_of_the_package],
    "glob": [
        glob_of_the_page,
        glob_refuses_what_leaves,
        *map(text_of, (glob_filtered, glob_walk, glob_tuple)),
        *(glob_filtered, glob_walk, glob_of_the_package, glob_tuple, s02_tool_use.run_glob),
    ],
}

# A wrong answer, and a part of the sentence that must be the first to fail.
WRONG_ANSWERS = {
    "inside": [
        (["inside"] * 8, "path 1"),
        (["outside"] * 8, "path 0"),
        (but(2, "outside"), "path 2"),
        (but(3, "inside"), "path 3"),
        (but(4, "outside"), "path 4"),
        (but(5, "outside"), "path 5"),
        (but(6, "outside"), "path 6"),
        (but(7, "inside"), "path 7"),
        (but(1, True), "path 1"),
        (GUESSES[:6], "path 6"),
        ("inside", "path 0"),
    ],
    "safe_path": [
        (path_original, "may be a link"),
        (path_naive, "dots that stay inside"),
        (path_no_dots, "dots that stay inside"),
        (path_no_dots_and_not_absolute, "dots that stay inside"),
        (path_prefix, "the neighbour"),
        (path_normpath, "a link that leads out"),
        (path_normpath_then_resolve, "goes up from where it leads"),
        (path_check_then_resolve, "dot-dot does not get out"),
        (path_strict, "the file does not have to exist yet"),
        (path_none, "dot-dot does not get out"),
        (path_asserts, "dot-dot does not get out"),
        (path_relative, "its real path, absolute"),
        (path_no_links, "a link that stays inside"),
        (path_strips_the_slash, "an absolute path"),
        (path_unresolved, "dots that stay inside"),
        (lambda p: p, "its real path, absolute"),
        (lambda root, p: p, "its real path, absolute"),
        (lambda p: workdir() / p, "dots that stay inside"),
        (path_no_dot, "the workspace itself is inside"),
        (path_below_only, "the workspace itself is inside"),
        (path_not_absolute, "an absolute path that leads inside"),
        (path_prints, "its real path, absolute"),
        (path_constant, "its real path, absolute"),
        (path_refuses, "its real path, absolute"),
    ],
    "walk": [
        (path_of_the_page, "in circles"),
        (path_prints, "its real path, absolute"),
        (lambda p: workdir() / p, "dots that stay inside"),
        (path_normpath, "a link that leads out"),
        (path_not_absolute, "an absolute path that leads inside"),
        (path_no_dot, "the workspace itself is inside"),
        (walk_in_the_wrong_order, "a link that leads out"),
        (but_in_the_walk("            here = here.parent\n", ""), "a link that leads out"),
        (but_in_the_walk("links > 40", "links > 400"), "41 links"),
        (but_in_the_walk("links > 40", "links > 1"), "a link that stays inside"),
        (but_in_the_walk('raise ValueError(f"{p!r} goes', 'return here or (f"{p!r} goes'), "in circles"),
        (but_in_the_walk("if not here.is_relative_to", "if False and here.is_relative_to"), "dot-dot"),
        (but_in_the_walk('here.parent if part == ".." else ', ""), "dots that stay inside"),
    ],
    "glob": [
        (glob_original, "sorted"),
        (glob_naive, "dot-dot finds nothing"),
        (glob_not_recursive, "** goes through all folders"),
        (glob_no_dots, "an absolute pattern"),
        (glob_no_dots_nor_absolute, "no link leads to anything"),
        (glob_raises, "sorted"),
        (glob_keeps_names, "** goes through all folders"),
        (glob_unsorted, "sorted"),
        (glob_paths, "sorted"),
        (glob_only_names, "folders in the pattern"),
        (glob_root_unresolved, "may be a link"),
        (glob_by_prefix, "dot-dot finds nothing"),
        (glob_none, "without a match"),
        (glob_says_nothing, "without a match"),
        (glob_with_commas, "sorted"),
        *[
            (text_of(find), sentence)
            for find, sentence in (
                (glob_naive, "dot-dot finds nothing"),
                (glob_not_recursive, "** goes through all folders"),
                (glob_no_dots, "an absolute pattern"),
                (glob_no_dots_nor_absolute, "no link leads to anything"),
                (glob_keeps_names, "** goes through all folders"),
                (glob_unsorted, "sorted"),
                (glob_only_names, "folders in the pattern"),
            )
        ],
        (lambda pattern: "assam.txt\nceylon.txt\nnotes.txt\noolong.txt", "sorted"),
        (lambda pattern: "No matches", "sorted"),
    ],
}


test_a_right_answer_passes_twice = right(RIGHT_ANSWERS)
test_a_wrong_answer_fails_first_at_the_sentence_that_fits_it = needs_links(wrong(WRONG_ANSWERS))
test_a_stub_says_not_yet = not_yet(["safe_path", "walk", "glob"])


def test_guesses_that_are_still_open_say_not_yet():
    for guesses in ([None] * 8, [""] * 8, [...] * 8, [], None):
        assert {line.verdict for line in check.inside(guesses).lines} == {NOT_YET}
    lines = check.inside([*GUESSES[:7], None]).lines
    assert [line.verdict for line in lines] == [RIGHT] * 7 + [NOT_YET]


# ---- the room


@pytest.fixture
def room(capsys):
    return escape_room()


@needs_links
@pytest.mark.parametrize(("p", "guess"), list(zip(check.PATHS, GUESSES, strict=True)))
def test_safe_path_agrees_with_the_right_guess(room, p, guess):
    if guess == "inside":
        assert s02_tool_use.safe_path(p).is_relative_to(room / "work")
    else:
        with pytest.raises(s02_tool_use.ToolError):
            s02_tool_use.safe_path(p)


@needs_links
def test_the_room_is_shown_as_a_tree_without_its_path(capsys):
    base = escape_room()
    shown = capsys.readouterr().out
    assert shown.splitlines()[:4] == ["secret.txt", "work/", "    door -> ..", "    link.txt -> ../secret.txt"]
    assert base.name not in shown


def test_a_room_can_be_made_without_a_word(capsys):
    escape_room(show=False)
    assert capsys.readouterr().out == ""


def test_a_second_room_replaces_the_first(capsys):
    first = escape_room()
    second = escape_room()
    assert not first.exists()
    assert (second / "work/notes.txt").exists()


def test_a_system_without_links_says_so(monkeypatch, capsys):
    def refuse(*args, **named):
        raise OSError("a privilege is missing")

    monkeypatch.setattr(Path, "symlink_to", refuse)
    escape_room()
    assert "This system made no links" in capsys.readouterr().out
