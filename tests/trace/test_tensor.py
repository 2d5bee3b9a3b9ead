"""Tensors as arrays: operators, methods, properties, printing, comparison, errors of use."""

import math
import operator

import numpy as np
import pytest

import tapec

X = np.array([[1.5, -2.0, 0.5], [3.0, 0.25, -1.0]])


def plain(y):
    if isinstance(y, tuple):
        return tuple(map(plain, y))
    return y.numpy() if isinstance(y, tapec.Tensor) else y


def same(found, expected):
    if isinstance(expected, tuple):
        assert type(found) is tuple and len(found) == len(expected)
        for f, e in zip(found, expected, strict=True):
            same(f, e)
        return
    np.testing.assert_array_equal(plain(found), expected)
    assert np.asarray(plain(found)).dtype == np.asarray(expected).dtype
    assert np.shape(found) == np.shape(expected)


# -- what it shows ----------------------------------------------------------------------------------------------------
def test_printing_shows_value_shape_and_dtype():
    assert repr(tapec.constant([1.0, 2.0])) == "tapec.Tensor([1., 2.], shape=(2,), dtype=float64)"
    assert str(tapec.constant(np.float32(6.0))) == "tapec.Tensor(6.0, shape=(), dtype=float32)"
    assert repr(tapec.constant([[True]])) == "tapec.Tensor([[ True]], shape=(1, 1), dtype=bool)"
    assert repr(tapec.constant(np.zeros((0, 2)))) == "tapec.Tensor([], shape=(0, 2), dtype=float64)"
    assert f"{tapec.constant(1.23456):.2f}" == "1.23"
    assert f"{tapec.constant(2.0)}" == str(tapec.constant(2.0))


def test_a_large_tensor_prints_briefly():
    assert len(repr(tapec.constant(np.zeros(10_000)))) < 200


def test_properties():
    t, s = tapec.constant(X), tapec.constant(2.5)
    for name in ("shape", "ndim", "size", "itemsize", "nbytes", "dtype", "strides", "device"):
        if hasattr(X, name):
            assert getattr(t, name) == getattr(X, name)
    assert t.flags.c_contiguous and len(t) == 2
    assert (s.shape, s.ndim, s.size, s.nbytes, s.dtype) == ((), 0, 1, 8, np.dtype(float))
    same(t.T, X.T)
    same(t.mT, X.mT)
    same(t.real, X)
    same(tapec.constant(1j * X).imag, X)
    assert list(t.flat) == list(X.flat) and len(t.flat) == 6
    same(t.flat[2:4], X.flat[2:4])
    assert [row.tolist() for row in t] == X.tolist()


def test_0_d_tensors_are_no_sequences():
    s = tapec.constant(1.0)
    with pytest.raises(TypeError, match="unsized"):
        len(s)
    with pytest.raises(TypeError, match="0-d"):
        iter(s)
    with pytest.raises(IndexError):
        s[0]
    same(s[()], np.float64(1.0))
    same(s[...], np.float64(1.0))
    same(s[None], np.array([1.0]))


def test_a_tensor_is_unhashable():
    with pytest.raises(TypeError, match="unhashable type: 'Tensor'"):
        hash(tapec.constant(1.0))
    with pytest.raises(TypeError, match="unhashable"):
        {tapec.constant([1.0])}
    with pytest.raises(TypeError, match=r"test_tensor\.py:\d+: unhashable .* Fix: int\(n\) of a whole"):
        tapec.compile(lambda x, n: {0.5: x, 1.5: 2 * x}[n])(1.0, 0.5)


# -- operators --------------------------------------------------------------------------------------------------------
BINARY = [
    operator.add,
    operator.sub,
    operator.mul,
    operator.truediv,
    operator.floordiv,
    operator.mod,
    operator.pow,
    operator.lt,
    operator.le,
    operator.gt,
    operator.ge,
    operator.eq,
    operator.ne,
    divmod,
]
OTHERS = [2, 2.5, True, np.float32(1.5), np.int64(3), np.array([1.0, 2.0, 4.0]), np.array([[2], [3]]), [1.0, 2.0, 3.0]]


@pytest.mark.sampled(one_in=3)
@pytest.mark.parametrize("op", BINARY)
@pytest.mark.parametrize("other", OTHERS, ids=str)
@pytest.mark.parametrize("x", [np.abs(X), np.float32(2.0), np.array([1, 2, 3])], ids=["f64", "f32", "int"])
def test_binary_operators(op, other, x):
    plain_other = np.asarray(other) if isinstance(other, list) else other
    t = tapec.constant(x)
    with tapec.GradientTape() as tape:
        tape.watch(t)
        same(op(t, other), op(x, plain_other))
        same(op(other, t), op(plain_other, x))
        same(op(t, tapec.constant(plain_other)), op(x, np.asarray(plain_other)[()]))


