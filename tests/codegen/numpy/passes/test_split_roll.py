"""Rolled summands are added in two parts, or in a loop over blocks where there is one, with the same numbers."""

import numpy as np
import pytest

import tapec
from tapec.ir import parse
from tests.codegen.kit import check, gradient_of, graph_of
from tests.properties import allocates, before_loop, block_loops, call_count, calls, count_of, updates

rng = np.random.default_rng(5)
MEDIUM = rng.normal(size=(120, 100))
LARGE = rng.normal(size=(400, 400))
MEDIUM[3, 4], MEDIUM[50, 60], MEDIUM[0, 0] = np.inf, np.nan, -0.0


def exact(f, *values):
    """The code of f, whose results are those of NumPy to the last bit."""
    found = tapec.compile(f)
    with np.errstate(all="ignore"):
        for got, wanted in zip(np.ravel(found(*values)), np.ravel(f(*values)), strict=True):
            assert got.tobytes() == wanted.tobytes()
    return found.source(*values)


@pytest.mark.parametrize("shift", [1, -1, 7, -30])
def test_rolled_summands_are_added_in_two_parts(shift):
    for f in (
        lambda x, y: np.exp(y) + np.roll(x, shift, 0),
        lambda x, y: np.roll(x, shift, 0) + np.exp(y),
        lambda x, y: np.exp(y) - np.roll(x * x, shift, 0),
    ):
        source = exact(f, MEDIUM, np.abs(MEDIUM[::-1]) - 1.0)
        assert not calls(source, "concatenate") and updates(source, "+ -") == 2


@pytest.mark.parametrize(
    "f",
    [
        lambda x, y: np.roll(x, 1, 0) - np.exp(y),  # it is not what is added
        lambda x, y: y + np.roll(x, 1, 0),  # an argument is not written
        lambda x, y: y[::-1] + np.roll(x, 1, 0),
        lambda x, y: np.exp(y) * np.roll(x, 1, 0),
        lambda x, y: np.exp(y[:8]) + np.roll(x[:8], 1, 0),  # little
        lambda x, y: np.exp(y) + np.roll(x, 1, 1),  # parts of rows
        lambda x, y: np.exp(y) + np.roll(x, (1, 2), (0, 1)),
    ],
)
def test_other_rolls_make_an_array(f):
    source = exact(f, MEDIUM, MEDIUM[::-1].copy())
    assert not updates(source, "+", "_[1:]") and call_count(source, "np.roll", "np.concatenate")


def test_rolls_read_twice_make_an_array():
    def f(x, y):
        r = np.roll(x, 1, 0)
        s = np.exp(y)
        return s + r, s * r, np.tanh(s) + np.roll(y, 1, 0)

    compiled = check(graph_of(f, MEDIUM, MEDIUM), MEDIUM, MEDIUM)
    assert call_count(compiled, "np.concatenate") == 1 and updates(compiled, "+", "_[1:]")


def energy(u):
    dx, dy = np.roll(u, -1, 0) - u, np.roll(u, -1, 1) - u
    return np.sum(0.5 * (dx**2 + dy**2) + 0.25 * (1.0 - u**2) ** 2)


def test_rows_are_rolled_in_the_loop():
    """Along rows a block at a time; across them before and after, without another array."""
    compiled = check(gradient_of(energy, LARGE), LARGE)
    (loop,) = block_loops(compiled)
    assert call_count(loop, "np.roll") == 2 == count_of(loop, "np.roll(_, _, axis=1)")
    assert call_count(compiled, "np.roll") == 3 and updates(compiled, "+", "d_x[1:]")
    assert allocates(compiled) == allocates(compiled, "empty", (400, 400)) == 1
    slope = tapec.grad(energy)(LARGE)
    wanted = LARGE**3 - LARGE + 4 * LARGE
    for shift, axis in ((1, 0), (-1, 0), (1, 1), (-1, 1)):
        wanted -= np.roll(LARGE, shift, axis)
    np.testing.assert_allclose(slope, wanted, atol=1e-12)


def test_a_loop_that_reads_the_sum_reads_a_rolled_array():
    def f(u, v):
        return np.sum(np.tanh(np.exp(v) + np.roll(u, 1, 0)) * v)

    compiled = check(gradient_of(f, LARGE, LARGE), LARGE, LARGE)
    assert calls(before_loop(compiled), "np.roll") and not updates(before_loop(compiled))


@pytest.mark.parametrize("shift", [-5, -1, 0, 1, 2, 3, 4])
@pytest.mark.parametrize("shape", [(3, 4), (400, 300), (1, 3)])
def test_any_shift(shape, shift):
    """A shift below zero, or beyond the axis, had given parts of types with fewer rows than none."""
    t = f"f64[{shape[0]},{shape[1]}]"
    graph = parse(
        f"""graph(%x: {t}, %y: {t}) {{
        %0: {t} = multiply %x, 2.0
        %1: {t} = roll %0 {{shift=({shift},), axis=(0,)}}
        %2: {t} = multiply %y, %y
        %3: {t} = add %2, %1
        %4: {t} = roll %y {{shift=({shift}, {shift}), axis=(0, 1)}}
        return %3, %4
        }}"""
    )
    with tapec.settings(verify=True):
        check(graph, rng.normal(size=shape), rng.normal(size=shape))
