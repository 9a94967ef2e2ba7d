"""Where a command runs: inside bubblewrap if it works here, else with all the rights of whoever runs the notebook.

Inside: the system and this Python read-only, the workspace writable, all else absent (home folders, this course, the
file that a key was read from), own processes, no network. S02_SANDBOX=auto|off|require and S02_SANDBOX_NETWORK=off|on
in the environment change it. Left out: limits on memory, disk and processor.
"""

import contextlib
import os
import subprocess
import sys
from pathlib import PurePath

import s02_tool_use

from ..calls import secrets
from ..calls.results import ToolError
from .program import ON_WINDOWS

SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/etc", "/nix/store", "/gnu/store")
# Where bwrap may lie. Not the PATH: it may name a folder in which models write.
PLACES = ("/usr/bin", "/bin", "/usr/local/bin", "/run/wrappers/bin", "/run/current-system/sw/bin")
TRIAL_SECONDS = 30
MAX_ENTRIES = 100_000  # of the workspace, when a key's file has hard links: all are looked at, each time
PACKAGE = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))

# What a command sees of our environment: an allow-list, since nobody can list all names of secrets.
KEPT: tuple[str, ...] = ("HOME", "USER", "LOGNAME", "TZ", "TMPDIR", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")
# Without these little runs on Windows: where the system, the programs and their settings lie.
KEPT_ON_WINDOWS: tuple[str, ...] = ("SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "COMSPEC", "PATHEXT", "OS", "TEMP", "TMP")
KEPT_ON_WINDOWS += ("PROGRAMFILES", "PROGRAMFILES(X86)", "PROGRAMW6432", "COMMONPROGRAMFILES", "PROGRAMDATA")
KEPT_ON_WINDOWS += ("USERPROFILE", "USERNAME", "HOMEDRIVE", "HOMEPATH", "APPDATA", "LOCALAPPDATA", "ALLUSERSPROFILE")
KEPT_ON_WINDOWS += ("NUMBER_OF_PROCESSORS", "PROCESSOR_ARCHITECTURE")
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

_worked: set[tuple[str, bool]] = set()  # the workspaces where the trial went well, without and with a network


def environment() -> dict[str, str]:
    """The environment of a command. `python` is the Python of this course: its folder leads the PATH.

    No relative part of the PATH is kept: it would be the workspace, where models write.
    """
    path = [os.path.dirname(sys.executable or ""), *os.environ.get("PATH", os.defpath).split(os.pathsep)]
    names = KEPT + KEPT_ON_WINDOWS if ON_WINDOWS else KEPT
    kept = {name: os.environ[name] for name in names if name in os.environ}
    return {**kept, **SET, "PATH": os.pathsep.join(filter(os.path.isabs, path))}


def sandbox_status(work: str | os.PathLike[str] | None = None) -> tuple[bool, str]:
    """(is bash confined to the folder `work`, in one sentence why or why not). Tries it for real.

    Without `work` it is tried in the current folder. Only a success is remembered: the next trial may find more time.
    """
    if s02_tool_use.IN_A_PAGE:
        return False, "a browser page has no processes: bash runs `python FILE` alone, and the browser confines it"
    try:
        return _status(os.path.realpath(work or os.curdir), *_settings())
    except ToolError as error:
        return False, str(error)


def _status(work, mode, network):
    if mode == "off":
        return False, "S02_SANDBOX=off: bash can reach whatever you can reach"
    if fault := _fault(work, network):
        return False, f"no bubblewrap ({fault}): bash can reach whatever you can reach"
    return True, f"bubblewrap: only the workspace is writable, {'the' if network else 'no'} network"


def confined(begin: list, work: str) -> tuple[list, str]:
    """(the command line that runs `begin` in the sandbox, "") or ([], what the user should know of it).

    ToolError if a sandbox is required and there is none.
    """
    mode, network = _settings()
    works, why = _status(work, mode, network)
    if works:
        return [*_bubblewrap(work, network), *begin], ""
    if mode == "require":
        raise ToolError(f"nothing was run: S02_SANDBOX=require, but {why}")
    return [], f"not confined: {why}" if mode == "auto" and program(work) else ""


def _settings():
    values = []
    for name, allowed in (("S02_SANDBOX", ("auto", "off", "require")), ("S02_SANDBOX_NETWORK", ("off", "on"))):
        values.append(os.environ.get(name) or allowed[0])
        if values[-1] not in allowed:
            raise ToolError(f"{name} is {values[-1]!r}, but must be one of: {', '.join(allowed)}")
    return values[0], values[1] == "on"


def _fault(work, network):
    """What goes wrong when bash starts this Python in the sandbox; empty if nothing does."""
    if (work, network) in _worked:
        return ""
    if sys.platform != "linux":
        return "it is for Linux alone"
    if not program(work):
        return "it is not installed; on Debian: apt install bubblewrap"
    run_python = ["bash", "-c", 'exec "$0" -c "print(6 * 7)"', sys.executable]
    trial = [*_bubblewrap(work, network), "/usr/bin/env", f"PATH={environment()['PATH']}", *run_python]
    try:
        done = subprocess.run(trial, env={}, cwd="/", input=b"", capture_output=True, timeout=TRIAL_SECONDS)
    except subprocess.TimeoutExpired:
        return f"a test run took more than {TRIAL_SECONDS} s"
    except OSError as error:
        return str(error)
    if done.stdout.strip() == b"42":
        _worked.add((work, network))
        return ""
    said = done.stderr.decode(errors="replace").split("\n")[0].strip()
    return said or f"it ends with status {done.returncode}"


def program(work: str) -> str:
    """Where bwrap is, empty if nowhere: in a place of the system, and not in the workspace."""
    for place in PLACES:
        found = os.path.realpath(os.path.join(place, "bwrap"))
        if os.access(found, os.X_OK) and not lies_in(found, work):
            return found
    return ""


def lies_in(path: str, folder: str) -> bool:
    """Whether `path` is `folder` or below it; both absolute, and without links."""
    return os.path.commonpath([path, folder]) == folder


def _bubblewrap(work, network):
    """bwrap's arguments. Capabilities go too: root would keep them, and could remount the system writable."""
    mounts = [("--ro-bind-try", path, path) for path in (*SYSTEM, *python_folders())]
    mounts.append(("--bind", work, work))
    # What runs outside the next time can't be changed in here: this package, and a Python that lies in the workspace.
    fixed = [path for path in {PACKAGE, *_prefixes(), *SYSTEM} if lies_in(path, work) and path != work]
    hidden = [path for path in _names_of_secrets(work) if any(lies_in(path, mount[-1]) for mount in mounts)]
    for folder in {str(folder) for path in (*fixed, *hidden) for folder in PurePath(path).parents}:
        if lies_in(folder, work) and folder != work and not any(lies_in(folder, path) for path in fixed):
            mounts.append(("--bind", folder, folder))  # what is mounted can't be renamed, nor then what lies in it
    mounts += [("--ro-bind-try", path, path) for path in fixed] + [("--ro-bind", "/dev/null", path) for path in hidden]
    mounts += [("--symlink", os.readlink(link), link) for link in _python_links()] + [("--tmpfs", "/tmp")]
    if network:
        resolv = os.path.realpath("/etc/resolv.conf")
        mounts.append(("--ro-bind-try", resolv, resolv))
    # A deeper one must not be hidden by a later one.
    mounts = sorted(dict.fromkeys(mounts), key=lambda mount: mount[-1].rstrip("/").count("/"))
    # To root the settings of the whole machine's kernel are files of its own, also without capabilities.
    kernel = () if os.geteuid() else ("/proc/sys", "/proc/sysrq-trigger")
    return [
        *(program(work), "--unshare-all", *["--share-net"] * network, "--die-with-parent", "--cap-drop", "ALL"),
        *("--proc", "/proc", "--dev", "/dev"),  # first: a workspace may lie in /dev/shm
        *(word for path in kernel for word in ("--ro-bind-try", path, path)),
        *(word for mount in mounts for word in mount),
        *("--chdir", "/", "--"),
    ]


def _names_of_secrets(work):
    """The files that a key was read from, and their other names in the workspace: a hard link is the same file."""
    for file in secrets.files():
        with contextlib.suppress(OSError):  # not there any more
            found = os.stat(file)
            yield os.path.realpath(file)
            if found.st_nlink > 1:
                yield from _hard_links(found, work)


def _hard_links(found, work):
    left = MAX_ENTRIES
    for folder, _, names in os.walk(work):
        left -= len(names) + 1
        if left < 0:
            raise ToolError(
                "nothing was run: the file with the key has other names (hard links), and the workspace is too large "
                "to find all of them; keep the key in a file of its own, outside the workspace"
            )
        for path in (os.path.join(folder, name) for name in names):
            with contextlib.suppress(OSError):
                if os.path.samestat(os.lstat(path), found):
                    yield path


def _prefixes():
    """The folders of this Python: of the environment, and of what it was made from."""
    prefixes = {sys.prefix, sys.base_prefix}
    return prefixes | {os.path.realpath(prefix) for prefix in prefixes}


def python_folders():
    """What of Python a command needs. Not the whole prefix: that may be somebody's home."""
    return sorted(f"{prefix}/{part}" for prefix in _prefixes() for part in ("bin", "lib", "lib64", "pyvenv.cfg"))


def _python_links():
    """The links between sys.executable and the program that lie in none of those folders."""
    link = sys.executable
    while os.path.islink(link):
        if not link.startswith(tuple(f"{folder}/" for folder in (*SYSTEM, *python_folders()))):
            yield link
        link = os.path.join(os.path.dirname(link), os.readlink(link))
