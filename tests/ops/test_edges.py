"""Gradients at the edges: finite where mathematics allows, TensorFlow's conventions at ties."""

import warnings
from importlib import import_module

import numpy as np
import pytest

import tapec
from tests.ops.conventions import CONVENTIONS
from tests.ops.derivatives import by_tape
from tests.properties import call_count, operations


def grads(f, *xs, order=1):
    """Gradients of the sum of f by all arguments; of order 2, by the first, of the sum of the first gradient."""
    tensors = [tapec.constant(x) for x in xs]
    with tapec.GradientTape() as outer:
        outer.watch(tensors)
        with tapec.GradientTape() as tape:
            tape.watch(tensors)
            y = np.sum(f(*tensors))
        first = tape.gradient(y, tensors)
        total = None if order == 1 or first[0] is None else np.sum(first[0])
    if order == 1:
        found = first
    else:
        found = [None] * len(xs) if total is None else outer.gradient(total, tensors)
    return [None if g is None else np.asarray(g.numpy()).tolist() for g in found]


ROWS = {f"{row.code} at {row.at}": row for rows in CONVENTIONS.values() for row in rows}


def evaluated(row):
    """The function of a row, and its arguments."""
    names = {"np": np}
    if "special." in row.code:
        names["special"] = import_module("tapec.scipy.special")
    f = eval(f"lambda {', '.join(row.at)}: {row.code}", names)
    return f, [np.array(x) for x in row.at.values()]


WITHOUT = {
    "floor": np.floor,
    "ceil": np.ceil,
    "trunc": np.trunc,
    "rint": np.rint,
    "round": lambda x: np.round(x, 1),
    "fix": np.fix,
    "//": lambda x: x // 2,
    "divmod": lambda x: np.divmod(x, 2.0)[0],
    "modf": lambda x: np.modf(x)[1],
    "zeros_like": np.zeros_like,
    "ones_like": np.ones_like,
    "comparison": lambda x: (x > 1) * 1.0,
    "isfinite": lambda x: np.isfinite(x) + 0.0,
    "argmax": lambda x: np.argmax(x) + 0.0,
    "argsort": lambda x: np.argsort(x) + 0.0,
    "imag of real": np.imag,
    "spacing": np.spacing,
    "count_nonzero": lambda x: np.count_nonzero(x) * 1.0,
    "searchsorted": lambda x: np.searchsorted(x, 1.5) * 1.0,
}


@pytest.mark.parametrize("name", ROWS)
def test_first_order(name):
    f, xs = evaluated(ROWS[name])
    for found, wanted in zip(grads(f, *xs), ROWS[name].grads, strict=True):
        if wanted is None:
            assert found is None
        else:
            np.testing.assert_allclose(found, wanted, rtol=1e-14)


@pytest.mark.parametrize("name", ROWS)
def test_second_order_is_finite(name):
    f, xs = evaluated(ROWS[name])
    for found in grads(f, *xs, order=2):
        assert found is None or np.isfinite(found).all()


@pytest.mark.parametrize("name", [name for name, row in ROWS.items() if row.second is not None])
def test_second_order(name):
    f, xs = evaluated(ROWS[name])
    found, *_ = grads(f, *xs, order=2)
    np.testing.assert_allclose(0 if found is None else found, ROWS[name].second, rtol=1e-14)
    hessian = tapec.hessian(lambda x: np.sum(f(x)))(*xs)
    np.testing.assert_allclose(np.diag(hessian), ROWS[name].second, rtol=1e-14)


def single(x):
    return x.astype({"f": np.float32, "c": np.complex64}.get(x.dtype.kind, x.dtype))


def twice(x):
    return np.stack([x, x])


WAYS = {
    "grad": lambda f, xs, k: tapec.grad(f, argnums=k)(*xs),
    "with its value": lambda f, xs, k: tapec.value_and_grad(f, argnums=k)(*xs)[1],
    "forward": lambda f, xs, k: tapec.jacfwd(f, argnums=k)(*xs),
    "single": lambda f, xs, k: tapec.grad(f, argnums=k)(*map(single, xs)),
    "batched": lambda f, xs, k: [g[1] for g in tapec.vmap(tapec.grad(f, argnums=k))(*map(twice, xs))],
}


def loss(name):
    """The sum of a row's expression, its arguments, and which of them have gradients."""
    f, xs = evaluated(ROWS[name])
    return lambda *xs: np.real(np.sum(f(*xs))), xs, tuple([k for k, x in enumerate(xs) if x.dtype.kind in "fc"])


