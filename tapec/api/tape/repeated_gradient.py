"""Shorten the way of a gradient that is asked for again on a recognised recording.

Recordings that are recognised differ in values alone. Who asks the same of them as before needs no slots looked up and
no structure: it is enough that the target and each source are the objects that they should be.
"""

from __future__ import annotations

from operator import is_, itemgetter
from typing import Any

from tapec.api import tuning
from tapec.api.tape.run_gradient import answer
from tapec.config import code_settings, in_force
from tapec.fast_namedtuple import NamedTuple
from tapec.log_gradients.gradient_program import Rows, Segment
from tapec.log_gradients.structure_cache import CACHE
from tapec.trace.tensor import Tensor
from tapec.values.variable import Variable

__all__ = ["Shortcut", "add_shortcut"]


def add_shortcut(request: Any, code: Segment) -> None:
    """Add a shortcut to the code that has answered a request without seeds.

    The next recording that is recognised, and is asked the same, takes it.
    """
    known, structure = request.log.known, request.structure
    if any([shortcut.code is code for shortcut in known.shortcuts]) or not _is_plain(request, code):
        return
    shortcuts = [shortcut for shortcut in known.shortcuts if shortcut.structure is not structure]
    new = Shortcut(request, code)
    if len(shortcuts) < tuning.SHORTCUTS_MAX and new.is_right:
        structure.known = known
        known.shortcuts = [*shortcuts, new]


def _is_plain(request: Any, code: Segment) -> bool:
    """Return whether a request is plain enough for a shortcut.

    It has one target; each of its sources was read at one value; a path leads to at least one source; and there is
    nothing to do but to run the code.
    """
    return (
        len(request.targets) == 1
        and not (request.apart or Rows in map(type, code.gives.values()))
        and bool(code.gives)
        and all([len(group) == 1 and group != (None,) for group in request.sources])
    )


class Shortcut:
    """Leads from a recognised recording to the code that gives a target's gradient.

    `goal` is the slot of the target, `slots` are those of the sources, and `ends` gets the objects in all of these. The
    code is for these `literals` and `settings`.
    """

    __slots__ = (
        "code",
        "ends",
        "goal",
        "literals",
        "moving",
        "settings",
        "slots",
        "structure",
    )

    def __init__(self, request: Any, code: Segment):
        self.code = code
        self.structure = request.structure
        [self.goal] = request.targets
        self.slots = [k for [k] in request.sources]
        self.ends = itemgetter(self.goal, *self.slots)
        self.settings = code_settings(in_force())
        self.moving = moving = self.structure.variants.moving
        self.literals = tuple([p for p in request.log.scalars if p[0] not in moving])

    @property
    def is_right(self) -> bool:
        """Whether the code is for these literals. Another thread may just have seen one change."""
        return self.structure.variants.made.get((None, self.literals)) is self.code

    def follow(self, tape: Any, target: Any, sources: Any) -> Any:
        """Return the gradients, in the structure of the sources; None where the request is another one."""
        log = tape.log
        if target is not log.objects[self.goal] or log.behind:
            return None
        kind = type(sources)
        given = sources if kind is list or kind is tuple else (sources,)
        token = tape.token
        mark = token.mark  # what this tape alone watches has it
        objects = [target]
        for x in given:
            if type(x) is Variable:
                read = tape.variables.get(id(x))
                if read is None or len(read[1]) != 1:
                    return None
                objects.append(read[1][0])
            elif type(x) is Tensor and (x._mark is mark or _is_watched(x, token)):
                objects.append(x)
            else:
                return None
        numbers = [p for p in log.scalars if p[0] not in self.moving] if self.moving else log.scalars
        if (
            len(given) != len(self.slots)
            or not all(map(is_, self.ends(log.objects), objects))
            or not (target._mark is mark or _is_watched(target, token))
            or (*numbers,) != self.literals
            or code_settings(in_force()) != self.settings
        ):
            return None
        ran, found = answer(tape, self.code, log)
        grads = [*map(found.get, self.slots)]
        CACHE.hits += 1
        self.structure.used = True
        tape.shown = Shown([ran], id(target), (*map(id, given),))
        if not tape._persistent:
            tape._use_up()
        return grads if kind is list else tuple(grads) if kind is tuple else grads[0]


def _is_watched(x: Tensor, token: Any) -> bool:
    """Return whether a tape watches x, by itself or with others."""
    return x._mark is not None and token in x._mark.tokens


class Shown(NamedTuple):
    """Holds a gradient that a tape remembers: the segments that ran, and the identities of its target and sources."""

    segments: list[Any]
    target: int
    sources: tuple[int, ...]

    def is_about(self, tape: Any, targets: list[Any], sources: list[Any]) -> bool:
        """Return whether these targets and sources are those of the remembered gradient."""
        return [self.target] == [*map(id, targets)] and self.sources == tuple(map(id, sources))
