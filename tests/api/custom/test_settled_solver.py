"""What solvers have around them, at each call of a compiled function, gradient, loop, batch or tape."""

from __future__ import annotations

import dataclasses
import functools
import gc
import types
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.optimize import OptimizeResult, brentq, least_squares, root
from scipy.sparse.linalg import LinearOperator, gmres

import tapec

ENDS = ((0.0, 2.0), (-3.0, 0.0), (3.0, 7.0), (0.0, 2.0), (3.0, 7.0))
state = types.SimpleNamespace()


def set_state(k: int) -> None:
    state.ends = ENDS[k]
    state.list, state.array, state.number = list(ENDS[k]), np.array(ENDS[k]), k
    state.table = [ENDS[(k + j) % 3] for j in range(3)]
    state.object = Bracket(*ENDS[k])
    state.partial = functools.partial(bisect, low=ENDS[k][0], high=ENDS[k][1])
    state.function = lambda f, x0, ends=ENDS[k]: brentq(f, *ends)


def cubic(c: Any) -> Callable[..., Any]:
    """Its roots are near 1, -2 and 5: which one it is hangs on the bracket."""
    return lambda x: (x - 1) * (x + 2) * (x - 5) + 0.1 * c


def bisect(f: Any, x0: Any, low: Any, high: Any) -> Any:
    return brentq(f, low, high)


def found(c: Any, solve: Any, *linear: Any) -> Any:
    return tapec.custom_root(cubic(c), 0.0, solve, *linear)


class Bracket:
    def __init__(self, low: Any, high: Any):
        self.low, self.high = low, high

    def __call__(self, f: Any, x0: Any) -> Any:
        return brentq(f, self.low, self.high)


class Slotted:
    __slots__ = ("high", "low")

    def __init__(self, low: Any, high: Any):
        self.low, self.high = low, high

    def solve(self, f: Any, x0: Any) -> Any:
        return brentq(f, self.low, self.high)


@dataclasses.dataclass(frozen=True)
class Data:
    low: Any
    high: Any

    def __call__(self, f: Any, x0: Any) -> Any:
        return brentq(f, self.low, self.high)


def by_partial(c: Any) -> Any:
    return found(c, functools.partial(bisect, low=state.ends[0], high=state.ends[1]))


def by_tuple(c: Any) -> Any:
    ends = state.ends
    return found(c, lambda f, x0: brentq(f, *ends))


def by_numbers(c: Any) -> Any:
    low, high = state.ends
    half = 0.5 * np.array([high - low, 0.0])[0]
    return found(c, lambda f, x0: brentq(f, high - 2 * half, low + 2 * half))


def by_list(c: Any) -> Any:
    ends = state.list
    return found(c, lambda f, x0: brentq(f, *ends))


def by_default(c: Any) -> Any:
    array = state.array
    return found(c, lambda f, x0, array=array: brentq(f, *array))


def by_keyword(c: Any) -> Any:
    low, high = state.ends

    def solve(f: Any, x0: Any, *, low: Any = low, high: Any = high) -> Any:
        return brentq(f, low, high)

    return found(c, solve)


def by_attribute(c: Any) -> Any:
    def solve(f: Any, x0: Any) -> Any:
        return brentq(f, *solve.ends)  # type: ignore[attr-defined]

    solve.ends = state.ends  # type: ignore[attr-defined]
    return found(c, solve)


def by_nested(c: Any) -> Any:
    low, high = state.ends

    def inner(f: Any, n: int) -> Any:
        return inner(f, n - 1) if n else brentq(f, low, high)

    return found(c, lambda f, x0: inner(f, 2))


def by_decorated(c: Any) -> Any:
    low, high = state.ends

    @functools.lru_cache
    def ends() -> Any:
        return low, high

    def deco(g: Any) -> Any:
        @functools.wraps(g)
        def call(*args: Any) -> Any:
            return g(*args)

        return call

    @deco
    def solve(f: Any, x0: Any) -> Any:
        return brentq(f, *ends())

    return found(c, solve)


def by_containers(c: Any) -> Any:
    held = {"deep": [state.ends, {"ends": state.ends}]}
    return found(c, lambda f, x0: brentq(f, *held["deep"][0])) + found(c, lambda f, x0: brentq(f, *state.ends))


