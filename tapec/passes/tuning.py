"""The thresholds of the passes bound when a rewrite pays, and how far a pass looks.

Each says its unit. Those of the first group weigh the work saved against the cost of a NumPy call, so they hang on the
machine; those of the second group bound the time that compiling takes. None of them changes what a program means.
Code reads them as `tuning.NAME` at each use, so tests may patch them here. Two are read when the rules are imported,
as `least=` of a rule, and a patch comes too late for that: `SCALE_MIN_ELEMENTS` and `SELECTION_MIN_ELEMENTS`.
"""

from __future__ import annotations

# -- when a rewrite pays ------------------------------------------------------------------------------------------

# elements of the larger for each of the smaller, from which an operation on the smaller counts for little
MUCH_SMALLER_MIN_RATIO = 4

# elements of a result from which a gathered constant factor saves more than the rewrite costs
SCALE_MIN_ELEMENTS = 256

# rounds that a stretch of a recorded program repeats to be a loop, and the operations that the loop spares at the least
ROLLED_MIN_ROUNDS = 4
ROLLED_MIN_OPS_SPARED = 12

# times by which a program with loops has fewer operations than what was recorded, to be taken in its place: where most
# is written out all the same, the target finds loops, and the whole may run on Python floats
ROLLED_MIN_TIMES_SHORTER = 4

# operations of a stretch with linear algebra on tiny matrices: of fewer, all is written out, and may run on Python
# floats between products and solutions
ROLLED_MIN_OPS_OF_TINY = 2000

# rounds before, of which a round may read a value
ROLLED_MAX_LAG = 3

# elements of an array in a list, up to which the arrays of the list are stacked for a loop: to copy more costs too much
ROLLED_MAX_ELEMENTS_STACKED = 16

# elements of a recorded value, up to which those of all rounds are stacked for a loop in the gradient of a tape
ROLLED_MAX_ELEMENTS_RECORDED = 1 << 10

# operations of all programs in which a stretch spares nothing as a loop, until the search ends: some seconds
ROLLED_MAX_WASTED_OPS = 1_000_000

# distances to an operation of the same kind that are tried as the period of a loop, and operations as its first
ROLLED_MAX_PERIODS = 4
ROLLED_MAX_PHASES = 3

# operations of a program in which numbers that come from sizes are looked for: the passes run twice for that, a quarter
# of a first call. Longer programs are seldom read line by line
SPELLED_MAX_NODES = 2_000

# factors of an expression or size that are tried for each number
SPELLED_MAX_FACTORS = 100

# characters from which on a number that comes from an expression of the user's is written as that, or as a multiple
SPELLED_MIN_CHARACTERS = 9

# elements of a constant that folding may make
FOLD_MAX_ELEMENTS = 1024

# exponents up to which powers are products: of numbers, for which one call is cheap, and of arrays
NUMBER_POWER_MAX_EXPONENT = 4
ARRAY_POWER_MAX_EXPONENT = 12

# elements of a weighted factor of a matrix product, from which a multiplication costs more than a call
WEIGHTED_FACTOR_MIN_ELEMENTS = 1 << 12

# elements of a scaled factor of a matrix product, likewise
SCALED_FACTOR_MIN_ELEMENTS = 1 << 15

# elements of a matrix that is put together element by element, and of it for each element that is put in
SMALL_MATRIX_MAX_ELEMENTS = 64
SMALL_MATRIX_MAX_ELEMENTS_A_TERM = 4

# rows of a triangular matrix from which blocks pay: with few right-hand sides, and with many; and what many are
TRIANGULAR_BLOCKS_MIN_ROWS = 80
TRIANGULAR_BLOCKS_MIN_ROWS_OF_MANY = 16
MANY_RIGHT_HAND_SIDES_MIN = 64

# parts of a stack that are added one by one whatever their size
STACK_MAX_PARTS = 8

# elements of a part of a stack from which an addition costs little beside its work
STACK_PART_MIN_ELEMENTS = 1 << 12

