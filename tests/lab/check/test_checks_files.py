"""The checks of 03: right answers pass, plausible wrong ones fail at the sentence that fits, a stub says "not yet"."""

import fnmatch
import glob
import itertools
import os
import re
import tempfile
from pathlib import Path

from answers import not_yet, right, wrong

from s02_tool_use import ToolError, run_edit, run_glob, run_read, run_write, workdir
from s02_tool_use.lab import check


def where(path):
    """As on the page."""
    return workdir() / path


# ---- read


def read_by_islice(path, limit=None):
    with where(path).open("rb") as file:
        raw = b"".join(itertools.islice(file, limit))
        left = sum(1 for line in file)
    text = raw.decode("utf-8", errors="backslashreplace")
    if left:
        text += f"[{left} more lines]"
    return text


def read_by_a_loop(path, limit=None):
    if limit is not None and limit < 1:
        raise ValueError("limit must be 1 or more")
    shown, total = [], 0
    with open(where(path), encoding="utf-8", errors="replace", newline="\n") as file:
        for line in file:
            total += 1
            if limit is None or total <= limit:
                shown.append(line)
    rest = total - len(shown)
    return "".join(shown) + (f"\n... {rest} lines left out of {total}\n" if rest else "")


def read_by_readline(path, limit=None):
    with open(where(path), "rb") as file:
        lines = []
        while limit is None or len(lines) < limit:
            line = file.readline()
            if not line:
                break
            lines.append(line.decode("latin-1" if limit is None and b"\xe9" in line else "utf-8").removesuffix("\n"))
        left = 0
        while file.readline():
            left += 1
    return "\n".join([*lines, *([f"({left} lines follow)"] if left else [])])


def read_says_the_bytes(path, limit=None):
    with open(path, "rb") as file:
        raw = b"".join(itertools.islice(file, limit))
        size = file.seek(0, 2)
    text = raw.decode(errors="ignore")
    return text if len(raw) == size else f"{text}[{len(raw)} of {size} bytes]"


def read_original(path, limit=None):
    lines = where(path).read_text().splitlines()
    if limit and limit < len(lines):
        lines = lines[:limit]
    return "\n".join(lines)[:50000]


def reading(view, memory=False):
    """A read that holds the whole file in memory, and shows what `view(text, limit)` makes of it."""

    def read(path, limit=None):
        if not memory and where(path).stat().st_size > 100_000:  # else that would be the first fault of each
            return read_by_islice(path, limit)
        return view(where(path).read_bytes().decode("utf-8", "backslashreplace"), limit)

    return read


def cut(lines, limit, note):
    return "\n".join([*lines[:limit], note])


def view_by_split(text, limit):
    lines = text.removesuffix("\n").split("\n")
    return text if limit is None or limit >= len(lines) else cut(lines, limit, f"[{len(lines) - limit} more lines]")


def view_splitlines(text, limit):
    lines = text.splitlines()
    return text if limit is None or limit >= len(lines) else cut(lines, limit, f"[{len(lines) - limit} more lines]")


def view_one_too_many(text, limit):
    lines = text.split("\n")
    return text if limit is None or limit >= len(lines) else cut(lines, limit, f"[{len(lines) - limit} more lines]")


def view_limit_or_all(text, limit):
    return view_by_split(text, limit or None)


def view_says_truncated(text, limit):
    lines = text.removesuffix("\n").split("\n")
    return text if limit is None or limit >= len(lines) else cut(lines, limit, "[truncated]")


def view_says_the_total(text, limit):
    lines = text.removesuffix("\n").split("\n")
    return text if limit is None or limit >= len(lines) else cut(lines, limit, f"[{len(lines)} lines in all]")


def view_says_zero(text, limit):
    lines = text.removesuffix("\n").split("\n")
    return text if limit is None or limit > len(lines) else cut(lines, limit, f"[{len(lines) - limit} more lines]")


def view_says_it_always(text, limit):
    lines = text.removesuffix("\n").split("\n")
    limit = len(lines) if limit is None else limit
    return cut(lines, limit, f"[{max(len(lines) - limit, 0)} more lines]")


def view_strips_the_end(text, limit):
    lines = text.strip().split("\n")
    return text if limit is None or limit >= len(lines) else cut(lines, limit, f"[{len(lines) - limit} more lines]")


def view_without_empty_lines(text, limit):
    lines = [line for line in text.split("\n") if line.strip()]
    return text if limit is None or limit >= len(lines) else cut(lines, limit, f"[{len(lines) - limit} more lines]")


