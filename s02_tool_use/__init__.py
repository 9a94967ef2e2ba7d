"""The public names of the course, loaded when they are first used.

Importing the package imports nothing else: not the SDK, not IPython, not even the lesson modules.
"""

import importlib
import sys

_HOME = {
    "PASSES": "messages",
    "TOOLS": "dispatch",
    "TOOL_HANDLERS": "dispatch",
    "ToolError": "calls.results",
    "agent_loop": "loop",
    "agent_steps": "loop",
    "answer_every_call": "history.answers",
    "find": "tools",
    "merge_neighbours": "history.turns",
    "normalize_messages": "messages",
    "open_file": "files.opening",
    "open_folder": "workspace",
    "opened_parent": "workspace",
    "run_bash": "shell",
    "run_edit": "tools",
    "run_glob": "tools",
    "run_read": "tools",
    "run_tool": "dispatch",
    "run_write": "tools",
    "safe_path": "workspace",
    "sandbox_status": "shell",
    "use_workdir": "workspace",
    "within": "workspace",
    "workdir": "workspace",
}

__all__ = list(_HOME)


def lazily(package, homes):
    """Return a __getattr__ for `package`: it loads a name of `homes` from its module when it is first used.

    homes: name -> the module it stands in, or None if the name is a module itself.
    """

    def load(name):
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = importlib.import_module(f"{package}.{homes[name] or name}")
        if homes[name]:
            value = getattr(value, name)
        setattr(sys.modules[package], name, value)  # the next use finds it at once
        return value

    return load


__getattr__ = lazily(__name__, _HOME)


def __dir__():
    return sorted({*globals(), *__all__})
