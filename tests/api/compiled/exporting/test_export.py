"""Standalone modules and pickles."""

import dataclasses
import datetime
import enum
import fractions
import functools
import inspect
import os
import pickle
import re
import subprocess
import sys
import textwrap
from collections import namedtuple

import numpy as np
import pytest

import tapec
from tapec.api.compiled.exporting.source_literals import constant_text
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
    assert_same(g(arguments[0], arguments[1][:2]), f(arguments[0], arguments[1][:2]))  # `loss` can be imported
    f = tapec.value_and_grad(lambda params, x: loss(params, x))
    f(*arguments)
    g = pickle.loads(pickle.dumps(f))
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


MODEL = """
import enum, numpy as np, tapec, threading
from collections import namedtuple

class Part(enum.Enum):
    A = 1

Pair = namedtuple("Pair", "a b")

@tapec.grad
def slope(x):
    return np.sum(x ** 2) if np.sum(x) > 0 else np.sum(x ** 3)

def plain(x, k=1):
    return np.sum(x ** 2) if np.sum(x) > 0 else np.sum(x ** 3) * k

GRADIENT = tapec.value_and_grad(plain, argnums=(0,), static_argnames="k")
PRODUCT = tapec.hvp(plain)
PATTERN = tapec.jacobian(lambda x: x * x if x[0] > 0 else x[::-1] * x, sparse=True)

class Model:
    @staticmethod
    @tapec.grad
    def slope(x):
        return slope(x) @ x

    @tapec.compile
    def value(self, x):
        return np.sum(x * self.w)

@tapec.compile
def pair(x):
    return Pair(x, 2 * x)
"""
CALLS = {
    "slope": "model.slope, [(x,), (-x,), (x[:2],)]",
    "an assigned one": "model.GRADIENT, [(x,), (-x,), (x, 5), (-x, 5)]",
    "a local one of a function": "tapec.jacobian(model.plain), [(x,), (-x,)]",
    "one that takes more arguments": "model.PRODUCT, [(x, x), (-x, x), (x[:2], x[:2])]",
    "a sparse one": "model.PATTERN, [(x,), (-x,), (x[:2],)]",
    "of a class": "model.Model.slope, [(x,), (-x,)]",
    "one whose result has no source": "model.pair, [(x,), (x[:2],)]",
    "one that was never called": "tapec.hessian(model.plain), [(x,)]",
}


@pytest.fixture(scope="module")
def in_a_pool(tmp_path_factory):
    """All functions of `CALLS`, called once here and for each arguments in a spawned process, and what they gave."""
    folder = tmp_path_factory.mktemp("pool")
    (folder / "model.py").write_text(MODEL)
    main = f"""
        import multiprocessing, pickle, numpy as np, model, tapec

        def called(f, args):
            found = f(*args)
            return found.toarray() if hasattr(found, "toarray") else found

        if __name__ == "__main__":
            x, results = np.arange(1.0, 4.0), {{}}
            with multiprocessing.get_context("spawn").Pool(1) as pool:
                for name, text in {CALLS!r}.items():
                    f, calls = eval(text)
                    if "never" not in name:
                        f(*calls[0])
                    f(*calls[0])
                    results[name] = pool.starmap(called, [(f, args) for args in calls]), [called(f, a) for a in calls]
            with open("results.pkl", "wb") as file:
                pickle.dump(results, file)
        """
    (folder / "main.py").write_text(textwrap.dedent(main))
    subprocess.run([sys.executable, "main.py"], cwd=folder, check=True, env=WITH_TAPEC)
    sys.path.insert(0, str(folder))
    try:
        yield pickle.loads((folder / "results.pkl").read_bytes())
    finally:
        sys.path.remove(str(folder))
        sys.modules.pop("model", None)


@pytest.mark.parametrize("name", CALLS)
def test_a_pool_of_spawned_processes_calls_functions_with_anything(in_a_pool, name):
    found, wanted = in_a_pool[name]
    agree(found, wanted)


