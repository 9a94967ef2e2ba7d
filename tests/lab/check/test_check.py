"""Each check: right answers pass, plausible wrong ones fail with the sentence that fits, a stub says "not yet"."""

import importlib
import io
import itertools
import json
import os
import re
import shlex
import subprocess
import tempfile
from pathlib import Path

import pytest
from answers import is_judged, right, wrong

from s02_tool_use import BASH_EXE, TOOL_HANDLERS, TOOLS, run_bash, run_read, run_tool, safe_path, workdir
from s02_tool_use.lab import check
from s02_tool_use.lab.check import record
from s02_tool_use.lab.check.exercise import NOT_YET, WRONG, Exercise

NOTEBOOKS = Path(__file__).resolve().parents[3] / "notebooks"


def result_of(block, output, **more):
    return {"type": "tool_result", "tool_use_id": block.id, "content": output, **more}


# ---- right answers, at least two of each, written differently


def tool_result_as_dict_call(block, output):
    result = dict(type="tool_result", tool_use_id=block.id)  # noqa: C408
    result["content"] = output
    return result


def answers_in_a_loop(content, run):
    message = {"content": [], "role": "user"}
    for block in content:
        if block.type != "tool_use":
            continue
        message["content"].append(result_of(block, run(block)))
    return message


def answers_by_filter(content, run):
    return {
        "role": "user",
        "content": list(map(lambda b: result_of(b, run(b)), filter(lambda b: hasattr(b, "input"), content))),  # noqa: C417
    }


def bash_one_stream(command):
    done = subprocess.run(
        command,
        shell=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )
    return done.stdout + (f"[exit status {done.returncode}]" if done.returncode else "")


def bash_two_streams(command):
    try:
        done = subprocess.run(["sh", "-c", command], capture_output=True, input=b"", timeout=4)
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"Error: {error}"
    out, err = (stream.decode(errors="backslashreplace") for stream in (done.stdout, done.stderr))
    return f"{out}\n{err}\nexit {done.returncode}"


def bash_by_popen(command):
    pipe = subprocess.PIPE
    with subprocess.Popen([BASH_EXE, "-c", command], stdin=pipe, stdout=pipe, stderr=pipe) as process:
        said = b"".join(process.communicate())
    return ("ok: " if process.returncode == 0 else f"failed with {process.returncode}: ") + str(said, "utf-8", "ignore")


