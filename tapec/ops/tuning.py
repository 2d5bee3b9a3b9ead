"""The thresholds of definitions say when another form of an operation, or of its derivative, pays.

Each says its unit. Code reads them as `tuning.NAME` at each use, so tests may patch them here. Numbers in functions
that generated code calls stand there: the text of these functions is written into exported modules.
"""

from __future__ import annotations

# elements of an index array up to which it is looked through for repeated positions: of a larger one they are assumed
SORTED_INDEX_MAX_ELEMENTS = 1 << 20

# elements of a window up to which the derivative of sliding windows adds slices up, one for each
WINDOW_MAX_SLICES = 32

# terms from which `np.logaddexp.reduce` is the logarithm of a sum of exponentials, and not taken term by term: in
# arrays of at most so many elements, and in larger ones
LOGSUMEXP_MIN_TERMS = 8
LOGSUMEXP_SMALL_MAX_ELEMENTS = 16
LOGSUMEXP_MIN_TERMS_OF_LARGE = 3

# elements of an object array, and different stand-ins among them, where each of these is put in all its places at once
OBJECTS_AT_ONCE_MIN_ELEMENTS = 16
OBJECTS_AT_ONCE_MAX_STAND_INS = 4

# elements of the rows of a nested list, from which on an array of it is a stack of rows: a loop makes them one by one
ROWS_STACKED_MIN_ELEMENTS = 8
