"""Sums and extremes, in the form that is plain, and in a faster one where that pays in the whole program."""

import ast

import numpy as np
import pytest

import tapec
from tapec.codegen import tuning
from tests.codegen.kit import check, gradient_of, graph_of, graphs_as_differentiated
from tests.properties import allocates, block_loops, call_count, calls, copies, has, nodes, operations

RNG = np.random.default_rng(0)


def code_of(f, *values):
    """Return what was compiled, after it was held against the interpreter."""
    return check(graph_of(f, *values), *values)


@pytest.fixture(params=[0.0, 1e9])
def all_forms(request, monkeypatch):
    """Whether each form pays, or none does."""
    monkeypatch.setattr(tuning, "FORM_MIN_SHARE_OF_TIME", request.param)
    monkeypatch.setattr(tuning, "SHORT_ROWS_MIN", 1)
    return not request.param


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize(("shape", "axis"), [((40, 10), 1), ((40, 10), 0), ((3, 20, 30), 2), ((2, 2, 20, 30), -1)])
def test_a_sum_of_short_rows_has_a_faster_form(shape, axis, keepdims, dtype, all_forms):
    x = RNG.standard_normal(shape).astype(dtype)
    for f in (np.sum, np.mean):
        code = code_of(lambda x, f=f: f(x, axis=axis, keepdims=keepdims), x)
        form, other = ("np.ones", "np.einsum") if x.ndim == 2 else ("np.einsum", "np.ones")
        assert calls(code, form) == (not call_count(code, "sum", "mean")) == all_forms
        assert not calls(code, other)
        assert has(code, "np.float32") == (dtype == np.float32 and x.ndim == 2 and all_forms)


def test_a_mean_of_rows_reads_how_many_there_are():
    code = code_of(lambda x: np.mean(x, axis=0), RNG.standard_normal((5000, 4)))
    assert calls(code, "np.ones") and has(code, "_ / len(x)")
    x = RNG.standard_normal((37, 4))
    np.testing.assert_allclose(code.function(x)[0], np.mean(x, axis=0))


@pytest.mark.parametrize(
    ("f", "shape"),
    [
        (lambda x: np.sum(x, axis=1), (3, 400)),  # long rows
        (lambda x: np.sum(x, axis=1), (400, 1)),
        (lambda x: np.sum(x, axis=0), (5, 10, 12)),
        (lambda x: np.sum(x, axis=(1, 2)), (2, 60, 50)),
        (lambda x: np.sum(x, axis=(0, 1)), (20, 30)),
        (lambda x: np.sum(x, axis=0), (500,)),
    ],
)
def test_other_sums_stay(f, shape, monkeypatch):
    monkeypatch.setattr(tuning, "FORM_MIN_SHARE_OF_TIME", 0.0)
    monkeypatch.setattr(tuning, "SHORT_ROWS_MIN", 1)
    assert not calls(code_of(f, RNG.standard_normal(shape)), "np.ones")
    assert not calls(code_of(lambda x: f(x.astype(np.float16)), RNG.standard_normal(shape)), "np.ones")


def test_a_form_is_plain_unless_it_saves_a_share_of_the_program():
    """The same sum is most of one program, and little of the other."""
    x, w = RNG.standard_normal((5000, 4)), RNG.standard_normal((4, 400))
    assert calls(code_of(lambda x: np.sum(x, axis=1), x), "np.ones")
    assert not calls(code_of(lambda x, w: (np.sum(x, axis=1), np.tanh(x @ w)), x, w), "np.ones")


def test_products_of_small_matrices_are_called_in_the_fastest_way(monkeypatch):
    def net(w, v, x):
        return np.sum(np.tanh(x @ w) @ v)

    monkeypatch.setattr(tuning, "FORM_MIN_SHARE_OF_TIME", 0.05)
    for rows, dot in ((8, True), (4000, False)):
        values = RNG.standard_normal((4, 8)), RNG.standard_normal((8, 2)), RNG.standard_normal((rows, 4))
        code = check(gradient_of(net, *values, wrt=(0, 1)), *values)
        assert calls(code, "dot") == (not operations(code, "@")) == dot


def test_products_with_short_rows_are_not_made():
    x, y = RNG.standard_normal((2, 5000, 3))
    assert calls(code_of(lambda x, y: np.sum(x * y, axis=1), x, y), "np.vecdot")


def test_sums_of_arrays_in_another_order():
    x = RNG.standard_normal((60, 8, 9))
    for f in (lambda x: np.sum(x.transpose(2, 0, 1), axis=0), lambda x: np.sum(x[::-1, :, ::2], axis=(1, 2))):
        code_of(f, x)