def is_complex(name):
    return any(x.dtype.kind == "c" for x in evaluated(ROWS[name])[1])


def is_refused(name, way):
    """Forward mode is for real arguments, and examples of a batch have results of one length."""
    return (way == "forward" and is_complex(name)) or (way == "batched" and "[x > 0]" in name)


@pytest.mark.sampled(one_in=4, per="name")
@pytest.mark.parametrize("optimize", [True, False])
@pytest.mark.parametrize(("name", "way"), [(n, w) for n in ROWS for w in WAYS if not is_refused(n, w)])
def test_every_way(name, way, optimize):
    f, xs, numbers = loss(name)
    with tapec.settings(optimize=optimize):
        found = WAYS[way](f, xs, numbers)
    for k, g in zip(numbers, found, strict=True):
        wanted = np.zeros(xs[k].shape) if ROWS[name].grads[k] is None else ROWS[name].grads[k]
        tolerance = 1e-6 if way == "single" else 1e-14
        np.testing.assert_allclose(g, wanted, rtol=tolerance, atol=tolerance)
        assert g.dtype == (single(xs[k]) if way == "single" else xs[k]).dtype


SECOND = {
    "hessian": tapec.hessian,
    "reverse over reverse": lambda f, argnums: tapec.jacrev(tapec.grad(f, argnums), argnums),
    "reverse over forward": lambda f, argnums: tapec.jacrev(tapec.jacfwd(f, argnums), argnums),
    "forward over forward": lambda f, argnums: tapec.jacfwd(tapec.jacfwd(f, argnums), argnums),
}


@pytest.mark.sampled(one_in=3, per="name")
@pytest.mark.parametrize("way", SECOND)
@pytest.mark.parametrize("name", [name for name in ROWS if not is_complex(name)])
def test_hessians_are_finite(name, way):
    f, xs, numbers = loss(name)
    for row in SECOND[way](f, numbers)(*xs):
        for block in row:
            assert np.isfinite(block).all()


@pytest.mark.parametrize("name", WITHOUT)
def test_no_gradient(name):
    assert grads(WITHOUT[name], np.array([1.2, 2.7])) == [None]


SOME, DATA = np.array([False, True, True]), np.array([np.nan, 2.0, 3.0])
AROUND = np.array([[5.0, np.nan, 0.0], [0.0, 2.0, np.nan], [np.inf, 0.0, 3.0]])
PRODUCTS, WITH_THE_LAST = np.outer([0, 2, 3], [0, 2, 3]), np.outer([5, 2, 3], [0, 0, 3])
BESIDE_NAN = {  # some of the data is nan or infinite, and left out: the second derivatives (one axis: a diagonal)
    "slices of an outer product": (lambda x: np.outer(x * DATA, x * DATA)[1:, 1:], 2 * PRODUCTS),
    "some rows and columns": (lambda x: np.where(SOME[:, None] & SOME, np.outer(x * DATA, x * DATA), 0), 2 * PRODUCTS),
    "differences of some": (
        lambda x: np.where(SOME[:, None] & SOME, ((x * DATA)[:, None] - x * DATA) ** 2, 0),
        8 * np.diag([0, 4, 9]) - 4 * PRODUCTS,
    ),
    "deviations of some": (lambda x: np.where(SOME, np.var(np.stack([x * DATA, x], 1), axis=1), 0), [0, 0.5, 2]),
    "a diagonal": (lambda x: np.trace((x[:, None] * AROUND) ** 2), [50, 8, 18]),
    "a diagonal and a row": (
        lambda x: np.trace(x[:, None] * AROUND) * np.sum((x * AROUND)[2, 1:]),
        WITH_THE_LAST + WITH_THE_LAST.T,
    ),
    "zeros that are written": (lambda x: overwritten(x * DATA) ** 2, [0, 8, 18]),
}


