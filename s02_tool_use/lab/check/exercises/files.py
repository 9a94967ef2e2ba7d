"""The exercises of 03: a read that says what it cut, a write that loses nothing, an edit of exactly one place."""

from functools import partial
from pathlib import Path

from ..exercise import Such, exercise
from .parts import Raised, gives, has_number, holds, refused, refusing, right_answer, rows_of, string_that


def _lines(text):
    return text.removesuffix("\n").split("\n") if text else []


@exercise("my_read(text, limit), a function that returns the first `limit` lines of a text, as text")
def read():
    @right_answer
    def same(text, limit):
        return "".join(f"{line}\n" for line in _lines(text)[:limit])

    def whole(text, *_):
        return text.removesuffix("\n")

    def shown(result, text, limit):
        """Those lines of the result that are lines of the text, empty ones aside."""
        return [line for line in result.split("\n") if line.strip() and line in _lines(text)]

    def note(text, limit):
        rest = len(_lines(text)) - limit
        return Such(f"a string whose last line has the number {rest} in it", lambda last: has_number(last, rest))

    def last(result, text, limit):
        return result.rstrip("\n").split("\n")[-1]

    def until_the_limit(result, text, limit):
        return result.removesuffix("\n").split("\n")[: limit or None]

    teas = "Assam\n  Ceylon\nKeemun\n\nOolong\nSencha\nYunnan\n"
    says, line = (2, "`run_read` says that it cut"), (2, "Only a newline ends a line")
    after, naive = (2, "After the last newline comes no further line"), (2, "The naive one looks like a whole file")
    whole_texts = [("Assam\n", None), (teas, None), ("no newline at the end", None), ("", None)]
    in_time = [("Assam\nCeylon\n", 2), ("Assam\nCeylon", 2), ("Assam\nCeylon\n", 9), ("", 3)]
    pages, short = "page 1\x0cpage 2\nend\n", "Assam\nCeylon\nKeemun"
    nothing = Such(
        "no line of the text, only that 2 are left out (or a ValueError)",
        lambda value: isinstance(value, Raised) or ("Assam" not in value and has_number(value, 2)),
    )
    yield same("without a limit, all of the text comes back", says)(whole_texts, whole)
    yield same("with a limit, the first lines come back as they are, and no others", naive)(
        [(teas, 1), (teas, 2), (teas, 6)], shown
    )
    yield holds("a last line says how many lines were left out", says)(
        [(short + "\n", 1), (teas, 2), (short, 1)], note, last
    )
    yield same("nothing is added when nothing was left out", after)(in_time, whole)
    yield holds("empty lines count, at the end too", after)([("Assam\n\n\n\n", 1)], note, last)
    yield same("only a newline ends a line: not a form feed, not U+2028", line)(
        [(pages, None), ("one\u2028still one\ntwo\n", None), (pages, 1)], until_the_limit
    )
    yield holds("a limit of 0 does not mean all", says)([("Assam\nCeylon\n", 0)], nothing, run=refusing)


@exercise("my_write(path, content), a function that writes a text to a pathlib.Path and returns a text with the bytes")
def write():
    def written(yours, path, content):
        """The bytes of the file after the call."""
        yours(path, content)
        return path.read_bytes() if path.is_file() else "no such file"

    def after_a_refusal(yours, path, content):
        return written(partial(refusing, yours), path, content)

    def replaced(yours, path, content, run=written):
        """As `run`, with a file of that name already there."""
        path.write_bytes(before)
        return run(yours, path, content)

    def left_behind(yours, path, content):
        """The names in the file's folder afterwards."""
        path.parent.mkdir()
        refusing(yours, path, content)
        return sorted(found.name for found in path.parent.iterdir())

    def encoded(path, content):
        return content.encode()

    def the_size(path, content):
        size = len(content.encode())
        return string_that(f"a string with the number {size} in it", lambda text: has_number(text, size))

    tea, old = Path("tea.txt"), Path("old.txt")
    before, half = b"What was there before, and is much longer.\n", "A tea shop \ud83d"
    texts = [(tea, "Sencha\n"), (tea, "龙井 and Sencha\n")]
    deep = [(Path("notes/ideas.txt"), "More tea.\n"), (Path("a/b/c/ideas.txt"), "More tea.\n")]
    many, encodes = (3, "`len` counts characters, not bytes"), (3, "`run_write` encodes first")
    empty, folders = (3, "The file is empty"), (3, "It also makes the folders that are missing")
    yield holds("the text is in the file, in UTF-8", many)(
        [*texts, (Path("crlf.txt"), "one\r\ntwo\n")], encoded, run=written
    )
    yield holds("an old file is replaced, all of it", encodes)([(old, "short\n"), (old, "")], encoded, run=replaced)
    yield holds("the text that comes back says how many bytes there are", many)(texts, the_size)
    yield holds("missing folders are made", folders)(deep, encoded, run=written)
    yield refused("half of a character is a ValueError", encodes)((tea, half))
    yield gives("and it leaves the old file as it was", empty)(
        (old, half, before), run=partial(replaced, run=after_a_refusal)
    )
    yield gives("and makes no new one", empty)((Path("never.txt"), half, "no such file"), run=after_a_refusal)
    yield gives("no other file stays behind", encodes)(
        (Path("one/tea.txt"), texts[1][1], ["tea.txt"]), (Path("two/tea.txt"), half, []), run=left_behind
    )


@exercise("my_edit(text, old, new), a function that returns the text with the one place changed")
def edit():
    changed = rows_of(lambda text, old, new: new.join(text.split(old)))
    once, touches = (4, "`run_edit` refuses, and says where"), (4, "And it touches only the bytes that match")
    everywhere = (4, "An empty text is everywhere")
    yield changed("the one place is changed", once)(
        ("green tea\n", "green", "black"), ("tea", "tea", "coffee"), ("one\ntwo\n", "one\ntwo", "1\n2")
    )
    yield changed("all else stays as it was, blanks and line ends too", touches)(
        ("  tea \n\n", "tea", "coffee"), ("one\r\ntwo\r\n", "two", "2"), ("a\x0cb\n", "b", "c")
    )
    yield changed("old and new are plain text, not patterns", touches)(
        ("4590 pieces, 4.90 each", "4.90", "5.90"), ("f(x)", "(x)", "(y)"), ("tea", "tea", r"\1 \g<0> $& \n")
    )
    yield changed("an empty new deletes", touches)(("green tea", "green ", ""))
    yield refused("an old that is not there is a ValueError", (4, "If there is no match"))(
        ("green tea", "coffee", "tea"), ("", "tea", "x")
    )
    yield refused("an empty old is a ValueError", everywhere)(("tea", "", "x"), ("", "", "x"))
    yield refused("an old that is there twice is a ValueError", once)(
        ("tea or tea", "tea", "coffee"), ("aaa", "a", "b")
    )
    yield refused("also when the two places overlap", (4, "`count` does not see matches that overlap"))(
        ("banana", "ana", "x"), ("aaa", "aa", "b")
    )
