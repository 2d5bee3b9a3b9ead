"""Standalone modules and pickles."""

import dataclasses
import os
import pickle
import subprocess
import sys
import textwrap
from collections import namedtuple

import numpy as np
import pytest

import tapec
from tests.properties import has

WITH_TAPEC = {**os.environ, "PYTHONPATH": os.path.dirname(os.path.dirname(tapec.__file__))}
W = np.linspace(-1.0, 1.0, 6).reshape(3, 2)
RATE = 0.5


def loss(params, x, power=2, mode="mean"):
    """Mean or summed power of a layer."""
    h = np.tanh(x @ params["w"] + params["b"]) @ W.T
    total = np.sum(h**power) * RATE
    return total / h.size if mode == "mean" else total


@pytest.fixture
def arguments(rng):
    return {"w": rng.normal(size=(4, 2)), "b": np.zeros(2)}, rng.normal(size=(5, 4))


def load(path, name):
    space = {"__name__": "exported"}
    exec(compile(path.read_text(), str(path), "exec"), space)
    return space[name], space


def assert_same(a, b):
    (va, ga), (vb, gb) = a, b
    assert va == vb
    for k in ga:
        np.testing.assert_array_equal(ga[k], gb[k])


def test_an_exported_gradient_runs_where_there_is_no_tapec(tmp_path, arguments):
    f = tapec.value_and_grad(loss)
    expected = f(*arguments)
    target = tmp_path / "gradient.py"
    f.export(target, *arguments)
    np.savez(tmp_path / "data.npz", w=arguments[0]["w"], b=arguments[0]["b"], x=arguments[1])
    script = textwrap.dedent(
        """
        import sys
        sys.modules["tapec"] = None
        import numpy as np
        from gradient import loss_value_and_grad
        d = np.load("data.npz")
        value, g = loss_value_and_grad({"w": d["w"], "b": d["b"]}, d["x"])
        print(repr(float(value)), repr(g["w"].tolist()))
        assert "Mean or summed power" in loss_value_and_grad.__doc__
        """
    )
    out = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert out.stdout.strip() == f"{float(expected[0])!r} {expected[1]['w'].tolist()!r}"


def test_it_is_the_same_to_the_byte_each_time(tmp_path, arguments):
    texts = []
    for k in range(2):
        f = tapec.grad(loss)
        f.export(tmp_path / f"m{k}.py", *arguments)
        texts.append((tmp_path / f"m{k}.py").read_text())
    assert texts[0] == texts[1]
    imports = [line for line in texts[0].splitlines() if line.startswith(("import", "from"))]
    assert set(imports) <= {"import numpy as np", "import math"}
    assert has(texts[0], "W = np.array(...)")


def test_names_tell_what_is_computed(tmp_path):
    for f, name in (
        (tapec.compile(loss), "loss"),
        (tapec.grad(loss), "loss_grad"),
        (tapec.value_and_grad(loss), "loss_value_and_grad"),
    ):
        f.export(tmp_path / "m.py", {"w": np.ones((4, 2)), "b": np.zeros(2)}, np.ones((5, 4)))
        load(tmp_path / "m.py", name)
    tapec.compile(lambda x: x * 2.0).export(tmp_path / "m.py", 1.0)
    function, _ = load(tmp_path / "m.py", "function")
    assert function(3.0) == 6.0


@pytest.mark.parametrize(
    "spoil, message",
    [
        (lambda p, x: (p, x.astype(np.float32)), r"x is float32\[5, 4\]; this code was generated for float64\[5, 4\]"),
        (lambda p, x: (p, x[:, :3]), r"x is float64\[5, 3\]"),
        (lambda p, x: ({"w": p["w"]}, x), "params must be a dict with the keys 'b', 'w'"),
        (lambda p, x: (p, x, 3.0), "power is float; this code was generated for int"),
        (lambda p, x: (p, x, 2, "sum"), "mode must be 'mean'"),
    ],
)
def test_other_arguments_are_refused(tmp_path, arguments, spoil, message):
    f = tapec.grad(loss)
    f.export(tmp_path / "m.py", *arguments)
    exported, _ = load(tmp_path / "m.py", "loss_grad")
    with pytest.raises(TypeError, match=message):
        exported(*spoil(*arguments))