def view_drops_empty_lines_when_it_cuts(text, limit):
    lines = text.removesuffix("\n").split("\n")
    if limit is None or limit >= len(lines):
        return text
    return cut([line for line in lines[:limit] if line], limit, f"[{len(lines) - limit} more lines]")


def view_as_a_list(text, limit):
    return view_by_split(text, limit).split("\n")


def view_first_word(text, limit):
    return view_by_split(" ".join(text.split()), limit)


def view_note_on_the_same_line(text, limit):
    lines = text.removesuffix("\n").split("\n")
    if limit is None or limit >= len(lines):
        return text
    return "\n".join(lines[:limit]) + f" [{len(lines) - limit} more lines]"


def read_prints(path, limit=None):
    print(read_by_islice(path, limit))


def read_another_file(path, limit=None):
    return read_by_islice("big.log" if where("big.log").exists() else "teas.txt", limit)


def read_strict(path, limit=None):
    with where(path).open(encoding="utf-8", newline="\n") as file:
        text = "".join(itertools.islice(file, limit))
        left = sum(1 for line in file)
    return text + f"[{left} more lines]" if left else text


def read_counts_with_readlines(path, limit=None):
    with where(path).open("rb") as file:
        raw = b"".join(itertools.islice(file, limit))
        left = len(file.readlines())
    text = raw.decode("utf-8", errors="backslashreplace")
    return text + f"[{left} more lines]" if left else text


# ---- write


def write_encode_first(path, content):
    path = where(path)
    data = content.encode("utf-8")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return f"Wrote {len(data)} bytes to {path.name}"


def write_swap(path, content):
    path = where(path)
    os.makedirs(path.parent, exist_ok=True)
    try:
        data = bytes(content, "utf8")
    except UnicodeEncodeError as error:
        raise ValueError(f"cannot be written: {error.reason}") from error
    with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as file:
        size = file.write(data)
    os.replace(file.name, path)
    return f"{len(content)} characters, {size} bytes"


def write_and_put_back(path, content):
    path = where(path)
    before = path.read_bytes() if path.exists() else None
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        with open(path, "w", encoding="utf-8", newline="") as file:
            file.write(content)
    except UnicodeEncodeError:
        if before is None:
            path.unlink()
        else:
            path.write_bytes(before)
        raise
    return f"{path.stat().st_size} bytes"


def write_puts_back_only_what_was_there(path, content):
    path = where(path)
    before = path.read_bytes() if path.exists() else b""
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        return f"{path.write_bytes(b'') + path.write_bytes(content.encode())} bytes"
    except UnicodeEncodeError:
        path.write_bytes(before)
        raise


def write_original(path, content):
    path = where(path)
    path.write_text(content)
    return f"Wrote {len(content)} bytes to {path}"


def write_makes_folders_only(path, content):
    path = where(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content, encoding="utf-8")
    return f"Wrote {len(content.encode('utf-8'))} bytes"


def write_true_bytes(path, content):
    path = where(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "w", encoding="utf-8", newline="\n") as file:
        file.write(content)
    return f"Wrote {path.stat().st_size} bytes"


def write_replaces_what_cannot_be(path, content):
    path = where(path)
    data = content.encode("utf-8", errors="replace")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return f"Wrote {len(data)} bytes"


def write_swallows(path, content):
    try:
        return write_encode_first(path, content)
    except UnicodeEncodeError as error:
        return f"Error: {error.reason}"


def write_returns_a_number(path, content):
    path = where(path)
    data = content.encode()
    path.parent.mkdir(parents=True, exist_ok=True)
    return path.write_bytes(data)


def write_utf_16(path, content):
    path = where(path)
    data = content.encode("utf-16")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return f"Wrote {len(data)} bytes"


def write_appends(path, content):
    path = where(path)
    data = content.encode()
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab") as file:
        file.write(data)
    return f"Wrote {len(data)} bytes"


def write_over(path, content):
    path = where(path)
    data = content.encode()
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("r+b" if path.exists() else "wb") as file:
        file.write(data)
    return f"Wrote {len(data)} bytes"


def write_one_folder(path, content):
    path = where(path)
    data = content.encode()
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(data)
    return f"Wrote {len(data)} bytes"


