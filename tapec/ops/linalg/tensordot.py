"""Define `tensordot`, the contraction of several axes; it is a plain matrix product wherever possible."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from tapec.errors import at_user_line
from tapec.ir import Type
from tapec.ir.flops import flops_of_contraction
from tapec.ir.param_types import INTEGERS, tuple_of
from tapec.ir.types import normalize_axis, several
from tapec.ops.core.define import conj, define, ndim_of, shape_of, ufunc_dtypes
from tapec.ops.core.op_helpers import as_array, both, drawn, flat
from tapec.ops.core.stand_in import apply, implements

__all__ = ["TENSORDOT"]

Axes = tuple[int, ...]


def _rest(ndim: int, axes: Axes) -> Axes:
    return tuple([k for k in range(ndim) if k not in axes])


def _rule(a: Type, b: Type, axes: tuple[Axes, Axes]) -> Type:
    left, right = axes
    if [a.shape[k] for k in left] != [b.shape[k] for k in right] or min(len(set(left)), len(set(right))) < len(left):
        raise ValueError(f"the axes {left} of {a.shape} and {right} of {b.shape} do not fit each other")
    shape = [a.shape[k] for k in _rest(a.ndim, axes[0])] + [b.shape[k] for k in _rest(b.ndim, axes[1])]
    return Type(tuple(shape), ufunc_dtypes(np.add, (a, b))[0])


def _vjp(ct: Any, y: Any, a: Any, b: Any, axes: tuple[Axes, Axes]) -> Any:
    """Contract the cotangent with the other operand over the axes that the other brought into the result."""
    left, right = axes
    free_a, free_b = _rest(a.ndim, left), _rest(b.ndim, right)
    n = len(free_a)
    ga = np.tensordot(ct, conj(b), (tuple(range(n, ct.ndim)), free_b))
    gb = np.tensordot(conj(a), ct, (free_a, tuple(range(n))))
    order_a = (*free_a, *[left[right.index(k)] for k in sorted(right)])
    order_b = (*[right[left.index(k)] for k in sorted(left)], *free_b)
    return np.transpose(ga, _places(order_a)), np.transpose(gb, _places(order_b))


def _places(order: Axes) -> list[int]:
    return [order.index(k) for k in range(len(order))]


def _source(args: tuple[str, ...], node: Any) -> str:
    left, right = node.param("axes")
    ndim, k = node.inputs[0].type.ndim, len(left)
    if left == tuple(range(ndim - k, ndim)) and right == tuple(range(k)):
        axes = str(k)
    else:
        axes = str((left[0], right[0])) if k == 1 else str((left, right))
    return f"np.tensordot({args[0]}, {args[1]}, axes={axes})"


def _batch(batched: tuple[bool, ...], a: Any, b: Any, axes: tuple[Axes, Axes]) -> Any:
    """Contract a batch by einsum, in which the letter z is the batch."""
    left, right = axes
    letters = iter("abcdefghijklmnopqrstuvwxyABCDEFGHIJKLMNOPQRSTUVWXYZ")
    sub_a = [next(letters) for _ in range(a.ndim - batched[0])]
    sub_b = [next(letters) for _ in range(b.ndim - batched[1])]
    for i, k in zip(left, right):
        sub_b[k] = sub_a[i]
    out = [sub_a[k] for k in _rest(len(sub_a), left)] + [sub_b[k] for k in _rest(len(sub_b), right)]
    first, second = ("z" if flag else "" for flag in batched)
    return np.einsum(f"{first}{''.join(sub_a)},{second}{''.join(sub_b)}->z{''.join(out)}", a, b)


TENSORDOT = define(
    "tensordot",
    np.tensordot,
    _rule,
    "product",
    params={"axes": tuple_of(INTEGERS)},
    vjp=_vjp,
    linear=(0, 1),
    batch=_batch,
    source=_source,
    sample=both(
        drawn((2, 3, 4), (3, 4, 2), axes=((1, 2), (0, 1))),
        drawn((2, 3, 4), (4, 2, 3), axes=((0, 2), (1, 0))),
        drawn((2, 3, 2), (2, 3), axes=((1,), (1,))),
        drawn((2, 3), (2, 3), axes=((0, 1), (0, 1))),
        drawn((2, 3, 2), (3, 2), axes=((2, 1), (1, 0)), complex=True),
    ),
    numpy=np.tensordot,
    flops=flops_of_contraction,
)


@implements(np.tensordot, np.linalg.tensordot)
def tensordot(a: Any, b: Any, axes: Any = 2) -> Any:
    a, b = as_array(a), as_array(b)
    left, right = _contracted(axes, ndim_of(a), ndim_of(b))
    if len(left) != len(right) or any(shape_of(a)[i] != shape_of(b)[k] for i, k in zip(left, right)):
        raise ValueError(at_user_line("shape-mismatch for sum"))
    if not left:
        return np.reshape(a, (*shape_of(a), *(1,) * ndim_of(b))) * b
    if len(left) == 1 and ndim_of(a) <= 2 and ndim_of(b) <= 2:
        return (np.transpose(a) if left == (0,) else a) @ (np.transpose(b) if right == (1,) else b)
    if len(left) == 1 and left == (ndim_of(a) - 1,) and ndim_of(b) <= 2:
        return a @ (np.transpose(b) if right == (1,) else b)
    if left == right == tuple(range(ndim_of(a))) and ndim_of(a) == ndim_of(b):
        return flat(a) @ flat(b)
    return apply(TENSORDOT, (a, b), (("axes", (left, right)),))


def _contracted(axes: Any, m: int, n: int) -> tuple[Axes, Axes]:
    """The axes to contract, counted from the front."""
    axes = axes.tolist() if isinstance(axes, np.ndarray) else axes
    if not isinstance(axes, (tuple, list)):
        k = operator.index(axes)
        if k > m or k > n:
            raise ValueError(at_user_line("shape-mismatch for sum"))
        return tuple(range(m - k, m)), tuple(range(k))
    left, right = axes
    left = tuple([normalize_axis(k, m) for k in several(left)])
    right = tuple([normalize_axis(k, n) for k in several(right)])
    if len(set(left)) != len(left) or len(set(right)) != len(right):
        raise ValueError(at_user_line("duplicate axes are not allowed in tensordot"))
    return left, right
