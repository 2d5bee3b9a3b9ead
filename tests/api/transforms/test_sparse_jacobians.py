"""`sparsity`, `jacobian(sparse=True)`, `hessian(sparse=True)`: as users and SciPy call them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.optimize
import scipy.sparse

import tapec
from tests.properties import has_loop


def residual(u: Any) -> Any:
    """Bratu's problem on a line."""
    padded = np.concatenate([np.zeros(1), u, np.zeros(1)])
    return padded[:-2] - 2.0 * u + padded[2:] + 0.001 * np.exp(u)


def rosenbrock(x: Any) -> Any:
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


U = np.linspace(0.0, 1.0, 7)


def test_pattern() -> None:
    found = tapec.sparsity(residual)(U)
    assert scipy.sparse.issparse(found) and found.format == "csr" and found.dtype == bool
    np.testing.assert_array_equal(found.toarray(), np.abs(np.subtract.outer(range(7), range(7))) <= 1)


def test_jacobian() -> None:
    jac = tapec.jacobian(residual, sparse=True)
    found = jac(U)
    assert found.format == "csr"
    np.testing.assert_allclose(found.toarray(), tapec.jacobian(residual)(U), rtol=1e-13)
    assert jac.colors(U) == 3 and jac.reasons(U) == []
    assert not has_loop(jac.source(U))


def test_hessian() -> None:
    hess = tapec.hessian(rosenbrock, sparse=True)
    np.testing.assert_allclose(hess(U).toarray(), tapec.hessian(rosenbrock)(U), rtol=1e-13)
    assert hess(U).nnz == 19 and hess.colors(U) == 3


def test_zeros_of_the_pattern_stay_stored() -> None:
    found = tapec.jacobian(lambda x: x * x, sparse=True)(np.zeros(3))
    assert found.nnz == 3 and not found.data.any()


def test_matrices_are_the_callers_own() -> None:
    jac = tapec.jacobian(residual, sparse=True)
    first = jac(U)
    first.indices[:] = 0
    first.data[:] = 0.0
    np.testing.assert_allclose(jac(U).toarray(), tapec.jacobian(residual)(U), rtol=1e-13)
    pattern = tapec.sparsity(residual)
    pattern(U).data[:] = False
    assert pattern(U).nnz == 19


def test_other_arguments_and_captured_arrays() -> None:
    weights = np.arange(1.0, 8.0)

    def f(a: Any, u: Any) -> Any:
        return a * weights * residual(u)

    jac = tapec.jacobian(f, argnums="u", sparse=True)
    np.testing.assert_allclose(jac(2.0, U).toarray(), tapec.jacobian(f, argnums=1)(2.0, U), rtol=1e-13)
    weights *= 3.0
    np.testing.assert_allclose(jac(3.0, U).toarray(), tapec.jacobian(f, argnums=1)(3.0, U), rtol=1e-13)


def test_index_arrays_are_part_of_the_pattern() -> None:
    elements = np.array([[0, 1], [1, 2], [2, 3]])

    def lengths(x: Any) -> Any:
        return np.sum(np.diff(x[elements], axis=1) ** 2, axis=1)

    pattern, jac, x = tapec.sparsity(lengths), tapec.jacobian(lengths, sparse=True), np.array([0.0, 1.0, 3.0, 7.0])
    np.testing.assert_array_equal(pattern(x).indices, elements.ravel())
    np.testing.assert_array_equal(jac(x).data, [-2.0, 2.0, -4.0, 4.0, -8.0, 8.0])
    elements[0] = [0, 3]
    np.testing.assert_array_equal(pattern(x).indices, elements.ravel())
    np.testing.assert_array_equal(jac(x).toarray(), tapec.jacobian(lengths)(x))


def test_branches_have_patterns_of_their_own() -> None:
    def f(x: Any) -> Any:
        return x * x if x[0] > 0 else x[::-1] * 2.0

    pattern = tapec.sparsity(f)
    np.testing.assert_array_equal(pattern(U + 1).toarray(), np.eye(7, dtype=bool))
    np.testing.assert_array_equal(pattern(U - 1).toarray(), np.eye(7, dtype=bool)[::-1])


def test_matrix_arguments_count_in_rows() -> None:
    x = np.arange(6.0).reshape(2, 3)
    found = tapec.jacobian(lambda x: np.sum(x * x, axis=1), sparse=True)(x)
    np.testing.assert_array_equal(found.toarray(), [[0, 2, 4, 0, 0, 0], [0, 0, 0, 6, 8, 10]])


def test_dense_rows_are_explained() -> None:
    def f(x: Any) -> Any:
        return x[np.argsort(x)]

    with pytest.warns(tapec.TapecWarning, match=r"rows of .* dense because of getitem at test_sparse_jacobians.py:\d+"):
        pattern = tapec.sparsity(f)
        assert pattern(U).nnz == 49
    assert len(pattern.reasons(U)) == 1


