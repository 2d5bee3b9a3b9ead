"""What a tape's gradient runs, as source and as graphs."""

from __future__ import annotations

from typing import Any

from tapec.api.cuts import cuts_known, segments_ahead
from tapec.api.gradient import Request, whole
from tapec.api.segment import Segment
from tapec.errors import TapeError, TapeValueError, at_user_line
from tapec.ir import Graph
from tapec.ir.display import Source

__all__ = ["graph", "last_segments", "segments_of", "source"]


def segments_of(tape: Any, targets: list[Any], sources: list[Any]) -> list[Segment]:
    """What `gradient` would run, compiled if it is not yet, but not run."""
    request = Request(tape, targets, None, sources)
    return segments_ahead(request) if cuts_known(request) else [whole(request)]


def last_segments(tape: Any, targets: list[Any], sources: list[Any]) -> list[Segment]:
    """What the gradient that used a tape up ran."""
    shown = tape.shown
    if shown is None or shown.slots(tape, targets, sources) != (shown.targets, shown.sources):
        raise TapeError(
            at_user_line(
                "this tape is used up: it can show the gradient that it gave, and no other. "
                "Mend: tapec.GradientTape(persistent=True)"
            )
        )
    return shown.segments


def source(segments: list[Segment]) -> str:
    return Source("\n\n".join([s.source for s in segments if s.source]))


def graph(segments: list[Segment], stage: str) -> Graph | None:
    if stage not in ("forward", "gradient", "optimized"):
        raise TapeValueError(at_user_line(f"no stage is called {stage!r}: take 'forward', 'gradient' or 'optimized'"))
    if len(segments) != 1:
        raise TapeValueError(
            at_user_line(
                f"this gradient runs a user's gradient function, so it is {len(segments)} graphs. "
                f"Mend: tape.source shows them"
            )
        )
    [segment] = segments
    return {"forward": segment.forward, "gradient": segment.graph, "optimized": segment.lean}[stage]
