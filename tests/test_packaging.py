"""What pyproject.toml says of the package is what CI tries and the pages tell."""

import re
import tomllib
from pathlib import Path

import tapec

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
PYTHON = "Programming Language :: Python :: 3."


def test_the_version_stands_in_one_place():
    assert "version" in PROJECT["project"]["dynamic"]
    assert PROJECT["tool"]["hatch"]["version"]["path"] == "tapec/__init__.py"
    released = re.findall(r"^## (\S+)", (ROOT / "docs/changelog.md").read_text(), re.MULTILINE)
    assert released[0] == tapec.__version__.removesuffix(".dev0")


def test_pythons_are_those_that_ci_looks_for():
    told = [c.removeprefix(PYTHON) for c in PROJECT["project"]["classifiers"] if c.startswith(PYTHON)]
    tried = re.search(r"for version in (.*?);", (ROOT / ".ci/common.sh").read_text())[1]
    assert told == [version.partition(":")[0] for version in tried.split()]
    assert PROJECT["project"]["requires-python"] == f">=3.{told[0]}"
    assert f"3.{told[0]} to 3.{told[-1]}" in (ROOT / "docs/versions.md").read_text()


def test_the_oldest_numpy_is_the_one_that_ci_installs():
    oldest = re.search(r"for version in \d+:(\S+)", (ROOT / ".ci/common.sh").read_text())[1]
    assert f"numpy>={oldest}" in PROJECT["project"]["dependencies"]
    assert f"| NumPy | {oldest} and newer |" in (ROOT / "docs/versions.md").read_text()
