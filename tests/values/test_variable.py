"""Variables: reading, assigning, computing, and being watched."""

import copy
import operator
import pickle
import threading

import numpy as np
import pytest

import tapec
from tapec import GradientTape, Tensor, Variable, constant


# -- what it is ------------------------------------------------------------------------------------------------------
def test_its_properties():
    v = Variable([[1.0, 2.0]], name="w")
    assert v.shape == (1, 2) and v.dtype == np.float64 and v.name == "w:0" and v.trainable is True
    assert v.ndim == 2 and v.size == 2 and len(v) == 1
    assert Variable(1.0).name == "Variable:0"
    assert Variable(1, dtype=np.float32).dtype == np.float32
    assert Variable(1.0, trainable=False).trainable is False
    assert Variable(lambda: 3.0).numpy() == 3.0


def test_it_keeps_a_copy_of_its_value():
    a = np.array([1.0, 2.0])
    v = Variable(a)
    a[0] = 100.0
    assert v.numpy().tolist() == [1.0, 2.0]
    v.numpy()[0] = 100.0
    assert v.numpy().tolist() == [1.0, 2.0]


def test_made_from_tensors_and_variables():
    assert Variable(constant([1.0])).numpy().tolist() == [1.0]
    assert Variable(Variable([1.0])).numpy().tolist() == [1.0]


def test_a_value_that_is_no_number():
    for value in ("x", None, object(), [1.0, "x"]):
        with pytest.raises(TypeError):
            Variable(value)


def test_how_it_prints():
    assert repr(Variable([1.0, 2.0], name="w")) == "<tapec.Variable 'w:0' shape=(2,) dtype=float64, value=[1., 2.]>"
    assert f"{Variable(2.0):.3f}" == "2.000"


def test_copies_are_variables_of_their_own():
    v = Variable([1.0, 2.0], trainable=False, name="w")
    for other in (copy.copy(v), copy.deepcopy(v), pickle.loads(pickle.dumps(v))):
        assert type(other) is Variable and other.name == "w:0" and other.trainable is False
        other.assign([5.0, 6.0])
    assert v.numpy().tolist() == [1.0, 2.0]


def test_it_is_unhashable_and_equal_elementwise():
    v = Variable([1.0, 2.0])
    with pytest.raises(TypeError, match="unhashable"):
        hash(v)
    assert (v == np.array([1.0, 3.0])).numpy().tolist() == [True, False]
    assert (v == v).numpy().all()


# -- reading ---------------------------------------------------------------------------------------------------------
def test_reading_gives_a_tensor_of_its_own():
    v = Variable([1.0, 2.0])
    for read in (v.read_value(), v.value()):
        assert type(read) is Tensor and read.numpy().tolist() == [1.0, 2.0]
    assert v.read_value() is not v.read_value()


UNCHANGED = {
    "all of it": lambda v: v[:],
    "reshape": lambda v: v.reshape(2),
    "np.reshape": lambda v: np.reshape(v, -1),
    "ravel": lambda v: v.ravel(),
    "T": lambda v: v.T,
    "real": lambda v: v.real,
    "np.real": np.real,
    "squeeze": np.squeeze,
    "pad": lambda v: np.pad(v, 0),
    "tile": lambda v: np.tile(v, 1),
    "broadcast_to": lambda v: np.broadcast_to(v, (2,)),
    "astype": lambda v: v.astype(float, copy=False),
}


@pytest.mark.parametrize("f", UNCHANGED.values(), ids=UNCHANGED)
def test_a_function_that_changes_nothing_gives_a_tensor_of_its_own(f):
    v = Variable([1.0, 2.0])
    before = f(v)
    with GradientTape(persistent=True) as tape:
        inside = f(v)
        y = v * before + inside * inside
    assert tape.gradient(y, v).numpy().tolist() == [3.0, 6.0]
    assert tape.gradient(y, inside).numpy().tolist() == [2.0, 4.0]
    assert tape.gradient(y, before) is None
    assert tape.gradient(inside, v).numpy().tolist() == [1.0, 1.0]
    v.assign([5.0, 6.0])
    assert before.numpy().tolist() == [1.0, 2.0]


