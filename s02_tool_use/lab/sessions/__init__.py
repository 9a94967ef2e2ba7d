"""Who drives agent_steps, without looks: a chat turn in a thread, and a run that is stepped through."""

from ... import lazily

__all__, __getattr__ = lazily(__name__, {"run": ["Run"], "session": ["Session"]})
