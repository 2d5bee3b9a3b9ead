"""Refuse real matrices whose function is complex, and draw no random numbers of the user's.

The ops by themselves go through test_conformance.py.
"""

import runpy

import numpy as np
import pytest

import tapec
from tapec.scipy import linalg

POSITIVE, TURNED = np.array([[2.0, 0.5], [0.5, 1.0]]), np.array([[1.0, 2.0], [2.0, 1.0]])  # an eigenvalue of -1


def test_a_complex_root_of_a_real_matrix_is_an_error():
    with pytest.raises(ValueError, match="sqrtm of this matrix is complex. Fix"):
        linalg.sqrtm(tapec.constant(np.diag([-1.0, 1.0])))
    found = linalg.sqrtm(tapec.constant(np.diag([-1.0 + 0j, 1.0])))
    np.testing.assert_allclose(found.numpy(), np.diag([1j, 1.0]), atol=1e-12)


def written(f, a):
    y = np.zeros((2, 2), a.dtype)
    y[:] = f(a)
    return y


@pytest.mark.filterwarnings("ignore:logm result may be inaccurate")
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", ["sqrtm", "logm"])
def test_so_it_is_at_later_calls(name, dtype):
    f = getattr(linalg, name)
    known, turned = POSITIVE.astype(dtype), TURNED.astype(dtype)
    several = tapec.vmap(f), tapec.vmap(tapec.grad(lambda a: np.sum(f(a))))
    for g in (
        tapec.compile(f),
        tapec.compile(lambda a: written(f, a)),
        tapec.value_and_grad(lambda a: np.trace(f(a))),
        tapec.grad(lambda a: np.trace(f(a))),
        tapec.jacobian(f),
        lambda a: tapec.jvp(f, (a,), (known,)),
        lambda a: several[0](np.stack([known, a])),
        lambda a: several[1](np.stack([a, known])),
    ):
        for _ in range(2):
            g(known)
            with pytest.raises(ValueError, match=f"{name} of this matrix is complex. Fix"):
                g(turned)
    assert np.iscomplexobj(tapec.compile(f)(turned.astype(complex)))


def test_exported_code_says_so_too(tmp_path):
    tapec.compile(linalg.sqrtm).export(tmp_path / "root.py", POSITIVE)
    exported = runpy.run_path(str(tmp_path / "root.py"))["sqrtm"]
    np.testing.assert_allclose(exported(POSITIVE) @ exported(POSITIVE), POSITIVE)
    with pytest.raises(ValueError, match="sqrtm of this matrix is complex. Fix"):
        exported(TURNED)


def test_random_numbers_of_the_user_do_not_depend_on_estimated_norms():
    rng = np.random.default_rng(3)
    a = 0.1 * rng.standard_normal((2, 3, 3)) + np.diag([1.0, 2.0, 3.0])
    f = tapec.grad(lambda a: np.sum(linalg.logm(a)))
    expected = [f(each) for each in a]
    for g in (f, tapec.compile(linalg.logm), tapec.jacobian(linalg.logm)):
        for each in a:
            np.random.seed(0)
            g(each)
            assert np.random.rand() == np.random.RandomState(0).rand()
    np.testing.assert_allclose(tapec.vmap(f)(a), expected, rtol=1e-12)
    jacobians = tapec.vmap(tapec.jacobian(linalg.logm))(a)
    np.testing.assert_allclose(np.sum(jacobians, axis=(1, 2)), expected, rtol=1e-10)
