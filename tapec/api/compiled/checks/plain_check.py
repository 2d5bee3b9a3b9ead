"""Hold a recording, and the code generated for it, against plain NumPy: a difference is an error, never a wrong number.

`settings.check` says when: after the first call of each signature and path, at every call, or never. A function is run
again only where it is known that running does nothing else (`tapec.trace.function.effects`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import count
from time import perf_counter
from typing import Any

import numpy as np

from tapec.api import tuning
from tapec.api.compiled import lazy
from tapec.api.compiled.checks.direction_check import check_direction
from tapec.api.compiled.checks.plain_run import Difference, TooLong, compare, copied, ending_within, moved, plain_run
from tapec.api.compiled.programs.guarded_paths import TracedPath
from tapec.errors import MismatchError, TapecError, at_user_line
from tapec.ir import OpSet
from tapec.ir.source_location import place_of
from tapec.pytree import LEAF, flatten, paths, unflatten
from tapec.trace.classes import unwrap
from tapec.trace.function.trace_function import Recorded

__all__ = ["PlainCheck"]

_OWN_DERIVATIVES = OpSet("stop_gradient custom custom_graph cholesky eigh eigvalsh")

_SEEDS = count()  # each check takes another direction

_IDENTITY = "Arguments that are one array are two inputs, and numbers are inputs: `is` tells them apart. "
_FIX = (
    "Fix: write that line in another way, and please report it; "
    'with tapec.settings(check="never") the result is taken as it is.'
)


class _Output:
    """Stands for a result that generated code gives, at this place of its outputs."""

    __slots__ = ("node", "place")

    def __init__(self, place: int, node: Any):
        self.place = place
        self.node = node


class PlainCheck:
    """Holds one call of a function, and what plain NumPy gives for it.

    `again` records the function once more, for who looks for the line at which the two part. `unchecked` says why there
    is nothing to compare with. `wrt` are the leaves by which gradients were taken. `of_batch` says that the results are
    those of one example: its shape may be that of all.
    """

    def __init__(
        self,
        name: str,
        function: Any,
        tree: Any,
        leaves: list[Any],
        again: Callable[[], Recorded] | None,
        of_batch: bool,
        wrt: Sequence[int] = (),
    ):
        self.name = name
        self.function = function
        self.tree = tree
        self.leaves = leaves
        self.again = again
        self.of_batch = of_batch
        self.wrt = wrt
        self.structure: Any = None
        self.results: list[Any] = []
        self.unchecked: str | None = None
        begin = perf_counter()
        try:
            self.structure, self.results = plain_run(function, tree, leaves)
        except (TapecError, Warning) as error:  # a warning that other threads have made an error
            self.unchecked = f"plain NumPy does not run it ({type(error).__name__})"
        except Exception as error:
            raise self._error(f"plain NumPy raises {type(error).__name__} ({error}), tapec does not") from error
        self.seconds = perf_counter() - begin

    def recording(self, recorded: Recorded) -> None:
        """Compare what a recording came to."""
        self._compare(dict(enumerate(map(unwrap, self._leaves(recorded.tree, recorded.results)))), "")

    def generated(self, path: TracedPath, outputs: Any, at: int) -> None:
        """Compare the outputs of generated code, of which the one at `at` is the function's first result."""
        given = zip(count(at), path.forward.outputs)
        leaves = [_Output(*next(given)) if static is LEAF else static for static in path.info.statics]
        found, origins = {}, {}
        for k, x in enumerate(self._leaves(path.info.result, leaves)):
            if type(x) is not _Output:
                found[k] = x
            elif x.place >= 0:
                found[k], origins[k] = outputs[x.place], x.node.origin
        self._compare(found, "the generated code: ", origins)

    def gradient(self, path: TracedPath, gradients: Sequence[Any]) -> None:
        """Compare a gradient, along a random direction, with differences of plain NumPy.

        Nothing is compared where the function says itself what its derivative is, nor where it reads half of a matrix:
        that has a symmetric gradient.
        """
        if any([node.op in _OWN_DERIVATIVES for node in path.forward.nodes]) or path.info.statics[0] is not LEAF:
            return
        rng = np.random.default_rng(next(_SEEDS))
        values = [np.asarray(unwrap(self.leaves[k])) for k in self.wrt]
        directions = [_direction(x, rng) for x in values]
        predicted = sum([float(np.sum((np.conj(g) * v).real)) for g, v in zip(gradients, directions)])

        def along(t: complex) -> Any:
            if isinstance(t, complex):
                raise TypeError("real steps only")
            leaves = [*self.leaves]
            for k, x, v in zip(self.wrt, values, directions):
                leaves[k] = (x + t * v).astype(x.dtype)[()]
            return np.sum(self._nearby(leaves)[1][0])

        precision = max([float(np.finfo(x.dtype).eps) for x in values])
        try:
            for scale in tuning.STEP_SCALES:
                verdict = check_direction(along, predicted, precision, scale)
                if verdict.status != "wrong":
                    return
        except TooLong:
            return
        what = f"{verdict.predicted!r}, {verdict.how} of plain NumPy give {verdict.measured!r}"
        raise self._error(f"the gradient along a random direction is {what}")

    def _leaves(self, tree: Any, leaves: list[Any]) -> list[Any]:
        """Return the leaves of a result of the structure of plain NumPy's, in which a captured dataclass is taken apart
        that is one leaf, the user's own object, in the result."""
        if tree == self.structure:
            return leaves
        found: list[Any] = []
        if flatten(unflatten(tree, leaves), found) != self.structure:
            raise self._error("it has another structure than plain NumPy's")
        return found

    def _compare(self, found: dict[int, Any], who: str, origins: dict[int, Any] | None = None) -> None:
        for k, got in found.items():
            plain = self.results[k]
            difference = compare(got, plain)
            if difference is None or (self.of_batch and np.shape(got) != np.shape(plain)):
                continue
            if not self._is_rounding(k, difference):
                label = paths(unflatten(self.structure, self.results), "the result")[k]
                origin = origins.get(k) if origins else None
                raise self._error(f"{who}{label} {difference.text}", origin, recorded=not who)

    def _is_rounding(self, k: int, difference: Difference) -> bool:
        """Return whether arguments a few units in the last place off move a plain result as far, or copies do."""
        tries = [copied(self.leaves), *[moved(self.leaves, seed) for seed in range(tuning.MOVED_TRIES)]]
        for leaves in tries if difference.at is not None else tries[:1]:
            try:
                structure, results = self._nearby(leaves)
            except (Exception, TooLong):  # at such a place, say, a matrix is singular
                continue
            other = compare(results[k], self.results[k]) if structure == self.structure else None
            if other is None:
                continue
            if difference.size and other.size:
                if difference.size <= tuning.MOVED_AS_FAR * other.size:
                    return True
            elif other.at is not None and bool(np.any(other.at & difference.at)):
                return True
        return False

    def _nearby(self, leaves: list[Any]) -> tuple[Any, list[Any]]:
        """Run the function at other arguments, for a while."""
        with ending_within(tuning.NEARBY_MIN_SECONDS + tuning.NEARBY_TIMES * self.seconds):
            return plain_run(self.function, self.tree, leaves)

    def _error(self, what: str, origin: Any = None, recorded: bool = False) -> MismatchError:
        line = f" at {place_of(origin).short}" if origin is not None else ""
        if recorded and self.again is not None:
            line = lazy.parting_line(self.again, lambda: plain_run(self.function, self.tree, self.leaves))
            line = f"; they part at {line}" if line else ""
        note = _IDENTITY if " is " in line else ""
        return MismatchError(at_user_line(f"{self.name} differs from plain NumPy: {what}{line}. {note}{_FIX}"))


def _direction(x: np.ndarray, rng: Any) -> np.ndarray:
    """Return a random direction, in which a step of 1 moves an array by about its own size."""
    v = rng.standard_normal(x.shape)
    if x.dtype.kind == "c":
        v = v + 1j * rng.standard_normal(x.shape)
    return v * (float(np.max(np.abs(x), initial=0.0)) or 1.0)
