"""What people may expect of compiled functions and no other file asks for."""

from __future__ import annotations

import argparse
import collections
import dataclasses
import enum
import functools
import types

import numpy as np
import pytest

import tapec

X = np.array([1.0, 2.0, 3.0])


def test_a_captured_ufunc_that_is_rebound_is_seen():
    act = np.sin
    f = tapec.grad(lambda a: np.sum(act(a)))
    np.testing.assert_allclose(f(X), np.cos(X))
    act = np.exp
    np.testing.assert_allclose(f(X), np.exp(X))


Pair = collections.namedtuple("Pair", "w k")


@dataclasses.dataclass(frozen=True, slots=True)
class Slotted:
    w: np.ndarray
    k: float


class Mode(enum.Enum):
    LINEAR = 1
    SQUARE = 2


@pytest.mark.parametrize("kind", [Pair, Slotted, types.SimpleNamespace, argparse.Namespace])
def test_captured_records_are_read_anew(kind):
    p = kind(w=np.ones(3), k=2.0)
    f = tapec.grad(lambda a: np.sum(a * p.w) * p.k)
    np.testing.assert_array_equal(f(X), np.full(3, 2.0))
    p.w[0] = 4.0
    np.testing.assert_array_equal(f(X), [8.0, 2.0, 2.0])
    p = kind(w=X, k=3.0)
    np.testing.assert_array_equal(f(X), 3 * X)


@pytest.mark.parametrize("kind", [collections.OrderedDict, functools.partial(collections.defaultdict, list)])
def test_captured_dicts_of_other_kinds_are_read_anew(kind):
    p = kind(w=np.ones(3), k=2.0)
    f = tapec.grad(lambda a: np.sum(a * p["w"]) * p["k"])
    np.testing.assert_array_equal(f(X), np.full(3, 2.0))
    p["k"], p["w"] = 3.0, X
    np.testing.assert_array_equal(f(X), 3 * X)


def test_another_object_in_the_place_of_a_captured_one_is_seen():
    class Sine:
        def __call__(self, a):
            return np.sin(a)

    class Cosine:
        def __call__(self, a):
            return np.cos(a)

    mode, layer, scale = Mode.LINEAR, Sine(), functools.partial(np.multiply, 2.0)
    f = tapec.compile(lambda a: scale(layer(a)) if mode is Mode.LINEAR else a * a)
    np.testing.assert_allclose(f(X), 2 * np.sin(X))
    layer = Cosine()
    np.testing.assert_allclose(f(X), 2 * np.cos(X))
    scale = functools.partial(np.multiply, 3.0)
    np.testing.assert_allclose(f(X), 3 * np.cos(X))
    mode = Mode.SQUARE
    np.testing.assert_allclose(f(X), X * X)


class Scale:
    factor = 2.0
    weights = np.ones(3)

    @tapec.grad
    def loss(self, a):
        return np.sum(a * self.weights) * self.factor


def test_attributes_of_a_class_are_read_anew(monkeypatch):
    s = Scale()
    np.testing.assert_array_equal(s.loss(X), np.full(3, 2.0))
    monkeypatch.setattr(Scale, "factor", 5.0)
    np.testing.assert_array_equal(s.loss(X), np.full(3, 5.0))
    monkeypatch.setattr(Scale, "weights", X)
    np.testing.assert_array_equal(s.loss(X), 5 * X)


def test_attributes_of_a_captured_class_are_read_anew(monkeypatch):
    f = tapec.grad(lambda a: np.sum(a * Scale.weights) * Scale.factor)
    np.testing.assert_array_equal(f(X), np.full(3, 2.0))
    monkeypatch.setattr(Scale, "factor", 3.0)
    np.testing.assert_array_equal(f(X), np.full(3, 3.0))
    monkeypatch.setattr(Scale, "weights", X)
    np.testing.assert_array_equal(f(X), 3 * X)


def test_partials_of_numpys_functions():
    np.testing.assert_array_equal(tapec.grad(functools.partial(np.sum, axis=None))(X), np.ones(3))
    np.testing.assert_array_equal(tapec.grad(functools.partial(np.max, axis=0))(X), [0.0, 0.0, 1.0])


def test_an_integer_argument_counts_in_arange():
    f = tapec.compile(lambda n: np.arange(n) * 1.0)
    for n in (3, 4, 3):
        np.testing.assert_array_equal(f(n), np.arange(n) * 1.0)
    g = tapec.grad(lambda a, n: np.sum(a * np.arange(n)))
    np.testing.assert_array_equal(g(X, 3), [0.0, 1.0, 2.0])


@pytest.mark.parametrize(("loss", "dtype"), [(1, "int64"), (True, "bool")])
def test_a_python_integer_is_no_loss(loss, dtype):
    with pytest.raises(TypeError, match=rf"shape \(\) and dtype {dtype}.*tapec.jacobian.*tapec.vjp"):
        tapec.grad(lambda a: loss)(X)


def test_static_arguments_counted_from_the_end():
    f = tapec.grad(lambda a, n: np.sum(a**n), static_argnums=-1)
    np.testing.assert_allclose(f(X, 2), 2 * X)
    np.testing.assert_allclose(f(X, 3), 3 * X**2)
    assert f.cache_info().compilations == 2


def test_a_static_name_that_is_no_argument():
    with pytest.raises(ValueError, match="no argument 'm' to be static; the arguments are a, n"):
        tapec.grad(lambda a, n: a * n, static_argnames="m")
    for position in (2, -3):
        with pytest.raises(ValueError, match=f"there is no argument {position} to be static; the arguments are a, n"):
            tapec.grad(lambda a, n: a * n, static_argnums=(1, position))
    assert tapec.grad(lambda a, *n: a * n[1], static_argnums=2)(2.0, 5, 3) == 3.0
