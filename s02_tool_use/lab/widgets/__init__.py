"""The parts of the lab that move, built from ipywidgets: Stepper, PathLab, HistoryLab, Chat, ToolBench.

Each draws what a module without widgets does (runs, escapes, passes, session, forms), and has a static twin.
"""

import importlib

_HOME = {
    "Chat": "chat",
    "HistoryLab": "historylab",
    "PathLab": "pathlab",
    "Stepper": "stepper",
    "ToolBench": "toolbench",
}

__all__ = list(_HOME)


def __getattr__(name):
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)
    globals()[name] = value
    return value
