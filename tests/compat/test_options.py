"""Options do what TensorFlow r2.0 says of them: values against NumPy, gradients against differences."""

import gc
import itertools

import numpy as np
import pytest

import tapec.compat.tensorflow as tf
from tapec.compat.tensorflow import keras, nn
from tests.compat.test_names import values_and_gradients

invalid = pytest.raises(tf.errors.InvalidArgumentError, match="^test_options.py:")


# -- numbers and dtypes ------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("value", "dtype"),
    [
        (2**31 - 1, tf.int32),
        (-(2**31), tf.int32),
        (2**31, tf.int64),
        (-(2**31) - 1, tf.int64),
        ([1, 3_000_000_000], tf.int64),
        ([[True, 2**40]], tf.int64),
        ([1.5, 2**70], tf.float32),
        ([], tf.float32),
        ([True], tf.bool),
    ],
)
def test_integers_that_int32_does_not_hold_are_int64(value, dtype):
    assert tf.constant(value).dtype == dtype
    assert tf.Variable(value).dtype == dtype
    assert np.array_equal(tf.constant(value).numpy(), np.array(value, dtype))


@pytest.mark.parametrize(
    ("value", "dtype"),
    [
        (300, tf.uint8),
        (-1, tf.uint8),
        ([0, 128], tf.int8),
        (np.array([2**31]), tf.int32),
        (np.uint64(2**63), tf.int64),
        (2**63, None),
        (2**70, None),
        (2**70, tf.int32),
        (2**70, tf.bool),
        (1e300, None),
        ([1.0, -1e39], None),
        (1e300 + 0j, tf.complex64),
        (70_000, tf.float16),
        (10**400, tf.float64),
        (np.array([1e300]), tf.float32),
    ],
)
def test_numbers_that_a_dtype_does_not_hold_are_refused(value, dtype):
    with pytest.raises(ValueError, match=r"^test_options.py:\d+: Cannot convert .* does not fit"):
        tf.constant(value, dtype)


def test_infinities_and_lost_digits_are_no_misfits():
    assert tf.constant([np.inf, -np.inf, np.nan, 1 / 3, 1e-300]).dtype == tf.float32
    assert tf.constant(2**24 + 1, tf.float32).numpy() == 2**24 and tf.constant(10**30, tf.float64).numpy() == 1e30


@pytest.mark.parametrize(
    "f",
    [
        lambda: tf.constant([1], tf.uint8) + 300,
        lambda: tf.constant([1]) * 2**40,
        lambda: tf.constant([1]) + np.array([2**40]),
        lambda: 1e300 * tf.constant(1.0),
        lambda: tf.Variable([1]).assign([2**40]),
        lambda: tf.where([True], tf.constant([1]), 2**40),
        lambda: tf.one_hot([0], 2, on_value=300, dtype=tf.uint8),
        lambda: tf.pad(tf.constant([1]), [[1, 1]], constant_values=0.5),
        lambda: tf.range(0.5, 3, dtype=tf.int32),
        lambda: tf.constant([-1, 2**63]),
        lambda: tf.zeros([2.5]),
        lambda: tf.reduce_sum([1.0], axis=0.0),
    ],
)
def test_operands_that_a_dtype_does_not_hold_are_refused(f):
    with invalid:
        f()


def test_comparisons_take_any_integer():
    x = tf.constant([1])
    assert (x < 2**40).numpy().tolist() == [True] and (x == 2**40).numpy().tolist() == [False]


def test_ranges_have_the_widest_dtype():
    assert tf.range(2**31, 2**31 + 2).numpy().tolist() == [2**31, 2**31 + 1]
    assert tf.range(tf.constant(3, tf.int64)).dtype == tf.int64
    assert tf.range(0, 1.0, 0.5).dtype == tf.float32 and tf.range(3, delta=2, dtype=tf.float64).dtype == tf.float64
    assert tf.range(3, 0, -2).numpy().tolist() == [3, 1] and tf.range(tf.constant(2), 4).numpy().tolist() == [2, 3]
    for limits in ((3, 1), (0, 3, -1), (0, 3, 0)):
        with invalid:
            tf.range(*limits)


