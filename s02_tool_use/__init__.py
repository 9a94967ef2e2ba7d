"""The public names of the course, loaded when they are first used.

Importing the package imports nothing else: not the SDK, not IPython, not even the lesson modules.
"""

import importlib
import sys

# A browser page, through Pyodide: one thread, no processes, no sockets.
IN_A_PAGE = sys.platform == "emscripten"


def lazily(package, homes):
    """Return `__all__` and `__getattr__` of `package`, which loads each name from its module when it is first used.

    homes: module -> the names in it, or none if the module itself is the name.
    """
    modules = {name: module for module, names in homes.items() for name in names or [module]}

    def load(name):
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = importlib.import_module(f"{package}.{modules[name]}")
        if homes[modules[name]]:
            value = getattr(value, name)
        setattr(sys.modules[package], name, value)  # the next use finds it at once
        return value

    return sorted(modules), load


_HOMES = {
    "calls.results": ["ToolError"],
    "calls.tool": ["Tool", "schemas_of", "tool_of"],
    "dispatch": ["TOOLS", "TOOL_HANDLERS", "run_tool"],
    "files.opening": ["open_file"],
    "history.answers": ["answer_every_call"],
    "history.plain": ["plain_messages"],
    "history.turns": ["blocks_of", "merge_neighbours"],
    "loop": ["agent_loop", "agent_steps"],
    "messages": ["normalize_messages"],
    "shell": ["BASH_EXE", "run_bash", "sandbox_status"],
    "tools": ["find", "run_edit", "run_glob", "run_read", "run_write"],
    "workspace": ["open_folder", "opened_parent", "safe_path", "use_workdir", "within", "workdir"],
}
__all__, __getattr__ = lazily(__name__, _HOMES)


def __dir__():
    return sorted({*globals(), *__all__})
