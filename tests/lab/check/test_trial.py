"""A learner's function is stopped, caught, silenced and put back where it was."""

import contextlib
import functools
import itertools
import os
import subprocess
import sys
import sysconfig
import threading
import time
from pathlib import Path

import pytest
from systems import needs_sources

from s02_tool_use import run_read, safe_path, use_workdir, workdir
from s02_tool_use.lab.check import trial
from s02_tool_use.lab.sessions import job

WIN = sys.platform == "win32"


def test_the_value_comes_back():
    assert trial.call(lambda a, b: a + b, 2, 3).value == 5


def loop():
    while True:
        pass


def loop_that_catches_exceptions():
    while True:
        try:  # noqa: SIM105
            time.sleep(0)
        except Exception:
            pass


def loop_with_a_bare_except():
    while True:
        try:  # noqa: SIM105
            sum(range(10))
        except:  # noqa: E722
            pass


def loop_in_comprehension():
    return [x + 1 for x in iter(int, 1)]


# What is thrown into a thread may come up in the middle of a collection (Hypothesis has a callback there).
in_a_callback = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
not_3_10 = pytest.mark.skipif(sys.version_info < (3, 11), reason="3.10 throws nothing in between two try blocks")


@in_a_callback
@pytest.mark.parametrize(
    "function",
    [
        loop,
        loop_that_catches_exceptions,
        pytest.param(loop_with_a_bare_except, marks=not_3_10),
        loop_in_comprehension,
    ],
)
def test_an_endless_loop_is_stopped_and_its_thread_ends(function, monkeypatch):
    monkeypatch.setattr(job, "GRACE_SECONDS", 10.0)
    monkeypatch.setattr(trial, "GRACE_SECONDS", 10.0)
    before = set(threading.enumerate())  # of other tests, which may end meanwhile
    outcome = trial.call(function, deadline=0.2)
    assert outcome.late == "no answer after 0 seconds: stopped"
    assert outcome.value is None
    assert set(threading.enumerate()) <= before


@in_a_callback
def test_a_loop_that_collects_is_stopped_by_its_memory(monkeypatch):
    monkeypatch.setattr(trial, "MEMORY_BYTES", 20_000_000)

    def collects():
        kept = []
        while True:
            kept.append({"a": 1})

    assert "memory" in trial.call(collects, deadline=60).late


def test_time_in_which_the_machine_was_busy_with_others_does_not_count_but_not_for_ever(monkeypatch):
    def is_slow():
        time.sleep(0.5)
        return "slow"

    monkeypatch.setattr(trial, "_times", lambda thread: (0.0, 60.0))
    assert trial.call(is_slow, deadline=0.2).value == "slow"
    assert trial.call(loop, deadline=0.02).late


def test_our_own_work_with_files_is_not_on_the_clock_and_where_it_takes_long_an_answer_may_too(monkeypatch):
    def after_our_work(ours, answers):
        with trial.off_the_clock():
            time.sleep(ours)
        time.sleep(answers)
        return "right"

    monkeypatch.setattr(trial, "_times", lambda thread: (0.0, 0.0))
    monkeypatch.setattr(trial, "DISK", 1)
    assert trial.call(after_our_work, 1.0, 0.0, deadline=0.5).value == "right"
    assert trial.call(after_our_work, 0.0, 1.0, deadline=0.5).late
    monkeypatch.setattr(trial, "DISK", 1000)
    assert trial.call(after_our_work, 0.1, 1.0, deadline=0.5).value == "right"
    assert trial.call(lambda: after_our_work(0.1, 0.0) and loop(), deadline=0.02).late  # not for ever


def test_how_long_a_workspace_took_is_time_for_each_call_in_it(monkeypatch):
    monkeypatch.setattr(trial, "_times", lambda thread: (0.0, 0.0))
    monkeypatch.setattr(trial, "DISK", 1_000_000)
    with trial.temporary_workspace({"a.txt": "x"}):
        assert trial.call(time.sleep, 1.0, deadline=0.5).late == ""
    assert trial.call(time.sleep, 1.0, deadline=0.5).late  # outside of it nothing of that is left


def test_a_call_that_sleeps_for_ever_is_left_behind(monkeypatch):
    monkeypatch.setattr(job, "GRACE_SECONDS", 0.1)
    wake = threading.Event()
    outcome = trial.call(wake.wait, deadline=0.1)
    assert "runs until" in outcome.late
    wake.set()


