"""Define `cond`, `scan`, `fori_loop`, `while_loop`: control flow that is one operation of a traced function.

Where nothing is traced they are what Python would do. A traced function has them as ops with bodies: their code does
not grow with the number of turns, and no path or guard depends on values.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any

import numpy as np

from tapec.api.custom.gradient_watcher import Found, UnknownsTrace, parts_of_result
from tapec.errors import UnsupportedError, at_user_line
from tapec.fast_namedtuple import NamedTuple
from tapec.ir import Builder, Graph, Type, input_node, interpret, type_of
from tapec.ir.types import NUMBERS
from tapec.ops import ArrayLike, Symbol, apply
from tapec.ops.control.cond import COND
from tapec.ops.control.loop import loop
from tapec.pytree import flatten, unflatten
from tapec.trace.capture.captured_paths import cell_contents, generator_state, is_generator
from tapec.trace.capture.random_state import states
from tapec.trace.classes import wrap
from tapec.trace.recording_stack import CURRENT, Recorder, captures_now, unrecorded
from tapec.trace.tensor import Tensor
from tapec.tracebacks import shortens

__all__ = ["cond", "fori_loop", "scan", "while_loop"]


@shortens
def cond(predicate: Any, then: Callable[..., Any], otherwise: Callable[..., Any], *operands: Any) -> Any:
    """Return what one of two functions returns, as a predicate says.

    In a traced function both are traced, and the code has an `if` with both: no path depends on the predicate. Under
    `tapec.vmap`, where it may differ from example to example, both run, and each example gets its own.

    Parameters
    ----------
    predicate : bool or number
        What decides: one value.
    then : callable
        It takes the operands, and runs where the predicate holds.
    otherwise : callable
        It runs where the predicate does not hold, and returns the same structure of arrays of the same shapes and
        dtypes.
    *operands : array, number, or nested structure
        What the functions take. They may use other values around them, too.

    Returns
    -------
    array, number, or nested structure
        What the function that ran returns.

    Raises
    ------
    ValueError
        If the predicate is not one value.
    TypeError
        In a traced function, if the functions return other structures, shapes or dtypes.
    DetachError
        In a traced function, if one of the functions looks at the value of an operand, as `if x > 0` does.

    Examples
    --------
    >>> import numpy as np, tapec
    >>> f = lambda x: tapec.cond(x > 0.0, np.sqrt, lambda x: 0.0 * x, x)
    >>> tapec.vmap(tapec.grad(f))(np.array([4.0, 0.0, -1.0]))
    array([0.25, 0.  , 0.  ])

    See Also
    --------
    tapec.while_loop : a function again and again, while a condition holds
    """
    if np.shape(predicate):
        raise ValueError(at_user_line(f"the predicate is one value, not an array of shape {np.shape(predicate)}"))
    if not isinstance(predicate, ArrayLike) or not _is_traced():
        return then(*operands) if predicate else otherwise(*operands)
    given = _Values.of(operands)
    bodies = [_Body("cond", f, given) for f in (then, otherwise)]
    first, second = bodies
    if first.structure != second.structure:
        raise TypeError(at_user_line("cond: the two functions return other structures"))
    kinds = [_common("cond", a, b) for a, b in zip(first.types, second.types, strict=True)]
    captured = [*first.captured, *second.captured]
    graphs = tuple([body.among(bodies, kinds, f"cond_{k}") for k, body in enumerate(bodies)])
    asked = predicate if predicate.dtype == bool else predicate != 0
    found = apply(COND, (asked, *given.leaves, *captured), (("bodies", graphs),))
    return formed(first.structure, list(found))


@shortens
def scan(step: Callable[..., Any], init: Any, xs: Any = None, length: int | None = None) -> Any:
    """Return what a function makes of a value, row by row of arrays, and what it gives for each row.

    In a traced function it is one loop, of any length: tracing and code do not grow with it.

    Parameters
    ----------
    step : callable
        `step(carry, x)` returns the next carry and what is collected, `(carry, y)`. `x` is a row of each array.
    init : array, number, or nested structure
        The first carry. The carry keeps its shapes and dtypes from step to step.
    xs : array or nested structure, default None
        Arrays with the same number of rows. Without any, `step` gets None.
    length : int, default None
        The number of steps; needed where there are no arrays.

    Returns
    -------
    carry : array, number, or nested structure
        The last carry.
    ys : array or nested structure
        What was collected: arrays with one more axis, in front.

    Raises
    ------
    ValueError
        If the number of steps is not known, or arrays have other numbers of rows.
    TypeError
        In a traced function, if the carry changes its structure or shapes.
    DetachError
        In a traced function, if `step` looks at the value of a carry or row, as `if x > 0` does.

    Examples
    --------
    >>> import numpy as np, tapec
    >>> def decay(rate, x):
    ...     return tapec.scan(lambda s, x: (rate * s + x, s), 0.0, x)
    >>> decay(0.5, np.ones(3))
    (np.float64(1.75), array([0. , 1. , 1.5]))
    >>> tapec.grad(lambda rate, x: decay(rate, x)[0])(0.5, np.ones(3))
    np.float64(2.0)

    See Also
    --------
    tapec.fori_loop : nothing is collected, and steps are numbered
    tapec.while_loop : as long as a condition holds
    """
    rows, structure = flat(xs)
    rows = [x if isinstance(x, ArrayLike) else np.asarray(x) for x in rows]
    lengths = {x.shape[0] for x in rows if x.shape} | ({int(length)} if length is not None else set())
    if len(lengths) != 1 or not all([x.shape for x in rows]):
        raise ValueError(at_user_line("scan: the number of steps is that of the rows of all arrays, or the length"))
    (count,) = lengths
    if not _is_traced():
        return _scanned(step, init, rows, structure, count)
    carry = _Values.of(init)
    turn: list[Any] = [x[0] if count else np.zeros(x.shape[1:], x.dtype)[()] for x in rows]

    def one(state: Any, x: Any) -> Any:
        found = step(state, x)
        if not isinstance(found, tuple) or len(found) != 2:
            raise TypeError(at_user_line("scan: the step returns a pair, the next carry and what is collected"))
        return found

    carry, body, n = _settled("scan", one, carry, _Values(structure, [unrecorded(_value, x) for x in turn]))
    graph = body.alone([*carry.types, *body.types[n:]], "scan_step", n)
    found = loop((graph,), body.captured, carry.leaves, rows, count)
    return formed(carry.structure, list(found[:n])), formed(body.structures[1], list(found[n:]))


@shortens
def fori_loop(lower: Any, upper: Any, step: Callable[..., Any], init: Any) -> Any:
    """Return what a function makes of a value, once for each number from `lower` to just before `upper`.

    In a traced function it is one loop. Its gradient keeps a few values for each step where both numbers are Python's
    or NumPy's; for numbers that are computed in the function no array could hold them, and the loop runs again up
    to each stretch of 32 steps: the gradient of n steps takes some n² / 64 more.

    Parameters
    ----------
    lower : int
        The first number.
    upper : int
        The number that comes after the last.
    step : callable
        `step(i, carry)` returns the next carry.
    init : array, number, or nested structure
        The first carry. The carry keeps its shapes and dtypes from step to step.

    Returns
    -------
    array, number, or nested structure
        The last carry.

    Raises
    ------
    TypeError
        In a traced function, if the carry changes its structure or shapes.
    DetachError
        In a traced function, if `step` looks at the value of `i` or of the carry, as `if i > 0` does.

    Examples
    --------
    >>> import tapec
    >>> power = lambda x: tapec.fori_loop(0, 5, lambda i, y: y * x, 1.0)
    >>> power(2.0), tapec.grad(power)(2.0)
    (32.0, np.float64(80.0))

    See Also
    --------
    tapec.scan : rows of arrays, and results that are collected
    """
    if not _is_traced():
        found = init
        for i in range(int(lower), int(upper)):
            found = step(i, found)
        return found
    numbered = _Values.of((_whole(lower), init))

    def one(state: Any, x: Any) -> Any:
        i, carry = state
        return (i + 1, step(i, carry)), ()

    carry, body, n = _settled("fori_loop", one, numbered, _Values.of(()))
    graph = body.alone(carry.types, "fori_loop_step", n)
    is_static = not isinstance(lower, ArrayLike) and not isinstance(upper, ArrayLike)
    count = max(0, int(upper) - int(lower)) if is_static else _tensor(_whole(upper) - _whole(lower))
    found = loop((graph,), body.captured, carry.leaves, (), count)
    return formed(carry.structure, list(found))[1]


@shortens
def while_loop(condition: Callable[..., Any], step: Callable[..., Any], init: Any) -> Any:
    """Return what a function makes of a value, again and again as long as a condition holds.

    In a traced function it is one loop, and no path for each number of steps. Its gradient counts the steps, and then
    runs the loop again up to each stretch of 32: the gradient of n steps takes some n² / 64 more. Under `tapec.vmap`
    each example stops by itself.

    Parameters
    ----------
    condition : callable
        It takes the carry, and returns whether there is another step.
    step : callable
        It takes the carry, and returns the next one.
    init : array, number, or nested structure
        The first carry. The carry keeps its shapes and dtypes from step to step.

    Returns
    -------
    array, number, or nested structure
        The last carry.

    Raises
    ------
    TypeError
        In a traced function, if the carry changes its structure or shapes.
    DetachError
        In a traced function, if one of the functions looks at the value of the carry, as `if x > 0` does.

    Examples
    --------
    >>> import numpy as np, tapec
    >>> def square_root(a):
    ...     return tapec.while_loop(lambda x: abs(x * x - a) > 1e-12, lambda x: 0.5 * (x + a / x), a)
    >>> tapec.vmap(tapec.grad(square_root))(np.array([4.0, 25.0]))
    array([0.25, 0.1 ])

    See Also
    --------
    tapec.fori_loop : the number of steps is known
    tapec.fixed_point : a solution found by iteration, whose gradient does not depend on the steps
    """
    if not _is_traced():
        found = init
        while condition(found):
            found = step(found)
        return found
    carry, body, n = _settled("while_loop", lambda state, x: (step(state), ()), _Values.of(init), _Values.of(()))
    asked = _Body("while_loop", condition, _Values.of((formed(carry.structure, carry.leaves),)))
    if len(asked.types) != 1 or asked.types[0].shape:
        raise TypeError(at_user_line("while_loop: the condition returns one value"))
    bodies = (
        body.among([body, asked], carry.types, "while_loop_step", n, first=True),
        asked.among([body, asked], [Type((), np.dtype(bool))], "while_loop_condition", n, first=True),
    )
    found = loop(bodies, [*body.captured, *asked.captured], carry.leaves)
    return formed(carry.structure, list(found))


# ---------------------------------------------------------------------------------------------------------------
# outside of traced functions
# ---------------------------------------------------------------------------------------------------------------
def _is_traced() -> bool:
    """Return whether a function is being traced. On a tape, Python runs a loop, and records what it does."""
    rec = CURRENT.get()
    return rec is not None and rec.trace is not None


def _scanned(step: Callable[..., Any], init: Any, rows: list[Any], structure: Any, count: int) -> Any:
    carry, collected = init, []
    for k in range(count):
        carry, y = step(carry, formed(structure, [x[k] for x in rows]))
        collected.append(y)
    if not count:  # what it would be like is known from a step on zeros
        zeros = formed(structure, [np.zeros(x.shape[1:], x.dtype)[()] for x in rows])
        with np.errstate(all="ignore"):
            _, y = unrecorded(step, carry, zeros)
        leaves, form = flat(y)
        return carry, formed(form, [np.zeros((0, *np.shape(x)), np.asarray(_value(x)).dtype) for x in leaves])
    columns = [np.stack(column) for column in zip(*[flat(y)[0] for y in collected], strict=True)]
    return carry, formed(flat(collected[0])[1], columns)


# ---------------------------------------------------------------------------------------------------------------
# bodies
# ---------------------------------------------------------------------------------------------------------------
def flat(x: Any) -> tuple[list[Any], Any]:
    """Return the leaves of a nested structure but for those that are None, and its form."""
    leaves: list[Any] = []
    tree = flatten(x, leaves)
    return [leaf for leaf in leaves if leaf is not None], (tree, tuple([leaf is None for leaf in leaves]))


def formed(form: Any, leaves: Sequence[Any]) -> Any:
    """Return the structure of this form with these leaves."""
    tree, is_none = form
    left = iter(leaves)
    return unflatten(tree, [None if none else next(left) for none in is_none])


def _value(x: Any) -> Any:
    """Return the value of a tensor; anything else as it is."""
    return x._tapec_read()._value if isinstance(x, ArrayLike) else x


def _are_equal(a: Any, b: Any) -> bool:
    return a is b or np.array_equal(_value(a), _value(b), equal_nan=True)


def _are_one(a: Any, b: Any) -> bool:
    return a is b or (type(a) is type(b) and isinstance(a, (tuple, dict)) and a == b)


def _around(function: Any) -> list[Any]:
    """Return what variables around a function hold, and the states of the generators of random numbers in reach."""
    captures = captures_now()
    held: list[Any] = []
    functions = [function]
    for f in functions:
        cells = map(cell_contents, f.__closure__ or ()) if isinstance(f, FunctionType) else ()
        new = [x for x in cells if not any([x is y for y in held])]
        held += new
        functions += new
    met = [] if captures is None else captures.untraced.generators()  # none of a tape
    generators = [*met, *filter(is_generator, held)]
    return [states(), *map(generator_state, generators), *held]


def _changes(records: list[Any]) -> bool:
    """Return whether operations change tensors in place that were there before them."""
    made = {id(x) for entry in records if entry[6] is None for x in parts_of_result(entry)}
    return any([entry[6] is not None and id(entry[3]) not in made for entry in records])


def _solvers(graph: Graph) -> list[Any]:
    """Return the solvers that a body calls."""
    return [dict(node.params).get("solver") for node in graph.nodes if node.op.kind == "implicit"]


def _tensor(x: Any) -> Any:
    """Return a value as an operand: an array or a scalar of NumPy's, or the tensor that it is."""
    if isinstance(x, ArrayLike):
        x = x._tapec_read()
        return x if type(x._value) not in NUMBERS else x.astype(x.dtype)
    return np.asarray(x)[()]


