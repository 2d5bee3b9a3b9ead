"""Define the ops that only the passes of this target make: they run, have types, and are written as text, as all do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tapec.codegen import tuning
from tapec.codegen.runtime_helpers import elements_at, places_in
from tapec.config import settings
from tapec.ir import Node, Type, register
from tapec.ir.cost import elements
from tapec.ir.op import Op
from tapec.ir.param_types import AXES, BOOL, NUMBER, SIZE, SIZES
from tapec.ir.types import weak_type
from tapec.ops.control.body_graphs import body_of
from tapec.ops.control.loop import LOOP
from tapec.ops.core.sample_domains import Case

__all__ = [
    "CORRELATION",
    "ELEMENTS_AT",
    "EYE",
    "FLOAT_LOOP",
    "OVER_ROWS",
    "PLACES_IN",
    "ROWS",
    "SUM_OF_PRODUCTS",
    "TRANSPOSED_COPY",
    "UNPACK",
]

INTP = np.dtype(np.intp)
LETTERS = "ijklmn"
NUMBERS_OF: dict[str, type] = {"f": float, "i": int, "u": int, "b": bool, "c": complex}


def _case(*inputs: Any, **params: Any) -> Any:
    """Make a sample of one case."""
    return lambda rng: [Case(tuple([i(rng) if callable(i) else i for i in inputs]), params)]


def _normal(*shape: int) -> Any:
    return lambda rng: rng.standard_normal(shape)


def _op(name: str, kind: str, run: Any, rule: Any, source: Any, sample: Any, **more: Any) -> Op:
    """Define an op that has no derivative, since it is made after differentiation."""
    facts = more.pop("facts", {})
    op = register(Op(name=name, run=run, rule=rule, kind=kind, source=source, sample=sample, gradient="none", **more))
    op.facts.update(facts)
    return op


def _turn() -> Any:
    """Return the body of a sample loop."""
    return body_of("turn", lambda a, x: (a * x + 1.0,), [Type((), float), Type((), float)])


# -- layout -----------------------------------------------------------------------------------------------------------
TRANSPOSED_COPY = _op(
    "transposed_copy",
    "layout",
    lambda x: x.T.copy(),
    lambda x: Type(x.shape[::-1], x.dtype),
    "{0}.T.copy()",
    _case(_normal(2, 3)),
)
UNPACK = _op(
    "unpack",
    "unpack",
    lambda x: np.ravel(x).tolist(),
    lambda x: (weak_type(NUMBERS_OF[x.dtype.kind]),) * x.size,
    lambda args, node: f"{args[0]}.tolist()" if node.inputs[0].type.ndim == 1 else f"{args[0]}.ravel().tolist()",
    _case(_normal(3)),
    multi=True,
)
FLOAT_LOOP = register(
    Op(
        name="float_loop",
        run=lambda *values, lists, **params: LOOP.run(*values, **params),
        rule=lambda *types, lists, **params: LOOP.rule(*types, **params),
        kind="body",
        params={**LOOP.params, "lists": SIZE},
        bodies=(1, 1),
        multi=True,
        gradient="none",
        flops=LOOP.flops,
        sample=_case(np.float64(0.5), np.float64(2.0), constants=1, carried=1, count=3, lists=0, bodies=(_turn(),)),
    )
)
ROWS = _op(
    "row_numbers",
    "creation",
    lambda x: np.arange(len(x)),
    lambda x: Type(x.shape[:1], INTP),
    "np.arange(len({0}))",
    _case(_normal(3, 2)),
    # "distinct" says that no two elements of a result are equal, so that what is placed by them is placed apart
    facts={"distinct": True, "word": "rows"},
)


def _times(factor: float) -> str:
    return "" if factor == 1 else f"{factor!r} * "


EYE = _op(
    "scaled_identity",
    "creation",
    lambda x, factor: factor * np.eye(len(x)),
    lambda x, factor: Type((x.shape[0], x.shape[0]), np.dtype(float)),
    lambda args, node: f"{_times(node.param('factor'))}np.eye(len({args[0]}))",
    _case(_normal(3, 2), factor=2.0),
    params={"factor": NUMBER},
    facts={"letter": "eye"},
)

# -- places that index arrays name ------------------------------------------------------------------------------------
PLACES_IN = _op(
    "places_in",
    "indexing",
    lambda *index, shape: places_in(shape, *index),
    lambda *index, shape: Type(index[0].shape, INTP),
    lambda args, node: f"places_in({node.param('shape')}, {', '.join(args)})",
    _case(np.array([0, 2, -1]), np.array([3, 0, 1]), shape=(3, 4)),
    params={"shape": SIZES},
    facts={"helper": places_in, "word": "places"},
)
ELEMENTS_AT = _op(
    "elements_at",
    "indexing",
    lambda x, places, axes: elements_at(x, places, axes),
    lambda x, places, axes: Type((*places.shape, *x.shape[axes:]), x.dtype),
    lambda args, node: f"elements_at({', '.join(args)}, axes={node.param('axes')})",
    _case(_normal(3, 4, 2), np.array([0, 11, 5, 5]), axes=2),
    params={"axes": SIZE},
    facts={"helper": elements_at, "word": "picked"},
)

# -- products ---------------------------------------------------------------------------------------------------------
CORRELATION = _op(
    "correlation",
    "product",
    np.correlate,
    lambda x, y: Type((abs(x.size - y.size) + 1,), np.result_type(x.dtype, y.dtype)),
    "np.correlate({0}, {1})",
    _case(_normal(5), _normal(3)),
)
OVER_ROWS = _op(
    "product_over_rows",
    "product",
    lambda x, y: x.T @ y,
    lambda x, y: Type((x.shape[1], y.shape[1]), np.result_type(x.dtype, y.dtype)),
    "{0}.T @ {1}",
    _case(_normal(4, 2), _normal(4, 3)),
)


def _text_of_sum(args: Sequence[str], node: Node) -> str:
    a, b = args
    axis, keepdims = node.param("axis"), node.param("keepdims")
    ndim = node.inputs[0].type.ndim
    if len(axis) == ndim:
        large = elements(node.inputs[0]) > tuning.ONE_THREAD_DOT_MAX_ELEMENTS
        if settings.threads > 1 and large and ndim <= len(LETTERS):
            axes = LETTERS[:ndim]
            return f'np.einsum("{axes},{axes}->", {a}, {b})'
        return f"{a}.dot({b})" if ndim == 1 else f"np.vdot({a}, {b})"
    if axis == (ndim - 1,):
        return f"np.vecdot({a}, {b}{', keepdims=True' if keepdims else ''})"
    return f'np.einsum("ij,ij->j", {a}, {b}){"[None]" if keepdims else ""}'


def _sum_of_products(x: Any, y: Any, axis: tuple[int, ...], keepdims: bool) -> Any:
    return np.sum(x * y, axis=axis, keepdims=keepdims)


def _reduced(x: Type, _: Type, axis: tuple[int, ...], keepdims: bool) -> Type:
    kept = [1 if k in axis else n for k, n in enumerate(x.shape) if keepdims or k not in axis]
    return Type(tuple(kept), x.dtype)


SUM_OF_PRODUCTS = _op(
    "sum_of_products",
    "reduction",
    _sum_of_products,
    _reduced,
    _text_of_sum,
    lambda rng: [
        Case((rng.standard_normal((3, 4)), rng.standard_normal((3, 4))), {"axis": axis, "keepdims": keepdims})
        for axis, keepdims in (((0, 1), False), ((1,), False), ((1,), True), ((0,), False))
    ],
    params={"axis": AXES, "keepdims": BOOL},
)
