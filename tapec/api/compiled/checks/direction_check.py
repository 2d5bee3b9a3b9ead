"""Compare derivatives with numbers that no derivative rule has touched.

Along a random direction v, the gradient says what the derivative is. Three ways find it out from values alone: the
complex step, exact to the last digits where the code computes with complex numbers as it does with real ones;
central differences extrapolated to a step of zero (Ridders), with an estimate of their own error; and differences to
either side, which tell a kink from a wrong gradient: at a kink they disagree, and any slope between them is right.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tapec.api import tuning
from tapec.errors import filtered_warnings
from tapec.fast_namedtuple import NamedTuple

__all__ = ["Verdict", "check_direction", "complex_step", "one_sided", "ridders"]

Scalar = Callable[[float], float]


class Verdict(NamedTuple):
    """Holds the result of checking one direction. `how` names the numbers that the prediction was held against.

    `status` is "ok", "wrong", "kink" (the sides disagree, and the prediction lies between them), or "undefined" (there
    is no finite number to hold it against).
    """

    status: str
    how: str
    predicted: float
    measured: float
    error: float


def check_direction(
    along: Callable[[complex], Any], predicted: float, precision: float = 2.2e-16, scale: float = 1.0
) -> Verdict:
    """Check whether `predicted` is the derivative of `along` at 0.

    `along(t)` is the value a step of t along the direction; t may be complex. `precision` is the relative precision of
    the values, `scale` how large a step is that moves the arguments by about their own size.
    """
    predicted = float(predicted)
    f = lambda t: _real(along(t))
    with np.errstate(all="ignore"):
        exact = complex_step(along)
        if exact is not None and _close(predicted, exact, 1e3 * precision):
            return _verdict("ok", "complex step", predicted, exact)
        left, right, noise = one_sided(f, scale, precision)
        wider = one_sided(f, 2 * scale, precision)
    near = (left + right) / 2
    if not np.isfinite([left, right]).all():
        return Verdict("undefined", "values that are not finite", predicted, near, np.nan)
    slack = 10 * precision**0.33 * max(abs(left), abs(right)) + noise
    if abs(left - right) > slack:
        how = f"slopes {left:.6g} and {right:.6g} to the sides"
        between = min(left, right) - slack <= predicted <= max(left, right) + slack
        return Verdict("kink", how, predicted, near, 0.0) if between else _verdict("wrong", how, predicted, near)
    slack += abs(near - (wider[0] + wider[1]) / 2)
    found = _by_differences(f, tuning.FIRST_STEP * scale, predicted, near, slack, noise, precision)
    if found.status == "ok":
        return found
    again = _by_differences(f, tuning.SECOND_STEP * scale, predicted, near, slack, noise, precision)
    return again if again.status == "ok" else found


def _by_differences(
    f: Scalar, h: float, predicted: float, near: float, slack: float, noise: float, precision: float
) -> Verdict:
    """Differences of steps from h on. Kinks and jumps in their reach lead astray: then the slope close by counts."""
    with np.errstate(all="ignore"):
        measured, error = ridders(f, h)
    how = "differences"
    if not error <= 1e-3 * max(abs(measured), abs(near)) + noise or abs(measured - near) > slack:
        how, measured, error = "differences close by", near, slack
    allowed = precision**0.4 * (max(abs(predicted), abs(measured)) + noise) + 10 * error
    return _verdict("ok" if abs(predicted - measured) <= allowed else "wrong", how, predicted, measured)


def _verdict(status: str, how: str, predicted: float, measured: float) -> Verdict:
    size = max(abs(predicted), abs(measured))
    return Verdict(status, how, predicted, measured, abs(predicted - measured) / size if size else 0.0)


def _close(a: float, b: float, tolerance: float) -> bool:
    return bool(np.isfinite(a) and np.isfinite(b)) and abs(a - b) <= tolerance * max(abs(a), abs(b), 1e-300)


def _real(value: Any) -> float:
    return float(np.real(value))


def complex_step(along: Callable[[complex], Any], h: float = 1e-30) -> float | None:
    """Return Im f(ih) / h: no difference is taken, so nothing cancels. None where the code takes no complex numbers."""
    try:
        with filtered_warnings("error", np.exceptions.ComplexWarning):  # it is lost in an array of real numbers
            value = along(complex(0.0, h))
    except Exception:  # whatever user code does with numbers it was not written for
        return None
    found = np.asarray(value)
    return float(found.imag) / h if found.dtype.kind == "c" and found.size == 1 else None


def ridders(f: Scalar, h: float, rounds: int = 12, shrink: float = 1.6) -> tuple[float, float]:
    """Return f'(0) by central differences of shrinking steps, extrapolated; and an estimate of the error."""
    best, error = np.nan, np.inf
    above: list[float] = []
    for k in range(rounds):
        row = [(f(h) - f(-h)) / (2 * h)]
        h /= shrink
        factor = 1.0
        for old in above:
            factor *= shrink * shrink
            row.append((factor * row[-1] - old) / (factor - 1))
            apart = max(abs(row[-1] - row[-2]), abs(row[-1] - old))
            if apart <= error:
                best, error = row[-1], apart
        if k > 3 and not abs(row[-1] - above[-1]) < 2 * error:
            break
        above = row
    return best, error


def one_sided(f: Scalar, scale: float, precision: float) -> tuple[float, float, float]:
    """Return slopes to the left and to the right, by differences of second order; and what rounding may add to them."""
    h = scale * precision**0.33
    f0 = f(0.0)

    def slope(h: float) -> float:
        return (4 * f(h / 2) - f(h) - 3 * f0) / h

    return slope(-h), slope(h), 16 * precision * abs(f0) / h
