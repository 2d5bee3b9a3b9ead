"""Functions that bring their own gradient, and stop_gradient: on tapes and in traced functions."""

import gc
import weakref

import numpy as np
import pytest

import tapec
from tapec import GradientTape, Variable, constant, custom_gradient
from tests.ops.derivatives import by_tape


@custom_gradient
def log1pexp(x):
    e = np.exp(x)

    def gradient(dy):
        return dy * (1 - 1 / (1 + e))

    return np.log(1 + e), gradient


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


# -- on a tape -------------------------------------------------------------------------------------------------------
def test_the_gradient_function_gives_the_gradient():
    assert by_tape(log1pexp)(constant(100.0)).numpy() == 1.0
    assert by_tape(log1pexp)(constant(0.3)).numpy() == pytest.approx(sigmoid(0.3), rel=1e-15)


def test_it_is_part_of_a_program():
    found = by_tape(lambda x: np.sin(log1pexp(x * 2.0) * 3.0))(constant(0.3))
    inner = np.log1p(np.exp(0.6))
    assert found.numpy() == pytest.approx(np.cos(3 * inner) * 3 * sigmoid(0.6) * 2, rel=1e-14)


def test_one_after_another():
    found = by_tape(lambda x: log1pexp(log1pexp(log1pexp(x))))(constant(0.3))
    a = np.log1p(np.exp(0.3))
    b = np.log1p(np.exp(a))
    assert found.numpy() == pytest.approx(sigmoid(0.3) * sigmoid(a) * sigmoid(b), rel=1e-14)


def test_paths_around_it_and_through_it():
    found = by_tape(lambda x: log1pexp(x) * x + log1pexp(x * x))(constant(0.3))
    expected = sigmoid(0.3) * 0.3 + np.log1p(np.exp(0.3)) + sigmoid(0.09) * 0.6
    assert found.numpy() == pytest.approx(expected, rel=1e-14)


def test_second_order():
    x = constant(0.3)
    s = sigmoid(0.3)
    assert by_tape(by_tape(log1pexp))(x).numpy() == pytest.approx(s * (1 - s), rel=1e-14)


def test_third_order():
    x = constant(0.3)
    s = sigmoid(0.3)
    found = by_tape(by_tape(by_tape(log1pexp)))(x)
    assert found.numpy() == pytest.approx(s * (1 - s) * (1 - 2 * s), rel=1e-13)


def test_second_order_by_a_persistent_tape_alone():
    x = constant(0.3)
    with GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = log1pexp(x)
        first = tape.gradient(y, x)
    s = sigmoid(0.3)
    assert tape.gradient(first, x).numpy() == pytest.approx(s * (1 - s), rel=1e-14)


def test_it_may_state_anything():
    @custom_gradient
    def f(x):
        return x * x, lambda dy: 100.0 * dy

    assert by_tape(f)(constant(3.0)).numpy() == 100.0


def test_the_value_of_the_gradient_is_known():
    seen = []

    @custom_gradient
    def clipped(x):
        def gradient(dy):
            seen.append(float(dy))
            return dy if dy < 5.0 else 5.0

        return x * 1.0, gradient

    assert by_tape(lambda x: clipped(x) * 3.0)(constant(1.0)).numpy() == 3.0
    assert by_tape(lambda x: clipped(x) * 30.0)(constant(1.0)).numpy() == 5.0
    assert seen == [3.0, 30.0]


def test_several_arguments_and_results():
    @custom_gradient
    def f(x, y):
        def gradient(da, db):
            return da * 10.0 + db, db * 100.0

        return (x + y, x * y), gradient

    x, y = constant(2.0), constant(3.0)
    with GradientTape(persistent=True) as tape:
        tape.watch([x, y])
        a, b = f(x, y)
        z = a * 2.0 + b
    assert a.numpy() == 5.0 and b.numpy() == 6.0
    assert [g.numpy() for g in tape.gradient(z, [x, y])] == [21.0, 100.0]


def test_unused_results_receive_zeros():
    received = []

    @custom_gradient
    def f(x):
        def gradient(da, db):
            received.append((da.numpy(), db.numpy()))
            return da

        return (x * 1.0, np.stack([x, x])), gradient

    x = constant(2.0)
    with GradientTape() as tape:
        tape.watch(x)
        a, _ = f(x)
    tape.gradient(a, x)
    [(da, db)] = received
    assert da == 1.0 and db.tolist() == [0.0, 0.0]


