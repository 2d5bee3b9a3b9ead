"""Places that several read, or add to, are computed once, and are those that NumPy names."""

import numpy as np
import pytest

from tapec.codegen import tuning
from tapec.codegen.runtime_helpers import helper_text
from tests.codegen.kit import check, gradient_of, graph_of
from tests.properties import allocates, call_count, calls, has

rng = np.random.default_rng(0)
I, J = rng.integers(-30, 30, 6000), rng.integers(-40, 40, 6000)
X, C, W = rng.normal(size=(30, 40)), rng.normal(size=(30, 40, 3)), rng.normal(size=6000)


def once(x, i, j, w):
    return np.sum(np.sin(x[i, j]) * w)


def around(x, i, j, w):
    """Neighbours, and the sum of all that comes back."""
    return np.sum((x[i, j] * x[i, j - 1] + x[i - 1, j]) ** 2 * w)


def of_rows(x, i, j, w):
    return np.sum(np.sin(x[i, j]) * w[:, None])


@pytest.mark.parametrize(("f", "x", "count"), [(once, X, 1), (around, X, 3), (of_rows, C, 1)])
@pytest.mark.parametrize("order", ["rows", "columns", "apart"])
@pytest.mark.parametrize("dtype", ["i8", "i4", "u1"])
def test_elements_and_their_gradients(f, x, count, order, dtype):
    i, j = (I % 29 + 1, J % 39 + 1) if f is around or dtype == "u1" else (I, J)
    i, j = i.astype(dtype), j.astype(dtype)
    x = {"rows": x, "columns": np.asfortranarray(x), "apart": np.repeat(x, 2, axis=0)[::2]}[order]
    compiled = check(gradient_of(f, x, i, j, W, wrt=(0,)), x, i, j, W)
    assert call_count(compiled, "places_in") == call_count(compiled, "elements_at") == count
    assert allocates(compiled, "zeros") == 1
    for beyond in ((i + x.shape[0], j), (i, j + x.shape[1])):
        if dtype != "u1":
            with pytest.raises(IndexError, match="out of bounds"):
                compiled.function(x, *beyond, W)


def test_one_read_twice():
    compiled = check(graph_of(lambda x, y, i, j: x[i, j] * y[i, j], X, X + 1, I, J), X, X + 1, I, J)
    assert call_count(compiled, "places_in") == 1 and call_count(compiled, "elements_at") == 2


@pytest.mark.parametrize(
    "f",
    [
        lambda x, i, j: np.sin(x[i, j]),  # by one alone
        lambda x, i, j: np.sin(x[i[:200, None], j[:50]]) * x[i[:200, None], j[:50]] ** 2,  # of a grid
        lambda x, i, j: np.sin(x[:, i % 40]) * x[:, j],
    ],
)
def test_other_indices_stay_arrays(f):
    assert not calls(check(graph_of(f, X, I, J), X, I, J), "elements_at")


@pytest.mark.parametrize("many", [True, False])
def test_few_go_by_their_arrays(many, monkeypatch):
    monkeypatch.setattr(tuning, "FLAT_PLACES_MIN_ELEMENTS", I.size + (not many))
    compiled = check(graph_of(lambda x, y, i, j: x[i, j] * y[i, j], X, X + 1, I, J), X, X + 1, I, J)
    assert calls(compiled, "elements_at") == many


def test_scatters_add_to_other_cotangents_in_place():
    """A flat sum would be one array more."""
    values = X, I, J, W
    compiled = check(gradient_of(lambda x, i, j, w: once(x, i, j, w) + np.sum(np.exp(x)), *values, wrt=(0,)), *values)
    assert has(compiled, "add_at(d_x, y, z, _)") and not calls(compiled, "places_in")


def test_rows_in_which_each_place_comes_once_are_written():
    rows, labels, x = np.arange(5000), rng.integers(0, 7, 5000), rng.normal(size=(5000, 7))
    graph = gradient_of(lambda x, labels: np.sum(np.sin(x[rows, labels]) ** 2), x, labels, wrt=(0,))
    assert not calls(check(graph, x, labels), "add_at")


@pytest.mark.parametrize("f", [once, lambda x, i, j, w: once(x, i, j, w) + np.sum(np.exp(x))])
def test_helpers_stand_alone(f):
    compiled = check(gradient_of(f, X, I, J, W, wrt=(0,)), X, I, J, W)
    space = {"np": np}
    exec(helper_text(compiled.helpers) + "\n" + compiled.source, space)
    np.testing.assert_array_equal(space["function"](X, I, J, W)[1], compiled.function(X, I, J, W)[1])