def test_what_a_pickle_does_not_know_is_told_where_nothing_can_be_imported(tmp_path):
    (tmp_path / "gone.py").write_text(MODEL)
    make = """
        import gone, numpy as np, pickle
        x = np.ones(3)
        gone.slope(x)
        pickle.dump([gone.slope, gone.tapec.grad(lambda x: gone.plain(x))], open("f.pkl", "wb"))
        """
    subprocess.run([sys.executable, "-c", textwrap.dedent(make)], cwd=tmp_path, check=True, env=WITH_TAPEC)
    (tmp_path / "gone.py").unlink()
    slope, unnamed = pickle.loads((tmp_path / "f.pkl").read_bytes())
    np.testing.assert_array_equal(slope(np.ones(3)), 2 * np.ones(3))
    named = "gone.slope cannot be imported: No module named 'gone'"
    with pytest.raises(tapec.TapecError, match=rf"slope_grad was .*these signatures alone: \(x: f64\[3\]\); {named}"):
        slope(np.ones(2))
    with pytest.raises(tapec.TapecError, match=rf"slope_grad was .*never traced .*np\.sum\(x\) > 0; {named}"):
        slope(-np.ones(3))
    with pytest.raises(tapec.TapecError, match=rf"slope_grad was .*argument is recorded; {named}"):
        tapec.grad(lambda x: np.sum(slope(x)))(np.ones(3))
    with pytest.raises(tapec.TapecError, match="these signatures alone: none; no module has it by a name"):
        unnamed(np.ones(3))


@tapec.grad
def of_this_file(x):
    return np.sum(x**2) if np.sum(x) > 0 else np.sum(x**3)


def test_a_pickle_looks_through_the_function_that_it_imports(tmp_path):
    of_this_file(V**2)
    saved = pickle.loads(pickle.dumps(of_this_file))
    for twin in (saved, pickle.loads(pickle.dumps(saved))):
        np.testing.assert_array_equal(twin(-(V**2)), of_this_file(-(V**2)))
        derivative = tapec.grad(lambda x: np.sum(twin(x)))(V**2)  # noqa: B023
        np.testing.assert_array_equal(derivative, 2 * np.ones(3))
        assert type(twin(tapec.constant(-V))) is tapec.Tensor is type(twin(tapec.constant(V[:2])))
        assert twin.ir(V**2).nodes and twin.locate(V**2)[1] is not None and twin.generated(V**2)
        assert "f64[2]" in str(twin.explain(V[:2]))
        twin.export(tmp_path / "m.py", V[:2])
        assert "_array(x, 'x', (2,), 'float64')" in (tmp_path / "m.py").read_text()
        assert re.search(r"^def of_this_file_grad\(", twin.source(V[:2]), re.MULTILINE)


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
    f = tapec.grad(lambda x: np.sum(x.reshape(4, 25) ** 2 * np.arange(25.0)))
    f.export(tmp_path / "m.py", np.ones(100))
    g, space = load(tmp_path / "m.py", "function_grad")
    np.testing.assert_allclose(g(np.arange(100.0)), f(np.arange(100.0)), rtol=1e-12)
    with pytest.raises(space["Mismatch"], match=r"x is float64\[75\]; this code was generated for float64\[100\]"):
        g(np.ones(75))


def test_a_signal_shorter_than_its_filter_is_refused_by_the_gradient_alone(tmp_path):
    smooth = lambda x: np.convolve(x, np.array([0.25, 0.5, 0.25]), "same")
    tapec.compile(smooth).export(tmp_path / "m.py", np.ones(64))
    f, _ = load(tmp_path / "m.py", "function")
    for n in (1, 2, 80):
        np.testing.assert_allclose(f(np.ones(n)), smooth(np.ones(n)), rtol=1e-12)
    tapec.grad(lambda x: np.sum(smooth(x) ** 2)).export(tmp_path / "g.py", np.ones(64))
    g, space = load(tmp_path / "g.py", "function_grad")
    with pytest.raises(space["Mismatch"], match=r"generated for float64\[64\]"):
        g(np.ones(1))


