"""NumPy's functions and ufuncs on tensors: keywords, reduce and its kin, what has no op, bad input."""

import numpy as np
import pytest

import tapec
from tests.properties import calls, statements

rng = np.random.default_rng(7)
A, B = rng.random((2, 3, 4)) + 0.2


def plain(y):
    if isinstance(y, (tuple, list)):
        return tuple(map(plain, y))
    return y.numpy() if isinstance(y, tapec.Tensor) else y


def check(f, *arrays):
    """Values as NumPy's, and the gradient with respect to the first array by differences along a direction."""
    expected, tensors = f(*arrays), [tapec.constant(a) for a in arrays]
    with tapec.GradientTape() as tape:
        tape.watch(tensors)
        found = f(*tensors)
        several = isinstance(found, (tuple, list))
        total = sum(np.sum(np.sin(y)) for y in (found if several else [found]))
    for e, y in zip(expected if several else [expected], found if several else [found], strict=True):
        np.testing.assert_allclose(plain(y), e, rtol=1e-13)
        assert np.asarray(e).dtype == y.dtype and np.shape(e) == y.shape

    def value(t):
        y = f(arrays[0] + t * D, *arrays[1:])
        return sum(np.sum(np.sin(part)) for part in (y if several else [y]))

    D, h = np.cos(np.arange(arrays[0].size)).reshape(arrays[0].shape), 1e-5
    gradient = tape.gradient(total, tensors[0], unconnected_gradients="zero")
    assert np.sum(gradient.numpy() * D) == pytest.approx((value(h) - value(-h)) / (2 * h), rel=1e-5, abs=1e-6)


# -- reduce, accumulate, outer, reduceat ------------------------------------------------------------------------------
UFUNCS = [
    np.add,
    np.multiply,
    np.maximum,
    np.minimum,
    np.subtract,
    np.divide,
    np.logaddexp,
    np.hypot,
    np.fmax,
]


@pytest.mark.parametrize("axis", [0, 1, None])
@pytest.mark.parametrize("shape", [(40, 30), (3, 6), (6, 3)])
def test_logaddexp_of_many_is_one_sum(shape, axis):
    rng = np.random.default_rng(0)
    x = rng.normal(size=shape)
    w = rng.normal(size=np.max(x, axis=axis, keepdims=True).shape)

    def f(x):
        return np.sum(np.logaddexp.reduce(x, axis=axis, keepdims=True) * w)

    value, gradient = tapec.value_and_grad(f)(x)
    np.testing.assert_allclose(value, f(x), rtol=1e-13)
    share = np.exp(x - np.logaddexp.reduce(x, axis=axis, keepdims=True))
    np.testing.assert_allclose(gradient, share * w, rtol=1e-12)
    source = tapec.grad(f).source(x)
    assert len(statements(source)) < 19 and calls(source, "np.exp")


def test_logaddexp_of_infinities():
    x = np.full((3, 10), -np.inf)
    x[1, ::2], x[2, 0] = 1.0, np.inf
    with np.errstate(all="ignore"):
        gradient = tapec.grad(lambda x: np.sum(np.logaddexp.reduce(x, axis=1) * [0.0, 1.0, 2.0]))(x)
        wanted = np.logaddexp.reduce(x, axis=1)
        np.testing.assert_allclose(tapec.compile(lambda x: np.logaddexp.reduce(x, axis=1))(x), wanted)
    np.testing.assert_allclose(gradient, [[0.0] * 10, [0.2, 0.0] * 5, [2.0] + [0.0] * 9])


@pytest.mark.parametrize("ufunc", UFUNCS, ids=lambda u: u.__name__)
def test_methods_of_ufuncs(ufunc):
    check(lambda a, b: ufunc.reduce(a), A, B)
    check(lambda a, b: ufunc.reduce(a, axis=1, keepdims=True), A, B)
    check(lambda a, b: ufunc.reduce(a, -1, None, None, False, 0.5), A, B)
    check(lambda a, b: ufunc.accumulate(a, axis=1), A, B)
    check(lambda a, b: ufunc.outer(a[0], b), A, B)
    check(lambda a, b: ufunc.reduceat(a, [0, 2, 1], axis=1), A, B)


@pytest.mark.parametrize("ufunc", [np.add, np.multiply, np.maximum, np.hypot], ids=lambda u: u.__name__)
def test_reductions_over_several_axes_with_a_mask(ufunc):
    check(lambda a, b: ufunc.reduce(a, axis=None), A, B)
    check(lambda a, b: ufunc.reduce(a, axis=(0, 1)), A, B)
    check(lambda a, b: ufunc.reduce(a, axis=1, initial=0.3, where=b > 0.5), A, B)


