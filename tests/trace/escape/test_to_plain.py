"""Tensors where plain numbers and arrays are asked for: right values and right gradients, or an error with the fix."""

import cmath
import copy
import math
import operator
import pickle
import re
import statistics
import warnings
from fractions import Fraction

import numpy as np
import pytest

import tapec
from tests.ops.derivatives import differences
from tests.properties import calls, functions

A = np.arange(9.0).reshape(3, 3) + np.eye(3)
X = np.array([1.0, 2.0, 3.0])
W = np.arange(1.0, 13.0)


class Holder:
    def __init__(self):
        self.rng = np.random.default_rng(0)


HOLDER = Holder()


def weigh(y):
    """A number from an array of any size, in which every element counts differently."""
    return np.sum(y * W[: math.prod(np.shape(y))].reshape(np.shape(y)))


def both(f, x):
    """Value and gradient by the tape, and by tracing."""
    t = tapec.constant(x)
    with tapec.GradientTape() as tape:
        tape.watch(t)
        y = f(t)
    yield y.numpy(), tape.gradient(y, t).numpy()
    yield tapec.value_and_grad(f)(x)


# -- object arrays that fold back -------------------------------------------------------------------------------------
CALLS = {
    "array": lambda x: weigh(np.array([x[0], x[1]]) ** 2),
    "nested": lambda x: weigh(np.array([[x[0], x[1]], [x[2], 1.0]]) ** 2),
    "of vectors": lambda x: weigh(np.array([x, x * 2])),
    "with plain arrays": lambda x: weigh(np.array([x, [1.0, 2.0, 3.0]])),
    "of matrices": lambda x: weigh(np.array([np.outer(x, x)])),
    "r_": lambda x: weigh(np.r_[x[0], x, 1.0] ** 2),
    "c_": lambda x: weigh(np.sin(np.c_[x, x * 2])),
    "full": lambda x: weigh(np.full(3, x[1])),
    "full of rows": lambda x: weigh(np.full((2, 3), x)),
    "long full": lambda x: np.sum(np.sin(np.full((4, 5), x[1] * 2) * x[0])),
    "diag of full": lambda x: np.sum(np.sin(np.diag(np.full(5, x[1])) + np.outer(np.ones(5), x[[0, 1, 2, 0, 1]]))),
    "few in many places": lambda x: np.sum(np.sin(np.array([x[0], 1.0, x[1], x[0]] * 6) * x[2])),
    "append": lambda x: weigh(np.append(x, x[0])),
    "append to plain": lambda x: weigh(np.append(X, x[0])),
    "asarray": lambda x: weigh(np.asarray(x)),
    "asarray scalar": lambda x: np.asarray(x[0]) * x[1],
    "ndarray.dot": lambda x: weigh(A.dot(x) ** 2),
    "ndarray.dot matrix": lambda x: weigh(A.dot(np.outer(x, x))),
    "dot list": lambda x: np.dot([x[0], x[1]], X[:2]),
    "matmul list": lambda x: weigh(np.matmul(A[:, :2], [x[0], x[1]])),
    "sum list": lambda x: np.sum([x[0], x[1] * 2]),
    "max list": lambda x: np.max([x[0], x[1] * 2]),
    "prod list": lambda x: np.prod([x[0], x[1], x[2]]),
    "cumsum list": lambda x: weigh(np.cumsum([x[0], x[1]])),
    "norm": lambda x: np.linalg.norm(np.array([x[0], x[1]])),
    "sin list": lambda x: weigh(np.sin([x[0], x[1]])),
    "functions": lambda x: weigh(np.exp(np.array([x[0], x[1]])) / np.hypot(np.array([x[0], x[2]]), 2.0)),
    "outer": lambda x: weigh(np.outer([x[0], x[1]], [1.0, 2.0])),
    "diag": lambda x: weigh(np.diag([x[0], x[1]]) @ np.array([1.0, 2.0])),
    "polyval": lambda x: np.polyval([x[0], x[1], 1.0], 2.0),
    "vectorize": lambda x: weigh(np.vectorize(lambda t: t * t)(x)),
    "frompyfunc": lambda x: weigh(np.frompyfunc(lambda t, s: t * s, 2, 1)(x, X)),
    "where list": lambda x: weigh(np.where([True, False, True], x, [1.0, x[0], 3.0])),
    "objects meet a tensor": lambda x: weigh(np.array([x[0], x[1]]) @ np.array([[1.0, 2.0], [3.0, 4.0]]) * x[2]),
    "solve with like": lambda x: weigh(np.linalg.solve(np.array([[x[0], 1.0], [0.5, x[1]]], like=x), X[:2])),
    "constant": lambda x: weigh(tapec.constant([x[0], x[1] ** 2]) * tapec.constant(x)[0]) if _tensor(x) else x[0],
    "tolist": lambda x: sum(x.tolist()[:2]) ** 2,
    "iteration": lambda x: sum(k * v * v for k, v in enumerate(x)),
    "unpacking": lambda x: (lambda a, b, c: a * b + c)(*x),
    "sorted": lambda x: sum(k * v for k, v in enumerate(sorted(x))),
    "max and min": lambda x: max(x) * min(x),
    "copy": lambda x: copy.deepcopy(x)[0] ** 2 * copy.copy(x)[1],
    "linspace": lambda x: weigh(np.linspace(0, x[0], 4) ** 2),
    "arange index": lambda x: X[np.argmax(x)] * x[0],
    "one hot": lambda x: weigh(np.eye(4)[np.array([0, 1, 2]) + (x > 0)] * x[0]),
    "int": lambda x: x[0] * int(x[1] + 0.2) * sum(1 for _ in range(int(x[2] + 0.5))),
    "round": lambda x: (
        x[0] * round(x[1] + 0.2) * math.floor(x[2] + 0.3) * math.ceil(x[2] - 0.3) * math.trunc(x[1] + 0.1)
    ),
    "branch": lambda x: x[0] * 3 if x[1] > x[0] and not x[2] < 0 else x[1],
    "while": lambda x: _halved(x[0] * 100),
    "integer tensors": lambda x: x[0] * np.sum(x > 1.5) * float(np.argmax(x)) * operator.index(np.argmax(x)),
}


