"""What is not there yet: awaitables, also where a loop runs already, and generators, however long."""

import asyncio
import contextlib
import contextvars
import functools
import itertools
import json
import os
import threading
import time

import pytest
from waiting import PATIENCE_SECONDS as PATIENCE

from s02_tool_use import run_tool, use_workdir, within, workdir
from s02_tool_use.calls import waiting
from s02_tool_use.calls.waiting import MOST_ITEMS
from s02_tool_use.lab.sessions.job import Job


def call(handler):
    return run_tool({"type": "tool_use", "id": "t", "name": "f", "input": {}}, {"f": handler})


def content(handler):
    result = call(handler)
    assert "is_error" not in result, result["content"]
    return result["content"]


async def answer():
    await asyncio.sleep(0)
    return {"answer": 42}


async def fail():
    raise ValueError("not today")


async def twice():
    return answer()


class Later:
    def __await__(self):
        yield from asyncio.sleep(0).__await__()
        return "later"


async def pieces():
    for number in range(3):
        await asyncio.sleep(0)
        yield number


def in_a_loop(function):
    """What `function` returns when it is called where a loop runs, as the code of a notebook's cell is."""

    async def main():
        return function()

    return asyncio.run(main())


def directly(function):
    return function()


# What is returned that is not there yet -> what is sent of it.
SENT = [
    (answer, '{"answer": 42}'),
    (twice, '{"answer": 42}'),
    (Later, "later"),
    (pieces, "[0, 1, 2]"),
]


@pytest.mark.parametrize("where", [directly, in_a_loop])
@pytest.mark.parametrize(
    ("handler", "sent"),
    [
        *SENT,
        (lambda: asyncio.sleep(0), "(done, no output)"),
    ],
)
def test_an_awaitable_is_awaited_inside_a_running_loop_too(where, handler, sent):
    assert where(lambda: content(handler)) == sent


@pytest.mark.parametrize("where", [directly, in_a_loop])
def test_what_an_awaitable_raises_is_a_fault(where):
    result = where(lambda: call(fail))
    assert (result["content"], result["is_error"]) == ("f failed: ValueError: not today", True)


@pytest.mark.parametrize("where", [directly, in_a_loop])
def test_a_task_that_is_cancelled_is_a_fault(where):
    async def cancels():
        asyncio.current_task().cancel()
        await asyncio.sleep(1)

    assert "f failed: RuntimeError: it was cancelled" in where(lambda: call(cancels))["content"]


def test_a_future_of_another_loop_is_a_fault_and_does_not_hang():
    async def main():
        future = asyncio.get_running_loop().create_future()
        return call(lambda: future)

    result = asyncio.run(main())
    assert result["is_error"] is True
    assert result["content"] == ("The tool returned a task of a loop that waits for it: return the coroutine itself.")


def test_a_future_that_is_there_gives_its_value():
    async def main():
        future = asyncio.get_running_loop().create_future()
        future.set_result({"a": 1})
        return call(lambda: future)

    assert asyncio.run(main())["content"] == '{"a": 1}'


@pytest.mark.parametrize("where", [directly, in_a_loop])
def test_an_async_tool_sees_the_workspace_and_the_context_of_its_caller(where, workspace, tmp_path):
    name = contextvars.ContextVar("name")

    async def here():
        return [str(workdir()), name.get()]

    name.set("mine")
    with within(tmp_path):
        assert json.dumps(str(tmp_path.resolve())) in where(lambda: content(here))
    use_workdir(workspace)
    assert json.dumps(str(workspace.resolve())) in where(lambda: content(here))


# ---- generators


def test_a_generator_is_collected_and_so_is_another_iterator():
    assert content(lambda: (n * n for n in range(3))) == "[0, 1, 4]"
    assert content(lambda: map(str, [1, 2])) == '["1", "2"]'
    assert content(lambda: iter([])) == "[]"


def endless():
    yield from itertools.count()


def endless_texts():
    while True:
        yield "x" * 50_000


async def endless_later():
    for number in itertools.count():
        yield number


@pytest.mark.parametrize("handler", [endless, endless_texts, endless_later, itertools.count])
def test_an_endless_generator_is_cut_and_says_so(handler):
    sent = content(handler)
    assert "there are more. Return fewer, or a summary.]" in sent
    assert len(sent) < 110_000


def test_endless_blocks_are_an_error():
    assert "more than 1000 blocks" in call(lambda: itertools.repeat({"type": "text", "text": "a"}))["content"]


@pytest.mark.parametrize("is_async", [False, True])
def test_a_generator_that_is_cut_is_closed(is_async):
    closed = []

    def plain():
        try:
            yield from itertools.count()
        finally:
            closed.append(True)

    async def later():
        try:
            for number in itertools.count():
                yield number
        finally:
            closed.append(True)

    content(later if is_async else plain)
    assert closed == [True]


def test_what_a_generator_raises_is_a_fault():
    def broken():
        yield 1
        raise KeyError("x")

    assert call(broken)["content"] == "f failed: KeyError: 'x'"
    assert MOST_ITEMS == 10_000


# ---- Ctrl-C and Stop


async def sleeps(started):
    started.set()
    await asyncio.sleep(PATIENCE)


async def works(started):
    started.set()
    while True:
        pass


async def blocks(started):
    started.set()
    for _ in range(100 * PATIENCE):
        time.sleep(0.01)


def never_ends(started):
    started.set()
    while True:
        yield from ()
        if not started:
            yield 1