def test_reductions_of_truth_values_and_integers():
    t = tapec.constant(A)
    for ufunc in (np.logical_and, np.logical_or, np.logical_xor, np.bitwise_or, np.bitwise_and):
        np.testing.assert_array_equal(plain(ufunc.reduce(t > 0.5, axis=1)), ufunc.reduce(A > 0.5, axis=1))
    assert plain(np.add.reduce(t > 0.5, axis=None)) == np.add.reduce(A > 0.5, axis=None)
    assert np.add.reduce(t > 0.5, dtype=float).dtype == float


def test_empty_reductions():
    empty = tapec.constant(np.zeros((0, 3)))
    np.testing.assert_array_equal(plain(np.add.reduce(empty)), np.zeros(3))
    np.testing.assert_array_equal(plain(np.hypot.reduce(empty)), np.zeros(3))
    for ufunc in (np.maximum, np.subtract, np.fmax):
        with pytest.raises(ValueError, match="identity"):
            ufunc.reduce(empty)
    with pytest.raises(ValueError, match="reorderable"):
        np.subtract.reduce(tapec.constant(A), axis=(0, 1))


def test_reduceat_out_of_bounds():
    with pytest.raises(IndexError, match="reduceat"):
        np.add.reduceat(tapec.constant(A[0]), [0, 9])


# -- keywords ---------------------------------------------------------------------------------------------------------
def test_where_of_a_ufunc():
    check(lambda a, b: np.log(a, where=b > 0.5, out=np.zeros_like(a)), A, B)
    check(lambda a, b: np.divide(a, b, out=np.copy(a), where=a > b), A, B)
    check(
        lambda a, b: np.sqrt(a, where=a > 0.5) * (a > 0.5) if isinstance(a, tapec.Tensor) else np.sqrt(a) * (a > 0.5),
        A,
        B,
    )


def test_masked_singularities_stay_out_of_the_gradient():
    x = tapec.constant([0.0, 4.0])
    with tapec.GradientTape() as outer:
        outer.watch(x)
        with tapec.GradientTape() as tape:
            tape.watch(x)
            with np.errstate(all="raise"):
                y = np.sum(
                    np.log(x, where=x > 0, out=np.zeros_like(x)) + np.divide(1.0, x, out=np.zeros_like(x), where=x > 0)
                )
        g = tape.gradient(y, x)
    np.testing.assert_allclose(g.numpy(), [0.0, 1 / 4 - 1 / 16])
    np.testing.assert_allclose(outer.gradient(g, x).numpy(), [0.0, -1 / 16 + 2 / 64])


def test_dtype_and_casting():
    check(lambda a, b: np.add(a, b, dtype=complex).real, A, B)
    t = tapec.constant(A)
    assert np.add(t, t, dtype=np.float32).dtype == np.float32
    assert np.add(t > 1, t > 1, dtype=float).dtype == float
    assert np.multiply(t, 2, casting="unsafe", dtype=int).dtype == np.multiply(A, 2, casting="unsafe", dtype=int).dtype
    assert np.add(t, 1, subok=True, order="C").dtype == float
    assert np.sin(t, signature="d->d").dtype == float
    assert np.add(t, np.arange(4), casting="unsafe").dtype == float
    np.testing.assert_array_equal(np.add(t, 1.0, dtype=object).numpy(), A + 1)
    np.testing.assert_array_equal(t.astype(object), A.astype(object))
    np.testing.assert_allclose(tapec.grad(lambda x: np.sum(x.astype(object) * B))(A), B)
    for dtype in (str, "M8[s]"):
        with pytest.raises(
            tapec.UnsupportedError, match=r"test_numpy_calls\.py:\d+: a tensor of dtype .*gradient. Fix"
        ):
            t.astype(dtype)
    with pytest.raises(TypeError, match="[Cc]ast"):
        np.add(t, 1, dtype=int)
    with pytest.raises(TypeError, match="keyword"):
        np.add(t, 1, colour="red")


def test_several_results():
    check(lambda a, b: np.divmod(a, b), A, B)
    check(lambda a, b: np.modf(a * 3), A, B)
    check(lambda a, b: divmod(a, 0.3), A, B)
    mantissa, exponent = np.frexp(tapec.constant(A))
    np.testing.assert_array_equal(plain(mantissa), np.frexp(A)[0])
    np.testing.assert_array_equal(plain(exponent), np.frexp(A)[1])


