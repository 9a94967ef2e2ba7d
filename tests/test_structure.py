"""The shape of the repository: imports, exports, and the frame of each notebook."""

import ast
import functools
import glob
import importlib
import inspect
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from refresh import notebooks
from teaching import minutes_of

import s02_tool_use
from s02_tool_use.lab.show.loop import END, STAGES, TURN

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "s02_tool_use"
NOTEBOOKS = [path for path in notebooks() if path.parent.name == "notebooks"]
WITH_EXERCISES = [path for path in NOTEBOOKS if path.stem[:2] not in ("00", "11")]
SOLUTIONS = [path for path in notebooks() if path.parent.name == "solutions"]

# The pages on which the reader builds the agent, by their stems, such as "02_dispatch_map".
REWRITTEN = {
    "01_hardcoded_bash",
    "02_dispatch_map",
    "03_file_tools",
    "04_safe_path",
    "05_normalize_messages",
    "06_agent_loop",
}
BUILDING = [path for path in WITH_EXERCISES if path.stem in REWRITTEN]
# The pages on which an exercise stands right behind its section: those, and these.
PLACED = {"08_the_sdk_way", "09_beyond_the_loop", "10_your_own_tool"}
BEHIND = [path for path in WITH_EXERCISES if path.stem in REWRITTEN | PLACED]

# The rooms, each with the rooms that it may import from: a lesson is one file, and so are a few of the lab; a folder is
# one room. What stands in no row is imported by nobody.
ROOMS = {
    "calls": {"history"},
    "files": {"calls"},
    "bash": {"calls"},
    "history": set(),
    "workspace": {"calls", "files"},
    "tools": {"calls", "files", "workspace"},
    "shell": {"calls", "bash", "workspace"},
    "dispatch": {"calls", "tools", "shell"},
    "messages": {"history"},
    "loop": {"calls", "dispatch", "history", "messages"},
    "lab/api": {"calls", "history"},
    "lab/understudy": {"lab/api"},
    "lab/conversation": {"history", "lab/api"},
    "lab/rooms": {"workspace", "lab/client"},
    "lab/client": {"calls", "lab/api", "lab/understudy"},
    "lab/show": {"calls", "lab/api", "lab/client", "lab/conversation"},
    "lab/sessions": {"calls", "workspace", "dispatch", "history", "messages", "loop", "lab/client", "lab/conversation"},
    "lab/check": {"bash", "calls", "workspace", "dispatch", "loop"}
    | {"lab/api", "lab/understudy", "lab/client", "lab/conversation", "lab/rooms", "lab/sessions", "lab/show"},
    "lab/widgets": {"calls", "workspace", "tools", "dispatch", "messages"}
    | {"lab/client", "lab/conversation", "lab/rooms", "lab/sessions", "lab/show"},
    "lab/screen": {"calls", "lab/show"},
    "lab/terminal": {"calls", "workspace"} | {"lab/client", "lab/rooms", "lab/screen", "lab/sessions", "lab/show"},
    "lab/start": {"bash", "calls", "lab/client"},
    "lab/room": {"bash", "calls", "workspace"} | {"lab/api", "lab/check", "lab/client", "lab/start"},
    "lab/publish": {"lab/check", "lab/show", "lab/start"},
    "__main__": {"lab/start"},
}


LESSONS = {"shell", "dispatch", "tools", "workspace", "messages", "loop"}


def by_name(paths):
    return pytest.mark.parametrize("path", paths, ids=[p.stem for p in paths])


@functools.cache
def imported(path):
    """The modules that a file imports, by their absolute names; a name imported from a package may be one too."""
    package = ["s02_tool_use", *path.relative_to(PACKAGE).parent.parts]
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        if isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            names |= {f"{module}.{alias.name}" for alias in node.names}
    return names


def room_of(parts):
    """The room of a module, given as the parts of its name after s02_tool_use; None for the package itself."""
    parts = parts[:2] if parts[:1] == ["lab"] else parts[:1]
    name = "/".join(parts)
    return name if name in modules() else None


@functools.cache
def modules():
    """The files and folders of the package by their names, for which a Mac's disk would take TOOLS for tools.py."""
    return {path.relative_to(PACKAGE).with_suffix("").as_posix() for path in PACKAGE.rglob("*")}


