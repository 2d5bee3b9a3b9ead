"""Write ops in a shorter or faster way than their own source, where there is one.

Measured on ten elements: `np.sum(x)` 1.5 µs, `x.sum()` 0.75; `x.mean()` 1.8, `x.sum() / n` 0.8. `FORMS` are those
that are written only where `what_pays.py` finds that they save a good share of a program's time.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Container
from string import ascii_lowercase
from typing import Any

import numpy as np

from tapec.codegen import tuning
from tapec.codegen.common.expressions import Template, parse_template, slots
from tapec.codegen.numpy.what_pays import (
    BITS,
    CALLS,
    EXTREMES,
    ROWS,
    SUMS,
    column_and_row,
    extreme_of_short_rows,
    is_small_mean,
    is_small_product,
    sum_of_short_rows,
)
from tapec.ir import Node, OpTable, by_python, is_literal, ops
from tapec.ir.cost import bytes_of, elements, length
from tapec.ir.static_index import Slot
from tapec.ops.core.op_helpers import source_of_value

__all__ = [
    "BIT_BY_BIT",
    "BY_COLUMNS",
    "BY_DOT",
    "HELPED",
    "IDIOMS",
    "is_weak",
    "note_of",
    "out_template",
    "own_template",
    "template_of",
]

_TEXTS: dict[Any, Template] = {}


def is_weak(node: Node) -> bool:
    """Return whether the value is a plain Python number when the code runs."""
    t = node.type
    return is_literal(node) or (getattr(t, "weak", False) and not t.shape)


def _python_complex(node: Node) -> bool:
    """Return whether Python's complex, which knows floats, would compute `1j * x` with a NumPy scalar x.

    The result would then be Python's complex, not a NumPy scalar.
    """
    first = node.inputs[0]
    return is_weak(first) and first.type.dtype.kind == "c" and not node.op.multi and not node.type.shape


def template_of(node: Node, forms: Container[str] = ()) -> Template | None:
    """Return the source template of a node, which may have one of these forms; None when its op has no source."""
    op = node.op
    text: str | Template | None = None
    for form, write in FORMS.get(op, ()) if forms else ():
        if form in forms and text is None:
            text = write(node)
    idiom = None if text is not None else IDIOMS.get(op)
    if idiom is not None:
        text = idiom(node)
    if text is not None:
        return parse_template(text, len(node.inputs)) if isinstance(text, str) else text
    if op.kind == "elementwise" and (all(map(is_weak, node.inputs)) or _python_complex(node)):
        if getattr(node.type, "weak", False) and op in PYTHON:
            return parse_template((PYTHON_POLES if _may_have_pole(node) else PYTHON)[op], len(node.inputs))
        if op in _COMPARED and by_python(node) and len({i.type.dtype.kind for i in node.inputs}) > 1:
            return parse_template(_COMPARED[op], 2)
        if isinstance(op.numpy, np.ufunc):  # with an operator Python would compute, and give a number of its own
            return function_template(node)
    if op is ops.power and node.inputs[0].type.dtype.kind == "b":  # the operator has eight bits for a square
        return function_template(node)
    return own_template(node)


def own_template(node: Node) -> Template | None:
    """Return the template of the source in the op's definition."""
    op, params = node.op, node.params
    source = op.source
    if type(source) is str:
        key = (op, params, len(node.inputs))
        found = _TEXTS.get(key)
        if found is None:
            found = _kept(key, parse_template(filled(source, node), len(node.inputs)))
        return found
    if source is None:
        return None
    text = source(list(slots(len(node.inputs))), node)
    return None if text is None else parse_template(text, len(node.inputs))


