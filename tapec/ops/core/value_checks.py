"""Refuse the values that NumPy refuses, by a guard, or by an op where each example of a batch has its own value."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapec.ir import Type
from tapec.ir.param_types import TEXT, one_of
from tapec.ops.core.define import define, ndim_of
from tapec.ops.core.sample_domains import Case
from tapec.ops.core.stand_in import apply
from tapec.ops.core.symbol import holds, is_batch_example

__all__ = ["CHECKED", "checked"]


def unless(x: Any, wrong: Any, error: str, message: str) -> Any:
    if np.any(wrong):
        raise {"ValueError": ValueError, "ZeroDivisionError": ZeroDivisionError}[error](message)
    return np.copy(x)[()]


def _batch(batched: tuple[bool, ...], x: Any, wrong: Any, **params: str) -> Any:
    x = x if batched[0] else np.broadcast_to(x, (wrong.shape[0], *x.shape))
    return apply(CHECKED, (x, wrong), tuple(params.items()))


CHECKED = define(
    "checked",
    unless,
    lambda t, wrong, error, message: Type(t.shape, t.dtype),
    "check",
    params={"error": one_of("ValueError", "ZeroDivisionError"), "message": TEXT},
    vjp=lambda ct, y, x, wrong, **params: (ct, None),
    linear=(0,),
    batch=_batch,
    sample=lambda rng: [
        Case((rng.standard_normal((2, 3)), np.zeros(2, bool)), {"error": "ValueError", "message": "x is wrong"})
    ],
    note="a value that NumPy would refuse if any of the facts were true",
)


def checked(x: Any, wrong: Any, error: Exception) -> Any:
    """Return a value, or raise the error where any of the facts is true."""
    if is_batch_example(wrong):
        return apply(CHECKED, (x, wrong), (("error", type(error).__name__), ("message", str(error))))
    if holds(np.any(wrong) if ndim_of(wrong) else wrong):
        raise error
    return x
