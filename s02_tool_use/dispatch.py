"""What the model is offered (TOOLS), who does the work (TOOL_HANDLERS), and the one place where a call becomes a result."""

import inspect

from s02_tool_use.shell import run_bash
from s02_tool_use.tools import run_edit, run_glob, run_read, run_write
from s02_tool_use.workspace import ToolError

TOOLS = [
    {
        "name": "bash",
        "description": "Run a command with bash in the workspace. Output and exit status come back.",
        "input_schema": {
            "type": "object",
            "properties": {"command": {"type": "string"}, "timeout": {"type": "number", "description": "Seconds."}},
            "required": ["command"],
        },
    },
    {
        "name": "read_file",
        "description": "Read a text file of the workspace.",
        "input_schema": {
            "type": "object",
            "properties": {
                "path": {"type": "string"},
                "limit": {"type": "integer", "description": "At most so many lines."},
                "offset": {"type": "integer", "description": "Byte to start at."},
            },
            "required": ["path"],
        },
    },
    {
        "name": "write_file",
        "description": "Write a text file of the workspace, replacing it if it exists.",
        "input_schema": {
            "type": "object",
            "properties": {"path": {"type": "string"}, "content": {"type": "string"}},
            "required": ["path", "content"],
        },
    },
    {
        "name": "edit_file",
        "description": "Replace old_text by new_text in a file. old_text must occur exactly once.",
        "input_schema": {
            "type": "object",
            "properties": {
                "path": {"type": "string"},
                "old_text": {"type": "string"},
                "new_text": {"type": "string"},
                "replace_all": {"type": "boolean"},
            },
            "required": ["path", "old_text", "new_text"],
        },
    },
    {
        "name": "glob",
        "description": "Find files of the workspace by pattern; ** means any folders.",
        "input_schema": {"type": "object", "properties": {"pattern": {"type": "string"}}, "required": ["pattern"]},
    },
]

TOOL_HANDLERS = {
    "bash": run_bash,
    "read_file": run_read,
    "write_file": run_write,
    "edit_file": run_edit,
    "glob": run_glob,
}


def run_tool(block, handlers=TOOL_HANDLERS) -> dict:
    """The tool_result for a tool_use block (SDK object or dict). A fault of any kind becomes is_error and a text."""
    read = block.get if isinstance(block, dict) else lambda key: getattr(block, key, None)
    result = {"type": "tool_result", "tool_use_id": read("id")}
    try:
        return result | {"content": _call(read("name"), read("input"), handlers)}
    except ToolError as error:
        fault = str(error)
    except Exception as error:
        fault = f"{read('name')} failed: {type(error).__name__}: {error}"
    return result | {"content": fault, "is_error": True}


def _call(name, arguments, handlers):
    handler = handlers.get(name) if isinstance(name, str) else None
    if handler is None:
        raise ToolError(f"Unknown tool: {name!r}. The tools are: {', '.join(handlers)}")
    if not isinstance(arguments, dict):
        raise ToolError(f"input of {name} must be an object")
    try:
        inspect.signature(handler).bind(**arguments)
    except TypeError as error:
        raise ToolError(f"{name}: {error}") from None
    return str(handler(**arguments))
