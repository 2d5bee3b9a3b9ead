"""The names of TensorFlow that tutorials of GradientTape use: values against NumPy, gradients against differences."""

import inspect

import numpy as np
import pytest
from scipy import special

import tapec.compat.tensorflow as tf
from tapec.compat.tensorflow import math, nn
from tapec.errors import UnsupportedError
from tests.properties import functions, parameters

X = np.array([[0.3, -0.7, 1.2], [0.5, 0.9, -0.4]], np.float32)
POSITIVE = np.abs(X) + 0.5
SQUARE = np.array([[2.0, 0.5, 0.1], [0.5, 3.0, 0.4], [0.1, 0.4, 1.5]])


def values_and_gradients(f, x):
    """f at x in float64, and its gradient, against differences."""
    tx = tf.constant(np.asarray(x, np.float64))
    with tf.GradientTape() as tape:
        tape.watch(tx)
        y = f(tx)
    gradient = tape.gradient(y, tx, unconnected_gradients="zero").numpy()
    step = 1e-6
    for i in np.ndindex(tx.shape):
        up, down = tx.numpy(), tx.numpy()
        up[i] += step
        down[i] -= step
        slope = np.sum(f(tf.constant(up)).numpy() - f(tf.constant(down)).numpy()) / (2 * step)
        assert gradient[i] == pytest.approx(slope, rel=1e-5, abs=1e-7)
    return y.numpy()


