"""python3 -m s02_tool_use update: the newest course, and all that the learner wrote. Standard library only.

A plain `git pull` refuses, or leaves conflict marks in a notebook, where both sides have changed the same file. Here
such a file is kept beside the new one, as `reset` does; what only the learner has changed stays as it is; and the
learner's own commits stay on a branch. Left out: merging, which breaks notebooks, and a copy without git.
"""

import contextlib
import os
import re
from collections.abc import Sequence

from . import reset
from .reset import GitFailed, beside, git

HELP = "python3 -m s02_tool_use update       fetches the newest course; what you wrote is kept"
NO_GIT = (
    "This copy of the course is no git clone, so it cannot be updated. Get the course again, into another folder, and "
    "copy your notebooks into it under names of their own."
)
FINISH = "A merge or a rebase is under way here. End it first, with `git merge --abort` or `git rebase --abort`."


class CannotUpdate(Exception):
    """Why nothing was changed, in a sentence that says what to do."""


def main(argv: Sequence[str]) -> int | str:
    """Update. Returns an exit status, or a sentence about what stands in the way; then nothing was changed."""
    if argv:
        print(HELP)
        return 0 if argv[0] in ("-h", "--help") else 2
    try:
        print(update())
    except CannotUpdate as error:
        return str(error)
    except GitFailed as error:
        return f"git says: {_words(error)}"
    return 0


def update() -> str:
    """Returns what was done, in a few lines."""
    there = fetched()
    here = git("rev-parse", "HEAD").strip()
    base = git("merge-base", "HEAD", there).strip()
    if base == there:
        return "The course is up to date."
    theirs = changed(base, there)
    both = in_the_way(base, there, theirs)
    for name in both:
        if (reset.ROOT / name).is_dir():
            raise CannotUpdate(
                f"The course has a file {name} now, and you have a folder there. Rename it, and update again."
            )
    kept = {}  # name -> where the learner's file is now
    try:
        for name in both:
            if os.path.lexists(reset.ROOT / name) and not same(name, there):
                kept[name] = beside(reset.ROOT / name)
    except OSError as error:
        _take_away(kept)
        raise CannotUpdate(f"{name} cannot be kept under a second name: {error}. Nothing was changed.") from None
    branch = keep_commits(here) if here != base else ""
    try:
        if branch:
            git("reset", "--soft", base)  # what was committed is now only changed
        out_of_the_way(both, base)
        git("merge", "-q", "--ff-only", there)
    except (GitFailed, OSError) as error:
        with contextlib.suppress(GitFailed):
            git("reset", "-q", "--soft", here)
            if branch:
                git("branch", "-q", "-D", branch)
        for name, place in kept.items():
            os.replace(place, reset.ROOT / name)
        raise CannotUpdate(
            f"The course was not updated, and your files are as before. git says: {_words(error)}"
        ) from None
    return _said(theirs, kept, branch)


def _said(theirs, kept, branch):
    lines = [f"The course is up to date; files changed: {len(theirs)}."]
    lines += [f"Yours is kept: {place.relative_to(reset.ROOT).as_posix()}" for place in kept.values()]
    if branch:
        lines.append(
            f"Your commits are kept on the branch {branch}; what only you have changed is in the files as before."
        )
    return "\n".join([*lines, "If JupyterLab is running, end it and start it again."])


def fetched() -> str:
    """The newest commit of where the course was cloned."""
    if not reset.is_clone():
        raise CannotUpdate(NO_GIT)
    for unfinished in ("MERGE_HEAD", "REBASE_HEAD", "CHERRY_PICK_HEAD"):
        with contextlib.suppress(GitFailed):
            git("rev-parse", "-q", "--verify", unfinished)
            raise CannotUpdate(FINISH)
    try:
        remote = git("rev-parse", "--abbrev-ref", "@{upstream}").partition("/")[0]
    except GitFailed:
        raise CannotUpdate(
            "The branch that you are on comes from nowhere, so there is nothing to fetch. `git switch main` goes to "
            "the one that the clone began with; then update again."
        ) from None
    try:
        git("-c", "http.lowSpeedLimit=1", "-c", "http.lowSpeedTime=30", "fetch", "-q", remote)
        return git("rev-parse", "@{upstream}").strip()
    except GitFailed as error:
        raise CannotUpdate(
            f"The newest course cannot be fetched. Is there a network? Nothing was changed. git says: {_words(error)}"
        ) from None


def changed(one: str, *other: str, cached: bool = False) -> list[str]:
    """The files that differ between two commits, or between a commit and what is here."""
    options = ["--cached"] if cached else []
    return [
        name
        for name in git("diff", "--name-only", "--no-renames", "-z", *options, one, *other, "--").split("\0")
        if name
    ]


def files_of(commit: str) -> set[str]:
    """The names of all files that a commit has."""
    return {name for name in git("ls-tree", "-r", "--name-only", "-z", commit).split("\0") if name}


def in_the_way(base: str, there: str, theirs: list[str]) -> list[str]:
    """The files that both sides have changed or made."""
    mine = {*changed(base), *changed(base, cached=True)}
    before = files_of(base)
    return [name for name in theirs if name in mine or (name not in before and os.path.lexists(reset.ROOT / name))]


def same(name: str, commit: str) -> bool:
    """Whether the file is as that commit has it, whatever line ends it has here."""
    with contextlib.suppress(GitFailed):
        return git("hash-object", f"--path={name}", "--", str(reset.ROOT / name)) == git(
            "rev-parse", f"{commit}:{name}"
        )
    return False


def keep_commits(commit: str) -> str:
    """A new branch that holds the commit. Returns its name."""
    for number in range(1, 1000):
        name = "mine" if number == 1 else f"mine-{number}"
        with contextlib.suppress(GitFailed):
            git("branch", name, commit)
            return name
    raise CannotUpdate("There are a thousand branches called mine. Delete some, then update again.")


def out_of_the_way(names: list[str], base: str) -> None:
    """Make these files what they were before either side changed them. The learner's are kept by now."""
    before = files_of(base)
    if old := [name for name in names if name in before]:
        git("--literal-pathspecs", "checkout", "-q", base, "--", *old)
    if new := [name for name in names if name not in before]:
        git("--literal-pathspecs", "rm", "-q", "--cached", "--ignore-unmatch", "--", *new)
        for name in new:
            (reset.ROOT / name).unlink(missing_ok=True)


def _take_away(kept):
    for place in kept.values():
        place.unlink(missing_ok=True)


def _words(error):
    """The last line that git said, without a password that stands in an address."""
    lines = [line for line in str(error).splitlines() if line.strip() and not line.startswith("hint:")] or ["nothing"]
    return re.sub(r"//[^/@\s]+@", "//", " ".join(lines[-2:]))
