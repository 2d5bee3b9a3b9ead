"""Compute ops at once, and record them.

Recording one operation is the hot path of the tape. A record is the tuple
    (op, inputs, params, output, code object, instruction offset, before)
appended to the list of every recording that watches one of the inputs. `before` is None but for in-place changes: they
are appended to all recordings, with a tensor of the value before the change.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from sys import _getframe
from typing import Any

import numpy as np

from tapec.errors import UnsupportedError, at_user_line, is_user_file, note_user_line
from tapec.ir import Op
from tapec.ir.types import NUMBERS
from tapec.ops import ArrayLike
from tapec.ops.core.define import as_operand
from tapec.trace import classes
from tapec.trace.classes import NUMERIC, PLAIN, READABLE, TensorBase, wrap
from tapec.trace.float_warnings import told
from tapec.trace.inplace.shared_memory import share
from tapec.trace.recording_stack import Mark, Recorder, current

__all__ = [
    "USER_FILES",
    "as_seen",
    "computed",
    "perform",
    "quickly",
    "read_operands",
    "record",
    "run_op",
    "user_frame",
]

_ndarray = np.ndarray


def read_operands(inputs: tuple[Any, ...]) -> tuple[tuple[Any, ...], list[Any] | None]:
    """Return the operands, with the values of Variables, and what NumPy computes with; None in the place of that if
    not all of them are tensors, numbers and arrays of numbers."""
    values = []
    for k, x in enumerate(inputs):
        kind = type(x)
        if kind in READABLE:
            x = x._tapec_read()
            inputs = (*inputs[:k], x, *inputs[k + 1 :])
            kind = classes.Tensor
        if kind is classes.Tensor:
            values.append(x._value)
        elif (kind is _ndarray and x.dtype.kind in NUMERIC) or kind in PLAIN:
            values.append(x)
        else:
            return inputs, None
    return inputs, values


def perform(op: Op, inputs: tuple[Any, ...], params: tuple[tuple[str, Any], ...]) -> Any:
    """Compute an op at once and record it, whatever the operands are."""
    inputs, values = read_operands(inputs)
    if values is None:
        inputs = tuple([x if type(x) is classes.Tensor else as_operand(x) for x in inputs])
        values = [x._value if isinstance(x, TensorBase) else x for x in inputs]
    value = run_op(op, values, params)
    out: Any = tuple([wrap(v) for v in value]) if op.multi else wrap(value)
    rec = current()
    if rec is not None:
        record(rec, op, inputs, params, out)
    if type(value) is _ndarray and value.base is not None and inputs and type(inputs[0]) is classes.Tensor:
        share(out, inputs[0], ((op, params, inputs[1:]),))
    return out


def computed(op: Op, inputs: tuple[Any, ...], params: tuple[tuple[str, Any], ...]) -> Any:
    """Return the value of an op, by NumPy; its errors carry the user's line."""
    return run_op(op, [x._value if isinstance(x, TensorBase) else x for x in inputs], params)


def quickly(compute: Callable[..., Any], *values: Any) -> Any:
    """Return what a function of NumPy's or Python's gives for values; its warnings are told at the user's line."""
    try:
        return compute(*values)
    except RuntimeWarning as warning:
        return told(warning, compute, *values)


def run_op(op: Op, values: list[Any], params: tuple[tuple[str, Any], ...]) -> Any:
    try:
        if "python" in op.facts and NUMBERS.issuperset(map(type, values)):
            return op.facts["python"](*values)
        try:
            value = op.run(*values, **dict(params)) if params else op.run(*values)
        except RuntimeWarning as warning:
            value = told(warning, partial(op.run, **dict(params)), *values)
        if type(value) is _ndarray:
            if value.dtype.kind in NUMERIC:
                return value
            raise TypeError("the result holds no numbers")
        return value
    except Exception as error:
        check_operands(op, values)
        note_user_line(error)
        raise


def check_operands(op: Op, values: list[Any]) -> None:
    """Raise an error that says so if an operand holds no numbers."""
    for v in values:
        if isinstance(v, ArrayLike):
            raise UnsupportedError(at_user_line(f"{op.name} of a tensor and a symbol"))
        if isinstance(v, np.ndarray) and v.dtype.kind not in "fciub":
            raise UnsupportedError(
                at_user_line(f"{op.name} of an array of dtype {v.dtype}. Fix: an array of numbers, `.astype(float)`")
            )


def record(
    rec: Recorder, op: Op, inputs: tuple[Any, ...], params: Any, out: Any, before: TensorBase | None = None
) -> None:
    """Record an op in every active recording that watches an input, with the user's line, and mark the output.

    An in-place change, where `before` stands for what the output was until then, is recorded in all recordings: any of
    them may have read what was there before.
    """
    mark: Any = rec.mark
    is_watched, has_arrays = before is not None, False
    for x in inputs:
        if type(x) is classes.Tensor:
            if x._mark is mark:
                is_watched = True
        elif type(x) is _ndarray:
            has_arrays = True
    if not is_watched:
        mark = _common_mark(rec, inputs)
        if mark is None and rec.trace is not None:
            mark = _unwatched(rec.trace.token, inputs, out)
    if mark is not None:
        if has_arrays:
            inputs = as_seen(rec, inputs)
        frame = _getframe(2)
        code = frame.f_code
        if code.co_filename not in USER_FILES:
            frame = user_frame(frame)
            code = frame.f_code
        entry = op, inputs, params, out, code, frame.f_lasti, before
        if mark is rec.mark and rec.sink is not None:
            rec.sink(entry)
        else:
            for token, append in rec.sinks:
                if token in mark.tokens:
                    append(entry)
    if type(out) is tuple:
        for part in out:
            part._mark = mark
    else:
        out._mark = mark


def as_seen(rec: Recorder, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the operands of a record: plain arrays as they are now, whatever happens to them later."""
    for tape in rec.tapes:
        seen = tape.log.seen
        inputs = tuple([seen(x) if type(x) is _ndarray else x for x in inputs])
    return inputs


def _unwatched(token: Any, inputs: tuple[Any, ...], out: Any) -> Mark | None:
    """Return the mark of a result that nobody watches: in a traced function what is made of nothing is recorded.

    Such are results of np.zeros_like. Other constants know in which trace they were made.
    """
    if not inputs or any(map(_is_watched, inputs)):
        return token
    for part in out if type(out) is tuple else (out,):
        part._link = token
    return None


def _is_watched(x: Any) -> bool:
    """Return whether a recording that is not active at the moment watches a tensor: then it is no constant."""
    return isinstance(x, TensorBase) and x._mark is not None and any([token.alive for token in x._mark.tokens])


def user_frame(frame: Any) -> Any:
    """Return the innermost frame of the user's own code from this one on; the outermost frame where there is none.

    Records keep its code and the offset of the instruction, since to look the line up costs more than to record.
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
    """Return the mark of the active recordings that watch any input; None when there is none."""
    tokens: set[Any] = set()
    for x in inputs:
        # a view as it was counts too, though its base has changed since
        if isinstance(x, TensorBase) and x._mark is not None:
            tokens |= x._mark.tokens & rec.mark.tokens
    if not tokens:
        return None
    return rec.mark if len(tokens) == len(rec.mark.tokens) else Mark(frozenset(tokens))
