"""tapec.scipy.spatial.distance against SciPy's: every metric, with weights, and where rows coincide."""

import numpy as np
import pytest
from scipy.spatial import distance as scipys

import tapec
from tapec.errors import UnsupportedError
from tapec.scipy.spatial import distance
from tests.ops.derivatives import check
from tests.scipy.against import compare

RNG = np.random.default_rng(10)
STEPS = np.array([0.3, 0.41, 0.53])
APART = STEPS * (RNG.permuted(np.tile(np.arange(-4.0, 5.0)[:, None], 3), axis=0) + RNG.uniform(0.0, 0.2, (9, 3)))
A, B = APART[:4], APART[4:]  # differences see no kinks: none is small, and no two are alike
W = np.array([0.5, 2.0, 1.5])
METRICS = {
    **{name: {} for name in ("euclidean", "sqeuclidean", "cityblock", "chebyshev", "cosine", "minkowski")},
    **{name: {} for name in ("E", "sqe", "cb", "cheb", "cos", "pnorm")},
    "minkowski 3": {"p": 3},
    "minkowski 1.5": {"p": 1.5},
    "minkowski 0.7": {"p": 0.7},
    "minkowski inf": {"p": np.inf},
}


@pytest.mark.sampled(one_in=3, per="metric")
@pytest.mark.parametrize("w", [None, W, W * (W < 2)], ids=["plain", "weighted", "one without weight"])
@pytest.mark.parametrize("metric", METRICS)
def test_metrics(metric, w):
    name, more = metric.partition(" ")[0], METRICS[metric] | ({} if w is None else {"w": w})
    compare(lambda s: lambda a: [s.cdist(a, B, name, **more), s.pdist(a, name, **more)], A, distance, scipys)
    compare(lambda s: lambda b: s.cdist(A, b, metric=name, **more), B, distance, scipys)


@pytest.mark.parametrize("metric", ["euclidean", "sqeuclidean", "cityblock", "minkowski", "cosine"])
def test_gradients_of_weights(metric):
    more = {"p": 3} if metric == "minkowski" else {}
    check(lambda w: distance.cdist(A, B, metric, w=w, **more), W)
    slope = lambda w: tapec.grad(lambda w: np.sum(distance.cdist(A, B, metric, w=w, **more)))(w)
    edge = np.array([0.0, 1.0, 2.0])
    np.testing.assert_allclose(slope(edge), slope(edge + [1e-9, 0, 0]), rtol=1e-6)


@pytest.mark.parametrize("w", [None, W], ids=["plain", "weighted"])
@pytest.mark.parametrize("metric", [m for m in METRICS if not m.startswith("cos")])
def test_rows_that_coincide_have_slope_zero(metric, w):
    name, more = metric.partition(" ")[0], METRICS[metric]
    x = np.stack([A[0], A[0], A[1]])
    total = lambda x: np.sum(distance.pdist(x, name, w=w, **more))
    apart = lambda x: np.sum(distance.cdist(x[:2], x[2:], name, w=w, **more))
    with np.errstate(all="raise"):
        found = tapec.grad(total)(x)
        second = tapec.hessian(total)(x)
    np.testing.assert_allclose(found, tapec.grad(apart)(x), rtol=1e-10)
    assert np.isfinite(second).all()
    assert (tapec.grad(lambda x: np.sum(distance.cdist(x, A[:1], name, w=w, **more)))(A[:1].copy()) == 0).all()


def test_rows_that_are_the_same_but_for_a_number():
    f = lambda a: np.sum(distance.cdist(a, [[0.0, 0.0]], "minkowski", p=1.5, w=[1.0, 2.0]))
    np.testing.assert_allclose(tapec.grad(f)(np.array([[3.0, 0.0]])), [[1.0, 0.0]])


@pytest.mark.parametrize("dtype", ["f4", "f8", "g", "i4", "?"])
@pytest.mark.parametrize("metric", ["euclidean", "cityblock", "chebyshev", "sqeuclidean"])
def test_precisions(metric, dtype):
    a, b = (3 * A).astype(dtype), (3 * B).astype(dtype)
    wanted = scipys.cdist(a, b, metric)
    for found in (distance.cdist(a, b, metric), tapec.compile(lambda a: distance.cdist(a, b, metric))(a)):
        assert found.dtype == wanted.dtype
        np.testing.assert_allclose(found, wanted, rtol=1e-10)
    if dtype == "f4":
        assert tapec.grad(lambda a: np.sum(distance.cdist(a, b, metric)))(a).dtype == np.float32


