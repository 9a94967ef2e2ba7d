"""python3 -m s02_tool_use reset: a notebook as it was shipped, and the learner's beside it. Standard library only.

As it was shipped means: in a git clone, as the newest commit has it that came from where the course was cloned, so not
as the learner committed it; in a copy elsewhere, such as a home on a hub, as the folder of the course has it; in a copy
without git, as it was when the course was first started there.

Left out: merging. What the learner wrote is kept whole, under a name that was free, and nothing is taken over from it.
"""

import contextlib
import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from .setup import ROOT

NOTEBOOKS = "notebooks"
COPY = ".shipped"  # where a copy of the course without git keeps its notebooks; git ignores it
HELP = """\
python3 -m s02_tool_use reset 03       notebook 03 as it was; yours is kept beside it, as 03_file_tools.mine.ipynb
python3 -m s02_tool_use reset all      all notebooks; or a name (file_tools), or the path of a notebook"""
RELOAD = (
    "If JupyterLab has it open, choose File > Reload Notebook from Disk there (or Revert, if it asks), "
    "then Kernel > Restart Kernel."
)


@dataclass(frozen=True)
class Source:
    """Where the notebooks as they were shipped come from, by their paths below notebooks/."""

    said: str
    names: list[str]
    read: Callable[[str], bytes]


class CannotReset(Exception):
    """Why a notebook was left as it is, in a sentence that says what to do."""


def main(argv: Sequence[str]) -> int | str:
    """Reset what was asked for. Returns an exit status, or a sentence about what stands in the way."""
    if not argv or argv[0] in ("-h", "--help"):
        print(HELP)
        return 0
    try:
        asked = {place[0]: place for word in argv for place in places(word)}
        changed = [line for place in asked.values() if (line := put_back(*place))]
    except CannotReset as error:
        return str(error)
    print("\n".join([*changed, RELOAD]) if changed else "Nothing to reset: each is as it was shipped.")
    return 0


def places(word: str) -> list[tuple[Path, Source, str]]:
    """[(the file, its source, its name there)] for what somebody typed: all, a number, a name or a path."""
    given = Path(word)
    if given.suffix == ".ipynb" and (given.parent != Path() or given.exists()):
        folder = given.parent.resolve()
        inside = folder.name == "solutions"
        source = source_for(folder.parent if inside else folder)
        found = [name for name in source.names if name == "solutions/" * inside + given.name]
        return [(folder / given.name, source, name) for name in found] or _unknown(word, source)
    folder = _folder()
    source = source_for(folder)
    pages = [name for name in source.names if "/" not in name]
    if word == "all":
        found = [name for name in source.names if "/" not in name or (folder / name).exists()]
    else:
        number, stem = f"{word:0>2}_", given.name.removesuffix(".ipynb")
        found = [name for name in pages if stem in (name[:-6], name[3:-6]) or (word.isdigit() and name[:3] == number)]
    return [(folder / name, source, name) for name in found] or _unknown(word, source)


def _unknown(word, source):
    pages = ", ".join(name[:-6] for name in source.names if "/" not in name)
    raise CannotReset(f"The course has no notebook {word!r}. It has: {pages}.")


def _folder():
    """The learner's notebooks: those in the current folder, if there are some, or else the course's own."""
    here, ours = Path.cwd(), {path.name for path in (ROOT / NOTEBOOKS).glob("*.ipynb")}
    for folder in (here.parent if here.name == "solutions" else here, here / NOTEBOOKS):
        if any(path.name in ours for path in folder.glob("*.ipynb")):  # another course numbers its notebooks too
            return folder.resolve()
    return ROOT / NOTEBOOKS


def source_for(folder: Path) -> Source:
    """Where the notebooks of this folder come from."""
    own = ROOT / NOTEBOOKS
    if folder.resolve() != own.resolve():
        return _of_files(own, f"as in {own}")
    if commit := course_commit():
        names = git("ls-tree", "-rz", "--name-only", commit, "--", NOTEBOOKS).split("\0")
        said = git("show", "-s", "--date=short", "--format=as of %cd, commit %h", commit).strip()
        listed = sorted(name.removeprefix(f"{NOTEBOOKS}/") for name in names if name.endswith(".ipynb"))
        return Source(said, listed, lambda name: blob(f"{commit}:{NOTEBOOKS}/{name}"))
    if (ROOT / COPY).is_dir():
        return _of_files(ROOT / COPY, "as it was at the first start")
    raise CannotReset(
        "This copy of the course has no git history, and the course was never started in it: there is no second copy "
        "of the notebooks. Get the course once more, into another folder, and take the notebook from there."
    )


def _of_files(folder, said):
    names = [path.relative_to(folder).as_posix() for path in folder.rglob("*.ipynb") if ".ipynb_" not in str(path)]
    names = [name for name in sorted(names) if not re.search(r"\.mine(-\d+)?\.ipynb$", name)]
    return Source(said, names, lambda name: (folder / name).read_bytes())


