"""Functions of matrices by their vectors, where values are equal: against SciPy, differences, and exact quotients."""

import itertools
from functools import cache

import numpy as np
import pytest
import scipy.linalg

import tapec
from tests.ops.derivatives import check, differences

RNG = np.random.default_rng(11)
N = 4
C, B = RNG.normal(size=(2, N, N))
X = RNG.normal(size=N)
ONES = np.eye(N)  # an input of programs, whose values are not known
Q, P = np.linalg.qr(RNG.normal(size=(2, N, N)))[0]
ORDER = np.array([2, 0, 3, 1])


def of(q, w, p=None):
    """The matrix with these vectors and values."""
    a = (q * np.array(w, float)) @ np.conj(q if p is None else p).T
    return a if p is not None else (a + np.conj(a).T) / 2


MATRICES = {
    "identity": np.eye(N),
    "diagonal": np.diag([1.0, 1.0, 2.0, 2.0]),
    "two pairs": of(Q, [1, 1, 2, 2]),
    "three": of(Q, [1, 1, 1, 3]),
    "all": of(Q, [2, 2, 2, 2]),
    "close": of(Q, [1, 1 + 1e-12, 2, 2 + 1e-9]),
    "apart": of(Q, [1, 2, 3, 4]),
}


def f(w):
    return np.exp(w / 2) + 1 / w


# -- the same function of a matrix in many words ----------------------------------------------------------------------
def in_order(w, v):
    order = np.argsort(w)[::-1]
    return (v[:, order] * f(w[order])) @ v[:, order].T


def split(w, v):
    return (v[:, :2] * f(w[:2])) @ v[:, :2].T + (v[:, 2:] * f(w[2:])) @ v[:, 2:].T


def written(w, v):
    """In place, whole and place by place."""
    d, e = np.zeros_like(v), np.zeros_like(w)
    d[1:] = (f(w) * v)[1:]
    d[0] = f(w) * v[0]
    for k in range(N):
        e[k] = np.sqrt(w[k])
    return (d / e) @ (v * e).T


def on_the_diagonal(w, v):
    d, i = np.zeros_like(v), np.arange(N)
    d[i, i] = f(w)
    e = v @ d @ v.T
    e[i, i] = (v @ np.pad(np.diag(f(w[1:])), ((1, 0), (1, 0))) @ v.T)[i, i] + f(w[0]) * v[:, 0] ** 2
    return e


def place_by_place(w, v):
    d = np.zeros_like(v)
    for k in range(N):
        d[k, k] = f(w[k])
    return v @ d @ v.T


def two_written_diagonals(w, v):
    d, i = np.zeros_like(v), np.arange(N)
    d[i, i] = np.sqrt(f(w))
    return v @ d @ d @ v.T


def by_singular_values(w, v):
    u, s, vh = np.linalg.svd((v * w) @ v.T, hermitian=True)
    return (u * f(s)) @ vh