def _tensor(x):
    return isinstance(x, tapec.Tensor)


def _halved(v):
    while v > 1:
        v = v / 2
    return v


@pytest.mark.parametrize("name", CALLS)
def test_values_and_gradients(name):
    f = CALLS[name]
    value, gradient = f(X), differences(f, X)
    if name == "constant":
        value, gradient = 1.0 + 2 * 4.0, np.array([1.0 + 1.0 + 8.0, 8.0, 0.0])
    check = "never" if name == "constant" else tapec.settings.check  # that one does another thing with plain numbers
    with tapec.settings(check=check):
        found = list(both(f, X))
    for got, g in found:
        np.testing.assert_allclose(np.asarray(got), value, rtol=1e-12)
        np.testing.assert_allclose(g, gradient, rtol=1e-6, atol=1e-7)


MEANS = {
    "mean": lambda x: np.mean([x[0], x[1] * x[1], x[2]]),
    "var": lambda x: np.var([x[0], x[1] * x[1], x[2]]),
    "std": lambda x: np.std([x[0], x[1] * x[1], x[2]], ddof=1),
    "median": lambda x: np.median([x[0], x[1] * x[1], x[2]]),
    "average": lambda x: np.average([x[0], x[1] * x[1], x[2]]),
    "method": lambda x: np.array([x[0], x[1] * x[1], x[2]]).mean(),
}


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("f", MEANS.values(), ids=MEANS)
def test_means_of_lists_keep_the_precision_in_functions(f, dtype):
    x = np.array([1, 2, 5], dtype)
    value, gradient = tapec.value_and_grad(f)(x)
    assert value.dtype == gradient.dtype == dtype
    np.testing.assert_allclose(value, f(x), rtol=2e-3 if dtype == np.float16 else 1e-6)
    np.testing.assert_allclose(gradient, differences(f, x.astype(float)), rtol=5e-3, atol=1e-6)


@pytest.mark.parametrize("f", MEANS.values(), ids=MEANS)
def test_means_of_lists_on_a_tape_are_refused_with_what_to_do(f):
    """NumPy divides the sum by a dtype of its own there, which would turn a tensor into a number."""
    x = tapec.constant(X)
    with tapec.GradientTape() as tape:
        tape.watch(x)
        with pytest.raises(tapec.DetachError, match=r"test_to_plain.py:\d+: .*Fix: np.stack"):
            f(x)
        assert isinstance(np.mean(np.stack([x[0], x[1]])), tapec.Tensor)


