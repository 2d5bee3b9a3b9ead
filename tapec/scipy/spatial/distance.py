"""Give scipy.spatial.distance on tensors: distances of all pairs of rows, by the metrics that have derivatives.

Where rows coincide, or have numbers in common, what has no slope there has the slope zero, as norms have.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.spatial import distance as _distance

from tapec.errors import UnsupportedError, at_user_line
from tapec.ops import ArrayLike
from tapec.ops.core.op_helpers import as_array, plain_number
from tapec.ops.core.symbol import holds

__all__ = ["cdist", "pdist", "squareform"]


def __getattr__(name: str) -> Any:
    return getattr(_distance, name)


# -- metrics, of differences ------------------------------------------------------------------------------------------
def _flat_power(x: Any, p: Any) -> Any:
    """The power of what is not negative, flat at zero."""
    none = x == 0
    return np.where(none, 0, np.where(none, 1, x) ** p)


def _minkowski(d: Any, w: Any, p: Any) -> Any:
    p = plain_number(p)
    if not p > 0:
        raise ValueError(at_user_line(f"p must be greater than 0, got {p}"))
    if w is None or p == math.inf:
        return np.linalg.norm(d if w is None else np.where(w > 0, d, 0), p, axis=-1)
    return _flat_power(np.sum(w * _flat_power(np.abs(d), p), axis=-1), 1 / p)


def _euclidean(d: Any, w: Any) -> Any:
    return np.linalg.norm(d, axis=-1) if w is None else _flat_power(_sqeuclidean(d, w), 0.5)


def _sqeuclidean(d: Any, w: Any) -> Any:
    return np.sum(d * d if w is None else w * d * d, axis=-1)


METRICS: dict[str, Callable[..., Any]] = {
    "chebyshev": lambda d, w: _minkowski(d, w, math.inf),
    "cityblock": lambda d, w: _minkowski(d, w, 1),
    "euclidean": _euclidean,
    "minkowski": lambda d, w, p=2.0: _minkowski(d, w, p),
    "sqeuclidean": _sqeuclidean,
}
_SHORT = {
    "chebyshev": "chebychev cheby cheb ch",
    "cityblock": "cblock cb c",
    "cosine": "cos",
    "euclidean": "euclid eu e",
    "minkowski": "mi m pnorm",
    "sqeuclidean": "sqe sqeuclid",
}
NAMES = {alias: name for name, short in _SHORT.items() for alias in (name, *short.split())}


def _cosine(a: Any, b: Any, w: Any) -> Any:
    """Return one less the cosine of the angle between each row of a and each of b."""
    weighted = a if w is None else w * a
    lengths = np.sqrt(np.sum(weighted * a, axis=-1))[:, None] * np.sqrt(_sqeuclidean(b, w))
    return 1 - (weighted @ b.T) / lengths


# -- rows and weights -------------------------------------------------------------------------------------------------
def _rows(x: Any, name: str) -> Any:
    """Return a matrix in double precision, as SciPy has it, or better."""
    x = as_array(x)
    if x.ndim != 2:
        raise ValueError(at_user_line(f"{name} must be a 2-dimensional array, got one of shape {x.shape}"))
    if x.dtype.kind == "c":
        raise ValueError(at_user_line(f"{name} must be real, got {x.dtype}"))
    dtype = np.result_type(x.dtype, float)
    return x if x.dtype == dtype else x.astype(dtype)


def _weights(w: Any, n: int) -> Any:
    if w is None:
        return None
    w = as_array(w)
    if w.ndim != 1:
        raise ValueError(at_user_line(f"w must be a vector, got an array of shape {w.shape}"))
    if w.shape[0] != n:
        raise ValueError(at_user_line(f"{w.shape[0]} weights are given for {n} columns"))
    if holds(np.any(w < 0)):
        raise ValueError(at_user_line("weights must be non-negative"))
    return w


def _known(metric: Any, *xs: Any, out: Any) -> str | None:
    """The name of a metric that is ours; none for another of plain arrays, which is SciPy's business."""
    name = NAMES.get(metric.lower()) if isinstance(metric, str) else None
    recorded = any([isinstance(x, ArrayLike) for x in xs])
    if name and out is not None:
        if recorded:
            raise UnsupportedError(at_user_line("distances of tensors take no out=. Fix: use the result"))
        return None
    if name or not recorded:
        return name
    fix = f"one of {', '.join(sorted(_SHORT))}"
    if callable(metric):
        fix = "tapec.vmap(tapec.vmap(metric, (None, 0)), (0, None))(XA, XB), or " + fix
    raise UnsupportedError(at_user_line(f"distances of tensors by {metric!r} are not known. Fix: {fix}"))