def test_nested_arguments_and_results():
    @custom_gradient
    def f(both):
        def gradient(dsum, dproduct):
            return {"x": dsum, "y": dproduct}

        return {"sum": both["x"] + both["y"], "product": both["x"] * both["y"]}, gradient

    x, y = constant(2.0), constant(3.0)
    with GradientTape() as tape:
        tape.watch([x, y])
        out = f({"x": x, "y": y})
        z = out["product"] * 7.0 + out["sum"] * 5.0
    # leaves go by sorted names: the first result is the product, and so is the first gradient that is given
    assert [g.numpy() for g in tape.gradient(z, [x, y])] == [7.0, 5.0]


def test_a_missing_gradient_is_none():
    @custom_gradient
    def f(x, y):
        return x * y, lambda dz: (dz * 5.0, None)

    x, y = constant(2.0), constant(3.0)
    with GradientTape(persistent=True) as tape:
        tape.watch([x, y])
        z = f(x, y)
    dx, dy = tape.gradient(z, [x, y])
    assert dx.numpy() == 5.0 and dy is None
    assert tape.gradient(z, y, unconnected_gradients="zero").numpy() == 0.0


@pytest.mark.parametrize("given", [(1.0,), (1.0, 2.0, 3.0), ()])
def test_a_wrong_number_of_gradients_is_a_value_error(given):
    @custom_gradient
    def f(x, y):
        return x * y, lambda dz: given

    x, y = constant(2.0), constant(3.0)
    with GradientTape() as tape:
        tape.watch([x, y])
        z = f(x, y)
    message = f"custom_gradient function f expected to return 2 gradients, but.* {len(given)} instead"
    with pytest.raises(ValueError, match=message):
        tape.gradient(z, x)


def test_a_gradient_of_another_shape_is_a_value_error():
    @custom_gradient
    def f(x):
        return x * 2.0, lambda dy: np.ones((2, 3))

    with pytest.raises(ValueError, match=r"returned a gradient of shape \(2, 3\) for an argument of shape \(3,\)"):
        by_tape(f)(constant(np.ones(3)))


def test_the_gradient_function_is_not_called_when_nothing_is_watched():
    calls = []

    @custom_gradient
    def f(x):
        def gradient(dy):
            calls.append(dy)
            return dy

        return x * 2.0, gradient

    x, other = constant(3.0), constant(4.0)
    with GradientTape() as tape:
        tape.watch(other)
        y = f(x) + other
    assert tape.gradient(y, [x, other])[0] is None
    assert calls == []
    assert f(x).numpy() == 6.0
    assert calls == []


def test_the_gradient_function_is_called_once_for_each_gradient():
    calls = []

    @custom_gradient
    def f(x):
        def gradient(dy):
            calls.append(1)
            return dy

        return x * 2.0, gradient

    x = constant(3.0)
    with GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = f(x)
        z = y * y + y
    tape.gradient(z, x)
    assert len(calls) == 1
    tape.gradient(y, x)
    assert len(calls) == 2


def test_returning_the_argument_itself_counts_as_a_new_tensor():
    @custom_gradient
    def f(x):
        return x, lambda dy: dy * 10.0

    x = constant(3.0)
    with GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = f(x)
        z = y * y
    assert y is not x
    assert tape.gradient(z, x).numpy() == 60.0
    assert tape.gradient(z, y).numpy() == 6.0
    assert tape.gradient(x, x).numpy() == 1.0


def test_a_result_as_source():
    x = constant(3.0)
    with GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = log1pexp(x)
        z = y * y
    dy, dx = tape.gradient(z, [y, x])
    assert dy.numpy() == pytest.approx(2 * np.log1p(np.exp(3.0)))
    assert dx.numpy() == pytest.approx(dy.numpy() * sigmoid(3.0))


def test_intermediate_sources_before_and_after():
    x = constant(0.3)
    with GradientTape(persistent=True) as tape:
        tape.watch(x)
        a = x * 2.0
        b = log1pexp(a)
        c = b * 3.0
        d = log1pexp(c)
    dc, db, da, dx = tape.gradient(d, [c, b, a, x])
    c_value = 3 * np.log1p(np.exp(0.6))
    assert dc.numpy() == pytest.approx(sigmoid(c_value))
    assert db.numpy() == pytest.approx(3 * sigmoid(c_value))
    assert da.numpy() == pytest.approx(3 * sigmoid(c_value) * sigmoid(0.6))
    assert dx.numpy() == pytest.approx(6 * sigmoid(c_value) * sigmoid(0.6))