def by_object(c: Any) -> Any:
    return found(c, Bracket(*state.ends))


def by_data(c: Any) -> Any:
    return found(c, Data(*state.ends))


def by_method(c: Any) -> Any:
    return found(c, Slotted(*state.ends).solve)


def by_captured_object(c: Any) -> Any:
    return found(c, state.object)


def by_captured_partial(c: Any) -> Any:
    return found(c, state.partial)


def by_captured_function(c: Any) -> Any:
    return found(c, state.function)


def by_number(c: Any) -> Any:
    n = state.number
    return found(c, lambda f, x0: brentq(f, *ENDS[n]))


def by_what_changes(c: Any) -> Any:
    """A list, an array, an object and a variable are others at each solver of one call."""
    ends, array, holder, total = [0.0, 0.0], np.zeros(2), types.SimpleNamespace(), 0.0
    for k in range(3):
        ends[0], ends[1] = low, high = holder.low, holder.high = state.table[k]
        array[:] = low, high
        total = total + 1 * (k + 1) * found(c, lambda f, x0: brentq(f, *ends))
        total = total + 10 * (k + 1) * found(c, lambda f, x0: brentq(f, *array))
        total = total + 100 * (k + 1) * found(c, lambda f, x0: brentq(f, holder.low, holder.high))
        total = total + 1000 * (k + 1) * found(c, lambda f, x0: brentq(f, low, high))  # noqa: B023
    return 1e-3 * total


def by_linear_solver(c: Any) -> Any:
    low, high = state.ends
    rtol = 1e-13 + 0.0 * low

    def linear(matvec: Any, b: Any) -> Any:
        b = np.atleast_1d(b)
        return OptimizeResult(x=gmres(LinearOperator((1, 1), matvec), b, rtol=rtol)[0])

    return found(c, lambda f, x0: OptimizeResult(x=brentq(f, low, high)), linear)


def of_linear_equations(c: Any) -> Any:
    rtol, array = 1e-13 + 0.0 * state.ends[0], state.array

    def solve(matvec: Any, b: Any) -> Any:
        return gmres(LinearOperator((2, 2), matvec), b, x0=array, rtol=rtol)[0]

    return np.sum(tapec.custom_linear_solve(lambda x: (2 + c) * x, array + 1.0, solve) ** 2)


def of_a_fixed_point(c: Any) -> Any:
    low, steps = state.ends[0], state.number + 1000
    return tapec.fixed_point(lambda x: c + low + 0.5 * np.cos(x), 0.0, 1e-12, steps)


FORMS = [f for name, f in list(globals().items()) if name.startswith(("by_", "of_"))]
# of one bracket after another: a solver is handed the values of the call
IN_ONE_PROGRAM = (by_partial, by_numbers, by_default, by_keyword, by_nested, by_object, by_data, by_method)


def slope(f: Any, x: Any, h: float = 1e-4) -> Any:
    return (f(x + h) - f(x - h)) / (2 * h)


def in_a_loop(f: Any) -> Any:
    return lambda c: tapec.fori_loop(0, 2, lambda i, s: 0.5 * s + f(c + 0.0 * s), 0.0)


def tape_gradient(f: Any) -> Any:
    def gradient(c: Any) -> Any:
        x = tapec.constant(c)
        with tapec.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        return tape.gradient(y, x).numpy()

    return gradient


def tangent(f: Any) -> Any:
    return lambda c: tapec.jvp(f, (c,), (1.0,))[1]


@pytest.mark.parametrize("f", FORMS, ids=lambda f: f.__name__)
def test_a_solver_has_what_is_current_around_it(f: Any) -> None:
    loop = in_a_loop(f)
    values = [(tapec.compile(f), f), (tapec.compile(loop), loop)]
    slopes = [(make(f), f) for make in (tapec.grad, tangent, tape_gradient)]
    slopes += [(tapec.grad(loop), loop), (lambda c: tapec.grad(lambda c: f(c))(c), f)]
    nested = tapec.compile(lambda c: 2.0 * tapec.grad(f)(c))
    batched = tapec.vmap(tapec.grad(f))
    for k in range(len(ENDS)):
        set_state(k)
        for made, plain in values:
            np.testing.assert_allclose(made(0.3), plain(0.3), rtol=1e-9)
        for made, plain in slopes:
            np.testing.assert_allclose(made(0.3), slope(plain, 0.3), rtol=1e-5)
        np.testing.assert_allclose(nested(0.3), 2.0 * slope(f, 0.3), rtol=1e-5)
        np.testing.assert_allclose(batched(np.array([0.3, 0.4])), [slope(f, 0.3), slope(f, 0.4)], rtol=1e-5)


