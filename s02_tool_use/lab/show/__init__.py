"""Conversations, differences, sources and tables as a cell shows them: HTML with a text twin."""

from ... import lazily

_HOME = {"show_diff": "messages", "show_messages": "messages", "show_source": "source", "show_table": "table"}

__all__ = list(_HOME)
__getattr__ = lazily(__name__, _HOME)