def test_output_gradients_and_several_targets():
    x = constant(0.3)
    with GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = log1pexp(x)
        z = y * x
    assert tape.gradient(y, x, output_gradients=constant(5.0)).numpy() == pytest.approx(5 * sigmoid(0.3))
    both = tape.gradient([y, z], x)
    assert both.numpy() == pytest.approx(sigmoid(0.3) * 1.3 + np.log1p(np.exp(0.3)))


def test_jacobians_go_through_it():
    x = constant([0.1, 0.2, 0.3])
    with GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = log1pexp(x) * x[0]
    expected = np.diag(sigmoid(x.numpy())) * 0.1
    expected[:, 0] += np.log1p(np.exp(x.numpy()))
    np.testing.assert_allclose(tape.jacobian(y, x).numpy(), expected, rtol=1e-14)


def test_another_closure_is_no_new_compilation():
    def times(k):
        @custom_gradient
        def f(x):
            return x * k, lambda dy: dy * (10.0 * k)

        return f

    x = constant(3.0)
    assert by_tape(lambda x: times(2.0)(x) * 3.0)(x).numpy() == 60.0
    assert by_tape(lambda x: times(5.0)(x) * 3.0)(x).numpy() == 150.0
    before = tapec.cache_info().compilations
    assert by_tape(lambda x: times(7.0)(x) * 3.0)(x).numpy() == 210.0
    assert tapec.cache_info().compilations == before


def test_without_tensors_plain_values_come_back():
    assert type(log1pexp(0.3)) is np.float64
    assert isinstance(log1pexp(np.ones(3)), np.ndarray)


def test_arguments_that_are_no_tensors():
    @custom_gradient
    def f(x, mode, k=2.0):
        return x * k, lambda dy: (dy * (100.0 if mode == "much" else 1.0), None)

    assert by_tape(lambda x: f(x, "much", k=3.0))(constant(1.0)).numpy() == 100.0
    assert by_tape(lambda x: f(x, "little"))(constant(1.0)).numpy() == 1.0


def test_methods():
    class Layer:
        k = 3.0

        @custom_gradient
        def double(self, x):
            return x * self.k, lambda dy: (None, dy * 30.0)

        @custom_gradient
        def treble(self, x):
            return x * self.k, lambda dy: dy * 90.0

        @custom_gradient
        def weigh(self, x, y):
            return x * y, lambda dy: (dy * 2.0, dy * 3.0)

    layer = Layer()
    assert by_tape(layer.double)(constant(1.0)).numpy() == 30.0
    assert by_tape(layer.treble)(constant(1.0)).numpy() == 90.0  # as TensorFlow has it
    assert by_tape(lambda x: layer.weigh(x, x))(constant(1.0)).numpy() == 5.0
    assert tapec.grad(layer.treble)(1.0) == 90.0
    assert tapec.grad(lambda x: layer.weigh(x, 2.0))(1.0) == 2.0


def test_what_f_must_return():
    @custom_gradient
    def f(x):
        return x * 2.0

    with pytest.raises(TypeError, match="f must return its result and its gradient function"):
        f(constant(1.0))


def test_an_integer_argument_has_no_gradient():
    @custom_gradient
    def f(n, x):
        return n * x, lambda dy: (dy * 5.0, dy * 7.0)

    n, x = constant(2), constant(3.0)
    with GradientTape() as tape:
        tape.watch([n, x])
        y = f(n, x)
    dn, dx = tape.gradient(y, [n, x])
    assert dn is None and dx.numpy() == 7.0


def test_gradients_take_the_dtype_of_the_argument():
    @custom_gradient
    def f(x):
        return x * 2.0, lambda dy: dy.numpy().astype(np.float64) * 3

    found = by_tape(f)(constant(np.float32(1.0)))
    assert found.dtype == np.float32 and found.numpy() == 3.0


