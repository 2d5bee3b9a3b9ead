"""`np.random.default_rng()` and its like take their seed from the operating system: a traced function that does so
draws other numbers at each call, and there is no generator beforehand whose state would tell.

NumPy gets such seeds from one function. It is asked through ours, which takes note and passes the question on.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from tapec.trace.recorder import CURRENT

__all__ = ["DRAWS", "watch_entropy"]

DRAWS = "it draws random numbers"


@cache
def watch_entropy() -> None:
    """From now on, a seed that the operating system gives is noticed."""
    module: Any = np.random.bit_generator
    ask = getattr(module, "randbits", None)
    if ask is not None:
        module.randbits = lambda n: _noted(ask, n)


def _noted(ask: Any, n: int) -> int:
    rec = CURRENT.get()
    if rec is not None and rec.trace is not None:
        rec.trace.unsettle(DRAWS)
    return ask(n)
