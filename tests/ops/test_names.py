"""Ops are told apart by their names here and there: each name that the code asks for is one of an op."""

import ast
from pathlib import Path

import tapec
import tapec.ops.scipy.convolve_nd
import tapec.ops.scipy.cosine_transforms
import tapec.ops.scipy.matrix_functions
from tapec.ir import OPS
from tapec.ops.special.ufunc_definitions import define_all

FILES = sorted(Path(tapec.__file__).parent.rglob("*.py"))
OF_EMISSION = {"row numbers", "sum of products"}


def words(x):
    """A name, or the names of a tuple that is written out."""
    parts = x.elts if isinstance(x, (ast.Tuple, ast.Set)) else [x]
    return [n.value for n in parts if isinstance(n, ast.Constant) and isinstance(n.value, str)]


def asked(node):
    """The names in `x.op.name == "sum"`, `x.op.name in ("sum", "mean")` and `get_op("sum")`, and in rules."""
    if isinstance(node, ast.Compare) and ast.unparse(node.left).endswith("op.name"):
        return [w for c in node.comparators for w in words(c)]
    if isinstance(node, ast.Call) and ast.unparse(node.func) in ("get_op", "Some"):
        return [w for a in (*node.args, *[k.value for k in node.keywords if k.arg == "of"]) for w in words(a)]
    return []


def test_names_that_the_code_asks_for():
    define_all()
    found = {name for path in FILES for n in ast.walk(ast.parse(path.read_text())) for name in asked(n)}
    assert len(found) > 50
    assert found - OF_EMISSION <= set(OPS)
