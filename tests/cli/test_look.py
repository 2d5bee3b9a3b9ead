"""source, ir, passes, explain, graph, explore, opt: what they show."""

import ast
import json
import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest

import tapec as tapec_module
from tapec.codegen.numpy import pipeline as of_numpy
from tapec.ir.text.parser import parse
from tapec.passes.pipeline import PIPELINE, RECORDED
from tests.properties import entry, has, names, nodes, parameters

GRAPH = """\
graph(%x: f64[3], %w: f64[3]) {
  %0: f64[3] = multiply %x, %w
  %1: f64[3] = multiply %x, %x
  %2: f64[] = sum %0 {axis=(0,), keepdims=False}
  return %2
}
"""


def function_in(source: str, name: str):
    space = {"np": np}
    exec("import math\n" + source, space)
    return space[name]


def header(source):
    """Return the name and the parameters of generated code."""
    return entry(source).name, parameters(source)


# -- source ------------------------------------------------------------------------------------------------------
def test_source_is_the_gradient_and_runs(tapec, model):
    source = tapec("source", "model.py:total", "--args", "f64[3]").out
    grad = function_in(source, "total_grad")
    assert np.allclose(grad(np.array([1.0, 2.0, 3.0])), [[2.0, 4.0, 6.0]])


def test_source_is_what_the_function_says_itself(tapec, model):
    out = tapec("source", "model.py:loss").out
    import model as user

    assert out == "import numpy as np\n\n\n" + tapec_module.grad(user.loss).source(*user.loss.example_args)
    assert "# model.py:6" in out


def test_source_quotes_the_lines_of_the_user(tapec, model):
    plain, out = tapec("source", "model.py:loss").out, tapec("source", "model.py:loss", "--lines").out
    import model as user

    assert out == "import numpy as np\n\n\n" + tapec_module.grad(user.loss).source(*user.loss.example_args, lines=True)
    assert "np.tanh(x @ w + b)" in out and "np.tanh(x @ w + b)" not in plain
    assert ast.dump(ast.parse(out)) == ast.dump(ast.parse(plain))


def test_source_forward_wrt_and_transform(tapec, model):
    assert header(tapec("source", "model.py:loss", "--forward").out) == ("loss", ["w", "b", "x", "y"])
    assert {"d_w", "d_b"} <= names(tapec("source", "model.py:loss", "--wrt", "w,b").out)
    assert tapec("source", "model.py:loss", "--wrt", "1").out == tapec("source", "model.py:loss", "--wrt", "b").out
    both = tapec("source", "model.py:loss", "--transform", "value_and_grad").out
    assert header(both)[0] == "loss_value_and_grad"


@pytest.mark.parametrize("transform", ["jacobian", "jacfwd", "jacrev", "jvp", "vjp", "hvp", "hessian"])
def test_other_transforms(tapec, model, transform):
    target = "model.py:total" if transform in ("hvp", "hessian") else "model.py:vector"
    result = tapec("source", target, "--args", "f64[3]", "--transform", transform)
    assert result.code == 0, result.err
    assert nodes(entry(result.out), ast.Return)


def test_hvp_takes_a_direction(tapec, model):
    given = tapec("source", "model.py:total", "--args", "f64[3]", "np.ones(3)", "--transform", "hvp")
    assert (
        given.code == 0 and given.out == tapec("source", "model.py:total", "--args", "f64[3]", "--transform", "hvp").out
    )


@pytest.mark.parametrize("command", ["source", "explain", "ir", "explore", "bench"])
@pytest.mark.parametrize("decorated", ["", "@tapec.hvp\n"])
def test_hvp_takes_arguments_by_name(tapec, model, command, decorated):
    model.write_text(f"import numpy as np, tapec\n\n{decorated}def powers(x, n=3):\n    return np.sum(x**n)\n")
    words = ["np.ones(3)", "np.ones(3)", "n=4"] if decorated else ["np.ones(3)", "n=4"]
    more = [] if decorated else ["--transform", "hvp"]
    result = tapec(command, "model.py:powers", *more, "--args", *words, *(["--seconds", "0.01"] * (command == "bench")))
    assert result.code == 0, result.err