def test_sizes_that_the_code_reads_from_arguments_may_be_any(tmp_path, rng):
    f = tapec.grad(mean_loss)
    f.export(tmp_path / "m.py", *batch(rng, 100, 30))
    g, _ = load(tmp_path / "m.py", "mean_loss_grad")
    for sizes in (100, 20), (7, 20), (1, 3), (300, 30):
        args = batch(rng, *sizes)
        np.testing.assert_allclose(g(*args), f(*args), rtol=1e-12)


def half(x):
    return np.sum(x) if len(x) > 50 else np.sum(x * x)


def test_sizes_that_the_function_asks_for_are_checked(tmp_path):
    tapec.grad(half).export(tmp_path / "m.py", np.ones(100))
    g, space = load(tmp_path / "m.py", "half_grad")
    with pytest.raises(space["Mismatch"], match=r"generated for float64\[100\]"):
        g(np.ones(40))


# -- names, keys and texts that Python or the module itself takes for another thing -----------------------------------
HOSTILE = ["_array", "_number", "_require", "Mismatch", "math", "r", "type", "isinstance", "tuple", "x_"]
HOSTILE += ["f_grad", "f_grad_of_leaves", "f_grad_of_arguments", "params_w", "scipy", "aligned", "_is", "key", "θ"]


def function_of(text, name="f", **space):
    exec(text, space := {"np": np, **space})
    return space[name]


def exported(tmp_path, f, *arguments, **keywords):
    f.export(tmp_path / "m.py", *arguments, **keywords)
    text = (tmp_path / "m.py").read_text()
    space = {"__name__": "exported"}
    exec(compile(text, "m.py", "exec"), space)
    return space[space["__all__"][0]], space


def agree(found, wanted):
    assert str(found).replace("np.float64", "") == str(wanted).replace("np.float64", "")


@pytest.mark.parametrize("name", HOSTILE)
def test_parameters_have_any_name(tmp_path, name):
    for head, use in [(f"{name}, params", name), (f"params, *{name}", f"{name}[0]"), (f"params, *, {name}", name)]:
        f = function_of(f"def f({head}): return np.sum({use} * params['w'] * len(params)) * {use}.size")
        g = tapec.value_and_grad(f, argnums="params" if "*, " in head else 0)
        args, kwargs = ({"w": V}, V + 1.0), {}
        if head.startswith(name):
            args = args[::-1]
        elif "*, " in head:
            args, kwargs = args[:1], {name: args[1]}
        found, space = exported(tmp_path, g, *args, **kwargs)
        agree(found(*args, **kwargs), g(*args, **kwargs))
        with pytest.raises(space["Mismatch"], match="params"):
            found(*[5.0 if type(a) is dict else a for a in args], **kwargs)


@pytest.mark.parametrize("name", ["np", "len"])
def test_parameters_hide_what_the_function_does_not_use(tmp_path, name):
    f = tapec.value_and_grad(function_of(f"def f(w, {name}): return (w['a'] * {name}) @ {name}"))
    found, space = exported(tmp_path, f, {"a": V}, V)
    agree(found({"a": V}, V), f({"a": V}, V))
    agree(found(**{"w": {"a": V}, name: V}), f({"a": V}, V))
    with pytest.raises(space["Mismatch"], match=f"^{name} is float64"):
        found({"a": V}, V[:2])


@pytest.mark.parametrize(
    "name", ["np", "_array", "Mismatch", "list", "zip", "aligned", "_private", "lambda", "a b", "²", ""]
)
def test_functions_have_any_name(tmp_path, name):
    def f(x):
        return np.sum(x * x)

    f.__name__ = f.__qualname__ = name
    for transform in (tapec.compile, tapec.grad):
        g = transform(f)
        found, space = exported(tmp_path, g, V)
        agree(found(V), g(V))
        assert found.__name__ == space["__all__"][0]
        with pytest.raises(space["Mismatch"]):
            found(3)
        agree(pickle.loads(pickle.dumps(g))(V), g(V))


def test_a_parameter_does_not_take_the_place_of_what_another_holds(tmp_path):
    f = tapec.compile(lambda params, params_w, params_w2: params["w"] * params_w + params_w2)
    found, _ = exported(tmp_path, f, {"w": 2.0}, 3.0, 5.0)
    assert found({"w": 2.0}, 3.0, 5.0) == 11.0