def test_operators_of_integers():
    a, b = np.array([5, 3]), np.array([1, 2])
    s, t = tapec.constant(a), tapec.constant(b)
    for op in (operator.and_, operator.or_, operator.xor, operator.lshift, operator.rshift):
        same(op(s, t), op(a, b))
        same(op(s, 1), op(a, 1))
        same(op(7, t), op(7, b))
    same(~s, ~a)


def test_unary_operators():
    t = tapec.constant(X)
    for op in (operator.neg, operator.pos, operator.abs):
        same(op(t), op(X))
    same(round(t, 1), np.round(X, 1))
    assert round(tapec.constant(2.5)) == 2 and type(round(tapec.constant(2.5))) is int
    assert math.floor(tapec.constant(-1.5)) == -2 and math.ceil(tapec.constant(-1.5)) == -1


def test_unary_operators_are_recorded_with_the_users_line():
    t = tapec.constant(X)
    with tapec.GradientTape() as tape:
        tape.watch(t)
        y = +abs(-t)
    records = tape.log.records
    assert [op.name for op, *_ in records] == ["negative", "absolute", "positive"]
    assert all(entry[4].co_filename == __file__ for entry in records)
    same(tape.gradient(y, t), np.sign(X))


@pytest.mark.parametrize("op", [operator.neg, operator.pos, operator.abs])
def test_unary_operators_of_pythons_numbers_leave_the_precision_to_others(op):
    x = np.float32([1.5, -2.0])
    same(tapec.compile(lambda x, k: x * op(k))(x, -3), x * op(-3))


def test_matmul():
    a, b = X, X.T
    same(tapec.constant(a) @ tapec.constant(b), a @ b)
    same(tapec.constant(a) @ b, a @ b)
    same(a @ tapec.constant(b), a @ b)
    same(tapec.constant(a) @ [1.0, 2.0, 3.0], a @ [1.0, 2.0, 3.0])


def test_comparison_with_what_is_no_number():
    t, s = tapec.constant([1.0, 2.0]), tapec.constant(1.0)
    for other in (None, "a", {}, b"x"):
        same(t == other, np.array([False, False]))
        same(t != other, np.array([True, True]))
        assert not bool(s == other) and s != other
        for op in (operator.lt, operator.add, operator.matmul):
            with pytest.raises(TypeError):
                op(t, other)


def test_others_that_want_to_answer_themselves():
    class Mine:
        __array_ufunc__ = None

        def __radd__(self, other):
            return "mine"

    assert tapec.constant([1.0]) + Mine() == "mine"


class Pair:
    """Somebody's vectors, which know how to be multiplied by a number from either side."""

    def __init__(self, a, b):
        self.a, self.b = a, b

    def __mul__(self, k):
        return Pair(self.a * k, self.b * k)

    __rmul__ = __mul__


@pytest.mark.parametrize("make", [float, np.float64, lambda x: np.full((300, 300), x), tapec.constant, tapec.Variable])
def test_objects_with_operators_of_their_own(make):
    def f(x):
        scaled = x * Pair(2.0, x)
        return np.sum(scaled.a * scaled.b)

    x = make(3.0)
    same(np.asarray(tapec.grad(f)(x)), np.full(np.shape(x), 54.0))
    with pytest.raises(TypeError, match="unsupported operand"):
        tapec.constant(3.0) + Pair(1.0, 1.0)


# -- methods ----------------------------------------------------------------------------------------------------------
METHODS = {
    "all": ((),),
    "any": ((), (0,)),
    "argmax": ((), (1,)),
    "argmin": ((), (0,)),
    "argsort": ((), (0,)),
    "astype": ((np.float32,), (int,), (complex,)),
    "clip": ((-1.0, 1.0), (None, 0.5)),
    "compress": (([True, False], 0),),
    "conj": ((),),
    "conjugate": ((),),
    "copy": ((),),
    "cumprod": ((), (0,)),
    "cumsum": ((), (1,)),
    "diagonal": ((), (1,)),
    "dot": ((np.arange(3.0),),),
    "flatten": ((), ("F",)),
    "max": ((), (0,)),
    "mean": ((), (1,), (1, None, None, True)),
    "min": ((), (0,)),
    "nonzero": ((),),
    "prod": ((), (1,)),
    "ravel": ((), ("F",)),
    "repeat": ((2,), (2, 0), ([1, 2], 0)),
    "reshape": ((6,), (3, 2), ((3, -1),)),
    "round": ((), (1,)),
    "squeeze": ((),),
    "std": ((), (0,)),
    "sum": ((), (0,), ((0, 1),)),
    "swapaxes": ((0, 1),),
    "take": (([0, 5],), ([1], 1)),
    "trace": ((), (1,)),
    "transpose": ((), (1, 0), ((1, 0),)),
    "var": ((), (1,)),
    "view": ((),),
}


