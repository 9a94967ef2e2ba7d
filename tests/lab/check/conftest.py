"""A check makes hundreds of files for each answer: here they lie in memory, where Linux has a file system in it."""

import os
import sys
import tempfile

import pytest


@pytest.fixture(autouse=True)
def in_memory(monkeypatch):
    if sys.platform == "linux" and os.access("/dev/shm", os.W_OK):
        monkeypatch.setattr(tempfile, "tempdir", "/dev/shm")
