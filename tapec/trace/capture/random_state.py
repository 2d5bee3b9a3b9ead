"""Notice random numbers that a traced function draws: the state of a generator has moved.

NumPy gets such seeds from one function. It is asked through ours, which takes note and passes the question on. A
`RandomState` asks for one even where it is given another; such a seed is gone when the generator is made. Modules
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
from weakref import ref

import numpy as np

from tapec.trace.escape.bytecode_site import site_at
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
    frame = sys._getframe(2)  # who calls what asks, which is compiled code
    if rec is None or rec.trace is None or _in_import(frame):
        return ask(n)
    before = rec.trace.retrace_reason
    rec.trace.require_retrace(DRAWS)
    if site_at(frame, frame.f_lasti).function is not np.random.RandomState:
        return ask(n)
    seed = _Forgotten(ask(n))
    seed.where, seed.reason, seed.trace = (id(frame), frame.f_lasti), before, ref(rec.trace)
    return seed


class _Forgotten(int):
    """A seed that `np.random.RandomState(3)` asks for, and forgets before it returns: then nobody draws by it.

    The run, for which its making is a draw, takes that back if the seed goes while the same instruction runs.
    """

    where: tuple[int, int]
    reason: str | None
    trace: Any

    def __del__(self) -> None:
        frame, trace = sys._getframe(1), self.trace()
        if trace is not None and trace.retrace_reason == DRAWS and self.where == (id(frame), frame.f_lasti):
            trace.retrace_reason = self.reason

    def __reduce__(self) -> Any:
        return int, (int(self),)


def _in_import(frame: FrameType | None) -> bool:
    """Return whether Python is importing a module that was not imported before the traced function ran."""
    while frame is not None and frame.f_globals.get("__name__") != "tapec.trace.function.trace_function":
        if frame.f_globals.get("__name__") == "importlib._bootstrap":
            return True
        frame = frame.f_back
    return False