def arrows():
    """(room, room that it imports from, file) for each import of ours that leaves its room."""
    for path in sorted(PACKAGE.rglob("*.py")):
        here = room_of(list(path.relative_to(PACKAGE).with_suffix("").parts))
        for name in imported(path):
            first, *rest = name.split(".")
            there = room_of(rest) if first == "s02_tool_use" else None
            if here and there and there != here and here != "__init__":
                yield here, there, path.relative_to(PACKAGE).as_posix()


def cells(path, kind):
    """The sources of a notebook's cells, but for the one that only Colab runs (tests/machine/test_colab.py)."""
    notebook = json.loads(path.read_text(encoding="utf-8"))
    ours = [cell for cell in notebook["cells"] if cell["cell_type"] == kind and cell["id"] != "elsewhere"]
    return ["".join(cell["source"]) for cell in ours]


# ---- the package


def test_each_room_imports_only_from_the_rooms_below_it():
    wrong = [f"{path}: {there}" for here, there, path in arrows() if there not in ROOMS[here]]
    assert not wrong


def test_only_the_client_imports_the_sdk_and_only_the_widgets_import_ipywidgets():
    for path in PACKAGE.rglob("*.py"):
        names = {name.split(".")[0] for name in imported(path)}
        assert "anthropic" not in names or "client" in path.parts, path
        assert not names & {"ipywidgets", "anywidget"} or "widgets" in path.parts, path


def test_importing_the_package_and_its_lessons_imports_nothing_heavy():
    code = "import sys, s02_tool_use as s; [getattr(s, n) for n in s.__all__]; print(*sys.modules)"
    modules = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    heavy = {"anthropic", "IPython", "ipywidgets", "httpx2", "nbformat", "dotenv", "pydantic_core", "jsonschema"}
    assert not heavy & set(modules)


def test_importing_the_package_alone_does_not_import_the_lessons():
    code = "import sys, s02_tool_use; print(*sys.modules)"
    modules = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert [name for name in modules if name.startswith("s02_tool_use")] == ["s02_tool_use"]


def test_every_public_name_exists_is_sorted_and_has_a_docstring():
    assert s02_tool_use.__all__ == sorted(s02_tool_use.__all__)
    for name in s02_tool_use.__all__:
        value = getattr(s02_tool_use, name)
        assert inspect.getdoc(value) if callable(value) else value, name


DOORS = [
    "",
    *(".".join(("", *path.parent.relative_to(PACKAGE).parts)) for path in sorted(PACKAGE.rglob("*/__init__.py"))),
]


@pytest.mark.parametrize("door", DOORS, ids=[door or "the package" for door in DOORS])
def test_no_name_at_a_door_is_that_of_a_module_behind_it(door):
    """Importing the module would put it in the place of what has its name."""
    package = importlib.import_module(f"s02_tool_use{door}")
    themselves = [name for name, names in getattr(package, "_HOMES", {}).items() if not names]  # used as modules
    names = set(getattr(package, "__all__", [])) - set(themselves)
    behind = {path.stem for path in Path(package.__file__).parent.iterdir()}
    assert [name for name in names if name in behind] == []


def test_an_unknown_public_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no_such_name"):
        s02_tool_use.no_such_name  # noqa: B018


@by_name(sorted(PACKAGE.rglob("*.py")))
def test_a_module_opens_by_saying_what_it_is(path):
    assert ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))


def test_at_the_door_stand_six_lessons_and_at_most_five_files_of_the_lab():
    assert {p.stem for p in PACKAGE.glob("*.py")} - {"__init__", "__main__"} == LESSONS
    assert len(list((PACKAGE / "lab").glob("*.py"))) <= 5


def test_the_page_about_the_house_names_every_room_in_it():
    page = (PACKAGE / "README.md").read_text(encoding="utf-8")
    named = re.findall(r"(?m)^([\w/]+(?:\.py|/))  ", page.split("```")[1])
    rooms = [p for folder in (PACKAGE, PACKAGE / "lab") for p in folder.iterdir() if not p.name.startswith("_")]
    # A folder that was moved away may live on in somebody's clone, with nothing but compiled files in it.
    full = [p for p in rooms if p.suffix == ".py" or any(f.suffix not in ("", ".pyc") for f in p.rglob("*"))]
    there = {p.relative_to(PACKAGE).as_posix() + "/" * p.is_dir() for p in full}
    assert sorted(named) == sorted(there - {"lab/"})


