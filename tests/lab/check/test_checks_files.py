"""The checks of 03: right answers pass, plausible wrong ones fail at the sentence that fits, a stub says "not yet"."""

import os
import re
import tempfile

from answers import not_yet, right, wrong

from s02_tool_use import ToolError, run_edit, run_read, run_write

# ---- read


def read_by_split(text, limit=None):
    lines = text.removesuffix("\n").split("\n")
    if limit is None or limit >= len(lines):
        return text
    return "\n".join(lines[:limit]) + f"\n[{len(lines) - limit} more lines]"


def read_by_regex(text, limit=None):
    lines = re.findall(r"[^\n]*\n|[^\n]+\Z", text)
    if limit is not None and limit < 1:
        raise ValueError("limit must be 1 or more")
    rest = len(lines[limit:]) if limit is not None else 0
    return "".join(lines[:limit]) + (f"\n... {rest} lines left out of {len(lines)}\n" if rest else "")


def read_by_counting(text, limit=None):
    total = text.count("\n") + (not text.endswith("\n"))
    if limit is None or total <= limit:
        return text.rstrip("\n") if not text.endswith("\n\n") else text
    end = -1
    for _ in range(limit):
        end = text.index("\n", end + 1)
    return text[: end + 1] + f"({total - limit} lines follow)"


def read_original(text, limit=None):
    lines = text.splitlines()
    if limit and limit < len(lines):
        lines = lines[:limit]
    return "\n".join(lines)[:50000]


def read_splitlines(text, limit=None):
    lines = text.splitlines()
    if limit is None or limit >= len(lines):
        return text
    return "\n".join(lines[:limit]) + f"\n[{len(lines) - limit} more lines]"


def read_one_too_many(text, limit=None):
    lines = text.split("\n")
    if limit is None or limit >= len(lines):
        return text
    return "\n".join(lines[:limit]) + f"\n[{len(lines) - limit} more lines]"


def read_limit_or_all(text, limit=None):
    lines = text.removesuffix("\n").split("\n")
    limit = limit or len(lines)
    rest = len(lines) - limit
    return "\n".join(lines[:limit]) + (f"\n[{rest} more lines]" if rest > 0 else "")


def read_says_truncated(text, limit=None):
    lines = text.removesuffix("\n").split("\n")
    if limit is None or limit >= len(lines):
        return text
    return "\n".join([*lines[:limit], "[truncated]"])


def read_says_the_total(text, limit=None):
    lines = text.removesuffix("\n").split("\n")
    if limit is None or limit >= len(lines):
        return text
    return "\n".join([*lines[:limit], f"[{len(lines)} lines in all]"])


def read_says_zero(text, limit=None):
    lines = text.removesuffix("\n").split("\n")
    if limit is None or limit > len(lines):
        return text
    return "\n".join([*lines[:limit], f"[{len(lines) - limit} more lines]"])


def read_says_it_always(text, limit=None):
    lines = text.removesuffix("\n").split("\n")
    limit = len(lines) if limit is None else limit
    return "\n".join([*lines[:limit], f"[{max(len(lines) - limit, 0)} more lines]"])


def read_strips_the_end(text, limit=None):
    lines = text.strip().split("\n")
    if limit is None or limit >= len(lines):
        return text
    return "\n".join(lines[:limit]) + f"\n[{len(lines) - limit} more lines]"


def read_as_a_list(text, limit=None):
    lines = text.removesuffix("\n").split("\n")
    return lines[:limit] + ([f"[{len(lines) - limit} more lines]"] if limit and limit < len(lines) else [])


def read_first_word(text, limit=None):
    return read_by_split(" ".join(text.split()), limit)


def read_note_on_the_same_line(text, limit=None):
    lines = text.removesuffix("\n").split("\n")
    if limit is None or limit >= len(lines):
        return text
    return "\n".join(lines[:limit]) + f" [{len(lines) - limit} more lines]"


# ---- write


def write_encode_first(path, content):
    data = content.encode("utf-8")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return f"Wrote {len(data)} bytes to {path.name}"


def write_swap(path, content):
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
    before = path.read_bytes() if path.exists() else b""
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        return f"{path.write_bytes(b'') + path.write_bytes(content.encode())} bytes"
    except UnicodeEncodeError:
        path.write_bytes(before)
        raise


def write_original(path, content):
    path.write_text(content)
    return f"Wrote {len(content)} bytes to {path}"


def write_makes_folders_only(path, content):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content, encoding="utf-8")
    return f"Wrote {len(content.encode('utf-8'))} bytes"


