"""A type has the shape and dtype of a value, and says whether the value is a weak Python scalar.

Every shape in tapec goes through this module, and is only ever computed by arithmetic and comparison of dimensions,
so that a dimension may one day be a symbol.
"""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from tapec.ir import tuning

__all__ = [
    "NUMBERS",
    "WEAK_NUMBERS",
    "Type",
    "array_type",
    "broadcast_shapes",
    "dtype_from_name",
    "dtype_name",
    "is_differentiable",
    "normalize_axes",
    "normalize_axis",
    "several",
    "type_of",
    "weak_type",
]

Shape = tuple[int, ...]


class Type:
    """Describes one array value by shape and dtype, as `f64[3,4]`; or a Python scalar, as `float`; or a list of these.

    A Python scalar is weak: it takes the precision of what it meets, as NEP 50 has it. `float[3]` is a list of three.

    Parameters
    ----------
    shape : tuple of int
        The shape.
    dtype : dtype
        The dtype.
    weak : bool, default False
        Whether it is a Python scalar, or a list of these.

    Attributes
    ----------
    shape : tuple of int
        The shape.
    dtype : numpy.dtype
        The dtype.
    weak : bool
        Whether it is a Python scalar, or a list of these.
    size : int
        The number of elements.
    ndim : int
        The number of axes.
    nbytes : int
        The bytes that the elements take.

    Examples
    --------
    >>> import tapec
    >>> t = tapec.ir.Type((3, 4), float)
    >>> t, t.nbytes
    (f64[3,4], 96)

    See Also
    --------
    tapec.ir.type_of : the type of a value
    """

    __slots__ = ("_hash", "dtype", "shape", "size", "weak")

    shape: Shape
    dtype: np.dtype
    weak: bool
    size: int

    def __init__(self, shape: Shape, dtype: Any, weak: bool = False):
        self.shape = shape
        self.dtype = dtype if isinstance(dtype, np.dtype) else np.dtype(dtype)
        self.weak = weak
        self._hash = hash((shape, self.dtype, weak))
        if shape is not None:  # else nobody knows it, and who asks fails
            self.size = math.prod(shape)

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def nbytes(self) -> int:
        return self.size * self.dtype.itemsize

    def with_dtype(self, dtype: Any) -> Type:
        """Return the type of this shape, and another dtype.

        Parameters
        ----------
        dtype : dtype
            The dtype.

        Returns
        -------
        Type
            The type, which is not weak.

        Examples
        --------
        >>> import tapec
        >>> tapec.ir.Type((3,), float).with_dtype("float32")
        f32[3]
        """
        return Type(self.shape, dtype)

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return (
            isinstance(other, Type)
            and self._hash == other._hash
            and self.shape == other.shape
            and self.dtype == other.dtype
            and self.weak == other.weak
        )

    def __hash__(self) -> int:
        return self._hash

    def __repr__(self) -> str:
        if self.weak:
            sizes = f"[{','.join(map(str, self.shape))}]" if self.shape else ""
            return f"{_WEAK_NAMES[self.dtype.kind]}{sizes}"
        return f"{dtype_name(self.dtype)}[{','.join(map(str, self.shape))}]"

    def __reduce__(self):
        return Type, (self.shape, self.dtype, self.weak)


_WEAK_NAMES = {"f": "float", "i": "int", "c": "complex"}
_WEAK_TYPES = {
    float: Type((), np.dtype(np.float64), True),
    int: Type((), np.dtype(np.int64), True),
    complex: Type((), np.dtype(np.complex128), True),
    bool: Type((), np.dtype(np.bool_), False),
}
NUMBERS = frozenset(_WEAK_TYPES)  # the classes of Python's numbers, and those of them that are weak
WEAK_NUMBERS = NUMBERS - {bool}


_ARRAY_TYPES: dict[Any, Type] = {}


def array_type(shape: Shape, dtype: np.dtype) -> Type:
    """The type of arrays; mostly the same object as for the last array like this, which makes comparing it cheap."""
    found = _ARRAY_TYPES.get((shape, dtype))
    if found is None:
        if len(_ARRAY_TYPES) > tuning.TYPES_KEPT_MAX:
            _ARRAY_TYPES.clear()
        found = _ARRAY_TYPES[shape, dtype] = Type(shape, dtype)
    return found


