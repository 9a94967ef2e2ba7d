"""What the course draws, and its widgets: judged by axe-core, read for a screen reader, worked by keyboard alone.

axe-core comes with the foreign clients: python tests/clients/install.py. Skipped where there is no Chromium.
"""

import os
import sys
from functools import partial

import pytest
from browser import LABEL, NAMES, Browser, Lab, find_chromium, notebook_of, wait_for
from clients import install

pytestmark = [
    pytest.mark.skipif(find_chromium() is None, reason=f"no browser: none of {', '.join(NAMES)} is installed"),
    pytest.mark.skipif(sys.platform == "win32", reason="the driver ends its programs in the way of POSIX"),
]
AXE = install.HERE / "node_modules" / "axe-core" / "axe.min.js"
THEMES = pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
TALL = (1280, 20_000)  # all outputs are in the page at once: axe judges no text that a box hides
CONTRAST = 4.5

# What is drawn, and a widget in each of its states. The cells' ids are what the tests go by.
DRAWN = {
    "setup": """\
import s02_tool_use as s02
from s02_tool_use.lab import Chat, HistoryLab, PathLab, Stepper, ToolBench, check, connect, escape_room
from s02_tool_use.lab import cost, fresh_workspace, score, show_diff, show_loop, show_messages, show_source
from s02_tool_use.lab import show_table, show_timeline, show_wire

client, model = connect()
fresh_workspace()
user = [{"role": "user", "content": "How many Python files are here?"}]
messages = list(user)
replies = [step.data for step in s02.agent_steps(client, model, messages) if step.kind == "reply"]
broken = [*messages[:2], {"role": "user", "content": "And now?"}]
call = {"type": "tool_use", "name": "bash", "input": {"command": "ls"}}
late = {"status": 529, "message": "Overloaded"}""",
    "messages": "show_messages(messages)",
    "long": 'show_messages([{"role": "user", "content": f"Line {n}"} for n in range(70)])',
    "refused": "show_messages(broken)",
    "diff": "show_diff(broken, s02.normalize_messages(broken))",
    "code": "show_diff(s02.run_read, s02.run_write)",
    "source": "show_source(s02.run_tool, s02.TOOLS)",
    "table": 'show_table(["name", "size"], [["a.py", 12], ["b.py", 7]])',
    "cost": 'cost(replies, {"input_tokens": 3, "output_tokens": 15})',
    "wire": "show_wire(client)",
    "board": "score(lambda messages: messages)",
    "loop": 'show_loop(["normalised", "end", "turn"], client, model)',
    "timeline": 'show_timeline({"at once": [("begins", "a"), ("begins", "b"), ("ends", "a"), ("ends", "b")]})',
    "verdict": "check.bash(lambda command: print(command))",
    "progress": "check.progress()",
    "room": "escape_room()",
    "stepper": """\
stepper = Stepper(client, model, user)
stepper.run.to_end()
stepper.run.at = 5
stepper._draw()
stepper.more_button.click()
stepper""",
    "failed": """\
failed = Stepper(*connect(script=[late]), user)
failed.run.to_end()
failed._draw()
failed""",
    "toolbench": """\
bench = ToolBench()
bench.complain("This did not work.")
bench""",
    "pathlab": "PathLab()",
    "historylab": "HistoryLab()",
    "nonsense": """\
lab = HistoryLab()
lab.text.value = "nonsense"
lab""",
    "chat": """\
chat = Chat(*connect(script=[[call], "Done.", late, [call]]))
chat.session.ask_before = ()
chat.session.run("List the files.")
chat.session.run("Again?")
chat.session.ask_before = {"bash"}
chat.session.send("And again?")
chat""",
}

# Widgets to work with.
WORKED = {
    "setup": """\
from s02_tool_use.lab import Chat, HistoryLab, PathLab, Stepper, ToolBench, connect, fresh_workspace, show_messages

fresh_workspace()
user = [{"role": "user", "content": "How many Python files are here?"}]
tell, wait = ([{"type": "tool_use", "name": "bash", "input": {"command": c}}] for c in ("echo told", "sleep 60"))
long = "\\n".join(f"Line {n} of the answer." for n in range(60))""",
    "chat": "Chat(*connect(script=[tell, long, wait, 'Never mind.']))",
    "stepper": "Stepper(*connect(), user)",
    "toolbench": "ToolBench()",
    "pathlab": "PathLab()",
    "historylab": "HistoryLab()",
    "drawn": 'show_messages([{"role": "user", "content": "A line.\\n" * 30}])',
}


