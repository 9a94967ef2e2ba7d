"""The widgets without a browser: what their parts show after clicks, in a plain Python and in an event loop."""

import asyncio
import base64
import html
import json
import os
import re
import threading
import time

import ipywidgets
import pytest
from systems import WAITS
from waiting import PATIENCE_SECONDS as PATIENCE

from s02_tool_use.lab import Chat, HistoryLab, PathLab, Stepper, ToolBench, connect, widgets
from s02_tool_use.lab.api.rules import validate
from s02_tool_use.lab.api.server import Server
from s02_tool_use.lab.sessions import job
from s02_tool_use.lab.sessions.job import Stopped
from s02_tool_use.lab.understudy import Scripted
from s02_tool_use.lab.widgets import escapes
from s02_tool_use.lab.widgets import panel as panels


def call(name, **arguments):
    return {"type": "tool_use", "name": name, "input": arguments}


def user(text="Go."):
    return [{"role": "user", "content": text}]


def shown(panel):
    """The text of everything in a panel that is HTML, hidden parts aside."""

    def parts(widget):
        if getattr(widget.layout, "display", None) == "none":
            return
        if isinstance(widget, ipywidgets.HTML):
            yield re.sub("<[^>]*>", " ", widget.value)
        for child in getattr(widget, "children", ()):
            yield from parts(child)

    return "\n".join(parts(panel))


def press(panel, label):
    """Click the button with this label, wherever it is in the panel."""
    found = [w for w in every(panel) if isinstance(w, ipywidgets.Button) and w.description == label]
    assert len(found) == 1, label
    assert not found[0].disabled, label
    found[0].click()


def every(widget):
    yield widget
    for child in getattr(widget, "children", ()):
        yield from every(child)


def drawings(widget):
    return [part for part in every(widget) if isinstance(part, ipywidgets.HTML)]


@pytest.fixture
def panel(request, scripted, workspace):
    """One of each kind, by name."""
    client, model = scripted(["Hello."])
    makers = {
        "Chat": lambda: Chat(client, model),
        "HistoryLab": HistoryLab,
        "PathLab": PathLab,
        "Stepper": lambda: Stepper(client, model, user()),
        "ToolBench": ToolBench,
    }
    return makers[request.param]()


every_kind = pytest.mark.parametrize("panel", widgets.__all__, indirect=True)


# ---- what all have in common


@every_kind
def test_a_widget_brings_html_and_text_beside_its_view(panel):
    bundle = panel._repr_mimebundle_()
    assert set(bundle) == {"application/vnd.jupyter.widget-view+json", "text/html", "text/plain"}
    assert bundle["text/plain"] == repr(panel)
    assert not re.search(r"[a-f0-9]{16}|/tmp", bundle["text/html"] + bundle["text/plain"]), "must repeat exactly"


@every_kind
def test_no_method_of_ours_stands_in_the_place_of_one_that_widgets_call(panel):
    ours = {name for kind in type(panel).__mro__ if kind.__module__.startswith("s02") for name in vars(kind)}
    theirs = {name for kind in type(panel).__mro__ if kind.__module__.startswith("ipywidgets") for name in vars(kind)}
    both = {name for name in ours & theirs if callable(getattr(panel, name)) and not name.startswith("__")}
    assert both == {"_repr_mimebundle_"}


@every_kind
def test_every_control_says_what_it_is_for(panel):
    for part in every(panel):
        if isinstance(part, (ipywidgets.Button, ipywidgets.Dropdown, ipywidgets.Checkbox, ipywidgets.ToggleButtons)):
            assert part.description
        if isinstance(part, (ipywidgets.Text, ipywidgets.Textarea)):
            assert part.description or part.placeholder


@every_kind
def test_no_widget_brings_a_script_or_a_ground_of_its_own(panel):
    for part in every(panel):
        if isinstance(part, ipywidgets.HTML):
            assert "<script" not in part.value
            assert "background:#fff" not in part.value


@every_kind
def test_an_error_in_a_callback_is_shown_in_one_sentence(panel, monkeypatch):
    from s02_tool_use.lab.widgets.panel import guarded

    def broken(self):
        raise RuntimeError("the drawing failed\nwith details")

    guarded(broken)(panel)
    assert "This did not work: RuntimeError: the drawing failed" in shown(panel)
    assert "details" not in shown(panel)
    guarded(lambda self: None)(panel)
    assert "RuntimeError" not in shown(panel), "the next click takes it away"


# ---- Stepper


@pytest.fixture
def stepper(scripted, workspace):
    (workspace / "a.txt").write_text("hello\n")

    def make(script=None, **settings):
        script = script or [call("read_file", path="a.txt"), "It says hello."]
        client, model = scripted(script)
        return Stepper(client, model, user("Read a.txt."), **settings)

    return make


