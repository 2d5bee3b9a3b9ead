"""Transforms that change meaning: reverse, forward, batch.

Comes in: graphs.  Goes out: graphs of derivatives.  Must not be imported here: passes, codegen, or anything above.
"""