def bash_tool_in_time(command, timeout=120):
    try:
        done = subprocess.run(
            [BASH_EXE, "-c", command],
            cwd=workdir(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=timeout,
        )
        said, ending = done.stdout, f"exit status {done.returncode}"
    except subprocess.TimeoutExpired as error:
        said, ending = error.output or b"", f"timed out after {timeout} s"
    return f"{said.decode(errors='replace')}\n[{ending}]"


def bash_tool_by_popen(command, timeout=60.0):
    process = subprocess.Popen(
        command,
        shell=True,
        cwd=str(workdir()),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    try:
        out, _ = process.communicate(timeout=timeout)
        status = f"Status: {process.returncode}"
    except subprocess.TimeoutExpired:
        process.kill()
        out, _ = process.communicate()
        status = "超时，已终止"
    return "\n".join([status, out.decode("utf-8", "replace")])


def bash_tool_through_a_file(command, timeout=5):
    with tempfile.TemporaryFile() as file:
        streams = {"stdin": subprocess.DEVNULL, "stdout": file, "stderr": file}
        process = subprocess.Popen([BASH_EXE, "-c", command], cwd=workdir(), **streams)
        try:
            ending = process.wait(timeout)
        except subprocess.TimeoutExpired:
            process.kill()
            ending = process.wait()
        file.seek(0)
        return f"{file.read().decode(errors='replace').rstrip()}\n({ending})"


def run_tool_look_first(block, handlers):
    result = {"type": "tool_result", "tool_use_id": block.id}
    handler = handlers.get(block.name)
    if handler is None:
        return {**result, "content": f"Unknown tool: {block.name}", "is_error": True}
    try:
        return {**result, "content": handler(**block.input)}
    except Exception as error:
        return {**result, "content": f"{type(error).__name__}: {error}", "is_error": True}


def run_tool_say_false(block, handlers):
    failed = True
    if block.name not in handlers:
        content = f"There is no tool {block.name}, only {sorted(handlers)}"
    else:
        try:
            content = str(handlers[block.name](**block.input))
            failed = False
        except BaseException as error:
            content = repr(error)
    return result_of(block, content, is_error=failed)


def run_tool_in_blocks(block, handlers):
    result = run_tool_look_first(block, handlers)
    return result | {"content": [{"type": "text", "text": result["content"]}]}


def output_by_a_table(call):
    handlers = {"bash": run_bash, "read_file": run_read}
    return handlers[call.name](**call.input)


def output_by_the_packages_table(call):
    return TOOL_HANDLERS.get(call.name)(**dict(call.input))


def output_by_a_chain(call):
    if call.name == "bash":
        return run_bash(**call.input)
    return run_read(**call.input)


def lines_by_the_file(path, pattern=""):
    with safe_path(path).open(encoding="utf-8", errors="replace") as file:
        return str(sum(pattern in line for line in file))


def lines_by_bytes(path, pattern=""):
    *lines, last = safe_path(path).read_bytes().decode(errors="replace").split("\n")
    return len([line for line in [*lines, *([last] if last else [])] if pattern in line])


def lines_in_a_sentence(path, pattern=None):
    found = re.findall(r"[^\n]*\n|[^\n]+", safe_path(path).read_text("utf-8"))
    return f"{sum(not pattern or pattern in line for line in found)} lines"


def lines_with_a_comma(path, pattern=""):
    """The lines, and of how many."""
    with safe_path(path).open("rb") as file:
        lines = [line.decode(errors="replace") for line in file]
    return f"{len([line for line in lines if pattern in line]):,} of {len(lines):,}"


SCHEMA = {
    "name": "count_lines",
    "description": "Count the lines of a text file.",
    "input_schema": {
        "type": "object",
        "properties": {"path": {"type": "string"}, "pattern": {"type": "string"}},
        "required": ["path"],
    },
}
WORDY = {
    "type": "custom",
    "name": "count_lines",
    "description": "Zeilen zählen, 行数を数える",
    "input_schema": {
        "required": ["path"],
        "additionalProperties": False,
        "properties": {
            "pattern": {"type": "string", "description": "Only lines with this in them.", "default": ""},
            "path": {"type": "string", "description": "The file."},
        },
        "type": "object",
    },
}


NULLABLE = {
    "name": "count_lines",
    "description": "Counts lines",
    "input_schema": {
        "type": "object",
        "properties": {"path": {"type": ["string"]}, "pattern": {"type": ["string", "null"], "title": "Pattern"}},
        "required": ("path",),
    },
}


def count_lines(path, pattern=""):
    return str(sum(pattern in line for line in run_read(path).splitlines()))


def count_by_hand(path, pattern=""):
    return f"{len([line for line in run_read(path).split(chr(10)) if pattern in line and line])} lines"


RIGHT_ANSWERS = {
    "stop_reason": [
        (["tool_use", "end_turn", "max_tokens"],),
        ({"first": "tool_use", "second": "end_turn", "third": "max_tokens"},),
    ],
    "tool_result": [(result_of,), (tool_result_as_dict_call,), (lambda b, o: result_of(b, o, is_error=False),)],
    "answer_all": [(answers_in_a_loop,), (answers_by_filter,)],
    "bash": [(bash_one_stream,), (bash_two_streams,), (bash_by_popen,), (run_bash,)],
    "bash_tool": [(bash_tool_in_time,), (bash_tool_by_popen,), (bash_tool_through_a_file,), (run_bash,)],
    "run_tool": [(run_tool_look_first,), (run_tool_say_false,), (run_tool_in_blocks,), (run_tool,)],
    "handlers": [(output_by_a_table,), (output_by_the_packages_table,), (output_by_a_chain,)],
    "schema": [(SCHEMA,), (WORDY,), ({**SCHEMA, "description": "统计文件的行数"},), (NULLABLE,)],
    "count_lines": [(lines_by_the_file,), (lines_by_bytes,), (lines_in_a_sentence,), (lines_with_a_comma,)],
    "added_tool": [
        ([*TOOLS, SCHEMA], {**TOOL_HANDLERS, "count_lines": count_lines}),
        ([WORDY, *TOOLS], dict(TOOL_HANDLERS, count_lines=count_by_hand)),
    ],
}

# ---- wrong answers, and a part of the sentence that must be the first to fail


def wrong_run_tool(**changes):
    """run_tool_look_first with something changed in its results."""

    def yours(block, handlers):
        return run_tool_look_first(block, handlers) | changes

    return yours


def answers_one_message_each(content, run):
    return [{"role": "user", "content": [result_of(b, run(b))]} for b in content if b.type == "tool_use"]


def answers_first_only(content, run):
    block = next(b for b in content if b.type == "tool_use")
    return {"role": "user", "content": [result_of(block, run(block))]}


def answers_last_block(content, run):
    return {"role": "user", "content": [result_of(content[-1], run(content[-1]))]}


def answers_with_text(content, run):
    message = answers_in_a_loop(content, run)
    message["content"].insert(0, {"type": "text", "text": "Here are the results:"})
    return message


def answers_backwards(content, run):
    message = answers_in_a_loop(content, run)
    message["content"].reverse()
    return message


def answers_text_too(content, run):
    return {"role": "user", "content": [result_of(b, run(b)) if b.type == "tool_use" else b for b in content]}


def answers_run_twice(content, run):
    for block in content:
        if block.type == "tool_use":
            run(block)
    return answers_in_a_loop(content, run)


def answers_one_output(content, run):
    message = answers_in_a_loop(content, run)
    for block in message["content"]:
        block["content"] = message["content"][0]["content"]
    return message


def answers_with(content, run, **more):
    message = answers_in_a_loop(content, run)
    message["content"] = [result | more for result in message["content"]]
    return message


def answers_as_assistant(content, run):
    return {**answers_in_a_loop(content, run), "role": "assistant"}


def answers_without_a_message(content, run):
    return answers_in_a_loop(content, run)["content"]


def naive_bash(command):
    return subprocess.run(command, shell=True, capture_output=True, text=True).stdout


def bash_no_status(command):
    done = subprocess.run(command, shell=True, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    return done.stdout + done.stderr


def bash_bytes(command):
    return subprocess.run(command, shell=True, stdin=subprocess.DEVNULL, capture_output=True).stdout


def bash_raises(command):
    return subprocess.run(
        command, shell=True, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True
    ).stdout


def bash_without_a_shell(command):
    done = subprocess.run(shlex.split(command), stdin=subprocess.DEVNULL, capture_output=True, text=True)
    return done.stdout + done.stderr + str(done.returncode)


def bash_waits(command):
    done = subprocess.run(command, shell=True, capture_output=True, text=True)
    return f"{done.stdout}{done.stderr}[exit status {done.returncode}]"


def bash_popen(command):
    return os.popen(command).read()


def bash_says_failed(command):
    done = subprocess.run(command, shell=True, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    return done.stdout + done.stderr + (f"failed: {command}" if done.returncode else "")


def bash_tuple(command):
    done = subprocess.run(command, shell=True, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    return done.stdout, done.stderr, done.returncode


def bash_returning(command, text):
    """bash_one_stream with something else in the place of its answer."""
    done = subprocess.run(command, shell=True, stdin=subprocess.DEVNULL, capture_output=True)
    out, err = (stream.decode(errors="replace") for stream in (done.stdout, done.stderr))
    return text(out, err, done.returncode)


def bash_answering(text):
    return lambda command: bash_returning(command, text)


def bash_decoded(command, *how):
    done = subprocess.run(
        command, shell=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    return f"{done.stdout.decode(*how)}[{done.returncode}]"


def bash_tool_changed(**changes):
    """bash_tool_in_time with other arguments of subprocess.run, or another timeout."""

    def yours(command, timeout=120):
        settings = {"cwd": workdir(), "timeout": timeout, "stdin": subprocess.DEVNULL} | changes
        streams = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
        done = subprocess.run([BASH_EXE, "-c", command], **streams, **settings)
        return f"{done.stdout.decode()}\n[exit status {done.returncode}]"

    return yours


def bash_tool_without_or(command, timeout=120):
    """The page's own tool, but for a command that says nothing until it is stopped."""
    settings = {"cwd": workdir(), "stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    try:
        done = subprocess.run([BASH_EXE, "-c", command], timeout=timeout, **settings)
        said, ending = done.stdout, f"exit status {done.returncode}"
    except subprocess.TimeoutExpired as error:
        said, ending = error.output, f"timed out after {timeout} s"
    return f"{said.decode(errors='replace')}\n[{ending}]"


def bash_tool_ending(late, end="\n[exit status {}]"):
    """bash_tool_in_time that answers `late` when the time is over."""

    def yours(command, timeout=120):
        try:
            done = subprocess.run(
                [BASH_EXE, "-c", command],
                cwd=workdir(),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                timeout=timeout,
            )
        except subprocess.TimeoutExpired as error:
            return late((error.output or b"").decode())
        return done.stdout.decode() + end.format(done.returncode)

    return yours


EVERYTHING = "42 18 tea 1 5 caf au lait Zo\xeb no_such_command: not found green tea"


def run_tool_original_first(block, handlers):
    handler = handlers[block.name]
    output = handler(**block.input)
    return result_of(block, output)


def run_tool_original_second(block, handlers):
    handler = handlers.get(block.name)
    output = handler(**block.input) if handler else f"Unknown tool: {block.name}"
    return result_of(block, output)


def run_tool_catch_key_error(block, handlers):
    try:
        return result_of(block, handlers[block.name](**block.input))
    except KeyError:
        return result_of(block, f"Unknown tool: {block.name}", is_error=True)
    except Exception as error:
        return result_of(block, str(error), is_error=True)


def run_tool_catch_key_error_and_say_it(block, handlers):
    try:
        return result_of(block, handlers[block.name](**block.input))
    except KeyError as error:
        return result_of(block, f"Unknown tool: {error}, {block.name}, {block.input}", is_error=True)
    except Exception as error:
        return result_of(block, str(error), is_error=True)


def run_tool_catch_key_error_and_list_the_tools(block, handlers):
    try:
        return result_of(block, handlers[block.name](**block.input))
    except KeyError:
        there = ", ".join(handlers)
        return result_of(block, f"No tool {block.name} for {block.input}; there are {there}", is_error=True)
    except Exception as error:
        return result_of(block, str(error), is_error=True)


def run_tool_by_position(block, handlers):
    if block.name not in handlers:
        return result_of(block, f"Unknown tool: {block.name}", is_error=True)
    try:
        return result_of(block, handlers[block.name](*block.input.values()))
    except Exception as error:
        return result_of(block, str(error), is_error=True)


def run_tool_dict_as_argument(block, handlers):
    if block.name not in handlers:
        return result_of(block, f"Unknown tool: {block.name}", is_error=True)
    try:
        return result_of(block, handlers[block.name](block.input))
    except Exception as error:
        return result_of(block, str(error), is_error=True)


def run_tool_only_value_errors(block, handlers):
    if block.name not in handlers:
        return result_of(block, f"Unknown tool: {block.name}", is_error=True)
    try:
        return result_of(block, handlers[block.name](**block.input))
    except ValueError as error:
        return result_of(block, str(error), is_error=True)


def run_tool_says_just_error(block, handlers):
    try:
        return result_of(block, handlers[block.name](**block.input))
    except Exception:
        return result_of(block, "Error", is_error=True)


def run_tool_error_as_content(block, handlers):
    handler = handlers.get(block.name)
    if handler is None:
        return result_of(block, f"Unknown tool: {block.name}", is_error=True)
    try:
        return result_of(block, handler(**block.input))
    except Exception as error:
        return result_of(block, error, is_error=True)


def run_tool_marks_what_is_short(block, handlers):
    result = run_tool_look_first(block, handlers)
    return {**result, "is_error": len(result["content"]) < 100}


def run_tool_returns_text(block, handlers):
    try:
        return result_of(block, handlers[block.name](**block.input))
    except Exception as error:
        return f"Error: {error}"


def run_tool_the_packages_own_map(block, handlers):
    return run_tool(block)


def output_hardcoded(call):
    return run_bash(call.input["command"])


def output_dropping_limits(call):
    return run_bash(call.input["command"]) if call.name == "bash" else run_read(call.input["path"])


def output_by_position(call):
    return TOOL_HANDLERS[call.name](*call.input.values())


def output_of_a_dict(call):
    return TOOL_HANDLERS[call.name](call.input)


def output_not_called(call):
    return TOOL_HANDLERS[call.name]


def output_as_a_result(call):
    return run_tool(call)


def lines_of_what_is_read(path, pattern=""):
    return str(sum(pattern in line for line in run_read(path).splitlines()))


def lines_split(path, pattern=""):
    return str(sum(pattern in line for line in safe_path(path).read_text("utf-8").splitlines()))


def lines_with_any_file(path, pattern=""):
    with open(path, encoding="utf-8") as file:
        return str(sum(pattern in line for line in file))


def lines_counting_newlines(path, pattern=""):
    return str(sum(pattern in line for line in safe_path(path).read_text("utf-8").split("\n")[:-1]))


def lines_counting_an_empty_one(path, pattern=""):
    return str(sum(pattern in line for line in safe_path(path).read_text("utf-8").split("\n")))


def lines_all(path, pattern=""):
    return lines_by_the_file(path)


def lines_counting_matches(path, pattern=""):
    return str(safe_path(path).read_text("utf-8").count(pattern or "\n"))


def lines_zero_if_missing(path, pattern=""):
    try:
        return lines_by_the_file(path, pattern)
    except OSError:
        return "0"


def lines_of_a_limit(path, pattern=""):
    with safe_path(path).open(encoding="utf-8") as file:
        return str(sum(pattern in line for line in itertools.islice(file, 10_000)))


def changed(schema, **changes):
    """A copy of a schema with its input_schema changed."""
    return {**schema, "input_schema": {**schema["input_schema"], **changes}}


OPENAI = {"type": "function", "function": {"name": "count_lines", "parameters": SCHEMA["input_schema"]}}
PROPERTIES = SCHEMA["input_schema"]["properties"]
HANDLERS = {**TOOL_HANDLERS, "count_lines": count_lines}

WRONG_ANSWERS = {
    "stop_reason": [
        ((["end_turn", "end_turn", "max_tokens"],), "reply 1"),
        ((["tool_use", "stop", "max_tokens"],), "reply 2"),
        ((["tool_use", "end_turn", "end_turn"],), "reply 3"),
        ((["tool_use", "end_turn", "length"],), "reply 3"),
        ((["tool_use"],), "reply 2"),
        (("tool_use",), "reply 1"),
        (({"a": "tool_calls", "b": "end_turn", "c": "max_tokens"},), "reply 1"),
    ],
    "tool_result": [
        ((lambda block, output: {**result_of(block, output), "type": "tool_use"},), "its type"),
        ((lambda block, output: {"type": "tool_result", "id": block.id, "content": output},), "its tool_use_id"),
        ((lambda block, output: {**result_of(block, output), "tool_use_id": "toolu_01"},), "its tool_use_id"),
        ((lambda block, output: {**result_of(block, output), "tool_use_id": block.name},), "its tool_use_id"),
        ((lambda block, output: {**result_of(block, output), "content": output.strip()},), "its content"),
        ((lambda block, output: {**result_of(block, output), "content": output or "(no output)"},), "its content"),
        ((lambda block, output: {**result_of(block, output), "name": block.name},), "no other keys"),
        ((lambda block, output: {"role": "user", "content": [result_of(block, output)]},), "its type"),
        ((lambda block, output: {**result_of(block, output), "tool_use_id": block["id"]},), "its type"),
        ((lambda block, output: output,), "its type"),
        ((lambda block, output: result_of(block, output, is_error=True),), "not marked"),
        ((lambda block, output: result_of(block, output, is_error=not output),), "not marked"),
        ((lambda block, output: result_of(block, output, length=len(output)),), "no other keys"),
        ((lambda block, output: result_of(block, output) | ({} if output else {"empty": True}),), "no other keys"),
    ],
    "answer_all": [
        ((answers_one_message_each,), "one user message"),
        ((answers_without_a_message,), "one user message"),
        ((answers_as_assistant,), "one user message"),
        ((answers_first_only,), "every call"),
        ((answers_last_block,), "every call"),
        ((answers_backwards,), "every call"),
        ((answers_one_output,), "what run gave"),
        ((answers_with_text,), "it holds only results"),
        ((answers_text_too,), "every call"),
        ((answers_run_twice,), "run once"),
        ((lambda content, run: answers_with(content, run, is_error=True),), "marked as an error"),
        ((lambda content, run: answers_with(content, run, name="bash"),), "no result has other keys"),
        ((lambda content, run: answers_in_a_loop(content, run) | {"name": "results"},), "no result has other keys"),
    ],
    "bash": [
        ((naive_bash,), "stderr"),
        ((bash_popen,), "stderr"),
        ((bash_no_status,), "exit status"),
        ((bash_says_failed,), "exit status"),
        ((bash_bytes,), "as a string"),
        ((bash_tuple,), "as a string"),
        ((bash_raises,), "stderr"),
        ((bash_without_a_shell,), "as a string"),
        ((bash_waits,), "does not wait"),
        ((os.system,), "as a string"),
        ((lambda command: EVERYTHING,), "as a string"),
        ((lambda command: command,), "as a string"),
        ((bash_answering(lambda out, err, status: out or err + str(status)),), "stderr"),
        ((bash_answering(lambda out, err, status: f"{err}[exit status {status}]" if status else out + err),), "fails"),
        ((bash_answering(lambda out, err, status: f"{out}[exit status {status}]" if status else out + err),), "fails"),
        ((bash_answering(lambda out, err, status: out + err + "[exit status 1]" * bool(status)),), "exit status"),
        ((lambda command: bash_decoded(command),), "bytes"),
        ((lambda command: bash_decoded(command, "latin-1"),), "bytes"),
        ((lambda command: bash_decoded(command, "utf-8", "surrogateescape"),), "bytes"),
        ((lambda command: bash_decoded(command, "ascii", "replace"),), "bytes"),
        ((bash_answering(lambda out, err, status: f"{(out + err).encode()}[{status}]"),), "bytes"),
    ],
    "bash_tool": [
        ((bash_one_stream,), "of its own"),
        ((bash_tool_changed(),), "without an exception"),
        ((bash_tool_changed(timeout=None),), "without an exception"),
        ((bash_tool_changed(cwd=None),), "in the workspace"),
        ((bash_tool_changed(cwd=tempfile.gettempdir()),), "in the workspace"),
        ((bash_tool_ending(lambda out: out, end="[exit status {}]"),), "of its own"),
        ((bash_tool_ending(lambda out: "[timed out]"),), "until then"),
        ((lambda command, timeout=120: bash_two_streams(command),), "in the order"),
        ((bash_tool_ending(lambda out: ""),), "until then"),
        ((bash_tool_ending(lambda out: None),), "without an exception"),
        ((bash_tool_ending(lambda out: f"{out}\n[exit status 0]"),), "that it was stopped"),
        ((bash_tool_without_or,), "without an exception"),
        ((lambda command, timeout=120: bash_tool_in_time(command, timeout).replace("\ufffd", ""),), "leaves a sign"),
        ((bash_tool_ending(lambda out: out.encode()),), "without an exception"),
        ((lambda command, timeout=120: bash_one_stream(command),), "of its own"),
        ((lambda command, timeout: bash_tool_in_time(command, timeout),), "as before"),
        ((lambda command, timeout=120: EVERYTHING,), "of its own"),
    ],
    "run_tool": [
        ((run_tool_original_first,), "an unknown tool"),
        ((run_tool_original_second,), "an unknown tool"),
        ((run_tool_catch_key_error,), "a handler that fails"),
        ((run_tool_catch_key_error_and_say_it,), "a KeyError inside"),
        ((run_tool_catch_key_error_and_list_the_tools,), "a KeyError inside"),
        ((run_tool_by_position,), "under its own name"),
        ((run_tool_dict_as_argument,), "under its own name"),
        ((run_tool_only_value_errors,), "a missing argument"),
        ((run_tool_says_just_error,), "an unknown tool"),
        ((run_tool_returns_text,), "an unknown tool"),
        ((run_tool_the_packages_own_map,), "under its own name"),
        ((wrong_run_tool(is_error=True),), "not marked as an error"),
        ((wrong_run_tool(is_error="true"),), "not marked as an error"),
        ((wrong_run_tool(tool_use_id="toolu_01"),), "whatever happens"),
        ((wrong_run_tool(type="result"),), "whatever happens"),
        ((wrong_run_tool(name="shout"),), "the API accepts it"),
        ((wrong_run_tool(error=None),), "the API accepts it"),
        ((wrong_run_tool(content="text size oolong whisper TEA tea in green"),), "under its own name"),
        ((run_tool_error_as_content,), "the API accepts it"),
        ((run_tool_marks_what_is_short,), "not marked as an error"),
    ],
    "handlers": [
        ((output_hardcoded,), "read_file reads"),
        ((output_dropping_limits,), "under its own name"),
        ((output_by_position,), "under its own name"),
        ((output_of_a_dict,), "bash runs"),
        ((output_not_called,), "bash runs"),
        ((output_as_a_result,), "bash runs"),
        ((lambda call: "42 black tea mint\n",), "read_file reads"),
        ((lambda call: print(output_by_a_table(call)),), "bash runs"),
        ((lambda call: run_read(call.input["path"]),), "bash runs"),
    ],
    "count_lines": [
        ((lines_of_what_is_read,), "of a long file"),
        ((lines_split,), "only a newline"),
        ((lines_with_any_file,), "outside of the workspace"),
        ((lines_counting_newlines,), "a last line"),
        ((lines_counting_an_empty_one,), "counts the lines"),
        ((lines_all,), "hold it"),
        ((lines_counting_matches,), "hold it"),
        ((lines_zero_if_missing,), "does not exist"),
        ((lines_of_a_limit,), "of a long file"),
        ((lambda path, pattern="": "1, 3, 2, 0, 20000, 38",), "counts the lines"),
        ((lambda path, pattern="": print(lines_by_the_file(path, pattern)),), "counts the lines"),
        ((lambda path: lines_by_the_file(path),), "hold it"),
        ((lambda path, pattern="": lines_by_the_file(path, pattern) == "3",), "counts the lines"),
    ],
    "schema": [
        (({**SCHEMA, "name": "count-lines"},), "its name"),
        (({**SCHEMA, "description": "行"},), "its description"),
        (({**SCHEMA, "description": "zählt"},), "its description"),
        (({**SCHEMA, "description": ""},), "its description"),
        (({**SCHEMA, "description": "count_lines"},), "its description"),
        ((OPENAI,), "its name"),
        ((changed(SCHEMA, type="dict"),), "its input is an object"),
        ((changed(SCHEMA, properties={"path": {"type": "string"}}),), "the function's parameters"),
        ((changed(SCHEMA, properties={"path": {"type": "str"}, "pattern": {"type": "string"}}),), "path is"),
        ((changed(SCHEMA, properties={"path": "string", "pattern": "string"}),), "path is"),
        ((changed(SCHEMA, properties={"path": {"type": "string"}, "pattern": {"type": "array"}}),), "pattern is"),
        ((changed(SCHEMA, required=["path", "pattern"]),), "is required"),
        ((changed(SCHEMA, required=[]),), "is required"),
        (({k: v for k, v in SCHEMA.items() if k != "description"},), "its description"),
        (({**SCHEMA, "parameters": SCHEMA["input_schema"]},), "the API accepts it"),
    ],
    "added_tool": [
        (([SCHEMA], {"count_lines": count_lines}), "your_tools"),
        (([*TOOLS, SCHEMA], TOOL_HANDLERS), "your_handlers"),
        (([*TOOLS, SCHEMA, SCHEMA], HANDLERS), "your_tools"),
        (([*TOOLS, SCHEMA], {**TOOL_HANDLERS, "count": count_lines}), "your_handlers"),
        (([*TOOLS, SCHEMA], {**TOOL_HANDLERS, "count_lines": lambda path: count_lines(path)}), "the new tool works"),
        (([*TOOLS, SCHEMA], {**TOOL_HANDLERS, "count_lines": "count_lines"}), "the new tool works"),
        (([*TOOLS, SCHEMA], {**dict.fromkeys(TOOL_HANDLERS, len), "count_lines": count_lines}), "the old ones"),
        (([TOOLS, SCHEMA], HANDLERS), "your_tools"),
        (([*TOOLS, SCHEMA], {**TOOL_HANDLERS, "count_lines": lambda path, pattern="": "2"}), "what it is asked for"),
        (([*TOOLS, SCHEMA], {**TOOL_HANDLERS, "count_lines": lambda path, pattern="": "12"}), "the new tool works"),
    ],
}


@pytest.fixture
def impatient(monkeypatch):
    monkeypatch.setattr(check.bash, "deadline", 2.0)  # several wait for input that never comes


test_a_right_answer_passes_twice = right(RIGHT_ANSWERS, spread=True)
# A wrong answer may leave a file open, and a stopped one always does.
open_files = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
test_a_wrong_answer_fails_first_at_the_sentence_that_fits_it = pytest.mark.usefixtures("impatient")(
    open_files(wrong(WRONG_ANSWERS, spread=True))
)


def exercises():
    """Every exercise whose module is there, by name."""
    found = {}
    for module, names in check.NOTEBOOKS.values():
        try:
            home = importlib.import_module(f"s02_tool_use.lab.check.exercises.{module}")
        except ModuleNotFoundError:
            continue
        found |= {name: getattr(home, name) for name in names}
    return found


@pytest.mark.parametrize("name", RIGHT_ANSWERS)
def test_a_check_without_an_answer_says_not_yet(name):
    is_judged(name)
    for answer in [(), (None,), (...,), (None, None)]:
        verdict = getattr(check, name)(*answer)
        assert {line.verdict for line in verdict.lines} == {NOT_YET}


@pytest.mark.parametrize(
    "name", ["tool_result", "answer_all", "bash", "bash_tool", "handlers", "run_tool", "count_lines"]
)
def test_a_stub_says_not_yet(name):
    is_judged(name)

    def raises(*args):
        raise NotImplementedError

    def passes(*args):
        pass

    def dots(*args):
        return {"type": "tool_result", "tool_use_id": ..., "content": ...}

    for stub in (raises, passes, dots):
        verdict = getattr(check, name)(stub)
        assert {line.verdict for line in verdict.lines} == {NOT_YET}, repr(verdict)


@pytest.mark.parametrize(
    ("name", "answer"),
    [
        ("stop_reason", ([None] * 3,)),
        ("schema", ({},)),
        ("added_tool", (TOOLS, TOOL_HANDLERS)),
        ("added_tool", (TOOLS, HANDLERS)),
    ],
)
def test_a_value_as_the_notebook_ships_it_is_not_yet(name, answer):
    assert {line.verdict for line in getattr(check, name)(*answer).lines} == {NOT_YET}


def test_answers_that_are_still_open_are_not_yet_among_the_given_ones():
    lines = check.stop_reason(["tool_use", None, None]).lines
    assert [line.verdict for line in lines] == ["right", NOT_YET, NOT_YET]


def test_a_list_that_was_appended_to_is_found_and_the_package_keeps_working():
    TOOLS.append(SCHEMA)
    try:
        verdict = check.added_tool(TOOLS, HANDLERS)
    finally:
        TOOLS.remove(SCHEMA)
    assert [line.sentence for line in verdict.lines if line.verdict == WRONG][0].startswith("the package's own")


def test_every_check_has_a_name_in_the_list_and_a_help():
    for name, exercise in exercises().items():
        assert isinstance(exercise, Exercise)
        assert exercise.name == name
        assert name in exercise.__doc__
        assert name in dir(check)


def test_what_is_to_be_read_again_stands_in_that_section_of_the_notebook():
    for notebook, (_, names) in check.NOTEBOOKS.items():
        paths = sorted(NOTEBOOKS.glob(f"{notebook}_*.ipynb"))  # the learner's own, if kept, come later
        if not paths or names[0] not in exercises():
            continue
        cells = json.loads(paths[0].read_text(encoding="utf-8"))["cells"]
        prose = "\n".join("".join(c["source"]) + "\n" for c in cells if c["cell_type"] == "markdown")
        sections = dict(re.findall(r"^## (\d+)\.(.*?)(?=^## |\Z)", prose, re.M | re.S))
        for name in names:
            for prop in exercises()[name].properties:
                section, words = prop.read
                assert words in " ".join(sections[str(section)].split()), f"{notebook}, section {section}: {words}"


def test_an_unknown_check_is_named_with_those_that_exist():
    with pytest.raises(AttributeError, match="tool_result"):
        check.tool_results  # noqa: B018


def test_replies_are_three_contents():
    assert [block["type"] for reply in check.REPLIES for block in reply] == ["text", "tool_use", "text", "text"]


def test_for_splitlines_a_form_feed_and_seven_other_characters_end_a_line_and_for_a_file_they_do_not():
    ending = [chr(n) for n in range(0x110000) if not 0xD800 <= n < 0xE000 and len(f"a{chr(n)}b".splitlines()) > 1]
    assert sorted({*ending} - {"\n", "\r", "\f"}) == ["\v", "\x1c", "\x1d", "\x1e", "\x85", "\u2028", "\u2029"]
    assert len(list(io.StringIO("a" + "a".join({*ending} - {"\n", "\r"}), newline=None))) == 1


# ---- the reader's parts


def test_a_part_is_the_packages_until_its_check_has_passed(monkeypatch, capsys):
    monkeypatch.setattr(record, "kept", {})
    answer = ["tool_use", "end_turn", "max_tokens"]
    assert check.yours("stop_reason", run_tool) is run_tool
    assert check.yours("stop_reason", print) is print
    check.stop_reason(answer)
    assert check.yours("stop_reason", run_tool) is answer
    assert capsys.readouterr().out.splitlines() == [
        "stop_reason: the package's, until check.stop_reason passes",
        "stop_reason: a stand-in, until check.stop_reason passes",
        "stop_reason: yours, it passed its check",
    ]


def test_where_nothing_stands_in_for_a_part_it_is_left_out_until_its_check_has_passed(monkeypatch, capsys):
    monkeypatch.setattr(record, "kept", {})
    assert check.yours("stop_reason", None) is None
    assert capsys.readouterr().out == "stop_reason: left out, until check.stop_reason passes\n"


@pytest.mark.parametrize("later", [None, ["end_turn"] * 3], ids=["not yet", "wrong"])
def test_the_last_verdict_decides_whose_part_it_is(later, monkeypatch):
    monkeypatch.setattr(record, "kept", {})
    check.stop_reason(["tool_use", "end_turn", "max_tokens"])
    check.stop_reason(later)
    assert check.yours("stop_reason", "the package's") == "the package's"


def test_several_values_that_passed_come_back_as_a_tuple(monkeypatch):
    monkeypatch.setattr(record, "kept", {})
    check.added_tool([*TOOLS, SCHEMA], HANDLERS)
    assert check.yours("added_tool", None) == ([*TOOLS, SCHEMA], HANDLERS)


@pytest.mark.parametrize("name", ["run_tol", "REPLIES", "yours", None])
def test_a_part_of_an_unknown_name_is_one_sentence_with_those_that_exist(name):
    with pytest.raises(AttributeError) as unknown:
        check.yours(name, None)
    (line,) = unknown.value._render_traceback_()
    assert line.startswith(f"There is no check {name!r}. The checks are: stop_reason, ")


# ---- progress


@pytest.fixture
def as_a_reader(monkeypatch, tmp_path):
    """Outside pytest, as far as the check can see, with a folder of one's own."""
    monkeypatch.delenv("PYTEST_VERSION")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_progress_counts_what_was_done_and_survives_a_restart(as_a_reader):
    assert "0 of 5  ○ stop_reason" in repr(check.progress(reset=True))
    check.stop_reason(["tool_use", "end_turn", "max_tokens"])
    check.stop_reason([None, None, None])
    assert "1 of 5  ✓ stop_reason  ○ tool_result" in repr(check.progress())
    assert (as_a_reader / ".progress").read_text() == "stop_reason\n"
    assert "✓ stop_reason" in check.progress().html


def test_progress_shows_no_path(as_a_reader):
    assert str(as_a_reader) not in repr(check.progress()) + check.progress().html
