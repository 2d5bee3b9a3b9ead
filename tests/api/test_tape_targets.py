"""What a gradient is taken of, and with respect to what."""

from collections import OrderedDict, defaultdict, namedtuple
from functools import partial

import numpy as np
import pytest

import tapec
from tapec import GradientTape, UnconnectedGradients, Variable, constant

Pair = namedtuple("Pair", "first second")


def recorded(f, *xs, persistent=True):
    with GradientTape(persistent=persistent) as tape:
        tape.watch(list(xs))
        y = f(*xs)
    return tape, y


# -- a target that is a source ---------------------------------------------------------------------------------------
def test_the_gradient_of_an_unwatched_constant_by_itself_is_one():
    x = constant([3.0, 4.0])
    with GradientTape() as tape:
        pass
    assert tape.gradient(x, x).numpy().tolist() == [1.0, 1.0]


def test_the_gradient_of_a_watched_tensor_by_itself_is_one():
    x = constant(3.0)
    tape, _ = recorded(lambda x: x * x, x)
    assert tape.gradient(x, x).numpy() == 1.0


def test_the_gradient_of_an_unread_variable_by_itself_is_one():
    v = Variable([3.0, 4.0])
    with GradientTape() as tape:
        pass
    assert tape.gradient(v, v).numpy().tolist() == [1.0, 1.0]


def test_a_variable_is_a_target():
    v = Variable(3.0)
    with GradientTape(persistent=True) as tape:
        y = v * v
    assert tape.gradient(v, v).numpy() == 1.0
    assert tape.gradient([y, v], v).numpy() == 7.0


def test_the_gradient_of_a_variable_that_is_not_trainable_by_itself_is_one():
    v = Variable(3.0, trainable=False)
    x = constant(2.0)
    tape, _ = recorded(lambda x: x * v, x)
    assert tape.gradient(v, v).numpy() == 1.0


def test_the_gradient_by_itself_starts_from_the_output_gradient():
    x = constant([3.0, 4.0])
    with GradientTape() as tape:
        pass
    assert tape.gradient(x, x, output_gradients=constant([5.0, 6.0])).numpy().tolist() == [5.0, 6.0]


def test_a_target_is_also_an_intermediate_source():
    x = constant(3.0)
    with GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x * x
        z = y * y
    assert tape.gradient([z, y], y).numpy() == 2 * 9.0 + 1.0


def test_an_integer_by_itself_has_no_gradient():
    x = constant(3)
    with GradientTape() as tape:
        tape.watch(x)
    assert tape.gradient(x, x) is None


# -- targets ---------------------------------------------------------------------------------------------------------
def test_no_target():
    x = constant(3.0)
    with GradientTape() as tape:
        tape.watch(x)
    assert tape.gradient([], [x]) == [None]


def test_target_none_is_a_type_error():
    x = constant(3.0)
    tape, y = recorded(lambda x: x * x, x, persistent=False)
    with pytest.raises(TypeError, match="Argument `target` should be a list or nested structure"):
        tape.gradient(None, x)
    assert tape.gradient(y, x).numpy() == 6.0


@pytest.mark.parametrize("target", [1.0, np.ones(3), "y", [None], object()])
def test_a_target_that_no_tape_records_is_a_type_error(target):
    x = constant(3.0)
    tape, _ = recorded(lambda x: x * x, x)
    with pytest.raises(tapec.TapecError, match="which no tape records. Fix: ") as caught:
        tape.gradient(target, x)
    assert isinstance(caught.value, TypeError)


def test_gradients_of_several_targets_add_up():
    x = constant(3.0)
    with GradientTape(persistent=True) as tape:
        tape.watch(x)
        y, z = x * x, x * x * x
    assert tape.gradient([y, z], x).numpy() == 6.0 + 27.0
    assert tape.gradient({"y": y, "z": [z]}, x).numpy() == 33.0
    assert tape.gradient((y, y), x).numpy() == 12.0


