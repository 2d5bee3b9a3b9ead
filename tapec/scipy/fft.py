"""Give scipy.fft on tensors: Fourier transforms are NumPy's, cosine and sine transforms ops of their own."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
from scipy import fft as _fft

from tapec.errors import at_user_line
from tapec.ir.types import normalize_axis
from tapec.ops.core.op_helpers import as_array, plain_number
from tapec.ops.scipy.cosine_transforms import INVERSE, transform
from tapec.ops.signal.fft import SWAPPED, fitted

__all__ = [
    "dct",
    "dctn",
    "dst",
    "dstn",
    "fft",
    "fft2",
    "fftn",
    "fftshift",
    "hfft",
    "idct",
    "idctn",
    "idst",
    "idstn",
    "ifft",
    "ifft2",
    "ifftn",
    "ifftshift",
    "ihfft",
    "irfft",
    "irfft2",
    "irfftn",
    "rfft",
    "rfft2",
    "rfftn",
]


def __getattr__(name: str) -> Any:
    return getattr(_fft, name)


# -- what both kinds take ---------------------------------------------------------------------------------------------
def _whole(given: Any) -> tuple[int, ...]:
    """Return one number, or several, as a tuple of ints."""
    return tuple([operator.index(k) for k in np.atleast_1d(given)])


def _axes_of(x: Any, s: Any, axes: Any) -> tuple[int, ...]:
    """The axes that are transformed: all of them, or as many of the last ones as there are lengths."""
    count = x.ndim if s is None else len(_whole(s))
    if axes is None:
        if count > x.ndim:
            raise ValueError(at_user_line(f"{count} lengths are given, the array has {x.ndim} axes"))
        return tuple(range(x.ndim - count, x.ndim))
    chosen = tuple([normalize_axis(k, x.ndim) for k in _whole(axes)])
    if len(set(chosen)) < len(chosen):
        raise ValueError(at_user_line(f"an axis is named twice in axes={axes}"))
    if s is not None and count != len(chosen):
        raise ValueError(at_user_line(f"{count} lengths are given for {len(chosen)} axes"))
    return chosen


_NORM = """\
norm : str or None, default None
    Which direction is divided by the length: "backward" the inverse, "forward" the other, "ortho" both, by the root.
    None is "backward".
overwrite_x : bool, default False
    Has no effect; it is here since SciPy has it.
workers : object, default None
    Has no effect; it is here since SciPy has it."""
_PLAN = """
plan : object, default None
    Has no effect; it is here since SciPy has it."""
_LENGTH = """\
n : int or None, default None
    The length that is {made}. None is {whole}.
axis : int, default -1
    The axis.
"""
_LENGTHS = """\
s : int, sequence of int or None, default None
    The lengths that are {made}, along each axis. None is {whole}.
axes : int, sequence of int or None, default {axes}
    The axes. None is all, or as many of the last ones as there are lengths.
"""
_KIND = """\
type : int, default 2
    The type, from 1 to 4.
