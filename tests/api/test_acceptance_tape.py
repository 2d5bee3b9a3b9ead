"""What people may expect of a tape on plain NumPy code, and no other file asks for: TensorFlow's facts, and bad input.

The life of tapes, Variables, slices, custom gradients and Jacobians have files of their own; `tests/compat` has the
same facts under TensorFlow's names.
"""

from __future__ import annotations

import collections
import math
import threading
import weakref

import numpy as np
import pytest

import tapec
from tapec import GradientTape, IndexedSlices, Variable, constant
from tapec.errors import DetachError, InPlaceError, TapecError
from tapec.trace.recording_stack import CURRENT

FILE = "test_acceptance_tape.py"


def grads(f, *values):
    """The gradients of f by all its arguments, as NumPy values."""
    xs = [constant(v) for v in values]
    with GradientTape() as tape:
        tape.watch(xs)
        y = f(*xs)
    return [None if g is None else g.numpy() for g in tape.gradient(y, xs)]


def second(f, value):
    x = constant(value)
    with GradientTape() as outer:
        outer.watch(x)
        with GradientTape() as inner:
            inner.watch(x)
            y = f(x)
        g = inner.gradient(y, x)
    return None if g is None else outer.gradient(g, x)


def text(error):
    return str(error) + " ".join(getattr(error, "__notes__", ()))


# -- ties, kinks, and what has no gradient ----------------------------------------------------------------------------
@pytest.mark.parametrize("f", [np.maximum, np.minimum, np.fmax, np.fmin])
def test_a_tie_goes_to_the_first_argument(f):
    assert grads(f, 1.0, 1.0) == [1.0, 0.0]


@pytest.mark.parametrize("f", [np.max, np.min, lambda x: x.max(0), lambda x: np.maximum.reduce(x)])
def test_a_tie_of_a_reduction_is_split_evenly(f):
    np.testing.assert_array_equal(grads(f, [2.0, 2.0])[0], [0.5, 0.5])


def test_clip_passes_at_both_bounds():
    [g] = grads(lambda x: np.sum(np.clip(x, 0.0, 1.0)), [0.0, 1.0, 2.0, -1.0, 0.5])
    np.testing.assert_array_equal(g, [1.0, 1.0, 0.0, 0.0, 1.0])


def test_abs_at_zero():
    assert grads(np.abs, 0.0) == [0.0]
    assert grads(np.abs, 0j) == [0j]


@pytest.mark.parametrize("name", ["floor", "ceil", "rint", "trunc", "round", "fix", "zeros_like", "ones_like"])
def test_no_gradient(name):
    assert grads(lambda x: np.sum(getattr(np, name)(x)), [1.5, 2.5]) == [None]


def test_no_gradient_of_whole_quotients_and_comparisons():
    assert grads(lambda x, y: x // y, 7.0, 2.0) == [None, None]
    assert grads(lambda x, y: x > y, 7.0, 2.0) == [None, None]


def test_sign_and_remainder():
    assert grads(np.sign, 7.0) == [0.0]
    assert grads(lambda x, y: x % y, -7.0, 2.0) == [1.0, 4.0]


def test_sorting_is_stable():
    [g] = grads(lambda x: np.sort(x) @ np.array([1.0, 2.0, 3.0]), [1.0, 0.0, 1.0])
    np.testing.assert_array_equal(g, [2.0, 1.0, 3.0])


# -- complex numbers --------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("f", "expected"),
    [
        (lambda z: z * z, 2 - 4j),
        (np.real, 1.0),
        (np.imag, 1j),
        (np.angle, -0.4 + 0.2j),
        (lambda z: z, 1.0),
        (lambda z: 3 * z, 3.0),
    ],
)
def test_complex(f, expected):
    np.testing.assert_allclose(grads(f, 1 + 2j)[0], expected, rtol=1e-15)


def test_a_real_parameter_has_a_real_gradient():
    [g] = grads(lambda x: np.exp(1j * x) * (2 - 1j), 0.5)
    assert g.dtype == float
    np.testing.assert_allclose(g, np.real(1j * np.exp(0.5j) * (2 - 1j)), rtol=1e-15)


# -- second derivatives -----------------------------------------------------------------------------------------------
@pytest.mark.parametrize("f", [lambda x: 3 * x, lambda x: x + x, np.sum, lambda x: x.T @ np.ones(2), np.cumsum])
def test_the_second_derivative_of_what_is_linear_is_none(f):
    assert second(f, [1.0, 2.0]) is None


