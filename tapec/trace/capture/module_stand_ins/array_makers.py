"""Record arrays that a function makes by NumPy and picks from by a tensor of integers.

`np.eye(10)[labels]` asks `labels` for plain numbers, and what NumPy picks by them is of this run alone. So such a
function runs once more, and there they make tensors, as they do with `like=`: nothing records these, so that they are
as good as arrays, and to pick from a tensor is an op. The first run tells whether they were as good: a function that
asks for classes, or catches what tensors refuse, may come to something else.
"""

from __future__ import annotations

import types
from collections.abc import Callable
from functools import cache, wraps
from typing import Any

import numpy as np

from tapec.ops.core.stand_in import LIKE
from tapec.trace.capture.module_stand_ins.numpy_view import view_of
from tapec.trace.tensor import Tensor

__all__ = ["making"]

_WITHOUT_LIKE = "bartlett blackman geomspace hamming hanning indices kaiser linspace logspace"
_PLAINLY = ("arange", "eye", "frombuffer", "fromfunction", "fromiter", "fromstring", "identity", "tri")
_OF_LISTS = "copy diag empty_like full_like kron ones_like outer repeat tile vander zeros_like"


def making(value: Any) -> Any:
    """Return the stand-in for NumPy, or for one of its functions that make arrays; anything else as it is."""
    return _stand_ins().get(id(value), value)


@cache
def _stand_ins() -> dict[int, Any]:
    module = types.ModuleType(np.__name__)
    module.__dict__.update(vars(view_of(np)))
    found: dict[int, Any] = {id(np): module, id(view_of(np)): module}
    for function in (*LIKE, *[getattr(np, name) for name in (_WITHOUT_LIKE + " " + _OF_LISTS).split()]):
        made = module.__dict__[function.__name__] = _maker(function)
        found[id(function)] = found[id(view_of(function))] = made
    found[id(np.ndarray)] = module.__dict__["ndarray"] = _Arrays("ndarray", (), {"__module__": np.__name__})
    return found


class _Arrays(type):
    """Lets a class be `np.ndarray`: it makes tensors, and is equal to what it stands for."""

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        return _of_numbers(np.ndarray(*args, **kwargs))

    def __instancecheck__(cls, x: Any) -> bool:
        return isinstance(x, np.ndarray)

    def __subclasscheck__(cls, kind: Any) -> bool:
        return issubclass(kind, np.ndarray)

    def __getattr__(cls, name: str) -> Any:
        return getattr(np.ndarray, name)

    def __eq__(cls, other: object) -> bool:
        return other is cls or other is np.ndarray

    def __hash__(cls) -> int:
        return hash(np.ndarray)


def _maker(function: Callable[..., Any]) -> Callable[..., Any]:
    any_tensor = Tensor(0.0)
    knows_tensors = function in LIKE and function.__name__ not in _PLAINLY

    @wraps(function)
    def make(*args: Any, **kwargs: Any) -> Any:
        if knows_tensors:
            try:
                return view_of(function)(*args, **{"like": any_tensor, **kwargs})
            except TypeError as error:  # a tensor holds numbers
                made = view_of(function)(*args, **kwargs)
                if not isinstance(made, np.ndarray) or made.dtype.kind in "fciub":
                    raise error
                return made
        return _of_numbers(view_of(function)(*args, **kwargs))

    return make


def _of_numbers(made: Any) -> Any:
    """Return a tensor for an array of numbers; one of strings, objects, dates or records as it is."""
    return Tensor(made) if type(made) is np.ndarray and made.dtype.kind in "fciub" else made
