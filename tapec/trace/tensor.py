"""Define `Tensor`: the array a user computes with while something records. It has its value at once.

Recording one operation is the hot path of the tape. A record is the tuple
    (op, inputs, params, output, code object, instruction offset[, tensor of the value before an in-place change])
appended to the list of every recording that watches one of the inputs; in-place changes are appended to all of them.

Answers to `float()` and NumPy's `__array__` stand in `escape/to_plain.py`, changes in place in `inplace/`. The files
that give `Tensor` its methods are listed in `tapec/trace/__init__.py`, in the order that counts.
"""

from __future__ import annotations

from sys import _getframe
from types import CodeType
from typing import Any

import numpy as np

from tapec.errors import UnsupportedError, at_user_line, is_user_file, note_user_line
from tapec.ir import Op, type_of
from tapec.ir.notebook_hooks import rich
from tapec.ir.types import NUMBERS
from tapec.ops import UFUNCS, ArrayLike
from tapec.ops.core.define import WEAK, as_data, as_operand, holds_stand_in
from tapec.ops.numpy_calls.ufunc_methods import ufunc_method
from tapec.trace.inplace.shared_memory import share
from tapec.trace.recording_stack import Mark, Recorder, current, traces

__all__ = [
    "HOLDING",
    "LAID_OUT",
    "READABLE",
    "Tensor",
    "Unread",
    "operand_values",
    "perform",
    "plain_value",
    "raw_value",
    "readable",
    "record",
    "record_change",
    "set_raw_value",
    "unwrap",
    "user_position",
    "wrap",
]

_new = object.__new__
_ndarray = np.ndarray
_STRONG = frozenset({np.float64, np.int64, np.complex128})  # what Python's numbers become in NumPy
NUMERIC = frozenset("fciub")
PLAIN = frozenset(
    NUMBERS
    | {np.bool_, np.complex64, np.complex128}
    | {np.float64, np.float32, np.float16, np.longdouble}
    | {np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64}
)


# NumPy's mean, var and std of object arrays end in `y.dtype.type(y)` if y has a dtype: a tensor would become a number
_METHODS: Any = np._core._methods  # type: ignore[attr-defined]
STD = _METHODS._std.__code__
MEANS = frozenset([_METHODS._mean.__code__, _METHODS._var.__code__, STD])


READABLE: set[type] = set()  # of what has the value of a tensor when it is an operand: Variables

LAID_OUT = "it asks how an array lies in memory"


def _never(tensor: Any) -> bool:
    return False


