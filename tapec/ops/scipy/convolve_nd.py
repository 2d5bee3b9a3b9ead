"""Define the convolution of arrays with any number of axes, as scipy.signal has it."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapec.ir import Type
from tapec.ir.param_types import one_of
from tapec.ops.core.define import conj, define, ufunc_dtypes
from tapec.ops.core.op_helpers import as_array, both, drawn
from tapec.ops.core.stand_in import apply

__all__ = ["CONVOLVE", "along_axis", "continued", "convolve", "convolve_rows", "correlate"]


def _in_plane(t: Type, method: str) -> bool:
    """Return whether SciPy has a loop over planes for a dtype, which takes a fifth of the time of the one over any
    axes.
    """
    return method == "direct" and t.ndim == 2 and t.dtype.char in "bBhHiIlLqQfdgFDG"


def _run(a: Any, v: Any, mode: str, method: str) -> Any:
    import scipy.signal

    if _in_plane(Type(a.shape, np.result_type(a, v)), method):
        return scipy.signal.convolve2d(a, v, mode)
    return scipy.signal.convolve(a, v, mode, method)


def _extent(n: int, m: int, mode: str) -> tuple[int, int]:
    """Return where a mode's result starts in the full convolution along one axis, and how long it is."""
    if mode == "full":
        return 0, n + m - 1
    return ((m - 1) // 2, n) if mode == "same" else (min(n, m) - 1, abs(n - m) + 1)


def _rule(a: Type, v: Type, mode: str, method: str) -> Type:
    if a.ndim != v.ndim:
        raise ValueError("volume and kernel should have the same dimensionality")
    pairs = list(zip(a.shape, v.shape))
    if mode == "valid" and not (all(n >= m for n, m in pairs) or all(n <= m for n, m in pairs)):
        raise ValueError("For 'valid' mode, one must be at least as large as the other in every dimension")
    shape = tuple(_extent(n, m, mode)[1] for n, m in pairs)
    return Type(shape, ufunc_dtypes(np.multiply, (a, v))[0])


def _vjp(ct: Any, y: Any, a: Any, v: Any, mode: str, method: str) -> Any:
    """Correlate the cotangent, put back where it lay in the full convolution, with the other factor."""
    if not a.ndim:
        return ct * conj(v), ct * conj(a)
    if 0 in (*a.shape, *v.shape):  # sums of nothing
        return np.zeros_like(a), np.zeros_like(v)
    if mode != "full":
        around = []
        for n, m in zip(a.shape, v.shape):
            start, length = _extent(n, m, mode)
            around.append((start, n + m - 1 - start - length))
        ct = np.pad(ct, around)
    turned = tuple(slice(None, None, -1) for _ in a.shape)
    return convolve(ct, conj(v)[turned], "valid", method), convolve(ct, conj(a)[turned], "valid", method)


def _source(args: tuple[str, ...], node: Any) -> str:
    mode, method = node.param("mode"), node.param("method")
    if _in_plane(node.type, method):
        return f"scipy.signal.convolve2d({args[0]}, {args[1]}, {mode!r})"
    more = "" if method == "auto" else f", method={method!r}"
    return f"scipy.signal.convolve({args[0]}, {args[1]}, {mode!r}{more})"


CONVOLVE = define(
    "scipy.signal.convolve",
    _run,
    _rule,
    "product",
    params={"mode": one_of("full", "same", "valid"), "method": one_of("auto", "direct", "fft")},
    vjp=_vjp,
    linear=(0, 1),
    source=_source,
    sample=both(
        drawn((4, 3), (2, 2), mode="full", method="direct"),
        drawn((5,), (3,), mode="same", method="direct"),
        drawn((4, 3), (3, 2), mode="same", method="auto"),
        drawn((4, 5), (2, 3), mode="valid", method="direct"),
        drawn((2, 3), (4, 3), mode="valid", method="direct"),
        drawn((4,), (2,), mode="same", method="direct", complex=True),
    ),
    facts={"imports": "scipy.signal"},
)


def convolve(in1: Any, in2: Any, mode: str = "full", method: str = "auto") -> Any:
    """Convolve two arrays of the same number of axes.

    Parameters
    ----------
    in1 : array
        The first array.
    in2 : array
        The second array.
    mode : str, default 'full'
        "full" is the whole convolution, "same" the middle of it, of the shape of in1, "valid" what needs no zeros
        beside the arrays.
    method : str, default 'auto'
        "direct" sums products, "fft" multiplies transforms, "auto" chooses.

    Returns
    -------
    array
        The convolution.

    Raises
    ------
    ValueError
        If the mode is another word, or the shapes do not fit.

    Examples
    --------
    >>> import numpy as np, tapec
    >>> from tapec.scipy import signal
    >>> signal.convolve(np.array([1.0, 2.0]), np.array([1.0, 1.0]))
    array([1., 3., 2.])

    See Also
    --------
    tapec.scipy.signal.correlate : without turning one of them round
    tapec.scipy.signal.convolve2d : of images, with a choice of what is beside them
    """
    if mode not in ("full", "same", "valid"):
        raise ValueError("Acceptable mode flags are 'valid', 'same', or 'full'.")
    return apply(CONVOLVE, (as_array(in1), as_array(in2)), (("mode", mode), ("method", method)))


def convolve_rows(x: Any, taps: Any, mode: str) -> Any:
    """The convolution of all that lies along the last axis with one row of taps."""
    rows = np.reshape(x, (-1, x.shape[-1])) if x.ndim != 2 else x
    y = convolve(rows, taps[None], mode, "direct")
    return np.reshape(y, (*x.shape[:-1], y.shape[-1])) if x.ndim != 2 else y


def continued(x: Any, around: list[tuple[int, int]], mode: Any, number: Any) -> Any:
    """Return np.pad, by a number where the mode is "constant"."""
    more: Any = {"constant_values": number} if mode == "constant" else {}
    return np.pad(x, around, mode, **more)


def along_axis(x: Any, taps: Any, axis: int, before: int, mode: Any, number: Any) -> Any:
    """The convolution of x with taps along one axis: as long as x, which a mode of np.pad continues at both ends."""
    if not x.size:
        return x * np.sum(taps)  # an empty result in the dtype that a convolution has
    rows = np.moveaxis(x, axis, -1)
    rows = continued(rows, [(0, 0)] * (x.ndim - 1) + [(before, taps.shape[0] - 1 - before)], mode, number)
    return np.moveaxis(convolve_rows(rows, taps, "valid"), -1, axis)


def correlate(in1: Any, in2: Any, mode: str = "full", method: str = "auto") -> Any:
    """Correlate two arrays of the same number of axes.

    Parameters
    ----------
    in1 : array
        The first array.
    in2 : array
        The second array, which is conjugated.
    mode : str, default 'full'
        "full" is the whole correlation, "same" the middle of it, of the shape of in1, "valid" what needs no zeros
        beside the arrays.
    method : str, default 'auto'
        "direct" sums products, "fft" multiplies transforms, "auto" chooses.

    Returns
    -------
    array
        The correlation.

    Raises
    ------
    ValueError
        If the mode is another word, or the shapes do not fit.

    Examples
    --------
    >>> import numpy as np, tapec
    >>> from tapec.scipy import signal
    >>> signal.correlate(np.array([1.0, 2.0]), np.array([0.0, 1.0]))
    array([1., 2., 0.])

    See Also
    --------
    tapec.scipy.signal.convolve : with one of them turned round
    """
    v = as_array(in2)
    return convolve(in1, conj(v)[tuple(slice(None, None, -1) for _ in v.shape)], mode, method)