@pytest.mark.parametrize("name", METHODS)
def test_methods(name):
    t = tapec.constant(X)
    for args in METHODS[name]:
        expected = getattr(X, name)(*args)
        with tapec.GradientTape() as tape:
            tape.watch(t)
            found = getattr(t, name)(*args)
        np.testing.assert_allclose(plain(found), expected, rtol=1e-14)
        assert type(found) is tapec.Tensor or type(found) is tuple


def test_keywords_of_methods():
    t = tapec.constant(X)
    same(t.sum(axis=0, keepdims=True), X.sum(axis=0, keepdims=True))
    same(t.max(axis=1, initial=2.0), X.max(axis=1, initial=2.0))
    same(t.mean(dtype=np.float32), X.mean(dtype=np.float32))
    same(t.reshape((3, 2), order="F"), X.reshape((3, 2), order="F"))
    out = tapec.zeros(3)
    assert t.sum(axis=0, out=out) is out
    same(out, X.sum(axis=0))


def test_in_place_methods():
    t = tapec.constant(X)
    t.sort()
    same(t, np.sort(X))
    t.partition(1, axis=0)
    same(t, np.partition(np.sort(X), 1, axis=0))
    t.fill(3.0)
    same(t, np.full((2, 3), 3.0))


# -- how tensors are made ---------------------------------------------------------------------------------------------
def test_constants_own_what_they_hold():
    for value in (1, 1.5, True, 1j, np.float32(2), [1, 2], [[1.5]], np.arange(3), np.zeros((0, 2)), ()):
        same(tapec.constant(value), np.array(value)[()])
    same(tapec.constant([1, 2], np.float32), np.array([1, 2], np.float32))
    same(tapec.constant(tapec.constant([1.0]), np.float32), np.array([1], np.float32))
    t = tapec.constant([1.0, 2.0])
    u = tapec.constant(t)
    u[0] = 5.0
    same(t, np.array([1.0, 2.0]))


@pytest.mark.parametrize(
    "value", ["text", ["a", "b"], None, [1, None], object(), np.array([1, "a"], object), np.datetime64(0, "s")]
)
def test_what_holds_no_numbers_is_refused(value):
    with pytest.raises(TypeError, match=r"test_tensor.py:\d+: a tensor holds numbers"):
        tapec.constant(value)


def test_ragged_lists_are_numpys_error():
    with pytest.raises(ValueError, match="inhomogeneous"):
        tapec.constant([[1.0], [1.0, 2.0]])


def test_arrays_to_be_written_into():
    same(tapec.zeros((2, 3)), np.zeros((2, 3)))
    same(tapec.ones(3, np.float32), np.ones(3, np.float32))
    same(tapec.full((2,), 1.5), np.full((2,), 1.5))
    assert tapec.empty((2, 2), int).shape == (2, 2)
    y = tapec.full(3, tapec.constant(2.0))
    y[0] = 1.0
    same(y, np.array([1.0, 2.0, 2.0]))


# -- what recording notes ---------------------------------------------------------------------------------------------
def test_records_name_the_users_line():
    x = tapec.constant(X)
    with tapec.GradientTape() as tape:
        tape.watch(x)
        np.sum(np.sin(x) * x)
    code = test_records_name_the_users_line.__code__
    assert all(entry[4] is code for entry in tape.log.records)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.polynomial.polynomial.polyval(x, [1.0, 2.0]),
        lambda x: np.polynomial.chebyshev.chebval(x, [1.0, 2.0, 3.0]),
    ],
)
def test_records_of_numpys_own_code_name_the_users_line(f):
    x = tapec.constant(X[0])
    with tapec.GradientTape() as tape:
        tape.watch(x)
        f(x)
    assert "multiply" in {entry[0].name for entry in tape.log.records}
    assert all(entry[4] is f.__code__ for entry in tape.log.records)


def test_errors_of_numpy_carry_the_users_line():
    t = tapec.constant(X)
    u = tapec.constant([1.0, 2.0])
    line = test_errors_of_numpy_carry_the_users_line.__code__.co_firstlineno
    cases = [
        (ValueError, lambda: t + u),
        (ValueError, lambda: np.ones(2) * t),
        (ValueError, lambda: np.add(t, u)),
        (ValueError, lambda: t @ u),
        (ValueError, lambda: np.reshape(t, (4, 4))),
        (np.exceptions.AxisError, lambda: np.sum(t, axis=7)),
        (IndexError, lambda: t[5]),
        (IndexError, lambda: t[0, 0, 0]),
        (ValueError, lambda: np.concatenate([t, u])),
        (ValueError, lambda: np.stack([t, u])),
    ]
    for k, (error, call) in enumerate(cases):
        with pytest.raises(error) as caught:
            call()
        text = str(caught.value) + "".join(getattr(caught.value, "__notes__", ()))
        assert f"test_tensor.py:{line + 5 + k}" in text
