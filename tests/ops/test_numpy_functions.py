"""NumPy's functions and methods on tensors against the same on arrays, and their derivatives against differences."""

import numpy as np
import pytest

import tapec
from tests.ops.derivatives import assert_same, check, inner, leaves, random_like
from tests.properties import calls

RNG = np.random.default_rng(7)
A = (RNG.permutation(24).reshape(2, 3, 4) - 11.6) * 0.17  # far from each other, and from where branches meet
P = RNG.uniform(0.4, 2.0, (2, 3, 4))
V = np.array([0.7, -1.3, 2.1, 0.2, -0.6])
W = np.array([0.5, 1.5, 0.3, 0.9, 2.0])
Z = RNG.standard_normal((3, 4)) + 1j * RNG.standard_normal((3, 4))
HOLES = np.where(RNG.uniform(size=(2, 3, 4)) < 0.3, np.nan, A)
MASK = A > 0
METHODS = ["linear", "lower", "higher", "midpoint", "nearest", "hazen", "weibull", "median_unbiased", "inverted_cdf"]
METHODS += ["normal_unbiased", "interpolated_inverted_cdf", "averaged_inverted_cdf", "closest_observation"]

ONE = {
    # powers
    "x ** 2": (lambda x: x**2, A),
    "x ** 3": (lambda x: x**3, A),
    "x ** -1": (lambda x: x**-1.0, P),
    "x ** 0.5": (lambda x: x**0.5, P),
    "x ** 0": (lambda x: x**0 + x, A),
    "2 ** x": (lambda x: 2.0**x, A),
    "x ** x": (lambda x: x**x, P),
    "x ** [0 1 2 3]": (lambda x: x ** np.arange(4), A),
    "float_power": (lambda x: np.float_power(x, 2.5), P),
    "z ** 2": (lambda z: z**2, Z),
    "z ** (1+1j)": (lambda z: z ** (1 + 1j), Z),
    # operators
    "divmod": (lambda x: divmod(x, 0.7), A),
    "np.divmod": (lambda x: np.divmod(x, 0.7), A),
    "modf frexp": (lambda x: [*np.modf(x), np.frexp(x)[0]], A),
    "%": (lambda x: x % 0.7 + 3.0 % x, P),
    "abs round": (lambda x: [abs(x), x * np.round(x), np.fix(x) * x, np.around(x, 1) * x + x.round(1)], V * 1.1),
    # extremes
    "clip": (lambda x: np.clip(x, -0.5, 0.5), A),
    "clip one": (lambda x: np.clip(x, 0.1, None) + x.clip(max=0.3) + x.clip(-1), A),
    "clip bounds": (lambda x: np.clip(x, -abs(x[0]), abs(x[1])), A),
    "maximum": (lambda x: np.maximum(x, 0) * np.minimum(x, x[::-1]), A),
    # complex
    "real imag": (lambda z: [z.real, z.imag, np.real(z), np.imag(z)], Z),
    "angle abs": (lambda z: [np.angle(z), np.angle(z, deg=True), abs(z), np.abs(z)], Z),
    "conj": (lambda z: z.conj() * z.conjugate() * np.conj(z), Z),
    "sign": (lambda z: np.sign(z), Z),
    "real of real": (lambda x: [np.real(x), x.real, np.conj(x)], A),
    "real_if_close": (lambda x: np.real_if_close(x + 0j) + np.real_if_close(x), A),
    # reductions
    "sum": (lambda x: [x.sum(), np.sum(x, 1), x.sum((0, -1), keepdims=True), np.sum(x, initial=2.0, where=MASK)], A),
    "mean": (lambda x: [x.mean(), np.mean(x, (0, 2)), np.mean(x, 1, keepdims=True, where=P > 0.6)], A),
    "prod": (lambda x: [np.prod(x), x.prod((0, 2)), np.prod(x, 1, where=MASK, initial=3.0)], P),
    "prod complex": (lambda z: [np.prod(z), z.prod(0)], Z),
    "max min": (lambda x: [x.max(), np.min(x, 1), np.max(x, (0, 2), initial=0.1, where=MASK), np.amin(x)], A),
    "var std": (lambda x: [x.var(), np.std(x, 1, ddof=1), np.var(x, (0, 2), keepdims=True), x.std(ddof=2)], A),
    "var where": (lambda x: [np.var(x, 1, where=P > 0.6), np.std(x, where=MASK)], A),
    "var complex": (lambda z: [z.var(), np.std(z, 0)], Z),
    "ptp": (lambda x: [np.ptp(x), np.ptp(x, 1)], A),
    "any all": (lambda x: [np.any(x > 0), (x > 0).all(1), np.count_nonzero(x > 0, axis=0), x.sum()], A),
    "argmax": (lambda x: [x.argmax(), np.argmin(x, 1), x.argmax(-1, keepdims=True), x.sum()], A),
    "average": (lambda x: [np.average(x), np.average(x, 2, np.arange(1.0, 5.0)), np.average(x, weights=P)], A),
    "average returned": (lambda x: np.average(x, (0, 2), weights=P[:, 0], returned=True), A),
    "average weights": (lambda w: np.average(A, weights=w), P),
    "median": (lambda x: [np.median(x), np.median(x, 1), np.median(x, (0, 2), keepdims=True)], A),
    "quantile": (lambda x: [np.quantile(x, 0.3), np.quantile(x, [[0.1], [0.8]], axis=1), np.percentile(x, 40, 2)], A),
    "quantile methods": (lambda x: [np.quantile(x, 0.37, method=m) for m in ("lower", "nearest", "weibull")], A),
    "nan sums": (lambda x: [np.nansum(x), np.nanprod(x, 1), np.nancumsum(x, 2), np.nancumprod(x, 2)], HOLES),
    "nan means": (lambda x: [np.nanmean(x, 1), np.nanvar(x), np.nanstd(x, (0, 2), ddof=1)], HOLES),
    "nan extremes": (lambda x: [np.nanmax(x, 2), np.nanmin(x), np.nanargmax(x), np.nansum(x)], HOLES),
    "nanmedian": (lambda x: [np.nanmedian(x, 2), np.nanmedian(x, (0, 2), keepdims=True)], HOLES),
    "nanmedian complex": (lambda z: np.nanmedian(z, 1), Z),
    "nan quantiles": (lambda x: [np.nanmedian(x), np.nanquantile(x, [0.2, 0.6], 2), np.nanpercentile(x, 30)], HOLES),
    "nan quantile methods": (lambda x: [np.nanquantile(x, 0.3, 2, method=m) for m in METHODS], HOLES),
    "weighted quantile": (lambda x: np.quantile(x, [0.3, 0.8], 2, weights=P, method="inverted_cdf"), A),
    "weighted percentile": (lambda x: np.percentile(x, 30, 1, weights=[1, 2, 1], method="inverted_cdf"), A),
    "weighted nanquantile": (lambda x: np.nanquantile(x, 0.3, 1, weights=P, method="inverted_cdf"), HOLES),
    "quantile fractions": (lambda q: [np.quantile(V, np.exp(-q)), np.quantile(A, q[3:] / 3, 1, method="hazen")], W),
    "nan_to_num": (lambda x: np.nan_to_num(x, nan=2.0) * 3, HOLES),
    # along an axis
    "cumsum": (lambda x: [x.cumsum(), np.cumsum(x, 1)], A),
    "cumprod": (lambda x: [x.cumprod(), np.cumprod(x, 1)], P),
    "cumprod complex": (lambda z: np.cumprod(z, 1), Z),
    "diff": (lambda x: [np.diff(x), np.diff(x, 2, 1), np.diff(x, axis=0, prepend=0.5, append=x[:1])], A),
    "ediff1d": (lambda x: np.ediff1d(x, to_begin=1.0, to_end=[2.0, 3.0]), A),
    "gradient": (lambda x: [*np.gradient(x), np.gradient(x, 0.5, axis=1), *np.gradient(x, 2.0, axis=(1, 2))], A),
    "gradient edges": (lambda x: np.gradient(x, axis=2, edge_order=2), A),
    "gradient uneven": (lambda x: [np.gradient(x, W.cumsum(), edge_order=k) for k in (1, 2)], V),
    "gradient at": (lambda h: np.gradient(V, np.cumsum(h)), W),
    "trapezoid": (lambda x: [np.trapezoid(x), np.trapezoid(x, dx=0.5, axis=1), np.trapezoid(x, [1.0, 2, 4, 7])], A),
    "trapezoid at": (lambda h: np.trapezoid(V, np.cumsum(h)), W),
    "unwrap": (lambda x: np.unwrap(8 * x), V),
    # sorting
    "sort": (lambda x: [np.sort(x), np.sort(x, 0), np.sort(x, None)], A),
    "argsort": (lambda x: [x.argsort(), np.argsort(x, 0), np.lexsort((x[0, 0], x[1, 1])), x.sum()], A),
    "partition": (lambda x: [np.partition(x, 2), np.partition(x, (0, 1), axis=1)], A),
    "searchsorted": (lambda x: [np.searchsorted(np.sort(x), W), np.digitize(x, [-1.0, 0.0, 1.0]), x.sum()], V),
    "sort complex": (lambda z: [np.sort(z), np.sort_complex(z)], Z),
    # selection
    "where": (lambda x: np.where(x > 0, x, x[0] ** 2), A),
    "select": (lambda x: np.select([x > 1, x > 0], [x**3, x**2], default=-1.0), A),
    "choose": (lambda x: np.choose(np.array([0, 1, 1, 0]), [x[0], x[1]]), A),
    "choose wrapped": (lambda x: np.choose([3, 1], x[0, :, :2], mode="wrap"), A),
    "compress": (lambda x: [np.compress([True, False, True], x, 1), x.compress([0, 1, 1])], A),
    "extract": (lambda x: np.extract(x > 0, x), A),
    "piecewise": (lambda x: np.piecewise(x, [x < -0.5, x > 0.5], [lambda t: t**2, lambda t: t**3, 0.25]), A),
    "piecewise one": (lambda x: np.piecewise(x, [x > 0], [lambda t: np.sqrt(t), lambda t: -t]), A),
    "piecewise conditions": (lambda x: [np.piecewise(x, x > 0, [np.exp]), np.piecewise(x[0], [True], [np.sin])], V),
    "interp": (lambda x: np.interp(x, [-1.0, 0.0, 1.5], [2.0, 0.0, 1.0]), A),
    "interp points": (lambda f: np.interp(W, [0.0, 0.6, 1.2, 1.8, 2.4], f, left=0.0), V),
    "interp period": (lambda x: np.interp(x, [0.1, 1.0, 2.5], [2.0, 0.0, 1.0], period=3.0), A),
    # products
    "convolve": (lambda x: [np.convolve(x, W[:3], m) for m in ("full", "same", "valid")], V),
    "convolve self": (lambda x: np.convolve(x, x[:2]), V),
    "correlate": (lambda x: [np.correlate(x, W[:3], m) for m in ("full", "same", "valid")], V),
    "correlate shorter": (lambda x: [np.correlate(x[:2], W, m) for m in ("full", "same", "valid")], V),
    "convolve complex": (lambda z: [np.convolve(z[0], z[1, :2]), np.correlate(z[0], z[1], "same")], Z),
    "cross": (lambda x: [np.cross(x[..., :3], x[..., 1:]), np.cross(x[:, 0, :3], x[1, 1, 1:])], A),
    "cross axes": (lambda x: [np.cross(x, x[::-1], axis=1), np.linalg.cross(x, x[::-1], axis=1)], A),
    "kron": (lambda x: [np.kron(x[0], x[1, :2]), np.kron(x[0, 0], x)], A),
    "cov": (lambda x: [np.cov(x[0]), np.cov(x[0], x[1]), np.cov(x[0, 0]), np.cov(x[0], rowvar=False, bias=True)], A),
    "cov weights": (lambda x: np.cov(x[0], fweights=[1, 2, 1, 3], aweights=[0.1, 0.5, 0.2, 0.4]), A),
    "cov rows": (lambda x: [np.cov(x[0], x[1][:1]), np.cov(x[0, :1]), np.cov(x[0].T, rowvar=False, ddof=0)], A),
    "cov complex": (lambda z: [np.cov(z), np.corrcoef(z)], Z),
    "corrcoef": (lambda x: [np.corrcoef(x[0]), np.corrcoef(x[0, 0], x[1, 0])], A),
    # counting
    "bincount": (lambda w: np.bincount([0, 2, 2, 1, 0], w, minlength=4), V),
    "histogram": (lambda w: np.histogram(V, 3, weights=w)[0], W),
    "histogram complex": (lambda z: np.histogram([0.1, 0.4, 0.6, 0.9], 3, (0, 1), weights=z[0])[0], Z),
    "bincount without minlength": (lambda w: np.bincount([0, 2, 2, 1, 0], w), V),
    "histogram edges": (lambda x: [np.histogram(x, 3)[1], np.histogram(x, [-2.0, 0.0, 3.0])[0]], V),
    "histogram2d": (lambda w: np.histogram2d(V, W, 3, weights=w), W),
    "histogramdd": (lambda w: np.histogramdd(np.stack([V, W], 1), (2, 3), weights=w, density=True)[0], W),
    # functions of slices
    "trim_zeros": (lambda x: np.trim_zeros(np.where(abs(x) > 0.65, x, 0)) ** 2, V),
    "apply_along_axis": (lambda x: np.apply_along_axis(lambda r: r[1:] * r[0], 1, x), A),
    "apply_along_axis scalars": (lambda x: np.apply_along_axis(np.sum, 0, x), A),
    "apply_over_axes": (lambda x: np.apply_over_axes(np.sum, x, [0, 2]), A),
    # functions and ranges
    "sinc i0": (lambda x: [np.sinc(x), np.i0(x)], A),
    "vander": (lambda x: [np.vander(x), np.vander(x, 3, increasing=True)], V),
    "linspace": (lambda x: [np.linspace(x[0], 3.0, 5), np.linspace(x, 2 * x + 1, 3, axis=1, endpoint=False)], V),
    "geomspace": (lambda x: [np.geomspace(x[0], 3.0, 5), np.logspace(x, 2 * x, 3, base=2.0)], W),
    "likes": (lambda x: np.ones_like(x) * x + np.full_like(x, 2.5) + np.zeros_like(x, dtype=int), A),
    "full_like": (lambda x: np.full_like(x, x[0, 0, 0]) * np.full_like(x, x[0, 0]), A),
    "heaviside": (lambda x: [np.heaviside(x, 0.5), x * np.copysign(x, -1.0), np.ldexp(x, 2)], A),
    "degrees": (lambda x: np.degrees(x) + np.rad2deg(x) + np.radians(x) + np.deg2rad(x), A),
    "aliases": (lambda x: np.asin(x / 3) + np.atan2(x, 2.0) + np.pow(abs(x), 2.0) + np.acosh(x * x + 2), A),
}

