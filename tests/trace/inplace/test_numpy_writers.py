"""NumPy's functions that change an array in place."""

import operator
import tracemalloc

import numpy as np
import pytest

import tapec
from tapec.errors import InPlaceError
from tests.trace.inplace.test_assign import check, loss, outcome, slope

MASK = np.arange(12).reshape(3, 4) % 3 == 0
ROWS, COLUMNS = np.array([2, 0, 2]), np.array([1, 3, 1])
WRITES = {
    "copyto where": lambda y, x: np.copyto(y, x, where=MASK),
    "copyto where, a whole number": lambda y, x: np.copyto(y, 2, where=MASK),
    "copyto where, an array": lambda y, x: np.copyto(y, np.arange(12.0).reshape(3, 4), where=MASK),
    "copyto of a row": lambda y, x: np.copyto(y, x[1]),
    "copyto of a column": lambda y, x: np.copyto(y, x[:, :1]),
    "copyto of a whole number": lambda y, x: np.copyto(y, 2),
    "all of it by one element": lambda y, x: operator.setitem(y, ..., x[1, 2]),
    "all of it by a number of NumPy's": lambda y, x: operator.setitem(y, slice(None), np.float64(0.5)),
    "copyto where, one element": lambda y, x: np.copyto(y, x[0, 1], where=MASK),
    "putmask": lambda y, x: np.putmask(y, MASK, x),
    "putmask with a number": lambda y, x: np.putmask(y, x > 0.2, 0.5),
    "putmask that repeats": lambda y, x: np.putmask(y, MASK, x[:, 0]),
    "putmask of another shape": lambda y, x: np.putmask(y, MASK.ravel(), x),
    "place of another shape": lambda y, x: np.place(y, MASK.reshape(-1, 1), x[0]),
    "place": lambda y, x: np.place(y, MASK, [0.5]),
    "place that repeats": lambda y, x: np.place(y, MASK, x[0]),
    "put": lambda y, x: np.put(y, np.array([1, 5, 1]), x[:, 1]),
    "put a number": lambda y, x: np.put(y, np.array([1, 5, 11]), 0.5),
    "put from the end": lambda y, x: np.put(y, np.array([1, -1]), 0.5),
    "put by a list": lambda y, x: np.put(y[0], [1, 3], x[0, :2]),
    "put by truth values": lambda y, x: np.put(y, np.array([True, False]), 0.5),
    "diagonal": lambda y, x: np.fill_diagonal(y, 0.5),
    "diagonal of one element": lambda y, x: np.fill_diagonal(y, x[0, 1]),
    "diagonal of a part": lambda y, x: np.fill_diagonal(y[:, 2:], x[0, :2]),
    "diagonal of values": lambda y, x: np.fill_diagonal(y, x[0]),
    "along an axis": lambda y, x: np.put_along_axis(y, ROWS[:, None], 0.5, 1),
    "along an axis, values": lambda y, x: np.put_along_axis(y, ROWS[:, None], x[:, :1], 1),
    "add.at": lambda y, x: np.add.at(y, ROWS, 1.0),
    "add.at of values": lambda y, x: np.add.at(y, ROWS, x),
    "add.at of a row": lambda y, x: np.add.at(y, ROWS, x[0]),
    "add.at of one element": lambda y, x: np.add.at(y, (ROWS, COLUMNS), x[0, 1]),
    "add.at of an array that repeats": lambda y, x: np.add.at(y, ROWS, np.arange(4.0)),
    "add.at of an array": lambda y, x: np.add.at(y, (ROWS, COLUMNS), np.arange(3)),
    "add.at by a mask": lambda y, x: np.add.at(y, MASK, 0.5),
    "add.at by slices": lambda y, x: np.add.at(y, (slice(1, None), 2), x[:2, 0]),
    "subtract.at": lambda y, x: np.subtract.at(y, (ROWS, COLUMNS), x[:, 0]),
    "multiply.at": lambda y, x: np.multiply.at(y, (ROWS, COLUMNS), np.array([2.0, 0.5, 3.0])),
    "multiply.at of values": lambda y, x: np.multiply.at(y, (ROWS, COLUMNS), x[:, 0]),
    "maximum.at": lambda y, x: np.maximum.at(y, ROWS, 0.1),
    "minimum.at": lambda y, x: np.minimum.at(y, [0, 0, 1], np.array([[0.1], [-0.2], [0.3]])),
    "rows of a mask": lambda y, x: operator.setitem(y, np.array([True, False, True]), 0.5),
    "rows of a mask, recorded": lambda y, x: operator.setitem(y, x[:, 0] > 0, 0.5),
    "a scalar where a mask is true": lambda y, x: operator.setitem(y, MASK, x[0, 1]),
    "a row where rows are": lambda y, x: operator.setitem(y, np.array([True, False, True]), x[0]),
    "more where a mask is true": lambda y, x: operator.setitem(y, MASK, y[MASK] * 2.0),
    "row of a row": lambda y, x: operator.setitem(y[1], 2, x[0, 0]),
    "rows of rows": lambda y, x: operator.setitem(y[1:], ROWS % 2, x),
    "mask of a part": lambda y, x: operator.setitem(y[:, 1:], MASK[:, 1:], 0.5),
    "column": lambda y, x: np.copyto(y[:, 2], x[:, 0]),
    "sum into a row": lambda y, x: np.sum(x, axis=0, out=y[1]),
    "sum": lambda y, x: np.sum(x[None] * x, axis=0, out=y),
    "clip": lambda y, x: np.clip(x, -0.5, 0.5, out=y),
    "where": lambda y, x: np.divide(1.0, x, out=y, where=x > 0.2),
    "where, in single precision": lambda y, x: np.multiply(x, np.float32(3.0), out=y, where=MASK),
    "flat": lambda y, x: operator.setitem(y.flat, 5, 0.5),
    "all that is flat": lambda y, x: setattr(y, "flat", 0.5),
    "columns of a list": lambda y, x: operator.setitem(y, (slice(None), [0, 2]), 0.5),
    "columns of a mask": lambda y, x: operator.setitem(y, (slice(None), MASK[0]), 0.5),
    "rows and columns of a mask": lambda y, x: operator.setitem(y, (slice(1, None), x[0] > 0.2), x[1:, :1]),
    "transposed": lambda y, x: operator.setitem(y.T, 0, x[:, 1]),
}


