"""The ufuncs of scipy.special: every rule through the checks of every op, and the edges."""

import subprocess
import sys
from itertools import product
from math import factorial

import numpy as np
import pytest
from scipy import special

import tapec
from tapec.errors import UnsupportedError
from tapec.ops.special.ufunc_definitions import define_all
from tests.ops.cases import cases
from tests.ops.derivatives import by_tape, differences
from tests.ops.derivatives import check as check_derivatives
from tests.ops.test_conformance import CHECKS
from tests.properties import branches, called, calls, has

FOUND = {op.name.rpartition(".")[2]: op for op in define_all()}
FOUND.pop("_lambertw")  # has its own test: differences cannot move its tolerance


@pytest.mark.sampled(one_in=3, per="name")
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
    assert calls(tape.source(y, x), "scipy.special.psi")


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


ORDERS = np.arange(3.0)
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
    "jacobi of degree 0": (lambda x: special.eval_jacobi(0, 0.5, 1.5, x), [-1.0, 0.3, 1.0]),
    "jacobi": (lambda x: special.eval_jacobi(3, 0.5, 1.5, x), [-1.0, 0.3, 1.0]),
    "jacobi of a fraction": (lambda x: special.eval_jacobi(2.5, 0.5, 1.5, x), [-0.3, 0.3, 1.0]),
    "shifted jacobi": (lambda x: special.eval_sh_jacobi(3, 2.5, 1.5, x), [0.0, 0.3, 1.0]),
    "gegenbauer": (lambda x: special.eval_gegenbauer(3, 0.5, x), [-1.0, 0.0, 1.0]),
    "laguerre": (lambda x: special.eval_genlaguerre(3.0, 0.5, x), [0.0, 0.3]),
    "legendre of a fraction": (lambda x: special.eval_legendre(2.5, x), [-0.5, 0.0, 0.5]),
    "legendre of a negative degree": (lambda x: special.eval_legendre(-4, x), [-1.0, 0.3]),
    "chebyshev of a negative degree": (lambda x: special.eval_chebyu(-4, x), [-1.0, 0.3]),
    "lpmv of order 0": (lambda x: special.lpmv(0, 3, x), [-0.5, 0.3]),
    "lpmv of order 1": (lambda x: special.lpmv(1, 2, x), [-0.5, 0.3]),
    "lpmv of order -2": (lambda x: special.lpmv(-2, 3, x), [-0.5, 0.3]),
    "lpmv of degree 0": (lambda x: special.lpmv(0, 0, x), [-0.5, 0.3]),
    "ellipkinc beyond a turn": (lambda x: special.ellipkinc(x, 0.3), [0.0, 2.0, -9.0]),
    "ellipkinc in m": (lambda m: special.ellipkinc(1.2, m), [-2.0, 0.0, 1e-7, 0.7]),
    "ellipkinc in m beyond a turn": (lambda m: special.ellipkinc(5.0, m), [-2.0, 0.0, 0.7]),
    "ellipkinc of 0 in m": (lambda m: special.ellipkinc(0.0, m), [0.0, 0.7]),
    "ellipeinc in m": (lambda m: special.ellipeinc(1.2, m), [-2.0, 0.0, 0.7]),
    "ellipeinc in m beyond a turn": (lambda m: special.ellipeinc(-9.0, m), [-2.0, 0.0, 0.7]),
    "ellipj in m": (lambda m: special.ellipj(0.7, m)[0] + special.ellipj(0.7, m)[2], [0.2, 0.8]),
    "ellipj": (lambda u: special.ellipj(u, 1.0)[1], [-0.5, 0.0, 0.5]),
    "elliprd of equals": (lambda x: special.elliprd(x, 1.0, 1.0), [1.0, 1.0001, 1.015, 1.03]),
    "elliprd of equals, last": (lambda x: special.elliprd(2.0, 1.0, x), [1.0, 0.99, 2.0]),
    "elliprd after 0": (lambda x: special.elliprd(0.0, 1.0, x), [0.7, 2.0]),
    "elliprg after 0": (lambda x: special.elliprg(0.0, 1.0, x), [0.7, 1.0]),
    "elliprj": (lambda x: special.elliprj(0.7, 1.0, 2.0, x), [0.6, 3.0]),
    "elliprc": (lambda x: special.elliprc(0.7, x), [0.7, 0.3]),
    "elliprc, principal": (lambda x: special.elliprc(0.7, x), [-0.7, -3.0]),
    "agm of equals": (lambda x: special.agm(x, 1.0), [1.0, 1.0001, 0.2]),
    "agm of negatives": (lambda x: special.agm(x, -1.0), [-1.0, -0.2]),
    "ber": (special.ber, [0.0, 1.5]),
    "beip": (special.beip, [0.0, 1.5]),
    "struve of order 0": (lambda x: special.struve(0, x), [0.0, 1.5, -0.7]),
    "struve of order 1": (lambda x: special.struve(1, x), [0.0, 1.5, -0.7]),
    "struve of a fraction": (lambda x: special.struve(0.3, x), [0.2, 1.5]),
    "modstruve of order 0": (lambda x: special.modstruve(0, x), [0.0, 1.5, -0.7]),
    "modstruve of order 1": (lambda x: special.modstruve(1, x), [0.0, 1.5, -0.7]),
    "struve of several orders": (lambda x: np.sum(special.struve(ORDERS, x)), [0.0, 1.5, -0.7]),
    "it2j0y0": (lambda x: special.it2j0y0(x)[0], [0.0, 1e-3, 1.0, 1.2]),
    "it2i0k0": (lambda x: special.it2i0k0(x)[0], [0.0, 1e-3, 1.0, 1.2]),
    "besselpoly": (lambda a: special.besselpoly(a, 2.0, 1), [0.2, 1.3]),
    "pbdv": (lambda x: special.pbdv(0.5, x)[0] + special.pbdv(0.5, x)[1], [-1.0, 0.0, 1.5]),
    "pbwa": (lambda x: special.pbwa(0.5, x)[0], [-1.0, 1.5]),
    "voigt_profile": (lambda x: special.voigt_profile(x, 0.7, 0.3), [0.0, -1.5, 30.0]),
    "voigt_profile in its widths": (lambda s: special.voigt_profile(1.5, s, 0.4 * s * s), [0.1, 0.7, 3.0]),
    "wright_bessel": (lambda x: special.wright_bessel(0.5, 0.7, x), [0.3, 1.5]),
    "tklmbda in its shape": (lambda c: special.tklmbda(0.3, c), [0.0, 0.4, -0.3]),
    "tklmbda beyond its support": (lambda x: special.tklmbda(x, 2.0), [0.7, -0.7]),
    "kolmogorov": (special.kolmogorov, [0.3, 0.8, 1.2, 2.5]),
    "bdtr of all trials": (lambda p: special.bdtr(4, 4, p), [0.3, 0.7]),
    "chndtr of centre 0": (lambda x: special.chndtr(x, 3.0, 0.0), [0.3, 2.0]),
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


