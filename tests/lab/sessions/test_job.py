"""Work in a thread, and the Ctrl-C of who waits for it."""

import asyncio
import os
import signal
import sys
import threading

import pytest
from waiting import PATIENCE_SECONDS as PATIENCE

from s02_tool_use import use_workdir, workdir
from s02_tool_use.lab.sessions import job as jobs
from s02_tool_use.lab.sessions.job import Job, Stopped, ctrl_c_kept, drained

pytestmark = pytest.mark.skipif(os.name == "nt", reason="Windows sends Ctrl-C to a whole console")


@pytest.fixture(autouse=True)
def default_handler(ctrl_c):
    """Python's own handler, whoever started the tests."""


class Endless:
    def __init__(self):
        self.begun, self.ended = threading.Event(), threading.Event()

    def __call__(self):
        try:
            while True:
                self.begun.set()
        finally:
            self.ended.set()


class Interrupted:
    def __del__(self):  # what Python raises in here, it ignores
        signal.raise_signal(signal.SIGINT)


@pytest.mark.parametrize("comes", [lambda: signal.raise_signal(signal.SIGINT), Interrupted])
def test_a_ctrl_c_before_somebody_waits_stops_the_job_wherever_python_is(comes):
    endless = Endless()
    with ctrl_c_kept() as pressed:
        job = Job(endless)
        comes()
        with pytest.raises(Stopped):
            job.join(PATIENCE, pressed)
    assert endless.ended.wait(PATIENCE)


def test_a_ctrl_c_while_somebody_waits_stops_the_job(ctrl_c):
    endless = Endless()
    ctrl_c(endless.begun)
    with pytest.raises(Stopped), ctrl_c_kept() as pressed:
        Job(endless).join(PATIENCE, pressed)
    assert endless.ended.wait(PATIENCE)


def test_a_ctrl_c_that_nobody_asked_for_is_raised_at_the_end():
    after = []

    def interrupted():
        with ctrl_c_kept():
            signal.raise_signal(signal.SIGINT)
            after.append("this still ran")

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert after
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_without_a_ctrl_c_nothing_is_raised_and_the_old_handler_is_back():
    with ctrl_c_kept() as pressed:
        job = Job(lambda: 42)
        job.join(PATIENCE, pressed)
    assert job.value == 42
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_thread_beside_the_main_one_leaves_the_handler_alone():
    seen = []

    def look():
        with ctrl_c_kept() as pressed:
            seen.append((signal.getsignal(signal.SIGINT), pressed()))

    thread = threading.Thread(target=look)
    thread.start()
    thread.join(PATIENCE)
    assert seen == [(signal.default_int_handler, False)]


def test_where_ctrl_c_is_ignored_it_stays_ignored():
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with ctrl_c_kept() as pressed:
        signal.raise_signal(signal.SIGINT)
        assert not pressed()


# ---- steps


def paces(heard, event=None, until=2):
    """Steps that note what reaches them, and wait for `event` if there is one."""
    try:
        for number in range(until):
            heard.append(number)
            yield event
    except KeyboardInterrupt:
        heard.append("stopped")


def test_steps_are_gone_through_in_a_thread():
    heard = []
    job = Job(lambda: paces(heard), in_steps=True)
    job.join(PATIENCE)
    assert (heard, job.value, job.error) == ([0, 1], None, None)


def test_a_stop_reaches_steps_that_wait_for_something():
    heard, never, told = [], threading.Event(), threading.Event()
    job = Job(lambda: paces(heard, never), lambda job: told.set(), in_steps=True)
    job.stop()
    assert told.wait(PATIENCE)
    assert heard == [0, "stopped"]
    assert job.error is None


def test_an_interrupt_that_steps_do_not_catch_comes_out_of_them():
    def steps():
        yield None
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        drained(steps())


# ---- in a browser page


@pytest.mark.usefixtures("in_a_page")
def test_in_a_page_a_job_has_ended_when_it_is_made(workspace):
    told = []
    job = Job(workdir, told.append)
    assert (job.done, job.value, job.error, told) == (True, workspace, None, [job])
    assert job.stop() is None
    job.join(PATIENCE)


@pytest.mark.usefixtures("in_a_page")
def test_in_a_page_an_exception_stays_in_the_job_even_one_that_ends_a_program():
    assert type(Job(lambda: sys.exit(1)).error) is SystemExit
    assert type(Job(lambda: signal.raise_signal(signal.SIGINT)).error) is KeyboardInterrupt


def turned(begin):
    """What `begin(turn)` gives, in an event loop; `turn()` lets the loop turn often enough for everything."""

    async def turn():
        for _ in range(20):
            await asyncio.sleep(0.01)

    return asyncio.run(begin(turn))


@pytest.mark.usefixtures("in_a_page")
def test_in_a_page_the_loop_turns_between_two_steps(monkeypatch):
    monkeypatch.setattr(jobs, "STEP_SECONDS", 0.001)
    heard, event, told = [], threading.Event(), []

    async def begin(turn):
        job = Job(lambda: paces(heard, event), told.append, in_steps=True)
        assert heard == []
        await turn()
        assert heard == [0], "it waits"
        assert not job.done
        event.set()
        await turn()
        assert (heard, job.done, told) == ([0, 1], True, [job])

    turned(begin)


@pytest.mark.usefixtures("in_a_page")
@pytest.mark.parametrize("turns", [False, True])
def test_in_a_page_a_stop_is_raised_in_the_next_step_also_before_the_first(turns, monkeypatch):
    monkeypatch.setattr(jobs, "STEP_SECONDS", 0.001)
    heard, told = [], []

    async def begin(turn):
        job = Job(lambda: paces(heard, threading.Event()), told.append, in_steps=True)
        if turns:
            await turn()
        job.stop()
        await turn()
        assert (heard, job.done, job.error, told) == ([0, "stopped"], True, None, [job])

    turned(begin)


@pytest.mark.usefixtures("in_a_page")
def test_in_a_page_who_waits_takes_the_steps_until_a_click_is_needed():
    heard, event = [], threading.Event()

    async def begin(turn):
        quick, slow = (Job(lambda made=made: made, in_steps=True) for made in (paces(heard), paces([], event)))
        assert quick.wait(PATIENCE)
        assert not slow.wait(PATIENCE), "and it comes back at once"
        event.set()
        assert slow.wait(PATIENCE)
        await turn()

    turned(begin)
    assert heard == [0, 1]


@pytest.mark.usefixtures("in_a_page")
def test_in_a_page_steps_keep_the_workspace_in_which_they_began(workspace, tmp_path):
    seen = []

    def steps():
        for _ in range(2):
            seen.append(workdir())
            yield None

    job = Job(steps, in_steps=True)
    use_workdir(tmp_path)
    job.join(PATIENCE)
    assert seen == [workspace, workspace]
