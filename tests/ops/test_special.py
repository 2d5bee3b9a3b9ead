"""The ufuncs of scipy.special: every rule through the checks of every op, and the edges."""

import subprocess
import sys
from math import factorial

import numpy as np
import pytest
from scipy import special

import tapec
from tapec.errors import UnsupportedError
from tapec.ops.special import define_all
from tests.ops.cases import cases
from tests.ops.derivatives import by_tape
from tests.ops.derivatives import check as check_derivatives
from tests.ops.test_conformance import CHECKS

FOUND = {op.name.rpartition(".")[2]: op for op in define_all()}
FOUND.pop("_lambertw")  # has its own test: differences cannot move its tolerance


@pytest.mark.parametrize("check", CHECKS, ids=lambda f: f.__name__.removeprefix("check_"))
@pytest.mark.parametrize("name", sorted(FOUND))
def test_op(name, check):
    op = FOUND[name]
    for case in cases(op).values():
        check(op, case)


def test_lambertw():
    x = np.array([0.3, 1.7])
    y = special.lambertw(x).real
    found = by_tape(lambda x: np.sum(np.real(special.lambertw(x))))(x)
    np.testing.assert_allclose(found.numpy(), y / (x * (1 + y)), rtol=1e-12)


def test_scipy_is_not_imported_for_it():
    code = "import sys, tapec, numpy as np; tapec.constant(1.0) + 1; sys.exit('scipy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_generated_source_calls_scipy():
    x = tapec.constant([0.5, 1.0])
    with tapec.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = np.sum(special.gammaln(x))
    assert "scipy.special.psi(" in tape.source(y, x)


def test_finite_at_the_edges():
    zero = np.zeros(2)
    assert (by_tape(lambda x: np.sum(special.xlogy(x, x)))(zero).numpy() == 0).all()
    assert (by_tape(lambda x: np.sum(special.xlogy(x, 3.0)))(zero).numpy() == np.log(3.0)).all()
    assert (by_tape(lambda x: np.sum(special.xlogy(0.0, x)))(zero).numpy() == 0).all()
    assert (by_tape(lambda x: np.sum(special.xlog1py(x, x - 1)))(zero).numpy() == 0).all()


SHARES = {
    "entr": lambda p, q: special.entr(p),
    "rel_entr": special.rel_entr,
    "kl_div": special.kl_div,
    "mixed": lambda p, q: special.rel_entr(p, (p + q) / 2) + special.rel_entr(q, (p + q) / 2),
    "of one and the rest": lambda p, q: special.entr(p) + special.entr(1 - p) + special.xlog1py(1 - p, -p),
}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", SHARES)
@pytest.mark.parametrize("share", [tapec.scipy.special.softmax, special.expit])
def test_entropies_of_shares_that_underflow(share, name):
    """Derivatives are the limits."""
    q = np.array([0.2, 0.3, 0.5])

    def f(x):
        return np.sum(SHARES[name](share(x), q))

    near, far = np.array([-30.0, 30.0, -31.0]), np.array([-800.0, 800.0, -801.0])
    np.testing.assert_allclose(tapec.grad(f)(far), tapec.grad(f)(near), atol=1e-11)
    for second in (tapec.hessian(f), tapec.jacfwd(tapec.jacfwd(f))):
        np.testing.assert_allclose(second(far), second(near), atol=1e-11)


def test_exact_where_a_formula_would_cancel():
    assert tapec.grad(special.ellipk)(0.0) == pytest.approx(np.pi / 8, rel=1e-15)
    assert tapec.grad(special.ellipe)(0.0) == pytest.approx(-np.pi / 8, rel=1e-15)
    second = tapec.grad(tapec.grad(special.ellipk))
    assert second(1e-9) == pytest.approx(9 * np.pi / 64, rel=1e-8)
    assert tapec.grad(special.spence)(1.0) == -1
    assert tapec.grad(tapec.grad(special.spence))(1.0) == pytest.approx(0.5)
    x = np.array([-np.inf, -1e8, -30.0, 0.0, 30.0, np.inf])
    slopes = tapec.vmap(tapec.grad(special.log_ndtr))(x)
    np.testing.assert_allclose(slopes, [np.inf, 1e8, 30.033259667433668, np.sqrt(2 / np.pi), 0, 0], atol=1e-190)


@pytest.mark.parametrize("c", [0.0, 1e-13, 1e-8, -1e-8, 1e-3, 0.04, 0.06, 0.5, -0.3])
def test_transforms_of_box_and_cox_near_the_logarithm(c):
    """Against series in c, far out enough to be exact; derivatives of the log, and of its inverse, at c = 0."""
    t = np.log(1.7)
    powers = [t**k * c ** (k - 2) * (k - 1) / factorial(k) for k in range(2, 20)]
    assert tapec.grad(special.boxcox, argnums=1)(1.7, c) == pytest.approx(sum(powers), rel=1e-11)
    log_slope = sum((-c) ** (k - 2) * 0.7**k * -(k - 1) / k for k in range(2, 60))
    expected = special.inv_boxcox(0.7, c) * log_slope
    assert tapec.grad(special.inv_boxcox, argnums=1)(0.7, c) == pytest.approx(expected, rel=1e-11)


