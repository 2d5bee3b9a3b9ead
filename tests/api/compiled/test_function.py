"""Compiled functions: values, structures, signatures."""

import functools
import inspect
import pydoc
import threading
from collections import namedtuple
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import tapec
from tests.ops.derivatives import differences
from tests.properties import called, functions, parameters


def rosenbrock(x):
    """A valley."""
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


@pytest.fixture
def x(rng):
    return rng.normal(size=10)


def test_value_and_gradient_agree_with_differences(x):
    value, gradient = tapec.value_and_grad(rosenbrock)(x)
    assert value == pytest.approx(rosenbrock(x), rel=1e-14)
    np.testing.assert_allclose(gradient, differences(rosenbrock, x), rtol=1e-6, atol=1e-4)


def test_decorators_with_and_without_arguments(x):
    @tapec.grad
    def plain(x):
        return np.sum(x * x)

    @tapec.grad(argnums=1)
    def second(a, x):
        return np.sum(a * x * x)

    np.testing.assert_allclose(plain(x), 2 * x)
    np.testing.assert_allclose(second(3.0, x), 6 * x)


def test_wrapped_keeps_name_docstring_and_signature():
    g = tapec.grad(rosenbrock)
    assert g.__name__ == "rosenbrock"
    assert g.__doc__.startswith("A valley.\n\ntapec runs it as generated code.")
    assert str(inspect.signature(g)) == "(x)"


METHODS = ("source", "explain", "ir", "export", "cache_info", "cache_clear")


@pytest.mark.parametrize("transform", [tapec.grad, tapec.hvp, tapec.sparsity, lambda f: tapec.grad(tapec.grad(f))])
def test_help_names_the_methods(transform):
    g = transform(rosenbrock)
    text = pydoc.render_doc(g, renderer=pydoc.plaintext)
    assert "A valley." in text and text.count("tapec runs it") == 1
    assert all(f"- {name}: " in text for name in METHODS)
    assert "A valley." not in (type(g).__doc__ or "")


TRANSFORMS = (tapec.compile, tapec.grad, tapec.jacobian, tapec.hvp, tapec.sparsity, tapec.custom_jvp, tapec.checkpoint)


@pytest.mark.parametrize("transform", TRANSFORMS)
def test_wrapped_keeps_attributes_of_functions_alone(transform):
    def f(x):
        return x * x

    class Callable:
        """Calls."""

        def __init__(self):
            self._function = self._transform = None

        __call__ = staticmethod(f)

    f.example_args = (1.0,)
    assert transform(f).example_args == (1.0,)
    assert transform(f).__wrapped__ is f
    assert transform(Callable()).__doc__.split("\n")[0] == "Calls."
    assert transform(transform(f)).__wrapped__.__wrapped__ is f


def test_a_wrapper_has_derivatives_of_its_own():
    def f(x):
        return x * x

    assert tapec.vjp(f, 3.0)[0] == tapec.jvp(f, (3.0,), (1.0,))[0] == 9.0  # kept with f, from here on

    @functools.wraps(f)
    def g(x):
        return 10.0 * f(x)

    assert tapec.vjp(g, 3.0)[0] == 90.0
    assert tapec.jvp(g, (3.0,), (1.0,)) == (90.0, 60.0)
    assert tapec.linearize(g, 3.0)[1](1.0) == 60.0


def test_partials_are_named_for_what_they_call():
    def scaled(k, x):
        """Scales."""
        return k * x * x

    part = functools.partial(functools.partial(scaled), 3.0)
    g = tapec.grad(part)
    assert g(2.0) == 12.0
    assert (g.__name__, g.__doc__.split("\n")[0], str(inspect.signature(g))) == ("scaled", "Scales.", "(x)")
    assert "scaled_grad" in functions(g.source(2.0)) and parameters(g.source(2.0))[0] == "x"
    assert g.__wrapped__ is part