@pytest.mark.parametrize(
    "f",
    [
        lambda x, v: np.fix(x, v),
        lambda x, v: np.round(x, 0, v),
        lambda x, v: np.cumsum(x, 0, None, v),
        lambda x, v: np.clip(x, 0.0, 1.0, v),
        lambda x, v: np.add(x, x, v),
        lambda x, v: np.multiply.accumulate(x, 0, None, v),
        lambda x, v: np.cumsum(x, out=v),
        lambda x, v: x.cumsum(out=v),
        lambda x, v: x.cumsum(0, None, v),
        lambda x, v: x.round(0, v),
    ],
)
def test_no_function_writes_into_a_variable(f):
    v = Variable([1.0, 2.0])
    for x in (constant([3.0, 4.0]), Variable([3.0, 4.0]), v):
        for _ in range(3):  # by its plan, if there were one
            with pytest.raises(tapec.InPlaceError, match="not a Variable"):
                f(x, v)
        assert v.numpy().tolist() == [1.0, 2.0]


def test_changing_what_was_read_changes_no_variable():
    v = Variable([1.0, 2.0])
    read = v.read_value()
    read += 1.0
    read[0] = 100.0
    assert v.numpy().tolist() == [1.0, 2.0]


def test_gradients_flow_through_reading():
    v = Variable([1.0, 2.0])
    with GradientTape(persistent=True) as tape:
        read = v.read_value()
        y = read * read
    assert tape.gradient(y, v).numpy().tolist() == [2.0, 4.0]
    assert tape.gradient(y, read).numpy().tolist() == [2.0, 4.0]


def test_a_read_tensor_is_watched_alone():
    v = Variable(3.0, trainable=False)
    with GradientTape(persistent=True) as tape:
        read = v.read_value()
        tape.watch(read)
        y = read * v
    assert tape.gradient(y, read).numpy() == 3.0
    assert tape.gradient(y, v) is None


def test_plain_numbers():
    assert float(Variable(2.5)) == 2.5 and int(Variable(2.5)) == 2 and complex(Variable(2.5)) == 2.5
    assert bool(Variable(1.0)) is True and bool(Variable(0.0)) is False
    assert [10, 20, 30][Variable(1)] == 20 and list(range(Variable(3))) == [0, 1, 2]
    assert np.asarray(Variable([1.0, 2.0])).tolist() == [1.0, 2.0]


# -- operators -------------------------------------------------------------------------------------------------------
BINARY = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
    "//": lambda a, b: a // b,
    "%": lambda a, b: a % b,
    "**": lambda a, b: a**b,
    "@": lambda a, b: np.atleast_1d(a) @ np.atleast_1d(b),
    "<": lambda a, b: a < b,
    ">=": lambda a, b: a >= b,
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "divmod": lambda a, b: divmod(a, b)[1],
    "arctan2": np.arctan2,
    "maximum": np.maximum,
}


@pytest.mark.parametrize("f", BINARY.values(), ids=BINARY)
@pytest.mark.parametrize("other", [Variable([1.5, 4.0]), constant([1.5, 4.0]), np.array([1.5, 4.0]), 1.5, 2], ids=repr)
def test_binary_operators(f, other):
    a = np.array([2.0, 3.0])
    b = other.numpy() if isinstance(other, (Variable, Tensor)) else other
    if f is BINARY["@"] and np.ndim(b) == 0:
        b = other = np.array([1.5, 4.0])
    v = Variable(a)
    for found, expected in [(f(v, other), f(a, b)), (f(other, v), f(b, a))]:
        assert type(found) is Tensor and found.dtype == np.asarray(expected).dtype
        assert np.array_equal(found.numpy(), expected)


def test_unary_operators_and_methods():
    a = np.array([[1.0, -2.0], [3.0, 4.0]])
    v = Variable(a)
    for found, expected in [
        (-v, -a),
        (+v, a),
        (abs(v), abs(a)),
        (round(v, 1), a),
        (v.T, a.T),
        (v.sum(axis=0), a.sum(axis=0)),
        (v.mean(), a.mean()),
        (v.reshape(4), a.reshape(4)),
        (v.astype(np.float32), a.astype(np.float32)),
        (np.sin(v), np.sin(a)),
        (np.linalg.norm(v), np.linalg.norm(a)),
        (np.concatenate([v, v]), np.concatenate([a, a])),
        (np.where(v > 0, v, 0.0), np.where(a > 0, a, 0.0)),
        (v[0], a[0]),
        (v[:, 1], a[:, 1]),
        (v[v > 0], a[a > 0]),
        (v[..., None], a[..., None]),
    ]:
        assert type(found) is Tensor and found.dtype == expected.dtype
        np.testing.assert_allclose(found.numpy(), expected, rtol=1e-15)
    assert [row.numpy().tolist() for row in v] == a.tolist()


