"""Make one parameter of the inputs that are the elements of a list, where a loop goes through it, or an array is made.

    x_0, x_1, x_2 -> stack x_0, x_1, x_2 -> loop          ->          x -> array_of_list x -> loop

A list of Python's numbers is an input of a type of its own: `float[3]`, weak as the numbers are. Three operations read
lists: one makes an array, one takes a part, one an element. Loops on floats go through the list itself. In the place of
a list of arrays, or of NumPy's numbers, the input is one array.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from tapec.codegen import tuning
from tapec.ir import Builder, Graph, Node, Op, Type, input_node, ops, prune, register
from tapec.ir.param_types import INDEX, SIZE
from tapec.ir.static_index import Slice, slice_of_rows
from tapec.ir.types import NUMBERS
from tapec.ops.control.loop import LOOP
from tapec.ops.indexing.getitem_and_scatter import index_source

__all__ = [
    "ARRAY_OF_LIST",
    "ELEMENTS",
    "ELEMENT_OF_LIST",
    "PART_OF_LIST",
    "Lists",
    "arguments",
    "as_list",
    "gathered",
    "is_list",
    "with_elements",
    "with_lists",
]

Lists = Sequence[tuple[str, range]]  # the names of lists, and the places of the inputs that are their elements


def _op(name: str, kind: str, run: Any, rule: Any, source: Any, **more: Any) -> Op:
    return register(Op(name=name, run=run, rule=rule, kind=kind, source=source, gradient="none", **more))


def _part(t: Type, index: tuple[Slice]) -> Type:
    return Type((len(range(*slice(*index[0]).indices(t.shape[0]))), *t.shape[1:]), t.dtype, True)


ARRAY_OF_LIST = _op(
    "array_of_list",
    "unpack",
    np.array,
    lambda t: Type(t.shape, t.dtype),
    "np.array({0})",
)
PART_OF_LIST = _op(
    "part_of_list",
    "unpack",
    lambda x, index: x[slice(*index[0])],
    _part,
    lambda args, node: f"{args[0]}[{index_source(node.param('index'), ())}]",
    params={"index": INDEX},
    view=True,
)
ELEMENT_OF_LIST = _op(
    "element_of_list",
    "unpack",
    lambda x, place: x[place],
    lambda t, place: Type(t.shape[1:], t.dtype, True),
    "{0}[{place}]",
    params={"place": SIZE},
)
ELEMENT_OF_LIST.facts["word"] = "entry"
ELEMENTS = _op("elements", "starred", lambda x: x, lambda t: Type(t.shape, t.dtype), "*{0}")


def is_list(x: Node) -> bool:
    """Return whether a value is a list of numbers, and no array."""
    return not x.op.multi and x.type.weak and bool(x.type.shape)


def as_list(x: Node, add: Callable[[Node], None]) -> Node | None:
    """Return the list of which an array is made, or a part of it for a part of the array; `add` takes what is new."""
    if x.op is ARRAY_OF_LIST:
        return x.inputs[0]
    if x.op is not ops.getitem or len(x.inputs) > 1 or [type(part) for part in x.param("index")] != [Slice]:
        return None
    whole = as_list(x.inputs[0], add)
    if whole is not None:
        whole = Node(PART_OF_LIST, (whole,), x.params, _part(whole.type, x.param("index")), x.origin, None, x.role)
        add(whole)
    return whole


def gathered(values: Sequence[Any], lists: Sequence[range]) -> list[Any]:
    """Return what there is for each input with a list in the place of what there is for the elements of a list."""
    found: list[Any] = []
    first = 0
    for places in lists:
        found += [*values[first : places.start], list(values[places.start : places.stop])]
        first = places.stop
    return [*found, *values[first:]]


def arguments(values: Sequence[Any], lists: Sequence[range]) -> list[Any]:
    """Return the values of parameters, given those of all inputs."""
    found = gathered(values, lists)
    return [np.array(x) if type(x) is list and type(x[0]) not in NUMBERS else x for x in found]


def with_lists(graph: Graph, lists: Lists) -> tuple[Graph, tuple[range, ...]]:
    """Return the program with one input in the place of the elements of each list that loops go through, or of which an
    array is made; and the places of those elements among the inputs."""
    if not lists:
        return graph, ()
    place = {i: k for k, i in enumerate(graph.inputs)}
    stacks = {n: at for n in graph.nodes if (at := _stacked(n, place))}
    read = [stacks[x] for x in _walked_along(graph) if x in stacks]
    read += [at for at in stacks.values() if len(at) >= tuning.LISTED_MIN_ELEMENTS]
    taken: dict[range, Node] = {}
    for name, places in lists:
        t = graph.inputs[places.start].type
        if t.ndim < 2 and any([_is_in(at, places) for at in read]):
            taken[places] = input_node(name, Type((len(places), *t.shape), t.dtype, t.weak))
    if not taken:
        return graph, ()
    builder = Builder()
    new: dict[Node, Node] = {}
    for places, whole in taken.items():
        for k, i in enumerate(places):
            new[graph.inputs[i]] = _element(builder, whole, k)
    for node in graph.nodes:
        at = stacks.get(node, range(0))
        of = next((p for p in taken if at and _is_in(at, p)), None)
        builder.role = node.role
        if of is not None:
            index = slice_of_rows(at.start - of.start, at.step, len(at), len(of))
            new[node] = _array(builder, taken[of], index, node.origin)
            continue
        inputs = tuple([new.get(i, i) for i in node.inputs])
        new[node] = builder.add(node if inputs == node.inputs else node.with_inputs(inputs))
    whole_of = {graph.inputs[places.start]: whole for places, whole in taken.items()}
    params = [whole_of[x[0]] if type(x) is list else x for x in gathered(graph.inputs, list(taken))]
    return prune(Graph(params, builder.nodes, [new.get(o, o) for o in graph.outputs], graph.name)), tuple(taken)


def _walked_along(graph: Graph) -> Iterator[Node]:
    """Go through the arrays of which loops read all rows or some."""
    for loop in graph.nodes:
        for x in loop.inputs if loop.op is LOOP else ():
            while x.op is ops.getitem:
                x = x.inputs[0]
            yield x


def _stacked(node: Node, place: Mapping[Node, int]) -> range | None:
    """Return the places of the inputs of which a node makes an array, where they are equally far apart."""
    if node.op is not ops.stack or node.param("axis") != 0 or len(node.inputs) < 2:
        return None
    if not all([i in place for i in node.inputs]):
        return None
    first, distance = place[node.inputs[0]], place[node.inputs[1]] - place[node.inputs[0]]
    at = range(first, first + distance * len(node.inputs), distance or 1)
    return at if list(at) == [place[i] for i in node.inputs] else None


def _is_in(at: range, places: range) -> bool:
    return at[0] in places and at[-1] in places


def _element(builder: Builder, whole: Node, k: int) -> Node:
    if whole.type.weak:
        return builder.emit(ELEMENT_OF_LIST, (whole,), (("place", k),))
    return builder.emit(ops.getitem, (whole,), (("index", (k,)),))


def _array(builder: Builder, whole: Node, index: Slice | None, origin: Any) -> Node:
    """Return the array that is made of a list, or a part of that."""
    params = (("index", (index,)),)
    if whole.type.weak:
        part = whole if index is None else builder.emit(PART_OF_LIST, (whole,), params, origin)
        return builder.emit(ARRAY_OF_LIST, (part,), (), origin)
    return whole if index is None else builder.emit(ops.getitem, (whole,), params, origin)


def with_elements(graph: Graph) -> Graph:
    """Return a program that gives `*d` where it gave the elements of an array one by one: `d[0], d[1], d[2]`."""
    nodes, outputs = [*graph.nodes], [*graph.outputs]
    k = len(outputs)
    while k:
        last = k = k - 1
        while k and _follows(outputs[k - 1], outputs[k]):
            k -= 1
        if last - k + 1 < tuning.STARRED_MIN_ELEMENTS:
            continue
        x, (first,) = outputs[k].inputs[0], outputs[k].param("index")
        builder = Builder()
        builder.role = outputs[k].role
        index = slice_of_rows(first, 1, last - k + 1, x.type.shape[0])
        part = x if index is None else builder.emit(ops.getitem, (x,), (("index", (index,)),))
        outputs[k : last + 1] = [builder.emit(ELEMENTS, (part,))]
        nodes += builder.nodes
    return prune(Graph(graph.inputs, nodes, outputs, graph.name))


def _follows(a: Node, b: Node) -> bool:
    """Return whether a number comes next in the array from which another one is read."""
    if any([n.op is not ops.getitem or len(n.inputs) > 1 or n.inputs[0].type.ndim != 1 for n in (a, b)]):
        return False
    (i, *_), (j, *_) = a.param("index"), b.param("index")
    return a.inputs[0] is b.inputs[0] and type(i) is type(j) is int and j == i + 1 > 0
