"""The widgets in a browser page: in its one thread a click is heard when the event loop turns, between two steps."""

import asyncio
import re
import time

import ipywidgets
import pytest
from waiting import PATIENCE_SECONDS as PATIENCE

from s02_tool_use.lab import Chat, HistoryLab, PathLab, Stepper, ToolBench
from s02_tool_use.lab.api.rules import validate
from s02_tool_use.lab.sessions import job
from s02_tool_use.lab.sessions.job import Stopped
from s02_tool_use.lab.widgets import panel as panels
from s02_tool_use.lab.widgets import stepper as steppers

LOOKS = [{"type": "tool_use", "name": "glob", "input": {"pattern": "*"}}]


def write(name):
    return {"type": "tool_use", "name": "write_file", "input": {"path": name, "content": "hi"}}


def every(widget):
    yield widget
    for child in getattr(widget, "children", ()):
        yield from every(child)


def shown(panel):
    return re.sub("<[^>]*>", " ", "\n".join(w.value for w in every(panel) if isinstance(w, ipywidgets.HTML)))


def press(panel, label):
    (found,) = [w for w in every(panel) if isinstance(w, ipywidgets.Button) and w.description == label]
    found.click()


async def until(question):
    """Let the loop turn until this is true."""
    end = time.monotonic() + PATIENCE
    while not question():
        assert time.monotonic() < end
        await asyncio.sleep(0.001)


@pytest.fixture(autouse=True)
def page(in_a_page, workspace, monkeypatch):
    """A page that does not wait for those who type."""
    monkeypatch.setattr(panels, "SETTLE", 0)
    monkeypatch.setattr(job, "STEP_SECONDS", 0.001)
    return workspace


@pytest.fixture
def clicks():
    """A function that runs a coroutine in the page's loop: what somebody clicks there."""
    return asyncio.run


# ---- Chat


def say(chat, text="Go."):
    chat.prompt.value = text
    press(chat, "Send")


def test_a_chat_asks_and_the_page_goes_on_until_somebody_answers(scripted, page, clicks):
    async def somebody():
        chat = Chat(*scripted([write("a.txt"), write("b.txt"), write("c.txt"), "Done."]))
        say(chat)
        await until(lambda: chat.session.question)
        say(chat, "And this?")
        await until(lambda: "still at work" in shown(chat))
        assert not (page / "a.txt").exists()
        press(chat, "Do not allow")
        await until(lambda: chat.session.question and chat.session.question["input"]["path"] == "b.txt")
        press(chat, "Always in this session")
        await until(lambda: not chat.busy)
        assert "Done." in shown(chat)

    clicks(somebody())
    assert sorted(path.name for path in page.iterdir()) == ["b.txt", "c.txt"]


@pytest.mark.parametrize("asks", [True, False])
def test_a_chat_is_stopped_at_its_question_and_between_two_steps(scripted, clicks, asks):
    async def somebody():
        chat = Chat(*scripted([*([write("a.txt")] if asks else [LOOKS] * 10), "Done.", "Hello."]))
        say(chat)
        await until(lambda: chat.session.question if asks else "glob" in shown(chat))
        press(chat, "Stop")
        await until(lambda: not chat.busy)
        assert "Stopped." in shown(chat)
        assert "Done." not in shown(chat)
        assert validate({"model": "any", "max_tokens": 10, "messages": chat.messages}) is None
        say(chat)
        await until(lambda: not chat.busy and len(chat.messages) > 2)
        press(chat, "New conversation")
        return chat

    assert clicks(somebody()).messages == []


def test_what_comes_long_after_its_enter_is_sent_when_it_comes(scripted, clicks, monkeypatch):
    async def somebody():
        chat = Chat(*scripted(["Hello.", "Hello again."]))
        chat.prompt._submission_callbacks(chat.prompt)  # as the page says that Enter was pressed
        await until(lambda: "nothing to send" in shown(chat))
        chat.prompt.value = "Go."
        await until(lambda: "Hello." in shown(chat) and not chat.busy)
        assert "nothing to send" not in shown(chat)
        chat.prompt.value = "And this?"  # the field is left, and nobody presses Enter
        await asyncio.sleep(0.05)
        assert len(chat.messages) == 2
        monkeypatch.setattr("s02_tool_use.lab.widgets.chat.LATE_SECONDS", 0)
        chat.prompt.value = ""
        chat.prompt._submission_callbacks(chat.prompt)
        await until(lambda: "nothing to send" in shown(chat))
        await until(lambda: not chat._is_late)
        chat.prompt.value = "And now?"
        await asyncio.sleep(0.05)
        assert len(chat.messages) == 2

    clicks(somebody())


