"""What is kept of a command's output, and what of it a terminal may see."""

import os
import time

import pytest

from s02_tool_use.bash.output import MAX_SHOWN_BYTES, Output, decoded


def read(raw):
    reading, writing = os.pipe()
    output = Output(os.fdopen(reading, "rb"))
    with os.fdopen(writing, "wb") as pipe:
        pipe.write(raw)
    output.join(5)
    assert not output.is_alive()
    return output.text()


@pytest.mark.parametrize("more", [-1, 0, 1, 2, 100_000])
def test_short_output_is_whole_and_long_output_is_cut_and_counted(more):
    text = "a" * (MAX_SHOWN_BYTES // 2) + "b" * (MAX_SHOWN_BYTES // 2 + more)
    if more <= 0:
        assert read(text.encode()) == text
    else:
        cut = f"[... truncated: {more} of {MAX_SHOWN_BYTES + more} bytes omitted ...]"
        assert read(text.encode()) == f"{text[: MAX_SHOWN_BYTES // 2]}\n{cut}\n{text[-MAX_SHOWN_BYTES // 2 :]}"


@pytest.mark.parametrize("before", ["", "x"])
@pytest.mark.parametrize("after", ["", "x"])
def test_the_cut_goes_through_no_character(before, after):
    assert "\ufffd" not in read(f"{before}{'é' * MAX_SHOWN_BYTES}{after}".encode())


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        (b"\x1b[1;31mred\x1b[0m", "red"),
        (b"\x1b]0;title\x07x\x1b]8;;http://a\x1b\\link", "xlink"),
        (b"\x1b]no end\nnext line stays", "no end\nnext line stays"),
        (b"\xc2\x9b2Jx", "x"),
        (b"\x1bcx\x1b(B", "x"),
        (b"a\r\nb\rc\td\n", "a\nb\rc\td\n"),
        (b"\xff\x00\x08\x7f", "\ufffd" * 4),
        (b"\x1b", ""),
    ],
)
def test_output_cannot_command_the_terminal(raw, text):
    assert decoded(raw) == text


def test_escape_sequences_take_linear_time():
    started = time.thread_time()
    decoded(b"\x1b]" * MAX_SHOWN_BYTES)
    assert time.thread_time() - started < 10
