"""Edited files of the package: what is new counts, and what others hold stays the object that it is."""

import importlib
import os
import sys
from types import SimpleNamespace

import pytest

from s02_tool_use.lab.client import edited

FAULTS = "class ToolError(ValueError):\n    pass\n\n\ndef refuse():\n    raise ToolError('no')\n"
TOOLS = """import contextlib
from .faults import ToolError, refuse

LIMIT = 3
TABLE = [LIMIT]
STATE = {}
started = None


class Base:
    pass


class Reader(Base):
    size = 1

    def read(self):
        return super().__repr__() and f"old {self.size}"

    @property
    def short(self):
        return self.size


@contextlib.contextmanager
def opened():
    yield "old"


def look(path, limit=LIMIT):
    return f"{path} {limit}"


HANDLERS = {"look": look}
"""
USER = "from .tools import HANDLERS, LIMIT, TABLE, look\n\n\ndef called():\n    return look('a'), LIMIT\n"


@pytest.fixture
def house(tmp_path, monkeypatch):
    """A package of three modules; `house.edit(name, old, new)` edits one, and `house.reload()` takes it up."""
    folder = tmp_path / "house"
    folder.mkdir()
    for name, source in {"__init__": "", "faults": FAULTS, "tools": TOOLS, "user": USER}.items():
        (folder / f"{name}.py").write_text(source)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(edited, "PACKAGE", folder)
    monkeypatch.setattr(edited, "_written", {})
    monkeypatch.setattr(edited, "_running", {})
    modules = {name: importlib.import_module(f"house.{name}") for name in ("faults", "tools", "user")}
    edited.reload()
    clock = iter(range(2_000_000_000, 2_000_000_100))

    def edit(name, *pairs):
        path = folder / f"{name}.py"
        source = path.read_text()
        for old, new in pairs:
            assert old in source
            source = source.replace(old, new)
        path.write_text(source)
        when = next(clock)
        os.utime(path, (when, when))  # a file system may count in seconds

    yield SimpleNamespace(edit=edit, reload=edited.reload, **modules)
    for name in [name for name in sys.modules if name.split(".")[0] == "house"]:
        del sys.modules[name]


def test_an_edited_function_counts_where_it_was_imported_and_in_tables(house, capsys):
    before = house.user.look
    house.edit("tools", ('f"{path} {limit}"', 'f"new {path} {limit}"'))
    house.reload()
    assert house.user.called() == ("new a 3", 3)
    assert house.user.HANDLERS["look"]("b") == "new b 3"
    assert house.user.look is before is house.tools.look
    assert capsys.readouterr().out == "Reloaded: house/tools.py\n"


def test_nothing_is_said_and_done_when_nothing_was_edited(house, capsys):
    house.reload()
    house.edit("tools")  # saved as it is
    house.reload()
    assert capsys.readouterr().out == ""


def test_an_exception_goes_on_to_be_caught_by_those_who_imported_its_class(house):
    caught = house.tools.ToolError
    house.edit("faults", ("    pass", "    kind = 'new'"), ("'no'", "'really no'"))
    house.reload()
    assert house.faults.ToolError is caught
    with pytest.raises(caught, match="really no") as raised:
        house.tools.refuse()
    assert raised.value.kind == "new"


def test_an_object_of_an_edited_class_gets_the_new_methods(house):
    reader = house.tools.Reader()
    house.edit(
        "tools",
        ("old {self.size}", "new {self.size}"),
        ("return self.size", "return -self.size"),
        ("    pass", "    x = 5"),
    )
    house.reload()
    assert (reader.read(), reader.short, reader.x) == ("new 1", -1, 5)
    assert type(reader) is house.tools.Reader


def test_a_decorated_function_counts_too(house):
    opened = house.tools.opened
    house.edit("tools", ('yield "old"', 'yield "new"'))
    house.reload()
    with opened() as given:
        assert given == "new"


