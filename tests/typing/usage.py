"""tapec as a strict type checker sees it. mypy reads this file (see pyproject.toml), and the tests run it."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import Any, assert_type

import numpy as np

import tapec
from tapec import GradientTape, IndexedSlices, Tensor, UnconnectedGradients, Variable

Array = np.ndarray[Any, np.dtype[np.float64]]


# -- decorators: a call takes what the function takes, and gives what its name says ----------------------------------
def squares(w: Array, x: Array) -> float:
    return float(w @ x)


@tapec.value_and_grad
def loss(w: Array, x: Array) -> np.floating[Any]:
    return np.mean((x @ w) ** 2)


@tapec.grad(argnums=(0, 1))
def both(w: Array, x: Array) -> Any:
    return np.sum(w * x)


@tapec.compile(static_argnames="n")
def power(x: Array, n: int = 2) -> Array:
    return x**n


class Model:
    def __init__(self) -> None:
        self.w = np.ones(3)

    @tapec.value_and_grad
    def loss(self, x: Array) -> Any:
        return np.sum(self.w * x * x)

    @tapec.grad
    @staticmethod
    def penalty(w: Array) -> Any:
        return np.sum(w * w)

    @property
    @tapec.compile
    def norm(self) -> Any:
        return np.sum(self.w)

    @cached_property
    def slope(self) -> Array:
        return np.asarray(tapec.grad(lambda x: np.sum(x * self.w))(np.ones(3)))


def functions(folder: Path) -> None:
    w, x = np.ones(3), np.ones((2, 3))
    assert_type(loss(w, x), tuple[np.floating[Any], Any])
    assert_type(loss(w, x=x)[0], np.floating[Any])
    assert_type(both(w, w), Any)
    assert_type(power(w, n=3), Array)
    assert_type(loss.source(), str)
    assert loss.explain(w, x).name
    loss.export(folder / "loss.py", w, x)
    assert loss.cache_info().compilations == 1
    loss.cache_clear()

    model = Model()
    assert_type(model.loss(w), tuple[Any, Any])
    assert_type(model.loss.source(w), str)
    assert_type(tapec.hessian(lambda w: np.sum(w**3))(w), Any)
    assert_type(tapec.hessian(lambda w: np.sum(w**3), sparse=False).source(w), str)
    assert_type(tapec.vmap(lambda a, b: a * b, in_axes=(0, None))(x, 2.0), Any)
    tapec.hvp(lambda w: np.sum(w**3))(w, w)
    tapec.per_example_grad(lambda w, x: np.sum(w * x))(w, x)
    tapec.jacobian(lambda w: w * w, mode="forward")(w)


REFUSED = (  # by checkers: mypy complains about an ignore that nothing needs
    lambda: loss(np.ones(3)),  # type: ignore[call-arg]
    lambda: loss("w", np.ones(3)),  # type: ignore[arg-type]
    lambda: power(np.ones(3), m=3),  # type: ignore[call-arg]
    lambda: tapec.grad(squares, argnumbers=1),  # type: ignore[call-overload]
    lambda: Model().loss(),  # type: ignore[call-arg]
)


# -- the tape --------------------------------------------------------------------------------------------------------
def tape() -> None:
    v = Variable(3.0, name="v")
    t = tapec.constant([1.0, 2.0])
    with GradientTape(persistent=True) as tape:
        tape.watch(t)
        y = -v * t + 2.0 * t / v - abs(t) ** 2
        total = np.sum(y) + y[0] + y.sum()
        positive = t > 0
    assert bool(np.all(positive))
    assert len(t) == 2
    for part in t:
        float(part)
    tape.gradient(total, {"v": v, "t": [t]}, unconnected_gradients=UnconnectedGradients.ZERO)
    assert_type(tape.source(total, v), str)
    assert_type(v.assign_sub(0.5), Variable)
    assert_type(t.shape, tuple[int, ...])
    assert_type(t.dtype, np.dtype)
    found: Tensor | IndexedSlices | None = tape.jacobian(y, t)
    assert isinstance(found, Tensor)


def the_rest() -> None:
    with tapec.settings(path_limit=8):
        assert tapec.settings.path_limit == 8
    assert issubclass(tapec.DetachError, tapec.TapecError)
    tapec.check_grads(lambda x: np.sum(x**2), (np.ones(3),))
    tapec.scipy.special.logsumexp(np.ones(3))
