"""Forms that keep digits which the written ones lose."""

from __future__ import annotations

import numpy as np

from tapec.passes.pattern import variables
from tapec.passes.rule import Rule

__all__ = ["STABILITY"]

(x,) = variables("x")

STABILITY = (
    Rule("log1p", np.log(1 + x), np.log1p(x), changes="rounding"),
    Rule("log1p-of-difference", np.log(1 - x), np.log1p(-x), changes="rounding"),
    Rule("expm1", np.exp(x) - 1, np.expm1(x), once=True, changes="rounding"),
    Rule("expm1-negated", 1 - np.exp(x), -np.expm1(x), once=True, changes="rounding"),
)
