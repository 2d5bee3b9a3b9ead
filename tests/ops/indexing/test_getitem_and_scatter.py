"""Indexing against NumPy, and its derivatives against differences."""

from array import array
from collections import deque

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import tapec
from tapec.ir import constant
from tapec.ir.static_index import Slot
from tapec.ops.indexing.getitem_and_scatter import GETITEM, SCATTER, are_apart, are_distinct, index_layout, picks_one
from tapec.ops.indexing.index_encoding import encode_index
from tests.ops.derivatives import assert_same, check

A, B = np.random.default_rng(2).standard_normal((2, 2, 3, 4))
V = np.arange(1.0, 6.0)
MASK = B > 0

INDICES = {
    "int": 1,
    "negative": -2,
    "numpy int": np.int64(1),
    "0-d array": np.array(1),
    "slice": slice(1, None),
    "numpy slice": slice(np.int64(0), np.int8(1)),
    "step": (slice(None), slice(None, None, 2)),
    "backwards": (slice(None), slice(None, None, -1), slice(3, None, -2)),
    "all backwards": (slice(None, None, -1),) * 3,
    "empty slice": (slice(None), slice(2, 1)),
    "huge slice": (slice(-100, 100), slice(100, None)),
    "newaxis": (None, slice(None), None, 1),
    "only newaxis": (slice(None), None),
    "ellipsis": (Ellipsis, 0),
    "ellipsis newaxis": (Ellipsis, None),
    "ellipsis middle": (0, Ellipsis, slice(1, 3)),
    "ellipsis newaxis middle": (None, Ellipsis, None, slice(None)),
    "ellipsis empty": (0, 1, Ellipsis, 2),
    "nothing": (),
    "only ellipsis": Ellipsis,
    "full": (slice(None), slice(None)),
    "ints": (1, 2, 3),
    "list": [1, 0, 1, 1],
    "nested list": [[1, 0], [1, 1]],
    "array": np.array([[0, 1], [1, 1], [0, 0]]),
    "unsigned": np.array([1, 0], np.uint8),
    "empty list": [],
    "tuple inside": ((0, 1, 1), 2),
    "two arrays": ([0, 1, 1], [2, 2, 0]),
    "broadcast arrays": (np.array([[0], [1]]), np.array([2, 0, 0])),
    "array in the middle": (slice(None), [0, 2, 2]),
    "array last": (Ellipsis, [3, 3, 0]),
    "arrays together": (slice(None), [0, 2], [1, 1]),
    "arrays apart": ([0, 1], slice(None), [1, 1]),
    "arrays apart with newaxis": ([0, 1], None, [1, 1]),
    "int and array together": (slice(None), 1, [0, 0, 3]),
    "int and array apart": (1, slice(None), [0, 0, 3]),
    "int newaxis array": (1, None, [0, 2]),
    "0-d array and array apart": (np.array(1), slice(None), [0, 0, 3]),
    "0-d arrays apart": (np.array(1), slice(None), np.array(2)),
    "array and slice": ([1, 0, 1], slice(1, None), slice(None, None, -1)),
    "negative array": [-1, 0, -1],
    "mask": MASK,
    "mask first": MASK[:, 0, 0],
    "mask middle": (slice(None), np.array([True, False, True])),
    "mask pair": MASK[:, :, 1],
    "mask last": (Ellipsis, np.array([True, False, True, True])),
    "mask list": [True, False],
    "nested mask list": MASK[:, :, 1].tolist(),
    "mask after ellipsis": (Ellipsis, MASK[0]),
    "mask and array": (np.array([True, True]), [2, 0]),
    "mask and slice": (MASK[:, :, 0], slice(1, 3)),
    "mask and int": (1, np.array([True, False, True])),
    "two masks": (np.array([True, True]), slice(None), np.array([False, True, True, False])),
    "mask of nothing": np.zeros((2, 3), bool),
    "true": True,
    "false": False,
    "true and slice": (slice(1, None), True),
    "true and array": ([1, 0], True),
    "numpy true": np.True_,
    "range": range(2),
    "range and list": (range(2), [2, 0], slice(1, 3)),
    "range in the middle": (slice(None), range(2, -1, -1)),
    "buffer": array("l", [1, 0, 1]),
    "deque": deque([1, 0]),
    "mask of tuples": (tuple(map(tuple, MASK[:, :, 1])), Ellipsis, 1),
}


@pytest.mark.parametrize("name", INDICES)
def test_getitem(name):
    check(lambda x: x[INDICES[name]] * x[INDICES[name]], A)