@pytest.fixture(scope="module")
def axe():
    """The source of axe-core."""
    if why := install.missing():
        pytest.fail(why) if os.environ.get("CI") else pytest.skip(why)
    return AXE.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    folder = tmp_path_factory.mktemp("lab")
    for name, cells in (("drawn", DRAWN), ("worked", WORKED)):
        (folder / f"{name}.ipynb").write_text(notebook_of(cells), encoding="utf-8")
    with Lab(folder) as lab:
        yield lab


@pytest.fixture(scope="module")
def drawn(lab):
    """The notebook of all that is drawn, run, in a page that is as tall as it; with all folded parts open."""
    with Browser(TALL) as browser:
        browser.open(lab, "drawn.ipynb")
        assert browser.run_all() == []
        browser.wait_for_output("chat", "The agent wants to run bash")
        browser.in_cell("", OUTPUTS + "for (const part of folds) part.open = true")
        yield browser
        assert browser.errors == []


@pytest.fixture(scope="module")
def worked(lab):
    """The notebook of widgets, run. Only keys are pressed in it."""
    with Browser() as browser:
        browser.open(lab, "worked.ipynb")
        assert browser.run_all() == []
        browser.at_a_stop = partial(frame_is_seen, browser)
        wait_for("the regions", lambda: browser.run("return document.querySelectorAll('.s02-voice div').length") == 10)
        yield browser
        assert browser.errors == []


OUTPUTS = """
const outputs = [...panel.content.node.querySelectorAll('.jp-OutputArea-output')];
const folds = outputs.flatMap(output => [...output.querySelectorAll('details')]);
"""

# ---- axe, contrast

# JupyterLab's body is 0 pixels tall and hides what flows over: axe would take all in it for hidden.
JUDGE = """
document.body.style.overflow = 'visible';
const said = await axe.run(outputs, {resultTypes: ['violations', 'incomplete']});
const told = kind => said[kind].flatMap(rule => rule.nodes.map(node =>
  `${rule.id}, ${rule.impact}: ${node.html.slice(0, 200)} ${node.failureSummary ?? ''}`));
return {violations: told('violations'), unsure: told('incomplete'), judged: said.passes.map(rule => rule.id)}
"""


@THEMES
def test_axe_finds_no_fault_in_what_is_drawn_and_in_the_widgets(dark, drawn, axe):
    drawn.theme(dark)
    drawn.call("Runtime.evaluate", expression=axe)
    said = drawn.in_cell("", OUTPUTS + JUDGE)
    assert said["violations"] == []
    assert [line for line in said["unsure"] if not line.startswith("color-contrast")] == []
    rules = {"aria-valid-attr-value", "button-name", "color-contrast", "label", "select-name", "svg-img-alt"}
    assert rules <= set(said["judged"])


def test_axe_would_find_a_fault(drawn, axe):
    drawn.call("Runtime.evaluate", expression=axe)
    bad = """
const bad = document.createElement('div');
bad.innerHTML = '<button></button><span style="color:#999;background:#888">grey</span>';
outputs[0].append(bad);
"""
    said = drawn.in_cell("", OUTPUTS + bad + JUDGE.replace("return", "bad.remove(); return"))
    assert {line.split(",")[0] for line in said["violations"]} == {"button-name", "color-contrast"}