FORMS = {
    "columns": lambda w, v: (v * f(w)) @ v.T,
    "rows": lambda w, v: v @ (f(w)[:, None] * v.T),
    "diag": lambda w, v: v @ np.diag(f(w)) @ v.T,
    "two diagonals": lambda w, v: v @ np.diag(f(w) * w) @ np.diag(1 / w) @ v.T,
    "a diagonal of ones": lambda w, v: v @ (np.eye(N) * f(w)) @ v.T,
    "inverse": lambda w, v: v @ np.linalg.inv(np.diag(1 / f(w))) @ v.T,
    "solve": lambda w, v: v @ np.linalg.solve(np.diag(1 / f(w)), v.T),
    "a mask": lambda w, v: v @ np.where(np.eye(N) > 0, f(w), 0.0) @ v.T,
    "two places of one": lambda w, v: v @ (np.eye(N) * (f(w)[:, None] + f(w)) * 0.5) @ v.T,
    "the diagonal of places": lambda w, v: (v * np.diagonal(np.outer(f(w), w)) / w) @ v.T,
    "two written diagonals": two_written_diagonals,
    "einsum": lambda w, v: np.einsum("ij,j,kj->ik", v, f(w), v),
    "vecdot": lambda w, v: np.vecdot((v * f(w))[:, None], v),
    "tensordot": lambda w, v: np.tensordot(v * f(w), v, ([1], [1])),
    "multi_dot": lambda w, v: np.linalg.multi_dot([v, np.diag(f(w)), v.T]),
    "broadcast": lambda w, v: np.sum(v[:, None] * f(w) * v, -1),
    "columns of vectors": lambda w, v: np.stack([v @ (f(w) * (e @ v)) for e in np.eye(N)]),
    "roots": lambda w, v: (b := v * np.sqrt(f(w))) @ b.T,
    "outer products": lambda w, v: sum(f(w[k]) * np.outer(v[:, k], v[:, k]) for k in range(N)),
    "by the last": lambda w, v: sum(f(w[k]) / w[-1] * np.outer(v[:, k], v[:, k]) for k in range(N)) * w[-1],
    "columns by the last": lambda w, v: sum(f(w[k]) / w[-1] * v[:, [k]] @ v[:, [k]].T for k in range(N)) * w[-1],
    "pairs": lambda w, v: sum(f(value) * np.outer(vector, vector) for value, vector in zip(w, v.T, strict=True)),
    "columns of one": lambda w, v: sum(f(w[k]) * v[:, k : k + 1] @ v[:, k : k + 1].T for k in range(N)),
    "columns by lists": lambda w, v: sum(f(w[k]) * v[:, [k]] @ v[:, [k]].T for k in range(N)),
    "tiled": lambda w, v: (v * np.tile(f(w), (N, 1)) / np.repeat(w[None], N, 0) * w) @ v.T,
    "tiled and repeated": lambda w, v: (v * np.tile(f(w) / w, N).reshape(N, N)) @ (np.repeat(w, N).reshape(N, N) * v.T),
    "transformed": lambda w, v: np.real(np.fft.ifft(np.fft.fft(v * f(w), axis=0) @ v.T, axis=0)),
    "sums of diagonals": lambda w, v: v @ (np.diag(f(w)) + np.eye(N)) @ np.diag(w) @ np.diag(1 / w) @ v.T - np.eye(N),
    "stacked backwards": lambda w, v: (v[:, ::-1] * np.array([f(w[k]) for k in range(N)[::-1]])) @ v[:, ::-1].T,
    "stacked": lambda w, v: (v * np.stack([f(w[k]) for k in range(N)])) @ v.T,
    "backwards": lambda w, v: (v[:, ::-1] * f(w[::-1])) @ v[:, ::-1].T,
    "sorted": in_order,
    "taken": lambda w, v: (np.take(v, ORDER, 1) * np.take(f(w), ORDER)) @ np.take(v, ORDER, 1).T,
    "split": split,
    "reshaped": lambda w, v: v @ (np.reshape(np.kron(f(w), np.ones(N)), (N, N)) * v.T),
    "flat": lambda w, v: np.reshape(np.ravel(v * f(w)) * np.ones(N * N), (N, N)) @ v.T,
    "joined": lambda w, v: np.concatenate([v * f(w), v])[:N] @ v.T,
    "summed up": lambda w, v: np.diff(np.cumsum(v * f(w), 0), axis=0, prepend=0) @ v.T,
    "rolled": lambda w, v: np.roll(np.roll(v * f(w), 1, 0) @ v.T, -1, 0),
    "parts": lambda w, v: (v * np.concatenate([f(w[:1]), f(w[1:3]), f(w[3:])])) @ v.T,
    "polynomial": lambda w, v: (v * (f(w) - np.polyval([1.0, 2.0, 0.5], w) + w * (w + 2.0) + 0.5)) @ v.T,
    "sorted values": lambda w, v: (v * f(np.sort(w))) @ v.T,
    "written": written,
    "on the diagonal": on_the_diagonal,
    "relative": lambda w, v: (v * (f(w) / w[-1])) @ v.T * w[-1],
    "by a length, twice": lambda w, v: (
        (np.linalg.norm(w) * (v * f(w)) * np.linalg.norm(w)) @ v.T / np.trace((v * w**2) @ v.T)
    ),
    "shares": lambda w, v: (v * (f(w) / np.sum(w))) @ v.T * np.trace((v * w) @ v.T),
    "by singular values": by_singular_values,
    "place by place": place_by_place,
    "beside the last": lambda w, v: (
        sum((f(w[k]) + w[-1]) * np.outer(v[:, k], v[:, k]) for k in range(N)) - w[-1] * v @ v.T
    ),
    "by a matrix of ones and zeros": lambda w, v: v @ (ONES * (f(w)[:, None] + f(w)) / 2) @ v.T,
    "running sums": lambda w, v: (v * np.diff(np.cumsum(f(w)), prepend=0.0)) @ v.T,
    "convolved": lambda w, v: (v * np.convolve(f(w), [1.0])) @ v.T,
    "decomposed": lambda w, v: (lambda q, r: q @ r)(*np.linalg.qr(v * f(w))) @ v.T,
    "in a part of its own": lambda w, v: (v * tapec.checkpoint(f)(w)) @ v.T,
    "vectors inverted": lambda w, v: (v * f(w)) @ np.linalg.inv(v),
    "vectors solved": lambda w, v: np.linalg.solve(v.T, f(w)[:, None] * v.T),
}
if hasattr(np, "matvec"):  # from NumPy 2.2 on
    FORMS["matvec"] = lambda w, v: np.matvec(v, f(w) * v)
    FORMS["vecmat"] = lambda w, v: np.vecmat(v * f(w), v.T)


