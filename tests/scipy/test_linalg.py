"""tapec.scipy.linalg's factors, eigenvalues of pairs, and banded systems, against SciPy's."""

import numpy as np
import pytest
import scipy.linalg

import tapec
import tapec.scipy.linalg as linalg
from tapec.errors import UnsupportedError
from tests.scipy.against import compare

RNG = np.random.default_rng(5)
A = RNG.standard_normal((4, 4))
Z = A + 1j * RNG.standard_normal((4, 4))
TALL, WIDE = RNG.standard_normal((5, 3)), RNG.standard_normal((3, 5))
B = RNG.standard_normal((4, 2))
SYM = A + A.T
SPD = A @ A.T + 3 * np.eye(4)
HERMITIAN = Z @ Z.conj().T + 3 * np.eye(4)
FACTORS = scipy.linalg.lu_factor(A)
HALF = RNG.standard_normal((2, 4)) + np.array([[0.0], [5.0]])  # of a tridiagonal matrix


def signed(w, v):
    """Each vector with its first number positive: the sign is free."""
    return w, v * np.sign(v[:1])


CASES = {
    "lu": (lambda s: lambda a: s.lu(a), A),
    "lu tall": (lambda s: lambda a: [*s.lu(a), *s.lu(a, permute_l=True)], TALL),
    "lu wide": (lambda s: lambda a: [*s.lu(a), *s.lu(a, True)], WIDE),
    "lu complex": (lambda s: lambda a: [*s.lu(a), *s.lu(a, True)], Z),
    "lu by indices": (lambda s: lambda a: s.lu(a, p_indices=True), TALL),
    "lu_factor": (lambda s: lambda a: s.lu_factor(a), A),
    "lu_factor tall": (lambda s: lambda a: s.lu_factor(a, check_finite=False), TALL),
    "lu_factor wide": (lambda s: lambda a: s.lu_factor(a), WIDE),
    "lu_solve": (lambda s: lambda a: [s.lu_solve(s.lu_factor(a), B, t) for t in (0, 1, 2)], A),
    "lu_solve of a vector": (lambda s: lambda b: [s.lu_solve(FACTORS, b[0], t) for t in (0, 1)], A),
    "lu_solve complex": (lambda s: lambda a: [s.lu_solve(s.lu_factor(a), a[0], t) for t in (0, 1, 2)], Z),
    "lu_solve mixed": (lambda s: lambda b: s.lu_solve(s.lu_factor(A), b), Z),
    "qr": (lambda s: lambda a: [*s.qr(a), *s.qr(a, mode="r")], A),
    "qr economic": (lambda s: lambda a: [*s.qr(a, mode="economic"), *s.qr(a, mode="r")], TALL),
    "qr full": (lambda s: lambda a: s.qr(a, mode="full"), TALL),
    "qr wide": (lambda s: lambda a: s.qr(a, mode="economic"), WIDE),
    "eigh of some": (lambda s: lambda a: signed(*s.eigh(a @ a.T, subset_by_index=[1, 2])), A),
    "eigh pair": (lambda s: lambda a: [*signed(*s.eigh(a + a.T, a @ a.T + np.eye(4))), s.eigvalsh(a + a.T, SPD)], A),
    "eigh upper": (lambda s: lambda a: signed(*s.eigh(a, SPD, lower=False)), A),
    "eigh types": (
        lambda s: lambda a: [x for t in (2, 3) for x in signed(*s.eigh(SYM, a @ a.T + np.eye(4), type=t))],
        A,
    ),
    "eigvalsh": (
        lambda s: lambda a: [s.eigvalsh(a, lower=False), s.eigvalsh(a, SPD, subset_by_index=(0, 2), type=2)],
        A,
    ),
    "eigvalsh complex": (lambda s: lambda a: s.eigvalsh(a + a.T.conj(), HERMITIAN), Z),
    "solveh_banded": (
        lambda s: lambda ab: [s.solveh_banded(ab, B), s.solveh_banded(ab[::-1], B[:, 0], lower=True)],
        HALF,
    ),
    "solveh_banded b": (lambda s: lambda b: s.solveh_banded(HALF, b, check_finite=False), Z),
    "circulant": (lambda s: lambda c: [s.circulant(c[0]), s.circulant(c[0, 0])], A),
    "hankel": (lambda s: lambda c: [s.hankel(c[0]), s.hankel(c[0, :3], c[1]), s.hankel([1, 2])], A),
}


@pytest.mark.parametrize("name", CASES)
def test_against_scipy(name):
    compare(*CASES[name], linalg, scipy.linalg)


@pytest.mark.parametrize("seed", range(6))
def test_factors_of_matrices_drawn(seed):
    """Each way that rows change places is another road through the derivative."""
    rng = np.random.default_rng(seed)
    m, n = rng.integers(1, 6, 2)
    a = rng.permutation(2 * np.eye(m, n) + 0.3 * rng.standard_normal((m, n)))  # no two rows are near a tie
    compare(lambda s: lambda a: [*s.lu_factor(a), *s.lu(a, permute_l=True)], a, linalg, scipy.linalg)


SINGLE = {
    "lu": lambda s, a: s.lu(a),
    "lu_solve": lambda s, a: [s.lu_solve(s.lu_factor(a), a)],
    "qr": lambda s, a: s.qr(a),
    "eigvalsh": lambda s, a: [s.eigvalsh(a @ a.T, np.eye(4, dtype=a.dtype))],
    "circulant": lambda s, a: [s.circulant(a[0])],
    "solveh_banded": lambda s, a: [s.solveh_banded(HALF.astype(a.dtype), a)],
}