"""
_ORTHOGONAL = """
orthogonalize : bool or None, default None
    Whether the first and last terms are scaled so that the transform is orthogonal, for real x. None: with "ortho"."""


_ANY, _REALS, _HALF = (
    "The data, real or complex.",
    "The data, which are real.",
    "The half of a transform that says all.",
)
_BACK = "The array whose transform x is"
_KINDS = {  # what is computed, what x is, and what the result is
    "fft": ("the discrete Fourier transform", _ANY, "The transform, which is complex."),
    "ifft": ("the inverse of the discrete Fourier transform", _ANY, f"{_BACK}, which is complex."),
    "rfft": ("the discrete Fourier transform of real data", _REALS, _HALF),
    "irfft": ("the real data of a discrete Fourier transform", _HALF, f"{_BACK}, which is real."),
    "hfft": ("the discrete Fourier transform of Hermitian data", "The first half of the data.", "The real transform."),
    "ihfft": ("the Hermitian data of a real discrete Fourier transform", _REALS, "The first half of the data."),
    "dct": ("a discrete cosine transform", _ANY, "The transform."),
    "idct": ("the inverse of a discrete cosine transform", _ANY, f"{_BACK}."),
    "dst": ("a discrete sine transform", _ANY, "The transform."),
    "idst": ("the inverse of a discrete sine transform", _ANY, f"{_BACK}."),
}
_ALONG = {"": "along one axis", "2": "along two axes", "n": "along several axes"}
_EXAMPLES = {
    "fft": ("[1.0, 2.0]", "array([ 3.+0.j, -1.+0.j])"),
    "ifft": ("[3.0, -1.0]", "array([1.+0.j, 2.+0.j])"),
    "rfft": ("[1.0, 2.0, 1.0]", "array([ 4. +0.j       , -0.5-0.8660254j])"),
    "irfft": ("[3.0, -1.0]", "array([1., 2.])"),
    "hfft": ("[1.0, 2.0]", "array([ 3., -1.])"),
    "ihfft": ("[3.0, -1.0]", "array([1.-0.j, 2.-0.j])"),
    "fft2": ("np.ones((1, 2))", "array([[2.+0.j, 0.+0.j]])"),
    "ifft2": ("[[2.0, 0.0]]", "array([[1.+0.j, 1.+0.j]])"),
    "rfft2": ("np.ones((1, 2))", "array([[2.+0.j, 0.+0.j]])"),
    "irfft2": ("[[2.0, 0.0]]", "array([[1., 1.]])"),
    "fftn": ("np.ones((1, 2))", "array([[2.+0.j, 0.+0.j]])"),
    "ifftn": ("[[2.0, 0.0]]", "array([[1.+0.j, 1.+0.j]])"),
    "rfftn": ("np.ones((1, 2))", "array([[2.+0.j, 0.+0.j]])"),
    "irfftn": ("[[2.0, 0.0]]", "array([[1., 1.]])"),
    "dct": ("[1.0, 1.0]", "array([4., 0.])"),
    "idct": ("[4.0, 0.0]", "array([1., 1.])"),
    "dst": ("[1.0, -1.0]", "array([0., 4.])"),
    "idst": ("[0.0, 4.0]", "array([ 1., -1.])"),
    "dctn": ("np.ones((1, 2))", "array([[8., 0.]])"),
    "idctn": ("[[8.0, 0.0]]", "array([[1., 1.]])"),
    "dstn": ("[[1.0, -1.0]]", "array([[0., 8.]])"),
    "idstn": ("[[0.0, 8.0]]", "array([[ 1., -1.]])"),
}


def _named(call: Any, name: str, parameters: str) -> Any:
    """Give a function its name, and its docstring."""
    computed, x, gives = _KINDS[name.rstrip("2n")]
    given, shown = _EXAMPLES[name]
    sibling = name[1:] if name[1:] in _EXAMPLES and name[0] == "i" else f"i{name}"
    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"""Compute {computed}, {_ALONG[name.removeprefix(name.rstrip("2n"))]}.

Parameters
----------
x : array
    {x}
{parameters}

Returns
-------
array
    {gives}

Examples
--------
>>> import numpy as np, tapec
>>> from tapec.scipy import fft
>>> fft.{name}({given})
{shown}

See Also
--------
tapec.scipy.fft.{sibling} : the way back
"""
    return call


_MADE = {"made": "transformed, by cutting x or by zeros behind it", "whole": "that of x"}
_MADE_REAL = {"made": "made", "whole": "twice that of x, less two"}


# -- Fourier transforms -----------------------------------------------------------------------------------------------
def _at_least_single(x: Any) -> Any:
    """Cast half precision to single: NumPy would transform it in half precision, SciPy does so in single."""
    x = as_array(x)
    return x.astype(np.float32) if x.dtype == np.float16 else x


def _of_one(name: str) -> Any:
    """Make NumPy's transform along one axis, with what SciPy says of memory and threads."""
    numpys = getattr(np.fft, name)

    def call(
        x: Any,
        n: Any = None,
        axis: int = -1,
        norm: str | None = None,
        overwrite_x: bool = False,
        workers: Any = None,
        *,
        plan: Any = None,
    ) -> Any:
        return numpys(_at_least_single(x), n, axis, norm)

    told = _MADE_REAL if name in ("irfft", "hfft") else _MADE
    return _named(call, name, _LENGTH.format(**told) + _NORM + _PLAN)


