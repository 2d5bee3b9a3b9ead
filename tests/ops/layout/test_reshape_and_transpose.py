"""Layout, joining and splitting against NumPy, and their derivatives against differences."""

import numpy as np
import pytest

import tapec
from tapec.codegen import tuning
from tapec.ops.layout.reshape_and_transpose import unit_index
from tests.ops.derivatives import assert_same, check, leaves
from tests.properties import has

A, B, C, V, Z = np.random.default_rng(1).standard_normal((5, 24))
A = A.reshape(2, 3, 4)
B = B.reshape(2, 3, 4)
C = C[:12].reshape(3, 4)
V = V[:4]
S = np.float64(0.7)

NEW = hasattr(np, "unstack")  # NumPy 2.1

ONE = {
    "reshape": lambda x: np.reshape(x, (4, -1)),
    "reshape F": lambda x: np.reshape(x, (4, 6), order="F"),
    "reshape method": lambda x: x.reshape(6, 4),
    "reshape method tuple": lambda x: x.reshape((6, -1), order="F"),
    "ravel": lambda x: np.ravel(x) ** 2,
    "ravel F": lambda x: x.ravel("F"),
    "ravel A": lambda x: np.ravel(x.T, order="A"),
    "flatten": lambda x: x.flatten(),
    "transpose": lambda x: np.transpose(x, (1, 2, 0)),
    "transpose method": lambda x: x.transpose(2, 0, 1) + x.transpose((2, 0, 1)) + x.transpose(-1, 0, 1),
    "T": lambda x: x.T,
    "mT": lambda x: x.mT,
    "swapaxes": lambda x: np.swapaxes(x, 0, -1) * x.swapaxes(0, 2),
    "matrix_transpose": lambda x: np.matrix_transpose(x) + np.linalg.matrix_transpose(x),
    "moveaxis": lambda x: np.moveaxis(x, 0, -1),
    "moveaxis many": lambda x: np.moveaxis(x, (0, 1), (-1, 0)),
    "rollaxis": lambda x: np.rollaxis(x, 2),
    "rollaxis to": lambda x: np.rollaxis(x, 0, 2),
    "permute_dims": lambda x: np.permute_dims(x, (2, 1, 0)),
    "squeeze": lambda x: np.squeeze(x[:, :1]) + np.squeeze(x[:, :1], axis=1) + x[:, :1].squeeze(),
    "expand_dims": lambda x: np.expand_dims(x, (0, -1)),
    "broadcast_to": lambda x: np.broadcast_to(x, (5, 2, 3, 4)),
    "broadcast_arrays": lambda x: np.broadcast_arrays(x, np.arange(4.0), 1.0),
    "flip": lambda x: np.flip(x),
    "flip axis": lambda x: np.flip(x, 1),
    "flip axes": lambda x: np.flip(x, (0, 2)),
    "fliplr": lambda x: np.fliplr(x),
    "flipud": lambda x: np.flipud(x),
    "rot90": lambda x: np.rot90(x),
    "rot90 k": lambda x: [np.rot90(x, k, (1, 2)) for k in (-1, 0, 2, 3, 5)],
    "roll": lambda x: np.roll(x, 2),
    "roll axis": lambda x: np.roll(x, -5, 1),
    "roll axes": lambda x: np.roll(x, (1, 2), axis=(0, 2)),
    "roll broadcast": lambda x: np.roll(x, 1, axis=(0, 2)),
    "split": lambda x: np.split(x, 2, axis=2),
    "split at": lambda x: np.split(x, [1, 3], axis=2),
    "array_split": lambda x: np.array_split(x, 3, axis=2),
    "hsplit": lambda x: np.hsplit(x, 3),
    "vsplit": lambda x: np.vsplit(x, 2),
    "dsplit": lambda x: np.dsplit(x, [1]),
    **({"unstack": lambda x: np.unstack(x, axis=1)} if NEW else {}),
    "atleast_1d": lambda x: np.atleast_1d(x, x[0, 0, 0]),
    "atleast_2d": lambda x: np.atleast_2d(x[0, 0, 0], x[0, 0], x),
    "atleast_3d": lambda x: np.atleast_3d(x[0, 0, 0], x[0, 0], x[0], x),
    "tile": lambda x: np.tile(x, 2),
    "tile many": lambda x: np.tile(x, (2, 1, 3, 1)),
    "tile few": lambda x: np.tile(x, (2, 3)),
    "tile none": lambda x: np.tile(x, ()),
    "tile zero": lambda x: np.tile(x, (0, 1)),
    "repeat": lambda x: np.repeat(x, 3),
    "repeat axis": lambda x: np.repeat(x, 2, axis=1) * x.repeat(2, 1),
    "repeat array": lambda x: np.repeat(x, [2, 0, 1], axis=1),
    "repeat one": lambda x: np.repeat(x, [2], axis=1),
    "resize": lambda x: np.resize(x, (5, 7)),
    "resize less": lambda x: np.resize(x, (3, 2)),
    "append": lambda x: np.append(x, x[0] * 2),
    "append axis": lambda x: np.append(x, x[:1], axis=0),
    "insert": lambda x: np.insert(x, 1, 5.0),
    "insert row": lambda x: np.insert(x, 1, x[:, 0] * x[:, 0], axis=1),
    "insert block": lambda x: np.insert(x, [1], x[:, :2], axis=1),
    "insert many": lambda x: np.insert(x, [1, 2, 1, -1], x[0, 0, 0] * np.arange(4.0), axis=2),
    "insert slice": lambda x: np.insert(x, slice(0, 4, 2), np.array([7.0, 8.0]), axis=2),
    **({"insert mask": lambda x: np.insert(x, np.array([True, False, True]), 3.0, axis=1)} if NEW else {}),
    "insert none": lambda x: np.insert(x, [], 3.0, axis=1),
    "delete": lambda x: np.delete(x, 1),
    "delete axis": lambda x: np.delete(x, -1, axis=2),
    "delete many": lambda x: np.delete(x, [0, 2], axis=2),
    "delete slice": lambda x: np.delete(x, slice(None, None, 2), axis=2),
    "delete mask": lambda x: np.delete(x, np.array([False, True, False]), axis=1),
    "delete all": lambda x: np.delete(x, [0, 1], axis=0),
    "delete none": lambda x: np.delete(x, [], axis=0),
    "delete scattered": lambda x: np.delete(x, np.arange(1, 24, 3)),
    "astype": lambda x: x.astype(complex) * 1j,
}