def weak_type(kind: type) -> Type:
    """The type of a Python scalar of this class. A bool is no weaker than NumPy's own."""
    return _WEAK_TYPES[kind]


_OF_CLASS = _WEAK_TYPES | {np.dtype(c).type: array_type((), np.dtype(c)) for c in "?bBhHiIlLqQefdgFDG"}


def type_of(value: Any) -> Type:
    """Return the type of an array, a NumPy scalar or a Python number.

    Parameters
    ----------
    value : array or number
        The value. What is something else is made an array first.

    Returns
    -------
    Type
        Its type.

    Examples
    --------
    >>> import numpy as np, tapec
    >>> tapec.ir.type_of(np.ones((2, 3))), tapec.ir.type_of(1.0)
    (f64[2,3], float)

    See Also
    --------
    tapec.ir.Type : a type by its shape and dtype
    """
    known = _OF_CLASS.get(type(value))
    if known is not None:
        return known
    if isinstance(value, (np.ndarray, np.generic)):
        return array_type(value.shape, value.dtype)
    array = np.asarray(value)
    return Type(array.shape, array.dtype)


def dtype_name(dtype: np.dtype) -> str:
    """Return the kind and the number of bits: `f64`, `c128`, `i32`, `u8`, `bool`."""
    if dtype.kind == "b":
        return "bool"
    if dtype.kind in "fciu":
        return f"{dtype.kind}{8 * dtype.itemsize}"
    return str(dtype)


_DTYPE_NAMES = {dtype_name(np.dtype(code)): np.dtype(code) for code in "GFDgdfeQqLlIiHhBb?"}


def dtype_from_name(name: str) -> np.dtype:
    """Return the dtype with this short name; raise KeyError for a name that is none."""
    return _DTYPE_NAMES[name]


def is_differentiable(t: Type) -> bool:
    """Return whether values of a type have gradients: real and complex ones do, integers and booleans do not."""
    return t.dtype.kind in "fc"


def broadcast_shapes(*shapes: Shape) -> Shape:
    """Find the shape to which shapes broadcast, as in NumPy.

    Parameters
    ----------
    *shapes : tuple of int
        The shapes, at least one.

    Returns
    -------
    tuple of int
        The shape.

    Raises
    ------
    ValueError
        If they do not fit.

    Examples
    --------
    >>> import tapec
    >>> tapec.ir.broadcast_shapes((3, 1), (4,))
    (3, 4)

    See Also
    --------
    tapec.ir.Type : has the shape of a value
    """
    first = shapes[0]
    for shape in shapes[1:]:
        if shape != first:
            break
    else:
        return first
    ndim = max(map(len, shapes))
    out = [1] * ndim
    for shape in shapes:
        offset = ndim - len(shape)
        for i, n in enumerate(shape):
            k = offset + i
            if n != 1:
                if out[k] == 1:
                    out[k] = n
                elif out[k] != n:
                    listed = " and ".join(str(s) for s in shapes)
                    raise ValueError(f"operands could not be broadcast together with shapes {listed}")
    return tuple(out)


def several(x: Any) -> tuple[int, ...]:
    """Return one whole number, or those in a tuple, a list, or an array, as a tuple."""
    if isinstance(x, (tuple, list)) or getattr(x, "shape", None):
        return tuple([operator.index(k) for k in x])
    return (operator.index(x),)


def normalize_axis(axis: int, ndim: int) -> int:
    """An axis counted from the front; NumPy's AxisError when it is out of range."""
    k = operator.index(axis)
    if not -ndim <= k < ndim:
        raise np.exceptions.AxisError(k, ndim)
    return k + ndim if k < 0 else k


def normalize_axes(axis: Any, ndim: int) -> tuple[int, ...]:
    """Return axes, given as None (all), one axis or several, as a sorted tuple counted from the front."""
    if axis is None:
        return tuple(range(ndim))
    if isinstance(axis, (tuple, list)):
        axes = tuple(normalize_axis(a, ndim) for a in axis)
        if len(set(axes)) != len(axes):
            raise ValueError("duplicate value in 'axis'")
        return tuple(sorted(axes))
    return (normalize_axis(axis, ndim),)
