"""`tapec bisect` finds the step that changes a value, and the smallest graph that shows it."""

import pytest

from tapec.ir import parse
from tapec.passes.listed_pass import named
from tapec.passes.pipeline import PIPELINE
from tests.codegen.golden_functions import CASES
from tests.runtime.observed.broken import (
    add_code_step,
    add_pass,
    failing_at,
    in_place_of,
    mistyped,
    of_single_precision,
    scaled,
)


def graphs(text: str) -> list[str]:
    """Return the texts of graphs in what is printed."""
    return [f"graph{part.partition(chr(10) + '}')[0]}\n}}" for part in ("\n" + text).split("\ngraph")[1:]]


def operations(graph: str) -> list[str]:
    return [n.op.name for n in parse(graph).nodes if n.op.name != "constant"]


# -- nothing broken ----------------------------------------------------------------------------------------------
def test_nothing_differs(tapec, model):
    found = tapec("bisect", "model.py:loss", "--wrt", "w,b")
    assert found.code == 0 and found.err == ""
    assert found.out == "loss, loss_grad: no pass and no step of code generation changes a value\n"


@pytest.mark.parametrize("words", [["--transform", "hessian"], ["--transform", "compile"], ["--transform", "jvp"]])
def test_other_transforms(tapec, model, words):
    found = tapec("bisect", "model.py:total", "--args", "f64[3]", *words)
    assert found.code == 0 and "changes a value" in found.out
    assert ("total_" in found.out) == ("compile" not in words)


@pytest.mark.parametrize("name", CASES)
def test_golden_functions(tapec, name):
    _, values, wrt = CASES[name]
    args = [f"CASES[{name!r}][1][{k}]" for k in range(len(values))]
    wrt = ",".join(map(str, wrt))
    found = tapec("bisect", f"tests.codegen.golden_functions:{name}", "--wrt", wrt, "--args", *args)
    assert found.code == 0, found.out + found.err
    assert found.out == f"{name}, {name}_grad: no pass and no step of code generation changes a value\n"


def test_graph_text(tapec, model):
    (model.parent / "f.ir").write_text(tapec("ir", "model.py:loss", "--transform", "compile").out)
    found = tapec("bisect", "f.ir", "--wrt", "w")
    assert found.code == 0 and found.out.startswith("loss, loss_grad: no pass"), found.err


def test_graph_text_from_stdin(tapec_process):
    text = "graph f(%x: f64[3]) {\n  %0: f64[] = sum %x {axis=(0,), keepdims=False}\n  return %0\n}"
    found = tapec_process("bisect", "-", stdin=text)
    assert (found.code, found.out) == (0, "f, f_grad: no pass and no step of code generation changes a value\n")


def test_wrong_calls(tapec, model):
    assert tapec("bisect", "model.py:lose").code == 2
    assert tapec("bisect", "model.py:picky", "--args", "f64[3]").code == 2
    missing = tapec("bisect", "model.py:total")
    assert missing.code == 2 and "which arguments?" in missing.err


def test_what_was_compiled_before_is_compiled_again(tapec, model, monkeypatch):
    model.write_text(model.read_text().replace("import numpy as np", "import numpy as np\nimport tapec", 1))
    with model.open("a") as file:
        file.write("\n\n@tapec.compile\ndef known(x):\n    return np.sum(np.tanh(x))\n\n\n")
        file.write("with tapec.settings(check='never'):\n    known(np.ones(3))\n")
    add_pass(monkeypatch, lambda g: in_place_of("tanh", "sin")(g) if STARTED else g)
    STARTED.clear()
    tapec("source", "model.py:known", "--args", "f64[3]")
    STARTED.append(1)
    assert tapec("bisect", "model.py:known", "--args", "f64[3]").code == 1


STARTED: list[int] = []


# -- broken on purpose -------------------------------------------------------------------------------------------
def test_a_pass_that_changes_a_value(tapec, model, monkeypatch):
    add_pass(monkeypatch, in_place_of("tanh", "sin"))
    found = tapec("bisect", "model.py:loss")
    assert found.code == 1
    assert found.out.startswith("loss: the pass 'mine' changes output 0, which is ")
    before, after = graphs(found.out)
    assert operations(before) == ["tanh"] and operations(after) == ["sin"]
    assert "has 1 of 6 operations" in found.out and "There it changes output 0, which at [0, 0] is " in found.out


def test_a_gradient_alone(tapec, model, monkeypatch):
    def broken(graph):
        if not any(n.role for n in graph.nodes):
            return graph
        return in_place_of("subtract", "add")(graph)

    add_pass(monkeypatch, broken)
    found = tapec("bisect", "model.py:loss", "--wrt", "b")
    assert found.code == 1 and found.out.startswith("loss_grad: the pass 'mine' changes output 0 (d_b)")
    before, after = graphs(found.out)
    assert operations(before) == ["subtract", "multiply"] and operations(after) == ["add", "multiply"]
    assert before.count("!ct") == 1  # of graphs without any, nothing is broken


