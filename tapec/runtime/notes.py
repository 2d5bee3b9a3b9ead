"""Errors from inside generated code, with the user's line added."""

from __future__ import annotations

from typing import Any

from tapec.ir.origin import place_of

__all__ = ["annotate"]


def annotate(error: BaseException, compiled: Any) -> None:
    """Add a note that says which line of the user the failing generated line came from."""
    code = compiled.function.__code__
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == code.co_filename:
            origin = compiled.origin_at(trace.tb_lineno)
            if origin is not None:
                place = place_of(origin)
                error.add_note(f"in code generated for {place.short}   {place.text}".rstrip())
            return
        trace = trace.tb_next
