"""Run a test's function without root's privileges, for which no file is closed."""

import os
import pickle
import shutil
import tempfile
import traceback
from pathlib import Path

import pytest

from s02_tool_use import use_workdir

NOBODY = 65534


def as_ordinary_user(function, prepare=None):
    """What `function(workspace)` returns in a fresh workspace; as root, in a child process that is nobody's.

    `prepare(workspace)` is called before, with the rights that the tests have.
    """
    if not hasattr(os, "geteuid"):
        pytest.skip("Windows has no user without rights to become")
    folder = Path(tempfile.mkdtemp())
    try:
        if prepare:
            prepare(folder)
        if os.geteuid():
            return _in(folder, function)
        os.chown(folder, NOBODY, NOBODY)
        reading, writing = os.pipe()
        child = os.fork()
        if not child:
            try:
                os.setgroups([])
                os.setgid(NOBODY)
                os.setuid(NOBODY)
                done = _in(folder, function)
            except BaseException:
                done = traceback.format_exc()
            with os.fdopen(writing, "wb") as pipe:
                pickle.dump(done, pipe)
            os._exit(0)
        os.close(writing)
        with os.fdopen(reading, "rb") as pipe:
            done = pickle.load(pipe)
        os.waitpid(child, 0)
        return done
    finally:
        use_workdir(os.curdir)
        shutil.rmtree(folder, ignore_errors=True)


def _in(folder, function):
    use_workdir(folder)
    return function(folder)
