"""Numbers that come from sizes stand as sizes, read from the argument that has them whatever its shape is."""

import math

import numpy as np
import pytest

import tapec
from tapec.codegen.common.expressions import Expr
from tapec.codegen.common.number_texts import number_text
from tapec.ir import Type
from tapec.passes import tuning
from tests.properties import constants, count_of, has, loop_count, loops, names, reads, text

rng = np.random.default_rng(7)


def test_a_mean_over_all_elements_reads_its_size():
    def loss(w, x, y):
        return np.mean((np.tanh(x @ w) - y) ** 2)

    args = rng.normal(size=(3, 4)), rng.normal(size=(50, 3)), rng.normal(size=(50, 4))
    source = tapec.value_and_grad(loss).source(*args)
    assert has(source, "_ / y.size") and has(source, "2.0 / y.size")
    assert not {200, 0.01} & set(constants(source))


def test_sizes_are_read_where_they_come_from_however_many_are_equal():
    """The batch has as many rows as there are hidden units, and biases: x and the labels alone tell of it."""

    def loss(w, b, x, labels):
        z = x @ w + b
        z = z - np.max(z, axis=1, keepdims=True)
        return np.mean(np.log(np.sum(np.exp(z), axis=1)) - z[np.arange(len(labels)), labels])

    n = 16
    args = rng.normal(size=(n, n)), rng.normal(size=n), rng.normal(size=(n, n)), rng.integers(0, n, n)
    source = tapec.value_and_grad(loss).source(*args)
    assert has(source, "1.0 / len(labels)") and not has(source, "len(b)") and not has(source, "b.size")


def test_gradients_of_another_size_by_the_same_text():
    """What the text says holds for other sizes, too."""

    def loss(w, x, y):
        return np.mean((np.tanh(x @ w) - y) ** 2) + 0.01 * np.sum(w * w)

    def args(n):
        return rng.normal(size=3), rng.normal(size=(n, 3)), rng.normal(size=n)

    source = str(tapec.value_and_grad(loss).source(*args(120)))
    module: dict = {"np": np}
    exec(source, module)
    others = args(37)
    value, slope = module["loss_value_and_grad"](*others)
    wanted, wanted_slope = tapec.value_and_grad(loss)(*others)
    np.testing.assert_allclose(value, wanted)
    np.testing.assert_allclose(slope, wanted_slope)


def test_numbers_of_the_users_stay():
    """0.01 is the user's here, though there are a hundred values."""

    def loss(w, x):
        return np.mean(np.tanh(x * w)) + 0.005 * np.sum(w * w)

    source = tapec.grad(loss).source(rng.normal(size=100), rng.normal(size=100))
    assert 0.01 in constants(source)


@pytest.mark.parametrize("value", [0.25, 0.3])
def test_a_size_that_an_argument_does_not_have_is_a_number(value):
    found = number_text(value, "2.0 / size('x', 1)", {"x": ("x", Type((3, 8), float))})
    assert (type(found) is Expr) == (value == 0.25)
    assert number_text(value, "2.0 / size('y', 1)", {"x": ("x", Type((3, 8), float))}) == value
    assert number_text(value, "d_z", {}) == value


@pytest.mark.parametrize("value", ["inf", "-inf", "nan"])
def test_what_is_not_finite_is_a_number(value):
    number = float(value)
    assert number_text(number, f"{value} / size('x', 1)", {"x": ("x", Type((3, 8), float))}) is number


def test_a_bound_of_inf_that_is_divided_by_a_size():
    """SciPy's splines ask whether a mean is below inf."""

    def loss(x):
        return np.mean(x) if np.mean(x) < np.inf else 0.0

    x = rng.normal(size=50)
    np.testing.assert_allclose(tapec.grad(loss)(x), np.full(50, 1 / 50))


def test_signs_of_quotients_join_the_operator():
    def loss(x, labels):
        return -np.mean(x[np.arange(len(labels)), labels]) + np.mean(np.exp(x))

    source = tapec.grad(loss).source(rng.normal(size=(30, 40)), rng.integers(0, 40, 30))
    assert "+= -" not in text(source) and "+ -" not in text(source)


def test_a_number_that_happens_to_be_one_over_a_size_stays():
    """Of 1024 values 2.0**-10 is the user's in one program, and one over the size in the other."""

    def scaled(x):
        return 0.5 * (0.25 * (0.125 * (0.0625 * np.sum(np.sin(x)))))

    def both(x):
        return np.mean(x * x) + scaled(x)

    x = rng.normal(size=1024)
    assert not has(tapec.grad(scaled).source(x), "_ / len(x)") and 2.0**-10 in constants(tapec.grad(scaled).source(x))
    assert not has(tapec.grad(lambda x: np.sum(x**1024)).source(x), "len(x)")
    assert not has(tapec.grad(both).source(x), "np.cos(x) * (1.0 / len(x))")