@pytest.mark.sampled(one_in=4, per="name")
@pytest.mark.parametrize("name", WRITES)
@pytest.mark.parametrize("start", [np.copy, lambda x: x * 1.0, lambda x: (x.T * x.T).T, lambda x: (x * x[:, :1])[:, :]])
def test_each_write_twice(name, start):
    def f(x):
        y = start(x)
        before, first = y * x, y[0]
        WRITES[name](y, x)
        WRITES[name](y, x)
        return [y, before, first, y[1]]

    x = np.cos(np.arange(12.0).reshape(3, 4))

    results = [outcome(f, x) for _ in range(3)]
    rounding = 1e-14 if ".at" in name else 5e-16  # what comes to one place is put together before
    for values, gradient, _ in results:
        for got, want in zip(values, f(x.copy()), strict=True):
            np.testing.assert_allclose(got, want, rtol=rounding)
        np.testing.assert_allclose(gradient, results[0][1], rtol=1e-13, atol=1e-15)
    d = np.sin(x)
    want = slope(lambda x: loss(f(x.copy())), x, d, h=1e-4)
    assert np.sum(results[0][1] * d) == pytest.approx(want, rel=1e-6, abs=1e-7)


@pytest.mark.parametrize("name", WRITES)
def test_each_record_knows_the_line(name):
    change = WRITES[name]
    x = tapec.constant(np.cos(np.arange(12.0).reshape(3, 4)))
    with tapec.GradientTape() as tape:
        tape.watch(x)
        y = x * 1.0
        for _ in range(3):
            change(y, x)
            y[1].numpy()  # what shares memory is read anew
    lines = {entry[4] for entry in tape.log.records if entry[6] is not None}
    assert lines == {change.__code__}


@pytest.mark.parametrize("name", [name for name in WRITES if not name.startswith(("add.at of", "multiply.at"))])
def test_compiled_and_to_the_second_order(name):
    def f(x):
        y = x * 1.0
        WRITES[name](y, x)
        WRITES[name](y, x)
        return [y, y[0]]

    check(f, (3, 4))


def test_indices_and_masks_may_change_later():
    for _ in range(3):
        t = tapec.constant(np.arange(12.0).reshape(3, 4) / 7.0)
        rows, mask, flags, values = ROWS.copy(), MASK.copy(), np.array([True, False, True]), np.ones((3, 4))
        with tapec.GradientTape() as tape:
            tape.watch(t)
            y = t * 2.0
            np.add.at(y, rows, t)
            np.copyto(y, values, where=mask)
            np.put(y, rows, 0.25)
            y[flags] *= 2.0
            y[mask] += t[mask]
            np.put_along_axis(y, rows[:, None], 0.5, 1)
            for a in (rows, mask, flags):
                a[:] = 1
            values[:] = 7.0
            total = np.sum(y * y)

        def plain(x):
            y = x * 2.0
            np.add.at(y, ROWS, x)
            np.copyto(y, 1.0, where=MASK)
            np.put(y, ROWS, 0.25)
            y[[0, 2]] *= 2.0
            y[MASK] += x[MASK]
            np.put_along_axis(y, ROWS[:, None], 0.5, 1)
            return np.sum(y * y)

        assert total.numpy() == pytest.approx(plain(t.numpy()), rel=1e-14)
        d = np.cos(t.numpy())
        found = np.sum(tape.gradient(total, t).numpy() * d)
        assert found == pytest.approx(slope(plain, t.numpy(), d), rel=1e-7)


