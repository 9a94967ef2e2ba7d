"""Installs what the tests take from others: clients, axe-core, linters. Apart from the course, by this command:

    python tests/clients/install.py

Node's go into node_modules, Python's into .venv, both in this folder. What they are stands in package.json and
requirements.txt. To update one, change its version there, pin the rest anew, in this folder, and run this again:

    npm install --package-lock-only
    grep -v '^-' requirements.txt | uv pip compile --universal --python-version 3.11 --no-annotate --no-header - \
        -o constraints.txt

A newer Claude Code may send betas that the offline API does not know: they stand in s02_tool_use/lab/api/allowed.py.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
VENV = HERE / ".venv"
PYTHON = VENV / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
STAMP = VENV / "installed.txt"  # what was installed, written last
FILES = [HERE / name for name in ("package-lock.json", "requirements.txt", "constraints.txt")]
OLDEST_NODE = 20


def wanted():
    """All that is pinned, as one text."""
    return "".join(file.read_text("utf-8") for file in FILES)


def missing():
    """What has to be done before the clients can run, or None."""
    stands = STAMP.is_file() and STAMP.read_text("utf-8") == wanted()
    return None if stands else "the foreign clients of today are not installed: python tests/clients/install.py"


def main():
    """Install all of them, Node's and Python's at the same time. Returns what stands in the way, or None."""
    node, npm, uv = map(shutil.which, ("node", "npm", "uv"))
    if not node or not npm:
        return f"Node.js {OLDEST_NODE} or newer, and its npm, are needed: https://nodejs.org"
    version = subprocess.run([node, "--version"], capture_output=True, text=True, check=True).stdout.strip()
    if int(version[1:].partition(".")[0]) < OLDEST_NODE:
        return f"Node.js {OLDEST_NODE} or newer is needed, this is {version}: https://nodejs.org"
    import venv  # which Python's embeddable package for Windows leaves out

    uv = uv or shutil.which("uv", path=HERE.parents[1] / ".venv" / PYTHON.parent.name)  # the course's own
    venv.create(VENV, clear=True, with_pip=not uv)
    pip = [uv, "pip", "install", "--python", PYTHON] if uv else [PYTHON, "-m", "pip", "install"]
    steps = {"npm": [npm, "ci", "--no-audit", "--no-fund"], "pip": [*pip, "--quiet", "-r", "requirements.txt"]}
    ends = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    running = {name: subprocess.Popen(step, cwd=HERE, **ends) for name, step in steps.items()}
    said = {name: step.communicate()[0].decode(errors="replace") for name, step in running.items()}
    failed = [f"{name} failed:\n{said[name]}" for name, step in running.items() if step.returncode]
    if not failed:
        STAMP.write_text(wanted(), "utf-8")
    return "\n".join(failed) or None


if __name__ == "__main__":
    sys.exit(main())
