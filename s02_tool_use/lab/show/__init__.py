"""Conversations, differences, sources and tables as a cell shows them: HTML with a text twin."""

from ... import lazily

_HOMES = {"messages": ["show_diff", "show_messages"], "source": ["show_source"], "table": ["show_table"]}
__all__, __getattr__ = lazily(__name__, _HOMES)
