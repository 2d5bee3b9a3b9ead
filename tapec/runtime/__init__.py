"""What runs at call time: the cache of compiled functions and the helpers that generated code may call.

Comes in: compiled functions.  Goes out: their results.  Must not be imported here: trace, api.
"""
