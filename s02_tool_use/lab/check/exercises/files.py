"""The exercises of 03: a write that loses nothing, a read that says what it left out, an edit of one place, a glob.

Each is a tool: it takes a path or a pattern, and works on the files of the workspace that the trial made for it.
"""

import re
import tracemalloc
from functools import partial

from ....workspace import workdir
from ..exercise import Named, Such, exercise
from ..trial import off_the_clock
from .parts import A_REFUSAL, Raised, gives, has_number, holds, refusing, row, rows_of, string_that


def put(path, raw):
    """A file of the workspace, with these bytes."""
    with off_the_clock():
        target = workdir() / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(raw)
    return target


def holding(path, content):
    """A file in a case, as the verdict shows it; `put` it before the call."""
    raw = content.encode() if isinstance(content, str) else content
    return Named(f"{path!r} (which holds {content!r})", path=path, content=content, raw=raw)


def bytes_of(path):
    target = workdir() / path
    return target.read_bytes() if target.is_file() else "no such file"


# ---- write


@exercise("my_write(path, content), a function that writes a file of the workspace and says how many bytes it wrote")
def write():
    def written(yours, path, content):
        """The bytes of the file after the call."""
        yours(path, content)
        return bytes_of(path)

    def after_a_refusal(yours, path, content):
        return written(partial(refusing, yours), path, content)

    def replaced(yours, path, content, run=written):
        """As `run`, with a file of that name already there."""
        put(path, before)
        return run(yours, path, content)

    def left_behind(yours, path, content):
        """The names in the file's folder afterwards; in the folder `old` it was there before."""
        folder = (workdir() / path).parent
        folder.mkdir()
        if folder.name == "old":
            put(path, before)
        refusing(yours, path, content)
        return sorted(found.name for found in folder.iterdir())

    def encoded(path, content):
        return content.encode()

    def the_size(path, content):
        size = len(content.encode())
        return string_that(f"a string with the number {size} in it", lambda text: has_number(text, size))

    before, half = b"What was there before, and is much longer.\n", "A tea shop \ud83d"
    texts = [("tea.txt", "Sencha\n"), ("tea.txt", "龙井 and Sencha\n")]
    deep = [("notes/ideas.txt", "More tea.\n"), ("a/b/c/ideas.txt", "More tea.\n")]
    many, empty = (1, "`len` counts characters, not bytes"), (1, "The file is empty")
    encodes, folders = (1, "So the order matters"), (1, "One more input")
    yield holds("the content is in the file, as UTF-8", many)(
        [*texts, ("crlf.txt", "one\r\ntwo\n")], encoded, run=written
    )
    yield holds("an existing file is replaced as a whole", encodes)(
        [("old.txt", "short\n"), ("old.txt", "")], encoded, run=replaced
    )
    yield holds("the string that comes back says how many bytes there are", many)(texts, the_size)
    yield holds("missing folders are created", folders)(deep, encoded, run=written)
    yield rows_of(A_REFUSAL, run=refusing)("a lone surrogate is a ValueError", empty)(("tea.txt", half))
    yield gives("and it leaves the old file as it was", empty)(
        ("old.txt", half, before), run=partial(replaced, run=after_a_refusal)
    )
    yield gives("and makes no new one", empty)(("never.txt", half, "no such file"), run=after_a_refusal)
    yield gives("no other file is left behind", encodes)(
        ("one/tea.txt", texts[1][1], ["tea.txt"]),
        ("old/tea.txt", texts[1][1], ["tea.txt"]),
        ("two/tea.txt", half, []),
        run=left_behind,
    )


# ---- read


def _lines(text):
    return text.removesuffix("\n").split("\n") if text else []


def _reading(yours, file, limit):
    """Call yours on the file."""
    put(file.path, file.raw)
    return yours(file.path) if limit is None else yours(file.path, limit)


BIG = b"nothing happened\n" * 60_000  # about a megabyte
MUCH = len(BIG) // 2


def _memory(yours, path, limit):
    """What is held in memory at once, while the start of a big file is read."""
    put(path, BIG)
    already = tracemalloc.is_tracing()
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    tracemalloc.reset_peak()
    try:
        shown = yours(path, limit)
        peak = tracemalloc.get_traced_memory()[1] - before
    finally:
        if not already:
            tracemalloc.stop()
    if not isinstance(shown, str) or not shown.startswith("nothing happened"):
        return shown
    return "a few lines" if peak < MUCH else "half of the file, or more"


