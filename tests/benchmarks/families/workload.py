"""What a workload is, and its derivative by tapec.

Every family of workloads is a file of this folder. A file has the objectives, as a user writes them, and beside each
the derivative that an expert writes by hand: the same algorithm, updates in place where they are natural, no blocks and
no threads. Loops over scalars are in Python floats by hand. Structure that a person knows may be used.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy

__all__ = ["LEARNING_RATE", "Array", "Task", "Workload", "by_hand", "by_tapec"]

Array = numpy.ndarray[Any, numpy.dtype[Any]]
LEARNING_RATE = 1e-3


class Task(Enum):
    """What is computed of an objective. Results are lists of arrays and numbers."""

    GRADIENTS = "the value, and the gradient with respect to each argument in `wrt`"
    JACOBIAN = "the Jacobian with respect to the first argument"
    HESSIAN = "the Hessian with respect to the first argument"
    PER_EXAMPLE = "a gradient for each example, with respect to the first argument; the others have a row an example"
    STEP = "the loss of a step of training on a tape, and the parameters in `wrt` after it"


@dataclass(frozen=True)
class Workload:
    """A program. `data(rng, *size)` makes its arguments; `small` is a size for tests, `size` one for measurements."""

    name: str
    family: str
    objective: Callable[..., Any]  # (np, *args)
    hand_written: Callable[..., Sequence[Any]]  # (*args); of a step: (parameters, *other args)
    data: Callable[..., tuple[Any, ...]]
    size: tuple[int, ...] = ()
    small: tuple[int, ...] = ()
    wrt: tuple[int, ...] = (0,)
    task: Task = Task.GRADIENTS
    tolerance: float = 1e-9  # of results, relative to the largest element

    def args(self, small: bool = False) -> tuple[Any, ...]:
        """The same arguments at every call."""
        return self.data(
            numpy.random.default_rng(20240 + sum(map(ord, self.name))), *(self.small if small else self.size)
        )


def by_hand(w: Workload, args: tuple[Any, ...]) -> Callable[..., Sequence[Any]]:
    """A function of the arguments that computes the task by hand. Parameters of steps stay from call to call."""
    if w.task is not Task.STEP:
        return w.hand_written
    count = len(w.wrt)
    parameters = [a.copy() for a in args[:count]]
    return lambda *args: w.hand_written(parameters, *args[count:])


def by_tapec(w: Workload, args: tuple[Any, ...]) -> Callable[..., Sequence[Any]]:
    """The same by tapec. Nothing is compiled before the first call."""
    import tapec

    def f(*args: Any) -> Any:
        return w.objective(numpy, *args)

    if w.task is Task.STEP:
        return _step(w, args)
    if w.task is Task.GRADIENTS:
        gradients = tapec.value_and_grad(f, argnums=w.wrt)

        def value_first(*args: Any) -> list[Any]:
            value, found = gradients(*args)
            return [value, *found]

        return value_first
    if w.task is Task.PER_EXAMPLE:
        made = tapec.vmap(tapec.grad(f), in_axes=(None, *[0] * (len(args) - 1)))
    else:
        made = {Task.JACOBIAN: tapec.jacobian, Task.HESSIAN: tapec.hessian}[w.task](f)
    return lambda *args: [made(*args)]


def _step(w: Workload, args: tuple[Any, ...]) -> Callable[..., Sequence[Any]]:
    import tapec

    count = len(w.wrt)
    parameters = [tapec.Variable(a.copy()) for a in args[:count]]

    def step(*args: Any) -> list[Any]:
        with tapec.GradientTape() as tape:
            loss = w.objective(numpy, *parameters, *args[count:])
        for p, g in zip(parameters, tape.gradient(loss, parameters), strict=True):
            p.assign_sub(LEARNING_RATE * g)
        return [loss.numpy(), *(p.numpy() for p in parameters)]

    return step