SMOOTH = {
    "acos": (tf.acos, np.arccos, X / 2),
    "acosh": (tf.acosh, np.arccosh, POSITIVE + 1),
    "asin": (tf.asin, np.arcsin, X / 2),
    "asinh": (tf.asinh, np.arcsinh, X),
    "atan": (tf.atan, np.arctan, X),
    "atanh": (tf.atanh, np.arctanh, X / 2),
    "cos": (tf.cos, np.cos, X),
    "cosh": (tf.cosh, np.cosh, X),
    "exp": (tf.exp, np.exp, X),
    "expm1": (math.expm1, np.expm1, X),
    "log": (math.log, np.log, POSITIVE),
    "log1p": (math.log1p, np.log1p, POSITIVE),
    "negative": (tf.negative, np.negative, X),
    "reciprocal": (math.reciprocal, np.reciprocal, POSITIVE),
    "rsqrt": (math.rsqrt, lambda x: x**-0.5, POSITIVE),
    "sigmoid": (tf.sigmoid, lambda x: 1 / (1 + np.exp(-x)), X),
    "sin": (tf.sin, np.sin, X),
    "sinh": (tf.sinh, np.sinh, X),
    "softplus": (nn.softplus, lambda x: np.log1p(np.exp(x)), X),
    "softsign": (nn.softsign, lambda x: x / (1 + np.abs(x)), X),
    "sqrt": (tf.sqrt, np.sqrt, POSITIVE),
    "square": (tf.square, np.square, X),
    "tan": (tf.tan, np.tan, X),
    "tanh": (tf.tanh, np.tanh, X),
    "abs": (tf.abs, np.abs, X),
    "relu": (nn.relu, lambda x: np.maximum(x, 0), X),
    "relu6": (nn.relu6, lambda x: np.clip(x, 0, 6), X * 9),
    "leaky_relu": (nn.leaky_relu, lambda x: np.where(x > 0, x, 0.2 * x), X),
    "elu": (nn.elu, lambda x: np.where(x > 0, x, np.expm1(x)), X),
    "selu": (nn.selu, lambda x: 1.05070098 * np.where(x > 0, x, 1.67326324 * np.expm1(x)), X),
    "silu": (nn.silu, lambda x: x / (1 + np.exp(-x)), X),
    "gelu, approximate": (
        lambda x: nn.gelu(x, approximate=True),
        lambda x: 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))),
        X,
    ),
    "softmax": (nn.softmax, lambda x: np.exp(x) / np.exp(x).sum(-1, keepdims=True), X),
    "log_softmax": (nn.log_softmax, lambda x: x - np.log(np.exp(x).sum(-1, keepdims=True)), X),
    "l2_loss": (nn.l2_loss, lambda x: np.sum(x * x) / 2, X),
    "l2_normalize": (lambda x: nn.l2_normalize(x, axis=1), lambda x: x / np.sqrt((x * x).sum(1, keepdims=True)), X),
    "reduce_sum": (tf.reduce_sum, np.sum, X),
    "reduce_sum, axis": (lambda x: tf.reduce_sum(x, axis=[0, 1], keepdims=True), lambda x: x.sum(keepdims=True), X),
    "reduce_mean": (lambda x: tf.reduce_mean(x, 1), lambda x: x.mean(1), X),
    "reduce_prod": (lambda x: tf.reduce_prod(x, -1), lambda x: x.prod(-1), X),
    "reduce_max": (lambda x: tf.reduce_max(x, 0), lambda x: x.max(0), X),
    "reduce_min": (tf.reduce_min, np.min, X),
    "reduce_std": (math.reduce_std, np.std, X),
    "reduce_variance": (lambda x: math.reduce_variance(x, 1), lambda x: x.var(1), X),
    "reduce_logsumexp": (tf.reduce_logsumexp, lambda x: np.log(np.exp(x).sum()), X),
    "reduce_logsumexp, axis": (
        lambda x: tf.reduce_logsumexp(x, axis=1, keepdims=True),
        lambda x: np.log(np.exp(x).sum(1, keepdims=True)),
        X,
    ),
    "cumsum": (lambda x: tf.cumsum(x, axis=1), lambda x: np.cumsum(x, 1), X),
    "cumsum, exclusive": (
        lambda x: tf.cumsum(x, axis=1, exclusive=True),
        lambda x: np.cumsum(x, 1) - x,
        X,
    ),
    "cumsum, reversed": (
        lambda x: tf.cumsum(x, axis=1, reverse=True),
        lambda x: np.cumsum(x[:, ::-1], 1)[:, ::-1],
        X,
    ),
    "cumprod": (lambda x: math.cumprod(x, axis=1), lambda x: np.cumprod(x, 1), X),
    "reshape": (lambda x: tf.reshape(x, [3, -1]), lambda x: x.reshape(3, 2), X),
    "transpose": (tf.transpose, np.transpose, X),
    "transpose, perm": (lambda x: tf.transpose(x, perm=[1, 0]), np.transpose, X),
    "expand_dims": (lambda x: tf.expand_dims(x, 1), lambda x: x[:, None], X),
    "squeeze": (lambda x: tf.squeeze(x[:1], [0]), lambda x: x[0], X),
    "tile": (lambda x: tf.tile(x, [2, 1]), lambda x: np.tile(x, (2, 1)), X),
    "repeat": (lambda x: tf.repeat(x, 2, axis=1), lambda x: np.repeat(x, 2, 1), X),
    "roll": (lambda x: tf.roll(x, 1, 1), lambda x: np.roll(x, 1, 1), X),
    "reverse": (lambda x: tf.reverse(x, [1]), lambda x: x[:, ::-1], X),
    "pad": (lambda x: tf.pad(x, [[0, 1], [2, 0]]), lambda x: np.pad(x, [(0, 1), (2, 0)]), X),
    "broadcast_to": (lambda x: tf.broadcast_to(x, [2, 2, 3]), lambda x: np.broadcast_to(x, (2, 2, 3)), X),
    "slice": (lambda x: tf.slice(x, [0, 1], [-1, 2]), lambda x: x[:, 1:3], X),
    "stack": (lambda x: tf.stack([x, 2 * x], axis=1), lambda x: np.stack([x, 2 * x], 1), X),
    "unstack": (lambda x: tf.unstack(x, axis=1)[1], lambda x: x[:, 1], X),
    "concat": (lambda x: tf.concat([x, x * x], axis=0), lambda x: np.concatenate([x, x * x]), X),
    "split": (lambda x: tf.split(x, [1, 2], axis=1)[1], lambda x: x[:, 1:], X),
    "split evenly": (lambda x: tf.split(x, 3, axis=1)[2], lambda x: x[:, 2:], X),
    "gather": (lambda x: tf.gather(x, [1, 1, 0]), lambda x: x[[1, 1, 0]], X),
    "gather, axis": (lambda x: tf.gather(x, [2, 0], axis=1), lambda x: x[:, [2, 0]], X),
    "gather, batch": (
        lambda x: tf.gather(x, [[0, 2], [1, 1]], batch_dims=1),
        lambda x: np.take_along_axis(x, np.array([[0, 2], [1, 1]]), 1),
        X,
    ),
    "gather_nd": (lambda x: tf.gather_nd(x, [[0, 1], [1, 2]]), lambda x: x[[0, 1], [1, 2]], X),
    "boolean_mask": (lambda x: tf.boolean_mask(x, [True, False]), lambda x: x[[True, False]], X),
    "where": (lambda x: tf.where(x > 0, x, -2.0), lambda x: np.where(x > 0, x, -2.0), X),
    "clip_by_value": (lambda x: tf.clip_by_value(x, -0.5, 0.6), lambda x: np.clip(x, -0.5, 0.6), X),
    "maximum": (lambda x: tf.maximum(x, 0.1), lambda x: np.maximum(x, 0.1), X),
    "minimum": (lambda x: tf.minimum(0.1, x), lambda x: np.minimum(x, 0.1), X),
    "pow": (lambda x: tf.pow(x, 3), lambda x: x**3, X),
    "divide_no_nan": (lambda x: math.divide_no_nan(1.0, x), lambda x: 1 / x, POSITIVE),
    "squared_difference": (lambda x: math.squared_difference(x, 2.0), lambda x: (x - 2) ** 2, X),
    "add_n": (lambda x: tf.add_n([x, x, x * x]), lambda x: 2 * x + x * x, X),
    "subtract": (lambda x: tf.subtract(1.0, x), lambda x: 1 - x, X),
    "divide": (lambda x: tf.divide(x, 2), lambda x: x / 2, X),
    "atan2": (lambda x: tf.atan2(x, 2.0), lambda x: np.arctan2(x, 2.0), X),
    "matmul": (lambda x: tf.matmul(x, x, transpose_b=True), lambda x: x @ x.T, X),
    "matvec": (lambda x: tf.linalg.matvec(x, x[0]), lambda x: x @ x[0], X),
    "tensordot": (lambda x: tf.tensordot(x, x, 2), lambda x: np.tensordot(x, x, 2), X),
    "einsum": (lambda x: tf.einsum("ij,kj->ik", x, x), lambda x: x @ x.T, X),
    "norm": (tf.norm, np.linalg.norm, X),
    "norm, axis": (lambda x: tf.norm(x, ord=1, axis=1), lambda x: np.abs(x).sum(1), X),
    "det": (tf.linalg.det, np.linalg.det, SQUARE),
    "inv": (tf.linalg.inv, np.linalg.inv, SQUARE),
    "slogdet": (lambda x: tf.linalg.slogdet(x)[1], lambda x: np.linalg.slogdet(x)[1], SQUARE),
    "solve": (lambda x: tf.linalg.solve(x, np.ones((3, 1))), lambda x: np.linalg.solve(x, np.ones((3, 1))), SQUARE),
    "trace": (tf.linalg.trace, np.trace, SQUARE),
    "diag_part": (tf.linalg.diag_part, np.diag, SQUARE),
    "diag": (lambda x: tf.linalg.diag(x[0]), lambda x: np.diag(x[0]), SQUARE),
    "band_part": (lambda x: tf.linalg.band_part(x, -1, 0), np.tril, SQUARE),
    "erf": (math.erf, special.erf, X),
    "lgamma": (math.lgamma, special.gammaln, POSITIVE),
    "gelu": (nn.gelu, lambda x: 0.5 * x * (1 + special.erf(x / np.sqrt(2))), X),
    "clip_by_norm": (lambda x: tf.clip_by_norm(x, 0.5), lambda x: x * 0.5 / np.linalg.norm(x), X),
    "map_fn": (lambda x: tf.map_fn(tf.reduce_sum, x), lambda x: x.sum(1), X),
    "embedding_lookup": (lambda x: nn.embedding_lookup(x, [[1], [0]]), lambda x: x[[[1], [0]]], X),
    "svd": (lambda x: tf.linalg.svd(x, compute_uv=False), lambda x: np.linalg.svd(x, compute_uv=False), SQUARE),
}