@pytest.mark.parametrize("part", [np.real, np.imag, np.angle])
def test_parts_of_lists_of_complex_tensors(part):
    """NumPy before 2.5 takes what is in a list for real numbers, and so does np.angle."""
    z = np.array([1.0 + 2j, 0.5 - 1j])
    try:
        found = tapec.compile(lambda z: part([z[0], z[1] * 2]))(z)
    except tapec.UnsupportedError as error:
        assert re.match(rf"test_to_plain.py:\d+: np.{part.__name__} of a list .*np.stack", str(error))
    else:
        np.testing.assert_allclose(found, part(z * [1, 2]))
    stacked = tapec.compile(lambda z: part(np.stack([z[0], z[1] * 2])))(z)
    np.testing.assert_allclose(stacked, part(z * [1, 2]))


@pytest.mark.parametrize("part", [lambda a: a().real, lambda a: a().imag], ids=["real", "imag"])
def test_parts_of_arrays_of_complex_tensors(part):
    """Before NumPy 2.5 they ask nobody."""
    z = np.array([1.0 + 2j, 0.5 - 1j])
    t = tapec.constant(z)
    with tapec.GradientTape() as tape, warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        tape.watch(t)
        found = part(lambda: np.array([t[0], t[1] * 2]))
    if told:
        assert re.search(r"`.real` is the array itself .* np.stack", str(told[0].message))
    else:
        np.testing.assert_allclose([float(x) for x in found], part(lambda: z * [1, 2]))


def test_complex_tensors_too():
    x = np.array([1.0 + 2j, 0.5 - 1j])
    t = tapec.constant(x)
    with tapec.GradientTape() as tape:
        tape.watch(t)
        y = np.sum(np.abs(np.array([t[0], t[1] * 1j])) ** 2)
    np.testing.assert_allclose(tape.gradient(y, t).numpy(), 2 * x)


def test_dtypes_of_folded_arrays_are_numpys():
    a = tapec.constant(np.float32(2.0))
    with tapec.GradientTape() as tape:
        tape.watch(a)
        assert (np.array([a, a]) * a).dtype == np.float32
        assert (np.array([a, 1.0]) * a).dtype == np.array([np.float32(2.0), 1.0]).dtype


def test_few_stand_ins_in_many_places_are_put_there_at_once():
    k = np.arange(400.0).reshape(20, 20)
    f = tapec.value_and_grad(lambda a, k: np.sum(np.sin(k + np.diag(np.full(20, a)))))
    value, d = f(0.5, k)
    assert np.allclose(value, np.sin(k + 0.5 * np.eye(20)).sum()) and np.allclose(d, np.cos(np.diag(k) + 0.5).sum())
    assert not calls(f.source(0.5, k), "np.stack")
    a = tapec.constant(np.float32(2.0))
    with tapec.GradientTape() as tape:
        tape.watch(a)
        assert (np.array([a] * 20) * a).dtype == np.float32
        assert (np.array([a, 1.0] * 20) * a).dtype == np.array([np.float32(2.0), 1.0]).dtype


def test_tensors_of_different_tapes():
    a, b = tapec.constant(2.0), tapec.constant(3.0)
    with tapec.GradientTape() as t1, tapec.GradientTape() as t2:
        t1.watch(a)
        t2.watch(b)
        y = np.sum(np.array([a, b, a * b]) * np.array([a, b, 1.0]))
    assert t1.gradient(y, a).numpy() == 4.0 + 3.0
    assert t2.gradient(y, b).numpy() == 6.0 + 2.0


def test_object_arrays_leave_a_function_as_numbers():
    f = tapec.compile(lambda x: np.array([x[0], 2 * x[1]]))
    out = f(X)
    assert out.dtype == float and out.tolist() == [1.0, 4.0]
    np.testing.assert_allclose(tapec.jacobian(lambda x: np.array([x[0], 2 * x[1]]))(X), [[1, 0, 0], [0, 2, 0]])


