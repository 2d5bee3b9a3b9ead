"""Answer requests for plain numbers and arrays: `float(t)`, `np.asarray(t)`, `np.array([a, b])`, `if t:`.

A tensor that nothing records is as good as its value. One that is recorded never leaves silently:

- Real and complex ones answer NumPy with an object array of their elements, each an element read (`getitem`) of the
  recording, so `np.array([a, b])`, `A.dot(t)` go on with tensors inside; such arrays fold back into one tensor where
  they next meet tapec. Too many elements, or a forced dtype, is a DetachError with the fix for that line. `np.r_` and
  `np.c_` find the whole tensor again (`escape/np_r_c.py`).
- What `np.asarray(t)` gives would share memory with the tensor in NumPy. It is read-only, and the tensor does not
  change while it is in use; a traced function that tries either runs once more, where `np.asarray(t)` is the tensor.
- Code that does not know tensors, as installed packages, pandas and SciPy, gets the value of what was computed from
  captured plain numbers alone, whose value is a fact from then on: nobody differentiates with respect to them.
- Integers and booleans carry no gradient and answer with their values. In a traced function a scalar is a guard
  (`int(n)`, `if n:`, `range(n)`), an array makes the function record anew at each call.
- On a tape `float(t)`, `int(t)`, `t.item()`, `t.numpy()` say themselves that they leave the recording: plain values.
  `math.sin(t)` and `arr[0] = t` do not say so, and are errors there too.
- In a traced function the value of this one call must not end up in the code for all calls: `bool(t)` and `int(t)` are
  guards, `float(t)` and the like are errors.
"""

from __future__ import annotations

import operator
import os
import sys
from functools import cache
from itertools import product
from types import CodeType
from typing import Any

import numpy as np

from tapec.errors import (
    PACKAGE_FOLDER,
    DetachError,
    UnsupportedError,
    at_user_line,
    is_installed,
    is_user_file,
    warn_user,
)
from tapec.ir.types import WEAK_NUMBERS
from tapec.ops import UFUNCS, ArrayLike
from tapec.ops.elementwise.rounding import ROUND_NUMBER
from tapec.trace import tuning
from tapec.trace.classes import READABLE, TensorBase
from tapec.trace.escape.fix_hints import asks_truth, detach_error, detaches, shuffles
from tapec.trace.escape.np_r_c import parts_for
from tapec.trace.inplace.shared_memory import show
from tapec.trace.perform import USER_FILES, perform
from tapec.trace.recording_stack import current, read_around, recordings, traces, traces_or_around

__all__ = [
    "as_integer_ratio",
    "contains",
    "handed_out",
    "may_get_value",
    "modular_power",
    "elements",
    "object_loop",
    "round_to",
    "to_array",
    "to_bool",
    "to_bytes",
    "to_complex",
    "to_float",
    "to_hash",
    "to_index",
    "to_int",
    "to_key",
    "to_item",
    "to_list",
    "to_value",
    "to_whole",
]

_ndarray, _generic = np.ndarray, np.generic
_REALS = frozenset({float, np.float64, np.float32})
_NUMPY = os.path.dirname(os.path.abspath(np.__file__)) + os.sep
_TESTING = os.path.join(_NUMPY, "testing", "")
_SPARSE = os.path.join("scipy", "sparse", "")


def _inexact(t: TensorBase) -> bool:
    return t.dtype.kind in "fc"


def _guarded(t: TensorBase, kind: type, value: Any) -> Any:
    """Return a value, and note in the traced functions that watch the tensor that the run relies on it."""
    for trace in traces_or_around(t):
        trace.guard(kind, t, value)
    return value


def _loses(t: TensorBase) -> bool:
    """Return whether a plain value of a tensor would lose a gradient that only a recording around the run knows."""
    return _inexact(t) and bool(read_around(t))


# -- values for code that does not know tensors ---------------------------------------------------------------------
def handed_out(t: TensorBase) -> bool:
    """Return whether code that does not know tensors may get the value of a tensor, and note it as a fact.

    It may, where nobody records the tensor, or it was computed from captured plain numbers and arrays alone.
    """
    watching = recordings(t)
    return all([tape.is_trace for tape in watching]) and all([trace.hands_out(t) for trace in watching])


def _is_followed(frame: Any) -> bool:
    """Return whether the code of a frame reads its globals through a trace."""
    return hasattr(frame.f_globals, "captures")


def _knows_tensors(frame: Any) -> bool:
    """Return whether the innermost code around a frame that is neither ours nor NumPy's is the user's own script."""
    while frame.f_back is not None and frame.f_code.co_filename.startswith((PACKAGE_FOLDER, _NUMPY)):
        frame = frame.f_back
    return not _is_installed(frame.f_code.co_filename)