def test_the_page_about_the_house_names_only_files_that_are_there():
    page = (PACKAGE / "README.md").read_text(encoding="utf-8")
    files = {path.relative_to(ROOT).as_posix() for folder in (PACKAGE, ROOT / "tests") for path in folder.rglob("*.py")}
    for name in re.findall(r"`([\w/]+\.py)`", page):
        assert any(f"/{path}".endswith(f"/{name}") for path in files), name


# ---- the notebooks


@by_name(NOTEBOOKS)
def test_a_notebook_has_the_frame_of_the_course(path):
    text, code = cells(path, "markdown"), cells(path, "code")
    headings = re.findall(r"(?m)^## (.*)", "\n".join(text))
    assert re.match(r"# .+\n\n.+", text[0])
    assert text[0].count("\n# ") == 0
    assert all(word in text[1] for word in ("**You will**", "**Read** `s02_tool_use/", "**Time**"))
    assert 3 <= text[1].count("\n- ") <= 4
    assert len(lines_of_code(code[0])) <= 6  # what it imports from us takes two lines for each module at most
    assert "connect()" in code[0]
    if "run_bash(" in "\n".join(code):
        assert text[1].endswith(
            "\n\nOn Windows this page needs the bash of [Git for Windows](https://git-scm.com/downloads/win)."
        )
    sections = [h for h in headings if re.match(r"\d\. ", h)]
    assert 3 <= len(sections) <= 5
    assert [h.split(".")[0] for h in sections] == [str(n) for n in range(1, len(sections) + 1)]
    assert all(h.endswith("?") for h in sections), "a section asks a question"
    if path in BUILDING:
        assert headings == [
            "The agent so far",
            *sections,
            "The same, tested",
            "The agent now",
            "Recap",
            "Make it yours",
        ]
    elif path in BEHIND:
        assert headings == [*sections, "Recap", "Make it yours"]
    else:
        assert any(h.startswith("Exercise") for h in headings)
        assert headings[-1] == "Recap"


def chapters(path):
    """[heading, cells under it] for each part of a notebook: its title, its ## headings, its exercises."""
    found = []
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        source, prose = "".join(cell["source"]), cell["cell_type"] == "markdown"
        if prose and re.match(r"##? |### Exercise", source):
            found.append((source.split("\n")[0], []))
        found[-1][1].append((cell["id"], "prose" if prose else "code", source))
    return found


@by_name(NOTEBOOKS)
def test_the_minutes_of_the_sections_add_up_and_leave_time_for_their_exercises(path):
    total, sections, rest = minutes_of(path)
    assert sum(sections) + rest == total
    headings = "\n".join(heading for heading, _ in chapters(path))
    parts = re.split(r"(?m)^## \d\. ", headings)[1:]
    assert len(parts) == len(sections)
    for part, minutes in zip(parts, sections, strict=True):
        exercises = re.findall(r"(?m)^### Exercise .*\((\d+) minutes?\)$", part)
        assert not exercises or sum(map(int, exercises)) < minutes or set(exercises) == {str(minutes)}, part


def code_under(path, heading):
    """The code of the part with this heading."""
    return "\n".join(s for h, part in chapters(path) if h == heading for _, kind, s in part if kind == "code")


@by_name(WITH_EXERCISES)
def test_each_exercise_has_a_stub_a_check_of_one_line_and_three_hints(path):
    mark, fewest, most = ("### Exercise", 3, 6) if path in BEHIND else ("## Exercise", 2, 4)
    exercises = [(heading, part) for heading, part in chapters(path) if heading.startswith(mark)]
    assert fewest <= len(exercises) <= most
    for number, (heading, part) in enumerate(exercises, 1):
        assert re.match(rf"{mark} {number}: .+ \(\d+ minutes?\)$|## Exercise {number}\b", heading)
        sources = {name: source for name, _, source in part}
        assert f"ex{number}-stub" in sources
        checks = [name for name, kind, source in part if kind == "code" and source.startswith("check.")]
        assert checks == [f"ex{number}-check"]
        assert len(sources[checks[0]].splitlines()) == 1
        hints = [re.match(r"<details><summary>(Hint \d)</summary>\n\n", s) for _, kind, s in part if kind == "prose"]
        assert [hint[1] for hint in hints if hint] == ["Hint 1", "Hint 2", "Hint 3"]