@pytest.mark.parametrize(
    "f, name",
    [
        (lambda x: special.struve(0, x), "struve"),
        (lambda x: special.modstruve(0, x), "modstruve"),
        (lambda x: special.besselpoly(x, 2.0, 1), "besselpoly"),
    ],
)
def test_known_orders_are_decided_before_code_is_made(f, name):
    source = tapec.grad(f).source(1.2)
    assert called(source) == {f"scipy.special.{name}"} and not branches(source) and not has(source, "_ if _ else _")


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


@pytest.mark.parametrize("transform", [tapec.grad, tapec.jacfwd])
@pytest.mark.parametrize(
    "f, name",
    [
        (lambda v: special.pbdv(v, 0.5)[0], "pbdv in its order"),
        (lambda n: special.eval_legendre(n, 0.5), "eval_legendre in its degree"),
        (lambda a: special.eval_jacobi(2, 1.0, a, 0.5), "eval_jacobi in parameter 2"),
        (lambda q: special.mathieu_cem(1, q, 20.0)[1], "mathieu_cem in q"),
        (lambda x: special.zetac(x), "zetac in any argument"),
        (lambda x: special.smirnov(5, x / 3), "smirnov in any argument"),
        (lambda v: np.real(special.ive(v, 1j)), "ive in its order"),
        (lambda v: np.real(special.jve(v, 1j)), "jve in its order"),
    ],
)
def test_so_it_is_of_one_of_several_arguments_or_results(f, name, transform):
    with pytest.raises(UnsupportedError, match=f"the derivative of scipy.special.{name} is not known"):
        transform(f)(1.5)
    assert np.isfinite(tapec.compile(f)(1.5))


def test_a_ufunc_without_a_rule_is_named():
    with pytest.raises(UnsupportedError, match="pro_cv"):
        special.pro_cv(1, 2, tapec.constant(0.5))


