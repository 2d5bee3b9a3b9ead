"""Code that does not know tensors gets plain numbers and arrays as what they are, where no gradient is lost."""

import importlib
import sys

import numpy as np
import pytest

import tapec
from tapec.errors import UnsupportedError

SIZES = [0, 1, 3]
PACKAGE = """
import numpy as np
from numpy.lib import array_utils
RATE, WEIGHTS = 2.0, np.ones(3)

def total(x):
    return np.asarray(x).sum() if type(np.asarray(x)) is np.ndarray and np.asarray(x).dtype == float else None

def filled(rate, n):
    out = np.zeros((2, n))
    out[0, :] = rate
    out[1, :] += np.asarray(rate)
    return out

def doubled(x):
    x = np.asarray(x)
    x *= 2.0
    return x

class Total:  # whose constructor no trace follows
    def __init__(self, x):
        self.value = total(x)

class Doubled:
    def __init__(self, x):
        doubled(x)

class Scaler:
    def __init__(self, mean):
        self.mean = mean
    def transform(self, x):
        x = np.array(x, copy=True)
        x -= self.mean.astype(x.dtype)
        return x
"""


@pytest.fixture
def package(tmp_path, monkeypatch):
    folder = tmp_path / "site-packages"
    folder.mkdir()
    (folder / "somepackage.py").write_text(PACKAGE)
    monkeypatch.syspath_prepend(folder)
    yield importlib.import_module("somepackage")
    del sys.modules["somepackage"]


def states(f, x, change, expected):
    """Call a gradient at several states of what it captures, each twice, beside what is expected."""
    g = tapec.grad(f)
    for state in (1.0, 2.0, 2.0, 5.0, 3.0, 1.0):
        change(state)
        for _ in range(2):
            np.testing.assert_allclose(g(x), expected(), rtol=1e-12)
    return g


class Box:
    rate = 1.0


# -- matrices of scipy.sparse ----------------------------------------------------------------------------------------
OPERATIONS = {
    "number * matrix": lambda a, m: a * m,
    "matrix * number": lambda a, m: m * a,
    "matrix / number": lambda a, m: m / a,
    "of a computed one": lambda a, m: (1 / a + a) * m,
    "minus": lambda a, m: -a * m + m,
}


@pytest.mark.parametrize("kind", ["csr_array", "csc_matrix", "coo_array"])
@pytest.mark.parametrize("operation", OPERATIONS.values(), ids=OPERATIONS)
@pytest.mark.parametrize("n", SIZES[1:])
def test_numbers_times_sparse_matrices(operation, kind, n):
    from scipy import sparse

    dense = np.arange(1.0, n * n + 1).reshape(n, n)
    matrix, box = getattr(sparse, kind)(dense), Box()
    states(
        lambda x: np.sum(operation(box.rate, matrix) @ x),
        np.ones(n),
        lambda state: setattr(box, "rate", state),
        lambda: np.sum(operation(box.rate, dense), axis=0),
    )


def test_an_argument_times_a_sparse_matrix_is_refused():
    from scipy import sparse

    matrix = sparse.csr_array(np.eye(2))
    with pytest.raises(UnsupportedError, match=r"multiply of a tensor and a sparse matrix.*a \* \(matrix @ x\)"):
        tapec.grad(lambda a: np.sum((a * matrix) @ np.ones(2)))(1.0)
    box = Box()

    def outer(a):
        box.rate = a
        return np.sum((box.rate * matrix) @ np.ones(2))

    with pytest.raises(UnsupportedError, match="multiply of a tensor and a sparse matrix"):
        tapec.grad(outer)(1.0)
    variable = tapec.Variable(2.0)
    with pytest.raises(UnsupportedError, match="multiply of a tensor and a sparse matrix"):
        tapec.compile(lambda x: np.sum((variable * matrix) @ x))(np.ones(2))


# -- constructors, which no trace follows ----------------------------------------------------------------------------
class Grid:
    def __init__(self, x, rate, n):
        self.sigma, self.x = np.zeros((3, n)), x
        for k in range(2):
            self.sigma[k, :] = (0.5 / rate) * k
        self.sigma[2] += rate
        np.add(self.sigma[1], rate, out=self.sigma[1])


@pytest.mark.parametrize("n", SIZES)
def test_constructors_that_fill_arrays(n):
    box = Box()
    states(
        lambda c: np.sum(Grid(c, box.rate, n).sigma) * c,
        1.0,
        lambda state: setattr(box, "rate", state),
        lambda: n * (0.5 / box.rate + 2 * box.rate),
    )


@pytest.mark.parametrize("n", SIZES)
def test_constructors_that_store_an_argument(n):
    value_and_grad = tapec.value_and_grad(lambda c: np.sum(Grid(c, c, n).sigma))
    for c in (1.0, 2.0, 1.0):
        np.testing.assert_allclose(value_and_grad(c), (n * (0.5 / c + 2 * c), n * (2 - 0.5 / c**2)))


@pytest.mark.parametrize("n", SIZES)
def test_constructors_that_store_arrays(n):
    rates = np.ones(n)

    class Rows:
        def __init__(self):
            self.rows = np.zeros((2, n))
            self.rows[:, :] = rates
            self.rows[0, :] = np.sqrt(rates) * 2.0

    states(
        lambda c: np.sum(Rows().rows) * c,
        1.0,
        lambda state: rates.fill(state),
        lambda: np.sum(rates) + np.sum(2.0 * np.sqrt(rates)),
    )