@pytest.mark.parametrize("f", IN_ONE_PROGRAM, ids=lambda f: f.__name__)
def test_numbers_around_a_solver_are_inputs_of_its_op(f: Any) -> None:
    compiled = tapec.compile(f)
    for k in range(len(ENDS)):
        set_state(k)
        np.testing.assert_allclose(compiled(0.3), f(0.3), rtol=1e-9)
    assert compiled.cache_info().compilations == 1


def test_what_depends_on_arguments() -> None:
    def f(c: Any, n: Any) -> Any:
        top = 2.0 * c
        return found(c, lambda f, x0: brentq(f, top - 2.0, top)) + found(c, lambda f, x0: brentq(f, *ENDS[n]))

    c, n = np.array([1.0, -0.5, 2.7]), np.array([0, 1, 2])
    expected = [f(*given) for given in zip(c, n, strict=True)]
    compiled, grad = tapec.compile(f), tapec.grad(f)
    np.testing.assert_allclose([compiled(*given) for given in zip(c, n, strict=True)], expected, rtol=1e-9)
    assert compiled.cache_info().compilations == 1
    np.testing.assert_allclose(tapec.vmap(f)(c, n), expected, rtol=1e-9)
    for given in zip(c, n, strict=True):
        np.testing.assert_allclose(grad(*given), slope(lambda c, n=given[1]: f(c, n), given[0]), rtol=1e-5)


def test_what_differs_from_turn_to_turn() -> None:
    def by_rows(c: Any) -> Any:
        step = lambda s, row: (s, found(c, lambda f, x0: brentq(f, row[0], row[1])))
        return np.sum(tapec.scan(step, 0.0, np.array(ENDS))[1] ** 2)

    def by_turns(c: Any) -> Any:
        step = lambda i, s: s + found(c, lambda f, x0: brentq(f, *ENDS[int(i)])) ** 2
        return tapec.fori_loop(0, len(ENDS), step, 0.0)

    def by_branches(c: Any) -> Any:
        branch = lambda low: found(c, lambda f, x0: brentq(f, low, low + 2.0))
        return tapec.cond(c > 0, branch, lambda low: 0.0 * low, c * 0.0)

    for f in (by_rows, by_turns, by_branches):
        for make, plain in ((tapec.compile, f), (tapec.grad, functools.partial(slope, f))):
            made = make(f)
            np.testing.assert_allclose([made(0.3), made(0.5)], [plain(0.3), plain(0.5)], rtol=1e-5)


SOLVERS = {
    "root": lambda f, x0: root(f, x0, tol=1e-13),
    "least squares": lambda f, x0: least_squares(f, x0, xtol=1e-14, ftol=1e-14, gtol=1e-14),
}


@pytest.mark.parametrize("solve", SOLVERS.values(), ids=SOLVERS)
def test_a_solver_returns_an_object_with_the_solution(solve: Any) -> None:
    def f(c: Any) -> Any:
        return np.sum(tapec.custom_root(lambda y: y**3 + y - c, np.zeros(2), solve) ** 2)

    c = np.array([0.5, 0.6])
    expected = [slope(lambda h, k=k: f(c + h * np.eye(2)[k]), 0.0) for k in range(2)]
    for make in (tapec.grad, tapec.jacfwd, tape_gradient):
        np.testing.assert_allclose(make(f)(c), expected, rtol=1e-6)
    np.testing.assert_allclose(tapec.compile(f)(c), f(c), rtol=1e-12)
    np.testing.assert_allclose(tapec.vmap(tapec.grad(f))(np.stack([c, c])), [expected, expected], rtol=1e-6)
    np.testing.assert_allclose(tapec.hessian(f)(c), tapec.jacfwd(tapec.grad(f))(c), rtol=1e-6)