def test_source_tells_each_array_once(tapec, model):
    code = "import numpy as np\n\n\ndef f(x):\n    return np.sum(np.arange(40) * x + np.array([2.0, 3.0]) @ x[:2])\n"
    (model.parent / "arrays.py").write_text(code)
    lines = tapec("source", "arrays.py:f", "--forward", "--args", "f64[40]").out.splitlines()
    held = [line for line in lines if "np.arange(40)" in line or "[2.0, 3.0]" in line or "[2., 3.]" in line]
    assert len(held) == 2 and not any(line.startswith("#") for line in held)


def test_source_into_a_file(tapec, model):
    assert tapec("source", "model.py:loss", "-o", "gradient.py").out == ""
    assert header((model.parent / "gradient.py").read_text())[0] == "loss_grad"


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        (["f64[3]"], "%x: f64[3]"),
        (["f32[2,3]"], "%x: f32[2,3]"),
        (["f64[]"], "%x: f64[]"),
        (["2.0"], "%x: float"),
        (["-2.0"], "%x: float"),
        (["float"], "%x: float"),
        (["np.ones(3)"], "%x: f64[3]"),
        (["x=np.ones(3)"], "%x: f64[3]"),
        (["np.float32(2)"], "%x: f32[]"),
        (["loss.example_args[0]"], "%x: f64[4,2]"),
    ],
)
def test_arguments_are_types_or_expressions(tapec, model, words, shown):
    result = tapec("ir", "model.py:total", "--stage", "forward", "--args", *words)
    assert result.code == 0, result.err
    assert shown in result.out


def test_example_args_may_be_made_when_needed(tapec, model):
    model.write_text(model.read_text() + "\ntotal.example_args = lambda: (np.ones(7),)\n")
    assert "f64[7]" in tapec("ir", "model.py:total").out


def test_a_decorated_function_is_shown_as_it_is(tapec, model):
    text = model.read_text().replace("import numpy as np", "import numpy as np\nimport tapec")
    model.write_text(text.replace("def total", "@tapec.value_and_grad\ndef total"))
    assert header(tapec("source", "model.py:total", "--args", "f64[3]").out)[0] == "total_value_and_grad"
    result = tapec("source", "model.py:total", "--args", "f64[3]", "--wrt", "x")
    assert result.code == 2 and "model.py:total is a value_and_grad already: drop --wrt" in result.err


def test_another_transform_is_of_what_was_decorated(tapec, model):
    text = model.read_text().replace("import numpy as np", "import numpy as np\nimport tapec")
    model.write_text(text.replace("def loss", "@tapec.value_and_grad(argnums=(0, 1))\ndef loss"))
    arguments = ["w", "b", "x", "y"]
    assert header(tapec("source", "model.py:loss", "--transform", "hessian").out) == ("loss_hessian", arguments)
    assert has(tapec("source", "model.py:loss", "--transform", "grad").out, "return d_w, d_b")
    assert header(tapec("source", "model.py:loss", "--forward").out) == ("loss", arguments)
    found = json.loads(tapec("check", "model.py:loss", "--json").out)
    assert found["ok"] and list(found["arguments"]) == ["w", "b", "x", "y"]


# -- ir and opt --------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("stage", ["forward", "gradient", "optimized", "target"])
def test_ir_is_text_that_parses(tapec, model, stage):
    out = tapec("ir", "model.py:loss", "--stage", stage).out
    graph = parse(out)
    assert [i.name for i in graph.inputs] == ["w", "b", "x", "y"]
    assert ("!ct" in out) == (stage != "forward")


def test_ir_of_graph_text(tapec, model, tapec_process):
    (model.parent / "g.ir").write_text(GRAPH)
    assert "multiply %x, %x" in tapec("ir", "g.ir", "--stage", "forward").out
    lean = tapec("ir", "g.ir").out
    assert "multiply %x, %x" not in lean and "multiply %x, %w" in lean
    grad = tapec("ir", "g.ir", "--transform", "grad", "--wrt", "w").out
    assert len(parse(grad).outputs) == 1
    assert tapec_process("ir", "-", stdin=GRAPH).out == lean


