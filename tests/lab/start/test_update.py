"""`update`: a real clone and its origin, a learner who has changed things in every way, and nothing is lost."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from small_course import commit, edit, git, page, texts

from s02_tool_use.lab.start import reset, update

ROOT = Path(__file__).resolve().parents[3]
NEW = "shipped 03_file_tools, second edition"


def updated(course, name="03_file_tools", text=NEW):
    """Another commit in the course."""
    edit(course, text, name)
    commit(course, "an update")


def head(folder):
    return git(folder, "rev-parse", "HEAD").strip()


def everything(root):
    """path -> content of each file in a clone, without git's own."""
    files = [path for path in root.rglob("*") if path.is_file() and ".git" not in path.relative_to(root).parts]
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in files}


def test_without_an_update_nothing_is_done(clone, capsys):
    edit(clone)
    before = everything(clone)
    assert update.main([]) == 0
    assert capsys.readouterr().out == "The course is up to date.\n"
    assert everything(clone) == before


def test_a_clone_that_was_not_touched_is_simply_newer(clone, course, capsys):
    updated(course)
    assert update.main([]) == 0
    assert texts(clone / "notebooks")["03_file_tools.ipynb"] == NEW
    assert head(clone) == head(course)
    assert "files changed: 1." in capsys.readouterr().out
    assert git(clone, "status", "--short") == ""


def test_a_notebook_that_both_have_changed_is_kept_beside_the_new_one(clone, course, capsys):
    edit(clone)
    updated(course)
    with pytest.raises(subprocess.CalledProcessError):  # it refuses
        git(clone, "pull", "-q")
    assert update.main([]) == 0
    now = texts(clone / "notebooks")
    assert (now["03_file_tools.ipynb"], now["03_file_tools.mine.ipynb"]) == (NEW, "mine")
    assert "Yours is kept: notebooks/03_file_tools.mine.ipynb" in capsys.readouterr().out
    assert head(clone) == head(course)


def test_what_only_the_learner_has_changed_or_made_stays_as_it_is(clone, course):
    edit(clone, "mine", "00_start_here")
    edit(clone, "my own", "12_my_own")
    (clone / "notes.txt").write_text("staged")
    git(clone, "add", "notes.txt")
    updated(course)
    assert update.main([]) == 0
    now = texts(clone / "notebooks")
    assert now == {
        "00_start_here.ipynb": "mine",
        "03_file_tools.ipynb": NEW,
        "12_my_own.ipynb": "my own",
    }
    assert (clone / "notes.txt").read_text() == "staged"


def test_a_new_notebook_of_the_course_does_not_write_over_one_of_the_learner_that_has_its_name(clone, course):
    edit(clone, "mine", "12_new")
    (clone / ".gitignore").write_text("*.mine*\n12*\n")  # git would write over a file that it ignores
    updated(course, "12_new", "shipped 12_new")
    assert update.main([]) == 0
    now = texts(clone / "notebooks")
    assert (now["12_new.ipynb"], now["12_new.mine.ipynb"]) == ("shipped 12_new", "mine")


def test_what_the_learner_committed_is_on_a_branch_and_still_in_the_files(clone, course, capsys):
    edit(clone)
    edit(clone, "mine too", "00_start_here")
    edit(clone, "my own", "12_my_own")
    commit(clone, "my work")
    mine = head(clone)
    edit(clone, "mine, and more")
    updated(course)
    assert update.main([]) == 0
    now = texts(clone / "notebooks")
    assert now == {
        "00_start_here.ipynb": "mine too",
        "03_file_tools.ipynb": NEW,
        "03_file_tools.mine.ipynb": "mine, and more",
        "12_my_own.ipynb": "my own",
    }
    assert git(clone, "rev-parse", "mine").strip() == mine
    assert head(clone) == head(course)
    assert "Your commits are kept on the branch mine;" in capsys.readouterr().out
    updated(course, text="third edition")
    edit(clone, "mine again")
    commit(clone, "more work")
    assert update.main([]) == 0
    now = texts(clone / "notebooks")
    assert (now["03_file_tools.ipynb"], now["03_file_tools.mine-2.ipynb"]) == ("third edition", "mine again")
    assert now["12_my_own.ipynb"] == "my own"
    assert git(clone, "log", "-1", "--format=%s", "mine-2").strip() == "more work"