# of Python's numbers these make Python's numbers, see `ops/core/python_numbers.py`
_ALIKE = {
    "add": "_0 + _1",
    "subtract": "_0 - _1",
    "multiply": "_0 * _1",
    "negative": "-_0",
    "positive": "+_0",
    "absolute": "abs(_0)",
    "real": "np.real(_0)",
    "imag": "np.imag(_0)",
    "bitwise_and": "_0 & _1",
    "bitwise_or": "_0 | _1",
    "bitwise_xor": "_0 ^ _1",
    "invert": "~_0",
    "left_shift": "_0 << _1",
    "right_shift": "_0 >> _1",
}
PYTHON = OpTable(
    _ALIKE | {"divide": "_0 / _1", "floor_divide": "_0 // _1", "remainder": "_0 % _1", "power": "_0 ** _1"}
)
_COMPARED = OpTable(  # NumPy would make a float of a whole number
    {
        "less": "np.bool_(_0 < _1)",
        "less_equal": "np.bool_(_0 <= _1)",
        "greater": "np.bool_(_0 > _1)",
        "greater_equal": "np.bool_(_0 >= _1)",
        "equal": "np.bool_(_0 == _1)",
        "not_equal": "np.bool_(_0 != _1)",
    }
)
PYTHON_POLES = OpTable(  # among cotangents a pole is inf or nan, where Python would raise
    _ALIKE
    | {
        "divide": "np.divide(_0, _1).item()",
        "floor_divide": "np.floor_divide(_0, _1).item()",
        "remainder": "np.remainder(_0, _1).item()",
        "power": "np.power(_0, _1).item()",
    }
)


def _may_have_pole(node: Node) -> bool:
    """Return whether an operation on numbers of a gradient may divide by zero."""
    is_plain = node.op is ops.divide and is_literal(node.inputs[1]) and node.inputs[1].value != 0
    return node.role is not None and not is_plain


def filled(source: str, node: Node) -> str:
    params = {k: source_of_value(v) for k, v in node.params}
    listed = "".join(f", {k}={v}" for k, v in params.items())
    return source.format(*slots(len(node.inputs)), name=node.name, params=listed, **params)


def function_template(node: Node, out: bool = False) -> Template:
    """Write an op as a call of its ufunc: `np.multiply(a, b)`, `np.multiply(a, b, out=c)`."""
    n = len(node.inputs)
    key = (node.op, out)
    found = _TEXTS.get(key)
    if found is None:
        source = node.op.source
        plain = filled(source, node) if type(source) is str else ""
        head = plain[: plain.index("(")] if plain.endswith(")") and plain[0].isalpha() else f"np.{node.op.name}"
        inner = ", ".join(slots(n))
        tail = f", out=_{n}" if out else ""
        found = _kept(key, parse_template(f"{head}({inner}{tail})", n + 1 if out else n))
    return found


def _kept(key: Any, template: Template) -> Template:
    """Keep a template for the next node of its kind; once there are `TEMPLATES_MAX`, all are dropped."""
    if len(_TEXTS) >= tuning.TEMPLATES_MAX:
        _TEXTS.clear()
    _TEXTS[key] = template
    return template


def out_template(node: Node, template: Template | None) -> Template:
    """Return the template that writes the op's result, written by this template elsewhere, into its last argument."""
    if node.op.kind == "layout":  # parameters are arguments of its call, to which `out` is added
        text = own_template(node).text  # type: ignore[union-attr]
        n = len(node.inputs)
        return parse_template(f"{text[:-1]}, out={slots(n + 1)[n]})", n + 1)
    if node.op is ops.where:
        return BIT_BY_BIT[template][1]
    return BY_COLUMNS.get(template) or function_template(node, out=True)


# ---------------------------------------------------------------------------------------------------------------
# idioms: op name -> (node -> text, or None for the op's own source)
# ---------------------------------------------------------------------------------------------------------------
def _reduction_params(node: Node) -> str:
    axis, keepdims = node.param("axis"), node.param("keepdims")
    parts = []
    if len(axis) != node.inputs[0].type.ndim or not axis:
        parts.append(f"axis={axis[0] if len(axis) == 1 else axis}")
    if keepdims:
        parts.append("keepdims=True")
    return ", ".join(parts) if node.inputs[0].type.shape else ""


def _method(name: str) -> Callable[[Node], str]:
    """Write a reduction as a method: `x.sum(axis=0)`."""
    return lambda node: f"_0.{name}({_reduction_params(node)})"


