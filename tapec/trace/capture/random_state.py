"""Notice random numbers that a traced function draws: the state of a generator has moved.

NumPy gets such seeds from one function. It is asked through ours, which takes note and passes the question on. Modules
that are imported while a function runs may ask, too, as `scipy.stats` does for its documentation: that is no draw of
the function. Those of generators are imported only when somebody may draw from them: that takes longer than to trace a
short function.
"""

from __future__ import annotations

import sys
from functools import cache
from importlib import import_module
from types import FrameType
from typing import Any

import numpy as np

from tapec.trace.recording_stack import CURRENT

__all__ = ["DRAWS", "IMPORTS", "all_states", "states"]

DRAWS = "it draws random numbers"
IMPORTS = "it imports a module that draws random numbers, perhaps"


def states() -> dict[str, Any]:
    """Return the state of each generator that is a module's own. Nobody draws from modules that are not imported."""
    found: dict[str, Any] = {}
    if "numpy.random" in sys.modules:
        _watch_entropy()
        now = np.random.get_state(legacy=False)  # of normal numbers, every other one is there already
        found["numpy.random"] = now["state"]["pos"], now["state"]["key"][0], now["has_gauss"]
    if "random" in sys.modules:
        found["random"] = hash(sys.modules["random"].getstate())
    return found


def all_states() -> dict[str, Any]:
    """Return the states of all such generators, whose modules are imported now."""
    import_module("numpy.random")
    import_module("random")
    return states()


@cache
def _watch_entropy() -> None:
    """Wrap NumPy's function that asks the operating system for a seed, so that a trace notices each such seed."""
    module: Any = np.random.bit_generator
    ask = getattr(module, "randbits", None)
    if ask is not None:
        module.randbits = lambda n: _noted(ask, n)


def _noted(ask: Any, n: int) -> int:
    rec = CURRENT.get()
    if rec is not None and rec.trace is not None and not _in_import(sys._getframe(1)):
        rec.trace.require_retrace(DRAWS)
    return ask(n)


def _in_import(frame: FrameType | None) -> bool:
    """Return whether Python is importing a module that was not imported before the traced function ran."""
    while frame is not None and frame.f_globals.get("__name__") != "tapec.trace.function.trace_function":
        if frame.f_globals.get("__name__") == "importlib._bootstrap":
            return True
        frame = frame.f_back
    return False
