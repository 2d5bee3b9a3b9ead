"""Captured state of installed packages is read anew: where a file lies says nothing about who changes what it holds."""

import importlib
import sys

import numpy as np
import pytest

import tapec

PACKAGE = """
import dataclasses
import functools
import math
import numpy as np

RATE = 2.0
NAME = "double"
SCALES = {"a": 2.0}
WEIGHTS = np.array([2.0])

class Model:
    rate = 2.0
    def __init__(self): self.w = 2.0
    def loss(self, x): return self.w * x
    def by_class(self, x): return self.rate * x
    @property
    def twice(self): return self.w
    @staticmethod
    def static(x): return RATE * x

class Slots:
    __slots__ = ("w",)
    def __init__(self): self.w = 2.0
    def __call__(self, x): return self.w * x

@dataclasses.dataclass
class Config:
    rate: float = 2.0
    def scale(self, x): return self.rate * x

def loss(x): return RATE * x
def by_name(x): return 2.0 * x if NAME == "double" else 10.0 * x
def by_key(x): return SCALES["a"] * x
def by_array(x): return np.sum(WEIGHTS * x)
def through_helper(x): return loss(x)
def with_state():
    rate = 2.0
    def change(new):
        nonlocal rate
        rate = new
    def loss(x): return rate * x
    return loss, change

def logged(f):
    @functools.wraps(f)
    def wrapper(x): return f(x) * FACTOR
    return wrapper

FACTOR = 1.0
decorated = logged(loss)
model, slots, config = Model(), Slots(), Config()
enclosed, change = with_state()
"""
CASES = {
    "global": ("loss(x)", "RATE = 10.0"),
    "string": ("by_name(x)", "NAME = 'tenfold'"),
    "item": ("by_key(x)", "SCALES['a'] = 10.0"),
    "array": ("by_array(x)", "WEIGHTS[0] = 10.0"),
    "another array": ("by_array(x)", "WEIGHTS = np.array([10.0])"),
    "a helper's global": ("through_helper(x)", "RATE = 10.0"),
    "another helper": ("through_helper(x)", "loss = lambda x: 10.0 * x"),
    "attribute": ("model.loss(x)", "model.w = 10.0"),
    "of a class": ("model.by_class(x)", "Model.rate = 10.0"),
    "of a class by its name": ("Model.rate * x", "Model.rate = 10.0"),
    "property": ("model.twice * x", "model.w = 10.0"),
    "static method": ("model.static(x)", "RATE = 10.0"),
    "another method": ("model.loss(x)", "Model.loss = lambda self, x: 10.0 * x"),
    "another object": ("model.loss(x)", "model = Model(); model.w = 10.0"),
    "slots": ("slots(x)", "slots.w = 10.0"),
    "dataclass": ("config.scale(x)", "config.rate = 10.0"),
    "closure": ("enclosed(x)", "change(10.0)"),
    "decorated": ("decorated(x)", "RATE = 10.0"),
    "a decorator's global": ("decorated(x)", "FACTOR = 5.0"),
}


@pytest.fixture(params=["site-packages", "dist-packages"])
def package(request, tmp_path, monkeypatch):
    folder = tmp_path / request.param
    folder.mkdir()
    (folder / "mypackage.py").write_text(PACKAGE)
    monkeypatch.syspath_prepend(folder)
    yield importlib.import_module("mypackage")
    del sys.modules["mypackage"]


@pytest.mark.parametrize(("reads", "changes"), CASES.values(), ids=CASES)
def test_code_of_the_package(package, reads, changes):
    exec(f"def here(x): return {reads}", package.__dict__)
    exec(compile(f"def there(x): return {reads}", package.__file__, "exec"), package.__dict__)
    gradients = [tapec.grad(package.here), tapec.grad(package.there)]
    assert [g(1.0) for g in gradients for _ in range(2)] == [2.0] * 4
    exec(changes, package.__dict__)
    assert [g(1.0) for g in gradients for _ in range(3)] == [10.0] * 6


def test_the_users_own_script_that_reads_the_package(package):
    grad = tapec.grad(
        lambda x: package.RATE * x + package.model.w * x + package.config.scale(x) + package.Model.rate * x
    )
    assert grad(1.0) == 8.0
    package.RATE = package.model.w = package.config.rate = package.Model.rate = 10.0
    assert grad(1.0) == 40.0


def test_methods_of_the_package_that_are_compiled_themselves(package):
    grad = tapec.grad(package.model.loss)
    assert grad(1.0) == 2.0
    package.model.w = 10.0
    assert grad(1.0) == 10.0


def test_a_method_that_stores_what_it_computes(package):
    exec("def step(self, x):\n    self.last = self.w * x\n    return self.last", package.__dict__)
    package.Model.step = package.step
    f = tapec.value_and_grad(package.model.step)
    for x in (1.0, 2.0, 3.0):
        assert f(x) == (2.0 * x, 2.0)
        assert package.model.last == 2.0 * x and type(package.model.last) is not tapec.Tensor


@pytest.mark.parametrize("n", [5, 300, 100_000])
def test_estimators_of_scikit_learn(n):
    from sklearn import preprocessing

    scaler = preprocessing.StandardScaler()
    scaler.var_, scaler.gain = np.ones(n), 1.0
    f = tapec.grad(lambda x: np.sum(x * np.sqrt(scaler.var_)) * scaler.gain)
    assert f(np.ones(n))[0] == 1.0
    scaler.var_[:] = 4.0
    assert f(np.ones(n))[0] == 2.0
    scaler.var_, scaler.gain = np.full(n, 9.0), 2.0
    assert f(np.ones(n))[0] == 6.0