@pytest.mark.usefixtures("middle_sized_is_large")
def test_sums_of_stacks_are_added_up_in_blocks():
    """The last block has fewer rows."""
    x, w = RNG.standard_normal((40_009, 4, 3)), RNG.standard_normal((4, 3))
    for keepdims, shape in ((False, (4, 3)), (True, (1, 4, 3))):
        code = code_of(lambda x, w, k=keepdims: np.sum(np.exp(np.sin(x) * w) * w, axis=0, keepdims=k), x, w)
        assert block_loops(code) and allocates(code, "zeros", shape)


def test_nan_and_infinities(all_forms):
    x = RNG.standard_normal((60, 10))
    x[0, 0], x[1, 1], x[2, :2] = np.nan, np.inf, (np.inf, -np.inf)
    for axis in (0, 1):
        code_of(lambda x, axis=axis: np.sum(x, axis=axis), x)


@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("name", ["max", "min"])
def test_extremes_of_short_rows_are_found_in_columns(name, keepdims):
    f = getattr(np, name)
    x = RNG.standard_normal((1000, 10))
    x[3, 4], x[5] = np.nan, np.inf
    assert has(code_of(lambda x: f(x, axis=1, keepdims=keepdims), x), f"_.T.copy().{name}(axis=0)")
    for shape, axis in (((1000, 10), 0), ((1000, 100), 1), ((3000, 1), 1), ((10, 10, 10), 2)):
        assert not copies(code_of(lambda x, axis=axis: f(x, axis=axis), RNG.standard_normal(shape)))


def test_a_sum_with_products_is_taken_apart():
    x, y = RNG.standard_normal((2, 50))
    code = code_of(lambda x, y: np.sum(-np.exp(x) - y * y), x, y)
    assert has(code, "-_.sum() - y.dot(y)")
    code = code_of(lambda x, y: np.mean(0.5 * (x * x) + np.abs(y) + np.exp(x) * np.exp(y)), x, y)
    assert call_count(code, ".dot") == 2 and call_count(code, ".sum") == 1 and has(code, "_ / len(x)")


WITH_BOTH_SIGNS = {
    "squares": lambda x, y: np.sum(x * x - y * y),
    "mean": lambda x, y: np.mean(np.square(x) - np.square(y)),
    "scaled": lambda x, y: -0.5 * np.sum(2.0 * (x * x - y * y)),
    "products": lambda x, y: np.sum(x * np.sin(x) - y * np.sin(y)),
    "sum of products": lambda x, y: np.sum(x * x + (-y) * y),
    "unit": lambda x, y: np.sum((x / y) ** 2 - 1.0),
    "beside numbers": lambda x, y: np.sum((x * x + 3.0) - (y * y + 3.0)),
    "several terms": lambda x, y: np.sum(x * x - x * y + y * y - x * y),
    "rows": lambda x, y: np.sum(x.reshape(4, -1) ** 2 - y.reshape(4, -1) ** 2),
    "rest": lambda x, y: np.sum(x * x - y**2 * np.exp(0.0 * x)),
    "one number": lambda x, y: np.sum(y * y / (x * x) - np.log(np.exp(0.0 * x[0] + 1.0))),
}


@pytest.mark.parametrize("name", WITH_BOTH_SIGNS)
@pytest.mark.parametrize("n", [400, 300_000])
def test_terms_that_cancel_do_so_before_they_are_added_up(name, n):
    f, rng = WITH_BOTH_SIGNS[name], np.random.default_rng(n)
    x = rng.standard_normal(n) * 100
    y = x.copy()
    y[7] += 1e-2 if name == "several terms" else 1e-9  # of which the square is left
    compiled = tapec.compile(f)
    compiled(x, rng.standard_normal(n))
    found, want = compiled(x, y), f(x, y)
    assert want != 0
    np.testing.assert_allclose(found, want, rtol=1e-6)


def test_sums_of_nothing_with_products():
    code_of(lambda x: np.sum(x * x + np.exp(x)), np.zeros(0))
    code_of(lambda x: np.sum(x[1:] * x[1:] + np.exp(x[1:])), np.ones(1))