def _whole(x: Any) -> Any:
    return x.astype(np.int64) if isinstance(x, ArrayLike) else np.int64(x)


class _Values(NamedTuple):
    """A nested structure of operands."""

    structure: Any
    leaves: list[Any]

    @classmethod
    def of(cls, x: Any) -> _Values:
        leaves, structure = flat(x)
        return cls(structure, list(map(_tensor, leaves)))

    @property
    def types(self) -> list[Type]:
        return [type_of(_value(x)) for x in self.leaves]


class _BodyTrace(UnknownsTrace):
    """Records what a body does with what it is given; of other tensors it knows that they were captured."""

    errors = None  # how they are handled while a body is traced says nothing of the code

    def __init__(self, outer: Any, what: str, repeated: str):
        super().__init__(outer)
        self.refusal = (
            f"{what}: the function looks at a value that is another one in each turn. Fix: np.where or "
            "tapec.cond instead of `if`; a loop of Python's, which may look"
        )
        self.repeated = repeated


class _BranchTrace(_BodyTrace):
    """Records all that a branch does, also with values around it: outside of the branch nothing of it may run."""

    def __init__(self, outer: Any, what: str, repeated: str):
        super().__init__(outer, what, repeated)
        self.token = outer.token

    def run(self, rule: Any) -> Any:
        """Record a branch in the place of the trace around it."""
        self.given = [self._cotangent(x) for x in rule.results]
        rec = CURRENT.get()
        assert rec is not None
        CURRENT.set(Recorder((*[tape for tape in rec.tapes if tape is not self.outer], self)))
        try:
            results = rule.cotangents(self.given)
        finally:
            CURRENT.set(rec)
        return self._found(rule.name, self.given, results)

    def watches(self, x: Any) -> bool:
        """Return whether a tensor is an operand, or was computed in the branch."""
        return any([x is one for one in (*self.given, *self.made())])

    def hands_out(self, tensor: Tensor) -> bool:
        """Return whether code that does not know tensors may get the value: what it was made of in the branch is none
        of the operands, and the trace around hands it out."""
        makers = {id(part): entry for entry in self.log.records for part in parts_of_result(entry)}
        todo = {id(tensor): tensor}
        while todo:
            _, x = todo.popitem()
            if any([x is operand for operand in self.given]):
                return False
            entry = makers.pop(id(x), None)
            if entry is not None:
                todo.update((id(v), v) for v in entry[1] if isinstance(v, Tensor))
            elif not self.outer.hands_out(x):
                return False
        return True

    def hiding(self, sink: Callable[[Any], None]) -> Callable[[Any], None]:
        return lambda entry: None


