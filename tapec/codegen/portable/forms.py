"""Say how each op is written with the functions of the array API, whose namespace is `xp`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tapec.codegen.common.explicit_dtypes import ORDERED, operand_dtypes
from tapec.codegen.common.expressions import slots
from tapec.ir import Node, OpSet, OpTable
from tapec.ir.static_index import Slice, Slot
from tapec.ops.decompositions import are_places
from tapec.ops.indexing.getitem_and_scatter import FULL_SLICE, index_source

__all__ = ["OPERATORS", "REASONS", "array_text", "dtype_text", "form"]

DTYPES = frozenset("?bhilqBHILQfdFD")  # of the array API, by NumPy's letters
OPERATORS = OpSet(
    "add subtract multiply divide power floor_divide remainder negative positive less less_equal greater greater_equal "
    "equal not_equal bitwise_and bitwise_or bitwise_xor invert left_shift right_shift stop_gradient"
)
OF_NUMBERS = OpSet("add subtract multiply absolute floor ceil trunc maximum minimum max min matmul vecdot positive")
REAL = ORDERED | OpSet("maximum minimum max min sort argsort searchsorted var std argmax argmin")  # not complex
_NAMES = "exp expm1 log log1p log2 log10 sqrt sin cos tan sinh cosh tanh square sign floor ceil trunc isnan isinf"
_NAMES += " isfinite maximum minimum hypot copysign signbit logaddexp logical_and logical_or logical_xor logical_not"
_NAMES += " real imag where vecdot nextafter"
_RENAMED = {
    "arcsin": "asin",
    "arccos": "acos",
    "arctan": "atan",
    "arcsinh": "asinh",
    "arccosh": "acosh",
    "arctanh": "atanh",
    "arctan2": "atan2",
    "absolute": "abs",
    "conjugate": "conj",
    "rint": "round",
}
_LINALG = ["qr", "det", "slogdet", "svdvals", "inv", "solve"]
FUNCTIONS = OpTable({name: name for name in _NAMES.split()} | {name: f"linalg.{name}" for name in _LINALG} | _RENAMED)


def dtype_text(dtype: np.dtype) -> str:
    return f"xp.{dtype.name}"


def array_text(shape: tuple[int, ...], value: Any, dtype: np.dtype) -> str:
    """Write an array of one number: `xp.zeros((2, 3), dtype=xp.float64)`."""
    kind = f"dtype={dtype_text(dtype)}"
    if value == 0 and "-" not in repr(value):
        return f"xp.zeros({shape}, {kind})"
    return f"xp.ones({shape}, {kind})" if value == 1 else f"xp.full({shape}, {number_text(value)}, {kind})"


def number_text(value: Any) -> str:
    """Write a number without NumPy's names."""
    text = repr(np.asarray(value).item())
    return (
        text
        if "n" not in text
        else {"inf": "xp.inf", "-inf": "-xp.inf", "nan": "xp.nan"}.get(text, f"complex('{text}')")
    )


def called(name: str, **more: Any) -> Callable[[Node], str]:
    """Return a form that calls a function with an op's parameters; `more` are further words, by parameter."""

    def text(node: Node) -> str:
        words = [*slots(len(node.inputs))]
        words += [f"{more.get(key, key)}={value!r}" for key, value in node.params if key not in more or more[key]]
        return f"xp.{name}({', '.join(words)})"

    return text


def reduced(name: str, **more: str) -> Callable[[Node], str]:
    """Return the form of a reduction; over no axis at all it does nothing."""

    def text(node: Node) -> str:
        axis, ndim = node.param("axis"), node.inputs[0].type.ndim
        if not axis and ndim and not more:
            return "_0"
        words = ["_0"] + ([] if len(axis) == ndim else [f"axis={axis[0] if len(axis) == 1 else axis}"])
        words += ["keepdims=True"] * node.param("keepdims")
        return f"xp.{name}({', '.join([*words, *[f'{word}={node.param(key)!r}' for key, word in more.items()]])})"

    return text


def _cast(node: Node) -> str:
    if node.type.dtype.kind == "b" and not node.inputs[0].type.weak:
        return "_0 != 0"
    real = node.inputs[0].type.dtype.kind == "c" and node.type.dtype.kind != "c"
    return f"xp.asarray({'xp.real(_0)' if real else '_0'}, dtype={dtype_text(node.type.dtype)})"


def _getitem(node: Node) -> str | None:
    index = node.param("index")
    if len(node.inputs) == 1:
        turned = tuple([k for k, p in enumerate(index) if p == Slice(None, None, -1)])
        if turned and all([type(p) is Slice and p in (FULL_SLICE, (None, None, -1)) for p in index]):
            return f"xp.flip(_0, axis={turned})"  # libraries may have no steps back
        if any([type(p) is Slice and (p.step or 1) < 0 for p in index]):
            return None
        short = Ellipsis not in index and len(index) - index.count(None) < node.inputs[0].type.ndim
        return f"_0[{index_source((*index, ...) if short else index, ())}]"
    return "xp.take(_0, _1, axis=0)" if reads_rows(node) else None


def _scatter(node: Node) -> str | None:
    """Add rows into zeros, the only form that each library has."""
    fits = len(node.inputs) == 2 and node.inputs[0].type.shape == (*node.inputs[1].type.shape, *node.type.shape[1:])
    return f"added_at(xp, {node.type.shape}, _1, _0)" if fits and reads_rows(node) else None


