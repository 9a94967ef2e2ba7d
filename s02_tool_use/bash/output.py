"""What a command says, read while it runs: of any amount the head and the tail, as text that a model can be sent."""

import codecs
import os
import re
import threading

BEGAN = b"\x06"  # ACK: what is said before it comes from those who start the command
MAX_SHOWN_BYTES = 30_000  # bytes, half from the head, half from the tail, where the error stands
MAX_LINE_BYTES = MAX_SHOWN_BYTES // 2  # of a line that is held back, since it may yet be overwritten

# What commands a terminal: titles and links, then colours and cursor, then the rest. A title without an end hides
# nothing of what follows.
ESCAPES = re.compile(
    r"\x1b\][^\x07\x1b\n]*(?:\x07|\x1b\\)" r"|(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]" r"|\x1b(?:[ -/]*[0-~])?"
)
ERASED = re.compile(r"\x1b\[0?K")  # the rest of the line, that is
NOT_TEXT = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")


class Kept:
    """The head and the tail of what it is given, and how much there was: `yes` for an hour takes no more memory."""

    def __init__(self):
        super().__init__()
        self.clear()

    def clear(self):
        self.read, self.size, self.line, self.head, self.tail = 0, 0, b"", b"", b""

    def take(self, piece):
        """Keep the lines that are whole; the last one waits for a carriage return that goes back to its beginning."""
        self.read += len(piece)
        lines, end, line = (self.line + piece).rpartition(b"\n")
        if b"\r" in lines:
            lines = b"\n".join(map(shown, lines.split(b"\n")))
        if b"\r" in line:
            before, _, last = line.rpartition(b"\r")  # `last` may end within a character or an escape sequence
            line = shown(before) + b"\r" + last
        if len(line) > MAX_LINE_BYTES:
            end, line = end + line, b""
        self.line = line
        self._keep(lines + end)

    def end(self):
        self._keep(shown(self.line))
        self.line = b""

    def _keep(self, piece):
        self.size += len(piece)
        room = MAX_SHOWN_BYTES // 2 - len(self.head)
        self.head += piece[:room]
        self.tail = (self.tail + piece[room:])[-MAX_SHOWN_BYTES // 2 :]

    def text(self) -> str:
        """What was read so far. How much is left out in the middle stands there, and how much was overwritten below."""
        line = shown(self.line)
        overwritten = self.read - self.size - len(line)
        if len(self.head) + len(self.tail) == self.size:
            text = decoded(self.head + self.tail + line)
        else:
            head = self.head[: codecs.utf_8_decode(self.head, "replace", False)[1]]  # to the end of a character
            tail = self.tail.lstrip(bytes(range(0x80, 0xC0)))  # from the beginning of one
            cut = f"[... truncated: {self.size - len(head) - len(tail)} of {self.size} bytes omitted ...]"
            text = f"{decoded(head)}\n{cut}\n{decoded(tail + line)}"
        if overwritten:
            text += "\n" * (not text.endswith("\n"))
            text += f"[... {overwritten} bytes of progress were overwritten (\\r) ...]\n"
        return text


class Output(Kept, threading.Thread):
    """Reads a pipe to its end, in a thread of its own.

    `awaited` is a byte that comes before the output proper: `began` is set when it came; what stood before goes.
    """

    def __init__(self, pipe, awaited=b""):
        super().__init__()
        self.daemon = True
        self.pipe, self.awaited, self.began = pipe, awaited, threading.Event()
        if not awaited:
            self.began.set()
        self.start()

    def run(self):
        with self.pipe:
            while piece := os.read(self.pipe.fileno(), 65536):
                if not self.began.is_set() and self.awaited in piece:
                    piece = piece.partition(self.awaited)[2]
                    self.clear()
                    self.began.set()
                self.take(piece)
        self.end()


def shown(line: bytes) -> bytes:
    """What a terminal shows of a line: what comes after a carriage return is written over what stood before it."""
    if b"\r" not in line.rstrip(b"\r"):
        return line
    text = ""
    for part in line.decode(errors="surrogateescape").split("\r"):
        *erased, part = part.split("\x1b[2K")
        new = ESCAPES.sub("", part)
        old = "" if erased or ERASED.search(part) else text
        text = new + old[len(new) :]
    return text.encode(errors="surrogateescape")


def decoded(raw) -> str:
    """Bytes as text: without what commands a terminal, and with a mark for each byte that is no text."""
    text = raw.decode(errors="replace").replace("\r\n", "\n")
    return NOT_TEXT.sub("\ufffd", ESCAPES.sub("", text))
