"""The apparatus of the course: what notebooks and tests use, and what no lesson module imports.

The names that notebooks use can be imported from here; each is loaded when it is first used.
"""

from .. import lazily

_HOMES = {
    "api": ["RULES", "STRICT"],
    "check": [],  # used as check.NAME(your_function)
    "check.pages": ["start_here"],
    "client": ["connect", "departures", "text_of", "with_call"],
    "conversation": ["api_says", "histories", "problem_of"],
    "rooms": ["escape_room", "fresh_workspace"],
    "show": [
        *("cost", "score", "show_diff", "show_loop", "show_messages", "show_source", "show_table", "show_timeline"),
        *("show_tree", "show_wire"),
    ],
    "widgets": ["Chat", "HistoryLab", "PathLab", "Stepper", "ToolBench"],
}
__all__, __getattr__ = lazily(__name__, _HOMES)
