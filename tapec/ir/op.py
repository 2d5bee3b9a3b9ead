"""An op is one record that says everything about one operation; `OPS` is the table of all ops.

The families in `tapec.ops` fill the table; everything else reads it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any, TypeVar

from tapec.ir.param_types import OP_PARAMS, ParamType

__all__ = ["FAMILIES", "OPS", "OWN_KINDS", "Op", "OpSet", "OpTable", "get_op", "ops", "register", "wrong_params"]

T = TypeVar("T")


class Op:
    """Describes one kind of operation completely: value, type, derivatives, batching, source.

    `run(*values, **params)` computes it with NumPy: the oracle.
    `rule(*types, **params)` gives the result type (a tuple of types when it has several results).
    `params` has the type of each static parameter; an op takes no others. Parser, verifier and emission enforce that.
    Derivatives, written in NumPy on symbolic tensors, in one of these forms:
      `partials(y, *xs, **params)`  elementwise: dy/dx_i for each input (None: no derivative; numbers are allowed);
                               `conjugate` tells that y is no holomorphic function, see `jvp`
      `vjp(ct, y, *xs, **params)`   cotangent of y to cotangents of the inputs
      `jvp(ts, y, *xs, **params)`   tangents of the inputs (None: zero) to the tangent of y; else made from `vjp`
    `linear` lists the inputs in which it is linear (then its jvp is the op itself on tangents).
    `gradient` is "yes", "zero" (derivative known to vanish: sign) or "none" (piecewise constant: None on the tape).
    `batch(axes, size, *xs, **params)` is its batching rule: see `tapec.autodiff.batching`.
    `source` is how it is written: a template such as "{0} + {1}" or "np.sum({0}{params})", or a function
    (args, node) -> text; `out` tells whether it takes `out=`, `inplace` is its augmented operator ("+=").
    `flops(node)` counts the floating point operations of a node, where `ir/flops.py` would not know.
    `scalar` is how it is written on one Python float, or one bool where it is an op on bits: "math.exp({0})".
    `sample` gives inputs for the tests.
    """

    name: str
    run: Callable[..., Any]
    rule: Callable[..., Any]
    kind: str
    params: Mapping[str, ParamType] = MappingProxyType({})
    partials: Callable[..., Any] | None = None
    vjp: Callable[..., Any] | None = None
    jvp: Callable[..., Any] | None = None
    linear: tuple[int, ...] = ()
    gradient: str = "yes"
    batch: Callable[..., Any] | None = None
    source: Any = None
    out: bool = False
    inplace: str | None = None
    flops: Callable[[Any], float] | None = None
    scalar: str | None = None
    sample: Any = None
    numpy: Any = None
    view: bool = False
    commutative: bool = False
    multi: bool = False
    note: str = ""
    facts: dict[str, Any]

    def __init__(self, *, name: str, run: Callable[..., Any], rule: Callable[..., Any], kind: str, **more: Any):
        unknown = more.keys() - Op.__annotations__.keys()
        if unknown:
            raise TypeError(f"an op has no {', '.join(sorted(unknown))}")
        self.name, self.run, self.rule, self.kind, self.facts = name, run, rule, kind, {}
        vars(self).update(more)

    def __repr__(self) -> str:
        return f"<op {self.name}>"

    def __reduce__(self):
        return get_op, (self.name,)


OPS: dict[str, Op] = {}


class OpAttributes:
    """Has every op as an attribute, for code that asks which op a node has: `node.op is ops.multiply`.

    What is no letter, digit or underscore in the name of an op is an underscore here: `ops.scipy_special_xlogy`.
    An op of a family that has not been imported is None, since no node can have it.
    """

    def __getattr__(self, name: str) -> Any:
        return None


ops = OpAttributes()

# what sets and tables hold of ops that have not been defined, by the ops' names: each is called with the op
_AWAITED: dict[str, list[Callable[[Op], None]]] = {}


def _enter(name: str, enter: Callable[[Op], None]) -> None:
    if name in OPS:
        enter(OPS[name])
    else:
        _AWAITED.setdefault(name, []).append(enter)


class OpSet(set[Op]):
    """Holds a set of ops, given by their names: `node.op in OpSet("add subtract")`.

    An op of a family that has not been imported enters the set when it is defined.
    """

    def __init__(self, names: str | Iterable[str]):
        self.names = frozenset(names.split() if isinstance(names, str) else names)
        for name in self.names:
            _enter(name, self.add)

    def __or__(self, others: OpSet) -> OpSet:  # type: ignore[override]
        return OpSet(self.names | others.names)


class OpTable(dict[Op, T]):
    """A table holds what an analysis knows of each op. It is entered by names, and read by ops: `TABLE.get(node.op)`.

    A name may be a text of several names.

    An op of a family that has not been imported enters the table when it is defined.
    """

    def __init__(self, entries: Mapping[str, T]):
        self.entries = {name: entry for names, entry in entries.items() for name in names.split()}
        for name in self.entries:
            _enter(name, self._add)

    def _add(self, op: Op) -> None:
        self[op] = self.entries[op.name]

    def __or__(self, others: OpTable[T]) -> OpTable[T]:  # type: ignore[override]
        return OpTable(self.entries | others.entries)


# kinds of ops whose nodes stand for themselves, however equal: two of them are never one
OWN_KINDS = frozenset({"call", "guard", "dynamic"})


def register(op: Op) -> Op:
    """Put an op into the table; a name can be taken once."""
    if op.name in OPS:
        raise ValueError(f"op {op.name!r} is defined twice")
    OPS[op.name] = op
    setattr(ops, re.sub(r"\W", "_", op.name), op)
    for enter in _AWAITED.pop(op.name, ()):
        enter(op)
    return op


# families whose ops are defined when first asked for: the beginning of their names ("": any), and who finds them
FAMILIES: dict[str, Callable[[str], Op | None]] = {}


def get_op(name: str) -> Op:
    """The op of a name; KeyError when there is none.

    Whoever reads a graph, from text or from a pickle, may be the first to need the ops: they enter themselves.
    """
    op = OPS.get(name)
    if op is not None:
        return op
    for head in sorted(FAMILIES, key=len, reverse=True):
        if name.startswith(head):
            op = FAMILIES[head](name)
            if op is not None:
                return op
    raise KeyError(name)


def wrong_params(op: Op, params: Any) -> str | None:
    """Return how static parameters differ from what an op declares; None when they do not."""
    declared = op.params
    if not params and not declared:
        return None
    given: dict[str, Any] = {}
    for entry in params:
        if type(entry) is not tuple or len(entry) != 2:
            return f"has the parameter {entry!r:.60}, which is no pair of a name and a value"
        name, value = entry
        if type(name) is not str or name not in declared:
            return f"has the parameter {name!r:.60}, which {op.name} does not take"
        if name in given:
            return f"has the parameter {name} twice"
        if not declared[name].holds(value):
            return f"has {value!r:.60} as {name}, which should be {declared[name].what}"
        given[name] = value
    for name, t in declared.items():
        if t.needed and name not in given:
            return f"lacks the parameter {name}"
        if t is OP_PARAMS:
            try:
                inner = get_op(given["op"])
            except KeyError:
                return f"has {given['op']!r:.60} as op, which should be the name of an op"
            return wrong_params(inner, given[name])
    return None
