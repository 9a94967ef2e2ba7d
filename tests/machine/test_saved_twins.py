"""Widgets in pages that are opened again: JupyterLab started without the course's settings, as from another menu."""

import json
import shutil
import sys

import pytest
from browser import NAMES, ROOT, Browser, Lab, find_chromium

pytestmark = [
    pytest.mark.skipif(find_chromium() is None, reason=f"no browser: none of {', '.join(NAMES)} is installed"),
    pytest.mark.skipif(sys.platform == "win32", reason="the driver ends its programs in the way of POSIX"),
]
NOTEBOOK, CELL, TWIN = "07_look_inside.ipynb", "s1-stepper", "Stepper at step 0"


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    folder = tmp_path_factory.mktemp("twins")
    shutil.copy(ROOT / "notebooks" / NOTEBOOK, folder)
    with Lab(folder, settings=False) as lab:
        yield lab


def test_without_the_courses_settings_the_twin_stands_there_before_a_run_and_after_a_save(lab):
    with Browser() as browser:
        browser.open(lab, NOTEBOOK)
        browser.show_cell(CELL)
        browser.wait_for_output(CELL, TWIN)
        assert browser.run_all() == []
        browser.show_cell(CELL)
        browser.wait_for_output(CELL, "Forward")
        browser.restart()
        browser.save()
        browser.open(lab, NOTEBOOK)
        browser.show_cell(CELL)
        browser.wait_for_output(CELL, TWIN)
        assert "model not found" not in browser.text()


def test_what_was_saved_holds_the_twin_and_no_widget(lab):
    notebook = json.loads((lab.folder / NOTEBOOK).read_text(encoding="utf-8"))
    (output,) = next(cell["outputs"] for cell in notebook["cells"] if cell["id"] == CELL)
    assert set(output["data"]) == {"text/html", "text/plain"}
    assert "widgets" not in notebook["metadata"]