class Tensor(ArrayLike):
    """An array that tapes can watch. It has the attributes and methods of `numpy.ndarray`; functions of NumPy take it.

    >>> import numpy as np, tapec
    >>> x = tapec.constant([1.0, 2.0])
    >>> np.sum(x * x)
    tapec.Tensor(5.0, shape=(), dtype=float64)
    """

    __slots__ = ("__weakref__", "_link", "_mark", "_value")
    _rank = 2

    _value: Any
    _mark: Mark | None  # the recordings that watch it
    _link: Any  # who shares its memory (`views.Link`), or the token of the trace in which it was made unwatched

    def __new__(cls, value: Any, dtype: Any = None) -> Tensor:
        if isinstance(value, _ndarray) and value.dtype == object and holds_stand_in(value.ravel().tolist()):
            value = as_operand(value)
        if isinstance(value, (ArrayLike, list, tuple)) and holds_stand_in(value):
            made = as_operand(value)  # recorded tensors stay recorded
            return made.copy() if dtype is None or made.dtype == np.dtype(dtype) else made.astype(dtype)
        self = _new(cls)
        self._value = plain_value(value, dtype)
        self._mark = None
        rec = current()
        self._link = None if rec is None or rec.trace is None else rec.trace.token
        return self

    @property
    def shape(self) -> tuple[int, ...]:
        return () if type(self._value) in NUMBERS else self._value.shape

    @property
    def dtype(self) -> np.dtype:
        value = self._value
        if type(value) is _ndarray:
            return value.dtype
        if self._mark is not None and _getframe(1).f_code in MEANS:
            self._will_be_divided(_getframe(1))
            raise AttributeError("dtype")
        return type_of(value).dtype if type(value) in NUMBERS else value.dtype

    @property
    def weak(self) -> bool:
        """Is it a number of Python's, which takes the precision of what it meets?"""
        return type(self._value) in NUMBERS

    @property
    def strides(self) -> tuple[int, ...]:
        self._laid_out()
        return np.asarray(self._value).strides

    @property
    def flags(self) -> Any:
        self._laid_out()
        return np.asarray(self._value).flags

    def _lies_in(self, order: str) -> bool:
        flags = np.asarray(self._value).flags
        return flags.f_contiguous if order == "F" else flags.c_contiguous

    def _laid_out(self) -> None:
        """How it lies in memory is no part of a structure."""
        for trace in traces(self):
            trace.unsettle(LAID_OUT)

    def _apply(self, op: Op, inputs: tuple[Any, ...], params: tuple[tuple[str, Any], ...]) -> Any:
        return perform(op, inputs, params)

    _ufunc = ufunc_method

    def _differs(self) -> bool:
        return any([getattr(trace, "differs", _never)(self) for trace in traces(self)])

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if kwargs or method != "__call__":
            return self._ufunc(ufunc, method, inputs, kwargs)
        op = UFUNCS.get(ufunc)
        if op is None or op.multi:
            return self._ufunc(ufunc, method, inputs, kwargs)
        values = []
        arrays = False
        tensor = self
        for x in inputs:  # as `operand_values` has it, without the call, which each np.sin(x) would pay for
            kind = type(x)
            if kind is Tensor:
                tensor = x
                values.append(x._value)
            elif kind is _ndarray and x.dtype.kind in NUMERIC:
                values.append(x)
                arrays = True
            elif kind in PLAIN:
                values.append(x)
            elif kind in READABLE:
                tensor = x._tapec_read()
                read = list(inputs)
                read[len(values)] = tensor
                inputs = tuple(read)
                values.append(tensor._value)
            else:
                return perform(op, inputs, ())
        out = _new(Tensor)
        try:
            value = ufunc(*values)
            out._value = as_weak(values, value) if type(value) in _STRONG and ufunc in WEAK else value
        except Exception as error:
            note_user_line(error)
            raise
        out._link = None
        rec = current()
        if rec is None:
            out._mark = None
        elif rec.append is not None and tensor._mark is rec.mark:  # as `record` has it, without the call
            if arrays:
                inputs = as_seen(rec, inputs)
            code, offset = user_position()
            rec.append((op, inputs, (), out, code, offset))
            out._mark = rec.mark
        else:
            record(rec, op, inputs, (), out)
        return out

    def __repr__(self) -> str:
        return f"tapec.Tensor({show(self._value)}, shape={self.shape}, dtype={self.dtype.name})"

    def _repr_html_(self) -> str:
        return rich("tensor_html", self)

    def __reduce__(self) -> Any:
        return Tensor, (self.numpy(),)

    def __copy__(self) -> Tensor:
        return self.copy()

    def __deepcopy__(self, memo: Any) -> Tensor:
        return self.copy()

    def _constant(self, value: Any) -> Tensor:
        return Tensor(value)

    def _will_be_divided(self, frame: Any) -> None:
        """NumPy's mean has asked for the dtype of a sum, and divides it next; the root in std does not."""
        if frame.f_code is not STD:
            self.__class__ = Total


class Total(Tensor):
    """The sum of elements of which NumPy is about to take the mean. It divides by a count, which is no int64."""

    __slots__ = ()

    def __truediv__(self, count: Any) -> Tensor:
        self.__class__ = Tensor  # type: ignore[assignment]
        return self / (int(count) if type(count) is np.intp else count)


HOLDING: set[type] = {Tensor, _ndarray}  # lists that begin with these hold operands


def readable(kind: type) -> None:
    """Let the objects of a class be operands, as Variables are: `_tapec_read` gives the tensor that they stand for."""
    READABLE.add(kind)
    HOLDING.add(kind)


