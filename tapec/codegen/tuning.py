"""The thresholds of code generation bound when a form of code pays, how long code gets, and how far a search looks.

Each says its unit, and how its value was found where that is known. Those that weigh time against the cost of a NumPy
call hang on the machine; none of them changes what a program means. Code reads them as `tuning.NAME`, when it runs.
"""

from __future__ import annotations

# -- text: lines, comments, constants -----------------------------------------------------------------------------

# characters of a line of generated code
LINE_MAX_CHARACTERS = 116

# statements of the user's computation, and of derivatives, from which an empty line stands between them
PART_MIN_STATEMENTS = 2

# operations between exponentials and their sum, where a quotient of the two is called a softmax
SOFTMAX_MAX_OPS = 4

# targets of one assignment that stand without brackets: inside brackets a line can be broken
BARE_TARGETS_MAX = 12

# characters of code up to which the user's lines stand in one column beside it
COMMENT_MAX_COLUMN = 44

# characters of the user's line that is quoted, and those that a comment has at least, however long its line is
QUOTED_MAX_CHARACTERS = 72
COMMENT_MIN_CHARACTERS = 32

# characters of the expression of a number that gets a name where it would be worked out again: `1.0 / len(X)`
NAMED_NUMBER_MIN_CHARACTERS = 12

# elements of an array that is shown whole: a constant beside the code, an operand in a message
SHOWN_MAX_ELEMENTS = 8

# rows of a constant matrix that is compared with the identity, to be called `eye`
IDENTITY_MAX_ROWS = 1 << 11

# -- schedule: what stands on one line, and which memory is used again --------------------------------------------

# bytes from which an array is computed in place of itself: up to these, memory is at hand and plain expressions are as
# fast. A chain of four operations on 64 kB took 1.06 times as long in one expression, on 256 kB up to 9 times, where
# the memory that it frees goes back to the system each time
BUFFER_MIN_BYTES = 1 << 17

# bytes from which that is so in any program, as memory itself counts. Below, it must save a share of the program's time
BUFFER_ALWAYS_MIN_BYTES = 1 << 21

# bytes from which a value is computed in the array of another one, though it has a name of its own: a softmax of 8 MB
# takes 0.7 of the time. On half a megabyte and less it saved nothing
RENAMED_MIN_BYTES = 1 << 21

# characters and operations of an expression with others nested in it
NESTED_MAX_CHARACTERS = 76
NESTED_MAX_OPS = 8

# names that say what a value is made of: their characters, the operations that they tell of, and the characters of
# each of two names that together name a product
MADE_NAME_MAX_CHARACTERS = 14
MADE_NAME_MAX_OPS = 4
FACTOR_MAX_CHARACTERS = 3

# whole numbers up to which one stands in the name of a quotient: `dt_over_6`
NAMED_DIVISOR_MAX = 99

# a number below which a sum with it is called as the other operand is: `var + 1e-5`
SMALL_SHIFT_MAX = 1e-3

# characters that a name is taken to have where the length of a line is estimated
NAME_CHARACTERS = 6

# characters of all that is written inside a return
RETURN_MAX_CHARACTERS = 80

# characters of the value that a function returns besides its derivatives, where it is written inside the return
RETURNED_VALUE_MAX_CHARACTERS = 20

# nodes to look over for what stands between a value and its reader
NEXT_LINE_MAX_NODES = 8

# times smaller must a value be than what it reads, to be computed early, or than what is computed of it, to wait
SHRINK_MIN_RATIO = 4

# operations to look through for the name that a buffer ends up with
NAME_MAX_OPS_AHEAD = 8

# bytes of a dead array that is worth a `del`
DELETED_MIN_BYTES = 1 << 24

# bytes of dead arrays together that are worth a `del`, where no more than these are in use
DELETED_TOGETHER_MIN_BYTES = 1 << 22

# times as much as that array may be alive in all; and it, as what is made later
DELETED_MAX_RATIO = 8

# -- numpy: the forms of operations -------------------------------------------------------------------------------

# the share of a program's time that a less plain form of an operation must save: `x.dot(w)` for `x @ w`
FORM_MIN_SHARE_OF_TIME = 0.15

# the share of a program's time that it may take to make ranges and identity matrices, which could be constants
REMADE_MAX_SHARE_OF_TIME = 0.04