if hasattr(np, "cumulative_sum"):  # NumPy 2.1
    ONE["clip keywords"] = (lambda x: np.clip(x, min=0.1, max=0.5), A)
    ONE["cumulative_sum"] = (lambda x: np.cumulative_sum(x, axis=2, include_initial=True), A)
    ONE["cumulative_prod"] = (lambda x: np.cumulative_prod(x, axis=0, include_initial=True), P)


@pytest.mark.filterwarnings("ignore:numpy.fix is deprecated")  # since NumPy 2.5
@pytest.mark.parametrize("name", ONE)
def test_one(name):
    f, x = ONE[name]
    with np.errstate(all="ignore"):
        check(f, x)


@pytest.mark.filterwarnings("ignore:numpy.fix is deprecated")
@pytest.mark.parametrize("name", ONE)
def test_compiled(name):
    """A compiled function gives what the tape gives."""
    f, x = ONE[name]
    rng = np.random.default_rng(0)
    with np.errstate(all="ignore"):
        weights = [random_like(rng, y) for y in leaves(f(x))]

        def loss(x):
            return sum(inner(w, y) for w, y in zip(weights, leaves(f(x)), strict=True) if w is not None)

        value, gradient = tapec.value_and_grad(loss)(x)
        t = tapec.constant(x)
        with tapec.GradientTape() as tape:
            tape.watch(t)
            y = loss(t)
        np.testing.assert_allclose(value, y.numpy(), rtol=1e-10)
        np.testing.assert_allclose(gradient, tape.gradient(y, t).numpy(), rtol=1e-10, atol=1e-12)