@pytest.mark.parametrize(
    "argnums, expected",
    [(0, 2.0), (1, 3.0), ((0, 1), (2.0, 3.0)), ([1], (3.0,)), ("y", 3.0), (-1, 3.0), (("y", "x"), (3.0, 2.0))],
)
def test_argnums(argnums, expected):
    g = tapec.grad(lambda x, y: 2.0 * x + 3.0 * y, argnums=argnums)
    assert g(1.0, 1.0) == expected


def test_argnums_of_keywords_defaults_and_variadic():
    def f(a, *rest, scale=2.0, **options):
        return a * scale + sum(rest) * options["k"]

    assert tapec.grad(f)(1.0, k=3.0) == 2.0
    assert tapec.grad(f, argnums="scale")(5.0, scale=1.0, k=3.0) == 5.0
    assert tapec.grad(f, argnums="k")(5.0, 1.0, 6.0, k=3.0) == 7.0
    assert tapec.grad(f, argnums=2)(5.0, 1.0, 6.0, k=3.0) == 3.0


def test_argnums_that_do_not_exist():
    with pytest.raises(ValueError, match=r"argument 2 was asked for \(the first is 0\), but only 1 came"):
        tapec.grad(lambda x: x, argnums=2)(1.0)
    with pytest.raises(ValueError, match="no argument 'w'; the arguments are x"):
        tapec.grad(lambda x: x, argnums="w")(1.0)


def test_arguments_that_a_function_does_not_take():
    f = tapec.grad(lambda x, y: x * y)
    for args, message in (((1.0,), "missing a required argument: 'y'"), ((1.0, 2.0, 3.0), "too many positional")):
        with pytest.raises(TypeError, match=rf"test_function.py:\d+: function\(x, y\): {message}"):
            f(*args)


@pytest.mark.parametrize(
    ("loss", "fix"),
    [
        (lambda x: x * 2.0, "reduce it"),
        (lambda x: np.sum(x) * 1j, "take np.real or np.abs of it"),
        (lambda x: np.argmax(x), "compute it in floats"),
        (lambda x: None, "return the loss"),
    ],
)
def test_each_kind_of_loss_that_is_none_has_its_fix(loss, fix):
    for transform in (tapec.grad, tapec.hessian):
        with pytest.raises(TypeError, match=f"test_function.py:.*Fix: {fix}"):
            transform(loss)(np.ones(3))


Point = namedtuple("Point", "x y")


@dataclass
class State:
    w: Any
    tag: str
    n: int


def test_structures_in_and_out():
    def f(p):
        return p["a"] * p["s"].w * p["pt"].x + p["l"][0] * p["l"][1]

    p = {"a": 2.0, "s": State(3.0, "tag", 4), "pt": Point(np.float64(5.0), None), "l": [7.0, 11.0, "text", True]}
    value, g = tapec.value_and_grad(f)(p)
    assert value == 2 * 3 * 5 + 77
    assert g["a"] == 15.0
    assert g["s"] == State(10.0, None, None)
    assert g["pt"] == Point(6.0, None)
    assert g["l"] == [11.0, 7.0, None, None]
    assert isinstance(g["pt"], Point)


async def asynchronous(x):
    return np.sum(x)


async def asynchronous_steps(x):
    yield np.sum(x)


@pytest.mark.parametrize(
    ("f", "message"),
    [
        (lambda x: (v for v in x), "returns a generator, which can be gone through once. Fix: return a list"),
        (asynchronous, "the function is asynchronous: nothing ran. Fix: def, not async def"),
        (asynchronous_steps, "the function is asynchronous: nothing ran. Fix: def, not async def"),
    ],
)
def test_results_that_calls_could_not_repeat_are_refused(f, message):
    with pytest.raises(tapec.UnsupportedError, match=message):
        tapec.compile(f)(np.ones(3))


