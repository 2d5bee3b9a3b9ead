"""State how Python's numbers compute among themselves: as Python has it, with its value, its type and its error.

An operation with an array or a NumPy scalar among its operands is NumPy's. One between Python's numbers alone has a
*weak* result, a Python number again, and is Python's own wherever it is computed:

- a recording computes it by Python's operator, and so do the interpreter (`ir.interpreter.compute`);
- generated code says it by Python's operator (`codegen/numpy/idioms.py`, PYTHON);
- what a path relies on beyond that is a guard (`trace/function/number_facts.py`): that a divisor is not zero, that a
  power is a float and not complex, which truth value is counted with. So an error that Python raises is raised, and may
  be caught, where nothing else asks for the value, too.

Among cotangents and tangents NumPy computes: there a pole is inf or nan, and no error.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["COMPARISONS", "OPERATORS"]

OPERATORS: dict[np.ufunc, Callable[..., Any]] = {
    np.add: operator.add,
    np.subtract: operator.sub,
    np.multiply: operator.mul,
    np.divide: operator.truediv,
    np.floor_divide: operator.floordiv,
    np.remainder: operator.mod,
    np.power: operator.pow,
    np.negative: operator.neg,
    np.positive: operator.pos,
    np.absolute: operator.abs,
    np.bitwise_and: operator.and_,
    np.bitwise_or: operator.or_,
    np.bitwise_xor: operator.xor,
    np.left_shift: operator.lshift,
    np.right_shift: operator.rshift,
    np.invert: operator.invert,
}  # of Python's numbers these make Python's numbers
COMPARISONS: dict[np.ufunc, Callable[..., Any]] = {
    np.less: operator.lt,
    np.less_equal: operator.le,
    np.greater: operator.gt,
    np.greater_equal: operator.ge,
    np.equal: operator.eq,
    np.not_equal: operator.ne,
}  # NumPy would make floats of whole numbers that no float equals