def test_one_hot_is_of_the_dtype_of_its_values():
    assert tf.one_hot([1], 2).dtype == tf.float32 and tf.one_hot([1], 2, on_value=5, off_value=-1).dtype == tf.int32
    assert tf.one_hot([1], tf.constant(2), 5, -1).numpy().tolist() == [[-1, 5]]
    with invalid:
        tf.one_hot([1], 2, axis=5)


def test_constants_in_another_shape():
    x = tf.constant([1.0, 2.0, 3.0, 4.0])
    assert tf.constant(x, shape=[2, 2]).numpy().tolist() == [[1.0, 2.0], [3.0, 4.0]]
    assert tf.constant(tf.constant([7]), shape=(2,)).numpy().tolist() == [7, 7]
    with invalid:
        tf.constant([1, 2], shape=[3])


# -- axes and shapes ---------------------------------------------------------------------------------------------------
A = np.arange(24.0).reshape(2, 3, 4) ** 1.5 / 20


@pytest.mark.parametrize("axis", [[0, 1], (0, 1), tf.constant([0, 1]), tf.range(2), np.array([0, 1])])
@pytest.mark.parametrize(
    ("f", "expected"),
    [
        (tf.reduce_sum, lambda a: a.sum((0, 1))),
        (tf.reduce_logsumexp, lambda a: np.log(np.exp(a).sum((0, 1)))),
        (lambda x, axis: nn.moments(x, axis)[1], lambda a: a.var((0, 1))),
        (tf.norm, lambda a: np.linalg.norm(a, axis=(0, 1))),
        (nn.l2_normalize, lambda a: a / np.sqrt((a * a).sum((0, 1), keepdims=True))),
        (lambda x, axis: tf.clip_by_norm(x, 0.5, axis), lambda a: a / np.sqrt((a * a).sum((0, 1), keepdims=True)) / 2),
        (tf.reverse, lambda a: a[::-1, ::-1]),
        (lambda x, axis: tf.roll(x, axis, axis), lambda a: np.roll(a, (0, 1), (0, 1))),
    ],
)
def test_axes_are_lists_arrays_or_tensors(f, expected, axis):
    np.testing.assert_allclose(f(tf.constant(A), axis=axis).numpy(), expected(A), rtol=1e-12)


@pytest.mark.parametrize(
    "f",
    [
        tf.reduce_max,
        tf.argmax,
        tf.cumsum,
        tf.sort,
        nn.softmax,
        tf.norm,
        tf.expand_dims,
        lambda x, axis: tf.squeeze(x[:, :1], axis),
        lambda x, axis: tf.concat([x, x], axis),
        lambda x, axis: tf.stack(tf.split(x, tf.constant(3), axis)),
        lambda x, axis: tf.repeat(x, tf.constant(2), axis),
        lambda x, axis: tf.gather(x, [0], axis=axis),
    ],
)
def test_an_axis_is_a_number_or_a_tensor(f):
    x = tf.constant(A)
    assert np.array_equal(f(x, axis=tf.constant(1)).numpy(), f(x, axis=1).numpy())


def test_tensordot_over_axes_in_a_tensor():
    x = tf.constant(A[0] @ A[0].T)
    for axes in (tf.constant([[0], [1]]), [[0], [1]], (0, 1), [tf.constant(0), 1]):
        np.testing.assert_allclose(tf.tensordot(x, x, axes).numpy(), np.tensordot(x.numpy(), x.numpy(), ((0,), (1,))))


GATHERS = [(k, axis, rank) for rank in (1, 2, 3) for k in range(rank + 1) for axis in range(k, 4)]