def test_after_an_update_reset_gives_the_new_notebook(clone, course):
    edit(clone, "mine", "00_start_here")
    updated(course)
    update.main([])
    edit(clone, "once more")
    assert reset.main(["all"]) == 0
    now = texts(clone / "notebooks")
    assert (now["00_start_here.ipynb"], now["03_file_tools.ipynb"]) == ("shipped 00_start_here", NEW)
    assert (now["00_start_here.mine.ipynb"], now["03_file_tools.mine.ipynb"]) == ("mine", "once more")


def test_a_file_of_the_package_is_kept_under_a_name_that_nothing_imports(clone, course):
    (course / "tools.py").write_text("a = 1\n")
    commit(course)
    update.main([])
    (clone / "tools.py").write_text("a = 'mine'\n")
    (course / "tools.py").write_text("a = 2\n")
    commit(course)
    assert update.main([]) == 0
    assert (clone / "tools.py").read_text() == "a = 2\n"
    assert (clone / "tools.py.mine").read_text() == "a = 'mine'\n"


def test_a_notebook_that_the_course_took_away_or_renamed_is_kept_if_it_was_changed(clone, course):
    edit(clone)
    git(course, "mv", "notebooks/03_file_tools.ipynb", "notebooks/03_files.ipynb")
    commit(course)
    assert update.main([]) == 0
    now = texts(clone / "notebooks")
    assert "03_file_tools.ipynb" not in now
    assert (now["03_files.ipynb"], now["03_file_tools.mine.ipynb"]) == ("shipped 03_file_tools", "mine")


def test_a_notebook_that_the_learner_deleted_comes_with_its_change(clone, course):
    (clone / "notebooks" / "03_file_tools.ipynb").unlink()
    updated(course)
    assert update.main([]) == 0
    assert texts(clone / "notebooks") == {"00_start_here.ipynb": "shipped 00_start_here", "03_file_tools.ipynb": NEW}


def test_the_same_change_on_both_sides_needs_no_copy(clone, course):
    edit(clone, NEW)
    updated(course)
    assert update.main([]) == 0
    assert sorted(texts(clone / "notebooks")) == ["00_start_here.ipynb", "03_file_tools.ipynb"]


def test_with_the_line_ends_of_windows_too(clone, course):
    git(clone, "config", "core.autocrlf", "true")
    for path in (clone / "notebooks").glob("*.ipynb"):
        path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    edit(clone)
    updated(course)
    assert update.main([]) == 0
    assert texts(clone / "notebooks") == {
        "00_start_here.ipynb": "shipped 00_start_here",
        "03_file_tools.ipynb": NEW,
        "03_file_tools.mine.ipynb": "mine",
    }


@pytest.mark.parametrize("branch", ["gone", "https://somebody:secret@127.0.0.1:9/course.git"])
def test_without_a_network_a_sentence_says_so_and_nothing_is_changed(branch, clone, course, tmp_path):
    edit(clone)
    updated(course)
    git(clone, "remote", "set-url", "origin", branch if ":" in branch else str(tmp_path / branch))
    before = everything(clone)
    said = update.main([])
    assert said.startswith("The newest course cannot be fetched. Is there a network? Nothing was changed. git says: ")
    assert "secret" not in said
    assert everything(clone) == before


def test_a_copy_without_git_a_branch_from_nowhere_and_a_merge_under_way_are_sentences(
    clone, course, monkeypatch, tmp_path
):
    edit(clone)
    commit(clone, "my work")
    updated(course)
    with pytest.raises(subprocess.CalledProcessError):  # a conflict
        git(clone, "pull", "-q", "--no-rebase")
    assert update.main([]) == update.FINISH
    git(clone, "merge", "--abort")
    git(clone, "checkout", "-qb", "another")
    assert update.main([]).startswith("The branch that you are on comes from nowhere")
    git(clone, "checkout", "-q", "--detach")
    assert update.main([]).startswith("The branch that you are on comes from nowhere")
    monkeypatch.setattr(reset, "ROOT", tmp_path / "plain")
    (tmp_path / "plain").mkdir()
    assert update.main([]) == update.NO_GIT


