"""A terminal as people know it: words wrap at words, a line says that something runs, and a prompt can be edited.

Left out: what is said and what the prompts do (terminal.py). Where the output is no terminal, all goes out as it is.
"""

import contextlib
import os
import re
import threading
import time
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TextIO

from wcwidth import iter_graphemes, width

from ..calls.secrets import cut
from .show import page

CYAN, YELLOW, RED, DIM, RESET = "\x1b[36m", "\x1b[33m", "\x1b[31m", "\x1b[2m", "\x1b[0m"
REDRAW_ROW, ROW_ABOVE = "\r\x1b[K", "\x1b[A"  # to its first column and erase it; one row up
QUIET_SECONDS, TICK_SECONDS = 1.0, 0.2  # without news, before a line says that something runs; between two of its looks


class Screen:
    """Writes to `out`. Nothing that is written can give the terminal an order."""

    def __init__(self, out: TextIO) -> None:
        self.out = out
        self.is_terminal = out.isatty() and os.environ.get("TERM") != "dumb"
        if self.is_terminal and os.name == "nt":
            os.system("")  # an old console obeys no escape sequences before
        self.colours = self.is_terminal and "NO_COLOR" not in os.environ
        self._row, self._style = "", ""  # what stands left of the cursor
        self._below, self._news, self._lock = False, 0.0, threading.RLock()

    def say(self, text: str, style: str = "") -> None:
        """Write whole lines, unless there is nothing to say."""
        if text:
            self.end_line()
            self.write(text + "\n", style)

    def end_line(self) -> None:
        if self._row:
            self.write("\n")

    def write(self, text: str, style: str = "") -> None:
        """Write a piece of something longer."""
        with self._lock:
            self._take_back()
            first, *others = page.printable(text).split("\n")
            drawn = self._joined(first)
            for line in others:
                self._row = ""
                drawn += "\n" + self._joined(line)
            self._style, self._news = style, time.monotonic()
            self._put(drawn, style)

    def _joined(self, piece):
        """What to write so that `piece` stands behind the row, which becomes its last row."""
        if not self.is_terminal:
            self._row = piece or self._row
            return piece
        rows = wrapped(self._row + piece, self._columns() - 1)
        row, self._row = self._row, rows[-1]
        # What is not the beginning any more has lost the beginning of a word to the next row.
        first = rows[0][len(row) :] if rows[0].startswith(row) else REDRAW_ROW + rows[0]
        return "\n".join([first, *rows[1:]])

    def _put(self, drawn, style):
        self.out.write(f"{style}{drawn}{RESET}" if style and self.colours else drawn)
        self.out.flush()

    def _columns(self):
        try:
            return os.get_terminal_size(self.out.fileno()).columns or 80
        except OSError:
            return 80

    # The line below

    @contextlib.contextmanager
    def working(self, says: Callable[[], str]) -> Iterator[None]:
        """Meanwhile, when nothing was written for a while, a line below shows what `says()` gives."""
        over, self._news = threading.Event(), time.monotonic()
        if self.is_terminal:
            threading.Thread(target=self._tick, args=(over, says), daemon=True).start()
        try:
            yield
        finally:
            over.set()
            with self._lock:
                self._take_back()
                if self.is_terminal and not self._row:
                    self._put(REDRAW_ROW, "")  # the ^C of a terminal's own

    def _tick(self, over, says):
        with contextlib.suppress(OSError):  # who writes next meets it too, and tells
            while not over.wait(TICK_SECONDS):
                with self._lock:
                    said, quiet = says(), time.monotonic() - self._news > QUIET_SECONDS
                    # Behind a row that the terminal has broken, nobody would find back.
                    if said and quiet and not over.is_set() and width(self._row) < self._columns():
                        start = REDRAW_ROW if self._below else "\n" * bool(self._row)
                        self._below = True
                        self._put(start + said[: self._columns() - 1], DIM)

    def _take_back(self):
        if self._below:
            self._below = False
            self._put(REDRAW_ROW, "")
            if self._row:
                self._put(f"{ROW_ABOVE}\r{self._row}", self._style)


def wrapped(line: str, limit: int) -> list[str]:
    """The rows of a line of text: at most `limit` cells each, perhaps with one space more, all indented like the first.

    A longer word has a row of its own, which the terminal breaks, so that an address can be copied. Only the last row
    changes when the line grows.
    """
    words = line.expandtabs().lstrip(" ")
    indent = " " * min(len(line.expandtabs()) - len(words), limit // 2)
    rows, used = [indent], len(indent)
    for unit in _units(words):
        if unit[0] == " ":  # what of it does not fit would not be seen
            unit = unit[: max(1, limit - used)]
        elif used + width(unit) > limit and rows[-1].strip():
            rows.append(indent)
            used = len(indent)
        rows[-1] += unit
        used += width(unit)
    return rows


def _units(line):
    """What stays together in a row: words, and the spaces between them. Wide characters are words of their own."""
    for run in re.findall(" +|[^ ]+", line):
        word = ""
        for character in [run] if run.isascii() else iter_graphemes(run):
            at_wide = width(character) > 1 or width(word[-1:]) > 1
            if word and at_wide and not (_is("Po Pe Pf", character) or _is("Ps Pi", word[-1])):
                yield word
                word = ""
            word += character
        yield word


def _is(categories, character):
    return unicodedata.category(character[0]) in categories.split()


# What is typed


def line_editor(commands: Iterable[str]) -> tuple[Callable[[str], str], Callable[[str], str]]:
    """(read a prompt of one line or several, ask a question), at a terminal. Both take what to show before it.

    EOFError: Ctrl-D. KeyboardInterrupt: Ctrl-C, with what stood in the line.
    """
    from prompt_toolkit import ANSI, PromptSession
    from prompt_toolkit.completion import WordCompleter
    from prompt_toolkit.enums import DEFAULT_BUFFER
    from prompt_toolkit.filters import has_focus
    from prompt_toolkit.history import FileHistory
    from prompt_toolkit.key_binding import KeyBindings

    class History(FileHistory):
        def store_string(self, string):
            with contextlib.suppress(OSError):  # a full disk ends no chat
                super().store_string(cut(string))

    keys = KeyBindings()
    typing = has_focus(DEFAULT_BUFFER)

    @keys.add("enter", filter=typing)
    def _(event):
        buffer = event.current_buffer
        if buffer.document.char_before_cursor == "\\":
            buffer.delete_before_cursor()
            buffer.newline(copy_margin=False)
        else:
            buffer.validate_and_handle()

    @keys.add("escape", "enter", filter=typing)
    def _(event):
        event.current_buffer.newline(copy_margin=False)

    @keys.add("c-c", filter=typing)
    def _(event):
        event.app.exit(exception=KeyboardInterrupt(event.current_buffer.text), style="class:aborting")

    history = None
    with contextlib.suppress(OSError):  # else what is typed is known as long as this chat lasts
        file = history_file()
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch(mode=0o600)
        file.chmod(0o600)
        file.read_bytes()
        history = History(file)
    prompts: PromptSession = PromptSession(
        completer=WordCompleter([f"/{name}" for name in commands], sentence=True),
        complete_while_typing=False,
        history=history,
        key_bindings=keys,
        multiline=True,
    )
    return lambda text: prompts.prompt(ANSI(f"{CYAN}{text}{RESET}")), PromptSession().prompt


def history_file() -> Path:
    """Where the prompts of all chats are kept for the arrow keys: a file of this user's alone."""
    from platformdirs import user_state_path

    return user_state_path("s02_tool_use", appauthor=False).absolute() / "chat_history"
