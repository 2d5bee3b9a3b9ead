"""Define `map`, which runs one op on each row of its batched inputs: batching for ops without a batching rule."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapec.ir import Node, Op, Type, get_op, input_node
from tapec.ir.param_types import BOOLS, OP_NAME, OP_PARAMS
from tapec.ops.core.define import define
from tapec.ops.core.op_helpers import source_of_value

__all__ = ["MAP", "MAPS", "repeated"]


def _rows(values: tuple[Any, ...], batched: tuple[bool, ...]) -> Any:
    """The arguments of each turn."""
    size = next(len(v) for v, b in zip(values, batched, strict=True) if b)
    return ([v[i] if b else v for v, b in zip(values, batched, strict=True)] for i in range(size))


def _run(*values: Any, op: str, params: Any, batched: tuple[bool, ...]) -> Any:
    return np.stack([get_op(op).run(*row, **dict(params)) for row in _rows(values, batched)])


def _run_many(*values: Any, op: str, params: Any, batched: tuple[bool, ...]) -> Any:
    results = [get_op(op).run(*row, **dict(params)) for row in _rows(values, batched)]
    return tuple(np.stack(column) for column in zip(*results, strict=True))


def _row_types(types: tuple[Type, ...], batched: tuple[bool, ...]) -> tuple[Type, ...]:
    return tuple([Type(t.shape[1:], t.dtype) if b else t for t, b in zip(types, batched, strict=True)])


def _rule(*types: Type, op: str, params: Any, batched: tuple[bool, ...]) -> Any:
    size = next(t.shape[0] for t, b in zip(types, batched, strict=True) if b)
    result = get_op(op).rule(*_row_types(types, batched), **dict(params))
    many = result if isinstance(result, tuple) else (result,)
    grown = tuple([Type((size, *t.shape), t.dtype) for t in many])
    return grown if isinstance(result, tuple) else grown[0]


def _source(args: tuple[str, ...], node: Node) -> str | None:
    """`np.stack([np.foo(e0, w) for e0 in x])`; None when the op itself has no source."""
    batched = node.param("batched")
    moving = [k for k, b in enumerate(batched) if b]
    names = [f"e{k}" for k in moving]
    inner = ", ".join(names)
    over = args[moving[0]] if len(moving) == 1 else f"zip({', '.join(args[k] for k in moving)})"
    turn = list(args)
    for k, name in zip(moving, names, strict=True):
        turn[k] = name
    body = _inner_source(node, turn)
    if body is None:
        return None
    text = f"[{body} for {inner} in {over}]"
    return f"[np.stack(column) for column in zip(*{text})]" if node.op is MAPS else f"np.stack({text})"


def _inner_source(node: Node, args: list[str]) -> str | None:
    """Return the source of the op in the loop on one row of each batched input; None when the op has no source."""
    op: Op = get_op(node.param("op"))
    params = node.param("params")
    rows = _row_types(tuple([i.type for i in node.inputs]), node.param("batched"))
    inputs = tuple([input_node(a, t) for a, t in zip(args, rows, strict=True)])
    if callable(op.source):
        return op.source(tuple(args), Node(op, inputs, params, op.rule(*rows, **dict(params))))
    if op.source is None:
        return None
    written = {k: source_of_value(v) for k, v in params}
    listed = "".join(f", {k}={v}" for k, v in written.items())
    return op.source.format(*args, params=listed, **written)


def _loop(name: str, run: Any, multi: bool) -> Op:
    params = {"op": OP_NAME, "params": OP_PARAMS, "batched": BOOLS}
    return define(name, run, _rule, "loop", params=params, gradient="yes", source=_source, sample=None, multi=multi)


MAP = _loop("map", _run, multi=False)
MAPS = _loop("map_many", _run_many, multi=True)


def repeated(node: Node) -> Op:
    """The op that a loop does for each row, or the node's own."""
    op, params = node.op, node.params
    while op is MAP or op is MAPS:
        turn = dict(params)
        op, params = get_op(turn["op"]), turn["params"]
    return op
