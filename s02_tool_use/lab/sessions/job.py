"""A function in a thread of its own that can be stopped as Ctrl-C stops what runs in a terminal.

A Python thread cannot be ended from outside. What can be done is to raise an exception in it, at its next line.
"""

import contextlib
import contextvars
import signal
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

from ...calls.waiting import interrupt
from ...workspace import within
from ..client.faults import Stopped

PAUSE_SECONDS = 0.1  # in which most of what looks whether it should stop has seen it
STEP_SECONDS = 0.05  # between two looks whether Ctrl-C came
GRACE_SECONDS = 2.0  # in which what is to stop may end; then it is left behind
LEFT_BEHIND = "Stopped. What was running may go on for a while, but nobody waits for it."


class Job:
    """A function in a thread of its own. `value` or `error` is what came out; `then(job)` is told when it has ended."""

    def __init__(self, function: Callable[[], Any], then: Callable[["Job"], object] = lambda job: None) -> None:
        self.value: Any = None
        self.error: BaseException | None = None
        self._lock, self._ended = threading.Lock(), threading.Event()
        self._function, self._then = function, then
        with within():  # what runs keeps the workspace in which it began, whoever calls use_workdir meanwhile
            context = contextvars.copy_context()
        self.thread = threading.Thread(target=context.run, args=(self._run,), daemon=True)
        try:
            self.thread.start()
        except KeyboardInterrupt:  # nobody has this object yet
            self.stop()
            raise

    def _run(self) -> None:
        try:
            try:
                self.value = self._function()
            except BaseException as error:  # KeyboardInterrupt too
                self.error = error
            with self._lock:  # from here on nobody interrupts
                self._ended.set()
        except BaseException as error:  # it came a moment too late
            self.error = self.error or error
            self._ended.set()
        self._then(self)

    @property
    def done(self) -> bool:
        return self._ended.is_set()

    def wait(self, seconds: float) -> bool:
        """Wait until it has ended; returns `done`. Never by Thread.join: in CPython 3.11, after one that Ctrl-C has
        interrupted, is_alive() says False.
        """
        return self._ended.wait(seconds)

    def join(self, seconds: float | None = None, pressed: Callable[[], bool] = lambda: False) -> None:
        """Wait until `then` has been told as well, or for so many seconds. Ctrl-C meanwhile stops what runs.

        `pressed` is what `ctrl_c_kept` gives, if Ctrl-C is kept already; then the thread began inside it.
        """
        end = None if seconds is None else time.monotonic() + seconds
        try:
            while self.thread.is_alive() and (end is None or time.monotonic() < end):
                if pressed():
                    raise KeyboardInterrupt
                self.thread.join(STEP_SECONDS)
        except KeyboardInterrupt:
            self.stop()
            raise Stopped("Stopped.") from None

    def stop(
        self,
        give_up: Callable[[], object] = lambda: None,
        *,
        exception: type[BaseException] = KeyboardInterrupt,
        pause: float = PAUSE_SECONDS,
    ) -> threading.Thread:
        """Ask it to end: at once, if it looks; else by interrupts. After GRACE_SECONDS it is left alone: `give_up()`.

        Returns at once, with the thread that does this, so that a second Ctrl-C changes nothing.
        """
        stopping = threading.Thread(target=self._stop, args=(give_up, exception, pause), daemon=True)
        stopping.start()
        return stopping

    def _stop(self, give_up, exception, pause):
        end = time.monotonic() + GRACE_SECONDS
        while not self._ended.wait(pause) and time.monotonic() < end:
            with self._lock:
                if not self.done:
                    interrupt(self.thread, exception)  # may reach a thread that it is just starting, so again and again
        if self.done:
            self.thread.join(GRACE_SECONDS)
        else:
            give_up()


@contextlib.contextmanager
def ctrl_c_kept() -> Iterator[Callable[[], bool]]:
    """For who starts a job and waits for it: inside, Ctrl-C raises nothing; the function given tells whether it came.

    A KeyboardInterrupt comes up wherever Python is: between the start of a job and the wait for it, or in a `__del__`,
    where Python ignores it. One that nobody has asked for is raised at the end. Only the main thread hears Ctrl-C, so
    elsewhere, and where it is ignored, nothing changes.
    """
    came = heard = False

    def keep(number, frame):
        nonlocal came
        came = True

    def pressed():
        nonlocal heard
        heard = came
        return came

    is_main = threading.current_thread() is threading.main_thread()
    before = signal.getsignal(signal.SIGINT)
    if not is_main or not callable(before):
        yield pressed
        return
    signal.signal(signal.SIGINT, keep)
    try:
        yield pressed
    finally:
        signal.signal(signal.SIGINT, before)
    if came and not heard:
        raise KeyboardInterrupt
