"""Each widget at each size of a page: 1280x800 and 1024x768, at 100, 150 and 200 %, light and dark, after one turn,
eight and a hundred, and with words as long as a page. Scroll bars are shown. Nothing scrolls sideways or is cut off.

Pictures of what was seen go to screenshots/, which git ignores: look at them.
"""

import sys

import pytest
from browser import NAMES, ROOT, Browser, Lab, find_chromium, notebook_of, wait_for

pytestmark = [
    pytest.mark.skipif(find_chromium() is None, reason=f"no browser: none of {', '.join(NAMES)} is installed"),
    pytest.mark.skipif(sys.platform == "win32", reason="the driver ends its programs in the way of POSIX"),
]
PICTURES = ROOT / "screenshots"
TURNS = (1, 8, 100)
SIZES = ((1280, 800), (1024, 768))
ZOOMS = (1, 1.5, 2)

# Each answer has more lines than a turn of the last would have shown of itself, when turns could shrink.
SETUP = """\
from s02_tool_use.lab import Chat, HistoryLab, PathLab, Stepper, ToolBench, connect, fresh_workspace

fresh_workspace()
NAME, WORD = "a_name_of_thirty-five_characters_xy", "x" * 300  # one that is allowed, and one without an end
said = "\\n".join(f"Line {n} of the answer." for n in range(12))

def call(name, **given):
    return {"type": "tool_use", "name": name, "input": given}

def user(text):
    return [{"role": "user", "content": text}]

def talk(turns):
    script = [step for n in range(turns) for step in (call("glob", pattern="**/*.py"), f"{said}\\nAnswer {n + 1}.")]
    chat = Chat(*connect(script=script))
    for n in range(turns):
        chat.session.run(f"Question {n + 1}?")
    return chat

def steps(turns):
    stepper = Stepper(*connect(script=[*turns * [call("read_file", path="README.md")], said]), user("Read."))
    stepper.run.settings["max_turns"] = turns + 1
    stepper.run.to_end()
    stepper.run.back()
    stepper._draw()
    return stepper

def talked(messages, said=said):
    return [{"role": ("user", "assistant")[n % 2], "content": f"Message {n}. {said}"} for n in range(messages)]

def tool(number):
    some = {"kind": {"enum": [NAME, "b"]}, "flag": {"type": "boolean"}, "list": {"type": "array"}}
    schema = {"type": "object", "properties": {NAME: {"type": "string"}, **some}, "required": [NAME]}
    return {"name": f"{NAME}_{number:03}", "description": "What it does. " * 20, "input_schema": schema}
"""
# What each cell shows, by its id. The last word of a widget is looked for in its output.
CELLS = {
    "setup": SETUP,
    **{f"chat-{turns}": f"talk({turns})" for turns in TURNS},
    "chat-words": """\
words = Chat(*connect(script=[[WORD, call(NAME, **{NAME: WORD})], WORD]))
words.session.run(WORD)
words""",
    "chat-asks": """\
asks = Chat(*connect(script=[call("bash", command=f"echo {WORD}" + 20 * "\\nxyz")]))
asks.session.send("Go.")
asks""",
    "chat-model": """Chat(*connect(base_url="http://127.0.0.1:9", model=3 * f"{NAME}/", api_key="k"))""",
    **{f"stepper-{turns}": f"steps({turns})" for turns in TURNS},
    "stepper-more": """\
more = steps(8)
more.more_button.click()
more.view.value = "on the wire"
more""",
    "stepper-words": """\
long = Stepper(*connect(script=[[WORD, *5 * [call(NAME, **{NAME: WORD})]]]), user(WORD))
for n in range(5):
    long.run.forward()
long.more_button.click()
long._draw()
long""",
    "toolbench": "ToolBench()",
    "toolbench-100": """\
bench = ToolBench([tool(number) for number in range(100)], {})
bench.fields[NAME].value = WORD
bench.run_button.click()
bench""",
    "pathlab": "PathLab()",
    "pathlab-words": """PathLab("../" + WORD)""",
    "pathlab-pattern": """PathLab("**/*.txt", "pattern")""",
    "historylab": "HistoryLab()",
    "historylab-100": "HistoryLab(talked(100))",
    "historylab-2000": """HistoryLab(talked(2000, ""))""",
    "historylab-words": """\
asked = call(NAME, **{NAME: WORD}) | {"id": NAME}
HistoryLab([*user(WORD), {"role": "assistant", "content": [asked]}])""",
}

# What is wrong with a cell's output, as a list of [what, where]; and how far the boxes in it that scroll are scrolled.
LOOK = r"""
const output = panel.content.widgets.find(c => c.model.id === cell).node.querySelector('.jp-OutputArea');
const edge = output.getBoundingClientRect().right + 1, faults = [], scrollers = [];
const say = (what, e) => faults.push([what, `${e.tagName} ${e.className} ${e.innerText ?? ''}`.slice(0, 120)]);
const around = [document.scrollingElement, ...document.querySelectorAll('.jp-WindowedPanel-outer')];
for (const e of [...around, output, ...output.querySelectorAll('*')]) {
  if (e.matches('td > b') && e.getClientRects().length > 1) say('a badge in two lines', e);
  if (!e.clientWidth || !e.clientHeight || e.closest('svg')) continue;
  const { overflowX, overflowY } = getComputedStyle(e);
  const wide = e.scrollWidth - e.clientWidth, high = e.scrollHeight - e.clientHeight;
  if (output.contains(e) && e.getBoundingClientRect().right > edge) say('sticks out', e);
  if (e.tagName === 'SELECT') {  // it scrolls nothing, and cuts what is chosen
    const whole = e.parentElement.appendChild(e.cloneNode(true));
    whole.style.cssText = 'position:absolute;width:max-content;max-width:none';
    if (whole.offsetWidth > e.offsetWidth + 1) say('cut', e);
    whole.remove();
  }
  if (['INPUT', 'SELECT', 'TEXTAREA'].includes(e.tagName)) continue;  // what is typed there may be longer
  if (wide > 0 && overflowX !== 'visible') say(['auto', 'scroll'].includes(overflowX) ? 'scrolls sideways' : 'cut', e);
  if (high > 1 && ['hidden', 'clip'].includes(overflowY)) say('cut below', e);
  if (high > 0 && ['auto', 'scroll'].includes(overflowY) && output.contains(e))
    scrollers.push(e.scrollTop);
}
return { faults, scrollers, high: output.clientHeight }
"""


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """The notebook of all widgets, run, in a page of its own."""
    folder = tmp_path_factory.mktemp("sizes")
    (folder / "sizes.ipynb").write_text(notebook_of(CELLS), encoding="utf-8")
    with Lab(folder) as lab, Browser() as browser:
        browser.open(lab, "sizes.ipynb")
        assert browser.run_all() == []
        browser.show_cell("chat-asks")
        browser.wait_for_output("chat-asks", "The agent wants to run bash")
        yield browser


