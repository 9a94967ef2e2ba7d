"""Who drives agent_steps, without looks: a chat turn in a thread, and a run that is stepped through."""

from ... import lazily

_HOME = {
    "Run": "run",
    "Session": "session",
}

__all__ = list(_HOME)
__getattr__ = lazily(__name__, _HOME)