def test_optree_registered_structures():
    import optree

    class Pair:
        def __init__(self, a, b):
            self.a, self.b = a, b

    everywhere = getattr(optree.registry, "__GLOBAL_NAMESPACE")  # a name that the class would mangle
    optree.register_pytree_node(Pair, lambda p: ((p.a, p.b), None), lambda _, c: Pair(*c), namespace=everywhere)
    g = tapec.grad(lambda p: p.a * p.b)(Pair(2.0, 3.0))
    assert isinstance(g, Pair)
    assert (g.a, g.b) == (3.0, 2.0)


def test_results_keep_their_structure_and_are_numpy_scalars():
    f = tapec.compile(lambda x: {"s": np.sum(x), "l": [x, None, "text"], "t": (2 * x[0],)})
    out = f(np.array([1.0, 2.0]))
    assert type(out["s"]) is np.float64
    assert type(out["t"][0]) is np.float64
    assert out["l"][1:] == [None, "text"]
    assert set(out) == {"s", "l", "t"}


def test_an_output_is_never_an_input():
    a = np.ones(3)
    out = tapec.compile(lambda x: (x, x[:2], x.reshape(3, 1)))(a)
    for y in out:
        assert not np.shares_memory(a, y)


def test_gradients_have_the_dtype_of_the_argument():
    a = np.ones(3, np.float32)
    g = tapec.grad(lambda x, y: np.sum(x * y), argnums=(0, 1))(a, np.ones(3))
    assert [k.dtype for k in g] == [np.float32, np.float64]
    assert tapec.grad(lambda x, y: np.sum(x * y))(a, 2.0).dtype == np.float32


def test_python_scalars_are_weak_inputs():
    f = tapec.compile(lambda x, s: x * s)
    x = np.ones(3, np.float32)
    assert f(x, 2.0).dtype == np.float32
    with tapec.testing.assert_compiles(f, at_most=0):
        np.testing.assert_array_equal(f(x, 3.0), np.full(3, 3.0, np.float32))


@pytest.mark.parametrize("text", ["k + 1", "k // 3", "-k", "~k", "k | 1", "6 & k", "k ^ k", "1 << k", "k >> 1"])
def test_what_python_makes_of_integers_is_weak_again(text):
    f = lambda x, k: x * eval(text, {"k": k})
    x = np.ones(3, np.float32)
    traced = tapec.compile(f)
    for k in (4, 5):
        np.testing.assert_array_equal(traced(x, k), f(x, k), strict=True)
    assert traced.cache_info().compilations == 1


def test_a_first_call_that_fails_leaves_no_signature():
    f = tapec.grad(lambda x, k: x[k] ** 2)
    with pytest.raises(IndexError):
        f(np.ones(3), 7)
    assert f.cache_info()[:4] == (0, 0, 0, 0)
    f(np.ones(3), 1)
    with pytest.raises(IndexError):
        f(np.ones(3), 7)
    assert f.cache_info().size == 1


def test_a_new_signature_is_a_new_compilation():
    f = tapec.compile(lambda x, flag=True, mode="a": x if flag else -x)
    x = np.ones(2)
    f(x)
    f(x)
    assert f.cache_info().compilations == 1
    f(x, False)
    f(x, mode="b")
    f(np.ones(3))
    f(np.ones(2, np.float32))
    assert f.cache_info().compilations == 5
    assert f.cache_info()._fields == ("hits", "misses", "compilations", "size", "maxsize")
    f.cache_clear()
    assert f.cache_info()[:4] == (0, 0, 0, 0)


def test_static_numbers_are_numbers():
    @tapec.compile(static_argnums=1)
    def f(x, options):
        assert not isinstance(options, tapec.Tensor)
        return x * (1 if isinstance(options, float) else 2 if isinstance(options, tuple) else 3)

    x = np.ones(2)
    for options, want in ((0.5, 1), ((0.5, (1.0, 2j)), 2), (2j, 3), (3, 3)):
        for _ in range(2):
            np.testing.assert_array_equal(f(x, options), want * x)


