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


def test_without_registered_views_notebooks_show_plain_text(monkeypatch):
    assert loss_graph()._repr_svg_() is not None
    monkeypatch.setattr(notebook_hooks, "_views", [])
    assert loss_graph()._repr_svg_() is None


def test_nothing_of_this_is_imported_before_a_notebook_asks():
    code = "import sys, numpy as np, tapec; tapec.grad(lambda x: x * x)(2.0); print('tapec.report' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == "False\n"