SINGLE = {  # float32 stays, or becomes float64 as NumPy has it
    "quantile": lambda x: [np.quantile(x, 0.3), np.nanquantile(x, [0.2], method="hazen"), np.nanmedian(x)],
    "cov": lambda x: [np.cov(x), np.corrcoef(x, x[::-1])],
    "choose": lambda x: [np.choose([0, 1, 0, 1, 1], [x, 2.0]), np.choose([0, 1, 0, 1, 1], [1, x])],
    "differences": lambda x: [np.ediff1d(x, 1.0, [2.0, 3.0]), np.gradient(x, np.arange(5.0)), np.trapezoid(x, dx=0.5)],
    "ranges": lambda x: [np.linspace(x, 3.0, 4), np.geomspace(x * x, 8.0, 4), np.logspace(x, 1.0, 3)],
    "histogram": lambda x: [*np.histogram([0.1, 0.2, 0.9, 0.3, 0.5], 3, weights=x), np.bincount([0, 1, 1, 2, 2], x)],
    "polynomials": lambda x: [np.polyval(x, 2.0), np.polyint(x), np.polyder(x), np.vander(x)],
}


@pytest.mark.parametrize("name", SINGLE)
def test_single_precision(name):
    f, x = SINGLE[name], V.astype(np.float32)
    for want, got in zip(leaves(f(x)), leaves(f(tapec.constant(x))), strict=True):
        assert_same(got, want)


