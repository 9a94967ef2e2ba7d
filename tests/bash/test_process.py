"""A thread that no Stop reaches; that nothing is left of a command is proven in tests/machine/test_endings.py."""

import ctypes
import threading
import time

import pytest

from s02_tool_use.bash.process import shielded


def test_a_stop_reaches_a_thread_that_waits_and_the_work_hears_of_it():
    heard, inside, passed = threading.Event(), threading.Event(), []

    def work(wanted):
        inside.set()
        while wanted():
            time.sleep(0.01)
        heard.set()

    def caller():
        try:
            shielded(work)
        except KeyboardInterrupt:
            passed.append(True)

    thread = threading.Thread(target=caller)
    thread.start()
    assert inside.wait(30)
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident), ctypes.py_object(KeyboardInterrupt))
    assert heard.wait(30)
    thread.join(30)
    assert passed == [True]


def test_what_the_work_returns_or_raises_is_passed_on():
    assert shielded(lambda wanted: (wanted(), 42)) == (True, 42)
    with pytest.raises(ZeroDivisionError):
        shielded(lambda wanted: 1 / 0)
