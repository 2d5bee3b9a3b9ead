"""Put the bodies of loops on Python floats, where all their values are a few numbers each.

    h (2 elements), rows of x     ->     h0, h1 are carried as floats, and rows come out of `x.tolist()`

What is computed of a few numbers around the loop is on floats, too. The rest stays on arrays: what goes into a loop is
taken apart before it, and what comes out is packed after it. What a loop collects and only other such loops read stays
a list of tuples between them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import chain
from typing import Any

import numpy as np

from tapec.codegen import tuning
from tapec.codegen.common.made_names import made_name, wished_name
from tapec.codegen.common.naming import RESULT, element_names
from tapec.codegen.floats.elementwise_expansion import MOVES, ON_NUMBERS, rule_of, tell_derivatives
from tapec.codegen.floats.packing import FLOAT_OF, NUMBER_OF, PACK, packing
from tapec.codegen.floats.profitability import cost_of_step, numpy_costs_more
from tapec.codegen.floats.scalar_ops import FLOAT, PYTHON_POWER, Elements, element_type, float_op, spelled
from tapec.codegen.list_inputs import as_list
from tapec.codegen.numpy.passes.helper_names import name_of_result
from tapec.codegen.numpy.target_ops import FLOAT_LOOP, UNPACK
from tapec.codegen.schedule.inlining import count_uses, inner_nodes, readers_of
from tapec.fast_namedtuple import NamedTuple
from tapec.ir import (
    CONSTANT,
    CT,
    INPUT,
    ITEM,
    Graph,
    Node,
    Op,
    OpSet,
    Type,
    by_python,
    constant,
    get_op,
    input_node,
    is_literal,
    ops,
    prune,
)
from tapec.ir.cost import elements as elements_of
from tapec.ir.source_location import variable_for
from tapec.ir.static_index import Slice
from tapec.ops.control.loop import LOOP, Operands, operands_of

__all__ = ["on_floats"]

Errors = set[type[Exception]]
ARITHMETIC = OpSet("add subtract multiply divide")
SUMS = (float_op(ops.add), float_op(ops.subtract))
_NUMBER = get_op("number")  # of NumPy's, made of one of Python's


class FloatBody(NamedTuple):
    """The body of a loop on floats: the elements of each input, its nodes, and the elements of each output."""

    inputs: list[list[Node]]
    nodes: list[Node]
    outputs: list[list[Any]]


def on_floats(graph: Graph) -> tuple[Graph, tuple[type[Exception], ...]]:
    """Return the program with those of its loops on floats for which that pays, and the errors that these may raise."""
    errors: Errors = set()
    bodies = {}
    known, names = _known_numbers(graph), _Names()
    for node in graph.nodes:
        if node.op is LOOP:
            body = _expanded(node, errors, known, names)
            if body is not None:
                bodies[node] = body
    if not bodies:
        return graph, ()
    writer = _Writer(graph, bodies, known)
    made = writer.run()
    return made, tuple(sorted(errors | writer.made.errors, key=lambda error: error.__name__))


def _known_numbers(graph: Graph) -> dict[Node, list[Any]]:
    """Return the numbers of small arrays that the program makes of numbers, as those of a unit matrix."""
    known: dict[Node, list[Any]] = {}
    made = Elements()
    for node in graph.nodes:
        if is_tiny(node) and all([i in known for i in node.inputs]):
            is_made = node.op is not CONSTANT or is_literal(node)
            found = _values(made, node, known) if is_made else np.ravel(node.value).tolist()
            if found is not None and not any([isinstance(e, Node) and e.op is not CONSTANT for e in found]):
                known[node] = found
    return known


def _expanded(loop: Node, errors: Errors, known: dict[Node, list[Any]], names: _Names) -> FloatBody | None:
    """Return the body of a loop on floats; None where it has to stay on arrays, or is faster there.

    The numbers of operands that are `known` stand in the body.
    """
    if len(loop.bodies) != 1 or not loop.param("count"):
        return None
    of = _of(loop)
    if any([x.type.dtype.kind != "f" for x in (*of.constants, *of.carried)]):
        return None  # they are taken apart as floats
    body = loop.bodies[0]
    values = [*body.inputs, *body.nodes]
    if not all([n.op is CONSTANT or _is_number_like(n) for n in values]):
        return None
    if not all([n.type.size for n in values]):
        return None  # a list of empty tuples does not tell the shape of what is collected
    made = Elements()
    elements: dict[Node, list[Any]] = {}
    for i in body.inputs:
        elements[i] = [input_node("", element_type(i.type)) for _ in range(i.type.size)]
    elements |= {i: _told(made, known[x]) for i, x in zip(body.inputs, of.constants) if x in known}
    for node in body.nodes:
        found = _values(made, node, elements)
        if found is None:
            return None
        tell_derivatives(node, found)
        elements[node] = found
    cost = cost_of_step(body, {n.type.shape for n in values})
    if cost is None or not numpy_costs_more(body, cost * len(made.nodes)):
        return None
    names.give(loop, elements)
    errors |= made.errors
    literals = [n for n in made.known.values() if n.op is CONSTANT]
    inputs = [[e for e in elements[i] if isinstance(e, Node) and e.op is INPUT] for i in body.inputs]
    return FloatBody(inputs, [*literals, *made.nodes], [elements[o] for o in body.outputs])


class _Names:
    """Names numbers in the bodies of loops, one loop after the other.

    `results` are the names of what functions of the user's return, by the place where that is computed, and `count`
    tells how many numbers have one name: a loop backwards computes their cotangents in the opposite order.
    """

    def __init__(self) -> None:
        self.results: dict[Any, list[str]] = {}
        self.count: Counter[str] = Counter()

    def give(self, loop: Node, elements: dict[Node, list[Any]]) -> None:
        """Name the numbers of a body, given those of its values."""
        (body,) = loop.bodies
        wishes = self.of_cotangents(body) if loop.role is CT else self.of_results(body)
        named: dict[str, list[Node]] = {}
        # a number is rather `u` than the first of `y`
        for node in sorted([*body.inputs, *body.nodes], key=lambda n: bool(n.type.shape)):
            wish = (variable_for(node) if node.role is None else node.name) if node.op is INPUT else wished_name(node)
            wish = wish or wishes.get(node)
            for name, e in zip(element_names(wish, node.type) if wish else (), elements[node]):
                if isinstance(e, Node) and not e.name and e.op is not CONSTANT:
                    e.name = name
                    if loop.role is None or e.op is not INPUT:
                        named.setdefault(name, []).append(e)
        if loop.role is None:
            self.count.update({name: len(found) for name, found in named.items()})
            return
        for name, found in named.items():
            if name.startswith("d_") and len(found) == self.count[name[2:]] > 1:
                for k, e in enumerate(found):  # that of the first value is a part of what is carried on
                    number = len(found) - k
                    e.name = f"{name}{'_' if name[-1].isdigit() else ''}{number}" if number > 1 else ""

    def of_results(self, body: Graph) -> dict[Node, str]:
        """Return the names of what functions of the user's return."""
        found: dict[Node, str] = {}
        for node, readers in readers_of(body.nodes).items():
            name = name_of_result(node, readers)
            if name:
                found[node] = name
        for node in body.nodes:
            if node in found:
                self.results.setdefault(_place(node), []).append(found[node])
        return found

    def of_cotangents(self, body: Graph) -> dict[Node, str]:
        """Return the names of their cotangents, which are what derivatives read that come from the same place."""
        read: dict[Any, dict[Node, None]] = {}
        for node in body.nodes:
            if node.role is CT and node.inputs and _place(node) in self.results:
                first = node.inputs[0]
                if first.role is CT and _place(first) != _place(node):
                    read.setdefault(_place(node), {})[first] = None
        found: dict[Node, str] = {}
        for place, values in read.items():
            names = self.results[place]
            if len(values) == len(names):
                found |= {x: f"d_{name}" for x, name in zip(values, reversed(names), strict=True)}
        return found


