"""Drawn programs: generated code against the interpreter, with everything small, big, and in blocks."""

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, seed
from hypothesis import strategies as st

from tapec.codegen import compile_graph
from tapec.ir import Builder, Graph, input_node, type_of
from tapec.ir.checks.interpreter import interpret
from tapec.ir.decision_tree import Branch, Leaf
from tapec.ops import Symbol
from tests.codegen.kit import check, close
from tests.properties import block_loops
from tests.selection import examples

N, M = 7, 3
SHAPES = [(N, M), (N, M), (N,), (M,), (N, 1), (), (N,)]
UNARY = [np.tanh, np.exp, np.negative, np.square, np.abs, lambda x: 2.0 * x, lambda x: x / 3.0, lambda x: 1.0 - x]
BINARY = [np.add, np.subtract, np.multiply, np.maximum, np.arctan2]
REDUCTIONS = [np.sum, np.mean, np.max]
LABELS = np.array([0, 2, 1, 1, 0, 2, 2])


def unary(draw, values):
    return draw(st.sampled_from(UNARY))(draw(st.sampled_from(values)))


def binary(draw, values):
    a = draw(st.sampled_from(values))
    fitting = [b for b in values if _broadcasts(a.shape, b.shape)]
    return draw(st.sampled_from(BINARY))(a, draw(st.sampled_from(fitting)))


def reduction(draw, values):
    a = draw(st.sampled_from([v for v in values if v.shape]))
    axis = draw(st.sampled_from([None, *range(a.ndim)]))
    return draw(st.sampled_from(REDUCTIONS))(a, axis=axis, keepdims=draw(st.booleans()))


def view(draw, values):
    a = draw(st.sampled_from([v for v in values if v.shape]))
    made = [a[::-1], a[1:], a[None], a[..., None], a.T, a.reshape(-1), a[:1], a[0]]
    if a.shape == (N, M):
        made += [a[np.arange(N), LABELS], a[:, 1], a[LABELS], a.reshape(N, M, 1)]
    return draw(st.sampled_from(made))


def scattered(draw, values):
    a = draw(st.sampled_from([v for v in values if v.shape == (N, M)]))
    b = draw(st.sampled_from([v for v in values if v.shape in ((N,), ())]))
    return draw(st.sampled_from([np.add, np.subtract]))(a, _scatter(b, a))


def _scatter(b, like):
    from tapec.ir.static_index import Slot
    from tapec.ops.core.stand_in import apply
    from tapec.ops.indexing.getitem_and_scatter import SCATTER

    if b.shape == ():
        b = np.broadcast_to(b, (N,))
    params = (("shape", (N, M)), ("index", (Slot(0), Slot(1))))
    return apply(SCATTER, (b, np.arange(N), LABELS), params)


def product(draw, values):
    a = draw(st.sampled_from(values))
    fitting = [b for b in values if a.shape and b.shape and _multiplies(a.shape, b.shape)]
    return a @ draw(st.sampled_from(fitting)) if fitting else unary(draw, values)


def _broadcasts(a, b):
    try:
        return len(np.broadcast_shapes(a, b)) <= 3
    except ValueError:
        return False


def _multiplies(a, b):
    return len(a) <= 2 and len(b) <= 2 and a[-1] == (b[-2] if len(b) > 1 else b[0])


@st.composite
def programs(draw):
    builder = Builder()
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    arrays = [rng.normal(size=s) for s in SHAPES]
    inputs = [input_node(f"x{k}", type_of(a[()])) for k, a in enumerate(arrays)]
    values = [Symbol(i, builder) for i in inputs]
    steps = [unary, unary, binary, binary, binary, reduction, view, scattered, product]
    for _ in range(draw(st.integers(3, 18))):
        made = draw(st.sampled_from(steps))(draw, values[-12:] + values[:7])
        if 0 < made.size <= 10 * N * M and made.ndim <= 3:
            values.append(made)
    outputs = draw(st.lists(st.sampled_from(values), min_size=1, max_size=5))
    return builder.graph(inputs, [o.node for o in outputs], "drawn"), [a[()] for a in arrays]


