"""Drawn programs on matrices, with lookups and picks by row, in blocks: against the interpreter."""

import numpy as np
import pytest

from tapec.codegen import tuning
from tests.codegen.kit import check, gradient_of
from tests.properties import block_loops

STEPS = {
    "tanh": lambda m, n, a, b, i: np.tanh(m),
    "product": lambda m, n, a, b, i: m * n,
    "rows scaled": lambda m, n, a, b, i: m * a[:, None],
    "row added": lambda m, n, a, b, i: m + b * 0.3,
    "maximum": lambda m, n, a, b, i: np.maximum(m, 0.1),
    "difference": lambda m, n, a, b, i: m - n * 0.5,
    "largest": lambda m, n, a, b, i: m - np.max(m, axis=1, keepdims=True),
    "outer": lambda m, n, a, b, i: (a[:, None] * b) * m,
}
ENDS = {
    "squares": lambda m, w, b, i: np.sum(m * m) * 0.1,
    "layer": lambda m, w, b, i: np.sum(np.tanh(m @ w)),
    "lookup": lambda m, w, b, i: np.sum(np.tanh(m[i] @ b)),
    "picked": lambda m, w, b, i: np.sum(m[np.arange(m.shape[0]), i % m.shape[1]]),
}


def program(rng):
    """A function that does some steps, and adds up some ends."""
    drawn = [(rng.choice([*STEPS, *ENDS]), *rng.integers(0, 1 << 30, 2)) for _ in range(rng.integers(4, 14))]

    def f(x, w, a, b, i):
        made, total = [x], 0.0
        for name, j, k in drawn:
            m, n = made[j % len(made)], made[k % len(made)]
            if name in STEPS:
                made.append(STEPS[name](m, n, a, b, i))
            else:
                total = total + ENDS[name](m, w, b, i)
        return total + np.mean(made[-1])

    return f


@pytest.mark.sampled(one_in=4)
@pytest.mark.parametrize("big", [32, 1024])
@pytest.mark.parametrize("in_blocks", [False, True])
@pytest.mark.parametrize("shape", [(40, 30), (64, 64)])
def test_drawn_programs(big, in_blocks, shape, monkeypatch):
    monkeypatch.setattr(tuning, "BUFFER_MIN_BYTES", big)
    monkeypatch.setattr(tuning, "BUFFER_ALWAYS_MIN_BYTES", big)
    if in_blocks:
        monkeypatch.setattr(tuning, "LARGE_MIN_BYTES", 256)
        monkeypatch.setattr(tuning, "BLOCK_MAX_BYTES", 1 << 13)
        monkeypatch.setattr(tuning, "BLOCK_VALUE_MIN_BYTES", 1 << 9)
    for seed in range(25):
        rng = np.random.default_rng((seed, big, in_blocks, *shape))
        f = program(rng)
        n, m = shape
        values = [0.5 * rng.normal(size=s) for s in (shape, (m, 5), n, m)] + [rng.integers(0, n, n)]
        check(gradient_of(f, *values, wrt=(0, 1, 2, 3)), *values)


# -- what such programs brought to light -----------------------------------------------------------------------------
LABELS = np.random.default_rng(0).integers(0, 400, 512)
PICK = np.arange(512), LABELS
X = np.random.default_rng(1).normal(size=(512, 400))


def test_picks_of_several_values_are_added_when_all_is_read():
    """The array of the sum is lent to values that are read while it is written."""

    def f(x):
        return np.sum(x[PICK]) + np.sum(np.tanh(x)[PICK]) + np.mean(np.maximum(x, 0.1))

    assert block_loops(check(gradient_of(f, X), X))


def test_a_short_column_that_lives_on_keeps_its_name():
    def f(x, a, b, i):
        t = np.maximum(x, 0.1) * a[:, None]
        picked = (x * a[:, None])[i]
        return np.sum(np.tanh(picked @ b)) + np.mean((a[:, None] * b) * t)

    values = X, X[:, 0].copy(), X[0].copy(), np.random.default_rng(2).integers(0, 512, 512)
    assert block_loops(check(gradient_of(f, *values, wrt=(0, 1, 2)), *values))
