"""The package has one entry, which the modes are handed."""

import ast
from pathlib import Path

import numpy as np

import tapec
from tapec.autodiff.composite.composites import Composites
from tapec.autodiff.forward import pushforward
from tapec.autodiff.reverse import backward
from tapec.ir import Builder, input_node
from tapec.ir.types import Type
from tapec.ops import Symbol

AUTODIFF = Path(tapec.__file__).parent / "autodiff"


def test_no_other_module_is_imported_from_outside():
    """Constants for a table of ops aside (`op_by_op`), the modes know `composites.py` alone."""
    found = set()
    for path in AUTODIFF.rglob("*.py"):
        if AUTODIFF / "composite" not in path.parents:
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("tapec.autodiff.composite"):
                    found.add((path.name, node.module))
    modes = ("forward", "forward_gradient", "reverse")
    assert found == {(f"{name}.py", "tapec.autodiff.composite.composites") for name in modes}


class Nothing(Composites):
    """Recognises nothing."""

    def shortcut(self, node):
        return None

    def pairs(self, active):
        return None

    def shifts(self, targets):
        return ()


def sigmoid_slope(mode, recognise):
    builder, x = Builder(), input_node("x", Type((3,), np.dtype(float)))
    y = 1.0 / (1.0 + np.exp(-Symbol(x, builder)))
    seed = Symbol(builder.constant(np.ones(3)), builder)
    if mode is backward:
        backward(builder, tuple(builder.nodes), [y.node], [seed], [x], lambda node: node, recognise)
    else:
        pushforward(builder, [y.node], {x: seed}, recognise)
    return [n.op.name for n in builder.nodes if n.role is not None]


def test_a_mode_differentiates_what_it_is_handed():
    """By its parts, the slope of a sigmoid divides by the sum twice; as a whole it has y * (1 - y)."""
    for mode in (backward, pushforward):
        assert "divide" not in sigmoid_slope(mode, Composites)
        assert "divide" in sigmoid_slope(mode, Nothing)
