"""Functions made anew at each call share what was compiled for earlier ones of their code, and read their own state."""

import functools
import gc
import importlib
import pickle
import runpy
import sys
import threading
import types
import weakref
from typing import NamedTuple

import numpy as np
import pytest

import tapec
from tapec.api.compiled.fresh import families

W = np.array([0.5, -1.5, 2.0])


@pytest.fixture(autouse=True)
def no_modules_are_left():
    yield
    for name in [name for name in sys.modules if name.startswith("tests_shared")]:
        del sys.modules[name]


def batches(n, rows=4, dtype=float):
    rng = np.random.default_rng(0)
    return [(rng.normal(size=(rows, 3)).astype(dtype), rng.normal(size=rows).astype(dtype)) for _ in range(n)]


def loss(w, batch):
    x, y = batch
    return np.mean((x @ w - y) ** 2)


def expected(batch, w=W):
    x, y = batch
    return 2 * x.T @ (x @ w - y) / len(y)


def traces(transform, *args):
    """Call a transform; return its result, and how many times its function was recorded."""
    result = transform(*args)
    return result, transform.cache_info().misses


def by_lambda(batch):
    return lambda w: loss(w, batch)


def by_definition(batch):
    x, y = batch

    def of_batch(w):
        return np.mean((x @ w - y) ** 2)

    return of_batch


def by_partial(batch):
    return functools.partial(loss, batch=batch)


def by_partial_position(batch):
    return functools.partial(lambda b, w: loss(w, b), batch)


def by_default(batch):
    return lambda w, batch=batch: loss(w, batch)


def by_keyword_default(batch):
    return lambda w, *, batch=batch: loss(w, batch)


class Model:
    def __init__(self, batch):
        self.batch = batch

    def loss(self, w):
        return loss(w, self.batch)

    def __call__(self, w):
        return loss(w, self.batch)


def by_method(batch):
    return Model(batch).loss


def by_instance(batch):
    return Model(batch)


def by_two_closures(batch):
    def residual(w):
        x, y = batch
        return x @ w - y

    def squared(w):
        return residual(w) ** 2

    return lambda w: np.mean(squared(w))


def by_partial_of_method(batch):
    return functools.partial(Model(batch).loss)


def by_captured_method(batch):
    of_model = Model(batch).loss
    return lambda w: of_model(w) * 1.0


def by_captured_partial(batch):
    of_batch = functools.partial(loss, batch=batch)
    return lambda w: of_batch(w) * 1.0


def by_class_made_anew(batch):
    class Fresh:
        def loss(self, w):
            return loss(w, batch)

    return Fresh().loss


def by_captured_gradient(batch):
    value_and_gradient = tapec.value_and_grad(lambda w: loss(w, batch))
    return lambda w: value_and_gradient(w)[0] * 1.0


def watched(f):
    @functools.wraps(f)
    def inner(*args, **kwargs):
        return f(*args, **kwargs)

    return inner


def by_wrapped(batch):
    @watched
    def of_batch(w):
        return loss(w, batch)

    return of_batch


def by_captured_wrapped(batch):
    @watched
    @watched
    def of_batch(w, scale=1.0):
        return loss(w, batch) * scale

    return lambda w: of_batch(w) * 1.0


FORMS = [
    by_wrapped,
    by_captured_wrapped,
    by_captured_gradient,
    by_lambda,
    by_definition,
    by_partial,
    by_partial_position,
    by_default,
    by_keyword_default,
    by_method,
    by_instance,
    by_two_closures,
    by_partial_of_method,
    by_captured_method,
    by_captured_partial,
]


@pytest.mark.parametrize("form", FORMS)
def test_fresh_functions_are_found_again(form):
    counts = []
    for batch in batches(12):
        found, count = traces(tapec.grad(form(batch)), W)
        np.testing.assert_allclose(found, expected(batch), rtol=1e-12)
        counts.append(count)
    assert counts[:2] == [1, 1] and sum(counts) == 2


@pytest.mark.parametrize("form", [*FORMS, by_class_made_anew])
def test_other_shapes_and_dtypes_are_other_programs(form):
    for rows, dtype in [(4, float), (7, float), (4, np.float32), (1, float), (4, float), (7, np.float32)]:
        w = W.astype(dtype)
        for batch in batches(4, rows, dtype):
            found = tapec.grad(form(batch))(w)
            assert found.dtype == dtype
            np.testing.assert_allclose(found, expected(batch, w), rtol=1e-5)


