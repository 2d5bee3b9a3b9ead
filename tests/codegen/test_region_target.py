"""A second region target stands on the seam alone: the NumPy host calls loops that it has written, or does without."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import tapec
from tapec.codegen.emit import Numpy
from tapec.codegen.target import TARGETS, register_target
from tapec.ir import interpret
from tests.codegen.plain_loops import PlainLoops
from tests.properties import calls, has, has_loop


@pytest.fixture
def target() -> Iterator[PlainLoops]:
    made = PlainLoops()
    register_target("with_loops", lambda: Numpy(made, name="with_loops"))
    yield made
    del TARGETS["with_loops"]


def code_of(kernel):
    """The text without comments, which quote the user's lines."""
    return "\n".join([line.partition("  # ")[0] for line in kernel.compiled.source.splitlines()])


def compiled(function, args):
    code = function.locate(*args)[1].compiled.renamed(target="with_loops")
    values = function.generated(*args)[1]
    found = code.function(*values)
    for a, b in zip(found, interpret(code.graph, *values), strict=True):
        assert (np.shape(a), np.asarray(a).dtype) == (np.shape(b), np.asarray(b).dtype)
        np.testing.assert_allclose(a, b, rtol=1e-12)
    return code


def test_a_fused_region_with_three_results(target):
    """Two arrays and a sum come from one loop; the product with a matrix stays NumPy's."""

    @tapec.compile
    def f(x, y, w):
        e = np.exp(-x * x)
        d = e - y
        return w @ d, e, np.sum(d * d), d

    args = (np.linspace(-1, 1, 5), np.ones(5), np.eye(5))
    code = compiled(f, args)
    [kernel] = code.helpers.values()
    text = code_of(kernel)
    assert text.count("for k in range(5):") == 1 and "np.exp" not in text and "math.exp(" in text
    assert calls(code, kernel.__name__) and not has_loop(code) and has(code, "w.dot(_)")


def test_a_loop_with_a_reverse_pass(target):
    """Its gradient goes back through the rows that the first loop has collected."""

    def f(a, x):
        x, v = tapec.fori_loop(0, 50, lambda k, s: (s[0] + 0.1 * s[1], s[1] - a * np.sin(s[0])), (x, a * 0.0))
        return x * v

    g = tapec.value_and_grad(f, argnums=(0, 1))
    args = (np.float64(0.7), np.float64(0.3))
    code = compiled(g, args)
    texts = [code_of(kernel) for kernel in code.helpers.values()]
    assert len(texts) == 2 and all([text.count("for ") == 1 and "np.sin" not in text for text in texts])
    assert "math.sin" in texts[0] and "rows.append" in texts[0]
    assert "for " not in code_of(code.function)


def test_what_it_does_not_write_is_written_by_the_host(target):
    target.refusal = lambda node: "not today"
    code = compiled(tapec.compile(lambda x: (np.sum(np.exp(x) * x), np.exp(x))), (np.ones(4),))
    assert not code.helpers and has(code, "np.exp(x)")
