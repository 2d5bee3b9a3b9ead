"""IndexedSlices: gradients of gathers from a source, by rows."""

import numpy as np
import pytest

import tapec
from tapec import GradientTape, IndexedSlices, Variable, constant

TABLE = np.arange(12.0).reshape(4, 3)


def gradient(f, source=None, **options):
    source = Variable(TABLE) if source is None else source
    with GradientTape(**options) as tape:
        if not isinstance(source, Variable):
            tape.watch(source)
        y = f(source)
    return tape.gradient(y, source)


def is_rows(found, indices, values):
    assert isinstance(found, IndexedSlices)
    assert found.indices.numpy().tolist() == indices
    assert found.dense_shape == (4, 3) and found.shape == (4, 3) and found.dtype == np.float64
    assert np.array_equal(found.values.numpy(), values)


GATHERS = {
    "take": lambda x, i: np.take(x, i, axis=0),
    "index": lambda x, i: x[i],
    "index and slice": lambda x, i: x[i, :],
    "index and dots": lambda x, i: x[i, ...],
    "method": lambda x, i: x.take(i, axis=0),
}


@pytest.mark.parametrize("gather", GATHERS.values(), ids=GATHERS)
@pytest.mark.parametrize("kind", ["variable", "watched tensor"])
def test_a_gather_keeps_duplicates(gather, kind):
    source = Variable(TABLE) if kind == "variable" else constant(TABLE)
    found = gradient(lambda x: np.sum(gather(x, np.array([2, 0, 2])) * 5.0), source)
    is_rows(found, [2, 0, 2], np.full((3, 3), 5.0))
    expected = np.zeros((4, 3))
    np.add.at(expected, [2, 0, 2], 5.0)
    assert np.array_equal(np.asarray(found), expected)


COPIES = {
    "read_value": lambda v: v.read_value(),
    "a copy of a copy": lambda v: np.copy(np.copy(v)),
    "x[:]": lambda v: v[:],
}


@pytest.mark.parametrize("copied", COPIES.values(), ids=COPIES)
def test_a_gather_from_a_copy_is_one_from_the_source(copied):
    is_rows(gradient(lambda x: np.sum(np.take(copied(x), [2, 0, 2], axis=0))), [2, 0, 2], np.ones((3, 3)))
    found = gradient(lambda x: np.sum(np.take(copied(x), [2], axis=0)) + np.sum(np.take(x, [1, 2], axis=0)))
    is_rows(found, [2, 1, 2], np.ones((3, 3)))


def test_a_gather_from_a_copy_that_is_a_source_too_or_is_read_otherwise():
    table = Variable(TABLE)
    with GradientTape(persistent=True) as tape:
        copied = table.read_value()
        y = np.sum(np.take(copied, [2, 0, 2], axis=0))
        z = y + np.sum(copied * 3.0)
    expected = np.zeros((4, 3))
    np.add.at(expected, [2, 0, 2], 1.0)
    for g in tape.gradient(y, [table, copied]):
        assert np.array_equal(np.asarray(g), expected)
    for g in (tape.gradient(z, table), *tape.gradient(z, [copied, table])):
        assert np.array_equal(np.asarray(g), expected + 3.0)


def test_indices_may_be_a_list_or_a_tensor():
    is_rows(gradient(lambda x: np.sum(np.take(x, [1, 3], axis=0))), [1, 3], np.ones((2, 3)))
    is_rows(gradient(lambda x: np.sum(x[[1, 3]])), [1, 3], np.ones((2, 3)))
    is_rows(gradient(lambda x: np.sum(x[constant([1, 3])])), [1, 3], np.ones((2, 3)))


def test_negative_indices_are_counted_from_the_front():
    is_rows(gradient(lambda x: np.sum(x[np.array([-1, 1, -4])])), [3, 1, 0], np.ones((3, 3)))


def test_indices_of_any_shape():
    weights = np.arange(12.0).reshape(2, 2, 3)
    found = gradient(lambda x: np.sum(x[np.array([[3, 1], [1, 0]])] * weights))
    is_rows(found, [3, 1, 1, 0], weights.reshape(4, 3))


def test_no_indices_at_all():
    found = gradient(lambda x: np.sum(x[np.array([], int)]))
    is_rows(found, [], np.zeros((0, 3)))


def test_two_gathers_concatenate():
    def f(x):
        return np.sum(x[np.array([0, 1])]) + np.sum(np.take(x, np.array([1, 2]), axis=0)) * 2.0

    is_rows(gradient(f), [0, 1, 1, 2], np.repeat([[1.0], [1.0], [2.0], [2.0]], 3, axis=1))


