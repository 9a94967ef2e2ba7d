"""The notebooks and their widgets in a real browser, worked by keyboard. Skipped where there is no Chromium.

Pictures of what was seen go to screenshots/, which git ignores: look at them.
"""

import base64
import json
import re
import shutil
import sys

import pytest
from browser import NAMES, ROOT, Browser, Lab, find_chromium, notebook_of, wait_for

pytestmark = [
    pytest.mark.skipif(find_chromium() is None, reason=f"no browser: none of {', '.join(NAMES)} is installed"),
    pytest.mark.skipif(sys.platform == "win32", reason="the driver ends its programs in the way of POSIX"),
]
PICTURES = ROOT / "screenshots"
WITH_WIDGETS = ("00", "04", "05", "06", "07", "11")
NOTEBOOKS = [path for path in sorted((ROOT / "notebooks").glob("*.ipynb")) if path.name.startswith(WITH_WIDGETS)]

# A notebook with one of each widget. The cells' ids are what the tests go by.
CELLS = {
    "setup": """\
from s02_tool_use import run_write
from s02_tool_use.lab import Chat, HistoryLab, PathLab, Stepper, ToolBench, connect, fresh_workspace

from s02_tool_use.lab.widgets import stepper as module

module.PLAY_SECONDS = 0.5
client, model = connect()
fresh_workspace()""",
    "stepper": """\
stepper = Stepper(client, model, [{"role": "user", "content": "How many Python files are here?"}])
stepper""",
    **{
        f"projector-{files}": """\
run_write("twenty.txt", "\\n".join(f"Line {number} of the file." for number in range(20)))
both = [{"type": "tool_use", "name": "read_file", "input": {"path": "twenty.txt"}}]
both.append({"type": "tool_use", "name": "glob", "input": {"pattern": "**/*.py"}})
user = [{"role": "user", "content": "What is here?"}]
Stepper(*connect(script=[["I will look.", *both], "A file of twenty lines, and three Python files."]), user)"""
        for files in ("closed", "open")
    },
    "pathlab": "PathLab()",
    "historylab": "HistoryLab()",
    "toolbench": "ToolBench()",
    "chat": """\
chat = Chat(client, model, prices={"input_tokens": 3, "output_tokens": 15})
chat""",
    "slow": """\
steps = [[{"type": "tool_use", "name": "bash", "input": {"command": "sleep 60"}}], "Never mind."]
slow = Chat(*connect(script=steps), ask_before=())
slow""",
    "faults": """\
faults = Chat(*connect(script=[{"status": 529, "message": "Overloaded"}, "Better now."]))
faults""",
    "busy": "1 + 1",
}
STUCK = {
    "told": "import os\n\nos.path.basename(os.environ['JPY_SESSION_NAME'])",
    "try": "from s02_tool_use.lab import check\n\ncheck.names(lambda pattern: 'wrong')",
    "ask": "check.solution('names')",
    "end": "1 + 1",
}


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    folder = tmp_path_factory.mktemp("lab") / "notebooks"
    shutil.copytree(ROOT / "notebooks", folder, ignore=shutil.ignore_patterns(".*", "solutions"))
    for name, cells in (("widgets", CELLS), ("stuck", STUCK)):
        (folder / f"{name}.ipynb").write_text(notebook_of(cells), encoding="utf-8")
    with Lab(folder) as lab:
        yield lab


@pytest.fixture(scope="module")
def browser():
    with Browser() as browser:
        yield browser


@pytest.fixture(scope="module")
def widgets(lab, browser):
    """The notebook of all widgets, run."""
    browser.open(lab, "widgets.ipynb")
    assert browser.run_all() == []
    browser.wait("the widgets", "return document.querySelectorAll('.jp-OutputArea .widget-vbox').length > 5")
    return browser


@pytest.fixture(autouse=True)
def no_error_in_the_console(request):
    """What the page complains about fails the test in which it did."""
    yield
    for name in ("widgets", "browser"):
        if name in request.fixturenames:
            page = request.getfixturevalue(name)
            page.run("return 1")  # events that are under way come in before the answer
            errors, page.errors = page.errors, []
            assert errors == []
            return


def picture(browser, name):
    for dark in (False, True):
        browser.theme(dark)
        browser.screenshot(PICTURES / f"{name}-{'dark' if dark else 'light'}.png")
    browser.theme(False)


# ---- each widget, by keyboard