def _place(node: Node) -> Any:
    """Return where the user's code computes a value, by who the code is: its hash takes in every instruction."""
    return None if node.origin is None else (id(node.origin[0]), node.origin[1])


def _is_number_like(n: Node) -> bool:
    """Return whether floats, bools, or places as whole numbers stand for the elements of a value in a body."""
    if n.op.multi or elements_of(n) > tuning.FLOATS_MAX_ELEMENTS:
        return False
    if n.type.dtype.char == "l":  # Python's whole numbers do not overflow
        return n.op is INPUT or n.op in MOVES
    return n.type.dtype.char in "d?" or (n.type.weak and n.type.dtype.kind in "fb")


def _told(made: Elements, numbers: Sequence[Any]) -> list[Any]:
    """Return numbers that a program knows as elements."""
    return [made.literal(e) if isinstance(e, Node) else e for e in numbers]


def _values(made: Elements, node: Node, elements: dict[Node, list[Any]]) -> list[Any] | None:
    """Return the elements of a value; None where there is no rule for them."""
    if is_literal(node):
        return [made.literal(node)]
    if node.op is CONSTANT:
        return None
    rule = rule_of(node.op)
    if rule is None:
        return None
    made.origin, made.role = node.origin, node.role
    if node.op is ops.power and by_python(node):
        return [made.make(PYTHON_POWER, FLOAT, *[elements[i][0] for i in node.inputs])]
    found = rule(made, node, [elements[i] for i in node.inputs])
    return None if found is None else list(found)


