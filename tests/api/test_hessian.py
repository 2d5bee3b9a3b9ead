"""`hessian`, `hvp`, `ggn_vp`: values, structures, errors."""

from __future__ import annotations

import runpy
from typing import Any

import numpy as np
import pytest

import tapec

X = np.array([0.3, -0.7, 1.1, 0.4])


def rosenbrock(x: Any) -> Any:
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def rosenbrock_hessian(x: np.ndarray) -> np.ndarray:
    diagonal = np.zeros(x.size)
    diagonal[:-1] += 1200 * x[:-1] ** 2 - 400 * x[1:] + 2
    diagonal[1:] += 200
    off = -400 * x[:-1]
    return np.diag(diagonal) + np.diag(off, 1) + np.diag(off, -1)


def test_rosenbrock() -> None:
    found = tapec.hessian(rosenbrock)(X)
    np.testing.assert_allclose(found, rosenbrock_hessian(X), rtol=1e-13, atol=1e-12)
    np.testing.assert_array_equal(found, found.T)


@pytest.mark.parametrize("f", [lambda x: x[0] ** 2 + x[1] * x[0], lambda x: x[0] * x[0], lambda x: 3 * x[1] ** 2])
def test_constant_blocks_have_the_dtype(f: Any) -> None:
    """Second derivatives by single elements that are numbers."""
    x = X.astype(np.float32)
    assert tapec.hessian(f)(x).dtype == np.float32
    np.testing.assert_allclose(tapec.hessian(f)(x), tapec.jacrev(tapec.grad(f))(x))


@pytest.mark.parametrize("sparse", [False, True])
def test_each_block_has_the_dtype_of_the_argument_of_its_columns(sparse: bool) -> None:
    a, b = np.array([0.3, 0.7], np.float32), np.array([1.1, -0.4])
    f = lambda a, b: np.sum(a * (b * b) * a)
    blocks = tapec.hessian(f, argnums=(0, 1), sparse=sparse)(a, b)
    assert [[block.dtype.name for block in row] for row in blocks] == [["float32", "float64"]] * 2
    own = tapec.hessian(f, argnums=1, sparse=sparse)(a, b)
    assert own.dtype == np.float64
    np.testing.assert_allclose(own.toarray() if sparse else own, np.diag(2.0 * a.astype(float) ** 2), rtol=1e-15)


def test_structures() -> None:
    def loss(p: Any, q: Any) -> Any:
        return p["a"] ** 2 * p["b"] * np.sum(q)

    hess = tapec.hessian(loss, argnums=(0, 1))({"a": 2.0, "b": 3.0}, np.ones(2))
    by_a, by_b = hess[0]["a"], hess[0]["b"]
    assert by_a[0] == {"a": 12.0, "b": 8.0} and by_b[0] == {"a": 8.0, "b": 0.0}
    np.testing.assert_array_equal(by_a[1], [12.0, 12.0])
    np.testing.assert_array_equal(hess[1][0]["a"], [12.0, 12.0])
    np.testing.assert_array_equal(hess[1][1], np.zeros((2, 2)))


def test_matrix_arguments() -> None:
    w = np.linspace(-1.0, 1.0, 6).reshape(2, 3)
    found = tapec.hessian(lambda w: np.sum(np.tanh(w @ np.ones(3)) ** 2))(w)
    flat = tapec.hessian(lambda v: np.sum(np.tanh(v.reshape(2, 3) @ np.ones(3)) ** 2))(w.ravel())
    np.testing.assert_allclose(found.reshape(6, 6), flat, rtol=1e-13, atol=1e-14)


def test_auxiliary_results() -> None:
    hess, aux = tapec.hessian(lambda x: (np.sum(x**3), x), has_aux=True)(X)
    np.testing.assert_allclose(hess, np.diag(6 * X), rtol=1e-14)
    np.testing.assert_array_equal(aux, X)


def test_a_loss_is_one_number() -> None:
    with pytest.raises(TypeError, match="the loss has shape"):
        tapec.hessian(lambda x: x * x)(X)


def test_complex_arguments() -> None:
    with pytest.raises(TypeError, match="hessian takes real arguments"):
        tapec.hessian(lambda z: np.sum(np.abs(z) ** 2))(X + 1j)


# -- products ---------------------------------------------------------------------------------------------------------
def test_hvp() -> None:
    v = np.array([1.0, 2.0, -1.0, 0.5])
    np.testing.assert_allclose(tapec.hvp(rosenbrock)(X, v), rosenbrock_hessian(X) @ v, rtol=1e-12)