def put_together(form, a):
    return FORMS[form](*np.linalg.eigh(a))


def whole(a):
    """The same by SciPy, of the triangle that `eigh` reads."""
    a = np.tril(a) + np.tril(a, -1).T
    return scipy.linalg.expm(a / 2) + np.linalg.inv(a)


SQUARES = np.outer(X, X)


@cache  # differences of SciPy's exponential take two seconds
def wanted(name="C"):
    """The gradient of the sum of the function times these, by differences, at each of the matrices."""
    weights = {"C": C, "squares": SQUARES}[name]
    return {k: differences(lambda a: np.sum(weights * whole(a)), a) for k, a in MATRICES.items()}


@pytest.mark.sampled(one_in=3)
@pytest.mark.parametrize("form", FORMS)
def test_matrices_that_are_put_together_again(form):
    def loss(a):
        return np.sum(C * put_together(form, a))

    slope, along = tapec.grad(loss), tapec.compile(lambda a: tapec.jvp(loss, (a,), (B,))[1])
    for name, a in MATRICES.items():
        np.testing.assert_allclose(slope(a), wanted()[name], rtol=1e-7, atol=1e-7, err_msg=name)
        np.testing.assert_allclose(along(a), np.sum(wanted()[name] * B), rtol=1e-7, err_msg=name)


@pytest.mark.parametrize("matrix", ["three", "apart"])
def test_values_in_a_row_by_one_that_is_alone(matrix):
    def loss(a):
        w, v = np.linalg.eigh(a)
        return np.sum(C * ((v * np.stack([f(w[k]) / w[-1] for k in range(N)])) @ v.T)) * w[-1]

    np.testing.assert_allclose(tapec.grad(loss)(MATRICES[matrix]), wanted()[matrix], rtol=1e-7, atol=1e-7)


