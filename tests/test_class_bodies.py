"""The class bodies of `Tensor` and `Variable` are the one place where these classes get methods."""

import ast
import inspect
from pathlib import Path

import pytest

import tapec
from tapec.ops.core.stand_in import METHODS
from tapec.trace.tensor import Tensor
from tapec.values.variable import Variable

PACKAGE = Path(tapec.__file__).parent
CLASSES = {"Tensor", "Variable", "TensorBase"}
# what Python itself adds to a class
OWN = {"__module__", "__doc__", "__firstlineno__", "__static_attributes__", "__annotations__", "__annotate_func__"}
OWN |= {"__annotations_cache__", "__weakref__", "__dict__"}
SETTERS = {"setattr", "delattr", "__setattr__", "__delattr__"}


def changes(source: str) -> list[int]:
    """The lines on which a text of Python gives one of the classes an attribute, or takes one away."""
    tree = ast.parse(source)
    imports = [alias for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for alias in node.names]
    names = CLASSES | {alias.asname for alias in imports if alias.asname and alias.name in CLASSES}

    def is_class(node: ast.expr) -> bool:
        return getattr(node, "id", getattr(node, "attr", None)) in names

    lines = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load) and is_class(node.value):
            lines.append(node.lineno)
        elif isinstance(node, ast.Call) and node.args and is_class(node.args[0]):
            if getattr(node.func, "id", getattr(node.func, "attr", None)) in SETTERS:
                lines.append(node.lineno)
    return lines


def test_no_file_changes_the_classes():
    found = {str(p.relative_to(PACKAGE)): changes(p.read_text(encoding="utf-8")) for p in PACKAGE.rglob("*.py")}
    assert {name: lines for name, lines in found.items() if lines} == {}


@pytest.mark.parametrize(
    "source",
    [
        "Tensor.sin = sin",
        "Tensor.sin: object = sin",
        "Tensor.sin, y = pair",
        "del classes.Tensor.sin",
        "Variable._rank += 1",
        "setattr(Tensor, name, method)",
        "type.__setattr__(classes.Tensor, 'sin', sin)",
        "delattr(Variable, 'sin')",
        "from tapec.trace.tensor import Tensor as Plain\nPlain.sin = sin",
    ],
)
def test_a_change_is_found(source):
    assert len(changes(source)) == 1


@pytest.mark.parametrize("source", ["x = Tensor.sin", "Tensor = 1", "tensor.sin = sin", "getattr(Tensor, 'sin')"])
def test_other_lines_are_no_changes(source):
    assert changes(source) == []


def _names_in_body(cls: type) -> set[str]:
    [body] = [
        node.body
        for node in ast.walk(ast.parse(inspect.getsource(inspect.getmodule(cls))))
        if isinstance(node, ast.ClassDef) and node.name == cls.__name__
    ]
    names = set()
    for node in body:
        if isinstance(node, ast.FunctionDef):
            names.add(node.name)
        elif isinstance(node, ast.Assign):
            names |= {target.id for target in node.targets}
    return names


@pytest.mark.parametrize("cls", [Tensor, Variable])
def test_a_class_has_what_stands_in_its_body(cls):
    slots = {name for name in vars(cls)["__slots__"] if name in vars(cls)}
    assert set(vars(cls)) - OWN - slots == _names_in_body(cls) - OWN


@pytest.mark.parametrize("cls", [Tensor, Variable])
def test_each_method_of_arrays_has_a_line_in_the_body(cls):
    assert METHODS.keys() - vars(cls).keys() == set()