@pytest.mark.parametrize(("f", "expected", "x"), SMOOTH.values(), ids=SMOOTH)
def test_values_and_gradients(f, expected, x):
    found = values_and_gradients(f, x)
    np.testing.assert_allclose(found, expected(np.asarray(x, np.float64)), rtol=1e-7, atol=1e-12)
    assert f(tf.constant(np.asarray(x, np.float32))).dtype == tf.float32


def test_losses():
    labels, logits = np.array([[0.0, 1.0, 0.0], [0.5, 0.25, 0.25]]), X.astype(float)
    log_softmax = logits - np.log(np.exp(logits).sum(-1, keepdims=True))
    found = values_and_gradients(lambda x: nn.softmax_cross_entropy_with_logits(labels, x), logits)
    np.testing.assert_allclose(found, -(labels * log_softmax).sum(-1), rtol=1e-12)
    found = values_and_gradients(lambda x: nn.sparse_softmax_cross_entropy_with_logits([1, 2], x), logits)
    np.testing.assert_allclose(found, -log_softmax[[0, 1], [1, 2]], rtol=1e-12)
    found = values_and_gradients(lambda x: nn.sigmoid_cross_entropy_with_logits(labels, x), logits)
    np.testing.assert_allclose(found, np.log1p(np.exp(logits)) - labels * logits, rtol=1e-12)


