"""The page "Where it is decided" names files, functions and constants that are there, and the constants' values."""

import ast
import re
from pathlib import Path

import pytest

from docs.blocks import ROOT

PACKAGE = ROOT / "tapec"
TEXT = (ROOT / "docs" / "where-it-is-decided.md").read_text(encoding="utf-8")
ROWS = [[c.strip() for c in line.strip("| \n").split(" | ")] for line in TEXT.splitlines() if line.startswith("| ")]
WHERE = [
    (file, names)
    for row in ROWS
    for file, names in re.findall(r"`([\w/]+\.py)`: ((?:`[\w.]+`(?: \([^)]*\))?,? ?)+)", row[1])
]
UNITS = {"": 1, "KiB": 1 << 10, "MiB": 1 << 20}
VALUES = re.findall(r"`([A-Z][A-Z_0-9]+)`\s=\s(\d[\d ]*\d|\d)(?: (KiB|MiB))?", TEXT)


def defined(path: Path) -> set[str]:
    """The functions, classes and methods of a file, methods with and without their class, and its typed tables."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(node.name)
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            found.add(node.target.id)
        if isinstance(node, ast.ClassDef):
            found.update(f"{node.name}.{inner.name}" for inner in node.body if isinstance(inner, ast.FunctionDef))
    return found


def test_rows_are_found():
    assert len(WHERE) > 50
    assert len(VALUES) > 40


@pytest.mark.parametrize(("file", "names"), WHERE)
def test_function_is_in_the_file(file, names):
    assert set(re.findall(r"`([\w.]+)`", names)) <= defined(PACKAGE / file)


@pytest.mark.parametrize("page", ["where-it-is-decided", "glossary", "adding-an-op", "adding-a-rule", "adding-a-pass"])
def test_every_file_exists(page):
    """Files beside the tables may be named without their folder."""
    text = (ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8")
    found = set(re.findall(r"`([\w/]+(?:\.py|\.txt|/))`", text))
    assert found
    for file in found:
        there = (ROOT if file.startswith(("tests/", "tapec/")) else PACKAGE) / file
        assert there.exists() or any(PACKAGE.rglob(file)), file


@pytest.mark.parametrize(("name", "number", "unit"), VALUES)
def test_constant_has_this_value(name, number, unit):
    found = {}
    for path in PACKAGE.glob("*/tuning.py"):
        for line in re.findall(rf"^{name} = (.*)$", path.read_text(encoding="utf-8"), re.MULTILINE):
            found[path] = eval(line)
    [value] = found.values()
    assert (value[0] if isinstance(value, tuple) else value) == int(number.replace(" ", "")) * UNITS[unit]