# The contrast of each text as it is seen, with what is half transparent on its way, and of texts in a picture with the
# shapes behind them: axe leaves those out, and what a corner of something else covers.
TEXTS = (
    """
const pen = document.createElement('canvas').getContext('2d', {willReadFrequently: true}), known = {};
const rgba = colour => known[colour] ??= (() => {
  pen.clearRect(0, 0, 1, 1);
  pen.fillStyle = colour;
  pen.fillRect(0, 0, 1, 1);
  const [r, g, b, a] = pen.getImageData(0, 0, 1, 1).data;
  return [r, g, b, a / 255];
})();
const mix = (under, top, part) => under.map((value, at) => value + (top[at] - value) * part);
const over = (under, top) => mix(under, top.slice(0, 3), top[3]);
const light = colour => colour.map(v => v / 255).map(v => v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4)
  .reduce((sum, v, at) => sum + v * [.2126, .7152, .0722][at], 0);
const fill = shape => {
  const look = getComputedStyle(shape), [r, g, b, a] = rgba(look.fill);
  return [r, g, b, a * look.fillOpacity];
};
const behind = text => [...text.ownerSVGElement.querySelectorAll('rect, circle, polygon')].filter(shape => {
  if (getComputedStyle(shape).fill === 'none' || !(shape.compareDocumentPosition(text) & 4)) return false;
  const s = shape.getBoundingClientRect(), t = text.getBoundingClientRect();
  const x = (t.left + t.right) / 2, y = (t.top + t.bottom) / 2;
  return s.left < x && x < s.right && s.top < y && y < s.bottom;
});
const ratio = (element, colour) => {
  const chain = [];
  for (let e = element; e; e = e.parentElement) chain.unshift(e);
  const seen = (at, under) => {
    const look = getComputedStyle(chain[at]);
    let ground = over(under, rgba(look.backgroundColor)), text;
    if (chain[at] === element) {
      if (element.ownerSVGElement) for (const shape of behind(element)) ground = over(ground, fill(shape));
      text = over(ground, colour);
    } else [text, ground] = seen(at + 1, ground);
    return [mix(under, text, look.opacity), mix(under, ground, look.opacity)];
  };
  const [a, b] = seen(0, [255, 255, 255]).map(light);
  return (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
};
const found = [];
const inside = outputs.flatMap(output => [...output.querySelectorAll('img')]).map(picture => {
  const place = picture.parentElement.appendChild(document.createElement('div'));
  const root = place.attachShadow({mode: 'open'});  // the styles in the picture hold for it alone
  root.innerHTML = new TextDecoder().decode(Uint8Array.from(atob(picture.src.split(',')[1]), c => c.charCodeAt()));
  return root;
});
const judge = (element, colour, text) => found.push([ratio(element, colour), `${element.tagName} ${text.trim()}`]);
for (const output of [...outputs, ...inside]) {
  const walk = document.createTreeWalker(output, NodeFilter.SHOW_TEXT), range = document.createRange();
  while (walk.nextNode()) {
    const text = walk.currentNode, element = text.parentElement;
    range.selectNodeContents(text);
    if (!text.data.trim() || !range.getClientRects().length) continue;
    if (element.closest('style, option, title, desc, :disabled, .s02-voice')) continue;
    judge(element, element.ownerSVGElement ? fill(element) : rgba(getComputedStyle(element).color), text.data);
  }
  for (const field of output.querySelectorAll('input, textarea, select')) {
    if (!field.offsetParent || field.disabled) continue;
    judge(field, rgba(getComputedStyle(field).color), field.value);
    if (field.placeholder) judge(field, rgba(getComputedStyle(field, '::placeholder').color), field.placeholder);
  }
}
"""
    "for (const root of inside) root.host.remove();"
    f"return [inside.length, found.length, found.filter(([seen, _]) => seen < {CONTRAST})]"
)


@THEMES
def test_every_text_stands_out_from_its_ground(dark, drawn):
    drawn.theme(dark)
    scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}  # by which pictures go
    drawn.call("Emulation.setEmulatedMedia", features=[scheme])
    pictures, count, low = drawn.in_cell("", OUTPUTS + TEXTS)
    assert pictures
    assert count > 1000
    assert low == []


# ---- what a screen reader is told

UNNAMED = """
const names = field => [...field.labels].map(label => label.innerText.trim()).filter(Boolean);
const fields = outputs.flatMap(output => [...output.querySelectorAll('.s02-panel :is(input, textarea, select)')]);
return [fields.length, fields.filter(field => field.offsetParent && !names(field).length).map(field => field.outerHTML)]
"""


