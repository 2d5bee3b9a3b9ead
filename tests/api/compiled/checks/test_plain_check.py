"""`settings.check`: recordings and generated code are held against plain NumPy."""

import warnings

import numpy as np
import pytest

import tapec
from tapec import MismatchError
from tapec.api.compiled.programs.path_set import Program

CALLS = []


def takes_another_turn(x):
    y = np.sin(x)
    if isinstance(x, tapec.Tensor):
        y = y + 1.0
    z = y * 2.0
    return np.sum(z)


@pytest.fixture
def wrong_code(monkeypatch):
    """Generated code whose first output is off."""
    run = Program.run

    def off(program, values):
        first, *others = run(program, values)
        return (first + 1e-6, *others)

    monkeypatch.setattr(Program, "run", off)


@pytest.mark.parametrize("transform", [tapec.compile, tapec.grad, tapec.value_and_grad, tapec.jacobian, tapec.vmap])
def test_a_recording_that_differs(transform):
    x = np.ones((2, 3)) if transform is tapec.vmap else np.ones(3)
    f = transform(takes_another_turn)
    for _ in range(2):  # a failed call leaves nothing behind
        with pytest.raises(MismatchError) as e:
            f(x)
        assert "differs from plain NumPy: the result is 11.04" in str(e.value)
        assert "plain NumPy gives 5.04" in str(e.value)
        assert "part at test_plain_check.py:17 (if isinstance(x, tapec.Tensor):)" in str(e.value)
        assert 'settings(check="never")' in str(e.value)
    assert f.cache_info().size == 0


def test_never():
    f = tapec.compile(takes_another_turn)
    with tapec.settings(check="never"):
        assert np.isclose(f(np.ones(3)), 2 * 3 * (np.sin(1.0) + 1))
        assert "because settings.check is 'never'" in str(f.explain(np.ones(3)))


@pytest.mark.parametrize(
    "call",
    [
        lambda f, x: tapec.vjp(f, x),
        lambda f, x: tapec.jvp(f, (x,), (x,)),
        lambda f, x: tapec.linearize(f, x),
        lambda f, x: tapec.grad(lambda x: (np.sum(x), f(x)), has_aux=True)(x),
    ],
)
def test_generated_values_beside_derivatives(call, wrong_code):
    with pytest.raises(MismatchError, match=r"the generated code: the result"):
        call(lambda x: np.sum(np.sin(x)), np.ones(3))


@pytest.mark.parametrize("transform", [tapec.compile, tapec.value_and_grad])
def test_generated_code_that_differs(transform, wrong_code, monkeypatch):
    f = transform(lambda x: np.sum(np.sin(x)))
    for _ in range(2):
        with pytest.raises(
            MismatchError, match=r"the generated code: the result is 2\.52.*at test_plain_check\.py:\d+"
        ):
            f(np.ones(3))
    monkeypatch.undo()
    found = f(np.ones(3))
    assert np.isclose(found if transform is tapec.compile else found[0], 3 * np.sin(1.0))
    assert f.cache_info().compilations == 3


def test_a_new_path_is_compared_and_the_known_ones_stay(monkeypatch):
    f = tapec.compile(lambda x: np.sin(x) if np.sum(x) > 0 else np.cos(x))
    x = np.ones(2)
    f(x)
    run = Program.run
    wrong = lambda program, values: None if (r := run(program, values)) is None else (r[0] + 1, *r[1:])
    with monkeypatch.context() as patch:
        patch.setattr(Program, "run", wrong)
        with pytest.raises(MismatchError):
            f(-x)
    assert np.array_equal(f(x), np.sin(x))
    assert np.array_equal(f(-x), np.cos(-x))


def test_every_call(monkeypatch):
    f = tapec.compile(lambda x: np.sin(x) * 2.0)
    x = np.ones(3)
    for _ in range(3):
        f(x)
    run = Program.run
    with tapec.settings(check="every"):
        for _ in range(3):
            assert np.array_equal(f(x), np.sin(x) * 2.0)
        monkeypatch.setattr(Program, "run", lambda program, values: (run(program, values)[0] * 2,))
        with pytest.raises(MismatchError):
            f(x)
    assert np.array_equal(f(x), np.sin(x) * 2.0)


def test_rounding_passes(wrong_code):
    x = np.linspace(0.5, 1.0, 7)
    sensitive = tapec.compile(lambda x: np.sum(np.sin(1e11 * x)))  # a change in the last place changes it by 1e-5
    sensitive(x)
    with pytest.raises(MismatchError):
        tapec.compile(lambda x: np.sum(np.sin(x)))(x)


