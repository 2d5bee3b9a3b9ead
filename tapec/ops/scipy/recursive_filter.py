"""Define recursive filters: a[0] y[n] + a[1] y[n-1] + ... = b[0] x[n] + b[1] x[n-1] + ... along one axis, from rest."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapec.errors import at_user_line
from tapec.ir import Type
from tapec.ir.param_types import SIZE
from tapec.ops.core.define import conj, define
from tapec.ops.core.op_helpers import along, both, drawn
from tapec.ops.core.sample_domains import Case
from tapec.ops.core.stand_in import apply
from tapec.ops.scipy.convolve_nd import correlate

__all__ = ["LFILTER", "lfilter"]


def _run(b: Any, a: Any, x: Any, axis: int) -> Any:
    import scipy.signal

    return scipy.signal.lfilter(b, a, x, axis)


def _rule(b: Type, a: Type, x: Type, axis: int) -> Type:
    dtype = np.result_type(b.dtype, a.dtype, x.dtype)
    if dtype.char not in "fdgFDG":
        raise NotImplementedError(at_user_line(f"input type '{dtype}' not supported"))
    return Type(x.shape, dtype)


def _reversed(x: Any, axis: int) -> Any:
    return x[along(axis, slice(None, None, -1))]


def _vjp(ct: Any, y: Any, b: Any, a: Any, x: Any, axis: int) -> Any:
    """Run the filter back over the cotangent.

    Here u is the cotangent filtered back without the taps b. Each tap meets the signal that it was taken of.
    """
    back = _reversed(ct, axis)
    u = _reversed(lfilter(np.ones(1, a.dtype), conj(a), back, axis), axis)
    gx = _reversed(lfilter(conj(b), conj(a), back, axis), axis)
    return _lags(u, x, b.shape[0], axis), -_lags(u, y, a.shape[0], axis), gx


def _lags(u: Any, x: Any, count: int, axis: int) -> Any:
    """Return the sums of u[n] conj(x[n - k]) for the first k."""
    u, x = [np.reshape(np.moveaxis(z, axis, -1), (-1, z.shape[axis])) for z in (u, x)]
    return correlate(np.pad(u, ((0, 0), (0, count - 1))), x, "valid", "direct")[0]


def _batch(batched: tuple[bool, ...], b: Any, a: Any, x: Any, axis: int) -> Any:
    return NotImplemented if batched[0] or batched[1] else lfilter(b, a, x, axis + 1)


def _source(args: tuple[str, ...], node: Any) -> str:
    axis = node.param("axis")
    return f"scipy.signal.lfilter({', '.join(args)}{f', axis={axis}' if axis != node.type.ndim - 1 else ''})"


def _steady(taps: int, *shape: int, axis: int = 0, complex: bool = False) -> Any:
    """Return a case in which no signal grows much."""

    def sample(rng: np.random.Generator) -> list[Case]:
        b, a, x = drawn((2,), (taps,), shape, complex=complex)(rng)[0].inputs
        a = 0.2 * a
        a[0] += 1.5
        return [Case((b, a, x), {"axis": axis})]

    return sample


LFILTER = define(
    "scipy.signal.lfilter",
    _run,
    _rule,
    "linalg",
    params={"axis": SIZE},
    vjp=_vjp,
    linear=(2,),
    batch=_batch,
    source=_source,
    sample=both(
        _steady(3, 6), _steady(1, 5), _steady(2, 4, 3), _steady(3, 2, 4, axis=1), _steady(2, 3, 2, axis=1, complex=True)
    ),
    facts={"imports": "scipy.signal"},
)


def lfilter(b: Any, a: Any, x: Any, axis: int) -> Any:
    return apply(LFILTER, (b, a, x), (("axis", axis),))