def keep_copy() -> None:
    """At a start: where no git history has the notebooks as they were shipped, keep a copy of them, once."""
    target = ROOT / COPY
    if target.exists() or is_clone():
        return
    draft = ROOT / f"{COPY}-{os.getpid()}"
    with contextlib.suppress(OSError):  # a folder that cannot be written has no learner's changes either
        shutil.copytree(ROOT / NOTEBOOKS, draft, ignore=shutil.ignore_patterns(".*", "images"))
        draft.rename(target)
    shutil.rmtree(draft, ignore_errors=True)


def hand_out(folder: Path, own: Path | None = None) -> None:
    """Make the folder anew, of the notebooks as they were shipped and what lies beside them; or else of `own`."""
    course = ROOT / NOTEBOOKS
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(own or course, folder, ignore=shutil.ignore_patterns(".*"))
    if own:
        return
    with contextlib.suppress(CannotReset):  # a copy that was never started: it is as it was shipped
        source = source_for(course)
        for path in folder.rglob("*.ipynb"):
            path.unlink()
        for name in source.names:
            (folder / name).write_bytes(source.read(name))


# ---- one file


def put_back(path: Path, source: Source, name: str) -> str:
    """Make the file what it was, and keep what was there. Returns the line to print, or "" if it was as shipped."""
    path = path.resolve()  # a link stays one
    try:
        shipped = source.read(name)
        if path.exists() and _same(path.read_bytes(), shipped):
            return ""
        kept = beside(path) if path.exists() else None
        try:
            _replace(path, shipped)
        except OSError:
            if kept:
                kept.unlink()  # nothing has changed, so there is nothing to keep
            raise
    except (OSError, GitFailed) as error:
        raise CannotReset(
            f"{path.name} was left as it is: {getattr(error, 'strerror', '') or error}. Close what has it open, see "
            "that the folder can be written, and try again."
        ) from None
    return f"{path.name} is {source.said}. " + (f"Yours is kept beside it: {kept.name}" if kept else "It was missing.")


def _same(one, other):
    with contextlib.suppress(ValueError):  # not JSON, or not UTF-8
        return bool(json.loads(one) == json.loads(other))
    return bool(one == other)


def beside(path: Path) -> Path:
    """Keep a file under a second name beside it, one that was free: NAME.mine.ipynb, then NAME.mine-2.ipynb."""
    end = path.suffix if path.suffix == ".ipynb" else ""  # whatever Python, pytest or git look for by its end
    stem = path.name.removesuffix(end)
    number = 1
    while True:
        kept = path.with_name(f"{stem}.mine{f'-{number}' if number > 1 else ''}{end}")
        try:
            _second_name(path, kept)
            return kept
        except FileExistsError:
            number += 1


def _second_name(path, kept):
    """Atomic where the disk has hard links: all of it is there, or no such name; and what is there is not replaced."""
    try:
        os.link(path, kept)
    except FileExistsError:
        raise
    except (OSError, NotImplementedError):
        content = path.read_bytes()
        with kept.open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())


def _replace(path, content):
    draft = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with draft.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(draft, path)
    finally:
        draft.unlink(missing_ok=True)


# ---- git


class GitFailed(Exception):
    """What git said when it did not do it."""


def _run(*arguments):
    env = {
        name: value for name, value in os.environ.items() if name not in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE")
    }
    env |= {"LC_ALL": "C.UTF-8", "LANGUAGE": "", "GIT_TERMINAL_PROMPT": "0"}
    # On a hub the course may belong to another user: git then wants to be told that this is meant.
    command = ["git", "-c", f"safe.directory={ROOT.as_posix()}", "-C", str(ROOT), *arguments]
    try:
        done = subprocess.run(command, env=env, stdin=subprocess.DEVNULL, capture_output=True)
    except OSError:
        raise GitFailed("there is no git on this machine") from None
    if done.returncode:
        raise GitFailed(done.stderr.decode("utf-8", "replace").strip() or f"exit status {done.returncode}")
    return done.stdout


def git(*arguments: str) -> str:
    """What a git command in the folder of the course prints. Raises GitFailed."""
    return str(_run(*arguments).decode("utf-8", "replace"))


def blob(name: str) -> bytes:
    """The content of COMMIT:PATH, byte by byte."""
    return bytes(_run("cat-file", "blob", name))


def is_clone() -> bool:
    """Whether the folder of the course is a git repository of its own, and not only a folder in one."""
    try:
        return git("rev-parse", "--show-prefix").strip() == ""
    except GitFailed:
        return False


def course_commit() -> str:
    """The newest commit here that came from the course, or "" without git. What the learner committed comes later."""
    if not is_clone():
        return ""
    # A fork names what it comes from `upstream`.
    for ref in ("upstream/HEAD", "upstream/main", "@{upstream}", "origin/HEAD", "HEAD"):
        with contextlib.suppress(GitFailed):
            return git("merge-base", "HEAD", ref).strip()
    return ""  # a repository without a commit
