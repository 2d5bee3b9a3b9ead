"""Functions of heapq change captured lists as they do in plain Python, by whatever names they are known."""

import heapq
import heapq as module
import types
from heapq import heappop, heappush, heappushpop, heapreplace

import numpy as np
import pytest

import tapec

XS = [np.array([1.1, 2.3]), np.array([3.2, 0.7]), np.array([1.3, 1.7])]
push = heapq.heappush


class Heap:
    push = staticmethod(heapq.heappush)

    def __init__(self, items):
        self.items = items

    def add(self, item):
        self.push(self.items, item)
        return sum(self.items)


def keep(heap, values, n):
    for v in values:
        if len(heap) < n:
            heapq.heappush(heap, v)
        else:
            heapq.heappushpop(heap, v)
    return sum(heap)


def by_a_helper(heap):
    return lambda x: keep(heap, x * x, 3)


def by_another_name(heap):
    return lambda x: push(heap, np.sum(x)) or sum(heap)


def by_a_module_of_another_name(heap):
    return lambda x: module.heappush(heap, np.sum(x)) or sum(heap)


def by_a_class(heap):
    kept = Heap(heap)
    return lambda x: kept.add(np.sum(x * x))


def by_an_import_inside(heap):
    def f(x):
        from heapq import heappush as put

        put(heap, np.sum(x))
        return heap[0] * len(heap)

    return f


def with_all_functions(heap):
    state = types.SimpleNamespace(heap=heap)

    def f(x):
        for v in x:
            heappush(state.heap, v)
        low = heappop(state.heap) + heappushpop(state.heap, x[0] * x[1])
        heapreplace(state.heap, x[1])
        state.heap.append(-np.sum(x))
        heapq.heapify(state.heap)
        return low * state.heap[0] + sum(heapq.nsmallest(2, state.heap))

    return f


def with_records(heap):
    def f(x):
        heapq.heappush(heap, (float(len(heap)), "record", np.sum(x)))
        return sum(r[2] for r in heap if len(r) == 3) * heap[0][0]

    return f


WAYS = [
    by_a_helper,
    by_another_name,
    by_a_module_of_another_name,
    by_a_class,
    by_an_import_inside,
    with_all_functions,
    with_records,
]


@pytest.mark.parametrize("make", WAYS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("transform", [tapec.compile, tapec.value_and_grad], ids=["compile", "value_and_grad"])
def test_a_captured_heap_changes_as_in_plain_python(make, transform):
    begin = [(1.0, "first")] if make is with_records else [0.5, 2.0, 1.0]
    heap, ours = list(begin), list(begin)
    f, g = make(heap), transform(make(ours))
    for x in XS:
        before = list(heap)
        expected, found = f(x), g(x)
        assert repr(ours) == repr(heap)
        if isinstance(found, tuple):
            slopes = [(value_of(make, before, x + d) - value_of(make, before, x - d)) / 2e-6 for d in 1e-6 * np.eye(2)]
            np.testing.assert_allclose(found[1], slopes, rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(found[0] if isinstance(found, tuple) else found, expected)


def value_of(make, heap, x):
    return make(list(heap))(x)


def test_errors_are_those_of_python():
    heap = []
    with pytest.raises(IndexError):
        tapec.compile(lambda x: x * heapq.heappop(heap))(1.0)
    with pytest.raises(TypeError):
        tapec.compile(lambda x: heapq.heappush((1.0,), x))(1.0)


def test_a_heap_that_an_object_of_the_function_changes_is_refused():
    heap = []
    with pytest.raises(tapec.UnsupportedError, match="heap was changed past its methods"):
        tapec.compile(lambda x: Heap(heap).add(1.0) * np.sum(x))(XS[0])
