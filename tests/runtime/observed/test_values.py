"""`settings.verify="values"` names the step that changes a value; rounding, and inf that goes, are no changes."""

import gc
import weakref

import numpy as np
import pytest

import tapec
from tapec.errors import TapecWarning, VerifyError
from tapec.ir import Graph, parse
from tapec.runtime.compile import CompiledGraph, Options
from tapec.runtime.observed.value_checks import computed
from tests.runtime.observed.broken import (
    add_code_step,
    add_pass,
    failing_at,
    in_place_of,
    mistyped,
    of_single_precision,
    scaled,
)


@pytest.fixture(autouse=True)
def values_are_compared():
    with tapec.settings(verify="values", check="never"):
        yield


def net(w, x, y):
    h = np.tanh(x @ w)
    return np.mean((h - y) ** 2)


rng = np.random.default_rng(0)
NET = rng.normal(size=(30, 20)), rng.normal(size=(50, 30)), rng.normal(size=(50, 20))


def newton(x):
    y = x
    while abs(y * y - x) > 1e-9 * x:
        y = 0.5 * (y + x / y)
    return y


# -- broken steps ------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("broken", "told"),
    [
        (in_place_of("tanh", "sin"), "net_grad: the pass 'mine' changes output 0 (d_w), which at [0, 0] is "),
        (scaled(1.0001), "net_grad: the pass 'mine' changes output 0 (d_w), which at [0, 0] is "),
        (
            of_single_precision,
            "changes output 0 (d_w), which is float32 of shape (30, 20), before it was float64 of ",
        ),
        (mistyped("tanh"), "net_grad: the pass 'mine' fails: VerifyError: graph net_grad: "),
        (failing_at("tanh"), "net_grad: the pass 'mine' fails: KeyError: 'no idea about tanh' (broken.py:"),
        (lambda g: Graph(g.inputs, g.nodes, (*g.outputs, *g.outputs), g.name), "leaves 2 outputs, before there were 1"),
        (lambda g: Graph(g.inputs[:1], (), g.inputs[:1], g.name), "the pass 'mine' changes the inputs"),
    ],
)
def test_a_pass(monkeypatch, broken, told):
    add_pass(monkeypatch, broken)
    with pytest.raises(VerifyError) as e:
        tapec.grad(net)(*NET)
    assert told in str(e.value), str(e.value)
    assert e.value.step.graph.name == "net_grad" and e.value.step.trial.wrong(e.value.step.graph, e.value.step.values)


@pytest.mark.parametrize(
    ("broken", "told"),
    [
        (in_place_of("tanh", "sin"), "the step 'mine' of code generation changes output 0 (d_w), which at [0, 0] is "),
        (of_single_precision, "which is float32 of shape (30, 20), before it was float64 of shape (30, 20)"),
        (failing_at("tanh"), "the step 'mine' of code generation fails: KeyError: 'no idea about tanh' (broken.py:"),
    ],
)
def test_a_step_of_code_generation(monkeypatch, broken, told):
    add_code_step(monkeypatch, broken)
    with pytest.raises(VerifyError) as e:
        tapec.grad(net)(*NET)
    assert told in str(e.value), str(e.value)


def test_code_on_floats(monkeypatch):
    from tapec.codegen import emit

    right = emit.on_floats

    def wrong(graph, tree):
        return right(scaled(1.5)(graph), tree)

    monkeypatch.setattr(emit, "on_floats", wrong)
    with pytest.raises(VerifyError, match=r"the step 'floats' of code generation changes output 0.*, which is 1.5"):
        tapec.compile(lambda x: np.sin(x) / np.sin(x) + 0.0 * x)(np.float64(0.5))


def test_the_version_on_arrays_behind_one_on_floats(monkeypatch):
    add_code_step(monkeypatch, in_place_of("exp", "sin"))
    with pytest.raises(VerifyError, match="the step 'mine' of code generation changes output 0"):
        tapec.grad(lambda x: np.exp(x) / x)(np.float64(2.0))


def test_code_that_is_written_wrong(monkeypatch):
    from tapec.codegen.numpy.lowering import Lowering

    monkeypatch.setattr(Lowering, "block", lambda self, items, real=Lowering.block: real(self, items)[:0])
    with pytest.raises(VerifyError, match="net: writing the code fails: ValueError"):
        tapec.compile(net)(*NET)