@by_name(NOTEBOOKS)
def test_a_page_says_at_its_head_who_answers_and_nothing_twice(path):
    """One that comes again must have changed in between: who answers, or a workspace in the room of 04 and 10."""
    found = [cell for cell in json.loads(path.read_text(encoding="utf-8"))["cells"] if cell["cell_type"] == "code"]
    texts = ["".join(output.get("text", ())) for cell in found for output in cell["outputs"]]
    said = re.findall(r"(?m)^(?:Offline|Live).*(?:\n(?:For a real|Recording).*)*", "\n".join(texts))
    assert said[0] in texts[0]
    assert [one for one, next_one in zip(said, said[1:], strict=False) if one == next_one] == []
    moves = sum("escape_room(" in "".join(cell["source"]) for cell in found)
    assert "\n".join(texts).count("Workspace: a fresh copy") <= 1 + moves


# ---- the picture of the loop


@by_name(NOTEBOOKS[:7])
def test_at_the_head_of_a_page_stands_the_loop_with_what_the_page_is_about_lit(path):
    """In 00 where the loop is explained; on the pages that build it, before the agent so far."""
    found = json.loads(path.read_text(encoding="utf-8"))["cells"]
    calls = [at for at, cell in enumerate(found) if "".join(cell["source"]).startswith("show_loop(")]
    assert len(calls) == 1
    first = "## The agent so far" if path in BUILDING else "for step in agent_steps("
    assert calls[0] < next(at for at, cell in enumerate(found) if first in "".join(cell["source"]))
    said, shown = found[calls[0] - 1], found[calls[0]]
    assert said["cell_type"] == "markdown"
    assert re.search(r"\b[Ll]it\b", "".join(said["source"])), "a sentence says what is lit, and why"
    lit, *who = ast.parse("".join(shown["source"])).body[0].value.args
    names = ast.literal_eval(lit)
    assert names
    assert [name.id for name in who] == ["client", "model"]
    output = shown["outputs"][0]["data"]
    for name in [names] if isinstance(names, str) else names:
        assert name in (*STAGES, TURN, END)
        assert re.search(rf"\[[^\]]*\b{'tool_use' if name == END else name}\b", "".join(output["text/plain"]))
    assert "model (rules)" in "".join(output["text/plain"])
    assert '<img alt="The loop: ' in "".join(output["text/html"])


# ---- the pages that build the agent


@by_name(BUILDING)
def test_the_agent_so_far_stands_on_the_page_as_one_program(path):
    assert len(re.findall(r"(?m)^def agent\(", code_under(path, "## The agent so far"))) == 1


@by_name(BEHIND)
def test_an_exercise_stands_behind_its_section_and_the_first_check_among_the_first_ten_cells(path):
    headings = [heading for heading, _ in chapters(path)]
    for before, heading in zip(headings, headings[1:], strict=False):
        assert not heading.startswith("### ") or re.match(r"## \d\. |### ", before), heading
    # Neither the picture of the loop nor what is there for who comes late takes time to work through.
    worked = [s for s in cells(path, "code") if not s.startswith("show_loop(") and "start_here(" not in s]
    checks = [source.startswith("check.") for source in worked]
    assert checks.index(True) < 10


@by_name(WITH_EXERCISES)
def test_each_section_begins_with_a_cell_for_who_comes_late(path):
    call = f'start_here("{path.stem[:2]}")  # if you come late, this runs the set-up'
    start = f"from s02_tool_use.lab import start_here\n\n{call}"
    for heading, part in chapters(path):
        code = [source for _, kind, source in part if kind == "code"]
        late = heading.startswith("## ") and heading != "## The agent so far"
        assert code.count(start) == (late and bool(code)), heading
        assert not (late and code) or part[1][2] == start, heading