def test_every_field_has_a_label_that_stays(drawn):
    count, unnamed = drawn.in_cell("", OUTPUTS + UNNAMED)
    assert count > 20
    assert unnamed == []


TABLES = """
const tables = outputs.flatMap(output => [...output.querySelectorAll('table')]);
const heads = tables.flatMap(table => [...table.querySelectorAll('th')]);
return [tables.length, tables.filter(table => !table.querySelector('th')).length,
        heads.filter(head => !['col', 'row'].includes(head.scope)).length]
"""


def test_every_table_says_what_its_heads_are_for(drawn):
    count, headless, unclear = drawn.in_cell("", OUTPUTS + TABLES)
    assert count >= 3
    assert (headless, unclear) == (0, 0)


PICTURES = """
const pictures = outputs.flatMap(output => [...output.querySelectorAll('img, svg')]);
return pictures.map(picture => picture.alt?.length > 20 || picture.getAttribute('role') === 'img' &&
  ['title', 'desc'].every(name => picture.querySelector(name)?.textContent.length > 20))
"""


def test_every_picture_says_in_words_what_it_shows(drawn):
    pictures = drawn.in_cell("", OUTPUTS + PICTURES)
    assert len(pictures) >= 3
    assert all(pictures)


def test_every_fold_has_a_name(drawn):
    names = drawn.in_cell("", OUTPUTS + "return folds.map(part => part.querySelector('summary')?.innerText.trim())")
    assert len(names) > 5
    assert all(names)


# The live regions and toggle buttons of a cell's panel.
REGIONS = """
const cells = panel.content.widgets.find(c => c.model.id === cell).node;
const [status, alarm] = cells.querySelectorAll('.s02-voice > div');
const kept = window.kept ??= {};
"""


def test_a_live_region_is_the_same_node_whatever_it_says(worked):
    say = REGIONS + "return [status.textContent, status.role, status.ariaLive, alarm.role, status === kept[cell]]"
    worked.in_cell("stepper", REGIONS + "kept[cell] = status")
    go(worked, "stepper")
    worked.tab_to("Forward ▶")
    for step, title in enumerate(("request built", "normalised", "sent"), 1):
        worked.press("Enter")
        wait_for(title, lambda start=f"Step {step}, {title}: ": worked.in_cell("stepper", say)[0].startswith(start))
        assert worked.in_cell("stepper", say)[1:] == ["status", "polite", "alert", True]


def test_an_error_is_said_in_a_region_that_stays_and_is_over_with_the_next_thing(worked):
    def warning():
        return worked.in_cell("toolbench", REGIONS + "return [alarm.textContent.split(':')[0], alarm === kept[cell]]")

    worked.in_cell("toolbench", REGIONS + "kept[cell] = alarm")
    go(worked, "toolbench")
    worked.tab_to("JSON")
    worked.press("Space")
    for text, warned in (("{", "This is not JSON"), ("{}", "")) * 2:
        worked.tab_to("input", back=warned and worked.run(LABEL) == "Run")
        worked.press("Control+A")
        worked.type(text)
        worked.tab_to("Run")
        worked.press("Enter")
        wait_for(warned or "silence", lambda warned=warned: warning() == [warned, True])


PRESSED = """
const buttons = panel.content.widgets.find(c => c.model.id === cell).node.querySelectorAll('.widget-toggle-button');
const group = button => button.closest('[role=group]').ariaLabel;
return [...buttons].map(button => [button.innerText, button.ariaPressed, group(button)])
"""


def test_a_toggle_button_says_whether_it_is_pressed_and_what_it_belongs_to(worked):
    def pressed():
        return {text: (state, group) for text, state, group in worked.in_cell("pathlab", PRESSED)}

    assert pressed() == {"path": ("true", "It is a"), "pattern": ("false", "It is a")}
    go(worked, "pathlab")
    worked.tab_to("pattern")
    worked.press("Space")
    wait_for("the other button", lambda: pressed()["pattern"][0] == "true")
    assert pressed()["path"][0] == "false"
    worked.press("Shift+Tab", "Space")
    wait_for("the first button", lambda: pressed()["path"][0] == "true")


