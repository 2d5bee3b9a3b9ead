"""Chains of matrix products in the order that is least work, and sums and products of products."""

import numpy as np
import pytest

import tapec
from tapec.ir import interpret, parse, verify
from tapec.passes.pipeline import run_passes
from tapec.passes.rules import GRAM_PRODUCTS, SUMS_OF_MATMUL
from tests.passes.support import Case, table_tests, text

X = "%a: f64[4,4], %b: f64[4,20], %c: f64[20,4], %d: f64[20,20], %u: f64[20]"
AB = "matmul %a, %b !ct"
T = "transpose %0 {axes=(1, 0)} !ct"
GRAM = "transpose %b {axes=(1, 0)} !ct; matmul %b, %0 !ct; matmul %a, %1 !ct; transpose %a {axes=(1, 0)} !ct"
SUM = "sum {} {{axis=({},), keepdims={}}} !ct".format

CASES = {
    "product-with-itself": Case(
        X,
        [(f"{AB}; {T}; matmul %0, %1 !ct", f"{GRAM}; matmul %2, %3 !ct")],
        [
            "matmul %a, %b; transpose %0 {axes=(1, 0)}; matmul %0, %1",
            f"{AB}; {T}; matmul %0, %1 !ct; return %0, %2",
            f"{AB}; transpose %0 {{axes=(0, 1)}} !ct; matmul %1, %c !ct",
            "matmul %c, %b !ct; transpose %0 {axes=(1, 0)} !ct; matmul %0, %1 !ct",
        ],
    ),
    "sum-of-lines": Case(
        X,
        [
            (f"{AB}; {SUM('%0', 1, False)}", f"{SUM('%b', 1, False)}; matmul %a, %0 !ct"),
            (f"{AB}; {SUM('%0', 0, False)}", f"{SUM('%a', 0, False)}; matmul %0, %b !ct"),
            (
                f"{AB}; {SUM('%0', 0, True)}",
                f"{SUM('%a', 0, False)}; matmul %0, %b !ct; reshape %1 {{shape=(1, 20)}} !ct",
            ),
            (
                f"{AB}; {SUM('%0', 1, False)}; return %0, %1",
                f"{AB}; {SUM('%b', 1, False)}; matmul %a, %1 !ct; return %0, %2",
            ),
        ],
        [
            "matmul %a, %b; sum %0 {axis=(1,), keepdims=False}",
            f"{AB}; {SUM('%0', 0, False)}; return %0, %1",  # it is there, and no larger than what would be added up
            f"{AB}; sum %0 {{axis=(0, 1), keepdims=False}} !ct",
            f"matmul %a, %u !ct; {SUM('%0', 0, False)}".replace("%a, %u", "%d, %u"),
        ],
    ),
    "sum-of-lines-beside": Case(
        X,
        [
            (
                f"{AB}; add %0, %b !ct; {SUM('%1', 1, False)}",
                f"{SUM('%b', 1, False)}; matmul %a, %0 !ct; add %0, %1 !ct",
            ),
            (
                f"{AB}; add %b, %0 !ct; {SUM('%1', 0, True)}",
                f"{SUM('%a', 0, False)}; matmul %0, %b !ct; reshape %1 {{shape=(1, 20)}} !ct; {SUM('%b', 0, True)}; "
                "add %3, %2 !ct",
            ),
        ],
        [
            f"matmul %a, %b; add %0, %b; {SUM('%1', 1, False)}".replace(" !ct", ""),
            f"{AB}; add %0, %u !ct; {SUM('%1', 1, False)}",  # what is spread out first
            f"{AB}; add %0, %b !ct; {SUM('%1', 1, False)}; return %1, %2",
            f"{AB}; add %0, %b !ct; {SUM('%1', 0, False)}; return %0, %2",
        ],
    ),
    "sum-of-lines-across": Case(
        X,
        [
            (
                f"{AB}; {T}; add %1, %c !ct; {SUM('%2', 0, False)}; return %0, %3",
                f"{AB}; {SUM('%b', 1, False)}; matmul %a, %1 !ct; {SUM('%c', 0, False)}; add %3, %2 !ct; return %0, %4",
            ),
        ],
        [
            f"{AB}; {T}; add %1, %c !ct; {SUM('%2', 0, False)}; return %2, %3",
            f"{AB}; {T}; add %1, %c !ct; {SUM('%2', 1, False)}; return %0, %3",  # as large as what would be added up
        ],
    ),
    "sum-without-lines-across": Case(
        X,
        [
            (
                f"{AB}; {T}; subtract %c, %1 !ct; {SUM('%2', 1, False)}",
                f"{SUM('%a', 0, False)}; matmul %0, %b !ct; {SUM('%c', 1, False)}; subtract %2, %1 !ct",
            ),
        ],
        [f"{AB}; {T}; subtract %c, %1 !ct; {SUM('%2', 1, False)}; return %2, %3"],
    ),
    "sum-without-lines": Case(
        X,
        [
            (
                f"{AB}; subtract %b, %0 !ct; {SUM('%1', 1, False)}",
                f"{SUM('%b', 1, False)}; matmul %a, %0 !ct; subtract %0, %1 !ct",
            ),
        ],
        [f"{AB}; subtract %b, %0 !ct; {SUM('%1', 1, False)}; return %1, %2"],
    ),
}


