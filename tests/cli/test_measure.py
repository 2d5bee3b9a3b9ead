"""check, bench, profile."""

import json

import numpy as np
import pytest

WRONG = """
import tapec

@tapec.custom_gradient
def off(x):
    return np.sin(x), lambda ct: ct * np.cos(x) * 1.001

def wrong(x, y):
    return np.sum(off(x) * y)
"""


def test_a_right_gradient_passes(tapec, model):
    result = tapec("check", "model.py:loss")
    assert result.code == 0
    rows = [line.split()[:2] for line in result.out.splitlines()[1:-1]]
    assert rows == [["w", "ok"], ["b", "ok"], ["x", "ok"], ["y", "ok"]]
    told = "derivatives along 5 random directions each, of which the worst is shown: standard normal, --seed 0"
    assert result.out.splitlines()[-1] == told
    assert "complex step" in result.out


def test_a_gradient_wrong_by_a_thousandth_fails(tapec, model):
    model.write_text(model.read_text() + WRONG)
    words = ["check", "model.py:wrong", "--args", "np.array([0.5, 2.0])", "np.array([1.0, -3.0])"]
    result = tapec(*words)
    assert result.code == 1
    assert "x         wrong" in result.out and "y         ok" in result.out
    assert "model.py:wrong: the gradient with respect to x is wrong: along a random direction it says" in result.out
    assert " of 5: [" in result.out
    assert tapec(*words, "--wrt", "y").code == 0
    found = json.loads(tapec(*words, "--json").out)
    assert not found["ok"]
    assert found["arguments"]["x"]["status"] == "wrong"
    assert found["arguments"]["x"]["error"] == pytest.approx(1e-3, rel=0.01)
    assert np.shape(found["arguments"]["x"]["direction"]) == (2,) and found["directions"] == 5


def test_a_kink_is_no_error(tapec, model):
    result = tapec("check", "model.py:kinked", "--args", "np.array([0.0, 1.0])")
    assert result.code == 0
    assert "kink" in result.out and "slopes" in result.out
    assert "kink" not in tapec("check", "model.py:kinked", "--args", "np.array([0.5, 1.0])").out


def test_values_that_are_not_finite_fail(tapec, model):
    model.write_text(model.read_text() + "\ndef bad(x):\n    return np.sum(np.log(x - 5.0))\n")
    result = tapec("check", "model.py:bad", "--args", "f64[3]")
    assert result.code == 1 and "not finite" in result.out


def test_results_of_any_shape_and_nested_arguments(tapec, model):
    model.write_text(model.read_text() + "\ndef layer(p, x, k):\n    return {'y': k * np.tanh(x @ p['w']), 'n': 3}\n")
    words = ["{'w': np.ones((2, 3)), 'name': 'a'}", "np.ones(2)", "2"]
    result = tapec("check", "model.py:layer", "--args", *words)
    assert result.code == 0, result.out + result.err
    assert "p['w']" in result.out and "\nk" not in result.out


def test_single_precision_and_complex(tapec, model):
    assert tapec("check", "model.py:total", "--args", "f32[3]").code == 0
    model.write_text(model.read_text() + "\ndef power(z):\n    return np.sum(np.abs(z * z) ** 2)\n")
    assert tapec("check", "model.py:power", "--args", "c128[3]").code == 0


def test_nothing_to_check(tapec, model):
    result = tapec("check", "model.py:total", "--args", "i64[3]")
    assert result.code == 2 and "none of the arguments holds a real or complex number" in result.err


def test_bench(tapec, model):
    words = ["bench", "model.py:loss", "--seconds", "0.01"]
    out = tapec(*words).out
    assert out.splitlines()[0].split() == ["cold", "warm", "ratio", "memory"]
    found = json.loads(tapec(*words, "--json").out)
    assert list(found) == ["generated", "unoptimised", "the function itself", "differences (16 calls)"]
    assert all(m["warm"] > 0 for m in found.values())
    assert found["generated"]["cold"] > 0
    assert found["generated"]["memory"] >= np.zeros((4, 2)).nbytes


@pytest.mark.parametrize(
    ("transform", "name", "others"),
    [
        ("value_and_grad", "total", ["the function itself", "differences (6 calls)"]),
        ("jacobian", "vector", ["the function itself", "differences (6 calls)"]),
        ("hessian", "total", ["the function itself", "differences (18 calls)"]),
        ("hvp", "total", ["the function itself", "differences (12 calls)"]),
        ("vmap", "one", ["the function itself (8 calls)"]),
        ("compile", "vector", ["the function itself"]),
    ],
)
def test_bench_calls_the_function_itself_with_its_own_arguments(tapec, model, transform, name, others):
    """An hvp takes a direction besides, vmap the arguments of several examples, which `one` does not take."""
    model.write_text(model.read_text() + "\ndef one(x):\n    assert x.shape == (3,)\n    return np.sum(x * x)\n")
    words = ["bench", f"model.py:{name}", "--args", "f64[3]", "--transform", transform, "--seconds", "0.01", "--json"]
    result = tapec(*words)
    assert result.code == 0, result.err
    assert list(json.loads(result.out)) == ["generated", "unoptimised", *others]


def test_bench_of_an_hvp_with_a_direction(tapec, model):
    words = ["bench", "model.py:total", "--args", "f64[3]", "np.ones(3)", "--transform", "hvp", "--seconds", "0.01"]
    assert tapec(*words).code == 0


