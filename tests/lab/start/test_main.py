"""`python3 -m s02_tool_use`: what it makes of its arguments. That it works is proven in test_setup."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from waiting import PATIENCE_SECONDS

from s02_tool_use import __main__ as command
from s02_tool_use.lab.start import setup

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def started(monkeypatch, tmp_path):
    """What would have been started, instead of it."""
    seen = []
    monkeypatch.setattr(setup, "environment", lambda: "PYTHON")
    monkeypatch.setattr(setup, "is_ready", lambda: True)
    monkeypatch.setattr(command, "hand_over", lambda line: seen.append((line, Path.cwd())))
    monkeypatch.setenv("JUPYTER_CONFIG_PATH", "before")
    monkeypatch.chdir(tmp_path)

    def start(*arguments):
        assert command.main(list(arguments)) is None
        return seen.pop()

    return start


LAB = ["PYTHON", "-m", "s02_tool_use.lab.start.fast_imports", "jupyterlab"]


@pytest.mark.parametrize("arguments", [[], ["--no-browser"], ["--port", "8899", "--ip=0.0.0.0"]])
def test_what_follows_goes_to_jupyterlab(arguments, started):
    assert started(*arguments) == ([*LAB, *arguments], ROOT)
    assert started("lab", *arguments) == ([*LAB, *arguments], ROOT)


def test_a_file_that_exists_is_opened_by_jupyterlab(started):
    Path("own.ipynb").touch()
    assert started("own.ipynb")[0] == [*LAB, "own.ipynb"]


def test_jupyterlab_finds_the_settings_of_the_course_before_those_of_others(started):
    started()
    folder, *others = os.environ["JUPYTER_CONFIG_PATH"].split(os.pathsep)
    assert (Path(folder) / "jupyter_server_config.py").is_file()
    assert (Path(folder) / "labconfig" / "default_setting_overrides.json").is_file()
    assert others == ["before"]


def test_test_runs_what_the_inner_loop_leaves_out_and_what_follows_goes_to_pytest(started):
    line, folder = started("test", "-x", "tests/test_main.py")
    assert folder == ROOT
    assert line[:4] == ["PYTHON", "-m", "pytest", "--nbval"]
    assert line[-2:] == ["-x", "tests/test_main.py"]
    assert started("test")[0] == line[:-2]


SIGNALS = """
import signal
print([n.name for n in signal.Signals if signal.getsignal(n) == signal.SIG_IGN], signal.pthread_sigmask(0, ()))
"""
BACKGROUND = """
import os, signal, sys
for name in ("SIGHUP", "SIGINT", "SIGQUIT", "SIGCHLD"):
    signal.signal(getattr(signal, name), signal.SIG_IGN)
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGUSR1})
os.execv(sys.executable, [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *sys.argv[1:]])
"""


@pytest.mark.skipif(os.name != "posix", reason="signals as POSIX has them")
def test_a_child_of_a_test_ignores_and_blocks_no_signal():
    done = subprocess.run([sys.executable, "-c", SIGNALS], capture_output=True, text=True)
    assert done.stdout == "['SIGPIPE', 'SIGXFSZ'] set()\n"  # these two are Python's own doing


@pytest.mark.skipif(os.name != "posix", reason="signals as POSIX has them")
@pytest.mark.parametrize("cores", ["-n0", "-n1"])
def test_nor_does_it_when_the_tests_run_in_the_background_of_a_script(cores):
    test = f"{__file__}::test_a_child_of_a_test_ignores_and_blocks_no_signal"
    command = [sys.executable, "-c", BACKGROUND, cores, test]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_chat_works_in_the_current_folder(started, tmp_path):
    line, folder = started("chat", "--yes")
    assert line[:2] == ["PYTHON", "-c"]
    assert "from s02_tool_use.lab.terminal import main" in line[2]
    assert line[3:] == ["--yes"]
    assert folder == tmp_path


@pytest.mark.parametrize("arguments", [["doctor"], ["room"], ["room", "--help"], ["room", "check"]])
def test_what_only_looks_installs_nothing(arguments, started, monkeypatch):
    monkeypatch.setattr(setup, "is_ready", lambda: False)
    line, _ = started(*arguments)
    assert line[0] == sys.executable
    assert f"lab.{'start.doctor' if arguments == ['doctor'] else 'room'} import main" in line[2]
    assert line[3:] == arguments[1:]


def test_what_a_room_runs_has_the_environment(started, monkeypatch):
    monkeypatch.setattr(setup, "is_ready", lambda: False)
    assert started("room", "wheels", "check")[0][0] == "PYTHON"


def test_an_unknown_command_is_told_the_known_ones():
    said = command.main(["tset"])
    assert said.startswith("There is no command 'tset'.\n\npython3 -m s02_tool_use ")


@pytest.mark.parametrize("argument", ["-h", "--help"])
def test_help_names_each_command(argument, capsys):
    assert command.main([argument]) == 0
    out = capsys.readouterr().out
    assert all(f"s02_tool_use {name}" in out for name in command.COMMANDS if name != "lab")


@pytest.mark.parametrize("version", [(3, 6, 15), (3, 9, 18)])
def test_a_python_that_is_too_old_is_told_so_before_anything_else(version, monkeypatch):
    monkeypatch.setattr(sys, "version_info", version)
    assert command.main(["--help"]).startswith(f"Python 3.10 or newer is needed, this is 3.{version[1]}.")


def test_what_stands_in_the_way_is_one_sentence(monkeypatch):
    def fail():
        raise setup.SetupError("The disk is full.")

    monkeypatch.setattr(setup, "environment", fail)
    assert command.main([]) == "The disk is full."


def test_ctrl_c_during_the_install_is_no_traceback(monkeypatch):
    def stop():
        raise KeyboardInterrupt

    monkeypatch.setattr(setup, "environment", stop)
    assert command.main([]) == "Stopped. The next start goes on from here."


def test_the_exit_status_is_that_of_what_was_started():
    command = "sys.exit(hand_over([sys.executable, '-c', 'raise SystemExit(7)']))"
    code = f"from s02_tool_use.__main__ import hand_over; import sys; {command}"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 7


@pytest.mark.skipif(os.name != "posix", reason="sends the signal of Ctrl-C")
def test_where_a_process_cannot_be_replaced_ctrl_c_is_left_to_the_child():
    # The child takes its time: on POSIX the interrupt must not meet the moment in which the parent learns of its end.
    handler = "lambda *_: (time.sleep(1), exit(5))"
    child = f"import signal, time; signal.signal(2, {handler}); print('up', flush=True); signal.pause()"
    hand_over = f"from s02_tool_use.__main__ import hand_over; sys.exit(hand_over([sys.executable, '-c', {child!r}]))"
    code = f"import os, sys; os.name = 'nt'; {hand_over}"
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, start_new_session=True)
    assert process.stdout.readline() == "up\n"
    time.sleep(0.1)
    os.killpg(process.pid, signal.SIGINT)
    process.communicate(timeout=PATIENCE_SECONDS)
    assert process.returncode == 5


# ---- fast_imports.py


def test_the_slow_import_is_kept_out_and_the_formats_of_jsonschema_still_work():
    code = (
        "import s02_tool_use.lab.start.fast_imports, sys, nbformat, jsonschema\n"
        "assert sys.modules['rfc3987_syntax'] is None and 'lark' not in sys.modules\n"
        "checker = jsonschema.Draft202012Validator.FORMAT_CHECKER\n"
        "assert checker.conforms('2026-01-01', 'date') and not checker.conforms('yesterday', 'date')\n"
        "assert checker.conforms('http://a/b', 'uri') and not checker.conforms('::', 'uri')\n"
        "cell = nbformat.v4.new_code_cell('1'); book = nbformat.v4.new_notebook(cells=[cell])\n"
        "nbformat.validate(book); book.cells[0].cell_type = 'song'\n"
        "try: nbformat.validate(book)\n"
        "except nbformat.ValidationError: print('refused')\n"
    )
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("refused\n", "")


def test_pytest_keeps_it_out_too():
    assert sys.modules["rfc3987_syntax"] is None, "fast_imports.py was loaded after nbval"
    assert "nbformat" in sys.modules


def test_it_runs_a_module_in_the_place_of_python():
    line = [sys.executable, "-m", "s02_tool_use.lab.start.fast_imports", "json.tool", "--compact"]
    done = subprocess.run(line, input='{"a": 1}', capture_output=True, text=True)
    assert (done.stdout.strip(), done.stderr) == ('{"a":1}', "")
