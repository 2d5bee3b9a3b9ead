"""Graphs for the tests of emission: from functions on symbols, with or without their gradients."""

from __future__ import annotations

import cProfile
import pstats
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

import tapec
from tapec.autodiff.reverse import value_and_grad_graph
from tapec.codegen import compile_graph
from tapec.codegen.numpy import pipeline
from tapec.ir import Builder, Graph, Type, input_node, type_of
from tapec.ir.checks.interpreter import interpret
from tapec.ops import Symbol
from tapec.passes.pipeline import optimize

_GENERATORS = [np.random.default_rng(0)]


def draw_anew() -> None:
    """From here on the same numbers are drawn again: each test draws its own, whatever ran before it."""
    _GENERATORS[0] = np.random.default_rng(0)


def drawn(*shape: int) -> Any:
    return _GENERATORS[0].normal(size=shape) / max(shape, default=1) ** 0.5


def graph_of(function: Callable[..., Any], *values: Any, names: str = "x y z u v w a b c d") -> Graph:
    """The graph of a function of values like these."""
    builder = Builder()
    inputs = [input_node(n, type_of(v)) for n, v in zip(names.split(), values, strict=False)]
    made = function(*[Symbol(i, builder) for i in inputs])
    outputs = made if isinstance(made, (tuple, list)) else (made,)
    nodes = [o.node if isinstance(o, Symbol) else builder.constant(o) for o in outputs]
    return builder.graph(inputs, nodes, "function")


def gradient_of(function: Callable[..., Any], *values: Any, wrt: tuple[int, ...] | None = None) -> Graph:
    """The graph of a function's value and gradients."""
    graph = graph_of(function, *values)
    return optimize(value_and_grad_graph(graph, tuple(range(len(values))) if wrt is None else wrt))


def check(graph: Graph, *values: Any, **options: Any) -> Any:
    """Compile, run, and hold against the interpreter: values, types, fresh outputs, unwritten inputs if not donated."""
    compiled = compile_graph(graph, "function", **options)
    kept = [np.copy(v) for v in values]
    wanted = interpret(graph, *kept)
    try:
        with np.errstate(all="ignore"):
            got = compiled.function(*values)
    except Exception as error:
        raise AssertionError(f"{error!r}\n{graph}\n{compiled.source}") from error
    not_donated = [k for k, i in enumerate(graph.inputs) if i not in options.get("donated", ())]
    assert type(got) is tuple and len(got) == len(wanted), compiled.source
    for g, w, node in zip(got, wanted, graph.outputs, strict=True):
        t: Type = node.type
        assert isinstance(g, np.ndarray if t.shape else np.generic), f"{type(g)} for {t}\n{compiled.source}"
        assert g.shape == t.shape and g.dtype == t.dtype, f"{g.shape} {g.dtype} for {t}\n{compiled.source}"
        close(g, w, compiled.source)
    for k in not_donated:
        np.testing.assert_array_equal(values[k], kept[k], err_msg=f"an input was written\n{compiled.source}")
    arrays = [g for g in got if g.ndim]
    constants = list(compiled.constants.values())
    for n, g in enumerate(arrays):
        assert g.flags.writeable, compiled.source
        for other in [*[values[k] for k in not_donated], *constants, *arrays[:n]]:
            assert not np.shares_memory(g, other), f"an output is not fresh\n{compiled.source}"
    return compiled


@contextmanager
def graphs_as_differentiated() -> Iterator[None]:
    """The passes of the target run, on graphs that no other pass has made lean."""
    with tapec.settings(optimize=False), pytest.MonkeyPatch.context() as patch:
        patch.setattr(pipeline, "in_force", tuple)
        yield


def counted(function: Callable[..., Any], *args: Any) -> tuple[Any, int]:
    """Return a function's result, and how many calls it takes: work that no clock measures."""
    profile = cProfile.Profile()
    result = profile.runcall(function, *args)
    return result, pstats.Stats(profile).total_calls  # type: ignore[attr-defined]  # which typeshed lacks


def same_bits(got: Any, wanted: Any, graph: Graph, source: str) -> None:
    """Equal to the last bit, but for the sign of zeros in what derivative rules have made."""
    for g, w, node in zip(got, wanted, graph.outputs, strict=True):
        zero = -0.0 if node.role is None else 0.0  # -0.0 + x is x
        assert g.dtype == w.dtype and (zero + g).tobytes() == (zero + w).tobytes(), source


def close(got: Any, wanted: Any, source: str) -> None:
    """Equal but for the rounding that another order of summation makes."""
    dtype = np.asarray(wanted).dtype
    if dtype.kind not in "fc":
        np.testing.assert_array_equal(got, wanted, err_msg=source)
        return
    eps = np.finfo(dtype).eps
    scale = np.max(np.abs(wanted), initial=0.0, where=np.isfinite(wanted))
    np.testing.assert_allclose(got, wanted, rtol=256 * eps, atol=256 * eps * scale, err_msg=source)
