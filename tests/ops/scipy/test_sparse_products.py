"""Multiply sparse matrices of SciPy with tensors; the ops by themselves go through test_conformance.py."""

import numpy as np
import pytest
from scipy import sparse

import tapec
from tapec.errors import UnsupportedError

# -- operators of sparse matrices -------------------------------------------------------------------------------------
A = np.array([[1.0, 0.0, 2.0], [0.0, 3.0, 0.0], [4.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
X, Y = np.array([1.0, 2.0, 3.0]), np.array([1.0, -1.0, 0.5, 2.0])
FORMATS = [sparse.csr_array, sparse.csc_array, sparse.coo_array, sparse.csr_matrix, sparse.dok_array, sparse.lil_matrix]


def both(f, x):
    """f's value, and the gradient of its square sum."""
    t = tapec.constant(x)
    with tapec.GradientTape() as tape:
        tape.watch(t)
        y = f(t)
        loss = np.sum(y**2)
    return y.numpy(), tape.gradient(loss, t).numpy()


@pytest.mark.parametrize("kind", FORMATS, ids=lambda k: k.__name__)
def test_sparse_matrices_multiply_tensors(kind):
    s = kind(A)
    cases = [
        (lambda m, x: m @ x, X, lambda y: 2 * A.T @ y),
        (lambda m, x: m @ x, np.stack([X, -X], 1), lambda y: 2 * A.T @ y),
        (lambda m, x: x @ m, Y, lambda y: 2 * A @ y),
        (lambda m, x: x @ m, np.stack([Y, -Y]), lambda y: 2 * y @ A.T),
        (lambda m, x: m.T @ x, Y, lambda y: 2 * A @ y),
    ]
    for f, x, slope in cases:
        value, gradient = both(lambda t, f=f: f(s, t), x)
        np.testing.assert_allclose(value, f(A, x))
        np.testing.assert_allclose(gradient, slope(f(A, x)))


def test_dot():
    value, _ = both(lambda t: sparse.csr_array(A).dot(t), X)
    np.testing.assert_array_equal(value, A @ X)


def test_the_older_kind_writes_products_with_a_star():
    value, _ = both(lambda t: sparse.csr_matrix(A) * t, X)
    np.testing.assert_array_equal(value, A @ X)
    with pytest.raises(UnsupportedError, match="Fix"):
        both(lambda t: sparse.csr_array(A) * t, X)
    with pytest.raises(UnsupportedError, match=r"multiply of a tensor and a sparse matrix\. Fix"):
        both(lambda t: sparse.csr_matrix(A) * t, np.float64(2.0))


def test_sparse_in_functions_and_to_second_order():
    s = sparse.csr_array(A)
    f = tapec.grad(lambda x: np.sum(np.sin(s @ x)))
    np.testing.assert_allclose(f(X), A.T @ np.cos(A @ X))
    s.data *= 2  # seen, as all captured state is
    np.testing.assert_allclose(f(X), 2 * A.T @ np.cos(2 * A @ X))
    s = sparse.csr_array(np.abs(A.T))
    np.testing.assert_allclose(f(Y), s.T @ np.cos(s @ Y))
    s = sparse.csr_array(A)
    v = tapec.Variable(X)
    with tapec.GradientTape() as outer:
        with tapec.GradientTape() as tape:
            y = np.sum(np.sin(s @ v))
        total = np.sum(tape.gradient(y, v))
    np.testing.assert_allclose(outer.gradient(total, v).numpy(), -A.T @ (np.sin(A @ X) * A.sum(1)))


def test_shapes_that_do_not_fit():
    with pytest.raises(ValueError, match="mismatch"):
        both(lambda t: sparse.csr_array(A) @ t, Y)
