"""Define Fourier transforms.

A transform is a symmetric matrix times a scale, so its adjoint is the inverse transform with the scale of the other
direction: norm "backward" and "forward" change places. Cutting off or filling up with zeros to the length asked for
becomes filling up or cutting off.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from tapec.errors import at_user_line
from tapec.ir import Type
from tapec.ir.flops import flops_of_fft
from tapec.ir.param_types import AXES, SIZES, one_of
from tapec.ir.types import normalize_axis
from tapec.ops.core.define import conj, define, ndim_of, shape_of
from tapec.ops.core.op_helpers import as_array, both, drawn, real_dtype
from tapec.ops.core.stand_in import apply, implements

__all__ = ["FFTN", "IFFTN", "IRFFTN", "RFFTN"]

SWAPPED = {"backward": "forward", "forward": "backward", "ortho": "ortho"}
ONE = {"fftn": "fft", "ifftn": "ifft", "rfftn": "rfft", "irfftn": "irfft"}
TWO = {"fftn": "fft2", "ifftn": "ifft2", "rfftn": "rfft2", "irfftn": "irfft2"}

Lengths = tuple[int, ...]


def _complex(dtype: np.dtype) -> np.dtype:
    return np.result_type(dtype, np.complex64) if dtype.kind in "fc" else np.dtype(complex)


def _real(dtype: np.dtype) -> np.dtype:
    return real_dtype(dtype) if dtype.kind in "fc" else np.dtype(float)


def _replaced(shape: tuple[int, ...], axes: Lengths, s: Lengths) -> tuple[int, ...]:
    new = list(shape)
    for k, n in zip(axes, s):
        new[k] = n
    return tuple(new)


def _half(s: Lengths) -> Lengths:
    """The lengths of a spectrum of which half is kept: the last axis."""
    return (*s[:-1], s[-1] // 2 + 1)


# -- calls ------------------------------------------------------------------------------------------------------------
def _call(name: str, x: Any, s: Lengths, axes: Lengths, norm: str) -> Any:
    """The transform by NumPy's function for one axis where there is only one."""
    if len(axes) == 1:
        return getattr(np.fft, ONE[name])(x, s[0], axes[0], norm)
    return getattr(np.fft, name)(x, s, axes, norm)


def _source(args: tuple[str, ...], node: Any) -> str:
    """Return source with as few parameters as say the same."""
    name, s, axes, norm = node.op.name, node.param("s"), node.param("axes"), node.param("norm")
    t = node.inputs[0].type
    natural = tuple([t.shape[k] for k in axes])
    if name == "irfftn":
        natural = (*natural[:-1], 2 * (natural[-1] - 1))
    last = tuple(range(t.ndim - len(axes), t.ndim))
    text = args[0]
    if len(axes) == 1:
        text += f", {s[0]}" if s != natural else ""
        text += f", axis={axes[0]}" if axes != last else ""
        name = ONE[name]
    else:
        full = axes == tuple(range(t.ndim))
        two = len(axes) == 2 and axes == last
        text += f", {s}" if s != natural else ""
        text += f", axes={axes}" if not (two or full) or (s != natural and not two) else ""
        name = TWO[name] if two else name
    return f"np.fft.{name}({text}{'' if norm == 'backward' else f', norm={norm!r}'})"


# -- adjoints ---------------------------------------------------------------------------------------------------------
def fitted(x: Any, shape: tuple[int, ...]) -> Any:
    """Return x cut off, or filled up with zeros, at the end of each axis."""
    if any(n > m for n, m in zip(x.shape, shape)):
        x = x[tuple([slice(0, min(n, m)) for n, m in zip(x.shape, shape)])]
    if x.shape != shape:
        x = np.pad(x, [(0, m - n) for n, m in zip(x.shape, shape)])
    return x


def _adjoint(inverse: str) -> Any:
    def vjp(ct: Any, y: Any, x: Any, s: Lengths, axes: Lengths, norm: str) -> Any:
        return (fitted(_call(inverse, ct, s, axes, SWAPPED[norm]), x.shape),)

    return vjp