def test_sigmoid_cross_entropy_at_zero():
    x = tf.constant(0.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = nn.sigmoid_cross_entropy_with_logits(labels=1.0, logits=x)
    assert tape.gradient(y, x).numpy() == -0.5


def test_making_tensors():
    assert tf.zeros([2, 3]).numpy().tolist() == np.zeros((2, 3)).tolist()
    assert tf.ones(3, tf.int32).dtype == tf.int32 and tf.ones((2,)).shape == (2,)
    assert tf.fill([2], 7.0).numpy().tolist() == [7.0, 7.0]
    assert tf.eye(2).numpy().tolist() == [[1.0, 0.0], [0.0, 1.0]]
    assert tf.range(4).numpy().tolist() == [0, 1, 2, 3] and tf.range(4).dtype == tf.int32
    assert tf.range(1.0, 2.0, 0.5).numpy().tolist() == [1.0, 1.5] and tf.range(1.0, 2.0, 0.5).dtype == tf.float32
    assert tf.linspace(0.0, 1.0, 3).numpy().tolist() == [0.0, 0.5, 1.0]
    assert tf.zeros_like([1, 2]).dtype == tf.int32 and tf.ones_like([1.0]).dtype == tf.float32
    assert tf.constant(1.0, shape=(2, 2)).numpy().tolist() == [[1.0, 1.0], [1.0, 1.0]]
    assert tf.constant([1, 2, 3, 4], shape=(2, 2), dtype=tf.float64).numpy().tolist() == [[1.0, 2.0], [3.0, 4.0]]
    assert tf.one_hot([0, 2], 3).numpy().tolist() == [[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]
    assert tf.one_hot([0, 1], 2, axis=0, on_value=5, off_value=1, dtype=tf.int32).numpy().tolist() == [[5, 1], [1, 5]]
    assert [a.numpy().tolist() for a in tf.meshgrid([1, 2], [3, 4])] == [[[1, 2], [1, 2]], [[3, 3], [4, 4]]]


def test_converting():
    v = tf.Variable([1.0, 2.0])
    assert isinstance(tf.convert_to_tensor(v), tf.Tensor) and tf.convert_to_tensor([1, 2]).dtype == tf.int32
    assert tf.convert_to_tensor(1, dtype_hint=tf.float32).dtype == tf.float32
    assert tf.convert_to_tensor(np.ones(2), tf.float32).dtype == tf.float32
    x = tf.constant(1.0)
    assert tf.constant(x) is x and tf.convert_to_tensor(x) is x
    with pytest.raises(TypeError):
        tf.constant(x, tf.float64)
    with pytest.raises(TypeError):
        tf.constant("x")
    assert tf.cast(1.7, tf.int32).numpy() == 1 and tf.cast([1, 0], tf.bool).numpy().tolist() == [True, False]
    assert tf.stack([1.0, tf.constant(2.0)]).numpy().tolist() == [1.0, 2.0]
    assert tf.constant([tf.constant(1.0), 2.0]).numpy().tolist() == [1.0, 2.0]
    assert tf.is_tensor(x) and tf.is_tensor(v) and not tf.is_tensor(1.0)
    assert tf.identity(x) is not x and tf.identity(v).numpy().tolist() == [1.0, 2.0]


def test_questions_about_tensors():
    x = tf.constant(X)
    assert tf.shape(x).numpy().tolist() == [2, 3] and tf.size(x).numpy() == 6 and tf.rank(x).numpy() == 2
    assert tf.reduce_any(x > 1).numpy() and not tf.reduce_all(x > 1).numpy()
    assert tf.logical_and(True, [True, False]).numpy().tolist() == [True, False]
    assert tf.equal([1, 2], [1, 3]).numpy().tolist() == [True, False]
    assert math.is_nan([1.0, np.nan]).numpy().tolist() == [False, True]
    assert tf.argsort([3.0, 1.0, 2.0]).numpy().tolist() == [1, 2, 0]
    assert tf.argmin([[3.0, 1.0], [0.0, 2.0]], axis=1).numpy().tolist() == [1, 0]
    assert tf.where([True, False, True]).numpy().tolist() == [[0], [2]]
    assert len(x) == 2 and [row.shape for row in x] == [(3,), (3,)]


def test_tensors_are_numbers_where_numbers_are_asked_for():
    x = tf.constant(2.5)
    assert float(x) == 2.5 and int(x) == 2 and bool(x) and f"{x:.2f}" == "2.50" and complex(x) == 2.5
    assert [10, 20, 30][tf.constant(1)] == 20
    assert np.asarray(tf.constant([1.0, 2.0])).tolist() == [1.0, 2.0]


def test_numpy_functions_give_tensors():
    x = tf.constant([1.0, 4.0])
    results = [np.sqrt(x), np.sum(x), np.stack([x, x]), np.ones(2) * x, x.reshape(2, 1), x.T, np.where(x > 1, x, 0)]
    for y in results:
        assert isinstance(y, tf.Tensor) and y.dtype == tf.float32


def test_elements_cannot_be_written():
    x, v = tf.constant([1.0, 2.0]), tf.Variable([1.0, 2.0])
    for t in (x, v):
        with pytest.raises(TypeError, match="does not support item assignment"):
            t[0] = 3.0


def test_augmented_assignment_rebinds():
    x = y = tf.constant([1.0, 2.0])
    y += 1.0
    assert x.numpy().tolist() == [1.0, 2.0] and y.numpy().tolist() == [2.0, 3.0]


def test_random_numbers():
    tf.random.set_seed(1)
    a = tf.random.normal([1000])
    tf.random.set_seed(1)
    assert np.array_equal(a.numpy(), tf.random.normal([1000]).numpy())
    assert a.dtype == tf.float32 and abs(a.numpy().mean()) < 0.2
    assert np.all(np.abs(tf.random.truncated_normal([1000]).numpy()) <= 2)
    u = tf.random.uniform([1000], 2.0, 3.0).numpy()
    assert u.min() >= 2.0 and u.max() <= 3.0
    assert tf.random.uniform([10], 0, 5, dtype=tf.int32).dtype == tf.int32
    assert sorted(tf.random.shuffle([1, 2, 3]).numpy().tolist()) == [1, 2, 3]
    kept = nn.dropout(tf.ones(1000), 0.5, seed=1).numpy()
    assert set(kept.tolist()) == {0.0, 2.0}


def test_clipping_by_the_global_norm():
    clipped, size = tf.clip_by_global_norm([tf.constant([3.0]), None, tf.constant([[4.0]])], 1.0)
    assert size.numpy() == 5.0 and clipped[1] is None
    assert clipped[0].numpy() == pytest.approx(0.6) and clipped[2].numpy() == pytest.approx(0.8)
    assert tf.linalg.global_norm([tf.constant([3.0, 4.0])]).numpy() == 5.0


def test_control_flow():
    x = tf.constant(2.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.cond(x > 1, lambda: x * x, lambda: x)
        n, z = tf.while_loop(lambda n, z: n < 3, lambda n, z: (n + 1, z * x), (0, y))
    assert n == 3 and tape.gradient(z, x).numpy() == 80.0


def test_a_loop_may_be_told_when_to_stop():
    (n,) = tf.while_loop(lambda n: n < 10, lambda n: n + 1, [0], maximum_iterations=tf.constant(3))
    assert n == 3


def test_map_fn_takes_and_gives_structures():
    a, b = tf.constant([1.0, 2.0, 3.0]), tf.constant([4.0, 5.0, 6.0])
    with tf.GradientTape() as tape:
        tape.watch([a, b])
        found = tf.map_fn(lambda p: {"product": p[0] * p[1], "first": p[0]}, (a, b), dtype=tf.float32)
    assert found["product"].numpy().tolist() == [4.0, 10.0, 18.0]
    assert found["first"].numpy().tolist() == [1.0, 2.0, 3.0]
    assert [g.numpy().tolist() for g in tape.gradient(found["product"], [a, b])] == [[4.0, 5.0, 6.0], [1.0, 2.0, 3.0]]
    assert tf.map_fn(lambda x: x + 1, [1, 2]).numpy().tolist() == [2, 3]
    with pytest.raises(tf.errors.InvalidArgumentError, match="map_fn: there are no rows"):
        tf.map_fn(lambda x: x, tf.zeros((0, 2)))


def test_functions_of_scipy_take_a_name():
    assert math.erf(0.5, name="e").numpy() == pytest.approx(special.erf(0.5))


def test_an_embedding_is_not_clipped():
    with pytest.raises(UnsupportedError, match="embedding_lookup clips no rows.*tf.clip_by_norm"):
        nn.embedding_lookup(tf.constant([[3.0, 4.0]]), [0], max_norm=1.0)


def test_top_k_has_names():
    found = tf.math.top_k([1.0, 3.0, 2.0], k=2)
    assert found.values.numpy().tolist() == [3.0, 2.0] and found.indices.numpy().tolist() == [1, 2]


# -- Variables -------------------------------------------------------------------------------------------------------
def test_variables():
    v = tf.Variable([1.0, 2.0], name="w")
    assert v.name == "w:0" and v.trainable and v.dtype == tf.float32 and v.shape == (2,)
    assert v.assign_add([1.0, 1.0]).assign_sub([0.5, 0.5]).numpy().tolist() == [1.5, 2.5]
    assert v.assign(tf.constant([5.0, 6.0])) is v and isinstance(v.value(), tf.Tensor)
    assert isinstance(v.read_value(), tf.Tensor) and tf.Variable(lambda: 3.0).numpy() == 3.0
    with tf.GradientTape() as tape:
        y = tf.reduce_sum(v * v)
    assert tape.watched_variables() == (v,) and tape.watched_variables()[0] is v
    assert tape.gradient(y, v).numpy().tolist() == [10.0, 12.0]


def test_descent_with_an_optimizer():
    for optimizer in (tf.optimizers.SGD(0.1), tf.optimizers.SGD(0.02, momentum=0.9), tf.keras.optimizers.Adam(0.1)):
        w = tf.Variable([5.0, -3.0])
        for _ in range(300):
            with tf.GradientTape() as tape:
                loss = tf.reduce_sum((w - [1.0, 2.0]) ** 2)
            optimizer.apply_gradients([(tape.gradient(loss, w), w)])
        np.testing.assert_allclose(w.numpy(), [1.0, 2.0], atol=1e-3)


def test_a_dense_layer_is_trained():
    tf.random.set_seed(0)
    model = tf.keras.layers.Dense(1)
    x = np.linspace(-1, 1, 20, dtype=np.float32)[:, None]
    y = 3 * x + 2
    optimizer = tf.keras.optimizers.SGD(0.2)
    for _ in range(300):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.keras.losses.MSE(y, model(x)))
        grads = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(grads, model.trainable_variables))
    np.testing.assert_allclose(model.kernel.numpy(), [[3.0]], atol=1e-4)
    np.testing.assert_allclose(model.bias.numpy(), [2.0], atol=1e-4)


# -- IndexedSlices ---------------------------------------------------------------------------------------------------
def test_gathers_give_indexed_slices():
    v = tf.Variable([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    with tf.GradientTape(persistent=True) as tape:
        a = tf.gather(v, [2, 0, 2])
        b = tf.gather(v, [1])
        c = tf.gather(v * 2, [1])
        d = tf.gather(v, [1], axis=1)
        e = v[1:]
    found = tape.gradient(a, v)
    assert isinstance(found, tf.IndexedSlices) and not isinstance(found, tf.Tensor)
    assert found.indices.numpy().tolist() == [2, 0, 2] and found.values.numpy().tolist() == [[1.0, 1.0]] * 3
    assert found.dense_shape.numpy().tolist() == [3, 2] and found.values.dtype == tf.float32
    assert tf.convert_to_tensor(found).numpy().tolist() == [[1.0, 1.0], [0.0, 0.0], [2.0, 2.0]]
    assert tape.gradient([a, b], v).indices.numpy().tolist() == [2, 0, 2, 1]
    for dense in (c, d, e, a * 1.0 + tf.reduce_sum(v)):
        assert not isinstance(tape.gradient(dense, v), tf.IndexedSlices)
    both = tape.gradient([a, e], v)
    assert isinstance(both, tf.Tensor) and both.numpy().tolist() == [[1.0, 1.0], [1.0, 1.0], [3.0, 3.0]]
    v.assign_sub(0.5 * found)
    assert v.numpy().tolist() == [[0.5, 1.5], [3.0, 4.0], [4.0, 5.0]]


def test_a_watched_tensor_is_gathered_from():
    x = tf.constant([1.0, 2.0, 3.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.gather(x, [0, 0])
    found = tape.gradient(y, x)
    assert isinstance(found, tf.IndexedSlices) and np.asarray(found).tolist() == [2.0, 0.0, 0.0]


def test_indexed_slices_by_hand():
    rows = tf.IndexedSlices(values=tf.constant([[1.0]]), indices=tf.constant([1]), dense_shape=[2, 1])
    assert np.asarray(rows).tolist() == [[0.0], [1.0]] and isinstance(-rows, tf.IndexedSlices)
    assert repr(rows).startswith("IndexedSlices(indices=tf.Tensor([1], shape=(1,)")


# -- gradients of one's own ------------------------------------------------------------------------------------------
def test_custom_gradient():
    @tf.custom_gradient
    def log1pexp(x):
        e = tf.exp(x)

        def grad(upstream):
            assert isinstance(upstream, tf.Tensor)
            return upstream * (1 - 1 / (1 + e))

        return math.log(1 + e), grad

    x = tf.constant(1.0)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = log1pexp(x)
        first = tape.gradient(y, x)
    s = 1 / (1 + np.exp(-1.0))
    assert isinstance(y, tf.Tensor) and first.dtype == tf.float32 and first.numpy() == pytest.approx(s, rel=1e-6)
    assert tape.gradient(first, x).numpy() == pytest.approx(s * (1 - s), rel=1e-6)
    assert log1pexp(0.0).dtype == tf.float32


def test_custom_gradient_with_variables():
    w = tf.Variable(2.0)

    @tf.custom_gradient
    def f(x):
        def grad(dy, variables=None):
            assert variables[0] is w
            return dy * w * 10.0, [dy * x * 100.0]

        return w * x, grad

    x = tf.constant(3.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    assert [g.numpy() for g in tape.gradient(y, [x, w])] == [20.0, 300.0]

    @tf.custom_gradient
    def without(x):
        return w * x, lambda dy: dy

    with pytest.raises(TypeError, match="must accept keyword argument 'variables'"):
        without(x)


def test_stop_gradient():
    x = tf.constant(3.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x * tf.stop_gradient(x)
    assert tape.gradient(y, x).numpy() == 3.0


def test_function_leaves_functions_as_they_are():
    @tf.function
    def f(x):
        return x * x

    @tf.function(autograph=False)
    def g(x):
        return x + x

    x = tf.constant(3.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x) + g(x)
    assert tape.gradient(y, x).numpy() == 8.0


def test_what_runs_can_be_read():
    x = tf.constant([1.0, 2.0])
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = tf.reduce_sum(tf.sin(x))
    assert list(functions(tape.source(y, x))) == ["y_grad"] and parameters(tape.source(y, x)) == ["x"]
    assert len(tape.ir(y, x).outputs) == 1


def test_public_names_are_functions_with_names():
    for module in (tf.math, tf.nn, tf.linalg, tf.random):
        for name in module.__all__:
            assert callable(getattr(module, name)), name
    assert not inspect.signature(tf.math.exp).parameters["name"].default
