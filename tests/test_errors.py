"""Places in the user's files and in the cells of notebooks, as messages name them."""

import sys
import warnings
from types import SimpleNamespace

import numpy as np
import pytest

import tapec
from tapec.config import unknown_in
from tapec.errors import place_name
from tapec.report.explore import code_lines


def in_notebook(monkeypatch, cells):
    """A kernel of IPython: cells are files of a temporary folder, whose numbers it knows."""
    known = {file: ("Cell", f"In[{number}]") for file, number in cells.items()}
    shell = SimpleNamespace(compile=SimpleNamespace(format_code_name=known.get))
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))


def test_places_in_files():
    assert place_name("/home/me/model.py", 7) == "model.py:7"
    assert place_name("<stdin>", 1) == "<stdin>:1"


def test_places_in_cells(monkeypatch):
    assert place_name("<ipython-input-3-0a1b2c>", 4) == "In [3], line 4"
    in_notebook(monkeypatch, {"/tmp/ipykernel_12/345.py": 12})
    assert place_name("/tmp/ipykernel_12/345.py", 4) == "In [12], line 4"
    assert place_name("/home/me/model.py", 7) == "model.py:7"


@pytest.mark.parametrize("module", [SimpleNamespace(), SimpleNamespace(get_ipython=lambda: None)])
def test_ipython_without_a_shell(monkeypatch, module):
    monkeypatch.setitem(sys.modules, "IPython", module)
    assert place_name("/home/me/model.py", 7) == "model.py:7"


def test_messages_and_code_name_the_cell():
    space = {"tapec": tapec, "np": np}
    exec(
        compile("def f(x):\n    return float(x)\n\ndef g(x):\n    return np.sin(x)", "<ipython-input-2-a>", "exec"),
        space,
    )
    with pytest.raises(tapec.DetachError, match=r"^In \[2\], line 2: float\(\)"):
        tapec.grad(space["f"])(1.0)
    lines = code_lines(tapec.grad(space["g"]).source(1.0), None)  # as the explorer shows them
    assert any("In [2], line 5" in line and "In[2],line5" in line for line in lines)


def test_a_warning_is_told_at_the_users_line_once():
    def f(x):
        return x * 2.0 if x > 0.0 else x

    gradient = tapec.grad(f)
    line = sys._getframe().f_lineno + 4
    with warnings.catch_warnings(record=True) as told, tapec.settings(path_limit=1):
        warnings.simplefilter("default")
        for x in (1.0, -1.0, 2.0, -2.0):
            gradient(x)
    assert [(w.category, w.filename, w.lineno) for w in told] == [(tapec.TapecWarning, __file__, line)]


def test_unknown_variables():
    assert unknown_in({"TAPEC_VERIFY": "1", "TAPEC_THREADS": "2", "HOME": "", "TAPECX": ""}) == ""
    assert unknown_in({"TAPEC_VERFY": "1", "TAPEC_COLOUR": "2"}) == (
        "tapec has no such settings, and nothing reads them: TAPEC_COLOUR, TAPEC_VERFY (did you mean TAPEC_VERIFY?)"
    )
