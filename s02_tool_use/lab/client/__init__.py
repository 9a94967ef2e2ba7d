"""connect(): a client of the SDK and who answers it: a live endpoint, the offline API, a script or a recording."""

from ... import lazily

_HOMES = {
    "endpoint": ["connect", "departures"],
    "replies": ["text_of", "with_call"],
    "settings": ["SettingsError"],
}
__all__, __getattr__ = lazily(__name__, _HOMES)
