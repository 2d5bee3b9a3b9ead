"""`vmap` and `per_example_grad`: axes, structures, nesting, derivatives, and what is refused."""

from __future__ import annotations

import ast
from typing import Any

import numpy as np
import pytest

import tapec
from tests.properties import nodes

A = np.arange(12.0).reshape(4, 3)
W = np.array([0.5, -1.0, 2.0])


def test_axes() -> None:
    def f(x: Any, w: Any) -> Any:
        return np.tanh(x @ w)

    expected = np.tanh(A @ W)
    np.testing.assert_allclose(tapec.vmap(f, in_axes=(0, None))(A, W), expected)
    np.testing.assert_allclose(tapec.vmap(f, in_axes=(1, None))(A.T, W), expected)
    np.testing.assert_allclose(tapec.vmap(f, in_axes=(-1, None))(A.T, W), expected)
    np.testing.assert_allclose(tapec.vmap(f)(A, np.stack([W] * 4)), expected)


def test_out_axes() -> None:
    def f(x: Any) -> Any:
        return np.stack([x, 2 * x]), np.sum(W)

    whole, shared = tapec.vmap(f, out_axes=(-1, None))(A)
    assert whole.shape == (2, 3, 4) and shared == np.sum(W)
    np.testing.assert_array_equal(whole[1], 2 * A.T)
    _, repeated = tapec.vmap(f, out_axes=0)(A)
    np.testing.assert_array_equal(repeated, np.full(4, np.sum(W)))


def test_structures() -> None:
    def f(p: Any, q: Any) -> Any:
        return {"y": p["a"] * p["b"], "z": q[0]}

    p = {"a": A, "b": W}
    found = tapec.vmap(f, in_axes=({"a": 0, "b": None}, (1,)))(p, (A.T,))
    np.testing.assert_array_equal(found["y"], A * W)
    np.testing.assert_array_equal(found["z"], A)
    found = tapec.vmap(f, in_axes=(0, 0))({"a": A, "b": A}, (A,))  # an int stands for a whole structure
    np.testing.assert_array_equal(found["y"], A * A)


def test_keywords_are_mapped_along_their_first_axis() -> None:
    np.testing.assert_array_equal(tapec.vmap(lambda x, y: x + y)(A, y=A), 2 * A)


def test_nested() -> None:
    outer = tapec.vmap(tapec.vmap(lambda a, b: a * b, in_axes=(None, 0)), in_axes=(0, None))
    np.testing.assert_array_equal(outer(np.arange(3.0), np.arange(4.0)), np.outer(np.arange(3.0), np.arange(4.0)))


def test_with_derivatives() -> None:
    def f(x: Any) -> Any:
        return np.sum(np.sin(x) ** 2)

    np.testing.assert_allclose(tapec.vmap(tapec.grad(f))(A), np.sin(2 * A), rtol=1e-13)
    np.testing.assert_allclose(tapec.grad(lambda x: np.sum(tapec.vmap(f)(x)))(A), np.sin(2 * A), rtol=1e-13)
    hess = tapec.vmap(tapec.hessian(f))(A)
    np.testing.assert_allclose(hess, 2 * np.cos(2 * A)[:, :, None] * np.eye(3), rtol=1e-13, atol=1e-15)
    jac = tapec.jacobian(tapec.vmap(f))(A)
    assert jac.shape == (4, 4, 3)


def test_no_examples() -> None:
    assert tapec.vmap(lambda x: np.sum(x * 2))(np.zeros((0, 3))).shape == (0,)


def test_an_op_without_a_batch_rule_is_a_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    from tapec.ir import OPS

    monkeypatch.setattr(OPS["cumsum"], "batch", None)
    monkeypatch.setattr(OPS["cumsum"], "kind", "other")
    f = tapec.vmap(lambda x: np.cumsum(x) * 2.0)
    np.testing.assert_allclose(f(A), 2.0 * np.cumsum(A, axis=1))
    assert nodes(f.source(A), ast.For, ast.comprehension)
    assert "cumsum runs in a Python loop, once an example: it has no batching rule  test_vmap.py" in str(f.explain(A))
    g = tapec.grad(lambda x: np.sum(f(x) ** 2))(A)
    np.testing.assert_allclose(g, tapec.grad(lambda x: np.sum((2.0 * np.cumsum(x, axis=1)) ** 2))(A), rtol=1e-13)


def test_branches_on_what_is_shared() -> None:
    def f(x: Any, flag: Any) -> Any:
        return x if flag > 0 else -x

    g = tapec.vmap(f, in_axes=(0, None))
    np.testing.assert_array_equal(g(A, 1.0), A)
    np.testing.assert_array_equal(g(A, -1.0), -A)