def test_bench_measures_the_same_call_without_the_optimiser(tapec, model, monkeypatch):
    """Taking arguments apart is no work of the optimiser's."""
    from tapec.cli.commands import bench
    from tapec.config import settings

    asked = []
    monkeypatch.setattr(bench, "warm_time", lambda call, seconds: asked.append((call, settings.optimize)) or 1.0)
    tapec("bench", "model.py:loss", "--seconds", "0.01")
    (generated, optimised), (unoptimised, plain), _ = asked
    assert generated is unoptimised and optimised and not plain


def test_bench_of_a_graph(tapec, model):
    from tests.cli.test_look import GRAPH

    (model.parent / "g.ir").write_text(GRAPH)
    found = json.loads(tapec("bench", "g.ir", "--seconds", "0.01", "--json").out)
    assert list(found) == ["generated", "unoptimised"]


def code_alone(text):
    """The generated function, without the imports above it."""
    return text[text.index("# numpy:") :]


def test_profile_puts_times_beside_lines(tapec, model):
    out = tapec("profile", "model.py:loss", "--seconds", "0.01").out.splitlines()
    source = code_alone(tapec("source", "model.py:loss").out).splitlines()
    assert [line[25:] for line in out[: len(source)]] == source
    timed = [line for line, text in zip(out, source) if line[:8].strip()]
    assert timed == [line for line, text in zip(out, source) if text.startswith("    ")]
    assert "a call, mean of" in out[-1]
    found = json.loads(tapec("profile", "model.py:loss", "--seconds", "0.01", "--json").out)
    assert found["seconds"] == pytest.approx(sum(line["seconds"] for line in found["lines"]))


def test_profile_of_arguments_with_which_floats_raise_an_error(tapec, model):
    model.write_text(model.read_text() + "\ndef sinc(x):\n    return np.sin(x) / x\n")
    words = ["profile", "model.py:sinc", "--seconds", "0.01", "--args"]
    told = "Python's floats raise an error for these arguments: NumPy's program answers them"
    with np.errstate(all="ignore"):
        at_zero = tapec(*words, "0.0")
    assert at_zero.code == 0, at_zero.err
    assert "# numpy:" in at_zero.out and told in at_zero.out
    at_one = tapec(*words, "1.0")
    assert "# floats:" in at_one.out and told not in at_one.out


def test_a_function_that_draws_cannot_be_checked(tapec, model):
    model.write_text(model.read_text() + "\ndef noisy(x):\n    return np.sum(x * np.random.randn(3))\n")
    result = tapec("check", "model.py:noisy", "--args", "f64[3]")
    assert result.code == 2 and "model.py:noisy gives another value at each call" in result.err


def test_check_of_one_argument_says_nothing_of_the_others(tapec, model, recwarn):
    result = tapec("check", "model.py:loss", "--wrt", "w", "--json")
    assert result.code == 0 and list(json.loads(result.out)["arguments"]) == ["w"]
    assert [str(w.message) for w in recwarn] == []


def test_check_of_graph_text(tapec, model):
    from tests.cli.test_look import GRAPH

    (model.parent / "g.ir").write_text(GRAPH)
    for words in ((), ("--wrt", "w"), ("--transform", "jvp"), ("--transform", "hessian")):
        result = tapec("check", "g.ir", "--json", *words)
        assert result.code == 0, result.err
        assert list(json.loads(result.out)["arguments"]) == (["w"] if "--wrt" in words else ["x", "w"])


@pytest.mark.parametrize("transform", ["grad", "value_and_grad", "jacobian", "jacfwd", "jvp", "hessian", "hvp"])
def test_check_takes_a_transform(tapec, model, recwarn, transform):
    assert tapec("check", "model.py:loss", "--wrt", "w", "--transform", transform).code == 0
    assert [str(w.message) for w in recwarn] == []


@pytest.mark.parametrize("words", [(), ("--transform", "jacfwd"), ("--transform", "hessian"), ("--wrt", "k")])
def test_check_of_a_function_that_fills_an_array(tapec, model, words):
    filling = "\ndef filled(x, k):\n    y = np.zeros(4)\n    for i in range(4):\n        y[i] = k * x[i] ** 3\n"
    model.write_text(model.read_text() + filling + "    return y @ y\n")
    found = tapec("check", "model.py:filled", *words, "--args", "np.ones(4)", "2.0")
    assert found.code == 0, found.err


def test_check_by_mode_and_order(tapec, model):
    model.write_text(
        model.read_text()
        + """

import tapec

@tapec.custom_jvp
def square(x):
    return x * x

@square.defjvp
def rule(primals, tangents):
    (x,), (t,) = primals, tangents
    return x * x, 2.1 * x * t

@tapec.custom_gradient
def cube(x):
    return x**3, lambda dy: dy * slope(x)

@tapec.custom_gradient
def slope(x):
    return 3 * x * x, lambda dy: 7 * dy * x

def squares(x):
    return np.sum(square(x))

def cubes(x):
    return np.sum(cube(x))
"""
    )
    assert tapec("check", "model.py:squares", "--args", "f64[3]", "--transform", "jvp").code == 1
    assert tapec("check", "model.py:cubes", "--args", "f64[3]").code == 0
    result = tapec("check", "model.py:cubes", "--args", "f64[3]", "--transform", "hessian")
    assert result.code == 1 and "the gradient with respect to x is wrong" in result.out


def test_a_result_without_numbers_cannot_be_checked(tapec, model):
    model.write_text(model.read_text() + "\ndef word(x):\n    return 'a'\n")
    result = tapec("check", "model.py:word", "--args", "f64[3]")
    assert result.code == 2 and "the function returned 'a', which holds no real or complex number" in result.err
