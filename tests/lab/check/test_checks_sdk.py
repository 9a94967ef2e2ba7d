"""The checks of 08: right answers pass, plausible wrong ones fail with the fitting sentence, a stub says "not yet"."""

import base64

import pytest
from anthropic import beta_async_tool, beta_tool

from s02_tool_use import ToolError, run_read, safe_path
from s02_tool_use.lab import check
from s02_tool_use.lab.check.exercise import NOT_YET, WRONG
from s02_tool_use.lab.check.exercises.sdk import PNG


@pytest.fixture(autouse=True)
def no_progress_file(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)


def lines_of(path):
    return safe_path(path).read_bytes().decode().split("\n")[:-1]


def count(path, pattern=""):
    return str(sum(pattern in line for line in lines_of(path)))


def make(name="count_lines", doc="Count the lines of a file that contain a text.", types=("str", "str"), default=True):
    """A decorated function, written as a learner might: from source, so that the annotations vary."""
    start = ' = ""' if default else ""
    kinds = [f": {kind}" if kind else "" for kind in types]
    head = f"def {name}(path{kinds[0]}, pattern{kinds[1]}{start}) -> str:"
    source = f'{head}\n    """{doc}"""\n    return count(path, pattern)'
    scope = {"count": count}
    exec(source, scope)
    return scope[name]


@beta_tool(name="lines_with", description="How many lines of a text file hold a text?")
def by_arguments(path: str, pattern: str = "") -> str:
    with open(safe_path(path), encoding="utf-8", newline="\n") as file:
        return str(len([line for line in file if pattern in line]))


@beta_tool
def from_bytes(path: str, pattern: str = "") -> str:
    """Count the lines of a file in which a pattern stands."""
    with safe_path(path).open("rb") as file:
        return str(sum(1 for line in file if pattern.encode() in line))


def sentences(verdict, kind=WRONG):
    return [line.sentence for line in verdict.lines if line.verdict == kind]


@pytest.mark.parametrize(
    "tool", [beta_tool(make()), by_arguments, from_bytes], ids=["from the docstring", "from arguments", "bytes"]
)
def test_a_right_tool_passes(tool):
    assert check.beta_tool(tool).passed


@beta_tool
def counts_all(path: str, pattern: str = "") -> str:
    """Count the lines of a text file."""
    return str(len(lines_of(path)))


@beta_tool
def gives_a_list(path: str, pattern: str = "") -> str:
    """Count the lines of a text file that contain a text."""
    return [line for line in lines_of(path) if pattern in line]


@beta_tool
def counts_what_is_shown(path: str, pattern: str = "") -> str:
    """Count the lines of a text file that contain a text."""
    return str(sum(pattern in line for line in run_read(path).split("\n")))


@beta_tool
def splits_lines(path: str, pattern: str = "") -> str:
    """Count the lines of a text file that contain a text."""
    return str(sum(pattern in line for line in safe_path(path).read_text("utf-8").splitlines()))


WRONG_TOOLS = {
    "a plain function": (make(), "it is a tool of the SDK"),
    "no docstring": (beta_tool(make(doc="")), "its description says what it does"),
    "a one-word docstring": (beta_tool(make(doc="Counts.")), "its description says what it does"),
    "path as int": (beta_tool(make(types=("int", "str"))), "path and pattern are strings"),
    "no annotations": (beta_tool(make(types=("", ""))), "path and pattern are strings"),
    "pattern without default": (beta_tool(make(default=False)), "what has no default is required: only path"),
    "pattern ignored": (counts_all, "it counts the lines that contain the pattern"),
    "of what run_read shows": (counts_what_is_shown, "of a long file it counts every line"),
    "splitlines": (splits_lines, "only a newline ends a line"),
    "lines instead of their number": (gives_a_list, "it counts the lines that contain the pattern"),
}


@pytest.mark.parametrize(("tool", "sentence"), WRONG_TOOLS.values(), ids=WRONG_TOOLS)
def test_a_wrong_tool_fails_with_the_sentence_that_fits(tool, sentence):
    assert sentence in sentences(check.beta_tool(tool))


def test_an_asynchronous_tool_is_not_taken_for_a_right_one():
    @beta_async_tool
    async def later(path: str, pattern: str = "") -> str:
        """Count the lines of a text file that contain a text."""
        return count(path, pattern)

    verdict = check.beta_tool(later)
    assert "it counts the lines that contain the pattern" in sentences(verdict)


RIGHT = ["both", "both", "both", "both", "both", "ours", "ours", "sdk"]


@pytest.mark.parametrize(
    "answers",
    [RIGHT, tuple(RIGHT), dict(enumerate(RIGHT)), [word.upper() for word in RIGHT]],
    ids=["list", "tuple", "dict", "capitals"],
)
def test_right_duties_pass_however_they_are_written(answers):
    assert check.differences(answers).passed


@pytest.mark.parametrize("number", range(8))
def test_each_wrong_duty_fails_under_its_own_line(number):
    answers = list(RIGHT)
    answers[number] = "both" if RIGHT[number] != "both" else "sdk"
    assert sentences(check.differences(answers)) == [check.DUTIES[number]]