def show(value: Any) -> str:
    return np.array2string(value, separator=", ") if isinstance(value, np.ndarray) and value.ndim else str(value)


raw_value = Tensor.__dict__["_value"].__get__  # what was recorded last, also of a view whose memory has changed
set_raw_value = Tensor.__dict__["_value"].__set__


class Unread(Tensor):
    """A tensor without its value: `_tapec_read` gets it, and makes a plain `Tensor` of this one."""

    __slots__ = ()

    @property
    def _value(self) -> Any:
        return self._tapec_read()._value

    @_value.setter
    def _value(self, value: Any) -> None:
        set_raw_value(self, value)


def plain_value(value: Any, dtype: Any = None) -> Any:
    """A NumPy array or scalar of its own from what a user gives."""
    if isinstance(value, ArrayLike):
        value = value._tapec_read()._value
    elif isinstance(value, np.ndarray):
        as_data(value)
    array = np.array(value, dtype=dtype)
    if array.dtype.kind not in "fciub":
        message = f"a tensor holds numbers; this is an array of dtype {array.dtype}. Fix: `.astype(float)`"
        raise TypeError(at_user_line(message))
    return array if array.ndim else array[()]


def wrap(value: Any) -> Tensor:
    """A tensor around a value that is known to be an array or a NumPy scalar."""
    out = _new(Tensor)
    if type(value) is _ndarray and not value.ndim:
        value = value[()]
    out._value = value
    out._mark = None
    out._link = None
    return out


def unwrap(x: Any) -> Any:
    """The plain value of a tensor; anything else as it is."""
    return x._value if isinstance(x, Tensor) else x


def operand_values(inputs: tuple[Any, ...]) -> list[Any] | None:
    """What NumPy computes with, where all are tensors, numbers and arrays of numbers; None otherwise."""
    values = []
    for x in inputs:
        kind = type(x)
        if kind is Tensor:
            values.append(x._value)
        elif (kind is _ndarray and x.dtype.kind in NUMERIC) or kind in PLAIN:
            values.append(x)
        else:
            return None
    return values


def perform(op: Op, inputs: tuple[Any, ...], params: tuple[tuple[str, Any], ...]) -> Any:
    """Compute an op at once and record it: the general way."""
    values = operand_values(inputs)
    if values is None:
        inputs = tuple([x if type(x) is Tensor else as_operand(x) for x in inputs])
        values = [x._value if isinstance(x, Tensor) else x for x in inputs]
    value = run_op(op, values, params)
    out: Any = tuple([wrap(v) for v in value]) if op.multi else wrap(value)
    rec = current()
    if rec is not None:
        record(rec, op, inputs, params, out)
    if type(value) is _ndarray and value.base is not None and inputs and type(inputs[0]) is Tensor:
        share(out, inputs[0], ((op, params, inputs[1:]),))
    return out


def as_weak(values: list[Any], value: Any) -> Any:
    """Arithmetic of Python numbers alone gives a Python number, as it does without NumPy."""
    return value.item() if all([type(v) in NUMBERS for v in values]) else value


def computed(op: Op, inputs: tuple[Any, ...], params: tuple[tuple[str, Any], ...]) -> Any:
    """The value of an op, by NumPy; its errors carry the user's line."""
    return run_op(op, [x._value if isinstance(x, Tensor) else x for x in inputs], params)


def run_op(op: Op, values: list[Any], params: tuple[tuple[str, Any], ...]) -> Any:
    try:
        value = op.run(*values, **dict(params)) if params else op.run(*values)
        if type(value) is _ndarray:
            if value.dtype.kind in NUMERIC:
                return value
            raise TypeError("the result holds no numbers")
        return as_weak(values, value) if type(value) in _STRONG and op.numpy in WEAK else value
    except Exception as error:
        check_operands(op, values)
        note_user_line(error)
        raise


def check_operands(op: Op, values: list[Any]) -> None:
    """Say so when an operand holds no numbers."""
    for v in values:
        if isinstance(v, ArrayLike):
            raise UnsupportedError(at_user_line(f"{op.name} of a tensor and a symbol"))
        if isinstance(v, np.ndarray) and v.dtype.kind not in "fciub":
            raise UnsupportedError(
                at_user_line(f"{op.name} of an array of dtype {v.dtype}. Fix: an array of numbers, `.astype(float)`")
            )


