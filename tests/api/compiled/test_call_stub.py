"""The generated code of a call: what it takes, what it hands on, and what is counted."""

import functools
import itertools
import pickle
import subprocess
import sys

import numpy as np
import pytest

import tapec
from tapec.api import tuning


def stubs(g):
    """Calls that generated code took."""
    return g._stub_hits


def test_keywords_and_defaults_have_stubs():
    @tapec.compile
    def f(x, scale=2.0, *, shift=None):
        return x * scale

    @tapec.compile
    def plain(x, scale=2.0):
        return x * scale

    assert f(3.0) == 6.0
    for n in range(3):  # what the first call is recorded for, the next one writes a stub for
        assert f(3.0, shift=None) == 6.0 and stubs(f) == n
    assert plain(3.0) == 6.0
    for n in range(3):  # a stub for each way to give them
        assert plain(3.0, 5.0) == 15.0 and plain(scale=4.0, x=2.0) == 8.0 and plain(2.0, scale=3.0) == 6.0
        assert plain(7.0) == 14.0 and plain(x=7.0) == 14.0 and stubs(plain) == 5 * n
    assert plain.cache_info()[:3] == (15, 1, 1)


def test_a_default_that_is_left_out_before_one_that_is_given():
    @tapec.compile
    def f(x, a=2.0, b=3.0):
        return x * a + b

    assert f(1.0, 1.0, 1.0) == 2.0
    assert f(1.0, b=0.0) == 2.0
    assert f(b=0.5, x=2.0) == 4.5
    assert f(2.0) == 7.0


def test_errors_are_those_of_the_function():
    @tapec.grad
    def loss(w, x):
        return w * x

    for _ in range(2):
        with pytest.raises(TypeError, match="x"):
            loss(1.0)
        with pytest.raises(TypeError, match="z"):
            loss(1.0, 2.0, z=2.0)
        with pytest.raises(TypeError):
            loss(1.0, 2.0, 3.0)
        assert loss(1.0, 2.0) == 2.0


def test_names_that_mean_something_in_generated_code():
    k = np.array([1.0, 2.0])

    def f(r, len, _x, type, np, k_):
        return (r * len + _x * type + np * k_) * k

    g = tapec.grad(lambda *a: f(*a).sum(), argnums=(0, 1, 2, 3, 4, 5))
    assert g(1.0, 2.0, 3.0, 4.0, 5.0, 6.0) == (6.0, 3.0, 12.0, 9.0, 18.0, 15.0)
    h = tapec.compile(f)
    for _ in range(3):
        np.testing.assert_array_equal(h(1.0, 2.0, 3.0, 4.0, 5.0, 6.0), [44.0, 88.0])
        np.testing.assert_array_equal(h(1.0, 2.0, 3.0, 4.0, 5.0, k_=6.0), [44.0, 88.0])


@pytest.mark.parametrize(
    "function",
    [
        lambda x, /, y: x * y,
        lambda x, y, /: x * y,
        lambda x, *more: x * more[0],
        lambda *both: both[0] * both[1],
        lambda x, y, *more: x * y,
        lambda x, y, **more: x * y,
        lambda *both, **more: both[0] * both[1],
        lambda x, y=1.0, *, z=1.0, **more: x * y * z,
        lambda x, y=1.0, *more, z=1.0: x * y * z,
    ],
)
def test_any_signature(function):
    f = tapec.compile(function)
    assert f(3.0, 4.0) == 12.0 and f(5.0, 6.0) == 30.0 and f(6.0, 7.0) == 42.0
    assert stubs(f) == 1
    assert f(np.ones(2), 2.0).tolist() == [2.0, 2.0] and f(7.0, 8.0) == 56.0
    assert stubs(f) == 2


def test_surplus_arguments_are_not_lost():
    f = tapec.compile(lambda x, *more, **named: x + sum(more) + sum(named.values()))
    assert [f(1.0), f(1.0, 2.0), f(1.0, 2.0, 3.0), f(1.0, y=4.0), f(1.0, 2.0, y=4.0)] == [1.0, 3.0, 6.0, 5.0, 7.0]
    assert [f(1.0), f(1.0, 2.0), f(1.0, 2.0, 3.0), f(1.0, y=4.0), f(1.0, 2.0, y=4.0)] == [1.0, 3.0, 6.0, 5.0, 7.0]
    assert f.cache_info()[:3] == (5, 5, 5)


def test_more_signatures_than_stubs():
    f = tapec.compile(lambda x: x.sum())
    for _ in range(3):
        assert [f(np.ones(n)) for n in range(1, 9)] == list(range(1, 9))
    assert f.cache_info()[:3] == (16, 8, 8)
    f.cache_clear()
    assert f.cache_info()[:3] == (0, 0, 0) and f(np.ones(3)) == 3.0 and f.cache_info()[:3] == (0, 1, 1)


