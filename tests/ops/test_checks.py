"""Values that NumPy refuses are refused at every call, and in every example of a batch."""

import numpy as np
import pytest

import tapec

V = np.array([0.7, -1.3, 2.1, 0.2])
X = V + np.arange(3.0)[:, None]
STEP = {"method": "inverted_cdf"}
REFUSED = {  # a function of x and p; one p that NumPy takes, and one that it refuses
    "average": (lambda x, p: np.average(x, weights=p), V + 2, [1.0, -1.0, 2.0, -2.0]),
    "average of lines": (lambda x, p: np.average(x, axis=0, weights=p[:3]), V + 2, [1.0, -1.0, 0.0, 9.0]),
    "cov": (lambda x, p: np.cov(x, aweights=p), V + 2, V),
    "cov of nothing": (lambda x, p: np.cov(x, aweights=p), V + 2, V * 0),
    "edges": (lambda x, p: np.histogram_bin_edges(x, p), [1.0, 2.0, 2.0, 3.0], V),
    "geomspace": (lambda x, p: np.geomspace(2.0, p, 4), V + 2, [1.0, 2.0, 0.0, 3.0]),
    "quantile": (lambda x, p: np.quantile(x, p), V / 4 + 0.4, V),
    "nanpercentile": (lambda x, p: np.nanpercentile(x, p, axis=0), V * 9 + 20, V - 2),
    "weighted quantile": (lambda x, p: np.quantile(x, 0.4, weights=p, **STEP), V + 2, V),
    "weighted nanquantile": (lambda x, p: np.nanquantile(x, 0.4, weights=p, **STEP), V + 2, V),
}
MORE = {
    "fweights": (lambda x, p: np.cov(x, fweights=p), [1.0, 2.0, 0.0, 1.0], [1.5, 1.0, 1.0, 1.0]),
    "histogram": (lambda x, p: np.histogram(x, p)[0], [1.0, 2.0, 2.0, 3.0], V),
    "histogram2d": (lambda x, p: np.histogram2d(x, x, p)[0], [-1.0, 0.5, 2.0, 3.0], V),
    "interp": (lambda x, p: np.interp(x, V, V, period=p[2]), V + 2, V * 0),
}


def lines(name):
    """Functions of a matrix or, where they take but one axis, of a line."""
    f, good, bad = {**REFUSED, **MORE}[name]
    whole = "of lines" in name or "percentile" in name or "cov" in name or "fweights" in name
    return f, X if whole else V, np.array(good), np.array(bad)


def recorded(f):
    def g(x, p):
        x, p = tapec.constant(x), tapec.constant(p)
        with tapec.GradientTape() as tape:
            tape.watch([x, p])
            return f(x * 1.0, p * 1.0).numpy()

    return g


@pytest.mark.parametrize("name", [*REFUSED, *MORE])
def test_at_every_call(name):
    f, x, good, bad = lines(name)
    with pytest.raises((ValueError, ZeroDivisionError, TypeError)) as refused:
        f(x, bad)
    for g in (tapec.compile(f), recorded(f)):
        for _ in range(3):
            np.testing.assert_allclose(g(x, good), f(x, good), rtol=1e-12)
            with pytest.raises(refused.type) as caught:
                g(x, bad)
            assert "bins" in str(refused.value) or str(refused.value) in str(caught.value)


@pytest.mark.parametrize("name", REFUSED)
def test_in_every_example(name):
    f, x, good, bad = lines(name)
    xs, ps = np.stack([x, x + 1, x * 2]), np.stack([good, good[::-1] if name != "edges" else good + 1, good])
    for axes in ((0, 0), (None, 0)):
        g = tapec.vmap(f, axes)
        given = xs if axes[0] == 0 else x
        wanted = [f(given[k] if axes[0] == 0 else given, ps[k]) for k in range(3)]
        np.testing.assert_allclose(g(given, ps), wanted, rtol=1e-12)
        slopes = tapec.vmap(tapec.grad(lambda x, p: np.sum(f(x, p) ** 2), (0, 1)), axes)(given, ps)
        for k in range(3):
            one = tapec.grad(lambda x, p: np.sum(f(x, p) ** 2), (0, 1))(given[k] if axes[0] == 0 else given, ps[k])
            for some, slope in zip(slopes, one, strict=True):
                np.testing.assert_allclose(some[k], slope, rtol=1e-10, atol=1e-12)
        with pytest.raises((ValueError, ZeroDivisionError)) as refused:
            f(x, bad)
        with pytest.raises(refused.type) as caught:
            g(given, np.stack([good, bad, good]))
        assert str(refused.value) in str(caught.value)
        assert "test_checks.py" in "".join(caught.value.__notes__)


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
