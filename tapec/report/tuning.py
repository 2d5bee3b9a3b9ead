"""The thresholds of reports bound pictures and pages.

Each says its unit. Code reads them as `tuning.NAME` at each use, so tests may patch them here. The widths of a drawing
stand in the file that draws.
"""

from __future__ import annotations

# nodes of a graph from which a picture has one box for each line of the program: of a picture, and of those on a page
PICTURE_MAX_NODES = 400
PAGE_PICTURE_MAX_NODES = 250

# nodes of a graph from which a picture folds what a loop did, and rounds from which operations are one box with a count
FOLDED_MIN_NODES = 48
FOLDED_MIN_REPEATS = 3

# rounds of a loop that are asked from which lines a box comes: they tell much the same
ROUNDS_ASKED_MAX = 50

# lines of code or text that one pane of a page shows, and of one derivative rule
PANE_MAX_LINES = 300
RULE_MAX_LINES = 12

# operations in all graphs of a page up to which code is written for each of them, not for the last alone
STEP_CODE_MAX_NODES = 800

# tests of a recorded path that a page lists
PATH_MAX_TESTS = 12

# operations of a graph up to which what a pass changed is shown line by line
CHANGES_MAX_NODES = 600

# times that the boxes of a picture are put in order, and moved towards their neighbours, down and up in turns
LAYER_SWEEPS = 8