def record(rec: Recorder, op: Op, inputs: tuple[Any, ...], params: Any, out: Any) -> None:
    """Append a record to every active recording that watches an input, and mark the output."""
    mark: Any = rec.mark
    watched = arrays = False
    for x in inputs:
        if type(x) is Tensor:
            if x._mark is mark:
                watched = True
        elif type(x) is _ndarray:
            arrays = True
    if not watched:
        mark = _common_mark(rec, inputs)
        if mark is None and rec.trace is not None:
            mark = _unwatched(rec.trace.token, inputs, out)
    if mark is not None:
        if arrays:
            inputs = as_seen(rec, inputs)
        code, offset = user_position()
        entry = (op, inputs, params, out, code, offset)
        if rec.append is not None:
            rec.append(entry)
        else:
            for token, append in rec.sinks:
                if token in mark.tokens:
                    append(entry)
    if type(out) is tuple:
        for part in out:
            part._mark = mark
    else:
        out._mark = mark


def record_change(rec: Recorder, op: Op, inputs: tuple[Any, ...], params: Any, out: Tensor, before: Tensor) -> None:
    """Append an in-place change to all recordings: any of them may have read what was there before."""
    code, offset = user_position()
    entry = (op, as_seen(rec, inputs), params, out, code, offset, before)
    for _, append in rec.sinks:
        append(entry)
    out._mark = rec.mark


def as_seen(rec: Recorder, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
    """The operands of a record: plain arrays as they are now, whatever happens to them later."""
    if rec.append is not None:
        seen = rec.log.seen
        if len(inputs) == 2:  # the commonest
            x, y = inputs
            return seen(x) if type(x) is _ndarray else x, seen(y) if type(y) is _ndarray else y
        return tuple([seen(x) if type(x) is _ndarray else x for x in inputs])
    for tape in rec.tapes:
        for k, x in enumerate(inputs):
            if type(x) is _ndarray:
                now = tape.log.seen(x)
                if now is not x:
                    inputs = (*inputs[:k], now, *inputs[k + 1 :])
    return inputs


def _unwatched(token: Any, inputs: tuple[Any, ...], out: Any) -> Mark | None:
    """In a traced function what is made of nothing (np.zeros_like) is recorded; constants know where they are from."""
    if not inputs:
        return token.mark
    for part in out if type(out) is tuple else (out,):
        part._link = token
    return None


def user_position() -> tuple[CodeType, int]:
    """Return the code object and the instruction offset of the user's line that is running.

    Records keep these two, since to look the line up costs more than to record. Must be called by tapec's own code.
    """
    frame = _getframe(2)
    if frame.f_code.co_filename not in USER_FILES:
        frame = user_frame(frame)
    return frame.f_code, frame.f_lasti


def user_frame(frame: Any) -> Any:
    """Return the innermost frame of the user's own code from this one on; the outermost frame where there is none.

    As `errors.user_frame`, but quick, since each operation asks: what was found out of a file is remembered.
    """
    while True:
        name = frame.f_code.co_filename
        while name in _OWN_FILES:
            back = frame.f_back
            if back is None:
                return frame
            frame = back
            name = frame.f_code.co_filename
        if name in USER_FILES:
            return frame
        (USER_FILES if is_user_file(name) else _OWN_FILES).add(name)


USER_FILES: set[str] = set()
_OWN_FILES: set[str] = set()


def _common_mark(rec: Recorder, inputs: tuple[Any, ...]) -> Mark | None:
    """The recordings, of those active, that watch any input; None when there is none."""
    tokens: set[Any] = set()
    for x in inputs:
        if isinstance(x, Tensor) and x._mark is not None:  # also a view as it was, though its base has changed since
            tokens |= x._mark.tokens & rec.tokens
    if not tokens:
        return None
    return rec.mark if len(tokens) == len(rec.tokens) else Mark(frozenset(tokens))
