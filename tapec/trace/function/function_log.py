"""Define `FunctionLog`: the log of a traced function. Its records keep types, where the records of a tape hold values.

Generated code computes everything that the function computed once more. So the records need no values: a value lives
as long as the user's own tensor, and a first call needs as much memory as NumPy's run, or as the generated code.

In a record an *abstract tensor* stands for each tensor that the run computed. It has a type and no value. For

    y = np.exp(x)      # x is an argument
    z = y * 2.0

the log holds (exp, (x,), (), %0), (multiply, (%0, 2.0), (), %1), with abstract tensors %0 and %1, and the user holds y
and z. Arguments, captured state and constants stand in the records with their values.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from weakref import ref

import numpy as np

from tapec.ir import Op, ops
from tapec.ir.types import NUMBERS, type_of
from tapec.progress import counting
from tapec.trace.classes import TensorBase, raw_value, wrap
from tapec.trace.function.number_facts import with_facts
from tapec.trace.log import Log, NotHeld
from tapec.trace.recording_stack import Token, current
from tapec.trace.tensor import Tensor

__all__ = ["FunctionLog"]


class FunctionLog(Log):
    """A log that keeps types of what was computed. `values` computes all values anew, from those of the leaves.

    `_names` tells, by the identity of a living tensor, what stands for it in records. An in-place change gives a tensor
    a new abstract one: the records have no changes in place. `_changes` tells of each, by weak references, which tensor
    has changed and its value until then, and what stood for that.
    """

    __slots__ = ("_asks_for_order", "_changes", "_names", "_reshaped", "_roots", "_token", "depends_on_order")

    def __init__(self, token: Token):
        self._token = token
        super().__init__()

    def clear(self) -> None:
        super().clear()
        self._names: dict[int, tuple[ref[Tensor], Tensor]] = {}
        self._changes: list[tuple[ref[Tensor], Callable[[], Any], Tensor]] = []
        self._roots: dict[int, int] = {}  # of tensors that may be views, the one that they may be views of
        self._reshaped: set[int] = set()
        self._asks_for_order = False  # has it asked whether an array lies in some order in memory?
        self.depends_on_order = False  # does it compute another thing for arguments that lie otherwise?
        self.lacks_values = True

    @property
    def sink(self) -> Callable[[tuple[Any, ...]], None]:
        return counting(self._append, self.records)

    def _append(self, entry: tuple[Any, ...]) -> None:
        op, inputs, params, out, code, lasti, before = entry
        is_change = before is not None
        if is_change:  # until now `out` stood for what `before` stands for
            old = self.known_as(out)
            old = self._leaf(before) if old is out else old
            self._name(out, old)
        noted = None
        if "python" in op.facts and type(raw_value(out)) in NUMBERS:
            inputs, noted = with_facts(self, entry)
        operands = tuple([self._operand(x) if isinstance(x, Tensor) else x for x in inputs])
        results = tuple(map(self._result, out)) if type(out) is tuple else self._result(out)
        self.records.append((op, operands, params, results, code, lasti, None))
        if isinstance(results, Tensor):
            self._follow_memory(op, old if is_change else operands[0] if operands else None, results, is_change)
        if is_change:
            self._name(before, old)
            self._changes.append((ref(out), _weak(raw_value(before)), old))
        if noted is not None:
            noted()

    def ask_for_order(self) -> None:
        self._asks_for_order = True

    def _follow_memory(self, op: Op, source: Any, result: Any, is_change: bool) -> None:
        """Note which tensors may share memory if their axes lie in one order or another, and which of these change.

        `reshape` gives a view of memory in the order of C, and of other memory a copy: a change in the one is a change
        in both, or is none.
        """
        root = self._roots.get(id(source), id(source))
        if is_change:
            self._roots[id(result)] = root
            self.depends_on_order |= self._asks_for_order or root in self._reshaped
        elif op.view:
            self._roots[id(result)] = root
            if op is ops.reshape and len(source.shape) > 1:
                self._reshaped.add(root)

    def _name(self, t: Tensor, name: Tensor) -> None:
        self._names[id(t)] = ref(t), name

    def known_as(self, t: Any) -> Any:
        """Return the tensor that stands for another one in the records; itself, if it was not computed here."""
        known = self._names.get(id(t))
        return known[1] if known is not None and known[0]() is t else t

    def _operand(self, t: Tensor) -> Tensor:
        name = self.known_as(t)
        if name is t and not self._is_input(t):
            name = self._leaf(t)
            self._name(t, name)
        return name

    def _is_input(self, t: Tensor) -> bool:
        """Return whether this trace, or recordings outside of it, know the tensor. Then nobody may change it in
        place."""
        rec, mark = current(), t._mark
        if mark is None or rec is None:
            return False
        return any([token is self._token or token not in rec.mark.tokens for token in mark.tokens if token.alive])

    def _leaf(self, t: Tensor) -> Tensor:
        """A constant as it is now: the user's tensor may change in place."""
        return wrap(raw_value(t))

    def _result(self, t: Any) -> Tensor:
        if not isinstance(t, Tensor):  # one of several results, of which the plan of a NumPy call makes no tensor
            return wrap(NotHeld(type_of(t)))
        name = wrap(NotHeld(type_of(raw_value(t))))
        self._name(t, name)
        return name

    def before(self, t: TensorBase, value: Any) -> Tensor | None:
        for tensor, held, name in self._changes:
            if tensor() is t and held() is value:
                old = wrap(value)
                old._mark = self._token
                self._name(old, name)
                return old
        return None

    def slot_of(self, x: Any) -> int | None:
        return super().slot_of(self.known_as(x))

    def made(self, x: Any) -> bool:
        return super().made(self.known_as(x))


def _weak(value: Any) -> Callable[[], Any]:
    """Return a function that gives a value which may be held no longer; numbers are held."""
    return ref(value) if isinstance(value, np.ndarray) else lambda: value