def write_leaves_a_draft(path, content):
    path = where(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_suffix(".new")
    draft.write_text(content, encoding="utf-8", newline="") if os.name == "nt" else draft.write_bytes(b"")
    data = content.encode()
    draft.write_bytes(data)
    draft.replace(path)
    return f"Wrote {len(data)} bytes"


def write_says_nothing(path, content):
    path = where(path)
    data = content.encode()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def write_backup_stays(path, content):
    path = where(path)
    if path.exists():
        path.replace(path.with_suffix(".bak"))
    return write_encode_first(path, content)


# ---- edit


def in_text(change):
    """An edit of a file from one of its text, which loses nothing on the way."""

    def edit(path, old_text, new_text):
        text = where(path).read_bytes().decode("utf-8", "surrogateescape")
        result = change(text, old_text, new_text)
        if isinstance(result, str):
            where(path).write_bytes(result.encode("utf-8", "surrogateescape"))
            return f"Edited {path}"
        return result

    return edit


def edit_bytes(path, old_text, new_text):
    old, new = old_text.encode(), new_text.encode()
    raw = where(path).read_bytes()
    first = raw.find(old)
    if not old or first < 0:
        raise ValueError(f"old_text was not found in {path!r}")
    if raw.find(old, first + 1) >= 0:
        raise ValueError(f"old_text is in {path!r} more than once")
    where(path).write_bytes(raw.replace(old, new))
    return f"Edited {path}"


def edit_writes_before_it_checks(path, old_text, new_text):
    raw = where(path).read_bytes()
    where(path).write_bytes(raw.replace(old_text.encode(), new_text.encode(), 1))
    return edit_by_find(raw.decode("utf-8", "surrogateescape"), old_text, new_text) and f"Edited {path}"


def edit_read_text(path, old_text, new_text):
    text = where(path).read_text(encoding="utf-8")
    where(path).write_text(edit_by_find(text, old_text, new_text), encoding="utf-8")
    return "Edited"


def edit_utf8_only(path, old_text, new_text):
    text = where(path).read_bytes().decode()
    where(path).write_bytes(edit_by_find(text, old_text, new_text).encode())
    return "Edited"


def edit_latin_1(path, old_text, new_text):
    text = where(path).read_bytes().decode("latin-1")
    where(path).write_bytes(edit_by_find(text, old_text, new_text).encode("latin-1"))
    return "Edited"


def edit_returns_the_text(path, old_text, new_text):
    return edit_by_find(where(path).read_bytes().decode("latin-1"), old_text, new_text)


def edit_says_nothing(path, old_text, new_text):
    edit_bytes(path, old_text, new_text)


def edit_by_find(text, old, new):
    first = text.find(old)
    if not old or first < 0:
        raise ValueError("old is empty or not in the text")
    if text.find(old, first + 1) >= 0:
        raise ValueError("old is there more than once")
    return text[:first] + new + text[first + len(old) :]


def edit_by_places(text, old, new):
    places = [i for i in range(len(text)) if old and text.startswith(old, i)]
    if len(places) != 1:
        raise ToolError(f"old is there {len(places)} times")
    return text.replace(old, new)


def edit_by_lookahead(text, old, new):
    found = list(re.finditer(f"(?={re.escape(old)})", text)) if old != "" else []
    match found:
        case [one]:
            return f"{text[: one.start()]}{new}{text[one.start() + len(old) :]}"
        case _:
            raise ValueError(len(found))


def edit_with_index(text, old, new):
    if old == "":
        raise ValueError("old is empty")
    if text.index(old) != text.rindex(old):
        raise ValueError("more than one")
    return new.join(text.split(old, 1))


def edit_original(text, old, new):
    if old not in text:
        return "Error: text not found"
    return text.replace(old, new, 1)


def edit_first_only(text, old, new):
    if old not in text:
        raise ValueError("not found")
    return text.replace(old, new, 1)


def edit_count(text, old, new):
    if text.count(old) != 1:
        raise ValueError("not exactly once")
    return text.replace(old, new)


def edit_count_no_empty(text, old, new):
    if not old or text.count(old) != 1:
        raise ValueError("not exactly once")
    return text.replace(old, new)


def edit_all(text, old, new):
    if not old or old not in text:
        raise ValueError("not found")
    return text.replace(old, new)


def edit_regex(text, old, new):
    if not old or len(re.findall(old, text)) != 1:
        raise ValueError("not exactly once")
    return re.sub(old, new, text)


def edit_regex_escaped(text, old, new):
    if edit_by_find(text, old, "") is not None:
        return re.sub(re.escape(old), new, text)
    return None


def edit_by_lines(text, old, new):
    edit_by_find(text, old, new)
    return "\n".join(line.replace(old, new) for line in text.splitlines())


def edit_in_text_mode(text, old, new):
    return edit_by_find(text.replace("\r\n", "\n"), old, new)


def edit_stripped(text, old, new):
    return edit_by_find(text.strip(), old, new)


def edit_refuses_deleting(text, old, new):
    if not new:
        raise ValueError("new is empty")
    return edit_by_find(text, old, new)


def edit_asserts(text, old, new):
    assert text.count(old) == 1
    return edit_by_find(text, old, new)


def edit_returns_the_error(text, old, new):
    try:
        return edit_by_find(text, old, new)
    except ValueError as error:
        return error


def edit_returns_text_unchanged(text, old, new):
    try:
        return edit_by_find(text, old, new)
    except ValueError:
        return text


def edit_forgets_return(text, old, new):
    if edit_by_find(text, old, new):
        text = text.replace(old, new)


# ---- glob


def names_by_glob(pattern):
    names = glob.glob(pattern, root_dir=workdir(), recursive=True)
    return "\n".join(sorted(Path(name).as_posix() for name in names)) or f"No matches for {pattern}"


def names_by_path(pattern):
    root = workdir()
    found = sorted(path.relative_to(root).as_posix() for path in root.glob(pattern) if path.is_file())
    if not found:
        return "(nothing matches)"
    return "\n".join(found)


def names_by_walk(pattern):
    regex = fnmatch.translate(pattern.replace("**/", "\0")).replace(".*", "[^/]*")
    regex = regex.replace(re.escape("\0"), "(?:.*/)?").replace("\0", "(?:.*/)?")
    names = []
    for folder, _, files in os.walk(workdir()):
        names += [Path(folder, file).relative_to(workdir()).as_posix() for file in files]
    return "\n".join(sorted(name for name in names if re.match(regex, name))) or "No file has such a name."


def names_with_an_end(pattern):
    return names_by_glob(pattern) + "\n"


def names_first_500(pattern):
    names = names_by_glob(pattern).split("\n")
    return "\n".join(names[:500]) + (f"\n[500 of {len(names)}]" if len(names) > 500 else "")


def found(pattern, recursive=False):
    return [Path(name).as_posix() for name in glob.glob(pattern, root_dir=workdir(), recursive=recursive)]


def names_original(pattern):
    return "\n".join(sorted(found(pattern), reverse=True))  # some disks sort by themselves


def names_not_recursive(pattern):
    return "\n".join(sorted(found(pattern))) or "No matches"


def names_backwards(pattern):
    return "\n".join(names_by_glob(pattern).split("\n")[::-1])


def names_stop_at_500(pattern):
    return "\n".join(names_by_glob(pattern).split("\n")[:500])


def names_say_nothing(pattern):
    return "\n".join(sorted(found(pattern, recursive=True)))


def names_as_a_list(pattern):
    return names_by_glob(pattern).split("\n")


def names_absolute(pattern):
    return "\n".join(sorted(glob.glob(str(workdir() / pattern), recursive=True))) or "No matches"


def names_without_folders(pattern):
    names = glob.glob(pattern, root_dir=workdir(), recursive=True)
    return "\n".join(sorted(os.path.basename(name) for name in names)) or "No matches"


def names_with_commas(pattern):
    return names_by_glob(pattern).replace("\n", ", ")


def names_rglob(pattern):
    root = workdir()
    return "\n".join(sorted(path.relative_to(root).as_posix() for path in root.rglob(pattern))) or "No matches"


def names_raise(pattern):
    names = names_by_glob(pattern)
    if names.startswith("No matches"):
        raise ValueError(names)
    return names


RIGHT_ANSWERS = {
    "write": [write_encode_first, write_swap, write_and_put_back, run_write],
    "read": [read_by_islice, read_by_a_loop, read_by_readline, read_says_the_bytes, run_read],
    "edit": [edit_bytes, *map(in_text, (edit_by_find, edit_by_places, edit_by_lookahead, edit_with_index)), run_edit],
    "names": [names_by_glob, names_by_path, names_by_walk, names_with_an_end, names_first_500, run_glob],
}

# A wrong answer, and a part of the sentence that must be the first to fail.
WRONG_ANSWERS = {
    "write": [
        (write_puts_back_only_what_was_there, "makes no new one"),
        (write_original, "how many bytes"),
        (write_makes_folders_only, "leaves the old file"),
        (write_true_bytes, "leaves the old file"),
        (write_replaces_what_cannot_be, "a lone surrogate"),
        (write_swallows, "a lone surrogate"),
        (write_returns_a_number, "how many bytes"),
        (write_utf_16, "as UTF-8"),
        (write_appends, "as UTF-8"),
        (write_over, "an existing file"),
        (write_one_folder, "missing folders"),
        (write_leaves_a_draft, "no other file"),
        (write_says_nothing, "how many bytes"),
        (write_backup_stays, "leaves the old file"),
        (lambda path, content: f"Wrote {len(content.encode())} bytes", "as UTF-8"),
        (lambda path, content: "Wrote 7 bytes", "as UTF-8"),
    ],
    "read": [
        (read_original, "says how many"),
        (reading(view_splitlines), "only a newline"),
        (reading(view_one_too_many), "says how many"),
        (reading(view_limit_or_all), "a limit of 0"),
        (reading(view_says_truncated), "says how many"),
        (reading(view_says_the_total), "says how many"),
        (reading(view_says_zero), "nothing is added"),
        (reading(view_says_it_always), "the whole file"),
        (reading(view_strips_the_end), "at the end too"),
        (reading(view_without_empty_lines), "an empty line is a line"),
        (reading(view_drops_empty_lines_when_it_cuts), "an empty line is a line"),
        (reading(view_as_a_list), "the whole file"),
        (reading(view_first_word), "the whole file"),
        (reading(view_note_on_the_same_line), "with a limit"),
        (reading(lambda text, limit: text), "with a limit"),
        (reading(lambda text, limit: text[:limit]), "with a limit"),
        (reading(view_by_split, memory=True), "not held in memory"),
        (read_counts_with_readlines, "not held in memory"),
        (read_strict, "not UTF-8"),
        (read_prints, "the whole file"),
        (read_another_file, "not UTF-8"),
        (lambda path, limit=None: "Assam\n", "the whole file"),
        (lambda path: read_by_islice(path), "with a limit"),
    ],
    "edit": [
        (in_text(edit_original), "not in the file is a ValueError"),
        (in_text(edit_first_only), "an empty old"),
        (in_text(edit_count), "an empty old"),
        (in_text(edit_count_no_empty), "overlap"),
        (in_text(edit_all), "in the file twice"),
        (in_text(edit_regex), "are not patterns"),
        (in_text(edit_regex_escaped), "are not patterns"),
        (in_text(edit_by_lines), "the one place"),
        (in_text(edit_in_text_mode), "everything else stays"),
        (in_text(edit_stripped), "the one place"),
        (in_text(edit_refuses_deleting), "an empty new"),
        (in_text(edit_asserts), "not in the file is a ValueError"),
        (in_text(edit_returns_the_error), "not in the file is a ValueError"),
        (in_text(edit_returns_text_unchanged), "not in the file is a ValueError"),
        (in_text(edit_forgets_return), "the one place"),
        (in_text(lambda text, old, new: text.replace(old, new)), "not in the file is a ValueError"),
        (edit_writes_before_it_checks, "an empty old"),
        (edit_read_text, "everything else stays"),
        (edit_utf8_only, "everything else stays"),
        (edit_latin_1, "the one place"),
        (edit_returns_the_text, "the one place"),
        (edit_says_nothing, "returns a string"),
        (lambda path, old, new: f"Edited {path}", "the one place"),
    ],
    "names": [
        (names_original, "sorted"),
        (names_not_recursive, "** is any number"),
        (names_backwards, "sorted"),
        (names_stop_at_500, "all names come"),
        (names_say_nothing, "without a match"),
        (names_as_a_list, "sorted"),
        (names_absolute, "sorted"),
        (names_without_folders, "folders in the pattern"),
        (names_with_commas, "sorted"),
        (names_rglob, "sorted"),
        (names_raise, "without a match"),
        (lambda pattern: "orders.py\nreport.py", "sorted"),
        (lambda pattern: "", "sorted"),
    ],
}


test_a_right_answer_passes_twice = right(RIGHT_ANSWERS)
test_a_wrong_answer_fails_first_at_the_sentence_that_fits_it = wrong(WRONG_ANSWERS)
test_a_stub_says_not_yet = not_yet(RIGHT_ANSWERS)


def test_a_verdict_shows_the_file_that_it_is_about():
    (line,) = [line for line in check.edit(edit_read_text).lines if line.details]
    assert dict(line.details)["input"] == "edit_read_text('f.txt' (which holds b'Caf\\xe9 1\\n'), '1', '2')"