# microseconds of a call, by the kind of operation, and of others; of an element that is computed, plainly or by a
# function such as exp; and of a multiplication or addition in a product, and in a factorisation
CALL_COSTS = {"reduction": 1.6, "product": 1.2, "linalg": 5.0}
CALL_COST = 0.6
ELEMENT_COST = 0.0003
FUNCTION_COST = 0.004
PRODUCT_FLOP_COST = 0.00002
LINALG_FLOP_COST = 0.00006

# microseconds of a byte of new memory that comes from the system: 0.25 for a page
NEW_BYTE_COST = 0.00006

# multiplications of a product up to which the call overhead of `@` counts, and the microseconds of it that `dot` saves
DOT_MAX_MULTIPLICATIONS = 1 << 16
DOT_SAVES = 0.7

# short rows from which another form of sums and extremes is worth reading
SHORT_ROWS_MIN = 1000

# elements up to which a mean is a sum divided, where calls count, and the microseconds that it saves
DIVIDED_MEAN_MAX_ELEMENTS = 1 << 12
DIVIDED_SUM_SAVES = 1.9

# elements of a row up to which a product with ones adds rows up faster, and the microseconds that it saves for a row
SHORT_ROW_MAX_ELEMENTS = 64
SUM_OF_ROW_SAVES = 0.011

# elements of a row up to which extremes of rows are faster in a copy in columns, and microseconds saved for a row
COLUMN_EXTREMES_MAX_ROW_ELEMENTS = 24
EXTREME_OF_ROW_SAVES = 0.02

# rows of two, three and four elements from which operations go column by column, by the length of the row; and bytes,
# as larger arrays are in no cache from one column to the next. It halved the time of a gradient of distances
BY_COLUMNS_MIN_ROWS = {2: 1024, 3: 1536, 4: 8192}
BY_COLUMNS_MAX_BYTES = 1 << 19

# elements from which NumPy's branch for each element of a selection costs more than two calls on masks of bits, and the
# microseconds that these save for an element, where the mask has no pattern
MASKED_MIN_ELEMENTS = 1 << 13
MASKED_ELEMENT_SAVES = 0.003

# microseconds that `take` saves for a row, beside an index array
ROW_AT_SAVES = 0.006

# bytes, and bytes of a row, from which sums of segments are taken for as many rows as a cache holds: NumPy goes
# through all of them once for each column
SEGMENT_SUMS_MIN_BYTES = 1 << 21
SEGMENT_SUMS_MIN_ROW_BYTES = 64

# elements, and elements of a row, from which the fast sort and a look at what it found cost less than the stable sort:
# gradients of sorts take a third of the time
FAST_SORT_MIN_ELEMENTS = 1 << 10
FAST_SORT_MIN_ROW_ELEMENTS = 25

# templates that are kept by their ops, of which some are those of one program
TEMPLATES_MAX = 1 << 12

# elements up to which `np.add.at` adds: from there on, looking up their places in the flat array pays
NUMPY_ADD_AT_MAX_ELEMENTS = 256

# operations of a helper that becomes a function, lines that this spares at least, and what it takes and gives at most
HELPER_MIN_OPS = 5
HELPER_MIN_SPARED_LINES = 10
HELPER_MAX_OPERANDS = 10
HELPER_MAX_RESULTS = 6

# times as many operations as belong to a call may stand between its first and its last one: else it is no call
HELPER_MAX_SPREAD = 16

# microseconds of a call of it, and of the arrays that its lines could write again in their places (0 to 0.6 were
# measured), and the share of the program's time that all calls may take
HELPER_CALL_COST = 0.3
HELPER_MAX_SHARE_OF_TIME = 0.05

# bytes of an array in it: of larger ones, those that a call makes anew are not in the cache. With 480 kB, a step of
# Runge and Kutta took twice as long
HELPER_ARRAY_MAX_BYTES = 1 << 16

# reads of single numbers from which it may pay to take short vectors apart
UNPACKED_MIN_READS = 4

# -- numpy: the passes on the graph -------------------------------------------------------------------------------

# elements of a short vector that is taken apart
UNPACKED_MAX_ELEMENTS = 16