def is_tiny(x: Node) -> bool:
    """Return whether a value is a few numbers that floats stand for."""
    if x.op.multi or (x.type.dtype.char not in "d?" and not x.type.weak):
        return False
    most = tuning.FLOATS_MOVED_MAX_ELEMENTS if x.op in MOVES or not x.inputs else tuning.FLOATS_TINY_MAX_ELEMENTS
    return elements_of(x) <= most


def _is_numpys(x: Node) -> bool:
    """Return whether a value is a float64 of NumPy's, or an array of these: so is what it makes of a Python float."""
    return x.type.dtype.char == "d" and not x.type.weak


def is_read(x: Node) -> bool:
    """Return whether a value is one number of an array."""
    return not x.type.shape and x.op is ops.getitem


class _Writer:
    """Puts the loops in place."""

    def __init__(self, graph: Graph, bodies: dict[Node, FloatBody], known: dict[Node, list[Any]]):
        self.graph, self.bodies, self.known = graph, bodies, known
        self.made = Elements()  # the numbers that are computed outside of loops
        self.elements = {
            x: _told(self.made, found) for x, found in known.items()
        }  # those of values that are computed on floats, too, among them structural zeros
        self.readers = readers_of(graph.nodes)
        self.nodes: list[Node] = []
        self.new: dict[Node, Node] = {}
        self.apart: dict[Node, list[Node]] = {}  # the numbers that values outside of loops are made of
        self.waiting: set[Node] = set()  # values whose numbers are there, and that no operation on arrays has read yet
        self.literals: dict[Any, Node] = {}
        self.lists: dict[Node, tuple[Node, int]] = {}  # what stays in a list: the list, and from which place on
        self.turned: dict[Node, Node] = {}  # lists, each with itself backwards

    def run(self) -> Graph:
        for node in self.graph.nodes:
            if node in self.bodies:
                _FloatLoop(self, node).write()
            elif node not in self.new and node not in self.lists and not self.computed(node):
                inputs = self.operands(node)
                if inputs != node.inputs:
                    self.new[node] = node.with_inputs(inputs)
                self.nodes.append(self.new.get(node, node))
        outputs = [self.whole(o) for o in self.graph.outputs]
        literals = [n for n in self.made.known.values() if n.op is CONSTANT]
        made = prune(Graph(self.graph.inputs, [*literals, *self.nodes], outputs, self.graph.name))
        self.name_elements(made)
        return made

    def name_elements(self, made: Graph) -> None:
        """Name numbers: one of the user's rather as itself than as a part of an array, a part of a gradient as the part
        of its argument, and what a loop begins with as the loop calls it.

        The value of the function gets a line: what it is made of need not last until after the next loop.
        """
        inner = inner_nodes(self.graph.nodes)
        self.name_beginnings(made, None)
        arguments = [i for i in self.graph.inputs if i in self.apart]
        own: dict[Any, Any] = {f"d_{variable_for(i) or i.name}": self.apart[i] for i in arguments}
        for node in sorted(self.apart, key=lambda n: bool(n.type.shape)):
            is_value = node in self.graph.outputs and node.role is None and not node.type.shape
            wish = None if node in inner or node.op is CONSTANT else wished_name(node) or (RESULT if is_value else None)
            names = element_names(wish, node.type) if wish else []
            for name, e, source in zip(names, self.apart[node], own.get(wish, names)):
                if not e.name and e.op is not CONSTANT and e.op is not INPUT:
                    e.name = f"d_{source.name}" if isinstance(source, Node) and source.name else name
        self.name_sums(made)
        self.name_beginnings(made, CT)

    def name_sums(self, made: Graph) -> None:
        """Name what a loop has summed after the sum to which it is only added."""
        for e, readers in readers_of(made.nodes).items():
            if e.op is ITEM and e.inputs[0].op is FLOAT_LOOP and not e.name and e.role is CT and len(readers) == 1:
                (reader,) = readers
                if reader.op in SUMS and reader.inputs[0] is e and e not in made.outputs:
                    e.name = reader.name

    def name_beginnings(self, made: Graph, role: str | None) -> None:
        """Name what loops of this role begin with as they call it, where nothing else reads it."""
        uses = count_uses(made.nodes, made.outputs)
        results = {(n.inputs[0], n.param("index")): n for n in made.nodes if n.op is ITEM}
        parts = {e for x, found in self.apart.items() if x.type.shape for e in found}
        for loop in [n for n in made.nodes if n.op is FLOAT_LOOP and n.role == role]:
            first, body = loop.param("constants"), loop.bodies[0]
            for k, o in enumerate(body.outputs[: loop.param("carried")]):
                x, result, state = loop.inputs[first + k], results.get((loop, k)), body.inputs[first + k]
                if result in parts and result.name and role is CT:
                    state.name = result.name
                name = state.name or o.name or (result and result.name)
                if name and uses.get(x) == 1 and x.role == role and x.op is not CONSTANT and x.op is not INPUT:
                    x.name = name

    def computed(self, node: Node) -> bool:
        """Compute a few numbers on floats, where what they are made of is there as numbers, or an argument."""
        if node in self.known or node.op is ITEM or not all(map(is_tiny, (node, *node.inputs))) or node.type.weak:
            return False
        there = [
            i in self.apart or i in self.known or i.op is INPUT or (i.type.weak and not is_literal(i))
            for i in node.inputs
        ]
        rule = None if self.is_gone_through(node) else rule_of(node.op)
        if rule is None or not any(there) or (node.op in ON_NUMBERS and node.type.dtype.kind == "b"):
            return False
        if not all([is_there or is_literal(i) or is_read(i) for is_there, i in zip(there, node.inputs, strict=True)]):
            return False
        self.made.origin, self.made.role = node.origin, node.role
        count = len(self.made.nodes)
        found = rule(self.made, node, [self.elements.get(i) or self.numbers(i) for i in node.inputs])
        self.nodes += self.made.nodes[count:]
        if found is None:
            return False
        tell_derivatives(node, found)
        self.elements[node], self.apart[node] = found, [self.number(e) for e in found]
        self.waiting.add(node)
        return True

    def is_gone_through(self, x: Node) -> bool:
        """Return whether loops on floats go through the rows of a value, and nothing else reads it."""
        readers = self.readers.get(x, ())
        return bool(readers) and all([r in self.bodies and x not in _fixed_and_carried(r) for r in readers])

    def number(self, e: Any) -> Node:
        return e if isinstance(e, Node) else self.literal(spelled(e))

    def operands(self, node: Node) -> tuple[Node, ...]:
        """Return what an operation on arrays reads: beside a number of NumPy's, one of Python's may stay one."""
        if node.op in ARITHMETIC:
            for x, other in (node.inputs, node.inputs[::-1]):
                if x in self.waiting and not x.type.shape and other not in self.waiting and _is_numpys(other):
                    return tuple([self.apart[x][0] if i is x else self.whole(i) for i in node.inputs])
        return tuple([self.whole(i) for i in node.inputs])

    def whole(self, x: Node) -> Node:
        """Return a value as an array or as a number of NumPy's."""
        if x in self.waiting:
            self.waiting.discard(x)
            found = self.apart[x]
            if x.type.weak:
                self.new[x] = found[0]
            else:
                name = wished_name(x) if x.type.shape else None
                self.new[x] = Node(PACK, tuple(found), packing(x.type), x.type, None, name or "", x.role)
                self.nodes.append(self.new[x])
        return self.new.get(x, x)

    def add(self, op: Op, inputs: Sequence[Node], t: Any, like: Node, **more: Any) -> Node:
        """Add an operation for another one; `more` are its parameters, name and bodies."""
        node = Node(
            op, tuple(inputs), more.pop("params", ()), t, like.origin, more.pop("name", None), like.role, **more
        )
        self.nodes.append(node)
        return node

    def literal(self, value: Any) -> Node:
        key = type(value), repr(value)
        if key not in self.literals:
            self.literals[key] = constant(value)
            self.nodes.append(self.literals[key])
        return self.literals[key]

    def numbers(self, x: Node) -> list[Node]:
        """Return the numbers that a value outside is made of."""
        if x in self.known:
            return [self.number(e) for e in self.elements[x]]
        if x not in self.apart:
            self.apart[x] = self.taken_apart(x, self.new.get(x, x))
        return self.apart[x]

    def taken_apart(self, x: Node, now: Node) -> list[Node]:
        if is_literal(now):
            return [now if now.name is None else self.made.literal(now)]
        if x.type.weak:
            return [now]
        if now.op is _NUMBER:
            return [now.inputs[0]]
        if now.op is CONSTANT:
            return [self.literal(v) for v in np.ravel(now.value).tolist()]
        if now.op is PACK:
            return list(now.inputs)
        if not x.type.shape:
            return [self.add(FLOAT_OF, (now,), FLOAT, x, name=wished_name(x) or made_name(x))]
        whole = self.add(UNPACK, (now,), (element_type(x.type),) * x.type.size, x)
        return self.items(whole, 0, x)

    def items(self, whole: Node, first: int, like: Node) -> list[Node]:
        """Return the numbers that make a value up, which are results of an operation from one on."""
        places = range(first, first + like.type.size)
        made = [Node(ITEM, (whole,), (("index", k),), whole.type[k], None, "", like.role) for k in places]
        self.nodes += made
        return made

    def stays_list(self, item: Node) -> bool:
        """Return whether what a loop collects is read by loops on floats alone, forwards or backwards."""
        readers = self.readers.get(item, ())
        turned = [r for r in readers if _is_reversal(r)]
        if not {item, *turned}.isdisjoint(self.graph.outputs):
            return False
        pairs = [*[(r, item) for r in readers if r not in turned], *[(r, x) for x in turned for r in self.readers[x]]]
        return all([r in self.bodies and x not in _fixed_and_carried(r) for r, x in pairs])

    def sequence(self, x: Node) -> tuple[Node, int, bool]:
        """Return what a loop goes through, from which place of a row on, and whether that is a list."""
        if x not in self.lists:
            whole = as_list(x, self.nodes.append)
            return (self.whole(x), 0, False) if whole is None else (whole, 0, False)
        whole, at = self.lists[x]
        if not _is_reversal(x):
            return whole, at, True
        if whole not in self.turned:
            params = (("index", (Slice(None, None, -1),)),)
            self.turned[whole] = self.add(ops.getitem, (whole,), whole.type, x, params=params)
        return self.turned[whole], at, True