def test_masks_of_other_classes():
    """Nothing is taken for a mask that is none of NumPy's own arrays."""

    class Own(np.ndarray):
        pass

    for _ in range(3):
        t = tapec.constant(np.ones((3, 4)))
        with tapec.GradientTape() as tape:
            tape.watch(t)
            y = t * 1.0
            np.copyto(y, 3.0, where=MASK.view(Own))
            np.putmask(y, MASK.view(Own), 2.0)
        np.testing.assert_array_equal(y.numpy(), np.where(MASK, 2.0, 1.0))


@pytest.mark.parametrize("ufunc", [np.add, np.subtract, np.multiply, np.maximum, np.minimum])
@pytest.mark.parametrize("of_values", [False, True])
def test_zeros_keep_their_signs_at_other_places(ufunc, of_values):
    x = np.array([-0.0, 0.0, 1.0, -0.0])
    t = tapec.constant(x)
    with tapec.GradientTape() as tape:
        tape.watch(t)
        y, plain = t * 1.0, x * 1.0
        ufunc.at(y, [2, 2], t[2:] + 2.0 if of_values else 2.0)
        ufunc.at(plain, [2, 2], x[2:] + 2.0 if of_values else 2.0)
    np.testing.assert_array_equal(np.signbit(y.numpy()), np.signbit(plain))


def test_small_types_stay():
    for _ in range(3):
        t = tapec.constant(np.arange(6, dtype=np.float32))
        with tapec.GradientTape() as tape:
            tape.watch(t)
            y = t * np.float32(1.0)
            plain = t.numpy() * np.float32(1.0)
            for z in (y, plain):
                np.add.at(z, [0, 0, 1], 0.1)
                np.copyto(z, 0.3, where=np.arange(6) > 4)
                np.copyto(z, np.float64(0.7), where=np.arange(6) == 3)
                np.multiply.at(z, [2], 3)
                z[np.arange(6) == 1] = 5
                np.put(z, [3], 1e-3)
        assert y.dtype == np.float32
        np.testing.assert_array_equal(y.numpy(), plain)


NOT_DONE = {
    "float into integers": (lambda y: np.copyto(y.astype(int), 0.5, where=MASK), TypeError),
    "complex": (lambda y: np.copyto(y, 1j, where=MASK), TypeError),
    "no such row": (lambda y: np.add.at(y, [3], 1.0), IndexError),
    "no such place": (lambda y: np.put(y, np.array([12]), 1.0), IndexError),
    "too many": (lambda y: np.add.at(y, ROWS, np.ones(5)), ValueError),
    "another mask": (lambda y: np.copyto(y, 1.0, where=np.ones((2, 4), bool)), ValueError),
    "flat diagonal": (lambda y: np.fill_diagonal(y[0], 1.0), ValueError),
    "places that are no whole numbers": (lambda y: np.put(y, np.array([0.5]), 1.0), TypeError),
}


@pytest.mark.parametrize("name", NOT_DONE)
def test_refused_as_numpy_does_and_nothing_has_changed(name):
    change, error = NOT_DONE[name]
    with pytest.raises(error):
        change(np.arange(12.0).reshape(3, 4))
    t = tapec.constant(np.arange(12.0).reshape(3, 4))
    for _ in range(3):
        with tapec.GradientTape() as tape:
            tape.watch(t)
            y = t * 1.0
            with pytest.raises(error):
                change(y)
            total = np.sum(y * y)
        np.testing.assert_array_equal(y.numpy(), t.numpy())
        np.testing.assert_array_equal(tape.gradient(total, t).numpy(), 2.0 * t.numpy())


def test_changes_at_once_ask_whether_they_may():
    changes = (WRITES[name] for name in WRITES if "of values" not in name)
    for change in changes:
        t = tapec.constant(np.cos(np.arange(12.0).reshape(3, 4)))
        before = t.numpy()
        with tapec.GradientTape() as tape:
            tape.watch(t)
            with pytest.raises(InPlaceError):
                change(t, before)
        np.testing.assert_array_equal(t.numpy(), before)


