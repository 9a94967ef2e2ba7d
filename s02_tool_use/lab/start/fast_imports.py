"""Keeps one slow import out of JupyterLab and pytest: load this module before they load nbformat.

nbformat checks notebooks with jsonschema, which imports rfc3987_syntax where it finds it. That module compiles about
35 grammars at import, 2 seconds for a format (IRI) that no notebook schema uses. Nothing else is switched off.
Upstream: https://github.com/jupyter-server/jupyter_server/issues/1559

    python -m s02_tool_use.lab.start.fast_imports jupyterlab        runs a module with the import kept out
    pytest -p s02_tool_use.lab.start.fast_imports                   stands in pyproject.toml
"""

import os
import runpy
import sys

# None makes the import fail as if the package were not there, a case that jsonschema expects.
sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]


def pytest_configure(config):
    """Under pytest the notebooks run offline, whatever .env names: the kernels that nbval starts inherit this."""
    os.environ["S02_OFFLINE"] = "1"  # not in conftest.py, which a notebook in another folder is not under


if __name__ == "__main__":
    del sys.argv[0]
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
