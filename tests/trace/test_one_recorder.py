"""There is one place that appends a record, and one that asks a plan for a NumPy call."""

import ast
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[2] / "tapec"


def calls(name):
    """The functions of tapec that call something of this name, with their files."""
    found = []
    for path in sorted(PACKAGE.rglob("*.py")):
        for f in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(f, ast.FunctionDef) and any(
                isinstance(node, ast.Call) and ast.unparse(node.func) == name for node in ast.walk(f)
            ):
                found.append((path.relative_to(PACKAGE).as_posix(), f.name))
    return found


def test_one_function_makes_records():
    """The sinks of recordings are called there and nowhere else."""
    assert users_of("sinks") == {"trace/recording_stack.py", "trace/perform.py"}


def users_of(attribute):
    return {
        path.relative_to(PACKAGE).as_posix()
        for path in PACKAGE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute) and node.attr == attribute
    }


def test_plans_are_run_in_one_place():
    assert calls("plan") == [("trace/dispatch/call_plans.py", "call")]
