"""Threads that call and first-compile the same and different functions."""

import sys
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import numpy as np

import tapec

THREADS = 8


def together(work):
    """Run work(k) in eight threads that start at the same moment."""
    barrier = Barrier(THREADS)

    def run(k):
        barrier.wait()
        return work(k)

    with ThreadPoolExecutor(THREADS) as pool:
        return list(pool.map(run, range(THREADS)))


def test_one_function_is_compiled_once():
    f = tapec.value_and_grad(lambda x: np.sum(np.sin(x) * x))
    x = np.linspace(0.0, 1.0, 50)
    expected = np.sin(x) + x * np.cos(x)
    for value, g in together(lambda k: f(x)):
        assert value == np.sum(np.sin(x) * x)
        np.testing.assert_allclose(g, expected, rtol=1e-14)
    assert f.cache_info().compilations == 1


def test_signatures_and_paths_are_compiled_once_each():
    f = tapec.grad(lambda x: np.sum(x * x) if x[0] > 0 else np.sum(x))

    def work(k):
        out = []
        for n in range(1, 4):
            sign = 1.0 if (k + n) % 2 else -1.0
            out.append((n, sign, f(np.full(n, sign))))
        return out

    for results in together(work):
        for n, sign, g in results:
            np.testing.assert_array_equal(g, np.full(n, 2.0 if sign > 0 else 1.0))
    assert f.cache_info().compilations == 6


def test_calls_while_roads_change():
    f = tapec.compile(lambda x: x.sum())

    def work(k):
        for turn in range(200):
            n = 1 + (k + turn) % 7
            assert f(np.ones(n)) == n

    together(work)


def test_many_signatures_at_once():
    """Why one of them is compiled is told from the others, of which there are ever more."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for _ in range(15):
            f = tapec.compile(lambda x: x * 2.0)
            together(lambda k, f=f: [f(np.ones((rows, k))) for rows in range(12)])
    finally:
        sys.setswitchinterval(before)


def test_different_functions_at_once():
    fs = [tapec.grad(lambda x, k=float(k): x**2 * k) for k in range(THREADS)]
    assert together(lambda k: fs[k](3.0)) == [6.0 * k for k in range(THREADS)]
    assert all(f.cache_info().compilations <= 1 for f in fs)  # functions of one code share what was compiled


def test_tapes_and_functions_in_many_threads():
    f = tapec.compile(lambda x: x * x)

    def work(k):
        x = tapec.constant(float(k))
        with tapec.GradientTape() as tape:
            tape.watch(x)
            y = f(x) * x
        return float(tape.gradient(y, x))

    assert together(work) == [3.0 * k * k for k in range(THREADS)]