def test_stepper_goes_forward_edits_a_result_and_forks(widgets):
    widgets.enter("stepper")
    widgets.tab_to("Forward ▶")
    for step, title in enumerate(("request built", "normalised", "sent", "reply", "looked up: glob", "run: glob"), 1):
        widgets.press("Space" if step % 2 else "Enter")
        widgets.wait_for_output("stepper", f"step {step} ")
        assert title in widgets.output("stepper").partition(f"step {step} ")[2]
        wait_for("its end", lambda: "at work" not in widgets.output("stepper"))  # until then a key goes nowhere
        assert ("waits for its result" in widgets.output("stepper")) == (step in (4, 5))
    picture(widgets, "stepper")
    widgets.tab_to("More ▾")
    widgets.press("Enter")
    widgets.tab_to("Edit")
    widgets.press("Control+A")
    widgets.type(json.dumps({"type": "tool_result", "tool_use_id": "toolu_01", "content": "one.py\ntwo.py"}))
    widgets.tab_to("Use this instead")
    widgets.press("Enter")
    widgets.wait_for_output("stepper", "Edited.")
    widgets.enter("stepper")
    widgets.tab_to("To the end ▶▶")
    widgets.press("Enter")
    widgets.wait_for_output("stepper", "There are 2 Python files here: one.py, two.py.")
    widgets.enter("stepper")
    widgets.press("Space")  # Back; what was unfolded stays so
    widgets.tab_to("Fork here")
    widgets.press("Space")
    widgets.wait_for_output("stepper", "Run")


def test_stepper_shows_the_wire(widgets):
    widgets.enter("stepper")
    widgets.tab_to("on the wire")
    widgets.press("Space")
    widgets.wait_for_output("stepper", "end_turn")


# What of a Stepper is not seen whole in the part of the page that shows the notebook, which blocks stand open, and how
# far the notebook is scrolled.
FACE = """
const output = panel.content.widgets.find(c => c.model.id === cell).node.querySelector('.jp-OutputArea');
const page = panel.content.node.querySelector('.jp-WindowedPanel-outer'), around = page.getBoundingClientRect();
const shown = what => [...output.querySelectorAll(what)].filter(e => e.getClientRects().length);
const says = shown('.widget-html-content').find(e => /^step \\d+ /.test(e.innerText));
const picture = shown("svg[role=img]"), buttons = shown("button");
const face = { picture, buttons, says: [says], open: shown('[style*=border-left]') };
const hidden = e => {
  const box = e.getBoundingClientRect(), middle = [(box.left + box.right) / 2, (box.top + box.bottom) / 2];
  return box.top < around.top || box.bottom > around.bottom || box.left < around.left || box.right > around.right
    || !output.contains(document.elementFromPoint(...middle));
};
const missing = Object.keys(face).filter(name => face[name].some(e => !e || hidden(e)));
const open = face.open.map(e => e.innerText), scrolled = page.scrollTop;
return { missing, buttons: face.buttons.length, pictures: face.picture.length, open, scrolled }"""
TO_OUTPUT = """
panel.content.widgets.find(c => c.model.id === cell).node.querySelector('.jp-OutputArea').scrollIntoView()"""
# What each stage of a tool call is called, and what stands open there.
A_CALL = {
    "request built": [],
    "normalised": [],
    "sent": [],
    "reply": ["I will look.", "read_file path: twenty.txt", "glob pattern: **/*.py"],
    "looked up: read_file": ["read_file path: twenty.txt"],
    "run: read_file": ["Line 0 of the file. ... 20 lines"],
    "looked up: glob": ["glob pattern: **/*.py"],
    "run: glob": ["orders.py"],
    "appended": ["Line 0 of the file. ... 20 lines", "orders.py ... 3 lines"],
}


def shows(blocks, drawn):
    """Whether these are the blocks that are drawn open, as many and in this order."""
    return len(blocks) == len(drawn) and all(
        block in " ".join(seen.split()) for block, seen in zip(blocks, drawn, strict=True)
    )


@pytest.mark.parametrize("files", ["closed", "open"])
def test_a_whole_tool_call_fits_a_projector_without_scrolling(widgets, files):
    cell = f"projector-{files}"
    widgets.theme(True)
    widgets.resize(1280, 800, zoom=1.5)
    widgets.run(f"jupyterapp.shell.{'collapse' if files == 'closed' else 'expand'}Left()")
    try:
        widgets.enter(cell)
        widgets.tab_to("Forward ▶")
        widgets.in_cell(cell, TO_OUTPUT)
        scrolled = widgets.in_cell(cell, FACE)["scrolled"]
        for step, (title, blocks) in enumerate(A_CALL.items(), 1):
            widgets.press("Enter")
            widgets.wait_for_output(cell, f"step {step} ")
            wait_for(blocks, lambda: shows(blocks, widgets.in_cell(cell, FACE)["open"]))  # noqa: B023
            face = widgets.in_cell(cell, FACE)
            assert title in widgets.output(cell).partition(f"step {step} ")[2]
            assert (title, face["missing"]) == (title, [])
            assert (face["buttons"], face["pictures"], face["scrolled"]) == (7, 1, scrolled)
            assert shows(blocks, face["open"])
            widgets.screenshot(PICTURES / f"{cell}-{step}.png")
    finally:
        widgets.run("jupyterapp.shell.collapseLeft()")
        widgets.resize(*widgets.size)
        widgets.theme(False)


