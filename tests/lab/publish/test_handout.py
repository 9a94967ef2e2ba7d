"""The handout and the slides: all of them are made, each stands alone, and what they say is what the pages say."""

import json
import re

import pytest
from refresh import notebooks, read

from s02_tool_use import TOOLS
from s02_tool_use.lab.check.pages import COURSE
from s02_tool_use.lab.publish import handout
from s02_tool_use.lab.start import reset

PAGES = [path for path in notebooks() if path.parent.name == "notebooks"]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("made") / "for" / "the room"
    assert handout.write(folder, COURSE) == len(PAGES)
    return {path.name: path.read_text(encoding="utf-8") for path in folder.iterdir()}


def test_there_is_a_handout_and_slides_of_each_notebook(made):
    assert sorted(made) == [*(f"{path.stem}.slides.html" for path in PAGES), "handout.html"]


def test_what_a_teacher_wrote_into_a_notebook_is_not_on_the_slides(tmp_path, monkeypatch):
    root, told = tmp_path / "course", tmp_path / "told"
    for folder, text in ((root / "notebooks", "the answer"), (root / reset.COPY, "your turn")):
        folder.mkdir(parents=True)
        page = json.dumps({"cells": [{"cell_type": "markdown", "source": [text]}], "nbformat": 4})
        (folder / "01_a_page.ipynb").write_text(page, encoding="utf-8")
    monkeypatch.setattr(reset, "ROOT", root)
    assert handout.main([str(told)]) == 0
    text = (told / "01_a_page.slides.html").read_text(encoding="utf-8")
    assert "your turn" in text
    assert "the answer" not in text


def test_nothing_is_loaded_from_anywhere(made):
    for name, text in made.items():
        page = re.sub(r"<pre.*?</pre>", "", text, flags=re.S)  # code may talk of addresses
        assert re.findall(r"""<(?:link|script|iframe|object|embed|base)[^>]+(?:src|href)""", page) == [], name
        sources = re.findall(r"""<[^>]*\s(?:src|srcset|poster|data)=["']?([^"'\s>]+)""", page)
        assert [source for source in sources if not source.startswith("data:")] == [], name
        assert re.findall(r"url\((?!['\"]?(?:data:|#))|@import", page) == [], name


def test_the_handout_has_the_picture_the_tools_the_stages_and_the_tables_of_the_pages(made):
    text = made["handout.html"]
    assert text.count("<svg") == 1
    for tool in TOOLS:
        assert f"<td>{tool['name']}</td>" in text
    for at, stage in enumerate(handout.STAGES, 1):
        assert f"<td>{at} {stage}</td>" in text
    plain = re.sub(r"<[^>]+>", "", text)
    for number in ("01", "03", "05", "06"):
        path = next(path for path in PAGES if path.stem.startswith(number))
        recap = next(cell.source for cell in read(path).cells if cell.source.startswith("## Recap"))
        rows = [line for line in recap.splitlines() if line.startswith("|") and "---" not in line]
        for words in (word.strip().replace("`", "") for row in rows for word in row.split("|")):
            assert words.replace("'", "&#39;") in plain or words in plain.replace("&#39;", "'"), words


def test_each_section_and_each_exercise_begins_a_slide_and_none_has_two_cells_of_code(made):
    for path in PAGES:
        slides = re.findall(r"<section>(.*?)</section>", made[f"{path.stem}.slides.html"], re.S)
        assert all(slide.count('class=" highlight') + slide.count('class="highlight') <= 1 for slide in slides)
        texts = [cell.source for cell in read(path).cells if cell.cell_type == "markdown"]
        heads = [text for text in texts if re.match(r"#{1,3} ", text)]
        begun = [slide for slide in slides if re.match(r'(?:<p class="where">[^<]*</p>)?\s*<h[123]', slide)]
        assert len(begun) == len(heads)


def test_hints_checks_and_cells_for_who_comes_late_are_left_out_and_links_lead_to_slides(made):
    everything = "".join(made.values())
    assert "Hint 1" not in everything
    assert "start_here(" not in re.sub(r"<[^>]+>", "", everything)
    assert not re.search(r"not yet</b>|NotImplementedError:", everything)
    assert not re.search(r'href="\d\d_\w+\.ipynb"', everything)


def test_a_folder_that_cannot_be_written_is_a_sentence(tmp_path):
    file = tmp_path / "taken"
    file.write_text("mine")
    assert handout.main([str(file)]).startswith(f"{file} cannot be written: ")
    assert file.read_text() == "mine"


def test_text_of_an_output_is_no_markup():
    error = {"output_type": "error", "ename": "<b>", "evalue": "a < b", "traceback": []}
    assert handout.output(error) == "<pre>&lt;b&gt;: a &lt; b</pre>"
    assert handout.output({"output_type": "stream", "text": ["<i>", "&"]}) == "<pre>&lt;i&gt;&amp;</pre>"


def test_the_slides_leave_out_the_cell_that_fetches_the_course_in_colab():
    page = COURSE / "04_safe_path.ipynb"
    assert "the-course" in page.read_text(encoding="utf-8")
    assert "the-course" not in handout.slides(page)
