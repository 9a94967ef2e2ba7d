"""The folder of wheels: what goes into it. That a first start works from it is proven in tests/machine."""

import re
import subprocess

import pytest

from s02_tool_use.lab.start import setup, wheels


def names(platform, python):
    return {re.match(r"[\w-]+", name)[0] for names in wheels.needed(platform, python) for name in names}


def test_each_platform_gets_what_only_it_needs():
    assert {"colorama", "pywinpty"} <= names("windows-x86_64", "3.12")
    assert not {"pexpect", "ptyprocess", "appnope"} & names("windows-x86_64", "3.12")
    assert {"pexpect", "ptyprocess", "appnope"} <= names("macos-arm64", "3.12")
    assert not {"colorama", "pywinpty", "appnope"} & names("linux-aarch64", "3.12")


def test_each_python_gets_what_only_it_needs():
    assert {"tomli", "exceptiongroup"} <= names("linux-x86_64", "3.10")
    assert not {"tomli", "exceptiongroup"} & names("linux-x86_64", "3.12")


def test_where_the_last_number_of_a_version_decides_both_are_there():
    soupsieve = [name for names in wheels.needed("linux-x86_64", "3.11") for name in names if "soupsieve" in name]
    assert len(set(soupsieve)) == 2


@pytest.mark.parametrize("platform", wheels.PLATFORMS)
def test_it_holds_what_the_set_up_asks_for_itself(platform):
    assert {"pip", "uv", "setuptools"} <= names(platform, "3.14")


def test_this_platform_is_one_of_them():
    assert setup.system() in wheels.PLATFORMS


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["--platform", "amiga"], "--platform amiga is not known. There are linux-x86_64, "),
        (["--python", "3.9"], "--python 3.9: name a version that the course runs on, such as 3.12."),
        (["--python", "new"], "--python new: name a version"),
    ],
)
def test_what_does_not_exist_is_refused_before_anything_is_downloaded(argv, said, tmp_path, monkeypatch):
    monkeypatch.setattr(wheels, "download", None)
    assert wheels.main([str(tmp_path), *argv]).startswith(said)


@pytest.mark.parametrize(
    ("stderr", "said"),
    [
        (
            "WARNING: x\nERROR: No matching distribution found for a==1",
            "ERROR: No matching distribution found for a==1\n",
        ),
        ("OSError: [Errno 28] No space left on device", "The disk is full"),
        ("NewConnectionError: Connection refused", "The first start installs from PyPI, which cannot be reached."),
    ],
)
def test_a_download_that_fails_is_a_sentence(stderr, said, tmp_path, monkeypatch):
    monkeypatch.setattr(subprocess, "run", lambda *a, **_: subprocess.CompletedProcess(a, 1, "", stderr))
    assert wheels.main([str(tmp_path)]).startswith(said)
