"""A session: turns in a thread, what is asked before, stopping in the middle of anything, and what it costs."""

import contextlib
import os
import subprocess
import sys
import threading
import time

import pytest
from systems import WAITS
from waiting import PATIENCE_SECONDS as PATIENCE

from s02_tool_use import use_workdir, workdir
from s02_tool_use.lab import check
from s02_tool_use.lab.api.rules import validate
from s02_tool_use.lab.client.endpoint import connect
from s02_tool_use.lab.sessions import job
from s02_tool_use.lab.sessions.job import Stopped
from s02_tool_use.lab.sessions.session import FAILED, STOPPED, Session
from s02_tool_use.lab.widgets.escapes import EscapeRoom


def call(name, **arguments):
    return {"type": "tool_use", "name": name, "input": arguments}


class Seen(list):
    """What a session told, and a way to wait for it."""

    def __init__(self):
        self.news = threading.Condition()

    def __call__(self, kind, data):
        with self.news:
            self.append((kind, data))
            self.news.notify_all()

    def wait_for(self, kind, number=1):
        with self.news:
            assert self.news.wait_for(lambda: self.count_of(kind) >= number, PATIENCE), (kind, self.kinds())

    def count_of(self, kind):
        return sum(k == kind for k, _ in self)

    def kinds(self):
        return [kind for kind, _ in self if kind != "text"]

    def last(self, kind):
        return [data for k, data in self if k == kind][-1]


@pytest.fixture
def seen():
    return Seen()


@pytest.fixture
def session(scripted, workspace, seen):
    def make(script, **settings):
        client, model = scripted(script)
        return Session(client, model, watch=seen, **settings)

    return make


def ask(session, prompt="Go."):
    session.send(prompt)
    session.join(PATIENCE)
    assert not session.busy


def valid(messages):
    request = {"model": "any", "max_tokens": 100, "messages": [*messages, {"role": "user", "content": "And?"}]}
    return validate(request) is None


def test_a_turn_grows_the_conversation_and_tells_what_happens(session, seen):
    talk = session([call("glob", pattern="*"), "Nothing here."])
    ask(talk, "What is here?")
    assert [m["role"] for m in talk.messages] == ["user", "assistant", "user", "assistant"]
    assert seen.kinds() == [
        "prompt", "request", "reply", "tool_use", "tool_result", "request", "reply", "stop", "end",
    ]  # fmt: skip
    assert "".join(data for kind, data in seen if kind == "text") == "Nothing here."


def test_a_second_turn_goes_on_with_the_first(session):
    talk = session(["One.", "Two."])
    ask(talk)
    ask(talk)
    assert len(talk.messages) == 4


def test_a_message_while_it_works_is_refused_and_changes_nothing(session, seen):
    talk = session([call("bash", command="true"), "Done."])
    talk.send("Go.")
    seen.wait_for("question")
    with pytest.raises(ValueError, match="still at work"):
        talk.send("And this?")
    talk.decide(True)
    talk.join(PATIENCE)
    assert "And this?" not in str(talk.messages)


def test_an_empty_message_is_not_sent(session):
    talk = session([])
    with pytest.raises(ValueError, match="nothing to send"):
        talk.send("  ")
    assert talk.messages == []


# ---- the workspace of a turn


def test_a_turn_keeps_its_workspace_while_checks_and_widgets_have_theirs(session, seen, workspace):
    calls = [call("write_file", path=f"{number}.txt", content="x") for number in range(40)]
    talk = session([calls, "Done."], ask_before=())
    talk.send("Go.")
    seen.wait_for("tool_use")
    while talk.busy:
        check.read(lambda text, limit: text)
        with contextlib.closing(EscapeRoom()) as room:
            room.findings("path", "../secret.txt")
            room.findings("pattern", "*.txt")
    assert not [data for kind, data in seen if kind == "tool_result" and "is_error" in data]
    assert len(list(workspace.iterdir())) == 40


def test_a_turn_keeps_the_workspace_in_which_it_began_and_the_next_one_has_the_new(session, seen, workspace, tmp_path):
    write = call("write_file", path="a.txt", content="x")
    talk = session([write, "Done.", write, "Done."])
    for prompt in ("One.", "Two."):
        talk.send(prompt)
        seen.wait_for("question", 1 + (prompt == "Two."))
        use_workdir(tmp_path)
        talk.decide(True)
        talk.join(PATIENCE)
        assert [path.name for path in workspace.iterdir()] == ["a.txt"]
        assert (tmp_path / "a.txt").exists() == (prompt == "Two.")