def test_the_same_gather_twice_concatenates():
    index = np.array([0, 1])
    is_rows(gradient(lambda x: np.sum(x[index]) + np.sum(x[index])), [0, 1, 0, 1], np.ones((4, 3)))


def test_a_vector_is_gathered_from():
    v = Variable([1.0, 2.0, 3.0])
    with GradientTape() as tape:
        y = v[np.array([2, 2])] ** 2
    found = tape.gradient(y, v)
    assert isinstance(found, IndexedSlices)
    assert found.values.numpy().tolist() == [6.0, 6.0] and found.numpy().tolist() == [0.0, 0.0, 12.0]


DENSE = {
    "another axis": lambda x: np.take(x, np.array([1, 1]), axis=1),
    "slice": lambda x: x[1:3],
    "number": lambda x: x[2],
    "0-d array": lambda x: x[np.array(2)],
    "second index": lambda x: x[:, np.array([0, 1])],
    "two arrays": lambda x: x[np.array([0, 1]), np.array([0, 1])],
    "new axis": lambda x: x[np.array([0, 1]), None],
    "of a product": lambda x: (x * 2.0)[np.array([0, 1])],
    "and dense": lambda x: np.sum(x[np.array([0, 1])]) + np.sum(x),
    "flat": lambda x: np.take(x, np.array([0, 5])),
}


@pytest.mark.parametrize("f", DENSE.values(), ids=DENSE)
def test_dense(f):
    found = gradient(f)
    assert type(found) is tapec.Tensor and found.shape == (4, 3)
    step = 1e-6
    for i in np.ndindex(4, 3):
        moved = TABLE.copy()
        moved[i] += step
        slope = (np.sum(f(constant(moved))) - np.sum(f(constant(TABLE)))).numpy() / step
        assert found.numpy()[i] == pytest.approx(slope, rel=1e-6, abs=1e-6)


def test_a_gather_that_does_not_count_leaves_the_gradient_dense():
    found = gradient(lambda x: np.sum(x) + 0.0 * np.sum(tapec.stop_gradient(x[np.array([0])])))
    assert type(found) is tapec.Tensor and np.array_equal(found.numpy(), np.ones((4, 3)))


def test_dense_use_that_does_not_count_leaves_the_gradient_by_rows():
    def f(x):
        np.sum(x * x)
        return np.sum(x[np.array([1])])

    is_rows(gradient(f), [1], np.ones((1, 3)))


def test_a_gather_from_an_intermediate_source():
    x = constant(TABLE)
    with GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x * 2.0
        z = np.sum(y[np.array([0, 0])])
    is_rows(tape.gradient(z, y), [0, 0], np.ones((2, 3)))
    dense = tape.gradient(z, x)
    assert type(dense) is tapec.Tensor and dense.numpy()[:, 0].tolist() == [4.0, 0.0, 0.0, 0.0]
    both = tape.gradient(z, [x, y])
    assert np.array_equal(both[0].numpy(), dense.numpy())
    assert np.array_equal(np.asarray(both[1])[:, 0], [2.0, 0.0, 0.0, 0.0])


def test_an_assigned_variable_adds_up_by_rows():
    v = Variable(TABLE)
    with GradientTape() as tape:
        a = np.sum(v[np.array([0])])
        v.assign(TABLE * 2)
        b = np.sum(v[np.array([0, 1])])
    found = tape.gradient([a, b], v)
    is_rows(found, [0, 0, 1], np.ones((3, 3)))


def test_an_assigned_variable_read_densely_once():
    v = Variable(TABLE)
    with GradientTape() as tape:
        a = np.sum(v[np.array([0])])
        v.assign(TABLE * 2)
        b = np.sum(v)
    found = tape.gradient([a, b], v)
    assert type(found) is tapec.Tensor and found.numpy()[:, 0].tolist() == [2.0, 1.0, 1.0, 1.0]


def test_unconnected():
    v, w = Variable(TABLE), Variable(TABLE)
    with GradientTape() as tape:
        y = np.sum(v[np.array([0])])
        w[np.array([0])]
    found = tape.gradient(y, [v, w], unconnected_gradients="zero")
    assert isinstance(found[0], IndexedSlices)
    assert type(found[1]) is tapec.Tensor and not found[1].numpy().any()


