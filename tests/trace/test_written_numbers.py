"""Numbers that Python computed before it met an array are written as the user wrote them, never as what equals them.

The generated text is run as it stands: on the arrays that it was made for, and on others where it reads their sizes.
"""

import math

import numpy as np
import pytest

import tapec
from tests.properties import calls, constants, has

rng = np.random.default_rng(0)
LONG = 9  # characters of a number that nobody writes


def gradient(function, arguments):
    return tapec.value_and_grad(function, argnums=tuple(range(len(arguments))))


def text_of(function, *arguments):
    return str(gradient(function, arguments).source(*arguments))


def check(function, made_for, given=None):
    """Compare what the text that was made for some arguments gives with the gradient; give the text."""
    text = text_of(function, *made_for)
    space = {"np": np, "math": math}
    exec(text, space)
    found = next(f for name, f in space.items() if name.endswith("_value_and_grad"))
    for arguments in (made_for, given or made_for):
        value, *slopes = found(*arguments)
        wanted_value, wanted = gradient(function, arguments)(*arguments)
        np.testing.assert_allclose(value, wanted_value, rtol=1e-13)
        for slope, expected in zip(slopes, wanted, strict=True):
            np.testing.assert_allclose(slope, expected, rtol=1e-13)
    return text


def long_numbers(text):
    return [c for c in constants(text) if isinstance(c, float) and len(repr(c)) >= LONG]


def log_likelihood(w, x, y):
    r = x @ w - y
    n = len(y)
    return 0.5 * (r @ r) + 0.5 * n * math.log(2.0 * math.pi)


def of_a_shape(w, x, y):
    n, d = x.shape
    r = x @ w - y
    return np.sum(r * r) / (2 * n) + np.sum(w) * math.log(d) + np.sum(y) * 3.0 / x.size


def added_in_place(w, x, y):
    r = x @ w - y
    s = np.sum(r * r)
    s += x.shape[-1] * np.log(2 * np.pi)
    return s


def regression(rows, columns):
    return rng.normal(size=columns), rng.normal(size=(rows, columns)), rng.normal(size=rows)


@pytest.mark.parametrize("rows", [100, 64, 2])
@pytest.mark.parametrize("function", [log_likelihood, of_a_shape, added_in_place])
def test_sizes_in_expressions_are_read_from_arguments(function, rows):
    text = check(function, regression(rows, 17), regression(41, 29))
    assert not long_numbers(text)
    assert calls(text, "math.log")


def test_a_number_that_equals_a_size_stays():
    def f(x, y):
        return np.sum(x * x) / 300 + np.sum(y**3) / len(y) + np.sum(np.exp(x)) * 300

    def arguments(n, m):
        return rng.normal(size=n), rng.normal(size=m)

    text = check(f, arguments(300, 300), arguments(70, 90))
    assert has(text, "_ / len(y)")


def test_a_small_number_that_equals_a_size_stays():
    def f(x, y):
        return np.sum(x * x) / 4 + np.sum(y**3) / len(y) + np.sum(x**3) / x.shape[1]

    def arguments(n, m):
        return rng.normal(size=(64, n)), rng.normal(size=m)

    check(f, arguments(4, 4), arguments(7, 9))


def test_sizes_of_values_of_other_names_are_numbers():
    def mean(y):
        return np.sum(y * y) / len(y)

    def assigned(x, y):
        y = y[:300]
        return np.sum(x * x) / len(y)

    def called(x, y):
        return mean(x[:, 0]) + np.sum(y)

    x, y = rng.normal(size=(300, 4)), rng.normal(size=300)
    for function in (assigned, called):
        text = check(function, (x, y))
        assert not has(text, "_ / len(y)")


def test_sizes_that_are_assigned_twice_are_numbers():
    def f(x):
        n = len(x)
        if x.ndim == 2:
            n = 120
        return np.sum(x * x) / n

    assert has(check(f, [rng.normal(size=(120, 3))]), "_ / 120")


def test_sizes_of_inner_functions_are_not_those_of_the_outer_one():
    def f(x):
        n = 120

        def g():
            n = len(x)
            return n

        g()
        return np.sum(x * x) / n

    assert has(check(f, [rng.normal(size=(120, 3))]), "_ / 120")


def test_long_numbers_are_written_as_expressions():
    def f(x):
        return np.sum(np.tanh(x)) * (1 / 3) + np.sqrt(2 / np.pi) * np.sum(x**3) + np.sum(x * x) * 2.0**-10

    text = check(f, [rng.normal(size=100)])
    assert not long_numbers(text)
    assert has(text, "1 / 3")
    assert calls(text, "math.sqrt")


def test_short_numbers_stay_numbers():
    def f(x):
        return np.sum(x * x) * (1 / 4) + np.sum(np.exp(x)) * (2 * 0.005)

    text = check(f, [rng.normal(size=100)])
    assert {0.25, 0.5, 0.01}.issuperset([c for c in constants(text) if isinstance(c, float)])


def test_what_cannot_be_read_stays_a_number():
    space = {"np": np}
    exec("def f(x):\n    return np.sum(x * x) * (1 / 3)", space)
    assert 1 / 3 in constants(check(space["f"], [rng.normal(size=100)]))

    def g(x):
        scale = sum([1.0 / k for k in range(1, 8)])
        return np.sum(np.exp(x)) * scale

    assert sum([1.0 / k for k in range(1, 8)]) in constants(check(g, [rng.normal(size=100)]))


def test_numbers_of_single_precision_keep_their_dtype():
    x = rng.normal(size=100).astype(np.float32)

    def f(x):
        return np.sum(np.tanh(x)) * math.sqrt(1 / 3)

    value, (slope,) = gradient(f, [x])(x)
    assert value.dtype == slope.dtype == np.float32


def test_an_exported_module_has_the_functions_of_the_expressions(tmp_path):
    arguments = regression(100, 17)
    path = tmp_path / "exported.py"
    gradient(log_likelihood, arguments).export(path, *arguments)
    space = {}
    exec(path.read_text(), space)
    value, _ = space["log_likelihood_value_and_grad"](*arguments)
    assert value == gradient(log_likelihood, arguments)(*arguments)[0]


def test_sums_count_what_is_added_up():
    """A sum adds a number, a scalar and a row as often as the sizes say."""

    def scalar(s, y):
        return np.sum(0.5 * (y / s) ** 2 + np.log(s) + 0.5 * np.log(2 * np.pi)) / 7.0

    def row(s, y):
        return np.sum(0.5 * (y - s) ** 2 + np.log(s) - 0.5 * np.log(2 * np.pi))

    def value(function, s, y, *given):
        space = {"np": np, "math": math}
        exec(str(tapec.compile(function).source(s, y)), space)
        return space[function.__name__](*given)[0]

    for function, s, others in ((scalar, 2.0, 3.0), (row, np.full(7, 2.0), np.full(5, 3.0))):
        y, given = np.ones((200, 7)), np.ones((90, 5))
        assert not long_numbers(str(tapec.compile(function).source(s, y)))
        np.testing.assert_allclose(value(function, s, y, s, y), function(s, y), rtol=1e-13)
        np.testing.assert_allclose(value(function, s, y, others, given), function(others, given), rtol=1e-13)