@pytest.mark.parametrize(("batch", "axis", "rank"), GATHERS)
def test_gather_along_an_axis_in_batches(batch, axis, rank, rng):
    x = rng.normal(size=(2, 3, 2, 4))
    index = rng.integers(0, x.shape[axis], (2, 3, 2)[:rank] if batch else (3, 2, 2)[:rank])
    expected = np.empty((*x.shape[:axis], *index.shape[batch:], *x.shape[axis + 1 :]))
    for b in np.ndindex(x.shape[:batch]):
        expected[b] = np.take(x[b], index[b], axis=axis - batch)
    for given in (axis, axis - 4):
        found = values_and_gradients(lambda x, axis=given: tf.gather(x, index, axis=axis, batch_dims=batch), x)
        assert np.array_equal(found, expected)
    assert np.array_equal(tf.gather(x, index, axis=axis, batch_dims=batch - rank).numpy(), expected) or batch == rank
    if axis == batch:
        assert np.array_equal(tf.gather(x, index, batch_dims=batch).numpy(), expected)


@pytest.mark.parametrize(("batch", "depth"), [(k, n) for k in (0, 1, 2) for n in (1, 2)])
def test_gather_nd_in_batches(batch, depth, rng):
    x = rng.normal(size=(2, 3, 2, 4))
    index = rng.integers(0, 2, (2, 3, 5, depth))
    expected = np.empty((2, 3, 5, *x.shape[batch + depth :]))
    for place in np.ndindex(2, 3, 5):
        expected[place] = x[(*place[:batch], *index[place])]
    assert np.array_equal(values_and_gradients(lambda x: tf.gather_nd(x, index, batch_dims=batch), x), expected)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: tf.gather(x, [[0], [1]], axis=0, batch_dims=1),
        lambda x: tf.gather(x, [0, 1], axis=2, batch_dims=2),
        lambda x: tf.gather(x, [[0]], batch_dims=1),  # one index for two batches
        lambda x: tf.gather(x, [0], axis=3),
        lambda x: tf.gather_nd(x, [[0], [1]], batch_dims=-1),
        lambda x: tf.gather_nd(x, [[0], [1]], batch_dims=2),
        lambda x: tf.gather_nd(x, [[0]], batch_dims=1),
        lambda x: tf.boolean_mask(x, [True, False], axis=3),
        lambda x: tf.split(x, [1, 2], axis=2),
        lambda x: tf.split(x, [1, -1], axis=0, num=3),
        lambda x: tf.unstack(x, num=3),
        lambda x: tf.slice(x, [0, 0, 0], [1, 1, 5]),
        lambda x: tf.slice(x, [0, 0], [1, 1]),
        lambda x: tf.slice(x, [0, -1, 0], [1, 1, 1]),
        lambda x: tf.pad(x, [[1, 1], [0, 0], [0, 0]], mode="EDGE"),
        lambda x: tf.pad(x, [[1, 1]]),
        lambda x: tf.tile(x, [2]),
        lambda x: tf.sort(x, direction="descending"),
        lambda x: tf.argsort(x, direction="down"),
        lambda x: tf.where(x > 0, x),
        lambda x: nn.top_k(x, 5),
        lambda x: nn.bias_add(x, [1.0]),
        lambda x: nn.bias_add(x, [1.0] * 3),
        lambda x: nn.bias_add(x, [1.0] * 4, data_format="HWC"),
        lambda x: tf.matmul(x, x, transpose_a=True, adjoint_a=True),
        lambda x: tf.linalg.diag_part(x, k=4),
        lambda x: tf.linalg.diag_part(x, k=(1, 0)),
        lambda x: tf.linalg.diag(x, num_rows=2),
        lambda x: tf.linalg.diag(x, k=(0, 1)),
        lambda x: tf.linalg.diag(x, num_rows=5, num_cols=5),
        lambda x: tf.norm(x, axis=[0, 1, 2]),
        lambda x: tf.norm(x, ord=0),
        lambda x: tf.norm(x, ord="nuc", axis=[0, 1]),
        lambda x: tf.norm(x, ord=3, axis=[0, 1]),
        lambda x: nn.dropout(x, 1.0),
        lambda x: nn.dropout([1, 2], 0.5),
        lambda x: tf.map_fn(lambda row: row, x, dtype=tf.float32),
        lambda x: tf.map_fn(lambda row: row, x, dtype=(tf.float64, tf.float64)),
        lambda x: tf.random.uniform([2], 5, dtype=tf.int32),
        lambda x: tf.random.uniform([2], 5, 5, dtype=tf.int32),
        lambda x: tf.random.uniform([2], 0, 300, dtype=tf.uint8),
        lambda x: tf.random.uniform([2], dtype=tf.bool),
        lambda x: tf.random.normal([2], dtype=tf.int32),
        lambda x: tf.Variable(x, shape=[2]),
        lambda x: keras.layers.Dense(2, kernel_initializer="none"),
        lambda x: keras.layers.Dense(2, "squash"),
        lambda x: keras.layers.Dense(2, bias_constraint="positive"),
        lambda x: keras.layers.Dense(2, weights=[np.ones((4, 2))])(x),
        lambda x: tf.optimizers.SGD(clipnorm=-1.0),
        lambda x: tf.optimizers.SGD(momentum=2.0),
        lambda x: tf.optimizers.SGD().apply_gradients([(None, tf.Variable(x))]),
    ],
)
def test_options_that_do_not_fit_are_refused(f):
    with invalid:
        f(tf.constant(A))


