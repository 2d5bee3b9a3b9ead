"""Linear algebra against NumPy, and its derivatives against differences."""

import numpy as np
import pytest

import tapec
from tests.ops.derivatives import by_tape, check

rng = np.random.default_rng(5)


@pytest.fixture(autouse=True)
def same_numbers_in_every_order():
    """Each test draws from a generator of its own, whatever ran before it."""
    global rng
    rng = np.random.default_rng(5)


def draw(*shape, complex=False):
    return rng.standard_normal(shape) + 1j * rng.standard_normal(shape) if complex else rng.standard_normal(shape)


def regular(*shape, complex=False):
    return draw(*shape, complex=complex) + 3 * np.eye(shape[-2], shape[-1])


def hermitian(*shape, complex=False):
    a = draw(*shape, complex=complex)
    return 0.3 * (a + np.conj(a.swapaxes(-1, -2))) + np.diag(2.0 * np.arange(shape[-1]))


def definite(*shape, complex=False):
    a = draw(*shape, complex=complex)
    return a @ np.conj(a.swapaxes(-1, -2)) + np.eye(shape[-1])


def mixed(x):
    """Some function of a matrix that is symmetric in no way."""
    return x * np.arange(1.0, 1.0 + x.size).reshape(x.shape)


def symmetrised(f):
    return lambda a: f(a + np.conj(a.mT))


SQUARE = {
    "inv": np.linalg.inv,
    "det": np.linalg.det,
    "slogdet": lambda a: tuple(np.linalg.slogdet(a)),
    "logdet": lambda a: np.linalg.slogdet(a).logabsdet,
    "solve vector": lambda a: np.linalg.solve(a, a[..., 0, :, None]),
    "solve matrix": lambda a: np.linalg.solve(a, np.sin(a)),
    "pinv": np.linalg.pinv,
    "matrix_power": lambda a: np.linalg.matrix_power(a, 3),
    "cond": np.linalg.cond,
    "cond 1": lambda a: np.real(np.linalg.cond(a, 1)),  # NumPy 2.0 gives it as a complex number
    "cond inf": lambda a: np.real(np.linalg.cond(a, np.inf)),
    "cond fro": lambda a: np.real(np.linalg.cond(a, "fro")),
    "cond -2": lambda a: np.linalg.cond(a, -2),
    "svdvals": np.linalg.svdvals,
    "qr": lambda a: tuple(np.linalg.qr(a)),
    "qr r": lambda a: np.linalg.qr(a, "r"),
    "qr complete": lambda a: tuple(np.linalg.qr(a, "complete")),
    "nuclear": lambda a: np.linalg.norm(a, "nuc", axis=(-2, -1)),
    "spectral": lambda a: np.linalg.norm(a, 2, axis=(-2, -1)),
    "smallest": lambda a: np.linalg.norm(a, -2, axis=(-1, -2), keepdims=True),
    "cholesky": symmetrised(lambda a: np.linalg.cholesky(a @ a)),
    "cholesky upper": symmetrised(lambda a: np.linalg.cholesky(a @ a, upper=True)),
    "eigvalsh": lambda a: np.linalg.eigvalsh(a),
    "eigvalsh upper": lambda a: np.linalg.eigvalsh(a, UPLO="U"),
    "eigvals": lambda a: np.sum(np.linalg.eigvals(a) ** 3),
}


@pytest.mark.sampled(one_in=3, per="name")
@pytest.mark.parametrize("name", SQUARE)
@pytest.mark.parametrize("shape", [(3, 3), (2, 2, 2), (1, 1)])
@pytest.mark.parametrize("complex", [False, True])
def test_square(name, shape, complex):
    if name == "solve vector" or not name.startswith("eig"):
        a = regular(*shape, complex=complex)
    else:
        a = hermitian(*shape, complex=complex)
    check(SQUARE[name], a)