def test_second_derivatives_of_graph_text(tapec, model):
    (model.parent / "g.ir").write_text(GRAPH)
    hessian = parse(tapec("ir", "g.ir", "--transform", "hessian").out)
    assert [str(o.type) for o in hessian.outputs] == ["f64[3,3]"] * 4
    rows = function_in(tapec("source", "g.ir", "--transform", "jacfwd", "--wrt", "w").out, "graph_jacfwd")
    np.testing.assert_array_equal(rows(np.arange(3.0), np.ones(3))[0], np.arange(3.0))


def test_graph_text_with_names_that_python_does_not_take(tapec, model):
    text = GRAPH.replace("%0", "%3").replace("%x", '%"my x"').replace("%w", "%lambda")
    for name, graph in (("odd.ir", text), ("twice.ir", text.replace('%"my x"', "%x1").replace("%lambda", "%0"))):
        (model.parent / name).write_text(graph)
        assert "np" in names(tapec("source", name, "--transform", "hessian").out)
        assert tapec("check", name).code == 0
    out = tapec("check", "odd.ir", "--wrt", "my x").out
    assert "my_x" in out and "lambda" not in out


WRITTEN = [p.name for p in of_numpy.PIPELINE]
SUMS = """\
graph(%x: f64[3]) {
  %0: f64[3] = multiply %x, %x
  %1: f64[] = sum %0 {axis=(0,), keepdims=False}
  return %1
}
"""


def test_opt_runs_named_passes(tapec, model, tapec_process):
    (model.parent / "g.ir").write_text(GRAPH)
    (model.parent / "sums.ir").write_text(SUMS)
    out = tapec("opt", "--passes", "dce", "g.ir").out
    assert out.count("multiply") == 1
    assert (
        tapec_process("opt", stdin=GRAPH).out == tapec_process("opt", "-", stdin=GRAPH).out == tapec("opt", "g.ir").out
    )
    listed = tapec("opt", "--list").out
    both, numpys = listed.split("\nNumPy's, after these:\n")
    common, first = both.split("\nBefore a program is differentiated:\n")
    for text, passes in ((common, PIPELINE), (first, RECORDED), (numpys, of_numpy.PIPELINE)):
        assert [line.split()[0] for line in text.splitlines()] == [p.name + "*" * p.is_needed for p in passes]
    one_of_numpys = tapec("opt", "--passes", "dce,sums-of-products,unread,cse", "sums.ir").out
    assert "sum_of_products %x, %x" in one_of_numpys and parse(one_of_numpys)
    piped = tapec_process("opt", stdin=tapec("ir", "model.py:loss", "--stage", "gradient").out)
    assert piped.code == 0 and parse(piped.out)


def test_errors_of_graph_text_name_line_and_column(tapec, model):
    (model.parent / "g.ir").write_text(GRAPH.replace("multiply %x, %w", "multiplyy %x, %w"))
    result = tapec("opt", "g.ir")
    assert result.code == 2
    assert result.err.startswith(
        "tapec opt: g.ir, line 2, column 16: no op is called 'multiplyy'. Did you mean multiply"
    )
    (model.parent / "g.ir").write_text(GRAPH.replace("f64[] = sum", "f64[2] = sum"))
    result = tapec("opt", "g.ir")
    assert result.code == 2 and "should have the type f64[]" in result.err


# -- passes and explain ---------------------------------------------------------------------------------------------
def test_passes_shows_diffs_and_a_table(tapec, model):
    out = tapec("passes", "model.py:loss").out
    assert "── " in out
    assert re.search(r"^-  %", out, re.MULTILINE)
    table = out[out.index("pass ") :].splitlines()
    assert [line.split()[0] for line in table] == ["pass", "forward", "gradient", *[p.name for p in PIPELINE], *WRITTEN]
    only = tapec("passes", "model.py:loss", "--table").out
    assert "── " not in only and only.startswith("pass ")


def test_passes_refuses_names_of_none(tapec, model):
    result = tapec("passes", "model.py:loss", "--only", "cse,csee")
    assert result.code == 2 and "no pass is called 'csee'; there are transparent, dce, " in result.err


