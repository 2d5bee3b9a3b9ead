"""Facts about TensorFlow's gradients that are easy to get wrong, measured there, one test each."""

import warnings

import numpy as np
import pytest

import tapec.compat.tensorflow as tf


def gradient(f, *values, dtype=tf.float32, **options):
    """The gradients of f at constants of these values: one, or a list."""
    xs = [tf.constant(v, dtype=dtype if dtype is not None else None) for v in values]
    with tf.GradientTape() as tape:
        tape.watch(xs)
        y = f(*xs)
    found = tape.gradient(y, xs, **options)
    return found[0] if len(found) == 1 else found


def second(f, value):
    x = tf.constant(value)
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as inner:
            inner.watch(x)
            y = f(x)
        slope = inner.gradient(y, x)
    return outer.gradient(slope, x)


def close(found, expected, rtol=1e-6):
    assert isinstance(found, tf.Tensor)
    np.testing.assert_allclose(found.numpy(), expected, rtol=rtol, atol=1e-7)


# -- second derivatives ----------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "f",
    [
        lambda x: 3 * x,
        lambda x: x + 1,
        lambda x: x / 2,
        lambda x: -x,
        tf.reduce_sum,
        tf.reduce_mean,
        tf.identity,
        lambda x: tf.reshape(x, [1, 2]),
        lambda x: x[0],
        lambda x: tf.concat([x, x], 0),
    ],
)
def test_the_second_derivative_of_a_linear_function_is_none(f):
    assert second(f, [1.0, 2.0]) is None


def test_the_third_derivative_of_a_square_is_none():
    x = tf.constant(3.0)
    with tf.GradientTape() as third:
        third.watch(x)
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as inner:
                inner.watch(x)
                y = x * x
            first = inner.gradient(y, x)
        curvature = outer.gradient(first, x)
    assert first.numpy() == 6.0 and curvature.numpy() == 2.0
    assert third.gradient(curvature, x) is None


@pytest.mark.parametrize("f", [tf.abs, tf.nn.relu, tf.nn.relu6, tf.nn.leaky_relu])
def test_the_second_derivative_of_abs_and_relu_is_a_zero_tensor(f):
    found = second(f, [-1.0, 0.5, 2.0])
    assert found.dtype == tf.float32 and found.numpy().tolist() == [0.0, 0.0, 0.0]


# -- ties ------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("f", [tf.maximum, tf.minimum])
def test_a_tie_of_maximum_and_minimum_goes_to_the_first_argument(f):
    first, other = gradient(f, [1.0, 2.0], [1.0, 2.0])
    assert first.numpy().tolist() == [1.0, 1.0] and other.numpy().tolist() == [0.0, 0.0]


@pytest.mark.parametrize("f", [tf.reduce_max, tf.reduce_min])
def test_a_tie_of_a_reduction_splits_evenly(f):
    assert gradient(f, [3.0, 3.0, 3.0]).numpy().tolist() == pytest.approx([1 / 3] * 3, rel=1e-6)
    assert gradient(lambda x: tf.reduce_max(x, axis=1), [[2.0, 1.0, 2.0]]).numpy().tolist() == [[0.5, 0.0, 0.5]]


def test_clip_passes_the_gradient_at_both_bounds():
    found = gradient(lambda x: tf.clip_by_value(x, -1.0, 1.0), [-2.0, -1.0, 0.0, 1.0, 2.0])
    assert found.numpy().tolist() == [0.0, 1.0, 1.0, 1.0, 0.0]


def test_sort_is_stable():
    weights = tf.constant([1.0, 10.0, 100.0])
    found = gradient(lambda x: tf.reduce_sum(tf.sort(x) * weights), [2.0, 1.0, 2.0])
    assert found.numpy().tolist() == [10.0, 1.0, 100.0]
    found = gradient(lambda x: tf.reduce_sum(tf.sort(x, direction="DESCENDING") * weights), [2.0, 1.0, 2.0])
    assert found.numpy().tolist() == [1.0, 100.0, 10.0]


