"""The thresholds of caches and memory say what is kept, and when the collector and the allocator are told.

Each says its unit. None of them changes a result. Code reads them as `tuning.NAME` at each use, so tests may patch them
here. What users may set stands in `tapec.settings`.
"""

from __future__ import annotations

# -- the cache on disk ------------------------------------------------------------------------------------------------

# seconds after which a half-written file belongs to nobody
STALE_SECONDS = 3600.0

# the share of `settings.cache_dir_size` that is left when old entries are dropped
FOLDER_SHARE_KEPT = 0.75

# lines of source up to which an entry keeps the text, too: of longer ones printing it takes longer than making the code
TEXT_KEPT_MAX_LINES = 2000

# -- memory -----------------------------------------------------------------------------------------------------------

# objects that were made while the collector rested, from which a full collection pays: some 20 MB, of 500 compilations.
# It walks through all that lives, 5 ms in a small program
AGED_MIN_OBJECTS = 200_000

# times that the collector rests before it is asked again whether frozen objects have been thawed: Python walks through
# all of them to count them, some milliseconds for a million
FROZEN_UNASKED_COMPILATIONS = 1_000

# bytes that a function has in use at one time, from which the allocator is told: what needs less is kept anyway
MEMORY_KEPT_MIN_BYTES = 1 << 18

# bytes of the largest block by which the GNU C library sets its threshold: 32 MiB, less what it takes itself
MALLOC_BLOCK_MAX_BYTES = (1 << 25) - (1 << 13)

# -- forks ------------------------------------------------------------------------------------------------------------

# seconds that a fork waits for other threads that compile; compiling takes hundredths of a second
FORK_WAIT_SECONDS = 1.0

# seconds after which it looks again
FORK_LOOK_SECONDS = 0.001

# -- comparing values after each step (`settings.verify="values"`) -----------------------------------------------------

# runs in which each operation rounds otherwise, and up to how many times as far as one of them moves a value a
# difference is rounding
ROUNDED_TRIES = 3
ROUNDED_AS_FAR = 100.0
