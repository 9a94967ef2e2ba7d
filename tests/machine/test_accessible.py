"""What the course draws, and its widgets: judged by axe-core, read for a screen reader, worked by keyboard alone.

axe-core comes with the foreign clients: python tests/clients/install.py. Skipped where there is no Chromium.
"""

import os
import sys

import pytest
from browser import NAMES, Browser, Lab, find_chromium, notebook_of
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
stepper.run.to_end(lambda: None)
stepper.run.at = 5
stepper._draw()
stepper.more_button.click()
stepper""",
    "failed": """\
failed = Stepper(*connect(script=[late]), user)
failed.run.to_end(lambda: None)
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


@pytest.fixture(scope="module")
def axe():
    """The source of axe-core."""
    if why := install.missing():
        pytest.fail(why) if os.environ.get("CI") else pytest.skip(why)
    return AXE.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    folder = tmp_path_factory.mktemp("lab")
    (folder / "drawn.ipynb").write_text(notebook_of(DRAWN), encoding="utf-8")
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