# ---- by keyboard alone: where the focus is, it has a frame; it is never lost; the order is as seen

# What has the focus: whether it stands in the output of `cell`, whether it has a frame, and its box, wherever the page
# and the boxes in the panel are scrolled to.
STOP = """
const focus = document.activeElement, box = focus.getBoundingClientRect(), look = getComputedStyle(focus);
const output = panel.content.widgets.find(c => c.model.id === cell)?.node.querySelector('.jp-OutputArea');
const inside = !!output?.contains(focus), from = inside ? output.getBoundingClientRect().top : 0;
let moved = 0;
for (let e = focus; inside && e !== output; e = e.parentElement) moved += e.parentElement.scrollTop;
const top = box.top - from + moved;
return [inside, parseFloat(look.outlineWidth) >= 1 && look.outlineStyle !== 'none',
        [box.left, top, box.right, top + box.height]]
"""
AT = """
const at = panel.content.activeCellIndex;
return [at, panel.content.widgets.findIndex(c => c.model.id === cell),
        document.activeElement === panel.content.widgets[at].node]
"""


def go(browser, cell):
    """Out of where the focus is, and to a cell, in JupyterLab's command mode."""
    for _ in range(200):
        at, to, is_free = browser.in_cell(cell, AT)
        if at == to and is_free:
            return
        if is_free:
            browser.press("ArrowDown" if to > at else "ArrowUp")
        else:
            browser.press("Escape", "ArrowUp")
            if browser.in_cell(cell, AT)[0] == at:  # the arrow keys belong to what has the focus
                browser.press("Shift+Tab")
    raise AssertionError(f"the keys never came to {cell}")


def frame_is_seen(browser):
    """Whatever of a panel has the focus, it is seen that it has."""
    cell = browser.in_cell("", "return panel.content.activeCell.model.id")
    inside, has_frame, _ = browser.in_cell(cell, STOP)
    assert has_frame or not inside, f"no frame around {browser.run(LABEL)!r}"


def in_order(browser, cell):
    """The labels of all stops in a panel. Each stands below the one before it, or at its right."""
    go(browser, cell)
    labels, last = [], None
    for _ in range(80):
        browser.press("Tab")
        inside, has_frame, box = browser.in_cell(cell, STOP)
        if inside:
            label = browser.run(LABEL)
            assert has_frame, label
            if last:
                assert box[1] >= last[3] - 4 or box[0] >= last[2] - 4, f"{label} after {labels[-1]}"
            labels, last = [*labels, label], box
        elif labels:
            return labels
    raise AssertionError(f"Tab never left {cell}: {labels}")


def keeps_focus(browser, cell):
    """The focus is in the panel: what had it was not switched off, or has handed it on a moment later."""
    wait_for("the focus", lambda: browser.in_cell(cell, STOP)[0])


def test_a_chat_by_keyboard(worked):
    def says(text):
        worked.wait_for_output("chat", text)
        keeps_focus(worked, "chat")

    assert in_order(worked, "chat") == ["You", "Send", "Stop", "New conversation", "Export"]
    go(worked, "chat")
    worked.tab_to("You")
    worked.type("Say it.")
    worked.press("Tab", "Enter")  # Send
    says("The agent wants to run bash")
    worked.tab_to("Allow", back=True)
    worked.press("Enter")
    says("Line 59 of the answer.")
    assert worked.run(LABEL) == "You"
    in_order(worked, "chat")
    go(worked, "chat")
    worked.tab_to("end of the conversation")
    scrolled = (
        "return [...document.querySelectorAll('.s02-panel *')].find(e => e.scrollHeight > 600 && e.clientHeight < 600)"
    )
    end = worked.run(scrolled + ".scrollTop")
    worked.press("Home")
    wait_for("the beginning", lambda: worked.run(scrolled + ".scrollTop") < end - 100)
    keeps_focus(worked, "chat")
    worked.tab_to("You")
    worked.type("Wait.")
    worked.press("Enter")
    says("The agent wants to run bash")
    worked.tab_to("Always in this session", back=True)
    worked.press("Space")
    wait_for("the question to go", lambda: "wants to run" not in worked.output("chat").split("You")[0])
    keeps_focus(worked, "chat")
    worked.tab_to("Stop")
    worked.press("Space")
    says("Stopped.")
    assert worked.run(LABEL) == "Stop"
    worked.tab_to("Export")
    worked.press("Enter")
    says("Download conversation.json")
    worked.tab_to("Download conversation.json")
    worked.tab_to("New conversation", back=True)
    worked.press("Enter")
    wait_for("an empty chat", lambda: "Wait." not in worked.output("chat"))
    keeps_focus(worked, "chat")


