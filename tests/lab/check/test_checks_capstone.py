"""The checks of 10: right answers pass, plausible wrong ones fail at the sentence that fits, a stub says "not yet"."""

import fnmatch
import glob
import os
import re
import runpy
import shlex
import subprocess
import time
from pathlib import Path

import pytest
from answers import not_yet, right, wrong
from systems import ON_WINDOWS, needs_bash, posix

from s02_tool_use import (
    TOOL_HANDLERS,
    TOOLS,
    ToolError,
    find,
    open_file,
    opened_parent,
    run_bash,
    run_glob,
    run_read,
    safe_path,
    use_workdir,
)
from s02_tool_use.lab import check
from s02_tool_use.lab.check.exercise import NOT_YET, RIGHT, WRONG
from s02_tool_use.workspace import workdir


def whole_file(name):
    with opened_parent(name) as (folder, last), open(open_file(folder, last, name), "rb") as file:
        return file.read()


def grep(
    pattern,
    path=".",
    *,
    compiled=re.compile,
    names=None,
    read=whole_file,
    passed_over=ToolError,
    binary=True,
    decode=lambda data: data.decode("utf-8", "replace"),
    lines_of=lambda text: text.removesuffix("\n").split("\n"),
    matches=lambda regex, line: regex.search(line),
    form=lambda name, number, line: f"{name}:{number}: {line[:200]}",
    nothing=lambda pattern: f"No matches for {pattern}",
    must_exist=True,
    limit=100,
    ending=lambda found, shown: f"[{shown} of {found} matches are shown]",
    order=list,
):
    """The solution, with a handle on each of its steps, so that a wrong answer is this one with one step changed."""
    try:
        regex = compiled(pattern)
    except re.error as error:
        raise ToolError(f"{pattern!r} is no regular expression: {error}") from None
    place = safe_path(path)
    if must_exist and not place.exists():
        raise ToolError(f"{path!r} does not exist")
    listed = [path] if place.is_file() else find(f"{path}/**/*")[0]
    found = []
    for name in names(path) if names else listed:
        try:
            data = read(name)
        except passed_over:
            continue
        if binary and b"\0" in data:
            continue
        lines = lines_of(decode(data))
        found += [form(name, number, line) for number, line in enumerate(lines, 1) if matches(regex, line)]
    if not found:
        return nothing(pattern)
    found = order(found)
    return "\n".join(found[:limit] + ([ending(len(found), limit)] if limit and len(found) > limit else []))


def changed(**steps):
    def my_grep(pattern, path="."):
        return grep(pattern, path, **steps)

    return my_grep


# ---- right answers, written differently


def grep_by_walk(pattern, path="."):
    try:
        search = re.compile(pattern.encode()).search
    except re.error as error:
        raise ValueError(f"bad pattern {pattern!r} ({error.msg})") from error
    top, root = safe_path(path), workdir()
    if not top.exists():
        raise ToolError(f"no such file or folder: {path}")
    files = [top] if top.is_file() else []
    for folder, folders, names in os.walk(top):
        folders.sort()
        files += [Path(folder, name) for name in names]
    hits, total = [], 0
    for file in sorted(files, key=lambda file: file.relative_to(root).as_posix()):
        if file.is_symlink() or not file.is_file():
            continue
        data = file.read_bytes()
        if b"\0" in data:
            continue
        for number, line in enumerate(data.rstrip(b"\n").split(b"\n"), 1):
            if search(line):
                total += 1
                if total <= 50:
                    text = line.decode("latin-1").strip()
                    text = text if len(text) < 200 else text[:199] + "…"
                    hits.append(f"./{file.relative_to(root).as_posix()}:{number}:{text}")
    if total > 50:
        hits.append(f"... and {total - 50:,} more")
    return "\n".join(hits) if hits else f"There are no matches for {pattern!r}."


def grep_by_package_tools(pattern, path="."):
    try:
        regex = re.compile(pattern)
    except re.error as error:
        raise ToolError(f"{pattern}: {error}") from None
    if not safe_path(path).exists():
        raise ToolError(f"{path} is not there")
    names = [path] if safe_path(path).is_file() else find(f"{path}/**/*")[0]
    found = 0
    lines = []
    for name in names:
        try:
            run_read(name, 1)
            data = whole_file(name).decode(errors="surrogateescape")
        except ValueError:
            continue
        for number, line in enumerate(data.split("\n")[: data.count("\n") + (not data.endswith("\n"))], 1):
            if regex.search(line) is not None:
                found += 1
                lines += [f"{name}:{number}: {line[:200].encode('utf-8', 'replace').decode()}"] if found <= 100 else []
    if found > 100:
        lines += [f"({found} matches in all)"]
    return "\n".join(lines) or "no matches"