@pytest.mark.parametrize("form", [*FORMS, by_class_made_anew])
def test_nothing_captured_is_kept_alive(form):
    held = []
    for x, y in batches(30):
        batch = [x.copy(), y.copy()]
        held += map(weakref.ref, batch)
        function = form(batch)
        held.append(weakref.ref(getattr(function, "__self__", function)))
        tapec.grad(function)(W)
        del batch, x, y, function
    gc.collect()
    assert not [r for r in held if r() is not None]


def test_objects_of_fresh_functions_are_not_kept_alive():
    def step(batch):
        model = Model(batch)
        tapec.grad(lambda w: model.loss(w))(W)
        return weakref.ref(model)

    held = [step(batch) for batch in batches(30)]
    gc.collect()
    assert not [r for r in held if r() is not None]


@pytest.mark.parametrize(
    "transform",
    [
        tapec.grad,
        tapec.value_and_grad,
        tapec.compile,
        lambda f: tapec.grad(f, argnums=(0,)),
        tapec.jacobian,
        tapec.hessian,
        lambda f: lambda w: tapec.hvp(f)(w, np.ones(3)),
        lambda f: lambda w: tapec.vjp(f, w)[1](1.0),
        lambda f: lambda w: tapec.jvp(f, (w,), (np.ones(3),)),
        lambda f: lambda w: tapec.linearize(f, w)[1](np.ones(3)),
        lambda f: tapec.jacobian(tapec.grad(f)),
        lambda f: tapec.grad(tapec.checkpoint(f)),
        lambda f: lambda w: tapec.vmap(tapec.grad(f))(np.stack([w, 2 * w])),
        lambda f: lambda w: tapec.per_example_grad(lambda w, x: f(w * x))(w, np.ones((2, 3))),
    ],
)
def test_transforms_of_fresh_functions(transform):
    for batch in batches(6):
        found = transform(by_lambda(batch))(W)
        kept = by_definition(batch)  # one that is not shared: by an attribute of its own
        kept.mark = True
        again = transform(kept)(W)
        for a, b in zip(found if isinstance(found, tuple) else [found], again if isinstance(again, tuple) else [again]):
            np.testing.assert_allclose(a, b, rtol=1e-12)


def test_transforms_do_not_share_with_each_other():
    for batch in batches(4):
        f = by_lambda(batch)
        np.testing.assert_allclose(tapec.compile(by_lambda(batch))(W), loss(W, batch))
        np.testing.assert_allclose(tapec.grad(by_lambda(batch))(W), expected(batch))
        value, gradient = tapec.value_and_grad(by_lambda(batch))(W)
        np.testing.assert_allclose(value, f(W))
        np.testing.assert_allclose(gradient, expected(batch))


# -- what must not be taken for the same -------------------------------------------------------------------------------
def alternate(make, cases, w=W, rounds=4):
    """Check gradients of fresh functions of several kinds, in turn, against differences."""
    for _ in range(rounds):
        for case in cases:
            f = make(*case)
            found = tapec.grad(f)(w.copy())
            step = 1e-6
            wanted = [(f(w + step * e) - f(w - step * e)) / (2 * step) for e in np.eye(len(w))]
            np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=1e-8)


def test_branches_on_what_is_captured():
    def make(x, squares):
        return lambda w: np.sum((x * w) ** 2) if squares else np.sum(x * w)

    alternate(make, [(W, True), (2 * W, False), (3 * W, True), (4.0, False), (5.0, True)])


def test_branches_on_values_that_are_captured():
    def make(x, limit):
        return lambda w: np.sum(x * w) if np.sum(x) > limit else np.sum(w**3)

    alternate(make, [(W, 0.0), (-W, 0.0), (W, 5.0), (-W, -5.0)])


def test_captured_functions_of_other_code():
    def make(act, scale):
        return lambda w: np.sum(act(w) * scale)

    cases = [(lambda v: v**2, 2.0), (lambda v: v**3, 2.0), (np.tanh, 1.0), (np.exp, 1.0), (np.square, 2.0), (np.sin, W)]
    alternate(make, cases)


def test_captured_functions_that_capture():
    def scaled(k):
        return lambda v: k * v

    def make(inner, outer):
        return lambda w: np.sum(outer(inner(w)) ** 2)

    one = scaled(3.0)
    alternate(make, [(scaled(1.0), scaled(2.0)), (scaled(2.0), scaled(1.0)), (one, one), (scaled(W), one)])


