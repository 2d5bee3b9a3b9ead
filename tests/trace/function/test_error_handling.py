"""`np.errstate` in a function: later calls warn of nothing that the function silences, and raise what it asks for."""

import warnings

import numpy as np
import pytest

import tapec
from tests.properties import has, on_floats


def logarithms(x):
    with np.errstate(divide="ignore"):
        return np.where(x > 0, np.log(x), 0.0)


def entropy(x):
    return np.sum(x * logarithms(x))


def strict(x):
    with np.errstate(all="raise"):
        return np.sum(np.log(x))


@pytest.fixture(params=[3, 1000, 200_000], ids=["floats", "arrays", "blocks"])
def x(request):
    return np.linspace(0.0, 1.0, request.param)


def test_what_is_silenced_stays_so(x):
    value, gradient = tapec.compile(entropy), tapec.grad(entropy)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(3):
            np.testing.assert_allclose(value(x), entropy(x), rtol=1e-12)
            np.testing.assert_allclose(gradient(x)[1:], np.log(x[1:]) + 1.0, rtol=1e-12)
    source = gradient.source(x)
    assert on_floats(source) or has(source, "np.errstate(divide='ignore', invalid='ignore')")


def test_what_is_looked_at_later_is_silenced_too(x):
    def f(x):
        y = logarithms(x)
        return np.sum(y * x if np.sum(y) < 0.0 else y)

    with np.errstate(divide="raise"):
        np.testing.assert_allclose(tapec.compile(f)(x), f(x), rtol=1e-12)


def test_all_kinds(x):
    def f(x):
        with np.errstate(all="ignore"):
            return np.exp(x * 1000.0) / np.exp(x * 1000.0)

    value = tapec.compile(f)
    with np.errstate(all="raise"):
        for _ in range(2):
            np.testing.assert_array_equal(value(x), f(x))
    source = value.source(x)
    assert on_floats(source) or has(source, "np.errstate(all='ignore')")


def test_warnings_that_are_caught(x):
    def f(x):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return np.exp(x * 1000.0) / np.exp(x * 1000.0)

    value = tapec.compile(f)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(2):
            np.testing.assert_array_equal(value(x), f(x))


def warned(x):
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        return np.sum(np.log(x))


def test_what_is_not_spelled_out_is_asked_at_each_call(x):
    mode = {"divide": "ignore"}

    def f(x):
        with np.errstate(**mode):
            return np.log(x)

    value = tapec.compile(f)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(2):
            np.testing.assert_allclose(value(x)[1:], np.log(x[1:]), rtol=1e-12)
    mode["divide"] = "raise"
    with pytest.raises(FloatingPointError, match="divide by zero"):
        value(x)


@pytest.mark.parametrize("f, kind", [(strict, FloatingPointError), (warned, RuntimeWarning)])
def test_what_is_asked_for_is_raised_at_each_call(f, kind, x):
    gradient = tapec.grad(f)
    for _ in range(2):
        np.testing.assert_allclose(gradient(x + 1.0), 1.0 / (x + 1.0), rtol=1e-12)
        with pytest.raises(kind, match="divide by zero encountered in log"):
            gradient(x)


@np.errstate(all="ignore")
def decorated(x):
    return np.exp(x * 1000.0) / x


def calls_decorated(x):
    return decorated(x) + 1.0


def sets_state(x):
    before = np.seterr(over="ignore")
    try:
        return np.exp(x * 1000.0)
    finally:
        np.seterr(**before)


def ignores_one_message(x):
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="divide by zero")
        y = np.log(x)
    return y * np.exp(x * 1000.0)


def ignores_messages_of_another_operation(x):
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="divide by zero encountered in log10")
        return np.log(x)


def ignores_another_category(x):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return np.log(x)


def asks_for_warnings(x):
    with np.errstate(all="warn"):
        return np.log(x)


def asks_within_what_it_ignores(x):
    with np.errstate(all="ignore"):
        y = np.exp(x * 1000.0)
        with np.errstate(divide="raise"):
            return y, np.log(x)


def computes_nothing_there(x):
    with np.errstate(all="raise"):
        pass
    return np.log(x)


def on_one_path(x):
    if x[-1] > 1.5:
        return np.log(x)
    with np.errstate(divide="ignore"):
        return np.log(x)


STATES = {
    "usual": {},
    "raising": {"all": "raise"},
    "ignoring": {"all": "ignore"},
    "warning": {"all": "warn"},
    "raising some": {"over": "raise"},
    "ignoring some": {"divide": "ignore"},
}
FUNCTIONS = [logarithms, entropy, strict, warned, decorated, calls_decorated, sets_state, ignores_one_message]
FUNCTIONS += [ignores_messages_of_another_operation, ignores_another_category]
FUNCTIONS += [asks_within_what_it_ignores, computes_nothing_there]
FOR_MILD_CALLERS = [
    asks_for_warnings,  # which cannot be told from what NumPy does by itself
    on_one_path,  # code is silent as a whole
]
CALLERS = [(f, "always", [name for name in STATES if "raising" not in name]) for f in FOR_MILD_CALLERS]
CALLERS += [(f, action, [*STATES]) for f in FUNCTIONS for action in ("always", "error")]


def outcome(f, x, state, action):
    """What it gives or raises, and what is heard of it: one word for each kind of warning."""
    with np.errstate(**state), warnings.catch_warnings(record=True) as heard:
        warnings.resetwarnings()
        warnings.simplefilter(action)
        try:
            found = f(x)
        except (FloatingPointError, RuntimeWarning) as error:
            found = type(error)
    return found, {str(w.message).partition(" ")[0] for w in heard}


@pytest.mark.parametrize(
    ("f", "action", "first", "states"),
    [(f, action, first, states) for f, action, states in CALLERS for first in states],
    ids=lambda case: getattr(case, "__name__", str(case).partition(",")[0]),
)
def test_errors_are_those_of_plain_python_whoever_calls(f, action, first, states):
    """A function that is compiled in one state of its caller, and called in others."""
    value = tapec.compile(f)
    for k, name in enumerate([first, first, *states, *states]):
        x = np.array([0.0, 0.5, 1.0 + k % 2])
        expected, told = outcome(f, x, STATES[name], action)
        found, heard = outcome(value, x, STATES[name], action)
        if isinstance(expected, type):
            assert found is expected, name
        else:
            assert not isinstance(found, type), name
            for a, b in zip(np.atleast_1d(found), np.atleast_1d(expected), strict=True):
                np.testing.assert_allclose(a, b, rtol=1e-12)
        assert heard <= told, name


def test_handlers_of_errors_are_called_at_each_call():
    heard = []

    def f(x):
        with np.errstate(divide="call", call=lambda kind, _: heard.append(kind)):
            return np.log(x)

    value = tapec.compile(f)
    for calls in range(1, 4):
        value(np.zeros(2))
        assert heard == ["divide by zero"] * calls


def test_what_a_compiled_function_ignores_its_callers_ignore():
    inner = tapec.compile(logarithms)
    outer = tapec.grad(lambda x: np.sum(inner(x) * x))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(3):
            outer(np.array([0.0, 1.0]))
    assert has(outer.source(np.ones(40)), "np.errstate(all='ignore')")


def test_explain_tells_who_asks_for_errors():
    value = tapec.compile(strict)
    because = "because it tells NumPy what to do about floating point errors (divide='raise', its caller 'warn')"
    assert because in str(value.explain(np.ones(2)))


def test_others_warn_as_ever():
    f = tapec.compile(lambda x: np.log(x))
    for _ in range(2):
        with pytest.warns(RuntimeWarning, match="divide by zero"):
            f(np.zeros(100))
