"""Values of large arrays in a traced function, which are computed only when somebody looks.

The first call of a function traces it, compiles it, and runs what was compiled. Tracing needs types; it needs values
where the user's code looks at them: `if np.sum(x) > 0`, `print(y)`, `int(n)`. So large arguments and captured arrays
are `Later` tensors, and large results of small ones once they are there (see `idle.follow_trace`). NumPy's operations
on them give such tensors again, recorded as any other, that hold what is `Pending` instead of a value. Who reads it
gets one, computed with all that it hangs on; the tensor is a plain `Tensor` from then on. A first call so costs no more
arrays than the calls after it.

Computed at once is whatever could turn out otherwise later: operations that may fail, whose shapes hang on values, or
that take plain arrays, which change without notice; all, where NumPy is told to raise errors, or the function tells it
what to do about them. Factorisations and systems of equations wait all the same, for they mostly succeed: where one has
failed after all, the function runs once more, and that time they do not (`Trace.daring`). Before the first change in
place of anything, and for who keeps a tensor beyond the run, all that is pending is computed.
"""

from __future__ import annotations

from contextlib import suppress
from sys import _getframe
from typing import Any
from weakref import ref

import numpy as np

from tapec.ir import Op, Type
from tapec.ir.types import NUMBERS, type_of
from tapec.ops.array import METHODS, ArrayLike
from tapec.ops.define import as_operand
from tapec.ops.indexing import GETITEM
from tapec.trace.links import base_of, share
from tapec.trace.quiet import says_anything
from tapec.trace.recorder import CURRENT, Recorder
from tapec.trace.snapshot import WHOLE
from tapec.trace.tensor import (
    MEANS,
    Tensor,
    Unread,
    as_seen,
    perform,
    raw_value,
    run_op,
    set_raw_value,
    user_frame,
)

__all__ = ["LARGE", "Later", "Pending", "compute_all", "large_input"]

LARGE = 1 << 18  # bytes from which an array is worth the trouble
_SAFE = frozenset({"elementwise", "reduction", "layout", "product"})  # kinds of ops that fail by types alone
_FACTORED = frozenset(  # ops that fail for few matrices
    {"cholesky", "inv", "inv_lower", "solve", "solve_lower", "scipy.linalg.solve_triangular"}
)


class Pending:
    """An operation that was recorded and not done, and the type of its result."""

    __slots__ = ("inputs", "op", "params", "type")

    def __init__(self, op: Op, inputs: tuple[Any, ...], params: Any, type: Type):
        self.op = op
        self.inputs = inputs
        self.params = params
        self.type = type

    @property
    def shape(self) -> tuple[int, ...]:
        return self.type.shape

    @property
    def dtype(self) -> np.dtype:
        return self.type.dtype


class Later(Unread):
    """A large array, or what hangs on one. It is a `Tensor` once its value was read."""

    __slots__ = ()
    _rank = 3  # it decides before tensors do

    def _tapec_read(self) -> Tensor:
        compute(self)
        self.__class__ = Tensor  # type: ignore[assignment]
        return self

    @property
    def shape(self) -> tuple[int, ...]:
        return raw_value(self).shape

    @property
    def dtype(self) -> np.dtype:
        if not self.shape and _getframe(1).f_code in MEANS:
            self._tapec_read()._will_be_divided(_getframe(1))
            raise AttributeError("dtype")
        return raw_value(self).dtype

    def _operand(self) -> Tensor:
        return self

    def _apply(self, op: Op, inputs: tuple[Any, ...], params: tuple[tuple[str, Any], ...]) -> Any:
        rec = CURRENT.get()
        if rec is not None and rec.trace is not None and rec.append is not None:
            t = _type_of_result(op, inputs, params, rec)
            if t is not None:
                return _postponed(rec, op, inputs, params, t)
        return _at_once(op, inputs, params)


def _is_operator(name: str, value: Any) -> bool:
    return name.startswith("__") and callable(value)


for _name, _general in vars(ArrayLike).items():  # what tensors do faster, they do by looking at their values
    if _name in vars(Tensor) and (_name in METHODS or isinstance(_general, property) or _is_operator(_name, _general)):
        setattr(Later, _name, _general)
_BASIC = frozenset({int, slice, type(None), type(Ellipsis)})


def _getitem(self: Later, index: Any) -> Any:
    """Parts of an array that is there are views of it, or few elements: loops over rows are loops over tensors."""
    parts = index if type(index) is tuple else (index,)
    if type(raw_value(self)) is Pending or not _BASIC.issuperset(map(type, parts)):
        return ArrayLike.__getitem__(self, index)
    self.__class__ = Tensor  # type: ignore[assignment]
    out = self[index]
    if type(self) is Tensor:
        self.__class__ = Later
    rec = CURRENT.get()
    return large_input(out, rec.trace.pending) if rec is not None and rec.trace is not None else out


setattr(Later, "__getitem__", _getitem)  # noqa: B010


