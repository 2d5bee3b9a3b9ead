"""Solvers that differentiate the function they are given: it runs there on plain arrays and returns plain arrays."""

import numpy as np
import pytest

import tapec

M, B = np.array([[4.0, 1.0], [0.5, 3.0]]), np.array([1.0, 2.0])
STEPS = 12
SOLVERS = []


def equation(x, b):
    return M @ x + np.sin(x) - b


def expected(b):
    x = np.zeros(2)
    for _ in range(30):
        x = x - np.linalg.solve(M + np.diag(np.cos(x)), equation(x, b))
    return x, np.linalg.inv(M + np.diag(np.cos(x)))


def newton(matrix):
    """A solver of the user's own, which gets its matrix by one transform."""

    def solve(f, x0):
        x = x0
        for _ in range(STEPS):
            a, residual = matrix(f, x), f(x)
            assert type(residual) is np.ndarray
            x = x - np.linalg.solve(a, residual)
        return x

    solve.__name__ = matrix.__name__
    SOLVERS.append(solve)
    return matrix


@newton
def jacobian(f, x):
    found = tapec.jacobian(f)(x)
    assert type(found) is np.ndarray
    return found


@newton
def compiled_jacobian(f, x):
    return tapec.compile(tapec.jacobian(f))(x)


@newton
def forward_jacobian(f, x):
    return tapec.jacobian(f, mode="forward")(x)


@newton
def gradients(f, x):
    return np.stack([tapec.grad(lambda x, i=i: f(x)[i])(x) for i in range(2)])


@newton
def jvps(f, x):
    return np.stack([tapec.jvp(f, (x,), (e,))[1] for e in np.eye(2)], 1)


@newton
def batched_jvps(f, x):
    return tapec.vmap(lambda e: tapec.jvp(f, (x,), (e,))[1])(np.eye(2)).T


@newton
def linearized(f, x):
    push = tapec.linearize(f, x)[1]
    return np.stack([push(e) for e in np.eye(2)], 1)


@newton
def tape(f, x):
    t = tapec.constant(x)
    with tapec.GradientTape() as tape:
        tape.watch(t)
        y = f(t)
    return tape.jacobian(y, t).numpy()


@newton
def tape_of_a_variable(f, x):
    v = tapec.Variable(x)
    with tapec.GradientTape() as tape:
        y = f(v)
    return tape.jacobian(y, v).numpy()


def gauss_newton(f, x0):
    loss = lambda x: np.sum(f(x) ** 2)
    x = x0
    for _ in range(30):
        x = x - np.linalg.solve(tapec.hessian(loss)(x), tapec.grad(loss)(x))
    return x


@pytest.mark.parametrize("solve", [*SOLVERS, gauss_newton], ids=lambda f: f.__name__)
def test_derivatives_inside_a_solver(solve):
    def solution(b):
        return tapec.custom_root(lambda x: equation(x, b), np.zeros(2), solve)

    np.testing.assert_allclose(solution(B), expected(B)[0])
    by_jacobian = tapec.jacobian(solution)
    for b in (B, 2 * B, B):  # recorded, then compiled
        np.testing.assert_allclose(by_jacobian(b), expected(b)[1], rtol=1e-6)
    v = tapec.Variable(B)
    with tapec.GradientTape() as tape:
        y = solution(v)
    np.testing.assert_allclose(tape.jacobian(y, v).numpy(), expected(B)[1], rtol=1e-6)
    compiled = tapec.compile(solution)
    for b in (B, 2 * B):
        np.testing.assert_allclose(compiled(b), expected(b)[0])
    rows = np.stack([B, 2 * B])
    np.testing.assert_allclose(tapec.vmap(solution)(rows), [expected(b)[0] for b in rows])


@pytest.mark.parametrize("solve", SOLVERS[:5:2], ids=lambda f: f.__name__)
def test_second_derivatives(solve):
    def loss(b):
        return np.sum(tapec.custom_root(lambda x: equation(x, b), np.zeros(2), solve) ** 2)

    gradient = tapec.grad(loss)
    differences = [(gradient(B + step) - gradient(B - step)) / 2e-5 for step in 1e-5 * np.eye(2)]
    np.testing.assert_allclose(tapec.hessian(loss)(B), differences, atol=1e-7)


def test_a_structure():
    def solution(b):
        def residual(d):
            x = np.stack([d["a"], d["b"]])
            y = equation(x, b)
            return {"a": y[0], "b": y[1]}

        found = tapec.custom_root(residual, {"a": 0.0, "b": 0.0}, SOLVERS[0])
        return np.stack([found["a"], found["b"]])

    np.testing.assert_allclose(tapec.jacobian(solution)(B), expected(B)[1])


def test_a_linear_solver_that_makes_the_matrix():
    def solve(matvec, b):
        return np.linalg.solve(tapec.jacobian(matvec)(np.zeros_like(b)), b)

    def loss(k, b):
        return np.sum(tapec.custom_linear_solve(lambda x: k * x + M @ x, b, solve) ** 2)

    def direct(k, b):
        return np.sum(np.linalg.solve(np.diag(k) + M, b) ** 2)

    k = np.array([2.0, 3.0])
    found, want = [tapec.grad(f, argnums=(0, 1)) for f in (loss, direct)]
    for scale in (1.0, 2.0):
        np.testing.assert_allclose(found(k, scale * B), want(k, scale * B))


def test_a_step_that_is_a_gradient():
    def root(a):
        return tapec.fixed_point(lambda x: x - 0.1 * tapec.grad(lambda z: (z * z - a) ** 2 / 4)(x), 1.0)

    np.testing.assert_allclose(tapec.grad(root)(2.0), 0.5 / np.sqrt(2.0))


def test_a_solution_inside_of_an_equation():
    def scalar(f, x0):
        x = x0
        for _ in range(30):
            x = x - f(x) / tapec.grad(f)(x)
        return x

    def root(c):
        inner = lambda x: tapec.custom_root(lambda y: y**3 - x * c, 1.0, scalar)
        return tapec.custom_root(lambda x: inner(x) - 2.0, 1.0, scalar)

    np.testing.assert_allclose([root(4.0), tapec.grad(root)(4.0)], [2.0, -0.5])
