"""Split each call of `einsum` into diagonals, sums, transposes and products of two operands.

What is left, a product of two operands that is no matrix product, is the op `einsum`: each operand has each of its
letters once, and every letter stands in the other operand or in the result.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from tapec.errors import at_user_line
from tapec.ir import Builder, Graph, Type, input_node, ops
from tapec.ir.flops import flops_of_contraction
from tapec.ir.param_types import SUBSCRIPTS
from tapec.ops.core.define import conj, define, ndim_of, shape_of, ufunc_dtypes
from tapec.ops.core.op_helpers import as_array, both, drawn
from tapec.ops.core.stand_in import apply, implements
from tapec.ops.core.symbol import Symbol, is_symbol

__all__ = ["EINSUM", "einsum"]

LOWER = "abcdefghijklmnopqrstuvwxyz"
LETTERS = LOWER + LOWER.upper()
ASCENDING = LOWER.upper() + LOWER  # the order in which einsum sorts letters


# -- the op -----------------------------------------------------------------------------------------------------------
def _split(subscripts: str) -> tuple[list[str], str]:
    left, right = subscripts.split("->")
    return left.split(","), right


def _rule(*types: Type, subscripts: str) -> Type:
    terms, out = _split(subscripts)
    size = {letter: n for term, t in zip(terms, types) for letter, n in zip(term, t.shape)}
    dtype = types[0].dtype
    for t in types[1:]:
        dtype = ufunc_dtypes(np.add, (Type((), dtype), t))[0]
    return Type(tuple([size[letter] for letter in out]), dtype)


def _vjp(ct: Any, y: Any, *xs: Any, subscripts: str) -> Any:
    """Return cotangents: the result and an operand change places; the other operands are conjugated."""
    terms, out = _split(subscripts)
    parts = []
    for k, term in enumerate(terms):
        others = [conj(x) for x in (*xs[:k], *xs[k + 1 :])]
        parts.append(np.einsum(f"{','.join([out, *terms[:k], *terms[k + 1 :]])}->{term}", ct, *others))
    return tuple(parts)


def _batch(batched: tuple[bool, ...], *xs: Any, subscripts: str) -> Any:
    terms, out = _split(subscripts)
    new = next(letter for letter in reversed(LETTERS) if letter not in subscripts)
    terms = [new + term if b else term for term, b in zip(terms, batched)]
    return np.einsum(f"{','.join(terms)}->{new}{out}", *xs)


def _source(args: tuple[str, ...], node: Any) -> str:
    optimize = ", optimize=True" if len(args) > 2 else ""
    return f"np.einsum({node.param('subscripts')!r}, {', '.join(args)}{optimize})"


EINSUM = define(
    "einsum",
    lambda *xs, subscripts: np.einsum(subscripts, *xs, optimize=len(xs) > 2),
    _rule,
    "product",
    params={"subscripts": SUBSCRIPTS},
    vjp=_vjp,
    linear=(0, 1),
    batch=_batch,
    source=_source,
    sample=both(
        drawn((2, 3), (2, 3), subscripts="ij,ij->ji"),
        drawn((2, 3, 2), (2, 3, 4), subscripts="bij,bik->bijk"),
        drawn((2, 3), (3, 2), subscripts="ij,ji->i", complex=True),
    ),
    numpy=np.einsum,
    flops=flops_of_contraction,
)


# -- reading what the user wrote --------------------------------------------------------------------------------------
@implements(np.einsum, gives_views=True, sums=True)
def einsum(
    *operands: Any,
    out: Any = None,
    optimize: Any = False,
    dtype: Any = None,
    order: str = "K",
    casting: str = "safe",
) -> Any:
    subscripts, arrays = _operands(operands)
    dtypes = [a.dtype for a in arrays]
    promotes = all([getattr(a, "_promotes", True) for a in arrays])
    if dtype is None and promotes and len({*dtypes}) > 1 and not _is_one_product(subscripts, arrays):
        dtype = np.result_type(*dtypes)  # in which NumPy computes all steps
    if dtype is not None:
        arrays = [a.astype(dtype) for a in arrays]
    plan = _plan(subscripts, tuple([Type(shape_of(a), a.dtype) for a in arrays]))
    known = dict(zip(plan.inputs, arrays))
    for node in plan.nodes:
        known[node] = apply(node.op, tuple([known[i] for i in node.inputs]), node.params)
    y = known[plan.outputs[0]]
    if len(arrays) == 1 and any([node.op is ops.diagonal for node in plan.nodes]) and not is_symbol(y):
        return y._writable()
    return y


def _is_one_product(subscripts: str, arrays: list[Any]) -> bool:
    """Return whether there are two operands, of which none is summed up by itself."""
    terms, result = _explicit(subscripts, tuple(map(ndim_of, arrays)))
    return len(terms) == 2 and {*terms[0]} ^ {*terms[1]} <= {*result}


@lru_cache(maxsize=1024)
def _plan(subscripts: str, types: tuple[Type, ...]) -> Graph:
    """The operations that an einsum of these types is made of."""
    builder = Builder()
    inputs = [input_node(f"x{k}", t) for k, t in enumerate(types)]
    arrays = [Symbol(i, builder) for i in inputs]
    terms, result = _explicit(subscripts, tuple([t.ndim for t in types]))
    size = _sizes(terms, arrays)
    pairs = [_distinct(a, t, k, terms, result, size) for k, (a, t) in enumerate(zip(arrays, terms))]
    y = _contract(_private_summed(pairs, result), result, size)
    return builder.graph(inputs, [y.node], "einsum")


@implements(np.einsum_path)
def einsum_path(*operands: Any, optimize: Any = "greedy", einsum_call: bool = False) -> Any:
    subscripts, arrays = _operands(operands)
    return np.einsum_path(subscripts, *[np.broadcast_to(0.0, shape_of(a)) for a in arrays], optimize=optimize)


def _operands(operands: Sequence[Any]) -> tuple[str, list[Any]]:
    """Return subscripts and arrays, from either of einsum's two forms."""
    if not operands:
        raise ValueError(at_user_line("must specify the einstein sum subscripts string and at least one operand"))
    if isinstance(operands[0], str):
        return operands[0].replace(" ", ""), [as_array(a) for a in operands[1:]]
    arrays, lists = list(operands[0::2]), list(operands[1::2])
    output = arrays.pop() if len(arrays) > len(lists) else None
    numbers = sorted({int(k) for part in [*lists, output or []] for k in part if k is not Ellipsis})
    letter = dict(zip(numbers, ASCENDING))

    def term(part: Any) -> str:
        return "".join(["..." if k is Ellipsis else letter[int(k)] for k in part])

    text = ",".join(map(term, lists))
    return text if output is None else f"{text}->{term(output)}", [as_array(a) for a in arrays]