def test_defaults_of_captured_functions():
    def make(k, *more):
        if more:
            inner = lambda v, k=k, more=more: k * v + more[0] * v**2
        else:
            inner = lambda v, k=k: k * v
        return lambda w: np.sum(inner(w))

    alternate(make, [(1.0,), (2.0,), (3.0, 4.0), (3.0, 5.0), (W,), (2 * W,)])


def test_captured_modules():
    one, other = types.ModuleType("one"), types.ModuleType("other")
    one.act, other.act = (lambda v: v**2), (lambda v: v**3)

    def make(module):
        return lambda w: np.sum(module.act(w))

    alternate(make, [(one,), (other,)])
    one.act = other.act
    alternate(make, [(one,), (other,)])


def test_captured_modules_of_numpy():
    fake = types.SimpleNamespace(tanh=np.sin, sum=np.sum)

    def make(xp):
        return lambda w: np.sum(xp.tanh(w))

    alternate(make, [(np,), (fake,), (np,)])


def test_methods_of_other_classes():
    class One:
        def value(self, v):
            return v**2

    class Two:
        def value(self, v):
            return v**3

    def make(model):
        return lambda w: np.sum(model.value(w))

    def make_of_method(method):
        return lambda w: np.sum(method(w))

    alternate(make, [(One(),), (Two(),), (One(),)])
    alternate(make_of_method, [(One().value,), (Two().value,), (One().value,)])

    alternate(lambda f: functools.partial(lambda g, w: np.sum(g(w)), f), [(One().value,), (Two().value,)])


def test_classes_made_anew():
    def make(k):
        class Model:
            scale = k

            def value(self, w):
                return np.sum(self.scale * w**2)

        return Model().value

    alternate(make, [(1.0,), (2.0,), (W,), (3,), (4,)])


def test_methods_of_one_object_that_was_given_others():
    def make(k):
        model = types.SimpleNamespace()
        model.value = (lambda v: v**k) if k > 2 else (lambda v: k * v)
        return lambda w: np.sum(model.value(w))

    alternate(make, [(1.0,), (3.0,), (2.0,), (4.0,)])


def test_two_closures_that_share_a_variable():
    def shared(k):
        def one(v):
            return k * v

        def two(v):
            return k * v**2

        return one, two

    def make(one, two):
        return lambda w: np.sum(one(w) + two(w))

    a, b, c = shared(1.0), shared(2.0), shared(3.0)
    alternate(make, [a, b, c, (a[0], b[1]), (c[0], a[1]), b])


def test_a_variable_that_is_set_after_the_function_was_made():
    def make(k):
        value = k
        f = lambda w: np.sum(value * w**2)
        value = 2 * k
        return f

    alternate(make, [(1.0,), (2.0,), (W,), (3 * W,)])


def test_variables_that_another_function_sets():
    def make():
        k = 1.0

        def put(new):
            nonlocal k
            k = new

        return put, tapec.grad(lambda w: np.sum(k * w))

    made = [make() for _ in range(5)]
    for times in (0.0, 1.0, 2.0):
        for n, (put, g) in enumerate(made):
            put(n + 10 * times)
            np.testing.assert_array_equal(g(W), np.full(3, n + 10 * times))


def test_captured_arrays_that_change_in_place():
    made = []
    for k in range(5):
        x = np.full(3, float(k))
        made.append((x, tapec.grad(lambda w, x=x: np.sum(x * w)), tapec.grad(by_lambda((x[None], np.zeros(1))))))
    for _ in range(3):
        for x, g, h in made:
            x += 1.0
            np.testing.assert_array_equal(g(W), x)
            np.testing.assert_allclose(h(W), 2 * x * (x @ W))


def test_one_array_for_two_names():
    def make(a, b):
        return lambda w: np.sum(w * a) * 2.0 if a is b else np.sum(w * a * b)

    other = W.copy()
    alternate(make, [(W, W), (W, other), (other, other), (other, W), (W + 1, W)])


def test_one_object_for_two_names():
    def make(a, b):
        return lambda w: np.sum(w * a.batch + w**2 * b.batch)

    one, two = Model(1.0), Model(2.0)
    alternate(make, [(one, one), (one, two), (two, one), (two, two), (Model(3.0), Model(4.0))])


def test_numbers_of_other_kinds():
    def make(k):
        return lambda w: np.sum(w**2 * k)

    alternate(make, [(2,), (3,), (2.0,), (True,), (np.float32(2),), (np.int64(2),), (W,), (2,)])


