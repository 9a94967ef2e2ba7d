"""A function in a thread of its own that can be stopped as Ctrl-C stops what runs in a terminal.

A Python thread cannot be ended from outside. What can be done is to raise an exception in it, at its next line.
"""

import contextvars
import ctypes
import threading
import time

from ...workspace import within

PAUSE = 0.1  # seconds in which most of what looks whether it should stop has seen it
GRACE_SECONDS = 2.0  # seconds of interrupts


class Job:
    """A function in a thread of its own. `value` or `error` is what came out; `then(job)` is told when it has ended."""

    def __init__(self, function, then=lambda job: None):
        self.value = self.error = None
        self._lock, self._ended = threading.Lock(), threading.Event()
        self._function, self._then = function, then
        with within():  # what runs keeps the workspace in which it began, whoever calls use_workdir meanwhile
            context = contextvars.copy_context()
        self.thread = threading.Thread(target=context.run, args=(self._run,), daemon=True)
        self.thread.start()

    def _run(self):
        try:
            try:
                self.value = self._function()
            finally:
                with self._lock:  # from here on nobody interrupts
                    self._ended.set()
        except BaseException as error:  # KeyboardInterrupt too
            self.error = error
            self._ended.set()
        self._then(self)

    @property
    def done(self):
        return self._ended.is_set()

    def stop(self, seconds=GRACE_SECONDS, give_up=lambda: None):
        """Ask it to end: at once, if it looks; else by interrupts. After `seconds` it is left alone: `give_up()`."""
        threading.Thread(target=self._stop, args=(seconds, give_up), daemon=True).start()

    def _stop(self, seconds, give_up):
        end = time.monotonic() + seconds
        while not self._ended.wait(PAUSE) and time.monotonic() < end:
            self._interrupt()
        if not self._ended.is_set():
            give_up()

    def _interrupt(self):
        """Raise KeyboardInterrupt in it, at its next line of Python. What waits outside Python wakes up first."""
        with self._lock:
            if not self.done:
                # May reach a thread that it is just starting, instead of itself (CPython); so it is done again.
                interrupt = ctypes.py_object(KeyboardInterrupt)
                ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(self.thread.ident), interrupt)
