"""The thresholds of derivatives bound how far a rule looks, and say when another way is less work.

Each says its unit. Beyond those of the first group a formula is differentiated operation by operation, which is right
where no slope is infinite or undefined; those of the others weigh work, and the length of programs. Code reads them as
`tuning.NAME` at each use, so tests may patch them here.
"""

from __future__ import annotations

# -- how far formulas of several operations are followed --------------------------------------------------------------

# operations between a product, or a logarithm of one, and an exponential among its factors
LOGARITHM_MAX_OPS = 8

# operations between a function that is flat far out, as tanh, and an exponential
OVERFLOW_MAX_OPS = 4

# operations between a product and the factors that it has in common with a root
ROOT_FACTORS_MAX_OPS = 5

# operations between a value and what tells how fast it becomes zero
ORDER_OF_ZERO_MAX_OPS = 8

# operations between a number and a power of it that is made in steps
POWER_OF_POWER_MAX_OPS = 6

# operations between a length and its square
SQUARE_OF_LENGTH_MAX_OPS = 8

# terms of a sum that is taken apart
SUM_MAX_TERMS = 32

# operations that a maximum is followed through, to see whether it cancels
SHIFT_MAX_OPS = 200

# rounds in which products that share two factors are looked for: what has a pair in common may then have the product of
# that and one factor more in common, and so on
SHARED_PRODUCTS_MAX_ROUNDS = 4

# -- equal eigenvalues ------------------------------------------------------------------------------------------------

# decompositions in a program where the slopes of one go through the others: programs grow several times with each
NESTED_DECOMPOSITIONS_MAX = 2

# decompositions, the latest ones, with which a value is known to move: long programs have many
FOLLOWED_DECOMPOSITIONS_MAX = 8

# -- forwards or backwards --------------------------------------------------------------------------------------------

# operations of a program that may go forwards: shorter ones have no loops in which going backwards would keep lists
FORWARD_MIN_OPS = 24

# numbers that derivatives are carried forwards by: with more it is hardly ever less work
FORWARD_MAX_NUMBERS = 3

# elements from which a program without loops goes backwards in blocks, which keep nothing either
FORWARD_BLOCKS_MIN_ELEMENTS = 10_000

# operations from which some are in loops that keep lists
FORWARD_LISTS_MIN_OPS = 96

# operations that it costs to keep a value in a list, and to take it out again
LISTED_VALUE_COST = 2

# the share of the work of going backwards that going forwards by several numbers may take: the program is the longer
# one, and has to be compiled
FORWARD_MAX_SHARE_OF_WORK = 0.8

# -- Jacobians and Hessians -------------------------------------------------------------------------------------------

# bands of a matrix up to which they are kept apart whatever its size, and up to which that may pay at all
BANDS_KEPT = 16
BANDS_MAX = 64

# elements of the matrix, for each band between these
BAND_MIN_ELEMENTS = 1000

# parts of a vector that blocks of a Hessian are made for: each pair of them has code of its own
VECTOR_MAX_PARTS = 8

# fronts of a Hessian by rows, which have code for each pair, too; and the readings that one front is the sum of
FRONTS_MAX = 6
FRONT_MAX_READINGS = 4

# -- sparsity ---------------------------------------------------------------------------------------------------------

# elements of values that need no pattern, and are computed beforehand
COMPUTED_BEFOREHAND_MAX_ELEMENTS = 1_000_000

# entries of the pattern of one value, before a dense Jacobian is asked for: some 200 MB of indices
PATTERN_MAX_ENTRIES = 50_000_000

# pairs of neighbours that a star colouring looks at; beyond, columns are coloured instead
STAR_COLORING_MAX_PAIRS = 20_000_000

# -- loops -------------------------------------------------------------------------------------------------------------

# turns of a loop whose number depends on values that its gradient keeps at a time: of n turns, n / 2 are run again for
# each turn of a stretch
STRETCH_TURNS = 32

# elements of a matrix to which each turn of a loop adds a product: from there one product after the loop is less work
SUM_AFTER_MIN_ELEMENTS = 16

# bytes of the rows that a loop collects for such a product: more would be read from memory, not from a cache
SUM_AFTER_MAX_BYTES = 1 << 26