# -- complex numbers ----------------------------------------------------------------------------------------------
PLACES = np.array([0.7 + 0.4j, -0.6 + 0.5j, -1.2 - 0.3j, 0.3 - 2.5j])
OF_COMPLEX = sorted(name for name, op in FOUND.items() if "D" in "".join(t.split("->")[0] for t in op.numpy.types))
OF_COMPLEX = [name for name in OF_COMPLEX if name not in ("_zeta", "_riemann_zeta")]  # which have no derivative
FIXED = {"d": [1.0, 0.5], "l": [2]}  # parameters


def complex_calls(name):
    """Functions of one of the complex arguments, where the others stand still."""
    ufunc = FOUND[name].numpy
    kinds = next(t.split("->")[0] for t in ufunc.types if "D" in t.split("->")[0])
    for k in [k for k, kind in enumerate(kinds) if kind == "D"]:
        for fixed in product(*[FIXED.get(kind, [0.9 + 0.2j + 0.3 * at]) for at, kind in enumerate(kinds)]):

            def f(z, k=k, fixed=fixed):
                y = ufunc(*fixed[:k], z, *fixed[k + 1 :])
                return np.stack(y) if isinstance(y, tuple) else y

            yield f


@pytest.mark.parametrize("name", OF_COMPLEX)
def test_derivatives_at_complex_numbers(name):
    """Along both axes of the plane, in both modes: not all of these functions are holomorphic."""
    for f in complex_calls(name):
        for turn in (1, 1j):
            h = 1e-3 * turn
            wanted = 8 * (f(PLACES + h) - f(PLACES - h)) - (f(PLACES + 2 * h) - f(PLACES - 2 * h))
            wanted /= 12e-3
            there = np.all(np.reshape(np.abs(wanted) < 1e3, (-1, 4)), axis=0)  # and not across a cut
            found = tapec.jvp(f, (PLACES,), (np.full(4, turn, complex),))[1]
            np.testing.assert_allclose(found[..., there], wanted[..., there], rtol=1e-6, atol=1e-8)
            weights = np.reshape(1 - 2j + np.arange(wanted.size), wanted.shape)
            pulled = np.real(np.conj(tapec.vjp(f, PLACES)[1](weights)) * turn)
            slopes = np.sum(np.reshape(np.real(np.conj(weights) * wanted), (-1, 4)), axis=0)
            np.testing.assert_allclose(pulled[there], slopes[there], rtol=1e-6, atol=1e-7)


SCALED = [lambda z: special.ive(1, z), lambda z: special.yve(0.5, z), lambda z: special.airye(z)[3]]


@pytest.mark.parametrize("f", SCALED)
def test_second_derivatives_of_what_is_scaled_by_a_part(f):
    def loss(v):
        y = f(PLACES + v[0] + 1j * v[1])
        return np.sum(np.real(y) + 0.3 * np.imag(y))

    wanted = differences(tapec.grad(loss), np.zeros(2), 1e-2)
    for second in (tapec.hessian(loss), tapec.jacfwd(tapec.jacfwd(loss)), tapec.jacrev(tapec.jacfwd(loss))):
        np.testing.assert_allclose(second(np.zeros(2)), wanted, rtol=1e-7)
    z = PLACES.astype(np.complex64)
    y, moved = tapec.jvp(f, (z,), (np.ones_like(z),))
    assert y.dtype == moved.dtype == tapec.vjp(f, z)[1](y).dtype == np.complex64


@pytest.mark.parametrize("z", [0.7 + 0.4j, -1.2 - 0.3j])
@pytest.mark.parametrize("real", [-0.6, -2.3, 1.7])
@pytest.mark.parametrize("name", ["xlogy", "xlog1py", "elliprc"])
def test_derivatives_with_a_real_number_beside_a_complex_one(name, real, z):
    f, h = getattr(special, name), 1e-4
    slopes = [(f(z + h, real) - f(z - h, real)) / (2 * h), (f(z, real + h) - f(z, real - h)) / (2 * h)]
    for one, other in ((z, real), (np.array([z]), np.array([real]))):
        still = 0 * one, 0 * other
        moves = (still[0] + 1, still[1]), (still[0], still[1] + 1.0)
        np.testing.assert_allclose(np.ravel([tapec.jvp(f, (one, other), m)[1] for m in moves]), slopes, rtol=1e-6)
        pulled = tapec.vjp(f, one, other)[1](still[0] + 1 + 1j)
        np.testing.assert_allclose(np.ravel(np.real(pulled)), np.real(slopes) + np.imag(slopes), rtol=1e-6)