NAN, INF, NONE = np.nan, np.inf, np.zeros((0, 3))
EDGES = {  # values, shapes and dtypes as NumPy's
    "a number along an axis": lambda x: [np.sum(x, 0), np.max(x, axis=-1, keepdims=True), np.any(x, -1), x.argmax(0)],
    "a number in a row": lambda x: [np.cumsum(x, 0), np.cumprod(x, axis=-1), np.argsort(x, axis=0), np.ptp(x, 0)],
    "a number squeezed": lambda x: [np.squeeze(x, 0), np.squeeze(x, -1)],
    "whole numbers without overflow": lambda x: [np.average(x * 60, weights=x.astype("u1")), np.linspace(x, 3, 3)],
    "steps": lambda x: np.linspace(x * 60, -70, 3, retstep=True)[1],
    "a mean of whole numbers": lambda x: np.mean(np.where(np.isfinite(x), x, 0), dtype=int),
    "geometric steps": lambda x: [np.geomspace(x, 2, 4), np.geomspace(-3, x, 4, endpoint=False, axis=-1)],
    "whole geometric steps": lambda x: np.geomspace(1, np.where(x > 1, 256, 1000), 7, dtype=int),
    "orders": lambda x: [np.ravel(x, None), np.ravel(x, order="f"), np.transpose(x, 0), x * np.size(x, 0)],
    "beginning": lambda x: [np.sum(x, initial=0.5), np.prod(x, initial=np.float64(0.5)), np.max(x, initial=0.5)],
    "beginning of nan": lambda x: [np.nanmax(x, initial=0.5), np.nanmin(x, -1, initial=-7, where=x > 0)],
    "whole fractions": lambda x: [np.quantile(x, 1), np.percentile(x, [0, 100]), np.nanquantile(x, [0, 1])],
    "nanquantile": lambda x: [np.nanquantile(x, [0.25, 0.7], -1), np.nanquantile(x, 0.3), np.nanmedian(x)],
    "weighted quantile": lambda x: np.quantile(x, 0.4, weights=np.ones(x.shape), method="inverted_cdf"),
    "clip": lambda x: np.clip(x, -1, 1, dtype=np.float64),
    "sort_complex": np.sort_complex,
    "select": lambda x: np.select([x > 1, x < 0], [x, 1.5], 3),
    "histogram": lambda x: [*np.histogram(x, 3, (0, 2)), *np.histogram(x, 3, (1, 1)), *np.histogramdd(x, 3, [(0, 2)])],
    "too few for a covariance": lambda x: np.cov(x, ddof=9),
    "an average's weights": lambda x: np.average(x * 1j, axis=-1, weights=np.ones(np.shape(x)[-1:]), returned=True),
}
ARRAYS = [V, V.astype("f4"), np.array([3, 1, 2, 7], "i1"), np.array([1, NAN, -2, 0.5]), np.array([1, INF, -INF, 0.5])]
EDGE_CASES = [(name, x) for name in EDGES for x in ARRAYS if "number" not in name]
EDGE_CASES += [(name, np.array(1.5)) for name in EDGES if "number" in name]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name, x", EDGE_CASES, ids=lambda v: v if isinstance(v, str) else str(v.dtype))
def test_edges(name, x):
    f = EDGES[name]
    for want, got in zip(leaves(f(x)), leaves(f(tapec.constant(x))), strict=True):
        assert_same(got, want)


