"""`custom_root`, `fixed_point`, `custom_linear_solve`: values, both modes, two orders, tapes, batches, errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.optimize import brentq, root
from scipy.sparse.linalg import LinearOperator, gmres

import tapec

A = np.array([[3.0, 1.0], [1.0, 2.0]])


def bisection(f: Any, x0: Any) -> Any:
    return brentq(f, 0.0, 10.0, xtol=1e-15, rtol=1e-15)


def powell(f: Any, x0: Any) -> Any:
    return root(f, x0, tol=1e-14).x


def krylov(matvec: Any, b: Any) -> Any:
    return gmres(LinearOperator((b.size, b.size), matvec), b, rtol=1e-13)[0]


def cube_root(c: Any) -> Any:
    return tapec.custom_root(lambda x: x**3 - c, 1.0, bisection)


def system(k: Any, b: Any) -> Any:
    return tapec.custom_root(lambda x: A @ x + k * np.sin(x) - b, np.zeros(2), powell)


def slope(f: Any, x: Any, v: Any, h: float = 1e-3) -> Any:
    return (8 * (f(x + h * v) - f(x - h * v)) - (f(x + 2 * h * v) - f(x - 2 * h * v))) / (12 * h)


# -- roots ------------------------------------------------------------------------------------------------------------
def test_a_scalar_root() -> None:
    np.testing.assert_allclose(cube_root(8.0), 2.0, rtol=1e-14)
    grad = tapec.grad(cube_root)
    np.testing.assert_allclose(grad(8.0), 1 / 12, rtol=1e-13)
    np.testing.assert_allclose(grad(27.0), 1 / 27, rtol=1e-13)  # the compiled code solves anew
    assert grad.cache_info().compilations == 1
    np.testing.assert_allclose(tapec.jvp(cube_root, (8.0,), (3.0,))[1], 0.25, rtol=1e-13)


def test_second_order() -> None:
    expected = -2 / 9 * 8.0 ** (-5 / 3)
    np.testing.assert_allclose(tapec.grad(tapec.grad(cube_root))(8.0), expected, rtol=1e-12)
    np.testing.assert_allclose(tapec.jvp(tapec.grad(cube_root), (8.0,), (1.0,))[1], expected, rtol=1e-12)
    np.testing.assert_allclose(tapec.hessian(cube_root)(8.0), expected, rtol=1e-12)


def test_a_system() -> None:
    b, v = np.array([1.0, 2.0]), np.array([0.3, -0.8])
    expected = slope(lambda b: system(0.5, b), b, v)
    for transform in (tapec.jacrev, tapec.jacfwd):
        np.testing.assert_allclose(transform(system, argnums=1)(0.5, b) @ v, expected, rtol=1e-9)
        np.testing.assert_allclose(transform(system)(0.5, b), slope(lambda k: system(k, b), 0.5, 1.0), rtol=1e-9)
    second = tapec.hessian(lambda k: np.sum(system(k, b) ** 2))(0.5)
    np.testing.assert_allclose(second, slope(tapec.grad(lambda k: np.sum(system(k, b) ** 2)), 0.5, 1.0), rtol=1e-8)


def test_on_a_tape() -> None:
    c = tapec.constant(8.0)
    with tapec.GradientTape() as outer:
        outer.watch(c)
        with tapec.GradientTape() as inner:
            inner.watch(c)
            y = cube_root(2.0 * c) * c  # more than the root is recorded
        first = inner.gradient(y, c)
    np.testing.assert_allclose(first.numpy(), 4 / 3 * 16.0 ** (1 / 3), rtol=1e-12)
    np.testing.assert_allclose(outer.gradient(first, c).numpy(), 4 / 9 * 16.0 ** (1 / 3) / 8, rtol=1e-12)


def test_variables_and_captured_arrays() -> None:
    w = tapec.Variable([1.0, 2.0])
    with tapec.GradientTape() as tape:
        y = np.sum(tapec.custom_root(lambda x: A @ x - w, np.zeros(2), powell))
    np.testing.assert_allclose(tape.gradient(y, w).numpy(), np.linalg.solve(A.T, np.ones(2)), rtol=1e-12)


def test_control_flow_may_hang_on_the_unknown_on_a_tape() -> None:
    def f(c: Any) -> Any:
        return tapec.custom_root(lambda x: x * x - c if x > 0 else x - 1.0, 1.0, bisection)

    c = tapec.constant(4.0)
    with tapec.GradientTape() as tape:
        tape.watch(c)
        y = f(c)
    np.testing.assert_allclose(tape.gradient(y, c).numpy(), 0.25, rtol=1e-12)
    with pytest.raises(tapec.DetachError, match="an equation looks at the value of its unknown"):
        tapec.grad(f)(4.0)


def test_batches() -> None:
    c = np.array([1.0, 8.0, 27.0])
    np.testing.assert_allclose(tapec.vmap(cube_root)(c), [1.0, 2.0, 3.0], rtol=1e-13)
    np.testing.assert_allclose(tapec.vmap(tapec.grad(cube_root))(c), c ** (-2 / 3) / 3, rtol=1e-12)


def test_solvers_see_plain_numbers() -> None:
    seen: list[Any] = []

    def solve(f: Any, x0: Any) -> Any:
        seen.extend([x0, f(x0)])
        return bisection(f, x0)

    tapec.grad(lambda c: tapec.custom_root(lambda x: x**3 - c, 1.0, solve))(8.0)
    assert seen and all(isinstance(x, (float, np.floating, np.ndarray)) for x in seen)


def test_a_solver_that_closes_over_recorded_values() -> None:
    def f(c: Any) -> Any:
        def solve(g: Any, x0: Any) -> Any:
            return brentq(g, 0.0, float(top), xtol=1e-15, rtol=1e-15)

        top = 2.0 * np.maximum(c, 1.0)
        return tapec.custom_root(lambda x: x**3 - c, 1.0, solve)

    grad = tapec.grad(f)
    np.testing.assert_allclose([grad(8.0), grad(0.1), grad(64.0)], [1 / 12, 0.1 ** (-2 / 3) / 3, 1 / 48], rtol=1e-11)


def test_without_a_recording_it_is_just_the_solver() -> None:
    x = tapec.custom_root(lambda x: x - 2.0, 0.0, bisection)
    assert type(x) is np.float64 and x == 2.0


def test_errors_of_roots() -> None:
    with pytest.raises(TypeError, match="must return one array, made from its argument"):
        tapec.grad(lambda c: tapec.custom_root(lambda x: 1.0, c, lambda f, x0: x0))(1.0)
    with pytest.raises(ValueError, match="2 unknowns, but the function returns 1 values"):
        tapec.grad(lambda c: np.sum(tapec.custom_root(lambda x: np.sum(x) * c, np.ones(2), lambda f, x0: x0)))(1.0)
    with pytest.raises(ValueError, match=r"the solver returned shape \(3,\) for a start of \(2,\)"):
        tapec.custom_root(lambda x: x, np.ones(2), lambda f, x0: np.ones(3))


# -- fixed points -----------------------------------------------------------------------------------------------------
def test_fixed_point() -> None:
    def golden(a: Any) -> Any:
        return tapec.fixed_point(lambda x: a + 1 / x, 1.0, tol=1e-14)

    np.testing.assert_allclose(golden(1.0), (1 + 5**0.5) / 2, rtol=1e-13)
    np.testing.assert_allclose(tapec.grad(golden)(1.0), (1 + 1 / 5**0.5) / 2, rtol=1e-12)
    np.testing.assert_allclose(tapec.jvp(golden, (1.0,), (1.0,))[1], (1 + 1 / 5**0.5) / 2, rtol=1e-12)


def test_a_fixed_point_that_is_none() -> None:
    with pytest.raises(tapec.TapecError, match="did not settle within 50 steps"):
        tapec.fixed_point(lambda x: 2.0 * x + 1.0, 1.0, max_steps=50)


# -- linear systems ---------------------------------------------------------------------------------------------------
M = np.array([[4.0, 1.0, 0.5], [0.3, 3.0, -1.0], [0.0, 0.7, 5.0]])
B = np.array([1.0, -2.0, 0.5])


def by_krylov(m: Any, b: Any) -> Any:
    return np.sum(tapec.custom_linear_solve(lambda x: m @ x, b, krylov) ** 3)


def directly(m: Any, b: Any) -> Any:
    return np.sum(np.linalg.solve(m, b) ** 3)


def test_linear_solve() -> None:
    np.testing.assert_allclose(by_krylov(M, B), directly(M, B), rtol=1e-11)
    for found, expected in zip(
        tapec.grad(by_krylov, argnums=(0, 1))(M, B), tapec.grad(directly, argnums=(0, 1))(M, B), strict=True
    ):
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)
    tangent = tapec.jvp(by_krylov, (M, B), (M.T, B[::-1].copy()))[1]
    np.testing.assert_allclose(tangent, tapec.jvp(directly, (M, B), (M.T, B[::-1].copy()))[1], rtol=1e-9)


def test_linear_solve_to_second_order() -> None:
    found, expected = tapec.hessian(by_krylov)(M, B), tapec.hessian(directly)(M, B)
    np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-11)


def test_a_solver_that_ignores_its_matvec_is_found_out() -> None:
    def f(b: Any) -> Any:
        return np.sum(tapec.custom_linear_solve(lambda x: M @ x, b, lambda matvec, b: np.linalg.solve(M, b)))

    with pytest.raises(ValueError, match="did not solve the transposed system"):
        tapec.grad(f)(B)


def test_a_matvec_that_is_not_linear() -> None:
    with pytest.raises(tapec.GraphError, match="matvec is not linear"):
        tapec.grad(lambda b: np.sum(tapec.custom_linear_solve(lambda x: x * x, b, lambda m, b: np.sqrt(b))))(np.abs(B))
