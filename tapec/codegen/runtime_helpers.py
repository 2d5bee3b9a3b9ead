"""Define the few functions that generated code calls besides NumPy's; an exported module carries them.

A helper must be a plain function whose source can be read: no closures, no names of this module but `np` and other
helpers.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

import numpy as np

__all__ = [
    "HELPERS",
    "add_at",
    "by_columns",
    "chosen",
    "elements_at",
    "helper_text",
    "in_threads",
    "masked",
    "places_in",
    "rows_at",
    "segment_sums",
    "stable_order",
]


def add_at(target, *index_and_values):
    """target[index] += values for index arrays of the first axes, where a position that comes twice gets both.

    np.add.at, by places in the flat array: for those it is fast. In rows two numbers that lie side by side are added as
    one complex number, which halves the places. Short rows are added column by column, as many as stay in the cache,
    long ones a few at a time.
    """
    *index, values = index_and_values
    if not target.flags.c_contiguous:
        np.add.at(target, tuple(index), values)
        return
    if target.ndim == 1:
        np.add.at(target, index[0].reshape(-1), np.ravel(values))
        return
    places = places_in(target.shape, *index).reshape(-1)
    if target.ndim == len(index):
        np.add.at(target.reshape(-1), places, np.ravel(values))
        return
    flat, width, values = target.reshape(-1), target[(0,) * len(index)].size, np.asarray(values)
    if values.size > 1:
        values = values.reshape(*values.shape[: values.ndim - (target.ndim - len(index))], width)
        if width % 2 == 0 and target.dtype.char in "fd" and values.dtype == target.dtype:
            pair = target.dtype.char.upper()
            if values.strides[-1] != values.itemsize:
                values = values.copy()
            flat, values, width = flat.view(pair), values.view(pair), width // 2
    else:
        values = np.full((places.size, width), values.item(), target.dtype)
    places = np.multiply(places, width, out=None if np.may_share_memory(places, index[0]) else places)
    if width <= min(16, len(places) // 32):
        rows = len(places)
        if values.flags.c_contiguous:
            values, rows = values.reshape(-1, width), 2**19 // (width * values.itemsize)
        for k in range(0, len(places), rows):
            some, at = values[k : k + rows], places[k : k + rows]
            for column in range(width):
                np.add.at(flat[column:], at, some[..., column].reshape(-1))
        return
    values, within, rows = np.ravel(values), np.arange(width), max(values.size // 16, 2048) // width + 1
    if len(places) <= rows:
        np.add.at(flat, (places[:, None] + within).reshape(-1), values)
        return
    with np.errstate():
        np.setbufsize(16)  # else NumPy copies what it adds to the places, to run over several rows at once
        for k in range(0, len(places), rows):
            some = values[k * width : (k + rows) * width]
            np.add.at(flat, (places[k : k + rows, None] + within).reshape(-1), some)


def places_in(shape, *index):
    """The places that index arrays of the first axes name, in an array of which these axes are one."""
    places = None
    for n, positions in zip(shape, index):
        if max(n, positions.size) <= 4096 or positions.min(initial=0) < 0 or positions.max(initial=0) >= n:
            positions = np.arange(n)[positions]
        positions = positions.astype(np.intp, copy=False)
        if places is None:
            places = positions
        else:
            places = places * n
            places = np.add(places, positions, out=places if places.shape == positions.shape else None)
    return places


def elements_at(x, places, axes):
    """What lies at such places, of an array whose first axes they count as one."""
    if x.flags.c_contiguous:
        return x.reshape(-1, *x.shape[axes:]).take(places, axis=0)
    return x[np.unravel_index(places, x.shape[:axes])]


def by_columns(function, x, y, out=None):
    """function(x, y) for many rows of a few elements, of which NumPy takes one row at a time."""
    if out is None:
        out = np.empty(np.broadcast(x, y).shape, x.dtype)
    for k in range(out.shape[1]):
        function(x[..., k % x.shape[-1]], y[..., k % y.shape[-1]], out=out[:, k])
    return out


def masked(values, mask, out=None):
    """np.where(mask, values, 0), bit by bit: unlike np.where it does not stumble over masks without a pattern."""
    bits = values.view(f"i{values.itemsize}")
    into = None if out is None else out.view(bits.dtype)
    # a product takes any byte of a mask for 1, unless it is 0
    return np.bitwise_and(bits, np.multiply(mask, np.int8(-1)), out=into).view(values.dtype)


def chosen(mask, one, other, out=None):
    """np.where(mask, one, other), bit by bit: unlike np.where it does not stumble over masks without a pattern."""
    dtype = np.result_type(one, other)
    x, y = [np.asarray(v, dtype).view(f"i{dtype.itemsize}") for v in (one, other)]
    into = None if out is None else out.view(x.dtype)
    spare = None if into is None or np.may_share_memory(into, y) else into  # y is needed to the end
    differ = np.bitwise_xor(x, y, out=spare if x.ndim or y.ndim else None)
    differ = np.bitwise_and(differ, np.multiply(mask, np.int8(-1)), out=differ if differ.shape == mask.shape else spare)
    return np.bitwise_xor(differ, y, out=differ if into is None else into).view(dtype)


def rows_at(x, index):
    """x[index] for an array of whole numbers: `take` is up to ten times as fast, where it need not copy all of x."""
    return x.take(index, axis=0) if x.flags.c_contiguous else x[index]


def segment_sums(x, starts):
    """np.add.reduceat(x, starts), which goes through x column by column, for segments that a cache holds at once."""
    count = len(starts)
    if not count or starts[0] < 0 or starts[-1] >= len(x) or np.any(starts[1:] < starts[:-1]):
        return np.add.reduceat(x, starts)
    out = np.empty((count, *x.shape[1:]), x.dtype)
    rows = max((1 << 19) // x[0].nbytes, 1)
    cuts = sorted({*np.searchsorted(starts, np.arange(0, len(x), rows)).tolist(), count})
    bounds = [*starts[cuts[:-1]].tolist(), len(x)]
    for first, last, start, stop in zip(cuts, cuts[1:], bounds, bounds[1:]):
        np.add.reduceat(x[start:stop], starts[first:last] - start, out=out[first:last])
    return out


def stable_order(x):
    """np.argsort(x, kind="stable"): where no elements are equal NumPy's fast sort, too, knows but one order."""
    order = np.argsort(x)
    found = np.take_along_axis(x, order, -1)
    return order if np.all(found[..., 1:] > found[..., :-1]) else np.argsort(x, kind="stable")