def forward(panel, to):
    for _ in range(50):
        if panel.run.stage.kind == to:
            return
        press(panel, "Forward ▶")
    raise AssertionError(f"{to} never came")


def test_forward_and_back_show_what_happened(stepper):
    panel = stepper()
    forward(panel, "reply")
    assert "waits for its result" in shown(panel)
    press(panel, "◀ Back")
    assert "waits for its result" not in shown(panel)
    assert "step 3 sent" in re.sub(" +", " ", shown(panel))


def test_to_the_end_shows_the_answer_and_forward_from_there_does_nothing(stepper):
    panel = stepper()
    press(panel, "To the end ▶▶")
    assert "It says hello." in shown(panel)
    before = shown(panel)
    press(panel, "Forward ▶")
    assert shown(panel) == before


def test_no_button_that_was_just_pressed_is_switched_off(stepper):
    panel = stepper()  # it would lose the keyboard's focus
    for label in ("Forward ▶", "◀ Back", "To the end ▶▶"):
        press(panel, label)
        press(panel, label)


def test_a_step_can_be_chosen_from_the_list(stepper):
    panel = stepper()
    press(panel, "To the end ▶▶")
    panel.step.value = 4
    assert panel.run.stage.kind == "reply"


def test_the_wire_is_shown_as_json(stepper):
    panel = stepper()
    forward(panel, "sent")
    panel.view.value = "on the wire"
    assert "&quot;max_tokens&quot;" in panel.shown.value


def test_the_source_of_the_handler_is_shown(stepper):
    panel = stepper()
    forward(panel, "lookup")
    panel.view.value = "handler"
    assert "def run_read(" in re.sub("<[^>]*>", "", panel.shown.value)


def test_what_changed_is_shown(stepper):
    panel = stepper()
    forward(panel, "appended")
    panel.view.value = "what changed"
    assert "hello" in shown(panel)


def test_an_edited_result_goes_on(stepper):
    panel = stepper(
        [call("read_file", path="a.txt"), lambda request: str(request["messages"][-1]["content"][0]["content"])]
    )
    forward(panel, "result")
    panel.text.value = panel.text.value.replace("hello", "goodbye")
    press(panel, "Use this instead")
    press(panel, "To the end ▶▶")
    assert "goodbye" in panel.messages[-1]["content"][0]["text"]


def test_an_edit_in_the_past_makes_a_second_run_and_keeps_the_first(stepper):
    panel = stepper()
    press(panel, "To the end ▶▶")
    panel.step.value = [s.kind for s in panel.run.stages].index("result")
    panel.text.value = panel.text.value.replace("hello", "goodbye")
    press(panel, "Use this instead")
    assert len(panel.runs) == 2
    assert panel.which.layout.display == ""
    panel.which.value = 0
    assert "hello" in str(panel.run.stages[-1].messages)


def test_an_edit_that_is_no_json_says_so_and_changes_nothing(stepper):
    panel = stepper()
    forward(panel, "result")
    panel.text.value = "{"
    press(panel, "Use this instead")
    assert "This is not JSON" in shown(panel)
    assert len(panel.run.stages) == 7


def test_a_fork_goes_on_by_itself(stepper):
    panel = stepper()
    press(panel, "To the end ▶▶")
    panel.step.value = 4
    press(panel, "Fork here")
    press(panel, "To the end ▶▶")
    assert [len(run.stages) for run in panel.runs] == [13, 13]


def test_a_saved_conversation_can_be_walked_and_not_edited():
    panel = Stepper(messages=[*user(), {"role": "assistant", "content": "Hello."}])
    press(panel, "To the end ▶▶")
    assert "Hello." in shown(panel)
    assert panel.editor.layout.display == "none"
    assert panel.fork_button.disabled


def test_a_failed_request_is_told_and_tried_again(stepper):
    panel = stepper([{"status": 529, "message": "Overloaded"}, "Hello."])
    press(panel, "To the end ▶▶")
    assert "overloaded" in shown(panel)
    press(panel, "To the end ▶▶")
    assert "Hello." in shown(panel)


def lit(panel):
    """What is lit in the picture: the words on a filled ground."""
    return re.findall('<text[^>]*fill="#fff"[^>]*>(.*?)</text>', panel.picture.value)


def test_each_stage_is_lit_in_the_picture_with_the_turn_and_who_answers(stepper):
    panel, seen = stepper(), []
    while not panel.run.ended:
        press(panel, "Forward ▶")
        seen += lit(panel)
    turn = ["1 built", "2 normalised", "3 sent", "4 reply"]
    whole = [*turn, "5 handler", "6 result", "7 appended", *turn, "no tool_use: the loop ends"]
    assert seen == [word.replace("no tool_use: ", "") for word in whole]
    assert ">turn 2</text>" in panel.picture.value
    assert ">a script</text>" in panel.picture.value