def test_exceptions_are_caught_even_those_that_end_a_program():
    for error in (ValueError("no"), SystemExit(3), KeyboardInterrupt()):

        def raises(error=error):
            raise error

        assert trial.call(raises).error is error


def test_prints_are_kept_out_and_kept(capsys):
    outcome = trial.call(lambda: print("hello") or print("oops", file=sys.stderr))
    assert outcome.printed == "hello\noops\n"
    assert capsys.readouterr() == ("", "")


def test_an_interrupt_while_it_waits_stops_the_call_and_goes_on(monkeypatch):
    monkeypatch.setattr(trial, "ctrl_c_kept", lambda: contextlib.nullcontext(lambda: True))
    before = threading.active_count()
    with pytest.raises(KeyboardInterrupt):
        trial.call(loop)
    assert threading.active_count() <= before  # those of other tests may have ended


# ---- the learner's own line


def calls_a_library():
    return functools.reduce(lambda a, b: a + b, [])


def wants_two(a, b):
    return a


def line_of(function, *args):
    return trial.own_line(trial.call(function, *args).error, function)


def test_the_line_of_an_exception_is_the_learners_even_below_a_library():
    assert line_of(calls_a_library).endswith(": return functools.reduce(lambda a, b: a + b, [])")


@needs_sources
def test_the_line_of_an_exception_deep_in_a_library_is_the_last_one_of_the_learner():
    def parses():
        import json

        return json.loads("{")

    assert line_of(parses).endswith(': return json.loads("{")')


def test_a_call_that_does_not_fit_shows_the_line_of_def():
    assert line_of(wants_two, 1).endswith(": def wants_two(a, b):")


def test_a_built_in_has_no_line():
    assert line_of(int, "x") == ""


# ---- standard input and workspace


@pytest.mark.skipif(WIN, reason="cat is no command of Windows")
def test_a_command_that_reads_its_input_hangs_and_ends_when_it_is_stopped():
    with trial.silence() as stdin:
        before = threading.active_count()
        outcome = trial.call(subprocess.run, ["cat"], deadline=0.3, stdin=stdin)
        assert outcome.late
        assert threading.active_count() <= before  # those of other tests may have ended


def test_standard_input_is_the_old_one_afterwards():
    before = os.fstat(0)
    with trial.silence() as other_end:
        other_end.write(b"ours")
        assert os.read(0, 9) == b"ours"
    assert os.fstat(0) == before


def test_a_call_has_the_temporary_workspace_as_its_current_folder_and_both_come_back(workspace):
    folder = Path.cwd()
    with trial.temporary_workspace({"a.txt": "ä", "sub/b.txt": "b"}) as root:
        assert workdir() == trial.call(Path.cwd).value == root.resolve()
        assert trial.call(Path("a.txt").read_text, "utf-8").value == "ä"
        assert (root / "sub" / "b.txt").exists()
    assert (workdir(), Path.cwd()) == (workspace, folder)
    assert not root.exists()


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has a current folder for each thread")
def test_the_current_folder_of_other_threads_stays_where_it_is():
    folder = Path.cwd()
    with trial.temporary_workspace() as root:
        assert trial.call(Path.cwd).value == root
        assert Path.cwd() == folder


def test_where_the_process_has_one_current_folder_it_comes_back_as_well(monkeypatch):
    monkeypatch.setattr(trial, "CLONE_FS", 0)  # as where nothing can be unshared
    folder = Path.cwd()
    with trial.temporary_workspace() as root:
        assert trial.call(Path.cwd).value == root
    assert Path.cwd() == folder


