"""Scripted says its lines, in order."""

import pytest

from s02_tool_use.lab.understudy import Scripted


def reply_of(*lines):
    return Scripted(list(lines)).reply({"messages": []})


def test_a_line_is_a_text_a_block_a_list_or_a_dict():
    call = {"type": "tool_use", "name": "bash", "input": {"command": "ls"}}
    text = {"type": "text", "text": "Hi"}
    assert reply_of("Hi") == {"content": [text]}
    assert reply_of(call) == {"content": [call]}
    assert reply_of(["Hi", call]) == {"content": [text, call]}
    assert reply_of({"content": "Hi", "stop_reason": "pause_turn"}) == {"content": [text], "stop_reason": "pause_turn"}
    assert reply_of({"status": 429}) == {"status": 429, "content": []}


def test_a_line_may_be_an_object_of_the_sdk():
    from anthropic.types import TextBlock

    assert reply_of(TextBlock(type="text", text="Hi")) == {"content": [{"type": "text", "text": "Hi"}]}


def test_a_line_may_be_a_function_of_the_request():
    script = Scripted([lambda request: f"You said {request['messages'][-1]['content']}"])
    assert script.reply({"messages": [{"content": "tea"}]})["content"][0]["text"] == "You said tea"


def test_a_script_that_is_used_up_says_how_long_it_was():
    script = Scripted(["one", "two"])
    replies = [script.reply({}) for _ in range(4)]
    assert [reply.get("status") for reply in replies] == [None, None, 400, 400]
    said = "The script has 2 lines, and this was request 4. Add a line, or run connect(script=...) again."
    assert replies[3]["message"] == said


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("Hello", "A script is a list of lines"),
        ([7], "line 1: 7 is neither a string nor a content block"),
        (["Hi", {"type": "tool_use", "input": {}}], "line 2: the tool_use block needs 'name'"),
        ([{"type": "text"}], "line 1: the text block needs 'text'"),
        ([[{"type": "tool_use", "name": "bash", "input": "ls"}]], "line 1: the input of a tool_use block is a dict"),
    ],
)
def test_a_line_that_cannot_be_sent_is_named_at_once(script, said):
    with pytest.raises((TypeError, ValueError), match="^.*" + said.replace("(", r"\(")):
        Scripted(script)