# ---- wrong answers


def grep_in_bash(pattern, path="."):
    return run_bash(f"grep -rn {pattern} {path}")


def grep_in_bash_quoted(pattern, path="."):
    return run_bash(f"grep -rnE -- {shlex.quote(pattern)} {shlex.quote(path)} | sort -t: -k1,1 -k2,2n")


def grep_process(pattern, path="."):
    done = subprocess.run(["grep", "-rnE", pattern, path], cwd=workdir(), capture_output=True)
    return "\n".join(sorted(done.stdout.decode(errors="replace").split("\n"))) or "No matches"


def grep_rglob(pattern, path="."):
    found = []
    for file in sorted(safe_path(path).rglob("*")):
        if file.is_file():
            lines = enumerate(file.read_text(errors="replace").splitlines(), 1)
            found += [f"{file.relative_to(workdir())}:{n}: {line}" for n, line in lines if re.search(pattern, line)]
    return "\n".join(found) or "No matches"


def grep_in_the_current_folder(pattern, path="."):
    found = []
    for name in sorted(glob.glob(f"{path}/**/*", recursive=True)):
        if os.path.isfile(name):
            lines = enumerate(Path(name).read_text(errors="replace").split("\n"), 1)
            found += [f"{name}:{n}: {line}" for n, line in lines if re.search(pattern, line)]
    return "\n".join(found) or "No matches"


def grep_with_run_read(pattern, path="."):
    return grep(pattern, path, read=lambda name: run_read(name).encode())


def grep_counts_lines_for_each_match(pattern, path="."):
    def lines_of(text):
        lines = text.removesuffix("\n").split("\n")
        for start in (match.start() for match in re.finditer("Sencha", text)):
            text[:start].count("\n")
        return lines

    return grep(pattern, path, lines_of=lines_of)


def grep_skips_what_is_not_utf_8(pattern, path="."):
    return grep(pattern, path, read=lambda name: whole_file(name).decode().encode(), passed_over=ValueError)


def grep_returns_a_list(pattern, path="."):
    return grep(pattern, path).split("\n")


def grep_raises_for_no_match(pattern, path="."):
    result = grep(pattern, path)
    if result.startswith("No matches"):
        raise ToolError(result)
    return result


def grep_says_error(pattern, path="."):
    try:
        return grep(pattern, path)
    except ToolError as error:
        return f"Error: {error}"


def grep_without_path(pattern):
    return grep(pattern)


def only_here(path):
    return [name for name in run_glob("*").split("\n") if fnmatch.fnmatch(name, "*.*")]


def stop_at_the_first(found, shown):
    return "[more]"


GREP = {
    "name": "grep",
    "description": "Search the files of the workspace. Returns file:line: text.",
    "input_schema": {
        "type": "object",
        "properties": {
            "pattern": {"type": "string", "description": "A regular expression."},
            "path": {"type": "string"},
        },
        "required": ["pattern"],
    },
}
REGEX = {
    "name": "grep",
    "description": "Sucht in Dateien. pattern: RegEx wie in Python.",
    "input_schema": {
        "type": "object",
        "required": ["pattern"],
        "properties": {"path": {"type": "string", "default": "."}, "pattern": {"type": "string", "minLength": 1}},
    },
}
ALL_TOOLS, ALL_HANDLERS = [*TOOLS, GREP], {**TOOL_HANDLERS, "grep": grep_by_walk}


def offered(**changes):
    return [*TOOLS, {**GREP, "input_schema": {**GREP["input_schema"], **changes}}], ALL_HANDLERS


def handled_by(handler):
    return ALL_TOOLS, {**TOOL_HANDLERS, "grep": handler}


def named_by_glob(path):
    return [path] if safe_path(path).is_file() else run_glob(f"{path}/**/*").split("\n")