@pytest.fixture(autouse=True)
def an_empty_console(page):
    yield
    page.run("return 1")  # events that are under way come in before the answer
    said, page.errors, page.warnings = page.errors + page.warnings, [], []
    assert said == []


@pytest.fixture
def sized(page):
    """A function that gives the page a size, a zoom and a theme. Afterwards it is as before, but for the theme."""
    yield lambda size, zoom, dark: (page.resize(*size, zoom), page.theme(dark))
    page.resize(*page.size)


def looked_at(page, cell):
    page.show_cell(cell)
    return page.in_cell(cell, LOOK)


@pytest.mark.parametrize("size", SIZES, ids=["1280x800", "1024x768"])
@pytest.mark.parametrize("zoom", ZOOMS, ids=["100%", "150%", "200%"])
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_no_widget_scrolls_sideways_or_hides_a_part_at_any_size(page, sized, size, zoom, dark):
    sized(size, zoom, dark)
    assert page.run(SCROLL_BAR) > 0, "the browser shows scroll bars"
    for cell in list(CELLS)[1:]:
        seen = looked_at(page, cell)
        assert (cell, seen["faults"]) == (cell, [])
        assert seen["high"] < 30_000, cell
        if not cell.startswith("chat"):
            assert (cell, seen["scrollers"]) == (cell, [])
        elif cell in ("chat-8", "chat-100"):
            assert (cell, seen["scrollers"]) == (cell, [0]), "one box, a reversed column at its end"
        if zoom == 1.5:
            page.screenshot(PICTURES / "sizes" / f"{cell}-{size[0]}-{'dark' if dark else 'light'}.png")


SCROLL_BAR = """
const box = document.createElement('div');
box.style = 'overflow:scroll;width:99px;height:99px;position:absolute';
document.body.append(box);
const width = box.offsetWidth - box.clientWidth;
box.remove();
return width"""

# The last lines of a chat, and the box that scrolls: [their top, bottom and height, its top and bottom].
LAST = """
const output = panel.content.widgets.find(c => c.model.id === cell).node.querySelector('.jp-OutputArea');
const box = [...output.querySelectorAll('*')].find(e => getComputedStyle(e).flexDirection === 'column-reverse');
const drawn = [...box.querySelectorAll('.widget-html-content')];
const said = drawn.filter(e => e.innerText.includes('of the answer')).at(-1);
const [inner, outer] = [said.getBoundingClientRect(), box.getBoundingClientRect()];
return [said.innerText, inner.bottom <= outer.bottom + 1, said.scrollHeight <= said.clientHeight + 1, inner.height]"""


@pytest.mark.parametrize("turns", TURNS)
def test_the_last_answer_of_a_chat_stands_whole_at_its_end(page, turns):
    page.show_cell(f"chat-{turns}")
    page.wait_for_output(f"chat-{turns}", f"Answer {turns}.")
    said, is_seen, is_whole, height = page.in_cell(f"chat-{turns}", LAST)
    assert said.split("\n")[-1].startswith(f"Answer {turns}.")
    assert len(said.split("\n")) == 13
    assert (is_seen, is_whole) == (True, True)
    assert height > 13 * 12, "it has not shrunk"


TOP = """
const output = panel.content.widgets.find(c => c.model.id === cell).node.querySelector('.jp-OutputArea');
const box = [...output.querySelectorAll('*')].find(e => getComputedStyle(e).flexDirection === 'column-reverse');
return [box.scrollTop, box.clientHeight - box.scrollHeight]"""


@pytest.mark.parametrize("turns", TURNS[1:])
def test_a_long_chat_is_scrolled_by_keyboard(page, turns):
    cell = f"chat-{turns}"
    page.show_cell(cell)
    page.wait_for_output(cell, f"Answer {turns}.")
    page.enter(cell)
    page.tab_to("You")
    page.press("Shift+Tab")  # from where one writes, back into the conversation
    assert page.run("return document.activeElement.innerText") == "end of the conversation"

    def place():
        return page.in_cell(cell, TOP)[0]

    before = 0
    for key in ("ArrowUp", "ArrowUp", "Home"):  # upwards is below 0 in a reversed column
        wait_for(key, lambda: page.press(key) or place() < before)  # noqa: B023
        before = place()
    wait_for("the beginning", lambda: abs(place() - page.in_cell(cell, TOP)[1]) <= 1)
    before = place()
    wait_for("ArrowDown", lambda: page.press("ArrowDown") or place() > before)
    wait_for("the end", lambda: page.press("End") or abs(place()) <= 1)
