"""Every line of calls.txt: value and dtype as NumPy's, derivatives in both modes and of order two, vmap, precision."""

import re
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

import tapec
from tests.ops.derivatives import check, inner, leaves, random_like

RNG = np.random.default_rng(5)


def real(*shape):
    return RNG.standard_normal(shape)


SQUARE = real(3, 3) + 3 * np.eye(3)
POOL = {
    "x": real(3, 4),
    "y": real(3, 4),
    "v": real(5),
    "w": real(5),
    "u": real(4),
    "p": RNG.uniform(0.3, 2, (3, 4)),
    "q": RNG.uniform(0.2, 0.8, (3, 4)),
    "m": SQUARE,
    "n": real(3, 3) + 3 * np.eye(3),
    "s": SQUARE @ SQUARE.T + np.diag([0, 3.0, 7]),
    "b3": real(2, 3, 3) + 3 * np.eye(3),
    "b": real(3),
    "B": real(3, 2),
    "z": real(3, 4) + 1j * real(3, 4),
    "zz": real(4) + 1j * real(4),
    "zm": SQUARE + 1j * real(3, 3),
    "t": real(2, 3, 4),
    "c": np.array(1.3),
    "e": real(2, 2, 2, 2),
    "a2": real(4, 3),
    "wide": real(2, 4),
    "r8": real(8),
    "pv": RNG.uniform(0.3, 2, 6),
}


class Call(NamedTuple):
    code: str
    marks: set
    names: list

    def function(self):
        *steps, result = [part.strip() for part in self.code.split(";")]
        body = "\n ".join([*steps, f"return {result}"])
        space = {"np": np, "inf": np.inf, "nan": np.nan}
        exec(f"def f({', '.join(self.names)}):\n {body}", space)
        return space["f"]

    def arrays(self):
        return [POOL[name] for name in self.names]


def read(line):
    code, _, marks = line.partition("##")
    used = [name for name in POOL if re.search(rf"(?<![\w.]){name}(?!\w)(?!=[^=])", code)]
    return Call(code.strip(), set(marks.split()), used)


TEXT = Path(__file__).with_name("calls.txt").read_text()
CALLS = {call.code: call for call in map(read, TEXT.splitlines()) if call.code and not call.code.startswith("#")}
pytestmark = [
    pytest.mark.filterwarnings("ignore"),  # NumPy's own, about sqrt(-1) and the like, and about what it will drop
    pytest.mark.parametrize("code", CALLS),
]


def weighted(f, arrays):
    """The sum of all real and complex results with random weights, in the precision of the results."""
    rng = np.random.default_rng(1)
    given = [(random_like(rng, y), np.asarray(y).dtype) for y in leaves(f(*arrays))]
    weights = [None if w is None else w.astype(dtype) for w, dtype in given]

    def loss(*arrays):
        parts = [(w, y) for w, y in zip(weights, leaves(f(*arrays)), strict=True) if w is not None]
        return sum(np.sum(np.real(np.conj(w) * y) if w.dtype.kind == "c" else w * y) for w, y in parts)

    return loss if any(w is not None for w in weights) else None


@pytest.mark.sampled(one_in=2)
def test_values_and_derivatives(code):
    call = CALLS[code]
    f, arrays = call.function(), call.arrays()
    for got, want in zip(leaves(tapec.compile(f)(*arrays)), leaves(f(*arrays)), strict=True):
        assert np.asarray(got).dtype == np.asarray(want).dtype
        np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-11)
    if weighted(f, arrays) is not None:
        check(f, *arrays, order=1 if "once" in call.marks else 2)


@pytest.mark.sampled(one_in=3)
def test_forward_mode_and_vmap(code):
    call = CALLS[code]
    f, arrays = call.function(), call.arrays()
    loss = weighted(f, arrays)
    if loss is not None:
        directions = [random_like(np.random.default_rng(k), a) for k, a in enumerate(arrays)]
        gradients = tapec.grad(loss, argnums=tuple(range(len(arrays))))(*arrays)
        tangent = tapec.jvp(loss, tuple(arrays), tuple(directions))[1]
        expected = sum(inner(g, d) for g, d in zip(gradients, directions, strict=True))
        np.testing.assert_allclose(tangent, expected, rtol=1e-8, atol=1e-9)
    if "alone" in call.marks:
        with pytest.raises(tapec.errors.UnsupportedError, match="vmap"):
            tapec.vmap(f)(*[np.stack([a, a]) for a in arrays])
        return
    stacks = [np.stack([a, a * 1.01]) for a in arrays]
    found = list(leaves(tapec.vmap(f)(*stacks)))
    for k in range(2):
        for got, want in zip(found, leaves(f(*[a[k].copy() for a in stacks])), strict=True):
            np.testing.assert_allclose(got[k], want, rtol=1e-8, atol=1e-9)


@pytest.mark.sampled(one_in=3)
def test_single_precision(code):
    call = CALLS[code]
    if "double" in call.marks:
        return
    f = call.function()
    arrays = [a.astype(np.complex64 if a.dtype.kind == "c" else np.float32) for a in call.arrays()]
    for got, want in zip(leaves(f(*map(tapec.constant, arrays))), leaves(f(*arrays)), strict=True):
        got = np.asarray(got) if isinstance(got, tapec.Tensor) else got
        assert np.asarray(got).dtype == np.asarray(want).dtype
        if not call.code.startswith("np.linalg.matrix_rank"):
            small = np.asarray(want).dtype.itemsize < 8 or np.asarray(want).dtype == np.complex64
            double = 1e-12 if "polyfit" not in call.code else 1e-6  # whose weights NumPy applies in single precision
            np.testing.assert_allclose(got, want, rtol=1e-5 if small else double, atol=1e-5 if small else double)
    loss = weighted(f, arrays)
    if loss is not None:
        gradients = tapec.grad(loss, argnums=tuple(range(len(arrays))))(*arrays)
        for g, a in zip(gradients, arrays, strict=True):
            assert g.dtype == a.dtype and g.shape == a.shape