# -- installed packages ----------------------------------------------------------------------------------------------
@pytest.mark.parametrize("n", SIZES)
def test_an_installed_package_gets_arrays(package, n):
    rates = np.ones(n)
    states(lambda c: package.total(rates * 2.0) * c, 1.0, lambda state: rates.fill(state), lambda: np.sum(rates) * 2.0)


@pytest.mark.parametrize("n", SIZES)
def test_an_installed_package_fills_arrays(package, n):
    box = Box()
    states(
        lambda c: np.sum(package.filled(box.rate, n)) * c,
        1.0,
        lambda state: setattr(box, "rate", state),
        lambda: 2 * n * box.rate,
    )


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("data", ["captured", "argument"])
def test_scalers_of_an_installed_package(package, n, data):
    scaler, fixed = package.Scaler(np.zeros(n)), np.arange(float(n))
    if data == "captured":
        f, expected = lambda x: np.sum(scaler.transform(fixed) * x), lambda: fixed - scaler.mean
    else:
        f, expected = lambda x: np.sum(scaler.transform(x) ** 2), lambda: 2 * (fixed - scaler.mean)
    states(f, fixed, lambda state: scaler.mean.fill(state), expected)


def test_a_gradient_through_an_installed_package_is_not_lost(package):
    assert tapec.grad(lambda x: package.filled(x, 3).sum())(2.0) == 6.0
    assert tapec.grad(lambda x: np.sum(package.total(x * package.WEIGHTS) * x))(2.0) == 12.0
    assert tapec.grad(lambda x: np.sum(package.Total(x * package.WEIGHTS).value * x))(2.0) == 12.0


def test_arrays_that_an_installed_package_changes_in_place(package):
    rates, box = np.ones(3), Box()

    def f(c):
        both = rates * 2.0
        package.doubled(both)
        return np.sum(both) * c, both

    def past_us(c):
        both = rates * 2.0
        package.Doubled(both)
        return np.sum(both) * c, both

    for function in (lambda c: past_us(c)[0], lambda c: past_us(c)[1]):
        with pytest.raises(UnsupportedError, match="changed in place by code that cannot be followed"):
            tapec.compile(function)(1.0)
    states(lambda c: f(c)[0], 1.0, rates.fill, lambda: np.sum(4.0 * rates))
    np.testing.assert_array_equal(tapec.compile(f)(1.0)[1], 4.0 * rates)
    states(
        lambda c: np.sum(package.doubled(rates + box.rate)) * c,
        1.0,
        lambda state: setattr(box, "rate", state),
        lambda: np.sum(2.0 * (rates + box.rate)),
    )


def test_large_arrays_are_recorded_at_each_call(package):
    rates = np.ones(100_000)
    g = states(lambda c: package.Total(rates).value * c, 1.0, lambda state: rates.fill(state), lambda: np.sum(rates))
    assert "too large to be compared" in str(g.explain(1.0))


def test_values_that_change_are_recorded_at_each_call(package):
    rates = np.ones(3)
    g = states(lambda c: package.Total(rates).value * c, 1.0, lambda state: rates.fill(state), lambda: np.sum(rates))
    assert "another one each time" in str(g.explain(1.0))


def test_estimators_of_scikit_learn():
    from sklearn.linear_model import Ridge
    from sklearn.preprocessing import StandardScaler

    data = np.random.default_rng(0).normal(size=(6, 3))
    scaler, ridge = StandardScaler().fit(data), Ridge().fit(data, data @ np.ones(3))
    x = np.arange(6.0)
    np.testing.assert_allclose(
        tapec.grad(lambda x: np.sum(scaler.transform(data).T @ x))(x), scaler.transform(data).sum(1)
    )
    np.testing.assert_allclose(tapec.grad(lambda x: np.sum(ridge.predict(data) @ x))(x), ridge.predict(data))
    gradient = tapec.grad(lambda d: np.sum(scaler.transform(d) ** 2))
    for mean in (scaler.mean_, np.ones(3), np.zeros(3)):
        scaler.mean_ = mean
        np.testing.assert_allclose(gradient(data), 2 * (data - mean) / scaler.scale_**2)
    np.testing.assert_allclose(tapec.grad(lambda d: np.sum(ridge.predict(d)))(data), np.tile(ridge.coef_, (6, 1)))


ESTIMATORS = {
    "MinMaxScaler": "preprocessing",
    "LinearRegression": "linear_model",
    "PCA": "decomposition",
    "KernelDensity": "neighbors",
    "RandomForestRegressor": "ensemble",
    "SVR": "svm",
    "DecisionTreeRegressor": "tree",
    "GaussianProcessRegressor": "gaussian_process",
}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(("name", "module"), ESTIMATORS.items(), ids=ESTIMATORS)
def test_estimators_that_compute_with_data(name, module, recwarn):
    fitted = getattr(importlib.import_module(f"sklearn.{module}"), name)()
    data = np.random.default_rng(0).normal(size=(8, 3))
    fitted.fit(data, data @ np.arange(3.0))
    found = next(getattr(fitted, m) for m in ("predict", "transform", "score_samples") if hasattr(fitted, m))
    gradient = tapec.grad(lambda s: np.sum(found(data) * s))
    for factor in (1.0, 1.0, 0.5, 0.25):
        data[:] = data * factor
        np.testing.assert_allclose(gradient(2.0), np.sum(found(data)), rtol=1e-9)
    assert not [w for w in recwarn if issubclass(w.category, tapec.TapecWarning)]
