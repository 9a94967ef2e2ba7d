"""The handout in a real browser: one sheet of paper, nothing loaded; slides that go on by keys and fit the screen."""

import base64
import os
import re
import sys

import pytest
from browser import NAMES, Browser, find_chromium

from s02_tool_use.lab.check.pages import COURSE
from s02_tool_use.lab.publish import handout

if not find_chromium() and os.environ.get("CI"):
    raise RuntimeError("a browser is needed: install chromium")
pytestmark = [
    pytest.mark.skipif(find_chromium() is None, reason=f"no browser: none of {', '.join(NAMES)} is installed"),
    pytest.mark.skipif(sys.platform == "win32", reason="the driver ends its programs in the way of POSIX"),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("made")
    handout.write(made, COURSE)
    return made


@pytest.fixture(scope="module")
def browser():
    with Browser(size=(1280, 720)) as browser:
        yield browser


def opened(browser, path):
    browser.call("Page.navigate", url=path.as_uri())
    browser.wait("the page", "return document.readyState === 'complete' && location.href === url", url=path.as_uri())
    assert browser.run("return performance.getEntriesByType('resource').map(e => e.name)") == []
    assert browser.errors == []


@pytest.mark.parametrize("paper", [(8.27, 11.69), (8.5, 11)], ids=["A4", "Letter"])
def test_the_handout_is_one_sheet(paper, browser, folder):
    opened(browser, folder / "handout.html")
    size = {"paperWidth": paper[0], "paperHeight": paper[1]}
    printed = browser.call("Page.printToPDF", preferCSSPageSize=paper[0] == 8.27, **size)
    pages = re.findall(rb"/Type\s*/Page\b(?!s)", base64.b64decode(printed["data"]))
    assert len(pages) == 1


@pytest.mark.parametrize("size", [(1280, 720), (1024, 768)], ids=["wide", "old projector"])
def test_slides_fit_the_width_of_the_screen_and_load_nothing(size, browser, folder):
    browser.resize(*size)
    for path in sorted(folder.glob("*.slides.html")):
        opened(browser, path)
        browser.run("document.querySelectorAll('details').forEach(one => one.open = true)")
        assert browser.run("return document.documentElement.scrollWidth <= innerWidth"), path.name
    browser.resize(1280, 720)


AT = """const slides = [...document.querySelectorAll('section')];
return slides.findLastIndex(slide => slide.getBoundingClientRect().top < innerHeight / 2)"""
OPEN = "return document.querySelectorAll('details.out[open]').length"


def test_a_key_shows_what_a_cell_prints_and_the_next_one_goes_on(browser, folder):
    opened(browser, folder / "04_safe_path.slides.html")
    count = browser.run("return document.querySelectorAll('section').length")
    folded = browser.run("return document.querySelectorAll('details.out').length")
    seen = []
    for _ in range(count + folded):
        seen.append((browser.run(AT), browser.run(OPEN)))
        browser.press("ArrowRight")
    assert seen[0] == (0, 0)
    assert all(sum(after) - sum(before) == 1 for before, after in zip(seen, seen[1:], strict=False))
    assert (browser.run(AT), browser.run(OPEN)) == (count - 1, folded)
    browser.press("ArrowLeft")
    assert browser.run(AT) == count - 2


def test_printed_slides_show_what_was_folded(browser, folder):
    opened(browser, folder / "00_start_here.slides.html")
    browser.run("dispatchEvent(new Event('beforeprint'))")
    assert browser.run("return document.querySelectorAll('details:not([open])').length") == 0