# -- all pairs --------------------------------------------------------------------------------------------------------
def cdist(XA: Any, XB: Any, metric: Any = "euclidean", *, out: Any = None, w: Any = None, **kwargs: Any) -> Any:
    """Compute the distances of each row of XA to each row of XB.

    Where rows coincide, a distance that has no slope there has the slope zero.

    Parameters
    ----------
    XA : array
        A matrix, whose rows are points.
    XB : array
        A matrix, whose rows are points.
    metric : str or callable, default 'euclidean'
        "euclidean", "sqeuclidean", "cityblock", "chebyshev", "cosine" or "minkowski"; others are for plain numbers
        alone, by SciPy itself.
    out : array, default None
        Must be None while something records.
    w : array, default None
        A weight for each column. None is ones.
    **kwargs : object
        What the metric takes, as `p` of "minkowski".

    Returns
    -------
    array
        The distances, a row for each row of XA.

    Raises
    ------
    ValueError
        If the matrices do not fit.
    UnsupportedError
        If something is recorded, and the metric is another one, or there is an `out`.

    Examples
    --------
    >>> import numpy as np, tapec
    >>> from tapec.scipy.spatial.distance import cdist
    >>> tapec.grad(lambda a: np.sum(cdist(a, [[0.0, 0.0]])))(np.array([[3.0, 4.0], [0.0, 0.0]]))
    array([[0.6, 0.8],
           [0. , 0. ]])

    See Also
    --------
    tapec.scipy.spatial.distance.pdist : of the rows of one matrix
    """
    name = _known(metric, XA, XB, w, out=out)
    if name is None:
        return _distance.cdist(XA, XB, metric, out=out, **({} if w is None else {"w": w}), **kwargs)
    a, b = _rows(XA, "XA"), _rows(XB, "XB")
    if a.shape[1] != b.shape[1]:
        raise ValueError(at_user_line(f"XA has {a.shape[1]} columns, XB has {b.shape[1]}"))
    w = _weights(w, a.shape[1])
    if name == "cosine":
        return _cosine(a, b, w, **kwargs)
    return METRICS[name](a[:, None] - b, w, **kwargs)


def pdist(X: Any, metric: Any = "euclidean", *, out: Any = None, w: Any = None, **kwargs: Any) -> Any:
    """Compute the distances of each row of a matrix to those below it.

    Parameters
    ----------
    X : array
        A matrix, whose rows are points.
    metric : str or callable, default 'euclidean'
        As in `cdist`.
    out : array, default None
        Must be None while something records.
    w : array, default None
        A weight for each column. None is ones.
    **kwargs : object
        What the metric takes, as `p` of "minkowski".

    Returns
    -------
    array
        The distances, one after the other.

    Raises
    ------
    ValueError
        If X is no matrix, or the weights do not fit.
    UnsupportedError
        If something is recorded, and the metric is another one, or there is an `out`.

    Examples
    --------
    >>> import numpy as np, tapec
    >>> from tapec.scipy.spatial.distance import pdist
    >>> pdist(np.array([[0.0, 0.0], [3.0, 4.0], [0.0, 1.0]])).round(3)
    array([5.   , 1.   , 4.243])

    See Also
    --------
    tapec.scipy.spatial.distance.cdist : of the rows of two matrices
    tapec.scipy.spatial.distance.squareform : as a matrix
    """
    name = _known(metric, X, w, out=out)
    if name is None:
        return _distance.pdist(X, metric, out=out, **({} if w is None else {"w": w}), **kwargs)
    x = _rows(X, "X")
    w = _weights(w, x.shape[1])
    i, j = np.triu_indices(x.shape[0], 1)
    if name == "cosine":
        return _cosine(x, x, w, **kwargs)[i, j]
    return METRICS[name](x[i] - x[j], w, **kwargs)


def squareform(X: Any, force: str = "no", checks: bool = True) -> Any:
    """Make the distances that `pdist` gives a symmetric matrix, or such a matrix the distances again.

    Parameters
    ----------
    X : array
        A vector of distances, or a matrix.
    force : str, default 'no'
        "tomatrix" or "tovector" refuse what is the other already.
    checks : bool, default True
        Whether a matrix must be symmetric, with zeros on its diagonal.

    Returns
    -------
    array
        The matrix, or the distances above its diagonal.

    Raises
    ------
    ValueError
        If X is no such vector or matrix.

    Examples
    --------
    >>> import numpy as np, tapec
    >>> from tapec.scipy.spatial.distance import squareform
    >>> squareform(np.array([5.0, 1.0, 2.0]))
    array([[0., 5., 1.],
           [5., 0., 2.],
           [1., 2., 0.]])

    See Also
    --------
    tapec.scipy.spatial.distance.pdist : makes the distances
    """
    x = as_array(X)
    wanted = {"tomatrix": (1, "vector"), "tovector": (2, "matrix")}.get(force.lower())
    if wanted and x.ndim != wanted[0]:
        raise ValueError(at_user_line(f"force={force!r} takes a distance {wanted[1]}, got an array of shape {x.shape}"))
    if x.ndim == 1:
        return _to_matrix(x)
    if x.ndim != 2:
        raise ValueError(at_user_line(f"X is a vector or a matrix of distances, got an array of shape {x.shape}"))
    if x.shape[0] != x.shape[1]:
        raise ValueError(at_user_line(f"a matrix of distances is square, got one of shape {x.shape}"))
    if checks and holds(np.any(x != x.T)):
        raise ValueError(at_user_line("a matrix of distances is symmetric. Fix: checks=False takes its upper half"))
    if checks and holds(np.any(np.diagonal(x) != 0)):
        raise ValueError(at_user_line("a matrix of distances has zeros on its diagonal. Fix: checks=False"))
    return x[np.triu_indices(x.shape[0], 1)]


def _to_matrix(v: Any) -> Any:
    count = v.shape[0]
    n = math.isqrt(2 * count) + 1
    if n * (n - 1) != 2 * count:
        raise ValueError(at_user_line(f"{count} distances are not those of all pairs of n rows, for any n"))
    if not count:
        return np.zeros((1, 1), v.dtype)
    i, j = np.triu_indices(n, 1)
    places = np.zeros((n, n), int)
    places[i, j] = places[j, i] = np.arange(count)
    return np.where(np.eye(n, dtype=bool), np.zeros((), v.dtype), v[places])
