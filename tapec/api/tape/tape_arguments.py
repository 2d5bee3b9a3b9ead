"""Check the targets, sources and seeds that users hand to a tape, and flatten them into leaves."""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tapec.errors import TapeTypeError, TapeValueError, at_user_line, user_line
from tapec.pytree import leaves_of, refill
from tapec.trace.classes import plain_value, wrap
from tapec.trace.tensor import Tensor
from tapec.values.indexed_slices import IndexedSlices
from tapec.values.variable import Variable

__all__ = [
    "UnconnectedGradients",
    "flat_sources",
    "flat_targets",
    "one_tensor",
    "seeds_for",
    "wants_zero",
    "watched_leaves",
    "zeros_of",
]


Fold = Callable[[Any], Any]


class UnconnectedGradients(enum.Enum):
    """Chooses the gradient of a source that no path leads to: None, or zeros.

    Examples
    --------
    >>> import tapec
    >>> x, y = tapec.Variable(1.0), tapec.Variable(2.0)
    >>> with tapec.GradientTape() as tape:
    ...     z = x * x
    >>> tape.gradient(z, [x, y], unconnected_gradients=tapec.UnconnectedGradients.ZERO)
    [tapec.Tensor(2.0, shape=(), dtype=float64), tapec.Tensor(0.0, shape=(), dtype=float64)]

    See Also
    --------
    tapec.GradientTape.gradient : takes it
    """

    NONE = "none"
    ZERO = "zero"


def wants_zero(value: Any) -> bool:
    """Return whether a source that no path leads to gets zeros."""
    try:
        return UnconnectedGradients(value) is UnconnectedGradients.ZERO
    except ValueError:
        where = user_line(3)
        raise TapeValueError(
            f"Unknown value for unconnected_gradients: {value!r}{where and f' ({where})'}. "
            f"Fix: 'none', 'zero', or a member of tapec.UnconnectedGradients"
        ) from None


def is_tensor(x: Any) -> bool:
    return isinstance(x, (Tensor, Variable))


def settled(x: Any) -> Any:
    """A tensor that changed in place, or whose base did, as what it is now."""
    return x._tapec_read() if isinstance(x, Tensor) else x


def _shown(x: Any) -> str:
    text = repr(x)
    return text if len(text) <= 60 else f"{text[:57]}..."


def watched_leaves(structure: Any) -> list[Any]:
    """Return the tensors and Variables of a structure; anything else cannot be watched."""
    leaves = leaves_of(structure)
    for leaf in leaves:
        if not is_tensor(leaf):
            raise TapeValueError(
                at_user_line(
                    f"Passed in object {_shown(leaf)} of type {type(leaf).__name__!r}, not tapec.Tensor or "
                    f"tapec.Variable. Fix: make it one with tapec.constant before it is used"
                )
            )
    return [settled(leaf) for leaf in leaves]


_SETTLED = frozenset({Tensor, Variable})


def flat_sources(sources: Any) -> tuple[list[Any], Callable[[list[Any]], Any] | None]:
    """The sources, and what puts gradients into their structure (None: there is just one)."""
    kind = type(sources)
    if (kind is list or kind is tuple) and _SETTLED.issuperset(map(type, sources)):
        return list(sources), kind
    if is_tensor(sources):
        return [settled(sources)], None
    leaves = leaves_of(sources)
    for leaf in leaves:
        if not is_tensor(leaf):
            raise TapeTypeError(
                at_user_line(
                    f"a gradient can be taken with respect to a tapec.Tensor or a tapec.Variable, not with respect to "
                    f"{_shown(leaf)} of type {type(leaf).__name__!r}. Fix: make it one before it is used, and watch it"
                )
            )
    return [settled(leaf) for leaf in leaves], lambda found: refill(sources, found)


def flat_targets(target: Any, fold: Fold) -> list[Any]:
    """Return the tensors to be differentiated, from one or a structure. `fold` makes tensors of arrays of tensors."""
    if target is None:
        raise TapeTypeError(
            at_user_line(
                "Argument `target` should be a list or nested structure of Tensors or Variables to be differentiated, "
                "but received None. Fix: does the function that computes it return it?"
            )
        )
    return [_summed(leaf, fold) for leaf in leaves_of(target)]


def _summed(target: Any, fold: Fold) -> Any:
    """The sum of IndexedSlices is that of their values."""
    return target.values if isinstance(target, IndexedSlices) else one_tensor(target, "target", fold)


def one_tensor(x: Any, role: str, fold: Fold) -> Any:
    """A tensor or a Variable; sparse gradients count as the dense tensors they stand for."""
    if isinstance(x, IndexedSlices) or (isinstance(x, np.ndarray) and x.dtype == object):
        x = fold(x)
    if is_tensor(x):
        return settled(x)
    fix = "compute it from tensors, inside the tape's block; float(), .numpy() and np.asarray leave the recording"
    raise TapeTypeError(
        at_user_line(f"the {role} is {_shown(x)} of type {type(x).__name__!r}, which no tape records. Fix: {fix}")
    )


def seeds_for(targets: Sequence[Any], given: Any) -> list[Tensor]:
    """Return the gradient that each target starts from, in the target's shape and dtype."""
    leaves = leaves_of(given)
    if len(targets) == 1 and len(leaves) > 1 and not any(map(is_tensor, leaves)):
        leaves = [given]  # one target, and its gradient as a list of numbers
    if len(leaves) != len(targets):
        raise TapeValueError(
            at_user_line(f"{len(targets)} targets, but {len(leaves)} output_gradients. Fix: give one for each target")
        )
    return [_seed(t, g) for t, g in zip(targets, leaves)]


def _seed(target: Any, given: Any) -> Tensor:
    if given is None:
        raise TapeValueError(
            at_user_line("None among output_gradients. Fix: np.ones_like(target), or output_gradients=None for all")
        )
    seed: Any = given._tapec_read() if hasattr(type(given), "_tapec_read") else wrap(plain_value(given))
    if seed.dtype != target.dtype:
        if seed.dtype.kind == "c" and target.dtype.kind != "c":
            raise TapeTypeError(
                at_user_line(f"an output gradient of dtype {seed.dtype} for a target of dtype {target.dtype}")
            )
        seed = seed.astype(target.dtype)
    if seed.shape != target.shape:
        try:
            seed = np.broadcast_to(seed, target.shape)
        except ValueError:
            raise TapeValueError(
                at_user_line(
                    f"an output gradient of shape {seed.shape} for a target of shape {target.shape}. "
                    f"Fix: give it the target's shape"
                )
            ) from None
    return seed


def zeros_of(source: Any) -> Tensor:
    return wrap(np.zeros(source.shape, source.dtype))
