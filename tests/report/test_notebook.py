"""Notebook displays: self-contained, well formed, and escaped."""

import subprocess
import sys
import xml.etree.ElementTree as ET

import numpy as np

import tapec
from tapec.ir.text import notebook_hooks
from tapec.report.graph_picture.svg import svg
from tests.properties import functions
from tests.report.programs import loss_graph


def well_formed(html: str) -> str:
    ET.fromstring(f"<div>{html}</div>")
    assert "http" not in html
    return html


def test_graphs_show_their_picture():
    graph = loss_graph()
    assert graph._repr_svg_() == svg(graph)


def test_compiled_functions_show_what_they_compiled_last():
    @tapec.grad
    def f(x):
        return np.sum(np.exp(x) * (x < 3.0))

    assert "not compiled yet" in well_formed(f._repr_html_())
    f(np.ones(3))
    text = well_formed(f._repr_html_())
    assert "1 signature, 1 compiled" in text
    assert '<span class="tp-definition">f_grad</span>' in text


def test_source_is_a_string_that_shows_itself_highlighted():
    f = tapec.grad(lambda x: x * x)
    source = f.source(2.0)
    assert isinstance(source, str) and functions(source)
    assert '<span class="tp-keyword">def</span>' in well_formed(source._repr_html_())
    x = tapec.constant(2.0)
    with tapec.GradientTape() as tape:
        tape.watch(x)
        y = x * x
    assert "tp-keyword" in well_formed(tape.source(y, x)._repr_html_())


def test_tensors_and_variables_show_value_shape_and_dtype():
    text = well_formed(tapec.constant(np.eye(2))._repr_html_())
    assert "Tensor · 2×2 · float64" in text and "[0. 1.]" in text
    text = well_formed(tapec.Variable(3.0, name="<w>")._repr_html_())
    assert "Variable <b>&lt;w&gt;:0</b> · scalar" in text


def test_tapes_show_what_they_recorded_and_watch():
    v = tapec.Variable(np.ones((2, 3)), name="<w>")
    with tapec.GradientTape() as tape:
        y = np.sum(v * v)
        assert "GradientTape, records: 2 operations" in well_formed(tape._repr_html_())
    text = well_formed(tape._repr_html_())
    assert "<td>&lt;w&gt;:0</td><td>2×3</td><td>float64</td>" in text and "<td>multiply</td><td>1</td>" in text
    assert repr(tape) == "<GradientTape, can be asked: 2 operations>"
    tape.gradient(y, v)
    assert "is used up" in well_formed(tape._repr_html_())
    assert repr(tapec.GradientTape()) == "<GradientTape, was not entered: 0 operations>"


def test_explanations_show_their_parts():
    scale = np.array([2.0])

    @tapec.grad
    def f(x):
        return np.sum(x * scale) if np.sum(x) < 1.0 else np.sum(x)

    text = well_formed(f.explain(np.zeros(3))._repr_html_())
    assert "<b>f_grad</b>" in text and "<summary>gradients</summary>" in text and "x: flows" in text
    assert "path 1 of 1 (taken by this call)" in text and "&lt;" in text
    assert "captured, read anew at each call" in text and "<td>flops</td>" in text


def test_without_registered_views_notebooks_show_plain_text(monkeypatch):
    assert loss_graph()._repr_svg_() is not None
    monkeypatch.setattr(notebook_hooks, "_views", [])
    assert loss_graph()._repr_svg_() is None


def test_nothing_of_this_is_imported_before_a_notebook_asks():
    code = "import sys, numpy as np, tapec; tapec.grad(lambda x: x * x)(2.0); print('tapec.report' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == "False\n"