TWO = {
    "concatenate": lambda x, y: np.concatenate((x, y), axis=1),
    "concatenate flat": lambda x, y: np.concatenate([x, y * y], axis=None),
    "concat": lambda x, y: np.concat([x, y], axis=-1),
    "concatenate dtype": lambda x, y: np.concatenate([x, y], dtype=complex),
    "concatenate constant": lambda x, y: np.concatenate([x * y, np.ones((1, 3, 4))]),
    "stack": lambda x, y: np.stack([x, y], axis=-1),
    "stack ints": lambda x, y: np.stack([x, y, np.ones((2, 3, 4), int)], axis=1),
    "vstack": lambda x, y: np.vstack((x, y)),
    "hstack": lambda x, y: np.hstack((x, y)),
    "dstack": lambda x, y: np.dstack((x, y)),
    "vstack rows": lambda x, y: np.vstack((x[0, 0], y[0, 1], y[1])),
    "vstack vectors": lambda x, y: np.vstack((x[0, 0], y[0, 1])),
    "hstack vectors": lambda x, y: np.hstack((x[0, 0], y[0, 1], x[0, 0, 0])),
    "column_stack": lambda x, y: np.column_stack((x[0, :, 0], y[0], x[1, :, 1])),
    "column_stack vectors": lambda x, y: np.column_stack((x[0, :, 0], y[0, :, 1])),
    "dstack vectors": lambda x, y: np.dstack((x[0, 0], y[0, 0])),
    "block": lambda x, y: np.block([[x, y], [y, x * y]]),
    "block mixed": lambda x, y: np.block([x[0, 0], y[0, 0, 0], 2.0]),
    "block one": lambda x, y: np.block(x * y),
}


@pytest.mark.parametrize("name", ONE)
def test_one(name):
    check(ONE[name], A)


@pytest.mark.parametrize("name", TWO)
def test_two(name):
    check(TWO[name], A, B)


def test_complex():
    z = A + 1j * B
    check(lambda z: np.concatenate([z.reshape(6, 4), np.ones((1, 4))]).T, z)
    check(lambda z, x: np.stack([z, x * z]), z, A)


def test_method_order_keeps_memory_order():
    x = np.asfortranarray(A)
    assert_same(np.ravel(tapec.constant(x), order="A"), np.ravel(x, order="A"))


FAR = np.zeros((4, 6, 8))[::2, ::2, ::2]
LYING = [A, np.asfortranarray(A), FAR, FAR.transpose(1, 2, 0), A.transpose(2, 0, 1), A[:, ::-1], A[::-1].T, A[:1], A]
FAR[...] = A


@pytest.mark.parametrize("order", ["C", "F", "A", "K"])
@pytest.mark.parametrize("f", [np.ravel, lambda x, order: x.T.ravel(order), lambda x, order: x.flatten(order)])
def test_one_function_for_arrays_that_lie_otherwise(f, order):
    found = tapec.compile(lambda x: f(x, order))
    for x in LYING:
        assert_same(found(x), f(x, order))


def test_asking_for_strides_records_anew():
    f = tapec.compile(lambda x: x * 2.0 if x.flags.c_contiguous else x * 3.0)
    for x in (A, A.T, A):
        assert_same(f(x), x * (2.0 if x is A else 3.0))