SCALARS = {
    "quadratic": (lambda w, v: np.sum(f(w) * (v.T @ X) ** 2), SQUARES),
    "vector": (lambda w, v: X @ (v @ (f(w) * (v.T @ X))), SQUARES),
    "vdot": (lambda w, v: np.vdot(C.T @ v, v * f(w)), C),
    "flat": (lambda w, v: np.ravel(v * f(w)) @ np.ravel(C @ v), C),
    "einsum": (lambda w, v: np.einsum("ij,j,kj,ik", v, f(w), v, C), C),
    "trace": (lambda w, v: np.trace(v.T @ C @ v @ np.diag(f(w))), C),
    "diagonal": (lambda w, v: np.sum(f(w) * np.diagonal(v.T @ C @ v)), C),
    "terms": (lambda w, v: sum(f(w[k]) * (v[:, k] @ X) ** 2 for k in range(N)), SQUARES),
}


@pytest.mark.parametrize("name", SCALARS)
def test_numbers(name):
    loss, weights = SCALARS[name]
    slope = tapec.grad(lambda a: loss(*np.linalg.eigh(a)))
    for matrix, want in wanted("C" if weights is C else "squares").items():
        np.testing.assert_allclose(slope(MATRICES[matrix]), want, rtol=1e-7, atol=1e-7, err_msg=matrix)


GAPS = [0.0, *[10.0**-k for k in range(1, 17)], 1.4e-8, 1.6e-8]


def test_every_gap():
    """At the middle of rounding and limit the quotient has half of all digits; nowhere fewer."""
    slope = tapec.grad(lambda a: (lambda w, v: np.sum(C * ((v * np.exp(w)) @ v.T)))(*np.linalg.eigh(a)))
    for gap, size in itertools.product(GAPS, (1.0, -1.0, 30.0)):
        w = size * np.array([1.0, 1.0 + gap, 2.0, 1.5])
        apart = w[None, :] - w[:, None]
        with np.errstate(invalid="ignore"):
            quotients = np.exp(w[:, None]) * np.where(apart == 0, 1.0, np.expm1(apart) / apart)
        want = Q @ (quotients * (Q.T @ (C + C.T) @ Q)) @ Q.T
        want = np.tril(want) - np.diag(np.diag(want)) / 2
        np.testing.assert_allclose(slope(of(Q, w)), want, rtol=0, atol=2e-7 * np.abs(want).max())


@pytest.mark.parametrize("gap", [1e-3, 1e-6, 1e-7])
@pytest.mark.parametrize("loss", [lambda w, v: w[0] * v[0, 0] ** 2, lambda w, v: np.sum((C[0] + w) * v[0] ** 2)])
def test_vectors_of_close_values_are_told_apart(loss, gap):
    """A loss for which it matters which vector is which has no limit."""

    def of_matrix(a):
        return loss(*np.linalg.eigh(a))

    a = of(Q, [1.0, 1.0 + gap, 2.0, 3.0])
    want = differences(of_matrix, a, step=gap / 100)
    np.testing.assert_allclose(tapec.grad(of_matrix)(a), want, rtol=0, atol=1e-4 * np.abs(want).max())


# -- other functions of the same values -------------------------------------------------------------------------------
def lyapunov(a):
    """The X of a X + X a = B."""
    w, v = np.linalg.eigh(a)
    return v @ ((v.T @ B @ v) / (w[:, None] + w)) @ v.T


def product(a):
    w, v = np.linalg.eigh(a)
    return (v * np.exp(w)) @ v.T @ B @ (v * np.sin(w)) @ v.T


def twice(a):
    """The values of the function are equal where the matrix has equal ones."""
    b = put_together("columns", a)
    w, v = np.linalg.eigh(b + np.eye(N))
    return (v * np.log(w)) @ v.T


@pytest.mark.parametrize("function", [lyapunov, product, twice])
def test_functions_of_several(function):
    for matrix in MATRICES.values():
        check(function, matrix, rtol=1e-8)


def test_lyapunov_is_what_it_says():
    a = MATRICES["two pairs"]
    np.testing.assert_allclose(lyapunov(a), scipy.linalg.solve_sylvester(a, a, B))


def shares(w):
    """Functions of one value and a sum over all."""
    return np.exp(w) / np.sum(np.exp(w)) * np.sum(np.log(w))


