"""Read `--transform` and `--wrt`: the transforms of functions and of graphs, and the inputs to differentiate."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tapec.autodiff.forward import jvp_graph
from tapec.autodiff.mode_choice import gradient_graph
from tapec.autodiff.reverse import vjp_graph
from tapec.cli.error_messages import Problem
from tapec.ir import Graph
from tapec.ir.types import is_differentiable

__all__ = ["ON_GRAPHS", "TRANSFORMS", "argnums_of", "inputs_of", "positions_of"]

TRANSFORMS = (
    "grad",
    "value_and_grad",
    "jacobian",
    "jacfwd",
    "jacrev",
    "hessian",
    "hvp",
    "jvp",
    "vjp",
    "vmap",
    "compile",
)


def argnums_of(wrt: str | None) -> Any:
    """Return the argnums in a word: `0`, `w`, or several of them parted by commas."""
    if wrt is None:
        return 0
    parts = [int(p) if p.lstrip("-").isdigit() else p for p in (part.strip() for part in wrt.split(",")) if p]
    return parts[0] if len(parts) == 1 and "," not in wrt else tuple(parts)


def inputs_of(graph: Graph, wrt: str | None) -> list[int]:
    """Return positions of the inputs to differentiate with respect to; without --wrt, all that have a derivative."""
    if wrt is None:
        return [k for k, i in enumerate(graph.inputs) if is_differentiable(i.type)]
    wanted = argnums_of(wrt)
    names = [i.name for i in graph.inputs]
    found = []
    for w in wanted if isinstance(wanted, tuple) else (wanted,):
        if w not in names and not (isinstance(w, int) and -len(names) <= w < len(names)):
            raise Problem(f"--wrt {w}: the graph's inputs are {', '.join(map(str, names))}")
        found.append(w % len(names) if isinstance(w, int) else names.index(w))
    return found


def positions_of(graph: Graph, wrt: str | None) -> str:
    """The same as --wrt of the graph's function, of which the parameters may have other names."""
    return ",".join(map(str, inputs_of(graph, wrt))) + ","


def _grad(graph: Graph, wrt: list[int]) -> Graph:
    joint = _value_and_grad(graph, wrt)
    return Graph(joint.inputs, joint.nodes, joint.outputs[len(graph.outputs) :], joint.name)


def _value_and_grad(graph: Graph, wrt: list[int]) -> Graph:
    t = graph.outputs[0].type
    if t.size != 1 or t.dtype.kind != "f":
        raise Problem(f"the first output is {t}; a gradient is of one real number (vjp and jvp take any output)")
    return gradient_graph(graph, wrt)


ON_GRAPHS: Mapping[str, Callable[[Graph, list[int]], Graph]] = {
    "grad": _grad,
    "value_and_grad": _value_and_grad,
    "vjp": vjp_graph,
    "jvp": jvp_graph,
}
