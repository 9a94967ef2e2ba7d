"""What a model or a file says is shown as it is, on every surface: nothing hides, and no line is turned around."""

import base64
import html
import io
import json

import pytest
from waiting import PATIENCE_SECONDS as PATIENCE

from s02_tool_use.bash.program import which_bash
from s02_tool_use.lab import Chat, HistoryLab, PathLab, Stepper, ToolBench, check, connect, show, terminal
from s02_tool_use.lab.client import faults
from s02_tool_use.lab.widgets.panel import Panel

BAD = "exe.png\u202egnp.exe;\u200b \u2066rm\ufeff"
RAW = set("\u202e\u200b\u2066\ufeff")
CALL = {"type": "tool_use", "name": "bash", "input": {"command": f"echo '{BAD}'"}}
SCRIPT = [[{"type": "text", "text": BAD}, CALL], f"Done: {BAD}"]
HISTORY = [
    {"role": "user", "content": BAD},
    {"role": "assistant", "content": [{"type": "text", "text": BAD}, {**CALL, "id": f"toolu_{BAD}", "name": BAD}]},
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": f"toolu_{BAD}", "content": BAD}]},
]


def function_with_a_hidden_character():
    return "a‮b"  # U+202E


def fails(text, limit):
    raise ValueError(BAD)


def shows(*texts):
    """The texts together hold the hidden characters, drawn, and none of them as it is."""
    together = "\n".join(map(str, texts))
    for character in RAW:
        before, found, _ = together.partition(character)
        assert not found, ascii(before[-200:] + found)
    assert "<U+202E>" in html.unescape(together)


def widget_texts(panel):
    """Each string that the page gets for a panel."""

    def every(widget):
        yield widget
        for child in getattr(widget, "children", ()):
            yield from every(child)

    states = [part.get_state() for part in every(panel)]
    return [str(value) for state in states for name, value in state.items() if name != "placeholder"]


DRAWINGS = {
    "messages": lambda: show.show_messages(HISTORY),
    "diff of texts": lambda: show.show_diff("one", BAD),
    "diff of histories": lambda: show.show_diff(HISTORY, HISTORY[:1]),
    "source": lambda: show.show_source(function_with_a_hidden_character),
    "table": lambda: show.show_table([BAD, "b"], [[BAD, 1]]),
    "verdict": lambda: check.read(fails),
}


@pytest.mark.parametrize("draw", DRAWINGS.values(), ids=DRAWINGS)
def test_in_a_drawing(draw):
    drawn = draw()
    shows(repr(drawn))
    shows(drawn._repr_html_())
    assert "<U+" not in drawn._repr_html_()


def test_in_the_sentence_about_an_error():
    shows(faults.explain(ValueError(BAD)))
    panel = Panel([])
    panel.complain(BAD)
    shows(panel.notice.value)
    assert "<U+" not in panel.notice.value


def hostile_name(folder):
    (folder / f"a{BAD}.txt").write_text("x")
    return f"a{BAD}.txt"


def path_lab(scripted, workspace):
    panel = PathLab()
    hostile_name(panel.room.root)
    panel.text.value = "*.txt"
    panel.kind.value = "pattern"
    panel.text.value = "*.txt"
    panel.place.draw(panel._place())
    return panel


def stepper(scripted, workspace):
    panel = Stepper(*scripted(SCRIPT), [{"role": "user", "content": BAD}], approve=lambda block: BAD)
    panel._to_end()
    return panel


def tool_bench(scripted, workspace):
    tool = {"name": "echo", "description": BAD, "input_schema": {"type": "object", "properties": {}}}
    panel = ToolBench([tool], {"echo": lambda: BAD})
    panel._run()
    return panel


WIDGETS = {
    "PathLab": path_lab,
    "Stepper": stepper,
    "ToolBench": tool_bench,
    "HistoryLab": lambda scripted, workspace: HistoryLab(HISTORY),
}


