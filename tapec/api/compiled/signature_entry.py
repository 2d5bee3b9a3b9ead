"""Define `Entry`: what a compiled function knows of one signature, its programs and its limits."""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Iterable, Iterator
from threading import RLock
from typing import TYPE_CHECKING, Any

from tapec.api import tuning
from tapec.api.compiled.path_set import Program
from tapec.api.compiled.signature import Arguments, Call
from tapec.config import settings
from tapec.errors import warn_user
from tapec.ir.source_location import place_of, positions_of
from tapec.locks import renew_lock_of

if TYPE_CHECKING:
    from tapec.trace.function.trace_function import Recorded
    from tapec.trace.literals import Variants

__all__ = ["Entry"]


class Entry:
    """Holds one signature: what is known of its arguments, and one program for each state of captured facts.

    `retrace_reason` says why the function is recorded anew at each call, `single_use_reason` why code of the last
    run is for single use; `recorded` has the code for such runs.
    """

    used = False  # since it last was the oldest one in the cache

    def __init__(self, call: Call, info: Arguments, plan: Any):
        self.call = call
        self.info = info
        self.plan = plan
        self.programs: list[Program] = []
        self.without_stub: dict[Program, tuple[Program, ...]] = {}  # with the programs that they replace
        self.retrace_reason: str | None = None
        self.single_use_reason: str | None = None
        self.recorded: OrderedDict[Any, Variants] = OrderedDict()
        self.seen: set[int] = set()  # runs that came once
        self.lock = RLock()
        renew_lock_of(self, "lock")

    @property
    def reason_to_record(self) -> str | None:
        """Why no program is made of the last recorded run, or None."""
        return self.retrace_reason or self.single_use_reason

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
        for p in before:
            self.without_stub.pop(p, None)
        self.without_stub[program] = before
        at = min([self.programs.index(p) for p in before if p in self.programs], default=len(kept))
        for p in kept:
            if p.base in before:
                p.base = None
        self.programs = [*kept[:at], program, *kept[at:]]

    def limit(self, program: Program, objects: list[Any], recorded: Recorded, name: str) -> None:
        """Give up compiling, and retrace at each call from now on, where one more path of this program would be one too
        many."""
        self.retrace_reason = self._third_float(recorded) or self._third_array(recorded)
        if self.retrace_reason is not None:
            return
        addition = self.addition_to(program, objects)
        paths = program.paths + ([] if addition is None else addition.paths)
        if sum(any(g.kind is len for g in p.guards) for p in paths) >= tuning.LENGTH_PATHS_MAX:
            self.retrace_reason = "the shapes of its values depend on values"
        elif len(paths) >= settings.path_limit:
            self._past_limit(name, "paths", "write the branch with np.where")
        elif program not in self.programs and len(self.programs) >= settings.path_limit:
            self._past_limit(
                name, f"states of what it captures ({self._change:.80})", "pass as an argument what changes"
            )

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
        for key in recorded.captures.handed & recorded.captures.checks.keys():
            path, now = recorded.captures.checks[key]
            if len({now, *[p.checks[key][1] for p in self.programs if key in p.checks]}) > tuning.FLOAT_VALUES_MAX:
                return f"code that does not know tensors reads {path.label}, which is another one each time"
        return None

    def _past_limit(self, name: str, what: str, fix: str) -> None:
        self.retrace_reason = f"it has more than {settings.path_limit} {what}"
        warn_user(
            f"{name} has more than {settings.path_limit} {what} for one signature; from now on it is recorded at "
            f"each call, as a tape would. Fix: {fix}, or raise TAPEC_PATH_LIMIT."
        )

    @property
    def _change(self) -> str:
        """Which part of the captured state has changed."""
        return self.programs[-1].broken_fact or "a fact about it"

    def reason(self, program: Program, entries: Iterable[Entry]) -> str:
        """Say why a path is compiled now; `entries` are all signatures of the function."""
        if program.paths:
            return "it took a path that was not known"
        if self.programs:
            return f"captured state changed: {self._change}"
        others = [e for e in entries if e is not self and (e.programs or e.recorded)]
        if not others:
            return "it was called for the first time"
        if any(e.call.key[0] == self.call.key[0] for e in others):
            return "the settings are others"
        return signature_change(others[-1].info, self.info)


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