LOSSES = {
    "columns": lambda a: np.sum(C * put_together("columns", a)) + np.sum(C * product(a)),
    "terms": lambda a: (lambda w, v: sum(C[0, 0] * shares(w)[k] * (v[:, k] @ X) ** 2 for k in range(N)))(
        *np.linalg.eigh(a)
    ),
    "joined": lambda a: (
        lambda w, v: np.sum(C * (np.hstack([v[:, :1] * f(w)[:1], v[:, 1:] * f(w)[1:]]) @ v.T)) * np.sum(shares(w))
    )(*np.linalg.eigh(a)),
    "values alone": lambda a: np.sum(f(np.linalg.eigvalsh(a))),
    "product of values": lambda a: np.prod(np.linalg.eigvalsh(a)),
    "not by values alone": lambda a: (lambda b: np.sum(C * (b @ np.triu(C) @ b)) * b[0, 1])(put_together("columns", a)),
    "vectors inverted": lambda a: np.sum(C * put_together("vectors inverted", a)),
    "in a part of its own": lambda a: np.sum(C * put_together("in a part of its own", a)),
    "values alone, vectors alone": lambda a: (lambda w, v: np.sum(C * ((v * f(w)) @ v.T)))(
        np.linalg.eigvalsh(a), np.linalg.eigh(a)[1]
    ),
    "of the upper triangle": lambda a: np.sum(f(np.linalg.eigvalsh(a, "U"))),
    "singular values alone": lambda a: np.sum(np.cosh(np.linalg.svdvals(a) / 2)),
    "singular values beside all vectors": lambda a: (
        np.sum(np.linalg.svdvals(a) ** 4) + np.sum(np.linalg.svd(a)[1] ** 4)
    ),
    "values that least squares have": lambda a: np.sum(np.linalg.lstsq(a, X)[3] ** 3),
    "and of a stack": lambda a: np.sum(np.cosh(np.linalg.svd(np.stack([a, 2 * a.T]), compute_uv=False) / 2)),
}


@pytest.mark.sampled(one_in=8)
@pytest.mark.parametrize("name", LOSSES)
def test_higher_orders(name):
    loss = LOSSES[name]
    slope = tapec.grad(loss)
    hvp, hessian, jacobian = tapec.hvp(loss), tapec.hessian(loss), tapec.jacfwd(slope)
    ways = {
        "reverse": tapec.grad(lambda a: np.sum(slope(a) * B)),
        "forward": tapec.compile(lambda a: tapec.jvp(slope, (a,), (B,))[1]),
        "hvp": lambda a: hvp(a, B),
        "hessian": lambda a: np.tensordot(hessian(a), B),
        "jacfwd": lambda a: np.tensordot(jacobian(a), B),
        "reverse over forward": tapec.grad(lambda a: tapec.jvp(loss, (a,), (B,))[1]),
    }
    both = tapec.compile(lambda a: tapec.jvp(lambda a: tapec.jvp(loss, (a,), (B,))[1], (a,), (X * B,))[1])
    for name, matrix in MATRICES.items():
        want = differences(lambda a: np.sum(slope(a) * B), matrix, step=1e-2)  # slopes round as one over the distance
        for way, found in ways.items():
            np.testing.assert_allclose(found(matrix), want, rtol=1e-6, atol=1e-6, err_msg=f"{way}, {name}")
        np.testing.assert_allclose(both(matrix), np.sum(want * X * B), rtol=1e-6, atol=1e-6, err_msg=name)
    third = tapec.grad(lambda a: np.sum(slope(a) * tapec.jvp(slope, (a,), (B,))[1]))
    assert np.isfinite(third(np.eye(N))).all()  # a number, where the limit of third order is another


# -- kinds of matrices ------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("uplo", ["L", "U"])
def test_complex_matrices(uplo):
    q = np.linalg.qr(RNG.normal(size=(N, N)) + 1j * RNG.normal(size=(N, N)))[0]

    def function(a):
        w, v = np.linalg.eigh(a, uplo)
        return (v * f(w)) @ np.conj(v).T

    for w in ([1, 1, 2, 2], [1, 1, 1, 1], [1, 1, 1, 3]):
        check(function, of(q, w), rtol=1e-8)


