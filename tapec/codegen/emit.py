"""Emission: one statement a node (to be replaced by the real one)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tapec.ir import CONSTANT, Graph, is_literal

__all__ = ["Compiled", "compile_graph"]


@dataclass
class Compiled:
    """A generated function, its source and the graph it came from."""

    function: Callable[..., Any]
    source: str
    graph: Graph


def compile_graph(graph: Graph, name: str = "function", scalar: bool = False) -> Compiled:
    """One Python function of the graph's inputs that returns the tuple of its outputs."""
    names: dict[Any, str] = {n: n.name or f"a{i}" for i, n in enumerate(graph.inputs)}
    space: dict[str, Any] = {"np": np, "math": math}
    lines = [f"def {name}({', '.join(names[i] for i in graph.inputs)}):"]
    for i, node in enumerate(graph.nodes):
        if is_literal(node):
            names[node] = f"({node.value!r})"
        elif node.op is CONSTANT:
            names[node] = f"c{i}"
            space[f"c{i}"] = node.value
        else:
            names[node] = f"t{i}"
            args = [names[k] for k in node.inputs]
            if node.op.source is None:
                space[f"run_{node.op.name}"] = node.op.run
                text = f"run_{node.op.name}({', '.join(args)}, **{dict(node.params)!r})"
                space[f"p{i}"] = dict(node.params)
                text = f"run_{node.op.name}({', '.join([*args, f'**p{i}'])})"
            elif callable(node.op.source):
                text = node.op.source([f"({a})" if " " in a else a for a in args], node)
            else:
                text = node.op.source.format(*args, name=name, **dict(node.params))
            lines.append(f"    {names[node]} = {text}")
    lines.append(f"    return ({', '.join(names[o] for o in graph.outputs)},)")
    source = "\n".join(lines) + "\n"
    exec(compile(source, f"<{name}>", "exec"), space)
    return Compiled(space[name], source, graph)
