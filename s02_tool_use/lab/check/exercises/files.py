"""The exercises of 03: a read that says what it cut, a write that loses nothing, an edit of exactly one place."""

from pathlib import Path

from ..exercise import Exercise, Property, Such
from .parts import A_REFUSAL, Raised, has_number, refused, refusing

# ---- read ----

_CUT = (2, "The naive one looks like a whole file")
_SAYS = (2, "`run_read` says that it cut")
_LINE = (2, "Only a newline ends a line")
_AFTER = (2, "After the last newline comes no further line")

_TEAS = "Assam\n  Ceylon\nKeemun\n\nOolong\nSencha\nYunnan\n"


def _lines(text):
    return text.removesuffix("\n").split("\n") if text else []


def _shown(result, text, limit):
    """Those lines of the result that are lines of the text, blank ones aside."""
    return [line for line in result.split("\n") if line.strip() and line in _lines(text)]


def _first(text, limit):
    return [line for line in _lines(text)[:limit] if line.strip()]


def _note(text, limit):
    rest = len(_lines(text)) - limit
    return Such(
        f"a text whose last line has the number {rest} in it", lambda last: last is not None and has_number(last, rest)
    )


def _last(result, text, limit):
    return result.rstrip("\n").split("\n")[-1]


def _without_last_newline(result, text, limit):
    return result.removesuffix("\n")


read = Exercise(
    "03",
    "read",
    "my_read(text, limit), a function that returns the first `limit` lines of a text, as text",
    [
        Property(
            "without a limit, all of the text comes back",
            _SAYS,
            [("Assam\n", None), (_TEAS, None), ("no newline at the end", None), ("", None)],
            lambda text, limit: text.removesuffix("\n"),
            see=_without_last_newline,
        ),
        Property(
            "with a limit, the first lines come back as they are, and no others",
            _CUT,
            [(_TEAS, 1), (_TEAS, 2), (_TEAS, 6)],
            _first,
            see=_shown,
        ),
        Property(
            "a last line says how many lines were left out",
            _SAYS,
            [("Assam\nCeylon\nKeemun\n", 1), (_TEAS, 2), ("Assam\nCeylon\nKeemun", 1)],
            _note,
            see=_last,
        ),
        Property(
            "nothing is added when nothing was left out",
            _AFTER,
            [("Assam\nCeylon\n", 2), ("Assam\nCeylon", 2), ("Assam\nCeylon\n", 9), ("", 3)],
            lambda text, limit: text.removesuffix("\n"),
            see=_without_last_newline,
        ),
        Property("empty lines count, at the end too", _AFTER, [("Assam\n\n\n\n", 1)], _note, see=_last),
        Property(
            "only a newline ends a line: not a form feed, not U+2028",
            _LINE,
            [("page 1\x0cpage 2\nend\n", None), ("one\u2028still one\ntwo\n", None), ("page 1\x0cpage 2\nend\n", 1)],
            lambda text, limit: _lines(text)[:limit],
            see=lambda result, text, limit: result.removesuffix("\n").split("\n")[: limit or None],
        ),
        Property(
            "a limit of 0 does not mean all",
            _SAYS,
            [("Assam\nCeylon\n", 0)],
            Such(
                "no line of the text, only that 2 are left out (or a ValueError)",
                lambda value: isinstance(value, Raised) or ("Assam" not in value and has_number(value, 2)),
            ),
            run=refusing,
        ),
    ],
)

# ---- write ----

_BYTES = (3, "`len` counts characters, not bytes")
_EMPTY = (3, "The file is empty")
_ENCODES = (3, "`run_write` encodes first")
_FOLDERS = (3, "It also makes the folders that are missing")

_TEA, _OLD, _HALF = "龙井 and Sencha\n", "What was there before, and is much longer.\n", "A tea shop \ud83d"
_NO_FILE = "no such file"


def _written(yours, path, content):
    """The bytes of the file after the call."""
    yours(path, content)
    return _bytes_of(path)


def _after_half_a_character(yours, path, content):
    """The bytes of the file after a call that cannot succeed."""
    refusing(yours, path, content)
    return _bytes_of(path)


def _bytes_of(path):
    return path.read_bytes() if path.is_file() else _NO_FILE


def _over_an_old_file(run):
    """`run`, with a file of that name already there."""

    def prepared(yours, path, content):
        path.write_bytes(_OLD.encode())
        return run(yours, path, content)

    return prepared


