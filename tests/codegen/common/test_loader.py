"""Generated functions in tracebacks, pdb and inspect: the text is found, line by line, when somebody looks."""

import ast
import gc
import inspect
import io
import linecache
import pdb
import sys
import traceback

import numpy as np
import pytest

import tapec
from tapec.codegen import compile_graph
from tapec.codegen.common.loader import Space
from tests.codegen.kit import gradient_of, graph_of
from tests.properties import functions, has, has_loop


def network(x, w, y):
    h = np.tanh(x @ w)
    r = h - y
    return np.mean(r * r)


def compiled_network(size=40):
    values = np.ones((size, size)), np.ones((size, size)), np.ones((size, size))
    return compile_graph(gradient_of(network, *values), "network_grad")


def test_no_text_is_made_unless_somebody_looks():
    compiled = compiled_network()
    compiled.function(*(np.ones((40, 40)),) * 3)
    assert compiled._text is None
    assert "network_grad" in functions(compiled)


def test_tracebacks_show_the_line():
    compiled = compiled_network()
    with pytest.raises(ValueError, match="matmul|shapes|dimension") as caught:
        compiled.function(np.ones((3, 4)), np.ones((5, 6)), np.ones((3, 6)))
    text = "".join(traceback.format_exception(caught.value))
    frame = traceback.extract_tb(caught.value.__traceback__)[-1]
    line = compiled.source.splitlines()[frame.lineno - 1]
    assert has(line.strip(), "x @ y")
    assert frame.line == line.strip()
    assert line.split("#")[0].strip() in text
    assert "^^" not in text.split(line.strip())[-1].split("\n")[1]  # no carets at columns that mean nothing


def test_inspect_finds_the_source():
    compiled = compiled_network()
    assert inspect.getsource(compiled.function) == compiled.source.split("\n", 1)[1]


def test_two_of_one_name_are_kept_apart():
    a, b = compiled_network(), compile_graph(graph_of(lambda x: x + 1.0, np.ones(3)), "network_grad")
    assert a.function.__code__.co_filename != b.function.__code__.co_filename
    assert has(inspect.getsource(b.function), "x + 1.0") and not has(inspect.getsource(a.function), "x + 1.0")


def test_a_function_alone_keeps_its_source():
    function = compiled_network().function
    gc.collect()
    assert "network_grad" in functions(inspect.getsource(function))


def test_linecache_forgets_dead_functions():
    compiled = compiled_network()
    file = compiled.function.__code__.co_filename
    assert file in linecache.cache
    del compiled
    gc.collect()
    assert file not in linecache.cache


def test_every_line_is_where_the_text_has_it():
    """The names that each line of bytecode loads stand on that line of the text."""
    in_loops = compile_graph(gradient_of(_steps, np.ones((30, 30))), "steps")
    for compiled in (compiled_network(), compile_graph(graph_of(_long, np.ones(20)), "long"), in_loops):
        lines = compiled.source.splitlines()
        code = compiled.function.__code__
        import dis

        line = 0
        for instruction in dis.get_instructions(code):
            where = instruction.positions.lineno if instruction.positions else None
            line = where or line
            if instruction.opname in ("STORE_FAST", "LOAD_GLOBAL") and line > 1:
                assert str(instruction.argval) in lines[line - 1]


def _steps(x):
    y = x
    for _ in range(12):
        y = np.tanh(y) + np.exp(y) * x
    return np.sum(y)


def test_errors_in_a_step_name_the_line_of_the_user():
    f = tapec.grad(_steps)
    with np.errstate(all="raise"):
        f(np.full((30, 30), -1.0))
        assert has_loop(f.source(np.full((30, 30), -1.0)))
        with pytest.raises(FloatingPointError) as caught:
            f(np.ones((30, 30)))
    assert "test_loader.py" in caught.value.__notes__[0] and "np.exp(y)" in caught.value.__notes__[0]


def _long(x):
    parts = [np.sin(x[k]) for k in range(20)]
    return np.stack(parts * 3) * 2.0


def test_long_lines_are_wrapped_where_the_code_says():
    compiled = compile_graph(graph_of(_long, np.ones(20)), "long")
    assert max(map(len, compiled.source.splitlines())) <= 120
    tree = ast.parse(compiled.source)
    lines = {s.lineno for s in ast.walk(tree) if isinstance(s, (ast.stmt, ast.excepthandler))}
    assert {line for *_, line in compiled.generated.__code__.co_lines() if line} <= lines
    np.testing.assert_allclose(compiled.function(np.ones(20))[0], 2.0 * np.sin(1.0))


def test_pdb_steps_through():
    compiled = compiled_network()
    out = io.StringIO()
    commands = io.StringIO("s\nn\nn\np tanh_xy.shape\nl 1, 4\nq\n")
    debugger = pdb.Pdb(stdin=commands, stdout=out, nosigint=True, readrc=False)
    debugger.use_rawinput = False
    values = (np.ones((40, 40)),) * 3
    try:
        debugger.runcall(compiled.function, *values)
    except Exception as error:
        assert "BdbQuit" in type(error).__name__
    finally:
        sys.settrace(None)
    text = out.getvalue()
    assert "(40, 40)" in text
    assert "def network_grad(x, y, z):" in text
    assert "np.tanh" in text


def test_parts_that_numpy_imports_late():
    """Code sees NumPy without its `__getattr__`; one that names a late part sees NumPy itself."""
    space = Space("late", lambda: "")
    space.define(ast.parse("def f(x): return np.float64(x)").body[0])
    assert space.names["np"] is not np and space.names["f"](2.0) == 2.0
    space.define(ast.parse("def g():\n    def h(): return np.polynomial\n    return h()").body[0])
    assert space.names["g"]() is np.polynomial