READ = np.array([True, False, True, False])
PICKED, COLUMNS = np.flatnonzero(READ), np.array([2, 0])
TABLE = np.array([[1.0, 2.0], [np.nan, 3.0], [4.0, 5.0], [6.0, -np.inf]])
OF_SOME_ROWS = {  # of a table with nan and infinities in the rows that are not read
    "rows": lambda x, w: (x @ w)[PICKED],
    "mask": lambda x, w: (x @ w)[READ],
    "one vector": lambda x, w: (x @ w[:, 0])[READ],
    "slices": lambda x, w: (x @ w)[::2][:, 1:],
    "blocks": lambda x, w: (x @ w).reshape(2, 2, 3)[:, 0],
    "transposed": lambda x, w: (w.T @ x.T)[:, PICKED],
    "rows, then columns": lambda x, w: (x @ w)[PICKED][:, COLUMNS],
    "rows by columns": lambda x, w: (x @ w)[np.ix_(PICKED, COLUMNS)],
    "mask by columns": lambda x, w: (x @ w)[np.ix_(READ, COLUMNS)],
    "rows many times": lambda x, w: np.maximum(x @ w, 0)[np.array([[0, 2], [2, 2]])],
    "pairs": lambda x, w: ((h := x @ w) @ h.T)[np.ix_(PICKED, PICKED)],
    "pairs with themselves": lambda x, w: ((h := x @ w) @ h.T)[:3:2, :3:2],
    "einsum": lambda x, w: np.einsum("ij,jk->ik", x, w)[READ],
    "rectified": lambda x, w: np.maximum(x @ w, 0)[READ],
    "selected": lambda x, w: np.where(READ[:, None], np.maximum(x @ w, 0), 0),
    "sums": lambda x, w: np.where(READ, np.sum(np.maximum(x @ w, 0), axis=1), 0),
    "layers": lambda x, w: np.tanh(np.maximum(x @ w, 0) @ w.T)[READ],
    "selected between layers": lambda x, w: np.where(READ[:, None], np.maximum(x @ w, 0), 0) @ w.T,
    "logarithms of sums": lambda x, w: np.log(np.sum(np.exp(x @ w), axis=1))[PICKED],
    "logistic": lambda x, w: np.logaddexp(0, x @ w)[READ],
}
TO_SOME_ROWS = {
    "tape": lambda f: by_tape(lambda w: np.sum(f(w) ** 2)),
    "grad": lambda f: tapec.grad(lambda w: np.sum(f(w) ** 2)),
    "jacrev": tapec.jacrev,
    "jacfwd": tapec.jacfwd,
    "hessian": lambda f: tapec.hessian(lambda w: np.sum(f(w) ** 2)),
    "reverse over reverse": lambda f: tapec.jacrev(tapec.grad(lambda w: np.sum(f(w) ** 2))),
    "reverse over forward": lambda f: tapec.jacrev(tapec.jacfwd(lambda w: np.sum(f(w) ** 2))),
    "of all": lambda f: tapec.jacrev(tapec.jacrev(f)),
}


@pytest.mark.sampled(one_in=4, per="name")
@pytest.mark.parametrize("optimize", [True, False])
@pytest.mark.parametrize("way", TO_SOME_ROWS)
@pytest.mark.parametrize("name", OF_SOME_ROWS)
@pytest.mark.filterwarnings("ignore:invalid value", "ignore:overflow")
def test_rows_that_are_not_read_may_be_nan(name, way, optimize):
    """Derivatives are what they are for other rows in their place."""
    f, w = OF_SOME_ROWS[name], np.array([[0.3, -0.2, 0.1], [0.5, 0.4, -0.6]])
    filled = np.where(READ[:, None], TABLE, 7.0)
    with tapec.settings(optimize=optimize):
        found, expected = (TO_SOME_ROWS[way](lambda w, x=x: f(x, w))(w) for x in (TABLE, filled))
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("way", TO_SOME_ROWS)
@pytest.mark.parametrize("unread", [np.nan, np.inf])
@pytest.mark.parametrize("places", [np.ix_(PICKED, PICKED), np.ix_([2, 0, 2], [0, 2]), (PICKED[:, None], PICKED[::-1])])
@pytest.mark.filterwarnings("ignore:invalid value")
def test_products_of_rows_that_are_not_read_may_be_nan(places, unread, way):
    """What is read of a Gram matrix is made of the rows that are named, and of no other."""
    f = lambda x: (x @ x.T)[places]
    found, expected = (TO_SOME_ROWS[way](f)(np.where(READ[:, None], TABLE, other)) for other in (unread, 7.0))
    np.testing.assert_allclose(found, expected, rtol=1e-12)


SIGHT = np.array([[1, 1, 0, 0], [0, 0, 0, 0], [1, 0, 1, 1], [0, 1, 1, 0]], bool)
SEEN = SIGHT.any(axis=1)
NUMBERS = np.array([[0.1, -0.4], [0.7, 0.6], [0.4, -1.0], [0.6, 0.3]])


