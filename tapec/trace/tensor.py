"""Define `Tensor`: the array a user computes with while something records. It has its value at once.

The class body names every method and property, and after a name stands the function that implements it, or the factory
that makes it; the imports tell its file. Operators that are not here (`//`, `%`, `&`, ...), `ndim`, `size` and `len`
are as in `ArrayLike`. The files that implement the methods make and test for tensors too: they find the class in
`trace/classes.py`.
"""

from __future__ import annotations

import functools
import math
import operator
import sys
from typing import Any

import numpy as np

from tapec.errors import is_user_file
from tapec.ir import Op, type_of
from tapec.ir.text.notebook_hooks import rich
from tapec.ir.types import NUMBERS
from tapec.ops import ArrayLike
from tapec.ops.core.define import as_operand, holds_stand_in
from tapec.trace.classes import TensorBase, is_out_of_date, plain_value, set_class, set_raw_value, show
from tapec.trace.dispatch.getitem import getitem, nonzero
from tapec.trace.dispatch.numpy_calls import (
    array_function,
    array_method,
    array_property,
    array_ufunc,
    ufunc_method_or_out,
)
from tapec.trace.dispatch.operators import divided, forward, reflected, unary
from tapec.trace.escape import to_plain
from tapec.trace.escape.fix_hints import without_attribute
from tapec.trace.escape.printing import looked_at, to_format, to_repr, to_str
from tapec.trace.inplace import numpy_writers as writers
from tapec.trace.inplace.assign import assign, augmented, own, writable, write, write_into
from tapec.trace.inplace.ufunc_at import gathered
from tapec.trace.inplace.views import read_anew, up_to_date
from tapec.trace.perform import perform
from tapec.trace.recording_stack import captures_now, current, traces

__all__ = ["LAID_OUT", "Tensor"]

_new = object.__new__
_ndarray = np.ndarray
_OF_WHOLE_NUMBERS = frozenset({"bit_count", "bit_length", "denominator", "is_integer", "numerator", "to_bytes"})
LAID_OUT = "it asks how an array lies in memory"


def _never(tensor: Any) -> bool:
    return False


