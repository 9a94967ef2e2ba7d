"""What stands on a terminal: words that wrap, and the line that says that something runs."""

import contextlib
import io
import re
import threading
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from waiting import wait_until
from wcwidth import width

from s02_tool_use.lab import screen as screens
from s02_tool_use.lab.screen import Screen, wrapped


class Terminal(io.StringIO):
    """Knows the orders that a Screen gives, and has the rows that one would see."""

    columns = 80

    def isatty(self):
        return True

    def rows(self):
        rows, at, column = [""], 0, 0
        for order, text in re.findall(r"(\x1b\[\d*[A-Za-z]|[\r\n])|([^\x1b\r\n]+)", self.getvalue()):
            if order == "\n":
                at, column = at + 1, 0
                rows += [""] * (at == len(rows))
            elif order == "\r":
                column = 0
            elif order == "\x1b[K":
                rows[at] = rows[at][:column]
            elif order == "\x1b[A":
                at -= 1
            else:
                rows[at] = rows[at][:column] + text + rows[at][column + len(text) :]
                column += len(text)
        return rows


@pytest.fixture
def terminal(monkeypatch):
    monkeypatch.delenv("TERM", raising=False)
    monkeypatch.setenv("NO_COLOR", "1")
    out = Terminal()
    monkeypatch.setattr(Screen, "_columns", lambda self: out.columns)
    return out


WRAPPED = {
    "words": ("The quick brown fox", 10, ["The quick ", "brown fox"]),
    "an indented line": ("  - one two three", 9, ["  - one ", "  two ", "  three"]),
    "a word that is longer than a row": ("see abcdefghij. ok", 8, ["see ", "abcdefghij. ", "ok"]),
    "wide characters anywhere": ("中文字符很长", 5, ["中文", "字符", "很长"]),
    "no row begins with their comma": ("中文，字符", 5, ["中", "文，", "字符"]),
    "no row ends with their bracket": ("中（字符）", 5, ["中", "（字", "符）"]),
    "a wide character behind a word": ("word中文 word", 6, ["word中", "文 ", "word"]),
    "what is one character stays one": ("👩🏽‍💻👍🏽é👍🏽", 5, ["👩🏽‍💻👍🏽é", "👍🏽"]),
    "a row of no width": ("中a", 1, ["中", "a"]),
    "spaces at the end of a row": ("abcd      e", 4, ["abcd ", "e"]),
    "nothing": ("", 10, [""]),
}


@pytest.mark.parametrize(("line", "limit", "rows"), WRAPPED.values(), ids=WRAPPED)
def test_words_wrap_at_words(line, limit, rows):
    assert wrapped(line, limit) == rows


PIECES = st.lists(st.sampled_from(["a", "bc", " ", "  ", "\n", "\t", "中", "文，", "👍🏽"]), max_size=20).map("".join)


@given(pieces=st.lists(PIECES, max_size=8), columns=st.integers(6, 20))
def test_a_text_that_arrives_in_pieces_stands_there_whole_and_in_the_width_of_the_terminal(pieces, columns):
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("TERM", raising=False)
        patch.setattr(Screen, "_columns", lambda self: columns)
        out = Terminal()
        shown = Screen(out)
        for piece in pieces:
            shown.write(piece)
    assert "".join("".join(out.rows()).split()) == "".join("".join(pieces).split())
    assert all(width(row.rstrip()) < columns or re.fullmatch(" *([abc]+|文，) *", row) for row in out.rows())


def test_a_line_says_that_something_runs_and_goes_when_the_text_goes_on(terminal, monkeypatch):
    monkeypatch.setattr(screens, "QUIET_SECONDS", 0)
    monkeypatch.setattr(screens, "TICK_SECONDS", 0.001)
    shown, runs = Screen(terminal), threading.Event()
    runs.set()
    shown.say("Above.")
    with shown.working(lambda: "12 s" * runs.is_set()):
        wait_until(lambda: terminal.rows() == ["Above.", "12 s"])
        shown.write("half a ")
        wait_until(lambda: terminal.rows() == ["Above.", "half a ", "12 s"])
        runs.clear()
        shown.write("row\nand more\n")
        assert terminal.rows()[:3] == ["Above.", "half a row", "and more"]
        terminal.columns = 3
        runs.set()
        wait_until(lambda: terminal.rows()[3:] == ["12"])
    assert terminal.rows() == ["Above.", "half a row", "and more", ""]


def test_what_is_soon_done_says_nothing_of_it(terminal, monkeypatch):
    monkeypatch.setattr(screens, "QUIET_SECONDS", time.monotonic() / 2)
    monkeypatch.setattr(screens, "TICK_SECONDS", 0.001)
    asked = []
    with Screen(terminal).working(lambda: asked.append(1) or "12 s"):
        wait_until(lambda: len(asked) > 2)
    assert terminal.rows() == [""]


def test_what_the_terminal_writes_for_ctrl_c_is_taken_away(terminal):
    shown = Screen(terminal)
    with contextlib.suppress(KeyboardInterrupt), shown.working(lambda: ""):
        terminal.write("^C")
        raise KeyboardInterrupt
    shown.say("Stopped.")
    assert terminal.rows() == ["Stopped.", ""]


def test_a_program_that_reads_it_gets_the_text_alone(monkeypatch):
    monkeypatch.setattr(screens.threading, "Thread", lambda **options: pytest.fail("nobody sees what it draws"))
    out = io.StringIO()
    shown = Screen(out)
    with shown.working(lambda: "12 s"):
        shown.write("word " * 40)
        shown.say("A line.", screens.RED)
    assert out.getvalue() == "word " * 40 + "\nA line.\n"
