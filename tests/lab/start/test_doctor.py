"""The doctor: each thing that can be wrong is named with what to do, and no key is ever in what it prints."""

import base64
import collections
import os
import shutil
import subprocess
import sys
import tempfile
from importlib import metadata
from pathlib import Path, PureWindowsPath

import pytest

from s02_tool_use import shell
from s02_tool_use.bash import program, sandbox
from s02_tool_use.lab.api.server import Server
from s02_tool_use.lab.client import endpoint, settings
from s02_tool_use.lab.start import doctor, setup
from s02_tool_use.lab.understudy.reply import Understudy

ROOT = Path(__file__).resolve().parents[3]
KEY = "sk-secret-0123456789"


@pytest.fixture
def course(tmp_path, monkeypatch):
    """An empty folder as the root of the course, and as the current one."""
    (tmp_path / "notebooks").mkdir()
    shutil.copy(ROOT / ".env.example", tmp_path)
    monkeypatch.setattr(setup, "ROOT", tmp_path)
    monkeypatch.setattr(setup, "has_everything", lambda: True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def says(check):
    return [f"{mark} {sentence}" for mark, sentence in check()]


def test_this_environment_is_in_order(capsys):
    if not setup.has_everything():
        pytest.skip("these tests run in an environment that was not made for the course")
    assert doctor.main([]) == 0, capsys.readouterr().out
    out = capsys.readouterr().out
    assert "a notebook's kernel starts and finds the course" in out
    assert "WRONG" not in out
    assert out.endswith("Nothing is wrong.\n")


def test_in_a_browser_page_there_is_nothing_to_look_at(monkeypatch, capsys):
    monkeypatch.setattr("s02_tool_use.IN_A_PAGE", True)
    assert doctor.main() == 0
    assert capsys.readouterr().out.startswith("A browser page has nothing to set up")


def test_before_the_environment_stands_it_says_what_it_could_not_look_at(tmp_path):
    shutil.copytree(ROOT / "s02_tool_use", tmp_path / "s02_tool_use")
    for file in setup.FILES:
        shutil.copy(file, tmp_path)
    (tmp_path / "notebooks").mkdir()
    python = getattr(sys, "_base_executable", sys.executable)
    env = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")} | {
        "HTTPS_PROXY": "http://me:pw@127.0.0.1:9"
    }
    done = subprocess.run(
        [python, "-B", "-m", "s02_tool_use", "doctor"], cwd=tmp_path, env=env, capture_output=True, text=True
    )
    assert done.stderr == ""
    assert f"there is no .venv yet. The first start makes it: {doctor.START}" in done.stdout
    assert "   ?  no kernel can be started" in done.stdout
    assert "HTTPS_PROXY is set (127.0.0.1:9)" in done.stdout
    assert "pw" not in done.stdout.replace(str(tmp_path), "")
    assert "WRONG  PyPI" in done.stdout
    assert done.returncode == 1
    assert not (tmp_path / ".venv").exists()


def test_a_check_that_fails_is_a_finding_and_the_others_go_on(monkeypatch, capsys):
    def text():
        raise RuntimeError("no idea")

    for name in ("packages", "kernel", "endpoint"):  # the slow ones
        monkeypatch.setattr(doctor, name, lambda: iter(()))
    monkeypatch.setattr(doctor, "text", text)
    assert doctor.main([]) == 1
    out = capsys.readouterr().out
    assert "WRONG  the check of text failed: RuntimeError: no idea" in out
    assert "is writable" in out


@pytest.mark.parametrize(
    "line", ["API_KEY={}", "# export OPENAI_API_KEY='{}'", "BASE_URL=https://me:{}@host", "MODEL_ID={}"]
)
def test_whatever_a_check_says_no_secret_of_the_file_is_printed(line, course, monkeypatch, capsys):
    (course / ".env").write_text(line.format(KEY) + "\n")
    for name in ("packages", "kernel", "network", "folders", "shell"):
        monkeypatch.setattr(doctor, name, lambda: iter(()))
    encoded = base64.b64encode(KEY.encode()).decode()
    monkeypatch.setattr(doctor, "text", lambda: [(doctor.NOTE, f"it is {KEY}, {encoded}")])
    monkeypatch.setattr(doctor, "environment", lambda: [][KEY])
    monkeypatch.setattr(doctor, "python", lambda: {}[KEY])
    doctor.main([])
    out = capsys.readouterr().out
    assert out.count("[key removed]") >= 3
    assert KEY not in out
    assert encoded[:-4] not in out


def test_no_key_and_no_home_folder_is_printed(course, monkeypatch, capsys):
    monkeypatch.setenv("OTHER_API_KEY", KEY)
    (course / ".env").write_text(f"API_KEY={KEY}2\n")
    for name in ("packages", "kernel", "endpoint"):
        monkeypatch.setattr(doctor, name, lambda: iter(()))
    monkeypatch.setattr(doctor, "text", lambda: [(doctor.NOTE, f"{KEY} and {KEY}2 in {Path.home() / 'course'}")])
    doctor.main([])
    out = capsys.readouterr().out
    assert "[key removed] and [key removed] in ~" in out
    assert KEY not in out