def test_the_arrow_of_a_call_waits_until_its_result_is_there(stepper):
    panel = stepper([[call("read_file", path="a.txt"), call("read_file", path="no.txt")], "Done."])
    ends = {}
    while panel.run.stage.kind != "appended":
        press(panel, "Forward ▶")
        words = re.findall("<text[^>]*>(.*?)</text>", panel.picture.value)
        ends[panel.run.at] = [words[at + 1] for at, word in enumerate(words) if word.endswith(" tool_result")]
    assert [ends[at] for at in sorted(ends)] == [
        *3 * [[]],
        *2 * [["waits", "waits"]],
        *2 * [["done", "waits"]],
        *2 * [["done", "is_error"]],
    ]


def test_a_failed_request_is_lit_where_it_failed(stepper):
    panel = stepper([{"status": 529, "message": "Overloaded"}, "Hello."])
    press(panel, "To the end ▶▶")
    assert lit(panel) == ["3 sent"]


def test_a_saved_conversation_does_not_say_who_answered_it():
    panel = Stepper(messages=[*user(), {"role": "assistant", "content": [{**call("glob"), "id": "toolu_1"}]}])
    press(panel, "To the end ▶▶")
    words = re.findall("<text[^>]*>(.*?)</text>", panel.picture.value)
    assert "a saved conversation" in words
    assert lit(panel) == ["the saved list ends"]
    press(panel, "◀ Back")
    assert "no result" in re.findall("<text[^>]*>(.*?)</text>", panel.picture.value)


def test_one_turn_stops_where_the_results_are_in_the_list_and_at_the_end(stepper):
    panel = stepper()
    press(panel, "One turn ▶")
    assert panel.run.stage.kind == "appended"
    press(panel, "One turn ▶")
    assert panel.run.stage.kind == "stop"
    press(panel, "One turn ▶")
    assert panel.run.stage.kind == "stop"


def test_only_what_is_new_stands_open(stepper):
    panel = stepper()
    forward(panel, "result")
    opened = panel.newest.value.split("border-left")[1:]
    assert len(opened) == 1
    assert "hello" in opened[0]
    assert "Read a.txt." in panel.newest.value.split("border-left")[0]


def test_the_rest_is_folded_until_it_is_asked_for(stepper):
    panel = stepper()
    assert panel.more.layout.display == "none"
    press(panel, "More ▾")
    assert panel.more.layout.display == ""
    press(panel, "Less ▴")
    assert panel.more.layout.display == "none"


def test_played_it_goes_to_the_end_by_itself_and_can_be_paused(stepper, monkeypatch):
    from s02_tool_use.lab.widgets import stepper as module

    monkeypatch.setattr(module, "PLAY_SECONDS", 0)
    at_call = threading.Event()
    free = threading.Event()

    def waits(path):
        at_call.set()
        assert free.wait(PATIENCE)
        return "hello"

    async def main():
        panel = stepper(handlers={"read_file": waits})
        press(panel, "Play ▶")
        await until(at_call.is_set)
        press(panel, "Pause ❚❚")
        free.set()
        await until(lambda: not panel.busy)
        assert panel.run.stage.kind == "result"
        assert not panel.playing
        press(panel, "Play ▶")
        await until(lambda: panel.run.ended and not panel.playing)
        assert "It says hello." in shown(panel)
        assert panel.play_button.description == "Play ▶"

    try:
        asyncio.run(main())
    finally:
        free.set()


def test_played_it_stops_where_it_failed(stepper, monkeypatch):
    from s02_tool_use.lab.widgets import stepper as module

    monkeypatch.setattr(module, "PLAY_SECONDS", 0)

    async def main():
        panel = stepper([{"status": 529, "message": "Overloaded"}, "Hello."])
        press(panel, "Play ▶")
        await until(lambda: panel.run.stage.kind == "failed" and not panel.playing)
        press(panel, "Play ▶")
        await until(lambda: panel.run.ended)

    asyncio.run(main())


def test_without_a_kernel_it_is_played_at_once(stepper):
    panel = stepper()
    press(panel, "Play ▶")
    assert panel.run.ended


def test_the_saved_page_of_a_stepper_has_the_picture_and_its_words(stepper):
    panel = stepper()
    forward(panel, "reply")
    bundle = panel._repr_mimebundle_()
    assert '<img alt="The loop: ' in bundle["text/html"]
    assert "[4 reply]" in bundle["text/plain"]
    assert "[4 reply]" in re.sub("<[^>]*>", "", bundle["text/html"])


def test_a_stepper_of_nothing_says_what_to_give():
    with pytest.raises(ValueError, match="Give it a conversation"):
        Stepper()


# ---- PathLab


