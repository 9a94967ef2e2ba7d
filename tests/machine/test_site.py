"""The site in a real browser: the same notebooks in a page, without a network or a server but one for files.

One build and one Chromium for all. Pictures of what was seen go to screenshots/, which git ignores: look at them.
Left out: other browsers, a real tablet.
"""

import itertools
import os
import re
import subprocess
import sys
import time

import nbformat
import pytest
from browser import _CURRENT as CURRENT
from browser import NAMES, ROOT, find_chromium, wait_for
from lite import INSECURE, SELECT, Page, Site
from nbval.plugin import IPyNbFile, coalesce_streams

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the driver ends its programs in the way of POSIX")
MOST_BYTES = 60_000_000  # of the site, Pyodide and all


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The site as `python3 -m s02_tool_use site DIR --self-contained` makes it."""
    if not find_chromium():
        why = f"no browser: none of {', '.join(NAMES)} is installed"
        pytest.fail(why) if os.environ.get("CI") else pytest.skip(why)
    folder = tmp_path_factory.mktemp("site") / "site"
    command = [sys.executable, "-m", "s02_tool_use", "site", folder, "--self-contained"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.fixture(scope="module")
def site(folder):
    with Site(folder) as site:
        yield site


@pytest.fixture(scope="module")
def page(site):
    """The one browser. Before anything else it is seen that what leaves this machine does not get past the tests."""
    with Page() as page:
        door(site, page)
        tried = "try { await fetch('http://WHO.elsewhere.test/') } catch {}"
        page.run(tried.replace("WHO", "page"))
        page.run(
            "const url = URL.createObjectURL(new Blob([work])); const worker = new Worker(url);"
            "await new Promise(done => worker.onmessage = done); worker.terminate()",
            work=f"(async () => {{ {tried.replace('WHO', 'worker')}; postMessage(1) }})()",
        )
        page.run("new Image().src = 'https://image.elsewhere.test/'; new WebSocket('wss://socket.elsewhere.test/')")
        asked = set()
        wait_for("the four that were tried", lambda: asked.update(page.asked_elsewhere()) or len(asked) == 4)
        yield page


@pytest.fixture(scope="module")
def ran(site, page):
    """ran(name): the code cells of this notebook after all were run in the page. shown=True: they are seen there."""
    kept = {}

    def run(name, shown=False):
        if name not in kept or (shown and page.shown != name):
            if page.shown != name:
                page.show(site, name)
            assert page.run_every_cell() == [], "these cells were not run"
            kept[name] = page.code()
        return kept[name]

    return run


@pytest.fixture(autouse=True)
def nothing_leaves_the_machine_and_nobody_complains(request):
    """What a page, its workers or its service worker ask others for fails the test in which they do; so does an error
    in a console, or a promise that failed and that nobody looked at."""
    yield
    if page := (request.node.funcargs or {}).get("page"):
        page.run("return 1")  # events that are under way come in before the answer
        errors, page.errors[:] = [error for error in page.errors if not NOISE.search(error)], []
        assert (page.asked_elsewhere(), errors) == (set(), [])


# What JupyterLite itself says in the console, as an error, when all is well.
NOISE = re.compile(
    # It asks its server for what it then finds in the browser: files that a learner made, settings that nobody changed.
    r"status of 404 .*/(api/contents/\S*all\.json|api/resolvePath\?)"
    r"|\.elsewhere\.test"  # what the tests themselves tried
)


@pytest.fixture
def differing(request):
    """differing(name, cells): the cells whose output is not the committed one, with what each said instead.

    Compared as nbval does, by tests/sanitize.cfg.
    """

    def compare(name, cells):
        file = IPyNbFile.from_parent(request.session, path=ROOT / "notebooks" / f"{name}.ipynb")
        file.setup_sanitize_files()
        made = {cell["id"]: nbformat.from_dict(cell["outputs"]) for cell in cells}
        found = {}
        for cell in file.collect():
            outputs = made[cell.cell.id]
            if not cell.compare_outputs(coalesce_streams(outputs), coalesce_streams(cell.cell.outputs)):
                found[cell.cell.id] = said(outputs)
        return found

    return compare


def said(outputs):
    """What a cell said, as text."""
    texts = (o.get("text") or o.get("data", {}).get("text/plain") or o.get("evalue", "") for o in outputs)
    return "".join("".join(text) for text in texts)


def no_traceback(cells):
    ends = {cell["id"]: o["evalue"] for cell in cells for o in cell["outputs"] if o["output_type"] == "error"}
    assert ends == {}


def test_the_site_is_small_enough_and_the_first_answer_comes_soon(folder, site, page, record_property):
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    seconds = [time.monotonic()]
    page.show(site, "00_start_here")
    for cell, says in (("setup", "Offline"), ("s1-hello", "Hello.")):
        seconds.append(time.monotonic())
        page.run_cell(cell)
        page.wait_for_output(cell, says)
    seconds.append(time.monotonic())
    start, imports, answer = (after - before for before, after in itertools.pairwise(seconds))
    told = f"The site: {size / 1e6:.1f} MB. A page with its Python: {start:.1f} s, the first cell, which imports: "
    record_property("told", f"{told}{imports:.1f} s, the first answer: {answer:.1f} s.")
    assert size < MOST_BYTES


# ---- two widgets, by keyboard


def test_a_stepper_is_worked_by_keyboard(ran, page):
    ran("00_start_here", shown=True)
    cell = "s5-step"
    page.enter(cell)
    page.tab_to("Forward ▶")
    for step, says in ((1, "the user speaks"), (2, "request built"), (3, "normalised")):
        page.press("Space" if step % 2 else "Enter")
        page.wait_for_output(cell, f"step {step} ")
        assert says in page.output(cell).partition(f"step {step} ")[2]
    page.picture("site-stepper", cell)


def test_the_chat_is_worked_by_keyboard_and_asks_before_it_runs_a_command(ran, page):
    ran("06_agent_loop", shown=True)
    cell = "now-chat"
    page.enter(cell)
    page.tab_to("You")
    page.type("Run `python test_orders.py`")
    page.press("Enter")
    page.wait_for_output(cell, "The agent wants to run bash")
    page.picture("site-chat", cell)
    page.enter(cell)
    page.tab_to("Allow")
    page.press("Enter")
    page.wait_for_output(cell, "5 tests passed")
    page.wait_for_output(cell, "ready")


# ---- the notebooks

# Which cells say something else in a page, and why.
BANNER = "the banner says that it all runs in the page"
BASH = "a page has no processes: bash says so"
THREAD = "a page has one thread: the cell says so"
CHECKS = "the first check of a page says that nothing can stop it"
LINT = "whether each call ends in time cannot be tried in a page: the check says so"
ELSEWISE = {
    "00_start_here": {"setup": BANNER, "s2-cat": BASH, "s3-line": BASH},
    "02_dispatch_map": {
        "setup": BANNER,
        "so-far-run": BASH,
        "ex1-check": CHECKS,
        "s2-both": BASH,
        "s4-lint": LINT,
    },
    "04_safe_path": {
        "setup": BANNER,
        "ex2-check": CHECKS,
        "s3-loop": "Pyodide's realpath refuses a link that leads to itself, as Python on Windows does",
        "s5-bash": BASH,
        "s5-sandbox": BASH,
    },
    "05_normalize_messages": {"setup": BANNER, "ex1-check": CHECKS},
    "06_agent_loop": {
        "setup": BANNER,
        "ex1-check": CHECKS,
        "s2-rm": BASH,
        "s3-yours": BASH,
        "s4-pool": THREAD,
        "s4-time": THREAD,
        "ex5-check": THREAD,
        "s5-usage": "what bash says here are more tokens",
    },
}


def only(found, table):
    """Fails for a cell that differs and does not stand in the table, and for one that stands there and is equal."""
    other = {id: text for id, text in found.items() if id not in table}
    assert not other, "\n\n".join(f"{id} says:\n{text}" for id, text in other.items())
    assert table.keys() - found.keys() == set(), "these are equal: take them from the table"


@pytest.mark.parametrize("name", ELSEWISE)
def test_a_notebook_runs_whole_in_the_page_and_says_what_it_says_elsewhere(name, ran, page, differing):
    cells = ran(name)
    no_traceback(cells)
    only(differing(name, cells), ELSEWISE[name])


# How a cell says that it cannot do here what it does elsewhere.
SENTENCE = re.compile(r"a browser page has |in a browser page|in your browser|In this page a check cannot stop")
# What differs in the other notebooks without that sentence, and why.
FOLLOWS = {
    "01_hardcoded_bash": {"same-try": "of what bash says, it shows the last characters"},
    "03_file_tools": {},
    "07_look_inside": {},
    "08_the_sdk_way": {"s5-table": "its last row is about bash"},
    "09_beyond_the_loop": {},
    "10_your_own_tool": {"s1-redirect": "bash has written no file"},
    "11_playground": {
        "s1-read": "bash alone does not get as far, and it costs less",
        "s1-fix-table": "bash alone does not get as far, and it costs less",
    },
}


def test_the_tables_name_all_notebooks():
    assert sorted([*ELSEWISE, *FOLLOWS]) == sorted(path.stem for path in (ROOT / "notebooks").glob("*.ipynb"))


@pytest.mark.parametrize("name", FOLLOWS)
def test_a_notebook_goes_as_far_as_it_can_in_the_page_and_says_where_it_cannot(name, ran, page, differing):
    cells = ran(name)
    no_traceback(cells)
    only({id: text for id, text in differing(name, cells).items() if not SENTENCE.search(text)}, FOLLOWS[name])


# The solutions of the notebooks that run whole. 00 has none.
SOLVED = {
    "02_dispatch_map": {"ex1-check": CHECKS, "lint-solution": LINT},
    "04_safe_path": {"ex1-check": CHECKS},
    "05_normalize_messages": {"setup": BANNER, "ex1-check": CHECKS},
    "06_agent_loop": {"setup": BANNER, "ex1-check": CHECKS, "ex5-check": THREAD},
}


@pytest.mark.parametrize("name", SOLVED)
def test_a_solved_notebook_is_found_right_in_the_page(name, ran, page, differing):
    cells = ran(f"solutions/{name}")
    no_traceback(cells)
    only(differing(f"solutions/{name}", cells), SOLVED[name])


# ---- what a learner does


SOLVED_BY_HAND = (
    "def my_output(call):",
    'handlers = {"bash": run_bash, "read_file": run_read}',
    "return handlers[call.name](**call.input)",
)


def test_what_was_solved_is_found_after_a_reload_until_the_door_forgets_it(site, page):
    page.forget(site)
    page.show(site, "02_dispatch_map")
    page.run_cell("setup")
    page.write("ex1-stub", *SOLVED_BY_HAND)
    page.run_cell("ex1-check")
    page.wait_for_output("ex1-check", "handlers: all")
    page.press("Escape", "Control+S")
    page.wait("the notebook to be saved", CURRENT + "return !panel.context.model.dirty")

    page.show(site, "02_dispatch_map")
    source, check = notebook_cells(page, "ex1-stub", "ex1-check")
    assert [line.strip() for line in source["source"].splitlines()] == [*SOLVED_BY_HAND]
    assert "handlers: all" in said(check["outputs"])
    assert "02 1 of 5" in progress(page)

    door(site, page)
    page.picture("site-door", lab=False)
    page.run("document.querySelector('[aria-label=\"Reset: 02_dispatch_map.ipynb\"]').click()")
    page.wait("it to be gone", "return !document.getElementById('files').innerText.includes('02_dispatch_map')")
    page.run("document.getElementById('forget').click()")
    page.wait("all to be gone", "return document.body.innerText.includes('Nothing is saved in this browser yet.')")
    page.show(site, "02_dispatch_map")
    (stub,) = notebook_cells(page, "ex1-stub")
    assert "raise NotImplementedError" in stub["source"]
    assert "02 0 of 5" in progress(page)


def notebook_cells(page, *ids):
    cells = {cell["id"]: cell for cell in page.code()}
    return [cells[id] for id in ids]


def progress(page):
    """How far the reader of the notebook is, asked in one of its cells."""
    page.run_cell("setup")
    page.write("ex2-stub", "check.progress()")
    page.wait_for_output("ex2-stub", "exercises done")
    return page.output("ex2-stub")


def door(site, page):
    page.shown = None
    page.call("Page.navigate", url=site.url)
    page.wait("the door", "return !document.getElementById('work')?.innerText.startsWith('Looking')")


# ---- on a tablet


def test_on_a_tablet_without_a_service_worker_the_first_notebook_is_read_and_run_by_a_finger(site, page, differing):
    """A browser lets a service worker into secure pages alone, so not into those that a school hands out over HTTP."""
    with page.tablet():
        page.show(site.called(INSECURE), "00_start_here")
        assert page.run("return [isSecureContext, !!navigator.serviceWorker]") == [False, False]
        assert page.run("return document.documentElement.scrollWidth <= innerWidth")
        assert differing("00_start_here", page.code()) == {}, "what was committed is there before anything is run"
        page.picture("site-tablet")
        for cell, says in (("setup", "Offline"), ("s1-hello", "Hello.")):
            page.run(SELECT, cell=cell)
            page.tap("[data-command='notebook:run-cell-and-select-next']")
            page.wait_for_output(cell, says)
        page.picture("site-tablet-answer")
        assert page.run_every_cell() == []
        no_traceback(page.code())
        only(differing("00_start_here", page.code()), ELSEWISE["00_start_here"])