def test_an_object_array_as_a_target_of_a_tape():
    x = tapec.constant(X)
    with tapec.GradientTape() as tape:
        tape.watch(x)
        y = np.sum(np.array([x[0], x[1]]) ** 2 * x[2])
    assert tape.gradient(y, x).tolist() == [6.0, 12.0, 5.0]


def test_an_object_array_itself_as_a_target():
    x = tapec.constant(X)
    with tapec.GradientTape() as outer:
        outer.watch(x)
        with tapec.GradientTape(persistent=True) as tape:
            tape.watch(x)
            a, b, c = x
            y, z = np.array([a * b, b * c]), np.tensordot([a, b], [b, c], 1)
        assert tape.gradient(y, x).numpy().tolist() == [2.0, 4.0, 2.0]
        slopes = tape.jacobian(y, x)
    assert slopes.numpy().tolist() == [[2.0, 1.0, 0.0], [0.0, 3.0, 2.0]]
    assert outer.gradient(slopes, x).numpy().tolist() == [1.0, 2.0, 1.0]
    assert tape.gradient([y, z], x, output_gradients=[np.array([1.0, 0.0]), 2.0]).tolist() == [6.0, 9.0, 4.0]
    assert functions(tape.source(y, x))
    for plain in (np.array([1.0, 2.0], object), np.array(["a", 1], object)):
        with pytest.raises(TypeError, match="which no tape records"):
            tape.gradient(plain, x)


def test_numpys_own_code_on_lists_of_tensors():
    """`np.quantile` computes with objects itself, and asks ufuncs for results of dtype object."""
    try:
        found = tapec.grad(lambda x: np.quantile([x[0], x[1], x[2]], 0.4))(X)
    except tapec.TapecError as e:  # before NumPy 2.4
        assert re.search(r"test_to_plain\.py:\d+: ", str(e))
    else:
        np.testing.assert_allclose(found, [0.2, 0.8, 0.0])


# -- where nothing records --------------------------------------------------------------------------------------------
def test_plain_values_where_nothing_records():
    t = tapec.constant([[1.0, 2.0], [3.0, 4.0]])
    s = tapec.constant(2.5)
    assert type(np.asarray(t)) is np.ndarray and np.asarray(t).dtype == float
    assert np.asarray(t, np.float32).dtype == np.float32
    assert np.array([s, s]).dtype == float
    assert type(float(s)) is float and float(s) == 2.5 and complex(s) == 2.5 and int(s) == 2
    assert math.sin(s) == math.sin(2.5) and type(np.float64(s)) is np.float64
    assert s.item() == 2.5 and t.item(3) == 4.0 and t.item(1, 0) == 3.0 and type(t.item(0)) is float
    assert t.tolist() == [[1.0, 2.0], [3.0, 4.0]]
    assert type(t.numpy()) is np.ndarray and type(s.numpy()) is np.float64
    assert t.tobytes() == t.numpy().tobytes()
    assert [1, 2, 3][tapec.constant(1)] == 2 and list(range(tapec.constant(3))) == [0, 1, 2]
    assert np.zeros(4)[tapec.constant([1, 2])].shape == (2,)
    assert bool(tapec.constant(0.0)) is False
    assert 2.0 in t and 7.0 not in t
    a = np.zeros(2)
    a[0] = s
    a[:] = t[0]
    assert a.tolist() == [1.0, 2.0]


def test_a_tape_that_watches_something_else():
    s, other = tapec.constant(2.5), tapec.constant(1.0)
    with tapec.GradientTape() as tape:
        tape.watch(other)
        assert type(np.asarray(s)) is np.ndarray and np.asarray(s).dtype == float
        assert math.sin(s) == math.sin(2.5)


def test_after_the_block_everything_is_plain():
    x = tapec.constant(X)
    with tapec.GradientTape() as tape:
        tape.watch(x)
        y = x * x
    assert np.asarray(y).tolist() == [1.0, 4.0, 9.0] and math.sqrt(y[1]) == 2.0
    assert tape.gradient(y, x).tolist() == [2.0, 4.0, 6.0]


def test_copies_and_copy_false():
    t = tapec.constant([1.0, 2.0])
    a = np.asarray(t)
    a[0] = 9.0
    assert t.tolist() == [1.0, 2.0]
    view = t.__array__(copy=False)
    assert not view.flags.writeable
    with pytest.raises(ValueError, match="copy"):
        t.__array__(np.float32, copy=False)
    with pytest.raises(ValueError, match="copy"):
        tapec.constant(1.0).__array__(copy=False)