# -- refused ----------------------------------------------------------------------------------------------------------
def test_branches_on_examples() -> None:
    def size(x: Any) -> Any:
        return x if x > 0 else -x

    for function in (size, tapec.grad(size), tapec.compile(lambda x: tapec.grad(size)(x))):
        place = rf"test_vmap.py:{size.__code__.co_firstlineno + 1}: vmap: the program depends on bool"
        with pytest.raises(tapec.UnsupportedError, match=place) as error:
            tapec.vmap(function)(W)
        assert "np.where" in str(error.value)


def test_random_draws() -> None:
    with pytest.raises(tapec.UnsupportedError, match="draws random numbers"):
        tapec.vmap(lambda x: x * np.random.rand())(W)


def test_values_of_integer_arrays() -> None:
    table = [1.0, 2.0, 3.0, 4.0]
    with pytest.raises(tapec.UnsupportedError, match="vmap"):
        tapec.vmap(lambda k: table[k])(np.arange(3))


@pytest.mark.parametrize("ravel", [np.ravel, tapec.compile(np.ravel, static_argnames="order")])
def test_values_of_integer_arrays_and_how_they_lie(ravel) -> None:
    places = np.array([[0, 1], [2, 3]])
    with pytest.raises(tapec.UnsupportedError, match="integer or boolean array"):
        tapec.vmap(lambda k, x: ravel(np.eye(4)[k.tolist()] * x, order="K"))(places, np.ones((2, 2, 4)))


def test_what_only_has_random_in_its_name() -> None:
    random_batches = iter([1.0, 2.0])
    with pytest.raises(tapec.UnsupportedError, match="takes from random_batches, which gives something else each time"):
        tapec.vmap(lambda x: x * next(random_batches))(np.ones(3))


def test_errors_that_the_function_catches() -> None:
    @tapec.vmap
    def f(a):
        try:
            return np.linalg.inv(a)
        except np.linalg.LinAlgError:
            return np.zeros_like(a)

    good = np.stack([np.eye(2), 2.0 * np.eye(2)])
    np.testing.assert_array_equal(f(good), np.linalg.inv(good))
    with pytest.raises(tapec.UnsupportedError, match="catches an error"):
        f(good * np.array([0.0, 1.0])[:, None, None])
    with pytest.raises(np.linalg.LinAlgError):
        f(good * np.array([1.0, 0.0])[:, None, None])


def test_sizes_that_differ() -> None:
    with pytest.raises(ValueError, match="the mapped axes differ in length: a has 4, b has 3"):
        tapec.vmap(lambda a, b: a * b)(A, W)


def test_axes_that_do_not_fit() -> None:
    with pytest.raises(np.exceptions.AxisError, match=r"vmap: axis 2 is out of bounds for x of shape \(4, 3\)"):
        tapec.vmap(lambda x: x, in_axes=2)(A)
    with pytest.raises(ValueError, match="x is a number and has no axis"):
        tapec.vmap(lambda x: x)(1.0)
    with pytest.raises(ValueError, match="in_axes has 2 entries for 1 arguments"):
        tapec.vmap(lambda x: x, in_axes=(0, 0))(A)
    with pytest.raises(ValueError, match="no argument is mapped"):
        tapec.vmap(lambda x: x, in_axes=None)(A)
    with pytest.raises(TypeError, match="an axis is an int or None"):
        tapec.vmap(lambda x: x, in_axes="0")(A)
    with pytest.raises(ValueError, match="does not have the structure"):
        tapec.vmap(lambda p: p["a"], in_axes=({"b": 0},))({"a": A})
    with pytest.raises(ValueError, match="out_axes is None for a result that differs"):
        tapec.vmap(lambda x: x, out_axes=None)(A)
    with pytest.raises(np.exceptions.AxisError):
        tapec.vmap(lambda x: x, out_axes=3)(A)


# -- per example ------------------------------------------------------------------------------------------------------
def loss(p: Any, x: Any, y: Any) -> Any:
    return np.sum((np.tanh(x @ p["w"] + p["b"]) - y) ** 2)


def test_per_example_grad() -> None:
    rng = np.random.default_rng(0)
    p = {"w": rng.standard_normal((3, 2)), "b": rng.standard_normal(2)}
    x, y = rng.standard_normal((5, 3)), rng.standard_normal((5, 2))
    each = tapec.per_example_grad(loss)
    found = each(p, x, y)
    for k in range(5):
        expected = tapec.grad(loss)(p, x[k], y[k])
        np.testing.assert_allclose(found["w"][k], expected["w"], rtol=1e-12)
        np.testing.assert_allclose(found["b"][k], expected["b"], rtol=1e-12)
    assert not nodes(each.source(p, x, y), ast.For, ast.comprehension)


