"""The offline API by itself, for any client: `python3 -m s02_tool_use serve [--port N]`."""

import argparse
import contextlib
import signal
import sys
import threading
from collections.abc import Iterable

from ..api.server import Server
from ..understudy import Understudy


def main(argv=None):
    """Serve until Ctrl-C. The first line that is printed is the base URL."""
    parser = argparse.ArgumentParser(prog="python3 -m s02_tool_use serve", description=__doc__.splitlines()[0])
    parser.add_argument("--port", type=int, default=0, help="the port; 0, the default, takes a free one")
    parser.add_argument("--model", action="append", default=[], help="a name to know, may be repeated; without it: any")
    given = parser.parse_args(argv)
    port = given.port
    try:
        server = Server(Understudy(), port=port, models=given.model)
    except (OSError, OverflowError) as error:
        sys.exit(f"Cannot listen on port {port}: {str(error).rstrip('.')}. Choose another --port, or 0 for a free one.")
    serve(server, [server.url, "No language model answers here, rules do. Ctrl-C ends it."])


def serve(server: Server, lines: Iterable[str]) -> None:
    """Print these lines and serve, until Ctrl-C or until the process is asked to end."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with server, contextlib.suppress(KeyboardInterrupt):
        for line in lines:
            print(line, flush=True)
        while True:
            threading.Event().wait(1)  # Windows hears Ctrl-C only between two waits