def reads_rows(node: Node) -> bool:
    """Return whether an index names rows by one array of places, none of which counts from the end."""
    return node.param("index") == (Slot(0),) and node.inputs[1].type.ndim == 1 and are_places(node.inputs[1])


def _joined(name: str) -> Callable[[Node], str]:
    return lambda node: f"xp.{name}([{', '.join(slots(len(node.inputs)))}], axis={node.param('axis')})"


def _transform(name: str) -> Callable[[Node], str]:
    return called(f"fft.{name}")


def _transpose(node: Node) -> str:
    axes = node.param("axes")
    return "_0.T" if axes == (1, 0) else f"xp.permute_dims(_0, {axes})"


def _eye(node: Node) -> str:
    n, m, k, dtype = (node.param(key) for key in ("n", "m", "k", "dtype"))
    return f"xp.eye({n}, {m}, k={k}, dtype={dtype_text(dtype)})"


def _pinv(node: Node) -> str:
    rcond = node.param("rcond")
    return f"xp.linalg.pinv(_0, rtol={1e-15 if rcond is None else rcond})"


def _norm(node: Node) -> str | None:
    order, axis = node.param("ord"), node.param("axis")
    if len(axis) != 1:
        return None
    words = f"axis={axis[0]}, keepdims={node.param('keepdims')}, ord={number_text(order)}"
    return f"xp.linalg.vector_norm(_0, {words})"


OF_PYTHON = OpTable({"absolute": "abs(_0)", "real": "_0.real", "imag": "_0.imag"})  # of a Python number
REASONS = OpTable(
    {
        "setitem": "its index may name a place twice, and libraries differ on which of the writes is seen",
        "sort argsort": "the array API does not order complex numbers",
        "round_number": "Python rounds to the nearest decimal number, libraries scale, round and scale back",
        "call checkpoint custom custom_graph": "it is a program of its own",
    }
)
FORMS: OpTable[Callable[[Node], str | None]] = OpTable(
    {
        "sum": reduced("sum"),
        "prod": reduced("prod"),
        "mean": reduced("mean"),
        "max": reduced("max"),
        "min": reduced("min"),
        "any": reduced("any"),
        "all": reduced("all"),
        "argmax": reduced("argmax"),
        "argmin": reduced("argmin"),
        "var": reduced("var", ddof="correction"),
        "std": reduced("std", ddof="correction"),
        "cast": _cast,
        "number": lambda node: f"{'complex' if node.type.dtype.kind == 'c' else 'float'}(_0)",
        "round_number": lambda node: f"round(_0, {node.param('digits')})" if node.type.weak else None,
        "number_kind": lambda node: f"type(_0) is {node.param('kind')}",
        "copy": lambda node: "xp.asarray(_0, copy=True)",
        "again": lambda node: "_0",
        "reshape": lambda node: f"xp.reshape(_0, {node.param('shape')})",
        "broadcast_to": lambda node: f"xp.broadcast_to(_0, {node.param('shape')})",
        "transpose": _transpose,
        "concatenate": _joined("concat"),
        "stack": _joined("stack"),
        "tril": called("tril"),
        "triu": called("triu"),
        "roll": called("roll"),
        "tile": lambda node: f"xp.tile(_0, {node.param('reps')})",
        "repeat": lambda node: f"xp.repeat(_0, {node.param('repeats')}, axis={node.param('axis')})",
        "full": lambda node: array_text(node.type.shape, node.param("value"), node.type.dtype),
        "eye": _eye,
        "getitem": _getitem,
        "scatter": _scatter,
        "take_along_axis": called("take_along_axis", unique=""),
        "cumsum": called("cumulative_sum"),
        "cumprod": called("cumulative_prod"),
        "sort": called("sort"),
        "argsort": lambda node: f"xp.argsort(_0, axis={node.param('axis')})",
        # JAX counts in 32 bits there
        "searchsorted": lambda node: f"xp.asarray({called('searchsorted')(node)}, dtype=xp.int64)",
        "matmul": lambda node: "_0 @ _1",
        "tensordot": called("tensordot"),
        "cross": lambda node: "xp.linalg.cross(_0, _1)" if node.type.shape[-1:] == (3,) else None,
        "cholesky": lambda node: f"cholesky_of(xp, _0, {bool(dict(node.params).get('upper'))})",
        "svd": called("linalg.svd"),
        "eigh": lambda node: "xp.linalg.eigh(_0)" if node.param("UPLO") == "L" else None,
        "eigvalsh": lambda node: "xp.linalg.eigvalsh(_0)" if node.param("UPLO") == "L" else None,
        "pinv": _pinv,
        "norm": _norm,
        **{name: _transform(name) for name in ("fftn", "ifftn", "rfftn", "irfftn")},
    }
)


def form(node: Node) -> str | None:
    """Return the source of an operation, in which `_0`, `_1`, ... stand for its operands; None where it has none."""
    op, arrays = node.op, [t for t in (node.type if node.op.multi else (node.type, *[i.type for i in node.inputs]))]
    if any([t.dtype.char not in DTYPES for t in arrays]):
        return None
    if not op.multi and node.type.weak and op in OF_PYTHON:
        return OF_PYTHON[op]
    if op in REAL and node.inputs[0].type.dtype.kind == "c":
        return None
    if op in OF_NUMBERS and operand_dtypes(node)[0].kind == "b":
        return None
    if op in OPERATORS:
        return str(op.source.format(*slots(len(node.inputs))))
    if op in FORMS:
        return FORMS[op](node)
    if op in FUNCTIONS:
        return f"xp.{FUNCTIONS[op]}({', '.join(slots(len(node.inputs)))})"
    return None
