"""Read, write, edit: what they say and what they leave on the disk. Public bug reports stand in tests/machine."""

import ast
import difflib
import errno
import os
import re
import stat
import subprocess
import sys
import threading
import time
import tracemalloc
from types import SimpleNamespace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from ordinary_user import as_ordinary_user
from systems import ON_WINDOWS, needs_bash, posix

from s02_tool_use import ToolError, run_bash, run_edit, run_read, run_write, tools
from s02_tool_use.files import edits, opening
from s02_tool_use.tools import MAX_SHOWN_BYTES


def put(workspace, raw, name="f"):
    (workspace / name).write_bytes(raw)
    return workspace / name


# ---- read


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        (b"", "[the file is empty]"),
        (b"one", "one"),
        (b"one\n\n", "one\n\n"),
        (b"a\r\nb\rc\n", "a\r\nb\rc\n"),
        (b"a\x0b\x0c\xc2\x85\xe2\x80\xa8b\n", "a\x0b\x0c\x85\u2028b\n"),
        (b"\xef\xbb\xbfone\n", "one\n"),
        ("é漢😀\n".encode(), "é漢😀\n"),
        (b"caf\xe9\n", "caf\\xe9\n[not all of it is UTF-8: other bytes are shown as \\xNN]"),
        (b"half \xc3", "half \\xc3\n[not all of it is UTF-8: other bytes are shown as \\xNN]"),
        (b"\x1b[31mred\n", "\\x1b[31mred\n[escape characters are shown as \\x1b]"),
    ],
)
def test_a_file_is_read_as_it_is(workspace, raw, text):
    put(workspace, raw)
    assert run_read("f") == text


@pytest.mark.parametrize(
    ("limit", "offset", "shown"),
    [
        (2, None, "1\n2\n[lines 1 to 2 are shown, bytes 0 to 4 of 8; truncated, read more with offset=3]"),
        (2, 3, "3\n4\n[lines 3 to 4 are shown, bytes 4 to 8 of 8]"),
        (1, 2, "2\n[line 2 is shown, bytes 2 to 4 of 8; truncated, read more with offset=3]"),
        (4, None, "1\n2\n3\n4\n"),
        (9, 0, "1\n2\n3\n4\n"),
        (9, 1, "1\n2\n3\n4\n"),
        (None, 4, "4\n[line 4 is shown, bytes 6 to 8 of 8]"),
        ("2", "3", "3\n4\n[lines 3 to 4 are shown, bytes 4 to 8 of 8]"),
        (2.0, None, "1\n2\n[lines 1 to 2 are shown, bytes 0 to 4 of 8; truncated, read more with offset=3]"),
    ],
)
def test_a_part_is_read_and_said_to_be_one(workspace, limit, offset, shown):
    put(workspace, b"1\n2\n3\n4\n")
    assert run_read("f", limit, offset) == shown


@pytest.mark.parametrize(
    ("limit", "byte_offset", "shown"),
    [
        (2, 4, "3\n4\n[bytes 4 to 8 of 8 are shown]"),
        (None, 3, "\n3\n4\n[bytes 3 to 8 of 8 are shown]"),
        (1, 0, "1\n[bytes 0 to 2 of 8 are shown; truncated, read more with byte_offset=2]"),
        (None, 0, "1\n2\n3\n4\n"),
        ("2", "4", "3\n4\n[bytes 4 to 8 of 8 are shown]"),
    ],
)
def test_bytes_are_counted_where_lines_are_no_help(workspace, limit, byte_offset, shown):
    put(workspace, b"1\n2\n3\n4\n")
    assert run_read("f", limit, byte_offset=byte_offset) == shown