def row_of(panel, version):
    rows = re.findall(r"<tr>(.*?)</tr>", panel.table.value)
    return next(re.sub("<[^>]*>", " ", row) for row in rows if f">{version}<" in row)


def test_a_path_is_judged_by_each_version():
    panel = PathLab("../secret.txt")
    assert "ESCAPED" in row_of(panel, "root / p")
    assert "refused" in row_of(panel, "safe_path")


def test_without_the_neighbour_there_is_no_neighbour():
    panel = PathLab("../work-evil/loot.txt")
    assert "ESCAPED" in row_of(panel, "normpath, startswith")
    panel.layouts[0].value = False
    assert "loot.txt" not in panel.place.value


def test_a_pattern_is_judged_by_each_search():
    panel = PathLab("../*.txt", kind="pattern")
    assert "ESCAPED" in row_of(panel, "glob(pattern)")
    assert "refused" in row_of(panel, "run_glob")


def test_an_example_is_tried_when_it_is_chosen():
    panel = PathLab()
    panel.examples.value = "v1..v2.diff"
    assert "inside" in row_of(panel, "safe_path")


def test_the_workspace_of_the_notebook_stays_the_workspace(workspace):
    from s02_tool_use.workspace import workdir

    PathLab("notes.txt").room.close()
    assert workdir() == workspace.resolve()


@pytest.mark.skipif(os.name == "nt", reason="Windows sends Ctrl-C to a whole console")
def test_ctrl_c_ends_a_search_without_end_and_is_one_sentence(ctrl_c, monkeypatch):
    begun, ended = threading.Event(), threading.Event()

    def endless(root, pattern):
        try:
            while True:
                begun.set()
        finally:
            ended.set()

    panel = PathLab("*.txt", "pattern")
    monkeypatch.setitem(escapes.GLOBS, "glob(pattern)", endless)
    monkeypatch.setattr(escapes, "DEADLINE_SECONDS", PATIENCE)
    ctrl_c(begun)
    with pytest.raises(Stopped, match="^Stopped.$"):
        panel.text.value = "**"
    assert ended.wait(PATIENCE)
    assert "Stopped." in shown(panel)
    panel.room.close()


# ---- HistoryLab


def test_a_history_is_fixed_by_all_passes_and_by_one_less_it_is_not():
    panel = HistoryLab()
    assert "after  The API: accepted" in shown(panel)
    panel.switches["answer_every_call"].value = False
    assert "after  The API: messages.1: `tool_use` ids were found" in shown(panel)


def test_what_was_repaired_is_listed():
    assert "answered toolu_01AAAA: (cancelled)" in shown(HistoryLab())


def test_a_history_can_be_pasted_as_json_or_as_python():
    panel = HistoryLab(user())
    assert "nothing to repair" in shown(panel)
    panel.text.value = "[{'role': 'user', 'content': 'Hi.', '_when': None}]"
    assert "_when" in panel.repairs.value
    assert panel.after == user("Hi.")


@pytest.mark.parametrize("typed", ["[{", "nonsense", "{}", "3", "[" * 5000, "[" * 100_000 + "]" * 100_000])
def test_above_what_is_no_history_no_verdict_stays(typed):
    panel = HistoryLab()
    panel.text.value = typed
    no = "neither JSON nor a Python list|list of messages|recursion"
    assert re.search(no, panel.repairs.value), "where the eye is"
    assert "The API" not in shown(panel)
    assert panel.after == []
    assert re.search(no, repr(panel)), "it can be shown in another cell"
    panel.text.value = '[{"role": "user", "content": "Hi."}]'
    assert "after  The API: accepted" in shown(panel)


def test_lists_in_lists_are_answered_with_a_sentence():
    panel = HistoryLab()
    panel.text.value = "[" * 900 + "]" * 900  # Python 3.12 and newer read and judge it
    assert re.search("recursion|message 0 is a list", panel.repairs.value)


def test_a_history_that_nobody_can_fix_is_told():
    panel = HistoryLab([{"role": "tool", "content": "?"}])
    assert "tool" in panel.repairs.value
    assert panel.after == []


# ---- ToolBench


def test_the_form_follows_the_schema():
    bench = ToolBench()
    bench.tool.value = "edit_file"
    assert list(bench.fields) == ["path", "old_text", "new_text", "replace_all"]


def test_a_tool_runs_with_what_was_typed(workspace):
    (workspace / "a.txt").write_text("one\ntwo\n")
    bench = ToolBench()
    bench.tool.value = "read_file"
    bench.fields["path"].value, bench.fields["limit"].value = "a.txt", "1"
    press(bench, "Run")
    assert bench.block == {
        "type": "tool_use",
        "id": "toolu_01",
        "name": "read_file",
        "input": {"path": "a.txt", "limit": 1},
    }
    assert bench.result["content"].startswith("one\n")
    assert "tool_result" in shown(bench)


