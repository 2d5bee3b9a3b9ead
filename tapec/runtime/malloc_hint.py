"""`keep_memory` tells the allocator how much memory a function will need, so that it keeps it from call to call.

The GNU C library gives freed memory back to the system as soon as more than a threshold lies free. The next call gets
it again page by page, and the system clears each page first: for a function with several large results that is as much
time as all it computes. The threshold is twice the largest block that was ever freed, up to a limit; so one block as
large as all that the function has in use at one time, and as much again for what NumPy copies on the way, is enough. It
is freed at once and never touched, and so costs no memory; where another allocator is at work, or the threshold was set
by `MALLOC_TRIM_THRESHOLD_`, it changes nothing.
"""

from __future__ import annotations

import numpy as np

from tapec.runtime import tuning

__all__ = ["keep_memory"]


def keep_memory(peak: int) -> None:
    """Let freed memory of so many bytes stay with the process."""
    if peak >= tuning.MEMORY_KEPT_MIN_BYTES:
        # taken and freed at once, and never touched: the library raises its bounds when a large block is freed
        np.empty(min(2 * peak, tuning.MALLOC_BLOCK_MAX_BYTES), np.uint8)
