"""Hermetic tests: no key, endpoint or .env of the machine leaks in, and every workspace is a temporary folder."""

import contextlib
import gc
import os
import signal
import threading
from pathlib import Path

import pytest
import systems
from hypothesis import settings

import s02_tool_use
import s02_tool_use.workspace
from s02_tool_use.calls import secrets
from s02_tool_use.files import names, opening, patterns

# Examples that failed are not kept: the folder may belong to somebody else. A busy machine breaks any deadline.
settings.register_profile("hermetic", database=None, deadline=None, max_examples=60)
settings.register_profile("everything", settings.get_profile("hermetic"), max_examples=300)
settings.load_profile("hermetic")


def _leaks():
    ours = ("API_KEY", "BASE_URL", "MODEL_ID", "MAX_TOKENS", "PRICES")
    return [name for name in os.environ if name in ours or name.startswith(("ANTHROPIC_", "CLAUDE_", "S02_"))]


# At import as well: the kernels that nbval starts inherit the environment before any fixture runs.
for _name in _leaks():
    del os.environ[_name]


def pytest_configure(config):
    """Whoever started the tests may ignore or block signals (nohup, the background of a script): no child inherits it.

    What was ignored gets a handler that does nothing, so it still is; a handler ends where another program begins.
    """
    if config.option.nbval:  # all tests are run
        settings.load_profile("everything")
    if os.name == "nt" or config.option.dist != "no":  # xdist: this process only tells others what to run
        return
    for number in signal.valid_signals() - {signal.SIGPIPE, signal.SIGXFSZ}:  # Python's own, which subprocess resets
        if signal.getsignal(number) == signal.SIG_IGN:
            signal.signal(number, lambda *_: None)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())


@pytest.fixture(autouse=True)
def no_leaks(monkeypatch):
    for name in _leaks():
        monkeypatch.delenv(name)
    monkeypatch.setattr(secrets, "_files", set())  # what one test registers is none of the next one's business
    monkeypatch.setattr(secrets, "_forms", ())
    monkeypatch.setattr(s02_tool_use.workspace, "_default", None)  # and what it leaves as workspace is deleted


if systems.ON_WINDOWS:
    _write_text = Path.write_text

    def _write_as_it_is(self, data, encoding="utf-8", errors=None, newline="\n"):
        return _write_text(self, data, encoding, errors, newline)

    Path.write_text = _write_as_it_is  # what a test writes is what it then expects: LF, in UTF-8

    @pytest.hookimpl(wrapper=True)
    def pytest_pyfunc_call(pyfuncitem):
        with systems.without_posix():
            return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(fixturedef):
        with systems.without_posix():
            return (yield)


if not systems.LINKS:

    @pytest.fixture(autouse=True)
    def no_links(monkeypatch):
        for place, name in ((os, "symlink"), (Path, "symlink_to")):
            monkeypatch.setattr(place, name, systems.no_link)


@pytest.fixture(autouse=True)
def pinned():
    """What a test leaves to the collector, such as a child that still runs, is found in it and not in a later one."""
    gc.freeze()  # what was there before costs nothing, and is nobody's fault
    gc.callbacks.clear()  # in one, such as hypothesis', an exception that is raised from outside is lost
    yield
    gc.collect()
    gc.unfreeze()


@pytest.fixture(scope="session")
def part(pytestconfig):
    """The part of its rounds that a test against chance makes: all where all tests are run."""
    return 1 if pytestconfig.option.nbval else 0.2


@pytest.fixture
def workspace(tmp_path):
    """A fresh folder, the workspace of one test. It lies one level down, so that a test can put things beside it."""
    root = tmp_path / "work"
    root.mkdir()
    s02_tool_use.use_workdir(root)
    return root


@pytest.fixture
def windows_paths(monkeypatch):
    """The file tools as they are on Windows: a folder is its path, `\\` is a separator, no link is followed."""
    for module in (s02_tool_use.workspace, names, opening, patterns):
        monkeypatch.setattr(module, "ON_WINDOWS", True)
    monkeypatch.setattr(opening, "fcntl", None)


@pytest.fixture
def in_a_page(monkeypatch):
    """A browser page, as far as it can be had here: no thread starts, and nobody finds sockets."""
    from s02_tool_use.lab.client import endpoint

    def start(thread):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(s02_tool_use, "IN_A_PAGE", True)
    monkeypatch.setattr(threading.Thread, "start", start)
    monkeypatch.setattr(endpoint, "_server", None)


@pytest.fixture(params=["sockets", "page"])
def network(request):
    """Each test over sockets, and as a browser page has it: in one process, without any."""
    if request.param == "page":
        request.getfixturevalue("in_a_page")


@pytest.fixture
def scripted():
    """A function that takes a script and returns (client, model), as connect(script=...) does. Closes its clients."""
    from s02_tool_use.lab.client.endpoint import connect

    clients = []

    def make(script):
        client, model = connect(script=script)
        clients.append(client)
        return client, model

    yield make
    for client in clients:
        client.close()


@pytest.fixture
def live(monkeypatch):
    """A function that takes a script and returns (client, model) as connect() does for a live endpoint: the script."""
    from s02_tool_use.lab.api.server import Server
    from s02_tool_use.lab.client import endpoint
    from s02_tool_use.lab.understudy import Scripted

    with contextlib.ExitStack() as ends:

        def make(script):
            server = ends.enter_context(Server(Scripted(script)))
            monkeypatch.setenv("BASE_URL", server.url)
            monkeypatch.setenv("MODEL_ID", "small-model")
            client, model = endpoint.connect()
            ends.callback(client.close)
            return client, model

        yield make


@pytest.fixture
def ctrl_c():
    """A function that sends Ctrl-C to this process as soon as an event is set."""

    sent = []

    def send(event):
        press = threading.Thread(target=lambda: event.wait(20) and os.kill(os.getpid(), signal.SIGINT), daemon=True)
        press.start()
        sent.append((event, press))

    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # whoever started us may have it ignored
    yield send
    signal.signal(signal.SIGINT, lambda *_: None)  # one that comes late would end the next test, or this process
    for event, press in sent:
        if event.is_set():
            press.join()
    signal.signal(signal.SIGINT, before)
