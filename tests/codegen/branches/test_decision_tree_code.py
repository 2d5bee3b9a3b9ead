"""Decision trees as code: which stretch of it computes what."""

import numpy as np
import pytest

from tapec.codegen import compile_graph
from tapec.codegen.branches.decision_tree_code import given_first
from tapec.ir import parse
from tapec.ir.decision_tree import Branch, Leaf
from tests.codegen.kit import graph_of
from tests.properties import after_branch, before_branch, call_count, calls, count_of, entry, on_floats

X, K, KNOWN = 3, 4, 2  # outputs of the program below: what some paths need, what the others do, and a second test
BOTH = ((True, Leaf((X,))), (False, Leaf((K,))))
ONE = ((True, Leaf((X,))),)


def compiled_of(tree, x):
    def f(x, k):
        return k > 0.0, k > 1.0, np.all(x > 0.0), np.log(x) + 1.0, x * k

    compiled = compile_graph(graph_of(f, x, np.float64(2.0)), "f", tree=tree)
    return compiled.function, entry(compiled)


@pytest.fixture(params=[2, 300, 200_000], ids=["floats", "arrays", "blocks"])
def x(request):
    return np.linspace(1.0, 2.0, request.param)


def test_values_of_some_paths_are_computed_on_these(x):
    f, code = compiled_of(Branch(0, ((True, Branch(KNOWN, BOTH)), (False, Branch(KNOWN, BOTH)))), x)
    assert not calls(before_branch(code), "log") and call_count(code, "log") >= 2
    with np.errstate(all="raise"):
        for k in (np.float64(2.0), np.float64(-2.0)):
            np.testing.assert_array_equal(f(x, k)[0], np.log(x) + 1.0)
            np.testing.assert_array_equal(f(-x, k)[0], -x * k)


def test_values_of_all_paths_are_computed_once(x):
    inner = Branch(1, ((True, Leaf((X,))), (False, Leaf((X, K)))))
    f, code = compiled_of(Branch(0, ((True, inner), (False, Leaf((K, X))))), x)
    assert calls(before_branch(code), "log") and not calls(after_branch(code), "log")
    for k, count in ((2.0, 1), (0.5, 2), (-1.0, 2)):
        assert len(f(x, np.float64(k))) == count


def test_views_stand_in_the_lines_that_read_them():
    x = np.ones((40, 30))
    graph = graph_of(lambda x, k: (k > 0.0, np.exp(x) @ x.T, np.sin(x) @ x.T), x, np.float64(2.0))
    compiled = compile_graph(graph, "f", tree=Branch(0, ((True, Leaf((1,))), (False, Leaf((2,))))))
    assert count_of(compiled, "_.dot(x.T)") + count_of(compiled, "_ @ x.T") == 2


def test_tests_come_before_values_of_known_paths(x):
    f, code = compiled_of(Branch(0, ((True, Branch(KNOWN, ONE)), (False, Branch(KNOWN, ONE)))), x)
    assert not calls(before_branch(code), "log")
    with np.errstate(all="raise"):
        assert f(-x, np.float64(2.0)) is None and f(-x, np.float64(-2.0)) is None
        np.testing.assert_array_equal(f(x, np.float64(2.0))[0], np.log(x) + 1.0)


def test_stated_memory_is_that_of_the_largest_path():
    """The memory stated is what the largest needs; tests take none."""
    x = np.linspace(1.0, 2.0, 2)
    graph = graph_of(lambda x, k: (k > 0.0, np.exp(np.sin(x * k)), np.cos(x + k), k * 2.0), x, np.float64(2.0))
    compiled = compile_graph(graph, "f", tree=Branch(0, ((True, Leaf((1, 3))), (False, Leaf((2,))))))
    assert on_floats(compiled) and compiled.cost.peak == 16 + 8


def test_results_of_qr_are_computed_once_for_all_paths():
    """Two paths that part at different tests read the one, the tests the other."""
    x = np.array([[4.0, 1.0, 0.5], [1.0, 3.0, 1.0], [2.0, 0.0, 1.0]])

    def f(x, k):
        q, r = np.linalg.qr(x)
        return r[0, 0] > k, r[1, 1] > k, q + 1.0, q * 2.0, x - 1.0

    tree = Branch(0, ((True, Leaf((2,))), (False, Branch(1, ((True, Leaf((3,))), (False, Leaf((4,))))))))
    compiled = compile_graph(graph_of(f, x, np.float64(0.0)), "f", tree=tree)
    q, r = np.linalg.qr(x)
    bounds = np.sort(np.diag(r)[:2])
    assert r[0, 0] < r[1, 1] and call_count(compiled, "np.linalg.qr") == 1
    for k, expected in ((bounds[0] - 1.0, q + 1.0), (bounds.mean(), q * 2.0), (bounds[1] + 1.0, x - 1.0)):
        np.testing.assert_array_equal(compiled.function(x, np.float64(k))[0], expected)


def test_guards_that_those_of_inputs_imply_are_not_asked():
    graph = parse("""
        graph(%n: int, %x: f64[]) {
          %a: int = add %n, 1
          %b: bool[] = greater %n, 0
          %c: bool[] = greater %x, 0.0
          %d: f64[] = sin %x
          return %n, %a, %b, %c, %d
        }
    """)

    def left(*guards):
        tree = Leaf((4,))
        for output, value in reversed(guards):
            tree = Branch(output, ((value, tree),))
        first, _, tree = given_first(graph, tree)
        asked = []
        while isinstance(tree, Branch):
            asked.append(tree.output)
            tree = tree.cases[0][1]
        return [value for _, value in first], asked

    assert left((1, 4), (0, 3), (2, True)) == ([3], [])
    assert left((1, 4), (3, True), (0, 3)) == ([3], [3])
    assert left((1, 4), (2, True)) == ([], [1, 2])
    assert left((0, True), (1, 4)) == ([True], [1])  # any number but zero