def write_true_bytes(path, content):
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(content)
    return f"Wrote {path.stat().st_size} bytes"


def write_replaces_what_cannot_be(path, content):
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
    data = content.encode()
    path.parent.mkdir(parents=True, exist_ok=True)
    return path.write_bytes(data)


def write_utf_16(path, content):
    data = content.encode("utf-16")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return f"Wrote {len(data)} bytes"


def write_appends(path, content):
    data = content.encode()
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab") as file:
        file.write(data)
    return f"Wrote {len(data)} bytes"


def write_over(path, content):
    data = content.encode()
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("r+b" if path.exists() else "wb") as file:
        file.write(data)
    return f"Wrote {len(data)} bytes"


def write_one_folder(path, content):
    data = content.encode()
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(data)
    return f"Wrote {len(data)} bytes"


def write_leaves_a_draft(path, content):
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_suffix(".new")
    draft.write_text(content, encoding="utf-8", newline="") if os.name == "nt" else draft.write_bytes(b"")
    data = content.encode()
    draft.write_bytes(data)
    draft.replace(path)
    return f"Wrote {len(data)} bytes"


def write_says_nothing(path, content):
    data = content.encode()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def write_backup_stays(path, content):
    if path.exists():
        path.rename(path.with_suffix(".bak"))
    return write_encode_first(path, content)


# ---- edit


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


def edit_with_the_package(text, old, new):
    run_write("text.txt", text)
    run_edit("text.txt", old, new)
    return run_read("text.txt")


RIGHT_ANSWERS = {
    "read": [read_by_split, read_by_regex, read_by_counting],
    "write": [write_encode_first, write_swap, write_and_put_back, run_write],
    "edit": [edit_by_find, edit_by_places, edit_by_lookahead, edit_with_index, edit_with_the_package],
}

# A wrong answer, and a part of the sentence that must be the first to fail.
WRONG_ANSWERS = {
    "read": [
        (read_original, "says how many"),
        (read_splitlines, "only a newline"),
        (read_one_too_many, "says how many"),
        (read_limit_or_all, "a limit of 0"),
        (read_says_truncated, "says how many"),
        (read_says_the_total, "says how many"),
        (read_says_zero, "nothing is added"),
        (read_says_it_always, "all of the text"),
        (read_strips_the_end, "empty lines count"),
        (read_as_a_list, "all of the text"),
        (read_first_word, "all of the text"),
        (read_note_on_the_same_line, "with a limit"),
        (lambda text, limit: text, "with a limit"),
        (lambda text, limit: text[:limit], "with a limit"),
        (lambda text: text, "all of the text"),
    ],
    "write": [
        (write_puts_back_only_what_was_there, "makes no new one"),
        (write_original, "how many bytes"),
        (write_makes_folders_only, "leaves the old file"),
        (write_true_bytes, "leaves the old file"),
        (write_replaces_what_cannot_be, "half of a character"),
        (write_swallows, "half of a character"),
        (write_returns_a_number, "how many bytes"),
        (write_utf_16, "in UTF-8"),
        (write_appends, "in UTF-8"),
        (write_over, "an old file"),
        (write_one_folder, "missing folders"),
        (write_leaves_a_draft, "no other file"),
        (write_says_nothing, "how many bytes"),
        (write_backup_stays, "leaves the old file"),
        (lambda path, content: f"Wrote {len(content.encode())} bytes", "in UTF-8"),
    ],
    "edit": [
        (edit_original, "not there is a ValueError"),
        (edit_first_only, "an empty old"),
        (edit_count, "an empty old"),
        (edit_count_no_empty, "overlap"),
        (edit_all, "there twice"),
        (edit_regex, "plain text"),
        (edit_regex_escaped, "plain text"),
        (edit_by_lines, "the one place"),
        (edit_in_text_mode, "blanks and line ends"),
        (edit_stripped, "the one place"),
        (edit_refuses_deleting, "an empty new"),
        (edit_asserts, "not there is a ValueError"),
        (edit_returns_the_error, "not there is a ValueError"),
        (edit_returns_text_unchanged, "not there is a ValueError"),
        (edit_forgets_return, "the one place"),
        (lambda text, old, new: text.replace(old, new), "not there is a ValueError"),
    ],
}


test_a_right_answer_passes_twice = right(RIGHT_ANSWERS)
test_a_wrong_answer_fails_first_at_the_sentence_that_fits_it = wrong(WRONG_ANSWERS)
test_a_stub_says_not_yet = not_yet(RIGHT_ANSWERS)