class _Body:
    """A function as a graph from operands and what it captured: with its results, their structure and their types."""

    def __init__(self, what: str, function: Callable[..., Any], given: _Values):
        self.name = what
        self.function = function
        self.given = given
        self.results = [x if type(x) is Tensor else wrap(x) for x in given.leaves]
        rec = CURRENT.get()
        assert rec is not None
        found = self._traced(rec.trace, rec.trace.repeated)
        self.graph: Graph = dict(found.params)["bodies"][0]
        self.captured = list(found.captured)
        if not rec.trace.repeated:
            seen = [x if isinstance(x, ArrayLike) else np.copy(x) for x in self.captured]  # the second run may write
            before, count = _around(function), len(rec.trace.log.records)
            other = self._traced(rec.trace, what)
            records = [*rec.trace.log.records[count:], *self.records]
            self._check_same(seen, other, all(map(_are_one, before, _around(function))) and not _changes(records))

    def _traced(self, outer: Any, repeated: str) -> Found:
        """Trace the function: twice, to see whether it does the same each time."""
        trace = (_BranchTrace if self.name == "cond" else _BodyTrace)(outer, self.name, repeated)
        self.records = trace.log.records
        if self.name != "cond":
            return trace.run(self)
        with np.errstate(all="ignore"):  # it may not be the branch that is taken
            return trace.run(self)

    def _check_same(self, seen: list[Any], other: Found, is_same: bool) -> None:
        """Raise an error if the function is not the same in another run: draws, counters, arrays that it changes.

        Arrays that differ may be memory that nobody has written yet, of np.empty: then results are the same.
        """
        again: Graph = dict(other.params)["bodies"][0]
        if _solvers(self.graph) != _solvers(again):
            raise UnsupportedError(
                at_user_line(
                    f"{self.name}: a solver has something else around it when the function runs again, such as a "
                    "counter, or an object of another package that the function makes. It is traced once for all. "
                    "Fix: make that before; or use a loop of Python's"
                )
            )
        is_same = is_same and self.graph == again
        if is_same and not all(map(_are_equal, seen, other.captured)):
            given = [np.add(x._value, 0.6, dtype=x.dtype) if x.dtype.kind in "fc" else x._value for x in self.results]
            with np.errstate(all="ignore"):
                runs = [interpret(self.graph, *given, *map(_value, captured)) for captured in (seen, other.captured)]
            is_same = all(map(_are_equal, *runs))
        if not is_same:
            raise UnsupportedError(
                at_user_line(
                    f"{self.name}: the function does something else when it runs again: it draws random numbers, "
                    "counts, or changes a value around it. It is traced once for all. Fix: draw, or compute, that "
                    "before, and hand it over as rows or operands; or use a loop of Python's"
                )
            )

    def cotangents(self, given: list[Tensor]) -> list[Any]:
        """Run the function; the name is that under which `BackwardTrace` calls what it records."""
        found = self.function(*formed(self.given.structure, given))
        leaves, self.structure = flat(found)
        self.structures = [flat(part)[1] for part in found] if isinstance(found, tuple) else []
        return [x if isinstance(x, ArrayLike) else wrap(np.asarray(x)[()]) for x in leaves]

    @property
    def types(self) -> list[Type]:
        return [Type(o.type.shape, o.type.dtype) for o in self.graph.outputs]

    def alone(self, kinds: Sequence[Type], name: str, carried: int) -> Graph:
        """Return the body of a loop: constants before what is carried, results of these types."""
        return self.among([self], kinds, name, carried, first=True)

    def among(
        self, bodies: Sequence[_Body], kinds: Sequence[Type], name: str, carried: int = 0, first: bool = False
    ) -> Graph:
        """Return the body with inputs for what several bodies captured, before or behind the operands."""
        count = len(self.given.leaves)
        own, mine = self.graph.inputs[:count], list(self.graph.inputs[count:])
        others = [
            mine if b is self else [input_node(None, i.type) for i in b.graph.inputs[len(b.given.leaves) :]]
            for b in bodies
        ]
        captured = [i for group in others for i in group]
        builder = Builder()
        builder.nodes.extend(self.graph.nodes)
        outputs = []
        for o, t in zip(self.graph.outputs, kinds, strict=True):
            y: Any = Symbol(o, builder)
            if t.shape != o.type.shape:
                y = np.broadcast_to(y, t.shape)
            outputs.append(y.node if y.dtype == t.dtype and not y.weak else y.astype(t.dtype).node)
        inputs = [*captured, *own] if first else [*own, *captured]
        return builder.graph(inputs, outputs, name)


