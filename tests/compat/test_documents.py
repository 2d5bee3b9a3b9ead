"""Every code block of the documents that define GradientTape, run with tapec in TensorFlow's place.

The documents are the reference pages of r1.6, r1.15 and r2.0, a notebook and a tutorial. Their code stands here as it
is there; what they state in text and comments is asserted below it.
"""

import numpy as np
import pytest

import tapec.compat.tensorflow as tf
import tapec.compat.tensorflow as tfe


def is_float32(tensor, value):
    assert isinstance(tensor, tf.Tensor)
    assert tensor.dtype == tf.float32
    assert tensor.shape == np.shape(value)
    assert np.array_equal(tensor.numpy(), value)


# -- tf.contrib.eager.GradientTape, r1.6 -----------------------------------------------------------------------------
def test_r1_6_first_example():
    with tfe.GradientTape() as g:
        x = tf.constant(3.0)
        g.watch(x)
        y = x * x
    grad = g.gradient(y, [x])[0]
    assert grad.numpy() == 6.0
    is_float32(grad, 6.0)


def test_r1_6_higher_order():
    with tfe.GradientTape() as g:
        x = tf.constant(3.0)
        g.watch(x)
        y = x * x
        with tfe.GradientTape() as gg:
            gg.watch(y)
            z = 2 * y
        inner_grad = gg.gradient(z, [y])[0]
        assert inner_grad.numpy() == 2
        y = y + inner_grad
    grad = g.gradient(y, [x])[0]
    assert grad.numpy() == 6.0
    is_float32(inner_grad, 2.0)
    is_float32(grad, 6.0)


def test_r1_6_persistent():
    with tfe.GradientTape(persistent=True) as g:
        x = tf.constant(3.0)
        g.watch(x)
        y = x * x
        z = y * y
    dz_dx = g.gradient(z, [x])[0]
    assert dz_dx.numpy() == 108.0  # 4*x^3 at x = 3
    dy_dx = g.gradient(y, [x])[0]
    assert dy_dx.numpy() == 6.0
    del g  # Drop the reference to the tape
    is_float32(dz_dx, 108.0)
    is_float32(dy_dx, 6.0)


# -- tf.GradientTape, r1.15 and r2.0 ---------------------------------------------------------------------------------
def test_r2_0_first_example():
    x = tf.constant(3.0)
    with tf.GradientTape() as g:
        g.watch(x)
        y = x * x
    dy_dx = g.gradient(y, x)  # Will compute to 6.0
    is_float32(dy_dx, 6.0)


def test_r2_0_higher_order():
    x = tf.constant(3.0)
    with tf.GradientTape() as g:
        g.watch(x)
        with tf.GradientTape() as gg:
            gg.watch(x)
            y = x * x
        dy_dx = gg.gradient(y, x)  # Will compute to 6.0
    d2y_dx2 = g.gradient(dy_dx, x)  # Will compute to 2.0
    is_float32(dy_dx, 6.0)
    is_float32(d2y_dx2, 2.0)


def test_r2_0_persistent():
    x = tf.constant(3.0)
    with tf.GradientTape(persistent=True) as g:
        g.watch(x)
        y = x * x
        z = y * y
    dz_dx = g.gradient(z, x)  # 108.0 (4*x^3 at x = 3)
    dy_dx = g.gradient(y, x)  # 6.0
    del g  # Drop the reference to the tape
    is_float32(dz_dx, 108.0)
    is_float32(dy_dx, 6.0)


def test_r2_0_watch_accessed_variables():
    variable_a = tf.Variable(3.0)
    variable_b = tf.Variable(2.0)
    with tf.GradientTape(watch_accessed_variables=False) as tape:
        tape.watch(variable_a)
        y = variable_a**2  # Gradients will be available for `variable_a`.
        z = variable_b**3  # No gradients will be available since `variable_b` is
        # not being watched.
    assert tape.watched_variables() == (variable_a,)
    found = tape.gradient([y, z], [variable_a, variable_b])
    is_float32(found[0], 6.0)
    assert found[1] is None


def test_r2_0_layers_that_are_not_built_yet():
    inputs = tf.ones((2, 8))
    a = tf.keras.layers.Dense(32)
    b = tf.keras.layers.Dense(32)

    with tf.GradientTape(watch_accessed_variables=False) as tape:
        tape.watch(a.variables)  # Since `a.build` has not been called at this point
        # `a.variables` will return an empty list and the
        # tape will not be watching anything.
        result = b(a(inputs))
        found = tape.gradient(result, a.variables)  # The result of this computation will be
        # a list of `None`s since a's variables
        # are not being watched.
    assert found == [None, None]
    assert tape.watched_variables() == ()