def _of_many(name: str, last: tuple[int, ...] | None = None) -> Any:
    """Make NumPy's transform along several axes."""
    numpys = getattr(np.fft, name)

    def call(
        x: Any,
        s: Any = None,
        axes: Any = last,
        norm: str | None = None,
        overwrite_x: bool = False,
        workers: Any = None,
        *,
        plan: Any = None,
    ) -> Any:
        x = _at_least_single(x)
        return numpys(x, None if s is None else _whole(s), _axes_of(x, s, axes), norm)

    whole = "those of x, for the last axis twice that, less two" if name.startswith("irfft") else "those of x"
    told = _LENGTHS.format(
        made=_MADE_REAL["made"] if name.startswith("irfft") else _MADE["made"], whole=whole, axes=last
    )
    return _named(call, name, told + _NORM + _PLAN)


fft, ifft, rfft, irfft, hfft, ihfft = map(_of_one, ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft"))
fftn, ifftn, rfftn, irfftn = map(_of_many, ("fftn", "ifftn", "rfftn", "irfftn"))
fft2, ifft2, rfft2, irfft2 = [_of_many(name, (-2, -1)) for name in ("fft2", "ifft2", "rfft2", "irfft2")]
fftshift, ifftshift = np.fft.fftshift, np.fft.ifftshift


# -- cosine and sine transforms ---------------------------------------------------------------------------------------
def _transformed(name: str, x: Any, type: int, lengths: dict[int, int], norm: str | None, orthogonal: Any) -> Any:
    """Transform x along axes, cut or filled up to a length along each; inverses have names with an i in front."""
    kind, type, norm = name.removeprefix("i")[:3], plain_number(type), "backward" if norm is None else norm
    if type not in INVERSE:
        raise ValueError(at_user_line(f"there is a {kind} of type 1, 2, 3 and 4, got {type!r}"))
    if norm not in SWAPPED:
        raise ValueError(at_user_line(f'norm is "backward", "ortho" or "forward", got {norm!r}'))
    if any([n < 1 for n in lengths.values()]):
        raise ValueError(at_user_line(f"lengths are at least 1, got {list(lengths.values())}"))
    if not lengths:
        return x
    if orthogonal is None or x.dtype.kind == "c":  # of complex numbers SciPy does not listen either
        orthogonal = norm == "ortho"
    if name.startswith("i"):
        type, norm = INVERSE[type], SWAPPED[norm]
    x = fitted(x, tuple([lengths.get(k, n) for k, n in enumerate(x.shape)]))
    return transform(f"{kind}n", x, type, tuple(lengths), norm, bool(orthogonal))


def _along_one(name: str) -> Any:
    def call(
        x: Any,
        type: int = 2,
        n: Any = None,
        axis: int = -1,
        norm: str | None = None,
        overwrite_x: bool = False,
        workers: Any = None,
        orthogonalize: bool | None = None,
    ) -> Any:
        x = as_array(x)
        axis = normalize_axis(axis, x.ndim)
        lengths = {axis: x.shape[axis] if n is None else operator.index(n)}
        return _transformed(name, x, type, lengths, norm, orthogonalize)

    return _named(call, name, _KIND + _LENGTH.format(**_MADE) + _NORM + _ORTHOGONAL)


def _along_many(name: str) -> Any:
    def call(
        x: Any,
        type: int = 2,
        s: Any = None,
        axes: Any = None,
        norm: str | None = None,
        overwrite_x: bool = False,
        workers: Any = None,
        *,
        orthogonalize: bool | None = None,
    ) -> Any:
        x = as_array(x)
        lengths = {k: x.shape[k] for k in _axes_of(x, s, axes)}
        if s is not None:
            lengths |= {k: n for k, n in zip(lengths, _whole(s)) if n != -1}
        return _transformed(name, x, type, lengths, norm, orthogonalize)

    told = _LENGTHS.format(made=_MADE["made"], whole="those of x", axes=None)
    return _named(call, name, _KIND + told + _NORM + _ORTHOGONAL)


dct, idct, dst, idst = map(_along_one, ("dct", "idct", "dst", "idst"))
dctn, idctn, dstn, idstn = map(_along_many, ("dctn", "idctn", "dstn", "idstn"))