def test_a_branch(monkeypatch):
    tapec.grad(newton)(np.float64(2.0))
    add_pass(monkeypatch, scaled(1.5, -1))
    with pytest.raises(VerifyError, match="the pass 'mine' changes output 5"):  # the first five are guards
        tapec.grad(lambda x: newton(x))(np.float64(2.0))


def test_a_tape(monkeypatch):
    add_pass(monkeypatch, in_place_of("multiply", "add"))
    w = tapec.Variable(NET[0])
    with tapec.GradientTape() as tape:
        loss = net(w, *NET[1:])
    with pytest.raises(VerifyError, match="the pass 'mine' changes output 0"):
        tape.gradient(loss, w)


# -- nothing broken ----------------------------------------------------------------------------------------------
def test_right_programs():
    tapec.value_and_grad(net)(*NET)
    tapec.hessian(lambda x: np.sum(x**3))(np.ones(4))
    f = tapec.grad(lambda x: np.sum(x * x) if np.sum(x) > 0 else np.sum(np.abs(x)))
    for sign in (1.0, -1.0):
        f(sign * np.ones(4))
    w = tapec.Variable(NET[0])
    with tapec.GradientTape() as tape:
        loss = net(w, *NET[1:])
    tape.gradient(loss, w)


def build(text: str, **at_hand) -> CompiledGraph:
    graph = parse(text)
    return CompiledGraph(
        graph, Options(graph.name), at_hand={i: at_hand[i.name] for i in graph.inputs if i.name in at_hand}
    )


ONE = "graph f(%x: f64[3]) {\n  %y: f64[3] = OP\n  return %y\n}"


def replacing(after: str):
    """A pass that puts another graph in the place of the one given."""

    def run(graph: Graph) -> Graph:
        found = parse(after)
        new = dict(zip(found.inputs, graph.inputs))
        nodes = []
        for node in found.nodes:
            new[node] = node.with_inputs(tuple([new[i] for i in node.inputs]))
            nodes.append(new[node])
        return Graph(graph.inputs, nodes, [new[o] for o in found.outputs], graph.name)

    return run


CANCELS = "graph f(%x: f64[3]) {\n  %0: f64[3] = add %x, 1.0\n  %y: f64[3] = log %0\n  return %y\n}"
EXACT = "graph f(%x: f64[3]) {\n  %y: f64[3] = log1p %x\n  return %y\n}"
OVERFLOWS = "graph f(%x: f64[3]) {\n  %0: f64[3] = exp %x\n  %y: f64[3] = log %0\n  return %y\n}"
IDENTITY = "graph f(%x: f64[3]) {\n  %y: f64[3] = positive %x\n  return %y\n}"
LOG = "graph f(%x: f64[3]) {\n  %y: f64[3] = log %x\n  return %y\n}"
LOG_ABS = "graph f(%x: f64[3]) {\n  %0: f64[3] = absolute %x\n  %y: f64[3] = log %0\n  return %y\n}"
TWICE = "graph f(%x: f64[3]) {\n  %y: f64[3] = multiply %x, 2.0\n  return %y\n}"
RECIPROCAL = "graph f(%x: f64[3]) {\n  %y: f64[3] = divide 1.0, %x\n  return %y\n}"
LOG_OF_MINUS = "graph f(%x: f64[3]) {\n  %0: f64[3] = subtract %x, 1.0\n  %y: f64[3] = log %0\n  return %y\n}"
LOG_AND_NOTHING = (  # nothing is what is left of a number less itself
    "graph f(%x: f64[3]) {\n  %0: f64[3] = log %x\n  %1: f64[3] = subtract %0, %0\n  %y: f64[3] = add %0, %1\n"
    "  return %y\n}"
)


@pytest.mark.parametrize(
    ("before", "after", "x"),
    [
        (CANCELS, EXACT, [1e-12, 3e-13, 1e-14]),  # digits that were lost are found
        (OVERFLOWS, IDENTITY, [1000.0, 1.0, -1000.0]),  # inf, and -inf, become numbers
        (LOG, LOG_ABS, [-1.0, 1.0, 2.0]),  # so does nan
        (CANCELS, EXACT, [np.nan, np.inf, 1.0]),  # nan and inf stay
    ],
)
def test_no_changes(monkeypatch, before, after, x):
    add_pass(monkeypatch, replacing(after))
    build(before, x=np.array(x))