@pytest.mark.parametrize("name", ["slice", "list", "array last", "mask", "all backwards"])
def test_getitem_complex(name):
    check(lambda x: x[INDICES[name]] * x[INDICES[name]], A + 1j * B)


def test_an_index_can_be_a_tensor():
    check(lambda x, i: x[i, 0] * x[0, i], A[:, :2], np.array([0, 1, 1]))
    check(lambda x, i: x[i, ..., i] * x[1, :, i], A, np.array(1))
    check(lambda x, i: x[[i, 0]], A, np.array(1))
    check(lambda x, m: x[m] ** 2, A, MASK)
    check(lambda x: x[x > 0.2] ** 2, A)
    check(lambda x: x[x[:, :, 0] > 0.2, 1:] ** 2, A)


READERS = {
    "take": lambda x: np.take(x, [3, 3, 0]),
    "take axis": lambda x: np.take(x, [[1, 1], [0, 1]], axis=0) ** 2 + x.take([[1, 1], [0, 1]], 0),
    "take one": lambda x: np.take(x, -1, axis=1),
    "take wrap": lambda x: np.take(x, [5, -7, 100], axis=1, mode="wrap"),
    "take clip": lambda x: np.take(x, [5, -7, 2], axis=2, mode="clip"),
    "compress": lambda x: np.compress([True, False, True], x, axis=1) + x.compress([False, True, True], axis=1),
    "compress flat": lambda x: np.compress(V > 2, x),
    "extract": lambda x: np.extract(MASK, x) ** 2,
    "take_along_axis": lambda x: np.take_along_axis(x, np.array([[[3, 0, 3]]]), -1) ** 2,
    "take_along_axis middle": lambda x: np.take_along_axis(x, np.array([[[3, 0, 1, 2]], [[0, 2, 2, 0]]]) % 3, 1),
    "take_along_axis flat": lambda x: np.take_along_axis(x, np.array([7, 7, 1]), None),
    "nonzero": lambda x: x[np.nonzero(x > 0)] ** 2,
    "flatnonzero": lambda x: x.ravel()[np.flatnonzero(x > 0)],
    "argwhere": lambda x: x[tuple(np.argwhere(x > 0).T)],
    "where": lambda x: x[np.where(x > 0)],
    "method nonzero": lambda x: x[(x > 0).nonzero()],
    "indices from": lambda x: [x[0][np.tril_indices_from(x[0])] ** 2, x[0][np.triu_indices_from(x[0], 1)]],
    "diagonal indices from": lambda x: x[0, :, 1:][np.diag_indices_from(x[0, :, 1:])] ** 2,
    "meshgrid": lambda x: np.meshgrid(x[0, 0], x[0, :, 0] * x[0, :, 0], np.arange(2.0)),
    "meshgrid ij": lambda x: np.meshgrid(x[0, 0], x[0, :, 0], indexing="ij"),
    "meshgrid sparse": lambda x: np.meshgrid(x[0, 0], x[0, :, 0], sparse=True),
    "meshgrid one": lambda x: np.meshgrid(x[0, 0]),
    "diag": lambda x: np.diag(x[0, 0]) @ np.diag(x[1, 0], 0),
    "diag k": lambda x: [np.diag(x[0, 0], 2), np.diag(x[0, 0], -1)],
    "diag of matrix": lambda x: [np.diag(x[0]), np.diag(x[0], 1), np.diag(x[0], -2), np.diag(x[0], 7)],
    "diag of square": lambda x: np.diag(x[0, :, 1:] * x[0, :, 1:], 1),
    "diagonal": lambda x: [np.diagonal(x), x.diagonal(1), np.diagonal(x, -1, 2, 1), np.linalg.diagonal(x, offset=1)],
    "diagflat": lambda x: np.diagflat(x[0], 1),
    "trace": lambda x: [np.trace(x), x.trace(1), np.trace(x, -1, 2, 1), np.linalg.trace(x, offset=1)],
    "trace squared": lambda x: np.trace(x[0, :, :3]) ** 2,
    "tril": lambda x: [np.tril(x), np.tril(x, 1), np.triu(x, -1), np.tril(x[0, 0]), np.triu(x[0])],
}


@pytest.mark.parametrize("name", READERS)
def test_reading(name):
    check(READERS[name], A)


def test_reading_complex():
    z = A + 1j * B
    check(lambda x: np.trace(x[0, :, :3]) * np.diagonal(x, 1, 1, 2).sum() * np.tril(x).sum() * np.diag(x[0, 0]), z)