def test_static_numbers_that_are_equal_are_told_apart():
    @tapec.compile(static_argnums=1)
    def f(x, number):
        number = number[0] if isinstance(number, tuple) else number
        return np.copysign(x, number), x * number

    given = [0.0, -0.0, 1, 1.0, True]
    for number in [*given, *[(n,) for n in given], 0.0, (0.0,)]:
        n = number[0] if isinstance(number, tuple) else number
        for x in (np.float32(2.0), np.array([2.0], np.float32), np.arange(1, 3)):
            signed, scaled = f(x, number)
            assert signed.dtype == np.copysign(x, n).dtype and scaled.dtype == (x * n).dtype
            np.testing.assert_array_equal(signed, np.copysign(x, n))
            np.testing.assert_array_equal(np.signbit(scaled), np.signbit(x * n))


def test_static_arguments():
    @tapec.grad(static_argnums=1, static_argnames="how")
    def f(x, n, how=("sum",)):
        return getattr(np, how[0])(x**n)

    np.testing.assert_allclose(f(np.array([1.0, 2.0]), 3), [3.0, 12.0])
    np.testing.assert_allclose(f(np.array([1.0, 2.0]), 2, how=("prod",)), [8.0, 4.0])


def test_static_arguments_that_are_equal_and_not_the_same():
    pair = namedtuple("pair", ["n", "m"])
    first = tapec.compile(lambda x, p: x * p[0], static_argnums=1)
    summed = tapec.compile(lambda x, p: x * sum(p), static_argnums=1)
    x = np.arange(2)
    for make in (lambda n: (n, 2), lambda n: pair(n, 2), lambda n: (pair(n, 2).n, 3)):
        for n in (1, 1.0, True, 0.0, -0.0, np.float64(0.0), np.float64(-0.0), 1, 1.0):
            found, wanted = first(x, make(n)), x * n
            assert found.dtype == wanted.dtype
            np.testing.assert_array_equal(np.signbit(found), np.signbit(wanted))
            np.testing.assert_array_equal(found, wanted)
    for n in (1, 1.0, 1):
        assert summed(x, frozenset({n, 2})).dtype == (x * (n + 2)).dtype


def test_gradient_of_what_is_not_used_is_zero():
    g = tapec.grad(lambda x, y: np.sum(x), argnums=(0, 1))(np.ones(2), {"w": np.ones((2, 2)), "k": 1.0})
    np.testing.assert_array_equal(g[1]["w"], np.zeros((2, 2)))
    assert g[1]["k"] == 0.0


def test_empty_structures_are_legal():
    assert tapec.grad(lambda x, a, b: x * x, argnums=(0, 1, 2))(3.0, {}, ()) == (6.0, {}, ())


def test_integers_have_no_gradient():
    with pytest.raises(TypeError, match=r"argument 'x' is int, which has no gradient. Fix: pass a float, x=3.0"):
        tapec.grad(lambda x: x * x)(3)
    with pytest.raises(TypeError, match="argument 'x' is i64"):
        tapec.grad(lambda x: np.sum(x))(np.arange(3))
    with pytest.raises(TypeError, match="holds str, no real or complex number"):
        tapec.grad(lambda x: x * x)("text")


def test_a_static_argument_has_no_gradient():
    with pytest.raises(TypeError, match="argument 'x' is static, and has no gradient. Fix: leave it out"):
        tapec.grad(lambda x, y: x * y, static_argnums=0)(2.0, 3.0)


@pytest.mark.parametrize(
    "loss, found",
    [
        (lambda x: x, r"shape \(3,\) and dtype float64"),
        (lambda x: np.sum(x) > 0, "dtype bool"),
        (lambda x: np.sum(x) * 1j, "dtype complex128"),
        (lambda x: np.argmax(x), "dtype int64"),
        (lambda x: (np.sum(x), 1.0), "not a tuple"),
        (lambda x: None, "returned None"),
    ],
)
def test_a_loss_is_one_real_number(loss, found):
    with pytest.raises(TypeError, match=found):
        tapec.grad(loss)(np.ones(3))


def test_a_loss_of_any_shape_of_size_one():
    value, g = tapec.value_and_grad(lambda x: np.sum(x * x).reshape(1, 1))(np.ones(3))
    assert value.shape == (1, 1)
    np.testing.assert_array_equal(g, [2.0, 2.0, 2.0])


