"""The gradient of a Cholesky factor in closed form: where it is found, where not, and what is left of it."""

import numpy as np
import pytest

import tapec
from tapec.passes.rules import CHOLESKY_GRADIENT
from tests.passes.support import Case, check_regular_case, table_tests, text
from tests.properties import calls

# %0 is the factor, %1 its transpose
HEAD = "cholesky %a; transpose %0 {axes=(1, 0)} !ct"
X = "%a: f64[3,3], %b: f64[3], %m: f64[3,2], %d: f64[3,3]"
# ... and from line n on, of the cotangent in the line before, what its derivative rule makes
TAIL = (
    "inv %0 !ct; matmul %1, {ct} !ct; tril {M} {{k=0}} !ct; diagonal {M} {{offset=0, axis1=0, axis2=1}} !ct; "
    "multiply 0.5, {D} !ct; diag {E} {{k=0}} !ct; subtract {T}, {F} !ct; transpose {H} {{axes=(1, 0)}} !ct; "
    "add {H}, {G} !ct; transpose {I} {{axes=(1, 0)}} !ct; matmul {J}, {S} !ct; matmul {K}, {I} !ct"
)


def derivative(body):
    """The lines of a cotangent, the last of which is it, and those of the rule after it."""
    n = body.count(";") + 1
    names = dict(zip("IMTDEFHGSJK", [f"%{n + k}" for k in range(11)]))
    return f"{body}; {TAIL.format(ct=f'%{n - 1}', **names)}"


LOG = f"{HEAD}; diagonal %0 {{offset=0, axis1=0, axis2=1}}; divide 3.0, %2 !ct; diag %3 {{k=0}} !ct"
INVERSE = "inv %0 !ct; transpose {i} {{axes=(1, 0)}} !ct; matmul {t}, {i} !ct"
QUADRATIC = f"{HEAD}; solve %0, %b; solve %1, %2; reshape %3 {{shape=(3, 1)}} !ct; multiply %4, %2 !ct"

CASES = {
    "cholesky-in-closed-form": Case(
        X,
        [
            (  # a log-determinant
                derivative(LOG),
                "cholesky %a; inv %0 !ct; transpose %1 {axes=(1, 0)} !ct; matmul %2, %1 !ct; multiply %3, 3.0 !ct",
            ),
            (  # |L⁻¹ b|²
                derivative(QUADRATIC),
                "cholesky %a; transpose %0 {axes=(1, 0)} !ct; solve %0, %b; solve %1, %2; "
                "reshape %3 {shape=(3, 1)} !ct; multiply %4, %3 !ct",
            ),
            (  # the same with two right-hand sides
                derivative(f"{HEAD}; solve %0, %m; solve %1, %2; transpose %2 {{axes=(1, 0)}} !ct; matmul %3, %4 !ct"),
                "cholesky %a; transpose %0 {axes=(1, 0)} !ct; solve %0, %m; solve %1, %2; "
                "transpose %3 {axes=(1, 0)} !ct; matmul %3, %4 !ct",
            ),
        ],
        [
            derivative(f"{HEAD}; multiply %d, 2.0 !ct"),  # nothing is known of it
            derivative(f"{HEAD}; solve %1, %b; reshape %b {{shape=(3, 1)}} !ct; multiply %3, %b !ct"),
            derivative(LOG).replace("cholesky %a", "multiply %a, %d"),  # no factor
            derivative(LOG).replace("cholesky %a", "cholesky %a {upper=True}"),
            derivative(LOG).replace("multiply 0.5", "multiply 0.25"),
            derivative(LOG).replace(" !ct", ""),  # the user's own
        ],
    ),
    "factor-out-of-solve": Case(
        X,
        [
            ("multiply %b, 2.0 !ct; solve %d, %0 !ct", "solve %d, %b !ct; multiply %0, 2.0 !ct"),
            (
                "multiply %b, 0.5; add %0, %0 !ct; multiply 3.0, %1 !ct; solve %d, %2 !ct",
                "solve %d, %b !ct; multiply %0, 3.0 !ct",
            ),
        ],
        [
            "multiply %b, 2.0; solve %d, %0",  # what the user wrote
            "multiply %b, 1e300 !ct; solve %d, %0 !ct",
            "multiply %b, %b !ct; solve %d, %0 !ct",
            "add %b, 1.0 !ct; solve %d, %0 !ct",
        ],
    ),
}


