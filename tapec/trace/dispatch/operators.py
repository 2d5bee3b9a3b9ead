"""Define the operators of tensors, for one operand and for two that are tensors or plain numbers."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from tapec.errors import note_user_line
from tapec.ir import Op, ops
from tapec.ops import UFUNCS, ArrayLike
from tapec.ops.numpy_calls.operators import UNARY, defers
from tapec.ops.scipy.lazy import sparse_product
from tapec.trace.recording_stack import current
from tapec.trace.tensor import NUMERIC, PLAIN, READABLE, Tensor, perform, record, user_position, wrap

__all__ = ["OPERATORS"]

_new = object.__new__
_ndarray = np.ndarray


def _forward(ufunc: np.ufunc, compute: Any) -> Any:
    """Make the method of an operator.

    The same steps stand again in the reflected form, and a third time in `Tensor.__array_ufunc__` for any number of
    operands. What they would share costs a call at each operation, or a question which of them it is.
    """
    op = UFUNCS[ufunc]

    def call(self: Tensor, other: Any) -> Any:
        kind = type(other)
        out = _new(Tensor)
        try:
            if kind is Tensor:
                out._value = compute(self._value, other._value)
            elif kind in PLAIN or (kind is _ndarray and other.dtype.kind in NUMERIC):
                out._value = compute(self._value, other)
            elif kind in READABLE:
                other = other._tapec_read()
                kind = Tensor
                out._value = compute(self._value, other._value)
            else:
                return _mixed(op, self, other, False)
        except Exception as error:
            note_user_line(error)
            raise
        out._link = None
        rec = current()
        if rec is None:
            out._mark = None
            return out
        mark = rec.mark
        if rec.append is not None and (self._mark is mark or (kind is Tensor and other._mark is mark)):
            if kind is _ndarray:
                other = rec.log.seen(other)
            code, offset = user_position()
            rec.append((op, (self, other), (), out, code, offset))
            out._mark = mark
        else:
            record(rec, op, (self, other), (), out)
        return out

    return call


def _reflected(ufunc: np.ufunc, compute: Any) -> Any:
    """Make the method of the reflected form."""
    op = UFUNCS[ufunc]

    def call(self: Tensor, other: Any) -> Any:
        kind = type(other)
        if kind is complex or (kind not in PLAIN and (kind is not _ndarray or other.dtype.kind not in NUMERIC)):
            return _mixed(op, self, other, True)  # Python's complex would take a NumPy float for one of its own
        out = _new(Tensor)
        try:
            out._value = compute(other, self._value)
        except Exception as error:
            note_user_line(error)
            raise
        out._link = None
        rec = current()
        if rec is None:
            out._mark = None
            return out
        mark = rec.mark
        if rec.append is not None and self._mark is mark:
            if kind is _ndarray:
                other = rec.log.seen(other)
            code, offset = user_position()
            rec.append((op, (other, self), (), out, code, offset))
            out._mark = mark
        else:
            record(rec, op, (other, self), (), out)
        return out

    return call


def _unary(ufunc: np.ufunc) -> Any:
    return lambda self: self.__array_ufunc__(ufunc, "__call__", self)


def _mixed(op: Op, self: Tensor, other: Any, swapped: bool) -> Any:
    """An operand that is neither a tensor nor a plain array: a Variable, a list, somebody else's class."""
    if defers(other):
        return NotImplemented
    if hasattr(other, "tocsr"):  # the first to be asked: one of them is a dict as well
        return sparse_product(op, self, other, swapped)
    if other is None or isinstance(other, (str, bytes, dict, set)):
        if op not in (ops.equal, ops.not_equal):
            return NotImplemented
        same = op is ops.not_equal  # as ndarrays have it: nothing is equal to what is no number
        return wrap(np.full(self.shape, same)[()])
    return perform(op, (other, self) if swapped else (self, other), ())


OPERATORS = {  # the operators that have a fast road
    "add": (np.add, operator.add),
    "sub": (np.subtract, operator.sub),
    "mul": (np.multiply, operator.mul),
    "truediv": (np.divide, operator.truediv),
    "pow": (np.power, operator.pow),
    "matmul": (np.matmul, operator.matmul),
    "lt": (np.less, operator.lt),
    "le": (np.less_equal, operator.le),
    "gt": (np.greater, operator.gt),
    "ge": (np.greater_equal, operator.ge),
    "eq": (np.equal, operator.eq),
    "ne": (np.not_equal, operator.ne),
}
for _name, (_ufunc, _compute) in OPERATORS.items():
    setattr(Tensor, f"__{_name}__", _forward(_ufunc, _compute))
    if f"__r{_name}__" in vars(ArrayLike):
        setattr(Tensor, f"__r{_name}__", _reflected(_ufunc, _compute))
for _name, _ufunc in UNARY.items():
    setattr(Tensor, f"__{_name}__", _unary(_ufunc))