@pytest.mark.filterwarnings("ignore:Mean of empty slice")
@pytest.mark.filterwarnings("ignore:invalid value encountered")
def test_nothing_at_all():
    t = tapec.constant(NONE)
    assert_same(np.max(t, axis=0, initial=2), np.max(NONE, axis=0, initial=2))
    for f in (np.nanmedian, lambda x: np.nanquantile(x, 0.3), lambda x: np.nanmedian(x, 0, keepdims=True)):
        assert_same(f(t), f(NONE))
    for got, want in zip(np.histogram(t, 3), np.histogram(NONE, 3), strict=True):
        assert_same(got, want)
    for f in (np.logaddexp.reduce, lambda x: np.hypot.reduce(x.T, 1), lambda x: np.hypot.reduce(x, where=x > 0)):
        assert_same(f(t), f(NONE))


@pytest.mark.parametrize("where", [slice(0, 2), 2.5, np.float64(3.0), 0, [2.5, 0, 1, 0, 3], [{}, ..., None, 1, 0]])
def test_masks_are_what_is_true(where):
    def f(x):
        return np.multiply(x, W, out=2.0 * x, where=where), np.sum(x, where=where), np.max(x, initial=3, where=where)

    for got, want in zip((*f(tapec.constant(V)), *tapec.compile(f)(V)), f(V) * 2, strict=True):
        assert_same(got, want)
    if type(where) is list:  # what NumPy counts for the mean is not the same in all its versions
        assert np.mean(tapec.constant(V), where=where).numpy() == np.mean(V, where=np.array(where, bool))


