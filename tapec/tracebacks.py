"""Leave frames of tapec out of the traceback of an error that leaves tapec.

Comes in: an error on its way to the user's code.  Goes out: the same error, whose traceback has the frames of the
user and of libraries alone.  Must not be imported here: anything of tapec but `config` and `errors`.

A bare `raise` after `shorten` adds no frame of its own, so that a function which does both is not seen either.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from types import TracebackType
from typing import Any, TypeVar

from tapec.config import settings
from tapec.errors import PACKAGE_FOLDER

__all__ = ["shorten", "shortens"]

F = TypeVar("F", bound=Callable[..., Any])


def shorten(error: BaseException) -> None:
    """Cut the frames of tapec and of generated code out of the traceback of an error, and of those it is chained to."""
    try:
        if settings.traceback == "full":
            return
    except ValueError:  # the environment cannot be read, which is what the error says
        pass
    todo, seen = [error], {id(error)}
    while todo:
        one = todo.pop()
        BaseException.with_traceback(one, _others(one.__traceback__))  # the class may allow no assignments
        grouped = one.exceptions if isinstance(one, BaseExceptionGroup) else ()
        for more in (one.__cause__, one.__context__, *grouped):
            if more is not None and id(more) not in seen:
                seen.add(id(more))
                todo.append(more)


def _others(traceback: TracebackType | None) -> TracebackType | None:
    """Return a traceback without the frames of tapec; the same one, where it has none."""
    entries = []
    at = traceback
    while at is not None:
        entries.append(at)
        at = at.tb_next
    kept = [x for x in entries if not x.tb_frame.f_code.co_filename.startswith(PACKAGE_FOLDER)]
    if len(kept) == len(entries):
        return traceback
    found = None
    for x in reversed(kept):
        found = TracebackType(found, x.tb_frame, x.tb_lasti, x.tb_lineno)
    return found


def shortens(function: F) -> F:
    """Decorate a function that users call: errors leave it with a short traceback."""

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except BaseException as error:
            shorten(error)
            raise

    return call  # type: ignore[return-value]