@by_name(BUILDING)
def test_the_page_ends_with_the_difference_to_the_package_and_the_agent_with_the_readers_parts(path):
    assert "show_diff(" in code_under(path, "## The same, tested")
    now = code_under(path, "## The agent now")
    assert "show_diff(agent" in now
    assert "check.yours(" in now


def lines_of_code(source):
    """The lines of a cell that say something, without the spaces around them."""
    return [line.strip() for line in source.splitlines() if line.strip() and not line.strip().startswith("#")]


@by_name(BEHIND)
def test_what_the_reader_writes_has_3_to_20_lines_and_the_last_hint_does_not_give_it_away(path):
    named = {c["id"]: "".join(c["source"]) for c in json.loads(path.read_text(encoding="utf-8"))["cells"]}
    solutions = json.loads((ROOT / "notebooks" / "solutions" / path.name).read_text(encoding="utf-8"))["cells"]
    stubs, answers, before = [], [], set()
    for name in named:
        if re.fullmatch(r"ex\d-stub", name):
            stubs.append(name)
    for cell in solutions:
        if re.fullmatch(r"ex\d-solution", cell["id"]):
            number, lines = cell["id"][:3], lines_of_code("".join(cell["source"]))
            new = [line for line in lines if line not in before]
            assert 3 <= len(new) <= 20, cell["id"]
            assert not set(new[1:]) <= set(lines_of_code(named[f"{number}-hint3"])), cell["id"]
            before.update(lines)
            answers.append(f"{number}-stub")
    assert answers == stubs


@by_name(BUILDING)
def test_a_guard_stands_in_the_file_that_the_page_names(path):
    tested = [s for h, part in chapters(path) if h == "## The same, tested" for _, kind, s in part if kind == "prose"]
    for file, name in re.findall(r"`([\w/]+\.py)`(?:, `(\w+)`)?", "\n".join(tested)):
        source = next(at for at in (PACKAGE / file, ROOT / file) if at.exists()).read_text(encoding="utf-8")
        assert re.search(rf"(?m)^(?:def|class) {name}\b", source) or name in ("", "try"), f"{file}: {name}"


@by_name(WITH_EXERCISES)
def test_each_notebook_with_exercises_has_its_solutions(path):
    solution = ROOT / "notebooks" / "solutions" / path.name
    wanted = [source for source in cells(path, "code") if source.startswith("check.")]
    given = [source.split("(")[0] for source in cells(solution, "code") if source.startswith("check.")]
    assert given == [source.split("(")[0] for source in wanted]


@by_name(NOTEBOOKS + SOLUTIONS)
def test_no_cell_is_longer_than_30_lines_and_no_notebook_larger_than_120_kilobytes(path):
    assert max(len(source.splitlines()) for source in cells(path, "code")) <= 30
    assert path.stat().st_size < 120_000  # with the drawings: the longest page, without them, has less than 100


@by_name(NOTEBOOKS + SOLUTIONS)
def test_a_line_of_code_fits_a_window_of_1024_pixels_beside_the_file_browser(path):
    assert [line for source in cells(path, "code") for line in source.split("\n") if len(line) > 88] == []


@by_name(NOTEBOOKS + SOLUTIONS)
def test_no_notebook_defines_a_name_of_the_package(path):
    for source in cells(path, "code"):
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                assert node.name not in s02_tool_use.__all__
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                assert node.id not in s02_tool_use.__all__


@by_name(NOTEBOOKS + SOLUTIONS)
def test_sources_and_outputs_hold_nothing_of_one_machine_or_one_moment(path):
    text = path.read_text(encoding="utf-8")
    for pattern in (
        r"(?<![\w.])/(?:tmp|home|root|work|Users|private|var|usr/lib)/",
        r"[A-Z]:\\\\",
        r"(?:127\.0\.0\.1|localhost):\d",
        r"claude-[\w.]+-\d",
        r"0x[0-9a-f]{6}",
        r"20\d\d-\d\d-\d\dT",
        r"widget-view",
    ):
        found = re.search(pattern, text)
        assert not found, text[max(0, found.start() - 60) : found.end() + 60]


