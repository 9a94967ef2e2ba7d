"""What the offline server of connect() has heard and said."""

from s02_tool_use.lab.client import endpoint


def exchanges(client):
    """What an offline client sent and got, as it went over the wire: a list of dicts, the oldest first."""
    return list(endpoint._server.callers[client.api_key].exchanges)