def shares(s):
    e = np.exp(s - s.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


ATTENTION = {  # of scores s and values v, among pairs; one row has none
    "selected": lambda s, v, m: np.where(SEEN[:, None], shares(np.where(m, s, -np.inf)) @ v, 0),
    "added": lambda s, v, m: np.where(SEEN[:, None], shares(s + np.where(m, 0, -np.inf)) @ NUMBERS, 0),
    "read": lambda s, v, m: (shares(np.where(m, s, -np.inf)) @ v)[SEEN],
    "shares": lambda s, v, m: np.where(SEEN[:, None], shares(np.where(m, s, -np.inf)), 0) @ v,
    "rectified": lambda s, v, m: np.where(SEEN[:, None], np.maximum(shares(np.where(m, s, -np.inf)) @ v, 0) @ v.T, 0),
    "logarithms": lambda s, v, m: np.where(SEEN, np.log(np.sum(np.exp(np.where(m, s, -np.inf)), axis=1)), 0),
}


@pytest.mark.sampled(one_in=4, per="name")
@pytest.mark.parametrize("optimize", [True, False])
@pytest.mark.parametrize("way", TO_SOME_ROWS)
@pytest.mark.parametrize("name", ATTENTION)
@pytest.mark.filterwarnings("ignore:invalid value", "ignore:divide by zero")
def test_rows_of_a_softmax_that_are_masked_as_a_whole(name, way, optimize):
    """Derivatives are what they are for rows with some pairs in their place."""
    w = np.array([[0.3, -0.2, 0.1], [0.5, 0.4, -0.6]])
    f = lambda w, m: ATTENTION[name]((v := NUMBERS @ w) @ v.T, v, m)
    with tapec.settings(optimize=optimize):
        found, expected = (TO_SOME_ROWS[way](lambda w, m=m: f(w, m))(w) for m in (SIGHT, SIGHT | ~SEEN[:, None]))
    np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-13)


@pytest.mark.filterwarnings("ignore:invalid value")
def test_what_nan_to_num_left_out_stays_out_of_products():
    w = np.array([[0.3, -0.2, 0.1], [0.5, 0.4, -0.6]])

    def f(w, left_out):
        v = NUMBERS @ w
        return np.sum(left_out(shares(np.where(SIGHT, v @ v.T, -np.inf)) @ v) ** 2)

    by_rows = lambda x: np.where(SEEN[:, None], x, 0)
    for way in (tapec.grad, tapec.hessian, lambda f: tapec.jacrev(tapec.jacfwd(f))):
        found, expected = (way(lambda w, by=by: f(w, by))(w) for by in (np.nan_to_num, by_rows))
        np.testing.assert_allclose(found, expected, rtol=1e-12)


def overwritten(y):
    y = np.copy(y)
    y[0] = 0.0
    return y


@pytest.mark.parametrize("optimize", [True, False])
@pytest.mark.parametrize("name", BESIDE_NAN)
def test_second_derivatives_beside_nan_in_data(name, optimize):
    f, expected = BESIDE_NAN[name]
    expected = np.diag(expected) if np.ndim(expected) == 1 else expected
    loss = lambda x: np.sum(f(x))
    ways = [tapec.hessian(loss), tapec.jacrev(tapec.grad(loss)), tapec.jacrev(tapec.jacfwd(loss))]
    with tapec.settings(optimize=optimize):
        for way in ways:
            np.testing.assert_allclose(way(np.array([1.0, 2.0, 4.0])), expected, atol=1e-12)


PAIRS = {  # masks made of parts, which a tape has recorded
    "rows and columns": lambda x: SOME[:, None] & SOME,
    "of values": lambda x: (x > 0)[:, None] & (x > 0),
    "neither nor": lambda x: ~((x <= 0)[:, None] | (x <= 0)),
    "products": lambda x: x[:, None] * x > 0,
    "as they are": lambda x: np.outer(SOME, SOME),
}
WILD = {"1 / x": lambda x: 1 / x, "sqrt": np.sqrt, "log": np.log, "x / x": lambda x: x * x / x}


def by_pullback(f):
    return lambda x: tapec.vjp(f, x)[1](1.0)


def by_tangents(f):
    return lambda x: np.stack([tapec.linearize(f, x)[1](e) for e in np.eye(3)])


