"""Functions that take a module of tapec.scipy against the same on that of SciPy; derivatives against differences."""

from collections.abc import Callable
from typing import Any

import numpy as np

import tapec
from tests.ops.derivatives import check


def compare(make: Callable[[Any], Callable[..., Any]], x: Any, ours: Any, scipys: Any) -> None:
    """Values of plain arrays and of tensors, which have SciPy's dtypes; derivatives to order two, in both modes."""
    f, expected = make(ours), make(scipys)(x)
    found = f(x)
    many = isinstance(expected, (list, tuple))
    for a, b in zip(found if many else [found], expected if many else [expected], strict=True):
        assert isinstance(a, (np.ndarray, np.generic))  # plain arrays give plain results
        assert np.shape(a) == np.shape(b) and a.dtype == np.asarray(b).dtype
        np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-12)
    with np.errstate(all="ignore"):
        check(f, x)
        tapec.check_grads(f, (x,), order=2, modes=("forward",), directions=1)
