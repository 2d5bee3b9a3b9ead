"""Functions of faces go straight to the tensors behind them where that is the same, and only there."""

import numpy as np
import pytest

import tapec.compat.tensorflow as tf
from tapec.compat.tensorflow import through

A = np.array([[2.0, 0.5, -1.0], [0.25, 3.0, 1.5], [-0.5, 1.0, 2.5]], np.float32)
STRAIGHT = {
    "sum": lambda x, v: np.sum(x, axis=0),
    "mean": lambda x, v: tf.reduce_mean(x, axis=[0, 1], keepdims=True),
    "std": lambda x, v: np.std(x),
    "argmax": lambda x, v: np.argmax(x, axis=1),
    "running sum": lambda x, v: tf.cumsum(x, axis=1),
    "reshape": lambda x, v: tf.reshape(x, (1, 9)),
    "the same shape": lambda x, v: tf.squeeze(x),
    "transpose": lambda x, v: tf.transpose(x, [1, 0]),
    "parts": lambda x, v: tf.split(x, 3, axis=1),
    "joined": lambda x, v: tf.concat([x, 2.0 * x], axis=1),
    "stacked": lambda x, v: np.stack((v, v), -1),
    "rows": lambda x, v: tf.gather(x, [2, 0, 2]),
    "columns": lambda x, v: np.take(x, tf.constant([1, 1]), axis=1),
    "where": lambda x, v: tf.where(x > 0.5, x, v),
    "einsum": lambda x, v: np.einsum("ij,j->i", x, v),
    "tensordot": lambda x, v: np.tensordot(x, x, axes=1),
    "dot": lambda x, v: np.dot(x, v),
    "solve": lambda x, v: np.linalg.solve(x, x),
    "norm": lambda x, v: np.linalg.norm(x, axis=0),
    "rounded": lambda x, v: np.round(x, 1),
}
NOT_STRAIGHT = {  # where numbers and arrays take the dtype of tensors
    "a number to be joined": lambda x, v: np.stack([v[0], 2]),
    "a factor": lambda x, v: np.dot(x, 2),
    "a choice": lambda x, v: np.where(x > 0.5, x, 1),
    "an array": lambda x, v: np.dot(x, np.ones(3)),
    "an array to be joined": lambda x, v: np.concatenate([x, np.ones((1, 3))]),
    "a truth value for each": lambda x, v: np.sum(x, axis=0, where=np.array([True, False, True])),
}


def found(f):
    x, v = tf.constant(A), tf.constant(A[0])
    with tf.GradientTape() as tape:
        tape.watch([x, v])
        y = f(x, v)
    first = y[0] if isinstance(y, list) else y
    assert all(type(part) is tf.Tensor for part in (y if isinstance(y, list) else [y]))
    slopes = tape.gradient(first, [x, v]) if first.dtype.kind == "f" else []
    kinds = [(type(g), tf.convert_to_tensor(g)) if g is not None else None for g in slopes]
    return y, [(first.dtype, first.numpy()), *[(k[0], k[1].dtype, k[1].numpy()) for k in kinds if k]], [x, v]


@pytest.mark.parametrize("name", [*STRAIGHT, *NOT_STRAIGHT])
def test_the_same_on_both_ways(name, monkeypatch):
    f = (STRAIGHT | NOT_STRAIGHT)[name]
    y, short, given = found(f)
    assert not any(y is x for x in given)  # as tf.identity has it
    assert short[0][0] == (np.int64 if name == "argmax" else np.float32)
    monkeypatch.setattr(through, "OF_TENSORS", {})
    monkeypatch.setattr("tapec.compat.tensorflow.faces.OF_TENSORS", {})
    _, long, _ = found(f)
    for a, b in zip(short, long, strict=True):
        assert a[:-1] == b[:-1]
        np.testing.assert_array_equal(a[-1], b[-1])


@pytest.mark.parametrize("name", STRAIGHT)
def test_it_is_straight(name, monkeypatch):
    def long_way(*args):
        raise AssertionError("the long way")

    monkeypatch.setattr(tf.Tensor, "_apply", long_way)
    found(STRAIGHT[name])


@pytest.mark.parametrize(
    "f",
    [
        lambda x, i: np.concatenate([x, i]),
        lambda x, i: np.where(x > 0, x, i),
        lambda x, i: np.tensordot(x, i, 1),
        lambda x, i: np.einsum("ij,jk", x, i),
    ],
)
def test_dtypes_do_not_mix(f):
    x, i = tf.constant(A), tf.constant(np.ones((3, 3), np.int32))
    with pytest.raises(tf.errors.InvalidArgumentError, match="do not go together"):
        f(x, i)


def test_numbers_alone_are_tensors_first():
    assert tf.add(1, 2).dtype == np.int32
    assert tf.math.divide_no_nan(tf.constant(A), 0.0).dtype == np.float32
