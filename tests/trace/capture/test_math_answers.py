"""Functions of math and cmath take tensors in traced functions: NumPy's values, Python's classes and errors."""

import cmath
import functools
import math
import math as m
import warnings
from math import exp
from math import log as logarithm

import numpy as np
import pytest

import tapec
from tapec.errors import DetachError, UnsupportedError

REAL = {
    "sin": lambda x: math.sin(x),
    "by another name": lambda x: m.cos(x) * exp(x) + logarithm(x),
    "power": lambda x: math.pow(x, 3) + math.pow(2, x),
    "logarithms": lambda x: math.log(x, 3) + math.log(2.0, x) + math.log2(x) + math.log10(x) + math.log1p(x),
    "exponentials": lambda x: math.expm1(x) + math.exp2(x) + math.cbrt(x) + math.sqrt(x),
    "angles": lambda x: math.atan2(x, 2) + math.atan2(2, x) + math.degrees(x) * math.radians(x),
    "arcs": lambda x: math.asin(x) * math.acos(x) + math.atan(x),
    "hyperbolic": lambda x: math.sinh(x) * math.cosh(x) - math.tanh(x) * math.asinh(x) + math.atanh(x),
    "acosh": lambda x: math.acosh(x + 1.5) * math.tan(x),
    "hypot": lambda x: math.hypot(x, 2) + math.hypot(x, 1, x) + math.hypot(x),
    "dist": lambda x: math.dist([x, 2.0], (1.0, x)),
    "sums": lambda x: math.fsum([x, 1, x * x]) + math.prod([x, 2, x]),
    "signs": lambda x: math.fabs(-x) + math.copysign(x, -1.0) + math.fmod(x * 7, 2.0),
    "parts": lambda x: math.modf(x * 7)[0] * math.modf(x * 7)[1] + math.ldexp(x, 3),
    "gamma": lambda x: math.gamma(x) + math.lgamma(x) + math.erf(x) * math.erfc(x),
    "integers": lambda x: math.floor(7 * x) * x + math.ceil(x) + math.trunc(7 * x) * x + math.gcd(6, math.floor(9 * x)),
    "questions": lambda x: x if math.isfinite(x) and not math.isnan(x) and not math.isinf(x) else 2 * x,
    "close": lambda x: x * 3 if math.isclose(x, x + 1e-12) and not math.isclose(x, 2 * x, rel_tol=0.1) else x,
    "cmath": lambda x: abs(cmath.exp(1j * x) * cmath.sqrt(x - 3)) + cmath.phase(1 + 1j * x),
    "polar": lambda x: cmath.polar(x + 1j)[0] + cmath.rect(x, 2.0).real + cmath.polar(1 + x * 1j)[1],
    "default": lambda x, f=math.tanh: f(x),
    "map": lambda x: sum(map(math.sin, [x, 2 * x])),
    "partial": lambda x: functools.partial(math.pow, x)(2),
    "of ints": lambda x: math.sqrt(int(9 * x)) * x,
    "constants": lambda x: math.sin(math.pi * x) * math.e + math.tau,
}


def imports_inside(x):
    import math as inner
    from math import tanh

    return inner.cosh(x) * tanh(x)


REAL["imports inside"] = imports_inside


@pytest.mark.parametrize("x", [0.3, 0.7, np.float64(0.4), np.float32(0.4)], ids=["0.3", "0.7", "float64", "float32"])
@pytest.mark.parametrize("f", REAL.values(), ids=REAL)
def test_values_and_gradients(f, x):
    x = type(x)(x)
    try:
        f(x)
    except TypeError:  # NumPy's float32 has no __trunc__
        with pytest.raises((TypeError, tapec.TapecError)):
            tapec.value_and_grad(lambda v: f(v))(x)
        return
    value, gradient = tapec.value_and_grad(lambda v: f(v))(x)
    np.testing.assert_allclose(value, f(x), rtol=1e-12 if type(x) is not np.float32 else 1e-5)
    assert np.result_type(value) == np.result_type(f(x))
    if type(x) is not np.float32:
        np.testing.assert_allclose(gradient, (f(x + 1e-6) - f(x - 1e-6)) / 2e-6, rtol=1e-6, atol=1e-8)


def caught(x):
    try:
        return math.log(x)
    except ValueError:
        return 2.0 * x