def test_top_k_is_stable():
    values, indices = tf.math.top_k(tf.constant([2.0, 3.0, 2.0, 2.0]), k=3)
    assert values.numpy().tolist() == [3.0, 2.0, 2.0] and indices.numpy().tolist() == [1, 0, 2]
    found = gradient(lambda x: tf.math.top_k(x, k=2)[0], [2.0, 3.0, 2.0, 2.0])
    assert found.numpy().tolist() == [1.0, 1.0, 0.0, 0.0]


# -- kinks at zero ---------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("f", "x", "expected"),
    [
        (tf.nn.relu, 0.0, 0.0),
        (tf.nn.relu6, 0.0, 0.0),
        (tf.nn.relu6, 6.0, 0.0),
        (tf.nn.leaky_relu, 0.0, 0.2),
        (tf.nn.elu, 0.0, 1.0),
        (tf.nn.selu, 0.0, 1.0507),
        (tf.abs, 0.0, 0.0),
    ],
)
def test_kinks(f, x, expected):
    close(gradient(f, x), expected, rtol=1e-4)


def test_the_derivative_of_complex_abs_at_zero_is_zero():
    assert gradient(tf.abs, 0j, dtype=tf.complex64).numpy() == 0


# -- without gradient ------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "f",
    [
        tf.floor,
        tf.math.ceil,
        tf.round,
        tf.zeros_like,
        tf.ones_like,
        lambda x: x // 2.0,
        lambda x: tf.cast(x > 1.0, tf.float32),
        lambda x: tf.cast(x == 1.0, tf.float32),
        lambda x: tf.cast(tf.argmax(x), tf.float32),
    ],
)
def test_no_gradient(f):
    assert gradient(f, [1.5, 2.5]) is None


def test_the_gradient_of_sign_is_zeros():
    assert gradient(tf.sign, [-2.0, 0.0, 3.0]).numpy().tolist() == [0.0, 0.0, 0.0]


def test_the_gradient_of_the_remainder():
    for x, y in [(7.0, 3.0), (-7.0, 3.0), (7.5, -2.0)]:
        dx, dy = gradient(lambda x, y: x % y, x, y)
        assert dx.numpy() == 1.0 and dy.numpy() == -np.floor(x / y)


# -- complex numbers -------------------------------------------------------------------------------------------------
def test_the_gradient_of_a_complex_square_is_conjugated():
    close(gradient(lambda z: z * z, 1 + 2j, dtype=tf.complex64), np.conj(2 * (1 + 2j)))


def test_the_gradient_of_the_real_part_is_one():
    close(gradient(tf.math.real, 1 + 2j, dtype=tf.complex64), 1.0)


def test_the_gradient_of_the_imaginary_part_is_plus_i():
    close(gradient(tf.math.imag, 1 + 2j, dtype=tf.complex64), 1j)


def test_the_gradient_of_the_angle():
    close(gradient(tf.math.angle, 1 + 2j, dtype=tf.complex64), -0.4 + 0.2j)


def test_a_complex_target_starts_from_one():
    found = gradient(lambda z: 3j * z, 1 + 2j, dtype=tf.complex64)
    assert found.dtype == tf.complex64
    close(found, np.conj(3j))


def test_a_real_parameter_of_a_complex_target_gets_a_real_gradient():
    found = gradient(lambda x: tf.complex(x, 2 * x), 3.0)
    assert found.dtype == tf.float32
    close(found, 1.0)  # the real part of conj(1 + 2i)


