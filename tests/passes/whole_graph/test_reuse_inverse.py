"""Systems with a matrix that is inverted anyway."""

import numpy as np
import pytest

import tapec
from tapec.ir import interpret, parse, verify
from tapec.passes.whole_graph.reuse_inverse import shared_inverses
from tests.passes.support import text
from tests.properties import call_count, calls

X = "%a: f64[4,4], %b: f64[4], %m: f64[4,2], %i: i64[4], %s: f64[3,4,4], %t: f64[3,4,1], %f: f32[4,4], %z: c128[4,4]"
FACTOR = "cholesky %a; transpose %0 {axes=(1, 0)}"


@pytest.mark.parametrize(
    "body",
    [
        f"{FACTOR}; solve %0, %b; inv %0 !ct; return %2, %3",  # the inverse comes later
        f"{FACTOR}; inv %0; solve %1, %b; return %2, %3",
        f"{FACTOR}; solve %0, %m; solve %1, %2; inv %0 !ct; return %3, %4",
        "inv %a; cofactors %a !ct; return %0, %1",
        "cofactors %a !ct; inv %a; return %0, %1",
        "inv %a; solve %a, %b !ct; transpose %a {axes=(1, 0)}; solve %2, %1 !ct; return %0, %3",
        "inv %a !ct; solve %a, %b; multiply %1, %b !ct; return %0, %2",  # only a derivative reads it
    ],
)
def test_they_become_products(body):
    graph = parse(text(X, body))
    result = verify(shared_inverses(graph))
    ops = [n.op.name for n in result.nodes]
    assert "solve" not in ops and "cofactors" not in ops and ops.count("inv") == 1
    rng = np.random.default_rng(0)
    r = rng.standard_normal((4, 4))
    values = [r @ r.T + np.eye(4), rng.standard_normal(4), rng.standard_normal((4, 2)), np.arange(4)]
    values += [
        rng.standard_normal((3, 4, 4)),
        rng.standard_normal((3, 4, 1)),
        np.eye(4, dtype=np.float32),
        np.eye(4) + 0j,
    ]
    for x, y in zip(interpret(graph, *values), interpret(result, *values), strict=True):
        assert np.allclose(x, y, rtol=1e-12)


@pytest.mark.parametrize(
    "body",
    [
        "inv %a; solve %a, %b; return %0, %1",  # the user's own, with any matrix: substitution is more accurate
        "inv %a !ct; solve %a, %b; multiply %1, %b; multiply %1, %b !ct; return %0, %2, %3",
        f"{FACTOR}; solve %0, %b; inv %a; return %2, %3",  # of another matrix
        f"{FACTOR}; solve %0, %b",  # no inverse
        "inv %s; solve %s, %t !ct; return %0, %1",  # stacks
        "inv %s; cofactors %s !ct; return %0, %1",
        "transpose %a {axes=(1, 0)}; inv %a; cofactors %0 !ct; return %1, %2",
        "inv %a; solve %a, %i !ct; return %0, %1",  # of another dtype
        "inv %f; solve %f, %b !ct; return %0, %1",
        "inv %z; cofactors %z !ct; return %0, %1",  # complex
    ],
)
def test_others_stay(body):
    graph = parse(text(X, body))
    assert shared_inverses(graph) is graph


def test_one_factorisation_for_a_gaussian_process():
    def loss(k, y):
        factor = np.linalg.cholesky(k)
        alpha = np.linalg.solve(factor.T, np.linalg.solve(factor, y))
        return 0.5 * y @ alpha + np.sum(np.log(np.diag(factor)))

    rng = np.random.default_rng(0)
    r = rng.standard_normal((5, 5))
    k, y = r @ r.T + np.eye(5), rng.standard_normal(5)
    f = tapec.value_and_grad(loss)
    value, g = f(k, y)
    alpha = np.linalg.solve(k, y)
    assert np.allclose(value, loss(k, y), rtol=1e-13)
    assert np.allclose(g, 0.5 * (np.linalg.inv(k) - np.outer(alpha, alpha)), rtol=1e-11)
    source = f.source(k, y)
    assert call_count(source, "np.linalg.inv") == 1 and not calls(source, "np.linalg.solve")


def test_the_gradient_alone_inverts_once():
    def loss(k, y):
        return y @ np.linalg.solve(k, y) + np.linalg.slogdet(k)[1]

    rng = np.random.default_rng(0)
    k, y = rng.standard_normal((5, 5)) + 4.0 * np.eye(5), rng.standard_normal(5)
    g, both = tapec.grad(loss), tapec.value_and_grad(loss)
    inverse = np.linalg.inv(k)
    expected = inverse.T - np.outer(inverse.T @ y, inverse @ y)
    assert np.allclose(g(k, y), expected, rtol=1e-12) and np.allclose(both(k, y)[1], expected, rtol=1e-12)
    assert both(k, y)[0] == loss(k, y)
    assert [call_count(f.source(k, y), "np.linalg.solve") for f in (g, both)] == [0, 1]


def test_a_singular_matrix_is_an_error_as_before():
    f = tapec.grad(lambda a, y: np.sum(np.linalg.solve(a, y)) + np.sum(np.linalg.inv(a)))
    with pytest.raises(np.linalg.LinAlgError):
        f(np.zeros((2, 2)), np.ones(2))