# -- polynomials --------------------------------------------------------------------------------------------------
SERIES = {  # by coefficients, which is another way
    "eval_legendre": (np.polynomial.Legendre.basis, [-1.0, -0.3, 0.0, 1.0]),
    "eval_chebyt": (np.polynomial.Chebyshev.basis, [-1.0, -0.3, 0.0, 1.0]),
    "eval_chebyu": (lambda n: np.polynomial.Chebyshev.basis(n + 1).deriv() / (n + 1), [-1.0, -0.3, 0.0, 1.0]),
    "eval_laguerre": (np.polynomial.Laguerre.basis, [0.0, 0.7, 3.0]),
    "eval_hermite": (np.polynomial.Hermite.basis, [-1.3, 0.0, 0.7]),
    "eval_hermitenorm": (np.polynomial.HermiteE.basis, [-1.3, 0.0, 0.7]),
    "eval_sh_legendre": (lambda n: np.polynomial.Legendre.basis(n, [0, 1]), [0.0, 0.3, 1.0]),
    "eval_sh_chebyt": (lambda n: np.polynomial.Chebyshev.basis(n, [0, 1]), [0.0, 0.3, 1.0]),
    "eval_chebyc": (lambda n: 2 * np.polynomial.Chebyshev.basis(n, [-2, 2]), [-2.0, 0.3, 2.0]),
}


@pytest.mark.sampled(one_in=3, per="name")
@pytest.mark.parametrize("mode", [tapec.grad, tapec.jacfwd])
@pytest.mark.parametrize("kind", [int, float, np.int64])
@pytest.mark.parametrize("name", SERIES)
def test_polynomials_to_any_order_up_to_the_ends(name, kind, mode):
    basis, points = SERIES[name]
    if kind is float and "hermite" in name:
        return  # of whole degrees alone
    for n in (0, 1, 2, 5):
        expected, found = basis(n), lambda x, n=n: getattr(special, name)(kind(n), x)
        for _ in range(3):
            expected, found = expected.deriv(), mode(found)
            for x in points:
                assert found(x) == pytest.approx(expected(x), rel=1e-11, abs=1e-11)


def test_degrees_may_be_many_and_may_be_an_argument():
    x = np.array([-1.0, 0.4, 1.0])[:, None]
    degrees = np.arange(5)
    expected = np.array([np.polynomial.Legendre.basis(n).deriv()(x[:, 0]) for n in degrees]).T
    for gradient in (
        tapec.jacrev(lambda x: special.eval_legendre(degrees, x)),
        tapec.jacrev(lambda x, n=degrees: special.eval_legendre(n, x)),
    ):
        np.testing.assert_allclose(np.einsum("ijik->ij", gradient(x)), expected, atol=1e-14)
    by_argument = tapec.grad(lambda x, n: np.sum(special.eval_chebyt(n, x)), argnums=0)
    np.testing.assert_allclose(by_argument(np.array([-1.0]), np.array([3])), [9.0])


def test_the_source_of_a_polynomial_has_its_degree():
    x = np.array([0.3, 0.4])
    source = tapec.grad(lambda x: np.sum(special.eval_legendre(3, x))).source(x)
    assert has(source, "scipy.special.eval_gegenbauer(2, 1.5, x)") and not calls(source, "where")


def test_exported_code_stands_alone(tmp_path):
    def f(x):
        return np.sum(special.eval_hermite(3, x) * special.ellipj(x, 0.3)[0] + special.voigt_profile(x, 0.7, 0.3))

    x = np.array([0.3, 1.4])
    gradient = tapec.grad(f)
    gradient.export(tmp_path / "slope.py", x)
    code = (
        "import sys, numpy as np, slope; print(*slope.f_grad(np.array([0.3, 1.4]))); sys.exit('tapec' in sys.modules)"
    )
    ran = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True, capture_output=True, text=True)
    np.testing.assert_allclose(np.array(ran.stdout.split(), float), gradient(x), rtol=1e-14)


# -- Voigt's profile ----------------------------------------------------------------------------------------------
def test_voigts_profile_becomes_that_of_lorentz():
    """Without a Gaussian, and far from one: which has a part of order (s / |x + iγ|)²."""
    x, g = 0.7, 0.4
    square = x * x + g * g
    gradient = tapec.grad(special.voigt_profile, argnums=(0, 1, 2))
    expected = [-2 * x * g / np.pi / square**2, 0, (x * x - g * g) / np.pi / square**2]
    np.testing.assert_allclose(gradient(x, 0.0, g), expected, rtol=1e-14)
    np.testing.assert_allclose(gradient(x, 1e-9, g)[::2], expected[::2], rtol=1e-14)
    curved = 2 * g * (3 * x * x - g * g) / np.pi / square**3
    np.testing.assert_allclose(tapec.hessian(special.voigt_profile, argnums=1)(x, 0.0, g), curved, rtol=1e-13)