@pytest.mark.parametrize("f", BINARY.values(), ids=BINARY)
def test_gradients_of_operators(f):
    """The same as with tensors in the Variables' place."""
    a, b = np.array([2.2, 3.0]), np.array([1.5, 4.0])
    v, w = Variable(a), Variable(b)
    x, y = constant(a), constant(b)
    with GradientTape() as tape:
        z = f(v, w)
    found = tape.gradient(z, [v, w])
    with GradientTape() as tape:
        tape.watch([x, y])
        z = f(x, y)
    for g, expected in zip(found, tape.gradient(z, [x, y])):
        assert (g is None) == (expected is None)
        assert g is None or np.array_equal(g.numpy(), expected.numpy())


@pytest.mark.parametrize("symbol", ["+=", "-=", "*=", "/=", "//=", "%=", "**=", "@=", "&=", "|=", "^=", "<<=", ">>="])
def test_in_place_operators_say_what_to_do_instead(symbol):
    v = Variable([1.0, 2.0])
    with pytest.raises(tapec.InPlaceError, match="Fix: variable.assign"):
        exec(f"v {symbol} 1.0", {"v": v})
    assert v.numpy().tolist() == [1.0, 2.0]


def test_nothing_is_equal_to_what_is_no_number():
    v = tapec.Variable([1.0, 2.0])
    for other in ("a", None, {}):
        assert (v == other).numpy().tolist() == operator.eq(other, v).numpy().tolist() == [False, False]
        assert (v != other).numpy().tolist() == [True, True]
    with pytest.raises(TypeError, match="not supported between instances of 'Variable' and 'str'"):
        operator.lt(v, "a")
    with pytest.raises(TypeError):
        v + "a"


def test_elements_cannot_be_written():
    v = Variable([1.0, 2.0], name="w")
    with pytest.raises(tapec.InPlaceError, match=r"^test_variable.py:\d+: elements of Variable 'w:0'"):
        v[0] = 3.0


@pytest.mark.parametrize("operate", [operator.add, operator.matmul, operator.lt, operator.eq])
@pytest.mark.parametrize("other", [Variable(np.ones(4)), constant(np.ones(4))], ids=["variable", "tensor"])
def test_errors_of_operators_name_the_line(operate, other):
    for left, right in ((Variable(np.ones(3)), other), (other, Variable(np.ones(3)))):
        with pytest.raises(ValueError) as caught:
            operate(left, right)
        assert [note.partition(":")[0] for note in caught.value.__notes__] == ["at test_variable.py"]


@pytest.mark.parametrize("other", [2.0, 2, constant([1.0, 2.0]), Variable([1.0, 2.0]), np.array([3.0, 1.0])])
def test_comparisons_are_those_of_the_value(other):
    v = Variable([1.0, 3.0])
    plain = other.numpy() if isinstance(other, (Tensor, Variable)) else other
    for compare in (operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne):
        found = compare(v, other)
        assert type(found) is Tensor and found.numpy().tolist() == compare(v.numpy(), plain).tolist()
        assert compare(other, v).numpy().tolist() == compare(plain, v.numpy()).tolist()


# -- assigning -------------------------------------------------------------------------------------------------------
def test_assignment_gives_the_variable_back():
    v = Variable([1.0, 2.0])
    assert v.assign([3.0, 4.0]) is v and v.numpy().tolist() == [3.0, 4.0]
    assert v.assign_add([1.0, 1.0]) is v and v.numpy().tolist() == [4.0, 5.0]
    assert v.assign_sub(0.5) is v and v.numpy().tolist() == [3.5, 4.5]
    v.assign(constant([1.0, 2.0])).assign_add(v).assign_sub(Variable([1.0, 1.0]))
    assert v.numpy().tolist() == [1.0, 3.0]


