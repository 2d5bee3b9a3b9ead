"""This package has what users import: tapes, Variables, decorators, checks.

Must not be imported here: compat, cli, report.
"""