def test_stacks_of_matrices():
    stack = np.stack(list(MATRICES.values()))
    weights = RNG.normal(size=stack.shape)

    def loss(a, c):
        w, v = np.linalg.eigh(a)
        return np.sum(c * ((v * f(w)[..., None, :]) @ np.swapaxes(v, -1, -2)))

    slope = tapec.grad(loss)
    want = np.stack([slope(a, c) for a, c in zip(stack, weights, strict=True)])
    rest = {"rtol": 1e-10, "atol": 1e-10}
    np.testing.assert_allclose(tapec.grad(loss)(stack, weights), want, **rest)
    np.testing.assert_allclose(tapec.vmap(slope)(stack, weights), want, **rest)
    np.testing.assert_allclose(tapec.grad(lambda a: np.sum(tapec.vmap(loss)(a, weights)))(stack), want, **rest)
    at_once = tapec.grad(lambda a: (lambda w, v: np.einsum("bij,bj,bkj,bik", v, f(w), v, weights))(*np.linalg.eigh(a)))
    np.testing.assert_allclose(at_once(stack), want, **rest)


def test_single_precision():
    slope = tapec.grad(lambda a, c: np.sum(c * put_together("columns", a)))
    for a in MATRICES.values():
        got = slope(a.astype("f"), C.astype("f"))
        assert got.dtype == np.float32
        np.testing.assert_allclose(got, slope(a, C), rtol=0, atol=1e-4)


@pytest.mark.parametrize("shape", [(0, 0), (1, 1)])
def test_no_pairs_at_all(shape):
    a = np.ones(shape)
    for decompose in (np.linalg.eigh, lambda a: np.linalg.svd(a)[1:]):
        got = tapec.grad(lambda a, decompose=decompose: (lambda w, v: np.sum((v * w) @ v.T))(*decompose(a)))(a)
        np.testing.assert_allclose(got, a)


def test_tapes_and_checkpoints():
    a, want = MATRICES["two pairs"], wanted()["two pairs"]
    with tapec.GradientTape() as tape:
        x = tapec.Variable(a)
        w, v = np.linalg.eigh(x)
        values = f(w)  # a value that the tape keeps
        loss = np.sum(C * ((v * values) @ v.T))
    np.testing.assert_allclose(tape.gradient(loss, x), want, rtol=1e-7)
    with tapec.GradientTape() as outer:
        x = tapec.Variable(a)
        with tapec.GradientTape() as tape:
            loss = np.sum(np.linalg.eigvalsh(x) ** 2)  # the squares of all elements, by those of the lower triangle
        slope = tape.gradient(loss, x)
    np.testing.assert_allclose(outer.gradient(slope, x), 2 + 2 * np.tri(N, k=-1) - 2 * np.tri(N, k=-1).T, atol=1e-9)
    kept = tapec.checkpoint(lambda a: np.sum(C * put_together("columns", a)))
    np.testing.assert_allclose(tapec.grad(kept)(a), want, rtol=1e-7)


# -- matrices that are not symmetric ----------------------------------------------------------------------------------
def expm_slope(a, b, c):
    """The slope along b of the gradient of the sum of c times the exponential, at a: a block of a larger one."""
    zero = np.zeros_like(a)

    def one(x, y):
        return scipy.linalg.expm(np.block([[a.T, x, zero], [zero, a.T, y], [zero, zero, a.T]]))[:N, -N:]

    return one(c, b.T) + one(b.T, c)


SKEW = C + 3.0 * np.eye(N)
ANY = {
    **{name: MATRICES[name] for name in ("identity", "two pairs", "apart")},
    "two pairs of skew vectors": (SKEW * np.array([1, 1, 2, 2])) @ np.linalg.inv(SKEW),
    "three and one": (SKEW * np.array([1, 1, 1, 3])) @ np.linalg.inv(SKEW),
    "turns": np.kron(np.eye(2), [[1.0, -1.0], [1.0, 1.0]]),
}