@pytest.mark.parametrize("limit", [0, -1, 1.5, True, "two", [], float("nan"), float("inf"), "9" * 5000])
def test_a_limit_or_offset_that_is_no_number_is_refused(workspace, limit):
    put(workspace, b"1\n")
    with pytest.raises(ToolError, match="limit must be a whole number, 1 or more"):
        run_read("f", limit=limit)
    if limit != 0:
        for name in ("offset", "byte_offset"):
            with pytest.raises(ToolError, match=f"{name} must be a whole number, 0 or more"):
                run_read("f", **{name: limit})


def test_a_line_and_a_byte_to_start_at_are_one_too_many(workspace):
    put(workspace, b"1\n2\n")
    with pytest.raises(ToolError, match="give only one of them"):
        run_read("f", offset=2, byte_offset=2)


def whole(read_first, key):
    """The text of all reads, following the notes; also how many there were."""
    shown, text, reads = read_first(), "", 1
    while more := re.search(r"\n?\[[^\n]*read more with (\w+)=(\d+)[^\n]*\]$", shown):
        assert more[1] in key
        text += shown[: more.start()] + "\n" * (more[1] == "offset")
        shown, reads = run_read("f", **{more[1]: int(more[2])}), reads + 1
    return text + re.sub(r"\n?\[[^\n]*(is|are) shown[^\n]*\]$", "", shown), reads


