"""The thresholds of compiled gradients of logs say what is compiled at first sight.

Each says its unit. None of them changes a result. Code reads them as `tuning.NAME` at each use, so tests may patch them
here.
"""

from __future__ import annotations

# structures in a row that came once at one line, from which the next is not compiled at first sight. To compile a tree
# of two hundred operations took 28 ms, to go back operation by operation 1.5
NEW_IN_A_ROW = 8

# tries at one line to go back operation by operation that found too many new operations
TRIES_IN_VAIN_MAX = 3

# lines of programs that are watched for this; then all are forgotten
PLACES_MAX = 256
