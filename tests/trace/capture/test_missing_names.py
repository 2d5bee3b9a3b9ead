"""A name or an attribute that a function looked for in vain may be there at the next call."""

from __future__ import annotations

import types

import numpy as np
import pytest

import tapec

X = np.array([1.0, 2.0])


class Settings:
    pass


def helper(x):
    return x * getattr(helper, "scale", 1.0)


def by_name(space):
    """Make functions with global variables of their own."""
    made = {"np": np}
    exec(space, made)
    return made["f"], made


@pytest.mark.parametrize(
    ("text", "name", "value"),
    [
        ("def f(x):\n try: return x * SCALE\n except NameError: return x", "SCALE", 5.0),
        ("def f(x): return x * 100 if 'SCALE' in globals() else x", "SCALE", 5.0),
        ("def f(x): return x * globals().get('SCALE', 2.0)", "SCALE", 5.0),
        ("def f(x): return x * max(1.0, 2.0)", "max", min),
    ],
)
def test_a_global_variable_that_comes_later(text, name, value):
    f, space = by_name(text)
    compiled = tapec.compile(f)
    np.testing.assert_array_equal(compiled(X), f(X))
    space[name] = value
    np.testing.assert_array_equal(compiled(X), f(X))
    del space[name]
    np.testing.assert_array_equal(compiled(X), f(X))


def test_an_attribute_that_comes_later():
    cfg = types.ModuleType("cfg")

    def of_module(x):
        return x * 100 if getattr(cfg, "DEBUG", False) else x

    def of_class(x):
        try:
            return x * Settings.weight
        except AttributeError:
            return x

    functions = [lambda x: helper(x), of_module, of_class]
    compiled = [tapec.compile(f) for f in functions]
    for f, g in zip(functions, compiled, strict=True):
        np.testing.assert_array_equal(g(X), f(X))
    helper.scale, cfg.DEBUG, Settings.weight = 5.0, True, 7.0
    try:
        for f, g in zip(functions, compiled, strict=True):
            np.testing.assert_array_equal(g(X), f(X))
    finally:
        del helper.scale, Settings.weight


GAIN_A, GAIN_B = 3.0, 4.0
cfg = types.ModuleType("cfg")
cfg.RATE_A, cfg.RATE_B = 1.0, 2.0
WALKS = {
    "attributes of a module": lambda x: x * sum(v for k, v in vars(cfg).items() if k.startswith("RATE")),
    "global variables": lambda x: x * sum(v for k, v in globals().items() if k.startswith("GAIN")),
    "a dict of attributes": lambda x: x * {**vars(cfg), "RATE_C": 1.0}.get("RATE_A", 0.5),
    "names": lambda x: x * sum(getattr(cfg, n) for n in dir(cfg) if n.startswith("RATE")),
    "a copy": lambda x: x * globals().copy()["GAIN_A"] * dict(globals())["GAIN_B"],
    "a list": lambda x: x * len([k for k in list(globals()) if k.startswith("GAIN")]),
    "by keyword": lambda x: x * (lambda **named: named["GAIN_A"])(**globals()),
    "a text": lambda x: x * eval("GAIN_A * k", globals(), {"k": 2.0}),
    "__dict__": lambda x: x * cfg.__dict__["RATE_B"],
}


@pytest.mark.parametrize("name", WALKS)
def test_walks_through_variables_and_attributes(name, monkeypatch):
    f = WALKS[name]
    compiled = tapec.compile(f)
    np.testing.assert_array_equal(compiled(X), f(X))
    monkeypatch.setitem(globals(), "GAIN_A", 6.0)
    monkeypatch.setattr(cfg, "RATE_A", 5.0)
    monkeypatch.setattr(cfg, "RATE_Z", 9.0, raising=False)
    monkeypatch.setitem(globals(), "GAIN_Z", 1.0)
    np.testing.assert_array_equal(compiled(X), f(X))