def large_input(tensor: Tensor, pending: list[Any]) -> Tensor:
    """An argument or a captured array of a traced function, which is computed with later when it is large."""
    value = tensor._value
    if type(value) is np.ndarray and value.nbytes >= LARGE and value.dtype.kind in "fc":
        tensor.__class__ = Later
        pending.append(ref(tensor))
    return tensor


# -- may it wait? -----------------------------------------------------------------------------------------------------
def _type_of_result(op: Op, inputs: tuple[Any, ...], params: Any, rec: Recorder) -> Type | None:
    """The type of an operation that is sure to succeed, or dared; None for others."""
    trace: Any = rec.trace
    dared = op.name in _FACTORED and trace.daring
    if not (dared or op.kind in _SAFE or op is GETITEM) or op.multi or "raise" in np.geterr().values():
        return None
    captures = trace.captures
    if captures is not None and says_anything(captures.clones.words):
        return None
    types = []
    for x in inputs:
        kind = type(x)
        if kind is Tensor or kind is Later:
            if x._mark is not rec.mark:
                return None
            types.append(_type_of(raw_value(x)))
        elif kind in NUMBERS or isinstance(x, np.generic) or (kind is np.ndarray and x.nbytes <= WHOLE):
            types.append(type_of(x))
        else:
            return None
    if any([t.dtype.kind not in "fcbiu" for t in types]) or (op.kind == "reduction" and not types[0].size):
        return None
    try:
        t = _tried(types[0], inputs, params) if op is GETITEM else op.rule(*types, **dict(params))
    except Exception:  # NumPy says itself what is wrong
        return None
    if t.dtype.kind not in "fcb":
        return None
    trace.dared = trace.dared or dared
    return t


def _type_of(raw: Any) -> Type:
    return raw.type if type(raw) is Pending else type_of(raw)


def _tried(t: Type, inputs: tuple[Any, ...], params: Any) -> Type:
    """What an index takes, from an array without memory: places out of range are an error now."""
    places = [x._value if isinstance(x, Tensor) else x for x in inputs[1:]]
    if any([place.dtype.kind == "b" for place in places]):
        raise TypeError
    return type_of(GETITEM.run(np.broadcast_to(np.zeros((), t.dtype), t.shape), *places, **dict(params)))


def _postponed(rec: Recorder, op: Op, inputs: tuple[Any, ...], params: Any, t: Type) -> Later:
    out: Later = object.__new__(Later)
    held = tuple([x.copy() if type(x) is np.ndarray else x for x in inputs])  # plain arrays may change
    set_raw_value(out, Pending(op, held, params, t))
    first = inputs[0]
    out._link = (base_of(first), ()) if op.view and isinstance(first, Tensor) else None  # NumPy decides, see `_done`
    out._mark = rec.mark
    frame = user_frame(_getframe(3))
    rec.append((op, as_seen(rec, inputs), params, out, frame.f_code, frame.f_lasti))  # type: ignore[misc]
    rec.trace.pending.append(ref(out))  # type: ignore[union-attr]
    return out


def _at_once(op: Op, inputs: tuple[Any, ...], params: Any) -> Any:
    """As tensors do it; large ones wait again after it."""
    inputs = tuple([x._tapec_read() if isinstance(x, Tensor) else as_operand(x) for x in inputs])
    out = perform(op, inputs, params)
    rec = CURRENT.get()
    if rec is not None and rec.trace is not None and rec.append is not None:
        for x in (*inputs, *(out if type(out) is tuple else (out,))):
            if type(x) is Tensor and x._mark is rec.mark:
                large_input(x, rec.trace.pending)
    return out


# -- values -----------------------------------------------------------------------------------------------------------
def compute(t: Tensor) -> None:
    """Give a tensor its value, after all that it hangs on; those may be many."""
    waiting = [t]
    while waiting:
        t = waiting[-1]
        pending = raw_value(t)
        if type(pending) is not Pending:
            waiting.pop()
            continue
        missing = [x for x in pending.inputs if type(x) is Later and type(raw_value(x)) is Pending]
        if missing:
            waiting += missing
            continue
        _done(t, pending)
        waiting.pop()


def _done(t: Tensor, pending: Pending) -> None:
    op, inputs, params = pending.op, pending.inputs, pending.params
    value = run_op(op, [raw_value(x) if isinstance(x, Tensor) else x for x in inputs], params)
    view = type(value) is np.ndarray and value.base is not None and type(t._link) is tuple
    set_raw_value(t, value[()] if type(value) is np.ndarray and not value.ndim else value)
    t._link = None
    if view:
        before = type(inputs[0])
        t.__class__ = inputs[0].__class__ = Tensor
        share(t, inputs[0], ((op, params, inputs[1:]),))
        t.__class__, inputs[0].__class__ = Later, before


def compute_all(references: list[Any]) -> None:
    """Compute what is still pending of all that somebody holds. What fails does so again for whoever reads it."""
    for reference in references:
        t = reference()
        if t is not None:
            with suppress(np.linalg.LinAlgError):
                compute(t)
                t.__class__ = Tensor
    references.clear()