def test_names_that_python_reads_as_one_are_two(tmp_path):
    config = {"µ": 2.0, "μ": 3.0}  # the micro sign and the Greek letter
    one = tapec.compile(lambda x: x * np.exp(next(iter(config.values()))) + np.exp(list(config.values())[1]))
    two = tapec.compile(lambda x, p: x * np.exp(p["µ"]) + np.exp(p["μ"]))
    for f, arguments in ((one, (V,)), (two, (V, config))):
        found, _ = exported(tmp_path, f, *arguments)
        agree(found(*arguments), f(*arguments))


@pytest.mark.parametrize(
    "key", ["lambda", "class", "m²", "½", "a b", "", "0", "it's", 'say "x"', "\n", "\\", "\ud800", "np"]
)
def test_captured_keys_of_any_text(tmp_path, key):
    config = {key: 0.5}
    f = tapec.grad(lambda x: np.sum(x**2) * next(iter(config.values())))
    found, _ = exported(tmp_path, f, V)
    agree(found(V), f(V))
    compile(f.source(V), "source", "exec")
    agree(pickle.loads(pickle.dumps(f))(V), f(V))


class Part(enum.Enum):
    A = 1
    B = "two"


class Kind(enum.IntEnum):
    A = 1


class Loud(enum.Enum):
    A = 1

    def __repr__(self):
        return f"Loud at {id(self):#x}"


KEYS = [
    "lambda",
    "\\",
    'end"',
    "\ud800",
    3,
    -1,
    True,
    None,
    1.5,
    np.inf,
    -np.inf,
    np.nan,
    2j,
    b"x",
    (1, "a"),
    (),
    np.int64(3),
]
KEYS += [np.float32(0.5), Part.A, Kind.A, Loud.A, (Part.A, 2), frozenset({1}), range(3), fractions.Fraction(1, 3), int]
KEYS += [np.float32, datetime.date(2020, 1, 2), (np.nan, Part.B), Point(1, Part.A)]


def name_of(value):
    """Name a case without addresses: all processes that share the tests must collect the same names."""
    return re.sub(r" at 0x[0-9a-f]+", "", repr(value))


@pytest.mark.parametrize("key", KEYS, ids=name_of)
def test_keys_of_any_kind(tmp_path, key):
    f = tapec.value_and_grad(lambda p: np.sum(list(p.values())[1] ** 2) + p["other"])
    argument = {"other": 2.0, key: V}
    for found in (exported(tmp_path, f, argument)[0], pickle.loads(pickle.dumps(f))):
        (value, gradient), wanted = found(argument), f(argument)
        assert value == wanted[0]
        assert [k is w or (k == w and type(k) is type(w)) for k, w in zip(gradient, wanted[1], strict=True)] == [
            True
        ] * 2
        np.testing.assert_array_equal(gradient[key], 2 * V)
    found, space = exported(tmp_path, f, argument)
    for other in ({"other": 2.0, "wrong": V}, {"other": 2.0}, 3.0):
        with pytest.raises(space["Mismatch"], match=r"^p must be a dict with the key"):
            found(other)


class Node:
    pass


def test_keys_that_no_text_tells_are_refused(tmp_path):
    for key in (Node(), lambda: 0, object(), (Node(),)):
        f = tapec.compile(lambda p, key=key: p[key] * 2.0, static_argnames="key")
        with pytest.raises(tapec.TapecError, match="a key of class .* cannot be exported"):
            tapec.compile(lambda p: next(iter(p.values())) * 2.0).export(tmp_path / "m.py", {key: 3.0})
    f = tapec.compile(lambda x: {Part.A: x})
    with pytest.raises(tapec.TapecError, match="a key of a result of class Part cannot be exported"):
        f.export(tmp_path / "m.py", V)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "doc",
    [
        'ends with "a quote"',
        "ends with a backslash \\",
        '"begins',
        '"""',
        'a"""b""""',
        "'''",
        "\\",
        '"',
        "\x00 \x0c \r \u2028 \ud800 \t",
        'two\nlines "and"',
        "two\nlines\\",
        "two\n    lines\n\n    more\n",
        "{x} %s \\N{DIGIT ONE} \\x41",
    ],
)
def test_docstrings_stay_text(tmp_path, doc):
    def f(x):
        return np.sum(x * x)

    f.__doc__ = doc
    found, _ = exported(tmp_path, tapec.grad(f), V)
    assert inspect.getdoc(found).strip() == inspect.cleandoc(doc).strip().replace("\ud800", "\ufffd")
    again = pickle.loads(pickle.dumps(tapec.grad(f)))
    assert again.__doc__.startswith(inspect.cleandoc(doc).strip())