def test_a_target_of_any_shape_counts_as_its_sum():
    x = constant([[1.0, 2.0], [3.0, 4.0]])
    tape, y = recorded(lambda x: x * x, x)
    assert tape.gradient(y, x).numpy().tolist() == [[2.0, 4.0], [6.0, 8.0]]


def test_a_target_that_was_never_recorded_has_no_gradient():
    x, other = constant(3.0), constant(4.0)
    tape, _ = recorded(lambda x: x * x, x)
    assert tape.gradient(other * other, x) is None


def test_an_integer_target_has_no_gradient():
    x = constant(3.0)
    tape, y = recorded(lambda x: (x * x).astype(int), x)
    assert tape.gradient(y, x) is None


def test_a_target_computed_after_the_block_has_no_gradient():
    x = constant(3.0)
    tape, y = recorded(lambda x: x * x, x)
    assert tape.gradient(y * 2.0, x) is None


# -- output gradients ------------------------------------------------------------------------------------------------
def test_output_gradients_are_what_the_way_back_starts_from():
    x = constant([1.0, 2.0, 3.0])
    tape, y = recorded(lambda x: x * x, x)
    given = constant([1.0, 10.0, 100.0])
    assert tape.gradient(y, x, output_gradients=given).numpy().tolist() == [2.0, 40.0, 600.0]
    assert tape.gradient(y, x, output_gradients=[given]).numpy().tolist() == [2.0, 40.0, 600.0]
    assert tape.gradient([y], [x], output_gradients=[given])[0].numpy().tolist() == [2.0, 40.0, 600.0]
    assert tape.gradient(y, x, output_gradients=given.numpy()).numpy().tolist() == [2.0, 40.0, 600.0]
    assert tape.gradient(y, x, output_gradients=[1.0, 10.0, 100.0]).numpy().tolist() == [2.0, 40.0, 600.0]


def test_one_output_gradient_for_each_target():
    x = constant(3.0)
    with GradientTape(persistent=True) as tape:
        tape.watch(x)
        y, z = x * x, x * x * x
    assert tape.gradient([y, z], x, output_gradients=[constant(2.0), constant(10.0)]).numpy() == 12.0 + 270.0


def test_none_inside_output_gradients_is_a_value_error():
    x = constant(3.0)
    with GradientTape(persistent=True) as tape:
        tape.watch(x)
        y, z = x * x, x * x * x
    with pytest.raises(ValueError, match="None among output_gradients"):
        tape.gradient([y, z], x, output_gradients=[constant(1.0), None])
    with pytest.raises(ValueError, match="None among output_gradients"):
        tape.gradient(y, x, output_gradients=[None])


def test_too_few_output_gradients():
    x = constant(3.0)
    tape, y = recorded(lambda x: x * x, x)
    with pytest.raises(ValueError, match="1 targets, but 2 output_gradients"):
        tape.gradient(y, x, output_gradients=[constant([1.0, 1.0]), constant(1.0)])
    with pytest.raises(ValueError, match="2 targets, but 1 output_gradients"):
        tape.gradient([y, y], x, output_gradients=[constant(1.0)])


def test_an_output_gradient_of_another_shape():
    x = constant([1.0, 2.0])
    tape, y = recorded(lambda x: x * x, x)
    with pytest.raises(ValueError, match=r"shape \(3,\) for a target of shape \(2,\)"):
        tape.gradient(y, x, output_gradients=constant([1.0, 2.0, 3.0]))


def test_output_gradients_take_the_dtype_of_the_target():
    x = constant(np.float32(3.0))
    tape, y = recorded(lambda x: x * x, x)
    gradient = tape.gradient(y, x, output_gradients=constant(2.0))
    assert gradient.dtype == np.float32 and gradient.numpy() == 12.0