def test_jacobians_are_dense():
    v = Variable(TABLE[:, 0])
    with GradientTape(persistent=True) as tape:
        y = v[np.array([1, 1, 3])] ** 2
    found = tape.jacobian(y, v)
    assert type(found) is tapec.Tensor
    expected = np.zeros((3, 4))
    expected[[0, 1, 2], [1, 1, 3]] = 2 * TABLE[[1, 1, 3], 0]
    assert np.array_equal(found.numpy(), expected)


def test_second_derivatives_go_through_the_rows():
    v = Variable(TABLE)
    with GradientTape() as outer:
        with GradientTape() as inner:
            y = np.sum(v[np.array([1, 1])] ** 3)
        rows = inner.gradient(y, v)
        z = np.sum(rows)  # dense here
    assert isinstance(rows, IndexedSlices)
    expected = np.zeros((4, 3))
    expected[1] = 2 * 6 * TABLE[1]
    assert np.array_equal(np.asarray(outer.gradient(z, v)), expected)


@pytest.mark.parametrize("looked_at", [False, True])
def test_the_jacobian_of_rows_when_the_block_is_over(looked_at):
    """The dense tensor that they stand for is made by the tape that is asked, whoever looked at them before."""
    x = constant([0.5, 2.0, 4.0])
    with GradientTape() as outer:
        outer.watch(x)
        with GradientTape() as inner:
            inner.watch(x)
            part = x[x > 1.0]
            y = np.sum(part**3)
        rows = inner.gradient(y, x)
    if looked_at:
        assert np.array_equal(rows.numpy(), [0, 12, 48])
    assert np.array_equal(outer.jacobian(rows, x).numpy(), np.diag([0, 12, 24]))


def test_rows_as_a_target():
    v = Variable(TABLE)
    with GradientTape(persistent=True) as outer:
        with GradientTape() as inner:
            y = np.sum(v[np.array([1, 1])] ** 3)
        rows = inner.gradient(y, v)
    expected = np.zeros((4, 3))
    expected[1] = 2 * 6 * TABLE[1]
    assert np.array_equal(np.asarray(outer.gradient(rows, v)), expected)
    weighed = outer.gradient(rows, v, output_gradients=np.array([[1.0] * 3, [0.0] * 3]))
    assert np.array_equal(np.asarray(weighed), expected / 2)


# -- what they can do ------------------------------------------------------------------------------------------------
@pytest.fixture
def rows():
    return IndexedSlices([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], [2, 0, 2], (3, 2))


DENSE_ROWS = np.array([[3.0, 4.0], [0.0, 0.0], [6.0, 8.0]])


def test_made_by_hand(rows):
    assert rows.shape == (3, 2) and rows.dtype == np.float64 and rows.ndim == 2 and len(rows) == 3
    assert np.array_equal(np.asarray(rows), DENSE_ROWS) and np.array_equal(rows.numpy(), DENSE_ROWS)
    assert np.asarray(rows, np.float32).dtype == np.float32
    with pytest.raises(ValueError, match="have no dense_shape"):
        np.asarray(IndexedSlices([1.0], [0]))


def test_scaling_keeps_rows(rows):
    for scaled in (rows * 2.0, 2.0 * rows, rows / 0.5, rows * constant(2.0), rows * np.float64(2.0)):
        assert isinstance(scaled, IndexedSlices)
        assert np.array_equal(scaled.values.numpy(), 2 * rows.values.numpy())
    assert isinstance(-rows, IndexedSlices) and np.array_equal(np.asarray(-rows), -DENSE_ROWS)


def test_adding_two_concatenates(rows):
    both = rows + rows
    assert isinstance(both, IndexedSlices) and both.indices.shape == (6,)
    assert np.array_equal(np.asarray(both), 2 * DENSE_ROWS)
    with pytest.raises(ValueError, match="different shapes"):
        rows + IndexedSlices([[1.0]], [0], (1, 1))


def test_other_arithmetic_is_dense(rows):
    for found, expected in [
        (rows + 1.0, DENSE_ROWS + 1),
        (1.0 + rows, DENSE_ROWS + 1),
        (rows - rows, DENSE_ROWS * 0),
        (rows * DENSE_ROWS, DENSE_ROWS**2),
        (np.sqrt(rows), np.sqrt(DENSE_ROWS)),
        (np.sum(rows, axis=0), DENSE_ROWS.sum(axis=0)),
        (rows @ np.ones(2), DENSE_ROWS @ np.ones(2)),
        (rows[0], DENSE_ROWS[0]),
        (rows.T, DENSE_ROWS.T),
        (np.concatenate([rows, rows]), np.concatenate([DENSE_ROWS, DENSE_ROWS])),
        (constant(DENSE_ROWS) + rows, 2 * DENSE_ROWS),
    ]:
        assert type(found) is tapec.Tensor
        assert np.array_equal(found.numpy(), expected)


