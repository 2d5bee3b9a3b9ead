"""Every op of the table: rows and columns of its Jacobian agree, patterns miss nothing, derivatives can be batched."""

from __future__ import annotations

import zlib

import numpy as np
import pytest

from tapec.autodiff.batching import batch_graph
from tapec.autodiff.forward import jvp_graph
from tapec.autodiff.jacobian.jacobian_graph import jacobian_graph
from tapec.autodiff.reverse import vjp_graph
from tapec.autodiff.sparse.sparsity_pattern import jacobian_pattern
from tapec.ir import OPS, Graph, Op
from tapec.ir.checks.interpreter import interpret
from tapec.ir.types import is_differentiable
from tapec.ops.core.sample_domains import Case
from tests.autodiff.programs import close, inner
from tests.ops.cases import WITHOUT_SAMPLE, cases, graph_of


def is_derived(op: Op) -> bool:
    """Has it a derivative? Of whole numbers alone there is none."""
    whole = isinstance(op.sample, tuple) and all(d.kind == "i" for d in op.sample)
    return op.kind not in WITHOUT_SAMPLE and op.kind != "dynamic" and op.gradient != "none" and not whole


DERIVED = sorted(name for name, op in OPS.items() if is_derived(op))
LARGEST = 60  # elements of results: each case is done once for every one of them


def small_cases(op: Op) -> list[Case]:
    """At least one: no test passes because there is nothing to do."""
    found = []
    for case in cases(op).values():
        case = Case(tuple(map(np.asarray, case.inputs)), case.params)
        graph = graph_of(op, case)
        if sum(o.type.size for o in graph.outputs) <= LARGEST and moving(graph) and ends(graph):
            found.append(case)
    assert found, op.name
    return found[:4]


def moving(graph: Graph) -> list[int]:
    return [k for k, i in enumerate(graph.inputs) if is_differentiable(i.type) and i.type.dtype in (float, complex)]


def ends(graph: Graph) -> list[int]:
    return [k for k, o in enumerate(graph.outputs) if is_differentiable(o.type)]


@pytest.mark.sampled(one_in=3)
@pytest.mark.parametrize("name", DERIVED)
def test_rows_are_columns(name: str) -> None:
    op = OPS[name]
    for case in small_cases(op):
        graph = graph_of(op, case)
        wrt = moving(graph)
        rows = interpret(jacobian_graph(graph, wrt, "reverse"), *case.inputs)
        columns = interpret(jacobian_graph(graph, wrt, "forward"), *case.inputs)
        for a, b in zip(rows, columns, strict=True):
            close(a, b, 1e-9)


@pytest.mark.sampled(one_in=3)
@pytest.mark.parametrize("name", DERIVED)
def test_the_pattern_misses_nothing(name: str) -> None:
    op = OPS[name]
    for case in small_cases(op):
        graph = graph_of(op, case)
        wrt = moving(graph)
        whole = {i: x for i, x in zip(graph.inputs, case.inputs, strict=True) if x.dtype.kind in "iub"}
        patterns, _ = jacobian_pattern(graph, wrt, whole)
        found = iter(interpret(jacobian_graph(graph, wrt), *case.inputs))
        for k in ends(graph):
            size = graph.outputs[k].type.size
            dense = np.concatenate([np.reshape(next(found), (size, graph.inputs[w].type.size)) for w in wrt], axis=1)
            assert not np.any((dense != 0) & np.isfinite(dense) & ~patterns[k].toarray())


@pytest.mark.sampled(one_in=3)
@pytest.mark.parametrize("name", DERIVED)
def test_derivatives_in_batches(name: str) -> None:
    """The pullback and the tangent of a batch, against those of each example."""
    op = OPS[name]
    for case in small_cases(op):
        graph = graph_of(op, case)
        rng = np.random.default_rng(zlib.crc32(name.encode()))
        for derived in (vjp_graph(graph, moving(graph)), jvp_graph(graph, moving(graph))):
            extra = derived.inputs[len(graph.inputs) :]
            given = [_like(rng, (2, *i.type.shape), i.type.dtype) for i in extra]
            flags = [False] * len(graph.inputs) + [True] * len(extra)
            batched, marks = batch_graph(derived, flags, 2)
            found = interpret(batched, *case.inputs, *given)
            for k in range(2):
                one = interpret(derived, *case.inputs, *[g[k] for g in given])
                for y, mark, expected in zip(found, marks, one, strict=True):
                    close(y[k] if mark else y, expected, 1e-9)


@pytest.mark.sampled(one_in=3)
@pytest.mark.parametrize("name", DERIVED)
def test_reverse_over_forward(name: str) -> None:
    """Of the tangent as a function of everything, the pullback is the transpose of the tangent."""
    op = OPS[name]
    for case in small_cases(op):
        graph = graph_of(op, case)
        rng = np.random.default_rng(zlib.crc32(name.encode()))
        derived = jvp_graph(graph, moving(graph))
        wrt = moving(derived)
        values = [*case.inputs, *[_like(rng, i.type.shape, i.type.dtype) for i in derived.inputs[len(case.inputs) :]]]
        along = [_like(rng, derived.inputs[k].type.shape, derived.inputs[k].type.dtype) for k in wrt]
        pushed = interpret(jvp_graph(derived, wrt), *values, *along)[len(derived.outputs) :]
        cts = [_like(rng, np.shape(p), np.asarray(p).dtype) for p in pushed]
        pulled = interpret(vjp_graph(derived, wrt), *values, *cts)
        a, b = inner(cts, pushed), inner(pulled, along)
        scale = sum(float(np.sum(np.abs(x * y))) for x, y in zip([*cts, *pulled], [*pushed, *along], strict=True))
        single = any(o.type.dtype in (np.float32, np.complex64) for o in graph.outputs)
        assert abs(a - b) <= (1e-6 if single else 1e-10) * max(1.0, scale)


def _like(rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    x = rng.standard_normal(shape)
    return np.asarray(x + 1j * rng.standard_normal(shape) if dtype.kind == "c" else x, dtype)
