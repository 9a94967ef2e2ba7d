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
    """Under pytest the notebooks run offline, whatever .env names: the kernels that nbval starts inherit this.

    Compiled files are written, even in a container that says otherwise: else each worker and each of the hundreds of
    processes that the tests start would compile the same modules again, a third of the whole time.
    """
    os.environ["S02_OFFLINE"] = "1"
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    sys.dont_write_bytecode = False


def pytest_xdist_auto_num_workers(config):
    """Two workers a core: half of what a test does is to wait, for a timeout or for another process."""
    return 2 * (os.cpu_count() or 1)


# What pytest.hookimpl(tryfirst=True) does, without the import of pytest: JupyterLab loads this module too.
pytest_xdist_auto_num_workers.pytest_impl = {"tryfirst": True}  # type: ignore[attr-defined]


def pytest_xdist_make_scheduler(config, log):
    """On several cores one process runs all cells of a notebook, in order, and all tests of a file of tests/machine,
    which share what they started; the cases of one test stay together too. Groups, as xdist 3.8 has them, pytest 9.2
    no longer sees."""
    from xdist.scheduler import LoadScopeScheduling

    class Scheduling(LoadScopeScheduling):
        def _split_scope(self, nodeid):
            file = nodeid.partition("::")[0]
            return file if file.endswith(".ipynb") or "/machine/" in file else nodeid.partition("[")[0]

    return Scheduling(config, log)


if __name__ == "__main__":
    del sys.argv[0]
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