def _force(monkeypatch, variant):
    if variant != "as it is":
        least = 40 if variant == "in blocks, rows small" else 1
        monkeypatch.setattr("tapec.codegen.tuning.BUFFER_MIN_BYTES", least)
        monkeypatch.setattr("tapec.codegen.tuning.BUFFER_ALWAYS_MIN_BYTES", least)
    if variant.startswith("in blocks"):
        monkeypatch.setattr("tapec.codegen.tuning.LARGE_MIN_BYTES", 1)
        monkeypatch.setattr("tapec.codegen.tuning.BLOCK_LOOP_MIN_OPS", 1)
        monkeypatch.setattr("tapec.codegen.tuning.BLOCK_MAX_BYTES", 2 * M * 8)


@pytest.mark.hypothesis
@pytest.mark.parametrize("variant", ["as it is", "all big", "in blocks", "in blocks, rows small"])
def test_drawn_programs(variant, monkeypatch):
    _force(monkeypatch, variant)
    seen = []

    @examples(250, derandomize=True, suppress_health_check=list(HealthCheck))
    @given(programs())
    def run(program: tuple[Graph, list[np.ndarray]]):
        graph, values = program
        seen.append(check(graph, *values))

    run()
    if variant.startswith("in blocks"):
        assert sum(bool(block_loops(c)) for c in seen) > len(seen) // 5


@pytest.mark.hypothesis
@pytest.mark.parametrize("variant", ["all big", "in blocks", "in blocks, rows small"])
def test_drawn_programs_that_write_over_inputs(variant, monkeypatch):
    """Over some of them: all others are as they were, and no result is another's memory."""
    _force(monkeypatch, variant)
    monkeypatch.setattr("tapec.codegen.tuning.DONATED_PRODUCT_MIN_BYTES", 1)
    written = []

    @seed(1)  # else the draw would hang on the text of this function, and with it how many programs write
    @examples(250, derandomize=True, suppress_health_check=list(HealthCheck))
    @given(programs(), st.lists(st.booleans(), min_size=len(SHAPES), max_size=len(SHAPES)))
    def run(program: tuple[Graph, list[np.ndarray]], which: list[bool]):
        graph, values = program
        donated = {i for i, yes in zip(graph.inputs, which, strict=True) if yes and i.type.shape}
        given = [np.array(v)[()] for v in values]
        check(graph, *given, donated=donated)
        written.append(any(not np.array_equal(g, v) for g, v in zip(given, values, strict=True)))

    run()
    assert sum(written) >= len(written) // 10


# ---------------------------------------------------------------------------------------------------------------
# decision trees over drawn programs
# ---------------------------------------------------------------------------------------------------------------
@st.composite
def trees(draw, tests, leaves, depth=0):
    """A tree over these outputs; some cases are not known."""
    if depth == 4 or draw(st.integers(0, 3)) == 0:
        return Leaf(tuple(draw(st.lists(st.sampled_from(leaves), min_size=1, max_size=3))))
    values = draw(st.sampled_from([(True, False), (False, True), (True,), (False,)]))
    cases = tuple((v, draw(trees(tests, leaves, depth + 1))) for v in values)
    return Branch(draw(st.sampled_from(tests)), cases)


@st.composite
def branching_programs(draw):
    graph, values = draw(programs())
    builder = Builder()
    builder.nodes.extend(graph.nodes)
    scalars = [n for n in (*graph.inputs, *graph.nodes) if not n.type.shape and n.type.dtype.kind == "f"]
    conditions = [(Symbol(n, builder) > draw(st.sampled_from([0.0, 1.0, -0.5]))).node for n in scalars[-4:]]
    outputs = [*conditions, *graph.outputs]
    tests = list(range(len(conditions)))
    tree = draw(trees(tests, list(range(len(outputs)))))
    return builder.graph(graph.inputs, outputs, "drawn"), values, tree


@pytest.mark.hypothesis
@pytest.mark.parametrize("variant", ["as it is", "all big", "in blocks, rows small"])
def test_drawn_trees(variant, monkeypatch):
    _force(monkeypatch, variant)

    @examples(150, derandomize=True, suppress_health_check=list(HealthCheck))
    @given(branching_programs())
    def run(program: tuple[Graph, list[np.ndarray], Any]):
        graph, values, tree = program
        compiled = compile_graph(graph, "branching", tree=tree)
        with np.errstate(all="ignore"):
            got = compiled.function(*values)
        wanted = interpret(graph, *values)
        while type(tree) is Branch:
            tree = dict(tree.cases).get(bool(wanted[tree.output]))
        if tree is None:
            assert got is None, compiled.source
        else:
            for g, k in zip(got, tree.outputs, strict=True):
                close(g, wanted[k], compiled.source)

    run()