# -- dtypes ----------------------------------------------------------------------------------------------------------
def test_python_floats_are_float32_and_ints_int32():
    assert tf.constant(1.0).dtype == tf.float32 and tf.constant([1.0, 2.0]).dtype == tf.float32
    assert tf.constant(1).dtype == tf.int32 and tf.constant([[1, 2]]).dtype == tf.int32
    assert tf.constant(1.0 + 2.0j).dtype == tf.complex128 and tf.constant(True).dtype == tf.bool
    assert tf.Variable(1.0).dtype == tf.float32 and tf.ones(3).dtype == tf.float32


def test_arrays_keep_their_dtype():
    assert tf.constant(np.ones(2)).dtype == tf.float64
    assert tf.constant(np.float64(1.0)).dtype == tf.float64
    assert tf.constant([np.float64(1.0)]).dtype == tf.float64
    assert tf.constant(np.arange(2)).dtype == tf.int64
    assert tf.Variable(np.ones(2)).dtype == tf.float64


def test_a_float32_tensor_with_a_float64_array_stays_float32():
    x = tf.constant([1.0, 2.0])
    a = np.ones(2)
    for y in (x * a, a * x, x + np.float64(1), np.float64(2) * x, x @ a, tf.add(a, x)):
        assert isinstance(y, tf.Tensor) and y.dtype == tf.float32


@pytest.mark.parametrize(
    "f",
    [
        lambda: tf.constant(1.0) + tf.constant(1),
        lambda: tf.constant(1.0) * tf.constant(1.0, tf.float64),
        lambda: tf.add(tf.constant(1.0), tf.constant(1)),
        lambda: tf.ones((2, 2)) @ tf.ones((2, 2), tf.float64),
        lambda: tf.concat([tf.ones(2), tf.ones(2, tf.float64)], 0),
        lambda: tf.Variable(1.0) - tf.constant(1),
        lambda: tf.Variable(1.0).assign(tf.constant(1.0, tf.float64)),
        lambda: tf.where([True], tf.ones(1), tf.ones(1, tf.float64)),
    ],
)
def test_two_tensors_of_different_dtype_raise(f):
    with pytest.raises(tf.errors.InvalidArgumentError, match="do not go together. Fix: tf.cast one of them"):
        f()


def test_an_integer_tensor_with_a_float_raises():
    with pytest.raises(TypeError, match="Cannot convert 0.5 to a tensor of dtype int32"):
        tf.constant(1) + 0.5


def test_integers_divided_are_float64():
    y = tf.constant(3) / tf.constant(2)
    assert y.dtype == tf.float64 and y.numpy() == 1.5


def test_the_mean_of_integers_is_an_integer():
    y = tf.reduce_mean([1, 2, 4])
    assert y.dtype == tf.int32 and y.numpy() == 2
    assert tf.reduce_mean([-1, -2, -4]).numpy() == -2


def test_the_sum_of_integers_keeps_their_dtype():
    y = tf.reduce_sum([1, 2, 4])
    assert y.dtype == tf.int32 and y.numpy() == 7


def test_argmax_is_int64():
    assert tf.argmax([1.0, 3.0, 2.0]).dtype == tf.int64
    assert tf.argmax([[1.0, 3.0], [4.0, 2.0]]).numpy().tolist() == [1, 0]


def test_how_tensors_print():
    assert str(tf.constant(6.0)) == "tf.Tensor(6.0, shape=(), dtype=float32)"
    assert str(tf.sqrt(2.0)) == "tf.Tensor(1.4142135, shape=(), dtype=float32)"
    assert str(tf.constant([[1.0, 2.0], [3.0, 4.0]])) == "tf.Tensor([[1. 2.]\n [3. 4.]], shape=(2, 2), dtype=float32)"
    assert str(tf.constant(3)) == "tf.Tensor(3, shape=(), dtype=int32)"
    assert repr(tf.constant(6.0)) == "<tf.Tensor: shape=(), dtype=float32, numpy=6.0>"
    assert repr(tf.Variable(3.0, name="x1")) == "<tf.Variable 'x1:0' shape=() dtype=float32, numpy=3.0>"


