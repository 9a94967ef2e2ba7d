"""Answers that are almost right: each fails at its sentence. And right ones of a rare style: each passes."""

import base64
import os
import re
import subprocess
from pathlib import Path

import pytest
from answers import is_judged
from anthropic import beta_tool

from s02_tool_use import BASH_EXE, ToolError, normalize_messages, run_bash, run_glob, safe_path, workdir
from s02_tool_use.lab import check


def result_of(block, content, **more):
    return {"type": "tool_result", "tool_use_id": block.id, "content": content, **more}


def bash(end, nothing=b""):
    """A my_bash(command, timeout) whose last lines are `end(status)`; the status of one that is stopped is None."""

    def my_bash(command, timeout=120):
        try:
            done = subprocess.run(
                [BASH_EXE, "-c", command],
                cwd=workdir(),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                timeout=timeout,
            )
            raw, status = done.stdout, done.returncode
        except subprocess.TimeoutExpired as error:
            raw, status = error.output or nothing, None
        return raw.decode("utf-8", "replace") + "\n" + end(status)

    return my_bash


def run_tool(marks):
    def my_run_tool(block, handlers):
        if block.name not in handlers:
            return result_of(block, f"no tool {block.name}", is_error=True)
        try:
            said = handlers[block.name](**block.input)
        except Exception as error:
            return result_of(block, f"{type(error).__name__}: {error}", is_error=True)
        return result_of(block, said, is_error=marks(said))

    return my_run_tool


def counting(holds):
    def my_count_lines(path, pattern=""):
        with safe_path(path).open(encoding="utf-8", errors="replace", newline="\n") as file:
            return str(sum(int(holds(pattern, line)) for line in file))

    return my_count_lines


def write_with_a_copy(path, content):
    raw, target = content.encode(), workdir() / path
    target.parent.mkdir(parents=True, exist_ok=True)
    if target.exists():
        target.replace(target.with_suffix(".bak"))
    target.write_bytes(raw)
    return f"{len(raw)} bytes"


def walk(most):
    def my_walk(p):
        here, links, todo = workdir(), 0, list(reversed(Path(p).parts))
        while todo:
            part = todo.pop()
            here = here.parent if part == ".." else here / part
            if part != ".." and here.is_symlink():
                links += 1
                if links > most:
                    raise ValueError("too many links")
                todo += reversed(here.readlink().parts)
                here = here.parent
        if not here.is_relative_to(workdir()):
            raise ValueError(f"{p} leads outside")
        return here

    return my_walk


def results_first_once_each(content):
    blocks = sorted(content, key=lambda block: block["type"] != "tool_result")
    return [block for place, block in enumerate(blocks) if block not in blocks[:place]]


def marking_loop(client, model, messages, tools, run):
    for _ in range(10):
        reply = client.messages.create(model=model, max_tokens=8000, tools=tools, messages=messages)
        messages.append({"role": "assistant", "content": reply.content})
        calls = [block for block in reply.content if block.type == "tool_use"]
        if not calls:
            return reply
        cut = reply.stop_reason == "max_tokens"
        results = [result_of(call, "cut off") if cut else run(call) for call in calls]
        messages.append({"role": "user", "content": [{**result, "is_error": True} for result in results]})
    return reply


@beta_tool
def picture_from_anywhere(path: str):
    """Show the picture in a file."""
    data = (workdir() / path).read_bytes()
    starts = {"png": b"\x89PNG", "jpeg": b"\xff\xd8\xff", "gif": b"GIF8"}
    kind = next((kind for kind, start in starts.items() if data.startswith(start)), None)
    if kind is None:
        raise ToolError("no picture")
    source = {"type": "base64", "media_type": f"image/{kind}", "data": base64.b64encode(data).decode()}
    return [{"type": "image", "source": source}]


STOPPED = "and the result says that it was stopped"
COUNTS, HOLDS = "it counts the lines of a file", "with a pattern, it counts only the lines"


@pytest.mark.parametrize(
    ("name", "answer", "sentence"),
    [
        (
            "tool_result",
            lambda block, output: result_of(block, output, is_error="error" in output),
            "the output of a tool is not marked as an error",
        ),
        ("run_tool", run_tool(lambda said: "error" in said.lower()), "a normal result is not marked as an error"),
        ("bash_tool", bash(lambda status: "" if status is None else f"[exit status {status}]"), STOPPED),
        ("bash_tool", bash(lambda status: f"[exit status {status or 0}]"), STOPPED),
        ("bash_tool", bash(lambda status: "[stopped]\n" * (status is None) + f"[exit status {status or 0}]"), STOPPED),
        ("bash_tool", bash(lambda status: f"[{status}]", nothing=None), "a command that takes too long is stopped"),
        ("count_lines", counting(lambda pattern, line: pattern in line and line.strip() != ""), COUNTS),
        ("count_lines", counting(lambda pattern, line: line.count(pattern) if pattern else 1), HOLDS),
        ("count_lines", counting(lambda pattern, line: pattern.lower() in line.lower()), HOLDS),
        ("count_lines", counting(lambda pattern, line: re.search(pattern, line) is not None), HOLDS),
        ("count_lines", counting(lambda pattern, line: True), HOLDS),
        ("write", write_with_a_copy, "no other file is left behind"),
        ("results_first", results_first_once_each, "no block is lost, doubled or changed"),
        ("limit", marking_loop, "all results of a reply are in one message, in the order of the calls"),
        ("picture", picture_from_anywhere, "so is a path that leads outside"),
    ],
)
def test_an_answer_that_is_almost_right_fails_at_its_sentence(name, answer, sentence):
    is_judged(name)
    first = next(line for line in getattr(check, name)(answer).lines if line.verdict == "wrong")
    assert first.sentence.startswith(sentence)


@pytest.mark.skipif(os.name == "nt", reason="there the properties about links are left out")
def test_a_walk_that_follows_39_links_alone_fails_and_one_that_follows_40_passes():
    verdict = check.walk(walk(39))
    assert [line.sentence for line in verdict.lines if line.verdict == "wrong"] == ["41 links on one path are too many"]
    assert check.walk(walk(40))


@pytest.mark.parametrize("more", [["end_turn"], ["end_turn", "end_turn"]])
def test_more_answers_than_there_are_questions_are_one_sentence(more):
    verdict = check.stop_reason(["tool_use", "end_turn", "max_tokens", *more])
    assert not verdict
    assert str(verdict).endswith(f"which are {3 + len(more)}.")


def test_an_iterator_where_a_list_is_asked_for_is_one_sentence():
    assert "generator" in str(check.stop_reason(word for word in ["tool_use", "end_turn", "max_tokens"])).split("\n")[0]


def test_a_string_that_may_be_none_is_a_string():
    @beta_tool
    def my_count_lines(path: str, pattern: str | None = None) -> str:
        """统计文件中包含某个字符串的行数。"""
        with safe_path(path).open("rb") as file:
            return str(sum((pattern or "").encode() in line for line in file))

    assert check.beta_tool(my_count_lines)


@pytest.mark.parametrize(
    ("name", "theirs"),
    [("bash_tool", run_bash), ("names", run_glob), ("normalize", normalize_messages), ("walk", safe_path)],
)
def test_a_pass_by_the_packages_own_function_is_said(name, theirs):
    is_judged(name)
    verdict = getattr(check, name)(lambda *given: theirs(*given))
    assert verdict.passed
    assert f"it calls the package's {theirs.__name__}" in str(verdict)
