"""Dicts keep the order in which their keys were put in: in the function, in gradients, in results."""

from collections import defaultdict

import numpy as np
import pytest

import tapec

LAYERS = {"input": 2.0, "hidden": 3.0, "output": 5.0}
TURNED = dict(reversed(LAYERS.items()))


def chain(layers, x=1.0):
    for k, w in enumerate(layers.values()):
        x = x * w + k
    return x


@pytest.mark.parametrize("kind", [dict, lambda d: defaultdict(float, d), lambda d: {"net": dict(d)}.pop("net")])
def test_the_function_sees_the_order_of_the_call(kind):
    f, g = tapec.compile(chain), tapec.grad(chain)
    for _ in range(2):
        for layers in (kind(LAYERS), kind(TURNED)):
            assert f(layers) == chain(layers)
            assert list(g(layers)) == list(layers)
    assert f.cache_info()[:3] == (2, 2, 2) if kind is dict else f.cache_info().compilations == 2


def test_inside_other_structures():
    f = tapec.value_and_grad(lambda state: chain(state[0]["net"]) + 0.0 * state[1])
    for layers in (LAYERS, TURNED, LAYERS):
        value, (state, _) = f([{"net": layers, "a": 1.0}, 2.0])
        assert value == chain(layers)
        assert list(state) == ["net", "a"] and list(state["net"]) == list(layers)


def test_keywords_come_in_the_order_of_the_call():
    f = tapec.compile(lambda **layers: chain(layers))
    assert f(**LAYERS) == chain(LAYERS)
    assert f(**TURNED) == chain(TURNED)


def test_results_have_the_order_of_the_function(tmp_path):
    f = tapec.compile(lambda x: {"z": x, "a": {2: x, 1: defaultdict(int, y=x, b=x)}})
    for _ in range(2):
        found = f(1.0)
        assert (list(found), list(found["a"]), list(found["a"][1])) == (["z", "a"], [2, 1], ["y", "b"])
    g = tapec.compile(lambda x: {"z": x, "a": x})
    g.export(tmp_path / "module.py", 1.0)
    space: dict = {}
    exec((tmp_path / "module.py").read_text(), space)
    assert list(space["function"](1.0)) == ["z", "a"]
    with tapec.GradientTape() as tape:
        v = {k: tapec.Variable(w) for k, w in LAYERS.items()}
        y = chain(v)
    assert list(tape.gradient(y, v)) == list(LAYERS)


def test_structures_are_equal_in_any_order():
    def f(layers):
        return {"z": layers["hidden"] ** 2, "a": layers["input"]}

    direction = dict.fromkeys(TURNED, 1.0)
    out, tangent = tapec.jvp(f, (LAYERS,), (direction,))
    assert (list(out), tangent) == (["z", "a"], {"z": 6.0, "a": 1.0})
    _, pullback = tapec.vjp(f, LAYERS)
    assert pullback({"a": 2.0, "z": 1.0}) == {"input": 2.0, "hidden": 6.0, "output": 0.0}
    rows = {k: np.full(2, w) for k, w in LAYERS.items()}
    mapped = tapec.vmap(f, in_axes=(dict.fromkeys(TURNED, 0),))(rows)
    np.testing.assert_array_equal(mapped["z"], [9.0, 9.0])
    assert list(tapec.jacobian(f)(LAYERS)["z"]) == list(LAYERS)
