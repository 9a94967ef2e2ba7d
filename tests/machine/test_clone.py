"""A clone as Git for Windows makes it, which turns line ends into CRLF unless .gitattributes says otherwise."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def git(*arguments, cwd):
    done = subprocess.run(["git", *arguments], cwd=cwd, capture_output=True, encoding="utf-8")
    assert not done.returncode, done.stderr
    return done.stdout


@pytest.mark.skipif(
    not (shutil.which("git") and (ROOT / ".git").exists()) and "CI" not in os.environ,
    reason="this is no clone, or git is not here",
)
def test_a_clone_with_the_line_ends_of_windows_has_no_file_with_them(tmp_path):
    git("clone", "--quiet", "--no-hardlinks", "-c", "core.autocrlf=true", str(ROOT), "clone", cwd=tmp_path)
    clone = tmp_path / "clone"
    kinds = [line.split("\t") for line in git("ls-files", "--eol", "-z", cwd=clone).split("\0")[:-1]]
    assert len(kinds) > 200
    text = [name for kind, name in kinds if not kind.startswith("i/-text")]
    assert not [name for name in text if b"\r\n" in (clone / name).read_bytes()]
    binary = {Path(name).suffix for kind, name in kinds if kind.startswith("i/-text")}
    attributes = (clone / ".gitattributes").read_text(encoding="utf-8")
    assert all(f"*{suffix} binary\n" in attributes for suffix in binary)
    assert git("status", "--porcelain", cwd=clone) == ""
