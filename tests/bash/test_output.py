"""What is kept of a command's output, and what of it a terminal may see."""

import os
import re
import time
import tracemalloc

import pytest

from s02_tool_use.bash.output import MAX_SHOWN_BYTES, Output, decoded


def read(*pieces):
    """What is kept of the pieces, which come one after the other."""
    reading, writing = os.pipe()
    output = Output(os.fdopen(reading, "rb"))
    with os.fdopen(writing, "wb", buffering=0) as pipe:
        for number, piece in enumerate(pieces):
            pipe.write(piece)
            if number < 20:
                time.sleep(0.01)  # else two would be read as one; no harm if they are
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


PROGRESS = [
    # what is written, what a terminal shows, is anything overwritten
    (b"10%\r100%\ndone\n", "100%\ndone\n", True),
    (b"abcdef\rxy\n", "xycdef\n", True),
    (b"abcdef\r\nnext\r\n", "abcdef\nnext\n", False),
    (b"abc\r\r\r\nnext", "abc\r\r\nnext", False),
    (b"abcdef\r\x1b[Kxy", "xy\n", True),
    (b"abcdef\rxy\x1b[0K", "xy\n", True),
    (b"abcdef\x1b[2K\rxy", "xy\n", True),
    (b"\x1b[32mabcdef\x1b[0m\r\x1b[31mxy\x1b[0m", "xycdef\n", True),
    ("ééé\rü\n漢字\r".encode(), "üéé\n漢字\r\n", True),
    (b"\xff\xff\ra\n", "a\ufffd\n", True),
    (b"first\n50%\r", "first\n50%\r", False),
    (b"a\rb\n" * 3, "b\nb\nb\n", True),
]


@pytest.mark.parametrize("size", [1, 2, 3, 100])
@pytest.mark.parametrize(("raw", "shown", "overwritten"), PROGRESS)
def test_of_progress_stays_what_a_terminal_shows_and_how_much_was_overwritten(raw, shown, overwritten, size):
    """In pieces of any size, as they come through a pipe."""
    text = read(*(raw[start : start + size] for start in range(0, len(raw), size)))
    text, number = re.subn(r"\[\.\.\. [1-9]\d* bytes of progress were overwritten \(\\r\) \.\.\.\]\n$", "", text)
    assert (text, bool(number)) == (shown, overwritten)


def test_an_endless_line_of_progress_takes_no_memory_and_its_last_state_is_sent():
    pieces = [
        b"".join(b"\r%d of 100000 [%s]" % (n, b"#" * 40) for n in range(1000 * k, 1000 * k + 1000)) for k in range(100)
    ]
    assert len(b"".join(pieces)) > 50 * MAX_SHOWN_BYTES
    tracemalloc.start()
    said = read(*pieces, b"\nend\n")
    assert tracemalloc.get_traced_memory()[1] < 2_000_000
    tracemalloc.stop()
    total = sum(map(len, pieces))
    shown = f"99999 of 100000 [{'#' * 40}]"
    assert said == f"{shown}\nend\n[... {total - len(shown)} bytes of progress were overwritten (\\r) ...]\n"


@pytest.mark.parametrize("end", [b"", b"\rshort"])
def test_a_line_without_end_takes_no_memory_and_is_cut_like_any_output(end):
    pieces = [b"x" * MAX_SHOWN_BYTES] * 1000
    tracemalloc.start()
    said = read(*pieces, end)
    assert tracemalloc.get_traced_memory()[1] < 2_000_000
    tracemalloc.stop()
    assert said.startswith("x" * (MAX_SHOWN_BYTES // 2) + "\n[... truncated: ")
    assert len(said) < MAX_SHOWN_BYTES + 200


@pytest.mark.parametrize(
    "raw", [b"\r" * 10**6, b"a\r" * 10**6, b"\x1b[K\r" * 10**5, b"\xc3\r" * 10**5, b"a\r\n" * 10**6]
)
def test_progress_takes_linear_time(raw):
    started = time.process_time()
    read(raw)
    assert time.process_time() - started < 20


def test_escape_sequences_take_linear_time():
    started = time.thread_time()
    decoded(b"\x1b]" * MAX_SHOWN_BYTES)
    assert time.thread_time() - started < 10
