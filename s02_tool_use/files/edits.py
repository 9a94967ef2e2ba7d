"""The text of an edit, byte for byte: where old_text is, what stands there afterwards, and a hint when it is not there.

The work is linear in the file, and done by bytes.find and bytes.replace: nothing is kept for each line or each place.
Left out: fuzzy matching. It would change what the model did not name.
"""

import codecs
import difflib
import heapq
import unicodedata

from ..calls.results import ToolError

MAX_EDITED_BYTES = 200_000_000  # bytes, before and after: an edit holds the file in memory up to four times
SHOWN_PLACES = 10  # places whose lines an answer names
MAX_OVERLAPPING = 1000  # places that are counted one by one, because they may overlap
MAX_MIXED = 1_000_000  # places in a file with both kinds of line end, where each has to be looked at: half a second

# A hint looks at this much of the file, and compares in full only the lines that a quick look finds alike.
HINT_BYTES, HINT_LINES, HINT_CHARACTERS, HINT_CANDIDATES = 500_000, 5000, 200, 10
ALIKE = 0.6  # as difflib.get_close_matches: 1 is the same, 0 has nothing in common

CRLF_MARK = b"\0"  # one byte for \r\n, where a file has both kinds of line end; no text file has a NUL
_TO_LF = bytes.maketrans(CRLF_MARK, b"\n")


def refuse_mixture(raw, new, path):
    """ToolError if the file is no text, or if `new` would bring a second encoding into it."""
    if b"\0" in raw:
        raise ToolError(f"{path!r} is binary or UTF-16, not text in UTF-8; change it with bash")
    if new.isascii():
        return
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        for start in range(0, len(raw), 1 << 20):  # in pieces: as a str the file could take four times its size
            decoder.decode(raw[start : start + (1 << 20)])
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        raise ToolError(
            f"{path!r} is not UTF-8, so new_text would bring in a second encoding; use ASCII only, or bash with iconv"
        ) from None


def edited(raw: bytes, old: bytes, new: bytes, replace_all: bool = False) -> tuple[int, list[int], bytes | bytearray]:
    """(in how many places `old` is, the lines of the first SHOWN_PLACES, the bytes with `new` there).

    A line end in `old` fits LF and CRLF; `new` gets the line ends of its place, or of the file if the place has none.
    The bytes are `raw` itself if `old` is not to be replaced: in no place, or in several without replace_all.
    Overlapping places count too: 'aa' is twice in 'aaa', and bytes.count would say once.
    """
    old_lf, new_lf = old.replace(b"\r\n", b"\n"), new.replace(b"\r\n", b"\n")
    crlf = raw.count(b"\r\n")
    only_crlf = crlf > 0 and crlf == raw.count(b"\n")
    fitting = new_lf.replace(b"\n", b"\r\n") if only_crlf else new_lf if b"\n" in old else new
    marked = None
    text, wanted = raw, old_lf
    if crlf and (old_lf.endswith(b"\r") or (b"\n" in old and not only_crlf)):
        marked = raw.replace(b"\r\n", CRLF_MARK)
        text = marked.translate(_TO_LF)  # each byte of it stands where it stands in `marked`
    elif only_crlf:
        wanted = old_lf.replace(b"\n", b"\r\n")
    count, lines = _places(text, wanted, replace_all)
    if not count and marked and old.endswith(b"\r"):  # it ends between the \r and the \n of one line end
        text, wanted, marked = raw, old, None
        count, lines = _places(text, wanted, replace_all)
    if not count or (count > 1 and not replace_all):
        return count, lines, raw
    if len(raw) + count * (len(fitting) - len(wanted)) > MAX_EDITED_BYTES:
        raise ToolError(f"the result would have more than {MAX_EDITED_BYTES} bytes; replace fewer, or use bash")
    if marked and count > MAX_MIXED:
        raise ToolError(
            f"{count} places in a file with both LF and CRLF are too many; give it one kind first, with bash"
        )
    if marked is None:
        return count, lines, text.replace(wanted, fitting)
    return count, lines, _replaced_in_both_kinds(marked, text, wanted, fitting)


def _places(text, wanted, replace_all):
    most = SHOWN_PLACES if replace_all else max(SHOWN_PLACES + 1, min(MAX_OVERLAPPING, 10_000_000 // len(wanted)))
    lines, line, counted_to, count = [], 1, 0, 0
    at = text.find(wanted)
    while at >= 0 and count < most:
        count += 1
        if count <= SHOWN_PLACES:
            line += text.count(b"\n", counted_to, at)
            lines.append(line)
            counted_to = at
        at = text.find(wanted, at + (len(wanted) if replace_all else 1))
    return count if at < 0 else max(count, text.count(wanted)), lines


def _replaced_in_both_kinds(marked, text, wanted, new):
    """As text.replace(wanted, new), but the line ends of a place decide on those of `new` there."""
    with_crlf = new.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")
    result, done, at = bytearray(), 0, text.find(wanted)
    while at >= 0:
        end = at + len(wanted)
        result += marked[done:at].replace(CRLF_MARK, b"\r\n")
        result += new if marked.find(CRLF_MARK, at, end) < 0 else with_crlf
        done, at = end, text.find(wanted, end)
    result += marked[done:].replace(CRLF_MARK, b"\r\n")
    return result


def hint(raw: bytes, old_text: str) -> str:
    """What may be wrong with an old_text that is not there; the nearest lines are quoted, to show their spaces."""
    text = raw[:HINT_BYTES].decode(errors="backslashreplace")
    lines = [line.rstrip("\r")[:HINT_CHARACTERS] for line in text.split("\n", HINT_LINES)[:HINT_LINES]]
    start = map(str.strip, old_text[:HINT_BYTES].split("\n"))
    wanted = next(filter(None, start), old_text)[:HINT_CHARACTERS]
    if "\\x" in wanted and wanted.encode() not in raw and wanted in text.replace("\x1b", "\\x1b"):
        return " What read_file shows as \\xNN is a single byte of the file; take the text around it."
    composed = unicodedata.normalize("NFC", wanted)
    if any(composed in unicodedata.normalize("NFC", line) and wanted not in line for line in lines):
        return " The file spells its accents in another Unicode form (NFC or NFD); edit a part without accents."
    numbers = _nearest(lines, wanted)
    if not numbers:
        return " Read the file again and copy the text exactly."
    shown = "".join(f"\n{n}: {lines[n - 1]!r}" for n in numbers)
    return f" Copy the text exactly, whitespace too. The nearest lines:{shown}"


def _nearest(lines, wanted):
    """The numbers of the three lines that are most alike. quick_ratio never says less than ratio, and is quick."""
    matcher = difflib.SequenceMatcher(b=wanted)

    def best(measure, numbers, most):
        scores = []
        for n in numbers:
            matcher.set_seq1(lines[n - 1].strip())
            if matcher.real_quick_ratio() >= ALIKE and (score := measure()) >= ALIKE:
                scores.append((score, -n))
        return [-n for _, n in heapq.nlargest(most, scores)]

    candidates = best(matcher.quick_ratio, range(1, len(lines) + 1), HINT_CANDIDATES)
    return sorted(best(matcher.ratio, candidates, 3))