def test_containers_of_other_lengths_and_keys():
    def make(parts):
        return lambda w: sum([np.sum(w**2 * k) for k in (parts.values() if isinstance(parts, dict) else parts)])

    alternate(make, [([1.0],), ([1.0, 2.0],), ([3.0],), ((1.0,),), ({"a": 2.0},), ({"b": 3.0},), ({"a": W, "b": 2.0},)])


def test_attributes_of_functions():
    def make(k):
        def f(w):
            return np.sum(inner(w))

        def inner(v):
            return v * getattr(inner, "scale", 1.0)

        if k is not None:
            inner.scale = k
        return f

    alternate(make, [(None,), (None,), (2.0,), (3.0,), (None,)])


def test_names_of_functions():
    def make(name):
        def inner(v):
            return v**2 if inner.__name__ == "inner" else v**3

        inner.__name__ = name
        return lambda w: np.sum(inner(w))

    alternate(make, [("inner",), ("inner",), ("other",), ("inner",), ("third",)])


def test_a_cell_that_is_not_bound():
    def make(k):
        def f(w):
            try:
                return np.sum(w * later)
            except NameError:
                return np.sum(w**2)

        if k is not None:
            later = k
        return f

    alternate(make, [(None,), (None,), (2.0,), (None,), (3.0,), (4.0,)])


def test_recursion():
    def make(depth, k):
        def power(v, n):
            return k * v if n == 0 else v * power(v, n - 1)

        return lambda w: np.sum(power(w, depth))

    alternate(make, [(1, 1.0), (1, 2.0), (2, 1.0), (2, 3.0), (0, W), (0, 2 * W)])


def test_a_gradient_inside_a_function_of_the_same_code():
    def make(inner, k):
        def f(w):
            return np.sum(k * w**3) if inner is None else np.sum(k * tapec.grad(inner)(w) ** 2)

        return f

    one, two = make(None, 1.0), make(None, 2.0)
    for k in (1.0, 2.0, 3.0):
        for leaf, scale in ((one, 1.0), (two, 2.0), (make(None, k), k)):
            found = tapec.grad(make(leaf, k))(W)
            np.testing.assert_allclose(found, k * 9 * scale**2 * 4 * W**3)


def test_a_fresh_gradient_inside_a_recording():
    for k in (1.0, 2.0, 3.0):
        for factor in (1.0, W):
            inner = lambda w: np.sum(factor * w**3) * k  # noqa: B023
            found = tapec.grad(lambda w: np.sum(tapec.grad(inner)(w)))(W)  # noqa: B023
            np.testing.assert_allclose(found, 6 * k * factor * W)
            with tapec.GradientTape() as tape:
                w = tapec.Variable(W)
                out = np.sum(tapec.grad(inner)(w))
            np.testing.assert_allclose(tape.gradient(out, w), 6 * k * factor * W)


def test_global_functions_that_are_defined_again():
    space = _module("tests_shared_globals", "import numpy as np\ndef helper(v): return v**2\n")
    exec("def make(k): return lambda w: np.sum(k * helper(w))", space)
    alternate(space["make"], [(1.0,), (2.0,), (3.0,)])
    exec("def helper(v): return v**3", space)
    alternate(space["make"], [(1.0,), (2.0,), (3.0,)])
    space["helper"] = np.sin
    alternate(space["make"], [(1.0,), (2.0,), (3.0,)])


def _module(name, source):
    module = sys.modules[name] = types.ModuleType(name)
    exec(source, module.__dict__)
    return module.__dict__


CELL = """
import numpy as np
K = 2.0
def f(w):
    return np.sum(K * w ** {power})
"""


def test_a_cell_of_a_notebook_that_is_run_again():
    space = _module("tests_shared_notebook", "")
    counts = []
    for k in range(6):
        exec(compile(CELL.format(power=2), f"<cell {k}>", "exec"), space)
        space["K"] = float(k)
        found, count = traces(tapec.grad(space["f"]), W)
        np.testing.assert_allclose(found, 2 * k * W)
        counts.append(count)
    assert sum(counts) == 2
    for power in (3, 2, 4, 3, 2):
        exec(compile(CELL.format(power=power), "<cell>", "exec"), space)
        np.testing.assert_allclose(tapec.grad(space["f"])(W), power * 2.0 * W ** (power - 1))


def test_the_same_text_in_other_namespaces():
    for k in (1.0, 2.0, 3.0, W):
        space = {"np": np}
        exec("def f(w): return np.sum(k * w ** 2)", space)
        space["k"] = k
        np.testing.assert_allclose(tapec.grad(space["f"])(W), 2 * k * W)
    for name, k in (("tests_shared_a", 1.0), ("tests_shared_b", 2.0), ("tests_shared_c", 3.0)):
        space = _module(name, "import numpy as np\ndef f(w): return np.sum(k * w ** 2)")
        space["k"] = k
        for _ in range(3):
            np.testing.assert_allclose(tapec.grad(space["f"])(W), 2 * k * W)


