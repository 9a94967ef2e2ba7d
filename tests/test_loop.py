"""The loop, run against the scripted model over real HTTP: nothing is mocked."""

import json
import re
from unittest.mock import Mock

import pytest

from s02_tool_use import agent_loop, agent_steps
from s02_tool_use.lab.api.rules import validate


def call(name, id=None, **arguments):
    block = {"type": "tool_use", "name": name, "input": arguments}
    return {**block, "id": id} if id else block


def user(text="Go."):
    return [{"role": "user", "content": text}]


def kinds(steps):
    return [step.kind for step in steps]


def valid(model, messages):
    return validate({"model": model, "max_tokens": 100, "messages": messages}) is None


def results(messages):
    return [b for m in messages if isinstance(m["content"], list) for b in m["content"] if b["type"] == "tool_result"]


def test_a_call_is_run_and_its_result_is_sent_back(scripted, workspace):
    (workspace / "a.txt").write_text("hello\n")
    client, model = scripted([call("read_file", path="a.txt"), "It says hello."])
    messages = user()
    assert kinds(agent_steps(client, model, messages)) == [
        "request", "reply", "tool_use", "tool_result", "request", "reply", "stop",
    ]  # fmt: skip
    assert [m["role"] for m in messages] == ["user", "assistant", "user", "assistant"]
    assert "hello" in results(messages)[0]["content"]


def test_the_messages_are_plain_json_data(scripted, workspace):
    client, model = scripted([call("glob", pattern="*"), "Done."])
    messages = user()
    agent_loop(client, model, messages)
    assert json.loads(json.dumps(messages)) == messages


def test_parallel_calls_are_answered_in_one_message_in_their_order(scripted, workspace):
    client, model = scripted([[call("glob", pattern="*"), call("bash", command="echo hi")], "Done."])
    messages = user()
    agent_loop(client, model, messages)
    assert [m["role"] for m in messages] == ["user", "assistant", "user", "assistant"]
    asked = [b["id"] for b in messages[1]["content"] if b["type"] == "tool_use"]
    assert [r["tool_use_id"] for r in messages[2]["content"]] == asked


def test_an_unknown_tool_becomes_an_error_result_and_the_loop_goes_on(scripted, workspace):
    client, model = scripted([call("no_such_tool"), "I see."])
    messages = user()
    reply = agent_loop(client, model, messages)
    assert results(messages)[0]["is_error"] is True
    assert reply.content[0].text == "I see."


def test_whatever_a_handler_lets_through_every_call_has_its_answer(scripted, workspace):
    def interrupted(**_):
        raise KeyboardInterrupt

    client, model = scripted([[call("bash", command="1"), call("bash", command="2")]])
    messages = user()
    with pytest.raises(KeyboardInterrupt):
        agent_loop(client, model, messages, handlers={"bash": interrupted})
    assert [r["content"] for r in results(messages)] == ["(cancelled)", "(cancelled)"]
    assert valid(model, messages)


@pytest.mark.parametrize("stop_at", range(1, 8))
def test_a_generator_that_is_closed_anywhere_leaves_a_valid_history(scripted, workspace, stop_at):
    client, model = scripted([[call("bash", command="echo 1"), call("glob", pattern="*")], "Done."])
    messages = user()
    steps = agent_steps(client, model, messages)
    for _ in range(stop_at):
        next(steps)
    steps.close()
    assert valid(model, messages)
    assert len(results(messages)) in (0, 2)


def test_results_that_came_before_the_interruption_are_kept(scripted, workspace):
    client, model = scripted([[call("bash", command="echo first"), call("bash", command="echo second")]])
    messages = user()
    for step in agent_steps(client, model, messages):
        if step.kind == "tool_result":
            break
    first, second = results(messages)
    assert "first" in first["content"]
    assert not first.get("is_error")
    assert second["content"] == "(cancelled)"


def test_a_call_that_max_tokens_cut_off_is_never_run(scripted, workspace):
    script = [{"content": [call("bash", command="touch made")], "stop_reason": "max_tokens"}, "Shorter then."]
    client, model = scripted(script)
    messages = user()
    steps = list(agent_steps(client, model, messages))
    assert "tool_use" not in kinds(steps)
    assert not (workspace / "made").exists()
    assert "max_tokens" in results(messages)[0]["content"]
    assert steps[-1].data == "end_turn"