@exercise("my_read(path, limit=None), a function that returns the first `limit` lines of a file of the workspace")
def read():
    def whole(file, limit):
        text = file.content
        if not text:
            return string_that("'', or that the file is empty", lambda shown: not shown or "empty" in shown)
        return string_that(repr(text), lambda shown: shown.removesuffix("\n") == text.removesuffix("\n"))

    def first_lines(file, limit):
        lines = _lines(file.content)
        wanted = "".join(f"{line}\n" for line in lines[:limit])

        def begins(shown):
            note = shown[len(wanted) :].strip("\n")
            return f"{shown}\n".startswith(wanted) and "\n" not in note and note not in lines

        return string_that(f"{wanted!r}, and then one line about the rest", begins)

    def note(file, limit):
        rest, size = len(_lines(file.content)) - limit, len(file.raw)

        def says(shown):
            last = shown.rstrip("\n").split("\n")[-1]
            return has_number(last, rest) or has_number(last, size)  # the package says the size of the file

        return string_that(f"a string whose last line has the number {rest} in it", says)

    def nothing(file, limit):
        first, rest, size = _lines(file.content)[0], len(_lines(file.content)), len(file.raw)
        return Such(
            f"no line of the file, only that {rest} are left out (or a ValueError)",
            lambda shown: (
                isinstance(shown, Raised)
                or (first not in shown and (has_number(shown, rest) or has_number(shown, size)))
            ),
        )

    @row
    def shows(sentence, read, right, *cases, run=_reading):
        """cases: (text, limit)."""
        return holds(sentence, read)([(holding("teas.txt", text), limit) for text, limit in cases], right, run=run)

    short, teas = "Assam\nCeylon\nKeemun", "Assam\n  Ceylon\nKeemun\nMint\nOolong\nSencha\nYunnan\n"
    paragraphs, pages = "Assam\n\n\nCeylon\n\nKeemun\n", "page 1\x0cpage 2\nend\n"
    cut, feed = (2, "Nothing tells the model"), (2, "Only a newline ends a line")
    yield shows("without a limit, the whole file comes back", cut)(
        whole, ("Assam\n", None), (teas, None), (paragraphs, None), ("no newline at the end", None), ("", None)
    )
    yield shows("with a limit, the first lines come back as they are, and no others", cut)(
        first_lines, (short + "\n", 1), (teas, 2), (teas, 6)
    )
    yield shows("a last line says how many lines were left out", cut)(
        note, (short + "\n", 1), (teas, 2), (short, 1), (short, 2)
    )
    yield shows("nothing is added when nothing was left out", cut)(
        whole, ("Assam\nCeylon\n", 2), ("Assam\nCeylon", 2), ("Assam\nCeylon\n", 9), ("", 3)
    )
    yield shows("an empty line is a line: it is shown", cut)(first_lines, (paragraphs, 2), (paragraphs, 4))
    yield shows("and it is counted, at the end too", feed)(note, ("Assam\n\n\n\n", 1), (paragraphs, 3))
    yield shows("only a newline ends a line: not a form feed, not U+2028", feed)(
        whole, (pages, None), ("one\u2028still one\ntwo\n", None), (pages, 2)
    )
    yield shows("and with a limit, nothing else ends one either", feed)(
        first_lines, (pages, 1), ("one\u2028still one\ntwo\n", 1)
    )
    yield shows("a limit of 0 does not mean all", cut)(nothing, (short, 0), run=partial(refusing, _reading))
    yield holds("bytes that are not UTF-8 do not make it fail", (2, "The next file has a name"))(
        [(holding("old.txt", "Café Zoë\n".encode("latin-1")), None)],
        string_that("a string with 'Caf' and ' Zo' in it", lambda text: "Caf" in text and " Zo" in text),
        run=_reading,
    )
    yield gives("with a limit, a big file is not held in memory", (2, "A limit is often thought"))(
        ("big.log", 3, "a few lines"), run=_memory
    )


# ---- edit


