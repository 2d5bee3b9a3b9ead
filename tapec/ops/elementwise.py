"""Elementwise ops: NumPy's ufuncs, each with its partial derivatives."""

from __future__ import annotations

import numpy as np

from tapec.ops.define import conj, elementwise
from tapec.ops.samples import any_real, nonzero, positive

# -- arithmetic -------------------------------------------------------------------------------------------------
add = elementwise(
    np.add, lambda y, a, b: (1, 1), source="{0} + {1}", inplace="+", commutative=True, sample=(any_real, any_real)
)
subtract = elementwise(np.subtract, lambda y, a, b: (1, -1), source="{0} - {1}", inplace="-", sample=(any_real, any_real))
multiply = elementwise(
    np.multiply, lambda y, a, b: (b, a), source="{0} * {1}", inplace="*", commutative=True, sample=(any_real, any_real)
)
divide = elementwise(
    np.divide, lambda y, a, b: (1 / b, -y / b), source="{0} / {1}", inplace="/", sample=(any_real, nonzero)
)
negative = elementwise(np.negative, lambda y, x: (-1,), source="-{0}", sample=(any_real,))

# -- exponentials and powers --------------------------------------------------------------------------------------
exp = elementwise(np.exp, lambda y, x: (y,), sample=(any_real,))
log = elementwise(np.log, lambda y, x: (1 / x,), sample=(positive,))
sqrt = elementwise(np.sqrt, lambda y, x: (0.5 / y,), sample=(positive,))
square = elementwise(np.square, lambda y, x: (2 * x,), sample=(any_real,))

# -- trigonometry -------------------------------------------------------------------------------------------------
sin = elementwise(np.sin, lambda y, x: (np.cos(x),), sample=(any_real,))
cos = elementwise(np.cos, lambda y, x: (-np.sin(x),), sample=(any_real,))
tanh = elementwise(np.tanh, lambda y, x: (1 - y * y,), sample=(any_real,))

# -- comparisons: no gradient ---------------------------------------------------------------------------------------
greater = elementwise(np.greater, source="{0} > {1}", sample=(any_real, any_real))
greater_equal = elementwise(np.greater_equal, source="{0} >= {1}", sample=(any_real, any_real))
less = elementwise(np.less, source="{0} < {1}", sample=(any_real, any_real))
less_equal = elementwise(np.less_equal, source="{0} <= {1}", sample=(any_real, any_real))
equal = elementwise(np.equal, source="{0} == {1}", sample=(any_real, any_real))
not_equal = elementwise(np.not_equal, source="{0} != {1}", sample=(any_real, any_real))
conjugate = elementwise(
    np.conjugate, vjp=lambda ct, y, x: (conj(ct),), linear=(0,), sample=(any_real,)
)