@pytest.mark.parametrize(
    "value, others",
    [
        (Part.A, [Part.B, 1, "Part.A"]),
        (1, [1.0, True, 2]),
        (0.0, [-0.0, 0, False]),
        (np.nan, [0.0, None]),
        ("mean", ["sum", None]),
        (None, [0, False]),
        (True, [1, 1.0]),
        (np.tanh, [np.sinh, "tanh"]),
        (np.float32, [np.float64]),
        (os.path.join, [os.path.split]),
        ((1, Part.A), [(1, Part.B), (1.0, Part.A)]),
        (slice(1, 2), [slice(1, 3)]),
        (np.dtype("f4"), [np.dtype("f8")]),
        (np.float32(2.0), [2.0, np.float64(2.0)]),
    ],
    ids=name_of,
)
def test_static_arguments_are_compared(tmp_path, value, others):
    f = tapec.compile(lambda x, how: x * 2.0, static_argnames="how")
    found, space = exported(tmp_path, f, V, value)
    agree(found(V, value), f(V, value))
    for other in others:
        with pytest.raises(space["Mismatch"], match="how must be"):
            found(V, other)


def test_a_static_argument_that_no_text_tells_may_be_left_out_alone(tmp_path):
    f = tapec.compile(lambda x, act=lambda v: v * 2.0, k=3.0: act(x) * k, static_argnames="act")
    found, space = exported(tmp_path, f, V)
    agree(found(V), f(V))
    agree(found(V, k=2.0), f(V, k=2.0))
    with pytest.raises(space["Mismatch"], match="act must be left out"):
        found(V, lambda v: v)
    with pytest.raises(tapec.TapecError, match="no text tells the value of act"):
        f.export(tmp_path / "m.py", V, lambda v: v)


def test_defaults_that_have_no_source_are_left_out(tmp_path):
    def f(x=2.0, w={"a": 1.0}, k=V, *, s=[1.0], t=3.0):  # noqa: B006
        return x * w["a"] * k * s[0] * t

    g = tapec.compile(f)
    found, _ = exported(tmp_path, g, 2.0)
    agree(found(2.0, {"a": 1.0}, s=[1.0]), g(2.0))
    assert str(inspect.signature(found)).startswith("(x, w, k=")


def test_functions_without_a_signature(tmp_path):
    f = tapec.compile(np.hypot)
    found, _ = exported(tmp_path, f, V, V)
    agree(found(V, V), f(V, V))


def test_keywords_that_are_no_names_are_refused(tmp_path):
    f = tapec.compile(lambda x, **more: x * sum(more.values()))
    found, _ = exported(tmp_path, f, 2.0, a=3.0)
    assert found(2.0, a=3.0) == 6.0
    with pytest.raises(tapec.TapecError, match="'a b' cannot be the name of a parameter"):
        f.export(tmp_path / "m.py", 2.0, **{"a b": 3.0})


@dataclasses.dataclass
class Checked:
    w: np.ndarray
    made: bool = dataclasses.field(default=False, init=False)

    def __post_init__(self):
        self.w = self.w + 100.0


def test_a_dataclass_comes_back_without_its_constructor(tmp_path):
    f = tapec.grad(lambda p: np.sum(p.w**2))
    argument = Checked(V)
    found, space = exported(tmp_path, f, argument)
    np.testing.assert_array_equal(found(argument).w, 2 * (V + 100.0))
    with pytest.raises(space["Mismatch"], match="p must be of class Checked"):
        found(Point(1.0, 2.0))


