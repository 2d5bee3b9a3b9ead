"""Define `Log`: the records of one recording, its structure (the cache key), and the graph it stands for.

A log is scanned once, in order. Every value in it gets a slot: leaves (tensors, arrays, Python numbers) where they are
first read, results where they are made. An object's slot may change: after an in-place change the same tensor stands
for a new value, and the record keeps the old one.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from math import copysign
from typing import Any

import numpy as np

from tapec.autodiff.compose.inline_graph import copy_into
from tapec.fast_namedtuple import NamedTuple
from tapec.ir import Builder, Node, ops
from tapec.ir.node import parted
from tapec.ir.types import NUMBERS, Type, type_of
from tapec.ops.control.select_and_call import CALL, GUARD, LENGTH
from tapec.trace import classes
from tapec.trace.classes import TensorBase, raw_value, set_raw_value
from tapec.trace.inplace.array_snapshots import Snapshot, is_unchanged
from tapec.trace.perform import run_op
from tapec.trace.scalar_kinds import scalar_kind

__all__ = ["Log", "NotHeld"]

_ndarray = np.ndarray
_NONE: dict[int, Any] = {}  # most logs have none


class NotHeld(NamedTuple):
    """Stands, with its type, for a value that the log no longer holds, or does not need."""

    type: Type

    @property
    def shape(self) -> tuple[int, ...]:
        return self.type.shape

    @property
    def dtype(self) -> np.dtype:
        return self.type.dtype


class Log:
    """Keeps the records of one recording in order, and what a scan found in them so far.

    `objects[s]` and `held[s]` are what slot s holds, `index` finds the slot of an object by identity, `scalars` lists
    (slot, number) of the Python numbers, which are no part of the key. The first `given` slots were given before
    anything was recorded: the arguments of a traced function. `leaves` are, in order, the slots of what was given or
    found; the others were computed. Plain arrays may change in place after they were recorded: `seen` keeps what they
    held.
    `lacks_values` tells that some values are not held, since a gradient that failed has freed them (see `dead_values`),
    or the log is that of a traced function: they are computed when somebody asks for all `values`. `rules` are the
    gradient functions that calls brought with them, by the identity of the calls' results: they hold values, and are no
    part of the structure.
    """

    __slots__ = (
        "_arrays",
        "_parts",
        "_places",
        "_scanned",
        "given",
        "held",
        "index",
        "lacks_values",
        "leaves",
        "objects",
        "records",
        "rules",
        "scalars",
    )

    def __init__(self) -> None:
        self.records: list[tuple[Any, ...]] = []
        self.clear()

    def clear(self) -> None:
        """Forget everything, and let go of every array."""
        self.records.clear()
        self.rules = _NONE
        self._scanned = 0
        self._arrays: dict[int, Snapshot] = {}
        self._places: dict[int, tuple[np.ndarray, np.ndarray, tuple[np.ndarray, ...]]] | None = None
        self.given = 0
        self.index: dict[int, int] = {}
        self._parts: tuple[list[Any], ...] = ([], [], [], [], [])
        self.leaves: list[int] = []
        self.objects: list[Any] = []
        self.held: list[Any] = []
        self.lacks_values = False
        self.scalars: list[tuple[int, Any]] = []

    @property
    def sink(self) -> Callable[[tuple[Any, ...]], None]:
        """The function that takes a record."""
        return self.records.append

    @property
    def values(self) -> list[Any]:
        """The values of all slots; those that are not held are computed again."""
        if self.lacks_values:
            self.compute_again()
        return self.held

    @property
    def key(self) -> tuple[tuple[Any, ...], ...]:
        """The structure of what has been scanned, in parts: operations, dtypes, shapes, parameters, and guards.

        Operations are ops and the slots of their operands. Each leaf has a dtype, or what `scalar_kind` tells of a
        number, and arrays have a shape; so have results whose shapes depend on values. Each operation has parameters,
        and each guard its kind and value.
        """
        operations, dtypes, shapes, params, guards = self._parts
        return tuple(operations), tuple(dtypes), tuple(shapes), tuple(params), tuple(guards)

    @property
    def behind(self) -> bool:
        """Return whether records have come since the last scan."""
        return self._scanned != len(self.records)

    def scan(self) -> None:
        """Take in the records made since the last scan."""
        records = self.records
        if self._scanned == len(records):
            return
        index, leaves, objects, values = self.index, self.leaves, self.objects, self.held
        operations, dtypes, shapes, params, guards = self._parts
        for op, inputs, static, out, _, _, before in records[self._scanned :] if self._scanned else records:
            operations.append(op)
            if op is GUARD:
                guards.append(static)
            else:
                params.append(static)
            for x in inputs:
                identity = id(x)
                slot = index.get(identity)
                if slot is None:
                    kind = type(x)
                    if kind is classes.Tensor:
                        value = x._value if x._link is None else raw_value(x)
                    elif kind is _ndarray:
                        known = self._arrays.get(identity)
                        value = x if known is None else known[1]
                    elif kind in NUMBERS:  # as `leaf` has it, as are arrays below: the commonest of leaves
                        plain = kind is int or (kind is float and (x or copysign(1.0, x) > 0))
                        dtypes.append(kind if plain else scalar_kind(x))
                        operations.append(len(objects))
                        self.scalars.append((len(objects), x))
                        objects.append(x)
                        values.append(x)
                        continue
                    else:
                        value = x
                    if type(value) not in NUMBERS:
                        slot = index[identity] = len(objects)
                        leaves.append(slot)
                        objects.append(x)
                        values.append(value)
                        dtypes.append(value.dtype)
                        shapes.append(value.shape)
                    else:
                        slot = self.leaf(x)
                operations.append(slot)
            if before is not None:  # an in-place change: another tensor stands for what this one was until then
                operations.append("in place")
                old = index.get(id(out))
                if old is not None:
                    objects[old] = before
                    index[id(before)] = old
                    values[old] = before._value
            if type(out) is classes.Tensor:
                index[id(out)] = len(objects)
                objects.append(out)
                values.append(out._value if out._link is None else raw_value(out))
            else:
                for part in out if type(out) is tuple else (out,):
                    index[id(part)] = len(objects)
                    objects.append(part)
                    values.append(raw_value(part) if isinstance(part, TensorBase) else part)
            if op.kind == "dynamic":  # the shape of the result depends on values
                shapes.append(tuple([part.shape for part in (out if type(out) is tuple else (out,))]))
        self._scanned = len(records)

    def seen(self, array: np.ndarray) -> np.ndarray:
        """Return what stands for a plain array in a record: itself, or a copy when it has changed since it was first
        read."""
        known = self._arrays.get(id(array))
        if known is None or not is_unchanged(array, known[2]):
            now = array.copy("K")
            known = self._arrays[id(array)] = array, now if known is None else known[1], now
        _, first, last = known
        return array if last is first else last

    def places(self, mask: np.ndarray) -> tuple[np.ndarray, ...]:
        """Return where a plain mask is true. As long as the mask holds the same, it is the same arrays: records know
        them by identity."""
        if self._places is None:
            self._places = {}
        known = self._places.get(id(mask))
        if known is None or not is_unchanged(mask, known[1]):
            known = self._places[id(mask)] = (mask, mask.copy(), mask.nonzero())
        return known[2]

    def copied(self, array: np.ndarray) -> bool:
        """Return whether an array is a copy that `seen` made, which nobody else holds."""
        return id(array) not in self._arrays

    def replace(self, t: TensorBase, value: np.ndarray) -> None:
        """Let a tensor hold an equal array, and with it what was scanned."""
        set_raw_value(t, value)
        slot = self.index.get(id(t)) if self._scanned else None
        if slot is not None and self.objects[slot] is t:
            self.held[slot] = value

    def made(self, x: Any) -> bool:
        """Return whether x was computed in this recording, and not given to it.

        The last records are asked first: that spares scanning the log each time.
        """
        for entry in self.records[:-9:-1]:
            if entry[3] is x:
                return True
        self.scan()
        slot = self.index.get(id(x))
        if slot is None:
            return False
        k = bisect_left(self.leaves, slot)
        return k == len(self.leaves) or self.leaves[k] != slot

    def ask_for_order(self) -> None:
        """Note that the run has asked whether an array lies in some order in memory."""

    def before(self, t: TensorBase, value: Any) -> TensorBase | None:
        """Return what stands for a tensor as it was when it had this value, before it changed in place."""
        changes = [entry[6] for entry in self.records if entry[6] is not None and entry[3] is t]
        return next((old for old in changes if old._value is value), None)

    def set_rule(self, results: tuple[TensorBase, ...], rule: Any) -> None:
        """Remember the gradient function that an operation with these results brought with it."""
        if self.rules is _NONE:
            self.rules = {}
        self.rules[id(results)] = rule

    def give(self, tensors: Sequence[TensorBase]) -> None:
        """Let these tensors have the first slots, used or not."""
        for t in tensors:
            self.leaf(t)
        self.given = len(self.objects)
        self._parts[0].append(self.given)

    def leaf(self, x: Any) -> int:
        """A slot for something that was not made in this log."""
        slot = self.index[id(x)] = len(self.objects)
        self.objects.append(x)
        self.leaves.append(slot)
        if isinstance(x, TensorBase):
            value = raw_value(x)
        else:
            known = self._arrays.get(id(x))
            value = x if known is None else known[1]
        _, dtypes, shapes, _, _ = self._parts
        if type(value) in NUMBERS:
            dtypes.append(scalar_kind(value))
        else:
            dtypes.append(value.dtype)
            shapes.append(value.shape)
        self.held.append(value)
        return slot

    def slot_of(self, x: Any) -> int | None:
        return self.index.get(id(x))

    def type_of(self, slot: int) -> Type:
        """Return the type of the value in a slot, also of one that is not held or was not computed."""
        x = self.held[slot]
        return getattr(x, "type", None) or type_of(x)

    # -- graph ---------------------------------------------------------------------------------------------------
    def graph(
        self,
        builder: Builder,
        leaf: Callable[[int, Any], Node],
        guard: Callable[[Node, Any, Any, Any], None] | None = None,
    ) -> list[Any]:
        """Build the recorded program; gives the node of each slot.

        `leaf(slot, object)` makes the node of a leaf; `guard(node, kind, value, origin)` hears of each guard.
        """
        nodes: list[Any] = [None] * len(self.objects)
        for slot, x in enumerate(self.objects[: self.given]):
            nodes[slot] = leaf(slot, x)
        for entry, places, slot in self.steps():
            op, _, params, out, code, lasti, _ = entry
            for k in places:
                if nodes[k] is None:
                    nodes[k] = leaf(k, self.objects[k])
            ins = [nodes[k] for k in places]
            if op is GUARD:
                if guard is not None:
                    guard(ins[0], params[0][1], params[1][1], (code, lasti))
                continue
            if op is CALL:
                made = copy_into(builder, params[0][1][0], tuple(ins), merge=False)
            else:
                types = tuple([self.type_of(slot + j) for j in range(len(out))]) if op.multi else self.type_of(slot)
                static, bodies = parted(params) if op.bodies else (params, ())
                node = builder.append(Node(op, tuple(ins), static, types, (code, lasti), bodies=bodies))
                made = list(builder.items(node)) if op.multi else [node]
                if op.kind == "dynamic" and guard is not None:
                    self._guard_lengths(builder, node, made, guard)
            nodes[slot : slot + len(made)] = made
        return nodes

    def steps(self) -> Iterator[tuple[tuple[Any, ...], list[int], int]]:
        """Yield each record with the slots of its inputs and the first slot of its results."""
        index = {id(x): slot for slot, x in enumerate(self.objects[: self.given])}
        end = self.given
        for entry in self.records[: self._scanned]:
            places = []
            for x in entry[1]:
                k = None if type(x) in NUMBERS else index.get(id(x))
                if k is None:
                    k = end
                    end += 1
                    if type(x) not in NUMBERS:
                        index[id(x)] = k
                places.append(k)
            yield entry, places, end
            out, before = entry[3], entry[6]
            if before is not None and id(out) in index:
                index[id(before)] = index[id(out)]
            for part in out if type(out) is tuple else (out,):
                index[id(part)] = end
                end += 1

    def compute_again(self) -> None:
        """Compute the values that are not held.

        Either a gradient failed after the tape had freed them, or the log is that of a traced function.
        """
        held = self.held
        with np.errstate(all="ignore"):  # it was said the first time
            for entry, places, slot in self.steps():
                op, _, params, out, *_ = entry
                if op is not GUARD and type(held[slot]) is NotHeld:
                    value = run_op(op, [held[k] for k in places], params)
                    for k, (t, v) in enumerate(zip(out, value) if op.multi else [(out, value)], slot):
                        held[k] = v[()] if type(v) is _ndarray and not v.ndim else v
                        set_raw_value(t, held[k])
        self.lacks_values = False

    def _guard_lengths(self, builder: Builder, node: Node, made: list[Node], guard: Any) -> None:
        """Guard the lengths of these results: the operations that follow are recorded for them."""
        k = next((k for k, result in enumerate(made) if result.type.ndim == 1), 0)  # which the other shapes share
        if made[k].type.shape:
            what = (("op", node.op.name), ("params", node.params), ("index", k))
            inputs = node.inputs[:1] if node.op is ops.bincount else node.inputs  # weights count for nothing
            length = builder.emit(LENGTH, inputs, what, node.origin)
            guard(length, len, made[k].type.shape[0], node.origin)
