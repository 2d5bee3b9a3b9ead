"""Every op of the table, written with the functions of the array API, on NumPy and on its strictest implementation."""

from __future__ import annotations

import numpy as np
import pytest

from tapec.codegen import compile_graph
from tapec.codegen.target import target_of
from tapec.errors import UnsupportedError
from tapec.ir import CONSTANT, OPS, Builder, Op, input_node, type_of
from tapec.ir.checks.interpreter import interpret
from tapec.ir.checks.verifier import verify
from tapec.ir.text.parser import parse
from tapec.ir.text.printer import constant_table, print_graph
from tapec.ops.core.sample_domains import Case
from tests.codegen.target_answers import LISTED, answer, in_array_api, samples
from tests.ops.cases import graph_of
from tests.ops.test_conformance import TESTED
from tests.properties import called

strict = pytest.importorskip("array_api_strict")

# kinds of which each op must be written; the others are written where the array API has functions for them
COMPLETE = {"elementwise", "reduction", "product", "layout", "indexing", "creation"}


def has_all(xp: object, f: object) -> bool:
    """Return whether a library has the functions: NumPy 2.0 lacks `cumulative_sum` and `cumulative_prod`."""
    return hasattr(xp, "cumulative_sum") or not called(f.compiled) & {"xp.cumulative_sum", "xp.cumulative_prod"}


def check(op: Op, case: Case) -> None:
    graph = graph_of(op, case)
    prepared = target_of("portable").prepared(graph)
    assert parse(print_graph(verify(prepared)), constant_table(prepared)) == prepared
    f = compile_graph(graph, "f", target="portable").function
    with np.errstate(all="ignore"):
        expected = interpret(graph, *case.inputs)
        for y, z in zip(interpret(prepared, *case.inputs), expected, strict=True):
            np.testing.assert_allclose(abs(y), abs(z), rtol=1e-12, atol=1e-12)  # of an eigenvector, signs are free
        for xp in [xp for xp in (np, strict) if has_all(xp, f)]:
            found = f(xp, *[xp.asarray(x) for x in case.inputs])
            for y, z in zip(found, expected, strict=True):
                y, z = np.asarray(y), np.asarray(z)
                if op.name == "eigh":  # vectors are determined but for a factor each
                    y, z = abs(y), abs(z)
                assert (y.shape, y.dtype) == (z.shape, z.dtype), xp
                np.testing.assert_allclose(y, z, rtol=1e-12, atol=1e-12, err_msg=xp.__name__)


@pytest.mark.parametrize("name", LISTED)
def test_op(name):
    """Each sample is written and gives what the interpreter gives, or is refused, of kinds that may be."""
    op = OPS[name]
    for label, case in samples(op).items():
        try:
            check(op, case)
        except UnsupportedError as error:
            repeats = "twice" in str(error) and not case.params.get("unique")
            decimals = name == "round_number" and case.params["digits"]  # scaled, 1.115 would be 1.12 for 1.11
            assert op.kind not in COMPLETE or name.startswith("scipy.") or repeats or decimals, error
            assert str(error).rpartition(": ")[2] in answer(name, "portable")
        except Exception as error:
            error.add_note(f"{op.name}, {label}: {[str(x.dtype) + str(x.shape) for x in case.inputs]} {case.params}")
            raise


MIXED = [n for n in TESTED if isinstance(OPS[n].numpy, np.ufunc) and not n.startswith("scipy.")]


@pytest.mark.parametrize("name", MIXED)
def test_mixed_dtypes(name):
    """Operands are converted where NumPy promotes them, and Python numbers stay what they are."""
    op = OPS[name]
    kinds = [np.int64(3), np.float32(0.5), np.float64(0.25), np.True_, 2, 0.5, True]
    for a in kinds:
        for b in kinds if op.numpy.nin > 1 else [a]:
            inputs = [x if isinstance(x, (int, float)) else np.full(3, x) for x in (a, b)][: op.numpy.nin]
            if not any([isinstance(x, np.ndarray) for x in inputs]):
                continue
            try:
                op.run(*inputs)
            except (TypeError, ValueError):
                continue  # NumPy has no loop for it
            run_mixed(op, inputs)


def run_mixed(op: Op, inputs: list) -> None:
    builder = Builder()
    nodes = [builder.constant(x) if isinstance(x, (int, float)) else input_node("x", type_of(x)) for x in inputs]
    node = builder.emit(op, tuple(nodes))
    given = [n for n in nodes if n.op is not CONSTANT]
    graph = builder.graph(given, builder.items(node) if op.multi else [node])
    values = [x for x in inputs if isinstance(x, np.ndarray)]
    if not all(map(in_array_api, op.run(*inputs) if op.multi else [op.run(*inputs)])):
        return
    try:
        f = compile_graph(graph, "f", target="portable").function
    except UnsupportedError:
        assert op.kind not in COMPLETE
        return
    for xp in (np, strict):
        for y, z in zip(f(xp, *[xp.asarray(x) for x in values]), interpret(graph, *values), strict=True):
            assert np.asarray(y).dtype == z.dtype, (xp, [x.dtype if hasattr(x, "dtype") else x for x in inputs])
            np.testing.assert_allclose(np.asarray(y), z, rtol=1e-6 if z.dtype == np.float32 else 1e-12)
