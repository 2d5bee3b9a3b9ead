"""Run the compiled gradient of a tape's recording.

Code for a gradient may write over recorded values that nobody else holds (donated buffers), if the recording is asked
for the last time. Otherwise a version of the code runs that leaves all values as they are.
"""

from __future__ import annotations

from typing import Any

from tapec.log_gradients.gradient_program import Segment, run
from tapec.trace.dead_values import can_be_donated, free_unheld

__all__ = ["answer", "fitting"]


def answer(code: Segment, log: Any, last: bool, seeds: Any = None) -> tuple[Segment, dict[int, Any]]:
    """Run the code of a gradient; gives what ran, and what it found.

    If nobody can ask for more after this `last` run, the large values that the code does not read are freed before it
    runs, and it may write over those that it reads.
    """
    if code.donated:
        code = fitting(code, log, last)
    if not last:
        return code, run(code, log, seeds)
    try:
        free_unheld(log, code.unread)
        return code, run(code, log, seeds, code.donated)
    except BaseException:
        log.lacks_values = True  # the recording goes on: freed values are computed again when somebody asks
        raise


def fitting(code: Segment, log: Any, last: bool) -> Segment:
    """Return the code itself if it may write over its donated values, or else code that writes over nothing."""
    is_free = last and all([can_be_donated(log, v) for v in code.donated])
    return code if is_free else code.without_donation
