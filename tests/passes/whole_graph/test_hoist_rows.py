"""Rows that repeat are multiplied before they are taken, and after they are added up."""

import numpy as np
import pytest

import tapec
from tapec.ir import interpret, parse, verify
from tapec.passes.pipeline import run_passes
from tests.passes.support import text

INPUTS = "%x: f64[4,3], %i: i64[9], %w: f64[3,3], %v: f64[3], %d: f64[9,3], %j: i64[7], %b: f64[4]"
TAKEN = "getitem %x, %i {index=($0,)}"
ADDED = "scatter {}, %i {{shape=(4, 3), index=($0,)}} !ct".format
BACK = f"{TAKEN}; transpose %0 {{axes=(1, 0)}} !ct; matmul %1, %d !ct; matmul %d, %w !ct; {ADDED('%3')}"

FIRES = [
    (f"{TAKEN}; matmul %0, %w", "matmul %x, %w; getitem %0, %i {index=($0,)}"),
    (f"{TAKEN}; matmul %0, %v", "matmul %x, %v; getitem %0, %i {index=($0,)}"),
    (f"matmul %d, %w !ct; {ADDED('%0')}", f"{ADDED('%d')}; matmul %0, %w !ct"),
    (
        f"{BACK}; return %2, %4",
        f"{ADDED('%d')}; not_equal %0, 0 !ct; any %1 {{axis=(1,), keepdims=True}} !ct; where %2, %x, 0 !ct; "
        "transpose %3 {axes=(1, 0)} !ct; matmul %4, %0 !ct; matmul %0, %w !ct; return %5, %6",
    ),
    (  # what was taken for the product with the rows alone is not in the way of another
        f"{TAKEN}; matmul %0, %w; tanh %1; transpose %0 {{axes=(1, 0)}} !ct; matmul %3, %d !ct; matmul %d, %w !ct; "
        f"{ADDED('%5')}; return %2, %4, %6",
        f"matmul %x, %w; getitem %0, %i {{index=($0,)}}; tanh %1; {ADDED('%d')}; not_equal %3, 0 !ct; "
        "any %4 {axis=(1,), keepdims=True} !ct; where %5, %x, 0 !ct; transpose %6 {axes=(1, 0)} !ct; "
        "matmul %7, %3 !ct; matmul %3, %w !ct; return %2, %8, %9",
    ),
]
STAYS = [
    "getitem %x, %j {index=($0,)}; matmul %0, %w",  # fewer than twice as many
    f"{TAKEN}; matmul %0, %w; return %0, %1",  # needed as they are
    f"{TAKEN}; transpose %0 {{axes=(1, 0)}}; matmul %1, %d",  # to be added up for this alone
    f"matmul %d, %w; {ADDED('%0').replace(' !ct', '')}",  # the user's own
    f"matmul %d, %w !ct; {ADDED('%0')}; return %0, %1",
    "getitem %x, %i {index=($0,)}; transpose %0 {axes=(1, 0)}; matmul %w, %1",
    "getitem %x, %i, %i {index=($0, $1)}; getitem %b, %i {index=($0,)}; matmul %0, %1",  # elements
]
WIDE = [
    ("%x: f64[4,2], %i: i64[9], %w: f64[2,90]", "getitem %x, %i {index=($0,)}; matmul %0, %w"),
    ("%d: f64[9,90], %w: f64[90,2], %i: i64[9]", f"matmul %d, %w !ct; {ADDED('%0').replace('3)', '2)')}"),
]


def run(inputs, body):
    """The graph after the pass, which computes the same."""
    graph = verify(parse(text(inputs, body)))
    made = verify(run_passes(graph, ["rows"]))
    rng = np.random.default_rng(0)
    values = [
        rng.standard_normal(i.type.shape).astype(i.type.dtype)
        if i.type.dtype.kind == "f"
        else rng.integers(-2, 2, i.type.shape)
        for i in graph.inputs
    ]
    for got, wanted in zip(interpret(made, *values), interpret(graph, *values), strict=True):
        assert got.dtype == wanted.dtype
        np.testing.assert_allclose(got, wanted, rtol=1e-13, atol=1e-14)
    return graph, made


@pytest.mark.parametrize("before, after", FIRES)
def test_products_of_fewer_rows(before, after):
    _, made = run(INPUTS, before)
    assert str(made) == str(verify(parse(text(INPUTS, after))))


@pytest.mark.parametrize("inputs, body", [*[(INPUTS, body) for body in STAYS], *WIDE])
def test_rows_that_stay(inputs, body):
    graph, made = run(inputs, body)
    assert made is graph


def test_messages_between_nodes_are_multiplied_for_each_node():
    rng = np.random.default_rng(0)
    source, target = rng.integers(0, 30, 300), rng.integers(0, 30, 300)
    x, w = rng.standard_normal((30, 8)), rng.standard_normal((8, 8))

    def loss(x, w):
        return np.sum(np.tanh(x[source] @ w) * np.tanh(x)[target])

    f = tapec.grad(loss, argnums=(0, 1))
    got = f(x, w)
    shapes = [n.type.shape for n in f.ir(x, w).nodes if n.op.name == "matmul"]
    assert sorted(shapes) == [(8, 8), (30, 8), (30, 8)]
    m = np.tanh(x @ w)
    at = np.zeros((30, 30))
    np.add.at(at, (source, target), 1.0)  # how often each row meets each other
    slope = (1.0 - m * m) * (at @ np.tanh(x))
    np.testing.assert_allclose(got[1], x.T @ slope, rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(got[0], slope @ w.T + (at.T @ m) * (1.0 - np.tanh(x) ** 2), rtol=1e-11, atol=1e-12)


def test_rows_that_are_never_taken_may_be_anything():
    index, x, w = np.arange(20) % 4, np.ones((6, 3)), np.eye(3)
    x[4], x[5] = np.nan, np.inf
    f = tapec.grad(lambda x, w: np.sum(np.sin(x[index] @ w)), argnums=(0, 1))
    with np.errstate(invalid="ignore"):
        d_x, d_w = f(x, w)
    assert [n.type.shape for n in f.ir(x, w).nodes if n.op.name == "matmul"].count((20, 3)) == 0
    np.testing.assert_allclose(d_w, np.full((3, 3), 20 * np.cos(1.0)), rtol=1e-13)
    np.testing.assert_allclose(d_x, np.cos(1.0) * np.array([5, 5, 5, 5, 0, 0])[:, None] * np.ones(3), rtol=1e-13)
