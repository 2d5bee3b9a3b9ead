"""Which functions run once more without doing anything: what is known of what they look up and store."""

import collections
import dataclasses
import datetime
import enum
import functools
import logging
import math
import os
import time
import types

import numpy as np
import pytest

import tapec

LOG = []
STATE = {"n": 0, "w": np.ones(3)}
W = np.ones(3)
COUNT = 0
GENERATOR = np.random.default_rng(0)


class Kind(enum.Enum):
    SQUARE = 1


@dataclasses.dataclass
class Pair:
    a: object
    b: object

    def total(self):
        return np.sum(self.a) + np.sum(self.b)


Point = collections.namedtuple("Point", "x y")


class Layer:
    def __init__(self, w):
        self.w = w

    def __call__(self, x):
        return x @ self.w

    def remembers(self, x):
        self.last = 1
        return x @ self.w


class Teller(Layer):
    def tells(self, x):
        print(end="")
        return x


class Listing:
    known = []

    def __init__(self, w):
        self.w = w


class Scaled:
    def __init__(self, by):
        self.by = by

    def __rmul__(self, x):
        return Scaled(x * self.by)


class Registered(Layer):
    def __init__(self, w):
        self.w = w
        LOG.append(self)


class Counted:
    made = 0

    def __init__(self, w):
        self.w = w
        Counted.made += 1


NOW = datetime.datetime.now
LOGGER = logging.getLogger(__name__)
OWN = types.ModuleType("own")  # of the user's own, since it has no file
LAYER = Layer(np.eye(3))


def helper(x, power=2):
    return x**power


def noisy_helper(x):
    print("seen")
    return x


@functools.cache
def remembered(n):
    return float(n)


def to_log(x):
    LOG.append(1)
    return x


def to_global(x):
    global COUNT
    COUNT = 7
    return x


def by_import(x):
    import time as clock

    return x + 0.0 * clock.time()


def inherits(x):
    layer = Layer(W)
    return layer(x) * super(Layer, layer).__init__.__name__.startswith("_")


HARMLESS = {
    "ufuncs": lambda x: np.sin(x) * math.pi,
    "globals": lambda x: x * W + STATE["w"],
    "a helper": lambda x: helper(x) + helper(x, power=3),
    "builtins": lambda x: sum([x[i] for i in range(len(x))]) * max(1, 2),
    "an object": lambda x: LAYER(x),
    "a dataclass": lambda x: Pair(x, x).total(),
    "a named tuple": lambda x: Point(x, x).x,
    "a class": lambda x: Layer(x)(x),
    "an enum": lambda x: x**2 if Kind.SQUARE is Kind.SQUARE else x,
    "partial": functools.partial(helper, power=3),
    "an exception": lambda x: x if isinstance(x, object) else ValueError(x),
    "tapec": lambda x: tapec.stop_gradient(x) * x,
    "a gradient": lambda x: tapec.grad(lambda y: np.sum(y * y))(x),
    "functools": lambda x: functools.reduce(lambda a, b: a + b, [x, x]),
    "linalg": lambda x: np.linalg.norm(x),
    "errstate": lambda x: np.where(x > 0, x, 0.0),
}

WITH_EFFECTS = {
    "print": (lambda x: (print(end=""), x)[1], "it may call print"),
    "a helper that prints": (lambda x: noisy_helper(x), "it may call print"),
    "append": (lambda x: to_log(x), ""),
    "a global": (lambda x: to_global(x), ""),
    "an attribute": (lambda x: LAYER.remembers(x), ""),
    "a constructor": (lambda x: Registered(x)(x), "it changes"),
    "random numbers": (lambda x: x * np.random.rand(), "draws random numbers"),
    "a generator": (lambda x: x * GENERATOR.normal(), "draws random numbers"),
    "the clock": (lambda x: x + 0.0 * time.time(), "time"),
    "an import": (by_import, "time"),
    "the environment": (lambda x: x if os.environ.get("HOME") else -x, ""),
    "a cache": (lambda x: x * remembered(3), "_lru_cache_wrapper"),
    "a list of a class": (lambda x: (Listing.known.append(1), x)[1], "it changes Listing.known"),
    "a list of a class, by an object": (lambda x: (Listing(x).known.append(1), x)[1], "it changes Listing.known"),
    "a list, past us": (lambda x: (list.append(LOG, 1), x)[1], "it changes LOG"),
    "a class that counts": (lambda x: Counted(x).w, "it changes Counted.made"),
    "the date": (lambda x: x + 0 * NOW().year, "datetime"),
    "a logger": (lambda x: (LOGGER.debug("x"), x)[1], "Logger"),
    "a module": (lambda x: (setattr(OWN, "seen", x is None), x)[1], "it sets own.seen"),
    "operators": (lambda x: np.sum((x * Scaled(2.0)).by), "operators of its own"),
    "np.save": (lambda x: x if x is not None else np.save("f", x), "np.save"),
    "setattr": (lambda x: (setattr(LAYER, "last", 1), x)[1], ""),
    "a method past us": (lambda x: Teller(x).tells(x), "it may call print"),
}


@pytest.mark.parametrize("name", HARMLESS)
def test_harmless(name):
    f = tapec.compile(HARMLESS[name])
    x = np.array([0.5, 1.0, 2.0])
    assert np.allclose(f(x), HARMLESS[name](x))
    assert f.explain(x).unchecked is None


@pytest.mark.parametrize("name", WITH_EFFECTS)
def test_with_effects(name, capsys):
    function, why = WITH_EFFECTS[name]
    f = tapec.compile(function)
    x = np.array([0.5, 1.0, 2.0])
    LOG.clear()
    f(x)
    assert len(LOG) <= 1
    assert capsys.readouterr().out.count("seen") <= 1
    unchecked = f.explain(x).unchecked
    assert unchecked is not None
    assert why in unchecked


def test_much_work_is_not_done_twice(monkeypatch):
    from tapec.trace import tuning

    f = tapec.compile(lambda x: np.sin(x) * 2.0)
    monkeypatch.setattr(tuning, "RUN_AGAIN_MAX_BYTES", 1000)
    f(np.ones(10))
    assert f.explain(np.ones(10)).unchecked is None
    f(np.ones(100))
    assert "its operations move" in f.explain(np.ones(100)).unchecked


def test_what_a_function_sets_in_a_module_is_set():
    OWN.calls = 0

    def counts(x):
        OWN.calls += 1
        return np.sin(x) * OWN.calls

    f = tapec.compile(counts)
    assert np.allclose([f(1.0), f(1.0), f(1.0)], np.sin(1.0) * np.array([1, 2, 3]))
    assert OWN.calls == 3