def test_solvers_take_them() -> None:
    jac = tapec.jacobian(residual, sparse=True)
    found = scipy.optimize.least_squares(residual, np.zeros(50), jac=jac, xtol=1e-12, ftol=1e-12, gtol=1e-12)
    assert found.success and found.cost < 1e-10
    from scipy.integrate import solve_ivp

    def rate(t: Any, y: Any) -> Any:
        return 100.0 * residual(y)

    jac = tapec.jacobian(rate, argnums=1, sparse=True)
    assert solve_ivp(rate, (0.0, 1.0), np.zeros(20), method="BDF", jac=jac).success


def test_refused() -> None:
    with pytest.raises(TypeError, match="a sparse matrix is of real numbers. Fix: leave sparse=True out"):
        tapec.jacobian(lambda z: z * z, sparse=True, holomorphic=True)
    with pytest.raises(TypeError, match=r"returned c128\[7\]; a sparse matrix is of real numbers"):
        tapec.jacobian(lambda x: x * 1j, sparse=True)(U)
    with pytest.raises(TypeError, match=r"returned i64\[\], which has no derivative"):
        tapec.jacobian(np.argmax, sparse=True)(U)
    with pytest.raises(TypeError, match="the argument must be real"):
        tapec.jacobian(lambda z: z * z, sparse=True)(U + 1j)
    with pytest.raises(TypeError, match="the loss has shape"):
        tapec.hessian(residual, sparse=True)(U)
    with pytest.raises(TypeError, match="has no gradient"):
        tapec.sparsity(lambda k: k * 2)(np.arange(3))
    with pytest.raises(TypeError, match="cannot be part of a recording"):
        tapec.grad(lambda x: np.sum(tapec.jacobian(residual, sparse=True)(x).data))(U)


def blocks_equal(sparse: Any, dense: Any) -> None:
    """The same structure, of matrices with a row for each element of the result."""
    if isinstance(dense, dict):
        assert set(sparse) == set(dense)
        for key in dense:
            blocks_equal(sparse[key], dense[key])
    elif isinstance(dense, (tuple, list)):
        assert type(sparse) is type(dense) and len(sparse) == len(dense)
        for s, d in zip(sparse, dense, strict=True):
            blocks_equal(s, d)
    elif dense is None:
        assert sparse is None
    else:
        assert sparse.format == "csr"
        np.testing.assert_allclose(sparse.toarray().ravel(), np.ravel(dense), rtol=1e-13)


def test_blocks_of_several_arguments() -> None:
    def f(a: Any, b: Any) -> Any:
        return a[1:] * b[:-1] + a[:-1]

    for argnums in ((0, 1), [1], "b"):
        blocks_equal(tapec.jacobian(f, argnums=argnums, sparse=True)(U, 2 * U), tapec.jacobian(f, argnums)(U, 2 * U))
    assert tapec.jacobian(f, argnums=(0, 1), sparse=True).colors(U, U) == 3
    assert [p.nnz for p in tapec.sparsity(f, argnums=(0, 1))(U, U)] == [12, 6]


def test_blocks_of_structures() -> None:
    def f(p: Any) -> Any:
        return {"product": p["a"] * p["b"][0], "more": (np.sum(p["a"]), np.outer(p["a"], p["b"][0])), "count": 3}

    p = {"a": U, "b": [2 * U, 1]}
    blocks_equal(tapec.jacobian(f, sparse=True)(p), tapec.jacobian(f)(p))


def test_blocks_of_hessians() -> None:
    def f(p: Any, c: Any) -> Any:
        return np.sum(p["a"] ** 2 * p["b"] * c) + p["k"] ** 3 * np.sum(p["a"])

    p = {"a": U, "b": 2 * U, "k": 2.0}
    blocks_equal(tapec.hessian(f, sparse=True)(p, U), tapec.hessian(f)(p, U))
    blocks_equal(tapec.hessian(f, (0, 1), sparse=True)(p, U), tapec.hessian(f, (0, 1))(p, U))


def test_auxiliary_results() -> None:
    found, aux = tapec.jacobian(lambda a: (a * a, {"sum": np.sum(a)}), has_aux=True, sparse=True)(U)
    blocks_equal(found, np.diag(2 * U))
    assert aux["sum"] == pytest.approx(U.sum())
    found, total = tapec.hessian(lambda a: (np.sum(a * a), np.sum(a)), has_aux=True, sparse=True)(U)
    blocks_equal(found, 2 * np.eye(7))
    assert total == pytest.approx(U.sum())


def test_a_compiled_function_with_another_captured_count_at_each_call():
    state = {"n": 2}

    def f(x):
        for _ in range(state["n"]):
            x = np.sin(x) + x[0]
        return x

    jacobian = tapec.jacobian(tapec.compile(f), sparse=True)
    x = np.array([0.5, 1.0, 2.0])
    for n in (2, 3, 4, 1, 2):
        state["n"] = n
        np.testing.assert_allclose(jacobian(x).toarray(), tapec.jacobian(f)(x), rtol=1e-12)