@pytest.mark.sampled(one_in=4, per="name")
@pytest.mark.parametrize("optimize", [True, False])
@pytest.mark.parametrize("way", [by_tape, by_pullback, by_tangents])
@pytest.mark.parametrize("mask", PAIRS)
@pytest.mark.parametrize("name", WILD)
def test_masks_made_of_parts(name, mask, way, optimize):
    """What a tape or a pullback kept is known by what made it: the gradient is that of a function."""
    x = np.array([0.0, 1.5, 4.0])

    def f(x):
        g = WILD[name](x)
        return np.sum(np.where(PAIRS[mask](x), g[:, None] * [1.0, 2.0, 3.0] + np.tanh(g), 0))

    with tapec.settings(optimize=optimize):
        expected = tapec.grad(f)(x)
        assert np.isfinite(expected).all() and expected[0] == 0
        np.testing.assert_allclose(way(f)(x), expected, rtol=1e-14)
        if way is by_tape:
            np.testing.assert_allclose(tapec.jacrev(way(f))(x), tapec.hessian(f)(x), rtol=1e-13)


GUARDED = {  # by one condition, with the second derivative of what is taken
    "a share": (lambda x: np.where(np.sum(x) > 0, 2 * x[0] / np.sum(x), 0), np.zeros(3)),
    "a unit vector": (lambda x: np.where(NORM(x) > 0, x / NORM(x), 0) @ OTHER, np.zeros(3)),
    "clipped by its length": (lambda x: np.where(NORM(x) > 1, x / NORM(x), x) @ OTHER, np.zeros(3)),
    "standardised": (lambda x: np.where(np.std(x) > 0, (x - np.mean(x)) / np.std(x), 0) @ OTHER, np.ones(3)),
    "correlated": (lambda x: np.where(np.std(x) == 0, 0, np.corrcoef(x, OTHER)[0, 1]), np.zeros(3)),
    "geometric mean": (lambda x: np.where(np.prod(x) > 0, np.exp(np.mean(np.log(x))), 0), np.array([0.0, 2.0, 3.0])),
    "a sigmoid": (
        lambda x: np.sum(np.where(x >= 0, 1 / (1 + np.exp(-x)), np.exp(x) / (1 + np.exp(x)))),
        np.array([800.0]),
    ),
}
NORM, OTHER = np.linalg.norm, np.array([1.0, -2.0, 0.5])


@pytest.mark.sampled(one_in=4, per="name")
@pytest.mark.parametrize("optimize", [True, False])
@pytest.mark.parametrize("way", SECOND)
@pytest.mark.parametrize("name", GUARDED)
def test_second_derivatives_of_what_is_guarded_as_a_whole(name, way, optimize):
    f, x = GUARDED[name]
    with tapec.settings(optimize=optimize):
        assert not np.any(SECOND[way](f, argnums=0)(x))


def test_second_derivatives():
    zero, two = np.zeros(1), np.array([2.0])
    assert grads(lambda x: x**2, zero, order=2) == [[2.0]]
    assert grads(lambda x: x**3, two, order=2) == [[12.0]]
    assert grads(lambda x: x**1, zero, order=2) == [[0.0]]
    assert grads(lambda x: x**0, two, order=2) in ([[0.0]], [None])
    assert grads(np.abs, two, order=2) == [[0.0]]
    assert grads(lambda x: np.maximum(x, 0), two, order=2) in ([None], [[0.0]])
    assert grads(lambda x: 3 * x, two, order=2) == [None]
    np.testing.assert_allclose(grads(np.sinc, zero, order=2), [[-(np.pi**2) / 3]])
    assert grads(np.hypot, zero, zero, order=2) == [[0.0], [0.0]]
    assert grads(lambda x: np.linalg.norm(np.stack([x, x])), zero, order=2) == [[0.0]]
    assert grads(lambda x: np.prod(x), np.array([0.0, 0.0, 4.0]), order=2) == [[4.0, 4.0, 0.0]]
    assert grads(np.cumprod, np.array([0.0, 3.0]), order=2) == [[1.0, 1.0]]