def test_ends_of_geometric_steps_have_slopes():
    first, last = tapec.jacobian(lambda a, b: np.geomspace(a, b, 3), argnums=(0, 1))(-1.0, 2.0)
    np.testing.assert_array_equal([first, last], [[1, NAN, 0], [0, NAN, 1]])


@pytest.mark.parametrize("ord", [1, 2, np.inf, "fro", "nuc"])
def test_norms_of_nothing(ord):
    """Zero; NumPy had an error for some before 2.3, which `settings.check` would tell."""
    for x in (NONE, NONE.T):
        with tapec.settings(check="never"):
            assert tapec.compile(lambda x: np.linalg.norm(x, ord))(x) == 0
            assert tapec.grad(lambda x: np.linalg.norm(x, ord))(x).shape == x.shape


@pytest.mark.parametrize("dtype", ["f4", "f8", "c16"])
@pytest.mark.parametrize("f", [np.array, np.asarray, np.ascontiguousarray, lambda x: np.array([x, x])])
def test_arrays_of_nothing_keep_their_shape(f, dtype):
    x = NONE.astype(dtype)
    assert_same(tapec.compile(lambda x: f(x))(x), f(x))


@pytest.mark.parametrize(
    "number", [2.5, np.float64(2.5), np.array(2.5), V], ids=["a number", "NumPy's", "no axes", "a row"]
)
@pytest.mark.parametrize("kind", [tapec.constant, tapec.Variable])
def test_what_is_like_a_tensor_is_one(kind, number):
    x = kind(V)
    with tapec.GradientTape() as tape:
        tape.watch(x)
        y = np.full_like(x, number)
        y[0] = 3 * x[1]
        z = np.sum(y)
    np.testing.assert_array_equal(tape.gradient(z, x).numpy(), [0, 3, *[0] * (len(V) - 2)])


def test_the_method_conj_leaves_truth_values():
    flags = V > 0
    for x in (flags, tapec.constant(flags)):
        assert [x.conj().dtype, x.conjugate().dtype, np.conj(x).dtype] == [bool, bool, np.int8]


FILLED = {"f8": 2, "f4": 2, "c16": 2, "i8": 2.7, "?": 2, "u1": 3.0}


@pytest.mark.parametrize("dtype", FILLED)
def test_filled_with_a_number_of_another_kind(dtype):
    x = V.astype(dtype)
    f = lambda x: [np.full_like(x, FILLED[dtype]), np.full_like(x, FILLED[dtype]) * np.float32(1.5)]
    for got, want in zip(tapec.compile(f)(x), f(x), strict=True):
        assert_same(got, want)


def test_clip_leaves_nothing_as_it_was():
    with pytest.raises(tapec.errors.UnsupportedError, match=r"Fix: np.where\(mask, np.clip"):
        np.clip(tapec.constant(V), -1, 1, where=V > 0, out=np.zeros(5))


@pytest.mark.parametrize("mode, padded", [("valid", False), ("full", False), ("same", True)])
@pytest.mark.parametrize("n, m", [(7, 3), (3, 7), (4, 4)])
def test_gradients_of_cut_convolutions_are_padded(mode, padded, n, m):
    a, v = RNG.normal(size=n), RNG.normal(size=m)
    g = tapec.grad(lambda a, v: np.sum(np.sin(np.convolve(a, v, mode))), argnums=(0, 1))
    tapec.check_grads(lambda a, v: np.sum(np.sin(np.convolve(a, v, mode))), (a, v))
    assert calls(g.source(a, v), "np.pad") == padded


def test_convolve_knows_its_modes_by_their_names():
    with pytest.raises(ValueError, match="mode must be one of"):
        np.convolve(tapec.constant(V), W, "sideways")


