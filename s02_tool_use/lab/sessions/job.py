"""A function in a thread of its own that can be stopped as Ctrl-C stops what runs in a terminal.

A Python thread cannot be ended from outside. What can be done is to raise an exception in it, at its next line.

A browser page has one thread. There a function runs at once, to its end, and nothing stops it; and what comes in steps
(a generator) runs in the page's event loop, where a click on Stop is heard between two of them.
"""

import asyncio
import contextlib
import contextvars
import inspect
import signal
import threading
import time
from collections.abc import Callable, Generator, Iterator
from typing import Any

import s02_tool_use

from ...calls.waiting import interrupt
from ...workspace import within
from ..client.faults import Stopped

PAUSE_SECONDS = 0.1  # in which most of what looks whether it should stop has seen it
STEP_SECONDS = 0.05  # between two looks whether Ctrl-C came
GRACE_SECONDS = 2.0  # in which what is to stop may end; then it is left behind
LEFT_BEHIND = "Stopped. What was running may go on for a while, but nobody waits for it."


# What comes in steps: between two of them it can be stopped, and it gives an event that it waits for, or None.
Steps = Generator[threading.Event | None, None, None]


def drained(steps: Steps) -> None:
    """Go through all the steps in this thread. An interrupt that comes between two of them goes into them."""
    try:
        for awaited in steps:
            while awaited is not None and not awaited.wait(STEP_SECONDS):
                pass  # an interrupt comes between two lines, and wakes nobody
    except KeyboardInterrupt as error:
        if inspect.getgeneratorstate(steps) == inspect.GEN_CLOSED:  # it came out of them
            raise
        with contextlib.suppress(StopIteration):
            _raised_in(steps, error)


def _raised_in(steps, error):
    """The next step, in which `error` is raised. Those that have not begun take one first: else nothing would end."""
    if inspect.getgeneratorstate(steps) == inspect.GEN_CREATED:
        next(steps)
    return steps.throw(error)


class Job:
    """A function in a thread of its own. `value` or `error` is what came out; `then(job)` is told when it has ended.

    `in_steps`: the function gives Steps, which are gone through.
    """

    def __init__(
        self,
        function: Callable[[], Any],
        then: Callable[["Job"], object] = lambda job: None,
        *,
        in_steps: bool = False,
    ) -> None:
        self.value: Any = None
        self.error: BaseException | None = None
        self._lock, self._ended = threading.Lock(), threading.Event()
        self._function, self._then = (lambda: drained(function())) if in_steps else function, then
        with within():  # what runs keeps the workspace in which it began, whoever calls use_workdir meanwhile
            context = contextvars.copy_context()
        self.thread = threading.Thread(target=context.run, args=(self._run,), daemon=True)
        self._page: _InThePage | None = None
        if s02_tool_use.IN_A_PAGE:
            if in_steps:
                self._page = _InThePage(context, function(), self._over)
            else:
                context.run(self._run)
            return
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

    def _over(self, error: BaseException | None) -> None:
        """The steps in the page have ended."""
        self.error = error
        self._ended.set()
        self._then(self)

    @property
    def done(self) -> bool:
        return self._ended.is_set()

    def wait(self, seconds: float) -> bool:
        """Wait until it has ended; returns `done`. Never by Thread.join: in CPython 3.11, after one that Ctrl-C has
        interrupted, is_alive() says False. In a page who waits takes the steps: as far as they go without a click.
        """
        if self._page:
            self._page.take()
            return self.done
        return self._ended.wait(seconds)

    def join(self, seconds: float | None = None, pressed: Callable[[], bool] = lambda: False) -> None:
        """Wait until `then` has been told as well, or for so many seconds. Ctrl-C meanwhile stops what runs.

        `pressed` is what `ctrl_c_kept` gives, if Ctrl-C is kept already; then the thread began inside it.
        """
        if self._page:
            self._page.take()
            return
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
    ) -> threading.Thread | None:
        """Ask it to end: at once, if it looks; else by interrupts. After GRACE_SECONDS it is left alone: `give_up()`.

        Returns at once, with the thread that does this, so that a second Ctrl-C changes nothing. In a page there is
        none: the step that is next is the last.
        """
        if s02_tool_use.IN_A_PAGE:
            if self._page:
                self._page.stopped = exception()
            return None
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


class _InThePage:
    """Steps that the event loop of the page takes, one each time that it turns, if one runs; `over` is told the end."""

    def __init__(
        self, context: contextvars.Context, steps: Steps, over: Callable[[BaseException | None], object]
    ) -> None:
        self.stopped: BaseException | None = None  # is raised in the next step
        self._context, self._over = context, over
        self._steps: Steps | None = steps
        self._awaited: threading.Event | None = None
        try:
            self._loop = asyncio.get_running_loop()
        except RuntimeError:  # whoever waits takes them all
            pass
        else:
            self._loop.call_soon(self._turn)

    def _turn(self):
        self._go()
        if self._steps:
            self._loop.call_later(STEP_SECONDS if self._waits else 0, self._turn)

    def take(self):
        """Take the steps now, until they end or wait for something that only a click can bring."""
        while self._steps and not self._waits:
            self._go()

    @property
    def _waits(self):
        return self._awaited is not None and not self._awaited.is_set() and self.stopped is None

    def _go(self):
        """Take one step, unless it has to wait."""
        if not self._steps or self._waits:
            return
        try:
            if self.stopped is None:
                self._awaited = self._context.run(next, self._steps)
            else:
                stopped, self.stopped = self.stopped, None
                self._awaited = self._context.run(_raised_in, self._steps, stopped)
        except BaseException as error:
            self._steps = None
            self._over(None if isinstance(error, StopIteration) else error)


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
