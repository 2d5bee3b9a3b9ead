"""scipy.fft on tensors: Fourier transforms are NumPy's, cosine and sine transforms ops of their own."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
from scipy import fft as _fft

from tapec.errors import at_user_line
from tapec.ir.types import normalize_axis
from tapec.ops.fft import SWAPPED, fitted
from tapec.ops.kit import as_array, plain_number
from tapec.ops.scipy_fft import INVERSE, transform

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
    """One number, or several."""
    return tuple([operator.index(k) for k in np.atleast_1d(given)])


def _axes_of(x: Any, s: Any, axes: Any) -> tuple[int, ...]:
    """The axes that are transformed: all of them, or as many of the last ones as there are lengths."""
    count = x.ndim if s is None else len(_whole(s))
    if axes is None:
        if count > x.ndim:
            raise ValueError(at_user_line("shape requires more axes than are present"))
        return tuple(range(x.ndim - count, x.ndim))
    chosen = tuple([normalize_axis(k, x.ndim) for k in _whole(axes)])
    if len(set(chosen)) < len(chosen):
        raise ValueError(at_user_line("all axes must be unique"))
    if s is not None and count != len(chosen):
        raise ValueError(at_user_line("when given, axes and shape arguments have to be of the same length"))
    return chosen


def _named(call: Any, name: str) -> Any:
    call.__name__ = call.__qualname__ = name
    return call


# -- Fourier transforms -----------------------------------------------------------------------------------------------
def _of_one(name: str) -> Any:
    """NumPy's transform along one axis, with what SciPy says of memory and threads."""
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
        return numpys(x, n, axis, norm)

    return _named(call, name)


def _of_many(name: str, last: tuple[int, ...] | None = None) -> Any:
    """NumPy's transform along several axes."""
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
        x = as_array(x)
        return numpys(x, None if s is None else _whole(s), _axes_of(x, s, axes), norm)

    return _named(call, name)


fft, ifft, rfft, irfft, hfft, ihfft = map(_of_one, ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft"))
fftn, ifftn, rfftn, irfftn = map(_of_many, ("fftn", "ifftn", "rfftn", "irfftn"))
fft2, ifft2, rfft2, irfft2 = [_of_many(name, (-2, -1)) for name in ("fft2", "ifft2", "rfft2", "irfft2")]
fftshift, ifftshift = np.fft.fftshift, np.fft.ifftshift


# -- cosine and sine transforms ---------------------------------------------------------------------------------------
def _transformed(
    name: str, inverse: bool, x: Any, type: int, lengths: list[int], axes: tuple[int, ...], norm: Any, orthogonal: Any
) -> Any:
    type = plain_number(type)
    if type not in INVERSE:
        raise ValueError(at_user_line(f"invalid {name[:3].upper()} type: there are 1 to 4, got {type!r}"))
    norm = "backward" if norm is None else norm
    if norm not in SWAPPED:
        raise ValueError(at_user_line(f'Invalid norm value {norm!r}, should be "backward", "ortho" or "forward"'))
    if any(n < 1 for n in lengths):
        raise ValueError(at_user_line(f"invalid number of data points ({lengths}) specified"))
    if not axes:
        return x
    shape = list(x.shape)
    for k, n in zip(axes, lengths):
        shape[k] = n
    if orthogonal is None or x.dtype.kind == "c":  # of complex numbers SciPy does not listen either
        orthogonal = norm == "ortho"
    if inverse:
        type, norm = INVERSE[type], SWAPPED[norm]
    return transform(name, fitted(x, tuple(shape)), type, axes, norm, bool(orthogonal))


def _along_one(name: str, inverse: bool = False) -> Any:
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
        length = x.shape[axis] if n is None else operator.index(n)
        return _transformed(name, inverse, x, type, [length], (axis,), norm, orthogonalize)

    return _named(call, f"{'i' * inverse}{name[:-1]}")


def _along_many(name: str, inverse: bool = False) -> Any:
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
        chosen = _axes_of(x, s, axes)
        natural = [x.shape[k] for k in chosen]
        lengths = natural if s is None else [m if n == -1 else n for n, m in zip(_whole(s), natural)]
        return _transformed(name, inverse, x, type, lengths, chosen, norm, orthogonalize)

    return _named(call, f"{'i' * inverse}{name}")


dct, idct, dctn, idctn = _along_one("dctn"), _along_one("dctn", True), _along_many("dctn"), _along_many("dctn", True)
dst, idst, dstn, idstn = _along_one("dstn"), _along_one("dstn", True), _along_many("dstn"), _along_many("dstn", True)
