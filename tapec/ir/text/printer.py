"""The printer writes the text of a graph, which `tapec.ir.parse` reads back to an equal graph.

    graph(%x: f64[3], %w: f64[3]) {
      %0: f64[3] = multiply %x, %w
      %1: f64[] = sum %0 {axis=(0,), keepdims=False}
      %2: f64[] = multiply %1, 2.0 !ct
      return %2
    }

Python numbers stand where they are used. Small constants are written out, big ones and other objects are named: `@w`
refers to `constant_table(graph)["w"]`. `%q[0]` is the first result of a node with several. `!ct` marks what derivative
rules made. The bodies of an op are graphs that stand before the one with the op, which refers to them: a text of
several graphs begins with its version.

    graph text 2

    graph square(%x: f64[]) {
      %0: f64[] = multiply %x, %x
      return %0
    }

    graph(%x: f64[]) {
      %0: (f64[]) = call %x @square
      %1: f64[] = %0[0]
      return %1
    }
"""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import count
from typing import Any

import numpy as np

from tapec.ir import tuning
from tapec.ir.bare_graph import BareGraph
from tapec.ir.lazy import quoted
from tapec.ir.node import CONSTANT, ITEM, Node, is_literal
from tapec.ir.static_index import Slice, Slot
from tapec.ir.types import dtype_from_name, dtype_name

__all__ = ["VERSION", "constant_table", "print_graph"]

VERSION = 2  # of the grammar: 1 had graphs among the parameters, as `{graph=@square}`

_PLAIN_NAME = re.compile(r"[A-Za-z_][\w.]*")
_PLAIN_VALUES = (bool, int, float, complex, str, type(None), Slice, Slot)


def print_graph(graph: BareGraph, comment: Callable[[Node], str] | None = None) -> str:
    """The text of a graph; `comment(node)` may add to a node's line."""
    return _Printer(comment).print(graph)


def constant_table(graph: BareGraph) -> dict[str, Any]:
    """Return the constants that the text names: `parse(str(graph), constant_table(graph))` gives the graph."""
    printer = _Printer(None)
    printer.print(graph)
    return printer.table


class _Printer:
    """Keeps the texts of the graphs met so far, callees first, and the table of what they name."""

    def __init__(self, comment: Callable[[Node], str] | None):
        self.comment = comment
        self.table: dict[str, Any] = {}
        self.labels: dict[int, str] = {}  # id of a named object -> its name
        self.unique = _Unique()
        self.callees: list[str] = []

    def print(self, graph: BareGraph) -> str:
        main = self.block(graph, "" if graph.name == "graph" else graph.name)
        return "\n\n".join([f"graph text {VERSION}", *self.callees, main]) if self.callees else main

    def block(self, graph: BareGraph, label: str) -> str:
        names = _Names()
        inputs = [f"{names.take(node)}: {node.type!r}" for node in graph.inputs]
        lines = [_header(label, inputs)]
        for node in graph.nodes:
            if is_literal(node):
                names[node] = repr(node.value)
            else:
                lines.append(self.line(node, names))
        lines.append("  return " + ", ".join([names[o] for o in graph.outputs]) if graph.outputs else "  return")
        lines.append("}")
        return "\n".join(lines)

    def line(self, node: Node, names: _Names) -> str:
        given = [names[i] for i in node.inputs]
        params = node.params
        if node.op is ITEM:
            what = f"{given[0]}[{params[0][1]}]"
        else:
            operands = " " + ", ".join(given) if given else ""
            static = f" {{{', '.join([self.param(node, k, v) for k, v in params])}}}" if params else ""
            bodies = " " + ", ".join(map(self.callee, node.bodies)) if node.bodies else ""
            what = f"{node.op.name}{operands}{static}{bodies}"
        role = f" !{node.role}" if node.role is not None else ""
        text = f"  {names.take(node)}: {node.type!r} = {what}{role}"
        if self.comment is not None and (more := self.comment(node)):
            text = f"{text}  # {more}"
        return text

    def param(self, node: Node, key: str, value: Any) -> str:
        if node.op is CONSTANT:
            text = constant_text(value)
            return f"value={text if text is not None else self.refer(value, node.name or 'c')}"
        return f"{key}={self.value(value)}"

    def value(self, value: Any) -> str:
        kind = type(value)
        if kind in _PLAIN_VALUES:
            return repr(value)
        if kind is tuple:
            parts = [self.value(v) for v in value]
            return f"({parts[0]},)" if len(parts) == 1 else f"({', '.join(parts)})"
        if value is Ellipsis:
            return "..."
        if isinstance(value, np.dtype) and _is_named(value):
            return dtype_name(value)
        if isinstance(value, np.generic) and _is_named(value.dtype):
            text = constant_text(value)
            return self.refer(value, "p") if text is None else f"{dtype_name(value.dtype)}({text})"
        return self.refer(value, getattr(value, "__name__", "p"))

    def refer(self, value: Any, hint: str) -> str:
        """Return `@name` for an object that has no text."""
        label = self.labels.get(id(value))
        if label is None:
            label = self.labels[id(value)] = self.fresh(hint)
            self.table[label] = value
        return "@" + label

    def callee(self, graph: BareGraph) -> str:
        if not isinstance(graph, BareGraph):
            return self.refer(graph, "p")  # the verifier shows broken graphs too
        label = self.labels.get(id(graph))
        if label is None:
            label = self.labels[id(graph)] = self.fresh(graph.name)
            self.callees.append(self.block(graph, label))
        return "@" + label

    def fresh(self, hint: str) -> str:
        return self.unique(hint if _PLAIN_NAME.fullmatch(hint) else re.sub(r"\W+", "_", hint).strip("_") or "c")


