"""`jacobian`, `jacrev`, `jacfwd`: values, structures, modes, complex numbers, errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tapec
from tests.properties import allocates, call_count, has_loop, operations


def layer(w: Any, x: Any) -> Any:
    return np.tanh(w @ x)


W = np.linspace(-1.0, 1.0, 12).reshape(4, 3)
X = np.array([0.3, -0.7, 1.1])


def test_a_layer() -> None:
    expected = (1 - np.tanh(W @ X) ** 2)[:, None] * W
    for transform in (tapec.jacobian, tapec.jacrev, tapec.jacfwd):
        np.testing.assert_allclose(transform(layer, argnums=1)(W, X), expected, rtol=1e-14)
    for mode in ("reverse", "forward", "auto"):
        np.testing.assert_allclose(tapec.jacobian(layer, argnums="x", mode=mode)(W, X), expected, rtol=1e-14)


def test_structures_of_results_and_arguments() -> None:
    def f(p: Any, q: Any) -> Any:
        return {"s": p["a"] * q, "t": (p["b"] * 2.0, q * q)}

    p, q = {"a": np.array([1.0, 2.0]), "b": 3.0}, 5.0
    found = tapec.jacobian(f, argnums=(0, 1))(p, q)
    np.testing.assert_array_equal(found["s"][0]["a"], 5.0 * np.eye(2))
    np.testing.assert_array_equal(found["s"][0]["b"], [0.0, 0.0])
    np.testing.assert_array_equal(found["s"][1], [1.0, 2.0])
    assert found["t"][0][0]["b"] == 2.0 and found["t"][1][1] == 10.0
    np.testing.assert_array_equal(found["t"][1][0]["a"], [0.0, 0.0])


def test_leaves_without_a_derivative_are_none() -> None:
    found = tapec.jacobian(lambda p: (p["x"] * p["n"], p["n"]))({"x": 2.0, "n": 3})
    assert found[0]["x"] == 3.0 and found[0]["n"] is None and found[1] is None


def test_auxiliary_results() -> None:
    jac, aux = tapec.jacobian(lambda x: (x * x, {"sum": np.sum(x), "name": "f"}), has_aux=True)(X)
    np.testing.assert_array_equal(jac, np.diag(2 * X))
    assert aux == {"sum": np.sum(X), "name": "f"}


def test_captured_state_is_read_anew() -> None:
    scale = np.array([1.0, 2.0, 3.0])
    jac = tapec.jacobian(lambda x: x * scale)
    np.testing.assert_array_equal(jac(X), np.diag(scale))
    scale *= 2.0
    np.testing.assert_array_equal(jac(X), np.diag(scale))


def test_branches() -> None:
    jac = tapec.jacobian(lambda x: x * x if np.sum(x) > 0 else -x)
    np.testing.assert_array_equal(jac(X), np.diag(2 * X))
    np.testing.assert_array_equal(jac(-X), -np.eye(3))


def test_it_composes() -> None:
    def f(x: Any) -> Any:
        return np.sum(np.sin(x) * x)

    hess = tapec.jacobian(tapec.grad(f))(X)
    np.testing.assert_allclose(hess, np.diag(2 * np.cos(X) - X * np.sin(X)), rtol=1e-13, atol=1e-15)
    trace = tapec.grad(lambda x: np.trace(tapec.jacobian(lambda y: y**3)(x)))(X)
    np.testing.assert_allclose(trace, 6 * X, rtol=1e-13)


@pytest.mark.parametrize("shape", [(), (1,), (0,), (1, 0), (2, 0), (1, 1)])
def test_degenerate_shapes(shape: tuple[int, ...]) -> None:
    x = np.ones(shape)[()]
    for transform in (tapec.jacrev, tapec.jacfwd):
        found = transform(lambda x: x * 3.0)(x)
        np.testing.assert_array_equal(found, 3.0 * np.eye(x.size).reshape(shape + shape))


def test_single_precision_stays() -> None:
    x = X.astype(np.float32)
    for transform in (tapec.jacrev, tapec.jacfwd):
        assert transform(lambda x: np.sin(x) * np.sum(x))(x).dtype == np.float32


MIXED = {
    "product": lambda a, b: a[0] * b,
    "products": lambda a, b: a[0] * (a[1] * b),
    "matmul": lambda a, b: a @ b,
    "matmuls": lambda a, b: a @ (a @ b),
    "slices": lambda a, b: a[0, 1:] * (b[1:] - b[:-1]),
    "narrowed": lambda a, b: (a[0].real * b.real).astype(np.float32),
}


@pytest.mark.parametrize("f", MIXED.values(), ids=MIXED)
@pytest.mark.parametrize("other", ["float32", "float64", "complex64", "complex128", "int64", "bool"])
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
def test_it_has_the_dtype_and_the_digits_of_the_gradients_of_its_rows(f: Any, other: str, dtype: str) -> None:
    a, b = (np.arange(1.0, 10.0).reshape(3, 3) / 7).astype(other), np.array([0.3, 0.7, 1.1]).astype(dtype)
    rows = [tapec.grad(lambda a, b, k: f(a, b)[k].real, argnums=1)(a, b, k) for k in range(len(f(a, b)))]
    transforms = {"jacrev": tapec.jacrev, "jacfwd": tapec.jacfwd}
    if "complex" not in dtype and f(a, b).dtype.kind != "c":
        transforms["sparse"] = lambda f, argnums: lambda *x: tapec.jacobian(f, argnums, sparse=True)(*x).toarray()
    for name, transform in transforms.items():
        found = transform(f, argnums=1)(a, b)
        assert found.dtype == b.dtype, name
        is_single = np.float32 in (found.real.dtype, f(a, b).real.dtype)
        np.testing.assert_allclose(found, np.stack(rows), rtol=1e-6 if is_single else 1e-14, err_msg=name)


# -- complex ----------------------------------------------------------------------------------------------------------
Z = np.array([1.0 + 2.0j, -0.5j])


def test_holomorphic() -> None:
    for transform in (tapec.jacobian, tapec.jacrev, tapec.jacfwd):
        np.testing.assert_allclose(transform(lambda z: z * z, holomorphic=True)(Z), np.diag(2 * Z), rtol=1e-15)


def test_not_holomorphic_is_of_the_real_part() -> None:
    """f(z) = z conj(z) is real: the gradient is 2 z."""
    for transform in (tapec.jacrev, tapec.jacfwd):
        np.testing.assert_allclose(transform(lambda z: z * np.conj(z))(Z), np.diag(2 * Z), rtol=1e-15)
        np.testing.assert_allclose(transform(lambda x: x * (1 + 2j))(X), np.eye(3), rtol=1e-15)


def test_holomorphic_wants_complex_numbers() -> None:
    with pytest.raises(TypeError, match="holomorphic=True is for complex arguments alone"):
        tapec.jacobian(lambda x: x * x, holomorphic=True)(X)


# -- errors -----------------------------------------------------------------------------------------------------------
def test_integer_argument() -> None:
    with pytest.raises(TypeError, match=r"argument 'x' is i64\[3\], which has no gradient. Fix: pass floats"):
        tapec.jacobian(lambda x: x * 2)(np.arange(3))


def test_integer_result() -> None:
    with pytest.raises(TypeError, match=r"the function returned i64\[3\], which has no derivative"):
        tapec.jacobian(lambda x: np.floor(x).astype(int))(X)


def test_unknown_mode() -> None:
    with pytest.raises(ValueError, match="mode must be 'reverse', 'forward' or 'auto', not 'backward'"):
        tapec.jacobian(layer, mode="backward")


def test_the_source_multiplies_no_matrices() -> None:
    source = tapec.jacobian(layer, argnums=1).source(W, X)
    assert operations(source, "@") + call_count(source, "dot", "matmul") == 1
    assert not allocates(source, "eye") and not has_loop(source)


def test_holomorphic_grad() -> None:
    z = 1.0 + 2.0j
    np.testing.assert_allclose(tapec.grad(lambda z: z**3, holomorphic=True)(z), 3 * z**2, rtol=1e-15)
    value, slope = tapec.value_and_grad(lambda z: np.exp(1j * z), holomorphic=True)(z)
    np.testing.assert_allclose([value, slope], [np.exp(1j * z), 1j * np.exp(1j * z)], rtol=1e-15)
    twice = tapec.grad(tapec.grad(lambda z: z**3, holomorphic=True), holomorphic=True)
    np.testing.assert_allclose(twice(z), 6 * z, rtol=1e-15)
    with pytest.raises(TypeError, match="a loss is one complex number. Fix: leave holomorphic=True out"):
        tapec.grad(lambda z: np.abs(z), holomorphic=True)(z)
    with pytest.raises(TypeError, match="complex arguments alone"):
        tapec.grad(lambda z: z * z, holomorphic=True)(1.0)
