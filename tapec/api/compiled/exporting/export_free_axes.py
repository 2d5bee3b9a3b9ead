"""Find the sizes that exported code relies on, by generating it for other sizes and comparing.

An axis is free when the code is the same to the letter for two other lengths of it, one more and about twice as many
(or half as many, where twice makes an array large), and the function's own Python never asks for a shape, so that
nothing but the arrays themselves can have decided. Axes of one length are taken to belong together: they must be equal
at each call. Code with branches keeps its sizes, since other data would take other turns. A slice such as `x[:100]` has
that many elements only of an axis that is as long (`least_lengths`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tapec.api.compiled.exporting.shapes_held import ASKS
from tapec.api.compiled.signature import value_of
from tapec.errors import filtered_warnings
from tapec.fast_namedtuple import NamedTuple
from tapec.ir import CONSTANT, Type, ops
from tapec.ir.bare_graph import all_nodes
from tapec.ir.sizes import is_size, size_name
from tapec.ir.static_index import Slice, Slot
from tapec.pytree import unflatten

__all__ = ["Axis", "free_axes", "least_lengths"]

_DISTANCES = ("k", "offset", "shift")  # parameters that count elements along an axis


class Axis(NamedTuple):
    """Names one axis of an input."""

    position: int
    number: int


def free_axes(function: Any, program: Any, args: Any, kwargs: Any) -> dict[Axis, Axis]:
    """The axes whose length does not matter, each with the first axis that must be as long."""
    if program.branches or ASKS & program.words:
        return {}
    entry, call = function._entry(args, kwargs)
    groups: dict[int, list[Axis]] = {}
    for k, t in enumerate(entry.info.types):
        for number, n in enumerate(t.shape):
            if n > 1:
                groups.setdefault(n, []).append(Axis(k, number))
    code = _code(program)

    def is_same(n: int, other: int) -> bool:
        return bool(_code_for(function, call, n, other) == code)

    least = least_lengths(program)
    if least is None or (least and function._transform.maps):  # over examples, which have an axis less
        return {}
    return {
        axis: axes[0]
        for n, axes in groups.items()
        if not _counts_beyond(program, n)
        if is_same(n, n + 1) and (is_same(n, 2 * n + 1) or is_same(n, (n + 1) // 2))
        for axis in axes
    }


def least_lengths(program: Any) -> dict[str, int] | None:
    """Return how long axes of inputs have to be for slices to have as many elements as now: 100 for `x[:100]`.

    The keys are sizes as `size_text` writes them. None where the length of a sliced axis is no input's.
    """
    least: dict[str, int] = {}
    for path in program.paths:
        outside = {*path.forward.nodes}
        for node in all_nodes(path.forward.nodes):
            if node.op.kind != "indexing" or node.inputs[0].op is CONSTANT:
                continue
            x = node.inputs[0]
            for axis, part in enumerate(_by_axis(dict(node.params).get("index", ()), len(x.type.shape))):
                ends = [abs(end) for end in (part.start, part.stop) if end] if type(part) is Slice else []
                if max(ends, default=0) > 1:
                    size = size_name(x, (axis,)) if node in outside else None
                    if size is None or not is_size(size):
                        return None
                    least[size] = max(least.get(size, 0), *ends)
    return least


def _by_axis(index: Any, ndim: int) -> list[Any]:
    """Return the part of an index that belongs to each axis."""
    parts = [part for part in index if part is not None]
    if ... in parts:
        at = parts.index(...)
        parts[at : at + 1] = [None] * (ndim - len(parts) + 1)
    return parts


def _counts_beyond(program: Any, n: int) -> bool:
    """Return whether an index counts beyond the end of an axis of this length, which other lengths have: `x[:1000]`,
    or may count beyond the end of others: `np.roll(x, 13)`.

    So does a derivative of a convolution: its code knows which of the two operands is longer.
    """
    path = program.paths[0]
    nodes = [
        node
        for node in all_nodes(path.forward.nodes)
        if any([n in i.type.shape for i in node.inputs if type(i.type) is Type])
    ]
    if path.target is not path.forward and any([node.op is ops.convolve for node in nodes]):
        return True
    params = [(key, value) for node in nodes for key, value in node.params]
    if any([key == "mode" and value in ("clip", "wrap") for key, value in params]):
        return True
    far = [value for key, value in params if key in _DISTANCES]
    places = [value for key, value in params if key == "index"]
    return any([abs(place) > 1 for place in _places(far)]) or any([abs(place) >= n for place in _places(places)])


def _places(value: Any) -> Iterator[int]:
    if type(value) is int:
        yield value
    elif isinstance(value, (list, tuple)) and type(value) is not Slot:
        for part in value:
            yield from _places(part)


def _code(program: Any) -> Any:
    """Return the generated lines and constants, without the first line, which tells the cost."""
    compiled = program.compiled.renamed("f")
    lines = [line for line in compiled.source.splitlines() if not line.startswith("#")]
    return lines, {name: (value.shape, value.tobytes()) for name, value in _arrays(compiled.constants)}


def _arrays(constants: dict[str, Any]) -> Any:
    return [(name, np.asarray(value)) for name, value in constants.items()]


def _code_for(function: Any, call: Any, n: int, other: int) -> Any:
    """The code for arguments with another length in place of n; None when the function does not take them."""
    twin = function._like(function._function)
    leaves = [_resized(x, n, other) if moving else x for x, moving in zip(call.leaves, call.dynamic)]
    args, kwargs = unflatten(call.tree, leaves)
    try:
        with filtered_warnings("ignore"):
            _, program, _ = twin.locate(*args, **kwargs)
    except Exception:  # whatever the function says to arguments that nobody gave it
        return None
    return None if program is None or program.is_retraced or program.branches else _code(program)


def _resized(x: Any, n: int, other: int) -> Any:
    value = value_of(x)
    if not isinstance(value, np.ndarray):
        return x
    return np.resize(value, [other if m == n else m for m in value.shape])