@pytest.mark.parametrize("f", [np.abs, lambda x: np.maximum(x, 0.0), lambda x: np.where(x > 0, x, 0.0)])
def test_the_second_derivative_of_what_is_linear_by_pieces(f):
    found = second(f, [1.0, -2.0])
    assert found is None or not found.numpy().any()


@pytest.mark.parametrize("power", [1, 1.0])
def test_the_second_derivative_of_a_first_power_is_zero(power):
    assert second(lambda x: x**power, 0.0).numpy() == 0.0


# -- where we are right instead ---------------------------------------------------------------------------------------
def test_cumprod_with_zeros():
    np.testing.assert_array_equal(grads(lambda x: np.sum(np.cumprod(x)), [2.0, 0.0, 4.0])[0], [1.0, 10.0, 0.0])


def test_a_zeroth_power_at_zero():
    assert grads(lambda x: x**0, 0.0) == [0.0]


@pytest.mark.parametrize("f", [np.log, np.sqrt, np.reciprocal, lambda x: x**0.5, lambda x: x**-2.0, np.arctanh])
def test_where_guards_what_has_no_finite_derivative(f):
    with np.errstate(all="ignore"):
        [g] = grads(lambda x: np.sum(np.where(x > 0, f(x), 0.0)), [0.0, 0.5])
    assert np.all(np.isfinite(g)) and g[0] == 0.0 and g[1] != 0.0


@pytest.mark.parametrize("f", [np.linalg.norm, np.std, lambda x: np.linalg.norm(x.reshape(2, 1))])
def test_norm_and_spread_at_zero(f):
    np.testing.assert_array_equal(grads(f, [0.0, 0.0])[0], [0.0, 0.0])


# -- arrays that NumPy makes of tensors -------------------------------------------------------------------------------
ARRAYS = {
    "array": (lambda a, b: np.prod(np.array([a, b])), [3.0, 2.0]),
    "nested": (lambda a, b: np.sum(np.array([[a, b], [b, a]]) @ np.array([a, b])), [2 * 5.0, 2 * 5.0]),
    "r_": (lambda a, b: np.sum(np.r_[a, b, a] ** 2), [8.0, 6.0]),
    "c_": (lambda a, b: np.sum(np.c_[np.array([a, b]), np.array([b, b])] ** 2), [4.0, 18.0]),
    "full": (lambda a, b: np.sum(np.full(3, a)) * b, [9.0, 6.0]),
    "append": (lambda a, b: np.sum(np.append(np.ones(2), b)) * a, [5.0, 2.0]),
    "dot of an array": (lambda a, b: np.sum(np.eye(2).dot(np.stack([a, b]))), [1.0, 1.0]),
}


@pytest.mark.parametrize("name", ARRAYS)
def test_arrays_of_tensors(name):
    f, expected = ARRAYS[name]
    np.testing.assert_allclose(grads(f, 2.0, 3.0), expected, rtol=1e-15)


def test_what_nothing_records_is_plain():
    x = constant([1.0, 2.0])
    assert type(np.asarray(x)) is np.ndarray
    assert float(x[0]) == 1.0
    assert math.sin(x[1]) == math.sin(2.0)


# -- bad input --------------------------------------------------------------------------------------------------------
def store(x):
    out = np.ones(3)
    out[0] = x[0]