RIGHT_ANSWERS = {
    "grep": [(changed(),), (grep_by_walk,), (grep_by_package_tools,)],
    "grep_tool": [
        (ALL_TOOLS, ALL_HANDLERS),
        ([REGEX, *TOOLS], dict(TOOL_HANDLERS, grep=lambda pattern, path=".": grep(pattern, path))),
        ([*TOOLS, GREP], {**TOOL_HANDLERS, "grep": lambda **arguments: grep(**arguments)}),
    ],
}

# A wrong answer, and a part of the sentence that must be the first to fail.
WRONG_ANSWERS = {
    "grep": [
        ((grep_rglob,), "path may be a file"),
        ((grep_in_the_current_folder,), "a match is a line"),
        ((grep_with_run_read,), "to its end"),
        ((changed(names=lambda path: run_glob(f"{path}/**/*").split("\n"), must_exist=False),), "path may be a file"),
        ((grep_returns_a_list,), "a match is a line"),
        ((grep_raises_for_no_match,), "no match is a string"),
        ((changed(names=named_by_glob),), "each of many files"),
        ((grep_says_error,), "an invalid regular expression"),
        ((grep_without_path,), "files by name"),
        ((changed(names=only_here),), "files by name"),
        ((changed(order=sorted),), "in their order"),
        ((changed(order=lambda found: found[::-1]),), "in their order"),
        ((changed(matches=lambda regex, line: regex.match(line)),), "anywhere in a line"),
        ((changed(matches=lambda regex, line: regex.fullmatch(line)),), "anywhere in a line"),
        ((changed(matches=lambda regex, line: regex.pattern in line),), "a match is a line"),
        ((changed(compiled=re.escape, matches=lambda text, line: re.search(text, line)),), "a match is a line"),
        ((changed(compiled=lambda pattern: re.compile(pattern, re.I)),), "no match is a string"),
        ((changed(nothing=lambda pattern: ""),), "no match is a string"),
        ((changed(nothing=lambda pattern: None),), "no match is a string"),
        ((changed(must_exist=False),), "a path that does not exist"),
        ((changed(decode=lambda data: data.decode()),), "not UTF-8"),
        ((grep_skips_what_is_not_utf_8,), "not UTF-8"),
        ((changed(binary=False),), "a binary file"),
        ((changed(lines_of=str.splitlines),), "only a newline"),
        ((changed(lines_of=lambda text: text.split("\n")),), "only a newline"),
        ((changed(form=lambda name, number, line: f"{name}:{number}: {line}"),), "is cut after"),
        ((changed(form=lambda name, number, line: f"{name}:{number - 1}: {line[:200]}"),), "a match is a line"),
        ((changed(form=lambda name, number, line: f"{name}: {line[:200]}"),), "a match is a line"),
        ((changed(form=lambda name, number, line: f"{Path(name).name}:{number}: {line[:200]}"),), "as seen from"),
        ((changed(form=lambda name, number, line: f"{safe_path(name)}:{number}: {line[:200]}"),), "a match is a line"),
        ((changed(limit=None),), "at most 100"),
        ((changed(ending=stop_at_the_first),), "at most 100"),
        ((changed(limit=1000),), "at most 100"),
    ],
    "grep_tool": [
        (([GREP], {"grep": grep}), "my_tools"),
        ((ALL_TOOLS, TOOL_HANDLERS), "my_handlers"),
        (([*ALL_TOOLS, GREP], ALL_HANDLERS), "my_tools"),
        ((ALL_TOOLS, {**TOOL_HANDLERS, "my_grep": grep}), "my_handlers"),
        (([*TOOLS, {**GREP, "name": "my_grep"}], {**TOOL_HANDLERS, "my_grep": grep}), "my_tools"),
        (offered(properties={"pattern": {"type": "string"}}), "the properties"),
        (offered(properties={"regex": {"type": "string"}, "path": {"type": "string"}}), "the properties"),
        (offered(properties={"pattern": {"type": "regex"}, "path": {"type": "string"}}), "both are strings"),
        (offered(properties={"pattern": "string", "path": "string"}), "both are strings"),
        (offered(required=["pattern", "path"]), "is required"),
        (offered(required=[]), "is required"),
        (offered(properties={"pattern": {"type": "string"}, "path": {"type": "string"}}), "is told"),
        (offered(type="dict"), "the API accepts"),
        (handled_by("grep"), "run_tool runs it"),
        (handled_by(lambda pattern: grep(pattern)), "run_tool runs it"),
        (handled_by(lambda arguments: grep(**arguments)), "run_tool runs it"),
        (handled_by(grep_says_error), "comes back as is_error"),
        (handled_by(lambda pattern, path: grep(pattern, path)), "an agent calls it"),
    ],
}