def test_layout_options():
    z = tf.complex(tf.constant(A[0]), tf.constant(1.0, tf.float64))
    assert np.array_equal(tf.transpose(z, [1, 0], True).numpy(), z.numpy().T.conj())
    assert tf.eye(2, 3, [2], tf.int32).numpy().tolist() == [np.eye(2, 3).tolist()] * 2
    assert [part.shape for part in tf.split(tf.constant(A), [1, -1], 1, num=2)] == [(2, 1, 4), (2, 2, 4)]
    assert len(tf.unstack(tf.constant(A), num=3, axis=-2)) == 3
    assert tf.slice(tf.constant(A), [1, 0, 2], [-1, 2, 2]).numpy().tolist() == A[1:, :2, 2:].tolist()
    assert tf.squeeze(tf.ones((1, 2, 1)), []).shape == (2,) and tf.squeeze(tf.ones((1, 2, 1)), [2]).shape == (1, 2)
    assert tf.concat(tf.constant([[1], [2]]), 0).shape == (2, 1)
    assert tf.atan2(x=1.0, y=0.0).numpy() == 0.0


def test_bias_is_added_along_the_axis_of_channels():
    x = tf.constant(A)
    assert np.array_equal(nn.bias_add(x, [1.0, 2.0, 3.0], "NCW").numpy(), A + np.array([[1.0], [2.0], [3.0]]))
    for data_format in (None, "NWC"):
        assert np.array_equal(nn.bias_add(x, np.arange(4), data_format).numpy(), A + np.arange(4))


# -- order -------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "a",
    [
        np.array([3, 0, 2], np.uint8),
        np.array([-128, 0, 2], np.int8),
        np.array([[5, 0, 2**64 - 1], [0, 0, 1]], np.uint64),
        np.array([-(2**63), 1, -(2**63)]),
        np.array([True, False, True]),
        np.array([0.5, -np.inf, 2.0]),
    ],
)
def test_descending_order(a):
    expected = np.flip(np.sort(a, -1), -1)
    assert np.array_equal(tf.sort(a, direction="DESCENDING").numpy(), expected)
    places = tf.argsort(a, direction="DESCENDING").numpy()
    assert np.array_equal(places, np.argsort(-a.astype(float), -1, kind="stable"))
    assert np.array_equal(nn.top_k(a, tf.constant(2)).values.numpy(), expected[..., :2])
    assert np.array_equal(tf.sort(a.T, 0, "DESCENDING").numpy(), expected.T)