_is_installed = cache(is_installed)


# -- numbers ----------------------------------------------------------------------------------------------------------
def to_bool(t: TensorBase) -> bool:
    if _inexact(t) and recordings(t) and not traces(t) and asks_truth():
        raise detach_error(t, "truth")
    return _guarded(t, bool, bool(t._value))


def to_int(t: TensorBase) -> int:
    return _guarded(t, int, int(t._value))


def to_index(t: TensorBase) -> int:
    return _guarded(t, int, operator.index(t._value))


def to_key(t: TensorBase) -> Any:
    """Return what a tensor is among the keys of a dict: a whole number is itself, under a guard."""
    if t.dtype.kind not in "biu" or t.shape:
        return t
    in_a_function = traces(t) or (t._mark is not None and not recordings(t))  # or it is run again by plain NumPy
    return t if not in_a_function else to_bool(t) if t.dtype.kind == "b" else to_int(t)


def to_hash(t: TensorBase) -> int:
    """Answer dicts and sets. Other tensors than whole numbers and captured ones have no hash, since == compares
    elements."""
    key = to_key(t)
    for trace in traces(t) if key is t and not t.shape else ():
        key = t if trace.captures is None else trace.captures.inputs.as_a_fact(t)
        if key is not t:
            break
    return ArrayLike.__hash__(t) if key is t else hash(key)


def to_float(t: TensorBase, kind: Any = float) -> Any:
    """Answer `float(t)` and `complex(t)`."""
    value = kind(t._value)
    if not _inexact(t):
        return kind(to_int(t))
    if not recordings(t) and not _loses(t):
        return value
    traced = traces(t) or read_around(t)
    if traced and all(trace.is_fixed(t) for trace in traced):
        return _guarded(t, kind, value)  # captured plain numbers: nobody differentiates with respect to them
    if traced or _asking().f_code.co_filename.startswith(_NUMPY) or detaches():
        raise detach_error(t, kind.__name__)
    return value


def to_complex(t: TensorBase) -> complex:
    return to_float(t, complex)


def to_item(t: TensorBase, *args: Any) -> Any:
    """Return one element as a Python number."""
    if args:
        index = args[0] if len(args) == 1 else args
        return to_item(t[index] if isinstance(index, tuple) else t.reshape(-1)[index])
    value = t._value.item() if isinstance(t._value, (np.ndarray, np.generic)) else t._value
    if not traces(t) and not read_around(t):
        return value
    if _inexact(t):
        raise detach_error(t, "item")
    return _guarded(t, type(value), value)


def to_value(t: TensorBase) -> Any:
    """Return the value, as a plain array or number.

    No tape records what is computed from it.

    Returns
    -------
    numpy.ndarray or NumPy scalar
        The value, an array of its own.

    Raises
    ------
    DetachError
        In a function that is traced, for a tensor of real or complex numbers that depends on its arguments.

    Examples
    --------
    >>> import tapec
    >>> tapec.constant([1.0, 2.0]).numpy()
    array([1., 2.])

    See Also
    --------
    tapec.stop_gradient : no gradient, but still a tensor
    """
    rec = current()
    if rec is not None and rec.trace is not None:
        traced = traces_or_around(t)
        if traced and _inexact(t):
            raise detach_error(t, "numpy")
        for trace in traced:
            trace.observe(t)
    value = t._value
    if type(value) is _ndarray:
        return value.copy()
    return value if isinstance(value, _generic) else np.asarray(value)[()]


def to_list(t: TensorBase) -> Any:
    """Return nested lists of numbers, or of tensors where those are recorded."""
    if _inexact(t) and recordings(t):
        return t if not t.shape else [to_list(part) for part in t]
    return np.asarray(to_array(t)).tolist()


