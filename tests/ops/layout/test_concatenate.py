"""Numbers stacked: as NumPy stacks them, whatever their kinds."""

import itertools

import numpy as np
import pytest

from tapec.ir import get_op

NUMBERS = [1.5, 2, True, 1 + 2j, np.float32(3), np.int8(4), np.uint64(5), np.bool_(True), np.float16(6)]


@pytest.mark.parametrize("pair", [*itertools.product(NUMBERS, repeat=2)], ids=str)
def test_numbers_stack_as_numpy_has_it(pair):
    want, got = np.stack(pair), get_op("stack").run(*pair, axis=0)
    np.testing.assert_array_equal(got, want)
    assert got.dtype == want.dtype
