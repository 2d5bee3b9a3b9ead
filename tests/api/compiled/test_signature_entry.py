"""The states of a signature: each, how it is entered and left, and what `explain` says of it."""

import numpy as np
import pytest

import tapec
from tapec.api.compiled.signature_entry import State
from tapec.log_gradients import tuning
from tests.properties import called, functions, has


def state(f):
    (entry,) = f._cache.entries.values()
    return entry.state, entry.reason


def drawing_while(draws):
    """A function that draws a random number while a list holds something."""
    random = np.random.default_rng(0)
    return lambda x: x * (random.normal() if draws else 2.0)


def test_compiled():
    f = tapec.grad(lambda x: x * x if x > 0 else -x)
    assert f(2.0) == 4.0 and state(f) == (State.COMPILED, None)
    assert f(-2.0) == -1.0 and state(f) == (State.COMPILED, None)
    assert "recorded anew" not in str(f.explain(2.0))


def test_why_a_call_in_a_batch_is_compiled():
    f = tapec.compile(lambda x, y: x * y)
    x, y = np.ones(3), np.float64(2.0)
    assert tapec.vmap(lambda *args: f(*args), in_axes=(0, None))(x, y).tolist() == [2.0] * 3
    assert tapec.vmap(lambda *args: f(*args))(x, x).tolist() == [1.0] * 3
    assert f._why == "other arguments of it are examples of a batch"
    with tapec.settings(fast_math=True):
        assert tapec.vmap(lambda *args: f(*args))(x, x).tolist() == [1.0] * 3
    assert f._why == "the settings are others"


def test_single_use_until_a_run_gives_a_program():
    class Counted:
        first = True

    def f(x):
        if Counted.first:
            Counted.first = False
        return x * 2.0

    g = tapec.grad(f)
    assert g(1.0) == 2.0
    now, reason = state(g)
    assert now is State.SINGLE_USE and "changes" in reason and "first" in reason
    assert g(1.0) == 2.0 and state(g) == (State.COMPILED, None)


def test_retraced_for_good():
    draws = [True]
    g = tapec.grad(drawing_while(draws))
    assert g(1.0) != g(1.0)
    now, reason = state(g)
    assert now is State.RETRACED and "random" in reason
    assert f"  recorded anew at each call, because {reason}" in str(g.explain(1.0)).splitlines()
    draws.clear()
    assert g(1.0) == 2.0 and state(g) == (State.RETRACED, reason)


def test_op_by_op_until_a_run_comes_again():
    def f(x, n):
        for k in range(n):
            x = np.sin(x) * (k + 1.0)
        return np.sum(x)

    g = tapec.grad(f, static_argnums=1)
    x = np.ones(2)
    for n in range(1, tuning.NEW_IN_A_ROW + 3):
        assert g(x, n).shape == (2,)
    *_, before, last = g._cache.entries.values()
    assert before.state is last.state is State.OP_BY_OP and not last.programs
    expected = g(x, tuning.NEW_IN_A_ROW + 2)
    assert last.state is State.COMPILED and last.programs
    np.testing.assert_allclose(g(x, tuning.NEW_IN_A_ROW + 2), expected)
    assert "f_grad" in functions(g.source(x, tuning.NEW_IN_A_ROW + 1)) and before.state is State.COMPILED


def test_refused_is_forgotten_unless_something_is_known():
    draws = [True]
    g = tapec.vmap(drawing_while(draws))
    x = np.ones(3)
    with pytest.raises(tapec.UnsupportedError, match="draws random"):
        g(x)
    assert g.cache_info().size == 0
    draws.clear()
    assert g(x).tolist() == [2.0] * 3 and state(g) == (State.COMPILED, None)
    draws.append(True)
    with pytest.raises(tapec.UnsupportedError, match="draws random"):
        g(x)
    now, reason = state(g)
    assert now is State.REFUSED and "random" in reason
    draws.clear()
    assert g(x).tolist() == [2.0] * 3


def test_code_is_shown_of_the_last_run_where_another_would_change_something():
    random = np.random.default_rng(0)

    def f(x):
        y = x * random.normal()
        return np.sin(y) if x > 0 else np.cos(y)

    g = tapec.compile(f)
    for x, name in (1.0, "math.sin"), (-1.0, "math.cos"), (1.0, "math.sin"):
        g(x)
        before = random.bit_generator.state
        assert called(g.source(x)) & {"math.sin", "math.cos"} == {name}
        assert random.bit_generator.state == before
    assert state(g)[0] is State.RETRACED


def test_code_is_shown_where_the_function_catches_what_known_code_raises():
    def f(x):
        try:
            return x / (x - 1.0)
        except ZeroDivisionError:
            return x * 10.0

    g = tapec.compile(f)
    assert g(3.0) == 1.5 and g(1.0) == 10.0
    assert has(g.source(1.0), "x * 10.0") and has(g.source(3.0), "x / (x - 1.0)")
    assert "recorded anew at each call, because it catches an error" in str(g.explain(1.0))
    with pytest.raises(tapec.TapecError, match="cannot be exported: it catches an error"):
        g.export("nowhere.py", 1.0)
    with pytest.raises(ZeroDivisionError):
        tapec.compile(lambda x: x / (x - 1.0)).source(1.0)
