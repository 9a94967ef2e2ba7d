"""What a cell shows of the loop, conversations, sources, tables, time, folders and HTTP: HTML with a text twin."""

from ... import lazily

_HOMES = {
    "bill": ["cost"],
    "loop": ["show_loop"],
    "messages": ["show_diff", "show_messages"],
    "board": ["score"],
    "source": ["show_source"],
    "table": ["show_table"],
    "timeline": ["show_timeline"],
    "tree": ["show_tree"],
    "wire": ["show_wire"],
}
__all__, __getattr__ = lazily(__name__, _HOMES)