def _clip(node: Node) -> str | None:
    """Write `clip` as a method: the function asks twice who shall do it, which costs more than a small array's clip."""
    x = node.inputs[0].type
    return "_0.clip(_1, _2)" if x.shape and x.shape == node.type.shape else None


# Products by the method, and what computes them into an array whose rows follow one another in memory.
BY_DOT: dict[Template | None, Template] = {
    parse_template(f"{a}.dot({b})", 2): parse_template(f"np.dot({a}, {b}, out=_2)", 3)
    for a, b in (("_0", "_1"), ("_1", "_0"))
}


# Many rows of two, three or four elements, column by column. With each template the one that has `out=`.
BY_COLUMNS: dict[Template | None, Template] = {
    parse_template(f"by_columns(np.{name}, _0, _1)", 2): parse_template(f"by_columns(np.{name}, _0, _1, out=_2)", 3)
    for name in ("add", "subtract", "multiply", "divide")
}


def _by_columns(node: Node) -> str | None:
    """Write an operation on many short rows and a column, or a row that is the same for all, column by column."""
    t = node.type
    least = tuning.BY_COLUMNS_MIN_ROWS.get(t.shape[1]) if t.ndim == 2 else None
    if least is None or t.shape[0] < least or bytes_of(t) > tuning.BY_COLUMNS_MAX_BYTES:
        return None
    for x, other in (node.inputs, node.inputs[::-1]):
        spread = other.type.shape in ((t.shape[0], 1), (1, t.shape[1]), t.shape[1:]) and other.type.dtype == t.dtype
        if spread and x.type == t and x.op is not ops.transpose and not _looks_into(other, x):
            return f"by_columns(np.{node.op.name}, _0, _1)"
    return None


def _looks_into(view: Node, x: Node) -> bool:
    """Return whether both values may share memory, so that a change of one changes the other."""
    while view.op.view and view.inputs:
        view = view.inputs[0]
    while x.op.view and x.inputs:
        x = x.inputs[0]
    return view is x


def _multiply(node: Node) -> str | None:
    """Write a column times a row, (n, 1) by (1, m), as the product of matrices that it is."""
    column = column_and_row(node)
    return _by_columns(node) if column is None else f"_{column} @ _{1 - column}"


def _reshape(node: Node) -> str | None:
    """Write a column as a row, or a row as a column, by `.T`, and a vector as a column, or back, by an index; stacked
    matrices of a derivative as one matrix whatever their sizes."""
    old, new = node.inputs[0].type.shape, node.type.shape
    if node.role is not None and len(new) == 2 < len(old) and new[1] == old[-1] and all(new):
        return "_0.reshape(-1, _0.shape[-1])"
    if len(old) == 1 and new == (*old, 1):
        return "_0[:, None]"
    if len(new) == 1 and old == (*new, 1):
        return "_0[:, 0]"
    return "_0.T" if len(old) == 2 and 1 in old and old[::-1] == new != old else None


# Selections as masks of bits: their templates, and with each the helper that it calls and the template that has `out=`.
# One of a number and zero is a product, which is faster still.
MASKED = (parse_template("masked(_1, _0)", 3), parse_template("masked(_2, ~_0)", 3))
CHOSEN = parse_template("chosen(_0, _1, _2)", 3)
NUMBER = (parse_template("np.multiply(_0, _1)", 3), parse_template("np.multiply(~_0, _2)", 3))
BIT_BY_BIT: dict[Template | None, tuple[str, Template]] = {
    NUMBER[0]: ("", parse_template("np.multiply(_0, _1, out=_3)", 4)),
    NUMBER[1]: ("", parse_template("np.multiply(~_0, _2, out=_3)", 4)),
    MASKED[0]: ("masked", parse_template("masked(_1, _0, out=_3)", 4)),
    MASKED[1]: ("masked", parse_template("masked(_2, ~_0, out=_3)", 4)),
    CHOSEN: ("chosen", parse_template("chosen(_0, _1, _2, out=_3)", 4)),
}


