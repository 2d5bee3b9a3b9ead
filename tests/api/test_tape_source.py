"""`tape.source` and `tape.ir`: what a gradient runs can be read."""

import numpy as np
import pytest

import tapec
from tapec import GradientTape, Variable, constant
from tapec.ir.checks.interpreter import interpret
from tests.properties import calls, entry, functions, parameters


def test_the_source_of_the_gradient_that_used_a_tape_up():
    x = Variable([1.0, 2.0, 3.0])
    with GradientTape() as tape:
        loss = np.mean(np.tanh(x) ** 2)
    gradient = tape.gradient(loss, x)
    source = tape.source(loss, x)
    assert list(functions(source)) == ["loss_grad"] and not calls(source, "tanh")  # the forward values are known
    assert np.all(np.isfinite(gradient.numpy()))


def test_asking_for_the_source_does_not_use_the_tape_up():
    x = constant([1.0, 2.0, 3.0])
    with GradientTape() as tape:
        tape.watch(x)
        y = np.sum(x * x * x)
        inside = tape.source(y, x)
    source = tape.source(y, [x])
    graph = tape.ir(y, x)
    assert inside == source and list(functions(source)) == ["y_grad"]
    assert parameters(source) == ["t", "x"]  # what has no name is a term, and x is x
    assert len(graph.outputs) == 1
    assert tape.gradient(y, x).numpy().tolist() == [3.0, 12.0, 27.0]
    assert tape.source(y, x) == source


def test_the_source_is_what_runs(rng):
    """Run by hand on the recorded values, it gives the gradient."""
    w, x = constant(rng.standard_normal((3, 2))), rng.standard_normal((4, 3))
    with GradientTape(persistent=True) as tape:
        tape.watch(w)
        z = x @ w
        loss = np.sum(z * z)
    space = {"np": np}
    exec(tape.source(loss, w), space)
    names = space["loss_grad"].__code__.co_varnames[: space["loss_grad"].__code__.co_argcount]
    values = {"w": w.numpy(), "x": x, "z": z.numpy(), "loss": loss.numpy()}
    [found] = space["loss_grad"](*[values[n] for n in names])
    assert np.array_equal(found, tape.gradient(loss, w).numpy())


def test_asking_compiles_what_the_gradient_then_runs():
    x = constant(0.25)
    with GradientTape() as tape:
        tape.watch(x)
        y = np.cos(np.sin(x) * 7.25)
    tape.source(y, x)
    before = tapec.cache_info()
    tape.gradient(y, x)
    after = tapec.cache_info()
    assert after.compilations == before.compilations and after.hits == before.hits + 1


def test_another_gradient_of_a_used_tape_cannot_be_shown():
    x, y = constant(3.0), constant(4.0)
    with GradientTape() as tape:
        tape.watch([x, y])
        z = x * y
    tape.gradient(z, x)
    assert tape.source(z, x)
    for ask in (lambda: tape.source(z, y), lambda: tape.ir(z, [x, y]), lambda: tape.source(x, x)):
        with pytest.raises(tapec.TapeError, match="it can show the gradient that it gave, and no other"):
            ask()


def test_a_tape_never_entered():
    x = constant(3.0)
    with pytest.raises(tapec.TapeError, match="never entered"):
        GradientTape().source(x, x)


def test_the_stages():
    x = constant([1.0, 2.0])
    with GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = np.sum(np.sin(x) * 2.0)
    forward = tape.ir(y, x, stage="forward")
    assert [n.op.name for n in forward.nodes if n.inputs] == ["sin", "multiply", "sum"]
    assert interpret(forward, x.numpy())[0] == y.numpy()
    gradient, lean = tape.ir(y, x, stage="gradient"), tape.ir(y, x, stage="optimized")
    assert len(lean.nodes) <= len(gradient.nodes)
    for graph in (gradient, lean):
        values = {"x": x.numpy()}
        [found] = interpret(graph, *[values[i.name] for i in graph.inputs])
        np.testing.assert_allclose(found, 2 * np.cos(x.numpy()), rtol=1e-15)
    assert str(tape.ir(y, x)) == str(lean)


@pytest.mark.parametrize("chunk", [None, 2])
def test_the_stages_of_a_jacobian(chunk):
    x = constant([1.0, 2.0, 3.0])
    with GradientTape() as tape:
        tape.watch(x)
        y = np.sin(x) * x
    found = tape.jacobian(y, x, parallel_iterations=chunk)
    forward = tape.ir(y, x, stage="forward")
    assert interpret(forward, x.numpy())[0].tolist() == y.numpy().tolist()
    if chunk is None:
        values = {"x": x.numpy(), "y": y.numpy()}
        for stage in ("gradient", "optimized", "target"):
            graph = tape.ir(y, x, stage=stage)
            [rows] = interpret(graph, *[values.get(i.name, np.sin(x.numpy())) for i in graph.inputs])
            np.testing.assert_allclose(rows.reshape(3, 3), found.numpy(), rtol=1e-15)


def test_an_unknown_stage():
    x = constant(3.0)
    with GradientTape() as tape:
        tape.watch(x)
        y = x * x
    with pytest.raises(ValueError, match="no stage is called 'lean'"):
        tape.ir(y, x, stage="lean")


def test_names_come_from_the_users_variables():
    class Model:
        pass

    model = Model()
    model.kernel = Variable([[1.0, 2.0]])
    params = {"bias": Variable([0.5, 0.25])}
    inputs = np.array([[3.0], [4.0]])
    with GradientTape() as tape:
        out = np.sum(np.sin(inputs @ model.kernel + params["bias"]))
    source = tape.source(out, [model.kernel, params["bias"]])
    assert entry(source).name == "out_grad" and "inputs" in parameters(source)
    assert "kernel" in str(tape.ir(out, [model.kernel, params["bias"]], stage="forward"))


def test_a_gradient_function_of_the_users_is_named():
    @tapec.custom_gradient
    def swapped(x):
        return np.sin(x), lambda dy: dy * np.cosh(x)

    x = constant(0.5)
    with GradientTape() as tape:
        tape.watch(x)
        y = swapped(x * 2.0) * 3.0
    before = tape.source(y, x)
    tape.gradient(y, x)
    assert tape.source(y, x) == before
    assert "# then the gradient function of swapped (test_tape_source.py:" in before
    assert len(functions(before)) == 2
    with pytest.raises(ValueError, match="it is 2 graphs. Fix: tape.source"):
        tape.ir(y, x)


def test_nothing_to_run():
    x = constant(3.0)
    with GradientTape(persistent=True) as tape:
        tape.watch(x)
    assert tape.source(x * x, x) == ""
    assert tape.ir(x * x, x).outputs == ()


def test_numbers_that_became_inputs_have_the_users_names():
    w = tapec.Variable(np.ones(3))
    for step in range(3):
        rate, decay = 0.1 / (step + 1), 0.5 * step
        with tapec.GradientTape() as tape:
            loss = rate * np.sum(w**3) + np.sum(w) * decay * 2.0
        source = tape.source(loss, w)
        tape.gradient(loss, w)
    assert {"rate", "decay"} <= set(parameters(source))


def test_a_jacobian_in_chunks_runs_one_function():
    x = constant(np.arange(1.0, 6.0))
    with GradientTape() as tape:
        tape.watch(x)
        y = np.cumsum(x * x)
    tape.jacobian(y, x, parallel_iterations=2)
    assert len(functions(tape.source(y, x))) == 1
    assert tape.ir(y, x).nodes