@pytest.mark.parametrize("stub", [None, [None] * 8, []], ids=repr)
def test_unfilled_duties_are_not_yet(stub):
    assert len(sentences(check.differences(stub), NOT_YET)) == 8


def test_an_unfilled_tool_is_not_yet():
    assert len(sentences(check.beta_tool(None), NOT_YET)) == 8
    assert len(sentences(check.picture(None), NOT_YET)) == 10


# ---- my_picture

KINDS = {b"\x89PNG": "image/png", b"\xff\xd8\xff": "image/jpeg", b"GIF8": "image/gif"}


def kind_of(data, path=""):
    return next((kind for start, kind in KINDS.items() if data.startswith(start)), None)


def picture_by(*, read=lambda path: safe_path(path).read_bytes(), kind=kind_of, none=True, give=None):
    """A my_picture, put together from parts that an answer may get wrong."""

    def my_picture(path: str) -> list:
        """Look at a picture of the workspace."""
        data = read(path)
        found = kind(data, path)
        if found is None and none:
            raise ToolError(f"{path!r} is no picture")
        source = {"type": "base64", "media_type": found, "data": base64.b64encode(data).decode()}
        return (give or (lambda source: [{"type": "image", "source": source}]))(source)

    return my_picture


@beta_tool
def by_the_sdk(path: str) -> list:
    """Look at a picture.

    Args:
        path: The file.
    """
    with open(safe_path(path), "rb") as file:
        data = file.read()
    if data[:8] == b"\x89PNG\r\n\x1a\n":
        kind = "image/png"
    elif data[:2] == b"\xff\xd8":
        kind = "image/jpeg"
    elif data[:6] in (b"GIF87a", b"GIF89a"):
        kind = "image/gif"
    else:
        raise ValueError(f"{path}: not a picture")
    source = {"type": "base64", "media_type": kind, "data": base64.standard_b64encode(data).decode("ascii")}
    return [{"type": "text", "text": path}, {"type": "image", "source": source}]


@beta_async_tool
async def in_its_own_time(path: str) -> list:
    """Look at a picture."""
    return picture_by()(path)


@pytest.mark.parametrize("right", [picture_by(), by_the_sdk, in_its_own_time], ids=["function", "SDK", "async"])
def test_a_right_picture_passes(right):
    assert check.picture(right).passed, check.picture(right)


def by_name(data, path):
    return {"png": "image/png", "jpg": "image/jpeg", "gif": "image/gif"}[path[-3:]]


def no_path(file: str) -> list:
    """Look at a picture."""
    return picture_by()(file)


def with_more(path: str, kind: str) -> list:
    """Look at a picture."""
    return picture_by()(path)


PNG_BACK, JPEG_BACK, GIF_BACK, BYTES_COUNT, SENT, TEXT, EMPTY, MISSING, OUTSIDE = [
    "a PNG comes back as an image block",
    "a JPEG as a JPEG",
    "a GIF as a GIF",
    "the bytes count, not the name",
    "the API accepts the tool and its result",
    "text is not a picture, whatever the file is called",
    "nor is an empty file",
    "a missing file is an error",
    "so is a path that leads outside",
]
ONE_ARGUMENT = "it takes one argument, path, a string"
WRONG_PICTURES = {
    "another argument": (no_path, ONE_ARGUMENT),
    "one argument more": (with_more, ONE_ARGUMENT),
    "PNG alone": (picture_by(kind=lambda data, path: "image/png" if data[:4] == b"\x89PNG" else None), JPEG_BACK),
    "no GIF": (
        picture_by(kind=lambda data, path: {b"\x89P": "image/png", b"\xff\xd8": "image/jpeg"}.get(data[:2])),
        GIF_BACK,
    ),
    "always PNG": (picture_by(kind=lambda data, path: "image/png"), JPEG_BACK),
    "by the name": (picture_by(kind=by_name), BYTES_COUNT),
    "the base64 as text": (picture_by(give=lambda source: source["data"]), PNG_BACK),
    "the source alone": (picture_by(give=lambda source: [source]), PNG_BACK),
    "the bytes of another file": (picture_by(read=lambda path: safe_path(path).read_bytes() and PNG), JPEG_BACK),
    "everything is a picture": (picture_by(kind=lambda data, path: kind_of(data) or "image/png"), TEXT),
    "an empty file too": (picture_by(kind=lambda data, path: kind_of(data) or (None if data else "image/png")), EMPTY),
    "an error as a result": (lambda path: "no picture", ONE_ARGUMENT),
    "nothing where there is none": (
        picture_by(read=lambda path: safe_path(path).read_bytes() if safe_path(path).exists() else PNG),
        MISSING,
    ),
    "any path": (picture_by(read=lambda path: PNG if ".." in path else safe_path(path).read_bytes()), OUTSIDE),
}


@pytest.mark.parametrize(("wrong", "sentence"), WRONG_PICTURES.values(), ids=WRONG_PICTURES)
def test_a_wrong_picture_fails_with_the_sentence_that_fits(wrong, sentence):
    assert sentence in sentences(check.picture(wrong)), check.picture(wrong)