@pytest.mark.parametrize("make", WIDGETS.values(), ids=WIDGETS)
def test_in_a_widget(make, scripted, workspace):
    panel = make(scripted, workspace)
    shows(repr(panel))
    shows(*widget_texts(panel))


def test_the_editor_of_a_step_writes_it_as_json_does_and_an_edit_keeps_it(scripted, workspace):
    hidden = BAD + "\U000e0041\x7f"
    panel = Stepper(*scripted([hidden]), [{"role": "user", "content": "Go."}])
    while panel.run.stage.kind != "reply":
        panel._forward()
    assert not RAW & set(panel.text.value)
    assert "\\u202e" in panel.text.value
    assert json.loads(panel.text.value)[0]["text"] == hidden


def chat_that_asks(scripted, script):
    panel = Chat(*scripted(script))
    panel.prompt.value = "Go."
    panel._submit()
    turn = panel.session._turn
    while not (panel.asked.value or turn.over.wait(0.01)):  # drawn a moment after the turn has it
        pass
    return panel


def test_in_a_chat_before_and_after_it_was_asked(scripted, workspace):
    panel = chat_that_asks(scripted, SCRIPT)
    shows(panel.asked.value)
    shows(*widget_texts(panel))
    panel._decide(True)
    panel.join(PATIENCE)
    shows(*widget_texts(panel))
    shows(repr(panel))
    panel._export()  # a file is no drawing: it holds what was said
    data = base64.b64decode(panel.link.value.split("base64,")[1].split('"')[0])
    assert json.loads(data) == panel.messages
    assert BAD in data.decode()


@pytest.mark.parametrize("long", [False, True])
def test_a_chat_asks_with_every_joiner_drawn_and_nothing_folded(scripted, workspace, long):
    command = "echo 👩\u200d💻 می\u200cخواهم" + "\n# more" * 40 * long
    panel = chat_that_asks(scripted, [[{**CALL, "input": {"command": command}}]])
    assert "👩&lt;U+200D&gt;💻 می&lt;U+200C&gt;خواهم" in panel.asked.value
    assert "<details" not in panel.asked.value
    panel.session.stop()
    panel.join(PATIENCE)


def terminal_run(scripted, script, *lines, single=False):
    """What a terminal shows, the question included."""
    out, lines = io.StringIO(), iter(lines)

    def read(prompt):
        line = next(lines, None)
        if line is None:
            raise EOFError
        return line

    def ask(text):
        out.write(text)
        return "y"

    chat = terminal.TerminalChat(*scripted(script), read=read, ask=ask, out=out, single=single)
    if single:
        chat.answer(lines)
    else:
        chat.talk()
    return out.getvalue()


def test_in_a_terminal(scripted, workspace):
    said = terminal_run(scripted, SCRIPT, "Go.", "/messages", "/" + "nothing")
    shows(said)
    # Two answers, the call, its result, and the whole conversation; cmd's own echo has no such letters.
    assert said.count("<U+202E>") >= (7 if which_bash() else 6)
    shows(said.split("Run bash?")[0].split("> bash")[1])


def test_a_terminal_asks_with_every_joiner_drawn_and_answers_without(scripted, workspace):
    joined = "👩\u200d💻 می\u200cخواهم"
    said = terminal_run(scripted, [[{**CALL, "input": {"command": f"echo {joined}"}}], joined * 30], "Go.")
    assert "👩<U+200D>💻 می<U+200C>خواهم" in said.split("Run bash?")[0]
    assert joined * 30 in said  # it arrives in pieces, cut anywhere


def test_the_answer_to_one_prompt_is_drawn_as_well(workspace, monkeypatch, capsys):
    client, model = connect([f"Done: {BAD}"])
    monkeypatch.setattr("s02_tool_use.lab.client.connect", lambda **_: (client, model), raising=False)
    assert terminal.main(["-p", "Go.", "--workdir", str(workspace)]) == 0
    shows(capsys.readouterr().out)
    client.close()
