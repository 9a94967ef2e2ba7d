"""What a browser page lacks, in one sentence below the cell that needs it. connect() begins it, in a page alone.

The cell ends there, but not as an error: Run All goes on with the next one. A later cell may need a name that such a
cell did not come to set; it says so too. Left out: any other exception.
"""

import ast
import re
import sys
from traceback import walk_tb
from types import TracebackType
from typing import Any

import s02_tool_use

from .edited import set_by

HAS = {"processes": "no processes", "sockets": "no sockets", "threads": "only one thread"}
SAYS = {  # what Python says there -> what is missing
    ".*can't start new thread": "threads",
    ".*emscripten does not support processes": "processes",
    ".*Function not implemented": "processes",  # os.fork
    "No module named '_multiprocessing'": "processes",
    "Not available$": "processes",  # a line such as !ls
}
OF_SOCKETS = ("socket.py", "http/client.py")  # an error that comes through these is one of the network
ENDED = "This cell ends here: {}. In JupyterLab on a computer it runs whole; here, go on with the next cell."

_unset: dict[str, str] = {}  # a name that a cell did not come to set -> what was missing there


def watch() -> None:
    """Say it from now on, in the notebook of this page."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    if s02_tool_use.IN_A_PAGE and shell is not None:
        shell.set_custom_exc((OSError, RuntimeError, ImportError, NameError), show)


def show(
    shell: Any, kind: type[BaseException], error: BaseException, trace: TracebackType, tb_offset: int | None = None
) -> None:
    """Show an exception that nothing in a cell has caught, as IPython asks for it."""
    if missing := HAS.get(wanted(error)):
        _unset.update(dict.fromkeys(_names_in(shell), missing))
        print(ENDED.format(f"a browser page has {missing}"))
    elif isinstance(error, NameError) and (missing := _unset.get(error.name or "")):
        _unset.update(dict.fromkeys(_names_in(shell), missing))
        print(ENDED.format(f"`{error.name}` is set in a cell that ended early, because a browser page has {missing}"))
    else:
        shell.showtraceback((kind, error, trace), tb_offset=tb_offset, running_compiled_code=True)


def wanted(error: BaseException | None) -> str:
    """What the page had to have for this error not to come, one of HAS; "" of any other error."""
    # The str of a class of the reader's may fail.
    said = str(error) if type(error) in (OSError, RuntimeError, ModuleNotFoundError) else ""
    found = next((wanted for pattern, wanted in SAYS.items() if re.match(pattern, said)), "")
    if not found and isinstance(error, OSError):  # urllib says it in an error of its own
        frames = [frame for one in (error, error.__context__) if one for frame, _ in walk_tb(one.__traceback__)]
        found = "sockets" * any(frame.f_code.co_filename.endswith(OF_SOCKETS) for frame in frames)
    return found


def _names_in(shell):
    """The names that the cell was to set, as far as they are not there."""
    try:
        statements = ast.parse(shell.user_ns["In"][-1]).body
    except (KeyError, IndexError, SyntaxError):
        return set()
    return set().union(*map(set_by, statements)) - shell.user_ns.keys()
