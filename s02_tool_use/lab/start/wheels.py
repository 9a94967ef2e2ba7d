"""`room wheels`: a folder of all that the first start installs. As wheels/ in the folder of the course it is found.

What constraints.txt pins, and what the set-up itself asks for, comes as wheels for each platform and Python that is
named. Nothing is built or resolved: the pins are exact, and their markers say who needs which.
"""

import argparse
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from . import setup

# What the set-up asks for beside the pins: uv or pip installs, setuptools builds the course's own entry.
TOOLS = ["pip", "uv", "setuptools>=77"]
GLIBC = [f"manylinux_2_{minor}" for minor in range(5, 29)] + ["manylinux1", "manylinux2010", "manylinux2014"]  # 2018
# Macs with an Intel processor are left out: argon2-cffi-bindings has no wheels for them any more.
# name -> (what markers ask: os_name, sys_platform, platform_system; the tags of wheels that run there)
PLATFORMS = {
    "linux-x86_64": (("posix", "linux", "Linux"), [f"{tag}_x86_64" for tag in GLIBC]),
    "linux-aarch64": (("posix", "linux", "Linux"), [f"{tag}_aarch64" for tag in GLIBC]),
    "macos-arm64": (("posix", "darwin", "Darwin"), ["macosx_13_0_arm64"]),
    "windows-x86_64": (("nt", "win32", "Windows"), ["win_amd64"]),
}
PATCHES = (0, 99)  # a pin may depend on the last number of Python's version, which nobody knows here


def main(argv: Sequence[str]) -> int | str:
    """Fill the folder. Returns 0, or a sentence about what could not be had."""
    here = f"3.{sys.version_info[1]}"
    parser = argparse.ArgumentParser(prog="python3 -m s02_tool_use room wheels", description=__doc__.split("\n")[0])
    parser.add_argument("folder", metavar="DIR", nargs="?", type=Path, default=setup.WHEELS)
    parser.add_argument("--platform", action="append", help=f"may be repeated: {', '.join(PLATFORMS)} or all")
    parser.add_argument("--python", action="append", help=f"such as 3.12, may be repeated; without it {here}")
    given = parser.parse_args(argv)
    platforms = list(PLATFORMS) if "all" in (given.platform or ()) else given.platform or [setup.system()]
    for name in platforms:
        if name not in PLATFORMS:
            return f"--platform {name} is not known. There are {', '.join(PLATFORMS)} and all."
    for version in given.python or [here]:
        if not re.fullmatch(r"3\.1\d", version):
            return f"--python {version}: name a version that the course runs on, such as 3.12."
        for name in platforms:
            print(f"{name}, Python {version} ...", flush=True)
            if fault := download(given.folder, name, version):
                return fault
    sizes = [path.stat().st_size for path in given.folder.glob("*.whl")]
    print(f"{len(sizes)} wheels, {sum(sizes) / 1e6:.0f} MB, in {given.folder}")
    if given.folder.resolve() != setup.WHEELS.resolve():
        print(f"Copied into the folder of the course, under the name {setup.WHEELS.name}, the first start finds it.")
    return 0


def needed(name: str, version: str) -> list[list[str]]:
    """What a first start installs there: exact versions and the set-up's tools; a list for each of PATCHES."""
    from packaging.requirements import Requirement  # not in the standard library

    marks = dict(zip(("os_name", "sys_platform", "platform_system"), PLATFORMS[name][0], strict=True))
    marks |= {"implementation_name": "cpython", "platform_python_implementation": "CPython", "python_version": version}
    pins = [Requirement(line) for line in setup.FILES[1].read_text("utf-8").splitlines()]
    lists = []
    for patch in PATCHES:
        there = {**marks, "python_full_version": f"{version}.{patch}"}
        found = [f"{pin.name}{pin.specifier}" for pin in pins if not pin.marker or pin.marker.evaluate({**there})]
        lists.append(found + TOOLS)
    return lists


def download(folder: Path, name: str, version: str) -> str:
    """Download what is needed there. Returns "" or a sentence about what failed."""
    tags = [f"--platform={tag}" for tag in PLATFORMS[name][1]]
    kind = ["--only-binary=:all:", "--no-deps", "--implementation=cp", *tags]
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", *kind]
    for patch, names in zip(PATCHES, needed(name, version), strict=True):
        command = [*pip, f"--python-version={version}.{patch}", "--dest", str(folder), *names]
        done = subprocess.run(command, capture_output=True, encoding="utf-8", errors="replace")
        if done.returncode:
            said = "\n".join(line for line in done.stderr.splitlines() if not line.startswith("WARNING"))
            return setup.cause(said) or f"{said}\nThe folder is not complete for {name} with Python {version}."
    return ""