# -- matrices ----------------------------------------------------------------------------------------------------------
def test_matrix_by_vector_with_every_option():
    a, b = A[0, :, :2] * (1 + 2j), np.array([1.0, 2.0, 3.0]) + 0j
    assert np.allclose(tf.linalg.matvec(a, b, adjoint_a=True).numpy(), a.conj().T @ b)
    assert np.allclose(tf.linalg.matvec(a, b, True).numpy(), a.T @ b)
    assert np.allclose(tf.linalg.matvec(a, b[:2], a_is_sparse=True, name="y").numpy(), a @ b[:2])
    assert np.allclose(tf.matmul(a, a, False, False, True).numpy(), a.conj().T @ a)


@pytest.mark.parametrize("k", range(-2, 4))
def test_one_diagonal(k):
    found = values_and_gradients(lambda x: tf.linalg.diag_part(x, k=k), A)
    assert np.array_equal(found, np.diagonal(A, k, 1, 2))
    matrices = values_and_gradients(lambda x: tf.linalg.diag(x, k=k), A[0])
    assert np.array_equal(matrices, [np.diag(row, k) for row in A[0]])
    filled = tf.linalg.diag(A[0, 0], k=k, padding_value=7).numpy()
    assert np.array_equal(filled, np.where(np.diag(np.ones(4), k) == 1, np.diag(A[0, 0], k), 7))


@pytest.mark.parametrize(("low", "high"), [*itertools.combinations(range(-2, 4), 2)])
def test_a_band_of_diagonals(low, high):
    parts = [np.diagonal(A, d, 1, 2) for d in range(high, low - 1, -1)]
    longest = max(p.shape[-1] for p in parts)
    expected = np.stack([np.pad(p, [(0, 0), (0, longest - p.shape[-1])], constant_values=-1) for p in parts], 1)
    found = values_and_gradients(lambda x: tf.linalg.diag_part(x, k=(low, high), padding_value=-1), A)
    assert np.array_equal(found, expected)
    back = tf.linalg.diag(expected, k=(low, high), num_rows=3, num_cols=4).numpy()
    assert np.array_equal(back, np.triu(np.tril(A, high), low))


def test_a_diagonal_with_an_infinity_has_zeros_beside_it():
    assert tf.linalg.diag([np.inf, 1.0]).numpy().tolist() == [[np.inf, 0.0], [0.0, 1.0]]


@pytest.mark.parametrize("order", ["euclidean", 1, 2, 3, 0.5, np.inf])
@pytest.mark.parametrize("keepdims", [False, True, None])
def test_norms_without_an_axis_are_those_of_one_vector(order, keepdims):
    expected = np.linalg.norm(A.ravel() + 0.1, None if order == "euclidean" else order)
    found = values_and_gradients(lambda x: tf.norm(x, order, keepdims=keepdims), A + 0.1)
    np.testing.assert_allclose(found, np.reshape(expected, (1, 1, 1) if keepdims else ()), strict=True)


@pytest.mark.parametrize("order", ["euclidean", "fro", 1, 2, np.inf])
def test_norms_of_matrices(order):
    expected = [np.linalg.norm(a, "fro" if order == "euclidean" else order) for a in A]
    np.testing.assert_allclose(tf.norm(A, order, [-2, -1]).numpy(), expected)
    np.testing.assert_allclose(tf.norm(A, order, (1, 2), True).numpy(), np.reshape(expected, (2, 1, 1)))


def test_rows_by_a_function_are_of_the_dtypes_asked_for():
    assert tf.map_fn(lambda x: 1, tf.zeros(2), dtype=tf.float64).dtype == tf.float64
    one, other = tf.map_fn(lambda x: (x, x > 0), tf.zeros(2), dtype=(tf.float32, tf.bool))
    assert one.dtype == tf.float32 and other.dtype == tf.bool