def test_stubs_go_with_the_programs_that_have_grown():
    @tapec.compile
    def f(x):
        return x if x > 0 else -x

    assert [f(v) for v in (1.0, 2.0, 3.0)] == [1.0, 2.0, 3.0] and stubs(f) == 1
    assert [f(v) for v in (-1.0, 2.0, -3.0, 4.0)] == [1.0, 2.0, 3.0, 4.0] and stubs(f) == 3
    assert f.cache_info()[:3] == (5, 2, 2) and len(f._stubs[float,]) == 1


def test_one_key_for_calls_that_differ_in_what_their_types_do_not_tell():
    f = tapec.compile(lambda p, x: p["w"] * x)
    numbers, arrays = {"w": 2.0}, {"w": np.array([2.0, 3.0])}
    x = np.array([[1.0, 2.0], [3.0, 4.0]])
    for _ in range(4):
        for p, v in [(numbers, x), (arrays, x), (arrays, x.T)]:
            np.testing.assert_array_equal(f(p, v), p["w"] * v)
    assert len(f._stubs) == 1 and stubs(f) == 6 and f.cache_info()[:3] == (9, 3, 3)


def test_a_stub_is_written_once():
    """Calls whose stubs were dropped for newer ones are answered without them."""
    f = tapec.compile(lambda x, n: x * n, static_argnums=1)
    for _ in range(3):
        assert [f(2.0, n) for n in range(tuning.STUBS_MAX + 2)] == [2.0 * n for n in range(tuning.STUBS_MAX + 2)]
    (kept,) = f._stubs.values()
    assert len(kept) == tuning.STUBS_MAX and stubs(f) == tuning.STUBS_MAX


def test_settings_in_force_are_looked_at():
    f = tapec.compile(lambda x: np.log(x))
    assert f(1.0) == 0.0 and f(1.0) == 0.0
    with tapec.settings(check_nan=True), np.errstate(all="ignore"), pytest.raises(Exception, match="nan|inf|zero"):
        f(0.0)
    with np.errstate(all="ignore"):
        assert f(0.0) == -np.inf


def test_an_equal_number_of_another_type_is_another_fact():
    factor = 5000

    class Model:
        power = 2

    @tapec.compile
    def f(x):
        return x**Model.power * factor

    x = np.array([1, 2])
    assert [f(x).dtype.kind for _ in range(3)] == ["i"] * 3
    before = stubs(f)
    factor = int("5000")  # equal, and another object
    assert f(x).dtype.kind == "i" and stubs(f) == before + 1
    factor = 5000.0
    assert f(x).dtype.kind == "f"
    factor = 5000
    Model.power = 2.0
    assert f(x).dtype.kind == "f"


def test_a_function_that_is_traced_captures_what_is_captured_in_a_call():
    k = 2.0
    inner = tapec.compile(lambda x: x * k)
    assert inner(3.0) == 6.0 and inner(3.0) == 6.0
    outer = tapec.compile(lambda y: y * inner(3.0))
    assert outer(1.0) == 6.0
    k = 5.0
    assert outer(1.0) == 15.0 and inner(3.0) == 15.0


def test_functions_go_when_nobody_holds_them():
    import gc
    import weakref

    f = tapec.compile(lambda x: x * x)
    f(1.0)
    gone = weakref.ref(f)
    del f
    gc.collect()
    assert gone() is None


# -- when it is written -----------------------------------------------------------------------------------------------
def test_what_is_called_once_has_no_code_of_its_own():
    code = """if True:
        import sys
        import numpy as np
        import tapec

        f = tapec.grad(lambda x: np.sum(x * x))
        first = f(np.ones(3))
        assert f._stub_hits == 0
        for n in range(3):
            assert (f(np.ones(3)) == first).all() and f._stub_hits == n
    """
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr


def test_captured_state_that_is_another_when_it_is_written():
    """The code of a program is written for what it was compiled for, not for what is there by then."""
    weights = {"w": np.array([1.0, 2.0])}
    g = tapec.grad(lambda x: np.sum(x * x * weights["w"]))
    x = np.array([3.0, 5.0])
    for _ in range(2):
        for w in (np.array([1.0, 2.0]), np.array([1.0, 2.0], np.float32), np.array(2.0), np.array([[1.0], [2.0]])):
            weights["w"] = w
            slopes = 2.0 * x * w
            for _ in range(3):
                np.testing.assert_array_equal(g(x), slopes if slopes.ndim == 1 else slopes.sum(axis=0))
    assert g.cache_info().compilations == 4


def test_a_result_with_structure_is_the_same_before_and_after():
    @tapec.compile
    def f(x):
        return {"b": (x, [x * 2.0]), "a": None, "c": "text"}, x + 1.0

    results = [f(np.float64(3.0)) for _ in range(3)]
    assert results[0] == results[1] == results[2] == ({"b": (3.0, [6.0]), "a": None, "c": "text"}, 4.0)
    assert list(results[0][0]) == list(results[1][0]) == ["b", "a", "c"]