def test_stepper_plays_and_pauses(widgets):
    widgets.enter("projector-closed")
    widgets.tab_to("Play ▶")
    widgets.press("Enter")
    widgets.wait_for_output("projector-closed", "Pause")
    widgets.wait_for_output("projector-closed", "step 10 ")
    widgets.press("Enter")
    widgets.wait_for_output("projector-closed", "Play ▶")
    widgets.tab_to("Play ▶")
    widgets.press("Enter")
    widgets.wait_for_output("projector-closed", "the loop ends")
    widgets.wait_for_output("projector-closed", "Play ▶")


def test_pathlab_judges_what_is_typed(widgets):
    widgets.enter("pathlab")
    widgets.tab_to("Text")
    widgets.press("Control+A")
    widgets.type("../work-evil/loot.txt")
    widgets.wait_for_output("pathlab", "BASE/work-evil/loot.txt")
    assert widgets.output("pathlab").count("ESCAPED") == 2
    widgets.tab_to("links in the workspace")
    widgets.press("Space")
    widgets.enter("pathlab")
    widgets.tab_to("pattern")
    widgets.press("Space")
    widgets.wait_for_output("pathlab", "run_glob")
    picture(widgets, "pathlab")


def test_historylab_switches_a_pass_off(widgets):
    widgets.enter("historylab")
    widgets.wait_for_output("historylab", "The API: accepted")
    picture(widgets, "historylab")
    widgets.tab_to("Every call answered right after it")
    widgets.press("Space")
    wait_for("the refusal", lambda: "The API: accepted" not in widgets.output("historylab"))
    widgets.press("Space")
    widgets.wait_for_output("historylab", "The API: accepted")


def test_toolbench_runs_a_tool_from_its_form(widgets):
    widgets.enter("toolbench")
    widgets.tab_to("Tool")
    widgets.type("re")  # the list goes to read_file
    widgets.wait_for_output("toolbench", "limit")
    widgets.tab_to("path *")
    widgets.type("README.md")
    widgets.tab_to("limit")
    widgets.type("1")
    widgets.tab_to("Run")
    widgets.press("Enter")
    widgets.wait_for_output("toolbench", "# Tea shop")
    picture(widgets, "toolbench")


def test_chat_asks_before_it_runs_a_command_and_answers(widgets):
    widgets.enter("chat")
    widgets.tab_to("You")
    widgets.type("Run `echo first` and then how many Python files are here?")
    widgets.press("Enter")
    widgets.wait_for_output("chat", "The agent wants to run bash")
    picture(widgets, "chat-question")
    widgets.enter("chat")
    widgets.tab_to("Allow")
    widgets.press("Enter")
    widgets.wait_for_output("chat", "There are 3 Python files here")
    widgets.wait_for_output("chat", "ready")
    assert "at your prices" in widgets.output("chat")
    picture(widgets, "chat")


def test_chat_gives_the_conversation_as_a_file(widgets):
    widgets.enter("chat")
    widgets.tab_to("Export")
    widgets.press("Space")
    widgets.wait_for_output("chat", "Download conversation.json")
    link = widgets.run("return document.querySelector('a[download]').href")
    assert json.loads(base64.b64decode(link.partition("base64,")[2]))[0]["role"] == "user"


def test_chat_stops_a_command_in_the_middle_and_goes_on(widgets):
    widgets.enter("slow")
    widgets.tab_to("You")
    widgets.type("Sleep.")
    widgets.press("Enter")
    widgets.wait_for_output("slow", "sleep 60")
    widgets.run_cell("busy")  # returns when it has run: the kernel is free
    assert "at work" in widgets.output("slow")
    wait_for("how long it has worked", lambda: re.search(r"· [1-9]\d* s", widgets.output("slow")))
    widgets.enter("slow")
    widgets.tab_to("Stop")
    widgets.press("Space")
    widgets.wait_for_output("slow", "(cancelled)")
    widgets.wait_for_output("slow", "ready")
    widgets.enter("slow")
    widgets.tab_to("You")
    widgets.type("Go on.")
    widgets.press("Enter")
    widgets.wait_for_output("slow", "Never mind.")


def test_chat_tells_a_fault_in_one_sentence_and_goes_on(widgets):
    for text, answer in (("Hello?", "The endpoint is overloaded: Overloaded (529)."), ("And now?", "Better now.")):
        widgets.enter("faults")
        widgets.tab_to("You")
        widgets.type(text)
        widgets.press("Enter")
        widgets.wait_for_output("faults", answer)
        widgets.wait_for_output("faults", "ready")


