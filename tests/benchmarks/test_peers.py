"""The comparison is fair: what is written by hand is right, and tapec gives the same. `pytest tests/benchmarks`."""

import json

import numpy as np
import pytest

import tapec
from docs.peers import categories_table, ratios_table
from tapec.report.checking import check_direction
from tests.benchmarks.peers import compare, derivative
from tests.benchmarks.workloads import WARM_UP, WORKLOADS


@pytest.mark.parametrize("w", [WARM_UP, *WORKLOADS], ids=lambda w: w.name)
def test_by_hand_agrees_with_values(w):
    if w.what != "grad":
        pytest.skip("checked against tapec, which is checked by its own tests")
    x = np.asarray(w.args[0])
    v = np.random.default_rng(1).standard_normal(x.shape)

    def along(t):
        if isinstance(t, complex):
            raise TypeError("real steps only")
        return w.objective(np, x + t * v, *w.args[1:])

    assert check_direction(along, np.sum(w.by_hand(*w.args) * v), scale=0.1).status == "ok"


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