@pytest.mark.parametrize("dtype", "?bBhHiIlLefdgFDG")
@pytest.mark.parametrize("shape", [(), (0,), (0, 3), (3, 0), (1,), (2, 3), (40, 3)])
def test_constants_of_any_type(dtype, shape):
    values = np.resize(np.array([0, 1, 0.1, 3], "g").astype(dtype), shape).copy()
    if values.dtype.kind in "fc" and values.size > 5:
        values.flat[:5] = [np.inf, -np.inf, np.nan, -0.0, np.finfo(dtype).tiny]
    if values.dtype.kind == "c" and values.size > 5:
        values.flat[5] = complex(-0.0, -np.inf)
    ranges = (np.arange(shape[0]).astype(dtype), np.eye(shape[0], dtype=dtype)) if shape else ()
    for value in (values, values[()], np.asfortranarray(values), values[..., ::-1] if shape else values, *ranges):
        found = eval(constant_text(value), {"np": np})
        assert (np.shape(found), found.dtype) == (np.shape(value), value.dtype)
        np.testing.assert_array_equal(found, value)
        np.testing.assert_array_equal(np.signbit(np.real(found)), np.signbit(np.real(value)))


@tapec.compile
def means_of_rows(x):
    return tapec.scan(lambda total, row: (total + np.mean(row[:50] ** 2), total), 0.0, x)[0]


def test_slices_need_axes_that_are_as_long(tmp_path):
    """Where an axis is shorter, a slice has fewer elements than the code was generated for."""

    def first(x):
        return np.mean(x[:100] ** 2)

    def bent(u, m):
        return np.sum((u[2:] - 2.0 * u[1:-1] + u[:-2] - m) ** 2)

    found, _ = exported(tmp_path, tapec.grad(first), np.ones(200))
    for n in (100, 101, 300):
        np.testing.assert_array_equal(found(np.ones(n)), tapec.grad(first)(np.ones(n)))
    with pytest.raises(TypeError, match=r"x.shape\[0\] must be at least 100"):
        found(np.ones(50))
    found, _ = exported(tmp_path, tapec.grad(bent), np.ones(300), 0.5)
    for n in (2, 3, 40, 301):
        u = np.sin(np.arange(float(n)))
        np.testing.assert_allclose(found(u, 0.5), tapec.grad(bent)(u, 0.5), rtol=1e-12)
    with pytest.raises(TypeError, match="must be at least 2"):
        found(np.ones(1), 0.5)


def long_mean(x, y):
    a = np.tanh(x * y)
    return np.mean(a * np.exp(-x * x) + np.log1p(y * y) * np.sin(a))


@pytest.mark.parametrize("transform", [tapec.compile, tapec.value_and_grad])
@pytest.mark.parametrize(
    ("f", "n", "dtype"),
    [
        (long_mean, 300_007, float),
        (lambda x, y: np.mean((x - y) ** 2), 50, float),
        (lambda x, y: np.sum(np.tanh(x * y) * np.exp(-x * x) + np.log1p(y * y)), 1_000_003, np.float32),
    ],
)
def test_axes_without_elements_give_what_numpy_gives_or_are_refused(tmp_path, transform, f, n, dtype):
    """Sums over blocks start with a number of Python's, which a length of zero would be divided by."""
    x, y = np.linspace(-1.0, 1.0, 2 * n).reshape(2, n).astype(dtype)
    found, _ = exported(tmp_path, transform(f), x, y)
    got = found(x[:9], y[:9])
    np.testing.assert_allclose(got if transform is tapec.compile else got[0], f(x[:9], y[:9]), rtol=1e-5)
    if transform is tapec.compile and n == 50:
        with np.errstate(invalid="ignore"):
            assert np.isnan(found(x[:0], y[:0]))
        return
    with pytest.raises(TypeError, match=r"x.shape\[0\] must be at least 1$"):
        found(x[:0], y[:0])