@pytest.mark.parametrize(
    "index, kind",
    [
        (2, IndexError),
        ((0, 0, 0, 0), IndexError),
        ((0, 3), IndexError),
        ([0, 5], IndexError),
        (1.0, IndexError),
        ([1.0], IndexError),
        ("a", IndexError),
        ((Ellipsis, Ellipsis), IndexError),
        (np.zeros((2, 2), bool), IndexError),
        (np.zeros((2, 3, 4, 1), bool), IndexError),
        ((slice(None), [True, False]), IndexError),
        (([0, 1], [0, 1, 2]), IndexError),
        (slice(0, None, 0), ValueError),
        (slice(0.5, None), TypeError),
        ((slice(None),) * 4, IndexError),
        ((None, None, slice(None), slice(None), slice(None), slice(None)), IndexError),
    ],
)
def test_a_wrong_index_is_an_error_of_the_kind_that_numpy_raises(index, kind):
    with pytest.raises(kind):
        A[index]
    with pytest.raises(kind):
        tapec.constant(A)[index]


@pytest.mark.parametrize(
    "f, kind",
    [
        (lambda x: np.take(x, 30), IndexError),
        (lambda x: np.take(x, 0, axis=3), np.exceptions.AxisError),
        (lambda x: np.take(x, 0, mode="sideways"), ValueError),
        (lambda x: np.take_along_axis(x, np.array([0]), 1), ValueError),
        (lambda x: np.take_along_axis(x, np.array([[[0.5]]]), 1), IndexError),
        (lambda x: np.take_along_axis(x, np.array([[[9]]]), 1), IndexError),
        (lambda x: np.diagonal(x, 0, 1, 1), ValueError),
        (lambda x: np.trace(x[0, 0]), ValueError),
        (lambda x: np.diag(x), ValueError),
        (lambda x: np.compress([[True]], x), ValueError),
        *([(lambda x: np.nonzero(x[0, 0, 0]), ValueError)] if hasattr(np, "unstack") else []),  # NumPy 2.1
        (lambda x: np.meshgrid(x, indexing="yx"), ValueError),
        (lambda x: np.ix_(x), ValueError),
    ],
)
def test_wrong_reading_is_an_error_of_the_kind_that_numpy_raises(f, kind):
    with pytest.raises(kind):
        f(A)
    with pytest.raises(kind):
        f(tapec.constant(A))


def test_errors_name_the_users_line():
    with pytest.raises(IndexError, match=r"test_getitem_and_scatter.py:\d+: boolean index did not match"):
        tapec.constant(A)[np.zeros((3, 3), bool)]


def test_integer_results_have_no_gradient_and_right_values():
    t = tapec.constant(A)
    assert_same(np.argwhere(t > 0), np.argwhere(A > 0))
    assert_same(np.ix_(tapec.constant(np.array([0, 2])), [True, False, True])[1], np.array([[0, 2]]))


# -- the rule of the result's shape -----------------------------------------------------------------------------------
@st.composite
def shapes_and_indices(draw):
    shape = draw(hnp.array_shapes(min_dims=1, max_dims=4, min_side=1, max_side=4))
    parts = []
    axis = 0
    common = draw(st.sampled_from([(), (1,), (3,), (2, 1), (2, 3)]))
    while axis < len(shape):
        kind = draw(st.sampled_from(["slice", "int", "array", "mask", "none", "scalar", "stop"]))
        n = shape[axis]
        if kind == "none":
            parts.append(None)
            continue
        if kind == "stop":
            break
        if kind == "slice":
            parts.append(draw(st.slices(n)))
        elif kind == "int":
            parts.append(draw(st.integers(-n, n - 1)))
        elif kind == "scalar":
            parts.append(np.array(draw(st.integers(-n, n - 1))))
        elif kind == "array":
            parts.append(draw(hnp.arrays(np.intp, common, elements=st.integers(-n, n - 1))))
        else:
            parts.append(draw(hnp.arrays(bool, (n,))))
        axis += 1
    if draw(st.booleans()):
        parts.insert(draw(st.integers(0, len(parts))), Ellipsis)
    return shape, tuple(parts)


