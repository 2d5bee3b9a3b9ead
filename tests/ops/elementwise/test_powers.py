"""Powers whose base is negative; the rest goes through test_conformance.py and test_edges.py."""

import cmath

import numpy as np
import pytest

import tapec

EXPONENTS = np.array([0.5 + 0.3j, 1.2 - 0.4j, -0.7 + 1j])
BASES = {
    "an array": np.array([-2.0, 2.0, -0.5]),
    "integers": np.array([-2, 3, -1]),
    "a number": -2.0,
    "a whole number": -3,
    "a number of NumPy's": np.float64(-1.5),
    "below the cut": complex(-1.5, -0.0),
    "above the cut": complex(-1.5, 0.0),
}


@pytest.mark.parametrize("power", [np.power, np.float_power, lambda b, z: b**z])
@pytest.mark.parametrize("name", BASES)
def test_complex_powers_of_negative_bases_have_the_complex_logarithm(name, power):
    base, ones = BASES[name], np.ones(3, complex)
    logarithm = cmath.log(base) if isinstance(base, complex) else np.log(base + 0j)
    expected = power(base, EXPONENTS) * logarithm
    f = lambda z: power(base, z)
    np.testing.assert_allclose(tapec.jvp(f, (EXPONENTS,), (ones,))[1], expected, rtol=1e-13)
    np.testing.assert_allclose(np.diag(tapec.jacobian(f, holomorphic=True)(EXPONENTS)), expected, rtol=1e-13)
    slope = tapec.grad(lambda t: np.sum(np.imag(f(EXPONENTS + 1j * t))))(0.0)
    np.testing.assert_allclose(slope, np.sum(expected.real), rtol=1e-13)
    second = tapec.jvp(lambda z: tapec.jvp(f, (z,), (ones,))[1], (EXPONENTS,), (ones,))[1]
    np.testing.assert_allclose(second, expected * logarithm, rtol=1e-13)


def test_so_they_have_where_the_base_is_an_argument_beside_zero():
    base = np.array([-2.0, 0.0, 2.0])
    z = np.array([1.5 + 0.5j] * 3)
    slope = tapec.grad(lambda z, b: np.sum(np.real(b**z)), argnums=0)
    with np.errstate(all="ignore"):
        found = slope(z, base)
    y = base[::2] ** z[::2]
    np.testing.assert_allclose(found, np.insert(np.conj(y * np.log(base[::2] + 0j)), 1, 0), rtol=1e-13)


def test_real_powers_of_negative_bases_have_no_slope_in_the_exponent():
    base, exponent = np.array([-2.0, 2.0]), np.array([2.0, 2.0])
    np.testing.assert_allclose(tapec.grad(lambda n: np.sum(base**n))(exponent), [0, 4 * np.log(2)], rtol=1e-14)
    assert tapec.grad(lambda n: (-2.0) ** n)(2.0) == 0
