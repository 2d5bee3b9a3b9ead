"""Compare what a graph computes before and after a step, and what the generated code computes.

Rounding is no difference: a value may move as far as it does where each operation rounds otherwise. Nor is it one that
a value becomes finite: passes keep inf and nan out of gradients, and overflow out of forms such as log(sum(exp(x))).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tapec.codegen import Compiled
from tapec.errors import NonFiniteError, warn_user
from tapec.ir import CONSTANT, CT, Graph, Node, type_of
from tapec.ir.checks.interpreter import compute
from tapec.ir.checks.rounding import apart, nudged, told
from tapec.ir.checks.sample_values import sample_values
from tapec.ir.decision_tree import Branch, Tree
from tapec.ir.types import NUMBERS
from tapec.runtime import tuning

__all__ = ["changed_by_code", "changed_by_pass", "computed", "starting_values"]


# ---------------------------------------------------------------------------------------------------------------
# values to compute with
# ---------------------------------------------------------------------------------------------------------------
def starting_values(graph: Graph, at_hand: Mapping[Node, Any]) -> list[Any] | None:
    """Return values of a graph's inputs: those at hand, others drawn; None, with a warning, where nothing can be
    computed."""
    best: tuple[int, list[Any]] | None = None
    why: Exception | None = None
    for drawn in (sample_values, tame_values):
        values = drawn(graph)
        if graph.past is not None:
            known, raised = computed(graph.past, drawn(graph.past))
            why = next(iter(raised.values()), why)
            values = [known.get(o, x) for o, x in zip(graph.past.outputs, values)]  # what passes know of them holds
        values = [_given(i, at_hand.get(i), x) for i, x in zip(graph.inputs, values)]
        known, raised = computed(graph, values)
        count, why = sum([o in known for o in graph.outputs]), next(iter(raised.values()), why)
        if best is None or count > best[0]:
            best = count, values
        if not raised:
            break
    if best is not None and (best[0] or not graph.outputs):
        return best[1]
    warn_user(
        f"TAPEC_VERIFY=values does not compare the values of {graph.name}: no outputs can be computed on drawn inputs "
        f"({type(why).__name__}: {why})"
    )
    return None


def tame_values(graph: Graph) -> list[Any]:
    """Return drawn values for programs that do not take any: all integers 0, square matrices positive definite."""

    def tame(x: Any) -> Any:
        a = np.asarray(x)
        if a.dtype.kind in "iu":
            return x * 0
        if a.dtype.kind in "fc" and a.ndim > 1 and a.shape[-1] == a.shape[-2]:
            return (a @ np.swapaxes(a, -1, -2).conj() / a.shape[-1] + np.eye(a.shape[-1])).astype(a.dtype)
        return x

    return [tame(x) for x in sample_values(graph)]


def _given(node: Node, value: Any, otherwise: Any) -> Any:
    """Return the value at hand, if it is plain data of the input's type."""
    is_plain = type(value) is np.ndarray or type(value) in NUMBERS or isinstance(value, np.generic)
    return value if is_plain and type_of(value) == node.type else otherwise


def computed(
    graph: Graph, values: Sequence[Any], rng: np.random.Generator | None = None
) -> tuple[dict[Node, Any], dict[Node, Exception]]:
    """Return the values of all nodes, and why others have none. With `rng` each operation rounds otherwise."""
    known: dict[Node, Any] = {i: x if rng is None else _rounded(x, rng) for i, x in zip(graph.inputs, values)}
    raised: dict[Node, Exception] = {}
    with np.errstate(all="ignore"):
        for node in graph.nodes:
            failed = next((raised[i] for i in node.inputs if i in raised), None)
            if failed is None:
                try:
                    known[node] = node.value if node.op is CONSTANT else compute(node, [known[i] for i in node.inputs])
                except Exception as error:  # whatever NumPy raises: a singular matrix, an index out of bounds
                    failed = error.with_traceback(None)  # which would hold all values in a circle
                else:
                    if rng is not None and node.inputs:
                        known[node] = _rounded(known[node], rng)
            if failed is not None:
                raised[node] = failed
    return known, raised


def _rounded(x: Any, rng: np.random.Generator) -> Any:
    if isinstance(x, (tuple, list)):
        return [_rounded(part, rng) for part in x]
    a = np.asarray(x)
    if a.dtype.kind not in "fc":
        return x
    moved = nudged(a, rng)
    return type(x)(moved) if isinstance(x, (float, complex)) and not isinstance(x, np.generic) else moved[()]


