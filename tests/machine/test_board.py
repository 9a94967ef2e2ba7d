"""The teacher's board in a real browser: what it draws, what a reader hears, and that it runs no learner's name."""

import json
import re
import sys
import urllib.request

import pytest
from browser import NAMES, Browser, find_chromium

from s02_tool_use.lab.client.faults import printable
from s02_tool_use.lab.room import board
from s02_tool_use.lab.room.board import STUCK_SECONDS, Board

pytestmark = [
    pytest.mark.skipif(find_chromium() is None, reason=f"no browser: none of {', '.join(NAMES)} is installed"),
    pytest.mark.skipif(sys.platform == "win32", reason="the driver ends its programs in the way of POSIX"),
]
STUCK = {"bash": {"done": False, "tries": 5, "first": STUCK_SECONDS + 60, "last": 1}}
HOSTILE = [
    "<img src=x onerror='document.title=1'>",
    "<script>document.title=1</script>",
    '"><b>',
    "</main>&amp;",
    "\u202egnp.exe",
    "__proto__",
    "x" * 10_000,
]


@pytest.fixture(scope="module")
def page():
    with Board() as room, Browser() as browser:
        browser.room = room
        browser.call("Page.navigate", url=f"{room.url}/?token={room.token}")
        browser.wait("the page", "return !!document.querySelector('main:not([hidden])')")
        yield browser
        assert browser.errors == []


def post(page, name, exercises):
    body = json.dumps({"name": name, "exercises": exercises}).encode()
    with urllib.request.urlopen(f"{page.room.url}/{page.room.word}", body, timeout=60) as answer:
        assert answer.status == 200


def shown(page, name):
    """What a reader hears of one learner's row after a refresh: cell by cell, what was not tried left out."""
    rows = page.run("""
        await refresh()
        const seen = document.querySelector("tbody").cloneNode(true)
        for (const part of seen.querySelectorAll("[aria-hidden=true]")) part.remove()
        return [...seen.rows].map(row => [...row.cells].map(cell => cell.textContent))
    """)
    ((_, *cells),) = [row for row in rows if row[0] == name]
    return [said for said in cells if said != "untried"]


def test_before_anybody_came_the_page_says_so_and_how_to_be_on_it(page):
    assert re.search(r"As of \d\d:\d\d:\d\d\.", page.text("main"))
    for text in ("Nobody is stuck", "Nobody has solved or tried an exercise yet.", page.room.line):
        assert text in page.text("main")


def test_who_comes_and_who_gets_stuck_is_seen_without_a_click(page):
    post(page, "Ada", {"bash": {"done": True, "tries": 1}})
    page.wait("Ada", "return document.querySelector('main').innerText.includes('Ada')")
    assert "1 learner\t" in page.text("thead")
    post(page, "Ben", STUCK)
    page.wait("who is stuck", "return document.querySelector('h2').innerText == 'Stuck: 1'")
    assert page.text("ul") == "Ben at bash: 5 tries, 4 min"
    assert page.run("return [...document.querySelectorAll('tbody th')].map(name => name.innerText)") == ["Ben", "Ada"]
    assert "Nobody" not in page.text("main")


@pytest.mark.parametrize(
    ("one", "said"),
    [
        ({"done": True}, "solved"),
        ({"done": True, "tries": 1}, "solved, failed once"),
        ({"done": True, "tries": 2}, "solved, failed 2 times"),
        ({"tries": 1}, "tried, failed once"),
        ({"tries": 4}, "tried, failed 4 times"),
        (STUCK["bash"], "stuck, failed 5 times"),
    ],
)
def test_a_cell_says_to_a_screen_reader_what_it_shows(page, one, said):
    post(page, "Cleo", {"bash": one})
    solved = f"{int(one.get('done', False))} of {len(board.NAMES)}"
    assert shown(page, "Cleo") == [said, solved, "0 min ago"]


