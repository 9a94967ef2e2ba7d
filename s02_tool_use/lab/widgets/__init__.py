"""The parts of the lab that move, built from ipywidgets: Stepper, PathLab, HistoryLab, Chat, ToolBench.

Each draws what a module without widgets does (sessions, escapes, the passes of messages.py), and has a static twin.
"""

from ... import lazily

_HOMES = {name.lower(): [name] for name in ("Chat", "HistoryLab", "PathLab", "Stepper", "ToolBench")}
__all__, __getattr__ = lazily(__name__, _HOMES)