def test_hvp_of_several_arguments() -> None:
    def loss(a: Any, b: Any) -> Any:
        return np.sum(a * a * b) + b**3

    a, b, va, vb = np.array([1.0, 2.0]), 3.0, np.array([1.0, -1.0]), 2.0
    ha, hb = tapec.hvp(loss, argnums=(0, 1))(a, b, (va, vb))
    np.testing.assert_allclose(ha, 2 * b * va + 2 * a * vb)
    np.testing.assert_allclose(hb, np.sum(2 * a * va) + 6 * b * vb)
    np.testing.assert_allclose(tapec.hvp(loss, argnums=1)(a, b, vb), 6 * b * vb)


def test_hvp_of_nested_arguments() -> None:
    p, v = {"a": X, "n": 2}, {"a": np.ones(4), "n": 0}
    found = tapec.hvp(lambda p: np.sum(p["a"] ** 3) * p["n"])(p, v)
    np.testing.assert_allclose(found["a"], 12 * X)
    assert found["n"] is None


def test_hvp_takes_the_other_arguments_by_keyword() -> None:
    def loss(x: Any, y: Any = 2.0, *, v: Any = 1.0) -> Any:
        return v * np.sum(x**3) * y**2

    d = np.array([1.0, 2.0, -1.0, 0.5])
    product = tapec.hvp(loss)
    np.testing.assert_allclose(product(X, d, y=3.0), product(X, 3.0, d))
    np.testing.assert_allclose(product(X, d, v=5.0), 5.0 * 6 * X * d * 4.0)
    np.testing.assert_allclose(product(d, y=3.0, x=X, v=5.0), 5.0 * 6 * X * d * 9.0)
    for by_y in (1, "y"):
        assert tapec.hvp(loss, argnums=by_y)(X, 0.5, y=3.0) == pytest.approx(0.5 * 2 * np.sum(X**3))
    assert tapec.hvp(loss, argnums="v")(X, 0.5, v=3.0) == 0.0
    with pytest.raises(TypeError, match="takes the arguments of f and then the vector"):
        product(x=X)
    with pytest.raises(TypeError, match="got an unexpected keyword argument 'z'"):
        product(X, d, z=3.0)


def test_what_a_call_of_an_hvp_runs_is_shown_for_the_same_arguments(tmp_path: Any) -> None:
    product = tapec.hvp(lambda x, y=2.0, *, v=1.0: v * np.sum(x**3) * y**2)
    d = np.ones(4)
    expected = product(X, d, y=3.0, v=5.0)
    code, values = product.generated(X, d, y=3.0, v=5.0)
    np.testing.assert_array_equal(code.function(*values)[0], expected)
    assert product.source(X, d, y=3.0, v=5.0) == product.source(X, 3.0, d, v=5.0)
    assert [i.name for i in product.ir(X, d, y=3.0, v=5.0).inputs] == product.locate(X, d, y=3.0, v=5.0)[0].info.names
    assert product.explain(X, d, y=3.0, v=5.0).signature
    product.export(tmp_path / "product.py", X, d, y=3.0)
    exported = runpy.run_path(str(tmp_path / "product.py"))["function_hvp"]
    np.testing.assert_array_equal(exported(X, 3.0, d, v=1.0), product(X, d, y=3.0))


def test_hvp_refuses_a_vector_of_another_shape() -> None:
    with pytest.raises(ValueError, match=r"the direction of x has shape \(3,\); it must have shape \(4,\)"):
        tapec.hvp(rosenbrock)(X, np.ones(3))
    with pytest.raises(ValueError, match="takes a tuple of as many vectors"):
        tapec.hvp(lambda a, b: a * b, argnums=(0, 1))(1.0, 2.0, 3.0)
    with pytest.raises(TypeError, match="takes the arguments of f and then the vector"):
        tapec.hvp(rosenbrock)(X)


def test_gauss_newton() -> None:
    w = np.linspace(-1.0, 1.0, 12).reshape(3, 4)
    v = np.array([1.0, 2.0, -1.0, 0.5])

    def f(x: Any) -> Any:
        return np.tanh(w @ x)

    def loss(z: Any) -> Any:
        return np.sum(z**4)

    jac = tapec.jacobian(f)(X)
    expected = jac.T @ (12 * f(X) ** 2 * (jac @ v))
    np.testing.assert_allclose(tapec.ggn_vp(f, loss)(X, v), expected, rtol=1e-12)


def test_gauss_newton_tells_the_loss_from_what_the_model_computed() -> None:
    """The model's second result equals a value the loss computes: they are still two things."""

    def f(x: Any) -> Any:
        return np.sin(x), np.exp(np.sin(x))

    def loss(z: Any) -> Any:
        return np.sum(np.exp(z[0])) + 0.0 * np.sum(z[1])

    x, v = 0.7, 2.0
    expected = np.cos(x) ** 2 * np.exp(np.sin(x)) * v
    np.testing.assert_allclose(tapec.ggn_vp(f, loss)(x, v), expected, rtol=1e-13)