def test_a_tool_that_chooses_a_workspace_moves_no_other_one(session, workspace, tmp_path):
    handlers = {"glob": lambda pattern: str(use_workdir(tmp_path))}
    ask(session([call("glob", pattern="*"), "Done."], handlers=handlers))
    assert workdir() == workspace.resolve()


# ---- asking


def test_what_only_reads_is_not_asked_for(session, seen):
    ask(session([call("glob", pattern="*"), "Done."]))
    assert "question" not in seen.kinds()


def test_an_allowed_call_runs(session, seen, workspace):
    talk = session([call("write_file", path="a.txt", content="hello"), "Done."])
    talk.send("Write.")
    seen.wait_for("question")
    assert not (workspace / "a.txt").exists()
    talk.decide(True)
    talk.join(PATIENCE)
    assert (workspace / "a.txt").read_text() == "hello"


@pytest.mark.parametrize("verdict", [False, None, 1, "no", "yes", ["always"]], ids=str)
def test_a_call_that_is_not_allowed_is_answered_and_does_not_run(session, seen, workspace, verdict):
    talk = session([call("write_file", path="a.txt", content="hello"), "I see."])
    talk.send("Write.")
    seen.wait_for("question")
    talk.decide(verdict)
    talk.join(PATIENCE)
    assert not (workspace / "a.txt").exists()
    assert seen.last("tool_result")["is_error"]
    assert valid(talk.messages)


def test_always_holds_for_this_tool_until_the_session_is_reset(session, seen):
    talk = session([call("bash", command="true"), call("bash", command="true"), "Done.", call("bash", command="true")])
    talk.send("Go.")
    seen.wait_for("question")
    talk.decide("always")
    talk.join(PATIENCE)
    assert seen.count_of("question") == 1
    talk.reset()
    talk.send("Go.")
    seen.wait_for("question", 2)
    talk.stop()
    talk.join(PATIENCE)


def test_always_for_one_tool_is_not_always_for_another(session, seen):
    talk = session([call("bash", command="true"), call("write_file", path="a", content="b"), "Done."])
    talk.send("Go.")
    seen.wait_for("question")
    talk.decide("always")
    seen.wait_for("question", 2)
    talk.decide(True)
    talk.join(PATIENCE)


def test_a_question_that_was_answered_is_no_question_any_more_whenever_its_thread_goes_on(session, seen):
    talk = session([call("bash", command="true"), "Done."])
    talk.send("Go.")
    seen.wait_for("question")
    with pytest.MonkeyPatch.context() as held:
        held.setattr(talk._turn.decided, "set", lambda: None)
        talk.decide(True)
        assert talk.question is None
    talk.stop()
    talk.join(PATIENCE)


def test_an_answer_to_no_question_says_so(session):
    with pytest.raises(ValueError, match="No call is waiting"):
        session([]).decide(True)


# ---- stopping


def test_stop_at_a_question_leaves_a_valid_history(session, seen):
    talk = session([[call("bash", command="true"), call("glob", pattern="*")], "Go on."])
    talk.send("Go.")
    seen.wait_for("question")
    talk.stop()
    talk.join(PATIENCE)
    assert seen.last("end")[0] == STOPPED
    assert [block["content"] for block in talk.messages[-1]["content"]] == ["(cancelled)"] * 2
    assert valid(talk.messages)
    ask(talk, "Go on.")
    assert talk.messages[-1]["content"][0]["text"] == "Go on."


def test_stop_ends_a_running_command_and_answers_it(session, seen):
    talk = session([call("bash", command=WAITS), "Go on."], ask_before=())
    talk.send("Go.")
    seen.wait_for("tool_use")
    talk.stop()
    talk.join(PATIENCE)
    assert seen.last("end") == (STOPPED, "Stopped."), "it ended, and was not left behind"
    assert talk.messages[-1]["content"][0]["content"] == "(cancelled)"
    assert valid(talk.messages)
    ask(talk)


def test_a_tool_that_cannot_be_stopped_is_left_behind(session, seen, monkeypatch):
    monkeypatch.setattr(job, "GRACE_SECONDS", 0.1)
    free = threading.Event()

    def stubborn(path):
        while not free.is_set():
            with contextlib.suppress(KeyboardInterrupt):
                free.wait(PATIENCE)
        return "late"

    talk = session([call("read_file", path="a"), "Go on."], handlers={"read_file": stubborn})
    talk.send("Go.")
    seen.wait_for("tool_use")
    talk.stop()
    talk.join(PATIENCE)
    assert seen.last("end")[0] == STOPPED
    assert talk.messages[-1]["content"][0]["content"] == "(cancelled)"
    assert valid(talk.messages)
    ask(talk)
    history = list(talk.messages)
    free.set()
    time.sleep(0.3)  # whatever it does now must not reach the session
    assert talk.messages == history
    assert seen.count_of("end") == 2
    assert "late" not in str(seen)


