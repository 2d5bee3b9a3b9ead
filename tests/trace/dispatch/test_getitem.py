"""What an index takes: values as NumPy's, records as the long way makes them, gradients by differences."""

import numpy as np
import pytest

import tapec
from tapec.ops.core.stand_in import METHODS, run
from tapec.trace.log import Log

RNG = np.random.default_rng(3)
X = RNG.standard_normal((3, 4, 5))
ROWS = np.array([2, 0, 2])
MASK = X > 0.1
ROW_MASK = np.array([True, False, True])

INDICES = {
    "int": 1,
    "NumPy's int": np.int64(-1),
    "ints": (1, -2),
    "mixed ints": (np.int32(1), 2, np.uint8(3)),
    "slice": slice(1, None),
    "negative step": (slice(None), slice(None, None, -2)),
    "all": slice(None),
    "all, twice": (slice(None), slice(None)),
    "ellipsis": ...,
    "last": (..., -1),
    "new axis": None,
    "new axes": (None, slice(1, 3), None, 0),
    "ellipsis and slice": (0, ..., slice(None, 2)),
    "list": [0, 2],
    "lists": ([0, 2], [1, -1]),
    "slice and list": (slice(None), [3, 1]),
    "list of flags": [True, False, True],
    "slice and flags": (slice(None), [True, False, True, True]),
    "array": ROWS,
    "unsigned": ROWS.astype(np.uint8),
    "arrays": (ROWS, ROWS + 1),
    "array and int": (ROWS, 1),
    "int and array": (1, ROWS),
    "array, slice, array": (ROWS, slice(1, 4), ROWS),
    "array of many axes": (slice(None), ROWS[:, None], ROWS),
    "array and new axis": (ROWS, None, ROWS),
    "ellipsis and array": (..., ROWS),
    "array of no axes": np.array(1),
    "grid": np.ix_(ROWS, [1, 3]),
    "empty": np.zeros(0, int),
    "empty list": [],
    "nested lists": [[0, 1], [2, 0]],
    "mask": MASK,
    "mask of rows": ROW_MASK,
    "mask of two axes": MASK[:, :, 0],
    "mask of inner axes": (0, MASK[0]),
    "mask and int": (ROW_MASK, 1),
    "mask and slice": (ROW_MASK, slice(None, None, 2)),
    "mask and array": (ROW_MASK, ROWS[:2]),
    "slice and mask": (slice(None), MASK[0, :, 0]),
    "ellipsis and mask": (..., MASK[0, 0]),
    "nowhere": np.zeros((3, 4, 5), bool),
    "two masks": (ROW_MASK, np.array([True, False, True, False])),
    "truth": (True, 1),
}


def tensors_in(index):
    """The same index with tensors for its arrays."""
    if isinstance(index, tuple):
        return tuple(map(tensors_in, index))
    return tapec.constant(index) if isinstance(index, np.ndarray) and index.ndim else index


def short(x, index):
    return x[index]


def long(x, index):
    return run(METHODS["__getitem__"], (x, index), {})


def recorded(take, index):
    x = tapec.constant(X)
    with tapec.GradientTape() as tape:
        tape.watch(x)
        y = take(x, index)
        loss = np.sum(np.cos(np.arange(np.size(y)).reshape(np.shape(y))) * y * y)
    return [entry[:1] + entry[2:3] for entry in tape.log.records], tape.log.key, y.numpy(), tape.gradient(loss, x)


@pytest.mark.parametrize("name", INDICES)
@pytest.mark.parametrize("spelt", [lambda index: index, tensors_in], ids=["plain", "tensors"])
def test_as_the_long_way(name, spelt):
    index = INDICES[name]
    for _ in range(3):  # some have plans
        got, want = recorded(short, spelt(index)), recorded(long, spelt(index))
        assert got[:2] == want[:2]
        np.testing.assert_array_equal(got[2], X[index])
        np.testing.assert_array_equal(got[3].numpy(), want[3].numpy())


@pytest.mark.parametrize("name", INDICES)
def test_gradients(name):
    index = INDICES[name]
    weights = np.cos(np.arange(X[index].size)).reshape(X[index].shape)
    x = tapec.constant(X)
    with tapec.GradientTape() as tape:
        tape.watch(x)
        loss = np.sum(weights * np.sin(x[index]))
    want = np.zeros_like(X)
    np.add.at(want, index, weights * np.cos(X[index]))
    np.testing.assert_allclose(tape.gradient(loss, x).numpy(), want, rtol=1e-13, atol=1e-15)