def test_r2_0_batch_jacobian():
    with tf.GradientTape() as g:
        x = tf.constant([[1.0, 2.0], [3.0, 4.0]], dtype=tf.float32)
        g.watch(x)
        y = x * x
    batch_jacobian = g.batch_jacobian(y, x)
    # batch_jacobian is [[[2,  0], [0,  4]], [[6,  0], [0,  8]]]
    is_float32(batch_jacobian, [[[2, 0], [0, 4]], [[6, 0], [0, 8]]])


def test_r2_0_batch_jacobian_stacks_jacobians():
    """`tf.stack([self.jacobian(y[i], x[i]) for i in range(x.shape[0])])`"""
    rows = [tf.constant([1.0, 2.0]), tf.constant([3.0, 4.0])]
    with tf.GradientTape(persistent=True) as g:
        g.watch(rows)
        x = tf.stack(rows)
        squares = [row * row for row in rows]
        y = x * x
    stacked = tf.stack([g.jacobian(squares[i], rows[i]) for i in range(x.shape[0])])
    is_float32(g.batch_jacobian(y, x), stacked.numpy())


def test_r2_0_jacobian():
    with tf.GradientTape() as g:
        x = tf.constant([1.0, 2.0])
        g.watch(x)
        y = x * x
    jacobian = g.jacobian(y, x)
    # jacobian value is [[2., 0.], [0., 4.]]
    is_float32(jacobian, [[2.0, 0.0], [0.0, 4.0]])


def test_r2_0_reset():
    w = tf.Variable(3.0)

    def loss_fn():
        return w * w

    def other_loss_fn():
        return 5.0 * w

    with tf.GradientTape() as t:
        loss = loss_fn()
    with tf.GradientTape() as t:
        loss += other_loss_fn()
    first = t.gradient(loss, w)  # Only differentiates other_loss_fn, not loss_fn

    # The following is equivalent to the above
    with tf.GradientTape() as t:
        loss = loss_fn()
        t.reset()
        loss += other_loss_fn()
    second = t.gradient(loss, w)  # Only differentiates other_loss_fn, not loss_fn
    is_float32(first, 5.0)
    is_float32(second, 5.0)


@pytest.mark.parametrize(("k", "expected"), [(100.0, 6.0), (1.0, None)])
def test_r2_0_reset_inside_control_flow(k, expected):
    w = tf.Variable(3.0)
    with tf.GradientTape() as t:
        loss = w * w
        if loss > k:
            t.reset()
    found = t.gradient(loss, w)
    assert found is None if expected is None else found.numpy() == expected


def test_r2_0_stop_recording():
    class model:
        variables = [tf.Variable(3.0), tf.Variable([1.0, 2.0])]

    def compute_loss(model):
        return tf.reduce_sum(model.variables[0] * model.variables[1] * model.variables[1])

    with tf.GradientTape(persistent=True) as t:
        loss = compute_loss(model)
        with t.stop_recording():
            # The gradient computation below is not traced, saving memory.
            grads = t.gradient(loss, model.variables)
    is_float32(grads[0], 5.0)
    is_float32(grads[1], [6.0, 12.0])
    assert t.gradient(grads[1], model.variables) == [None, None]