# -- linear algebra --------------------------------------------------------------------------------------------------
def test_eigh_is_a_function_of_the_lower_triangle():
    a = np.array([[2.0, 0.5, 0.3], [0.5, 3.0, 0.7], [0.3, 0.7, 5.0]])
    weights = tf.constant(np.array([1.0, 2.0, 4.0]))
    found = gradient(lambda a: tf.reduce_sum(tf.linalg.eigh(a)[0] * weights), a, dtype=tf.float64).numpy()
    assert np.array_equal(found, np.tril(found))
    step = 1e-6
    for i in range(3):
        for j in range(i + 1):
            b, c = a.copy(), a.copy()
            b[i, j] += step
            c[i, j] -= step
            slope = (np.linalg.eigh(b)[0] - np.linalg.eigh(c)[0]) @ [1.0, 2.0, 4.0] / (2 * step)
            assert found[i, j] == pytest.approx(slope, rel=1e-6)


SYMMETRIC = np.array([[4.0, 1.0, 0.5], [1.0, 3.0, 0.2], [0.5, 0.2, 2.0]])
TALL = np.arange(8.0).reshape(4, 2) ** 1.5


def test_linear_algebra_has_tensorflows_order_of_results():
    a, tall = tf.constant(SYMMETRIC), tf.constant(TALL)
    close(tf.linalg.logdet(a), np.linalg.slogdet(SYMMETRIC)[1])
    close(tf.linalg.eigvalsh(a), np.linalg.eigvalsh(SYMMETRIC))
    close(tf.linalg.adjoint(tf.complex(a, tall[:3, :1])), SYMMETRIC.T - 1j * TALL[:3, :1].T)
    close(tf.linalg.cross(a, a[::-1]), np.cross(SYMMETRIC, SYMMETRIC[::-1]))
    s, u, v = tf.linalg.svd(tall)
    assert (u.shape, s.shape, v.shape) == ((4, 2), (2,), (2, 2))
    close(u @ tf.linalg.diag(s) @ tf.transpose(v), TALL)
    q, r = tf.linalg.qr(tall, full_matrices=True)
    assert (q.shape, r.shape) == ((4, 4), (4, 2))
    close(q @ r, TALL)


def test_moments_and_padding_by_reflection():
    mean, variance = tf.nn.moments(tf.constant(TALL), [0])
    close(mean, TALL.mean(0))
    close(variance, TALL.var(0))
    close(tf.pad(tf.constant(TALL), [[1, 1], [0, 0]], mode="REFLECT"), np.pad(TALL, [(1, 1), (0, 0)], mode="reflect"))
    assert [part.shape for part in tf.split(tf.constant(TALL), [1, -1, 2], axis=0)] == [(1, 2), (1, 2), (2, 2)]


def test_cholesky_has_a_symmetric_gradient():
    a = np.array([[4.0, 1.0], [1.0, 3.0]])
    found = gradient(lambda a: tf.reduce_sum(tf.linalg.cholesky(a)), a, dtype=tf.float64).numpy()
    assert np.array_equal(found, found.T)
    direction = np.array([[0.3, -0.2], [-0.2, 0.5]])
    step = 1e-6
    slope = (np.linalg.cholesky(a + step * direction) - np.linalg.cholesky(a - step * direction)).sum() / (2 * step)
    assert np.sum(found * direction) == pytest.approx(slope, rel=1e-8)


def test_softmax_cross_entropy_gives_gradients_to_labels():
    labels, logits = [0.2, 0.3, 0.5], [1.0, -1.0, 2.0]
    dlabels, dlogits = gradient(tf.nn.softmax_cross_entropy_with_logits, labels, logits)
    softmax = np.exp(logits) / np.exp(logits).sum()
    close(dlabels, -np.log(softmax), rtol=1e-5)
    close(dlogits, softmax - labels, rtol=1e-5)