# ---------------------------------------------------------------------------------------------------------------
# comparing
# ---------------------------------------------------------------------------------------------------------------
def changed_by_pass(
    before: Graph, after: Graph, values: Sequence[Any], may_raise: tuple[type[Exception], ...] = ()
) -> str | None:
    """Return what the graph after a pass computes otherwise; None if nothing. It may raise some errors."""
    if [i.type for i in before.inputs] != [i.type for i in after.inputs]:
        return "changes the inputs"
    known, _ = computed(before, values)
    found, raised = computed(after, values)
    if len(before.outputs) != len(after.outputs):
        return f"leaves {len(after.outputs)} outputs, before there were {len(before.outputs)}"
    for k, (old, new) in enumerate(zip(before.outputs, after.outputs)):
        if old in known:
            if new in raised and isinstance(raised[new], may_raise):
                continue
            if new in raised:
                return f"breaks {_label(k, old)}: computing it raises {type(raised[new]).__name__}: {raised[new]}"
            wrong = _changed(before, old, known[old], found[new], values)
            if wrong:
                return f"changes {_label(k, old)}, which {wrong}"
    return None


def changed_by_code(graph: Graph, tree: Tree | None, code: Compiled, values: Sequence[Any]) -> str | None:
    """Return what the generated code computes otherwise than the graph; None if nothing."""
    known, raised = computed(graph, values)
    wanted = _outputs_on_path(graph, tree, known)
    if wanted is None or any([o in raised for o in wanted]):  # then the code may raise what NumPy raises
        return None
    try:
        with np.errstate(all="ignore"):
            found = code.function(*[x.copy() if isinstance(x, np.ndarray) else x for x in values])
    except NonFiniteError:  # as `settings.check_nan` asks for
        return None
    except Exception as error:  # whatever generated code raises
        return f"gives code that raises {type(error).__name__}: {error}"
    if found is None:
        return "gives code that knows no path for these values"
    if len(found) != len(wanted):
        return f"gives code with {len(found)} results, of a graph that has {len(wanted)}"
    for k, (node, value) in enumerate(zip(wanted, found)):
        wrong = _changed(graph, node, known[node], value, values)
        if wrong:
            return f"changes {_label(k, node)}, which {wrong}"
    return None


def _outputs_on_path(graph: Graph, tree: Tree | None, known: Mapping[Node, Any]) -> list[Node] | None:
    """Return the outputs that are the result for these values; None where no path is known."""
    if tree is None:
        return [*graph.outputs]
    while isinstance(tree, Branch):
        test = graph.outputs[tree.output]
        if test not in known:
            return None
        found, cases = known[test], tree.cases
        tree = next((case for value, case in cases if _is_case(found, value)), None)
    return None if tree is None else [graph.outputs[k] for k in tree.outputs]


def _is_case(found: Any, value: Any) -> bool:
    if type(value) is bool:
        return bool(found) is value
    return bool((int(found) if type(value) is int else found) == value)


def _label(k: int, node: Node) -> str:
    return f"output {k} ({node.name})" if node.name else f"output {k}"


def _changed(graph: Graph, node: Node, before: Any, after: Any, values: Sequence[Any]) -> str | None:
    """Return how the value of a node differs from the one before; None where it is the same within rounding."""
    b, a = np.asarray(before), np.asarray(after)
    if (a.shape, a.dtype) != (b.shape, b.dtype):
        return f"is {a.dtype} of shape {a.shape}, before it was {b.dtype} of shape {b.shape}"
    if b.dtype.kind not in "fciub":
        return None
    at, size = _apart(a, b, node)
    if not at.any() or _is_rounding(graph, node, b, a, at, values):
        return None
    return told(a, b, at, size, "before it was")


def _apart(a: np.ndarray, b: np.ndarray, node: Node) -> tuple[np.ndarray, float]:
    """Return which elements differ by more than rounding, and by how much; some need not be what they were."""
    with np.errstate(all="ignore"):
        at, size = apart(a, b)
    if b.dtype.kind in "fc":
        at &= np.isfinite(b) if node.role is CT else np.isfinite(b) | ~np.isfinite(a)
    return at, size


def _is_rounding(
    graph: Graph, node: Node, before: np.ndarray, after: np.ndarray, at: np.ndarray, values: Sequence[Any]
) -> bool:
    """Return whether a value moves as far where each operation rounds otherwise."""
    for seed in range(tuning.ROUNDED_TRIES):
        known, _ = computed(graph, values, np.random.default_rng(seed))
        if node not in known:  # at such a place, say, a matrix is singular
            return True
        moved = np.asarray(known[node])
        with np.errstate(all="ignore"):
            there = np.isfinite(moved) & np.isfinite(before)
            farthest = np.max(_distance(moved, before), initial=0.0, where=there)
            near = _distance(after, before) <= tuning.ROUNDED_AS_FAR * farthest
        if bool(np.all(~at | near | (np.isfinite(moved) != np.isfinite(before)))):
            return True
    return False


def _distance(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.abs(a - b) if b.dtype.kind in "fc" else np.abs(a.astype(float) - b)
