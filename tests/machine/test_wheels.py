"""A first start without network, from the folder that `room wheels` filled. Needs PyPI once, to fill it."""

import os
import shutil
import subprocess

import pytest
from copies import BASE as PYTHON
from copies import copy_course

from s02_tool_use.lab.start import setup, wheels

NO_NETWORK = ["unshare", "-n"]


@pytest.fixture(scope="module")
def stick(tmp_path_factory):
    """The course on a stick, with its folder of wheels, which holds some of another platform too."""
    if not shutil.which("unshare") or subprocess.run([*NO_NETWORK, "true"], capture_output=True).returncode:
        pytest.skip("needs the right to take the network away")
    folder = copy_course(tmp_path_factory.mktemp("stick") / "Übung mit Leerzeichen")
    for extra in ([], ["--platform", "windows-x86_64"]):
        said = wheels.main([str(folder / "wheels"), *extra])
        if "cannot be reached" in str(said):
            pytest.skip("PyPI cannot be reached, and the wheels come from it")
        assert said == 0
    return folder


def first_start(folder, home, **more):
    """A first start on a machine with Python and nothing else: no network, no uv, no cache."""
    (home / "bin").mkdir(parents=True)
    env = {"HOME": str(home), "PATH": str(home / "bin"), "LC_ALL": "C.UTF-8", "PIP_RETRIES": "1", **more}
    command = [shutil.which("unshare"), "-n", PYTHON, "-m", "s02_tool_use", "test", "--version"]
    return subprocess.run(command, cwd=folder, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True)


@pytest.mark.parametrize("without", ["", "pip"])
def test_with_a_folder_of_wheels_a_first_start_needs_no_network(without, stick, tmp_path):
    more = {}
    if without:  # such as Debian's Python
        for name in ("pip", "ensurepip"):
            (tmp_path / f"{name}.py").write_text(f"raise SystemExit('No module named {name}')")
        more = {"PYTHONPATH": str(tmp_path)}
        shutil.rmtree(stick / ".venv")
    done = first_start(stick, tmp_path / "home", **more)
    assert (done.returncode, done.stdout) == (0, f"pytest {pytest.__version__}\n"), done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert set(os.listdir(stick)) >= {".venv", "wheels"}


def test_what_is_missing_in_it_is_named(stick, tmp_path):
    folder = copy_course(tmp_path / "course")
    (folder / "wheels").mkdir()
    for file in (stick / "wheels").iterdir():
        if not file.name.startswith("anyio"):
            (folder / "wheels" / file.name).symlink_to(file)
    done = first_start(folder, tmp_path / "home")
    assert done.returncode == 1
    _, *said = done.stderr.splitlines()
    assert "(anyio " in said[0]
    assert f"room wheels --platform {setup.system()} --python " in said[0]
    assert said[1] == "Installing from PyPI ..."
    assert said[2].startswith("The first start installs from PyPI, which cannot be reached.")
    assert len(said) == 3
