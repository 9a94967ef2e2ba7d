"""What the commands that listen have in common: where they listen, and who can come. And words to hand out.

The board and the key are served by the code of the offline API.
"""

import argparse
import contextlib
import json
import secrets
import socket
from pathlib import Path
from typing import Any

from ..api import server
from ..client.serve import serve  # noqa: F401  (until Ctrl-C)

LETTERS = "23456789abcdefghjkmnpqrstuvwxyz"  # without those that look alike on paper


class Handler(server.Handler):
    """One connection. Nothing of it is kept."""

    server_version = called = "s02-room"
    timeout = 60  # seconds in which nothing comes

    def _record(self, *_):
        pass


def word(groups: int = 2) -> str:
    """A password that can be read aloud and typed."""
    return "-".join("".join(secrets.choice(LETTERS) for _ in range(4)) for _ in range(groups))


def save(file: Path, data: Any) -> None:
    """Write JSON for the owner alone, whole or not at all. May raise OSError."""
    draft = file.with_name(f"{file.name}.new")
    draft.touch(mode=0o600)
    draft.write_text(json.dumps(data, indent=1), encoding="utf-8")
    draft.replace(file)


def parser(name: str, doc: str | None, port: int) -> argparse.ArgumentParser:
    """The options of a command that listens; `doc` is what its module says of itself."""
    made = argparse.ArgumentParser(prog=f"python3 -m s02_tool_use room {name}", description=str(doc).split("Left")[0])
    where = "where to listen; without it only this machine can connect, 0.0.0.0 lets in who is in the same network"
    made.add_argument("--ip", default=server.HOST, help=where)
    made.add_argument("--port", type=int, default=port, help=f"the port, {port} unless given; 0 takes a free one")
    return made


def address(ip: str, port: int) -> str:
    """The address under which the room finds it: of all addresses of this machine, the one that leads outside."""
    if ip == "0.0.0.0":
        ip = socket.gethostname()
        with contextlib.suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.connect(("192.0.2.1", 9))  # sends nothing
            ip = probe.getsockname()[0]
    return f"http://{ip}:{port}"


def who_can_come(ip: str) -> str:
    if ip.startswith(("127.", "localhost")):
        return "Only this machine can connect. --ip 0.0.0.0 lets the room in."
    return "Whoever is in the same network can connect. What is sent is not encrypted."


def cannot_listen(given: argparse.Namespace, error: Exception) -> str:
    said = str(getattr(error, "strerror", None) or error).rstrip(".")
    return f"Cannot listen on {given.ip}, port {given.port}: {said}. Choose another --port or --ip."