@exercise("my_edit(path, old_text, new_text), a function that changes the one place of a file of the workspace")
def edit():
    def said(yours, file, old, new):
        put(file.path, file.raw)
        return yours(file.path, old, new)

    def edited(yours, file, old, new):
        """The bytes of the file after the call."""
        said(yours, file, old, new)
        return bytes_of(file.path)

    def refusal(yours, file, old, new):
        """The ValueError, if the file is as it was; else what is in it now."""
        result = said(partial(refusing, yours), file, old, new)
        return result if bytes_of(file.path) == file.raw else bytes_of(file.path)

    def once(file, old, new):
        return file.raw.replace(old.encode(), new.encode(), 1)

    @row
    def changed(sentence, read, *cases, right=once, run=edited):
        """cases: (what the file holds, old_text, new_text)."""
        return holds(sentence, read)([(holding("f.txt", raw), *rest) for raw, *rest in cases], right, run=run)

    @row
    def stopped(sentence, read, *cases):
        return changed(sentence, read)(*cases, right=A_REFUSAL, run=refusal)

    one, bytes_only = (3, "So the rule is"), (3, "It touches only the bytes that match")
    everywhere, text = (3, "An empty string is everywhere"), (3, "`old_text` is a string, and no pattern")
    yield changed("the one place is changed", one)(
        (b"tea", "tea", "coffee"),
        (b"green tea\n", "green", "black"),
        ("Zoë: 龙井\n".encode(), "ë: 龙", "e: 龍"),
        (b"one\ntwo\n", "one\ntwo", "1\n2"),
    )
    yield changed("everything else stays as it was: spaces, line ends, bytes that are not UTF-8", bytes_only)(
        (b"  tea \n\n", "tea", "coffee"),
        (b"one\r\ntwo\r\n", "two", "2"),
        (b"a\x0cb\n", "b", "c"),
        ("Café 1\n".encode("latin-1"), "1", "2"),
    )
    yield changed("old_text and new_text are not patterns", text)(
        (b"4590 pieces, 4.90 each", "4.90", "5.90"), (b"f(x)", "(x)", "(y)"), (b"tea", "tea", r"\1 \g<0> $& \n")
    )
    yield changed("an empty new_text deletes", bytes_only)((b"green tea", "green ", ""))
    yield changed("it returns a string that says what it did", one)(
        (b"green tea\n", "green", "black"), right=string_that("a string such as 'Edited f.txt'"), run=said
    )
    yield stopped("an old_text that is not in the file is a ValueError", one)(
        (b"green tea", "coffee", "tea"), (b"", "tea", "x")
    )
    yield stopped("an empty old_text is a ValueError", everywhere)((b"tea", "", "x"), (b"", "", "x"))
    yield stopped("an old_text that is in the file twice is a ValueError", one)(
        (b"aa", "a", "b"), (b"tea or tea", "tea", "coffee")
    )
    yield stopped("also when the two places overlap", (3, "`count` does not see matches that overlap"))(
        (b"aaa", "aa", "b"), (b"banana", "ana", "x")
    )


# ---- glob

SHOP = ["README.md", "orders.py", "report.py", "data/orders.csv", "tools/old/convert.py"]
MANY = [f"many/{n:03}.log" for n in range(600)]


@exercise(
    "my_glob(pattern), a function that returns the names that match, sorted, one a line, as one string",
    own="run_glob",
    deadline=10.0,  # some need a second for 600 names
)
def names():
    def found(yours, pattern, names=SHOP):
        """Call yours where there are files of these names."""
        for name in names:
            if not (workdir() / name).exists():
                put(name, b"tea\n")
        return yours(pattern)

    def files(result, *_):
        """The lines, without those that name a folder: a glob may list them or not."""
        if not isinstance(result, str):
            raise TypeError("a string is expected")
        return "\n".join(line for line in result.strip("\n").split("\n") if not (line and (workdir() / line).is_dir()))

    @row
    def finds(sentence, read, *cases):
        """cases: (pattern, names)."""
        rows = [(pattern, "\n".join(names)) for pattern, names in cases]
        return gives(sentence, read)(*rows, see=files, run=found)

    deep, none = (4, "`**` means"), (4, "Did the tool break")

    def all_or_said(text):
        *lines, last = text.rstrip("\n").split("\n")
        return [*lines, last] == MANY or (lines[:1] == MANY[:1] and last not in MANY and re.search(r"\d", last))

    yield finds("the names that match, sorted, one a line", (4, "Sort them"))(
        ("*.py", ["orders.py", "report.py"]), ("*.md", ["README.md"])
    )
    yield finds("folders in the pattern are in the names", (4, "Sort them"))(
        ("data/*.csv", ["data/orders.csv"]), ("tools/*/*.py", ["tools/old/convert.py"])
    )
    yield finds("** is any number of folders, including none", deep)(
        ("**/*.py", ["orders.py", "report.py", "tools/old/convert.py"]), ("tools/**/*.py", ["tools/old/convert.py"])
    )
    yield holds("without a match, it returns a sentence that says so", none)(
        [("*.rs",)], string_that("a string that says so, such as 'No matches for *.rs'"), run=found
    )
    yield holds("all names come back, however many, or it says that it stopped", none)(
        [("many/*.log",)],
        string_that("600 lines, or fewer and a last line that says how many there are", all_or_said),
        run=lambda yours, pattern: found(yours, pattern, MANY),
    )