def test_broadcast_terms_are_added_up_once():
    x, s = RNG.standard_normal((4, 30)), np.float64(2.0)
    code = code_of(lambda x, s: np.sum(-(x * x) - np.exp(s) - 3.0), x, s)
    assert has(code, "-np.vdot(x, x) - np.exp(y) * x.size - 3.0 * x.size")
    assert has(code_of(lambda x, v: np.sum(x * x + np.abs(v)), x, x[0]), "np.abs(y).sum() * len(x)")


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_sums_taken_apart_keep_their_dtype(dtype):
    x, y = RNG.standard_normal((2, 40)).astype(dtype)
    code_of(lambda x, y: np.sum(x * x + 0.5 * np.exp(y) + 0.25), x, y)
    code_of(lambda x, y, s: np.mean(np.exp(x) * np.exp(y) + s * s), x, y, dtype(3.0))


def test_equal_sums_of_products_are_one():
    x = RNG.standard_normal(60)
    code = code_of(lambda x: (np.sum(x * x + 1.0), np.sum(x * x)), x)
    assert call_count(code, "dot") == 1


def test_sums_that_stay_whole():
    x, y = RNG.standard_normal((2, 50))
    assert not calls(code_of(lambda x, y: np.sum(x - y - 1e8), x, y), "dot")  # digits would be lost, nothing gained
    code = code_of(lambda x, y: (np.sum(x * x + np.exp(y)), x * x + np.exp(y)), x, y)  # it is there anyway
    assert not calls(code, "dot")
    code_of(lambda x, y: np.sum(x * y - np.inf), x, y)
    code_of(lambda x, y: np.sum(x * np.nan - x * y), x, y)


def test_products_of_arrays_in_another_order_stay():
    """A flat product would copy both."""
    x = RNG.standard_normal((20, 30, 40))
    assert not calls(code_of(lambda x: np.sum(np.square(np.exp(np.transpose(x, (0, 2, 1))) - 1.0)), x), "vdot")
    assert calls(code_of(lambda x: np.sum(np.square(np.exp(x) - 1.0)), x), "vdot")


def test_products_that_are_added_up_are_not_expanded():
    """A product had been read twice: by the sum of products, and by the product that the sum does without."""

    def f(x, w):
        powers = np.vander(np.sin(x), 4) @ w
        return np.sum(powers, where=powers > 0)

    x, w = RNG.standard_normal(20_001), RNG.standard_normal(4)
    with graphs_as_differentiated():
        found = tapec.grad(f)(x, w)
    powers = np.vander(np.sin(x), 4) @ w
    slope = np.polyval(np.polyder(w), np.sin(x)) * np.cos(x)
    np.testing.assert_allclose(found, np.where(powers > 0, slope, 0.0), atol=1e-12)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_the_derivative_of_a_softmax_of_a_vector_has_a_number_for_its_sum(dtype):
    def loss(z, w):
        e = np.exp(z - np.max(z))
        return np.sum(w * np.sin(e / np.sum(e)))

    z, w = RNG.standard_normal((2, 12)).astype(dtype)
    gradient = tapec.grad(loss)
    source, found = gradient.source(z, w), gradient(z, w)
    assert not [k for k in nodes(source, ast.keyword) if k.arg == "keepdims"] and calls(source, ".dot")
    assert found.dtype == dtype and found.shape == z.shape
    p = np.exp(z - z.max()) / np.sum(np.exp(z - z.max()))
    g = w * np.cos(p)
    np.testing.assert_allclose(found, p * (g - p @ g), rtol=1e-5 if dtype is np.float32 else 1e-12, atol=1e-7)


def test_a_sum_that_is_as_large_as_what_reads_it_keeps_its_axes():
    def loss(x, y):
        e = np.exp(x)
        return np.sum(e / (np.sum(e, keepdims=True) + 1.0) * y)

    x, y = RNG.standard_normal((1, 1)), RNG.standard_normal((3, 4))
    found = tapec.grad(loss)(x, y)
    e = np.exp(x)
    np.testing.assert_allclose(found, e / (e + 1.0) ** 2 * np.sum(y), rtol=1e-13)
    assert found.shape == (1, 1)


def test_sums_that_keep_their_axes_are_added_up_with_their_axes():
    """One operand is a number only where another one has the shape of the result."""

    def loss(x, y):
        return np.sum(np.sin(x - y * x[0]))

    x, y = np.array([0.3]), np.linspace(0.0, 1.0, 40)
    slopes = [tapec.grad(loss)(x + h, y) for h in (1e-6, -1e-6)]
    found = tapec.hvp(loss)(x, y, np.ones(1))
    np.testing.assert_allclose(found, (slopes[0] - slopes[1]) / 2e-6, rtol=1e-8)
    assert found.shape == (1,)
