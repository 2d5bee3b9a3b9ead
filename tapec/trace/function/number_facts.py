"""Note what a run relies on where Python's numbers compute among themselves (see `ops/core/python_numbers.py`).

What a graph says of such an operation is its value, for operands of these types. The rest are facts of the run:

- a quotient, a remainder, a power, a shift is a number of the class that it was, and raises no error. Mostly it can be
  of no other class: then code that computes it does not ask, since Python raises the error. Code that does without the
  value, as a derivative may, asks for it (`guarded_paths.py`) where the function may catch the error, and so take
  another branch;
- truth values are counted as 0 and 1: which one it was.

Constants need no guard. Results beyond the largest float need none either: code that computes such a quotient or power
raises OverflowError, and only code that does without it does not.
"""

from __future__ import annotations

import os
from sys import _getframe
from typing import Any

from tapec.errors import PACKAGE_FOLDER
from tapec.ir import OpSet, ops
from tapec.ops.control.select_and_call import GUARD, NUMBER_KIND
from tapec.trace.classes import TensorBase, raw_value, wrap
from tapec.trace.recording_stack import current

__all__ = ["with_facts"]

_ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "trace_function.py")  # which runs traced functions
_RAISING = OpSet("divide floor_divide remainder left_shift right_shift")  # for zero, or what is negative


def with_facts(log: Any, entry: tuple[Any, ...]) -> tuple[tuple[Any, ...], Any]:
    """Return the operands of an operation between Python's numbers alone, and what to note once it is recorded: a
    function without arguments, or None.

    The facts about operands enter the log now.
    """
    op, inputs, _, out, code, lasti, _ = entry

    def note(tensor: Any, kind: type, value: Any) -> None:
        if isinstance(tensor, TensorBase):
            log.sink((GUARD, (tensor,), (("kind", kind), ("value", value)), (), code, lasti, None))

    def added(op: Any, x: Any, y: Any, value: Any) -> Any:
        made = wrap(value)
        log.sink((op, (x, y), (), made, code, lasti, None))
        return made

    values = [raw_value(x) if isinstance(x, TensorBase) else x for x in inputs]
    if bool in map(type, values) and type(raw_value(out)) is not bool:
        for x, v in zip(inputs, values):
            if type(v) is bool:
                note(x, bool, v)
        inputs = tuple([int(v) if type(v) is bool else x for x, v in zip(inputs, values)])
    result = raw_value(out)
    if op is ops.power:
        (x, n), (value, exponent) = inputs, values
        if type(result) is float and float not in (type(value), type(exponent)):
            _note_kind(log, added(ops.power, x, n, 0), result, False, code, lasti)
            return (added(ops.multiply, x, 1.0, float(value)), n), None
        if type(result) is complex and complex not in (type(value), type(exponent)):
            _note_kind(log, added(ops.power, x, n, 0.0), result, False, code, lasti)
            return (added(ops.add, x, 0j, complex(value)), n), None
        if type(result) is float and not value < 0 and not isinstance(n, TensorBase) and not _is_whole(n):
            # of what is negative the power is complex, and that of zero may be an error
            note(added(ops.less if n > 0 else ops.less_equal, x, 0.0, False), bool, False)
            return inputs, None
        sure = _has_one_class(x, n, value, exponent)
        if sure and type(result) is int:
            return inputs, None
    elif op in _RAISING and isinstance(inputs[1], TensorBase):
        sure = True
    else:
        return inputs, None
    if sure and not _may_be_caught(log):
        return inputs, None
    return inputs, lambda: _note_kind(log, out, result, sure, code, lasti)


def _may_be_caught(log: Any) -> bool:
    """Return whether code of the traced function, or what that calls, may catch an error of the operation that runs."""
    rec = current()
    traces = [tape for tape in rec.tapes if tape.is_trace] if rec is not None else []
    inner = next((k for k, trace in enumerate(reversed(traces)) if trace.log is log), len(traces))
    frame: Any = _getframe(1)
    while frame is not None and inner >= 0:
        code = frame.f_code
        if code.co_filename == _ROOT:
            inner -= code.co_name == "_run"
        elif code.co_exceptiontable and not code.co_filename.startswith(PACKAGE_FOLDER):
            return True  # there is a `try`, a `with`, or a comprehension
        frame = frame.f_back
    return False


def _has_one_class(x: Any, n: Any, value: Any, exponent: Any) -> bool:
    """Return whether powers of such operands are all of one class, where Python raises no error."""
    if isinstance(value, int) and isinstance(exponent, int):
        return not isinstance(n, TensorBase)  # 2 ** k is a float where k is negative
    if complex in (type(value), type(exponent)) or isinstance(exponent, int) or _is_whole(n):
        return True
    return not isinstance(x, TensorBase) and not value < 0  # of a negative number some powers are complex


def _is_whole(n: Any) -> bool:
    """Return whether an exponent is a whole number, and always the same."""
    return not isinstance(n, TensorBase) and n % 1 == 0


def _note_kind(log: Any, out: Any, value: Any, sure: bool, code: Any, lasti: int) -> None:
    """Note of which class a result is, and whether it is `sure` to be of that class or none."""
    made = wrap(True)
    log.sink((NUMBER_KIND, (out,), (("kind", type(value).__name__), ("sure", sure)), made, code, lasti, None))
    log.sink((GUARD, (made,), (("kind", bool), ("value", True)), (), code, lasti, None))