def test_numpys_errors_for_numbers():
    t, s = tapec.constant([1.0, 2.0]), tapec.constant(1.5)
    for call, error in [
        (lambda: float(t), TypeError),
        (lambda: int(t), TypeError),
        (lambda: bool(t), ValueError),
        (lambda: operator.index(s), TypeError),
        (lambda: range(s), TypeError),
        (lambda: t.item(), ValueError),
        (lambda: t.item(5), IndexError),
        (lambda: int(tapec.constant(np.nan)), ValueError),
        (lambda: [1][s], TypeError),
    ]:
        with pytest.raises(error):
            call()


# -- on a tape --------------------------------------------------------------------------------------------------------
def test_looking_at_values_on_a_tape():
    x = tapec.constant(X)
    with tapec.GradientTape() as tape:
        tape.watch(x)
        y = x * x
        assert float(y[0]) == 1.0 and complex(y[0]) == 1.0 and int(y[1]) == 4 and bool(y[0])
        assert y[2].item() == 9.0 and y.numpy().tolist() == [1.0, 4.0, 9.0]
        assert f"{y[1]:.2f}" == "4.00" and "4." in str(y) and not math.isnan(y[0])
        assert np.array_str(y) == np.array_str(np.array([1.0, 4.0, 9.0]))
        if y[0] < 2:
            y = y * float(2)
    assert tape.gradient(y, x).tolist() == [4.0, 8.0, 12.0]


# -- never silently detached ------------------------------------------------------------------------------------------
VECTORIZED = np.vectorize(lambda v: v * 2, otypes="d")


def filled(array, value):
    array.fill(value)
    return array


DETACHING = {
    "float64": (lambda x: np.float64(x[0]), r"np.float64\(\).*`x.astype\(np.float64\)`"),
    "float32": (lambda x: np.float32(x[0]), r"np.float32\(\).*`x.astype\(np.float32\)`"),
    "asarray dtype": (lambda x: np.asarray(x, float), r"np.asarray\(\).*\.astype\(np.float64\)"),
    "array dtype": (lambda x: np.array([x[0], x[1]], dtype=float), r"np.array\(\).*np.stack\(\[...\]\).astype"),
    "array of int": (lambda x: np.asarray(x, int), r"np.asarray\(\).*astype"),
    "math.sin": (lambda x: math.sin(x[0]), r"math.sin\(\).*Fix: np.sin"),
    "math.exp": (lambda x: math.exp(x[0]), "Fix: np.exp"),
    "math.pow": (lambda x: math.pow(x[0], 2), "Fix: np.pow"),
    "math.erf": (lambda x: math.erf(x[0]), "Fix: scipy.special.erf"),
    "math.hypot": (lambda x: math.hypot(x[0], x[1]), "Fix: np.hypot"),
    "math.fsum": (lambda x: math.fsum(x), "Fix: np.sum"),
    "statistics.mean": (lambda x: statistics.mean(x), r"statistics.mean\(\).*Fix: np.mean"),
    "statistics.stdev": (lambda x: statistics.stdev(x), r"Fix: np.std\(x, ddof=1\)"),
    "cmath.exp": (lambda x: cmath.exp(x[0]), "Fix: np.exp"),
    "arange": (lambda x: np.arange(0.0, x[0] + 1.0, 0.5), r"np.arange\(\).*Fix: .*start \+ step .*static_argnames"),
    "fromiter": (lambda x: np.fromiter([x[0], x[1]], float), r"np.fromiter\(\).*np.stack"),
    "normal": (lambda x: np.random.default_rng(0).normal(x[0], 1.0), "standard_normal"),
    "normal of vectors": (lambda x: np.random.default_rng(0).normal(x, 1.0), "standard_normal"),
    "np.random.normal": (lambda x: np.random.normal(x[0], 1.0), "standard_normal"),
    "fill": (lambda x: filled(np.zeros(3), x[0]), "zeros_like"),
    "vectorize": (lambda x: np.vectorize(lambda v: v * 2, otypes=[float])(x), "Fix: leave its `otypes` out"),
    "named vectorize": (lambda x: VECTORIZED(x), "Fix: leave its `otypes` out"),
    "astype": (lambda x: np.array([x[0], 1.0]).astype(float), r"astype\(\).*Fix: leave it out.*np.stack"),
    "astype complex": (lambda x: np.array([x[0], 1.0]).astype(complex), r"astype\(\).*Fix: leave it out"),
    "own generator": (lambda x: HOLDER.rng.normal(x[0]), "standard_normal"),
}