def test_even_places_are_a_spacing():
    """Weights of zero would spread nan and infinity."""
    x = np.array([1.0, NAN, -2.0, INF, 0.5])
    places = np.arange(5.0)
    np.testing.assert_array_equal(np.gradient(tapec.constant(x), places).numpy(), np.gradient(x, places))


def test_what_depends_on_values_is_asked_each_time():
    """The third call of a kind may follow a plan."""
    x = tapec.constant(V)
    for q in ([0.2, 0.7], [0.3, 0.4], [0.5, 1.0]):
        assert_same(np.quantile(x, np.array(q)), np.quantile(V, q))
        assert_same(np.average(x, weights=np.array([1, 1, 2, 2, *q[:1]])), np.average(V, weights=[1, 1, 2, 2, *q[:1]]))
    with pytest.raises(ValueError, match="range"):
        np.quantile(x, np.array([0.3, 1.5]))
    with pytest.raises(ZeroDivisionError):
        np.average(x, weights=np.zeros(5))


def test_windows_of_no_elements_have_no_gradient():
    gradient = tapec.grad(lambda x: np.sum(np.lib.stride_tricks.sliding_window_view(x, 0)))
    np.testing.assert_array_equal(gradient(V), np.zeros(5))


def test_counted_by_known_places_under_vmap():
    w = np.stack([V, W])
    found = tapec.vmap(lambda w: np.bincount([0, 2, 2, 1, 0], w))(w)
    np.testing.assert_allclose(found, [np.bincount([0, 2, 2, 1, 0], row) for row in w])
    counted = tapec.vmap(lambda x, w: np.bincount(x, w, 4), in_axes=(None, 0))
    for x in ([0, 2, 2, 1, 0], [3, 3, 0, 0, 1]):
        np.testing.assert_allclose(counted(np.array(x), w), [np.bincount(x, row, 4) for row in w])
    with pytest.raises(ValueError, match="negative"):
        counted(np.array([0, 2, 2, 1, -1]), w)
    for places, axes in ((np.array([0, 2, 2, 1, 0]), (None, 0)), (np.zeros((len(w), 5), int), 0)):
        with pytest.raises(tapec.UnsupportedError, match="depends on"):
            tapec.vmap(np.bincount, in_axes=axes)(places, w)


SETS = {
    "unique": lambda x: [np.unique(x), *np.unique(x, True, True, True), *np.unique_all(x), np.unique_values(x)],
    "unique parts": lambda x: [*np.unique_counts(x), *np.unique_inverse(x)],
    "unique axis": lambda x: np.unique(np.stack([x, x]), axis=0),
    "sets": lambda x: [np.union1d(x, W), np.setdiff1d(x, W), np.setxor1d(x, W), *np.intersect1d(x, x[:2], False, True)],
    "isin": lambda x: [np.isin(x, [0.7, 2.1]), np.isin(x, x[:2], invert=True)],
    "bits": lambda x: [np.packbits(x > 0), np.unpackbits((x > 0).astype(np.uint8))],
    "places": lambda x: np.unravel_index(np.argsort(x), (2, 3)),
    "flat places": lambda x: np.ravel_multi_index(([1, 0], np.argsort(x)[:2]), (2, 5)),
    "counts": lambda x: [np.histogram(x, 4)[0], np.bincount(np.argsort(x)), *np.histogram2d(x, x, [2, 3])],
}


@pytest.mark.parametrize("name", SETS)
def test_without_gradient(name):
    expected, found = list(leaves(SETS[name](V))), list(leaves(SETS[name](tapec.constant(V))))
    for want, got in zip(expected, found, strict=True):
        assert_same(got, want)


def test_answers_are_plain():
    x = tapec.constant(A)
    assert np.shape(x) == (2, 3, 4) and np.ndim(x) == 3 and np.size(x) == 24 and np.size(x, 1) == 3
    assert np.result_type(x, np.float32) == np.float64 and np.can_cast(x.dtype, np.complex128)
    assert np.iscomplexobj(x) is False and np.isrealobj(x) is True
    assert np.allclose(x, A) and np.array_equal(x, A) and not np.array_equal(x, A[0]) and np.array_equiv(x, A)
    assert np.isclose(x, A).numpy().all()
    assert np.array2string(x) == np.array2string(A)
    assert np.can_cast(x, np.float64) and not np.can_cast(x, np.float32)
    assert np.array_str(x) == str(A) and np.array_repr(x) == repr(x)
    assert np.shares_memory(x, x[1:]) and np.may_share_memory(x.T, x) and not np.shares_memory(x, x + 0)
    assert np.isfortran(x.T) and not np.isfortran(x)
    assert np.min_scalar_type(x) == np.float64 and np.common_type(x, np.float32(1)) is np.float64


