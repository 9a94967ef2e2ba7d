"""What the commands that listen have in common: where they listen, how they end, and bounds for a wrong client.

It is the server of the offline API. The bounds: how many connections, and how long a request may take to come in.
"""

import argparse
import contextlib
import secrets
import signal
import socket
import threading
import time
from collections.abc import Iterable
from typing import Any

from ..api import server

LETTERS = "23456789abcdefghjkmnpqrstuvwxyz"  # without those that look alike on paper
LOOPBACK = ("127.", "localhost", "::1")
MOST_CONNECTIONS = 300
PATIENCE_SECONDS = 60  # for one request, from its first byte, or from the answer before it, to its last


class Handler(server.Handler):
    """One connection. Nothing of it is kept."""

    server: "Door"
    server_version = called = "s02-room"
    timeout = PATIENCE_SECONDS

    def handle_one_request(self):
        self.server.waiting[self.connection] = time.monotonic()
        super().handle_one_request()

    def finish(self):
        self.server.waiting.pop(self.connection, None)
        super().finish()

    def _read_body(self):
        body = super()._read_body()
        self.server.waiting.pop(self.connection, None)
        return body

    def _record(self, *_):
        pass


class Door(server.Server):
    """A server with a handler of its own, of this room."""

    def __init__(self, ip: str = server.HOST, port: int = 0) -> None:
        self.address_family = socket.AF_INET6 if ":" in ip else socket.AF_INET
        self.waiting: dict[Any, float] = {}  # connections whose request is not complete, and since when
        self._looked = 0.0
        super().__init__(None, host=ip, port=port)

    def process_request(self, request, client_address):
        if len(self._open) < MOST_CONNECTIONS:
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def service_actions(self):
        """Called by the serving thread now and then: end what came byte by byte, or does not come any more."""
        if (now := time.monotonic()) < self._looked + 1:
            return
        self._looked = now
        for connection, since in self.waiting.copy().items():
            if now - since > PATIENCE_SECONDS:
                with contextlib.suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)


def word(groups: int = 2) -> str:
    """A password that can be read aloud and typed."""
    return "-".join("".join(secrets.choice(LETTERS) for _ in range(4)) for _ in range(groups))


def parser(name: str, does: str, port: int) -> argparse.ArgumentParser:
    """The options of a command that listens."""
    made = argparse.ArgumentParser(prog=f"python3 -m s02_tool_use room {name}", description=does)
    made.add_argument(
        "--ip",
        default=server.HOST,
        help="where to listen; without it only this machine can connect, 0.0.0.0 lets in who is in the same network",
    )
    made.add_argument("--port", type=int, default=port, help=f"the port, {port} unless given; 0 takes a free one")
    return made


def address(door: Door) -> str:
    """The address under which the room finds it: of all addresses of this machine, the one that leads outside."""
    ip, port = str(door.server_address[0]), door.server_address[1]
    if ip in ("0.0.0.0", "::"):
        with socket.socket(door.address_family, socket.SOCK_DGRAM) as probe:
            try:
                probe.connect(("192.0.2.1" if ip == "0.0.0.0" else "2001:db8::1", 9))  # sends nothing
                ip = probe.getsockname()[0]
            except OSError:
                ip = socket.gethostname()
    return f"http://{f'[{ip}]' if ':' in ip else ip}:{port}"


def who_can_come(ip: str) -> str:
    if ip.startswith(LOOPBACK):
        return "Only this machine can connect. --ip 0.0.0.0 lets the room in."
    return "Whoever is in the same network can connect. What is sent is not encrypted."


def cannot_listen(given: argparse.Namespace, error: Exception) -> str:
    said = str(getattr(error, "strerror", None) or error).rstrip(".")
    return f"Cannot listen on {given.ip}, port {given.port}: {said}. Choose another --port or --ip."


def serve(door: Door, lines: Iterable[str]) -> None:
    """Print these lines and serve, until Ctrl-C or until the process is asked to end."""
    over = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: over.set())
    with door, contextlib.suppress(KeyboardInterrupt):
        for line in lines:
            print(line, flush=True)
        while not over.wait(1):  # Windows hears Ctrl-C only between two waits
            pass
