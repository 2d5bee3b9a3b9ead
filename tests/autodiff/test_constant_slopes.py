"""Slopes that are numbers or operands: rules are asked once, and what comes of it is what they give at each node."""

import numpy as np
import pytest

import tapec
from tapec.autodiff import forward, reverse
from tapec.autodiff.constant_slopes import Operand, plain_slopes
from tapec.ir import OPS


def slopes(name: str, count: int) -> list[int] | None:
    """Places of operands count from 10."""
    found = plain_slopes(OPS[name], count)
    return None if found is None else [s.place + 10 if isinstance(s, Operand) else s for s in found]


def test_sums_and_products_have_plain_slopes():
    assert slopes("add", 2) == [1, 1]
    assert slopes("subtract", 2) == [1, -1]
    assert slopes("multiply", 2) == [11, 10]
    assert slopes("negative", 1) == [-1]


@pytest.mark.parametrize(
    ("name", "count"), [("sin", 1), ("square", 1), ("exp", 1), ("power", 2), ("divide", 2), ("maximum", 2), ("sum", 1)]
)
def test_others_have_none(name, count):
    assert slopes(name, count) is None


X = np.array([0.5, -1.5, 2.0])
PROGRAMS = {
    "products": lambda x: x[0] * x[1] * x[2] + x[0] * 3.0 - 2 * x[1] * x[0],
    "signs": lambda x: -(x[0] - x[1]) * -x[2] - (x[0] - -x[1] * x[2]),
    "broadcast": lambda x: ((x[:, None] - x) * x[0] * np.arange(3.0)).sum(),
    "precisions": lambda x: (x.astype(np.float32) * x * np.float32(0.1) * x.astype(np.float32)).sum(),
    "masks": lambda x: ((x > 0) * x * x + (x > 1) * 2 * x).sum(),
    "whole numbers": lambda x: (np.arange(3) * x * x * np.int32(3)).sum(),
    "weak numbers": lambda x: 2 * x[0] * x[1] * True + 3 * (x[2] * 0.5),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_they_give_what_the_rules_give(name, monkeypatch):
    f = PROGRAMS[name]
    found = tapec.value_and_grad(f)
    value, grad = found(X)
    monkeypatch.setattr(reverse, "plain_parts", lambda *args: None)
    by_rule = tapec.value_and_grad(f)
    expected, slope = by_rule(X)
    assert value == expected
    assert grad.dtype == slope.dtype
    np.testing.assert_array_equal(grad, slope)
    assert str(found.ir(X, stage="gradient")) == str(by_rule.ir(X, stage="gradient"))


@pytest.mark.parametrize("name", PROGRAMS)
def test_tangents_are_what_the_rules_give(name, monkeypatch):
    f, t = PROGRAMS[name], np.array([0.3, 2.0, -1.0])
    found = tapec.jvp(f, (X,), (t,))
    monkeypatch.setattr(forward, "plain_parts", lambda *args: None)
    expected = tapec.jvp(lambda x: f(x), (X,), (t,))
    assert [type(x) for x in found] == [type(x) for x in expected]
    np.testing.assert_allclose(found, expected, rtol=1e-14)
