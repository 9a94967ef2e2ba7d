"""What a command says, read while it runs: of any amount the head and the tail, as text that a model can be sent."""

import codecs
import os
import re
import threading

BEGAN = b"\x06"  # ACK: what is said before it comes from those who start the command
MAX_SHOWN_BYTES = 30_000  # bytes, half from the head, half from the tail, where the error stands

# What commands a terminal: titles and links, then colours and cursor, then the rest. A title without an end hides
# nothing of what follows.
ESCAPES = re.compile(
    r"\x1b\][^\x07\x1b\n]*(?:\x07|\x1b\\)" r"|(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]" r"|\x1b(?:[ -/]*[0-~])?"
)
NOT_TEXT = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")


class Output(threading.Thread):
    """Reads a pipe to its end, in a thread of its own; `yes` for an hour takes no more memory than for a second.

    `awaited` is a byte that comes before the output proper: `began` is set when it came; what stood before goes.
    """

    def __init__(self, pipe, awaited=b""):
        super().__init__(daemon=True)
        self.pipe, self.awaited, self.began = pipe, awaited, threading.Event()
        self.size, self.head, self.tail = 0, b"", b""
        if not awaited:
            self.began.set()
        self.start()

    def run(self):
        with self.pipe:
            while piece := os.read(self.pipe.fileno(), 65536):
                if not self.began.is_set() and self.awaited in piece:
                    piece = piece.partition(self.awaited)[2]
                    self.size, self.head, self.tail = 0, b"", b""
                    self.began.set()
                self._keep(piece)

    def _keep(self, piece):
        self.size += len(piece)
        room = MAX_SHOWN_BYTES // 2 - len(self.head)
        self.head += piece[:room]
        self.tail = (self.tail + piece[room:])[-MAX_SHOWN_BYTES // 2 :]

    def text(self) -> str:
        """What was read so far; if the middle is left out, the number of bytes stands there."""
        if len(self.head) + len(self.tail) == self.size:
            return decoded(self.head + self.tail)
        head = self.head[: codecs.utf_8_decode(self.head, "replace", False)[1]]  # to the end of a character
        tail = self.tail.lstrip(bytes(range(0x80, 0xC0)))  # from the beginning of one
        cut = f"[... truncated: {self.size - len(head) - len(tail)} of {self.size} bytes omitted ...]"
        return f"{decoded(head)}\n{cut}\n{decoded(tail)}"


def decoded(raw) -> str:
    """Bytes as text: without what commands a terminal, and with a mark for each byte that is no text."""
    text = raw.decode(errors="replace").replace("\r\n", "\n")
    return NOT_TEXT.sub("\ufffd", ESCAPES.sub("", text))