def test_a_refusal_ends_the_loop_with_its_calls_answered(scripted, workspace):
    client, model = scripted([{"content": [call("bash", command="touch made")], "stop_reason": "refusal"}])
    messages = user()
    steps = list(agent_steps(client, model, messages))
    assert steps[-1] == ("stop", "refusal")
    assert not (workspace / "made").exists()
    assert valid(model, messages)


def test_the_turn_limit_ends_a_model_that_repeats_itself(scripted, workspace):
    client, model = scripted([call("glob", pattern="*") for _ in range(9)])
    messages = user()
    steps = list(agent_steps(client, model, messages, max_turns=3))
    assert steps[-1] == ("stop", "max_turns")
    assert len(results(messages)) == 3
    assert valid(model, messages)


class Hostile:
    """Whatever it is asked, it raises; it even says that it is a string, by way of an error."""

    def _raise(self, *_):
        raise RuntimeError("do not ask")

    __bool__ = __eq__ = __hash__ = __len__ = __str__ = __repr__ = __iter__ = _raise
    __class__ = property(_raise)


class Reason(str):
    """A string with ideas of its own about what is in it."""

    def __str__(self):
        return ""

    strip = __len__ = None


NO = "The user did not allow this call."
VERDICTS = [
    (False, NO),
    (None, NO),
    (0, NO),
    (1, NO),
    ("", NO),
    (" \n\t", NO),
    ([], NO),
    ({"ok": True}, NO),
    (b"no", NO),
    (re.match("t", "touch"), NO),
    (Mock(spec=str), NO),
    (Hostile(), NO),
    ("Ask me first.", "Ask me first."),
    (Reason("Ask me first."), "Ask me first."),
    ("half: \ud83d", "half: \\ud83d"),
]


@pytest.mark.parametrize(("verdict", "reason"), VERDICTS, ids=[str(n) for n in range(len(VERDICTS))])
def test_a_call_is_run_only_if_approve_says_true_and_is_answered_whatever_else_it_says(
    scripted, workspace, verdict, reason
):
    client, model = scripted([call("bash", command="touch made"), "All right."])
    messages = user()
    agent_loop(client, model, messages, approve=lambda block: verdict)
    assert not (workspace / "made").exists()
    [result] = results(messages)
    assert (type(result["content"]), result["content"], result["is_error"]) == (str, reason, True)
    assert json.loads(json.dumps(messages)) == messages
    assert messages[-1]["content"][0]["text"] == "All right."
    assert valid(model, messages[:-1])


@pytest.mark.parametrize("error", [re.error("bad pattern"), SystemExit(1), KeyboardInterrupt()], ids=repr)
def test_what_approve_raises_passes_through_and_every_call_has_its_answer(scripted, workspace, error):
    def second_raises(block):
        if "second" in block["input"]["command"]:
            raise error
        return True

    client, model = scripted([[call("bash", command=f"echo {word}") for word in ("first", "second", "third")]])
    messages = user()
    with pytest.raises(type(error)):
        agent_loop(client, model, messages, approve=second_raises)
    first, *rest = results(messages)
    assert "first" in first["content"]
    assert [result["content"] for result in rest] == ["(cancelled)", "(cancelled)"]
    assert valid(model, messages)


def test_a_result_that_is_edited_before_the_loop_goes_on_is_what_is_sent(scripted, workspace):
    client, model = scripted([call("bash", command="echo real"), "Done."])
    requests = []
    for step in agent_steps(client, model, user()):
        if step.kind == "tool_result":
            step.data["content"] = "edited"
        if step.kind == "request":
            requests.append(step.data)
    assert requests[-1]["messages"][-1]["content"][0]["content"] == "edited"


def test_a_reply_that_is_edited_before_the_loop_goes_on_is_what_is_run(scripted, workspace):
    client, model = scripted([call("bash", command="echo real"), "Done."])
    messages = user()
    for step in agent_steps(client, model, messages):
        if step.kind == "reply" and len(messages) == 2:
            messages[-1]["content"][0]["input"] = {"command": "echo edited"}
    assert "edited" in results(messages)[0]["content"]


def test_a_stream_gives_its_text_in_pieces_and_ends_like_a_plain_reply(scripted, workspace):
    client, model = scripted([call("glob", pattern="*"), "One two three four five six seven."])
    messages = user()
    steps = list(agent_steps(client, model, messages, stream=True))
    pieces = [step.data for step in steps if step.kind == "text"]
    assert len(pieces) > 1
    assert "".join(pieces) == messages[-1]["content"][0]["text"]