def test_an_answer_that_was_left_behind_does_not_come_later(session, seen, monkeypatch):
    monkeypatch.setattr(job, "GRACE_SECONDS", 0.05)
    talk = session([call("glob", pattern="*"), {"content": "late", "slow": 0.5}], stream=False)
    talk.send("Go.")
    seen.wait_for("request", 2)
    talk.stop()
    talk.join(PATIENCE)
    assert len(talk.messages) == 3
    time.sleep(0.8)
    assert len(talk.messages) == 3


def test_stop_in_the_middle_of_an_answer_takes_the_prompt_back(session, seen):
    talk = session([{"content": "word " * 200, "slow": 0.05}, "Hello."])
    talk.send("Go.")
    seen.wait_for("text")
    talk.stop()
    talk.join(PATIENCE)
    assert talk.messages == []
    ask(talk)
    assert len(talk.messages) == 2


def test_who_waits_for_a_turn_goes_on_when_its_end_was_told(scripted, workspace):
    early, joined = [], threading.Event()

    def watch(kind, data):
        if kind == "end":
            threading.Thread(target=lambda: (session.join(PATIENCE), joined.set())).start()
            early.append(joined.wait(0.2))

    session = Session(*scripted(["Hello."]), watch=watch)
    session.send("Hello?")
    session.join(PATIENCE)
    assert joined.wait(PATIENCE)
    assert early == [False]


def test_stop_when_nothing_runs_does_nothing(session):
    talk = session([])
    talk.stop()
    assert not talk.busy


def test_stop_at_any_moment_leaves_a_valid_history(session):
    script = [[call("glob", pattern="*"), call("bash", command="true")]] * 100
    talk = session(script, ask_before=(), max_turns=40)
    for number in range(12):
        talk.send("Go.")
        time.sleep(0.003 * number)
        talk.stop()
        talk.join(PATIENCE)
        assert not talk.busy
        assert valid(talk.messages), talk.messages
        talk.reset()


@pytest.mark.skipif(os.name == "nt", reason="Windows sends Ctrl-C to a whole console")
def test_ctrl_c_while_somebody_waits_for_a_turn_stops_it(ctrl_c, session, seen, monkeypatch):
    waits, ended = threading.Event(), threading.Event()

    def endless(pattern):
        try:
            while True:
                pass
        finally:
            ended.set()

    talk = session([call("glob", pattern="*")], handlers={"glob": endless})
    talk.send("Go.")
    seen.wait_for("tool_use")
    over = talk._turn.over
    monkeypatch.setattr(over, "wait", lambda seconds, wait=over.wait: waits.set() or wait(seconds))
    ctrl_c(waits)
    with pytest.raises(Stopped, match="^Stopped.$"):
        talk.join(PATIENCE)
    assert ended.wait(PATIENCE)
    talk.join(PATIENCE)
    assert valid(talk.messages)


