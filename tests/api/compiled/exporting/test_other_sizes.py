"""An exported gradient gives for arrays of other sizes what a fresh one gives, or refuses them."""

import linecache

import numpy as np
import pytest

import tapec
from tests.codegen.golden_functions import CASES

SIZES = (2, 3, 5, 7, 8, 11)


def resized(values, sizes, rng):
    """Return arrays with other sizes in the place of theirs, whose integers are good as indices."""
    found = []
    for x in values:
        if isinstance(x, np.ndarray) and x.shape:
            shape = [sizes.get(n, n) for n in x.shape]
            x = np.resize(x, shape) if x.dtype.kind != "f" else 0.3 + 0.5 * rng.random(shape)
            x = x % min(SIZES) if x.dtype.kind in "iu" else x
        found.append(x)
    return found


def check_other_sizes(function, values, wrt, path, rng, count=6):
    """Export a gradient, and run it for arrays of other sizes; return how many it took."""
    gradient = tapec.value_and_grad(function, argnums=wrt)
    values = [x % min(SIZES) if isinstance(x, np.ndarray) and x.dtype.kind in "iu" else x for x in values]
    gradient.export(path, *values)
    space = {}
    exec(compile(path.read_text(), str(path), "exec"), space)
    exported = space[space["__all__"][0]]
    own = sorted({n for x in values for n in np.shape(x) if n > 1})
    taken = 0
    for _ in range(count):
        given = resized(values, dict(zip(own, rng.choice(SIZES, len(own)).tolist())), rng)
        try:
            wanted = tapec.value_and_grad(function, argnums=wrt)(*given)
        except Exception:  # the function itself does not take these
            continue
        try:
            found = exported(*given)
        except space["Mismatch"]:
            continue
        taken += 1
        for a, b in zip([found[0], *found[1]], [wanted[0], *wanted[1]], strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-7, atol=1e-9)
            assert np.shape(a) == np.shape(b)
    return taken


@pytest.mark.parametrize("name", CASES)
def test_an_exported_gradient_is_right_for_other_sizes_or_refuses_them(name, tmp_path):
    function, values, wrt = CASES[name]
    check_other_sizes(function, values, wrt, tmp_path / "exported.py", np.random.default_rng(5))


# -- random programs --------------------------------------------------------------------------------------------------
# each line gives `t`, which has the shape of A, or adds to the sum `s`; none asks for a size: no export trusts that
LINES = [
    "t = np.tanh(t @ W)",
    "t = t * np.cos(b) + b",
    "t = t - np.mean(t, axis=0)",
    "t = t / (1.0 + np.std(t, axis=1, keepdims=True))",
    "t = np.concatenate([t[:1], t[1:] - t[:-1]])",
    "t = 0.5 * t[::-1] + np.cumsum(t, axis=1)",
    "s = s + np.mean(t * t)",
    "s = s + 2.0 * np.var(t)",
    "s = s + np.sum(np.mean(t, axis=1) ** 2) + np.mean(b)",
    "s = s + np.sum(t[1:] * t[:-1])",
    "s = s + np.sum(t[:2] ** 2)",
    "s = s + np.sum(np.max(t, axis=0)) + np.mean(np.ravel(t)[::2])",
    "s = s + np.sum(np.tanh(t @ W.T @ t.T))",
    "s = s + np.mean(t[y] ** 2)",
    "h = np.zeros_like(t)\n    for k in range(4):\n        h = 0.5 * np.tanh(t + h @ W)\n    t = h",
    "h = t\n    for k in range(5):\n        h = h + 0.1 * np.pad(h[1:], ((0, 1), (0, 0)))\n    t = h",
    "h = b\n    for row in t:\n        h = np.tanh(row + h @ W)\n    s = s + np.mean(h)",
]


def random_program(rng, name):
    """Return a function of random lines, and its text; the source can be read, as that of a file."""
    lines = [LINES[k] for k in rng.choice(len(LINES), rng.integers(2, 5), replace=False)]
    text = "\n    ".join(["def program(A, W, b, y):", "t, s = np.sin(A), 0.0", *lines, "return s + np.sum(t * t)\n"])
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    space = {"np": np}
    exec(compile(text, name, "exec"), space)
    return space["program"], text


@pytest.mark.parametrize("n, d", [(6, 6), (6, 4), (9, 6), (40, 12)])
def test_random_programs_exported_are_right_for_other_sizes_or_refuse_them(n, d, tmp_path):
    """Where both sizes are equal, only what operations do with them tells which is which."""
    taken = 0
    for seed in range(5):
        rng = np.random.default_rng([seed, n, d])
        function, text = random_program(rng, f"<random program {seed} of {n} by {d}>")
        values = [rng.random((n, d)), 0.3 * rng.normal(size=(d, d)), rng.random(d), rng.integers(0, 2, n)]
        try:
            taken += check_other_sizes(function, values, (0, 1, 2), tmp_path / "exported.py", rng)
        except AssertionError as error:
            raise AssertionError(text) from error
    assert taken or n == d