@pytest.mark.parametrize("index", [(X > 0,), (0, X[0] > 0)])
def test_a_recorded_mask(index):
    for _ in range(3):
        x = tapec.constant(X)
        with tapec.GradientTape() as tape:
            tape.watch(x)
            y = x[x > 0] if len(index) == 1 else x[0, x[0] > 0]
            loss = np.sum(y * y)
            names = [entry[0].name for entry in tape.log.records]
        assert names.count("nonzero") == 1
        want = np.zeros_like(X)
        want[index] = 2 * X[index]
        np.testing.assert_array_equal(tape.gradient(loss, x).numpy(), want)


def test_where_a_plain_mask_is_true_is_looked_for_once():
    x, mask = tapec.constant(X), X > 0
    with tapec.GradientTape() as tape:
        tape.watch(x)
        first, second = x[mask], x[mask]
        mask[0] = False
        third = x[mask]
    one, two, three = [entry[1][1:] for entry in tape.log.records]
    assert all(a is b for a, b in zip(one, two, strict=True))
    assert not any(a is b for a, b in zip(one, three, strict=True))
    np.testing.assert_array_equal(first.numpy(), second.numpy())
    np.testing.assert_array_equal(third.numpy(), X[mask])


@pytest.mark.parametrize(
    "index", [[True, False, True], ([True, False, True], 1), (slice(None), [False, True, True, True])]
)
def test_a_list_of_truth_values_is_not_looked_for_again(index, monkeypatch):
    """Nobody can give that list's array once more: a tape that kept it would hold one for each read."""

    def remembered(log, mask):
        raise AssertionError

    monkeypatch.setattr(Log, "places", remembered)
    x = tapec.constant(X)
    with tapec.GradientTape() as tape:
        tape.watch(x)
        y = x[index]
    np.testing.assert_array_equal(y.numpy(), X[index])


@pytest.mark.parametrize("kind", ["array", "mask", "list", "tensor"])
def test_an_index_that_changes_later(kind):
    rows = {"array": ROWS.copy(), "mask": ROW_MASK.copy(), "list": [2, 0], "tensor": tapec.constant(ROWS)}[kind]
    before = np.array(rows)
    x = tapec.constant(X)
    with tapec.GradientTape() as tape:
        tape.watch(x)
        y = x[rows]
        rows[0] = 0
        z = x[rows] if kind != "tensor" else 0.0
        loss = np.sum(y * y) + 3.0 * np.sum(z)
    want = np.zeros_like(X)
    np.add.at(want, before, 2 * X[before])
    if kind != "tensor":
        np.add.at(want, np.array(rows), 3.0)
    np.testing.assert_allclose(np.asarray(tape.gradient(loss, x)), want, rtol=1e-15)


def test_parts_by_arrays_are_copies_and_others_views():
    for index in (ROWS, [0, 1], ROW_MASK, MASK, (slice(None), ROWS)):
        x = tapec.constant(X)
        y = x[index]
        y *= 0.0
        np.testing.assert_array_equal(x.numpy(), X)
    for index in (slice(1, None), (..., 0), None, (slice(None), slice(None, None, -1)), (np.int64(1), slice(None))):
        x, plain = tapec.constant(X), X.copy()
        for a in (x, plain):
            y = a[index]
            y *= 0.0
        np.testing.assert_array_equal(x.numpy(), plain)


@pytest.mark.parametrize(
    ("index", "message"),
    [
        (np.array([0, 3]), "index 3 is out of bounds for axis 0 with size 3"),
        ([0, -4], "index -4 is out of bounds"),
        ((ROWS, ROWS[:2]), "could not be broadcast together"),
        (MASK[:2], "boolean index did not match"),
        ((slice(None), MASK[0, :2]), "boolean index did not match"),
        ((0, 0, 0, ROWS), "too many indices"),
        ((slice(None),) * 4, "too many indices"),
        ((..., ROWS, ...), "single ellipsis"),
        (np.array([1.0]), "must be of integer"),
    ],
)
def test_errors_name_the_line(index, message):
    x = tapec.constant(X)
    for _ in range(3):
        with pytest.raises(IndexError, match=message) as caught:
            x[index]
        assert "test_getitem.py" in str(caught.value) + "".join(getattr(caught.value, "__notes__", []))


def test_rows_of_a_source_are_indexed_slices():
    for rows in (ROWS, [2, 0, 2], tapec.constant(ROWS)):
        v = tapec.Variable(X)
        with tapec.GradientTape() as tape:
            loss = np.sum(v[rows] * 2.0)
        g = tape.gradient(loss, v)
        assert isinstance(g, tapec.IndexedSlices)
        np.testing.assert_array_equal(g.indices.numpy(), ROWS)


def test_compiled_functions_take_the_same():
    for index in INDICES.values():

        def f(x, index=index):
            return np.sum(np.sin(x[index]))

        want = np.zeros_like(X)
        np.add.at(want, index, np.cos(X[index]))
        np.testing.assert_allclose(tapec.grad(f)(X), want, rtol=1e-13, atol=1e-15)