def test_errors_of_fresh_functions():
    def make(k):
        def f(w):
            try:
                return np.sum(w) * (1.0 / float(k))
            except ZeroDivisionError:
                return np.sum(w**2)

        return f

    for k in (1.0, 2.0, 4.0, 0.0, 5.0, 0.0):
        wanted = 2 * W if k == 0 else np.full(3, 1 / k)
        np.testing.assert_allclose(tapec.grad(make(k))(W), wanted)


def test_functions_that_count_or_store():
    log, made = [], []
    for k in range(6):
        state = types.SimpleNamespace(calls=0)

        def counting(w):
            state.calls += 1  # noqa: B023
            return np.sum(w * float(k))  # noqa: B023

        def storing(w):
            log.append(1)
            return np.sum(w * float(k))  # noqa: B023

        for g in (counting, storing):
            np.testing.assert_allclose(tapec.grad(g)(W), np.full(3, float(k)))
        made.append(state)
        assert state.calls == 1 and len(log) == k + 1


def test_functions_that_draw():
    seen = []
    for k in range(5):
        rng = np.random.default_rng(k)
        seen.append(float(tapec.grad(lambda w: np.sum(w * rng.normal()))(W)[0]))  # noqa: B023
    assert seen == [np.random.default_rng(k).normal() for k in range(5)]


def test_settings_that_change():
    for check in ("first", "never", "every", "first", "every"):
        with tapec.settings(check=check):
            for j in range(3):
                f = by_lambda(batches(1 + j)[j])
                np.testing.assert_allclose(tapec.grad(f)(W), expected(batches(1 + j)[j]))


def test_arguments_that_are_captured_as_well():
    def make(x, y):
        return lambda w: np.sum(w * x) if w is y else np.sum(w * w * x)

    alternate(make, [(2.0, None), (3.0, W), (4.0, None), (W, W)])


def test_static_arguments_and_keywords():
    def make(k):
        return lambda w, power, scale=1.0: np.sum(k * scale * w**power)

    for k in (1.0, 2.0, 3.0, W):
        for power in (2, 3, 2):
            g = tapec.grad(make(k), static_argnums=1)
            np.testing.assert_allclose(g(W, power), power * k * W ** (power - 1))
            np.testing.assert_allclose(g(W, power=power), power * k * W ** (power - 1))
            np.testing.assert_allclose(g(W, power, scale=3.0), 3 * power * k * W ** (power - 1))


