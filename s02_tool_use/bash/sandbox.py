"""Where a command runs: inside bubblewrap if it works here, else with all the rights of whoever runs the notebook.

Inside: the system and this Python read-only, the workspace writable, all else absent (home folders, this course, a .env
outside the workspace), own processes, no network. S02_SANDBOX=auto|off|require and S02_SANDBOX_NETWORK=off|on in the
environment change it. Left out: limits on memory, disk and processor.
"""

import functools
import os
import shutil
import subprocess
import sys

from ..calls.results import ToolError
from ..workspace import workdir

SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/etc", "/nix/store", "/gnu/store")
MODES = ("auto", "off", "require")
TRIAL_SECONDS = 30

# What a command sees of our environment: an allow-list, since nobody can list all names of secrets.
KEPT = ("HOME", "USER", "LOGNAME", "TZ", "TMPDIR", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")
KEPT += ("SYSTEMROOT", "COMSPEC", "PATHEXT", "TEMP", "TMP", "USERPROFILE")  # without these little runs on Windows
SET = {
    "PYTHONUTF8": "1",
    "PYTHONDONTWRITEBYTECODE": "1",  # no __pycache__ in the workspace
    "TERM": "dumb",
    "NO_COLOR": "1",
    "PAGER": "cat",  # a pager would wait for a key
    "GIT_TERMINAL_PROMPT": "0",
}
# Letters and sorting are the same everywhere; macOS has no C.UTF-8.
SET |= {"LC_CTYPE": "UTF-8"} if sys.platform == "darwin" else {"LC_ALL": "C.UTF-8"}


def environment() -> dict:
    """The environment of a command. `python` is the Python of this course: its folder leads the PATH."""
    path = [os.path.dirname(sys.executable or ""), os.environ.get("PATH", os.defpath)]
    kept = {name: os.environ[name] for name in KEPT if name in os.environ}
    return {**kept, **SET, "PATH": os.pathsep.join(filter(None, path))}


def sandbox_status() -> tuple:
    """(is bash confined: True or False, in one sentence why or why not). Tries it for real, once for each workspace."""
    try:
        mode, network = _settings()
    except ToolError as error:
        return False, str(error)
    if mode == "off":
        return False, "S02_SANDBOX=off: bash can reach whatever you can reach"
    fault = "it is not installed; on Debian: apt install bubblewrap"
    if sys.platform == "linux" and _program():
        fault = _fault(str(workdir()), network)
    if fault:
        return False, f"no bubblewrap ({fault}): bash can reach whatever you can reach"
    return True, f"bubblewrap: only the workspace can be written, {'the' if network else 'no'} network"


def confined(command) -> list:
    """The command line that runs `command` (a list) in the sandbox if there is one; ToolError if one is required."""
    mode, network = _settings()
    works, why = sandbox_status()
    if works:
        return [*_bubblewrap(str(workdir()), network), *command]
    if mode == "require":
        raise ToolError(f"nothing was run: S02_SANDBOX=require, but {why}")
    return command


def _settings():
    values = []
    for name, allowed in (("S02_SANDBOX", MODES), ("S02_SANDBOX_NETWORK", ("off", "on"))):
        values.append(os.environ.get(name) or allowed[0])
        if values[-1] not in allowed:
            raise ToolError(f"{name} is {values[-1]!r}, but must be one of: {', '.join(allowed)}")
    return values[0], values[1] == "on"


@functools.lru_cache(100)
def _fault(work, network):
    """What goes wrong when bash starts this Python in the sandbox; empty if nothing does."""
    trial = ["bash", "-c", 'exec "$0" -c "print(6 * 7)"', sys.executable]
    try:
        done = subprocess.run(
            [*_bubblewrap(work, network), *trial],
            env=environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=TRIAL_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    said = done.stderr.decode(errors="replace").split("\n")[0].strip()
    return "" if done.stdout.strip() == b"42" else said or f"it ends with status {done.returncode}"


def _program():
    found = shutil.which("bwrap") or ""
    return found if os.path.isabs(found) else ""  # a '.' on the PATH would be the workspace, where models write


def _bubblewrap(work, network):
    """bwrap's arguments. Capabilities go too: root would keep them, and could remount the system writable."""
    mounts = [("--ro-bind-try", path, path) for path in (*SYSTEM, *_python_folders())]
    mounts += [("--symlink", os.readlink(link), link) for link in _python_links()]
    mounts += [("--tmpfs", "/tmp"), ("--bind", work, work)]
    if network:
        resolv = os.path.realpath("/etc/resolv.conf")
        mounts.append(("--ro-bind-try", resolv, resolv))
    mounts.sort(key=lambda mount: mount[-1].rstrip("/").count("/"))  # a deeper one must not be hidden by a later one
    return [
        *(_program(), "--unshare-all", *["--share-net"] * network, "--die-with-parent", "--cap-drop", "ALL"),
        *(word for mount in mounts for word in mount),
        *("--proc", "/proc", "--dev", "/dev", "--chdir", work),
        *("--setenv", "HOME", "/tmp", "--unsetenv", "TMPDIR", "--"),
    ]


def _python_folders():
    """What of Python a command needs. Not the whole prefix: that may be somebody's home."""
    prefixes = {sys.prefix, sys.base_prefix}
    prefixes |= {os.path.realpath(prefix) for prefix in prefixes}
    return sorted(f"{prefix}/{part}" for prefix in prefixes for part in ("bin", "lib", "lib64", "pyvenv.cfg"))


def _python_links():
    """The links between sys.executable and the program that lie in none of those folders."""
    link = sys.executable
    while os.path.islink(link):
        if not link.startswith(tuple(f"{folder}/" for folder in (*SYSTEM, *_python_folders()))):
            yield link
        link = os.path.join(os.path.dirname(link), os.readlink(link))
