"""Loops keep for the gradient what cannot be computed again, and nothing that the gradient does not need."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from tapec.autodiff.bodies.kept_values import PASS, kept_values
from tapec.autodiff.reverse import value_and_grad_graph
from tapec.ir import Builder, Node, Type, input_node, interpret, ops
from tapec.ops.control.body_graphs import body_of
from tapec.ops.control.loop import LOOP, loop
from tapec.passes.pipeline import optimize

F0, F3, F33 = Type((), float), Type((3,), float), Type((3, 3), float)
RNG = np.random.default_rng(0)


def collected(turn: Any, types: list[Type], wrt: list[int], constants: int) -> list[Type]:
    """Return the types of rows that the loop of a gradient collects; a sum of what it carries is differentiated."""
    body = body_of("turn", turn, types)
    graph = body_of(
        "f", lambda *xs: (sum(map(np.sum, loop((body,), xs[:constants], xs[constants:], (), 4))),), [*types]
    )
    found = optimize(value_and_grad_graph(graph, wrt))
    values = [RNG.normal(size=t.shape) for t in types]
    for k in wrt:
        moved = [RNG.normal(size=t.shape) * (j == k) for j, t in enumerate(types)]
        ends = [interpret(graph, *[x + s * 1e-6 * m for x, m in zip(values, moved)])[0] for s in (1, -1)]
        slope = (ends[0] - ends[1]) / 2e-6
        np.testing.assert_allclose(np.sum(interpret(found, *values)[1 + wrt.index(k)] * moved[k]), slope, rtol=1e-6)
    first = next(n for n in found.nodes if n.op is LOOP)
    return list(first.type[first.param("carried") :])


def test_what_is_carried_is_kept_once_though_it_is_read_before_and_after() -> None:
    """The slope of tanh is of what a turn hands on, that of the matrix of what it was handed."""
    assert collected(lambda w, h: (np.tanh(w @ h),), [F33, F3], [0, 1], 1) == [Type((4, 3), float)]


def test_factors_are_kept_and_no_products_of_them() -> None:
    kept = collected(lambda a, u, v: (u + a * u * v, v - u * v * v), [F0, F3, F3], [0, 1, 2], 1)
    assert kept == [Type((4, 3), float)] * 2


def test_masks_are_made_of_what_is_kept() -> None:
    def turn(w: Any, h: Any) -> Any:
        z = w @ h
        return (np.maximum(z, 0.0) * z * 0.1 + h,)

    assert [t.dtype.kind for t in collected(turn, [F33, F3], [0, 1], 1)] == ["f", "f"]


@pytest.mark.parametrize("function", [np.exp, np.tanh, np.log1p])
def test_what_takes_long_is_not_computed_again(function: Any) -> None:
    """Of a few values in the way of the gradient those are kept that come behind the long computation."""
    body = body_of("turn", lambda h: (np.sin(function(h * h)),), [F3])
    graph = body_of("f", lambda h: (np.sum(loop((body,), [], [h], (), 4)[0]),), [F3])
    found = optimize(value_and_grad_graph(graph, [0]))
    loops = [n for n in found.nodes if n.op is LOOP]
    assert function.__name__ not in {n.op.name for n in loops[-1].bodies[0].nodes}


def test_nothing_is_kept_for_derivatives_that_nobody_wants() -> None:
    """The slope by the exponent would need a logarithm of what is carried."""
    turn = lambda a, h: (np.sin(h) + a * np.exp(h),)
    assert len(collected(turn, [F0, F3], [0, 1], 1)) == 2
    assert collected(lambda a, h: (h * 0.5 + np.exp(a * 0.1),), [F0, F3], [1], 1) == []


def programs() -> list[tuple[list[Node], list[Node]]]:
    """Return random programs, and of each a few values that are needed."""
    found = []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        builder = Builder()
        nodes = [input_node(None, Type((int(n),), float)) for n in rng.integers(1, 4, size=2)]
        nodes = [nodes[0], input_node(None, nodes[0].type)]
        for _ in range(6):
            op = [ops.multiply, ops.add, ops.exp, ops.negative][rng.integers(4)]
            given = [nodes[k] for k in rng.choice(len(nodes), size=2 if op in (ops.multiply, ops.add) else 1)]
            nodes.append(builder.emit(op, tuple(given)))
        found.append((nodes, [nodes[k] for k in rng.choice(len(nodes), size=3, replace=False)]))
    return found


@pytest.mark.parametrize(("nodes", "needed"), programs())
def test_no_other_choice_costs_less(nodes: list[Node], needed: list[Node]) -> None:
    def cost(kept: set[Node]) -> float:
        """Return what it costs to keep these, and to compute the rest of what is needed."""
        left, again = [n for n in needed if n not in kept], set()
        while left:
            node = left.pop()
            if node.op is ops.exp or not node.inputs:
                return float("inf")
            if node not in again:
                again.add(node)
                left += [i for i in node.inputs if i not in kept]
        return sum([3 * n.type.nbytes for n in kept]) + PASS * sum([n.type.size for n in again])

    kept, again = kept_values(needed, ())
    assert not kept & again
    subsets = itertools.chain.from_iterable([itertools.combinations(nodes, k) for k in range(len(nodes) + 1)])
    assert cost(set(kept)) == min([cost(set(s)) for s in subsets])


def test_a_value_that_is_there_costs_nothing() -> None:
    x = input_node("x", F3)
    y = Builder().emit(ops.exp, (x,))
    assert kept_values([y], ()) == ({y}, set())
    assert kept_values([y], {y}) == (set(), set())
