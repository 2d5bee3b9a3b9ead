"""These rules read from the parts of an array instead of from the array that was just put together of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapec.ir import Node, ops
from tapec.ir.cost import elements
from tapec.ir.pattern import Some, variables
from tapec.ir.static_index import Slice, Slot
from tapec.ops import Symbol, apply
from tapec.ops.indexing.getitem_and_scatter import (
    FULL_SLICE,
    GETITEM,
    completed,
    index_layout,
    is_diagonal_index,
    picks_one,
)
from tapec.ops.indexing.take import one_index, takes_one
from tapec.passes.engine.elementwise_chain import elementwise_chain, is_elementwise, recomputed
from tapec.passes.engine.node_facts import are_few, takes_everything, uniform_value
from tapec.passes.engine.rule import Rule

__all__ = ["READ_AFTER_WRITE"]

(x,) = variables("x")
TURNED = Slice(None, None, -1)
OF_BROADCAST = Some("getitem", of=("broadcast_to",))
OF_SCATTER = Some("getitem", of=("scatter",))
OF_STACK = Some("getitem", of=("stack",))
OF_WRITE = Some("getitem", of=("setitem",))
SUM_OF_SCATTER = Some("sum", of=("scatter",))
SCATTER = Some("scatter")
ANY_INDEX = Some("getitem")
ALONG_AXIS = Some("take_along_axis")
SUM_OF_SUM = Some("sum", of=("add",))
OF_COMPUTED = Some("getitem")


def _is_basic(node: Node) -> bool:
    return len(node.inputs) == 1 and not any([type(p) is Slot for p in node.param("index")])


def _ints_then_basic(y: Node) -> bool:
    return _is_basic(y) and all([type(p) is int for p in y.inputs[0].param("index")])


def index_of_index(y: Symbol, x: Symbol) -> Any:
    first, second = y.node.inputs[0].param("index"), y.node.param("index")
    return apply(y.node.op, (x,), (("index", (*first, *second)),))


def _turns_back(y: Node) -> bool:
    """Return whether a node is `x[::-1][::-1]`, along any axes."""
    index = y.param("index")
    return y.inputs[0].param("index") == index and all([p is Ellipsis or p in (FULL_SLICE, TURNED) for p in index])


def _takes_one(y: Node) -> bool:
    """Return whether a node is `stack([...])[i]` or `stack([...])[i, ...]`."""
    index = y.param("index")
    return _is_basic(y) and y.inputs[0].param("axis") == 0 and bool(index) and type(index[0]) is int


def index_of_stack(y: Symbol) -> Any:
    index = y.node.param("index")
    part = Symbol(y.node.inputs[0].inputs[index[0]], y.builder)
    return apply(y.node.op, (part,), (("index", index[1:]),)) if len(index) > 1 else part


def _same_place(y: Node) -> bool:
    """Return whether an array is read where it was written. Index arrays do not count, since they may name a place
    twice.
    """
    return _is_basic(y) and _from_start(y.inputs[0]) == _from_start(y)


def _from_start(node: Node) -> tuple[Any, ...]:
    """Return an index whose first number is counted from the beginning."""
    index, shape = node.param("index"), (node if node.op is ops.scatter else node.inputs[0]).type.shape
    return (index[0] % shape[0], *index[1:]) if index and type(index[0]) is int else index


def _reads_value(y: Node) -> bool:
    """Return whether a node reads the value that was written last. One that was spread out or cast does not count."""
    return _same_place(y) and len(y.inputs[0].inputs) == 2 and y.inputs[0].inputs[1].type == y.type


def value_written(y: Symbol) -> Symbol:
    return Symbol(y.node.inputs[0].inputs[1], y.builder)


def _other_place(y: Node) -> bool:
    """Return whether a scatter and an index name two different rows."""
    scatter = y.inputs[0]
    if scatter.op is not ops.scatter:  # the pattern also matches a getitem whose index array is a scatter
        return False
    written, read = scatter.param("index"), y.param("index")
    if len(scatter.inputs) > 1 or not written or not read or type(written[0]) is not int or type(read[0]) is not int:
        return False
    n = scatter.type.shape[0]
    return written[0] % n != read[0] % n


def _one_in_each_line(y: Node) -> bool:
    """Return whether a node sums zeros with one value in each line along the last axis, along which it sums."""
    return y.role is not None and _is_along_last(y) and _picks(y.inputs[0])


def _adds_everything_written(y: Node) -> bool:
    """Return whether a node sums all of a scatter, in which each value counts once: also where several are at one
    place.
    """
    scatter = y.inputs[0]
    if y.role is None or len(y.param("axis")) < scatter.type.ndim or len(scatter.inputs) == 1:
        return False
    values, *arrays = scatter.inputs
    shapes = tuple([i.type.shape for i in arrays])
    return values.type.shape == index_layout(scatter.type.shape, scatter.param("index"), shapes).shape


def _is_along_last(y: Node) -> bool:
    return y.param("axis") == (y.inputs[0].type.ndim - 1,)


def _one_beside_number_in_each_line(y: Node) -> bool:
    """Return whether a node sums along the last axis a number plus zeros with one value in each line."""
    total = y.inputs[0]
    if not _is_along_last(y) or all([uniform_value(i) is None for i in total.inputs]):
        return False
    return any([_picks(i) and i.type == total.type for i in total.inputs])


def _picks(scatter: Node) -> bool:
    """Return whether a node is zeros with one value in each line along the last axis."""
    if scatter.op is not ops.scatter:
        return False
    values, *arrays = scatter.inputs
    return values.type.shape == scatter.type.shape[:-1] and picks_one(
        scatter.param("index"), arrays, scatter.type.shape
    )


def _picks_of_columns(y: Node) -> bool:
    """Return whether one element is read of each line of an array whose lines are one number each."""
    whole = y.inputs[0]
    if whole.op is not ops.broadcast_to or whole.inputs[0].type.shape != (*whole.type.shape[:-1], 1):
        return False  # the pattern also matches a getitem whose index array was spread out
    return picks_one(y.param("index"), y.inputs[1:], whole.type.shape)


def _picks_of_computed(y: Node, uses: Any) -> list[Node] | None:
    """Return the elementwise chain of which few elements are read, if nothing else reads it; else None."""
    whole = y.inputs[0]
    if len(y.inputs) < 2 or not is_elementwise(whole) or uses(whole) > 1 or not are_few(elements(y), elements(whole)):
        return None
    return elementwise_chain(whole, uses)


def computed_where_read(y: Symbol, fact: list[Node]) -> Any:
    """Compute a chain on the elements that are read of its operands.

    An operand with one number for a whole line is read without a place.
    """
    arrays = [Symbol(i, y.builder) for i in y.node.inputs[1:]]
    shape = fact[-1].type.shape
    of_lines = picks_one(y.node.param("index"), y.node.inputs[1:], shape)

    def operand(i: Node, node: Node) -> Any:
        x: Any = Symbol(i, y.builder)
        if not i.type.shape:
            return x
        if of_lines and i.type.shape == (*shape[:-1], 1):
            return np.reshape(x, y.shape)
        return apply(GETITEM, (np.broadcast_to(x, shape), *arrays), y.node.params)

    return recomputed(fact, operand)


def _takes_one_of_equals(y: Node) -> bool:
    """Return whether an index picks places only along axes that were spread out."""
    spread = y.inputs[0]
    if len(y.inputs) > 1 or spread.inputs[0].type.weak or None in y.param("index"):
        return False
    index = completed(spread.type.ndim, y.param("index"))
    own = _own_shape(spread)
    return all([part == FULL_SLICE or (type(part) in (int, Slice) and n == 1) for part, n in zip(index, own)])


def _own_shape(spread: Node) -> tuple[int, ...]:
    """Return the shape of the value that was spread out, with ones in front."""
    shape = spread.inputs[0].type.shape
    return (1,) * (spread.type.ndim - len(shape)) + shape


def one_of_equals(y: Symbol) -> Any:
    """Return the value that was spread out, with the axes of the index, instead of a part of the spread array."""
    spread = y.node.inputs[0]
    index = completed(spread.type.ndim, y.node.param("index"))
    left = [n for part, n in zip(index, _own_shape(spread)) if type(part) is not int]
    return np.broadcast_to(np.reshape(_values(Symbol(spread, y.builder)), left), y.shape)


def _takes_diagonal(y: Node) -> bool:
    return len(y.inputs) == 3 and is_diagonal_index(y.param("index"), y.inputs[1:], y.inputs[0].type.shape)


def diagonal_of(y: Symbol) -> Any:
    return np.diagonal(_values(y))


def _takes_one_of_each(y: Node) -> bool:
    return takes_one(y.inputs[0].type, y.inputs[1].type, y.param("axis"))


def one_of_each(y: Symbol) -> Any:
    x, i = (Symbol(n, y.builder) for n in y.node.inputs)
    index, arrays = one_index(x.shape, i, y.node.param("axis"))
    return np.reshape(apply(GETITEM, (x, *arrays), (("index", index), ("unique", True))), y.shape)


def _fills_diagonal(y: Node) -> bool:
    return len(y.inputs) == 3 and is_diagonal_index(y.param("index"), y.inputs[1:], y.type.shape)


READ_AFTER_WRITE = (
    Rule("index-of-index", x[...][...], index_of_index, _ints_then_basic, kinds="fciub"),
    Rule("turned-twice", x[...][...], x, _turns_back, kinds="fciub"),
    Rule("index-of-stack", OF_STACK, index_of_stack, _takes_one, kinds="fciub"),
    Rule("index-of-scatter", OF_SCATTER, lambda y: _written(y), _same_place, kinds="fc"),
    Rule("index-beside-scatter", OF_SCATTER, lambda y: np.zeros_like(y), _other_place, kinds="fc"),
    Rule("index-of-write", OF_WRITE, value_written, _reads_value, kinds="fciub"),
    Rule("scatter-of-everything", SCATTER, lambda y: np.reshape(_values(y), y.shape), takes_everything, kinds="fc"),
    Rule(
        "picks-of-columns",
        OF_BROADCAST,
        lambda y: np.reshape(_values(Symbol(y.node.inputs[0], y.builder)), y.shape),
        _picks_of_columns,
        only="cotangents",
        kinds="fc",
    ),
    Rule("picks-of-computed", OF_COMPUTED, computed_where_read, _picks_of_computed, kinds="fc", changes="rounding"),
    Rule("one-of-each-line", ALONG_AXIS, one_of_each, _takes_one_of_each, kinds="fciub"),
    Rule("index-of-broadcast", OF_BROADCAST, one_of_equals, _takes_one_of_equals, kinds="fciub"),
    Rule("index-of-diagonal", ANY_INDEX, diagonal_of, _takes_diagonal, kinds="fciub"),
    Rule("scatter-on-diagonal", SCATTER, lambda y: np.diag(_values(y)), _fills_diagonal, kinds="fc"),
    Rule("sum-of-scatter", SUM_OF_SCATTER, lambda y: _laid_out(y), _one_in_each_line, kinds="fc", changes="zeros"),
    Rule(
        "sum-of-all-scattered",
        SUM_OF_SCATTER,
        lambda y: _total(y),
        _adds_everything_written,
        kinds="fc",
        changes="zeros",
    ),
    Rule(
        "sum-of-scatter-beside-number",
        SUM_OF_SUM,
        lambda y: _laid_out_sum(y),
        _one_beside_number_in_each_line,
        only="cotangents",
        kinds="fc",
        changes="zeros",
    ),
)


def _written(y: Symbol) -> Symbol:
    return Symbol(y.node.inputs[0].inputs[0], y.builder)


def _laid_out(y: Symbol) -> Any:
    values = _written(y)
    return values if values.shape == y.shape else np.reshape(values, y.shape)


def _total(y: Symbol) -> Any:
    values = _written(y)
    return np.reshape(np.sum(values) if values.shape else values, y.shape)


def _laid_out_sum(y: Symbol) -> Any:
    scatter, number = sorted(y.node.inputs[0].inputs, key=lambda i: i.op is not ops.scatter)
    values = np.reshape(_values(Symbol(scatter, y.builder)), y.shape)
    return values + scatter.type.shape[-1] * uniform_value(number)


def _values(y: Symbol) -> Symbol:
    return Symbol(y.node.inputs[0], y.builder)