test_rule, test_each_rule_has_a_case = table_tests(CASES, CHOLESKY_GRADIENT, check_regular_case)


def test_what_is_not_known_goes_the_general_way():
    known = LOG.replace("diag %3", "diag %3")
    body = f"{known}; add %4, %d !ct"
    before = text(X, derivative(body))
    fired = tapec.passes.engine.rewrite.RuleSet("", CHOLESKY_GRADIENT)(tapec.ir.parse(before))
    ops = [n.op.name for n in fired.nodes]
    assert "tril" in ops and ops.count("inv") == 1 and "divide" not in ops


# -- whole gradients --------------------------------------------------------------------------------------------------
def normal(k, y):
    """The negative logarithm of a normal density, by one triangular system."""
    factor = np.linalg.cholesky(k)
    z = np.linalg.solve(factor, y)
    return 0.5 * np.sum(z * z) + np.sum(np.log(np.diag(factor)))


def process(k, y):
    """The same by two systems."""
    factor = np.linalg.cholesky(k)
    alpha = np.linalg.solve(factor.T, np.linalg.solve(factor, y))
    return 0.5 * y @ alpha + np.log(np.diagonal(factor)).sum()


def two_sides(k, y):
    """Two different right-hand sides: terms that are symmetric together."""
    factor = np.linalg.cholesky(k)
    alpha = np.linalg.solve(factor.T, np.linalg.solve(factor, y))
    return np.sin(y) @ alpha


def columns(k, y):
    """A right-hand side that is a matrix of one column."""
    factor = np.linalg.cholesky(k)
    z = np.linalg.solve(factor, y[:, None])
    return (0.5 * z.T @ z)[0, 0] + np.log(np.diagonal(factor)).sum()


def indexed(k, y):
    """The diagonal by index arrays, added to and read."""
    i = np.arange(len(y))
    k = k + 0.0
    k[i, i] += 0.5
    factor = np.linalg.cholesky(k)
    z = np.linalg.solve(factor, y)
    return 0.5 * z @ z + np.log(factor[i, i]).sum()


def weighted(k, y):
    """Weights on the diagonal, and a system whose cotangent is no multiple of its solution."""
    factor = np.linalg.cholesky(k)
    z = np.linalg.solve(factor, y)
    return np.sum(np.cos(z)) + np.sum(y * np.log(np.diag(factor)))


def mixed(k, y):
    """All kinds, and one of which nothing is known."""
    factor = np.linalg.cholesky(k)
    return normal(k, y) + np.sum(np.sin(factor)) + np.sum(np.diag(factor) ** 3) - 2.0 * process(k, np.cos(y))


@pytest.mark.parametrize("n", [4, 100])
@pytest.mark.parametrize("loss", [normal, process, two_sides, columns, indexed, weighted, mixed])
def test_gradients(loss, n):
    rng = np.random.default_rng(n)
    r = rng.standard_normal((n, n))
    k, y = r @ r.T / n + 2.0 * np.eye(n), rng.standard_normal(n)
    direction = rng.standard_normal((n, n))
    direction += direction.T
    value, (g, gy) = tapec.value_and_grad(loss, argnums=(0, 1))(k, y)
    h = 1e-5
    numeric = (loss(k + h * direction, y) - loss(k - h * direction, y)) / (2 * h)
    assert np.allclose(value, loss(k, y), rtol=1e-12)
    assert np.allclose(g, g.T, rtol=1e-9, atol=1e-12)
    assert np.allclose(np.sum(g * direction), numeric, rtol=1e-6)
    v = rng.standard_normal(n)
    assert np.allclose(gy @ v, (loss(k, y + h * v) - loss(k, y - h * v)) / (2 * h), rtol=1e-6)


@pytest.mark.parametrize("loss", [normal, process, two_sides, columns])
def test_the_gradient_of_a_normal_density_has_no_triangle(loss):
    assert not calls(tapec.grad(loss).source(np.eye(5) + 0.1, np.arange(5.0)), "np.tril")


def test_the_gradient_of_a_normal_density():
    f = tapec.grad(normal)
    k, y = np.eye(5) + 0.1, np.arange(5.0)
    z = np.linalg.inv(k)
    assert np.allclose(f(k, y), 0.5 * (z - np.outer(z @ y, z @ y)), rtol=1e-12)