# -- where TensorFlow is wrong, or gives an avoidable NaN ------------------------------------------------------------
def test_cumprod_with_zeros_has_its_true_gradient():
    # of 2 + 2·0 + 2·0·4 by each: 1 + b + bc, a + ac, ab
    found = gradient(lambda x: tf.reduce_sum(tf.math.cumprod(x)), [2.0, 0.0, 4.0])
    assert found.numpy().tolist() == [1.0, 10.0, 0.0]


def test_the_derivative_of_a_zeroth_power_at_zero_is_zero():
    assert gradient(lambda x: x**0, 0.0).numpy() == 0.0
    assert gradient(lambda x: x**0.0, [0.0, 2.0]).numpy().tolist() == [0.0, 0.0]


def test_the_second_derivative_of_a_first_power_is_zero():
    for f in (lambda x: x**1, lambda x: x**1.0, lambda x: tf.pow(x, 1.0)):
        assert second(f, [0.0, 2.0]).numpy().tolist() == [0.0, 0.0]


@pytest.mark.parametrize(
    ("f", "expected"),
    [
        (lambda x: tf.where(x > 0, tf.math.log(x), 0.0), [0.0, 0.0, 0.5]),
        (lambda x: tf.where(x != 0, 1 / x, 0.0), [-1.0, 0.0, -0.25]),
        (lambda x: tf.where(x > 0, x**0.5, 0.0), [0.0, 0.0, 0.5 / np.sqrt(2.0)]),
        (lambda x: tf.where(x > 0, tf.sqrt(x), x), [1.0, 1.0, 0.5 / np.sqrt(2.0)]),
    ],
)
def test_where_guards_the_gradient(f, expected):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        close(gradient(f, [-1.0, 0.0, 2.0]), expected)


def test_the_gradient_of_the_norm_at_zero_is_zero():
    assert gradient(tf.norm, [0.0, 0.0]).numpy().tolist() == [0.0, 0.0]
    assert gradient(lambda x: tf.norm(x, axis=-1), [[0.0, 0.0], [3.0, 4.0]]).numpy().tolist() == [
        [0.0, 0.0],
        pytest.approx([0.6, 0.8], rel=1e-6),
    ]


def test_the_gradient_of_the_standard_deviation_at_zero_is_zero():
    assert gradient(tf.math.reduce_std, [2.0, 2.0]).numpy().tolist() == [0.0, 0.0]


def test_the_gradient_of_a_far_sigmoid_is_finite():
    found = gradient(tf.sigmoid, [-1000.0, 0.0, 1000.0])
    assert found.numpy().tolist() == [0.0, 0.25, 0.0]
    assert np.all(np.isfinite(gradient(tf.nn.softplus, [-1000.0, 0.0, 1000.0]).numpy()))


