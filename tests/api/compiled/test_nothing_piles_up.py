"""Functions, objects, shapes and paths that come and go leave nothing behind; what was captured is let go."""

import functools
import gc
import os
import subprocess
import sys
import textwrap
import types
import weakref

import numpy as np
import pytest

import tapec

W = np.array([0.1, 0.2, 0.3])
HELD = types.SimpleNamespace()


class Model:
    def __init__(self, k):
        self.w = np.full(3, 1.0 + k)
        self.params = {"w": np.full(3, 1.0 + k), "k": k}
        self.rows = [(np.full(3, 1.0 + k), k)]

    def loss(self, w):
        return np.sum(w * self.params["w"] * self.rows[0][0])

    def __call__(self, w):
        return np.sum(w * self.w)


def closure(k):
    b = np.full(3, 1.0 + k)
    return tapec.grad(lambda w: np.sum(w * b))(W)


def method(k):
    return tapec.grad(Model(k).loss)(W)


def instance(k):
    return tapec.value_and_grad(Model(k))(W)


def part(k):
    return tapec.grad(functools.partial(lambda w, b: np.sum(w * b), b=np.full(3, 1.0 + k)))(W)


def number(k):
    return tapec.grad(lambda w: np.sum(w) * k)(W)


def nested(k):
    b = np.full(3, 1.0 + k)
    return tapec.grad(lambda w: np.sum(tapec.grad(lambda v: np.sum(v**3 * b))(w)))(W)


def hessian_product(k):
    b = np.full(3, 1.0 + k)
    return tapec.hvp(lambda w: np.sum(w**3 * b))(W, W)


def tape(k):
    v = tapec.Variable(W + k)
    with tapec.GradientTape() as t:
        y = np.sum(v * np.full(3, 1.0 + k))
    return t.gradient(y, v)


of_object = tapec.grad(lambda w: np.sum(w * HELD.model.params["w"]))
of_function = tapec.grad(lambda w: HELD.loss(w))
of_shape = tapec.grad(lambda w: np.sum(w * w))
of_path = tapec.grad(lambda w, k: np.sum(w) if k % 2 == 0 else np.sum(w**2) if k % 3 == 0 else np.sum(w**3))
of_text = tapec.grad(lambda w: np.sum(w) * len(HELD.name))
of_log = tapec.grad(lambda w: np.sum(w) / len(HELD.log) * HELD.log[-1]["loss"])


def another_object(k):
    HELD.model = Model(k)
    return of_object(W)


def another_function(k):
    b = np.full(3, 1.0 + k)
    HELD.loss = lambda w: np.sum(w * b)
    return of_function(W)


def log(k):
    HELD.log = [{"loss": 1.0 + j} for j in range(k % 7 + 1)]
    return of_log(W)


def path(k):
    return of_path(W, float(k))


# these compile something at each call
def shape(k):
    return of_shape(np.ones(k + 1))


def text(k):
    HELD.name = f"name {k}"
    return of_text(W)


def code(k):
    space = {"np": np}
    exec(f"def loss(w): return np.sum(w * {float(k)})", space)
    return tapec.grad(space["loss"])(W)


def of_class(k):
    class Layer:
        def __init__(self):
            self.w = np.full(3, 1.0 + k)

        def loss(self, w):
            return np.sum(w * self.w)

    return tapec.grad(Layer().loss)(W)


FOUND = [closure, method, instance, part, number, nested, hessian_product, tape]
FOUND += [another_object, another_function, log, path]
COMPILED = [shape, text, code, of_class]


def left_by(run, first, more):
    """Return how many more objects there are after more calls."""
    for k in range(first):
        run(k)
    gc.collect()
    before = len(gc.get_objects())
    for k in range(first, first + more):
        run(k)
    gc.collect()
    return len(gc.get_objects()) - before


@pytest.mark.parametrize("run", FOUND, ids=lambda run: run.__name__)
def test_what_is_found_again_leaves_nothing(run):
    """Bounded tables may still be filling in the first hundreds of calls; what leaks one object a call always does."""
    windows = (left_by(lambda k, first=first: run(k + first), 30, 60) for first in range(0, 900, 90))
    assert any(left < 30 for left in windows)


@pytest.mark.parametrize("run", COMPILED, ids=lambda run: run.__name__)
@pytest.mark.filterwarnings("ignore:.*more than")
def test_what_is_compiled_is_bounded(run):
    with tapec.settings(cache_size=4, path_limit=8):
        assert (
            left_by(run, 25, 25) < 50 * 25
        )  # templates of source text, of which 8192 are kept; a program has hundreds


@pytest.mark.thorough
@pytest.mark.parametrize("run", [*FOUND, *COMPILED], ids=lambda run: run.__name__)
def test_memory(run):
    """At most 50 MB more than after the first thousand, in a process of its own."""
    times = 100_000 if run in FOUND else 3_000
    program = f"""
        import gc, warnings
        from tests.api.compiled import test_nothing_piles_up as here
        warnings.simplefilter("ignore")
        def megabytes():
            gc.collect()
            with open("/proc/self/statm") as f:
                return int(f.read().split()[1]) * 4096 / 1e6
        for k in range(1000):
            here.{run.__name__}(k)
        before = megabytes()
        for k in range(1000, {times}):
            here.{run.__name__}(k)
        print(megabytes() - before)
    """
    if not os.path.exists("/proc/self/statm"):
        pytest.skip("the system does not tell the memory of a process in /proc")  # there is nothing to compare
    command = [sys.executable, "-c", textwrap.dedent(program)]
    told = subprocess.run(command, capture_output=True, text=True, check=True)
    assert float(told.stdout) < 50.0


