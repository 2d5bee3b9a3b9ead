"""What a tape's gradient runs, as source and as graphs."""

from __future__ import annotations

from typing import Any

from tapec.api.cuts import cuts_of, segments_ahead
from tapec.api.gradient import Request, whole
from tapec.api.segment import Segment
from tapec.errors import TapeError, TapeValueError, at_user_line
from tapec.ir import Graph

__all__ = ["graph", "last_segments", "segments_of", "source"]


def segments_of(tape: Any, targets: list[Any], sources: list[Any]) -> list[Segment]:
    """What `gradient` would run, compiled if it is not yet, but not run."""
    request = Request(tape, targets, None, sources)
    structure = request.structure
    if structure.cuts is None:
        structure.cuts = cuts_of(request.log)
    return segments_ahead(request) if structure.cuts else [whole(request)]


def last_segments(tape: Any, targets: list[Any], sources: list[Any]) -> list[Segment]:
    """What the gradient that used a tape up ran."""
    ids = tuple([id(t) for t in targets]), tuple([id(s) for s in sources])
    if tape.shown is None or tape.shown.ids != ids:
        raise TapeError(
            at_user_line(
                "this tape is used up: it can show the gradient that it gave, and no other. "
                "Mend: tapec.GradientTape(persistent=True)"
            )
        )
    return tape.shown.segments


def source(segments: list[Segment]) -> str:
    return "\n\n".join([s.source for s in segments if s.source])


def graph(segments: list[Segment], stage: str) -> Graph:
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