def test_tensors_as_first_and_later_arguments():
    g = tapec.grad(lambda x: x * x * x)
    for _ in range(3):
        with tapec.GradientTape() as tape:
            x = tapec.constant(2.0)
            tape.watch(x)
            y = g(x)
        assert y.numpy() == 12.0 and tape.gradient(y, x).numpy() == 12.0
    assert stubs(g) == 0
    assert g(2.0) == 12.0 and g(2.0) == 12.0


class Scaled:
    def method(self, x, w=2.0):
        return x * w

    def __call__(self, x, w=2.0):
        return x * w


def _own(x, w=2.0):
    return x * w


def _by_keyword(x, *, w=2.0):
    return x * w


def _maybe(x, w=None):
    return x if w is None else x * w


@pytest.mark.parametrize(
    ("f", "holder"),
    [
        (_own, _own),
        (_maybe, _maybe),
        (Scaled().method, Scaled.method),
        (Scaled(), Scaled.__call__),
        (functools.partial(_own), _own),
        (lambda x: _own(x), _own),
        (lambda x: Scaled().method(x), Scaled.method),
    ],
)
def test_defaults_put_anew_are_followed(f, holder):
    before = holder.__defaults__
    compiled = tapec.compile(f)
    try:
        for w in (2.0, 5.0, np.array([1.0, 2.0]), 3, 7.0):
            holder.__defaults__ = (w,)
            for _ in range(3):
                np.testing.assert_array_equal(compiled(3.0), 3.0 * w)
    finally:
        holder.__defaults__ = before


@pytest.mark.parametrize("f", [_by_keyword, lambda x: _by_keyword(x)])
def test_defaults_of_keywords_are_followed(f):
    slope = tapec.grad(f)
    for w in (2.0, 5.0, 3.0):
        _by_keyword.__kwdefaults__["w"] = w
        assert [slope(1.0) for _ in range(3)] == [w] * 3
    _by_keyword.__kwdefaults__ = {"w": 2.0}
    assert slope(1.0) == 2.0


def test_a_default_that_is_taken_away_is_missing():
    def f(x, w=2.0):
        return x * w

    compiled = tapec.compile(f)
    for _ in range(3):
        assert compiled(1.0) == 2.0
    f.__defaults__ = None
    with pytest.raises(TypeError, match="missing a required argument: 'w'"):
        compiled(1.0)
    assert compiled(1.0, 4.0) == 4.0


def test_the_stub_that_answered_last_takes_no_other_calls():
    """It is asked first, whatever the types of a call."""

    def f(x, y=2.0):
        return x * y

    ones = np.ones((2, 3))
    calls = [
        ((ones,), {}),
        ((np.ones(3),), {}),
        ((np.ones((2, 3), np.float32),), {}),
        ((np.ones((2, 3), ">f8"),), {}),
        ((np.ones((3, 2)).T,), {}),
        ((ones, ones), {}),
        ((ones, np.ones((2, 3))), {}),
        ((ones, 3), {}),
        ((ones, 3.0), {}),
        ((ones, np.float32(3.0)), {}),
        ((ones,), {"y": 3.0}),
        ((ones,), {"y": np.float32(3.0)}),
        ((), {"x": ones, "y": 3.0}),
        ((1.0,), {}),
        ((1,), {}),
        ((True,), {}),
        ((1j,), {}),
    ]
    compiled = tapec.compile(f)
    for args, kwargs in 3 * calls:
        compiled(*args, **kwargs)
    for first, second in itertools.product(calls, repeat=2):
        for args, kwargs in (first, second):
            found, expected = compiled(*args, **kwargs), np.asarray(f(*args, **kwargs))
            assert (np.shape(found), np.asarray(found).dtype) == (expected.shape, expected.dtype)
            np.testing.assert_array_equal(found, expected)
    for args, kwargs in [((), {}), ((ones, 1.0, 2.0), {}), ((ones,), {"z": 1.0}), ((ones,), {"x": ones})]:
        with pytest.raises(TypeError):
            compiled(*args, **kwargs)


def test_arrays_of_equal_dtypes_have_one_stub():
    """Arrays that were pickled have a dtype of their own."""
    f = tapec.compile(lambda p: p["x"] * 2.0)
    for k in range(4):
        f({"x": pickle.loads(pickle.dumps(np.ones(3)))})
        assert stubs(f) == max(0, k - 1)


def test_a_shared_stub_that_answered_last_on_a_tape():
    def scaled(by):
        return tapec.compile(lambda x: by * x)

    x = np.array([1.0, 2.0])
    functions = [scaled(by) for by in (2.0, 3.0, 4.0)]
    for f in functions:
        f(x), f(x)
    weights = tapec.Variable(x)
    for f, by in zip(functions, (2.0, 3.0, 4.0)):
        with tapec.GradientTape() as tape:
            value = f(x).sum() * f(weights).sum()
        np.testing.assert_allclose(tape.gradient(value, weights), by * x.sum() * by * np.ones(2))
    by = tapec.Variable(5.0)
    captured = scaled(by)
    for _ in range(3):
        with tapec.GradientTape() as tape:
            value = captured(x).sum()
        np.testing.assert_allclose(tape.gradient(value, by), 3.0)
