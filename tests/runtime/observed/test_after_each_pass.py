"""After each pass of both pipelines a graph keeps the rules, reads back, and computes what it did before.

The interpreter runs it, and with it the operations that only a target's passes make. `settings.verify="values"`
compares the values; that graphs read back is seen here.
"""

from collections import Counter

import numpy as np
import pytest

import tapec
from tapec.errors import TapecError
from tapec.ir import parse, verify
from tapec.ir.text.printer import constant_table
from tapec.runtime.observed.compilation import Compilation
from tests.benchmarks.families import TAPE_STEPS, WORKLOADS, by_tapec
from tests.generated.programs import drawn


@pytest.fixture
def changed(monkeypatch):
    """Each step is looked at; returns how often each changed a graph."""
    step, counted = Compilation.step, Counter()

    def looked_at(self, name, run, graph):
        after = step(self, name, run, graph)
        if after is not graph and after != graph:
            counted[name] += 1
            constants = constant_table(verify(after))
            assert parse(str(after), constants) == after, name
        return after

    monkeypatch.setattr(Compilation, "step", looked_at)
    tapec.cache_clear()
    with tapec.settings(verify="values", check="never"):
        yield counted


@pytest.mark.parametrize("w", dict.fromkeys(WORKLOADS + TAPE_STEPS), ids=lambda w: w.name)
def test_workloads(w, changed):
    args = w.args(small=True)
    by_tapec(w, args)(*args)


@pytest.mark.sampled(one_in=10)
@pytest.mark.parametrize("seed", range(100))
def test_generated_programs(seed, changed):
    program = drawn(seed)
    f, args = program.module()["f"], program.arguments(0)
    for transform in (tapec.compile, tapec.grad):
        try:
            transform(f)(*args)
        except TapecError as e:
            assert "report it" not in str(e), e


rng = np.random.default_rng(0)
I, POINTS = rng.integers(0, 30, 5000), rng.normal(size=(30, 3))


def elements(x, i, j):
    return np.sum(x[i, j] * 2.0) + np.sum(np.sin(x[i, j]))


def turned(q):
    w, x, y, z = q
    first = [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)]
    second = [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)]
    return np.sum((POINTS @ np.array([first, second]).T) ** 2)


def contrastive(a, b):
    s = a @ b.T
    m = np.max(s, axis=1, keepdims=True)
    return np.mean(m[:, 0] + np.log(np.sum(np.exp(s - m), axis=1)) - np.diag(s))


def rolled(x, y):
    t = x * y
    return np.sum(np.sin(t + np.roll(x, 1, axis=0)))


def slope(u):
    t = np.sin(u) * u + np.exp(-u)
    return t / (1.0 + t * t) + np.cos(t) * u


def stages(u):
    k1 = slope(u)
    k2 = slope(u + 0.5 * k1)
    k3 = slope(u + 0.5 * k2)
    return np.sum((k1 + k2 + k3) ** 2)


# each has one pass of NumPy's that must change it
PROGRAMS = {
    "short-axes": (
        lambda x, y: np.sum(np.sqrt(np.sum((x[:, None] - y) ** 2, axis=-1) + 1.0)),
        (rng.normal(size=(90, 3)), rng.normal(size=(80, 3))),
    ),
    "flat-places": (elements, (rng.normal(size=(30, 30)), I, I[::-1].copy())),
    "sums-of-products": (lambda x: np.sum(np.tanh(x) * x), (rng.normal(size=500),)),
    "rolled-summands": (rolled, (rng.normal(size=(300, 200)), rng.normal(size=(300, 200)))),
    "slow-operations": (lambda x, y: np.sum(np.logaddexp(x, y)), (rng.normal(size=600), rng.normal(size=600))),
    "broadcast-products": (
        lambda x, m, w, d: np.sum(d * (np.tanh(x @ m) @ w)),
        (rng.normal(size=(500, 300)), rng.normal(size=(300, 400)), rng.normal(size=400), rng.normal(size=500)),
    ),
    "small-parts": (contrastive, (rng.normal(size=(128, 8)), rng.normal(size=(128, 8)))),
    "helpers": (stages, (rng.normal(size=1000),)),
    "short-vectors": (turned, (rng.normal(size=4),)),
    "floats": (lambda x, k: np.sin(x) * np.exp(x) + x**3, (np.float64(0.4), 2)),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_each_pass_of_numpys(name, changed):
    f, args = PROGRAMS[name]
    tapec.compile(f)(*args)
    tapec.grad(f, argnums=tuple(k for k, a in enumerate(args) if np.asarray(a).dtype == float))(*args)
    assert changed[name]
