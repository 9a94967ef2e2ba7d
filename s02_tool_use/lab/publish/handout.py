"""python3 -m s02_tool_use handout DIR: a page to print, and slides of each notebook, as it was shipped.

Each file stands alone: it loads nothing, so it needs no network. Left out: reveal.js, which nbconvert's own slides load
from a CDN; here the page scrolls from slide to slide, and a few lines of script listen to the keys.
"""

import argparse
import re
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from nbconvert.filters import Highlight2HTML, markdown2html_mistune
from pygments.formatters import HtmlFormatter

from ... import TOOLS
from ..check.pages import cells, find
from ..show.loop import STAGES, draw_loop
from ..show.page import escape
from ..start import reset

NUMBERS = [f"{number:02}" for number in range(12)]
# What a room does not look at together: hints, checks that say "not yet", cells for who comes late, the last links.
LEFT_OUT = re.compile(r".*-(start|check|hint\d)|end|next")

LOOKS = """
:root { color-scheme: light; color: #1f2328; background: #fff; font-family: system-ui, sans-serif; }
h1, h2, h3 { line-height: 1.2; margin: 0 0 .4em; }
table { border-collapse: collapse; }
th, td { border-bottom: 1px solid #bbb; padding: .15em .6em .15em 0; text-align: left; vertical-align: top; }
code, pre { font-family: ui-monospace, Consolas, Menlo, monospace; font-size: .88em; }
.anchor-link { display: none; }
"""
PRINTED = """
@page { size: A4; margin: 10mm; }
body { font-size: 8.4pt; line-height: 1.25; max-width: 190mm; margin: 0 auto; }
h1 { font-size: 15pt; } h2 { font-size: 10pt; margin-top: 2mm; } p { margin: 0 0 1mm; }
.columns { columns: 2; column-gap: 7mm; } .columns > div { break-inside: avoid; } table { width: 100%; }
td:first-child { font-weight: 600; }
"""
SHOWN = """
html { scroll-snap-type: y proximity; font-size: clamp(15px, 1.75vw, 34px); }
body { margin: 0; counter-reset: slide; }
section { box-sizing: border-box; min-height: 100vh; padding: 3vh 6vw 5vh; scroll-snap-align: start;
  counter-increment: slide; position: relative; line-height: 1.4; border-bottom: 1px solid #ddd; }
section::after { content: counter(slide); position: absolute; right: 2vw; bottom: 1.5vh; color: #666; font-size: .7em; }
.where { color: #555; font-size: .75em; margin: 0 0 1.5em; }
.highlight { background: #f4f6f8; padding: .1em .8em; border-radius: 6px; overflow-x: auto; }
details { margin-top: .6em; } summary { color: #555; cursor: pointer; }
details > div { border-left: 4px solid #0969da; padding-left: .8em; overflow-x: auto; }
details pre { white-space: pre-wrap; overflow-wrap: anywhere; }
"""
KEYS = """
const slides = [...document.querySelectorAll("section")];
const here = () => slides.findLastIndex(slide => slide.getBoundingClientRect().top < innerHeight / 2);
addEventListener("keydown", event => {
  const ahead = ["ArrowRight", "PageDown", " ", "Enter"].includes(event.key);
  if ((!ahead && !["ArrowLeft", "PageUp"].includes(event.key)) || event.target.tagName === "SUMMARY") return;
  event.preventDefault();
  const at = here(), shut = ahead && slides[at].querySelector("details.out:not([open])");
  if (shut) { shut.open = true; return; }
  slides[at + (ahead ? 1 : -1)]?.scrollIntoView();
});
addEventListener("beforeprint", () => document.querySelectorAll("details").forEach(one => one.open = true));
"""


def main(argv: Sequence[str]) -> int | str:
    """Write the files. Returns 0, or a sentence about what stands in the way."""
    parser = argparse.ArgumentParser(prog="python3 -m s02_tool_use handout", description=(__doc__ or "").split(": ")[1])
    parser.add_argument("folder", metavar="DIR", type=Path)
    folder = parser.parse_args(argv).folder
    try:
        with tempfile.TemporaryDirectory() as work:
            reset.hand_out(Path(work, "notebooks"))  # a teacher's own hold answers
            count = write(folder, Path(work, "notebooks"))
    except OSError as error:
        return f"{folder} cannot be written: {error.strerror}. Name another folder."
    print(f"{folder / 'handout.html'}: print it, it is one page.")
    print(f"{folder}: slides of {count} notebooks. Open one in a browser: → shows what a cell prints, then goes on.")
    return 0


def write(folder: Path, notebooks: Path) -> int:
    """Write the files into `folder`, from these notebooks. Returns how many notebooks there are."""
    paths = [path for number in NUMBERS for path in find(number, notebooks)]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "handout.html").write_text(handout(paths), encoding="utf-8")
    for path in paths:
        (folder / f"{path.stem}.slides.html").write_text(slides(path), encoding="utf-8")
    return len(paths)


