"""Operations of a tape that compute in the memory of an operand which nobody needs any more.

`np.tanh(x @ w + b)` makes one array, not three, where a tape was entered here before and its gradient took neither
`x @ w + b` nor `x @ w` (see `idle`). A tensor is a `Spare` one while the next operation is expected to be its heir.
That takes its memory if it is the operation expected, on operands of the same types, and if nobody holds the tensor: a
value on its way from one call to the next has one reference less than one that has a name. How many that makes is
measured, since it depends on the interpreter; where it makes no difference nothing is taken.

Who asks for the value all the same gets it computed again: a C extension may hold a tensor by the very reference that
the interpreter has of it.
"""

from __future__ import annotations

from collections.abc import Callable
from sys import _getframe, getrefcount
from typing import Any
from weakref import getweakrefcount

import numpy as np

from tapec.errors import note_user_line
from tapec.ir import Op
from tapec.ops import UFUNCS
from tapec.ops.array import UNARY
from tapec.trace.idle import HELD, Due, Heir, let_go_of, records_alone
from tapec.trace.log import Gone, Log
from tapec.trace.operators import OPERATORS
from tapec.trace.recorder import current
from tapec.trace.short import with_buffer
from tapec.trace.tensor import READABLE, USER_FILES, Tensor, Unread, raw_value, set_raw_value, user_frame, wrap

__all__ = ["Lost", "Offer", "Spare", "follower"]

_new = object.__new__
_ndarray = np.ndarray


class Lost(Unread):
    """A tensor whose memory another one has. Its value is computed again when somebody reads it."""

    __slots__ = ()

    def _tapec_read(self) -> Tensor:
        log = raw_value(self).log
        log.scan()
        log.compute_again()
        return self


class Spare(Unread):
    """A tensor that the next operation may be the heir of. However it is used, it is a `Tensor` again."""

    __slots__ = ()

    def _tapec_read(self) -> Tensor:
        self.__class__ = Tensor  # type: ignore[assignment]
        return self

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        count = getrefcount(self)
        self.__class__ = Tensor  # type: ignore[assignment]
        op = UFUNCS.get(ufunc)
        if method == "__call__" and not kwargs and op is not None and len(inputs) <= 2:
            for k, x in enumerate(inputs):
                if type(x) in READABLE:
                    inputs = (*inputs[:k], x._tapec_read(), *inputs[k + 1 :])
            out = _inherited(self, count, "call", op, inputs)
            if out is not None:
                return out
        return self.__array_ufunc__(ufunc, method, *inputs, **kwargs)


def _unary(name: str, ufunc: np.ufunc) -> Any:
    """An operator: as tensors have it where nothing is inherited."""
    op, plain = UFUNCS[ufunc], getattr(Tensor, name)

    def call(self: Spare) -> Any:
        count = getrefcount(self)
        self.__class__ = Tensor  # type: ignore[assignment]
        out = _inherited(self, count, "unary", op, (self,))
        return plain(self) if out is None else out

    return call


def _binary(name: str, ufunc: np.ufunc, swapped: bool) -> Any:
    op, plain = UFUNCS[ufunc], getattr(Tensor, name)
    road = "reflected" if swapped else "operator"

    def call(self: Spare, other: Any) -> Any:
        count = getrefcount(self)
        self.__class__ = Tensor  # type: ignore[assignment]
        if type(other) in READABLE:
            other = other._tapec_read()
        out = _inherited(self, count, road, op, (other, self) if swapped else (self, other))
        return plain(self, other) if out is None else out

    return call


for _name, (_ufunc, _) in OPERATORS.items():
    setattr(Spare, f"__{_name}__", _binary(f"__{_name}__", _ufunc, False))
    if f"__r{_name}__" in vars(Tensor):
        setattr(Spare, f"__r{_name}__", _binary(f"__r{_name}__", _ufunc, True))
for _name, _ufunc in UNARY.items():
    setattr(Spare, f"__{_name}__", _unary(f"__{_name}__", _ufunc))


# -- what takes records -----------------------------------------------------------------------------------------------
def follower(log: Log, due: dict[int, Due]) -> Callable[[tuple[Any, ...]], None]:
    """Takes records, and does what is due, where it may: another program may be recorded this time."""
    records = log.records
    offer = log.offer = Offer(records, max(due, default=0))
    keep = records.append

    def append(entry: tuple[Any, ...]) -> None:
        keep(entry)
        now = len(records)
        if offer.heir is not None:
            offer.withdraw()
            before = due.get(now - 1)
            if before is not None:
                due[now - 1] = before._replace(heir=None)  # nor will it be made again
        found = due.get(now)  # threads that record the like here share it
        if found is not None:
            values, heir = found
            if values and records_alone(records):
                let_go_of(values, records)
            if heir is not None:
                offer.make(heir)

    return append


