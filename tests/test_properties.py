"""The properties of generated source that tests assert on: where each is true, and where it is not."""

import ast
from pathlib import Path

import numpy as np
import pytest

import tapec
from tests import properties as p
from tests.codegen.kit import check, graph_of

FLOATS = """\
def f(x, y):
    z = math.exp(x)
    if z > 2.0:
        return z, y
    return z * y, helper(x)


def helper(x):
    return np.exp(x)
"""

BLOCKS = """\
def f(x, w):
    t = np.dot(x, w)  # x @ w, and np.exp(x) in words
    s = 0.0
    a, b = np.empty((2, 50))
    for i in range(0, 200, 50):
        block = slice(i, i + 50)
        np.exp(t[block], out=a)
        a *= 2.0
        s += a.sum()
    del t
    return s, np.zeros((2, 3))
"""

THREADS = """\
def f(x):
    def blocks(first, last):
        for i in range(first, last, 50):
            np.exp(x[i:i + 50], out=x[i:i + 50])
        return []
    for s_, in in_threads(blocks, 200, 50, 2):
        s += s_
    return s
"""

TRUE = [
    (p.calls, BLOCKS, "np.exp"),
    (p.calls, BLOCKS, ".sum"),
    (p.has, BLOCKS, "_.sum()"),
    (p.has, BLOCKS, "a, b = _"),
    (p.has, FLOATS, "_ > 2.0"),
    (p.uses_out, BLOCKS, "exp"),
    (p.updates, BLOCKS, "*"),
    (p.reads, FLOATS, "y"),
]
FALSE = [
    (p.calls, BLOCKS, "np.sum"),  # it is a method
    (p.calls, BLOCKS, ".exp"),  # it is NumPy's function
    (p.calls, BLOCKS, "ex"),  # a part of a name
    (p.has, BLOCKS, "x @ w"),  # in a comment
    (p.has, FLOATS, "_ > 2"),  # another number
    (p.uses_out, BLOCKS, "np.dot"),
    (p.updates, BLOCKS, "-"),
    (p.reads, FLOATS, "w"),
]


@pytest.mark.parametrize(("function", "source", "asked"), TRUE)
def test_true(function, source, asked):
    assert function(source, asked)


@pytest.mark.parametrize(("function", "source", "asked"), FALSE)
def test_false(function, source, asked):
    assert not function(source, asked)


def test_blocks():
    (loop,) = p.block_loops(BLOCKS)
    assert loop[:2] == (200, 50) and loop.threads == 1
    assert p.calls(loop, "np.exp") and not p.calls(loop, "np.dot")
    (loop,) = p.block_loops(THREADS)
    assert (loop.length, loop.block, loop.threads) == (200, 50, 2) and p.uses_out(loop, "np.exp") == 1
    assert p.block_loops("def f(x):\n    def blocks(a, b): pass\n    in_threads(blocks, 90, 9, 2)")[0].threads == 2
    assert p.block_loops(FLOATS) == [] and p.loop_count(THREADS) == 2


def test_parts():
    assert list(p.functions(FLOATS)) == ["f", "helper"] and p.on_floats(FLOATS) and not p.on_floats(BLOCKS)
    assert p.calls(p.entry(FLOATS), "math.exp") and not p.calls(p.entry(FLOATS), "np.exp")
    assert p.calls(p.before_branch(FLOATS), "math.exp") and not p.has(p.before_branch(FLOATS), "_ * _")
    assert p.has(p.after_branch(FLOATS), "_ * _")
    assert p.calls(p.before_loop(BLOCKS), "np.dot") and p.deleted(p.after_loop(BLOCKS)) == {"t"}
    assert p.before_branch(BLOCKS) == p.entry(BLOCKS).body and p.after_branch(BLOCKS) == []


def test_memory():
    assert p.allocates(BLOCKS) == 2 and p.allocates(BLOCKS, "np.empty", (2, 50)) == p.allocates(BLOCKS, "np.zeros") == 1
    assert p.allocates(BLOCKS, "zeros", (3, 2)) == p.allocates("y = np.zeros(n)", shape=(4,)) == 0
    assert p.in_place(BLOCKS) == 3 and p.updates(BLOCKS, "* -") == 1


def test_lines():
    assert p.where(BLOCKS, "np.exp(_, out=_)") == [7] and p.where(BLOCKS, "np.sin(_)") == []
    assert max(p.where(FLOATS, "x")) > min(p.where(FLOATS, "np.exp(x)")) - 1


def test_what_was_compiled_is_read_as_its_text():
    compiled = check(graph_of(lambda x: np.exp(x) + 1.0, np.ones(30)), np.ones(30))
    assert p.calls(compiled, "np.exp") and p.calls(compiled.source, "np.exp")
    assert p.calls(tapec.compile(np.exp).source(np.ones(30)), "np.exp")
    assert p.calls(ast.parse("np.exp(x)"), "np.exp")


def looked_for(node):
    """Return what a comparison or call looks for, and where, if it is one that looks for something in a text."""
    if isinstance(node, ast.Compare) and isinstance(node.ops[0], (ast.In, ast.NotIn)):
        return node.left, node.comparators[0]
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args:
        if node.func.attr in ("count", "index", "partition", "split", "startswith"):
            return node.args[0], node.func.value
    return None, None


def is_fragment(wanted):
    """Tell whether this is a piece of code; what begins with `#` is a comment, and line breaks are layout."""
    return isinstance(wanted, ast.JoinedStr) or (
        isinstance(wanted, ast.Constant) and isinstance(wanted.value, str) and wanted.value[:1] not in ("#", "\n")
    )


def fragments(text):
    """Return the lines of a test that look for a piece of code in generated text, but for those that say `comment`."""
    lines, found = text.splitlines(), []
    for node in ast.walk(ast.parse(text)):
        wanted, place = looked_for(node)
        place = place.func if isinstance(place, ast.Call) else place
        is_source = isinstance(place, (ast.Name, ast.Attribute)) and ast.unparse(place).endswith("source")
        if is_source and is_fragment(wanted) and "comment" not in lines[node.lineno - 1]:
            found.append(lines[node.lineno - 1].strip())
    return found


def test_fragments_are_found():
    look = ["'np.exp(' in compiled.source", "'x' not in f.source(x)", "source.count('for ')", "f'{x}' in source"]
    assert [fragments(f"assert {line}") for line in look] == [[f"assert {line}"] for line in look]
    for line in ("'# x' in source", "'x' in names(source)", "'x' in source  # a comment", "calls(source, 'np.exp')"):
        assert fragments(f"assert {line}") == []


def test_no_test_looks_for_fragments_of_generated_text():
    """The golden functions and the pages are the only exact text: see tests/regenerate.py."""
    root = Path(__file__).parent
    found = {str(p.relative_to(root)): fragments(p.read_text(encoding="utf-8")) for p in root.rglob("*.py")}
    assert not {name: lines for name, lines in found.items() if lines}


def test_a_function_whose_source_is_a_method_is_an_error():
    with pytest.raises(TypeError, match=r"pass f.source\(...\), not f"):
        p.calls(tapec.compile(np.exp), "np.exp")
