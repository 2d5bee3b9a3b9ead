"""Functions that look at values of plain integers or truth values: a plan for each of those that come again.

`np.bincount(groups, weights=x)` is as long as the largest group asks for, `np.repeat(x, counts)` as all counts. What
such arrays hold is compared at each call, so they may change in place; what followed from it is a constant of the plan.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from tapec.ops.array import run
from tapec.trace.asking import answer, is_operand, may_decide, plan_for
from tapec.trace.recorder import current
from tapec.trace.steps import Plan
from tapec.trace.tensor import Tensor

__all__ = ["plan_by_value"]

_FEW = 32  # values with which a call is remembered: if it gets others each time, it is called each time


def plan_by_value(ours: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Plan | None:
    """A plan that chooses among plans; None where the function does not answer even so."""
    operands: list[Any] = []
    fill = _filler((args, tuple(kwargs.values())), operands)
    places = [k for k, a in enumerate(operands) if may_decide(a)]
    if not places or answer(ours, args, kwargs, shown=True) is None:
        return None
    return _ByValue(ours, places, fill, tuple(kwargs)).follow


class _ByValue:
    """Chooses by what the operands at some places hold. In a traced function they are inputs, whatever they hold."""

    __slots__ = ("fill", "known", "names", "ours", "places")

    def __init__(self, ours: Any, places: list[int], fill: Callable[[Iterator[Any]], Any], names: tuple[str, ...]):
        self.ours = ours
        self.places = places[0], places[1:]
        self.fill = fill
        self.names = names
        self.known: dict[bytes, Any] = {}  # False: came once, None: there is no plan

    def follow(self, operands: tuple[Any, ...], values: list[Any], depth: int) -> Any:
        rec = current()
        if rec is not None and rec.trace is not None:
            return self.run(operands)
        first, more = self.places
        if type(operands[first]) is Tensor:
            return self.run(operands)
        said = values[first].tobytes()
        for k in more:
            if type(operands[k]) is Tensor:
                return self.run(operands)
            said += values[k].tobytes()  # so many of each: shapes and dtypes were asked for before
        plan = self.known.get(said)
        return plan(operands, values, depth + 1) if plan else self.unplanned(said, operands)

    def unplanned(self, said: bytes, operands: tuple[Any, ...]) -> Any:
        if said in self.known:
            if self.known[said] is False:
                args, kwargs = self.arguments(operands)
                found = answer(self.ours, args, kwargs, shown=True)
                self.known[said] = None if found is None else plan_for(found, self.ours, args, kwargs)
        elif len(self.known) < _FEW:
            self.known[said] = False
        return self.run(operands)

    def run(self, operands: tuple[Any, ...]) -> Any:
        return run(self.ours, *self.arguments(operands))

    def arguments(self, operands: tuple[Any, ...]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        args, more = self.fill(iter(operands))
        return args, dict(zip(self.names, more))


def _filler(a: Any, operands: list[Any]) -> Callable[[Iterator[Any]], Any]:
    """A function of operands, one after the other, that makes the argument anew; these are listed."""
    if type(a) in (list, tuple):
        parts = [_filler(item, operands) for item in a]
        return lambda given: type(a)([part(given) for part in parts])
    if not is_operand(a):
        return lambda given: a
    operands.append(a)
    return next