# -- the notebook ----------------------------------------------------------------------------------------------------
def test_notebook(capsys):
    # In [1]
    assert tf.__version__ == "2.0.0"

    # In [2]
    x = tf.constant(3.0)
    is_float32(x, 3.0)
    assert repr(x) == "<tf.Tensor: shape=(), dtype=float32, numpy=3.0>"

    # In [3]
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x * x
    dy_dx = tape.gradient(y, x)  # Will compute to 6.0

    print(dy_dx)
    print("Value:", dy_dx.numpy())
    assert capsys.readouterr().out == "tf.Tensor(6.0, shape=(), dtype=float32)\nValue: 6.0\n"

    # In [4]
    with tf.GradientTape() as tape2:
        tape2.watch(x)
        with tf.GradientTape() as tape3:
            tape3.watch(x)
            y = x * x
        dy_dx = tape3.gradient(y, x)
    d2y_d2x = tape2.gradient(dy_dx, x)

    print("Function: y = x * x, x = 3.0")
    print("First Derivative:", dy_dx.numpy())
    print("Second Derivative:", d2y_d2x.numpy())
    assert capsys.readouterr().out == ("Function: y = x * x, x = 3.0\nFirst Derivative: 6.0\nSecond Derivative: 2.0\n")

    # In [5]
    with tf.GradientTape(persistent=True) as persistent_tape:
        persistent_tape.watch(x)
        y = x * x
        z = y * y
    dz_dx = persistent_tape.gradient(z, x)  # 108.0 (4*x^3 at x = 3)
    dy_dx = persistent_tape.gradient(y, x)  # 6.0
    print("First derivative of function y = x ^ 4 at x = 3 is", dz_dx.numpy())
    assert capsys.readouterr().out == "First derivative of function y = x ^ 4 at x = 3 is 108.0\n"
    is_float32(dy_dx, 6.0)

    # Drop the reference to the tape
    del persistent_tape
    with pytest.raises(NameError):
        persistent_tape  # noqa: F821  # NameError: name 'persistent_tape' is not defined

    # In [6]
    variable_a = tf.Variable(3.0, name="x1")
    variable_b = tf.Variable(2.0, name="x2")

    with tf.GradientTape(persistent=True, watch_accessed_variables=False) as disable_tracking_tape:
        disable_tracking_tape.watch(variable_a)
        y = variable_a**2  # Gradients will be available for `variable_a`.
        z = variable_b**3  # No gradients will be available since `variable_b` is
        # not being watched.
    gradient_1 = disable_tracking_tape.gradient(y, variable_a)  # 6.0
    gradient_2 = disable_tracking_tape.gradient(z, variable_b)  # None

    print(gradient_1)
    print(gradient_2)
    assert capsys.readouterr().out == "tf.Tensor(6.0, shape=(), dtype=float32)\nNone\n"


# -- the tutorial (its indentation restored) -------------------------------------------------------------------------
def test_tutorial_setup():
    tf.enable_eager_execution()
    assert tf.executing_eagerly()


def test_tutorial_gradient_tapes():
    x = tf.ones((2, 2))

    with tf.GradientTape() as t:
        t.watch(x)
        y = tf.reduce_sum(x)
        z = tf.multiply(y, y)

    # Derivative of z with respect to the original input tensor x
    dz_dx = t.gradient(z, x)
    for i in [0, 1]:
        for j in [0, 1]:
            assert dz_dx[i][j].numpy() == 8.0
    is_float32(dz_dx, np.full((2, 2), 8.0))


def test_tutorial_intermediate_values():
    x = tf.ones((2, 2))

    with tf.GradientTape() as t:
        t.watch(x)
        y = tf.reduce_sum(x)
        z = tf.multiply(y, y)

    # Use the tape to compute the derivative of z with respect to the
    # intermediate value y.
    dz_dy = t.gradient(z, y)
    assert dz_dy.numpy() == 8.0
    is_float32(dz_dy, 8.0)


def test_tutorial_persistent():
    x = tf.constant(3.0)
    with tf.GradientTape(persistent=True) as t:
        t.watch(x)
        y = x * x
        z = y * y
    dz_dx = t.gradient(z, x)  # 108.0 (4*x^3 at x = 3)
    dy_dx = t.gradient(y, x)  # 6.0
    del t  # Drop the reference to the tape
    is_float32(dz_dx, 108.0)
    is_float32(dy_dx, 6.0)


def test_tutorial_control_flow():
    def f(x, y):
        output = 1.0
        for i in range(y):
            if i > 1 and i < 5:
                output = tf.multiply(output, x)
        return output

    def grad(x, y):
        with tf.GradientTape() as t:
            t.watch(x)
            out = f(x, y)
        return t.gradient(out, x)

    x = tf.convert_to_tensor(2.0)

    assert grad(x, 6).numpy() == 12.0
    assert grad(x, 5).numpy() == 12.0
    assert grad(x, 4).numpy() == 4.0
    is_float32(grad(x, 6), 12.0)


def test_tutorial_higher_order():
    x = tf.Variable(1.0)  # Create a Tensorflow variable initialized to 1.0

    with tf.GradientTape() as t:
        with tf.GradientTape() as t2:
            y = x * x * x
        # Compute the gradient inside the 't' context manager
        # which means the gradient computation is differentiable as well.
        dy_dx = t2.gradient(y, x)
    d2y_dx2 = t.gradient(dy_dx, x)

    assert dy_dx.numpy() == 3.0
    assert d2y_dx2.numpy() == 6.0
    is_float32(dy_dx, 3.0)
    is_float32(d2y_dx2, 6.0)
