"""The comparison is fair: what is written by hand is right, and tapec gives the same. `pytest tests/benchmarks`."""

import json

import numpy as np
import pytest

import tapec
from docs.peers import categories_table, ratios_table
from tapec.api.compiled.checks.direction_check import check_direction, complex_step
from tests.benchmarks.peers import compare, derivative
from tests.benchmarks.workloads import WARM_UP, WORKLOADS


def number_and_gradient(w, rng):
    """A function of the first argument that gives a number, and its gradient by what is written by hand.

    Of a Hessian and of gradients of examples, the rows are mixed with random weights: a wrong one shows.
    """
    x, *rest = w.args
    found = w.by_hand(*w.args)
    if w.what == "hessian":
        u = rng.standard_normal(x.shape)  # the number: the slope along u, by a complex step, which loses no digits
        return lambda x: complex_step(lambda t: w.objective(np, x + t * u, *rest)), u @ found
    if w.what == "per_example":
        weights = rng.standard_normal(len(found))
        return lambda x: weights @ [w.objective(np, x, *e) for e in zip(*rest, strict=True)], weights @ found
    return lambda x: w.objective(np, x, *rest), found


@pytest.mark.parametrize("w", [WARM_UP, *WORKLOADS], ids=lambda w: w.name)
def test_by_hand_agrees_with_values(w):
    rng = np.random.default_rng(1)
    x = np.asarray(w.args[0])
    v = rng.standard_normal(x.shape)
    number, gradient = number_and_gradient(w, rng)

    def along(t):
        if isinstance(t, complex):
            raise TypeError("real steps only")
        return number(x + t * v)

    assert check_direction(along, np.sum(gradient * v), scale=0.1).status == "ok"


@pytest.mark.parametrize("optimize", [True, False])
@pytest.mark.parametrize("w", WORKLOADS, ids=lambda w: w.name)
def test_tapec_agrees_with_by_hand(w, optimize):
    expected = w.by_hand(*w.args)
    with tapec.settings(optimize=optimize):
        found = derivative("tapec", w)(*w.args)
    assert np.allclose(found, expected, rtol=1e-9, atol=1e-9 * np.max(np.abs(expected)))


def test_comparison_and_tables():
    data = compare(["by hand", "tapec"], ["wave", "rosenbrock 10"], 0.01, 1)
    json.dumps(data)
    assert set(data["times"]) == {"wave", "rosenbrock 10"}
    assert all(t["warm"] > 0 for times in data["times"].values() for t in times.values())
    assert "| rosenbrock 10 | " in ratios_table(data)
    assert "| latency | " in categories_table(data)