# ---- .env


@pytest.mark.parametrize("name", [".env.txt", "env", ".env.example.txt"])
def test_an_env_file_with_a_wrong_name_is_found(name, course):
    (course / name).write_text(f"API_KEY={KEY}\n")
    (said,) = says(doctor.settings)
    assert said == f"WRONG {course / name} is not read: its name must be .env, with nothing after it"


def test_a_key_in_the_example_is_found(course):
    example = course / ".env.example"
    example.write_text(example.read_text(encoding="utf-8").replace(settings.PLACEHOLDER, KEY), encoding="utf-8")
    (said,) = says(doctor.settings)
    assert said.startswith("WRONG there is a key in .env.example")
    assert KEY not in said


def test_the_example_as_it_is_delivered_is_fine(course):
    assert says(doctor.settings) == []


def test_a_folder_with_the_name_of_the_file(course):
    (course / ".env").mkdir()
    assert says(doctor.settings)[0].endswith("is a folder: it must be a file")


def test_a_key_that_is_still_the_placeholder_is_a_note(course):
    shutil.copy(".env.example", ".env")
    (said,) = says(doctor.endpoint)
    assert said.startswith("note Offline")
    assert "placeholder" in said


def test_settings_that_cannot_work_are_told_in_the_words_of_connect(course):
    (course / ".env").write_text(f'API_KEY=" {KEY}"\nMODEL_ID=m\n')
    (said,) = says(doctor.endpoint)
    assert said.startswith("WRONG API_KEY in .env")
    assert KEY not in said


# ---- the endpoint


def test_an_endpoint_that_answers(course):
    with Server(Understudy()) as server:
        (course / ".env").write_text(f"API_KEY={KEY}\nBASE_URL={server.url}\nMODEL_ID=m\n")
        said = says(doctor.endpoint)
    assert [line.split()[0] for line in said] == ["ok", "ok"]
    assert said[1].endswith("can be reached")
    assert KEY not in "".join(said)


def test_an_endpoint_where_nobody_listens(course):
    (course / ".env").write_text(f"API_KEY={KEY}\nBASE_URL=http://127.0.0.1:9\nMODEL_ID=m\n")
    said = says(doctor.endpoint)
    assert said[1].startswith("WRONG 127.0.0.1:9 cannot be reached. Is its server running")


def test_a_key_that_is_refused(course, monkeypatch):
    class Refused(Exception):
        status_code = 401

    class Models:
        def list(self):
            raise Refused

    class Client:
        base_url = "https://me:pw@models.example/"
        models = Models()

        def with_options(self, **_):
            return self

    def connect():
        print("Online: m")
        return Client(), "m"

    monkeypatch.setattr(endpoint, "connect", connect)
    assert says(doctor.endpoint) == [
        "ok Online: m",
        "WRONG models.example refuses the key: copy it again, or make a new one",
    ]


# ---- the machine


def test_a_package_that_is_missing_or_of_another_version(monkeypatch, tmp_path):
    pins = tmp_path / "constraints.txt"
    pins.write_text(
        "no-such-package==1.0\npytest==0.1\nanother-package==1.0 ; sys_platform == 'nowhere'\nruff==0.17.6\n"
    )
    monkeypatch.setattr(setup, "FILES", [setup.FILES[0], pins, *setup.FILES[2:]])
    monkeypatch.setattr(setup, "has_everything", lambda: True)
    said = says(doctor.packages)
    assert said[0].startswith("WRONG no-such-package is missing, the course has ==1.0.")
    assert said[1].startswith(f"WRONG pytest is {pytest.__version__}, the course has ==0.1.")
    assert len(said) == 3


def test_variables_that_change_what_python_imports_are_named(monkeypatch):
    monkeypatch.setenv("PYTHONPATH", "/opt/robot")
    assert any(line.startswith("note PYTHONPATH is set") for line in says(doctor.python))


def test_the_state_of_the_environment(course, monkeypatch):
    monkeypatch.setattr(setup, "has_everything", lambda: False)
    monkeypatch.setattr(setup, "VENV", course / ".venv")
    monkeypatch.setattr(setup, "is_ready", lambda: False)
    assert says(doctor.environment)[0].startswith("note there is no .venv yet")
    (course / ".venv").mkdir()
    assert says(doctor.environment)[0].endswith(f"The next start repairs it: {doctor.START}")
    monkeypatch.setattr(setup, "is_ready", lambda: True)
    assert says(doctor.environment)[0].startswith("ok the environment is complete")


def test_a_shell_without_bubblewrap_is_a_note_and_a_missing_bash_is_wrong(monkeypatch):
    monkeypatch.setattr(
        sandbox, "sandbox_status", lambda: (False, "no bubblewrap: bash can reach whatever you can reach")
    )
    monkeypatch.setattr(program, "which_bash", lambda: None)
    said = says(doctor.shell)
    assert said[0] == f"WRONG there is no bash, and cells of the notebooks will fail: {program.INSTALL[os.name]}"
    assert said[1] == "note no bubblewrap: bash can reach whatever you can reach"
    assert said[2] == "note so a command can find a key: in .env, and in the environment of another process of yours"


