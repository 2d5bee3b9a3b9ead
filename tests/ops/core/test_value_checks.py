"""Values that NumPy refuses are refused at every call, and in every example of a batch."""

import numpy as np
import pytest

import tapec

V = np.array([0.7, -1.3, 2.1, 0.2])
X = V + np.arange(3.0)[:, None]
STEP = {"method": "inverted_cdf"}
EDGES = [1.0, 2.0, 2.0, 3.0]
REFUSED = {  # a function of p; one p that NumPy takes, and those that it refuses
    "average": (lambda p: np.average(V, weights=p), V + 2, [1.0, -1.0, 2.0, -2.0]),
    "average of lines": (lambda p: np.average(X, axis=0, weights=p[:3]), V + 2, [1.0, -1.0, 0.0, 9.0]),
    "cov": (lambda p: np.cov(X, aweights=p), V + 2, V, V * 0),
    "edges": (lambda p: np.histogram_bin_edges(V, p), EDGES, V),
    "geomspace": (lambda p: np.geomspace(2.0, p, 4), V + 2, [1.0, 2.0, 0.0, 3.0]),
    "quantile": (lambda p: np.quantile(V, p), V / 4 + 0.4, V, V / 4, V * np.nan),
    "nanquantile": (lambda p: np.nanquantile(X, p, 1), V / 4 + 0.4, V, V / 4),
    "percentile": (lambda p: np.percentile(X, p, axis=0), V * 9 + 20, V - 2, V + 99),
    "weighted fraction": (lambda p: np.quantile(V, p, weights=V + 2, **STEP), V / 4 + 0.4, V),
    "weighted quantile": (lambda p: np.quantile(V, 0.4, weights=p, **STEP), V + 2, V),
    "weighted nanquantile": (lambda p: np.nanquantile(V, 0.4, weights=p, **STEP), V + 2, V),
}
OF_ONE = {  # not in batches
    "fweights": (lambda p: np.cov(X, fweights=p), [1.0, 2.0, 0.0, 1.0], [1.5, 1.0, 1.0, 1.0]),
    "histogram": (lambda p: np.histogram(V, p)[0], EDGES, V),
    "histogram of infinities": (lambda p: np.histogram(p, 3)[0], V, V * np.nan, V * np.inf),
    "edges of infinities": (lambda p: np.histogram_bin_edges(p, 3), V, V * np.nan, V * np.inf),
    "histogram2d": (lambda p: np.histogram2d(V, p, 3)[0], V, V * np.nan, V * np.inf),
    "interp": (lambda p: np.interp(p, V, V, period=p[2]), V + 2, V * 0),
}


def recorded(f):
    def g(p):
        p = tapec.constant(p)
        with tapec.GradientTape() as tape:
            tape.watch(p)
            return f(p * 1.0).numpy()

    return g


def captured(f):
    state = np.zeros(4)
    g = tapec.compile(lambda: f(state))

    def set_and_call(p):
        state[:] = p
        return g()

    return set_and_call


def refusal(f, p):
    with pytest.raises((ValueError, ZeroDivisionError, TypeError)) as caught:
        f(p)
    return caught.value


def assert_alike(found, error):
    assert type(found) is type(error) and str(error).split(" [")[0] in str(found)


@pytest.mark.parametrize("way", [tapec.compile, recorded, captured])
@pytest.mark.parametrize("name", [*REFUSED, *OF_ONE])
def test_at_every_call(name, way):
    f, *values = (REFUSED | OF_ONE)[name]
    good, *bad = map(np.array, values)
    g = way(f)
    for _ in range(2):
        np.testing.assert_allclose(g(good), f(good), rtol=1e-12)
        for p in bad:
            assert_alike(refusal(g, p), refusal(f, p))


@pytest.mark.parametrize("name", REFUSED)
def test_in_every_example(name):
    f, good, *bad = REFUSED[name]
    good = np.array(good)
    ps = np.stack([good, good if name == "edges" else good[::-1], good])
    g, slope = tapec.vmap(f), tapec.grad(lambda p: np.sum(f(p) ** 2))
    np.testing.assert_allclose(g(ps), [f(p) for p in ps], rtol=1e-12)
    np.testing.assert_allclose(tapec.vmap(slope)(ps), [slope(p) for p in ps], rtol=1e-10, atol=1e-12)
    for p in bad:
        found = refusal(g, np.stack([good, p, good]))
        assert_alike(found, refusal(f, np.array(p)))
        assert "test_value_checks.py" in "".join(found.__notes__)


def test_in_batches_of_batches():
    f = tapec.vmap(tapec.vmap(lambda x, p: np.average(x, weights=p), (None, 0)), (0, None))
    ps = np.stack([V + 2, V[::-1] + 2])
    np.testing.assert_allclose(f(X, ps), [[np.average(x, weights=p) for p in ps] for x in X])
    with pytest.raises(ZeroDivisionError, match="sum to zero"):
        f(X, ps * [[1.0], [0.0]])


def test_weights_that_are_all_zero_choose_no_quantile():
    """NumPy says so since 2.1."""
    f = tapec.compile(lambda p: np.quantile(V, 0.4, weights=p, **STEP))
    assert f(V + 2) == np.quantile(V, 0.4, weights=V + 2, **STEP)
    with pytest.raises(ValueError, match="Weights included NaN, inf or were all zero"):
        f(np.zeros(4))
    g = tapec.compile(lambda x, p: np.nanquantile(x, 0.4, axis=1, weights=p, **STEP))
    x = np.where(X > 2.5, np.nan, X)
    x[1] = np.nan
    wanted = [np.nanquantile(x[k], 0.4, weights=X[k] + 2, **STEP) for k in (0, 2)]
    np.testing.assert_array_equal(g(x, X + 2), [wanted[0], np.nan, wanted[1]])
