"""Numbers that come from sizes are told from numbers that only equal such ones."""

import numpy as np

from tapec import GradientTape, constant


def test_complex_numbers_are_no_quotients():
    t = constant(np.arange(12.0).reshape(3, 4) + 1j)  # 4 / 4 is the 1 + 0j that the gradient is seeded with
    with GradientTape() as tape:
        tape.watch(t)
        y = np.mean(t, axis=-1)
    assert np.array_equal(tape.gradient(y, t), np.full((3, 4), 0.25 + 0j))
