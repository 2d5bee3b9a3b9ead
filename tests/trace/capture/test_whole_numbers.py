"""A captured whole number that code only computes with is an input at once; where it decides something it is a fact."""

import itertools
import math
import types
import warnings

import numpy as np
import pytest

import tapec
from tapec.trace.capture.whole_numbers import only_computes

X = np.linspace(0.1, 1.2, 12)
n, N, beta, dt = 2, 100, 0.9, 0.1
box = types.SimpleNamespace(n=3, N=4, beta=0.5)
table = {6: 0.5, 8: 0.25, 12: 2.0, 3: 1.0}


# -- what instructions tell -------------------------------------------------------------------------------------------
COMPUTES = {
    "times": lambda x: x * n,
    "of the left": lambda x: n * x,
    "divided": lambda x: np.sum(x) / n,
    "less": lambda x: np.mean(x) - n,
    "exponent of a number": lambda x: beta**n * x,
    "exponent of a constant": lambda x: x * 0.9**n,
    "negative exponent": lambda x: x * 0.9**-n,
    "sum in an exponent": lambda x: beta ** (n - 1) * x,
    "base of a power": lambda x: n**2 * x,
    "product with a constant": lambda x: x / (2 * n),
    "divided by a constant": lambda x: np.sum(x) * (n / 2),
    "in a call": lambda x: np.sum(np.sin(x * beta - n * dt) * x, axis=0),
    "in a comprehension": lambda x: sum([x[k] * n for k in range(3)]),
    "of an item": lambda x: np.sum(x[2:] * n) + x[0] / n,
}
DECIDES = {
    "slice": lambda x: np.sum(x[:n]),
    "index of a sum": lambda x: x[n + 1],
    "exponent of an argument": lambda x: np.sum(x**n),
    "power of two": lambda x: 2**n * x,
    "count": lambda x: sum([x[k] for k in range(n)]),
    "count of a product": lambda x: sum([x[k] for k in range(n * 2)]),
    "branch": lambda x: x * n if n > 1 else x,
    "axis": lambda x: np.sum(x, axis=n - 2) * n,
    "list": lambda x: sum([x[0]] * n),
    "text": lambda x: x[0] * len("%d items" % n),  # noqa: UP031
    "argument of a function": lambda x: np.sum(np.power(beta, n) * x),
    "only in a part": lambda x: x * n + len("ab" * n),
}


@pytest.mark.parametrize("name", [*COMPUTES, *DECIDES])
def test_instructions_tell_who_computes(name):
    f = {**COMPUTES, **DECIDES}[name]
    assert only_computes(f.__code__, "global", "n") is (name in COMPUTES)


def test_names_lead_through_locals_and_attributes():
    def through_a_local(x):
        steps = box.n
        return x * steps

    def local_that_is_an_index(x):
        steps = box.n
        return x[steps] * steps

    def added_up(x):
        x = np.sum(x)
        x += box.n
        return x

    def set_anew(x):
        box.n = box.n + 1
        return x

    found = [
        only_computes(f.__code__, "attribute", "n")
        for f in (through_a_local, local_that_is_an_index, added_up, lambda x: x.n.shape, lambda x: x.beta**x.n)
    ]
    assert found == [True, False, True, False, True]
    assert not only_computes((lambda x: x * N).__code__, "global", "N")  # a constant, by its name


# -- compiled once ----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", COMPUTES)
def test_numbers_that_only_compute_are_compiled_once(name):
    global n
    f = COMPUTES[name]
    value_and_grad = tapec.value_and_grad(lambda x: np.sum(f(x)))
    f_of = lambda x: np.sum(f(x))
    for n in (2, 3, 5, 1, 40, 7):  # noqa: B007  # the functions read it
        value, gradient = value_and_grad(X)
        np.testing.assert_allclose(value, f_of(X), rtol=1e-13)
        steps = 1e-6 * np.eye(12)
        np.testing.assert_allclose(gradient, [(f_of(X + h) - f_of(X - h)) / 2e-6 for h in steps], rtol=1e-6, atol=1e-8)
    n = 2
    assert value_and_grad.cache_info().compilations == 1
    assert "n: int" in value_and_grad.explain(X).captured


def test_names_in_capitals_are_written_into_code():
    mean = tapec.grad(lambda x: np.sum(x) / N)
    mean(X)
    assert "N = 100 (checked)" in mean.explain(X).captured


@pytest.mark.parametrize("make", [lambda k: box, lambda k: types.SimpleNamespace(n=k, beta=0.5)])
def test_attributes_of_one_object_and_of_new_ones(make):
    model = make(1)
    g = tapec.grad(lambda x: np.sum(x * model.n) * model.beta**model.n)
    for k in range(1, 20):
        model = make(k)
        model.n = k
        np.testing.assert_allclose(g(X), np.full(12, k * 0.5**k))
    box.n = 3
    assert g.cache_info().compilations == 1


def test_exponents_of_arrays_are_facts_until_they_have_changed_twice():
    power = 2
    g = tapec.grad(lambda x: np.sum((x * 2.0) ** power))
    h = tapec.grad(lambda x: np.sum(scale**power * x))
    scale = np.full(12, 3.0)
    for power in (2, 3, 4, 5, 6, 2):
        np.testing.assert_allclose(g(X), 2.0 * power * (2.0 * X) ** (power - 1))
        np.testing.assert_allclose(h(X), scale**power)
    assert g.cache_info().compilations == h.cache_info().compilations == 3