# -- random numbers ----------------------------------------------------------------------------------------------------
DRAWS = {
    "normal": lambda seed: tf.random.normal([8], seed=seed),
    "truncated_normal": lambda seed: tf.random.truncated_normal([8], seed=seed),
    "uniform": lambda seed: tf.random.uniform([8], seed=seed),
    "integers": lambda seed: tf.random.uniform([8], 0, 10**9, tf.int32, seed),
    "shuffle": lambda seed: tf.random.shuffle(np.arange(100), seed),
    "dropout": lambda seed: nn.dropout(tf.ones(200), 0.5, seed=seed),
}


@pytest.mark.parametrize("draw", DRAWS.values(), ids=DRAWS)
@pytest.mark.parametrize("seed", [None, 1, -5])
def test_seeds_start_sequences(draw, seed):
    runs = []
    for start in (7, 7, 8, -7):
        tf.random.set_seed(start)
        runs.append(np.stack([draw(seed).numpy() for _ in range(3)]))
    assert np.array_equal(runs[0], runs[1])
    rows = [row.tolist() for run in (runs[0], *runs[2:]) for row in run]
    assert all(a != b for a, b in itertools.combinations(rows, 2))


@pytest.mark.parametrize("draw", DRAWS.values(), ids=DRAWS)
def test_a_seed_of_a_call_alone_gives_the_same_in_every_program(draw):
    runs = []
    for _ in range(2):
        tf.random.set_seed(None)
        runs.append([draw(3).numpy().tolist() for _ in range(2)])
        assert draw(None).numpy().tolist() not in runs[-1]
    assert runs[0] == runs[1] and runs[0][0] != runs[0][1]


def test_functions_and_seeds_have_sequences_of_their_own():
    tf.random.set_seed(1)
    expected = [DRAWS["normal"](4).numpy().tolist() for _ in range(2)]
    tf.random.set_seed(1)
    first = DRAWS["normal"](4).numpy().tolist()
    for other in (DRAWS["uniform"](4), DRAWS["normal"](5), DRAWS["normal"](None)):
        assert other.numpy().tolist() not in expected
    assert [first, DRAWS["normal"](4).numpy().tolist()] == expected


def test_whole_numbers_lie_between_their_bounds():
    found = tf.random.uniform([1000], tf.constant([3], tf.int64), 6, tf.int64).numpy()
    assert set(found.tolist()) == {3, 4, 5}


def test_dropout_by_the_shape_of_noise():
    found = nn.dropout(tf.ones((50, 4)), tf.constant(0.75), noise_shape=[50, 1]).numpy()
    assert set(found.ravel().tolist()) == {0.0, 4.0} and np.array_equal(found, found[:, :1] * np.ones(4))
    assert set(nn.dropout(tf.ones(9), 0.5, []).numpy().tolist()) in ({0.0}, {2.0})


# -- Variables ---------------------------------------------------------------------------------------------------------
def test_variables_by_position():
    v = tf.Variable([1.0, 2.0], None, True, None, "w", shape=(2,), constraint=tf.abs)
    assert v.trainable and v.name == "w:0" and v.constraint is tf.abs and tf.Variable(1.0).constraint is None
    assert v.assign([3.0, 4.0], read_value=False) is None and v.assign_add([1.0, 1.0], False, "a") is v


# -- optimizers --------------------------------------------------------------------------------------------------------
def steps(optimizer, gradients=(1.0, 1.0, 1.0), start=1.0, **options):
    v = tf.Variable(start, dtype=tf.float64, **options)
    for g in gradients:
        optimizer.apply_gradients([(tf.constant(g, tf.float64), v)])
    return v.numpy()