@lru_cache(maxsize=1024)
def _explicit(subscripts: str, ndims: tuple[int, ...]) -> tuple[tuple[str, ...], str]:
    """The terms and the result, with letters for the axes of every ellipsis."""
    np.einsum(subscripts, *[np.zeros((1,) * n) for n in ndims])  # NumPy's own error for wrong subscripts
    left, _, right = subscripts.partition("->")
    terms = left.split(",")
    spare = [c for c in reversed(LETTERS) if c not in subscripts]
    hidden = [n - len(t.replace("...", "")) if "..." in t else 0 for t, n in zip(terms, ndims)]
    letters = "".join(spare[: max(hidden)])[::-1]
    full = tuple([t.replace("...", letters[len(letters) - n :]) for t, n in zip(terms, hidden)])
    if "->" in subscripts:
        return full, right.replace("...", letters)
    once = sorted(c for c in set(left) - set(".,") if left.count(c) == 1)
    return full, letters + "".join(once)


def _sizes(terms: Sequence[str], arrays: Sequence[Any]) -> dict[str, int]:
    """Return the size of each letter; an axis of length one broadcasts."""
    size: dict[str, int] = {}
    for term, a in zip(terms, arrays):
        for letter, n in zip(term, shape_of(a)):
            if size.setdefault(letter, n) == 1:
                size[letter] = n
            elif n not in (1, size[letter]):
                raise ValueError(
                    at_user_line(
                        f"operands could not be broadcast together: {letter!r} has sizes {size[letter]} and {n}"
                    )
                )
    return size


# -- taking it apart --------------------------------------------------------------------------------------------------
Term = tuple[Any, str]  # an array, and a letter for each of its axes


def _distinct(a: Any, term: str, k: int, terms: Sequence[str], result: str, size: dict[str, int]) -> Term:
    """One operand with each letter once, and without axes that are broadcast."""
    elsewhere = set(result).union(*terms[:k], *terms[k + 1 :])
    for letter in dict.fromkeys(term):
        if term.count(letter) == 2 and letter not in elsewhere:
            i = term.index(letter)
            j = term.index(letter, i + 1)
            a, term = _same_dtype(np.trace(a, 0, i, j), a), _without(term, (i, j))
        while term.count(letter) > 1:
            i = term.index(letter)
            j = term.index(letter, i + 1)
            a = np.diagonal(a, 0, i, j)
            term = term[:i] + term[i + 1 : j] + term[j + 1 :] + letter
    unit = tuple([i for i, letter in enumerate(term) if shape_of(a)[i] == 1 != size[letter]])
    if unit:
        a, term = np.squeeze(a, unit), _without(term, unit)
    return a, term


def _private_summed(pairs: list[Term], result: str) -> list[Term]:
    """Return operands summed over the letters that nothing else has."""
    out = []
    for k, (a, term) in enumerate(pairs):
        elsewhere = set(result).union(*[t for _, t in (*pairs[:k], *pairs[k + 1 :])])
        own = tuple([i for i, letter in enumerate(term) if letter not in elsewhere])
        out.append((_summed(a, own), _without(term, own)) if own else (a, term))
    return out