def _common(what: str, a: Type, b: Type) -> Type:
    """Return the type of a result that two functions give."""
    if a.shape != b.shape:
        raise TypeError(at_user_line(f"{what}: the two functions return arrays of the shapes {a.shape} and {b.shape}"))
    return Type(a.shape, np.result_type(a.dtype, b.dtype))


def _settled(what: str, step: Callable[..., Any], carry: _Values, row: _Values) -> tuple[_Values, _Body, int]:
    """Trace a step; where it gives a carry of another dtype, once more from a carry of that dtype."""
    n = len(carry.leaves)
    for _ in range(3):
        given = formed(carry.structure, carry.leaves), formed(row.structure, row.leaves)
        body = _Body(what, step, _Values(flat(given)[1], [*carry.leaves, *row.leaves]))
        if body.structures[0] != carry.structure:
            raise TypeError(at_user_line(f"{what}: the step returns a carry of another structure than it gets"))
        wanted = list(map(_next_type, body.types[:n], carry.types))
        if any([a.shape != b.shape for a, b in zip(wanted, carry.types, strict=True)]):
            raise TypeError(
                at_user_line(f"{what}: the carry changes its shapes, from {carry.types} to {body.types[:n]}")
            )
        if wanted == carry.types:
            return carry, body, n
        carry = carry._replace(leaves=[_cast(x, t.dtype) for x, t in zip(carry.leaves, wanted, strict=True)])
    raise TypeError(at_user_line(f"{what}: the carry changes its dtypes from step to step"))


def _next_type(found: Type, before: Type) -> Type:
    return Type(found.shape, np.result_type(found.dtype, before.dtype))


def _cast(x: Any, dtype: np.dtype) -> Any:
    return x.astype(dtype) if isinstance(x, ArrayLike) else np.asarray(x, dtype)[()]
