"""Inverses of large triangular matrices, and systems with them, by blocks."""

import numpy as np
import pytest

import tapec
from tapec.ops.linalg.triangular_blocks import inv_lower, solve_lower
from tapec.passes.rules import TRIANGULAR_INVERSES
from tests.passes.support import Case, check_regular_case, table_tests
from tests.properties import call_count, calls, functions

X = "%a: f64[96,96], %b: f64[96], %m: f64[96,3], %s: f64[9,9], %v: f64[9], %i: i64[96], %w: f64[96,90], %r: f32[96]"
L = "tril %a {k=0}"
U = "tril %a {k=0}; transpose %0 {axes=(1, 0)}"

CASES = {
    "inverse-by-blocks": Case(
        X,
        [(f"{L}; inv %0", f"{L}; inv_lower %0")],
        ["inv %a", "tril %a {k=1}; inv %0", "triu %a {k=0}; inv %0", "tril %s {k=0}; inv %0"],
    ),
    "solve-by-blocks": Case(
        X,
        [
            (f"{L}; solve %0, %b", f"{L}; solve_lower %0, %b {{transposed=False}}"),
            (f"{L}; solve %0, %m", f"{L}; solve_lower %0, %m {{transposed=False}}"),
        ],
        ["solve %a, %b", "tril %s {k=0}; solve %0, %v", f"{L}; solve %0, %i", f"{L}; solve %0, %r"],
    ),
    "solve-by-blocks-transposed": Case(
        X,
        [(f"{U}; solve %1, %b", f"{L}; solve_lower %0, %b {{transposed=True}}")],
        ["transpose %a {axes=(1, 0)}; solve %0, %b", "tril %a {k=0}; transpose %0 {axes=(0, 1)}; solve %1, %b"],
    ),
}


test_rule, test_each_rule_has_a_case = table_tests(CASES, TRIANGULAR_INVERSES, check_regular_case)


@pytest.mark.parametrize("n", [1, 2, 47, 48, 49, 95, 96, 97, 145, 200, 301])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_blocks_of_all_sizes(n, dtype):
    rng = np.random.default_rng(n)
    l = (np.tril(rng.standard_normal((n, n))) / n + 2.0 * np.eye(n)).astype(dtype)
    b, m = rng.standard_normal(n).astype(dtype), rng.standard_normal((n, 5)).astype(dtype)
    tolerance = {"rtol": 1e4 * np.finfo(dtype).eps, "atol": 1e2 * np.finfo(dtype).eps}
    inverse = inv_lower(l)
    assert inverse.dtype == dtype
    assert np.allclose(inverse @ l, np.eye(n), **tolerance)
    for right in (b, m, m[::-1], np.asfortranarray(m)):
        keep = right.copy()
        for transposed, a in ((False, l), (True, l.T)):
            x = solve_lower(l, right, transposed)
            assert (x.dtype, x.shape) == (dtype, right.shape)
            assert np.allclose(a @ x, right, **tolerance)
        assert np.array_equal(right, keep)


def test_a_factor_is_not_factored_again():
    def loss(k, y):
        factor = np.linalg.cholesky(k)
        return np.sum(np.linalg.solve(factor.T, np.linalg.solve(factor, y)) ** 2)

    rng = np.random.default_rng(0)
    r = rng.standard_normal((100, 100))
    k, y = r @ r.T / 100 + np.eye(100), rng.standard_normal(100)
    f = tapec.grad(loss, argnums=1)
    inverse = np.linalg.inv(k)
    assert np.allclose(f(k, y), 2.0 * inverse @ inverse @ y, rtol=1e-11)
    source = f.source(k, y)
    assert not calls(source, "np.linalg.solve") and call_count(source, "solve_lower") == 4


def test_a_zero_on_the_diagonal_is_an_error_as_before():
    l = np.tril(np.ones((100, 100)))
    l[70, 70] = 0.0
    f = tapec.grad(lambda l, y: np.sum(np.linalg.solve(np.tril(l), y)), argnums=1)
    with pytest.raises(np.linalg.LinAlgError):
        f(l, np.ones(100))


def test_exported_code_carries_the_helper(tmp_path):
    f = tapec.grad(lambda k: np.sum(np.log(np.diag(np.linalg.cholesky(k)))))
    k = np.eye(100) * 2.0 + 0.1
    path = tmp_path / "gradient.py"
    f.export(path, k)
    space = {}
    exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), space)
    assert "inv_lower" in functions(path.read_text(encoding="utf-8"))
    exported = next(v for name, v in space.items() if name.endswith("grad"))
    assert np.allclose(exported(k), f(k), rtol=1e-14)
