"""Write numbers as they came about: `2.0 / y.size` for 0.03125, where a mean is of 64 values.

Derivatives of means divide by a size, and rules fold what they divide into one number. To find out which numbers these
are, the passes that have changed the program run once more on it with other numbers in the place of the sizes:

    d = multiply 0.03125, r     64 values       ->  2 / 64
    d = multiply 0.00019984..., r     10007 values

A number that has become that multiple of the other size comes from it, and gets the quotient for a name; code
generation reads the size from an argument then. All others stay numbers, whatever they are equal to.

The same is done with numbers that have longer expressions with sizes for names. Long numbers that are equal bit for bit
to others with a name, such as `0.5 * math.log(2.0 * math.pi)`, or to multiples of these, get that name, too.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import product
from typing import Any

from tapec.fast_namedtuple import NamedTuple
from tapec.ir import CONSTANT, Graph, Node, constant, is_literal, ops
from tapec.ir.sizes import factor_of, is_expression, is_size, multiple_text, number_of, size_text, sizes_in, tells_size
from tapec.passes import tuning

__all__ = ["with_numbers_spelled"]

FACTORS = (1.0, 2.0, 0.5, 3.0, 4.0, 1.5, 0.25, 6.0)  # of a size in a quotient that reads well, besides those written
OTHERS = (10007, 10009, 10037, 10039, 10061, 10067, 10069, 10079, 10091, 10093)  # primes: sizes that nobody has


class Told(NamedTuple):
    """Says how a number can be written: the text, its value, and what that is where arguments have other sizes."""

    text: str
    here: Any
    there: Any


def with_numbers_spelled(lean: Graph, graph: Graph, run: Callable[[Graph], Graph]) -> Graph:
    """Return what passes have made of a graph, with expressions for names of numbers that come from sizes or others.

    `run` runs the passes that have made `lean`. No number is told by a size where other sizes lead to another program,
    nor in a program of so many operations that to run the passes once more takes long.
    """
    named = {n: n.name for n in graph.nodes if n.name is not None and is_expression(n.name)}
    if not named:
        return lean
    sizes = _Sizes(
        {i.name or "": i.type.shape for i in graph.inputs},
        {name: n.value for n, name in named.items() if n.op is CONSTANT},
    )
    told = dict(_told(list(named.values()), sizes))
    moved = {n: told[name].there for n, name in named.items() if name in told and tells_size(name)}
    twins = None
    if moved and len(graph.nodes) <= tuning.SPELLED_MAX_NODES:
        twins = _twins(lean, run(_with_numbers(graph, moved)))
    if twins is None:
        told = {text: t for text, t in told.items() if not tells_size(text)}
    dividends = [factor for factor in map(factor_of, told) if factor]
    here = {t.here for t in told.values()}  # of which a part may have stayed a number
    factors = [abs(float(n.value)) for n in graph.nodes if n not in moved and _is_factor(n) and n.value not in here]
    short = list(dict.fromkeys([*map(abs, dividends), *FACTORS, *factors]))[: tuning.SPELLED_MAX_FACTORS]
    candidates = _Candidates(list(told.values()), short)
    return _named(lean, twins, candidates.text_of)


def _told(texts: Iterable[str], sizes: _Sizes) -> Iterator[tuple[str, Told]]:
    """Give what is known of expressions, and of the sizes in them, which come first."""
    parts = [size for text in texts for size, _, _ in sizes_in(text)]
    for text in dict.fromkeys([*parts, *texts]):
        found = Told(text, number_of(text, sizes.here), number_of(text, sizes.there))
        if found.here is not None and found.there is not None:
            yield text, found


class _Sizes:
    """Answers `size` in expressions: by the shapes of inputs, or, in a body, by numbers that are sizes outside."""

    def __init__(self, shapes: Mapping[str, tuple[int, ...]], numbers: Mapping[str, Any]):
        self.shapes = shapes
        self.numbers = numbers
        self.others: dict[tuple[str, int | None], int] = {}

    def here(self, name: str, axis: int | None = None) -> int:
        if name not in self.shapes:
            return int(self.numbers[size_text(name, axis)])
        shape = self.shapes[name]
        return math.prod(shape) if axis is None else shape[axis]

    def there(self, name: str, axis: int | None = None) -> int:
        """Answer with another size: a prime, or for a power of two, by which divisions are exact, another such power,
        whose root is one too where the size has such a root."""
        n, others = self.here(name, axis), self.others
        key = (name, None if len(self.shapes.get(name, ())) == 1 else axis)
        other = OTHERS[len(others)] if n & (n - 1) else n << (2 * len(others) + 16)
        return others.get(key) or others.setdefault(key, other)


class _Candidates:
    """Holds the expressions that numbers may be told by: as they are, and as factors and divisors of short numbers."""

    def __init__(self, told: list[Told], factors: Iterable[float]):
        self.told = told
        self.factors = factors
        self.known: dict[tuple[type, Any, Any], str | None] = {}

    def text_of(self, value: Any, now: Any) -> str | None:
        """Write a number that has become `now` as sizes have changed; None for one that is best told by its digits."""
        key = (type(value), value, now)
        if key not in self.known:
            self.known[key] = self.found(value, now)
        return self.known[key]

    def found(self, value: Any, now: Any) -> str | None:
        if type(value) is int:
            return next((t.text for t in self.told if (value, now) == (t.here, t.there)), None)
        if not isinstance(value, float):
            return None  # an expression is a real number, also where an array of complex numbers is filled with it
        is_long = len(float.__repr__(value)) >= tuning.SPELLED_MIN_CHARACTERS
        for told in self.told:
            if told.here and told.there and (is_long or told.here != told.there):
                found = self.multiple(told, value, now)
                if found is not None:
                    return found
        return self.over_two(value, now) if is_long else None

    def over_two(self, value: float, now: float) -> str | None:
        """Write a number as a factor over two sizes, one after the other or both at once."""
        sizes = [t for t in self.told if is_size(t.text) and t.here and t.there]
        for a, b in product(sizes, repeat=2):
            for c in self.factors:
                for factor in (c, -c):
                    if not math.isclose(factor / a.there / b.there, now, rel_tol=1e-14):
                        continue
                    if factor / a.here / b.here == value:
                        return f"{multiple_text(factor, '/', a.text)} / {b.text}"
                    if factor / (a.here * b.here) == value:
                        return f"{factor!r} / ({a.text} * {b.text})"
        return None

    def multiple(self, told: Told, value: float, now: float) -> str | None:
        """Write a number as an expression, its negative, or a factor over or times it."""
        text, here, there = told
        if type(here) is float and abs(here) == abs(value) and math.isclose(abs(there), abs(now), rel_tol=1e-14):
            return text if here == value else f"-({text})"
        for c in self.factors:
            for factor in (c, -c):
                if factor / here == value and math.isclose(factor / there, now, rel_tol=1e-14):
                    return multiple_text(factor, "/", text)
                if factor * here == value and math.isclose(factor * there, now, rel_tol=1e-14):
                    return multiple_text(factor, "*", text)
                if 1.0 / here * factor == value and math.isclose(factor / there, now, rel_tol=1e-14):
                    return f"{multiple_text(1.0, '/', text)} * {factor!r}"  # which is rounded twice
        return None


def _is_factor(node: Node) -> bool:
    """Return whether a node is a number that may stand over a size."""
    return is_literal(node) and type(node.value) in (int, float) and node.value != 0 and math.isfinite(node.value)


def _with_numbers(graph: Graph, values: Mapping[Node, Any]) -> Graph:
    """Return a graph with other numbers for some, which are constants or fill arrays."""
    new: dict[Node, Node] = {}
    for n, v in values.items():
        params = tuple([(key, v if key == "value" else x) for key, x in n.params])
        new[n] = (
            constant(type(n.value)(v)) if n.op is CONSTANT else Node(n.op, (), params, n.type, n.origin, None, n.role)
        )
    nodes = []
    for node in graph.nodes:
        inputs = tuple([new.get(i, i) for i in node.inputs])
        if node not in new and inputs != node.inputs:
            new[node] = node.with_inputs(inputs)
        nodes.append(new.get(node, node))
    made = Graph(graph.inputs, nodes, [new.get(o, o) for o in graph.outputs], graph.name)
    made.past = graph.past
    return made


def _twins(lean: Graph, other: Graph) -> dict[Node, Node] | None:
    """Map the nodes of a program to those of another one that is the same but for numbers; None where it is not."""
    a, b = ([n for n in g.nodes if not is_literal(n)] for g in (lean, other))
    if len(a) != len(b):
        return None
    twins = dict(zip([*lean.inputs, *a], [*other.inputs, *b]))
    for x, y in zip(a, b):
        alike = x.op is y.op and x.type == y.type and (x.op is ops.full or _are_equal(x, y))
        pairs = zip(x.inputs, y.inputs)
        if not alike or len(x.inputs) != len(y.inputs) or not all([_is_twin(i, j, twins) for i, j in pairs]):
            return None
    return twins if all([_is_twin(i, j, twins) for i, j in zip(lean.outputs, other.outputs)]) else None


def _are_equal(x: Node, y: Node) -> bool:
    """Return whether nodes of one op and type have the same parameters, and constants the same bytes."""
    if x.op is CONSTANT:
        return x.value is y.value or x.value.tobytes() == y.value.tobytes()
    return x.params == y.params


def _is_twin(x: Node, y: Node, twins: Mapping[Node, Node]) -> bool:
    return (is_literal(y) and x.type == y.type) if is_literal(x) else twins.get(x) is y


def _named(lean: Graph, twins: Mapping[Node, Node] | None, text_of: Callable[[Any, Any], str | None]) -> Graph:
    """Return a program in which each use of a number that has an expression has a number of that name.

    Without twins no name tells of a size: rules may have put one number in the place of an equal one.
    """
    new: dict[Node, Node] = {}
    made: dict[tuple[Node, str | None], Node] = {}
    nodes: list[Node] = []

    def number(old: Node, now: Node) -> Node:
        text = text_of(old.value, now.value)
        if text is None and old.name == now.name and old.value == now.value:
            return old  # a rule has made it of a size of the program, and named it
        if text == old.name or (text is None and (old.name is None or not tells_size(old.name))):
            return old
        found = made.get((old, text))
        if found is None:
            found = made[old, text] = constant(old.value, text)
            nodes.append(found)
        return found

    for node in lean.nodes:
        if is_literal(node):
            nodes.append(node)
            continue
        twin = node if twins is None else twins[node]
        inputs = tuple([number(i, j) if is_literal(i) else new.get(i, i) for i, j in zip(node.inputs, twin.inputs)])
        moved = node if inputs == node.inputs else node.with_inputs(inputs)
        if node.op is ops.full:
            text = text_of(node.param("value"), twin.param("value"))
            if text is not None or (node.name is not None and tells_size(node.name)):
                moved = Node(node.op, inputs, node.params, node.type, node.origin, text, node.role)
        if moved is not node:
            new[node] = moved
        nodes.append(moved)
    if not new:
        return lean
    outputs = [new.get(o, o) for o in lean.outputs]
    read = {i for n in nodes for i in n.inputs}.union(outputs)
    kept = [n for n in nodes if n.op is not CONSTANT or n in read]
    return Graph(lean.inputs, kept, outputs, lean.name)