@pytest.mark.parametrize("name", ANY)
def test_vectors_of_any_matrix(name):
    def put(a):
        w, v = np.linalg.eig(a)
        return np.sum(C * np.real((v * np.exp(w)) @ np.linalg.inv(v)))

    a = ANY[name]
    for loss, c in ((put, C), (lambda a: np.real(np.sum(np.exp(np.linalg.eigvals(a)))), np.eye(N))):
        slope = tapec.grad(loss)
        want = scipy.linalg.expm_frechet(a.T, c)[1]
        np.testing.assert_allclose(slope(a), want, rtol=0, atol=1e-10)
        np.testing.assert_allclose(tapec.jvp(loss, (a,), (B,))[1], np.sum(want * B), rtol=1e-10)
        for second in (tapec.hvp(loss)(a, B), tapec.jvp(slope, (a,), (B,))[1]):
            np.testing.assert_allclose(second, expm_slope(a, B, c), rtol=0, atol=1e-9)


# -- singular values --------------------------------------------------------------------------------------------------
SINGULAR = {"ones": [1, 1, 1], "a pair": [2, 1, 1], "close": [2, 1 + 1e-12, 1], "apart": [3, 2, 1]}
VANISHING = {"zeros": [0, 0, 0], "two zeros": [1, 0, 0], "one zero": [1, 1, 0]}
SHAPES = [(3, 3), (4, 3), (3, 4)]


def vectors(m, n, complex):
    both = [RNG.normal(size=(k, k)) + (1j * RNG.normal(size=(k, k)) if complex else 0) for k in (m, n)]
    u, v = [np.linalg.qr(b)[0][:, : min(m, n)] for b in both]
    return u, v


def polar(u, s, vh):
    return u @ vh


def odd(u, s, vh):
    return (u * np.sin(s)) @ vh


def odd_by_loop(u, s, vh):
    return sum(np.sin(s[k]) * np.outer(u[:, k], vh[k]) for k in range(len(s)))


def again(u, s, vh):
    return np.einsum("ij,j,jk->ik", u, s, vh)


def inverse(u, s, vh):
    return np.conj(u @ np.diag(1 / s) @ vh).T


def left(u, s, vh):
    """The symmetric factor, of vectors on one side."""
    return (u * s) @ np.conj(u).T


@pytest.mark.sampled(one_in=4, per="shape")
@pytest.mark.parametrize("complex", [False, True])
@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
def test_singular_vectors(shape, full, complex):
    u, v = vectors(*shape, complex)
    k = min(shape)
    places = {**SINGULAR, **VANISHING}
    for name, values in places.items():
        for function in (odd, odd_by_loop, again) if name in VANISHING else (odd, polar, inverse, left, again):

            def of_matrix(a, function=function):
                u, s, vh = np.linalg.svd(a, full_matrices=full)
                return function(u[:, :k], s, vh[:k])

            check(of_matrix, of(u, values, v), rtol=1e-7)


def test_the_matrix_itself_at_zero():
    for shape in SHAPES:
        weights = RNG.normal(size=shape)
        k = min(shape)

        def loss(a, weights=weights, k=k):
            u, s, vh = np.linalg.svd(a)
            return np.sum(weights * ((u[:, :k] * s) @ vh[:k]))

        np.testing.assert_allclose(tapec.grad(loss)(np.zeros(shape)), weights, atol=1e-14)


# -- what has no limit ------------------------------------------------------------------------------------------------
@tapec.custom_gradient
def clipped(x):
    return x * 1.0, lambda ct: np.clip(ct, -1e3, 1e3)