@by_name(NOTEBOOKS + SOLUTIONS)
def test_each_cell_has_a_name_of_its_own_and_no_timing(path):
    notebook = json.loads(path.read_text(encoding="utf-8"))
    ids = [cell["id"] for cell in notebook["cells"]]
    assert len(set(ids)) == len(ids)
    assert all(re.fullmatch(r"[a-z][a-z0-9-]*", id) for id in ids)
    assert not any("execution" in cell["metadata"] for cell in notebook["cells"])
    assert "widgets" not in notebook["metadata"]
    assert notebook["metadata"]["kernelspec"]["name"] == "python3"


@by_name(NOTEBOOKS + SOLUTIONS)
def test_each_code_cell_was_run_in_order_so_that_nbval_compares_it(path):
    notebook = json.loads(path.read_text(encoding="utf-8"))
    counts = [cell["execution_count"] for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert counts == list(range(1, len(counts) + 1)), "run: python tests/refresh.py"


@by_name([*NOTEBOOKS, *SOLUTIONS, ROOT / "README.md", *(ROOT / "notebooks").glob("*.md")])
def test_every_link_to_a_file_resolves(path):
    text = path.read_text(encoding="utf-8") if path.suffix == ".md" else "\n".join(cells(path, "markdown"))
    for target in re.findall(r"\]\(([^)#]+)", text):
        if not target.startswith("http"):
            assert (path.parent / target).exists(), target


def test_each_notebook_links_to_the_next_one():
    for path, following in zip(NOTEBOOKS, NOTEBOOKS[1:], strict=False):
        assert f"]({following.name})" in cells(path, "markdown")[-1]


def test_the_course_has_at_least_24_exercises_and_takes_a_day_or_two_afternoons():
    exercises = sum(source.startswith("check.") for path in WITH_EXERCISES for source in cells(path, "code"))
    minutes = sum(int(re.search(r"\*\*Time\*\* (\d+)", cells(path, "markdown")[1])[1]) for path in NOTEBOOKS)
    assert exercises >= 24
    assert 300 <= minutes <= 400  # a long day, or two afternoons; 09 is what a shorter course leaves out


def test_the_table_of_the_readme_is_the_folder():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    table = re.findall(r"(?m)^\| \[(\d\d_\w+)\].*\| (\d+) \|$", readme)
    minutes = [re.search(r"\*\*Time\*\* (\d+) minutes", cells(path, "markdown")[1]).group(1) for path in NOTEBOOKS]
    assert table == [(path.stem, time) for path, time in zip(NOTEBOOKS, minutes, strict=True)]


# ---- the repository


def test_model_names_stand_in_the_example_of_the_env_file_and_nowhere_else():
    listed = shutil.which("git") and subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True)
    names = listed.stdout.split("\n") if listed and listed.returncode == 0 else []
    for name in filter(None, names):
        path = ROOT / name
        if path.suffix in {".py", ".md", ".ipynb", ".toml", ".txt"} and path.is_file():
            found = re.search(r"claude-(?:opus|sonnet|haiku|\d)[\w.-]*", path.read_text(encoding="utf-8"))
            assert not found or name.startswith("tests/"), f"{name}: {found.group()}"


def test_a_plain_install_brings_every_room_and_all_data():
    settings = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    data = PACKAGE / "lab" / "data"
    assert all((path.parent / "__init__.py").exists() for path in PACKAGE.rglob("*.py") if data not in path.parents)
    patterns = re.findall(r'"([^"]+)"', re.search(r"package-data = .*", settings)[0])
    found = {Path(path) for pattern in patterns for path in glob.glob(str(PACKAGE / pattern), recursive=True)}
    others = [path for path in PACKAGE.rglob("*") if path.is_file() and path.suffix not in (".py", ".pyc")]
    assert [path.name for path in others if path not in found] == []


def test_ruff_has_nothing_to_say():
    for arguments in (["check"], ["format", "--check"]):
        done = subprocess.run(
            [sys.executable, "-m", "ruff", *arguments, str(ROOT)], cwd=ROOT, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stdout + done.stderr
