"""Which bash runs, and the command line that it gets. On Windows neither goes without saying.

There "bash" alone is often WSL's, which has other folders or no system at all: Windows looks into System32 before it
looks at the PATH. Git's bash is another program, and the usual installer does not put it on the PATH. So it is searched
here and started by its full path. Without one cmd.exe runs the command. Never tried on a real Windows: a CPython for
Windows runs these lines under wine, where no Git is.
"""

import ntpath
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping

import s02_tool_use

from ..calls.results import ToolError

ON_WINDOWS = os.name == "nt"
INSTALL = {
    "nt": "install Git for Windows from https://git-scm.com/downloads/win, which brings one, and start again",
    "posix": "install it with the packages of your system, on Debian: apt install bash",
}
MISSING = f"there is no bash here{' (install Git for Windows)' * ON_WINDOWS}"
NO_BASH = f"{MISSING}, so this ran in {{}}"
COMMAND = "S02_COMMAND"
EVAL = f'export -n {COMMAND}; eval -- "${COMMAND}"'
# Folders of Windows whose bash.exe is WSL's, or an advertisement for it.
SYSTEM, STORE = r"C:\Windows", "windowsapps"
# Where Git for Windows is, if it is not on the PATH: for all users, for one, by scoop.
GIT = {"PROGRAMFILES": "Git", "PROGRAMW6432": "Git", "PROGRAMFILES(X86)": "Git"}
GIT |= {"LOCALAPPDATA": r"Programs\Git", "USERPROFILE": r"scoop\apps\git\current"}
MAX_WINDOWS, MAX_CMD = 32_000, 8_000  # characters of a variable or a command line: 32,767, and of one for cmd 8,191


def which_bash() -> str | None:
    """The full path of the bash that run_bash starts, or None. In a browser page "bash": page.py takes its place."""
    if s02_tool_use.IN_A_PAGE:
        return "bash"
    return windows_bash(os.environ) if ON_WINDOWS else shutil.which("bash")


def windows_bash(variables: Mapping[str, str], is_file: Callable[[str], bool] = os.path.isfile) -> str | None:
    """Where bash.exe is on Windows: on the PATH or in Git's folders, never one of the system's.

    The current folder is no place, as it is for shutil.which: a model may write there.
    """
    system = ntpath.normcase(ntpath.normpath(variables.get("SYSTEMROOT") or SYSTEM)).split("\\")

    def is_right(path):
        parts = ntpath.normcase(path).split("\\")
        absolute = ntpath.isabs(path) and parts[0]  # with a drive
        return absolute and parts[: len(system)] != system and STORE not in parts and is_file(path)

    paths = (ntpath.normpath(ntpath.join(folder, "bash.exe")) for folder in _folders(variables, is_file))
    return next(filter(is_right, paths), None)


def _folders(variables, is_file) -> Iterator[str]:
    path = [part.strip('" ') for part in variables.get("PATH", "").split(";")]
    yield from path
    for folder in path:  # the installer puts Git\cmd there, without bash
        if folder and is_file(ntpath.join(folder, "git.exe")):
            yield ntpath.join(ntpath.dirname(ntpath.normpath(folder)), "bin")
    for name, folder in GIT.items():
        if variables.get(name):
            yield ntpath.join(variables[name], folder, "bin")


def system_shell() -> list[str]:
    """The shell with its options where there is no bash."""
    if ON_WINDOWS:
        return [os.environ.get("COMSPEC") or of_windows("cmd.exe"), "/d", "/s", "/c"]
    return ["sh", "-c", "--"]


def of_windows(name: str) -> str:
    """The full path of a program of Windows. By its name alone one in the current folder would be started."""
    return ntpath.join(os.environ.get("SYSTEMROOT") or SYSTEM, "System32", name)


def for_windows(shell: list[str], command: str) -> tuple[str | list[str], dict[str, str]]:
    """(the command line, variables) with which `shell` runs `command` as it stands, on Windows.

    cmd does not know the backslash before a quote that subprocess writes for a list; it drops the outermost quotes and
    takes the rest. Git's bash halves backslashes in its command line, so the command travels in a variable:
    https://github.com/anthropics/claude-code/issues/89392
    """
    is_cmd = shell[-1] == "/c"
    if len(command) > (MAX_CMD if is_cmd else MAX_WINDOWS):
        raise ToolError(
            f"nothing was run: {len(command)} characters are too many for Windows; write a script, run that"
        )
    if not is_cmd:
        return [*shell, EVAL], {COMMAND: command}
    if "\n" in command.strip():
        raise ToolError("nothing was run: there is no bash here, and cmd takes one line; join the lines with &&")
    return f'{subprocess.list2cmdline(shell)} "{command.strip()}"', {}
