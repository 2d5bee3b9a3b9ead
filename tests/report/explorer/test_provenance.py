"""Every line of the user's is told by the generated lines that do its work, whatever the passes have merged."""

import numpy as np
import pytest

import tapec
from tapec.ir.source_location import line_of
from tapec.report.explorer.steps import Followed, follow
from tests.codegen.golden_functions import CASES


def loss(w, x, y):
    h = np.tanh(x @ w)
    return np.mean((h - y) ** 2)


def scaled(w):
    a = np.sum(w * w)
    b = 0.25 * a
    return b + 1.0


def rounds(w, xs):
    h = np.zeros(3)
    for x in xs:
        h = np.tanh(w @ h + x)
    return np.sum(h**2)


def softmax(w, x, y):
    a = x @ w
    e = np.exp(a - np.max(a, axis=1, keepdims=True))
    p = e / np.sum(e, axis=1, keepdims=True)
    return -np.mean(np.log(p[np.arange(len(y)), y]))


PROGRAMS = {
    **{function: args for function, args, _ in CASES.values()},
    loss: (np.ones((3, 2)), np.ones((20, 3)), np.ones((20, 2))),
    scaled: (np.ones(9),),
    rounds: (np.eye(3), np.ones((8, 3))),
    softmax: (np.ones((4, 3)), np.ones((20, 4)), np.zeros(20, int)),
}


def followed(function, *args) -> Followed:
    grad = tapec.grad(function)
    _, program, path = grad.locate(*args)
    return follow("", path.forward, program.compiled)


def counted(function, names) -> set[int]:
    """Lines by their distance from the function's `def`."""
    return {int(name.rpartition(":")[2]) - function.__code__.co_firstlineno for name in names}


@pytest.mark.parametrize("function", PROGRAMS, ids=lambda f: f.__name__)
def test_every_line_lights_something(function):
    found = followed(function, *PROGRAMS[function])
    assert found.code.source == tapec.grad(function).generated(*PROGRAMS[function])[0].source  # to look changes nothing
    lit = counted(function, {line for lines in found.lines.values() for line in lines})
    first = function.__code__.co_firstlineno
    assert lit >= {line_of(n.origin) - first for n in found.steps[0].graph.nodes if n.origin is not None}


def test_a_product_of_two_lines_has_both():
    steps = followed(loss, *PROGRAMS[loss]).steps
    last = next(s for s in reversed(steps) if not s.target)
    [scale] = [n for n in last.graph.nodes if n.op.name == "multiply" and any(not i.inputs for i in n.inputs)]
    assert counted(loss, last.lines_of(scale)) == {1, 2}


def test_a_result_that_is_an_argument_has_the_lines_that_came_to_nothing():
    def half(w):
        return 0.5 * np.sum(w * w)

    found = followed(half, np.ones(9))
    [line] = [k for k, text in enumerate(found.code.source.splitlines(), start=1) if "w.copy()" in text]
    assert counted(half, found.lines[line]) == {1}


def test_lines_keep_apart_what_has_nothing_to_do_with_another():
    found = followed(loss, *PROGRAMS[loss])
    text = {k: line.partition("  #")[0].strip() for k, line in enumerate(found.code.source.splitlines(), start=1)}
    lines = {text[k]: counted(loss, names) for k, names in found.lines.items()}
    assert lines["h = np.tanh(x.dot(w))"] == {1}
    (product,) = [found for line, found in lines.items() if "(h - y)" in line]
    assert product == {1, 2}