def test_functions_without_tangents():
    """The quotient is taken, as without slopes: right where values are apart."""

    def loss(a):
        w, v = np.linalg.eigh(a)
        return np.sum(C * ((v * clipped(f(w))) @ v.T))

    slope = tapec.grad(loss)
    np.testing.assert_allclose(slope(MATRICES["apart"]), wanted()["apart"], rtol=1e-7, atol=1e-7)
    near = of(Q, [1, 1 + 1e-8, 2, 3])
    np.testing.assert_allclose(slope(near), differences(lambda a: np.sum(C * whole(a)), near), rtol=0, atol=1e-6)
    assert "less_equal" not in ops_of(loss)
    assert np.isfinite(slope(np.eye(N))).all()


def test_second_slopes_that_are_infinite():
    """They tell how the limit changes, which has a value all the same."""
    slope = tapec.grad(lambda a: (lambda w, v: np.sum(C * ((v * w**1.5) @ v.T)))(*np.linalg.eigh(a)))
    np.testing.assert_array_equal(slope(np.zeros((N, N))), 0)


def test_sums_over_all_are_no_loss():
    """What all values are divided by belongs to none of them."""
    sums = [np.linalg.norm, np.median, np.trace, np.linalg.det, lambda d: np.linalg.slogdet(d)[1], lambda d: d[-1, -1]]
    for total in sums:

        def loss(a, total=total):
            w, v = np.linalg.eigh(a)
            return np.sum(C * ((v * f(w) * total(np.diag(w) + 1.0)) @ v.T))

        assert "less_equal" in ops_of(loss)


# -- what it costs ----------------------------------------------------------------------------------------------------
def ops_of(loss):
    return [n.op.name for n in tapec.grad(loss).ir(MATRICES["apart"], stage="gradient").nodes]


def test_programs_without_a_route_have_no_limits():
    alone = {
        "values": lambda a: np.sum(np.log(np.linalg.eigh(a)[0])),
        "vectors": lambda a: np.sum(C * np.linalg.eigh(a)[1]),
        "both": lambda a: (lambda w, v: np.sum(w) + np.sum(C * (v @ v.T)))(*np.linalg.eigh(a)),
    }
    for name, loss in alone.items():
        assert "less_equal" not in ops_of(loss), name
    assert "less_equal" in ops_of(lambda a: np.sum(C * put_together("columns", a)))


def by_last(a, n):
    """A value that all that follows is divided by is not followed to the end."""
    for _ in range(n):
        w, v = np.linalg.eigh(a)
        a = np.tanh(a @ a / w[-1]) + 0.1 * np.outer(v[:, -1], v[:, -1])
    return np.sum(a)


def gathered(a, n):
    """Nor are all values, where they are put together step by step."""
    total, s = 0.0, np.zeros(N)
    for _ in range(n):
        w, v = np.linalg.eigh(a)
        s = np.tanh(s + w)
        total = total + np.sum((v * s) @ v.T * C)
        a = (v * np.exp(-w)) @ v.T
    return total


@pytest.mark.thorough
@pytest.mark.parametrize("loss", [by_last, gathered])
def test_long_programs_have_short_slopes(loss):
    counts = []
    for n in (10, 20, 40):
        slope = tapec.grad(lambda a, n=n: loss(a, n))
        assert np.isfinite(slope(MATRICES["apart"])).all()
        counts.append(len(slope.ir(MATRICES["apart"], stage="gradient").nodes))
    assert counts[2] - counts[1] <= 2.2 * (counts[1] - counts[0])


def test_forward_mode_beside_a_gradient_function_that_is_not_linear():
    """Nothing can be transposed there; the message is that of any other program."""

    @tapec.custom_gradient
    def clipped(x):
        return x * 1.0, lambda ct: np.clip(ct, -0.1, 0.1)

    def loss(a):
        return np.sum(clipped(put_together("columns", a)))

    assert np.isfinite(tapec.grad(loss)(np.eye(N))).all()
    with pytest.raises(tapec.errors.GraphError, match="not linear in the cotangent"):
        tapec.jvp(loss, (np.eye(N),), (B,))