def test_gradients_flow_into_output_gradients():
    x, seed = constant(3.0), constant(2.0)
    with GradientTape() as outer:
        outer.watch(seed)
        with GradientTape() as inner:
            inner.watch(x)
            y = x * x
        slope = inner.gradient(y, x, output_gradients=seed)
    assert outer.gradient(slope, seed).numpy() == 6.0


# -- sources ---------------------------------------------------------------------------------------------------------
def test_gradients_come_in_the_structure_of_the_sources():
    x, y = constant(3.0), constant(4.0)
    tape, z = recorded(lambda x, y: x * x * y, x, y)
    dx, dy = 24.0, 9.0

    assert tape.gradient(z, [x, y])[0].numpy() == dx
    found = tape.gradient(z, (x, [y, x]))
    assert type(found) is tuple and type(found[1]) is list
    assert [found[0].numpy(), found[1][0].numpy(), found[1][1].numpy()] == [dx, dy, dx]

    found = tape.gradient(z, {"b": y, "a": {"deep": x}})
    assert found["b"].numpy() == dy and found["a"]["deep"].numpy() == dx

    found = tape.gradient(z, OrderedDict([("b", y), ("a", x)]))
    assert type(found) is OrderedDict and list(found) == ["b", "a"]
    assert found["a"].numpy() == dx and found["b"].numpy() == dy

    found = tape.gradient(z, Pair(x, y))
    assert type(found) is Pair and found.first.numpy() == dx and found.second.numpy() == dy

    assert tape.gradient(z, []) == []
    assert tape.gradient(z, {}) == {}


def test_the_same_source_twice_gets_its_gradient_twice():
    x = constant(3.0)
    tape, y = recorded(lambda x: x * x, x)
    first, second = tape.gradient(y, [x, x])
    assert first.numpy() == 6.0 and second.numpy() == 6.0


def test_the_same_variable_twice_gets_its_gradient_twice():
    v = Variable(3.0)
    with GradientTape() as tape:
        y = v * v
    assert [g.numpy() for g in tape.gradient(y, [v, v])] == [6.0, 6.0]


def test_intermediate_values_are_sources():
    x = constant(3.0)
    with GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x * x
        z = np.sin(y) * y
    assert tape.gradient(z, y).numpy() == pytest.approx(np.cos(9.0) * 9.0 + np.sin(9.0), rel=1e-15)
    dy, dx = tape.gradient(z, [y, x])
    assert dx.numpy() == pytest.approx(dy.numpy() * 6.0, rel=1e-15)


STEPS = {
    "floor": np.floor,
    "rint": np.rint,
    "//": lambda x: x // 1.0,
    "divmod": lambda x: np.divmod(x, 1.0)[0],
    "modf": lambda x: np.modf(x)[1],
}


@pytest.mark.parametrize("f", STEPS.values(), ids=STEPS)
def test_a_step_is_a_source_beside_what_it_was_made_of(f):
    x = constant([1.25, 2.25])
    with GradientTape(persistent=True) as tape:
        tape.watch(x)
        step = f(x)
        y = step * x
    dx, dstep = tape.gradient(y, [x, step])
    assert dx.numpy().tolist() == [1.0, 2.0] and dstep.numpy().tolist() == [1.25, 2.25]
    nothing, one = tape.gradient(step, [x, step])
    assert nothing is None and one.numpy().tolist() == [1.0, 1.0]
    assert tape.jacobian(step, [x, step])[0] is None


def test_an_unwatched_source_has_no_gradient():
    x, y = constant(3.0), constant(4.0)
    with GradientTape() as tape:
        tape.watch(x)
        z = x * x + (y * y)
    assert tape.gradient(z, [x, y])[1] is None


