"""NumPy's own function, as the user called it: what a plan may compute by, instead of by the op.

An op has one form for many spellings: `np.fft.fft(x)` is an `fftn`, `np.median(x)` one over axes that are counted up.
What the user called is quicker for what it was called with, and costs what it costs without us.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from types import BuiltinFunctionType, NoneType
from typing import Any

import numpy as np

from tapec.ops.array import FUNCTIONS, ArrayLike
from tapec.trace.computing import direct
from tapec.trace.plan_text import FILE
from tapec.trace.steps import Answer
from tapec.trace.tensor import Tensor

__all__ = ["own_function"]

_SMALL = 4096  # elements up to which both are tried
_FIXED = frozenset({int, bool, float, str, NoneType})


def own_function(answer: Answer, ours: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Callable[..., Any] | None:
    """It, as a function of what the only op takes; None where it does not give what the op gives, to the last bit."""
    function = getattr(*ours.args) if type(ours) is partial else _functions().get(ours)  # partial: of (ufunc, method)
    if function is None or answer.kind is not None or answer.results != answer.ops:
        return None
    [node] = answer.ops
    if isinstance(node.op.run, (np.ufunc, BuiltinFunctionType)):  # nothing is quicker
        return None
    call = _Call(args, kwargs)
    places = [answer.inputs.index(i) if i in answer.inputs else None for i in node.inputs]
    taken = sorted([k for k in places if k is not None])
    if taken != list(range(len(call.values))) or any([v is None for v in call.values]):
        return None
    values = [i.value if k is None else call.values[k] for k, i in zip(places, node.inputs)]
    if sum(map(np.size, values)) > _SMALL:
        return None
    names = ", ".join([f"c{n}" if k is None else f"v{k}" for n, k in enumerate(places)])
    own = _caller(names, call.text, len(call.given))(direct(function), *call.given)
    try:
        with np.errstate(all="ignore"):
            theirs, op_gives = own(*values), node.op.run(*values, **dict(node.params))
    except Exception:  # whatever refuses: the op is computed as ever, and its errors are those of the call
        return None
    return own if _is_same(theirs, op_gives, values) else None


def _functions() -> dict[Any, Any]:
    return _first_of(len(FUNCTIONS))


@lru_cache(maxsize=1)
def _first_of(count: int) -> dict[Any, Any]:
    """Of each function of ours, the first of those that it stands for, of as many; others are names for the same."""
    found: dict[Any, Any] = {}
    for function, ours in FUNCTIONS.items():
        found.setdefault(ours, function)
    return found


class _Call:
    """Arguments as they are written: `v0`, `v1` are the values of operands, in order, `k0`, `k1` what else is given."""

    __slots__ = ("given", "text", "values")

    def __init__(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.values: list[Any] = []
        self.given: list[Any] = []
        self.text = ", ".join([self._written(a) for a in args] + [f"{n}={self._written(a)}" for n, a in kwargs.items()])

    def _written(self, a: Any) -> str:
        if type(a) is list:  # made anew each time: this one is the user's
            return f"[{', '.join(map(self._written, a))}]"
        if type(a) is tuple and not _FIXED.issuperset(map(type, a)):
            return f"({''.join([self._written(item) + ', ' for item in a])})"
        if isinstance(a, (ArrayLike, np.ndarray, np.generic)):
            self.values.append(_value(a))
            return f"v{len(self.values) - 1}"
        self.given.append(a)
        return f"k{len(self.given) - 1}"


def _value(a: Any) -> Any:
    """The value of an operand; None where it is not known yet."""
    read = a._operand() if isinstance(a, ArrayLike) else a
    if isinstance(read, ArrayLike):
        return read._value if type(read) is Tensor else None
    return read


@lru_cache(maxsize=1024)
def _caller(names: str, text: str, given: int) -> Any:
    """A function of (function, what is given) that makes the function of the values."""
    constants = "".join([f", k{k}" for k in range(given)])
    return eval(compile(f"lambda f{constants}: lambda {names}: f({text})", FILE, "eval"))


def _is_same(x: Any, y: Any, values: list[Any]) -> bool:
    if not isinstance(x, (np.ndarray, np.generic)) or x.dtype != y.dtype or x.shape != y.shape:
        return False
    if x.strides != y.strides or not np.array_equal(x, y, equal_nan=x.dtype.kind in "fc"):
        return False
    return [np.may_share_memory(x, v) for v in values] == [np.may_share_memory(y, v) for v in values]
