"""An op is one record that says everything about one operation; `OPS` is the table of all ops.

The families in `tapec.ops` fill the table; everything else reads it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any, TypeVar

from tapec.ir.param_types import OP_PARAMS, ParamType

__all__ = [
    "FAMILIES",
    "OPS",
    "OWN_KINDS",
    "Op",
    "OpSet",
    "OpTable",
    "get_op",
    "ops",
    "register",
    "wrong_bodies",
    "wrong_params",
]

T = TypeVar("T")


class Op:
    """Describes one kind of operation completely: value, type, derivatives, batching, source.

    Parameters
    ----------
    name : str
        The name, by which `get_op` finds it.
    run : callable
        `run(*values, **params)` computes it with NumPy: what else computes it is compared with that.
    rule : callable
        `rule(*types, **params)` gives the type of the result; a tuple of types when it has several results.
    kind : str
        What sort of operation it is: "elementwise", "reduction", "layout", ...
    **more : object
        Other attributes, of those below.

    Attributes
    ----------
    params : mapping
        The type of each static parameter. The op takes no others: parser, verifier and emission enforce that.
    partials : callable or None
        `partials(y, *xs, **params)`, of elementwise ops, gives dy/dx for each input: None for no derivative, a
        number, or an array; `conjugate` tells that y is no holomorphic function.
    vjp : callable or None
        `vjp(ct, y, *xs, **params)` takes the cotangent of y to cotangents of the inputs.
    jvp : callable or None
        `jvp(ts, y, *xs, **params)` takes tangents of the inputs (None: zero) to the tangent of y. It is made from
        `vjp` where there is none.
    linear : tuple of int
        The inputs in which it is linear: then its jvp is the op itself on tangents.
    gradient : str
        "yes", "zero" where the derivative is known to vanish, or "none" where it is piecewise constant: None on the
        tape.
    decompose : callable or None
        `decompose(*xs, **params)` computes it with other ops, for targets that do not write it; None where it has no
        answer for these operands.
    batch : callable or None
        `batch(axes, size, *xs, **params)` is its batching rule: `tapec.autodiff.batching` says more.
    source : str, callable or None
        How it is written: a template such as "{0} + {1}" or "np.sum({0}{params})", or a function `(args, node) ->
        text`.
    out : bool
        Whether it takes `out=`.
    inplace : str or None
        Its augmented operator, such as "+=".
    flops : callable or None
        `flops(node)` counts the floating point operations of a node, where `ir/flops.py` would not know.
    scalar : str or None
        How it is written on one Python float, or one bool where it is an op on bits: "math.exp({0})".
    sample : object
        Inputs for the tests.
    numpy : object
        NumPy's function that it stands for.
    view : bool
        Whether the result may share memory with an input.
    commutative : bool
        Whether its two inputs may change places.
    multi : bool
        Whether it has several results.
    note : str
        What there is to tell about it in tables.
    bodies : tuple of int
        How many bodies, which are graphs, a node of it may have. Where that is not empty, `run`, `rule` and the other
        functions take them as `bodies=`, a tuple of graphs.
    facts : dict
        What families of ops have noted of it.

    Raises
    ------
    TypeError
        If there is no such attribute.

    Notes
    -----
    Derivatives are written in NumPy on symbolic tensors, in one of the forms `partials`, `vjp`, `jvp`.

    Examples
    --------
    >>> import numpy as np, tapec
    >>> sin = tapec.ir.get_op("sin")
    >>> sin.kind, sin.numpy, sin.run(0.0)
    ('elementwise', <ufunc 'sin'>, np.float64(0.0))

    See Also
    --------
    tapec.ir.get_op : finds an op by its name
    tapec.ir.register : puts it into the table
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
    decompose: Callable[..., Any] | None = None
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
    bodies: tuple[int, ...] = ()
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

    Parameters
    ----------
    names : str or iterable of str
        The names; a text has several, with blanks between them.

    Examples
    --------
    >>> import tapec
    >>> sums = tapec.ir.OpSet("add subtract")
    >>> tapec.ir.get_op("add") in sums, tapec.ir.get_op("multiply") in sums
    (True, False)

    See Also
    --------
    tapec.ir.OpTable : with a value for each op
    """

    def __init__(self, names: str | Iterable[str]):
        self.names = frozenset(names.split() if isinstance(names, str) else names)
        for name in self.names:
            _enter(name, self.add)

    def __or__(self, others: OpSet) -> OpSet:  # type: ignore[override]
        return OpSet(self.names | others.names)


class OpTable(dict[Op, T]):
    """Holds what an analysis knows of each op: it is entered by names, and read by ops.

    An op of a family that has not been imported enters the table when it is defined.

    Parameters
    ----------
    entries : mapping
        The values by names of ops; a name may be a text of several names, with blanks between them.

    Examples
    --------
    >>> import tapec
    >>> table = tapec.ir.OpTable({"add subtract": "a sum"})
    >>> table.get(tapec.ir.get_op("add"))
    'a sum'

    See Also
    --------
    tapec.ir.OpSet : names alone
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
    """Put an op into the table of all ops.

    Parameters
    ----------
    op : Op
        The op.

    Returns
    -------
    Op
        The op itself.

    Raises
    ------
    ValueError
        If there is an op of this name.

    Examples
    --------
    >>> import tapec
    >>> tapec.ir.register(tapec.ir.get_op("sin"))
    Traceback (most recent call last):
    ValueError: op 'sin' is defined twice

    See Also
    --------
    tapec.ir.get_op : finds it again
    """
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
    """Return the op of a name.

    A family of ops that has not been imported is imported then.

    Parameters
    ----------
    name : str
        The name.

    Returns
    -------
    Op
        The op.

    Raises
    ------
    KeyError
        If there is none of this name.

    Examples
    --------
    >>> import tapec
    >>> tapec.ir.get_op("sin")
    <op sin>

    See Also
    --------
    tapec.ir.Op : what is known of it
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


def wrong_bodies(op: Op, bodies: tuple[Any, ...]) -> str | None:
    """Return how bodies differ from those that an op has; None when they do not."""
    if len(bodies) in op.bodies or (not bodies and not op.bodies):
        return None
    should = " or ".join(map(str, op.bodies)) or "none"
    return f"has {len(bodies)} {'body' if len(bodies) == 1 else 'bodies'}, and {op.name} has {should}"


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
