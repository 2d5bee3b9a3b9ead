"""Products against NumPy, and their derivatives against differences."""

import numpy as np
import pytest

import tapec
from tests.ops.derivatives import check

rng = np.random.default_rng(3)


def draw(*shape, complex=False):
    return rng.standard_normal(shape) + 1j * rng.standard_normal(shape) if complex else rng.standard_normal(shape)


MATMULS = [
    ((3,), (3,)),
    ((2, 3), (3,)),
    ((3,), (3, 2)),
    ((2, 3), (3, 4)),
    ((3,), (2, 3, 4)),
    ((2, 4, 3), (3,)),
    ((2, 4, 3), (3, 2)),
    ((4, 3), (2, 3, 2)),
    ((2, 4, 3), (2, 3, 2)),
    ((2, 1, 4, 3), (5, 3, 2)),
    ((2, 0), (0, 3)),
    ((0, 3), (3, 2)),
]


@pytest.mark.parametrize("a, b", MATMULS)
@pytest.mark.parametrize("complex", [False, True])
def test_matmul(a, b, complex):
    check(lambda a, b: a @ b, draw(*a, complex=complex), draw(*b))
    check(lambda a, b: np.matmul(a, b), draw(*a), draw(*b, complex=complex))


PRODUCTS = {
    "dot": ((3,), (3,), np.dot),
    "dot method": ((2, 3), (3, 2), lambda a, b: a.dot(b)),
    "dot scalar": ((), (2, 3), np.dot),
    "dot many": ((2, 3), (2, 3, 4), np.dot),
    "dot more": ((2, 4, 3), (2, 3, 2), np.dot),
    "dot vector": ((3,), (2, 3, 2), np.dot),
    "dot by vector": ((2, 2, 3), (3,), np.dot),
    "vdot": ((2, 3), (2, 3), np.vdot),
    "vdot scalar": ((), (), np.vdot),
    "inner": ((3,), (3,), np.inner),
    "inner matrices": ((2, 3), (4, 3), np.inner),
    "inner many": ((2, 3), (2, 2, 3), np.inner),
    "inner scalar": ((2,), (), np.inner),
    "outer": ((2, 2), (3,), np.outer),
    "linalg outer": ((2,), (3,), np.linalg.outer),
    "linalg matmul": ((2, 3), (3, 2), np.linalg.matmul),
    "linalg tensordot": ((2, 3), (3, 2), lambda a, b: np.linalg.tensordot(a, b, axes=1)),
    "tensordot": ((2, 3, 4), (3, 4, 2), np.tensordot),
    "tensordot none": ((2, 3), (2,), lambda a, b: np.tensordot(a, b, 0)),
    "tensordot one": ((2, 3, 4), (2, 4, 2), lambda a, b: np.tensordot(a, b, (2, 1))),
    "tensordot some": ((2, 3, 4), (4, 2, 3), lambda a, b: np.tensordot(a, b, ((0, 2), (1, 0)))),
    "tensordot negative": ((2, 3, 4), (4, 2, 3), lambda a, b: np.tensordot(a, b, [[-1, 0], [0, -2]])),
    "tensordot all": ((2, 3), (2, 3), lambda a, b: np.tensordot(a, b, 2)),
    "tensordot crossed": ((2, 3), (3, 2), lambda a, b: np.tensordot(a, b, ((0, 1), (1, 0)))),
    "tensordot matrices": ((3, 2), (4, 3), lambda a, b: np.tensordot(a, b, (0, 1))),
    "vecdot": ((2, 1, 3), (4, 3), np.vecdot),
    "linalg vecdot": ((3, 2), (3, 2), lambda a, b: np.linalg.vecdot(a, b, axis=0)),
    "linalg cross": ((2, 3), (2, 3), np.linalg.cross),
    "multi_dot": ((2, 3), (3, 5), lambda a, b: np.linalg.multi_dot([a, b, b.T, a.T, a[:, 0]])),
    "multi_dot vectors": ((3,), (3, 2), lambda a, b: np.linalg.multi_dot([a, b, b.T, a])),
}
if hasattr(np, "matvec"):
    PRODUCTS["matvec"] = ((2, 2, 3), (3,), np.matvec)
    PRODUCTS["matvec many"] = ((2, 3), (4, 3), np.matvec)
    PRODUCTS["vecmat"] = ((2,), (3, 2, 3), np.vecmat)