def in_threads(blocks, rows, block, threads):
    """blocks(first, last) for as many spans of the rows as there are threads, at once; what they give, in order."""
    from contextvars import copy_context
    from threading import Thread

    share = -(-rows // (block * threads)) * block
    firsts = range(0, rows, share)
    found, errors = [[] for _ in firsts], []

    def run(k, first):
        try:
            found[k] = blocks(first, min(first + share, rows))
        except BaseException as error:
            errors.append(error)

    others = [Thread(target=copy_context().run, args=(run, k, first)) for k, first in enumerate(firsts) if k]
    for thread in others:
        thread.start()
    run(0, 0)
    for thread in others:
        thread.join()
    if errors:
        raise errors[0]
    return [part for parts in found for part in parts]


HELPERS: dict[str, Callable[..., Any]] = {
    f.__name__: f
    for f in (
        add_at,
        by_columns,
        chosen,
        elements_at,
        in_threads,
        masked,
        places_in,
        rows_at,
        segment_sums,
        stable_order,
    )
}


def helper_text(helpers: Mapping[str, Callable[..., Any]]) -> str:
    """Return the source of helpers, under the names that the code calls them by.

    Raise ValueError when one has no source of its own.
    """
    texts = {}
    waiting = dict(helpers)
    while waiting:
        name, function = waiting.popitem()
        code = getattr(function, "__code__", None)
        plain = code is not None and not code.co_freevars and code.co_name != "<lambda>"
        source = ""
        if plain:
            with suppress(OSError):  # there is no file
                source = inspect.getsource(function)
            plain = source != ""
        definition: Any = ast.parse(source).body[0] if plain else None
        called = _globals(function, definition) - {"np"} if plain else set()
        if not plain or not called <= set(HELPERS):
            raise ValueError(f"{name} is no plain NumPy function, so its source cannot stand alone")
        texts[name] = _text(name, source, definition)
        waiting |= {n: HELPERS[n] for n in called if n not in texts}
    return "\n\n\n".join([texts[name] for name in sorted(texts)])


def _text(name: str, source: str, definition: Any) -> str:
    """Return the source of a function under this name, without types: `Any` is a name, too.

    The defaults stand as they were written: the text of a value, such as `<class 'float'>`, may be no Python.
    """
    parameters = definition.args
    for p in ast.walk(parameters):
        if isinstance(p, ast.arg):
            p.annotation = None
    head = f"def {name}({ast.unparse(parameters)}):"
    return "\n".join([head, *source.split("\n")[definition.body[0].lineno - 1 :]]).strip()


def _globals(function: Any, definition: Any) -> set[str]:
    """Return the names of its module that the statements and the defaults of a function refer to."""
    defaults = [*definition.args.defaults, *filter(None, definition.args.kw_defaults)]
    nodes = [node for part in (*definition.body, *defaults) for node in ast.walk(part)]
    names = [node for node in nodes if isinstance(node, ast.Name)]
    own = {node.id for node in names if not isinstance(node.ctx, ast.Load)}
    own |= {node.arg for node in nodes if isinstance(node, ast.arg)}
    return {n.id for n in names if n.id in function.__globals__} - own - set(function.__code__.co_varnames)
