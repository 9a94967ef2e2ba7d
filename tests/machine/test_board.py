"""The teacher's board in a real browser: it refreshes itself, can be held still, and runs no learner's name."""

import json
import sys
import urllib.request

import pytest
from browser import NAMES, Browser, find_chromium

from s02_tool_use.lab.room.board import STUCK_SECONDS, Board

pytestmark = [
    pytest.mark.skipif(find_chromium() is None, reason=f"no browser: none of {', '.join(NAMES)} is installed"),
    pytest.mark.skipif(sys.platform == "win32", reason="the driver ends its programs in the way of POSIX"),
]
STUCK = {"bash": {"done": False, "tries": 5, "first": STUCK_SECONDS + 60, "last": 1}}
HOSTILE = "<img src=x onerror='document.title=1'>"


@pytest.fixture(scope="module")
def page():
    with Board() as room, Browser() as browser:
        browser.room = room
        browser.call("Page.navigate", url=f"{room.url}/?token={room.token}")
        browser.wait("the page", "return !!document.querySelector('main time')")
        yield browser
        assert browser.errors == []


def post(page, name, exercises):
    body = json.dumps({"name": name, "exercises": exercises}).encode()
    with urllib.request.urlopen(f"{page.room.url}/{page.room.word}", body, timeout=60) as answer:
        assert answer.status == 200


def first_names(page):
    return page.run("return [...document.querySelectorAll('tbody th')].map(name => name.innerText)")


def test_who_comes_and_who_gets_stuck_is_seen_without_a_click(page):
    post(page, "Ada", {"bash": {"done": True, "tries": 1}})
    page.wait("Ada", "return document.querySelector('main').innerText.includes('Ada')")
    post(page, HOSTILE, STUCK)
    page.wait("who is stuck", "return document.querySelector('h2').innerText == 'Stuck: 1'")
    assert first_names(page) == [HOSTILE, "Ada"]
    assert page.run("return document.title") == "Board"
    assert page.run("return document.querySelectorAll('img, script[src], link').length") == 0


def test_held_still_it_stays_as_it_is_and_goes_on_afterwards(page):
    page.tab_to("hold still")
    page.press("Space")
    page.run("document.querySelector('main time').dateTime = 'marked'")
    post(page, "Ben", {})
    page.run("await new Promise(go => { const end = setInterval(() => { clearInterval(end); go() }, 4500) })")
    assert page.run("return document.querySelector('main time').dateTime") == "marked"
    page.press("Space")
    page.wait("Ben", "return document.querySelector('main').innerText.includes('Ben')")


@pytest.mark.parametrize("dark", [False, True])
def test_each_cell_is_readable_and_says_more_than_a_colour(page, dark):
    page.call(
        "Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": ["light", "dark"][dark]}]
    )
    pairs = page.run("""
        const seen = [...document.querySelectorAll("td.done, td.tried, td.stuck")]
        return seen.map(cell => {
            let ground = cell
            while (getComputedStyle(ground).backgroundColor == "rgba(0, 0, 0, 0)") ground = ground.parentElement
            return [cell.innerText, getComputedStyle(cell).color, getComputedStyle(ground).backgroundColor]
        })
    """)
    assert len(pairs) == 2
    for said, text, ground in pairs:
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
    page.room.close()
    page.wait(
        "the sentence", "return document.getElementById('gone').innerText.startsWith('The board does not answer')"
    )
    page.run("return 1")
    page.errors[:] = [error for error in page.errors if "ERR_CONNECTION_REFUSED" not in error]
