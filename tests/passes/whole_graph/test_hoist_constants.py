"""Numbers that all products of one value are multiplied by: where they go, and where they stay."""

import numpy as np
import pytest

import tapec
from tapec.ir import interpret, parse, verify
from tapec.passes.whole_graph.hoist_constants import shared_multiples
from tests.passes.support import text
from tests.properties import constants

X = "%a: f64[5], %b: f64[5], %c: f64[5], %r: f64[3,5], %k: f64[]"
EXP = "exp %a !ct"
HALVES = "multiply %0, %b !ct; multiply %1, 2.0 !ct; multiply %c, %0 !ct; multiply %3, 2.0 !ct; return %2, %4"


def numbers(graph):
    return [n.param("value") for n in graph.nodes if n.op.name == "constant"]


def products(graph):
    return sum(n.op.name == "multiply" for n in graph.nodes)


@pytest.mark.parametrize(
    ("body", "left", "found"),
    [
        (f"{EXP}; {HALVES}", 3, [2.0]),
        (f"multiply %a, -3.0 !ct; {HALVES}", 3, [-6.0]),  # it is a multiple already
        (
            f"{EXP}; divide %0, %b !ct; multiply %1, 2.0 !ct; multiply %c, %0 !ct; multiply %3, 2.0 !ct; return %2, %4",
            2,
            [2.0],
        ),
    ],
)
def test_they_multiply_the_value(body, left, found):
    graph = parse(text(X, body))
    made = verify(shared_multiples(graph))
    assert (products(made), numbers(made)) == (left, found)
    values = [np.random.default_rng(1).normal(size=i.type.shape).astype(i.type.dtype) for i in graph.inputs]
    for special in (None, np.inf, np.nan, 0.0):
        if special is not None:
            values[1][2] = special
        for got, wanted in zip(interpret(made, *values), interpret(graph, *values), strict=True):
            np.testing.assert_allclose(got, wanted, rtol=1e-14)


@pytest.mark.parametrize(
    "body",
    [
        f"exp %a; {HALVES}",  # the value is the user's own
        f"{EXP}; {HALVES}".replace(" !ct; multiply %c", "; multiply %c"),  # a multiple is
        f"{EXP}; {HALVES}, %0",  # it is needed itself
        f"{EXP}; {HALVES}, %1",  # a product is
        f"{EXP}; {HALVES}".replace("%3, 2.0", "%3, 3.0"),  # by two numbers
        f"{EXP}; {HALVES}".replace("2.0", "1e300"),  # by one that others had better not meet
        f"{EXP}; {HALVES}".replace("%0", "%a"),  # an input
        f"{EXP}; multiply %0, %b !ct; multiply %1, 2.0 !ct",  # one product
        f"{EXP}; multiply %0, %0 !ct; multiply %1, 2.0 !ct; multiply %a, %c !ct; multiply %3, 2.0 !ct; return %2, %4",
        f"{EXP}; multiply %0, %r !ct; multiply %1, 2.0 !ct; multiply %2, %0 !ct; multiply %3, 2.0 !ct; return %2, %4",
        f"{EXP}; divide %b, %0 !ct; multiply %1, 2.0 !ct; divide %c, %0 !ct; multiply %3, 2.0 !ct; return %2, %4",
        f"{EXP}; {HALVES}".replace("2.0", "%k"),  # a value, no number
    ],
)
def test_others_stay(body):
    graph = parse(text(X, body))
    assert shared_multiples(graph) is graph


def test_slopes_of_distances():
    """Three coordinates take three products, not six."""

    def energy(x, y, z):
        return np.sum(1.0 / (1.0 + x * x + y * y + z * z))

    gradient = tapec.grad(energy, argnums=(0, 1, 2))
    args = [np.linspace(-1.0, 2.0, 500) + k for k in range(3)]
    square = 1.0 + sum(x * x for x in args)
    for got, x in zip(gradient(*args), args, strict=True):
        np.testing.assert_allclose(got, -2.0 * x / square**2, rtol=1e-13)
    assert sum(c in (2.0, -2.0) for c in constants(gradient.source(*args))) == 1