MADE_TENSORS = {  # in a traced function
    "asarray dtype": [2.0, 1.0, 1.0],
    "array dtype": [2.0, 1.0, 0.0],
    "array of int": [1.0, 0.0, 0.0],
    "fill": [4.0, 0.0, 0.0],
    "astype": [2.0, 0.0, 0.0],
    "astype complex": [2.0, 0.0, 0.0],
}


@pytest.mark.parametrize("name", DETACHING)
def test_detaching_is_an_error(name):
    call, message = DETACHING[name]
    x = tapec.constant(X)
    where = r"^test_to_plain.py:\d+: .*lose its gradient.*Fix: "
    with pytest.raises(tapec.DetachError, match=where) as caught, tapec.GradientTape() as tape:
        tape.watch(x)
        call(x)
    assert caught.match(message)

    def f(x):
        return np.sum(np.real(call(x))) + x[0]

    if name in MADE_TENSORS:
        assert tapec.grad(f)(X).tolist() == MADE_TENSORS[name]
        return
    if name.startswith(("math", "cmath")):  # these take tensors in a traced function
        slopes = [(f(X + h) - f(X - h)) / 2e-6 for h in 1e-6 * np.eye(3)]
        np.testing.assert_allclose(tapec.grad(f)(X), slopes, atol=1e-8)
        return
    with pytest.raises(tapec.DetachError, match=message):
        tapec.grad(f)(X)


TRACED = {
    "float": (lambda x: float(x[0]), r"float\(\).*use the tensor itself"),
    "complex": (lambda x: complex(x[0]), r"complex\(\)"),
    "item": (lambda x: x[0].item(), r"\.item\(\)"),
    "numpy": (lambda x: x.numpy(), r"\.numpy\(\)"),
    "pickle": (lambda x: pickle.loads(pickle.dumps(x)) * x, r"pickle.dumps\(\)"),
    "percent": (lambda x: FORM % x[0], r'formatting by %.*Fix: f"{x:.3f}" writes'),
    "percent of several": (lambda x: FORM % (x[0],), r'formatting by %.*Fix: f"{x:.3f}" writes'),
}
FORM = "%.2f"


@pytest.mark.parametrize("name", TRACED)
def test_one_calls_values_stay_out_of_compiled_code(name):
    call, message = TRACED[name]

    def f(x):
        call(x)
        return np.sum(x)

    with pytest.raises(tapec.DetachError, match=r"^test_to_plain.py:\d+: ") as caught:
        tapec.compile(f)(X)
    assert caught.match(message)


def test_loops_in_c_say_what_to_do_instead():
    with pytest.raises(tapec.DetachError, match=r"Fix: index the tensor, or loop over np.ravel\(x\)"):
        tapec.grad(lambda x: sum(v for v in np.nditer(x)))(X)
    t = tapec.constant(X)
    with tapec.GradientTape() as tape:
        tape.watch(t)
        with pytest.raises(TypeError) as caught:
            sum(v for v in np.nditer(t))
    assert "REFS_OK" in str(caught.value)


def test_the_line_is_the_users():
    def f(x):
        y = x * 2
        return float(y[0])

    line = f.__code__.co_firstlineno + 2
    with pytest.raises(tapec.DetachError, match=rf"^test_to_plain.py:{line}: float\(\) would turn a recorded tensor"):
        tapec.grad(f)(X)


def test_too_many_elements():
    x = tapec.constant(np.ones(10_001))
    with tapec.GradientTape() as tape:
        tape.watch(x)
        with pytest.raises(tapec.DetachError, match="object array of so many elements|np.asarray.*np.stack"):
            np.asarray(x)
        y = np.asarray(x[:10_000])
    assert y.dtype == object


