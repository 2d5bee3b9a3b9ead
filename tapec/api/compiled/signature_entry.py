"""Define `Entry`: what a compiled function knows of one signature, its programs, its state and its limits."""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Iterable, Iterator
from enum import Enum
from threading import RLock
from typing import TYPE_CHECKING, Any

from tapec.api import tuning
from tapec.api.compiled.programs.numbers_met import NumbersMet
from tapec.api.compiled.programs.path_set import Program
from tapec.api.compiled.signature import Arguments, Call
from tapec.config import settings
from tapec.errors import warn_user
from tapec.ir.source_location import place_of, positions_of
from tapec.locks import renew_lock_of
from tapec.trace.function.function_trace import LOOKED

if TYPE_CHECKING:
    from tapec.trace.function.trace_function import Recorded
    from tapec.trace.literals import Variants

__all__ = ["FIRST_CALL", "Entry", "State"]

FIRST_CALL = "it was called for the first time"


class State(Enum):
    """Says what became of the run of a signature that was recorded last.

    In the state RETRACED, which stays, programs are not asked. In all others they are, and what none of them knows is
    recorded.
    """

    NEW = "not recorded yet"
    COMPILED = "compiled"
    OP_BY_OP = "computed op by op, until such a run comes again"
    SINGLE_USE = "compiled for itself alone: the next call may give a program"
    RETRACED = "recorded anew at each call"
    REFUSED = "refused by the transform"


class Entry:
    """Holds one signature: what is known of its arguments, and one program for each state of captured facts.

    `reason` says why it is in its `state`, where that is not to be expected. `recorded` has the code of runs that give
    no program, by their structure. `stubbed` has the types of calls and the programs for which a stub was written.
    """

    used = False  # since it last was the oldest one in the cache

    def __init__(self, call: Call, info: Arguments, plan: Any):
        self.key = call.key
        self.memory = call.memory  # in which order the axes of each array lie
        self.info = info
        self.plan = plan
        self.programs: list[Program] = []
        self.stubbed: set[tuple[Any, Program]] = set()
        self.state = State.NEW
        self.reason: str | None = None
        self.recorded: OrderedDict[Any, Variants] = OrderedDict()
        self.numbers = NumbersMet()
        self.seen: set[int] = set()  # runs that came once
        self.lock = RLock()
        renew_lock_of(self, "lock")

    # -- its state -----------------------------------------------------------------------------------------------------
    def become(self, state: State, reason: str | None = None) -> None:
        if self.state is not State.RETRACED or state is State.RETRACED:
            self.state, self.reason = state, reason

    def note_run(self, recorded: Recorded) -> bool:
        """Note what becomes of a run; return whether its code is for this run alone."""
        anew, once = recorded.trace.retrace_reason, recorded.trace.single_use_reason
        if anew is not None and (anew != LOOKED or once is None):
            self.become(State.RETRACED, anew)
        elif once is not None:
            self.become(State.SINGLE_USE, once)
        return self.state is State.RETRACED or once is not None

    @property
    def why_recorded(self) -> str:
        """Why a call was answered by the code for the structure of its run."""
        return self.reason or "it catches an error that its code raises"

    # -- its runs and programs -----------------------------------------------------------------------------------------
    @property
    def known(self) -> list[Program]:
        """The programs that may answer a call."""
        return [] if self.state is State.RETRACED else self.programs

    def has_seen(self, key: Any) -> bool:
        """Return whether code for a run is known, or the run has come before; remember the run."""
        number = hash(key)  # a key would keep its objects alive; equal hashes only compile a run earlier
        if key in self.recorded or number in self.seen:
            return True
        if len(self.seen) >= settings.cache_size:
            self.seen.clear()
        self.seen.add(number)
        return False

    def program_now(self, objects: list[Any]) -> Program | None:
        """Return the program whose captured facts hold now; None if there is none."""
        return next((p for p in self.programs if p.read(objects) is not None), None)

    def addition_to(self, base: Program, objects: list[Any]) -> Program | None:
        """Return the program with the paths found after `base` was compiled, for the captured facts that hold now."""
        return next((p for p in self.programs if p.base is base and p.read(objects) is not None), None)

    def grown(self, program: Program, objects: list[Any]) -> tuple[Program, tuple[Program, ...]]:
        """Return the program that takes one more path, and the programs whose place it takes.

        With many paths it is not `program` itself each time: all paths would be compiled again for each one that is
        found.
        """
        addition = self.addition_to(program, objects)
        if addition is None:
            are_few = len(program.paths) < tuning.PATHS_TOGETHER_MAX
            return (program.copy(), (program,)) if are_few else (program.new_addition(), ())
        if (len(addition.paths) + 1) * tuning.PATHS_FOR_EACH_ADDED < len(program.paths):
            return addition.copy(), (addition,)
        return addition.joined(), (program, addition)

    def put(self, program: Program, before: tuple[Program, ...]) -> None:
        """Take a program in the place of others. Additions to these have no base from now on."""
        kept = [p for p in self.programs if p not in before]
        self.stubbed = {(types, p) for types, p in self.stubbed if p not in before}
        at = min([self.programs.index(p) for p in before if p in self.programs], default=len(kept))
        for p in kept:
            if p.base in before:
                p.base = None
        self.programs = [*kept[:at], program, *kept[at:]]
        self.numbers.note(program.checks.values())
        self.become(State.COMPILED)

    def why_too_many(self, program: Program, objects: list[Any], recorded: Recorded, name: str) -> str | None:
        """Return why one more path of this program is one too many, so that the function is retraced from now on."""
        reason = self._third_float(recorded) or self._third_array(recorded)
        if reason is not None:
            return reason
        addition = self.addition_to(program, objects)
        paths = program.paths + ([] if addition is None else addition.paths)
        if sum(any(g.kind is len for g in p.guards) for p in paths) >= tuning.LENGTH_PATHS_MAX:
            return "the shapes of its values depend on values"
        if len(paths) >= settings.path_limit:
            return _past_limit(name, "paths", "write the branch with np.where")
        if program not in self.programs and len(self.programs) >= settings.path_limit:
            what = f"states of what it captures ({self._change:.80})"
            return _past_limit(name, what, "pass as an argument what changes")
        return None

    def _third_float(self, recorded: Recorded) -> str | None:
        """Return why no path is compiled where a run looked at a float that was another one in each of two paths."""
        known: dict[Any, set[Any]] = {}
        for path in [p for program in self.programs for p in program.paths]:
            for key, value, _ in _floats([(g.kind, g.value, g.origin) for g in path.guards]):
                known.setdefault(key, set()).add(value)
        for key, value, origin in _floats(recorded.trace.guards()):
            if len({value, *known.get(key, ())}) > tuning.FLOAT_VALUES_MAX:
                return f"it looks at the value of a float, which is another one each time ({place_of(origin).short})"
        return None

    def _third_array(self, recorded: Recorded) -> str | None:
        """Return why no path is compiled where code that does not know tensors got an array that held something else in
        each of two programs."""
        checks = recorded.captures.facts.checks
        for key in recorded.captures.untraced.handed & checks.keys():
            path, now = checks[key]
            if len({now, *[p.checks[key][1] for p in self.programs if key in p.checks]}) > tuning.FLOAT_VALUES_MAX:
                return f"code that does not know tensors reads {path.label}, which is another one each time"
        return None

    @property
    def _change(self) -> str:
        """Return which part of the captured state has changed."""
        return self.programs[-1].broken_fact or "a fact about it"

    def why_compiled(self, program: Program, entries: Iterable[Entry]) -> str:
        """Say why a path is compiled now; `entries` are all signatures of the function."""
        if program.paths:
            return "it took a path that was not known"
        if self.programs:
            return f"captured state changed: {self._change}"
        others = [e for e in entries if e is not self and (e.programs or e.recorded)]
        if not others:
            return FIRST_CALL
        alike = [e for e in others if e.key[0] == self.key[0]]
        if alike:
            is_set = any(e.key[1] == self.key[1] for e in alike)
            return "other arguments of it are examples of a batch" if is_set else "the settings are others"
        return signature_change(others[-1].info, self.info)