def test_a_folder_where_the_course_has_a_file_now_is_named(clone, course):
    edit(clone)
    (clone / "notes").mkdir()
    (clone / "notes" / "mine.txt").write_text("mine")
    edit(clone, "committed", "00_start_here")
    git(clone, "commit", "-qm", "my work", "notebooks/00_start_here.ipynb")
    before, commit_before = everything(clone), head(clone)
    (course / "notes").write_text("a file")
    updated(course)
    assert update.main([]).startswith("The course has a file notes now, and you have a folder there.")
    assert everything(clone) == before
    assert head(clone) == commit_before
    assert git(clone, "branch", "--format=%(refname:short)").split() == ["main"]


def test_where_git_refuses_all_is_as_before(clone, course, monkeypatch):
    edit(clone)
    edit(clone, "committed", "00_start_here")
    git(clone, "commit", "-qm", "my work", "notebooks/00_start_here.ipynb")
    updated(course)
    before, commit_before, real = everything(clone), head(clone), update.git

    def refuses(*given):
        if given[0] == "merge":
            raise reset.GitFailed("error: unable to unlink old 'notebooks/03': Permission denied\nfatal: stopped")
        return real(*given)

    monkeypatch.setattr(update, "git", refuses)
    said = update.main([])
    assert said.startswith(
        "The course was not updated, and your files are as before. git says: error: unable to unlink"
    )
    assert everything(clone) == before
    assert head(clone) == commit_before
    assert git(clone, "branch", "--format=%(refname:short)").split() == ["main"]


KILLED = """
import os, pathlib, sys
from s02_tool_use.lab.start import reset, update
reset.ROOT = pathlib.Path(sys.argv[1])
count, real = 0, update.git
def git(*given):
    global count
    count += 1
    if count == int(sys.argv[2]):
        os._exit(9)
    return real(*given)
update.git = git
sys.exit(update.main([]))
"""


@pytest.mark.parametrize("step", range(8, 22))
def test_a_process_that_is_killed_between_two_steps_loses_nothing_and_the_next_one_ends_it(step, clone, course):
    edit(clone, "mine, committed", "00_start_here")
    edit(clone)
    commit(clone, "my work")
    edit(clone, "mine, and more")
    edit(clone, "mine", "12_new")
    updated(course, "12_new", "shipped 12_new")
    updated(course)
    killed = subprocess.run([sys.executable, "-c", KILLED, str(clone), str(step)], cwd=ROOT, capture_output=True)
    assert killed.returncode in (0, 9), killed.stderr
    assert {"mine, committed", "mine, and more", "mine"} <= set(texts(clone / "notebooks").values())
    assert update.main([]) == 0
    now = texts(clone / "notebooks")
    assert {"mine, committed", "mine, and more", "mine"} <= set(now.values())
    assert (now["03_file_tools.ipynb"], now["12_new.ipynb"]) == (NEW, "shipped 12_new")
    assert head(clone) == head(course)


def test_the_command_updates_the_course_that_it_belongs_to(tmp_path, hermetic):
    origin, copy = tmp_path / "origin", tmp_path / "copy"
    git(tmp_path, "init", "-qb", "main", str(origin))
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, encoding="utf-8")
    if listed.returncode:
        pytest.skip("this copy of the course is no clone")
    for name in filter(None, listed.stdout.split("\0")):
        if name.startswith(("s02_tool_use/", "notebooks/", ".git")) and (ROOT / name).is_file():
            (origin / name).parent.mkdir(parents=True, exist_ok=True)
            (origin / name).write_bytes((ROOT / name).read_bytes())
    commit(origin, "the course")
    git(tmp_path, "clone", "-q", str(origin), str(copy))
    edit(copy)
    updated(origin)
    command = [sys.executable, "-m", "s02_tool_use", "update"]
    done = subprocess.run(command, cwd=copy, capture_output=True, text=True, encoding="utf-8")
    assert done.returncode == 0, done.stderr
    kept = json.loads((copy / "notebooks" / "03_file_tools.mine.ipynb").read_text())
    assert kept["cells"][0]["source"] == ["mine"]
    assert (copy / "notebooks" / "03_file_tools.ipynb").read_text() == page(NEW)
    assert git(copy, "status", "--short") == ""  # git ignores what is kept
    assert os.listdir(copy / "notebooks").count("03_file_tools.mine.ipynb") == 1


def test_the_help_says_what_it_does_and_nothing_else_is_taken(clone, capsys):
    assert update.main(["--help"]) == 0
    assert update.main(["03"]) == 2
    assert capsys.readouterr().out == 2 * f"{update.HELP}\n"
