"""The workloads that commits are compared on: what is written by hand and what tapec computes agree."""

import numpy as np
import pytest

from tests.benchmarks.families import TAPE_STEPS, WORKLOADS, Task, by_hand, by_tapec


def agree(found, expected, tolerance):
    assert len(found) == len(expected)
    for a, b in zip(found, expected, strict=True):
        assert np.shape(a) == np.shape(b)
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance * np.max(np.abs(b)))


ALL = list(dict.fromkeys(WORKLOADS + TAPE_STEPS))
WITH_VALUE = [w for w in ALL if w.task in (Task.GRADIENTS, Task.STEP)]


@pytest.mark.parametrize("w", ALL, ids=lambda w: w.name)
def test_hand_written_and_compiled_derivatives_agree(w):
    args = w.args(small=True)
    before = [np.copy(a) for a in args]
    ours, theirs = by_tapec(w, args), by_hand(w, args)
    for _ in range(3):  # traces; writes a call stub; runs. A step trains on
        agree(ours(*args), theirs(*args), w.tolerance)
    assert all(map(np.array_equal, args, before))


@pytest.mark.parametrize("w", WITH_VALUE, ids=lambda w: w.name)
def test_the_value_by_hand_is_that_of_the_objective(w):
    args = w.args(small=True)
    agree(by_hand(w, args)(*args)[:1], [w.objective(np, *args)], w.tolerance)


def test_there_are_twenty_two_workloads_and_all_names_differ():
    assert len(WORKLOADS) == 22
    assert len({w.name for w in ALL}) == len(ALL)
    assert all(len(w.size) == len(w.small) for w in ALL)
