"""Draws are seen in processes where nobody has imported what draws, which a first call does not import either."""

import subprocess
import sys

import numpy as np
import pytest
from numpy.random import default_rng

import tapec

BEGIN = """
import importlib, sys
import numpy as np
import tapec

if {"numpy.random", "random"} & set(sys.modules):
    sys.exit(0)  # NumPy itself has imported them
NAME = "numpy.rand" + "om"
"""


def passes(code):
    run = subprocess.run([sys.executable, "-c", BEGIN + code], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr


@pytest.mark.parametrize(
    "body",
    [
        "return w * np.random.normal()",
        "return w * np.random.default_rng().normal()",
        "import random; return w * random.random()",
        "from numpy.random import standard_normal; return w * standard_normal()",
        "return w * importlib.import_module(NAME).standard_normal()",
        "return w * importlib.import_module(NAME).default_rng().random()",
    ],
)
def test_each_call_draws(body):
    passes(f"""
@tapec.value_and_grad
def f(w):
    {body}

drawn = [float(f(1.0)[0]) for _ in range(5)]
assert len(set(drawn)) == 5, drawn
""")


def test_what_only_imports_them_is_compiled_at_the_next_call():
    passes("""
@tapec.value_and_grad
def f(w):
    importlib.import_module(NAME)
    return w * w

assert [float(f(3.0)[0]) for _ in range(4)] == [9.0] * 4
assert f.cache_info().hits == 2, f.cache_info()
""")


def test_a_function_of_a_batch_is_refused_at_once():
    passes("""
try:
    tapec.vmap(lambda x: x + np.random.normal())(np.ones(3))
except tapec.TapecError as error:
    assert "draws random numbers" in str(error)
else:
    sys.exit("it was not refused")
""")


def test_others_import_nothing():
    passes("""
tapec.value_and_grad(lambda w: np.sum(np.tanh(w)))(np.ones(3))
assert not {"numpy.random", "random"} & set(sys.modules)
""")


@pytest.mark.parametrize(
    "draw",
    [
        lambda seed: np.random.default_rng(seed).normal(),
        lambda seed: np.random.default_rng(seed=[seed, 2]).normal(),
        lambda seed: default_rng((1, seed)).normal(),
        lambda seed: np.random.RandomState(seed).normal(),
    ],
)
def test_a_whole_number_among_the_arguments_is_a_seed(draw):
    def f(x, seed):
        return x * draw(seed)

    compiled = tapec.value_and_grad(f)
    for seed in (0, 0, 1, 2, 0):
        assert compiled(2.0, seed) == (f(2.0, seed), draw(seed))


def test_an_error_of_a_later_line_leaves_the_generator_as_numpy_does():
    def f(x, rng):
        y = rng.permutation(x)
        w = rng.normal(size=3)
        return np.sum(y) + np.sum(w @ x)

    def drawn(transform):
        rng = np.random.default_rng(0)
        g = transform(lambda x: f(x, rng))
        for n in (4, 3, 3, 4, 3):
            if n == 4:
                with pytest.raises(ValueError, match="mismatch"):
                    g(np.arange(4.0))
            else:
                yield float(g(np.arange(3.0)))
            yield rng.random()

    np.testing.assert_allclose([*drawn(tapec.compile)], [*drawn(lambda g: g)], rtol=1e-12)