@pytest.mark.parametrize("f", [np.multiply, np.subtract, np.power, np.maximum, lambda x, c: np.stack([x, c])])
def test_an_unwatched_operand_has_no_gradient(f):
    x, c = constant([3.0, 2.0]), constant([4.0, 5.0])
    tape, z = recorded(lambda x: f(x, c), x)
    assert tape.gradient(z, c) is None
    dx, dc = tape.gradient(z, [x, c])
    assert dx is not None and dc is None
    assert tape.jacobian(z, c) is None
    assert tape.gradient([z, c], c).numpy().tolist() == [1.0, 1.0]  # as of any constant by itself
    assert tape.gradient(z, c, unconnected_gradients="zero").numpy().tolist() == [0.0, 0.0]


def test_an_operand_that_another_tape_watches_has_no_gradient_here():
    x, c = constant(3.0), constant(4.0)
    with GradientTape() as outer:
        outer.watch(c)
        with GradientTape(persistent=True) as inner:
            inner.watch(x)
            z = x * c
        assert inner.gradient(z, c) is None
        slope = inner.gradient(z, x)
    assert outer.gradient(slope, c).numpy() == 1.0


def test_a_source_that_nothing_was_made_of():
    x, y = constant(3.0), constant(4.0)
    tape, z = recorded(lambda x, y: x * x, x, y)
    assert tape.gradient(z, y) is None


@pytest.mark.parametrize("source", [3.0, np.ones(2), "x", None, [constant(1.0), 2.0], {"a": None}], ids=repr)
def test_a_source_that_is_no_tensor(source):
    x = constant(3.0)
    tape, y = recorded(lambda x: x * x, x, persistent=False)
    with pytest.raises(tapec.TapecError, match="with respect to a tapec.Tensor or a tapec.Variable") as caught:
        tape.gradient(y, source)
    assert isinstance(caught.value, TypeError)
    assert tape.gradient(y, x).numpy() == 6.0


@pytest.mark.parametrize("kind", [dict, OrderedDict, partial(defaultdict, list)], ids=["dict", "ordered", "default"])
def test_dicts_keep_the_order_of_their_keys(kind):
    x, w, b = constant(3.0), constant(2.0), constant(1.0)
    tape, y = recorded(lambda w, b, x: w * x + b, w, b, x)
    sources = kind({"w": w, "b": [kind({2: x, 1: b})]})
    for found in (tape.gradient(y, sources), tape.jacobian(y, sources)):
        assert type(found) is type(sources)
        assert list(found) == ["w", "b"] and list(found["b"][0]) == [2, 1]
        assert (found["w"].numpy(), found["b"][0][2].numpy(), found["b"][0][1].numpy()) == (3.0, 2.0, 1.0)


def test_structures_registered_with_optree_are_taken_apart():
    import optree

    class Box:
        def __init__(self, x):
            self.x = x

    everywhere = optree.registry.__dict__["__GLOBAL_NAMESPACE"]
    optree.register_pytree_node(Box, lambda b: ([b.x], None, None), lambda _, xs: Box(*xs), namespace=everywhere)
    try:
        x = constant(3.0)
        tape, y = recorded(lambda x: x * x, x)
        assert tape.gradient(y, Box(x)).x.numpy() == 6.0
    finally:
        optree.unregister_pytree_node(Box, namespace=everywhere)


# -- unconnected gradients -------------------------------------------------------------------------------------------
@pytest.mark.parametrize("zero", ["zero", UnconnectedGradients.ZERO])
def test_unconnected_gradients_may_be_zeros(zero):
    x, y = constant([3.0, 4.0]), constant(np.ones((2, 3), np.float32))
    v = Variable([[1.0]])
    tape, z = recorded(lambda x, y: x * x, x, y)
    dx, dy, dv = tape.gradient(z, [x, y, v], unconnected_gradients=zero)
    assert dx.numpy().tolist() == [6.0, 8.0]
    assert dy.dtype == np.float32 and np.array_equal(dy.numpy(), np.zeros((2, 3)))
    assert dv.shape == (1, 1) and dv.numpy().tolist() == [[0.0]]