DECOMPOSITIONS = {
    "eigh": lambda a: mixed((v := np.linalg.eigh(a)).eigenvectors * np.sin(v.eigenvalues) @ np.conj(v[1].mT)),
    "eigh upper": lambda a: mixed((v := np.linalg.eigh(a, "U")[1]) * np.arange(1.0, 4.0) @ np.conj(v.mT)),
    "eigh vectors": lambda a: np.abs(np.linalg.eigh(a)[1]) ** 2,
    "eigh lowest": lambda a: mixed((v := np.linalg.eigh(a)[1][:, :1]) @ np.conj(v.mT)),
    "svd": lambda a: mixed((f := np.linalg.svd(a, full_matrices=False)).U * np.sin(f.S) @ f.Vh),
    "svd left": lambda a: np.abs(np.linalg.svd(a, full_matrices=False)[0]) ** 2,
    "svd right": lambda a: np.abs(np.linalg.svd(a, full_matrices=False)[2]) ** 2,
    "svd full": lambda a: [np.abs(np.linalg.svd(a)[0][:, :2]) ** 2, np.abs(np.linalg.svd(a)[2][:2]) ** 2],
    "svd projection": lambda a: mixed((u := np.linalg.svd(a)[0][:, 2:]) @ np.conj(u.mT)),
    "svd values": lambda a: np.linalg.svd(a, compute_uv=False),
    "eig": lambda a: np.abs(np.linalg.eig(a)[1]) ** 2,
    "eig function": lambda a: mixed((e := np.linalg.eig(a)).eigenvectors * np.sin(e.eigenvalues) @ np.linalg.inv(e[1])),
    "svd hermitian": lambda a: [(f := np.linalg.svd(a, hermitian=True)).S, mixed(f.U @ f.Vh)],
    "svd hermitian values": lambda a: np.linalg.svd(a, hermitian=True, compute_uv=False),
    "pinv hermitian": lambda a: np.linalg.pinv(a + np.conj(a.mT), hermitian=True),
}


@pytest.mark.parametrize("name", DECOMPOSITIONS)
@pytest.mark.parametrize("complex", [False, True])
def test_decomposition(name, complex):
    a = hermitian(3, 3, complex=complex) if "h" in name else draw(3, 3, complex=complex) + np.diag([0.0, 3.0, 7.0])
    check(DECOMPOSITIONS[name], a + (np.eye(3) if name == "svd hermitian" else 0))


@pytest.mark.parametrize("shape", [(4, 2), (2, 4), (2, 4, 3), (2, 2, 4)])
@pytest.mark.parametrize("complex", [False, True])
def test_rectangular(shape, complex):
    a = draw(*shape, complex=complex) + 2 * np.eye(*shape[-2:])
    check(lambda a: np.linalg.pinv(a), a)
    check(lambda a: np.linalg.pinv(a, rcond=1e-9) + np.linalg.pinv(a, rtol=1e-9), a)
    check(lambda a: (f := np.linalg.svd(a, full_matrices=False)).U * f.S[..., None, :] ** 2 @ f.Vh, a)
    check(lambda a: np.abs((f := np.linalg.svd(a, full_matrices=False))[0]) ** 2 @ np.abs(f[2]) ** 2, a)
    check(lambda a: np.linalg.svdvals(a), a)
    check(lambda a: tuple(np.linalg.qr(a)), a)
    check(lambda a: np.linalg.qr(a, mode="r"), a)
    check(lambda a: np.linalg.norm(a, "nuc", axis=(-2, -1)) + np.linalg.cond(a), a)


@pytest.mark.parametrize("bound", [{}, {"rcond": 0.0}, {"rtol": 0.0}, {"rtol": None}, {"rcond": 1e-3}, {"rtol": 1e-3}])
def test_pinv_leaves_out_what_numpy_leaves_out(bound):
    """Zero is a bound like others, and rtol=None is another one than none: 4e-16 here, not 1e-15."""
    a = np.diag([1.0, 6e-16])
    expected = np.linalg.pinv(a, **bound)
    np.testing.assert_array_equal(np.linalg.pinv(tapec.constant(a), **bound), expected)
    np.testing.assert_array_equal(tapec.compile(lambda a: np.linalg.pinv(a, **bound))(a), expected)


@pytest.mark.parametrize("shape", [(2, 4), (2, 2, 3), (3, 3), (3, 2), (2, 3, 1)])
@pytest.mark.parametrize("complex", [False, True])
def test_complete_qr_and_reflectors(shape, complex):
    """Where q has more columns than a, they too are LAPACK's, whatever a loss makes of them."""
    a = draw(*shape, complex=complex)
    if shape[-2] > shape[-1] or not complex:  # the phases of r's diagonal
        check(lambda a: tuple(np.linalg.qr(a, "complete")), a)
    check(lambda a: tuple(np.linalg.qr(a, "raw")), a)