ONES = np.ones
BAD = {
    "shapes that do not broadcast": (lambda x: x + ONES(4), ValueError, "broadcast"),
    "in a ufunc": (lambda x: np.multiply(x, ONES(4)), ValueError, "broadcast"),
    "in a product": (lambda x: x @ ONES((4, 2)), ValueError, "matmul"),
    "in np.dot": (lambda x: np.dot(x, ONES((4, 2))), ValueError, ""),
    "in a selection": (lambda x: np.where(x > 0, x, ONES(4)), ValueError, "broadcast"),
    "in a concatenation": (lambda x: np.concatenate([x, ONES((2, 2))]), ValueError, "dimensions"),
    "in a stack": (lambda x: np.stack([x, ONES(4)]), ValueError, "same shape"),
    "an axis that is not there": (lambda x: np.sum(x, axis=3), np.exceptions.AxisError, "axis 3"),
    "a huge axis": (lambda x: np.max(x, axis=10**9), np.exceptions.AxisError, "out of bounds"),
    "a negative axis": (lambda x: x.mean(-5), np.exceptions.AxisError, "axis -5"),
    "an axis that is no number": (lambda x: x.sum("x"), TypeError, ""),
    "a shape that does not fit": (lambda x: x.reshape(2, 2), ValueError, "reshape"),
    "a place out of range": (lambda x: x[3], IndexError, "out of bounds"),
    "too many places": (lambda x: x[0, 0], IndexError, "too many indices"),
    "a place that is no number": (lambda x: x[0.5], IndexError, "valid indices"),
    "a function that nobody knows": (lambda x: np.busday_count(x, x), TapecError, "no op"),
    "strings": (lambda x: np.add(x, np.array(["a", "b", "c"])), TypeError, "dtype"),
    "objects": (lambda x: np.add(x, np.array([None, {}, print], dtype=object)), TypeError, ""),
    "nothing": (lambda x: np.add(x, None), TypeError, ""),
    "a tensor into an array": (store, DetachError, "np.zeros_like"),
    "a function of math": (lambda x: math.sin(x[0]), DetachError, "np.sin"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_says_where_and_leaves_everything_as_it_was(name):
    f, kind, words = BAD[name]
    x = constant([1.0, 2.0, 3.0])
    for _ in range(3):  # also when the call is known
        tape = GradientTape()
        with pytest.raises(kind) as caught, tape:
            tape.watch(x)
            y = np.sum(x * x)
            f(x)
        assert words in text(caught.value) and FILE in text(caught.value)
        assert CURRENT.get() is None
        np.testing.assert_array_equal(tape.gradient(y, x).numpy(), [2.0, 4.0, 6.0])


@pytest.mark.parametrize("value", [np.array(["a"]), np.array([object()]), "text", None, {"a": 1}])
def test_what_is_no_number_is_no_tensor(value):
    with pytest.raises((TypeError, ValueError)) as caught:
        constant(value)
    assert FILE in text(caught.value)


def test_not_a_number_and_infinity_are_values():
    [g] = grads(lambda x: np.sum(x * x), [np.nan, np.inf, 1.0])
    np.testing.assert_array_equal(g, [np.nan, np.inf, 2.0])


@pytest.mark.parametrize("shape", [(0,), (0, 3), (2, 0, 1)])
def test_empty_arrays(shape):
    [g] = grads(lambda x: np.sum(x * x) + np.sum(x.T @ x if x.ndim == 2 else x), np.zeros(shape))
    assert g.shape == shape
    with pytest.raises(ValueError, match="zero-size array") as caught:
        np.max(constant(np.zeros(shape)))
    assert FILE in text(caught.value)


def test_a_target_of_another_tape_and_one_never_recorded():
    x = constant(2.0)
    with GradientTape() as other:
        other.watch(x)
        y = x * x
    with GradientTape(persistent=True) as tape:
        tape.watch(x)
    assert tape.gradient(y, x) is None
    assert tape.gradient(constant(1.0), x) is None
    assert other.gradient(y, x).numpy() == 4.0


def test_targets_and_sources_of_all_structures():
    Pair = collections.namedtuple("Pair", "u v")
    x, z = constant(2.0), constant([1.0, 2.0])
    with GradientTape() as tape:
        tape.watch([x, z])
        y = {"a": x * x, "b": [np.sum(z) * x]}
    found = tape.gradient(y, {"p": Pair(x, z), "l": (x, [constant(1.0)])})
    assert type(found["p"]) is Pair and found["l"][1] == [None]
    assert found["p"].u.numpy() == found["l"][0].numpy() == 7.0
    np.testing.assert_array_equal(found["p"].v.numpy(), [2.0, 2.0])


def test_operations_of_another_thread_are_not_there():
    x, made = constant(2.0), []
    with GradientTape() as tape:
        tape.watch(x)
        thread = threading.Thread(target=lambda: made.append(x * x))
        thread.start()
        thread.join()
        y = 3 * x
    assert tape.gradient([made[0], y], x).numpy() == 3.0


# -- arrays that change after they were recorded ----------------------------------------------------------------------
@pytest.mark.parametrize("n", [10, 1000])
@pytest.mark.parametrize("inside", [True, False])
def test_an_array_that_changes_after_it_was_recorded(n, inside):
    """It counts as it was, whatever its size."""
    a, w = np.linspace(0.0, 1.0, 100 * n).reshape(100, n), constant(np.ones(n))
    expected = 2 * a.T @ (a @ np.ones(n))
    with GradientTape() as tape:
        tape.watch(w)
        y = np.sum((a @ w) ** 2)
        if inside:
            a[:] = 0.0
    a[:] = 0.0
    np.testing.assert_allclose(tape.gradient(y, w).numpy(), expected, rtol=1e-13)


def test_a_large_array_that_the_gradient_does_not_need_may_change():
    a, w = np.ones((100, 1000)), constant(np.ones(1000))
    with GradientTape() as tape:
        tape.watch(w)
        y = np.sum(w * 2 + a)
    a[:] = 0.0
    np.testing.assert_array_equal(tape.gradient(y, w).numpy(), np.full(1000, 200.0))


def test_large_indices_that_change():
    rows = np.arange(10_000) % 7
    table = Variable(np.ones((7, 2)))
    with GradientTape(persistent=True) as tape:
        y = np.sum(table[rows])
    was = rows.copy()
    for _ in range(2):
        found = tape.gradient(y, table)
        assert isinstance(found, IndexedSlices)
        np.testing.assert_array_equal(found.indices.numpy(), was)
        rows[:] = 0


# -- Variables where NumPy's functions take them ----------------------------------------------------------------------
VARIABLES = {
    "sum": lambda v: np.sum(v),
    "method": lambda v: v.sum(),
    "mean along": lambda v: np.sum(np.mean(v, axis=0)),
    "T": lambda v: np.sum(v.T @ v),
    "reshape": lambda v: np.sum(v.reshape(-1) ** 2),
    "part": lambda v: np.sum(v[1:] * v[0]),
    "operators": lambda v: np.sum((2.0 - v) * v + v / 3.0),
    "array first": lambda v: np.sum(np.ones((2, 3)) @ v),
    "tensor first": lambda v: np.sum(constant(np.ones((2, 3))) @ v + constant(np.ones((2, 3))) @ v),
    "concatenate": lambda v: np.sum(np.concatenate([v, v * 2, np.ones((1, 2))]) ** 2),
    "dot": lambda v: np.sum(np.dot(v.T, v)),
    "where": lambda v: np.sum(np.where(v > 1.0, v, 0.0)),
    "stack of scalars": lambda v: np.sum(np.stack([v[0, 0], v[1, 1]]) ** 2),
}


@pytest.mark.parametrize("name", VARIABLES)
def test_variables_in_functions(name):
    f, value = VARIABLES[name], np.arange(6.0).reshape(3, 2) / 4 + 0.1
    [expected] = grads(f, value)
    v = Variable(value)
    for _ in range(4):  # from the second on by a plan
        with GradientTape() as tape:
            y = f(v)
        assert tape.watched_variables() == (v,) or tape.watched_variables()[0] is v
        found = tape.gradient(y, v)
        np.testing.assert_array_equal(np.asarray(found), expected)


def test_variables_cannot_be_written_by_functions():
    v = Variable([3.0, 1.0, 2.0])
    for _ in range(3):
        with pytest.raises(TypeError, match=r"np\.copyto changes arrays, not a Variable"):
            np.copyto(v, np.zeros(3))
        with pytest.raises(InPlaceError, match="out= takes an array or a tensor"):
            np.sum(np.ones((2, 3)), 0, None, v)
    np.testing.assert_array_equal(v.numpy(), [3.0, 1.0, 2.0])


# -- nothing is left --------------------------------------------------------------------------------------------------
def test_a_used_tape_lets_go_of_views_and_snapshots():
    x = constant(np.ones((4, 4)))
    a = np.ones(4)
    with GradientTape() as tape:
        tape.watch(x)
        part = x.T[1:]
        y = np.sum(part @ a)
    held = weakref.ref(part)
    tape.gradient(y, x)
    del part, y
    assert held() is None
    assert len(tape.log.records) == 0


def test_a_mask_has_a_dense_gradient_and_a_row_selection_by_slices():
    v = Variable(np.arange(6.0).reshape(3, 2))
    with GradientTape(persistent=True) as tape:
        masked, rows = np.sum(v[v > 2.0]), np.sum(v[np.array([0, 0])])
        sliced, twice = np.sum(v[1:]), np.sum((v * 2)[np.array([0, 0])])
    kinds = [isinstance(tape.gradient(y, v), IndexedSlices) for y in (masked, rows, sliced, twice)]
    assert kinds == [False, True, False, False]


def test_check_grads_on_a_program_of_all_kinds():
    a = np.arange(9.0).reshape(3, 3) / 5
    tapec.check_grads(
        lambda w: np.tanh(a @ w) @ w + np.sum(w[1:].T) * np.mean(w), (np.array([1.0, 2.0, 3.0]),), order=3
    )