def test_a_stepper_by_keyboard(worked):
    def press(label, key, text, back=False):
        worked.tab_to(label, back)
        worked.press(key)
        worked.wait_for_output("stepper", text)
        keeps_focus(worked, "stepper")

    go(worked, "stepper")
    press("Forward ▶", "Space", "Step ")
    press("One turn ▶", "Enter", "step 7 ")
    press("Play ▶", "Space", "Pause ❚❚")
    press("Pause ❚❚", "Space", "Play ▶")
    press("To the end ▶▶", "Enter", "step 12 ", back=True)
    press("◀ Back", "Enter", "step 11 ", back=True)
    press("More ▾", "Enter", "Less ▴")
    press("what changed", "Enter", "as before")
    press("on the wire", "Space", "end_turn")
    press("messages", "Space", "end_turn", back=True)
    in_order(worked, "stepper")
    go(worked, "stepper")
    worked.tab_to("Step")
    worked.press("ArrowUp")
    worked.wait_for_output("stepper", "step 10 ")
    worked.press("ArrowDown")
    worked.wait_for_output("stepper", "step 11 ")
    assert worked.run(LABEL) == "Step"
    worked.tab_to("Edit")
    worked.press("Control+A")
    worked.type('[{"type": "text", "text": "None at all."}]')
    press("Use this instead", "Enter", "None at all.")
    press("Fork here", "Enter", "Run", back=True)


def test_a_toolbench_by_keyboard(worked):
    go(worked, "toolbench")
    worked.tab_to("Tool")
    worked.press("ArrowDown")
    worked.wait_for_output("toolbench", "Read a text file")
    assert worked.run(LABEL) == "Tool"
    worked.tab_to("form")
    worked.press("Enter")
    in_order(worked, "toolbench")
    go(worked, "toolbench")
    worked.tab_to("path *")
    worked.type("README.md")
    worked.tab_to("Run")
    worked.press("Enter")
    worked.wait_for_output("toolbench", "# Tea shop")
    keeps_focus(worked, "toolbench")


def test_a_pathlab_by_keyboard(worked):
    in_order(worked, "pathlab")
    go(worked, "pathlab")
    worked.tab_to("Text")
    worked.press("Control+A")
    worked.type("../work-evil/loot.txt")
    worked.wait_for_output("pathlab", "2 of 6 versions let it out")
    worked.tab_to("Examples")
    worked.press("ArrowDown", "ArrowDown")
    wait_for("another path", lambda: "workspace: BASE/work/../work-evil" not in worked.output("pathlab"))
    assert worked.run(LABEL) == "Examples"
    worked.tab_to("links in the workspace")
    worked.press("Space")
    keeps_focus(worked, "pathlab")


def test_a_historylab_by_keyboard(worked):
    in_order(worked, "historylab")
    go(worked, "historylab")
    worked.tab_to("History")
    before = worked.output("historylab")
    worked.press("ArrowDown")
    wait_for("another history", lambda: worked.output("historylab") != before)
    assert worked.run(LABEL) == "History"
    worked.tab_to("Messages")
    worked.press("Control+A")
    worked.type("nonsense")
    worked.press("Tab")
    worked.wait_for_output("historylab", "This is neither JSON nor a Python list")
    keeps_focus(worked, "historylab")


def test_a_fold_in_what_is_drawn_by_keyboard(worked):
    go(worked, "drawn")
    worked.tab_to("A line. ... 31 lines")
    assert worked.in_cell("drawn", STOP)[:2] == [True, True]
    for is_open in (True, False):
        worked.press("Enter")
        assert worked.run("return document.activeElement.parentElement.open") == is_open