# -- rows and shapes -------------------------------------------------------------------------------------------------
def rows_of(f):
    w = tf.Variable([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    with tf.GradientTape() as tape:
        y = f(w)
    return tape.gradient(y, w)


@pytest.mark.parametrize(
    ("f", "indices", "dtype"),
    [
        (lambda w: tf.gather(w, [0, 2, 0]), [0, 2, 0], "int32"),
        (lambda w: tf.gather(w, [[0, 1], [1, 2]]), [0, 1, 1, 2], "int32"),
        (lambda w: tf.gather(w, 2), [2], "int32"),
        (lambda w: tf.gather(w, np.array([2, 0])), [2, 0], "int64"),
        (lambda w: tf.nn.embedding_lookup(w, tf.constant([1], tf.int64)), [1], "int64"),
        (lambda w: tf.concat([tf.gather(w, [0]), tf.gather(w, [1, 1])], 0), [0, 1, 1], "int32"),
    ],
)
def test_indices_of_slices_keep_the_dtype_of_the_gather(f, indices, dtype):
    found = rows_of(f)
    assert isinstance(found, tf.IndexedSlices)
    assert found.indices.numpy().tolist() == indices and found.indices.dtype == dtype


def test_a_boolean_mask_has_a_dense_gradient():
    close(rows_of(lambda w: tf.boolean_mask(w, [True, False, True])), [[1, 1], [0, 0], [1, 1]])
    close(rows_of(lambda w: tf.boolean_mask(w, [False, True], axis=1)), [[0, 1]] * 3)


def test_both_ends_of_linspace_have_gradients():
    one, other = gradient(lambda a, b: tf.linspace(a, b, 3) * [1.0, 2.0, 4.0], 1.0, 3.0)
    close(one, 2.0)
    close(other, 5.0)


def test_a_product_with_zero_has_the_gradient_of_a_product():
    one, other = gradient(tf.math.multiply_no_nan, [2.0, np.nan], [0.0, 0.0])
    assert one.numpy().tolist() == [0.0, 0.0]
    assert other.numpy()[0] == 2.0


def test_matmul_takes_no_vectors():
    with pytest.raises(tf.errors.InvalidArgumentError, match="matvec"):
        tf.matmul(tf.constant([1.0]), tf.constant([[1.0]]))


SQUARE = tf.constant([[4.0, 1.0], [1.0, 3.0]])


@pytest.mark.parametrize(
    "f",
    [
        lambda: tf.ones((2, 3)) + tf.ones((2, 2)),
        lambda: tf.Variable([1.0, 2.0]) * tf.ones(3),
        lambda: tf.matmul(tf.ones((2, 3)), tf.ones((2, 3))),
        lambda: tf.ones((2, 3)) @ tf.ones((2, 3)),
        lambda: tf.reshape(tf.ones((2, 3)), (4,)),
        lambda: tf.concat([tf.ones((2, 3)), tf.ones((2, 2))], 0),
        lambda: tf.stack([tf.ones(2), tf.ones(3)]),
        lambda: tf.split(tf.ones(5), 2),
        lambda: tf.squeeze(tf.ones((2, 1)), 0),
        lambda: tf.reduce_sum(tf.ones(2), 3),
        lambda: tf.gather(tf.ones(2), 7),
        lambda: tf.ones(2)[5],
        lambda: tf.Variable([1.0])[1, 2],
        lambda: tf.linalg.inv(tf.ones((2, 2))),
        lambda: tf.linalg.cholesky(-SQUARE),
        lambda: tf.linalg.solve(SQUARE, tf.ones((3, 1))),
        lambda: tf.einsum("ij,j->i", SQUARE, tf.ones(3)),
        lambda: tf.transpose(SQUARE, (0, 2)),
    ],
)
def test_what_does_not_fit_is_an_invalid_argument(f):
    with pytest.raises(tf.errors.InvalidArgumentError, match="^test_facts.py:") as caught:
        f()
    assert isinstance(caught.value, ValueError) and str(caught.value).count("test_facts.py") == 1


def test_tapecs_own_errors_stay_what_they_are():
    with pytest.raises(ValueError, match="does not fit Variable") as caught:
        tf.Variable([1.0, 2.0]).assign([1.0])
    assert not isinstance(caught.value, tf.errors.InvalidArgumentError)


def test_nothing_is_equal_to_none():
    for x in (tf.constant([1.0, 2.0]), tf.Variable(1.0)):
        assert (x == None) is False and (x != None) is True  # noqa: E711


def test_parts_of_variables_are_assigned():
    w = tf.Variable([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    assert w[0].assign([7.0, 8.0, 9.0]) is w
    w[:, 1].assign_add(tf.constant([10.0, 20.0]))
    w[-1, tf.constant(0)].assign_sub(0.5)
    w[..., 2:].assign([[0.0], [-1.0]])
    assert w.numpy().tolist() == [[7.0, 18.0, 0.0], [3.5, 25.0, -1.0]]
    for value in ([1.0, 2.0], 1.0):  # no broadcasting
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"for a part of shape \(3,\)"):
            w[0].assign(value)
    with pytest.raises(tf.errors.InvalidArgumentError, match="do not go together"):
        w[0, 0].assign(tf.constant(1.0, tf.float64))


def test_a_part_that_was_read_keeps_its_value_and_its_gradient():
    w = tf.Variable([1.0, 2.0])
    with tf.GradientTape() as tape:
        part = w[1]
        y = part * part
        w[1].assign(5.0)
        z = y + w[0] * w[1]
    assert part.numpy() == 2.0 and z.numpy() == 9.0
    found = tf.convert_to_tensor(tape.gradient(z, w)).numpy()
    assert found.tolist() == [5.0, 5.0]  # of w[1] both readings: 2 * 2 and w[0]


UNCHANGED = {
    "convert_to_tensor": tf.convert_to_tensor,
    "identity": tf.identity,
    "all of it": lambda w: w[:],
    "reshape": lambda w: tf.reshape(w, [-1]),
    "squeeze": tf.squeeze,
    "transpose": tf.transpose,
    "broadcast_to": lambda w: tf.broadcast_to(w, [2]),
    "cast": lambda w: tf.cast(w, tf.float32),
    "np.ravel": np.ravel,
}


@pytest.mark.parametrize("f", UNCHANGED.values(), ids=UNCHANGED)
def test_what_was_read_from_a_variable_is_not_the_variable(f):
    w = tf.Variable([1.0, 2.0])
    before = f(w)
    with tf.GradientTape(persistent=True) as tape:
        inside = f(w)
        y = w * before + inside * inside
    assert tape.gradient(y, w).numpy().tolist() == [3.0, 6.0]
    assert tape.gradient(y, inside).numpy().tolist() == [2.0, 4.0]
    assert tape.gradient(y, before) is None
    assert tape.gradient(inside, w).numpy().tolist() == [1.0, 1.0]
    w.assign([5.0, 6.0])
    assert before.numpy().tolist() == [1.0, 2.0]


def test_a_cast_to_the_same_dtype_is_the_tensor_itself():
    x = tf.constant([1.0, 2.0])
    assert tf.cast(x, tf.float32) is x and tf.cast(x, tf.float64) is not x
    assert tf.reshape(x, [2]) is not x and tf.squeeze(x) is not x


@pytest.mark.parametrize("read", [tf.identity, tf.convert_to_tensor, lambda w: w.read_value()])
def test_a_gather_from_what_was_read_is_by_rows(read):
    w = tf.Variable([[1.0], [2.0], [3.0]])
    with tf.GradientTape() as tape:
        y = tf.gather(read(w), [2, 0, 2])
    found = tape.gradient(y, w)
    assert isinstance(found, tf.IndexedSlices) and found.indices.numpy().tolist() == [2, 0, 2]


def test_shapes_are_what_tensorflow_has():
    shape = tf.Variable(np.ones((2, 3), np.float32)).shape
    assert isinstance(shape, tf.TensorShape)
    assert shape.as_list() == [2, 3] and shape == [2, 3] == shape and shape != (2,) and hash(shape) == hash((2, 3))
    assert (shape.rank, shape.ndims, shape.num_elements()) == (2, 2, 6)
    assert str(shape) == "(2, 3)" and repr(shape) == "TensorShape([2, 3])"
    assert repr(shape[:1] + [4]) == "TensorShape([2, 4])" and repr([1] + shape) == "TensorShape([1, 2, 3])"
    assert tf.zeros(shape).get_shape() == shape and tf.reshape(tf.zeros(6), shape).shape == shape


@pytest.mark.parametrize("product", [lambda x: x @ x, lambda x: x @ 3, lambda x: 3 @ x, lambda x: x @ tf.Variable(3)])
def test_products_of_scalars_are_refused(product):
    with pytest.raises(tf.errors.InvalidArgumentError, match="does not have enough dimensions"):
        product(tf.constant(3))
