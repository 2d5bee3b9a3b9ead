"""Define `Variable`: a named value that changes by assignment, and that tapes watch when it is read."""

from __future__ import annotations

import itertools
import operator
from typing import Any, NoReturn

import numpy as np

from tapec.errors import InPlaceError, TapeTypeError, TapeValueError, at_user_line
from tapec.ir.text.notebook_hooks import rich
from tapec.ops import ArrayLike
from tapec.ops.core.stand_in import apply
from tapec.ops.layout.copies import COPY
from tapec.trace.classes import around, plain_value, readable, show, wrap
from tapec.trace.dispatch.numpy_calls import of_variables
from tapec.trace.escape.to_plain import to_array
from tapec.trace.perform import record
from tapec.trace.recording_stack import current
from tapec.trace.tensor import Tensor
from tapec.tracebacks import shorten, shortens
from tapec.values.indexed_slices import IndexedSlices

__all__ = ["Variable", "same"]

_serial = itertools.count()
_ndarray, _add, _subtract = np.ndarray, np.add, np.subtract  # names of NumPy take long to look up
_RANK = {"b": 0, "u": 1, "i": 1, "f": 2, "c": 3}  # what is assigned is converted upwards, never down


# -- methods that are those of tensors, for the value of a Variable ---------------------------------------------------
def _unary(method: Any) -> Any:
    """Make an operator with one operand from that of tensors."""

    def call(self: Variable) -> Any:
        try:
            return method(self._tapec_read())
        except BaseException as error:
            shorten(error)
            raise

    return call


def _binary(method: Any) -> Any:
    """Make an operator with two operands from that of tensors."""

    def call(self: Variable, other: Any) -> Any:
        try:
            return method(self._tapec_read(), other)
        except BaseException as error:
            shorten(error)
            raise

    return call


def _method(method: Any) -> Any:
    """Make a method from that of tensors; where that one gives the value itself, it gives a tensor of its own."""

    def call(self: Variable, *args: Any, **kwargs: Any) -> Any:
        try:
            return self._apart(method(self._tapec_read(), *args, **kwargs))
        except BaseException as error:
            shorten(error)
            raise

    call.__name__ = method.__name__
    call.__qualname__ = f"Variable.{method.__name__}"
    call.__doc__ = method.__doc__
    return call


def _property(of_tensors: Any) -> Any:
    """Make a property from that of tensors, likewise."""
    return property(lambda self: self._apart(of_tensors.fget(self._tapec_read())))


def _refusal(symbol: str) -> Any:
    """Make the operator of an assignment such as `+=`, which Variables refuse."""

    @shortens
    def call(self: Variable, other: Any) -> NoReturn:
        raise InPlaceError(
            at_user_line(
                f"`variable {symbol} value` would change Variable {self._name!r} in place. Fix: variable.assign, "
                f"assign_add or assign_sub to change it, or `out = variable {symbol[:-1]} value` for a new tensor"
            )
        )

    return call