def test_errors_of_object_arrays_say_how_to_fix():
    x = tapec.constant(X)
    for call in (
        lambda x: np.linalg.solve(np.array([[x[0], 1.0], [0.5, x[1]]]), X[:2]),
        lambda x: np.sin(np.array([x[0], 1.0])),
    ):
        with pytest.raises(TypeError) as caught, tapec.GradientTape() as tape:
            tape.watch(x)
            call(x)
        assert "np.stack" in caught.value.__notes__[-1] and "like=x" in caught.value.__notes__[-1]


@pytest.mark.parametrize("call", [lambda x: x.what, lambda x: x(), lambda x: len(3) * x, lambda x: iter(3)])
def test_other_errors_are_as_they_were(call):
    with pytest.raises((TypeError, AttributeError)) as caught:
        tapec.grad(call)(1.0)
    assert not getattr(caught.value, "__notes__", [])


def test_an_error_changes_nothing():
    v = tapec.Variable([1.0, 2.0])
    with tapec.GradientTape() as tape:
        y = v * v
        before = len(tape.log.records)
        calls = [
            lambda: np.asarray(y, float),
            lambda: math.sin(y[0]),
            lambda: y + np.ones(5),
            lambda: np.busday_count(y, y),
        ]
        for call in calls:
            with pytest.raises((tapec.TapecError, ValueError)):
                call()
        assert len(tape.log.records) <= before + 1  # y[0]
        assert v.numpy().tolist() == [1.0, 2.0]
    assert tape.gradient(y, v).tolist() == [2.0, 4.0]


# -- integers and booleans --------------------------------------------------------------------------------------------
def test_a_traced_integer_is_a_guard(capsys):
    @tapec.compile
    def f(x, n):
        print("traced")
        return sum(x * k for k in range(n))

    assert f(2.0, 3) == 6.0 and f(2.0, 4) == 12.0
    assert "traced" in capsys.readouterr().out
    assert f(3.0, 3) == 9.0 and f(3.0, 4) == 18.0
    assert capsys.readouterr().out == ""


def test_an_array_of_labels_makes_the_function_record_anew():
    @tapec.compile
    def f(x, labels):
        return np.sum(np.eye(3)[labels] * x)

    x = np.arange(6.0).reshape(2, 3)
    assert f(x, np.array([0, 1])) == 4.0
    assert f(x, np.array([2, 2])) == 7.0


def test_integer_tensors_on_a_tape_answer_with_values():
    i = tapec.constant([0, 2])
    with tapec.GradientTape() as tape:
        tape.watch(i)
        assert np.asarray(i * 2).tolist() == [0, 4] and np.asarray(i, float).tolist() == [0.0, 2.0]
        assert X[i].tolist() == [1.0, 3.0]


# -- pickling ---------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("value", [1.5, [1.0, 2.0], [[True, False]], np.float32(2.0), 1 + 2j, np.zeros((0, 3))])
def test_pickling(value):
    t = tapec.constant(value)
    u = pickle.loads(pickle.dumps(t))
    assert type(u) is tapec.Tensor and u.dtype == t.dtype and u.shape == t.shape
    np.testing.assert_array_equal(u.numpy(), t.numpy())


def test_fractions_are_numbers():
    third = Fraction(1, 3)
    np.testing.assert_array_equal(tapec.grad(lambda x: np.sum(x * third - third / x + third))(X), 1 / 3 + 1 / 3 / X**2)
    x = tapec.constant([1.0, 2.0])
    assert (x * third).dtype == np.float64
    assert (tapec.constant(np.float32(2.0)) * third).dtype == np.float32  # weak, as Python's floats are


def test_errors_of_numba_have_the_fix():
    """Its own words are of types that no user knows."""
    typing_error = type("TypingError", (Exception,), {"__module__": "numba.core.errors"})

    def compiled(x):
        raise typing_error("non-precise type pyobject")

    with pytest.raises(typing_error) as caught:
        tapec.grad(lambda x: np.sum(compiled(x)))(X)
    assert "f.py_func" in caught.value.__notes__[-1]


