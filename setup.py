"""Hands the first part of requirements.txt to setuptools, whose own reader of it takes neither -c nor a second part."""

from itertools import takewhile
from pathlib import Path

from setuptools import setup

lines = (Path(__file__).parent / "requirements.txt").read_text("utf-8").splitlines()
ours = takewhile(lambda line: not line.startswith("# What the tests"), lines)
setup(install_requires=[line.partition("#")[0] for line in ours if line[0] not in "-#"])