@pytest.mark.parametrize("composite", [True, False])
@pytest.mark.parametrize("way", SECOND)
@pytest.mark.parametrize(("f", "curvature"), [(np.logaddexp, 0.25), (np.logaddexp2, np.log(2) / 4)])
def test_second_derivatives_of_logarithms_of_equal_exponentials(f, curvature, way, composite):
    """Whether rounding takes a share to above or below a half, its slope is that of a share."""
    x, rows = np.array([-0.1, 0.3, 1.3, 7.7, 33.3]), np.ones((2, 5))
    with tapec.settings(composite=composite):
        alike = SECOND[way](lambda x, y: np.sum(f(x, y)), argnums=(0, 1))(x, x)
        broadcast = SECOND[way](lambda x, y: np.sum(f(x, y * rows)), argnums=(0, 1))(x, x)
        numbers = [SECOND[way](f, argnums=(0, 1))(float(k), float(k)) for k in x]
    wanted = curvature * np.array([[1, -1], [-1, 1]])
    np.testing.assert_allclose(alike, np.multiply.outer(wanted, np.eye(5)), atol=1e-13)
    np.testing.assert_allclose(broadcast, np.multiply.outer(2 * wanted, np.eye(5)), atol=1e-13)
    np.testing.assert_allclose(numbers, [wanted] * 5, atol=1e-13)


@pytest.mark.parametrize("optimize", [True, False])
@pytest.mark.parametrize("x", [[0.0, 0.0], [0.0, 3.0]])
@pytest.mark.parametrize("order", [1.5, -1.0, 0.5, 3.0])
def test_norms_of_an_order_that_is_an_argument(order, x, optimize):
    """They are put together from sums and powers, of which some have infinite slopes."""
    x, f = np.array(x), lambda x, p=order: NORM(x, p)
    with tapec.settings(optimize=optimize):
        np.testing.assert_allclose(tapec.grad(f)(x), tapec.grad(lambda x: NORM(x, order))(x))
        for way in SECOND.values():
            assert np.isfinite(way(f, argnums=0)(x)).all()


def test_slopes_of_literal_exponents_have_no_powers():
    x = tapec.constant([1.0, 2.0])
    with tapec.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y, z = x**2, x**3
    for source in (tape.source(y, x), tape.source(z, x)):
        assert not operations(source, "**") and not call_count(source, "log", "power")


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.longdouble, np.complex64, np.complex128])
def test_dtypes_stay(dtype):
    x = np.array([0.5, 1.5], dtype)
    for f in (np.exp, np.sqrt, lambda x: x**2, lambda x: x * 2.0 + 1, np.mean, np.cumprod, np.prod, np.square, np.std):
        t = tapec.constant(x)
        with tapec.GradientTape() as tape:
            tape.watch(t)
            y = f(t)
        assert y.dtype == f(x).dtype and tape.gradient(y, t).dtype == dtype


@pytest.mark.filterwarnings("ignore:Mean of empty slice", "ignore:invalid value encountered in scalar divide")
def test_the_gradient_of_an_empty_mean_divides_by_nothing():
    """An empty batch gives nan, as NumPy has it and says so, and adds nothing to a gradient, which says no more."""
    v = tapec.Variable(np.ones(3))
    with tapec.GradientTape() as tape:
        y = np.mean(np.zeros((0, 3)) @ v)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = tape.gradient(y, v)
    assert np.isnan(y.numpy())
    np.testing.assert_array_equal(found.numpy(), np.zeros(3))
    of_columns = tapec.vjp(lambda w: np.mean(np.zeros((0, 3)) * w, axis=0), np.ones(3))[1]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_array_equal(of_columns(np.ones(3)), np.zeros(3))


@pytest.mark.parametrize("function", [np.mean, np.var, np.average, np.median, np.sum, np.prod])
@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0)])
def test_statistics_of_nothing_are_those_of_numpy(function, shape):
    """Values, errors and the words of warnings, at the first call and at those that follow."""
    x = np.zeros(shape)

    def told(f):
        with warnings.catch_warnings(record=True) as met:
            warnings.simplefilter("always")
            try:
                found = np.asarray(f(x))
            except Exception as error:
                return type(error), str(error)
        return found.dtype, found.shape, found.tolist().__repr__(), {str(w.message) for w in met}

    for axis in (None, *range(len(shape))):

        def f(x):
            return function(x, axis=axis)  # noqa: B023

        compiled = tapec.compile(f)
        assert [told(compiled) for _ in range(3)] == [told(f)] * 3, axis
        if len(told(f)) > 2:
            slope = tapec.grad(lambda x: np.sum(function(x, axis=axis)))  # noqa: B023
            assert [told(slope)[1] for _ in range(3)] == [shape] * 3
