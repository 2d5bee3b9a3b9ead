"""`GradientTape`, with the semantics of TensorFlow r2.0."""

from __future__ import annotations

import enum
from typing import Any

import numpy as np

from tapec.api.gradient import TapeGradient, tape_gradient
from tapec.api.variable import Variable
from tapec.errors import TapeError
from tapec.trace.log import Log
from tapec.trace.recorder import CURRENT, Mark, Token, pop, push
from tapec.trace.tensor import Tensor

__all__ = ["GradientTape", "UnconnectedGradients"]


class UnconnectedGradients(enum.Enum):
    """What a gradient is where no path leads: nothing, or zeros."""

    NONE = "none"
    ZERO = "zero"


class GradientTape:
    """Records operations for differentiation.

    >>> import tapec
    >>> x = tapec.constant(3.0)
    >>> with tapec.GradientTape() as tape:
    ...     tape.watch(x)
    ...     y = x * x
    >>> tape.gradient(y, x)
    tapec.Tensor(6.0, shape=(), dtype=float64)
    """

    is_trace = False

    def __init__(self, persistent: bool = False, watch_accessed_variables: bool = True):
        self._persistent = persistent
        self._auto = watch_accessed_variables
        self.log = Log()
        self.token = Token()
        self._recording = False
        self._used = False
        self._entered = False
        self._variables: dict[int, tuple[Variable, list[Tensor]]] = {}

    # -- recording --------------------------------------------------------------------------------------------------
    def __enter__(self) -> GradientTape:
        if self._recording:
            raise ValueError("Tape is still recording. This can happen if you try to re-enter an already-active tape.")
        self._recording = self._entered = True
        push(self)
        return self

    def __exit__(self, *exc: Any) -> None:
        if self._recording:
            self._stop()

    def _stop(self) -> None:
        self._recording = False
        pop(self)

    def watch(self, tensor: Any) -> None:
        """Make sure that tensors, Variables, or nested structures of them are recorded."""
        for t in _leaves(tensor):
            if isinstance(t, Variable):
                self._watch_variable(t)
            elif type(t) is Tensor:
                self._mark(t)
            else:
                raise ValueError(f"Passed in object {t!r} of type {type(t).__name__!r}, not tapec.Tensor or tapec.Variable")

    def _mark(self, t: Tensor) -> None:
        mark = t._mark
        if mark is None:
            t._mark = self.token.mark
        elif self.token not in mark.tokens:
            alive = frozenset(k for k in mark.tokens if k.alive) | {self.token}
            rec = CURRENT.get()
            t._mark = rec.mark if rec is not None and rec.tokens == alive else Mark(alive)

    def accessed(self, variable: Variable) -> None:
        """A trainable variable was read while this tape records."""
        if self._auto:
            self._watch_variable(variable)

    def _watch_variable(self, variable: Variable) -> None:
        tensor = variable._tensor
        self._mark(tensor)
        known = self._variables.setdefault(id(variable), (variable, []))[1]
        if not any(t is tensor for t in known):
            known.append(tensor)

    def watched_variables(self) -> tuple[Variable, ...]:
        """The variables watched, in the order in which they were made."""
        return tuple(sorted((v for v, _ in self._variables.values()), key=lambda v: v._serial))

    # -- gradients --------------------------------------------------------------------------------------------------
    def gradient(
        self,
        target: Any,
        sources: Any,
        output_gradients: Any = None,
        unconnected_gradients: Any = UnconnectedGradients.NONE,
    ) -> Any:
        """The gradient of the target(s) with respect to each of the sources, in the sources' structure."""
        if self._used:
            raise TapeError(
                "A non-persistent GradientTape can only be used to compute one set of gradients (or jacobians)"
            )
        if self._recording and not self._persistent:
            self._stop()
        one = isinstance(sources, (Tensor, Variable))
        flat = [sources] if one else _leaves(sources)
        targets = [target] if isinstance(target, (Tensor, Variable)) else _leaves(target)
        found = tape_gradient(self, targets, flat, output_gradients, False)
        if not self._persistent:
            self._used = True
            self._release()
        return found[0] if one else found

    def _release(self) -> None:
        self.token.alive = False
        self.log.clear()

    def __del__(self) -> None:
        self.token.alive = False


def _leaves(structure: Any) -> list[Any]:
    if isinstance(structure, (list, tuple)):
        return [leaf for item in structure for leaf in _leaves(item)]
    return [structure]


__all__ += ["TapeGradient", "np"]
