"""Thresholds of what is told while something takes long."""

# seconds that a job takes before it is shown
FIRST_SECONDS = 1.0

# seconds between two changes of what is shown
SHOWN_SECONDS = 0.1

# records of a trace between two looks at the clock
COUNTED_RECORDS = 256