def test_has_aux():
    def f(x):
        return np.sum(x * x), {"x": x, "note": "kept"}

    g, aux = tapec.grad(f, has_aux=True)(np.ones(2))
    np.testing.assert_array_equal(g, [2.0, 2.0])
    assert aux["note"] == "kept"
    (value, aux), g = tapec.value_and_grad(f, has_aux=True)(np.ones(2))
    assert value == 2.0
    np.testing.assert_array_equal(aux["x"], [1.0, 1.0])
    with pytest.raises(TypeError, match="must return a pair"):
        tapec.grad(lambda x: x * x, has_aux=True)(1.0)


class Model:
    def __init__(self):
        self.w = np.array([1.0, 2.0])

    @tapec.grad
    def loss(self, x):
        return np.sum(self.w * x * x)

    @staticmethod
    @tapec.grad
    def static(x):
        return x * x

    def __call__(self, x):
        return np.sum(self.w * x)


@pytest.mark.parametrize("label", [np.str_("a"), np.bytes_(b"a"), np.datetime64("2020"), np.timedelta64(1, "s")])
def test_scalars_of_numpys_that_are_no_numbers_come_back(label):
    assert tapec.compile(lambda x: {"value": x, "label": label})(2.0) == {"value": 2.0, "label": label}
    assert tapec.value_and_grad(lambda x, name: (x * x, name), has_aux=True)(2.0, label) == ((4.0, label), 4.0)


def test_methods_static_methods_and_callable_objects():
    m = Model()
    x = np.array([3.0, 4.0])
    np.testing.assert_array_equal(m.loss(x), [6.0, 16.0])
    m.w = np.array([10.0, 10.0])
    np.testing.assert_array_equal(m.loss(x), [60.0, 80.0])
    assert Model.static(3.0) == m.static(3.0) == 6.0
    g = tapec.grad(m)
    np.testing.assert_array_equal(g(x), [10.0, 10.0])
    np.testing.assert_array_equal(tapec.grad(m.__call__)(x), [10.0, 10.0])


def test_partial():
    g = tapec.grad(functools.partial(lambda w, x: np.sum(w * x), np.array([1.0, 2.0])))
    np.testing.assert_array_equal(g(np.ones(2)), [1.0, 2.0])


def test_composition_at_any_depth():
    def f(x):
        return x * x * x * x

    c = tapec.compile(f)
    assert tapec.grad(tapec.grad(c))(2.0) == 48.0
    assert tapec.grad(tapec.grad(tapec.grad(f)))(2.0) == 48.0
    assert tapec.compile(tapec.grad(tapec.compile(f)))(2.0) == 32.0
    assert tapec.grad(lambda x: tapec.grad(lambda y: y * y * x)(x))(3.0) == 12.0


def test_inside_tapes():
    c = tapec.compile(lambda x: np.sin(x) * x)
    x = tapec.constant(1.2)
    with tapec.GradientTape() as outer:
        outer.watch(x)
        with tapec.GradientTape() as inner:
            inner.watch(x)
            y = c(x)
        dy = inner.gradient(y, x)
    assert isinstance(y, tapec.Tensor)
    assert dy.numpy() == pytest.approx(np.sin(1.2) + 1.2 * np.cos(1.2), rel=1e-14)
    assert outer.gradient(dy, x).numpy() == pytest.approx(2 * np.cos(1.2) - 1.2 * np.sin(1.2), rel=1e-14)


def test_tensor_in_tensor_out():
    assert isinstance(tapec.compile(lambda x: x * 2.0)(tapec.constant(1.0)), tapec.Tensor)


def test_a_tape_inside_a_compiled_function():
    def f(x):
        with tapec.GradientTape() as tape:
            tape.watch(x)
            y = x * x * x
        return tape.gradient(y, x)

    assert tapec.compile(f)(2.0) == 12.0
    assert tapec.grad(f)(2.0) == 12.0


