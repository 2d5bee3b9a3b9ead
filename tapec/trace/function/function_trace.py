"""Define `Trace`: the recording of one run of a decorated function with its real arguments."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from sys import _getframe
from typing import Any

import numpy as np

from tapec.config import count_changes
from tapec.errors import UnsupportedError, at_user_line, errors_of_values
from tapec.ops.control.select_and_call import GUARD
from tapec.trace.capture.random_state import DRAWS, IMPORTS, all_states, put_back_modules, states
from tapec.trace.classes import TensorBase, wrap
from tapec.trace.escape.fix_hints import surface
from tapec.trace.escape.text_sinks import outlets
from tapec.trace.escape.to_plain import to_bool
from tapec.trace.float_warnings import watch_warnings
from tapec.trace.function.error_handling import ErrorHandling
from tapec.trace.function.function_log import FunctionLog
from tapec.trace.perform import user_frame
from tapec.trace.recording_stack import CURRENT, Mark, Recorder, Token, recordings_around
from tapec.trace.tensor import LAID_OUT, Tensor

__all__ = ["CATCHES", "LOOKED", "Trace"]

LOOKED = "it looks at the values of an integer or boolean array"
CATCHES = "it catches an error that NumPy raises for some values alone"

_WEAKER = {LAID_OUT: (None,), DRAWS: (None, LAID_OUT, LOOKED, CATCHES)}  # reasons in whose place these come


class Trace:
    """Records every operation on its tensors, and the facts about values that the run relied on.

    `retrace_reason` says why the function must be recorded anew at each call, `single_use_reason` why code of this run
    is for single use; `effects` say why a function that the run called may do something when it runs again;
    `variables` are those that were read. `making` tells that the arrays which the run makes are tensors,
    `shows_elements` that np.asarray has made a read-only array of a tensor's elements, `gives_objects` that NumPy has
    got an array of objects for a tensor. `changing` are the labels of
    captured paths whose whole numbers were others before: these are inputs. One that `takes_numbers` makes inputs of
    those, too, that code only computes with; all others are facts.
    `inside` are the values of bodies, such as those of loops, with the names of the bodies; `left` is the name of a
    body of which a value was stored. `repeated` is the name of a body that is run a second time now.
    """

    is_trace = True

    def __init__(self, making: bool = False, changing: Collection[str] = (), takes_numbers: bool = True) -> None:
        self.making = making
        self.changing = changing
        self.takes_numbers = takes_numbers
        self.shows_elements = False
        self.gives_objects = False
        self.token = Token()
        self.log = FunctionLog(self.token)
        self.retrace_reason: str | None = None
        self.single_use_reason: str | None = None
        self.effects: str | None = None
        self.variables: dict[int, tuple[Any, Tensor]] = {}
        self.captures: Any = None
        self.inputs: dict[int, str] = {}
        self.moving: set[int] = set()
        self.varying: set[int] = set()  # inputs that are one example of a batch
        self.generators: dict[str, Any] = {}  # the states that those of modules had
        self.inside: dict[int, tuple[Any, str]] = {}
        self.left: str | None = None
        self.repeated = ""
        self.outer: Recorder | None = None
        self._of_numbers: set[int] = set()  # tensors that are made of such numbers alone, by the `id` of each
        self._looked_through = 0  # how many records were searched for these
        self.finite: Any = None  # whether all numbers are finite on whose being so the run relies
        self.errors = ErrorHandling()
        self.outlets = outlets()

    @contextmanager
    def recording(self) -> Any:
        """Be the only recording of this thread, whatever was active before; left by any exit."""
        self.outer = outer = CURRENT.get()
        CURRENT.set(Recorder((self,)))
        count_changes(1)
        watch_warnings()
        self.errors.begin()
        self.generators = states()
        errors = errors_of_values()
        try:
            yield self
        except Exception as error:
            surface(error)
            raise
        finally:
            self.outer = None
            count_changes(-1)
            CURRENT.set(outer)
            self.token.end()
            self.errors.end()
            self._end(errors)

    def _end(self, errors: int) -> None:
        """Note what the run did that depends on more than its inputs. `errors` counts those that were caught before
        it."""
        if errors_of_values() != errors and self.retrace_reason in (None, LOOKED, LAID_OUT):
            self.retrace_reason = CATCHES  # a run that draws, or stores what it computes, is not repeated: that goes on
        self.retrace_reason = self.errors.retrace_reason or self.retrace_reason
        self.single_use_reason = self.errors.single_use_reason or self.single_use_reason
        after = states()
        if any([after.get(module) != state for module, state in self.generators.items()]):
            self.require_retrace(DRAWS)
        elif len(after) > len(self.generators):  # what it drew nobody has watched; the next run is watched
            self.single_use_reason = self.single_use_reason or IMPORTS

    def rewind(self) -> bool:
        """Take generators of random numbers back to where they stood when the run met them, so that another run draws
        the same; return whether that could be done."""
        if not self.captures.untraced.rewind():
            return False
        put_back_modules(self.generators)
        return True

    def watch_draws(self) -> None:
        """The function may draw random numbers, from modules that nobody has imported yet."""
        self.generators = {**all_states(), **self.generators}

    def input(self, value: Any, name: str = "", moving: bool = True) -> Tensor:
        """A tensor that stands for an argument or a captured value, by reference.

        `moving` inputs are those by which somebody may differentiate: arguments, and tensors of an outer recording;
        never integers.
        """
        tensor = wrap(value)
        tensor._mark = self.token
        self.inputs[id(tensor)] = name
        if moving and tensor.dtype.kind in "fc":
            self.moving.add(id(tensor))
        return tensor

    def is_fixed(self, tensor: Tensor) -> bool:
        """Return whether a tensor depends on captured plain numbers alone. Then its value may be looked at, under a
        guard."""
        return not self._depends_on(tensor, self.moving)

    def is_fixed_around(self, tensor: Tensor) -> bool:
        """Return whether a tensor of the recordings around this run is known to be fixed in each of them."""
        tapes = {tape.token: tape for tape in recordings_around(self)}
        watching = [] if tensor._mark is None else [token for token in tensor._mark.tokens if token.alive]
        found = [tapes.get(token) for token in watching]
        return bool(found) and all([t is not None and t.is_trace and t.is_fixed(tensor) for t in found])

    def known_sources(self, tensor: Tensor) -> list[Tensor] | None:
        """Return the captured plain numbers and arrays from which alone a tensor was computed; None where it hangs on
        anything else, such as an argument or a Variable."""
        if self.captures is None:
            return None
        others = {id(t) for _, t in self.variables.values()} | self.moving | self.varying
        captured = self.captures.inputs.arrays
        found: list[Any] = []
        todo: dict[int, Any] = {id(t): t for t in (tensor, self.log.known_as(tensor))}
        found += todo.values()
        for entry in reversed(self.log.records):
            if any([id(part) in todo for part in (entry[3] if type(entry[3]) is tuple else (entry[3],))]):
                found += [x for x in entry[1] if isinstance(x, Tensor) and id(x) not in todo]
                todo.update((id(x), x) for x in entry[1] if isinstance(x, Tensor))
        if any([id(x) in others or (id(x) in self.inputs and id(x) not in captured) for x in found]):
            return None
        if any([k.alive and k is not self.token for x in found if x._mark is not None for k in x._mark.tokens]):
            return None
        return [x for x in found if id(x) in captured]

    def hands_out(self, tensor: Tensor) -> bool:
        """Return whether code that does not know tensors may get the value: then no gradient is lost by that, and what
        the value was made of is a fact."""
        sources = self.known_sources(tensor)
        if sources is not None:
            arrays = self.captures.inputs.arrays
            self.captures.untraced.hand_out(tensor, [arrays[id(x)] for x in sources])
        return sources is not None

    def differs(self, tensor: Tensor) -> bool:
        """Return whether a tensor depends on an input that is one example of a batch."""
        return bool(self.varying) and self._depends_on(tensor, self.varying)

    def captured_differs(self, tensor: Tensor) -> bool:
        """Return whether a tensor is one example of a batch for the recordings that were on when this one began."""
        outside = () if self.outer is None else self.outer.tapes
        return any([t.differs(tensor) for t in outside if getattr(t, "varying", None)])

    def _depends_on(self, tensor: Tensor, inputs: set[int]) -> bool:
        known = set(inputs)
        for entry in self.log.records:
            if any(id(x) in known for x in entry[1]):
                known.update(id(part) for part in (entry[3] if type(entry[3]) is tuple else (entry[3],)))
        return id(self.log.known_as(tensor)) in known

    def accessed(self, variable: Any, tensor: Tensor) -> None:
        """A Variable was read, with this value. A recording around may differentiate by it, if it is trainable."""
        if id(variable) not in self.variables:
            self.variables[id(variable)] = (variable, tensor)
            if self.outer is not None and variable._trainable and tensor.dtype.kind in "fc":
                self.moving.add(id(tensor))
        mark = tensor._mark
        if mark is None:
            tensor._mark = self.token
        elif self.token not in mark.tokens:
            tensor._mark = Mark(frozenset(k for k in mark.tokens if k.alive) | {self.token})

    def watches(self, x: Any) -> bool:
        return isinstance(x, Tensor) and x._mark is not None and self.token in x._mark.tokens

    def guard(self, kind: type, tensor: Tensor, value: Any, origin: Any = None) -> Any:
        """Note that the run goes on because `kind(tensor)` is this value, as some line of the user's has asked."""
        if self.watches(tensor):
            if self.decides(tensor):
                return value
            if origin is None:
                at = user_frame(_getframe(1))
                origin = at.f_code, at.f_lasti
            self.log.sink((GUARD, (tensor,), (("kind", kind), ("value", value)), (), *origin, None))
        return value

    def decides(self, tensor: Tensor) -> bool:
        """Return whether captured whole numbers alone decide a value, and note them as facts: those that were inputs
        because code seemed to compute with them only."""
        if self.captures is None or not self.captures.inputs.early:
            return False
        inputs, known = self.captures.inputs, self._of_numbers
        known.update([i for i, (path, _) in inputs.arrays.items() if path.source in inputs.early])
        for entry in self.log.records[self._looked_through :]:
            given = [id(x) for x in entry[1] if isinstance(x, TensorBase)]
            if given and known.issuperset(given):
                known.update([id(part) for part in (entry[3] if type(entry[3]) is tuple else (entry[3],))])
        self._looked_through = len(self.log.records)
        may_be = id(tensor) in known or id(self.log.known_as(tensor)) in known
        return may_be and inputs.decide(self.known_sources(tensor))

    def note_order(self) -> None:
        """Note that another thing would be computed for arguments that lie otherwise in memory."""
        self.log.depends_on_order = True

    def note_finite(self, tensor: Tensor) -> None:
        """The run goes on because this is a finite number. One guard tells that of all such numbers when it is over."""
        self.finite = np.isfinite(tensor) if self.finite is None else self.finite & np.isfinite(tensor)

    def guard_finite(self) -> None:
        if self.finite is not None:
            to_bool(self.finite)

    def guards(self) -> Iterator[tuple[type, Any, Any]]:
        """Yield kind, value and origin of each guard."""
        for op, _, params, _, code, lasti, _ in self.log.records:
            if op is GUARD:
                what = dict(params)
                yield what["kind"], what["value"], (code, lasti)

    def require_retrace(self, why: str) -> None:
        """Set the reason why the function must be recorded anew at each call. The layout of arrays is the weakest
        reason; that it draws is one where nothing else may change when the function runs again."""
        if self.retrace_reason in _WEAKER.get(why, (self.retrace_reason,)):
            self.retrace_reason = why

    def refuse_from_bodies(self, used: Iterable[Any]) -> None:
        """Refuse a run in which a value of a body, such as that of a loop, is used or was stored outside of it."""
        name = self.left or next((self.inside[id(x)][1] for x in used if id(x) in self.inside), None)
        if name is not None:
            raise UnsupportedError(
                at_user_line(
                    f"{name}: a value that its function computes has left it by a list, an attribute or a variable. It "
                    "is used outside, or stored there, but is known only in the function. Fix: return it, too"
                )
            )

    def observe(self, tensor: Tensor) -> None:
        """Note that the values of an integer or boolean array were looked at: no guard is small enough for that."""
        if self.watches(tensor) and self.retrace_reason in (None, LAID_OUT) and not self.decides(tensor):
            self.retrace_reason = LOOKED