def _past_limit(name: str, what: str, fix: str) -> str:
    warn_user(
        f"{name} has more than {settings.path_limit} {what} for one signature; from now on it is recorded at "
        f"each call, as a tape would. Fix: {fix}, or raise TAPEC_PATH_LIMIT."
    )
    return f"it has more than {settings.path_limit} {what}"


def _floats(guards: Iterable[tuple[type, Any, Any]]) -> Iterator[tuple[Any, Any, Any]]:
    """Yield the floats among guards, each with its key and origin.

    The key is where it was looked at, and the how many-eth time there. The place is that in the source: Python 3.11
    runs the same call by instructions at other offsets once it has adapted them.
    """
    times: Counter[Any] = Counter()
    for kind, value, origin in guards:
        if kind in (float, complex):
            place = None if origin is None else (origin[0], positions_of(origin))
            times[place] += 1
            yield (place, times[place]), value, origin


def signature_change(old: Arguments, new: Arguments) -> str:
    """Say how a signature differs: `x is f64[4], was f64[3]`."""
    before, now = dict(zip(old.names, old.types)), dict(zip(new.names, new.types))
    parts = [f"{n} is {t}, was {before[n]}" for n, t in now.items() if n in before and before[n] != t]
    parts += [f"{n} is new" for n in now if n not in before] + [f"{n} is gone" for n in before if n not in now]
    return ", ".join(parts) or "a static argument has another value, or a dict another order"