def test_a_gradient_taken_twice_inside_has_own_operations():
    def slope(x):
        with tapec.GradientTape() as tape:
            tape.watch(x)
            y = np.sum(x * x)
        return tape.gradient(y, x)

    with tapec.settings(verify=True):
        assert tapec.compile(lambda x: slope(x) * slope(x))(np.float64(3.0)) == 36.0


def test_vjp_keeps_the_structure():
    out, pullback = tapec.vjp(lambda x, w: {"y": x @ w, "s": np.sum(x)}, np.ones((2, 3)), np.ones((3, 2)))
    assert out["s"] == 6.0
    gx, gw = pullback({"y": np.ones((2, 2)), "s": 1.0})
    np.testing.assert_array_equal(gx, np.full((2, 3), 3.0))
    np.testing.assert_array_equal(gw, np.full((3, 2), 2.0))
    with pytest.raises(ValueError, match="structure"):
        pullback(1.0)
    with pytest.raises(ValueError, match=r"shape \(3,\); it must have shape \(2, 2\)"):
        pullback({"y": np.ones(3), "s": 1.0})


def test_a_pullback_passes_over_untraced_leaves():
    out, pullback = tapec.vjp(lambda x: {"y": 2.0 * x, "label": "a", "n": 3, "m": [None, x]}, np.ones(2))
    assert out["label"] == "a" and out["n"] == 3
    found = pullback({"y": np.ones(2), "label": None, "n": 0, "m": [None, np.full(2, 5.0)]})
    assert np.array_equal(found, np.full(2, 7.0))


def test_a_pullback_of_one_primal_gives_a_bare_value():
    _, pullback = tapec.vjp(lambda x: x * x, 3.0)
    assert pullback(1.0) == 6.0


def test_an_error_of_the_user_is_not_cached():
    @tapec.grad
    def f(x, fail):
        if fail:
            raise KeyError("mine")
        return x * x

    with pytest.raises(KeyError, match="mine"):
        f(1.0, True)
    assert f.cache_info().compilations == 0
    assert f(1.0, False) == 2.0


def test_not_a_function():
    with pytest.raises(TypeError, match="takes a function, not int"):
        tapec.grad(3)


def test_an_error_in_generated_code_names_the_users_line():
    f = tapec.compile(lambda a: np.linalg.inv(a))
    f(np.eye(2))
    with pytest.raises(np.linalg.LinAlgError) as caught:
        f(np.zeros((2, 2)))
    assert "test_function.py" in caught.value.__notes__[0]
    assert "np.linalg.inv(a)" in caught.value.__notes__[0]


def test_unoptimised_functions_and_tapes_compute_the_same():
    def f(x):
        return np.sum(np.where(x > 0, np.sqrt(x), 0.0) ** 2 * 1.0 + x**2 * np.tanh(x))

    x = np.array([-1.0, 0.0, 0.5, 2.0])
    gradient = tapec.grad(f)
    wanted = gradient(x)
    assert "power" not in str(gradient.ir(x, stage="optimized"))
    with tapec.settings(optimize=False):
        np.testing.assert_allclose(gradient(x), wanted, rtol=1e-14)
        assert "power" in str(gradient.ir(x, stage="optimized"))
        t = tapec.constant(x)
        with tapec.GradientTape() as tape:
            tape.watch(t)
            y = f(t)
        np.testing.assert_allclose(tape.gradient(y, t), wanted, rtol=1e-14)
    assert gradient.cache_info().compilations == 2


def test_settings_are_part_of_the_signature():
    f = tapec.compile(lambda x: x * 2.0)
    with tapec.settings(fast_math=True):
        f(1.0)
        f(1.0)
    assert f.cache_info().compilations == 1
    f(1.0)
    f(1.0)
    assert f.cache_info().compilations == 2
    with tapec.settings(fast_math=True):
        f(1.0)
    with tapec.settings(verify=True):
        f(1.0)
    assert f.cache_info().compilations == 2