def test_each_book_that_somebody_began_stands_over_its_exercises(page):
    post(page, "Cleo", {"project": {"done": True}, "bash": {"done": True}})
    assert shown(page, "Cleo")[:2] == ["solved", "solved"]
    books, names = page.run("""
        await refresh()
        const all = selector => [...document.querySelectorAll(selector)]
        const books = all("[scope=colgroup]").map(head => [head.innerText, head.colSpan])
        return [books, all("tr + tr > th[scope=col]").map(head => head.innerText)]
    """)
    assert books == [[book, len(board.COUNTED[book])] for book in ("01", "10")]
    assert names == [*board.COUNTED["01"], *board.COUNTED["10"]]


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_name_is_shown_as_text(page, name):
    before = page.run("return document.querySelectorAll('img, script, b, link').length")
    post(page, name, {})
    assert shown(page, printable(name)[: board.LONGEST_NAME]) == [f"0 of {len(board.NAMES)}", "0 min ago"]
    assert page.run("return document.title") == "Board"
    assert page.run("return document.querySelectorAll('img, script, b, link').length") == before
    page.room.posted.pop(printable(name)[: board.LONGEST_NAME])


def test_a_script_that_came_into_the_page_all_the_same_would_not_run(page):
    page.run("""
        const made = document.createElement("script"), link = document.createElement("a")
        made.append("document.title = 1")
        document.body.append(made)
        for (const run of [() => link.setAttribute("onclick", "1"), () => { link.innerHTML = "<b>" }])
            try { run(); document.title = 2 } catch {}
    """)
    assert page.run("return document.title") == "Board"
    assert page.errors
    page.errors.clear()


def test_a_refresh_leaves_the_focus_and_the_place_in_the_table(page):
    page.resize(400, 800)
    page.run("const wide = document.querySelector('#wide'); wide.focus(); wide.scrollLeft = 50; await refresh()")
    assert page.run("return [document.activeElement.id, document.activeElement.scrollLeft]") == ["wide", 50]
    page.resize(*page.size)


def test_held_still_it_stays_as_it_is_and_goes_on_afterwards(page):
    page.tab_to("hold still")
    page.press("Space")
    post(page, "Dora", {})
    page.run("await refresh()")
    assert "Dora" not in page.text("main")
    page.press("Space")
    page.wait("Dora", "return document.querySelector('main').innerText.includes('Dora')")


@pytest.mark.parametrize("dark", [False, True])
def test_each_cell_is_readable_and_says_more_than_a_colour(page, dark):
    post(page, "Emil", {"bash": {"tries": 2}})
    page.call(
        "Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": ["light", "dark"][dark]}]
    )
    cells = page.run("""
        await refresh()
        const seen = [...document.querySelectorAll("td.solved, td.tried, td.stuck")]
        return seen.map(cell => {
            let ground = cell
            while (getComputedStyle(ground).backgroundColor == "rgba(0, 0, 0, 0)") ground = ground.parentElement
            const colours = [getComputedStyle(cell).color, getComputedStyle(ground).backgroundColor]
            return [cell.classList[0], cell.innerText, ...colours]
        })
    """)
    assert {kind for kind, *_ in cells} == {"solved", "tried", "stuck"}
    for _, said, text, ground in cells:
        assert said.strip()
        assert contrast(text, ground) >= 7, (text, ground)


def contrast(*colours):
    """The contrast of two colours as WCAG defines it."""
    light = []
    for colour in colours:
        parts = [int(part) / 255 for part in colour.removeprefix("rgb(").removesuffix(")").split(",")]
        parts = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        light.append(0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2])
    return (max(light) + 0.05) / (min(light) + 0.05)


def test_a_board_that_has_gone_is_said(page):
    assert "does not answer" not in page.text("body")
    page.room.close()
    page.wait("the sentence", "return document.body.innerText.includes('The board does not answer any more')")
    page.errors[:] = [error for error in page.errors if "ERR_CONNECTION_REFUSED" not in error]