def test_gathers_before_it_are_still_sparse():
    table = Variable([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    with GradientTape() as tape:
        loss = np.sum(log1pexp(table[np.array([2, 0, 2])]))
    found = tape.gradient(loss, table)
    assert isinstance(found, tapec.IndexedSlices) and found.indices.numpy().tolist() == [2, 0, 2]
    np.testing.assert_allclose(found.values.numpy(), sigmoid(table.numpy()[[2, 0, 2]]), rtol=1e-14)


# -- Variables -------------------------------------------------------------------------------------------------------
def linear(w):
    @custom_gradient
    def f(x):
        def gradient(dy, variables=None):
            assert [v is w for v in variables] == [True]
            return dy * w * 10.0, [dy * x * 100.0]

        return w * x, gradient

    return f


def test_variables_get_gradients_too():
    w, x = Variable(2.0), constant(3.0)
    f = linear(w)
    with GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    dx, dw = tape.gradient(y, [x, w])
    assert dx.numpy() == 20.0 and dw.numpy() == 300.0


def test_a_function_that_uses_variables_must_take_them_in_its_gradient_function():
    w = Variable(2.0)

    @custom_gradient
    def f(x):
        return w * x, lambda dy: dy * w

    message = "must accept keyword argument 'variables', since the function uses variables"
    with pytest.raises(TypeError, match=message):
        f(constant(3.0))
    with GradientTape(), pytest.raises(TypeError, match=message):
        f(constant(3.0))


def test_a_variable_as_argument_is_no_variable_used():
    w = Variable(2.0)

    @custom_gradient
    def f(w, x):
        return w * x, lambda dy: (dy * 10.0, dy * 20.0)

    x = constant(3.0)
    with GradientTape() as tape:
        tape.watch(x)
        y = f(w, x)
    dw, dx = tape.gradient(y, [w, x])
    assert dw.numpy() == 10.0 and dx.numpy() == 20.0


def test_a_variable_that_is_not_trainable_is_no_variable_used():
    w = Variable(2.0, trainable=False)

    @custom_gradient
    def f(x):
        return w * x, lambda dy: dy * 7.0

    assert by_tape(f)(constant(3.0)).numpy() == 7.0


def test_a_wrong_number_of_variable_gradients():
    w = Variable(2.0)

    @custom_gradient
    def f(x):
        return w * x, lambda dy, variables: (dy, [dy, dy])

    x = constant(3.0)
    with GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    with pytest.raises(ValueError, match="Must return gradient for each variable"):
        tape.gradient(y, x)


def test_what_a_function_only_captures_is_differentiated_as_it_is():
    x = constant(3.0)
    with GradientTape() as tape:
        tape.watch(x)

        @custom_gradient
        def f(k):
            return x * k, lambda dy: dy * 1000.0

        y = f(constant(2.0))
    assert tape.gradient(y, x).numpy() == 2.0


# -- life ------------------------------------------------------------------------------------------------------------
def test_an_exception_in_the_gradient_function_leaves_the_tape_as_it_was():
    fail = [True]

    @custom_gradient
    def f(x):
        def gradient(dy):
            if fail[0]:
                raise KeyError("not yet")
            return dy * 5.0

        return x * 2.0, gradient

    x = constant(3.0)
    with GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    with pytest.raises(KeyError, match="not yet"):
        tape.gradient(y, x)
    fail[0] = False
    assert tape.gradient(y, x).numpy() == 5.0


def test_an_exception_in_the_function_leaves_no_recording_open():
    from tapec.trace.recording_stack import CURRENT

    @custom_gradient
    def f(x):
        raise KeyError

    with pytest.raises(KeyError):
        f(constant(1.0))
    assert CURRENT.get() is None


def test_a_used_tape_holds_no_gradient_function():
    class Big:
        pass

    big = Big()
    alive = weakref.ref(big)

    @custom_gradient
    def f(x, big=big):
        def gradient(dy):
            return dy * (1.0 if big else 2.0)

        return x * 2.0, gradient

    x = constant(3.0)
    with GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    tape.gradient(y, x)
    del f, big
    gc.collect()
    assert alive() is None


# -- traced functions ------------------------------------------------------------------------------------------------
def test_in_a_traced_function():
    f = tapec.grad(lambda x: log1pexp(x) * 3.0)
    assert f(0.3) == pytest.approx(3 * sigmoid(0.3), rel=1e-14)
    assert f(100.0) == 3.0
    assert f.cache_info().compilations == 1


def test_second_order_in_a_traced_function():
    s = sigmoid(0.3)
    assert tapec.grad(tapec.grad(log1pexp))(0.3) == pytest.approx(s * (1 - s), rel=1e-13)


def test_in_forward_mode_and_in_a_batch():
    assert tapec.jacfwd(log1pexp)(0.3) == pytest.approx(sigmoid(0.3), rel=1e-14)
    x = np.array([0.1, 0.2, 0.3])
    np.testing.assert_allclose(tapec.vmap(tapec.grad(log1pexp))(x), sigmoid(x), rtol=1e-14)


def test_compiled_it_is_just_its_result():
    f = tapec.compile(log1pexp)
    assert f(0.3) == pytest.approx(np.log1p(np.exp(0.3)), rel=1e-15)


def test_several_results_in_a_traced_function():
    @custom_gradient
    def f(x, y):
        return (x + y, x * y), lambda da, db: (da * 10.0 + db, None)

    def loss(x, y):
        a, b = f(x, y)
        return a * 2.0 + b

    dx, dy = tapec.grad(loss, argnums=(0, 1))(2.0, 3.0)
    assert dx == 21.0 and dy == 0.0


def test_captured_values_of_a_gradient_function_are_read_anew():
    @custom_gradient
    def scaled(x, k):
        return x * k, lambda dy: (dy * k * 10.0, None)

    f = tapec.grad(lambda x, k: scaled(x, k) * 1.0)
    assert f(1.0, 2.0) == 20.0
    assert f(1.0, 3.0) == 30.0
    assert f.cache_info().compilations == 1


SCALE = np.array([2.0, 3.0])
FACTOR = 2.0


@custom_gradient
def with_captured_state(x):
    return x * SCALE * FACTOR, lambda dy: dy * SCALE * FACTOR * 10.0


def test_captured_state_is_read_anew(monkeypatch):
    value, slope = tapec.compile(with_captured_state), tapec.grad(lambda x: np.sum(with_captured_state(x)))
    ones = np.ones(2)
    assert value(ones).tolist() == [4.0, 6.0] and slope(ones).tolist() == [40.0, 60.0]
    monkeypatch.setitem(globals(), "SCALE", np.array([5.0, 7.0]))
    monkeypatch.setitem(globals(), "FACTOR", 3.0)
    assert value(ones).tolist() == [15.0, 21.0] and slope(ones).tolist() == [150.0, 210.0]
    assert slope.cache_info().compilations == 1


def test_a_gradient_function_that_looks_at_values_is_an_error_in_a_traced_function():
    @custom_gradient
    def clipped(x):
        return x * 1.0, lambda dy: dy if dy < 5.0 else dy * 0.0

    with pytest.raises(tapec.DetachError, match="looks at the value of a gradient.*Fix: np.where"):
        tapec.grad(lambda x: clipped(x) * 3.0)(1.0)


def test_a_tape_inside_a_traced_function():
    def f(x):
        with GradientTape() as tape:
            tape.watch(x)
            y = log1pexp(x) * 2.0
        return tape.gradient(y, x)

    s = sigmoid(0.3)
    assert tapec.compile(f)(0.3) == pytest.approx(2 * s, rel=1e-14)
    assert tapec.grad(f)(0.3) == pytest.approx(2 * s * (1 - s), rel=1e-13)


# -- stop_gradient ---------------------------------------------------------------------------------------------------
def test_stop_gradient_on_a_tape():
    assert by_tape(lambda x: x * tapec.stop_gradient(x))(constant(3.0)).numpy() == 3.0
    assert by_tape(tapec.stop_gradient)(constant(3.0)) is None


def test_stop_gradient_of_a_variable():
    v = Variable(3.0)
    with GradientTape() as tape:
        y = v * tapec.stop_gradient(v)
    assert tape.gradient(y, v).numpy() == 3.0


def test_stop_gradient_in_a_traced_function():
    f = tapec.grad(lambda x: x * x * tapec.stop_gradient(x))
    assert f(3.0) == 18.0
    assert tapec.grad(f)(3.0) == 6.0


def test_stop_gradient_of_plain_values():
    assert tapec.stop_gradient(3.0) == 3.0
    assert tapec.stop_gradient(np.array([True, False])).tolist() == [True, False]