def test_assignment_keeps_the_dtype():
    v = Variable(np.float32([1.0, 2.0]))
    v.assign(np.array([0.1, 0.2])).assign_add(0.1).assign_sub(np.float64(0.1))
    assert v.dtype == np.float32


def test_what_is_assigned_is_copied():
    v, a = Variable([1.0, 2.0]), np.array([3.0, 4.0])
    v.assign(a)
    a[0] = 100.0
    assert v.numpy().tolist() == [3.0, 4.0]


@pytest.mark.parametrize("value", [[1.0], [[1.0, 2.0]], 1.0, np.ones(3)], ids=repr)
def test_assigning_another_shape(value):
    v = Variable([1.0, 2.0], name="w")
    with pytest.raises(ValueError, match=r"does not fit Variable 'w:0' of shape \(2,\). Fix"):
        v.assign(value)
    assert v.numpy().tolist() == [1.0, 2.0]


@pytest.mark.parametrize("value", [np.ones(3), np.ones((2, 2)), tapec.constant([1.0, 2.0, 3.0])], ids=repr)
def test_adding_another_shape(value):
    v = Variable([1.0, 2.0], name="w")
    for change in (v.assign_add, v.assign_sub):
        with pytest.raises(ValueError, match=r"test_variable\.py:\d+: a value of shape .* does not fit Variable 'w:0'"):
            change(value)
    assert v.numpy().tolist() == [1.0, 2.0]


@pytest.mark.parametrize("value", ["x", None, [1j, 2j], object()])
def test_assigning_what_is_no_real_number(value):
    v = Variable([1.0, 2.0])
    for assign in (v.assign, v.assign_add, v.assign_sub):
        with pytest.raises(TypeError):
            assign(value)
    assert v.numpy().tolist() == [1.0, 2.0]


@pytest.mark.parametrize(("value", "given"), [(3, 1.5), (3, tapec.constant(1.5)), (True, 2), (np.float32(1), 1j)])
def test_a_value_of_a_higher_kind_is_not_cut_down(value, given):
    v = Variable(value)
    for assign in (v.assign, v.assign_add):
        with pytest.raises(TypeError, match="cannot be assigned to Variable .*Fix"):
            assign(given)
    assert v.numpy() == value


def test_a_value_of_a_lower_kind_is_converted():
    for value, given in ((1.0, 2), (1.0, True), (np.uint8(1), 2), (1j, 2.0), (np.int32(1), np.int64(2))):
        v = Variable(value)
        assert v.assign(given).numpy() == given
        assert v.dtype == np.asarray(value).dtype


def test_assigning_inside_a_traced_function():
    v = Variable(1.0)

    @tapec.compile
    def f(x):
        v.assign_add(1.0)
        return x * v

    with pytest.raises(tapec.InPlaceError, match="inside a traced function"):
        f(2.0)
    assert v.numpy() == 1.0


def test_a_compiled_function_sees_assignments():
    v = Variable(2.0)
    f = tapec.compile(lambda x: x * v)
    assert f(3.0) == 6.0
    v.assign(5.0)
    assert f(3.0) == 15.0


# -- watching --------------------------------------------------------------------------------------------------------
def test_making_a_variable_is_no_access():
    with GradientTape() as tape:
        Variable(1.0)
    assert tape.watched_variables() == ()


def test_a_trainable_variable_is_watched_when_it_is_read():
    v, w, unread = Variable(1.0), Variable(2.0), Variable(3.0)
    with GradientTape() as tape:
        y = w * v
    assert [x is z for x, z in zip(tape.watched_variables(), (v, w), strict=True)] == [True, True]
    assert [g if g is None else g.numpy() for g in tape.gradient(y, [v, w, unread])] == [2.0, 1.0, None]


def test_watched_variables_come_in_order_of_construction_and_outlive_the_gradient():
    variables = [Variable(float(k)) for k in range(5)]
    with GradientTape() as tape:
        y = sum(v * v for v in reversed(variables))
    before = tape.watched_variables()
    tape.gradient(y, variables)
    after = tape.watched_variables()
    assert type(before) is tuple and type(after) is tuple
    for found in (before, after):
        assert len(found) == 5 and all(a is b for a, b in zip(found, variables))


