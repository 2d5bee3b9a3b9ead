"""Draws are seen in processes where nobody has imported what draws, which a first call does not import either."""

import copy
import pickle
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


class Seeded:
    def __init__(self, seed):
        rng = np.random.RandomState(seed)
        self.w = rng.standard_normal(3)
        self.b = np.zeros(3)
        self.b[0] = self.w[0]

    def forward(self, x):
        y = np.zeros(3)
        for k in range(3):
            y[k] = x * self.w[k] + self.b[k]
        return np.sum(y**2)


def filled(x, rng):
    y = np.zeros(3)
    y[0] = x
    for k in (1, 2):
        y[k] = y[k - 1] * np.exp(rng.standard_normal())
    return np.sum(y)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: filled(x, np.random.RandomState(1)),
        lambda x: filled(x, np.random.RandomState(seed=[1, 2])),
        lambda x: filled(x, np.random.RandomState(np.random.MT19937(4))),
    ],
)
def test_generators_with_seeds_draw_the_same_at_each_call(f):
    compiled = tapec.value_and_grad(f)
    for x in (0.5, 1.5, -2.0):
        value, slope = compiled(x)
        np.testing.assert_allclose(value, f(x), rtol=1e-13)
        np.testing.assert_allclose(slope, (f(x + 1e-6) - f(x - 1e-6)) / 2e-6, rtol=1e-6, atol=1e-8)
    assert compiled.cache_info().hits == 2


def test_a_generator_that_a_constructor_makes_is_taken_for_one_without_a_seed():
    """The constructor is not followed, and NumPy asks for a seed of the operating system there."""
    with pytest.raises(tapec.DetachError, match="once more.*draws random numbers by a seed of the operating system"):
        tapec.grad(lambda x: Seeded(3).forward(x))(0.5)


@pytest.mark.parametrize(
    "draw",
    [
        lambda: np.random.RandomState().normal(),
        lambda: np.random.RandomState(None).normal(),
        lambda: [np.random.RandomState(seed) for seed in (3, None)][1].normal(),
        lambda: [r for r in (np.random.RandomState(3), np.random.default_rng())][1].normal(),
        lambda: next(r.seed() or r for r in [np.random.RandomState(3)]).normal(),
        lambda: copy.deepcopy(np.random.RandomState()).normal(),
    ],
)
def test_generators_without_a_seed_draw_something_else_at_each_call(draw):
    compiled = tapec.value_and_grad(lambda x: x * draw())
    assert len({float(compiled(1.0)[0]) for _ in range(4)}) == 4


def test_a_generator_that_is_kept_is_numpys():
    kept = []
    tapec.compile(lambda x: [kept.append(np.random.RandomState()), x][1])(1.0)
    again = pickle.loads(pickle.dumps(kept[0]))
    assert again.normal() == kept[0].normal()
    seeds = kept[0]._bit_generator.seed_seq
    assert type(pickle.loads(pickle.dumps(seeds)).entropy) is int