def test_check_grads_follows_what_a_function_captures():
    weights = np.arange(9.0).reshape(3, 3) / 5
    tapec.check_grads(lambda w: np.tanh(weights @ w), (np.array([1.0, 2.0, 3.0]),))


class Power:
    def __init__(self, n):
        self.n = n

    def sum(self, x, scale=1.0):
        return np.sum(x**self.n) * scale


@pytest.mark.parametrize("args", [2.0, np.ones(1), {"x": 2.0}])
def test_check_grads_takes_the_arguments_as_a_tuple(args):
    with pytest.raises(TypeError, match=r"arguments as a tuple. Fix: check_grads\(f, \(x,\)\)"):
        tapec.check_grads(np.sin, args)


def test_check_grads_of_methods():
    tapec.check_grads(Power(3).sum, (np.array([1.0, 2.0]),))
    tapec.check_grads(tapec.grad(Power(3).sum), (np.array([1.0, 2.0]),))


@pytest.mark.parametrize("held", [2, "a", None, True, np.sin, np.array([1, 2]), {"labels": np.array([1, 0])}])
def test_check_grads_holds_what_is_no_real_number(held, recwarn):
    tapec.check_grads(lambda x, held, y: np.sum(x * x * y), (np.array([1.0, 2.0]), held, 3.0))
    assert not recwarn
    with pytest.raises(TypeError, match="none of the arguments holds a real or complex number"):
        tapec.check_grads(lambda held: 1.0, (held,))


def test_check_grads_hands_on_what_it_holds():
    def loss(w, x, labels, mode):
        z = x @ w if mode == "linear" else w
        return -np.mean(z[np.arange(len(labels)), labels] - np.log(np.sum(np.exp(z), axis=1)))

    w, x = np.linspace(-1.0, 1.0, 6).reshape(2, 3), np.arange(8.0).reshape(4, 2)
    tapec.check_grads(loss, (w, x, np.array([0, 2, 1, 0]), "linear"))


def test_vjp_takes_static_arguments():
    def f(x, n, mode):
        for _ in range(n):
            x = x * x
        return x if mode == "a" else -x

    for static in ({"static_argnums": [1, 2]}, {"static_argnums": (1, 2)}, {"static_argnames": ("n", "mode")}):
        out, pullback = tapec.vjp(f, 3.0, 2, "b", **static)
        assert out == -81.0 and pullback(1.0) == -4 * 27.0
    with pytest.raises(TypeError, match="argument 'n' is int"):
        tapec.vjp(f, 3.0, 2, "b")


def test_check_grads_leaves_objects_as_they_are():
    mode, lock = object(), threading.Lock()

    def loss(x, given, held):
        assert given is mode and held["lock"] is lock
        return np.sum(np.sin(x[held["labels"]]))

    tapec.check_grads(loss, (np.array([1.0, 2.0]), mode, {"lock": lock, "labels": np.array([0, 1, 1])}))


def test_check_grads_of_a_steep_function():
    """Its fourth derivatives are thousands of times its first ones: differences have to be extrapolated twice."""

    def steep(x):
        y = x
        for _ in range(4):
            y = np.sin(y) * y + x
        return np.sum(y)

    tapec.check_grads(steep, (np.array([0.7, 1.3, 0.4]),), order=3)


def test_check_grads_finds_a_kink():
    with pytest.raises(AssertionError, match="A kink near the arguments"):
        tapec.check_grads(lambda x: np.sum(np.maximum(x, 0.0)), (np.array([0.0, 1.0]),), order=1)


def test_check_grads_of_a_net_with_kinks_in_reach():
    rng = np.random.default_rng(0)
    weights, x = [rng.normal(size=(30, 30)) * 0.3 for _ in range(3)], rng.normal(size=(20, 30))

    def loss(weights, relu=lambda h: np.maximum(h, 0.0)):
        h = x
        for w in weights:
            h = relu(h @ w)
        return np.mean(h**2)

    @tapec.custom_gradient
    def wrong(h):
        return np.maximum(h, 0.0), lambda ct: np.where(h > 0.0, 1.001 * ct, 0.0)

    tapec.check_grads(loss, (weights,), order=1)
    with pytest.raises(tapec.errors.GradientCheckError, match="reverse mode, order 1"):
        tapec.check_grads(lambda weights: loss(weights, wrong), (weights,), order=1, modes=("reverse",))


