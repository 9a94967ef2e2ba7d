"""The Messages API on this machine: the server, the wire format, and the rules by which it refuses."""

from ... import lazily

_HOME = {
    "FIRST_PARTY": "rules",
    "RULES": "rules_table",
    "STRICT": "rules",
    "Server": "server",
    "validate": "rules",
}

__all__ = list(_HOME)
__getattr__ = lazily(__name__, _HOME)