def test_a_fault_is_a_result_and_no_error_of_the_bench(workspace):
    bench = ToolBench()
    bench.tool.value = "read_file"
    press(bench, "Run")
    assert bench.result["is_error"]
    assert bench.notice.value == ""


def test_any_input_can_be_sent_as_json(workspace):
    bench = ToolBench()
    bench.raw.value = "JSON"
    bench.json.value = '{"command": 3, "more": []}'
    press(bench, "Run")
    assert bench.result["is_error"]
    bench.json.value = "{"
    press(bench, "Run")
    assert "This is not JSON" in shown(bench)


def test_a_field_of_several_types_takes_json_and_an_empty_one_is_null():
    properties = {"limit": {"type": ["integer", "null"]}, "key": {"type": ["integer", "string"]}}
    bench = ToolBench([{"name": "t", "input_schema": {"properties": properties}}])
    assert [bench.fields[name].placeholder for name in ("limit", "key")] == ["integer", "any"]


def test_a_tool_of_your_own_has_its_form():
    def shout(text, times=1, loud=False):
        return (text.upper() if loud else text) * times

    properties = {"text": {"type": "string"}, "times": {"type": "integer"}, "loud": {"type": "boolean"}}
    tool = {"name": "shout", "input_schema": {"type": "object", "properties": properties, "required": ["text"]}}
    bench = ToolBench([tool], {"shout": shout})
    bench.fields["text"].value, bench.fields["times"].value, bench.fields["loud"].value = "hi", "2", True
    press(bench, "Run")
    assert bench.result["content"] == "HIHI"


# ---- Chat


@pytest.fixture
def chat(scripted, workspace):
    def make(script, **settings):
        client, model = scripted(script)
        return Chat(client, model, **settings)

    return make


def ask(panel, text="Go."):
    panel.prompt.value = text
    press(panel, "Send")
    panel.join(PATIENCE)


def wait_for_question(panel):
    end = time.monotonic() + PATIENCE
    while panel.question.layout.display == "none" and time.monotonic() < end:
        time.sleep(0.01)
    assert panel.question.layout.display == ""


def test_what_was_said_is_shown_with_each_result_folded_under_its_call(chat, workspace):
    (workspace / "a.txt").write_text("hello\nworld\n")
    panel = chat([["I'll look.", call("read_file", path="a.txt")], "It says hello."])
    ask(panel, "What is in a.txt?")
    assert panel.prompt.value == ""
    said = shown(panel)
    assert [text in said for text in ("What is in a.txt?", "I&#x27;ll look.", "It says hello.")] == [True] * 3
    call_drawn = next(child.value for child in drawings(panel.turns) if "read_file" in child.value)
    assert "<details><summary>" in call_drawn
    assert "world" in call_drawn


def test_a_command_waits_to_be_allowed_and_runs_then(chat, workspace):
    panel = chat([call("write_file", path="b.txt", content="hi"), "Done."])
    panel.prompt.value = "Write."
    press(panel, "Send")
    wait_for_question(panel)
    assert "write_file" in panel.asked.value
    assert not (workspace / "b.txt").exists()
    press(panel, "Allow")
    panel.join(PATIENCE)
    assert (workspace / "b.txt").read_text() == "hi"
    assert panel.question.layout.display == "none"


def test_what_is_not_allowed_is_answered_so(chat):
    panel = chat([call("bash", command="true"), "I see."])
    panel.prompt.value = "Run."
    press(panel, "Send")
    wait_for_question(panel)
    press(panel, "Do not allow")
    panel.join(PATIENCE)
    assert "is_error" in shown(panel)
    assert "did not allow" in shown(panel)


def test_always_is_not_asked_again(chat):
    panel = chat([call("bash", command="true"), call("bash", command="true"), "Done."])
    panel.prompt.value = "Run."
    press(panel, "Send")
    wait_for_question(panel)
    press(panel, "Always in this session")
    panel.join(PATIENCE)
    assert "Done." in shown(panel)


def test_a_second_message_while_it_works_is_refused_and_kept_in_its_field(chat):
    panel = chat([call("bash", command="true"), "Done."])
    panel.prompt.value = "Run."
    press(panel, "Send")
    wait_for_question(panel)
    panel.prompt.value = "And this?"
    panel._submit()
    assert "still at work" in shown(panel)
    assert panel.prompt.value == "And this?"
    press(panel, "Stop")
    panel.join(PATIENCE)


def test_stop_leaves_a_valid_history_and_shows_what_was_cancelled(chat):
    panel = chat([call("bash", command=WAITS), "Go on."], ask_before=())
    panel.prompt.value = "Run."
    press(panel, "Send")
    end = time.monotonic() + PATIENCE
    while "sleep(60)" not in shown(panel) and time.monotonic() < end:
        time.sleep(0.01)
    press(panel, "Stop")
    panel.join(PATIENCE)
    assert "(cancelled)" in shown(panel)
    assert "Stopped." in shown(panel)
    assert validate({"model": "any", "max_tokens": 10, "messages": panel.messages}) is None
    ask(panel, "Go on.")
    assert "Go on." in shown(panel)


