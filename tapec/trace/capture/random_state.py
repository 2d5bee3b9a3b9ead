"""Notice random numbers that a traced function draws: the state of a generator has moved.

NumPy gets such seeds from one function. It is asked through ours, which takes note and passes the question on. A
`RandomState` asks for one even where it is given another (`seeded`). Modules
that are imported while a function runs may ask, too, as `scipy.stats` does for its documentation: that is no draw of
the function. Those of generators are imported only when somebody may draw from them: that takes longer than to trace a
short function.
"""

from __future__ import annotations

import sys
from contextvars import ContextVar
from functools import cache
from importlib import import_module
from types import FrameType
from typing import Any

import numpy as np

from tapec.trace.recording_stack import CURRENT

__all__ = ["DRAWS", "IMPORTS", "SEEDS", "all_states", "place_of", "put_back", "put_back_modules", "seeded", "states"]

DRAWS = "it draws random numbers"
SEEDS = "it draws random numbers by a seed of the operating system"  # to which nobody can go back
IMPORTS = "it imports a module that draws random numbers, perhaps"


class _State:
    """Holds where a generator stands that is a module's own; `key` tells it from others."""

    def __init__(self, key: Any, place: Any):
        self.key, self.place = key, place

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _State) and self.key == other.key

    __hash__ = None  # type: ignore[assignment]


def states() -> dict[str, Any]:
    """Return the state of each generator that is a module's own. Nobody draws from modules that are not imported."""
    found: dict[str, Any] = {}
    if "numpy.random" in sys.modules:
        _watch_entropy()
        now = np.random.get_state(legacy=False)  # of normal numbers, every other one is there already
        found["numpy.random"] = _State((now["state"]["pos"], now["state"]["key"][0], now["has_gauss"]), now)
    if "random" in sys.modules:
        now = sys.modules["random"].getstate()
        found["random"] = _State(now, now)
    return found


def put_back_modules(before: dict[str, Any]) -> None:
    """Take the generators that are modules' own back to where they stood."""
    now = states()
    for name, state in before.items():
        if now.get(name) != state:
            module = sys.modules[name]
            (module.setstate if name == "random" else module.set_state)(state.place)


def place_of(generator: Any) -> Any:
    """Return where a generator stands, to be taken back there; None for what cannot be."""
    if isinstance(generator, np.random.RandomState):
        return generator.get_state(legacy=False)
    if hasattr(generator, "getstate"):  # of Python; the operating system's has no state
        return None if isinstance(generator, sys.modules["random"].SystemRandom) else generator.getstate()
    return getattr(getattr(generator, "bit_generator", generator), "state", None)


def put_back(generator: Any, place: Any) -> None:
    """Take a generator back to where it stood."""
    if isinstance(generator, np.random.RandomState):
        generator.set_state(place)
    elif hasattr(generator, "setstate"):
        if place is not None:
            generator.setstate(place)
    elif place is not None:
        getattr(generator, "bit_generator", generator).state = place


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
    if rec is not None and rec.trace is not None and not _SEEDED.get() and not _in_import(sys._getframe(1)):
        rec.trace.require_retrace(SEEDS)
    return ask(n)


_SEEDED: ContextVar[bool] = ContextVar("whether a generator is made that has a seed", default=False)


def seeded(make: Any, *args: Any, **kwargs: Any) -> Any:
    """Make a generator that has a seed: one that it asks the operating system for is nothing that it draws by."""
    token = _SEEDED.set(True)
    try:
        return make(*args, **kwargs)
    finally:
        _SEEDED.reset(token)


def _in_import(frame: FrameType | None) -> bool:
    """Return whether Python is importing a module that was not imported before the traced function ran."""
    while frame is not None and frame.f_globals.get("__name__") != "tapec.trace.function.trace_function":
        if frame.f_globals.get("__name__") == "importlib._bootstrap":
            return True
        frame = frame.f_back
    return False