IN_BASH = {
    "grep": [
        ((grep_in_bash,), "a match is a line"),
        ((grep_in_bash_quoted,), "path may be a file"),
        ((grep_process,), "in their order"),
    ]
}

test_a_right_answer_passes_twice = right(RIGHT_ANSWERS, spread=True)
# A wrong answer may leave a file open.
open_files = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
test_a_wrong_answer_fails_first_at_the_sentence_that_fits_it = open_files(wrong(WRONG_ANSWERS, spread=True))
test_so_does_one_that_leaves_it_to_bash = needs_bash(wrong(IN_BASH, spread=True))
test_a_stub_says_not_yet = not_yet(["grep"])


@pytest.fixture(autouse=True)
def impatient(monkeypatch):
    # Several never end; others run a command. Windows takes its time for hundreds of files.
    monkeypatch.setattr(check.grep, "deadline", 10.0 if ON_WINDOWS else 2.0)


def test_right_code_is_right_where_the_disk_is_slow(monkeypatch):
    """A virus scanner looks at each file that is written, and again when it is read: more than the time limit alone."""

    def slow(function):
        return lambda *args, **named: (time.sleep(0.002), function(*args, **named))[1]

    monkeypatch.setattr(Path, "write_bytes", slow(Path.write_bytes))
    monkeypatch.setattr(check.grep, "deadline", 4.0 if ON_WINDOWS else 0.5)
    assert check.grep(changed(read=slow(whole_file))).passed


@posix("pipes in folders")
def test_a_grep_that_opens_a_pipe_is_stopped_and_told():
    verdict = check.grep(changed(read=lambda name: safe_path(name).read_bytes(), passed_over=(ValueError, OSError)))
    *others, last = verdict.lines
    assert {line.verdict for line in others} == {RIGHT}, repr(verdict)
    assert "a pipe is skipped" in last.sentence
    assert "stopped" in dict(last.details)["yours"]


@pytest.mark.filterwarnings("ignore:.*found in sys.modules")
def test_where_no_pipe_can_be_made_nothing_is_asked_of_one(monkeypatch):
    """Nor is there in a browser page."""
    monkeypatch.delattr(os, "mkfifo", raising=False)
    exercise = runpy.run_module("s02_tool_use.lab.check.exercises.capstone")["grep"]
    assert len(exercise.properties) > 10
    assert not any("pipe" in prop.sentence for prop in exercise.properties)


def test_a_grep_as_slow_as_the_square_of_the_matches_is_stopped():
    verdict = check.grep(grep_counts_lines_for_each_match)
    assert "how many there are" in next(line for line in verdict.lines if line.verdict == WRONG).sentence


def test_the_tables_as_the_notebook_ships_them_are_not_yet():
    assert {line.verdict for line in check.grep_tool(TOOLS, TOOL_HANDLERS).lines} == {NOT_YET}


def test_a_grep_that_is_still_a_stub_is_said_where_it_is_run():
    def my_grep(pattern, path="."):
        raise NotImplementedError

    verdict = check.grep_tool(*handled_by(my_grep))
    assert "run_tool runs it" in next(line for line in verdict.lines if line.verdict == WRONG).sentence


def test_tables_of_the_package_that_were_changed_are_found():
    TOOLS.append(GREP)
    try:
        verdict = check.grep_tool(TOOLS, ALL_HANDLERS)
    finally:
        TOOLS.remove(GREP)
    assert [line.sentence for line in verdict.lines if line.verdict == WRONG][0].startswith("the package's own")


def test_the_workspace_is_the_old_one_after_the_check(workspace):
    link = workspace.parent / "name_of_the_user"
    link.symlink_to(workspace, target_is_directory=True)
    use_workdir(link)
    check.grep(grep_by_walk)
    assert workdir() == workspace
    assert safe_path(link / "notes.txt") == workspace / "notes.txt"
    assert Path.cwd().exists()
