"""What a browser page lacks, in one sentence below the cell that needs it. connect() begins it, in a page alone.

The cell ends there, but not as an error: Run All goes on with the next one. Left out: any other exception.
"""

import sys
from types import TracebackType
from typing import Any

import s02_tool_use

# What Python says there -> what is missing.
MISSING = {
    "can't start new thread": "only one thread",
    "emscripten does not support processes": "no processes",
}


def watch() -> None:
    """Say it from now on, in the notebook of this page."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    if s02_tool_use.IN_A_PAGE and shell is not None:
        shell.set_custom_exc((OSError, RuntimeError), show)


def show(
    shell: Any, kind: type[BaseException], error: BaseException, trace: TracebackType, tb_offset: int | None = None
) -> None:
    """Show an exception that nothing in a cell has caught, as IPython asks for it."""
    missing = next((missing for said, missing in MISSING.items() if said in str(error)), "")
    if missing:
        print(f"This cell ends here: a browser page has {missing}. The next cell can be run.")
    else:
        shell.showtraceback((kind, error, trace), tb_offset=tb_offset, running_compiled_code=True)
