"""`reset`: a notebook as it was shipped, from git, a first copy or the course's folder; and nothing is lost."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from small_course import commit, edit, git, page, texts

from s02_tool_use.lab.start import reset

ROOT = Path(__file__).resolve().parents[3]
AS_SHIPPED = {"00_start_here.ipynb": "shipped 00_start_here", "03_file_tools.ipynb": "shipped 03_file_tools"}


@pytest.mark.parametrize("word", ["03", "3", "file_tools", "03_file_tools", "03_file_tools.ipynb", "all"])
def test_a_notebook_is_as_it_was_and_the_learners_is_beside_it(word, clone, capsys):
    edit(clone)
    assert reset.main([word]) == 0
    assert texts(clone / "notebooks") == AS_SHIPPED | {"03_file_tools.mine.ipynb": "mine"}
    out = capsys.readouterr().out
    assert out.startswith("03_file_tools.ipynb is as of 2")
    assert "Yours is kept beside it: 03_file_tools.mine.ipynb" in out
    assert "Reload Notebook from Disk" in out


@pytest.mark.parametrize(
    "path", ["notebooks/03_file_tools.ipynb", "./notebooks/../notebooks/03_file_tools.ipynb", "abs"]
)
def test_a_path_says_which_too(path, clone):
    mine = edit(clone)
    assert reset.main([str(mine) if path == "abs" else path]) == 0
    assert texts(clone / "notebooks")["03_file_tools.mine.ipynb"] == "mine"


def test_a_solution_can_be_reset_by_its_path_and_comes_with_all(clone):
    solution = edit(clone, name="solutions/03_file_tools")
    assert reset.main([str(solution)]) == 0
    assert texts(solution.parent)["03_file_tools.ipynb"] == "shipped solutions/03_file_tools"
    edit(clone, "again", name="solutions/03_file_tools")
    assert reset.main(["all"]) == 0
    assert texts(solution.parent)["03_file_tools.mine-2.ipynb"] == "again"


def test_what_was_kept_before_is_never_written_over(clone):
    for text in ("one", "two", "three"):
        edit(clone, text)
        reset.main(["03"])
    kept = {name: text for name, text in texts(clone / "notebooks").items() if "mine" in name}
    assert kept == {
        "03_file_tools.mine.ipynb": "one",
        "03_file_tools.mine-2.ipynb": "two",
        "03_file_tools.mine-3.ipynb": "three",
    }


def test_what_is_as_shipped_is_left_alone_also_with_the_line_ends_of_windows(clone, capsys):
    path = clone / "notebooks" / "03_file_tools.ipynb"
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    before = path.stat().st_mtime_ns
    assert reset.main(["all"]) == 0
    assert capsys.readouterr().out == "Nothing to reset: each is as it was shipped.\n"
    assert path.stat().st_mtime_ns == before
    assert texts(clone / "notebooks") == AS_SHIPPED


def test_a_notebook_that_is_missing_or_no_notebook_any_more_comes_back(clone):
    (clone / "notebooks" / "00_start_here.ipynb").unlink()
    edit(clone).write_bytes(b"\xff\x00{")
    assert reset.main(["all"]) == 0
    assert (clone / "notebooks" / "03_file_tools.mine.ipynb").read_bytes() == b"\xff\x00{"
    (clone / "notebooks" / "03_file_tools.mine.ipynb").unlink()
    assert texts(clone / "notebooks") == AS_SHIPPED


def test_what_the_learner_committed_is_not_what_was_shipped(clone):
    edit(clone)
    commit(clone, "my work")
    edit(clone, "more of mine")
    commit(clone, "more work")
    assert reset.main(["03"]) == 0
    assert texts(clone / "notebooks") == AS_SHIPPED | {"03_file_tools.mine.ipynb": "more of mine"}


@pytest.mark.parametrize("how", ["--ff-only", "--no-rebase", "--rebase"])
def test_after_a_pull_the_notebook_is_that_of_the_update(how, clone, course):
    if how != "--ff-only":
        edit(clone, "mine", "00_start_here")
        commit(clone, "my work")
    edit(course, "shipped 03_file_tools, second edition")
    commit(course, "an update")
    git(clone, "pull", "-q", how)
    edit(clone, "mine again")
    assert reset.main(["all"]) == 0
    now = texts(clone / "notebooks")
    assert now["03_file_tools.ipynb"] == "shipped 03_file_tools, second edition"
    assert now["00_start_here.ipynb"] == "shipped 00_start_here"


def test_on_a_branch_of_the_learners_own_and_in_a_fork_it_is_still_that_of_the_course(clone, course, tmp_path):
    git(clone, "checkout", "-qb", "my-branch")
    edit(clone)
    commit(clone, "my work")
    assert reset.main(["03"]) == 0
    assert texts(clone / "notebooks")["03_file_tools.ipynb"] == "shipped 03_file_tools"
    git(tmp_path, "clone", "-q", "--bare", str(clone), "fork.git")
    git(clone, "remote", "set-url", "origin", str(tmp_path / "fork.git"))
    git(clone, "remote", "add", "-f", "upstream", str(course))
    edit(clone, "pushed")
    commit(clone, "more")
    git(clone, "push", "-qu", "origin", "my-branch")
    assert reset.main(["03"]) == 0
    assert texts(clone / "notebooks")["03_file_tools.ipynb"] == "shipped 03_file_tools"


def test_a_copy_without_git_keeps_the_notebooks_at_its_first_start_and_only_then(course):
    reset.keep_copy()
    edit(course)
    reset.keep_copy()
    assert reset.main(["03"]) == 0
    assert texts(course / "notebooks") == AS_SHIPPED | {"03_file_tools.mine.ipynb": "mine"}
    assert sorted(path.name for path in course.iterdir()) == [".shipped", "notebooks"]


def test_a_clone_needs_no_copy(clone):
    reset.keep_copy()
    assert not (clone / ".shipped").exists()


def test_without_git_and_without_a_copy_it_says_what_to_do_and_changes_nothing(course):
    edit(course)
    assert "no git history" in reset.main(["03"])
    assert texts(course / "notebooks")["03_file_tools.ipynb"] == "mine"


def test_a_course_that_only_lies_in_another_repository_is_not_that_repository(course, tmp_path):
    git(tmp_path, "init", "-q")
    edit(course)
    commit(tmp_path, "my folder of courses")
    assert "no git history" in reset.main(["03"])


def test_in_a_home_on_a_hub_the_folder_of_the_course_is_the_source(course, tmp_path, monkeypatch):
    home = tmp_path / "home"
    (home / "notebooks").mkdir(parents=True)
    mine = home / "notebooks" / "03_file_tools.ipynb"
    for here in (home, home / "notebooks"):
        mine.write_text(page(f"mine in {here.name}"))
        monkeypatch.chdir(here)
        assert reset.main(["03"]) == 0
        assert texts(mine.parent)["03_file_tools.ipynb"] == "shipped 03_file_tools"
    assert len(texts(mine.parent)) == 3
    assert texts(course / "notebooks") == AS_SHIPPED


def test_in_a_folder_with_other_notebooks_it_is_the_course_that_is_reset(clone, tmp_path, monkeypatch):
    edit(clone)
    other = tmp_path / "another course"
    other.mkdir()
    (other / "03_loops.ipynb").write_text(page("not ours"))
    monkeypatch.chdir(other)
    assert reset.main(["03"]) == 0
    assert texts(other) == {"03_loops.ipynb": "not ours"}
    assert texts(clone / "notebooks")["03_file_tools.mine.ipynb"] == "mine"


@pytest.mark.parametrize("where", [".", "notebooks", "notebooks/solutions"])
def test_it_works_from_any_folder_of_the_course(where, clone, monkeypatch):
    edit(clone)
    monkeypatch.chdir(clone / where)
    assert reset.main(["03"]) == 0
    assert texts(clone / "notebooks") == AS_SHIPPED | {"03_file_tools.mine.ipynb": "mine"}


@pytest.mark.parametrize("word", ["04", "nope", "../../etc/passwd.ipynb", "notebooks/99_x.ipynb", "", "-3"])
def test_an_unknown_notebook_is_told_the_known_ones(word, clone):
    edit(clone)
    said = reset.main([word])
    assert said == f"The course has no notebook {word!r}. It has: 00_start_here, 03_file_tools."
    assert texts(clone / "notebooks")["03_file_tools.ipynb"] == "mine"


def test_of_several_words_none_is_done_if_one_is_unknown(clone):
    edit(clone)
    assert "no notebook 'nope'" in reset.main(["03", "nope"])
    assert texts(clone / "notebooks")["03_file_tools.ipynb"] == "mine"


def test_a_disk_without_hard_links_gets_a_copy(clone, monkeypatch):
    def no_links(*_):
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", no_links)
    for text in ("one", "two"):
        edit(clone, text)
        assert reset.main(["03"]) == 0
    kept = texts(clone / "notebooks")
    assert kept["03_file_tools.mine.ipynb"] == "one"
    assert kept["03_file_tools.mine-2.ipynb"] == "two"


def test_a_file_that_cannot_be_replaced_stays_and_a_sentence_says_so(clone, monkeypatch):
    def locked(*_):
        raise PermissionError(13, "The process cannot access the file because it is being used by another process")

    edit(clone)
    monkeypatch.setattr(os, "replace", locked)
    assert reset.main(["03"]).startswith("03_file_tools.ipynb was left as it is: The process cannot access")
    assert texts(clone / "notebooks") == AS_SHIPPED | {"03_file_tools.ipynb": "mine"}
    assert sorted(path.name for path in (clone / "notebooks").iterdir()) == [*sorted(AS_SHIPPED), "solutions"]


KILLED = """
import os, pathlib, sys
from s02_tool_use.lab.start import reset
reset.ROOT = pathlib.Path(sys.argv[1])
os.chdir(sys.argv[1])
hook = sys.argv[2]
real = getattr(os, hook)
setattr(os, hook, lambda *given: os._exit(9) if sys.argv[3] == "before" else (real(*given), os._exit(9)))
reset.main(["03"])
"""


@pytest.mark.parametrize("hook", ["link", "fsync", "replace"])
@pytest.mark.parametrize("moment", ["before", "after"])
def test_a_process_that_is_killed_at_any_step_loses_nothing(hook, moment, clone):
    edit(clone)
    killed = subprocess.run([sys.executable, "-c", KILLED, str(clone), hook, moment], cwd=ROOT)
    assert killed.returncode == 9
    now = texts(clone / "notebooks")
    assert "mine" in now.values()
    assert now["03_file_tools.ipynb"] in ("mine", "shipped 03_file_tools")
    assert reset.main(["03"]) == 0
    now = texts(clone / "notebooks")
    assert now["03_file_tools.ipynb"] == "shipped 03_file_tools"
    assert "mine" in now.values()


def test_the_help_says_what_can_be_asked(capsys):
    assert reset.main([]) == reset.main(["--help"]) == 0
    assert "reset 03" in capsys.readouterr().out


def test_the_command_works_in_a_fresh_copy_without_its_environment(tmp_path, hermetic):
    copy = tmp_path / "course"
    git(tmp_path, "--version")  # is it here at all?
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, encoding="utf-8")
    if listed.returncode:
        pytest.skip("this copy of the course is no clone")
    for name in filter(None, listed.stdout.split("\0")):
        if name.startswith(("s02_tool_use/", "notebooks/")) and (ROOT / name).is_file():
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            (copy / name).write_bytes((ROOT / name).read_bytes())
    git(tmp_path, "init", "-q", str(copy))
    commit(copy, "the course")
    shipped = (copy / "notebooks" / "03_file_tools.ipynb").read_bytes()
    edit(copy)
    command = [sys.executable, "-m", "s02_tool_use", "reset", "03"]
    done = subprocess.run(command, cwd=copy, capture_output=True, text=True, encoding="utf-8")
    assert done.returncode == 0, done.stderr
    assert (copy / "notebooks" / "03_file_tools.ipynb").read_bytes() == shipped
    assert json.loads((copy / "notebooks" / "03_file_tools.mine.ipynb").read_text())["cells"][0]["source"] == ["mine"]
    assert not (copy / ".venv").exists()
