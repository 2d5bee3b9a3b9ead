"""The thresholds of commands set what they try, what they count as rounding, and what they print.

Each says its unit. Code reads them as `tuning.NAME` at each use, so tests may patch them here.
"""

from __future__ import annotations

# relative error that any right gradient has, another one on each machine: `check` counts it as none
ROUNDING_ERROR = 1e-13

# runs of both programs by `diff`: the first on the given arguments, the others on random ones
DIFF_RUNS = 5

# seconds after which a command says that it is working, and then says so again
WORKING_SECONDS = 1.0

# examples in a batch that shows what `--transform vmap` makes
BATCH_SIZE = 8

# columns of a parameter and its default in a signature; of a longer one the default is left out
PARAMETER_MAX_COLUMNS = 40

# seconds between two looks at the files of a page that is served
WATCH_SECONDS = 0.3
