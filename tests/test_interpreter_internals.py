"""What tapec uses of the insides of Python and NumPy: only what is listed here, each with its reason.

Private modules of NumPy, reference counts, bytecode, and objects that change their class may be other ones in the next
release, and are hard to follow. A new use needs an entry; an entry goes when its use does.
"""

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parent.parent / "tapec"

_PRIVATE_MODULE = "a private module of NumPy"
_COUNT = "a reference count"
_BYTECODE = "bytecode"
_CLASS = "an object that changes its class"

LISTED = {
    ("ir/source_location.py", _BYTECODE): "the store instruction names the variable of a value, without source as well",
    ("trace/escape/bytecode_site.py", _BYTECODE): "nobody is told of a call, a store, a format or an `is` otherwise",
    ("trace/capture/whole_numbers.py", _BYTECODE): "nobody is told what becomes of a number once it is read",
    ("trace/reference_counts.py", _COUNT): "nothing else tells whether a user holds what a recording holds",
}


def uses(source: str) -> set[str]:
    """The kinds of internals that a text of Python uses."""
    return {kind for node in ast.walk(ast.parse(source)) for kind in _kinds_of(node)}


def _kinds_of(node: ast.AST) -> set[str]:
    kinds = set()
    if isinstance(node, ast.Attribute):
        if node.attr == "_core":
            kinds.add(_PRIVATE_MODULE)
        if node.attr == "getrefcount":
            kinds.add(_COUNT)
        if node.attr == "__class__" and isinstance(node.ctx, ast.Store):
            kinds.add(_CLASS)
    elif isinstance(node, ast.Call) and len(node.args) >= 2 and _text(node.args[1]) == "__class__":
        if getattr(node.func, "id", getattr(node.func, "attr", "")) in ("setattr", "__setattr__"):
            kinds.add(_CLASS)
    for name in _imported(node):
        parts = name.split(".")
        if parts[0] == "numpy" and "_core" in parts:
            kinds.add(_PRIVATE_MODULE)
        if parts == ["sys", "getrefcount"]:
            kinds.add(_COUNT)
        if parts[0] in ("dis", "opcode"):
            kinds.add(_BYTECODE)
    return kinds


def _imported(node: ast.AST) -> list[str]:
    """The dotted names that a node imports; a text in the program may be one, for `importlib`."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        return [f"{node.module}.{alias.name}" for alias in node.names]
    return [name] if (name := _text(node)).startswith("numpy._core") else []


def _text(node: ast.AST) -> str:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def test_each_use_is_listed_and_each_listed_use_is_there():
    paths = {str(path.relative_to(PACKAGE)): path for path in PACKAGE.rglob("*.py")}
    found = {(name, kind) for name, path in paths.items() for kind in uses(path.read_text(encoding="utf-8"))}
    assert found - LISTED.keys() == set(), "used without an entry in LISTED"
    assert LISTED.keys() - found == set(), "no longer used: delete the entry in LISTED"


@pytest.mark.parametrize(
    "source, kind",
    [
        ("import numpy as np\nf = np._core.umath.clip", _PRIVATE_MODULE),
        ("from numpy._core import umath", _PRIVATE_MODULE),
        ("from numpy import _core", _PRIVATE_MODULE),
        ("import numpy._core.umath as umath", _PRIVATE_MODULE),
        ("importlib.import_module('numpy._core.umath')", _PRIVATE_MODULE),
        ("def f(x):\n    import sys\n    return sys.getrefcount(x)", _COUNT),
        ("from sys import getrefcount as count", _COUNT),
        ("import dis", _BYTECODE),
        ("def f():\n    from dis import get_instructions", _BYTECODE),
        ("x.__class__ = Other", _CLASS),
        ("x.__class__, y.__class__ = A, B", _CLASS),
        ("setattr(x, '__class__', Other)", _CLASS),
        ("object.__setattr__(x, '__class__', Other)", _CLASS),
        ("for x.__class__ in classes: pass", _CLASS),
    ],
)
def test_a_use_is_found(source, kind):
    assert uses(source) == {kind}


def test_what_is_no_use_is_left_alone():
    source = "kind = x.__class__\nimport display\nimport numpy.corelike\nclass A:\n    def __class__(self): ..."
    assert uses(source) == set()