# -- subclasses of arrays ---------------------------------------------------------------------------------------------
@pytest.mark.parametrize("array", [np.eye(2).view(np.matrix), np.ma.array([1.0, 2.0], mask=[False, True])])
def test_arrays_with_rules_of_their_own_are_refused(array):
    """`*` of a matrix is a product of matrices, and a mask would be lost: a recording follows neither."""
    t = tapec.constant([1.0, 2.0])
    refused = {
        "argument": lambda: tapec.grad(lambda a: np.sum(a * a))(array),
        "compiled": lambda: tapec.compile(lambda a: a * a)(array),
        "captured": lambda: tapec.grad(lambda x: np.sum(x * array))(np.ones(2)),
        "constant": lambda: tapec.constant(array),
        "Variable": lambda: tapec.Variable(array),
        "operand": lambda: t * array,
        "operand of a function": lambda: np.dot(t, array),
        "cotangent": lambda: tapec.vjp(np.sin, np.ones(array.shape))[1](array),
        "tangent": lambda: tapec.linearize(np.sin, np.ones(array.shape))[1](array),
    }
    for name, run in refused.items():
        with pytest.raises(TypeError, match=r"test_to_plain\.py:\d+: .* not supported. Fix: "):
            run()
            pytest.fail(name)


def test_other_subclasses_are_arrays(tmp_path):
    held = np.memmap(tmp_path / "held", dtype=float, mode="w+", shape=(2,))
    held[:] = [1.0, 2.0]
    assert tapec.grad(lambda x: np.sum(x * x))(held).tolist() == [2.0, 4.0]
    assert tapec.grad(lambda x: np.sum(x * held))(np.ones(2)).tolist() == [1.0, 2.0]


UNASKED = {
    "nan_to_num": lambda x: np.sum(np.nan_to_num(np.array([x[0] / 0.0, x[1]]), posinf=1.0)),
    "nan_to_num of a list": lambda x: np.sum(np.nan_to_num([x[0] / 0.0, x[1]], posinf=1.0)),
    "logical_or": lambda x: np.sum(np.logical_or(np.array([x[0], x[1]]), 0) * x[0]),
    "logical_and of a list": lambda x: np.sum(np.logical_and([x[0], x[1]], [1, 0]) * x[0]),
    "reduce": lambda x: np.logical_or.reduce(np.array([x[0], x[1]])) * x[0],
}


@pytest.mark.filterwarnings("ignore:divide by zero")
@pytest.mark.parametrize("name", UNASKED)
def test_what_numpy_answers_for_objects_unasked(name):
    """Traced functions have no such arrays; on a tape the line is refused."""
    f = UNASKED[name]
    np.testing.assert_allclose(tapec.compile(f)(X), f(X))
    t = tapec.constant(X)
    with tapec.GradientTape() as tape:
        tape.watch(t)
        with pytest.raises(tapec.DetachError, match=r"test_to_plain\.py:\d+: .*np\.stack"):
            f(t)


def centred(a):
    a -= a.mean()
    return a


def scaled(a):
    a = a / a.std()
    return a


def in_a_comprehension(a):
    (centred,) = [a - m for m in [a.mean()]]
    return centred


def by_an_unknown_name(a):
    mean = a.mean
    b = a
    b -= mean()
    return b


def converted(a):
    b = a
    c = (lambda: float)()(b[0])
    return b * c


def as_a_complex_number(a):
    return a[0] * np.complex128(a[1])


@pytest.mark.parametrize("f", [centred, scaled, in_a_comprehension, by_an_unknown_name, converted, as_a_complex_number])
def test_whoever_asks_for_a_number_on_a_tape_without_saying_so_is_refused(f):
    x = tapec.constant(X)
    with tapec.GradientTape() as tape:
        tape.watch(x)
        with pytest.raises(tapec.DetachError, match=r"test_to_plain.py:\d+"):
            f(np.ones(2).dot([[x[0], 0.5], [0.0, x[1]]]))


def test_asserts_of_numpy_run_at_each_call():
    def f(x):
        np.testing.assert_allclose(x, np.abs(x), atol=1e-12)
        np.testing.assert_array_less(x[0], 10.0)
        return np.sum(x * x)

    g = tapec.grad(f)
    for x in (X, 2 * X):
        np.testing.assert_allclose(g(x), 2 * x)
    for x in (-X, X + 10.0):
        with pytest.raises(AssertionError):
            g(x)
    with tapec.GradientTape() as tape:
        t = tapec.constant(X)
        tape.watch(t)
        y = f(t)
    np.testing.assert_allclose(tape.gradient(y, t), 2 * X)