def descent(rate, mu=0.0, nesterov=False, decay=0.0):
    v, m = 1.0, 0.0
    for k in range(3):
        change = rate / (1 + decay * k)
        m = mu * m - change
        v += mu * m - change if nesterov else m
    return v


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"lr": 0.5}, descent(0.5)),
        ({"learning_rate": lambda: 0.25}, descent(0.25)),
        ({"learning_rate": 0.1, "momentum": 0.9}, descent(0.1, 0.9)),
        ({"learning_rate": 0.1, "momentum": 0.9, "nesterov": True}, descent(0.1, 0.9, True)),
        ({"learning_rate": 0.1, "nesterov": True, "name": "s"}, descent(0.1)),
        ({"learning_rate": 0.1, "decay": 0.5}, descent(0.1, decay=0.5)),
        ({"learning_rate": 0.1, "decay": 0.5, "momentum": 0.9}, descent(0.1, 0.9, decay=0.5)),
        ({"learning_rate": 0.1, "clipvalue": 0.25}, descent(0.025)),
        ({"learning_rate": 0.1, "clipnorm": 0.5}, descent(0.05)),
    ],
)
def test_options_of_gradient_descent(options, expected):
    assert steps(tf.optimizers.SGD(**options)) == pytest.approx(expected, rel=1e-12)


def test_clipping_is_by_gradient():
    found = steps(tf.optimizers.SGD(1.0, clipnorm=1.0), [[3.0, 4.0]], [0.0, 0.0])
    np.testing.assert_allclose(found, [-0.6, -0.8])
    assert steps(tf.optimizers.SGD(1.0, clipvalue=1.0), [[3.0, -0.5]], [0.0, 0.0]).tolist() == [-1.0, 0.5]


def test_the_old_name_of_the_learning_rate_sets_it():
    optimizer = tf.optimizers.SGD(0.1)
    optimizer.lr = 0.5
    assert optimizer.learning_rate == optimizer.lr == 0.5


@pytest.mark.parametrize("amsgrad", [False, True])
def test_options_of_adam(amsgrad):
    gradients, v, m, s, largest = (2.0, 0.1, 0.1), 1.0, 0.0, 0.0, 0.0
    for t, g in enumerate(gradients, 1):
        m, s = 0.9 * m + 0.1 * g, 0.99 * s + 0.01 * g * g
        largest = max(largest, s) if amsgrad else s
        rate = 0.1 / (1 + 0.5 * (t - 1)) * np.sqrt(1 - 0.99**t) / (1 - 0.9**t)
        v -= rate * m / (np.sqrt(largest) + 1e-3)
    optimizer = tf.optimizers.Adam(0.1, 0.9, 0.99, 1e-3, amsgrad, decay=0.5)
    assert steps(optimizer, gradients) == pytest.approx(v, rel=1e-12)


@pytest.mark.parametrize("make", [lambda: tf.optimizers.SGD(0.1, momentum=0.9), lambda: tf.optimizers.Adam(0.1)])
def test_a_new_variable_has_no_momentum_from_a_dead_one(make):
    optimizer = make()
    for k in range(20):
        fresh, gradient = make(), [1 if k % 2 else -1]
        fresh._steps = k
        assert steps(optimizer, gradient) == steps(fresh, gradient)
        gc.collect()
    assert len(optimizer._states) == 20


def test_rows_without_gradients_have_no_momentum():
    w, optimizer = tf.Variable([[1.0], [1.0], [1.0]]), tf.optimizers.SGD(0.5, momentum=0.5)
    for rows in ([0, 0], [1]):
        with tf.GradientTape() as tape:
            y = tf.reduce_sum(tf.gather(w, rows))
        optimizer.apply_gradients([(tape.gradient(y, w), w)])
    assert w.numpy().tolist() == [[0.0], [0.5], [1.0]]
    clipped = tf.optimizers.SGD(1.0, clipvalue=0.25)
    clipped.apply_gradients([(tf.IndexedSlices([[1.0]], [2], (3, 1)), w)])
    assert w.numpy().tolist() == [[0.0], [0.5], [0.75]]


def test_constraints_are_applied_after_each_step():
    assert steps(tf.optimizers.SGD(0.75), constraint=lambda v: tf.maximum(v, 0.0)) == 0.0
    v = tf.Variable([1.0], constraint=tf.abs)
    with pytest.raises(tf.errors.InvalidArgumentError, match="a constraint, which does not go with IndexedSlices"):
        tf.optimizers.SGD().apply_gradients([(tf.IndexedSlices([1.0], [0], (1,)), v)])