def captured(k):
    """Return what a function may capture, and the array in it."""
    b = np.full(3, 1.0 + k)
    model = Model(k)
    model.w = b
    return {
        "array": (b, lambda w, x: np.sum(w * x)),
        "list": ([b, k], lambda w, x: np.sum(w * x[0])),
        "tuple": ((b, k), lambda w, x: np.sum(w * x[0])),
        "dict": ({"b": b}, lambda w, x: np.sum(w * x["b"])),
        "object": (model, lambda w, x: np.sum(w * x.w)),
        "callable object": (model, lambda w, x: x(w)),
        "method": (model.__call__, lambda w, x: x(w)),
        "key": (model, lambda w, x: np.sum(w * x.w) * len({x: 1})),
    }, b


@pytest.mark.parametrize("name", captured(0)[0])
def test_what_was_captured_is_let_go(name):
    held = types.SimpleNamespace()
    read = captured(0)[0][name][1]
    g = tapec.grad(lambda w: read(w, held.x))
    arrays = []
    for k in range(5):
        found, b = captured(k)
        held.x = found[name][0]
        arrays.append(weakref.ref(b))
        for _ in range(2):
            np.testing.assert_allclose(g(W), np.full(3, 1.0 + k))
        del found, b
    gc.collect()
    assert [x() is None for x in arrays] == [True] * 4 + [False]


@pytest.mark.parametrize("transform", [lambda f: f, tapec.grad])
def test_functions_that_were_captured_are_let_go(transform):
    held = types.SimpleNamespace()
    g = tapec.grad(lambda w: np.sum(held.f(w) * 1.0))
    arrays = []

    def make(b):
        return transform(lambda w: np.sum(w**2 * b))

    for k in range(6):
        b = np.full(3, 1.0 + k)
        held.f = make(b)
        arrays.append(weakref.ref(b))
        for _ in range(2):
            np.testing.assert_allclose(g(W), 2 * b * (W if transform is not tapec.grad else 1.0))
        del b
    gc.collect()
    assert sum(x() is not None for x in arrays) <= 3  # the first two gave code
    assert g.cache_info().compilations <= 3


def test_the_least_useful_go_first():
    f = tapec.grad(lambda w: np.sum(w * w))
    with tapec.settings(cache_size=3):
        for k in range(1, 12):
            f(np.ones(2)), f(np.ones(k + 2))
        before = f.cache_info()
        assert before.size <= 3 and before.misses == 12
        f(np.ones(2))
        assert f.cache_info().misses == before.misses, "what is used at each turn is kept"
        f(np.ones(3))
        assert f.cache_info().misses == before.misses + 1


def test_counts():
    def step(k):
        b = np.full(3, 1.0 + k)
        g = tapec.grad(lambda w: np.sum(w * b))
        g(W)
        return g.cache_info()

    counts = [step(k) for k in range(6)]
    assert sum(c.compilations for c in counts) <= 2
    assert all(c.hits == 1 and c.misses == 0 for c in counts[2:])


CHANGES = [
    (lambda c: c.layers[0].update(act="relu"), "net.layers[0]['act'] is 'relu', was 'tanh'"),
    (lambda c: c.config.update(extra=1), "'extra' in net.config is True, was False"),
    (lambda c: setattr(c, "on", False), "net.on is False, was True"),
    (lambda c: c.rows.append(4), "len(net.rows) is 4, was 3"),
    (lambda c: c.rows.__setitem__(0, 2.0), "net.rows[0] is 2.0, was 1"),
    (lambda c: c.layers.append({}), "len(net.layers[1:]) is 1, was 0"),
    (lambda c: c.layers[0].update(w=np.ones((2, 3))), "net.layers[0]['w'] is no longer f64[3]"),
    (lambda c: c.layers[0].pop("act"), "'act' in net.layers[0] is False, was True"),
    (lambda c: setattr(c, "layers", tuple(c.layers)), "type of net.layers is <class 'tuple'>, was <class 'list'>"),
]


@pytest.mark.parametrize(("change", "told"), CHANGES)
def test_explain_tells_what_differs_by_its_name(change, told):
    layer = {"w": np.ones(3), "act": "tanh"}
    net = types.SimpleNamespace(layers=[layer], config={}, on=True, rows=[1, 2, 3])

    def f(w):
        first = net.layers[0]
        y = np.sum(w * first["w"]) * (2.0 if first.get("act") == "tanh" else 1.0)
        y = y * 3.0 if "extra" in net.config and net.on else y
        for row in net.rows if net.on else []:
            y = y + row * np.sum(w)
        return y * 2.0 if net.layers[1:] else y

    g = tapec.grad(f)
    g(W)
    change(net)
    g(W)
    assert f"captured state changed: {told}" in " ".join(str(g.explain(W)).split())
