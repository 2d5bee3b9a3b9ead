"""Share helpers among the rules of scipy.special: its functions, domains of samples, and the table of rules."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tapec.extras import needs
from tapec.fast_namedtuple import NamedTuple
from tapec.ops.core.define import Missing, conj
from tapec.ops.core.op_helpers import real_dtype, weak
from tapec.ops.core.sample_domains import Domain
from tapec.ops.elementwise.powers import number_of

__all__ = [
    "ROOT_2PI",
    "ROOT_PI",
    "RULES",
    "Rule",
    "by_parts",
    "chosen",
    "half_open",
    "known",
    "order",
    "rule",
    "shape",
    "small",
    "sp",
    "together",
    "turned",
    "typed",
    "unknown",
]


class _Special:
    """A stand-in for scipy.special, which is imported when a rule runs: never before the program needs SciPy."""

    def __getattr__(self, name: str) -> Any:
        with needs("scipy", f"scipy.special.{name}"):
            from scipy import special

        return getattr(special, name) if hasattr(special, name) else getattr(special._ufuncs, name)


sp = _Special()


class Rule(NamedTuple):
    """The arguments of `elementwise` for a ufunc, and the domains of its samples."""

    derivative: dict[str, Any]
    sample: tuple[Domain, ...]


RULES: dict[str, Rule] = {}


def rule(name: str, *sample: Domain, **derivative: Any) -> None:
    """Enter the rule of a ufunc in the table."""
    RULES[name] = Rule(derivative, sample)


half_open = Domain(0.1, 0.9)  # probabilities
order = Domain(0, 3, kind="i")
small = Domain(0.5, 3.0)
shape = Domain(1, 3, kind="i")  # parameters without a derivative
ROOT_PI, ROOT_2PI = math.sqrt(math.pi), math.sqrt(2 * math.pi)


def unknown(name: str) -> Missing:
    return Missing(f"scipy.special.{name}")


def together(*slopes: Callable[..., Any] | Missing) -> Callable[..., Any]:
    """Return the vjp of a ufunc with several results; for each operand, `slopes` has a function for the slopes of all
    results.
    """

    def vjp(ct: Any, y: Any, *xs: Any) -> Any:
        found = [s if isinstance(s, Missing) else s(y, *xs) for s in slopes]
        return tuple([s if isinstance(s, Missing) else sum(c * conj(d) for c, d in zip(ct, s)) for s in found])

    return vjp


def by_parts(*slopes: Callable[..., Any] | Missing) -> dict[str, Callable[..., Any]]:
    """Return the rules of a ufunc that is scaled by the size of a real or imaginary part, and so not holomorphic.

    For each operand, `slopes` has a function for the slopes of all results, each (p,) or (p, q, w): where the operand
    moves by t, the result moves by p t + q Re(w t).
    """

    def vjp(ct: Any, y: Any, *xs: Any) -> Any:
        cts = ct if isinstance(ct, (tuple, list)) else (ct,)
        found = [s if isinstance(s, Missing) else s(y, *xs) for s in slopes]
        return tuple([s if isinstance(s, Missing) else sum(_pulled(c, *d) for c, d in zip(cts, s)) for s in found])

    def jvp(ts: Any, y: Any, *xs: Any) -> Any:
        moved = []
        for t, s in zip(ts, slopes, strict=True):
            if t is not None:
                moved.append([_pushed(t, *d) for d in (s.refuse() if isinstance(s, Missing) else s(y, *xs))])
        results = tuple(map(sum, zip(*moved)))
        return results if isinstance(y, tuple) else results[0]

    return {"vjp": vjp, "jvp": jvp}


def _pulled(ct: Any, p: Any, q: Any = None, w: Any = 1) -> Any:
    return ct * conj(p) if q is None else ct * conj(p) + conj(w) * np.real(ct * conj(q))


def _pushed(t: Any, p: Any, q: Any = None, w: Any = 1) -> Any:
    return p * t if q is None else p * t + q * np.real(w * t)


def typed(a: Any, x: Any) -> Any:
    """Return a Python number in the precision of x; SciPy's loops would take it for a double."""
    dtype = real_dtype(x.dtype)
    return np.asarray(a)[()].astype(dtype) if type(a) in (int, float) else a.astype(dtype) if weak(a) else a


def turned(x: Any, y: Any) -> Any:
    """Return an operand as a complex number if the result y is one: then negative numbers have roots and logarithms."""
    return x.astype(y.dtype) if y.dtype.kind == "c" and x.dtype.kind != "c" else x


def known(n: Any) -> Any:
    """Return a parameter as a number, if the program knows it: what depends on it is then decided before code is
    made.
    """
    number = number_of(n)
    return n if number is None else number.item() if isinstance(number, np.generic) else number


def chosen(test: Any, a: Any, b: Any) -> Any:
    """Return `np.where`; for a test whose result is known, one of the two sides."""
    return (a if test else b) if isinstance(test, (bool, np.bool_)) else np.where(test, a, b)
