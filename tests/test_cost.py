"""Passes and targets read no size for profit but through `tapec.ir.cost`.

A size is read for profit where it is compared by order, with a threshold or with the size of something else, and bytes
are always counted for that. Numbers of elements that are compared for equality, or with 0 and 1, or that divide each
other, say what a result is.
"""

import ast
from pathlib import Path

import pytest

import tapec

ROOT = Path(tapec.__file__).parent
ORDER = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)
SIZES = ("size", "nbytes", "itemsize")
LEFT = {  # file and what it reads: why it may
    ("passes/engine/axis_symmetry.py", "value.size"): "of an array that is there, a constant",
    ("passes/zero_safety/zeros_of_selections.py", "array.type.size"): "whether a constant can name n rows: a fact",
    ("codegen/common/module_constants.py", "x.size"): "of an array that is there, a constant",
    ("codegen/portable/lowering.py", "value.size"): "of an array that is there, a constant",
    ("codegen/runtime_helpers.py", None): "of arrays, when the code runs",
    ("codegen/numpy/result_types.py", "root.type.nbytes"): "whether a view has all of an array: a fact",
    ("codegen/numpy/result_types.py", "t.nbytes"): "the same",
    ("codegen/numpy/nan_checks.py", None): "of arrays, when the code runs",
}


def reads_for_profit(tree: ast.AST) -> list[tuple[int, str]]:
    """Return the line and the text of bytes, and of sizes that are compared by order with what is no constant."""
    parent = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr == "nbytes":
            found.append((node.lineno, ast.unparse(node)))
            continue
        compared = enclosing_comparison(node, parent)
        if compared is None:
            continue
        is_size = isinstance(node, ast.Attribute) and node.attr in SIZES
        is_length = isinstance(node, ast.Subscript) and isinstance(node.value, ast.Attribute)
        is_length = is_length and node.value.attr == "shape" and type(node.slice) is not ast.Slice
        if is_size or (is_length and is_by_threshold(compared)):
            found.append((node.lineno, ast.unparse(node)))
    return sorted(found)


def is_by_threshold(node: ast.AST) -> bool:
    return any(isinstance(n, ast.Name) and n.id == "tuning" for n in ast.walk(node))


def enclosing_comparison(node: ast.AST, parent: dict[ast.AST, ast.AST]) -> ast.AST | None:
    """Return the comparison by order, the call of `are_few`, or the arithmetic with a threshold that a value goes into;
    None where it goes into nothing of the kind."""
    while node in parent:
        node = parent[node]
        if isinstance(node, ast.Compare):
            variable = [s for s in (node.left, *node.comparators) if not isinstance(s, ast.Constant)]
            return node if len(variable) > 1 and any(isinstance(op, ORDER) for op in node.ops) else None
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "are_few":
            return node
        if isinstance(node, ast.BinOp) and is_by_threshold(node):
            return node
        if isinstance(node, (ast.BoolOp, ast.IfExp, ast.stmt, ast.Lambda, ast.comprehension)):
            return None
    return None


@pytest.mark.parametrize("package", ["passes", "codegen"])
def test_sizes_are_read_for_profit_in_one_place(package):
    left = []
    for path in sorted((ROOT / package).rglob("*.py")):
        name = path.relative_to(ROOT).as_posix()
        for line, text in reads_for_profit(ast.parse(path.read_text(encoding="utf-8"))):
            if (name, text) not in LEFT and (name, None) not in LEFT:
                left.append(f"{name}:{line}: {text}")
    assert not left, "\n".join(left)


def test_what_is_left_is_there():
    for name, text in LEFT:
        found = [t for _, t in reads_for_profit(ast.parse((ROOT / name).read_text(encoding="utf-8")))]
        assert found if text is None else text in found, (name, text)


def test_reads_are_told_apart():
    profit = "a = x.size < y.size\nb = f(t.nbytes) >= tuning.MOST\nc = are_few(max(x.size, 1), 3)\nd = 0 < x.size < n"
    profit += "\ne = t.shape[0] > tuning.ROWS"
    meaning = "a = x.size == y.size\nb = x.size > 0\nc = x.size // y.size\nd = t.shape[0] > k\ne = [x.size for x in y]"
    assert [line for line, _ in reads_for_profit(ast.parse(profit))] == [1, 1, 2, 3, 4, 5]
    assert reads_for_profit(ast.parse(meaning)) == []