def test_a_fault_is_one_sentence_and_the_next_message_is_answered(chat):
    panel = chat([{"status": 401, "message": "invalid x-api-key"}, "Hello."])
    ask(panel)
    assert "Check API_KEY" in shown(panel)
    ask(panel)
    assert "Hello." in shown(panel)


def test_tokens_and_cost_are_shown(chat):
    panel = chat(["Hello."], prices={"input_tokens": 3, "output_tokens": 15})
    ask(panel)
    assert "1 request, " in panel.status.value
    assert "input tokens" in panel.status.value
    assert re.search(r", \d\.\d{6} USD at your prices", panel.status.value)
    assert re.search(r"\n1 request, .* output tokens, \d\.\d{6} USD at your prices\.$", repr(panel))


def test_a_price_that_is_missing_is_named_in_the_chat(chat):
    panel = chat(["Hello."], prices={"input_tokens": 3})
    ask(panel)
    assert "no price for output_tokens, so the cost is not known" in panel.status.value


def test_the_conversation_can_be_exported(chat):
    panel = chat(["Hello."])
    ask(panel, "Hi, 你好.")
    press(panel, "Export")
    data = re.search(r"base64,([^\"]+)", panel.link.value)[1]
    assert json.loads(base64.b64decode(data)) == panel.messages


def test_a_new_conversation_is_empty(chat):
    panel = chat(["Hello.", "Again."])
    ask(panel)
    press(panel, "New conversation")
    assert panel.messages == []
    assert panel.turns.children == ()
    ask(panel)
    assert len(panel.messages) == 2


def test_of_a_long_chat_the_middle_is_folded_until_it_is_asked_for(scripted, workspace):
    panel = Chat(*scripted(["Aha."] * 24))
    for turn in range(23):
        panel.session.run(f"Question {turn}.")
    assert len(panel.turns.children) == 22
    assert "Question 0." in shown(panel)
    assert "Question 2." not in shown(panel)
    press(panel, "Show the 2 turns in between")
    assert re.findall(r"Question (\d+)", shown(panel)) == [str(turn) for turn in range(23)]
    panel.session.run("Question 23.")
    assert len(panel.turns.children) == 24, "it stays open"


def test_nothing_that_a_model_says_becomes_html(chat):
    panel = chat([["<script>alert(1)</script>", call("<b>bold</b>", x="<i>")], "</div><img src=x>"])
    ask(panel, "<u>hi</u>")
    every_value = "".join(child.value for child in drawings(panel.turns))
    for tag in ("<script", "<b>bold", "<i>", "<img", "<u>"):
        assert tag not in every_value


def test_in_an_event_loop_everything_is_drawn_there_and_nothing_blocks_it(chat, workspace):
    import threading

    async def main():
        panel = chat([call("bash", command="until [ -e go ]; do sleep 0.05; done"), "Done."], ask_before=())
        threads = set()
        panel.status.observe(lambda change: threads.add(threading.current_thread()), "value")
        panel.prompt.value = "Run."
        press(panel, "Send")
        await until(lambda: "until [" in shown(panel))
        (workspace / "go").touch()  # this loop goes on while the command waits for it
        await until(lambda: "Done." in shown(panel) and not panel.session.busy)
        assert threads == {threading.current_thread()}

    asyncio.run(main())


def test_a_click_that_comes_in_another_thread_is_handled_in_the_loop(chat):
    import threading

    async def main():
        panel = chat(["Hello."])
        panel.prompt.value = "Hi."
        clicked = threading.Thread(target=panel.send_button.click)
        clicked.start()
        clicked.join()
        for _ in range(500):
            await asyncio.sleep(0.01)
            if "Hello." in shown(panel) and not panel.session.busy:
                return
        raise AssertionError(shown(panel))

    asyncio.run(main())


async def until(question):
    end = time.monotonic() + PATIENCE
    while not question() and time.monotonic() < end:
        await asyncio.sleep(0.01)
    assert question()


def test_a_running_tool_can_be_stopped_at_the_bench(workspace):
    async def main():
        bench = ToolBench()
        bench.fields["command"].value = WAITS
        press(bench, "Run")
        await until(lambda: bench.busy)
        press(bench, "Stop")
        await until(lambda: not bench.busy)
        assert "Stopped." in shown(bench)
        bench.fields["command"].value = "echo again"
        press(bench, "Run")
        await until(lambda: "again" in shown(bench) and not bench.busy)

    asyncio.run(main())