def test_square_form():
    v = A[0, :1] * np.arange(1.0, 7.0)
    compare(lambda s: lambda v: s.squareform(v), v, distance, scipys)
    compare(lambda s: lambda v: s.squareform(v[None] + v[:, None], checks=False), v, distance, scipys)
    compare(lambda s: lambda a: s.squareform(s.squareform(s.pdist(a)), "tovector"), A, distance, scipys)
    for x in (np.arange(3), np.zeros(0), np.zeros((1, 1)), np.ones(1, bool), np.zeros((0, 0), np.float32)):
        found, wanted = distance.squareform(x), scipys.squareform(x)
        assert found.dtype == wanted.dtype
        np.testing.assert_array_equal(found, wanted)
        np.testing.assert_array_equal(distance.squareform(tapec.constant(x)), wanted)


def test_few_rows():
    for n in (0, 1):
        assert distance.cdist(A[:n], B).shape == (n, 5)
        assert distance.pdist(tapec.constant(A[:n])).shape == (0,)


def test_batches_and_compiled_code():
    f = lambda a: distance.squareform(distance.pdist(a, "cityblock"))
    stack = RNG.standard_normal((3, 4, 2))
    np.testing.assert_allclose(tapec.vmap(f)(stack), [scipys.squareform(scipys.pdist(a, "cityblock")) for a in stack])
    g = tapec.compile(lambda a, w: distance.cdist(a, B, w=w))
    np.testing.assert_allclose(g(A, W), scipys.cdist(A, B, w=W))
    with pytest.raises(ValueError, match="non-negative"):
        g(A, -W)


BAD = {
    "vectors": (lambda s, a: s.cdist(a[0], B), "XA must be a 2-dimensional array"),
    "columns": (lambda s, a: s.cdist(a, B[:, :2]), "XA has 3 columns, XB has 2"),
    "complex": (lambda s, a: s.cdist(a + 1j, B), "XA must be real, got complex128"),
    "a vector": (lambda s, a: s.pdist(a[0]), "X must be a 2-dimensional array"),
    "weights below zero": (lambda s, a: s.cdist(a, B, w=-W), "weights must be non-negative"),
    "too few weights": (lambda s, a: s.cdist(a, B, "cosine", w=W[:2]), "2 weights are given for 3 columns"),
    "weights of two axes": (lambda s, a: s.pdist(a, w=W[None]), r"w must be a vector, got an array of shape \(1, 3\)"),
    "unknown argument": (lambda s, a: s.cdist(a, B, p=3), "unexpected keyword"),
    "incompatible": (lambda s, a: s.squareform(a[0, :2]), "2 distances are not those of all pairs of n rows"),
    "not square": (lambda s, a: s.squareform(a), "is square, got one of shape"),
    "not symmetric": (lambda s, a: s.squareform(a[:3]), "is symmetric. Fix"),
    "diagonal": (lambda s, a: s.squareform(a[:3] + a[:3].T), "has zeros on its diagonal. Fix"),
    "three axes": (lambda s, a: s.squareform(a[None]), "X is a vector or a matrix of distances"),
    "to matrix": (lambda s, a: s.squareform(a, "tomatrix"), "force='tomatrix' takes a distance vector, got"),
    "to vector": (lambda s, a: s.squareform(a[0], "tovector"), "force='tovector' takes a distance matrix, got"),
}


@pytest.mark.parametrize("name", BAD)
def test_arguments_that_scipy_refuses(name):
    error = TypeError if name == "unknown argument" else ValueError
    call, message = BAD[name]
    with pytest.raises(error):
        call(scipys, A)
    for a in (A, tapec.constant(A)):
        with pytest.raises(error, match=message):
            call(distance, a)


def test_powers_that_make_no_distance():
    for p in (0, -1):
        with pytest.raises(ValueError, match=f"p must be greater than 0, got {p}"):
            distance.pdist(A, "minkowski", p=p)


def test_other_metrics():
    """Of plain arrays they are SciPy's."""
    np.testing.assert_array_equal(distance.cdist(A, B, "correlation"), scipys.cdist(A, B, "correlation"))
    out = np.empty((4, 5))
    assert distance.cdist(A, B, out=out) is out
    with pytest.raises(ValueError, match="Unknown Distance Metric"):
        distance.pdist(A, "nope")
    with pytest.raises(UnsupportedError, match=r"test_distance.py:\d+: .*'correlation' are not known. Fix: one of che"):
        tapec.grad(lambda a: np.sum(distance.cdist(a, B, "correlation")))(A)
    with pytest.raises(UnsupportedError, match="no out="):
        distance.cdist(tapec.constant(A), B, out=out)
    mine = lambda u, v: np.sum((u - v) ** 4)
    with pytest.raises(UnsupportedError, match=r"Fix: tapec.vmap\(tapec.vmap\(metric"):
        distance.cdist(tapec.constant(A), B, mine)
    found = tapec.vmap(tapec.vmap(mine, (None, 0)), (0, None))(A, B)
    np.testing.assert_allclose(found, scipys.cdist(A, B, mine))