def test_a_path_that_was_never_traced_names_its_condition(tmp_path):
    @tapec.grad
    def f(x):
        if np.sum(x) > 0:
            return np.sum(x * x)
        return np.sum(x)

    a = np.ones(3)
    f.export(tmp_path / "m.py", a)
    exported, _ = load(tmp_path / "m.py", "f_grad")
    np.testing.assert_array_equal(exported(a), [2.0, 2.0, 2.0])
    with pytest.raises(ValueError, match=r"never traced.*np\.sum\(x\) > 0"):
        exported(-a)
    f(-a)
    f.export(tmp_path / "m.py", a)
    exported, _ = load(tmp_path / "m.py", "f_grad")
    np.testing.assert_array_equal(exported(-a), [1.0, 1.0, 1.0])
    np.testing.assert_array_equal(exported(a), [2.0, 2.0, 2.0])


Point = namedtuple("Point", "x y")


def test_classes_of_arguments_come_back(tmp_path):
    f = tapec.grad(lambda p: p.x * p.y)
    f.export(tmp_path / "m.py", Point(2.0, 3.0))
    exported, _ = load(tmp_path / "m.py", "function_grad")
    assert exported(Point(2.0, 3.0)) == Point(3.0, 2.0)


@dataclasses.dataclass
class Layer:
    w: np.ndarray
    b: float


Pair = namedtuple("Pair", "w b")
V = np.array([1.0, -2.0, 3.0])
STRUCTURES = {
    "a list": ([V, 2.0], lambda p: [np.sum(p[0]) * p[1], p[0] * 2]),
    "a tuple": ((V, None), lambda p: (np.sum(p[0]), None, "as it is")),
    "a dict of lists": ({"w": [V, V], "b": 2.0}, lambda p: {"y": p["w"][0] * p["b"], "z": [p["w"][1], 3]}),
    "a named tuple": (Pair(V, 2.0), lambda p: np.sum(p.w) * p.b),
    "a dataclass": (Layer(V, 2.0), lambda p: np.sum(p.w) * p.b),
    "numbers without a literal": (
        V,
        lambda x: (np.minimum(x, np.inf), x * (1 - 2j), np.where(x > 0, x, np.nan)),
    ),
}


@pytest.mark.parametrize("name", STRUCTURES)
def test_structures_of_arguments_and_results(tmp_path, name):
    argument, f = STRUCTURES[name]
    tapec.compile(f).export(tmp_path / "structure.py", argument)
    exported, _ = load(tmp_path / "structure.py", "function")
    expected, found = (str(g(argument)).replace("np.float64", "") for g in (f, exported))
    assert found == expected
    if isinstance(argument, (list, tuple)) and type(argument) is not Pair:
        with pytest.raises(TypeError, match=f"must be a {type(argument).__name__} of 2"):
            exported((V,))


@pytest.mark.parametrize("number", [np.inf, -np.inf, np.nan, -0.0])
def test_defaults_and_statics_without_a_literal(tmp_path, number):
    def f(x, k=number, pair=(2.0, number)):
        return np.sum(np.minimum(x, k)) * pair[0]

    tapec.compile(f).export(tmp_path / "defaults.py", V)
    exported, _ = load(tmp_path / "defaults.py", "f")
    np.testing.assert_equal(exported(V), f(V))
    np.testing.assert_equal(exported(V, 2.0), f(V, 2.0))
    tapec.compile(f, static_argnames="k").export(tmp_path / "static.py", V, number)
    exported, space = load(tmp_path / "static.py", "f")
    np.testing.assert_equal(exported(V, number), f(V, number))
    with pytest.raises(space["Mismatch"], match="k must be"):
        exported(V, 3.0)


@pytest.mark.parametrize("result", [Pair, Layer])
def test_a_result_of_an_own_class_cannot_be_exported(tmp_path, result):
    with pytest.raises(tapec.errors.TapecError, match=f"a result of class {result.__name__} cannot be exported"):
        tapec.compile(lambda x: result(x, 2.0)).export(tmp_path / "own.py", V)


def test_variadic_and_keyword_arguments(tmp_path):
    def f(a, *rest, scale=2.0):
        return a * rest[0] * rest[1] * scale

    g = tapec.grad(f)
    g.export(tmp_path / "m.py", 1.0, 2.0, 3.0, scale=5.0)
    exported, _ = load(tmp_path / "m.py", "f_grad")
    assert exported(1.0, 2.0, 3.0, scale=7.0) == 42.0
    assert exported(1.0, 2.0, 3.0) == 12.0


def test_a_file_that_cannot_be_written_leaves_nothing(tmp_path):
    f = tapec.compile(lambda x: x * 2)
    for path in (tmp_path / "missing" / "m.py", tmp_path):
        with pytest.raises(OSError) as caught:
            f.export(path, 1.0)
        assert caught.value.filename == str(path)
    assert not list(tmp_path.parent.glob("*.part"))


