"""Other libraries' names for what tapec does.

Comes in: programs written for them.  Goes out: the same names.  Must not be imported here: cli, report.
"""
