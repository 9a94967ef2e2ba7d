"""What a test needs of the system that it runs on, with the reason for which it is skipped where that is missing."""

import contextlib
import os
import signal
import socket
import sys
import tempfile
import traceback
from pathlib import Path

import pytest

from s02_tool_use.bash.program import which_bash

ON_WINDOWS = os.name == "nt"
needs_sources = pytest.mark.skipif(not os.path.isfile(os.__file__), reason="Python's own modules lie in a zip file")
needs_bash = pytest.mark.skipif(not which_bash(), reason="there is no bash here")
TESTS = Path(__file__).parent
WAITS = 'python -c "import time; time.sleep(60)"'  # a command that bash and cmd know


# The offline API is reached over sockets, and in a browser page without any: `network` of conftest.py is both. The
# other mark is for a test of a module that asks for `network` throughout, and is about what only sockets reach.
over_both = pytest.mark.usefixtures("network")
over_sockets = pytest.mark.parametrize("network", ["sockets"], indirect=True)


def posix(what: str) -> pytest.MarkDecorator:
    """A mark for tests that need what POSIX systems have, such as "pipes with a name"."""
    return pytest.mark.skipif(ON_WINDOWS, reason=f"Windows has no {what}")


def posix_alone(what: str) -> None:
    """Called at the head of a module, it skips all of it where there is no POSIX system."""
    if ON_WINDOWS:
        pytest.skip(f"Windows has no {what}", allow_module_level=True)


@contextlib.contextmanager
def without_posix():
    """Skips a test that itself reaches for a name that a module has on POSIX systems alone, such as os.mkfifo."""
    try:
        yield
    except AttributeError as error:
        *_, last = traceback.extract_tb(error.__traceback__)
        if error.obj in (os, signal, socket) and Path(last.filename).is_relative_to(TESTS):
            pytest.skip(f"Windows has no {error.obj.__name__}.{error.name}")
        raise


def makes_links() -> bool:
    """Whether links can be made here: on Windows only in its developer mode, under wine never."""
    with tempfile.TemporaryDirectory() as folder:
        link = os.path.join(folder, "link")
        try:
            os.symlink("nowhere", link)
        except OSError:
            return False
        return os.path.islink(link)


LINKS = makes_links()
NO_LINKS = "no links can be made here: Windows makes them in its developer mode"


needs_links = pytest.mark.skipif(not LINKS, reason=NO_LINKS)


def no_link(*_, **__):
    """In the place of what makes a link where none can be made: skips a test, refuses to others as Windows does."""
    if Path(sys._getframe(1).f_code.co_filename).is_relative_to(TESTS):
        pytest.skip(NO_LINKS)
    raise OSError(22, "A required privilege is not held by the client")