def test_a_changed_value_reaches_what_is_made_of_it_and_who_imported_it(house):
    table = house.user.TABLE
    house.edit("tools", ("LIMIT = 3", "LIMIT = 4"))
    house.reload()
    assert house.user.called() == ("a 4", 4)
    assert table == [4]
    assert house.user.TABLE is table


def test_what_the_program_has_put_into_a_variable_stays(house):
    house.tools.STATE["a"] = 1
    house.tools.started = "yes"
    house.edit("tools", ("LIMIT = 3", "LIMIT = 4"))
    house.reload()
    assert (house.tools.STATE, house.tools.started) == ({"a": 1}, "yes")


def test_two_files_that_need_each_others_news_are_taken_up_in_either_order(house):
    house.edit("user", ("import HANDLERS", "import MORE, HANDLERS"))
    house.edit("tools", ("LIMIT = 3", "LIMIT = 3\nMORE = 7"))
    sys.modules["house.tools"] = sys.modules.pop("house.tools")  # the one in need comes first
    house.reload()
    assert house.user.MORE == 7


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            "LIMIT = 3",
            "LIMIT = = 3",
            "Not reloaded: house/tools.py, line 4: invalid syntax. What was there before stays in force.\n",
        ),
        (
            "LIMIT = 3",
            "LIMIT = nothing",
            "Not reloaded: house/tools.py, line 4: NameError: name 'nothing' is not defined. ",
        ),
        (
            "import ToolError",
            "import Gone, ToolError",
            "Not reloaded: house/tools.py, line 2: ImportError: cannot import name",
        ),
    ],
)
def test_a_mistake_in_a_file_is_one_line_until_it_is_fixed(old, new, said, house, capsys):
    house.edit("tools", (old, new))
    for _ in range(2):
        house.reload()
        assert capsys.readouterr().out.startswith(said)
    assert house.user.called() == ("a 3", 3)
    house.edit("tools", (new, f"{old}  # fixed"))
    house.reload()
    assert capsys.readouterr().out == "Reloaded: house/tools.py\n"


def test_a_file_that_ends_in_an_error_changes_nothing_of_what_comes_before(house):
    house.edit("tools", ("LIMIT = 3", "LIMIT = 4"), ("HANDLERS = ", "nothing\nHANDLERS = "), ("{path}", "new {path}"))
    house.reload()
    assert house.user.called() == ("a 3", 3)
    assert house.tools.LIMIT == 3


def test_a_file_that_is_gone_for_a_moment_is_left_alone(house, capsys):
    path = edited.PACKAGE / "tools.py"
    path.rename(path.with_suffix(".away"))
    house.reload()
    assert capsys.readouterr().out == ""


def test_outside_of_ipython_nothing_is_read(monkeypatch):
    monkeypatch.setitem(sys.modules, "IPython", None)
    monkeypatch.setattr(edited, "_running", {})
    edited.watch()
    assert edited._running == {}


def test_a_shell_is_told_once(monkeypatch):
    told = []
    shell = SimpleNamespace(events=SimpleNamespace(register=lambda *given: told.append(given)))
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    monkeypatch.setattr(edited, "_shells", [])
    edited.watch()
    edited.watch()
    assert [name for name, _ in told] == ["pre_run_cell"]


def test_every_module_of_the_package_that_runs_again_leaves_what_others_hold(monkeypatch):
    import s02_tool_use
    from s02_tool_use.lab.client import connect  # noqa: F401

    monkeypatch.setattr(edited, "_written", {})
    monkeypatch.setattr(edited, "_running", {})
    edited.reload()
    public = {name: getattr(s02_tool_use, name) for name in s02_tool_use.__all__}
    for name, source in list(edited._running.items()):
        assert edited._run_again(name, source + b"\n# edited\n") is None, name
    assert {name: getattr(s02_tool_use, name) for name in public} == public
    for name, value in public.items():
        assert getattr(sys.modules[value.__module__], name) is value if hasattr(value, "__module__") else True