@pytest.mark.parametrize("unit", ["x", "é", "漢", "😀", "é\n", "\xe9".encode("latin-1").decode("latin-1") + "漢\n"])
def test_reading_on_gives_the_whole_file(workspace, unit):
    raw = (unit * (3 * MAX_SHOWN_BYTES // len(unit.encode())) + "end").encode()
    put(workspace, raw)
    for keys, first in ((("offset", "byte_offset"), None), (("byte_offset",), 0)):
        text, reads = whole(lambda first=first: run_read("f", byte_offset=first), keys)
        assert text.replace("\n", "") == raw.decode().replace("\n", "")
        assert reads == 4


def test_lines_come_whole_and_a_long_one_in_pieces(workspace):
    lines = [b"x" * 30_000, b"y" * 30_000, b"z" * 120_000, b"end"]
    put(workspace, b"\n".join(lines))
    assert run_read("f").endswith(
        "x\n[line 1 is shown, bytes 0 to 30001 of 180006; truncated, read more with offset=2]"
    )
    assert run_read("f", offset=2).startswith("y" * 30_000 + "\n[line 2 is shown, bytes 30001 to 60002 of")
    long = run_read("f", offset=3)
    assert long.endswith(
        "z\n[line 3 is shown, bytes 60002 to 110002 of 180006; truncated, read more with "
        "byte_offset=110002: line 3 goes on]"
    )
    assert whole(lambda: run_read("f"), ("offset", "byte_offset"))[0].replace("\n", "").encode() == b"".join(lines)


@needs_bash
def test_a_line_that_is_named_by_an_edit_or_by_grep_is_the_one_that_is_read(workspace):
    put(workspace, b"one\r\ntwo\x0c\x0btwo\rtwo\nthree\n")
    assert "(line 3)" in run_edit("f", "three", "3")
    assert run_read("f", 1, 3) == "3\n[line 3 is shown, bytes 18 to 20 of 20]"
    assert run_bash("grep -n 3 f").startswith("3:3")


def test_bytes_that_are_not_utf8_do_not_stop_reading_on(workspace):
    put(workspace, b"\xe9" * (MAX_SHOWN_BYTES + 10))
    assert "read more with byte_offset=" in run_read("f")
    assert "\\xe9" in run_read("f", byte_offset=MAX_SHOWN_BYTES)


def test_an_offset_past_the_end_is_refused(workspace):
    put(workspace, b"1\n")
    for offset in (2, 3, 10**30):
        with pytest.raises(ToolError, match="2 bytes"):
            run_read("f", byte_offset=offset)
        with pytest.raises(ToolError, match="has 1 line$"):
            run_read("f", offset=offset)
    put(workspace, b"1\n2")
    assert run_read("f", offset=2).startswith("2\n[line 2 is shown")
    with pytest.raises(ToolError, match="has 2 lines"):
        run_read("f", offset=3)
    put(workspace, b"")
    assert run_read("f", offset=3) == run_read("f", byte_offset=3) == "[the file is empty]"


@pytest.mark.parametrize("line", [2, 1000, 99_999, 150_000])
def test_a_far_line_takes_no_memory(workspace, line):
    put(workspace, b"".join(b"line %d %s\n" % (n, b"x" * (n % 97)) for n in range(1, 150_001)))
    tracemalloc.start()
    try:
        shown = run_read("f", 1, line)
    finally:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert shown.startswith(f"line {line} ")
    assert peak < 3_000_000


@pytest.mark.parametrize("raw", [b"\x7fELF\0\0", b"\0", b"text\0"])
def test_a_binary_file_is_refused(workspace, raw):
    put(workspace, raw)
    with pytest.raises(ToolError, match="binary"):
        run_read("f")


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_utf16_text_is_refused_with_the_way_to_convert_it(workspace, encoding):
    put(workspace, "text\n".encode(encoding))
    with pytest.raises(ToolError, match="iconv" if encoding == "utf-16" else "iconv|binary"):
        run_read("f", limit=1)


def test_a_few_lines_of_a_big_file_take_no_time_and_no_memory(workspace):
    with put(workspace, b"line\n" * 100).open("r+b") as file:
        file.truncate(1 << 36)
    started = time.thread_time()
    assert run_read("f", limit=10).startswith("line\n" * 10 + "[lines 1 to 10 are shown, bytes 0 to 50 of 68719476736")
    with pytest.raises(ToolError, match="binary"):
        run_read("f", offset=200)
    assert time.thread_time() - started < 5


@pytest.mark.parametrize("tool", [lambda p: run_read(p), lambda p: run_edit(p, "a", "b")])
@pytest.mark.parametrize(
    ("path", "said"),
    [("missing", "does not exist"), ("missing/f", "does not exist"), (".", "a directory"), ("pipe", "a pipe")],
)
def test_what_is_no_file_is_named(workspace, tool, path, said):
    if path == "pipe":
        os.mkfifo(workspace / "pipe")
    with pytest.raises(ToolError, match=said):
        tool(path)


# ---- write


def test_written_bytes_are_counted_as_bytes_and_are_those_given(workspace):
    assert run_write("f", "你好\r\n") == "Wrote 8 bytes to f"
    assert (workspace / "f").read_bytes() == "你好\r\n".encode()
    assert run_write("f", "") == "Wrote 0 bytes to f"
    assert (workspace / "f").read_bytes() == b""


def test_missing_folders_are_made_inside(workspace):
    run_write("a/b/c.txt", "x")
    assert (workspace / "a/b/c.txt").read_text() == "x"


@pytest.mark.parametrize("content", [None, 3, b"x", ["x"], "\ud83d", "a\udc00"])
def test_content_that_cannot_be_written_costs_nothing(workspace, content):
    put(workspace, b"old")
    with pytest.raises(ToolError, match="content"):
        run_write("f", content)
    with pytest.raises(ToolError, match="content"):
        run_write("new/f", content)
    assert (workspace / "f").read_bytes() == b"old"
    assert not (workspace / "new").exists()


@posix("modes of files")
def test_a_new_file_gets_the_usual_mode_and_an_old_one_keeps_its_own(workspace):
    usual = put(workspace, b"", "usual")
    run_write("new", "x")
    assert (workspace / "new").stat().st_mode == usual.stat().st_mode
    for mode in (0o755, 0o600, 0o666):
        put(workspace, b"x").chmod(mode)
        run_write("f", "y")
        run_edit("f", "y", "z")
        assert stat.S_IMODE((workspace / "f").stat().st_mode) == mode


def when_drafted(monkeypatch, action):
    """Call action(descriptor of the draft) as soon as a draft is made."""
    real = os.open

    def opened(path, flags, *rest, **more):
        descriptor = real(path, flags, *rest, **more)
        if flags & os.O_EXCL:
            action(descriptor)
        return descriptor

    monkeypatch.setattr("os.open", opened)


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such modes")
def test_the_draft_of_a_private_file_is_private_too(workspace, monkeypatch):
    put(workspace, b"x").chmod(0o600)
    modes = []
    when_drafted(monkeypatch, lambda draft: modes.append(stat.S_IMODE(os.fstat(draft).st_mode)))
    run_write("f", "secret")
    assert modes == [0o600]


@pytest.mark.skipif(os.name == "nt" or os.geteuid() != 0, reason="only root gives files away")
def test_the_owner_stays(workspace):
    os.chown(put(workspace, b"x"), 12345, 54321)
    run_edit("f", "x", "y")
    owner = (workspace / "f").stat()
    assert (owner.st_uid, owner.st_gid) == (12345, 54321)


def test_what_the_user_may_not_change_is_refused_and_stays():
    def protected(workspace):
        put(workspace, b"old", "read-only").chmod(0o444)
        put(workspace, b"old", "secret").chmod(0)
        (workspace / "closed").mkdir()
        put(workspace, b"old", "closed/f")
        put(workspace, b"old", "closed/read-only").chmod(0o444)
        (workspace / "closed").chmod(0o555)
        said = []
        for call in (
            lambda: run_write("read-only", "new"),
            lambda: run_edit("read-only", "old", "new"),
            lambda: run_read("secret"),
            lambda: run_write("closed/read-only", "new"),
            lambda: run_write("closed/new", "new"),
            lambda: run_write("closed/new/f", "new"),
        ):
            try:
                said.append(call())
            except ToolError as error:
                said.append("Permission denied" in str(error))
        found = sorted(path.name for path in workspace.rglob("*"))
        content = (workspace / "read-only").read_bytes(), (workspace / "closed/read-only").read_bytes()
        (workspace / "closed").chmod(0o755)
        return said, found, content

    assert as_ordinary_user(protected) == (
        [True] * 6,
        ["closed", "f", "read-only", "read-only", "secret"],
        (b"old", b"old"),
    )


@pytest.mark.parametrize("step", ["fchmod", "replace", "fstat"])
@pytest.mark.parametrize("fault", [OSError(errno.ENOSPC, "No space left on device"), KeyboardInterrupt()])
def test_whatever_goes_wrong_the_old_file_stays_whole_and_no_draft_is_left(workspace, monkeypatch, step, fault):
    put(workspace, b"old")
    if ON_WINDOWS and step == "fchmod":
        pytest.skip("on Windows a new file is not given a mode")

    def broken(*_, **__):
        raise fault

    with monkeypatch.context() as patch:
        patch.setattr(f"os.{step}", broken)
        for call in (lambda: run_write("f", "new"), lambda: run_edit("f", "old", "new")):
            with pytest.raises((ToolError, KeyboardInterrupt), match="No space|^$"):
                call()
    assert {path.name: path.read_bytes() for path in workspace.iterdir()} == {"f": b"old"}


LIMITED = """
import resource, sys, s02_tool_use as s
s.use_workdir(sys.argv[1])
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
for call in (lambda: s.run_write("f", "x" * 5000), lambda: s.run_edit("f", "old", "x" * 5000)):
    try:
        call()
    except s.ToolError as error:
        print("refused:", error)
"""


@posix("limit on the size of a file")
def test_a_disk_that_takes_no_more_leaves_the_old_file_whole(workspace):
    put(workspace, b"old")
    done = subprocess.run([sys.executable, "-c", LIMITED, workspace], capture_output=True, text=True, check=True)
    assert done.stdout.count("refused:") == 2
    assert {path.name: path.read_bytes() for path in workspace.iterdir()} == {"f": b"old"}


EDITING = """
import sys, s02_tool_use as s
s.use_workdir(sys.argv[1])
print("ready", flush=True)
while True:
    s.run_edit("f", "A", "B")
    s.run_edit("f", "B", "A")
"""


def test_a_kill_leaves_the_old_or_the_new_file(workspace, part):
    rest = b"x" * 20_000_000
    put(workspace, b"A" + rest)
    for n in range(0, 8, 1 if part == 1 else 3):
        with subprocess.Popen([sys.executable, "-c", EDITING, workspace], stdout=subprocess.PIPE) as editor:
            editor.stdout.readline()
            time.sleep(0.02 * n)
            editor.kill()
        assert (workspace / "f").read_bytes() in (b"A" + rest, b"B" + rest)


# ---- edit


@pytest.mark.parametrize(
    ("raw", "old", "new", "result"),
    [
        (b"one two", "two", "2", b"one 2"),
        (b"one two", "two", "", b"one "),
        (b"a\r\nb\r\nc\n", "b", "B", b"a\r\nB\r\nc\n"),
        (b"a\r\nb\r\n", "a\nb", "A\nB", b"A\r\nB\r\n"),
        (b"a\r\nb\r\n", "a\r\nb", "A\nB", b"A\r\nB\r\n"),
        (b"a\r\nb\r\n", "\nb", "B", b"aB\r\n"),
        (b"a\r\nb\r\n", "b\n", "", b"a\r\n"),
        (b"a\r\nb\r\n", "b", "1\n2", b"a\r\n1\r\n2\r\n"),
        (b"a\nb\nc\r\n", "a\r\nb", "1\r\n2", b"1\n2\nc\r\n"),
        (b"a\nb\r\n", "a", "1\n2", b"1\n2\nb\r\n"),
        (b"a\nb\n", "a", "1\r\n2", b"1\r\n2\nb\n"),
        (b"a\r\r\nb", "\nb", "\nc", b"a\r\r\nc"),
        (b"a\rb", "a\rb", "c", b"c"),
        (b"a\r\r\nb\r\n", "\r", "", b"a\r\nb\r\n"),
        (b"a\r\r\nb\r\n", "\r\r\n", "\n", b"a\r\nb\r\n"),
        (b"a\r\nb\r\n", "a\r", "a", b"a\nb\r\n"),
        (b"a\r\nb\nc\r\n", "a\r\nb\nc\r", "1\n2", b"1\n2\n"),
        (b"\xef\xbb\xbfone", "one", "two", b"\xef\xbb\xbftwo"),
        (b"caf\xe9 = 1", "1", "2", b"caf\xe9 = 2"),
        ("é".encode(), "é", "漢", "漢".encode()),
        (b"$1 x", "x", r"$& \1 \g<0>", rb"$1 $& \1 \g<0>"),
        (b"a.c abc", "a.c", "-", b"- abc"),
    ],
)
def test_only_the_matched_bytes_change(workspace, raw, old, new, result):
    put(workspace, raw)
    assert run_edit("f", old, new).startswith("Edited f: 1 place (line ")
    assert (workspace / "f").read_bytes() == result


@pytest.mark.parametrize(
    ("raw", "old", "new", "said"),
    [
        (b"abc", "", "x", "empty"),
        (b"", "", "x", "empty"),
        (b"abc", "b", "b", "same"),
        (b"a\n", "a\n", "a\r\n", "nothing"),
        (b"abc", "x", "y", "not found"),
        (b"aaa", "aa", "b", r"2 places \(line 1, 1\)"),
        (b"1\nx\n2\nx\n", "x", "y", r"2 places \(line 2, 4\).*replace_all"),
        (b"x\n" * 12, "x", "y", r"12 places \(line 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, \.\.\.\)"),
        (b"abc\0", "abc", "x", "binary"),
        ("abc".encode("utf-16"), "abc", "x", "UTF-16"),
        (b"caf\xe9 1", "1", "é", "not UTF-8"),
        (b"abc", "abc", "\ud83d", "new_text"),
        (b"abc", "\ud83d", "abc", "old_text"),
        (b"abc", None, "abc", "old_text"),
        (b"abc", "abc", 3, "new_text"),
    ],
)
def test_an_edit_that_does_not_fit_is_refused_and_changes_nothing(workspace, raw, old, new, said):
    put(workspace, raw)
    with pytest.raises(ToolError, match=said):
        run_edit("f", old, new)
    assert (workspace / "f").read_bytes() == raw


def test_replace_all_replaces_all(workspace):
    put(workspace, b"a\r\nb\na\nb\naaa")
    assert run_edit("f", "a\nb", "1\n2", replace_all=True) == "Edited f: 2 places (line 1, 3)"
    assert (workspace / "f").read_bytes() == b"1\r\n2\n1\n2\naaa"
    assert run_edit("f", "aa", "b", replace_all=True) == "Edited f: 1 place (line 5)"
    put(workspace, b"a\r\nb\r\n")
    assert run_edit("f", "\r", "", replace_all=True) == "Edited f: 2 places (line 1, 2)"
    assert (workspace / "f").read_bytes() == b"a\nb\n"


@pytest.mark.parametrize(
    ("raw", "old", "hint"),
    [
        (b"def f():\n\treturn 1\n", "    return 1", r"2: '\treturn 1'"),
        (b"a = 1\nb = compute(a)\n", "b = compute(a, 2)", "2: 'b = compute(a)'"),
        ("cafe\u0301\n".encode(), "caf\u00e9", "NFC"),
        ("one\r\ncafe\u0301\r\n".encode(), "caf\u00e9\n", "NFC"),
        (b"nothing like it\n", "zzzzz", "Read the file again"),
        (b"a\r\nb\r\n", "b\r\r", "2: 'b'"),
        (b"caf\xe9 = 1\n", "caf\\xe9 = 1", "a single byte"),
        (b"\x1b[31mred\n", "\\x1b[31mred", "a single byte"),
    ],
)
def test_a_text_that_is_not_found_gets_the_nearest_lines(workspace, raw, old, hint):
    put(workspace, raw)
    with pytest.raises(ToolError) as refused:
        run_edit("f", old, "x")
    assert hint in str(refused.value)


def test_a_hint_compares_few_lines_in_full_and_stays_short(workspace, monkeypatch):
    put(workspace, b"".join(b"some line of text, much alike: %06d %s\n" % (n, b"x" * 500) for n in range(20_000)))
    compared, ratio = [], difflib.SequenceMatcher.ratio
    monkeypatch.setattr("difflib.SequenceMatcher.ratio", lambda pair: compared.append(pair) or ratio(pair))
    with pytest.raises(ToolError, match="The nearest lines:") as refused:
        run_edit("f", "some line of texts, much alike: 000700 " + "x" * 5000, "x")
    assert len(compared) <= edits.HINT_CANDIDATES
    assert len(str(refused.value)) < 1500


def test_no_other_edit_waits_for_a_hint(workspace, monkeypatch):
    put(workspace, b"one", "other")

    def slow(*_):
        edit = threading.Thread(target=run_edit, args=("other", "one", "two"), daemon=True)
        edit.start()
        edit.join(20)
        return " late" if edit.is_alive() else " hint"

    monkeypatch.setattr(tools, "hint", slow)
    put(workspace, b"abc")
    with pytest.raises(ToolError, match="hint"):
        run_edit("f", "x", "y")


@pytest.mark.parametrize(
    ("unit", "old", "new", "replace_all"),
    [
        (b"a,", ",", ";", True),
        (b"a\r\n", "zz", "y", False),
        (b"a\r\n", "a\n", "b\n", True),
        (b"a\r\n", "\r", "", True),
        (b"aa\r\naa\n", "a\na", "b\nb", True),
        (b"a", "aa", "b", False),
        (b"text ", "zz", "\xe9", False),
    ],
)
def test_an_edit_takes_four_times_the_file_in_memory_at_most(workspace, unit, old, new, replace_all):
    size = len(put(workspace, unit * (1_000_000 // len(unit)) + "\U0001f600".encode()).read_bytes())
    refused = False
    tracemalloc.start()
    try:
        run_edit("f", old, new, replace_all)
    except ToolError:
        refused = True
    finally:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert refused is not replace_all
    assert peak < 4 * size + 3_000_000  # a hint has a few million of its own, however big the file is


@pytest.mark.parametrize(
    ("limit", "raw", "said"), [("MAX_MIXED", b"a\na\r\n" * 3, "both LF"), ("MAX_EDITED_BYTES", b"a\n" * 6, "more than")]
)
def test_an_edit_without_bounds_is_refused(workspace, monkeypatch, limit, raw, said):
    monkeypatch.setattr(edits, limit, 5 if limit == "MAX_MIXED" else 20)
    put(workspace, raw)
    with pytest.raises(ToolError, match=said):
        run_edit("f", "a\n", "bbbb\n", replace_all=True)
    assert (workspace / "f").read_bytes() == raw


TEXTS = st.lists(st.sampled_from(["a", "b", "\n", "\r\n"]), max_size=8).map("".join)
LINE_ENDS = st.text("a\r\n", min_size=1, max_size=6)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(before=TEXTS, old=TEXTS, new=TEXTS, after=TEXTS, every=st.booleans())
def test_an_edit_changes_what_it_names_and_nothing_else(workspace, before, old, new, after, every):
    raw = (before + old + after).encode()
    put(workspace, raw)
    try:
        run_edit("f", old, new, every)
    except ToolError:
        assert (workspace / "f").read_bytes() == raw
        return

    def flat(text):
        return text.replace("\r\n", "\n")

    text = flat(raw.decode())
    result = flat((workspace / "f").read_bytes().decode())
    expected = text.replace(flat(old), flat(new)) if every else text.replace(flat(old), flat(new), 1)
    assert result == expected


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(before=LINE_ENDS, old=LINE_ENDS, after=LINE_ENDS)
def test_what_is_in_the_file_is_found(workspace, before, old, after):
    put(workspace, (before + old + after).encode())
    try:
        run_edit("f", old, "new")
    except ToolError as error:
        refused = str(error)
    else:
        refused = ""
    assert "not found" not in refused


NO_LOCKS = {"Windows": None, "a browser page": SimpleNamespace()}  # what there is of fcntl


@pytest.mark.parametrize("system", ["this system", *NO_LOCKS])
def test_edits_of_threads_all_arrive(workspace, monkeypatch, system):
    if system in NO_LOCKS:
        monkeypatch.setattr(opening, "fcntl", NO_LOCKS[system])
    put(workspace, b"".join(b"<%d>" % n for n in range(60)))
    threads = [threading.Thread(target=run_edit, args=("f", f"<{n}>", f"[{n}]")) for n in range(60)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (workspace / "f").read_bytes() == b"".join(b"[%d]" % n for n in range(60))


PART = """
import sys, s02_tool_use as s
s.use_workdir(sys.argv[1])
for n in range(int(sys.argv[2]), 60, 3):
    s.run_edit("f", f"<{n}>", f"[{n}]")
"""


@posix("lock between processes")
def test_edits_of_processes_all_arrive(workspace):
    put(workspace, b"".join(b"<%d>" % n for n in range(60)))
    editors = [subprocess.Popen([sys.executable, "-c", PART, workspace, str(n)]) for n in range(3)]
    assert [editor.wait() for editor in editors] == [0, 0, 0]
    assert (workspace / "f").read_bytes() == b"".join(b"[%d]" % n for n in range(60))


def test_a_change_by_somebody_who_takes_no_lock_is_told(workspace, monkeypatch):
    path = put(workspace, b"one")
    when_drafted(monkeypatch, lambda draft: path.write_bytes(b"by hand"))
    with pytest.raises(ToolError, match="read it again"):
        run_edit("f", "one", "two")
    assert path.read_bytes() == b"by hand"


def test_a_folder_locked_for_ever_does_not_hang_an_edit(workspace, monkeypatch):
    fcntl = pytest.importorskip("fcntl")
    monkeypatch.setattr(opening, "LOCK_SECONDS", 0.1)
    put(workspace, b"one")
    holder = os.open(workspace, os.O_RDONLY)
    fcntl.flock(holder, fcntl.LOCK_EX)
    with pytest.raises(ToolError, match="locked"):
        run_edit("f", "one", "two")
    os.close(holder)
    assert run_edit("f", "one", "two")


def test_a_link_stays_a_link_and_its_file_changes(workspace):
    (workspace / "d").mkdir()
    put(workspace, b"1", "d/real")
    (workspace / "ln").symlink_to("d/real")
    run_edit("ln", "1", "2")
    run_write("ln", "3")
    assert (workspace / "ln").is_symlink()
    assert (workspace / "d/real").read_text() == "3"


SWAPPING = """
import ctypes, os, sys
swap = ctypes.CDLL(None).renameat2
print("now", flush=True)
while not swap(-100, os.fsencode(sys.argv[1]), -100, os.fsencode(sys.argv[2]), 2):
    pass
"""


@pytest.mark.skipif(sys.platform != "linux", reason="names are exchanged with renameat2")
@pytest.mark.parametrize("other", ["link", "pipe"])
def test_a_file_swapped_for_a_link_or_a_pipe_reaches_nothing_and_hangs_nothing(workspace, other, part):
    secret = workspace.parent / "secret.txt"
    secret.write_text("TOP-SECRET 1")
    put(workspace, b"benign 1", "f")
    if other == "link":
        (workspace / "link").symlink_to("../secret.txt")
    else:
        os.mkfifo(workspace / "pipe")
    calls = [lambda: run_read("f"), lambda: run_edit("f", "1", "2 1") and "", lambda: run_write("f", "benign 1")]
    outcomes = set()
    command = [sys.executable, "-c", SWAPPING, workspace / "f", workspace / other]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as racer:
        racer.stdout.readline()
        rounds, end = 0, time.monotonic() + 60
        while rounds < part * 300 or (
            len(outcomes) < 2 and time.monotonic() < end
        ):  # a busy machine may run one of us alone
            rounds += 1
            for call in calls:
                try:
                    assert "TOP-SECRET" not in call()
                    outcomes.add("done")
                except ToolError:
                    outcomes.add("refused")
        assert racer.poll() is None
        racer.kill()
    assert secret.read_text() == "TOP-SECRET 1"
    assert outcomes == {"done", "refused"}


@needs_bash
@pytest.mark.parametrize("locale", ["C", "POSIX"])
def test_the_locale_does_not_matter(workspace, locale):
    code = (
        "import sys, s02_tool_use as s; s.use_workdir(sys.argv[1]); "
        r"print(ascii([s.run_write('f', '\xe9\u6f22'), s.run_read('f'), s.run_edit('f', '\xe9', 'e')])); "
        "print(ascii(s.run_bash('cat f')))"
    )
    done = subprocess.run(
        [sys.executable, "-X", "utf8=0", "-c", code, workspace],
        env={**os.environ, "LC_ALL": locale, "PYTHONCOERCECLOCALE": "0"},
        capture_output=True,
        text=True,
        check=True,
    )
    said, cat = map(ast.literal_eval, done.stdout.splitlines())
    assert said == ["Wrote 5 bytes to f", "é漢", "Edited f: 1 place (line 1)"]
    assert cat == "e漢\n[exit status 0]"
    assert (workspace / "f").read_bytes() == "e漢".encode()
