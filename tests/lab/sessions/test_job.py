"""Work in a thread, and the Ctrl-C of who waits for it."""

import os
import signal
import threading

import pytest

from s02_tool_use.lab.sessions.job import Job, Stopped, ctrl_c_kept

pytestmark = pytest.mark.skipif(os.name == "nt", reason="Windows sends Ctrl-C to a whole console")
PATIENCE = 30  # seconds, in which a slow machine does what takes no time


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