def left_alone(change):
    """A recorded tensor after what NumPy does not take for a change, and its gradient."""
    t = tapec.constant(np.arange(9.0).reshape(3, 3))
    with tapec.GradientTape() as tape:
        tape.watch(t)
        y = t * 2.0
        change(y)
        total = np.sum(y * y)
    np.testing.assert_array_equal(y.numpy(), 2.0 * t.numpy())
    np.testing.assert_allclose(tape.gradient(total, t).numpy(), 8.0 * t.numpy(), rtol=1e-15)


@pytest.mark.parametrize("none", [[], np.zeros(0), np.zeros((0, 2)), tapec.constant(np.zeros(0))])
def test_no_values_change_nothing(none):
    left_alone(lambda y: np.put(y, [0, 2], none))
    left_alone(lambda y: np.put(y, [100], none))
    left_alone(lambda y: np.putmask(y, MASK[:, :3], none))
    left_alone(lambda y: np.fill_diagonal(y, none))
    left_alone(lambda y: operator.setitem(y.flat, slice(2), none))
    with pytest.raises(ValueError, match="Cannot insert from an empty array"):
        left_alone(lambda y: np.place(y, MASK[:, :3], none))


@pytest.mark.parametrize("function", [np.place, np.putmask])
def test_arrays_that_would_lose_digits_are_refused(function):
    """As NumPy does it: lists and scalars are converted."""
    mask = np.array([True, False, True])
    for values in (np.array([0.1, 0.2]), np.array([1, 2]), [0.1, 0.2], 0.1, np.float64(0.1), np.array([3], np.int8)):
        plain, t = np.ones(3, np.float32), tapec.constant(np.ones(3, np.float32))
        with tapec.GradientTape() as tape:
            tape.watch(t)
            y = t * np.float32(1.0)
            try:
                function(plain, mask, values)
            except TypeError:
                with pytest.raises(TypeError, match="according to the rule 'safe'"):
                    function(y, mask, values)
                with pytest.raises(TypeError, match="according to the rule 'safe'"):
                    function(y, mask, tapec.constant(values))
            else:
                function(y, mask, values)
        np.testing.assert_array_equal(y.numpy(), plain)


def test_copyto_of_an_array_to_itself_does_nothing():
    def f(x):
        y = np.broadcast_to(x, (2, 3))
        np.copyto(y, y)
        return np.sum(y * y)

    x = np.array([1.0, 2.0, 3.0])
    assert tapec.value_and_grad(f)(x)[1].tolist() == [4.0, 8.0, 12.0] and f(x) == tapec.compile(f)(x)


def test_one_number_is_placed_by_one_path_however_many_places_there_are():
    def f(x):
        y = x * 1.0
        np.place(y, x > 0.0, [0.5])
        return y

    g = tapec.compile(f)
    for x in (np.array([1.0, -1.0, 2.0]), np.array([-1.0, -1.0, 2.0]), -np.ones(3)):
        np.testing.assert_array_equal(g(x), f(x))
    assert g.cache_info().misses == 1


@pytest.mark.parametrize("shape", [(4,), (2, 2)])
def test_captured_truth_values_are_the_places_0_and_1(shape):
    places = np.array([True, False])

    def f(x):
        y = x * 1.0
        np.put(y, places, 7.0)
        return y

    x = np.arange(4.0).reshape(shape)
    np.testing.assert_array_equal(tapec.compile(f)(x), f(x))
    np.testing.assert_array_equal(f(tapec.constant(x)).numpy(), f(x))


def test_a_loop_that_fills_keeps_one_array_for_each_value():
    x = tapec.constant(np.ones(50_000))

    def held(count):
        with tapec.GradientTape() as tape:
            tape.watch(x)
            y = x * 2.0
            tracemalloc.start()
            for k in range(count):
                y.fill(k)
            bytes_held = tracemalloc.get_traced_memory()[0]
            tracemalloc.stop()
        return bytes_held

    assert held(10) < 10.5 * 400_000


@pytest.mark.parametrize("where", [True, np.array([True, False, True])])
def test_copyto_drops_leading_axes_of_length_one(where):
    def value(y):
        v = y * 2.0
        np.copyto(v, np.atleast_3d(y).reshape(1, 1, 3) * 3.0, where=where)
        np.copyto(v[:2], np.array([[1.0, 2.0]]), where=[True, False])
        return np.sum(np.sin(v))

    y = np.array([0.1, 0.2, 0.3])
    found, gradient = tapec.value_and_grad(value)(y)
    np.testing.assert_allclose(found, value(y))
    numeric = [(value(y + h) - value(y - h)) / 2e-6 for h in 1e-6 * np.eye(3)]
    np.testing.assert_allclose(gradient, numeric, rtol=1e-7, atol=1e-9)
    with pytest.raises(ValueError):
        tapec.grad(lambda y: np.sum([np.copyto(v := y * 2.0, np.ones((2, 3))), v][1]))(y)
