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


def _named(call: Any, name: str) -> Any:
    call.__name__ = call.__qualname__ = name
    return call


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

    return _named(call, name)


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

    return _named(call, name)


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

    return _named(call, name)


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

    return _named(call, name)


dct, idct, dst, idst = map(_along_one, ("dct", "idct", "dst", "idst"))
dctn, idctn, dstn, idstn = map(_along_many, ("dctn", "idctn", "dstn", "idstn"))
