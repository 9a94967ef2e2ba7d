"""The public names of the course, loaded when they are first used.

Importing the package imports nothing else: not the SDK, not IPython, not even the lesson modules.
"""

import importlib

_HOME = {
    "TOOLS": "dispatch",
    "TOOL_HANDLERS": "dispatch",
    "ToolError": "workspace",
    "agent_loop": "loop",
    "agent_steps": "loop",
    "normalize_messages": "messages",
    "run_bash": "shell",
    "run_edit": "tools",
    "run_glob": "tools",
    "run_read": "tools",
    "run_tool": "dispatch",
    "run_write": "tools",
    "safe_path": "workspace",
    "use_workdir": "workspace",
}

__all__ = list(_HOME)


def __getattr__(name):
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)
    globals()[name] = value  # the next use finds it at once
    return value


def __dir__():
    return sorted({*globals(), *__all__})
