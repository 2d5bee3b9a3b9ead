"""One function appends records, and one asks a plan for the answer of a NumPy call."""

import ast
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[2] / "tapec"


def users_of(word, is_use):
    """The files of tapec in which some node of the syntax tree is a use of this word."""
    found = set()
    for path in PACKAGE.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        if word in text and any(is_use(node) for node in ast.walk(ast.parse(text))):
            found.add(path.relative_to(PACKAGE).as_posix())
    return found


def test_one_function_makes_records():
    """The functions that take the records of recordings are called there and nowhere else."""
    users = users_of("sinks", lambda node: isinstance(node, ast.Attribute) and node.attr == "sinks")
    assert users == {"trace/recording_stack.py", "trace/perform.py"}


def test_plans_are_run_in_one_place():
    users = users_of("plan(", lambda node: isinstance(node, ast.Call) and ast.unparse(node.func) == "plan")
    assert users == {"trace/dispatch/call_plans.py"}
