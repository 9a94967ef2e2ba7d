"""The types of the package, as its annotations claim them; the settings stand in pyproject.toml."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def test_mypy_has_nothing_to_say():
    command = [sys.executable, "-m", "mypy", "--no-error-summary", "s02_tool_use"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert (done.returncode, done.stdout + done.stderr) == (0, "")
