"""Tell which captured whole numbers change: a number is written into code twice, and is an input from then on.

Those that code only computes with are inputs from the start (`tapec.trace.capture.whole_numbers`).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tapec.api import tuning
from tapec.trace.capture.captured_paths import CapturedPath

__all__ = ["NumbersMet"]


class NumbersMet:
    """Holds which captured whole numbers programs rely on, by their labels: one that was several is an input."""

    def __init__(self) -> None:
        self._values: dict[str, set[int]] = {}

    def note(self, facts: Iterable[tuple[CapturedPath, Any]]) -> None:
        for path, value in facts:
            if type(value) is int:
                known = self._values.setdefault(path.label, set())
                if len(known) < tuning.WHOLE_NUMBERS_MAX:
                    known.add(value)

    def changing(self) -> frozenset[str]:
        """Return the labels of the numbers that were several."""
        met = list(self._values.items())  # at once, since functions of other threads may share them
        return frozenset([label for label, values in met if len(values) == tuning.WHOLE_NUMBERS_MAX])
