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
    assert_type(loss(w, x), tuple[np.floating[Any], Array])
    assert_type(loss(w, x=x)[0], np.floating[Any])
    assert_type(both(w, w), tuple[Array, Array])
    assert_type(power(w, n=3), Array)
    assert_type(loss.source(), str)
    assert loss.explain(w, x).name
    loss.export(folder / "loss.py", w, x)
    assert loss.cache_info().compilations == 1
    loss.cache_clear()

    model = Model()
    assert_type(model.loss(w), tuple[Any, Any])
    assert_type(model.loss.source(w), str)
    tapec.hessian(lambda w: np.sum(w**3))(w)[0]
    assert_type(tapec.hessian(lambda w: np.sum(w**3), sparse=False).source(w), str)
    assert_type(tapec.vmap(lambda a, b: a * b, in_axes=(0, None))(x, 2.0), Any)
    tapec.hvp(lambda w: np.sum(w**3))(w, w)
    tapec.per_example_grad(lambda w, x: np.sum(w * x))(w, x)
    tapec.jacobian(lambda w: w * w, mode="forward")(w)


def parabola(x: Array) -> float:
    return np.sum(x * x * x)


def squared(x: Array) -> Array:
    return x * x


def product(a: Array, b: float) -> float:
    return np.sum(a) * b


def of_parameters(p: dict[str, Array], x: Array) -> float:
    return np.sum((x @ p["w"]) ** 2)


def with_extras(x: Array) -> tuple[float, dict[str, int]]:
    return np.sum(x * x), {"calls": 1}


def anything(x, y=2.0):
    return np.sum(x) * y


@tapec.grad(argnums=1)
def by_second(a: Array, b: float) -> float:
    return np.sum(a) * b


@tapec.value_and_grad(argnums=(0, 1))
def by_both(a: Array, b: float) -> float:
    return np.sum(a) * b


def results() -> None:
    """Gradients have the types of their arguments, and several come as tuples."""
    w, x = np.ones(3), np.ones((2, 3))
    assert_type(tapec.grad(parabola)(w), Array)
    assert_type(tapec.grad(parabola)(x=w), Array)
    assert_type(tapec.grad(product, argnums=1)(w, 2.0), float)
    assert_type(tapec.grad(product, argnums=(0, 1))(w, b=2.0), tuple[Array, float])
    assert_type(tapec.grad(product, argnums="a")(w, 2.0), Any)
    assert_type(tapec.grad(of_parameters)({"w": w}, x), dict[str, Array])
    assert_type(tapec.grad(with_extras, has_aux=True)(w), tuple[Array, dict[str, int]])
    assert_type(tapec.value_and_grad(with_extras, has_aux=True)(w), tuple[tuple[float, dict[str, int]], Array])
    assert_type(by_second(w, 2.0), float)
    assert_type(by_both(w, 2.0), tuple[float, tuple[Array, float]])
    assert_type(tapec.jacobian(squared)(w), np.ndarray[Any, Any])
    assert_type(tapec.hessian(parabola)(w), np.ndarray[Any, Any])
    assert_type(tapec.vmap(squared)(x), Array)
    assert_type(tapec.vmap(parabola)(x), np.ndarray[Any, Any])
    assert_type(tapec.jvp(squared, (w,), (w,)), tuple[Array, Array])
    assert_type(tapec.hvp(parabola)(w, w), Array)
    a: Array = w
    value, pullback = tapec.vjp(product, a, 2.0)
    assert_type(value, float)
    assert_type(pullback(1.0), tuple[Array, float])
    assert_type(tapec.linearize(squared, w)[1](w), Array)
    print(tapec.grad(anything)(w) + 1.0, tapec.value_and_grad(anything, argnums="y")(w)[1] + 1.0)


REFUSED = (  # by checkers: mypy complains about an ignore that nothing needs
    lambda: loss(np.ones(3)),  # type: ignore[call-overload]
    lambda: loss("w", np.ones(3)),  # type: ignore[call-overload]
    lambda: power(np.ones(3), m=3),  # type: ignore[call-arg]
    lambda: tapec.grad(squares, argnumbers=1),  # type: ignore[call-overload]
    lambda: Model().loss(),  # type: ignore[call-arg]
    lambda: tapec.settings(bogus=1),  # type: ignore[call-arg]
    lambda: tapec.settings(path_limit="8"),  # type: ignore[arg-type]
    lambda: tapec.settings(check="often"),  # type: ignore[arg-type]
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
    assert_type(tape.gradient(total, v), Tensor | Any)
    assert_type(tape.gradient(total, [v, t]), list[Tensor | Any])
    named: dict[str, Variable] = {"v": v}
    assert_type(tape.gradient(total, named), dict[str, Tensor | Any])
    v.assign_sub(0.1 * tape.gradient(total, v))


def the_rest() -> None:
    with tapec.settings(path_limit=8):
        assert tapec.settings.path_limit == 8
    assert issubclass(tapec.DetachError, tapec.TapecError)
    tapec.check_grads(lambda x: np.sum(x**2), (np.ones(3),))
    tapec.scipy.special.logsumexp(np.ones(3))
