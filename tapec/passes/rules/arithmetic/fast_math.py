"""These rules hold for numbers, not for nan, infinities, overflow, signs of zero: only with `settings.fast_math`."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapec.ir.pattern import number, variables
from tapec.passes.engine.rule import Rule

__all__ = ["FAST_MATH"]

a, b, x = variables("a b x")
j, k = number("j"), number("k")


def _fast(name: str, pattern: Any, replacement: Any, **more: Any) -> Rule:
    return Rule(name, pattern, replacement, changes="fast-math", **more)


FAST_MATH = (
    _fast("fast-plus-zero", x + 0, x),
    _fast("fast-times-zero", x * 0, lambda y: np.zeros_like(y)),
    _fast("fast-minus-itself", x - x, lambda y: np.zeros_like(y)),
    _fast("fast-over-itself", x / x, lambda y: np.ones_like(y)),
    _fast("fast-over-number", x / k, lambda x, k: x * (1.0 / k), when=lambda k: k != 0 and np.isfinite(1.0 / k)),
    _fast("fast-factors-gathered", x * j * k, lambda x, j, k: x * (j * k)),
    _fast("fast-sums-gathered", x + j + k, lambda x, j, k: x + (j + k)),
    _fast("fast-common-factor", a * x + b * x, (a + b) * x, once=True),
    _fast("fast-log-of-exp", np.log(np.exp(x)), x),
    _fast("fast-exp-of-log", np.exp(np.log(x)), x),
    _fast("fast-product-of-exps", np.exp(a) * np.exp(b), np.exp(a + b), once=True),
    _fast("fast-root-squared", np.sqrt(x) * np.sqrt(x), x),
    _fast("fast-root-of-square", np.sqrt(x * x), np.absolute(x)),
    _fast("fast-power-half", x**0.5, np.sqrt(x)),
)