def test_a_stream_that_breaks_off_before_its_first_word_leaves_a_valid_history(scripted):
    client, model = scripted(
        [{"content": [" ", call("bash", command="touch made")], "stop_reason": "max_tokens"}, "Done."]
    )
    messages = user()
    list(agent_steps(client, model, messages, stream=True))
    assert {"type": "text", "text": " "} not in messages[1]["content"]
    assert valid(model, [*messages, *user("Thanks.")])


def test_an_error_of_the_api_passes_through_and_leaves_the_history_as_it_was(scripted):
    import anthropic

    client, model = scripted([{"error": 529}])
    messages = user()
    with pytest.raises(anthropic.APIStatusError):
        agent_loop(client, model, messages)
    assert messages == user()


def test_a_broken_history_is_fixed_on_the_way_out_and_left_alone_in_the_list(scripted, workspace):
    client, model = scripted(["Hello again."])
    messages = [*user(), {"role": "assistant", "content": [call("glob", id="toolu_09", pattern="*")]}, *user("Stop.")]
    agent_loop(client, model, messages)
    assert messages[2] == user("Stop.")[0]
    assert messages[-1]["content"][0]["text"] == "Hello again."


def test_a_reply_that_thinks_between_its_calls_goes_back_as_it_came(scripted, workspace):
    thinking = {"type": "thinking", "thinking": "Both.", "signature": "c2ln"}
    calls = [thinking, call("glob", "toolu_1", pattern="a"), thinking, call("glob", "toolu_2", pattern="b")]
    client, model = scripted([calls, "Done."])
    messages, requests = user(), []
    for step in agent_steps(client, model, messages):
        requests += [step.data] if step.kind == "request" else []
    blocks = requests[1]["messages"][1]["content"]
    assert [block.get("id", "thinking") for block in blocks] == ["thinking", "toolu_1", "thinking", "toolu_2"]
    assert requests[1]["messages"] == messages[:3]


def test_a_block_that_is_newer_than_this_course_goes_back_as_it_came(scripted, workspace):
    new = {"type": "thought_of_2030", "data": [None, 1]}
    client, model = scripted([[new, call("glob", pattern="*")], "Done."])
    messages = user()
    steps = agent_steps(client, model, messages)
    assert [next(steps).kind for _ in range(4)] == ["request", "reply", "tool_use", "tool_result"]
    assert next(steps).data["messages"][1]["content"][0] == new


@pytest.mark.parametrize("system", ["Be brief.", [{"type": "text", "text": "Be brief."}]], ids=type)
def test_a_system_message_that_the_model_does_not_take_goes_beside_the_list(scripted, workspace, system):
    client, model = scripted(["Yes."])
    messages = [*user(), {"role": "system", "content": "Be kind."}]
    steps = agent_steps(client, model, messages, system=system)
    request = next(steps).data
    assert request["system"] == [{"type": "text", "text": words} for words in ("Be brief.", "Be kind.")]
    assert request["messages"] == user()
    assert kinds(steps) == ["reply", "stop"]


def test_a_system_message_stays_where_the_model_takes_it(scripted, workspace):
    client, _ = scripted(["Yes."])
    messages = [*user(), {"role": "system", "content": "Be kind."}]
    request = next(agent_steps(client, "claude-opus-4-8", messages, system="Be brief.")).data
    assert request["system"] == "Be brief."
    assert request["messages"] == messages


def test_a_paused_turn_goes_back_as_it_is_and_the_model_goes_on_with_it(scripted, workspace):
    search = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "tea"}}
    client, model = scripted([{"content": [search], "stop_reason": "pause_turn"}, "Found it."])
    messages = user()
    steps = list(agent_steps(client, model, messages))
    assert [step.kind for step in steps] == ["request", "reply", "request", "reply", "stop"]
    assert [message["role"] for message in steps[2].data["messages"]] == ["user", "assistant"]
    assert steps[-1].data == "end_turn"


def test_a_turn_without_content_is_not_appended(scripted, workspace):
    client, model = scripted([{"content": [], "stop_reason": "end_turn"}])
    messages = user()
    assert kinds(agent_steps(client, model, messages)) == ["request", "reply", "stop"]
    assert messages == user()


def test_a_typed_function_is_offered_and_run_as_a_tool(scripted, workspace):
    def add(a: int, b: int) -> int:
        """Add two numbers."""
        return a + b

    client, model = scripted([[call("add", a=2, b="3")], "Five."])
    messages = user()
    request = next(steps := agent_steps(client, model, messages, tools=[add]))
    list(steps)
    assert [tool["name"] for tool in request.data["tools"]] == ["add"]
    assert results(messages)[0]["content"] == "5"
