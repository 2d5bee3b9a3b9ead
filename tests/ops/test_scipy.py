"""Ops that need SciPy: sparse products, linear algebra, convolution, through the checks of every op."""

from importlib import import_module

import numpy as np
import pytest
from scipy import linalg, signal, sparse

import tapec
from tapec.ir import OPS
from tapec.ops.samples import Case
from tests.ops.cases import cases
from tests.ops.test_conformance import CHECKS

for module in ("scipy_sparse", "scipy_linalg", "scipy_signal"):
    import_module(f"tapec.ops.{module}")
NAMES = sorted(n for n in OPS if n.startswith(("scipy.linalg.", "scipy.sparse.", "scipy.signal.")))


@pytest.mark.parametrize("check", CHECKS, ids=lambda f: f.__name__.removeprefix("check_"))
@pytest.mark.parametrize("name", NAMES)
def test_op(name, check):
    for case in cases(OPS[name]).values():
        check(OPS[name], Case(tuple(map(np.asarray, case.inputs)), case.params))
