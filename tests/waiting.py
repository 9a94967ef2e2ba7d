"""Waiting for what must come, however busy the machine is, and looking for what must be gone."""

import time
from pathlib import Path

PATIENCE_SECONDS = 240  # a guard against hanging, not a measure: a busy machine needs a minute to start a Python


def wait_until(true):
    """Ask until the answer is true."""
    end = time.monotonic() + PATIENCE_SECONDS
    while not true():
        assert time.monotonic() < end, f"waited for {PATIENCE_SECONDS} seconds"
        time.sleep(0.02)


def processes(words):
    """Running processes whose command line is `words`."""
    wanted = words.encode().split() if words else None
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline") if words else ():
        try:
            if path.read_bytes().rstrip(b"\0").split(b"\0") == wanted:
                found.append(path)
        except OSError:
            continue
    return found