def _left_behind(yours, path, content):
    """The names in the file's folder afterwards."""
    path.parent.mkdir()
    refusing(yours, path, content)
    return sorted(found.name for found in path.parent.iterdir())


write = Exercise(
    "03",
    "write",
    "my_write(path, content), a function that writes a text to a pathlib.Path and returns a text with the bytes",
    [
        Property(
            "the text is in the file, in UTF-8",
            _BYTES,
            [(Path("tea.txt"), "Sencha\n"), (Path("tea.txt"), _TEA), (Path("crlf.txt"), "one\r\ntwo\n")],
            lambda path, content: content.encode(),
            run=_written,
        ),
        Property(
            "an old file is replaced, all of it",
            _ENCODES,
            [(Path("old.txt"), "short\n"), (Path("old.txt"), "")],
            lambda path, content: content.encode(),
            run=_over_an_old_file(_written),
        ),
        Property(
            "the text that comes back says how many bytes there are",
            _BYTES,
            [(Path("tea.txt"), "Sencha\n"), (Path("tea.txt"), _TEA)],
            lambda path, content: Such(
                f"a text with the number {len(content.encode())} in it",
                lambda text: isinstance(text, str) and has_number(text, len(content.encode())),
            ),
        ),
        Property(
            "missing folders are made",
            _FOLDERS,
            [(Path("notes/ideas.txt"), "More tea.\n"), (Path("a/b/c/ideas.txt"), "More tea.\n")],
            lambda path, content: content.encode(),
            run=_written,
        ),
        Property("half of a character is a ValueError", _ENCODES, [(Path("tea.txt"), _HALF)], A_REFUSAL, run=refusing),
        Property(
            "and it leaves the old file as it was",
            _EMPTY,
            [(Path("old.txt"), _HALF)],
            _OLD.encode(),
            run=_over_an_old_file(_after_half_a_character),
        ),
        Property(
            "and makes no new one",
            _EMPTY,
            [(Path("never.txt"), _HALF)],
            _NO_FILE,
            run=_after_half_a_character,
        ),
        Property(
            "no other file stays behind",
            _ENCODES,
            [(Path("one/tea.txt"), _TEA), (Path("two/tea.txt"), _HALF)],
            lambda path, content: [] if content == _HALF else [path.name],
            run=_left_behind,
        ),
    ],
)

# ---- edit ----

_ONE = (4, "`run_edit` refuses, and says where")
_NONE = (4, "If there is no match")
_TOUCHES = (4, "And it touches only the bytes that match")
_COUNT = (4, "`count` does not see matches that overlap")
_EVERYWHERE = (4, "An empty text is everywhere")


def _replaced(text, old, new):
    return new.join(text.split(old))


edit = Exercise(
    "03",
    "edit",
    "my_edit(text, old, new), a function that returns the text with the one place changed",
    [
        Property(
            "the one place is changed",
            _ONE,
            [("green tea\n", "green", "black"), ("tea", "tea", "coffee"), ("one\ntwo\n", "one\ntwo", "1\n2")],
            _replaced,
        ),
        Property(
            "all else stays as it was, blanks and line ends too",
            _TOUCHES,
            [("  tea \n\n", "tea", "coffee"), ("one\r\ntwo\r\n", "two", "2"), ("a\x0cb\n", "b", "c")],
            _replaced,
        ),
        Property(
            "old and new are plain text, not patterns",
            _TOUCHES,
            [("4590 pieces, 4.90 each", "4.90", "5.90"), ("f(x)", "(x)", "(y)"), ("tea", "tea", r"\1 \g<0> $& \n")],
            _replaced,
        ),
        Property("an empty new deletes", _TOUCHES, [("green tea", "green ", "")], _replaced),
        refused("an old that is not there is a ValueError", _NONE, ("green tea", "coffee", "tea"), ("", "tea", "x")),
        refused("an empty old is a ValueError", _EVERYWHERE, ("tea", "", "x"), ("", "", "x")),
        refused("an old that is there twice is a ValueError", _ONE, ("tea or tea", "tea", "coffee"), ("aaa", "a", "b")),
        refused("also when the two places overlap", _COUNT, ("banana", "ana", "x"), ("aaa", "aa", "b")),
    ],
)