def test_big_constants(tmp_path):
    big = np.random.default_rng(0).normal(size=(50, 7)).astype(np.float32)
    f = tapec.compile(lambda x: x @ big)
    f.export(tmp_path / "m.py", np.ones(50, np.float32))
    exported, _ = load(tmp_path / "m.py", "function")
    np.testing.assert_array_equal(exported(np.ones(50, np.float32)), f(np.ones(50, np.float32)))


def test_a_function_that_draws_cannot_be_exported(tmp_path):
    f = tapec.compile(lambda x: x * np.random.random())
    with pytest.raises(tapec.TapecError, match="cannot be exported: it draws random numbers"):
        f.export(tmp_path / "m.py", 1.0)
    assert not list(tmp_path.iterdir())


def test_pickles_serve_the_signatures_they_knew(arguments):
    f = tapec.value_and_grad(loss)
    expected = f(*arguments)
    g = pickle.loads(pickle.dumps(f))
    assert_same(g(*arguments), expected)
    again = pickle.loads(pickle.dumps(g))
    assert_same(again(*arguments), expected)
    assert [(h.__name__, h.__doc__) for h in (g, again)] == [(f.__name__, f.__doc__)] * 2
    with pytest.raises(tapec.TapecError, match=r"these signatures alone: \(params\['b'\]: f64\[2\], params"):
        g(arguments[0], arguments[1][:2])


def test_a_pickle_needs_neither_the_module_nor_a_trace(tmp_path, arguments):
    module = tmp_path / "users_module.py"
    module.write_text("import numpy as np\nimport tapec\n\n@tapec.grad\ndef f(x):\n    return np.sum(np.sin(x))\n")
    make = "import users_module as m, numpy as np, pickle; m.f(np.zeros(3)); pickle.dump(m.f, open('f.pkl', 'wb'))"
    subprocess.run([sys.executable, "-c", make], cwd=tmp_path, check=True, env=WITH_TAPEC)
    module.unlink()
    use = "import pickle, numpy as np; print(pickle.load(open('f.pkl', 'rb'))(np.zeros(3)))"
    run = subprocess.run(
        [sys.executable, "-c", use], cwd=tmp_path, capture_output=True, text=True, check=True, env=WITH_TAPEC
    )
    assert run.stdout.strip() == "[1. 1. 1.]"


def batch(rng, n, m):
    return rng.normal(size=m), rng.normal(size=(n, m)), rng.normal(size=n)


def residual_loss(w, x, y):
    return np.sum((np.tanh(x @ w) - y) ** 2)


def test_sizes_that_the_code_does_not_rely_on_are_free(tmp_path, rng):
    f = tapec.grad(residual_loss)
    f.export(tmp_path / "m.py", *batch(rng, 100, 30))
    g, space = load(tmp_path / "m.py", "residual_loss_grad")
    for n, m in ((100, 30), (7, 30), (1, 30), (200, 4)):
        args = batch(rng, n, m)
        np.testing.assert_allclose(g(*args), f(*args), rtol=1e-12)
    w, x, y = batch(rng, 7, 30)
    for args, message in [
        ((w, x, y[:1]), r"y.shape\[0\] must be x.shape\[0\]"),
        ((w[:9], x, y), r"x.shape\[1\] must be w.shape\[0\]"),
        ((w, x[0], y), r"x is float64\[30\]; this code was generated for float64\[any, any\]"),
    ]:
        with pytest.raises(space["Mismatch"], match=message):
            g(*args)


def mean_loss(w, x, y):
    return np.mean((np.tanh(x @ w) - y) ** 2)


def test_sizes_that_are_in_the_code_are_checked(tmp_path, rng):
    f = tapec.grad(mean_loss)
    f.export(tmp_path / "m.py", *batch(rng, 100, 30))
    g, space = load(tmp_path / "m.py", "mean_loss_grad")
    args = batch(rng, 100, 20)
    np.testing.assert_allclose(g(*args), f(*args), rtol=1e-12)
    with pytest.raises(
        space["Mismatch"], match=r"x is float64\[7, 20\]; this code was generated for float64\[100, any\]"
    ):
        g(*batch(rng, 7, 20))


def half(x):
    return np.sum(x) if len(x) > 50 else np.sum(x * x)


def test_sizes_that_the_function_asks_for_are_checked(tmp_path):
    tapec.grad(half).export(tmp_path / "m.py", np.ones(100))
    g, space = load(tmp_path / "m.py", "half_grad")
    with pytest.raises(space["Mismatch"], match=r"generated for float64\[100\]"):
        g(np.ones(40))
