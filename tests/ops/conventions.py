"""Gradients at the edges, as data: the test computes them, `docs/conventions.md` shows them.

A row is the expression, the values of its variables, the gradients of its sum by them, and a word on why.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

__all__ = ["CONVENTIONS", "Row"]

inf, nan = np.inf, np.nan
NO_YES, DATA = [False, True], [[inf, nan], [1.0, 2.0]]
ZERO, ONE = [[0.0, 0.0], [0.0, 0.0]], [[1.0, 0.0], [0.0, 1.0]]


class Row(NamedTuple):
    """One convention: `grads` in the order of `at`."""

    code: str
    at: dict[str, Any]
    grads: list[Any]
    why: str = ""
    second: list[float] | None = None  # the derivative of the sum of the first gradient, which `why` tells of


CONVENTIONS = {
    "Powers": [
        Row("x**n", {"x": [0.0], "n": [0.0]}, [[0], [0]], "0⁰ is 1, and flat"),
        Row("x**n", {"x": [0.0], "n": [2.0]}, [[0], [0]]),
        Row("x**n", {"x": [-2.0, -1.0], "n": [2.0, 3.0]}, [[-4, 3], [0, 0]], "no logarithm of a negative base"),
        Row("x**0", {"x": [0.0, 2.0]}, [[0, 0]]),
        Row("x**1", {"x": [0.0, 2.0]}, [[1, 1]], "the second derivative is 0", [0, 0]),
        Row("x**2", {"x": [0.0, 2.0]}, [[0, 4]]),
        Row("0.0**n", {"n": [2.0, 3.0]}, [[0, 0]]),
        Row("np.float_power(x, 2)", {"x": [0.0]}, [[0]]),
        Row("np.sqrt(x * x * x * x)", {"x": [0.0, 2.0]}, [[0, 4]], "a power of a power is one power"),
        Row("np.cbrt(x) * np.cbrt(x) * np.cbrt(x)", {"x": [0.0, 8.0]}, [[1, 1]]),
        Row("x * x * np.sqrt(x)", {"x": [0.0, 4.0]}, [[0, 20]]),
        Row("x * x * np.sqrt(x * y)", {"x": [0.0, 4.0], "y": [1.0, 1.0]}, [[0, 20], [0, 16]], "roots of factors"),
        Row("np.sqrt(x**3 * y)", {"x": [0.0, 4.0], "y": [1.0, 1.0]}, [[0, 3], [0, 4]]),
    ],
    "Lengths": [
        Row("np.hypot(x, y)", {"x": [0.0], "y": [0.0]}, [[0], [0]], "zero at the origin, at every order"),
        Row("np.arctan2(x, y)", {"x": [0.0], "y": [0.0]}, [[0], [0]], "so are angles, which jump there"),
        Row("np.linalg.norm(x)", {"x": [0.0, 0.0]}, [[0, 0]]),
        Row("np.linalg.norm(x)**2", {"x": [0.0, 0.0]}, [[0, 0]], "squares are smooth: second derivative 2", [2, 2]),
        Row("np.linalg.norm(x, -1)", {"x": [0.0, 3.0]}, [[0, 0]]),
        Row("(x @ x) * np.sqrt(x @ x)", {"x": [0.0, 0.0]}, [[0, 0]], "so are higher powers"),
        Row("np.sqrt(np.sum(np.square(x * x)))", {"x": [0.0, 0.0]}, [[0, 0]], "and roots of what is flat"),
        Row("np.std(x)", {"x": [1.0, 1.0, 1.0]}, [[0, 0, 0]], "equal values"),
        Row("np.std(x, where=[True, True, False])", {"x": [1.0, 1.0, 2.0]}, [[0, 0, 0]]),
        Row("np.nanstd(x)", {"x": [1.0, 1.0, nan]}, [[0, 0, 0]]),
        Row("np.abs(x)", {"x": [0.0, -2.0]}, [[0, -1]]),
        Row("np.abs(z)", {"z": [0j, 3 + 4j]}, [[0, 0.6 + 0.8j]]),
        Row("np.sinc(x)", {"x": [0.0]}, [[0]], "with the right second derivative, −π²/3", [-(np.pi**2) / 3]),
    ],
    "Logarithms": [
        Row("np.logaddexp(x, y)", {"x": [-inf], "y": [-inf]}, [[0], [0]]),
        Row("np.logaddexp(x, y)", {"x": [-inf], "y": [1.0]}, [[0], [1]]),
        Row("np.logaddexp(x, y)", {"x": [inf], "y": [1.0]}, [[1], [0]]),
        Row("np.logaddexp(x, y)", {"x": [inf], "y": [inf]}, [[0.5], [0.5]], "evenly"),
        Row("np.logaddexp2(x, y)", {"x": [-inf], "y": [-inf]}, [[0], [0]]),
        Row("np.logaddexp2(x, y)", {"x": [-inf], "y": [inf]}, [[0], [1]]),
        Row("special.softplus(x)", {"x": [0.0, inf]}, [[0.5, 1]]),
        Row("np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))", {"x": [0.0]}, [[0.5]], "smooth at zero"),
        Row("np.minimum(x, 0) - np.log1p(np.exp(-np.abs(x)))", {"x": [0.0]}, [[0.5]]),
        Row("np.where(x >= 0, 1, e := np.exp(-np.abs(x))) / (1 + e)", {"x": [0.0]}, [[0.25]], "a sigmoid, likewise"),
        Row("np.where(x > 0, np.sqrt(x), 0)", {"x": [0.0, 4.0]}, [[0, 0.25]], "the branch not taken is silent"),
        Row("np.where(x > 0, np.log(x), x)", {"x": [-1.0, 4.0]}, [[1, 0.25]]),
        Row("np.where(x != 0, 1 / x, 0)", {"x": [0.0, 2.0]}, [[0, -0.25]]),
        Row("np.nan_to_num(x)", {"x": [nan, inf, 1.0]}, [[0, 0, 1]]),
    ],
    "What is not taken": [
        Row("np.log(x)[x > 0]", {"x": [0.0, 4.0]}, [[0, 0.25]], "what is not read is silent"),
        Row("np.log(x)[1:]", {"x": [0.0, 4.0]}, [[0, 0.25]]),
        Row("np.max(np.sqrt(x))", {"x": [0.0, 4.0]}, [[0, 0.25]]),
        Row("np.sum(np.log(x), where=x > 0)", {"x": [0.0, 4.0]}, [[0, 0.25]]),
        Row("np.divide(1, x, where=x != 0, out=np.zeros_like(x))", {"x": [0.0, 2.0]}, [[0, -0.25]]),
        Row("np.where(x > 0, x / np.sum(x, 0, keepdims=True), 0)", {"x": [0.0, 0.0]}, [[0, 0]], "nor through sums"),
        Row("np.where(x > 0, np.sqrt(x), 0) + np.where(x > 1, x, 0)", {"x": [0.0, 4.0]}, [[0, 1.25]], "two masks"),
        Row("np.cumsum(1 / x)[:1]", {"x": [2.0, 0.0]}, [[-0.25, 0]], "in running sums, too"),
        Row("np.cumprod(np.sqrt(x))[:1]", {"x": [4.0, 0.0]}, [[0.25, 0]]),
        Row("np.diff(np.sqrt(x))[1:]", {"x": [0.0, 1.0, 4.0]}, [[0, -0.5, 0.25]]),
        Row("np.trace(np.sqrt(a))", {"a": [[4.0, 0.0], [0.0, 1.0]]}, [[[0.25, 0], [0, 0.5]]]),
        Row("np.trace(a * b)", {"a": ONE, "b": [[3.0, nan], [inf, 2.0]]}, [[[3, 0], [0, 2]], [[1, 0], [0, 1]]]),
        Row("np.median(np.sqrt(x))", {"x": [0.0, 4.0, 9.0]}, [[0, 0.25, 0]]),
        Row("np.partition(np.sqrt(x), 1)[1:]", {"x": [0.0, 4.0]}, [[0, 0.25]]),
        Row("np.nanmedian(np.where(x > 0, np.sqrt(x), np.nan))", {"x": [0.0, 4.0]}, [[0, 0.25]]),
        Row("np.where(m, X @ w, 0)", {"m": NO_YES, "X": DATA, "w": [2.0, 3.0]}, [None, [[0, 0], [2, 3]], [1, 2]]),
    ],
    "Entropies and exponentials": [
        Row("special.xlogy(x, y)", {"x": [0.0, 2.0], "y": [0.0, 1.0]}, [[0, 0], [0, 2]], "0 log 0 is 0, and flat"),
        Row("special.xlog1py(x, y)", {"x": [0.0], "y": [-1.0]}, [[0], [0]]),
        Row("special.entr(x)", {"x": [0.0, 1.0]}, [[0, -1]], "likewise, though infinitely steep beside it"),
        Row("special.entr(special.softmax(x))", {"x": [800.0, 0.0]}, [[0, 0]], "a share that underflows"),
        Row("special.rel_entr(x, y)", {"x": [0.0, 1.0, 0.0], "y": [0.0, 1.0, 2.0]}, [[1, 1, 1], [0, -1, 0]]),
        Row("special.kl_div(x, y)", {"x": [0.0, 1.0, 0.0], "y": [0.0, 1.0, 2.0]}, [[0, 0, 0], [1, 0, 1]]),
        Row("special.logsumexp(x)", {"x": [-inf, 1.0]}, [[0, 1]]),
        Row("special.logsumexp(x)", {"x": [-inf, -inf]}, [[0, 0]]),
        Row("special.logsumexp(x)", {"x": [inf, 1.0]}, [[1, 0]]),
        Row("special.logsumexp(x)", {"x": [inf, 1.0, inf]}, [[0.5, 0, 0.5]], "evenly"),
        Row("np.log(special.softmax(x)[1:])", {"x": [800.0, 0.0]}, [[-1, 1]], "shares that underflow"),
        Row("special.xlogy(0.5, special.softmax(x)[1:])", {"x": [800.0, 0.0]}, [[-0.5, 0.5]]),
        Row("special.rel_entr(0.5, special.softmax(x)[1:])", {"x": [800.0, 0.0]}, [[0.5, -0.5]]),
        Row("np.log(special.expit(x))", {"x": [-800.0, 0.0]}, [[1, 0.5]], "probabilities, too"),
        Row("np.log(1 - special.expit(x))", {"x": [800.0, 0.0]}, [[-1, -0.5]], "though the value is -inf"),
        Row("np.log1p(-special.expit(x))", {"x": [800.0, 0.0]}, [[-1, -0.5]]),
        Row("np.sqrt(y * special.softmax(x))", {"x": [800.0, 0.0], "y": [1.0, 1.0]}, [[0, 0], [0.5, 0]]),
        Row("(y * np.exp(x)) ** 2.5", {"x": [0.0, 0.0], "y": [0.0, 1.0]}, [[0, 2.5], [0, 2.5]], "a weight of zero"),
        Row("(1 + np.exp(x)) ** -2", {"x": [0.0, 800.0]}, [[-0.25, 0]]),
        Row("x / np.expm1(x)", {"x": [800.0, -800.0]}, [[0, -1]]),
        Row("special.softmax(x) * [1, 0]", {"x": [1000.0, 1000.0]}, [[0.25, -0.25]], "no overflow"),
        Row("special.softmax(x) * [1, 0]", {"x": [-inf, 0.0]}, [[0, 0]]),
        Row("special.log_softmax(x) * [1, 0]", {"x": [1000.0, 1000.0]}, [[0.5, -0.5]]),
        Row("special.expit(x)", {"x": [-1000.0, 1000.0]}, [[0, 0]]),
        Row("np.sqrt(special.softmax(x))", {"x": [800.0, 0.0]}, [[0, 0]], "roots of what underflows"),
        Row("(np.exp(x) / np.sum(np.exp(x)))**0.3", {"x": [1.0, -800.0]}, [[0, 0]]),
        Row("np.sqrt(1 - special.softmax(x))", {"x": [800.0, 0.0]}, [[0, 0]], "and of what a share leaves of one"),
        Row("np.sqrt(1 - np.tanh(x))", {"x": [800.0, 0.0]}, [[0, -0.5]]),
        Row("np.sqrt(np.sum(special.softmax(x)[1:]))", {"x": [800.0, 0.0, 0.0]}, [[0, 0, 0]]),
        Row(
            "special.betainc(2.0, 3.0, x)",
            {"x": [0.0, 0.5, 1.0]},
            [[0, 1.5, 0]],
            "with second derivatives at both ends",
        ),
        Row("x / np.cosh(x)", {"x": [-800.0, 0.0]}, [[0, 1]], "and what is over something infinite"),
        Row("1 / (1 + 2 * np.exp(x)) ** 2", {"x": [-800.0, 800.0]}, [[0, 0]], "and powers of it"),
        Row("np.exp(-np.exp(x))", {"x": [-800.0, 0.0, 800.0]}, [[0, -np.exp(-1), 0]], "what is flat far out"),
        Row("x / (1 + np.exp(-x))", {"x": [-800.0, 0.0]}, [[0, 0.5]]),
    ],
    "Matrices": [
        Row("np.linalg.det(a)", {"a": [[1.0, 2.0], [2.0, 4.0]]}, [[[4, -2], [-2, 1]]], "cofactors, singular or not"),
        Row("np.linalg.det(a)", {"a": ZERO}, [ZERO]),
        Row("np.linalg.cholesky(a)", {"a": [[4.0, 2.0], [2.0, 5.0]]}, [[[0.1875, 0.125], [0.125, 0.25]]], "symmetric"),
        Row("np.linalg.eigvalsh(a)", {"a": ONE}, [ONE], "equal eigenvalues"),
        Row("np.linalg.eigvalsh(a)[:1]", {"a": [[1.0, 1.0], [9.0, 1.0]]}, [[[0.5, 0], [-1, 0.5]]], "lower triangle"),
        Row("(v := np.linalg.eigh(a)[1]) @ v.T", {"a": ONE}, [ZERO], "whichever vectors: their product stays"),
        Row(
            "(f := np.linalg.eigh(a))[1] * np.sqrt(f[0]) @ f[1].T",
            {"a": ONE},
            [[[0.5, 0], [1, 0.5]]],
            "a function of a",
        ),
        Row("np.square(np.linalg.svd(a)[1])", {"a": ONE}, [[[2, 0], [0, 2]]], "equal singular values"),
        Row("(f := np.linalg.svd(a))[0] * f[1] @ f[2]", {"a": ONE}, [[[1, 1], [1, 1]]], "the matrix itself"),
        Row("(f := np.linalg.svd(a))[0] * f[1] @ f[2]", {"a": ZERO}, [[[1, 1], [1, 1]]], "at zero, too"),
        Row("((f := np.linalg.svd(a))[0] @ f[2])[0, 1]", {"a": ONE}, [[[0, 0.5], [-0.5, 0]]], "its polar factor"),
        Row("np.linalg.pinv(a)", {"a": [[2.0, 0.0], [0.0, 0.0]]}, [[[-0.25, 0.25], [0.25, 0]]], "along equal rank"),
    ],
    "Products with zeros": [
        Row("np.prod(x)", {"x": [2.0, 0.0, 4.0]}, [[0, 8, 0]]),
        Row("np.prod(x)", {"x": [0.0, 0.0, 4.0]}, [[0, 0, 0]]),
        Row("np.cumprod(x)", {"x": [2.0, 0.0, 4.0]}, [[1, 10, 0]]),
        Row("np.cumprod(x)", {"x": [0.0, 0.0, 4.0]}, [[1, 0, 0]]),
    ],
    "Ties": [
        Row("np.maximum(x, y)", {"x": [1.0, 2.0], "y": [1.0, 3.0]}, [[1, 0], [0, 1]], "all to the first"),
        Row("np.minimum(x, y)", {"x": [1.0, 2.0], "y": [1.0, 3.0]}, [[1, 1], [0, 0]]),
        Row("np.maximum(0, x)", {"x": [0.0, 2.0]}, [[0, 1]], "relu: 0 at 0"),
        Row("np.fmax(x, y)", {"x": [nan, 1.0], "y": [1.0, nan]}, [[0, 1], [1, 0]]),
        Row("np.max(x)", {"x": [3.0, 1.0, 3.0]}, [[0.5, 0, 0.5]], "evenly"),
        Row("np.min(x)", {"x": [1.0, 1.0, 2.0]}, [[0.5, 0.5, 0]]),
        Row("np.clip(x, 0, 1)", {"x": [0.0, 1.0, -1.0, 2.0]}, [[1, 1, 0, 0]], "passes at both bounds"),
        Row("np.clip(x, 0, None)", {"x": [0.0, -1.0]}, [[1, 0]]),
        Row("np.sort(x) * np.array([1, 2, 3])", {"x": [1.0, 1.0, 0.0]}, [[2, 3, 1]], "stable"),
    ],
    "Steps": [
        Row("np.sign(x)", {"x": [0.0, -2.0]}, [[0, 0]], "zeros, not None"),
        Row("x % y", {"x": [7.5, -1.0], "y": [2.0, 2.0]}, [[1, 1], [-3, 1]], "1 and −floor(x / y)"),
        Row("np.fmod(x, y)", {"x": [-7.5], "y": [2.0]}, [[1], [3]]),
        Row("np.heaviside(x, h)", {"x": [0.0, 1.0], "h": [0.5, 0.5]}, [[0, 0], [1, 0]]),
        Row("np.floor(x)", {"x": [1.5]}, [None], "so are ceil, round, trunc, //, comparisons"),
        Row("np.zeros_like(x)", {"x": [1.5]}, [None]),
    ],
    "Complex numbers": [
        Row("z * z", {"z": [1 + 2j]}, [[2 - 4j]], "conj(dy/dz): z − lr · grad descends"),
        Row("np.real(z)", {"z": [1 + 2j]}, [[1]]),
        Row("np.imag(z)", {"z": [1 + 2j]}, [[1j]]),
        Row("np.angle(z)", {"z": [1 + 2j, 0j]}, [[-0.4 + 0.2j, 0]]),
        Row("np.conj(z)", {"z": [1 + 2j]}, [[1]]),
        Row("np.real(x * 1j) + np.imag(x * 1j)", {"x": [2.0]}, [[1]], "a real parameter has a real gradient"),
    ],
}