@pytest.mark.skipif(os.name == "nt", reason="Windows sends Ctrl-C to a whole console")
@pytest.mark.parametrize("kind", ["Stepper", "ToolBench"])
def test_without_a_kernel_ctrl_c_ends_what_a_click_has_begun(ctrl_c, scripted, workspace, kind):
    begun, ended = threading.Event(), threading.Event()

    def endless(pattern):
        try:
            while True:
                begun.set()
        finally:
            ended.set()

    if kind == "Stepper":
        script = scripted([call("glob", pattern="*")])
        panel, label = Stepper(*script, user(), handlers={"glob": endless}), "To the end ▶▶"
    else:
        panel, label = ToolBench(handlers={"glob": endless}), "Run"
        panel.tool.value = "glob"
        panel.fields["pattern"].value = "*"
    ctrl_c(begun)
    with pytest.raises(Stopped):
        press(panel, label)
    assert ended.wait(PATIENCE)


@pytest.mark.parametrize("place", ["before a tool begins", "in the middle of a tool"])
def test_a_run_can_be_stopped_and_goes_on(stepper, place):
    there = threading.Event()

    def endless():
        while True:
            there.set()

    async def main():
        panel = stepper([call("glob", pattern="*"), "Go on."], handlers={"glob": lambda pattern: endless()})
        forward = panel.run.forward
        if place == "before a tool begins":
            panel.run.forward = lambda: endless() if panel.run.stage.kind == "lookup" else forward()
        press(panel, "To the end ▶▶")
        await until(there.is_set)
        press(panel, "Stop")
        await until(lambda: not panel.busy)
        assert "(cancelled)" in shown(panel)
        assert re.search(r"step \d+\W+stopped\W+Stopped. Forward goes on.", shown(panel))
        assert "failed" not in shown(panel)
        vars(panel.run).pop("forward", None)
        press(panel, "To the end ▶▶")
        await until(lambda: "Go on." in shown(panel))

    asyncio.run(main())


def test_while_a_run_goes_on_no_second_one_is_begun(stepper):
    async def main():
        panel = stepper([call("bash", command=WAITS), "Go on."])
        press(panel, "To the end ▶▶")
        await until(lambda: panel.run.stage.kind == "lookup")
        press(panel, "Forward ▶")
        press(panel, "Fork here")
        await until(lambda: "is still going" in shown(panel))
        assert len(panel.runs) == 1
        press(panel, "Stop")
        await until(lambda: not panel.busy)

    asyncio.run(main())


# ---- a model that takes its time


@pytest.fixture
def waits(scripted, workspace, monkeypatch):
    """A function that makes a Chat or a Stepper of a script, and one that begins a turn in it or goes on."""
    monkeypatch.setattr(panels, "TICK_SECONDS", 0.01)

    def make(kind, script):
        client, model = scripted(script)
        return Chat(client, model) if kind == "Chat" else Stepper(client, model, user())

    def begin(panel):
        if isinstance(panel, Chat):
            panel.prompt.value = "Go."
        press(panel, "Send" if isinstance(panel, Chat) else "To the end ▶▶")

    return make, begin


both_kinds = pytest.mark.parametrize("kind", ["Chat", "Stepper"])


@both_kinds
def test_a_reply_that_comes_slowly_says_how_long_and_how_many_tokens_and_can_be_stopped(waits, kind):
    make, begin = waits

    async def main():
        panel = make(kind, [{"content": "word " * 400, "slow": 0.05}, "Go on."])
        begin(panel)
        await until(lambda: re.search(r"\d+ s, \d+ tokens", panel.working.value))
        first = panel.working.value
        await until(lambda: panel.working.value not in ("", first))
        press(panel, "Stop")
        await until(lambda: not panel.busy and "Stopped." in shown(panel))
        assert panel.working.value == ""
        assert "s02-off" in panel.stop_button._dom_classes
        begin(panel)
        await until(lambda: "Go on." in shown(panel))

    asyncio.run(main())


@both_kinds
def test_a_model_that_has_not_begun_to_answer_is_left_behind_by_stop(waits, monkeypatch, kind):
    monkeypatch.setattr(job, "GRACE_SECONDS", 0.2)
    make, begin = waits
    asked, answer, before = threading.Event(), threading.Event(), jobs()

    def late(request):
        asked.set()
        answer.wait(PATIENCE)
        return "Too late."

    async def main():
        panel = make(kind, [late, "Go on."])
        begin(panel)
        await until(lambda: asked.is_set() and re.search(r"\d+ s", panel.working.value))
        press(panel, "Stop")
        await until(lambda: not panel.busy)
        assert "nobody waits for it" in shown(panel)
        begin(panel)
        await until(lambda: "Go on." in shown(panel) and not panel.busy)
        answer.set()
        await until(lambda: jobs() <= before)
        assert "Go on." in shown(panel)
        assert "Too late." not in shown(panel)

    try:
        asyncio.run(main())
    finally:
        answer.set()