class _FloatLoop:
    """One loop on floats while it is put in place."""

    def __init__(self, writer: _Writer, node: Node):
        self.writer, self.node = writer, node
        self.of, self.body, self.old = _of(node), writer.bodies[node], node.bodies[0]
        self.nodes: list[Node] = []
        self.parts: dict[Node, Node] = {}  # what takes the place of the elements of inputs
        self.literals: dict[Any, Node] = {}
        ends = len(self.of.constants), len(self.of.constants) + len(self.of.carried)
        self.fixed, self.states, self.rows = (
            self.body.inputs[: ends[0]],
            self.body.inputs[ends[0] : ends[1]],
            self.body.inputs[ends[1] :],
        )
        read = chain.from_iterable([n.inputs for n in self.body.nodes])
        self.read = {*read, *[e for group in self.body.outputs for e in group if isinstance(e, Node)]}

    def write(self) -> None:
        writer, node, of = self.writer, self.node, self.of
        constants = self.constants()
        carried = [*chain.from_iterable(map(writer.numbers, of.carried))]
        sequences = self.sequences()
        moved = _substituted(self.body.nodes, self.parts)
        self.nodes += [moved.get(n, n) for n in self.body.nodes]
        results = [[moved.get(e, e) for e in map(self.number, group)] for group in self.body.outputs]
        items = {n.param("index"): n for n in writer.readers.get(node, ())}
        collected = [k for k in sorted(items) if k >= len(of.carried)]
        listed: dict[str, list[int]] = {}  # by their type
        for k in collected:
            if writer.stays_list(items[k]):
                listed.setdefault(items[k].type.dtype.char, []).append(k)
        groups = [*listed.values(), *[[k] for k in collected if k not in chain(*listed.values())]]
        packs = [self.packed(group, results, k < len(listed)) for k, group in enumerate(groups)]
        out = [*chain.from_iterable(results[: len(of.carried)])]
        inputs = [*constants, *chain.from_iterable(self.states), *sequences.values()]
        nodes = list(dict.fromkeys([*self.literals.values(), *self.nodes, *packs]))
        body = Graph(inputs, nodes, [*out, *packs], self.old.name)
        count = node.param("count")
        params = ("count", count), ("constants", len(constants)), ("carried", len(carried)), ("lists", len(listed))
        types = [*[e.type for e in out], *[Type((count, *p.type.shape), p.type.dtype) for p in packs]]
        operands = [*constants.values(), *carried, *sequences]
        loop = writer.add(FLOAT_LOOP, operands, tuple(types), node, params=params, bodies=(body,))
        first = 0
        for k, x in enumerate(of.carried):
            if k in items:
                self.carry_on(items[k], loop, first)
            first += x.type.size
        for n, group in enumerate(groups):
            self.collect([items[k] for k in group], loop, first + n, n < len(listed))

    def constants(self) -> dict[Node, Node]:
        """Return the numbers that are the same in all turns, by input; literals stand in the body itself."""
        found = {}
        for x, group in zip(self.of.constants, self.fixed, strict=True):
            if self.read.isdisjoint(group):
                continue
            for i, e in zip(group, self.writer.numbers(x), strict=True):
                if e.op is CONSTANT:
                    self.parts[i] = e
                    self.nodes.append(e)
                elif i in self.read:
                    found[i] = e
        return found

    def sequences(self) -> dict[Node, Node]:
        """Return what the loop goes through, each with the input of the body that is a row of it, and take rows
        apart."""
        found: dict[Node, Node] = {}
        known: dict[tuple[Node, int], Node] = {}
        for x, i, group in zip(
            self.of.rows, self.old.inputs[len(self.old.inputs) - len(self.rows) :], self.rows, strict=True
        ):
            if self.read.isdisjoint(group):
                continue
            whole, at, is_list = self.writer.sequence(x)
            if whole not in found:
                t = Type(whole.type.shape[1:], whole.type.dtype)
                found[whole] = input_node(None, t, None if is_list or i.role is not None else i.origin)
            row = found[whole]
            for k, e in enumerate(group, at):
                if e in self.read:
                    if (row, k) not in known:
                        known[row, k] = self.element(row, k, e)
                    self.parts[e] = known[row, k]
        return found

    def element(self, row: Node, k: int, like: Node) -> Node:
        """Take one number out of a row."""
        name = like.name or None
        if not row.type.shape:
            self.nodes.append(Node(NUMBER_OF, (row,), (), like.type, None, name, like.role))
            return self.nodes[-1]
        whole = self.parts.get(row)
        if whole is None:
            types = (element_type(row.type),) * row.type.size
            whole = self.parts[row] = Node(UNPACK, (row,), (), types, self.node.origin)
            self.nodes.append(whole)
        self.nodes.append(Node(ITEM, (whole,), (("index", k),), like.type, None, name, like.role))
        return self.nodes[-1]

    def number(self, e: Any) -> Node:
        """Return a result as a node."""
        if isinstance(e, Node):
            return e
        value = spelled(e)
        return self.literals.setdefault((type(value), repr(value)), constant(value))

    def packed(self, group: Sequence[int], results: Sequence[Sequence[Node]], is_list: bool) -> Node:
        """Pack what is collected together: the numbers of several results for a list, one result as it is."""
        first = self.old.outputs[group[0]].type
        t = Type(first.shape, first.dtype)  # arrays hold no numbers of Python's
        values = [e for k in group for e in results[k]]
        if is_list:
            t = Type((len(values),) if len(values) > 1 or t.shape else (), t.dtype)
        return Node(PACK, tuple(values), packing(t), t, self.node.origin, None, self.node.role)

    def carry_on(self, item: Node, loop: Node, first: int) -> None:
        """Make the result of what is carried."""
        writer = self.writer
        writer.apart[item] = writer.items(loop, first, item)
        writer.waiting.add(item)

    def collect(self, items: Sequence[Node], loop: Node, k: int, is_list: bool) -> None:
        """Make the result of what is collected: an array, or a list that other loops go through."""
        name = _plural(items) if is_list else items[0].name
        whole = self.writer.add(ITEM, (loop,), loop.type[k], items[0], params=(("index", k),), name=name)
        if not is_list:
            self.writer.new[items[0]] = whole
            return
        at = 0
        for item in items:
            for x in (item, *filter(_is_reversal, self.writer.readers.get(item, ()))):
                self.writer.lists[x] = whole, at
            at += item.type.size // item.type.shape[0]


def _plural(items: Sequence[Node]) -> str | None:
    """Name a list: after the one value that it holds, or as the steps of the loop."""
    if len(items) > 1:
        return "steps"
    name = items[0].name
    return name if not name or name.endswith("s") else f"{name}s"


def _of(loop: Node) -> Operands:
    return operands_of(loop.inputs, **dict(loop.given))


def _fixed_and_carried(loop: Node) -> tuple[Node, ...]:
    of = _of(loop)
    return (*of.constants, *of.carried)


def _is_reversal(node: Node) -> bool:
    return node.op is ops.getitem and len(node.inputs) == 1 and node.param("index") == (Slice(None, None, -1),)


def _substituted(nodes: Sequence[Node], parts: dict[Node, Node]) -> dict[Node, Node]:
    """Return what takes the place of nodes, once these inputs are others."""
    new: dict[Node, Node] = dict(parts)
    for node in nodes:
        inputs = tuple([new.get(i, i) for i in node.inputs])
        if inputs != node.inputs:
            new[node] = node.with_inputs(inputs)
    return new
