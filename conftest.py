"""How pytest runs all tests and notebooks on all cores. What tests share stands in tests/conftest.py."""

import itertools
import os
import sys

import pytest
from xdist.scheduler import LoadScopeScheduling

from s02_tool_use.bash.program import which_bash

collect_ignore_glob = ["*.mine*"]  # what `reset` keeps for a learner


def pytest_configure(config):
    """Compiled files are written, even in a container that says otherwise: else each worker and each of the hundreds of
    processes that the tests start would compile the same modules again, a third of the whole time.
    """
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    sys.dont_write_bytecode = False


def pytest_collection_modifyitems(items):
    """The pages show what bash says. Without one they are not compared."""
    if which_bash():
        return
    for item in items:
        if item.path.suffix == ".ipynb":
            item.add_marker(pytest.mark.skip(reason="a page shows what bash says, and there is no bash here"))


@pytest.hookimpl(tryfirst=True)
def pytest_xdist_auto_num_workers(config):
    """Two workers a core: half of what a test does is to wait, for a timeout or for another process."""
    return 2 * (os.cpu_count() or 1)


def pytest_xdist_make_scheduler(config, log):
    """On several cores one process runs all cells of a notebook, in order, and all tests of a file of tests/machine,
    which share what they started; the cases of one test stay together too. Groups, as xdist 3.8 has them, pytest 9.2
    no longer sees."""
    return Scheduling(config, log)


def pytest_terminal_summary(terminalreporter):
    """What a test has measured and does not judge, such as seconds: record_property("told", sentence)."""
    for report in itertools.chain.from_iterable(terminalreporter.stats.values()):
        for name, sentence in getattr(report, "user_properties", ()):
            if name == "told" and report.when == "call":
                terminalreporter.write_line(sentence)


class Scheduling(LoadScopeScheduling):
    def _split_scope(self, nodeid):
        file = nodeid.partition("::")[0]
        return file if file.endswith(".ipynb") or "/machine/" in file else nodeid.partition("[")[0]

    def remove_node(self, node):
        """When a worker is lost, xdist 3.8 also hands on what it had finished. Who gets that has nothing to run and
        reports nothing, and the whole run waits for ever."""
        work = self.assigned_work[node]
        for scope in [scope for scope, tests in work.items() if all(tests.values())]:
            del work[scope]
        return super().remove_node(node)
