"""Refuse real matrices whose function is complex; the ops by themselves go through test_conformance.py."""

import numpy as np
import pytest

import tapec
from tapec.scipy import linalg


def test_a_complex_root_of_a_real_matrix_is_an_error():
    with pytest.raises(ValueError, match="sqrtm of this matrix is complex. Fix"):
        linalg.sqrtm(tapec.constant(np.diag([-1.0, 1.0])))
    found = linalg.sqrtm(tapec.constant(np.diag([-1.0 + 0j, 1.0])))
    np.testing.assert_allclose(found.numpy(), np.diag([1j, 1.0]), atol=1e-12)