def test_a_workspace_that_was_never_chosen_is_not_chosen_afterwards(tmp_path):
    code = (
        "import os, s02_tool_use as s; from s02_tool_use.lab.check import trial\n"
        "with trial.temporary_workspace(): s.use_workdir('.')\n"
        "os.chdir('..'); print(s.workdir())"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == str(tmp_path.resolve().parent)


def test_what_a_learners_function_chooses_as_workspace_ends_with_its_call(workspace, tmp_path):
    with trial.temporary_workspace() as root:
        assert trial.call(lambda: use_workdir(tmp_path)).value == tmp_path.resolve()
        assert workdir() == root
    assert workdir() == workspace


def test_the_workspace_comes_back_after_an_exception(workspace):
    with pytest.raises(ZeroDivisionError), trial.temporary_workspace():
        1 / 0  # noqa: B018
    assert workdir() == workspace


# ---- what is called in it


class Searcher:
    def __call__(self, given):
        return self.search(given)

    def search(self, given):
        return wants_two(given, given)


def through_a_table():
    return TABLE["two"](1, 2)


def through_another():
    return through_a_table()


def by_a_default(given, how=wants_two):
    return how(given, given)


def by_an_import_in_its_body():
    from s02_tool_use import safe_path

    return safe_path(".")


TABLE = {"two": wants_two}
USES = [lambda: wants_two(1, 2), Searcher(), through_a_table, through_another, by_a_default, Searcher().search]


@pytest.mark.parametrize("function", [*USES, functools.partial(wants_two, 1), wants_two])
def test_what_a_function_uses_is_seen_however_it_gets_there(function):
    assert trial.used(function, [calls_a_library, wants_two]) == ["wants_two"]


@pytest.mark.parametrize("function", [by_an_import_in_its_body, run_read])
def test_what_it_imports_or_what_the_package_calls_for_it_is_seen_too(function):
    assert trial.used(function, [safe_path]) == ["safe_path"]


@pytest.mark.parametrize("function", [calls_a_library, len, Searcher, lambda: "wants_two"])
def test_what_a_function_does_not_use_is_not_seen(function):
    assert trial.used(function, [safe_path]) == []


def test_a_call_that_was_left_behind_does_not_keep_the_next_check_from_its_end():
    """In Python 3.11 whatever watches calls would hang: an interrupt waits for the thread that sleeps."""
    code = (
        "import threading\n"
        "from s02_tool_use.lab import check\n"
        "from s02_tool_use.lab.sessions.job import interrupt\n"
        "sleeper = threading.Thread(target=threading.Event().wait, daemon=True)\n"
        "sleeper.start()\n"
        "interrupt(sleeper)\n"
        "def my_walk(p):\n"
        "    raise ValueError(p)\n"
        "print('no answer' in repr(check.walk(my_walk)))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.stdout.split() == ["False"], done.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells what a thread has used")
def test_a_loop_that_was_left_behind_does_not_use_up_the_time_of_the_next_answer(monkeypatch):
    monkeypatch.setitem(sys.modules, "anthropic", sys)  # so that computing is measured
    looks = itertools.count()
    monkeypatch.setattr(time, "process_time", lambda: 100.0 * next(looks))  # what other threads use
    looked, asked = threading.Event(), itertools.count()
    monkeypatch.setattr(trial, "_memory", lambda: looked.set() or 0 if next(asked) else 0)  # once before it waits

    def waits():
        looked.wait(30)
        return "here"

    assert trial.call(waits, deadline=60).value == "here"


# ---- in a browser page


@pytest.mark.usefixtures("in_a_page")
def test_a_page_calls_without_a_thread_in_the_same_workspace_and_says_what_it_cannot(workspace, capsys):
    folder = Path.cwd()

    def learners():
        print("hello")
        return workdir(), Path.cwd()

    with trial.temporary_workspace({"a.txt": "x"}) as root, trial.silence() as stdin:
        outcome = trial.call(learners, stdin=stdin)
        assert (outcome.value, outcome.printed) == ((root, root), "hello\n")
        assert type(trial.call(int, "x").error) is ValueError
        assert type(trial.call(sys.exit, 1).error) is SystemExit
    assert (workdir(), Path.cwd()) == (workspace, folder)
    assert capsys.readouterr().out == f"{trial.SAID_IN_A_PAGE}\n"


def test_no_module_of_python_is_a_learners_in_a_page_either(monkeypatch):
    monkeypatch.setattr(sysconfig, "get_path", lambda name: "//lib/python3.14/site-packages")
    monkeypatch.setattr(os, "__file__", "/lib/python314.zip/os.py")
    trial.is_learners.cache_clear()
    files = [
        "/lib/python314.zip/json/decoder.py",
        "/lib/python3.14/site-packages/anthropic/_models.py",
        "<ipython-input>",
    ]
    assert [trial.is_learners(file) for file in files] == [False, False, True]
    trial.is_learners.cache_clear()
