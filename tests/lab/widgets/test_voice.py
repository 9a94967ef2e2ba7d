"""What each widget says to a screen reader: what happened, once, and what went wrong. The regions are tried in
tests/machine/test_accessible.py."""

import json

import pytest

from s02_tool_use.lab import Chat, HistoryLab, PathLab, Stepper, ToolBench
from s02_tool_use.lab.widgets import chat as chats
from s02_tool_use.lab.widgets import toolbench as benches

BASH = {"type": "tool_use", "name": "bash", "input": {"command": "echo told"}}
USER = [{"role": "user", "content": "Go."}]


@pytest.fixture
def heard():
    """A function that takes a panel and returns the list of what it goes on to say."""

    def listen(panel):
        said = []
        panel.voice.observe(lambda change: said.append(change.new), ["said", "warned"])
        return said

    return listen


def test_a_chat_says_that_it_works_which_tools_it_calls_and_its_answer(scripted, workspace, heard):
    chat = Chat(*scripted([["First.", BASH], "That is all."]), ask_before=())
    said = heard(chat)
    chat.session.run("Go.")
    assert said == ["The agent is at work.", "First. The agent calls bash.", "That is all."]


def test_a_chat_that_answers_the_same_again_says_it_again(scripted, workspace, heard):
    chat = Chat(*scripted(["Yes.", "Yes."]))
    said = heard(chat)
    chat.session.run("One?")
    chat.session.run("Two?")
    assert said.count("Yes.") == 2


def test_a_chat_warns_of_a_question_with_all_that_would_run_until_it_is_answered(scripted, workspace, heard):
    chat = Chat(*scripted([[BASH], "Done."]))
    said = heard(chat)
    chat.session.watch = lambda kind, data: (
        chat._happened(kind, data),
        kind == "question" and chat.session.decide(True),
    )
    chat.session.run("Go.")
    assert 'The agent wants to run bash: {"command": "echo told"}' in said
    assert (chat.voice.warned, chat.voice.said) == ("", "Done.")


def test_a_chat_says_where_the_link_to_its_file_is(scripted, workspace, heard):
    chat = Chat(*scripted([]))
    said = heard(chat)
    chat._export()
    assert said == ["Below the buttons is a link: Download conversation.json."]


def test_a_chat_says_a_fault_and_reads_no_more_of_an_answer_than_one_can_hear(scripted, workspace, heard):
    chat = Chat(*scripted([{"status": 529, "message": "Overloaded"}, "word " * 1000]))
    said = heard(chat)
    chat.session.run("Go.")
    assert "The endpoint is overloaded" in said[-1]
    chat.session.run("Go on.")
    assert len(said[-1]) < chats.MOST_SPOKEN + 40


def test_a_stepper_says_the_sentence_of_each_step_and_of_the_way_to_the_end_the_last(scripted, workspace, heard):
    stepper = Stepper(*scripted([[BASH], "Done."]), USER)
    said = heard(stepper)
    stepper.forward_button.click()
    stepper.more_button.click()  # opens a part, and is no step
    stepper.view.value = "on the wire"
    stepper.end_button.click()
    assert len(said) == 2
    assert said[0].startswith("Step 1, request built: ")
    assert said[1].startswith("Step 12, the loop ends: ")


def test_a_toolbench_says_the_result_and_an_error(workspace, heard):
    workspace.joinpath("long.txt").write_text("line\n" * 1000)
    bench = ToolBench()
    said = heard(bench)
    bench.tool.value = "read_file"
    bench.fields["path"].value = "long.txt"
    bench.run_button.click()
    assert said[-1].startswith("read_file: line")
    assert len(said[-1]) < benches.MOST_SPOKEN + 60
    bench.fields["path"].value = "none.txt"
    bench.run_button.click()
    assert said[-1].startswith("read_file is_error: ")
    bench.raw.value = "JSON"
    bench.json.value = "{"
    bench.run_button.click()
    assert bench.voice.warned.startswith("This is not JSON: ")


def test_a_pathlab_says_how_many_let_the_path_out(workspace, heard):
    lab = PathLab()
    said = heard(lab)
    lab.text.value = "notes.txt"
    lab.text.value = "../work-evil/loot.txt"
    assert said == [f"{count} of 6 versions let it out of the workspace." for count in (0, 2)]


def test_a_historylab_says_both_verdicts_and_no_verdict_on_what_is_no_history(workspace, heard):
    lab = HistoryLab()
    said = heard(lab)
    lab.text.value = json.dumps(USER)
    assert said == ["before. The API: accepted; after. The API: accepted"]
    lab.text.value = "nonsense"
    assert lab.voice.said == ""
    assert lab.voice.warned.startswith("This is neither JSON nor a Python list")
    lab.text.value = json.dumps(USER)
    assert (lab.voice.said, lab.voice.warned) == (said[0], "")


def test_what_is_said_twice_is_warned_of_twice_and_a_hidden_character_is_named(workspace, heard):
    bench = ToolBench()
    said = heard(bench)
    for _ in range(2):
        bench.guard(lambda: (_ for _ in ()).throw(ValueError("No \u202e file.")))
    assert said == ["No <U+202E> file.", "", "No <U+202E> file."]


def test_no_button_is_switched_off_because_there_is_nothing_to_stop(scripted, workspace):
    for panel in (Chat(*scripted(["Hi."])), Stepper(*scripted(["Hi."]), USER), ToolBench()):
        assert not panel.stop_button.disabled
        assert "s02-off" in panel.stop_button._dom_classes
        panel.stop_button.click()
        assert panel.voice.warned == ""
