"""The head of generated code says for which shapes it holds: nothing where it holds for all, never too much."""

import inspect
import math

import numpy as np
import pytest

import tapec

rng = np.random.default_rng(0)


def line_of(function, *arguments):
    """Return the line of the text that names shapes, or nothing."""
    lines = str(tapec.value_and_grad(function).source(*arguments)).splitlines()
    return next((line for line in lines if line.startswith("# for ")), "")


def exported(function, tmp_path, *arguments):
    """Return the function of an exported gradient, and the line that names shapes there."""
    path = tmp_path / "exported.py"
    gradient = tapec.grad(function)
    gradient.export(path, *arguments)
    text = path.read_text()
    space = {}
    exec(text, space)
    line = next((line for line in text.splitlines() if line.startswith("# for ")), "")
    return space[f"{function.__name__}_grad"], line


def net(w, b, x, y):
    h = np.tanh(x @ w + b)
    return np.mean((h - y) ** 2) + 0.01 * np.sum(w * w)


def of_net(n, d, k):
    return rng.normal(size=(d, k)), rng.normal(size=k), rng.normal(size=(n, d)), rng.normal(size=(n, k))


def differences(x):
    return np.sum((x[1:] - x[:-1]) ** 2 * np.exp(x[0]))


GENERAL = {
    "products and means": (net, of_net(200, 7, 30)),
    "powers of two": (net, of_net(64, 16, 32)),
    "neighbours": (differences, [rng.normal(size=300)]),
    "axes of length one inside": (lambda x: np.sum(np.max(x, axis=1, keepdims=True) * x), [rng.normal(size=(200, 30))]),
    "a number that equals a size": (lambda x: np.sum(np.sin(x)) / 200, [rng.normal(size=200)]),
    "no axes": (np.sin, [2.0]),
}


@pytest.mark.parametrize("name", GENERAL)
def test_code_for_all_sizes_has_no_line(name):
    function, arguments = GENERAL[name]
    assert line_of(function, *arguments) == ""


@pytest.mark.parametrize("name", ["products and means", "powers of two", "neighbours"])
def test_code_without_a_line_is_right_for_other_sizes(name):
    function, arguments = GENERAL[name]
    space = {"np": np, "math": math}
    exec(str(tapec.value_and_grad(function).source(*arguments)), space)
    for others in (of_net(5, 3, 9), of_net(301, 2, 2)):
        given = others if function is net else [rng.normal(size=len(others[3]) + 1)]
        value, slope = space[f"{function.__name__}_value_and_grad"](*given)
        wanted_value, wanted = tapec.value_and_grad(function)(*given)
        np.testing.assert_allclose(value, wanted_value)
        np.testing.assert_allclose(slope, wanted)


def rows(x):
    s = 0.0
    for row in x:
        s = s + np.sum(row**3)
    return s


def counted(x):
    n = 0.0
    for _ in x:
        n += 1.0
    return np.sum(x * x) / n


def until_the_end(x):
    s, k = 0.0, 0
    while True:
        try:
            s = s + x[k] ** 2
        except IndexError:
            return s
        k += 1


def asked(x):
    return np.sum(x * x) if len(x) < 1000 else np.sum(x)


def first_thousand(x):
    return np.sum(x[:1000] ** 2)


def a_window(x):
    return np.sum(x * np.linspace(0.0, 1.0, 300))


SPECIAL = {
    "a loop over rows": (rows, (5, 300)),
    "rows that are counted": (counted, (300,)),
    "rows up to the last": (until_the_end, (5,)),
    "a question for the length": (asked, (300,)),
    "a bound beyond the end": (first_thousand, (300,)),
    "a constant array": (a_window, (300,)),
    "a function that computes with the size": (lambda x: np.median(x), (301,)),
    "floats": (lambda x: np.sum(np.sin(x)), (3,)),
    "an axis of length one": (lambda x: np.sum(np.sin(x)), (300, 1)),
    "shapes that are written out": (lambda x: np.sum(np.sin(x.reshape(100, 3))[0]), (300,)),
}


@pytest.mark.parametrize("name", SPECIAL)
def test_other_code_tells_its_shapes(name):
    function, shape = SPECIAL[name]
    assert line_of(function, rng.normal(size=shape)) == f"# for x of shape {shape}"


def test_the_line_is_that_of_the_target():
    gradient = tapec.value_and_grad(lambda x: np.sum(np.sin(x)))
    x = rng.normal(size=3)
    gradient(x)
    assert "# for x of shape (3,)" in gradient.source(x)
    assert "# for" not in gradient.source(x, target="numpy")


def test_a_long_line_is_cut():
    def f(*xs):
        return sum([np.sum(x[:5]) for x in xs])

    line = line_of(f, *[rng.normal(size=300)] * 20)
    assert len(line) <= 120 and line.endswith(", ...")


def test_an_exported_module_says_which_axes_may_have_any_length(tmp_path):
    def hidden(w, x):
        return np.sum(np.tanh(x @ w))

    function, line = exported(hidden, tmp_path, rng.normal(size=(7, 1)), rng.normal(size=(30, 7)))
    assert line == "# for w of shape (any, 1)"
    function(rng.normal(size=(5, 1)), rng.normal(size=(40, 5)))
    assert exported(net, tmp_path, *of_net(200, 7, 30))[1] == ""


@pytest.mark.parametrize("bounds", [slice(1000), slice(-1000, None), slice(0, 400, 3), slice(299, None)])
def test_an_exported_module_takes_no_array_that_a_bound_would_cut(bounds, tmp_path):
    """Of 300 elements all are before the thousandth, of 2000 they are not."""

    def part(x):
        return np.sum(x[bounds] ** 2)

    function, line = exported(part, tmp_path, rng.normal(size=300))
    for n in (300, 2000):
        x = rng.normal(size=n)
        try:
            found = function(x)
        except TypeError:
            assert n != 300 and line == "# for x of shape (300,)"
        else:
            np.testing.assert_allclose(found, tapec.grad(part)(x))


def test_the_docstring_of_an_export_tells_types_and_shapes(tmp_path):
    def scaled(x, y, c):
        return np.sum(np.tanh(x @ y) * c) + np.sum(y[:1000])

    path = tmp_path / "exported.py"
    x, y = rng.normal(size=(30, 7)), rng.normal(size=7)
    tapec.grad(scaled).export(path, x, y, 2.0)
    space = {}
    exec(path.read_text(), space)
    wanted = ["Parameters", "----------", "x : (any, 7) float64 array", "y : (7,) float64 array", "c : float"]
    assert inspect.getdoc(space["scaled_grad"]).splitlines()[2:] == wanted