@pytest.mark.parametrize("none", ["none", UnconnectedGradients.NONE])
def test_unconnected_gradients_are_none_otherwise(none):
    x, y = constant(3.0), constant(4.0)
    tape, z = recorded(lambda x, y: x * x, x, y)
    assert tape.gradient(z, y, unconnected_gradients=none) is None


def test_an_integer_source_has_no_gradient():
    n, x = constant(3), constant(2.0)
    tape, y = recorded(lambda n, x: n * x, n, x)
    assert tape.gradient(y, n) is None
    zero = tape.gradient(y, n, unconnected_gradients="zero")
    assert zero.dtype == np.int64 and zero.numpy() == 0
    assert tape.gradient(y, x).numpy() == 3.0


def test_a_boolean_source_has_no_gradient():
    flags, x = constant([True, False]), constant([2.0, 3.0])
    tape, y = recorded(lambda f, x: np.where(f, x, 0.0), flags, x)
    assert tape.gradient(y, flags) is None
    assert tape.gradient(y, x).numpy().tolist() == [1.0, 0.0]


# -- watching --------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("value", [3.0, 1, True, "x", None, 1j], ids=repr)
@pytest.mark.parametrize("entered", [True, False])
def test_only_tensors_and_variables_can_be_watched(value, entered):
    tape = GradientTape()
    if entered:
        tape.__enter__()
    try:
        with pytest.raises(ValueError, match=f"Passed in object .* of type '{type(value).__name__}'"):
            tape.watch(value)
    finally:
        tape.__exit__(None, None, None)


@pytest.mark.parametrize("entered", [True, False])
def test_an_array_cannot_be_watched(entered):
    tape = GradientTape()
    with pytest.raises(ValueError, match="of type 'ndarray', not tapec.Tensor or tapec.Variable"):
        if entered:
            with tape:
                tape.watch(np.ones(3))
        else:
            tape.watch(np.ones(3))


def test_nested_lists_are_watched():
    x, y, v = constant(1.0), constant(2.0), Variable(3.0, trainable=False)
    with GradientTape() as tape:
        tape.watch([x, [y, (v,)], {"again": x}])
        z = x * y * v
    assert [g.numpy() for g in tape.gradient(z, [x, y, v])] == [6.0, 3.0, 2.0]


def test_a_list_that_holds_something_else_is_not_watched_at_all():
    x = constant(3.0)
    with GradientTape() as tape:
        with pytest.raises(ValueError, match="of type 'float'"):
            tape.watch([x, 4.0])
        y = x * x
    assert tape.gradient(y, x) is None


def test_watching_after_the_tape_is_used_up():
    x = constant(3.0)
    tape, y = recorded(lambda x: x * x, x, persistent=False)
    tape.gradient(y, x)
    with pytest.raises(tapec.TapeError, match="one set of gradients"):
        tape.watch(x)


def test_copies_and_sums_with_zero_are_new_tensors_for_watching():
    x = constant(3.0)
    for other in (x + 0, np.positive(x), x.copy()):
        with GradientTape() as tape:
            tape.watch(other)
            y = x * x
        assert tape.gradient(y, x) is None


def test_equal_constants_are_distinct():
    x, y = constant(3.0), constant(3.0)
    tape, z = recorded(lambda x, y: x * x, x, y)
    assert tape.gradient(z, y) is None


def test_tensors_are_unhashable_and_equal_elementwise():
    x = constant([1.0, 2.0])
    with pytest.raises(TypeError, match="unhashable"):
        hash(x)
    assert (x == constant([1.0, 3.0])).numpy().tolist() == [True, False]
    assert (x != constant([1.0, 3.0])).numpy().tolist() == [False, True]


def test_the_message_names_the_users_line():
    with GradientTape() as tape, pytest.raises(ValueError, match=r"^test_tape_targets.py:\d+: Passed in object 3.0"):
        tape.watch(3.0)