def test_threads():
    start, wrong = threading.Barrier(8), []

    def train(k):
        start.wait()
        for batch in batches(40, rows=4 + k % 3):
            scaled = batch[0] * (k + 1.0), batch[1]
            for form in (by_lambda, by_method, by_two_closures):
                found = tapec.grad(form(scaled))(W)
                if not np.allclose(found, expected(scaled), rtol=1e-10):
                    wrong.append((k, form.__name__))

    threads = [threading.Thread(target=train, args=(k,)) for k in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


def test_what_a_fresh_function_shows():
    for batch in batches(4):
        g = tapec.grad(by_lambda(batch))
        np.testing.assert_allclose(g(W), expected(batch))
    assert g.cache_info()[:3] == (1, 0, 0)
    kept = tapec.grad(by_lambda(batch))
    kept._family = None
    assert g.source(W) == kept.source(W)
    assert str(g.explain(W)) == str(kept.explain(W))
    np.testing.assert_allclose(g(W), expected(batch))


def test_code_that_is_new_each_time_leaves_little():
    with tapec.settings(cache_size=4):
        for k in range(10):
            exec(f"g = tapec.grad(lambda w: np.sum(w) * {k}.0)\ng(W)\ng(W)")
    assert len(families._FAMILIES) <= 4


class Wrapping:
    """Calls what it wraps, and shows the signature of that."""

    def __init__(self, function):
        functools.update_wrapper(self, function)

    def __call__(self, *args, **kwargs):
        return self.__wrapped__(*args, **kwargs)


def test_objects_and_functions_that_show_another_signature():
    def one(w, a=1.0, b=2.0):
        return np.sum(a * w + b * w**2)

    def two(w, b=3.0, a=5.0):
        return np.sum(a * w + b * w**2)

    def wrapped(f):
        @functools.wraps(f)
        def inner(*args, **kwargs):
            return f(*args, **kwargs)

        return inner

    for make in (Wrapping, wrapped, functools.partial, lambda f: functools.update_wrapper(functools.partial(f), f)):
        for _ in range(3):
            for f, a, b in ((one, 1.0, 2.0), (two, 5.0, 3.0)):
                np.testing.assert_allclose(tapec.grad(make(f))(W), a + 2 * b * W)
                np.testing.assert_allclose(tapec.grad(make(f))(W, a=7.0), 7 + 2 * b * W)
                np.testing.assert_allclose(tapec.grad(make(f))(W, b=7.0), a + 14 * W)


def test_results_of_classes_made_anew_are_not_kept():
    def step(k):
        class Pair(NamedTuple):
            value: object
            double: object

        made = tapec.compile(lambda w: Pair(np.sum(k * w), 2 * w))(W)
        assert type(made) is Pair
        np.testing.assert_allclose(made.value, np.sum(k * W))
        return weakref.ref(Pair)

    def step_back(k):
        class Pair(NamedTuple):
            value: object
            double: object

        made, back = tapec.vjp(lambda w: Pair(np.sum(k * w), 2 * w), W)
        assert type(made) is Pair
        np.testing.assert_allclose(back(Pair(1.0, W)), k + 2 * W)
        return weakref.ref(Pair)

    held = [step(float(k)) for k in range(5)] + [step_back(float(k)) for k in range(5)]
    gc.collect()
    assert not [r for r in held if r() is not None]


def test_objects_that_are_returned():
    def make(model, k):
        return lambda w: (np.sum(k * w), model)

    held = []
    for k in range(6):
        model = Model(float(k))
        held.append(weakref.ref(model))
        gradient, same = tapec.grad(make(model, float(k)), has_aux=True)(W)
        assert same is model
        (_, same), back = tapec.vjp(make(model, float(k)), W)
        assert same is model
        np.testing.assert_allclose(gradient, np.full(3, float(k)))
        del model, same, back
    gc.collect()
    assert not [r for r in held if r() is not None]


def test_makers_of_arrays_that_a_function_fills():
    def make(ones):
        def f(w):
            out = ones(3)
            out[1] = w[0]
            return np.sum(out * w)

        return f

    alternate(make, [(np.ones,), (np.zeros,), (np.ones,), (lambda n: np.full(n, 2.0),), (np.zeros,)])


def test_properties_of_captured_objects():
    def half(self):
        return self.batch * 0.5

    def make(k, getter):
        kind = type("Part", (Model,), {"half": property(getter)}) if getter else WithHalf
        model = kind(k)
        return lambda w: np.sum(model.half * w**2)

    alternate(make, [(1.0, None), (2.0, None), (W, None), (3.0, half), (2 * W, None)])
    counts = [traces(tapec.grad(make(float(k), None)), W)[1] for k in range(6)]
    assert sum(counts[2:]) == 0


class WithHalf(Model):
    @property
    def half(self):
        return self.batch * 0.5

    @classmethod
    def twice(cls, v):
        return 2 * v


def test_class_methods():
    def make(model, k):
        return lambda w: np.sum(model.twice(w) * k)

    class Other(WithHalf):
        @classmethod
        def twice(cls, v):
            return 4 * v

    alternate(make, [(WithHalf(1.0), 1.0), (WithHalf, 2.0), (Other(1.0), 1.0), (Other, 3.0), (WithHalf(2.0), W)])


def test_one_function_for_two_names():
    def scaled(k):
        return lambda v: k * v

    def make(one, two):
        return lambda w: np.sum(one(w) * two(w))

    a, b = scaled(2.0), scaled(3.0)
    alternate(make, [(a, a), (a, b), (b, a), (b, b), (scaled(4.0), scaled(5.0))])


SEVERAL = """
import numpy as np
SCALE = {scale}
def helper(v, k=2.0):
    return SCALE * v ** {power} * k
def other(v):
    return helper(v) + {more}
def f(w):
    return np.sum(other(w))
"""


def test_a_cell_with_several_functions_that_is_run_again():
    space = _module("tests_shared_cell", "")
    counts = []
    for k in range(6):
        exec(compile(SEVERAL.format(scale=float(k), power=2, more="v"), f"<cell {k}>", "exec"), space)
        found, count = traces(tapec.grad(space["f"]), W)
        np.testing.assert_allclose(found, 4 * k * W + 1)
        counts.append(count)
    assert sum(counts) == 2
    for scale, power, more in [(2.0, 3, "v"), (3.0, 3, "v"), (3.0, 2, "v * v"), (1.0, 2, "v"), (1.0, 3, "v * v")] * 3:
        exec(compile(SEVERAL.format(scale=scale, power=power, more=more), "<cell>", "exec"), space)
        of_helper, of_more = scale * power * W ** (power - 1), 1 if more == "v" else 2 * W
        np.testing.assert_allclose(tapec.grad(space["f"])(W), 2 * of_helper + of_more)
        space["helper"].__defaults__ = (3.0,)
        np.testing.assert_allclose(tapec.grad(space["f"])(W), 3 * of_helper + of_more)


def test_helpers_that_are_replaced_wrapped_and_given_attributes():
    space = _module(
        "tests_shared_helpers", "import numpy as np\ndef helper(v): return v**2\ndef cube(v): return v**3\n"
    )
    exec("def make(k): return lambda w: np.sum(k * helper(w))", space)
    square, cube = space["helper"], space["cube"]

    def wrapped(f):
        @functools.wraps(f)
        def inner(v):
            return f(v) * 2.0

        return inner

    def closure(k):
        return lambda v: v * k

    helpers = [square, cube, wrapped(square), wrapped(cube), closure(2.0), closure(3.0), closure(W), np.sin, cube]
    for _ in range(4):
        for helper in helpers:
            space["helper"] = helper
            alternate(space["make"], [(1.0,), (W,)], rounds=1)
    square.scale = 1.0
    space["helper"] = square
    alternate(space["make"], [(1.0,), (2.0,), (3.0,)])


def test_code_that_is_replaced_in_place():
    space = _module("tests_shared_code", "import numpy as np\ndef helper(v): return v**2\ndef cube(v): return v**3\n")
    exec("def make(k): return lambda w: np.sum(k * helper(w))", space)
    alternate(space["make"], [(1.0,), (2.0,), (3.0,)])
    before = space["helper"].__code__
    space["helper"].__code__ = space["cube"].__code__
    alternate(space["make"], [(1.0,), (2.0,), (3.0,)])
    space["helper"].__code__ = before
    alternate(space["make"], [(1.0,), (2.0,), (3.0,)])


def test_captured_transforms():
    def make(transform, k, power):
        g = transform(lambda w: np.sum(k * w**power))
        return lambda w: np.sum(g(w) ** 2)

    first = functools.partial(tapec.grad, argnums=(0,))
    cases = [(tapec.grad, 1.0, 3), (tapec.grad, 2.0, 3), (tapec.compile, 1.0, 3), (tapec.compile, W, 3)]
    cases += [(tapec.grad, W, 2), (lambda f: lambda w: first(f)(w)[0], 2.0, 3), (tapec.jacobian, 3.0, 3)]
    alternate(make, cases)


def test_captured_transforms_in_turn():
    one, two = tapec.grad(lambda w: np.sum(w**3)), tapec.grad(lambda w: np.sum(w**2))

    def make(g, k):
        return lambda w: np.sum(g(w) * k)

    alternate(make, [(one, 1.0), (two, 1.0), (one, 2.0), (two, W), (np.sin, 1.0), (one, W)])


def test_functions_that_ask_for_functions():
    def make(one, two):
        return lambda w: np.sum(one(w)) if one is two else np.sum(one(w) * two(w))

    def scaled(k):
        return lambda v: k * v

    a, b = scaled(2.0), scaled(3.0)
    alternate(make, [(a, a), (a, b), (b, b), (b, a), (scaled(2.0), a), (scaled(4.0), scaled(5.0))])

    def inside(one, two):
        asks = tapec.compile(lambda w: np.sum(one(w)) if one is two else np.sum(one(w) * two(w)))
        return lambda w: asks(w) * 2.0

    alternate(inside, [(a, a), (a, b), (b, b), (b, a), (scaled(2.0), a), (scaled(4.0), scaled(5.0))])


MODULE = """
import numpy as np
TABLE = np.array([1.0, 2.0, 3.0]) * {scale}
def helper(v):
    return TABLE * v ** {power}
def f(w):
    return np.sum(helper(w))
"""


def test_a_module_that_is_loaded_again(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    path, counts = tmp_path / "tests_shared_reloaded.py", []
    path.write_text(MODULE.format(scale=1.0, power=2))
    module = importlib.import_module("tests_shared_reloaded")
    for scale, power in [(1.0, 2)] * 4 + [(2.0, 2), (2.0, 3), (1.0, 3), (1.0, 2)]:
        path.write_text(MODULE.format(scale=scale, power=power))
        importlib.reload(module)
        found, count = traces(tapec.grad(module.f), W)
        np.testing.assert_allclose(found, power * scale * np.array([1.0, 2.0, 3.0]) * W ** (power - 1))
        counts.append(count)
        assert tapec.grad(module.f)(W) is not None
    assert sum(counts[:4]) == 1


def test_nothing_piles_up():
    def steps(n):
        for batch in batches(n):
            for form in FORMS:
                tapec.grad(form(batch))(W)
        gc.collect()
        return len(gc.get_objects())

    before = steps(5)
    assert steps(20) < before + 50


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda k, n, f: (k, n + 1, f), "n"),
        (lambda k, n, f: (np.ones(3), n, f), "k"),
        (lambda k, n, f: (k, n, lambda v: v**3), "f"),
        (lambda k, n, f: (k, n, np.sin), "f"),
    ],
)
def test_explain_says_what_is_another(change, told):
    def make(k, n, f):
        return lambda w: np.sum(k * f(w) ** n)

    usual = 2.0, 2, lambda v: v**2
    for _ in range(3):
        assert "is another" not in str(tapec.grad(make(*usual)).explain(W))
        tapec.grad(make(*usual))(W)
    found = tapec.grad(make(*change(*usual)))
    found(W)
    said = str(found.explain(W))
    assert said.count("is another than in a function of the same code before") == 1
    assert f"and {told} is another" in " ".join(said.split())


