"""Transforms made of one function again and again: `tapec.grad(f)(x)` in a loop compiles a few times, not each time."""

import copy
import functools
import gc
import pickle
import weakref

import numpy as np
import pytest

import tapec
from tapec.api import tuning
from tapec.runtime import compile

X = np.array([0.5, 2.0])
TRANSFORMS = {
    "compile": tapec.compile,
    "grad": tapec.grad,
    "value_and_grad": lambda f: lambda x: np.hstack(tapec.value_and_grad(f)(x)),
    "jacobian": tapec.jacobian,
    "jacfwd": tapec.jacfwd,
    "sparse jacobian": lambda f: tapec.jacobian(f, sparse=True),
    "hessian": tapec.hessian,
    "sparse hessian": lambda f: tapec.hessian(f, sparse=True),
    "sparsity": tapec.sparsity,
    "vmap": lambda f: tapec.vmap(f, in_axes=[0]),
    "checkpoint": tapec.checkpoint,
    "grad of checkpoint": lambda f: tapec.grad(tapec.checkpoint(f)),
}
# those by which functions of one code share what was compiled, from the third on
SHARING = {
    "compile",
    "grad",
    "value_and_grad",
    "jacobian",
    "jacfwd",
    "hessian",
    "vmap",
    "checkpoint",
    "grad of checkpoint",
}


def made_by(transform, function, times=tuning.KEPT_FROM_REQUEST + 2):
    return [transform(function) for _ in range(times)]


@pytest.fixture
def loss():
    return lambda x: np.sum(np.sin(x) * x)


@pytest.mark.parametrize("name", TRANSFORMS)
def test_in_a_loop_it_is_compiled_a_few_times(name, loss, monkeypatch):
    if "spars" in name:
        pytest.importorskip("scipy")
    built = []
    init = compile.CompiledGraph.__init__
    monkeypatch.setattr(
        compile.CompiledGraph, "__init__", lambda self, *args, **kw: (built.append(self), init(self, *args, **kw))[1]
    )
    first = TRANSFORMS[name](loss)(X)
    compiled = [len(built)]
    for _ in range(3 * tuning.KEPT_FROM_REQUEST):
        again = TRANSFORMS[name](loss)(X)
        compiled.append(len(built))
    assert compiled[0] < compiled[1]
    assert (compiled[1] == compiled[tuning.KEPT_FROM_REQUEST - 1]) is (name in SHARING)
    assert compiled[2 * tuning.KEPT_FROM_REQUEST] == compiled[-1]
    for a, b in zip(np.atleast_1d(first), np.atleast_1d(again), strict=True):
        assert np.array_equal(*[x.toarray() if hasattr(x, "toarray") else x for x in (a, b)])


def test_hvp_and_per_example_gradients(loss):
    assert len(set(map(id, made_by(tapec.hvp, loss)))) == tuning.KEPT_FROM_REQUEST
    assert len(set(map(id, made_by(tapec.per_example_grad, loss)))) == tuning.KEPT_FROM_REQUEST


def test_a_few_are_objects_of_their_own(loss):
    f, g = tapec.grad(loss), tapec.grad(loss)
    assert f is not g
    f(X)
    assert (f.cache_info().compilations, g.cache_info().compilations) == (1, 0)


def test_other_options_are_other_functions(loss):
    for options in ({}, {"has_aux": True}, {"argnums": (0,)}, {"static_argnames": ["x"]}):
        made = made_by(lambda f, options=options: tapec.grad(f, **options), loss)
        assert made[-1] is made[-2]
        others = made_by(lambda f, options=options: tapec.value_and_grad(f, **options), loss)
        assert others[-1] is others[-2] is not made[-1]
    assert tapec.grad(loss)(X).shape == (2,)
    assert type(tapec.grad(loss, [0])(X)) is tuple


def test_options_without_a_hash_are_made_anew(loss):
    made = made_by(lambda f: tapec.vmap(f, in_axes=({"a": 0},)), lambda d: loss(d["a"]))
    assert made[-1] is not made[-2]
    assert made[-1]({"a": X}).shape == (2,)


def test_it_goes_when_the_function_goes():
    def loss(x):
        return np.sum(x * x)

    made_by(tapec.grad, loss)[-1](X)
    gone = weakref.ref(loss)
    del loss
    gc.collect()
    assert gone() is None


def test_another_function_with_its_attributes_is_another(loss):
    made_by(tapec.grad, loss)

    @functools.wraps(loss)
    def twice(x):
        return 2.0 * np.sum(x)

    for _ in range(tuning.KEPT_FROM_REQUEST + 2):
        assert np.array_equal(tapec.grad(twice)(X), [2.0, 2.0])


class Model:
    def __init__(self, w):
        self.w = w

    def loss(self, x):
        return np.sum(self.w * x * x)

    def __call__(self, x):
        return self.loss(x)


@pytest.mark.parametrize("function", [lambda m: m.loss, lambda m: m], ids=["a method", "a callable object"])
def test_of_objects(function):
    models = Model(1.0), Model(3.0)
    for m in models:
        for _ in range(tuning.KEPT_FROM_REQUEST + 2):
            assert np.array_equal(tapec.grad(function(m))(X), 2 * m.w * X)
        m.w *= 2.0
        assert np.array_equal(tapec.grad(function(m))(X), 2 * m.w * X)
    for other in (copy.copy(models[0]), copy.deepcopy(models[0]), pickle.loads(pickle.dumps(models[0]))):
        other.w = 7.0
        assert np.array_equal(tapec.grad(function(other))(X), 14.0 * X)
    assert np.array_equal(tapec.grad(function(models[0]))(X), 4.0 * X)
    assert [list(vars(m)) for m in models] == [["w"], ["w"]]  # which methods may go through
    gone = weakref.ref(models[0])
    del models, m, other
    for _ in range(tuning.KEPT_MAX):
        made_by(tapec.grad, function(Model(1.0)))  # of which a few are kept, and not all
    gc.collect()
    assert gone() is None


class Module:
    """Its parameters are its attributes."""

    def __init__(self):
        self.a, self.b = 2.0, np.ones(2)

    def penalty(self, x):
        return sum([np.sum(p * p * x) for p in vars(self).values()]) * len(vars(copy.copy(self)))

    gradient = tapec.grad(penalty)


def test_attributes_of_objects_are_those_of_the_user():
    m = Module()
    for gradient in (lambda: m.gradient, lambda: tapec.grad(m.penalty)):
        for _ in range(tuning.KEPT_FROM_REQUEST + 2):
            np.testing.assert_array_equal(gradient()(X), [10.0, 10.0])


@pytest.mark.thorough
def test_a_method_that_is_made_anew_is_the_new_one():
    m = Model(1.0)
    for k in range(60):  # some get the place in memory of those before
        Model.scaled = tapec.compile(eval(f"lambda self, x: {k} * self.w * x"))
        assert m.scaled(1.0) == k
        gc.collect()
