"""What a handler returns that is not there yet: an awaitable is awaited, a generator is collected as far as MOST goes.

Where no event loop runs, this thread runs one. Inside a running loop, as in a cell of a notebook, it cannot wait, so
another thread runs one; it sees the same context. Either way Ctrl-C and Stop end what is waited for.

A browser page has no other thread: there the page's loop stands still while a small one runs in its place. Left out:
what only the page's own loop can bring, such as the answer to a fetch.
"""

import asyncio
import contextvars
import ctypes
import inspect
import io
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Iterator
from typing import Any

import s02_tool_use

from .results import ToolError

MOST_ITEMS = 10_000  # of a generator: an endless one ends there
MOST_CHARACTERS = 1_000_000  # in what it yields
BEAT_SECONDS = 0.1  # how often a loop that waits looks whether it should stop
GRACE_SECONDS = 2.0  # in which what is to stop may end; then it is left behind


class Cut(list):
    """The first items of a generator that yields more than is sent."""


def settled(value: Any) -> Any:
    """`value` when it is there: awaited if it is an awaitable, a list if it is a generator or another iterator."""
    for _ in range(10):  # an awaitable may give another one, or a generator
        if isinstance(value, asyncio.Future):  # of a loop that stands still meanwhile
            if not value.done():
                raise ToolError("The tool returned a task of a loop that waits for it: return the coroutine itself.")
            value = value.result()
        elif inspect.isawaitable(value):
            value = _in_a_loop(_awaited(value))
        elif isinstance(value, AsyncIterator):
            value = _in_a_loop(_collected(value))
        elif isinstance(value, Iterator) and not isinstance(value, io.IOBase):
            return _first(value)
        else:
            break
    return value


class _Items(list):
    size = 0

    def are_enough_with(self, item):
        self.append(item)
        self.size += len(item) if isinstance(item, (str, bytes)) else 1
        return len(self) >= MOST_ITEMS or self.size >= MOST_CHARACTERS


def _first(iterator):
    items = _Items()
    try:
        for item in iterator:
            if items.are_enough_with(item):
                return Cut(items)
        return items
    finally:
        getattr(iterator, "close", lambda: None)()


async def _collected(iterator):
    items = _Items()
    try:
        async for item in iterator:
            if items.are_enough_with(item):
                return Cut(items)
        return items
    finally:
        if hasattr(iterator, "aclose"):
            await iterator.aclose()


async def _awaited(awaitable: Awaitable[Any]) -> Any:
    return await awaitable


def _in_a_loop(coroutine):
    if s02_tool_use.IN_A_PAGE:
        return _instead_of_the_page(coroutine)

    async def beside_a_beat():
        beat = asyncio.ensure_future(_beat())
        try:
            return await coroutine
        finally:
            beat.cancel()

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return _run(beside_a_beat())
    return _in_a_thread(beside_a_beat())


async def _beat():
    """Wakes the loop: an exception that another thread raises here comes at the next line of Python."""
    while True:
        await asyncio.sleep(BEAT_SECONDS)


def _run(coroutine, ending=None, new_loop=asyncio.new_event_loop):
    """asyncio.run, but that Ctrl-C raises at once, whatever the tool does, and that nothing is waited for for ever.

    ending: called before it cleans up; after it nobody interrupts.
    """
    loop = new_loop()
    try:
        return loop.run_until_complete(coroutine)
    except asyncio.CancelledError:  # no Exception, but the tool's own doing
        raise RuntimeError("it was cancelled") from None
    finally:
        while ending:
            try:
                ending()
                break
            except KeyboardInterrupt:  # one that was on its way
                pass
        try:
            if tasks := asyncio.all_tasks(loop):
                for task in tasks:
                    task.cancel()
                loop.run_until_complete(asyncio.wait(tasks, timeout=GRACE_SECONDS))
            loop.run_until_complete(loop.shutdown_asyncgens())
        finally:
            loop.close()


def _in_a_thread(coroutine):
    outcome, ended = [], threading.Event()
    ending, interrupting = [], []  # filled: true. An interrupt in the midst of a lock would leave it locked.

    def end():
        ending.append(True)
        while interrupting:
            time.sleep(0.001)
        time.sleep(0)  # the last one comes here at the latest

    def work():
        try:
            outcome.append((_run(coroutine, end), None))
        except BaseException as error:
            outcome.append((None, error))
        finally:
            ended.set()

    thread = threading.Thread(target=contextvars.copy_context().run, args=(work,), daemon=True)
    waits = asyncio.current_task()
    try:
        thread.start()
        while not ended.wait(BEAT_SECONDS):  # not longer, or a Stop would not be seen
            if getattr(
                waits, "cancelling", int
            )():  # asyncio.run's own way to say that Ctrl-C came, from Python 3.11 on
                raise asyncio.CancelledError
    except BaseException:
        for _ in range(int(GRACE_SECONDS / BEAT_SECONDS)):
            try:
                interrupting.append(True)
                if not ending:  # what cleans up is not disturbed
                    interrupt(thread)
            finally:
                interrupting.clear()
            if ended.wait(BEAT_SECONDS):
                break
        raise
    value, error = outcome[0]
    if error is not None:
        raise error
    return value


class _SmallLoop(asyncio.BaseEventLoop):
    """An event loop that only knows time: no sockets, no threads, no signals, nothing that comes from outside."""

    def __init__(self):
        super().__init__()
        self._selector = self  # asked by BaseEventLoop what has come from outside

    def select(self, timeout):
        if timeout is None:
            raise ToolError("The tool waits for something that cannot come: a browser page has no other thread.")
        time.sleep(timeout)
        return ()

    def _process_events(self, events):
        pass

    def _write_to_self(self):  # nobody waits in `select` while another thread has something for it
        pass


def _instead_of_the_page(coroutine):
    """Run it while the loop that runs here, if one does, stands still. By hand, since asyncio forbids it."""
    outer, sleep = asyncio._get_running_loop(), time.sleep
    task = asyncio.current_task() if outer else None
    if task:
        asyncio._leave_task(outer, task)
    asyncio._set_running_loop(None)
    time.sleep = getattr(sleep, "__wrapped__", sleep)  # Pyodide's lets the page's loop turn, and waits for ever here
    try:
        return _run(coroutine, new_loop=_SmallLoop)
    finally:
        time.sleep = sleep
        asyncio._set_running_loop(outer)
        if task:
            asyncio._enter_task(outer, task)


def interrupt(thread: threading.Thread, exception: type[BaseException] = KeyboardInterrupt) -> None:
    """Raise `exception` in a thread, at its next line of Python. What waits outside Python wakes up first."""
    if thread.ident is not None:
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident), ctypes.py_object(exception))