def test_functions_that_wrap_others():
    def doubled(f):
        @functools.wraps(f)
        def inner(*args, **kwargs):
            return 2 * f(*args, **kwargs)

        return inner

    def one(k):
        return lambda w, n=2: np.sum(k * w**n)

    def two(k):
        return lambda w, n=3: np.sum(k * w**n)

    def named(f, name):
        f.__name__ = f.__qualname__ = name
        return f

    makers = [watched, doubled, lambda f: doubled(watched(f)), lambda f: watched(doubled(f)), lambda f: f]
    makers += [lambda f: named(watched(f), "loss")]
    cases = [(one(1.0),), (two(1.0),), (one(W),), (two(2.0),), (one(3.0),)]
    for make in makers:
        alternate(make, cases, rounds=3)
        alternate(lambda f, make=make: by_captured_function(make(f)), cases, rounds=3)


def by_captured_function(f):
    return lambda w: f(w) * 2.0


def test_what_others_have_answered_is_pickled_and_exported(tmp_path):
    def make(k):
        return tapec.grad(lambda p: np.sum(k * p["w"] ** 2))

    params = {"w": W}
    for k in (1.0, 2.0, 3.0):
        g = make(k)
        np.testing.assert_allclose(g(params)["w"], 2 * k * W)
    assert g.cache_info().misses == 0
    np.testing.assert_allclose(pickle.loads(pickle.dumps(g))(params)["w"], 6 * W)
    g = make(4.0)
    g(params)
    g.export(tmp_path / "made.py", params)
    space = runpy.run_path(str(tmp_path / "made.py"))
    exported = next(f for name, f in space.items() if name.endswith("_grad"))
    np.testing.assert_allclose(exported(params)["w"], 8 * W)


