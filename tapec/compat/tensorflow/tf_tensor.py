"""Define tensors as TensorFlow has them: float32 by default, no mixing of dtypes, and its way of printing.

A face stands before a tapec tensor, which does all the work; operations look through to it and put a face on the
result.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from weakref import WeakValueDictionary, finalize

import numpy as np

from tapec.compat.tensorflow.plain_values import (
    TensorShape,
    check_scalar,
    converted,
    default_dtype,
    invalid,
    mixed,
    refuse_options,
    refusing,
    sizes,
)
from tapec.ir import OpSet, ops
from tapec.ops import FUNCTIONS, ArrayLike
from tapec.ops.core.stand_in import apply
from tapec.pytree import map_leaves
from tapec.trace.classes import wrap
from tapec.trace.tensor import Tensor as PlainTensor
from tapec.values.indexed_slices import IndexedSlices as PlainSlices
from tapec.values.variable import Variable as PlainVariable
from tapec.values.variable import same

__all__ = [
    "Face",
    "IndexedSlices",
    "Tensor",
    "Variable",
    "constant",
    "face",
    "faces",
    "plain",
    "renewed",
]


class Face(ArrayLike):
    """The base of what this module shows to the user."""

    __slots__ = ("__weakref__", "_inner")
    _rank = 5
    _promotes = False
    _inner: Any

    @property
    def shape(self) -> TensorShape:
        return TensorShape(self._inner.shape)

    def get_shape(self) -> TensorShape:
        return self.shape

    @property
    def dtype(self) -> np.dtype:
        return self._inner.dtype

    @property
    def _value(self) -> Any:
        return self._inner._tapec_read()._value

    def numpy(self) -> Any:
        return self._inner.numpy()

    @refusing
    def _apply(self, op: Any, inputs: tuple[Any, ...], params: tuple[tuple[str, Any], ...]) -> Any:
        return face(apply(op, lowered(op, inputs), params))

    @refusing
    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        found = super().__array_function__(func, types, args, kwargs)
        return renewed(found) if args and found is args[0] else found

    @refusing
    def __getitem__(self, index: Any) -> Any:
        return super().__getitem__(index)

    def __eq__(self, other: object) -> Any:
        return False if other is None else super().__eq__(other)

    def __ne__(self, other: object) -> Any:
        return True if other is None else super().__ne__(other)

    __hash__ = ArrayLike.__hash__  # == is elementwise

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return self._inner.__array__(dtype, copy)

    def __bool__(self) -> bool:
        return bool(self._inner)

    def __int__(self) -> int:
        return int(self._inner)

    def __index__(self) -> int:
        return self._inner.__index__()

    def __float__(self) -> float:
        return float(self._inner)

    def __complex__(self) -> complex:
        return complex(self._inner)

    def __format__(self, spec: str) -> str:
        return format(self._value.item(), spec) if spec and not self.shape else str(self)


class Tensor(Face):
    """`tf.Tensor`."""

    __slots__ = ()

    def __init__(self, inner: PlainTensor):
        self._inner = inner

    def __str__(self) -> str:
        return f"tf.Tensor({self._value!s}, shape={self.shape}, dtype={self.dtype.name})"

    def __repr__(self) -> str:
        return f"<tf.Tensor: shape={self.shape}, dtype={self.dtype.name}, numpy={_shown(self._value)}>"


class Variable(Face):
    """`tf.Variable`."""

    __slots__ = ()

    def __init__(
        self,
        initial_value: Any = None,
        trainable: bool | None = None,
        validate_shape: bool = True,
        caching_device: Any = None,
        name: str | None = None,
        variable_def: Any = None,
        dtype: Any = None,
        import_scope: Any = None,
        constraint: Callable[[Any], Any] | None = None,
        synchronization: Any = None,
        aggregation: Any = None,
        shape: Any = None,
    ):
        if isinstance(initial_value, PlainVariable):
            self._inner = initial_value
        else:
            refuse_options("Variable", "an initial value", variable_def=variable_def)
            value = constant(initial_value() if callable(initial_value) else initial_value, dtype)
            if shape is not None and value.shape != sizes(shape):
                raise invalid(f"an initial value of shape {value.shape} for a Variable of shape {sizes(shape)}")
            self._inner = PlainVariable(value._value, trainable is None or trainable, name)
            if constraint is not None:
                _CONSTRAINTS[self._inner._serial] = constraint
                finalize(self._inner, _CONSTRAINTS.pop, self._inner._serial, None)
        _VARIABLES[id(self._inner)] = self

    @property
    def name(self) -> str:
        return self._inner.name

    @property
    def trainable(self) -> bool:
        return self._inner.trainable

    @property
    def constraint(self) -> Callable[[Any], Any] | None:
        """The function that optimizers apply to the value after each update."""
        return _CONSTRAINTS.get(self._inner._serial)

    def value(self) -> Tensor:
        return face(self._inner.read_value())

    read_value = value

    def assign(self, value: Any, use_locking: bool = False, name: Any = None, read_value: bool = True) -> Any:
        self._inner.assign(self._given(value))
        return self if read_value else None

    def assign_add(self, delta: Any, use_locking: bool = False, name: Any = None, read_value: bool = True) -> Any:
        self._inner.assign_add(self._given(delta))
        return self if read_value else None

    def assign_sub(self, delta: Any, use_locking: bool = False, name: Any = None, read_value: bool = True) -> Any:
        self._inner.assign_sub(self._given(delta))
        return self if read_value else None

    def __getitem__(self, index: Any) -> Part:
        found = super().__getitem__(index)
        return Part(self, index, (renewed(self) if found is self else found)._inner)

    def _given(self, value: Any) -> Any:
        if isinstance(value, Face):
            if value.dtype != self.dtype:
                raise mixed(self.dtype, value.dtype)
            return value._inner
        return constant(value, self.dtype)._inner

    def __repr__(self) -> str:
        shown = _shown(self._inner.numpy())
        return f"<tf.Variable {self.name!r} shape={self.shape} dtype={self.dtype.name}, numpy={shown}>"

    __str__ = __repr__


class Part(Tensor):
    """A part of a Variable: its value when it was read, and what changes it in the Variable."""

    __slots__ = ("_index", "_variable")

    def __init__(self, variable: Variable, index: Any, inner: PlainTensor):
        super().__init__(inner)
        self._variable, self._index = variable, plain(index)

    def assign(self, value: Any, name: Any = None) -> Variable:
        return self._set(value, lambda old, new: new)

    def assign_add(self, delta: Any, name: Any = None) -> Variable:
        return self._set(delta, np.add)

    def assign_sub(self, delta: Any, name: Any = None) -> Variable:
        return self._set(delta, np.subtract)

    def _set(self, value: Any, change: Callable[[Any, Any], Any]) -> Variable:
        """Set the part as TensorFlow does, without broadcasting."""
        given = self._variable._given(value)
        if given.shape != self.shape:
            raise invalid(f"a value of shape {tuple(given.shape)} for a part of shape {tuple(self.shape)}")
        index = map_leaves(lambda i: i.numpy() if isinstance(i, ArrayLike) else i, self._index)
        whole = np.array(self._variable._inner.numpy())
        whole[index] = change(whole[index], given.numpy())
        return self._variable.assign(whole)


_VARIABLES: WeakValueDictionary[int, Variable] = WeakValueDictionary()
_CONSTRAINTS: dict[int, Callable[[Any], Any]] = {}  # by the serial numbers of Variables


class IndexedSlices(Face):
    """`tf.IndexedSlices`."""

    __slots__ = ()

    def __init__(self, values: Any, indices: Any = None, dense_shape: Any = None):
        if not isinstance(values, PlainSlices):
            values = PlainSlices(plain(constant(values)), plain(constant(indices)), dense_shape)
        self._inner = values

    @property
    def values(self) -> Tensor:
        return face(self._inner.values)

    @property
    def indices(self) -> Tensor:
        return face(self._inner.indices)

    @property
    def dense_shape(self) -> Tensor | None:
        shape = self._inner.dense_shape
        return None if shape is None else constant(shape, np.int64)

    def __neg__(self) -> IndexedSlices:
        return IndexedSlices(-self._inner)

    def __repr__(self) -> str:
        return f"IndexedSlices(indices={self.indices}, values={self.values}, dense_shape={self.dense_shape})"


# ---------------------------------------------------------------------------------------------------------------
# from faces to tapec's own, and back
# ---------------------------------------------------------------------------------------------------------------
def plain(structure: Any) -> Any:
    """Return a structure with the tensors behind its faces."""
    if isinstance(structure, Face):
        return structure._inner
    return map_leaves(lambda x: x._inner if isinstance(x, Face) else x, structure)


def face(x: Any) -> Any:
    """A face for a result."""
    if isinstance(x, PlainTensor):
        return Tensor(x)
    if isinstance(x, (tuple, list)):
        return type(x)([face(part) for part in x])
    if isinstance(x, (np.ndarray, np.generic)):
        return Tensor(wrap(x))
    if isinstance(x, PlainVariable):
        known = _VARIABLES.get(id(x))
        return Variable(x) if known is None else known
    return IndexedSlices(x) if isinstance(x, PlainSlices) else x


def renewed(x: Face) -> Tensor:
    """A new tensor of the same value."""
    return Tensor(same(x._inner._tapec_read()))


def faces(structure: Any) -> Any:
    """Return a structure with faces for all leaves."""
    return map_leaves(face, structure)


# -- operands --------------------------------------------------------------------------------------------------------
_ALIKE = OpSet("matmul concatenate stack tensordot einsum convolve")
_COMPARISONS = OpSet("equal not_equal less less_equal greater greater_equal")


def lowered(op: Any, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
    """The operands of an operation: all of one dtype where that matters; arrays take the dtype of tensors."""
    alike = op.kind == "elementwise" or op in _ALIKE
    checked = inputs[1:] if op is ops.where else inputs
    dtype = None
    if alike and len(checked) > 1:
        for x in checked:
            if isinstance(x, Face):
                if dtype is not None and x.dtype != dtype:
                    raise mixed(dtype, x.dtype)
                dtype = x.dtype
    if dtype is None:
        return tuple([x._inner if isinstance(x, Face) else x for x in inputs])
    skipped = len(inputs) - len(checked)
    exact = op in _COMPARISONS and dtype.kind in "iu"
    return tuple([_operand(x, dtype if k >= skipped else None, exact) for k, x in enumerate(inputs)])


def _operand(x: Any, dtype: Any, exact: bool) -> Any:
    """An operand of this dtype; a number as it is, which fits unless the operation takes any, `exact`."""
    if isinstance(x, Face):
        return x._inner
    if dtype is None or isinstance(x, PlainTensor):
        return x
    if type(x) in (int, bool, float, complex) and (dtype.kind in "fc" or type(x) in (int, bool)):
        if not exact:
            check_scalar(x, dtype)
        return x  # weak: it takes the dtype by itself
    return converted(x, dtype)


# -- constants -------------------------------------------------------------------------------------------------------
def constant(value: Any, dtype: Any = None, shape: Any = None, name: Any = None) -> Any:
    """A tensor: Python floats become float32, ints int32; arrays keep their dtype."""
    if type(value) is Tensor and dtype is None and shape is None:
        return value
    found = _constant(value, dtype)
    return found if shape is None else _of_shape(found, sizes(shape))


def _constant(value: Any, dtype: Any) -> Any:
    if isinstance(value, Face):
        return _kept(value, dtype)
    if isinstance(value, PlainTensor):
        return Tensor(value)
    if isinstance(value, (list, tuple)) and any(isinstance(x, Face) for x in value):
        dtypes = [x.dtype for x in value if isinstance(x, Face)]
        return FUNCTIONS[np.stack]([constant(x, dtype or dtypes[0]) for x in value])
    return Tensor(PlainTensor(converted(value, np.dtype(dtype or default_dtype(value)))))


def _of_shape(x: Any, shape: tuple[int, ...]) -> Any:
    """A tensor with its numbers in another shape; one number fills it."""
    if x.shape == shape:
        return x
    return np.broadcast_to(np.reshape(x, ()), shape) if x.shape.num_elements() == 1 else np.reshape(x, shape)


def _kept(value: Face, dtype: Any) -> Any:
    if dtype is not None and np.dtype(dtype) != value.dtype:
        raise invalid(f"a tensor of dtype {value.dtype} where one of {np.dtype(dtype)} is asked for. Fix: tf.cast")
    return Tensor(value._inner._tapec_read()) if isinstance(value, (Variable, IndexedSlices)) else value


def _shown(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return ("\n" if value.ndim > 1 else "") + repr(value)
    return str(value)