@pytest.mark.parametrize(
    ("f", "generated_for", "other"),
    [
        (tapec.grad(lambda x: np.mean(x[1:][:50] ** 2)), [(200,)], [(40,)]),
        (tapec.grad(lambda x, y: np.mean(x[1:][:50] ** 2) * np.sum(y)), [(200,), (199,)], [(40,), (199,)]),
        (tapec.vmap(lambda x: np.mean(x[:50] ** 2)), [(70, 200)], [(70, 40)]),
        (means_of_rows, [(60, 200)], [(60, 40)]),
    ],
)
def test_slices_of_axes_that_no_argument_has(tmp_path, f, generated_for, other):
    """Such as those of a part, of an example, and of a row in a loop: the module takes no other lengths."""
    given, others = (
        [np.linspace(0.1, 1.0, np.prod(n)).reshape(n) for n in shapes] for shapes in (generated_for, other)
    )
    found, _ = exported(tmp_path, f, *given)
    np.testing.assert_allclose(found(*given), f(*given), rtol=1e-12)
    with pytest.raises(TypeError, match="was generated for"):
        found(*others)


def test_one_array_for_two_parameters_must_be_one_in_the_module(tmp_path):
    """Nobody differentiates by one of them alone in a compiled function: they are one input there."""

    def f(a, b):
        return np.sum(a * b) + 10 * np.ravel(b)[0]

    x, y = np.array([1.0, 2.0, 3.0]), np.array([5.0, 6.0, 7.0])
    tapec.compile(f).export(tmp_path / "m.py", x, x)
    g, space = load(tmp_path / "m.py", "f")
    assert g(x, x) == f(x, x) and g(y, y) == f(y, y)
    with pytest.raises(space["Mismatch"], match="b must be the array that a is"):
        g(x, y)
    tapec.compile(f).export(tmp_path / "n.py", np.float64(2.0), np.float64(3.0))
    g, _ = load(tmp_path / "n.py", "f")
    assert g(np.float64(4.0), np.float64(5.0)) == f(4.0, 5.0)
    tapec.grad(f, argnums=(0, 1)).export(tmp_path / "d.py", x, x)
    g, _ = load(tmp_path / "d.py", "f_grad")
    np.testing.assert_array_equal(g(x, y), tapec.grad(f, argnums=(0, 1))(x, y))


def test_the_keys_of_a_dict_must_come_in_the_order_that_was_traced(tmp_path):
    def f(p):
        total = 0.0
        for k, v in enumerate(p.values()):
            total = total + (k + 1) * np.sum(v**2)
        return total

    p = {"b": np.array([1.0]), "a": np.array([10.0])}
    tapec.grad(f).export(tmp_path / "m.py", p)
    g, space = load(tmp_path / "m.py", "f_grad")
    assert list(g(p)) == ["b", "a"] and g(p)["a"] == tapec.grad(f)(p)["a"]
    with pytest.raises(space["Mismatch"], match="the keys of p must come in the order 'b', 'a'"):
        g({"a": p["a"], "b": p["b"]})


def test_errors_of_pythons_numbers_are_raised_in_the_module_too(tmp_path):
    f = tapec.compile(lambda a, k: a * k + a**k)
    f.export(tmp_path / "m.py", 2.0, 3)
    g, _ = load(tmp_path / "m.py", "function")
    assert g(2.0, 3) == f(2.0, 3) == 14.0
    for args in ((0.0, -1), (2.0, 2000)):
        for h in (f, g):
            with pytest.raises(ArithmeticError):
                h(*args)


class Kept:
    """Keeps a gradient of its own method, as people do."""

    def __init__(self):
        self.w = np.ones(3)
        self.slope = tapec.grad(self.loss)

    def loss(self, x):
        return np.sum(self.w * x**2)

    @tapec.grad
    def decorated(self, x):
        return np.sum(self.w * x**2)


