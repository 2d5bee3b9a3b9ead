"""NumPy's functions of TensorFlow's tensors: values and gradients of tapec's own tensors, dtypes of TensorFlow."""

import numpy as np
import pytest

import tapec
import tapec.compat.tensorflow as tf

A = np.array([[2.0, 0.5, -1.0], [0.25, 3.0, 1.5], [-0.5, 1.0, 2.5]], np.float32)
CALLS = {
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
    # numbers and arrays take the dtype of tensors
    "a number to be joined": lambda x, v: np.stack([v[0], 2]),
    "a factor": lambda x, v: np.dot(x, 2),
    "a choice": lambda x, v: np.where(x > 0.5, x, 1),
    "an array": lambda x, v: np.dot(x, np.ones(3)),
    "an array to be joined": lambda x, v: np.concatenate([x, np.ones((1, 3))]),
    "a truth value for each": lambda x, v: np.sum(x, axis=0, where=np.array([True, False, True])),
}


def first_and_gradients(f, module, x, v):
    with module.GradientTape() as tape:
        tape.watch([x, v])
        y = f(x, v)
        first = y[0] if isinstance(y, list) else y
        first = first._inner if module is tapec and isinstance(first, tf.Tensor) else first
    return y, first, tape.gradient(first, [x, v]) if first.dtype.kind == "f" else []


@pytest.mark.parametrize("name", CALLS)
def test_values_and_gradients_are_those_of_plain_tensors(name):
    x, v = tf.constant(A), tf.constant(A[0])
    y, first, gradients = first_and_gradients(CALLS[name], tf, x, v)
    assert all(type(part) is tf.Tensor for part in (y if isinstance(y, list) else [y]))
    assert not any(y is given for given in (x, v))  # as tf.identity has it
    assert first.dtype == (np.int64 if name == "argmax" else np.float32)
    _, plain, expected = first_and_gradients(CALLS[name], tapec, tapec.constant(A), tapec.constant(A[0]))
    np.testing.assert_allclose(first.numpy(), plain.numpy(), rtol=1e-5)
    for found, want in zip(gradients, expected, strict=True):
        assert (found is None) == (want is None)
        if found is not None:
            assert found.dtype == np.float32
            np.testing.assert_allclose(tf.convert_to_tensor(found).numpy(), np.asarray(want), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    "f",
    [
        lambda x, i: np.concatenate([x, i]),
        lambda x, i: np.where(x > 0, x, i),
        lambda x, i: np.tensordot(x, i, 1),
        lambda x, i: np.einsum("ij,jk", x, i),
        lambda x, i: np.einsum("ij,jk,kl", x, i, x),
        lambda x, i: np.einsum("ij,kl->ij", x, i),
    ],
)
def test_dtypes_do_not_mix(f):
    x, i = tf.constant(A), tf.constant(np.ones((3, 3), np.int32))
    with pytest.raises(tf.errors.InvalidArgumentError, match="do not go together"):
        f(x, i)


def test_numbers_alone_are_tensors_first():
    assert tf.add(1, 2).dtype == np.int32
    assert tf.math.divide_no_nan(tf.constant(A), 0.0).dtype == np.float32