@pytest.mark.parametrize(
    "f, kind",
    [
        (lambda x: np.reshape(x, (5, 5)), ValueError),
        (lambda x: np.reshape(x, (-1, -1)), ValueError),
        (lambda x: np.reshape(x, (-1, 5)), ValueError),
        (lambda x: np.transpose(x, (0, 1)), ValueError),
        (lambda x: np.transpose(x, (0, 1, 1)), ValueError),
        (lambda x: np.transpose(x, (0, 1, 3)), np.exceptions.AxisError),
        (lambda x: np.swapaxes(x, 0, 3), np.exceptions.AxisError),
        (lambda x: np.moveaxis(x, (0, 0), (1, 2)), ValueError),
        (lambda x: np.moveaxis(x, 0, (1, 2)), ValueError),
        (lambda x: np.rollaxis(x, 0, 4), np.exceptions.AxisError),
        (lambda x: np.squeeze(x, 0), ValueError),
        (lambda x: np.expand_dims(x, (0, 0)), ValueError),
        (lambda x: np.broadcast_to(x, (3, 4)), ValueError),
        (lambda x: np.concatenate([x, x[0]]), ValueError),
        (lambda x: np.concatenate([x, x[:, :2]]), ValueError),
        (lambda x: np.concatenate([x, x], axis=3), np.exceptions.AxisError),
        (lambda x: np.stack([x, x[0]]), ValueError),
        (lambda x: np.split(x, 3, axis=2), ValueError),
        (lambda x: np.array_split(x, 0), ValueError),
        (lambda x: np.dsplit(x[0], 2), ValueError),
        (lambda x: np.delete(x, 30), IndexError),
        (lambda x: np.insert(x, 30, 0.0), IndexError),
        (lambda x: np.block([[x], x]), ValueError),
        (lambda x: np.block((x, x)), TypeError),
        (lambda x: np.tile(x, (-1,)), ValueError),
        (lambda x: np.roll(x, 1, axis=3), np.exceptions.AxisError),
        (lambda x: np.flip(x, 3), np.exceptions.AxisError),
        (lambda x: np.rot90(x, 1, (0, 0)), ValueError),
        (lambda x: np.rot90(x, 1, (0, 5)), ValueError),
        (lambda x: np.repeat(x, [1, 2], axis=1), ValueError),
        (lambda x: np.repeat(x, -1), ValueError),
    ],
)
def test_errors_are_of_the_kind_that_numpy_raises(f, kind):
    with pytest.raises(kind):
        f(A)
    with pytest.raises(kind):
        f(tapec.constant(A))


@pytest.mark.parametrize(
    "old, new, index",
    [
        ((3,), (3, 1), ":, None"),
        ((3,), (1, 3), "None"),
        ((2, 3), (2, 3, 1), "..., None"),
        ((2, 3), (2, 1, 3), ":, None"),
        ((2, 3, 4), (2, 3, 1, 4), ":, :, None"),
        ((), (1,), "None"),
        ((3, 1), (3,), ":, 0"),
        ((1, 3), (3,), "0"),
        ((2, 3, 1), (2, 3), "..., 0"),
        ((1, 3, 1), (3,), "0, :, 0"),
        ((2, 3), (3, 2), None),
        ((2, 3), (6,), None),
    ],
)
def test_reshape_by_unit_axes_is_an_index(old, new, index):
    assert unit_index(old, new) == index
    if index is not None:
        assert eval(f"x[{index}]", {"x": np.zeros(old)}).shape == new


def test_views_of_scalars():
    check(lambda s: np.broadcast_to(s, (2, 2)) * np.reshape(s, (1, 1)) * np.expand_dims(s, 0), S)


def test_splits_are_lists():
    x = tapec.constant(A)
    assert isinstance(np.split(x, 2), list) and len(list(leaves(np.array_split(x, 3, axis=2)))) == 3


@pytest.mark.parametrize("axis", [None, 0, -1])
def test_a_number_is_one_element_along_an_axis(axis):
    def f(x):
        taken = np.take(x, [0, 0], axis=axis) * np.compress([True], x, axis=axis)
        return np.sum(np.repeat(x, 3, axis=axis)) + np.sum(taken)

    assert tapec.value_and_grad(f)(2.0) == (14.0, 11.0) == (f(2.0), 3 + 4 * 2.0)


N = 1 << 10


@pytest.fixture
def rolled_by_numpy(monkeypatch):
    """Arrays of any size are rolled by NumPy; those of few bytes are put together from slices else."""
    monkeypatch.setattr(tuning, "SLICED_ROLL_MAX_BYTES", 0)


@pytest.mark.parametrize(("shift", "shorter"), [(1, 1), (-1, -1), (N - 1, -1), (2 * N + 2, 2), (2 - 2 * N, 2)])
def test_code_rolls_by_the_shorter_way(shift, shorter, rolled_by_numpy):
    x = np.arange(N, dtype=np.float32)
    f = tapec.compile(lambda x: np.roll(x, shift))
    np.testing.assert_array_equal(f(x), np.roll(x, shift))
    assert has(f.source(), f"np.roll(x, {shorter})")


def test_code_rolls_along_several_axes_by_the_shorter_way(rolled_by_numpy):
    x = np.arange(N, dtype=np.float32).reshape(32, -1)
    f = tapec.compile(lambda x: np.roll(x, (1, -2), (0, 1)))
    np.testing.assert_array_equal(f(x), np.roll(x, (1, -2), (0, 1)))
    assert has(f.source(), "np.roll(x, (1, -2), axis=(0, 1))")
