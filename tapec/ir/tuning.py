"""The thresholds of graphs bound what is compared, kept and printed.

Each says its unit. Code reads them as `tuning.NAME` at each use, so tests may patch them here.
"""

from __future__ import annotations

# bytes of a constant array up to which equal ones are one node; of larger ones those that are the same object are
COMPARED_CONSTANT_MAX_BYTES = 4096

# types of arrays that are kept, so that those of equal arrays are mostly one object
TYPES_KEPT_MAX = 200

# answers to one question about places in the user's code, and code objects whose instructions are kept for them
ANSWERS_KEPT_MAX = 4096
CODE_OBJECTS_KEPT_MAX = 256

# instructions after an operation among which the variable is looked for that gets its value: one that travels farther
# has no name worth showing
VARIABLE_MAX_INSTRUCTIONS = 40

# lines above an operation among which the heads of the loops around it are looked for
LOOP_MAX_LINES = 200

# differences that are rounding, in parts of the largest element, by bytes of a real number
ROUNDING_OF = {2: 1e-2, 4: 1e-4, 8: 1e-9}

# operations that are looked through for the input whose length a number is
SIZE_MAX_STEPS = 64

# -- the text of graphs -----------------------------------------------------------------------------------------------

# elements of a constant that is written out; one with more is named
INLINE_CONSTANT_MAX_ELEMENTS = 16

# columns of a line before what it lists is written one a line
LINE_MAX_COLUMNS = 120

# lines that a message of the verifier shows on each side of a bad node
EXCERPT_LINES = 5

# digits of an integer that the parser reads: Python may be set to read no more
INTEGER_MAX_DIGITS = 640

# axes of an array at most, as in NumPy
AXES_MAX = 64

# parentheses within each other that the parser reads: each takes some of Python's stack
NESTED_VALUES_MAX_DEPTH = 50

# graphs that call one another in turn, at most: the same
CALLED_GRAPHS_MAX_DEPTH = 50
