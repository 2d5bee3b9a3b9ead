"""Thresholds stand in the `tuning.py` of their package, each with a comment, and are read there when code runs."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parent.parent / "tapec"
TABLES = sorted(PACKAGE.rglob("tuning.py"))
FILES = {path.relative_to(PACKAGE).as_posix(): path for path in sorted(PACKAGE.rglob("*.py")) if path not in TABLES}

# what is a number, but no threshold: it is given by something else, or is no more than a mark
NO_THRESHOLDS = {
    "autodiff/bodies/kept_values.py": ({"PASS"}, "a unit of costs"),
    "autodiff/composite/singular_powers/order_of_zero.py": ({"UNKNOWN", "FAST", "NEVER"}, "marks among orders"),
    "autodiff/composite/singular_powers/power_of_power.py": ({"ODD", "EVEN", "ABOVE"}, "marks of a parity"),
    "codegen/numpy/passes/split_slow_ops.py": ({"BEYOND"}, "where doubles absorb log(2)"),
    "compat/tensorflow/nn.py": ({"_SELU_ALPHA", "_SELU_SCALE"}, "the definition of SELU"),
    "ir/text/printer.py": ({"VERSION"}, "the version of a grammar"),
    "passes/rules/arithmetic/constant_folding.py": ({"EXACT_FACTOR_MAX"}, "the bits of a double"),
    "report/explorer/paths.py": ({"LABEL_CHARACTERS"}, "widths of a drawing"),
    "report/graph_picture/layers.py": ({"GAP_X", "GAP_Y", "BEND"}, "widths of a drawing"),
    "report/graph_picture/picture_layout.py": (
        {"CHAR", "SMALL_CHAR", "BOX_HEIGHT", "MARK_HEIGHT", "PAD", "LABEL", "PORT_STEP", "LABEL_LENGTH"},
        "widths of a drawing",
    ),
    "report/graph_picture/svg.py": ({"ROUND", "EDGE"}, "widths of a drawing"),
    "report/graph_picture/wire_routes.py": ({"STEP", "MARGIN", "GUTTER"}, "widths of a drawing"),
    "testing/rewrites.py": ({"TINY", "HUGE"}, "the ends of the doubles"),
    "trace/capture/captured_paths.py": ({"_HEAP_TYPE"}, "a flag of CPython"),
    "trace/dispatch/call_plans.py": ({"NO_REFERENCES"}, "a version of marshal"),
}
# `least=` of a rule is evaluated when the rule is made
READ_ON_IMPORT = {"SCALE_MIN_ELEMENTS", "SELECTION_MIN_ELEMENTS"}


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def is_number(node: ast.expr) -> bool:
    """Tell a number, however it is spelled, and a tuple of which one is a number."""
    match node:
        case ast.Constant(value):
            return type(value) in (int, float)
        case ast.UnaryOp(operand=x):
            return is_number(x)
        case ast.BinOp(left=x, right=y):
            return is_number(x) and is_number(y)
        case ast.Tuple(elts):
            return any(map(is_number, elts))
    return False


def numbers(tree: ast.Module) -> dict[str, int]:
    """Find the names in capitals that a module binds to numbers, with their lines."""
    found = {}
    for node in tree.body:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        if isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value is not None and is_number(node.value):
            names = [x.id for t in targets for x in ast.walk(t) if isinstance(x, ast.Name)]
            if isinstance(node.value, ast.Tuple) and not isinstance(targets[0], ast.Tuple):
                continue  # a table
            found |= {name: node.lineno for name in names if name.isupper()}
    return found


def reads(node: ast.AST, runs: bool = False) -> Iterator[tuple[str, bool]]:
    """Find the thresholds that are read, and whether that is when code runs, not when it is imported."""
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id.endswith("tuning"):
        yield node.attr, runs
    for field, value in ast.iter_fields(node):
        late = runs or (field == "body" and isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)))
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield from reads(child, late)


@cache
def all_reads() -> set[tuple[str, bool]]:
    return {read for path in FILES.values() if "tuning." in path.read_text("utf-8") for read in reads(tree_of(path))}


def test_thresholds_stand_in_tuning_files():
    found = {name: set(numbers(tree_of(path))) for name, path in FILES.items()}
    assert {name: names for name, names in found.items() if names} == {
        f: names for f, (names, _) in NO_THRESHOLDS.items()
    }


def test_thresholds_are_read_when_code_runs():
    """So a patch of the table reaches all readers; nor does a module copy one by its name."""
    assert {name for name, runs in all_reads() if not runs} == READ_ON_IMPORT
    for path in FILES.values():
        imports = [node for node in tree_of(path).body if isinstance(node, ast.ImportFrom)]
        assert not [node for node in imports if (node.module or "").endswith(".tuning")], path


@pytest.mark.parametrize("path", TABLES, ids=lambda path: path.parent.name)
def test_each_threshold_is_told_about_and_read(path):
    lines, found = path.read_text(encoding="utf-8").splitlines(), numbers(tree_of(path))
    assert found and set(found) <= {name for name, _ in all_reads()}
    for name, line in found.items():
        above = line - 2
        while re.match(r"[A-Z_0-9]+ = ", lines[above]):  # of a group that one comment tells about
            above -= 1
        assert lines[above].startswith("# ") and not lines[above].startswith("# --"), name
