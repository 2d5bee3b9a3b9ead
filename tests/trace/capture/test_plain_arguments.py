"""Compiled functions and `statistics` get plain values, as far as no gradient is lost by that."""

import collections
import json
import re
import statistics
import typing
from statistics import median

import numpy as np
import pytest

import tapec

SIZES = [0, 1, 4]


class Box:
    rate, mask = 1.0, None


def states(f, x, change, expected):
    g = tapec.grad(f)
    for state in (1.0, 2.0, 2.0, 3.0, 5.0, 1.0):
        change(state)
        for _ in range(2):
            np.testing.assert_allclose(g(x), expected(), rtol=1e-12)
    return g


# -- compiled functions ----------------------------------------------------------------------------------------------
def distance():
    from sklearn.cluster._k_means_common import _euclidean_dense_dense_wrapper

    return _euclidean_dense_dense_wrapper


@pytest.mark.parametrize("n", [1, 4, 9])
def test_functions_of_cython(n):
    compiled, data, box = distance(), np.arange(float(n)), Box()
    g = states(
        lambda x: compiled(data * box.rate, data, True) * x,
        1.0,
        lambda state: setattr(box, "rate", state),
        lambda: np.sum((data * box.rate - data) ** 2),
    )
    data[:] = 1.0
    np.testing.assert_allclose(g(1.0), np.sum((data * box.rate - data) ** 2))


def test_functions_of_cython_take_no_arguments_of_a_traced_function():
    compiled = distance()
    with pytest.raises((TypeError, ValueError)):
        tapec.grad(lambda x: compiled(x, np.ones(3), True))(np.ones(3))


@pytest.mark.parametrize("n", SIZES)
def test_functions_of_numba(n):
    numba = pytest.importorskip("numba", reason="numba is an extra")

    @numba.njit
    def total(a, values, pair):
        s = a
        for v in values:
            s += v * pair[0] + pair[1]
        return s

    data, box = np.arange(float(n)), Box()
    states(
        lambda x: total(box.rate, data * 2.0, (box.rate, 1)) * x,
        1.0,
        lambda state: setattr(box, "rate", state),
        lambda: box.rate + np.sum(data * 2.0 * box.rate + 1),
    )
    assert isinstance(total.py_func, type(lambda: 0))
    with pytest.raises(Exception, match="numba compiles takes no recorded tensors"):
        tapec.grad(lambda x: total(x, data, (1.0, 1)))(1.0)


# -- the standard library ---------------------------------------------------------------------------------------------
NUMBERS = [1.0, 2.0, 4.0]


@pytest.mark.parametrize(
    "told",
    [
        lambda: statistics.mean(NUMBERS),
        lambda: statistics.mean(v * 2 for v in NUMBERS),
        lambda: statistics.mean({"a": NUMBERS[0], "b": 3}.values()),
        lambda: statistics.mode([*NUMBERS, NUMBERS[0]]),
        lambda: statistics.pvariance(np.array(NUMBERS)),
        lambda: median(NUMBERS),
        lambda: len(json.dumps({"numbers": NUMBERS})),
    ],
)
def test_functions_of_the_standard_library_get_captured_numbers(told):
    f = tapec.value_and_grad(lambda x: x * told())
    try:
        for first in (1.0, 10.0, 1.0, 100.0):
            NUMBERS[0] = first
            assert f(2.0) == (2.0 * told(), told())
    finally:
        NUMBERS[0] = 1.0


def test_the_standard_library_gets_no_number_that_has_a_gradient():
    with pytest.raises(tapec.DetachError, match=re.escape("np.mean(x) works on tensors and on numbers")):
        tapec.grad(lambda x: statistics.mean([x, 2.0 * x]))(1.0)


def test_functions_of_the_standard_library_are_themselves():
    assert tapec.compile(lambda x: x if statistics.median is median else -x)(1.0) == 1.0
    assert tapec.compile(lambda x: x if issubclass(statistics.StatisticsError, ValueError) else -x)(1.0) == 1.0


# -- containers -------------------------------------------------------------------------------------------------------
class Pair(typing.NamedTuple):
    a: float
    b: float


MADE = {
    "a deque": lambda v: collections.deque([1.0, v, 4.0], maxlen=3),
    "a named tuple": lambda v: Pair(1.0, v),
    "an ordered dict": lambda v: collections.OrderedDict(b=v, a=1.0).values(),
    "a default dict": lambda v: collections.defaultdict(float, b=v, a=1.0).values(),
}


@pytest.mark.parametrize("make", MADE.values(), ids=MADE)
def test_containers_of_the_library_hold_plain_values(make):
    box = Box()
    g = states(
        lambda x: statistics.mean(make(box.rate + 1.0)) * x,
        2.0,
        lambda state: setattr(box, "rate", state),
        lambda: statistics.mean(make(box.rate + 1.0)),
    )
    assert g.cache_info().compilations <= 4


def test_a_history_that_the_function_appends_to():
    kept, ours = collections.deque(maxlen=3), collections.deque(maxlen=3)

    def function(history):
        def f(x):
            history.append(float(len(x)))
            return np.sum(x**2) * statistics.mean(history)

        return f

    f, g = function(kept), tapec.value_and_grad(function(ours))
    for n in (3, 3, 2, 4, 1):
        value, slope = g(np.ones(n))
        assert value == f(np.ones(n)) and ours == kept
        np.testing.assert_allclose(slope, 2.0 * statistics.mean(kept) * np.ones(n))


def test_containers_of_the_library_as_json():
    box = Box()

    def f(x):
        told = json.dumps({"a": collections.OrderedDict(b=box.rate + 1.0), "b": [Pair(1.0, box.rate)]})
        return np.sum(x) * len(told), told

    assert tapec.compile(f)(np.ones(2)) == f(np.ones(2))