def test_values_are_saved(tmp_path):
    x = tapec.constant(A)
    np.save(tmp_path / "one.npy", x)
    np.savez(tmp_path / "plain.npz", x, named=[x[0], x[1]])
    np.savez_compressed(tmp_path / "small.npz", x)
    np.savetxt(tmp_path / "text.txt", x[0])
    np.testing.assert_array_equal(np.load(tmp_path / "one.npy"), A)
    for part in ("arr_0", "named"):
        np.testing.assert_array_equal(np.load(tmp_path / "plain.npz")[part], A)
    np.testing.assert_array_equal(np.load(tmp_path / "small.npz")["arr_0"], A)
    np.testing.assert_array_equal(np.loadtxt(tmp_path / "text.txt"), A[0])


FRACTIONS = {
    "float": 0.3,
    "int": 1,
    "list": [0.25, 0.5],
    "float32": np.float32(0.25),
    "float64": np.float64(0.25),
    "float32 array": np.array([0.25, 0.5], np.float32),
    "float64 array": np.array([0.25, 0.5]),
}


@pytest.mark.parametrize("name", FRACTIONS)
@pytest.mark.parametrize("f", [np.quantile, np.percentile, np.nanquantile, np.nanpercentile], ids=lambda f: f.__name__)
def test_fractions_have_the_precision_that_numpy_gives_them(f, name):
    x, q = np.linspace(0.0, 1.0, 8).astype(np.float32), FRACTIONS[name]
    expected = f(x, q)
    known = {expected.dtype}
    if name == "float64":  # NumPy 2.0 is not of one mind: for np.quantile it is a Python number, for np.percentile not
        known |= {np.quantile(x, q).dtype, np.percentile(x, q).dtype}
    t = tapec.constant(x)
    with tapec.GradientTape() as tape:
        tape.watch(t)
        y = f(t, q)
    assert tape.gradient(y, t).dtype == np.float32
    with tapec.settings(check="first" if len(known) == 1 else "never"):  # else the check refuses one of the two
        captured = tapec.compile(lambda x: f(x, q))(x)
        given = tapec.compile(f)(x, q)
    for found in (y.numpy(), captured, given):
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-7)
        assert np.asarray(found).dtype in known


@pytest.mark.parametrize("f", [np.arctan2, np.copysign, np.hypot, np.power, np.logaddexp, np.fmod])
@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
def test_truth_values_beside_floats(f, dtype):
    mask, x = np.array([True, False, True]), np.array([0.5, 1.5, 2.5], dtype)
    with np.errstate(all="ignore"):
        found = tapec.grad(lambda x: np.sum(f(mask, x)))(x)
        np.testing.assert_allclose(found, tapec.grad(lambda x: np.sum(f(mask.astype(dtype), x)))(x))
    assert found.dtype == dtype


@pytest.mark.parametrize("f", [np.maximum, np.minimum, np.fmax, np.fmin])
def test_extremes_of_a_real_and_a_complex_number(f):
    for x in (0.5, -0.5):
        assert tapec.compile(lambda x: f(x, 1j))(x) == f(x, 1j)
        assert tapec.grad(lambda x: np.real(f(x, 1j)))(x) == (f(x, 1j) == x)


@pytest.mark.parametrize("returned", [False, True])
def test_weights_are_summed_with_the_digits_of_the_average(returned):
    """Of float32 weights beside float64 values, as NumPy does it; and so of their slopes."""
    w = np.array([0.3, 0.7, 1.1], np.float32)
    for x in (np.array([0.2, 0.9, 0.5]), np.array([2, 9, 5])):
        f = tapec.compile(lambda x, w: np.average(x, weights=w, returned=returned))
        np.testing.assert_allclose(f(x, w), np.average(x, weights=w, returned=returned), rtol=1e-15)
    slope = tapec.grad(lambda x: np.average(x, weights=w))(np.array([0.2, 0.9, 0.5]))
    np.testing.assert_allclose(slope, w.astype(float) / np.sum(w, dtype=float), rtol=1e-15)


def test_slopes_of_polynomials_of_float32():
    c, x = np.linspace(0.1, 1.7, 9).astype(np.float32), np.array([0.2, 0.9, 0.5])
    found = tapec.grad(lambda x: np.sum(np.polyval(c, x)))(x)
    np.testing.assert_allclose(found, np.polyval(np.polyder(c.astype(float)), x), rtol=1e-14)