# -- what seemed to compute, and decides ------------------------------------------------------------------------------
def programs(n, m, q):
    log = []

    class Kept:
        def __init__(self, k):
            self.k = k

    def change(a, b):
        nonlocal n, m
        n, m = a, b

    return change, {
        "zeros": lambda x: np.sum(np.zeros(n * m) + x[: n * m]),
        "reshape": lambda x: np.sum(x.reshape(12 // n, n * m // m)[0] ** 2),
        "arange": lambda x: np.sum(np.arange(n * m) * x[: n * m]),
        "list": lambda x: sum([x[0]] * (n * m)),
        "text": lambda x: x[0] * len("a" * (n * m)) * len(f"{n * m}"),
        "factorial": lambda x: x[0] * math.factorial(n * m),
        "bits": lambda x: x[0] * (n * m).bit_length(),
        "key": lambda x: x[0] * table.get(n * m, 7.0),
        "axis": lambda x: np.sum(np.sum(x.reshape(3, 4) ** 2, axis=(n - m) % 2)[:2]),
        "class": lambda x: x[0] * isinstance(n * m, int) * (2 if type(n * m) is int else 3),
        "rounded": lambda x: x[0] * int(n / m) + math.floor(n / m) + round(n / m) * x[1],
        "item": lambda x: x[0] * X.tolist()[n * m % 12],
        "drawn": lambda x: x[0] * np.random.default_rng(n * m).normal(),
        "float": lambda x: x[0] * float(n * m) + float(n / m),
        "truth": lambda x: x[0] if n - m else np.sum(x),
        "rolled": lambda x: np.sum(np.roll(x, n * m) * X),
        "rounds": lambda x: sum([x[0] ** k for k in range(n * m)]),
        "taken": lambda x: sum(itertools.islice(x, n * m)),
        "stored": lambda x: log.append(n * m) or x[0] * sum(log),
        "kept": lambda x: Kept(n * m).k * x[0],
        "larger": lambda x: max(n * m, 3) * x[0],
        "power modulo": lambda x: pow(n * m, 2, 5) * x[0],
        "compared": lambda x: x[0] if n * m > 3 else x[1],
        "of NumPy": lambda x: np.int64(n * m) * x[0] + np.float32(n * m) * x[1],
        "array": lambda x: np.sum(np.array([n * m, 1, n / m]) * x[:3]),
        "whole": lambda x: x[0] * (n / m).is_integer() * (n * m).numerator,
        "split": lambda x: sum([np.sum(p) for p in np.array_split(x, n * m)]) * n,
        "from the end": lambda x: x[-n * m % 12] * x[-n],
        "member": lambda x: x[0] * ((n * m) in {6, 8}),
        "power of a power": lambda x: x[0] * (-n) ** q + np.sum(x ** (n * m)),
        "both": lambda x: np.sum(x[:n]) * n / m,
        "quotient": lambda x: x[0] * (n // (m - 3) + n % (m - 3)),
        "caught": lambda x: x[0] * quotient(n, m - 3),
    }


def quotient(a, b):
    try:
        return a // b * 1.0
    except ZeroDivisionError:
        return -1.0


PAIRS = ((2, 3), (2, 3), (3, 2), (4, 2), (2, 4), (2, 3), (1, 3), (6, 2), (2, 6))


@pytest.mark.parametrize("name", programs(2, 3, 2)[1])
def test_values_are_never_stale(name):
    (change, ours), (change_theirs, theirs) = programs(2, 3, 2), programs(2, 3, 2)
    f, g = theirs[name], tapec.compile(ours[name])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tapec.TapecWarning)
        for pair in PAIRS:
            change(*pair)
            change_theirs(*pair)
            try:
                expected = f(X)
            except ZeroDivisionError as error:
                with pytest.raises(ZeroDivisionError, match=str(error)):
                    g(X)
                continue
            found = g(X)
            np.testing.assert_allclose(found, expected, rtol=1e-12)
            assert np.asarray(found).dtype == np.asarray(expected).dtype


def test_nested_derivatives_with_numbers():
    k = 2

    def second(x):
        return tapec.grad(lambda y: np.sum(tapec.grad(lambda z: np.sum(z**k) * 0.5**k * k)(y)))(x)

    g = tapec.compile(second)
    for k in (2, 3, 4, 5, 3):
        np.testing.assert_allclose(g(X), 0.5**k * k * k * (k - 1) * X ** (k - 2))


def test_many_guards_are_no_reason_to_search_the_run_again_and_again():
    steps = 3

    def f(x, limit):
        total = x * steps
        while total < limit:
            total = total * 1.01
        return total * steps

    assert tapec.compile(f)(1.0, 100.0) == f(1.0, 100.0)


def test_what_a_run_has_stored_is_stored_once():
    log, k, m = [1.0], 2, 3

    def f(x):
        log[0] = log[0] + 1.0
        return np.sum(x) * np.random.default_rng(k * m).normal()

    for function in (f, tapec.compile(f)):
        log[0] = 1.0
        for _ in range(3):
            function(X)
        assert log == [4.0]