@pytest.mark.parametrize(
    ("before", "after", "x", "told"),
    [
        (
            TWICE,
            IDENTITY,
            [1.0, 2.0, 3.0],
            "at [0] is 1.0, before it was 2.0 (3 of 3 elements differ, by up to 3.",
        ),
        (IDENTITY, LOG, [-1.0, 1.0, 2.0], "at [0] is nan, before it was -1.0"),
        (IDENTITY, RECIPROCAL, [1.0, 0.0, 1.0], "at [1] is inf, before it was 0.0 (1 of 3 elements differ"),
        (RECIPROCAL, LOG_OF_MINUS, [2.0, 0.0, 4.0], "is 0.0, before it was 0.5"),
        (CANCELS, OVERFLOWS, [1e-3, 1e-4, 1e-5], "at [0] is 0.001"),
        (IDENTITY, TWICE, [0.0, 0.0, 1e-300], "at [2] is 2e-300, before it was 1e-300"),
    ],
)
def test_changes(monkeypatch, before, after, x, told):
    add_pass(monkeypatch, replacing(after))
    with pytest.raises(VerifyError) as e:
        build(before, x=np.array(x))
    assert told in str(e.value), str(e.value)


def test_inf_must_not_become_nan(monkeypatch):
    add_pass(monkeypatch, replacing(LOG_AND_NOTHING))
    with pytest.raises(VerifyError, match=r"at \[1\] is nan, before it was -inf"):
        build(LOG, x=np.array([2.0, 0.0, 3.0]))


def test_values_of_an_other_size_are_drawn(monkeypatch):
    add_pass(monkeypatch, replacing(TWICE))
    with pytest.raises(VerifyError, match="before it was 0"):  # floats are drawn from 0.1 to 0.9
        build(IDENTITY, x=np.array([0.0, 0.0]))


def test_a_program_that_takes_no_drawn_values_is_named():
    index = "graph f(%x: f64[3], %i: i64[2]) {\n  %0: f64[2] = take_along_axis %x, %i {axis=0}\n  return %0\n}"
    build(index)
    with pytest.warns(TapecWarning, match="does not compare the values of f: no outputs can be"):
        build("graph f(%x: f64[2,2]) {\n  %0: f64[2,2] = negative %x\n  %1: f64[2,2] = cholesky %0\n  return %1\n}")


def test_square_matrices_are_drawn_positive_definite_where_that_is_needed(monkeypatch):
    add_pass(monkeypatch, scaled(2.0))
    with pytest.raises(VerifyError, match="the pass 'mine' changes output 0"):
        build("graph f(%x: f64[2,2]) {\n  %0: f64[2,2] = cholesky %x\n  return %0\n}")


def test_python_numbers_do_not_widen_arrays():
    lines = ("%0: float = multiply %s, %s", "%1: f32[3] = multiply %x, %0", "return %1")
    build("graph f(%x: f32[3], %s: float) {\n  " + "\n  ".join(lines) + "\n}", s=0.5)


def test_values_at_hand_are_let_go():
    f = tapec.grad(net)
    f(*NET)
    assert f.locate(*NET)[1].at_hand == {}


def test_check_nan_may_stop():
    with tapec.settings(check_nan=True):
        build(LOG, x=np.array([-1.0, 1.0, 1.0]))


def test_values_are_let_go_where_an_operation_fails():
    """Errors that are kept hold no frames: else these would hold the values until the collector comes."""
    text = "graph f(%x: f64[2,2]) {\n  %0: f64[2,2] = negative %x\n  %1: f64[2,2] = cholesky %0\n  return %1\n}"
    x = np.eye(2)
    held = weakref.ref(x)
    gc.disable()
    try:
        known, raised = computed(parse(text), [x])
        assert len(known) == 2 and [type(error).__name__ for error in raised.values()] == ["LinAlgError"]
        del known, x
        assert held() is None
    finally:
        gc.enable()
