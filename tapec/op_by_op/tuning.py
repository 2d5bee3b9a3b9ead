"""The thresholds of gradients operation by operation say when compiling the whole is no slower.

Each says its unit. None of them changes a result. Code reads them as `tuning.NAME` at each use, so tests may patch them
here.
"""

from __future__ import annotations

# pieces (gradients of single operations) that may be compiled anew for one gradient, and steps for each one more
NEW_PIECES_MAX = 4
STEPS_FOR_EACH_NEW_PIECE = 8

# bytes that an operation gives, on the average, from which compiling the whole takes no longer than to run it
COMPILED_MIN_BYTES = 1 << 20
