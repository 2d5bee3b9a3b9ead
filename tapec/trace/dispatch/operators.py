"""Define the operators of tensors, for one operand and for two that are tensors or plain numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapec.errors import UnsupportedError, note_user_line
from tapec.ir import Op, ops
from tapec.ir.types import NUMBERS
from tapec.ops import UFUNCS, apply
from tapec.ops.numpy_calls.operators import defers
from tapec.ops.scipy.lazy import sparse_product
from tapec.trace import classes
from tapec.trace.classes import NUMERIC, PLAIN, READABLE, TensorBase, around, wrap
from tapec.trace.escape.to_plain import handed_out, modular_power
from tapec.trace.float_warnings import told
from tapec.trace.perform import perform, record
from tapec.trace.recording_stack import captures_now, current, traces
from tapec.tracebacks import shorten

__all__ = ["divided", "forward", "reflected", "unary"]

_ndarray = np.ndarray


def forward(ufunc: np.ufunc, compute: Any) -> Any:
    """Make the method of an operator from a ufunc, and from the operator of Python, which computes faster.

    The third argument is that of `pow`, which alone gives one.
    """
    op = UFUNCS[ufunc]
    is_power = op is ops.power

    def call(self: TensorBase, other: Any, modulus: Any = None) -> Any:
        if modulus is not None:
            return modular_power(self, other, modulus)
        kind = type(other)
        if kind in READABLE:
            other = other._tapec_read()
            kind = classes.Tensor
        if kind is classes.Tensor:
            given = other._value
            if is_power and type(given) is int and type(self._value) not in NUMBERS and _is_decided(other):
                other = given
        elif kind in PLAIN or (kind is _ndarray and other.dtype.kind in NUMERIC):
            given = other
        else:
            return _mixed(op, self, other, False, compute)
        if is_power and type(given) is int and given == 2 and self.ndim and self.dtype == bool:
            return np.square(self)  # of eight bits, as NumPy has it
        try:
            out = around(compute(self._value, given))
        except RuntimeWarning as warning:
            out = around(told(warning, compute, self._value, given))
        except Exception as error:
            note_user_line(error)
            shorten(error)
            raise
        rec = current()
        if rec is not None:
            record(rec, op, (self, other), (), out)
        return out

    return call


def _is_decided(exponent: TensorBase) -> bool:
    """Return whether the exponent of an array is a captured whole number, which is a fact from now on: derivatives of
    powers have rules for each."""
    captures = captures_now()
    return captures is not None and captures.trace.decides(exponent)


def reflected(ufunc: np.ufunc, compute: Any) -> Any:
    """Make the method of the reflected form: `2.0 - x`. The third argument is that of `pow`."""
    op = UFUNCS[ufunc]

    def call(self: TensorBase, other: Any, modulus: Any = None) -> Any:
        if modulus is not None:
            return modular_power(other, self, modulus)
        kind = type(other)
        if kind is complex or (kind not in PLAIN and (kind is not _ndarray or other.dtype.kind not in NUMERIC)):
            # Python's complex would take a NumPy float for one of its own
            return _mixed(op, self, other, True, compute)
        try:
            out = around(compute(other, self._value))
        except RuntimeWarning as warning:
            out = around(told(warning, compute, other, self._value))
        except Exception as error:
            note_user_line(error)
            shorten(error)
            raise
        rec = current()
        if rec is not None:
            record(rec, op, (other, self), (), out)
        return out

    return call


def unary(ufunc: np.ufunc) -> Any:
    """Make the method of an operator with one operand."""
    op = UFUNCS[ufunc]

    def call(self: TensorBase) -> Any:
        if type(self._value) in NUMBERS:
            return perform(op, (self,), ())
        return self.__array_ufunc__(ufunc, "__call__", self)

    return call


def divided(swapped: bool) -> Any:
    """Make the method behind `divmod`. Of Python's numbers it gives two of Python's numbers."""
    op = UFUNCS[np.divmod]

    def call(self: TensorBase, other: Any) -> Any:
        pair = (other, self) if swapped else (self, other)
        if NUMBERS.issuperset([type(x._value) if isinstance(x, TensorBase) else type(x) for x in pair]):
            return perform(ops.floor_divide, pair, ()), perform(ops.remainder, pair, ())
        return NotImplemented if defers(other) else apply(op, pair)

    return call


def _mixed(op: Op, self: TensorBase, other: Any, swapped: bool, compute: Any) -> Any:
    """Apply an op to an operand that is neither a tensor nor a plain array: a list, somebody else's class."""
    if defers(other):
        return NotImplemented
    if hasattr(other, "tocsr"):  # the first to be asked: one of them is a dict as well
        try:
            return sparse_product(op, self, other, swapped)
        except UnsupportedError:
            if not handed_out(self):
                raise
            return compute(other, self._value) if swapped else compute(self._value, other)
    if hasattr(other, "to_numpy") and traces(self) and handed_out(self):  # a table: what becomes of it is one
        return compute(other, self._value) if swapped else compute(self._value, other)
    if op is ops.multiply and isinstance(other, (list, tuple)) and _repeats(self):
        return NotImplemented
    if other is None or isinstance(other, (str, bytes, dict, set)):
        if op not in (ops.equal, ops.not_equal):
            return NotImplemented
        same = op is ops.not_equal  # as ndarrays have it: nothing is equal to what is no number
        return wrap(np.full(self.shape, same)[()])
    return perform(op, (other, self) if swapped else (self, other), ())


def _repeats(count: TensorBase) -> bool:
    """Return whether a list times a number is what Python makes of it: in traced functions, of integers and of
    Python's own numbers."""
    if not isinstance(count._value, (int, float, complex, np.integer)) or isinstance(count._value, np.inexact):
        return False
    captures = captures_now()
    return captures is not None and type(captures.inputs.asked_for_class(count)) is not _ndarray