# On a busy machine a second interrupt may come while the loop is closed, or in a callback.
in_the_middle = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")


@in_the_middle
@pytest.mark.parametrize("where", [directly, in_a_loop])
@pytest.mark.parametrize("tool", [sleeps, works, blocks, never_ends])
def test_stop_ends_what_is_waited_for(tool, where):
    started = threading.Event()
    job = Job(lambda: where(lambda: call(lambda: tool(started))))
    assert started.wait(PATIENCE)
    job.stop()
    assert job.wait(PATIENCE)
    assert isinstance(job.error, KeyboardInterrupt)


@pytest.mark.skipif(os.name == "nt", reason="Windows sends Ctrl-C to a whole console")
@pytest.mark.parametrize("where", [directly, in_a_loop])
@pytest.mark.parametrize("tool", [sleeps, works])
def test_ctrl_c_ends_what_is_waited_for(ctrl_c, tool, where):
    started = threading.Event()
    ctrl_c(started)
    with pytest.raises(KeyboardInterrupt):
        where(lambda: call(lambda: tool(started)))


@in_the_middle
def test_a_tool_that_is_stopped_may_clean_up():
    started, cleaned = threading.Event(), threading.Event()

    async def beside():
        try:
            await asyncio.sleep(PATIENCE)
        finally:
            await asyncio.sleep(4 * waiting.BEAT_SECONDS)
            cleaned.set()

    async def tool():
        task = asyncio.ensure_future(beside())
        await asyncio.sleep(0)
        started.set()
        await task

    job = Job(lambda: in_a_loop(lambda: call(tool)))
    assert started.wait(PATIENCE)
    job.stop()
    assert job.wait(PATIENCE)
    assert cleaned.wait(PATIENCE)


@in_the_middle
def test_what_cannot_be_ended_is_left_behind(monkeypatch):
    monkeypatch.setattr(waiting, "GRACE_SECONDS", 0.2)
    before, started, free = threading.enumerate(), threading.Event(), threading.Event()

    async def stubborn():
        started.set()
        while not free.is_set():
            with contextlib.suppress(KeyboardInterrupt):
                free.wait(PATIENCE)

    job = Job(lambda: in_a_loop(lambda: call(stubborn)))
    assert started.wait(PATIENCE)
    job.stop()
    assert job.wait(PATIENCE)
    assert isinstance(job.error, KeyboardInterrupt)
    free.set()
    for thread in set(threading.enumerate()) - set(before):  # what it leaves is not the next test's
        thread.join(PATIENCE)


# ---- in a browser page: no other thread


async def together():
    return await asyncio.gather(answer(), asyncio.wait_for(answer(), PATIENCE))


@pytest.mark.usefixtures("in_a_page")
@pytest.mark.parametrize("where", [directly, in_a_loop])
@pytest.mark.parametrize(
    ("handler", "sent"),
    [
        *SENT,
        (together, '[{"answer": 42}, {"answer": 42}]'),
        (lambda: asyncio.sleep(0.001), "(done, no output)"),
    ],
)
def test_a_page_awaits_without_a_thread(where, handler, sent):
    assert where(lambda: content(handler)) == sent


@pytest.mark.usefixtures("in_a_page")
def test_the_loop_of_a_page_and_its_task_go_on_afterwards():
    async def main():
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        before = call(answer), call(fail)["content"]
        assert (asyncio.get_running_loop(), asyncio.current_task()) == (loop, task)
        await asyncio.sleep(0)
        return before[1], await asyncio.create_task(answer())

    assert asyncio.run(main()) == ("f failed: ValueError: not today", {"answer": 42})


async def waits_for_a_click():
    await asyncio.get_running_loop().create_future()


async def starts_a_thread():
    await asyncio.to_thread(print)


async def gives_up():
    await asyncio.wait_for(waits_for_a_click(), 0.01)


@pytest.mark.usefixtures("in_a_page")
@pytest.mark.parametrize(
    ("handler", "said"),
    [
        (waits_for_a_click, "The tool waits for something that cannot come: a browser page has no other thread."),
        (starts_a_thread, "f failed: RuntimeError: can't start new thread"),
        (gives_up, "TimeoutError"),
    ],
)
def test_what_can_never_come_in_a_page_is_a_fault_and_does_not_hang(handler, said):
    result = in_a_loop(lambda: call(handler))
    assert result["is_error"] is True
    assert said in result["content"]


@pytest.mark.usefixtures("in_a_page")
def test_the_sleep_of_pyodide_is_not_asked_since_it_waits_for_the_loop_that_stands_still(monkeypatch):
    @functools.wraps(time.sleep)
    def sleep(seconds):
        raise AssertionError("this would hang")

    async def sleeps():
        time.sleep(0.001)
        await asyncio.sleep(0.001)
        return "slept"

    monkeypatch.setattr(time, "sleep", sleep)
    assert in_a_loop(lambda: content(sleeps)) == "slept"
    assert time.sleep is sleep, "and it is there again"


@pytest.mark.usefixtures("in_a_page")
def test_what_a_page_leaves_behind_is_ended():
    ended = []

    async def leaves_a_task():
        async def endless():
            try:
                await asyncio.sleep(PATIENCE)
            finally:
                ended.append(True)

        asyncio.ensure_future(endless())
        await asyncio.sleep(0)
        return "done"

    assert in_a_loop(lambda: content(leaves_a_task)) == "done"
    assert ended
