"""What a turn says about how far it is: seconds, and tokens while they arrive."""

from types import SimpleNamespace

import pytest

from s02_tool_use import agent_steps
from s02_tool_use.lab.client import progress
from s02_tool_use.lab.sessions.session import Session


def call(name, **arguments):
    return {"type": "tool_use", "name": name, "input": arguments}


@pytest.fixture
def clock(monkeypatch):
    now = SimpleNamespace(seconds=100.0)
    monkeypatch.setattr(progress.time, "monotonic", lambda: now.seconds)
    return now


@pytest.mark.parametrize(("seconds", "said"), [(0, "0 s"), (59.9, "59 s"), (65, "1:05 min"), (3600, "60:00 min")])
def test_it_says_how_long_it_has_taken(clock, seconds, said):
    going = progress.Progress()
    clock.seconds += seconds
    assert str(going) == said


def test_what_arrives_is_counted_at_once_and_by_the_reply_at_its_end(clock):
    going = progress.Progress()
    for piece in ["a" * 3] * 8:  # 24 characters: pieces are small, so they are not rounded one by one
        going.tell("text", piece)
    assert str(going) == "0 s, 6 tokens"
    going.tell("reply", SimpleNamespace(usage=SimpleNamespace(output_tokens=1)))
    assert str(going) == "0 s, 1 token"
    going.tell("delta", "a" * 4000)
    assert str(going) == "0 s, 1,001 tokens"


def test_an_endpoint_that_counts_nothing_is_counted_by_what_came():
    going = progress.Progress()
    going.tell("text", "a" * 40)
    going.tell("reply", SimpleNamespace(usage=None))
    assert going.tokens == 10


def test_a_call_that_is_being_written_counts_before_it_is_there(scripted, workspace):
    client, model = scripted([call("write_file", path="a.txt", content="word " * 400), "Done."])
    going, counted = progress.Progress(), []
    for kind, data in agent_steps(client, model, [{"role": "user", "content": "Go."}], stream=True):
        going.tell(kind, data)
        counted.append((kind, going.tokens))
    before = counted[: [kind for kind, _ in counted].index("reply")]
    assert max(tokens for _, tokens in before) > 400


def test_a_session_has_the_progress_of_its_turn_and_shows_no_piece_of_a_call(scripted, workspace):
    client, model = scripted([call("glob", pattern="*"), "Hello."])
    seen = []
    session = Session(client, model, watch=lambda kind, data: seen.append((kind, session.progress.tokens)))
    assert session.progress is None
    session.run("Go.")
    assert session.progress is None
    assert "delta" not in dict(seen)
    assert seen[-2][1] == session.tokens["output_tokens"] > 0