def test_large_arguments_are_not_kept():
    def make(k):
        return tapec.grad(lambda p: np.sum(k * p["w"] ** 2))

    made = [make(float(k)) for k in range(5)]
    held = []
    for g in made:
        params = {"w": np.ones(200_000)}
        held.append(weakref.ref(params["w"]))
        g(params)
        del params
    gc.collect()
    assert not [r for r in held if r() is not None]


def test_zeros_of_another_sign():
    def make(k):
        def helper(v, k=k):
            return np.sum(v * (1.0 if np.copysign(1.0, k) > 0 else 2.0)) + np.sum(v) * k

        return lambda w: helper(w)

    alternate(make, [(0.0,), (-0.0,), (1.0,), (-0.0,), (np.float64(0.0),), (np.float64(-0.0),)])


def test_functions_that_are_keys():
    def one(k):
        return lambda v: v * k

    def make(a, b):
        return lambda w: np.sum(w) * {a: 3.0}.get(b, 1.0) * (2.0 if a == b else 5.0)

    f, g = one(1.0), one(2.0)
    for a, b in [(f, g), (g, f), (f, f), (g, g), (one(3.0), one(4.0)), (f, g)]:
        np.testing.assert_allclose(tapec.grad(make(a, b))(W), np.full(len(W), 6.0 if a is b else 5.0))