def test_check_grads_finds_a_wrong_rule():
    @tapec.custom_gradient
    def wrong(x):
        return np.sin(x), lambda ct: ct * np.cos(x) * 1.001

    with pytest.raises(tapec.GradientCheckError, match="reverse mode, order 1"):
        tapec.check_grads(wrong, (np.array([0.5, 1.0]),), modes=("reverse",))


def test_an_error_in_reading_captured_state_comes_once():
    calls = []
    weights = np.ones(3)

    @tapec.grad
    def loss(x):
        calls.append(1)
        if x.shape != (3,):
            raise ValueError("three, please")
        return np.sum(weights * x)

    loss(np.ones(3))
    calls.clear()
    with pytest.raises(ValueError, match="three, please") as e:
        loss(np.ones(4))
    assert len(calls) == 1 and e.value.__context__ is None
    with pytest.raises(TypeError, match=r"^test_function.py:\d+: grad: argument 'x' holds str, no real") as e:
        loss("a")
    assert e.value.__context__ is None


def test_settings_without_effect_keep_the_stub():
    f = tapec.grad(lambda x: np.sum(x * x))
    x = np.ones(3)
    with tapec.settings(path_limit=7):
        for _ in range(3):
            f(x)
    assert f._stub_hits == 1
    f(x)
    with tapec.settings(cache_size=9):
        f(x)
    assert f._stub_hits == 3
    with tapec.settings(check_nan=True):
        f(x)
        assert any("finite" in name for name in called(f.source())) and f._stub_hits == 3
        f(x)
        f(x)
    f(x)
    assert f._stub_hits == 5 and f.cache_info().compilations == 2


def test_explain_says_why_a_gradient_is_zero():
    @tapec.grad(argnums=(0, 1, 2))
    def f(x, steps, unused):
        whole = np.floor(steps)
        return np.sum(x) * np.sum(whole * np.argsort(x))

    explained = f.explain(np.ones(3), np.ones(3), np.ones(2))
    line = f.__wrapped__.__code__.co_firstlineno + 2
    assert explained.to_dict()["gradients"] == [
        "x: flows",
        f"steps: zero, since no derivative passes floor at test_function.py:{line}   np.floor(steps)",
        "unused: zero, since the result does not use it",
    ]
    assert "unused: zero" in str(explained)


def test_explain_names_statics_and_literals():
    @tapec.grad
    def f(x, mode, options, n=3):
        return np.sum(np.ones(3) * x * np.array([1.0, 2.0, 3.0])) * n

    explained = f.explain(np.ones(3), "a", {"act": np.sin, "flag": True, "none": None})
    assert explained.signature == [
        "x: f64[3]",
        "n: int",
        "mode = 'a' (static)",
        "options['act'] = sin (static)",
        "options['flag'] = True (static)",
    ]
    assert [line.partition("   ")[0] for line in explained.literals] == ["an array f64[3] of 1.0", "an array f64[3]"]
    place = f"test_function.py:{f._function.__code__.co_firstlineno + 2}"
    assert [line.split("   ")[1:] for line in explained.literals] == [
        [place, "np.ones(3) * x"],
        [place, "np.ones(3) * x * np.array([1.0, 2.0, 3.0])"],
    ]


def test_explain_tells_many_arrays_of_one_line_together():
    @tapec.grad
    def f(x):
        for n in range(9, 1, -1):
            x = (x[1:] + x[:-1]) * 0.5 ** np.arange(n)
        return np.sum(x)

    lines = [line.partition("   ")[0] for line in f.explain(np.ones(10)).literals]
    assert lines == ["8 arrays, f64[9] to f64[2]"]
