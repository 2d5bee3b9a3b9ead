"""The thresholds of compiled functions and tapes bound what is kept, and say what is compiled together.

Each says its unit. None of them changes a result. Code reads them as `tuning.NAME` at each use, so tests may patch them
here. What users may set stands in `tapec.settings`.
"""

from __future__ import annotations

# -- paths and signatures of a compiled function ----------------------------------------------------------------------

# paths of a program that are compiled together whenever another one is found; those found later are an addition
PATHS_TOGETHER_MAX = 8

# paths of a program for each of its addition: where the addition is a larger part, both are compiled together
PATHS_FOR_EACH_ADDED = 4

# paths that differ in the length of `x[mask]` and the like, before the function is recorded at each call
LENGTH_PATHS_MAX = 8

# values of one float that a function looks at, each a path, before the function is recorded at each call
FLOAT_VALUES_MAX = 2

# values of one captured whole number that are written into code, a program each, before it is an input
WHOLE_NUMBERS_MAX = 2

# stubs for one key of call types, which are asked in turn; other calls of such types go by their signature
STUBS_MAX = 4

# stubs that functions of one code share for one key of call types, and such keys: each is of a structure of what these
# functions capture
SHARED_STUBS_MAX = 8
SHARED_CALL_TYPES_MAX = 64

# shared stubs that are written beyond one for each call that such stubs have answered
SHARED_STUBS_UNASKED_MAX = 32

# bytes of the arguments of a call that a shared stub has answered, up to which they are kept for who looks at its code
ANSWERED_MAX_BYTES = 1 << 20

# -- comparing with plain NumPy ---------------------------------------------------------------------------------------

# runs on arguments a few units in the last place off, to see whether plain NumPy moves as far
MOVED_TRIES = 3
# the times as far as one of those runs, up to which a difference is rounding
MOVED_AS_FAR = 100.0

# bytes, and times its own size, up to which the array behind a view is copied with it
COPIED_BASE_BYTES = 1 << 16
COPIED_BASE_MAX_TIMES = 4

# first steps of differences that a gradient is checked by, relative to the size of the arguments; the second where the
# first one does not confirm it
FIRST_STEP = 0.1
SECOND_STEP = 1e-3

# a run at arguments close by ends after so many times the run at those of the call, and so many seconds
NEARBY_TIMES = 20
NEARBY_MIN_SECONDS = 0.2

# sizes of steps, relative to the arguments, that differences are taken with until one confirms a gradient: small ones,
# since loops of the user's may end near the arguments alone
STEP_SCALES = (1e-2, 1e-4, 1e-6)

# lines of two runs that are compared, to find the one at which they part
TRACED_LINES_MAX = 20_000

# -- what is made of a function again and again -----------------------------------------------------------------------

# the request from which what a transform made of a function is kept: so often it is made in a loop
KEPT_FROM_REQUEST = 8

# objects, or kinds of what is made, for which one function keeps it; the oldest goes first
KEPT_MAX = 32

# -- derivatives that users define ------------------------------------------------------------------------------------

# calls of a custom_jvp in its own rule on other arguments: orders of derivatives beyond go by the function itself
RULE_MAX_DEPTH = 3

# -- call stubs -------------------------------------------------------------------------------------------------------

# arrays of one shape and dtype of which a stub compares each two, to tell one array passed twice: that takes less time
# than a set of their identities
ALIKE_ARRAYS_BY_PAIRS_MAX = 4

# -- exported modules -------------------------------------------------------------------------------------------------

# elements of a constant array that is written out: of at most 8 bytes each, and of more; a larger one stands as bytes
WRITTEN_OUT_MAX_ELEMENTS = 64
WRITTEN_OUT_WIDE_MAX_ELEMENTS = 8

# -- explanations -----------------------------------------------------------------------------------------------------

# lines of a group that repeats, which an explanation shows once
REPEATED_MAX_LINES = 32

# arrays of one expression that an explanation lists one by one
LISTED_ARRAYS_OF_ONE_LINE_MAX = 4

# -- the shapes that code holds for -----------------------------------------------------------------------------------

# columns of the line that names them
SHAPES_LINE_MAX_COLUMNS = 120

# operations of a program that is compiled again for other sizes, to find out whether its code holds for these
OTHER_SIZES_MAX_NODES = 2000