def test_a_number_that_a_size_and_the_user_explain_is_the_size_where_it_comes_from_it():
    def loss(w, x, y):
        return np.mean(np.logaddexp(0.0, -y * (x @ w))) + 0.005 * np.sum(w * w)

    source = tapec.grad(loss).source(rng.normal(size=10), rng.normal(size=(200, 10)), rng.normal(size=200))
    assert has(source, "_ / len(y)") and 0.01 in constants(source) and 0.005 not in constants(source)


def test_where_other_sizes_would_give_another_program_numbers_have_no_names(monkeypatch):
    """The user divides by the size as a number of their own, which rules put together with that of the mean."""

    def loss(x):
        return np.mean(np.sin(x)) + np.sum(np.cos(x) / 64) + np.sum(x**64) * 0.0

    x = rng.normal(size=64)
    for most in (20_000, 1):
        monkeypatch.setattr(tuning, "SPELLED_MAX_NODES", most)
        source = tapec.value_and_grad(loss).source(x)
        assert not has(source, "x**x.size") and not has(source, "x**len(x)") and not has(source, "np.cos(x) / len(x)")
        module: dict = {"np": np}
        exec(source, module)
        (slope,) = module["loss_value_and_grad"](x)[1:]
        np.testing.assert_allclose(slope, np.cos(x) / 64 - np.sin(x) / 64, rtol=1e-12)


def test_numbers_in_loops_on_floats_keep_their_expressions():
    """The body of the loop is a graph of its own, which does not have the argument whose size it reads."""

    def filtered(q, y):
        p, s = 1.0, 0.0
        for t in range(len(y)):
            p = p * q + 0.1
            s = s + np.log(2 * np.pi * p) + (y[t] - p) ** 2 / len(y)
        return s

    y = rng.normal(size=60)
    source = tapec.value_and_grad(filtered).source(0.3, y)
    assert has(source, "2 * math.pi * p") and has(source, "_ / len(y)")
    assert 60 not in constants(source)


def test_numbers_on_floats_keep_their_expressions():
    def density(x, s):
        return -0.5 * x * x / s - 0.5 * np.log(2 * np.pi) * s

    gradient = tapec.value_and_grad(density)
    assert has(gradient.source(1.3, 0.7), "0.5 * math.log(2 * math.pi)")
    np.testing.assert_allclose(gradient(1.3, 0.7)[0], density(1.3, 0.7), rtol=1e-15)
    assert np.isnan(gradient(np.inf, np.inf)[0])


def test_sizes_of_local_arrays_are_those_of_arguments():
    def loss(w, x):
        t = np.tanh(x @ w)
        return np.var(np.sin(x)) / len(t) + np.sum(t * t) / t.size + np.sum(t[:2]) / x.shape[1]

    def args(n, d):
        return rng.normal(size=d), rng.normal(size=(n, d))

    source = str(tapec.value_and_grad(loss, argnums=(0, 1)).source(*args(37, 13)))
    assert not {37, 13, 481} & set(constants(source))
    module: dict = {"np": np, "math": math}
    exec(source, module)
    others = args(23, 5)
    value, slopes = tapec.value_and_grad(loss, argnums=(0, 1))(*others)
    found = module["loss_value_and_grad"](*others)
    for a, b in zip(found, (value, *slopes), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)


def test_a_variable_that_stands_for_other_things_too_tells_no_size():
    """No node says how long a list is."""

    def loss(x):
        t = [1.0] * 48
        shift = np.sum(x) / len(t)
        t = np.sin(x)
        return np.sum(t * shift)

    source = tapec.value_and_grad(loss).source(rng.normal(size=48))
    assert not has(source, "len(x)") and not has(source, "x.size")


def test_a_number_that_is_worked_out_more_than_once_gets_a_name():
    def scores(q, k):
        return np.sum(np.sin(q @ k.T * (1.0 / np.sqrt(q.shape[1]))))

    args = rng.normal(size=(40, 7)), rng.normal(size=(30, 7))
    source = tapec.value_and_grad(scores, argnums=(0, 1)).source(*args)
    assert count_of(source, "math.sqrt(q.shape[1])") == 1 and reads(source, "scale") > 1


def test_a_number_in_a_loop_on_floats_is_worked_out_before_it():
    def fitted(a, b, state, y):
        total = 0.0
        for k in range(len(y)):
            state = a * np.sin(state) + b
            total = total + (state - y[k]) ** 2
        return total / len(y)

    args = 0.8, 0.1, 1.0, rng.normal(size=60)
    source = tapec.value_and_grad(fitted, argnums=(0, 1, 2)).source(*args)
    assert loop_count(source) == 2
    for loop in loops(source):
        assert not has(loop, "_ / len(y)")


def test_a_name_for_a_number_is_none_of_the_users():
    def scores(q, k):
        scale = np.tanh(q @ k.T * (1.0 / np.sqrt(q.shape[1])))
        return np.sum(scale**2 * np.sin(scale))

    args = rng.normal(size=(40, 7)), rng.normal(size=(30, 7))
    derivative = tapec.value_and_grad(scores, argnums=(0, 1))
    assert {"scale", "scale2"} <= names(derivative.source(*args))
    np.testing.assert_allclose(derivative(*args)[0], scores(*args))