def test_a_solution_of_another_size_is_told_at_later_calls_too() -> None:
    def f(c: Any) -> Any:
        return np.sum(tapec.custom_root(lambda x: x - c, np.zeros(2), lambda f, x0: np.ones(state.size)))

    compiled = tapec.compile(f)
    state.size = 2
    assert compiled(1.0) == 2.0
    state.size = 3
    with pytest.raises(ValueError, match=r"custom_root: the solver returned shape \(3,\) for a start of \(2,\)"):
        compiled(1.0)


def test_a_solver_may_write_into_what_it_is_given() -> None:
    def descent(f: Any, x: Any) -> Any:
        for _ in range(200):
            x -= 0.1 * f(x)
        return x

    def f(c: Any, x0: Any) -> Any:
        return np.sum(tapec.custom_root(lambda x: x**3 + x - c, x0, descent))

    compiled = tapec.compile(f)
    for x0 in (np.zeros(2), np.zeros(2, int)):
        np.testing.assert_allclose([compiled(2.0, x0), compiled(1.0, x0)], [f(2.0, x0), f(1.0, x0)], rtol=1e-12)
        assert not x0.any()


def test_what_a_solver_tells_the_function_that_calls_it() -> None:
    def f(c: Any) -> Any:
        told, ends = {}, state.ends

        def solve(f: Any, x0: Any) -> Any:
            told["calls"] = 2.0
            return brentq(f, *ends)

        return found(c, solve) * told["calls"]

    compiled = tapec.compile(f)
    for k in range(3):
        set_state(k)
        np.testing.assert_allclose(compiled(0.3), f(0.3), rtol=1e-9)


def test_an_object_of_another_package_with_recorded_values() -> None:
    def f(c: Any) -> Any:
        ends = OptimizeResult(low=state.ends[0], high=state.ends[1])
        return found(c, lambda f, x0: brentq(f, ends.low, ends.high))

    compiled = tapec.compile(f)
    for k in range(3):
        set_state(k)
        np.testing.assert_allclose(compiled(0.3), f(0.3), rtol=1e-9)
    assert "a solver holds an object of class OptimizeResult with recorded values" in str(compiled.explain(0.3))
    with pytest.raises(tapec.UnsupportedError, match="a solver has something else around it when the function runs"):
        tapec.compile(in_a_loop(f))(0.3)


def test_a_solver_keeps_nothing_of_the_call_that_was_recorded() -> None:
    def f(c: Any) -> Any:
        array = state.array
        return found(c, lambda f, x0: brentq(f, *array[:2]))

    compiled = tapec.compile(f)
    state.array = np.array([0.0, 2.0])
    before = weakref.ref(state.array)
    compiled(0.3)
    state.array = np.array([3.0, 7.0])
    np.testing.assert_allclose(compiled(0.3), f(0.3), rtol=1e-9)
    gc.collect()
    assert before() is None


def test_functions_made_anew_share_code_with_a_solver_that_stays() -> None:
    def f(k: int) -> Any:
        return tapec.compile(lambda c: k * found(c, state.object))

    set_state(0)
    functions = [f(k) for k in range(1, 6)]
    expected = found(0.3, state.object)
    np.testing.assert_allclose([g(0.3) for g in functions], expected * np.arange(1, 6), rtol=1e-9)
    set_state(1)
    np.testing.assert_allclose([g(0.3) for g in functions], found(0.3, state.object) * np.arange(1, 6), rtol=1e-9)


def test_functions_made_anew_share_code_with_a_function_that_solves() -> None:
    def f(k: int) -> Any:
        return tapec.grad(lambda c: k * found(c, low_root))

    functions = [f(k) for k in range(1, 6)]
    expected = slope(lambda c: found(c, low_root), 0.3)
    np.testing.assert_allclose([g(0.3) for g in functions], expected * np.arange(1, 6), rtol=1e-5)
    assert functions[-1].cache_info().compilations == 0


def low_root(f: Any, x0: Any) -> Any:
    return brentq(f, -3.0, 0.0)
