"""`custom_root`, `fixed_point`, `custom_linear_solve`: values, both modes, two orders, tapes, batches, errors."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy.optimize import brentq, root
from scipy.sparse.linalg import LinearOperator, gmres

import tapec
from tests.properties import calls

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


class Counted:
    """A solver that is a method, and knows how often it was asked."""

    def __init__(self) -> None:
        self.asked = 0

    def solve(self, matvec: Any, b: Any) -> Any:
        self.asked += 1
        return krylov(matvec, b)


def test_a_method_solves_for_its_own_object() -> None:
    def asked(solver: Counted) -> int:
        with tapec.GradientTape() as tape:
            b = tapec.constant(B)
            tape.watch(b)
            y = tapec.custom_linear_solve(lambda x: M @ x, b, solver.solve)
        np.testing.assert_allclose(tape.gradient(y, b), np.linalg.solve(M.T, np.ones(3)), rtol=1e-9)
        return solver.asked

    assert asked(Counted()) == asked(Counted()) == 2


def test_parameters_of_a_solver_that_are_given_by_name() -> None:
    def solver(end: float) -> Any:
        def solve(f: Any, x0: Any, *, end: float = end) -> Any:
            return brentq(f, 0.0, end)

        return solve

    def f(c: Any, end: float) -> Any:
        return tapec.custom_root(lambda x: x**2 - c, 1.0, solver(end))

    for end in (10.0, -10.0):
        root = math.copysign(2.0, end)
        np.testing.assert_allclose(f(4.0, end), root, rtol=1e-9)
        np.testing.assert_allclose(tapec.grad(f, static_argnames="end")(4.0, end), 0.5 / root, rtol=1e-9)


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


# -- structures and solvers without a matrix --------------------------------------------------------------------------
def structured(k: Any, b: Any, linear_solve: Any = None) -> Any:
    """`system` with its unknowns in a structure, of another matrix."""

    def f(p: Any) -> Any:
        u, v = p["u"], p["v"][0]
        return {"u": 3 * u + v + k * np.sin(u) - b[0], "v": [u + 2 * v + k * np.sin(v) - b[1]]}

    found = tapec.custom_root(f, {"u": 0.0, "v": [0.0]}, powell, linear_solve)
    return np.stack([found["u"], found["v"][0]])


@pytest.mark.parametrize("linear_solve", [None, krylov])
def test_unknowns_in_a_structure(linear_solve: Any) -> None:
    def f(k: Any, b: Any) -> Any:
        return structured(k, b, linear_solve)

    b = np.array([1.0, 2.0])
    np.testing.assert_allclose(f(0.5, b), system(0.5, b), rtol=1e-12)
    for transform in (tapec.jacrev, tapec.jacfwd):
        for found, expected in zip(transform(f, (0, 1))(0.5, b), tapec.jacrev(system, (0, 1))(0.5, b), strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-9)
    second, expected = (tapec.hessian(lambda k, g=g: np.sum(g(k, b) ** 2))(0.5) for g in (f, system))
    np.testing.assert_allclose(second, expected, rtol=1e-8)


def test_derivatives_of_a_large_root_need_no_matrix() -> None:
    d = np.linspace(2.0, 3.0, 50)

    def f(c: Any) -> Any:
        def residual(x: Any) -> Any:
            return d * x + 0.1 * np.tanh(x) - c

        return np.sum(tapec.custom_root(residual, np.zeros(50), powell, krylov) ** 2)

    grad = tapec.grad(f)
    dense = tapec.grad(
        lambda c: np.sum(tapec.custom_root(lambda x: d * x + 0.1 * np.tanh(x) - c, np.zeros(50), powell) ** 2)
    )
    c = np.cos(np.arange(50.0))
    np.testing.assert_allclose(grad(c), dense(c), rtol=1e-8)
    assert not calls(grad.source(c), "np.linalg.solve")


def test_a_linear_solver_that_does_not_solve() -> None:
    with pytest.raises(ValueError, match="custom_root: the solver did not solve the linear system"):
        tapec.grad(lambda k: np.sum(structured(k, np.array([1.0, 2.0]), lambda matvec, b: b)))(0.5)


def test_a_fixed_point_of_a_structure() -> None:
    def f(a: Any, tol: float = 1e-10) -> Any:
        def step(p: Any) -> Any:
            return {"x": np.cos(p["y"][0]) * a, "y": 0.5 * np.sin(p["x"]) * np.ones(2)}

        return np.sum(tapec.fixed_point(step, {"x": 0.5, "y": np.ones(2)}, tol)["y"])

    expected = slope(lambda a: f(a, 1e-14), 1.0, 1.0)
    np.testing.assert_allclose(tapec.grad(f, static_argnames="tol")(1.0), expected, rtol=1e-8)
    np.testing.assert_allclose(tapec.jvp(lambda a: f(a), (1.0,), (1.0,))[1], expected, rtol=1e-8)
    with pytest.raises(TypeError, match="tol is how exactly to solve, and no argument.*static_argnames='tol'"):
        tapec.grad(f)(1.0)


def test_structures_that_differ() -> None:
    with pytest.raises(ValueError, match="custom_root: the function must return the structure that it takes"):
        tapec.custom_root(lambda p: [p["x"]], {"x": 1.0}, powell)
    with pytest.raises(ValueError, match="fixed_point: the step must return the structure that it takes"):
        tapec.fixed_point(lambda p: [p["x"]], {"x": 1.0})


def test_the_equation_is_a_body_that_passes_go_into() -> None:
    def f(a: Any) -> Any:
        return tapec.custom_root(lambda x: a * np.sin(x) + np.sin(x) - 1.0, 0.5, lambda f, x0: brentq(f, 0.0, 1.5))

    stages = [tapec.compile(f).ir(2.0, stage=stage) for stage in ("forward", "optimized")]
    before, after = [next(n.bodies[0] for n in graph.nodes if n.op.name == "root") for graph in stages]
    assert len(after.nodes) < len(before.nodes)
    assert "@equation" in str(stages[1])
    # sin x = 1 / (1 + a), so dx/da cos x = -1 / (1 + a)^2
    expected = -1 / 9 / math.cos(math.asin(1 / 3))
    np.testing.assert_allclose(tapec.grad(f)(2.0), expected, rtol=1e-9)


def test_second_derivatives_solve_the_equation_and_its_linear_systems_alone() -> None:
    def structured_root(k: Any) -> Any:
        return np.sum(structured(k, np.array([1.0, 2.0]), krylov) ** 2)

    second = tapec.grad(tapec.grad(structured_root))(0.5)
    expected = slope(tapec.grad(structured_root), 0.5, 1.0)
    np.testing.assert_allclose(second, expected, rtol=1e-6)