def document(title: str, style: str, body: str, script: str = "") -> str:
    """A whole page."""
    head = f'<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{escape(title)}</title>'
    script = f"<script>{script}</script>" if script else ""
    head += f"<style>{LOOKS}{style}</style>"
    return f'<!doctype html><html lang="en"><head>{head}</head><body>{body}{script}</body></html>\n'


# ---- the page to print


def handout(paths: Sequence[Path]) -> str:
    """The loop, the tools, the stages, and what the pages say at their ends."""
    tools = [
        (tool["name"], ", ".join(tool["input_schema"]["properties"]), first(tool["description"])) for tool in TOOLS
    ]
    stages = [(f"{at} {name}", lane, says) for at, (name, (lane, _, says)) in enumerate(STAGES.items(), 1)]
    recaps = {path.stem[:2]: recap(path) for path in paths}
    parts = [
        ("The five tools", table(("tool", "takes", "does"), tools)),
        ("The seven stages of the loop", table(("stage", "who", "what happens"), stages)),
        ("A call and its answer (01)", recaps.get("01", "")),
        ("Four tools for files (03)", recaps.get("03", "")),
        ("What the API wants of a conversation (05)", recaps.get("05", "")),
        ("A loop that ends well (06)", recaps.get("06", "")),
    ]
    columns = "".join(f"<div><h2>{escape(title)}</h2>{made}</div>" for title, made in parts if made)
    said = "A model only asks. Your program acts. A result is all that the model knows."
    drawn = draw_loop(caption=False).html
    body = f'<h1>Tool use on one page</h1><p>{said}</p>{drawn}<div class="columns">{columns}</div>'
    return document("Tool use on one page", PRINTED, body)


def first(description: str) -> str:
    """The first sentence."""
    return re.split(r"[.;](?: |$)", description)[0] + "."


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = ["".join(f"<th>{escape(word)}</th>" for word in head)]
    lines += ["".join(f"<td>{escape(word)}</td>" for word in row) for row in rows]
    return f"<table>{''.join(f'<tr>{line}</tr>' for line in lines)}</table>"


def recap(path: Path) -> str:
    """The table at the end of a page."""
    texts = [cell["source"] for cell in cells(path) if cell["source"].startswith("## Recap")]
    rows = [line for text in texts for line in text.splitlines() if line.startswith("|")]
    return str(markdown2html_mistune("\n".join(rows))) if rows else ""


# ---- slides


def slides(path: Path) -> str:
    """A notebook as slides: each has some words, at most one cell, and what that printed, folded."""
    made = []
    for where, group in groups(path):
        top = f'<p class="where">{escape(where)}</p>' if where else ""
        made.append(f"<section>{top}{''.join(map(drawn, group))}</section>")
    return document(path.stem, SHOWN + HtmlFormatter().get_style_defs(".highlight"), "".join(made), KEYS)


def groups(path: Path) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """(where it belongs, its cells) of each slide. A heading begins one, and so does what follows a cell of code."""
    group: list[dict[str, Any]] = []
    where = now = ""
    for cell in cells(path):
        if LEFT_OUT.fullmatch(cell.get("id", "")) or not cell["source"].strip():
            continue
        heading = re.match(r"##? (.*)", cell["source"]) if cell["cell_type"] == "markdown" else None
        begins = heading or cell["source"].startswith("### ") or (group and group[-1]["cell_type"] == "code")
        if group and begins:
            yield where, group
            group, where = [], now
        if heading:
            where, now = "", f"{path.stem[:2]} · {heading[1]}"
        group.append(cell)
    if group:
        yield where, group


def drawn(cell: dict[str, Any]) -> str:
    """A cell as HTML."""
    if cell["cell_type"] == "markdown":
        html = str(markdown2html_mistune(cell["source"]))
        return re.sub(r'href="(\d\d_\w+)\.ipynb"', r'href="\1.slides.html"', html)
    code = str(Highlight2HTML(pygments_lexer="ipython3")(cell["source"]))
    printed = "".join(map(output, cell["outputs"]))
    return code + (
        f'<details class="out"><summary>What does it print?</summary><div>{printed}</div></details>' * bool(printed)
    )


def output(one: dict[str, Any]) -> str:
    """One output as HTML: what is drawn, or else the text."""
    if one["output_type"] == "error":
        return f"<pre>{escape(one['ename'])}: {escape(one['evalue'])}</pre>"
    data = one.get("data", {})
    if "text/html" in data:
        return "".join(data["text/html"])
    return f"<pre>{escape(''.join(one.get('text') or data.get('text/plain', '')))}</pre>"