# elements of an operand of a product from which blocks would compute it as it is read, or it is not copied
BLOCKED_OPERAND_MIN_ELEMENTS = 1 << 16

# elements for which NumPy's calls count: of fewer numbers, one branch of a selection is computed
SELECTION_MIN_ELEMENTS = 64

# multiplications that take as long as to add an element at a place, and as to take one
ADD_AT_COST = 32
TAKE_COST = 8

# the share of the multiplications that another order of a chain may need at most: more are not worth another order
CHAIN_MAX_SHARE_OF_WORK = 0.75

# elements of a matrix up to which plain floats are better than one product for all steps of a loop
UNROLLED_MATRIX_MAX_ELEMENTS = 16

# terms from which one product pays: of small matrices, and of those that have so many elements
UNROLLED_MIN_TERMS = 5
UNROLLED_MIN_TERMS_OF_LARGE = 3
UNROLLED_LARGE_MIN_ELEMENTS = 4096

# elements of arrays of which one or two more are kept for the sake of the order in which a person writes
ORDERED_MAX_ELEMENTS = 1 << 8

# elements up to which an array is divided by its size, as a person writes it, rather than multiplied by one over that
DIVIDED_MAX_ELEMENTS = 1 << 14

# -- how far a pass looks -----------------------------------------------------------------------------------------

# operations that are looked through to see that a value is not negative, and that it is positive
NONNEGATIVE_MAX_OPS = 4
POSITIVE_MAX_OPS = 6

# operations that a condition is made of, to see whether it is the user's
CONDITION_MAX_OPS = 8

# signs of a program that are tried to be moved, and operations through which one goes
MOVED_SIGNS_MAX = 32
MOVED_SIGN_MAX_OPS = 256

# elements of a product of which the number may be multiplied by a factor that is kept: more memory, and no more time
ORDERED_PRODUCT_MAX_ELEMENTS = 1 << 13

# factors of a product up to which its number goes in front of the first
ORDERED_PRODUCT_MAX_FACTORS = 8

# a number above which a literal caps values that would be infinite, in single precision too
CAPS_MIN = 1e38

# operations below a part of a sum among which another part is looked for
ORDERED_PART_MAX_OPS = 16

# rules firing inside what rules make: down a long chain, or because rules undo one another
NESTED_FIRINGS_MAX = 64

# terms of a cotangent, and factors in which a quotient is looked for, in the gradient of a Cholesky factor
CHOLESKY_MAX_TERMS = 16
CHOLESKY_MAX_FACTORS = 4

# operations of a product that are looked at, and operations that a factor is made of, for sums of selected elements
SELECTED_PRODUCT_MAX_OPS = 4
SELECTED_FACTOR_MAX_OPS = 8

# operations: computed again for each of many slices that take away little, they would make a compiler slow
SLICED_MAX_OPS = 32

# nodes at which symmetry of axes is looked for
SYMMETRY_MAX_NODES = 64

# parts that a symmetric matrix may be filled with, each of as many nodes
SYMMETRY_MAX_PARTS = 4096

# summands of a cotangent between a part that is cleared and the same part filled again, and sums of what fills it
UPDATED_MAX_SUMMANDS = 16
UPDATED_MAX_DEPTH = 6

# elements of a constant that are compared with those of its transpose
SYMMETRY_MAX_ELEMENTS = 1 << 14

# length of an axis along which any empty places are told apart, and along which runs of them are
EMPTY_PLACES_MAX_LENGTH = 64
EMPTY_RUNS_MAX_LENGTH = 1 << 24

# elements of a matrix whose products with the rows of a loop are computed at once, before it, and bytes of all these
AHEAD_MIN_ELEMENTS = 64
AHEAD_MAX_BYTES = 1 << 26

# elements of a value of one turn, up to which the turns of a loop are computed at once: of longer rows a turn takes the
# time of its arithmetic, and its values stay in the cache
VECTORIZED_MAX_ROW_ELEMENTS = 1 << 10