def _bit_by_bit(node: Node) -> Template | None:
    """Write a selection of large arrays with the condition as a mask of bits."""
    mask, *parts = node.inputs
    t = node.type
    if elements(t) < tuning.MASKED_MIN_ELEMENTS or t.dtype.char not in "efd":
        return None
    if mask.type.dtype.kind != "b" or not mask.type.shape:
        return None
    zero = [is_literal(i) and i.value == 0 and math.copysign(1.0, i.value) > 0 for i in parts]
    if sum(zero) == 1:  # some of the elements, and zeros elsewhere
        chosen_from = parts[zero.index(False)]
        if is_literal(chosen_from) and mask.type.shape == t.shape and t.dtype.char == "d":
            # times a negative number zeros would have a sign, times an infinite one be nan
            return NUMBER[zero.index(False)] if 0 < chosen_from.value < math.inf else CHOSEN
        values = chosen_from.type
        if values.dtype == t.dtype and not values.weak:
            return MASKED[zero.index(False)]
    alike = [i.type.dtype == t.dtype and not i.type.weak and i.type.shape in ((), t.shape) for i in parts]
    whole = mask.type.shape == t.shape and all([is_literal(i) or a for i, a in zip(parts, alike)])
    return CHOSEN if whole and t.dtype == (float if all(map(is_literal, parts)) else t.dtype) else None


def _one_of_two(node: Node) -> str | None:
    """Write the choice of one of two numbers as an `if` expression.

    `np.where` takes a microsecond for two numbers, and makes an array of them, with which NumPy is slower still.
    """
    t, sides = node.type, []
    if t.shape:
        return None
    for k, i in enumerate(node.inputs[1:], 1):
        if t.weak or t.dtype.char not in "fd" or not (is_literal(i) or i.type == t):
            return None
        sides.append(f"np.{t.dtype.name}(_{k})" if is_literal(i) else f"_{k}")
    return f"{sides[0]} if _0 else {sides[1]}"


ROWS_AT = parse_template("rows_at(_0, _1)", 2)


def _rows(node: Node) -> str | Template | None:
    """Write rows of a matrix, picked by an array, with `take`. What it copies first must not be more than it picks."""
    if node.param("index") != (Slot(0),):
        return None
    x, index = [i.type for i in node.inputs]
    if x.ndim < 2 or not index.shape or not np.can_cast(index.dtype, np.intp) or index.dtype.kind == "b":
        return None
    return "_0.take(_1, axis=0)" if elements(x) <= elements(node) else ROWS_AT


SEGMENT_SUMS = parse_template("segment_sums(_0, _1)", 2)


def _segment_sums(node: Node) -> Template | None:
    """Write sums of segments of many long rows with the helper `segment_sums`."""
    t = node.inputs[0].type
    many = bytes_of(t) >= tuning.SEGMENT_SUMS_MIN_BYTES
    long = many and t.ndim > 1 and bytes_of(t) >= tuning.SEGMENT_SUMS_MIN_ROW_BYTES * length(t, 0)
    return SEGMENT_SUMS if long and t.dtype.char in "fd" and node.param("axis") == 0 else None


ORDER = parse_template("stable_order(_0)", 1)
HELPED: dict[Template | None, str] = {  # the helper that each template calls
    ORDER: "stable_order",
    ROWS_AT: "rows_at",
    SEGMENT_SUMS: "segment_sums",
    **dict.fromkeys(BY_COLUMNS, "by_columns"),
    **{template: helper for template, (helper, _) in BIT_BY_BIT.items() if helper},
}


def _argsort(node: Node) -> Template | None:
    t = node.inputs[0].type
    if (
        dict(node.params).get("kind") != "stable"
        or t.dtype.char not in "fd"
        or elements(t) < tuning.FAST_SORT_MIN_ELEMENTS
        or node.param("axis") != t.ndim - 1
    ):
        return None
    return ORDER if length(t, -1) >= tuning.FAST_SORT_MIN_ROW_ELEMENTS else None