@pytest.mark.parametrize("name", PRODUCTS)
@pytest.mark.parametrize("left, right", [(False, False), (True, True), (False, True)])
def test_product(name, left, right):
    a, b, f = PRODUCTS[name]
    check(f, draw(*a, complex=left), draw(*b, complex=right))


@pytest.mark.parametrize("n", [0, 1, 2, 3, 7, -1, -3])
def test_matrix_power(n):
    check(lambda a: np.linalg.matrix_power(a, n), draw(3, 3) + 3 * np.eye(3))
    check(lambda a: np.linalg.matrix_power(a, n), draw(2, 2, 2, complex=True) + 3 * np.eye(2))


@pytest.mark.parametrize(
    "f, kind",
    [
        (lambda a: a @ a, ValueError),
        (lambda a: a @ a[0, 0], ValueError),
        (lambda a: np.dot(a, a), ValueError),
        (lambda a: np.inner(a, a[:, :2]), ValueError),
        (lambda a: np.tensordot(a, a, 1), ValueError),
        (lambda a: np.tensordot(a, a, ((0, 0), (0, 1))), ValueError),
        (lambda a: np.vecdot(a, a[:, :2]), ValueError),
        (lambda a: np.linalg.outer(a, a), ValueError),
        (lambda a: np.linalg.matrix_power(a, 2), np.linalg.LinAlgError),
        (lambda a: np.linalg.matrix_power(a[0], 2), np.linalg.LinAlgError),
        (lambda a: np.linalg.matrix_power(a[:, :2], 0.5), TypeError),
        (lambda a: np.linalg.multi_dot([a]), ValueError),
        (lambda a: np.linalg.multi_dot([a, a[None], a]), np.linalg.LinAlgError),
        (lambda a: np.einsum("ij,jk", a, a), ValueError),
        (lambda a: np.einsum("ijk", a), ValueError),
        (lambda a: np.einsum("ij->ik", a), ValueError),
        (lambda a: np.einsum("ij,jk->ii", a, a.T), ValueError),
        (lambda a: np.einsum("ij"), ValueError),
        (lambda a: np.einsum("i...->i", a), ValueError),
    ],
)
def test_shapes_that_do_not_fit_are_errors_of_the_kind_that_numpy_raises(f, kind):
    with pytest.raises(kind):
        f(np.ones((2, 3)))
    with pytest.raises(kind):
        f(tapec.constant(np.ones((2, 3))))


@pytest.mark.parametrize(
    ("a", "b"),
    [((6, 0), (0,)), ((0, 6), (6,)), ((2, 3, 0), (0,)), ((2, 3, 0), (0, 4)), ((2, 0, 3), (3, 0)), ((0,), (0, 4))]
    + [((0,), (0,)), ((4, 0), (0, 5)), ((2, 0, 3), (2, 3, 4)), ((0, 2, 3), (3, 4)), ((1, 0), (0, 1))],
)
def test_gradients_of_products_without_elements(a, b):
    x, y = np.ones(a), np.ones(b)
    found = tapec.grad(lambda x, y: np.sum(np.cos(x @ y)), argnums=(0, 1))(x, y)
    assert [g.shape for g in found] == [a, b]
    hessian = tapec.hessian(lambda x: np.sum(np.cos(x @ y)))(x)
    assert hessian.shape == (*a, *a)
    assert not np.any(found[0]) and not np.any(found[1]) and not np.any(hessian)