def test_columns_that_need_no_reflection():
    a = np.diag([2.0, -3.0, 1.0])[:, :2]
    for mode in ("complete", "raw"):
        found = np.linalg.qr(tapec.constant(a), mode)
        for got, want in zip(found, np.linalg.qr(a, mode), strict=True):
            np.testing.assert_array_equal(got.numpy(), want)
        assert np.isfinite(tapec.grad(lambda a, mode=mode: np.sum(np.linalg.qr(a, mode)[0]))(a)).all()


@pytest.mark.parametrize("shape", [(4, 2), (2, 4)])
@pytest.mark.parametrize("complex", [False, True])
def test_vectors_outside_the_rank(shape, complex):
    a = draw(*shape, complex=complex)
    check(lambda a: mixed((u := np.linalg.svd(a)[0][:, 2:]) @ np.conj(u.mT)), a)
    check(lambda a: mixed(np.conj((vh := np.linalg.svd(a)[2][2:]).mT) @ vh), a)


SOLVES = [
    ((3, 3), (3,)),
    ((3, 3), (3, 2)),
    ((2, 3, 3), (3,)),
    ((2, 3, 3), (2, 3, 1)),
    ((2, 3, 3), (3, 2)),
    ((3, 3), (2, 3, 2)),
    ((2, 1, 2, 2), (3, 2, 2)),
    ((3, 3), (3, 0)),
]


@pytest.mark.parametrize("a, b", SOLVES)
@pytest.mark.parametrize("left, right", [(False, False), (True, True), (True, False), (False, True)])
def test_solve(a, b, left, right):
    check(np.linalg.solve, regular(*a, complex=left), draw(*b, complex=right))


def test_tensorsolve_and_tensorinv():
    a, b = regular(6, 6).reshape(2, 3, 6), draw(2, 3)
    check(np.linalg.tensorsolve, a, b)
    check(lambda a, b: np.linalg.tensorsolve(a, b, axes=(0,)), a.transpose(2, 0, 1), b)
    check(lambda a: np.linalg.tensorinv(a, 2), a.reshape(2, 3, 3, 2))
    check(lambda a: np.linalg.tensorinv(a, 1), a.reshape(6, 3, 2))


LSTSQ = [((4, 2), (4,)), ((4, 2), (4, 3)), ((2, 4), (2,)), ((2, 4), (2, 2)), ((3, 3), (3,))]


@pytest.mark.parametrize("a, b", LSTSQ)
@pytest.mark.parametrize("complex", [False, True])
def test_lstsq(a, b, complex):
    a = draw(*a, complex=complex) + 2 * np.eye(*a)
    check(lambda a, b: [(f := np.linalg.lstsq(a, b))[0], f[1], f[3]], a, draw(*b, complex=complex))
    check(lambda a, b: np.linalg.lstsq(a, b, rcond=1e-9)[0], a, draw(*b))