def test_generalized_ufuncs():
    check(lambda a, b: np.matmul(a, b, axes=[(0, 1), (1, 0), (0, 1)]), A, B)
    check(lambda a, b: np.matmul(a, b.T, out=np.zeros((3, 3), like=a)), A, B)
    check(lambda a, b: np.vecdot(a, b), A, B)
    check(lambda a, b: np.vecdot(a, b, axis=0), A, B)


def test_out_gives_back_what_was_given():
    t = tapec.constant(A)
    y, z = tapec.zeros(A.shape), tapec.zeros(A.shape)
    assert np.sin(t, out=y) is y and np.sin(t, y) is y
    found = np.divmod(t, 0.3, out=(y, z))
    assert found[0] is y and found[1] is z
    array = np.zeros(A.shape)
    assert np.sin(t, out=array) is array  # nothing records t
    np.testing.assert_array_equal(array, np.sin(A))
    assert np.sum(t, axis=0, out=array[0]) is not None
    np.testing.assert_array_equal(array[0], A.sum(axis=0))


# -- like= ------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "make",
    [
        lambda **like: np.zeros((2, 3), **like),
        lambda **like: np.ones(3, np.float32, **like),
        lambda **like: np.full((2,), 1.5, **like),
        lambda **like: np.full(2, 3, float, **like),
        lambda **like: np.eye(3, **like),
        lambda **like: np.identity(2, **like),
        lambda **like: np.arange(4, **like),
        lambda **like: np.arange(0, 1, 0.25, dtype=np.float32, **like),
        lambda **like: np.tri(3, **like),
        lambda **like: np.array([[1, 2]], **like),
        lambda **like: np.asarray([1.0, 2.0], dtype=np.float32, **like),
    ],
)
def test_like_makes_tensors(make):
    found, expected = make(like=tapec.constant(1.0)), make()
    assert type(found) is tapec.Tensor
    np.testing.assert_array_equal(found.numpy(), expected)
    assert found.dtype == expected.dtype and np.empty(3, like=found).shape == (3,)


def test_arrays_of_tensors_by_like():
    check(lambda a: np.array([[a[0], 1.0], [a[1], a[0] * a[1]]], like=a), A[0])


# -- only about shape -------------------------------------------------------------------------------------------------
def test_questions_about_shape_are_answered_plainly():
    t = tapec.constant(A)
    with tapec.GradientTape() as tape:
        tape.watch(t)
        assert np.shape(t) == (3, 4) and np.ndim(t) == 2 and np.size(t) == 12 and np.size(t, 1) == 4 and len(t) == 3
        assert type(np.size(t)) is int and type(np.shape(t)[0]) is int and type(np.ndim(t)) is int
        assert np.result_type(t, np.float32) is np.dtype(float) and np.can_cast(t.dtype, complex)
        assert np.iscomplexobj(t) is False and np.isrealobj(t) is True and np.isscalar(t) is False
        np.zeros(t.shape), np.arange(np.size(t))
        assert tape.log.records == []


# -- what has no op ---------------------------------------------------------------------------------------------------
def test_a_function_without_an_op_is_named_with_the_line():
    t = tapec.constant(A)
    line = test_a_function_without_an_op_is_named_with_the_line.__code__.co_firstlineno + 4
    with pytest.raises(tapec.UnsupportedError, match=rf"^test_numpy_calls.py:{line}: np.busday_count has no op.*Fix: "):
        np.busday_count(t, t)
    with pytest.raises(TypeError, match="np.busday_count"):  # and it is a TypeError
        np.busday_count(t, t)


def test_a_ufunc_without_an_op_is_named_with_the_line():
    t = tapec.constant(A)
    with pytest.raises((tapec.UnsupportedError, TypeError)) as caught:
        np.isnat(t)
    assert "isnat" in str(caught.value)


MEND = (
    "Fix: write it with functions that have one (`tapec support` lists them), make it an op of your own "
    "(docs/adding-an-op.md), or, on a tape, call it on `x.numpy()` where no gradient is meant to flow."
)


def test_what_is_to_do_without_an_op():
    """In a function there is no plain value to be had, so that the message sends nobody there for one."""
    from scipy.special import pro_cv

    for f in (lambda x: pro_cv(1, 2, x), lambda x: np.sum(np.busday_count(x, x))):
        with pytest.raises(tapec.UnsupportedError) as caught:
            tapec.grad(f)(0.3)
        assert str(caught.value).endswith(MEND)
    with pytest.raises(tapec.DetachError):
        tapec.grad(lambda x: x * pro_cv(1, 2, x.numpy()))(0.3)
    v = tapec.Variable(0.3)
    with tapec.GradientTape() as tape:
        y = v * pro_cv(1, 2, v.numpy())
    assert tape.gradient(y, v).numpy() == pro_cv(1, 2, 0.3)