def test_a_rule(tapec, model, monkeypatch):
    (rule,) = [r for r in named(PIPELINE, ["algebra"])[0].run.rules if r.name == "factors-gathered"]
    monkeypatch.setattr(rule, "replacement", lambda x, j, k: x * (j + k))
    found = tapec("bisect", "model.py:loss")
    assert found.code == 1 and "the pass 'algebra' changes output 0" in found.out
    assert "Rules that fire: factors-gathered.\n" in found.out
    before, after = graphs(found.out)
    assert operations(before) == ["multiply", "multiply"] and operations(after) == ["multiply"]


@pytest.mark.parametrize(
    ("broken", "told"),
    [
        (of_single_precision, "changes output 0, which is float32 of shape (), before it was float64 of shape ()"),
        (mistyped("tanh"), "fails: VerifyError: graph loss: "),
        (failing_at("tanh"), "fails: KeyError: 'no idea about tanh' (broken.py:"),
        (scaled(1.5), "changes output 0, which is "),
    ],
)
def test_a_pass_that_changes_a_type_or_fails(tapec, model, monkeypatch, broken, told):
    add_pass(monkeypatch, broken)
    found = tapec("bisect", "model.py:loss")
    assert found.code == 1 and found.out.startswith(f"loss: the pass 'mine' {told}"), found.out
    assert len(operations(graphs(found.out)[-1 if "fails: V" in found.out else 0])) == 1, found.out


def test_a_step_of_code_generation(tapec, model, monkeypatch):
    add_code_step(monkeypatch, in_place_of("tanh", "sin"))
    found = tapec("bisect", "model.py:loss")
    assert found.code == 1
    assert "the step 'mine' of code generation changes output 0" in found.out
    before, after = graphs(found.out)
    assert operations(before) == ["tanh"] and operations(after) == ["sin"]


def test_a_step_of_code_generation_that_fails(tapec, model, monkeypatch):
    add_code_step(monkeypatch, failing_at("tanh"))
    found = tapec("bisect", "model.py:loss")
    assert found.code == 1 and "the step 'mine' of code generation fails: KeyError: 'no idea about tanh'" in found.out
    assert operations(graphs(found.out)[0]) == ["tanh"] and "It makes of it" not in found.out


def test_two_operations_that_must_be_there(tapec, model, monkeypatch):
    """A fault that needs two outputs, and a value used twice."""

    def broken(graph):
        kinds = [n.op.name for n in graph.nodes]
        return scaled(2.0)(graph) if "tanh" in kinds and "mean" in kinds else graph

    add_pass(monkeypatch, broken)
    found = tapec("bisect", "model.py:loss")
    assert found.code == 1 and sorted(operations(graphs(found.out)[0])) == ["mean", "tanh"], found.out


def test_a_branch(tapec, model, monkeypatch):
    with model.open("a") as file:
        file.write("\n\ndef branching(x):\n    return np.sum(np.tanh(x)) if np.sum(x) > 0 else np.sum(x)\n")
    add_pass(monkeypatch, in_place_of("tanh", "sin"))
    found = tapec("bisect", "model.py:branching", "--args", "f64[3]")
    assert found.code == 1 and operations(graphs(found.out)[0]) == ["tanh"], found.out


def test_results_of_an_operation_with_several(tapec, model, monkeypatch):
    with model.open("a") as file:
        file.write("\n\ndef parts(x):\n    w, v = np.linalg.eigh(x + x.T)\n    return np.sum(np.tanh(w)) + np.sum(v)\n")
    add_pass(monkeypatch, in_place_of("tanh", "sin"))
    found = tapec("bisect", "model.py:parts", "--args", "f64[3,3]", "--transform", "compile")
    assert found.code == 1 and operations(graphs(found.out)[0]) == ["tanh"], found.out


def test_the_graph_is_one_that_other_commands_read(tapec, model, monkeypatch):
    add_pass(monkeypatch, in_place_of("tanh", "sin"))
    (model.parent / "small.ir").write_text(graphs(tapec("bisect", "model.py:loss").out)[0])
    assert operations(tapec("opt", "--passes", "dce", "small.ir").out) == ["tanh"]


def test_where_nothing_can_be_compared(tapec, model):
    text = "graph f(%x: f64[2,2]) {\n  %0: f64[2,2] = negative %x\n  %1: f64[2,2] = cholesky %0\n  return %1\n}"
    (model.parent / "f.ir").write_text(text)
    found = tapec("bisect", "f.ir", "--transform", "compile")
    assert found.code == 2 and "bisect does not compare the values of f" in found.err