def _weights(n: int, middle: float, like: Any, axis: int) -> np.ndarray:
    """One at both ends of half a spectrum, `middle` where an element stands for itself and its conjugate."""
    w = np.full(n // 2 + 1, middle, like.dtype.type(0).real.dtype)
    w[0] = 1.0
    if n % 2 == 0:
        w[-1] = 1.0
    return w.reshape((-1,) + (1,) * (len(like.shape) - axis - 1))


def _rfftn_vjp(ct: Any, y: Any, x: Any, s: Lengths, axes: Lengths, norm: str) -> Any:
    """Return the cotangent by irfftn, which adds the conjugate of every inner element, so that these go in by half."""
    half = ct * _weights(s[-1], 0.5, ct, axes[-1])
    return (fitted(_call("irfftn", half, s, axes, SWAPPED[norm]), x.shape),)


def _irfftn_vjp(ct: Any, y: Any, x: Any, s: Lengths, axes: Lengths, norm: str) -> Any:
    """Return the cotangent by rfftn; every inner element counts twice, once as its conjugate."""
    full = _call("rfftn", ct, s, axes, SWAPPED[norm])
    return (fitted(full * _weights(s[-1], 2.0, full, axes[-1]), x.shape),)


def _transform(name: str, rule: Any, vjp: Any, complex: bool) -> Any:
    """Define one of the four transforms over any axes; `complex` tells whether its inputs are complex."""

    def case(shape: tuple[int, ...], s: Lengths, axes: Lengths, norm: str = "backward") -> Any:
        return drawn(shape, complex=complex, s=s, axes=axes, norm=norm)

    def batch(batched: tuple[bool, ...], x: Any, s: Lengths, axes: Lengths, norm: str) -> Any:
        return transform(name, x, s, tuple([k + 1 for k in axes]), norm)

    return define(
        name,
        lambda x, s, axes, norm: _call(name, x, s, axes, norm),
        rule,
        "transform",
        params={"s": SIZES, "axes": AXES, "norm": one_of("backward", "ortho", "forward")},
        vjp=vjp,
        linear=(0,),
        batch=batch,
        source=_source,
        sample=both(
            case((4,), (4,), (0,)),
            case((5,), (7,), (0,), "ortho"),
            case((6, 3), (5,), (0,), "forward"),
            case((3, 4), (3, 5), (0, 1)),
            case((2, 3, 4), (3, 4), (1, 2), "ortho"),
            case((2, 3, 4), (3, 3), (2, 0), "forward"),
        ),
        numpy=getattr(np.fft, name),
        flops=flops_of_fft,
    )


def _spectrum_rule(t: Type, s: Lengths, axes: Lengths, norm: str) -> Type:
    return Type(_replaced(t.shape, axes, s), _complex(t.dtype))


FFTN = _transform("fftn", _spectrum_rule, _adjoint("ifftn"), complex=True)
IFFTN = _transform("ifftn", _spectrum_rule, _adjoint("fftn"), complex=True)
RFFTN = _transform(
    "rfftn",
    lambda t, s, axes, norm: Type(_replaced(t.shape, axes, _half(s)), _complex(t.dtype)),
    _rfftn_vjp,
    complex=False,
)
IRFFTN = _transform(
    "irfftn",
    lambda t, s, axes, norm: Type(_replaced(t.shape, axes, s), _real(t.dtype)),
    _irfftn_vjp,
    complex=True,
)
OPS = {"fftn": FFTN, "ifftn": IFFTN, "rfftn": RFFTN, "irfftn": IRFFTN}


# -- what NumPy's functions take --------------------------------------------------------------------------------------
def transform(name: str, x: Any, s: Lengths, axes: Lengths, norm: str | None) -> Any:
    """Apply the op over axes that are all different; over axes that repeat, transform along one after the other."""
    norm = "backward" if norm is None else norm
    if norm not in SWAPPED:
        raise ValueError(at_user_line(f'Invalid norm value {norm}; should be "backward", "ortho" or "forward".'))
    if any(n < 1 for n in s):
        raise ValueError(at_user_line(f"Invalid number of FFT data points ({min(s)}) specified."))
    if name == "rfftn" and x.dtype.kind == "c":
        raise TypeError(at_user_line("ufunc 'rfft' does not take complex numbers. Fix: use np.fft.fft"))
    if len(set(axes)) < len(axes):
        order = list(zip(s, axes))
        complex_name = "ifftn" if name.startswith("i") else "fftn"
        steps = [(name if k == len(order) - 1 else complex_name, n, a) for k, (n, a) in enumerate(order)]
        for step, n, axis in steps if name == "irfftn" else steps[::-1]:
            x = transform(step, x, (n,), (axis,), norm)
        return x
    return apply(OPS[name], (x,), (("s", s), ("axes", axes), ("norm", norm)))


def _one(name: str, a: Any, n: Any, axis: int, norm: str | None) -> Any:
    a = as_array(a)
    axis = normalize_axis(axis, ndim_of(a))
    m = shape_of(a)[axis]
    if n is None:
        n = 2 * (m - 1) if name == "irfftn" else m
    return transform(name, a, (operator.index(n),), (axis,), norm)


def _many(name: str, a: Any, s: Any, axes: Any, norm: str | None) -> Any:
    """Transform over many axes, with the lengths and axes that NumPy would take."""
    a = as_array(a)
    ndim = ndim_of(a)
    if axes is None:
        axes = range(ndim) if s is None else range(ndim - len(s), ndim)
    chosen = tuple([normalize_axis(int(k), ndim) for k in axes])
    natural = [shape_of(a)[k] for k in chosen]
    if name == "irfftn" and natural:
        natural[-1] = 2 * (natural[-1] - 1)
    if s is None:
        lengths = natural
    else:
        if len(s) != len(chosen):
            raise ValueError(at_user_line("Shape and axes have different lengths."))
        lengths = [shape_of(a)[k] if n is None or n == -1 else operator.index(n) for n, k in zip(s, chosen)]
    if not chosen:
        if name in ("fftn", "ifftn"):
            return a
        raise IndexError(at_user_line("list index out of range: at least 1 axis must be transformed"))
    return transform(name, a, tuple(lengths), chosen, norm)


@implements(np.fft.fft)
def fft(a: Any, n: Any = None, axis: int = -1, norm: str | None = None, out: Any = None) -> Any:
    return _one("fftn", a, n, axis, norm)


@implements(np.fft.ifft)
def ifft(a: Any, n: Any = None, axis: int = -1, norm: str | None = None, out: Any = None) -> Any:
    return _one("ifftn", a, n, axis, norm)


@implements(np.fft.rfft)
def rfft(a: Any, n: Any = None, axis: int = -1, norm: str | None = None, out: Any = None) -> Any:
    return _one("rfftn", a, n, axis, norm)


@implements(np.fft.irfft)
def irfft(a: Any, n: Any = None, axis: int = -1, norm: str | None = None, out: Any = None) -> Any:
    return _one("irfftn", a, n, axis, norm)


@implements(np.fft.hfft)
def hfft(a: Any, n: Any = None, axis: int = -1, norm: str | None = None, out: Any = None) -> Any:
    return _one("irfftn", conj(as_array(a)), n, axis, _other(norm))


@implements(np.fft.ihfft)
def ihfft(a: Any, n: Any = None, axis: int = -1, norm: str | None = None, out: Any = None) -> Any:
    return np.conjugate(_one("rfftn", a, n, axis, _other(norm)))


def _other(norm: str | None) -> str | None:
    return SWAPPED.get(norm or "backward", norm)


@implements(np.fft.fftn, gives_views=True)
def fftn(a: Any, s: Any = None, axes: Any = None, norm: str | None = None, out: Any = None) -> Any:
    return _many("fftn", a, s, axes, norm)


@implements(np.fft.ifftn, gives_views=True)
def ifftn(a: Any, s: Any = None, axes: Any = None, norm: str | None = None, out: Any = None) -> Any:
    return _many("ifftn", a, s, axes, norm)


@implements(np.fft.rfftn)
def rfftn(a: Any, s: Any = None, axes: Any = None, norm: str | None = None, out: Any = None) -> Any:
    return _many("rfftn", a, s, axes, norm)


@implements(np.fft.irfftn)
def irfftn(a: Any, s: Any = None, axes: Any = None, norm: str | None = None, out: Any = None) -> Any:
    return _many("irfftn", a, s, axes, norm)


@implements(np.fft.fft2, gives_views=True)
def fft2(a: Any, s: Any = None, axes: Any = (-2, -1), norm: str | None = None, out: Any = None) -> Any:
    return _many("fftn", a, s, axes, norm)


@implements(np.fft.ifft2, gives_views=True)
def ifft2(a: Any, s: Any = None, axes: Any = (-2, -1), norm: str | None = None, out: Any = None) -> Any:
    return _many("ifftn", a, s, axes, norm)


@implements(np.fft.rfft2)
def rfft2(a: Any, s: Any = None, axes: Any = (-2, -1), norm: str | None = None, out: Any = None) -> Any:
    return _many("rfftn", a, s, axes, norm)


@implements(np.fft.irfft2)
def irfft2(a: Any, s: Any = None, axes: Any = (-2, -1), norm: str | None = None, out: Any = None) -> Any:
    return _many("irfftn", a, s, axes, norm)


# -- shifts -----------------------------------------------------------------------------------------------------------
def _shifted(x: Any, axes: Any, sign: int) -> Any:
    x = as_array(x)
    chosen = range(ndim_of(x)) if axes is None else axes if isinstance(axes, (tuple, list)) else (axes,)
    places = tuple([normalize_axis(k, ndim_of(x)) for k in chosen])
    return np.roll(x, tuple([sign * (x.shape[k] // 2) for k in places]), places)


@implements(np.fft.fftshift)
def fftshift(x: Any, axes: Any = None) -> Any:
    return _shifted(x, axes, 1)


@implements(np.fft.ifftshift)
def ifftshift(x: Any, axes: Any = None) -> Any:
    return _shifted(x, axes, -1)