def test_scipys_functions():
    from scipy import special

    check(lambda a, b: special.erf(a) * special.gammaln(b), A, B)
    with pytest.raises(tapec.UnsupportedError, match=r"test_numpy_calls.py:\d+: .*"):
        special.pro_cv(1, 2, tapec.constant(0.3))


def test_functions_of_python_on_each_element():
    double = np.frompyfunc(lambda a: a * a, 1, 1)
    check(lambda a: double(a).astype(float) if isinstance(a, np.ndarray) else np.array(double(a), like=a), A)


# -- bad input --------------------------------------------------------------------------------------------------------
OF_PYTHON_ITSELF = ("unsupported operand type(s)", "missing 1 required", "unexpected keyword")


@pytest.mark.parametrize(
    ("error", "call"),
    [
        (ValueError, lambda t: t + np.ones(7)),
        (ValueError, lambda t: np.where(t > 1, t, np.ones(7))),
        (ValueError, lambda t: np.einsum("ij,jk->ik", t, t)),
        (ValueError, lambda t: np.linalg.solve(t, t)),
        (np.exceptions.AxisError, lambda t: np.sum(t, axis=2)),
        (np.exceptions.AxisError, lambda t: t.max(axis=-3)),
        (np.exceptions.AxisError, lambda t: np.concatenate([t, t], axis=5)),
        ((np.exceptions.AxisError, OverflowError), lambda t: np.sum(t, axis=10**30)),
        ((IndexError, OverflowError), lambda t: t[10**30]),
        (ValueError, lambda t: np.sum(t, axis=(0, 0))),
        (ValueError, lambda t: t.reshape(5)),
        (ValueError, lambda t: t.transpose(0, 0)),
        (TypeError, lambda t: t + "text"),
        (TypeError, lambda t: np.add(t, "text")),
        (TypeError, lambda t: t * np.array(["a", "b", "c", "d"])),
        (TypeError, lambda t: t * np.array([1, None, 2, 3], object)),
        (TypeError, lambda t: t * np.array([object()] * 4)),
        (TypeError, lambda t: np.stack([t, np.array([["a"] * 4] * 3)])),
        (TypeError, lambda t: t + np.datetime64("2020-01-01")),
        (TypeError, lambda t: t & 1),
        (TypeError, lambda t: t << 2),
        (TypeError, lambda t: np.sum()),
        (TypeError, lambda t: np.sum(t, colour=1)),
        (IndexError, lambda t: t[0, 0, 0]),
        (IndexError, lambda t: t["name"]),
        (IndexError, lambda t: t[1.5]),
        (IndexError, lambda t: t[np.ones((2, 2), bool)]),
        (ValueError, lambda t: np.max(t[:0])),
        (ValueError, lambda t: np.argmax(t[:0])),
        (np.linalg.LinAlgError, lambda t: np.linalg.inv(t)),
    ],
)
def test_bad_input_is_an_error_and_changes_nothing(error, call):
    t = tapec.constant(A)
    with tapec.GradientTape() as tape:
        tape.watch(t)
        before = len(tape.log.records)
        with pytest.raises(error) as caught:
            call(t)
        text = str(caught.value) + "".join(getattr(caught.value, "__notes__", ()))
        assert "test_numpy_calls.py:" in text or any(words in text for words in OF_PYTHON_ITSELF)
        assert len(tape.log.records) <= before + 1
        y = np.sum(t * t)
    np.testing.assert_allclose(tape.gradient(y, t).numpy(), 2 * A)


def test_nan_inf_empty_and_0_d_are_values_like_others():
    x = tapec.constant([np.nan, np.inf, -np.inf, 0.0])
    with tapec.GradientTape() as tape:
        tape.watch(x)
        y = x * 2.0
    assert tape.gradient(y, x).tolist() == [2.0] * 4
    e = tapec.constant(np.zeros((0, 3)))
    with tapec.GradientTape() as tape:
        tape.watch(e)
        y = np.sum(e * e) + np.sum(e, axis=0) @ np.ones(3)
    assert tape.gradient(y, e).shape == (0, 3)
    s = tapec.constant(np.array(3.0))
    with tapec.GradientTape() as tape:
        tape.watch(s)
        y = np.stack([s, s]).sum() * s.reshape(1)[0]
    assert tape.gradient(y, s).numpy() == 12.0