@pytest.mark.parametrize("name", SINGLE)
def test_single_precision(name):
    f, a = SINGLE[name], A.astype(np.float32)
    found = tapec.compile(lambda a: f(linalg, a))(a)
    for x, wanted in zip(found, f(scipy.linalg, a), strict=True):
        assert x.dtype == wanted.dtype == np.float32
        np.testing.assert_allclose(x, wanted, rtol=2e-5, atol=2e-5)
    loss = lambda a: sum(np.sum(np.sin(x)) for x in f(linalg, a))
    slopes = tapec.grad(loss)(a)
    assert slopes.dtype == np.float32
    np.testing.assert_allclose(slopes, tapec.grad(loss)(A), rtol=1e-3, atol=1e-3)


def test_a_factor_solves_for_many_right_hand_sides():
    """The gradient of a solution is that of np.linalg.solve."""
    by_factor = lambda a, b: np.sum(np.sin(linalg.lu_solve(linalg.lu_factor(a), b)))
    at_once = lambda a, b: np.sum(np.sin(np.linalg.solve(a, b)))
    for found, wanted in zip(tapec.grad(by_factor, (0, 1))(A, B), tapec.grad(at_once, (0, 1))(A, B), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("k", [0, 1, 2])
def test_numbers_that_a_function_closes_over(k):
    f = tapec.compile(lambda a: [linalg.lu_solve(linalg.lu_factor(a), B, k), linalg.solve_triangular(a, B, k)])
    np.testing.assert_allclose(f(A), [np.linalg.solve(a.T if k else a, B) for a in (A, np.triu(A))], rtol=1e-9)
    f = tapec.compile(lambda a: linalg.eigh(a, SPD, type=k + 1, subset_by_index=(0, k))[0])
    np.testing.assert_allclose(f(SYM), scipy.linalg.eigh(SYM, SPD, type=k + 1)[0][: k + 1], rtol=1e-9)


def test_logarithm_of_a_determinant_by_its_factors():
    f = lambda a: np.sum(np.log(np.abs(np.diagonal(linalg.lu_factor(a)[0]))))
    np.testing.assert_allclose(tapec.grad(f)(A), np.linalg.inv(A).T, rtol=1e-9)
    np.testing.assert_allclose(tapec.vmap(tapec.grad(f))(np.stack([A, SPD]))[1], np.linalg.inv(SPD).T, rtol=1e-9)


def test_exported_factors_need_scipy_alone(tmp_path):
    @tapec.grad
    def slope(a):
        return np.sum(linalg.lu(a)[1] ** 2)

    slope.export(tmp_path / "factors.py", A)
    code, names = (tmp_path / "factors.py").read_text(), {}
    assert "import tapec" not in code
    exec(code, names)
    np.testing.assert_allclose(names["slope_grad"](A), slope(A), rtol=1e-12)


BAD = {
    "lu of a vector": (lambda s, a: s.lu(a[0]), ValueError, r"expected a matrix, got an array of shape \(4,\)"),
    "lu_solve": (
        lambda s, a: s.lu_solve(scipy.linalg.lu_factor(A), a[:3]),
        ValueError,
        r"factors of shape \(4, 4\) meet b of shape \(3, 4\)",
    ),
    "qr": (
        lambda s, a: s.qr(a, mode="reduced"),
        ValueError,
        "mode is one of 'full', 'qr', 'economic', 'r', got 'reduced'",
    ),
    "eigh b": (lambda s, a: s.eigh(a, np.eye(3)), ValueError, r"b has the shape \(3, 3\), but a has \(4, 4\)"),
    "eigh type": (lambda s, a: s.eigh(a, SPD, type=4), ValueError, "type is 1, 2 or 3, got 4"),
    "eigh not definite": (lambda s, a: s.eigh(a, -SPD), np.linalg.LinAlgError, "positive definite"),
    "eigh indices": (
        lambda s, a: s.eigh(a, subset_by_index=(2, 4)),
        ValueError,
        r"the first and the last of 4 eigenvalues, counted from 0, got \(2, 4\)",
    ),
    "solveh_banded": (lambda s, a: s.solveh_banded(a[:2], np.ones(3)), ValueError, "shapes of ab and b"),
    "solveh_banded not definite": (lambda s, a: s.solveh_banded(-HALF, a), np.linalg.LinAlgError, "positive definite"),
}


@pytest.mark.parametrize("name", BAD)
def test_arguments_that_scipy_refuses(name):
    call, error, message = BAD[name]
    with pytest.raises(error):
        call(scipy.linalg, A)
    for a in (A, tapec.constant(A)):
        with pytest.raises(error, match=message):
            call(linalg, a)


@pytest.mark.parametrize("more", [{"pivoting": True}, {"mode": "raw"}])
def test_what_qr_has_not(more):
    with pytest.raises(UnsupportedError, match=r"test_linalg.py:\d+: qr of tensors takes no .* Fix"):
        linalg.qr(A, **more)


def test_empty_matrices():
    empty = tapec.constant(np.ones((0, 0)))
    assert [x.shape for x in linalg.lu(empty)] == [(0, 0)] * 3
    assert tapec.grad(lambda a: np.sum(linalg.lu_factor(a)[0]))(empty).shape == (0, 0)


def test_a_matrix_without_an_inverse_has_factors():
    singular = np.ones((3, 3))
    with pytest.warns(scipy.linalg.LinAlgWarning):
        found = linalg.lu_factor(tapec.constant(singular))[0]
    np.testing.assert_allclose(found, [[1, 1, 1], [1, 0, 0], [1, 0, 0]])
