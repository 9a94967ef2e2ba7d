"""The pages as a clone has them, before anything was run, in a small window: JupyterLab trusts no output here."""

import shutil
import sys

import pytest
from browser import NAMES, ROOT, Browser, Lab, find_chromium

pytestmark = [
    pytest.mark.skipif(find_chromium() is None, reason=f"no browser: none of {', '.join(NAMES)} is installed"),
    pytest.mark.skipif(sys.platform == "win32", reason="the driver ends its programs in the way of POSIX"),
]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
OPEN = """
const app = window.jupyterapp, panel = await app.commands.execute('docmanager:open', {path: page});
await panel.context.ready; await panel.sessionContext.ready; app.shell.activateById(panel.id); app.shell.expandLeft();
"""
# What has a bar of its own below it. JupyterLab draws the cells that are near, and here all of them.
SCROLLS = """
panel.content.notebookConfig = {...panel.content.notebookConfig, windowingMode: 'none'};
const cells = panel.content.widgets, drawn = '.cm-line, .jp-MarkdownOutput > *, .jp-Placeholder';
await Promise.all(cells.map(cell => cell.ready));
while (cells.some(cell => !cell.node.querySelector(drawn))) await new Promise(done => setTimeout(done, 100));
return cells.flatMap(cell => [...cell.node.querySelectorAll('*')]
  .filter(e => e.clientWidth && e.scrollWidth > e.clientWidth + 1 && /auto|scroll/.test(getComputedStyle(e).overflowX))
  .map(e => `${cell.model.id}: ${e.className || e.tagName}, ${e.scrollWidth} in ${e.clientWidth}`))
"""
IMAGE = """
const at = panel.content.widgets.findIndex(cell => cell.model.id === name);
await panel.content.scrollToItem(at, 'start').catch(() => 0);
const image = panel.content.widgets[at].node.querySelector('.jp-OutputArea img');
await image.decode();
return [image.naturalWidth > 0, image.getBoundingClientRect().width > 500, getComputedStyle(image).colorScheme]
"""


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    """A browser with JupyterLab beside its list of files."""
    folder = tmp_path_factory.mktemp("lab") / "notebooks"
    shutil.copytree(ROOT / "notebooks", folder, ignore=shutil.ignore_patterns(".*", "solutions"))
    with Lab(folder) as lab, Browser((1024, 768)) as browser:
        browser.open(lab, NOTEBOOKS[0].name)
        yield browser
        browser.run("return 1")  # events that are under way come in before the answer
        assert browser.errors == []


# The longest lines stand in 09; the structure test holds the others.
@pytest.mark.parametrize("path", [NOTEBOOKS[at] for at in (4, 9)], ids=lambda path: path.stem)
def test_beside_the_list_of_files_nothing_on_a_page_scrolls_sideways(path, browser):
    assert browser.run(OPEN + SCROLLS, page=path.name) == []


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_the_picture_of_the_loop_is_seen_before_anything_was_run_and_knows_the_theme(dark, browser):
    browser.theme(dark)
    seen = browser.run(OPEN + IMAGE, page=NOTEBOOKS[4].name, name="loop")
    assert seen == [True, True, "dark" if dark else "light"]
