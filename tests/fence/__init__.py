"""Compare two commits of tapec: the text of generated code, calls, memory and times. `python -m tests.fence OLD NEW`.

A change that only moves or renames must leave all of it as it was; this command is the fence around such changes.
It uses tapec's public surface alone, so it works when internal modules stand elsewhere in OLD and NEW.
"""