@pytest.mark.parametrize("x", [0.3, -2.0, 16.0, 25.0])
def test_voigts_profile_becomes_that_of_gauss(x):
    """To the last digits of what is very small, since logarithms are taken of it."""
    s = 0.9
    by_x, by_s = tapec.grad(lambda x, s: np.log(special.voigt_profile(x, s, 0.0)), argnums=(0, 1))(x, s)
    assert by_x == pytest.approx(-x / s**2, rel=1e-13)
    assert by_s == pytest.approx(x * x / s**3 - 1 / s, rel=1e-13)


def test_it_is_smooth_where_the_series_begins():
    for g in (0.0, 0.01, 3.0):
        edge = np.sqrt(12**2 * 2 * 0.7**2 - g * g)
        for k in range(3):
            near, far = (
                tapec.grad(special.voigt_profile, argnums=(0, 1, 2))(edge * t, 0.7, g)[k]
                for t in (1 - 1e-12, 1 + 1e-12)
            )
            assert near == pytest.approx(far, rel=1e-9)


@pytest.mark.parametrize("name", ["hankel1e", "hankel2e"])
def test_complex_arguments_of_scaled_functions(name):
    check_derivatives(lambda z: getattr(special, name)(1, z), np.array([0.7 + 1.3j, 1.2 - 0.4j]))


@pytest.mark.parametrize(
    "f",
    [
        lambda z: special.eval_legendre(3, z),
        lambda z: special.eval_legendre(0, z),
        lambda z: special.eval_chebyt(2.5, z),
        lambda z: special.eval_jacobi(3, 0.5, 1.5, z),
        lambda z: special.eval_genlaguerre(3, 0.5, z),
        lambda z: special.eval_sh_chebyu(3, z),
    ],
)
def test_complex_arguments_of_polynomials(f):
    check_derivatives(f, np.array([0.7 + 1.3j, -0.2 + 0.4j]))


def test_elliptic_integrals_at_the_end_of_the_parameter():
    """There the integrand is tan² sec / 2."""
    slope = tapec.grad(special.ellipkinc, argnums=1)
    for phi in (0.0, 0.7, -1.5):
        sec, tan = 1 / np.cos(phi), np.tan(phi)
        assert slope(phi, 1.0) == pytest.approx(0.25 * (sec * tan - np.log(sec + tan)), rel=1e-12)
    assert tapec.grad(special.ellipkm1)(1e-30) == pytest.approx(-0.5e30, rel=1e-14)


def test_kolmogorovs_density():
    """Zero where the distribution is flat to every order; the sum that converges beyond is one exponential."""
    slope = tapec.grad(special.kolmogorov)
    assert [slope(x) for x in (-1.0, 0.0, 1e-200, 0.01, 60.0, np.inf)] == [0] * 6 and tapec.grad(slope)(0.0) == 0
    assert slope(4.0) == pytest.approx(-32 * np.exp(-32.0), rel=1e-14)


@pytest.mark.parametrize("name", ["psi", "gamma", "loggamma", "rgamma"])
def test_complex_arguments_to_any_order(name):
    z = np.array([0.7 + 1.3j, -1.2 + 0.4j, 3.0 - 2.0j, -0.3 - 0.8j])
    check_derivatives(getattr(special, name), z)
    f = tapec.grad(special.psi, holomorphic=True)
    second = tapec.grad(f, holomorphic=True)(2.0 + 0j)
    np.testing.assert_allclose(second, special.polygamma(2, 2.0), rtol=1e-12)
    np.testing.assert_allclose(f(0.25 + 0j), np.pi**2 + 8 * 0.915965594177219, rtol=1e-13)  # Catalan's constant


@pytest.mark.parametrize(
    "f",
    [
        lambda x: special.betainc(2, 3.0, x),
        lambda x: special.jv(2, x),
        lambda x: special.eval_legendre(3.0, x),
        lambda x: special.eval_jacobi(2.5, 0.5, 1.5, x),
        lambda x: special.gdtr(2.0, 3.0, x),
        lambda x: special.elliprf(x, 1.0, 2.0),
        lambda x: special.it2j0y0(x)[0],
        special.berp,
        special.kolmogorov,
    ],
)
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