def test_a_variable_takes_a_step_by_rows(rows):
    v = Variable(np.ones((3, 2)))
    assert np.array_equal(v.assign_sub(0.5 * rows).numpy(), 1 - 0.5 * DENSE_ROWS)
    assert np.array_equal(v.assign_add(0.5 * rows).numpy(), np.ones((3, 2)))
    with pytest.raises(ValueError, match="does not fit Variable"):
        Variable(np.ones((4, 2))).assign_sub(rows)


def test_how_they_print(rows):
    indices = "tapec.Tensor([2, 0, 2], shape=(3,), dtype=int64)"
    assert repr(rows).startswith(f"tapec.IndexedSlices(indices={indices}, values=tapec.Tensor(")


def test_training_an_embedding():
    rng = np.random.default_rng(0)
    table, index = Variable(np.zeros((50, 4))), np.array([3, 7, 3, 49])
    goal = rng.standard_normal((50, 4))
    for _ in range(200):
        with GradientTape() as tape:
            loss = np.sum((table[index] - goal[index]) ** 2)
        table.assign_sub(0.1 * tape.gradient(loss, table))
    np.testing.assert_allclose(table.numpy()[[3, 7, 49]], goal[[3, 7, 49]], rtol=1e-8)
    assert not np.delete(table.numpy(), [3, 7, 49], axis=0).any()


# -- in functions that are compiled --------------------------------------------------------------------------------
PLACES = [[0, 0, 1], [1, 2, 1], [-1, 0, -2]]


def rows_of(x, i):
    with GradientTape() as tape:
        tape.watch(x)
        y = np.sum(x[i] ** 2) + np.sum(np.take(x, i[::-1], axis=0) * 3.0)
    return tape.gradient(y, x)


def dense_rows(x, i):
    found = np.zeros_like(x)
    np.add.at(found, i, 2.0 * x[i])
    np.add.at(found, i[::-1], 3.0)
    return found


@pytest.mark.parametrize("read", [np.asarray, lambda rows: np.sin(rows) * 1.0, lambda rows: 2.0 * rows + 1.0])
def test_each_call_of_a_compiled_function_has_its_own_places(read):
    x = np.array([1.0, 2.0, 0.5])
    compiled = tapec.compile(lambda x, i: read(rows_of(x, i)))
    slope = tapec.grad(lambda x, i: np.sum(read(rows_of(x, i)) ** 2))
    for places in PLACES:
        i = np.array(places)
        np.testing.assert_allclose(compiled(x, i), read(dense_rows(x, i)), rtol=1e-12)
        by_differences = [
            np.sum(read(dense_rows(x + e, i)) ** 2 - read(dense_rows(x - e, i)) ** 2) / 2e-6 for e in 1e-6 * np.eye(3)
        ]
        np.testing.assert_allclose(slope(x, i), by_differences, rtol=1e-6)


def test_places_that_are_captured_or_computed():
    x = np.array([1.0, 2.0, 0.5])
    places = {"i": np.array([0, 2, 1])}
    captured = tapec.compile(lambda x: np.asarray(rows_of(x, places["i"])))
    sorted_ = tapec.compile(lambda x: np.asarray(rows_of(x, np.argsort(x))))
    for i in PLACES:
        places["i"] = np.array(i)
        np.testing.assert_allclose(captured(x), dense_rows(x, places["i"]), rtol=1e-12)
        x = x[::-1] * 1.5
        np.testing.assert_allclose(sorted_(x), dense_rows(x, np.argsort(x)), rtol=1e-12)


def test_an_array_of_recorded_rows_is_recorded():
    x = constant(np.array([1.0, 2.0, 0.5]))
    with GradientTape() as outer:
        outer.watch(x)
        y = np.sum(np.asarray(rows_of(x, np.array([0, 0, 1]))) ** 2)
    # rows are 2 x_0 twice and 2 x_1, with 3 for each place
    np.testing.assert_allclose(np.asarray(outer.gradient(y, x)), [2 * 4 * (4 * 1.0 + 6), 2 * 2 * (2 * 2.0 + 3), 0.0])
