"""What a page shows of a reply, whatever a model made of it."""

import pytest

from s02_tool_use import agent_loop
from s02_tool_use.lab.client.replies import NO_TEXT, text_of, with_call

CALL = {"type": "tool_use", "name": "glob", "input": {"pattern": "*"}}
THINKING = {"type": "thinking", "thinking": "Hm.", "signature": "s"}
HELLO = {"role": "user", "content": "Hello"}
BASH = {"name": "bash", "input_schema": {"type": "object"}}


def say(client, model, messages=(HELLO,)):
    return client.messages.create(model=model, max_tokens=300, messages=list(messages), tools=[BASH])


@pytest.mark.parametrize(
    ("content", "text"),
    [(["One."], "One."), ([THINKING, "One."], "One."), (["One.", CALL], "One."), ([CALL], NO_TEXT)],
)
def test_the_text_of_a_reply_is_found_wherever_it_stands(scripted, content, text):
    reply = say(*scripted([content]))
    assert text_of(reply) == text
    assert text_of([HELLO, {"role": "assistant", "content": reply.to_dict()["content"]}]) == text
    assert text_of([HELLO, {"role": "assistant", "content": reply.content}]) == text


def test_a_conversation_to_which_nothing_was_said_says_so():
    assert text_of([HELLO]) == NO_TEXT
    assert text_of([HELLO, {"role": "assistant", "content": "Hi."}]) == "Hi."


def test_a_call_that_a_reply_has_stays_the_only_one(scripted, capsys):
    client, model = scripted([["I look.", CALL]])
    capsys.readouterr()
    reply = say(client, model)
    assert with_call(reply, "bash", command="ls") is reply
    assert not capsys.readouterr().out


def test_a_call_that_is_missing_is_stood_in_for_and_can_be_answered(scripted, capsys, workspace):
    client, model = scripted(["There are some.", "Three files."])
    capsys.readouterr()
    reply = with_call(say(client, model), "bash", command="ls")
    assert capsys.readouterr().out == (
        "This reply calls no tool, so a call stands in for its own: bash {'command': 'ls'}\n"
        "README names models that call tools.\n"
    )
    (call,) = [block for block in reply.content if block.type == "tool_use"]
    assert (reply.stop_reason, reply.content[0].text, call.input) == ("tool_use", "There are some.", {"command": "ls"})
    result = {"type": "tool_result", "tool_use_id": call.id, "content": "a b c"}
    messages = [HELLO, {"role": "assistant", "content": reply.content}, {"role": "user", "content": [result]}]
    assert text_of(agent_loop(client, model, messages)) == "Three files."