class Variable(ArrayLike):
    """Holds a value that is trained: reading it gives a tensor, which tapes watch, and `assign` changes it.

    It computes as an array does: it has the methods and operators of `numpy.ndarray`, and functions of NumPy take it.
    Operators such as `+=` are refused, since they would change it in place.

    Parameters
    ----------
    initial_value : array, number, or callable
        The first value, which is copied; or a function without arguments that returns it.
    trainable : bool, default True
        Whether tapes watch the Variable when it is read.
    name : str or None, default None
        Its name, which the generated code of functions uses. None is "Variable".
    dtype : dtype, default None
        The dtype. None is that of the value.

    Attributes
    ----------
    name : str
        The name, with ":0" behind it, as in TensorFlow.
    trainable : bool
        Whether tapes watch the Variable when it is read.

    Examples
    --------
    >>> import tapec
    >>> w = tapec.Variable(3.0)
    >>> with tapec.GradientTape() as tape:
    ...     loss = w * w
    >>> tape.gradient(loss, w)
    tapec.Tensor(6.0, shape=(), dtype=float64)
    >>> w.assign_sub(0.5)
    <tapec.Variable 'Variable:0' shape=() dtype=float64, value=2.5>

    See Also
    --------
    tapec.Tensor : values that do not change
    tapec.GradientTape : watches Variables
    """

    __slots__ = ("__weakref__", "_dtype", "_name", "_serial", "_shape", "_tensor", "_trainable")
    _rank = 3

    def __init__(self, initial_value: Any, trainable: bool = True, name: str | None = None, dtype: Any = None):
        if callable(initial_value):
            initial_value = initial_value()
        value = plain_value(initial_value, dtype)
        self._shape, self._dtype = value.shape, value.dtype  # for good
        self._hold(value)
        self._trainable = bool(trainable)
        self._serial = next(_serial)
        self._name = f"{name or 'Variable'}:0"

    def __init_subclass__(cls) -> None:
        readable(cls)

    # -- reading ------------------------------------------------------------------------------------------------
    def _tapec_read(self) -> Tensor:
        """Return the current value as a tensor, and tell what records that it was read."""
        tensor = self._tensor
        rec = current()
        if rec is not None and tensor._mark is not rec.mark:
            for tape in rec.tapes:
                tape.accessed(self, tensor)
        return tensor

    _operand = _tapec_read

    def _apart(self, found: Any) -> Any:
        """Return what a function gives. One that leaves the value as it is gives a view: a tensor of its own, which is
        not watched when the Variable is read again.
        """
        return _with_value(found, found._value) if found is self._tensor else found

    @property
    def _value(self) -> Any:
        return self._tapec_read()._value

    def read_value(self) -> Tensor:
        """Return the current value, as a tensor of its own.

        Returns
        -------
        Tensor
            The value; a later `assign` does not change it.

        Examples
        --------
        >>> import tapec
        >>> tapec.Variable(3.0).read_value()
        tapec.Tensor(3.0, shape=(), dtype=float64)

        See Also
        --------
        tapec.Variable.numpy : as a plain array
        """
        return same(self._tapec_read())

    def value(self) -> Tensor:
        """Return the current value, as `read_value` does.

        Returns
        -------
        Tensor
            The value; a later `assign` does not change it.

        Examples
        --------
        >>> import tapec
        >>> tapec.Variable(3.0).value()
        tapec.Tensor(3.0, shape=(), dtype=float64)

        See Also
        --------
        tapec.Variable.read_value : the same
        """
        return self.read_value()

    def numpy(self) -> Any:
        """Return the current value, as a plain array or number.

        No tape records what is computed from it.

        Returns
        -------
        numpy.ndarray or NumPy scalar
            The value, an array of its own.

        Examples
        --------
        >>> import tapec
        >>> tapec.Variable([1.0, 2.0]).numpy()
        array([1., 2.])

        See Also
        --------
        tapec.Variable.read_value : as a tensor
        """
        rec = current()
        if rec is not None and rec.trace is not None:
            rec.trace.require_retrace(f"it looks at the values of Variable {self._name!r}")
        return self._tensor.numpy()

    @property
    def shape(self) -> tuple[int, ...]:
        return self._shape

    @property
    def dtype(self) -> np.dtype:
        return self._dtype

    @property
    def name(self) -> str:
        return self._name

    @property
    def trainable(self) -> bool:
        """Return whether tapes watch the Variable when it is read."""
        return self._trainable

    # -- assignment -----------------------------------------------------------------------------------------------
    def assign(self, value: Any) -> Variable:
        """Give the Variable a new value; what was computed before keeps the old one.

        Parameters
        ----------
        value : array, number, Tensor or Variable
            The value, of the same shape. It is copied, and no gradient flows through it.

        Returns
        -------
        Variable
            The Variable itself.

        Raises
        ------
        TapeValueError
            If the value has another shape.
        TapeTypeError
            If the value does not fit the dtype, as a complex number in a real Variable, or is no number.
        InPlaceError
            If a function that is traced assigns.

        Examples
        --------
        >>> import tapec
        >>> w = tapec.Variable([1.0, 2.0])
        >>> w.assign([3.0, 4.0])
        <tapec.Variable 'Variable:0' shape=(2,) dtype=float64, value=[3., 4.]>

        See Also
        --------
        tapec.Variable.assign_add : adds to the value
        tapec.Variable.assign_sub : subtracts from it
        """
        try:
            self._set(plain_value(_plain(value, self)), "assign")
        except BaseException as error:
            shorten(error)
            raise
        return self

    def assign_add(self, delta: Any) -> Variable:
        """Add to the value of the Variable.

        Parameters
        ----------
        delta : array, number, Tensor, Variable or IndexedSlices
            What to add, of a shape that broadcasts. IndexedSlices change their rows alone.

        Returns
        -------
        Variable
            The Variable itself.

        Raises
        ------
        TapeValueError
            If the shapes do not fit.
        TapeTypeError
            If the sum does not fit the dtype, as a complex number in a real Variable.
        InPlaceError
            If a function that is traced assigns.

        Examples
        --------
        >>> import tapec
        >>> tapec.Variable([1.0, 2.0]).assign_add(1.0)
        <tapec.Variable 'Variable:0' shape=(2,) dtype=float64, value=[2., 3.]>

        See Also
        --------
        tapec.Variable.assign_sub : subtracts
        """
        return self._move(delta, _add, "assign_add")

    def assign_sub(self, delta: Any) -> Variable:
        """Subtract from the value of the Variable.

        Parameters
        ----------
        delta : array, number, Tensor, Variable or IndexedSlices
            What to subtract, of a shape that broadcasts. IndexedSlices change their rows alone.

        Returns
        -------
        Variable
            The Variable itself.

        Raises
        ------
        TapeValueError
            If the shapes do not fit.
        TapeTypeError
            If the difference does not fit the dtype, as a complex number in a real Variable.
        InPlaceError
            If a function that is traced assigns.

        Examples
        --------
        A step of gradient descent:

        >>> import tapec
        >>> w = tapec.Variable(3.0)
        >>> with tapec.GradientTape() as tape:
        ...     loss = w * w
        >>> w.assign_sub(0.1 * tape.gradient(loss, w))
        <tapec.Variable 'Variable:0' shape=() dtype=float64, value=2.4>

        See Also
        --------
        tapec.Variable.assign_add : adds
        """
        return self._move(delta, _subtract, "assign_sub")

    def _move(self, delta: Any, ufunc: np.ufunc, what: str) -> Variable:
        """Give the Variable the value that a ufunc computes from its own and another one."""
        try:
            old = self._tensor._value
            is_tensor = type(delta) is Tensor
            if not is_tensor and isinstance(delta, IndexedSlices):
                if delta.shape != self._shape:
                    raise TapeValueError(at_user_line(_misfit(self, delta.shape)))
                new = old.copy()
                ufunc.at(new, delta.indices._value, delta.values._value)
            else:
                change = delta._value if is_tensor else _plain(delta, self)
                try:
                    new = ufunc(old, change)
                except ValueError as e:  # the shapes do not broadcast
                    raise TapeValueError(at_user_line(_misfit(self, np.shape(change)))) from e
            self._set(new, what)
        except BaseException as error:
            shorten(error)
            raise
        return self

    def _set(self, new: Any, what: str) -> None:
        """Take over a value that nobody else holds."""
        rec = current()
        if rec is not None and rec.trace is not None:
            raise InPlaceError(
                at_user_line(
                    f"{what} on Variable {self._name!r} inside a traced function would happen when it is traced, and "
                    f"not when it runs. Fix: return the new value, and assign it outside"
                )
            )
        if new.shape != self._shape:
            raise TapeValueError(at_user_line(_misfit(self, new.shape)))
        if new.dtype is not self._dtype and new.dtype != self._dtype:
            if _RANK[new.dtype.kind] > _RANK[self._dtype.kind]:
                raise TapeTypeError(
                    at_user_line(
                        f"a value of dtype {new.dtype} cannot be assigned to Variable {self._name!r} of dtype "
                        f"{self._dtype}, and keep all of it. Fix: a Variable of that dtype, or `.astype`"
                    )
                )
            new = new.astype(self._dtype)
        self._hold(new)

    def _hold(self, value: Any) -> None:
        """Take over a value, as a read-only array: what is read from a Variable, and views of that, cannot be
        written."""
        if type(value) is _ndarray:
            value.setflags(False)  # type: ignore[call-arg]  # by place it takes a third of the time
        self._tensor = around(value)

    # -- as an array ------------------------------------------------------------------------------------------------
    def _apply(self, op: Any, inputs: tuple[Any, ...], params: tuple[tuple[str, Any], ...]) -> Any:
        return apply(op, tuple([x._tapec_read() if isinstance(x, Variable) else x for x in inputs]), params)

    __array_ufunc__ = Tensor.__array_ufunc__
    __array_function__ = of_variables
    _ufunc = Tensor._ufunc
    __array__ = to_array

    def __bool__(self) -> bool:
        return bool(self._tapec_read())

    def __float__(self) -> float:
        return float(self._tapec_read())

    def __int__(self) -> int:
        return int(self._tapec_read())

    def __index__(self) -> int:
        return operator.index(self._tapec_read())

    def __complex__(self) -> complex:
        return complex(self._tapec_read())

    # -- operators: those of tensors, on the value -----------------------------------------------------------------
    __add__ = _binary(Tensor.__add__)
    __sub__ = _binary(Tensor.__sub__)
    __mul__ = _binary(Tensor.__mul__)
    __truediv__ = _binary(Tensor.__truediv__)
    __pow__ = _binary(Tensor.__pow__)
    __matmul__ = _binary(Tensor.__matmul__)
    __radd__ = _binary(Tensor.__radd__)
    __rsub__ = _binary(Tensor.__rsub__)
    __rmul__ = _binary(Tensor.__rmul__)
    __rtruediv__ = _binary(Tensor.__rtruediv__)
    __rpow__ = _binary(Tensor.__rpow__)
    __rmatmul__ = _binary(Tensor.__rmatmul__)
    __lt__ = _binary(Tensor.__lt__)
    __le__ = _binary(Tensor.__le__)
    __gt__ = _binary(Tensor.__gt__)
    __ge__ = _binary(Tensor.__ge__)
    __eq__ = _binary(Tensor.__eq__)
    __ne__ = _binary(Tensor.__ne__)
    __hash__ = ArrayLike.__hash__  # it refuses: == compares elements
    __neg__ = _unary(Tensor.__neg__)
    __pos__ = _unary(Tensor.__pos__)
    __abs__ = _unary(Tensor.__abs__)
    __invert__ = _unary(Tensor.__invert__)

    # -- methods and properties of numpy.ndarray: those of tensors ----------------------------------------------
    def __getitem__(self, index: Any) -> Any:
        try:
            return self._apart(self._tapec_read()[index])
        except BaseException as error:
            shorten(error)
            raise

    sum = Tensor.sum
    mean = Tensor.mean
    prod = Tensor.prod
    max = Tensor.max
    min = Tensor.min
    any = Tensor.any
    all = Tensor.all
    argmax = Tensor.argmax
    argmin = Tensor.argmin
    var = Tensor.var
    std = Tensor.std
    cumsum = Tensor.cumsum
    cumprod = Tensor.cumprod
    reshape = _method(Tensor.reshape)
    ravel = _method(Tensor.ravel)
    flatten = Tensor.flatten
    squeeze = _method(Tensor.squeeze)
    transpose = _method(Tensor.transpose)
    swapaxes = _method(Tensor.swapaxes)
    repeat = Tensor.repeat
    diagonal = _method(Tensor.diagonal)
    trace = Tensor.trace
    astype = _method(Tensor.astype)
    conjugate = _method(Tensor.conjugate)
    conj = _method(Tensor.conj)
    clip = Tensor.clip
    round = Tensor.round
    copy = Tensor.copy
    dot = Tensor.dot
    argsort = Tensor.argsort
    argpartition = Tensor.argpartition
    sort = Tensor.sort
    partition = Tensor.partition
    searchsorted = Tensor.searchsorted
    take = Tensor.take
    choose = Tensor.choose
    compress = Tensor.compress
    nonzero = Tensor.nonzero
    T = _property(Tensor.T)
    mT = _property(Tensor.mT)
    real = _property(Tensor.real)
    imag = _property(Tensor.imag)

    # -- changes in place, which it refuses -------------------------------------------------------------------------
    __iadd__ = _refusal("+=")
    __isub__ = _refusal("-=")
    __imul__ = _refusal("*=")
    __itruediv__ = _refusal("/=")
    __ifloordiv__ = _refusal("//=")
    __imod__ = _refusal("%=")
    __ipow__ = _refusal("**=")
    __imatmul__ = _refusal("@=")
    __iand__ = _refusal("&=")
    __ior__ = _refusal("|=")
    __ixor__ = _refusal("^=")
    __ilshift__ = _refusal("<<=")
    __irshift__ = _refusal(">>=")

    def __setitem__(self, index: Any, value: Any) -> NoReturn:
        raise InPlaceError(
            at_user_line(
                f"elements of Variable {self._name!r} cannot be written one by one. "
                f"Fix: variable.assign(value) with all of them"
            )
        )

    # -- text, copies, pickles ------------------------------------------------------------------------------------
    def _repr_html_(self) -> str:
        return rich("tensor_html", self)

    def __repr__(self) -> str:
        return (
            f"<tapec.Variable {self._name!r} shape={self.shape} dtype={self.dtype.name}, "
            f"value={show(self._tensor._value)}>"
        )

    def __format__(self, spec: str) -> str:
        return format(self._tensor, spec) if spec else repr(self)

    def __copy__(self) -> Variable:
        return self.__deepcopy__({})

    def __deepcopy__(self, memo: Any) -> Variable:
        return Variable(self._tensor._value, self._trainable, self._name.removesuffix(":0"))

    def __reduce__(self) -> Any:
        return type(self), (self._tensor._value, self._trainable, self._name.removesuffix(":0"))


readable(Variable)


def same(tensor: Tensor) -> Tensor:
    """Return a new tensor of the same value, recorded as a copy.

    Values never change, so only that of a Variable is copied.
    """
    value = tensor._value
    return _with_value(tensor, value.copy() if type(value) is np.ndarray and not value.flags.writeable else value)


def _with_value(tensor: Tensor, value: Any) -> Tensor:
    out = wrap(value)
    rec = current()
    if rec is not None:
        record(rec, COPY, (tensor,), (), out)
    return out


def _plain(value: Any, variable: Variable) -> Any:
    """Return the value to assign; nothing flows through it."""
    if type(value) is Tensor:
        return value._value
    if isinstance(value, Variable):
        return value._tensor._value
    if isinstance(value, ArrayLike):
        return value._tapec_read()._value
    if isinstance(value, (str, bytes)) or value is None:
        raise TapeTypeError(at_user_line(f"{value!r} cannot be assigned to Variable {variable.name!r}"))
    return plain_value(value)


def _misfit(variable: Variable, shape: tuple[int, ...]) -> str:
    return (
        f"a value of shape {shape} does not fit Variable {variable.name!r} of shape {variable.shape}. "
        f"Fix: give it that shape, or make a new Variable"
    )