# -- layers ------------------------------------------------------------------------------------------------------------
ROWS = np.array([[1.0, 2.0, 3.0]], np.float32)


def test_initializers_of_a_layer():
    zero = keras.layers.Dense(2, kernel_initializer="zeros", bias_initializer="ones")(ROWS)
    assert zero.numpy().tolist() == [[1.0, 1.0]]
    layer = keras.layers.Dense(2, kernel_initializer=lambda shape, dtype: np.full(shape, 2.0), name="d")
    assert layer(ROWS).numpy().tolist() == [[12.0, 12.0]] and layer.kernel.name == "d/kernel:0"
    given = keras.layers.Dense(1, weights=[[[1.0], [2.0], [3.0]], [4.0]], input_shape=(3,))
    assert given(ROWS).numpy().tolist() == [[18.0]]


@pytest.mark.parametrize(
    ("name", "deviation"),
    [
        ("glorot_uniform", np.sqrt(2 / 400)),
        ("glorot_normal", np.sqrt(2 / 400)),
        ("he_uniform", np.sqrt(2 / 100)),
        ("he_normal", np.sqrt(2 / 100)),
        ("lecun_uniform", np.sqrt(1 / 100)),
        ("lecun_normal", np.sqrt(1 / 100)),
        ("random_normal", 0.05),
        ("random_uniform", 0.05 / np.sqrt(3)),
        ("truncated_normal", 0.05 * 0.87962566),
    ],
)
def test_random_initializers_have_their_deviation(name, deviation):
    tf.random.set_seed(2)
    layer = keras.layers.Dense(300, kernel_initializer=name)
    layer.build((None, 100))
    kernel = layer.kernel.numpy()
    assert kernel.std() == pytest.approx(deviation, rel=0.02) and abs(kernel.mean()) < deviation / 30
    assert np.abs(kernel).max() <= deviation * (6 if name == "random_normal" else 2.3)


def test_a_layer_that_is_not_trained_has_no_trainable_variables():
    layer = keras.layers.Dense(2, trainable=False)
    layer(ROWS)
    assert layer.trainable_variables == layer.trainable_weights == []
    assert layer.non_trainable_variables == layer.variables == [layer.kernel, layer.bias]
    layer.trainable = True
    assert layer.trainable_weights == layer.variables and layer.non_trainable_weights == []


def test_a_layer_computes_in_its_dtype():
    layer = keras.layers.Dense(2, dtype="float64", kernel_constraint=tf.abs)
    assert layer(ROWS).dtype == layer.kernel.dtype == tf.float64 and layer.kernel.constraint is tf.abs
    assert keras.layers.Dense(2)(ROWS.astype(np.float64)).dtype == tf.float32


def test_activations_by_name_take_kerass_options():
    x = np.array([-2.0, -0.5, 0.5, 2.0])
    relu = keras.activations.relu
    assert relu(x).numpy().tolist() == [0.0, 0.0, 0.5, 2.0] and relu(x, 0.5).numpy().tolist() == [-1.0, -0.25, 0.5, 2.0]
    assert relu(x, max_value=1.0).numpy().tolist() == [0.0, 0.0, 0.5, 1.0]
    assert relu(x, 0.1, 1.5, 1.0).numpy().tolist() == pytest.approx([-0.3, -0.15, -0.05, 1.5])
    np.testing.assert_allclose(keras.activations.elu(x, 2.0).numpy(), np.where(x > 0, x, 2 * np.expm1(x)))
    np.testing.assert_allclose(keras.activations.softmax(x[:, None], 0).numpy()[:, 0], np.exp(x) / np.exp(x).sum())
    assert keras.layers.Dense(1, "linear", kernel_initializer="ones")(ROWS).numpy().tolist() == [[6.0]]
