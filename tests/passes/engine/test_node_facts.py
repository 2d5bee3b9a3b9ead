"""What is known of values."""

import numpy as np
import pytest

from tapec.ir import interpret, parse
from tapec.passes.engine.node_facts import (
    is_identity,
    is_nonnegative,
    is_positive,
    is_power_of_two,
    is_zero,
    uniform_value,
)
from tapec.testing.rewrites import SPECIAL, sample_inputs
from tests.passes.support import text


def last(body, inputs="%x: f64[3], %y: f64[3]"):
    return parse(text(inputs, body)).outputs[0]


@pytest.mark.parametrize(
    ("body", "value"),
    [
        ("return 2.5", 2.5),
        ("return True", True),
        ("constant {value=2.5}", 2.5),
        ("constant {value=[2.5]}", None),
        ("full {shape=(3,), value=2.5, dtype=f64}", 2.5),
        ("full {shape=(3,), value=2.5, dtype=i64}", 2),
        ("full {shape=(3,), value=0.1, dtype=f32}", float(np.float32(0.1))),
        ("full {shape=(3,), value=1, dtype=c128}", 1 + 0j),
        ("sin %x", None),
        ("return %x", None),
    ],
)
def test_uniform_values(body, value):
    found = uniform_value(last(body))
    assert found == value and type(found) is type(value)


def test_zeros():
    assert is_zero(last("return -0.0")) and is_zero(last("full {shape=(3,), value=0, dtype=i64}"))
    assert not is_zero(last("return 5e-324")) and not is_zero(last("sin %x"))


def test_powers_of_two():
    assert all(map(is_power_of_two, (1, 2.0, -4, 0.5, 2.0**-999)))
    assert not any(map(is_power_of_two, (0, 3.0, float("inf"), float("nan"), 5e-324, 2.0**1023)))


SURE = [
    "exp %x",
    "absolute %x",
    "multiply %x, %x",
    "square %x",
    "multiply %x, %x; add %0, 1.0; sqrt %1",
    "exp %x; absolute %y; divide %0, %1",
    "absolute %x; sum %0 {axis=(0,), keepdims=False}",
    "absolute %x; reshape %0 {shape=(3, 1)}",
    "absolute %x; power %0, 0.5",
    "full {shape=(3,), value=2.0, dtype=f64}",
    "hypot %x, %y",
    "power %x, 2",
    "power %x, 4.0",
    "norm %x {ord=2.0, axis=(0,), keepdims=False}",
    "var %x {axis=(0,), ddof=0, keepdims=False}",
]


def check_known(fact, body, draw, is_so):
    """The fact is known of what a program computes, and true for numbers that are drawn."""
    graph = parse(text("%x: f64[3], %y: f64[3]", body))
    assert fact(graph.outputs[0])
    for _ in range(20):
        (value,) = interpret(graph, *draw(graph))
        assert np.all(is_so(value))


@pytest.mark.parametrize("body", SURE)
def test_nonnegative(body, rng):
    def draw(graph):
        return sample_inputs(graph, rng, SPECIAL[""])

    check_known(is_nonnegative, body, draw, lambda value: ~np.signbit(value) | np.isnan(value))


@pytest.mark.parametrize(
    "body",
    ["return %x", "negative %x", "multiply %x, %y", "return -0.0", "sqrt %x", "absolute %x; subtract %0, 1.0"]
    + ["absolute %x; absolute %y; negative %1; add %0, %2", "absolute %x; multiply %0, %y", "greater %x, %y"]
    + ["power %x, 3", "power 2.0, %x", "power %x, -2.0"],
)
def test_not_known_to_be_nonnegative(body):
    assert not is_nonnegative(last(body))


POSITIVE = [
    "return 2.5",
    "full {shape=(3,), value=2.0, dtype=f64}",
    "exp %x",
    "exp %x; sqrt %0",
    "exp %x; exp2 %y; multiply %0, %1",
    "exp %x; sum %0 {axis=(0,), keepdims=False}",
    "absolute %x; add %0, 1e-6",
    "multiply %x, %x; exp %y; add %1, %0",
    "exp %x; cosh %y; add %0, %1",
    "maximum %x, 0.5",
]
NOT_POSITIVE = [
    "return 0.0",
    "return -2.0",
    "return %x",
    "full {shape=(3,), value=0.0, dtype=f64}",
    "absolute %x",
    "add %x, 1.0",
    "exp %x; add %0, %y",
    "exp %x; subtract %0, 1e-6",
    "exp %x; negative %0",
    "exp %x; multiply %0, %y",
    "maximum %x, 0.0",
]


@pytest.mark.parametrize("body", POSITIVE)
def test_positive(body, rng):
    check_known(is_positive, body, lambda graph: rng.standard_normal((2, 3)), lambda value: value > 0)


@pytest.mark.parametrize("body", NOT_POSITIVE)
def test_not_known_to_be_positive(body):
    assert not is_positive(last(body))


def test_complex_squares_may_be_anything():
    assert not is_nonnegative(last("multiply %z, %z", "%z: c128[3]"))


@pytest.mark.parametrize(
    ("body", "known"),
    [
        ("eye {n=3, m=3, k=0, dtype=f64}", True),
        ("constant {value=[[1.0, 0.0], [0.0, 1.0]]}", True),
        ("eye {n=3, m=4, k=0, dtype=f64}", False),
        ("eye {n=3, m=3, k=1, dtype=f64}", False),
        ("constant {value=[[1.0, 0.0], [0.0, 2.0]]}", False),
        ("constant {value=[[0.0, 1.0], [1.0, 0.0]]}", False),
        ("constant {value=[[1.0, nan], [0.0, 1.0]]}", False),
        ("full {shape=(3, 3), value=1.0, dtype=f64}", False),
    ],
)
def test_identities(body, known):
    assert is_identity(last(body)) is known
