"""connect(): a client of the SDK and who answers it: a live endpoint, the offline API, a script or a recording."""

from ... import lazily

_HOME = {"SettingsError": "settings", "connect": "endpoint", "departures": "endpoint"}

__all__ = list(_HOME)
__getattr__ = lazily(__name__, _HOME)
