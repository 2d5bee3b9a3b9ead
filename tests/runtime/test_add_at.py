"""The helper that adds at an index against np.add.at."""

import numpy as np
import pytest

from tapec.runtime.add_at import scatter_add

INDICES = {
    "rows": ((50, 7), lambda rng: rng.integers(-50, 50, 60)),
    "rows by an index of two axes": ((50, 7), lambda rng: rng.integers(-50, 50, (6, 10))),
    "rows in a tuple": ((50, 7, 2), lambda rng: (rng.integers(-50, 50, 60),)),
    "few rows": ((5, 3), lambda rng: np.array([1, 1, -1])),
    "elements": ((30, 40), lambda rng: (rng.integers(-30, 30, 400), rng.integers(-40, 40, 400))),
    "elements of three axes": ((3, 4, 5), lambda rng: tuple(rng.integers(-n, n, (30, 10)) for n in (3, 4, 5))),
    "broadcast elements": ((30, 40), lambda rng: (rng.integers(-30, 30, (20, 1)), rng.integers(-40, 40, 20))),
    "vector": ((30,), lambda rng: rng.integers(-30, 30, 400)),
    "one place": ((3, 4), lambda rng: np.array(1)),
    "mixture": ((3, 40, 5), lambda rng: (slice(1, None), rng.integers(0, 40, 50))),
    "slices": ((3, 4), lambda rng: (slice(1, None), 2)),
    "none": ((0, 400), lambda rng: np.zeros(0, int)),
}


@pytest.mark.parametrize("name", INDICES)
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.complex128])
def test_as_add_at(name, dtype, rng):
    shape, draw = INDICES[name]
    index = draw(rng)
    values = rng.integers(-9, 9, np.zeros(shape)[index].shape).astype(dtype)
    want = np.zeros(shape, dtype)
    np.add.at(want, index, values)
    got = scatter_add(shape, dtype, index, values)
    assert got.dtype == want.dtype and got.flags.owndata
    np.testing.assert_array_equal(got, want)