class _Names(dict[Node, str]):
    """Names the nodes in one graph's text: by their own names where these are there and distinct."""

    def __init__(self) -> None:
        self._unique = _Unique()
        self._numbers = count()

    def __missing__(self, node: Node) -> str:
        return "%?"  # the verifier shows broken graphs too

    def take(self, node: Node) -> str:
        if node.name is None:
            text = self[node] = f"%{next(self._numbers)}"
            return text
        name = self._unique(node.name)
        text = self[node] = f"%{name}" if _PLAIN_NAME.fullmatch(name) else f"%{quoted(name)}"
        return text


class _Unique:
    """Gives each name once: the name that is wished, or the first of name_1, name_2, ... that is free."""

    def __init__(self) -> None:
        self.used: set[str] = set()
        self.tried: dict[str, int] = {}  # all numbers behind a name up to this one are taken

    def __call__(self, wish: str) -> str:
        name, k = wish, self.tried.get(wish, 0)
        while name in self.used:
            k += 1
            name = f"{wish}_{k}"
        self.tried[wish] = k
        self.used.add(name)
        return name


def _header(label: str, inputs: list[str]) -> str:
    name = "" if not label else f" {label}" if _PLAIN_NAME.fullmatch(label) else f" {quoted(label)}"
    line = f"graph{name}({', '.join(inputs)}) {{"
    if len(line) <= tuning.LINE_MAX_COLUMNS:
        return line
    return f"graph{name}(\n  " + ",\n  ".join(inputs) + "\n) {"


def _is_named(dtype: np.dtype) -> bool:
    """Return whether the dtype's short name stands for just this dtype."""
    try:
        return dtype_from_name(dtype_name(dtype)) == dtype
    except KeyError:
        return False


def constant_text(value: Any) -> str | None:
    """A small constant written out; None for one that is big, or whose text would not give the same bytes."""
    if value.size > tuning.INLINE_CONSTANT_MAX_ELEMENTS or not _is_named(value.dtype) or value.dtype.char in "gG":
        return None
    if value.dtype.kind in "fc" and not _plain_nans(value):
        return None
    plain = value.tolist()
    if value.dtype in (np.float32, np.float16):
        short = [float(str(v)) for v in np.ravel(value)]
        if np.asarray(short, value.dtype).tobytes() == value.tobytes():
            plain = np.asarray(short).reshape(value.shape).tolist()
    return repr(plain)


def _plain_nans(value: Any) -> bool:
    """Return whether each nan in a value is the one that the text `nan` gives back, with neither sign nor payload."""
    parts = np.ravel(value).view(value.real.dtype)
    nans = parts[np.isnan(parts)]
    return nans.tobytes() == np.full_like(nans, np.nan).tobytes()