def test_a_stop_in_a_cell_is_one_line_without_a_traceback(tmp_path):
    code = "from s02_tool_use.lab.sessions.job import Stopped; raise Stopped('Stopped.')"
    command = [sys.executable, "-m", "IPython", "--no-banner", "--colors=nocolor", "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "IPYTHONDIR": str(tmp_path)})
    assert [line for line in done.stdout.splitlines() if line.strip()] == ["Stopped."]


# ---- failures

FAULTS = {
    "401": ({"status": 401, "message": "invalid x-api-key"}, "API_KEY"),
    "404": ({"status": 404, "message": "model: nothing"}, "MODEL_ID"),
    "429": ({"status": 429, "message": "rate", "retry_after": 7}, "7 seconds"),
    "529": ({"status": 529, "message": "Overloaded"}, "overloaded"),
    "error in the stream": ({"content": "Hello.", "stream_error": "overloaded_error"}, "broke off"),
}


@pytest.mark.parametrize(("fault", "said"), FAULTS.values(), ids=FAULTS)
def test_a_fault_gives_one_sentence_and_the_conversation_goes_on(session, seen, fault, said):
    talk = session(["One.", fault, "Three."])
    ask(talk)
    ask(talk)
    reason, sentence = seen.last("end")
    assert reason == FAILED
    assert said in sentence
    assert "\n" not in sentence
    assert len(talk.messages) == 2  # what was not answered can be asked again
    ask(talk)
    assert talk.messages[-1]["content"][0]["text"] == "Three."


def test_an_answer_that_breaks_off_is_kept_as_far_as_it_came_and_the_conversation_goes_on(session, seen):
    talk = session([{"content": "Hello. " * 50, "break_off": True}, "Three."])
    ask(talk)
    assert "broke off" in seen.last("end")[1]
    assert valid(talk.messages)
    ask(talk)
    assert talk.messages[-1]["content"][0]["text"] == "Three."


def test_a_fault_after_a_tool_keeps_what_the_tool_gave(session):
    talk = session([call("glob", pattern="*"), {"status": 529, "message": "Overloaded"}, "Done."])
    ask(talk)
    assert len(talk.messages) == 3
    assert valid(talk.messages)
    ask(talk, "go on")


def test_an_answer_with_nothing_in_it_is_said_and_leaves_no_trace(session, seen):
    talk = session([{"content": []}, [call("glob", pattern="*")], {"content": []}, "Three."])
    ask(talk)
    assert seen.last("end") == ("end_turn", "The model answered with nothing. Ask again, or choose another model.")
    assert talk.messages == []
    ask(talk)
    assert seen.last("end")[1].startswith("The model answered with nothing.")
    assert len(talk.messages) == 3
    ask(talk, "go on")
    assert valid(talk.messages)


def test_an_endpoint_that_is_not_there_gives_one_sentence(session, seen):
    talk = session(["Hello."])
    talk.client = talk.client.with_options(base_url="http://127.0.0.1:9")
    ask(talk)
    assert "No connection" in seen.last("end")[1]


def test_an_endpoint_that_does_not_answer_gives_one_sentence(session, seen):
    talk = session([{"content": "Hello.", "slow": 3}])
    talk.client = talk.client.with_options(timeout=0.2)
    ask(talk)
    assert "did not answer in time" in seen.last("end")[1]


# ---- counting


def test_tokens_are_counted_over_all_requests(session, seen):
    talk = session([call("glob", pattern="*"), "Done."])
    ask(talk)
    replies = [data.usage for kind, data in seen if kind == "reply"]
    assert talk.requests == 2
    assert talk.tokens["input_tokens"] == sum(usage.input_tokens for usage in replies)


def test_the_cost_is_known_only_if_every_price_is(session):
    talk = session(["Hello."], prices={"input_tokens": 1_000_000})
    assert talk.cost == 0
    ask(talk)
    assert talk.cost is None
    talk.prices["output_tokens"] = 0
    assert talk.cost == talk.tokens["input_tokens"]


def test_without_prices_there_is_no_cost(session):
    assert session([]).cost is None


def test_a_turn_says_where_it_departs_from_a_recording(workspace, seen, tmp_path, monkeypatch):
    monkeypatch.setenv("S02_OFFLINE", "1")
    path = tmp_path / "run.jsonl"
    recorded, model = connect(record=path)
    ask(Session(recorded, model, ask_before=()), "Count the lines of a.txt")
    replayed, model = connect(replay=path)
    ask(Session(replayed, model, watch=seen, ask_before=()), "Count the lines of b.txt")
    reason, sentence = seen.last("end")
    assert reason == "end_turn"
    assert "b.txt" in sentence
    assert "departs" in sentence
    recorded.close()
    replayed.close()


# ---- a model that calls no tool


@pytest.mark.parametrize(
    ("script", "settings", "said"),
    [
        (["Hello."], {}, "small-model called no tool. If a tool was needed"),
        ([call("glob", pattern="*"), "Done."], {}, ""),
        (["Hello."], {"tools": []}, ""),
    ],
    ids=["no call", "a call", "no tools"],
)
def test_a_live_model_that_calls_no_tool_is_told_at_the_end_of_its_first_turn(live, script, settings, said):
    talk = Session(*live([*script, "Bye."]), **settings)
    why, sentence = talk.run("Go.")
    assert (why, sentence[: len(said) or None]) == ("end_turn", said)
    assert talk.run("And now?") == ("end_turn", "")


def test_of_a_script_that_calls_no_tool_nothing_is_said(session, seen):
    talk = session(["Hello."])
    assert talk.run("Go.") == ("end_turn", "")