@given(shapes_and_indices(), st.integers(0, 2))
def test_any_index(drawn, seed):
    shape, index = drawn
    x = np.random.default_rng(seed).standard_normal(shape)
    try:
        want = x[index]
    except IndexError:
        with pytest.raises(IndexError):
            tapec.constant(x)[index]
        return
    assert_same(tapec.constant(x)[index], want)
    static, arrays, unique = encode_index(x, index)
    assert index_layout(shape, static, tuple(a.shape for a in arrays)).shape == want.shape
    ct = np.random.default_rng(seed + 1).standard_normal(want.shape)
    spread = np.zeros(shape)
    np.add.at(spread, index, ct)
    params = {"shape": shape, "index": static, "unique": unique}
    np.testing.assert_allclose(SCATTER.run(ct, *arrays, **params), spread)
    check_batches(x, ct, static, arrays, unique)


def check_batches(x, ct, index, arrays, unique):
    """The batch rules, with and without batched operands, against a loop."""
    stacked = [np.stack([a, a[..., ::-1] if a.ndim else a]) for a in arrays]
    for b, some in (
        (True, [False] * len(arrays)),
        (False, [k == 0 for k in range(len(arrays))]),
        (True, [True] * len(arrays)),
    ):
        if not b and not any(some):
            continue
        ins = [s if c else a for s, a, c in zip(stacked, arrays, some)]
        rows = [[s[k] if c else a for s, a, c in zip(stacked, arrays, some)] for k in range(2)]
        xs, cts = np.stack([x, 2 * x]), np.stack([ct, 3 * ct])
        want = [GETITEM.run(xs[k] if b else x, *rows[k], index=index) for k in range(2)]
        got = GETITEM.batch((b, *some), xs if b else x, *ins, index=index)
        np.testing.assert_array_equal(got, np.stack(want))
        safe = unique and not any(some)
        params = {"shape": x.shape, "index": index, "unique": safe}
        want = [SCATTER.run(cts[k] if b else ct, *rows[k], **params) for k in range(2)]
        got = SCATTER.batch((b, *some), cts if b else ct, *ins, **params)
        np.testing.assert_allclose(got, np.stack(want))


# ---------------------------------------------------------------------------------------------------------------
# what is known of index arrays
# ---------------------------------------------------------------------------------------------------------------
def arrays_of(*values):
    return [constant(np.array(v)) for v in values]


@pytest.mark.parametrize(
    ("arrays", "distinct"),
    [
        ([[2, 0, 1]], True),
        ([[2, 0, 2]], False),
        ([[-1, 0]], False),  # of two elements these are one and the same, if there are no more
        ([[0, 1, 2], [3, 3, 0]], True),
        ([[[0], [1]], [0, 1, 2]], True),
        ([[[0], [1]], [0, 1, 2], [[3, 3, 0], [1, 0, 2]]], True),
        ([[[0], [1]], [0, 1, 1]], False),
        ([[[0, 1], [1, 2]], [0, 1]], False),  # no array goes along the first axis alone
        ([1], False),
    ],
)
def test_index_arrays_that_name_no_place_twice(arrays, distinct):
    assert are_distinct(arrays_of(*arrays)) is distinct


@pytest.mark.parametrize(
    ("arrays", "apart"),
    [
        ([[2, 0, 2]], True),
        ([[[0, 1], [1, 2]]], True),
        ([[[0], [1]], [0, 1, 2]], True),
        ([[[0], [1]], [[0, 1, 2]]], True),
        ([1, [0, 1]], True),
        ([[0, 1], [0, 1]], False),
        ([[[0], [1]], [[3, 3, 0], [1, 0, 2]]], False),
    ],
)
def test_index_arrays_that_name_whole_lines(arrays, apart):
    """Each of one array is met by each of the others."""
    assert are_apart(arrays_of(*arrays)) is apart


@pytest.mark.parametrize(
    ("shape", "arrays", "picks"),
    [
        ((3, 4), [[0, 1, 2], [3, 3, 0]], True),
        ((3, 4), [[0, 2, 1], [3, 3, 0]], False),
        ((4, 4), [[0, 1, 2], [3, 3, 0]], False),
        ((2, 3, 4), [[[0], [1]], [0, 1, 2], [[3, 3, 0], [1, 0, 2]]], True),
        ((2, 3, 4), [[[0], [1]], [[0, 1, 2]], [[3, 3, 0], [1, 0, 2]]], True),
        ((2, 2, 4), [[0, 1], [0, 1], [[3, 3], [1, 0]]], False),  # pairs
        ((2, 3, 4), [[[0], [1]], [0, 1, 2], [3, 3, 0]], False),  # the same for both
    ],
)
def test_indices_that_pick_one_element_of_each_line(shape, arrays, picks):
    assert picks_one(tuple(map(Slot, range(len(shape)))), arrays_of(*arrays), shape) is picks