def test_passes_for_programs(tapec, model):
    found = json.loads(tapec("passes", "model.py:loss", "--json").out)
    assert [s["pass"] for s in found] == ["forward", "gradient", *[p.name for p in PIPELINE], *WRITTEN]
    assert all({"nodes", "flops", "bytes", "peak", "seconds", "rules", "changed"} <= set(s) for s in found)
    assert found[-1]["nodes"] <= found[1]["nodes"]


def test_explain_tells_arguments_gradients_and_cost(tapec, model):
    out = tapec("explain", "model.py:loss").out
    assert "w: f64[4,2]" in out
    assert "w: flows" in out
    assert re.search(r"gradient, optimised +\d+ +\d+", out)
    found = json.loads(tapec("explain", "model.py:loss", "--json").out)
    assert found["cost"]["optimized"]["flops"] <= found["cost"]["gradient"]["flops"]
    assert found["signature"][0] == "w: f64[4,2]"


def test_explain_counts_operations_on_numbers(tapec, model):
    assert "# floats: " in tapec("source", "model.py:total", "--args", "1.5").out
    out = tapec("explain", "model.py:total", "--args", "1.5", "--json").out
    cost = json.loads(out)["cost"]
    assert cost["target"]["flops"] >= cost["optimized"]["flops"] > 0


# -- pictures ------------------------------------------------------------------------------------------------------
def test_graph_as_svg_and_dot(tapec, model):
    result = tapec("graph", "model.py:loss", "-o", "g.svg")
    assert (result.code, result.out) == (0, "wrote g.svg\n")
    tree = ET.parse(model.parent / "g.svg")
    labels = ["".join(e.itertext()) for e in tree.iter("{http://www.w3.org/2000/svg}text")]
    assert any("model.py:6" in label and "h = np.tanh(x @ w + b)" in label for label in labels)
    assert tapec("graph", "model.py:loss", "--dot").out.startswith('digraph "')
    assert tapec("graph", "model.py:loss", "-o", "g.dot").code == 0
    assert (model.parent / "g.dot").read_text() == tapec("graph", "model.py:loss", "--dot").out


def test_explore_writes_a_page(tapec, model):
    result = tapec("explore", "model.py:loss", "-o", "page.html")
    assert (result.code, result.out) == (0, "wrote page.html\n")
    page = (model.parent / "page.html").read_text()
    assert page.startswith("<!DOCTYPE html>") and 'data-at="model.py:6"' in page
    assert tapec("explore", "model.py:loss", "--no-times").out == "wrote explore.html\n"


def test_explore_puts_another_setting_beside(tapec, model):
    words = ["--beside", "optimize=False,fast_math=True", "--beside", "portable"]
    assert tapec("explore", "model.py:loss", "--no-times", *words).code == 0
    page = (model.parent / "explore.html").read_text()
    assert '<option value="1">optimize=False,fast_math=True</option>' in page and 'data-panel="1.code"' in page
    assert '<option value="2">portable</option>' in page and 'data-panel="2.code"' in page
    result = tapec("explore", "model.py:loss", "--beside", "speed=1")
    assert result.code == 2 and "no setting has this name" in result.err and "portable" in result.err
    assert "fast_math" in tapec("explore", "model.py:loss", "--beside", "fast_math").err


def test_explore_shows_the_paths_of_further_calls(tapec, model):
    words = ["explore", "model.py:bent", "--no-times", "--args", "1.0", "--more-args", "-1.0"]
    model.write_text(model.read_text() + "\n\ndef bent(x):\n    return x * x if x > 0 else np.sin(x)\n")
    assert tapec(*words).code == 0
    page = (model.parent / "explore.html").read_text()
    assert "2 paths are recorded" in page and "x &gt; 0 is False" in page
    assert tapec(*words[:-2]).code == 0
    assert "One path is recorded" in (model.parent / "explore.html").read_text()


@pytest.mark.parametrize("transform", ["hvp", "jvp", "vjp", "hessian", "jacobian", "compile"])
def test_explore_shows_every_transform(tapec, model, transform):
    assert tapec("explore", "model.py:loss", "--transform", transform).code == 0


