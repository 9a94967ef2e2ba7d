"""What the model is offered (TOOLS), who does it (TOOL_HANDLERS), and run_tool, where a call becomes a result.

run_tool is the only place that turns a fault into a result, so that the model can fix its call. Left out: asking the
user first, which is the loop's business.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from .calls.arguments import fitting_arguments
from .calls.content import content_of, fault_content
from .calls.results import ToolError, sendable
from .calls.tool import looked_up, unknown
from .shell import run_bash
from .tools import run_edit, run_glob, run_read, run_write


def _tool(name, description, required, **properties):
    described = {key: {"type": kind, "description": text} for key, (kind, text) in properties.items()}
    schema = {"type": "object", "properties": described, "required": required}
    return {"name": name, "description": description, "input_schema": schema}


_PATH = ("string", "Path of the file, relative to the workspace. Taken literally: no ~, no variables.")

# A model knows of a tool only what stands here: what it does, where it ends, what to do then.
TOOLS = [
    _tool(
        "bash",
        "Run a command with bash in the workspace folder. Returns stdout and stderr in the order in which they came, "
        "and the exit status. Each call is a new shell: cd and variables do not last, and background processes end "
        "with the call. There is no input and no terminal. The middle of long output is left out. On machines with "
        "bubblewrap only the workspace can be written, /tmp is empty each time and there is no network. On others "
        "the command reaches all that the user can reach: stay in the workspace.",
        ["command"],
        command=("string", "The command, of one or more lines. It must not wait for input."),
        timeout=("number", "Seconds after which it is stopped: 120 if left out, at most 600."),
    ),
    _tool(
        "read_file",
        "Read a text file. At most 50,000 bytes come at once; the last line then says which lines they are, and how to "
        "read on. Binary files are refused.",
        ["path"],
        path=_PATH,
        limit=("integer", "Read at most this many lines."),
        offset=("integer", "Line to start at: 1 is the first."),
        byte_offset=("integer", "Byte to start at, in place of offset: for the rest of a very long line."),
    ),
    _tool(
        "write_file",
        "Write a whole file as UTF-8; an existing one is replaced, missing folders are created. Returns its size. "
        "To edit a part use edit_file.",
        ["path", "content"],
        path=_PATH,
        content=("string", "The whole new content."),
    ),
    _tool(
        "edit_file",
        "Replace old_text with new_text in a file; returns the lines changed. old_text must be in the file exactly "
        "once, copied exactly, whitespace included; add surrounding lines if it is not unique.",
        ["path", "old_text", "new_text"],
        path=_PATH,
        old_text=("string", "The text to be replaced. Line ends are converted to the file's own, LF or CRLF."),
        new_text=("string", "The text to put in its place; empty to delete."),
        replace_all=("boolean", "Replace every occurrence; then old_text need not be unique."),
    ),
    _tool(
        "glob",
        "List files and folders of the workspace by name, sorted, at most 500. Names that begin with a dot are listed "
        "only if the pattern names the dot; else they are counted. Pass a name in quotes to the other tools as it "
        "is, quotes included. Folders that are links are not searched.",
        ["pattern"],
        pattern=("string", "Such as *.txt, src/**/*.py (** is any number of folders), *.{ts,tsx}."),
    ),
]

TOOL_HANDLERS = {
    "bash": run_bash,
    "read_file": run_read,
    "write_file": run_write,
    "edit_file": run_edit,
    "glob": run_glob,
}


def run_tool(
    block: object,
    handlers: Mapping[str, Any] = TOOL_HANDLERS,
    tools: Iterable[Any] = TOOLS,
) -> dict:
    """The tool_result for a tool_use block, an SDK object or a dict. A fault is a result with is_error.

    Four steps: look up the tool, judge the arguments, call, turn what came back into content.
    `tools` is what the model was offered: schema dicts, whose functions `handlers` has by their
    names, and functions and SDK tools, which bring their own. Only what is no Exception passes
    through: Ctrl-C, Stop, SystemExit.
    """
    if isinstance(block, dict):
        call, name, given = block.get("id"), block.get("name"), block.get("input")
    else:
        call, name = getattr(block, "id", None), getattr(block, "name", None)
        given = getattr(block, "input", None)
    result: dict[str, Any] = {"type": "tool_result", "tool_use_id": call if isinstance(call, str) else ""}
    try:
        # Look up first, then call: a KeyError of the handler's own is not an unknown tool.
        tool, handler = looked_up(name, handlers, tools)
        if handler is None:
            raise unknown(name, handlers, tools)
        arguments = fitting_arguments(name, handler, given, tool)
        result["content"] = content_of(handler(**arguments))
        return result
    except ToolError as error:  # a no, in the tool's own words
        result["content"] = sendable(error)
    except Exception as error:
        result["content"] = fault_content(name, error)
    result["is_error"] = True
    return result
