"""Every line of the user's is told by the generated lines that do its work, whatever the passes have merged."""

import numpy as np
import pytest

import tapec
from tapec.codegen import compile_graph
from tapec.ir.source_location import line_of
from tapec.report.explorer.provenance import (
    CodeOrigins,
    flat,
    origins_after,
    origins_in_gradient,
    origins_of_node,
    with_merged_origins,
)
from tapec.report.pass_stages import stages
from tests.properties import has


def loss(w, x, y):
    h = np.tanh(x @ w)
    return np.mean((h - y) ** 2)


def scaled(w):
    a = np.sum(w * w)
    b = 0.25 * a
    return b + 1.0


def rounds(w, xs):
    h = np.zeros(len(w))
    for x in xs:
        h = np.tanh(w @ h + x)
    return np.sum(h**2)


def softmax(w, x, y):
    a = x @ w
    e = np.exp(a - np.max(a, axis=1, keepdims=True))
    p = e / np.sum(e, axis=1, keepdims=True)
    return -np.mean(np.log(p[np.arange(len(y)), y]))


PROGRAMS = {
    loss: (np.ones((3, 2)), np.ones((20, 3)), np.ones((20, 2))),
    scaled: (np.ones(9),),
    rounds: (np.eye(30), np.ones((8, 30))),
    softmax: (np.ones((4, 3)), np.ones((20, 4)), np.zeros(20, int)),
}


def followed(function, *args):
    """The origins of all stages of a gradient, and the code that is written at the end."""
    grad = tapec.grad(function)
    forward, gradient = grad.ir(*args, stage="forward"), grad.ir(*args, stage="gradient")
    known, graph = origins_in_gradient(forward, gradient), gradient
    for stage in stages(gradient, gradient):
        if stage.changed and stage.graph is not graph:
            known, graph = origins_after(graph, stage.graph, known, stage.rewrites), stage.graph
    name = f"{function.__name__}_grad"
    return graph, known, compile_graph(with_merged_origins(graph, known), name, observer=CodeOrigins())


@pytest.mark.parametrize("function", PROGRAMS, ids=lambda f: f.__name__)
def test_every_line_lights_something(function):
    first = function.__code__.co_firstlineno
    _, _, code = followed(function, *PROGRAMS[function])
    lit = {line_of(o) - first for _, origins in code.all_origins() for origin in origins for o in flat(origin)}
    graph = tapec.grad(function).ir(*PROGRAMS[function], stage="forward")
    assert lit >= {line_of(n.origin) - first for n in graph.nodes if n.origin is not None}


@pytest.mark.parametrize("function", PROGRAMS, ids=lambda f: f.__name__)
def test_to_look_changes_nothing(function):
    args = PROGRAMS[function]
    _, _, code = followed(function, *args)
    assert code.source == tapec.grad(function).source(*args)


def test_a_product_of_two_lines_has_both():
    graph, known, _ = followed(loss, *PROGRAMS[loss])
    first = loss.__code__.co_firstlineno
    [scale] = [n for n in graph.nodes if n.op.name == "multiply" and any(i.op.name == "constant" for i in n.inputs)]
    assert {line_of(o) - first for o in origins_of_node(scale, known)} == {1, 2}


def test_a_result_that_is_an_argument_has_the_lines_that_came_to_nothing():
    def half(w):
        return 0.5 * np.sum(w * w)

    graph, known, code = followed(half, np.ones(9))
    assert has(code, "w.copy()")
    assert graph.outputs == graph.inputs
    assert {line_of(o) for o in known[graph.outputs[0]]} == {half.__code__.co_firstlineno + 1}


def test_lines_keep_apart_what_has_nothing_to_do_with_another():
    _, _, code = followed(loss, *PROGRAMS[loss])
    first = loss.__code__.co_firstlineno
    found = {}
    lines = code.source.splitlines()
    for k, origins in code.all_origins():
        found[lines[k - 1].partition("  #")[0].strip()] = {line_of(o) - first for m in origins for o in flat(m)}
    assert found["h = np.tanh(x.dot(w))"] == {1}
    assert found["g = (h - y) * (1 - h * h) * 0.05"] == {1, 2}