# microseconds: spared by a read and by an operation on plain floats, and what it takes to take one vector apart
UNPACKED_READ_GAIN = 0.03
UNPACKED_OP_GAIN = 0.015
UNPACKED_VECTOR_COST = 0.12

# microseconds from which taking vectors apart is worth a longer program
UNPACKED_MIN_GAIN = 0.2

# terms of a sum that is taken apart
SUM_MAX_TERMS = 6

# elementwise operations through which it is followed how an array lies in memory
LAYOUT_MAX_OPS = 8

# elements from which einsum beats a product and its sum along the first axis
EINSUM_MIN_ELEMENTS = 4096

# elements that BLAS multiplies and adds up on one thread: of more, its threads get in the way of ours. Layer norm with
# GELU took 26 ms on two threads, and takes 12
ONE_THREAD_DOT_MAX_ELEMENTS = 1 << 13

# elements from which it costs less to look at places than to go by several index arrays
FLAT_PLACES_MIN_ELEMENTS = 4096

# bytes from which one array less is worth multiplying by rows, which is slower on small ones
BROADCAST_PRODUCT_MIN_BYTES = 1 << 17

# the same where the caller has donated an array of the type, which the product may be computed in
DONATED_PRODUCT_MIN_BYTES = 1 << 14

# elements of a result from which more calls cost less than the loop of a slow operation
SLOW_OP_MIN_ELEMENTS = 512

# elements that are added up, or compared, for each of the result, slice by slice: pooling takes a fifth of the time
JOINED_MAX_ELEMENTS = 16

# bytes up to which `np.roll`, which is Python code, takes longer than the copy that it makes: ten times on small arrays
SLICED_ROLL_MAX_BYTES = 1 << 19

# bytes from which a rolled summand is added in two parts: of less, a copy takes no longer than two calls
ROLLED_SUMMAND_MIN_BYTES = 1 << 16

# times as large as a part must the whole be for the part to be copied; its bytes; and its bytes where something is
# computed in its place before the part is read
SMALL_PART_MIN_RATIO = 16
SMALL_PART_MIN_WHOLE_BYTES = 1 << 12
LATE_PART_MIN_WHOLE_BYTES = 1 << 16

# -- blocks: loops over rows of large arrays ----------------------------------------------------------------------

# bytes of an array that does not stay in the cache between two operations
LARGE_MIN_BYTES = 1 << 20

# bytes of a matrix that does not stay in the cache between two products: of 15 MB, blocks took 1.05 to 1.2 times as
# long as the whole, of 30 MB 0.75 to 0.8
HUGE_MIN_BYTES = 1 << 25

# operations on large arrays that make a loop worth it, or bytes that are computed, where arrays have at least half
# the size. Layer norm with GELU, of twenty, takes 0.6 of the time, of ten or more three quarters, a softmax as long; a
# factorisation of a matrix of 6 MB, of four and two products that read what these compute, 0.8
BLOCK_LOOP_MIN_OPS = 6
BLOCK_LOOP_MIN_BYTES = 6 << 20

# columns of a matrix, a product with which takes no longer than reading and writing another one
NARROW_MAX_COLUMNS = 96

# elements of a last axis at most that had better stand before another one, of that one at least, and in all
SHORT_AXIS_MAX_LENGTH = 16
SHORT_AXIS_MIN_OTHER_LENGTH = 32
SHORT_AXIS_MIN_ELEMENTS = 1 << 13

# bytes that a block may have in use at one time: larger blocks are slower, smaller ones are more calls
BLOCK_MAX_BYTES = 1 << 21

# bytes in use that still leave the cache room for what comes next: with all of the cache in use, operations on three
# arrays were twice as slow
BLOCK_ROOMY_MAX_BYTES = 1 << 20

# bytes of a value on one block, from which calls cost little beside the work
BLOCK_VALUE_MIN_BYTES = 1 << 18

# bytes in use by blocks that are multiplied, where more calls cost more than the cache
PRODUCT_BLOCK_MAX_BYTES = 3 << 20

# bytes of a block of a huge matrix that still leave products room for what they make of it
HUGE_BLOCK_MAX_BYTES = 1 << 19

# blocks, where one needs arrays of its own: they should be small beside those that it reads and writes
BLOCKS_MIN = 16