def test_explore_shows_what_is_recorded_anew_at_each_call(tapec, model):
    model.write_text(model.read_text() + "\n\ndef noisy(x):\n    return np.sum(x * np.random.normal(size=3))\n")
    assert tapec("explore", "model.py:noisy", "--args", "f64[3]").code == 0
    assert "np.random.normal(size=3)" in (model.parent / "explore.html").read_text()


def test_explore_shows_graph_text(tapec, tmp_path):
    (tmp_path / "g.ir").write_text(GRAPH)
    assert tapec("explore", str(tmp_path / "g.ir"), "-o", str(tmp_path / "g.html")).code == 0
    assert "sum axis=0" in (tmp_path / "g.html").read_text()
    assert tapec("explore", str(tmp_path / "g.ir"), "--more-args", "1.0").code == 2


def test_support_shows_the_rows_of_a_name(tapec):
    result = tapec("support", "einsum")
    assert result.code == 0
    assert [line.split()[:3] for line in result.out.splitlines()[1:2]] == [["np.einsum", "differentiable", "yes"]]


@pytest.mark.parametrize(
    ("name", "row"),
    [
        ("r_", "np.r_"),
        ("np.lib.stride_tricks.sliding_window_view", "np.lib.stride_tricks.sliding_window_view"),
        ("digamma", "scipy.special.digamma"),
        ("scipy.special.lambertw", "scipy.special.lambertw"),
    ],
)
def test_support_knows_names_that_are_no_plain_functions(tapec, name, row):
    [found] = json.loads(tapec("support", name, "--json").out)
    assert (found["name"], found["reverse"]) == (row, "yes")


@pytest.mark.parametrize(
    ("name", "row"), [("ndarray.sum", "sum"), ("np.ndarray.flatten", "ravel"), ("tapec.Tensor.fill", "copyto")]
)
def test_support_shows_methods_of_arrays_as_functions(tapec, name, row):
    [found] = json.loads(tapec("support", name, "--json").out)
    assert (found["name"], found["reverse"]) == (f"np.{row}", "yes")


def test_support_names_methods_that_no_function_has(tapec):
    assert tapec("support", "ndarray.tolist").out == "ndarray.tolist is the same on tensors\n"
    assert tapec("support", "ndarray.setfield").code == 2


@pytest.mark.parametrize("name", ["norm.logpdf", "stats.norm.logpdf", "scipy.stats.norm.logpdf"])
def test_support_names_methods_of_distributions(tapec, name):
    result = tapec("support", name)
    assert result.out == "tapec.scipy.stats.norm.logpdf takes tensors where SciPy's own does not\n"
    assert tapec("support", name + "s").code == 2


def test_support_tells_which_gradients_are_refused(tapec):
    found = {name: json.loads(tapec("support", f"scipy.special.{name}", "--json").out)[0] for name in ("pbdv", "zetac")}
    assert (found["pbdv"]["kind"], found["pbdv"]["note"]) == ("differentiable", "refused by argument 1")
    assert found["zetac"]["kind"] == "refused" and "no closed form" in found["zetac"]["note"]
    [row] = json.loads(tapec("support", "scipy.special.airye", "--json").out)
    assert (row["forward"], row["complex"]) == ("yes", "yes")


def test_support_names_what_takes_tensors_instead(tapec):
    assert tapec("support", "spherical_jn").out.startswith("tapec.scipy.special.spherical_jn takes tensors")


@pytest.mark.parametrize("name", ["logsumexp", "special.logsumexp", "scipy.special.logsumexp"])
def test_support_names_what_tapec_has_in_place_of_scipys(tapec, name):
    result = tapec("support", name)
    assert result.code == 0
    assert result.out == "tapec.scipy.special.logsumexp takes tensors where SciPy's own does not\n"
    [found] = json.loads(tapec("support", name, "--json").out)
    assert found["name"] == "tapec.scipy.special.logsumexp"


def test_support_of_no_function_guesses_what_was_meant(tapec):
    result = tapec("support", "logsumexpp")
    assert result.code == 2
    assert "called logsumexpp; did you mean logaddexp" in result.err