def jobs():
    return {thread for thread in threading.enumerate() if thread.name.endswith("(run)")}


def test_a_tool_that_hears_no_stop_is_left_behind_at_the_bench(workspace, monkeypatch):
    monkeypatch.setattr(job, "GRACE_SECONDS", 0.2)
    monkeypatch.setattr(panels, "TICK_SECONDS", 0.01)
    free, before = threading.Event(), jobs()

    def query(pattern):
        free.wait(PATIENCE)
        return "late"

    async def main():
        bench = ToolBench(handlers={"glob": query, "read_file": lambda path: "again"})
        bench.tool.value = "glob"
        bench.fields["pattern"].value = "*"
        press(bench, "Run")
        await until(lambda: re.search(r"It runs: \d+ s", shown(bench)))
        press(bench, "Stop")
        await until(lambda: not bench.busy)
        assert "nobody waits for it" in shown(bench)
        bench.tool.value = "read_file"
        bench.fields["path"].value = "a.txt"
        press(bench, "Run")
        await until(lambda: "again" in shown(bench))
        free.set()
        await until(lambda: jobs() <= before)
        await asyncio.sleep(0)  # what it has posted is called now
        assert (bench.result["content"], bench.notice.value) == ("again", "")

    try:
        asyncio.run(main())
    finally:
        free.set()


# ---- who answers


def who_is_seen(panel):
    """The badge of a Chat or a Stepper: who answers, as the widget shows it."""
    drawn = panel.status.value if isinstance(panel, Chat) else panel.picture.value
    behind = '<b style="[^"]*">' if isinstance(panel, Chat) else "who answers:</text>\\s*<text[^>]*>"
    return html.unescape(re.search(f"{behind}(.*?)<", drawn)[1])


@pytest.mark.parametrize("kind", ["Chat", "Stepper"])
def test_a_widget_says_who_answers_whatever_is_connected_later(kind, tmp_path, monkeypatch, workspace, capsys):
    """And what it says is true: that one gets the next request."""
    monkeypatch.setenv("S02_OFFLINE", "1")
    make = Chat if kind == "Chat" else lambda client, model: Stepper(client, model, user())
    talk, name = tmp_path / "talk.jsonl", "m-7 <b>"
    with Server(Scripted([f"From {number}." for number in range(20)])) as server:
        at_server = {"base_url": server.url, "model": name, "api_key": "k"}
        connections = {
            "a script": [lambda: connect(script=["From the script."] * 2, record=talk), "From the script."],
            "a recording": [lambda: connect(replay=talk), "From the script."],
            "rules": [connect, ""],
            name: [lambda: connect(**at_server), "From "],
        }
        panels = {}
        for who, (connection, _) in connections.items():
            panels[who] = make(*connection())
            if who == "a script":  # there has to be something to replay
                make(*connections[who][0]()).run.to_end() if kind == "Stepper" else panels[who].session.run("Go.")
        connect(**at_server)  # and once more: who is there already stays as it was
        connect()
        for who, panel in panels.items():
            asked = len(server.exchanges)
            assert who_is_seen(panel) == who
            assert f"Answers: {who}." in repr(panel)
            if kind == "Chat":
                ask(panel)
            else:
                press(panel, "To the end ▶▶")
            assert connections[who][1] in shown(panel)
            assert (len(server.exchanges) > asked) == (who == name)
            assert who_is_seen(panel) == who


def test_a_fork_of_a_saved_conversation_says_who_goes_on(scripted, workspace):
    saved = [*user(), {"role": "assistant", "content": "Hello."}, *user("And?")]
    panel = Stepper(*scripted(["Go on."]), saved, saved=True)
    assert who_is_seen(panel) == "a saved conversation"
    assert "Answers: a saved conversation." in repr(panel)
    press(panel, "To the end ▶▶")
    press(panel, "◀ Back")
    press(panel, "Fork here")
    assert who_is_seen(panel) == "a script"
    press(panel, "To the end ▶▶")
    assert "Go on." in shown(panel)


def test_a_chat_that_is_given_another_client_says_so_with_the_next_thing_it_draws(scripted, workspace):
    panel = Chat(*scripted(["Hello."]))
    panel.session.client, panel.session.model = connect(base_url="http://127.0.0.1:9", model="m-7", api_key="k")
    press(panel, "New conversation")
    assert who_is_seen(panel) == "m-7"


@every_kind
def test_every_widget_says_who_answers(panel):
    who = {"HistoryLab": "rules", "PathLab": "no model: you type", "ToolBench": "no model: you call"}
    seen = "".join(drawing.value for drawing in drawings(panel))
    assert f">{who.get(type(panel).__name__, 'a script')}<" in seen