def test_plain_code_that_raises():
    def takes_tensors(x):
        return x * (2.0 if isinstance(x, tapec.Tensor) else {}["key"])

    with pytest.raises(MismatchError, match=r"plain NumPy raises KeyError .*tapec does not"):
        tapec.compile(takes_tensors)(1.0)


def test_functions_with_effects_run_once():
    count = 0

    def tells(x):
        nonlocal count
        count += 1
        return np.sin(x)

    f = tapec.compile(tells)
    f(np.ones(2))
    assert count == 1
    CALLS.clear()

    def remembers(x):
        CALLS.append(1)
        return np.sin(x)

    g = tapec.compile(remembers)
    g(np.ones(2))
    assert CALLS == [1]
    assert "not compared with plain NumPy, because" in str(g.explain(np.ones(2)))


def test_compared_functions_are_not_told_of():
    f = tapec.compile(lambda x: np.sin(x))
    f(1.0)
    explanation = f.explain(1.0)
    assert explanation.unchecked is None
    assert "plain NumPy" not in str(explanation)


def test_warnings_come_once():
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        with tapec.settings(check="never"):
            tapec.compile(lambda x: np.log(x))(np.array([-1.0]))
        before = len(told)
        tapec.compile(lambda x: np.log(x))(np.array([-1.0]))
    assert len(told) == 2 * before


def test_a_function_that_writes_into_its_argument():
    def own(x):
        x += 1.0
        return np.sum(x * x)

    x = np.ones(3)
    f = tapec.compile(own)
    with pytest.raises(tapec.InPlaceError):
        f(x)
    assert np.array_equal(x, np.ones(3))


def test_inside_of_another_function_it_is_checked_with_that():
    inner = tapec.value_and_grad(takes_another_turn)
    outer = tapec.compile(lambda x: inner(x)[0] * 2.0)
    with pytest.raises(MismatchError):
        outer(np.ones(3))
    good = tapec.grad(lambda x: np.sum(np.sin(x)))
    assert np.allclose(tapec.jacobian(lambda x: good(x) * x)(np.ones(2)), np.diag([np.cos(1) - np.sin(1)] * 2))


def test_on_a_tape():
    f = tapec.compile(takes_another_turn)
    x = tapec.constant(np.ones(3))
    with tapec.GradientTape() as tape:
        tape.watch(x)
        with pytest.raises(MismatchError):
            f(x)
        y = takes_another_turn(x)  # which is no compiled function
    assert tape.gradient(y, x).shape == (3,)


@pytest.mark.parametrize("transform", [tapec.grad, tapec.value_and_grad])
def test_every_gradient_is_held_against_differences(transform, monkeypatch):
    x, w = np.linspace(0.5, 2.0, 5), np.float32(1.5)
    f = transform(lambda x, w: np.sum(np.sin(x) * w) * np.prod(x), argnums=(0, 1))
    kink = transform(lambda x: np.sum(np.abs(x)))
    fast = transform(lambda x: np.sum(np.sin(1e6 * x)))
    stopped = transform(lambda x: np.sum(tapec.stop_gradient(x) * x))
    for check in ("first", "every", "every"):
        with tapec.settings(check=check):
            f(x, w), kink(np.zeros(3)), stopped(x), fast(x)
    run = Program.run
    monkeypatch.setattr(
        Program, "run", lambda program, values: (*(r := run(program, values))[:-2], r[-2] * 100.0, r[-1])
    )
    f(x, w)
    with tapec.settings(check="every"), pytest.raises(MismatchError, match="the gradient along a random direction is"):
        f(x, w)


def test_gradients_of_some_arguments_and_with_aux():
    def f(scale, params, *, offset):
        a, b = params["a"], params["b"]
        loss = np.sum((a * scale + b) ** 2) + offset
        return loss, {"a": a * 2.0, "n": 3}

    args = 2, {"a": np.array([1.0, 2.0]), "b": 1 + 2j * np.ones(2)}
    g = tapec.grad(lambda s, p, *, offset: (np.real(f(s, p, offset=offset)[0]), f(s, p, offset=offset)[1]), 1, True)
    with tapec.settings(check="every"):
        for _ in range(2):
            gradient, aux = g(*args, offset=1.0)
    assert gradient["b"].dtype == complex
    assert aux["n"] == 3


def test_loops_that_end_at_the_arguments_alone():
    def root(a):
        x = a
        while x * x != a:
            x = 0.5 * (x + a / x)
        return x

    with tapec.settings(check="every"):
        assert tapec.grad(root)(9.0) == pytest.approx(1 / 6)
