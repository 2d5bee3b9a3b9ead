"""Code asks which op a node has by the op itself, and each op that code names is there."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import tapec
from tapec.ir import OPS, OpSet, OpTable, get_op, ops
from tapec.ir.op import Op, register
from tests.ir import ops_without_rules

ROOT = Path(tapec.__file__).parents[1]
FILES = sorted(Path(tapec.__file__).parent.rglob("*.py"))

# files that look ops up by their names, each with the reason
BY_NAME = {
    "ir/op.py": "the table of ops",
    "ir/checks/verifier.py": "asks whether a graph's op is that of the table",
    "passes/engine/rewrite.py": "finds rules by the names that patterns are written with",
}


def _defined() -> set[str]:
    ops_without_rules.define_all()
    for name in ("xlogy", "xlog1py", "expit"):
        get_op(f"scipy.special.{name}")
    return {re.sub(r"\W", "_", name) for name in OPS}


def test_each_op_that_code_asks_for_is_defined():
    pytest.importorskip("scipy")
    defined, unknown = _defined(), []
    for path in FILES:
        tree = ast.parse(path.read_text())
        imported = any(
            isinstance(n, ast.ImportFrom)
            and n.module in ("tapec.ir", "tapec.ir.op")
            and "ops" in [a.name for a in n.names]
            for n in ast.walk(tree)
        )
        named = [n for n in ast.walk(tree) if isinstance(n, ast.Attribute) and isinstance(n.value, ast.Name)]
        unknown += [
            f"{path.name}:{n.lineno} ops.{n.attr}"
            for n in named
            if imported and n.value.id == "ops" and n.attr not in defined
        ]
    assert unknown == []


def test_each_op_in_a_table_is_defined():
    """In a process of its own: other tests make patterns of ops that there are not."""
    pytest.importorskip("scipy")
    code = """if True:
        from tapec.ir import get_op
        from tapec.ir.op import _AWAITED
        from tests.ir import ops_without_rules

        ops_without_rules.define_all()
        for name in [name for name in _AWAITED if name.startswith("scipy.")]:
            get_op(name)
        print(*_AWAITED)
        """
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    missing = [name for name in ops_without_rules.NEWER if not hasattr(np, name)]
    assert sorted(done.stdout.split()) == missing


def test_no_code_compares_the_names_of_ops():
    found = []
    for path in FILES:
        place = path.relative_to(Path(tapec.__file__).parent).as_posix()
        for n in ast.walk(ast.parse(path.read_text())):
            if isinstance(n, ast.Compare) and any(_is_name_of_op(side) for side in (n.left, *n.comparators)):
                found.append((place, n.lineno))
    assert [f"{place}:{line}" for place, line in found if place not in BY_NAME] == []


def _is_name_of_op(node: ast.expr) -> bool:
    return isinstance(node, ast.Attribute) and node.attr == "name" and ast.unparse(node.value).split(".")[-1] == "op"


def test_an_op_enters_sets_and_tables_when_it_is_defined():
    names = OpSet("multiply test_op_that_comes_later")
    table = OpTable({"multiply test_op_that_comes_later": 3})
    both = names | OpSet("add")
    assert names == {OPS["multiply"]} and table == {OPS["multiply"]: 3}
    assert ops.test_op_that_comes_later is None
    op = register(Op(name="test_op_that_comes_later", run=abs, rule=lambda t: t, kind="elementwise"))
    try:
        assert names == {OPS["multiply"], op} and table[op] == 3 and op in both
        assert ops.test_op_that_comes_later is op
    finally:
        del OPS[op.name]
        delattr(ops, op.name)


def test_the_list_of_ops_without_rules_is_up_to_date():
    """`python -m tests.regenerate` writes it; its diff says which rule is missing, or that one was lost."""
    assert ops_without_rules.PATH.read_text() == ops_without_rules.listing()
