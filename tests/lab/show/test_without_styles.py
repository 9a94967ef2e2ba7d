"""Each drawing where a page is shown without styles and pictures: it still says all that its twin says."""

import json
from pathlib import Path

import pytest
from stripped import missing

from s02_tool_use.lab import Chat, HistoryLab, PathLab, Stepper, ToolBench, check, connect, escape_room, show

ROOT = Path(__file__).resolve().parents[3]
NOTEBOOKS = sorted((ROOT / "notebooks").rglob("*.ipynb"))


def drawn_in(path):
    """(cell, twin, HTML) of each drawn output of a notebook."""
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        for output in cell.get("outputs", ()):
            data = output.get("data", {})
            if "text/html" in data:
                yield cell["id"], "".join(data["text/plain"]), "".join(data["text/html"])


@pytest.mark.parametrize("svg_words", [False, True])
@pytest.mark.parametrize("path", NOTEBOOKS, ids=[path.relative_to(ROOT / "notebooks").as_posix() for path in NOTEBOOKS])
def test_a_saved_output_says_all_that_its_twin_says(path, svg_words):
    outputs = list(drawn_in(path))
    found = {cell: said for cell, text, html in outputs if (said := missing(text, html, svg_words))}
    assert found == {}
    assert outputs or path.stem == "00"


PROSE = "First:\n\n    an_indented(line)\n\nand the last.\n"
RESULT = "\n".join(f"{number:3}  line of a file" for number in range(30))
HISTORY = [
    {"role": "user", "content": PROSE},
    {
        "role": "assistant",
        "content": [
            {"type": "text", "text": "Both."},
            {"type": "tool_use", "id": "toolu_01", "name": "bash", "input": {"command": "ls\npwd\n" * 30}},
            {"type": "tool_use", "id": "toolu_02", "name": "read_file", "input": {"path": "a.txt"}},
        ],
    },
    {
        "role": "user",
        "content": [
            {"type": "tool_result", "tool_use_id": "toolu_02", "content": "\nno file\nhere", "is_error": True},
            {"type": "tool_result", "tool_use_id": "toolu_01", "content": RESULT},
        ],
    },
]


def before(code):
    for line in code.splitlines():
        print(line)


def after(code):
    """What it does."""
    for line in code.splitlines():
        if line:
            print(line)
    return len(code)


def wrong(number):
    print("one\ntwo")
    return "\n".join(["a", "b"])


def wire():
    client, model = connect(script=[PROSE])
    with client.messages.stream(model=model, max_tokens=9, messages=HISTORY[:1]) as stream:
        stream.until_done()
    return show.show_wire(client)


def tree():
    room = escape_room(show=False)
    return show.show_tree(room, room / "work", ["link.txt", "sub/new.txt", "loop/x"])


def half_right(messages):
    return messages[:2]


def stepped():
    panel = Stepper(*connect(script=["Fine."]), [{"role": "user", "content": PROSE}])
    panel._to_end()
    return panel.twin()


def no_history():
    panel = HistoryLab()
    panel.text.value = "[{]\n\nnonsense"
    return panel.twin()


def talked():
    call = {"type": "tool_use", "name": "bash", "input": {"command": "echo one; echo two"}}
    panel = Chat(*connect(script=[["Wait.", call], PROSE]), ask_before=())
    panel.session.run(PROSE)
    return panel.twin()


def run_bench():
    panel = ToolBench()
    panel._run()
    return panel.twin()


DRAWINGS = {
    "a conversation": lambda: show.show_messages(HISTORY),
    "calls that wait": lambda: show.show_messages(HISTORY[:2]),
    "a refused one": lambda: show.show_messages([*HISTORY[:2], *HISTORY]),
    "a difference of code": lambda: show.show_diff(before, after),
    "a difference of histories": lambda: show.show_diff(HISTORY, HISTORY[:2]),
    "a source": lambda: show.show_source(missing),
    "a table": lambda: show.show_table(["a", "number"], [["x\ny", 1], [PROSE, 100]], bars="number"),
    "a line of time": lambda: show.show_timeline({"in turn": [("begins", "x"), ("ends", "x"), ("begins", PROSE)]}),
    "a tree": tree,
    "a bill": lambda: show.cost({"usage": {"input_tokens": 10, "output_tokens": 2}}, {"input_tokens": 3.0}),
    "what went over the wire": wire,
    "a board": lambda: show.score(half_right),
    "the loop": lambda: show.show_loop("sent"),
    "the loop with a lit end": lambda: show.show_loop(["turn", "end"]),
    "a wrong answer": lambda: check.read(wrong),
    "a right answer": lambda: check.usage(lambda replies: (0, 0)),
    "what is done": check.progress,
    "HistoryLab": lambda: HistoryLab().twin(),
    "HistoryLab of what is no history": no_history,
    "PathLab": lambda: PathLab().twin(),
    "PathLab with a pattern": lambda: PathLab("**/*.txt", "pattern").twin(),
    "Chat": lambda: Chat(*connect(script=["Fine."])).twin(),
    "Chat after a turn": talked,
    "Stepper of a saved conversation": lambda: Stepper(messages=HISTORY).twin(),
    "Stepper": stepped,
    "ToolBench": run_bench,
}


@pytest.mark.parametrize("draw", DRAWINGS.values(), ids=DRAWINGS)
def test_a_drawing_says_all_that_its_twin_says(draw):
    drawn = draw()
    assert missing(drawn.text, drawn.html) == ""
    assert missing(drawn.text, drawn.html, svg_words=True) == ""


@pytest.mark.parametrize(
    ("html", "said"),
    [
        ("<p>A tool_use</p>", ""),
        ("<svg><text>A</text></svg><p>tool_use A tool_use</p>", ""),
        ("<p><b>A</b>tool_use</p>", "'A'"),
        ("<p>tool_use A</p>", "'tool_use'"),
        ('<div style="white-space:pre">A\ntool_use\nB</div>', "a line of its own for 'B'"),
        ('<p>A <span title="tool_use"></span></p>', "'tool_use'"),
    ],
)
def test_what_a_page_without_styles_loses_is_seen(html, said):
    text = "A tool_use\nB" if "B" in html else "A tool_use"
    assert missing(text, html).startswith(said)
    assert said or not missing(text, html)
