"""Keep views of tensors in step with their base, as NumPy does, when either changes in place.

A view knows its `base`, a tensor that is nobody's view, and the steps that lead there: ops with their parameters. Its
value is a real NumPy view of the base's value, so what is a view and what a copy is NumPy's own decision. Values never
change in place, since recordings hold them: a write gives the base a new array.

When the base has changed, its views are out of date: `expire` empties their fields `_value` and `_mark`, of all views
at once and of each once. Python asks `Tensor.__getattr__` for a field that is empty, and that reads the view anew. So
whoever reads the fields of a tensor gets what it holds now, and asks for nothing; and a loop that reads a row and
writes the next one stays linear. What a view was when it was recorded stands in its link, as a tensor of its own.
"""

from __future__ import annotations

from typing import Any
from weakref import ref

import numpy as np

from tapec.ir import Op
from tapec.ops.core.define import as_operand
from tapec.ops.core.stand_in import UFUNCS
from tapec.ops.elementwise.complex_parts import IMAG, REAL
from tapec.ops.indexing.getitem_and_scatter import GETITEM
from tapec.ops.indexing.setitem import SETITEM
from tapec.ops.layout.diagonals import DIAGONAL, placed_on_diagonal
from tapec.ops.layout.reshape_and_transpose import RESHAPE, TRANSPOSE, inverse
from tapec.trace import classes
from tapec.trace.classes import TensorBase, is_out_of_date, unwrap, wrap
from tapec.trace.inplace.shared_memory import Step, Views, base_of, views_of
from tapec.trace.perform import computed, perform, record
from tapec.trace.recording_stack import CURRENT, Recorder

__all__ = ["as_it_was", "carry", "expire", "read_anew", "up_to_date"]


# -- views of memory that changed -------------------------------------------------------------------------------------
def up_to_date(t: TensorBase) -> TensorBase:
    """Return the tensor itself, read anew where it is a view whose base has changed."""
    if is_out_of_date(t):
        read_anew(t)
    return t


def read_anew(view: TensorBase) -> None:
    """Read a view that is out of date from what its base holds now.

    That is recorded where the base has changed, even if that recording is over by now and others are active.
    """
    base, steps, tapes, before = view._link
    rec, mark = CURRENT.get(), before._mark
    if mark is not None and any(token.alive and (rec is None or token not in rec.mark.tokens) for token in mark.tokens):
        tapes = tuple([tape for tape in [r() for r in tapes] if tape is not None and tape.token.alive])
        others = CURRENT.set(Recorder(tapes) if tapes else None)
        try:
            _read_from(view, base, steps, before)
        finally:
            CURRENT.reset(others)
    else:
        _read_from(view, base, steps, before)


def _read_from(view: TensorBase, base: TensorBase, steps: tuple[Step, ...], before: TensorBase) -> None:
    parent = base
    for op, params, more in steps[:-1]:
        parent = perform(op, (parent, *more), params)
    op, params, more = steps[-1]
    value = computed(op, (parent, *more), params)
    if _is_writable(before._value) and not _is_writable(value):
        value.flags.writeable = True  # NumPy's einsum gives diagonals that may be written
    view._value, view._mark, view._link = value, None, (base, steps)
    views_of(base).add(view)
    rec = CURRENT.get()
    if rec is not None:
        record(rec, op, (parent, *more), params, view, before)


def _is_writable(value: Any) -> bool:
    return type(value) is not np.ndarray or value.flags.writeable


def as_it_was(t: TensorBase) -> TensorBase:
    """Return a tensor for the value that another had, watched as that one was."""
    old = wrap(t._value)
    old._mark = t._mark
    return old


def expire(base: TensorBase, keep: TensorBase | None = None) -> None:
    """Let all views but one of a base be out of date: the base has changed."""
    link = base._link
    if type(link) is not Views or not link.refs:
        return
    views = [view for r in link.refs if (view := r()) is not None and view is not keep and base_of(view) is base]
    if views:
        rec = CURRENT.get()
        tapes = () if rec is None else tuple(map(ref, rec.tapes))
        for view in views:
            view._link = (*view._link[:2], tapes, as_it_was(view))
            del view._value, view._mark
    link.refs = [] if keep is None else [ref(keep)]


# -- writing through a view -------------------------------------------------------------------------------------------
def carry(view: TensorBase) -> None:
    """Give the base of a view that has a new value one as well, and with it every other view."""
    base, steps = view._link[:2]
    parents = [base]
    for op, params, more in steps[:-1]:
        parents.append(perform(op, (parents[-1], *more), params))
    content: Any = view
    for step, parent in zip(reversed(steps[1:]), reversed(parents[1:])):
        content = perform(*put_back(step, parent, content))
    op, inputs, params = put_back(steps[0], base, content)
    inputs = tuple([x if type(x) is classes.Tensor else as_operand(x) for x in inputs])
    before = as_it_was(base)
    _renew(base, view, steps, op, inputs, params)
    rec = CURRENT.get()
    if rec is not None:
        record(rec, op, inputs, params, base, before)
    expire(base, view)


def _renew(base: TensorBase, view: TensorBase, steps: tuple[Step, ...], op: Op, inputs: Any, params: Any) -> None:
    """Give the base a new array, laid out as the old one, and in it the view's memory."""
    whole = base._value.copy(order="K")
    part = whole
    for step, given, more in steps:
        part = step.run(part, *map(unwrap, more), **dict(given))
    if np.may_share_memory(part, whole):
        part.flags.writeable = True
        part[...] = view._value
        base._value, view._value = whole, part
    else:  # NumPy copies where it did not before: the memory of the old base had gaps
        base._value = computed(op, inputs, params)


def put_back(step: Step, parent: TensorBase, content: Any) -> tuple[Op, tuple[Any, ...], Any]:
    """Return the op that makes the parent anew from the new content of what a step took from it."""
    op, params, more = step
    if op is GETITEM:
        return SETITEM, (parent, content, *more), params
    if op is RESHAPE:
        return RESHAPE, (content,), (("shape", parent.shape),)
    if op is REAL:
        imaginary = perform(IMAG, (parent,), ())
        return UFUNCS[np.add], (content, perform(UFUNCS[np.multiply], (imaginary, 1j), ())), ()
    if op is IMAG:
        imaginary = perform(UFUNCS[np.multiply], (content, 1j), ())
        return UFUNCS[np.add], (perform(REAL, (parent,), ()), imaginary), ()
    if op is DIAGONAL:
        content, arrays, index = placed_on_diagonal(content, **dict(params))
        return SETITEM, (parent, content, *arrays), (("index", index), ("unique", True))
    axes = dict(params)["axes"]  # it is a transpose: windows and what was broadcast are read-only
    return TRANSPOSE, (content,), (("axes", inverse(axes)),)
