"""connect(): a client of the SDK and who answers it: a live endpoint, the offline API, a script or a recording."""

from ... import lazily

__all__, __getattr__ = lazily(__name__, {"endpoint": ["connect", "departures"], "settings": ["SettingsError"]})
