"""Graphs become code in one place."""

import ast
from pathlib import Path

import numpy as np

import tapec
from tapec.codegen import tuning
from tapec.runtime.compile import WATCHERS, CompiledGraph, Options

PACKAGE = Path(tapec.__file__).parent
X = np.linspace(0.1, 0.9, 17_000)  # 136 kB: smaller arrays are never written over


def callers(module: str, name: str) -> list[str]:
    """Return each place in the package where a function of this module is called, whatever it is called there."""
    found = []
    for path in sorted(PACKAGE.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        nodes = [*ast.walk(ast.parse(text))] if name in text else []
        imports = [n for n in nodes if isinstance(n, ast.ImportFrom) and n.module == module]
        own = {a.asname or a.name for n in imports for a in n.names if a.name == name}
        calls = [n for n in nodes if isinstance(n, ast.Call)]
        here = [n for n in calls if isinstance(n.func, ast.Name) and n.func.id in own]
        here += [n for n in calls if isinstance(n.func, ast.Attribute) and n.func.attr == name]
        found += [str(path.relative_to(PACKAGE))] * len(here)
    return found


def test_passes_are_called_in_one_place():
    assert callers("tapec.passes.pipeline", "optimize") == ["runtime/compile.py"]


def test_code_is_emitted_in_one_place():
    found = [c for module in ("tapec.codegen", "tapec.codegen.emit") for c in callers(module, "compile_graph")]
    assert found == ["runtime/compile.py"]


def gradient():
    return tapec.grad(lambda x: np.sum(np.sin(x) * 1.0)).ir(X, stage="gradient")


def test_options_say_what_is_wanted(monkeypatch):
    graph = gradient()
    compiled = CompiledGraph(graph, Options("f"))
    assert len(compiled.optimized.nodes) < len(graph.nodes) and compiled.code.graph is compiled.optimized
    np.testing.assert_array_equal(compiled.code.function(X)[0], np.cos(X))
    monkeypatch.setattr(tuning, "BUFFER_ALWAYS_MIN_BYTES", X.nbytes)
    written = CompiledGraph(graph, Options("f", donated=(graph.inputs[0],))).code.function
    given = X.copy()
    assert written(given)[0] is given and not np.array_equal(given, X)


def test_inputs_that_nothing_reads():
    graph = tapec.compile(lambda x, y: y + 1.0).ir(1.0, 2.0, stage="gradient")
    assert CompiledGraph(graph, Options("f")).code.function(1.0, 2.0) == (3.0,)
    compiled = CompiledGraph(graph, Options("f", all_inputs=False))
    assert compiled.reads == [1] and compiled.code.function(2.0) == (3.0,)


def test_a_graph_as_it_stands_is_for_the_caller_alone(tmp_path):
    graph, told = gradient(), []
    WATCHERS.append(told.append)
    try:
        with tapec.settings(cache_dir=str(tmp_path)):
            compiled = CompiledGraph(graph, Options("f", optimize=False))
            other = compiled.renamed("g")
    finally:
        WATCHERS.remove(told.append)
    assert compiled.optimized is graph and not told and not [*tmp_path.iterdir()]
    assert compiled.code.source == other.source.replace("def g(", "def f(")
    np.testing.assert_array_equal(compiled.code.function(X)[0], np.cos(X))
