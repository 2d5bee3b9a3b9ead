"""Show what a tape's gradient runs, as source and as graphs."""

from __future__ import annotations

from typing import Any

from tapec.api.tape.gradient_request import Request, whole
from tapec.api.tape.python_gradient_cuts import cuts_known, segments_ahead
from tapec.api.tape.run_gradient import fitting
from tapec.errors import TapeError, TapeValueError, at_user_line
from tapec.ir.text.notebook_hooks import Source
from tapec.log_gradients.gradient_program import Segment

__all__ = ["graph", "last_segments", "segments_of", "source"]

Segments = list[Any]  # Segment, or the name of Python code that runs between two of them


def segments_of(tape: Any, targets: list[Any], sources: list[Any]) -> Segments:
    """Return the segments that `gradient` would run; compile them if they are not yet, but do not run them."""
    request = Request(tape, targets, None, sources)
    if cuts_known(request):
        return segments_ahead(request)
    return [fitting(whole(request), request.log, request.is_last)]


def last_segments(tape: Any, targets: list[Any], sources: list[Any]) -> Segments:
    """Return the segments that ran for the gradient that used a tape up."""
    shown = tape.shown
    if shown is not None and shown.is_about(tape, targets, sources):
        return shown.segments
    raise TapeError(
        at_user_line(
            "this tape is used up: it can show the gradient that it gave, and no other. "
            "Fix: tapec.GradientTape(persistent=True)"
        )
    )


def source(segments: Segments, lines: bool = False) -> str:
    """The functions in the order in which they run, and what runs between them; with `lines`, all of the user's."""
    return Source("\n\n".join([_text(s, lines) for s in segments if type(s) is str or s.source]))


def _text(s: Any, lines: bool) -> str:
    return f"# then {s} runs\n" if type(s) is str else s.compiled.code.lined_source if lines else s.source


def _why(segments: Segments) -> str:
    return "a user's gradient function" if str in map(type, segments) else "operation by operation"


def graph(segments: Segments, stage: str) -> Any:
    """The graph of one stage."""
    if stage not in ("forward", "gradient", "optimized", "target"):
        known = "'forward', 'gradient', 'optimized' or 'target'"
        raise TapeValueError(at_user_line(f"no stage is called {stage!r}: take {known}"))
    compiled = [s for s in segments if type(s) is Segment]
    if len(compiled) != 1:
        raise TapeValueError(
            at_user_line(
                f"this gradient runs {_why(segments)}, so it is {len(compiled)} graphs. Fix: tape.source shows them"
            )
        )
    [only] = compiled
    if stage == "target" and only.compiled is not None:
        return only.compiled.written
    return {"forward": only.forward, "gradient": only.graph}.get(stage, only.optimized)