class Offer:
    """Who may be the heir of what one of these records made, if it comes next, and who was. Nothing is due when more
    than `last` records are there. It knows the records, not their log, which knows it: nothing goes round.
    """

    __slots__ = ("heir", "last", "records", "taken")

    def __init__(self, records: list[tuple[Any, ...]], last: int):
        self.records = records
        self.last = last
        self.heir: Heir | None = None
        self.taken: list[Heir] = []

    def make(self, heir: Heir) -> None:
        """If the value is there, and nobody looks into it."""
        t = self.records[heir.number][3]
        if type(t) is Tensor and t._link is None and not getweakrefcount(t):
            value = t._value
            if type(value) is _ndarray and (value.shape, value.dtype) == heir.gives:
                t.__class__ = Spare
                self.heir = heir

    def withdraw(self) -> None:
        """It has not come."""
        t = self.records[self.heir.number][3]  # type: ignore[union-attr]
        self.heir = None
        if type(t) is Spare:
            t._tapec_read()

    def finish(self, log: Log) -> None:
        """Nothing more is recorded: what was yet to come is due now."""
        records = self.records
        if self.heir is not None:
            self.withdraw()
        if not records_alone(records):
            return
        for heir in self.taken:
            t = records[heir.number][3]
            if type(t) is Lost and getrefcount(t) + getweakrefcount(t) == HELD + 1 + heir.uses:
                set_raw_value(t, heir.left)
                t.__class__ = Tensor  # type: ignore[assignment]
        count = len(records)
        for n, (values, _) in tuple(log.due.items()):
            if n > count and values:
                let_go_of(values, records)


def _inherited(t: Tensor, count: int, road: str, op: Op, inputs: tuple[Any, ...]) -> Tensor | None:
    """What the operation gives, in the memory of an operand; None where it had better be done as any other."""
    value = t._value
    alone = getrefcount(value)
    rec = current()
    if rec is None or rec.append is None or t._mark is not rec.mark:
        if t._mark is _MEASURING:
            _found.append((road, count, alone))
            return t
        return None
    log: Log = rec.log
    offer = log.offer
    heir = None if offer is None else offer.heir
    if heir is None or heir.op is not op or log.records[heir.number][3] is not t:
        return None
    if (count - heir.held, alone) != _FEWEST[road]:
        return None
    if value.base is not None:
        return None
    at = heir.other
    if at is None:
        values: Any = (value,)
    else:
        x = inputs[at]
        v = x._value if type(x) is Tensor else x
        if ((v.shape, v.dtype) if type(v) is _ndarray else type(v)) != heir.takes:
            return None
        values = (v, value) if at == 0 else (value, v)
        if v is x and type(x) is _ndarray:
            x = log.seen(x)
            inputs = (x, t) if at == 0 else (t, x)
    offer.heir = None
    offer.taken.append(heir)
    t.__class__ = Lost
    set_raw_value(t, Gone(heir.left.type, log))
    try:
        if heir.buffer is None:
            op.numpy(*values, out=value)
        else:
            with_buffer(heir.buffer, op.numpy, values, out=value)
    except Exception as error:
        note_user_line(error)
        raise
    out = _new(Tensor)
    out._value = value
    out._link = None
    frame = _getframe(2)
    code = frame.f_code
    if code.co_filename not in USER_FILES:
        frame = user_frame(frame)
        code = frame.f_code
    if len(log.records) == offer.last:
        rec.append = log.append = log.records.append  # without looking what is due
    rec.append((op, inputs, (), out, code, frame.f_lasti))
    out._mark = rec.mark
    return out


# -- how many references there are ------------------------------------------------------------------------------------
_MEASURING: Any = object()
_found: list[tuple[str, int, int]] = []


def _probe() -> Any:
    t = wrap(np.zeros(1))
    t._mark = _MEASURING
    t.__class__ = Spare
    return t


_ON_THE_WAY: tuple[Callable[[Tensor], Any], ...] = (
    lambda other: -_probe(),
    lambda other: _probe() + 1.0,
    lambda other: _probe() + other,
    lambda other: 1.0 + _probe(),
    lambda other: other + _probe(),
    lambda other: np.negative(_probe()),
    lambda other: np.add(_probe(), 1.0),
    lambda other: np.add(other, _probe()),
)
_NAMED: tuple[Callable[[Tensor, Any], Any], ...] = (
    lambda other, t: -t,
    lambda other, t: t + 1.0,
    lambda other, t: t + other,
    lambda other, t: 1.0 + t,
    lambda other, t: other + t,
    lambda other, t: np.negative(t),
    lambda other, t: np.add(t, 1.0),
    lambda other, t: np.add(other, t),
)


def _fewest() -> dict[str, Any]:
    """On each road, how many references there are to an operand that nobody holds, and to its array; None where that
    cannot be told from one that somebody does hold."""
    other = wrap(np.zeros(1))
    for use in _ON_THE_WAY:
        use(other)
    free = [*_found]
    for named in _NAMED:
        named(other, _probe())
    held = _found[len(free) :]
    _found.clear()
    fewest: dict[str, Any] = {}
    for road, count, alone in free:
        same = fewest.setdefault(road, (count, alone)) == (count, alone)
        if not same or any([k <= count for r, k, _ in held if r == road]):
            fewest[road] = None
    return fewest


_FEWEST = _fewest()