def test_per_example_grad_takes_arguments_by_keyword() -> None:
    each = tapec.per_example_grad(lambda w, x, y=2.0, *, z=1.0: w * x * y * z)
    x, y = np.array([1.0, 4.0]), np.array([3.0, 5.0])
    np.testing.assert_array_equal(each(7.0, x=x), 2 * x)
    np.testing.assert_array_equal(each(7.0, x, y=y, z=y), x * y * y)
    assert each.source(7.0, y=y, x=x) == each.source(7.0, x, y)


def test_per_example_grad_by_other_arguments() -> None:
    found = tapec.per_example_grad(lambda a, b, x: a * b * x, argnums=(0, 1))(2.0, 3.0, np.array([1.0, 4.0]))
    np.testing.assert_array_equal(found[0], [3.0, 12.0])
    np.testing.assert_array_equal(found[1], [2.0, 8.0])
    found = tapec.per_example_grad(lambda a, x: a * x, in_axes=(0, None))(np.array([1.0, 2.0]), 3.0)
    np.testing.assert_array_equal(found, [3.0, 3.0])


# -- programs that depend on values for one example, and must not for many ---------------------------------------------
P, Q = np.arange(1.0, 9.0).reshape(2, 4), np.array([[1.0, 2.0], [3.0, 4.0]])
POLYNOMIALS = {
    "polymul": np.polymul,
    "by a constant": lambda p, q: np.polymul([0.0, 2.0, 1.0], p),
    "quotient": lambda p, q: np.polydiv(p, q)[0],
    "remainder": lambda p, q: np.polydiv(p, q)[1],
    "of no quotient": lambda p, q: np.polydiv(q, p)[1],
    "gradient inside": lambda p, q: tapec.grad(lambda p: np.sum(np.polymul(p, q) ** 2))(p),
    "gradient of a captured one": lambda p, q: tapec.grad(lambda c: np.sum(np.polymul(c, q) ** 2))(np.ones(2)),
    "jvp inside": lambda p, q: tapec.jvp(np.polymul, (p, q), (q @ q * p, q))[1],
}


@pytest.mark.parametrize("name", POLYNOMIALS)
def test_polynomials(name: str) -> None:
    f = POLYNOMIALS[name]
    expected = np.stack([f(p, q) for p, q in zip(P, Q, strict=True)])
    np.testing.assert_allclose(tapec.vmap(f)(P, Q), expected, atol=1e-12)
    each = tapec.vmap(tapec.grad(lambda p, q: np.sum(np.sin(f(p, q)))))(P, Q)
    loop = [tapec.grad(lambda p, q: np.sum(np.sin(f(p, q))))(p, q) for p, q in zip(P, Q, strict=True)]
    np.testing.assert_allclose(each, loop, atol=1e-12)


def test_leading_zeros_stay_where_examples_have_them() -> None:
    p = np.array([[0.0, 1.0, 2.0], [3.0, 1.0, 2.0]])
    multiply = tapec.compile(np.polymul)
    assert multiply(p[0], p[0]).tolist() == [1.0, 4.0, 4.0]
    found = tapec.vmap(np.polymul)(p, p)
    assert found.tolist() == [[0.0, 0.0, 1.0, 4.0, 4.0], [9.0, 6.0, 13.0, 4.0, 4.0]]
    squared = tapec.compile(lambda p: np.polymul(p, p))
    assert tapec.vmap(squared)(p).shape == (2, 5)
    assert squared(p[0]).tolist() == [1.0, 4.0, 4.0]  # the program made for a batch is not taken for one


PIECES = {
    "two": lambda x: np.piecewise(x, [x < 5, x >= 5], [lambda x: x * x, lambda x: np.sqrt(x - 5)]),
    "otherwise": lambda x: np.piecewise(x, [x < 5], [lambda x, k: x * k, 0.5], 2.0),
    "a number for all": lambda x: np.piecewise(x, [x < 5], [lambda x: 2.0, lambda x: 3 * x]),
}


@pytest.mark.parametrize("name", PIECES)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_piecewise(name: str) -> None:
    f = PIECES[name]
    np.testing.assert_allclose(tapec.vmap(f)(P), np.stack([f(p) for p in P]))
    gradient = tapec.grad(lambda x: np.sum(f(x * 1.01) ** 2))
    np.testing.assert_allclose(tapec.vmap(gradient)(P), np.stack([gradient(p) for p in P]))
    tangent = lambda x: tapec.jvp(lambda x: f(x * 1.01), (x,), (np.cos(x),))[1]
    np.testing.assert_allclose(tapec.vmap(tangent)(P), np.stack([tangent(p) for p in P]))


def test_piecewise_of_what_is_not_elementwise() -> None:
    with pytest.raises(tapec.UnsupportedError, match=r"test_vmap.py:\d+: under vmap np.piecewise .* np.where"):
        tapec.vmap(lambda x: np.piecewise(x, [x < 5], [lambda x: x - np.mean(x), np.sin]))(P)