# where a gamma has a pole, or a logarithm, and the function none
INNER = {
    "rgamma": (special.rgamma, [-3.0, 0.0, -0.7, 0.3, 4.0]),
    "poch": (lambda x: special.poch(x, 2.5), [0.0, -1.0, -0.3, 1.2]),
    "beta": (lambda x: special.beta(x, 0.5), [-0.5, -2.5, -0.2, 1.2]),
    "binom above": (lambda x: special.binom(x, 5.0), [3.0, 0.0, 4.4, 7.0]),
    "binom below": (lambda x: special.binom(3.0, x), [5.0, -2.0, 1.0, 2.3]),
    "expn of order 0": (lambda x: special.expn(0, x), [0.3, 2.0]),
    "expn of order 1": (lambda x: special.expn(1, x), [0.3, 2.0]),
    "boxcox of 0": (lambda x: special.boxcox(0.0, x), [0.5, 2.0]),
    "pseudo_huber": (lambda x: special.pseudo_huber(0.7, x), [0.0, 1e-5, -2.0]),
    "pseudo_huber of 0": (lambda x: special.pseudo_huber(0.0, x), [0.5, -2.0]),
    "log_ndtr": (special.log_ndtr, [-50.0, 0.3, 40.0, 1e3]),
}


@pytest.mark.parametrize("name", INNER)
def test_derivatives_where_the_function_has_them(name):
    """Of first and second order, in both modes."""
    f, points = INNER[name]
    first, forward = tapec.grad(f), tapec.jacfwd(f)
    for x in points:
        h = 5e-4 * max(1, abs(x))
        for slope, of in ((first, f), (forward, f), (tapec.grad(first), first), (tapec.jacfwd(forward), forward)):
            wanted = (8 * (of(x + h) - of(x - h)) - of(x + 2 * h) + of(x - 2 * h)) / (12 * h)
            np.testing.assert_allclose(slope(x), wanted, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("power", [1.0, 2.0])
def test_box_and_cox_at_the_end(power):
    """The slope from the right, where differences have one side alone."""
    assert tapec.grad(lambda x: special.boxcox(x, power))(0.0) == (power == 1)
    assert tapec.grad(lambda x: special.boxcox1p(x, power))(-1.0) == (power == 1)


def test_single_precision_beyond_every_number():
    x = np.array([20.0, 0.3], np.float32)
    found = tapec.hessian(lambda x: np.sum(special.log_ndtr(x)))(x)
    assert found.dtype == np.float32 and np.isfinite(found).all() and found[0, 0] == 0


def test_what_nobody_knows_is_an_error_that_says_so():
    with pytest.raises(UnsupportedError, match=r"the derivative of scipy.special.gammainc in a is not known"):
        by_tape(lambda a: special.gammainc(a, 2.0))(1.5)
    density = np.exp(-2) * 2**0.5 / special.gamma(1.5)
    assert by_tape(lambda x: special.gammainc(1.5, x))(2.0).numpy() == pytest.approx(density)


def test_a_ufunc_without_a_rule_is_named():
    with pytest.raises(UnsupportedError, match="kolmogorov"):
        special.kolmogorov(tapec.constant(0.5))


@pytest.mark.parametrize("name", ["psi", "gamma", "loggamma", "rgamma"])
def test_complex_arguments_to_any_order(name):
    z = np.array([0.7 + 1.3j, -1.2 + 0.4j, 3.0 - 2.0j, -0.3 - 0.8j])
    check_derivatives(getattr(special, name), z)
    f = tapec.grad(special.psi, holomorphic=True)
    second = tapec.grad(f, holomorphic=True)(2.0 + 0j)
    np.testing.assert_allclose(second, special.polygamma(2, 2.0), rtol=1e-12)
    np.testing.assert_allclose(f(0.25 + 0j), np.pi**2 + 8 * 0.915965594177219, rtol=1e-13)  # Catalan's constant


@pytest.mark.parametrize("f", [lambda x: special.betainc(2, 3.0, x), lambda x: special.jv(2, x)])
def test_single_precision_stays(f):
    x = np.array([0.3, 0.6], np.float32)
    gradient = tapec.grad(lambda x: np.sum(f(x)))
    assert gradient(x).dtype == np.float32 and "f64" not in str(gradient.ir(x))


def test_ops_are_defined_once_whoever_meets_them_first():
    code = """
import threading
import numpy as np
import scipy.special as special
import tapec

failed = []
start = threading.Barrier(8)

def meet():
    start.wait()
    for f in (special.gamma, special.erf, special.j0, special.ndtr):
        try:
            tapec.grad(lambda x: np.sum(f(x)))(np.array([0.3, 0.4]))
        except Exception as error:
            failed.append(error)

threads = [threading.Thread(target=meet) for _ in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert not failed, failed
"""
    subprocess.run([sys.executable, "-c", code], check=True)