# -- norms -----------------------------------------------------------------------------------------------------------
VECTOR_ORDERS = [None, 1, 2, 3, 1.5, 2.5, np.inf, -np.inf, -1, -2.5, 0]
MATRIX_ORDERS = [None, "fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf]


def apart(*shape, complex=False):
    """Numbers whose sizes are far from each other and from zero."""
    size = np.prod(shape)
    x = (1.0 + 0.37 * rng.permutation(size)) * rng.choice([-1.0, 1.0], size)
    return (x * np.exp(1j * rng.uniform(0, 6, size)) if complex else x).reshape(shape)


@pytest.mark.parametrize("ord", VECTOR_ORDERS)
@pytest.mark.parametrize("complex", [False, True])
def test_vector_norm(ord, complex):
    x = apart(3, 4, complex=complex)
    check(lambda x: np.linalg.norm(x[0], ord), x)
    check(lambda x: np.linalg.norm(x, ord, axis=0), x)
    check(lambda x: np.linalg.norm(x, ord, axis=-1, keepdims=True), x)
    if ord is not None:
        check(lambda x: np.linalg.vector_norm(x, ord=ord), x)
        check(lambda x: np.linalg.vector_norm(x, ord=ord, axis=(0, -1), keepdims=True), x)


@pytest.mark.parametrize("ord", MATRIX_ORDERS)
@pytest.mark.parametrize("complex", [False, True])
def test_matrix_norm(ord, complex):
    x = apart(2, 3, 4, complex=complex)
    check(lambda x: np.linalg.norm(x[0], ord), x)
    check(lambda x: np.linalg.norm(x, ord, axis=(0, 2)), x)
    check(lambda x: np.linalg.norm(x, ord, axis=(2, -2), keepdims=True), x)
    if ord is not None:
        check(lambda x: np.linalg.matrix_norm(x, ord=ord), x)
        check(lambda x: np.linalg.matrix_norm(x, ord=ord, keepdims=True), x)


def test_norm_of_other_shapes():
    check(np.linalg.norm, draw(2, 3, 4))
    check(lambda x: np.linalg.norm(x, keepdims=True), draw(2, 3, 2, 2))
    check(np.linalg.norm, np.float64(-1.5))


@pytest.mark.parametrize("ord", [1, 2, 3, 1.5, 2.5])
def test_the_gradient_of_a_norm_at_zero_is_zero(ord):
    for x in (np.zeros(3), np.zeros((2, 2)), np.zeros(3, complex)):
        np.testing.assert_array_equal(by_tape(lambda x: np.linalg.norm(x.ravel(), ord))(x), 0 * x)
    partly = by_tape(lambda x: np.sum(np.linalg.norm(x, ord, axis=1)))(np.array([[0.0, 0.0], [3.0, 0.0]]))
    np.testing.assert_allclose(partly, [[0.0, 0.0], [1.0, 0.0]])


# -- conventions -----------------------------------------------------------------------------------------------------
def test_eigh_is_a_function_of_the_triangle_it_reads():
    a = hermitian(3, 3)
    v = np.linalg.eigh(a)[1][:, 0]
    want = np.outer(v, v)
    lower = by_tape(lambda a: np.linalg.eigh(a)[0][0])(a)
    np.testing.assert_allclose(lower, np.tril(want, -1) * 2 + np.diag(np.diag(want)))
    upper = by_tape(lambda a: np.linalg.eigvalsh(a, "U")[0])(a)
    np.testing.assert_allclose(upper, lower.T)


def test_cholesky_has_a_symmetric_gradient():
    g = by_tape(lambda a: np.linalg.cholesky(a)[1, 0])(definite(3, 3))
    np.testing.assert_allclose(g, g.T)
    z = by_tape(lambda a: np.real(np.linalg.cholesky(a)[1, 0]))(definite(3, 3, complex=True))
    np.testing.assert_allclose(z, np.conj(z.T))


REPEATED = np.diag([1.0, 1.0, 2.0])


def projection(a):
    """Onto the space of the two equal eigenvalues: it does not depend on the vectors chosen in it."""
    v = np.linalg.eigh(a)[1][:, :2]
    return mixed(v @ v.T)


def test_repeated_eigenvalues():
    np.testing.assert_allclose(by_tape(lambda a: np.sum(np.linalg.eigvalsh(a) ** 2))(REPEATED), 2 * REPEATED)
    np.testing.assert_allclose(by_tape(lambda a: np.sum(np.linalg.eigh(a)[0] ** 2))(np.eye(3)), 2 * np.eye(3))
    turned = np.linalg.qr(draw(3, 3))[0]
    a = turned @ REPEATED @ turned.T
    g = by_tape(lambda a: np.sum(projection(a)))(a)
    direction = draw(3, 3)
    direction = direction + direction.T
    slope = sum(
        c * (np.sum(projection(a + k * 1e-4 * direction)) - np.sum(projection(a - k * 1e-4 * direction)))
        for k, c in ((1, 2 / 3), (2, -1 / 12))
    )
    np.testing.assert_allclose(np.sum(g * direction), slope / 1e-4, rtol=1e-8)


FUNCTIONS = {"expm": np.exp, "logm": np.log, "sqrtm": np.sqrt}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_of_matrices_with_repeated_eigenvalues(name):
    """Put together again from their vectors, they have the gradients of SciPy's functions."""
    f = FUNCTIONS[name]
    weights = np.array([[0.5, 2.0, -1.0], [2.0, 1.5, 0.3], [-1.0, 0.3, 0.8]])

    def again(a):
        values, vectors = np.linalg.eigh(a)
        return np.sum(((vectors * f(values)) @ vectors.T) * weights)

    want = by_tape(lambda a: np.sum(getattr(tapec.scipy.linalg, name)(a) * weights))(REPEATED)
    got = by_tape(again)(REPEATED)
    np.testing.assert_allclose(got + got.T, want + want.T, rtol=1e-9, atol=1e-12)  # `eigh` reads a triangle


def test_repeated_singular_values():
    np.testing.assert_allclose(by_tape(lambda a: np.sum(np.linalg.svdvals(a) ** 2))(np.eye(3)), 2 * np.eye(3))
    weights = np.arange(9.0).reshape(3, 3)
    for a in (np.eye(3), np.zeros((3, 3)), np.diag([2.0, 1.0, 1.0])):
        g = by_tape(lambda a: np.sum((f := np.linalg.svd(a)).U @ np.diag(f.S) @ f.Vh * weights))(a)
        np.testing.assert_allclose(g, weights, atol=1e-13)
    zero = by_tape(lambda a: np.sum(np.linalg.svd(a)[1]))(np.zeros((2, 2)))
    assert np.isfinite(zero).all()
    np.testing.assert_allclose(by_tape(lambda a: np.linalg.norm(a, 2))(np.diag([3.0, 1.0, 1.0])), np.diag([1.0, 0, 0]))


def test_results_come_as_named_tuples():
    a = tapec.constant(definite(2, 2))
    assert type(np.linalg.slogdet(a)).__name__ == "SlogdetResult"
    assert np.linalg.eigh(a).eigenvectors.shape == (2, 2)
    assert np.linalg.eig(a).eigenvalues.dtype == np.linalg.eig(a.numpy()).eigenvalues.dtype  # float until NumPy 2.4
    assert np.linalg.svd(a).Vh.shape == (2, 2)
    assert np.linalg.qr(a).R.shape == (2, 2)
    assert np.linalg.eig(tapec.constant([[0.0, -1.0], [1.0, 0.0]])).eigenvalues.dtype == complex
    assert int(np.linalg.matrix_rank(a)) == 2 and int(np.linalg.matrix_rank(a, rtol=0.99)) == 1
    assert int(np.linalg.matrix_rank(a[0])) == 1


@pytest.mark.parametrize(
    "f, kind",
    [
        (np.linalg.inv, np.linalg.LinAlgError),
        (np.linalg.det, np.linalg.LinAlgError),
        (np.linalg.slogdet, np.linalg.LinAlgError),
        (np.linalg.cholesky, np.linalg.LinAlgError),
        (np.linalg.eigh, np.linalg.LinAlgError),
        (np.linalg.eigvals, np.linalg.LinAlgError),
        (lambda a: np.linalg.solve(a, a), np.linalg.LinAlgError),
        (lambda a: np.linalg.solve(np.eye(3), a), ValueError),
        (lambda a: np.linalg.svd(a[0]), np.linalg.LinAlgError),
        (lambda a: np.linalg.qr(a[0]), np.linalg.LinAlgError),
        (lambda a: np.linalg.pinv(a[0]), np.linalg.LinAlgError),
        (lambda a: np.linalg.lstsq(a, np.ones(3)), np.linalg.LinAlgError),
        (lambda a: np.linalg.norm(a, "nope"), ValueError),
        (lambda a: np.linalg.norm(a, 3), ValueError),
        (lambda a: np.linalg.norm(a, axis=(0, 0)), ValueError),
        (lambda a: np.linalg.norm(a, axis=2), np.exceptions.AxisError),
        (lambda a: np.linalg.norm(a[None], 2), ValueError),
        (lambda a: np.linalg.tensorsolve(a, a), np.linalg.LinAlgError),
        (lambda a: np.linalg.tensorinv(a, 0), ValueError),
        (lambda a: np.linalg.qr(a, "some"), ValueError),
        (lambda a: np.linalg.cond(a[:, :0]), np.linalg.LinAlgError),
        (lambda a: np.linalg.inv(a[:, :2] * 0), np.linalg.LinAlgError),
        (lambda a: np.linalg.cholesky(-(a.T @ a)), np.linalg.LinAlgError),
        (lambda a: np.linalg.eigh(a[:, :2], "X"), ValueError),
        (lambda a: np.linalg.inv(a[:, :2].astype(np.float16)), TypeError),
    ],
)
def test_wrong_matrices_are_errors_of_the_kind_that_numpy_raises(f, kind):
    a = np.arange(6.0).reshape(2, 3) + np.eye(2, 3)
    with pytest.raises(kind):
        f(a)
    with pytest.raises(kind):
        f(tapec.constant(a))


# -- determinants of singular matrices --------------------------------------------------------------------------------
SINGULAR = {
    "rank 2": np.array([[1.0, 2, 3], [4, 5, 6], [7, 8, 9]]),
    "rank 1": np.outer([1.0, 2, 3], [1, 0, 2]),
    "rank 0": np.zeros((3, 3)),
    "rank 2 of 4": np.diag([1.0, 2, 0, 0]),
    "stack": np.stack([np.diag([1.0, 0]), np.zeros((2, 2)), np.eye(2)]),
    "complex": np.array([[1.0, 1j], [1j, -1.0]]),
    "float32": np.ones((3, 3), np.float32),
}


def expanded(a):
    """The determinant by its first row: a polynomial, written out."""
    n = a.shape[-1]
    if n == 1:
        return a[..., 0, 0]
    minors = [expanded(np.concatenate([a[..., 1:, :k], a[..., 1:, k + 1 :]], -1)) for k in range(n)]
    return sum((-1.0) ** k * a[..., 0, k] * minor for k, minor in enumerate(minors))


@pytest.mark.parametrize("name", SINGULAR)
def test_derivatives_of_determinants_of_singular_matrices(name):
    a = SINGULAR[name]
    rng = np.random.default_rng(0)
    e = rng.standard_normal(a.shape).astype(a.dtype)
    loss = lambda det: lambda a: np.sum(np.real(det(a) * (1 + 2j if a.dtype.kind == "c" else 1.5)))
    along = lambda det: lambda a: np.sum(np.real(np.conj(e) * tapec.grad(loss(det))(a)))
    tolerance = 1e-5 if a.dtype == np.float32 else 1e-12
    for f in (loss, along):
        found, expected = tapec.grad(f(np.linalg.det))(a), tapec.grad(f(expanded))(a)
        assert found.dtype == a.dtype
        np.testing.assert_allclose(found, expected, atol=tolerance)
        forward = tapec.jvp(f(np.linalg.det), (a,), (e,))[1]
        np.testing.assert_allclose(forward, np.sum(np.real(np.conj(expected) * e)), rtol=tolerance, atol=tolerance)


def test_the_logarithm_of_a_singular_determinant_has_no_derivative():
    a = np.ones((2, 2))
    assert tapec.compile(lambda a: np.linalg.slogdet(a)[1])(a) == -np.inf
    with pytest.raises(np.linalg.LinAlgError, match="Singular") as caught:
        tapec.grad(lambda a: np.linalg.slogdet(a)[1])(a)
    assert "test_linalg.py" in caught.value.__notes__[0]


@pytest.mark.parametrize("p", [None, 2, -2, 1, -1, np.inf, -np.inf, "fro", "nuc"])
@pytest.mark.parametrize("name", ["rank 0", "rank 2 of 4", "stack", "complex", "float32"])
def test_condition_numbers_of_singular_matrices(name, p):
    a = SINGULAR[name]
    expected = np.real(np.linalg.cond(a, "fro" if p == "nuc" else p))  # NumPy has an error for some
    with tapec.settings(check="never"):  # NumPy 2.0 gives complex numbers, and an error, for some
        found = tapec.compile(lambda a: np.linalg.cond(a, p))(a)
        slope = tapec.grad(lambda a: np.sum(np.linalg.cond(a, p)))(a)
        each = tapec.vmap(lambda a: np.linalg.cond(a, p))(np.stack([a, a]))
    assert found.dtype == expected.dtype
    if p == "nuc":
        np.testing.assert_array_equal(np.isinf(found), np.isinf(expected))
    else:
        np.testing.assert_allclose(found, expected)
    assert (slope[np.isinf(found)] == 0).all()
    np.testing.assert_array_equal(each, [found, found])


@pytest.mark.parametrize("p", [1, -1, np.inf, -np.inf, "fro"])
def test_condition_numbers_of_matrices_that_are_not_finite(p):
    unknown, infinite = [[[np.nan, 0], [0, 0]], [[np.nan, 0], [0, 1]]], [[[np.inf, 1], [1, 1]]]
    a = np.array([*unknown, *infinite, [[0, 0], [0, 1]], [[2, 0], [0, 1]]])
    with np.errstate(invalid="ignore"):
        found = tapec.compile(lambda a: np.linalg.cond(a, p))(a)
        slope = tapec.grad(lambda a: np.sum(np.linalg.cond(a, p)))(a)
    np.testing.assert_allclose(found, np.real(np.linalg.cond(a, p)))
    assert (slope[3] == 0).all() and np.isfinite(slope[4]).all()