# times as much in threads: between operations they wait for each other, which has to be little beside these. Layer norm
# with GELU took as long on two threads as on one, and takes 0.6 of it
BLOCK_TIMES_IN_THREADS = 4

# multiplications in a product up to which OpenBLAS makes no copies of its factors
UNCOPIED_PRODUCT_MAX_MULTIPLICATIONS = 10**6

# rows of a block of factors that are worth a call
PRODUCT_BLOCK_MIN_ROWS = 32

# bytes of a row of a factor: of wider ones few rows leave the cache room, so blocks would be short
PRODUCT_BLOCK_MAX_ROW_BYTES = 1 << 15

# products in a sum that had better not all be there at once
SUMMED_PRODUCTS_MIN = 4

# -- floats: programs element by element --------------------------------------------------------------------------

# elements of an array that is taken apart
FLOATS_MAX_ELEMENTS = 256

# elements of a longer array that is only read element by element, as loops do, and elements of what an operation reads
# of it at once; reads that there must be; and elements that gradients of single ones have in all, before they are added
FLOATS_LONG_MAX_ELEMENTS = 4096
FLOATS_LONG_READ_MAX_ELEMENTS = 16
FLOATS_LONG_MIN_READS = 16
FLOATS_LONG_MAX_ELEMENTS_IN_ALL = 1 << 22

# elements that one operation computes without a second thought: a matrix of 3 by 3
FLOATS_TINY_MAX_ELEMENTS = 9

# elements around a loop on floats that are only moved or made: a matrix of 6 by 6
FLOATS_MOVED_MAX_ELEMENTS = 36

# microseconds of an operation on arrays, by its kind; of any other kind; of a view; and of arithmetic on NumPy scalars
NUMPY_COST = {"elementwise": 0.3, "reduction": 0.8, "product": 0.5, "creation": 0.2, "indexing": 0.3, "layout": 0.4}
OTHER_NUMPY_COST = 0.5
VIEW_COST = 0.08
SCALAR_COST = 0.04

# microseconds of arithmetic on floats, and what a step may cost at most where an operation on floats is longer to read
# than on arrays
FLOAT_COST = 0.02
LONG_FLOAT_COST = 0.036

# microseconds of an operation on floats as the least that it may come to, as some turn out to be needless
LEAST_FLOAT_COST = 0.7 * FLOAT_COST

# microseconds to take an input apart: a number, an array, and each 64 elements of it
UNPACK_NUMBER_COST = 0.02
UNPACK_ARRAY_COST = 0.1
UNPACK_64_ELEMENTS_COST = 0.7

# microseconds to make a result, likewise
PACK_NUMBER_COST = 0.06
PACK_ARRAY_COST = 0.25
PACK_64_ELEMENTS_COST = 1.2

# times as fast a program must be on floats that packs matrices now and then, which is longer to read
PACKING_MIN_SPEEDUP = 1.25

# microseconds to call NumPy within a program on floats, to pack or take apart, and for each element of these
ISLAND_CALL_COST = 0.5
ISLAND_ELEMENT_COST = 0.03

# elements of a matrix that is multiplied one by one
MATRIX_BY_ELEMENT_MAX_ELEMENTS = 16

# elements among which one is chosen when the code runs
CHOICE_MAX_ELEMENTS = 16

# operations on floats that one operation may take
EXPANDED_MAX_OPS = 4096

# steps of a loop over elements that are written out: a tenth faster, and longer to read
WRITTEN_OUT_MAX_STEPS = 100

# elements of vectors that are a loop over elements: a third of the code, half the time to the first call. With more,
# NumPy is faster
VECTOR_LOOP_MIN_ELEMENTS = 4
VECTOR_LOOP_MAX_ELEMENTS = 16

# characters and operations on one line of floats: the operations are short ones here
FLOAT_LINE_MAX_CHARACTERS = 80
FLOAT_LINE_MAX_OPS = 10

# characters of a packed result with what is written inside it: others stand beside it
PACKED_MAX_CHARACTERS = 56

# elements of one array that are results one after the other, from which on they are written as `*d`
STARRED_MIN_ELEMENTS = 4

# elements of a list of which an array is made, from which on the list is one parameter
LISTED_MIN_ELEMENTS = 4
