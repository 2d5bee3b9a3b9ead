"""Define `check_grads`: it compares derivatives with differences, along random directions, in both modes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tapec.api.compiled.signature import value_of
from tapec.api.transforms.directional import jvp
from tapec.api.transforms.vjp import vjp
from tapec.errors import GradientCheckError, at_user_line
from tapec.pytree import leaves_of, map_leaves
from tapec.trace.function.call_adapter import Adapter
from tapec.tracebacks import shortens
from tapec.values.variable import Variable

__all__ = ["check_grads", "difference"]


_MODES = {"reverse": "reverse", "rev": "reverse", "forward": "forward", "fwd": "forward"}


@shortens
def check_grads(
    function: Callable[..., Any],
    args: Sequence[Any],
    order: int = 2,
    modes: Sequence[str] = ("reverse", "forward"),
    *,
    rtol: float | None = None,
    directions: int = 2,
    seed: int = 0,
) -> None:
    """Check the derivatives of a function against differences of its values.

    Each check compares the derivative along a random direction with central differences, extrapolated by Richardson.

    Parameters
    ----------
    function : callable
        The function.
    args : tuple or list
        The arguments at which to check. Those without real or complex numbers (labels, a mode) stay what they are.
    order : int, default 2
        Up to which order derivatives are checked.
    modes : sequence of str, default ('reverse', 'forward')
        The modes to check: "reverse" and "forward", or "rev" and "fwd".
    rtol : float or None, default None
        The tolerance, relative to the size of the terms. None follows the precision of the arguments.
    directions : int, default 2
        How many directions are tried for each order.
    seed : int, default 0
        The seed from which they are drawn.

    Raises
    ------
    GradientCheckError
        If a derivative is wrong. It is an AssertionError, too.
    ValueError
        If a mode is another word.
    TypeError
        If `args` is no tuple or list, or holds no real or complex number.

    Examples
    --------
    >>> import numpy as np, tapec
    >>> tapec.check_grads(lambda x: np.sin(x) * x, (np.array([0.5, 2.0]),), order=2)

    See Also
    --------
    tapec.custom_gradient : rules that should be checked
    tapec.custom_jvp : likewise
    """
    for mode in modes:
        if mode not in _MODES:
            raise ValueError(f"modes are 'reverse' and 'forward', not {mode!r}")
    if not isinstance(args, (tuple, list)):
        raise TypeError(at_user_line("check_grads takes the arguments as a tuple. Fix: check_grads(f, (x,))"))
    rng = np.random.default_rng(seed)
    function, moving = _of_numbers(function, tuple(args))
    _check(function, moving, order, tuple([_MODES[mode] for mode in modes]), rtol, directions, rng, 1)


def _of_numbers(function: Callable[..., Any], args: tuple[Any, ...]) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """The function of those arguments that hold real or complex numbers; the others stay what they are."""
    moving = [k for k, x in enumerate(args) if numbers(x)]
    if not moving:
        raise TypeError(at_user_line("check_grads: none of the arguments holds a real or complex number"))
    if len(moving) == len(args):
        return function, args

    def call(f: Any, *given: Any) -> Any:
        moved = dict(zip(moving, given))
        return f(*[moved[k] if k in moved else map_leaves(_own, x) for k, x in enumerate(args)])

    return Adapter(call, function), tuple([args[k] for k in moving])


def _own(x: Any) -> Any:
    """An array of its own, which is a constant of the function that is traced; other objects are what they are."""
    return x.copy() if isinstance(x, np.ndarray) else x


def _check(
    f: Callable[..., Any], args: Any, order: int, modes: Any, rtol: float | None, directions: int, rng: Any, level: int
) -> None:
    for _ in range(directions):
        v = map_numbers(lambda x: _direction(x, rng), args)
        expected, spread = difference(f, args, v)
        ct = map_numbers(lambda y: _direction(y, rng), _values(f(*args)))
        if "reverse" in modes:
            _, pullback = vjp(f, *args)
            back = pullback(ct)
            back = (back,) if len(args) == 1 else back
            _compare("reverse", level, inner(back, v), inner(ct, expected), spread, args, rtol, [ct, expected])
        if "forward" in modes:
            tangent = jvp(f, args, v)[1]
            _compare("forward", level, inner(ct, tangent), inner(ct, expected), spread, args, rtol, [ct, expected])
    if level < order:

        def pulled_back(g: Any, *a: Any) -> Any:
            return vjp(g, *a)[1](map_numbers(lambda c: np.array(c)[()], ct))  # of its own: a constant of this function

        gradient = Adapter(pulled_back, f)  # f is traced as it is, with all that it captures
        _check(gradient, args, order, modes, rtol, directions, rng, level + 1)


def difference(f: Callable[..., Any], args: Any, v: Any, step: float | None = None) -> tuple[Any, float]:
    """The derivative along v by central differences, twice extrapolated; and how far the two estimates lie apart.

    Smaller steps are tried where that is far, as where kinks are in reach: of a net's many units, some always are.
    """
    precision = _precision(args)
    steps = [10 * precision ** (1 / 5) / closer for closer in _CLOSER] if step is None else [step]
    best, apart = _extrapolated(f, args, v, steps[0])
    for h in steps[1:]:
        if apart <= precision**0.4 * max([float(np.max(np.abs(d), initial=0.0)) for d in best], default=0.0):
            break
        near = _extrapolated(f, args, v, h)
        best, apart = near if near[1] < apart else (best, apart)
    it = iter(best)
    return map_numbers(lambda _: next(it), _values(f(*args))), apart


_CLOSER = (1, 32, 1024, 32768)


def _extrapolated(f: Callable[..., Any], args: Any, v: Any, step: float) -> tuple[list[np.ndarray], float]:
    def central(h: float) -> list[np.ndarray]:
        up = numbers(_values(f(*_moved(args, v, h))))
        down = numbers(_values(f(*_moved(args, v, -h))))
        return [(np.asarray(a, _wide(a)) - np.asarray(b, _wide(b))) / (2 * h) for a, b in zip(up, down)]

    coarse, middle, fine = central(step), central(step / 2), central(step / 4)
    far = [(4 * b - a) / 3 for a, b in zip(coarse, middle)]
    near = [(4 * b - a) / 3 for a, b in zip(middle, fine)]
    best = [(16 * b - a) / 15 for a, b in zip(far, near)]
    return best, max([float(np.max(np.abs(a - b), initial=0.0)) for a, b in zip(far, near)], default=0.0)


def _compare(
    mode: str, level: int, got: float, expected: float, apart: float, args: Any, rtol: float | None, terms: Any
) -> None:
    if rtol is None:
        rtol = float(_precision(args)) ** 0.4
    scale = max(abs(got), abs(expected), inner_size(*terms), 1e-30)
    if not abs(got - expected) <= rtol * scale + 0.1 * apart or not np.isfinite(got):
        raise GradientCheckError(
            f"{mode} mode, order {level}: the derivative along a random direction is {got!r}, differences give "
            f"{expected!r} (they agree among themselves to {apart:.1e}). A kink near the arguments, a function that "
            f"draws random numbers, or a wrong rule?"
        )


# ---------------------------------------------------------------------------------------------------------------
# vectors of nested structures
# ---------------------------------------------------------------------------------------------------------------
def _is_number(x: Any) -> bool:
    return isinstance(x, (float, complex, np.ndarray, np.generic)) and np.asarray(x).dtype.kind in "fc"


def _values(x: Any) -> Any:
    return map_leaves(value_of, x)


def map_numbers(function: Callable[[Any], Any], x: Any) -> Any:
    """Apply to each real or complex leaf; other leaves stay."""
    return map_leaves(lambda v: function(value_of(v)) if isinstance(v, Variable) or _is_number(value_of(v)) else v, x)


def numbers(x: Any) -> list[Any]:
    return [value_of(v) for v in leaves_of(x) if v is not None and _is_number(value_of(v))]


def inner(a: Any, b: Any) -> float:
    """The real inner product of two structures."""
    return float(sum(np.sum((np.conj(x) * y).real) for x, y in zip(numbers(a), numbers(b))))


def inner_size(a: Any, b: Any) -> float:
    return float(sum(np.sum(np.abs(x) * np.abs(y)) for x, y in zip(numbers(a), numbers(b))))


def _direction(x: Any, rng: Any) -> Any:
    x = np.asarray(x)
    v = rng.standard_normal(x.shape)
    if x.dtype.kind == "c":
        v = v + 1j * rng.standard_normal(x.shape)
    return v.astype(x.dtype)[()]


def _moved(args: Any, v: Any, h: float) -> Any:
    steps = iter(numbers(v))
    return map_numbers(lambda x: np.asarray(x + h * next(steps)).astype(np.asarray(x).dtype)[()], args)


def _wide(x: Any) -> Any:
    return np.result_type(np.asarray(x).dtype, np.float64)


def _precision(args: Any) -> float:
    kinds = [np.finfo(np.asarray(x).dtype).eps for x in numbers(args)]
    return float(max(kinds, default=np.finfo(float).eps))