IDIOMS: OpTable[Callable[[Node], str | Template | None]] = OpTable(
    {
        "add": _by_columns,
        "subtract": _by_columns,
        "divide": _by_columns,
        "sum": _method("sum"),
        "max": _method("max"),
        "min": _method("min"),
        "prod": _method("prod"),
        "any": _method("any"),
        "all": _method("all"),
        "mean": _method("mean"),
        "clip": _clip,
        "capped": _clip,
        "multiply": _multiply,
        "reshape": _reshape,
        "where": _one_of_two,
        "argsort": _argsort,
        "segment_sums": _segment_sums,
    }
)


# ---------------------------------------------------------------------------------------------------------------
# forms: op name -> (the form, node -> text, or None where it is not that form's)
# ---------------------------------------------------------------------------------------------------------------
def _dot(node: Node) -> str | None:
    return "_0.dot(_1)" if is_small_product(node) else None


def _outer_dot(node: Node) -> str | None:
    column = column_and_row(node)
    return None if column is None else f"_{column}.dot(_{1 - column})"


def _divided_sum(node: Node) -> str | None:
    """Write `x.sum() / x.size` for `x.mean()`: it gives the same, with less around it."""
    if not is_small_mean(node):
        return None
    axis = node.param("axis")
    if not axis:
        return None
    size = "_0.size" if len(axis) == node.inputs[0].type.ndim else "len(_0)" if axis == (0,) else f"_0.shape[{axis[0]}]"
    return f"_0.sum({_reduction_params(node)}) / {size}" if size == "_0.size" or len(axis) == 1 else None


def _sum_of_rows(node: Node) -> str | None:
    """Write the sum along the first or last axis of a matrix as a product with ones, along a last axis behind several
    others with `np.einsum`."""
    if not sum_of_short_rows(node) or node.inputs[0].type.ndim > 8:
        return None
    t, keepdims = node.inputs[0].type, node.param("keepdims")
    dtype = "" if t.dtype.char == "d" else ", np.float32"
    if node.param("axis") == (0,):
        text, n = f"np.ones({'(1, len(_0))' if keepdims else 'len(_0)'}{dtype}) @ _0", "len(_0)"
    elif t.ndim == 2:
        n = "_0.shape[1]"
        text = f"_0 @ np.ones({f'({n}, 1)' if keepdims else n}{dtype})"
    else:
        axes = ascii_lowercase[8 : 8 + t.ndim]  # i, j, k, ...
        n = f"_0.shape[{t.ndim - 1}]"
        text = f'np.einsum("{axes}->{axes[:-1]}", _0){"[..., None]" if keepdims else ""}'
    return text if node.op is ops.sum else f"({text}) / {n}"


def _extreme_by_columns(node: Node) -> str | None:
    if not extreme_of_short_rows(node):
        return None
    return f"_0.T.copy().{node.op.name}(axis=0){'[:, None]' if node.param('keepdims') else ''}"


FORMS: OpTable[tuple[tuple[str, Callable[[Node], str | Template | None]], ...]] = OpTable(
    {
        "matmul": ((CALLS, _dot),),
        "multiply": ((CALLS, _outer_dot),),
        "sum": ((SUMS, _sum_of_rows),),
        "mean": ((SUMS, _sum_of_rows), (CALLS, _divided_sum)),
        "max min": ((EXTREMES, _extreme_by_columns),),
        "getitem": ((ROWS, _rows),),
        "where": ((BITS, _bit_by_bit),),
    }
)
_NOTES = {
    SUMS: "short rows: several times as fast as a sum",
    EXTREMES: "short rows: several times as fast as along rows",
    BITS: "np.where bit by bit, up to ten times as fast",
    ROWS: "take: several times as fast as an index",
}


def note_of(node: Node, forms: Container[str]) -> str:
    """Return why a line has the form that it has, if it has one that is less plain than NumPy's own."""
    for form, write in FORMS.get(node.op, ()) if forms else ():
        if form in forms and form in _NOTES and write(node) is not None:
            return _NOTES[form]
    return ""