def test_on_windows_git_is_what_to_install_for_a_bash(monkeypatch):
    assert "Git for Windows" in program.INSTALL["nt"]
    monkeypatch.setattr(os, "name", "nt")
    monkeypatch.setattr(program, "which_bash", lambda: None)
    monkeypatch.setattr(sandbox, "sandbox_status", lambda: (True, "bubblewrap"))
    said = says(doctor.shell)
    monkeypatch.undo()
    assert said[0].startswith("WRONG there is no bash, and cells of the notebooks will fail: install Git for Windows")


def test_the_doctor_names_the_bash_that_the_tool_runs(monkeypatch):
    git = r"C:\Program Files\Git\bin\bash.exe"
    for module in (program, shell):
        monkeypatch.setattr(module, "ON_WINDOWS", True)
    monkeypatch.setattr(program, "windows_bash", lambda variables: git)
    assert says(doctor.shell)[0] == f"ok the bash tool runs {git}"
    assert shell._bash() == ([git, "-c", "--"], [])


# ---- how long a path may be on Windows


@pytest.mark.parametrize(
    ("venv", "longest", "mark", "said"),
    [
        (r"C:\course\.venv", 166, "ok", "the longest here has 182: 77 are left"),
        ("C:\\" + "x" * 80 + r"\.venv", 169, "ok", ": 0 are left"),
        ("C:\\" + "x" * 80 + r"\.venv", 170, "WRONG", "1 characters too long"),
        (
            r"C:\Users\firstname.lastname\OneDrive - A Company with a Name\Documents\Courses\tool-use-course\.venv",
            166,
            "WRONG",
            "Move it to a shorter one",
        ),
    ],
)
def test_the_path_that_is_left_on_windows_is_measured(venv, longest, mark, said):
    found, sentence = doctor.room_for_paths(PureWindowsPath(venv), longest)
    assert (found, said in sentence) == (mark, True), sentence


def test_the_longest_path_is_that_of_the_packages_that_are_there(monkeypatch, tmp_path):
    monkeypatch.setattr(doctor, "_long_paths", lambda: False)
    monkeypatch.setattr(setup, "has_everything", lambda: True)
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    (tmp_path / "Lib").mkdir()
    (tmp_path / "Lib" / ("x" * 100)).touch()
    assert says(doctor.paths) == [" ".join(doctor.room_for_paths(tmp_path, len("Lib") + 101))]
    monkeypatch.setattr(setup, "has_everything", lambda: False)
    monkeypatch.setattr(setup, "VENV", tmp_path / ".venv")
    assert says(doctor.paths) == [" ".join(doctor.room_for_paths(setup.VENV, doctor.LONGEST))]


def test_before_the_packages_are_there_the_doctor_expects_what_they_bring():
    longest = max(
        len(f"Lib/site-packages/{file.parent / '__pycache__' / file.stem}.cpython-313.pyc")
        for dist in metadata.distributions()
        for file in dist.files or ()
        if file.suffix == ".py"
    )
    assert doctor.LONGEST - 30 <= longest <= doctor.LONGEST


def test_where_paths_may_have_any_length_nothing_is_said():
    assert says(doctor.paths) == [] or os.name == "nt"


def test_what_the_doctor_finds_can_be_asked_for_line_by_line(course, monkeypatch):
    for name in ("packages", "kernel", "endpoint", "network", "folders", "environment", "python", "shell", "paths"):
        monkeypatch.setattr(doctor, name, lambda: iter(()))
    monkeypatch.setenv("OTHER_API_KEY", KEY)
    monkeypatch.setattr(doctor, "text", lambda: [(doctor.WRONG, f"{KEY} in {Path.home() / 'course'}")])
    assert list(doctor.findings()) == [("WRONG", f"[key removed] in {Path('~') / 'course'}")]


def test_where_bash_is_confined_nothing_is_said_about_keys(monkeypatch):
    monkeypatch.setattr(sandbox, "sandbox_status", lambda: (True, "bubblewrap"))
    assert says(doctor.shell)[1:] == ["ok bubblewrap"]


def test_a_disk_that_is_nearly_full(course, monkeypatch):
    usage = collections.namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: usage(10**12, 10**12, 10**8))
    assert all(line.endswith("0.1 GB free: that is too little, make room") for line in says(doctor.folders)[:3])


def test_a_folder_that_is_not_writable(course, monkeypatch):
    def refuse(dir):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(tempfile, "TemporaryFile", refuse)
    assert (
        says(doctor.folders)[0]
        == f"WRONG {course} is not writable (Permission denied): notebooks cannot be saved there"
    )


def test_a_terminal_that_is_not_utf_8_is_a_note(monkeypatch):
    class Terminal:
        encoding = "cp1252"

    monkeypatch.setattr(sys, "stdout", Terminal())
    said = says(doctor.text)
    monkeypatch.undo()
    assert said[0].startswith("note this terminal uses cp1252")