def test_a_chat_that_is_stopped_at_once_can_go_on(scripted, clicks):
    async def somebody():
        chat = Chat(*scripted(["Hello.", "Hello again."]))
        chat.session.send("Go.")
        chat.session.stop()
        await until(lambda: not chat.busy)
        say(chat)
        await until(lambda: "Hello" in shown(chat) and not chat.busy)

    clicks(somebody())


def test_a_cell_that_waits_for_a_chat_goes_through_its_turn_but_not_past_a_question(scripted, clicks):
    async def a_cell():
        chat = Chat(*scripted([LOOKS, "Done.", write("a.txt"), "Written."]))
        chat.session.send("Look.")
        chat.join()
        assert "Done." in shown(chat)
        chat.session.send("Write.")
        with pytest.raises(Stopped, match="The agent waits for you: answer its question, then run this cell again"):
            chat.join()
        press(chat, "Allow")
        chat.join()
        assert "Written." in shown(chat)

    clicks(a_cell())


# ---- Stepper


def stepping(scripted, script, **settings):
    return Stepper(*scripted(script), [{"role": "user", "content": "Go."}], **settings)


def test_a_stepper_goes_on_stage_by_stage_and_is_stopped_between_two(scripted, clicks):
    drawn = []

    async def somebody():
        stepper = stepping(scripted, [LOOKS] * 10)
        press(stepper, "Forward ▶")
        assert (stepper.run.at, stepper.busy) == (1, False)
        press(stepper, "One turn ▶")
        await until(lambda: not stepper.busy)
        assert stepper.run.stage.kind == "appended"
        stepper.picture.observe(lambda _: drawn.append(stepper.run.at), "value")
        press(stepper, "To the end ▶▶")
        await until(lambda: len(drawn) > 1)
        press(stepper, "Stop")
        await until(lambda: not stepper.busy)
        assert "Stopped" in shown(stepper)
        assert not stepper.run.ended
        press(stepper, "Forward ▶")
        await until(lambda: not stepper.busy)
        assert "Stopped" not in stepper.run.stage.says

    clicks(somebody())


def test_a_stepper_plays_and_goes_to_the_end_by_itself(scripted, clicks, monkeypatch):
    monkeypatch.setattr(steppers, "PLAY_SECONDS", 0.001)

    async def somebody():
        stepper = stepping(scripted, [LOOKS, LOOKS, "Done."])
        press(stepper, "Play ▶")
        await until(lambda: stepper.run.at > 3)
        press(stepper, "Pause ❚❚")
        press(stepper, "To the end ▶▶")
        await until(lambda: stepper.run.ended)
        assert "Done." in shown(stepper)

    clicks(somebody())


def test_a_tool_that_fails_or_interrupts_is_a_stage_of_its_own_kind(scripted, clicks):
    def interrupted(pattern):
        raise KeyboardInterrupt

    async def somebody():
        stepper = stepping(scripted, [LOOKS, "Done."], handlers={"glob": interrupted})
        press(stepper, "To the end ▶▶")
        await until(lambda: not stepper.busy)
        assert stepper.run.stage.kind == "failed"
        assert "Stopped" in shown(stepper)

    clicks(somebody())


# ---- the others


def test_a_bench_runs_a_tool_and_shows_what_it_gave(page, clicks):
    (page / "a.txt").write_text("hello\n")

    async def somebody():
        bench = ToolBench()
        bench.tool.value = "read_file"
        bench.fields["path"].value = "a.txt"
        press(bench, "Run")
        await until(lambda: bench.result)
        assert not bench.busy
        assert "hello" in shown(bench)
        press(bench, "Stop")

    clicks(somebody())


def test_the_labs_for_paths_and_histories_work_at_once(clicks):
    async def somebody():
        paths, histories = PathLab("../*.txt", "pattern"), HistoryLab()
        assert "ESCAPED" in shown(paths)
        paths.kind.value = "path"
        paths.text.value = "../secret.txt"
        assert "ESCAPED" in shown(paths)
        assert histories.after

    clicks(somebody())