def test_gradients_of_methods_are_pickled_with_the_object():
    kept, x = Kept(), np.ones(3)
    kept.slope(x), kept.decorated(x)
    loaded = pickle.loads(pickle.dumps(kept))
    loaded.w = 10 * loaded.w
    for f in (loaded.slope, loaded.decorated):
        np.testing.assert_array_equal(f(x), [20.0, 20.0, 20.0])
    for f in (kept.slope, kept.decorated):
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(f))(x), f(x))


def relu(v):
    return np.maximum(v, 0.0)


def scaled(k, f):
    @functools.wraps(f)
    def scaled_f(v):
        return k * f(v)

    return scaled_f


def test_a_function_that_wears_the_name_of_another_one_is_not_taken_for_it(tmp_path):
    @tapec.compile
    def loss(x, act):
        return np.sum(act(x))

    loss.export(tmp_path / "m.py", np.ones(3), relu)
    g, space = load(tmp_path / "m.py", "loss")
    assert g(np.ones(3), relu) == 3.0
    with pytest.raises(space["Mismatch"], match="act must be"):
        g(np.ones(3), scaled(3.0, relu))
    with pytest.raises(tapec.TapecError, match="no text tells the value of act from others"):
        loss.export(tmp_path / "n.py", np.ones(3), scaled(2.0, relu))


@pytest.mark.filterwarnings("ignore::PendingDeprecationWarning")  # NumPy's, of np.matrix
@pytest.mark.parametrize("make", [lambda: np.ma.masked_array([1.0, 2.0], mask=[0, 1]), lambda: np.matrix([[1.0, 2.0]])])
def test_masked_arrays_and_matrices_are_refused(tmp_path, make):
    other = make()
    tapec.compile(lambda a: np.sum(a * a)).export(tmp_path / "m.py", np.ones(other.shape))
    g, space = load(tmp_path / "m.py", "function")
    with pytest.raises(space["Mismatch"], match="a is a (MaskedArray|matrix)"):
        g(other)


def test_what_has_a_method_mask_and_is_an_array_is_taken(tmp_path):
    class Series:  # as those of pandas
        def mask(self):
            raise AssertionError("nobody asks for it")

        def __array__(self, dtype=None, copy=None):
            return np.array([1.0, 2.0], dtype)

    tapec.compile(lambda a: np.sum(a * a)).export(tmp_path / "m.py", np.ones(2))
    g, _ = load(tmp_path / "m.py", "function")
    assert g(Series()) == 5.0


def test_numpys_number_is_none_of_pythons_where_the_function_asks_for_its_class(tmp_path):
    f = tapec.compile(lambda x, s: x * (2 if type(s) is float else 3) * s)
    f.export(tmp_path / "m.py", np.ones(2), 0.5)
    g, space = load(tmp_path / "m.py", "function")
    np.testing.assert_array_equal(g(np.ones(2), 0.25), f(np.ones(2), 0.25))
    with pytest.raises(space["Mismatch"], match="s is float64; this code was generated for float"):
        g(np.ones(2), np.float64(0.5))


def test_numpys_number_is_none_of_pythons_beside_single_precision(tmp_path):
    f = tapec.compile(lambda a, s: a * s)
    f.export(tmp_path / "m.py", np.ones(2, np.float32), 0.1)
    g, space = load(tmp_path / "m.py", "function")
    assert g(np.ones(2, np.float32), 0.1).dtype == np.float32
    with pytest.raises(space["Mismatch"], match="s is float64; this code was generated for float"):
        g(np.ones(2, np.float32), np.float64(0.1))
    f.export(tmp_path / "n.py", np.ones(2), 0.1)
    g, _ = load(tmp_path / "n.py", "function")
    np.testing.assert_array_equal(g(np.ones(2), np.float64(0.1)), [0.1, 0.1])


def test_an_error_that_the_function_catches_is_raised_in_the_module(tmp_path):
    def f(k):
        try:
            v = 1.0 / k
        except ZeroDivisionError:
            v = 7.0
        return v * np.exp(k)

    tapec.compile(f).export(tmp_path / "m.py", 2.0)
    g, _ = load(tmp_path / "m.py", "f")
    assert g(4.0) == f(4.0)
    with pytest.raises(ZeroDivisionError):  # the path that catches it was not traced
        g(0.0)
