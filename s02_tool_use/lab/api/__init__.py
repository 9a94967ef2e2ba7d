"""The Messages API on this machine: the server, the wire format, and the rules by which it refuses."""

from ... import lazily

_HOMES = {"rules": ["FIRST_PARTY", "STRICT", "validate"], "rules_table": ["RULES"], "server": ["Server"]}
__all__, __getattr__ = lazily(__name__, _HOMES)
