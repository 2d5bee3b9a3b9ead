"""Captured whole numbers that keep changing are inputs: two values are written into code, the third is read.

Those that code only computes with are inputs at once (`test_whole_numbers.py`); here functions get them as arguments.
"""

import math
import threading

import numpy as np
import pytest

import tapec

X = np.array([0.5, 1.5, 2.5, 3.5])
SINGLE, BYTES = X.astype(np.float32), np.array([1, 2, 3, 4], np.uint8)
TABLE = {0: 0.5, 1: 1.5, 2: 2.5, 3: 3.5}


class Box:
    n = 1

    def __init__(self):
        self.config, self.items, self.t = {"n": 1}, [1, 2.0], 0

    def set(self, n):
        self.n = self.config["n"] = self.items[0] = n


box = Box()
WAYS = {"attribute": lambda: box.n, "dict": lambda: box.config["n"], "list": lambda: box.items[0]}
COMPUTE = {
    "power": lambda x, n: np.sum(x) * 0.9**n,
    "power of two": lambda x, n: np.sum(x) * 2**n,
    "times": lambda x, n: np.sum(x * n * 0.1),
    "divided": lambda x, n: np.sum(x) / (n + 1) + n / 3,
    "whole division": lambda x, n: np.sum(x) * (n // 2 + n % 3),
    "single precision": lambda x, n: np.sum(SINGLE * n) * np.sum(x),
    "bytes": lambda x, n: np.sum((BYTES * n).astype(float)) * np.sum(x),
    "of numbers": lambda x, n: np.sum(x) * (n * (n + 1) // 2 - abs(-n) + divmod(n, 2)[1] + (n << 1) + (n & 3)),
    "compared": lambda x, n: np.sum(x) if n > 2 else np.sum(x * x) * (n == 1),
    "math": lambda x, n: np.sum(x) * math.exp(-n) * math.sqrt(n),
    "class": lambda x, n: np.sum(x) * (isinstance(n, int) + 2 * (type(n) is int) + 4 * isinstance(n, np.ndarray)),
}
DECIDE = {
    "size": lambda x, n: np.sum(x[:n]) * np.prod(x[n - 1 :]),
    "rounds": lambda x, n: sum([np.sum(x**k) for k in range(n)], 0.0),
    "index": lambda x, n: x[n] * x[-n],
    "key": lambda x, n: np.sum(x) * TABLE[n],
    "text": lambda x, n: np.sum(x) * len(f"{n:03d}") * float(f"{n}"),
    "shape": lambda x, n: np.sum(np.ones((n, 4)) @ x),
}
VALUES = (1, 2, 3, 1, 2, 3, 2)


def derivative(f, x, n):
    return np.array([(f(x + h, n) - f(x - h, n)) / 2e-6 for h in 1e-6 * np.eye(4)])


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
@pytest.mark.parametrize("name", [*COMPUTE, *DECIDE])
def test_values_and_gradients(name, way):
    f = {**COMPUTE, **DECIDE}[name]
    value_and_grad = tapec.value_and_grad(lambda x: f(x, way()))
    values = VALUES if name in DECIDE else (*VALUES, 17, 4, -0, 11, 63, 12)
    for n in values:
        box.set(n)
        if (name == "math" and n == 0) or (name == "power of two" and n > 20):
            continue
        value, gradient = value_and_grad(X)
        plain = f(X, n)
        assert value == pytest.approx(plain, rel=1e-13) and np.asarray(value).dtype == np.asarray(plain).dtype
        np.testing.assert_allclose(gradient, derivative(f, X, n), rtol=1e-5, atol=1e-5)
    if name in COMPUTE and name not in ("compared", "class"):
        assert value_and_grad.cache_info().compilations == 3


def test_a_number_that_changes_often_costs_nothing():
    g = tapec.grad(lambda x: np.sum(x**2) * 0.5**box.n)
    for n in range(200):
        box.set(n)
        np.testing.assert_allclose(g(X), 2 * X * 0.5**n)
    info = g.cache_info()
    assert (info.compilations, info.hits) == (1, 199)
    assert "box.n: int" in str(g.explain(X))


def test_another_type_is_another_program():
    g = tapec.compile(lambda x: x * box.n)
    for n in (1, 2, 3, 4, 2.5, True, np.float32(2.0), np.int8(3), 2**70, 5, None, "a", np.ones(4), 6):
        box.set(n)
        try:
            plain = X * n
        except TypeError:
            with pytest.raises(TypeError):
                g(X)
            continue
        got = g(X)
        np.testing.assert_array_equal(got, plain)
        assert got.dtype == plain.dtype


def test_numbers_out_of_range_are_errors_as_numpys():
    g = tapec.compile(lambda x: BYTES * box.n + x)
    for n in (1, 2, 3, 4, 255):
        box.set(n)
        np.testing.assert_array_equal(g(X), BYTES * n + X)
    box.set(256)
    with pytest.raises(OverflowError):
        g(X)


def test_counters_of_the_function_count_on():
    class Adam:
        def __init__(self):
            self.t, self.m = 0, np.zeros(4)

        def step(self, w):
            self.t += 1
            return np.sum(w**2) / (1 - 0.9**self.t)

    ours, plain = Adam(), Adam()
    g = tapec.value_and_grad(ours.step)
    for _ in range(70):
        np.testing.assert_allclose(g(X)[0], plain.step(X))
        assert ours.t == plain.t and type(ours.t) is int


def test_two_numbers_that_change_in_turn():
    a, b = Box(), Box()
    g = tapec.grad(lambda x: np.sum(x * x) * a.n - np.sum(x) * b.n)
    for k in range(12):
        a.set(k // 3)
        b.set(k % 5)
        np.testing.assert_allclose(g(X), 2 * X * a.n - b.n)
    assert g.cache_info().compilations <= 8


def test_numbers_of_closures_and_globals_change_too():
    def make(n):
        def f(x):
            return np.sum(x) * n

        def change(m):
            nonlocal n
            n = m

        return tapec.grad(f), change

    g, change = make(1)
    for n in range(1, 9):
        change(n)
        np.testing.assert_allclose(g(X), np.full(4, float(n)))
    assert g.cache_info().compilations == 1


def test_threads_that_change_a_number_each():
    def work(found):
        mine = Box()
        g = tapec.grad(lambda x: np.sum(x * x) * mine.n)
        for n in range(1, 40):
            mine.set(n)
            found.append(np.allclose(g(X), 2 * X * n))

    results = [[] for _ in range(4)]
    threads = [threading.Thread(target=work, args=(r,)) for r in results]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert all(len(r) == 39 and all(r) for r in results)


def test_numbers_of_functions_made_anew_are_inputs_too():
    compilations = 0
    for step in range(30):
        batch = X * step
        g = tapec.grad(lambda w: np.sum((w * batch) ** 2) * 0.9**step)  # noqa: B023 (called at once)
        np.testing.assert_allclose(g(X), 2 * X * batch**2 * 0.9**step)
        compilations += g.cache_info().compilations
    assert compilations == 2  # that of the first one is its own


def test_what_only_numbers_have_is_asked_of_the_number():
    g = tapec.compile(lambda x: x * box.n.bit_length() + box.n.numerator)
    for n in (1, 2, 3, 4, 70, 3):
        box.set(n)
        np.testing.assert_array_equal(g(X), X * n.bit_length() + n)


def test_an_error_of_the_function_itself_is_raised_and_nothing_is_stored_twice():
    kept = []

    def f(x):
        kept.append(box.n)
        return x * box.n if box.n < 4 else x + "a"

    g = tapec.compile(f)
    for n in (1, 2, 3):
        box.set(n)
        g(X)
    box.set(5)
    with pytest.raises(TypeError):
        g(X)
    assert kept[:3] == [1, 2, 3] and len(kept) <= 4