ERRORS = {
    "log": (math.log, [-1.0, 0.0, math.inf, math.nan]),
    "exp": (math.exp, [1000.0, -1000.0, math.inf, math.nan]),
    "sqrt": (math.sqrt, [-1.0, 0.0, math.nan]),
    "acos": (math.acos, [2.0, 1.0, math.nan]),
    "cosh": (math.cosh, [1000.0, -1000.0]),
    "pow": (lambda x: math.pow(x, 0.5), [-1.0, 0.0]),
    "fmod": (lambda x: math.fmod(1.0, x), [0.0, math.inf]),
    "sin": (math.sin, [math.inf, math.nan]),
    "gamma": (math.gamma, [-1.0, 0.0, 200.0]),
    "lgamma": (math.lgamma, [-1.0, 0.0, 1e306]),
    "atanh": (math.atanh, [1.0, 2.0]),
    "ldexp": (lambda x: math.ldexp(x, 1000), [1e200]),
    "cmath": (lambda x: abs(cmath.log(x) * cmath.exp(x)), [0.0, 1000.0]),
    "hypot": (lambda x: math.hypot(x, 1.0), [math.inf, math.nan]),
    "question": (lambda x: 1.0 if math.isnan(x) else x, [math.nan]),
    "caught": (caught, [-1.0, -2.0]),
    "compared": (lambda x: 1.0 if math.log(x) > 0 else x, [-1.0, math.nan]),
}


def outcome(f, x):
    try:
        return f(x)
    except (ArithmeticError, ValueError) as error:
        return type(error), str(error).split(",")[0]


@pytest.mark.parametrize(("f", "hard"), ERRORS.values(), ids=ERRORS)
def test_errors_are_those_of_python(f, hard):
    compiled = tapec.compile(lambda x: f(x))
    gradient = tapec.value_and_grad(lambda x: f(x))
    for x in [0.5, *hard, 0.25, *hard, 0.5]:
        want = outcome(f, x)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            found = outcome(compiled, x)
        assert found == want if isinstance(want, tuple) else np.allclose(found, want, rtol=1e-12, equal_nan=True)
        with np.errstate(all="ignore"):  # of derivatives
            assert (outcome(gradient, x) == want) if isinstance(want, tuple) else True


@pytest.mark.parametrize("n", [0, 1, 5])
def test_elements_of_arrays(n):
    x = np.linspace(0.1, 0.9, n)
    f = lambda x: sum(math.exp(v) * math.sin(k * v) for k, v in enumerate(x)) + 0.0 * np.sum(x)
    np.testing.assert_allclose(
        tapec.grad(f)(x), np.exp(x) * (np.sin(np.arange(n) * x) + np.arange(n) * np.cos(np.arange(n) * x))
    )


@pytest.mark.parametrize("n", [0, 2])
def test_an_array_is_no_number(n):
    with pytest.raises(TypeError, match="only (0-dimensional|length-1) arrays can be converted"):
        tapec.compile(lambda x: math.sin(x))(np.ones(n))


def test_orders_and_modes():
    f = lambda x: math.sin(x) * math.exp(-x)
    np.testing.assert_allclose(tapec.grad(tapec.grad(f))(0.3), -2 * math.cos(0.3) * math.exp(-0.3))
    np.testing.assert_allclose(tapec.jvp(f, (0.3,), (1.0,))[1], tapec.grad(f)(0.3))
    np.testing.assert_allclose(tapec.hessian(f)(0.3), tapec.grad(tapec.grad(f))(0.3))
    tapec.check_grads(f, (0.3,))


def test_captured_numbers_are_inputs(monkeypatch):
    f = tapec.grad(lambda x: x * math.sqrt(RATE))
    for rate in (1.0, 4.0, 9.0, 2.25, 16.0):
        monkeypatch.setitem(globals(), "RATE", rate)
        assert f(1.0) == math.sqrt(rate)
    assert f.cache_info().compilations == 1


RATE = 1.0


def test_functions_stay_what_they_are():
    table = {math.sin: 2.0, "f": math.cos}
    f = tapec.compile(lambda x: x * table[math.sin] + (math.sin is math.sin) + (math.sin == m.sin) + table["f"](x))
    assert f(0.5) == 0.5 * 2.0 + 2 + math.cos(0.5)
    assert tapec.compile(lambda x: (x, math.sin, math))(1.0)[1:] == (math.sin, math)
    assert tapec.compile(lambda x: x * len(math.sin.__name__))(1.0) == 3.0


def test_vmap_names_the_function_of_numpy():
    with pytest.raises(UnsupportedError, match=r"test_math_answers.py:\d+: vmap: math.log takes one number.*np.log"):
        tapec.vmap(lambda x: math.log(x))(np.ones(3))


@pytest.mark.parametrize(
    ("f", "fix"),
    [
        (lambda x: math.sin(x), r"math.sin\(\) would.*np.sin works"),
        (lambda x: m.erf(x), "scipy.special.erf works"),
        (lambda x: exp(x), "np.exp works"),
        (lambda x: cmath.sqrt(x), "np.sqrt works"),
        (lambda x: math.remainder(x, 2.0), r"x - y \* np.round\(x / y\)"),
    ],
)
def test_on_a_tape_the_error_names_the_function_of_numpy(f, fix):
    with tapec.GradientTape() as tape:
        x = tape.watch(tapec.constant(0.5)) or tapec.Variable(0.5)
        with pytest.raises(DetachError, match=r"test_math_answers.py:\d+: .*" + fix):
            f(x * 1.0)