def _summed(x: Any, axes: tuple[int, ...]) -> Any:
    return _same_dtype(np.sum(x, axis=axes), x)


def _same_dtype(y: Any, x: Any) -> Any:
    """Return y in the dtype of x, since einsum does not widen small integers when it sums."""
    return y if y.dtype == x.dtype else y.astype(x.dtype)


def _without(term: str, places: Sequence[int]) -> str:
    return "".join([letter for i, letter in enumerate(term) if i not in places])


def _contract(pairs: list[Term], result: str, size: dict[str, int]) -> Any:
    """Multiply operands two at a time, in the order that einsum_path finds."""
    for step in _path(tuple([t for _, t in pairs]), result, tuple(size.items())):
        chosen = [pairs[i] for i in step]
        pairs = [p for i, p in enumerate(pairs) if i not in step]
        a = chosen[0]
        for n, b in enumerate(chosen[1:], 2):
            needed = set(result).union(*[t for _, t in (*pairs, *chosen[n:])])
            a = _product(a, b, needed if pairs or n < len(chosen) else None, result, size)
        pairs.append(a)
    x, term = pairs[0]
    return _arranged(x, term, result)


@lru_cache(maxsize=1024)
def _path(terms: tuple[str, ...], result: str, sizes: tuple[tuple[str, int], ...]) -> list[tuple[int, ...]]:
    if len(terms) == 1:
        return []
    if len(terms) == 2:
        return [(0, 1)]
    size = dict(sizes)
    shapes = [np.broadcast_to(0.0, [size[letter] for letter in t]) for t in terms]
    return np.einsum_path(f"{','.join(terms)}->{result}", *shapes, optimize="greedy")[0][1:]


def _arranged(x: Any, term: str, result: str) -> Any:
    """Sum x over the letters that the result does not have, and put its axes in the order of the result."""
    extra = tuple([i for i, letter in enumerate(term) if letter not in result])
    if extra:
        x, term = _summed(x, extra), _without(term, extra)
    return np.transpose(x, [term.index(letter) for letter in result])


def _product(a: Term, b: Term, needed: set[str] | None, result: str, size: dict[str, int]) -> Term:
    """Return the product of two terms, summed over the letters that nothing else needs."""
    x, s = a
    y, t = b
    keep = set(result) if needed is None else needed
    summed = [c for c in s if c in t and c not in keep]
    shared = [c for c in s if c in t and c in keep]
    left = [c for c in s if c not in t]
    right = [c for c in t if c not in s]
    if not summed and not shared and (not left or not right):
        return x * y, s + t  # one of them is a number
    if summed and left and right and -1 < result.find(right[0]) < result.find(left[0]):
        # swapped, so that the product lies in memory as the result does
        a, b, x, y, s, t, left, right = b, a, y, x, t, s, right, left
    if not shared and summed:
        axes = [s.index(c) for c in summed], [t.index(c) for c in summed]
        return np.tensordot(x, y, axes), "".join(left + right)
    if summed:
        return _matrices(a, b, shared, summed, left, right, size)
    if not summed and set(t) <= set(s) and t == s[len(s) - len(t) :]:
        return x * y, s
    if not summed and set(s) <= set(t) and s == t[len(t) - len(s) :]:
        return x * y, t
    order = result if needed is None else "".join(shared + left + right)
    return apply(EINSUM, (x, y), (("subscripts", f"{s},{t}->{order}"),)), order


def _matrices(
    a: Term, b: Term, shared: list[str], summed: list[str], left: list[str], right: list[str], size: dict[str, int]
) -> Term:
    """Return a matrix product for each combination of the shared letters; letters of one kind are one axis
    meanwhile.
    """
    z = _matrix(a, shared, left, summed, size) @ _matrix(b, shared, summed, right, size)
    if len(left) != 1 or len(right) != 1:
        z = np.reshape(z, [size[c] for c in (*shared, *left, *right)])
    return z, "".join(shared + left + right)


def _matrix(a: Term, shared: list[str], rows: list[str], columns: list[str], size: dict[str, int]) -> Any:
    """Return an operand as a stack of matrices, reshaped as it lies in memory, so that nothing is copied."""
    if len(rows) == len(columns) == 1:
        return _ordered(a, [*shared, *rows, *columns])
    first = next((c for c in a[1] if c not in shared), None)
    turned = bool(rows) and first in columns
    groups = (columns, rows) if turned else (rows, columns)
    x = _ordered(a, [*shared, *groups[0], *groups[1]])
    x = np.reshape(x, [*[size[c] for c in shared], *[math.prod([size[c] for c in group]) for group in groups]])
    return np.swapaxes(x, -1, -2) if turned else x


def _ordered(a: Term, letters: list[str]) -> Any:
    return np.transpose(a[0], [a[1].index(c) for c in letters])
