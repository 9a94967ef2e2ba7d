"""The apparatus of the course: what notebooks and tests use, and what no lesson module imports.

The names that notebooks use can be imported from here; each is loaded when it is first used.
"""

import importlib

_HOME = {
    "Chat": "widgets",
    "HistoryLab": "widgets",
    "PathLab": "widgets",
    "Stepper": "widgets",
    "ToolBench": "widgets",
    "check": None,  # a module, used as check.NAME(your_function)
    "connect": "client",
    "escape_room": "sample",
    "fresh_workspace": "sample",
    "show_diff": "show",
    "show_messages": "show",
    "show_source": "show",
    "show_table": "table",
}

__all__ = list(_HOME)


def __getattr__(name):
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = _HOME[name]
    if home is None:
        return importlib.import_module(f"{__name__}.{name}")
    value = getattr(importlib.import_module(f"{__name__}.{home}"), name)
    globals()[name] = value
    return value