# -- arrays -----------------------------------------------------------------------------------------------------------
def to_array(t: TensorBase, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
    """Return what NumPy gets when it asks for an array."""
    is_variable = type(t) in READABLE
    if is_variable:
        t = t._tapec_read()
    if dtype is None and type(t._value) in _REALS and t._mark is not None:
        rec = current()
        if rec is not None and rec.trace is None and t._mark is rec.mark:
            code = sys._getframe(1).f_code
            if code.co_filename in USER_FILES and not _is_installed(code.co_filename):
                _check_names(code)
                return _itself(t)  # np.array([a, b]), as `elements` has it: the commonest
    watching = recordings(t)
    if not watching or not t.size:
        around = read_around(t) if t.size else []
        if not around:  # no gradient can be lost
            array = plain_array(t._value, dtype, copy)
            is_copy = copy is not None or is_variable or not t.shape or array.dtype != t.dtype or current() is None
            return array if is_copy or _is_installed(sys._getframe(1).f_code.co_filename) else show(t, array)
        if _inexact(t):
            raise detach_error(t, "array", dtype)
        watching = around
    if _inexact(t):
        asking = _asking()
        lost = dtype is not None and np.dtype(dtype) != object
        if asking.f_code.co_filename.startswith(_TESTING):
            return _compared(t, dtype, copy)
        if _SPARSE not in asking.f_code.co_filename and _may_get(t, asking, lost) and handed_out(t):
            return _value_of(t, dtype, copy)
        if lost:
            raise detach_error(t, "array", dtype)
        if asking.f_code.co_name == "as_strided":
            raise UnsupportedError(at_user_line(_NO_STRIDES))
        if _SPARSE in asking.f_code.co_filename:
            return _itself(t)
        if asking.f_code in _OF_PARTS and t.dtype.kind == "c":
            raise UnsupportedError(at_user_line(_NO_PARTS.format(asking.f_code.co_name)))
        if traces(t) and _is_followed(sys._getframe(1)) and not shuffles():
            raise detach_error(t, "array")  # NumPy's functions do not ask there, but methods of plain arrays do
        if not traces(t):
            _check_names(asking.f_code)
        for trace in traces(t):
            trace.gives_objects = True
        parts = parts_for(t, asking)
        if parts is None and t.dtype.kind == "c" and np.real in _BLIND:
            _tell_of_parts(asking)
        if parts is not None:
            return parts
        return elements(t) if copy or not t.shape else _shown(t, elements(t))
    if t.shape:
        for trace in watching:
            if trace.is_trace:
                trace.observe(t)
    else:
        (to_bool if t.dtype.kind == "b" else to_int)(t)
    array = plain_array(t._value, dtype, copy)
    is_by_user = copy is None and sys._getframe(1).f_code.co_filename in USER_FILES
    return _shown(t, array) if is_by_user and t.shape and array.dtype == t.dtype else array


def may_get_value(t: TensorBase) -> bool:
    """Return whether a plain array may take the elements of a tensor, and note these as a fact."""
    return _may_get(t, _asking(), True) and handed_out(t)


def _may_get(t: TensorBase, frame: Any, is_error: bool) -> bool:
    """Return whether it is the value that a frame wants.

    Installed packages do not know tensors. Where it `is_error` to give a tensor, none can take the place of an array
    that the user's own code makes where no trace sees it.
    """
    past_us = is_error and (not _is_followed(frame) or any([getattr(trace, "making", False) for trace in traces(t)]))
    return past_us or not _knows_tensors(frame)


def _compared(t: TensorBase, dtype: Any, copy: bool | None) -> np.ndarray:
    """Return the value for np.testing, which compares and gives nothing back; a function does so at each call."""
    for trace in traces(t):
        trace.require_retrace("it compares an array by np.testing")
    return plain_array(t._value, dtype, copy)


def _value_of(t: TensorBase, dtype: Any, copy: bool | None) -> np.ndarray:
    """Return the value for code that does not know tensors: the user's own array, where it is captured as it is."""
    value = t._value
    if copy is None and type(value) is np.ndarray and dtype in (None, value.dtype):
        return value
    return plain_array(value, dtype, copy)


def _shown(t: TensorBase, array: np.ndarray) -> np.ndarray:
    """Return what np.asarray gives: in NumPy it would share the memory of the tensor."""
    for trace in traces(t):
        trace.shows_elements = True
        if array.ndim > 1 and not array.flags.c_contiguous:  # who asks may ask for a copy
            trace.note_order()
    return show(t, array)


_NO_STRIDES = (
    "np.lib.stride_tricks.as_strided looks at memory by bytes, and the elements of a recorded tensor lie nowhere. "
    "Fix: use np.lib.stride_tricks.sliding_window_view, or an index array."
)


# NumPy before 2.5 takes the elements of a list or an object array for real numbers; np.angle does so ever after
_BLIND = (np.angle,) if np.array([1j], object).imag[0] == 1 else (np.angle, np.imag, np.real)
_OF_PARTS = frozenset([getattr(f, "_implementation", f).__code__ for f in _BLIND])
_NO_PARTS = "np.{0} of a list does not look into its tensors. Fix: np.{0}(np.stack([...]))"


def _tell_of_parts(frame: Any) -> None:
    """Warn if the running code names `.real` or `.imag`: for an array of tensors NumPy answers these by itself."""
    while frame is not None:
        if is_user_file(frame.f_code.co_filename) and not {"real", "imag"}.isdisjoint(frame.f_code.co_names):
            warn_user(
                "an array is made of complex tensors, of which `.real` is the array itself and `.imag` zeros before "
                "NumPy 2.5. Fix: np.stack([...])"
            )
            return
        frame = frame.f_back


def _check_names(code: CodeType) -> None:
    """Refuse an array of objects in code that names what NumPy answers of objects without asking them.

    So it is on tapes, where nobody can answer for a list; a traced function finds our view of NumPy.
    """
    if _UNASKED in code.co_names if code.co_filename in USER_FILES else code.co_name == _UNASKED:
        message = f"an array of tensors is one of objects on a tape, and `{_UNASKED}` does not ask these"
        raise DetachError(at_user_line(f"{message}. Fix: np.stack([...]) makes one tensor of a list"))


_UNASKED = "nan_to_num"


def _asking() -> Any:
    """Return the frame that asks for an array.

    An operator of scipy.sparse steps back from what is no array, so that the tensor's operator acts.
    """
    frame: Any = sys._getframe(2)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(PACKAGE_FOLDER):
        frame = frame.f_back
    return frame


def _itself(t: TensorBase) -> np.ndarray:
    """Return the tensor as one object in an array."""
    box = np.empty((), dtype=object)
    box[()] = t
    return box


def plain_array(value: Any, dtype: Any, copy: bool | None) -> np.ndarray:
    """Return an array of its own: recordings may hold the value, and it must not change under them."""
    if copy is False:
        if type(value) is not np.ndarray or (dtype is not None and np.dtype(dtype) != value.dtype):
            raise ValueError("Unable to avoid copy while creating an array as requested.")
        view = value.view()
        view.flags.writeable = False
        return view
    return np.array(value, dtype=dtype)


def elements(t: TensorBase) -> np.ndarray:
    """Return an object array of a recorded tensor's elements, which lies in memory as the tensor does."""
    shape = t.shape
    if t.size > tuning.OBJECT_ARRAY_MAX_ELEMENTS:
        raise detach_error(t, "size")
    if not shape:
        return _itself(t)
    out = np.empty_like(t._value, object)
    for index in product(*map(range, shape)):
        out[index] = t[index]
    return out


# -- what Python asks for ---------------------------------------------------------------------------------------------
def to_whole(function: Any, rounding: Any) -> Any:
    """Make the method behind `math.floor(t)` and its kin, which gives an int, as they give for any number."""

    def call(self: TensorBase) -> int:
        if self.shape or not _inexact(self):
            return function(to_int(self)) if not self.shape else function(self._value)
        return to_int(rounding(self)) if traces(self) else function(self._value)

    return call


def round_to(self: TensorBase, ndigits: int | None = None) -> Any:
    """Answer `round(t)` as NumPy's scalars and Python's numbers do: by an int, or by a tensor when digits are given."""
    if type(self._value) in WEAK_NUMBERS:
        if ndigits is not None:
            return perform(ROUND_NUMBER, (self,), (("digits", operator.index(ndigits)),))
        round(self._value)  # it raises its error for what has no nearest whole number
    if ndigits is None and not self.shape:
        return to_int(perform(UFUNCS[np.rint], (self,), ())) if _inexact(self) else to_int(self)
    return np.round(self, ndigits or 0)


def contains(self: TensorBase, item: Any) -> bool:
    return bool(np.any(self == item))


def to_bytes(self: TensorBase, order: Any = "C") -> bytes:
    return np.asarray(to_value(self)).tobytes(order)


def modular_power(base: Any, exponent: Any, modulus: Any) -> Any:
    """Answer `pow(base, exponent, modulus)` as Python does: it is for integers, and an error for all other numbers."""
    return pow(*[_integer_or_value(x) for x in (base, exponent, modulus)])


def _integer_or_value(x: Any) -> Any:
    """Return the integer that a tensor of one of Python's is, under a guard; the value of any other."""
    if not isinstance(x, TensorBase):
        return x
    return to_int(x) if type(x._value) in (int, bool) else x._value


def as_integer_ratio(self: TensorBase) -> tuple[int, int]:  # `statistics` asks numbers for it
    return to_float(self).as_integer_ratio()


def object_loop(ufunc: np.ufunc) -> Any:
    """Make the method `sin`, which NumPy calls on each element when it computes `np.sin` of an object array."""

    def call(self: TensorBase, *others: Any) -> Any:
        return ufunc(self, *others)

    call.__name__ = ufunc.__name__
    call.__doc__ = f"`np.{ufunc.__name__}` of this tensor, for object arrays of tensors."
    return call
