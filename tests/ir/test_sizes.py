"""Where the length of an axis comes from."""

import numpy as np
import pytest

from tapec.ir.sizes import size_name
from tests.codegen.kit import graph_of

rng = np.random.default_rng(0)
X, W, B, INDEX = rng.normal(size=(6, 4)), rng.normal(size=(4, 6)), rng.normal(size=6), np.array([1, 0, 3])


@pytest.mark.parametrize(
    ("f", "axes", "name"),
    [
        (lambda x, w, b, i: np.sin(x) * 2.0, (0, 1), "size('x')"),
        (lambda x, w, b, i: np.sin(x) * 2.0, (0,), "size('x', 0)"),
        (lambda x, w, b, i: x @ w + b, (0,), "size('x', 0)"),
        (lambda x, w, b, i: x @ w + b, (1,), "size('z')"),
        (lambda x, w, b, i: x @ w, (1,), "size('y', 1)"),
        (lambda x, w, b, i: x @ w, (0, 1), "size('x', 0) * size('y', 1)"),
        (lambda x, w, b, i: (x @ w).T, (1,), "size('x', 0)"),
        (lambda x, w, b, i: np.sum(x, axis=0), (0,), "size('x', 1)"),
        (lambda x, w, b, i: np.sum(x, axis=1, keepdims=True), (0, 1), None),
        (lambda x, w, b, i: np.max(x, axis=1, keepdims=True), (0,), "size('x', 0)"),
        (lambda x, w, b, i: x[i], (0,), "size('u')"),
        (lambda x, w, b, i: x[i], (1,), "size('x', 1)"),
        (lambda x, w, b, i: x[:, None] * x, (0,), "size('x', 0)"),
        (lambda x, w, b, i: np.cumsum(x, axis=0), (0,), "size('x', 0)"),
    ],
)
def test_the_source_of_a_length(f, axes, name):
    (output,) = graph_of(f, X, W, B, INDEX).outputs
    if output.type.shape == (6, 1):
        axes = (0,) if name else (1,)
    assert size_name(output, axes) == name
