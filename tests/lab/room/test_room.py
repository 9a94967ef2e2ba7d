"""The one door of what a teacher runs."""

import pytest

from s02_tool_use.lab import room
from s02_tool_use.lab.start import verdict


@pytest.mark.parametrize("argv", [[], ["-h"], ["--help"]])
def test_without_a_command_it_says_which_there_are(argv, capsys):
    assert room.main(argv) == 0
    said = capsys.readouterr().out
    assert all(f"s02_tool_use room {name} " in said for name in room.COMMANDS)


def test_an_unknown_command_is_told_the_known_ones():
    said = room.main(["hbu"])
    assert said.startswith("There is no command 'room hbu'.\n\n")
    assert all(f"s02_tool_use room {name} " in said for name in room.COMMANDS)


@pytest.mark.parametrize("name", room.COMMANDS)
def test_each_command_is_a_module_that_explains_itself(name, capsys):
    with pytest.raises(SystemExit) as ended:
        room.main([name, "--help"])
    assert ended.value.code == 0
    assert f"room {name}" in capsys.readouterr().out


def test_ctrl_c_is_one_word(monkeypatch):
    def stop(argv):
        raise KeyboardInterrupt

    monkeypatch.setattr(verdict, "main", stop)
    assert room.main(["check"]) == "Stopped."