def test_properties_and_printing_are_no_access():
    v = Variable([1.0, 2.0])
    with GradientTape() as tape:
        v.shape, v.dtype, v.name, v.numpy(), repr(v), len(v)
    assert tape.watched_variables() == ()


def test_reading_while_recording_is_stopped_does_not_watch():
    v = Variable(3.0)
    with GradientTape() as tape:
        with tape.stop_recording():
            y = v * v
        assert tape.watched_variables() == ()
        z = y + v
    assert tape.gradient(z, v).numpy() == 1.0


def test_without_automatic_watching():
    a, b = Variable(3.0), Variable(2.0)
    with GradientTape(persistent=True, watch_accessed_variables=False) as tape:
        tape.watch(a)
        y, z = a**2, b**3
    assert tape.gradient(y, a).numpy() == 6.0
    assert tape.gradient(z, b) is None
    assert len(tape.watched_variables()) == 1


def test_a_variable_that_is_not_trainable_is_not_watched_by_itself():
    v = Variable(3.0, trainable=False)
    with GradientTape() as tape:
        y = v * v
    assert tape.gradient(y, v) is None and tape.watched_variables() == ()
    with GradientTape() as tape:
        tape.watch(v)
        y = v * v
    assert tape.gradient(y, v).numpy() == 6.0


def test_an_integer_variable_has_no_gradient():
    n = Variable(3)
    with GradientTape(persistent=True) as tape:
        y = n * constant(2.0) + Variable(1.0)
    assert tape.gradient(y, n) is None
    assert tape.gradient(y, n, unconnected_gradients="zero").dtype == np.int64


# -- assigning while recording ---------------------------------------------------------------------------------------
def test_earlier_operations_keep_their_value_and_both_contribute():
    v = Variable(3.0)
    with GradientTape() as tape:
        y = v * v
        v.assign(10.0)
        z = v * v
    assert (y.numpy(), z.numpy()) == (9.0, 100.0)
    assert tape.gradient([y, z], v).numpy() == 26.0


def test_nothing_flows_through_the_assigned_value():
    v, x = Variable(3.0), constant(2.0)
    with GradientTape(persistent=True) as tape:
        tape.watch(x)
        v.assign(x * x)
        y = v * x
    assert tape.gradient(y, x).numpy() == 4.0
    assert tape.gradient(y, v).numpy() == 2.0


def test_an_explicitly_watched_variable_stays_watched_after_assignment():
    v = Variable(3.0, trainable=False)
    with GradientTape(watch_accessed_variables=False) as tape:
        tape.watch(v)
        y = v * v
        v.assign_add(1.0)
        z = v * v
    assert tape.gradient([y, z], v).numpy() == 14.0


def test_assignment_after_the_block_changes_no_gradient():
    v = Variable(3.0)
    with GradientTape() as tape:
        y = v * v
    v.assign(100.0)
    assert tape.gradient(y, v).numpy() == 6.0


def test_many_steps_of_descent():
    w = Variable([5.0, -3.0])
    for _ in range(200):
        with GradientTape() as tape:
            loss = np.sum((w - np.array([1.0, 2.0])) ** 2)
        w.assign_sub(0.1 * tape.gradient(loss, w))
    np.testing.assert_allclose(w.numpy(), [1.0, 2.0], rtol=1e-12)


def test_threads_that_read_and_assign():
    v = Variable(np.zeros(4))
    failures = []

    def read():
        for _ in range(300):
            with GradientTape() as tape:
                y = np.sum(v**2)  # read once: `v * v` may read two values
            value = float(np.sqrt(y.numpy() / 4))
            found = tape.gradient(y, v).numpy()
            if not np.array_equal(found, np.full(4, 2 * value)):
                failures.append((value, found))

    def write():
        for k in range(300):
            v.assign(np.full(4, float(k % 7)))

    threads = [threading.Thread(target=f) for f in (read, read, write, write)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert failures == []


class Weight(Variable):
    pass


def test_those_of_a_class_of_ones_own_are_arguments():
    w = Weight([1.0, 3.0])
    f = tapec.value_and_grad(lambda v: np.sum(v * v))
    for wanted in (10.0, 8.0):
        value, gradient = f(w)
        assert value == wanted
        np.testing.assert_array_equal(gradient, 2.0 * w.numpy())
        w.assign([2.0, 2.0])
    assert f.cache_info().misses == 1