class Tensor(TensorBase):
    """Holds an array that tapes can watch.

    It has the attributes and methods of `numpy.ndarray`, and functions of NumPy take it. It has its value at once,
    also while something records.

    Parameters
    ----------
    value : array, number, or nested list
        The value, which is copied. Tensors in it stay recorded.
    dtype : dtype, default None
        The dtype. None is that of the value.

    Attributes
    ----------
    weak : bool
        Whether the value is a number of Python's, which takes the precision of what it meets.

    Raises
    ------
    TypeError
        If the value holds something that is no number.

    Examples
    --------
    >>> import numpy as np, tapec
    >>> x = tapec.constant([1.0, 2.0])
    >>> np.sum(x * x)
    tapec.Tensor(5.0, shape=(), dtype=float64)

    See Also
    --------
    tapec.constant : makes one
    tapec.Variable : a value that changes
    """

    __slots__ = ()
    _rank = 2

    def __new__(cls, value: Any, dtype: Any = None) -> Tensor:
        if isinstance(value, _ndarray) and value.dtype == object and holds_stand_in(value.ravel().tolist()):
            value = as_operand(value)
        if isinstance(value, (ArrayLike, list, tuple)) and holds_stand_in(value):
            made = as_operand(value)  # recorded tensors stay recorded
            return made.copy("K") if dtype is None or made.dtype == np.dtype(dtype) else made.astype(dtype)
        self = _new(cls)
        self._value = plain_value(value, dtype)
        self._mark = None
        rec = current()
        self._link = None if rec is None or rec.trace is None else rec.trace.token
        return self

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        """For code of the user's that is traced, the class of what the tensor stands for: `match` asks for it."""
        captures = captures_now()
        if captures is None:
            return Tensor
        file = sys._getframe(1).f_code.co_filename
        if file != functools.__file__ and not is_user_file(file):  # functools.singledispatch asks for its users
            return Tensor
        return captures.made(type(captures.inputs.asked_for_class(self)))

    # -- NumPy's protocols and what ops ask for -----------------------------------------------------------------------
    __array_ufunc__ = array_ufunc
    __array_function__ = array_function
    __array__ = to_plain.to_array
    _ufunc = ufunc_method_or_out
    _gathered = gathered
    _own = own
    _writable = writable
    _assign = assign
    _write_into = write_into
    _tapec_read = up_to_date

    def __getattr__(self, name: str) -> Any:
        if (name == "_value" or name == "_mark") and is_out_of_date(self):
            read_anew(self)
            return getattr(self, name)
        if type(self._value) is int and name in _OF_WHOLE_NUMBERS and traces(self):
            return getattr(to_plain.to_int(self), name)
        raise AttributeError(without_attribute(name), name=name, obj=self)

    def __array_namespace__(self, *, api_version: Any = None) -> Any:
        return np

    def _apply(self, op: Op, inputs: tuple[Any, ...], params: tuple[tuple[str, Any], ...]) -> Any:
        return perform(op, inputs, params)

    def _differs(self) -> bool:
        return any([getattr(trace, "differs", _never)(self) for trace in traces(self)])

    def _told(self) -> Any:
        return looked_at(self._tapec_read())

    def _constant(self, value: Any) -> Tensor:
        return Tensor(value)

    # -- operators ----------------------------------------------------------------------------------------------------
    __add__ = forward(np.add, operator.add)
    __sub__ = forward(np.subtract, operator.sub)
    __mul__ = forward(np.multiply, operator.mul)
    __truediv__ = forward(np.divide, operator.truediv)
    __pow__ = forward(np.power, operator.pow)
    __matmul__ = forward(np.matmul, operator.matmul)
    __radd__ = reflected(np.add, operator.add)
    __rsub__ = reflected(np.subtract, operator.sub)
    __rmul__ = reflected(np.multiply, operator.mul)
    __rtruediv__ = reflected(np.divide, operator.truediv)
    __rpow__ = reflected(np.power, operator.pow)
    __rmatmul__ = reflected(np.matmul, operator.matmul)
    __lt__ = forward(np.less, operator.lt)
    __le__ = forward(np.less_equal, operator.le)
    __gt__ = forward(np.greater, operator.gt)
    __ge__ = forward(np.greater_equal, operator.ge)
    __eq__ = forward(np.equal, operator.eq)
    __ne__ = forward(np.not_equal, operator.ne)
    __hash__ = to_plain.to_hash
    _tapec_key = to_plain.to_key
    __divmod__ = divided(False)
    __rdivmod__ = divided(True)
    __neg__ = unary(np.negative)
    __pos__ = unary(np.positive)
    __abs__ = unary(np.absolute)
    __invert__ = unary(np.invert)

    # -- elements, and changes in place -------------------------------------------------------------------------------
    __getitem__ = getitem
    __setitem__ = write
    __contains__ = to_plain.contains
    __iadd__ = augmented(np.add, operator.add)
    __isub__ = augmented(np.subtract, operator.sub)
    __imul__ = augmented(np.multiply, operator.mul)
    __itruediv__ = augmented(np.divide, operator.truediv)
    __ifloordiv__ = augmented(np.floor_divide, operator.floordiv)
    __imod__ = augmented(np.remainder, operator.mod)
    __ipow__ = augmented(np.power, operator.pow)
    __imatmul__ = augmented(np.matmul, operator.matmul)
    __iand__ = augmented(np.bitwise_and, operator.and_)
    __ior__ = augmented(np.bitwise_or, operator.or_)
    __ixor__ = augmented(np.bitwise_xor, operator.xor)
    __ilshift__ = augmented(np.left_shift, operator.lshift)
    __irshift__ = augmented(np.right_shift, operator.rshift)
    fill = writers.fill
    put = writers.put_method
    sort = writers.sort
    partition = writers.partition
    resize = writers.refused("resize", "np.resize makes a new array")
    byteswap = writers.refused("byteswap", "`.numpy().byteswap()`")
    setflags = writers.refused("setflags", "take a copy, `x.copy()`, of what must not change")

    # -- shape, dtype, memory -----------------------------------------------------------------------------------------
    @property
    def shape(self) -> tuple[int, ...]:
        return () if type(self._value) in NUMBERS else self._value.shape

    @shape.setter
    def shape(self, shape: Any) -> None:
        writers.set_shape(self, shape)

    @property
    def dtype(self) -> np.dtype:
        value = self._value
        if type(value) is _ndarray:
            return value.dtype
        return type_of(value).dtype if type(value) in NUMBERS else value.dtype

    @dtype.setter
    def dtype(self, dtype: Any) -> None:
        raise writers.refusal("dtype = ...", "`y = y.astype(dtype)`")

    @property
    def weak(self) -> bool:
        """Return whether the value is a number of Python's, which takes the precision of what it meets."""
        return type(self._value) in NUMBERS

    @property
    def strides(self) -> tuple[int, ...]:
        self._laid_out()
        return np.asarray(self._value).strides

    @property
    def flags(self) -> Any:
        self._laid_out()
        return np.asarray(self._value).flags

    def _lies_in(self, order: str, is_reshaped: bool = False) -> bool:
        """Return whether the elements lie in this order; `is_reshaped`: of what depends on it the log knows by then."""
        if self.ndim > 1 and not is_reshaped:
            for trace in traces(self):
                trace.log.ask_for_order()
        flags = np.asarray(self._value).flags
        return flags.f_contiguous if order == "F" else flags.c_contiguous

    def _lie_in(self, order: str) -> Any:
        value = self._value
        if type(value) is _ndarray:
            set_raw_value(self, np.asarray(value, order=order))  # type: ignore[call-overload]
        return self

    def _lie_as(self, other: Any) -> Any:
        """Let the elements lie in memory in the order in which those of another tensor of this shape lie."""
        value, like = self._value, np.asarray(other._value)
        if type(value) is _ndarray and not like.flags.c_contiguous:
            laid = np.empty_like(like, value.dtype)
            laid[...] = value
            set_raw_value(self, laid)
        return self

    def _laid_out(self) -> None:
        """Let traced functions record anew at each call: how an array lies in memory is no part of a structure."""
        for trace in traces(self):
            trace.require_retrace(LAID_OUT)

    T = array_property(np.transpose)
    mT = array_property(np.swapaxes, -1, -2)
    real = property(lambda self: np.real(self), writers.set_real)
    imag = property(lambda self: np.imag(self), writers.set_imag)
    flat = property(writers.Flat, writers.set_flat)
    base = property(writers.view_base)
    view = writers.view
    device = property(lambda self: "cpu")

    # -- methods of numpy.ndarray -------------------------------------------------------------------------------------
    sum = array_method("sum")
    mean = array_method("mean")
    prod = array_method("prod")
    max = array_method("max")
    min = array_method("min")
    any = array_method("any")
    all = array_method("all")
    argmax = array_method("argmax")
    argmin = array_method("argmin")
    var = array_method("var")
    std = array_method("std")
    cumsum = array_method("cumsum")
    cumprod = array_method("cumprod")
    reshape = array_method("reshape")
    ravel = array_method("ravel")
    flatten = array_method("flatten")
    squeeze = array_method("squeeze")
    transpose = array_method("transpose")
    swapaxes = array_method("swapaxes")
    repeat = array_method("repeat")
    diagonal = array_method("diagonal")
    trace = array_method("trace")
    astype = array_method("astype")
    conjugate = array_method("conjugate")
    conj = array_method("conj")
    clip = array_method("clip")
    round = array_method("round")
    copy = array_method("copy")
    dot = array_method("dot")
    argsort = array_method("argsort")
    argpartition = array_method("argpartition")
    searchsorted = array_method("searchsorted")
    take = array_method("take")
    choose = array_method("choose")
    compress = array_method("compress")
    nonzero = nonzero

    # -- plain numbers, arrays and text -------------------------------------------------------------------------------
    __bool__ = to_plain.to_bool
    __int__ = to_plain.to_int
    __index__ = to_plain.to_index
    __float__ = to_plain.to_float
    __complex__ = to_plain.to_complex
    __floor__ = to_plain.to_whole(math.floor, np.floor)
    __ceil__ = to_plain.to_whole(math.ceil, np.ceil)
    __trunc__ = to_plain.to_whole(math.trunc, np.trunc)
    __round__ = to_plain.round_to
    as_integer_ratio = to_plain.as_integer_ratio
    item = to_plain.to_item
    numpy = to_plain.to_value
    tolist = to_plain.to_list
    tobytes = to_plain.to_bytes
    tofile = writers.of_value("tofile")
    dump = writers.of_value("dump")
    dumps = writers.of_value("dumps")
    __str__ = to_str
    __format__ = to_format

    def __repr__(self) -> str:
        return to_repr(self) or f"tapec.Tensor({show(self._value)}, shape={self.shape}, dtype={self.dtype.name})"

    def _repr_html_(self) -> str:
        return rich("tensor_html", self)

    def __reduce__(self) -> Any:
        return Tensor, (self.numpy(),)

    def __copy__(self) -> Tensor:
        return self if type(self._value) in NUMBERS else self.copy("K")

    def __deepcopy__(self, memo: Any) -> Tensor:
        return self.__copy__()

    # -- elements of object arrays: NumPy calls these for `np.sin(np.array([a, b]))` ----------------------------------
    arccos = to_plain.object_loop(np.arccos)
    arccosh = to_plain.object_loop(np.arccosh)
    arcsin = to_plain.object_loop(np.arcsin)
    arcsinh = to_plain.object_loop(np.arcsinh)
    arctan = to_plain.object_loop(np.arctan)
    arctan2 = to_plain.object_loop(np.arctan2)
    arctanh = to_plain.object_loop(np.arctanh)
    cbrt = to_plain.object_loop(np.cbrt)
    cos = to_plain.object_loop(np.cos)
    cosh = to_plain.object_loop(np.cosh)
    deg2rad = to_plain.object_loop(np.deg2rad)
    degrees = to_plain.object_loop(np.degrees)
    exp = to_plain.object_loop(np.exp)
    exp2 = to_plain.object_loop(np.exp2)
    expm1 = to_plain.object_loop(np.expm1)
    fabs = to_plain.object_loop(np.fabs)
    fmod = to_plain.object_loop(np.fmod)
    hypot = to_plain.object_loop(np.hypot)
    log = to_plain.object_loop(np.log)
    log10 = to_plain.object_loop(np.log10)
    log1p = to_plain.object_loop(np.log1p)
    log2 = to_plain.object_loop(np.log2)
    logical_xor = to_plain.object_loop(np.logical_xor)
    rad2deg = to_plain.object_loop(np.rad2deg)
    radians = to_plain.object_loop(np.radians)
    rint = to_plain.object_loop(np.rint)
    sin = to_plain.object_loop(np.sin)
    sinh = to_plain.object_loop(np.sinh)
    sqrt = to_plain.object_loop(np.sqrt)
    tan = to_plain.object_loop(np.tan)
    tanh = to_plain.object_loop(np.tanh)


set_class(Tensor)
