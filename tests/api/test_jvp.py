"""`jvp`, `linearize`, `custom_jvp`: values, structures, orders, errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tapec

X = np.array([0.3, -0.7, 1.1])
V = np.array([1.0, 2.0, -1.0])


def f(x: Any) -> Any:
    return np.sin(x) * np.sum(x)


def test_jvp() -> None:
    out, tangent = tapec.jvp(f, (X,), (V,))
    np.testing.assert_array_equal(out, f(X))
    np.testing.assert_allclose(tangent, np.cos(X) * V * np.sum(X) + np.sin(X) * np.sum(V), rtol=1e-14)


def test_structures() -> None:
    def g(p: Any, n: Any) -> Any:
        return {"y": p["a"] * p["b"], "n": n["k"]}, 2

    (out, two), (tangent, none) = tapec.jvp(
        g, ({"a": 2.0, "b": X}, {"k": 3, "z": 1.0}), ({"a": 1.0, "b": V}, {"k": None, "z": 0.0})
    )
    np.testing.assert_array_equal(out["y"], 2.0 * X)
    np.testing.assert_allclose(tangent["y"], X + 2.0 * V)
    assert out["n"] == 3 and two == 2 and tangent["n"] is None and none is None


def test_auxiliary_results() -> None:
    out, tangent, aux = tapec.jvp(lambda x: (x * x, "aux"), (3.0,), (1.0,), has_aux=True)
    assert (out, tangent, aux) == (9.0, 6.0, "aux")


def test_forward_over_reverse_over_forward() -> None:
    def g(x: Any) -> Any:
        return tapec.jvp(lambda y: y**4, (x,), (1.0,))[1]

    assert tapec.grad(g)(2.0) == 48.0
    assert tapec.jvp(tapec.grad(g), (2.0,), (1.0,)) == (48.0, 48.0)


def test_numpy_functions_and_methods() -> None:
    assert tapec.jvp(np.sin, (0.0,), (2.0,)) == (0.0, 2.0)

    class Model:
        def __init__(self) -> None:
            self.scale = 3.0

        def __call__(self, x: Any) -> Any:
            return self.scale * x * x

        def method(self, x: Any) -> Any:
            return self.scale * x

    model = Model()
    assert tapec.jvp(model, (2.0,), (1.0,))[1] == 12.0
    assert tapec.jvp(model.method, (2.0,), (1.0,))[1] == 3.0
    model.scale = 5.0
    assert tapec.jvp(model.method, (2.0,), (1.0,))[1] == 5.0


def test_errors_of_jvp() -> None:
    with pytest.raises(TypeError, match="two tuples"):
        tapec.jvp(f, X, V)
    with pytest.raises(ValueError, match="1 primals, but 2 tangents"):
        tapec.jvp(f, (X,), (V, V))
    with pytest.raises(ValueError, match=r"the direction of x has shape \(2,\); it must have shape \(3,\)"):
        tapec.jvp(f, (X,), (V[:2],))
    with pytest.raises(TypeError, match="has no gradient"):
        tapec.jvp(f, (np.arange(3),), (V,))
    with pytest.raises(TypeError, match="the direction of the real x is complex"):
        tapec.jvp(f, (X,), (V + 1j,))
    with pytest.raises(ValueError, match="must have the structure of its argument"):
        tapec.jvp(lambda p: p["a"], ({"a": 1.0},), (1.0,))


# -- linearize --------------------------------------------------------------------------------------------------------
def test_linearize() -> None:
    out, push = tapec.linearize(f, X)
    np.testing.assert_array_equal(out, f(X))
    for v in (V, 2 * V, np.zeros(3)):
        np.testing.assert_allclose(push(v), tapec.jvp(f, (X,), (v,))[1], rtol=1e-14)
    with pytest.raises(ValueError, match="must have shape"):
        push(V[:2])
    with pytest.raises(ValueError, match="structure of the arguments"):
        push(V, V)


def test_linearize_keeps_the_point() -> None:
    x = X.copy()
    _, push = tapec.linearize(f, x)
    before = push(V)
    x += 1.0
    np.testing.assert_array_equal(push(V), before)


def scaled(p: Any) -> Any:
    return p["w"] * p["b"], p["b"] ** 2


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex128])
def test_none_in_place_of_a_tangent_is_zero(dtype: Any) -> None:
    p = {"w": X.astype(dtype), "b": dtype(3.0)}
    _, push = tapec.linearize(scaled, p)
    _, pull = tapec.vjp(scaled, p)
    pushed = tapec.compile(lambda p, v: tapec.linearize(scaled, p)[1](v))
    pulled = tapec.compile(lambda p, ct: tapec.vjp(scaled, p)[1](ct))
    none, zeros = {"w": None, "b": None}, {"w": np.zeros(3, dtype), "b": dtype(0)}
    for name in p:
        given = {**none, name: p[name]}
        wanted = push({**zeros, name: p[name]})
        for found in (push(given), tapec.jvp(scaled, (p,), (given,))[1], pushed(p, given)):
            for one, other in zip(found, wanted, strict=True):
                np.testing.assert_array_equal(one, other, strict=True)
    for given, full in (((p["w"], None), (p["w"], dtype(0))), ((None, p["b"]), (zeros["w"], p["b"]))):
        wanted = pull(full)
        for found in (pull(given), pulled(p, given)):
            for name in p:
                np.testing.assert_array_equal(found[name], wanted[name], strict=True)
    several = tapec.vmap(lambda x: tapec.vjp(np.sin, x)[1](None))
    np.testing.assert_array_equal(several(X), np.zeros(3))


@pytest.mark.parametrize("make", [lambda f, x: tapec.linearize(f, x)[1], lambda f, x: tapec.vjp(f, x)[1]])
def test_complex_tangents_of_real_numbers_are_errors(make: Any) -> None:
    traced = tapec.compile(lambda x, v: make(np.sin, x)(v))
    for x, v in ((X, V + 1j), (X, V + 0j), (2.0, 1j), (np.float32(2.0), np.complex64(1j))):
        for call in (traced, lambda x, v: make(np.sin, x)(v)):
            with pytest.raises(TypeError, match="of real numbers is complex. Fix: take its real part"):
                call(x, v)
        np.testing.assert_array_equal(make(np.sin, x + 0j)(v), np.cos(x + 0j) * v)


# -- custom rules -----------------------------------------------------------------------------------------------------
@tapec.custom_jvp
def softplus(x: Any) -> Any:
    return np.log1p(np.exp(x))


@softplus.defjvp
def _softplus_rule(primals: Any, tangents: Any) -> Any:
    (x,), (dx,) = primals, tangents
    return softplus(x), 3.0 * dx / (1 + np.exp(-x))  # three times too much: to be seen


def slope(x: Any) -> Any:
    return 3.0 / (1 + np.exp(-x))


def test_a_rule_serves_both_modes_and_every_order() -> None:
    assert softplus(0.0) == np.log(2.0)
    np.testing.assert_allclose(tapec.jvp(softplus, (X,), (V,))[1], slope(X) * V, rtol=1e-14)
    np.testing.assert_allclose(tapec.grad(lambda x: np.sum(softplus(x)))(X), slope(X), rtol=1e-14)
    second = slope(X) * (1 - slope(X) / 3)
    np.testing.assert_allclose(tapec.hessian(lambda x: np.sum(softplus(x)))(X), np.diag(second), rtol=1e-13)
    np.testing.assert_allclose(tapec.vmap(tapec.grad(softplus))(X), slope(X), rtol=1e-14)
    np.testing.assert_allclose(tapec.grad(lambda x: np.sum(tapec.vmap(softplus)(x)))(X), slope(X), rtol=1e-14)


def test_a_rule_on_a_tape() -> None:
    x = tapec.constant(X)
    with tapec.GradientTape() as outer:
        outer.watch(x)
        with tapec.GradientTape() as inner:
            inner.watch(x)
            y = softplus(x)
        first = inner.gradient(y, x)
    np.testing.assert_allclose(first.numpy(), slope(X), rtol=1e-14)
    np.testing.assert_allclose(outer.gradient(first, x).numpy(), slope(X) * (1 - slope(X) / 3), rtol=1e-13)


def test_a_rule_of_several_arguments_and_results() -> None:
    @tapec.custom_jvp
    def power(a: Any, b: Any, n: int) -> Any:
        return {"p": a * b, "q": b**n}

    @power.defjvp
    def rule(primals: Any, tangents: Any) -> Any:
        (a, b, n), (da, db, dn) = primals, tangents
        assert dn is None
        return power(a, b, n), {"p": 10.0 * (da * b + a * db), "q": n * b ** (n - 1) * db}

    for transform in (tapec.jacrev, tapec.jacfwd):
        found = transform(lambda a, b: power(a, b, 2), argnums=(0, 1))(2.0, 3.0)
        assert found == {"p": (30.0, 20.0), "q": (0.0, 6.0)}


def test_errors_of_custom_rules() -> None:
    @tapec.custom_jvp
    def g(x: Any) -> Any:
        return x * x

    with pytest.raises(TypeError, match="g has no rule yet. Fix: define one with @g.defjvp"):
        g(1.0)
    g.defjvp(lambda primals, tangents: (g(*primals), tangents[0] ** 2))
    with pytest.raises(TypeError, match="must be linear in the tangents"):
        tapec.grad(g)(1.0)
    g.defjvp(lambda primals, tangents: g(*primals))
    with pytest.raises(TypeError, match="returns a pair"):
        tapec.grad(g)(1.0)


def test_defaults_stand_still() -> None:
    def g(x: Any, scale: float = 3.0) -> Any:
        return scale * x * x

    out, pullback = tapec.vjp(g, 2.0)
    assert (out, pullback(1.0)) == (12.0, 12.0)
    assert tapec.jvp(g, (2.0,), (1.0,)) == (12.0, 12.0)
    assert tapec.linearize(g, 2.0)[1](1.0) == 12.0
    assert tapec.vjp(g, 2.0, 1.0)[1](1.0) == (4.0, 4.0)
    assert tapec.vjp(np.sum, X)[1](1.0).tolist() == [1.0, 1.0, 1.0]
    np.testing.assert_array_equal(tapec.vmap(np.sin)(X), np.sin(X))
    np.testing.assert_array_equal(tapec.jacobian(np.sum)(X), np.ones(3))


@pytest.mark.parametrize("is_keyword", [False, True])
@pytest.mark.parametrize(
    "slope",
    [
        lambda f, x: tapec.jvp(f, (x,), (np.ones(3),))[1],
        lambda f, x: np.sum(tapec.vjp(f, x)[1](1.0)),
        lambda f, x: np.sum(tapec.hvp(f)(x, np.ones(3))) / 2,
        lambda f, x: tapec.linearize(f, x)[1](np.ones(3)),
    ],
    ids=["jvp", "vjp", "hvp", "linearize"],
)
@pytest.mark.filterwarnings("error")
def test_a_default_that_is_an_array_is_read_at_each_call(slope: Any, is_keyword: bool) -> None:
    default = np.ones(3)
    if is_keyword:

        def f(x: Any, *, w: Any = default) -> Any:
            return np.sum(x * x * w)
    else:

        def f(x: Any, w: Any = default) -> Any:  # type: ignore[misc]
            return np.sum(x * x * w)

    x = np.full(3, 0.5)
    assert slope(f, x) == 3.0
    for w in (2.0, 3.0):
        default[:] = w
        assert slope(f, x) == 3.0 * w
    for w in (5.0, 7.0):
        f.__defaults__, f.__kwdefaults__ = ((), {"w": np.full(3, w)}) if is_keyword else ((np.full(3, w),), {})  # type: ignore[assignment]
        assert slope(f, x) == 3.0 * w
