"""The thresholds of recording bound what is kept and compared, and say when a plan or a faster way pays.

Each says its unit. None of them changes a result: beyond them, recording takes more time or memory, or a function is
traced again. Code reads them as `tuning.NAME` at each use, so tests may patch them here.
"""

from __future__ import annotations

# -- captured state ---------------------------------------------------------------------------------------------------

# captured values that nothing was computed with, up to which the class of each is compared at each call
IDLE_ITEMS_MAX = 16

# elements of an array of strings or objects that is compared at each call; of a larger one it is compared which it is
TEXTS_MAX_ELEMENTS = 256

# elements of an array that NumPy computed with before tapec saw it, up to which it is compared at each call all the
# same: so many floats take some 16 us
COMPARED_MAX_ELEMENTS = 1 << 16

# numbers and strings of one container that are captured one by one; a longer one of nothing else is one fact
CONTAINER_MAX_CAPTURES = 100

# objects inside objects that are looked into in the code of installed packages. What the user's own code leads to is
# looked into up to so many parts of one container, characters of the text that reads an object, and objects in all:
# beyond, a function is traced at each call
OPAQUE_MAX_DEPTH = 4
OPAQUE_CONTAINER_MAX_PARTS = 1000
OPAQUE_PATH_MAX_CHARACTERS = 500
OPAQUE_MAX_PARTS = 4000

# numbers, strings and objects inside an object of another package, up to which these are compared at each call
STATE_MAX_PARTS = 1000

# objects inside an object that a function returns, up to which they are searched for what the run has computed
RESULT_MAX_PARTS = 100_000

# -- plans of calls ---------------------------------------------------------------------------------------------------

# calls of one key in traced functions before a plan is made: those run once, and are compiled
PLAN_MIN_TRACED_CALLS = 8

# plans, and keys that were seen once, before all of them are dropped
PLANS_MAX = 4096

# plans of one function for numbers: beyond, it gets other numbers each time, and is called each time
PLANS_OF_NUMBERS_MAX = 32

# elements of a list or tuple in an argument that a key spells out
PLAN_LIST_MAX_LENGTH = 64

# bytes of a constant array that a plan may keep
PLAN_CONSTANT_MAX_BYTES = 4096

# -- plain arrays and the values of a log -----------------------------------------------------------------------------

# bytes of a plain array up to which it is compared with what it held as bytes; a larger one is compared in place, which
# takes a tenth of the time at 64 MB
BYTES_MAX_BYTES = 1 << 16

# bytes of a value of a log from which it is worth freeing
FREED_MIN_BYTES = 1 << 12

# bytes of a value of a log from which it is worth being written over by generated code: a new array of less takes less
# time than to find out that nobody holds the value
DONATED_MIN_BYTES = 1 << 17

# bytes of an array that was written to, from which what was read of it is copied rather than keeping the whole
PARTS_COPIED_MIN_BYTES = 1 << 14

# records to look back for who reads what a tensor held before its last write: a loop of writes stays linear
UNREAD_MAX_RECORDS = 64

# -- where tensors become plain values --------------------------------------------------------------------------------

# elements of an object array that a recorded tensor may become: each is a node
OBJECT_ARRAY_MAX_ELEMENTS = 10_000

# instructions of user code whose names are kept, then all are forgotten
SITES_KEPT_MAX = 1024

# bytes that the operations of a function move, up to which it is run once more to be compared: about 0.2 s
RUN_AGAIN_MAX_BYTES = 1_000_000_000

# warnings of NumPy's that are told at the user's line in a thread: each costs another computation of the operation
TOLD_MAX_WARNINGS = 1000

# characters of a number from which on it has the name of the expression that the user wrote for it
LONG_NUMBER_MIN_CHARACTERS = 9

# characters of an operation in the source in which it is looked for
READ_MAX_CHARACTERS = 2000

# characters of such an expression, and operations within one another there
WRITTEN_MAX_CHARACTERS = 48
WRITTEN_MAX_DEPTH = 8