def test_a_pressed_button_has_a_mark_and_not_only_another_colour(widgets):
    marks = (
        "return [...document.querySelectorAll('.widget-toggle-button')].map("
        "b => [b.classList.contains('mod-active'), getComputedStyle(b, '::before').content])"
    )
    seen = widgets.run(marks)
    assert {pressed for pressed, _ in seen} == {True, False}
    for pressed, mark in seen:
        assert ("\N{CHECK MARK}" in mark) == pressed


def test_the_arrow_of_a_list_has_the_colour_of_its_text(widgets):
    looks = (
        "return [...document.querySelectorAll('.jp-OutputArea .widget-dropdown > select')].map("
        "e => [getComputedStyle(e).backgroundImage, getComputedStyle(e).appearance])"
    )
    seen = widgets.run(looks)
    assert len(seen) >= 5
    assert {tuple(look) for look in seen} == {("none", "auto")}, "no picture of a black arrow: the browser's own"
    assert widgets.theme(True) or widgets.run("return getComputedStyle(document.body).colorScheme") == "dark"
    widgets.theme(False)


def test_what_a_chat_says_lands_in_no_other_cell(widgets):
    cells = {cell["id"]: cell["outputs"] for cell in widgets.notebook()["cells"]}
    assert [output["data"]["text/plain"] for output in cells["busy"]] == ["2"]
    assert [output["output_type"] for output in cells["setup"]] == ["stream"]
    assert all(len(cells[id]) == 1 for id in ("stepper", "pathlab", "historylab", "toolbench", "chat"))


def test_after_a_restart_and_a_reload_every_cell_is_readable(lab, widgets):
    readable_after_restart(lab, widgets, "widgets.ipynb")


# ---- the notebooks

# In which cell of which notebook to go to what, what to type there, which key to press, and what stands there then.
PROMPT = "You"
WORK = {
    "00_start_here": ("s5-step", "Forward ▶", "", "Enter", "the user speaks"),
    "04_safe_path": ("s4-lab", "pattern", "", "Enter", "glob(pattern, recursive=True)"),
    "05_normalize_messages": (
        "tested-lab",
        "Every call answered right after it",
        "",
        "Space",
        "after The API: messages.1:",
    ),
    "06_agent_loop": ("now-chat", PROMPT, "What is in README.md?", "Enter", "README.md has 16 lines"),
    "07_look_inside": ("s1-stepper", "Forward ▶", "", "Space", "request built"),
    "11_playground": ("s5-chat", PROMPT, "What is in README.md?", "Enter", "README.md has 16 lines"),
}


@pytest.mark.parametrize("path", NOTEBOOKS, ids=[path.stem for path in NOTEBOOKS])
def test_a_notebook_runs_and_stays_readable_without_its_kernel(path, lab, browser):
    browser.open(lab, path.name)
    assert browser.run_all() == []
    cell, control, text, key, answer = WORK[path.stem]
    browser.enter(cell)
    browser.tab_to(control)
    browser.type(text)
    browser.press(key)
    browser.wait_for_output(cell, answer)
    picture(browser, path.stem)
    readable_after_restart(lab, browser, path.name)


def readable_after_restart(lab, browser, name):
    """Restart the kernel, save, load the page again: the outputs are there, without kernel and without widget state."""
    browser.restart()
    assert "model not found" not in browser.text()
    browser.save()
    saved = (lab.folder / name).read_text(encoding="utf-8")
    assert "widget-view" not in saved
    assert "widgets" not in json.loads(saved)["metadata"]
    browser.open(lab, name)
    outputs = [
        (number, output["data"]["text/html"])
        for number, cell in enumerate(json.loads(saved)["cells"])
        for output in cell.get("outputs", ())
        if "text/html" in output.get("data", {})
    ]
    number, html = outputs[0] if outputs else (0, "")
    browser.scroll_to(number)
    html = "".join(html)
    word = next(iter(re.sub("<[^>]*>", " ", html).split()), "")
    panel = "const seen = document.querySelector('.jp-NotebookPanel')?.innerText ?? ''"
    seen = browser.wait(f"an output with {word!r}", f"{panel}; return seen.includes({json.dumps(word)}) && seen")
    assert "model not found" not in seen
    assert "Error displaying" not in seen


def test_a_solution_comes_as_a_cell_below_and_the_kernel_is_told_its_notebook(lab, browser):
    browser.open(lab, "stuck.ipynb")
    assert browser.run_all() == []
    browser.wait_for_output("ask", "A solution stands in a new cell below.")
    cells = browser.notebook()["cells"]
    assert [cell["id"] for cell in cells if cell["id"] in STUCK] == [*STUCK]
    assert "def my_glob(pattern):" in "".join(cells[3]["source"])
    assert len(cells) == len(STUCK) + 1
    browser.wait_for_output("told", "stuck.ipynb")
