"""The apparatus of the course: what notebooks and tests use, and what no lesson module imports.

The names that notebooks use can be imported from here; each is loaded when it is first used.
"""

from .. import lazily

_HOME = {
    "Chat": "widgets",
    "HistoryLab": "widgets",
    "PathLab": "widgets",
    "RULES": "api",
    "STRICT": "api",
    "Stepper": "widgets",
    "ToolBench": "widgets",
    "api_says": "conversation",
    "check": None,  # a module, used as check.NAME(your_function)
    "connect": "client",
    "departures": "client",
    "escape_room": "rooms",
    "fresh_workspace": "rooms",
    "histories": "conversation",
    "problem_of": "conversation",
    "show_diff": "show",
    "show_messages": "show",
    "show_source": "show",
    "show_table": "show",
}

__all__ = list(_HOME)
__getattr__ = lazily(__name__, _HOME)
