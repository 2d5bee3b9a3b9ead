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
from tapec.trace.tensor import Tensor

__all__ = ["making"]

_WITHOUT_LIKE = "bartlett blackman geomspace hamming hanning indices kaiser linspace logspace"
_OF_LISTS = "copy diag empty_like full_like kron ones_like outer repeat tile vander zeros_like"


def making(value: Any) -> Any:
    """Return the stand-in for NumPy, or for one of its functions that make arrays; anything else as it is."""
    return _stand_ins().get(id(value), value)


@cache
def _stand_ins() -> dict[int, Any]:
    module = types.ModuleType(np.__name__)
    module.__dict__.update(np.__dict__)
    found: dict[int, Any] = {id(np): module}
    for function in (*LIKE, *[getattr(np, name) for name in (_WITHOUT_LIKE + " " + _OF_LISTS).split()]):
        found[id(function)] = module.__dict__[function.__name__] = _maker(function)
    return found


def _maker(function: Callable[..., Any]) -> Callable[..., Any]:
    any_tensor = Tensor(0.0)

    @wraps(function)
    def make(*args: Any, **kwargs: Any) -> Any:
        if function in LIKE:
            return function(*args, **{"like": any_tensor, **kwargs})
        made = function(*args, **kwargs)
        return Tensor(made) if type(made) is np.ndarray else made

    return make