C = (
    "%x: f64[90,20], %d: f64[90,15], %p: f64[15,2], %q: f64[2,20], %v: f64[15], %u: f64[20], %w: f64[20,15], "
    "%h: f32[15,2], %s: f64[15,12]"
)
XT = "transpose %x {axes=(1, 0)} !ct"
PRODUCT = f"{XT}; matmul %0, %d !ct"
SHORT = [
    (f"{PRODUCT}; matmul %1, %p !ct", f"{XT}; matmul %d, %p !ct; matmul %0, %1 !ct"),
    (f"{PRODUCT}; matmul %1, %v !ct", f"{XT}; matmul %d, %v !ct; matmul %0, %1 !ct"),
    (f"{PRODUCT}; matmul %q, %1 !ct", f"{XT}; matmul %q, %0 !ct; matmul %1, %d !ct"),
    (
        f"{PRODUCT}; matmul %q, %1 !ct; matmul %1, %p !ct; return %2, %3",
        f"{XT}; matmul %q, %0 !ct; matmul %1, %d !ct; matmul %d, %p !ct; matmul %0, %3 !ct; return %2, %4",
    ),
    (
        f"{PRODUCT}; multiply %1, 3.0 !ct; matmul %2, %p !ct",
        f"{XT}; matmul %d, %p !ct; matmul %0, %1 !ct; multiply %2, 3.0 !ct",
    ),
    (
        f"{PRODUCT}; transpose %1 {{axes=(1, 0)}} !ct; matmul %2, %u !ct",
        f"{XT}; transpose %d {{axes=(1, 0)}} !ct; transpose %0 {{axes=(1, 0)}} !ct; matmul %2, %u !ct; "
        "matmul %1, %3 !ct",
    ),
]
LONG = [
    f"{PRODUCT}; matmul %1, %p".replace(" !ct", ""),  # the user's own
    f"{PRODUCT}; matmul %1, %p !ct; return %1, %2",
    f"{PRODUCT}; matmul %1, %p !ct; add %1, %w !ct; return %2, %3",  # needed as it is
    f"{PRODUCT}; matmul %1, %s !ct",  # no less work
    f"{PRODUCT}; matmul %1, %p !ct; matmul %1, %s !ct; return %2, %3",  # for one, but not for both
    f"{PRODUCT}; matmul %1, %h !ct",
    f"{PRODUCT}; multiply %1, 1e300 !ct; matmul %2, %p !ct",
    f"{PRODUCT}; transpose %1 {{axes=(1, 0)}} !ct; matmul %1, %2 !ct",  # with itself
    "constant {value=[[1.0], [2.0]]}; transpose %0 {axes=(1, 0)} !ct; matmul %1, %q !ct",
]


def reordered(body):
    """The graph after the pass, which computes the same."""
    graph = verify(parse(text(C, body)))
    made = verify(run_passes(graph, ["chains"]))
    rng = np.random.default_rng(0)
    values = [rng.standard_normal(i.type.shape).astype(i.type.dtype) for i in graph.inputs]
    for got, wanted in zip(interpret(made, *values), interpret(graph, *values), strict=True):
        assert got.dtype == wanted.dtype
        np.testing.assert_allclose(got, wanted, rtol=1e-12, atol=1e-11)
    return graph, made


@pytest.mark.parametrize("before, after", SHORT)
def test_the_shorter_order(before, after):
    _, made = reordered(before)
    assert str(made) == str(verify(parse(text(C, after))))


@pytest.mark.parametrize("body", LONG)
def test_orders_that_stay(body):
    graph, made = reordered(body)
    assert made is graph


def test_products_without_elements():
    inputs = "%m: f64[2,2], %a: f64[2,3], %b: f64[3,0]"
    graph = verify(parse(text(inputs, "matmul %a, %b !ct; matmul %m, %0 !ct")))
    assert run_passes(graph, ["chains"]) is graph


def test_the_gradient_of_a_product_of_narrow_matrices_is_never_whole():
    rng = np.random.default_rng(0)
    a, b, x, y = [rng.standard_normal(s) for s in ((30, 2), (2, 40), (200, 30), (200, 40))]
    f = tapec.grad(lambda a, b: np.mean((x @ (a @ b) - y) ** 2), argnums=(0, 1))
    d_a, d_b = f(a, b)
    whole = x.T @ (x @ (a @ b) - y) * (2.0 / y.size)
    np.testing.assert_allclose(d_a, whole @ b.T, rtol=1e-11, atol=1e-13)
    np.testing.assert_allclose(d_b, a.T @ whole, rtol=1e-11, atol=1e-13)
    assert [n.type.shape for n in f.ir(a, b).nodes if n.op.name == "matmul"].count((30, 40)) == 1  # a @ b


test_rule, test_each_rule_has_a_case = table_tests(CASES, (*GRAM_PRODUCTS, *SUMS_OF_MATMUL))


def test_the_gradient_of_distances_multiplies_by_the_inverse_once():
    rng = np.random.default_rng(0)
    a, x, mu = 0.2 * rng.standard_normal((6, 6)) + np.eye(6), rng.standard_normal((500, 6)), rng.standard_normal(6)

    def loss(mu, a):
        z = np.linalg.solve(np.linalg.cholesky(a @ a.T), (x - mu).T)
        return 0.5 * np.sum(z * z)

    f = tapec.grad(loss, argnums=(0, 1))
    d_mu, d_a = f(mu, a)
    inverse, r = np.linalg.inv(a @ a.T), x - mu
    np.testing.assert_allclose(d_mu, -(r @ inverse).sum(axis=0), rtol=1e-9)
    np.testing.assert_allclose(d_a, -inverse @ (r.T @ r) @ inverse @ a, rtol=1e-9, atol=1e-9)
    large = [n.op.name for n in f.ir(mu, a).nodes if n.op.name in ("matmul", "solve") and n.type.size > 36]
    assert large == ["matmul"]
