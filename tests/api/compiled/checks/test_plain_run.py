"""Plain runs: what their arguments are, and when results are the same."""

import numpy as np
import pytest

from tapec.api.compiled.checks.plain_run import compare, copied, moved, plain_run, read_only
from tapec.pytree import flatten


def leaves_of_all_kinds():
    base = np.arange(24.0).reshape(4, 6)
    return [base, base.T, base[1:, ::2], base, np.float32(1.5), 2.0, "name", np.asfortranarray(base), base[::-1]]


@pytest.mark.parametrize("made_of", [read_only, copied])
def test_arguments_lie_and_share_memory_as_they_did(made_of):
    given = leaves_of_all_kinds()
    made = made_of(given)
    for a, b in zip(given, made):
        assert type(a) is type(b)
        assert np.array_equal(a, b)
        if isinstance(a, np.ndarray):
            assert a is not b
            assert (a.strides, a.dtype) == (b.strides, b.dtype)
    assert made[0] is made[3]
    for i, a in enumerate(given):
        for j, b in enumerate(given):
            if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
                assert np.shares_memory(a, b) == np.shares_memory(made[i], made[j])


def test_views_refuse_writes_and_copies_keep_them():
    given = leaves_of_all_kinds()
    with pytest.raises(ValueError, match="read-only"):
        read_only(given)[2][0, 0] = 1.0
    made = copied(given)
    made[2][0, 0] = -1.0
    assert made[0][1, 0] == made[1][0, 1] == made[8][2, 0] == -1.0
    assert given[0][1, 0] == 6.0


def test_a_small_part_of_a_large_array_is_copied_alone():
    large = np.zeros(1 << 20)
    assert copied([large[5:8]])[0].base is None


def test_a_function_that_writes_runs_on_copies():
    def doubles(x):
        x *= 2.0
        return x

    x = np.ones(3)
    leaves = []
    tree = flatten(((x,), {}), leaves)
    _, results = plain_run(doubles, tree, leaves)
    assert np.array_equal(results[0], 2 * np.ones(3))
    assert np.array_equal(x, np.ones(3))


def test_moved_arguments_are_some_units_off():
    given = [np.ones(50), np.arange(3), 1.0, np.float32(1.0), 3, np.ones(4, complex)]
    made = moved(given, 0)
    assert [type(x) for x in made] == [type(x) for x in given]
    assert [np.asarray(x).dtype for x in made] == [np.asarray(x).dtype for x in given]
    off = np.abs(made[0] - 1.0) / np.finfo(float).eps
    assert off.min() >= 1
    assert off.max() <= 4
    assert np.array_equal(made[1], given[1])
    assert made[2] != 1.0
    assert made[4] == 3


@pytest.mark.parametrize(
    ("got", "plain"),
    [
        (np.ones(3) + 1e-10, np.ones(3)),
        (np.ones(3, np.float32) * np.float32(1 + 1e-5), np.ones(3, np.float32)),
        (np.array([1e9, 1e-3]), np.array([1e9, 0.0])),  # of the largest element
        (np.array([np.nan, np.inf, -np.inf]), np.array([np.nan, np.inf, -np.inf])),
        (np.float64(2.0), 2.0),
        (np.array(2.0), 2.0),
        (True, np.True_),
        ("a", "a"),
        (print, max),  # nothing is known of objects but their class
        (np.empty(0), np.empty(0)),
    ],
)
def test_the_same(got, plain):
    assert compare(got, plain) is None


@pytest.mark.parametrize(
    ("got", "plain", "text"),
    [
        (np.array([1.0, 1.1]), np.ones(2), "at [1] is 1.1, plain NumPy gives 1.0 (1 of 2 elements differ, by up to 1"),
        (np.float64(1.0 + 1e-8), np.float64(1.0), "is 1.00000001, plain NumPy gives 1.0"),
        (np.float32(1.001), np.float32(1.0), "is 1.001"),
        (np.array([np.nan]), np.array([1.0]), "at [0] is nan"),
        (np.array([np.inf]), np.array([-np.inf]), "at [0] is inf"),
        (np.array([np.nan]), np.array([np.inf]), "at [0] is nan"),
        (np.array([1, 2]), np.array([1, 3]), "at [1] is 2, plain NumPy gives 3"),
        (np.array([True]), np.array([False]), "at [0] is True"),
        (np.ones(2, np.float32), np.ones(2), "is float32 of shape (2,), plain NumPy gives float64 of shape (2,)"),
        (np.ones(2), np.ones((2, 1)), "is float64 of shape (2,), plain NumPy gives float64 of shape (2, 1)"),
        ("a", "b", "is 'a', plain NumPy gives 'b'"),
        (None, 1.0, "is None, plain NumPy gives 1.0"),
        (1 + 0j, 1.0, "is complex128"),
    ],
)  # fmt: skip
def test_different(got, plain, text):
    assert text in compare(got, plain).text
